"""Rows of the table as initial centers: drawn at random, or by k-means++."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse, vstack

import fwkmeans._core.compiled as compiled
from fwkmeans._core import kernels_for
from fwkmeans._core.sparse import SparseRows
from fwkmeans._core.spreading import spread_rows
from fwkmeans._init.far_rows import Chances, FarRows, draw_far_rows, nearest_rows
from fwkmeans._init.seeds import Seeds
from fwkmeans.sources import MemorySource, centers_of, count_present, rows_at
from fwkmeans.sources.entities import Present, sparse_rows_at
from fwkmeans.sources.sparse import sparse_rows, to_scipy
from fwkmeans.typing import (
    BoolArray,
    Description,
    Entities,
    FloatArray,
    IntArray,
    LabelArray,
    RowArray,
    Source,
)

#: The largest number of rows that k-means++ uses; of more, this many are drawn at random.
SEEDING_ROWS = 100_000
#: The largest size of these rows, as long as there are at least 50 per cluster.
SEEDING_BYTES = 4 * 2**20
#: Rows that each round draws far from the candidates: so many, or so many for each cluster.
FAR_ROWS, FAR_ROWS_EACH = 1000, 20
#: The largest number of rounds; another follows if the potential is so much more than expected.
ROUNDS, MISSED = 5, 1.5


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

    Of many rows, those of a sample are used, and some that are far from them; see `_candidates`.
    On a device, all rows are.
    """
    if isinstance(source, MemorySource) and _are_few(source, n_clusters):
        rows = source.rows
        scaled = _centered(rows, rows.dtype, table)
        integers = seeds.integers("centers", starts)
        ones = np.full(len(rows), 0.5, dtype=rows.dtype)  # as `_spread` scales equal weights
        chosen = compiled.spread(scaled, ones, integers, n_clusters, source.n_threads)
        return rows[chosen.ravel()].astype(np.float64).reshape(*chosen.shape, -1)
    if source.on_device and source.n_rows > _limit(source, n_clusters):
        return _spread_on_device(source, n_clusters, seeds, starts)
    numbers, present = _seeding_numbers(source, n_clusters, seeds)
    fetch = _Fetching(source, present, table, numbers.size)
    if numbers.size == present.n_rows or source.streams:
        candidates = fetch(numbers)
        weights = candidates.weights
    else:
        candidates, expected = _candidates(fetch, n_clusters, seeds, numbers)
        weights = candidates.weights / chance_drawn(expected, numbers.size / present.n_rows)
    chosen = _spread(
        candidates.rows, weights, seeds.integers("centers", starts), n_clusters, source
    )
    return fetch.centers(candidates, chosen.ravel()).reshape(len(starts), n_clusters, -1)


class _Rows(NamedTuple):
    """Rows that may become centers."""

    numbers: IntArray  # see `Present`
    weights: FloatArray  # sample weights
    entities: Entities | None  # None if rows stay sparse
    rows: Any  # as k-means++ sees them

    def take(self, which: IntArray) -> _Rows:
        """Return some of them."""
        entities = None if self.entities is None else self.entities.take(which)
        return _Rows(self.numbers[which], self.weights[which], entities, self.rows[which])

    def plus(self, other: _Rows) -> _Rows:
        """Return all of them."""
        entities = None
        if self.entities is not None and other.entities is not None:
            entities = self.entities.plus(other.entities)
        stacked = vstack if issparse(self.rows) else np.concatenate
        return _Rows(
            np.concatenate([self.numbers, other.numbers]),
            np.concatenate([self.weights, other.weights]),
            entities,
            stacked([self.rows, other.rows]),
        )


class _Fetching:
    """How rows are fetched by their numbers; many wide sparse rows stay sparse."""

    def __init__(self, source: Source, present: Present, table: Description, n_rows: int) -> None:
        self.source, self.present, self.table = source, present, table
        self.keeps_sparse = source.sparse and 8 * n_rows * source.layout.n_numeric > SEEDING_BYTES

    def __call__(self, numbers: IntArray) -> _Rows:
        """Return the rows with these numbers, in rising order."""
        if not self.keeps_sparse:
            entities, weights = rows_at(self.source, numbers, self.present)
            return self.of_entities(numbers, entities, weights)
        sparse, weights = sparse_rows_at(self.source, numbers, self.present)
        weights = np.ones(numbers.size) if weights is None else weights
        return _Rows(numbers, weights, None, _sparse_for_seeding(sparse, self.table))

    def of_entities(
        self, numbers: IntArray, entities: Entities, weights: FloatArray | None
    ) -> _Rows:
        """Return rows that are here already."""
        weights = np.ones(numbers.size) if weights is None else weights
        rows = _for_seeding(entities, self.source.dtype, self.table)
        return _Rows(numbers, weights, entities, rows)

    def centers(self, rows: _Rows, which: IntArray) -> FloatArray:
        """Return centers at some rows."""
        entities = rows.entities
        if entities is not None:
            return centers_of(entities.take(which), self.table)
        drawn = rows_at(self.source, rows.numbers[which], self.present)
        return centers_of(drawn.entities, self.table)


def _candidates(
    fetch: _Fetching, n_clusters: int, seeds: Seeds, numbers: IntArray, n_far: int | None = None
) -> tuple[_Rows, FloatArray]:
    r"""Return a sample and rows that are far from another one, and how often to expect each there.

    As in k-means|| [1]_, a pass over all blocks draws rows in proportion to :math:`s_i d_i^2`,
    where :math:`d_i` is the distance to the nearest of K centers. Here these are chosen by
    k-means++ among half as many other rows as the sample has, so that one round is enough, unless
    the potential of all rows turns out much higher than it seemed from these: then there are
    clusters that they miss, so that the rows drawn join them for another round. A second term lets
    some rows of every cluster be drawn, be it as small as it may [2]_. All starts share the rounds.

    The last draw has taken a row with the probability :math:`1 - \exp(-e_i)`, where :math:`e_i` is
    what comes back beside it; see `chance_drawn`.

    References
    ----------
    .. [1] Bahmani, B., Moseley, B., Vattani, A., Kumar, R. and Vassilvitskii, S. (2012). Scalable
       k-means++. *Proceedings of the VLDB Endowment*, 5(7), 622-633.
       https://doi.org/10.14778/2180912.2180915
    .. [2] Bachem, O., Lucic, M. and Krause, A. (2017). Practical coreset constructions for machine
       learning. https://arxiv.org/abs/1703.06476
    """
    source, present, generator = fetch.source, fetch.present, seeds.common("far rows")
    n = min(max(FAR_ROWS, FAR_ROWS_EACH * n_clusters), numbers.size) if n_far is None else n_far
    n_others = max(n_clusters, numbers.size // 2)
    others = np.sort(generator.choice(present.n_rows, n_others, replace=False))
    both = np.sort(np.concatenate([numbers, others[~_among(others, numbers)]]))
    fetched = fetch(both)
    sample, pool = (fetched.take(np.searchsorted(both, some)) for some in (numbers, others))
    pool_weights = pool.weights * (present.n_rows / others.size)
    for n_draws in range(1, ROUNDS + 1):
        seed, other = generator.integers(2**31, size=2)
        pilot = _spread(pool.rows, pool_weights, [int(seed)], n_clusters, source)[0]
        centers, pilot_rows = fetch.centers(pool, pilot), pool.rows[pilot]
        labels, squared = _nearest(pool.rows, pilot_rows)
        potential = float(pool_weights @ squared) / n_draws
        mass = np.bincount(labels, pool_weights, n_clusters) / n_draws
        chances = Chances(
            0.0 if potential == 0 else 1.0 / potential,
            1.0 / (n_clusters * np.where(mass > 0, mass, fetch.table.mass)),
            _unit(fetch.table),
        )
        far = draw_far_rows(
            source,
            centers,
            fetch.table,
            chances,
            present,
            int(other),
            n,
            with_entities=not fetch.keeps_sparse,
        )
        drawn, threshold = _drawn(fetch, far, n)
        if far.potential <= MISSED * potential:
            break
        chance = drawn.weights * chances.of(*_nearest(drawn.rows, pilot_rows))
        own = drawn.weights / -np.expm1(-threshold * chance)
        pool, pool_weights = pool.plus(drawn), np.concatenate([pool_weights, own])
    found = sample.plus(drawn.take(np.flatnonzero(~_among(drawn.numbers, numbers))))
    chance = found.weights * chances.of(*_nearest(found.rows, pilot_rows))
    return found, threshold * chance


def chance_drawn(expected: FloatArray, share: float) -> FloatArray:
    """Return how likely rows are to be candidates; divided by it, sums are those of all rows.

    A row becomes a candidate by a sample, which has this share of the rows, or by the last draw.
    """
    chance: FloatArray = -np.expm1(np.log1p(-share) - expected)
    return chance


class Candidates(NamedTuple):
    """Rows of a sample and rows that are far from others, in rising order."""

    numbers: IntArray  # see `Present`
    is_far: BoolArray  # whether a row is not one of the sample
    expected: FloatArray  # see `chance_drawn`


def candidates_of(
    source: Source,
    n_clusters: int,
    seeds: Seeds,
    table: Description,
    numbers: IntArray,
    n_far: int,
) -> Candidates:
    """Return the rows of a sample and so many that are far from others; see `_candidates`."""
    fetch = _Fetching(source, count_present(source), table, numbers.size)
    found, expected = _candidates(fetch, n_clusters, seeds, numbers, n_far)
    order = np.argsort(found.numbers)
    own = found.numbers[order]
    return Candidates(own, ~_among(own, numbers), expected[order])


def _drawn(fetch: _Fetching, far: FarRows, n: int) -> tuple[_Rows, float]:
    """Return the rows that were drawn, and the key of the next one."""
    numbers, threshold = far.numbers[:n], np.inf
    if far.keys.size > n:
        threshold = float(far.keys[n])
    if far.entities is None:
        return fetch(np.sort(numbers)), threshold
    entities = far.entities.take(np.arange(numbers.size))
    return fetch.of_entities(numbers, entities, far.weights[:n]), threshold


def _among(numbers: IntArray, rising: IntArray) -> BoolArray:
    """Tell which numbers are among others."""
    at = np.minimum(np.searchsorted(rising, numbers), rising.size - 1)
    found: BoolArray = rising[at] == numbers
    return found


def _unit(table: Description) -> float:
    """Return what `_for_seeding` multiplies numbers by."""
    exponent = -int(np.frexp(table.span.max())[1])
    return float(np.ldexp(1.0, exponent)) if table.layout.is_numeric else 1.0


def _spread(
    rows: Any, weights: FloatArray, seeds: list[int], n_clusters: int, source: Source
) -> IntArray:
    """Choose rows by k-means++ for each of the seeds: (R, K) indices."""
    weights = np.ldexp(weights, -int(np.frexp(weights.max())[1]))  # sums must not vanish
    return spread_rows(rows, weights, seeds, n_clusters, getattr(source, "n_threads", 1))


def _nearest(rows: Any, centers: Any) -> tuple[LabelArray, FloatArray]:
    """Return the nearest center of each row, and the squared distance to it."""
    if issparse(rows):
        rows, centers = sparse_rows(rows), centers.toarray()
    return nearest_rows(rows, centers)


def _limit(source: Source, n_clusters: int) -> int:
    """Return the largest number of rows that k-means++ uses on the host."""
    width = source.layout.n_numeric + source.layout.n_levels
    return max(50 * n_clusters, min(SEEDING_ROWS, SEEDING_BYTES // (8 * width)))


def _spread_on_device(source: Any, n_clusters: int, seeds: Seeds, starts: range) -> FloatArray:
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


def _times_power_of_2(values: RowArray, exponent: int) -> RowArray:
    """Return what `np.ldexp` does, which takes long; without it if the power is a number."""
    with np.errstate(over="ignore", under="ignore"):
        power = np.ldexp(values.dtype.type(1.0), exponent)
    return np.asarray(values * power if 0.0 < power < np.inf else np.ldexp(values, exponent))


def _centered(numbers: RowArray, dtype: np.dtype[Any], table: Description) -> RowArray:
    """Return complete numbers relative to their mean, scaled to a size of at most about 1."""
    exponent = -math.frexp(table.span_range[1])[1]
    centered = _times_power_of_2(numbers.astype(dtype, copy=False), exponent)
    centered -= _times_power_of_2(table.mean.astype(dtype), exponent)
    return centered


def _are_few(source: MemorySource, n_clusters: int) -> bool:
    """Tell whether k-means++ uses all rows, which are complete numbers with equal weights."""
    n_rows, n_features = source.rows.shape
    plain = source.levels is None and source.sample_weight is None and not source._memory
    few = n_rows <= max(50 * n_clusters, min(SEEDING_ROWS, SEEDING_BYTES // (8 * n_features)))
    return plain and few and not source.gaps


def _for_seeding(entities: Entities, dtype: np.dtype[Any], table: Description) -> RowArray:
    """Return the rows relative to their mean, so that products do not lose precision.

    In a table without categories, numbers are scaled to a size of at most about 1. Each level of a
    category becomes a column, scaled so that different categories are at distance 1, times the
    scale of categories. Missing cells are at the center.
    """
    layout = table.layout
    _, exponent = np.frexp(table.span.max())
    if layout.is_numeric and not table.gaps:
        return _centered(entities.numbers, dtype, table)
    about = centers_of(entities, table) - table.center
    levels = layout.frequencies(about)
    levels *= np.sqrt(0.5)
    if table.category_scale is not None:
        levels *= np.sqrt(layout.levels(table.category_scale))
    if layout.is_numeric:
        about *= np.ldexp(1.0, -int(exponent))
    return about
