"""Starts that race: all of them on a sample of the rows, fewer on larger ones, one to the end.

Ten starts find a better optimum than one, but most of what nine of them do is thrown away. Which
ones lead shows on some of the rows already, after some iterations. Only the leaders go on, from
centers and weights that are nearly those that they end with.

Samples are drawn by the numbers of the rows with weight, so that they are the same wherever the
rows are and however they are divided.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from fwkmeans._engine import Run, lowest, why_not_in_core
from fwkmeans._init import Candidates, candidates_of, chance_drawn
from fwkmeans.estimators.batches import run_plans
from fwkmeans.estimators.courses import FAR_PART, KEPT, Course, course_of
from fwkmeans.estimators.plan import Plan
from fwkmeans.sources import count_present, sample_of
from fwkmeans.typing import FloatArray, Source, Weights

logger = logging.getLogger("fwkmeans")


def race(estimator: Any, plan: Plan) -> Run | None:
    """Return how the start ended that won; None if starts had better have all rows from the first.

    A sample is a table on its own, from which the starts are drawn, with the parts of the algorithm
    that are bound to the whole one: a row of it stands for as many as were there to draw from.
    """
    course = course_of(estimator, plan.table.n_rows)
    if course is None or plan.source.on_device:
        return None  # on a device, all starts take little longer than one
    leaders: list[Run] = []
    for size, source in zip(course.sizes, _samples(plan, course), strict=True):
        on_sample = plan._replace(
            source=source,
            n_starts=course.n_starts,
            why_python=why_not_in_core(source, plan.recipe, plan.table),
        )
        n_kept = course.n_finalists if size == course.sizes[-1] else KEPT
        leaders = _lowest(estimator, on_sample, leaders, course.iterations, n_kept)
        if not leaders:
            return None
        logger.info("%s: %d starts lead on %d rows", type(estimator).__name__, len(leaders), size)
    ahead = _lowest(estimator, plan, leaders, course.final_iterations or plan.max_iter, 1)
    if not ahead:
        return None
    (run,) = ahead
    if run.converged or run.n_iter >= plan.max_iter:
        return run
    (last,) = _lowest(estimator, plan, ahead, plan.max_iter - run.n_iter, 1)
    history = np.concatenate([run.history, last.history])
    return last._replace(history=history, n_iter=run.n_iter + last.n_iter)


def _samples(plan: Plan, course: Course) -> list[Source]:
    """Return the samples of a race, each a part of the next one, and rows far from others in all.

    Without far rows, clusters of a few rows would be missing, and with them the optima that have a
    center there.
    """
    sizes, source, present = course.sizes, plan.source, count_present(plan.source)
    seeds = plan.seeds
    drawn = seeds.common("race").choice(present.n_rows, sizes[-1], replace=False)
    numbers = np.sort(drawn)
    found = Candidates(numbers, np.zeros(numbers.size, np.bool_), np.zeros(numbers.size))
    if course.far:
        n_far = sizes[0] // FAR_PART
        found = candidates_of(source, plan.n_clusters, seeds, plan.table, numbers, n_far)
    times = [1.0 / chance_drawn(found.expected, size / present.n_rows) for size in sizes]
    largest = sample_of(source, found.numbers, present, times[-1])  # reads the rows once
    present = count_present(largest)
    samples: list[Source] = []
    for size, own in zip(sizes[:-1], times, strict=False):
        places = np.flatnonzero(found.is_far | np.isin(found.numbers, drawn[:size]))
        samples.append(sample_of(largest, places, present, (own / times[-1])[places]))
    return [*samples, largest]


def _lowest(
    estimator: Any, plan: Plan, leaders: list[Run], max_iter: int, n_kept: int
) -> list[Run]:
    """Return the runs that end with the lowest objectives; they begin where leaders ended."""
    plan = plan._replace(max_iter=min(max_iter, plan.max_iter))
    if leaders:
        plan = plan._replace(n_starts=len(leaders), begin=_ends_of(leaders))
    found: list[Run] = []
    for batch in run_plans(estimator, [plan]):
        found += [batch.outcome.run(at) for at in lowest(batch.outcome.objective, n_kept)]
        found = [found[at] for at in lowest(np.array([run.objective for run in found]), n_kept)]
    return found


def _ends_of(runs: list[Run]) -> tuple[FloatArray, Weights]:
    """Return the centers and weights at which runs ended."""
    memory = {
        key: np.concatenate([run.weights.memory[key] for run in runs])
        for key in runs[0].weights.memory
    }
    values = np.concatenate([run.weights.values for run in runs])
    return np.stack([run.centers for run in runs]), Weights(values, memory)
