"""The center of spherical K-Means: the direction of the sum."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from fwkmeans.centers.mean import MeanCenter
from fwkmeans.exceptions import InvalidParameterError
from fwkmeans.typing import Description, Dissimilarity, FloatArray, Source, Statistics


class DirectionCenter(MeanCenter):
    r"""The direction of the sum of a cluster's rows, for rows of unit length.

    .. math:: c_k = \frac{\sum_{i \in S_k} s_i y_i}{\big\|\sum_{i \in S_k} s_i y_i\big\|}

    This minimizes :math:`\sum_i s_i \|y_i - c\|^2 = 2 \sum_i s_i (1 - y_i^\top c)` over unit
    vectors c, in each space separately. A cluster without rows, or whose rows cancel, keeps its
    center.

    Parameters
    ----------
    spaces : array of shape (n_features,), default=None
        Number of the space of each numeric feature; those below 0 have the mean as center.
        None means one space with all features.
    """

    is_mean = False
    categories = "mode"

    def __init__(self, spaces: Any = None) -> None:
        self.spaces = spaces

    def bind(self, table: Description) -> Self:
        """Return the rule for this table."""
        n_numeric = table.layout.n_numeric
        spaces = np.zeros(n_numeric, np.int64) if self.spaces is None else np.asarray(self.spaces)
        if spaces.shape != (n_numeric,) or spaces.dtype.kind not in "iu":
            raise InvalidParameterError(
                f"spaces has shape {spaces.shape} and type {spaces.dtype}; expected one integer "
                f"for each of {n_numeric} numeric features."
            )
        return super().bind(table)

    def minimizes(self, dissimilarity: Dissimilarity) -> bool:
        """Tell whether no other center of unit length has a lower dispersion."""
        return super().minimizes(dissimilarity) and self.table.layout.is_numeric

    def _points(self, statistics: Statistics, before: FloatArray, source: Source) -> FloatArray:
        centers = super()._points(statistics, before, source)
        mass = np.broadcast_to(statistics.observed, before.shape)
        totals = statistics.sums + mass * statistics.reference
        spaces = np.zeros(before.shape[-1]) if self.spaces is None else np.asarray(self.spaces)
        for number in np.unique(spaces[spaces >= 0]):  # numbers may be huge: do not count up
            columns = np.flatnonzero(spaces == number)
            total = np.take(totals, columns, axis=-1)
            length = np.sqrt((total * total).sum(axis=-1, keepdims=True))
            known = length > 1e-12 * np.take(mass, columns[:1], axis=-1)
            direction = total / np.where(known, length, 1.0)
            kept = np.take(before, columns, axis=-1)
            moved = known & (np.abs(direction - kept) > 1e-15).any(axis=-1, keepdims=True)
            centers[..., columns] = np.where(moved, direction, kept)
        return centers
