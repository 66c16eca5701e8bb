"""What the rows of each cluster look like, in the units of the table, beside the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fwkmeans.reports.table import Column
from fwkmeans.typing import FloatArray, LabelArray

#: Categories of a column that a profile names.
MOST_CATEGORIES = 6


def column_profiles(
    column: Column, labels: LabelArray, n_clusters: int, weights: FloatArray | None = None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the profile of one column over the whole table, and in each cluster."""
    if column.numbers is not None:
        return _numeric_profiles(column.numbers, labels, n_clusters, weights)
    return _categorical_profiles(column, labels, n_clusters, weights)


# ---- numbers ------------------------------------------------------------------------------------


def _numeric_profiles(
    numbers: FloatArray, labels: LabelArray, n_clusters: int, weights: FloatArray | None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    whole = _describe(numbers, weights)
    spread = mean_and_spread(numbers, weights)[1]
    parts = split_by(numbers, labels, n_clusters)
    heavy = [None] * n_clusters if weights is None else split_by(weights, labels, n_clusters)
    profiles = [_describe(part, own) for part, own in zip(parts, heavy, strict=True)]
    means = np.array([np.nan if one["mean"] is None else one["mean"] for one in profiles])
    masses = np.array(
        [
            float((np.ones(part.size) if own is None else own)[~np.isnan(part)].sum())
            for part, own in zip(parts, heavy, strict=True)
        ]
    )
    for k, profile in enumerate(profiles):
        others = _mean_of_others(means, masses, k)
        profile["others"] = others
        profile["difference"] = None
        if others is not None and profile["mean"] is not None and spread > 0:
            profile["difference"] = profile["mean"] / spread - others / spread
        profile["whole"] = whole
    return whole, profiles


def _mean_of_others(means: FloatArray, masses: FloatArray, k: int) -> float | None:
    """Return the mean of all rows outside a cluster, None if there are none."""
    others = masses > 0
    others[k] = False
    total = masses[others].sum()
    return float((masses[others] / total) @ means[others]) if total > 0 else None


def split_by(numbers: FloatArray, labels: LabelArray, n_clusters: int) -> list[FloatArray]:
    """Return the numbers of each cluster."""
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=n_clusters))[:-1]
    return np.split(numbers[order], ends)


def _describe(numbers: FloatArray, weights: FloatArray | None) -> dict[str, Any]:
    here = ~np.isnan(numbers)
    present = numbers[here]
    n_missing = int(numbers.size - present.size)
    if not present.size or (weights is not None and not weights[here].any()):
        return dict.fromkeys(("mean", "median", "q25", "q75")) | {"n_missing": n_missing}
    q25, median, q75 = _quartiles(present, None if weights is None else weights[here])
    return {
        "mean": mean_and_spread(numbers, weights)[0],
        "median": median,
        "q25": q25,
        "q75": q75,
        "n_missing": n_missing,
    }


def _quartiles(numbers: FloatArray, weights: FloatArray | None) -> list[float]:
    if weights is None:
        return _plain_quartiles(numbers)
    order = np.argsort(numbers, kind="stable")
    below = weights[order].cumsum()
    places = np.searchsorted(below, below[-1] * np.array([0.25, 0.5, 0.75]))
    return [float(value) for value in numbers[order][np.minimum(places, numbers.size - 1)]]


def _plain_quartiles(numbers: FloatArray) -> list[float]:
    """Return the quartiles; NumPy's function takes ten times as long on short columns."""
    ordered = np.sort(numbers)
    found = []
    for share in (0.25, 0.5, 0.75):
        below, part = divmod(share * (ordered.size - 1), 1.0)
        low, high = ordered[int(below)], ordered[min(int(below) + 1, ordered.size - 1)]
        step = high - low
        found.append(float(high - step * (1 - part) if part >= 0.5 else low + step * part))
    return found


def mean_and_spread(
    numbers: FloatArray, weights: FloatArray | None = None
) -> tuple[float | None, float]:
    """Return mean and standard deviation of the numbers present; None if there are none."""
    here = ~np.isnan(numbers)
    if weights is not None:
        here &= weights > 0
    present = numbers[here]
    if not present.size:
        return None, 0.0
    largest = float(np.abs(present).max())
    if largest == 0:
        return 0.0, 0.0
    scaled = present / largest  # so that no square overflows
    if weights is None:
        mean, spread = float(scaled.mean()), float(scaled.std())
    else:
        shares = weights[here] / weights[here].sum()
        mean = float(shares @ scaled)
        spread = float(np.sqrt(shares @ (scaled - mean) ** 2))
    constant = spread <= 1e-14 or scaled.min() == scaled.max()
    return mean * largest, 0.0 if constant else spread * largest


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
