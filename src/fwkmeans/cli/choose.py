"""``fwkmeans choose``: which number of clusters, and which algorithm."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import click
import numpy as np

from fwkmeans._support.errors import InputError
from fwkmeans._support.files import replacing
from fwkmeans._support.optional import require
from fwkmeans._support.text import aligned, count, harmless
from fwkmeans._tabular.format import Format
from fwkmeans.cli.columns import Chosen, Roles, read_columns
from fwkmeans.cli.models import AUTO, Choice, FitOptions, build, check_sizes, choose
from fwkmeans.cli.numbers import (
    AS_STABLE,
    MOST_ROWS,
    TITLES,
    best_of,
    is_auto,
    numbers_of,
    say_votes,
    score_numbers,
    some_rows,
    tendency_lines,
    vote,
)
from fwkmeans.cli.options import (
    SectionedCommand,
    algorithm_option,
    column_options,
    columns_option,
    file_option,
    fit_options,
    format_options,
    json_option,
)
from fwkmeans.cli.output import check_apart, check_folder, echo_json, show_uses, table_name
from fwkmeans.cli.progress import each, working
from fwkmeans.cli.run import fit_and_collect

#: Algorithms that are compared if nobody says which.
DEFAULT = (AUTO, "K-Means", "WK-Means", "EW-KM")
#: Kinds of pictures.
SUFFIXES = (".png", ".svg", ".pdf")
#: Draws of rows on which `AutoKMeans`, which takes its time, is repeated.
AUTO_DRAWS = 3
#: Stability from which clusters are found again, and below which they are not.
STABLE, UNSTABLE = 0.8, 0.6


@click.command(
    "choose",
    cls=SectionedCommand,
    epilog="Example: fwkmeans choose wine.csv -k 2:6 --drop class --plot numbers.svg",
)
@click.argument("table", type=click.Path())
@fit_options
@algorithm_option(
    "algorithms",
    multiple=True,
    text=f"Only this one; may be repeated (default: {', '.join(DEFAULT)}).",
)
@column_options
@columns_option
@file_option("--plot", text="The picture: .png, .svg or .pdf (default: TABLE_choose.png).")
@click.option("--no-plot", is_flag=True, help="Write no picture.")
@json_option
@format_options
def choose_command(
    table: str,
    options: FitOptions,
    algorithms: tuple[str, ...],
    roles: Roles,
    show_columns: bool,
    plot: str | None,
    no_plot: bool,
    as_json: bool,
    how: Format,
) -> None:
    """Compare numbers of clusters and algorithms for TABLE, and recommend one.

    Every number is judged by the silhouette (are rows nearer to their own cluster?), the gap (is
    there less scatter than in tables without clusters?), stability (are the same clusters found in
    parts of the rows?), the agreement of the algorithms, and AutoKMeans' own criterion. Large
    tables are judged by 1,000 of their rows.
    """
    name = table_name(table)
    picture = None if no_plot else plot or f"{Path(name).stem or 'table'}_choose.png"
    _check_picture(picture, table)
    chosen = read_columns(table, how, roles, name)
    if show_columns:
        show_uses(chosen, as_json)
        return
    choices = [choose(one) for one in algorithms or DEFAULT]
    result = compare_numbers(choices, options, chosen)
    if picture is not None:
        _draw(result, name, picture)
    if as_json:
        written = {} if picture is None else {"plot": picture}
        echo_json(
            {"table": name}
            | result
            | {"notes": [*chosen.notes, *chosen.doubtful.values()], "written": written}
        )
        return
    for line in _lines(name, table, roles, result):
        click.echo(harmless(line))
    if picture is not None:
        click.echo(f"Wrote the plot to {picture}")
    for text in [*chosen.notes, *chosen.doubtful.values()]:
        click.echo(harmless(f"Note: {text}"))


def _check_picture(path: str | None, table: str) -> None:
    """Raise before any work if the picture could not be written."""
    if path is None:
        return
    if Path(path).suffix.lower() not in SUFFIXES:
        raise InputError(
            f"--plot {path}: expected a file whose name ends in {', '.join(SUFFIXES[:-1])} or "
            f"{SUFFIXES[-1]}."
        )
    require("matplotlib", "Plots", "plot")
    check_folder(path)
    check_apart({"the table": table}, {"--plot": path})


# ---- computations -------------------------------------------------------------------------------


def compare_numbers(
    choices: Sequence[Choice], options: FitOptions, chosen: Chosen
) -> dict[str, Any]:
    """Return what criteria say about numbers of clusters and algorithms, ready for JSON."""
    from fwkmeans.selection.tendency import cluster_tendency

    if isinstance(options.clusters, int):
        options = options._replace(clusters=(options.clusters, options.clusters))
    check_sizes(options, chosen.features)
    rows = some_rows(chosen.features, options.seed)
    numbers = numbers_of(options, rows.num_rows)
    with working("Looking whether there are clusters"):
        tendency = cluster_tendency(chosen.features, random_state=options.seed)
    found: dict[str, Any] = {}
    labels: dict[str, dict[int, Any]] = {}
    skipped = []
    named = [one for one in choices if not is_auto(one)]
    for choice in each(named, len(named), lambda one: one.title):
        try:
            found[choice.title], labels[choice.title] = score_numbers(
                choice, options, rows, numbers, gap=choice is named[0]
            )
        except (ValueError, TypeError) as error:
            skipped.append({"name": choice.title, "reason": " ".join(str(error).split())})
    auto = next((one for one in choices if is_auto(one)), None)
    criterion: dict[int, float] = {}
    n_found = None
    if auto is not None:
        with working("AutoKMeans looks for the number of clusters"):
            model = build(auto, options, chosen.features, chosen.n_missing)
            fit_and_collect(model, chosen.features)
        criterion, n_found = model[-1].criteria_, model[-1].n_clusters_
    if not found and auto is None:
        raise InputError(" ".join(one["reason"] for one in skipped))
    by_number = _by_number(found, labels, numbers)
    by_number["criterion"] = {k: v for k, v in criterion.items() if k in numbers}
    voting = {one: by_number[one] for one in TITLES if by_number.get(one)}
    number, votes = vote(voting)
    algorithms = _algorithms(choices, options, rows, number, found, labels)
    best = _best(algorithms)
    about = tendency._asdict() | {"verdict": tendency.verdict}
    return {
        "n_rows": chosen.features.num_rows,
        "n_features": chosen.features.num_columns,
        "n_rows_used": rows.num_rows,
        "tendency": about,
        "doubts": tendency_lines(tendency, n_found, chosen.features.num_rows),
        "numbers": numbers,
        "scores": by_number,
        "votes": votes,
        "algorithms": algorithms,
        "skipped": skipped,
        "recommended": {
            "n_clusters": number,
            "algorithm": best["name"],
            "confidence": _confidence(tendency.verdict, n_found, votes, number, best),
        },
    }


def _by_number(
    found: dict[str, Any], labels: dict[str, dict[int, Any]], numbers: Sequence[int]
) -> dict[str, dict[int, float]]:
    """Return what criteria say of each number, over all algorithms."""
    from fwkmeans._support.agreement import adjusted_rand_score

    best: dict[str, dict[int, float]] = {"silhouette": {}, "gap": {}, "stability": {}}
    agreement: dict[int, float] = {}
    for k in numbers:
        for name, join in (("silhouette", max), ("gap", max), ("stability", np.mean)):
            values = [one[name][k] for one in found.values() if k in one.get(name, {})]
            if values:
                best[name][k] = float(join(values))
        pairs = combinations([own[k] for own in labels.values() if k in own], 2)
        ari = [adjusted_rand_score(a, b) for a, b in pairs]
        if ari:
            agreement[k] = float(np.mean(ari))
    return best | {"agreement": agreement}


def _algorithms(
    choices: Sequence[Choice],
    options: FitOptions,
    rows: Any,
    number: int,
    found: dict[str, Any],
    labels: dict[str, dict[int, Any]],
) -> list[dict[str, Any]]:
    """Return what is known of each algorithm at one number of clusters."""
    from fwkmeans.selection import mean_agreement
    from fwkmeans.selection.criteria import Stability

    own = {name: one[number] for name, one in labels.items() if number in one}
    scores = {name: {c: one[c].get(number) for c in one} for name, one in found.items()}
    for choice in choices:
        if is_auto(choice):
            with working(f"AutoKMeans with {number} clusters"):
                draws = Stability(n_resamples=AUTO_DRAWS, random_state=options.seed)
                own[choice.title], scores[choice.title] = _auto_at(
                    choice, options, rows, number, draws
                )
    agreement = dict(zip(own, mean_agreement(list(own.values())), strict=True))
    return [
        {
            "name": name,
            "silhouette": scores[name].get("silhouette"),
            "stability": scores[name].get("stability"),
            "agreement": float(agreement[name]) if len(own) > 1 else None,
            "sizes": sorted(np.bincount(own[name]).tolist(), reverse=True),
        }
        for name in (choice.title for choice in choices)
        if name in own
    ]


def _auto_at(
    choice: Choice, options: FitOptions, rows: Any, number: int, draws: Any
) -> tuple[Any, dict[str, float]]:
    import warnings

    from fwkmeans.selection.candidates import run_settings
    from fwkmeans.selection.criteria import Candidates, Silhouette

    model = build(choice, options._replace(clusters=number), rows, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (partition,) = run_settings(model, [{}], rows, {})
        if isinstance(partition, Exception):
            raise partition
        candidates = Candidates(model, [{}], [partition], rows, None, {}, None)
        scores = {
            "silhouette": float(Silhouette(p=1.0, max_rows=MOST_ROWS)(candidates).values[0]),
            "stability": float(draws(candidates).values[0]),
        }
    return partition.labels, {name: one for name, one in scores.items() if np.isfinite(one)}


def _best(algorithms: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the algorithm with the best mean rank; the first of several."""
    from fwkmeans.selection import mean_ranks

    known = [
        one
        for one in ("silhouette", "stability", "agreement")
        if any(algorithm[one] is not None for algorithm in algorithms)
    ]
    table = [
        [
            -np.inf if algorithm[one] is None else round(algorithm[one], 2)
            for algorithm in algorithms
        ]
        for one in known
    ]
    return algorithms[int(np.nanargmin(mean_ranks(table)))]


def _confidence(
    verdict: str, n_found: int | None, votes: dict[str, int], number: int, best: dict[str, Any]
) -> str:
    """Return "high", "medium" or "low"."""
    share = sum(one == number for one in votes.values()) / len(votes)
    stability = best["stability"] if best["stability"] is not None else 0.0
    if verdict == "clear" and n_found != 1 and share > 0.7 and stability >= STABLE:
        return "high"
    if verdict == "none" or n_found == 1 or share <= 0.25 or stability < UNSTABLE:
        return "low"
    return "medium"


# ---- words and a picture ------------------------------------------------------------------------

_COLUMNS = ("silhouette", "gap", "stability", "agreement", "criterion")


def _lines(name: str, table: str, roles: Roles, result: dict[str, Any]) -> Iterator[str]:
    if result["doubts"]:
        yield from [*result["doubts"], ""]
    numbers, scores = result["numbers"], result["scores"]
    yield (
        f"{name}: {count(result['n_rows'], 'row')}, {count(result['n_features'], 'column')}, "
        f"{numbers[0]}{f' to {numbers[-1]}' if len(numbers) > 1 else ''} clusters"
    )
    if result["n_rows_used"] < result["n_rows"]:
        yield f"(judged by {result['n_rows_used']:,} rows)"
    yield ""
    shown = [one for one in _COLUMNS if scores.get(one)]
    header = ["clusters", *shown]
    rows = [[str(k), *(_cell(one, scores[one], k) for one in shown)] for k in numbers]
    yield from aligned(rows, header, right=set(header))
    yield (
        "\n* preferred. Silhouette: of the best algorithm; stability and agreement: means over "
        "algorithms"
    )
    yield (
        f"(adjusted Rand index); of the numbers within {AS_STABLE} of the most stable one, the "
        "largest is preferred;"
    )
    yield "gap: flat beyond the number that is enough; criterion: AutoKMeans', less its highest."
    number = result["recommended"]["n_clusters"]
    yield f"\nWith {number} clusters\n"
    rows = [
        [
            one["name"],
            *("" if one[c] is None else f"{one[c]:.2f}" for c in ("silhouette", "stability")),
            "" if one["agreement"] is None else f"{one['agreement']:.2f}",
            " ".join(map(str, one["sizes"][:6])) + (" ..." if len(one["sizes"]) > 6 else ""),
        ]
        for one in result["algorithms"]
    ]
    header = ["algorithm", "silhouette", "stability", "agreement", "rows in clusters"]
    yield from aligned(rows, header, right=set(header[1:4]))
    for one in result["skipped"]:
        yield f"\nSkipped {one['name']}: {one['reason']}"
    best = result["recommended"]
    yield (
        f"\nRecommended: {number} clusters by {best['algorithm']}; confidence: "
        f"{best['confidence']}."
    )
    yield f"{_capital(say_votes(result['votes'], scores.get('gap', {})))}."
    if number == numbers[-1] and len(numbers) > 1:
        yield f"{number} is the most that was tried: see also -k {numbers[0]}:{number + 4}."
    yield f"  {_command(table, roles, number, best['algorithm'])}\n"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cell(name: str, scores: dict[int, float], k: int) -> str:
    if k not in scores:
        return ""
    value = scores[k]
    if name == "criterion":
        text = f"{value - max(scores.values()):.0f}".replace("-0", "0")
    else:
        text = f"{value:.2f}"
    mark = "*" if name in TITLES and best_of(name, scores) == k else " "
    return text + mark


def _command(table: str, roles: Roles, number: int, algorithm: str) -> str:
    parts = ["fwkmeans", "fit", table, "-k", str(number)]
    for option in ("categorical", "numeric", "drop", "id"):
        names = getattr(roles, option)
        if names:
            parts += [f"--{option}", ",".join(f'"{one}"' if "," in one else one for one in names)]
    if roles.labels is not None:
        parts += ["--labels", roles.labels]
    if roles.dates != "drop":
        parts += ["--dates", roles.dates]
    if algorithm != AUTO:
        name, _, parameters = algorithm.partition(" (")
        parts += ["-a", name]
        for one in filter(None, parameters.rstrip(")").split(", ")):
            parts += ["-p", one]
    return shlex.join(parts)


def _draw(result: dict[str, Any], name: str, path: str) -> None:
    """Write a picture of the criteria by number of clusters."""
    require("matplotlib", "Plots", "plot")
    from matplotlib.figure import Figure

    scores, number = result["scores"], result["recommended"]["n_clusters"]
    titles = {
        "silhouette": "Silhouette of the best algorithm",
        "gap": "Gap to tables without clusters",
        "stability": "Stability (found again in parts of the rows)",
        "agreement": "Agreement of the algorithms",
        "criterion": "AutoKMeans' criterion, less its highest",
    }
    shown = [one for one in titles if scores.get(one)]
    figure = Figure(figsize=(9.0, 2.6 * ((len(shown) + 1) // 2)), layout="constrained")
    figure.suptitle(
        f"{harmless(name)}: {number} clusters recommended, confidence "
        f"{result['recommended']['confidence']}"
    )
    grid = figure.subplots((len(shown) + 1) // 2, 2, squeeze=False).ravel()
    for axes, one in zip(grid, shown, strict=False):
        numbers = sorted(scores[one])
        values = np.array([scores[one][k] for k in numbers])
        values = values - values.max() if one == "criterion" else values
        axes.plot(numbers, values, marker="o", color="#0072b2")
        axes.axvline(number, color="#999999", linewidth=1, linestyle="--")
        axes.set_title(titles[one], fontsize=10)
        axes.set_xlabel("number of clusters")
        axes.set_xticks(numbers)
    for axes in grid[len(shown) :]:
        axes.set_visible(False)
    with replacing(path) as temporary:
        figure.savefig(temporary, format=Path(path).suffix[1:].lower(), dpi=120)
