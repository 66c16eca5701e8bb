"""What users see when something is wrong: one sentence, and an exit code.

0 is done, 1 something is wrong with the input, 2 wrong usage (click's own), 130 Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import click

from fwkmeans._text import InputError

__all__ = ["InputError", "debug_option", "sentences"]

Command = TypeVar("Command", bound=Callable[..., Any])

VARIABLE = "FWKMEANS_DEBUG"
_KEY = "fwkmeans.debug"


def debug_option(command: Command) -> Command:
    """Give a command ``--debug``: errors with all details."""

    def remember(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
        ctx.meta[_KEY] = value or ctx.meta.get(_KEY, False)

    return click.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        callback=remember,
        help=f"Show where an error comes from ({VARIABLE}=1 does the same).",
    )(command)


@contextlib.contextmanager
def sentences(ctx: click.Context) -> Iterator[None]:
    """Turn an error into one sentence on stderr, and the exit code."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
        raise
    except KeyboardInterrupt:
        click.echo("\nStopped. Files that were not finished are gone.", err=True)
        ctx.exit(130)
    except Exception as error:
        if ctx.meta.get(_KEY) or os.environ.get(VARIABLE, "") not in ("", "0"):
            raise
        raise click.ClickException(sentence_of(error)) from error


def sentence_of(error: Exception) -> str:
    """Return what an error says in one line."""
    if isinstance(error, ImportError) and error.name is not None and not str(error):
        return f"The package {error.name} is not installed."
    if isinstance(error, OSError) and error.strerror is not None:
        name = f"{error.filename}: " if error.filename is not None else ""
        return f"{name}{error.strerror}."
    if isinstance(error, MemoryError):
        return "The table does not fit into memory. Take fewer rows or columns."
    text = " ".join(str(error).split())
    if isinstance(error, ValueError | TypeError | OSError | ImportError) and text:
        return text
    return (
        f"Something unexpected happened ({type(error).__name__}: {text}). This is an error of "
        "fwkmeans: please report it with what --debug shows."
    )
