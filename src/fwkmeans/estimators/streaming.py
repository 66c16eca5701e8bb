"""`partial_fit`: one step of an algorithm for each batch of rows."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing, gen_batches

from fwkmeans._engine import Run, bind_parts
from fwkmeans._engine.stream import Stream, advance, describe_stream
from fwkmeans._support.warn import warn_user
from fwkmeans.estimators.categories import describe_categories
from fwkmeans.estimators.inputs import check_sample_weight
from fwkmeans.estimators.model import Model
from fwkmeans.estimators.plan import plan_of
from fwkmeans.estimators.spreads import warn_of_unequal_spreads
from fwkmeans.exceptions import FewerClustersWarning
from fwkmeans.sources import BlockSource
from fwkmeans.typing import Description, Source

#: Number of steps of which `objective_history_` has the objective.
HISTORY = 1000


def has_stream(estimator: Model) -> bool:
    """Tell whether an estimator has `partial_fit`; raise an error that says why not."""
    reason = estimator._why_no_stream()
    if reason is not None:
        raise AttributeError(f"{type(estimator).__name__} has no partial_fit: {reason}.")
    return True


def batches_of(X: Any, sample_weight: Any, batch_size: Any) -> Iterator[tuple[Any, Any]]:
    """Yield batches of rows and their weights."""
    if batch_size is None:
        yield X, sample_weight
        return
    if not isinstance(batch_size, Integral) or isinstance(batch_size, bool) or batch_size < 1:
        raise ValueError(f"batch_size={batch_size!r}: expected a number of rows >= 1, or None.")
    if isinstance(X, BlockSource | str) or (not hasattr(X, "__len__") and not hasattr(X, "shape")):
        raise ValueError(
            f"X is {type(X).__name__}, which batch_size cannot cut. Call partial_fit with one "
            "batch after the other."
        )
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    sample_weight = check_sample_weight(sample_weight, n_rows)
    X = X.tocsr() if hasattr(X, "tocsr") else X
    for piece in gen_batches(n_rows, int(batch_size)):
        weight = None if sample_weight is None else sample_weight[piece]
        if weight is None or weight.any():  # nothing is learned from rows without weight
            yield _safe_indexing(X, piece), weight


def check_decay(decay: Any) -> None:
    """Raise unless this can be a decay."""
    if not isinstance(decay, Real) or isinstance(decay, bool) or not 0 <= float(decay) <= 1:
        raise ValueError(
            f"decay={decay!r}: expected a number from 0 (only the last batch counts) to 1 (all "
            "batches count the same)."
        )


def learn_batch(estimator: Model, X: Any, sample_weight: Any, decay: float) -> None:
    """Do one step with a batch of rows, and set the attributes."""
    first = "cluster_centers_" not in vars(estimator)
    given = estimator._opened(X, sample_weight, reset=first)
    refusal = (
        f"{type(estimator).__name__}.partial_fit cannot leave them out. Fill them or drop those "
        "rows, for example with sklearn.impute.SimpleImputer."
    )
    source, batch = estimator._described(given, reset=first, refusal=refusal)
    _check_number(estimator, None if first else len(estimator.cluster_centers_), batch.n_rows)
    if first:
        stream, recipe, table = _begin(estimator, given, source, batch)
        estimator.n_steps_, history = 0, np.empty(0)
    else:
        recipe, batch = bind_parts(estimator._recipe(source, batch), source, batch)
        stream = vars(estimator).get("_stream") or _continued(estimator, batch)
        estimator.n_steps_ = getattr(estimator, "n_steps_", 0)
        history = estimator.objective_history_ if estimator.n_steps_ else np.empty(0)
        table = batch
    if decay == 0:
        stream = stream._replace(clusters=None, whole=None)
    table, whole = describe_stream(recipe, source, table, stream, decay)
    if not first:
        rule = recipe.weighting.bind(table, stream.centers.shape[1])
        recipe = recipe._replace(
            dissimilarity=recipe.dissimilarity.bind(table),
            center=recipe.center.bind(table),
            weighting=rule,
        )
    step = advance(recipe, source, table, stream, whole, decay)
    if not np.isfinite(step.objective):
        raise ValueError(
            "The objective is not finite. Are the values of X below 1e150 in size? Rescale the "
            "columns, for example with sklearn.preprocessing.MaxAbsScaler."
        )
    estimator.n_steps_ += 1
    history = np.concatenate([history, [step.objective]])[-HISTORY:]
    kept = step.stream
    run = Run(
        kept.centers[0],
        kept.weights,
        step.objective,
        history,
        estimator.n_steps_,
        False,
        step.has_empty,
    )
    estimator._set_fitted(source, recipe, table, run)
    estimator._stream = kept
    assert kept.clusters is not None
    if not table.layout.is_numeric:
        estimator.category_frequencies_, estimator.modes_ = describe_categories(
            estimator, source, kept.clusters.counts[0]
        )
    if first and step.has_empty:
        warn_user(
            f"{type(estimator).__name__}: a cluster has no rows yet, since every row of the first "
            "batch equals its center. Begin with a larger batch.",
            FewerClustersWarning,
        )


def _check_number(estimator: Model, known: int | None, n_rows: int) -> None:
    """Raise if a batch cannot have as many clusters as asked for."""
    asked = estimator.n_clusters
    if asked is None:
        return
    if known is None and n_rows < asked:
        raise ValueError(
            f"The first batch has {n_rows} rows (with weight), and n_clusters={asked}: clusters "
            "start from its rows. Begin with a larger batch (batch_size, if that cuts it), or ask "
            "for fewer clusters."
        )
    may_be_fewer = estimator._may_find_fewer
    if known is not None and known != asked and not (may_be_fewer and known < asked):
        raise ValueError(
            f"n_clusters={asked}, but the model has {known} clusters, and batches do not change "
            "their number. Set n_clusters back, or begin anew with fit or with "
            "sklearn.base.clone(model)."
        )


def _begin(
    estimator: Model, given: Any, source: Source, batch: Description
) -> tuple[Stream, Any, Description]:
    """Return the start of a stream, from the first batch as `fit` would start."""
    warn_of_unequal_spreads(estimator, batch)
    plan = plan_of(estimator, given.rows, source, batch)
    centers = estimator._initial_centers(plan, plan.seeds, range(1))
    weights = estimator._initial_weights(plan, plan.seeds, range(1))
    return Stream(centers, weights, plan.table), plan.recipe, plan.table


def _continued(estimator: Model, batch: Description) -> Stream:
    """Return a stream that begins at the centers and weights of a model that was fitted."""
    return Stream(estimator._assignment().centers, estimator._weights(), batch)
