"""The adjusted Rand index of many partitions with one, at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fwkmeans.typing import FloatArray


def adjusted_rand(labels: NDArray[Any], classes: NDArray[Any]) -> FloatArray:
    """Return the adjusted Rand index of each row of labels with the classes: (R,).

    The formula, and so every digit, is that of `sklearn.metrics.adjusted_rand_score`.
    """
    _, numbers = np.unique(classes, return_inverse=True)
    n_rows, n_classes, n_clusters = numbers.size, int(numbers.max()) + 1, int(labels.max()) + 1
    cells = n_clusters * n_classes
    together = np.empty((len(labels), cells), dtype=np.int64)
    for first in range(0, len(labels), 256):  # a few, so that they stay in the cache
        some = labels[first : first + 256].astype(np.int64)
        at = (np.arange(len(some))[:, None] * n_clusters + some) * n_classes + numbers
        counts = np.bincount(at.ravel(), minlength=len(some) * cells)
        together[first : first + 256] = counts.reshape(len(some), cells)
    table = together.reshape(-1, n_clusters, n_classes)
    squares = (table**2).sum(axis=(1, 2))
    both = (squares - n_rows).astype(object)  # Python's integers: products of pairs are large
    of_classes = (table.sum(axis=1) ** 2).sum(axis=1) - squares
    of_clusters = (table.sum(axis=2) ** 2).sum(axis=1) - squares
    neither = (n_rows**2 - of_classes - of_clusters - squares).astype(object)
    fp, fn = of_clusters.astype(object), of_classes.astype(object)
    above = 2.0 * (both * neither - fn * fp)
    below = (both + fn) * (fn + neither) + (both + fp) * (fp + neither)
    same = (fp == 0) & (fn == 0)
    return np.where(same, 1.0, above / np.where(same, 1, below)).astype(np.float64)
