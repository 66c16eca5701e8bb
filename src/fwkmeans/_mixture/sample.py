"""What is known of a table before there are clusters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import gammaln, ndtri

from fwkmeans._mixture.copies import Copies, find_copies
from fwkmeans._mixture.rows import MOST_CELLS, Alone, Encoding, Rows, Table, learn_encoding
from fwkmeans.typing import BoolArray, FloatArray, IntArray

#: Columns with at most so many values are rounded: the kernel covers the steps between them.
FEW_VALUES = 15
#: Width of the kernel of coarse samples, in units of a column's range.
COARSE = 0.1
#: Variance of the kernel where clusters are counted, in units of that elsewhere.
NARROW = 0.5
#: Least local variance of a column, in units of its variance.
LEAST_LOCAL = 1e-4
#: Exponents of the generalized normal distributions that noise may follow (2: normal).
EXPONENTS = (0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0)
#: Exponents of skewed distributions, and quantiles at which these may have their center.
SKEWED_EXPONENTS = (0.7, 1.0, 1.5, 2.0, 3.0)
SKEWED_CENTERS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5)
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
    counting : bool
        Whether clusters are counted: the kernel is narrow, and noise may be skewed.
    widest : ndarray of shape (n_numbers,), float or None
        Variance that the kernel does not exceed, unless rounding or a column of few values asks
        for more.
    local : ndarray of shape (n_numbers,) or None
        The local variance of each column, if it is known.
    null : ndarray of shape (n_numbers,) or None
        What noise would score in each column, if it is known.
    copies : Copies or None
        The categorical columns that say the same, if they are known.
    """

    def __init__(
        self,
        rows: Rows,
        encoding: Encoding,
        weight: FloatArray,
        *,
        coarse: bool = False,
        counting: bool = False,
        widest: FloatArray | float | None = None,
        local: FloatArray | None = None,
        null: FloatArray | None = None,
        copies: Copies | None = None,
    ) -> None:
        self.rows, self.encoding = rows, encoding
        self.coarse, self.counting, self.widest = coarse, counting, widest
        self.n_rows = rows.n_rows
        self.weight: FloatArray = weight * (self.n_rows / weight.sum())
        self.log_n = float(np.log(self.n_rows))
        self.skew_price = 0.5 * self.log_n if counting else np.inf
        self.n_numbers = rows.numbers.shape[1]
        self.alone = Alone(rows.numbers, rows.numbers**2, rows.observed)
        self.gappy: BoolArray = np.zeros(self.n_numbers, dtype=bool)
        if rows.observed is not None:
            self.gappy = np.asarray((rows.observed == 0).any(axis=0))
        self._is_even = bool((self.weight == 1).all())
        mass = self.alone.observed_mass(self.weight[:, None], self.weight.sum(keepdims=True))[0]
        sums = self.weight @ self.alone.squares
        self.variance: FloatArray = np.divide(sums, mass, out=np.ones_like(sums), where=mass > 0)
        self.local: FloatArray = self._local() if local is None else local
        self.step, self.has_few = self._step()
        self.kernel: FloatArray = self._kernel(widest)
        self.null: FloatArray = self._null() if null is None else null
        self.level_column: IntArray = encoding.level_column
        self.n_categorical = encoding.categorical.size
        self.n_levels = np.bincount(self.level_column, minlength=self.n_categorical)
        self.rows_of_levels = rows.levels.T.tocsr()  # (L, N)
        counts = np.asarray(self.rows_of_levels @ self.weight)
        totals = np.bincount(self.level_column, counts, minlength=self.n_categorical)
        self.frequency: FloatArray = counts / np.maximum(totals, 1e-300)[self.level_column]
        logs = counts * np.log(np.maximum(self.frequency, 1e-300))
        if copies is None:
            copies = find_copies(rows.levels, self.level_column, self.n_categorical)
        self.copies = copies
        self.vote: FloatArray = copies.votes  # what each categorical column counts for
        self.level_vote: FloatArray = self.vote[self.level_column]
        self.level_free: FloatArray = self.vote * (self.n_levels - 1)  # free parameters
        self.level_null: FloatArray = self.vote * np.bincount(
            self.level_column, logs, minlength=self.n_categorical
        )
        self.block_nulls: dict[tuple[float, ...], float] = {}
        self._products: dict[tuple[int, ...], FloatArray] = {}

    def weighted(self, membership: FloatArray) -> FloatArray:
        """Return memberships times the weights of the rows, (N, K)."""
        return membership if self._is_even else membership * self.weight[:, None]

    def in_deviations(self) -> tuple[FloatArray, FloatArray]:
        """Return the numbers and the levels, columns in units of their standard deviation.

        The levels of a category share one unit. Missing cells are 0, the mean.
        """
        shares, column = self.frequency, self.level_column
        scatter = np.bincount(column, shares * (1 - shares), minlength=self.n_categorical)
        levels = (
            self.rows.levels.toarray() / np.sqrt(np.maximum(scatter, 1e-12) / self.vote)[column]
        )
        return self.rows.numbers / np.sqrt(np.maximum(self.variance, 1e-300)), levels

    def products(self, columns: IntArray) -> FloatArray:
        """Return the sums of products of columns over the rows that have them all.

        However the rows are shared out among clusters, these sums stay, so they are kept.
        """
        key = tuple(columns.tolist())
        if key not in self._products:
            here, numbers = self.rows.cells(columns)
            self._products[key] = products(numbers, self.weight[here])
        return self._products[key]

    def _step(self) -> tuple[FloatArray, BoolArray]:
        """Return the variance that rounding gives each column, and which have few values."""
        step, few = np.zeros(self.n_numbers), np.zeros(self.n_numbers, dtype=bool)
        for columns in self._whole():
            step[columns], few[columns] = _steps(np.sort(self.rows.numbers[:, columns].T))
        for v in np.flatnonzero(self.gappy):
            step[v : v + 1], few[v : v + 1] = _steps(np.sort(self._column(int(v))[0])[None])
        return step**2 / 12, few

    def _kernel(self, widest: FloatArray | float | None) -> FloatArray:
        """Return the variance of the normal kernel in each column."""
        share = self.n_rows**-0.4 * (NARROW if self.counting else 1.0)
        least = COARSE**2 if self.coarse else 0.0  # numbers are in units of their range
        kernel = np.maximum(self.local * share, least)
        if widest is not None:
            kernel = np.where(self.has_few, kernel, np.minimum(kernel, widest))
        return np.asarray(np.maximum(self.step, kernel))

    def _local(self) -> FloatArray:
        """Return the local variance of each column, which is no larger than its variance."""
        local = np.zeros(self.n_numbers)
        for columns in self._whole():
            local[columns] = _local_variances(self.rows.numbers[:, columns], self.weight)
        for v in np.flatnonzero(self.gappy):
            values, weight = self._column(int(v))
            local[v] = _local_variances(values[:, None], weight)[0]
        return np.clip(local, LEAST_LOCAL * self.variance, self.variance)

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
            null[columns] = self._noise_fit(self.rows.numbers[:, columns], self.weight, columns)
        for v in np.flatnonzero(self.gappy):
            values, weight = self._column(int(v))
            null[v] = self._noise_fit(values[:, None], weight, np.array([v]))[0]
        return null

    def _noise_fit(self, values: FloatArray, weight: FloatArray, columns: IntArray) -> FloatArray:
        return noise_fit(values, weight, np.sqrt(self.kernel[columns]), self.skew_price)

    def _column(self, v: int) -> tuple[FloatArray, FloatArray]:
        values = self.rows.numbers[:, v]
        if not self.gappy[v]:
            return values, self.weight
        assert self.rows.observed is not None
        here = self.rows.observed[:, v] > 0
        return values[here], self.weight[here]


def products(numbers: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the weighted sums of products of columns; of a matrix and itself BLAS needs half."""
    half = numbers * np.sqrt(weight)[:, None]
    return np.asarray(half.T @ half)


def _steps(values: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return the step between neighbors in each row of sorted values, and if these are few.

    It is the smallest one, 0 if all values are the same, but the median of few: those are rounded.
    """
    gaps = np.diff(values)
    n_gaps = np.count_nonzero(gaps, axis=1)
    steps = np.where(gaps > 0, gaps, np.inf).min(axis=1, initial=np.inf)
    few = (n_gaps > 0) & (n_gaps < FEW_VALUES)
    for v in np.flatnonzero(few):
        steps[v] = np.median(gaps[v][gaps[v] > 0])
    return np.where(n_gaps > 0, steps, 0.0), few


def _local_variances(values: FloatArray, weight: FloatArray) -> FloatArray:
    r"""Return for each column the variance of a normal one whose neighbors lie as close together.

    That is :math:`\exp 2 \langle \log (x_{i+m} - x_{i-m}) / (z_{i+m} - z_{i-m}) \rangle` for sorted
    values x, quantiles z of the standard normal distribution and m of about half the root of the
    number of rows: the entropy power, by Vasicek's spacings. Gaps between clusters hardly count,
    and equal values do not.
    """
    columns = values.T
    order = np.argsort(columns, axis=1, kind="stable")
    columns, weights = np.take_along_axis(columns, order, axis=1), weight[order]
    place = (np.cumsum(weights, axis=1) - 0.5 * weights) / weight.sum()
    at, aside = np.arange(len(values)), max(1, round(0.5 * np.sqrt(len(values))))
    low, high = np.maximum(at - aside, 0), np.minimum(at + aside, len(values) - 1)
    normal = ndtri(place)
    gap = columns[:, high] - columns[:, low]
    here = gap > 0
    ratio = np.divide(gap, normal[:, high] - normal[:, low], out=np.ones_like(gap), where=here)
    total = np.where(here, weights, 0.0).sum(axis=1)
    logs = (weights * np.log(ratio)).sum(axis=1) / np.maximum(total, 1e-300)
    return np.where(total > 0, np.exp(2 * logs), 0.0)


def fixed_sample(weight: FloatArray, most: int) -> IntArray:
    """Return rows with weight: all, or always the same ones if there are more than `most`."""
    here = np.flatnonzero(weight > 0)
    if here.size <= most:
        return here
    return np.sort(np.random.RandomState(0).choice(here, most, replace=False))


def encoded_sample(
    table: Table, at: IntArray, *, compress: bool, copies: Copies | None = None
) -> Sample:
    """Return some rows of a table, encoded by what they tell of it."""
    part = table.take(at)
    encoding = learn_encoding(*part, compress=compress)
    rows = encoding.encode(part.numbers, part.levels)
    return Sample(rows, encoding, part.weight, copies=copies)


def noise_fit(
    values: FloatArray, weight: FloatArray, width: FloatArray, skew_price: float
) -> FloatArray:
    """Return for each column the log-likelihood of the distribution of noise that fits best.

    It is a generalized normal distribution, or a skewed one if this gains more than its price.
    Each value is spread by a normal kernel of the given width.
    """
    points = np.concatenate([values + node * width for node, _ in NODES])
    weights = np.concatenate([weight * share for _, share in NODES])
    best = _symmetric_fit(points, weights)
    if np.isinf(skew_price):
        return best
    total = weights.sum()
    away = points - weights @ points / total
    cubes = weights @ away**3 / total
    square = cubes**2 / (weights @ away**2 / total) ** 3
    # columns whose skewness is not chance
    skewed = np.flatnonzero(square * weight.size / 12 > skew_price)
    if skewed.size:
        turned = points[:, skewed] * np.sign(cubes[skewed])
        best[skewed] = np.maximum(best[skewed], _skewed_fit(turned, weights) - skew_price)
    return best


def _symmetric_fit(points: FloatArray, weights: FloatArray) -> FloatArray:
    """Return for each column the highest log-likelihood over exponents and centers.

    The densities are proportional to exp(-|x - center|^p / p a^p).
    """
    total = weights.sum()
    mean, middle = weights @ points / total, 0.5 * (points.min(axis=0) + points.max(axis=0))
    best = np.full(points.shape[1], -np.inf)
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


def _skewed_fit(points: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the same for columns with a long tail to the right.

    Each side of the center has its own spread a. With the sums L and R of |x - center|^p on either
    side, the likeliest spreads are in the ratio of their powers with exponent 1 / (p + 1).
    """
    total = weights.sum()
    best = np.full(points.shape[1], -np.inf)
    for center in np.quantile(points, SKEWED_CENTERS, axis=0):
        away = points - center
        is_right = away > 0
        with np.errstate(divide="ignore"):
            logs = np.log(np.abs(away, out=away))
        for p in SKEWED_EXPONENTS:
            powers = np.exp(p * logs) * weights[:, None]
            right = np.where(is_right, powers, 0.0).sum(axis=0)
            left = np.maximum(powers.sum(axis=0) - right, 0.0)
            roots = left ** (1 / (p + 1)) + right ** (1 / (p + 1))
            both = np.log(total) + (1 + 1 / p) * np.log(roots / total)  # the sum of the spreads
            constant = (1 - 1 / p) * np.log(p) - gammaln(1 / p) - 1 / p
            best = np.maximum(best, total * (constant - both))
    return best
