"""Convex K-Means: weights of whole feature spaces, chosen from candidates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from fwkmeans._engine import Recipe, Run
from fwkmeans._init import Seeds
from fwkmeans._support.checks import at_least_zero, integer, one_of, several
from fwkmeans.centers import DirectionCenter, MeanCenter
from fwkmeans.dissimilarities import SquaredEuclidean, UnitSquaredEuclidean
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.estimators.convex_search import Search, Spaces, grid_of
from fwkmeans.estimators.docstrings import documented
from fwkmeans.estimators.groups import Groups, groups_of_estimator
from fwkmeans.estimators.plan import Plan
from fwkmeans.estimators.traits import Traits
from fwkmeans.sources import describe, observed_mass
from fwkmeans.sources.directions import unit_rows
from fwkmeans.typing import BoolArray, Description, FloatArray, IntArray, Source
from fwkmeans.weighting import FixedWeights


@documented(
    "For each feature the weight of its space; all rows are equal. With one feature per space each "
    "row sums to 1.",
    init="""init : {"k-means++", "random", "anomalous"}, array or callable, default="k-means++"
    Initial centers, the same for every candidate. "k-means++" draws rows that are far from each
    other, by greedy k-means++; of large tables, among candidates drawn from all rows. "random"
    draws rows at random. "anomalous" takes anomalous patterns. An array or frame of shape
    (n_clusters, n_features) is used as it is. A callable is called as
    ``init(X, n_clusters, random_state=...)`` and returns the centers. In
    spherical spaces centers are scaled to unit length, like the rows. There the X of the callable
    holds rows of unit length, and NaN where a row is zero.""",
    n_init="""n_init : int or "auto", default="auto"
    Number of starts of each candidate; the one with the lowest objective is kept. "auto" is 1 if
    `init` is an array, and 10 otherwise.""",
)
class ConvexKMeans(BaseFeatureWeightedKMeans):
    r"""CK-Means, convex K-Means: one weight for each feature space, chosen from a set [1]_.

    Columns form spaces, each with its own distortion: the squared Euclidean distance or, for
    spherical spaces, twice one minus the cosine. For given weights :math:`w \ge 0, \sum_l w_l = 1`,
    K-Means minimizes

    .. math:: W(S, C) = \sum_k \sum_{i \in S_k} \sum_l w_l D_l(y_{il}, c_{kl}), \qquad
              D_l(y, c) = \|y - c\|^2 \text{ or } 2 (1 - y^\top c)

    with means, or the directions :math:`\sum y / \|\sum y\|`, as centers. Of all candidates, the
    algorithm chooses the weights with the lowest

    .. math:: Q(w) = \prod_l \Big(\frac{\Gamma_l}{\Lambda_l}\Big)^{e_l}, \qquad
              \Gamma_l = \sum_k \sum_{i \in S_k} D_l(y_{il}, c_{kl}), \quad
              \Lambda_l = \sum_i D_l(y_{il}, \bar c_l) - \Gamma_l

    This is a generalized Fisher criterion: the distortion within clusters divided by that between
    clusters, multiplied over all spaces, where :math:`\bar c_l` is the centroid of all rows. W
    itself would give all the weight to one space.

    Parameters
    ----------
    {n_clusters}
    spaces : None, "auto", mapping, sequence of columns or one label per column, default=None
        The spaces: a mapping from name to columns, a sequence with the columns of each space, or
        one label for every column. Columns are names, indices, masks or slices. None means
        one space for every column; "auto" looks for columns that depend on each other, see
        `group_features`.
    spherical : None, bool, or names, indices or mask of spaces, default=None
        The spaces in which only the direction of a row counts, for example word counts. Rows are
        scaled to unit length there (in a copy if they are in memory). A row that is zero in such a
        space counts as missing there, and so does a row with a missing cell; it contributes
        nothing. If that leaves a row without any space, it goes to the first cluster. True means
        all spaces; None and False mean no space.
    grid : "auto", int or array of shape (n_candidates, n_spaces), default="auto"
        The candidates. An integer r means the lattice of all weights that are multiples of 1/r. An
        array holds one candidate per row, scaled to sum to one. "auto" depends on the number of
        spaces: for two, the steps 1/20, 2/20, ..., 19/20; for three or four, the lattice with
        r = 10; for more, a search (see Notes).
    exponent : {"coverage", "one", "dimension"}, default="coverage"
        The exponents :math:`e_l`: the fraction of rows that are not missing in the space, 1, or its
        number of columns. If no rows are missing, "coverage" is the same as "one".
    guard : float, default=1.0
        This share g of a space's total distortion :math:`T_l = \Gamma_l + \Lambda_l` counts both
        within and between clusters, :math:`(\Gamma_l + g T_l) / (\Lambda_l + g T_l)`. No space can
        then decide Q alone because it has few distinct values or is noise. 0 is as published.
    {parameters}

    Attributes
    ----------
    {attributes}
    space_weights_ : ndarray of shape (n_spaces,)
        The weights of the spaces, which sum to 1.
    spaces_ : dict
        Indices of the columns of each space, by name (or number), in the order of
        `space_weights_`.
    candidates_ : ndarray of shape (n_candidates, n_spaces)
        All weights that were tried.
    fisher_values_ : ndarray of shape (n_candidates,)
        Q of each candidate; with ``guard=0`` infinite if the clusters do not differ at all in some
        space.
    best_candidate_ : int
        Index of the chosen candidate.
    on_boundary_ : bool
        Whether the chosen weight of some space is the lowest or highest among the candidates (after
        a search: whether it is 0). Better weights may then lie outside the grid.

    See Also
    --------
    FGKMeans : Weights of groups in each cluster, which follow from a criterion.
    SYNCLUS : Feature weights for given weights of groups.

    Notes
    -----
    CK-Means works well if several spaces show the same clusters in units that cannot be compared,
    for example text and measurements. As published (``guard=0``) it is not meant for spaces of
    noise: a space that the clusters do not separate has a :math:`\Gamma_l / \Lambda_l` near
    N/(K-1), so Q would rather split noise than ignore it. If a space has few distinct values, some
    clusters have no distortion in it at all, and Q may then favor that space whatever the others
    show. The guard bounds both.

    Nothing guarantees that good weights are among the candidates, and the chosen ones are often at
    the edge of the grid, so look at `on_boundary_`. Q changes only where the clusters change. Among
    candidates whose Q is the same up to rounding, the one with the most even weights is chosen; of
    those the one with the lowest W, then the first.

    Lattices contain weights of 0, because a space can be left out if others imply its clusters, and
    steps of 1/10 come no closer to 0. Two spaces have finer steps and always keep both, since
    either space alone is ordinary K-Means. A constant space has weight 0 and is not part of Q. All
    columns of a spherical space have its weight, constant or not.

    For more than four spaces there is a search, in units in which all spaces have the same total
    distortion. It first tries even weights, mixtures of even weights and one space in equal parts,
    32 random weights, and even weights in the given units. From the best of these it moves 0.2,
    then 0.1, then 0.05 of the weight from one space to another (from one of the 5, 10, 20 heaviest
    to any other), at most five times each, as long as Q falls. These candidates start from the best
    centers so far and from one other start.

    The cost is that of K-Means times candidates times starts, all run as one batch. There are 19,
    66 and 286 candidates for two, three and four spaces. Standardize the spaces beforehand, since
    weights are relative to their units.

    References
    ----------
    .. [1] Modha & Spangler (2003). Feature weighting in k-means clustering. Machine Learning 52(3).
       doi:10.1023/A:1024016609528

    Examples
    --------
    >>> from fwkmeans import ConvexKMeans
    >>> from fwkmeans.datasets import add_noise_features, load_uci
    >>> from fwkmeans.preprocessing import RangeStandardizer
    >>> X = load_uci("iris").data
    >>> X = RangeStandardizer().fit_transform(add_noise_features(X, random_state=0))
    >>> spaces = {"sepal": [0, 1], "petal": [2, 3], "noise": range(4, 8)}
    >>> model = ConvexKMeans(3, spaces=spaces, random_state=0).fit(X)
    >>> dict(zip(model.spaces_, model.space_weights_.tolist()))
    {'sepal': 0.5, 'petal': 0.4, 'noise': 0.1}
    """

    traits = Traits(
        no_parameter=True,
        deterministic=False,
        distance_bias=True,
        several_weights=False,
        finds_groups=False,
        learns_all_weights=False,
        categorical=False,
        weighs_groups=False,
    )

    survey_settings: ClassVar = {"guard": 0.0}

    _is_one_batch = False
    _constraints: ClassVar = {
        "grid": one_of("auto") | integer(1) | several("an array of weights"),
        "exponent": one_of("coverage", "one", "dimension"),
        "guard": at_least_zero(),
    }

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        spaces: Any = None,
        spherical: Any = None,
        grid: Any = "auto",
        exponent: str = "coverage",
        guard: float = 1.0,
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
        self.spaces = spaces
        self.spherical = spherical
        self.grid = grid
        self.exponent = exponent
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
        return "its weights are chosen by comparing whole clusterings"

    def _recipe(self, source: Source, table: Description) -> Recipe:
        self._describe_spaces(source, table)  # raises for bad parameters before anything is run
        spaces = self._spaces()
        spherical = self._is_spherical(spaces)
        if not spherical.any():
            return Recipe(SquaredEuclidean(), MeanCenter(), FixedWeights())
        numbers = np.where(spherical, np.cumsum(spherical) - 1, -1)[spaces.numbers]
        return Recipe(UnitSquaredEuclidean(), DirectionCenter(numbers), FixedWeights())

    def _view(self, source: Source, *, reset: bool) -> Source:
        if reset:
            self._unit_spaces = self._directions()
        if not self._unit_spaces:
            return source
        return source.mapped(partial(unit_rows, spaces=self._unit_spaces))

    def _spaces(self) -> Groups:
        names = self._names
        if self.spaces is None:
            columns = np.arange(self.n_features_in_)
            return Groups(columns.tolist() if names is None else list(names), columns)
        return groups_of_estimator(self, "spaces")

    def _is_spherical(self, spaces: Groups) -> BoolArray:
        return resolve_spherical(self.spherical, spaces.names)

    def _directions(self) -> list[IntArray]:
        """Return the columns of each spherical space."""
        spaces = self._spaces()
        return [
            np.flatnonzero(spaces.numbers == number)
            for number in np.flatnonzero(self._is_spherical(spaces))
        ]

    def _initial_centers(self, plan: Plan, seeds: Seeds, starts: range) -> FloatArray:
        centers = super()._initial_centers(plan, seeds, starts)
        if not self._unit_spaces:
            return centers
        flat = unit_rows(centers.reshape(-1, centers.shape[-1]), self._unit_spaces)
        return np.where(np.isnan(flat), plan.table.center, flat).reshape(centers.shape)

    def _describe_spaces(self, source: Source, table: Description) -> Spaces:
        spaces = self._spaces()
        n_spaces, spherical = len(spaces.names), self._is_spherical(spaces)
        totals = np.bincount(spaces.numbers, table.scatter, n_spaces)
        used = np.bincount(spaces.numbers, table.scatter > 0, n_spaces) > 0
        coverage = np.ones(n_spaces)
        columns = np.bincount(spaces.numbers, minlength=n_spaces).astype(np.float64)
        if source.gaps:
            rows = source.forget("weight")  # with the weights that the user gave
            present = observed_mass(rows) / describe(rows)[0].mass
            coverage = np.bincount(spaces.numbers, present, n_spaces) / columns
        level = 16.0 * np.finfo(source.dtype).eps * coverage * table.mass
        used &= ~spherical | (totals > level)
        used = used if used.any() else np.ones(n_spaces, dtype=np.bool_)
        exponents = {
            "coverage": coverage,
            "one": np.ones(n_spaces),
            "dimension": columns,
        }[self.exponent]
        weighted = table.varying | spherical[spaces.numbers]
        guard = float(self.guard)
        return Spaces(spaces.numbers, weighted, np.maximum(totals, 0.0), used, exponents, guard)

    def _best_run(self, plan: Plan) -> Run:
        spaces = self._describe_spaces(plan.source, plan.table)
        grid = grid_of(self.grid, spaces)
        centers = self._initial_centers(plan, plan.seeds, range(plan.n_starts))
        search = Search(self, plan, spaces, centers)
        result = search.anywhere(plan.seeds) if grid is None else search.over(grid)
        self.candidates_ = result.candidates
        with np.errstate(over="ignore"):
            self.fisher_values_ = np.exp(result.log_fisher)
        self.best_candidate_ = result.best.number
        self.on_boundary_ = result.on_boundary
        self.space_weights_ = result.best.weights.copy()
        return result.best.run

    def _set_fitted(
        self, source: Source, recipe: Recipe, table: Description, run: Run
    ) -> FloatArray:
        spaces = self._spaces()
        self.spaces_ = {
            name: np.flatnonzero(spaces.numbers == number)
            for number, name in enumerate(spaces.names)
        }
        return super()._set_fitted(source, recipe, table, run)


def resolve_spherical(spherical: Any, names: Sequence[Any]) -> BoolArray:
    """Return which spaces are spherical, from names, indices, a mask or a single bool."""
    chosen = np.zeros(len(names), dtype=np.bool_)
    if spherical is None:
        return chosen
    if isinstance(spherical, bool | np.bool_):
        chosen[:] = spherical
        return chosen
    if isinstance(spherical, str):
        spherical = [spherical]
    if not hasattr(spherical, "__len__") or isinstance(spherical, dict):
        raise TypeError(
            f"spherical={spherical!r}: expected True, False, or the names, indices or a mask of "
            "spaces."
        )
    entries = [e.item() if isinstance(e, np.generic) else e for e in spherical]
    if entries and all(isinstance(entry, bool) for entry in entries):
        if len(entries) != len(names):
            raise ValueError(
                f"spherical is a mask of length {len(entries)} for {len(names)} spaces; expected "
                "one entry for each."
            )
        return np.asarray(entries, dtype=np.bool_)
    known = list(names)
    by_name = all(entry in known for entry in entries)
    for entry in entries:
        at = known.index(entry) if by_name else entry
        if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at < len(known):
            raise ValueError(
                f"spherical names the space {entry!r}; the spaces are {known[:20]}. Give their "
                "names, or indices from 0."
            )
        chosen[at] = True
    return chosen
