"""Tables written as text: separators, numbers the way people write them, types of columns.

A file is parsed once, every cell as text; columns then become what all of their cells can be read
as.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from fwkmeans._support.errors import InputError
from fwkmeans._support.optional import require
from fwkmeans._support.text import count, quoted, shortened
from fwkmeans._tabular.format import Format, Remarks

SEPARATORS = {",": "','", ";": "';'", "\t": "tab", "|": "'|'"}
HEAD = 1 << 18  # bytes looked at to guess the separator

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
        raise InputError(
            f"{name} has several columns named {quoted(twice)}: give every column a name of its "
            "own."
        )


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
) -> Any:
    """Return a table from a stream of text in bytes; for the parameters see `read_table`."""
    arrow = require("pyarrow", "CSV files", "io")
    lines = _first_lines(name, content.read(HEAD), how.encoding)
    content.seek(0)
    sep = _guess_separator(lines) if how.sep is None else how.sep
    header = next(csv.reader([f"{line}\n" for line in lines], delimiter=sep))  # may be several
    check_names(name, header)
    others = [one for one in SEPARATORS if one in lines[0]]
    if len(header) == 1 and others:
        raise InputError(
            f"{name} has one column if cells are separated by {_named(sep)}, but its header holds "
            f"{_named(others[0])}: give another separator, or none.",
            setting="sep",
        )
    cells = _parse(name, content, how, sep, header)
    columns = []
    for column, values in zip(cells.column_names, cells.columns, strict=True):
        if column not in keys:
            values = _with_missing(arrow, values, how.missing)
            if column not in text:
                values = _inferred(arrow, values, column, how, sep, remarks)
        columns.append(values)
    return arrow.Table.from_arrays(columns, names=cells.column_names)


def _named(sep: str) -> str:
    return SEPARATORS.get(sep, repr(sep))


def _first_lines(name: str, head: bytes, encoding: str) -> list[str]:
    """Return the first lines of a text file that are not empty."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) and encoding == "utf-8":
        raise InputError(
            f"{name} is text in UTF-16: give its encoding, or save it as UTF-8.",
            setting="encoding",
            value="utf-16",
        )
    if b"\x00" in head and "16" not in encoding and "32" not in encoding:
        raise InputError(
            f"{name} is neither text nor a file of a known kind: give CSV (also .gz), Parquet, "
            "Arrow or Excel (.xlsx)."
        )
    whole = head if len(head) < HEAD else head[: head.rfind(b"\n") + 1]
    try:
        text = whole.decode(encoding)
    except UnicodeDecodeError as error:
        raise _wrong_encoding(name, encoding, head[error.start : error.start + 1]) from None
    except LookupError:
        raise InputError(
            f"There is no encoding {encoding!r}; try utf-8 or latin-1.", setting="encoding"
        ) from None
    lines = [line for line in text.lstrip("\ufeff").splitlines() if line.strip()]
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

    def quality(sep: str) -> tuple[float, int]:
        counts = [len(row) for row in csv.reader(lines[:100], delimiter=sep) if row]
        same = sum(one == counts[0] for one in counts) / len(counts)
        return (0.0, 0) if counts[0] < 2 else (round(same, 1), counts[0])

    return max(SEPARATORS, key=quality)


def _parse(name: str, content: Any, how: Format, sep: str, header: list[str]) -> Any:
    """Return the table with every cell as text, none of them missing."""
    arrow, reader = (require(one, "CSV files", "io") for one in ("pyarrow", "pyarrow.csv"))
    invalid: list[Any] = []

    def refuse(row: Any) -> str:
        invalid.append(row)
        return "error"

    try:
        return reader.read_csv(
            io.BytesIO(content.read()),
            read_options=reader.ReadOptions(encoding=how.encoding),
            parse_options=reader.ParseOptions(
                delimiter=sep, newlines_in_values=True, invalid_row_handler=refuse
            ),
            convert_options=reader.ConvertOptions(
                column_types=dict.fromkeys(header, arrow.string()), strings_can_be_null=False
            ),
        )
    except arrow.ArrowInvalid as error:
        if "UTF8" in str(error):
            raise _wrong_encoding(name, "utf-8") from None
        if not invalid:
            raise InputError(
                f"{name} cannot be read as CSV ({first_line(error)}): check it, or give the "
                "separator.",
                setting="sep",
            ) from None
        raise _wrong_row(name, invalid[0], sep, header) from None
    except UnicodeDecodeError as error:
        raise _wrong_encoding(name, how.encoding, error.object[:1]) from None


def _wrong_row(name: str, row: Any, sep: str, header: list[str]) -> InputError:
    title = ""
    if row.actual_columns > len(header) and row.number in (None, 2):
        title = f" If the first line ({quoted(header, 2)}) is a title, remove it."
    return InputError(
        f"{name} has a row of {count(row.actual_columns, 'cell')} where the header has "
        f"{len(header)} (separator {_named(sep)}): {shortened(row.text, 43, mark='...')!r}.{title} "
        "Repair the row, quote cells that hold the separator, or give another one.",
        setting="sep",
    )


# ---- what the cells of a column are -------------------------------------------------------------


def _with_missing(arrow: Any, cells: Any, missing: Sequence[str]) -> Any:
    compute = require("pyarrow.compute", "CSV files", "io")
    if not arrow.types.is_string(cells.type):
        return cells
    is_missing = compute.is_in(cells, value_set=arrow.array(missing, type=arrow.string()))
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
    numbers = cells
    if decimal != ".":  # then a point is no part of a number
        numbers = compute.replace_substring_regex(cells, r"[.]", "?")
        numbers = compute.replace_substring(numbers, decimal, ".")
    if compute.all(compute.match_substring_regex(cells, _TIME)).as_py():
        cells = compute.binary_join_element_wise("1970-01-01", cells, " ")
    moments = (arrow.date32(), arrow.timestamp("ns"), arrow.timestamp("ns", "UTC"))
    for kind in (arrow.int64(), arrow.float64(), arrow.bool_(), *moments):
        try:
            return (numbers if arrow.types.is_floating(kind) else cells).cast(kind)
        except arrow.ArrowInvalid:
            continue
    return None


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
