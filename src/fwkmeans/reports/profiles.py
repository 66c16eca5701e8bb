"""What the rows of each cluster look like, in the units of the table, beside all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fwkmeans.reports.table import Column
from fwkmeans.typing import FloatArray, IntArray, LabelArray

#: Categories of a column that a profile names.
MOST_CATEGORIES = 6


#: Numbers that are looked at together: columns of few rows cost more one by one.
_CELLS = 2**20


def column_profiles(
    columns: Sequence[Column], labels: LabelArray, n_clusters: int
) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return the profile of each column over the whole table, and in each cluster."""
    numeric = iter(_numeric_profiles(columns, labels, n_clusters))
    return [
        next(numeric) if column.is_numeric else _categorical_profiles(column, labels, n_clusters)
        for column in columns
    ]


# ---- numbers ------------------------------------------------------------------------------------


def _numeric_profiles(
    columns: Sequence[Column], labels: LabelArray, n_clusters: int
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield the profiles of the columns that hold numbers."""
    members = [np.flatnonzero(labels == k) for k in range(n_clusters)]
    for numbers in _numeric_blocks(columns):
        wholes, spreads = _describe(numbers), means_and_spreads(numbers)[1].tolist()
        parts = [_describe(np.take(numbers, own, axis=1)) for own in members]
        for whole, spread, *own in zip(wholes, spreads, *parts, strict=True):
            for profile in own:
                known = profile["mean"] is not None and spread > 0
                away = (profile["mean"] - whole["mean"]) / spread if known else None
                profile |= {"difference": away, "whole": whole}
            yield whole, own


def _numeric_blocks(columns: Sequence[Column]) -> Iterator[FloatArray]:
    """Yield the columns that hold numbers as the rows of arrays, some at a time."""
    numbers = [column.numbers for column in columns if column.numbers is not None]
    step = max(1, _CELLS // max(1, numbers[0].size)) if numbers else 1
    for first in range(0, len(numbers), step):
        yield np.stack(numbers[first : first + step])


def _describe(numbers: FloatArray) -> list[dict[str, Any]]:
    """Return mean, quartiles and the number of missing cells of each row of an array."""
    n_missing = np.isnan(numbers).sum(axis=1)
    quartiles = np.full((3, len(numbers)), np.nan)
    complete = n_missing == 0
    if numbers.shape[1] and complete.any():
        whole = numbers if complete.all() else numbers[complete]
        quartiles[:, complete] = np.quantile(whole, _QUARTILES, axis=1)
    for v in np.flatnonzero(~complete & (n_missing < numbers.shape[1])):
        quartiles[:, v] = np.quantile(numbers[v, ~np.isnan(numbers[v])], _QUARTILES)
    values = np.stack([means_and_spreads(numbers)[0], *quartiles])
    known = [[None if x != x else x for x in one] for one in values.tolist()]
    return [
        dict(zip(("mean", "median", "q25", "q75", "n_missing"), one, strict=True))
        for one in zip(*known, n_missing.tolist(), strict=True)
    ]


_QUARTILES = [0.5, 0.25, 0.75]


def means_by_cluster(
    columns: Sequence[Column], labels: LabelArray, n_clusters: int
) -> tuple[FloatArray, FloatArray]:
    """Return means (K, V) and standard deviations (V,) of the V columns that hold numbers."""
    members = [np.flatnonzero(labels == k) for k in range(n_clusters)]
    means, spreads = [np.empty((n_clusters, 0))], [np.empty(0)]
    for numbers in _numeric_blocks(columns):
        parts = (np.take(numbers, own, axis=1) for own in members)
        means.append(np.stack([means_and_spreads(part)[0] for part in parts]))
        spreads.append(means_and_spreads(numbers)[1])
    return np.concatenate(means, axis=1), np.concatenate(spreads)


def means_and_spreads(numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of the numbers present in each row of an array.

    The mean is NaN where there are none.
    """
    means, spreads = np.full(len(numbers), np.nan), np.zeros(len(numbers))
    incomplete = np.isnan(numbers).any(axis=1)
    for v in np.flatnonzero(incomplete):
        present = numbers[v, ~np.isnan(numbers[v])]
        means[v : v + 1], spreads[v : v + 1] = means_and_spreads(present[None])
    if numbers.shape[1] == 0 or incomplete.all():
        return means, spreads
    whole = numbers[~incomplete] if incomplete.any() else numbers
    largest = np.abs(whole).max(axis=1)
    scaled = whole / np.where(largest > 0, largest, 1.0)[:, None]  # so that no square overflows
    spread = scaled.std(axis=1)
    constant = (spread <= 1e-14) | (scaled.min(axis=1) == scaled.max(axis=1))
    means[~incomplete] = scaled.mean(axis=1) * largest
    spreads[~incomplete] = np.where(constant, 0.0, spread) * largest
    return means, spreads


# ---- categories ---------------------------------------------------------------------------------


def shares_of(column: Column, labels: LabelArray, n_clusters: int) -> tuple[FloatArray, IntArray]:
    """Return shares of the categories in each cluster, and the number of cells present there."""
    assert column.codes is not None
    n_categories = len(column.categories)
    present = column.codes >= 0
    cells = labels[present].astype(np.int64) * n_categories + column.codes[present]
    counts = np.bincount(cells, minlength=n_clusters * n_categories)
    counts = counts.reshape(n_clusters, n_categories).astype(np.float64)
    totals = counts.sum(axis=1)
    return counts / np.maximum(totals, 1.0)[:, None], totals.astype(np.int64)


def _categorical_profiles(
    column: Column, labels: LabelArray, n_clusters: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    shares, present = shares_of(column, labels, n_clusters)
    everything, total = shares_of(column, np.zeros_like(labels), 1)
    whole = _mode(column.categories, everything[0])
    whole["n_categories"] = len(column.categories)
    whole["n_missing"] = int(labels.size - total[0])
    sizes = np.bincount(labels, minlength=n_clusters)
    profiles = []
    for k in range(n_clusters):
        known = present[k] > 0
        names = _shown(column.categories, shares[k], everything[0])
        profiles.append(
            {
                **_mode(column.categories, shares[k] if known else shares[k][:0]),
                "categories": [
                    [
                        column.categories[c],
                        float(shares[k, c]) if known else None,
                        float(everything[0, c]),
                    ]
                    for c in names
                ],
                "n_missing": int(sizes[k] - present[k]),
                "difference": float(np.abs(shares[k] - everything[0]).sum() / 2) if known else None,
                "whole": whole,
            }
        )
    return whole, profiles


def _mode(categories: Sequence[str], shares: FloatArray) -> dict[str, Any]:
    if not shares.size:
        return {"mode": None, "mode_share": None}
    at = int(shares.argmax())
    return {"mode": categories[at], "mode_share": float(shares[at])}


def _shown(categories: Sequence[str], own: FloatArray, whole: FloatArray) -> list[int]:
    """Return the categories worth naming: the most common here, and in the table, in this order."""
    if not len(categories):
        return []
    here = np.argsort(-own, kind="stable")[: MOST_CATEGORIES - 2]
    there = np.argsort(-whole, kind="stable")[:MOST_CATEGORIES]
    chosen = list(dict.fromkeys([*here.tolist(), *there.tolist()]))[:MOST_CATEGORIES]
    return sorted(chosen, key=lambda c: (-own[c], -whole[c], categories[c]))
