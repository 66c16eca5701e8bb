"""A cluster, cut into two."""

from __future__ import annotations

import numpy as np

from fwkmeans._mixture.sample import Sample
from fwkmeans._mixture.structure import NOISE, Structure
from fwkmeans.typing import BoolArray, FloatArray

#: Rounds in which the longest axis, and the best cut across it, are found.
ROUNDS = 20


def used_columns(structure: Structure) -> BoolArray:
    """Tell which columns of numbers are not noise."""
    noise = [kind == NOISE for kind in structure.singles]
    for group in structure.groups:
        for v in group.columns:
            noise[v] = group.type == NOISE
    return ~np.array(noise, dtype=bool)


def used_cells(sample: Sample, structure: Structure) -> FloatArray:
    """Return the columns that are not noise, in units of their standard deviation."""
    told = np.array([kind != NOISE for kind in structure.categories], dtype=bool)
    numbers, levels = sample.in_deviations()
    return np.hstack([numbers[:, used_columns(structure)], levels[:, told[sample.level_column]]])


def upper_half(cells: FloatArray, weight: FloatArray) -> BoolArray:
    """Tell which rows lie on the far side of a cut across the longest axis of all.

    The cut is where two means along the axis put it.
    """
    if len(cells) < 2:
        return np.zeros(len(cells), dtype=bool)
    rest = cells - weight @ cells / weight.sum()
    axis = rest[np.argmax((rest**2).sum(axis=1))]
    for _ in range(ROUNDS):
        length = np.sqrt(axis @ axis)
        if not length > 0:
            return np.zeros(len(cells), dtype=bool)
        axis = (weight * (rest @ (axis / length))) @ rest
    place = rest @ axis
    upper = place > 0
    for _ in range(ROUNDS):
        mass = weight @ upper, weight @ ~upper
        if not min(mass) > 0:
            break
        middle = 0.5 * ((weight * place) @ upper / mass[0] + (weight * place) @ ~upper / mass[1])
        before, upper = upper, place > middle
        if (before == upper).all():
            break
    return np.asarray(upper)
