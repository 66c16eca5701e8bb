"""Statistics of the clusters: summed over all rows first, then updated by rows that changed."""

from __future__ import annotations

from typing import Any

import numpy as np

from fwkmeans._engine.state import updates
from fwkmeans.typing import (
    Assignment,
    BoolArray,
    Dissimilarity,
    FloatArray,
    IntArray,
    KeptLabels,
    Pass,
    Source,
    Statistics,
)

_MANY = 0.3  # share of changed rows above which a full recount is cheaper than an update
_OLD = 16  # updates after which all rows are counted again, because each update rounds


def keeps_labels(source: Source, dissimilarity: Dissimilarity) -> bool:
    """Tell whether the labels of the last pass are kept, for the next one or for the centers."""
    return dissimilarity.needs_labels or updates(source)


class RunningStatistics:
    """The statistics of a batch of starts, and the source with their labels in row memory.

    Whether the statistics of a start are updated or counted again depends on that start alone, so
    results do not depend on the batch.
    """

    def __init__(self, source: Source, dissimilarity: Dissimilarity, n_starts: int) -> None:
        self.source = source
        self._dissimilarity = dissimilarity
        self._keeps_labels = keeps_labels(source, dissimilarity)
        self._kept: IntArray = np.arange(n_starts)  # indices of the starts among the labels kept
        self._total: Statistics | None = None
        self._last: Pass | None = None  # whose bounds of distances are in row memory
        # the largest of each of `_sizes` since the last full count
        self._peaks: list[FloatArray] = [np.zeros((n_starts, 1, 1)) for _ in range(3)]
        self._age: IntArray = np.zeros(n_starts, dtype=np.int64)

    def count(self, assignment: Assignment) -> Statistics:
        """Assign all rows in all starts and return the statistics."""
        if not self._keeps_labels:
            return self.source.reduce(self._dissimilarity.accumulation(assignment))
        update = self._can_update(assignment)
        reference = self.source.layout.points(assignment.centers)
        total = self._total
        if total is not None and update.any():
            reference = np.where(update[:, None, None], total.reference, reference)
        statistics = self._pass(assignment, reference, KeptLabels(self._kept, update))
        if total is not None and update.any():
            changes = statistics.take(update)
            sums = total.take(update).plus(changes)
            sums = sums._replace(fingerprint=changes.fingerprint, changed=changes.changed)
            statistics = statistics.put(update, _without_residue(sums))
        self._age = np.where(update, self._age + 1, 0)
        self._total = statistics
        lost = np.flatnonzero(self._lost_digits(statistics, update))
        return self.recount(assignment, lost, statistics) if lost.size else statistics

    def recount(
        self, assignment: Assignment, starts: IntArray, statistics: Statistics
    ) -> Statistics:
        """Count all rows again in some starts; return the statistics with theirs replaced."""
        none = np.zeros(starts.size, dtype=np.bool_)
        labels = KeptLabels(self._kept, none, starts) if self._keeps_labels else None
        again = self._pass(assignment.take(starts), None, labels, starts)
        statistics = statistics.put(starts, again)
        if self._keeps_labels:
            self._age[starts] = 0
            self._total = statistics
            for peak, values in zip(self._peaks, _sizes(again), strict=True):
                peak[starts] = values
        return statistics

    def keep(self, going: BoolArray) -> None:
        """Drop all starts but these."""
        self._dissimilarity = self._dissimilarity.take(going)
        self._age = self._age[going]
        self._kept = self._kept[going]
        if self._last is not None:
            centers, weights = self._last.centers[going], self._last.weights[going]
            self._last = self._last._replace(centers=centers, weights=weights)
        self._peaks = [peak[going] for peak in self._peaks]
        if self._total is not None:
            self._total = self._total.take(going)

    def _pass(
        self,
        assignment: Assignment,
        reference: FloatArray | None,
        labels: KeptLabels | None,
        starts: IntArray | None = None,
    ) -> Statistics:
        """Assign rows; row memory then has the labels of the current starts."""
        part = self._dissimilarity
        part = part if starts is None else part.take(starts)
        counting: Any = part.accumulation(assignment, reference, labels)
        bounded = labels is not None and labels.starts is None and self._bounds_pay(counting)
        if bounded:
            counting = counting.by_bounds(self._last)
        statistics: Statistics
        statistics, self.source = self.source.run(counting)
        self._kept = np.arange(self._kept.size)
        if bounded:
            assert self._total is not None
            self._last = counting.assigning
            fingerprint = self._total.fingerprint + statistics.fingerprint
            statistics = statistics._replace(fingerprint=fingerprint)
        return statistics

    def _bounds_pay(self, counting: Any) -> bool:
        """Tell whether bounds of distances save more than they cost; no result depends on it.

        They do as soon as few rows change their cluster. (The loop in the core has its own.)
        """
        kept = self.source.remembers and "bounds" in self.source.operations
        if self._total is None or not kept:
            return False
        few = self._last is not None or self._few_change(self._total).all()
        return bool(few) and getattr(counting, "can_bound", False)

    def _few_change(self, total: Statistics) -> BoolArray:
        return total.changed <= _MANY * self.source.n_rows

    def _lost_digits(self, statistics: Statistics, update: BoolArray) -> BoolArray:
        """Tell in which starts a cluster has lost so much that the rest is mostly rounding."""
        lost = np.zeros_like(update)
        for at, values in enumerate(_sizes(statistics)):
            kept = np.where(update[:, None, None], self._peaks[at], 0.0)
            self._peaks[at] = np.maximum(kept, values)
            small = (values < 1e-4 * self._peaks[at]) & (statistics.rows > 0)[..., None]
            lost |= small.any(axis=(-2, -1))
        return lost & update

    def _can_update(self, assignment: Assignment) -> BoolArray:
        if self._total is None or not updates(self.source):
            return np.zeros(self._age.size, dtype=np.bool_)
        few = self._few_change(self._total)
        # a center ten standard deviations from its reference costs two digits: count all rows again
        points = self.source.layout.points(assignment.centers)
        moved = (points - self._total.reference) ** 2 * self._total.observed
        near = ~(moved > 0.99 * self._total.squares).any(axis=(-2, -1))
        return few & near & (self._age < _OLD)


def _sizes(statistics: Statistics) -> tuple[FloatArray, FloatArray, FloatArray]:
    return statistics.mass[..., None], statistics.squares, statistics.observed


def _without_residue(sums: Statistics) -> Statistics:
    """Return the sums with exact zeros for clusters without rows, instead of rounding errors."""
    full = sums.rows > 0
    return sums._replace(
        mass=np.where(full, sums.mass, 0.0),
        sums=np.where(full[..., None], sums.sums, 0.0),
        squares=np.where(full[..., None], np.maximum(sums.squares, 0.0), 0.0),
        cells=None if sums.cells is None else np.where(full[..., None], sums.cells, 0.0),
        counts=np.where(full[..., None], np.maximum(sums.counts, 0.0), 0.0),
    )
