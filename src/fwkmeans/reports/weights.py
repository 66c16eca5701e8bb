"""Feature weights as shares: of the columns of the table, in every cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from fwkmeans.estimators.shares import counted_weights
from fwkmeans.typing import FloatArray, IntArray
from fwkmeans.weighting import UniformWeights

__all__ = [
    "distance_from",
    "effective_weights",
    "encoded_shares",
    "equal_shares",
    "heavy_columns",
    "is_uniform",
    "shares_by_column",
    "times_equal",
]

#: A column matters if it has so many times the weight that equal weights would give it.
HEAVY = 1.25


def effective_weights(estimator: Any) -> FloatArray:
    """Return the weights as they multiply the dissimilarity, of shape (n_clusters, n_features)."""
    weights = np.asarray(estimator.feature_weights_, dtype=np.float64)
    if hasattr(estimator, "_parts") and hasattr(estimator, "_memory"):
        effective = estimator._parts.weighting.effective(estimator._weights()).values[0]
        weights = np.broadcast_to(effective, weights.shape)
    return np.where(np.isfinite(weights), weights, 0.0)


def encoded_shares(estimator: Any) -> FloatArray:
    """Return each feature's share of its cluster's weight; the shares of a cluster sum to one.

    With an exponent of zero or below a large weight means little say: then it is the effect that
    is shared.
    """
    weights = counted_weights(estimator)
    rule = getattr(getattr(estimator, "_parts", None), "weighting", None)
    exponent = getattr(rule, "beta", getattr(estimator, "beta", 1.0))
    if np.all(np.asarray(exponent) <= 0):
        weights = effective_weights(estimator)
    total = weights.sum(axis=1, keepdims=True)
    shares: FloatArray = np.where(
        total > 0, weights / np.where(total > 0, total, 1.0), 1.0 / weights.shape[1]
    )
    return shares


def shares_by_column(shares: FloatArray, columns: IntArray, n_columns: int) -> FloatArray:
    """Return the shares of encoded columns added up, of shape (n_clusters, n_columns)."""
    return np.stack([np.bincount(columns, row, n_columns) for row in shares])


def equal_shares(estimator: Any) -> FloatArray:
    """Return the shares that equal weights would give; constant features have none."""
    n_features = estimator.feature_weights_.shape[1]
    table = getattr(estimator, "_table", None)
    varying = np.ones(n_features) if table is None else np.asarray(table.varying, dtype=np.float64)
    shares: FloatArray = varying / max(1.0, varying.sum())
    return shares


def times_equal(shares: FloatArray, equal: FloatArray) -> FloatArray:
    """Return how many times the share that equal weights would give; 0 where that is none."""
    times: FloatArray = np.where(equal > 0, shares / np.where(equal > 0, equal, 1.0), 0.0)
    return times.round(12)  # what is equal stays equal, and in the order of the table


def heavy_columns(shares: FloatArray, equal: FloatArray) -> list[int]:
    """Return the columns that matter, by falling weight relative to equal weights."""
    times = times_equal(shares, equal)
    return [int(v) for v in np.argsort(-times, kind="stable") if times[v] > HEAVY]


def is_uniform(estimator: Any) -> bool:
    """Tell whether the algorithm gives all features the same weight by design."""
    rule = getattr(getattr(estimator, "_parts", None), "weighting", None)
    return isinstance(rule, UniformWeights)


def distance_from(equal: FloatArray, shares: FloatArray) -> FloatArray:
    """Return for each cluster the share of weight that would have to move to make all equal."""
    distance: FloatArray = np.abs(shares - equal).sum(axis=-1) / 2
    return distance
