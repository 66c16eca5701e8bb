"""Options that several commands have."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from fwkmeans._support.archive import MOST_JSON
from fwkmeans._tabular.format import MAX_UNPACKED, MISSING, Format
from fwkmeans.cli.columns import Roles
from fwkmeans.cli.errors import debug_option
from fwkmeans.cli.models import AUTO, NAMES, FitOptions
from fwkmeans.cli.sizes import Streaming

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Command], Command]

_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}

_POSSIBLE = {chr(code) for code in range(1, 128)} - {"\n", "\r", '"'}


class SectionedCommand(click.Command):
    """A command whose help has its options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by section."""
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in _HEADINGS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, click.Option) and record is not None:
                is_help = "--help" in parameter.opts  # click has given it several names
                heading = _SECTIONS.get("help" if is_help else parameter.name or "", "Options")
                sections[heading].append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


_HEADINGS = ("Options", "Results", "Columns", "Details", "How the table is written", "Other")
_SECTIONS = {
    **dict.fromkeys(
        (
            *("out", "only_labels", "merge", "names", "rules", "model", "report", "plot"),
            *("no_plot", "as_json", "distances", "spreadsheet_safe"),
        ),
        "Results",
    ),
    **dict.fromkeys(
        (
            *("use", "categorical", "numeric", "coerce", "drop", "id", "labels", "keys", "dates"),
            "show_columns",
        ),
        "Columns",
    ),
    **dict.fromkeys(("missing", "standardize", "starts", "seed", "jobs"), "Details"),
    **dict.fromkeys(
        (
            *("sep", "decimal", "encoding", "header", "sheet", "skip", "na", "max_unpacked"),
            *("stream", "memory", "dask"),
        ),
        "How the table is written",
    ),
    **dict.fromkeys(("max_json", "debug", "help"), "Other"),
}

# ---- values -------------------------------------------------------------------------------------


def read_names(ctx: click.Context, parameter: click.Parameter, value: str | None) -> list[str]:
    """Read names separated by commas; a name that holds one is written in double quotes."""
    parts = re.findall(r'"([^"]*)"|([^,]+)', value or "")
    return [quoted or plain.strip() for quoted, plain in parts]


def _separator(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Read one character, or its name."""
    character = None if value is None else _SEPARATORS.get(value, value)
    if character is not None and (len(character) != 1 or character not in _POSSIBLE):
        raise click.BadParameter(
            f"{value!r} is not one character of ASCII, nor tab, comma, semicolon, space or pipe."
        )
    return character


def _clusters(
    ctx: click.Context, parameter: click.Parameter, value: str
) -> int | str | tuple[int, int]:
    """Read a number of clusters, several as ``2:8``, or ``auto``."""
    if value == "auto":
        return value
    low, colon, high = value.partition(":")
    try:
        first, last = int(low), int(high if colon else low)
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is not a number of clusters; give 2 or more, some as 2:8, or auto."
        ) from None
    if first < 2:
        raise click.BadParameter(f"{value} makes no clusters; give 2 or more.")
    if last < first:
        raise click.BadParameter(
            f"{value} is empty; write the lower number first, as {last}:{first}."
        )
    return (first, last) if colon else first


def complete_algorithm(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return the algorithms whose names begin like this."""
    return [name for name in (AUTO, *NAMES) if name.lower().startswith(incomplete.lower())]


# ---- options ------------------------------------------------------------------------------------


def _column(name: str, text: str) -> Decorator[Any]:
    return click.option(name, metavar="COLUMN", help=text)


def _columns(name: str, text: str) -> Decorator[Any]:
    return click.option(name, callback=read_names, metavar="COLUMNS", help=text)


def file_option(*names: str, text: str, default: str | None = None) -> Decorator[Any]:
    """Return an option that takes the name of a file."""
    return click.option(*names, type=click.Path(), metavar="FILE", default=default, help=text)


def algorithm_option(*names: str, text: str, multiple: bool = False) -> Decorator[Any]:
    """Return the option ``-a``."""
    return click.option(
        "-a",
        "--algorithm",
        *names,
        metavar="NAME",
        multiple=multiple,
        shell_complete=complete_algorithm,
        help=text,
    )


labels_option = _column(
    "--labels",
    "Known classes: not clustered, compared with the clusters (adjusted Rand index).",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON for machines instead of text."
)

keys_option = click.option(
    "--id",
    "keys",
    callback=read_names,
    metavar="COLUMNS",
    help="Keys of the rows, kept in the output: a,b.",
)

draws_option = click.option(
    "--draws",
    type=click.IntRange(min=0),
    metavar="N",
    help="Parts of the rows that are clustered again, to see whether the same clusters are found "
    "(default: 5, of fewer rows where that would take long; 0 for none).",
)

columns_option = click.option(
    "--columns",
    "show_columns",
    is_flag=True,
    help="Show what would be done with each column, and why, and stop.",
)

safe_option = click.option(
    "--spreadsheet-safe",
    is_flag=True,
    help="In CSV, put ' before text that a spreadsheet would run as a formula (=, +, -, @).",
)

max_json_option = click.option(
    "--max-json",
    type=click.FloatRange(min=0, min_open=True, max=1e6),
    default=MOST_JSON / 2**20,
    metavar="MIB",
    help="Most that the names and categories of a model may have; they take up to 25 times as much "
    f"memory (default: {MOST_JSON / 2**20:g} MiB).",
)

_FORMAT = (
    click.option(
        "--sep",
        callback=_separator,
        metavar="CHAR",
        help="What separates cells of a CSV file: a character, tab, ... (default: guessed).",
    ),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help="Decimal point of numbers in text (default: ., or guessed).",
    ),
    click.option(
        "--encoding",
        metavar="NAME",
        help="Encoding of text (default: utf-8, or guessed if it is not).",
    ),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first row holds the names of the columns (default: guessed).",
    ),
    click.option(
        "--na",
        callback=read_names,
        metavar="TEXTS",
        help=f"Texts or numbers that mean a missing cell, beside: {', '.join(MISSING[1:])}.",
    ),
    click.option(
        "--skip",
        type=click.IntRange(0, 10**6),
        metavar="N",
        help="Lines above the table, such as a title, also in an Excel file (default: guessed).",
    ),
    click.option("--sheet", metavar="NAME", help="Sheet of an Excel file (default: the first)."),
    click.option(
        "--max-unpacked",
        type=click.FloatRange(min=0, min_open=True),
        default=MAX_UNPACKED / 1e9,
        metavar="GB",
        help="Most that a compressed file may unpack to, 8 bytes for each of its cells included; "
        f"it takes a few times as much memory (default: {MAX_UNPACKED / 1e9:g} GB).",
    ),
    debug_option,
)


def _bytes(ctx: click.Context, parameter: click.Parameter, value: str) -> int:
    """Read a number of bytes, such as 256MiB or 1GB."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", value, re.IGNORECASE)
    if found is None:
        raise click.BadParameter(f"{value!r} is not a size; write 256MiB or 1GB.")
    number, prefix, binary = found.groups()
    size = float(number) * (1024 if binary else 1000) ** " kmgt".index(prefix.lower() or " ")
    if not 2**20 <= size <= 2**50:
        raise click.BadParameter(f"{value} is too little or too much memory; give 1MiB or more.")
    return int(size)


_STREAM = (
    click.option(
        "--stream/--no-stream",
        default=None,
        help="Read the table in blocks, whatever its size (default: if it has more than 1 GiB, or "
        "more than an eighth of the memory that is free; folders and patterns always).",
    ),
    click.option(
        "--memory",
        callback=_bytes,
        default="256MiB",
        metavar="SIZE",
        help="Memory for these blocks (default: 256MiB).",
    ),
)

_ROLES = (
    _columns("--use", "Columns to use, and no others: a,b or patterns such as 'temp_*'."),
    _columns("--categorical", "Columns that hold categories (text and true/false do anyway)."),
    _columns("--numeric", "Columns that hold numbers."),
    _columns("--drop", "Columns to leave out: a,b,c or patterns such as 'temp_*'."),
    click.option(
        "--coerce",
        is_flag=True,
        help="Take cells of --numeric columns that are no numbers as missing, and count them.",
    ),
    _columns("--id", "Keys of the rows: not clustered, kept in --out."),
    labels_option,
    click.option(
        "--dates",
        type=click.Choice(["drop", "age", "parts"]),
        default="drop",
        help="Dates: leave out (default), years before the latest one, or year, month, weekday "
        "and hour.",
    ),
)

_FIT = (
    click.option(
        "-k",
        "--clusters",
        callback=_clusters,
        default="auto",
        metavar="NUMBER",
        help="Number of clusters, several to choose from as 2:8, or auto (default).",
    ),
    click.option(
        "--missing",
        type=click.Choice(["median", "ignore", "rescale", "error"]),
        help="Missing cells: fill with the median or most frequent category (default of the "
        "named algorithms), leave out of all sums (default of AutoKMeans), the same with distances "
        "rescaled, or stop.",
    ),
    click.option(
        "--standardize/--no-standardize",
        default=True,
        help="Bring numbers to mean 0 and range 1 first (default: yes).",
    ),
    click.option(
        "--starts",
        type=click.IntRange(min=1),
        metavar="N",
        help="Random starts, of which the best by the objective is kept (default: 10).",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        default=0,
        metavar="N",
        help="Random seed (default: 0).",
    ),
    draws_option,
    click.option("--jobs", type=int, metavar="N", help="Threads (default: all cores)."),
)


def _gathered(
    name: str, options: tuple[Decorator[Any], ...], fields: str, build: Callable[..., Any]
) -> Decorator[Any]:
    """Return a decorator that hands several options to a command as one record."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            record = build(**{field: kwargs.pop(field) for field in fields.split()})
            return command(*args, **{name: record}, **kwargs)

        for option in reversed(options):
            wrapper = option(wrapper)
        return wrapper  # type: ignore[return-value]

    return decorate


def _format(na: list[str], max_unpacked: float, **given: Any) -> Format:
    most = int(min(1e9, max_unpacked) * 1e9)  # in this order also if it is not a number
    return Format(**given, missing=(*MISSING, *na), max_unpacked=most)


#: How a table is written, as `how`.
format_options = _gathered(
    "how", _FORMAT, "sep decimal encoding header sheet skip na max_unpacked", _format
)
#: The cluster that reads the table and clusters its rows.
dask_option = click.option(
    "--dask",
    metavar="ADDRESS",
    help="Let the workers of a Dask cluster read the Parquet files of TABLE and cluster the rows: "
    "the address of its scheduler, such as tcp://host:8786.",
)
#: Whether a table is read in blocks, as `streaming`.
stream_options = _gathered("streaming", _STREAM, "stream memory", Streaming)
#: What the columns of a table are, as `roles`.
column_options = _gathered(
    "roles", _ROLES, "use categorical numeric drop coerce id labels dates", Roles
)
#: What all algorithms have, as `options`.
fit_options = _gathered(
    "options", _FIT, "clusters missing standardize starts seed draws jobs", FitOptions
)
