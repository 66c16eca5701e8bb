"""How a table is written, and what had to be guessed about it."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

from fwkmeans._support.text import quoted

#: Texts that mean a missing cell, unless others are given.
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None")

#: Bytes that a compressed file may unpack to, unless another limit is given.
MAX_UNPACKED = 500_000_000


class Format(NamedTuple):
    """How a file is to be read, where that is not to be guessed."""

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None  # whether the first row holds names
    sheet: str | None = None
    skip: int | None = None  # lines before the table, such as a title
    missing: Sequence[str] = MISSING
    max_unpacked: int = MAX_UNPACKED

    @property
    def missing_numbers(self) -> list[float]:
        """The texts that mean a missing cell as numbers, those that are."""
        numbers = []
        for text in set(self.missing) - set(MISSING):
            with contextlib.suppress(ValueError):
                numbers.append(float(text))
        return [number for number in numbers if number == number]


class Style(NamedTuple):
    """How a file of text is written, for one that is to look like it."""

    separator: str = ","
    decimal: str = "."
    mark: bool = False  # whether it begins with the mark of UTF-8, by which spreadsheets know it


class Remark(NamedTuple):
    """A sentence, and the setting that changes what it tells."""

    text: str
    setting: str | None = None
    value: str | None = None


class Remarks:
    """What was guessed while a table was read."""

    def __init__(self) -> None:
        self._general: list[Remark] = []
        self._of_columns: dict[Remark, list[str]] = {}
        self.style = Style()

    def about_table(
        self, text: str, *, setting: str | None = None, value: str | None = None
    ) -> None:
        """Remember a sentence about the table."""
        self._general.append(Remark(text, setting, value))

    def about_column(
        self, column: str, text: str, *, setting: str | None = None, value: str | None = None
    ) -> None:
        """Remember something about a column."""
        self._of_columns.setdefault(Remark(text, setting, value), []).append(column)

    def found(self, used: Sequence[str] = ()) -> list[Remark]:
        """Return the remarks about the table, and about those columns that are used."""
        told, known = [], set(used)
        for remark, columns in self._of_columns.items():
            names = [column for column in columns if column in known]
            if names:
                subject = f"Column{'s' if len(names) > 1 else ''} {quoted(names, 5)}"
                told.append(remark._replace(text=f"{subject}: {remark.text}"))
        return [*self._general, *told]
