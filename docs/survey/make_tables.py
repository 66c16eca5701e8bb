"""Write the tables of the documentation from a file of results of ``fwkmeans survey``.

``python docs/survey/make_tables.py survey.sqlite`` writes beside itself: ``decision.rst`` and
``fixed.rst`` (which algorithm should I use?), ``agreement.rst``, ``noise_draws.rst``,
``variants.rst`` and ``exponents.rst`` (replication), and the whole comparison: ``survey.md``, and
``content.json``, of which the build makes a page.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from fwkmeans._engine import first_lowest
from fwkmeans.survey import COMPARED, Cell, Store
from fwkmeans.survey.compare import Place, Results, summarize_cells
from fwkmeans.survey.content import survey_content, title_of
from fwkmeans.survey.markdown import render_markdown
from fwkmeans.survey.published import published

HERE = Path(__file__).parent

NUMERIC = ("breast_cancer_wisconsin", "ecoli", "glass", "ionosphere", "iris", "wine")
CATEGORICAL = (
    "australian",
    "balance_scale",
    "car",
    "heart",
    "soybean_small",
    "tae",
    "tic_tac_toe",
)
GAUSSIAN = ("500x4-2", "500x10-3", "500x20-4", "500x50-5")
KINDS = {
    "numbers": (NUMERIC, False),
    "numbers + noise": (NUMERIC, True),
    "categories": (CATEGORICAL, False),
    "categories + noise": (CATEGORICAL, True),
    "Gaussian": (GAUSSIAN, False),
    "Gaussian + noise": (GAUSSIAN, True),
}
SHOWN = ("K-Means", *COMPARED)


def main(path: str) -> None:
    with Store(path, create=False) as store:
        cells = store.cells()
    content = _content_without_variants(path)
    results = summarize_cells(cells)
    pages = {
        "decision.rst": decision(results),
        "fixed.rst": fixed(cells),
        "agreement.rst": agreement(content),
        "noise_draws.rst": noise_draws(results),
        "variants.rst": variants(results),
        "exponents.rst": exponents(results),
    }
    for name, lines in pages.items():
        (HERE / name).write_text("\n".join([*lines, ""]), encoding="utf-8")
    (HERE / "survey.md").write_text(render_markdown(content), encoding="utf-8")
    (HERE / "content.json").write_text(json.dumps(_rounded(content)), encoding="utf-8")


def _rounded(value: Any) -> Any:
    """Return plain data with as many digits as a picture can show."""
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]
    return round(float(value), 4) if isinstance(value, float) else value


def _content_without_variants(path: str) -> dict:
    """Return what the report says of the survey's readings and of K-Means."""
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "survey.sqlite"
        shutil.copy(path, copy)
        with sqlite3.connect(copy) as connection:
            connection.execute("DELETE FROM cells WHERE algorithm LIKE '%[%'")
            connection.execute("DELETE FROM about WHERE name = 'seconds'")  # of other runs too
        connection.close()
        with Store(copy, create=False) as store:
            return survey_content(store)


def decision(results: Results) -> Iterable[str]:
    """Average over the tables of a kind, at the best value of each."""
    rows = []
    for name in SHOWN:
        cells = [name]
        for tables, noise in KINDS.values():
            found = [results.figures.get((Place(table, noise), name)) for table in tables]
            known = [figures.mean for figures in found if figures is not None]
            cells.append(f"{np.mean(known):.2f}" if len(known) == len(tables) else "")
        rows.append(cells)
    return table(["algorithm", *KINDS], bold_best(rows))


def fixed(cells: Sequence[Cell]) -> Iterable[str]:
    """Do the same at one value for all tables, the start chosen by the objective."""
    scores: dict[tuple[str, float | None], dict[Place, list[float]]] = {}
    full = [cell for cell in cells if cell.starts == 100 and cell.noise <= 1 and cell.seed == 0]
    for cell in full:
        if cell.algorithm in SHOWN:
            place = Place(cell.data_set, cell.noise > 0)
            own = scores.setdefault((cell.algorithm, cell.value), {})
            own.setdefault(place, []).append(float(cell.ari[first_lowest(cell.objective)]))
    rows = []
    for name in SHOWN:
        best = max(
            (value for other, value in scores if other == name),
            key=lambda value, name=name: np.mean(
                [_of_kind(scores[name, value], *kind) for kind in KINDS.values()]
            ),
        )
        label = name if best is None else f"{name}, {PARAMETERS[name]} = {best:g}"
        kinds = (_of_kind(scores[name, best], *kind) for kind in KINDS.values())
        rows.append([label, *(f"{value:.2f}" for value in kinds)])
    return table(["algorithm", *KINDS], bold_best(rows))


PARAMETERS = {
    "AWK": "beta",
    "WK-Means": "beta",
    "EW-KM": "gamma",
    "IK-P": "beta",
    "iMWK-Means": "p",
}


def _of_kind(scores: dict[Place, list[float]], tables: Sequence[str], noise: bool) -> float:
    found = [scores.get(Place(table, noise)) for table in tables]
    return float(np.mean([np.mean(some) for some in found if some])) if all(found) else -1.0


def agreement(content: dict) -> Iterable[str]:
    rows = [
        [
            row["algorithm"],
            str(row["n"]),
            str(row["agree"]),
            str(row["higher"]),
            str(row["lower"]),
            str(row["within"]),
            f"{row['median']:.3f}",
        ]
        for row in content["agreement"]
    ]
    header = ["algorithm", "figures", "agree", "ours higher", "ours lower", "within 0.05"]
    return table([*header, "median difference"], rows)


def noise_draws(results: Results) -> Iterable[str]:
    """How much the draw of the noise features matters, where there are several."""
    rows = []
    for name in COMPARED:
        spreads = [
            figures.between
            for (place, other), figures in results.figures.items()
            if other == name and place.noise and place.table in (*NUMERIC, *CATEGORICAL)
            if figures.n_draws > 1 and figures.between is not None
        ]
        if spreads:
            rows.append([name, f"{np.median(spreads):.3f}", f"{max(spreads):.3f}"])
    return table(["algorithm", "median over the tables", "largest"], rows) if rows else ["None."]


def variants(results: Results) -> Iterable[str]:
    """Every reading that was run on all real tables without noise, beside the published figures."""
    rows = []
    for name in sorted(results.algorithms, key=lambda one: (one.partition("[")[0], one)):
        base = name.partition("[")[0]
        if base not in COMPARED:
            continue
        differences, agree = [], 0
        for real in (*NUMERIC, *CATEGORICAL):
            figures = results.figures.get((Place(real, False), name))
            theirs = published()[real, False, base]
            printed = theirs.max if theirs.mean is None else theirs.mean
            if figures is None or printed is None:
                break
            ours = figures.max if theirs.mean is None else figures.mean
            error = np.hypot(figures.std, theirs.std or 0.0) / 10
            differences.append(abs(ours - printed))
            agree += differences[-1] <= 2 * error * (theirs.mean is not None) + 0.005 + 1e-9
        if len(differences) == len(NUMERIC) + len(CATEGORICAL):
            rows.append(
                [
                    f"``{name}``",
                    str(agree),
                    f"{np.mean(differences):.3f}",
                    f"{np.median(differences):.3f}",
                    f"{max(differences):.2f}",
                ]
            )
    header = ["reading", "of 13 agree", "mean difference", "median", "largest"]
    return table(header, rows)


PLAIN = "iMWK-Means[few_patterns=fill,pattern_ties=first]"  # with the estimator's own defaults


def exponents(results: Results) -> Iterable[str]:
    """Show iMWK-Means on every real table, with the options of its author and without."""
    rows = []
    for real in sorted((*NUMERIC, *CATEGORICAL)):
        theirs = published()[real, False, "iMWK-Means"]
        ours = results.figures.get((Place(real, False), "iMWK-Means"))
        plain = results.figures.get((Place(real, False), PLAIN))
        if ours is None or ours.curve is None or plain is None:
            return ["None."]
        nearest = np.abs(ours.curve.values - theirs.parameter).argmin()
        rows.append(
            [
                title_of(real),
                *(f"{one.max:.2f} at {one.parameter:.1f}" for one in (theirs, ours)),
                f"{ours.curve.mean[nearest]:.2f}",
                f"{plain.max:.2f} at {plain.parameter:.1f}",
            ]
        )
    header = ["table", "published", "author's options", "at the published p", "default options"]
    return table(header, rows)


def bold_best(rows: list[list[str]]) -> list[list[str]]:
    """Mark the highest of each column, to two decimals."""
    for column in range(1, len(rows[0])):
        best = max((row[column] for row in rows if row[column]), default=None)
        for row in rows:
            if row[column] == best:
                row[column] = f"**{best}**"
    return rows


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a list table."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in (header, *rows):
        for at, cell in enumerate(row):
            lines.append(f"   {'*' if at == 0 else ' '} - {cell}".rstrip())
    return lines


if __name__ == "__main__":
    main(sys.argv[1])
