"""Rows of cells as CSV, which every reader takes apart as they were."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import Any, Protocol


class _Stream(Protocol):
    def write(self, text: str, /) -> Any: ...


class _LineFeeds:
    """A stream that ends rows by a line feed alone."""

    def __init__(self, stream: _Stream, separator: str) -> None:
        self._stream, self._separator = stream, separator

    def write(self, row: str) -> None:
        """Write a row that ends by a carriage return and a line feed."""
        row = row[:-2]
        if row.startswith("\ufeff"):  # readers take it for the mark of UTF-8, unless it is quoted
            cell, separator, others = row.partition(self._separator)
            row = f'"{cell}"{separator}{others}'
        self._stream.write(row + "\n")


def write_rows(rows: Iterable[Iterable[Any]], stream: _Stream, separator: str = ",") -> None:
    r"""Write rows of cells; one that holds the separator, a quote or any end of a line is quoted.

    Python's writer quotes the ends of lines that it writes itself, and before Python 3.13 no other:
    here it writes both, so that a lone carriage return in a cell never ends a row.

    Examples
    --------
    >>> import io
    >>> stream = io.StringIO()
    >>> write_rows([["a", "b"], ["1;2", "x\ry"]], stream, ";")
    >>> stream.getvalue()
    'a;b\n"1;2";"x\ry"\n'
    """
    lines = _LineFeeds(stream, separator)
    csv.writer(lines, delimiter=separator, lineterminator="\r\n").writerows(rows)
