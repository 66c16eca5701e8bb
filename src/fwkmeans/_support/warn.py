"""Warnings that point at the line of the user, however deep in the package they are raised."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import sklearn

_INSIDE = tuple(str(Path(file).parent) for file in (Path(__file__).parent, sklearn.__file__))


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn as from the first caller outside this package and scikit-learn."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_INSIDE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
