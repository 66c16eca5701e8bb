"""``python -m fwkmeans`` is the command line."""

from fwkmeans.cli import main

if __name__ == "__main__":
    main(prog_name="fwkmeans")
