"""Warnings that point at the line of the user, however deep in the package they are raised."""

from __future__ import annotations

import sys
import warnings
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any

import numpy as np

_INSIDE = ("fwkmeans", "sklearn", "joblib")


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn as from the first caller outside this package and scikit-learn."""
    frame = caller_outside()
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        str(frame.f_globals.get("__name__", "__main__")),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )


def caller_outside() -> FrameType:
    """Return the innermost frame that is neither ours nor scikit-learn's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _package(frame) in _INSIDE:
        frame = frame.f_back
    return frame


def silent_overflow() -> AbstractContextManager[Any]:
    """Let NumPy say nothing of numbers that overflow, which are refused in words later.

    Nor of those that underflow: they are zero, whatever the caller has NumPy say of its own.
    """
    return np.errstate(over="ignore", under="ignore", invalid="ignore")


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
