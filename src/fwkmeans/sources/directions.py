"""Rows in spherical spaces, where only their direction counts: they are scaled to unit length.

A row that is zero in such a space has no direction, and that of a row with a missing cell is
unknown. Both count as missing in the whole space.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fwkmeans._core.sparse import SparseRows
from fwkmeans.typing import BoolArray, IntArray

_CHUNK = 1 << 17  # numbers in the largest temporary
_MANY, _FEW = 8, 1 << 20  # stored cells that are missing: this many for each other one, and more


def unit_rows(rows: Any, spaces: Sequence[IntArray]) -> Any:
    """Return a copy of the rows with unit length in each space, given by its columns.

    If a row has no direction in a space, its cells there become NaN.
    """
    if isinstance(rows, SparseRows):
        return _unit_sparse_rows(rows, spaces)
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


def _unit_sparse_rows(rows: SparseRows, spaces: Sequence[IntArray]) -> SparseRows:
    n_rows, n_features = rows.shape
    space_of = np.full(n_features, len(spaces))  # the last one is no space
    for number, columns in enumerate(spaces):
        space_of[columns] = number
    lengths = np.diff(rows.begins)
    # rows x spaces, by stored cells
    place = np.repeat(np.arange(n_rows) * (len(spaces) + 1), lengths) + space_of[rows.columns]
    shape = (n_rows, len(spaces) + 1)
    largest = np.zeros(shape)
    np.maximum.at(largest.ravel(), place, np.abs(rows.values))  # NaN if a cell is
    largest[:, -1] = 1.0
    known = largest > 0
    size = np.where(known, largest, 1.0)
    values = rows.values / size.ravel()[place]
    norm = np.bincount(place, values * values, n_rows * shape[1]).astype(np.float64)
    norm = norm.reshape(shape)
    norm[:, -1] = 1.0
    values /= np.sqrt(np.where(known, norm, 1.0)).ravel()[place]
    stored = known.ravel()[place]
    begins = np.concatenate([[0], np.cumsum(stored)])[rows.begins]
    kept = SparseRows(values[stored].astype(rows.dtype), rows.columns[stored], begins, n_features)
    return kept if known.all() else _with_missing(kept, ~known[:, :-1], spaces)


def _with_missing(rows: SparseRows, without: BoolArray, spaces: Sequence[IntArray]) -> SparseRows:
    """Return the rows with NaN in all cells of the spaces in which they have no direction."""
    row, space = np.nonzero(without)
    sizes = np.array([columns.size for columns in spaces])
    n_added = int(sizes[space].sum())
    if n_added > _MANY * rows.n_stored + _FEW:
        raise ValueError(
            f"{np.unique(row).size} rows of X are zero in a spherical space (row {row[0]} is the "
            f"first): their {n_added} cells count as missing and would have to be stored, beside "
            f"{rows.n_stored} others. Drop such rows, or take fewer and larger spaces."
        )
    added_rows = np.repeat(row, sizes[space])
    added_columns = np.concatenate([spaces[at] for at in space.tolist()])
    all_rows = np.concatenate([np.repeat(np.arange(len(rows)), np.diff(rows.begins)), added_rows])
    columns = np.concatenate([rows.columns, added_columns])
    values = np.concatenate([rows.values, np.full(added_rows.size, np.nan, rows.dtype)])
    order = np.lexsort((columns, all_rows))
    begins = np.concatenate([[0], np.cumsum(np.bincount(all_rows, minlength=len(rows)))])
    return SparseRows(values[order], columns[order], begins, rows.shape[1])
