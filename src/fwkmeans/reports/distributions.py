"""How the values of a column are spread in each cluster, for small pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from fwkmeans.reports.table import Column
from fwkmeans.typing import FloatArray, LabelArray

#: Bars of a histogram.
BINS = 16
#: Share of the numbers at each end that are gathered in the last bar.
FAR_OUT = 0.01


def histograms(
    column: Column, labels: LabelArray, n_clusters: int, weights: FloatArray | None
) -> dict[str, Any] | None:
    """Return the shares of the rows in each bar, of all rows and of each cluster.

    None for a column of categories, whose shares the profile lists, and for one that is constant.
    """
    if column.numbers is None or not column.varies:
        return None
    present = ~np.isnan(column.numbers)
    numbers, own = column.numbers[present], labels[present]
    values = np.unique(numbers)
    if values.size <= BINS:
        codes = np.searchsorted(values, numbers)
        low, high, n_bars = float(values[0]), float(values[-1]), int(values.size)
    else:
        low, high = (float(end) for end in np.quantile(numbers, [FAR_OUT, 1 - FAR_OUT]))
        if not low < high or not np.isfinite(high - low):
            low, high = float(values[0] / 2), float(values[-1] / 2)
            numbers = numbers / 2
        codes = np.clip((numbers - low) / (high - low) * BINS, 0, BINS - 1).astype(np.int64)
        n_bars = BINS
    kept = None if weights is None else weights[present]
    cells = np.bincount(own * n_bars + codes, kept, n_clusters * n_bars)
    counts: FloatArray = cells.reshape(n_clusters, n_bars).astype(np.float64)
    return {
        "low": low,
        "high": high,
        "whole": _shares(counts.sum(axis=0)),
        "clusters": [_shares(one) for one in counts],
    }


def _shares(counts: FloatArray) -> list[float]:
    total = counts.sum()
    return [round(float(one), 3) for one in counts / (total if total > 0 else 1.0)]
