"""Rows outside of memory: files, mapped arrays, or blocks that a function makes."""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fwkmeans._support.ahead import read_ahead
from fwkmeans._tabular.coding import Coding
from fwkmeans._tabular.columns import (
    categorical_by_dtype,
    is_frame,
    is_single,
    read_numeric,
    resolve_columns,
)
from fwkmeans._tabular.format import Format
from fwkmeans._tabular.layout import numeric_layout
from fwkmeans._tabular.readers import BlockReader, open_reader
from fwkmeans.sources.base import BlockSource, on_block
from fwkmeans.sources.memory import in_whole_steps
from fwkmeans.typing import Block, FloatArray, LabelArray, Part, Reduction, RowArray, RowMemory

#: Bytes that all blocks of a source may take, unless it is told otherwise: one is in use while the
#: next is read, and both may be there twice while they are converted.
MEMORY = 256 * 2**20
_BLOCKS = 4
#: Bytes of rows in one block, unless a source is told otherwise.
BLOCK_BYTES = MEMORY // _BLOCKS
#: Bytes of all rows from which on blocks are read ahead. Of fewer, handing them over takes longer.
AHEAD_BYTES = 64 * 2**10


class ChunkedSource(BlockSource):
    """Blocks of consecutive rows of a table that does not fit into memory.

    It uses the memory of a few blocks, whatever the number of rows; while one block is in use, a
    thread reads the next. Numbers that are not all float32 are converted to float64 block by block.
    Row memory (labels, for example) goes to a temporary file once it is larger than a block.

    Parameters
    ----------
    rows : path, array, or callable
        The path of a ``.npy``, Parquet, Arrow or CSV file, of a folder of such files, a pattern
        such as ``"folder/*.parquet"``, or a list of paths; a Zarr array or its folder; an array of
        NumPy, such as a memory map; or a function without parameters that returns an iterator of
        arrays or frames, each time the same blocks.
    sample_weight : ndarray of shape (n_rows,) or str, default=None
        Non-negative weights; a row with weight zero counts as absent. A name is that of the column
        that holds them.
    n_threads : int, default=1
        Number of threads of the compiled core. The result does not depend on it.
    block_bytes : int, default=None
        Size of a block; None means a quarter of `memory`. The result depends on it only through
        the rounding of sums.
    columns : list of str or int, default=None
        The columns to use; None means all, but for that of the weights.
    memory : int, default=256 MiB
        Bytes that all blocks at a time may take.
    header : bool, default=None
        Whether the first row of a CSV file holds the names of the columns; None means to look.
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
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "rows.npy"
    ...     np.save(path, np.random.default_rng(0).random((1000, 3)))
    ...     model = EWKMeans(2, random_state=0).fit(ChunkedSource(path, memory=2**14))
    >>> model.labels_.shape
    (1000,)
    """

    def __init__(
        self,
        rows: Any,
        sample_weight: FloatArray | str | None = None,
        n_threads: int = 1,
        block_bytes: int | None = None,
        *,
        columns: Sequence[str] | Sequence[int] | None = None,
        memory: int = MEMORY,
        header: bool | None = None,
        coding: Coding | None = None,
        seen: Callable[[RowArray], RowArray] | None = None,
        gaps: bool = False,
        stretch: bool = False,
    ) -> None:
        for name, size in (("block_bytes", block_bytes), ("memory", memory)):
            if size is not None and (not isinstance(size, Integral) or size < 1):
                raise ValueError(f"{name}={size!r}: expected a positive number of bytes.")
        self.memory = int(memory)
        self.block_bytes: int = int(
            max(1, memory // _BLOCKS) if block_bytes is None else block_bytes
        )
        named = [] if columns is None else list(columns)
        only = {one for one in [*named, sample_weight] if isinstance(one, str)}
        self.reader: BlockReader = open_reader(
            rows,
            self.memory,
            Format(header=header),
            only=only if named and all(isinstance(one, str) for one in named) else (),
        )
        self.n_threads: int = n_threads
        self.seen: Callable[[RowArray], RowArray] | None = seen
        self.gaps, self.stretch = gaps, stretch
        self._code(coding)
        every = self.reader
        if columns is not None:
            self._read(every.select(self._places(columns, every)))
        self.sample_weight: FloatArray | None = None
        if isinstance(sample_weight, str):
            weighted = self.weighted_by(sample_weight, every)
            self.sample_weight = weighted.sample_weight
            self._read(weighted.reader)
        else:
            self.sample_weight = sample_weight

    def _read(self, reader: BlockReader) -> None:
        self.reader = reader
        self._code(self.coding, **self.level_options)

    def _code(self, coding: Coding | None, **level_options: Any) -> None:
        self.coding = coding
        self.level_options: dict[str, Any] = level_options  # of Coding.levels
        self.layout = numeric_layout(self.reader.n_columns) if coding is None else coding.layout
        self._dtype: np.dtype[Any] | None = None  # not looked at yet

    @staticmethod
    def _places(columns: Any, reader: BlockReader) -> list[int]:
        places = resolve_columns(columns, reader.names, reader.n_columns, "columns")
        return [int(v) for v in places]

    @property
    def rows(self) -> NDArray[Any] | None:
        """All rows as an array, mapped into memory; None if the table is no array."""
        return self.reader.array

    @property
    def names(self) -> list[Any] | None:
        """Names of the columns; None if they have none."""
        return self.reader.names

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.reader.n_rows

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.reader.bounds(self.step)) - 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating-point type of the computations on the rows."""
        if self._dtype is None:
            columns = None if self.coding is None else self.layout.numeric.tolist()
            single = is_single(self.reader.head, columns)
            self._dtype = np.dtype(np.float32 if single else np.float64)
        return self._dtype

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

    def selected(self, columns: Sequence[str] | Sequence[int]) -> Self:
        """Return a source of some columns, by name or position."""
        source = self._with()
        source._read(self.reader.select(self._places(columns, self.reader)))
        return source

    def weighted_by(self, name: str, reader: BlockReader | None = None) -> Self:
        """Return the source without the column of this name, whose numbers weigh the rows."""
        reader = self.reader if reader is None else reader
        if reader.names is None or name not in reader.names:
            known = "has no names" if reader.names is None else f"has {reader.names}"
            raise ValueError(
                f"sample_weight={name!r} names a column that X does not have: {reader.title} "
                f"{known}. Give the name of a column, or an array with one weight for each row."
            )
        source = self._with()
        own = self.reader.names or []
        source._read(self.reader.select([v for v, one in enumerate(own) if one != name]))
        column = reader.select([reader.names.index(name)])
        with _Outside(self.block_bytes) as outside:
            kept = [
                outside.keep({"weight": _as_weights(piece, name)})["weight"]
                for piece in column.pieces(self.step)
            ]
        source.sample_weight = _joined(kept, 0, self.block_bytes)
        return source

    def mapped(self, transform: Callable[[RowArray], RowArray]) -> Self:
        """Return the source with a function applied to the numbers of each block."""
        first = self.seen
        return self._with(seen=transform if first is None else _Composed(first, transform))

    def blocks(self) -> Iterator[Block]:
        """Yield the rows, block by block; the next ones are read meanwhile, if this pays."""
        pays = self.n_blocks > 1 and self.n_rows * self._row_bytes >= AHEAD_BYTES
        return read_ahead(self._blocks()) if self.reader.reads_ahead and pays else self._blocks()

    def _blocks(self) -> Iterator[Block]:
        begin = 0
        for cells in self.reader.pieces(self.step):
            try:
                rows, levels = self._plain(cells), self._levels(cells)
            except (ValueError, TypeError) as error:
                if not self.reader.reads_ahead:
                    raise
                last = begin + cells.shape[0]
                where = f"rows {begin + 1:,} to {last:,} of {self.reader.title}"
                raise type(error)(f"{error} (Found in {where}.)") from error
            del cells  # they need not be in memory any longer
            yield self._block(begin, rows, levels)
            begin += len(rows)
            del rows, levels

    def _block(self, begin: int, rows: RowArray, levels: LabelArray | None) -> Block:
        weight = self.sample_weight
        own = None if weight is None else weight[begin : begin + len(rows)]
        return Block(rows, own, begin, self.n_threads, levels, self.gaps, self.stretch)

    @property
    def step(self) -> int:
        """Number of rows in a block."""
        return max(1, self.block_bytes // self._row_bytes)

    @property
    def _row_bytes(self) -> int:
        head = self.reader.head
        item = self.dtype.itemsize
        if isinstance(head, np.ndarray):
            item = max(item, head.dtype.itemsize)
        return max(1, int(max(self.reader.n_columns * item, self.reader.row_bytes)))

    def _on_all_blocks(self, reduction: Reduction[Part, Any]) -> Iterator[tuple[Part, RowMemory]]:
        blocks: Iterable[Block] = self.blocks()
        if not reduction.hooks.needs_rows:
            sizes = np.diff(self.reader.bounds(self.step)).tolist()
            begins = self.reader.bounds(self.step)[:-1].tolist()
            blocks = (
                self._block(begin, np.empty((n, 0)), None)
                for begin, n in zip(begins, sizes, strict=True)
            )
        memories = self._memory or ({},) * self.n_blocks
        with _Outside(self.block_bytes) as outside:
            for block, memory in zip(blocks, memories, strict=True):
                part, kept = on_block(reduction, block, memory)
                yield part, outside.keep(kept)
                _let_go(memory)

    def gather(self, name: str, axis: int = 0) -> NDArray[Any]:
        """Return what row memory has under a name, for all rows; from a file if it is large."""
        return _joined([one[name] for one in self._memory or () if one], axis, self.block_bytes)

    def _plain(self, cells: Any) -> RowArray:
        if is_frame(cells):
            cells = read_numeric(cells, self.layout.numeric, order="F")  # column by column
        elif cells.dtype.kind not in "fiub":
            cells = read_numeric(cells, self.layout.numeric)
        elif not self.layout.is_numeric:
            cells = cells[:, self.layout.numeric]
        numbers: RowArray = in_whole_steps(np.asarray(cells, dtype=self.dtype))
        if self.seen is None:
            return numbers
        seen = self.seen(numbers)
        if seen.shape != numbers.shape:
            raise ValueError(
                f"seen made an array of shape {seen.shape} of one of shape {numbers.shape}; "
                "expected as many rows and columns as before."
            )
        return in_whole_steps(np.asarray(seen, dtype=self.dtype))

    def _levels(self, cells: Any) -> LabelArray | None:
        if self.coding is None or self.layout.is_numeric:
            return None
        return self.coding.levels(cells, **self.level_options)


def _as_weights(piece: Any, name: str) -> FloatArray:
    if is_frame(piece) and categorical_by_dtype(piece).size:
        raise ValueError(
            f"Column {name!r}, which holds sample_weight, holds text or truth values; expected "
            "numbers. Give another column, or an array with one number for each row."
        )
    weights = read_numeric(piece, np.arange(1)).astype(np.float64).ravel()
    if np.isnan(weights).any():
        raise ValueError(f"Column {name!r}, which holds sample_weight, has missing cells.")
    return weights


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
        begin = self.write(array)
        return np.memmap(self._file, array.dtype, "r", begin, array.shape)

    def write(self, array: NDArray[Any]) -> int:
        """Append an array to the file; return where it begins."""
        try:
            if self._file is None:  # it has no name and disappears with the last array
                self._file = tempfile.TemporaryFile(buffering=0, prefix="fwkmeans-")  # noqa: SIM115
            begin = self._file.seek(0, os.SEEK_END)
            cells = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            done = 0
            while done < cells.size:
                done += self._file.write(cells[done:].data)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
                raise
            raise OSError(
                error.errno,
                f"no space is left in the folder of temporary files ({tempfile.gettempdir()}), "
                "which holds one entry for each row; set TMPDIR to another folder",
            ) from error
        return int(begin)

    def whole(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """Return all that was written as one array."""
        return np.memmap(self._file, dtype, "r+", 0, shape).view(np.ndarray)


def _joined(kept: Sequence[NDArray[Any]], axis: int, limit: int) -> NDArray[Any]:
    """Join arrays along the axis of the rows; more than `limit` bytes are mapped from a file."""
    if len(kept) == 1 and not isinstance(kept[0], np.memmap):
        return kept[0]
    several = axis == 1 and kept[0].shape[0] > 1
    if several or sum(one.nbytes for one in kept) <= limit:
        return np.concatenate(kept, axis=axis)
    with _Outside(0) as outside:
        for one in kept:
            outside.write(one)
            _let_go({"": one})
        shape = list(kept[0].shape)
        shape[axis] = sum(one.shape[axis] for one in kept)
        return outside.whole(kept[0].dtype, tuple(shape))


def _let_go(memory: Mapping[str, NDArray[Any]]) -> None:
    """Tell the system that mapped pages are not needed for now; they stay in their file."""
    for array in memory.values():
        mapped = getattr(array, "_mmap", None)
        if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)
