"""Squared Euclid on rows that have unit length in some spaces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from fwkmeans._typing import (
    Assignment,
    Block,
    BoolArray,
    Description,
    FloatArray,
    IntArray,
    LabelArray,
    LastLabels,
    RowArray,
    Source,
    Statistics,
)
from fwkmeans.dissimilarities.euclidean import Accumulation, Distances, FarthestRow, Labelling

_CHUNK = 1 << 20  # numbers in the largest temporary, (rows, K, M)


class UnitSquaredEuclidean(BaseEstimator):
    r"""Weighted squared Euclid where some features form spaces of directions.

    .. math:: d(y_i, c_k) = \sum_{v \notin \text{spaces}} w_v (y_{iv} - c_{kv})^2
              + \sum_l 2 w_l (1 - y_{il}^\top c_{kl})

    Rows and centers have unit length in each space l, where
    :math:`\|y - c\|^2 = 2 (1 - y^\top c)`. A row that is zero in a space is missing there and adds
    nothing: its :math:`\|0 - c\|^2 = 1` is the same for all centers, so it has no part in the
    assignment, and is taken out of every sum. All features of a space have the same weight, shared
    by all clusters.

    Parameters
    ----------
    spaces : array of shape (n_features,), default=None
        Number 0, 1, ... of the space of each feature, -1 for features without one. None is one
        space of all features.
    absent : array of shape (n_spaces,), default=None
        Sum of the sample weights of the rows that are zero in each space; None is none.
    """

    statistics = Statistics._fields

    def __init__(self, spaces: Any = None, absent: Any = None) -> None:
        self.spaces = spaces
        self.absent = absent

    def accumulation(
        self,
        assignment: Assignment,
        reference: FloatArray | None = None,
        last: LastLabels | None = None,
    ) -> Accumulation:
        """Return the pass that assigns rows and sums about the reference (default: centers)."""
        about = assignment.centers if reference is None else reference
        return Accumulation(assignment, about, last)

    def labelling(self, assignment: Assignment) -> _Labelling:
        """Return the pass that writes labels and sums the objective of the only start."""
        return _Labelling(assignment, self._columns(assignment))

    def farthest(self, assignment: Assignment, eligible: BoolArray) -> _FarthestRow:
        """Return the pass that looks for the row farthest from its own center."""
        return _FarthestRow(assignment, eligible, self._columns(assignment))

    def distances(self, assignment: Assignment) -> _Distances:
        """Return the pass that writes the root of the dissimilarity to every center."""
        return _Distances(assignment, self._columns(assignment))

    def dispersion(
        self,
        statistics: Statistics,
        assignment: Assignment,
        centers: FloatArray,
        source: Source,
        table: Description,
    ) -> FloatArray:
        r"""Return :math:`D_{kv} = \sum_{i \in S_k} (y_{iv} - c_{kv})^2`, missing rows left out.

        The sums S and Q were taken about r: :math:`D = Q - 2 (c - r) S + n (c - r)^2` for any c.
        Where that cancels the pass is repeated about the new centers.
        """
        dispersion, lost = _about(centers, statistics, table)
        starts = np.flatnonzero(lost)
        if starts.size:
            again = source.reduce(self.accumulation(assignment.take(starts), centers[starts]))
            dispersion[starts], _ = _about(centers[starts], again, table)
        columns = self._columns(assignment)
        directed = np.isin(np.arange(centers.shape[-1]), np.concatenate(columns))
        dispersion[..., ~table.varying & ~directed] = 0.0
        for number, members in enumerate(columns):
            total = 0.0 if self.absent is None else float(self.absent[number])
            if total > 0:
                missing = _missing(statistics, members, total)
                own = np.take(centers, members, axis=-1) ** 2
                dispersion[..., members] -= missing[..., None] * own
        return dispersion

    def _columns(self, assignment: Assignment) -> list[IntArray]:
        n_features = assignment.centers.shape[-1]
        spaces = np.zeros(n_features) if self.spaces is None else np.asarray(self.spaces)
        return [np.flatnonzero(spaces == number) for number in range(int(spaces.max()) + 1)]


def _about(
    centers: FloatArray, statistics: Statistics, table: Description
) -> tuple[FloatArray, BoolArray]:
    """Return the dispersions about any centers, and the starts in which digits were lost."""
    step = centers - statistics.reference
    along, moved = 2.0 * step * statistics.sums, step**2 * statistics.mass[..., None]
    dispersion = statistics.squares - along + moved
    terms = np.abs(along) + moved
    dispersion[dispersion <= 1e-14 * (statistics.squares + terms)] = 0.0  # nothing but rounding
    lost = (terms > 1e5 * dispersion) & (
        (dispersion > 1e-13 * table.scatter) | (terms > 100.0 * table.scatter)
    )
    return dispersion, np.asarray((lost & (terms > 0)).any(axis=(-2, -1)))


def _missing(statistics: Statistics, members: IntArray, total: float) -> FloatArray:
    """Return the mass of each cluster's rows that are zero in a space: (R, K).

    It is the mass less the squared lengths, 1 or 0 each. Those are rounded, so the parts are scaled
    to the total, which is known.
    """
    reference, sums, squares = (
        np.take(part, members, axis=-1)
        for part in (statistics.reference, statistics.sums, statistics.squares)
    )
    mass = statistics.mass[..., None]
    lengths = (squares + 2.0 * reference * sums + mass * reference**2).sum(axis=-1)
    missing = np.maximum(statistics.mass - lengths, 0.0)
    found = missing.sum(axis=-1, keepdims=True)
    return np.where(found > 0, missing * (total / np.where(found > 0, found, 1.0)), 0.0)


def _zero(rows: RowArray, columns: list[IntArray]) -> BoolArray:
    """Return which rows are zero in which spaces: (n, spaces)."""
    return np.stack([~np.take(rows, c, axis=1).any(axis=1) for c in columns], axis=-1)


def _at_zero(assignment: Assignment, columns: list[IntArray]) -> FloatArray:
    """Return what a zero would add in each start, cluster and space: (R, K, spaces)."""
    weighted = assignment.weights * assignment.centers**2
    return np.stack([np.take(weighted, c, axis=-1).sum(axis=-1) for c in columns], axis=-1)


class _Labelling:
    def __init__(self, assignment: Assignment, columns: list[IntArray]) -> None:
        self._inner = Labelling(assignment)
        self._columns = columns

    def on_block(self, block: Block) -> tuple[LabelArray, float]:
        """Return the labels of a block and its part of the sum."""
        labels, objective = self._inner.on_block(block)
        zero = _zero(block.rows, self._columns)
        some = np.flatnonzero(zero.any(axis=1))
        if some.size:
            extra = _at_zero(self._inner.assignment, self._columns)[0]
            surplus = (extra[labels[some]] * zero[some]).sum(axis=1)
            if block.sample_weight is not None:
                surplus = surplus * block.sample_weight[some]
            objective -= float(surplus.sum())
        return labels, objective

    def merge(self, parts: Iterable[tuple[LabelArray, float]]) -> tuple[LabelArray, float]:
        """Concatenate the labels, add the sums."""
        return self._inner.merge(parts)


class _Distances:
    def __init__(self, assignment: Assignment, columns: list[IntArray]) -> None:
        self._inner = Distances(assignment)
        self._columns = columns

    def on_block(self, block: Block) -> RowArray:
        """Return the distances of a block."""
        distances = self._inner.on_block(block)
        zero = _zero(block.rows, self._columns)
        some = np.flatnonzero(zero.any(axis=1))
        if some.size:
            assignment = self._inner.assignment
            extra = assignment.scale[0] * _at_zero(assignment, self._columns)[0]
            surplus = (zero[some, None] * extra).sum(axis=-1)
            squares = distances[some].astype(np.float64) ** 2 - surplus
            # what is left of a row that is missing everywhere is rounding
            squares[squares <= 8 * np.finfo(distances.dtype).eps * surplus] = 0.0
            distances[some] = np.sqrt(squares)
        return distances

    def merge(self, parts: Iterable[RowArray]) -> RowArray:
        """Put the blocks below one another."""
        return self._inner.merge(parts)


class _FarthestRow:
    def __init__(
        self, assignment: Assignment, eligible: BoolArray, columns: list[IntArray]
    ) -> None:
        self._inner = FarthestRow(assignment, eligible)
        self._columns = columns

    def on_block(self, block: Block) -> tuple[FloatArray, IntArray]:
        """Return dissimilarity and index of that row for each start (0 and -1 if none)."""
        zero = _zero(block.rows, self._columns)
        gaps = zero.any(axis=1)
        if not gaps.any():
            return self._inner.on_block(block)
        n_starts = self._inner.assignment.centers.shape[0]
        distance, row = np.zeros(n_starts), np.full(n_starts, -1, dtype=np.int64)
        for some, find in ((~gaps, self._inner.on_block), (gaps, self._among_gaps)):
            indices = np.flatnonzero(some)
            if indices.size:
                weight = None if block.sample_weight is None else block.sample_weight[indices]
                part = Block(np.ascontiguousarray(block.rows[indices]), weight, 0, block.n_threads)
                far, at = find(part)
                at = np.where(at >= 0, block.first_row + indices[np.maximum(at, 0)], -1)
                nearer = (far > distance) | ((far == distance) & (at >= 0) & (at < row))
                distance, row = np.where(nearer, far, distance), np.where(nearer, at, row)
        return distance, row

    def _among_gaps(self, block: Block) -> tuple[FloatArray, IntArray]:
        """Look among rows that are zero in some space."""
        assignment, eligible = self._inner
        extra = _at_zero(assignment, self._columns)
        n_starts, n_clusters, n_features = assignment.centers.shape
        distance, row = np.zeros(n_starts), np.full(n_starts, -1, dtype=np.int64)
        step = max(1, _CHUNK // (n_clusters * n_features))
        for begin in range(0, block.rows.shape[0], step):
            rows = block.rows[begin : begin + step].astype(np.float64)
            zero = _zero(rows, self._columns)
            for start in range(n_starts):
                differences = (rows[:, None] - assignment.centers[start]) ** 2
                costs = (assignment.weights[start] * differences).sum(axis=-1)
                labels = (costs + assignment.offsets[start]).argmin(axis=1)
                own = np.take_along_axis(costs, labels[:, None], axis=1)[:, 0]
                own = own - (extra[start][labels] * zero).sum(axis=1)
                counts = eligible[start][labels]
                if block.sample_weight is not None:
                    counts = counts & (block.sample_weight[begin : begin + step] > 0)
                own = np.where(counts, own, 0.0)
                best = int(own.argmax())
                if own[best] > distance[start]:
                    distance[start], row[start] = own[best], begin + best
        return distance, row

    def merge(self, parts: Iterable[tuple[FloatArray, IntArray]]) -> tuple[FloatArray, IntArray]:
        """Keep the farthest, the first one on ties."""
        return self._inner.merge(parts)
