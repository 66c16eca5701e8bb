"""Excel files: the rows with their clusters, and a sheet of profiles."""

from __future__ import annotations

import contextlib
import gc
import io
import math
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fwkmeans._support.errors import InputError
from fwkmeans._support.optional import require
from fwkmeans._support.text import count

#: What a sheet can hold.
MOST_ROWS, MOST_COLUMNS, LONGEST = 1_048_576, 16_384, 32_767
#: Characters that the format has no place for.
_ILLEGAL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def check_size(path: str, n_rows: int, n_columns: int) -> None:
    """Raise if a table does not fit into a sheet."""
    if n_rows >= MOST_ROWS or n_columns > MOST_COLUMNS:
        raise InputError(
            f"{path}: a sheet holds {MOST_ROWS - 1:,} rows and {MOST_COLUMNS:,} columns, and there "
            f"are {n_rows:,} and {n_columns:,}: write .parquet or .csv."
        )


def write_workbook(
    path: Path, columns: Mapping[str, Sequence[Any]], profiles: Iterable[Sequence[Any]] | None
) -> list[str]:
    """Write columns to a sheet "rows", and rows of cells to a sheet "profiles".

    Return a sentence about cells that hold what a sheet cannot, if there are any.
    """
    openpyxl = require("openpyxl", "Excel files", "excel")
    book = openpyxl.Workbook(write_only=True)
    sheets: dict[str, Iterable[Sequence[Any]]] = {
        "rows": _with_header(columns, zip(*columns.values(), strict=True))
    }
    if profiles is not None:
        sheets["profiles"] = profiles
    n_changed = 0
    try:
        for title, rows in sheets.items():
            sheet = book.create_sheet(title)
            sheet.freeze_panes = "A2"
            for row in rows:
                cells = [_held(value) for value in row]
                if title == "rows":
                    n_changed += sum(map(_is_changed, row, cells))
                sheet.append([_cell(openpyxl, sheet, value) for value in cells])
        content = io.BytesIO()  # openpyxl leaves a file open that it cannot finish
        book.save(content)
    except OSError as error:
        with _unheard():
            traceback.clear_frames(error.__traceback__)
            del sheet, book
            gc.collect()  # they hold each other
        raise
    path.write_bytes(content.getbuffer())
    if not n_changed:
        return []
    hold, were = ("holds", "was") if n_changed == 1 else ("hold", "were")
    return [
        f"{count(n_changed, 'cell')} {hold} what a sheet cannot (control characters, carriage "
        f"returns, more than {LONGEST:,} characters, infinite numbers or time zones) and {were} "
        "changed, cut or left empty: .csv and .parquet keep them."
    ]


@contextlib.contextmanager
def _unheard() -> Iterator[None]:
    """Say nothing of errors of things that are thrown away.

    openpyxl ends what it has begun to write when that goes, which fails again if the disk is full.
    """
    before = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        yield
    finally:
        sys.unraisablehook = before


def _with_header(header: Iterable[str], rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    yield list(header)
    yield from rows


def _held(value: Any) -> Any:
    """Return what a sheet holds of a value."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if getattr(value, "tzinfo", None) is not None:
        return value.replace(tzinfo=None)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53:
        return str(value)  # a sheet would round it
    if not isinstance(value, str):
        return value
    lines = value.replace("\r\n", "\n").replace("\r", "\n")
    return _ILLEGAL.sub("\ufffd", lines)[:LONGEST]


def _is_changed(value: Any, held: Any) -> bool:
    """Tell whether a cell has lost something; NaN is a missing cell, as an empty one is."""
    return held is not value and value == value and str(held) != str(value)


def _cell(openpyxl: Any, sheet: Any, value: Any) -> Any:
    """Return what stands for a value in a sheet; text is text, even if it begins with =."""
    if not isinstance(value, str):
        return value
    cell = openpyxl.cell.WriteOnlyCell(sheet, value=value)
    cell.data_type = "s"
    return cell


def profile_rows(summary: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Yield what the clusters look like: means of numbers, most frequent categories."""
    clusters = summary["clusters"]
    yield ["column", "shown", "all rows", *(f"cluster {one['number']}" for one in clusters)]
    yield ["", "name", "", *(one["name"] for one in clusters)]
    yield ["", "rows", summary["n_rows"], *(one["size"] for one in clusters)]
    for feature in summary["features"]:
        profiles = [feature["whole"], *(one["profile"][feature["name"]] for one in clusters)]
        if feature["type"] == "numeric":
            for key in ("mean", "median"):
                yield [feature["name"], key, *(one[key] for one in profiles)]
        else:
            yield [feature["name"], "most frequent", *(one["mode"] for one in profiles)]
            yield [feature["name"], "its share", *(one["mode_share"] for one in profiles)]
        yield [feature["name"], "weight", feature["weight"], *_weights(clusters, feature["name"])]


def _weights(clusters: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    return [one["weights"][name] for one in clusters]
