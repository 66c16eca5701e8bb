"""SYNCLUS: weights of features by least squares on distances, for given groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from fwkmeans._engine import Recipe, Run
from fwkmeans._init import Seeds
from fwkmeans._support.checks import MAPPING, NONE, one_of, several
from fwkmeans.centers import MeanCenter
from fwkmeans.dissimilarities import SquaredEuclidean
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.estimators.docstrings import documented
from fwkmeans.estimators.groups import Groups, groups_of_estimator
from fwkmeans.estimators.plan import Plan
from fwkmeans.estimators.starts import initial_weights_of
from fwkmeans.estimators.traits import Traits
from fwkmeans.typing import (
    Description,
    FloatArray,
    LabelArray,
    Source,
    WeightContext,
    WeightRuleProtocol,
    Weights,
)
from fwkmeans.weighting import StressWeights


@documented(
    "Weights of the features; they sum to 1 over all groups, and all rows are equal.",
    weight_init="""weight_init : {"uniform", "inverse-variance", "random"} or array, \
default="uniform"
    Initial feature weights: equal, inversely proportional to the variance of each feature, drawn at
    random for every start, or an array of shape (n_features,). They are scaled to sum to one.""",
    centred="""centred : bool, default=False
    Whether to compare deviations from the mean distance. With one group, F is then 1 minus the
    squared correlation of :math:`d_{ij}` and :math:`a^*_{ij}`. False is as published; see
    Notes.""",
    guard="""guard : float, default=3.0
    Keeps the weights from resting on a few features: the diagonal of :math:`A_{tt}` is multiplied
    by 1 plus this number, as if the distances in every feature had a part of their own. 0 is the
    published criterion; large values make the weights about inversely proportional to the
    variance.""",
    missing="""missing : {"error"}, default="error"
    Missing cells raise an error. The criterion sums over all pairs of rows, and a pair with a
    missing cell has no distance that can be compared with the others. Fill missing cells first, for
    example with `fwkmeans.preprocessing.TableEncoder` and ``impute="median"``.""",
    tol="""tol : float, default=1e-6
    A run ends when F falls by no more than `tol` times what it would fall by, to first order, if no
    cluster had any dispersion. With 0 it continues until labels, centers and weights no longer
    change.""",
)
class SYNCLUS(BaseFeatureWeightedKMeans):
    r"""SYNCLUS, synthesized clustering: feature weights for given weights of groups [1]_.

    Within each group :math:`G_t` rows have the distances
    :math:`d_{ij}^{(t)} = \sum_{v \in G_t} w_v (y_{iv} - y_{jv})^2`. The algorithm looks for
    clusters and weights that make these distances, in all groups, look like
    :math:`\delta_{ij} = \alpha a^*_{ij} + \beta`, where :math:`a^*_{ij} = 1/n_k` if both rows are
    in cluster k, and 0 otherwise:

    .. math:: F = \frac{\sum_t \omega_t \sum_i \sum_j (\delta_{ij} - d_{ij}^{(t)})^2}
                       {\sum_i \sum_j \delta_{ij}^2}

    The steps are assignment by :math:`\sum_t \omega_t \sum_{v \in G_t} w_v (y_{iv} - c_{kv})^2`,
    means, the regression line, and non-negative least squares for the weights of each group:

    .. math:: \alpha = -\frac{2 \bar B}{K - 1}, \quad \beta = \frac{2 \bar T - \alpha}{N}, \qquad
              \min_{w_t \ge 0} w_t^\top A_{tt} w_t - 2 g_t^\top w_t, \quad
              g_v = 4 \Big(\bar T T_v + \frac{\bar B B_v}{K - 1}\Big)

    where :math:`T_v` is the scatter, :math:`B_v` its part between clusters,
    :math:`\bar T = \sum_t \omega_t \sum_{v \in G_t} w_v T_v`, :math:`\bar B` is defined likewise,
    and :math:`A_{uv} = \sum_i \sum_j (y_{iu} - y_{ju})^2 (y_{iv} - y_{jv})^2`.

    Parameters
    ----------
    {n_clusters}
    groups : None, "auto", mapping, sequence of columns or one label per column, default=None
        The groups: a mapping from group name to columns, a sequence with the columns of each
        group, or one label for every column. Columns are names, indices, masks or slices. None
        means one group; "auto" looks for columns that depend on each other, see
        `group_features`.
    group_weights : None, mapping or sequence of numbers, default=None
        Weights of the groups, in the order of the groups or as a mapping from group names. They
        must not be negative, and they are scaled to sum to one. A group with weight 0 does not
        influence the clusters, but its features still get weights. None means equal weights.
    {parameters}

    Attributes
    ----------
    {attributes}
    group_weights_ : ndarray of shape (n_groups,)
        The weights of the groups, scaled to sum to one.
    groups_ : dict
        Indices of the columns of each group, by group name (or number), in the order of
        `group_weights_`.
    alpha_, beta_ : float
        The line. Of all pairs, this one minimizes F for the returned labels and weights. It is the
        least-squares line above times 1/(1 - F). If `centred`, beta is chosen such that delta has
        the same mean as the distances. With one cluster alpha is 0.
    stress_ : float
        F, which equals `inertia_`.

    See Also
    --------
    FGKMeans : Finds weights of the groups, in each cluster.
    ConvexKMeans : Finds weights of the groups from a grid.

    Notes
    -----
    F depends only on labels and weights, and lies in [0, 1). It never rises while as many clusters
    have rows; if a cluster gets its first rows later, F may rise once. `score` uses the labels that
    the rows of X get, and the distances among these rows. All sums over pairs follow from one pass
    over the rows before the first iteration, which costs :math:`O(N \sum_t M_t^2)`; no matrix of
    distances is formed. An iteration costs O(N K M) and :math:`O(\sum_t M_t^3)`.

    With `weight_init="inverse-variance"` and given initial centers, the clusters do not depend on
    the units of the features. Groups matter if their distances differ in kind. If one group shows
    the clusters and the others are noise, the criterion still requires every group to fit.

    SYNCLUS fails if distances are nearly constant whatever the clusters are. :math:`\bar T^2`, the
    part of F that a constant explains, usually outweighs :math:`\bar B^2 / (K - 1)`, and noise
    features then keep much of their weight. ``centred=True`` leaves this part out. Results depend
    on the starts more than for most algorithms. A group that has only constant features adds its
    weight to F. A row with sample weight s counts as s rows.

    References
    ----------
    .. [1] DeSarbo, Carroll, Clark & Green (1984). Synthesized clustering: a method for amalgamating
       alternative clustering bases with differential weighting of variables. Psychometrika 49(1).
       doi:10.1007/BF02294206

    Examples
    --------
    >>> from fwkmeans import SYNCLUS
    >>> from fwkmeans.datasets import add_noise_features, load_uci
    >>> from fwkmeans.preprocessing import RangeStandardizer
    >>> X = load_uci("iris").data
    >>> X = RangeStandardizer().fit_transform(add_noise_features(X, random_state=0))
    >>> groups = {"flower": range(4), "noise": range(4, 8)}
    >>> model = SYNCLUS(3, groups=groups, group_weights=[0.9, 0.1], random_state=0).fit(X)
    >>> model.feature_weights_.shape
    (3, 8)
    """

    traits = Traits(
        no_parameter=True,
        deterministic=False,
        distance_bias=False,
        several_weights=True,
        finds_groups=False,
        learns_all_weights=False,
        categorical=False,
        weighs_groups=False,
    )

    survey_settings: ClassVar = {"guard": 0.0}

    _constraints: ClassVar = {
        **StressWeights._constraints,
        "group_weights": NONE | MAPPING | several("one weight for each group"),
        "weight_init": one_of("uniform", "inverse-variance", "random")
        | several("an array of weights"),
        "missing": one_of("error").but(
            "SYNCLUS compares all pairs of rows, and pairs with a missing cell have no distance "
            "that can be compared with those of the others. Fill the gaps first, for example with "
            "fwkmeans.preprocessing.TableEncoder(impute='median')."
        ),
    }

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        groups: Any = None,
        group_weights: Any = None,
        weight_init: Any = "uniform",
        centred: bool = False,
        guard: float = 3.0,
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-6,
        missing: str = "error",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.groups = groups
        self.group_weights = group_weights
        self.weight_init = weight_init
        self.centred = centred
        self.guard = guard
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.missing = missing
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _why_no_stream(self) -> str | None:
        return "its weights follow from the products of all pairs of rows"

    def _why_not_sparse(self) -> str | None:
        return "it sums the products of all pairs of columns"

    def _recipe(self, source: Source, table: Description) -> Recipe:
        groups = self._groups()
        rule = StressWeights(
            groups.numbers, self._omega(groups), bool(self.centred), float(self.guard)
        )
        return Recipe(SquaredEuclidean(), MeanCenter(), rule)

    def _groups(self) -> Groups:
        return groups_of_estimator(self, "groups")

    def _omega(self, groups: Groups) -> FloatArray | None:
        """Return the weights of the groups in their order, as given."""
        given = self.group_weights
        if given is None:
            return None
        if isinstance(given, Mapping):
            if set(given) != set(groups.names):
                raise ValueError(
                    f"group_weights names the groups {list(given)}, but they are {groups.names}. "
                    "Give one weight for each."
                )
            given = [given[name] for name in groups.names]
        values = np.asarray(given)
        if values.shape != (len(groups.names),):
            raise ValueError(
                f"group_weights has shape {values.shape}; expected ({len(groups.names)},): one "
                f"weight for each of the groups {groups.names}."
            )
        return values

    def _initial_weights(self, plan: Plan, seeds: Seeds, starts: range) -> Weights:
        how, table = self.weight_init, plan.table
        if isinstance(how, str) and how == "inverse-variance":
            varying = table.scatter > 0
            least = table.scatter[varying].min(initial=np.inf)
            how = np.where(varying, least / np.where(varying, table.scatter, 1.0), 0.0)
            how = how if varying.any() else "uniform"
        weights = initial_weights_of(self, plan, seeds, starts, how)
        if not plan.recipe.weighting.effective(weights).values.any(axis=(-2, -1)).all():
            raise ValueError(
                "weight_init gives weight only to features of groups whose group weight is 0. Give "
                "weight to a feature of another group."
            )
        return weights

    def _set_fitted(
        self, source: Source, recipe: Recipe, table: Description, run: Run
    ) -> FloatArray:
        rule, groups = recipe.weighting, self._groups()
        self.group_weights_ = np.array(rule.group_weights)  # type: ignore[attr-defined]
        self.groups_ = {
            name: np.flatnonzero(groups.numbers == t) for t, name in enumerate(groups.names)
        }
        mass = super()._set_fitted(source, recipe, table, run)
        context, within = self._clusters(source, table)
        line = rule.lines(within, self._weights(), context)[0]  # type: ignore[attr-defined]
        self.alpha_, self.beta_, self.stress_ = line[:3]
        return mass

    def _label(
        self,
        source: Source,
        table: Description,
        rule: WeightRuleProtocol,
        run: Run | None = None,
    ) -> tuple[LabelArray, float, FloatArray]:
        labels, _, mass = super()._label(source, table, rule, run)
        context, within = self._clusters(source, table)
        return labels, float(rule.objective(within, self._weights(), context)[0]), mass

    def _clusters(self, source: Source, table: Description) -> tuple[WeightContext, FloatArray]:
        """Return the mass and the weighted dispersion of the clusters of these rows.

        The dispersion is that about their own means, because the stress is defined by those.
        """
        assignment = self._assignment()
        dissimilarity, center, _ = self._parts
        statistics = source.reduce(dissimilarity.accumulation(assignment))
        means = center.update(statistics, assignment, source)
        dispersion = dissimilarity.dispersion(statistics, assignment, means, source, table)
        context = WeightContext(statistics.mass, self._weights(), table)
        within = dissimilarity.combine(assignment.weights, dispersion)
        return context, assignment.scale * within
