"""``fwkmeans completion``: a script for the shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes commands, options and file names in SHELL.

    \b
    To have it in every new shell, add one line:
      bash  eval "$(fwkmeans completion bash)"    to ~/.bashrc
      zsh   eval "$(fwkmeans completion zsh)"     to ~/.zshrc
      fish  fwkmeans completion fish | source     to ~/.config/fish/config.fish
    """  # noqa: D301
    from fwkmeans.cli import main

    script = get_completion_class(shell)
    assert script is not None  # click knows these shells
    click.echo(script(main, {}, "fwkmeans", "_FWKMEANS_COMPLETE").source())
