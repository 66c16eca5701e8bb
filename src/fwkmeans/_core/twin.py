"""The kernels in a few lines of array-API Python.

This is the specification of the C++ kernels, and tests compare them with it. It also serves
other dense rows than NumPy's. Everything is computed from differences, in float64, block by block.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce
from typing import Any, NamedTuple

from array_api_compat import array_namespace, device

from fwkmeans._core.array_kernels import (
    cross_products,
    mass_of,
    no_labels,
    observed_cells,
    take_rows,
)
from fwkmeans.typing import Block, BoolArray, FloatArray, LastLabels, Pass, Statistics

__all__ = [
    "Moments",
    "Slopes",
    "assign",
    "assign_and_accumulate",
    "cross_products",
    "describe",
    "dissimilarities",
    "distances",
    "find_farthest",
    "join_slopes",
    "mass_of",
    "no_labels",
    "observed_cells",
    "powers",
    "roots",
    "row_keys",
    "slopes",
    "take_rows",
]

_CHUNK = 1 << 22  # numbers in the largest temporary, (rows, K, M)


class Moments(NamedTuple):
    """Sums over the rows of a block; `sums` and `squares` are relative to the reference."""

    mass: float
    n_rows: int
    sums: Any  # (M,)
    squares: Any  # (M,)
    minimum: Any  # (M,)
    maximum: Any  # (M,)
    observed: Any  # (M,) mass of the observed cells
    nonfinite: Any  # (M,) cells that are NaN or infinite
    missing: Any  # (M,) cells that are NaN

    def plus(self, other: Moments) -> Moments:
        """Return the moments of both sets of rows, about the same reference."""
        xp = array_namespace(self.sums)
        sums = Moments(*(a + b for a, b in zip(self, other, strict=True)))
        return sums._replace(
            minimum=xp.minimum(self.minimum, other.minimum),
            maximum=xp.maximum(self.maximum, other.maximum),
        )


class Summary(NamedTuple):
    """What moments tell about each numeric feature; see `fwkmeans.typing.Description`."""

    mean: FloatArray
    scatter: FloatArray
    minimum: FloatArray
    maximum: FloatArray
    span: FloatArray
    magnitude: FloatArray
    equal_weights: FloatArray
    varying: BoolArray
    n_varying: int
    span_range: tuple[float, float]  # of all features
    scatter_range: tuple[float, float]
    total_scatter: float


class Slopes(NamedTuple):
    """How ``sum s |y - c|^p`` changes at points c, and the values next to c: (R, K, M)."""

    slope: Any  # sum of s sign(c - y) |c - y|^(p-1)
    curvature: Any  # sum of s |c - y|^(p-2), without y = c
    third: Any  # sum of s sign(c - y) |c - y|^(p-3), without y = c, and of the sizes of its terms
    third_size: Any
    equal: Any  # mass at c; this and the next four are computed for p < 2 only
    below: Any  # largest value below c, -inf if none, and the mass there
    below_mass: Any
    above: Any  # smallest value above c, inf if none, and the mass there
    above_mass: Any
    low: Any  # smallest and largest value
    high: Any


class _Chunk(NamedTuple):
    begin: int
    rows: Any  # (n, M) float64, zero where missing
    there: Any  # (n, M) whether a cell is observed
    weight: Any  # (n,)
    levels: Any  # (n, C) or None

    @property
    def here(self) -> slice:
        return slice(self.begin, self.begin + self.rows.shape[0])


def _chunks(block: Block, n_clusters: int = 1) -> Iterator[_Chunk]:
    rows = block.rows
    xp = array_namespace(rows)
    step = max(1, min(4096, _CHUNK // (n_clusters * max(1, rows.shape[1]))))
    for begin in range(0, rows.shape[0], step):
        end = min(begin + step, rows.shape[0])
        cells = xp.astype(rows[begin:end, :], xp.float64)
        there = ~xp.isnan(cells)
        if block.sample_weight is None:
            weight = xp.ones(cells.shape[0], dtype=xp.float64, device=device(rows))
        else:
            weight = block.sample_weight[begin:end]
        levels = None if block.levels is None else block.levels[begin:end, :]
        yield _Chunk(begin, xp.where(there, cells, xp.zeros_like(cells)), there, weight, levels)


def _power(assigning: Pass, start: int) -> float:
    return 2.0 if assigning.power is None else float(assigning.power[start])


def _measure(t: Any, p: float, xp: Any) -> Any:
    """Return ``|t|^p``, and ``|t|`` for p = infinity."""
    if p == 2.0:
        return t * t
    return xp.abs(t) if p in (1.0, math.inf) else xp.abs(t) ** p


def dissimilarities(chunk: _Chunk, assigning: Pass, start: int = 0, unit: Any = None) -> Any:
    """Return ``d[i, k] = sum_v w_kv |y_iv - c_kv|^p`` + costs of the observed categories.

    With a unit for each row, (n, 1, 1), it is the sum over numbers alone, of ``|y - c| / unit``.
    """
    xp, p = array_namespace(chunk.rows), _power(assigning, start)
    centers, weights = assigning.centers[start, ...], assigning.weights[start, ...]
    rows, centers = chunk.rows[:, None, :], centers[None, :, :]
    t = rows - centers if unit is None else rows / unit - centers / unit
    there = chunk.there[:, None, :] & (weights > 0)[None, :, :]  # 0 x infinity is 0
    terms = xp.where(there, weights[None, :, :] * _measure(t, p, xp), xp.zeros_like(t))
    d = xp.max(terms, axis=-1) if p == math.inf else xp.sum(terms, axis=-1)
    if chunk.levels is not None and assigning.costs is not None and unit is None:
        for v in range(chunk.levels.shape[1]):
            level = chunk.levels[:, v]
            cost = xp.take(assigning.costs[start, ...], xp.where(level < 0, 0, level), axis=1)
            d = d + xp.where(level[:, None] < 0, xp.zeros_like(d), xp.matrix_transpose(cost))
    return d


def _units(chunk: _Chunk, assigning: Pass, start: int) -> Any:
    """Return for each row a power of two near its largest value, or that of a center: (n, 1, 1)."""
    xp = array_namespace(chunk.rows)
    size = xp.max(xp.abs(chunk.rows), axis=-1)
    size = xp.maximum(size, xp.max(xp.abs(assigning.centers[start, ...])))
    exponent = xp.minimum(xp.ceil(xp.log2(xp.maximum(size, xp.ones_like(size)))), 0 * size + 1023.0)
    return (2.0**exponent)[:, None, None]


def _observed_weights(chunk: _Chunk, assigning: Pass, start: int) -> tuple[Any, Any]:
    """Return the weight of the observed cells of each row, (n, K), and that of all cells."""
    xp = array_namespace(chunk.rows)
    shape = (chunk.rows.shape[0], assigning.centers.shape[1])
    weights = assigning.weights[start, ...]
    if _power(assigning, start) == math.inf:
        known = xp.where(chunk.there[:, None, :], weights[None, :, :], 0.0 * weights[None, :, :])
        return xp.broadcast_to(xp.max(known, axis=-1), shape), xp.max(weights, axis=-1)
    part = xp.astype(chunk.there, xp.float64) @ xp.matrix_transpose(weights)
    every = xp.sum(weights, axis=-1)
    if chunk.levels is not None and assigning.category_weights is not None:
        own = assigning.category_weights[start, ...]
        part = part + xp.astype(chunk.levels >= 0, xp.float64) @ xp.matrix_transpose(own)
        every = every + xp.sum(own, axis=-1)
    return xp.broadcast_to(part, shape), every


def _missing(chunk: _Chunk) -> Any:
    """Return the number of missing cells of each row."""
    xp = array_namespace(chunk.rows)
    missing = xp.count_nonzero(~chunk.there, axis=-1)
    if chunk.levels is not None:
        missing = missing + xp.count_nonzero(chunk.levels < 0, axis=-1)
    return missing


def _rescaled(d: Any, chunk: _Chunk, assigning: Pass, start: int) -> Any:
    """Divide by the observed share of the weight, in rows with missing cells."""
    xp = array_namespace(chunk.rows)
    part, every = _observed_weights(chunk, assigning, start)
    known = part > 0
    scaled = d * (every / xp.where(known, part, xp.ones_like(part)))
    scaled = xp.where(known, scaled, xp.zeros_like(scaled) + math.inf)
    return xp.where((_missing(chunk) > 0)[:, None], scaled, d)


def _labels(block: Block, chunk: _Chunk, assigning: Pass, start: int) -> tuple[Any, Any]:
    """Return the labels, and the dissimilarities to all centers without offset or rescaling."""
    xp = array_namespace(chunk.rows)
    d = dissimilarities(chunk, assigning, start)
    cost = d
    if block.gaps and assigning.rescale:
        cost = _rescaled(d, chunk, assigning, start)
    labels = xp.argmin(cost + assigning.offsets[start, :], axis=-1)
    too_far = xp.all(xp.isinf(d), axis=-1)
    if xp.any(too_far):  # offsets and categories do not matter there
        cost = dissimilarities(chunk, assigning, start, _units(chunk, assigning, start))
        if block.gaps and assigning.rescale:
            cost = _rescaled(cost, chunk, assigning, start)
        labels = xp.where(too_far, xp.argmin(cost, axis=-1), labels)
    return labels, d


def _stretch(block: Block, chunk: _Chunk, p: float) -> Any:
    """Return the factor by which missing cells multiply the dissimilarities of each row."""
    xp = array_namespace(chunk.rows)
    if not (block.gaps and block.stretch) or p == math.inf:
        return xp.ones_like(chunk.weight)
    n_features = chunk.rows.shape[1] + (0 if chunk.levels is None else chunk.levels.shape[1])
    return n_features / xp.astype(n_features - _missing(chunk), xp.float64)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def row_keys(first_row: int, n_rows: int, xp: Any, where: Any) -> Any:
    """Return splitmix64 of the row numbers, as int64 that wraps around."""
    index = xp.arange(first_row + 1, first_row + n_rows + 1, dtype=xp.int64, device=where)

    def mixed(z: Any, shift: int) -> Any:  # z ^ (z >> shift), with a logical shift
        mask = xp.asarray((1 << (64 - shift)) - 1, dtype=xp.int64, device=where)
        steps = xp.asarray(shift, dtype=xp.int64, device=where)
        return xp.bitwise_xor(z, xp.bitwise_and(xp.bitwise_right_shift(z, steps), mask))

    z = index * _signed(0x9E3779B97F4A7C15)
    z = mixed(z, 30) * _signed(0xBF58476D1CE4E5B9)
    z = mixed(z, 27) * _signed(0x94D049BB133111EB)
    return mixed(z, 31)


def assign_and_accumulate(
    block: Block, assigning: Pass, reference: Any, last: LastLabels | None
) -> Statistics:
    """Assign each row to ``argmin_k d_ik + offset_k``, and sum relative to the references.

    If the last labels are given, they are replaced. Starts marked in `update` then get only the
    change of the sums, from the rows that moved from one cluster to another.
    """
    rows = block.rows
    xp, where = array_namespace(rows), device(rows)
    keys = row_keys(block.first_row, rows.shape[0], xp, where)
    n_levels = 0 if assigning.costs is None else assigning.costs.shape[2]
    starts = []
    for r in range(assigning.centers.shape[0]):
        parts = []
        for chunk in _chunks(block, assigning.centers.shape[1]):
            labels, _ = _labels(block, chunk, assigning, r)
            sums = _sums(chunk, labels, reference[r, ...], n_levels, xp)
            changed = xp.zeros(1, dtype=xp.int64, device=where)
            if last is not None:
                before = xp.astype(last.labels[r, chunk.here], labels.dtype)
                changed = changed + xp.sum(xp.astype(before != labels, xp.int64))
                if last.update[r]:
                    earlier = _sums(chunk, before, reference[r, ...], n_levels, xp)
                    sums = [new - old for new, old in zip(sums, earlier, strict=True)]
                last.labels[r, chunk.here] = xp.astype(labels, last.labels.dtype)
            key = keys[chunk.here] * xp.astype(chunk.weight > 0, xp.int64)
            printed = xp.sum(key * (xp.astype(labels, xp.int64) + 1), keepdims=True)
            parts.append([*sums, printed, changed])
        starts.append([sum(column[1:], start=column[0]) for column in zip(*parts, strict=True)])
    mass, n_rows, sums_, squares, observed, counts, printed, changed = (
        xp.stack(list(column)) for column in zip(*starts, strict=True)
    )
    return Statistics(
        mass,
        xp.astype(n_rows, xp.int64),
        sums_,
        squares,
        observed if block.gaps else None,
        counts,
        printed[:, 0],
        changed[:, 0],
        reference,
    )


def _sums(chunk: _Chunk, labels: Any, reference: Any, n_levels: int, xp: Any) -> list[Any]:
    """Return the sums of each cluster in the order of `Statistics`."""
    weight, where = chunk.weight, device(chunk.rows)
    n_clusters = reference.shape[0]
    member = xp.astype(labels[None, :] == xp.arange(n_clusters, device=where)[:, None], xp.float64)
    t = chunk.rows - xp.take(reference, labels, axis=0)
    t = xp.where(chunk.there, t, xp.zeros_like(t))
    counts = xp.zeros((n_clusters, n_levels), dtype=xp.float64, device=where)
    if chunk.levels is not None:
        every = xp.arange(n_levels, device=where)
        for v in range(chunk.levels.shape[1]):
            at_level = xp.astype(chunk.levels[:, v : v + 1] == every[None, :], xp.float64)
            counts = counts + member @ (weight[:, None] * at_level)
    return [
        xp.sum(member * weight, axis=-1),
        xp.sum(member * xp.astype(weight > 0, xp.float64), axis=-1),
        member @ (weight[:, None] * t),
        member @ (weight[:, None] * t * t),
        member @ (weight[:, None] * xp.astype(chunk.there, xp.float64)),
        counts,
    ]


def find_farthest(block: Block, assigning: Pass, eligible: Any) -> tuple[Any, Any]:
    """Return, for each start, the row farthest from its own center (-1 if all equal theirs).

    Only rows with weight whose cluster is ``eligible`` count; of tied rows the first is returned.
    """
    rows = block.rows
    xp, where = array_namespace(rows), device(rows)
    found = []
    for r in range(assigning.centers.shape[0]):
        distance, row = 0.0, -1
        for chunk in _chunks(block, assigning.centers.shape[1]):
            labels, d = _labels(block, chunk, assigning, r)
            own = xp.take_along_axis(d, labels[:, None], axis=-1)[:, 0]
            own = own * _stretch(block, chunk, _power(assigning, r))
            counts = xp.take(eligible[r, :], labels, axis=0) & (chunk.weight > 0)
            own = xp.where(counts, own, xp.zeros_like(own))
            best = int(xp.argmax(own))
            if float(own[best]) > distance:
                distance, row = float(own[best]), block.first_row + chunk.begin + best
        found.append((distance, row))
    distances_, rows_ = zip(*found, strict=True)
    return (
        xp.asarray(distances_, dtype=xp.float64, device=where),
        xp.asarray(rows_, dtype=xp.int64, device=where),
    )


def assign(block: Block, assigning: Pass, *, summed: bool = True) -> tuple[Any, float]:
    """Return labels and ``sum_i s_i (d + offset)`` of the only start (p = infinity: largest d).

    If the sum is not wanted, kernels leave it out: zero then says that all cells are finite
    numbers, and NaN that they may not be.
    """
    xp = array_namespace(block.rows)
    labels, objective = [], 0.0
    for chunk in _chunks(block, assigning.centers.shape[1]):
        nearest, d = _labels(block, chunk, assigning, 0)
        labels.append(xp.astype(nearest, xp.int32))
        d = d + assigning.offsets[0, :]
        own = xp.take_along_axis(d, nearest[:, None], axis=-1)[:, 0]
        if _power(assigning, 0) == math.inf:
            own = xp.where(chunk.weight > 0, own, xp.zeros_like(own))
            objective = max(objective, float(xp.max(own)))
        else:
            terms = xp.where(chunk.weight > 0, chunk.weight * own, xp.zeros_like(own))
            objective += float(xp.sum(terms))
    return xp.concat(labels), objective if summed else math.nan


def distances(block: Block, assigning: Pass) -> Any:
    """Return the p-th roots of the dissimilarities of the only start, (n, K)."""
    xp, p = array_namespace(block.rows), _power(assigning, 0)
    root = 1.0 if p == math.inf else 1.0 / p
    parts = []
    for chunk in _chunks(block, assigning.centers.shape[1]):
        d = dissimilarities(chunk, assigning)
        unit = xp.ones_like(d)
        if xp.any(xp.isinf(d)):
            units = _units(chunk, assigning, 0)
            unit = xp.where(xp.isinf(d), units[:, :, 0], unit)
            d = xp.where(xp.isinf(d), dissimilarities(chunk, assigning, 0, units), d)
        if block.gaps and assigning.rescale:
            scaled = _rescaled(d, chunk, assigning, 0)
            nothing = xp.all(xp.isinf(scaled), axis=-1, keepdims=True)  # no weight is observed
            d = xp.where(nothing, xp.zeros_like(d), scaled)
        else:
            d = d * _stretch(block, chunk, p)[:, None]
        parts.append(unit * (xp.sqrt(d) if p == 2.0 else d**root))
    return xp.astype(xp.concat(parts), block.rows.dtype)


def slopes(block: Block, points: Any, power: Any, labels: Any, rough: bool = False) -> Slopes:
    """Return the slope of the dispersion of each cluster at a point, and the values next to it.

    If `rough`, slope and curvature may be a share of 1e-4 off, and all but low and high may be
    missing, as if no value were next to the point; the twin is exact all the same.
    """
    xp = array_namespace(block.rows)
    starts = []
    for r in range(points.shape[0]):
        total: Slopes | None = None
        for chunk in _chunks(block, points.shape[1]):
            own = labels[r, chunk.here]
            part = _slopes(chunk, own, points[r, ...], float(power[r]), xp)
            total = part if total is None else join_slopes(total, part)
        starts.append(total)
    return Slopes(*(xp.stack(list(column)) for column in zip(*starts, strict=True)))


def _slopes(chunk: _Chunk, labels: Any, points: Any, p: float, xp: Any) -> Slopes:
    clusters = xp.arange(points.shape[0], device=device(chunk.rows))
    y, c = chunk.rows[None, :, :], points[:, None, :]  # (K, n, M)
    counts = (labels[None, :] == clusters[:, None]) & (chunk.weight > 0)[None, :]
    counts = counts[:, :, None] & chunk.there[None, :, :]
    counts = counts & ~xp.isnan(c)  # nothing is computed for a point that is NaN
    t = xp.where(counts, c - y, 0.0 * y)
    zero = xp.zeros_like(t)
    s = xp.where(counts, zero + chunk.weight[None, :, None], zero)
    apart = xp.abs(t) > 0
    if p in (1.0, math.inf):
        curvature, slope, third = zero, xp.sign(t), zero
    else:
        curvature = xp.where(apart, xp.where(apart, xp.abs(t), zero + 1.0) ** (p - 2.0), zero)
        slope = t * curvature
        third = xp.where(apart, curvature / xp.where(apart, t, zero + 1.0), zero)
    beside = counts if p < 2 else counts & ~counts
    below = xp.max(xp.where(beside & (y < c), y, zero - math.inf), axis=1)
    above = xp.min(xp.where(beside & (y > c), y, zero + math.inf), axis=1)
    return Slopes(
        xp.sum(s * slope, axis=1),
        xp.sum(s * curvature, axis=1),
        xp.sum(s * third, axis=1),
        xp.sum(s * xp.abs(third), axis=1),
        xp.sum(xp.where(beside & (y == c), s, zero), axis=1),
        below,
        xp.sum(xp.where((y < c) & (y == below[:, None, :]), s, zero), axis=1),
        above,
        xp.sum(xp.where((y > c) & (y == above[:, None, :]), s, zero), axis=1),
        xp.min(xp.where(counts, y, zero + math.inf), axis=1),
        xp.max(xp.where(counts, y, zero - math.inf), axis=1),
    )


def roots(block: Block, points: Any, power: Any, labels: Any) -> Any:
    """Return the minimizers of the sums of powers, by bisection: (R, K, M); p is above 1.

    All rows must be in the block. If a cluster has no value, its point is returned.
    """
    xp = array_namespace(block.rows)
    first = slopes(block, points, power, labels)
    known = first.low <= first.high
    low, high = xp.where(known, first.low, points), xp.where(known, first.high, points)
    for _ in range(200):
        middle = low / 2 + high / 2
        slope = slopes(block, middle, power, labels).slope
        low, high = xp.where(slope <= 0, middle, low), xp.where(slope >= 0, middle, high)
    return low / 2 + high / 2


def join_slopes(a: Slopes, b: Slopes) -> Slopes:
    """Return the slopes of the union of two sets of rows."""
    xp = array_namespace(a.slope)

    def mass(nearest: Any, one: Any, one_mass: Any, other: Any, other_mass: Any) -> Any:
        zero = xp.zeros_like(one_mass)
        there = xp.where(one == nearest, one_mass, zero)
        return there + xp.where(other == nearest, other_mass, zero)

    below, above = xp.maximum(a.below, b.below), xp.minimum(a.above, b.above)
    return Slopes(
        a.slope + b.slope,
        a.curvature + b.curvature,
        a.third + b.third,
        a.third_size + b.third_size,
        a.equal + b.equal,
        below,
        mass(below, a.below, a.below_mass, b.below, b.below_mass),
        above,
        mass(above, a.above, a.above_mass, b.above, b.above_mass),
        xp.minimum(a.low, b.low),
        xp.maximum(a.high, b.high),
    )


def powers(block: Block, points: Any, power: Any, labels: Any) -> Any:
    """Return ``sum s |y - c|^p`` of each cluster about its point (p = infinity: the largest)."""
    xp = array_namespace(block.rows)
    starts = []
    for r in range(points.shape[0]):
        p, total = float(power[r]), None
        for chunk in _chunks(block, points.shape[1]):
            clusters = xp.arange(points.shape[1], device=device(block.rows))
            t = chunk.rows[None, :, :] - points[r, :, None, :]
            counts = (labels[r, chunk.here][None, :] == clusters[:, None])[:, :, None]
            counts = counts & chunk.there[None, :, :] & (chunk.weight > 0)[None, :, None]
            terms = xp.where(counts, _measure(t, p, xp), xp.zeros_like(t))
            if p == math.inf:
                part = xp.max(terms, axis=1)
                total = part if total is None else xp.maximum(total, part)
            else:
                part = xp.sum(chunk.weight[None, :, None] * terms, axis=1)
                total = part if total is None else total + part
        starts.append(total)
    return xp.stack(starts)


def describe(block: Block, reference: Any) -> Moments:
    """Return weighted sums relative to the reference, and the extremes of rows with weight."""
    xp = array_namespace(block.rows)
    parts = []
    for chunk in _chunks(block):
        weight = chunk.weight[:, None]
        present = (weight > 0) & chunk.there
        t = chunk.rows - reference
        zero = xp.zeros_like(t)
        parts.append(
            Moments(
                float(xp.sum(chunk.weight)),
                int(xp.count_nonzero(chunk.weight > 0)),
                xp.sum(xp.where(present, weight * t, zero), axis=0),
                xp.sum(xp.where(present, weight * t * t, zero), axis=0),
                xp.min(xp.where(present, chunk.rows, zero + math.inf), axis=0),
                xp.max(xp.where(present, chunk.rows, zero - math.inf), axis=0),
                xp.sum(xp.where(present, zero + weight, zero), axis=0),
                xp.count_nonzero(~xp.isfinite(chunk.rows) | ~chunk.there, axis=0),
                xp.count_nonzero(~chunk.there, axis=0),
            )
        )
    return reduce(Moments.plus, parts)
