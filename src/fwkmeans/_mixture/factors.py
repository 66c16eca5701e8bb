"""A table without clusters: what its columns have in common, as few factors."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from fwkmeans._mixture.sample import Sample, noise_fit
from fwkmeans._mixture.singles import LOG_2PI, PRIOR_ROWS, expected_variance
from fwkmeans.typing import FloatArray

#: Columns of a wide table that may share factors; the others are described one by one.
MOST_FACTORED = 200
#: Common factors that are tried.
MOST_FACTORS = 8
#: Rounds in which the factors and what they leave of each column are found.
ROUNDS = 20
#: The least share of a column's variance that is its own.
LEAST_OWN = 0.005


def factor_null(sample: Sample) -> float:
    r"""Return the highest criterion of one cluster whose columns have common factors.

    The covariances are :math:`\Sigma = L L^T + \Psi` with few factors in L and a diagonal
    :math:`\Psi`. This takes far fewer parameters than a group of columns with all correlations, so
    a table of few rows cannot gain by clusters that cut such a factor into pieces. The scores of a
    factor, :math:`L^T \Sigma^{-1} x`, are independent; each may follow any of the distributions
    that noise may follow instead of a normal one. Columns with missing cells stay alone.
    """
    at = np.flatnonzero(~sample.gappy)[:MOST_FACTORED]
    size, n, log_n = at.size, float(sample.n_rows), sample.log_n
    alone = np.setdiff1d(np.arange(sample.n_numbers), at)
    rest = float((sample.null[alone] - 1.5 * log_n).sum() + sample.level_null.sum())
    rest -= 0.5 * float(sample.level_free.sum()) * log_n
    numbers = sample.rows.numbers[:, at]
    numbers = numbers - sample.weight @ numbers / n
    kernel, expected = sample.kernel[at], expected_variance(sample, 1)[at]
    scatter = (numbers * sample.weight[:, None]).T @ numbers
    scatter += np.diag(n * kernel + PRIOR_ROWS * expected)
    shape = scatter / (n + PRIOR_ROWS)
    constant = 0.5 * PRIOR_ROWS * (np.log(expected).sum() + size) - 0.5 * n * size * LOG_2PI
    best = -np.inf
    for n_factors in range(1, min(size - 1, MOST_FACTORS + 1)):
        loadings, own = factors(shape, n_factors)
        covariance = loadings @ loadings.T + np.diag(own)
        inverse = np.linalg.inv(covariance)
        fit = float(np.linalg.slogdet(covariance)[1] + (inverse * shape).sum())
        free = (2 + n_factors) * size - n_factors * (n_factors - 1) // 2
        score = constant - 0.5 * (n + PRIOR_ROWS) * fit - 0.5 * free * log_n
        directions = inverse @ loadings
        variance = (directions * (covariance @ directions)).sum(axis=0)
        varies = variance > 0
        directions, variance = directions[:, varies], variance[varies]
        scores, blur = numbers @ directions, kernel @ directions**2
        normal = -0.5 * n * (LOG_2PI + np.log(variance))
        normal -= 0.5 * (sample.weight @ scores**2 + n * blur) / variance
        other = noise_fit(scores, sample.weight, np.sqrt(blur), sample.skew_price) - 0.5 * log_n
        score += float(np.maximum(other - normal, 0.0).sum())
        if score <= best:
            break
        best = score
    return rest + best


def factors(shape: FloatArray, n_factors: int) -> tuple[FloatArray, FloatArray]:
    """Return loadings (columns, factors) and own variances that make a covariance likeliest.

    The scores of different factors do not correlate.
    """
    total = np.diagonal(shape)
    own = (1 - 0.5 * n_factors / len(shape)) / np.diagonal(np.linalg.inv(shape))
    for _ in range(ROUNDS):
        root = np.sqrt(own)
        values, vectors = eigh(
            shape / root / root[:, None], subset_by_index=(len(shape) - n_factors, len(shape) - 1)
        )
        loadings = root[:, None] * vectors * np.sqrt(np.maximum(values - 1, 0.0))
        before, own = own, np.maximum(total - (loadings**2).sum(axis=1), LEAST_OWN * total)
        if np.allclose(own, before, rtol=1e-2, atol=0):
            break
    axes = np.linalg.eigh((loadings / own[:, None]).T @ loadings)[1]
    return loadings @ axes, own
