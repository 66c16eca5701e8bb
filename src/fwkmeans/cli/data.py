"""``fwkmeans data``: the bundled tables, to try things on."""

from __future__ import annotations

import click

from fwkmeans._support.errors import InputError
from fwkmeans._support.text import aligned
from fwkmeans.cli.errors import debug_option


@click.command(epilog="Example: fwkmeans data wine > wine.csv")
@click.argument("name", required=False)
@debug_option
def data(name: str | None) -> None:
    """Print a bundled table as CSV; without NAME, list the tables.

    The tables are those of the survey, from the UCI Machine Learning Repository. The last column is
    the known class of each row.
    """
    from fwkmeans.datasets import list_uci, load_uci

    if name is not None:
        try:
            path = load_uci(name, as_frame=False).filename
        except ValueError as error:
            raise InputError(str(error)) from None
        with open(path, encoding="utf-8", newline="") as stream:
            click.echo(stream.read(), nl=False)
        return
    tables = {one: load_uci(one, as_frame=False) for one in list_uci()}
    rows = [
        [one, *(f"{n:,}" for n in (*table.data.shape, table.target_names.size))]
        for one, table in tables.items()
    ]
    numbers = ("rows", "columns", "classes")
    for line in aligned(rows, ["name", *numbers], right=numbers):
        click.echo(line)
