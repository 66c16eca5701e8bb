"""The first pass over a table: sums, extremes, and whether every cell is a finite number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fwkmeans._core import kernels_for
from fwkmeans._core.twin import Moments
from fwkmeans.typing import (
    Block,
    BlockReduction,
    Description,
    FloatArray,
    IntArray,
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


class _FirstRow:
    """Reduction to the numbers of the first row with weight."""

    def on_block(self, block: Block, memory: RowMemory) -> tuple[FloatArray | None, RowMemory]:
        weight = block.sample_weight
        first = 0 if weight is None else int(np.argmax(weight > 0))
        if weight is not None and not weight[first] > 0:
            return None, memory
        return kernels_for(block.rows).take_rows(block, np.array([first])).numbers[0], memory

    def enough(self, part: FloatArray | None) -> bool:
        return part is not None

    def join(self, before: FloatArray | None, after: FloatArray | None) -> FloatArray | None:
        return after if before is None else before

    def finish(self, whole: FloatArray | None) -> FloatArray:
        assert whole is not None  # the caller has checked that not all weights are zero
        return whole


class Faults(NamedTuple):
    """Cells of each numeric column that are not finite numbers."""

    infinite: IntArray  # (Mn,)
    missing: IntArray  # (Mn,) NaN


@dataclass(frozen=True)
class _Finite(BlockReduction[bool]):
    """Reduction to whether all numbers are finite; kernels that cannot tell say no."""

    def on_block(self, block: Block, memory: RowMemory) -> tuple[bool, RowMemory]:
        finite = getattr(kernels_for(block.rows), "finite", None)
        return finite is not None and finite(block), memory

    def join(self, before: bool, after: bool) -> bool:
        return before and after


def count_faults(source: Source) -> Faults:
    """Count the infinite and the missing cells of each numeric column."""
    if source.resident and source.reduce(_Finite()):  # one more look costs little in memory
        none = np.zeros(source.layout.n_numeric, dtype=np.int64)
        return Faults(none, none)
    with np.errstate(invalid="ignore", over="ignore"):
        return _faults(source.reduce(_MomentsAbout(np.zeros(source.layout.n_numeric))))


def observed_mass(source: Source) -> FloatArray:
    """Return the sum of the sample weights over the observed cells of each numeric column."""
    moments = source.reduce(_MomentsAbout(np.zeros(source.layout.n_numeric)))
    return np.asarray(moments.observed)


def _faults(moments: Moments) -> Faults:
    return Faults(moments.nonfinite - moments.missing, moments.missing)


def _finite(point: FloatArray) -> FloatArray:
    finite = np.isfinite(point)
    return point if finite.all() else np.where(finite, point, 0.0)


def describe(source: Source) -> tuple[Description, Faults]:
    """Describe the rows with weight, and count the cells that are not finite numbers.

    Sums are taken relative to a row of the table. If that row turns out to be an outlier, the
    squares would cancel, and a second pass relative to the mean is made. Categorical columns are
    described later.
    """
    reference = _finite(source.reduce(_FirstRow()))
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        moments = source.reduce(_MomentsAbout(reference))
        drift = moments.sums / moments.observed
        scatter = np.maximum(moments.squares - moments.sums * drift, 0.0)
        if (moments.squares > 100.0 * scatter).any():
            reference = reference + drift
            moments = source.reduce(_MomentsAbout(_finite(reference)))
            drift = moments.sums / moments.observed
            scatter = np.maximum(moments.squares - moments.sums * drift, 0.0)
        mean = reference + drift
    minimum, maximum = moments.minimum, moments.maximum
    known = moments.observed > 0
    if not known.all():  # a column may be missing in all of these rows
        minimum, maximum = np.where(known, minimum, 0.0), np.where(known, maximum, 0.0)
    constant = maximum <= minimum
    if constant.any():
        mean, scatter = np.where(constant, minimum, mean), np.where(constant, 0.0, scatter)
    layout = source.layout
    none = np.zeros(layout.categorical.size)
    description = Description(
        n_rows=moments.n_rows,
        mass=moments.mass,
        mean=layout.features(mean, none),
        scatter=layout.features(scatter, none),
        minimum=layout.features(minimum, none),
        maximum=layout.features(maximum, none),
        layout=layout,
        center=layout.centers(mean, np.zeros(layout.n_levels)),
        gaps=source.gaps,
    )
    return description, _faults(moments)
