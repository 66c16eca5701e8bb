"""Rows in memory: the whole table is one block."""

from __future__ import annotations

from typing import Any

import numpy as np

from fwkmeans._tabular.layout import Layout, numeric_layout
from fwkmeans.typing import (
    Block,
    FloatArray,
    IntArray,
    LabelArray,
    Reduction,
    Result,
    RowArray,
)


def in_whole_steps(rows: RowArray) -> RowArray:
    """Return the rows, copied only if their strides are not whole numbers of cells.

    That happens to fields of record arrays; the core counts in cells.
    """
    return rows.copy() if any(stride % rows.itemsize for stride in rows.strides) else rows


class MemorySource:
    """A float32 or float64 matrix, in C or Fortran order or strided, used in place.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_numeric)
        The numeric columns. They are not copied, unless they are a field of records.
    sample_weight : ndarray of shape (n_rows,), default=None
        Non-negative weights; a row of weight zero counts as absent.
    n_threads : int, default=1
        Threads of the compiled core. The result does not depend on them.
    levels : ndarray of shape (n_rows, n_categorical), int32, default=None
        Level of each categorical cell, -1 where it is missing.
    layout : Layout, default=None
        Which features are numeric and which categorical; None: all are numeric.
    gaps : bool, default=False
        Whether cells are missing (NaN, or level -1): they then contribute nothing.
    stretch : bool, default=False
        Whether dissimilarities of rows with missing cells are multiplied by all / observed
        features. Their sample weights must have been multiplied already.
    """

    keeps_labels = True  # a few bytes a row, beside rows that are in memory anyway

    def __init__(
        self,
        rows: RowArray,
        sample_weight: FloatArray | None = None,
        n_threads: int = 1,
        *,
        levels: LabelArray | None = None,
        layout: Layout | None = None,
        gaps: bool = False,
        stretch: bool = False,
    ) -> None:
        self.rows = in_whole_steps(rows)
        self.sample_weight: FloatArray | None = sample_weight
        self.n_threads = n_threads
        self.levels = levels
        self.layout: Layout = numeric_layout(rows.shape[1]) if layout is None else layout
        self.gaps = gaps
        self.stretch = stretch

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns, numeric and categorical."""
        return self.layout.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating point type of the rows."""
        return self.rows.dtype

    def reduce(self, reduction: Reduction[Result]) -> Result:
        """Run a reduction over all rows."""
        return reduction.merge([reduction.on_block(block) for block in self.blocks()])

    def blocks(self) -> list[Block]:
        """Return the rows as one block."""
        return [
            Block(
                self.rows,
                self.sample_weight,
                0,
                self.n_threads,
                self.levels,
                self.gaps,
                self.stretch,
            )
        ]

    def take(self, indices: IntArray) -> RowArray:
        """Return the numbers of the rows with these indices, in that order."""
        if len(indices) == self.n_rows and np.array_equal(indices, np.arange(self.n_rows)):
            return self.rows
        return self.rows[indices]

    def take_levels(self, indices: IntArray) -> LabelArray:
        """Return the levels of the categories of the rows with these indices."""
        if self.levels is None:
            return np.empty((len(indices), 0), dtype=np.int32)
        return self.levels[indices]

    def reweighted(
        self,
        sample_weight: FloatArray | None,
        *,
        gaps: bool | None = None,
        stretch: bool | None = None,
    ) -> MemorySource:
        """Return the same rows with other weights, and maybe with other words about gaps."""
        return MemorySource(
            self.rows,
            sample_weight,
            self.n_threads,
            levels=self.levels,
            layout=self.layout,
            gaps=self.gaps if gaps is None else gaps,
            stretch=self.stretch if stretch is None else stretch,
        )

    def subset(self, indices: IntArray, sample_weight: FloatArray | None) -> MemorySource:
        """Return some of the rows, copied, with their weights."""
        return MemorySource(
            self.rows[indices],
            sample_weight,
            self.n_threads,
            levels=None if self.levels is None else self.levels[indices],
            layout=self.layout,
            gaps=self.gaps,
            stretch=self.stretch,
        )
