"""Reductions of the search for anomalous patterns.

Row memory holds ``left``, false once a row is removed, so that it has no weight any more;
``distance``, from the center of the table; and ``labels``, 1 for the rows of the pattern under way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fwkmeans._core import kernels_for
from fwkmeans._core.passes import Accumulation, labels_in
from fwkmeans._support.arrays import to_host
from fwkmeans.typing import (
    Block,
    BlockReduction,
    BoolArray,
    FloatArray,
    IntArray,
    LastLabels,
    ReductionHooks,
    RowMemory,
)

_TIE = 1e-12  # relative difference below which two rows are equally far

Sum = TypeVar("Sum", float, IntArray)


class _Sum(BlockReduction[Sum]):
    def join(self, before: Sum, after: Sum) -> Sum:
        return before + after


def _weight_of(block: Block) -> FloatArray:
    return np.ones(len(block.rows)) if block.sample_weight is None else block.sample_weight


def _given(memory: RowMemory) -> RowMemory:
    """Return the weights that came with the rows, if they are in row memory."""
    return {"weight": memory["weight"]} if "weight" in memory else {}


class StartSearch(_Sum[float]):
    """Remember which rows have weight and their distance from the center; return the mass."""

    def on_block(self, block: Block, memory: RowMemory) -> tuple[float, RowMemory]:
        """Return what one block adds."""
        weight, distance = _weight_of(block), to_host(memory["distances"][:, 0])
        return float(weight.sum()), {**_given(memory), "left": weight > 0, "distance": distance}


@dataclass(frozen=True)
class Remember(BlockReduction[None]):
    """Put distances into the row memory of the only block, of which all rows are left."""

    distance: FloatArray

    def on_block(self, block: Block, memory: RowMemory) -> tuple[None, RowMemory]:
        """Return what one block adds."""
        return None, {"left": _weight_of(block) > 0, "distance": self.distance}


class DistancesLeft(BlockReduction[FloatArray]):
    """Return the distances of the remaining rows."""

    def on_block(self, block: Block, memory: RowMemory) -> tuple[FloatArray, RowMemory]:
        """Return what one block adds."""
        return np.asarray(memory["distance"][_weight_of(block) > 0]), memory

    def join(self, before: FloatArray, after: FloatArray) -> FloatArray:
        """Put two parts together."""
        return np.concatenate([before, after])


@dataclass(frozen=True)
class LargestDistances(ReductionHooks):
    """Return the n-th largest distance of the remaining rows (the smallest if there are fewer)."""

    n: int

    def on_block(self, block: Block, memory: RowMemory) -> tuple[FloatArray, RowMemory]:
        """Return what one block adds."""
        distance, left = memory["distance"], memory["left"]
        if self.n == 1 and left.any():  # without a copy
            return np.asarray([distance.max(where=left, initial=0.0)]), memory
        return self._largest(distance[left]), memory

    def join(self, before: FloatArray, after: FloatArray) -> FloatArray:
        """Put two parts together."""
        return self._largest(np.concatenate([before, after]))

    def finish(self, whole: FloatArray) -> float:
        """Return the result."""
        return float(whole.min()) if whole.size else np.inf

    def _largest(self, distances: FloatArray) -> FloatArray:
        if distances.size <= self.n:
            return distances
        if self.n == 1:
            return np.asarray(distances.max(keepdims=True))
        return np.partition(distances, distances.size - self.n)[-self.n :]


class FarRow(NamedTuple):
    """A remaining row."""

    place: int  # in the table
    distance: float
    weight: float
    entity: tuple[FloatArray, Any]  # numbers and levels


@dataclass(frozen=True)
class RowsAsFar(BlockReduction[list[FarRow]]):
    """Return n rows that are at least as far as the threshold; tied rows keep their order.

    At most n rows are clearly farther than the threshold. Of those that tie with it, the first n
    are kept.
    """

    n: int
    threshold: float
    last_of_ties: bool

    def on_block(self, block: Block, memory: RowMemory) -> tuple[list[FarRow], RowMemory]:
        """Return what one block adds."""
        distance, weight = memory["distance"], _weight_of(block)
        near = np.flatnonzero((distance >= (1.0 - _TIE) * self.threshold) & (weight > 0))
        near = near[self._first(distance[near])]
        entities = kernels_for(block.rows).take_rows(block, near)
        rows = zip(
            (near + block.first_row).tolist(),
            distance[near].tolist(),
            weight[near].tolist(),
            zip(*entities, strict=True),
            strict=True,
        )
        return [FarRow(*row) for row in rows], memory

    def join(self, before: list[FarRow], after: list[FarRow]) -> list[FarRow]:
        """Put two parts together."""
        both = [*before, *after]
        kept = self._first(np.array([row.distance for row in both]))
        return [both[at] for at in kept]

    def finish(self, whole: list[FarRow]) -> list[FarRow]:
        """Return the result."""
        if not whole:
            return []
        order = _farthest_first(np.array([row.distance for row in whole]), self.last_of_ties)
        return [whole[at] for at in order[: self.n]]

    def _first(self, distance: FloatArray) -> IntArray:
        """Return which rows are needed, in their order."""
        beyond = distance > (1.0 + _TIE) * self.threshold
        tied = np.flatnonzero(~beyond)
        tied = tied[-self.n :] if self.last_of_ties else tied[: self.n]
        return np.sort(np.concatenate([np.flatnonzero(beyond), tied]))


@dataclass(frozen=True)
class NearRows(_Sum[IntArray]):
    """Count, for each of some rows, the remaining rows that are closer to it than to the center.

    The pass has one start per row; its two clusters are the center of the table and the row.
    """

    counting: Accumulation
    indices: IntArray

    def on_block(self, block: Block, memory: RowMemory) -> tuple[IntArray, RowMemory]:
        """Return what one block adds."""
        n_starts = self.indices.size
        last = LastLabels(
            np.full((n_starts, len(block.rows)), -1, dtype=np.int32),
            np.zeros(n_starts, dtype=np.bool_),
        )
        kernels_for(block.rows).assign_and_accumulate(
            block, self.counting.assigning, self.counting.reference, last
        )
        near: BoolArray = (last.labels == 1) & (_weight_of(block) > 0)
        own = self.indices - block.first_row
        here = np.flatnonzero((own >= 0) & (own < len(block.rows)))
        near[here, own[here]] = False
        return near.sum(axis=1), memory


@dataclass(frozen=True)
class Mark(BlockReduction[None]):
    """Label one row 1, or all remaining rows."""

    index: int | None

    def on_block(self, block: Block, memory: RowMemory) -> tuple[None, RowMemory]:
        """Return what one block adds."""
        labels = np.zeros((1, len(block.rows)), dtype=np.int32)
        if self.index is None:
            labels[0] = _weight_of(block) > 0
        elif 0 <= self.index - block.first_row < len(block.rows):
            labels[0, self.index - block.first_row] = 1
        return None, {**memory, "labels": labels}


class OnlyMarked(BlockReduction[None]):
    """Set the weight of all rows to zero, except those labeled 1."""

    def on_block(self, block: Block, memory: RowMemory) -> tuple[None, RowMemory]:
        """Return what one block adds."""
        marked = to_host(labels_in(memory)[0]) == 1
        return None, {**_given(memory), "left": marked & memory["left"]}


@dataclass(frozen=True)
class TakeOut(_Sum[float]):
    """Set the weight of one row, or of all rows labeled 1, to zero; return the remaining mass."""

    index: int | None = None

    def on_block(self, block: Block, memory: RowMemory) -> tuple[float, RowMemory]:
        """Return what one block adds."""
        left = memory["left"]
        if self.index is None:
            left = left & (to_host(labels_in(memory)[0]) != 1)
        elif 0 <= self.index - block.first_row < len(block.rows):
            left = left.copy()
            left[self.index - block.first_row] = False
        mass = float(_weight_of(block).sum(where=left))
        return mass, {**_given(memory), "left": left, "distance": memory["distance"]}


def _farthest_first(distance: FloatArray, last_of_ties: bool) -> IntArray:
    """Return the rows by falling distance; rows that are equal up to rounding keep their order."""
    order = np.argsort(-distance, kind="stable")
    falls = np.diff(distance[order]) < -_TIE * distance[order][:-1]
    level = np.concatenate([[0], np.cumsum(falls)])
    return order[np.lexsort((-order if last_of_ties else order, level))]
