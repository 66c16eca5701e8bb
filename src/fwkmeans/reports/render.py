"""From a summary to one page, and from the page to a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from fwkmeans._support.files import replacing
from fwkmeans._support.optional import require
from fwkmeans.reports.figures import COLORS, draw_map, draw_objective, draw_stability, sign_of
from fwkmeans.reports.page import render_page

#: Columns in the table of weights.
MOST_WEIGHTS = 80
#: Rows that the profiles of all clusters may have together, and each at least and at most.
PROFILE_ROWS, LEAST_PROFILE, MOST_PROFILE = 480, 10, 40
#: Parameters that say how a run was done rather than what it is.
_TECHNICAL = ("n_jobs", "verbose")
#: Differences beyond this many standard deviations fill their bar.
FULL_BAR = 2.0


def render(summary: dict[str, Any]) -> str:
    """Return the report as a page that needs nothing else: no network, no Python.

    Parameters
    ----------
    summary : dict
        What `summarize` returned, or what JSON made of it.

    Returns
    -------
    page : str
        The page (HTML). The same summary gives the same page.

    See Also
    --------
    summarize : Make the summary of a model.
    write_report : Write the page to a file.

    Examples
    --------
    >>> from fwkmeans import EWKMeans
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.reports import render, summarize
    >>> X = load_uci("iris").data
    >>> model = EWKMeans(3, random_state=0).fit(X)
    >>> page = render(summarize(model, X, title="Flowers"))
    >>> "<h1>Flowers</h1>" in page
    True
    """
    markup = require("markupsafe", "Reports", "report").Markup
    stability = summary["stability"]
    figures = {
        "map": draw_map(summary),
        "objective": draw_objective(summary) if len(summary["objective_history"]) > 1 else None,
        "stability": draw_stability(summary) if stability is not None else None,
    }
    return render_page(
        "report.html.jinja",
        title=summary["title"],
        summary=summary,
        weights=_weights(summary),
        profiles=[_profile(cluster, summary) for cluster in summary["clusters"]],
        agreement=_agreement(summary["agreement"]),
        stability=_stability(stability),
        parameters={k: v for k, v in summary["parameters"].items() if k not in _TECHNICAL},
        figures={k: None if v is None else markup(v) for k, v in figures.items()},
        colors=COLORS,
        sign_of=sign_of,
    )


def write_report(summary: dict[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write the report to a file, whole or not at all.

    Parameters
    ----------
    summary : dict
        What `summarize` returned.
    path : str or path-like
        The file; it is replaced if it exists.

    Returns
    -------
    path : pathlib.Path
        The file.

    See Also
    --------
    summarize : Make the summary of a model.
    render : Return the page instead.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fwkmeans import KMeans
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.reports import summarize, write_report
    >>> X = load_uci("iris").data
    >>> summary = summarize(KMeans(3, random_state=0).fit(X), X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(summary, Path(folder) / "iris.html").name
    'iris.html'
    """
    page = render(summary)
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")
    return Path(path)


# ---- what the template shows --------------------------------------------------------------------


def _weights(summary: dict[str, Any]) -> dict[str, Any]:
    """Return the heat map: the heaviest columns, and their shares in each cluster."""
    names = [feature["name"] for feature in summary["features"]]
    shares = np.array([[c["weights"][name] for name in names] for c in summary["clusters"]])
    used = [c["size"] > 0 for c in summary["clusters"]]
    live = shares[used] if any(used) else shares
    order = sorted(range(len(names)), key=lambda v: -live[:, v].max())[:MOST_WEIGHTS]
    chosen = sorted(order)  # which keeps the order by overall weight
    shared = bool(np.ptp(live, axis=0).max(initial=0.0) < 1e-9)
    equal = np.array([feature["equal_weight"] for feature in summary["features"]])
    return {
        "shared": shared,
        "encoded": bool(np.ptp(equal[equal > 0]) > 1e-9) if (equal > 0).any() else False,
        "rows": [
            {
                "name": names[v],
                "overall": summary["features"][v]["weight"],
                "equal": summary["features"][v]["equal_weight"],
                "shares": shares[:, v].tolist(),
            }
            for v in chosen
        ],
        "largest": float(live.max(initial=0.0)) or 1.0,
        "largest_overall": max((f["weight"] for f in summary["features"]), default=0.0) or 1.0,
        "n_left_out": len(names) - len(chosen),
    }


def _profile(cluster: dict[str, Any], summary: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of a cluster's profile, the heaviest first."""
    share = PROFILE_ROWS // max(1, summary["n_clusters"])
    most = min(MOST_PROFILE, max(LEAST_PROFILE, share))
    kinds = {feature["name"]: feature["type"] for feature in summary["features"]}
    rows = [
        {"name": name, "weight": cluster["weights"][name], **profile}
        for name, profile in cluster["profile"].items()
    ]
    rows.sort(key=lambda row: (-round(row["weight"], 6), -abs(row["difference"] or 0.0)))
    largest = max(row["weight"] for row in rows)
    shown = rows[:most]
    for row in shown:
        difference = row["difference"] or 0.0
        full = FULL_BAR if kinds[row["name"]] == "numeric" else 1.0
        row["bar"] = round(100 * min(1.0, abs(difference) / full), 1)
    return {
        **{key: cluster[key] for key in ("number", "size", "share", "description", "top")},
        "color": cluster["number"] % COLORS,
        "largest": largest or 1.0,
        "numbers": [row for row in shown if kinds[row["name"]] == "numeric"],
        "categories": [row for row in shown if kinds[row["name"]] == "categorical"],
        "n_left_out": len(rows) - len(shown),
    }


def _agreement(agreement: dict[str, Any] | None) -> dict[str, Any] | None:
    if agreement is None:
        return None
    largest = max((max(row, default=0) for row in agreement["table"]), default=0)
    ari = agreement["ari"]
    words = [(0.9, "almost the same"), (0.65, "close"), (0.3, "related"), (0.1, "little alike")]
    verdict = next((text for least, text in words if (ari or 0.0) >= least), "hardly related")
    return {**agreement, "largest": max(1, largest), "verdict": verdict}


def _stability(stability: dict[str, Any] | None) -> dict[str, Any] | None:
    if stability is None:
        return None
    ari = np.array(stability["ari"], dtype=np.float64)
    return {**stability, "median": float(np.median(ari)), "lowest": float(ari.min())}
