"""Numeric columns alone: normal distributions with common or own variances."""

from __future__ import annotations

import numpy as np

from fwkmeans._mixture.rows import Alone
from fwkmeans._mixture.sample import Sample
from fwkmeans.typing import FloatArray

LOG_2PI = float(np.log(2 * np.pi))
#: Rows that the prior of a variance, or of the shape of a group, counts for.
PRIOR_ROWS = 3.0

#: Variance that the prior expects where clusters are counted, as a share of that of equal parts.
EXPECTED = 0.05

Moments = tuple[FloatArray, FloatArray, FloatArray]


def moments(rows: Alone, weighted: FloatArray, total: FloatArray | None = None) -> Moments:
    """Return mass, means and scatter of every column in every cluster, each (K, m).

    `total` are the sums of the columns of `weighted`, if they are at hand.
    """
    mass = rows.observed_mass(weighted, weighted.sum(axis=0) if total is None else total)
    means = (weighted.T @ rows.numbers) / np.maximum(mass, 1e-12)
    scatter = weighted.T @ rows.squares - mass * means**2
    return mass, means, np.maximum(scatter, 0.0)


def expected_variance(sample: Sample, n_clusters: int) -> FloatArray:
    """Return the variance that the prior expects of clusters, (M,).

    It is what they have if they share the table's volume; where they are counted, much less, so
    that a few tight clusters in one of many columns are not taken for a wide one.
    """
    shrunk = n_clusters ** (-2 / max(sample.n_numbers, 1))
    shrunk *= EXPECTED if sample.counting else 1.0
    return np.asarray(sample.variance * shrunk + sample.kernel)


def variances(
    kernel: FloatArray, expected: FloatArray, found: Moments
) -> tuple[FloatArray, FloatArray]:
    """Return common variances, (m,), and own ones, (K, m), that maximize the criterion."""
    mass, _, scatter = found
    prior = PRIOR_ROWS * expected
    total = mass.sum(axis=0)
    common = (scatter.sum(axis=0) + total * kernel + prior) / (total + PRIOR_ROWS)
    own = (scatter + mass * kernel + prior) / (mass + PRIOR_ROWS)
    return common, own


def scores(
    expected: FloatArray, found: Moments, common: FloatArray, own: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the criterion of each column with a common variance, and with own ones."""
    mass = found[0]
    total = mass.sum(axis=0)
    # the prior is 0 where the variance is as expected
    least = 0.5 * PRIOR_ROWS * (np.log(expected) + 1)
    common_score = -0.5 * (total + PRIOR_ROWS) * (np.log(common) + 1) - 0.5 * total * LOG_2PI
    common_score += least
    own_score = -0.5 * (mass + PRIOR_ROWS) * (np.log(own) + 1) - 0.5 * mass * LOG_2PI + least
    return common_score, own_score.sum(axis=0)


def log_densities(
    rows: Alone, means: FloatArray, variance: FloatArray, kernel: FloatArray
) -> FloatArray:
    """Return the expected log density of every row in every cluster, summed over columns."""
    precision = 1 / variance
    constant = (means**2 + kernel) * precision + np.log(variance) + LOG_2PI
    fixed = constant.sum(axis=1) if rows.observed is None else rows.observed @ constant.T
    twice = rows.squares @ precision.T - 2 * rows.numbers @ (means * precision).T + fixed
    return np.asarray(-0.5 * twice)
