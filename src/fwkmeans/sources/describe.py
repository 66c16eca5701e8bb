"""The first look at a table: sums, extremes, and whether every cell is a number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from fwkmeans._core import kernels_for
from fwkmeans._core.twin import Moments
from fwkmeans.typing import Block, Description, FloatArray, IntArray, Source

_PIECE = 8192  # rows looked at together where NumPy looks at them


class _Moments:
    """Reduction to `Moments` about a reference point."""

    def __init__(self, reference: FloatArray) -> None:
        self.reference = reference

    def on_block(self, block: Block) -> Moments:
        moments: Moments = kernels_for(block.rows).describe(block, self.reference)
        return moments

    def merge(self, parts: Iterable[Moments]) -> Moments:
        parts = iter(parts)
        total = next(parts)
        for part in parts:
            total = Moments(
                total.mass + part.mass,
                total.n_rows + part.n_rows,
                total.sums + part.sums,
                total.squares + part.squares,
                np.minimum(total.minimum, part.minimum),
                np.maximum(total.maximum, part.maximum),
                total.observed + part.observed,
                total.nonfinite + part.nonfinite,
                total.missing + part.missing,
            )
        return total


class Faults(NamedTuple):
    """Cells of each numeric column that are not finite numbers."""

    infinite: IntArray  # (Mn,)
    missing: IntArray  # (Mn,) NaN


def count_faults(source: Source) -> Faults:
    """Count the infinite and the missing cells of each numeric column."""
    with np.errstate(invalid="ignore", over="ignore"):
        return _faults(source.reduce(_Moments(np.zeros(source.layout.n_numeric))))


def observed_mass(source: Source) -> FloatArray:
    """Return the sum of the sample weights over the cells of each numeric column that are there."""
    moments = source.reduce(_Moments(np.zeros(source.layout.n_numeric)))
    mass: FloatArray = moments.observed
    return mass


def _faults(moments: Moments) -> Faults:
    return Faults(moments.nonfinite - moments.missing, moments.missing)


def describe(source: Source) -> tuple[Description, Faults]:
    """Describe the rows with weight; also count the cells that are no finite numbers.

    Sums are taken about a row of the table. Where that row turns out to lie far outside
    (the squares would cancel), a second pass about the mean repairs it. Of categorical columns
    nothing is known yet.
    """
    weight = source.sample_weight
    first = 0 if weight is None else int(np.argmax(weight > 0))
    reference = np.asarray(source.take(np.asarray([first]))[0], dtype=np.float64)
    reference = np.where(np.isfinite(reference), reference, 0.0)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        moments = source.reduce(_Moments(reference))
        drift = moments.sums / moments.observed
        scatter = moments.squares - moments.sums * drift
        if np.any(moments.squares > 100.0 * np.maximum(scatter, 0.0)):
            reference = reference + drift
            moments = source.reduce(_Moments(np.where(np.isfinite(reference), reference, 0.0)))
            drift = moments.sums / moments.observed
            scatter = moments.squares - moments.sums * drift
    known = moments.observed > 0  # some rows may lack a column altogether
    minimum, maximum = (np.where(known, m, 0.0) for m in (moments.minimum, moments.maximum))
    constant = maximum <= minimum
    mean = np.where(constant, minimum, reference + drift)
    layout = source.layout
    none = np.zeros(layout.categorical.size)
    description = Description(
        n_rows=moments.n_rows,
        mass=moments.mass,
        mean=layout.features(mean, none),
        scatter=layout.features(np.where(constant, 0.0, np.maximum(scatter, 0.0)), none),
        minimum=layout.features(minimum, none),
        maximum=layout.features(maximum, none),
        layout=layout,
        center=layout.centers(mean, np.zeros(layout.n_levels)),
        gaps=source.gaps,
    )
    return description, _faults(moments)


class Observed(NamedTuple):
    """Which cells are there."""

    in_row: IntArray  # (N,) features observed in each row
    in_column: IntArray  # (M,) rows with weight in which a feature is observed


def count_observed(source: Source) -> Observed:
    """Count the cells that are there, by row and by feature."""
    layout = source.layout
    in_row = np.empty(source.n_rows, dtype=np.int64)
    in_column = np.zeros(layout.n_features, dtype=np.int64)
    for block in source.blocks():
        for begin in range(0, len(block.rows), _PIECE):
            piece = slice(begin, begin + _PIECE)
            there = ~np.isnan(block.rows[piece])
            if block.levels is not None:
                both = np.empty((len(there), layout.n_features), dtype=np.bool_)
                both[:, layout.numeric] = there
                both[:, layout.categorical] = block.levels[piece] >= 0
                there = both
            at = block.first_row + begin
            in_row[at : at + len(there)] = there.sum(axis=1)
            if block.sample_weight is not None:
                there &= (block.sample_weight[piece] > 0)[:, None]
            in_column += there.sum(axis=0)
    return Observed(in_row, in_column)
