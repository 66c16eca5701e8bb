"""Files of tables with names and types of their own: Parquet and Arrow IPC."""

from __future__ import annotations

import base64
import json
from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fwkmeans._support.errors import InputError
from fwkmeans._support.optional import require
from fwkmeans._support.text import quoted
from fwkmeans._tabular.delimited import first_line
from fwkmeans._tabular.readers.base import BlockReader, Files

#: Rows that are decoded at a time, and bytes of a column that are read at a time.
_BATCH_ROWS, _BUFFER = 1 << 16, 1 << 18
#: What a folder such as year=2024 is called if the value is missing.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


class ArrowReader(BlockReader):
    """One or several files with the same columns, one after the other.

    Columns that are the same within a file, as folders such as ``year=2024`` tell, come last. If
    `only` some columns are used, files may differ in the others.
    """

    kind: str
    files: Files

    def __init__(
        self,
        paths: Sequence[Path],
        title: str,
        root: Path | None = None,
        only: Collection[str] = (),
    ) -> None:
        self.title = title
        self.files = Files(paths)
        self._beside = {} if root is None else _of_folders(paths, root)
        self._schema: Any = None
        self._n_rows: list[int] = []
        width = 0.0
        for path in paths:
            schema, n_rows, n_bytes = self._tried(path, 0, self._look, path)
            schema = self._with_folders(schema, path)
            schema = _with_plain_codes(self._arrow, schema)
            if only and {*only} <= {*schema.names}:
                schema = self._arrow.schema([one for one in schema if one.name in only])
            self._schema = schema if self._schema is None else self._joined(schema, path)
            self._n_rows.append(n_rows)
            width = max(width, n_bytes / max(1, n_rows))
        self.row_bytes = int(width)
        self.n_rows = sum(self._n_rows)
        self.names = list(self._schema.names)
        self.n_columns = len(self.names)
        if len(set(self.names)) < len(self.names):
            twice = sorted({one for one in self.names if self.names.count(one) > 1})
            raise InputError(
                f"{title} has several columns named {quoted(twice)}: give every column a name of "
                "its own."
            )

    @property
    def _arrow(self) -> Any:
        return require("pyarrow", f"{self.kind} files", "io")

    @abstractmethod
    def _look(self, path: Path) -> tuple[Any, int, int]:
        """Return schema, number of rows and bytes of the cells of a file."""

    @abstractmethod
    def _batches(self, path: Path, names: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Yield the rows of a file, some columns of them, in batches of about so many rows."""

    @property
    def head(self) -> Any:
        """The table without its rows."""
        return self._schema.empty_table()

    def _select(self, columns: Sequence[int]) -> None:
        share = len(columns) / self.n_columns
        self.row_bytes = int(self.row_bytes * share)
        self._schema = self._arrow.schema([self._schema.field(int(v)) for v in columns])

    def _with_folders(self, schema: Any, path: Path) -> Any:
        for name, (kind, _) in self._beside.get(path, {}).items():
            if name not in schema.names:
                schema = schema.append(self._arrow.field(name, getattr(self._arrow, kind)()))
        return schema.remove_metadata()

    def _joined(self, schema: Any, path: Path) -> Any:
        """Return the types that the columns of all files have, or raise if columns differ."""
        known, found = set(self._schema.names), set(schema.names)
        if known != found:
            lacks, beyond = sorted(known - found), sorted(found - known)
            what = f"lacks {quoted(lacks)}" if lacks else f"has {quoted(beyond)}"
            raise InputError(
                f"{path} {what}, unlike {self.files.paths[0]}: give files with the same columns."
            )
        if schema.equals(self._schema):
            return self._schema
        arrow, fields = self._arrow, []
        for field in self._schema:
            other = schema.field(field.name)
            kind = _common(arrow, field.type, other.type)
            if kind is None:
                raise InputError(
                    f"Column {field.name!r} is {other.type} in {path} and {field.type} in "
                    f"{self.files.paths[0]}: give files whose columns have the same types."
                )
            fields.append(arrow.field(field.name, kind))
        return arrow.schema(fields)

    def _pieces(self, step: int) -> Iterator[Any]:
        return in_steps(self._arrow, self._all_batches(step), step)

    def _all_batches(self, step: int) -> Iterator[Any]:
        for path, expected in zip(self.files.paths, self._n_rows, strict=True):
            beside = self._beside.get(path, {})
            own = [name for name in self._schema.names if name not in beside]
            n_rows = 0
            batches = self._batches(path, own, min(step, _BATCH_ROWS))
            while True:
                batch = self._tried(path, n_rows, next, batches, None)
                if batch is None:
                    break
                table = self._tried(path, n_rows, self._completed, batch, beside)
                n_rows += table.num_rows
                yield table
            if n_rows != expected:
                raise InputError(
                    f"{path} has {n_rows:,} rows, but says that it has {expected:,}: it is "
                    "damaged; make it again."
                )

    def _completed(self, batch: Any, beside: dict[str, tuple[str, Any]]) -> Any:
        """Return a batch as a table with all columns, in their common types."""
        arrow = self._arrow
        batch.validate(full=True)  # parts that point elsewhere would end the process
        table = arrow.Table.from_batches([batch])
        for name, (kind, value) in beside.items():
            if name in self._schema.names:
                cells = arrow.repeat(arrow.scalar(value, getattr(arrow, kind)()), len(batch))
                table = table.append_column(name, cells)
        table = table.select(self._schema.names)
        kinds = zip(table.schema, self._schema, strict=True)
        for at, (found, wanted) in enumerate(kinds):
            if found.type != wanted.type:
                cells = table.column(at)
                is_coded = arrow.types.is_dictionary(wanted.type)
                cells = cells.cast(wanted.type.value_type if is_coded else wanted.type)
                cells = cells.dictionary_encode() if is_coded else cells
                table = table.set_column(at, wanted.name, cells)
        return table

    def _tried(self, path: Path, n_rows: int, work: Any, *args: Any) -> Any:
        """Return the result of some work, or raise a sentence that says where it failed."""
        try:
            return work(*args)
        except InputError:
            raise
        except (MemoryError, KeyboardInterrupt):
            raise
        except Exception as error:  # pyarrow raises what it likes
            self.files.check()
            where = f" behind row {n_rows:,}" if n_rows else ""
            raise InputError(
                f"{path} looks like {self.kind} but cannot be read{where} ({first_line(error)}): "
                "it may be cut short or damaged; make it again."
            ) from error


class ParquetReader(ArrowReader):
    """Parquet files."""

    kind = "Parquet"

    def _open(self, path: Path) -> Any:
        parquet = require("pyarrow.parquet", "Parquet files", "io")
        types = self._arrow.types
        schema = parquet.read_schema(path)
        text = [f.name for f in schema if types.is_string(f.type) or types.is_large_string(f.type)]
        return parquet.ParquetFile(
            path,
            read_dictionary=text,  # a text may occur very often
            pre_buffer=False,  # which would hold whole groups of rows
            buffer_size=_BUFFER,
            page_checksum_verification=True,
        )

    def _look(self, path: Path) -> tuple[Any, int, int]:
        with self._open(path) as file:
            metadata, schema = file.metadata, file.schema_arrow
            groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
            n_bytes = sum(group.total_byte_size for group in groups)
            index = _index_of_pandas(schema.metadata)
            coded = _coded(self._arrow, metadata.metadata)
        fields = []
        for field in schema:
            if field.name in index:
                continue
            if field.name in coded and not self._arrow.types.is_dictionary(field.type):
                kind = self._arrow.dictionary(self._arrow.int32(), field.type)
                field = self._arrow.field(field.name, kind)
            fields.append(field)
        return self._arrow.schema(fields), metadata.num_rows, n_bytes

    def _batches(self, path: Path, names: Sequence[str], n_rows: int) -> Iterator[Any]:
        with self._open(path) as file:
            yield from file.iter_batches(n_rows, columns=list(names))


class IpcReader(ArrowReader):
    """Arrow IPC (Feather) files and streams."""

    kind = "Arrow"

    def __init__(
        self,
        paths: Sequence[Path],
        title: str,
        root: Path | None,
        memory: int,
        only: Collection[str] = (),
    ) -> None:
        self._memory = memory
        self._mapped: set[Path] = set()
        super().__init__(paths, title, root, only)

    def _look(self, path: Path) -> tuple[Any, int, int]:
        schema, n_rows, n_bytes = None, 0, 0
        with self._arrow.memory_map(str(path)) as file:  # what is not compressed is not read
            reader = _ipc(self._arrow, file)
            schema = reader.schema
            for batch in _record_batches(reader):
                n_rows += batch.num_rows
                n_bytes += batch.nbytes
                if batch.nbytes > self._memory // 4:
                    self._mapped.add(path)  # a batch is more than memory may hold
        index = _index_of_pandas(schema.metadata)
        fields = [field for field in schema if field.name not in index]
        return self._arrow.schema(fields), n_rows, n_bytes

    def _batches(self, path: Path, names: Sequence[str], n_rows: int) -> Iterator[Any]:
        arrow = self._arrow
        is_mapped = path in self._mapped
        with arrow.memory_map(str(path)) if is_mapped else arrow.OSFile(str(path)) as file:
            for batch in _record_batches(_ipc(arrow, file, names)):
                batch = batch.select(names)
                for begin in range(0, batch.num_rows, n_rows):
                    yield batch.slice(begin, n_rows)


def _ipc(arrow: Any, file: Any, names: Sequence[str] | None = None) -> Any:
    """Open a file or a stream; of a file only the columns with these names."""
    is_file = file.read(6) == b"ARROW1"
    file.seek(0)
    if not is_file:
        return arrow.ipc.open_stream(file)
    reader = arrow.ipc.open_file(file)
    if names is None:
        return reader
    places = [reader.schema.names.index(name) for name in names]
    file.seek(0)
    options = arrow.ipc.IpcReadOptions(included_fields=sorted(places))
    return arrow.ipc.open_file(file, options=options)


def _record_batches(reader: Any) -> Iterator[Any]:
    if not hasattr(reader, "num_record_batches"):
        yield from reader
        return
    for at in range(reader.num_record_batches):
        yield reader.get_batch(at)


def in_steps(arrow: Any, tables: Iterable[Any], step: int) -> Iterator[Any]:
    """Yield the same rows in tables of `step` rows."""
    waiting: list[Any] = []
    n_waiting = 0
    for table in tables:
        while n_waiting + table.num_rows >= step:
            n_taken = step - n_waiting
            full = arrow.concat_tables([*waiting, table.slice(0, n_taken)])
            table, waiting, n_waiting = table.slice(n_taken), [], 0
            yield full
            del full
        if table.num_rows:
            waiting.append(table)
            n_waiting += table.num_rows
    if waiting:
        yield arrow.concat_tables(waiting)


def _common(arrow: Any, one: Any, other: Any) -> Any:
    """Return a type that cells of two types can have; None if there is none."""
    types = arrow.types
    if one == other or types.is_null(other):
        return one
    if types.is_null(one):
        return other
    for kind, beside in ((one, other), (other, one)):
        if types.is_dictionary(kind):
            values = beside.value_type if types.is_dictionary(beside) else beside
            inner = _common(arrow, kind.value_type, values)
            return None if inner is None else arrow.dictionary(arrow.int32(), inner)
    texts = (types.is_string, types.is_large_string)
    if all(any(is_text(kind) for is_text in texts) for kind in (one, other)):
        return arrow.large_string()
    numbers = (types.is_integer, types.is_floating, types.is_decimal)
    if all(any(is_number(kind) for is_number in numbers) for kind in (one, other)):
        return arrow.float64()
    return None


def _with_plain_codes(arrow: Any, schema: Any) -> Any:
    """Return a schema whose dictionaries have codes of one type."""
    for at, field in enumerate(schema):
        if arrow.types.is_dictionary(field.type):
            kind = arrow.dictionary(arrow.int32(), field.type.value_type)
            schema = schema.set(at, arrow.field(field.name, kind))
    return schema


def _index_of_pandas(metadata: Any) -> set[str]:
    """Return the columns that are the index of a pandas frame, which is no feature."""
    try:
        index = json.loads(metadata[b"pandas"])["index_columns"]
    except (TypeError, KeyError, ValueError):
        return set()
    return {one for one in index if isinstance(one, str)}


def _coded(arrow: Any, metadata: Any) -> set[str]:
    """Return the columns that were dictionaries when a file was written; Parquet forgets some."""
    try:
        written = base64.b64decode(metadata[b"ARROW:schema"])
        schema = arrow.ipc.read_schema(arrow.py_buffer(written))
    except Exception:  # only a hint
        return set()
    return {field.name for field in schema if arrow.types.is_dictionary(field.type)}


def _of_folders(paths: Sequence[Path], root: Path) -> dict[Path, dict[str, tuple[str, Any]]]:
    """Return the columns that the folders of files tell, such as ``year=2024``, with their type."""
    found: dict[Path, dict[str, Any]] = {}
    for path in paths:
        parts = [one.partition("=") for one in path.relative_to(root).parts[:-1] if "=" in one]
        found[path] = {
            unquote(name): None if value == _NO_VALUE else unquote(value)
            for name, _, value in parts
            if name
        }
    kinds: dict[str, str] = {}
    for name in set.intersection(*map(set, found.values())):
        values = {one[name] for one in found.values()}
        whole = all(value is not None and value.lstrip("-").isdecimal() for value in values)
        kinds[name] = "int64" if whole else "string"
    return {
        path: {
            name: (kind, int(one[name]) if kind == "int64" else one[name])
            for name, kind in kinds.items()
        }
        for path, one in found.items()
    }
