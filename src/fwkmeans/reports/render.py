"""From a summary to one page, and from the page to a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from fwkmeans._support.files import replacing
from fwkmeans._support.optional import require
from fwkmeans._support.text import percent, rounded, shortened
from fwkmeans.reports.descriptions import describe_repeats
from fwkmeans.reports.figures import (
    COLORS,
    draw_histogram,
    draw_map,
    draw_objective,
    draw_silhouettes,
    sign_of,
)
from fwkmeans.reports.page import render_page

#: Columns in the table of weights.
MOST_WEIGHTS = 80
#: Rows that the profiles of all clusters may have together, and each at least and at most.
PROFILE_ROWS, LEAST_PROFILE, MOST_PROFILE = 480, 10, 40
#: Columns of the overview, and the share of rows that each tells apart at least.
MOST_OVERVIEW, LEAST_SHOWN = 7, 0.05
#: Parameters that say how a run was done rather than what it is.
_TECHNICAL = ("n_jobs", "verbose")
#: Clusters up to which all is shown of each, where there is room.
MOST_OPEN = 12
#: Rows of a long table that a script shows before one asks for all.
MOST_SHOWN = 10
#: Rows that a table may have without being cut.
LONGEST = 15


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
    if summary["map"] is None:
        raise ValueError("This summary was made without a map; make it with summarize.")
    figures = {
        "map": draw_map(summary),
        "objective": draw_objective(summary) if _has_course(summary) else None,
    }
    return render_page(
        "report.html.jinja",
        title=summary["title"],
        summary=summary,
        weights=_weights(summary),
        columns=_columns(summary),
        overview=_overview(summary),
        merges=_merges(summary),
        unit=summary["unit"],
        cards=_cards_a_row(len(summary["clusters"])),
        profiles=[_profile(cluster, summary, markup) for cluster in summary["clusters"]],
        trust=_trust(summary, markup),
        typical=_typical(summary),
        agreement=_agreement(summary["agreement"]),
        stability=_stability(summary["stability"]),
        parameters={k: _shown(v) for k, v in summary["parameters"].items() if k not in _TECHNICAL},
        found={k: _shown(v) for k, v in summary["found"].items()},
        figures={k: None if v is None else markup(v) for k, v in figures.items()},
        map_data=_map_data(summary),
        colors=COLORS,
        sign_of=sign_of,
        most=MOST_SHOWN,
        longest=LONGEST,
        most_open=MOST_OPEN,
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


def _weights(summary: dict[str, Any]) -> dict[str, bool]:
    """Return whether clusters share weights, all are equal, or columns count several times."""
    names = [feature["name"] for feature in summary["features"]]
    shares = np.array([[c["weights"][name] for name in names] for c in summary["clusters"]])
    used = [c["size"] > 0 for c in summary["clusters"]]
    live = shares[used] if any(used) else shares
    equal = np.array([feature["equal_weight"] for feature in summary["features"]])
    return {
        "shared": bool(np.ptp(live, axis=0).max(initial=0.0) < 1e-9),
        "uniform": bool(np.abs(shares - equal).max(initial=0.0) < 1e-9),
        "encoded": bool(np.ptp(equal[equal > 0]) > 1e-9) if (equal > 0).any() else False,
    }


def _columns(summary: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that separate best, overall and for each cluster, with their weights."""
    rows = [
        {
            "name": feature["name"],
            "overall": feature["separation"],
            "weight": feature["weight"],
            "equal": feature["equal_weight"],
            "shares": [
                (c["separation"][feature["name"]], c["weights"][feature["name"]])
                for c in summary["clusters"]
            ],
        }
        for feature in summary["features"][:MOST_WEIGHTS]
    ]
    return {"rows": rows, "n_left_out": len(summary["features"]) - len(rows)}


def _overview(summary: dict[str, Any]) -> dict[str, Any]:
    """Return clusters x columns: what each is in the columns that separate best."""
    features = [one for one in summary["features"] if one["separation"] >= LEAST_SHOWN]
    features = features[:MOST_OVERVIEW]
    merges = summary["merges"]
    nearest = None if merges is None or summary["unit"] == "group" else merges["nearest"]
    return {
        "columns": [one["name"] for one in features],
        "nearest": nearest is not None and len(summary["clusters"]) > 2,
        "rows": [
            {
                **{key: cluster[key] for key in ("number", "name", "size", "share")},
                "nearest": None if nearest is None else nearest[cluster["number"]],
                "cells": [_overview_cell(cluster, one) for one in features],
            }
            for cluster in summary["clusters"]
        ],
    }


def _overview_cell(cluster: dict[str, Any], feature: dict[str, Any]) -> dict[str, Any]:
    """Return what a cluster is in a column, and how far that tells it apart."""
    name = feature["name"]
    profile, apart = cluster["profile"][name], cluster["separation"][name]
    said = next((one for one in cluster["separates"] if one["column"] == name), None)
    way = "other"
    if feature["type"] == "numeric":
        if said is None or said["kind"] == "mean":
            way = "high" if (profile["difference"] or 0.0) > 0 else "low"
        text = rounded(profile["mean"], _scale(feature["whole"]))
    elif said is not None:
        text = f"{' or '.join(said['categories'])} {percent(said['value'])}"
    elif profile["mode"] is None:
        text = "–"
    else:
        text = f"{profile['mode']} {percent(profile['mode_share'])}"
    return {"text": shortened(text, 28, keep_end=True), "apart": apart, "way": way}


def _scale(whole: dict[str, Any]) -> float | None:
    """Return the differences that matter in a column."""
    if whole["q75"] is None:
        return None
    width: float = whole["q75"] - whole["q25"] or abs(whole["mean"] or 0.0)
    return width


def _merges(summary: dict[str, Any]) -> dict[str, Any] | None:
    """Return the tree of clusters as people count them, if there is more than one merge."""
    merges = summary["merges"]
    if merges is None or len(merges["steps"]) < 2:
        return None
    steps = [
        step | {side: [k + 1 for k in step[side]] for side in ("first", "second")}
        for step in merges["steps"]
    ]
    return {**merges, "steps": steps}


def _cards_a_row(n_cards: int) -> str:
    """Return the class that makes rows of cards end without a lone one, where that can be."""
    wide = next((n for n in (3, 4, 2) if n_cards % n != 1), 3)
    return "" if wide == 3 else f" by-{wide}"


def _has_course(summary: dict[str, Any]) -> bool:
    """Tell whether the course of the objective says something: AutoKMeans maximizes another one."""
    return len(summary["objective_history"]) > 1 and summary["class"] != "AutoKMeans"


def _profile(cluster: dict[str, Any], summary: dict[str, Any], markup: Any) -> dict[str, Any]:
    """Return the columns of a cluster's profile, those that separate it best first."""
    share = PROFILE_ROWS // max(1, summary["n_clusters"])
    most = min(MOST_PROFILE, max(LEAST_PROFILE, share))
    features = {feature["name"]: feature for feature in summary["features"]}
    rows = [
        {
            "name": name,
            "apart": cluster["separation"][name],
            "weight": cluster["weights"][name],
            **profile,
        }
        for name, profile in cluster["profile"].items()
    ]
    rows.sort(key=lambda row: (-round(row["apart"], 6), -abs(row["difference"] or 0.0)))
    shown = rows[:most]
    for row in shown:
        histogram = features[row["name"]]["histogram"]
        row["histogram"] = None
        if histogram is not None:
            own = histogram["clusters"][cluster["number"]]
            row["histogram"] = markup(draw_histogram(own, histogram["whole"]))
        row["scale"] = _scale(row["whole"]) if "mean" in row else None
    keys = ("number", "size", "share", "name", "description", "separates", "found_again")
    repeats = cluster["repeats"]
    return {
        **{key: cluster[key] for key in (*keys, "rule", "parts")},
        "repeats": None if repeats is None else describe_repeats(*repeats),
        "weights": cluster["weights"],
        "color": cluster["number"] % COLORS,
        "numbers": [row for row in shown if features[row["name"]]["type"] == "numeric"],
        "categories": [row for row in shown if features[row["name"]]["type"] == "categorical"],
        "n_left_out": len(rows) - len(shown),
    }


def _trust(summary: dict[str, Any], markup: Any) -> list[dict[str, Any]]:
    """Return for each cluster how clearly its rows belong to it, and whether it is found again."""
    places = summary["map"]
    labels, found = places["labels"], places["silhouette"]
    rows = []
    for cluster in summary["clusters"]:
        own = [
            s
            for s, label in zip(found, labels, strict=True)
            if label == cluster["number"] and s is not None
        ]
        rows.append(
            {
                "cluster": cluster["number"],
                "size": cluster["size"],
                "share": cluster["share"],
                "found_again": cluster["found_again"],
                "silhouette": float(np.mean(own)) if own else None,
                "between": float(np.mean([s < 0 for s in own])) if own else None,
                "picture": markup(draw_silhouettes(own)) if own else None,
            }
        )
    return rows


def _typical(summary: dict[str, Any]) -> dict[str, Any]:
    """Return the typical rows as text."""
    scales = {}
    for feature in summary["features"]:
        whole = feature["whole"]
        if feature["type"] == "numeric" and whole["q75"] is not None:
            scales[feature["name"]] = (whole["q75"] - whole["q25"]) / 10 or None
    columns = summary["typical"]["columns"]

    def text(cell: Any, name: str) -> str:
        return rounded(cell, scales.get(name)) if isinstance(cell, float | int) else cell or "–"

    return {
        "columns": columns,
        "rows": [
            {
                **row,
                "cells": [
                    text(cell, name) for cell, name in zip(row["cells"], columns, strict=True)
                ],
            }
            for row in summary["typical"]["rows"]
        ],
    }


def _map_data(summary: dict[str, Any]) -> dict[str, Any]:
    """Return what the script of the map needs; coordinates are those of the picture already."""
    places = summary["map"]
    return {
        **{key: places[key] for key in ("names", "labels", "silhouette", "columns")},
        "unit": summary["unit"].capitalize(),
        "clusters": [shortened(one["name"], 60) for one in summary["clusters"]],
    }


def _shown(value: Any) -> str:
    """Return a parameter as people write it."""
    if value is None:
        return "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


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
    return {**stability, "lowest": min(stability["ari"])}
