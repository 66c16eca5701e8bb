"""Indices that judge a partition by the rows alone, where scikit-learn has none."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from fwkmeans._support.checks import check_power
from fwkmeans.typing import FloatArray, IntArray

_PAIRS = 1 << 22  # pairs of rows whose distances are computed together


def minkowski_silhouette(
    X: Any, labels: Any, *, p: float = 2.0, max_rows: int = 2000, random_state: Any = 0
) -> float:
    r"""Return the mean silhouette of the rows, with Minkowski distances.

    The silhouette of a row is :math:`(b - a) / \max(a, b)`, where a is the mean distance to the
    other rows of its cluster and b the lowest mean distance to the rows of another cluster [1]_.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    labels : array-like of shape (n_samples,)
        The cluster of each row.
    p : float, default=2.0
        Exponent of the distance, from 1 (Manhattan) to infinity; 2 is the Euclidean distance.
    max_rows : int, default=2000
        If there are more rows, so many are drawn, the same for all partitions of a table.
    random_state : int or RandomState, default=0
        What the draw depends on.

    Returns
    -------
    float
        Between -1 and 1; more is better.

    References
    ----------
    .. [1] Rousseeuw (1987). Silhouettes: a graphical aid to the interpretation and validation of
       cluster analysis. Journal of Computational and Applied Mathematics 20.
       doi:10.1016/0377-0427(87)90125-7

    Examples
    --------
    >>> from fwkmeans.selection import minkowski_silhouette
    >>> round(minkowski_silhouette([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1], p=1), 3)
    0.9
    """
    X, labels = _checked(X, labels)
    rows = draw_rows(len(X), max_rows, random_state)
    return silhouette_of(distances(X[rows], p), labels, rows)


def dunn_index(X: Any, labels: Any) -> float:
    r"""Return the Dunn index: the gap between clusters relative to the widest cluster [1]_.

    .. math:: \frac{\min_{i, j\ \mathrm{apart}} \|y_i - y_j\|}
                   {\max_{i, j\ \mathrm{together}} \|y_i - y_j\|}

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    labels : array-like of shape (n_samples,)
        The cluster of each row.

    Returns
    -------
    float
        More is better. Infinite if the rows of each cluster are equal, NaN if even so two clusters
        touch.

    Notes
    -----
    All pairs of rows are compared, so the time grows with the square of their number. One outlier
    can change the index at will.

    References
    ----------
    .. [1] Dunn (1974). Well-separated clusters and optimal fuzzy partitions. Journal of
       Cybernetics 4(1). doi:10.1080/01969727408546059

    Examples
    --------
    >>> from fwkmeans.selection import dunn_index
    >>> round(dunn_index([[0.0], [0.1], [1.0], [1.2]], [0, 0, 1, 1]), 3)
    4.5
    """
    X, labels = _checked(X, labels)

    apart, widest = np.inf, 0.0
    for some in gen_batches(len(X), max(1, _PAIRS // len(X))):
        distance = cdist(X[some], X)
        together = labels[some, None] == labels
        apart = min(apart, distance[~together].min(initial=np.inf))
        widest = max(widest, distance[together].max())
    return _ratio(apart, widest)


def xie_beni_index(X: Any, labels: Any) -> float:
    r"""Return the Xie-Beni index: scatter within clusters relative to the nearest centers [1]_.

    .. math:: \frac{\sum_k \sum_{i \in S_k} \|y_i - c_k\|^2}{N \min_{k \ne l} \|c_k - c_l\|^2}

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    labels : array-like of shape (n_samples,)
        The cluster of each row.

    Returns
    -------
    float
        Less is better. Infinite if two clusters have the same mean, NaN if their rows are equal
        too.

    References
    ----------
    .. [1] Xie & Beni (1991). A validity measure for fuzzy clustering. IEEE TPAMI 13(8).
       doi:10.1109/34.85677

    Examples
    --------
    >>> from fwkmeans.selection import xie_beni_index
    >>> round(xie_beni_index([[0.0], [0.2], [1.0], [1.2]], [0, 0, 1, 1]), 4)
    0.01
    """
    X, labels = _checked(X, labels)
    means = _means(X, labels)
    scatter = ((X - means[labels]) ** 2).sum()
    between = cdist(means, means, "sqeuclidean")
    nearest = between[~np.eye(len(means), dtype=bool)].min()
    return _ratio(float(scatter), float(len(X) * nearest))


def hartigan_index(X: Any, labels: Any, finer: Any) -> float:
    r"""Return how much one more cluster lowers the scatter within clusters [1]_.

    .. math:: H_K = \Big(\frac{W_K}{W_{K+1}} - 1\Big) (N - K - 1)

    where :math:`W_K` is the sum of squared distances to the means of K clusters. A fall from
    :math:`H_{K-1}` to :math:`H_K` says that the K-th cluster was worth more than the next one; the
    largest fall marks the number of clusters [2]_.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    labels : array-like of shape (n_samples,)
        The cluster of each row, for K clusters; 1 is allowed.
    finer : array-like of shape (n_samples,)
        The same for K + 1 clusters.

    Returns
    -------
    float
        Infinite if K + 1 clusters leave no scatter, 0 if K clusters leave none either.

    References
    ----------
    .. [1] Hartigan (1975). Clustering algorithms. Wiley.
    .. [2] Milligan & Cooper (1985). An examination of procedures for determining the number of
       clusters in a data set. Psychometrika 50(2). doi:10.1007/BF02294245

    Examples
    --------
    >>> from fwkmeans.selection import hartigan_index
    >>> X = [[0.0], [0.2], [1.0], [1.2], [3.0]]
    >>> round(hartigan_index(X, [0, 0, 1, 1, 1], [0, 0, 1, 1, 2]), 2)
    120.33
    """
    n_clusters = len(np.unique(column_or_1d(labels)))
    return hartigan_number(
        within_scatter(X, labels), within_scatter(X, finer), len(column_or_1d(labels)), n_clusters
    )


def hartigan_number(scatter: float, finer: float, n_rows: int, n_clusters: int) -> float:
    """Return Hartigan's number from the scatters within K and K + 1 clusters."""
    gain = _ratio(scatter - finer, finer) if scatter != finer else 0.0
    return gain * (n_rows - n_clusters - 1)


def within_scatter(X: Any, labels: Any) -> float:
    """Return the sum of squared distances of the rows to the means of their clusters."""
    X, labels = _checked(X, labels, least=1)
    return float(((X - _means(X, labels)[labels]) ** 2).sum())


def draw_rows(n_rows: int, most: int, random_state: Any) -> IntArray:
    """Return all rows, or some drawn at random if there are too many."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.asarray(check_random_state(random_state).permutation(n_rows)[:most])


def distances(X: FloatArray, p: float) -> FloatArray:
    """Return the Minkowski distances of all pairs of rows.

    They are summed column by column. scikit-learn's Euclidean distances come from scalar products,
    and equal rows may then seem to differ.
    """
    check_power(p)
    names = {1.0: "cityblock", 2.0: "euclidean", np.inf: "chebyshev"}
    if float(p) in names:
        return np.asarray(cdist(X, X, names[float(p)]))
    return np.asarray(cdist(X, X, "minkowski", p=p))


def silhouette_of(distance: FloatArray, labels: IntArray, rows: IntArray) -> float:
    """Return the mean silhouette of some of the rows, for their distances and all labels."""
    from sklearn.metrics import silhouette_score

    check_not_trivial(labels)
    labels, n_all = labels[rows], len(labels)
    if len(rows) < n_all and len(np.unique(labels)) < 2:
        raise ValueError(
            f"all {len(rows)} rows that were drawn are in one cluster; set max_rows higher"
        )
    _checked(distance, labels)
    return float(silhouette_score(distance, labels, metric="precomputed"))


def check_not_trivial(labels: IntArray, least: int = 2) -> None:
    """Raise if there are too few clusters, or if each row is one."""
    n_found = len(np.unique(labels))
    if n_found < least:
        raise ValueError("all rows are in one cluster")
    if n_found >= len(labels):
        raise ValueError("each row is a cluster of its own")


def _checked(X: Any, labels: Any, least: int = 2) -> tuple[FloatArray, IntArray]:
    """Return the rows, and labels from 0 on without those of empty clusters."""
    X = check_array(X, dtype=np.float64, input_name="X")
    labels = column_or_1d(labels)
    check_consistent_length(X, labels)
    if least > 1:
        check_not_trivial(labels, least)
    return X, np.unique(labels, return_inverse=True)[1]


def _means(X: FloatArray, labels: IntArray) -> FloatArray:
    """Return the mean of each cluster, without rounding where all its values are equal."""
    means = np.empty((labels.max() + 1, X.shape[1]))
    for k, mean in enumerate(means):
        rows = X[labels == k]
        mean[:] = np.where((rows == rows[0]).all(axis=0), rows[0], rows.mean(axis=0))
    return means


def _ratio(above: float, below: float) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.divide(above, below))
