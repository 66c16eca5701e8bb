"""The survey's own figures, as data."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

#: The eight characteristics as the survey prints them, in the order of `Traits`.
PUBLISHED_TRAITS = {
    "SYNCLUS": (True, False, False, True, False, False, False, False),
    "CK-Means": (True, False, True, False, False, False, False, False),
    "AWK": (False, False, False, True, False, True, True, False),
    "WK-Means": (False, False, False, True, False, True, True, False),
    "EW-KM": (False, False, False, True, False, True, False, False),
    "IK-P": (False, False, False, False, False, True, True, False),
    "iMWK-Means": (False, True, True, True, False, True, False, False),
    "FWSA": (True, False, False, False, False, True, False, False),
    "FG-K-Means": (False, False, False, True, False, True, True, True),
}


class Published(NamedTuple):
    """One cell of the survey's tables; None where nothing is printed."""

    mean: float | None
    std: float | None
    max: float | None
    max_std: float | None
    parameter: float | None
    parameter_std: float | None


@cache
def published() -> dict[tuple[str, bool, str], Published]:
    """Return the survey's figures by table, whether it has noise features, and algorithm."""
    text = files("fwkmeans.survey").joinpath("data/published.csv").read_text("utf-8")
    figures = {}
    for row in csv.DictReader(text.splitlines()):
        numbers = (
            float(row[name]) if row[name] else None
            for name in (
                "mean_ari",
                "mean_ari_std",
                "max_ari",
                "max_ari_std",
                "parameter",
                "parameter_std",
            )
        )
        figures[row["data_set"], row["noise"] == "1", row["algorithm"]] = Published(*numbers)
    return figures


def published_tables() -> list[str]:
    """Return the names of the tables, in the survey's order."""
    return list(dict.fromkeys(table for table, _, _ in published()))
