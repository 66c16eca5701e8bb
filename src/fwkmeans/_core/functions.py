"""Elementary functions of arrays, with the bits of the compiled core where there is one.

NumPy has its own exp and log on some processors. Weight rules use these instead, so that the loop
in the core and the loop in Python give the same weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fwkmeans._core import compiled
from fwkmeans.typing import FloatArray


def exp(values: Any) -> FloatArray:
    """Return the exponential of each number."""
    return np.exp(values) if compiled is None else _apply(compiled.exp, values)


def log(values: Any) -> FloatArray:
    """Return the natural logarithm of each number."""
    return np.log(values) if compiled is None else _apply(compiled.log, values)


def _apply(function: Callable[..., None], values: Any) -> FloatArray:
    values = np.ascontiguousarray(values, dtype=np.float64)
    out = np.empty(values.shape)
    function(values, out)
    return out
