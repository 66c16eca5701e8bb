"""From what a user gives to a reader: paths, folders, patterns, arrays, functions."""

from __future__ import annotations

import difflib
import glob
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fwkmeans._support.errors import InputError
from fwkmeans._support.text import quoted
from fwkmeans._tabular.columns import is_frame
from fwkmeans._tabular.format import Format
from fwkmeans._tabular.readers.arrays import ArrayReader, NpyReader, SlicedReader, open_zarr
from fwkmeans._tabular.readers.arrow import IpcReader, ParquetReader
from fwkmeans._tabular.readers.base import BlockReader
from fwkmeans._tabular.readers.factory import FactoryReader
from fwkmeans._tabular.readers.text import TextReader

#: Files of tables in a folder, by how their names end.
_SUFFIXES = {
    "Parquet": (".parquet", ".pq"),
    "Arrow": (".arrow", ".arrows", ".feather", ".ipc"),
    "CSV": (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".txt"),
}
_PATTERN = "*?["


def is_iterator(X: Any) -> bool:
    """Tell whether X gives blocks, but only once."""
    return isinstance(X, Iterator) and not hasattr(X, "shape")


def is_list_of_paths(X: Any) -> bool:
    """Tell whether X is a list of files; no table is a list of words."""
    several = isinstance(X, list | tuple) and len(X) > 0
    return several and all(isinstance(one, str | os.PathLike) for one in X)


def is_sliced(X: Any) -> bool:
    """Tell whether X is an array of Zarr or HDF5, which is read by slices."""
    library = type(X).__module__.partition(".")[0]
    return library in ("zarr", "h5py") and hasattr(X, "shape") and hasattr(X, "dtype")


def open_reader(
    X: Any,
    memory: int,
    how: Format | None = None,
    text: Sequence[str] = (),
    keys: Sequence[str] = (),
    only: Collection[str] = (),
) -> BlockReader:
    """Return a reader of a table outside of memory, which may use about so many bytes.

    `how`, `text` and `keys` say how text files are read, as in `fwkmeans._tabular.reading`. If only
    some columns will be used, several files may differ in the others.
    """
    if isinstance(X, BlockReader):
        return X
    if isinstance(X, np.ndarray):
        return ArrayReader(X)
    if is_sliced(X):
        return SlicedReader(X, f"the {type(X).__module__.partition('.')[0]} array")
    if is_iterator(X):
        raise TypeError(
            f"X is a {type(X).__name__}, which gives its blocks only once, and a fit reads them "
            "several times. Give the function that makes it: fit(read_blocks) instead of "
            "fit(read_blocks())."
        )
    if callable(X) and not is_frame(X):
        return FactoryReader(X)
    if is_list_of_paths(X):
        paths = [_existing(Path(one)) for one in X]
        title = str(paths[0]) + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
        return _open_files(paths, title, memory, how, text, keys, only=only)
    if not isinstance(X, str | os.PathLike):
        raise TypeError(
            f"rows: expected a path, a NumPy array or a function that returns an iterator of "
            f"blocks, got {type(X).__name__}."
        )
    if not str(X) or "://" in str(X):
        raise InputError(
            f"{str(X)!r} is not the path of a file or folder of this machine. Get the file first, "
            "and give its path."
        )
    path = Path(X)
    if path.is_dir() and any((path / one).exists() for one in ("zarr.json", ".zarray")):
        return open_zarr(path)
    if path.is_dir() or (not path.exists() and any(one in str(X) for one in _PATTERN)):
        found, root = _files_of(path)
        return _open_files(found, str(X), memory, how, text, keys, root, only)
    if path.suffix.lower() == ".zarr" or str(X).lower().endswith(".zarr.zip"):
        return open_zarr(_existing(path))
    return _open_files([_existing(path)], str(X), memory, how, text, keys)


def _existing(path: Path) -> Path:
    if not path.exists():
        folder = path.parent
        names = [one.name for one in folder.iterdir()] if folder.is_dir() else []
        near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.75)
        hint = f"Did you mean {folder / near[0]}?" if near else "Check the name."
        raise FileNotFoundError(f"{path}: no such file. {hint}")
    return path


def _files_of(path: Path) -> tuple[list[Path], Path]:
    """Return the files of a folder or a pattern in the order of their names, and their folder."""
    if path.is_dir():
        root = path
        every = [one for one in path.rglob("*") if one.is_file()]
    else:
        parts = path.parts
        first = next(at for at, one in enumerate(parts) if any(c in one for c in _PATTERN))
        root = Path(*parts[:first])
        found = map(Path, glob.glob(str(path), recursive=True))
        every = [one for one in found if one.is_file()]
        if not every:
            raise FileNotFoundError(f"{path}: no file is called so. Check the pattern.")
    hidden = (".", "_")
    visible = [
        one
        for one in every
        if not any(part.startswith(hidden) for part in one.relative_to(root).parts)
    ]
    if not path.is_dir():
        return sorted(visible or every), root
    kinds = {
        kind: [one for one in visible if one.name.lower().endswith(ends)]
        for kind, ends in _SUFFIXES.items()
    }
    kinds = {kind: files for kind, files in kinds.items() if files}
    if not kinds:
        known = ", ".join(end for ends in _SUFFIXES.values() for end in ends)
        raise InputError(f"{path} is a folder without tables ({known}): give another one.")
    if len(kinds) > 1:
        raise InputError(
            f"{path} holds files of several kinds ({quoted(kinds)}): give a pattern, such as "
            f"{path / '*'}{next(iter(kinds.values()))[0].suffix}."
        )
    return sorted(next(iter(kinds.values()))), root


def _open_files(
    paths: Sequence[Path],
    title: str,
    memory: int,
    how: Format | None,
    text: Sequence[str],
    keys: Sequence[str],
    root: Path | None = None,
    only: Collection[str] = (),
) -> BlockReader:
    kinds = {_kind_of(path) for path in paths}
    if len(kinds) > 1:
        raise InputError(f"{title} holds files of several kinds ({quoted(sorted(kinds))}).")
    (kind,) = kinds
    if kind == "NumPy":
        if len(paths) > 1:
            raise InputError(f"{title} are several .npy files: give one.")
        return NpyReader(paths[0])
    if kind == "Parquet":
        return ParquetReader(paths, title, root, only)
    if kind == "Arrow":
        return IpcReader(paths, title, root, memory, only)
    return TextReader(paths, title, how, text, keys, only)


def _kind_of(path: Path) -> str:
    """Return what the first bytes of a file say about it, or its name."""
    if path.suffix.lower() in (".npy", ".npz"):
        return "NumPy"
    if path.is_dir():
        raise InputError(f"{path} is a folder: give files.")
    with path.open("rb") as file:
        start = file.read(8)
    if start.startswith(b"\x93NUMPY"):
        return "NumPy"
    if start.startswith(b"PAR1"):
        return "Parquet"
    if start.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "Arrow"
    is_text = min(start, default=0) >= ord("\t")
    for kind, ends in _SUFFIXES.items():
        if kind != "CSV" and not is_text and path.name.lower().endswith(ends):
            raise InputError(
                f"{path} is called like a file of {kind}, but its first bytes are not those of "
                "one: it may be damaged; make it again."
            )
    if start.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise InputError(
            f"{path} is an Excel file or another archive, which is not read in blocks: read it "
            "with pandas and pass the frame, or save it as CSV or Parquet."
        )
    return "CSV"
