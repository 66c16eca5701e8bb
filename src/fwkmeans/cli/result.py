"""A summary (`fwkmeans.reports.summarize`) as a page of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fwkmeans._text import bar, count, percent, shortened

__all__ = ["result_lines"]

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
    share = percent(1 / max(1, len(summary["features"])))
    if _has_one_list(clusters):
        yield "Sizes"
        for cluster in clusters:
            yield f"  {_heading(cluster):<28}{bar(cluster['share'])}".rstrip()
        yield ""
        yield f"Columns that matter most, in all clusters alike ({share} each would be equal)"
        yield from _bars(clusters[0]["top"])
    else:
        yield f"Columns that matter most in each cluster ({share} each would be equal)"
        for cluster in clusters[:MOST_CLUSTERS]:
            yield f"\n{_heading(cluster)}"
            yield from _bars(cluster["top"])
        if len(clusters) > MOST_CLUSTERS:
            yield f"\n... and {len(clusters) - MOST_CLUSTERS} more clusters (--json lists all)"
    agreement = summary.get("agreement")
    if agreement is not None and agreement["ari"] is not None:
        yield ""
        yield (
            f"Agreement with {labels!r}: ARI {agreement['ari']:.2f} (adjusted Rand index: 1 is the "
            "same partition, 0 is chance)"
        )
    for text in summary.get("warnings", ()):
        if "missing cell" not in text:  # a note says that in words of the command line
            yield f"\nCaution: {text}"


def _heading(cluster: dict[str, Any]) -> str:
    size = f"{count(cluster['size'], 'row')} ({percent(cluster['share'])})"
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


def _bars(top: Sequence[Sequence[Any]]) -> Iterator[str]:
    largest = max((share for _, share in top), default=1.0) or 1.0
    width = min(NAME_WIDTH, max((len(str(name)) for name, _ in top), default=1))
    for name, share in top[:MOST_FEATURES]:
        cells = f"  {shortened(str(name), width):<{width}}  {percent(share):>5}"
        yield f"{cells}  {bar(share / largest)}"
