"""Rows in memory: the whole table is one block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from fwkmeans._tabular.layout import Layout, numeric_layout
from fwkmeans.sources.base import BlockSource, on_block
from fwkmeans.typing import Block, FloatArray, LabelArray, Part, Reduction, RowArray, Whole

_PLAIN = (np.dtype(np.float64), np.dtype(np.float32))


def is_plain(X: Any) -> bool:
    """Tell whether scikit-learn's validation would return X as it is; it takes a while."""
    return type(X) is np.ndarray and X.ndim == 2 and X.size > 0 and X.dtype in _PLAIN


def in_whole_steps(rows: RowArray) -> RowArray:
    """Return the rows, copied only if cells are not at whole multiples of their size in memory.

    Fields of record arrays and views of bytes may be so, and the core counts in aligned cells.
    """
    flags = rows.flags
    if flags.aligned and (flags.c_contiguous or flags.f_contiguous):
        return rows
    odd = not flags.aligned or any(stride % rows.itemsize for stride in rows.strides)
    return rows.copy() if odd else rows


class MemorySource(BlockSource):
    """A float32 or float64 matrix, in C or Fortran order or strided, used in place.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_numeric)
        The numeric columns. They are not copied, unless they are a field of a record array.
    sample_weight : ndarray of shape (n_rows,), default=None
        Non-negative weights; a row with weight zero counts as absent.
    n_threads : int, default=1
        Number of threads of the compiled core. The result does not depend on it.
    levels : ndarray of shape (n_rows, n_categorical), int32, default=None
        Level of each categorical cell, -1 where it is missing. Levels are counted through all
        categorical columns: those of column j run from ``layout.offsets[j]`` to
        ``layout.offsets[j + 1] - 1``, the last of which is for categories never seen.
    layout : Layout, default=None
        Which features are numeric and which are categorical; None means that all are numeric.
    gaps, stretch : bool, default=False
        See `BlockSource`. Estimators set them.
    """

    resident = True
    n_blocks = 1

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
        _check_rows(rows)
        self.rows = in_whole_steps(rows)
        self.sample_weight: FloatArray | None = sample_weight
        self.n_threads = n_threads
        self.layout = numeric_layout(rows.shape[1]) if layout is None else layout
        self.levels = None if levels is None else _checked_levels(levels, self.layout, len(rows))
        self.gaps, self.stretch = gaps, stretch

    @classmethod
    def of_plain(cls, rows: RowArray, n_threads: int) -> Self:
        """Return the source of a contiguous matrix, which is not looked at."""
        source = object.__new__(cls)
        source.rows, source.sample_weight, source.n_threads = rows, None, n_threads
        source.layout, source.levels = numeric_layout(rows.shape[1]), None
        return source

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating point type of the rows."""
        return self.rows.dtype

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

    def run(self, reduction: Reduction[Part, Whole]) -> tuple[Whole, Self]:
        """Return the result of a reduction, and the source with the new row memory."""
        (known,) = self._memory or ({},)
        part, memory = on_block(reduction, self.blocks()[0], known)  # nothing is there to join
        return reduction.finish(part), self._with(_memory=(memory,))

    def reduce(self, reduction: Reduction[Part, Whole]) -> Whole:
        """Return the result of a reduction; the new row memory is dropped."""
        (block,), (known,) = self.blocks(), self._memory or ({},)
        if not known and len(block.rows):  # the usual case: nothing replaces its weights
            return reduction.finish(reduction.on_block(block, known)[0])
        return reduction.finish(on_block(reduction, block, known)[0])

    def mapped(self, transform: Callable[[RowArray], RowArray]) -> Self:
        """Return the source with a function applied to the rows, which are copied."""
        return self._with(rows=transform(self.rows))


def _check_rows(rows: RowArray) -> None:
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype.kind != "f":
        got = (
            f"an array of shape {rows.shape} and type {rows.dtype}"
            if isinstance(rows, np.ndarray)
            else type(rows).__name__
        )
        raise TypeError(f"rows is {got}; expected a matrix of float32 or float64 numbers.")


def _checked_levels(levels: LabelArray, layout: Layout, n_rows: int) -> LabelArray:
    """Return the levels, or raise an error that says what is wrong with them."""
    levels = np.ascontiguousarray(levels, dtype=np.int32)
    if levels.shape != (n_rows, layout.categorical.size):
        raise ValueError(
            f"levels has shape {levels.shape}; expected {(n_rows, layout.categorical.size)}: one "
            "column for each categorical column of the layout. Give that layout, too."
        )
    inside = (levels >= layout.offsets[:-1]) & (levels < layout.offsets[1:])
    if not (inside | (levels == -1)).all():
        raise ValueError(
            "levels are counted through all categorical columns: those of column j run from "
            "layout.offsets[j] to layout.offsets[j + 1] - 1, and -1 is a missing cell."
        )
    return levels
