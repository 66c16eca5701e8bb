"""FWSA: weights that adjust themselves."""

from __future__ import annotations

from typing import Any, ClassVar

from fwkmeans._engine import Recipe
from fwkmeans.centers import MeanCenter
from fwkmeans.dissimilarities import SquaredEuclidean
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.estimators.docstrings import documented
from fwkmeans.estimators.traits import Traits
from fwkmeans.typing import Description, Source
from fwkmeans.weighting import SelfAdjustingWeights


@documented(
    "Weights of the features; each row sums to 1, and all rows are equal.",
    tol="""tol : float, default=1e-6
    A run ends when the labels stay the same and no weight moves by more than `tol`.""",
)
class FWSAKMeans(BaseFeatureWeightedKMeans):
    r"""FWSA, feature weight self-adjustment: one weight per feature, no parameter [1]_.

    .. math:: w_v \leftarrow \tfrac12 \Big(w_v + \frac{b_v/a_v}{\sum_u b_u/a_u}\Big), \qquad
              a_v = \sum_k \sum_{i \in S_k} (y_{iv} - c_{kv})^2 + g \bar T, \quad
              b_v = \sum_k n_k (c_{kv} - \bar y_v)^2 + g \bar T

    where :math:`\bar T` is the mean over the features of their scatter about the mean. Rows are
    assigned by :math:`\sum_v w_v (y_{iv} - c_{kv})^2`.

    Parameters
    ----------
    {n_clusters}
    safeguard : bool, default=False
        Whether to take a weight step only if it does not raise the objective. False is as
        published.
    guard : float, default=1.5
        Keeps a feature from taking nearly all the weight because it hardly varies, or because it
        happens to split well. This multiple g of the mean scatter counts for every feature both
        within and between clusters. 0 is the published rule; large values make the weights equal.
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    WKMeans : One weight per feature with an exponent.

    Notes
    -----
    The algorithm does not minimize the weighted dispersion. The reported objective is its ratio to
    the weighted total, :math:`\sum_v w_v a_v / \sum_v w_v (a_v + b_v)`. Assignment and center steps
    never raise it; the published weight step sometimes does. Each step halves the distance of the
    weights to their limit, so `tol` is compared with the largest step of a weight once the labels
    no longer change. Without the guard a feature that happens to split well gains more and more
    weight: with many noise features, a start may end with all the weight on them. An iteration
    costs O(N K M).

    References
    ----------
    .. [1] Tsai & Chiu (2008). Developing a feature weight self-adjustment mechanism for a K-means
       clustering algorithm. Computational Statistics & Data Analysis 52(10).
       doi:10.1016/j.csda.2008.03.002

    Examples
    --------
    >>> from fwkmeans import FWSAKMeans
    >>> from fwkmeans.datasets import add_noise_features, load_uci
    >>> from fwkmeans.preprocessing import RangeStandardizer
    >>> X = load_uci("iris").data
    >>> X = RangeStandardizer().fit_transform(add_noise_features(X, random_state=0))
    >>> model = FWSAKMeans(3, random_state=0).fit(X)
    >>> model.feature_weights_.shape
    (3, 8)
    """

    traits = Traits(
        no_parameter=True,
        deterministic=False,
        distance_bias=False,
        several_weights=False,
        finds_groups=False,
        learns_all_weights=True,
        categorical=False,
        weighs_groups=False,
    )

    survey_settings: ClassVar = {"guard": 0.0}

    _recipe_of_parameters = True

    _constraints: ClassVar = SelfAdjustingWeights._constraints

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        safeguard: bool = False,
        guard: float = 1.5,
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
        self.safeguard = safeguard
        self.guard = guard
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
        rule = SelfAdjustingWeights(safeguard=self.safeguard, guard=self.guard)
        return Recipe(SquaredEuclidean(), MeanCenter(), rule)
