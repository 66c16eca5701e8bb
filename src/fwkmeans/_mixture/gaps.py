"""Clusters without a gap between them: pieces of one cloud, or of a curve."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from fwkmeans.typing import BoolArray, FloatArray, IntArray, LabelArray

#: Width of the normal kernel, in units of the smaller spread times its number of rows ^ -1/5.
WIDTH = 1.5
#: Standard errors by which rows must be fewer between two clusters than in the looser one.
ERRORS = 1.5
#: Share of the density at and below which there is a gap, however few the rows are.
LEAST = 0.1
#: Points on the line between two clusters, and how many spreads it goes on beyond them.
POINTS, BEYOND = 200, 1.0


def pieces(rows: FloatArray, labels: LabelArray, may_join: BoolArray) -> IntArray:
    """Return for each cluster the number of the shape that it is a piece of.

    Two clusters belong to one shape if there is no gap between them: along the line that tells
    them apart, rows lie about as densely at every place between as in the looser one. So a row of
    clusters can cover a curve.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        Cells of columns that tell the clusters apart.
    labels : ndarray of shape (n_rows,)
        Cluster of each row.
    may_join : ndarray of shape (n_clusters, n_clusters)
        Pairs of clusters to look at; the others are apart.
    """
    n_clusters = len(may_join)
    parts = [rows[labels == k] for k in range(n_clusters)]
    joined = np.zeros((n_clusters, n_clusters), dtype=bool)
    for a, b in combinations(range(n_clusters), 2):
        if may_join[a, b] and min(len(parts[a]), len(parts[b])) > 1:
            density, n_near = valley(*along_the_line(parts[a], parts[b]))
            joined[a, b] = density > max(LEAST, 1 - ERRORS / np.sqrt(n_near))
    return np.asarray(connected_components(csr_matrix(joined), directed=False)[1])


def along_the_line(one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the places of the rows of two clusters on Fisher's axis between them.

    Of few rows, correlations within the clusters are chance, so they count less.
    """
    apart = other.mean(axis=0) - one.mean(axis=0)
    within = 0.5 * sum(np.atleast_2d(np.cov(part, rowvar=False, ddof=0)) for part in (one, other))
    size = len(apart)
    alone = np.diag(np.diagonal(within))
    trust = max(0.0, 1 - (size + 1) / min(len(one), len(other)))
    within = trust * within + (1 - trust) * alone
    within[np.diag_indices(size)] += 1e-9 * max((np.trace(within) + apart @ apart) / size, 1e-300)
    axis = np.linalg.solve(within, apart)
    return one @ axis, other @ axis


def valley(one: FloatArray, other: FloatArray) -> tuple[float, float]:
    """Return the density in the deepest valley between the medians of two samples.

    It is a share of the lower of the highest densities on either side; also returned is how many
    rows there make this one.
    """
    spreads = one.std(), other.std()
    width = WIDTH * min(spreads) * min(len(one), len(other)) ** -0.2
    first, last = sorted((float(np.median(one)), float(np.median(other))))
    if not width > 0 or not last > first:
        return (0.0, 1.0) if last > first else (1.0, 1.0)
    beyond = BEYOND * max(spreads)
    places = np.linspace(first - beyond, last + beyond, POINTS)
    far = (places[:, None] - np.concatenate([one, other])) / width
    density = np.exp(-0.5 * far**2).sum(axis=1)
    left = np.maximum.accumulate(density)
    right = np.maximum.accumulate(density[::-1])[::-1]
    peak = np.minimum(left, right)
    inner = np.flatnonzero((places >= first) & (places <= last))
    share = density[inner] / peak[inner]
    deepest = inner[np.argmin(share)] if inner.size else POINTS // 2
    return float(density[deepest] / peak[deepest]), float(peak[deepest])
