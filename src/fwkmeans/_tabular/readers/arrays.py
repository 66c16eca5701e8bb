"""Matrices: arrays, ``.npy`` files, and arrays of other libraries that are read by slices."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fwkmeans._support.errors import InputError
from fwkmeans._support.optional import require
from fwkmeans._tabular.delimited import first_line
from fwkmeans._tabular.readers.base import BlockReader, Files


class ArrayReader(BlockReader):
    """A matrix in memory or mapped into it, whose pieces are views."""

    reads_ahead = False

    def __init__(self, rows: NDArray[Any], title: str = "rows") -> None:
        check_matrix(rows, title)
        self.title = title
        self._rows = rows
        self.n_rows, self.n_columns = map(int, rows.shape)

    @property
    def head(self) -> NDArray[Any]:
        """No rows."""
        return self._rows[:0]

    @property
    def array(self) -> NDArray[Any]:
        """The matrix."""
        return self._rows

    def _select(self, columns: Sequence[int]) -> None:
        self._rows = self._rows[:, list(columns)]

    def _pieces(self, step: int) -> Iterator[NDArray[Any]]:
        for begin in range(0, self.n_rows, step):
            yield self._rows[begin : begin + step]


class NpyReader(BlockReader):
    """A ``.npy`` file, read piece by piece: if it is cut off meanwhile, that is an error."""

    files: Files

    def __init__(self, path: str | os.PathLike[str]) -> None:
        mapped = open_npy(path)
        self.title = str(path)
        self.files = Files([path])
        self.n_rows, self.n_columns = map(int, mapped.shape)
        self._n_stored = self.n_columns
        self._dtype = mapped.dtype
        self._in_columns = not mapped.flags.c_contiguous
        self._first_byte = int(getattr(mapped, "offset", 0))
        self._columns: list[int] | None = None

    @property
    def head(self) -> NDArray[Any]:
        """No rows."""
        return np.empty((0, self.n_columns), dtype=self._dtype)

    @property
    def array(self) -> NDArray[Any]:
        """The file, mapped into memory."""
        rows = open_npy(self.title)
        return rows if self._columns is None else rows[:, self._columns]

    def _select(self, columns: Sequence[int]) -> None:
        known = range(self._n_stored) if self._columns is None else self._columns
        self._columns = [known[v] for v in columns]

    def _pieces(self, step: int) -> Iterator[NDArray[Any]]:
        if not self.n_rows or not self._n_stored:
            return
        with Path(self.title).open("rb", buffering=0) as file:
            for begin in range(0, self.n_rows, step):
                n = min(step, self.n_rows - begin)
                yield (
                    self._in_order(file, begin, n)
                    if self._in_columns
                    else self._read(file, begin, n)
                )

    def _read(self, file: Any, begin: int, n: int) -> NDArray[Any]:
        file.seek(self._first_byte + begin * self._n_stored * self._dtype.itemsize)
        cells = self._cells(file, n * self._n_stored, begin).reshape(n, self._n_stored)
        return cells if self._columns is None else cells[:, self._columns]

    def _in_order(self, file: Any, begin: int, n: int) -> NDArray[Any]:
        """Read rows of a matrix that is stored column by column."""
        columns = range(self._n_stored) if self._columns is None else self._columns
        rows = np.empty((n, len(columns)), dtype=self._dtype, order="F")
        for at, v in enumerate(columns):
            file.seek(self._first_byte + (v * self.n_rows + begin) * self._dtype.itemsize)
            rows[:, at] = self._cells(file, n, begin)
        return rows

    def _cells(self, file: Any, n: int, begin: int) -> NDArray[Any]:
        cells = np.empty(n, dtype=self._dtype)
        room, done = cells.view(np.uint8).data, 0
        while done < len(room):
            got = file.readinto(room[done:])
            if not got:
                self.files.check()  # it may have become shorter
                raise InputError(
                    f"{self.title} ends in row {begin + 1} or soon after: it is cut off."
                )
            done += got
        return cells


class SlicedReader(BlockReader):
    """A matrix of another library, such as Zarr or HDF5, that gives slices of rows as arrays."""

    def __init__(self, rows: Any, title: str, files: Files | None = None) -> None:
        check_shape(rows, title)
        self.title, self.files = title, files
        self._rows = rows
        self.n_rows, self.n_columns = map(int, rows.shape)
        self._columns: list[int] | None = None

    @property
    def head(self) -> NDArray[Any]:
        """No rows."""
        return np.empty((0, self.n_columns), dtype=self._rows.dtype)

    def _select(self, columns: Sequence[int]) -> None:
        known = range(self.n_columns) if self._columns is None else self._columns
        self._columns = [known[v] for v in columns]

    def _pieces(self, step: int) -> Iterator[NDArray[Any]]:
        for begin in range(0, self.n_rows, step):
            try:
                cells = np.asarray(self._rows[begin : min(self.n_rows, begin + step)])
            except Exception as error:  # what the library likes, of what a store or codec does
                raise InputError(
                    f"{self.title} cannot be read from row {begin + 1} on ({type(error).__name__}: "
                    f"{error}): it may be damaged; write it again."
                ) from error
            yield cells if self._columns is None else cells[:, self._columns]


def open_zarr(path: Path) -> SlicedReader:
    """Open a Zarr array in a folder or a zip file."""
    zarr = require("zarr", "Zarr arrays", "zarr")
    try:
        rows = zarr.open_array(str(path), mode="r")
    except Exception as error:
        raise InputError(
            f"{path} cannot be opened as a Zarr array ({type(error).__name__}: {error}). Give the "
            "folder of one array, rows x features."
        ) from error
    about = [path / one for one in ("zarr.json", ".zarray") if (path / one).is_file()]
    return SlicedReader(rows, str(path), Files(about or [path]))


def open_npy(path: str | os.PathLike[str]) -> NDArray[Any]:
    """Map a ``.npy`` file into memory, or raise an error that says what is wrong with it.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    rows : ndarray of shape (n_rows, n_features)
        A memory map that cannot be written to.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file. Give the path of a .npy file.")
    try:
        with path.open("rb") as file:
            is_npy = file.read(6) == b"\x93NUMPY"
        if not is_npy:
            raise ValueError("its first bytes are not those of a .npy file")
        rows: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # a damaged header is parsed like code, which may raise anything
        raise ValueError(
            f"{path}: not a .npy file of plain numbers ({first_line(error)}). Write one with "
            "numpy.save(path, X)."
        ) from error
    check_matrix(rows, str(path))
    return rows


def check_matrix(rows: Any, what: str) -> None:
    """Raise unless this is a matrix of real numbers."""
    if not isinstance(rows, np.ndarray):
        raise TypeError(f"{what}: expected a path or a NumPy array, got {type(rows).__name__}.")
    check_shape(rows, what)


def check_shape(rows: Any, what: str) -> None:
    """Raise unless an array of any library is a matrix of real numbers."""
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        raise ValueError(
            f"{what}: found an array of shape {rows.shape} and type {rows.dtype}; expected one "
            "matrix of numbers, rows x features."
        )
