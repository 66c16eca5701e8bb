"""iMWK-Means: Minkowski metric, weights in each cluster, and starts from anomalous patterns."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fwkmeans._engine import Recipe
from fwkmeans._support.checks import POWER, number, one_of
from fwkmeans.centers import MinkowskiCenter
from fwkmeans.dissimilarities import Minkowski
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.estimators.constraints import SHARED
from fwkmeans.estimators.docstrings import documented
from fwkmeans.estimators.traits import Traits
from fwkmeans.typing import Description, Source
from fwkmeans.weighting import ClusterPowerWeights, RadiusWeights, WeightRule
from fwkmeans.weighting.power import GUARD, SMOOTHING


@documented(
    "Weights of the features in each cluster; each row sums to 1.",
    n_clusters="""n_clusters : int or None, default=8
    Number of clusters. With None, all anomalous patterns of at least `min_pattern_size` rows start
    a cluster, so the number is found from the data.""",
    init="""init : {"auto", "anomalous", "k-means++", "random"}, array or callable, default="auto"
    Initial centers. "auto" is "k-means++", which does better on most tables, or "anomalous" if
    `n_clusters` is None. "anomalous" takes anomalous patterns with the weights they have learned;
    this is the published start. "k-means++" draws rows that are far from each other, by greedy
    k-means++. "random" draws rows at random. An array or frame of shape (n_clusters, n_features) is
    used as it is. A callable is called as ``init(X, n_clusters, random_state=...)`` and returns the
    centers.""",
    weight_init="""weight_init : {"uniform", "random"} or array, default="uniform"
    Initial feature weights: equal (those of the patterns for ``init="anomalous"``), drawn at random
    for every start, or an array of shape (n_features,) or (n_clusters, n_features). They are scaled
    to sum to one.""",
    random_state="""random_state : int, RandomState instance or None, default=0
    Determines the random starts. A fixed number, so that the result is always the same, as that of
    the published algorithm is.""",
)
class IMWKMeans(BaseFeatureWeightedKMeans):
    r"""Minkowski metric, weights in each cluster and intelligent starts: iMWK-Means [1]_.

    .. math:: W(S, C, w) = \sum_k \sum_{i \in S_k} \sum_v w_{kv}^p |y_{iv} - c_{kv}|^p,
              \qquad \sum_v w_{kv} = 1

    .. math:: w_{kv} = \Big[\sum_u \big(D_{kv} / D_{ku}\big)^{1/(p-1)}\Big]^{-1}, \qquad
              D_{kv} = \sum_{i \in S_k} |y_{iv} - c_{kv}|^p + c

    Weights act as scales of the features: cluster k sees the rows as :math:`w_{kv} y_{iv}`. The
    center minimizes :math:`\sum |y - c|^p`: it is the median for p = 1, the mean for p = 2, and the
    midrange for p = infinity.

    Parameters
    ----------
    {n_clusters}
    p : float, default=2.0
        Exponent of the metric and of the weights, from 1 to infinity. 1 puts all the weight on
        one feature of each cluster; large values make the weights equal.
    smoothing : {"refresh", "frozen", "inside"} or float, default="refresh"
        The constant c; see `WKMeans`. "refresh" is what the survey's author ran; with it the
        objective may rise. For p = infinity any constant makes the weights equal, and 0 makes them
        inversely proportional to the half-range.
    guard : float, default=1.0
        Keeps a feature from taking nearly all the weight of a cluster because it hardly varies
        there: this multiple of a cluster's share, one K-th, of the mean scatter of the features is
        added to every dispersion beside c, which falls with the dispersions. 0 is as published.
    min_pattern_size : float, default=1
        Anomalous patterns with fewer rows (sum of sample weights) do not start a cluster.
    few_patterns : {"fill", "accept"}, default="fill"
        What to do if there are fewer patterns than `n_clusters`. "fill" starts the other clusters
        at rows that are far from all patterns. "accept" continues with fewer clusters, as the
        survey's author did.
    pattern_ties : {"first", "last"}, default="first"
        Which of several rows that are equally far from the center starts a pattern. The author's
        programs use the last one.
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    WKMeans : The same as ``p=2`` with ``weights="cluster", beta=2``.
    KMeans : Intelligent K-Means with ``init="anomalous"``.

    Notes
    -----
    The center of an anomalous pattern starts at the row farthest from the center of the whole
    table. The pattern consists of the rows closer to its own center than to that of the table. Its
    center and weights are updated until its rows no longer change. Then its rows are removed, and
    the search for the next pattern begins. No random numbers are used. The weights of patterns use
    a small constant, 0.01 times the mean of the features' range to the power p, so columns should
    be range-standardized (`fwkmeans.preprocessing.RangeStandardizer`).

    iMWK-Means works well if clusters differ in shape: a small p suits clusters that are stretched
    along single features, a large p suits boxes. Like all algorithms that trust dispersion, it
    fails if a nearly constant column takes the weight. An iteration costs O(N K M) powers, and
    about ten times O(N M) for the centers unless p is 2.

    References
    ----------
    .. [1] de Amorim & Mirkin (2012). Minkowski metric, feature weighting and anomalous cluster
       initializing in K-Means clustering. Pattern Recognition 45(3).
       doi:10.1016/j.patcog.2011.08.012

    Examples
    --------
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from fwkmeans import IMWKMeans
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.preprocessing import RangeStandardizer
    >>> iris = load_uci("iris")
    >>> X = RangeStandardizer().fit_transform(iris.data)
    >>> model = IMWKMeans.as_in_survey(3, p=1.1).fit(X)
    >>> round(float(adjusted_rand_score(iris.target, model.labels_)), 2)
    0.9
    """

    traits = Traits(
        no_parameter=False,
        deterministic=True,
        distance_bias=True,
        several_weights=True,
        finds_groups=False,
        learns_all_weights=True,
        categorical=False,
        weighs_groups=False,
    )

    survey_settings: ClassVar = {
        "p": 2.0,
        "smoothing": "refresh",
        "guard": 0.0,
        "init": "anomalous",
        "few_patterns": "accept",
        "pattern_ties": "last",
    }

    _recipe_of_parameters = True

    _constraints: ClassVar = {
        "p": POWER,
        "smoothing": SMOOTHING,
        "guard": GUARD,
        "init": SHARED["init"] | one_of("auto"),
        "min_pattern_size": number(
            "a number of rows >= 0, such as 1 or 2", lambda rows: rows >= 0, finite=False
        ),
        "few_patterns": one_of("fill", "accept"),
        "pattern_ties": one_of("first", "last"),
    }

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        p: float = 2.0,
        smoothing: Any = "refresh",
        guard: float = 1.0,
        min_pattern_size: float = 1,
        few_patterns: str = "fill",
        pattern_ties: str = "first",
        init: Any = "auto",
        n_init: Any = "auto",
        weight_init: Any = "uniform",
        max_iter: int = 300,
        tol: float = 1e-6,
        missing: str = "error",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.p = p
        self.smoothing = smoothing
        self.guard = guard
        self.min_pattern_size = min_pattern_size
        self.few_patterns = few_patterns
        self.pattern_ties = pattern_ties
        self.init = init
        self.n_init = n_init
        self.weight_init = weight_init
        self.max_iter = max_iter
        self.tol = tol
        self.missing = missing
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _why_no_stream(self) -> str | None:
        return None if self.p == 2 else f"for p={self.p} centers need all rows (p=2 has it)"

    def _why_not_sparse(self) -> str | None:
        return None if self.p == 2 else f"for p={self.p} the powers of zeros count (p=2 can)"

    def _recipe(self, source: Source, table: Description) -> Recipe:
        rule: WeightRule = ClusterPowerWeights(
            beta=self.p, smoothing=self.smoothing, guard=self.guard
        )
        if np.isinf(self.p):
            rule = RadiusWeights(smoothing=self.smoothing, guard=self.guard)
        return Recipe(Minkowski(p=self.p), MinkowskiCenter(p=self.p), rule)

    @property
    def _smallest_pattern(self) -> float:
        return self.min_pattern_size

    @property
    def _may_find_fewer(self) -> bool:
        return self.few_patterns == "accept"

    def _pattern_exponent(self) -> float | None:
        return float(self.p)

    def _pattern_options(self) -> dict[str, bool]:
        return {
            "fill": self.few_patterns == "fill",
            "last_of_ties": self.pattern_ties == "last",
        }
