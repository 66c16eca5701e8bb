"""Turn centers and weights into what a pass over the rows needs."""

from __future__ import annotations

import numpy as np

from fwkmeans.typing import Assignment, FloatArray, WeightRuleProtocol, Weights


def assignment_of(rule: WeightRuleProtocol, centers: FloatArray, weights: Weights) -> Assignment:
    """Return what determines the labels.

    The effective weights of each start are scaled by a power of two, so that the largest is in
    [1/2, 1). This loses no precision and keeps float32 from underflow.
    """
    values, scale = rule.effective(weights)
    _, exponent = np.frexp(values.max(axis=(-2, -1)))
    scale = np.ldexp(scale, exponent)
    offsets = rule.offsets(weights) / scale[:, None]
    return Assignment(centers, np.ldexp(values, -exponent[:, None, None]), offsets, scale)
