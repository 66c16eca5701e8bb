"""Sparse rows, and their kernels.

What a kernel computes is defined by its twin for dense rows: it gives the same result as the twin
on the same rows with all their zeros. The C++ kernels only look at stored cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import fwkmeans._core._kernels as _kernels
from fwkmeans._core.array_kernels import Observed, mass_of, no_labels
from fwkmeans._core.twin import Moments
from fwkmeans.typing import (
    Block,
    BoolArray,
    Entities,
    FloatArray,
    IntArray,
    LabelArray,
    LastLabels,
    Pass,
    RowArray,
    Statistics,
)

__all__ = [
    "OPERATIONS",
    "SparseRows",
    "assign",
    "assign_and_accumulate",
    "describe",
    "distances",
    "find_farthest",
    "joined",
    "mass_of",
    "no_labels",
    "observed_cells",
    "take_rows",
]

#: The operations that the kernels of sparse rows offer.
OPERATIONS = frozenset(
    {
        "assign",
        "assign_and_accumulate",
        "describe",
        "distances",
        "find_farthest",
        "observed_cells",
        "take_rows",
    }
)

_SMALL = 1 << 19  # multiply-adds below which a second thread costs more than it saves


class SparseRows:
    """Rows whose zeros are not stored, in compressed form (CSR).

    Parameters
    ----------
    values : ndarray of shape (n_stored,), float32 or float64
        The stored cells, row by row. NaN is a missing cell.
    columns : ndarray of shape (n_stored,), int32
        Their columns, which rise in each row.
    begins : ndarray of shape (n_rows + 1,), int64
        Where the cells of each row begin, and where those of the last row end.
    n_features : int
        Number of columns.
    """

    __slots__ = ("begins", "columns", "shape", "values")

    def __init__(
        self, values: RowArray, columns: LabelArray, begins: IntArray, n_features: int
    ) -> None:
        self.values = np.ascontiguousarray(values)
        self.columns = np.ascontiguousarray(columns, dtype=np.int32)
        self.begins = np.ascontiguousarray(begins, dtype=np.int64)
        self.shape = (self.begins.size - 1, int(n_features))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating-point type of the cells."""
        return self.values.dtype

    @property
    def n_stored(self) -> int:
        """Number of stored cells."""
        return int(self.values.size)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, which: slice | IntArray | BoolArray) -> SparseRows:
        """Return some rows: a slice of neighbors, which shares memory, or any rows in any order."""
        if isinstance(which, slice):
            first, last, step = which.indices(len(self))
            if step == 1:
                begins = self.begins[first : max(first, last) + 1]
                stored = slice(begins[0], begins[-1])
                return SparseRows(
                    self.values[stored], self.columns[stored], begins - begins[0], self.shape[1]
                )
        rows = np.arange(len(self))[which]
        lengths = np.diff(self.begins)[rows]
        begins = np.concatenate([[0], np.cumsum(lengths)])
        cells = np.arange(begins[-1]) + np.repeat(self.begins[rows] - begins[:-1], lengths)
        return SparseRows(self.values[cells], self.columns[cells], begins, self.shape[1])

    def __repr__(self) -> str:
        return f"SparseRows(shape={self.shape}, dtype={self.dtype}, n_stored={self.n_stored})"

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays that hold the cells."""
        return self.values, self.columns, self.begins

    def row_of(self, cells: IntArray) -> IntArray:
        """Return the rows of some stored cells, given by their places among all."""
        return np.searchsorted(self.begins, cells, side="right") - 1

    def with_values(self, values: RowArray) -> SparseRows:
        """Return rows with other values in the same cells."""
        return SparseRows(values, self.columns, self.begins, self.shape[1])

    def toarray(self) -> RowArray:
        """Return the rows with all their zeros."""
        dense = np.zeros(self.shape, dtype=self.dtype)
        dense[np.repeat(np.arange(len(self)), np.diff(self.begins)), self.columns] = self.values
        return dense


def joined(parts: list[SparseRows]) -> SparseRows:
    """Return several sets of rows, one after the other."""
    ends = np.cumsum([part.n_stored for part in parts])
    begins = [part.begins[:-1] + end - part.n_stored for part, end in zip(parts, ends, strict=True)]
    return SparseRows(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.columns for part in parts]),
        np.concatenate([*begins, ends[-1:]]),
        parts[0].shape[1],
    )


def _block(block: Block, each: int) -> tuple[Any, ...]:
    """Return everything in a block but its values, in the order of the core's arguments."""
    rows = _rows(block)
    return (
        rows.columns,
        rows.begins,
        rows.shape[1],
        block.sample_weight,
        block.first_row,
        block.gaps,
        block.stretch,
        block.n_threads if rows.n_stored * each > _SMALL else 1,
    )


def _rows(block: Block) -> SparseRows:
    rows: Any = block.rows
    assert isinstance(rows, SparseRows)
    return rows


def assign_and_accumulate(
    block: Block, assigning: Pass, reference: FloatArray, last: LastLabels | None
) -> Statistics:
    """See `fwkmeans._core.twin.assign_and_accumulate`.

    Where not only changes are summed, the reference of the result is the mean of each cluster: many
    columns have no cell in it, and zeros would cancel with any other reference.
    """
    centers = assigning.centers
    n_starts, n_clusters, _ = centers.shape
    out = Statistics(
        mass=np.empty((n_starts, n_clusters)),
        rows=np.empty((n_starts, n_clusters), dtype=np.int64),
        sums=np.empty(centers.shape),
        squares=np.empty(centers.shape),
        cells=np.empty(centers.shape) if block.gaps else None,
        counts=np.empty((n_starts, n_clusters, 0)),
        fingerprint=np.empty(n_starts, dtype=np.int64),
        changed=np.empty(n_starts, dtype=np.int64),
        reference=np.array(reference, order="C"),
    )
    update = np.zeros(n_starts, dtype=np.bool_) if last is None else last.update
    _kernels.sparse_assign_and_accumulate(
        _rows(block).values,
        _block(block, n_starts * n_clusters),
        assigning,
        out.reference,
        None if last is None else last.labels,
        update.view(np.uint8),
        *out[:5],
        out.fingerprint.view(np.uint64),
        out.changed,
    )
    return out


def find_farthest(
    block: Block, assigning: Pass, eligible: BoolArray
) -> tuple[FloatArray, IntArray]:
    """See `fwkmeans._core.twin.find_farthest`."""
    distance = np.zeros(assigning.centers.shape[0])
    row = np.full(assigning.centers.shape[0], -1, dtype=np.int64)
    _kernels.sparse_farthest(
        _rows(block).values,
        _block(block, assigning.offsets.size),
        assigning,
        np.ascontiguousarray(eligible).view(np.uint8),
        distance,
        row,
    )
    return distance, row


def assign(block: Block, assigning: Pass, *, summed: bool = True) -> tuple[LabelArray, float]:
    """See `fwkmeans._core.twin.assign`."""
    labels = np.empty(len(block.rows), dtype=np.int32)
    objective = _kernels.sparse_assign(
        _rows(block).values, _block(block, assigning.offsets.size), assigning, labels
    )
    return labels, objective if summed else np.nan


def distances(block: Block, assigning: Pass) -> RowArray:
    """See `fwkmeans._core.twin.distances`."""
    out = np.empty((len(block.rows), assigning.centers.shape[1]), dtype=block.rows.dtype)
    each = _block(block, assigning.offsets.size)
    _kernels.sparse_distances(_rows(block).values, each, assigning, out)
    return out


def describe(block: Block, reference: FloatArray) -> Moments:
    """See `fwkmeans._core.twin.describe`."""
    mass, n_rows = np.empty(1), np.empty(1, dtype=np.int64)
    numbers = np.empty((5, block.rows.shape[1]))
    counts = np.empty((2, block.rows.shape[1]), dtype=np.int64)
    _kernels.sparse_describe(
        _rows(block).values,
        _block(block, 1),
        np.ascontiguousarray(reference),
        mass,
        n_rows,
        numbers,
        counts,
    )
    return Moments(float(mass[0]), int(n_rows[0]), *numbers, *counts)


def take_rows(block: Block, indices: IntArray) -> Entities:
    """Return the rows with these indices in the block, as dense float64 rows."""
    rows = _rows(block)[indices]
    dense = rows.toarray().astype(np.float64, copy=False)
    return Entities(dense, np.empty((len(rows), 0), dtype=np.int32))


def observed_cells(block: Block) -> Observed:
    """Count the observed cells, by row and by feature."""
    rows = _rows(block)
    n_rows, n_features = rows.shape
    missing = np.flatnonzero(np.isnan(rows.values))
    row, column = rows.row_of(missing), rows.columns[missing]
    in_row = n_features - np.bincount(row, minlength=n_rows)
    weighs = np.ones(n_rows, dtype=np.bool_)
    if block.sample_weight is not None:
        weighs = block.sample_weight > 0
    absent = np.bincount(column[weighs[row]], minlength=n_features)
    return Observed(in_row, np.count_nonzero(weighs) - absent, np.empty(0, dtype=np.int64))
