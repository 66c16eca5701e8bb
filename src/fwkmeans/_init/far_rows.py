"""Rows that are far from some centers, drawn from all blocks in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fwkmeans._core import kernels_for
from fwkmeans.dissimilarities import SquaredEuclidean
from fwkmeans.sources.entities import Present
from fwkmeans.typing import (
    Assignment,
    Block,
    BlockReduction,
    Description,
    Entities,
    FloatArray,
    IntArray,
    LabelArray,
    Pass,
    RowArray,
    RowMemory,
    Source,
)

_ENTRIES = 1 << 18  # distances, or cells of rows, that are in memory at a time


class FarRows(NamedTuple):
    """Rows in the order in which they are drawn, and the potential of all rows."""

    keys: FloatArray  # (n,) rising
    numbers: IntArray  # (n,) see `Present`
    weights: FloatArray  # (n,) sample weights
    entities: Entities | None
    potential: float  # the sum of s_i d_i^2


class Chances(NamedTuple):
    r"""How likely rows are drawn: :math:`q_i = a d_i^2 + b_k` if center k is the nearest one."""

    slope: float  # a
    floors: FloatArray  # (K,) b
    unit: float  # distances are multiplied by it before they are squared

    def of(self, labels: LabelArray | IntArray, squared: FloatArray) -> FloatArray:
        """Return the q of rows."""
        return self.slope * squared + self.floors[labels]


def nearest_rows(rows: Any, centers: RowArray) -> tuple[LabelArray, FloatArray]:
    """Return the nearest center of each row, and the squared distance to it.

    The rows are complete numbers, in an array or in `SparseRows`.
    """
    n_clusters, width = centers.shape
    ones, zeros = np.ones((1, 1, width)), np.zeros((1, n_clusters))
    assigning = Pass(centers[None].astype(np.float64), ones, zeros, np.zeros(width))
    block = Block(rows, None)
    labels, squared = zip(
        *(
            _nearest(block._replace(rows=rows[piece]), assigning, 1.0)
            for piece in _pieces(block, assigning)
        ),
        strict=True,
    )
    return np.concatenate(labels), np.concatenate(squared)


def _pieces(block: Block, assigning: Pass) -> Iterator[slice]:
    """Yield slices of so many rows that little memory is needed for each."""
    step = max(1, _ENTRIES // max(assigning.centers.shape[1:]))
    for first in range(0, len(block.rows), step):
        yield slice(first, first + step)


def _nearest(block: Block, assigning: Pass, unit: float) -> tuple[LabelArray, FloatArray]:
    """Return the nearest center of each row, and the squared distance to it, in units."""
    kernels, centers = kernels_for(block.rows), assigning.centers[0]
    if not isinstance(block.rows, np.ndarray) or block.levels is not None or block.gaps:
        distances = kernels.distances(block, assigning)
        labels = distances.argmin(axis=1)
        own = np.take_along_axis(distances, labels[:, None], axis=1).ravel()
        return labels, np.square(unit * own.astype(np.float64))
    labels, _ = kernels.assign(block, assigning)  # knows many distances without a sum
    away = block.rows - centers.astype(block.rows.dtype)[labels]
    away *= away.dtype.type(unit)
    return labels, np.einsum("iv,iv->i", away, away).astype(np.float64)


@dataclass(frozen=True)
class _DrawFarRows(BlockReduction[FarRows]):
    """Reduction to the n rows with the lowest keys; see `draw_far_rows`."""

    assigning: Pass
    chances: Chances
    present: Present
    seed: int
    n: int
    with_entities: bool

    def on_block(self, block: Block, memory: RowMemory) -> tuple[FarRows, RowMemory]:
        kernels, weight = kernels_for(block.rows), block.sample_weight
        begin = int(self.present.n_before[np.searchsorted(self.present.first_row, block.first_row)])
        bound, potential = np.inf, 0.0
        keys, places, numbers = np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64)
        for piece in _pieces(block, self.assigning):
            first = piece.start
            some = block._replace(
                rows=block.rows[piece],
                sample_weight=None,
                levels=None if block.levels is None else block.levels[piece],
            )
            labels, squared = _nearest(some, self.assigning, self.chances.unit)
            chance = self.chances.of(labels, squared)
            there = np.ones(labels.size, dtype=bool)
            if weight is not None:
                there, squared = weight[piece] > 0, squared * weight[piece]
                chance *= weight[piece]
            potential += float(squared.sum())
            own = begin + np.cumsum(there) - 1
            begin += int(there.sum())
            with np.errstate(divide="ignore"):
                key = exponential(own, self.seed) / chance
            better = np.flatnonzero(key < bound)
            keys = np.concatenate([keys, key[better]])
            places = np.concatenate([places, first + better])
            numbers = np.concatenate([numbers, own[better]])
            if keys.size > 4 * self.n:
                lowest = _lowest(keys, numbers, self.n)
                keys, places, numbers = keys[lowest], places[lowest], numbers[lowest]
                bound = keys[-1]
        lowest = _lowest(keys, numbers, self.n)
        places = places[lowest]
        weights = np.ones(places.size) if weight is None else weight[places]
        entities = kernels.take_rows(block, places) if self.with_entities else None
        return FarRows(keys[lowest], numbers[lowest], weights, entities, potential), memory

    def join(self, before: FarRows, after: FarRows) -> FarRows:
        keys, numbers, weights = (
            np.concatenate([a, b]) for a, b in zip(before[:3], after[:3], strict=True)
        )
        lowest, entities = _lowest(keys, numbers, self.n), None
        if before.entities is not None and after.entities is not None:
            entities = before.entities.plus(after.entities).take(lowest)
        potential = before.potential + after.potential
        return FarRows(keys[lowest], numbers[lowest], weights[lowest], entities, potential)


def draw_far_rows(
    source: Source,
    centers: FloatArray,
    table: Description,
    chances: Chances,
    present: Present,
    seed: int,
    n: int,
    *,
    with_entities: bool,
) -> FarRows:
    r"""Draw n rows, with probabilities in proportion to :math:`s_i q_i`; see `Chances`.

    Row i gets the key :math:`e_i / (s_i q_i)`, where :math:`e_i` is an exponential random number
    made of the number of the row and the seed. The n rows with the lowest keys are drawn, whatever
    the blocks are. One row more comes back, if there is one: given its key :math:`\tau`, row i is
    among those before it with the probability :math:`1 - \exp(-\tau s_i q_i)`.
    """
    n_clusters = len(centers)
    ones = np.ones((1, 1, table.layout.n_features))
    assignment = Assignment(centers[None], ones, np.zeros((1, n_clusters)), np.ones(1))
    assigning = SquaredEuclidean().bind(table).distances(assignment).assigning
    return source.reduce(_DrawFarRows(assigning, chances, present, seed, n + 1, with_entities))


def exponential(numbers: IntArray, seed: int) -> FloatArray:
    """Return a random number > 0 with mean 1 for each of the numbers of rows.

    It depends on that number and the seed alone (SplitMix64, a generator that takes any place).
    """
    with np.errstate(over="ignore"):  # modulo 2^64
        bits = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        bits += np.uint64(seed)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
        bits ^= bits >> np.uint64(31)
    uniform: FloatArray = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return -np.log(uniform)


def _lowest(keys: FloatArray, numbers: IntArray, n: int) -> IntArray:
    """Return where the n lowest keys are, in rising order; rows without weight have none."""
    finite = np.flatnonzero(np.isfinite(keys))
    if finite.size > 2 * n:
        finite = finite[np.argpartition(keys[finite], n)[: n + 1]]
    return finite[np.lexsort((numbers[finite], keys[finite]))[:n]]
