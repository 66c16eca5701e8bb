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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fwkmeans._support.errors import InputError
from fwkmeans._support.optional import require
from fwkmeans._support.text import quoted
from fwkmeans._tabular.delimited import check_names, first_line, read_delimited
from fwkmeans._tabular.format import Format, Remarks


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
    name, content = _open(path)
    remarks = Remarks()
    with content:
        arrow = require("pyarrow", "Tables", "io")
        start = content.read(8)
        content.seek(0)
        if start.startswith(b"PAR1"):
            table = _read_parquet(name, content)
        elif start.startswith((b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")):
            table = _read_arrow(name, content, start)
        elif start.startswith(b"PK\x03\x04"):
            table = _read_excel(name, content, how, keys, remarks)
        elif start.startswith(b"\xd0\xcf\x11\xe0"):
            raise InputError(f"{name} is an old Excel file (.xls): save it as .xlsx or CSV.")
        else:
            source = _decompressed(name, content, start)
            table = read_delimited(name, source, how, text, keys, remarks)
    check_names(name, table.column_names)
    if not table.num_rows:
        raise InputError(f"{name} has a header but no rows: there is nothing to cluster.")
    columns = [_of_common_type(arrow, column) for column in table.columns]
    return ReadTable(arrow.Table.from_arrays(columns, names=table.column_names), remarks)


def _open(path: str) -> tuple[str, Any]:
    """Return the name of a table and a stream of its bytes."""
    if path == "-":
        if sys.stdin.isatty():
            raise InputError("stdin is a terminal: pipe a table into it, or give a file.")
        return "stdin", io.BytesIO(sys.stdin.buffer.read())
    file = Path(path)
    if file.is_dir():
        raise InputError(f"{path} is a folder: give a file in it.")
    if not file.exists():
        names = [one.name for one in file.parent.iterdir()] if file.parent.is_dir() else []
        near = difflib.get_close_matches(file.name, names, n=1, cutoff=0.75)
        hint = f" Did you mean {file.parent / near[0]}?" if near else " Check the name."
        raise InputError(f"There is no file {path}.{hint}")
    return file.name, file.open("rb")


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


# ---- binary files -------------------------------------------------------------------------------


def _read_binary(name: str, kind: str, read: Callable[[Any], Any], content: Any) -> Any:
    arrow = require("pyarrow", f"{kind} files", "io")
    try:
        return read(content)
    except (arrow.ArrowException, OSError) as error:
        raise InputError(
            f"{name} looks like a {kind} file but cannot be read ({first_line(error)}): it may be "
            "cut short; make it again."
        ) from None


def _read_parquet(name: str, content: Any) -> Any:
    """Read the table, and categories that are numbers as dictionaries, which the format forgets."""
    arrow = require("pyarrow", "Parquet files", "io")
    parquet = require("pyarrow.parquet", "Parquet files", "io")
    table = _read_binary(name, "Parquet", parquet.read_table, content)
    content.seek(0)
    file = _read_binary(name, "Parquet", parquet.ParquetFile, content)
    written = (file.metadata.metadata or {}).get(b"ARROW:schema")
    if written is None:
        return table
    try:
        schema = arrow.ipc.read_schema(arrow.py_buffer(base64.b64decode(written)))
    except (arrow.ArrowException, OSError, ValueError):  # only a hint
        return table
    for field in schema:
        at = table.schema.get_field_index(field.name)
        if at >= 0 and arrow.types.is_dictionary(field.type):
            values = table.column(at)
            if not arrow.types.is_dictionary(values.type):
                table = table.set_column(at, field.name, values.dictionary_encode())
    return table


def _read_arrow(name: str, content: Any, start: bytes) -> Any:
    if start.startswith(b"\xff\xff\xff\xff"):  # a stream
        stream = require("pyarrow", "Arrow files", "io").ipc.open_stream
        return _read_binary(name, "Arrow stream", lambda c: stream(c).read_all(), content)
    feather = require("pyarrow.feather", "Arrow files", "io")
    return _read_binary(name, "Arrow", feather.read_table, content)


def _read_excel(name: str, content: Any, how: Format, keys: Sequence[str], remarks: Remarks) -> Any:
    arrow = require("pyarrow", "Tables", "io")
    openpyxl = require("openpyxl", "Excel files", "excel")
    try:
        book = openpyxl.load_workbook(content, read_only=True, data_only=True)
    except Exception as error:  # openpyxl and zipfile raise what they like
        raise InputError(
            f"{name} is a zip archive but not an Excel file ({first_line(error)}): give a table."
        ) from None
    sheets = book.sheetnames
    if how.sheet is not None and how.sheet not in sheets:
        raise InputError(
            f"{name} has no sheet {how.sheet!r}: it has {quoted(sheets)}.", setting="sheet"
        )
    sheet = book[sheets[0] if how.sheet is None else how.sheet]
    if how.sheet is None and len(sheets) > 1:
        remarks.about_table(
            f"Read the first sheet of {name}, {sheet.title!r}; it also has "
            f"{quoted(sheets[1:], 4)}.",
            setting="sheet",
        )
    rows = [row for row in sheet.iter_rows(values_only=True) if any(c is not None for c in row)]
    if not rows:
        raise InputError(
            f"Sheet {sheet.title!r} of {name} is empty: choose another.", setting="sheet"
        )
    width = max(len(row) for row in rows)
    header, *body = [list(row) + [None] * (width - len(row)) for row in rows]
    columns = {}
    for at, title in enumerate(header):
        cells = [row[at] for row in body]
        if title is not None or any(cell is not None for cell in cells):
            columns[at] = f"column {at + 1}" if title is None else str(title), cells
    return arrow.Table.from_arrays(
        [
            _excel_column(arrow, cells, () if title in keys else how.missing)
            for title, cells in columns.values()
        ],
        names=[title for title, _ in columns.values()],
    )


def _excel_column(arrow: Any, cells: list[Any], missing: Sequence[str]) -> Any:
    """Return the cells as one type: that of all of them, or text."""
    cells = [None if isinstance(cell, str) and cell in missing else cell for cell in cells]
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float} and float in kinds:
        return arrow.array(cells, type=arrow.float64())
    if len(kinds) > 1:
        cells = [None if cell is None else str(cell) for cell in cells]
    return arrow.array(cells)


def _decompressed(name: str, content: Any, start: bytes) -> Any:
    """Return a stream of text in bytes."""
    if not start.startswith(b"\x1f\x8b"):
        return content
    try:
        return io.BytesIO(gzip.decompress(content.read()))
    except (OSError, EOFError) as error:
        raise InputError(
            f"{name} cannot be unpacked ({first_line(error)}): it may be cut short; make it again."
        ) from None
