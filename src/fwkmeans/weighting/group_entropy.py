"""Weights of groups of features, and of features within their group: FG-K-Means."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from fwkmeans._core.functions import exp, sum_x_log_x
from fwkmeans._support.checks import at_least_zero, one_of
from fwkmeans._support.copies import copied
from fwkmeans.typing import (
    BoolArray,
    CoreRule,
    Description,
    Effective,
    FloatArray,
    IntArray,
    WeightContext,
    Weights,
)
from fwkmeans.weighting.base import WeightRule
from fwkmeans.weighting.simplex import TIE


class GroupEntropyWeights(WeightRule):
    r"""Entropy weights on two levels: features in a group, and groups (FG-K-Means [1]_).

    .. math:: w_{kv} \propto \exp(-\omega_{kt} D_{kv} / \eta) \text{ within each group } G_t,
              \qquad \omega_{kt} \propto \exp\Big(-\sum_{v \in G_t} w_{kv} D_{kv} / \lambda\Big)

    each minimize :math:`\sum_k \big[\sum_t \omega_{kt} \sum_{v \in G_t} w_{kv} D_{kv} + \lambda
    \sum_t \omega_{kt} \log \omega_{kt} + \eta \sum_v w_{kv} \log w_{kv}\big]`.

    Parameters
    ----------
    groups : array of shape (n_features,), default=None
        Number 0, 1, ... of each feature's group; None means one group.
    lam : float or "auto", default="auto"
        Strength of the entropy of group weights. "auto" is :math:`\sum_v T_v / (K T)`, or
        :math:`\sum_v T_v / (2 N T)` for ``dispersion="mean"``.
    eta : float or "auto", default="auto"
        Strength of the entropy of feature weights. "auto" is :math:`\sum_v T_v / (K M)`, or
        :math:`\sum_v T_v / (2 N M)` for ``dispersion="mean"``.
    dispersion : {"sum", "mean"}, default="sum"
        "mean" divides :math:`D_{kv}` by the size of the cluster. Both entropy terms then count once
        for every row and are part of the assignment.

    References
    ----------
    .. [1] Chen, Ye, Xu & Huang (2012). A feature group weighting method for subspace clustering of
       high-dimensional data. Pattern Recognition 45(1). doi:10.1016/j.patcog.2011.06.004
    """

    uses_scatter = False
    weighs_groups = True
    monotone = True

    _constraints: ClassVar = {
        **dict.fromkeys(("lam", "eta"), one_of("auto") | at_least_zero(batched=True)),
        "dispersion": one_of("sum", "mean"),
    }

    def __init__(
        self,
        groups: Any = None,
        lam: Any = "auto",
        eta: Any = "auto",
        dispersion: str = "sum",
    ) -> None:
        self.groups = groups
        self.lam = lam
        self.eta = eta
        self.dispersion = dispersion

    @property
    def in_core(self) -> CoreRule:
        """The rule as the compiled core knows it."""
        mean = self.dispersion == "mean"
        return CoreRule(5, 0, False, True, False, mean, self.eta, self.lam, self.groups)

    def adapted(self, table: Description, n_clusters: int) -> Self:
        """Return the rule with its groups and both strengths as numbers."""
        groups = check_groups(self._groups(table), table.varying.size)
        parts = 2.0 * table.mass if self.dispersion == "mean" else n_clusters
        scatter = table.total_scatter / parts
        n_groups = len(np.unique(groups[table.varying]))
        automatic = {"lam": scatter / n_groups, "eta": scatter / table.n_varying}
        bound = copied(self)
        bound.groups = groups
        for name, value in automatic.items():
            given = getattr(self, name)
            if isinstance(given, str) and given == "auto":
                setattr(bound, name, float(value))
        return bound

    def initial(self, n_starts: int, n_clusters: int, table: Description) -> Weights:
        """Return equal weights within each group, and equal group weights."""
        values = super().initial(n_starts, n_clusters, table).values
        present = _Partition(self._groups(table)).any_of(table.varying)
        omega = np.broadcast_to(present / present.sum(), (n_starts, n_clusters, present.size))
        return Weights(values, {"group_weights": omega.copy()})

    def normalize(self, values: FloatArray, table: Description) -> FloatArray:
        """Scale to sum to one within each group that has a feature with weight."""
        partition = _Partition(self._groups(table))
        values = np.where(table.varying, values, 0.0)
        total = partition.spread(partition.sum(values))
        return values / np.where(total > 0, total, 1.0)

    def update(self, dispersion: FloatArray, context: WeightContext) -> Weights:
        """Return both kinds of weights, features first."""
        table = context.table
        partition = _Partition(self._groups(table))
        omega = context.previous.memory["group_weights"]
        # dividing D by the mass is the same as multiplying both strengths by it
        mass: Any = context.mass[..., None] if self.dispersion == "mean" else 1.0
        eta, lam = np.multiply(self.eta, mass), np.multiply(self.lam, mass)
        values = partition.entropy(partition.spread(omega) * dispersion, eta, table.varying)
        between_groups = _Partition(np.zeros(omega.shape[-1], dtype=np.int64))
        omega = between_groups.entropy(
            partition.sum(values * dispersion),
            lam,
            partition.any_of(table.varying),
        )
        return Weights(values, {"group_weights": omega})

    def effective(self, weights: Weights) -> Effective:
        r"""Return :math:`\omega_{kt} w_{kv}`."""
        omega = weights.memory["group_weights"]
        groups = (
            np.zeros(weights.values.shape[-1], np.int64) if self.groups is None else self.groups
        )
        return Effective(np.take(omega, groups, axis=-1) * weights.values, np.ones(omega.shape[0]))

    def offsets(self, weights: Weights) -> FloatArray:
        """Return both entropy terms for mean dispersions, else zero."""
        if self.dispersion == "sum":
            return super().offsets(weights)
        lam, eta = (np.reshape(p, (*np.shape(p)[:1], 1)) for p in (self.lam, self.eta))
        over_groups = sum_x_log_x(weights.memory["group_weights"])
        both: FloatArray = lam * over_groups + eta * sum_x_log_x(weights.values)
        return both

    def objective(
        self, weighted_dispersion: FloatArray, weights: Weights, context: WeightContext
    ) -> FloatArray:
        """Add both entropy terms of every cluster, unless the offsets already contain them."""
        if self.dispersion == "mean":
            return weighted_dispersion
        lam, eta = (np.reshape(p, np.shape(p)[:1]) for p in (self.lam, self.eta))
        over_groups = sum_x_log_x(weights.memory["group_weights"]).sum(axis=-1)
        over_features = sum_x_log_x(weights.values).sum(axis=-1)
        total: FloatArray = weighted_dispersion + lam * over_groups + eta * over_features
        return total

    def _groups(self, table: Description) -> IntArray:
        if self.groups is None:
            return np.zeros(table.varying.size, dtype=np.int64)
        return np.asarray(self.groups)


def check_groups(groups: IntArray, n_features: int) -> IntArray:
    """Return the groups numbered 0, 1, 2, and so on."""
    if groups.shape != (n_features,) or groups.dtype.kind not in "iu":
        raise ValueError(
            f"groups has shape {groups.shape} and type {groups.dtype}; expected one integer for "
            f"each of the {n_features} features."
        )
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


class _Partition:
    """Disjoint groups of the last axis."""

    def __init__(self, groups: IntArray) -> None:
        self.groups = groups
        self.order = np.argsort(groups, kind="stable")
        self.firsts = np.searchsorted(groups[self.order], np.arange(groups.max() + 1))

    def sum(self, values: FloatArray) -> FloatArray:
        """Sum over each group."""
        sums: FloatArray = np.add.reduceat(self._sorted(values), self.firsts, axis=-1)
        return sums

    def min(self, values: FloatArray) -> FloatArray:
        """Return the minimum of each group."""
        minima: FloatArray = np.minimum.reduceat(self._sorted(values), self.firsts, axis=-1)
        return minima

    def any_of(self, marks: BoolArray) -> BoolArray:
        """Return whether a group has a marked member."""
        return self.sum(marks.astype(np.float64)) > 0

    def spread(self, values: FloatArray) -> FloatArray:
        """Return each member's group value."""
        return np.take(values, self.groups, axis=-1)

    def _sorted(self, values: FloatArray) -> FloatArray:
        # np.take instead of indexing: its result has the same memory layout for any number of
        # starts
        return np.take(values, self.order, axis=-1)

    def entropy(self, dispersion: FloatArray, strength: Any, allowed: BoolArray) -> FloatArray:
        """Minimize dispersion plus strength times entropy within each group."""
        strength = np.asarray(strength, dtype=np.float64)
        cost = np.where(allowed, dispersion, np.inf)
        lowest = self.spread(self.min(cost))
        finite = np.where(allowed, cost, 0.0) - np.where(np.isfinite(lowest), lowest, 0.0)
        with np.errstate(over="ignore"):  # for a tiny strength exp(-inf) is 0, as it should be
            weights = exp(-finite / np.where(strength > 0, strength, 1.0))
        weights = np.where(allowed, weights, 0.0)
        if np.any(strength == 0):
            tied = allowed & (cost <= lowest * (1.0 + TIE))
            weights = np.where(strength > 0, weights, tied)
        total = self.spread(self.sum(weights))
        normalized: FloatArray = weights / np.where(total > 0, total, 1.0)
        return normalized
