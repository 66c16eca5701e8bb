"""No weighting at all: the baseline."""

from __future__ import annotations

import numpy as np

from fwkmeans.typing import CoreRule, Effective, FloatArray, WeightContext, Weights
from fwkmeans.weighting.base import WeightRule


class UniformWeights(WeightRule):
    r"""Every feature counts the same: K-Means.

    .. math:: w_v = 1/M, \qquad W = \sum_k \sum_{i \in S_k} \sum_v (y_{iv} - c_{kv})^2

    The objective has no weights in it, so that it is the inertia of `sklearn.cluster.KMeans`.
    """

    uses_scatter = False
    shared = True
    monotone = True
    memoryless = True
    in_core = CoreRule(0, 0, True, True, True, True)

    def update(self, dispersion: FloatArray, context: WeightContext) -> FloatArray:
        """Return the weights unchanged."""
        return context.previous.values

    def effective(self, weights: Weights) -> Effective:
        """Return ones."""
        n_starts, _, n_features = weights.values.shape
        return Effective(np.ones((n_starts, 1, n_features)), np.ones(n_starts))
