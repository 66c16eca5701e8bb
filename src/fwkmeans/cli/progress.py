"""Signs of life on a terminal; nothing at all anywhere else."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import TypeVar

__all__ = ["each", "working"]

Item = TypeVar("Item")


def _is_shown() -> bool:
    return sys.stderr.isatty() and find_spec("rich") is not None


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """Show that something is being done, and what the algorithm reports of it."""
    if not _is_shown():
        yield
        return
    from rich.console import Console

    logger, level = logging.getLogger("fwkmeans"), logging.getLogger("fwkmeans").level
    with Console(stderr=True).status(what) as status:
        handler = _Handler(lambda text: status.update(f"{what} ({text})"))
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
        yield from items
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
            progress.update(task, description=name(item))
            yield item
            progress.advance(task)
