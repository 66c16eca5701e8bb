"""Partitions of the rows by a single column."""

from __future__ import annotations

import numpy as np

from fwkmeans._mixture.sample import Sample
from fwkmeans._mixture.singles import LOG_2PI
from fwkmeans.typing import FloatArray, IntArray, LabelArray

#: Neighboring values of a column are put into so many bins before it is cut.
BINS = 100
#: Columns that are cut in a wide table: those whose values lie closest together for their spread.
MOST_CUT = 100


class ColumnCuts:
    """Numeric columns of a sample, cut into intervals of the least squared error.

    Parameters
    ----------
    sample : Sample
        The rows.
    most : int
        Intervals that a column is cut into at most.
    """

    def __init__(self, sample: Sample, most: int) -> None:
        self._sample = sample
        share = sample.local / np.maximum(sample.variance, 1e-300)
        clumped = np.argsort(share, kind="stable")[:MOST_CUT]
        columns = sorted(clumped.tolist())
        self._cuts = {v: _Cuts(*_binned(sample, v), most) for v in columns}

    def best(self, n_clusters: int) -> LabelArray | None:
        """Return the partition by the column that gains most over noise; None if there is none."""
        fine = [v for v, cuts in self._cuts.items() if cuts.n_bins >= n_clusters]
        if not fine:
            return None
        cuts = self._cuts[max(fine, key=lambda v: self._gain(v, n_clusters))]
        labels = np.searchsorted(cuts.begins(n_clusters), cuts.bins, side="right")
        return np.asarray(labels, dtype=np.int32)

    def _gain(self, v: int, n_clusters: int) -> float:
        """Return the log-likelihood of normal clusters of common variance, less that of noise."""
        cuts, sample = self._cuts[v], self._sample
        mass, error = cuts.of_intervals(cuts.begins(n_clusters))
        total = mass.sum()
        variance = error.sum() / total + sample.kernel[v]
        shares = mass @ np.log(np.maximum(mass, 1e-300) / total)
        return float(shares - 0.5 * total * (np.log(variance) + 1 + LOG_2PI) - sample.null[v])


class _Cuts:
    """A column in bins: the best cuts into any number of intervals."""

    def __init__(self, bins: IntArray, weight: FloatArray, values: FloatArray, most: int) -> None:
        self.bins = bins
        sums = [np.bincount(bins, weight * values**power) for power in range(3)]
        self.n_bins = sums[0].size
        self._before = np.concatenate([np.zeros((3, 1)), np.cumsum(sums, axis=1)], axis=1)
        first, last = np.arange(self.n_bins)[:, None], np.arange(self.n_bins)
        error = np.where(first <= last, self._errors(first, last + 1), np.inf)
        least = [error[0]]
        self._last_begin: list[IntArray] = []
        for _ in range(min(most, self.n_bins) - 1):
            # the last interval begins at a bin, all before it is cut as well as possible
            total = np.concatenate([[np.inf], least[-1][:-1]])[:, None] + error
            begin = total.argmin(axis=0)
            self._last_begin.append(begin)
            least.append(total[begin, last])

    def begins(self, n_clusters: int) -> IntArray:
        """Return the bins at which all intervals but the first begin."""
        begins: list[int] = []
        at = self.n_bins - 1
        for begin in self._last_begin[: n_clusters - 1][::-1]:
            begins.append(int(begin[at]))
            at = begins[-1] - 1
        return np.array(begins[::-1], dtype=np.int64)

    def of_intervals(self, begins: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return mass and squared error of each interval."""
        edges = np.concatenate([[0], begins, [self.n_bins]])
        first, after = edges[:-1], edges[1:]
        return self._before[0, after] - self._before[0, first], self._errors(first, after)

    def _errors(self, first: IntArray, after: IntArray) -> FloatArray:
        mass, sums, squares = (one[after] - one[first] for one in self._before)
        error = squares - sums**2 / np.maximum(mass, 1e-300)
        return np.asarray(np.maximum(error, 0.0))


def _binned(sample: Sample, v: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the bin of each row, and weight (0 where the cell is missing) and value."""
    values, weight = sample.rows.numbers[:, v], sample.weight
    if sample.rows.observed is not None:
        weight = weight * sample.rows.observed[:, v]
    edges = np.unique(np.quantile(values, np.arange(1, BINS) / BINS, method="higher"))
    bins = np.searchsorted(edges, values, side="right")
    return np.unique(bins, return_inverse=True)[1].ravel(), weight, values
