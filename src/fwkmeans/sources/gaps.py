"""Missing cells: how many there are, and how they change the weights of their rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fwkmeans._core import kernels_for
from fwkmeans.typing import Block, BlockReduction, IntArray, RowMemory, Source

_SHOWN = 5  # rows that an error message names


class Observed(NamedTuple):
    """How many cells are observed."""

    in_column: IntArray  # (M,) rows with weight in which a feature is observed
    missing: IntArray  # (Mc,) missing cells of each categorical feature, in any row
    n_empty: int  # rows without any observed cell
    empty: tuple[int, ...]  # the first of them


@dataclass(frozen=True)
class _CountObserved(BlockReduction[Observed]):
    numeric: IntArray
    categorical: IntArray
    weighs: bool = False  # multiply the weight of each row by all / observed, in row memory

    def on_block(self, block: Block, memory: RowMemory) -> tuple[Observed, RowMemory]:
        observed = kernels_for(block.rows).observed_cells(block)
        in_column = np.empty(self.numeric.size + self.categorical.size, dtype=np.int64)
        in_column[self.numeric] = observed.in_number
        in_column[self.categorical] = observed.in_category
        missing = np.zeros(self.categorical.size, dtype=np.int64)
        if block.levels is not None:
            missing = (block.levels < 0).sum(axis=0)
        empty = np.flatnonzero(observed.in_row == 0)
        first = tuple(int(row) + block.first_row for row in empty[:_SHOWN])
        if self.weighs:
            weight = in_column.size / np.maximum(observed.in_row, 1)
            if block.sample_weight is not None:
                weight = weight * block.sample_weight
            memory = {**memory, "weight": weight}
        return Observed(in_column, missing, empty.size, first), memory

    def join(self, before: Observed, after: Observed) -> Observed:
        return Observed(
            before.in_column + after.in_column,
            before.missing + after.missing,
            before.n_empty + after.n_empty,
            (before.empty + after.empty)[:_SHOWN],
        )


def count_observed(source: Source) -> Observed:
    """Count the observed cells, and the rows without any."""
    layout = source.layout
    return source.reduce(_CountObserved(layout.numeric, layout.categorical))


def weigh_gaps(source: Source) -> tuple[Observed, Source]:
    """Count the observed cells; rows with missing cells count all / observed times in the source.

    Rows without any observed cell must be refused.
    """
    layout = source.layout
    counting = _CountObserved(layout.numeric, layout.categorical, weighs=True)
    observed, weighed = source.run(counting)
    return observed, weighed.with_gaps(stretch=True)
