"""WK-Means: weights of the features with an exponent."""

from __future__ import annotations

from typing import Any, ClassVar

from fwkmeans._engine import Recipe
from fwkmeans._support.checks import one_of
from fwkmeans.centers import MeanCenter
from fwkmeans.dissimilarities import SquaredEuclidean
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.estimators.docstrings import documented
from fwkmeans.estimators.traits import Traits
from fwkmeans.typing import Description, Source
from fwkmeans.weighting import ClusterPowerWeights, SharedPowerWeights, WeightRule


@documented("Weights of the features; each row sums to 1. For global weights all rows are equal.")
class WKMeans(BaseFeatureWeightedKMeans):
    r"""WK-Means: weights with an exponent, for all clusters [1]_ or for each cluster [2]_.

    .. math:: W(S, C, w) = \sum_k \sum_{i \in S_k} \sum_v w_v^\beta (y_{iv} - c_{kv})^2,
              \qquad \sum_v w_v = 1

    .. math:: w_v = \Big[\sum_u \big(D_v / D_u\big)^{1/(\beta-1)}\Big]^{-1}, \qquad
              D_v = \sum_k \sum_{i \in S_k} (y_{iv} - c_{kv})^2 + \frac gM \sum_u T_u

    where :math:`T_u` is the scatter of a feature about its mean; the criterion has the term
    :math:`\frac gM \sum_u T_u \sum_v w_v^\beta` beside. With ``weights="cluster"`` weights and
    dispersions also have an index k, and a constant c is added to every dispersion instead.

    Parameters
    ----------
    {n_clusters}
    beta : float, default=4.0
        Exponent of the weights, ``beta <= 0`` or ``beta >= 1``. As it approaches 1, the weight goes
        to the least dispersed feature alone; large values make the weights equal. 0 is K-Means. For
        negative values w grows with the dispersion and its power falls.
    weights : {"global", "cluster"}, default="global"
        Whether all clusters share their weights.
    smoothing : {"frozen", "refresh", "inside"} or float, default="frozen"
        The constant c, for ``weights="cluster"`` only. "frozen" is the mean of D over clusters and
        features in the first iteration. "refresh" computes this mean again in each iteration; the
        objective may then rise. This is what the survey's author ran. "inside" is the mean variance
        of the features, added for every row, also in the assignment. A number is used as it is.
    zero : {"share", "huang"}, default="share"
        For ``weights="global"`` only: what features without dispersion get. With "share" they share
        all the weight equally, which minimizes the criterion. With "huang" they get no weight,
        which is the published rule; the objective may then rise, but a column with few values
        cannot decide everything.
    guard : float, default=0.1
        For ``weights="global"`` only: keeps a feature from taking nearly all the weight because it
        hardly varies. Every dispersion is raised by this multiple g of the mean scatter of the
        features. 0 is the published criterion; large values make the weights equal.
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    AWKMeans : Weights in each cluster without a constant.
    FWSAKMeans : One weight per feature without a parameter.

    Notes
    -----
    Without the guard, WK-Means fails if the least dispersed feature is not the most useful one.
    Examples are a nearly constant column, or a Boolean column that the clusters split exactly. An
    iteration costs O(N K M).

    References
    ----------
    .. [1] Huang, Ng, Rong & Li (2005). Automated variable weighting in k-means type clustering.
       IEEE TPAMI 27(5). doi:10.1109/TPAMI.2005.95
    .. [2] Huang, Xu, Ng & Ye (2008). Weighting method for feature selection in k-means.
       Computational Methods of Feature Selection, Chapman & Hall/CRC.

    Examples
    --------
    >>> from fwkmeans import WKMeans
    >>> from fwkmeans.datasets import add_noise_features, load_uci
    >>> from fwkmeans.preprocessing import RangeStandardizer
    >>> X = load_uci("iris").data
    >>> X = RangeStandardizer().fit_transform(add_noise_features(X, random_state=0))
    >>> model = WKMeans(3, random_state=0).fit(X)
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

    survey_settings: ClassVar = {
        "weights": "cluster",
        "beta": 2.0,
        "smoothing": "refresh",
        "guard": 0.0,
        "category_weight": 1.0,
    }

    _recipe_of_parameters = True

    _constraints: ClassVar = {
        **SharedPowerWeights._constraints,
        **ClusterPowerWeights._constraints,
        "weights": one_of("global", "cluster"),
    }

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        beta: float = 4.0,
        weights: str = "global",
        smoothing: Any = "frozen",
        zero: str = "share",
        guard: float = 0.1,
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
        self.weights = weights
        self.smoothing = smoothing
        self.zero = zero
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
        rule: WeightRule = ClusterPowerWeights(beta=self.beta, smoothing=self.smoothing)
        if self.weights == "global":
            rule = SharedPowerWeights(beta=self.beta, zero=self.zero, guard=self.guard)
        return Recipe(SquaredEuclidean(category_weight=self.category_weight), MeanCenter(), rule)
