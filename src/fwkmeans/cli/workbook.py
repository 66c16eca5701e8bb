"""Excel files: the rows with their clusters, and a sheet of profiles."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fwkmeans._support.errors import InputError
from fwkmeans._support.optional import require

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
) -> None:
    """Write columns to a sheet "rows", and rows of cells to a sheet "profiles"."""
    openpyxl = require("openpyxl", "Excel files", "excel")
    book = openpyxl.Workbook(write_only=True)
    sheets: dict[str, Iterable[Sequence[Any]]] = {
        "rows": _with_header(columns, zip(*columns.values(), strict=True))
    }
    if profiles is not None:
        sheets["profiles"] = profiles
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        sheet.freeze_panes = "A2"
        for row in rows:
            sheet.append([_cell(openpyxl, sheet, value) for value in row])
    book.save(path)


def _with_header(header: Iterable[str], rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    yield list(header)
    yield from rows


def _cell(openpyxl: Any, sheet: Any, value: Any) -> Any:
    """Return what stands for a value in a sheet; text is text, even if it begins with =."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if getattr(value, "tzinfo", None) is not None:
        value = value.replace(tzinfo=None)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53:
        value = str(value)  # a sheet would round it
    if not isinstance(value, str):
        return value
    text = _ILLEGAL.sub("\ufffd", value)[:LONGEST]
    cell = openpyxl.cell.WriteOnlyCell(sheet, value=text)
    cell.data_type = "s"
    return cell


def profile_rows(summary: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Yield what the clusters look like: means of numbers, most frequent categories."""
    clusters = summary["clusters"]
    yield ["column", "shown", "all rows", *(f"cluster {one['number']}" for one in clusters)]
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
