"""``fwkmeans``, or ``python -m fwkmeans``, is the command line."""

from __future__ import annotations

import signal
import sys


def run() -> None:
    """Run a command. Before it begins and after it has ended, Ctrl-C ends the process at once."""
    as_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if as_usual:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from fwkmeans.cli import main

    try:
        if as_usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        main(prog_name="fwkmeans")
    except KeyboardInterrupt:  # between two of our own handlers
        sys.exit(130)
    finally:
        if as_usual:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    run()
