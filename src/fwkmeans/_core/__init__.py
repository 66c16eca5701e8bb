"""The only code that reads a row: compiled kernels, and their array-API twin.

`kernels_for` picks: compiled for NumPy float32 and float64 rows where the extension was built, the
twin for everything else. Both offer the same functions with the same meaning.
"""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import numpy as np

from fwkmeans._core import twin

compiled: ModuleType | None
try:
    from fwkmeans._core import compiled
except ImportError as error:  # pragma: no cover - exercised in a subprocess by the tests
    compiled = None
    _reason = str(error)

__all__ = ["OPERATIONS", "compiled", "kernels_for", "twin"]

#: What the kernels of dense rows can do. A kind of block may lack some.
OPERATIONS = frozenset(
    {
        "assign",
        "assign_and_accumulate",
        "cross_products",
        "describe",
        "distances",
        "find_farthest",
        "observed_cells",
        "powers",
        "roots",
        "slopes",
        "take_rows",
    }
)

_warned = False


def kernels_for(rows: Any) -> ModuleType:
    """Return the module of kernels that serves these rows."""
    global _warned
    if type(rows) is not np.ndarray or rows.dtype not in (np.float64, np.float32):
        return twin
    if compiled is None and not _warned:
        _warned = True
        warnings.warn(
            f"The compiled core of fwkmeans is not available ({_reason}); the slower array-API "
            "version is used. Reinstall fwkmeans where a C++ compiler is at hand.",
            RuntimeWarning,
            stacklevel=2,
        )
    return twin if compiled is None else compiled
