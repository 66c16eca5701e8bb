"""How far partitions of the same rows agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score


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
