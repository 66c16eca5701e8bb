"""Results as a plain table."""

from __future__ import annotations

import csv
from pathlib import Path

from fwkmeans.survey.store import Store

_COLUMNS = (
    "data_set",
    "content",
    "number",
    "noise",
    "n_clusters",
    "algorithm",
    "settings",
    "parameter",
    "value",
    "starts",
    "seed",
    "random_state",
    "mean",
    "std",
    "max",
    "converged",
    "short",
)


def export_cells(store: Store, path: str | Path) -> int:
    """Write a line for every cell, as CSV; return their number."""
    cells = store.cells()
    with Path(path).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows([getattr(cell, name) for name in _COLUMNS] for cell in cells)
    return len(cells)
