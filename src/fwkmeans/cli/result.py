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
    padded,
    percent,
    two_decimals,
    width_of,
)

MOST_FEATURES = 5  # listed for a cluster
MOST_CLUSTERS = 20  # described
NAME_WIDTH = 28
WIDTH = 100  # of lines of text
LEAST_SHARE = 0.05  # of rows told apart, of columns that are listed


def result_lines(
    summary: dict[str, Any], table: str, title: str, labels: str | None
) -> Iterator[str]:
    """Yield what a person wants to know first: what the clusters are, and how far to trust them."""
    clusters = summary["clusters"]
    yield (
        f"{table}: {count(summary['n_rows'], 'row')}, {count(summary['n_features'], 'column')}, "
        f"{count(len(clusters), 'cluster')} by {title}"
    )
    yield fill(stability_line(summary), WIDTH)
    if len(clusters) > 1:
        yield from _cluster_lines(summary)
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


def _cluster_lines(summary: dict[str, Any]) -> Iterator[str]:
    """Yield what tells each cluster from the others."""
    clusters = summary["clusters"]
    yield ""
    equal = {feature["name"]: feature["equal_weight"] for feature in summary["features"]}
    weighted = not _is_equal(clusters, equal)
    yield fill(
        f"What tells each cluster from the other rows: {_what_is_shown(equal, weighted)}", WIDTH
    )
    for cluster in clusters[:MOST_CLUSTERS]:
        yield ""
        yield fill(f"{_heading(cluster)}: {_plain(cluster['name'])}", WIDTH)
        yield from _bars(cluster, equal, weighted)
    if len(clusters) > MOST_CLUSTERS:
        yield f"\n... and {len(clusters) - MOST_CLUSTERS} more clusters (--json lists all)"


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


def _plain(text: str) -> str:
    """Return a sentence of a report as a terminal can show it."""
    if not has_blocks():
        for fancy, simple in (("“", '"'), ("”", '"'), ("−", "-"), ("…", "...")):
            text = text.replace(fancy, simple)
    return for_terminal(text, 400)


def _heading(cluster: dict[str, Any]) -> str:
    size = f"{count(cluster['size'], 'row')}, {percent(cluster['share'], fine=True)}"
    return f"cluster {cluster['number']} ({size})"


def _is_equal(clusters: Sequence[dict[str, Any]], equal: dict[str, float]) -> bool:
    """Tell whether no column has more weight than equal weights give it."""
    return all(
        abs(weight - equal[name]) < 1e-9
        for cluster in clusters
        for name, weight in cluster["weights"].items()
    )


def _one_share(equal: dict[str, float]) -> float | None:
    """Return the share that equal weights give every column that varies; None if they differ."""
    present = [share for share in equal.values() if share > 0]
    if not present or max(present) - min(present) > 1e-9:
        return None
    return present[0]


def _what_is_shown(equal: dict[str, float], weighted: bool) -> str:
    bars = "100% is by this column alone, 0% is chance"
    if not weighted:
        return f"{bars}. All columns have the same weight."
    share = _one_share(equal)
    if share is not None:
        return f"{bars}. Beside it the column's weight ({percent(share, fine=True)} is equal)."
    return f"{bars}. Beside it the column's weight, and how many times an equal weight that is."


def _bars(cluster: dict[str, Any], equal: dict[str, float], weighted: bool) -> Iterator[str]:
    """Yield the columns that separate best, in the order of the bars."""
    apart, weights = cluster["separation"], cluster["weights"]
    best = sorted(apart, key=lambda name: -apart[name])[:MOST_FEATURES]
    best = [name for name in best if apart[name] >= LEAST_SHARE]
    width = min(NAME_WIDTH, max((width_of(str(name)) for name in best), default=1))
    alike = _one_share(equal) is not None
    for name in best:
        line = f"  {padded(for_terminal(name, width), width)}  {percent(apart[name]):>4}  "
        line += f"{bar(apart[name]):<20}"
        if weighted:
            line += f"  weight {percent(weights[name], fine=True)}"
            if not alike and equal[name] > 0:
                line += f", {weights[name] / equal[name]:.1f} times"
        yield line.rstrip()
