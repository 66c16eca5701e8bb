"""A group of commands of which only the one asked for is imported."""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem

from fwkmeans.cli.errors import sentences


class LazyGroup(click.Group):
    """Commands by name, each with ``module:function`` and a line of help.

    Errors of any command are turned into one sentence, see `fwkmeans.cli.errors`.
    """

    def __init__(
        self, *args: Any, targets: Mapping[str, tuple[str, str]] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.targets = dict(targets or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of a first visit, not of the alphabet."""
        return list(self.targets)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in self.targets:
            return None
        module, _, name = self.targets[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; for a name that is none, say which one may be meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            meant = difflib.get_close_matches(args[0], self.targets, n=1)
            if not meant and os.path.exists(args[0]):
                meant = [f"{ctx.command_path} fit {args[0]}"]
            if not meant:
                raise
            raise click.UsageError(f"{error.message} Did you mean {meant[0]}?", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.targets.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of commands without importing them."""
        found = [
            CompletionItem(name, help=line)
            for name, (_, line) in self.targets.items()
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what is wrong with its input is said in a sentence."""
        with sentences(ctx):
            return super().invoke(ctx)
