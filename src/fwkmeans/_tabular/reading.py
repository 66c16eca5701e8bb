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
import re
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from fwkmeans._support.errors import InputError
from fwkmeans._support.files import open_bytes
from fwkmeans._support.optional import require
from fwkmeans._support.text import count, quoted
from fwkmeans._tabular.delimited import (
    BELOW,
    distinct_columns,
    first_line,
    inferred,
    named_columns,
    read_delimited,
)
from fwkmeans._tabular.format import Format, Remarks
from fwkmeans._tabular.titles import tell_titles, title_rows

#: How files begin whose tables have names and types of their own.
BINARY = (b"PAR1", b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")


#: In a sheet: numbers of rows, formulas without a value, and where a cell is.
_ROW_NUMBER = re.compile(rb'<(?:\w+:)?row\b[^>]*?\sr="(\d{1,20})"')
_NOT_COMPUTED = re.compile(
    rb"<(?:\w+:)?c\b([^>]*)>\s*<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_PLACE = re.compile(rb'\br="([A-Z]{1,3}\d{1,7})"')
_MOST_ROWS = 1 << 20  # of a sheet


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
        require("pyarrow", "Tables", "io")
        start = content.read(8)
        content.seek(0)
        if start.startswith(b"PAR1"):
            table = _read_parquet(name, content, how)
        elif start.startswith(BINARY):
            table = _read_arrow(name, content, start, how)
        elif start.startswith(b"PK\x03\x04"):
            table = _read_excel(name, content, how, text, keys, remarks)
        elif start.startswith(b"\xd0\xcf\x11\xe0"):
            raise InputError(f"{name} is an old Excel file (.xls): save it as .xlsx or CSV.")
        else:
            source = _decompressed(name, content, start, how)

            def check_size(n_bytes: int) -> None:
                if source is not content:
                    _check_unpacked(name, n_bytes, how)

            table, written = read_delimited(name, source, how, text, keys, remarks, check_size)
    names = table.column_names
    if len(set(names)) < len(names):
        table = table.rename_columns(distinct_columns(name, names, remarks))
    if not table.num_rows:
        raise InputError(f"{name} has a header but no rows: there is nothing to cluster.")
    return ReadTable(in_common_types(table, how, {*text, *keys}), remarks), written


def in_common_types(table: Any, how: Format, beside: Collection[str] = ()) -> Any:
    """Return a table whose columns are of few types, and numbers that mean a missing cell missing.

    The columns `beside` keep such numbers.
    """
    arrow = require("pyarrow", "Tables", "io")
    columns = [_of_common_type(arrow, column) for column in table.columns]
    numbers = how.missing_numbers
    if numbers:
        columns = [
            column if title in beside else _without_numbers(arrow, column, numbers)
            for title, column in zip(table.column_names, columns, strict=True)
        ]
    return arrow.Table.from_arrays(columns, names=table.column_names)


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
    if file.is_char_device() or file.is_block_device():  # some never end
        raise InputError(f"{path} is a device: give a file, or pipe a table into -.")
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


def _without_numbers(arrow: Any, column: Any, numbers: Sequence[float]) -> Any:
    """Return a column of numbers in which those that mean a missing cell are missing."""
    if not (arrow.types.is_integer(column.type) or arrow.types.is_floating(column.type)):
        return column
    compute = require("pyarrow.compute", "Tables", "io")
    for number in numbers:
        try:
            is_missing = compute.equal(column, arrow.scalar(number).cast(column.type))
        except arrow.ArrowInvalid:  # such as 0.5 in a column of whole numbers
            continue
        column = compute.if_else(is_missing, arrow.scalar(None, column.type), column)
    return column


# ---- binary files -------------------------------------------------------------------------------


def _read_binary(
    name: str, kind: str, read: Callable[[Any], Any], content: Any, how: Format
) -> Any:
    """Return the table of a file, or raise a sentence that says why not.

    A damaged file may hold a table whose parts point outside of it, and whoever looks at those ends
    the process: everything is checked before.
    """
    try:
        table = read(content)
        table.validate(full=True)
        _check_unpacked(name, sum(map(_text_of_codes, table.columns)), how)
    except InputError:
        raise
    except Exception as error:  # pyarrow raises what it likes
        raise InputError(
            f"{name} looks like {kind} but cannot be read ({first_line(error)}): it may be "
            "cut short; make it again."
        ) from None
    return table


def _text_of_codes(column: Any) -> int:
    """Return how many bytes a column of coded text takes once it is written out; else 0."""
    arrow, compute = (require(one, "Tables", "io") for one in ("pyarrow", "pyarrow.compute"))
    types, n_bytes = arrow.types, 0
    if types.is_dictionary(column.type):
        kind = column.type.value_type
        if types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind):
            for chunk in column.chunks:
                lengths = compute.binary_length(chunk.dictionary).cast(arrow.int64())
                n_bytes += compute.sum(lengths.take(chunk.indices)).as_py() or 0
    return n_bytes


def _read_parquet(name: str, content: Any, how: Format) -> Any:
    """Read the table, and categories that are numbers as dictionaries, which the format forgets."""
    arrow = require("pyarrow", "Parquet files", "io")
    parquet = require("pyarrow.parquet", "Parquet files", "io")

    def read(content: Any) -> Any:
        file = parquet.ParquetFile(content)
        # to ask more of damaged metadata may end the process
        n_cells = file.metadata.num_rows * file.metadata.num_columns
        _check_unpacked(name, 8 * n_cells, limited)
        text = [field.name for field in file.schema_arrow if arrow.types.is_string(field.type)]
        content.seek(0)
        # a text may occur very often, and two columns may have one name, as datasets must not
        return parquet.ParquetFile(content, read_dictionary=text).read()

    limited = _in_proportion(how, content)
    table = _read_binary(name, "a Parquet file", read, content, limited)
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


def _read_arrow(name: str, content: Any, start: bytes, how: Format) -> Any:
    arrow = require("pyarrow", "Arrow files", "io")
    feather = require("pyarrow.feather", "Arrow files", "io")
    limited = _in_proportion(how, content)
    if start.startswith(b"FEA1"):  # never compressed
        return _read_binary(name, "an Arrow file", feather.read_table, content, limited)
    is_stream = start.startswith(b"\xff\xff\xff\xff")

    def read(content: Any) -> Any:
        if is_stream:
            reader = arrow.ipc.open_stream(content)
            found = iter(reader)
        else:
            reader = arrow.ipc.open_file(content)
            found = (reader.get_batch(at) for at in range(reader.num_record_batches))
        batches, n_bytes = [], 0
        for batch in found:
            n_bytes += batch.get_total_buffer_size()
            _check_unpacked(name, n_bytes, limited)
            batches.append(batch)
        return arrow.Table.from_batches(batches, reader.schema)

    kind = f"an Arrow {'stream' if is_stream else 'file'}"
    return _read_binary(name, kind, read, content, limited)


def _in_proportion(how: Format, content: Any) -> Format:
    """Return the format with a limit that fits the size of the file: a large file may be large."""
    size = content.seek(0, io.SEEK_END)
    content.seek(0)
    return how._replace(max_unpacked=max(how.max_unpacked, 20 * size))


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
        archive = zipfile.ZipFile(content)
        _check_unpacked(name, sum(member.file_size for member in archive.infolist()), how)
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
        # what openpyxl does not tell is looked for in the sheet itself
        xml = archive.read(book[title]._worksheet_path)
        _check_row_numbers(xml)
        first, columns, above = _cells_of(book[title], how.skip)
    except Exception as error:
        raise InputError(
            f"Sheet {title!r} of {name} cannot be read ({first_line(error)}): the file may be "
            "damaged; save it again."
        ) from None
    if not columns:
        raise InputError(f"Sheet {title!r} of {name} is empty: choose another.", setting="sheet")
    tell_titles(f"sheet {title!r}", len(above), above[0] if above else "", "row", remarks)
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
    names = distinct_columns(name, names, remarks)
    _tell_formulas(xml, title, dict(zip(columns, names, strict=True)), remarks)
    as_they_are, made = {*text, *keys}, []
    for one, own in zip(names, columns.values(), strict=True):
        cells = column_of_cells(arrow, own, () if one in keys else how.missing)
        if one not in as_they_are:
            cells = inferred(arrow, arrow.chunked_array([cells]), one, how, ";", remarks)
        made.append(cells)
    return arrow.Table.from_arrays(made, names=names)


def _cells_of(
    sheet: Any, skip: int | None
) -> tuple[dict[int, Any], dict[int, list[Any]], list[str]]:
    """Return the header by the place of its cells, the cells of columns that have any, and titles.

    What the sheet says of its size is not believed: rows beyond it would be lost.
    """
    sheet.reset_dimensions()
    rows = (
        {at: cell for at, cell in enumerate(row) if cell is not None and cell != ""}
        for row in islice(sheet.iter_rows(values_only=True), skip or 0, None)
    )
    filled = filter(None, rows)
    begin = list(islice(filled, BELOW))
    above: list[str] = []
    if skip is None:
        n = title_rows([[str(cell) for cell in row.values()] for row in begin])
        above = [" ".join(map(str, row.values())) for row in begin[:n]]
    first: dict[int, Any] | None = None
    columns: dict[int, list[Any]] = {}
    n_rows = 0
    for row in chain(begin[len(above) :], filled):
        if first is None:
            first = row
            columns = {at: [] for at in first}
            continue
        for at, cell in row.items():
            own = columns.setdefault(at, [])
            own.extend([None] * (n_rows - len(own)))
            own.append(cell)
        n_rows += 1
    for own in columns.values():
        own.extend([None] * (n_rows - len(own)))
    return first or {}, dict(sorted(columns.items())), above


def _check_row_numbers(xml: bytes) -> None:
    """Raise unless the rows of a sheet are numbered upwards, as far as numbers go.

    openpyxl drops a row whose number came before, and makes an empty one of each that is left out.
    """
    numbers = [int(number) for number in _ROW_NUMBER.findall(xml)]
    for before, number in pairwise([0, *numbers]):
        if not before < number <= _MOST_ROWS:
            raise ValueError(f"row {before} is followed by row {number}")


def _tell_formulas(xml: bytes, title: str, names: Mapping[int, str], remarks: Remarks) -> None:
    """Remember formulas that no program has computed: they have no value."""
    from openpyxl.utils.cell import coordinate_to_tuple

    cells = [
        place.group(1).decode()
        for attributes in _NOT_COMPUTED.findall(xml)
        if b't="str"' not in attributes and (place := _PLACE.search(attributes))
    ]
    if cells:
        at = {coordinate_to_tuple(cell)[1] - 1 for cell in cells}
        columns = [names[one] for one in sorted(at) if one in names]
        where = f" of column{'s' * (len(columns) > 1)} {quoted(columns, 3)}" if columns else ""
        few = ", ".join(cells[:3]) + ", ..." * (len(cells) > 3)
        remarks.about_table(
            f"Sheet {title!r}: {count(len(cells), 'formula')}{where} ({few}) "
            f"{'were' if len(cells) > 1 else 'was'} never computed and counted as missing: open "
            "the file in a spreadsheet program and save it."
        )


def column_of_cells(arrow: Any, cells: list[Any], missing: Sequence[str]) -> Any:
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
            f"{name} unpacks to more than {how.max_unpacked / 1e9:g} GB (with 8 bytes a cell): if "
            "that is right, and memory holds it several times, raise the limit.",
            setting="max-unpacked",
            value=f"{10 * how.max_unpacked / 1e9:g}",
        )
