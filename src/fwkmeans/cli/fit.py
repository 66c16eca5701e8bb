"""``fwkmeans fit``: cluster a table, show and save the result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from fwkmeans._support.errors import InputError
from fwkmeans._support.text import count, harmless
from fwkmeans._tabular.format import Format
from fwkmeans.cli.columns import Chosen, Roles, check_keys, read_columns, with_shares
from fwkmeans.cli.models import NAMES, FitOptions, choose, treatment
from fwkmeans.cli.options import (
    SectionedCommand,
    algorithm_option,
    column_options,
    columns_option,
    dask_option,
    file_option,
    fit_options,
    format_options,
    json_option,
    read_names,
    safe_option,
    stream_options,
)
from fwkmeans.cli.output import (
    check_apart,
    check_model,
    check_out,
    check_printed,
    echo_json,
    is_text,
    show_uses,
    table_name,
    write_columns,
)
from fwkmeans.cli.progress import working
from fwkmeans.cli.report_files import check_report, check_rules, write_page, write_rules
from fwkmeans.cli.rows import MERGED, named, with_clusters
from fwkmeans.cli.run import Fitted, fit_choice
from fwkmeans.cli.sizes import Streaming, is_streamed
from fwkmeans.cli.workbook import profile_rows


@click.command(
    cls=SectionedCommand,
    epilog="Examples: fwkmeans fit wine.csv; fwkmeans fit wine.csv -k 3 --labels class "
    "--out clusters.csv --model wine.fwk --report wine.html",
)
@click.argument("table", type=click.Path())
@fit_options
@algorithm_option(text=f"AutoKMeans (default), {', '.join(NAMES)}, in any spelling, or by class.")
@click.option(
    "-p",
    "--param",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the algorithm, such as -p beta=3; may be repeated.",
)
@column_options
@columns_option
@file_option(
    "-o",
    "--out",
    text="Write the table with the cluster of each row, its distance and confidence, to a .csv, "
    ".tsv, .parquet or .xlsx file (- for stdout).",
)
@click.option("--only-labels", is_flag=True, help="In --out only keys (--id) and clusters.")
@click.option(
    "--merge",
    type=click.IntRange(min=2),
    metavar="NUMBER",
    help="Take near clusters for one until so many groups are left.",
)
@click.option(
    "--names",
    callback=read_names,
    metavar="NAMES",
    help="What to call the clusters or groups, in their order: a,b,c.",
)
@file_option("--rules", text="Write short rules for the clusters as SQL (a CASE expression, .sql).")
@file_option("-m", "--model", text="Write the model, for predict and report (.fwk).")
@file_option("-r", "--report", text="Write a report (.html, or .pdf by a browser).")
@safe_option
@json_option
@stream_options
@dask_option
@format_options
def fit(
    table: str,
    options: FitOptions,
    algorithm: str | None,
    parameters: tuple[str, ...],
    roles: Roles,
    show_columns: bool,
    out: str | None,
    only_labels: bool,
    merge: int | None,
    names: list[str],
    rules: str | None,
    model: str | None,
    report: str | None,
    spreadsheet_safe: bool,
    as_json: bool,
    streaming: Streaming,
    dask: str | None,
    how: Format,
) -> None:
    """Cluster TABLE and show which columns matter in which cluster.

    TABLE is a CSV (also .gz), Parquet, Arrow or Excel file, or - for stdin; a large file, a folder
    or a pattern such as 'folder/*.parquet' is read in blocks (--stream). Numbers are used as
    numbers, text and true/false as categories; columns that only number or name the rows are left
    out. Nothing is written unless a file is asked for.

    Without further options AutoKMeans finds the number of clusters, and which columns say nothing
    about them. If the table seems to have no clusters, that is said first. -k 3 asks for three,
    -k 2:8 for the best of 2 to 8, -a for a named algorithm. No algorithm is best everywhere: see
    fwkmeans choose and fwkmeans compare.
    """
    check_printed(as_json, out)
    written_to = {"--out": out, "--rules": rules, "--model": model, "--report": report}
    check_apart({"the table": table}, written_to)
    check_rules(rules)
    check_out(out)
    check_model(model)
    check_report(report)
    if out is not None and only_labels:
        check_keys(roles.id, ["cluster", "cluster_name"] if merge is None else MERGED)
    name = table_name(table)
    streamed: Any = None
    if dask is not None:
        from fwkmeans.cli.on_dask import OnDask
        from fwkmeans.cli.streaming import check_streamed_out

        check_streamed_out(out)
        streamed = OnDask(table, how, roles, name, dask)
        chosen = streamed.chosen
    elif is_streamed(table, streaming):
        from fwkmeans.cli.streaming import Streamed, check_streamed_out

        check_streamed_out(out)
        streamed = Streamed(table, how, roles, name, streaming)
        chosen = streamed.chosen
    else:
        chosen = read_columns(table, how, roles, name, keep=out is not None and is_text(out))
    if show_columns:
        show_uses(chosen, as_json)
        return
    choice = choose(algorithm, parameters)
    if streamed is None:
        fitted = fit_choice(choice, options, chosen)
    else:
        fitted = fit_choice(choice, options, chosen, streamed.fit, streamed.n_rows)
    pipeline, rows, warned = fitted.pipeline, fitted.rows, fitted.warned
    looked_at = pipeline if streamed is None else streamed.on_sample(pipeline)
    from fwkmeans.reports.naming import groups_of, name_clusters
    from fwkmeans.reports.summarize import summarize_rows

    unit = "cluster" if merge is None else "group"
    n_found = len(set(looked_at[-1].labels_.tolist()))
    if merge is not None and merge >= n_found:
        raise InputError(f"--merge {merge}: there are only {count(n_found, 'cluster')}.")
    with working("Looking at the result"):
        summary = summarize_rows(
            looked_at,
            chosen.features,
            rows,
            classes=chosen.classes,
            row_names=chosen.row_names,
            title=f"{count(n_found if merge is None else merge, unit)} in {name}",
            merge=merge,
            names=names or None,
            for_page=report is not None or as_json,
            draws=options.draws,
            random_state=options.seed,
            sizes=None if streamed is None else streamed.sizes(pipeline),
        )
    shares = {one["name"]: one["weight"] for one in summary["features"]}
    keys, perhaps_keys = with_shares(chosen.doubtful, shares)
    fitted = fitted._replace(doubts=[*keys, *fitted.doubts])
    tell_page(summary, fitted, chosen)
    groups = None if merge is None else groups_of(summary)
    for one in {id(model): model for model in (pipeline[-1], looked_at[-1])}.values():
        name_clusters(one, [cluster["name"] for cluster in summary["clusters"]], groups)
    written: dict[str, str] = {}
    lost: list[str] = []
    if out is not None and streamed is not None:
        only = list(roles.id) if only_labels else None
        streamed.write(pipeline, out, keys=only, spreadsheet_safe=spreadsheet_safe)
        written["labels" if only_labels else "table"] = out
    elif out is not None:
        lost = write_columns(
            chosen.ids | named(pipeline[-1], pipeline[-1].labels_)
            if only_labels
            else with_clusters(chosen, pipeline[-1], rows),
            out,
            style=chosen.style,
            spreadsheet_safe=spreadsheet_safe,
            profiles=profile_rows(summary),
        )
        written["labels" if only_labels else "table"] = out
    if rules is not None:
        write_rules(summary, chosen, rules)
        written["rules"] = rules
    if model is not None:
        from fwkmeans.persistence import save_model

        save_model(looked_at, model)
        written["model"] = model
    if report is not None:
        write_page(summary, report)
        written["report"] = report
    missing = treatment(choice, options, chosen.features)
    n_missing = chosen.n_missing if streamed is None else streamed.n_missing
    notes = [*chosen.notes, *perhaps_keys, *_about_missing(missing, n_missing), *lost]
    if as_json:
        notes += [one.text for one in warned]
        number = {"chosen": fitted.chosen, "tendency": fitted.tendency, "scores": fitted.scores}
        about = {"notes": notes, "left_out": chosen.left_out, "number": number}
        echo_json(summary | about | {"written": written})
        return
    notes += [one.text for one in warned if not one.is_in_summary]
    beside = out == "-"
    from fwkmeans.reports.printed import result_lines  # help does not need it

    for lines in (fitted.doubts, fitted.reasons):
        for line in [*lines, ""] if lines else []:
            click.echo(line, err=beside)
    for line in result_lines(summary, name, choice.title, roles.labels):
        click.echo(harmless(line), err=beside)
    for line in _endings(written, notes):
        click.echo(harmless(line), err=beside)


def tell_page(summary: dict[str, Any], fitted: Fitted, chosen: Chosen) -> None:
    """Put what only the command knows where readers of a page find it."""
    if fitted.doubts:
        summary["warnings"].insert(0, " ".join(fitted.doubts))
        summary["warning_topics"].insert(0, "tendency")
    summary["number_note"] = " ".join(fitted.reasons) or None
    if chosen.left_out:
        told = [
            f"{one} ({why.removesuffix(', see --dates')})" for one, why in chosen.left_out.items()
        ]
        summary["preparation"].insert(0, f"Columns left out: {', '.join(told)}.")


def _about_missing(missing: str, n_missing: int) -> list[str]:
    if not n_missing:
        return []
    what = {
        "median": "were filled with the median, or the most frequent category, of their column",
        "ignore": "were ignored",
        "rescale": "were ignored, and distances rescaled to the cells that are there",
    }[missing]
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
