"""What procedures without labels reach: means, differences from K-Means, wins and failures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from fwkmeans._support.text import count
from fwkmeans.datasets import SURVEY_CONFIGURATIONS
from fwkmeans.survey.contenders import COMPARED
from fwkmeans.survey.label_free import BASELINE, PROCEDURES, failure_of
from fwkmeans.survey.markdown import markdown_table, section
from fwkmeans.survey.published import published
from fwkmeans.survey.store import Cell
from fwkmeans.typing import FloatArray

_TIE = 0.005  # differences of the index below this are ties
_DRAWS = 5000  # of the bootstrap

BEST_OF_SIX = "published, best of six by labels"
BEST_IMWK = "published, iMWK-Means, p by labels"


class Group(NamedTuple):
    """Tables of one kind: real or synthetic, without or with noise features."""

    title: str
    synthetic: bool
    noise: bool


GROUPS = tuple(
    Group(f"{kind}{' + noise' if noise else ''}", kind == "synthetic", noise)
    for kind in ("real", "synthetic")
    for noise in (False, True)
)


class Standing(NamedTuple):
    """How a procedure does on a group of tables, beside K-Means."""

    mean: float
    difference: float
    low: float  # 95 % interval of the difference, by resampling tables; NaN for one table
    high: float
    wins: int
    losses: int
    ties: int


class LabelFreeResults(NamedTuple):
    """Everything the report says."""

    standings: dict[tuple[str, Group], Standing]
    published: dict[tuple[str, Group], float]
    by_table: dict[tuple[str, Group], dict[str, float]]  # index by table, mean over draws
    failures: list[tuple[str, str, str]]  # procedure, data set, why
    n_data_sets: int
    starts: int


def label_free_results(cells: Iterable[Cell]) -> LabelFreeResults:
    """Compare all procedures with K-Means, on the tables that both have finished."""
    found: dict[tuple[str, Group], dict[str, list[float]]] = {}
    failures, data_sets, starts = [], set(), 0
    for cell in cells:
        if cell.settings != '{"label_free": true}':
            continue
        starts = max(starts, cell.starts)
        data_sets.add((cell.data_set, cell.number, cell.noise))
        synthetic = cell.data_set.partition(":")[0] in SURVEY_CONFIGURATIONS
        group = next(g for g in GROUPS if g[1:] == (synthetic, cell.noise > 0))
        # the data sets of a configuration are drawn anew, so each counts as a table
        name = f"{cell.data_set} {cell.number}" if synthetic else cell.data_set
        why = failure_of(cell)
        if why is not None:
            noisy = f" with noise ({cell.noise})" if cell.noise else ""
            failures.append((cell.algorithm, f"{name}{noisy}", why))
            continue
        own = found.setdefault((cell.algorithm, group), {})
        own.setdefault(name, []).append(float(cell.ari[0]))
    by_table = {
        key: {name: float(np.mean(values)) for name, values in tables.items()}
        for key, tables in found.items()
    }
    standings = {
        (name, group): _standing(by_table[name, group], by_table[BASELINE, group])
        for name in PROCEDURES
        for group in GROUPS
        if (name, group) in by_table and (BASELINE, group) in by_table
    }
    return LabelFreeResults(
        standings, _published(by_table), by_table, failures, len(data_sets), starts
    )


def _standing(own: dict[str, float], baseline: dict[str, float]) -> Standing:
    """Return means and differences over the tables that both have."""
    shared = [name for name in own if name in baseline]
    values = np.array([own[name] for name in shared])
    apart = values - np.array([baseline[name] for name in shared])
    low, high = bootstrap_interval(apart)
    return Standing(
        float(values.mean()),
        float(apart.mean()),
        low,
        high,
        int((apart > _TIE).sum()),
        int((apart < -_TIE).sum()),
        int((np.abs(apart) <= _TIE).sum()),
    )


def bootstrap_interval(apart: FloatArray, level: float = 0.95) -> tuple[float, float]:
    """Return the interval of the mean of paired differences, by resampling the pairs.

    One pair tells nothing of others: NaN.
    """
    if apart.size < 2:
        return float("nan"), float("nan")
    rng = np.random.default_rng(0)
    drawn = apart[rng.integers(0, apart.size, (_DRAWS, apart.size))].mean(axis=1)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _published(
    by_table: dict[tuple[str, Group], dict[str, float]],
) -> dict[tuple[str, Group], float]:
    """Return the means of what the survey printed, for groups with only tables of the survey."""
    printed = published()
    means = {}
    for group in GROUPS:
        names = {name.split(" ")[0] for name in by_table.get((BASELINE, group), {})}
        best, minkowski = [], []
        for name in names:
            own = {}
            for algorithm in COMPARED:
                cell = printed.get((name, group.noise, algorithm))
                value = None if cell is None else cell.max if cell.mean is None else cell.mean
                if value is not None:
                    own[algorithm] = value
            if own:
                best.append(max(own.values()))
            if "iMWK-Means" in own:
                minkowski.append(own["iMWK-Means"])
        for title, values in ((BEST_IMWK, minkowski), (BEST_OF_SIX, best)):
            if values and len(values) == len(names):  # else it would be the mean of other tables
                means[title, group] = float(np.mean(values))
    return means


def label_free_lines(results: LabelFreeResults) -> Iterator[str]:
    """Yield the report as Markdown."""
    shown = [g for g in GROUPS if (BASELINE, g) in results.by_table]
    yield "# Without labels"
    yield ""
    yield (
        f"{count(len(PROCEDURES), 'procedure')} on {count(results.n_data_sets, 'data set')}. Every "
        "procedure has one setting for all tables and knows the number of clusters; of "
        f"{count(results.starts, 'start')} the one of lowest objective is kept, and nothing is "
        "chosen by labels. Figures are means of the adjusted Rand index over the tables; several "
        "draws of the noise are averaged first, and each synthetic data set counts as a table. The "
        "published figures beside choose the parameter, or the algorithm too, by the labels."
    )
    yield from section("Mean adjusted Rand index")
    rows: list[list[str]] = []
    for title in (BEST_IMWK, BEST_OF_SIX):
        if any((title, g) in results.published for g in shown):
            means = [results.published.get((title, g)) for g in shown]
            rows.append([title, *("–" if m is None else f"{m:z.3f}" for m in means)])
    for name in PROCEDURES:
        own = [results.standings.get((name, g)) for g in shown]
        rows.append([name, *("–" if s is None else f"{s.mean:z.3f}" for s in own)])
    heads = [f"{g.title} ({len(results.by_table[BASELINE, g])})" for g in shown]
    yield from markdown_table(["procedure", *heads], rows)
    yield from section(f"Difference from {BASELINE}")
    yield (
        "With the 95 % interval of the mean, by resampling the tables in pairs, and on how many "
        f"tables the procedure is better / worse / equal (within {_TIE})."
    )
    yield ""
    rows = []
    for name in PROCEDURES:
        if name != BASELINE:
            own = [results.standings.get((name, g)) for g in shown]
            rows.append([name, *("–" if s is None else _difference(s) for s in own)])
    yield from markdown_table(["procedure", *(g.title for g in shown)], rows)
    yield from section("Failures")
    if not results.failures:
        yield "None: every procedure gave an answer on every data set."
        return
    yield "These are left out of the means above; the differences are on the other tables."
    yield ""
    yield from markdown_table(
        ["procedure", "data set", "why"], [list(row) for row in results.failures]
    )


def _difference(standing: Standing) -> str:
    ends = f" [{standing.low:+z.3f}, {standing.high:+z.3f}]"
    interval = "" if math.isnan(standing.low) else ends
    tables = f"{standing.wins}/{standing.losses}/{standing.ties}"
    return f"{standing.difference:+z.3f}{interval} {tables}"
