"""Centers that are rows of the table."""

from __future__ import annotations

import numpy as np

from fwkmeans._tabular.layout import Layout
from fwkmeans.typing import Description, FloatArray, IntArray, LabelArray, Source


def centers_at(source: Source, indices: IntArray, table: Description) -> FloatArray:
    """Return centers at these rows: (n, P).

    A category becomes its indicator. Where a cell is missing the center of the whole table stands
    in.
    """
    layout = table.layout
    points = source.take(indices).astype(np.float64)
    if table.gaps:
        points = np.where(np.isnan(points), layout.points(table.center), points)
    if layout.is_numeric:
        return points
    levels = source.take_levels(indices)
    return layout.centers(points, indicators(levels, layout, layout.frequencies(table.center)))


def indicators(levels: LabelArray, layout: Layout, otherwise: FloatArray) -> FloatArray:
    """Return 1 at each row's levels and 0 at others: (n, levels); `otherwise` where missing."""
    found = np.zeros((len(levels), layout.n_levels))
    for v, first in enumerate(layout.offsets[:-1]):
        there = np.flatnonzero(levels[:, v] >= 0)
        found[there, levels[there, v]] = 1.0
        absent = np.flatnonzero(levels[:, v] < 0)
        own = slice(int(first), int(layout.offsets[v + 1]))
        found[absent, own] = otherwise[own]
    return found
