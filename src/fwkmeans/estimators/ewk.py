"""EW-KM: a weight for each feature in each cluster, spread by an entropy term."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from fwkmeans._engine import Recipe
from fwkmeans.centers import MeanCenter
from fwkmeans.dissimilarities import SquaredEuclidean
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.estimators.docstrings import documented
from fwkmeans.estimators.traits import Traits
from fwkmeans.typing import Description, Source
from fwkmeans.weighting import EntropyWeights


@documented("Weights of the features in each cluster; each row sums to 1.")
class EWKMeans(BaseFeatureWeightedKMeans):
    r"""EW-KM, entropy weighting: a weight for each feature in each cluster [1]_.

    .. math:: W(S, C, w) = \sum_k \Big[\sum_{i \in S_k} \sum_v w_{kv} (y_{iv} - c_{kv})^2
              + \gamma \sum_v w_{kv} \log w_{kv}\Big], \qquad \sum_v w_{kv} = 1

    .. math:: w_{kv} = \frac{\exp(-D_{kv}/\gamma)}{\sum_u \exp(-D_{ku}/\gamma)}, \qquad
              D_{kv} = \sum_{i \in S_k} (y_{iv} - c_{kv})^2

    Parameters
    ----------
    {n_clusters}
    gamma : float or "auto", default="auto"
        Strength of the entropy term. As in the paper it is absolute, in units of D, so it grows
        with the square of the scale of the data and, if dispersions are summed, with the number of
        rows. "auto" is half the mean variance of the features (for sums, the total scatter divided
        by the number of clusters and features). It keeps a feature from taking nearly all the
        weight: one that does not vary at all in a cluster has about :math:`e^2` times the weight of
        one that varies there as in the whole table.
    dispersion : {"mean", "sum"}, default="mean"
        "mean" divides D by the size of the cluster, so that gamma no longer depends on it. The
        entropy term then counts once for every row and is part of the assignment. "sum" is as
        published.
    {parameters}

    Attributes
    ----------
    {attributes}
    gamma_ : float
        The strength that was used.

    See Also
    --------
    FGKMeans : The same criterion with groups of features.
    AWKMeans : Weights in each cluster with an exponent.

    Notes
    -----
    With gamma = 0 all the weight of a cluster goes to one feature; a large gamma gives K-Means. A
    gamma that suits one table does not suit another, so start from "auto". Summed dispersions favor
    large clusters, and noise features make this worse; ``dispersion="mean"`` does not have this
    problem. An iteration costs O(N K M).

    References
    ----------
    .. [1] Jing, Ng & Huang (2007). An entropy weighting k-means algorithm for subspace clustering
       of high-dimensional sparse data. IEEE TKDE 19(8). doi:10.1109/TKDE.2007.1048

    Examples
    --------
    >>> from fwkmeans import EWKMeans
    >>> from fwkmeans.datasets import add_noise_features, load_uci
    >>> from fwkmeans.preprocessing import RangeStandardizer
    >>> X = load_uci("iris").data
    >>> X = RangeStandardizer().fit_transform(add_noise_features(X, random_state=0))
    >>> model = EWKMeans(3, random_state=0).fit(X)
    >>> model.feature_weights_.shape
    (3, 8)
    """

    traits = Traits(
        no_parameter=False,
        deterministic=False,
        distance_bias=False,
        several_weights=True,
        finds_groups=False,
        learns_all_weights=True,
        categorical=False,
        weighs_groups=False,
    )

    survey_settings: ClassVar = {"dispersion": "mean"}

    _recipe_of_parameters = True
    _shown_of_rule: ClassVar[Mapping[str, str]] = {"gamma_": "gamma"}

    _constraints: ClassVar = EntropyWeights._constraints

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        gamma: Any = "auto",
        dispersion: str = "mean",
        init: Any = "k-means++",
        n_init: Any = "auto",
        weight_init: Any = "uniform",
        max_iter: int = 300,
        tol: float = 1e-6,
        missing: str = "error",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.gamma = gamma
        self.dispersion = dispersion
        self.init = init
        self.n_init = n_init
        self.weight_init = weight_init
        self.max_iter = max_iter
        self.tol = tol
        self.missing = missing
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _recipe(self, source: Source, table: Description) -> Recipe:
        rule = EntropyWeights(gamma=self.gamma, dispersion=self.dispersion)
        return Recipe(SquaredEuclidean(), MeanCenter(), rule)
