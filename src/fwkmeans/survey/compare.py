"""From cells to figures: the best value on every table, beside the published one."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from fwkmeans.survey.contenders import COMPARED
from fwkmeans.survey.published import Published, published, published_tables
from fwkmeans.survey.store import Cell
from fwkmeans.typing import FloatArray

_ROUNDING = 0.005  # of figures printed with two decimals
_NEAR = 2.0  # standard errors within which figures agree
_PUBLISHED_STARTS = 100
_PUBLISHED_SETS = 20


class Place(NamedTuple):
    """A table, with noise features or without."""

    table: str
    noise: bool


class Curve(NamedTuple):
    """The index against the parameter, averaged over data sets and draws of the noise."""

    values: FloatArray
    mean: FloatArray  # over starts, data sets and draws


class Figures(NamedTuple):
    """How an algorithm did on a table at its best value, the one with the highest mean index."""

    mean: float
    std: float  # over all starts of all data sets and draws
    max: float  # mean over data sets and draws
    max_std: float | None  # over data sets and draws, if there are several
    parameter: float | None  # mean over data sets and draws
    parameter_std: float | None
    within: float  # standard deviation over the starts of a data set and draw
    between: float | None  # standard deviation of the means of data sets, or else of draws
    n_sets: int  # data sets, or draws if there is one data set
    n_draws: int
    n_data_sets: int
    starts: int  # that were run; deterministic algorithms have one
    short: int  # starts at the best values that found fewer clusters than asked for
    n_runs: int  # starts at the best values
    is_deterministic: bool
    curve: Curve | None


class Comparison(NamedTuple):
    """Our figures beside the published ones."""

    ours: Figures
    theirs: Published
    difference: float | None  # ours minus theirs: of the means, of the maxima if deterministic
    error: float | None  # standard error of the difference
    agrees: bool | None  # None: there is nothing to compare


class Results(NamedTuple):
    """Everything a report says."""

    algorithms: tuple[str, ...]  # the survey's six first
    tables: tuple[str, ...]  # the survey's first, in its order
    figures: dict[tuple[Place, str], Figures]
    comparisons: dict[tuple[Place, str], Comparison]
    n_fits: int  # behind these figures
    n_left_out: int  # cells of the file that are not: other seeds, fewer starts

    def places(self) -> list[Place]:
        """Return the tables without and with noise, as far as they were run."""
        found = {place for place, _ in self.figures}
        every = [Place(table, noise) for noise in (False, True) for table in self.tables]
        return [place for place in every if place in found]


def summarize_cells(cells: Iterable[Cell]) -> Results:
    """Return figures and comparisons from the cells of a file.

    If an algorithm was run on a table with different numbers of starts or different seeds, the run
    with the most starts counts (on ties, the lowest seed). Files of one name with different
    content, and one algorithm with different groups of columns, are told apart by a number.
    """
    cells = _told_apart(list(cells))
    by_place: dict[tuple[Place, str], list[Cell]] = {}
    for cell in cells:
        key = (Place(cell.data_set, cell.noise > 0), cell.algorithm)
        by_place.setdefault(key, []).append(cell)
    shown = {key: _one_run(some) for key, some in by_place.items()}
    figures = {key: _figures(some) for key, some in shown.items()}
    found = {name for _, name in figures}
    algorithms = [*(n for n in COMPARED if n in found), *sorted(found - set(COMPARED))]
    names = {place.table for place, _ in figures}
    known = [name for name in published_tables() if name in names]
    tables = [*known, *sorted(names - set(known))]
    comparisons = {
        (place, name): compare(figure, published()[place.table, place.noise, name])
        for (place, name), figure in figures.items()
        if (place.table, place.noise, name) in published()
    }
    n_fits = sum(cell.ari.size for some in shown.values() for cell in some)
    left_out = len(cells) - sum(map(len, shown.values()))
    return Results(tuple(algorithms), tuple(tables), figures, comparisons, n_fits, left_out)


def _told_apart(cells: list[Cell]) -> list[Cell]:
    """Put numbers behind files of one name, and settings of one label, if there are several."""
    contents: dict[str, list[str]] = {}
    settings: dict[str, list[str]] = {}
    for cell in cells:
        for known, name, kind in (
            (contents, cell.data_set, cell.content),
            (settings, cell.algorithm, cell.settings),
        ):
            if kind not in known.setdefault(name, []):
                known[name].append(kind)

    def named(known: dict[str, list[str]], name: str, kind: str) -> str:
        at = known[name].index(kind)
        return name if at == 0 else f"{name} #{at + 1}"

    return [
        cell._replace(
            data_set=named(contents, cell.data_set, cell.content),
            algorithm=named(settings, cell.algorithm, cell.settings),
        )
        for cell in cells
    ]


def _one_run(cells: Sequence[Cell]) -> list[Cell]:
    def kind(cell: Cell) -> tuple[int, int]:
        return -cell.starts, cell.seed

    first = min(map(kind, cells))
    return [cell for cell in cells if kind(cell) == first]


def _figures(cells: Sequence[Cell]) -> Figures:
    sets: dict[tuple[int, int], list[Cell]] = {}
    for cell in cells:
        sets.setdefault((cell.number, cell.noise), []).append(cell)
    # the first, that is the lowest value, of equally good ones
    best = [max(some, key=lambda cell: cell.mean) for some in sets.values()]
    starts = np.concatenate([cell.ari for cell in best])
    maxima = np.array([cell.max for cell in best])
    means = np.array([cell.mean for cell in best])
    several = len(best) > 1
    by_set: dict[int, list[float]] = {}
    for cell in best:
        by_set.setdefault(cell.number, []).append(cell.mean)
    units = [float(np.mean(some)) for some in by_set.values()] if len(by_set) > 1 else means
    parameters = None
    if best[0].parameter is not None:
        parameters = np.array([cell.value for cell in best], dtype=np.float64)
    return Figures(
        mean=float(means.mean()),
        std=float(starts.std(ddof=1)) if starts.size > 1 else 0.0,
        max=float(maxima.mean()),
        max_std=float(maxima.std(ddof=1)) if several else None,
        parameter=None if parameters is None else float(parameters.mean()),
        parameter_std=float(parameters.std(ddof=1)) if several and parameters is not None else None,
        within=math.sqrt(np.mean([cell.std**2 for cell in best])),
        between=float(np.std(units, ddof=1)) if len(units) > 1 else None,
        n_sets=len(units),
        n_draws=len({cell.noise for cell in best}),
        n_data_sets=len(by_set),
        starts=int(best[0].ari.size),
        short=sum(cell.short for cell in best),
        n_runs=int(starts.size),
        is_deterministic=json.loads(best[0].settings).get("init") == "anomalous",
        curve=_curve(cells, len(best)),
    )


def _curve(cells: Sequence[Cell], n_sets: int) -> Curve | None:
    by_value: dict[float, list[Cell]] = {}
    for cell in cells:
        if cell.value is not None:
            by_value.setdefault(cell.value, []).append(cell)
    full = sorted(value for value, some in by_value.items() if len(some) == n_sets)
    if len(full) < 2:
        return None
    mean = np.array([np.mean([cell.mean for cell in by_value[value]]) for value in full])
    return Curve(np.array(full), mean)


def compare(ours: Figures, theirs: Published) -> Comparison:
    """Return the difference with its standard error.

    Two figures agree if they are within two standard errors, after half a unit of the last printed
    digit is taken off the difference. The error is that of the mean of the starts in both runs. On
    synthetic tables the data sets were drawn anew, so it is that of the mean over data sets, and
    one data set says nothing; with noise features it includes the draws of the noise, if there are
    several. A deterministic algorithm on the same data has no error: it agrees if the printed
    digits are the same.
    """
    if ours.is_deterministic and theirs.mean is None:
        mine, printed = ours.max, theirs.max
    else:
        mine, printed = ours.mean, theirs.mean
    if printed is None:
        return Comparison(ours, theirs, None, None, None)
    difference = mine - printed
    variance = 0.0
    if theirs.max_std is not None:  # synthetic: drawn anew
        if ours.n_data_sets < 2 or ours.between is None:
            return Comparison(ours, theirs, difference, None, None)
        variance = ours.between**2 * (1.0 / ours.n_sets + 1.0 / _PUBLISHED_SETS)
    else:
        if not ours.is_deterministic:
            own = ours.within if ours.starts > 1 else (theirs.std or 0.0)
            variance += own**2 / ours.n_runs + (theirs.std or 0.0) ** 2 / _PUBLISHED_STARTS
        if ours.between is not None:  # the draw of the published noise is one more
            variance += ours.between**2 * (1.0 + 1.0 / ours.n_sets)
    error = math.sqrt(variance)
    beyond = max(0.0, abs(difference) - _ROUNDING - 1e-9)
    return Comparison(ours, theirs, difference, error, beyond <= _NEAR * error)


def winners(results: Results, place: Place, algorithms: Sequence[str], what: str) -> list[str]:
    """Return who has the highest mean or maximum of a table, to two decimals as the survey counts.

    A deterministic algorithm is counted with its only figure in both.
    """
    scores = {
        name: round(getattr(results.figures[place, name], what), 2)
        for name in algorithms
        if (place, name) in results.figures
    }
    highest = max(scores.values(), default=math.nan)
    return [name for name, score in scores.items() if score == highest]


def published_winners(place: Place, what: str) -> list[str]:
    """Return who has the highest mean or maximum in the survey's tables."""
    scores = {}
    for name in COMPARED:
        cell = published().get((place.table, place.noise, name))
        if cell is not None:
            score = getattr(cell, what)
            score = cell.max if score is None and what == "mean" and cell.mean is None else score
            if score is not None:
                scores[name] = score
    highest = max(scores.values(), default=math.nan)
    return [name for name, score in scores.items() if score == highest]
