"""The mean as center."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from fwkmeans._typing import Assignment, FloatArray, Source, Statistics


class MeanCenter(BaseEstimator):
    r"""The weighted mean of a cluster's rows, the minimiser under squared Euclid.

    .. math:: c_{kv} = \frac{1}{n_k} \sum_{i \in S_k} s_i y_{iv}, \qquad n_k = \sum_{i \in S_k} s_i

    A cluster without rows keeps its center.
    """

    needs = ("mass", "sums")

    def update(self, statistics: Statistics, assignment: Assignment, source: Source) -> FloatArray:
        """Return the centers that minimise the dispersion for fixed labels."""
        mass = statistics.mass[..., None]
        mean = statistics.reference + statistics.sums / np.where(mass > 0, mass, 1.0)
        return np.where(mass > 0, mean, assignment.centers)
