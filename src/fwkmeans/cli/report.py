"""``fwkmeans report``: a page about a model."""

from __future__ import annotations

import warnings
from pathlib import Path

import click

from fwkmeans._tabular.format import Format
from fwkmeans.cli.columns import Roles, choose_classes
from fwkmeans.cli.options import (
    SectionedCommand,
    draws_option,
    file_option,
    format_options,
    json_option,
    labels_option,
    max_json_option,
)
from fwkmeans.cli.output import check_apart, echo_json, note
from fwkmeans.cli.predict import load, read_for, using
from fwkmeans.cli.progress import working
from fwkmeans.cli.report_files import check_report, write_page


@click.command(
    cls=SectionedCommand,
    epilog="Example: fwkmeans report wine.fwk wine.csv --labels class --out wine.html",
)
@click.argument("model", type=click.Path())
@click.argument("table", type=click.Path())
@file_option("-o", "--out", text="The page, .html or .pdf (default: the model's name with .html).")
@labels_option
@click.option("--title", metavar="TEXT", help="Title of the page.")
@draws_option
@json_option
@max_json_option
@format_options
def report(
    model: str,
    table: str,
    out: str | None,
    labels: str | None,
    title: str | None,
    draws: int | None,
    as_json: bool,
    max_json: float,
    how: Format,
) -> None:
    """Write a page about the clusters of MODEL in TABLE.

    MODEL is a file that fwkmeans fit --model wrote, TABLE the table it was fitted to, in its
    original units. The page is one HTML file that can be opened and sent without anything else.
    With --json the same content is printed instead, unless --out asks for both.
    """
    page = out if out is not None or as_json else str(Path(model).with_suffix(".html"))
    check_apart({"the model": model, "the table": table}, {"--out": page})
    check_report(page, "--out")
    pipeline = load(model, max_json)
    keys = () if labels is None else (labels,)
    frame, features, remarks, _ = read_for(pipeline, table, how, keys)
    name = click.format_filename(table)
    classes = choose_classes(frame, Roles(labels=labels), name, how.missing)
    for text in remarks:
        note(text)
    from fwkmeans.reports import summarize

    with working("Writing the report"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        with using(model):
            summary = summarize(pipeline, features, classes=classes, title=title, draws=draws)
        if page is not None:
            write_page(summary, page)
    if as_json:
        echo_json(summary)
    else:
        click.echo(f"Wrote the report to {page}")
