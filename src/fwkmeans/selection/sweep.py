"""Many starts of an algorithm at many values of a parameter, run as batches."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_scalar

from fwkmeans._engine import Outcome, Recipe, assignment_of
from fwkmeans._init import Seeds
from fwkmeans._support.warn import silent_overflow
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.estimators.starts import Problem, draws_nothing
from fwkmeans.typing import (
    BoolArray,
    FloatArray,
    IntArray,
    KeptLabels,
    LabelArray,
    Weights,
)

# These decide how X is read or how all starts run, so they are the same for all values.
COMMON = (
    "categorical_features",
    "missing",
    "missing_category",
    "handle_unknown",
    "init",
    "weight_init",
    "n_init",
    "max_iter",
    "tol",
    "n_jobs",
    "verbose",
    "random_state",
)


class Sweep(NamedTuple):
    """How every start ended; the first axis is the values, the second the starts.

    Parameters
    ----------
    labels : ndarray of shape (n_values, n_starts, n_samples)
        The cluster of each row.
    objective : ndarray of shape (n_values, n_starts)
        The objective; an estimator keeps the start with the lowest one.
    n_iter : ndarray of shape (n_values, n_starts)
        Number of iterations.
    converged : ndarray of shape (n_values, n_starts)
        Whether the start converged.
    """

    labels: LabelArray  # (V, R, N)
    objective: FloatArray  # (V, R)
    n_iter: IntArray  # (V, R)
    converged: BoolArray  # (V, R)


class _Line(NamedTuple):
    """The starts at one value of the parameter."""

    at: int  # index of the value
    problem: Problem
    seeds: Seeds


def sweep(
    estimator: BaseFeatureWeightedKMeans,
    X: Any,
    parameter: str | None = None,
    values: Sequence[Any] = (None,),
    *,
    n_starts: int = 100,
    random_states: Sequence[int] | None = None,
    sample_weight: Any = None,
) -> Sweep:
    """Run an estimator from many starts at many values of one of its parameters.

    All starts at all values run together, as far as memory allows. The starts at a value are, to
    the bit, those of ``estimator.set_params(parameter=value, n_init=n_starts,
    random_state=random_state)``, whose fit would keep the one with the lowest objective. (For
    `ConvexKMeans`, which chooses by another criterion, every start is a fit of its own.)

    Parameters
    ----------
    estimator : estimator of this package
        The algorithm. The estimator is not changed.
    X : array-like or frame of shape (n_samples, n_features)
        The rows.
    parameter : str, default=None
        Name of the parameter that takes the values. It must be a parameter of the algorithm itself,
        not `init`, `max_iter`, `tol` and the like. None means that no parameter changes.
    values : sequence, default=(None,)
        The values.
    n_starts : int, default=100
        Number of starts at each value. If nothing is random, there is only one.
    random_states : sequence of int, default=None
        Seed of the starts at each value; None means the `random_state` of the estimator for all.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weight of each row.

    Returns
    -------
    Sweep
        Labels, objective, number of iterations and convergence of every start.

    Examples
    --------
    >>> from fwkmeans import WKMeans
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.selection import sweep
    >>> from fwkmeans.preprocessing import RangeStandardizer
    >>> X = RangeStandardizer().fit_transform(load_uci("iris").data)
    >>> runs = sweep(WKMeans(3, random_state=0), X, "beta", [1.5, 2.0, 4.0], n_starts=20)
    >>> runs.labels.shape
    (3, 20, 150)
    """
    check_scalar(n_starts, "n_starts", Integral, min_val=1)
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise TypeError(f"values={values!r}: expected a sequence of values of the parameter.")
    if not len(values):
        raise ValueError("values is empty; pass at least one.")
    if parameter in COMMON:
        raise ValueError(
            f"parameter={parameter!r} must be the same for all values, and cannot be swept."
        )
    if random_states is None:
        random_states = [estimator.random_state] * len(values)
    if len(random_states) != len(values):
        raise ValueError(
            f"random_states has {len(random_states)} entries for {len(values)} values; pass one "
            "for each."
        )
    model = clone(estimator)
    if not model._is_one_batch:
        return _one_by_one(model, X, parameter, values, n_starts, random_states, sample_weight)
    model._check_parameters()
    given = model._opened(X, sample_weight, reset=True)
    source, table = model._described(given, reset=True)
    with silent_overflow(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the result says how every start ended
        lines = []
        for at, (value, state) in enumerate(zip(values, random_states, strict=True)):
            if parameter is not None:
                model.set_params(**{parameter: value})
            model._check_parameters()
            lines.append(_Line(at, model._problem(given, source, table), Seeds(state)))
        if draws_nothing(model):
            n_starts = 1
        shape = (len(values), n_starts)
        result = Sweep(
            np.empty((*shape, source.n_rows), dtype=np.int32),
            np.empty(shape),
            np.empty(shape, dtype=np.int64),
            np.empty(shape, dtype=np.bool_),
        )
        for where, labels, outcome in _run(model, lines, n_starts):
            result.labels[where] = labels
            result.objective[where] = outcome.objective
            result.n_iter[where] = outcome.n_iter
            result.converged[where] = outcome.converged
    return result


def _run(
    model: BaseFeatureWeightedKMeans, lines: list[_Line], n_starts: int
) -> Iterator[tuple[tuple[IntArray, IntArray], LabelArray, Outcome]]:
    """Yield, for each batch, which starts it has, their labels, and how they ended."""
    for family in _families(lines):
        room = family[0].problem.n_together
        flat = [(line, start) for line in family for start in range(n_starts)]
        for begin in range(0, len(flat), room):
            batch = flat[begin : begin + room]
            parts = [
                (line, [start for other, start in batch if other is line])
                for line in family
                if any(other is line for other, _ in batch)
            ]
            where = (
                np.array([line.at for line, _ in batch]),
                np.array([start for _, start in batch]),
            )
            yield where, *_run_together(model, parts)


def _run_together(
    model: BaseFeatureWeightedKMeans, parts: list[tuple[_Line, list[int]]]
) -> tuple[LabelArray, Outcome]:
    centers, weights = [], []
    for (_, problem, seeds), starts in parts:
        some = range(starts[0], starts[-1] + 1)
        centers.append(model._initial_centers(problem, seeds, some))
        weights.append(model._initial_weights(problem, seeds, some))
    problem = _stacked([(line.problem, len(starts)) for line, starts in parts])
    together = Weights(
        np.concatenate([one.values for one in weights]),
        _memory_of_all(weights),
    )
    stop = {"max_iter": int(model.max_iter), "tol": model.tol}
    outcome = problem.alternate(np.concatenate(centers), together, **stop)
    return _labels(problem, outcome), outcome


def _memory_of_all(weights: list[Weights]) -> dict[str, FloatArray]:
    """Return what the rules of all lines remember; what only some have is zero for the others."""
    keys = dict.fromkeys(key for one in weights for key in one.memory)
    zero = [np.zeros((len(one.values), 1, 1)) for one in weights]
    return {
        key: np.concatenate([one.memory.get(key, z) for one, z in zip(weights, zero, strict=True)])
        for key in keys
    }


def _labels(problem: Problem, outcome: Outcome) -> LabelArray:
    """Return the labels for centers in the dtype of the rows, as an estimator returns them."""
    source, recipe, layout = problem.source, problem.recipe, problem.table.layout
    points = layout.points(outcome.centers).astype(source.dtype).astype(np.float64)
    centers = layout.centers(points, layout.frequencies(outcome.centers))
    assignment = assignment_of(recipe.weighting, centers, outcome.weights)
    labels = KeptLabels.new(len(centers))
    _, labeled = source.run(recipe.dissimilarity.accumulation(assignment, labels=labels))
    return labeled.gather("labels", axis=1)


def _families(lines: list[_Line]) -> list[list[_Line]]:
    """Group the values whose recipes differ only in numbers that each start may have for itself."""

    def shared(line: _Line) -> Any:
        _, recipe, table, n_clusters, *_ = line.problem
        parts = [(type(part), _words(part)) for part in recipe]
        return parts, n_clusters, table.category_scale

    families = []
    for family in _grouped(lines, shared):
        rules = [line.problem.recipe.weighting for line in family]
        if any(getattr(rule, "uses_scatter", True) for rule in rules):
            families += _grouped(family, lambda line: line.problem.table.scatter)
        else:
            families.append(family)
    return families


def _grouped(lines: list[_Line], key: Callable[[_Line], Any]) -> list[list[_Line]]:
    groups: dict[str, list[_Line]] = {}
    for line in lines:
        groups.setdefault(joblib.hash(key(line)), []).append(line)
    return list(groups.values())


def _words(part: Any) -> dict[str, Any]:
    """Return the parameters of a part that all starts of a batch must share."""
    parameters = part.get_params(deep=False) if hasattr(part, "get_params") else vars(part)
    own = getattr(part, "one_per_start", ())
    return {name: value for name, value in parameters.items() if name not in own}


def _stacked(problems: list[tuple[Problem, int]]) -> Problem:
    """Return one problem for all starts; a number that differs becomes an array, one per start.

    The center and the scatter of the table depend on the exponent. Each start has its own center,
    but the scatter of none: the initial weights have used it, and nothing may ask for it any more.
    """
    first, n_starts = problems[0][0], [n for _, n in problems]
    parts = []
    for same in zip(*(problem.recipe for problem, _ in problems), strict=True):
        together = copy.copy(same[0])
        for name in getattr(together, "one_per_start", ()):
            each = np.repeat(np.array([getattr(part, name) for part in same], float), n_starts)
            if (each != each[0]).any():
                setattr(together, name, each[:, None, None])
        parts.append(together)
    table = first.table
    if any(not np.array_equal(one.table.scatter, table.scatter) for one, _ in problems):
        centers = np.repeat([one.table.center for one, _ in problems], n_starts, axis=0)
        table = table._replace(center=centers, scatter=np.full_like(table.scatter, np.nan))
    return first._replace(recipe=Recipe(*parts), table=table)


def _one_by_one(
    model: BaseFeatureWeightedKMeans,
    X: Any,
    parameter: str | None,
    values: Sequence[Any],
    n_starts: int,
    random_states: Sequence[int],
    sample_weight: Any,
) -> Sweep:
    """Return the same result for an estimator whose fit is more than one batch of starts."""
    fits = []
    for value, state in zip(values, random_states, strict=True):
        if parameter is not None:
            model.set_params(**{parameter: value})
        for seed in Seeds(state).integers("starts", range(n_starts)):
            one = clone(model).set_params(n_init=1, random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                one.fit(X, sample_weight=sample_weight)
            fits.append((one.labels_, one.inertia_, one.n_iter_, one.converged_))
    labels, objective, n_iter, converged = (np.array(part) for part in zip(*fits, strict=True))
    shape = (len(values), n_starts)
    return Sweep(
        labels.reshape(*shape, -1),
        objective.reshape(shape),
        n_iter.reshape(shape),
        converged.reshape(shape),
    )
