"""``fwkmeans compare``: every algorithm on one table."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import click

from fwkmeans._support.errors import InputError
from fwkmeans._support.text import aligned, count, for_terminal, harmless, has_blocks, percent
from fwkmeans._tabular.format import Format
from fwkmeans.cli.columns import Chosen, Roles, check_keys, read_columns, with_shares
from fwkmeans.cli.models import AUTO, Choice, FitOptions, build, choose, every_choice
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
    check_out,
    check_printed,
    echo_json,
    table_name,
    write_columns,
)
from fwkmeans.cli.progress import each
from fwkmeans.cli.run import fit_and_collect, fit_choice

MOST_SIZES = 6
MOST_FEATURES = 3
DOT = "·"
#: Agreement (adjusted Rand index) from which on two partitions are nearly the same, and mean
#: agreement below which algorithms disagree.
ALIKE, DISAGREE = 0.8, 0.4
#: Columns, as the algorithm sees them, beyond which it would take far longer than all others: the
#: work of both grows with their square.
WIDEST = {"CK-Means": 64, "SYNCLUS": 256}


@click.command(
    cls=SectionedCommand, epilog="Example: fwkmeans compare wine.csv -k 3 --labels class"
)
@click.argument("table", type=click.Path())
@fit_options
@algorithm_option(
    "algorithms", multiple=True, text="Only this one; may be repeated (default: all)."
)
@column_options
@file_option(
    "-o",
    "--out",
    text="Write the clusters of each row, one column per algorithm (.csv, .tsv, .parquet, .xlsx).",
)
@safe_option
@json_option
@format_options
def compare(
    table: str,
    options: FitOptions,
    algorithms: tuple[str, ...],
    roles: Roles,
    out: str | None,
    spreadsheet_safe: bool,
    as_json: bool,
    how: Format,
) -> None:
    """Cluster TABLE with every algorithm and show where they agree.

    Each algorithm has its default parameters, and the best of its starts is chosen by its own
    objective. Objectives of different algorithms cannot be compared, so none is called the best:
    look at the columns they chose, at known classes (--labels), and at the clusters that several
    of them find. At the end stands what most of them agree on, and which one to begin with.
    """
    check_printed(as_json, out)
    check_apart({"the table": table}, {"--out": out})
    check_out(out)
    name = table_name(table)
    choices = [choose(one) for one in algorithms] or every_choice()
    if out is not None:
        check_keys(roles.id, [*(one.title for one in choices), "consensus"])
    chosen = read_columns(table, how, roles, name)
    if not isinstance(options.clusters, int):
        options, said = _with_number(options, chosen)
        chosen.notes.insert(0, said)
    result = compared(choices, options, chosen, patient=bool(algorithms))
    if not result["algorithms"]:
        reasons = {one["reason"] for one in result["skipped"]}
        raise InputError(next(iter(reasons)) if len(reasons) == 1 else " ".join(sorted(reasons)))
    most = {
        column: max(one["weights"].get(column, 0.0) for one in result["algorithms"])
        for column in chosen.doubtful
    }
    first, others = with_shares(chosen.doubtful, most)
    chosen.notes.extend(said.replace("It has ", "It has up to ") for said in [*first, *others])
    labels = {one["name"]: one.pop("labels") for one in result["algorithms"]}
    labels |= {"consensus": result["consensus"].pop("labels")} if result["consensus"] else {}
    if out is not None:
        style = chosen.style
        chosen.notes.extend(
            write_columns(chosen.ids | labels, out, style=style, spreadsheet_safe=spreadsheet_safe)
        )
    if as_json:
        echo_json({"table": name} | result | {"notes": chosen.notes, "left_out": chosen.left_out})
        return
    for line in _lines(name, result, roles.labels):
        click.echo(harmless(line), err=out == "-")
    if out not in (None, "-"):
        click.echo(f"\nWrote the clusters to {out}")
    for text in chosen.notes:
        click.echo(harmless(f"\nNote: {text}"), err=out == "-")


def _with_number(options: FitOptions, chosen: Chosen) -> tuple[FitOptions, str]:
    """Return the options with the number of clusters that `AutoKMeans` finds, and a sentence."""
    found = fit_choice(choose(AUTO), options, chosen).chosen or 1
    said = f"AutoKMeans found {count(found, 'cluster')}, and all algorithms were asked for "
    said += "as many (-k)." if found > 1 else "2 (-k)."
    return options._replace(clusters=max(2, found)), said


def compared(
    choices: Sequence[Choice], options: FitOptions, chosen: Chosen, *, patient: bool = False
) -> dict[str, Any]:
    """Return sizes, weights and agreement of the partitions, ready for JSON but for the labels.

    Unless `patient`, algorithms that tables of very many columns slow down are skipped.
    """
    from fwkmeans._support.agreement import adjusted_rand_score

    done: list[dict[str, Any]] = []
    skipped = []
    for choice in each(choices, len(choices), lambda one: one.title):
        try:
            if not patient:
                _refuse_width(choice, chosen)
            done.append(_one(choice, options, chosen))
        except (ValueError, TypeError) as error:
            reason = " ".join(str(error).split())
            skipped.append({"name": choice.title, "reason": reason})
    partitions = [one["labels"] for one in done]
    agreement = [[float(adjusted_rand_score(a, b)) for b in partitions] for a in partitions]
    return {
        "n_rows": chosen.features.num_rows,
        "n_features": chosen.features.num_columns,
        "n_clusters": options.clusters,
        "algorithms": done,
        "skipped": skipped,
        "agreement": {"names": [one["name"] for one in done], "ari": agreement},
        "consensus": _consensus(done, agreement) if len(done) > 2 else None,
    }


def _consensus(done: Sequence[dict[str, Any]], agreement: Sequence[Sequence[float]]) -> Any:
    """Return what most algorithms say about each row, and the algorithm in the middle of them.

    Clusters of every algorithm are matched with those of the middle one so that as many rows as
    possible agree; then the majority decides, and the middle one on ties.
    """
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    ari = np.array(agreement)
    means = (ari.sum(axis=1) - 1.0) / (len(done) - 1)
    middle = int(means.argmax())
    partitions = [np.asarray(one["labels"]) for one in done]
    n_clusters = 1 + max(int(labels.max()) for labels in partitions)
    votes = np.zeros((partitions[0].size, n_clusters))
    rows = np.arange(partitions[0].size)
    for labels in partitions:
        both = np.zeros((n_clusters, n_clusters))
        np.add.at(both, (labels, partitions[middle]), 1.0)
        matched = linear_sum_assignment(-both)[1]
        votes[rows, matched[labels]] += 1.0
    votes[rows, partitions[middle]] += 0.5
    chosen = votes.argmax(axis=1)
    votes[rows, partitions[middle]] -= 0.5
    like_it = [one["name"] for one, value in zip(done, ari[middle], strict=True) if value >= ALIKE]
    return {
        "labels": chosen.tolist(),
        "sizes": np.bincount(chosen, minlength=n_clusters).tolist(),
        "share_agreed": float((votes.max(axis=1) > len(done) / 2).mean()),
        "share_unanimous": float((votes.max(axis=1) == len(done)).mean()),
        "middle": done[middle]["name"],
        "suggested": next((one["name"] for one in done if one["name"] == AUTO), None)
        or done[middle]["name"],
        "mean_agreement": float(means[middle]),
        "alike": like_it,
    }


def _refuse_width(choice: Choice, chosen: Chosen) -> None:
    """Raise if an algorithm would take very long."""
    if choice.name not in WIDEST:
        return
    width = sum(
        len(values.drop_null().unique()) if str(values.type) in ("string", "bool") else 1
        for values in chosen.features.columns
    )
    if width > WIDEST[choice.name]:
        raise InputError(
            f"{choice.name} would see {width} columns, since each category is one, and take very "
            f"long (more than {WIDEST[choice.name]}): leave out columns of many categories with "
            f"--drop, or ask for it with -a {choice.name}."
        )


def _one(choice: Choice, options: FitOptions, chosen: Chosen) -> dict[str, Any]:
    from fwkmeans._support.agreement import adjusted_rand_score
    from fwkmeans.reports.summarize import summarize_rows

    if choice.name == AUTO:  # which has no starts
        options = options._replace(starts=None)
    pipeline = build(choice, options, chosen.features, chosen.n_missing)
    begin = time.perf_counter()
    rows, warned = fit_and_collect(pipeline, chosen.features)
    seconds = time.perf_counter() - begin
    summary = summarize_rows(pipeline, chosen.features, rows, draws=0, for_page=False)
    labels = pipeline[-1].labels_.tolist()
    known = chosen.classes is not None
    return {
        "name": choice.title,
        "class": choice.cls.__name__,
        "parameters": summary["parameters"],
        "sizes": [cluster["size"] for cluster in summary["clusters"]],
        "weights": {feature["name"]: feature["weight"] for feature in summary["features"]},
        "equal_weights": {one["name"]: one["equal_weight"] for one in summary["features"]},
        "ari": float(adjusted_rand_score(chosen.classes, labels)) if known else None,
        "objective": summary["objective"],
        "converged": summary["converged"],
        "seconds": round(seconds, 3),
        "warnings": [one.text for one in warned],
        "labels": labels,
    }


def _lines(name: str, result: dict[str, Any], labels: str | None) -> Iterator[str]:
    done = result["algorithms"]
    yield (
        f"{name}: {count(result['n_rows'], 'row')}, {count(result['n_features'], 'column')}, "
        f"{count(result['n_clusters'], 'cluster')}"
    )
    yield ""
    header = ["algorithm", "ARI" if labels is not None else "", "rows in clusters", "columns that"]
    header[-1] += " matter most (share of the weight, times equal weights)"
    rows = [
        [
            one["name"],
            f"{one['ari']:.2f}" if one["ari"] is not None else "",
            _sizes(one["sizes"]),
            _heaviest(one["weights"], one["equal_weights"]),
        ]
        for one in done
    ]
    if labels is None:
        header, rows = _without(header, 1), [_without(row, 1) for row in rows]
    yield from aligned(rows, header, right={"ARI", "rows in clusters"})
    if labels is not None:
        yield f"\nARI: adjusted Rand index with {labels!r}; 1 is the same partition, 0 is chance."
    if len(done) > 1:
        yield "\nAgreement between the partitions (adjusted Rand index)\n"
        yield from _matrix(result["agreement"])
    if result["consensus"] is not None:
        yield ""
        yield from _about_consensus(result["consensus"], len(done), name)
    for one in result["skipped"]:
        yield f"\nSkipped {one['name']}: {one['reason']}"


def _about_consensus(consensus: dict[str, Any], n_done: int, name: str) -> Iterator[str]:
    """Yield what the algorithms agree on, and what to do with it.

    AutoKMeans is suggested where it is among them: it is nearer to known classes than the one in
    the middle, on real tables and on others, with noise and without (the page on clusters without
    labels has the figures).
    """
    others = [one for one in consensus["alike"] if one != consensus["middle"]]
    alike = (
        f"{', '.join(others)} give nearly the same clusters" if others else "no other is near it"
    )
    if len(others) == 1:
        alike = f"{others[0]} gives nearly the same clusters"
    yield (
        f"Consensus: {percent(consensus['share_agreed'])} of the rows are in the same cluster for "
        f"most algorithms, {percent(consensus['share_unanimous'])} for all {n_done}; majority "
        f"clusters of {_sizes(consensus['sizes'])} rows (the column 'consensus' of --out)."
    )
    agreement = consensus["mean_agreement"]
    if agreement < DISAGREE:
        yield (
            f"Suggestion: the algorithms disagree (the one in the middle, {consensus['middle']}, "
            f"agrees with the others to {agreement:.2f} on average): the table may have no clear "
            "clusters, or another number of them. Try other numbers, or fewer columns, before you "
            "trust any."
        )
        return
    choice = consensus["suggested"]
    option = "" if choice == choose(None).title else f" -a {choice.partition(' (')[0]}"
    why = f"which is in the middle of the others (mean agreement {agreement:.2f}; {alike})"
    if choice != consensus["middle"]:
        why = (
            "which on average comes closest to known classes; in the middle of all is "
            f"{consensus['middle']} (mean agreement {agreement:.2f}; {alike})"
        )
    yield (
        f"Suggestion: begin with {choice}, {why}: fwkmeans fit {name} -k "
        f"{sum(size > 0 for size in consensus['sizes'])}{option} --report report.html"
    )


def _without(cells: Sequence[str], at: int) -> list[str]:
    return [cell for place, cell in enumerate(cells) if place != at]


def _sizes(sizes: Sequence[int]) -> str:
    ordered = sorted(sizes, reverse=True)
    more = " ..." if len(ordered) > MOST_SIZES else ""
    return " ".join(map(str, ordered[:MOST_SIZES])) + more


def _heaviest(weights: dict[str, float], equal: dict[str, float]) -> str:
    if all(abs(share - equal[name]) < 1e-9 for name, share in weights.items()):
        return "all alike"
    times = {name: share / equal[name] for name, share in weights.items() if equal[name] > 0}
    top = sorted(times, key=lambda name: -times[name])[:MOST_FEATURES]
    return ", ".join(
        f"{for_terminal(name, 20)} {percent(weights[name], fine=True)} ({times[name]:.1f}x)"
        for name in top
        if times[name] > 0
    )


def _matrix(agreement: dict[str, Any]) -> list[str]:
    """Return the lower half of the matrix; rows have names, columns their numbers."""
    names = agreement["names"]
    numbers = [str(at) for at in range(1, len(names) + 1)]
    rows = []
    for at, (name, values) in enumerate(zip(names, agreement["ari"], strict=True)):
        title = f"{numbers[at]:>{len(numbers[-1])}} {name}"
        below = [f"{value:.2f}" for value in values[:at]]
        rows.append([title, *below, DOT if has_blocks() else ".", *[""] * (len(names) - at - 1)])
    return aligned(rows, ["", *numbers], right=set(numbers))
