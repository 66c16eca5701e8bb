"""What the rows of each cluster look like, in the units of the table, beside the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fwkmeans.reports.table import Column
from fwkmeans.typing import FloatArray, LabelArray

#: Categories of a column that a profile names.
MOST_CATEGORIES = 6


#: Numbers that are looked at together: columns of few rows cost more one by one.
_CELLS = 2**20
_QUARTILES = [0.5, 0.25, 0.75]


def column_profiles(
    columns: Sequence[Column],
    labels: LabelArray,
    n_clusters: int,
    weights: FloatArray | None = None,
) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return the profile of each column over the whole table, and in each cluster."""
    numeric = iter(_numeric_profiles(columns, labels, n_clusters, weights))
    return [
        next(numeric)
        if column.is_numeric
        else _categorical_profiles(column, labels, n_clusters, weights)
        for column in columns
    ]


# ---- numbers ------------------------------------------------------------------------------------


def _numeric_profiles(
    columns: Sequence[Column], labels: LabelArray, n_clusters: int, weights: FloatArray | None
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield the profiles of the columns that hold numbers."""
    rows = [np.flatnonzero(labels == k) for k in range(n_clusters)]
    mass = np.ones(labels.size) if weights is None else weights
    for numbers in _numeric_blocks(columns):
        wholes = _describe(numbers, weights)
        for whole, values in zip(wholes, _two_values(numbers), strict=True):
            whole["two_values"] = values
        spreads = means_and_spreads(numbers, weights)[1].tolist()
        parts = [
            _describe(np.take(numbers, own, axis=1), None if weights is None else weights[own])
            for own in rows
        ]
        present = np.stack([~np.isnan(np.take(numbers, own, axis=1)) @ mass[own] for own in rows])
        others = _means_of_others(parts, present)
        for v, (whole, spread, *own) in enumerate(zip(wholes, spreads, *parts, strict=True)):
            for k, profile in enumerate(own):
                mean, other = profile["mean"], others[k][v]
                known = mean is not None and other is not None and spread > 0
                away = mean / spread - other / spread if known else None
                profile |= {"others": other, "difference": away, "whole": whole}
            yield whole, own


def _means_of_others(parts: Sequence[list[dict[str, Any]]], mass: FloatArray) -> list[list[Any]]:
    """Return for each cluster and column the mean of all rows outside, None if there are none."""
    means = np.array([[one["mean"] or 0.0 for one in part] for part in parts], dtype=np.float64)
    outside = 1.0 - np.eye(len(means))
    total = outside @ mass  # (K, V)
    found = np.full(means.shape, np.nan)
    for k in range(len(means)):
        shares = outside[k][:, None] * mass / np.where(total[k] > 0, total[k], 1.0)
        found[k] = np.where(total[k] > 0, (shares * means).sum(axis=0), np.nan)
    return [[None if x != x else x for x in one] for one in found.tolist()]


def _numeric_blocks(columns: Sequence[Column]) -> Iterator[FloatArray]:
    """Yield the columns that hold numbers as the rows of arrays, some at a time."""
    numbers = [column.numbers for column in columns if column.numbers is not None]
    step = max(1, _CELLS // max(1, numbers[0].size)) if numbers else 1
    for first in range(0, len(numbers), step):
        yield np.stack(numbers[first : first + step])


def _describe(numbers: FloatArray, weights: FloatArray | None) -> list[dict[str, Any]]:
    """Return mean, quartiles and the number of missing cells of each row of an array."""
    n_missing = np.isnan(numbers).sum(axis=1)
    quartiles = np.full((3, len(numbers)), np.nan)
    alone = n_missing < numbers.shape[1]
    if weights is None:
        complete = n_missing == 0
        alone &= ~complete
        if numbers.shape[1] and complete.any():
            whole = numbers if complete.all() else numbers[complete]
            quartiles[:, complete] = np.quantile(whole, _QUARTILES, axis=1)
    for v in np.flatnonzero(alone):
        here = ~np.isnan(numbers[v])
        kept = None if weights is None else weights[here]
        quartiles[:, v] = _quartiles(numbers[v, here], kept)
    values = np.stack([means_and_spreads(numbers, weights)[0], *quartiles])
    known = [[None if x != x else x for x in one] for one in values.tolist()]
    return [
        dict(zip(("mean", "median", "q25", "q75", "n_missing"), one, strict=True))
        for one in zip(*known, n_missing.tolist(), strict=True)
    ]


def _two_values(numbers: FloatArray) -> list[list[float] | None]:
    """Return the values of each row of an array if these are two, else None."""
    if not numbers.shape[1]:
        return [None] * len(numbers)
    with_others = np.where(np.isnan(numbers), np.inf, numbers)
    low = with_others.min(axis=1)
    high = np.where(np.isnan(numbers), -np.inf, numbers).max(axis=1)
    is_end = np.isnan(numbers) | (numbers == low[:, None]) | (numbers == high[:, None])
    return [
        [float(one), float(other)] if only and one < other else None
        for one, other, only in zip(low, high, is_end.all(axis=1), strict=True)
    ]


def _quartiles(numbers: FloatArray, weights: FloatArray | None) -> FloatArray:
    if weights is None:
        return np.quantile(numbers, _QUARTILES)
    order = np.argsort(numbers, kind="stable")
    below = weights[order].cumsum()
    if not below[-1] > 0:
        return np.full(3, np.nan)
    places = np.searchsorted(below, below[-1] * np.array(_QUARTILES))
    return np.asarray(numbers[order][np.minimum(places, numbers.size - 1)])


def means_and_spreads(
    numbers: FloatArray, weights: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of the numbers present in each row of an array.

    The mean is NaN where there are none.
    """
    if weights is not None and not weights.all():
        numbers, weights = numbers[:, weights > 0], weights[weights > 0]
    means, spreads = np.full(len(numbers), np.nan), np.zeros(len(numbers))
    incomplete = np.isnan(numbers).any(axis=1)
    for v in np.flatnonzero(incomplete):
        here = ~np.isnan(numbers[v])
        kept = None if weights is None else weights[here]
        means[v : v + 1], spreads[v : v + 1] = means_and_spreads(numbers[v, here][None], kept)
    if numbers.shape[1] == 0 or incomplete.all():
        return means, spreads
    whole = numbers[~incomplete] if incomplete.any() else numbers
    largest = np.abs(whole).max(axis=1)
    scaled = whole / np.where(largest > 0, largest, 1.0)[:, None]  # so that no square overflows
    if weights is None:
        mean, spread = scaled.mean(axis=1), scaled.std(axis=1)
    else:
        shares = weights / weights.sum()
        mean = scaled @ shares
        spread = np.sqrt((scaled - mean[:, None]) ** 2 @ shares)
    constant = (spread <= 1e-14) | (scaled.min(axis=1) == scaled.max(axis=1))
    means[~incomplete] = mean * largest
    spreads[~incomplete] = np.where(constant, 0.0, spread) * largest
    return means, spreads


# ---- categories ---------------------------------------------------------------------------------


def shares_of(
    column: Column, labels: LabelArray, n_clusters: int, weights: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return shares of the categories in each cluster, and the mass of the cells present there."""
    assert column.codes is not None
    n_categories = len(column.categories)
    present = column.codes >= 0
    cells = labels[present].astype(np.int64) * n_categories + column.codes[present]
    kept = None if weights is None else weights[present]
    counts = np.bincount(cells, kept, minlength=n_clusters * n_categories)
    counts = counts.reshape(n_clusters, n_categories).astype(np.float64)
    totals = counts.sum(axis=1)
    return counts / np.where(totals > 0, totals, 1.0)[:, None], totals


def _categorical_profiles(
    column: Column, labels: LabelArray, n_clusters: int, weights: FloatArray | None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    assert column.codes is not None
    shares, mass = shares_of(column, labels, n_clusters, weights)
    total = float(mass.sum())
    everything = (mass / total) @ shares if total > 0 else np.zeros(len(column.categories))
    missing = np.bincount(labels[column.codes < 0], minlength=n_clusters)
    whole = _mode(column.categories, everything)
    whole["n_categories"] = len(column.categories)
    whole["n_missing"] = int(missing.sum())
    profiles = []
    for k in range(n_clusters):
        known, has_others = mass[k] > 0, total - mass[k] > 1e-12 * total
        others = everything
        if has_others:
            others = np.maximum(everything * total - shares[k] * mass[k], 0.0) / (total - mass[k])
        names = _shown(column.categories, shares[k], others)
        profiles.append(
            {
                **_mode(column.categories, shares[k] if known else shares[k][:0]),
                "categories": [
                    [
                        column.categories[c],
                        float(shares[k, c]) if known else None,
                        float(others[c]) if has_others else None,
                    ]
                    for c in names
                ],
                "n_missing": int(missing[k]),
                "difference": (
                    float(np.abs(shares[k] - others).sum() / 2) if known and has_others else None
                ),
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
    """Return the categories worth naming: the most common here, and elsewhere, in this order."""
    if not len(categories):
        return []
    here = np.argsort(-own, kind="stable")[: MOST_CATEGORIES - 2]
    there = np.argsort(-whole, kind="stable")[:MOST_CATEGORIES]
    chosen = list(dict.fromkeys([*here.tolist(), *there.tolist()]))[:MOST_CATEGORIES]
    return sorted(chosen, key=lambda c: (-own[c], -whole[c], categories[c]))
