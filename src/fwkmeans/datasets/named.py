"""The survey's tables by name: the real ones and the Gaussian clusters alike."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from fwkmeans.datasets.gaussians import SURVEY_CONFIGURATIONS, make_survey_gaussians
from fwkmeans.datasets.uci import list_uci, load_uci


class NamedTable(NamedTuple):
    """Rows, their known classes, and how many clusters to look for."""

    rows: NDArray[Any]  # numbers, or objects: numbers and text
    classes: NDArray[Any]
    n_clusters: int
    feature_names: tuple[str, ...]


def table_names() -> list[str]:
    """Return the names of the tables: UCI's, then the Gaussian clusters."""
    return [*list_uci(), *SURVEY_CONFIGURATIONS]


def load_named(name: str, random_state: int) -> NamedTable:
    """Return a table; Gaussian clusters are drawn with the random state."""
    if name in SURVEY_CONFIGURATIONS:
        size = SURVEY_CONFIGURATIONS[name]
        rows, classes = make_survey_gaussians(*size, random_state=random_state)
        return NamedTable(rows, classes, size[2], tuple(f"x{v + 1}" for v in range(size[1])))
    table = load_uci(name, as_frame=False)
    return NamedTable(table.data, table.target, table.n_clusters, tuple(table.feature_names))
