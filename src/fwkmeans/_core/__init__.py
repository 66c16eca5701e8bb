"""The only code that computes on rows: compiled kernels, and their twin in array-API Python.

`kernels_for` chooses: the compiled kernels for NumPy rows in float32 and float64, if the extension
was built, and the twin for other dense rows. Both offer the same functions; sparse rows have
kernels of their own, which offer those that do not need every cell.
"""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import numpy as np

from fwkmeans._core import sparse, twin

compiled: ModuleType | None
try:
    from fwkmeans._core import compiled
except ImportError as error:  # pragma: no cover - exercised in a subprocess by the tests
    compiled = None
    _reason = str(error)

__all__ = ["OPERATIONS", "compiled", "kernels_for", "sparse", "twin"]

#: The operations that the kernels of dense rows offer. Other kinds of block may offer fewer.
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
) | ({"alternate", "bounds"} if compiled is not None else set())

_TYPES = (np.dtype(np.float64), np.dtype(np.float32))  # of rows that the compiled kernels take
_warned = False


def kernels_for(rows: Any) -> ModuleType:
    """Return the module with the kernels for these rows."""
    global _warned
    if type(rows) is np.ndarray and compiled is not None and rows.dtype in _TYPES:
        return compiled  # the usual case
    own: ModuleType | None = getattr(rows, "kernels", None)  # rows on a device bring theirs
    if own is not None:
        return own
    is_sparse = isinstance(rows, sparse.SparseRows)
    if not is_sparse and (not isinstance(rows, np.ndarray) or rows.dtype not in _TYPES):
        return twin
    if compiled is None and not _warned:
        _warned = True
        warnings.warn(
            f"The compiled core of fwkmeans is not available ({_reason}); the slower array-API "
            "version is used. Reinstall fwkmeans where a C++ compiler is available.",
            RuntimeWarning,
            stacklevel=2,
        )
    if is_sparse:
        return sparse
    return twin if compiled is None else compiled
