"""Single rows of a table, fetched by a reduction, and centers at these rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fwkmeans._core import kernels_for
from fwkmeans._core.sparse import SparseRows, joined
from fwkmeans._tabular.layout import Layout
from fwkmeans.typing import (
    Block,
    BlockReduction,
    Description,
    Entities,
    FloatArray,
    IntArray,
    LabelArray,
    ReductionHooks,
    RowMemory,
    Source,
)


class Present(NamedTuple):
    """How many rows with weight each block has. Rows without weight are not numbered."""

    first_row: IntArray  # (n_blocks,) of each block with rows
    n_before: IntArray  # (n_blocks,) rows with weight before it
    n_rows: int  # rows with weight in all


class _CountPresent(ReductionHooks):
    needs_rows = False

    def on_block(self, block: Block, memory: RowMemory) -> tuple[IntArray, RowMemory]:
        weight = block.sample_weight
        n = len(block.rows) if weight is None else int(np.count_nonzero(weight > 0))
        return np.asarray([[block.first_row, n]]), memory

    def join(self, before: IntArray, after: IntArray) -> IntArray:
        return np.concatenate([before, after])

    def finish(self, whole: IntArray) -> Present:
        ends = np.cumsum(whole[:, 1])
        return Present(whole[:, 0], ends - whole[:, 1], int(ends[-1]))


def count_present(source: Source) -> Present:
    """Count the rows with weight."""
    return source.reduce(_CountPresent())


class Drawn(NamedTuple):
    """Some rows of a table."""

    entities: Entities
    sample_weight: FloatArray | None


def places_in(block: Block, numbers: IntArray, present: Present) -> IntArray:
    """Return which rows of a block have these numbers, in rising order; see `Present`."""
    begin = int(present.n_before[np.searchsorted(present.first_row, block.first_row)])
    there = None if block.sample_weight is None else np.flatnonzero(block.sample_weight > 0)
    n_there = len(block.rows) if there is None else there.size
    first, last = np.searchsorted(numbers, [begin, begin + n_there])
    places = numbers[first:last] - begin
    return places if there is None else there[places]


@dataclass(frozen=True)
class _RowsAt(BlockReduction[Drawn]):
    """Reduction to the rows with these numbers, in rising order; only rows with weight count."""

    numbers: IntArray
    present: Present

    def on_block(self, block: Block, memory: RowMemory) -> tuple[Drawn, RowMemory]:
        places, weight = places_in(block, self.numbers, self.present), block.sample_weight
        entities = kernels_for(block.rows).take_rows(block, places)
        return Drawn(entities, None if weight is None else weight[places]), memory

    def join(self, before: Drawn, after: Drawn) -> Drawn:
        entities = before.entities.plus(after.entities)
        weight = None
        if before.sample_weight is not None and after.sample_weight is not None:
            weight = np.concatenate([before.sample_weight, after.sample_weight])
        return Drawn(entities, weight)


def rows_at(source: Source, numbers: IntArray, present: Present | None = None) -> Drawn:
    """Return the rows with these numbers, in that order; only rows with weight are numbered."""
    present = count_present(source) if present is None else present
    if (np.diff(numbers) > 0).all():
        return source.reduce(_RowsAt(numbers, present))
    distinct, inverse = np.unique(numbers, return_inverse=True)
    drawn = source.reduce(_RowsAt(distinct, present))
    inverse = inverse.ravel()
    weight = None if drawn.sample_weight is None else drawn.sample_weight[inverse]
    return Drawn(drawn.entities.take(inverse), weight)


@dataclass(frozen=True)
class _SparseRowsAt(BlockReduction[list[tuple[SparseRows, FloatArray | None]]]):
    """Reduction to the same rows as `_RowsAt`, which stay sparse."""

    numbers: IntArray
    present: Present

    def on_block(
        self, block: Block, memory: RowMemory
    ) -> tuple[list[tuple[SparseRows, FloatArray | None]], RowMemory]:
        places, weight = places_in(block, self.numbers, self.present), block.sample_weight
        rows: Any = block.rows
        return [(rows[places], None if weight is None else weight[places])], memory

    def join(self, before: Any, after: Any) -> Any:
        return [*before, *after]


def sparse_rows_at(
    source: Source, numbers: IntArray, present: Present
) -> tuple[SparseRows, FloatArray | None]:
    """Return the rows with these numbers, in rising order, and their weights; they stay sparse."""
    rows, weights = zip(*source.reduce(_SparseRowsAt(numbers, present)), strict=True)
    given = [weight for weight in weights if weight is not None]
    return joined(list(rows)), np.concatenate(given) if given else None


def centers_of(entities: Entities, table: Description) -> FloatArray:
    """Return centers at these rows: (n, P).

    A category becomes its indicator. A missing cell is filled from the center of the whole table;
    if each start has its own, there is one row for each.
    """
    layout, points = table.layout, entities.numbers
    if table.gaps:
        points = np.where(np.isnan(points), layout.points(table.center), points)
    if layout.is_numeric:
        return points
    levels = indicators(entities.levels, layout, layout.frequencies(table.center))
    return layout.centers(points, levels)


def indicators(levels: LabelArray, layout: Layout, otherwise: FloatArray) -> FloatArray:
    """Return 1 at the levels of each row and 0 elsewhere, (n, levels); `otherwise` if missing."""
    found = np.zeros((len(levels), layout.n_levels))
    otherwise = np.broadcast_to(otherwise, found.shape)
    for v, first in enumerate(layout.offsets[:-1]):
        there = np.flatnonzero(levels[:, v] >= 0)
        found[there, levels[there, v]] = 1.0
        absent = np.flatnonzero(levels[:, v] < 0)
        own = slice(int(first), int(layout.offsets[v + 1]))
        found[absent, own] = otherwise[absent, own]
    return found


def draw_numbers(n_rows: int, most: int) -> IntArray:
    """Return the numbers of all rows, or of `most` of them drawn at random, rising."""
    if n_rows <= most:
        return np.arange(n_rows)
    generator = np.random.default_rng(0)
    found = np.unique(generator.integers(0, n_rows, most))
    while found.size < most:
        more = generator.integers(0, n_rows, most - found.size)
        found = np.unique(np.concatenate([found, more]))
    return found
