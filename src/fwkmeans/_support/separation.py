r"""How well one column tells groups of rows apart.

Two groups of rows are compared by a question to the column whose answers differ most:

* categories: is the value one of these? The best set S gives :math:`P(S) - Q(S)`, which is the
  total variation :math:`\tfrac12 \sum_c |p_c - q_c|`;
* numbers, by level: which is higher? For a row of each group, drawn at random, how often it is
  that of the first, less how often that of the second (Cliff's delta);
* numbers, by range: does the value lie between l and h? The best range, or its complement, gives
  :math:`\max G - \min G` for the difference G of the distribution functions (Kuiper's statistic).

All three are shares T of the rows between 0 and 1, and equal for a column of two values. Groups of
few rows differ by chance, so what is told is :math:`(T - E) / (1 - E)`, or 0 if that is negative,
where E is what T would be on average if the same rows were divided at random: 0 is chance, 1 means
that the column alone tells the groups apart. Of the two questions to numbers the better one counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]
Labels = NDArray[np.integer]


#: Cells of stacked columns that are compared at a time.
MOST_CELLS = 1 << 18

#: Share of a group from which on it is on both sides of the other; with less, it is low or high.
BOTH_SIDES = 0.1


class Masses(NamedTuple):
    """A column as a table of its distinct values (rows) and clusters.

    Columns of numbers with as many distinct values each may be stacked along a first axis.
    """

    mass: Floats  # (U, K) sums of the rows' weights
    rows: Floats  # (K,) effective number of rows with a value in each cluster
    values: Floats | None  # (U,) increasing; None for categories


class Apart(NamedTuple):
    """How well a column tells pairs of groups apart; one entry for each pair.

    Stacked columns have a first axis here, too.
    """

    share: Floats  # 0 to 1, beyond chance
    higher: Floats  # -1 to 1: how often the first is higher, less how often lower; 0 for categories
    by_range: NDArray[np.bool_]  # whether a range says what the level does not
    low: Floats  # the range in which the first group is found, both ends included; NaN if none
    high: Floats
    inside: Floats  # share of the first group in that range, and of the second
    inside_other: Floats


def masses_of_numbers(
    numbers: Floats, labels: Labels, n_clusters: int, weights: Floats | None = None
) -> Masses:
    """Return the distinct numbers, and how much of each is in which cluster; NaN is missing."""
    present = ~np.isnan(numbers)
    values, codes = np.unique(numbers[present], return_inverse=True)
    kept = None if weights is None else weights[present]
    return _masses(codes, values.size, labels[present], n_clusters, kept)._replace(values=values)


def masses_of_many(
    numbers: Floats, labels: Labels, n_clusters: int, weights: Floats | None = None
) -> list[Masses]:
    """Return the same for many columns, the rows of `numbers`, in which nothing is missing."""
    n_columns, n_rows = numbers.shape
    order = np.argsort(numbers, axis=1)
    in_order = np.take_along_axis(numbers, order, axis=1)
    is_new = np.ones(numbers.shape, dtype=bool)
    np.not_equal(in_order[:, 1:], in_order[:, :-1], out=is_new[:, 1:])
    codes = np.empty(numbers.shape, dtype=np.int64)
    np.put_along_axis(codes, order, is_new.cumsum(axis=1) - 1, axis=1)
    cells = (np.arange(n_columns)[:, None] * n_rows + codes) * n_clusters + labels
    every = None if weights is None else np.tile(weights, n_columns)
    mass = np.bincount(cells.ravel(), every, numbers.size * n_clusters)
    mass = mass.reshape(n_columns, n_rows, n_clusters)
    return [
        _counted(own[: new.sum()], labels, weights)._replace(values=values[new])
        for own, values, new in zip(mass, in_order, is_new, strict=True)
    ]


def masses_of_categories(
    codes: Labels, n_categories: int, labels: Labels, n_clusters: int, weights: Floats | None = None
) -> Masses:
    """Return how much of each category is in which cluster; a negative code is missing."""
    present = codes >= 0
    kept = None if weights is None else weights[present]
    return _masses(codes[present], n_categories, labels[present], n_clusters, kept)


def _masses(
    codes: Labels, n_values: int, labels: Labels, n_clusters: int, weights: Floats | None
) -> Masses:
    cells = codes.astype(np.int64) * n_clusters + labels
    mass = np.bincount(cells, weights, n_values * n_clusters).reshape(n_values, n_clusters)
    return _counted(mass, labels, weights)


def _counted(mass: NDArray[Any], labels: Labels, weights: Floats | None) -> Masses:
    n_clusters = mass.shape[1]
    total = mass.sum(axis=0)
    squares = total
    if weights is not None:
        squares = np.bincount(labels, weights**2, n_clusters)
    rows = np.divide(total**2, squares, out=np.zeros(n_clusters), where=squares > 0)
    return Masses(mass.astype(np.float64), rows, None)


def each_against_rest(columns: Sequence[Masses]) -> list[Apart]:
    """Compare each cluster with all other rows, column by column; those alike at one go."""
    alike: dict[Any, list[int]] = {}
    for v, one in enumerate(columns):
        alike.setdefault(v if one.values is None else one.mass.shape, []).append(v)
    found: dict[int, Apart] = {}
    for places in alike.values():
        first = columns[places[0]]
        at_a_time = max(1, MOST_CELLS // max(1, first.mass.size))
        for begin in range(0, len(places), at_a_time):
            some = places[begin : begin + at_a_time]
            if len(some) == 1:
                found[some[0]] = against_rest(columns[some[0]])
                continue
            each = zip(*(columns[v] for v in some), strict=True)
            stacked = Masses(*map(np.stack, each))
            found |= zip(some, map(Apart, *against_rest(stacked)), strict=True)
    return [found[v] for v in range(len(columns))]


def against_rest(column: Masses) -> Apart:
    """Compare each cluster with all other rows."""
    mass, rows = column.mass, column.rows
    rest = np.maximum(mass.sum(axis=-1, keepdims=True) - mass, 0.0)
    # Kish's number for the union of clusters, from theirs
    total = mass.sum(axis=-2)
    whole = total.sum(axis=-1, keepdims=True)
    squares = np.divide(total**2, rows, out=np.zeros_like(rows), where=rows > 0)
    others, other_squares = whole - total, squares.sum(axis=-1, keepdims=True) - squares
    rest_rows = np.divide(
        others**2, other_squares, out=np.zeros_like(rows), where=other_squares > 0
    )
    rest = np.where((total >= whole)[..., None, :], 0.0, rest)
    return _compare(mass, rest, rows, rest_rows, column.values)


def between(column: Masses, first: Labels, second: Labels) -> Apart:
    """Compare pairs of clusters."""
    mass, rows = column.mass, column.rows
    return _compare(mass[:, first], mass[:, second], rows[first], rows[second], column.values)


def _compare(p: Floats, q: Floats, n: Floats, m: Floats, values: Floats | None) -> Apart:
    """Compare the columns of `p` with those of `q`, which stand for n and m rows."""
    known = (p.sum(axis=-2) > 0) & (q.sum(axis=-2) > 0) & (n > 0) & (m > 0)
    p, q = _shares(p), _shares(q)
    n, m = np.where(known, n, 1.0), np.where(known, m, 1.0)
    if values is None:
        found = np.abs(p - q).sum(axis=0) / 2
        share = _beyond(found, _chance_of_categories(p, q, n, m))
        share[~known] = 0.0
        zeros, unknown = np.zeros(share.shape), np.full(share.shape, np.nan)
        none = np.zeros(share.shape, dtype=bool)
        return Apart(share, zeros, none, unknown, unknown, unknown, unknown)
    below_p, below_q = p.cumsum(axis=-2), q.cumsum(axis=-2)
    higher = 2.0 * (p * (below_q - q / 2)).sum(axis=-2) - 1.0
    higher = np.clip(np.where(known, higher, 0.0), -1.0, 1.0)
    level = _beyond(np.abs(higher), _chance_of_level(p, q, n, m))
    # sums of shares are equal up to rounding
    gap = _from_zero(np.round((below_p - below_q)[..., :-1, :], 12), last=True)
    top, bottom = gap.argmax(axis=-2), gap.argmin(axis=-2)
    # a group on one side of the other is in a range up to the last value, or from the first one
    top[(top == 0) & (bottom > 0)] = values.shape[-1]
    width = _at(gap, top) - _at(gap, bottom)
    chance = np.minimum(1.0, np.sqrt(np.pi / 2 * (n + m) / (n * m)))
    by_range = _beyond(width, chance)
    share = np.where(known, np.maximum(level, by_range), 0.0)
    upto_p, upto_q = _from_zero(below_p), _from_zero(below_q)
    low, high, inside, other = _ranges(values, upto_p, upto_q, bottom, top)
    # a range up to the first or the last value is a level in other words
    one_side = ((bottom == 0) & (higher < 0)) | ((top == values.shape[-1]) & (higher > 0))
    lower = _at(upto_p, np.minimum(top, bottom))
    lesser = np.minimum(lower, inside - lower)  # part of a group on both sides of the other
    by_level = np.where(np.isnan(low), lesser < BOTH_SIDES, one_side & (low < high))
    told = known & (by_range > level + 1e-9) & ~by_level
    return Apart(share, higher, told, low, high, inside, other)


def _from_zero(below: Floats, *, last: bool = False) -> Floats:
    """Return a distribution before each value and after the last, where it may be 0 again."""
    out = np.zeros((*below.shape[:-2], below.shape[-2] + 1 + last, below.shape[-1]))
    out[..., 1 : below.shape[-2] + 1, :] = below
    return out


def _at(table: Floats, places: Labels) -> Floats:
    """Return one row of each column of a table."""
    return np.asarray(np.take_along_axis(table, places[..., None, :], axis=-2)[..., 0, :])


def _shares(mass: Floats) -> Floats:
    total = mass.sum(axis=-2, keepdims=True)
    return np.asarray(mass / np.where(total > 0, total, 1.0))


def _beyond(found: Floats, chance: Floats) -> Floats:
    room = np.maximum(1.0 - chance, 1e-9)
    return np.asarray(np.clip((found - chance) / room, 0.0, 1.0) * (chance < 1.0 - 1e-9))


def _ranges(
    values: Floats, p: Floats, q: Floats, bottom: Labels, top: Labels
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the range in which the first group is found, and both shares there.

    If the other group has a range and the first is on both sides of it, the ends are NaN.
    """
    inside, other = _at(p, top) - _at(p, bottom), _at(q, top) - _at(q, bottom)
    if not values.size:
        return np.full(top.shape, np.nan), np.full(top.shape, np.nan), inside, other
    within = bottom < top
    first, last = np.minimum(bottom, values.shape[-1] - 1), np.maximum(top, 1) - 1
    low = np.where(within, np.take_along_axis(values, first, axis=-1), np.nan)
    high = np.where(within, np.take_along_axis(values, last, axis=-1), np.nan)
    around = bottom > top
    return low, high, np.where(around, 1.0 + inside, inside), np.where(around, 1.0 + other, other)


# ---- chance -------------------------------------------------------------------------------------


def _chance_of_level(p: Floats, q: Floats, n: Floats, m: Floats) -> Floats:
    """Return the mean size of Cliff's delta if rows are divided at random (normal approximation).

    Its variance is that of the Mann-Whitney statistic, corrected for ties.
    """
    total = n + m
    counts = p * n[..., None, :] + q * m[..., None, :]
    ties = ((counts**3).sum(axis=-2) - total) / np.maximum(total**3 - total, 1.0)
    variance = (total + 1.0) / (3.0 * n * m) * np.clip(1.0 - ties, 0.0, 1.0)
    return np.asarray(np.minimum(1.0, np.sqrt(2.0 / np.pi * variance)))


def _chance_of_categories(p: Floats, q: Floats, n: Floats, m: Floats) -> Floats:
    r"""Return the mean total variation if rows are divided at random.

    The number of rows of a category in the first group is hypergeometric, and its total variation
    is :math:`\tfrac12 (1/n + 1/m)` times the sum of the mean absolute deviations.
    """
    n, m = np.maximum(1.0, np.round(n)), np.maximum(1.0, np.round(m))
    counts = np.round(p * n + q * m)
    counts = np.where((p + q > 0) & (counts == 0), 1.0, counts)
    total = np.maximum(counts.sum(axis=0), n + m)
    deviation = _mean_absolute_deviation(total, counts, n)
    return np.asarray(np.minimum(1.0, (1.0 / n + 1.0 / m) / 2 * deviation.sum(axis=0)))


def _mean_absolute_deviation(total: Floats, marked: Floats, drawn: Floats) -> Floats:
    """Return that of the number of marked rows among those drawn, in closed form."""
    at = np.floor(marked * drawn / total) + 1.0
    left = total - marked - drawn + at  # rows that are neither drawn nor marked
    possible = (at <= np.minimum(marked, drawn)) & (left >= 0)
    at, left = np.where(possible, at, 0.0), np.where(possible, left, 0.0)
    log = (
        _log_choose(marked, at)
        + _log_choose(total - marked, drawn - at)
        - _log_choose(total, drawn)
    )
    return np.asarray(np.where(possible, 2.0 / total * at * left * np.exp(log), 0.0))


def _log_choose(n: Floats, k: Floats) -> Floats:
    k = np.clip(k, 0.0, n)
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))
