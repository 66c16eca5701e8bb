"""``fwkmeans data``: the bundled tables, to try things on."""

from __future__ import annotations

import click

from fwkmeans._support.errors import InputError
from fwkmeans._support.text import count
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

    known = list_uci()
    if name is None:
        for one in known:
            table = load_uci(one, as_frame=False)
            rows, columns = table.data.shape
            click.echo(f"{one:<20}{count(rows, 'row'):>12}{count(columns, 'column'):>13}")
        return
    if name not in known:
        raise InputError(f"There is no bundled table {name!r}: it is one of {', '.join(known)}.")
    with open(load_uci(name, as_frame=False).filename, encoding="utf-8", newline="") as stream:
        click.echo(stream.read(), nl=False)
