"""Where the numbers and the categories of a table are kept.

Weights and dispersions have one entry per feature, in the order of the table. A center has one
entry per number and one per level: the numeric columns first, then for each categorical column the
frequencies of its categories, and a last level for categories never seen, whose frequency is zero.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class _Columns(NamedTuple):
    numeric: IntArray  # (Mn,) positions among the features
    categorical: IntArray  # (Mc,)
    offsets: IntArray  # (Mc + 1,) first level of each categorical column, and the number of levels


class Layout(_Columns):
    """Columns of a table by kind."""

    # computed once for each layout: fits of small tables would ask for them often

    @functools.cached_property
    def n_features(self) -> int:
        """Number of features of either kind."""
        return int(self.numeric.size + self.categorical.size)

    @property
    def n_numeric(self) -> int:
        """Number of numeric features."""
        return int(self.numeric.size)

    @property
    def n_levels(self) -> int:
        """Number of levels of all categorical columns, one unseen in each included."""
        return int(self.offsets[-1])

    @functools.cached_property
    def is_numeric(self) -> bool:
        """Whether there is no categorical column."""
        return self.categorical.size == 0

    def numbers_of(self, features: Any) -> Any:
        """Return the numeric entries of an array with one entry per feature."""
        return features if self.is_numeric else np.take(features, self.numeric, axis=-1)

    def categories_of(self, features: Any) -> Any:
        """Return the categorical entries of an array with one entry per feature."""
        return np.take(features, self.categorical, axis=-1)

    def features(self, numbers: FloatArray, categories: FloatArray) -> FloatArray:
        """Return one entry per feature, from those of numbers and those of categories."""
        if self.is_numeric:
            return numbers
        shape = (*np.broadcast_shapes(numbers.shape[:-1], categories.shape[:-1]), self.n_features)
        both = np.empty(shape, dtype=np.float64)
        both[..., self.numeric] = numbers
        both[..., self.categorical] = categories
        return both

    def points(self, centers: FloatArray) -> FloatArray:
        """Return the numeric part of centers."""
        return centers if self.is_numeric else np.ascontiguousarray(centers[..., : self.n_numeric])

    def frequencies(self, centers: FloatArray) -> FloatArray:
        """Return the levels' part of centers."""
        return centers[..., self.numeric.size :]

    def centers(self, points: FloatArray, frequencies: FloatArray) -> FloatArray:
        """Return centers from their two parts."""
        if self.is_numeric:
            return points
        return np.concatenate([points, frequencies], axis=-1)

    def of_centers(self, features: FloatArray) -> FloatArray:
        """Return one entry per entry of a center; levels get that of their feature."""
        if self.is_numeric:
            return features
        levels = self.levels(self.categories_of(features))
        return np.concatenate([self.numbers_of(features), levels], axis=-1)

    def levels(self, categorical: Any) -> Any:
        """Return one entry per level from one per categorical column."""
        return np.repeat(categorical, np.diff(self.offsets), axis=-1)

    def sums(self, levels: FloatArray) -> FloatArray:
        """Sum over the levels of each categorical column."""
        if self.is_numeric:
            return levels
        return np.asarray(np.add.reduceat(levels, self.offsets[:-1], axis=-1))


@functools.lru_cache(maxsize=64)
def numeric_layout(n_features: int) -> Layout:
    """Return the layout of a table of numbers only."""
    return Layout(
        np.arange(n_features, dtype=np.int64),
        np.empty(0, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )
