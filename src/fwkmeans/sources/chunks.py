"""Rows in a file: blocks of a memory-mapped array, a bounded number of bytes at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from fwkmeans._tabular.coding import Coding
from fwkmeans._tabular.layout import Layout, numeric_layout
from fwkmeans.sources.memory import in_whole_steps
from fwkmeans.typing import (
    Block,
    FloatArray,
    IntArray,
    LabelArray,
    Reduction,
    Result,
    RowArray,
)

#: Bytes of rows in one block, unless a source is told otherwise.
BLOCK_BYTES = 64 * 2**20


class ChunkedSource:
    """Blocks of consecutive rows of an array too large to hold, such as a memory-mapped file.

    Private memory stays bounded by one block (only rows of another type than float32 or float64 are
    converted, block by block) plus the labels at the end.

    Parameters
    ----------
    rows : path to a ``.npy`` file, or array of shape (n_rows, n_features)
        A path is opened as a read-only memory map.
    sample_weight : ndarray of shape (n_rows,), default=None
        Non-negative weights; a row of weight zero counts as absent.
    n_threads : int, default=1
        Threads of the compiled core. The result does not depend on them.
    block_bytes : int, default=64 MiB
        Size of a block. The result depends on it only through the rounding of sums.
    coding : Coding, default=None
        Which columns are categorical, and their categories; None: all are numbers.
    gaps, stretch : bool, default=False
        See `MemorySource`.
    seen : callable, default=None
        What the numbers of a block become before anybody sees them.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> from fwkmeans import EWKMeans
    >>> from fwkmeans.sources import ChunkedSource
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.npy"
    >>> np.save(path, np.random.default_rng(0).random((1000, 3)))
    >>> EWKMeans(2, random_state=0).fit(ChunkedSource(path, block_bytes=4096)).labels_.shape
    (1000,)
    """

    keeps_labels = False  # they would grow with the file

    def __init__(
        self,
        rows: str | os.PathLike[str] | RowArray,
        sample_weight: FloatArray | None = None,
        n_threads: int = 1,
        block_bytes: int = BLOCK_BYTES,
        *,
        coding: Coding | None = None,
        gaps: bool = False,
        stretch: bool = False,
        seen: Callable[[RowArray], RowArray] | None = None,
    ) -> None:
        self.rows = open_npy(rows) if isinstance(rows, str | os.PathLike) else rows
        check_matrix(self.rows, "rows")
        if not isinstance(block_bytes, Integral) or block_bytes < 1:
            raise ValueError(f"block_bytes={block_bytes!r}: expected a positive number of bytes.")
        self.sample_weight: FloatArray | None = sample_weight
        self.n_threads: int = n_threads
        self.block_bytes: int = int(block_bytes)
        self.coding: Coding | None = coding
        self.gaps: bool = gaps
        self.stretch: bool = stretch
        self.seen: Callable[[RowArray], RowArray] | None = seen
        self.level_options: dict[str, Any] = {}  # of Coding.levels

    @property
    def layout(self) -> Layout:
        """Which features are numeric and which categorical."""
        return numeric_layout(self.n_features) if self.coding is None else self.coding.layout

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
        """Floating point type the rows are computed in."""
        return np.dtype(np.float32 if self.rows.dtype == np.float32 else np.float64)

    def with_(
        self,
        sample_weight: FloatArray | None,
        n_threads: int,
        coding: Coding | None = None,
        **levels: Any,
    ) -> ChunkedSource:
        """Return the same rows with other weights, threads and coding, and its options."""
        source = ChunkedSource(self.rows, sample_weight, n_threads, self.block_bytes, coding=coding)
        source.level_options = levels
        return source

    def reweighted(
        self,
        sample_weight: FloatArray | None,
        *,
        gaps: bool | None = None,
        stretch: bool | None = None,
    ) -> ChunkedSource:
        """Return the same rows with other weights, and maybe with other words about gaps."""
        source = ChunkedSource(
            self.rows,
            sample_weight,
            self.n_threads,
            self.block_bytes,
            coding=self.coding,
            gaps=self.gaps if gaps is None else gaps,
            stretch=self.stretch if stretch is None else stretch,
            seen=self.seen,
        )
        source.level_options = self.level_options
        return source

    def seen_through(self, seen: Callable[[RowArray], RowArray]) -> ChunkedSource:
        """Return the source of what a function makes of the rows; it may leave gaps."""
        view = self.reweighted(self.sample_weight)
        view.seen = seen
        view.gaps = self.gaps or any(np.isnan(block.rows).any() for block in view.blocks())
        return view

    def pieces(self) -> Iterator[slice]:
        """Yield the blocks as slices of the rows."""
        width = self.rows.shape[1] * max(self.rows.dtype.itemsize, self.dtype.itemsize)
        step = max(1, self.block_bytes // max(1, width))
        for begin in range(0, self.n_rows, step):
            yield slice(begin, begin + step)

    def blocks(self) -> Iterator[Block]:
        """Yield the rows, block by block."""
        for piece in self.pieces():
            weight = None if self.sample_weight is None else self.sample_weight[piece]
            cells = self.rows[piece]
            yield Block(
                self._plain(cells),
                weight,
                piece.start,
                self.n_threads,
                self._levels(cells),
                self.gaps,
                self.stretch,
            )

    def reduce(self, reduction: Reduction[Result]) -> Result:
        """Run a reduction over all rows."""
        return reduction.merge(map(reduction.on_block, self.blocks()))  # one block at a time

    def take(self, indices: IntArray) -> RowArray:
        """Return the numbers of the rows with these indices, in that order."""
        return self._plain(self._cells(indices))

    def take_levels(self, indices: IntArray) -> LabelArray:
        """Return the levels of the categories of the rows with these indices."""
        levels = self._levels(self._cells(indices))
        return np.empty((len(indices), 0), dtype=np.int32) if levels is None else levels

    def _cells(self, indices: IntArray) -> RowArray:
        distinct, inverse = np.unique(indices, return_inverse=True)
        cells: RowArray = self.rows[distinct]
        if distinct.size == len(indices) and np.array_equal(distinct, indices):
            return cells
        return cells[inverse]

    def _plain(self, cells: RowArray) -> RowArray:
        if self.coding is not None and not self.layout.is_numeric:
            cells = cells[:, self.layout.numeric]
        cells = in_whole_steps(np.asarray(cells, dtype=self.dtype))
        return cells if self.seen is None else self.seen(cells)

    def _levels(self, cells: RowArray) -> LabelArray | None:
        if self.coding is None or self.layout.is_numeric:
            return None
        return self.coding.levels(cells, **self.level_options)


def open_npy(path: str | os.PathLike[str]) -> RowArray:
    """Map a ``.npy`` file, or say what is wrong with it."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file. Give the path of a .npy file.")
    try:
        with path.open("rb") as file:
            is_npy = file.read(6) == b"\x93NUMPY"
        if not is_npy:
            raise ValueError("it does not begin like one")
        rows: RowArray = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError) as error:
        raise ValueError(
            f"{path}: not a .npy file of plain numbers ({error}). Write one with "
            "numpy.save(path, X); read other tables with pandas or polars and pass the frame."
        ) from error
    check_matrix(rows, str(path))
    return rows


def check_matrix(rows: RowArray, what: str) -> None:
    """Raise unless this is a matrix of real numbers."""
    if not isinstance(rows, np.ndarray):
        raise TypeError(f"{what}: expected a path or a NumPy array, got {type(rows).__name__}.")
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        raise ValueError(
            f"{what}: found an array of shape {rows.shape} and type {rows.dtype}; expected one "
            "matrix of numbers, rows x features."
        )
