"""Weights that move half-way to each feature's share of the separation: FWSA."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fwkmeans._support.checks import BOOLEAN
from fwkmeans.typing import CoreRule, Description, FloatArray, WeightContext, Weights
from fwkmeans.weighting.base import WeightRule
from fwkmeans.weighting.power import GUARD, with_memory
from fwkmeans.weighting.simplex import guard_of, share

_NOTHING = 1e-12  # of the total scatter: the difference of T and a is not known any better


class SelfAdjustingWeights(WeightRule):
    r"""One weight per feature, adjusted by the separation of the clusters in it (FWSA [1]_).

    .. math:: w_v \leftarrow \tfrac12 (w_v + q_v), \qquad
              q_v = \frac{b_v/a_v}{\sum_u b_u/a_u}, \qquad
              a_v = \sum_k \sum_{i \in S_k} (y_{iv} - c_{kv})^2 + g \bar T, \quad
              b_v = T_v - \sum_k \sum_{i \in S_k} (y_{iv} - c_{kv})^2 + g \bar T

    where :math:`\bar T` is the mean of :math:`T_v` over the features. The reported objective is
    :math:`\sum_v w_v a_v / \sum_v w_v (a_v + b_v)`. Assignment and center steps never raise it; the
    published weight step sometimes does.

    Parameters
    ----------
    safeguard : bool, default=False
        Whether to take a weight step only if it does not raise the objective.
    guard : float, default=0.0
        The multiple g of the mean scatter that counts for every feature both within and between
        clusters, so that no feature takes nearly all the weight because it hardly varies. 0 is the
        published rule; as g grows, the weights become equal.

    References
    ----------
    .. [1] Tsai & Chiu (2008). Developing a feature weight self-adjustment mechanism for a K-means
       clustering algorithm. Computational Statistics & Data Analysis 52(10).
       doi:10.1016/j.csda.2008.03.002
    """

    shared = True

    _constraints: ClassVar = {"safeguard": BOOLEAN, "guard": GUARD}

    def __init__(self, safeguard: bool = False, guard: Any = 0.0) -> None:
        self.safeguard = safeguard
        self.guard = guard

    def initial(self, n_starts: int, n_clusters: int, table: Description) -> Weights:
        """Return equal weights, and the constant that guards them."""
        weights = super().initial(n_starts, n_clusters, table)
        return with_memory(weights, guard=guard_of(self.guard, table))

    @property
    def in_core(self) -> CoreRule:
        """The rule as the compiled core knows it."""
        return CoreRule(4, 0, True, False, False, self.safeguard)

    def update(self, dispersion: FloatArray, context: WeightContext) -> FloatArray:
        """Return weights half-way between the previous ones and the shares of separation."""
        table, previous = context.table, context.previous.values[:, :1]
        within = dispersion.sum(axis=-2, keepdims=True)
        between = np.maximum(table.scatter - within, 0.0)
        separated = between > _NOTHING * table.scatter
        guard = context.previous.memory.get("guard", 0.0)
        within, between = within + guard, between + guard
        target = self._shares(within, between, context)
        target = np.where(separated.any(axis=-1, keepdims=True), target, previous)
        if self.safeguard:
            # J = sum w b / sum w a is a ratio of linear functions. If it does not fall at the
            # target, it does not fall half-way there either.
            better = _separation(target, within, between) >= _separation(previous, within, between)
            target = np.where(better, target, previous)
        return np.repeat((previous + target) / 2.0, dispersion.shape[-2], axis=-2)

    def objective(
        self, weighted_dispersion: FloatArray, weights: Weights, context: WeightContext
    ) -> FloatArray:
        """Divide by the weighted total scatter, both with the guard (weights sum to one)."""
        guard = weights.memory["guard"][:, 0, 0] if "guard" in weights.memory else 0.0
        total = (weights.values[:, 0] * context.table.scatter).sum(axis=-1) + 2.0 * guard
        within = weighted_dispersion + guard
        return np.where(total > 0, within / np.where(total > 0, total, 1.0), 0.0)

    def _shares(
        self, within: FloatArray, between: FloatArray, context: WeightContext
    ) -> FloatArray:
        table = context.table
        pure = table.varying & (within <= 0)
        ratio = np.where(table.varying, between, 0.0) / np.where(within <= 0, 1.0, within)
        total = ratio.sum(axis=-1, keepdims=True)
        shares = ratio / np.where(total > 0, total, 1.0)
        if pure.any():
            some = pure.any(axis=-1, keepdims=True)
            shares = np.where(some, share(pure | ~some), shares)
        return shares


def _separation(weights: FloatArray, within: FloatArray, between: FloatArray) -> FloatArray:
    below = (weights * within).sum(axis=-1, keepdims=True)
    above = (weights * between).sum(axis=-1, keepdims=True)
    return np.where(below > 0, above / np.where(below > 0, below, 1.0), np.inf)
