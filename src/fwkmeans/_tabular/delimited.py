"""Tables written as text: separators, numbers the way people write them, types of columns.

A file is parsed once, every cell as text; columns then become what all of their cells can be read
as.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fwkmeans._support.errors import InputError
from fwkmeans._support.optional import require
from fwkmeans._support.text import count, distinct_names, quoted, shortened
from fwkmeans._tabular.dates import read_dates
from fwkmeans._tabular.encodings import (
    encoding_of_mark,
    is_sure,
    language_of,
    odd_lines,
    readings,
    said_of,
)
from fwkmeans._tabular.format import MISSING, Format, Remarks, Style
from fwkmeans._tabular.numerals import as_people_write
from fwkmeans._tabular.titles import after_lines, tell_titles, title_lines

SEPARATORS = {",": "','", ";": "';'", "\t": "tab", "|": "'|'"}
HEAD = 1 << 18  # bytes looked at to guess the separator
LONGEST = 100_000  # characters of a line looked at; Python's csv has a limit for those of a cell
MOST_BYTES = (1 << 31) - 1  # that pyarrow takes at once
#: Columns of text; each takes some 20 KB before it has a cell.
MOST_COLUMNS = 100_000

#: Rows below the first that tell whether it holds names.
BELOW = 200

#: What people write among numbers where there is none, and spreadsheets where one failed.
MARKS = {
    *("-", "--", "---", "–", "—", ".", "..", "...", "?"),
    *("na", "n.a.", "n. a.", "n/a", "nan", "<na>", "k.a.", "k. a.", "null", "none", "nil"),
    *("#n/a", "#na", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!"),
}

#: A number whose zeros in front would be lost: a code.
_CODE = r"^-?0\d+$"
#: A number with nothing but digits, a sign, a point and an exponent.
_PLAIN = r"^-?(\d+|\d*\.\d+)([eE][-+]?\d+)?$"
#: Columns beyond which many are looked at together, if they have at most so many rows.
MANY_COLUMNS, FEW_ROWS, CELLS_AT_A_TIME = 50, 5000, 1 << 18
_NUMBER = re.compile(r"[-+]?(\d+([.,]\d+)*|\.\d+)(e[-+]?\d+)?%?", re.IGNORECASE)


def distinct_columns(name: str, columns: Sequence[str], remarks: Remarks) -> list[str]:
    """Return different names of columns: one that comes again gets a number, and a remark."""
    found = distinct_names(columns, "{}_{}")
    changed = [one for one, before in zip(found, columns, strict=True) if one != before]
    if changed:
        twice = [one for one, times in Counter(columns).items() if times > 1]
        others = "the second is" if len(changed) == 1 else "those that come again are"
        remarks.about_table(
            f"{name} has several columns named {quoted(twice, 3)}: {others} called "
            f"{quoted(changed, 3)}."
        )
    return found


def look_like_data(names: Sequence[str], below: Sequence[Sequence[str | None]] = ()) -> bool:
    """Tell whether a first row is data, not names: it looks like the rows below it.

    Whole numbers in their order, such as years, may be names, unless they are just two: any two
    numbers that rise are in order. Without rows below, most of the names must be numbers.

    Examples
    --------
    >>> look_like_data(["5.1", "3.5", "setosa"]), look_like_data(["land", "1990", "2000"])
    (True, False)
    >>> look_like_data(["5", "b"], [["7", "9", "1"], ["b", "a", "b"]])
    True
    """
    numbers = [one for one in names if _NUMBER.fullmatch(one.strip())]
    whole = [int(one) for one in numbers if one.strip("-+ ").isdecimal()]
    steps = {b - a for a, b in pairwise(whole)}
    in_order = len(numbers) > 1 and len(whole) == len(numbers) and min(steps) > 0
    if not below:
        return bool(numbers) and 2 * len(numbers) >= len(names) and not in_order
    is_number = [_NUMBER.fullmatch(one.strip()) is not None for one in names]
    if any(_are_numbers(cells) for cells, no in zip(below, is_number, strict=True) if not no):
        return False  # a name above numbers
    numeric = sum(_are_numbers(cells) for cells, yes in zip(below, is_number, strict=True) if yes)
    if numeric:
        several = min(numeric, len(names) - 1) > 1
        return not (in_order and len(steps) == 1 and several)
    again = [names[at] in cells for at, cells in enumerate(below) if names[at]]
    return len(names) > 1 and len(again) == len(names) and 2 * sum(again) > len(names)


def _are_numbers(cells: Sequence[str | None]) -> bool:
    """Tell whether nearly all cells that are filled are numbers."""
    filled = [one.strip() for one in cells if one is not None and one.strip() not in MISSING]
    return bool(filled) and sum(map(bool, map(_NUMBER.fullmatch, filled))) >= 0.9 * len(filled)


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
    """Return a table from a stream of text in bytes, and the same table with cells of text.

    For the parameters see `read_table`. `check_size` raises if a table of so many bytes is too
    large.
    """
    data = content.read()
    encoding = how.encoding or encoding_of_mark(data[:4])
    if encoding is not None:
        return _read_text(name, data, encoding, how, text, keys, remarks, check_size)
    try:
        return _read_text(name, data, "utf-8", how, text, keys, remarks, check_size)
    except WrongEncodingError as error:
        encoding = guessed_encoding(name, [data], error, remarks)
    return _read_text(name, data, encoding, how, text, keys, remarks, check_size)


def guessed_encoding(name: str, pieces: Iterable[bytes], error: Exception, remarks: Remarks) -> str:
    """Return what a text that is not in UTF-8 is in, or raise a question if it may be several."""
    found = readings(odd_lines(pieces))
    if not is_sure(found):
        raise InputError(f"{error}{said_of(found)}", setting="encoding") from None
    encoding = found[0].encoding
    remarks.about_table(
        f"{name} is not text in UTF-8, so it was read as {language_of(encoding)} ({encoding}).",
        setting="encoding",
    )
    return encoding


class WrongEncodingError(InputError):
    """Bytes that are no text in an encoding."""


def _read_text(
    name: str,
    content: bytes,
    encoding: str,
    how: Format,
    text: Sequence[str],
    keys: Sequence[str],
    remarks: Remarks,
    check_size: Callable[[int], None],
) -> Any:
    arrow = require("pyarrow", "CSV files", "io")
    data = as_utf8(name, content, encoding)
    data = after_lines(data, lines_to_skip(name, data, how, remarks))
    lines = first_lines(name, data)
    sep = guess_separator(lines) if how.sep is None else how.sep
    check_width(name, sep, (bytes(data[at : at + HEAD]) for at in range(0, len(data), HEAD)))
    remarks.style = style_of(content, sep, encoding, how)
    check_size(len(data) + 8 * (data.obj.count(sep.encode()) + data.obj.count(b"\n")))
    cells = _parse(name, data, sep, lines)
    refuse_open_quote(name, partial(_last_bytes, data), cells.columns[-1][-1].as_py())
    if cells.num_columns == 1:
        wrong_separator(name, sep, lines[0])
    header = [column[0].as_py() for column in cells.columns]
    below = [column.slice(1, BELOW).to_pylist() for column in cells.columns]
    header, is_header = named_columns(name, header, below, how, remarks)
    header = distinct_columns(name, header, remarks)
    as_they_are, as_text = set(keys), set(text)
    columns = []
    written = cells.slice(int(is_header)).rename_columns(header)
    del data, cells  # what is done with need not stay in memory
    plain = {}
    if how.decimal in (None, "."):
        plain = plain_numbers(arrow, written, as_they_are | as_text, how.missing)
    for column, values in zip(header, written.columns, strict=True):
        if column in plain:
            columns.append(plain[column])
            continue
        values = arrow.chunked_array([values.combine_chunks()], type=values.type)
        if column not in as_they_are:
            values = with_missing(arrow, values, how.missing)
            if column not in as_text:
                values = inferred(arrow, values, column, how, sep, remarks)
                doubt_quotes(arrow, values, column, sep, remarks)
        columns.append(values)
    return arrow.Table.from_arrays(columns, names=header), written


def lines_to_skip(name: str, data: memoryview, how: Format, remarks: Remarks) -> int:
    """Return how many lines stand before the table in a text, and remember if that is a guess."""
    if how.skip is not None:
        return how.skip
    lines = _lines_of(name, data)
    n = title_lines(lines, SEPARATORS if how.sep is None else (how.sep,))
    tell_titles(name, n, next((one for one in lines if one.strip()), ""), "line", remarks)
    return n


def style_of(start: bytes, sep: str, encoding: str, how: Format) -> Style:
    """Return how a file is written that begins so.

    Text that is not in UTF-8 is written in it, with the mark that spreadsheets look for.
    """
    is_other = codecs.lookup(encoding).name not in ("utf-8", "ascii")
    return Style(sep, how.decimal or ".", is_other or start.startswith(codecs.BOM_UTF8))


def named_columns(
    name: str,
    first: Sequence[str],
    below: Sequence[Sequence[str | None]],
    how: Format,
    remarks: Remarks,
    places: Sequence[int] | None = None,
) -> tuple[list[str], bool]:
    """Return the names of the columns, and whether the first row holds them.

    Columns without a name are called by their place, counted from 0 in `places`.
    """
    is_data = look_like_data(first, below) if how.header is None else not how.header
    given = given_names(places or range(len(first)))
    if is_data:
        if how.header is None:
            remarks.about_table(
                f"The first row of {name} ({quoted(first, 3)}) looks like data, so the columns are "
                f"called {given[0]!r} to {given[-1]!r}; if it holds names, say so.",
                setting="header",
            )
        return given, False
    if how.header is None and look_like_data(first):
        remarks.about_table(
            f"The first row of {name} ({quoted(first, 3)}) was taken as the names of the columns; "
            "if it is data, say so.",
            setting="no-header",
        )
    return [one or given[at] for at, one in enumerate(first)], True


def given_names(places: Sequence[int]) -> list[str]:
    """Return names for columns that have none: their place, counted from 0 in `places`."""
    return [f"column {at + 1}" for at in places]


def wrong_separator(name: str, sep: str, header: str) -> None:
    """Raise if a table of one column seems to have several with another separator."""
    others = [one for one in SEPARATORS if one in header]
    if others:
        raise InputError(
            f"{name} has one column if cells are separated by {_named(sep)}, but its header holds "
            f"{_named(others[0])}: give another separator, or none.",
            setting="sep",
        )


def _named(sep: str) -> str:
    return SEPARATORS.get(sep, repr(sep))


def as_utf8(name: str, data: bytes, encoding: str) -> Any:
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
        raise wrong_encoding(name, encoding, bytes(byte)) from None
    except UnicodeError:
        raise wrong_encoding(name, encoding) from None
    except (LookupError, ValueError):
        raise InputError(
            f"There is no encoding {encoding!r}; try utf-8 or cp1252.", setting="encoding"
        ) from None
    start = 0
    while data.startswith(codecs.BOM_UTF8, start):
        start += len(codecs.BOM_UTF8)
    return memoryview(data)[start:]


def first_lines(name: str, data: memoryview) -> list[str]:
    """Return the first lines of a text that are not empty; the last may be cut short."""
    lines = [line for line in _lines_of(name, data) if line.strip()]
    if not lines:
        raise InputError(f"{name} is empty: give a table with a header and rows.")
    return lines


def _lines_of(name: str, data: memoryview) -> list[str]:
    head = bytes(data[:HEAD])
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head, final=len(data) <= HEAD)
    except UnicodeDecodeError as error:
        raise wrong_encoding(name, "utf-8", head[error.start : error.start + 1]) from None
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def wrong_encoding(name: str, encoding: str, byte: bytes = b"") -> InputError:
    """Return the error that bytes are no text in an encoding."""
    holds = f" (it holds the byte 0x{byte.hex()})" if byte else ""
    return WrongEncodingError(
        f"{name} is not text in {encoding}{holds}: give its encoding, or save it as UTF-8.",
        setting="encoding",
        value=None if encoding == "utf-8" else "utf-8",
    )


def guess_separator(lines: Sequence[str]) -> str:
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


def check_width(name: str, sep: str, pieces: Iterable[bytes]) -> None:
    """Raise if the first line of a text has more cells than a table may have columns."""
    n_columns = 1
    for piece in pieces:
        start = piece.lstrip(b"\r\n") if n_columns == 1 else piece
        end = min((at for at in map(start.find, (b"\n", b"\r")) if at >= 0), default=-1)
        n_columns += start.count(sep.encode(), 0, len(start) if end < 0 else end)
        if end >= 0:
            break
    if n_columns > MOST_COLUMNS:
        raise InputError(
            f"The first line of {name} has {n_columns:,} cells, and a table of text may have "
            f"{MOST_COLUMNS:,} columns: exchange rows and columns if they are the wrong way round, "
            "or give numbers as .npy."
        )


def _parse(name: str, data: memoryview, sep: str, lines: Sequence[str]) -> Any:
    """Return the header and the rows as one table of text, no cell missing."""
    arrow, reader = (require(one, "CSV files", "io") for one in ("pyarrow", "pyarrow.csv"))
    n_columns = lines[0].count(sep) + 1  # as text: at least so many, and as many as there are
    block_size = min(max(1 << 20, 1000 * len(lines[0])), len(data) + 1)
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
                raise wrong_encoding(name, "utf-8") from None
            if invalid:
                raise wrong_row(name, invalid[0], sep, lines[0]) from None
            reason = first_line(error)
            if "Empty CSV" in reason:
                reason = why_empty(lines[0])
            raise InputError(
                f"{name} cannot be read as CSV ({reason}): check it, or give the separator.",
                setting="sep",
            ) from None
        if cells.num_columns <= n_columns:
            return cells
        n_columns = cells.num_columns


def why_empty(line: str) -> str:
    """Return why there is not a single row in a text that begins with a line."""
    if '"' in line:
        return "its first row does not end; is there a single quote?"
    return "it holds a single line, not a header and rows"


def _last_bytes(data: memoryview, n: int) -> bytes:
    return bytes(data[-n:])


def refuse_open_quote(
    name: str, tail: Callable[[int], bytes], last: str, encoding: str = "utf-8"
) -> None:
    """Raise if the last cell is a quote that does not end, and therefore the rest of the file.

    ``tail(n)`` returns the last n bytes of the file; it is called if the cell has several lines.
    """
    if "\n" not in last:
        return
    raw = f'"{last.replace(chr(34), chr(34) * 2)}'
    end = tail(len(f'{raw}"\r\n'.encode(encoding))).decode(encoding, "ignore")
    if end.endswith(raw) and not end.rstrip("\r\n").endswith(f'{raw}"'):
        raise InputError(
            f"{name} has a quote that does not end, before {shortened(last, 43, mark='...')!r}: "
            "everything behind it is one cell. Close the quote, or remove it."
        )


def doubt_quotes(arrow: Any, cells: Any, column: str, sep: str, remarks: Remarks) -> None:
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


def wrong_row(name: str, row: Any, sep: str, header: str) -> InputError:
    """Return the error that a row has more or fewer cells than the header."""
    title, where, setting, value = "", "", "sep", None
    if row.number is not None:
        where = f" in line {row.number:,}"
    if row.actual_columns > row.expected_columns and row.number in (None, 2):
        title = f" If the first line ({shortened(header, 43, mark='...')!r}) is a title, skip it."
        setting, value = "skip", "1"
    return InputError(
        f"{name} has a row of {count(row.actual_columns, 'cell')}{where} where the header has "
        f"{row.expected_columns} (separator {_named(sep)}): "
        f"{shortened(row.text, 43, mark='...')!r}.{title} "
        "Repair the row, quote cells that hold the separator, or give another one.",
        setting=setting,
        value=value,
    )


# ---- what the cells of a column are -------------------------------------------------------------


def plain_numbers(
    arrow: Any, table: Any, beside: Collection[str], missing: Sequence[str]
) -> dict[str, Any]:
    """Return columns of text whose cells are all plain numbers, some with a point, as numbers.

    They are what `inferred` makes of them, found at once for many columns of few rows; the columns
    `beside` are passed over.
    """
    compute = require("pyarrow.compute", "CSV files", "io")
    n_rows = table.num_rows
    columns = {one: v for v, one in enumerate(table.column_names) if one not in beside}
    if len(columns) < MANY_COLUMNS or not 0 < n_rows <= FEW_ROWS:
        return {}
    at_a_time = CELLS_AT_A_TIME // n_rows
    found = {}
    names = list(columns)
    for first in range(0, len(names), at_a_time):
        some = names[first : first + at_a_time]
        chunks = [chunk for one in some for chunk in table.column(columns[one]).chunks]
        cells = compute.ascii_trim(with_missing(arrow, arrow.concat_arrays(chunks), missing), " \t")
        is_plain, is_whole, is_code = (
            compute.match_substring_regex(cells, one) for one in (_PLAIN, r"^-?\d+$", _CODE)
        )
        is_plain = compute.and_not(is_plain, is_code)
        all_plain = _by_column(compute.fill_null(is_plain, True), n_rows).all(axis=1)
        some_not_whole = ~_by_column(compute.fill_null(is_whole, True), n_rows).all(axis=1)
        at = np.flatnonzero(all_plain & some_not_whole).tolist()
        if at:
            chosen = arrow.concat_arrays([cells.slice(v * n_rows, n_rows) for v in at])
            with contextlib.suppress(arrow.ArrowInvalid):  # a number such as 1e999
                numbers = chosen.cast(arrow.float64())
                for j, v in enumerate(at):
                    own = numbers.slice(j * n_rows, n_rows)
                    found[some[v]] = arrow.chunked_array([own])
    return found


def _by_column(answers: Any, n_rows: int) -> NDArray[np.bool_]:
    return np.asarray(answers.to_numpy(zero_copy_only=False)).reshape(-1, n_rows)


def with_missing(arrow: Any, cells: Any, missing: Sequence[str]) -> Any:
    """Return a column in which texts that mean a missing cell are missing."""
    compute = require("pyarrow.compute", "CSV files", "io")
    if not arrow.types.is_string(cells.type):
        return cells
    is_missing = compute.is_in(cells, value_set=_texts(tuple(missing)))
    if not compute.any(is_missing).as_py():
        return cells
    return compute.if_else(is_missing, arrow.scalar(None, arrow.string()), cells)


@cache
def _texts(texts: tuple[str, ...]) -> Any:
    arrow = require("pyarrow", "CSV files", "io")
    return arrow.array(texts, type=arrow.string())


def inferred(arrow: Any, cells: Any, column: str, how: Format, sep: str, remarks: Remarks) -> Any:
    """Return a column of text as numbers, truth values or dates if all of its cells are.

    Among numbers and dates, marks such as - or n.a. are missing cells.
    """
    if not arrow.types.is_string(cells.type):
        return cells
    typed = _inferred(arrow, cells, column, how, sep, remarks)
    if not arrow.types.is_string(typed.type):
        return typed
    marks = [one for one in cells.unique().to_pylist() if one and one.strip().lower() in MARKS]
    if not marks:
        return typed
    without = with_missing(arrow, cells, marks)
    if without.null_count == len(without):
        return typed
    typed = _inferred(arrow, without, column, how, sep, remarks)
    if arrow.types.is_string(typed.type) or arrow.types.is_boolean(typed.type):
        return cells
    what = "were taken as missing cells" if len(marks) > 1 else "was taken as a missing cell"
    remarks.about_column(column, f"{quoted(marks, 5)} {what}.")
    return typed.cast(arrow.float64()) if arrow.types.is_integer(typed.type) else typed


def _inferred(arrow: Any, cells: Any, column: str, how: Format, sep: str, remarks: Remarks) -> Any:
    """Return the cells as what all of them are; as text if they have nothing in common."""
    compute = require("pyarrow.compute", "CSV files", "io")
    if cells.null_count == len(cells):
        return arrow.chunked_array([arrow.nulls(len(cells))])
    typed = _cast(arrow, compute, cells, how.decimal or ".")
    if typed is not None and arrow.types.is_temporal(typed.type):
        return typed
    if typed is not None and _holds_codes(arrow, compute, typed, cells):
        remarks.about_column(
            column,
            "numbers with zeros in front are taken as codes, that is, as categories.",
            setting="numeric",
        )
        return cells
    if typed is not None:
        return _compact_dates(arrow, compute, typed, cells)
    written = as_people_write(cells, how.decimal, sep)
    if written is not None:
        remarks.about_column(column, written.remark, setting=written.setting, value=written.value)
        if written.decimal != ".":
            remarks.style = remarks.style._replace(decimal=written.decimal)
        return written.cells.cast(arrow.float64())
    dates = read_dates(cells.to_pylist()) if _may_hold_dates(compute, cells) else None
    if dates is None:
        return cells
    if dates.is_ambiguous:
        remarks.about_column(column, "whether the day or the month comes first cannot be told.")
    return arrow.chunked_array([arrow.array(dates.moments)])


def _holds_codes(arrow: Any, compute: Any, typed: Any, cells: Any) -> bool:
    """Tell whether numbers are written with zeros in front; only whole ones can be."""
    if arrow.types.is_floating(typed.type):
        cells = cells.filter(compute.equal(typed, compute.floor(typed)))
    return bool(compute.any(compute.match_substring_regex(cells, _CODE)).as_py())


def _compact_dates(arrow: Any, compute: Any, typed: Any, cells: Any) -> Any:
    """Return whole numbers such as 20240131 as dates if all of them are, else as they are."""
    if not arrow.types.is_integer(typed.type):
        return typed
    ends = compute.min_max(typed).as_py()
    if ends["min"] < 1900_01_01 or ends["max"] > 2099_12_31:
        return typed
    dates = read_dates(cells.to_pylist())
    return typed if dates is None else arrow.chunked_array([arrow.array(dates.moments)])


def _may_hold_dates(compute: Any, cells: Any) -> bool:
    """Tell whether the first cells hold digits and something else, as all dates do."""
    some = cells.drop_null().slice(0, 20)
    return bool(compute.all(compute.match_substring_regex(some, r"\d[^\d]|[^\d]\d")).as_py())


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
            if len(texts) > 100:
                texts.slice(0, 100).cast(kind)  # a million of errors would take long
            return texts.cast(kind)
        except arrow.ArrowInvalid:
            continue
    return None


def _is_a_word(cell: str | None) -> bool:
    """Tell whether a cell is surely no number, truth value, date or time."""
    return (
        cell is not None
        and not any("0" <= one <= "9" for one in cell)
        and cell.strip("+-").lower() not in ("nan", "inf", "infinity", "true", "false")
    )
