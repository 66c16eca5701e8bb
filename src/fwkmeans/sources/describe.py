"""The first pass over a table: sums, extremes, and whether every cell is a finite number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fwkmeans._core import kernels_for
from fwkmeans._core.compiled import description_of
from fwkmeans._core.functions import summarize
from fwkmeans._core.twin import Moments, Summary
from fwkmeans.typing import (
    Block,
    BlockReduction,
    Description,
    FloatArray,
    IntArray,
    ReductionHooks,
    RowMemory,
    Source,
)


@dataclass(frozen=True)
class _MomentsAbout(BlockReduction[Moments]):
    """Reduction to `Moments` about a reference point."""

    reference: FloatArray

    def on_block(self, block: Block, memory: RowMemory) -> tuple[Moments, RowMemory]:
        return kernels_for(block.rows).describe(block, self.reference), memory

    def join(self, before: Moments, after: Moments) -> Moments:
        return before.plus(after)


class _FirstRow(ReductionHooks):
    """Reduction to the numbers of the first row with weight; zeros for those not finite."""

    def on_block(self, block: Block, memory: RowMemory) -> tuple[FloatArray | None, RowMemory]:
        kernels, weight = kernels_for(block.rows), block.sample_weight
        first = 0 if weight is None else int(np.argmax(weight > 0))
        if weight is not None and not weight[first] > 0:
            return None, memory
        return _finite(kernels.take_rows(block, np.array([first])).numbers[0]), memory

    may_end_early = True

    def enough(self, part: FloatArray | None) -> bool:
        return part is not None

    def join(self, before: FloatArray | None, after: FloatArray | None) -> FloatArray | None:
        return after if before is None else before

    def finish(self, whole: FloatArray | None) -> FloatArray:
        assert whole is not None  # the caller has checked that not all weights are zero
        return whole


_Alone = tuple[FloatArray, Moments, Summary | FloatArray]


class _AboutFirstRow(BlockReduction[_Alone]):
    """Reduction to the first row with weight, `Moments` about it, and what `summarize` says.

    All rows must be one block.
    """

    def on_block(self, block: Block, memory: RowMemory) -> tuple[_Alone, RowMemory]:
        kernels = kernels_for(block.rows)
        if hasattr(kernels, "describe_alone"):
            return kernels.describe_alone(block), memory
        reference, _ = _FirstRow().on_block(block, memory)
        assert reference is not None  # the caller has checked that not all weights are zero
        moments = kernels.describe(block, reference)
        return (reference, moments, summarize(moments, reference, anyway=False)), memory


class Faults(NamedTuple):
    """Cells of each numeric column that are not finite numbers."""

    nonfinite: IntArray  # (Mn,)
    missing: IntArray  # (Mn,) NaN

    @property
    def infinite(self) -> IntArray:
        """Infinite cells of each numeric column."""
        return self.nonfinite - self.missing


def count_faults(source: Source) -> Faults:
    """Count the infinite and the missing cells of each numeric column."""
    with np.errstate(invalid="ignore", over="ignore"):
        return _faults(source.reduce(_MomentsAbout(np.zeros(source.layout.n_numeric))))


def observed_mass(source: Source) -> FloatArray:
    """Return the sum of the sample weights over the observed cells of each numeric column."""
    moments = source.reduce(_MomentsAbout(np.zeros(source.layout.n_numeric)))
    return np.asarray(moments.observed)


def _faults(moments: Moments) -> Faults:
    return Faults(moments.nonfinite, moments.missing)


def _finite(point: FloatArray) -> FloatArray:
    finite = np.isfinite(point)
    return point if np.count_nonzero(finite) == finite.size else np.where(finite, point, 0.0)


def describe(source: Source) -> tuple[Description, Faults]:
    """Describe the rows with weight, and count the cells that are not finite numbers.

    Sums are taken relative to a row of the table. If that row turns out to be an outlier, the
    squares would cancel, and a second pass relative to the mean is made. Categorical columns are
    described later.
    """
    if source.n_blocks == 1:
        reference, moments, summary = source.reduce(_AboutFirstRow())
    else:
        reference = source.reduce(_FirstRow())
        moments = source.reduce(_MomentsAbout(reference))
        summary = summarize(moments, reference, anyway=False)
    if not isinstance(summary, Summary):
        mean = summary
        moments = source.reduce(_MomentsAbout(_finite(mean)))
        summary = summarize(moments, mean, anyway=True)
        assert isinstance(summary, Summary)
    faults, layout = _faults(moments), source.layout
    if layout.is_numeric:
        table = description_of(moments.n_rows, moments.mass, summary, layout, source.gaps)
        return table, faults
    none = np.zeros(layout.categorical.size)
    mean, scatter, minimum, maximum = (layout.features(one, none) for one in summary[:4])
    center = layout.centers(summary.mean, np.zeros(layout.n_levels))
    description = Description(
        moments.n_rows, moments.mass, mean, scatter, minimum, maximum, layout, center, source.gaps
    )
    return description, faults
