"""Weights raised to a power: WK-Means (shared by all clusters) and AWK (separate per cluster)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from fwkmeans._core.functions import exp, log
from fwkmeans._support.checks import at_least_zero, number, one_of
from fwkmeans.typing import (
    CoreRule,
    Description,
    Effective,
    FloatArray,
    WeightContext,
    Weights,
)
from fwkmeans.weighting.base import WeightRule
from fwkmeans.weighting.simplex import guard_of, power

BETA = number("a number <= 0 or >= 1, and finite", lambda b: (b <= 0) | (b >= 1), batched=True).but(
    "Between 0 and 1 the formula of the weights maximizes the criterion."
)
SMOOTHING = one_of("frozen", "refresh", "inside") | at_least_zero(batched=True)
GUARD = at_least_zero(batched=True)

_EMPTY_MEAN = 0.01  # smoothing constant if all dispersions are zero, as in the authors' program


def _check_size(beta: Any, table: Description, owner: str) -> None:
    """Raise if the powers of all weights underflow (the largest weight is at least 1/M)."""
    most = 650.0 / np.log(max(2, table.n_varying))
    if np.all(np.abs(beta) <= most):
        return
    words = f"a size up to {most:.0f} for {table.n_varying} features"
    number(words, lambda b: np.abs(b) <= most, batched=True).but(
        "Powers of the weights underflow beyond; weights are equal long before."
    ).check("beta", beta, owner)


def _raise(values: FloatArray, beta: Any) -> Effective:
    r"""Return :math:`w^\beta` through logarithms, with the largest entry of each start as scale.

    Zero weights stay zero for any beta; such a feature is dropped from the dissimilarity.
    """
    positive = values > 0
    logs = np.where(positive, log(np.where(positive, values, 1.0)) * beta, -np.inf)
    largest = logs.max(axis=(-2, -1), keepdims=True)
    return Effective(exp(logs - largest), exp(largest[:, 0, 0]))


class SharedPowerWeights(WeightRule):
    r"""One weight per feature, shared by all clusters (W-k-means [1]_).

    .. math:: w_v = \Big[\sum_u \big(D_v / D_u\big)^{1/(\beta-1)}\Big]^{-1}, \qquad
              D_v = \sum_k \sum_{i \in S_k} (y_{iv} - c_{kv})^2 + g \bar T, \qquad
              \bar T = \frac1M \sum_v T_v

    minimizes :math:`\sum_v w_v^\beta D_v`.

    Parameters
    ----------
    beta : float, default=2.0
        Exponent of the weights; ``beta <= 0`` or ``beta >= 1``.
    zero : {"share", "huang"}, default="share"
        What features without dispersion get. With "share" they share all the weight equally, which
        minimizes the criterion. With "huang" they get no weight, which is the published rule and
        may raise the criterion.
    guard : float, default=0.0
        The multiple g of the mean scatter that is added to every dispersion, so that no feature
        takes nearly all the weight because it hardly varies. 0 is the published criterion.

    Notes
    -----
    beta = 1 puts all the weight on the least dispersed feature, a large beta makes the weights
    equal, and beta = 0 is K-Means. For beta < 0 weights grow with the dispersion, but
    :math:`w^\beta` falls.

    References
    ----------
    .. [1] Huang, Ng, Rong & Li (2005). Automated variable weighting in k-means type clustering.
       IEEE TPAMI 27(5). doi:10.1109/TPAMI.2005.95
    """

    shared = True
    memoryless = True

    _constraints: ClassVar = {"beta": BETA, "zero": one_of("share", "huang"), "guard": GUARD}

    def __init__(self, beta: Any = 2.0, zero: str = "share", guard: Any = 0.0) -> None:
        self.beta = beta
        self.zero = zero
        self.guard = guard

    @property
    def uses_scatter(self) -> bool:  # type: ignore[override]
        """Whether dispersions have a lowest value, in units of the scatter."""
        return bool(np.any(np.less(self.beta, 0)))

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Whether the weights minimize the criterion."""
        return self.zero == "share"

    @property
    def in_core(self) -> CoreRule | None:
        """The rule as the compiled core knows it; without Huang's zeros."""
        return CoreRule(2, 0, True, True, True, False, self.beta) if self.zero == "share" else None

    def adapted(self, table: Description, n_clusters: int) -> Self:
        """Return the rule, unless powers of its weights underflow on this table."""
        _check_size(self.beta, table, type(self).__name__)
        return self

    def initial(self, n_starts: int, n_clusters: int, table: Description) -> Weights:
        """Return equal weights, and the constant that guards them."""
        weights = super().initial(n_starts, n_clusters, table)
        return with_memory(weights, guard=_guard(self, table))

    def update(self, dispersion: FloatArray, context: WeightContext) -> FloatArray:
        """Return the weights that minimize the criterion for fixed labels and centers."""
        table, total = context.table, dispersion.sum(axis=-2, keepdims=True)
        zero = table.varying & (total <= 0)
        total = total + context.previous.memory.get("guard", 0.0)
        weights = power(total, self.beta, table)
        if self.zero == "huang":
            some = (table.varying & ~zero).any(axis=-1, keepdims=True)
            others = power(np.where(zero, np.inf, total), np.maximum(self.beta, 1.0), table)
            below = np.where(zero, 0.0, weights)
            sums = below.sum(axis=-1, keepdims=True)
            below = below / np.where(sums > 0, sums, 1.0)
            published = np.where(np.less(self.beta, 0), below, others)
            weights = np.where(some & np.not_equal(self.beta, 0), published, weights)
        return np.repeat(weights, dispersion.shape[-2], axis=-2)

    def effective(self, weights: Weights) -> Effective:
        r"""Return :math:`w_v^\beta`."""
        return _raise(weights.values[:, :1], self.beta)

    def objective(
        self, weighted_dispersion: FloatArray, weights: Weights, context: WeightContext
    ) -> FloatArray:
        r"""Add :math:`g \bar T \sum_v w_v^\beta`."""
        total: FloatArray = weighted_dispersion + _times_powers(self, "guard", weights)[:, 0]
        return total


class ClusterPowerWeights(WeightRule):
    r"""One weight per cluster and feature, optionally with smoothed dispersions (AWK [1]_, [2]_).

    .. math:: w_{kv} = \Big[\sum_u \big(D_{kv} / D_{ku}\big)^{1/(\beta-1)}\Big]^{-1}, \qquad
              D_{kv} = \sum_{i \in S_k} (y_{iv} - c_{kv})^2 + c + \frac{g}{K M} \sum_v T_v

    minimizes :math:`\sum_k \sum_v w_{kv}^\beta D_{kv}`.

    Parameters
    ----------
    beta : float, default=2.0
        Exponent of the weights; ``beta <= 0`` or ``beta >= 1``.
    smoothing : {"frozen", "refresh", "inside"} or float, default=0.0
        The constant c, which keeps a feature without dispersion in a cluster from taking all of the
        cluster's weight. "frozen" is the mean of D over clusters and features in the first
        iteration. "refresh" computes this mean again in each iteration; the objective may then rise
        a little. "inside" is the mean variance of the features, added for every row,
        :math:`D_{kv} + n_k c`, also in the assignment. A number is used as it is.
    guard : float, default=0.0
        The multiple g of a cluster's share of the mean scatter that is added to every dispersion.
        Unlike `smoothing` it has no unit and is known before the first iteration. 0 is the
        published criterion.

    References
    ----------
    .. [1] Chan, Ching, Ng & Huang (2004). An optimization algorithm for clustering using weighted
       dissimilarity measures. Pattern Recognition 37(5). doi:10.1016/j.patcog.2003.11.003
    .. [2] Huang, Xu, Ng & Ye (2008). Weighting method for feature selection in k-means.
       Computational Methods of Feature Selection, Chapman & Hall/CRC.
    """

    memoryless = True

    _constraints: ClassVar = {"beta": BETA, "smoothing": SMOOTHING, "guard": GUARD}

    def __init__(self, beta: Any = 2.0, smoothing: Any = 0.0, guard: Any = 0.0) -> None:
        self.beta = beta
        self.smoothing = smoothing
        self.guard = guard

    @property
    def uses_scatter(self) -> bool:  # type: ignore[override]
        """Whether dispersions have a lowest value, in units of the scatter."""
        return bool(np.any(np.less(self.beta, 0)))

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Whether the constant stays the same, so that the objective never rises."""
        return not self._is("refresh")

    @property
    def in_core(self) -> CoreRule:
        """The rule as the compiled core knows it."""
        word = isinstance(self.smoothing, str)
        kind = 1 + ("frozen", "refresh", "inside").index(self.smoothing) if word else 0
        return CoreRule(3, kind, False, self.monotone, True, False, self.beta)

    def adapted(self, table: Description, n_clusters: int) -> Self:
        """Return the rule, unless powers of its weights underflow on this table."""
        _check_size(self.beta, table, type(self).__name__)
        return self

    def initial(self, n_starts: int, n_clusters: int, table: Description) -> Weights:
        """Return equal weights, the guard, and the constant if it is known already."""
        weights = super().initial(n_starts, n_clusters, table)
        memory: dict[str, Any] = {}
        guard = _guard(self, table, n_clusters)
        if not isinstance(self.smoothing, str):
            memory["constant"] = self.smoothing + guard  # both stay as they are
        else:
            memory["guard"] = guard
        if self._is("inside"):
            variance = table.scatter[table.varying] / table.mass
            memory["constant"] = _or_default(variance.mean())
        return with_memory(weights, **memory)

    def update(self, dispersion: FloatArray, context: WeightContext) -> Weights:
        """Return the weights that minimize the criterion for fixed labels and centers."""
        memory = dict(context.previous.memory)
        if "constant" not in memory or self._is("refresh"):
            memory["constant"] = _or_default(_mean(dispersion, context.table))
        constant = memory["constant"]
        added = constant * context.mass[..., None] if self._is("inside") else constant
        guarded = dispersion + added + memory.get("guard", 0.0)
        return Weights(power(guarded, self.beta, context.table), memory)

    def effective(self, weights: Weights) -> Effective:
        r"""Return :math:`w_{kv}^\beta`."""
        return _raise(weights.values, self.beta)

    def offsets(self, weights: Weights) -> FloatArray:
        r"""Return :math:`c \sum_v w_{kv}^\beta` if the constant is inside, else zero."""
        if not self._is("inside"):
            return super().offsets(weights)
        return _times_powers(self, "constant", weights)

    def objective(
        self, weighted_dispersion: FloatArray, weights: Weights, context: WeightContext
    ) -> FloatArray:
        r"""Add :math:`\sum_k \sum_v w_{kv}^\beta` times the guard, and c if it is outside."""
        total: FloatArray = weighted_dispersion
        total = total + _times_powers(self, "guard", weights).sum(axis=-1)
        if not self._is("inside"):
            total = total + _times_powers(self, "constant", weights).sum(axis=-1)
        return total

    def _is(self, smoothing: str) -> bool:
        return isinstance(self.smoothing, str) and self.smoothing == smoothing


def _guard(rule: Any, table: Description, n_parts: int = 1) -> Any:
    """Return what the guard adds to dispersions; nothing for beta = 0, which is K-Means."""
    return np.where(np.equal(rule.beta, 0), 0.0, guard_of(rule.guard, table, n_parts))


def with_memory(weights: Weights, **constants: Any) -> Weights:
    """Return weights that remember constants, one value per start; no guard if all are zero."""
    shape = (len(weights.values), 1, 1)
    memory = {name: np.broadcast_to(one, shape) for name, one in constants.items()}
    if "guard" in memory and not memory["guard"].any():
        del memory["guard"]
    return Weights(weights.values, memory)


def _times_powers(rule: WeightRule, name: str, weights: Weights) -> FloatArray:
    r"""Return a constant times :math:`\sum_v w_{kv}^\beta`; 0 before it is known."""
    if name not in weights.memory:
        return np.zeros(weights.values.shape[:2])
    values, scale = rule.effective(weights)
    powers: FloatArray = values.sum(axis=-1) * scale[:, None]
    return weights.memory[name][..., 0] * powers


def _mean(dispersion: FloatArray, table: Description) -> FloatArray:
    """Return the mean over clusters and varying features; constant ones have no dispersion.

    We sum one axis at a time, so that the order of additions does not depend on the number of
    starts.
    """
    total = dispersion.sum(axis=-1, keepdims=True).sum(axis=-2, keepdims=True)
    mean: FloatArray = total / (dispersion.shape[-2] * table.n_varying)
    return mean


def _or_default(mean: FloatArray) -> FloatArray:
    return np.where(mean > 0, mean, _EMPTY_MEAN)
