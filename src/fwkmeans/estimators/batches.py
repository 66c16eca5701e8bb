"""Runs plans in batches of starts: the only caller of the alternating loop.

A fit is one plan. A sweep has one plan for each value of a parameter; starts of plans that differ
only in such numbers run together. Whoever wants to run fewer rows or starts first replaces parts of
a plan (`Plan._replace`), and gives the starts that go on as its `begin`.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fwkmeans._engine import Outcome, Recipe, Run, alternate, first_lowest
from fwkmeans.estimators.model import Model
from fwkmeans.estimators.plan import Plan
from fwkmeans.typing import FloatArray, Weights

__all__ = ["Batch", "best_run", "run_plans"]

logger = logging.getLogger("fwkmeans")


class Batch(NamedTuple):
    """Starts that ran together."""

    of: list[tuple[int, range]]  # which plan, and which of its starts; in the order of the outcome
    plan: Plan  # of all of them; a number that differs among them is an array, one for each start
    outcome: Outcome


def best_run(model: Model, plan: Plan) -> Run:
    """Run all starts of a plan; return the one with the lowest objective, the first on ties."""
    runs = []
    for batch in run_plans(model, [plan]):
        run = batch.outcome.best()
        ((_, starts),) = batch.of
        logger.info(
            "%s: starts %d to %d of %d done, objective %.10g",
            type(model).__name__,
            starts.start + 1,
            starts.stop,
            plan.n_starts,
            run.objective,
        )
        runs.append(run)
    if len(runs) == 1:
        return runs[0]
    return runs[first_lowest(np.asarray([run.objective for run in runs]))]


def run_plans(model: Model, plans: Sequence[Plan]) -> Iterator[Batch]:
    """Run all starts of some plans of a model, as many together as memory allows.

    Yields
    ------
    Batch
        How some starts ended. How a start ends does not depend on its batch, to the bit. If all
        starts of a single plan are one batch, rows are labeled by the best one in passing.
    """
    for family in [[0]] if len(plans) == 1 else _families(plans):
        alone = len(family) == 1 and plans[family[0]].n_starts == 1
        room = 1 if alone else plans[family[0]].n_together
        parts: list[tuple[int, range]] = []
        left = room
        for at in family:
            first, n_starts = 0, plans[at].n_starts
            while first < n_starts:
                some = range(first, min(n_starts, first + left))
                parts.append((at, some))
                first, left = some.stop, left - len(some)
                if not left:
                    yield _run_batch(model, plans, parts)
                    parts, left = [], room
        if parts:
            yield _run_batch(model, plans, parts)


def _run_batch(model: Model, plans: Sequence[Plan], parts: list[tuple[int, range]]) -> Batch:
    """Run some starts of some plans together."""
    begins = [_begin(model, plans[at], starts) for at, starts in parts]
    centers, weights = begins[0]
    plan = plans[parts[0][0]]
    if len(parts) > 1:
        plan = _stacked([(plans[at], len(starts)) for at, starts in parts])
        centers = np.concatenate([some for some, _ in begins])
        together = [each for _, each in begins]
        values = np.concatenate([each.values for each in together])
        weights = Weights(values, _memory_of_all(together))
    outcome = alternate(
        plan.source,
        plan.recipe,
        plan.table,
        centers,
        weights,
        max_iter=plan.max_iter,
        tol=plan.tol,
        label=len(plans) == 1 and len(parts[0][1]) == plan.n_starts,
        in_core=not plan.why_python,
    )
    return Batch(parts, plan, outcome)


def _begin(model: Model, plan: Plan, starts: range) -> tuple[FloatArray, Weights]:
    """Return initial centers and weights of some starts."""
    if plan.begin is None:
        return (
            model._initial_centers(plan, plan.seeds, starts),
            model._initial_weights(plan, plan.seeds, starts),
        )
    centers, weights = plan.begin
    if len(starts) == len(centers):
        return centers, weights
    return centers[starts.start : starts.stop], weights.take(np.arange(starts.start, starts.stop))


# ---- several plans ------------------------------------------------------------------------------


def _memory_of_all(weights: list[Weights]) -> dict[str, FloatArray]:
    """Return what the rules of all plans remember; what only some have is zero for the others."""
    keys = dict.fromkeys(key for one in weights for key in one.memory)
    zero = [np.zeros((len(one.values), 1, 1)) for one in weights]
    return {
        key: np.concatenate([one.memory.get(key, z) for one, z in zip(weights, zero, strict=True)])
        for key in keys
    }


def _families(plans: Sequence[Plan]) -> list[list[int]]:
    """Group the plans whose recipes differ only in numbers that each start may have for itself."""

    def shared(at: int) -> Any:
        plan = plans[at]
        parts = [(type(part), _words(part)) for part in plan.recipe]
        return parts, plan.n_clusters, plan.table.category_scale

    families = []
    for family in _grouped(range(len(plans)), shared):
        rules = [plans[at].recipe.weighting for at in family]
        if any(getattr(rule, "uses_scatter", True) for rule in rules):
            families += _grouped(family, lambda at: plans[at].table.scatter)
        else:
            families.append(family)
    return families


def _grouped(numbers: Sequence[int], key: Any) -> list[list[int]]:
    import joblib  # takes a while

    groups: dict[str, list[int]] = {}
    for at in numbers:
        groups.setdefault(joblib.hash(key(at)), []).append(at)
    return list(groups.values())


def _words(part: Any) -> dict[str, Any]:
    """Return the parameters of a part that all starts of a batch must share."""
    parameters = part.get_params(deep=False) if hasattr(part, "get_params") else vars(part)
    own = getattr(part, "one_per_start", ())
    return {name: value for name, value in parameters.items() if name not in own}


def _stacked(plans: list[tuple[Plan, int]]) -> Plan:
    """Return one plan for all starts; a number that differs becomes an array, one per start.

    The center and the scatter of the table depend on the exponent. Each start has its own center,
    but the scatter of none: the initial weights have used it, and nothing may ask for it any more.
    """
    first, n_starts = plans[0][0], [n for _, n in plans]
    parts = []
    for same in zip(*(plan.recipe for plan, _ in plans), strict=True):
        together = copy.copy(same[0])
        for name in getattr(together, "one_per_start", ()):
            each = np.repeat(np.array([getattr(part, name) for part in same], float), n_starts)
            if (each != each[0]).any():
                setattr(together, name, each[:, None, None])
        parts.append(together)
    table = first.table
    if any(not np.array_equal(one.table.scatter, table.scatter) for one, _ in plans):
        centers = np.repeat([one.table.center for one, _ in plans], n_starts, axis=0)
        table = table._replace(center=centers, scatter=np.full_like(table.scatter, np.nan))
    return first._replace(recipe=Recipe(*parts), table=table)
