"""Squared Euclidean dissimilarity of rows that have unit length in some spaces."""

from __future__ import annotations

import numpy as np

from fwkmeans.dissimilarities.minkowski import SquaredEuclidean
from fwkmeans.typing import FloatArray, Statistics


class UnitSquaredEuclidean(SquaredEuclidean):
    r"""Weighted squared Euclidean dissimilarity with spherical spaces.

    .. math:: d(y_i, c_k) = \sum_{v \notin \text{spaces}} w_v (y_{iv} - c_{kv})^2
              + \sum_l 2 w_l (1 - y_{il}^\top c_{kl})

    Rows and centers have unit length in each spherical space l, so
    :math:`\|y - c\|^2 = 2 (1 - y^\top c)` there. The cells of a row without a direction are missing
    and add nothing. Centers are not means, so the formula of the dispersion holds for any point.
    """

    def _about(self, points: FloatArray, statistics: Statistics) -> tuple[FloatArray, FloatArray]:
        """Return the dispersions about any points, and the size of the terms that cancel.

        S and Q are sums relative to r, so :math:`D = Q - 2 (c - r) S + n (c - r)^2` for any c.
        """
        step = points - statistics.reference
        along, moved = 2.0 * step * statistics.sums, step**2 * statistics.observed
        return statistics.squares - along + moved, np.abs(along) + moved
