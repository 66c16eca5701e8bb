"""Many starts of an algorithm at many values of a parameter, run as batches."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_scalar

from fwkmeans._engine import assignment_of
from fwkmeans._init import Seeds
from fwkmeans._support.warn import silent_overflow
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.estimators.batches import Batch, run_plans
from fwkmeans.estimators.plan import BATCH_BYTES, plan_of
from fwkmeans.estimators.starts import draws_nothing
from fwkmeans.typing import (
    BoolArray,
    FloatArray,
    IntArray,
    KeptLabels,
    LabelArray,
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
        plans = []
        n_starts = 1 if draws_nothing(model) else n_starts
        for value, state in zip(values, random_states, strict=True):
            if parameter is not None:
                model.set_params(**{parameter: value})
            model._check_parameters()
            plan = plan_of(model, given.rows, source, table, n_starts)
            plans.append(plan._replace(seeds=Seeds(state)))
        shape = (len(values), n_starts)
        result = Sweep(
            np.empty((*shape, source.n_rows), dtype=np.int32),
            np.empty(shape),
            np.empty(shape, dtype=np.int64),
            np.empty(shape, dtype=np.bool_),
        )
        for batch in run_plans(model, plans):
            at = np.repeat([at for at, _ in batch.of], [len(starts) for _, starts in batch.of])
            where = at, np.concatenate([np.asarray(starts) for _, starts in batch.of])
            outcome = batch.outcome
            _put_labels(result.labels, where, batch)
            result.objective[where] = outcome.objective
            result.n_iter[where] = outcome.n_iter
            result.converged[where] = outcome.converged
    return result


def _put_labels(labels: LabelArray, where: tuple[IntArray, IntArray], batch: Batch) -> None:
    """Label the rows by each start, for centers in the dtype of the rows, as an estimator does."""
    source, recipe, table = batch.plan[:3]
    outcome, layout = batch.outcome, table.layout
    points = layout.points(outcome.centers).astype(source.dtype).astype(np.float64)
    centers = layout.centers(points, layout.frequencies(outcome.centers))
    together = max(1, BATCH_BYTES // (4 * source.n_rows))
    for some in np.split(np.arange(len(centers)), range(together, len(centers), together)):
        parts = recipe.take(some)
        assignment = assignment_of(parts.weighting, centers[some], outcome.weights.take(some))
        kept = KeptLabels.new(len(some))
        _, labeled = source.run(parts.dissimilarity.accumulation(assignment, labels=kept))
        labels[where[0][some], where[1][some]] = labeled.gather("labels", axis=1)


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
