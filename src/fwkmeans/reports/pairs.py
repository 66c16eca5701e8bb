"""Which columns separate each pair of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from fwkmeans._support.text import number, percent, shortened
from fwkmeans.reports.profiles import means_by_cluster, shares_of
from fwkmeans.reports.table import Column
from fwkmeans.typing import FloatArray, IntArray, LabelArray

#: Columns named for a pair.
MOST_COLUMNS = 4
#: Pairs beyond which each cluster is compared only with the few that are nearest to it.
MOST_PAIRS = 200
NEIGHBORS = 3
#: Differences below this (in standard deviations, times relative weight) separate nothing.
LEAST_STRENGTH = 0.05


class _Contrast(NamedTuple):
    """What a column says about all pairs of clusters."""

    strength: FloatArray  # (K, K), not weighted
    means: FloatArray | None  # (K,)
    shares: FloatArray | None  # (K, categories)


def separating_columns(
    columns: Sequence[Column], shares: FloatArray, labels: LabelArray, sizes: IntArray
) -> list[dict[str, Any]]:
    """Return the columns that separate each pair of clusters, strongest first.

    For numbers the strength is the difference of the means in standard deviations of the whole
    table. For categories it is twice the total variation of their shares, which is the same thing
    for a column that splits the table in two halves. Both are multiplied by the column's weight in
    the two clusters, relative to the largest weight there.
    """
    n_clusters = len(sizes)
    means, spreads = means_by_cluster(columns, labels, n_clusters)
    of_numbers = zip(means.T, spreads, strict=True)
    contrasts = [
        _contrast_of_numbers(*next(of_numbers))
        if column.is_numeric
        else _contrast_of_categories(column, labels, n_clusters)
        for column in columns
    ]
    strengths = np.stack([c.strength for c in contrasts]) if contrasts else np.zeros((0, 1, 1))
    pair_weights = (shares[:, None, :] + shares[None, :, :]) / 2  # (K, K, V)
    largest = pair_weights.max(axis=-1, keepdims=True)
    relative = pair_weights / np.where(largest > 0, largest, 1.0)
    strengths = strengths.transpose(1, 2, 0) * relative
    return [
        {
            "a": a,
            "b": b,
            "features": [
                [columns[v].name, float(strengths[a, b, v]), _words(columns[v], contrasts[v], a, b)]
                for v in np.argsort(-strengths[a, b], kind="stable")[:MOST_COLUMNS]
                if strengths[a, b, v] >= LEAST_STRENGTH
            ],
        }
        for a, b in _chosen_pairs(strengths.sum(axis=-1), sizes)
    ]


def _contrast_of_numbers(means: FloatArray, spread: float) -> _Contrast:
    distance = np.zeros((means.size, means.size))
    if spread > 0:
        distance = np.abs(means[:, None] / spread - means / spread)
        distance[np.isnan(distance)] = 0.0
    return _Contrast(distance, means, None)


def _contrast_of_categories(column: Column, labels: LabelArray, n_clusters: int) -> _Contrast:
    shares, present = shares_of(column, labels, n_clusters)
    shares[present == 0] = np.nan
    distance = np.stack([np.abs(shares - own).sum(axis=1) for own in shares])
    distance[np.isnan(distance)] = 0.0
    return _Contrast(distance, None, shares)


def _words(column: Column, contrast: _Contrast, a: int, b: int) -> str:
    if contrast.means is not None:
        return f"mean {number(contrast.means[a])} against {number(contrast.means[b])}"
    assert contrast.shares is not None
    at = int(np.nan_to_num(np.abs(contrast.shares[a] - contrast.shares[b])).argmax())
    own, other = percent(contrast.shares[a, at]), percent(contrast.shares[b, at])
    return f"“{shortened(column.categories[at], 40)}” {own} against {other}"


def _chosen_pairs(distance: FloatArray, sizes: IntArray) -> list[tuple[int, int]]:
    """Return all pairs of clusters that have rows, or those of near neighbors if there are many."""
    used = [k for k, size in enumerate(sizes) if size > 0]
    every = list(combinations(used, 2))
    if len(every) <= MOST_PAIRS:
        return every
    chosen = set()
    for k in used:
        others = sorted((one for one in used if one != k), key=lambda one: (distance[k, one], one))
        chosen |= {(min(k, one), max(k, one)) for one in others[:NEIGHBORS]}
    return sorted(chosen)
