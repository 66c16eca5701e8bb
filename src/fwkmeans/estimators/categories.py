"""Frequencies and modes of categories in the clusters of a fitted model, by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from fwkmeans._tabular.coding import Coding
from fwkmeans.estimators.model import Model
from fwkmeans.typing import FloatArray, Source


def describe_categories(
    estimator: Model, source: Source, counts: FloatArray | None = None
) -> tuple[dict[Any, dict[Any, FloatArray]], dict[Any, list[Any]]]:
    """Return the frequency of each category in each cluster, and the modes, by column.

    If the centers are modes, the categories are counted, unless `counts` are given: (K, levels).
    """
    coding: Coding | None = estimator._coding
    if coding is None:
        return {}, {}
    centers = estimator._frequencies
    frequencies = _counted(estimator, source, counts) if _are_modes(estimator) else centers
    names = estimator._columns
    by_name, modes = {}, {}
    for v, categories, first in zip(
        coding.categorical, coding.categories, coding.offsets[:-1], strict=True
    ):
        own = slice(first, first + len(categories))
        keys = categories
        if len(set(categories)) < len(categories):  # such as 1 and True, which are one key
            keys = tuple(map(repr, categories))
        by_name[names[v]] = dict(zip(keys, frequencies[:, own].T, strict=True))
        modes[names[v]] = [keys[mode] for mode in centers[:, own].argmax(axis=1)]
    return by_name, modes


def _are_modes(estimator: Model) -> bool:
    """Tell whether the centers are modes, without frequencies."""
    return bool(getattr(estimator._parts.center, "categories", "mode") == "mode")


def _counted(estimator: Model, source: Source, counts: FloatArray | None) -> FloatArray:
    """Return the frequencies of the categories in the cluster of each row: (K, levels)."""
    if counts is None:
        counting = estimator._parts.dissimilarity.accumulation(estimator._assignment())
        counts = source.reduce(counting).counts[0]
    layout = estimator._table.layout
    totals = layout.levels(layout.sums(counts))
    return np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), 0.0)
