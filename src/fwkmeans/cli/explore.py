"""``fwkmeans explore``: a page on this computer, to try columns, numbers and algorithms."""

from __future__ import annotations

import click

from fwkmeans._support.text import harmless
from fwkmeans._tabular.format import Format
from fwkmeans.cli.columns import Roles, read_columns
from fwkmeans.cli.models import FitOptions
from fwkmeans.cli.options import SectionedCommand, column_options, draws_option, format_options
from fwkmeans.cli.output import table_name
from fwkmeans.cli.report_files import check_report


@click.command(cls=SectionedCommand, epilog="Example: fwkmeans explore wine.csv --labels class")
@click.argument("table", type=click.Path())
@click.option(
    "-k",
    "--clusters",
    type=click.IntRange(2, 50),
    metavar="NUMBER",
    help="Number of clusters to begin with (default: found by AutoKMeans, as fwkmeans fit does).",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Port of the page (default: a free one).",
)
@click.option("--browser/--no-browser", default=True, help="Open the page (default: yes).")
@draws_option
@column_options
@format_options
def explore(
    table: str,
    clusters: int | None,
    port: int,
    browser: bool,
    draws: int | None,
    roles: Roles,
    how: Format,
) -> None:
    """Open a page on which to try columns, numbers of clusters and algorithms on TABLE.

    The page is served to this computer only, at an address with a secret token. It shows the report
    of each try, lists all of them side by side, takes names and merges of clusters, and saves the
    table with its clusters, the model, the rules and the report.
    Ctrl-C ends it.
    """
    check_report("report.html")  # names the packages that are missing, before any work
    name = table_name(table)
    chosen = read_columns(table, how, roles, name)
    from fwkmeans.cli.explorer import Explorer, Server

    most = chosen.features.num_rows - 1
    begin: int | str = "auto" if clusters is None else max(2, min(clusters, most))
    explorer = Explorer(chosen, name, FitOptions(begin, draws=draws), roles, how.missing)
    with Server(explorer, port) as server:
        click.echo(harmless(f"{name}: open {server.address}"))
        click.echo("Ctrl-C ends it.")
        if browser:
            click.launch(server.address)
        server.serve_forever(poll_interval=0.2)
