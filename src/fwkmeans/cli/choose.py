"""``fwkmeans choose``: which number of clusters, and which algorithm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from textwrap import fill
from typing import Any

import click
import numpy as np

from fwkmeans._support.errors import InputError
from fwkmeans._support.files import replacing
from fwkmeans._support.optional import require
from fwkmeans._support.text import aligned, count, harmless, joined, two_decimals
from fwkmeans._tabular.format import Format
from fwkmeans.cli.columns import Chosen, Roles, read_columns
from fwkmeans.cli.models import AUTO, Choice, FitOptions, build, check_sizes, choose
from fwkmeans.cli.numbers import (
    AS_STABLE,
    TITLES,
    best_of,
    command_of,
    is_auto,
    numbers_of,
    say_votes,
    score_numbers,
    some_rows,
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
from fwkmeans.cli.run import fit_and_collect, fit_choice

#: Algorithms that are compared if nobody says which.
DEFAULT = (AUTO, "K-Means", "WK-Means", "EW-KM")
#: Kinds of pictures.
SUFFIXES = (".png", ".svg", ".pdf")
#: Clusters that an answer names.
MOST_NAMES = 4
WIDTH = 100  # of lines of text


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
    text=f"Begin with this one; more are set beside it (default: {', '.join(DEFAULT)}).",
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
    """Say how many clusters TABLE has, what a coarser and a finer answer would gain, and how sure.

    The recommendation is what fwkmeans fit finds with the same options. Beside it stand the best
    smaller and larger number of clusters, other algorithms with as many clusters, and what criteria
    say of every number: the silhouette (are rows nearer to their own cluster?), the gap (is there
    less scatter than in tables without clusters?), stability (are the same clusters found in parts
    of the rows?), the agreement of the algorithms, and AutoKMeans' own criterion. For these
    criteria 1,000 rows of large tables are used.
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
    for line in _lines(name, table, roles, options, result):
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
    """Return what is recommended, and what speaks for and against it, ready for JSON.

    The first of the choices is fitted as ``fwkmeans fit`` does; this is the recommendation.
    """
    check_sizes(options, chosen.features)
    first, *others = choices
    fitted = fit_choice(first, _own(first, options), chosen)
    answer = _answer(first, fitted.pipeline, fitted.rows, options, chosen)
    number, tendency = answer["n_clusters"], fitted.tendency
    rows = some_rows(chosen.features, options.seed)
    asked = options if not isinstance(options.clusters, int) else None
    numbers = [number] if asked is None else numbers_of(options, rows.num_rows)
    if asked is not None and not isinstance(options.clusters, tuple) and number > 1:
        numbers = sorted({*numbers, number})
    numbers = [k for k in numbers if k > 1]
    found: dict[str, Any] = {}
    labels: dict[str, dict[int, Any]] = {}
    skipped = []
    named = [one for one in choices if not is_auto(one)] if numbers else []
    for choice in each(named, len(named), lambda one: one.title):
        try:
            found[choice.title], labels[choice.title] = score_numbers(
                choice, options, rows, numbers, gap=choice is named[0]
            )
        except (ValueError, TypeError) as error:
            skipped.append({"name": choice.title, "reason": " ".join(str(error).split())})
    criterion = fitted.scores.get("criterion", {})
    scores = _by_number(found, labels, numbers)
    scores["criterion"] = criterion if len(criterion) > 1 else {}
    voting = {one: scores[one] for one in TITLES if scores.get(one)}
    votes = vote(voting)[1] if voting else {}
    beside = []
    if asked is not None:
        for kind, k in _alternatives(scores, number):
            beside.append({"kind": kind} | _with(first, k, options, chosen))
    algorithms = [answer]
    for choice in others if number > 1 else ():
        if choice.title in {one["name"] for one in skipped}:
            continue
        try:
            algorithms.append(_with(choice, number, options, chosen))
        except (ValueError, TypeError) as error:
            skipped.append({"name": choice.title, "reason": " ".join(str(error).split())})
    _put_agreement(algorithms)
    for one in (*algorithms, *beside):
        del one["labels"]
    return {
        "n_rows": chosen.features.num_rows,
        "n_features": chosen.features.num_columns,
        "n_rows_used": rows.num_rows,
        "tendency": tendency,
        "doubts": fitted.doubts,
        "reasons": fitted.reasons,
        "numbers": numbers,
        "scores": scores,
        "votes": votes,
        "alternatives": beside,
        "algorithms": algorithms,
        "skipped": skipped,
        "recommended": {
            "n_clusters": number,
            "algorithm": first.title,
            "confidence": _confidence(tendency, votes, answer),
        },
    }


def _own(choice: Choice, options: FitOptions) -> FitOptions:
    """Return the options of an algorithm: `AutoKMeans` has no starts."""
    return options._replace(starts=None) if is_auto(choice) else options


def _with(choice: Choice, number: int, options: FitOptions, chosen: Chosen) -> dict[str, Any]:
    """Return what an algorithm finds if it is asked for so many clusters."""
    own = _own(choice, options)._replace(clusters=number)
    with working(f"{choice.name} with {count(number, 'cluster')}"):
        pipeline = build(choice, own, chosen.features, chosen.n_missing)
        rows, _ = fit_and_collect(pipeline, chosen.features)
        return _answer(choice, pipeline, rows, options, chosen)


def _answer(
    choice: Choice, pipeline: Any, rows: Any, options: FitOptions, chosen: Chosen
) -> dict[str, Any]:
    """Return what clusters an algorithm finds, and how far to trust them."""
    from fwkmeans.reports.summarize import summarize_rows

    summary = summarize_rows(
        pipeline,
        chosen.features,
        rows,
        draws=options.draws,
        random_state=options.seed,
        for_page=False,
    )
    clusters = [one for one in summary["clusters"] if one["size"]]
    clusters.sort(key=lambda one: -one["size"])
    stability = summary["stability"]
    return {
        "name": choice.title,
        "n_clusters": len(clusters),
        "stability": None if stability is None else stability["median"],
        "verdict": None if stability is None else stability["verdict"],
        "sizes": [one["size"] for one in clusters],
        "clusters": [one["name"] for one in clusters],
        "labels": pipeline[-1].labels_,
    }


def _alternatives(scores: dict[str, dict[int, float]], number: int) -> Iterator[tuple[str, int]]:
    """Yield the best smaller and larger number of clusters by the first criterion that has any."""
    for kind, is_other in (("coarser", range(2, number)), ("finer", range(number + 1, 10**6))):
        for one in ("criterion", "silhouette"):
            own = {k: value for k, value in scores.get(one, {}).items() if k in is_other}
            if own:
                yield kind, max(own, key=lambda k: (own[k], -k))
                break


def _by_number(
    found: dict[str, Any], labels: dict[str, dict[int, Any]], numbers: Sequence[int]
) -> dict[str, dict[int, float]]:
    """Return what criteria say of each number, over all named algorithms."""
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


def _put_agreement(algorithms: list[dict[str, Any]]) -> None:
    """Say of each algorithm how far it agrees with the others on average."""
    from fwkmeans._support.agreement import mean_agreement

    means = [None]
    if len(algorithms) > 1:
        means = mean_agreement([one["labels"] for one in algorithms]).tolist()
    for one, mean in zip(algorithms, means, strict=True):
        one["agreement"] = mean


def _confidence(
    tendency: dict[str, Any] | None, votes: dict[str, int], answer: dict[str, Any]
) -> str:
    """Return "high", "medium" or "low"."""
    number, verdict = answer["n_clusters"], None if tendency is None else tendency["verdict"]
    if number == 1:
        return {"none": "high", "doubtful": "medium"}.get(verdict or "", "low")
    share = sum(one == number for one in votes.values()) / max(1, len(votes))
    stable = answer["verdict"]
    if verdict == "clear" and share > 0.5 and stable == "stable":
        return "high"
    if verdict == "none" or stable in (None, "not stable"):
        return "low"
    return "medium"


# ---- words and a picture ------------------------------------------------------------------------

_COLUMNS = ("silhouette", "gap", "stability", "agreement", "criterion")


def _lines(
    name: str, table: str, roles: Roles, options: FitOptions, result: dict[str, Any]
) -> Iterator[str]:
    for said in (result["doubts"], result["reasons"]):
        if said:
            yield from [*said, ""]
    best, (answer, *others) = result["recommended"], result["algorithms"]
    number = best["n_clusters"]
    yield f"{name}: {count(result['n_rows'], 'row')}, {count(result['n_features'], 'column')}"
    yield (
        f"Recommended: {count(number, 'cluster')} by {best['algorithm']}; confidence: "
        f"{best['confidence']}. This finds them:"
    )
    yield f"  {command_of(table, roles, options, best['algorithm'])}"
    yield ""
    yield from _told(f"{number}", answer)
    for one in result["alternatives"]:
        yield from _told(f"{one['n_clusters']}, {one['kind']}", one)
        yield from _gained(one, answer, result["scores"])
    if others:
        yield f"\nOther algorithms with {count(number, 'cluster')}\n"
        rows = [
            [
                one["name"],
                "" if one["stability"] is None else two_decimals(one["stability"]),
                "" if one["agreement"] is None else two_decimals(one["agreement"]),
                " ".join(map(str, one["sizes"][:6])) + (" ..." if len(one["sizes"]) > 6 else ""),
            ]
            for one in result["algorithms"]
        ]
        header = ["algorithm", "stability", "agreement", "rows in clusters"]
        yield from aligned(rows, header, right=set(header[1:3]))
    for one in result["skipped"]:
        yield f"\nSkipped {one['name']}: {one['reason']}"
    yield from _numbers(result)


def _numbers(result: dict[str, Any]) -> Iterator[str]:
    """Yield what criteria say of each number."""
    scores, numbers = result["scores"], result["numbers"]
    shown = [one for one in _COLUMNS if scores.get(one)]
    if not shown:
        return
    used = (
        f", by {result['n_rows_used']:,} rows" if result["n_rows_used"] < result["n_rows"] else ""
    )
    yield f"\nWhat criteria say of each number{used}\n"
    header = ["clusters", *shown]
    rows = sorted({k for one in shown for k in scores[one]} & {1, *numbers})
    cells = [[str(k), *(_cell(one, scores[one], k) for one in shown)] for k in rows]
    yield from aligned(cells, header, right=set(header))
    yield ""
    yield fill(
        "* preferred. Silhouette: of the best named algorithm; stability and agreement: means over "
        f"them (adjusted Rand index); of the numbers within {AS_STABLE} of the most stable one the "
        "largest is preferred; gap: flat beyond the number that is enough; criterion: AutoKMeans', "
        "less its highest.",
        WIDTH,
    )
    if result["votes"]:
        said = say_votes(result["votes"], scores.get("gap", {}))
        yield fill(f"{said[:1].upper()}{said[1:]}.", WIDTH)
        if result["recommended"]["n_clusters"] not in result["votes"].values():
            yield (
                "They do not decide: the number above is that of AutoKMeans' own criterion, or the "
                "one asked for."
            )
    yield ""


def _told(title: str, answer: dict[str, Any]) -> Iterator[str]:
    """Yield the clusters of an answer, and whether they are found again."""
    if answer["n_clusters"] == 1:
        yield "  1: all rows together"
        return
    told = [
        f"{name} ({count(size, 'row')})"
        for name, size in zip(answer["clusters"], answer["sizes"], strict=True)
    ]
    more = len(told) - MOST_NAMES
    if more > 0:
        told = [*told[:MOST_NAMES], f"{more} more"]
    stability = "stability not known"
    if answer["stability"] is not None:
        stability = f"{answer['verdict']} ({two_decimals(answer['stability'])})"
    yield fill(
        f"{title}: {'; '.join(told)}: {stability}",
        WIDTH,
        initial_indent="  ",
        subsequent_indent="     ",
    )


def _gained(
    one: dict[str, Any], answer: dict[str, Any], scores: dict[str, dict[int, float]]
) -> Iterator[str]:
    """Yield what an alternative gains and loses."""
    gains: list[str] = []
    losses: list[str] = []
    known = one["stability"] is not None and answer["stability"] is not None
    if known and abs(one["stability"] - answer["stability"]) > AS_STABLE:
        is_more = one["stability"] > answer["stability"]
        (gains if is_more else losses).append(f"it is {'more' if is_more else 'less'} stable")
    if one["kind"] == "finer":
        gains.append("more detail")
    else:
        gains.append("fewer clusters to remember")
    criterion = scores.get("criterion", {})
    if {one["n_clusters"], answer["n_clusters"]} <= criterion.keys():
        behind = criterion[answer["n_clusters"]] - criterion[one["n_clusters"]]
        losses.append(
            f"the criterion is lower by {behind:.0f}" if behind >= 1 else "nearly nothing"
        )
    text = f"gains: {joined(gains)}"
    if losses:
        text += f"; loses: {joined(losses)}"
    yield f"     {text}"


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
    figure = Figure(figsize=(9.0, 2.6 * max(1, (len(shown) + 1) // 2)), layout="constrained")
    figure.suptitle(
        f"{harmless(name)}: {number} clusters recommended, confidence "
        f"{result['recommended']['confidence']}"
    )
    grid = figure.subplots(max(1, (len(shown) + 1) // 2), 2, squeeze=False).ravel()
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
