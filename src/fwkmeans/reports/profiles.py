"""What the rows of each cluster look like, in the units of the table, beside all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fwkmeans.reports.table import Column
from fwkmeans.typing import FloatArray, IntArray, LabelArray

#: Categories of a column that a profile names.
MOST_CATEGORIES = 6


def column_profiles(
    column: Column, labels: LabelArray, n_clusters: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the profile of one column over the whole table, and in each cluster."""
    if column.numbers is not None:
        return _numeric_profiles(column.numbers, labels, n_clusters)
    return _categorical_profiles(column, labels, n_clusters)


# ---- numbers ------------------------------------------------------------------------------------


def _numeric_profiles(
    numbers: FloatArray, labels: LabelArray, n_clusters: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    whole = _describe(numbers)
    mean, spread = mean_and_spread(numbers)
    parts = split_by(numbers, labels, n_clusters)
    profiles = []
    for part in parts:
        profile = _describe(part)
        own = profile["mean"]
        known = own is not None and mean is not None and spread > 0
        profile["difference"] = (own - mean) / spread if known else None
        profiles.append({**profile, "whole": whole})
    return whole, profiles


def split_by(numbers: FloatArray, labels: LabelArray, n_clusters: int) -> list[FloatArray]:
    """Return the numbers of each cluster."""
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=n_clusters))[:-1]
    return np.split(numbers[order], ends)


def _describe(numbers: FloatArray) -> dict[str, Any]:
    present = numbers[~np.isnan(numbers)]
    n_missing = int(numbers.size - present.size)
    if not present.size:
        return dict.fromkeys(("mean", "median", "q25", "q75")) | {"n_missing": n_missing}
    q25, median, q75 = _quartiles(present)
    return {
        "mean": mean_and_spread(present)[0],
        "median": median,
        "q25": q25,
        "q75": q75,
        "n_missing": n_missing,
    }


def _quartiles(numbers: FloatArray) -> list[float]:
    """Return the quartiles; NumPy's function takes ten times as long on short columns."""
    ordered = np.sort(numbers)
    found = []
    for share in (0.25, 0.5, 0.75):
        below, part = divmod(share * (ordered.size - 1), 1.0)
        low, high = ordered[int(below)], ordered[min(int(below) + 1, ordered.size - 1)]
        step = high - low
        found.append(float(high - step * (1 - part) if part >= 0.5 else low + step * part))
    return found


def mean_and_spread(numbers: FloatArray) -> tuple[float | None, float]:
    """Return mean and standard deviation of the numbers present; None if there are none."""
    present = numbers[~np.isnan(numbers)]
    if not present.size:
        return None, 0.0
    low, high = float(present.min()), float(present.max())
    largest = max(-low, high)
    if largest == 0:
        return 0.0, 0.0
    scaled = present / largest  # so that no square overflows
    spread = float(scaled.std())
    constant = spread <= 1e-14 or low == high
    return float(scaled.mean()) * largest, 0.0 if constant else spread * largest


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
