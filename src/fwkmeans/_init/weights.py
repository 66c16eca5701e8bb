"""Initial feature weights: uniform, random, or given."""

from __future__ import annotations

from typing import Any

import numpy as np

from fwkmeans._init.seeds import Seeds
from fwkmeans.typing import Description, FloatArray, WeightRuleProtocol, Weights


def initial_weights(
    how: Any,
    rule: WeightRuleProtocol,
    n_clusters: int,
    table: Description,
    seeds: Seeds,
    starts: range,
    feature_names: Any = None,
) -> Weights:
    """Return the initial weights of each start."""
    uniform = rule.initial(len(starts), n_clusters, table)
    if isinstance(how, str) and how == "uniform":
        return uniform
    if isinstance(how, str) and how == "random":
        values = _random(rule, n_clusters, table, seeds, starts)
    elif isinstance(how, str):
        raise ValueError(f"weight_init={how!r}: expected 'uniform', 'random' or an array.")
    else:
        _check_names(how, feature_names)
        given = _given(how, rule, n_clusters, table)
        values = np.broadcast_to(given, (len(starts), *given.shape))
    return Weights(rule.normalize(values, table), uniform.memory)


def _random(
    rule: WeightRuleProtocol, n_clusters: int, table: Description, seeds: Seeds, starts: range
) -> FloatArray:
    """Return exponential numbers; once normalized, they are uniform on the simplex."""
    n_own = 1 if rule.shared else n_clusters
    drawn = -np.log1p(-seeds.uniform("weights", starts, n_own * table.varying.size))
    drawn = drawn.reshape(len(starts), n_own, table.varying.size)
    return np.broadcast_to(drawn, (len(starts), n_clusters, table.varying.size))


def _check_names(weights: Any, feature_names: Any) -> None:
    """Raise if a frame or series names other features, or the same ones in another order."""
    names = getattr(weights, "columns", getattr(weights, "index", None))
    if names is None or callable(names) or feature_names is None:
        return
    names = list(names)
    if any(isinstance(name, str) for name in names) and names != list(feature_names):
        raise ValueError(
            f"weight_init names the features {names}, X has {list(feature_names)}. Give the same "
            "names in the same order."
        )


def _given(
    weights: Any, rule: WeightRuleProtocol, n_clusters: int, table: Description
) -> FloatArray:
    values = np.asarray(weights, dtype=np.float64)
    n_features = table.varying.size
    if values.shape not in ((n_features,), (n_clusters, n_features)):
        raise ValueError(
            f"weight_init has shape {values.shape}; expected ({n_features},) or "
            f"({n_clusters}, {n_features}): one weight per feature, or one per cluster and feature."
        )
    if not np.all(np.isfinite(values) & (values >= 0)):
        raise ValueError("weight_init has negative, infinite or missing entries.")
    values = np.broadcast_to(values, (n_clusters, n_features))
    if rule.shared and not np.all(values == values[0]):
        raise ValueError(
            "weight_init has different rows, but all clusters share their weights here. "
            f"Give one row of shape ({n_features},)."
        )
    values = np.divide(values, max(float(values.max()), 1e-300))  # sums must not overflow
    uniform = rule.initial(1, n_clusters, table).values[0]
    if not np.allclose(rule.normalize(values, table).sum(axis=-1), uniform.sum(axis=-1)):
        raise ValueError(
            "weight_init leaves a cluster (or one of its groups) without any positive weight on a "
            "feature that varies."
        )
    return values
