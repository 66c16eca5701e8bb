"""A map of the rows: principal components of the weighted columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fwkmeans._support.text import count, joined, percent, shortened
from fwkmeans._tabular.columns import as_table, each_column, read_numbers
from fwkmeans._tabular.distinct import distinct_values
from fwkmeans.plotting.planes import principal_axes
from fwkmeans.reports.table import by_frequency
from fwkmeans.typing import FloatArray, IntArray, LabelArray

#: Rows that are shown, and rows that the components are computed from, at most.
MOST_POINTS = 2000
MOST_ROWS = 20_000
#: Rows of each cluster that are shown at least, if it has them.
LEAST_POINTS = 20
#: Share of different places below which rows are said to cover each other.
CROWDED = 0.7
#: Categories of a column that get an indicator.
MOST_CATEGORIES = 50


class Space(NamedTuple):
    """Rows as the algorithm compares them: columns times the root of their weight."""

    rows: IntArray  # which rows of the table; of large tables some
    values: FloatArray  # of mean zero
    owners: IntArray  # the feature that each column of `values` belongs to


def weighted_space(
    rows: Any,
    categorical: IntArray,
    weights: FloatArray,
    labels: LabelArray,
    random_state: np.random.RandomState,
) -> Space:
    """Return rows such that squared distances are weighted sums.

    `rows` is the table as the algorithm sees it, `weights` the mean effective weight of each of its
    columns.
    """
    chosen = _choose(labels, random_state)
    values, owners = _weighted(rows, categorical, weights, chosen)
    values -= values.mean(axis=0)
    return Space(chosen, values, owners)


def project(
    space: Space, labels: LabelArray, names: Sequence[str], random_state: np.random.RandomState
) -> dict[str, Any]:
    """Return the map of the rows, of which large tables show some.

    `names` has the name of the original column that each feature stands for.
    """
    chosen, values = space.rows, space.values
    axes, explained = principal_axes(values)
    shown = _choose_points(labels[chosen], random_state)
    places = values[shown] @ axes
    largest = np.abs(places).max(initial=0.0)
    places = places / largest if largest > 0 else places
    crowded = len(np.unique(places.round(3), axis=0)) < CROWDED * len(places)
    return {
        "rows": [int(row) for row in chosen[shown]],
        "x": [round(float(x), 4) for x in places[:, 0]],
        "y": [round(float(y), 4) for y in places[:, 1]],
        "labels": [int(label) for label in labels[chosen][shown]],
        "silhouette": silhouettes(values[shown], labels[chosen][shown]),
        "explained": [float(share) for share in explained],
        "axes": _describe_axes(axes, space.owners, names, explained),
        "n_shown": int(shown.size),
        "n_rows": int(labels.size),
        "note": (
            f"{count(int(shown.size), 'row')} of {labels.size:,} are shown, drawn at random (of "
            "small clusters more)."
            if shown.size < labels.size
            else "Every row is shown."
        )
        + (" Many rows are in the same place and cover each other." if crowded else ""),
    }


def silhouettes(values: FloatArray, labels: LabelArray) -> list[float | None]:
    """Return how much nearer each row is to its own cluster than to the next, from -1 to 1.

    With a the mean distance to the other rows of its cluster and b that to the nearest other
    cluster it is (b - a) / max(a, b), and 0 for a row that is alone. None if there is one cluster.
    """
    clusters, codes = np.unique(labels, return_inverse=True)
    if clusters.size < 2:
        return [None] * labels.size
    member = np.eye(clusters.size)[codes.reshape(-1)]
    sizes = member.sum(axis=0)
    sums = np.zeros((labels.size, clusters.size))
    squares = (values**2).sum(axis=1)
    for first in range(0, labels.size, 500):
        part = slice(first, first + 500)
        apart = squares[part, None] + squares - 2.0 * values[part] @ values.T
        sums[part] = np.sqrt(np.maximum(apart, 0.0)) @ member
    own_size = sizes[codes]
    at = np.arange(labels.size)
    own = sums[at, codes] / np.maximum(own_size - 1.0, 1.0)
    means = sums / sizes
    means[at, codes] = np.inf
    other = means.min(axis=1)
    largest = np.maximum(own, other)
    found = np.where(largest > 0, (other - own) / np.where(largest > 0, largest, 1.0), 0.0)
    return [round(float(value), 3) for value in np.where(own_size > 1, found, 0.0)]


def typical_rows(space: Space, labels: LabelArray, n_clusters: int, most: int) -> list[list[int]]:
    """Return the rows of each cluster that are nearest to its mean, nearest first."""
    found: list[list[int]] = []
    labels = labels[space.rows]
    for k in range(n_clusters):
        own = np.flatnonzero(labels == k)
        values = space.values[own]
        apart = ((values - values.mean(axis=0)) ** 2).sum(axis=1) if own.size else np.zeros(0)
        nearest = np.argsort(apart, kind="stable")[:most]
        found.append([int(space.rows[own[at]]) for at in nearest])
    return found


def _choose(labels: LabelArray, random_state: np.random.RandomState) -> IntArray:
    if labels.size <= MOST_ROWS:
        return np.arange(labels.size)
    drawn = random_state.choice(labels.size, MOST_ROWS, replace=False)
    rare = [np.flatnonzero(labels == k)[:LEAST_POINTS] for k in np.unique(labels)]
    return np.unique(np.concatenate([drawn, *rare]))


def _choose_points(labels: LabelArray, random_state: np.random.RandomState) -> IntArray:
    if labels.size <= MOST_POINTS:
        return np.arange(labels.size)
    rare = [np.flatnonzero(labels == k)[:LEAST_POINTS] for k in np.unique(labels)]
    first = np.concatenate(rare)[:MOST_POINTS]
    others = np.setdiff1d(np.arange(labels.size), first)
    drawn = random_state.choice(others, MOST_POINTS - first.size, replace=False)
    return np.sort(np.concatenate([first, drawn]))


def _weighted(
    rows: Any, categorical: IntArray, weights: FloatArray, chosen: IntArray
) -> tuple[FloatArray, IntArray]:
    """Return columns times the root of their weight, and the feature that each belongs to."""
    table = as_table(rows)
    largest = weights.max(initial=0.0)
    roots = np.sqrt(weights / largest) if largest > 0 else np.ones_like(weights)
    blocks, owners = [np.zeros((chosen.size, 0))], []
    of_categories = set(categorical.tolist())
    columns = each_column(table, range(roots.size))
    for v, (root, (name, cells)) in enumerate(zip(roots, columns, strict=True)):
        if v in of_categories:
            places = distinct_values(cells, name)
            codes, categories = by_frequency(places._replace(codes=places.codes[chosen]))
            n_shown = min(len(categories), MOST_CATEGORIES)
            # two rows of different categories are then as far apart as the weight says
            block = (codes[:, None] == np.arange(n_shown)) * root / np.sqrt(2.0)
            block[codes < 0] = block[codes >= 0].mean(axis=0) if (codes >= 0).any() else 0.0
        else:
            column = read_numbers(cells, name)[chosen].astype(np.float64)[:, None]
            missing = np.isnan(column)
            column[missing] = column[~missing].mean() if (~missing).any() else 0.0
            block = (column - column.mean()) * root
        blocks.append(block)
        owners += [v] * block.shape[1]
    return np.concatenate(blocks, axis=1), np.array(owners, dtype=np.int64)


def _describe_axes(
    axes: FloatArray, owners: IntArray, names: Sequence[str], explained: FloatArray
) -> str:
    """Return which columns each axis is made of."""
    unique = list(dict.fromkeys(names))
    place_of = {name: at for at, name in enumerate(unique)}
    position = np.array([place_of[names[v]] for v in owners], dtype=np.int64)
    sentences = []
    for at, (direction, axis) in enumerate(zip(("right", "top"), axes.T, strict=True)):
        if explained[at] <= 0:
            continue
        parts = np.bincount(position, axis**2, len(unique))
        heavy = [int(v) for v in np.argsort(-parts, kind="stable")[:3] if parts[v] >= 0.1]
        made_of = (
            joined([shortened(unique[v]) for v in heavy]) if heavy else "many columns a little"
        )
        sentences.append(
            f"Towards the {direction}: mostly {made_of} ({percent(float(explained[at]))} of the "
            "weighted variance)."
        )
    return " ".join(sentences) or "All rows are in one place: no column with weight varies."
