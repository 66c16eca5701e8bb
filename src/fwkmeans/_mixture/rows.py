"""Rows as the mixture sees them: numbers in units of their range, and levels of categories."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from fwkmeans._tabular.layout import Layout
from fwkmeans.typing import BoolArray, FloatArray, IntArray

#: Kurtosis beyond which a column is compressed (a normal distribution has 3).
HEAVY_TAILS = 4.5


class Table(NamedTuple):
    """Rows of a table in memory, as they are."""

    numbers: NDArray[np.floating]  # (N, Mn)
    levels: NDArray[np.int32] | None  # (N, Mc) as in `MemorySource`; None without categories
    layout: Layout
    weight: FloatArray  # (N,)

    def take(self, at: IntArray | slice) -> Table:
        """Return some of the rows."""
        levels = None if self.levels is None else self.levels[at]
        return Table(self.numbers[at], levels, self.layout, self.weight[at])


#: Some rows of a table, and their cells in some columns.
Cells = tuple[BoolArray | slice, FloatArray]


class Rows(NamedTuple):
    """Rows of a table, encoded."""

    numbers: FloatArray  # (N, M) 0 where nothing is observed
    observed: FloatArray | None  # (N, M) 1 or 0; None if nothing is missing
    levels: csr_matrix  # (N, L) 1 where the row has the level

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.numbers.shape[0])

    def cells(self, columns: IntArray) -> Cells:
        """Return the rows that have all of some columns, and their cells there."""
        if self.observed is None:
            return slice(None), self.numbers[:, columns]
        here = self.complete(columns)
        return here, self.numbers[here][:, columns]

    def complete(self, columns: IntArray) -> BoolArray:
        """Tell which rows have all of some columns."""
        if self.observed is None:
            return np.ones(self.n_rows, dtype=bool)
        return np.asarray(self.observed[:, columns].all(axis=1))


#: Ranges that a value may be outside of what was seen; its square still has a number.
_FARTHEST = 1e100


class Encoding(NamedTuple):
    """How a table is encoded. Columns that are constant take no part.

    A column of numbers with two different values is a column of categories: nothing is between.
    """

    numbers: IntArray  # (M,) columns of the table
    lowest: FloatArray  # (M,)
    highest: FloatArray  # (M,)
    middle: FloatArray  # (M,) median, and half-width of the middle half, of compressed columns
    width: FloatArray  # (M,) 0: not compressed
    mean: FloatArray  # (M,) of what comes out, before it is divided by its range
    range: FloatArray  # (M,)
    pairs: IntArray  # (P,) columns with two values
    values: FloatArray  # (P, 2)
    categories: IntArray  # (Q - P,) columns of the table, after which come the pairs
    seen: IntArray  # (L',) levels of the table's categories that occur
    level_column: IntArray  # (L,) number of the categorical column, 0 to Q - 1, of each level

    @property
    def categorical(self) -> IntArray:
        """The columns of the table that the mixture sees as categories."""
        return np.concatenate([self.categories, self.pairs])

    def encode(self, X: NDArray[np.floating], levels: NDArray[np.int32] | None) -> Rows:
        """Return rows of the table, the numeric columns and the levels, encoded.

        Values of a pair that are neither of the two, and levels never seen, count as missing.
        """
        raw = np.asarray(X[:, self.numbers], dtype=np.float64)
        present = np.isfinite(raw)
        numbers = self._standardized(np.where(present, raw, self.lowest))
        numbers[~present] = 0.0
        observed = None if present.all() else present.astype(np.float64)
        return Rows(numbers, observed, self._one_hot(X, levels))

    def _standardized(self, raw: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            unit = (0.5 * raw - 0.5 * self.lowest) / (0.5 * self.highest - 0.5 * self.lowest)
        unit = np.clip(unit, -_FARTHEST, _FARTHEST)
        return (_compressed(unit, self.middle, self.width) - self.mean) / self.range

    def _one_hot(self, X: NDArray[np.floating], levels: NDArray[np.int32] | None) -> csr_matrix:
        n_rows = len(X)
        found = np.full((n_rows, self.categorical.size), -1, dtype=np.int64)
        if levels is not None and self.seen.size:
            number = np.full(int(self.seen.max()) + 1, -1, dtype=np.int64)
            number[self.seen] = np.arange(self.seen.size)
            known = (levels >= 0) & (levels < number.size)
            found[:, : levels.shape[1]] = np.where(
                known, number[np.clip(levels, 0, number.size - 1)], -1
            )
        for j, (column, pair) in enumerate(zip(self.pairs, self.values, strict=True)):
            at = self.categories.size + j
            first = self.seen.size + 2 * j
            values = X[:, column]
            found[:, at] = np.select([values == pair[0], values == pair[1]], [first, first + 1], -1)
        row, column = np.nonzero(found >= 0)
        ones = np.ones(row.size)
        shape = (n_rows, self.level_column.size)
        return csr_matrix((ones, (row, found[row, column])), shape=shape)


def learn_encoding(
    X: NDArray[np.floating],
    levels: NDArray[np.int32] | None,
    layout: Layout,
    weight: FloatArray,
    *,
    compress: bool,
) -> Encoding:
    """Return the encoding of the numeric columns X and of levels, both of rows with weight.

    With `compress`, columns with heavy tails go through an inverse hyperbolic sine, which is
    linear in the middle and logarithmic far away.
    """
    wide, pairs, values = [], [], []
    lowest, highest, middle, width, mean, range_ = [], [], [], [], [], []
    for v in range(X.shape[1]):
        here = np.isfinite(X[:, v])
        raw, w = np.asarray(X[here, v], dtype=np.float64), weight[here]
        if not raw.size:
            continue
        low, high = float(raw.min()), float(raw.max())
        if not 0.5 * high - 0.5 * low > 0:
            continue
        if ((raw == low) | (raw == high)).all():
            pairs.append(v)
            values.append((low, high))
            continue
        unit = (0.5 * raw - 0.5 * low) / (0.5 * high - 0.5 * low)
        center, half = _compression(unit, w) if compress else (0.0, 0.0)
        out = _compressed(unit[:, None], np.array([center]), np.array([half]))[:, 0]
        wide.append(v)
        lowest.append(low)
        highest.append(high)
        middle.append(center)
        width.append(half)
        mean.append(float(np.average(out, weights=w)))
        range_.append(float(np.ptp(out)))
    seen, column = _seen_levels(levels, layout)
    pair_columns = layout.categorical.size + np.repeat(np.arange(len(pairs)), 2)
    return Encoding(
        np.array(wide, dtype=np.int64),
        np.array(lowest, dtype=np.float64),
        np.array(highest, dtype=np.float64),
        np.array(middle, dtype=np.float64),
        np.array(width, dtype=np.float64),
        np.array(mean, dtype=np.float64),
        np.array(range_, dtype=np.float64),
        np.array(pairs, dtype=np.int64),
        np.array(values, dtype=np.float64).reshape(-1, 2),
        np.arange(layout.categorical.size, dtype=np.int64),
        seen,
        np.concatenate([column, pair_columns]).astype(np.int64),
    )


def _seen_levels(levels: NDArray[np.int32] | None, layout: Layout) -> tuple[IntArray, IntArray]:
    """Return the levels that occur, and the categorical column of each."""
    if levels is None:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    seen = np.unique(levels[levels >= 0]).astype(np.int64)
    return seen, np.searchsorted(layout.offsets, seen, side="right") - 1


def _compression(unit: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Return the middle and the width of a column with heavy tails; width 0 without them."""
    mean = np.average(unit, weights=weight)
    variance = np.average((unit - mean) ** 2, weights=weight)
    if np.average((unit - mean) ** 4, weights=weight) <= HEAVY_TAILS * variance**2:
        return 0.0, 0.0
    low, middle, high = _quantiles(unit, weight, (0.25, 0.5, 0.75))
    width = (high - low) / 1.349  # of a normal distribution: its standard deviation
    return float(middle), float(width if width > 0 else 0.5 * np.sqrt(variance))


def _quantiles(values: FloatArray, weight: FloatArray, at: tuple[float, ...]) -> FloatArray:
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weight[order])
    where = np.searchsorted(share, np.asarray(at) * share[-1])
    return np.asarray(values[order][np.minimum(where, values.size - 1)])


def _compressed(unit: FloatArray, middle: FloatArray, width: FloatArray) -> FloatArray:
    heavy = width > 0
    if not heavy.any():
        return unit
    safe = np.where(heavy, width, 1.0)
    return np.where(heavy, np.arcsinh((unit - middle) / safe), unit)
