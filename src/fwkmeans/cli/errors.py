"""What users see when something is wrong: one sentence, and an exit code.

0 is done, 1 something is wrong with the input, 2 wrong usage (click's own), 130 Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar

import click

from fwkmeans._support.errors import InputError
from fwkmeans._support.text import harmless

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


_stopped = threading.Event()


def raise_if_stopped() -> None:
    """Raise a Ctrl-C that something swallowed, as imports of some libraries do."""
    if _stopped.is_set():
        raise KeyboardInterrupt


@contextlib.contextmanager
def _remembering() -> Iterator[None]:
    """Remember a Ctrl-C for `raise_if_stopped`; one that comes after it changes nothing."""
    _stopped.clear()
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def stop(number: int, frame: object) -> None:
        _stopped.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        # pyarrow sends the signal once more, which must not kill what is about to say goodbye
        signal.signal(signal.SIGINT, signal.SIG_IGN if _stopped.is_set() else before)


@contextlib.contextmanager
def sentences(ctx: click.Context) -> Iterator[None]:
    """Turn an error into one sentence on stderr, and the exit code."""
    try:
        with _remembering():
            yield
            raise_if_stopped()
    except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
        raise
    except KeyboardInterrupt:
        _say_stopped(ctx)
    except Exception as error:
        if _stopped.is_set():  # an import that failed because of it, for one
            _say_stopped(ctx)
        if ctx.meta.get(_KEY) or os.environ.get(VARIABLE, "") not in ("", "0"):
            raise
        raise click.ClickException(harmless(sentence_of(error))) from error


def _say_stopped(ctx: click.Context) -> NoReturn:
    click.echo("\nStopped. Files that were not finished are gone.", err=True)
    ctx.exit(130)


def with_option(text: str, setting: str | None, value: str | None = None) -> str:
    """Return a sentence with the option that has to do with it."""
    if setting is None:
        return text
    option = f"--{setting}" if value is None else f"--{setting} {value}"
    return f"{text.removesuffix('.')} ({option})."


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
    if type(error).__module__ == "sqlite3":
        return (
            f"The file of results cannot be read or written ({text}): look at the file, its folder "
            "and the space left, or give another (--results)."
        )
    if isinstance(error, InputError):
        return with_option(text, error.setting, error.value)
    if isinstance(error, ValueError | TypeError | OSError | ImportError) and text:
        return text
    return (
        f"Something unexpected happened ({type(error).__name__}: {text}). This is an error of "
        "fwkmeans: please report it with what --debug shows."
    )
