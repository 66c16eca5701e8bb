"""Greedy k-means++: in the compiled core, or by scikit-learn's function, which is its twin."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from fwkmeans._core import compiled
from fwkmeans._support.threads import one_blas_thread
from fwkmeans.typing import FloatArray, IntArray, RowArray


def spread_rows(
    rows: Any, weights: FloatArray, seeds: list[int], n_clusters: int, n_threads: int
) -> IntArray:
    """Choose rows by k-means++ for each of the seeds: (R, K) indices.

    The core draws what `sklearn.cluster.kmeans_plusplus` draws. Its distances are sums of squared
    differences in double precision, so that another row may come out where rounding decides.
    """
    weights = weights.astype(rows.dtype, copy=False)
    if issparse(rows):
        return _spread_rows_in_python(rows, weights, seeds, n_clusters)
    chosen: IntArray = compiled.spread(rows, weights, seeds, n_clusters, n_threads)
    return chosen


def _spread_rows_in_python(
    rows: Any, weights: RowArray, seeds: list[int], n_clusters: int
) -> IntArray:
    from sklearn.cluster import kmeans_plusplus

    with one_blas_thread():  # the same bits for any number of threads
        chosen = [
            kmeans_plusplus(rows, n_clusters, sample_weight=weights, random_state=seed)[1]
            for seed in seeds
        ]
    return np.asarray(chosen, dtype=np.int64)
