"""Work that is done by another thread while the caller is busy with the result before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")

_END: Any = object()


def read_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items; the next one is made by a thread while one is in use.

    There are two items at a time. If the caller stops early, so does the thread.

    Examples
    --------
    >>> from fwkmeans._support.ahead import read_ahead
    >>> list(read_ahead(range(4)))
    [0, 1, 2, 3]
    """
    iterator = iter(items)
    with ThreadPoolExecutor(1, thread_name_prefix="fwkmeans-read") as thread:
        coming = thread.submit(next, iterator, _END)
        while (item := coming.result()) is not _END:
            coming = thread.submit(next, iterator, _END)
            yield item
            del item  # the next one takes its place in memory
