"""Weights that do not change: the inner problem of CK-Means."""

from __future__ import annotations

from fwkmeans.typing import CoreRule, FloatArray, WeightContext
from fwkmeans.weighting.base import WeightRule


class FixedWeights(WeightRule):
    r"""The initial weights never change: convex K-Means [1]_ with one choice of weights.

    .. math:: W = \sum_k \sum_{i \in S_k} \sum_v w_v (y_{iv} - c_{kv})^2

    Pass the weights as `weight_init`. Equal weights give K-Means, with an objective divided by the
    number of features.

    References
    ----------
    .. [1] Modha & Spangler (2003). Feature weighting in k-means clustering. Machine Learning 52(3).
       doi:10.1023/A:1024016609528
    """

    uses_scatter = False
    shared = True
    monotone = True
    in_core = CoreRule(0, 0, True, True, False, False)

    def update(self, dispersion: FloatArray, context: WeightContext) -> FloatArray:
        """Return the weights unchanged."""
        return context.previous.values
