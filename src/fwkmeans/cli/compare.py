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
from fwkmeans.cli.numbers import command_of, is_auto
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
from fwkmeans.cli.run import Fitted, fit_and_collect, fit_choice

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
    asked = None if isinstance(options.clusters, int) else options
    begin = time.perf_counter()
    first = fit_choice(choose(AUTO), options, chosen) if _needs_auto(choices, options) else None
    seconds = time.perf_counter() - begin
    if not isinstance(options.clusters, int):
        options, said = _with_number(options, first)
        chosen.notes.insert(0, said)
    result = compared(choices, options, chosen, patient=bool(algorithms), first=first)
    for one in result["algorithms"]:
        one["seconds"] = round(seconds, 3) if one["seconds"] is None else one["seconds"]
    if not result["algorithms"]:
        reasons = {one["reason"] for one in result["skipped"]}
        raise InputError(next(iter(reasons)) if len(reasons) == 1 else " ".join(sorted(reasons)))
    most = {
        column: max(one["weights"].get(column, 0.0) for one in result["algorithms"])
        for column in chosen.doubtful
    }
    deciding, others = with_shares(chosen.doubtful, most)
    chosen.notes.extend(said.replace("It has ", "It has up to ") for said in [*deciding, *others])
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
    suggested = result["suggestion"] or {"algorithm": AUTO, "n_clusters": 1}
    asked_for = options if asked is None or suggested["algorithm"] != AUTO else asked
    command = command_of(table, roles, asked_for, suggested["algorithm"])
    for line in _lines(name, result, roles.labels, command):
        click.echo(harmless(line), err=out == "-")
    if out not in (None, "-"):
        click.echo(f"\nWrote the clusters to {out}")
    for text in chosen.notes:
        click.echo(harmless(f"\nNote: {text}"), err=out == "-")


def _needs_auto(choices: Sequence[Choice], options: FitOptions) -> bool:
    """Tell whether what ``fwkmeans fit`` finds has to be known."""
    asked = isinstance(options.clusters, int)
    return not asked or any(is_auto(one) and not one.parameters for one in choices)


def _with_number(options: FitOptions, first: Fitted | None) -> tuple[FitOptions, str]:
    """Return the options with the number that ``fwkmeans fit`` finds, and a sentence."""
    found = (first.chosen if first is not None else None) or 1
    said = f"AutoKMeans found {count(found, 'cluster')}, and all algorithms were asked for "
    said += "as many (-k)." if found > 1 else "2 (-k)."
    return options._replace(clusters=max(2, found)), said


def compared(
    choices: Sequence[Choice],
    options: FitOptions,
    chosen: Chosen,
    *,
    patient: bool = False,
    first: Fitted | None = None,
) -> dict[str, Any]:
    """Return sizes, weights and agreement of the partitions, ready for JSON but for the labels.

    Labels are those of one algorithm wherever the same rows are together. Unless `patient`,
    algorithms that tables of very many columns slow down are skipped. `first` is what ``fwkmeans
    fit`` finds.
    """
    from fwkmeans._support.agreement import adjusted_rand_score

    done: list[dict[str, Any]] = []
    skipped = []
    for choice in each(choices, len(choices), lambda one: one.title):
        try:
            if not patient:
                _refuse_width(choice, chosen)
            done.append(_one(choice, options, chosen, first))
        except (ValueError, TypeError) as error:
            reason = " ".join(str(error).split())
            skipped.append({"name": choice.title, "reason": reason})
    if done:
        _match_labels(done)
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
        "suggestion": _suggestion(done, agreement, first),
        "doubts": [] if first is None else first.doubts,
    }


def _suggestion(
    done: Sequence[dict[str, Any]], agreement: Sequence[Sequence[float]], first: Fitted | None
) -> dict[str, Any] | None:
    """Return what to begin with: what ``fwkmeans fit`` finds, or the one in the middle.

    A result with an empty cluster is none; nothing is suggested if all have one.
    """
    if first is not None and first.chosen == 1:
        return {"algorithm": AUTO, "n_clusters": 1}
    whole = [at for at, one in enumerate(done) if all(one["sizes"])]
    if not whole:
        return None
    auto = next((at for at in whole if done[at]["name"] == AUTO), None)
    at = max(whole, key=lambda at: sum(agreement[at])) if auto is None else auto
    return {"algorithm": done[at]["name"], "n_clusters": len(done[at]["sizes"])}


def _match_labels(done: Sequence[dict[str, Any]]) -> None:
    """Give the clusters of all algorithms the numbers of the first, as far as they agree."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    n_clusters = max(len(one["sizes"]) for one in done)
    reference = np.asarray(done[0]["labels"])
    for one in done[1:]:
        labels = np.asarray(one["labels"])
        both = np.zeros((n_clusters, n_clusters))
        np.add.at(both, (labels, reference), 1.0)
        numbers = linear_sum_assignment(-both)[1]
        one["labels"] = numbers[labels].tolist()
        n_own = max(len(one["sizes"]), 1 + max(one["labels"]))
        one["sizes"] = np.bincount(one["labels"], minlength=n_own).tolist()


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


def _one(
    choice: Choice, options: FitOptions, chosen: Chosen, first: Fitted | None
) -> dict[str, Any]:
    from fwkmeans._support.agreement import adjusted_rand_score
    from fwkmeans.reports.summarize import summarize_rows

    seconds = None
    if choice.name == AUTO:  # which has no starts
        options = options._replace(starts=None)
    if first is not None and choice == choose(AUTO) and first.chosen in (None, options.clusters):
        pipeline, rows, warned = first.pipeline, first.rows, first.warned
    else:
        pipeline = build(choice, options, chosen.features, chosen.n_missing)
        begin = time.perf_counter()
        rows, warned = fit_and_collect(pipeline, chosen.features)
        seconds = round(time.perf_counter() - begin, 3)
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
        "seconds": seconds,
        "warnings": [one.text for one in warned],
        "labels": labels,
    }


def _lines(name: str, result: dict[str, Any], labels: str | None, command: str) -> Iterator[str]:
    done = result["algorithms"]
    if result["doubts"]:
        yield from [*result["doubts"], ""]
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
        yield from _about_consensus(result["consensus"], len(done))
    yield ""
    yield from _about_suggestion(result, command)
    for one in result["skipped"]:
        yield f"\nSkipped {one['name']}: {one['reason']}"


def _about_consensus(consensus: dict[str, Any], n_done: int) -> Iterator[str]:
    """Yield what the algorithms agree on."""
    yield (
        f"Consensus: {percent(consensus['share_agreed'])} of the rows are in the same cluster for "
        f"most algorithms, {percent(consensus['share_unanimous'])} for all {n_done}; majority "
        f"clusters of {_sizes(consensus['sizes'])} rows (the column 'consensus' of --out)."
    )
    others = [one for one in consensus["alike"] if one != consensus["middle"]]
    alike = f"{', '.join(others)} {'give' if len(others) > 1 else 'gives'} nearly the same clusters"
    agreement = consensus["mean_agreement"]
    yield (
        f"In the middle of all is {consensus['middle']} (mean agreement {agreement:.2f}; "
        f"{alike if others else 'no other is near it'})."
    )
    if agreement < DISAGREE:
        yield (
            "The algorithms disagree: the table may have no clear clusters, or another number of "
            "them. Try other numbers, or fewer columns, before you trust any."
        )


def _about_suggestion(result: dict[str, Any], command: str) -> Iterator[str]:
    """Yield what to begin with.

    AutoKMeans is suggested where it is among them: it is nearer to known classes than the one in
    the middle, on real tables and on others, with noise and without (the page on clusters without
    labels has the figures).
    """
    suggestion = result["suggestion"]
    empty = [one["name"] for one in result["algorithms"] if not all(one["sizes"])]
    if empty:
        yield (
            f"Not suggested, because a cluster of theirs has no rows: {', '.join(empty)}. "
            "Ask for fewer clusters."
        )
    if suggestion is None:
        yield "Suggestion: ask for fewer clusters, as every algorithm left one empty."
        return
    if suggestion["n_clusters"] == 1:
        yield (
            f"Suggestion: take all rows for one cluster, as AutoKMeans does: {command}. The two "
            "clusters of each algorithm only divide the rows."
        )
        return
    name = suggestion["algorithm"]
    why = "which agrees most with the others"
    if name == AUTO:
        why = "which on average comes closest to known classes"
    yield f"Suggestion: begin with {name}, {why}: {command}"


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
