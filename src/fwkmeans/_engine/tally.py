"""Statistics that follow the rows: full at first, then only what changes its cluster."""

from __future__ import annotations

import numpy as np

from fwkmeans.typing import (
    Assignment,
    BoolArray,
    Dissimilarity,
    FloatArray,
    IntArray,
    LabelArray,
    LastLabels,
    Source,
    Statistics,
)

_WORTHWHILE = 20_000  # rows; below, a pass is too short to keep books about
_MANY = 0.3  # of the rows changed: counting all is faster than taking rows out and putting them in
_OLD = 16  # updates in a row, each of which rounds


def keeps_labels(source: Source, dissimilarity: Dissimilarity) -> bool:
    """Tell whether the labels of the last pass are kept, for the next one or for the centers."""
    return dissimilarity.needs_labels or _updates(source)


def _updates(source: Source) -> bool:
    # where cells are missing, masses of a few cells would be lost in the rounding of many
    return source.keeps_labels and source.n_rows >= _WORTHWHILE and not source.gaps


class Tally:
    """The statistics of a batch of starts.

    Whether a start is counted anew or updated depends on that start alone, so no batch changes
    another's digits.
    """

    def __init__(self, source: Source, dissimilarity: Dissimilarity, n_starts: int) -> None:
        self._source = source
        self._dissimilarity = dissimilarity
        self._labels: LabelArray | None = None
        self._total: Statistics | None = None
        # largest mass and squares since all rows were counted
        self._peaks: list[FloatArray] = [np.zeros((n_starts, 1, 1)), np.zeros((n_starts, 1, 1))]
        self._age: IntArray = np.zeros(n_starts, dtype=np.int64)
        if keeps_labels(source, dissimilarity):
            self._labels = np.full((n_starts, source.n_rows), -1, dtype=np.int32)

    def count(self, assignment: Assignment) -> Statistics:
        """Assign all rows of all starts."""
        if self._labels is None:
            return self._source.reduce(self._dissimilarity.accumulation(assignment))
        update = self._can_update(assignment)
        reference = self._source.layout.points(assignment.centers)
        if self._total is not None and update.any():
            reference = np.where(update[:, None, None], self._total.reference, reference)
        statistics = self._source.reduce(
            self._dissimilarity.accumulation(
                assignment, reference, LastLabels(self._labels, update)
            )
        )
        if self._total is not None and update.any():
            _add(statistics, self._total, update)
        self._age = np.where(update, self._age + 1, 0)
        self._total = statistics
        lost = np.flatnonzero(self._lost_digits(statistics, update))
        return self.recount(assignment, lost, statistics) if lost.size else statistics

    def recount(
        self, assignment: Assignment, starts: IntArray, statistics: Statistics
    ) -> Statistics:
        """Assign all rows of some starts anew; return the statistics with theirs replaced."""
        last = None
        if self._labels is not None:
            last = LastLabels(self._labels[starts], np.zeros(starts.size, dtype=np.bool_))
        again = self._source.reduce(
            self._dissimilarity.accumulation(assignment.take(starts), last=last)
        )
        merged = statistics._replace(labels=None).take(np.arange(statistics.rows.shape[0]))
        for whole, part in zip(merged[:-1], again[:-1], strict=True):
            whole[starts] = part
        if self._labels is not None and last is not None:
            self._labels[starts] = last.labels
            merged = merged._replace(labels=self._labels)
            self._age[starts] = 0
            self._total = merged
            for peak, values in zip(self._peaks, _sizes(again), strict=True):
                peak[starts] = values
        return merged

    def keep(self, going: BoolArray) -> None:
        """Forget the other starts."""
        self._age = self._age[going]
        self._peaks = [peak[going] for peak in self._peaks]
        if self._labels is not None:
            self._labels = self._labels[going]
        if self._total is not None:
            self._total = self._total._replace(labels=None).take(going)

    def _lost_digits(self, statistics: Statistics, update: BoolArray) -> BoolArray:
        """Tell where so much has left a cluster that what is left is mostly rounding."""
        lost = np.zeros_like(update)
        for at, values in enumerate(_sizes(statistics)):
            kept = np.where(update[:, None, None], self._peaks[at], 0.0)
            self._peaks[at] = np.maximum(kept, values)
            small = (values < 1e-4 * self._peaks[at]) & (statistics.rows > 0)[..., None]
            lost |= small.any(axis=(-2, -1))
        return lost & update

    def _can_update(self, assignment: Assignment) -> BoolArray:
        if self._total is None or not _updates(self._source):
            return np.zeros(self._age.size, dtype=np.bool_)
        few = self._total.changed <= _MANY * self._source.n_rows
        # a center that left its reference by three standard deviations costs a digit: start again
        points = self._source.layout.points(assignment.centers)
        moved = (points - self._total.reference) ** 2 * self._total.mass[..., None]
        near = ~(moved > 0.9 * self._total.squares).any(axis=(-2, -1))
        return few & near & (self._age < _OLD)


def _sizes(statistics: Statistics) -> tuple[FloatArray, FloatArray]:
    return statistics.mass[..., None], statistics.squares


def _add(changes: Statistics, total: Statistics, update: BoolArray) -> None:
    """Turn the changes of the updated starts into their totals, in place."""
    changes.mass[update] += total.mass[update]
    changes.rows[update] += total.rows[update]
    changes.sums[update] += total.sums[update]
    changes.squares[update] += total.squares[update]
    changes.counts[update] += total.counts[update]
    empty = update[:, None] & (changes.rows == 0)  # nothing is left there, not even rounding
    changes.mass[empty] = 0.0
    changes.sums[empty] = 0.0
    changes.squares[empty] = 0.0
    changes.counts[empty] = 0.0
    np.maximum(changes.squares, 0.0, out=changes.squares)
    np.maximum(changes.counts, 0.0, out=changes.counts)
