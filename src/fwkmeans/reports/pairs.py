"""Which columns separate each pair of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from fwkmeans._support.separation import Apart, Masses, between
from fwkmeans._support.text import percent, rounded, shortened
from fwkmeans.reports.distinctions import Distinctions
from fwkmeans.reports.table import Column
from fwkmeans.typing import FloatArray, IntArray

#: Columns named for a pair.
MOST_COLUMNS = 4
#: Pairs beyond which each cluster is compared only with the few that are nearest to it.
MOST_PAIRS = 200
NEIGHBORS = 3
#: Columns that tell fewer rows apart are not named.
LEAST_SHARE = 0.05


def separating_columns(
    columns: Sequence[Column], found: Distinctions, sizes: IntArray
) -> list[dict[str, Any]]:
    """Return the columns that tell the clusters of each pair apart, best first."""
    centers = [_centers(masses) for masses in found.masses]
    pairs = _chosen_pairs(centers, sizes)
    if not pairs:
        return []
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    apart = [between(masses, first, second) for masses in found.masses]
    shares = np.stack([one.share for one in apart], axis=1)
    told = []
    for at, (a, b) in enumerate(pairs):
        best = np.argsort(-shares[at], kind="stable")[:MOST_COLUMNS]
        told.append(
            {
                "a": a,
                "b": b,
                "features": [
                    [
                        columns[v].name,
                        float(shares[at, v]),
                        _words(columns[v], apart[v], at, centers[v][a], centers[v][b]),
                    ]
                    for v in best
                    if shares[at, v] >= LEAST_SHARE
                ],
            }
        )
    return told


def _centers(masses: Masses) -> FloatArray:
    """Return the mean of each cluster (K, 1), or the shares of its categories; NaN if empty."""
    total = masses.mass.sum(axis=0)
    shares = masses.mass / np.where(total > 0, total, np.nan)
    if masses.values is None:
        return np.asarray(shares.T)
    largest = float(np.abs(masses.values).max(initial=0.0)) or 1.0
    return np.asarray((masses.values / largest) @ shares * largest)[:, None]


def _words(column: Column, apart: Apart, at: int, own: FloatArray, other: FloatArray) -> str:
    if column.is_numeric:
        if apart.by_range[at] and not np.isnan(apart.low[at]):
            low, high = float(apart.low[at]), float(apart.high[at])
            ends = " to ".join(dict.fromkeys(rounded(end, high - low) for end in (low, high)))
            return f"{ends}: {percent(apart.inside[at])} against {percent(apart.inside_other[at])}"
        scale = abs(float(own[0] - other[0]))
        return f"mean {rounded(own[0], scale)} against {rounded(other[0], scale)}"
    category = int(np.nan_to_num(np.abs(own - other)).argmax())
    name = shortened(column.categories[category], 40)
    return f"“{name}” {percent(own[category])} against {percent(other[category])}"


def _chosen_pairs(centers: Sequence[FloatArray], sizes: IntArray) -> list[tuple[int, int]]:
    """Return all pairs of clusters that have rows, or those of near neighbors if there are many."""
    used = [k for k, size in enumerate(sizes) if size > 0]
    every = list(combinations(used, 2))
    if len(every) <= MOST_PAIRS:
        return every
    distance = np.zeros((len(sizes), len(sizes)))
    for column in centers:
        apart = np.abs(column[:, None] - column).sum(axis=-1)
        largest = np.nanmax(apart, initial=0.0)
        distance += np.nan_to_num(apart / largest) if largest > 0 else 0.0
    chosen = set()
    for k in used:
        others = sorted((one for one in used if one != k), key=lambda one: (distance[k, one], one))
        chosen |= {(min(k, one), max(k, one)) for one in others[:NEIGHBORS]}
    return sorted(chosen)
