"""What happens to an empty cluster: its center moves to the row that is farthest from its center.

Each round moves the first empty cluster. Its center goes to the row farthest from the center of its
own cluster, it gets the initial weights, and the rows are assigned again. The objective cannot
rise. A cluster of one row keeps it, unless the row has a weight above one: a weight of two counts
like two equal rows. If every row equals its center in all features that have weight, moving would
gain nothing, and the cluster stays empty.
"""

from __future__ import annotations

import numpy as np

from fwkmeans._engine.recipe import Recipe
from fwkmeans._engine.state import assignment_of
from fwkmeans._engine.statistics import RunningStatistics
from fwkmeans.sources import centers_of
from fwkmeans.typing import (
    Assignment,
    BoolArray,
    Description,
    IntArray,
    Statistics,
    Weights,
)


def relocate_empty_clusters(
    recipe: Recipe,
    table: Description,
    assignment: Assignment,
    weights: Weights,
    statistics: Statistics,
    running: RunningStatistics,
) -> tuple[Assignment, Weights, Statistics, BoolArray]:
    """Repair every start, at most K times; the last result marks starts with an empty cluster."""
    hopeless = np.zeros(statistics.rows.shape[0], dtype=np.bool_)
    for _ in range(statistics.rows.shape[1]):
        empty = statistics.rows == 0
        starts = np.flatnonzero(empty.any(axis=-1) & ~hopeless)
        if not starts.size:
            break
        stuck = assignment.take(starts)
        several = (statistics.rows[starts] > 1) | (statistics.mass[starts] > 1.0)
        dissimilarity = recipe.dissimilarity.take(starts)
        distance, rows = running.source.reduce(dissimilarity.farthest(stuck, several))
        worst = centers_of(rows, table.take(starts))
        found = distance > dissimilarity.rounding(worst, stuck)
        hopeless[starts[~found]] = True
        moved = starts[found]
        if not moved.size:
            break
        clusters = empty[moved].argmax(axis=-1)
        centers = assignment.centers.copy()
        centers[moved, clusters] = worst[found]
        weights = _with_initial(weights, moved, clusters, recipe, table)
        assignment = assignment_of(recipe.weighting, centers, weights)
        statistics = running.recount(assignment, moved, statistics)
    return assignment, weights, statistics, hopeless


def without_rows(
    weights: Weights, statistics: Statistics, recipe: Recipe, table: Description
) -> Weights:
    """Return the weights, with those of clusters that stayed empty reset to the initial ones."""
    starts, clusters = np.nonzero(statistics.rows == 0)
    return _with_initial(weights, starts, clusters, recipe, table) if starts.size else weights


def _with_initial(
    weights: Weights, starts: IntArray, clusters: IntArray, recipe: Recipe, table: Description
) -> Weights:
    """Return the weights, with those of some clusters reset (shared weights stay)."""
    if recipe.weighting.shared:
        return weights
    n_starts, n_clusters, _ = weights.values.shape
    initial = recipe.weighting.initial(n_starts, n_clusters, table)
    values, memory = weights.values.copy(), dict(weights.memory)
    values[starts, clusters] = initial.values[starts, clusters]
    for key, fresh in initial.memory.items():
        kept = memory.get(key)
        # (R, K, .) has one entry per cluster; what other shapes mean is known to the rule only
        if kept is not None and fresh.ndim == 3 and fresh.shape[1] == kept.shape[1] == n_clusters:
            memory[key] = kept.copy()
            memory[key][starts, clusters] = fresh[starts, clusters]
    return Weights(values, memory)
