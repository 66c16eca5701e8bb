"""A summary (`fwkmeans.reports.summarize`) as a page of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import Any

from fwkmeans._support.text import (
    bar,
    count,
    for_terminal,
    has_blocks,
    joined,
    padded,
    percent,
    two_decimals,
    width_of,
)

MOST_FEATURES = 8  # listed for the table
MOST_CLUSTERS = 20  # described
NAME_WIDTH, TEXT_WIDTH, BAR_WIDTH = 28, 40, 10
WIDTH = 100  # of lines of text
LEAST_SHARE = 0.05  # of rows told apart, of columns that are listed


def result_lines(
    summary: dict[str, Any], table: str, title: str, labels: str | None
) -> Iterator[str]:
    """Yield what a person wants to know first: what the clusters are, and how far to trust them."""
    clusters = summary["clusters"]
    yield (
        f"{table}: {count(summary['n_rows'], 'row')}, {count(summary['n_features'], 'column')}, "
        f"{_found(summary)} by {title}"
    )
    yield fill(stability_line(summary), WIDTH)
    if len(clusters) > 1:
        yield from _column_lines(summary)
        yield from _cluster_lines(summary)
        yield from _coarser_lines(summary)
    agreement = summary.get("agreement")
    if agreement is not None and agreement["ari"] is not None:
        yield ""
        yield (
            f"Agreement with {labels!r}: ARI {agreement['ari']:.2f} (adjusted Rand index: 1 is the "
            "same partition, 0 is chance)"
        )
    for topic, text in zip(summary["warning_topics"], summary["warnings"], strict=True):
        if topic not in ("tendency", "missing"):  # that was said first, this is said in a note
            yield f"\nCaution: {text}"


def _column_lines(summary: dict[str, Any]) -> Iterator[str]:
    """Yield the columns by how well they tell the clusters apart."""
    told = [one for one in summary["features"] if one["separation"] >= LEAST_SHARE]
    shown = told[:MOST_FEATURES]
    yield ""
    weights = _what_weights_are(summary)
    yield fill(
        "Which columns matter: the share of the rows that each tells apart by itself, beyond "
        f"chance (100% is all of them). {weights}",
        WIDTH,
    )
    width = min(NAME_WIDTH, max((width_of(one["name"]) for one in shown), default=1))
    weighted, alike = not _is_equal(summary), _one_share(summary) is not None
    for one in shown:
        line = f"  {padded(for_terminal(one['name'], width), width)}"
        line += f"  {percent(one['separation']):>4}  {padded(bar(one['separation']), 20)}"
        line += _weight(one["weight"]) if weighted else ""
        if weighted and not alike and one["weight"] > 0 and one["equal_weight"] > 0:
            line += f", {one['weight'] / one['equal_weight']:.1f} times"
        yield line.rstrip()
    if not shown:
        yield f"  none tells {percent(LEAST_SHARE)} of them apart"
    left = len(summary["features"]) - len(shown)
    if left and shown:
        yield f"  and {left} more that {'tells' if left == 1 else 'tell'} less apart (--json)"


def _cluster_lines(summary: dict[str, Any]) -> Iterator[str]:
    """Yield what tells each cluster from the others."""
    clusters, unit = summary["clusters"], summary["unit"]
    yield ""
    yield fill(
        f"What tells each {unit} from the other rows. Numbers are means. {unit.capitalize()}s "
        "count from 1 here; files number them from 0, beside their names.",
        WIDTH,
    )
    weighted = not _is_equal(summary)
    for cluster in clusters[:MOST_CLUSTERS]:
        yield ""
        size = f"{count(cluster['size'], 'row')}, {percent(cluster['share'], fine=True)}"
        if unit == "group":
            size += f", {_clusters(cluster['parts'])}"
        heading = f"{unit.capitalize()} {cluster['number'] + 1} ({size}): "
        yield heading + _plain(cluster["name"], WIDTH - len(heading))
        yield from _claims(cluster, weighted)
        yield from _rule(cluster)
    if summary["rules_right"] is not None and len(clusters) <= MOST_CLUSTERS:
        yield ""
        right = percent(summary["rules_right"])
        yield f"Together the rules give the {unit} of {right} of the rows."
    if len(clusters) > MOST_CLUSTERS:
        yield f"\n... and {len(clusters) - MOST_CLUSTERS} more {unit}s (--json lists all)"


def _claims(cluster: dict[str, Any], weighted: bool) -> Iterator[str]:
    """Yield the columns that separate a cluster best, with what they are in it."""
    claims = cluster["separates"]
    names = [for_terminal(one["column"], NAME_WIDTH) for one in claims]
    texts = [_plain(one["text"], TEXT_WIDTH) for one in claims]
    widths = [max(map(width_of, some), default=0) for some in (names, texts)]
    for one, name, text in zip(claims, names, texts, strict=True):
        line = f"  {padded(name, widths[0])}  {padded(text, widths[1])}  {percent(one['share']):>4}"
        line += f"  {padded(bar(one['share'], BAR_WIDTH), BAR_WIDTH)}"
        yield f"{line}{_weight(cluster['weights'][one['column']]) if weighted else ''}".rstrip()


def _rule(cluster: dict[str, Any]) -> Iterator[str]:
    """Yield how a person would find the cluster's rows."""
    rule = cluster["rule"]
    if rule is None:
        return
    more = f", and {count(rule['n_more'], 'other case')} (--rules)" if rule["n_more"] else ""
    figures = f"{percent(rule['covers'])} of its rows, {percent(rule['others'])} of the others"
    text = _plain(f"{rule['text']} ({figures}{more})", 400)
    yield fill(f"  rule: {text}", WIDTH, subsequent_indent="        ")


def _coarser_lines(summary: dict[str, Any]) -> Iterator[str]:
    """Yield what a coarser answer would be, where there are many clusters."""
    merges = summary["merges"]
    if summary["unit"] == "group" or merges is None or merges["coarser"] is None:
        return
    coarser = merges["coarser"]
    groups = [
        [k for k, group in enumerate(coarser["groups"]) if group == g]
        for g in range(coarser["n_groups"])
    ]
    told = "; ".join(_clusters(own) for own in groups)
    yield ""
    yield fill(
        f"And coarser: {count(len(groups), 'group')} keep {percent(coarser['kept'])} of what tells "
        f"the clusters apart (--merge {len(groups)}): {told}.",
        WIDTH,
    )


def _clusters(numbers: Sequence[int]) -> str:
    """Return clusters as people count them."""
    shown = [str(k + 1) for k in numbers]
    return f"cluster{'s' if len(shown) > 1 else ''} {joined(shown)}"


def _found(summary: dict[str, Any]) -> str:
    """Return how many clusters there are, and groups if they were merged."""
    parts = sum(len(one["parts"]) for one in summary["clusters"])
    if summary["unit"] == "cluster":
        return count(parts, "cluster")
    return f"{count(len(summary['clusters']), 'group')} of {count(parts, 'cluster')}"


def _weight(share: float) -> str:
    return f"  weight {percent(share, fine=True)}" if share > 0 else "  follows, was not used"


def stability_line(summary: dict[str, Any]) -> str:
    """Return whether the clusters are found again in parts of the rows."""
    stability = summary["stability"]
    if stability is None:
        return f"Stability: not known. {summary['stability_note']}"
    return (
        f"Stability: {two_decimals(stability['median'])}, {stability['verdict']} (agreement with "
        f"the clusters of {stability['drawn']}, {count(stability['n_draws'], 'draw')}: 1 is the "
        "same, 0 is chance)"
    )


def _plain(text: str, width: int) -> str:
    """Return a sentence of a report as a terminal can show it."""
    if not has_blocks():
        for fancy, simple in (("“", '"'), ("”", '"'), ("−", "-"), ("…", "...")):
            text = text.replace(fancy, simple)
    return for_terminal(text, width)


def _is_equal(summary: dict[str, Any]) -> bool:
    """Tell whether no column has more weight than equal weights give it."""
    equal = {feature["name"]: feature["equal_weight"] for feature in summary["features"]}
    return all(
        abs(weight - equal[name]) < 1e-9
        for cluster in summary["clusters"]
        for name, weight in cluster["weights"].items()
    )


def _what_weights_are(summary: dict[str, Any]) -> str:
    if _is_equal(summary):
        return "All columns have the same weight."
    share = _one_share(summary)
    even = ", and how many times an equal weight that is"
    if share is not None:
        even = f", {percent(share, fine=True)} if all were equal"
    return f"Weight: how much it counted when rows were compared{even}."


def _one_share(summary: dict[str, Any]) -> float | None:
    """Return the share that equal weights give every column that varies; None if they differ."""
    equal = [one["equal_weight"] for one in summary["features"] if one["equal_weight"] > 0]
    return None if not equal or max(equal) - min(equal) > 1e-9 else float(equal[0])
