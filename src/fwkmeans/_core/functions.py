"""Functions of small arrays, with the bits of the compiled core.

NumPy has its own exp and log on some processors. Weight rules use these instead, so that the loop
in the core and the loop in Python give the same weights. The others are several steps of NumPy in
one call of the core, which counts in fits of small tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fwkmeans._core import compiled
from fwkmeans._core.twin import Moments, Summary
from fwkmeans._support.warn import silent_overflow
from fwkmeans.typing import FloatArray


def exp(values: Any) -> FloatArray:
    """Return the exponential of each number."""
    return _apply(compiled.exp, values)


def log(values: Any) -> FloatArray:
    """Return the natural logarithm of each number."""
    return _apply(compiled.log, values)


def _apply(function: Callable[..., None], values: Any) -> FloatArray:
    values = np.ascontiguousarray(values, dtype=np.float64)
    out = np.empty(values.shape)
    function(values, out)
    return out


def sum_x_log_x(values: FloatArray) -> FloatArray:
    """Return the sum of x log x over the last axis, with 0 log 0 = 0."""
    total: FloatArray = (values * log(np.where(values > 0, values, 1.0))).sum(axis=-1)
    return total


def largest_share(values: FloatArray) -> float:
    """Return the largest share that one number has of the sum of its row, for numbers >= 0."""
    share: float = compiled.largest_share(np.ascontiguousarray(values, dtype=np.float64))
    return share


def to_unit(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (R, K, M) values times a power of two for each start, and these powers.

    The largest value of a start is then in [1/2, 1). This loses no precision.
    """
    _, exponent = np.frexp(values.max(axis=(-2, -1)))
    unit = np.ldexp(1.0, np.minimum(-exponent, 1023))
    return values * unit[:, None, None], unit


def summarize(moments: Moments, reference: FloatArray, *, anyway: bool) -> Summary | FloatArray:
    """Return what moments about a reference tell about the features.

    If the squares cancel, because the reference is an outlier, return the mean alone unless the
    summary is wanted anyway. The arrays of a summary cannot be written: all of a fit shares them.
    """
    parts = (moments.sums, moments.squares, moments.minimum, moments.maximum, moments.observed)
    numbers, varying = np.empty((7, reference.size)), np.empty(reference.size, dtype=np.bool_)
    contiguous = map(np.ascontiguousarray, (*parts, reference))
    found = compiled.summarize(*contiguous, anyway, numbers, varying)
    numbers.flags.writeable = varying.flags.writeable = False
    return Summary._make((*numbers, varying, *found)) if found[0] >= 0 else numbers[0]


def copy_finite(values: FloatArray) -> FloatArray | None:
    """Return a copy of numbers in double precision, None if one is not finite."""
    with silent_overflow():
        copied = values.astype(np.float64)
    return copied if np.isfinite(copied).all() else None
