"""Tables written as text: separators, numbers the way people write them, types of columns.

A file is parsed once, every cell as text; columns then become what all of their cells can be read
as.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from fwkmeans._support.errors import InputError
from fwkmeans._support.optional import require
from fwkmeans._support.text import count, quoted, shortened
from fwkmeans._tabular.format import Format, Remarks

SEPARATORS = {",": "','", ";": "';'", "\t": "tab", "|": "'|'"}
HEAD = 1 << 18  # bytes looked at to guess the separator
LONGEST = 100_000  # characters of a line looked at; Python's csv has a limit for those of a cell
MOST_BYTES = (1 << 31) - 1  # that pyarrow takes at once

#: A number whose zeros in front would be lost: a code.
_CODE = r"^-?0\d+$"
_PLAIN = r"^-?\d+(\.\d+)?$"
_THOUSANDS = r"^-?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$"
_SEVERAL = r"^-?[1-9]\d{0,2}(,\d{3}){2,}(\.\d+)?$"
_DECIMAL_COMMA = r"^-?\d+,\d+$"
_WHOLE = r"^-?\d+$"
_TIME = r"^\d\d:\d\d(:\d\d)?$"
_PERCENT = r"^-?\d+([.,]\d+)?[ \x{a0}\x{202f}]?%$"


def has_thousands(text: str) -> bool:
    """Tell whether a text is a number with commas between thousands.

    Examples
    --------
    >>> has_thousands("12,345.6"), has_thousands("1,5")
    (True, False)
    """
    return re.match(_THOUSANDS, text) is not None


def check_names(name: str, columns: Sequence[str]) -> None:
    """Raise if two columns have the same name."""
    twice = [one for one, times in Counter(columns).items() if times > 1]
    if twice:
        advice = "; if its first row is data, put a row of names above it" * look_like_data(columns)
        raise InputError(
            f"{name} has several columns named {quoted(twice)}: give every column a name of its "
            f"own{advice}."
        )


def look_like_data(names: Sequence[str]) -> bool:
    """Tell whether most names are numbers, other than whole ones in their order, such as years.

    Examples
    --------
    >>> look_like_data(["5.1", "3.5", "setosa"]), look_like_data(["land", "1990", "2000"])
    (True, False)
    """
    numbers = [one for one in names if re.fullmatch(r"[-+]?\d+([.,]\d+)?", one.strip())]
    if 2 * len(numbers) < max(1, len(names)):
        return False
    whole = [int(one) for one in numbers if one.strip("-+ ").isdecimal()]
    return len(whole) < len(numbers) or any(a >= b for a, b in pairwise(whole))


def first_line(error: Exception) -> str:
    """Return the first line of what an error says, without a period."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0].rstrip(".")


def read_delimited(
    name: str,
    content: Any,
    how: Format,
    text: Sequence[str],
    keys: Sequence[str],
    remarks: Remarks,
    check_size: Callable[[int], None],
) -> Any:
    """Return a table from a stream of text in bytes; for the parameters see `read_table`.

    `check_size` raises if a table of so many bytes is too large.
    """
    arrow = require("pyarrow", "CSV files", "io")
    data = _as_utf8(name, content.read(), how.encoding)
    lines = _first_lines(name, data)
    sep = _guess_separator(lines) if how.sep is None else how.sep
    check_size(len(data) + 8 * (data.obj.count(sep.encode()) + data.obj.count(b"\n")))
    cells = _parse(name, data, sep, lines)
    _check_end(name, data, cells.columns[-1][-1].as_py())
    others = [one for one in SEPARATORS if one in lines[0]]
    if cells.num_columns == 1 and others:
        raise InputError(
            f"{name} has one column if cells are separated by {_named(sep)}, but its header holds "
            f"{_named(others[0])}: give another separator, or none.",
            setting="sep",
        )
    header = [column[0].as_py() for column in cells.columns]
    check_names(name, header)
    as_they_are, as_text = set(keys), set(text)
    columns = []
    texts = cells.slice(1).columns[::-1]
    del data, cells  # what is done with need not stay in memory
    for column in header:
        values = texts.pop()
        values = arrow.chunked_array([values.combine_chunks()], type=values.type)
        if column not in as_they_are:
            values = _with_missing(arrow, values, how.missing)
            if column not in as_text:
                values = _inferred(arrow, values, column, how, sep, remarks)
                _doubt_quotes(arrow, values, column, sep, remarks)
        columns.append(values)
    return arrow.Table.from_arrays(columns, names=header)


def _named(sep: str) -> str:
    return SEPARATORS.get(sep, repr(sep))


def _as_utf8(name: str, data: bytes, encoding: str) -> Any:
    """Return text in bytes as UTF-8 without a mark at its beginning."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) and encoding == "utf-8":
        raise InputError(
            f"{name} is text in UTF-16: give its encoding, or save it as UTF-8.",
            setting="encoding",
            value="utf-16",
        )
    if b"\x00" in data[:HEAD] and "16" not in encoding and "32" not in encoding:
        raise InputError(
            f"{name} is neither text nor a file of a known kind: give CSV (also .gz), Parquet, "
            "Arrow or Excel (.xlsx)."
        )
    try:
        "".encode(encoding)  # raises for what encodes bytes, such as hex
        if codecs.lookup(encoding).name != "utf-8":
            data = data.decode(encoding).encode("utf-8")
    except UnicodeDecodeError as error:
        byte = error.object[error.start : error.start + 1]
        raise _wrong_encoding(name, encoding, bytes(byte)) from None
    except UnicodeError:
        raise _wrong_encoding(name, encoding) from None
    except (LookupError, ValueError):
        raise InputError(
            f"There is no encoding {encoding!r}; try utf-8 or latin-1.", setting="encoding"
        ) from None
    start = 0
    while data.startswith(codecs.BOM_UTF8, start):
        start += len(codecs.BOM_UTF8)
    return memoryview(data)[start:]


def _first_lines(name: str, data: memoryview) -> list[str]:
    """Return the first lines of a text that are not empty; the last may be cut short."""
    head = bytes(data[:HEAD])
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head, final=len(data) <= HEAD)
    except UnicodeDecodeError as error:
        raise _wrong_encoding(name, "utf-8", head[error.start : error.start + 1]) from None
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    lines = [line for line in lines if line.strip()]
    if not lines:
        raise InputError(f"{name} is empty: give a table with a header and rows.")
    return lines


def _wrong_encoding(name: str, encoding: str, byte: bytes = b"") -> InputError:
    holds = f" (it holds the byte 0x{byte.hex()})" if byte else ""
    return InputError(
        f"{name} is not text in {encoding}{holds}: give its encoding, or save it as UTF-8.",
        setting="encoding",
        value="latin-1" if encoding == "utf-8" else "utf-8",
    )


def _guess_separator(lines: Sequence[str]) -> str:
    """Return the separator that cuts most lines into as many cells as the header, and into most."""
    shown = [line[:LONGEST] for line in lines[:100]]

    def quality(sep: str) -> tuple[float, int]:
        try:
            counts = [len(row) for row in csv.reader(shown, delimiter=sep) if row]
        except csv.Error:  # a quote that does not end
            return (0.0, 0)
        same = sum(one == counts[0] for one in counts) / len(counts)
        return (0.0, 0) if counts[0] < 2 else (round(same, 1), counts[0])

    return max(SEPARATORS, key=quality)


def _parse(name: str, data: memoryview, sep: str, lines: Sequence[str]) -> Any:
    """Return the header and the rows as one table of text, no cell missing."""
    arrow, reader = (require(one, "CSV files", "io") for one in ("pyarrow", "pyarrow.csv"))
    n_columns = lines[0].count(sep) + 1  # as text: at least so many, and as many as there are
    block_size = max(1 << 20, 1000 * len(lines[0]))
    while True:
        invalid: list[Any] = []

        def refuse(row: Any, invalid: list[Any] = invalid) -> str:
            invalid.append(row)
            return "error"

        try:
            cells = reader.read_csv(
                arrow.BufferReader(arrow.py_buffer(data)),
                read_options=reader.ReadOptions(
                    autogenerate_column_names=True, block_size=min(block_size, MOST_BYTES)
                ),
                parse_options=reader.ParseOptions(
                    delimiter=sep, newlines_in_values=True, invalid_row_handler=refuse
                ),
                convert_options=reader.ConvertOptions(
                    column_types={f"f{v}": arrow.string() for v in range(n_columns)},
                    strings_can_be_null=False,
                ),
            )
        except arrow.ArrowInvalid as error:
            if "straddling" in str(error) and block_size < min(len(data) + 1, MOST_BYTES):
                block_size = len(data) + 1  # a row is longer than a block
                continue
            if "UTF8" in str(error):
                raise _wrong_encoding(name, "utf-8") from None
            if invalid:
                raise _wrong_row(name, invalid[0], sep, lines[0]) from None
            reason = first_line(error)
            if "Empty CSV" in reason:
                reason = "its first row does not end; is there a single quote?"
            raise InputError(
                f"{name} cannot be read as CSV ({reason}): check it, or give the separator.",
                setting="sep",
            ) from None
        if cells.num_columns <= n_columns:
            return cells
        n_columns = cells.num_columns


def _check_end(name: str, data: memoryview, last: str) -> None:
    """Raise if the last cell is a quote that does not end, and therefore the rest of the file."""
    raw = f'"{last.replace(chr(34), chr(34) * 2)}'.encode()
    if "\n" in last and data[-len(raw) :] == raw:
        raise InputError(
            f"{name} has a quote that does not end, before {shortened(last, 43, mark='...')!r}: "
            "everything behind it is one cell. Close the quote, or remove it."
        )


def _doubt_quotes(arrow: Any, cells: Any, column: str, sep: str, remarks: Remarks) -> None:
    """Remember cells that look like several rows, as when a quote ends at the next one."""
    if not arrow.types.is_string(cells.type):
        return
    compute = require("pyarrow.compute", "CSV files", "io")
    several = compute.match_substring_regex(cells, rf"\n[^\n]*{re.escape(sep)}")
    if compute.any(several).as_py():
        shown = shortened(cells.filter(several)[0].as_py(), 43, mark="...")
        remarks.about_table(
            f"Column {column!r}: the cell {shown!r} has several lines; if they are rows, a quote "
            "is missing."
        )


def _wrong_row(name: str, row: Any, sep: str, header: str) -> InputError:
    title = ""
    if row.actual_columns > row.expected_columns and row.number in (None, 2):
        title = f" If the first line ({shortened(header, 43, mark='...')!r}) is a title, remove it."
    return InputError(
        f"{name} has a row of {count(row.actual_columns, 'cell')} where the header has "
        f"{row.expected_columns} (separator {_named(sep)}): "
        f"{shortened(row.text, 43, mark='...')!r}.{title} "
        "Repair the row, quote cells that hold the separator, or give another one.",
        setting="sep",
    )


# ---- what the cells of a column are -------------------------------------------------------------


def _with_missing(arrow: Any, cells: Any, missing: Sequence[str]) -> Any:
    compute = require("pyarrow.compute", "CSV files", "io")
    if not arrow.types.is_string(cells.type):
        return cells
    is_missing = compute.is_in(cells, value_set=arrow.array(missing, type=arrow.string()))
    if not compute.any(is_missing).as_py():
        return cells
    return compute.if_else(is_missing, arrow.scalar(None, arrow.string()), cells)


def _inferred(arrow: Any, cells: Any, column: str, how: Format, sep: str, remarks: Remarks) -> Any:
    """Return a column of text as numbers, truth values or dates if all of its cells are."""
    compute = require("pyarrow.compute", "CSV files", "io")
    if not arrow.types.is_string(cells.type):
        return cells
    if cells.null_count == len(cells):
        return arrow.chunked_array([arrow.nulls(len(cells))])
    typed = _cast(arrow, compute, cells, how.decimal or ".")
    if typed is not None and arrow.types.is_temporal(typed.type):
        return typed
    if typed is not None and compute.any(compute.match_substring_regex(cells, _CODE)).as_py():
        remarks.about_column(
            column,
            "numbers with zeros in front are taken as codes, that is, as categories.",
            setting="numeric",
        )
        return cells
    if typed is not None:
        return typed
    written = _numbers_of_people(compute, cells, how, sep)
    if written is None:
        return cells
    numbers, remark, setting, value = written
    remarks.about_column(column, remark, setting=setting, value=value)
    return numbers.cast(arrow.float64())


def _cast(arrow: Any, compute: Any, cells: Any, decimal: str) -> Any:
    """Return the cells as the first type that all of them have; None if there is none."""
    cells = compute.ascii_trim(cells, " \t")
    if _is_a_word(cells[0].as_py()):  # every failure below takes its time
        return None
    numbers = cells
    if decimal != ".":  # then a point is no part of a number
        numbers = compute.replace_substring_regex(cells, r"[.]", "?")
        numbers = compute.replace_substring(numbers, decimal, ".")
    moments = (arrow.date32(), arrow.timestamp("ns"), arrow.timestamp("ns", "UTC"))
    for kind in (arrow.int64(), arrow.float64(), arrow.bool_(), *moments):
        texts = numbers if arrow.types.is_floating(kind) else cells
        try:
            texts.slice(0, 100).cast(kind)  # a million of errors would take long
            return texts.cast(kind)
        except arrow.ArrowInvalid:
            continue
    if compute.all(compute.match_substring_regex(cells, _TIME)).as_py():
        return compute.binary_join_element_wise("1970-01-01", cells, " ").cast(moments[1])
    return None


def _is_a_word(cell: str | None) -> bool:
    """Tell whether a cell is surely no number, truth value, date or time."""
    return (
        cell is not None
        and not any("0" <= one <= "9" for one in cell)
        and cell.strip("+-").lower() not in ("nan", "inf", "infinity", "true", "false")
    )


def _numbers_of_people(
    compute: Any, cells: Any, how: Format, sep: str
) -> tuple[Any, str, str | None, str | None] | None:
    """Return cells of text as what can be cast to numbers, what they are, and who decides that."""

    def every(*patterns: str) -> bool:
        matches = [compute.match_substring_regex(cells, one) for one in patterns]
        either = matches[0] if len(matches) == 1 else compute.or_(*matches)
        return bool(compute.all(either).as_py())

    def some(pattern: str) -> bool:
        return bool(compute.any(compute.match_substring_regex(cells, pattern)).as_py())

    with_points = compute.replace_substring(cells, ",", ".")
    if some("%") and every(_PERCENT):
        plain = compute.replace_substring_regex(with_points, r"[ \x{a0}\x{202f}]?%$", "")
        return plain, "cells such as 45% were read as the number 45.", None, None
    if not some(","):
        return None
    commas = sep != "," and how.decimal is None and every(_DECIMAL_COMMA, _WHOLE)
    thousands = how.decimal != "," and every(_THOUSANDS, _PLAIN)
    if thousands and (not commas or sep != ";" or some(_SEVERAL)):
        remark = "commas were taken as separators of thousands (1,234 is 1234)."
        return compute.replace_substring(cells, ",", ""), remark, None, None
    if commas:
        remark = "commas were taken as decimal commas, so 1,5 is 1.5; a decimal point keeps text."
        return with_points, remark, "decimal", "."
    return None
