"""Rows of the table as initial centers: drawn at random, or by k-means++."""

from __future__ import annotations

from typing import Any

import numpy as np

from fwkmeans._core import kernels_for
from fwkmeans._core.sparse import SparseRows
from fwkmeans._core.spreading import spread_rows
from fwkmeans._init.seeds import Seeds
from fwkmeans.sources import DeviceSource, centers_of, count_present, rows_at
from fwkmeans.sources.entities import Present, sparse_rows_at
from fwkmeans.sources.sparse import to_scipy
from fwkmeans.typing import Description, Entities, FloatArray, IntArray, RowArray, Source

#: The largest number of rows that k-means++ uses; of more, this many are drawn at random.
SEEDING_ROWS = 100_000
#: The largest size of these rows, as long as there are at least 50 per cluster.
SEEDING_BYTES = 4 * 2**20


def random_entities(
    source: Source, n_clusters: int, seeds: Seeds, starts: range, table: Description
) -> FloatArray:
    """Return K distinct rows, drawn at random, for each of the starts: (R, K, M)."""
    present = count_present(source)
    numbers = distinct_integers(seeds.uniform("centers", starts, n_clusters), present.n_rows)
    entities, _ = rows_at(source, numbers.ravel(), present)
    return centers_of(entities, table).reshape(len(starts), n_clusters, -1)


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
    """Return K rows chosen by (greedy) k-means++ for each of the starts: (R, K, M).

    Of many rows a sample is used, but all of them on a device.
    """
    if isinstance(source, DeviceSource) and source.n_rows > _limit(source, n_clusters):
        return _spread_on_device(source, n_clusters, seeds, starts)
    numbers, present = _seeding_numbers(source, n_clusters, seeds)
    rows: Any
    entities: Entities | None = None
    if source.sparse and 8 * numbers.size * source.layout.n_numeric > SEEDING_BYTES:
        sparse, weights = sparse_rows_at(source, numbers, present)
        rows = _sparse_for_seeding(sparse, table)
    else:
        entities, weights = rows_at(source, numbers, present)
        rows = _for_seeding(entities, source.dtype, table)
    weights = np.ones(numbers.size) if weights is None else weights
    weights = np.ldexp(weights, -int(np.frexp(weights.max())[1]))  # sums must not vanish
    threads = getattr(source, "n_threads", 1)
    chosen = spread_rows(rows, weights, seeds.integers("centers", starts), n_clusters, threads)
    at = chosen.ravel()
    if entities is None:
        entities, at = rows_at(source, numbers[at], present).entities, np.arange(at.size)
    centers = centers_of(entities.take(at), table)
    return centers.reshape(len(starts), n_clusters, -1)


def _limit(source: Source, n_clusters: int) -> int:
    """Return the largest number of rows that k-means++ uses on the host."""
    width = source.layout.n_numeric + source.layout.n_levels
    return max(50 * n_clusters, min(SEEDING_ROWS, SEEDING_BYTES // (8 * width)))


def _spread_on_device(
    source: DeviceSource, n_clusters: int, seeds: Seeds, starts: range
) -> FloatArray:
    from fwkmeans._core.device import seeding

    (block,) = source.blocks()
    uniform = seeds.uniform("centers", starts, seeding.n_uniform(n_clusters))
    chosen = [
        seeding.spread_rows(source.rows, block.sample_weight, n_clusters, one) for one in uniform
    ]
    numbers = kernels_for(source.rows).take_rows(block, np.concatenate(chosen)).numbers
    return np.asarray(numbers).reshape(len(starts), n_clusters, -1)


def _seeding_numbers(source: Source, n_clusters: int, seeds: Seeds) -> tuple[IntArray, Present]:
    """Return the numbers of the rows that k-means++ uses: all rows with weight, or a sample."""
    present, limit = count_present(source), _limit(source, n_clusters)
    numbers = np.arange(min(present.n_rows, limit))
    if present.n_rows > limit:
        drawn = seeds.common("seeding rows").choice(present.n_rows, limit, replace=False)
        numbers = np.sort(drawn)
    return numbers, present


def _sparse_for_seeding(rows: SparseRows, table: Description) -> Any:
    """Return rows in which zeros stay zero, scaled to a size of at most about 1."""
    values = rows.values.astype(np.float64)
    values = np.where(np.isnan(values), table.mean[rows.columns], values)
    return to_scipy(rows.with_values(np.ldexp(values, -np.frexp(table.span.max())[1])))


def _for_seeding(entities: Entities, dtype: np.dtype[Any], table: Description) -> RowArray:
    """Return the rows relative to their mean, so that products do not lose precision.

    In a table without categories, numbers are scaled to a size of at most about 1. Each level of a
    category becomes a column, scaled so that different categories are at distance 1, times the
    scale of categories. Missing cells are at the center.
    """
    layout = table.layout
    _, exponent = np.frexp(table.span.max())
    if layout.is_numeric and not table.gaps:
        scaled, mean = (
            np.ldexp(y.astype(dtype), -exponent) for y in (entities.numbers, table.mean)
        )
        centered: RowArray = scaled - mean
        return centered
    about = centers_of(entities, table) - table.center
    levels = layout.frequencies(about)
    levels *= np.sqrt(0.5)
    if table.category_scale is not None:
        levels *= np.sqrt(layout.levels(table.category_scale))
    if layout.is_numeric:
        about *= np.ldexp(1.0, -int(exponent))
    return about
