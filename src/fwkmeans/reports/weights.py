"""Feature weights as shares: of the columns of the table, in every cluster."""

from __future__ import annotations

import numpy as np

from fwkmeans.fitted import FittedView
from fwkmeans.typing import FloatArray, IntArray

#: A column matters if it has so many times the weight that equal weights would give it.
HEAVY = 1.25


def effective_weights(view: FittedView) -> FloatArray:
    """Return what multiplies the dissimilarity, 0 where that is not a number."""
    return np.nan_to_num(view.effective_weights, nan=0.0, posinf=0.0)


def encoded_shares(view: FittedView) -> FloatArray:
    """Return each feature's share of its cluster's weight; the shares of a cluster sum to one.

    With an exponent of zero or below, a large weight makes a feature count less. The shares are
    then those of the weights raised to the exponent.
    """
    weights = view.comparable_weights
    if np.all(np.asarray(getattr(view.recipe.weighting, "beta", 1.0)) <= 0):
        weights = effective_weights(view)
    total = weights.sum(axis=1, keepdims=True)
    return np.where(total > 0, weights / np.where(total > 0, total, 1.0), 1.0 / weights.shape[1])


def shares_by_column(shares: FloatArray, columns: IntArray, n_columns: int) -> FloatArray:
    """Return the shares of encoded columns added up, of shape (n_clusters, n_columns)."""
    return np.stack([np.bincount(columns, row, n_columns) for row in shares])


def equal_shares(view: FittedView) -> FloatArray:
    """Return the shares that equal weights would give; constant features have none."""
    varying = view.description.varying.astype(np.float64)
    return np.asarray(varying / max(1.0, varying.sum()))


def times_equal(shares: FloatArray, equal: FloatArray) -> FloatArray:
    """Return how many times the share that equal weights would give; 0 where that is none."""
    times = np.where(equal > 0, shares / np.where(equal > 0, equal, 1.0), 0.0)
    return times.round(12)  # what is equal stays equal, and in the order of the table


def heavy_columns(shares: FloatArray, equal: FloatArray) -> list[int]:
    """Return the columns that matter, by falling weight relative to equal weights."""
    times = times_equal(shares, equal)
    return [int(v) for v in np.argsort(-times, kind="stable") if times[v] > HEAVY]


def distance_from(equal: FloatArray, shares: FloatArray) -> FloatArray:
    """Return for each cluster the share of weight that would have to move to make all equal."""
    return np.asarray(np.abs(shares - equal).sum(axis=-1) / 2)
