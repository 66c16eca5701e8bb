"""Checks that more than one part makes."""

from __future__ import annotations

from numbers import Real
from typing import Any


def check_power(p: Any) -> None:
    """Raise unless p is at least 1."""
    if not isinstance(p, Real) or isinstance(p, bool):
        raise TypeError(f"p={p!r} is not a number; expected p >= 1, or float('inf').")
    if not float(p) >= 1:
        raise ValueError(
            f"p={p!r}: expected a number >= 1, or float('inf'). Below 1 a center is not the place "
            "where a sum of powers is lowest."
        )
