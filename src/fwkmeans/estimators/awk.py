"""AWK: a weight for each feature in each cluster."""

from __future__ import annotations

from typing import Any, ClassVar

from fwkmeans._engine import Recipe
from fwkmeans.centers import MeanCenter
from fwkmeans.dissimilarities import SquaredEuclidean
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.estimators.docstrings import documented
from fwkmeans.estimators.traits import Traits
from fwkmeans.typing import Description, Source
from fwkmeans.weighting import ClusterPowerWeights


@documented("Weights of the features in each cluster; each row sums to 1.")
class AWKMeans(BaseFeatureWeightedKMeans):
    r"""AWK, attribute weighting: a weight for each feature in each cluster [1]_.

    .. math:: W(S, C, w) = \sum_k \sum_{i \in S_k} \sum_v w_{kv}^\beta (y_{iv} - c_{kv})^2,
              \qquad \sum_v w_{kv} = 1

    .. math:: w_{kv} = \Big[\sum_u \big(D_{kv} / D_{ku}\big)^{1/(\beta-1)}\Big]^{-1}, \qquad
              D_{kv} = \sum_{i \in S_k} (y_{iv} - c_{kv})^2 + \frac{g}{K M} \sum_u T_u

    where :math:`T_u` is the scatter of a feature about its mean; the criterion has the term
    :math:`\frac{g}{K M} \sum_u T_u \sum_k \sum_v w_{kv}^\beta` beside.

    Parameters
    ----------
    {n_clusters}
    beta : float, default=8.0
        Exponent of the weights, ``beta <= 0`` or ``beta >= 1``. As it approaches 1, the weight goes
        to the least dispersed feature alone; large values make the weights equal.
    smoothing : float or {"frozen", "refresh", "inside"}, default=0.0
        Constant added to the dispersions; see `WKMeans`.
    guard : float, default=0.05
        Keeps a feature from taking nearly all the weight of a cluster because it hardly varies
        there. Every dispersion is raised by this multiple g of a cluster's share, one K-th, of the
        mean scatter of the features. 0 is the published criterion; large values make the weights
        equal.
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    WKMeans : One weight per feature for all clusters, or smoothed weights in each.
    EWKMeans : Weights in each cluster, spread by an entropy term.

    Notes
    -----
    In the published criterion (``guard=0``) a feature without dispersion in a cluster takes all the
    weight of that cluster. On discrete or nearly constant columns, a cluster then absorbs every row
    that shares one value. An iteration costs O(N K M).

    References
    ----------
    .. [1] Chan, Ching, Ng & Huang (2004). An optimization algorithm for clustering using weighted
       dissimilarity measures. Pattern Recognition 37(5). doi:10.1016/j.patcog.2003.11.003

    Examples
    --------
    >>> from fwkmeans import AWKMeans
    >>> from fwkmeans.datasets import add_noise_features, load_uci
    >>> from fwkmeans.preprocessing import RangeStandardizer
    >>> X = load_uci("iris").data
    >>> X = RangeStandardizer().fit_transform(add_noise_features(X, random_state=0))
    >>> model = AWKMeans(3, random_state=0).fit(X)
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
        categorical=True,
        weighs_groups=False,
    )

    survey_settings: ClassVar = {"beta": 2.0, "guard": 0.0, "category_weight": 1.0}

    _recipe_of_parameters = True

    _constraints: ClassVar = ClusterPowerWeights._constraints

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        beta: float = 8.0,
        smoothing: Any = 0.0,
        guard: float = 0.05,
        init: Any = "k-means++",
        n_init: Any = "auto",
        weight_init: Any = "uniform",
        max_iter: int = 300,
        tol: float = 1e-6,
        categorical_features: Any = "from_dtype",
        category_weight: Any = "balanced",
        missing: str = "error",
        missing_category: str = "same",
        handle_unknown: str = "ignore",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.beta = beta
        self.smoothing = smoothing
        self.guard = guard
        self.init = init
        self.n_init = n_init
        self.weight_init = weight_init
        self.max_iter = max_iter
        self.tol = tol
        self.categorical_features = categorical_features
        self.category_weight = category_weight
        self.missing = missing
        self.missing_category = missing_category
        self.handle_unknown = handle_unknown
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _recipe(self, source: Source, table: Description) -> Recipe:
        rule = ClusterPowerWeights(beta=self.beta, smoothing=self.smoothing, guard=self.guard)
        return Recipe(SquaredEuclidean(category_weight=self.category_weight), MeanCenter(), rule)
