"""The passes over the rows: reductions that call the kernels."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

import numpy as np

from fwkmeans._core import kernels_for
from fwkmeans._core.twin import Slopes, join_slopes
from fwkmeans.typing import (
    Block,
    BoolArray,
    FloatArray,
    IntArray,
    LabelArray,
    LastLabels,
    Pass,
    RowArray,
    Statistics,
)


class Accumulation(NamedTuple):
    """Assign rows and return `Statistics`."""

    assigning: Pass
    reference: FloatArray
    last: LastLabels | None

    def on_block(self, block: Block) -> Statistics:
        """Return the part of one block."""
        last = self.last
        if last is not None:
            last = last._replace(labels=labels_of(last.labels, block))
        statistics: Statistics = kernels_for(block.rows).assign_and_accumulate(
            block, self.assigning, self.reference, last
        )
        return statistics

    def merge(self, parts: Iterable[Statistics]) -> Statistics:
        """Add the parts in order."""
        parts = iter(parts)
        total = next(parts)
        for part in parts:
            total = Statistics(
                total.mass + part.mass,
                total.rows + part.rows,
                total.sums + part.sums,
                total.squares + part.squares,
                total.observed + part.observed,
                total.counts + part.counts,
                total.fingerprint + part.fingerprint,
                total.changed + part.changed,
                total.reference,
            )
        return total._replace(labels=None if self.last is None else self.last.labels)


class FarthestRow(NamedTuple):
    """Find the row with weight, of an eligible cluster, that is farthest from its own center."""

    assigning: Pass
    eligible: BoolArray

    def on_block(self, block: Block) -> tuple[FloatArray, IntArray]:
        """Return dissimilarity and index of that row for each start (0 and -1 if none)."""
        found: tuple[FloatArray, IntArray] = kernels_for(block.rows).find_farthest(
            block, self.assigning, self.eligible
        )
        return found

    def merge(self, parts: Iterable[tuple[FloatArray, IntArray]]) -> tuple[FloatArray, IntArray]:
        """Keep the farthest, the first one on ties."""
        parts = iter(parts)
        distance, row = next(parts)
        for later_distance, later_row in parts:
            row = np.where(later_distance > distance, later_row, row)
            distance = np.maximum(distance, later_distance)
        return distance, row


class Labelling(NamedTuple):
    """Write labels; sum the objective's part that depends on the rows, in units of the scale."""

    assigning: Pass

    def on_block(self, block: Block) -> tuple[LabelArray, float]:
        """Return the labels of a block and its part of the sum."""
        labelled: tuple[LabelArray, float] = kernels_for(block.rows).assign(block, self.assigning)
        return labelled

    def merge(self, parts: Iterable[tuple[LabelArray, float]]) -> tuple[LabelArray, float]:
        """Concatenate the labels, add the sums (p = infinity: take the largest)."""
        labels, objective = zip(*parts, strict=True)
        power = self.assigning.power
        largest = power is not None and np.isinf(power[0])
        total = max(objective) if largest else sum(objective)
        return labels[0] if len(labels) == 1 else np.concatenate(labels), total


class Distances(NamedTuple):
    """Write the distance (root) of each row to each center."""

    assigning: Pass

    def on_block(self, block: Block) -> RowArray:
        """Return the distances of a block."""
        distances: RowArray = kernels_for(block.rows).distances(block, self.assigning)
        return distances

    def merge(self, parts: Iterable[RowArray]) -> RowArray:
        """Put the blocks below one another."""
        blocks = list(parts)
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


class SlopesAt(NamedTuple):
    """Look at the rows of each cluster, by known labels, from a point."""

    points: FloatArray  # (R, K, Mn)
    power: FloatArray  # (R,)
    labels: LabelArray  # (R, N)

    def on_block(self, block: Block) -> Slopes:
        """Return what one block adds."""
        slopes: Slopes = kernels_for(block.rows).slopes(
            block, self.points, self.power, labels_of(self.labels, block)
        )
        return slopes

    def merge(self, parts: Iterable[Slopes]) -> Slopes:
        """Put the parts together in order."""
        return reduce(join_slopes, parts)


class RootsOf(NamedTuple):
    """Find the minimisers of the sums of powers of each cluster; only where all is one block."""

    points: FloatArray  # (R, K, Mn) where to look first
    power: FloatArray  # (R,)
    labels: LabelArray  # (R, N)

    def on_block(self, block: Block) -> FloatArray:
        """Return the minimisers."""
        roots: FloatArray = kernels_for(block.rows).roots(
            block, self.points, self.power, self.labels
        )
        return roots

    def merge(self, parts: Iterable[FloatArray]) -> FloatArray:
        """Return the only part."""
        (only,) = parts
        return only


class PowersAbout(NamedTuple):
    """Sum ``s |y - c|^p`` over the rows of each cluster, by known labels."""

    points: FloatArray
    power: FloatArray
    labels: LabelArray

    def on_block(self, block: Block) -> FloatArray:
        """Return what one block adds."""
        powers: FloatArray = kernels_for(block.rows).powers(
            block, self.points, self.power, labels_of(self.labels, block)
        )
        return powers

    def merge(self, parts: Iterable[FloatArray]) -> FloatArray:
        """Add the parts in order (p = infinity: take the largest)."""
        largest = np.isinf(self.power)[:, None, None]
        parts = iter(parts)
        total = next(parts)
        for part in parts:
            total = np.where(largest, np.maximum(total, part), total + part)
        return total


def labels_of(labels: LabelArray, block: Block) -> LabelArray:
    """Return the labels of the rows of a block, a view."""
    return labels[:, block.first_row : block.first_row + block.rows.shape[0]]
