"""The only code that computes on rows: compiled kernels, and their twin in array-API Python.

`kernels_for` chooses: the compiled kernels for NumPy rows in float32 and float64, and the twin for
other dense rows. Both offer the same functions; sparse rows have kernels of their own, which offer
those that do not need every cell.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from fwkmeans._core import compiled, sparse, twin

__all__ = ["OPERATIONS", "compiled", "kernels_for", "sparse", "twin"]

#: The operations that the kernels of dense rows offer. Other kinds of block may offer fewer.
OPERATIONS = frozenset(
    {
        "assign",
        "assign_and_accumulate",
        "alternate",
        "bounds",
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

_TYPES = (np.dtype(np.float64), np.dtype(np.float32))  # of rows that the compiled kernels take


def kernels_for(rows: Any) -> ModuleType:
    """Return the module with the kernels for these rows."""
    if type(rows) is np.ndarray and rows.dtype in _TYPES:
        return compiled  # the usual case
    own: ModuleType | None = getattr(rows, "kernels", None)  # rows on a device bring theirs
    if own is not None:
        return own
    is_sparse = isinstance(rows, sparse.SparseRows)
    if not is_sparse and (not isinstance(rows, np.ndarray) or rows.dtype not in _TYPES):
        return twin
    if is_sparse:
        return sparse
    return compiled
