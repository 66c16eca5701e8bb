"""Squared Euclidean dissimilarity of rows that have unit length in some spaces."""

from __future__ import annotations

import numpy as np

from fwkmeans.dissimilarities.minkowski import SquaredEuclidean
from fwkmeans.typing import Assignment, BoolArray, Description, FloatArray, Source, Statistics


class UnitSquaredEuclidean(SquaredEuclidean):
    r"""Weighted squared Euclidean dissimilarity with spherical spaces.

    .. math:: d(y_i, c_k) = \sum_{v \notin \text{spaces}} w_v (y_{iv} - c_{kv})^2
              + \sum_l 2 w_l (1 - y_{il}^\top c_{kl})

    Rows and centers have unit length in each spherical space l, so
    :math:`\|y - c\|^2 = 2 (1 - y^\top c)` there. The cells of a row without a direction are missing
    and add nothing. Centers are not means, so the formula of the dispersion holds for any point.
    """

    def _squared(
        self, statistics: Statistics, assignment: Assignment, points: FloatArray, source: Source
    ) -> FloatArray:
        """Return dispersions about the centers from the sums.

        S and Q are sums relative to r, so :math:`D = Q - 2 (c - r) S + n (c - r)^2` for any c. If
        that cancels, the pass is repeated relative to the new centers.
        """
        dispersion, lost = _about(points, statistics, self.table)
        starts = np.flatnonzero(lost)
        if starts.size:
            again = source.reduce(self.accumulation(assignment.take(starts), points[starts]))
            dispersion[starts], _ = _about(points[starts], again, self.table)
        return dispersion


def _about(
    centers: FloatArray, statistics: Statistics, table: Description
) -> tuple[FloatArray, BoolArray]:
    """Return the dispersions about any centers, and the starts that lost precision."""
    step = centers - statistics.reference
    along, moved = 2.0 * step * statistics.sums, step**2 * statistics.observed
    dispersion = statistics.squares - along + moved
    terms = np.abs(along) + moved
    dispersion[dispersion <= 1e-14 * (statistics.squares + terms)] = 0.0  # only rounding
    lost = (terms > 1e5 * dispersion) & (
        (dispersion > 1e-13 * table.scatter) | (terms > 100.0 * table.scatter)
    )
    return dispersion, np.asarray((lost & (terms > 0)).any(axis=(-2, -1)))
