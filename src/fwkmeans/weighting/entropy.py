"""Weights spread by an entropy term: EW-KM."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from fwkmeans._core.functions import sum_x_log_x
from fwkmeans._support.checks import at_least_zero, one_of
from fwkmeans._support.copies import copied
from fwkmeans.typing import CoreRule, Description, FloatArray, WeightContext, Weights
from fwkmeans.weighting.base import WeightRule
from fwkmeans.weighting.simplex import entropy


class EntropyWeights(WeightRule):
    r"""One weight per cluster and feature, spread by an entropy term (EW-KM [1]_).

    .. math:: w_{kv} = \frac{\exp(-D_{kv}/\gamma)}{\sum_u \exp(-D_{ku}/\gamma)}, \qquad
              D_{kv} = \sum_{i \in S_k} (y_{iv} - c_{kv})^2

    minimizes :math:`\sum_k \big[\sum_v w_{kv} D_{kv} + \gamma \sum_v w_{kv} \log w_{kv}\big]`.

    Parameters
    ----------
    gamma : float or "auto", default="auto"
        Strength of the entropy term, in units of D. "auto" is the total scatter divided by the
        number of clusters and features, :math:`\sum_v T_v / (K M)`, or half the mean variance of
        the features, :math:`\sum_v T_v / (2 N M)`, for ``dispersion="mean"``. 0 puts all the weight
        on the least dispersed feature.
    dispersion : {"sum", "mean"}, default="sum"
        "mean" divides :math:`D_{kv}` by the size of the cluster. The entropy term then counts once
        for every row and is part of the assignment.

    References
    ----------
    .. [1] Jing, Ng & Huang (2007). An entropy weighting k-means algorithm for subspace clustering
       of high-dimensional sparse data. IEEE TKDE 19(8). doi:10.1109/TKDE.2007.1048
    """

    uses_scatter = False
    monotone = True
    memoryless = True

    _constraints: ClassVar = {
        "gamma": one_of("auto") | at_least_zero(batched=True),
        "dispersion": one_of("sum", "mean"),
    }

    def __init__(self, gamma: Any = "auto", dispersion: str = "sum") -> None:
        self.gamma = gamma
        self.dispersion = dispersion

    @property
    def in_core(self) -> CoreRule:
        """The rule as the compiled core knows it."""
        return CoreRule(1, 0, False, True, True, self.dispersion == "mean", self.gamma)

    def adapted(self, table: Description, n_clusters: int) -> Self:
        """Return the rule with gamma as a number."""
        if isinstance(self.gamma, str) and self.gamma == "auto":
            parts = 2.0 * table.mass if self.dispersion == "mean" else n_clusters
            gamma = table.total_scatter / (parts * table.n_varying)
            bound = copied(self)
            bound.gamma = gamma
            return bound
        return self

    def update(self, dispersion: FloatArray, context: WeightContext) -> FloatArray:
        """Return the weights that minimize the criterion for fixed labels and centers."""
        # dividing D by the mass is the same as multiplying gamma by it
        mass = context.mass[..., None] if self.dispersion == "mean" else 1.0
        return entropy(dispersion, np.multiply(self.gamma, mass), context.table)

    def offsets(self, weights: Weights) -> FloatArray:
        r"""Return :math:`\gamma \sum_v w_{kv} \log w_{kv}` for mean dispersions, else zero."""
        if self.dispersion == "sum":
            return super().offsets(weights)
        return self._entropy_term(weights)

    def objective(
        self, weighted_dispersion: FloatArray, weights: Weights, context: WeightContext
    ) -> FloatArray:
        """Add the entropy term of every cluster, unless the offsets already contain it."""
        if self.dispersion == "mean":
            return weighted_dispersion
        total: FloatArray = weighted_dispersion + self._entropy_term(weights).sum(axis=-1)
        return total

    def _entropy_term(self, weights: Weights) -> FloatArray:
        gamma = np.asarray(self.gamma, dtype=np.float64)
        term: FloatArray = (gamma[..., 0] if gamma.ndim else gamma) * sum_x_log_x(weights.values)
        return term
