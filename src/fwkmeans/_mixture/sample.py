"""What is known of a table before there are clusters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import gammaln

from fwkmeans._mixture.rows import MOST_CELLS, Encoding, Rows, Table, learn_encoding
from fwkmeans.typing import BoolArray, FloatArray, IntArray

#: Columns with at most so many values are rounded: the kernel covers the steps between them.
FEW_VALUES = 15
#: Width of the kernel of coarse samples, in units of a column's range.
COARSE = 0.1
#: Exponents of the generalized normal distributions that noise may follow (2: normal).
EXPONENTS = (0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0)
#: Three points and weights that integrate over a normal kernel.
NODES = ((-np.sqrt(3.0), 1 / 6), (0.0, 2 / 3), (np.sqrt(3.0), 1 / 6))


class Sample:
    """Encoded rows with weights that sum to their number, and what noise would score on them.

    Parameters
    ----------
    rows : Rows
        The rows, all with weight.
    encoding : Encoding
        Their encoding.
    weight : ndarray of shape (n_rows,)
        Positive weights.
    coarse : bool
        Whether the kernel is at least a tenth of a column's range wide. Differences that are small
        in units of the range then count little, as they do for K-Means.
    null : ndarray of shape (n_numbers,) or None
        What noise would score in each column, if it is known.
    """

    def __init__(
        self,
        rows: Rows,
        encoding: Encoding,
        weight: FloatArray,
        *,
        coarse: bool = False,
        null: FloatArray | None = None,
    ) -> None:
        self.rows, self.encoding, self.coarse = rows, encoding, coarse
        self.n_rows = rows.n_rows
        self.weight: FloatArray = weight * (self.n_rows / weight.sum())
        self.log_n = float(np.log(self.n_rows))
        self.n_numbers = rows.numbers.shape[1]
        self.squares: FloatArray = rows.numbers**2
        self.gappy: BoolArray = np.zeros(self.n_numbers, dtype=bool)
        if rows.observed is not None:
            self.gappy = np.asarray((rows.observed == 0).any(axis=0))
        self._is_even = bool((self.weight == 1).all())
        mass = self.observed_mass(self.weight[:, None], self.weight.sum(keepdims=True))[0]
        sums = self.weight @ self.squares
        self.variance: FloatArray = np.divide(sums, mass, out=np.ones_like(sums), where=mass > 0)
        self.kernel: FloatArray = self._kernel()
        self.null: FloatArray = self._null() if null is None else null
        self.level_column: IntArray = encoding.level_column
        self.n_categorical = encoding.categorical.size
        self.n_levels = np.bincount(self.level_column, minlength=self.n_categorical)
        self.rows_of_levels = rows.levels.T.tocsr()  # (L, N)
        counts = np.asarray(self.rows_of_levels @ self.weight)
        totals = np.bincount(self.level_column, counts, minlength=self.n_categorical)
        self.frequency: FloatArray = counts / np.maximum(totals, 1e-300)[self.level_column]
        logs = counts * np.log(np.maximum(self.frequency, 1e-300))
        self.level_null: FloatArray = np.bincount(
            self.level_column, logs, minlength=self.n_categorical
        ).astype(np.float64)
        self.block_nulls: dict[tuple[float, ...], float] = {}

    def weighted(self, membership: FloatArray) -> FloatArray:
        """Return memberships times the weights of the rows, (N, K)."""
        return membership if self._is_even else membership * self.weight[:, None]

    def observed_mass(self, weighted: FloatArray, total: FloatArray) -> FloatArray:
        """Return how much of each cluster is observed in each column, (K, M).

        `total` are the sums of the columns of `weighted`, which take long.
        """
        if self.rows.observed is None:
            return np.repeat(total[:, None], self.n_numbers, axis=1)
        return np.asarray(weighted.T @ self.rows.observed)

    def _kernel(self) -> FloatArray:
        """Return the variance of the normal kernel in each column."""
        least = COARSE**2 if self.coarse else 0.0  # numbers are in units of their range
        kernel = np.maximum(self.variance * self.n_rows**-0.4, least)
        for columns in self._whole():
            steps = _steps(np.sort(self.rows.numbers[:, columns].T))
            kernel[columns] = np.maximum(kernel[columns], steps**2 / 12)
        for v in np.flatnonzero(self.gappy):
            step = _steps(np.sort(self._column(int(v))[0])[None])[0]
            kernel[v] = max(kernel[v], step**2 / 12)
        return np.asarray(kernel)

    def _whole(self) -> Iterator[IntArray]:
        """Yield the columns without missing cells, some at a time."""
        whole = np.flatnonzero(~self.gappy)
        at_a_time = max(1, MOST_CELLS // self.n_rows)
        for first in range(0, whole.size, at_a_time):
            yield whole[first : first + at_a_time]

    def _null(self) -> FloatArray:
        """Return for each column the log-likelihood of the generalized normal that fits best."""
        null = np.zeros(self.n_numbers)
        for columns in self._whole():
            null[columns] = _best_fit(
                self.rows.numbers[:, columns], self.weight, np.sqrt(self.kernel[columns])
            )
        for v in np.flatnonzero(self.gappy):
            values, weight = self._column(int(v))
            null[v] = _best_fit(values[:, None], weight, np.sqrt(self.kernel[[v]]))[0]
        return null

    def _column(self, v: int) -> tuple[FloatArray, FloatArray]:
        values = self.rows.numbers[:, v]
        if not self.gappy[v]:
            return values, self.weight
        assert self.rows.observed is not None
        here = self.rows.observed[:, v] > 0
        return values[here], self.weight[here]


def _steps(values: FloatArray) -> FloatArray:
    """Return the step between neighbors in each row of sorted values; 0 if all are the same.

    It is the smallest one, but the median of few: those values are rounded.
    """
    gaps = np.diff(values)
    n_gaps = np.count_nonzero(gaps, axis=1)
    steps = np.where(gaps > 0, gaps, np.inf).min(axis=1, initial=np.inf)
    for v in np.flatnonzero((n_gaps > 0) & (n_gaps < FEW_VALUES)):
        steps[v] = np.median(gaps[v][gaps[v] > 0])
    return np.where(n_gaps > 0, steps, 0.0)


def fixed_sample(weight: FloatArray, most: int) -> IntArray:
    """Return rows with weight: all, or always the same ones if there are more than `most`."""
    here = np.flatnonzero(weight > 0)
    if here.size <= most:
        return here
    return np.sort(np.random.RandomState(0).choice(here, most, replace=False))


def encoded_sample(table: Table, at: IntArray, *, compress: bool, coarse: bool = False) -> Sample:
    """Return some rows of a table, encoded by what they tell of it."""
    part = table.take(at)
    encoding = learn_encoding(*part, compress=compress)
    rows = encoding.encode(part.numbers, part.levels)
    return Sample(rows, encoding, part.weight, coarse=coarse)


def _best_fit(values: FloatArray, weight: FloatArray, width: FloatArray) -> FloatArray:
    """Return for each column the highest log-likelihood over exponents and centers.

    The densities are proportional to exp(-|x - center|^p / p a^p), and each value is spread by a
    normal kernel of the given width.
    """
    points = np.concatenate([values + node * width for node, _ in NODES])
    weights = np.concatenate([weight * share for _, share in NODES])
    total = weights.sum()
    mean, middle = weight @ values / weight.sum(), 0.5 * (points.min(axis=0) + points.max(axis=0))
    best = np.full(values.shape[1], -np.inf)
    powers = np.empty_like(points)
    for place, center in enumerate((mean, middle, 0.5 * (mean + middle))):
        with np.errstate(divide="ignore"):
            logs = np.log(np.abs(points - center))
        for p in EXPONENTS:
            if place == 0 or p > 2:
                np.exp(np.multiply(p, logs, out=powers), out=powers)
                log_spread = np.log(p * (weights @ powers) / total) / p
                constant = np.log(p) - np.log(2) - gammaln(1 / p) - 1 / p
                best = np.maximum(best, total * (constant - log_spread))
    return np.asarray(best)
