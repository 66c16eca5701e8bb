"""Scores from the labels of several partitions: agreement, known labels, ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.utils.validation import check_consistent_length, column_or_1d

from fwkmeans._support.agreement import adjusted_rand_score
from fwkmeans._tabular.columns import is_missing
from fwkmeans.typing import BoolArray, FloatArray


def known_labels_score(y: Any, labels: Any) -> float:
    """Return the adjusted Rand index with the classes of the few rows where they are known.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The class of each row; -1 or a missing value (NaN, None) if it is not known.
    labels : array-like of shape (n_samples,)
        The cluster of each row.

    Returns
    -------
    float
        At most 1; more is better.

    Examples
    --------
    >>> from fwkmeans.selection import known_labels_score
    >>> known_labels_score([0, -1, -1, 0, 1, 1, -1], [2, 2, 1, 2, 0, 0, 1])
    1.0
    """
    y, labels = column_or_1d(y), column_or_1d(labels)
    check_consistent_length(y, labels)
    known = is_known(y)
    return float(adjusted_rand_score(y[known], labels[known]))


def is_known(y: Any) -> BoolArray:
    """Tell in which rows the class is known; raise if there are too few."""
    known = ~is_missing(y)
    written: dict[str, list[Any]] = {"U": ["-1"], "S": [b"-1"], "O": [-1, "-1"]}
    for unknown in written.get(y.dtype.kind, [-1]):
        known[known] = y[known] != unknown
    if known.sum() < 2:
        raise ValueError(
            f"The class is known in {known.sum()} rows of y, expected at least 2. Give the class "
            "of some rows, and -1 for all others."
        )
    return known


def mean_ranks(scores: Any) -> FloatArray:
    """Return the mean rank of each candidate over several scores.

    Parameters
    ----------
    scores : array-like of shape (n_scores, n_candidates)
        More is better. Candidates that are tied share the mean of their ranks.

    Returns
    -------
    ndarray of shape (n_candidates,)
        At least 1; less is better. NaN for a candidate that lacks a score; it has no influence on
        the ranks of the others.

    Examples
    --------
    >>> from fwkmeans.selection import mean_ranks
    >>> mean_ranks([[0.5, 0.7, 0.1], [20.0, 10.0, 5.0]])
    array([1.5, 1.5, 3. ])
    """
    scores = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    complete = ~np.isnan(scores).any(axis=0)
    ranks = np.full(scores.shape[1], np.nan)
    if complete.any():
        ranks[complete] = rankdata(-scores[:, complete], axis=1).mean(axis=0)
    return ranks
