"""Tables that do not fit into memory: which they are, and how they are clustered in blocks."""

from __future__ import annotations

import codecs
import copy
import io
import logging
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from fwkmeans._support.ahead import read_ahead
from fwkmeans._support.csv_text import write_rows
from fwkmeans._support.errors import InputError
from fwkmeans._support.files import replacing
from fwkmeans._support.optional import require
from fwkmeans._tabular.delimited import given_names
from fwkmeans._tabular.format import Format, Style
from fwkmeans._tabular.kinds import kind_of
from fwkmeans._tabular.readers import BlockReader, MappedReader, open_reader
from fwkmeans._tabular.readers.text import TextReader
from fwkmeans._tabular.reading import in_common_types
from fwkmeans._tabular.roles import (
    Chosen,
    Roles,
    choose_columns,
    count_missing,
    match_columns,
)
from fwkmeans.cli.errors import raise_if_stopped, with_option
from fwkmeans.cli.output import no_formulas, style_for
from fwkmeans.cli.progress import working
from fwkmeans.cli.rows import about_rows, under_new_names
from fwkmeans.cli.rows import named as named_clusters
from fwkmeans.cli.sizes import Streaming
from fwkmeans.sources.entities import draw_numbers
from fwkmeans.typing import IntArray

logger = logging.getLogger("fwkmeans")

#: Rows that are looked at for what needs several rows at once: kinds of columns, stability, a map.
SAMPLE_ROWS = 20_000
#: Rows at the beginning that tell whether a column numbers the rows.
FIRST_ROWS = 1000


class CountedReader(BlockReader):
    """A reader that tells how far it has come."""

    def __init__(self, reader: BlockReader) -> None:
        self.__dict__.update(vars(reader))
        self._inner = reader
        self.passes = [0]  # shared by all that are selected of it

    @property
    def head(self) -> Any:
        """Those of the other."""
        return self._inner.head

    def _select(self, columns: Any) -> None:
        self._inner = self._inner.select(columns)
        self.row_bytes = self._inner.row_bytes

    def bounds(self, step: int) -> Any:
        """Return those of the other."""
        return self._inner.bounds(step)

    def about(self, column: int) -> str:
        """Return that of the other."""
        return self._inner.about(column)

    def _pieces(self, step: int) -> Iterator[Any]:
        self.passes[0] += 1
        number, done = self.passes[0], 0
        for piece in self._inner.pieces(step):
            done += piece.shape[0]
            logger.info("pass %d: %s of %s rows", number, f"{done:,}", f"{self.n_rows:,}")
            yield piece


def named(reader: BlockReader) -> BlockReader:
    """Return a matrix as a table whose columns are called by their place, other tables as is."""
    if reader.names is not None:
        return reader
    arrow, names = require("pyarrow", "Tables", "io"), given_names(range(reader.n_columns))

    def as_table(rows: Any) -> Any:
        kind = rows.dtype
        if kind.kind == "f":  # pyarrow knows these two
            kind = np.dtype(np.float32 if kind.itemsize <= 4 else np.float64)
        rows = rows.astype(kind.newbyteorder("="), copy=False)
        return arrow.table([arrow.array(one, from_pandas=True) for one in rows.T], names=names)

    return MappedReader(reader, as_table, as_table(np.zeros((1, len(names)), reader.head.dtype)))


class Streamed:
    """A table in blocks, and some rows of it in memory."""

    def __init__(
        self, path: str, how: Format, roles: Roles, name: str, streaming: Streaming
    ) -> None:
        keys = [*roles.id, *([] if roles.labels is None else [roles.labels])]
        self._how, self._beside, self._name = how, {*roles.categorical, *keys}, name
        with working(f"Reading {name}"):
            self._inner = named(open_reader(path, streaming.memory, how, roles.categorical, keys))
            self.reader = CountedReader(self._inner)
            if not self.reader.n_rows:
                raise InputError(f"{name} has no rows.")
            self.step = rows_at_a_time(self.reader, streaming.memory)
            self.numbers = _some_rows(self.reader, self.step, streaming.memory)
            first, sample = self._drawn()
        self.n_rows = self.reader.n_rows
        self.chosen = self._columns(first, sample, roles)
        self.n_missing = 0

    # ---- columns --------------------------------------------------------------------------------

    def _drawn(self) -> tuple[Any, Any]:
        """Return the first rows, and those that are looked at, in one pass."""
        arrow = require("pyarrow", "Tables", "io")
        parts, first, begin = [], None, 0
        for piece in read_ahead(self.reader.pieces(self.step)):
            raise_if_stopped()
            if first is None:
                first = self._common(piece.slice(0, FIRST_ROWS))
            last = begin + piece.num_rows
            here = self.numbers[(self.numbers >= begin) & (self.numbers < last)] - begin
            parts.append(self._common(piece.take(arrow.array(here))))
            begin = last
        return first, arrow.concat_tables(parts).combine_chunks()

    def _common(self, piece: Any) -> Any:
        return in_common_types(piece, self._how, self._beside)

    def _columns(self, first: Any, sample: Any, roles: Roles) -> Chosen:
        """Choose columns by the rows that are looked at; drop those that number the rows."""
        arrow = require("pyarrow", "Tables", "io")
        counters = {}
        for column, values in zip(first.column_names, first.columns, strict=True):
            kind = kind_of(arrow, values, column)
            if kind.use == "left out" and kind.why.startswith(("it numbers", "it counts")):
                counters[column] = kind
        is_text = isinstance(self._inner, TextReader)
        try:
            chosen = choose_columns(
                sample, roles, self._name, self._how.missing, is_text=is_text, known=counters
            )
        except InputError as error:
            raise InputError(f"{error} ({self._said()})") from None
        found = self._inner.remarks.found(chosen.features.column_names)
        notes = [*(with_option(*remark) for remark in found), *chosen.notes, f"{self._said()}."]
        return chosen._replace(notes=notes)

    def _said(self) -> str:
        """Return what was looked at, as a sentence without its period."""
        if self.numbers.size == self.n_rows:
            return f"{self._name} was read in blocks (--stream)"
        return (
            f"{self._name} was read in blocks (--stream): all {self.n_rows:,} rows are clustered; "
            f"kinds of columns, medians, profiles and stability are those of {self.numbers.size:,} "
            "rows drawn at random"
        )

    def features(self, piece: Any) -> Any:
        """Return the columns to cluster by of some rows."""
        arrow = require("pyarrow", "Tables", "io")
        known = self.chosen.features
        types = {name: known.schema.field(name).type for name in known.column_names}
        text = [name for name, kind in types.items() if arrow.types.is_string(kind)]
        truths = [name for name, kind in types.items() if arrow.types.is_boolean(kind)]
        others = [name for name in types if name not in {*text, *truths}]
        return match_columns(
            self._common(piece), known.column_names, text, others, truths, self._name
        )

    # ---- the fit --------------------------------------------------------------------------------

    def fit(self, pipeline: Any, features: Any) -> Any:
        """Fit both steps of a pipeline to all rows; return the sample as the last step sees it."""
        from fwkmeans.sources import ChunkedSource

        encoder, cluster = pipeline[0], pipeline[-1]
        encoder.fit_blocks(features, self._all_features())
        rows = encoder.transform(features)
        reader = MappedReader(self.reader, self._prepared(encoder), rows)
        reader.row_bytes = max(reader.row_bytes, 8 * reader.n_columns)
        source = ChunkedSource(reader, block_bytes=self.step * max(1, reader.row_bytes))
        cluster.fit(source)
        return rows

    def _prepared(self, encoder: Any) -> Any:
        return lambda piece: encoder.transform(self.features(piece))

    def _all_features(self) -> Iterator[Any]:
        arrow = require("pyarrow", "Tables", "io")
        self.n_missing, begin = 0, 0
        for piece in read_ahead(self.reader.pieces(self.step)):
            raise_if_stopped()
            with located(begin, piece, self._name):
                made = self.features(piece)
            begin += piece.num_rows
            self.n_missing += sum(count_missing(arrow, one) for one in made.columns)
            yield made

    def on_sample(self, pipeline: Any) -> Any:
        """Return a model whose labels are those of the rows that were looked at."""
        looked_at = copy.copy(pipeline)
        cluster = copy.copy(pipeline[-1])
        cluster.labels_ = np.ascontiguousarray(pipeline[-1].labels_[self.numbers])
        looked_at.steps = [pipeline.steps[0], (pipeline.steps[-1][0], cluster)]
        return looked_at

    def sizes(self, pipeline: Any) -> IntArray:
        """Return the number of rows of each cluster."""
        labels, n_clusters = pipeline[-1].labels_, len(pipeline[-1].cluster_centers_)
        sizes = np.zeros(n_clusters, dtype=np.int64)
        for begin in range(0, len(labels), 1 << 22):
            sizes += np.bincount(labels[begin : begin + (1 << 22)], minlength=n_clusters)
        return sizes

    def write(
        self, pipeline: Any, path: str, *, keys: list[str] | None, spreadsheet_safe: bool
    ) -> None:
        """Write the table with its clusters, or with `keys` only these and the clusters."""
        model, prepared = pipeline[-1], self._prepared(pipeline[0])
        labels, begin = model.labels_, 0
        is_written = isinstance(self._inner, TextReader) and not path.lower().endswith(".parquet")
        pieces: Iterator[Any] = self.reader.pieces(self.step)
        pairs: Iterable[tuple[Any, Any]]
        if is_written and isinstance(self._inner, TextReader):
            pairs = zip(pieces, self._inner.written(self.step), strict=True)
        else:
            pairs = ((piece, piece) for piece in pieces)
        style = self._inner.remarks.style
        with working(f"Writing {path}"), TableWriter(path, style, spreadsheet_safe) as writer:
            for piece, shown in read_ahead(pairs):
                raise_if_stopped()
                own = np.asarray(labels[begin : begin + piece.num_rows])
                begin += piece.num_rows
                if keys is not None:
                    writer.write(shown.select(keys), named_clusters(model, own))
                    continue
                added = about_rows(model, prepared(piece), own)
                writer.write(shown, under_new_names(added, shown.column_names))


class TableWriter:
    """A table that is written piece by piece: as a whole, or not at all."""

    def __init__(self, path: str, style: Style, spreadsheet_safe: bool = False) -> None:
        self._path, self._safe = path, spreadsheet_safe
        self._style = style_for(path, style)
        self._stack = ExitStack()
        self._writer: Any = None
        self.n_rows = 0

    def __enter__(self) -> TableWriter:
        """Open a temporary file."""
        if self._path != "-":
            self._file = self._stack.enter_context(replacing(self._path))
        return self

    def __exit__(self, *error: Any) -> None:
        """Put the file in its place, or remove it if something went wrong."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._stack.__exit__(*error)

    def write(self, table: Any, beside: Mapping[str, Any]) -> None:
        """Write some rows: a table, and further columns."""
        arrow = require("pyarrow", "Tables", "io")
        for name, values in beside.items():
            table = table.append_column(name, arrow.array(values))
        self.n_rows += table.num_rows
        if self._path.lower().endswith(".parquet"):
            parquet = require("pyarrow.parquet", "Parquet files", "io")
            if self._writer is None:
                self._writer = parquet.ParquetWriter(self._file, table.schema)
            self._writer.write_table(table.cast(self._writer.schema))
            return
        if self._style.decimal != ".":
            table = _with_commas(arrow, table, self._style.decimal)
        if self._safe:
            table = no_formulas(arrow, table)
        self._write_text(table)

    def _write_text(self, table: Any) -> None:
        separator = self._style.separator
        if self._writer is None:
            self._writer = _Standard() if self._path == "-" else self._file.open("wb")
            header = io.StringIO()
            write_rows([table.column_names], header, separator)
            mark = codecs.BOM_UTF8 if self._style.mark and self._path != "-" else b""
            self._writer.write(mark + header.getvalue().encode())
        self._writer.write(_as_csv(_plain(table), separator))


def _with_commas(arrow: Any, table: Any, decimal: str) -> Any:
    """Return a table whose numbers are text with another decimal point."""
    compute = require("pyarrow.compute", "Tables", "io")
    for at, field in enumerate(table.schema):
        if arrow.types.is_floating(field.type):
            texts = compute.replace_substring(table.column(at).cast(arrow.string()), ".", decimal)
            table = table.set_column(at, field.name, texts)
    return table


def _as_csv(table: Any, separator: str) -> bytes:
    """Return rows as text; cells are quoted only where they have to be."""
    arrow, text = (require(one, "CSV files", "io") for one in ("pyarrow", "pyarrow.csv"))
    content = io.BytesIO()
    options = text.WriteOptions(include_header=False, delimiter=separator, quoting_style="none")
    try:
        text.write_csv(table, content, options)
    except arrow.ArrowInvalid:  # a cell has to be quoted, which arrow would do with all of them
        rows = io.StringIO()
        columns = (one.to_pylist() for one in table.columns)
        write_rows(zip(*columns, strict=True), rows, separator)
        return rows.getvalue().encode()
    return content.getvalue()


class _Standard:
    """Stdout for bytes."""

    def write(self, content: bytes) -> None:
        """Print text."""
        sys.stdout.write(content.decode())

    def close(self) -> None:
        """Print what waits."""
        sys.stdout.flush()


def _plain(table: Any) -> Any:
    """Return a table without dictionaries, which cannot be written as text."""
    arrow = require("pyarrow", "Tables", "io")
    for at, field in enumerate(table.schema):
        if arrow.types.is_dictionary(field.type):
            cells = table.column(at).cast(field.type.value_type)
            table = table.set_column(at, field.name, cells)
    return table


@contextmanager
def located(begin: int, piece: Any, name: str) -> Iterator[None]:
    """Say in errors where the rows are that they are about."""
    try:
        yield
    except InputError as error:
        rows = f"rows {begin + 1:,} to {begin + piece.num_rows:,} of {name}"
        raise InputError(
            f"{error} (Found in {rows}.)", setting=error.setting, value=error.value
        ) from None


def rows_at_a_time(reader: BlockReader, memory: int) -> int:
    """Return the number of rows in a block."""
    return max(1, memory // (8 * max(1, reader.row_bytes, 8 * reader.n_columns)))


def _some_rows(reader: BlockReader, step: int, memory: int) -> IntArray:
    """Return the numbers of rows that are looked at, rising."""
    width = max(1, reader.row_bytes, 8 * reader.n_columns)
    return draw_numbers(reader.n_rows, max(100, min(SAMPLE_ROWS, memory // (4 * width))))


def check_streamed_out(path: str | None) -> None:
    """Raise if a table that is read in blocks cannot be written so."""
    if path is not None and path.lower().endswith(".xlsx"):
        raise InputError(
            f"--out {path}: a table that is read in blocks is not written to Excel files; give "
            ".csv, .tsv or .parquet."
        )
