"""Rows in spherical spaces, where only their direction counts: they are scaled to unit length.

A row that is zero in such a space has no direction, and that of a row with a missing cell is
unknown. Both count as missing in the whole space.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fwkmeans.typing import IntArray, RowArray

_CHUNK = 1 << 17  # numbers in the largest temporary


def unit_rows(rows: RowArray, spaces: Sequence[IntArray]) -> RowArray:
    """Return a copy of the rows with unit length in each space, given by its columns.

    If a row has no direction in a space, its cells there become NaN.
    """
    scaled = np.array(rows)
    step = max(1, _CHUNK // max(1, rows.shape[1]))
    for begin in range(0, len(rows), step):
        for columns in spaces:
            part = np.take(rows[begin : begin + step], columns, axis=1).astype(np.float64)
            largest = np.asarray(np.abs(part).max(axis=1))  # NaN if a cell is
            known = largest > 0
            part[~known] = np.nan
            part[known] /= largest[known, None]  # squares must neither overflow nor underflow
            part[known] /= np.sqrt((part[known] ** 2).sum(axis=1))[:, None]
            scaled[begin : begin + step, columns] = part
    return scaled
