"""Tables of Parquet files that the workers of a Dask cluster read and cluster."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from fwkmeans._support.errors import InputError
from fwkmeans._support.optional import require
from fwkmeans._tabular.format import Format, Remarks
from fwkmeans._tabular.readers import open_reader
from fwkmeans.cli.columns import Roles, count_missing
from fwkmeans.cli.progress import working
from fwkmeans.cli.streaming import FIRST_ROWS, SAMPLE_ROWS, Streamed
from fwkmeans.sources.entities import draw_numbers
from fwkmeans.typing import IntArray


class OnDask(Streamed):
    """A table that the workers read, and some rows of it here.

    Workers and this process must see the files under the same path.
    """

    def __init__(self, path: str, how: Format, roles: Roles, name: str, address: str) -> None:
        frames = require("dask.dataframe", "Tables on a cluster", "dask")
        distributed = require("distributed", "Tables on a cluster", "dask")
        from fwkmeans.sources.dask import Pieces

        if not _is_parquet(path):
            raise InputError(
                f"{path}: --dask reads Parquet files, such as 'folder/*.parquet' or a folder."
            )
        if "://" not in path:
            open_reader(path, 1 << 20)  # says what is wrong with the files
        keys = [*roles.id, *([] if roles.labels is None else [roles.labels])]
        self._how, self._beside, self._name = how, {*roles.categorical, *keys}, name
        try:
            distributed.Client(address, timeout=10)  # what follows uses it
        except (OSError, ValueError) as error:
            raise InputError(
                f"--dask {address}: no scheduler answers there ({error}). Give its address, such "
                "as tcp://host:8786."
            ) from None
        with working(f"Reading {name}"):
            try:
                frame = frames.read_parquet(path, index=False, dtype_backend="pyarrow")
            except (OSError, ValueError) as error:
                raise InputError(f"{path}: Dask cannot read it ({error}).") from None
            pieces = Pieces.of(frame.to_delayed()).mapped(_as_arrow).held()
            lengths = pieces.mapped(_length).joined(_both)
            self.n_rows = sum(lengths)
            if not self.n_rows:
                raise InputError(f"{name} has no rows.")
            self.numbers = draw_numbers(self.n_rows, SAMPLE_ROWS)
            self._inner = self.reader = _Partitions(pieces, lengths)  # type: ignore[assignment]
            first, sample = self._drawn()
        self.step, self.n_missing = 0, 0
        self.chosen = self._columns(first, sample, roles)

    def _drawn(self) -> tuple[Any, Any]:
        """Return the first rows, and those that are looked at."""
        arrow = require("pyarrow", "Tables", "io")
        reader: Any = self.reader
        begins = np.cumsum([0, *reader.lengths])
        head = np.arange(min(FIRST_ROWS, reader.lengths[np.flatnonzero(reader.lengths)[0]]))
        wanted = []
        for begin, end in pairwise(begins):
            here = self.numbers[(self.numbers >= begin) & (self.numbers < end)]
            wanted.append(here - begin)
        first = reader.taken(int(np.flatnonzero(reader.lengths)[0]), head)
        rows = [reader.taken(at, some) for at, some in enumerate(wanted) if some.size]
        return self._common(first), self._common(arrow.concat_tables(rows).combine_chunks())

    def _said(self) -> str:
        return super()._said().replace("(--stream)", "by the workers (--dask)")

    def fit(self, pipeline: Any, features: Any) -> Any:
        """Fit both steps of a pipeline to all rows; return the sample as the last step sees it."""
        arrays = require("dask.array", "Tables on a cluster", "dask")
        frames = require("dask.dataframe", "Tables on a cluster", "dask")
        encoder, cluster = pipeline[0], pipeline[-1]
        reader: Any = self.reader
        pieces = reader.pieces_there.take(np.flatnonzero(reader.lengths).tolist())
        lengths = [n for n in reader.lengths if n]
        known = copy.copy(self)
        known.reader = known._inner = None  # type: ignore[assignment]
        known.chosen = self.chosen._replace(features=self.chosen.features.slice(0, 0), table=None)
        chosen = pieces.mapped(known.features).held()
        self.n_missing = sum(chosen.mapped(_n_missing).joined(_both))
        encoder.fit_blocks(features, lambda look, join: chosen.mapped(look).joined(join))
        rows = encoder.transform(features)
        prepared = chosen.mapped(_Prepared(encoder))
        if isinstance(rows, np.ndarray):
            parts = [
                arrays.from_delayed(one, (n, rows.shape[1]), rows.dtype)
                for one, n in zip(prepared.delayed(), lengths, strict=True)
            ]
            cluster.fit(arrays.concatenate(parts))
        else:
            meta = rows.slice(0, 0).to_pandas()
            cluster.fit(frames.from_delayed(prepared.delayed(), meta=meta, verify_meta=False))
        return rows

    def on_sample(self, pipeline: Any) -> Any:
        """Return a model whose labels are those of the rows that were looked at."""
        labels = np.asarray(pipeline[-1].labels_[self.numbers])
        looked_at = copy.copy(pipeline)
        cluster = copy.copy(pipeline[-1])
        cluster.labels_ = labels
        looked_at.steps = [pipeline.steps[0], (pipeline.steps[-1][0], cluster)]
        return looked_at

    def sizes(self, pipeline: Any) -> IntArray:
        """Return the number of rows of each cluster."""
        arrays = require("dask.array", "Tables on a cluster", "dask")
        labels, n_clusters = pipeline[-1].labels_, len(pipeline[-1].cluster_centers_)
        return np.asarray(arrays.bincount(labels, minlength=n_clusters), dtype=np.int64)


class _Partitions:
    """The partitions, as a reader of blocks; each comes here when it is asked for."""

    def __init__(self, pieces: Any, lengths: Sequence[int]) -> None:
        self.pieces_there, self.lengths = pieces, lengths
        self.n_rows = sum(lengths)
        self.remarks = Remarks()

    def pieces(self, step: int) -> Iterator[Any]:
        """Fetch one after the other."""
        for at, n in enumerate(self.lengths):
            if n:
                yield self.pieces_there.take([at]).fetched()[0]

    def taken(self, at: int, rows: IntArray) -> Any:
        """Fetch some rows of a partition."""
        return self.pieces_there.take([at]).mapped(_Taken(rows)).fetched()[0]


class _Taken:
    def __init__(self, rows: IntArray) -> None:
        self.rows = rows

    def __call__(self, piece: Any) -> Any:
        return piece.take(self.rows)


class _Prepared:
    """Encode some rows; frames are those of pandas, which Dask knows."""

    def __init__(self, encoder: Any) -> None:
        self.encoder = encoder

    def __call__(self, piece: Any) -> Any:
        rows = self.encoder.transform(piece)
        return rows if isinstance(rows, np.ndarray) else rows.to_pandas()


def _as_arrow(frame: Any) -> Any:
    arrow = require("pyarrow", "Tables", "io")
    return arrow.Table.from_pandas(frame, preserve_index=False)


def _length(piece: Any) -> list[int]:
    return [int(piece.num_rows)]


def _n_missing(piece: Any) -> list[int]:
    arrow = require("pyarrow", "Tables", "io")
    return [sum(count_missing(arrow, one) for one in piece.columns)]


def _both(before: list[int], after: list[int]) -> list[int]:
    return before + after


def _is_parquet(path: str) -> bool:
    return path.lower().rstrip("/*").endswith((".parquet", ".pq")) or "." not in path.split("/")[-1]
