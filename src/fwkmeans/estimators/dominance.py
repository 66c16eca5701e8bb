"""The warning about a column that has nearly all the weight of a cluster."""

from __future__ import annotations

import numpy as np

from fwkmeans._core.functions import largest_share
from fwkmeans._support.text import count
from fwkmeans._support.warn import warn_user
from fwkmeans.estimators.model import Model
from fwkmeans.estimators.shares import counted_weights
from fwkmeans.exceptions import DominantColumnWarning
from fwkmeans.typing import Description, FloatArray

__all__ = ["MOST", "warn_of_dominant_column"]

#: The largest share of a cluster's weight that one column can have without a warning.
MOST = 0.9


def warn_of_dominant_column(estimator: Model, table: Description) -> None:
    """Warn if one of several columns has more than 90 % of the weight of a cluster."""
    if table.n_varying < 2:
        return
    weights = counted_weights(estimator)
    if largest_share(weights) <= 0.99 * MOST:
        return  # the usual case
    weights = weights / weights.sum(axis=1, keepdims=True)  # columns of a space share its weight
    largest = weights.max(axis=1)
    where = np.flatnonzero(largest > MOST)
    if not where.size:
        return
    worst = int(where[np.argmax(largest[where])])
    column = int(weights[worst].argmax())
    names = estimator._names
    name = column if names is None else repr(str(names[column]))
    clusters = f"cluster {worst}"
    if where.size == len(weights) and (weights.argmax(axis=1) == column).all():
        clusters = "every cluster"
    elif where.size > 1:
        others = count(where.size - 1, "other cluster")
        clusters += f" ({others} also rest{'s' if where.size == 2 else ''} on one column)"
    influence = _influence(estimator, table)[worst, column]
    if influence > MOST:
        rest = (
            ", so it alone decides which rows belong there. If it hardly varies, leave it out; "
            "otherwise choose parameters that spread the weights, such as a larger guard, beta, p "
            "or gamma."
        )
    else:
        rest = (
            f", but it varies less than other columns and makes {influence:.0%} of the distances. "
            "Weights can be compared if the columns have one unit: standardize X, for example "
            "with fwkmeans.preprocessing.RangeStandardizer."
        )
    warn_user(
        f"Column {name} has {largest[worst]:.0%} of the weight in {clusters}{rest}",
        DominantColumnWarning,
    )


def _influence(estimator: Model, table: Description) -> FloatArray:
    """Return each column's share of the weighted scatter of the table, (K, M)."""
    factors = estimator._parts.weighting.effective(estimator._weights()).values[0]
    spread = np.broadcast_to(factors * table.scatter, estimator.feature_weights_.shape)
    total = spread.sum(axis=1, keepdims=True)
    return np.asarray(spread / np.where(total > 0, total, 1.0))
