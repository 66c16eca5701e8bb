"""Rows as the mixture sees them: numbers in units of their range, and levels of categories."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from fwkmeans._tabular.layout import Layout
from fwkmeans.typing import BoolArray, FloatArray, IntArray

#: Kurtosis beyond which a column is compressed (a normal distribution has 3).
HEAVY_TAILS = 4.5
#: Cells of a table that are looked at together.
MOST_CELLS = 200_000


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


class Alone(NamedTuple):
    """Some rows in columns that are looked at one by one."""

    numbers: FloatArray  # (n, m)
    squares: FloatArray  # (n, m)
    observed: FloatArray | None  # (n, m) 1 or 0

    def observed_mass(self, weighted: FloatArray, total: FloatArray) -> FloatArray:
        """Return how much of each cluster is observed in each column, (K, m).

        `total` are the sums of the columns of `weighted`, which take long.
        """
        if self.observed is None:
            return np.repeat(total[:, None], self.numbers.shape[1], axis=1)
        return np.asarray(weighted.T @ self.observed)


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

    def alone(self, columns: IntArray, here: BoolArray | slice = slice(None)) -> Alone:
        """Return some rows in columns that are looked at one by one."""
        numbers = self.numbers[here][:, columns]
        observed = None if self.observed is None else self.observed[here][:, columns]
        return Alone(numbers, numbers**2, observed)

    def complete(self, columns: IntArray) -> BoolArray:
        """Tell which rows have all of some columns."""
        if self.observed is None:
            return np.ones(self.n_rows, dtype=bool)
        return np.asarray(self.observed[:, columns].all(axis=1))


#: Ranges that a value may be outside of what was seen; its square still has a number.
_FARTHEST = 1e100


class Encoding(NamedTuple):
    """How a table is encoded. Columns that are constant, or of too many categories, take no part.

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
    categories: IntArray  # (Q - P,) categorical columns of the table, after which come the pairs
    seen: IntArray  # (L',) levels of the table's categories that occur
    level_column: IntArray  # (L,) number of the categorical column, 0 to Q - 1, of each level

    @property
    def categorical(self) -> IntArray:
        """The categorical columns of the table, and the numeric ones with two values."""
        return np.concatenate([self.categories, self.pairs])

    def encode(self, X: NDArray[np.floating], levels: NDArray[np.int32] | None) -> Rows:
        """Return rows of the table, the numeric columns and the levels, encoded.

        Values of a pair that are neither of the two, and levels never seen, count as missing.
        """
        raw = np.asarray(X[:, self.numbers], dtype=np.float64)
        present = np.isfinite(raw)
        observed = None if present.all() else present.astype(np.float64)
        if observed is not None:
            raw = np.where(present, raw, self.lowest)
        numbers = self._standardized(raw)
        if observed is not None:
            numbers[~present] = 0.0
        return Rows(numbers, observed, self._one_hot(X, levels))

    def _standardized(self, raw: FloatArray) -> FloatArray:
        unit = np.multiply(0.5, raw, out=raw)  # in place: of a long table each copy takes its time
        with np.errstate(over="ignore"):
            unit -= 0.5 * self.lowest
            unit /= 0.5 * self.highest - 0.5 * self.lowest
        unit = _compressed(np.clip(unit, -_FARTHEST, _FARTHEST, out=unit), self.middle, self.width)
        unit -= self.mean
        unit /= self.range
        return unit

    def _one_hot(self, X: NDArray[np.floating], levels: NDArray[np.int32] | None) -> csr_matrix:
        n_rows = len(X)
        found = np.full((n_rows, self.categorical.size), -1, dtype=np.int64)
        if levels is not None and self.seen.size:
            number = np.full(int(self.seen.max()) + 1, -1, dtype=np.int64)
            number[self.seen] = np.arange(self.seen.size)
            levels = levels[:, self.categories]
            known = (levels >= 0) & (levels < number.size)
            found[:, : self.categories.size] = np.where(
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
    present = np.isfinite(X)
    whole = np.flatnonzero(present.all(axis=0))
    at_a_time = max(1, MOST_CELLS // max(1, len(X)))
    parts = [
        _learn(np.ascontiguousarray(X[:, some].T, dtype=np.float64), weight, some, compress)
        for some in np.split(whole, range(at_a_time, whole.size, at_a_time))
    ]
    for v in np.flatnonzero(~present.all(axis=0) & present.any(axis=0)):
        here = present[:, v]
        raw = np.asarray(X[here, v], dtype=np.float64)[None]
        parts.append(_learn(raw, weight[here], np.array([v]), compress))
    wide, *found = (np.concatenate(each) for each in zip(*(one[0] for one in parts), strict=True))
    pairs, *ends = (np.concatenate(each) for each in zip(*(one[1] for one in parts), strict=True))
    order, pair_order = np.argsort(wide), np.argsort(pairs)
    lowest, highest, middle, width, mean, range_ = (one[order] for one in found)
    categories, seen, column = _seen_levels(levels, layout)
    pair_columns = categories.size + np.repeat(np.arange(pairs.size), 2)
    return Encoding(
        wide[order],
        lowest,
        highest,
        middle,
        width,
        mean,
        range_,
        pairs[pair_order],
        np.stack(ends, axis=1)[pair_order],
        categories,
        seen,
        np.concatenate([column, pair_columns]).astype(np.int64),
    )


def _seen_levels(
    levels: NDArray[np.int32] | None, layout: Layout
) -> tuple[IntArray, IntArray, IntArray]:
    """Return categorical columns, their levels that occur, and the place of the column of each.

    A column is left out if its categories are so many, such as names, that it must be noise: two
    clusters gain at most log 2 from each row that has one, which does not pay for the parameters.
    More clusters gain even less for each parameter.
    """
    if levels is None:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    seen = np.unique(levels[levels >= 0]).astype(np.int64)
    column = np.searchsorted(layout.offsets, seen, side="right") - 1
    n_levels = np.bincount(column, minlength=levels.shape[1])
    gain = (levels >= 0).sum(axis=0) * np.log(2)
    pays = gain >= 0.5 * (n_levels - 1) * np.log(len(levels))
    kept = pays[column]
    place = np.cumsum(pays) - 1
    return np.flatnonzero(pays), seen[kept], place[column[kept]]


def _learn(
    raw: FloatArray, weight: FloatArray, columns: IntArray, compress: bool
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the encoding of columns, the rows of `raw`, that have more than two values and of two.

    Sums run along contiguous rows, so that they are the same to the bit for any columns beside.
    """
    low, high = raw.min(axis=1, initial=np.inf), raw.max(axis=1, initial=-np.inf)
    varies = 0.5 * high - 0.5 * low > 0
    raw, low, high, columns = raw[varies], low[varies], high[varies], columns[varies]
    of_two = ((raw == low[:, None]) | (raw == high[:, None])).all(axis=1)
    pairs = columns[of_two], low[of_two], high[of_two]
    raw, low, high, columns = raw[~of_two], low[~of_two], high[~of_two], columns[~of_two]
    half = 0.5 * low
    unit = (0.5 * raw - half[:, None]) / (0.5 * high - half)[:, None]
    middle, width = _compression(unit, weight) if compress else np.zeros((2, columns.size))
    out = _compressed(unit, middle[:, None], width[:, None])
    mean = (out * weight).sum(axis=1) / weight.sum()
    range_ = out.max(axis=1, initial=-np.inf) - out.min(axis=1, initial=np.inf)
    return (columns, low, high, middle, width, mean, range_), pairs


def _compression(unit: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the middle and the width of columns (rows of `unit`) with heavy tails; else 0."""
    total = weight.sum()
    away = unit - ((unit * weight).sum(axis=1) / total)[:, None]
    variance = (away**2 * weight).sum(axis=1) / total
    heavy = (away**4 * weight).sum(axis=1) / total > HEAVY_TAILS * variance**2
    middle, width = np.zeros(len(unit)), np.zeros(len(unit))
    for v in np.flatnonzero(heavy):
        low, middle[v], high = _quantiles(unit[v], weight, (0.25, 0.5, 0.75))
        width[v] = (high - low) / 1.349  # of a normal distribution: its standard deviation
        if not width[v] > 0:
            width[v] = 0.5 * np.sqrt(variance[v])
    return middle, width


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
