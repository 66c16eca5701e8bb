"""What a report of the survey says, as plain data for pages and text alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fwkmeans._support.errors import InputError
from fwkmeans.datasets import SURVEY_CONFIGURATIONS
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.estimators.traits import MEANING
from fwkmeans.survey.compare import (
    Comparison,
    Figures,
    Place,
    Results,
    published_winners,
    summarize_cells,
    winners,
)
from fwkmeans.survey.contenders import COMPARED
from fwkmeans.survey.published import PUBLISHED_TRAITS, Published, published
from fwkmeans.survey.store import Store

#: Names of the tables as people write them.
TITLES = {
    "australian": "Australian credit",
    "balance_scale": "Balance scale",
    "breast_cancer_wisconsin": "Breast cancer",
    "car": "Car evaluation",
    "ecoli": "Ecoli",
    "glass": "Glass",
    "heart": "Heart (Statlog)",
    "ionosphere": "Ionosphere",
    "iris": "Iris",
    "soybean_small": "Soybean",
    "tae": "Teaching assistant",
    "tic_tac_toe": "Tic-tac-toe",
    "wine": "Wine",
}


def survey_content(store: Store) -> dict[str, Any]:
    """Return everything a report says."""
    cells = store.cells()
    if not cells:
        raise InputError(
            f"{store.path.name} holds no results yet. Run the survey first, or name another file.",
            setting="results",
        )
    results = summarize_cells(cells)
    compared = [name for name in results.algorithms if name in COMPARED]
    known = [name for name in compared if any(other == name for _, other in results.comparisons)]
    blocks = [
        _block(results, title, [p for p in results.places() if p.noise == noise and pick(p)])
        for title, noise, pick in (
            ("Real tables, no noise features", False, _is_real),
            ("Real tables with noise features", True, _is_real),
            ("Synthetic tables, no noise features", False, _is_synthetic),
            ("Synthetic tables with noise features", True, _is_synthetic),
        )
    ]
    return {
        "run": _run(store, results, len(cells)),
        "algorithms": list(results.algorithms),
        "blocks": [block for block in blocks if block["rows"]],
        "agreement": [_agreement(results, name) for name in known],
        "wins": _wins(results, compared) if len(compared) == len(COMPARED) else [],
        "short": _short(results),
        "heat": _heat(results),
        "curves": _curves(results),
        "traits": _traits(),
        "trait_names": list(MEANING.values()),
    }


def title_of(table: str) -> str:
    """Return the name of a table as people write it."""
    name, _, number = table.partition(":")
    title = TITLES.get(name, name)
    plural = "" if number == "1" else "s"
    return f"{title}, {number} cluster{plural}" if number else title


def _is_synthetic(place: Place) -> bool:
    return place.table.partition(":")[0] in SURVEY_CONFIGURATIONS


def _is_real(place: Place) -> bool:
    return not _is_synthetic(place)


def _run(store: Store, results: Results, n_cells: int) -> dict[str, Any]:
    seconds = float(store.notes().get("seconds", 0.0))
    figures = list(results.figures.values())
    return {
        "file": store.path.name,
        "n_cells": n_cells,
        "starts": max(figure.starts for figure in figures),
        "n_algorithms": len(results.algorithms),
        "n_tables": len(results.tables),
        "draws": max((f.n_draws for (p, _), f in results.figures.items() if p.noise), default=0),
        "data_sets": max(
            (f.n_data_sets for (p, _), f in results.figures.items() if _is_synthetic(p)),
            default=0,
        ),
        "fits": results.n_fits,
        "left_out": results.n_left_out,
        "minutes": seconds / 60 if seconds and not results.n_left_out else None,
    }


# ---- tables -------------------------------------------------------------------------------------


def _block(results: Results, title: str, places: Sequence[Place]) -> dict[str, Any]:
    rows = []
    for place in places:
        best = set(winners(results, place, results.algorithms, "mean"))
        cells = [_cell(results, place, name, name in best) for name in results.algorithms]
        rows.append({"title": title_of(place.table), "table": place.table, "cells": cells})
    return {"title": title, "rows": rows, "id": title.lower().replace(",", "").replace(" ", "-")}


def _cell(results: Results, place: Place, name: str, best: bool) -> dict[str, Any] | None:
    figures = results.figures.get((place, name))
    if figures is None:
        return None
    comparison = results.comparisons.get((place, name))
    cell = {
        "algorithm": name,
        "best": best,
        "mean": _with_std(figures.mean, None if figures.is_deterministic else figures.std),
        "max": _with_std(figures.max, figures.max_std),
        "parameter": _parameter(figures),
        "deterministic": figures.is_deterministic,
        "short": figures.short,
        "published": None,
        "mark": "",
        "words": "",
    }
    if comparison is not None:
        cell |= _beside(comparison)
    return cell


def _beside(comparison: Comparison) -> dict[str, Any]:
    theirs = comparison.theirs
    printed = {
        "mean": _with_std(theirs.mean, theirs.std),
        "max": _with_std(theirs.max, theirs.max_std),
        "parameter": _parameter(theirs),
    }
    if comparison.difference is None:
        return {"published": printed, "words": "the survey prints no figure"}
    change = f"{comparison.difference:+.2f}".replace("-0.00", "0.00").replace("+0.00", "0.00")
    if comparison.agrees is None:
        return {"published": printed, "words": "the error cannot be told from one data set"}
    mark = "≈" if comparison.agrees else ("▲" if comparison.difference > 0 else "▼")
    return {
        "published": printed,
        "mark": mark,
        "words": f"{change} ± {comparison.error:.2f}" if comparison.error else change,
    }


def _with_std(value: float | None, std: float | None) -> str:
    if value is None:
        return "–"
    text = f"{value + 0.0:.2f}".replace("-0.00", "0.00")
    return text if std is None else f"{text}/{std:.2f}"


def _parameter(figures: Figures | Published) -> str:
    if figures.parameter is None:
        return "–"
    if figures.parameter_std is None:
        return f"{figures.parameter:g}"
    return _with_std(figures.parameter, figures.parameter_std)


# ---- summaries ----------------------------------------------------------------------------------


def _agreement(results: Results, name: str) -> dict[str, Any]:
    """Return how many cells of an algorithm agree with the survey."""
    found = [c for (_, other), c in results.comparisons.items() if other == name]
    told = [c for c in found if c.agrees is not None and c.difference is not None]
    differences = sorted(abs(c.difference) for c in told if c.difference is not None)
    return {
        "algorithm": name,
        "n": len(told),
        "agree": sum(bool(c.agrees) for c in told),
        "higher": sum(c.agrees is False and (c.difference or 0) > 0 for c in told),
        "lower": sum(c.agrees is False and (c.difference or 0) < 0 for c in told),
        "within": sum(d <= 0.05 + 1e-9 for d in differences),
        "median": differences[len(differences) // 2] if differences else None,
    }


def _short(results: Results) -> list[dict[str, Any]]:
    """Return where starts found fewer clusters than asked for, the most first."""
    found = [
        {
            "algorithm": name,
            "title": title_of(place.table),
            "noise": place.noise,
            "short": figures.short,
            "n": figures.n_runs,
            "share": figures.short / figures.n_runs,
        }
        for (place, name), figures in results.figures.items()
        if figures.short
    ]
    return sorted(found, key=lambda row: (-row["share"], row["algorithm"], row["title"]))


def _wins(results: Results, compared: Sequence[str]) -> list[dict[str, Any]]:
    """Return how often each algorithm is the best, ties counted for all of them."""
    rows = []
    for title, what in (("highest mean", "mean"), ("highest maximum", "max")):
        for kind, pick in (("real", _is_real), ("synthetic", _is_synthetic)):
            for noise in (False, True):
                places = [
                    place
                    for place in results.places()
                    if place.noise == noise
                    and pick(place)
                    and (place.table, noise, COMPARED[0]) in published()
                ]
                if not places:
                    continue
                ours = [winners(results, place, compared, what) for place in places]
                theirs = [published_winners(place, what) for place in places]
                rows.append(
                    {
                        "title": f"{title}, {kind}, {'with' if noise else 'no'} noise",
                        "n": len(places),
                        "counts": [
                            {
                                "algorithm": name,
                                "ours": sum(name in some for some in ours),
                                "published": sum(name in some for some in theirs),
                            }
                            for name in compared
                        ],
                    }
                )
    return rows


def _heat(results: Results) -> list[dict[str, Any]]:
    rows = []
    for place in results.places():
        best = set(winners(results, place, results.algorithms, "mean"))
        theirs = set(published_winners(place, "mean"))
        rows.append(
            {
                "title": title_of(place.table),
                "noise": place.noise,
                "cells": [
                    {
                        "value": max(0.0, figures.mean),
                        "text": _with_std(figures.mean, None),
                        "wins": name in best,
                        "won": name in theirs,
                    }
                    if (figures := results.figures.get((place, name))) is not None
                    else None
                    for name in results.algorithms
                ],
            }
        )
    return rows


def _curves(results: Results) -> list[dict[str, Any]]:
    """Return the curves of each table, algorithms without a parameter as a level."""
    pictures = []
    for table in results.tables:
        panels = []
        for noise in (False, True):
            place = Place(table, noise)
            lines = []
            for number, name in enumerate(results.algorithms):
                figures = results.figures.get((place, name))
                if figures is None:
                    continue
                line: dict[str, Any] = {"algorithm": name, "number": number}
                if figures.curve is None:
                    line |= {"values": None, "mean": [figures.mean]}
                else:
                    line |= {
                        "values": figures.curve.values.tolist(),
                        "mean": figures.curve.mean.tolist(),
                    }
                lines.append(line)
            if lines:
                panels.append({"noise": noise, "lines": lines})
        pictures.append({"table": table, "title": title_of(table), "panels": panels})
    return pictures


def _traits() -> list[dict[str, Any]]:
    """Return what the estimators declare, and where the survey's table says otherwise."""
    rows = []
    for name, algorithm in ALGORITHMS.items():
        declared = tuple(algorithm.traits)
        printed = PUBLISHED_TRAITS.get(name)
        rows.append(
            {
                "algorithm": name,
                "class": algorithm.__name__,
                "declared": list(declared),
                "differs": [
                    printed is not None and printed[at] != answer
                    for at, answer in enumerate(declared)
                ],
            }
        )
    return rows
