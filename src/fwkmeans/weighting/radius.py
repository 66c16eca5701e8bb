"""Weights inversely proportional to the half-range: power weights for p = infinity."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fwkmeans.typing import FloatArray, WeightContext
from fwkmeans.weighting.base import WeightRule
from fwkmeans.weighting.power import GUARD, SMOOTHING
from fwkmeans.weighting.simplex import share


class RadiusWeights(WeightRule):
    r"""One weight per cluster and feature, inversely proportional to the half-range.

    .. math:: w_{kv} = \frac{1/r_{kv}}{\sum_u 1/r_{ku}}, \qquad
              r_{kv} = \max_{i \in S_k} |y_{iv} - c_{kv}|

    minimizes :math:`\max_v w_{kv} r_{kv}`, to which the p-th root of :math:`\sum_v w_{kv}^p D_{kv}`
    tends for large p. With a constant added to the dispersions the limit is equal weights.

    Parameters
    ----------
    smoothing : {"frozen", "refresh", "inside"} or float, default=0.0
        The constant; any value but 0 makes the weights equal.
    guard : float, default=0.0
        A constant in units of the mean scatter; any value but 0 makes the weights equal.
    """

    uses_scatter = False
    memoryless = True  # not monotone: the largest distance may stay the same before it falls

    _constraints: ClassVar = {"smoothing": SMOOTHING, "guard": GUARD}

    def __init__(self, smoothing: Any = 0.0, guard: Any = 0.0) -> None:
        self.smoothing = smoothing
        self.guard = guard

    def update(self, dispersion: FloatArray, context: WeightContext) -> FloatArray:
        """Return the weights that minimize the largest weighted radius."""
        table = context.table
        equal = np.broadcast_to(share(table.varying), dispersion.shape)
        if isinstance(self.smoothing, str):
            return equal
        constant = np.add(self.smoothing, self.guard)
        if np.all(constant > 0):
            return equal
        zero = table.varying & (dispersion <= 0)
        radius = np.where(table.varying & ~zero, dispersion, np.inf)
        inverse = 1.0 / radius
        total = inverse.sum(axis=-1, keepdims=True)
        weights = inverse / np.where(total > 0, total, 1.0)
        some = zero.any(axis=-1, keepdims=True)
        weights = np.where(some, share(zero | ~some), weights)
        return np.where(constant > 0, equal, weights)
