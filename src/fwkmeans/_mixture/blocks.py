"""Groups of numeric columns: normal or Student's t distributions in several dimensions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dtrtri
from scipy.special import gammaln

from fwkmeans._mixture.sample import Sample, products
from fwkmeans._mixture.singles import LOG_2PI, PRIOR_ROWS, expected_variance
from fwkmeans.typing import FloatArray, IntArray

INFINITE = float("inf")
#: Rounds in which common shape and volumes of clusters, or weights of a tail, are found.
ROUNDS = 3
#: What a row must count for in a cluster to take part in its own shape; less is lost by rounding.
TRACE = 1e-16


class Block(NamedTuple):
    """The distribution of a group of columns in every cluster."""

    columns: IntArray  # (a,)
    tail: float  # degrees of freedom
    means: FloatArray  # (K, a)
    whitening: FloatArray  # (K or 1, a, a) inverse Cholesky factors of the shapes
    volume: FloatArray  # (K,) the factor of the shape
    log_det: FloatArray  # (K,) of shape times volume
    variance: FloatArray  # (K, a) the diagonal of shape times volume
    blur: FloatArray  # (K,) what the kernel adds to squared distances

    def squared_distances(self, numbers: FloatArray) -> FloatArray:
        """Return squared Mahalanobis distances of rows, (N, K), without what the kernel adds."""
        if len(self.whitening) == 1:
            white, centers = numbers @ self.whitening[0].T, self.means @ self.whitening[0].T
            out = np.asarray(white @ (-2 * centers.T))
            out += _square_lengths(white)[:, None]
            out += _square_lengths(centers)
            np.maximum(out, 0.0, out=out)
        else:
            out = np.empty((len(numbers), len(self.means)))
            for k, (mean, root) in enumerate(zip(self.means, self.whitening, strict=True)):
                out[:, k] = _square_lengths((numbers - mean) @ root.T)
        out /= self.volume
        return out

    def log_densities(self, squared: FloatArray) -> FloatArray:
        """Return expected log densities from squared distances."""
        a, nu = len(self.columns), self.tail
        if np.isinf(nu):
            out = -0.5 * squared
            out -= 0.5 * (self.blur + self.log_det + a * LOG_2PI)
            return np.asarray(out)
        far = squared + self.blur
        constant = gammaln((nu + a) / 2) - gammaln(nu / 2) - 0.5 * a * np.log(nu * np.pi)
        return np.asarray(constant - 0.5 * self.log_det - 0.5 * (nu + a) * np.log1p(far / nu))

    def tail_weights(self, squared: FloatArray) -> FloatArray | None:
        """Return how much each row counts for each cluster: less, if it lies in a heavy tail."""
        if np.isinf(self.tail):
            return None
        return np.asarray((self.tail + len(self.columns)) / (self.tail + squared + self.blur))


def free_parameters(size: int, kind: str, n_clusters: int, *, factored: bool = False) -> int:
    """Return the number of parameters of a group of columns, without those of factors."""
    shape = 1 if factored else size * (size + 1) // 2
    shapes = {"tied": shape, "vol": shape + n_clusters - 1, "spec": n_clusters * shape}
    return n_clusters * size + shapes[kind]


def fit_block(
    sample: Sample,
    columns: IntArray,
    kind: str,
    tail: float,
    numbers: FloatArray,
    weighted: FloatArray,
    tail_weights: FloatArray | None,
    *,
    factored: bool = False,
) -> tuple[Block, float]:
    """Return the distribution of highest criterion, and the logarithm of its prior.

    `numbers` and `weighted` (the memberships times the rows' weights) are of complete rows. Shapes
    that are `factored` have as many factors as gain more than their price, which is then part of
    what is returned.
    """
    n_clusters, size = weighted.shape[1], len(columns)
    kernel = sample.kernel[columns]
    expected = expected_variance(sample, n_clusters)[columns]
    prior = PRIOR_ROWS
    counted = weighted if tail_weights is None else weighted * tail_weights
    mass, counted_mass = weighted.sum(axis=0), counted.sum(axis=0)
    means = (counted.T @ numbers) / np.maximum(counted_mass, 1e-12)[:, None]
    volume, price = np.ones(n_clusters), 0.0
    if kind == "spec":
        shapes = np.empty((n_clusters, size, size))
        for k in range(n_clusters):
            some = counted[:, k] > TRACE if factored else slice(None)
            scatter = products(numbers[some], counted[some, k])
            scatter -= counted_mass[k] * np.outer(means[k], means[k])
            scatter += np.diag(counted_mass[k] * kernel + prior * expected)
            shapes[k] = scatter / (mass[k] + prior)
            if factored:
                shapes[k], more = _of_factors(shapes[k], expected, mass[k] + prior, sample.log_n)
                price += more
        whitening = np.stack([_inverse_root(shape) for shape in shapes])
    else:
        own_volume = kind == "vol"
        for _ in range(ROUNDS if own_volume else 1):
            share = 1 / volume
            if own_volume or tail_weights is not None:
                scatter = products(numbers, counted @ share)
            else:
                scatter = sample.products(columns).copy()
            scatter -= (means * (counted_mass * share)[:, None]).T @ means
            times = share.sum() if own_volume else 1.0
            scatter += np.diag(kernel * (counted_mass @ share) + prior * times * expected)
            shape = scatter / ((mass + prior).sum() if own_volume else mass.sum() + prior)
            if factored:
                shape, price = _of_factors(shape, expected, mass.sum() + prior, sample.log_n)
            root = _inverse_root(shape)
            if own_volume:
                white, centers = numbers @ root.T, means @ root.T
                far = counted.T @ _square_lengths(white)
                far -= 2 * (centers * (counted.T @ white)).sum(axis=1)
                far += counted_mass * ((centers**2).sum(axis=1) + (root**2 @ kernel).sum())
                far += prior * (root**2 @ expected).sum()
                volume = far / ((mass + prior) * size)
        shapes, whitening = shape[None], root[None]
    variance = np.diagonal(shapes, axis1=1, axis2=2) * volume[:, None]
    log_roots = -2 * np.log(np.diagonal(whitening, axis1=1, axis2=2)).sum(axis=1)
    log_det = log_roots + size * np.log(volume)
    block = Block(
        np.asarray(columns),
        tail,
        means,
        whitening,
        volume,
        log_det,
        variance,
        (whitening**2 @ kernel).sum(axis=1) / volume,
    )
    spread = (whitening**2 @ expected).sum(axis=1) / volume
    log_prior = -0.5 * prior * (log_det - np.log(expected).sum() + spread - size)
    return block, float(log_prior[0] if kind == "tied" else log_prior.sum()) - price


def score_of_type(
    sample: Sample,
    weighted: FloatArray,
    columns: IntArray,
    kind: str,
    tail: float,
    *,
    factored: bool = False,
) -> float:
    """Return the expected criterion of a group of columns if it is of a type."""
    here, numbers = sample.rows.cells(columns)
    weighted = weighted[here]
    weights = None
    for _ in range(1 if np.isinf(tail) else ROUNDS):
        block, prior = fit_block(
            sample, columns, kind, tail, numbers, weighted, weights, factored=factored
        )
        squared = block.squared_distances(numbers)
        weights = block.tail_weights(squared)
    free = free_parameters(len(columns), kind, weighted.shape[1], factored=factored)
    free += bool(np.isfinite(tail))
    expected = float((weighted * block.log_densities(squared)).sum())
    return expected + prior - 0.5 * free * sample.log_n


def _of_factors(
    shape: FloatArray, expected: FloatArray, mass: float, log_n: float
) -> tuple[FloatArray, float]:
    r"""Return the covariance with few factors of highest criterion, and the price of the factors.

    In units of the variances that are expected it is :math:`L L^T + s I`: the largest eigenvalues
    of the covariance that is found stay, the others become their mean.
    """
    values, vectors = np.linalg.eigh(_in_units(shape, expected))
    values, size = np.maximum(values, 1e-300), len(values)
    n_others = np.arange(1, size + 1)
    n_factors = size - n_others
    means, logs = values.cumsum() / n_others, np.log(values).cumsum()
    log_det = logs[-1] - logs + n_others * np.log(means)
    price = 0.5 * log_n * (n_factors * size - n_factors * (n_factors - 1) / 2)
    best = int(np.argmin(0.5 * mass * log_det + price))
    values[: n_others[best]] = means[best]
    return _in_units((vectors * values) @ vectors.T, 1 / expected), float(price[best])


def _in_units(shape: FloatArray, variance: FloatArray) -> FloatArray:
    root = np.sqrt(variance)
    return np.asarray(shape / root / root[:, None])


def block_null(sample: Sample, columns: IntArray, tails: tuple[float, ...]) -> tuple[float, float]:
    """Return the criterion of a group of columns that is noise, and its tail.

    A tail of 0 means that the columns are better described one by one.
    """
    scores = []
    for tail in (0.0, *tails):
        key = (tail, *(int(v) for v in columns))
        if key not in sample.block_nulls:
            sample.block_nulls[key] = (
                score_of_type(sample, sample.weight[:, None], columns, "tied", tail)
                if tail
                else float((sample.null[columns] - 1.5 * sample.log_n).sum())
            )
        scores.append((sample.block_nulls[key], tail))
    return max(scores)


def _square_lengths(rows: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def _inverse_root(shape: FloatArray) -> FloatArray:
    return np.ascontiguousarray(dtrtri(np.linalg.cholesky(shape), lower=True)[0])
