"""Tables from files or stdin: CSV, Parquet, Arrow, Excel.

The first bytes of a file tell its kind, so a pipe needs no name. Nothing here knows how a user
gives a `Format`: errors and remarks name its field in `setting`, and whoever reads a table adds how
to set it.
"""

from __future__ import annotations

import base64
import difflib
import gzip
import io
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fwkmeans._support.errors import InputError
from fwkmeans._support.files import open_bytes
from fwkmeans._support.optional import require
from fwkmeans._support.text import count, quoted
from fwkmeans._tabular.delimited import (
    BELOW,
    check_names,
    first_line,
    inferred,
    named_columns,
    read_delimited,
)
from fwkmeans._tabular.format import Format, Remarks

#: How files begin whose tables have names and types of their own.
BINARY = (b"PAR1", b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")


class ReadTable(NamedTuple):
    """A table, and what had to be guessed about it."""

    table: Any  # pyarrow.Table
    remarks: Remarks


def read_table(
    path: str, how: Format, text: Sequence[str] = (), *, keys: Sequence[str] = ()
) -> ReadTable:
    """Read a table from a file, or from stdin if `path` is ``-``.

    The columns `text` of a text file hold text, whatever it looks like; the types of the rest are
    inferred. Cells of the columns `keys` are kept to the letter, those that mean a missing cell
    included. The table is a pyarrow table with at least one row and distinct names.
    """
    return read_and_keep(path, how, text, keys=keys)[0]


def read_and_keep(
    path: str, how: Format, text: Sequence[str] = (), *, keys: Sequence[str] = ()
) -> tuple[ReadTable, Any]:
    """Do the same; also return the cells of a text file as they are written, None for others."""
    name, content = _open(path)
    remarks = Remarks()
    written = None
    with content:
        arrow = require("pyarrow", "Tables", "io")
        start = content.read(8)
        content.seek(0)
        if start.startswith(b"PAR1"):
            table = _read_parquet(name, content)
        elif start.startswith(BINARY):
            table = _read_arrow(name, content, start)
        elif start.startswith(b"PK\x03\x04"):
            table = _read_excel(name, content, how, text, keys, remarks)
        elif start.startswith(b"\xd0\xcf\x11\xe0"):
            raise InputError(f"{name} is an old Excel file (.xls): save it as .xlsx or CSV.")
        else:
            source = _decompressed(name, content, start, how)
            table, written = read_delimited(name, source, how, text, keys, remarks)
    check_names(name, table.column_names)
    if not table.num_rows:
        raise InputError(f"{name} has a header but no rows: there is nothing to cluster.")
    beside = {*text, *keys}
    columns = [
        column if title in beside else _without_numbers(arrow, column, how)
        for title, column in zip(
            table.column_names,
            (_of_common_type(arrow, column) for column in table.columns),
            strict=True,
        )
    ]
    table = arrow.Table.from_arrays(columns, names=table.column_names)
    return ReadTable(table, remarks), written


def _open(path: str) -> tuple[str, Any]:
    """Return the name of a table and a stream of its bytes."""
    if path == "-":
        if sys.stdin is None or sys.stdin.closed:
            raise InputError("stdin is closed: pipe a table into it, or give a file.")
        if sys.stdin.isatty():
            raise InputError("stdin is a terminal: pipe a table into it, or give a file.")
        return "stdin", io.BytesIO(sys.stdin.buffer.read())
    if not path:
        raise InputError("The name of the table is empty: give a file.")
    file = Path(path)
    if file.is_dir():
        raise InputError(f"{path} is a folder: give a file in it.")
    if not file.exists():
        names = [one.name for one in file.parent.iterdir()] if file.parent.is_dir() else []
        near = difflib.get_close_matches(file.name, names, n=1, cutoff=0.75)
        hint = f" Did you mean {file.parent / near[0]}?" if near else " Check the name."
        raise InputError(f"There is no file {path}.{hint}")
    return file.name, open_bytes(file)


def _of_common_type(arrow: Any, column: Any) -> Any:
    """Return a column of one of few types: dictionaries as what they stand for, and so on."""
    types, kind = arrow.types, column.type
    if types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
        if types.is_integer(kind):  # somebody said that these numbers are categories
            return column.cast(arrow.string())
    is_view = getattr(types, "is_string_view", lambda _: False)
    if types.is_large_string(kind) or is_view(kind):
        return column.cast(arrow.string())
    if types.is_decimal(kind) or types.is_float16(kind):
        return column.cast(arrow.float64())
    return column


def _without_numbers(arrow: Any, column: Any, how: Format) -> Any:
    """Return a column of numbers in which those that mean a missing cell are missing."""
    if not (arrow.types.is_integer(column.type) or arrow.types.is_floating(column.type)):
        return column
    compute = require("pyarrow.compute", "Tables", "io")
    for number in how.missing_numbers:
        try:
            is_missing = compute.equal(column, arrow.scalar(number).cast(column.type))
        except arrow.ArrowInvalid:  # such as 0.5 in a column of whole numbers
            continue
        column = compute.if_else(is_missing, arrow.scalar(None, column.type), column)
    return column


# ---- binary files -------------------------------------------------------------------------------


def _read_binary(name: str, kind: str, read: Callable[[Any], Any], content: Any) -> Any:
    """Return the table of a file, or raise a sentence that says why not.

    A damaged file may hold a table whose parts point outside of it, and whoever looks at those ends
    the process: everything is checked before.
    """
    try:
        table = read(content)
        table.validate(full=True)
    except Exception as error:  # pyarrow raises what it likes
        raise InputError(
            f"{name} looks like {kind} but cannot be read ({first_line(error)}): it may be "
            "cut short; make it again."
        ) from None
    return table


def _read_parquet(name: str, content: Any) -> Any:
    """Read the table, and categories that are numbers as dictionaries, which the format forgets."""
    arrow = require("pyarrow", "Parquet files", "io")
    parquet = require("pyarrow.parquet", "Parquet files", "io")
    table = _read_binary(name, "a Parquet file", parquet.read_table, content)
    content.seek(0)
    try:
        written = parquet.ParquetFile(content).metadata.metadata[b"ARROW:schema"]
        schema = arrow.ipc.read_schema(arrow.py_buffer(base64.b64decode(written)))
        coded = {field.name for field in schema if arrow.types.is_dictionary(field.type)}
    except Exception:  # only a hint
        return table
    columns = [
        values.dictionary_encode()
        if title in coded and not arrow.types.is_dictionary(values.type)
        else values
        for title, values in zip(table.column_names, table.columns, strict=True)
    ]
    return arrow.Table.from_arrays(columns, names=table.column_names)


def _read_arrow(name: str, content: Any, start: bytes) -> Any:
    if start.startswith(b"\xff\xff\xff\xff"):  # a stream
        stream = require("pyarrow", "Arrow files", "io").ipc.open_stream
        return _read_binary(name, "an Arrow stream", lambda c: stream(c).read_all(), content)
    feather = require("pyarrow.feather", "Arrow files", "io")
    return _read_binary(name, "an Arrow file", feather.read_table, content)


def _read_excel(
    name: str,
    content: Any,
    how: Format,
    text: Sequence[str],
    keys: Sequence[str],
    remarks: Remarks,
) -> Any:
    arrow = require("pyarrow", "Tables", "io")
    openpyxl = require("openpyxl", "Excel files", "excel")
    try:
        with zipfile.ZipFile(content) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        _check_unpacked(name, unpacked, how)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of colors and the like
            book = openpyxl.load_workbook(content, read_only=True, data_only=True)
            sheets = [sheet.title for sheet in book.worksheets]  # without charts
    except InputError:
        raise
    except Exception as error:  # openpyxl and zipfile raise what they like
        raise InputError(
            f"{name} is a zip archive but not an Excel file ({first_line(error)}): give a table."
        ) from None
    if not sheets:
        raise InputError(f"{name} has no sheet with cells: give a table.")
    if how.sheet is not None and how.sheet not in sheets:
        raise InputError(
            f"{name} has no sheet {how.sheet!r}: it has {quoted(sheets)}.", setting="sheet"
        )
    title = sheets[0] if how.sheet is None else how.sheet
    if how.sheet is None and len(sheets) > 1:
        remarks.about_table(
            f"Read the first sheet of {name}, {title!r}; it also has {quoted(sheets[1:], 4)}.",
            setting="sheet",
        )
    try:
        first, columns = _cells_of(book[title])
    except Exception as error:
        raise InputError(
            f"Sheet {title!r} of {name} cannot be read ({first_line(error)}): the file may be "
            "damaged; save it again."
        ) from None
    if not columns:
        raise InputError(f"Sheet {title!r} of {name} is empty: choose another.", setting="sheet")
    words = [str(first.get(at, "")) for at in columns]
    below = [[None if one is None else str(one) for one in own[:BELOW]] for own in columns.values()]
    names, is_header = named_columns(name, words, below, how, remarks, list(columns))
    if not is_header:
        columns = {at: [first.get(at), *own] for at, own in columns.items()}
    nameless = [one for at, one in zip(columns, names, strict=True) if at not in first]
    if nameless and is_header:
        remarks.about_table(
            f"The first row of sheet {title!r} names {count(len(first), 'column')} of "
            f"{len(names)}; the others are called {quoted(nameless, 3)}. If that row is a title, "
            "remove it."
        )
    check_names(name, names)
    as_they_are, made = {*text, *keys}, []
    for one, own in zip(names, columns.values(), strict=True):
        cells = _excel_column(arrow, own, () if one in keys else how.missing)
        if one not in as_they_are:
            cells = inferred(arrow, arrow.chunked_array([cells]), one, how, ";", remarks)
        made.append(cells)
    return arrow.Table.from_arrays(made, names=names)


def _cells_of(sheet: Any) -> tuple[dict[int, Any], dict[int, list[Any]]]:
    """Return the first row by the place of its cells, and the others of columns that have any.

    What the sheet says of its size is not believed: rows beyond it would be lost.
    """
    sheet.reset_dimensions()
    first: dict[int, Any] | None = None
    columns: dict[int, list[Any]] = {}
    n_rows = 0
    for row in sheet.iter_rows(values_only=True):
        filled = {at: cell for at, cell in enumerate(row) if cell is not None and cell != ""}
        if not filled:
            continue
        if first is None:
            first = filled
            columns = {at: [] for at in first}
            continue
        for at, cell in filled.items():
            own = columns.setdefault(at, [])
            own.extend([None] * (n_rows - len(own)))
            own.append(cell)
        n_rows += 1
    for own in columns.values():
        own.extend([None] * (n_rows - len(own)))
    return first or {}, dict(sorted(columns.items()))


def _excel_column(arrow: Any, cells: list[Any], missing: Sequence[str]) -> Any:
    """Return the cells as one type: that of all of them, or text."""
    cells = [None if isinstance(cell, str) and cell in missing else cell for cell in cells]
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float} and float in kinds:
        return arrow.array([None if cell is None else float(cell) for cell in cells])
    if len(kinds) < 2:
        try:
            return arrow.array(cells)
        except (arrow.ArrowException, OverflowError):  # such as whole numbers of 20 digits
            pass
    return arrow.array([None if cell is None else str(cell) for cell in cells])


def _decompressed(name: str, content: Any, start: bytes, how: Format) -> Any:
    """Return a stream of text in bytes."""
    if not start.startswith(b"\x1f\x8b"):
        return content
    unpacked = io.BytesIO()
    try:
        with gzip.GzipFile(fileobj=content) as packed:
            while piece := packed.read(1 << 24):
                _check_unpacked(name, unpacked.tell() + len(piece), how)
                unpacked.write(piece)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{name} cannot be unpacked ({first_line(error)}): it may be cut short; make it again."
        ) from None
    unpacked.seek(0)
    return unpacked


def _check_unpacked(name: str, n_bytes: int, how: Format) -> None:
    """Raise if a compressed file is larger than it may be; a few bytes can stand for very many."""
    if n_bytes > how.max_unpacked:
        raise InputError(
            f"{name} unpacks to more than {how.max_unpacked / 1e9:g} GB: if that is right, and "
            "memory holds it several times, raise the limit.",
            setting="max-unpacked",
            value=f"{10 * how.max_unpacked / 1e9:g}",
        )
