"""The alternating loop that runs every algorithm, for a batch of starts."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from fwkmeans._engine.empty import relocate_empty_clusters, without_rows
from fwkmeans._engine.in_core import alternate_in_core, why_not_in_core
from fwkmeans._engine.recipe import Recipe
from fwkmeans._engine.state import Outcome, assignment_of
from fwkmeans._engine.statistics import RunningStatistics
from fwkmeans.typing import (
    Assignment,
    BoolArray,
    Description,
    FloatArray,
    IntArray,
    Source,
    WeightContext,
    Weights,
)

logger = logging.getLogger("fwkmeans")

# tol=0 means: until labels stay the same and nothing moves by more than rounding.
_CENTER_REST = 1e-13  # of the feature's range
_WEIGHT_REST = 1e-12
_NO_FALL = 1e-12  # of the weighted dispersion
_LABEL_BYTES = 2**24  # of starts that run in Python because the core has given them up
ARRAYS_A_PART = 4  # of the size of the centers, in the statistics of a block


def alternate(
    source: Source,
    recipe: Recipe,
    table: Description,
    centers: FloatArray,
    weights: Weights,
    *,
    max_iter: int,
    tol: float,
    label: bool = False,
    in_core: bool | None = None,
) -> Outcome:
    """Assign rows, move centers and update weights until nothing changes.

    Starts that have converged leave the batch. The compiled core runs the loop if it knows all
    parts.

    Parameters
    ----------
    source : Source
        Where the rows are; they are used by reductions only.
    recipe : Recipe
        Dissimilarity, center rule, and weight rule, bound to the table.
    table : Description
        What is known about the features before the first iteration.
    centers : ndarray of shape (n_starts, n_clusters, entries of a center)
        Initial centers.
    weights : Weights
        Initial weights.
    max_iter : int
        Maximum number of iterations.
    tol : float
        If no step can raise the objective, a run ends when the objective changes by at most ``tol``
        times the rule's `tolerance_scale` (usually the weighted dispersion). Otherwise it ends when
        labels stay the same and weights move by at most ``tol``. With 0 it ends when
        nothing moves, or, if several centers are equally good, when the objective stays the
        same. A run that goes in circles ends at the best point of the circle, and has not
        converged. A run whose sums overflow ends with an infinite objective.
    label : bool, default=False
        Whether the rows should also be labeled by the best start, where this is done in passing.
    in_core : bool, default=None
        Whether the core knows these rows and parts; None means to find out.

    Returns
    -------
    Outcome
        In the order of the starts.
    """
    stop: dict[str, Any] = {"max_iter": max_iter, "tol": tol}
    found = None
    if not why_not_in_core(source, recipe, table) if in_core is None else in_core:
        found = alternate_in_core(source, recipe, table, centers, weights, **stop, label=label)
    if found is None:
        return alternate_in_python(source, recipe, table, centers, weights, **stop)
    outcome, given_up = found
    if given_up is None:
        return outcome
    # as many at a time as their labels take little memory
    together = max(1, _LABEL_BYTES // (4 * source.n_rows))
    lost = np.flatnonzero(given_up)
    for some in np.split(lost, range(together, lost.size, together)):
        parts, known = recipe.take(some), table.take(some)
        again = (parts, known, centers[some], weights.take(some))
        outcome = outcome.put(some, alternate_in_python(source, *again, **stop))
    return outcome


def alternate_in_python(
    source: Source,
    recipe: Recipe,
    table: Description,
    centers: FloatArray,
    weights: Weights,
    *,
    max_iter: int,
    tol: float,
) -> Outcome:
    """Do what `alternate` does for any parts; the loop of the core (``loop.hpp``) is its twin."""
    with source.in_place(ARRAYS_A_PART * centers.nbytes) as rows:
        return _alternate(rows, recipe, table, centers, weights, max_iter=max_iter, tol=tol)


def _alternate(
    source: Source,
    recipe: Recipe,
    table: Description,
    centers: FloatArray,
    weights: Weights,
    *,
    max_iter: int,
    tol: float,
) -> Outcome:
    n_starts = centers.shape[0]
    outcome: Outcome | None = None
    active: IntArray = np.arange(n_starts)
    history: list[FloatArray] = []
    latest = np.empty(n_starts)  # objective of each start, also of those that have ended
    fingerprint: IntArray | None = None
    prints: list[IntArray] = []
    monotone, unique = recipe.monotone, np.asarray(recipe.center.unique)
    assignment = assignment_of(recipe.weighting, centers, weights)
    running = RunningStatistics(source, recipe.dissimilarity, n_starts)
    for iteration in range(1, max_iter + 1):
        dissimilarity, center_rule, _ = recipe
        statistics = running.count(assignment)
        assignment, weights, statistics, has_empty = relocate_empty_clusters(
            recipe, table, assignment, weights, statistics, running
        )
        rows = running.source  # has the labels in row memory, if they are kept
        centers = center_rule.update(statistics, assignment, rows)
        centers = _beyond_rounding(centers, assignment.centers, table)
        dispersion = dissimilarity.dispersion(statistics, assignment, centers, rows, table)
        failed = ~_all(np.isfinite(dispersion))
        centers[failed], dispersion[failed] = assignment.centers[failed], 0.0
        context = WeightContext(statistics.mass, _read_only(weights), table)
        dispersion.flags.writeable = False  # the rule may be a user's own
        updated = _as_weights(recipe.weighting.update(dispersion, context), weights, recipe)
        updated = without_rows(updated, statistics, recipe, table)
        moved = assignment_of(recipe.weighting, centers, updated)
        tolerance_scale, objective = evaluate(recipe, moved, dispersion, updated, context)
        failed |= ~np.isfinite(objective)
        objective = np.where(failed, np.inf, objective)  # such a start ends, the others continue
        history.append(_on_all_starts(objective, active, n_starts))

        same_labels = (
            np.zeros(active.size, np.bool_)
            if fingerprint is None
            else statistics.fingerprint == fingerprint
        )
        limit = _WEIGHT_REST if monotone else max(tol, _WEIGHT_REST)
        stopped = same_labels & _at_rest(assignment, weights, moved, updated, table, limit)
        if monotone and iteration > 1 and (tol > 0 or not unique.all()):
            fall = np.abs(history[-2][active] - objective)
            enough = np.where(unique, tol, max(tol, _NO_FALL))
            settled = ((tolerance_scale > 0) | same_labels) & (~unique | (tol > 0))
            stopped |= (fall <= enough * tolerance_scale) & settled
        converged = stopped & ~failed
        stopped |= failed
        if not monotone and recipe.weighting.memoryless:
            prints.append(_on_all_starts(statistics.fingerprint, active, n_starts))
            stopped |= _best_of_circle(prints, history, active)
        latest[active] = objective
        logger.debug(
            "iteration %d: %d starts, best objective %.10g", iteration, active.size, latest.min()
        )
        assignment, weights, fingerprint = moved, updated, statistics.fingerprint
        if stopped.any() or iteration == max_iter:
            ending = stopped | (iteration == max_iter)
            outcome = outcome or _blank(n_starts, centers, weights)
            _record(
                outcome,
                active[ending],
                iteration,
                centers[ending],
                weights.take(ending),
                objective[ending],
                converged[ending],
                has_empty[ending],
            )
        if stopped.all():
            break
        if stopped.any():
            going = ~stopped
            running.keep(going)
            active, fingerprint = active[going], fingerprint[going]
            assignment, weights = assignment.take(going), weights.take(going)
            recipe, table = recipe.take(going), table.take(going)
            unique = np.asarray(recipe.center.unique)
    assert outcome is not None
    return outcome._replace(history=np.stack(history, axis=1))


def evaluate(
    recipe: Recipe,
    assignment: Assignment,
    dispersion: FloatArray,
    weights: Weights,
    context: WeightContext,
) -> tuple[FloatArray, FloatArray]:
    """Return the unit of `tol` and the objective of each start."""
    part = assignment.scale * recipe.dissimilarity.combine(assignment.weights, dispersion)
    by_rows = part + assignment.scale * (assignment.offsets * context.mass).sum(axis=-1)
    objective = recipe.weighting.objective(by_rows, weights, context)
    return recipe.weighting.tolerance_scale(part, weights, context), objective


def _blank(n_starts: int, centers: FloatArray, weights: Weights) -> Outcome:
    def like(values: FloatArray) -> FloatArray:
        return np.empty((n_starts, *values.shape[1:]))

    return Outcome(
        like(centers),
        Weights(like(weights.values), {key: like(m) for key, m in weights.memory.items()}),
        np.empty(n_starts),
        np.empty((n_starts, 0)),
        np.empty(n_starts, dtype=np.int64),
        np.empty(n_starts, dtype=np.bool_),
        np.empty(n_starts, dtype=np.bool_),
    )


def _record(
    outcome: Outcome,
    starts: IntArray,
    iteration: int,
    centers: FloatArray,
    weights: Weights,
    objective: FloatArray,
    converged: BoolArray,
    has_empty: BoolArray,
) -> None:
    outcome.centers[starts] = centers
    outcome.weights.values[starts] = weights.values
    for key, values in weights.memory.items():
        outcome.weights.memory[key][starts] = values
    outcome.objective[starts] = objective
    outcome.n_iter[starts] = iteration
    outcome.converged[starts] = converged
    outcome.has_empty[starts] = has_empty


def _as_weights(result: FloatArray | Weights, previous: Weights, recipe: Recipe) -> Weights:
    """Return what a rule returned as `Weights`; raise if it cannot be weights."""
    rule = recipe.weighting
    memory = previous.memory
    if isinstance(result, Weights):
        memory = {key: np.asarray(kept) for key, kept in result.memory.items()}
        values = np.asarray(result.values)
    else:
        values = np.asarray(result)
    if values.dtype.kind not in "fiub":
        raise TypeError(f"{rule!r} returned weights of type {values.dtype}; expected numbers.")
    if rule.shared and values.shape == previous.values[:, :1].shape:
        values = np.broadcast_to(values, previous.values.shape)
    if values.shape != previous.values.shape:
        raise ValueError(
            f"{rule!r} returned weights of shape {values.shape}; expected that "
            f"of the dispersion, {previous.values.shape}: starts, clusters, features."
        )
    if not (values >= 0).all():
        raise ValueError(f"{rule!r} returned weights that are negative or not a number.")
    if not (values > 0).any(axis=-1).all():
        raise ValueError(f"{rule!r} returned a cluster without any positive weight.")
    if rule.shared and not (values == values[:, :1]).all():
        raise ValueError(
            f"{rule!r} says that clusters share their weights, but returned different ones. Sum "
            "the dispersion over the clusters (axis -2), or set shared=False."
        )
    if any(m.ndim == 0 or len(m) != len(values) for m in memory.values()):
        raise ValueError(
            f"{rule!r} remembers an array whose first axis is not the {len(values)} starts."
        )
    return Weights(values.astype(np.float64, copy=False), memory)


def _read_only(weights: Weights) -> Weights:
    values = weights.values.view()
    values.flags.writeable = False
    return Weights(values, weights.memory)


def _beyond_rounding(centers: FloatArray, before: FloatArray, table: Description) -> FloatArray:
    """Undo steps of a few ulps, so that rows equal to their center do not change their cluster."""
    some_ulps = 1e-15 * table.layout.of_centers(table.magnitude)
    return np.where(np.abs(centers - before) <= some_ulps, before, centers)


def _on_all_starts(values: Any, active: IntArray, n_starts: int) -> Any:
    if active.size == n_starts:
        return values
    spread = np.full(n_starts, np.nan) if values.dtype.kind == "f" else np.zeros(n_starts, np.int64)
    spread[active] = values
    return spread


def _best_of_circle(
    prints: list[IntArray], history: list[FloatArray], active: IntArray
) -> BoolArray:
    """Tell which starts have had these labels before and are at the lowest point since then.

    The labels determine all that follows, so such a run would go in circles. (The labels of the
    previous iteration do not count: if they stay the same, the run is converging.)
    """
    best = np.full(active.size, np.nan)  # comparisons with NaN are false
    now, lowest = prints[-1][active], history[-1][active]
    unseen = np.ones(active.size, dtype=np.bool_)
    for earlier in range(len(prints) - 2, -1, -1):
        if earlier < len(prints) - 2:
            found = unseen & (prints[earlier][active] == now)
            best[found], unseen = lowest[found], unseen & ~found
        lowest = np.minimum(lowest, history[earlier][active])
    return np.asarray(history[-1][active] - best <= 1e-12 * np.abs(best))


def _at_rest(
    before: Assignment,
    weights_before: Weights,
    after: Assignment,
    weights_after: Weights,
    table: Description,
    limit: float,
) -> BoolArray:
    near = _CENTER_REST * table.layout.of_centers(table.span)
    still = _all(np.abs(after.centers - before.centers) <= near)
    still &= _all(np.abs(weights_after.values - weights_before.values) <= limit)
    for key, earlier in weights_before.memory.items():
        if earlier.ndim == 3 and earlier.shape[-1] > 1:  # these are weights, not a constant
            still &= _all(np.abs(weights_after.memory[key] - earlier) <= limit)
    return still


def _all(facts: BoolArray) -> BoolArray:
    return np.asarray(facts.all(axis=(-2, -1)))
