"""Starts that race: all of them on a sample of the rows, fewer on larger ones, one to the end.

Ten starts find a better optimum than one, but most of what nine of them do is thrown away. Which
ones lead shows on some of the rows already, after some iterations. Only the leaders go on, from
centers and weights that are nearly those that they end with.

Samples are drawn by the numbers of the rows with weight, so that they are the same wherever the
rows are and however they are divided.
"""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np

from fwkmeans._engine import Run, lowest, why_not_in_core
from fwkmeans._init import Candidates, candidates_of, times_drawn
from fwkmeans.estimators.batches import run_plans
from fwkmeans.estimators.plan import Plan
from fwkmeans.estimators.starts import draws_nothing
from fwkmeans.sources import DeviceSource, count_present, sample_of
from fwkmeans.typing import FloatArray, Source, Weights

logger = logging.getLogger("fwkmeans")


class Course(NamedTuple):
    """How a race goes."""

    n_starts: int  # on the first sample
    iterations: int  # on each sample
    n_finalists: int  # starts that go on to all rows
    final_iterations: int | None  # after which only one goes on; None: all go on to the end
    far: bool  # whether samples have rows that are far from others, which takes a pass


#: Rows below which a table is a small one.
SMALL = 5000
ON_SMALL, ON_LARGE = Course(10, 4, 3, None, False), Course(20, 10, 3, 5, True)
#: Rows of the first sample: so many, or so many for each cluster, or this part of the table.
FIRST_ROWS, FIRST_ROWS_EACH, FIRST_PART = 1000, 100, 3
#: With fewer rows than these, or than so many for each cluster, there is no race.
LEAST_ROWS, LEAST_ROWS_EACH = 300, 30
#: Rows far from others that are in all samples, as a part of the first one.
FAR_PART = 4
#: How many times as many rows the next sample has, how many starts go on to it, and how many
#: times as many rows there must be in all.
GROWTH, KEPT, LEAST_TIMES = 8, 5, 16


def sizes_of_samples(n_rows: int, n_clusters: int) -> list[int]:
    """Return the number of rows of each sample, rising; none if there is no race."""
    size = min(max(FIRST_ROWS, FIRST_ROWS_EACH * n_clusters), n_rows // FIRST_PART)
    if size < max(LEAST_ROWS, LEAST_ROWS_EACH * n_clusters):
        return []
    found = [size]
    while LEAST_TIMES * GROWTH * found[-1] <= n_rows:
        found.append(GROWTH * found[-1])
    return found


def may_race(estimator: Any, n_rows: int) -> bool:
    """Tell whether the starts of a table with so many rows may race."""
    if not isinstance(estimator.n_init, str) or draws_nothing(estimator):
        return False
    return bool(sizes_of_samples(n_rows, int(estimator.n_clusters or 0)))


def race(estimator: Any, plan: Plan) -> Run | None:
    """Return how the start ended that won; None if starts had better have all rows from the first.

    A sample is a table on its own, from which the starts are drawn, with the parts of the algorithm
    that are bound to the whole one: a row of it stands for as many as were there to draw from.
    """
    n_rows = plan.table.n_rows
    if not may_race(estimator, n_rows) or isinstance(plan.source, DeviceSource):
        return None  # on a device, all starts take little longer than one
    sizes = sizes_of_samples(n_rows, plan.n_clusters)
    course = ON_SMALL if n_rows < SMALL else ON_LARGE
    leaders: list[Run] = []
    for size, source in zip(sizes, _samples(plan, sizes, course.far), strict=True):
        on_sample = plan._replace(
            source=source,
            n_starts=course.n_starts,
            why_python=why_not_in_core(source, plan.recipe, plan.table),
        )
        n_kept = course.n_finalists if size == sizes[-1] else KEPT
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


def _samples(plan: Plan, sizes: list[int], far: bool) -> list[Source]:
    """Return samples of these sizes, each a part of the next one, and rows far from others in all.

    Without far rows, clusters of a few rows would be missing, and with them the optima that have a
    center there.
    """
    source, present = plan.source, count_present(plan.source)
    seeds = plan.seeds
    drawn = seeds.common("race").choice(present.n_rows, sizes[-1], replace=False)
    numbers = np.sort(drawn)
    found = Candidates(numbers, np.zeros(numbers.size, np.bool_), np.zeros(numbers.size))
    if far:
        n_far = sizes[0] // FAR_PART
        found = candidates_of(source, plan.n_clusters, seeds, plan.table, numbers, n_far)
    times = [times_drawn(found.expected, size / present.n_rows) for size in sizes]
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
