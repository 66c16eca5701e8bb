"""FG-K-Means: weights for groups of features, and for features within their group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from fwkmeans._engine import Recipe, Run
from fwkmeans.centers import MeanCenter
from fwkmeans.dissimilarities import SquaredEuclidean
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.estimators.docstrings import documented
from fwkmeans.estimators.groups import Groups, groups_of_estimator
from fwkmeans.estimators.traits import Traits
from fwkmeans.typing import Description, FloatArray, Source
from fwkmeans.weighting import GroupEntropyWeights


@documented("Weights of the features in each cluster; they sum to 1 within each group.")
class FGKMeans(BaseFeatureWeightedKMeans):
    r"""FG-K-Means: weights for groups of features and for features within their group [1]_.

    .. math:: W = \sum_k \Big[\sum_{i \in S_k} \sum_t \omega_{kt} \sum_{v \in G_t} w_{kv}
              (y_{iv} - c_{kv})^2 + \lambda \sum_t \omega_{kt} \log \omega_{kt}
              + \eta \sum_v w_{kv} \log w_{kv}\Big]

    .. math:: w_{kv} \propto \exp(-\omega_{kt} D_{kv} / \eta), \qquad
              \omega_{kt} \propto \exp\Big(-\sum_{v \in G_t} w_{kv} D_{kv} / \lambda\Big)

    with :math:`\sum_{v \in G_t} w_{kv} = 1` in every group and :math:`\sum_t \omega_{kt} = 1`.

    Parameters
    ----------
    {n_clusters}
    groups : None, "auto", mapping, sequence of columns or one label per column, default=None
        The groups: a mapping from group name to columns, a sequence with the columns of each
        group, or one label for every column. Columns are names, indices, masks or slices. None
        means one group; "auto" looks for columns that depend on each other, see
        `group_features`.
    lam : float or "auto", default="auto"
        Strength of the entropy of the group weights, in units of D. "auto" is half the total
        variance divided by the number of groups (if dispersions are summed, the total scatter
        divided by the number of clusters and groups).
    eta : float or "auto", default="auto"
        Strength of the entropy of the feature weights, in units of D. "auto" is half the mean
        variance of the features (if dispersions are summed, the total scatter divided by the number
        of clusters and features).
    dispersion : {"mean", "sum"}, default="mean"
        "sum" is as published. "mean" divides D by the size of the cluster, so that the strengths no
        longer depend on it. The entropy terms then count once for every row and are part of the
        assignment.
    {parameters}

    Attributes
    ----------
    {attributes}
    group_weights_ : ndarray of shape (n_clusters, n_groups)
        Weights of the groups in each cluster; each row sums to 1.
    groups_ : dict
        Indices of the columns of each group, by group name (or number), in the order of
        `group_weights_`.
    lam_, eta_ : float
        The strengths that were used.

    See Also
    --------
    EWKMeans : The same without groups.

    Notes
    -----
    With one group this is EW-KM with gamma=eta; with one feature in each group it is EW-KM with
    gamma=lam. The two kinds of weights depend on each other and may change slowly for many
    iterations. An iteration costs O(N K M).

    References
    ----------
    .. [1] Chen, Ye, Xu & Huang (2012). A feature group weighting method for subspace clustering of
       high-dimensional data. Pattern Recognition 45(1). doi:10.1016/j.patcog.2011.06.004

    Examples
    --------
    >>> from fwkmeans import FGKMeans
    >>> from fwkmeans.datasets import add_noise_features, load_uci
    >>> from fwkmeans.preprocessing import RangeStandardizer
    >>> X = load_uci("iris").data
    >>> X = RangeStandardizer().fit_transform(add_noise_features(X, random_state=0))
    >>> model = FGKMeans(3, groups=[range(4), range(4, 8)], random_state=0).fit(X)
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
        weighs_groups=True,
    )

    survey_settings: ClassVar = {"dispersion": "sum", "category_weight": 1.0}

    _shown_of_rule: ClassVar[Mapping[str, str]] = {"lam_": "lam", "eta_": "eta"}

    _constraints: ClassVar = GroupEntropyWeights._constraints

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        groups: Any = None,
        lam: Any = "auto",
        eta: Any = "auto",
        dispersion: str = "mean",
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
        self.groups = groups
        self.lam = lam
        self.eta = eta
        self.dispersion = dispersion
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
        groups = self._groups()
        rule = GroupEntropyWeights(
            groups=groups.numbers, lam=self.lam, eta=self.eta, dispersion=self.dispersion
        )
        return Recipe(SquaredEuclidean(category_weight=self.category_weight), MeanCenter(), rule)

    def _groups(self) -> Groups:
        return groups_of_estimator(self, "groups")

    def _set_fitted(
        self, source: Source, recipe: Recipe, table: Description, run: Run
    ) -> FloatArray:
        groups = self._groups()
        self.group_weights_ = run.weights.memory["group_weights"][0]
        self.groups_ = {
            name: np.flatnonzero(groups.numbers == t) for t, name in enumerate(groups.names)
        }
        return super()._set_fitted(source, recipe, table, run)
