"""Values as JSON can hold them."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

_PLAIN = (str, int, bool, type(None))


def jsonable(value: Any) -> Any:
    """Return the value with plain numbers, None for NaN and infinity, and text for the rest."""
    if type(value) in _PLAIN:  # most are
        return value
    if isinstance(value, Mapping):
        return {str(key): jsonable(one) for key, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [jsonable(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int | str):
        return value
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)
