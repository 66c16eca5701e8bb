"""``fwkmeans survey``: the experiment of the survey, and its report."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from fwkmeans.cli.options import Decorator

if TYPE_CHECKING:
    from fwkmeans.survey import Done, Protocol

RESULTS = "survey.sqlite"
LABEL_FREE_RESULTS = "label_free.sqlite"


def _number(name: str, text: str, **options: Any) -> Decorator[Any]:
    """Return an option that takes a number of one or more."""
    return click.option(name, type=click.IntRange(min=1), metavar="N", help=text, **options)


def _file(name: str, default: str, text: str) -> Decorator[Any]:
    kind: Any = click.Path(dir_okay=False, path_type=Path)
    return click.option(
        name, type=kind, default=default, show_default=True, metavar="FILE", help=text
    )


_results = _file(
    "--results", RESULTS, "File of results (SQLite); a run goes on where the file ends."
)


@click.group(
    invoke_without_command=True,
    epilog="Examples: fwkmeans survey --quick; fwkmeans survey -a EW-KM -a 'EW-KM[dispersion=sum]' "
    "-t wine; fwkmeans survey -t own.csv --labels class -a K-Means -a AWK; fwkmeans survey report; "
    "fwkmeans survey --label-free --quick",
)
@click.option(
    "-a",
    "--algorithm",
    "algorithms",
    multiple=True,
    metavar="NAME",
    help="Algorithm, with settings if you like: 'EW-KM[dispersion=sum]'; may be repeated. Default: "
    "the survey's six, AWK, WK-Means, EW-KM, IK-P, iMWK-Means, FWSA. Others: K-Means, SYNCLUS, "
    "CK-Means, FG-K-Means.",
)
@click.option(
    "-t",
    "--table",
    "tables",
    multiple=True,
    metavar="TABLE",
    help="Bundled table, synthetic configuration (500x4-2, ...) or CSV or Parquet file; NAME:K "
    "looks for K clusters; may be repeated. Default: the survey's 13 tables and 4 configurations.",
)
@click.option(
    "--labels",
    metavar="COLUMN",
    help="Column of known classes in the files of --table (default: the last).",
)
@click.option(
    "--grid",
    "grids",
    multiple=True,
    metavar="GRID",
    help="Values of the parameters, FROM:TO:STEP or numbers with commas; NAME=GRID for one "
    "algorithm; may be repeated. Default: 1:5:0.1, for EW-KM (gamma) and FG-K-Means (eta) 0:5:0.1.",
)
@_number("--starts", "Random starts at every value (default: 100, with --quick 10).")
@_number("--data-sets", "Data sets of every synthetic configuration (default: 20, with --quick 2).")
@click.option(
    "--noise",
    type=click.Choice(["both", "without", "with"]),
    default="both",
    show_default=True,
    help="Tables without noise features, with them, or both.",
)
@_number("--noise-draws", "Draws of the noise features.", default=1, show_default=True)
@click.option(
    "--groups",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Groups of columns for SYNCLUS, CK-Means and FG-K-Means: JSON such as "
    '{"iris": {"sepal": ["sepal_length", "sepal_width"], "petal": [...]}}. Noise columns are in '
    "the group of the column they imitate.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed."
)
@click.option(
    "--quick",
    is_flag=True,
    help="10 starts, values in steps of 0.5, 2 data sets: a look at everything in a minute or two.",
)
@click.option(
    "--label-free",
    is_flag=True,
    help="Compare procedures that never see a label, each with one setting for all tables, and "
    f"write label_free.md. Results are in {LABEL_FREE_RESULTS}; 20 starts, 4 data sets and 2 draws "
    "of the noise (with --quick 5, 1 and 1).",
)
@click.option("--jobs", type=int, metavar="N", help="Processes (default: all cores).")
@_results
@click.pass_context
def survey(
    ctx: click.Context, /, jobs: int | None, results: Path, label_free: bool, **options: Any
) -> None:
    """Repeat the experiment of the survey, or parts of it, or one's own.

    Every algorithm runs from many random starts at every value of its parameter, on every table
    without and with noise features; the value with the best mean adjusted Rand index is reported.
    Results are written as they come. Ctrl-C ends a run; the same command goes on with it.

    Then: fwkmeans survey report.
    """
    if ctx.invoked_subcommand is not None:
        return
    if label_free:
        options = _label_free_options(ctx, options)
        if ctx.get_parameter_source("results") is ParameterSource.DEFAULT:
            results = Path(LABEL_FREE_RESULTS)
    protocol = _protocol(**options)
    if label_free:
        from fwkmeans.survey import LABEL_FREE

        protocol = protocol._replace(contenders=(LABEL_FREE,))
    from fwkmeans.survey import run_survey

    try:
        with _progress() as report:
            done = run_survey(protocol, results, n_jobs=jobs, report=report)
    except KeyboardInterrupt:
        click.echo(
            f"Stopped. What is done is in {results}; the same command goes on with it.", err=True
        )
        ctx.exit(130)
    if label_free:
        _write_label_free(protocol, results)
        return
    where = f"--results {results}" if str(results) != RESULTS else ""
    if not done.fits:
        click.echo(f"All {done.n_units} units were in {results} already.")
    else:
        click.echo(
            f"{done.fits} fits in {_duration(done.seconds)} ({done.rate:.0f} per second); "
            f"{done.n_units} units are in {results}."
        )
    click.echo(f"See them with: fwkmeans survey report {where}".rstrip())


def _label_free_options(ctx: click.Context, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a run without labels; refuse those that have no meaning there."""
    from fwkmeans.survey import QUICK_SIZES, SIZES

    for name, flag in (("algorithms", "--algorithm"), ("grids", "--grid"), ("groups", "--groups")):
        if options[name]:
            raise click.UsageError(
                f"{flag} cannot be used with --label-free, whose procedures and settings are fixed."
            )
    sizes = dict(QUICK_SIZES if options["quick"] else SIZES)
    for name, usual in sizes.items():
        if ctx.get_parameter_source(name) is ParameterSource.DEFAULT:
            options[name] = usual
    return options


def _write_label_free(protocol: Protocol, results: Path) -> None:
    """Print the report of this run, and write it beside the results."""
    from fwkmeans.survey import Store, label_free_lines, label_free_results

    units = {(u.table.name, u.table.content, u.data_set, u.noise) for u in protocol.units()}
    with Store(results, create=False) as store:
        cells = [
            cell
            for cell in store.cells()
            if (cell.data_set, cell.content, cell.number, cell.noise) in units
            and (cell.starts, cell.seed) == (protocol.starts, protocol.seed)
        ]
    text = "\n".join(label_free_lines(label_free_results(cells))) + "\n"
    path = results.with_suffix(".md")
    path.write_text(text, "utf-8")
    click.echo(aligned_tables(text))
    click.echo(f"Wrote {path}")


def aligned_tables(markdown: str) -> str:
    """Return Markdown with the columns of its tables aligned, for a terminal."""
    lines: list[str] = []
    for in_table, block in groupby(markdown.splitlines(), lambda line: line.startswith("| ")):
        own = list(block)
        if in_table:
            rows = [line.strip("| ").split(" | ") for line in own]
            widths = [max(map(len, column)) for column in zip(rows[0], *rows[2:], strict=True)]
            rows[1] = ["-" * width for width in widths]
            own = [
                "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
                for row in rows
            ]
        lines += own
    return "\n".join(line.rstrip() for line in lines)


def _protocol(
    *,
    algorithms: Sequence[str] = (),
    tables: Sequence[str] = (),
    labels: str | None = None,
    grids: Sequence[str] = (),
    starts: int | None = None,
    data_sets: int | None = None,
    noise: str = "both",
    noise_draws: int = 1,
    groups: Path | None = None,
    seed: int = 0,
    quick: bool = False,
) -> Protocol:
    from fwkmeans.survey import (
        COMPARED,
        QUICK,
        parse_contender,
        parse_grid,
        parse_table,
        survey_protocol,
    )

    step = QUICK["step"] if quick else 0.1
    values: dict[str | None, tuple[float, ...]] = {}
    for text in grids:
        name, equals, grid = text.rpartition("=")
        values[parse_contender(name).name if equals else None] = parse_grid(grid)
    contenders = {}
    for text in algorithms or COMPARED:
        name = parse_contender(text).name
        contender = parse_contender(text, grid=values.get(name, values.get(None)), step=step)
        contenders[contender.label] = contender
    unused = [name for name in values if name and all(c.name != name for c in contenders.values())]
    if unused:
        raise ValueError(f"There is a grid for {unused[0]}, which is not run. Add -a {unused[0]}.")
    changes: dict[str, Any] = {
        "contenders": tuple(contenders.values()),
        "starts": starts or (int(QUICK["starts"]) if quick else 100),
        "data_sets": data_sets or (int(QUICK["data_sets"]) if quick else 20),
        "noise": {
            "without": (0,),
            "with": tuple(range(1, noise_draws + 1)),
            "both": tuple(range(noise_draws + 1)),
        }[noise],
        "seed": seed,
        "groups": _read_groups(groups),
    }
    if tables:
        specs = dict.fromkeys(parse_table(name, labels) for name in tables)
        changes["tables"] = tuple(specs)
    if labels is not None and not any(spec.file for spec in changes.get("tables", ())):
        raise ValueError("--labels names a column of a file, but no file is given with --table.")
    return survey_protocol(**changes)


def _read_groups(path: Path | None) -> dict[str, dict[str, list[str]]]:
    if path is None:
        return {}
    try:
        groups = json.loads(path.read_text("utf-8"))
        columns = [c for own in groups.values() for c in own.values()]
        if not all(isinstance(c, list) and all(isinstance(n, str) for n in c) for c in columns):
            raise TypeError
    except (ValueError, AttributeError, TypeError) as error:
        raise ValueError(
            f"{path.name} holds no groups; expected JSON such as "
            '{"iris": {"sepal": ["sepal_length", "sepal_width"], "petal": [...]}}.'
        ) from error
    from fwkmeans.survey import parse_table

    named = {}
    for table, own in groups.items():
        try:
            named[parse_table(table).name] = dict(own)
        except (ValueError, OSError):
            named[str(table)] = dict(own)  # the name of a file, as in the results
    return named


@survey.command("report")
@_results
@_file("--html", "survey.html", "Page to write.")
@_file("--markdown", "survey.md", "The same tables as text.")
@click.pass_context
def report(ctx: click.Context, results: Path, html: Path, markdown: Path) -> None:
    """Set the results beside the published figures, as a page and as text."""
    from fwkmeans.survey import Store, write_survey_report

    with Store(_chosen(ctx, results), create=False) as store:
        written = write_survey_report(store, html, markdown)
    for path in written:
        click.echo(f"Wrote {path}")


@survey.command("export")
@_results
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.pass_context
def export(ctx: click.Context, results: Path, out: Path) -> None:
    """Write the results as CSV to OUT: a line for every value of a parameter on every data set."""
    from fwkmeans.survey import Store, export_cells

    with Store(_chosen(ctx, results), create=False) as store:
        n_lines = export_cells(store, out)
    click.echo(f"Wrote {n_lines} lines to {out}")


def _chosen(ctx: click.Context, results: Path) -> Path:
    """Return the file of results, also if it was named before the command."""
    given = ctx.get_parameter_source("results") is not ParameterSource.DEFAULT
    if given or ctx.parent is None:
        return results
    return Path(ctx.parent.params.get("results", results))


# ---- progress -----------------------------------------------------------------------------------


@contextmanager
def _progress() -> Iterator[Callable[[Done], None]]:
    """Give what shows the progress: a bar on a terminal, a line now and then elsewhere."""
    if not sys.stderr.isatty():
        yield _Lines()
    elif find_spec("rich") is None:
        with click.progressbar(length=1000, label="survey", file=sys.stderr) as bar:
            yield lambda done: bar.update(int(1000 * done.work) - bar.pos)
    else:
        with _rich_bar() as show:
            yield show


@contextmanager
def _rich_bar() -> Iterator[Callable[[Done], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (
        TextColumn("survey"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("starting", total=1.0)

        def show(done: Done) -> None:
            progress.update(task, completed=done.work, description=_line(done))

        yield show


class _Lines:
    """A line every half minute."""

    def __init__(self) -> None:
        self._next = time.monotonic() + 30.0

    def __call__(self, done: Done) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + 30.0
            click.echo(f"survey {done.work:4.0%}  {_line(done)}", err=True)


def _line(done: Done) -> str:
    text = f"{done.units}/{done.n_units} units"
    if done.fits:
        text += f", {done.rate:.0f} fits/s, {_duration(done.seconds_left)} left"
    return text


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
