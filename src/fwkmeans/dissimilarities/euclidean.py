"""Squared Euclidean dissimilarity and the passes over the rows it needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from fwkmeans._core import kernels_for
from fwkmeans._typing import (
    Assignment,
    Block,
    BoolArray,
    Description,
    FloatArray,
    IntArray,
    LabelArray,
    LastLabels,
    RowArray,
    Source,
    Statistics,
)


class SquaredEuclidean(BaseEstimator):
    r"""Weighted squared Euclidean dissimilarity.

    .. math:: d(y_i, c_k) = \sum_v w_{kv} (y_{iv} - c_{kv})^2

    with :math:`w` the weights as they enter the objective. One pass over the rows gives, besides
    the labels, the sums of :math:`y - c` and of its square, from which the new means and the
    dispersions about them follow.
    """

    statistics = Statistics._fields

    def accumulation(
        self,
        assignment: Assignment,
        reference: FloatArray | None = None,
        last: LastLabels | None = None,
    ) -> Accumulation:
        """Return the pass that assigns rows and sums about the reference (default: centers)."""
        about = assignment.centers if reference is None else reference
        return Accumulation(assignment, about, last)

    def labelling(self, assignment: Assignment) -> Labelling:
        """Return the pass that writes labels and sums the objective of the only start."""
        return Labelling(assignment)

    def farthest(self, assignment: Assignment, eligible: BoolArray) -> FarthestRow:
        """Return the pass that looks for the row farthest from its own center."""
        return FarthestRow(assignment, eligible)

    def distances(self, assignment: Assignment) -> Distances:
        """Return the pass that writes the root of the dissimilarity to every center."""
        return Distances(assignment)

    def dispersion(
        self,
        statistics: Statistics,
        assignment: Assignment,
        centers: FloatArray,
        source: Source,
        table: Description,
    ) -> FloatArray:
        r"""Return :math:`D_{kv} = \sum_{i \in S_k} (y_{iv} - c_{kv})^2` about the new centers.

        The sums were taken about a reference r, mostly the old center: :math:`D = Q - n (c - r)^2`.
        Where the center moved so far that this cancels, the pass is repeated about the new ones.
        """
        dispersion, lost = _about(centers, statistics, table)
        starts = np.flatnonzero(lost)
        if starts.size:
            again = source.reduce(self.accumulation(assignment.take(starts), centers[starts]))
            dispersion[starts], _ = _about(centers[starts], again, table)
        return dispersion


def _about(
    centers: FloatArray, statistics: Statistics, table: Description
) -> tuple[FloatArray, BoolArray]:
    """Return the dispersions about the centers, and the starts in which digits were lost."""
    moved = centers - statistics.reference
    moved *= moved
    moved *= statistics.mass[..., None]
    dispersion = statistics.squares - moved
    dispersion[dispersion <= 1e-14 * statistics.squares] = 0.0  # nothing but rounding
    dispersion[..., ~table.varying] = 0.0
    # Error of the difference: about 1e-16 of `moved`. Harmless below the zero level 1e-12 T_v.
    lost = (moved > 1e5 * dispersion) & (
        (dispersion > 1e-13 * table.scatter) | (moved > 100.0 * table.scatter)
    )
    return dispersion, np.asarray(lost.any(axis=(-2, -1)))


class Accumulation(NamedTuple):
    """Assign rows and return `Statistics`."""

    assignment: Assignment
    reference: FloatArray
    last: LastLabels | None

    def on_block(self, block: Block) -> Statistics:
        """Return the part of one block."""
        centers, weights, offsets, _, shift = self.assignment
        statistics: Statistics = kernels_for(block.rows).assign_and_accumulate(
            block.rows,
            block.sample_weight,
            block.first_row,
            centers,
            weights,
            offsets,
            self.reference,
            shift,
            self.last,
            block.n_threads,
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
                total.fingerprint + part.fingerprint,
                total.changed + part.changed,
                total.reference,
            )
        return total


class FarthestRow(NamedTuple):
    """Find the row with weight, of an eligible cluster, that is farthest from its own center."""

    assignment: Assignment
    eligible: BoolArray

    def on_block(self, block: Block) -> tuple[FloatArray, IntArray]:
        """Return dissimilarity and index of that row for each start (0 and -1 if none)."""
        centers, weights, offsets, _, shift = self.assignment
        found: tuple[FloatArray, IntArray] = kernels_for(block.rows).find_farthest(
            block.rows,
            block.sample_weight,
            block.first_row,
            centers,
            weights,
            offsets,
            shift,
            self.eligible,
            block.n_threads,
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

    assignment: Assignment

    def on_block(self, block: Block) -> tuple[LabelArray, float]:
        """Return the labels of a block and its part of the sum."""
        centers, weights, offsets, _, shift = self.assignment
        labelled: tuple[LabelArray, float] = kernels_for(block.rows).assign(
            block.rows, block.sample_weight, centers, weights, offsets, shift, block.n_threads
        )
        return labelled

    def merge(self, parts: Iterable[tuple[LabelArray, float]]) -> tuple[LabelArray, float]:
        """Concatenate the labels, add the sums."""
        labels, objective = zip(*parts, strict=True)
        return labels[0] if len(labels) == 1 else np.concatenate(labels), sum(objective)


class Distances(NamedTuple):
    """Write the distance (root) of each row to each center."""

    assignment: Assignment

    def on_block(self, block: Block) -> RowArray:
        """Return the distances of a block."""
        centers, weights, _, scale, _ = self.assignment
        distances: RowArray = kernels_for(block.rows).distances(
            block.rows, centers, weights * scale[:, None, None], block.n_threads
        )
        return distances

    def merge(self, parts: Iterable[RowArray]) -> RowArray:
        """Put the blocks below one another."""
        blocks = list(parts)
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
