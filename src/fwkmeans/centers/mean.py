"""The mean as center."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from fwkmeans._support.copies import copied, of_starts
from fwkmeans.centers.categories import category_centers, check_categories
from fwkmeans.typing import (
    Assignment,
    BoolArray,
    Description,
    Dissimilarity,
    FloatArray,
    IntArray,
    Source,
    Statistics,
)


class MeanCenter(BaseEstimator):
    r"""The weighted mean of the rows of a cluster, which minimizes squared Euclidean distances.

    .. math:: c_{kv} = \frac{1}{n_k} \sum_{i \in S_k} s_i y_{iv}, \qquad n_k = \sum_{i \in S_k} s_i

    A cluster without rows keeps its center. Missing cells are left out of both sums.

    Parameters
    ----------
    categories : {"mode", "frequencies"}, default="mode"
        The center of categorical features: the most frequent category, or the frequencies.
    """

    p: Any = 2.0  # exponent of the dissimilarity that it minimizes
    is_mean = True  # the description of the table already has it
    in_core = True  # the loop in the core knows it; a class that derives from this must say so
    operations: tuple[str, ...] = ()  # operations that it needs from the kernels
    table: Description  # set by bind

    def __init__(self, categories: str = "mode") -> None:
        self.categories = categories

    def bind(self, table: Description) -> Self:
        """Return the rule for this table."""
        check_categories(self.categories)
        bound = copied(self)
        bound.table = table
        return bound

    def minimizes(self, dissimilarity: Dissimilarity) -> bool:
        """Tell whether no other center has a lower dispersion."""
        if not np.all(self.p == getattr(dissimilarity, "p", None)):
            return False
        if self.table.layout.is_numeric:
            return True
        kind = getattr(dissimilarity, "categories", None)
        return (self.categories, kind) in (("mode", "matching"), ("frequencies", "squared"))

    def take(self, starts: IntArray | BoolArray) -> Self:
        """Return the rule for only these starts of the batch."""
        return of_starts(self, starts)

    @property
    def unique(self) -> BoolArray:
        """Whether only one center has the lowest dispersion: of each start, or of all."""
        by_mode = self.categories == "mode" and not self.table.layout.is_numeric
        p = np.ravel(self.p)
        return (p > 1) & (p < np.inf) & (not by_mode)

    def update(self, statistics: Statistics, assignment: Assignment, source: Source) -> FloatArray:
        """Return the centers that minimize the dispersion for fixed labels."""
        layout = self.table.layout
        points: FloatArray
        points = self._points(statistics, layout.points(assignment.centers), source)
        if layout.is_numeric:
            return points
        before = layout.frequencies(assignment.centers)
        return layout.centers(
            points, category_centers(self.categories, statistics.counts, before, layout)
        )

    def _points(self, statistics: Statistics, before: FloatArray, source: Source) -> FloatArray:
        """Return the centers of the numeric features."""
        mass = statistics.observed
        mean = statistics.reference + statistics.sums / np.where(mass > 0, mass, 1.0)
        points: FloatArray = np.where(mass > 0, mean, before)
        return points
