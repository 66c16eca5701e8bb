"""Rows in memory: the whole table is one block."""

from __future__ import annotations

from typing import Any

import numpy as np

from fwkmeans._typing import Block, FloatArray, IntArray, Reduction, Result, RowArray


def in_whole_steps(rows: RowArray) -> RowArray:
    """Return the rows, copied only if their strides are not whole numbers of cells.

    That happens to fields of record arrays; the core counts in cells.
    """
    return rows.copy() if any(stride % rows.itemsize for stride in rows.strides) else rows


class MemorySource:
    """A float32 or float64 matrix, in C or Fortran order or strided, used in place.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        The table. It is not copied, unless it is a field of records.
    sample_weight : ndarray of shape (n_rows,), default=None
        Non-negative weights; a row of weight zero counts as absent.
    n_threads : int, default=1
        Threads of the compiled core. The result does not depend on them.
    """

    keeps_labels = True  # a few bytes a row, beside rows that are in memory anyway

    def __init__(
        self, rows: RowArray, sample_weight: FloatArray | None = None, n_threads: int = 1
    ) -> None:
        self.rows = in_whole_steps(rows)
        self.sample_weight: FloatArray | None = sample_weight
        self.n_threads = n_threads

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.rows.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating point type of the rows."""
        return self.rows.dtype

    def reduce(self, reduction: Reduction[Result]) -> Result:
        """Run a reduction over all rows."""
        block = Block(self.rows, self.sample_weight, 0, self.n_threads)
        return reduction.merge([reduction.on_block(block)])

    def take(self, indices: IntArray) -> RowArray:
        """Return the rows with these indices, in that order."""
        if len(indices) == self.n_rows and np.array_equal(indices, np.arange(self.n_rows)):
            return self.rows
        return self.rows[indices]
