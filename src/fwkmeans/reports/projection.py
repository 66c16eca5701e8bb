"""A map of the rows: principal components of the weighted columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
#: Categories of a column that get an indicator.
MOST_CATEGORIES = 50


def project(
    rows: Any,
    categorical: IntArray,
    weights: FloatArray,
    labels: LabelArray,
    names: Sequence[str],
    random_state: np.random.RandomState,
) -> dict[str, Any]:
    """Return the map of the rows, of which large tables show some.

    `rows` is the table as the algorithm sees it, `weights` the mean effective weight of each of its
    columns, `names` the name of the original column that each stands for.
    """
    chosen = _choose(labels, random_state)
    values, owners = _weighted(rows, categorical, weights, chosen)
    values -= values.mean(axis=0)
    axes, explained = principal_axes(values)
    shown = _choose_points(labels[chosen], random_state)
    places = values[shown] @ axes
    largest = np.abs(places).max(initial=0.0)
    places = places / largest if largest > 0 else places
    return {
        "x": [round(float(x), 4) for x in places[:, 0]],
        "y": [round(float(y), 4) for y in places[:, 1]],
        "labels": [int(label) for label in labels[chosen][shown]],
        "explained": [float(share) for share in explained],
        "axes": _describe_axes(axes, owners, names, explained),
        "n_shown": int(shown.size),
        "n_rows": int(labels.size),
        "note": (
            f"{count(int(shown.size), 'row')} of {labels.size:,} are shown, drawn at random (of "
            "small clusters more)."
            if shown.size < labels.size
            else "Every row is shown."
        ),
    }


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
