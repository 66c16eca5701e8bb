"""Every kind of table outside of memory that estimators read, with blocks of few rows."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from fwkmeans.sources import ChunkedSource

_NUMBERS = itertools.count()

#: Kinds that keep float32, and have names.
TABLES = ("parquet", "parquet in groups", "folder", "arrow", "arrow stream", "frames")
ARRAYS = ("npy", "npy in columns", "blocks", "zarr")
KINDS = (*TABLES, "csv", *ARRAYS)


def write(folder: Path, kind: str, frame) -> object:
    """Write a pandas frame, or its numbers, as a table of some kind; return what opens it."""
    path = folder / f"table{next(_NUMBERS)}"
    n_rows = len(frame)
    if kind in ARRAYS:
        return _write_array(path, kind, frame.to_numpy())
    if kind == "csv":
        frame.to_csv(path.with_suffix(".csv"), index=False)
        return path.with_suffix(".csv")
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = arrow.Table.from_pandas(frame, preserve_index=False)
    if kind == "frames":
        return lambda: (frame.iloc[at : at + 97] for at in range(0, n_rows, 97))
    if kind == "folder":
        for at in range(0, n_rows, 61):
            name = f"part-{at:06}.parquet"
            path.mkdir(exist_ok=True)
            parquet.write_table(table.slice(at, 61), path / name)
        return path
    path = path.with_suffix(".parquet" if "parquet" in kind else ".arrow")
    if kind == "parquet":
        parquet.write_table(table, path)
    elif kind == "parquet in groups":
        parquet.write_table(table, path, row_group_size=23, use_dictionary=False)
    else:
        new = arrow.ipc.new_stream if "stream" in kind else arrow.ipc.new_file
        with new(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=53 if "stream" in kind else n_rows)
    return path


def _write_array(path: Path, kind: str, X: np.ndarray) -> object:
    if kind == "blocks":
        return lambda: (X[at : at + 97] for at in range(0, len(X), 97))
    if kind == "zarr":
        zarr = pytest.importorskip("zarr")
        rows = zarr.open_array(
            str(path.with_suffix(".zarr")), mode="w", shape=X.shape, chunks=(29, 2), dtype=X.dtype
        )
        rows[:] = X
        return path.with_suffix(".zarr")
    np.save(path.with_suffix(".npy"), np.asfortranarray(X) if "columns" in kind else X)
    return path.with_suffix(".npy")


def in_small_blocks(rows: object, n_rows: int = 70, **options) -> ChunkedSource:
    """Open a table in blocks of about so many rows."""
    source = ChunkedSource(rows, **options)
    width = source.block_bytes // source.step
    return ChunkedSource(rows, block_bytes=max(1, width * n_rows), **options)
