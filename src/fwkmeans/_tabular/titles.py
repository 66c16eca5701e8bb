"""Titles above a table: lines that hold a cell or two where the others hold many."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import islice
from typing import Any

from fwkmeans._support.text import count, shortened
from fwkmeans._tabular.format import Remarks

#: Rows that are looked at, and lines that titles may have.
_LOOKED_AT, _MOST_TITLES = 100, 20
_END = re.compile(rb"\r\n|\n|\r")


def title_rows(rows: Sequence[Sequence[str]]) -> int:
    """Return how many rows stand above the header of a table.

    The header is the first row of which more than half of the cells of most rows are filled; what
    stands above it has a cell or a few. If nothing there can be a header, there is no title.

    Examples
    --------
    >>> title_rows([["Sales 2024"], [], ["city", "n", "m"], ["A", "1", "2"], ["B", "3", "4"]])
    2
    >>> title_rows([["city", "n"], ["A", "1"], ["B", "2"]])
    0
    """
    rows = rows[:_LOOKED_AT]
    filled = [sum(map(bool, row)) for row in rows]
    times = Counter(n for n in filled if n > 1)
    if not times:
        return 0
    usual = max(times, key=lambda n: (times[n], n))
    header = next(at for at, n in enumerate(filled) if 2 * n > usual)
    below = [n for n in filled[header + 1 :] if n]
    if not 0 < header <= _MOST_TITLES or not below:
        return 0
    if not all(_may_be_title(row, usual) for row in rows[:header]):
        return 0
    names = [cell for cell in rows[header] if cell and not _NUMBER.fullmatch(cell.strip())]
    is_header = 2 * len(names) > filled[header]
    return header if is_header and sum(2 * n > usual for n in below) >= 0.8 * len(below) else 0


def _may_be_title(row: Sequence[str], usual: int) -> bool:
    """Tell whether a row is no header: a cell alone, or a few of many, as spreadsheets write it.

    A header may lack names, the first one in particular, which is that of an index.
    """
    if len(row) < 2:
        return True
    n = sum(map(bool, row))
    return usual > 2 and n <= max(1, usual // 3) and (not n or bool(row[0]))


_NUMBER = re.compile(r"[-+]?[\d.,]*\d[\d.,]*(e[-+]?\d+)?\s*%?", re.IGNORECASE)


def title_lines(lines: Sequence[str], separators: Collection[str]) -> int:
    """Return how many lines of a text stand above the header of a table."""
    best = (0.0, 0, 0)
    for separator in separators:
        reader = csv.reader(lines[:_LOOKED_AT], delimiter=separator)
        rows, begins = [], []
        try:
            while True:
                begins.append(reader.line_num)
                rows.append(next(reader))
        except (StopIteration, csv.Error):
            pass
        n = title_rows(rows)
        widths = [len(row) for row in rows[n:] if row]
        if not widths or widths[0] < 2:
            continue
        same = sum(width == widths[0] for width in widths) / len(widths)
        if n == 0 and same > 0.8:
            return 0
        best = max(best, (round(same, 1), widths[0], begins[n]))
    return best[2]


def after_lines(data: Any, n: int) -> Any:
    """Return a text, a view of bytes, without its first lines."""
    if not n:
        return data
    end = next(islice(_END.finditer(data), n - 1, n), None)
    return data[len(data) if end is None else end.end() :]


def tell_titles(name: str, n: int, first: str, what: str, remarks: Remarks) -> None:
    """Remember that lines or rows were taken as titles."""
    if n:
        are = "is a title" if n == 1 else "are titles"
        were = "was" if n == 1 else "were"
        remarks.about_table(
            f"The first {what if n == 1 else count(n, what)} of {name} "
            f"({shortened(first, 43, mark='...')!r}) {are}, not a header, and {were} skipped; to "
            "read it all the same",
            setting="skip",
            value="0",
        )
