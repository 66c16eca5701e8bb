"""The survey's synthetic data: spherical Gaussian clusters of unequal size and spread."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from types import MappingProxyType
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state, check_scalar

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

#: The four configurations of the survey: name -> (n_samples, n_features, n_clusters).
SURVEY_CONFIGURATIONS: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {
        "500x4-2": (500, 4, 2),
        "500x10-3": (500, 10, 3),
        "500x20-4": (500, 20, 4),
        "500x50-5": (500, 50, 5),
    }
)


@overload
def make_survey_gaussians(
    n_samples: int = ...,
    n_features: int = ...,
    n_clusters: int = ...,
    *,
    min_cluster_size: int = ...,
    shuffle: bool = ...,
    random_state: Any = ...,
    return_centers: Literal[False] = ...,
) -> tuple[FloatArray, IntArray]: ...


@overload
def make_survey_gaussians(
    n_samples: int = ...,
    n_features: int = ...,
    n_clusters: int = ...,
    *,
    min_cluster_size: int = ...,
    shuffle: bool = ...,
    random_state: Any = ...,
    return_centers: Literal[True],
) -> tuple[FloatArray, IntArray, FloatArray]: ...


def make_survey_gaussians(
    n_samples: int = 500,
    n_features: int = 4,
    n_clusters: int = 2,
    *,
    min_cluster_size: int = 20,
    shuffle: bool = True,
    random_state: Any = None,
    return_centers: bool = False,
) -> tuple[FloatArray, IntArray] | tuple[FloatArray, IntArray, FloatArray]:
    r"""Draw spherical Gaussian clusters the way the survey does.

    Cluster k has the covariance :math:`\sigma_k^2 I` with :math:`\sigma_k^2` uniform in
    [0.5, 1.5]; all components of the centers are standard normal; the cluster sizes are uniformly
    random with a minimum [1]_.

    Parameters
    ----------
    n_samples : int, default=500
        Number of rows.
    n_features : int, default=4
        Number of features.
    n_clusters : int, default=2
        Number of clusters.
    min_cluster_size : int, default=20
        Smallest number of rows in a cluster.
    shuffle : bool, default=True
        Whether to put the rows in random order; otherwise they come cluster by cluster.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers; an int makes the result reproducible.
    return_centers : bool, default=False
        Whether to return the centers of the Gaussians as well.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    y : ndarray of shape (n_samples,), int
        The cluster of each row, 0 to n_clusters - 1.
    centers : ndarray of shape (n_clusters, n_features)
        Means of the Gaussians; only if ``return_centers=True``.

    See Also
    --------
    add_noise_features : The survey's second version of each data set.
    sklearn.datasets.make_blobs : Gaussian clusters of equal size and spread.

    Notes
    -----
    `SURVEY_CONFIGURATIONS` holds the survey's four sizes by name, for
    ``make_survey_gaussians(*SURVEY_CONFIGURATIONS["500x10-3"])``.

    The survey does not say how the sizes are drawn beyond "uniformly random, constrained to a
    minimum of 20". Here every vector of sizes that adds up to `n_samples` and respects the minimum
    is equally likely: the rows beyond the minimum are n_samples - n_clusters * min_cluster_size
    stars, among which n_clusters - 1 bars are placed at random. (Drawing the sizes one by one
    would favor large first clusters; assigning rows at random would make all clusters about
    equally large.)

    References
    ----------
    .. [1] R. C. de Amorim, "A survey on feature weighting based K-Means algorithms", Journal of
       Classification 33 (2016), 210-242. :doi:`10.1007/s00357-016-9208-4`

    Examples
    --------
    >>> from fwkmeans.datasets import SURVEY_CONFIGURATIONS, make_survey_gaussians
    >>> X, y = make_survey_gaussians(*SURVEY_CONFIGURATIONS["500x10-3"], random_state=0)
    >>> X.shape, y.shape
    ((500, 10), (500,))
    """
    for name, value in [
        ("n_samples", n_samples),
        ("n_features", n_features),
        ("n_clusters", n_clusters),
    ]:
        check_scalar(value, name, Integral, min_val=1)
    check_scalar(min_cluster_size, "min_cluster_size", Integral, min_val=0)
    rng = check_random_state(random_state)
    sizes = _draw_sizes(n_samples, n_clusters, min_cluster_size, rng)
    centers = rng.normal(size=(n_clusters, n_features))
    deviations = np.sqrt(rng.uniform(0.5, 1.5, size=n_clusters))
    y = np.repeat(np.arange(n_clusters, dtype=np.intp), sizes)
    if shuffle:
        rng.shuffle(y)
    X = centers[y] + deviations[y, np.newaxis] * rng.normal(size=(n_samples, n_features))
    return (X, y, centers) if return_centers else (X, y)


def _draw_sizes(
    n_samples: int, n_clusters: int, minimum: int, rng: np.random.RandomState
) -> IntArray:
    """Draw one of all the compositions of `n_samples` with that minimum, each equally likely."""
    spare = n_samples - n_clusters * minimum
    if spare < 0:
        raise ValueError(
            f"n_samples={n_samples} is too small for n_clusters={n_clusters} clusters of at least "
            f"min_cluster_size={minimum} rows, expected n_samples >= {n_clusters * minimum}. "
            "Raise n_samples or lower one of the others."
        )
    n_places = spare + n_clusters - 1
    bars = np.sort(rng.choice(n_places, size=n_clusters - 1, replace=False))
    return np.diff(bars, prepend=-1, append=n_places).astype(np.intp) - 1 + minimum
