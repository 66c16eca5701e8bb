"""From cells to figures: the best value on every table, beside the published one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from fwkmeans._typing import FloatArray
from fwkmeans.survey.contenders import COMPARED
from fwkmeans.survey.published import Published, published, published_tables
from fwkmeans.survey.store import Cell

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
    low: FloatArray  # one standard deviation of the starts below and above
    high: FloatArray


class Figures(NamedTuple):
    """How an algorithm did on a table at its best value, the one with the highest mean index."""

    mean: float
    std: float  # over all starts of all data sets and draws
    max: float  # mean over data sets and draws
    max_std: float | None  # over data sets and draws, if there are several
    parameter: float | None  # mean over data sets and draws
    parameter_std: float | None
    between: float | None  # standard deviation of the means of data sets and draws
    n_sets: int  # data sets times draws
    n_draws: int
    starts: int  # that were run; deterministic algorithms have one
    short: int  # starts at the best values that found fewer clusters than asked for
    curve: Curve | None

    @property
    def is_deterministic(self) -> bool:
        """Whether every data set had one start only."""
        return self.starts == 1


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

    def places(self) -> list[Place]:
        """Return the tables without and with noise, as far as they were run."""
        found = {place for place, _ in self.figures}
        every = [Place(table, noise) for noise in (False, True) for table in self.tables]
        return [place for place in every if place in found]


def summarize_cells(cells: Iterable[Cell]) -> Results:
    """Return figures and comparisons from the cells of a file.

    If an algorithm was run on a table with different numbers of starts or different seeds, the run
    with the most starts counts (on ties, the lowest seed).
    """
    by_place: dict[tuple[Place, str], list[Cell]] = {}
    for cell in cells:
        key = (Place(cell.data_set, cell.noise > 0), cell.algorithm)
        by_place.setdefault(key, []).append(cell)
    figures = {key: _figures(_one_run(some)) for key, some in by_place.items()}
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
    return Results(tuple(algorithms), tuple(tables), figures, comparisons)


def _one_run(cells: Sequence[Cell]) -> list[Cell]:
    def kind(cell: Cell) -> tuple[int, int, str, str]:
        return -cell.starts, cell.seed, cell.settings, cell.content

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
        between=float(means.std(ddof=1)) if several else None,
        n_sets=len(best),
        n_draws=len({cell.noise for cell in best}),
        starts=int(best[0].ari.size),
        short=sum(cell.short for cell in best),
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
    std = np.array([np.mean([cell.std for cell in by_value[value]]) for value in full])
    return Curve(np.array(full), mean, mean - std, mean + std)


def compare(ours: Figures, theirs: Published) -> Comparison:
    """Return the difference with its standard error.

    Two figures agree if they are within two standard errors, after half a unit of the last printed
    digit is taken off the difference. The error is that of the mean of the starts in both runs. On
    synthetic tables the data sets were drawn anew, so it is that of the mean over data sets; with
    noise features it includes the draws of the noise, if there are several. A deterministic
    algorithm on the same data has no error: it agrees if the printed digits are the same.
    """
    if ours.is_deterministic and theirs.mean is None:
        mine, printed = ours.max, theirs.max
    else:
        mine, printed = ours.mean, theirs.mean
    if printed is None:
        return Comparison(ours, theirs, None, None, None)
    difference = mine - printed
    variance = 0.0
    if theirs.max_std is not None and ours.between is not None:  # synthetic: drawn anew
        variance = ours.between**2 * (1.0 / ours.n_sets + 1.0 / _PUBLISHED_SETS)
    else:
        if not ours.is_deterministic:
            variance += ours.std**2 / ours.starts + (theirs.std or 0.0) ** 2 / _PUBLISHED_STARTS
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
