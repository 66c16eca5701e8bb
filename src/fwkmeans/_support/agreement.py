"""How far partitions of the same rows agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def adjusted_rand_score(classes: Any, labels: Any) -> float:
    """Return the adjusted Rand index of two partitions of the same rows.

    It is `sklearn.metrics.adjusted_rand_score` to the last bit, without its checks and without
    the import, which takes longer than most fits.
    """
    _, first = np.unique(classes, return_inverse=True)
    _, second = np.unique(labels, return_inverse=True)
    first, second = first.reshape(-1), second.reshape(-1)
    _, together = np.unique(first * (second.max(initial=0) + 1) + second, return_counts=True)
    squares = [
        np.array([(counts.astype(np.int64) ** 2).sum()])
        for counts in (together, np.bincount(first), np.bincount(second))
    ]
    return float(_index(first.size, *squares)[0])


def adjusted_rand(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the adjusted Rand index of each row of labels with the classes: (R,)."""
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
    of_classes, of_clusters = table.sum(axis=1), table.sum(axis=2)
    return _index(
        n_rows, (table**2).sum(axis=(1, 2)), (of_classes**2).sum(axis=1), (of_clusters**2).sum(1)
    )


def _index(
    n_rows: int, squares: NDArray[Any], of_classes: NDArray[Any], of_clusters: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the index from sums of squared counts: of rows in both, in a class, in a cluster.

    The operations, and so every digit, are those of scikit-learn.
    """
    both = (squares - n_rows).astype(object)  # Python's integers: products of pairs are large
    fn, fp = (of_classes - squares).astype(object), (of_clusters - squares).astype(object)
    neither = (n_rows**2 - of_classes - of_clusters + squares).astype(object)
    above = 2.0 * (both * neither - fn * fp)
    below = (both + fn) * (fn + neither) + (both + fp) * (fp + neither)
    same = (fp == 0) & (fn == 0)
    return np.where(same, 1.0, above / np.where(same, 1, below)).astype(np.float64)


def mean_agreement(partitions: Sequence[Any]) -> NDArray[np.float64]:
    """Return the mean adjusted Rand index of each partition with all the others.

    The partition with the highest value is the central one.

    Parameters
    ----------
    partitions : sequence of array-like of shape (n_samples,)
        The labels of the same rows in each partition.

    Returns
    -------
    ndarray of shape (n_partitions,)
        At most 1; more is better. NaN if there is only one partition.

    Examples
    --------
    >>> from fwkmeans.selection import mean_agreement
    >>> mean_agreement([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]])
    array([ 0.25,  0.25, -0.5 ])
    """
    n = len(partitions)
    pairs = np.zeros((n, n))
    for a in range(n):
        for b in range(a):
            pairs[a, b] = pairs[b, a] = adjusted_rand_score(partitions[a], partitions[b])
    return pairs.sum(axis=1) / (n - 1) if n > 1 else np.full(n, np.nan)
