"""The first look at a table: sums, extremes, and whether every cell is a number."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fwkmeans._core import kernels_for
from fwkmeans._core.twin import Moments
from fwkmeans._typing import Block, Description, FloatArray, IntArray, Source


class _Moments:
    """Reduction to `Moments` about a reference point."""

    def __init__(self, reference: FloatArray) -> None:
        self.reference = reference

    def on_block(self, block: Block) -> Moments:
        kernels = kernels_for(block.rows)
        moments: Moments = kernels.describe(
            block.rows, block.sample_weight, self.reference, block.n_threads
        )
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
                total.nonfinite + part.nonfinite,
            )
        return total


def count_nonfinite(source: Source) -> IntArray:
    """Return the number of NaN and infinite cells of each column."""
    with np.errstate(invalid="ignore", over="ignore"):
        counts: IntArray = source.reduce(_Moments(np.zeros(source.n_features))).nonfinite
    return counts


def describe(source: Source) -> tuple[Description, IntArray]:
    """Describe the rows with weight; also count the NaN and infinite cells of each column.

    Sums are taken about a row of the table. Where that row turns out to lie far outside
    (the squares would cancel), a second pass about the mean repairs it.
    """
    weight = source.sample_weight
    first = 0 if weight is None else int(np.argmax(weight > 0))
    reference = np.asarray(source.take(np.asarray([first]))[0], dtype=np.float64)
    reference = np.where(np.isfinite(reference), reference, 0.0)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        moments = source.reduce(_Moments(reference))
        drift = moments.sums / moments.mass
        scatter = moments.squares - moments.sums * drift
        if np.any(moments.squares > 100.0 * np.maximum(scatter, 0.0)):
            reference = reference + drift
            moments = source.reduce(_Moments(np.where(np.isfinite(reference), reference, 0.0)))
            drift = moments.sums / moments.mass
            scatter = moments.squares - moments.sums * drift
    constant = moments.maximum <= moments.minimum
    description = Description(
        n_rows=moments.n_rows,
        mass=moments.mass,
        mean=np.where(constant, moments.minimum, reference + drift),
        scatter=np.where(constant, 0.0, np.maximum(scatter, 0.0)),
        minimum=moments.minimum,
        maximum=moments.maximum,
    )
    return description, moments.nonfinite
