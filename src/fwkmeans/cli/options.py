"""Options that several commands have."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from fwkmeans._tabular.reading import MISSING, Format
from fwkmeans.cli.columns import Roles
from fwkmeans.cli.errors import debug_option
from fwkmeans.cli.models import NAMES, Wish

__all__ = ["column_options", "format_options", "json_option", "model_options"]

Command = TypeVar("Command", bound=Callable[..., Any])

_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}


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
    **dict.fromkeys(("out", "model", "report", "as_json", "distances"), "Results"),
    **dict.fromkeys(("categorical", "numeric", "drop", "id", "labels", "key"), "Columns"),
    **dict.fromkeys(("missing", "standardize", "starts", "seed", "jobs"), "Details"),
    **dict.fromkeys(("sep", "decimal", "encoding", "sheet", "na"), "How the table is written"),
    **dict.fromkeys(("debug", "help"), "Other"),
}


class Names(click.ParamType):  # type: ignore[type-arg]
    """Names separated by commas; a name that holds one is written in double quotes."""

    name = "columns"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        """Return the names."""
        if isinstance(value, list):
            return value
        parts = re.findall(r'"([^"]*)"|([^,]+)', value)
        return [quoted or plain.strip() for quoted, plain in parts]


class Separator(click.ParamType):  # type: ignore[type-arg]
    """One character, or its name."""

    name = "separator"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the character."""
        character = _SEPARATORS.get(value, value)
        if len(character) != 1:
            self.fail(f"{value!r} is not one character, nor tab, comma, semicolon, space or pipe.")
        return str(character)


class Clusters(click.ParamType):  # type: ignore[type-arg]
    """A number of clusters, or ``auto``."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        """Return the number."""
        if value == "auto":
            return "auto"
        try:
            number = int(value)
        except ValueError:
            self.fail(f"{value!r} is no number of clusters; give 2 or more, or auto.")
        if number < 1:
            self.fail(f"{number} clusters cannot be; give 2 or more.")
        return number


def _gathered(name: str, fields: tuple[str, ...], build: Callable[..., Any]) -> Any:
    """Return a decorator that hands several options to a command as one record."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            record = build(**{field: kwargs.pop(field) for field in fields})
            return command(*args, **{name: record}, **kwargs)

        return wrapper  # type: ignore[return-value]

    return decorate


def format_options(command: Command) -> Command:
    """Give a command the options on how a table is read, as `how`."""
    command = _gathered("how", ("sep", "decimal", "encoding", "sheet", "na"), _format)(command)
    for option in (
        click.option(
            "--sheet", metavar="NAME", help="Sheet of an Excel file (default: the first)."
        ),
        click.option(
            "--na",
            type=Names(),
            metavar="TEXTS",
            help=f"Texts that mean a missing cell, beside: {', '.join(MISSING[1:])}.",
        ),
        click.option(
            "--encoding", default="utf-8", metavar="NAME", help="Encoding of text (default: utf-8)."
        ),
        click.option(
            "--decimal",
            type=click.Choice([".", ","]),
            help="Decimal point of numbers in text (default: ., or guessed).",
        ),
        click.option(
            "--sep",
            type=Separator(),
            metavar="CHAR",
            help="What separates cells of a CSV file: a character, tab, ... (default: guessed).",
        ),
    ):
        command = option(command)
    return debug_option(command)


def _format(
    sep: str | None, decimal: str | None, encoding: str, sheet: str | None, na: list[str] | None
) -> Format:
    return Format(sep, decimal, encoding, sheet, (*MISSING, *(na or ())))


def column_options(command: Command) -> Command:
    """Give a command the options on what columns are, as `roles`."""
    fields = ("categorical", "numeric", "drop", "id", "labels")
    command = _gathered("roles", fields, _roles)(command)
    for option in (
        labels_option,
        click.option(
            "--id", metavar="COLUMN", help="Key of the rows: not clustered, kept in --out."
        ),
        click.option(
            "--drop", type=Names(), metavar="COLUMNS", help="Columns to leave out: a,b,c."
        ),
        click.option(
            "--numeric", type=Names(), metavar="COLUMNS", help="Columns that hold numbers."
        ),
        click.option(
            "--categorical",
            type=Names(),
            metavar="COLUMNS",
            help="Columns that hold categories (text and true/false do anyway).",
        ),
    ):
        command = option(command)
    return command


labels_option = click.option(
    "--labels",
    metavar="COLUMN",
    help="Known classes: not clustered, compared with the clusters (adjusted Rand index).",
)


def _roles(
    categorical: list[str] | None,
    numeric: list[str] | None,
    drop: list[str] | None,
    id: str | None,  # noqa: A002
    labels: str | None,
) -> Roles:
    return Roles(categorical or (), numeric or (), drop or (), id, labels)


def complete_algorithm(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    return [name for name in NAMES if name.lower().startswith(incomplete.lower())]


def model_options(command: Command) -> Command:
    """Give a command the options that all algorithms have, as `wish`."""
    fields = ("clusters", "missing", "standardize", "starts", "seed", "jobs")
    command = _gathered("wish", fields, Wish)(command)
    for option in (
        click.option("--jobs", type=int, metavar="N", help="Threads (default: all cores)."),
        click.option(
            "--seed",
            type=click.IntRange(0, 2**32 - 1),
            default=0,
            metavar="N",
            help="Random seed (default: 0).",
        ),
        click.option(
            "--starts",
            type=click.IntRange(min=1),
            metavar="N",
            help="Random starts, of which the best by the objective is kept (default: 10).",
        ),
        click.option(
            "--standardize/--no-standardize",
            default=True,
            help="Bring numbers to mean 0 and range 1 first (default: yes).",
        ),
        click.option(
            "--missing",
            type=click.Choice(["median", "ignore", "rescale", "error"]),
            default="median",
            help="Missing cells: fill with the median or most frequent category (default), leave "
            "out of all sums, the same with distances rescaled, or stop.",
        ),
        click.option(
            "-k",
            "--clusters",
            type=Clusters(),
            required=True,
            metavar="NUMBER",
            help="Number of clusters; auto lets iMWK-Means find it.",
        ),
    ):
        command = option(command)
    return command


def algorithm_option(command: Command) -> Command:
    """Give a command ``-a``."""
    return click.option(
        "-a",
        "--algorithm",
        metavar="NAME",
        shell_complete=complete_algorithm,
        help="One of " + ", ".join(NAMES) + " (spelled anyhow, or by class). Default: see above.",
    )(command)


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON for machines instead of text."
)
