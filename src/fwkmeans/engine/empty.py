"""What happens to a cluster that no row is nearest to: it moves to the worst served row.

One empty cluster a round, the first one: its center goes to the row farthest from its own center
(among clusters with at least two rows), with initial weights, and the rows are assigned again. The
objective cannot rise. If every row lies on its own center, in the features that have weight, there
is nothing to gain, and the cluster stays empty.
"""

from __future__ import annotations

import numpy as np

from fwkmeans._typing import (
    Assignment,
    BoolArray,
    Description,
    FloatArray,
    IntArray,
    Source,
    Statistics,
    Weights,
)
from fwkmeans.engine.recipe import Recipe
from fwkmeans.engine.state import assignment_of


def relocate_empty_clusters(
    source: Source,
    recipe: Recipe,
    table: Description,
    assignment: Assignment,
    weights: Weights,
    statistics: Statistics,
) -> tuple[Assignment, Weights, Statistics, BoolArray]:
    """Repair every start, at most K times; the last result marks starts that stay with a hole."""
    hopeless = np.zeros(statistics.rows.shape[0], dtype=np.bool_)
    for _ in range(statistics.rows.shape[1]):
        empty = statistics.rows == 0
        starts = np.flatnonzero(empty.any(axis=-1) & ~hopeless)
        if not starts.size:
            break
        distance, row = source.reduce(
            recipe.dissimilarity.farthest(assignment.take(starts), statistics.rows[starts] > 1)
        )
        found = distance > _rounding(assignment.take(starts), table)
        hopeless[starts[~found]] = True
        moved = starts[found]
        if not moved.size:
            break
        clusters = empty[moved].argmax(axis=-1)
        centers = assignment.centers.copy()
        centers[moved, clusters] = source.take(row[found])
        weights = _with_initial(weights, moved, clusters, recipe, table)
        assignment = assignment_of(recipe.weighting, centers, weights, table)
        again = source.reduce(recipe.dissimilarity.accumulation(assignment.take(moved)))
        for whole, part in zip(statistics, again, strict=True):
            whole[moved] = part
    return assignment, weights, statistics, hopeless


def _rounding(assignment: Assignment, table: Description) -> FloatArray:
    """Return what the dissimilarity of a row that is its own center can amount to: (R,)."""
    size = np.maximum(np.abs(table.minimum), np.abs(table.maximum))
    step = 1e-13 * (table.maximum - table.minimum) + 1e-15 * size
    level: FloatArray = (assignment.weights.max(axis=1) * step**2).sum(axis=-1)
    return level


def _with_initial(
    weights: Weights, starts: IntArray, clusters: IntArray, recipe: Recipe, table: Description
) -> Weights:
    """Return the weights with those of one cluster a start set back (shared weights stay)."""
    if recipe.weighting.shared:
        return weights
    n_starts, n_clusters, _ = weights.values.shape
    initial = recipe.weighting.initial(n_starts, n_clusters, table)
    values, memory = weights.values.copy(), dict(weights.memory)
    values[starts, clusters] = initial.values[starts, clusters]
    for key, fresh in initial.memory.items():
        if fresh.shape[1] > 1 or values.shape[1] == 1:  # one entry a cluster
            memory[key] = memory[key].copy()
            memory[key][starts, clusters] = fresh[starts, clusters]
    return Weights(values, memory)
