"""Tables from files or stdin: CSV, Parquet, Arrow, Excel.

The kind of a file is told by its first bytes, so a pipe needs no name.
"""

from __future__ import annotations

import base64
import csv
import difflib
import gzip
import importlib
import io
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fwkmeans._support.text import InputError, count, listing

__all__ = ["Format", "Remarks", "has_thousands", "need", "read_table"]

SEPARATORS = (",", ";", "\t", "|")
SEPARATOR_NAMES = {",": "','", ";": "';'", "\t": "tab", "|": "'|'"}
#: Texts that mean a missing cell, unless others are given.
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None")
HEAD = 1 << 18  # bytes looked at to guess the separator

#: A number whose zeros in front would be lost: a code.
_CODE = r"^-?0\d+$"
_PLAIN = r"^-?\d+(\.\d+)?$"
_THOUSANDS = r"^-?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$"
_SEVERAL = r"^-?[1-9]\d{0,2}(,\d{3}){2,}(\.\d+)?$"
_DECIMAL_COMMA = r"^-?\d+,\d+$"
_WHOLE = r"^-?\d+$"
_PERCENT = r"^-?\d+([.,]\d+)?[ \x{a0}\x{202f}]?%$"


class Format(NamedTuple):
    """How a file is to be read, where that is not to be guessed."""

    sep: str | None = None
    decimal: str | None = None
    encoding: str = "utf-8"
    sheet: str | None = None
    missing: Sequence[str] = MISSING


class Remarks:
    """What was guessed while a table was read.

    Attributes
    ----------
    general : list of str
        Sentences about the table.
    columns : dict of str to list of str
        For the end of a sentence the columns that it is about.
    """

    def __init__(self) -> None:
        self.general: list[str] = []
        self.columns: dict[str, list[str]] = {}

    def about(self, column: str, what: str) -> None:
        """Remember something about a column."""
        self.columns.setdefault(what, []).append(column)

    def sentences(self, used: Sequence[str]) -> list[str]:
        """Return the sentences, of columns only those that are used."""
        told = []
        for what, columns in self.columns.items():
            names = [column for column in columns if column in used]
            if names:
                told.append(f"Column{'s' if len(names) > 1 else ''} {listing(names, 5)}: {what}")
        return [*self.general, *told]


def need(module: str, what: str, extra: str) -> Any:
    """Import an optional package, or raise a sentence that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ImportError(
            f"{what} need {package}, which is not installed: pip install 'fwkmeans[{extra}]'."
        ) from None


def read_table(
    path: str,
    how: Format,
    text: Sequence[str] = (),
    *,
    keys: Sequence[str] = (),
    remarks: Remarks | None = None,
) -> Any:
    """Read a table.

    Parameters
    ----------
    path : str
        A file, or ``-`` for stdin.
    how : Format
        What the user said about it.
    text : sequence of str, default=()
        Columns of a text file that hold text, whatever it looks like; the rest is inferred.
    keys : sequence of str, default=()
        Columns whose cells are kept to the letter, those that mean a missing cell included.
    remarks : Remarks or None, default=None
        Gets what was guessed.

    Returns
    -------
    table : pyarrow.Table
        With at least one row, and names that differ.
    """
    name, content = _open(path)
    remarks = Remarks() if remarks is None else remarks
    with content:
        arrow = need("pyarrow", "Tables", "io")
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
            table = _read_text(name, source, how, text, keys, remarks)
    _check_names(name, table.column_names)
    if not table.num_rows:
        raise InputError(f"{name} has a header but no rows: there is nothing to cluster.")
    return arrow.Table.from_arrays(
        [_plain(arrow, column) for column in table.columns], names=table.column_names
    )


def _open(path: str) -> tuple[str, Any]:
    """Return the name of a table and a stream of its bytes."""
    if path == "-":
        if sys.stdin.isatty():
            raise InputError("- reads a table from a pipe, as in: cat table.csv | fwkmeans fit -.")
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


def _plain(arrow: Any, column: Any) -> Any:
    """Return a column of one of few types: dictionaries as what they stand for, and so on."""
    kind = column.type
    if arrow.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
        if arrow.types.is_integer(kind):  # somebody said that these numbers are categories
            return column.cast(arrow.string())
    if arrow.types.is_large_string(kind) or getattr(arrow.types, "is_string_view", lambda _: False)(
        kind
    ):
        return column.cast(arrow.string())
    if arrow.types.is_decimal(kind) or arrow.types.is_float16(kind):
        return column.cast(arrow.float64())
    return column


def _check_names(name: str, columns: Sequence[str]) -> None:
    twice = [one for one, times in Counter(columns).items() if times > 1]
    if twice:
        raise InputError(
            f"{name} has several columns named {listing(twice)}: give every column a name of its "
            "own."
        )


# ---- binary files -------------------------------------------------------------------------------


def _binary(name: str, kind: str, module: str, function: str, content: Any) -> Any:
    read = getattr(need(module, f"{kind} files", "io"), function)
    arrow = need("pyarrow", f"{kind} files", "io")
    try:
        return read(content)
    except (arrow.ArrowException, OSError) as error:
        raise InputError(
            f"{name} looks like a {kind} file but cannot be read ({_first_line(error)}): it may be "
            "cut short; make it again."
        ) from None


def _read_parquet(name: str, content: Any) -> Any:
    """Read the table, and categories that are numbers as dictionaries, which the format forgets."""
    table = _binary(name, "Parquet", "pyarrow.parquet", "read_table", content)
    arrow = need("pyarrow", "Parquet files", "io")
    content.seek(0)
    file = _binary(name, "Parquet", "pyarrow.parquet", "ParquetFile", content)
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
        arrow = need("pyarrow", "Arrow files", "io")
        try:
            return arrow.ipc.open_stream(content).read_all()
        except (arrow.ArrowException, OSError) as error:
            raise InputError(
                f"{name} looks like an Arrow stream but cannot be read ({_first_line(error)})."
            ) from None
    return _binary(name, "Arrow", "pyarrow.feather", "read_table", content)


def _read_excel(name: str, content: Any, how: Format, keys: Sequence[str], remarks: Remarks) -> Any:
    arrow = need("pyarrow", "Tables", "io")
    openpyxl = need("openpyxl", "Excel files", "excel")
    try:
        book = openpyxl.load_workbook(content, read_only=True, data_only=True)
    except Exception as error:  # openpyxl and zipfile raise what they like
        raise InputError(
            f"{name} is a zip archive but no Excel file ({_first_line(error)}): give a table."
        ) from None
    if how.sheet is not None and how.sheet not in book.sheetnames:
        raise InputError(
            f"{name} has no sheet {how.sheet!r}: it has {listing(book.sheetnames)} (--sheet)."
        )
    sheet = book[book.sheetnames[0] if how.sheet is None else how.sheet]
    if how.sheet is None and len(book.sheetnames) > 1:
        others = listing(book.sheetnames[1:], 4)
        remarks.general.append(
            f"Read the first sheet of {name}, {sheet.title!r}; it also has {others} (--sheet)."
        )
    rows = [row for row in sheet.iter_rows(values_only=True) if any(c is not None for c in row)]
    if not rows:
        raise InputError(f"Sheet {sheet.title!r} of {name} is empty: choose another with --sheet.")
    width = max(len(row) for row in rows)
    header, *body = [list(row) + [None] * (width - len(row)) for row in rows]
    used = [
        at
        for at in range(width)
        if header[at] is not None or any(row[at] is not None for row in body)
    ]
    names = [str(header[at]) if header[at] is not None else f"column {at + 1}" for at in used]
    missing = [() if one in keys else how.missing for one in names]
    columns = [
        _excel_column(arrow, [row[at] for row in body], texts)
        for at, texts in zip(used, missing, strict=True)
    ]
    return arrow.Table.from_arrays(columns, names=names)


def _excel_column(arrow: Any, cells: list[Any], missing: Sequence[str]) -> Any:
    """Return the cells as one type: that of all of them, or text."""
    cells = [None if isinstance(cell, str) and cell in missing else cell for cell in cells]
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float} and float in kinds:
        return arrow.array(cells, type=arrow.float64())
    if len(kinds) > 1:
        cells = [None if cell is None else str(cell) for cell in cells]
    return arrow.array(cells)


# ---- text files ---------------------------------------------------------------------------------


def _decompressed(name: str, content: Any, start: bytes) -> Any:
    """Return a stream of text in bytes."""
    if not start.startswith(b"\x1f\x8b"):
        return content
    try:
        return io.BytesIO(gzip.decompress(content.read()))
    except (OSError, EOFError) as error:
        raise InputError(
            f"{name} cannot be unpacked ({_first_line(error)}): it may be cut short; make it again."
        ) from None


def _read_text(
    name: str,
    content: Any,
    how: Format,
    text: Sequence[str],
    keys: Sequence[str],
    remarks: Remarks,
) -> Any:
    head = content.read(HEAD)
    content.seek(0)
    lines = _lines(name, head, how.encoding)
    sep = _separator(lines) if how.sep is None else how.sep
    header = next(csv.reader([f"{line}\n" for line in lines], delimiter=sep))  # may be several
    _check_names(name, header)
    others = [one for one in SEPARATORS if one in lines[0]]
    if len(header) == 1 and others:
        given = SEPARATOR_NAMES.get(sep, repr(sep))
        raise InputError(
            f"{name} has one column if cells are separated by {given}, but its header holds "
            f"{SEPARATOR_NAMES[others[0]]}: change or leave out --sep."
        )
    keys = [one for one in keys if one in header]
    table = _parsed(name, content, how, sep, header, [*text, *keys])
    _check_text(name, table, how)
    table = _with_codes(name, table, content, how, sep, header, remarks)
    table = _with_numbers(table, how, sep, [*text, *keys], remarks)
    if keys:
        exact = _parsed(name, content, how, sep, header, keys, only=keys, verbatim=True)
        for one in keys:
            table = table.set_column(table.column_names.index(one), one, exact[one])
    return table


def _with_codes(
    name: str, table: Any, content: Any, how: Format, sep: str, header: list[str], remarks: Remarks
) -> Any:
    """Return the table with codes such as 01003 as text."""
    arrow, compute = need("pyarrow", "CSV files", "io"), need("pyarrow.compute", "CSV files", "io")
    numbers = [
        one
        for one in table.column_names
        if arrow.types.is_integer(table[one].type) or arrow.types.is_floating(table[one].type)
    ]
    if not numbers:
        return table
    texts = _parsed(name, content, how, sep, header, numbers, only=numbers)
    for one in numbers:
        if compute.any(compute.match_substring_regex(texts[one], _CODE)).as_py():
            table = table.set_column(table.column_names.index(one), one, texts[one])
            remarks.about(
                one,
                "numbers with zeros in front are taken as codes, that is as categories (--numeric "
                "takes them as numbers).",
            )
    return table


def _with_numbers(table: Any, how: Format, sep: str, text: Sequence[str], remarks: Remarks) -> Any:
    """Return the table with numbers that are written in ways of people as numbers."""
    arrow, compute = need("pyarrow", "CSV files", "io"), need("pyarrow.compute", "CSV files", "io")
    for at, one in enumerate(table.column_names):
        if one in text or not arrow.types.is_string(table[one].type):
            continue
        cells = table[one]
        found = _number_texts(compute, cells, how, sep)
        if found is not None:
            texts, what = found
            table = table.set_column(at, one, texts.cast(arrow.float64()))
            remarks.about(one, what)
    return table


def _number_texts(compute: Any, cells: Any, how: Format, sep: str) -> tuple[Any, str] | None:
    """Return cells of text as what can be cast to numbers, and what they are; None if not."""

    def every(*patterns: str) -> bool:
        matches = [compute.match_substring_regex(cells, one) for one in patterns]
        both = matches[0] if len(matches) == 1 else compute.or_(*matches)
        return bool(compute.all(both).as_py())

    def some(pattern: str) -> bool:
        return bool(compute.any(compute.match_substring_regex(cells, pattern)).as_py())

    if some("%") and every(_PERCENT):
        plain = compute.replace_substring_regex(cells, r"[ \x{a0}\x{202f}]?%$", "")
        return (
            compute.replace_substring(plain, ",", "."),
            "cells such as 45% were read as the number 45.",
        )
    if not some(","):
        return None
    commas = sep != "," and how.decimal is None and every(_DECIMAL_COMMA, _WHOLE)
    thousands = how.decimal != "," and every(_THOUSANDS, _PLAIN)
    if thousands and (not commas or sep != ";" or some(_SEVERAL)):
        return (
            compute.replace_substring(cells, ",", ""),
            "commas were taken as separators of thousands (1,234 is 1234).",
        )
    if commas:
        return (
            compute.replace_substring(cells, ",", "."),
            "commas were taken as decimal commas (1,5 is 1.5; --decimal . keeps them as text).",
        )
    return None


def has_thousands(text: str) -> bool:
    """Tell whether a text is a number with commas between thousands.

    Examples
    --------
    >>> has_thousands("12,345.6"), has_thousands("1,5")
    (True, False)
    """
    return re.match(_THOUSANDS, text) is not None


def _lines(name: str, head: bytes, encoding: str) -> list[str]:
    """Return the first lines of a text file that are not empty."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) and encoding == "utf-8":
        raise InputError(f"{name} is text in UTF-16: add --encoding utf-16, or save it as UTF-8.")
    if b"\x00" in head and "16" not in encoding and "32" not in encoding:
        raise InputError(
            f"{name} is neither text nor a file of a known kind: give CSV (also .gz), Parquet, "
            "Arrow or Excel (.xlsx)."
        )
    whole = len(head) < HEAD
    try:
        text = head.decode(encoding) if whole else head[: head.rfind(b"\n") + 1].decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(_not_text(name, encoding, head[error.start : error.start + 1])) from None
    except LookupError:
        raise InputError(f"--encoding {encoding}: unknown; try utf-8 or latin-1.") from None
    lines = [line for line in text.lstrip("\ufeff").splitlines() if line.strip()]
    if not lines:
        raise InputError(f"{name} is empty: give a table with a header and rows.")
    return lines


def _not_text(name: str, encoding: str, byte: bytes) -> str:
    other = "latin-1" if encoding == "utf-8" else "utf-8"
    return (
        f"{name} is not text in {encoding} (it holds the byte 0x{byte.hex()}): add "
        f"--encoding {other}, or save it as UTF-8."
    )


def _separator(lines: Sequence[str]) -> str:
    """Return the separator that cuts most lines into as many cells as the header, and into most."""

    def quality(sep: str) -> tuple[float, int]:
        counts = [len(row) for row in csv.reader(lines[:100], delimiter=sep) if row]
        same = sum(one == counts[0] for one in counts) / len(counts)
        return (0.0, 0) if counts[0] < 2 else (round(same, 1), counts[0])

    return max(SEPARATORS, key=quality)


def _parsed(
    name: str,
    content: Any,
    how: Format,
    sep: str,
    header: list[str],
    text: Sequence[str],
    *,
    only: Sequence[str] = (),
    verbatim: bool = False,
) -> Any:
    """Parse the text; a column whose type turns out to be wrong later on is read as text."""
    arrow, reader = need("pyarrow", "CSV files", "io"), need("pyarrow.csv", "CSV files", "io")
    chosen = {column: arrow.string() for column in text if column in header}
    invalid: list[Any] = []

    def refuse(row: Any) -> str:
        invalid.append(row)
        return "error"

    while True:
        content.seek(0)
        invalid.clear()
        try:
            return reader.read_csv(
                io.BytesIO(content.read()),
                read_options=reader.ReadOptions(encoding=how.encoding),
                parse_options=reader.ParseOptions(
                    delimiter=sep,
                    newlines_in_values=True,
                    invalid_row_handler=refuse,
                ),
                convert_options=reader.ConvertOptions(
                    column_types=chosen,
                    include_columns=list(only),
                    strings_can_be_null=not verbatim,
                    null_values=list(how.missing),
                    decimal_point=how.decimal or ".",
                ),
            )
        except arrow.ArrowInvalid as error:
            at = re.match(r"In CSV column #(\d+): (?!.*UTF8)", str(error))
            column = header[int(at[1])] if at is not None else None
            if column is not None and chosen.get(column) != arrow.string():
                whole = "to int64" in str(error) and column not in chosen
                chosen[column] = arrow.float64() if whole else arrow.string()
                continue
            raise InputError(_parse_error(name, error, invalid, sep, header)) from None
        except UnicodeDecodeError as error:
            raise InputError(_not_text(name, how.encoding, error.object[:1])) from None


def _parse_error(
    name: str, error: Exception, invalid: list[Any], sep: str, header: list[str]
) -> str:
    if "UTF8" in str(error):
        return f"{name} is not text in UTF-8: add --encoding latin-1, or save it as UTF-8."
    if not invalid:
        return f"{name} cannot be read as CSV ({_first_line(error)}): check it, or give --sep."
    row = invalid[0]
    text = " ".join(str(row.text).split())
    shown = text if len(text) <= 40 else f"{text[:40]}..."
    if row.actual_columns > len(header) and row.number in (None, 2):
        title = f" If the first line ({listing(header, 2)}) is a title, remove it."
    else:
        title = ""
    return (
        f"{name} has a row of {count(row.actual_columns, 'cell')} where the header has "
        f"{len(header)} (separator {SEPARATOR_NAMES.get(sep, repr(sep))}): {shown!r}. "
        f"Repair the row, quote cells that hold the separator, or give another --sep.{title}"
    )


def _check_text(name: str, table: Any, how: Format) -> None:
    """Raise if the text was not what it seemed to be."""
    arrow = need("pyarrow", "CSV files", "io")
    for column, values in zip(table.column_names, table.columns, strict=True):
        if arrow.types.is_binary(values.type):
            raise InputError(
                f"Column {column!r} of {name} is not text in {how.encoding}: add --encoding "
                "latin-1, or save it as UTF-8."
            )


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0].rstrip(".")
