"""One step of the alternating loop on a batch of rows, with the sums of the batches before it.

The sums of each cluster and of the whole table are kept as `Statistics`. Before a batch is added
they are multiplied by a decay, so they are sums over all rows so far, in which older batches count
less. The rows themselves are not kept, and labels of earlier rows never change.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from fwkmeans._engine.empty import relocate_empty_clusters, without_rows
from fwkmeans._engine.loop import _as_weights, _beyond_rounding, _read_only, evaluate
from fwkmeans._engine.recipe import Recipe, _with_category_scale
from fwkmeans._engine.state import assignment_of
from fwkmeans.typing import (
    Assignment,
    Description,
    Dissimilarity,
    FloatArray,
    IntArray,
    Source,
    Statistics,
    WeightContext,
    Weights,
)

#: A cluster whose share of the mean mass of clusters has decayed below this is as good as empty.
FORGOTTEN = 0.01


class Stream(NamedTuple):
    """What is kept of all batches so far; the arrays have one start."""

    centers: FloatArray  # (1, K, P)
    weights: Weights
    table: Description  # of all batches
    clusters: Statistics | None = None  # None: nothing has been counted yet
    whole: Statistics | None = None  # of one cluster that has all rows


class Step(NamedTuple):
    """The result of a batch."""

    stream: Stream
    objective: float  # of the sums of all batches
    has_empty: bool


def describe_stream(
    recipe: Recipe, source: Source, table: Description, stream: Stream, decay: float
) -> tuple[Description, Statistics]:
    """Return the description of all batches, this one included, and the sums that it follows from.

    `table` describes this batch, and the parts are bound to it.
    """
    one = np.ones((1, 1, table.layout.n_features))
    everything = Assignment(table.center[None, None], one, np.zeros((1, 1)), np.ones(1))
    whole = source.reduce(recipe.dissimilarity.accumulation(everything))
    if stream.whole is None:
        return table, whole
    whole = _sum(stream.whole, whole, decay)
    layout, before = table.layout, stream.table
    several = layout.sums((whole.counts[0, 0] > 0).astype(np.float64)) > 1
    maximum = layout.numbers_of(np.maximum(before.maximum, table.maximum))
    table = table._replace(
        n_rows=before.n_rows + table.n_rows,
        mass=float(whole.mass[0, 0]),
        minimum=np.minimum(before.minimum, table.minimum),
        maximum=layout.features(maximum, several.astype(np.float64)),
        category_scale=None,
    )
    recipe = recipe._replace(
        dissimilarity=recipe.dissimilarity.bind(table), center=recipe.center.bind(table)
    )
    centers = recipe.center.update(_without_unseen(whole, table), everything, source)
    scatter = recipe.dissimilarity.dispersion(whole, everything, centers, source, table)
    none = np.zeros(layout.categorical.size)
    mean = layout.features(layout.points(centers[0, 0]), none)
    table = table._replace(mean=mean, center=centers[0, 0], scatter=scatter[0, 0])
    weight = getattr(recipe.dissimilarity, "category_weight", 1.0)
    return _with_category_scale(table, weight), whole


def advance(
    recipe: Recipe,
    source: Source,
    table: Description,
    stream: Stream,
    whole: Statistics,
    decay: float,
) -> Step:
    """Assign the rows of a batch, and move centers and weights by the sums of all batches."""
    batch = _Batch(source, recipe.dissimilarity, stream.clusters, decay)
    weights = stream.weights
    assignment = assignment_of(recipe.weighting, stream.centers, weights)
    statistics = batch.count(assignment)
    assignment, weights, statistics, has_empty = relocate_empty_clusters(
        recipe, table, assignment, weights, statistics, cast(Any, batch)
    )
    centers = recipe.center.update(_without_unseen(statistics, table), assignment, source)
    centers = _beyond_rounding(centers, assignment.centers, table)
    dispersion = recipe.dissimilarity.dispersion(statistics, assignment, centers, source, table)
    context = WeightContext(statistics.mass, _read_only(weights), table)
    dispersion.flags.writeable = False
    updated = _as_weights(recipe.weighting.update(dispersion, context), weights, recipe)
    updated = without_rows(updated, statistics, recipe, table)
    moved = assignment_of(recipe.weighting, centers, updated)
    _, objective = evaluate(recipe, moved, dispersion, updated, context)
    kept = Stream(centers, updated, table, statistics, whole)
    return Step(kept, float(objective[0]), bool(has_empty[0]))


class _Batch:
    """The statistics of a batch together with those of the batches before it."""

    def __init__(
        self,
        source: Source,
        dissimilarity: Dissimilarity,
        past: Statistics | None,
        decay: float,
    ) -> None:
        self.source = source
        self._dissimilarity, self._decay = dissimilarity, decay
        self._past = None if past is None else _without_forgotten(past, decay)

    def count(self, assignment: Assignment) -> Statistics:
        """Assign the rows of the batch; return the sums of all batches."""
        counted = self.source.reduce(self._dissimilarity.accumulation(assignment))
        return counted if self._past is None else _sum(self._past, counted, self._decay)

    def recount(
        self, assignment: Assignment, starts: IntArray, statistics: Statistics
    ) -> Statistics:
        """Return the sums for another assignment; there is only one start."""
        return self.count(assignment)


def _sum(past: Statistics, batch: Statistics, decay: float) -> Statistics:
    """Return the decayed sums of the past plus those of a batch, about their common mean.

    The rows of the past cannot be read again, so sums must never be about a point so far away that
    they cancel.
    """
    total = past.scaled(decay).plus(batch)
    mass = total.observed
    step = np.divide(total.sums, mass, out=np.zeros_like(total.sums), where=mass > 0)
    total = total.about(total.reference + step)
    return total._replace(squares=np.maximum(total.squares, 0.0))


def _without_forgotten(past: Statistics, decay: float) -> Statistics:
    """Return the sums of the past without clusters of which nearly nothing is left.

    Such a cluster restarts with the rows of the batch that join it or, if there are none, at the
    row that is farthest from its center.
    """
    if decay == 1.0:
        return past
    gone = past.mass < FORGOTTEN * past.mass.mean(axis=-1, keepdims=True)
    apart = gone[..., None]
    return past._replace(
        mass=np.where(gone, 0.0, past.mass),
        rows=np.where(gone, 0, past.rows),
        sums=np.where(apart, 0.0, past.sums),
        squares=np.where(apart, 0.0, past.squares),
        counts=np.where(apart, 0.0, past.counts),
    )


def _without_unseen(statistics: Statistics, table: Description) -> Statistics:
    """Return the sums without categories that the first batch did not have.

    They count as rows that differ from every center, so they are no part of one.
    """
    if table.layout.is_numeric:
        return statistics
    counts = statistics.counts.copy()
    counts[..., table.layout.offsets[1:] - 1] = 0.0
    return statistics._replace(counts=counts)
