"""IK-P: numbers and categories; the center of a categorical column is its frequencies."""

from __future__ import annotations

from typing import Any, ClassVar

from fwkmeans._engine import Recipe
from fwkmeans._support.checks import one_of
from fwkmeans.centers import MeanCenter, MinkowskiCenter
from fwkmeans.dissimilarities import Minkowski
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.estimators.docstrings import documented
from fwkmeans.estimators.traits import Traits
from fwkmeans.typing import CenterRule, Description, Source
from fwkmeans.weighting import SharedPowerWeights

_VARIANTS = ("published", "median", "monotone")


@documented("Weights of the features; each row sums to 1, and all rows are equal.")
class IKPrototypes(BaseFeatureWeightedKMeans):
    r"""IK-P, improved k-prototypes: mixed data with one weight per feature [1]_.

    .. math:: W(S, C, w) = \sum_k \sum_{i \in S_k} \sum_v w_v^\beta d(y_{iv}, c_{kv}),
              \qquad \sum_v w_v = 1

    with :math:`d = |y - c|` for numbers and :math:`d = 1 - f_{kv}(y)` for categories, where
    :math:`f_{kv}` are the frequencies of the categories in the cluster. The paper calls them the
    distributed centroid.

    .. math:: w_v = \Big[\sum_u \big(D_v / D_u\big)^{1/(\beta-1)}\Big]^{-1}, \qquad
              D_v = \sum_k \sum_{i \in S_k} d(y_{iv}, c_{kv}) + \frac gM \sum_u T_u

    where :math:`T_u` is the sum of dissimilarities of a feature from the center of the table.

    Parameters
    ----------
    {n_clusters}
    beta : float, default=8.0
        Exponent of the weights, ``beta <= 0`` or ``beta >= 1``. As it approaches 1, the weight goes
        to the least dispersed feature alone; large values make the weights equal.
    variant : {"published", "median", "monotone"}, default="published"
        "published" uses means as centers of numbers, which are not the best ones for absolute
        differences, and frequencies, which are not the best ones for 1 - f. The objective may
        therefore rise. "median" uses medians. "monotone" uses medians and the squared distance from
        the frequencies, :math:`1 - 2 f(y) + \sum_l f_l^2`, for which they are the best centers. The
        objective then never rises, unless ``zero="huang"``.
    zero : {"share", "huang"}, default="share"
        What features without dispersion get; see `WKMeans`.
    guard : float, default=0.2
        Keeps a feature from taking nearly all the weight because it hardly varies; see `WKMeans`.
        Every dispersion is raised by this multiple g of the mean scatter; 0 is as published.
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    WKMeans : One weight per feature, with squared differences and modes.
    AWKMeans : Weights in each cluster, with squared differences and modes.

    Notes
    -----
    Numbers and categories are added up, so scale numbers to range one first, for example with
    `fwkmeans.preprocessing.RangeStandardizer`. IK-P works well if categories define the groups and
    no single category dominates a cluster. Without the guard it fails if a nearly constant column
    takes the weight, or a column of two values that the clusters split (``zero="huang"`` helps only
    if they split it exactly). An iteration costs O(N K M), whatever the number of categories.

    References
    ----------
    .. [1] Ji, Bai, Zhou, Ma & Wang (2013). An improved k-prototypes clustering algorithm for mixed
       numeric and categorical data. Neurocomputing 120. doi:10.1016/j.neucom.2013.04.011

    Examples
    --------
    >>> import pandas as pd
    >>> from fwkmeans import IKPrototypes
    >>> X = pd.DataFrame(
    ...     {"size": [0.1, 0.2, 0.9, 1.0], "color": ["red", "red", "blue", "green"]}
    ... )
    >>> model = IKPrototypes(2, random_state=0).fit(X)
    >>> sorted(model.modes_["color"])
    ['blue', 'red']
    """

    traits = Traits(
        no_parameter=False,
        deterministic=False,
        distance_bias=False,
        several_weights=False,
        finds_groups=False,
        learns_all_weights=True,
        categorical=True,
        weighs_groups=False,
    )

    survey_settings: ClassVar = {"beta": 8.0, "zero": "huang", "guard": 0.0, "category_weight": 1.0}

    _constraints: ClassVar = {
        **SharedPowerWeights._constraints,
        "variant": one_of(*_VARIANTS),
    }

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        beta: float = 8.0,
        variant: str = "published",
        zero: str = "share",
        guard: float = 0.2,
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
        self.variant = variant
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

    def _why_no_stream(self) -> str | None:
        return "sums of absolute differences cannot be moved to another center"

    def _why_not_sparse(self) -> str | None:
        return "it sums absolute differences, to which zeros contribute"

    def _recipe(self, source: Source, table: Description) -> Recipe:
        center: CenterRule = MeanCenter(categories="frequencies")
        if self.variant != "published":
            center = MinkowskiCenter(p=1.0, categories="frequencies")
        kind = "squared" if self.variant == "monotone" else "matching"
        rule = SharedPowerWeights(beta=self.beta, zero=self.zero, guard=self.guard)
        apart = Minkowski(p=1.0, categories=kind, category_weight=self.category_weight)
        return Recipe(apart, center, rule)
