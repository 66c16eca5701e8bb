"""The center of a categorical feature: its most frequent category, or all frequencies."""

from __future__ import annotations

import numpy as np

from fwkmeans._tabular.layout import Layout
from fwkmeans.typing import FloatArray

CATEGORIES = ("mode", "frequencies")


def check_categories(categories: str) -> None:
    """Raise unless this names a center of categories."""
    if categories not in CATEGORIES:
        expected = " or ".join(map(repr, CATEGORIES))
        raise ValueError(f"categories={categories!r}: expected {expected}.")


def category_centers(
    categories: str, counts: FloatArray, before: FloatArray, layout: Layout
) -> FloatArray:
    """Return the frequencies at the center of each cluster: (R, K, levels).

    With "mode" the most frequent category (the first on ties) has 1 and the others have 0. If no
    cell is observed, the center stays the same.
    """
    totals = layout.sums(counts)
    known = layout.levels(totals > 0)
    if categories == "frequencies":
        centers = counts / np.where(known, layout.levels(totals), 1.0)
    else:
        centers = np.zeros(counts.shape)
        for first, last in zip(layout.offsets[:-1], layout.offsets[1:], strict=True):
            mode = counts[..., first:last].argmax(axis=-1)
            np.put_along_axis(centers, first + mode[..., None], 1.0, axis=-1)
    return np.where(known, centers, before)
