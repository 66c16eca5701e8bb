"""The table in its original units: numbers, and categories by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fwkmeans._support.text import distinct_names, printable
from fwkmeans._tabular.columns import (
    categorical_by_dtype,
    each_column,
    is_frame,
    name_columns,
    read_numbers,
)
from fwkmeans._tabular.distinct import DistinctValues, distinct_values
from fwkmeans.typing import FloatArray, IntArray, LabelArray


class Column(NamedTuple):
    """A column: numbers (NaN where missing), or codes of categories (-1 where missing)."""

    name: str
    numbers: FloatArray | None
    codes: LabelArray | None = None
    categories: tuple[str, ...] = ()  # most frequent first
    holds: str = "text"  # what the categories are: "text", "truth" or "number"

    @property
    def is_numeric(self) -> bool:
        """Whether the column holds numbers."""
        return self.numbers is not None

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Where the column is missing."""
        if self.numbers is not None:
            return np.asarray(np.isnan(self.numbers))
        assert self.codes is not None
        return np.asarray(self.codes < 0)

    def take(self, rows: IntArray) -> Column:
        """Return the column of some rows."""
        if self.numbers is not None:
            return self._replace(numbers=self.numbers[rows])
        assert self.codes is not None
        return self._replace(codes=self.codes[rows])

    @property
    def varies(self) -> bool:
        """Whether the column has two values or more."""
        if self.numbers is None:
            return len(self.categories) > 1
        present = self.numbers[~self.missing]
        return bool(present.size) and bool(present.min() < present.max())


def names_of(X: Any, fallback: Sequence[Any] | None = None) -> list[str]:
    """Return the names of the columns; those of arrays are x0, x1, ... if nothing else is known."""
    names: Sequence[Any] = name_columns(X)
    if not is_frame(X) and fallback is not None and len(fallback) == X.shape[1]:
        names = fallback
    return distinct_names(printable(name) for name in names)


def read_columns(X: Any, names: Sequence[str], categorical: IntArray | None) -> list[Column]:
    """Return the columns; `categorical` has the positions of categories, None looks at types."""
    chosen = set(map(int, categorical_by_dtype(X) if categorical is None else categorical))
    columns = each_column(X, range(len(names)))
    return [
        _read(cells, name, v in chosen)
        for v, (name, (_, cells)) in enumerate(zip(names, columns, strict=True))
    ]


def _read(cells: Any, name: str, is_category: bool) -> Column:
    if not is_category:
        try:
            numbers = read_numbers(cells, name).astype(np.float64)
        except (TypeError, ValueError):  # such as dates, which a step before may have left out
            pass
        else:
            return Column(name, np.where(np.isfinite(numbers), numbers, np.nan))
    found = distinct_values(cells, name)
    return Column(name, None, *by_frequency(found), _holds(found))


def _holds(column: DistinctValues) -> str:
    values = [column.values[at] for at in column.occurring()]
    if values and all(isinstance(one, bool | np.bool_) for one in values):
        return "truth"
    is_number = all(isinstance(one, int | float | np.number) for one in values)
    return "number" if values and is_number else "text"


def by_frequency(column: DistinctValues) -> tuple[LabelArray, tuple[str, ...]]:
    """Return the codes of a column (-1 where missing) and its categories, most frequent first."""
    codes, names = column.by_name()
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    order = np.argsort(-counts, kind="stable")  # of equally frequent ones the first by name
    rank = np.append(np.argsort(order), -1).astype(np.int32)
    return rank[codes], tuple(names[code] for code in order)
