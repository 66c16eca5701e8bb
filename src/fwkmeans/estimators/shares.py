"""Feature weights that can be compared, for algorithms that also have weights of groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from fwkmeans.estimators.model import Model
from fwkmeans.typing import FloatArray

__all__ = ["counted_weights", "has_group_weights"]


def has_group_weights(model: Model) -> bool:
    """Tell whether the weights of features are multiplied by weights of several groups."""
    rule: Any = getattr(getattr(model, "_parts", None), "weighting", None)
    if not getattr(rule, "weighs_groups", False):  # a rule of a user may know nothing of groups
        return False
    return bool(np.unique(np.asarray(rule.groups)).size > 1)


def counted_weights(model: Model) -> FloatArray:
    """Return the weights of a fitted model that can be compared between features: (K, M).

    These are its feature weights. If groups have weights too, it is the product of both, divided by
    its sum. Otherwise the only feature of a group with little weight would seem important.
    """
    weights = np.asarray(model.feature_weights_, dtype=np.float64)
    if not has_group_weights(model):
        return weights
    product = model._parts.weighting.effective(model._weights()).values[0]
    product = np.broadcast_to(product, weights.shape)
    total = product.sum(axis=1, keepdims=True)
    shares: FloatArray = product / np.where(total > 0, total, 1.0)
    return shares
