"""``fwkmeans fit``: cluster a table, show and save the result."""

from __future__ import annotations

from collections.abc import Iterator

import click

from fwkmeans._support.text import count, harmless
from fwkmeans._tabular.format import Format
from fwkmeans.cli.columns import Roles, check_key, read_columns
from fwkmeans.cli.models import NAMES, FitOptions, build, choose
from fwkmeans.cli.options import (
    SectionedCommand,
    algorithm_option,
    column_options,
    file_option,
    fit_options,
    format_options,
    json_option,
    safe_option,
)
from fwkmeans.cli.output import (
    check_apart,
    check_folder,
    check_out,
    check_printed,
    check_report,
    echo_json,
    table_name,
    write_columns,
)
from fwkmeans.cli.progress import working
from fwkmeans.cli.result import result_lines
from fwkmeans.cli.run import fit_and_collect


@click.command(
    cls=SectionedCommand,
    epilog="Example: fwkmeans fit wine.csv -k 3 --labels class --out labels.csv --model wine.fwk "
    "--report wine.html",
)
@click.argument("table", type=click.Path())
@fit_options
@algorithm_option(
    text=f"One of {', '.join(NAMES)} (in any spelling, or by class). Default: see above."
)
@click.option(
    "-p",
    "--param",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the algorithm, such as -p beta=3; may be repeated.",
)
@column_options
@file_option(
    "-o",
    "--out",
    text="Write the cluster of each row to a .csv, .tsv or .parquet file (- for stdout).",
)
@file_option("-m", "--model", text="Write the model, for predict and report (.fwk).")
@file_option("-r", "--report", text="Write a report (.html).")
@safe_option
@json_option
@format_options
def fit(
    table: str,
    options: FitOptions,
    algorithm: str | None,
    parameters: tuple[str, ...],
    roles: Roles,
    out: str | None,
    model: str | None,
    report: str | None,
    spreadsheet_safe: bool,
    as_json: bool,
    how: Format,
) -> None:
    """Cluster TABLE and show which columns matter in which cluster.

    TABLE is a CSV (also .gz), Parquet, Arrow or Excel file, or - for stdin. Numbers are used as
    numbers, text and true/false as categories; columns that only number or name the rows are left
    out. Nothing is written unless a file is asked for.

    The default algorithm is EW-KM with -p dispersion=mean. It has weights of its own in every
    cluster, loses no clusters to columns of few values, and of the weighted algorithms it found
    the classes of the bundled tables best, on average, once noise columns were added. No algorithm
    is best everywhere: see fwkmeans compare.
    """
    check_printed(as_json, out)
    check_apart({"the table": table}, {"--out": out, "--model": model, "--report": report})
    check_out(out)
    check_folder(model)
    check_report(report)
    if out is not None:
        check_key(roles.id, ["cluster"])
    name = table_name(table)
    chosen = read_columns(table, how, roles, name)
    choice = choose(algorithm, parameters)
    pipeline = build(choice, options, chosen.features, chosen.n_missing)
    with working(f"{choice.name} clusters {chosen.features.num_rows} rows"):
        rows, warned = fit_and_collect(pipeline, chosen.features)
    from fwkmeans.reports import write_report
    from fwkmeans.reports.summarize import summarize_rows

    with working("Looking at the result"):
        summary = summarize_rows(
            pipeline,
            chosen.features,
            rows,
            classes=chosen.classes,
            row_names=next(iter(chosen.ids.values()), None),
            title=f"{count(len(set(pipeline[-1].labels_.tolist())), 'cluster')} in {name}",
            with_map=report is not None or as_json,
            random_state=options.seed,
        )
    written = {}
    if out is not None:
        write_columns(
            chosen.ids | {"cluster": pipeline[-1].labels_.tolist()},
            out,
            spreadsheet_safe=spreadsheet_safe,
        )
        written["labels"] = out
    if model is not None:
        from fwkmeans.persistence import save_model

        save_model(pipeline, model)
        written["model"] = model
    if report is not None:
        write_report(summary, report)
        written["report"] = report
    notes = [*chosen.notes, *_about_missing(options, chosen.n_missing)]
    if as_json:
        notes += [one.text for one in warned]
        echo_json(summary | {"notes": notes, "left_out": chosen.left_out, "written": written})
        return
    notes += [one.text for one in warned if not one.is_in_summary]
    beside = out == "-"
    for line in result_lines(summary, name, choice.title, roles.labels):
        click.echo(harmless(line), err=beside)
    for line in _endings(written, notes):
        click.echo(harmless(line), err=beside)


def _about_missing(options: FitOptions, n_missing: int) -> list[str]:
    if not n_missing:
        return []
    what = {
        "median": "were filled with the median, or the most frequent category, of their column",
        "ignore": "were ignored",
        "rescale": "were ignored, and distances rescaled to the cells that are there",
    }[options.missing]
    verb = "One missing cell" if n_missing == 1 else f"{n_missing} missing cells"
    return [f"{verb} {what if n_missing > 1 else what.replace('were', 'was', 1)} (--missing)."]


def _endings(written: dict[str, str], notes: list[str]) -> Iterator[str]:
    if written:
        yield ""
        for what, path in written.items():
            if path != "-":
                yield f"Wrote the {what} to {path}"
    if notes:
        yield ""
        yield from (f"Note: {text}" for text in notes)
