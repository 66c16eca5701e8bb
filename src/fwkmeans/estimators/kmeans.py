"""K-Means, the baseline."""

from __future__ import annotations

from typing import Any, ClassVar

from fwkmeans._engine import Recipe
from fwkmeans._support.checks import BOOLEAN, one_of
from fwkmeans.centers import MeanCenter
from fwkmeans.dissimilarities import SquaredEuclidean
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.estimators.docstrings import documented
from fwkmeans.estimators.traits import Traits
from fwkmeans.typing import Description, Source
from fwkmeans.weighting import UniformWeights


@documented("Equal weights for the features that vary; the objective does not use them.")
class KMeans(BaseFeatureWeightedKMeans):
    r"""K-Means: every feature counts the same.

    .. math:: W(S, C) = \sum_k \sum_{i \in S_k} \sum_v (y_{iv} - c_{kv})^2

    This is the baseline for the feature-weighted algorithms. From the same initial centers it gives
    the labels, centers and inertia of `sklearn.cluster.KMeans`.

    Parameters
    ----------
    {n_clusters}
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    WKMeans : One learned weight per feature.
    EWKMeans : Learned weights in each cluster.

    Notes
    -----
    K-Means fails if noise features hide the useful ones. A column that is constant in `fit` has
    weight 0 but remains part of the distance, as in scikit-learn. An iteration costs O(N K M).

    Examples
    --------
    >>> from fwkmeans import KMeans
    >>> from fwkmeans.datasets import add_noise_features, load_uci
    >>> from fwkmeans.preprocessing import RangeStandardizer
    >>> X = load_uci("iris").data
    >>> X = RangeStandardizer().fit_transform(add_noise_features(X, random_state=0))
    >>> model = KMeans(3, random_state=0).fit(X)
    >>> model.feature_weights_.shape
    (3, 8)
    """

    traits = Traits(
        no_parameter=True,
        deterministic=False,
        distance_bias=False,
        several_weights=False,
        finds_groups=False,
        learns_all_weights=False,
        categorical=False,
        weighs_groups=False,
    )

    _recipe_of_parameters = True

    _constraints: ClassVar = {"copy_x": BOOLEAN, "algorithm": one_of("lloyd", "elkan")}

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-6,
        missing: str = "error",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        copy_x: bool = True,
        algorithm: str = "lloyd",
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.missing = missing
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm

    def _recipe(self, source: Source, table: Description) -> Recipe:
        return Recipe(SquaredEuclidean(), MeanCenter(), UniformWeights())
