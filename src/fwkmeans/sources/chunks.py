"""Rows in a file: a memory-mapped array, read in blocks of limited size."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fwkmeans._tabular.coding import Coding
from fwkmeans._tabular.layout import numeric_layout
from fwkmeans.sources.base import BlockSource
from fwkmeans.sources.memory import in_whole_steps
from fwkmeans.typing import Block, FloatArray, LabelArray, Part, Reduction, RowArray, RowMemory

#: Bytes of rows in one block, unless a source is told otherwise.
BLOCK_BYTES = 64 * 2**20
_PAGE = 4096


class ChunkedSource(BlockSource):
    """Blocks of consecutive rows of an array that does not fit into memory, such as a mapped file.

    It uses the memory of a few blocks, whatever the number of rows. Rows that are neither float32
    nor float64 are converted block by block. Row memory (labels, for example) goes to a temporary
    file once it is larger than a block.

    Parameters
    ----------
    rows : path to a ``.npy`` file, or array of shape (n_rows, n_features)
        A path is opened as a read-only memory map.
    sample_weight : ndarray of shape (n_rows,), default=None
        Non-negative weights; a row with weight zero counts as absent.
    n_threads : int, default=1
        Number of threads of the compiled core. The result does not depend on it.
    block_bytes : int, default=64 MiB
        Size of a block. The result depends on it only through the rounding of sums.
    coding : Coding, default=None
        Which columns are categorical, and their categories; None means that all are numeric.
    seen : callable, default=None
        A function that is applied to the numbers of each block before anything else. It gets a
        float array of shape (n, n_numeric) and returns another one of that shape.
    gaps, stretch : bool, default=False
        See `BlockSource`. Estimators set them.

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

    def __init__(
        self,
        rows: str | os.PathLike[str] | RowArray,
        sample_weight: FloatArray | None = None,
        n_threads: int = 1,
        block_bytes: int = BLOCK_BYTES,
        *,
        coding: Coding | None = None,
        seen: Callable[[RowArray], RowArray] | None = None,
        gaps: bool = False,
        stretch: bool = False,
    ) -> None:
        self.rows = open_npy(rows) if isinstance(rows, str | os.PathLike) else rows
        check_matrix(self.rows, "rows")
        if not isinstance(block_bytes, Integral) or block_bytes < 1:
            raise ValueError(f"block_bytes={block_bytes!r}: expected a positive number of bytes.")
        self.sample_weight: FloatArray | None = sample_weight
        self.n_threads: int = n_threads
        self.block_bytes: int = int(block_bytes)
        self.seen: Callable[[RowArray], RowArray] | None = seen
        self.gaps, self.stretch = gaps, stretch
        self._code(coding)

    def _code(self, coding: Coding | None, **level_options: Any) -> None:
        self.coding = coding
        self.level_options: dict[str, Any] = level_options  # of Coding.levels
        self.layout = numeric_layout(int(self.rows.shape[1])) if coding is None else coding.layout

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n_rows // self._step)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating-point type of the computations on the rows."""
        return np.dtype(np.float32 if self.rows.dtype == np.float32 else np.float64)

    def with_(
        self,
        sample_weight: FloatArray | None,
        n_threads: int,
        coding: Coding | None = None,
        **level_options: Any,
    ) -> ChunkedSource:
        """Return the same rows with another number of threads, other weights and another coding."""
        source = self._with(sample_weight=sample_weight, n_threads=n_threads)
        source._code(coding, **level_options)
        return source

    def mapped(self, transform: Callable[[RowArray], RowArray]) -> Self:
        """Return the source with a function applied to the numbers of each block."""
        first = self.seen
        return self._with(seen=transform if first is None else _Composed(first, transform))

    def pieces(self) -> Iterator[slice]:
        """Yield the blocks as slices of the rows."""
        for begin in range(0, self.n_rows, self._step):
            yield slice(begin, begin + self._step)

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

    @property
    def _step(self) -> int:
        """Number of rows in a block."""
        width = self.rows.shape[1] * max(self.rows.dtype.itemsize, self.dtype.itemsize)
        return max(1, self.block_bytes // max(1, int(width)))

    def _on_all_blocks(self, reduction: Reduction[Part, Any]) -> Iterator[tuple[Part, RowMemory]]:
        with _Outside(self.block_bytes) as outside:
            for part, memory in super()._on_all_blocks(reduction):
                yield part, outside.keep(memory)

    def _plain(self, cells: RowArray) -> RowArray:
        if not self.layout.is_numeric:
            cells = cells[:, self.layout.numeric]
        cells = in_whole_steps(np.asarray(cells, dtype=self.dtype))
        if self.seen is None:
            return cells
        seen = self.seen(cells)
        if seen.shape != cells.shape:
            raise ValueError(
                f"seen made an array of shape {seen.shape} of one of shape {cells.shape}; expected "
                "as many rows and columns as before."
            )
        return in_whole_steps(np.asarray(seen, dtype=self.dtype))

    def _levels(self, cells: RowArray) -> LabelArray | None:
        if self.coding is None or self.layout.is_numeric:
            return None
        return self.coding.levels(cells, **self.level_options)


class _Composed:
    """One function after another."""

    def __init__(self, *functions: Callable[[RowArray], RowArray]) -> None:
        self.functions: Sequence[Callable[[RowArray], RowArray]] = functions

    def __call__(self, rows: RowArray) -> RowArray:
        for function in self.functions:
            rows = function(rows)
        return rows


class _Outside:
    """Keep row memory in a temporary file once it takes more than `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._room = limit
        self._file: Any = None
        self._end = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()  # the mapped arrays keep it open

    def keep(self, memory: RowMemory) -> RowMemory:
        """Return the same arrays, in memory or mapped from the file."""
        return {name: self._keep(array) for name, array in memory.items()}

    def _keep(self, array: NDArray[Any]) -> NDArray[Any]:
        if isinstance(array, np.memmap) or not array.size:
            return array
        self._room -= array.nbytes
        if self._room >= 0:
            return array
        if self._file is None:  # it has no name and disappears with the last array
            self._file = tempfile.TemporaryFile(prefix="fwkmeans-")  # noqa: SIM115
        mapped = np.memmap(self._file, array.dtype, "w+", self._end, array.shape)
        mapped[...] = array
        self._end += -(-array.nbytes // _PAGE) * _PAGE
        return mapped


def open_npy(path: str | os.PathLike[str]) -> RowArray:
    """Map a ``.npy`` file into memory, or raise an error that says what is wrong with it."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file. Give the path of a .npy file.")
    try:
        with path.open("rb") as file:
            is_npy = file.read(6) == b"\x93NUMPY"
        if not is_npy:
            raise ValueError("its first bytes are not those of a .npy file")
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
