"""Centers at rows of the table: at random, or spread by k-means++."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import kmeans_plusplus
from threadpoolctl import threadpool_limits

from fwkmeans._init.seeds import Seeds
from fwkmeans.sources import centers_at
from fwkmeans.typing import Description, FloatArray, IntArray, RowArray, Source

#: k-means++ looks at no more rows than this, drawn at random,
SEEDING_ROWS = 100_000
#: ... and at no more of them than fit into this, unless that is fewer than 50 per cluster.
SEEDING_BYTES = 4 * 2**20


def random_entities(
    source: Source, n_clusters: int, seeds: Seeds, starts: range, table: Description
) -> FloatArray:
    """Return K distinct rows, drawn at random, for each of the starts: (R, K, M)."""
    present = rows_with_weight(source)
    n_present = source.n_rows if present is None else present.size
    indices = distinct_integers(seeds.uniform("centers", starts, n_clusters), n_present)
    if present is not None:
        indices = present[indices]
    return centers_at(source, indices.ravel(), table).reshape(len(starts), n_clusters, -1)


def distinct_integers(uniform: FloatArray, below: int) -> IntArray:
    """Turn each row of uniform numbers into as many distinct integers (Floyd's sampling).

    Every subset of ``range(below)`` of that size is equally likely.
    """
    n = uniform.shape[1]
    drawn = np.empty(uniform.shape, dtype=np.int64)
    for step in range(n):
        last = below - n + step
        candidate = (uniform[:, step] * (last + 1)).astype(np.int64)
        taken = (drawn[:, :step] == candidate[:, None]).any(axis=1)
        drawn[:, step] = np.where(taken, last, candidate)
    return drawn


def spread_entities(
    source: Source, n_clusters: int, seeds: Seeds, starts: range, table: Description
) -> FloatArray:
    """Return K rows chosen by (greedy) k-means++ for each of the starts: (R, K, M)."""
    indices = _seeding_rows(source, n_clusters, seeds)
    rows = _for_seeding(source, indices, table)
    weights = None if source.sample_weight is None else source.sample_weight[indices]
    with threadpool_limits(1, user_api="blas"):  # the same digits whatever the number of threads
        chosen = [
            kmeans_plusplus(rows, n_clusters, sample_weight=weights, random_state=seed)[1]
            for seed in seeds.integers("centers", starts)
        ]
    centers = centers_at(source, indices[np.concatenate(chosen)], table)
    return centers.reshape(len(starts), n_clusters, -1)


def rows_with_weight(source: Source) -> IntArray | None:
    """Return the indices of the rows with positive weight, None if all have it."""
    weight = source.sample_weight
    if weight is None or bool(np.all(weight > 0)):
        return None
    return np.flatnonzero(weight > 0)


def _seeding_rows(source: Source, n_clusters: int, seeds: Seeds) -> IntArray:
    """Return the rows that k-means++ looks at: all with weight, or some of them."""
    present = rows_with_weight(source)
    n_present = source.n_rows if present is None else present.size
    width = source.layout.n_numeric + source.layout.n_levels
    limit = max(50 * n_clusters, min(SEEDING_ROWS, SEEDING_BYTES // (8 * width)))
    indices = np.arange(n_present)
    if n_present > limit:
        indices = np.sort(seeds.common("seeding rows").choice(n_present, limit, replace=False))
    return indices if present is None else present[indices]


def _for_seeding(source: Source, indices: IntArray, table: Description) -> RowArray:
    """Return the rows about their mean, so that products keep their digits.

    Numbers are about 1 in size at most, or as they are beside categories: of those each level is a
    column, so scaled that different categories are at distance 1. Missing cells are at the center.
    """
    layout = table.layout
    rows = source.take(indices)
    if layout.is_numeric and not table.gaps:
        _, exponent = np.frexp(table.span.max())
        centered: RowArray = rows - table.mean.astype(rows.dtype)
        centered *= rows.dtype.type(np.ldexp(1.0, -int(exponent)))
        return centered
    about = centers_at(source, indices, table) - table.center
    levels = layout.frequencies(about)
    levels *= np.sqrt(0.5)
    if layout.is_numeric:
        _, exponent = np.frexp(table.span.max())
        about *= np.ldexp(1.0, -int(exponent))
    return about
