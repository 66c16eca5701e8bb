"""The passes over the rows: reductions that call the kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from fwkmeans._core import kernels_for
from fwkmeans._core.packed import Numbers
from fwkmeans._core.twin import Slopes, join_slopes
from fwkmeans.typing import (
    Block,
    BlockReduction,
    BoolArray,
    Entities,
    FloatArray,
    IntArray,
    KeptLabels,
    KnownRows,
    LabelArray,
    LastLabels,
    Pass,
    ReductionHooks,
    RowMemory,
    Statistics,
)

_BOUNDS = {"upper": np.inf, "lower": 0.0}  # of distances in row memory, before any is known
_MANY_NUMBERS = 100  # of the centers of a start; with fewer, bounds beside offsets do not pay


@dataclass(frozen=True)
class Accumulation(BlockReduction[Statistics]):
    """Assign rows and return `Statistics`; with `labels`, keep the labels in row memory.

    A pass by bounds keeps bounds of distances there, too. They tell which rows have the label of
    the last pass, so that these need not be read. All results are those of the plain pass, to the
    bit, but the fingerprint, which is the change since the last pass. So they depend on the labels
    of the last pass and never on the bounds, which may be forgotten at any time.
    """

    assigning: Pass
    reference: FloatArray
    labels: KeptLabels | None
    span: FloatArray | None = None  # (Mn,) range of each feature, the unit of bounds
    bounded: bool = False
    last: Pass | None = None  # whose bounds row memory has, if it has any
    in_place: bool = False  # whether row memory that can be written is changed, not copied

    @property
    def can_bound(self) -> bool:
        """Whether there are such bounds: for squared distances of numbers, if it pays."""
        centers, _, offsets, _, power, costs, _, rescale = self.assigning
        if self.span is None or power is not None or costs is not None or rescale:
            return False
        return offsets.shape[1] > 1 and (centers[0].size >= _MANY_NUMBERS or not offsets.any())

    def changing_in_place(self) -> Accumulation:
        """Return the pass that may change row memory."""
        return replace(self, in_place=True)

    def by_bounds(self, last: Pass | None) -> Accumulation:
        """Return the pass that uses the bounds that the last one left, if there was one."""
        return replace(self, bounded=True, last=last)

    def anew(self) -> Accumulation | None:
        """Return the plain pass that leaves the same labels, whatever was known before.

        None if there is none, because only some starts are counted.
        """
        if self.labels is None or self.labels.starts is not None:
            return None
        labels = KeptLabels.new(len(self.labels.kept))
        return replace(self, labels=labels, bounded=False, last=None)

    def on_block(self, block: Block, memory: RowMemory) -> tuple[Statistics, RowMemory]:
        """Return the statistics of one block."""
        given = self._given(block, memory)
        accumulate: Callable[..., Statistics] = kernels_for(block.rows).assign_and_accumulate
        known = () if given.known is None else (given.known,)
        part = accumulate(block, self.assigning, self.reference, given.last, *known)
        return part, self._left(given)

    def on_blocks(
        self, blocks: Sequence[Block], memories: Sequence[RowMemory], n_threads: int
    ) -> tuple[Numbers, list[RowMemory]] | None:
        """Return the numbers of the statistics of some blocks at once, and their row memory.

        None if the core cannot do that; `on_block` can for each of them.
        """
        kinds = {(kernels_for(block.rows), block.rows.dtype, block.gaps) for block in blocks}
        accumulate = getattr(kernels_for(blocks[0].rows), "accumulate_all", None)
        if len(kinds) > 1 or accumulate is None:
            return None
        given = [self._given(*one) for one in zip(blocks, memories, strict=True)]
        lasts, knowns = [one.last for one in given], [one.known for one in given]
        numbers = accumulate(blocks, self.assigning, self.reference, lasts, knowns, n_threads)
        return numbers, [self._left(one) for one in given]

    def statistics_of(self, numbers: Numbers) -> Statistics:
        """Return the part that has these numbers."""
        return numbers.statistics(self.assigning, self.reference)

    def _given(self, block: Block, memory: RowMemory) -> _Given:
        """Return what is known of a block, in arrays that the kernel may write."""
        if self.labels is None:
            return _Given(None, None, memory)
        if self.bounded:
            return self._by_bounds(block, memory)
        kept, update, starts = self.labels
        known = memory.get("labels")
        if known is None:
            all_labels = kernels_for(block.rows).no_labels(block, kept.size)
        else:
            all_labels = self._own(known)
        left = {name: array for name, array in memory.items() if name not in _BOUNDS}
        left["labels"] = all_labels
        if starts is None:
            return _Given(LastLabels(all_labels, update), None, left)
        for name in _BOUNDS.keys() & memory.keys():  # those of the other starts still hold
            left[name] = self._own(memory[name])
            left[name][starts] = _BOUNDS[name]
        return _Given(LastLabels(all_labels[starts], update), None, left)

    def _by_bounds(self, block: Block, memory: RowMemory) -> _Given:
        assert self.labels is not None
        assert self.span is not None
        kept, update, _ = self.labels
        shape = len(kept), len(block.rows)
        labels, upper, lower = memory["labels"], memory.get("upper"), memory.get("lower")
        new: list[Any] = [
            old if old is not None and self._may_change(old) else np.empty(shape, dtype)
            for old, dtype in ((labels, np.int32), (upper, np.float32), (lower, np.float32))
        ]
        last = None if upper is None else self.last
        if last is None:
            upper = lower = None
        known = KnownRows(self.span, last, kept, labels, upper, lower, *new[1:])
        left = {**memory, "labels": new[0], "upper": new[1], "lower": new[2]}
        return _Given(LastLabels(new[0], update), known, left)

    def _left(self, given: _Given) -> RowMemory:
        """Return the row memory that a pass leaves."""
        if self.labels is not None and self.labels.starts is not None:
            assert given.last is not None
            given.left["labels"][self.labels.starts] = given.last.labels
        return given.left

    def _own(self, known: Any) -> Any:
        """Return what is known of the starts, so that it may be written."""
        assert self.labels is not None
        return known if self._may_change(known) else known[self.labels.kept]  # a copy

    def _may_change(self, known: Any) -> bool:
        """Tell whether an array of row memory may be written, and has the starts in their places.

        Starts end and never change their order.
        """
        assert self.labels is not None
        return self.in_place and known.flags.writeable and len(known) == self.labels.kept.size

    def join(self, before: Statistics, after: Statistics) -> Statistics:
        """Add the parts."""
        return before.plus(after)


class _Given(NamedTuple):
    """What a pass is given of a block, and the row memory that it leaves."""

    last: LastLabels | None
    known: KnownRows | None
    left: RowMemory


class _Farthest(NamedTuple):
    distance: FloatArray  # (R,)
    row: Entities


@dataclass(frozen=True)
class FarthestRow(ReductionHooks):
    """Find the row that is farthest from its own center, in each start.

    Only rows with weight in eligible clusters count. The result is the dissimilarity, 0 if there is
    no such row, and the row itself.
    """

    assigning: Pass
    eligible: BoolArray

    def on_block(self, block: Block, memory: RowMemory) -> tuple[_Farthest, RowMemory]:
        """Return the farthest row of one block."""
        kernels = kernels_for(block.rows)
        distance, row = kernels.find_farthest(block, self.assigning, self.eligible)
        rows = kernels.take_rows(block, np.maximum(row - block.first_row, 0))
        return _Farthest(distance, rows), memory

    def join(self, before: _Farthest, after: _Farthest) -> _Farthest:
        """Keep the farther row, the first one on ties."""
        farther = (after.distance > before.distance)[:, None]
        numbers = np.where(farther, after.row.numbers, before.row.numbers)
        levels = np.where(farther, after.row.levels, before.row.levels)
        distance = np.maximum(before.distance, after.distance)
        return _Farthest(distance, Entities(numbers, levels))

    def finish(self, whole: _Farthest) -> tuple[FloatArray, Entities]:
        """Return dissimilarities and rows."""
        return whole.distance, whole.row


@dataclass(frozen=True)
class Labeling(ReductionHooks):
    """Write the labels of the only start to row memory.

    The result is the part of the objective that depends on the rows, in units of the scale, and the
    mass of each cluster. Without `summed` they are zero, which says that all cells are finite
    numbers, or NaN, and nothing.
    """

    assigning: Pass
    summed: bool = True

    def on_block(
        self, block: Block, memory: RowMemory
    ) -> tuple[tuple[float, FloatArray], RowMemory]:
        """Return what one block adds."""
        kernels = kernels_for(block.rows)
        labels, objective = kernels.assign(block, self.assigning, summed=self.summed)
        if not self.summed:
            return (objective, np.zeros(0)), {**memory, "labels": labels[None]}
        mass = kernels.mass_of(block, labels, self.assigning.centers.shape[1])
        return (objective, mass), {**memory, "labels": labels[None]}

    def join(
        self, before: tuple[float, FloatArray], after: tuple[float, FloatArray]
    ) -> tuple[float, FloatArray]:
        """Add the parts (p = infinity: take the larger objective)."""
        power = self.assigning.power
        largest = power is not None and np.isinf(power[0])
        objective = max(before[0], after[0]) if largest else before[0] + after[0]
        return objective, before[1] + after[1]

    def finish(self, whole: tuple[float, FloatArray]) -> tuple[float, FloatArray]:
        """Return objective and masses."""
        return whole


@dataclass(frozen=True)
class Distances(BlockReduction[None]):
    """Write the distance (the root) of each row to each center to row memory: (n, K)."""

    assigning: Pass

    def on_block(self, block: Block, memory: RowMemory) -> tuple[None, RowMemory]:
        """Write the distances of a block."""
        return None, {
            **memory,
            "distances": kernels_for(block.rows).distances(block, self.assigning),
        }


@dataclass(frozen=True)
class SlopesAt(BlockReduction[Slopes]):
    """Compute `Slopes` at one point per cluster, for the labels in row memory."""

    points: FloatArray  # (R, K, Mn)
    power: FloatArray  # (R,)
    starts: IntArray | None = None  # (R,) which of the labels; None means all
    rough: bool = False  # whether slope and curvature alone are wanted, to a share of 1e-4

    def on_block(self, block: Block, memory: RowMemory) -> tuple[Slopes, RowMemory]:
        """Return what one block adds."""
        labels, slopes = labels_in(memory, self.starts), kernels_for(block.rows).slopes
        return slopes(block, self.points, self.power, labels, self.rough), memory

    def join(self, before: Slopes, after: Slopes) -> Slopes:
        """Combine two parts."""
        return join_slopes(before, after)


@dataclass(frozen=True)
class RootsOf(BlockReduction[FloatArray]):
    """Find the minimizers of the sums of powers of each cluster; all rows must be one block."""

    points: FloatArray  # (R, K, Mn) where to look first
    power: FloatArray  # (R,)
    starts: IntArray | None = None  # (R,) which of the labels; None means all

    def on_block(self, block: Block, memory: RowMemory) -> tuple[FloatArray, RowMemory]:
        """Return the minimizers."""
        labels = labels_in(memory, self.starts)
        return kernels_for(block.rows).roots(block, self.points, self.power, labels), memory

    def join(self, before: FloatArray, after: FloatArray) -> FloatArray:
        """Raise an error: the roots of two blocks do not determine the root of both."""
        raise TypeError("The minimizers of several blocks cannot be joined; use SlopesAt.")


@dataclass(frozen=True)
class PowersAbout(BlockReduction[FloatArray]):
    """Sum ``s |y - c|^p`` over the rows of each cluster, by the labels in row memory."""

    points: FloatArray
    power: FloatArray

    def on_block(self, block: Block, memory: RowMemory) -> tuple[FloatArray, RowMemory]:
        """Return what one block adds."""
        labels = labels_in(memory)
        return kernels_for(block.rows).powers(block, self.points, self.power, labels), memory

    def join(self, before: FloatArray, after: FloatArray) -> FloatArray:
        """Add the parts (p = infinity: take the larger)."""
        largest = np.isinf(self.power)[:, None, None]
        return np.where(largest, np.maximum(before, after), before + after)


def labels_in(memory: RowMemory, starts: IntArray | None = None) -> LabelArray:
    """Return the labels in the row memory of a block, of some starts or of all: (R, n)."""
    labels: LabelArray = memory["labels"]
    return labels if starts is None else labels[starts]
