"""Results as a plain table."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from fwkmeans._support.csv_text import write_rows
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
        values = ([getattr(cell, name) for name in _COLUMNS] for cell in cells)
        write_rows(chain([_COLUMNS], values), stream)
    return len(cells)
