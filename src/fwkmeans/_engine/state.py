"""From centers and weights to what a pass over the rows needs."""

from __future__ import annotations

import numpy as np

from fwkmeans.typing import Assignment, FloatArray, WeightRuleProtocol, Weights


def assignment_of(rule: WeightRuleProtocol, centers: FloatArray, weights: Weights) -> Assignment:
    """Return what decides the labels.

    The largest effective weight of each start is brought to [1/2, 1) by a power of two, which costs
    no digit and keeps float32 from underflow.
    """
    values, scale = rule.effective(weights)
    _, exponent = np.frexp(values.max(axis=(-2, -1)))
    scale = np.ldexp(scale, exponent)
    offsets = rule.offsets(weights) / scale[:, None]
    return Assignment(centers, np.ldexp(values, -exponent[:, None, None]), offsets, scale)
