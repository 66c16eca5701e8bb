"""``fwkmeans demo``: what feature weights do, on a bundled table."""

from __future__ import annotations

import click

from fwkmeans._support.errors import InputError
from fwkmeans.cli.errors import debug_option
from fwkmeans.cli.options import file_option
from fwkmeans.cli.output import check_folder


@click.command()
@click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="NAME",
    help="A bundled table, such as wine or heart; may be repeated (default: iris).",
)
@click.option(
    "--draws",
    type=click.IntRange(min=1),
    default=5,
    metavar="N",
    help="Draws of the noise to average over (default: 5).",
)
@file_option(
    "-r",
    "--report",
    default="fwkmeans-demo.html",
    text="Where to write the report (default: fwkmeans-demo.html).",
)
@click.option("--no-report", is_flag=True, help="Write no report.")
@debug_option
def demo(tables: tuple[str, ...], draws: int, report: str, no_report: bool) -> None:
    """Cluster a bundled table with added noise columns by every algorithm.

    Prints how well each finds the known classes and which columns it looks at, and writes a report
    about one of them. Takes some seconds; nothing is downloaded.
    """
    from fwkmeans.cli.demonstration import TABLE, run
    from fwkmeans.datasets.named import table_names

    unknown = [name for name in tables if name not in table_names()]
    if unknown:
        known = ", ".join(table_names())
        raise InputError(f"There is no table {unknown[0]!r}: choose one of {known}.")
    page = None if no_report else report
    check_folder(page)
    run(list(tables) or [TABLE], draws, page, click.echo)
