"""Sets the attributes of a fitted model, and warns of what is odd about it: the only place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import fwkmeans._core.compiled as compiled
from fwkmeans._engine import Recipe, Run
from fwkmeans._support.warn import warn_user
from fwkmeans.estimators.categories import describe_categories
from fwkmeans.estimators.dominance import MOST, warn_of_dominant_column
from fwkmeans.estimators.model import Model
from fwkmeans.estimators.plan import Plan
from fwkmeans.exceptions import FewerClustersWarning, NotConvergedWarning
from fwkmeans.typing import Description, FloatArray, LabelArray, Labeled, Source, WeightContext

__all__ = ["label_rows", "publish", "set_attributes"]

_CLEAR = 0.99 * MOST  # the largest weight that is far from a warning


def publish(model: Model, plan: Plan, run: Run) -> None:
    """Set the attributes of the best start, and warn of what is odd about it."""
    if not math.isfinite(run.objective):
        raise ValueError(
            f"{plan.recipe.weighting!r} led to an objective that is not finite. Are its "
            "weights finite, and are the values of X below 1e150 in size? Rescale the columns, "
            "for example with fwkmeans.preprocessing.RangeStandardizer."
        )
    mass: FloatArray = model._set_fitted(plan.source, plan.recipe, plan.table, run)
    if not run.converged or 0.0 in mass.tolist():
        _warn_of(model, run, mass)
    # the first question is a quick one, and is enough where no groups have weights
    largest = compiled.largest_share(np.ascontiguousarray(model.feature_weights_))
    if largest > _CLEAR or "group_weights_" in vars(model):
        warn_of_dominant_column(model, plan.table)


def set_attributes(
    model: Model, source: Source, recipe: Recipe, table: Description, run: Run
) -> FloatArray:
    """Set the attributes that all models have; return the mass of each cluster."""
    layout, dtype, centers = table.layout, source.dtype, run.centers
    if layout.is_numeric:
        public = centers.astype(dtype)
    else:
        public = np.full((len(centers), layout.n_features), np.nan, dtype)
        public[:, layout.numeric] = layout.points(centers)
    for name, of_rule in model._shown_of_rule.items():
        setattr(model, name, getattr(recipe.weighting, of_rule))
    vars(model).update(
        _parts=recipe,
        _table=table,
        _memory=run.weights.memory,
        _frequencies=centers[..., layout.numeric.size :],
        cluster_centers_=public,
        n_clusters_=len(centers),
        feature_weights_=run.weights.values[0],
        objective_history_=run.history,
        n_iter_=run.n_iter,
        converged_=run.converged,
    )
    mass: FloatArray
    model.labels_, model.inertia_, mass = model._label(source, table, recipe.weighting, run)
    if model._takes_categories:
        found = ({}, {}) if model._coding is None else describe_categories(model, source)
        model.category_frequencies_, model.modes_ = found
    return mass


def label_rows(
    model: Model, source: Source, table: Description, rule: Any, run: Run | None = None
) -> tuple[LabelArray, float, FloatArray]:
    """Return labels, objective and mass of the clusters for the public centers and weights.

    A run that gave them may have labeled the rows already.
    """
    weights, labeled = (run.weights, run.labeled) if run else (model._weights(), None)
    if labeled is None:
        assignment = model._assignment(weights)
        (plain, mass), source = source.run(model._parts.dissimilarity.labeling(assignment))
        labels = source.gather("labels", axis=1)[0]
        labeled = Labeled(0, labels, assignment.scale * plain, mass)
    _, labels, total, mass = labeled
    if not math.isfinite(total[0]):
        raise ValueError(
            "The sum of the dissimilarities of X overflows. Rescale X, for example with "
            "fwkmeans.preprocessing.RangeStandardizer, and fit again."
        )
    objective = rule.objective(total, weights, WeightContext(mass[None], weights, table))
    return labels, float(objective[0]), mass


def _warn_of(model: Model, run: Run, mass: FloatArray) -> None:
    if not run.converged:
        why = f"did not converge in {run.n_iter} iterations. Increase max_iter or tol"
        if run.n_iter < model.max_iter:
            why = (
                "went in circles: rows came back to labels that they had before. The lowest "
                "objective of the circle is kept. Try other starts or parameters"
            )
        warn_user(f"{type(model).__name__} {why}.", NotConvergedWarning)
    if 0.0 in mass.tolist():
        n_found = int(np.count_nonzero(mass))
        why = (
            "every row equals its center in all features that have weight. There may be "
            "duplicate rows in X, or too few features with weight"
            if run.has_empty
            else "the last weights leave a cluster without rows. Try other starts or parameters"
        )
        warn_user(
            f"Number of distinct clusters ({n_found}) found smaller than n_clusters "
            f"({model.n_clusters_}): {why}.",
            FewerClustersWarning,
        )
