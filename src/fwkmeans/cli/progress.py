"""Show progress: live on a terminal, elsewhere a line whenever work takes long."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import TypeVar

import click

from fwkmeans.cli.errors import raise_if_stopped

Item = TypeVar("Item")

#: Seconds after which a first line is written where there is no terminal; then it doubles.
PATIENCE = 20.0


def _is_shown() -> bool:
    return sys.stderr.isatty() and find_spec("rich") is not None


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """Show that something is being done, and what the algorithm reports of it."""
    raise_if_stopped()
    if not _is_shown():
        with _lines_about(what):
            yield
        raise_if_stopped()
        return
    from rich.console import Console

    with (
        Console(stderr=True).status(what) as status,
        hearing(lambda text: status.update(f"{what} ({text})")),
    ):
        yield
    raise_if_stopped()


@contextlib.contextmanager
def _lines_about(what: str) -> Iterator[None]:
    """Say on stderr, now and then, that something is still being done."""
    done, begin = threading.Event(), time.monotonic()
    last = [""]

    def tell() -> None:
        wait = PATIENCE
        while not done.wait(wait):
            about = f" ({last[0]})" if last[0] else ""
            click.echo(f"{what}{about}: {time.monotonic() - begin:.0f} s so far", err=True)
            wait *= 2

    def remember(text: str) -> None:
        last[0] = text

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        with hearing(remember):
            yield
    finally:
        done.set()
        thread.join()


@contextlib.contextmanager
def hearing(show: Callable[[str], None]) -> Iterator[None]:
    """Pass on what the algorithm reports."""
    logger, level = logging.getLogger("fwkmeans"), logging.getLogger("fwkmeans").level
    handler = _Handler(show)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class _Handler(logging.Handler):
    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__()
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        """Show a line of the log."""
        self._show(record.getMessage())


def each(items: Iterable[Item], total: int, name: Callable[[Item], str]) -> Iterator[Item]:
    """Yield the items, with a bar that names the one at work."""
    if not _is_shown():
        for at, item in enumerate(items, start=1):
            raise_if_stopped()
            with _lines_about(f"{name(item)} ({at} of {total})"):
                yield item
        raise_if_stopped()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        for item in items:
            raise_if_stopped()
            progress.update(task, description=name(item))
            yield item
            progress.advance(task)
