"""Numeric columns alone: normal distributions with common or own variances."""

from __future__ import annotations

import numpy as np

from fwkmeans._mixture.sample import Sample
from fwkmeans.typing import FloatArray

LOG_2PI = float(np.log(2 * np.pi))
#: Rows that the prior of a variance, or of the shape of a group, counts for.
PRIOR_ROWS = 3.0

Moments = tuple[FloatArray, FloatArray, FloatArray]


def moments(sample: Sample, weighted: FloatArray) -> Moments:
    """Return mass, means and scatter of every column in every cluster, each (K, M)."""
    mass = sample.observed_mass(weighted)
    means = (weighted.T @ sample.rows.numbers) / np.maximum(mass, 1e-12)
    scatter = weighted.T @ sample.squares - mass * means**2
    return mass, means, np.maximum(scatter, 0.0)


def expected_variance(sample: Sample, n_clusters: int) -> FloatArray:
    """Return the variance that clusters have if they share the table's volume, (M,)."""
    shrunk = n_clusters ** (-2 / max(sample.n_numbers, 1))
    return np.asarray(sample.variance * shrunk + sample.kernel)


def variances(
    sample: Sample, n_clusters: int, found: Moments
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return common variances and their score, and own variances and theirs."""
    mass, _, scatter = found
    expected = expected_variance(sample, n_clusters)
    prior = PRIOR_ROWS * expected
    total = mass.sum(axis=0)
    common = (scatter.sum(axis=0) + total * sample.kernel + prior) / (total + PRIOR_ROWS)
    own = (scatter + mass * sample.kernel + prior) / (mass + PRIOR_ROWS)
    # the prior is 0 where the variance is as expected
    least = 0.5 * PRIOR_ROWS * (np.log(expected) + 1)
    common_score = -0.5 * (total + PRIOR_ROWS) * (np.log(common) + 1) - 0.5 * total * LOG_2PI
    common_score += least
    own_score = -0.5 * (mass + PRIOR_ROWS) * (np.log(own) + 1) - 0.5 * mass * LOG_2PI + least
    return common, common_score, own, own_score.sum(axis=0)


def log_densities(
    numbers: FloatArray,
    observed: FloatArray | None,
    means: FloatArray,
    variance: FloatArray,
    kernel: FloatArray,
) -> FloatArray:
    """Return the expected log density of every row in every cluster, summed over columns."""
    precision = 1 / variance
    constant = (means**2 + kernel) * precision + np.log(variance) + LOG_2PI
    fixed = constant.sum(axis=1) if observed is None else observed @ constant.T
    twice = (numbers**2) @ precision.T - 2 * numbers @ (means * precision).T + fixed
    return np.asarray(-0.5 * twice)
