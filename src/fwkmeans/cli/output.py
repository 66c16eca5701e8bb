"""What commands write: results as files or on stdout, words on stderr if stdout is taken."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import click

from fwkmeans._support.csv_text import write_rows
from fwkmeans._support.errors import InputError
from fwkmeans._support.files import replacing
from fwkmeans._support.jsonable import jsonable
from fwkmeans._support.optional import require
from fwkmeans._support.text import distinct_names, harmless
from fwkmeans._tabular.format import Style
from fwkmeans.cli.columns import Chosen, use_lines
from fwkmeans.cli.errors import raise_if_stopped
from fwkmeans.cli.workbook import check_size, write_workbook

_NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?(e[-+]?\d+)?", re.IGNORECASE)
#: What a spreadsheet may run: it begins a cell, or what another country's separator makes a cell.
_FORMULA = re.compile(
    r"(?P<before>^|[,;|\t\r\n])(?=(?:[^\S\t\r\n]|[\"\ufeff])*(?P<own>[=+\-@＝＋－＠][^,;|\t\r\n]*))"
)

SUFFIXES = (".csv", ".tsv", ".parquet", ".xlsx")
#: Kinds of files that are no models.
_NO_MODELS = (*SUFFIXES, ".html", ".htm", ".pdf", ".json", ".txt", ".png", ".svg")


def table_name(path: str) -> str:
    """Return what a table is called in sentences."""
    if path.startswith("/dev/fd/"):  # what a shell gives for <(command)
        return path
    return "stdin" if path == "-" else click.format_filename(path, shorten=True)


def check_printed(as_json: bool, out: str | None) -> None:
    """Raise if two things would be printed to stdout."""
    if as_json and out == "-":
        raise click.UsageError("--json and --out - would both print: give --out a file.")


def check_out(path: str | None) -> None:
    """Raise before any work if a table could not be written."""
    if path is None or path == "-":
        return
    if Path(path).suffix.lower() not in SUFFIXES:
        raise InputError(
            f"--out {path}: expected a file whose name ends in {', '.join(SUFFIXES[:-1])} or "
            f"{SUFFIXES[-1]}, or - for stdout."
        )
    if Path(path).suffix.lower() == ".xlsx":
        require("openpyxl", "Excel files", "excel")
    check_folder(path)


def check_model(path: str | None) -> None:
    """Raise before any work if a model could not be written."""
    if path is not None and Path(path).suffix.lower() in _NO_MODELS:
        raise InputError(f"--model {path}: expected a file whose name ends in .fwk.")
    check_folder(path)


def check_folder(path: str | None) -> None:
    """Raise before any work if a file could not be written."""
    if path is None:
        return
    if not Path(path).parent.is_dir():
        raise InputError(f"There is no folder {Path(path).parent}: make it, or write elsewhere.")
    if Path(path).is_dir():
        raise InputError(f"{path} is a folder: give the name of a file.")
    folder = Path(path).resolve().parent  # what a link points at is replaced
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(
            f"{path} cannot be written: the folder {folder} does not allow it. Write elsewhere."
        )


def check_apart(read: Mapping[str, str | None], written: Mapping[str, str | None]) -> None:
    """Raise before any work if an output would replace an input, or another output.

    Files are given by what they are in the words of the command line; None and ``-`` are no files.
    """
    seen: list[tuple[str, str]] = [
        (what, path) for what, path in read.items() if path is not None and path != "-"
    ]
    for what, path in written.items():
        if path is None or path == "-":
            continue
        for other, taken in seen:
            if _is_same_file(path, taken):
                raise InputError(
                    f"{what} {path} would replace {other} ({taken}): give it another name."
                )
        seen.append((f"what {what} writes", path))


def _is_same_file(one: str, other: str) -> bool:
    """Tell whether two names stand for one file, through links and on any file system."""
    if Path(one).resolve() == Path(other).resolve():
        return True
    try:
        return Path(one).samefile(other)
    except OSError:  # one is not there yet
        return False


def write_columns(
    columns: Mapping[str, Sequence[Any]],
    path: str,
    *,
    style: Style,
    spreadsheet_safe: bool = False,
    profiles: Iterable[Sequence[Any]] | None = None,
) -> list[str]:
    """Write columns to a file, by its suffix, or to stdout as CSV; return what could not be kept.

    Text looks like the file that the table came from (`style`), but that .tsv is tab-separated.

    With `spreadsheet_safe` no cell of a CSV file is a formula of a spreadsheet; in an Excel file
    none ever is. `profiles` are the rows of its second sheet.
    """
    raise_if_stopped()
    if spreadsheet_safe and is_text(path):
        names = distinct_names(map(_no_formula, columns), "{}_{}")
        cells = ([*map(_no_formula, own)] for own in columns.values())
        columns = dict(zip(names, cells, strict=True))
    if path == "-":
        _write_csv(columns, sys.stdout, style)
        return []
    suffix = Path(path).suffix.lower()
    if suffix == ".xlsx":
        check_size(path, len(next(iter(columns.values()))), len(columns))
    with replacing(path) as temporary:
        if suffix == ".xlsx":
            return write_workbook(temporary, columns, profiles)
        if suffix == ".parquet":
            arrow = require("pyarrow", "Parquet files", "io")
            require("pyarrow.parquet", "Parquet files", "io").write_table(
                arrow.table(dict(columns)), temporary
            )
            return []
        encoding = "utf-8-sig" if style.mark else "utf-8"
        with temporary.open("w", newline="", encoding=encoding) as stream:
            _write_csv(columns, stream, style_for(path, style))
    return []


def is_text(path: str) -> bool:
    """Tell whether a table is written as text."""
    return path == "-" or Path(path).suffix.lower() in (".csv", ".tsv")


def _no_formula(cell: Any) -> Any:
    r"""Return a cell with an apostrophe before what a spreadsheet would run.

    Where another character separates cells, a part of a cell may be taken for a whole one.

    Examples
    --------
    >>> _no_formula("=1+2"), _no_formula("-3.5"), _no_formula(-3.5), _no_formula("a-b")
    ("'=1+2", '-3.5', -3.5, 'a-b')
    >>> _no_formula("Ann;=1+2"), _no_formula("\n＝1")
    ("Ann;'=1+2", "'\n'＝1")
    """
    if not isinstance(cell, str) or _NUMBER.fullmatch(cell):
        return cell
    safe = _FORMULA.sub(_with_apostrophe, cell)
    begins_apart = safe.startswith(("\t", "\r", "\n")) or (
        safe != cell and safe.startswith((",", ";", "|"))
    )
    return f"'{safe}" if begins_apart else safe


def _with_apostrophe(found: re.Match[str]) -> str:
    return found["before"] if _NUMBER.fullmatch(found["own"].strip()) else f"{found['before']}'"


def no_formulas(arrow: Any, table: Any) -> Any:
    """Return a table in which no text is a formula of a spreadsheet, nor the name of a column."""
    for at, field in enumerate(table.schema):
        if arrow.types.is_string(field.type):
            coded = table.column(at).combine_chunks().dictionary_encode()
            safe = arrow.array([*map(_no_formula, coded.dictionary.to_pylist())], arrow.string())
            cells = arrow.DictionaryArray.from_arrays(coded.indices, safe).cast(arrow.string())
            table = table.set_column(at, field.name, cells)
    return table.rename_columns(distinct_names(map(_no_formula, table.column_names), "{}_{}"))


def style_for(path: str, style: Style) -> Style:
    """Return how a file of text is written: its name may ask for tabs."""
    return style._replace(separator="\t") if path.lower().endswith(".tsv") else style


def _write_csv(columns: Mapping[str, Sequence[Any]], stream: TextIO, style: Style) -> None:
    if style.decimal != ".":
        columns = {
            name: [
                str(one).replace(".", style.decimal) if isinstance(one, float) else one
                for one in cells
            ]
            for name, cells in columns.items()
        }
    rows = chain([columns], zip(*columns.values(), strict=True))
    write_rows(rows, stream, style.separator)
    stream.flush()


def echo_json(content: Mapping[str, Any]) -> None:
    """Print for machines."""
    text = json.dumps(jsonable(content), indent=2, ensure_ascii=False, allow_nan=False)
    click.echo(text)


def show_uses(chosen: Chosen, as_json: bool) -> None:
    """Print what is done with each column, and what was guessed about the table."""
    notes = [*chosen.notes, *chosen.doubtful.values()]
    if as_json:
        uses = [one._asdict() for one in chosen.uses]
        echo_json({"columns": uses, "notes": notes})
        return
    for line in [*use_lines(chosen.uses), ""]:
        click.echo(harmless(line))
    for text in notes:
        click.echo(harmless(f"Note: {text}"))


def note(text: str) -> None:
    """Say something beside the result."""
    click.echo(harmless(f"Note: {text}"), err=True)
