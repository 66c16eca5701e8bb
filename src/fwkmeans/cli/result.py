"""A summary (`fwkmeans.reports.summarize`) as a page of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fwkmeans._support.text import bar, count, for_terminal, padded, percent, width_of

MOST_FEATURES = 5  # listed for a cluster
MOST_CLUSTERS = 20  # described
NAME_WIDTH = 28


def result_lines(
    summary: dict[str, Any], table: str, title: str, labels: str | None
) -> Iterator[str]:
    """Yield what a person wants to know first: sizes, features that matter, agreement."""
    clusters = summary["clusters"]
    yield (
        f"{table}: {count(summary['n_rows'], 'row')}, {count(summary['n_features'], 'column')}, "
        f"{count(len(clusters), 'cluster')} by {title}"
    )
    yield ""
    equal = {feature["name"]: feature["equal_weight"] for feature in summary["features"]}
    if _is_equal(clusters, equal) or _has_one_list(clusters):
        yield "Sizes"
        for cluster in clusters:
            yield f"  {_heading(cluster):<28}{bar(cluster['share'])}".rstrip()
        yield ""
        if _is_equal(clusters, equal):
            yield summary["headline"][1]
        else:
            yield f"Columns that matter most, in all clusters alike ({_what_is_shown(equal)})"
            yield from _bars(clusters[0]["top"], equal)
    else:
        yield f"Columns that matter most in each cluster ({_what_is_shown(equal)})"
        for cluster in clusters[:MOST_CLUSTERS]:
            yield f"\n{_heading(cluster)}"
            yield from _bars(cluster["top"], equal)
        if len(clusters) > MOST_CLUSTERS:
            yield f"\n... and {len(clusters) - MOST_CLUSTERS} more clusters (--json lists all)"
    agreement = summary.get("agreement")
    if agreement is not None and agreement["ari"] is not None:
        yield ""
        yield (
            f"Agreement with {labels!r}: ARI {agreement['ari']:.2f} (adjusted Rand index: 1 is the "
            "same partition, 0 is chance)"
        )
    for topic, text in zip(summary["warning_topics"], summary["warnings"], strict=True):
        if topic != "missing":  # a note says that in words of the command line
            yield f"\nCaution: {text}"


def _heading(cluster: dict[str, Any]) -> str:
    size = f"{count(cluster['size'], 'row')} ({percent(cluster['share'], fine=True)})"
    return f"cluster {cluster['number']}: {size}"


def _has_one_list(clusters: Sequence[dict[str, Any]]) -> bool:
    """Tell whether all clusters have the same weights."""
    first = clusters[0]["weights"]
    return len(clusters) > 1 and all(
        abs(cluster["weights"][name] - weight) < 1e-9
        for cluster in clusters
        if cluster["size"]
        for name, weight in first.items()
    )


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


def _what_is_shown(equal: dict[str, float]) -> str:
    share = _one_share(equal)
    if share is not None:
        return f"{percent(share, fine=True)} each would be equal"
    return "share of the weight, and how many times what equal weights would give"


def _bars(top: Sequence[Sequence[Any]], equal: dict[str, float]) -> Iterator[str]:
    alike = _one_share(equal) is not None
    times = [share / equal[name] if equal[name] > 0 else 0.0 for name, share in top]
    largest = max(times, default=1.0) or 1.0
    width = min(NAME_WIDTH, max((width_of(str(name)) for name, _ in top), default=1))
    for (name, share), multiple in list(zip(top, times, strict=True))[:MOST_FEATURES]:
        cells = f"  {padded(for_terminal(str(name), width), width)}  {percent(share, fine=True):>5}"
        if not alike:
            cells += f"  {f'{multiple:.1f}':>4} times"
        yield f"{cells}  {bar(multiple / largest)}"
