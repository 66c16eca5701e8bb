"""What all estimators share: the scikit-learn interface of the engine."""

from __future__ import annotations

import logging
from abc import ABCMeta, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fwkmeans._core.passes import Labeling
from fwkmeans._engine import (
    Recipe,
    Run,
    assignment_of,
)
from fwkmeans._engine.stream import Stream
from fwkmeans._init import Seeds
from fwkmeans._support.arrays import is_dask, like, to_host
from fwkmeans._support.progress import show_progress
from fwkmeans._support.sklearn_compat import NotebookMixin
from fwkmeans._support.warn import silent_overflow
from fwkmeans.estimators.batches import best_run
from fwkmeans.estimators.constraints import check_parameters
from fwkmeans.estimators.inputs import (
    Input,
    describe_rows,
    open_rows,
    source_of_gaps,
    why_not_sparse,
)
from fwkmeans.estimators.model import OfTable
from fwkmeans.estimators.notebook import html_repr
from fwkmeans.estimators.plan import Plan, bound_parts, make_plan
from fwkmeans.estimators.publish import label_rows, publish, set_attributes
from fwkmeans.estimators.searches import warn_if_searched
from fwkmeans.estimators.starts import (
    initial_centers_of,
    initial_weights_of,
)
from fwkmeans.estimators.streaming import batches_of, check_decay, has_stream, learn_batch
from fwkmeans.estimators.traits import Traits
from fwkmeans.sources import MemorySource, count_faults
from fwkmeans.typing import (
    Assignment,
    Description,
    FloatArray,
    IntArray,
    LabelArray,
    Source,
    WeightRuleProtocol,
    Weights,
)

logger = logging.getLogger("fwkmeans")

_TINY = 1e-290  # smaller sums of squares leave no digits for the dispersions of clusters


def _finds_groups(model: BaseFeatureWeightedKMeans) -> bool:
    """Tell whether groups of columns follow from the table; nothing is known of them yet."""
    model.__dict__.pop("_found_groups", None)
    given = (vars(model).get(name) for name in ("groups", "spaces"))
    return any(isinstance(one, str) and one == "auto" for one in given)


def _fits_by_plan(model: BaseFeatureWeightedKMeans) -> bool:
    """Tell whether starts of the loop fit a model; `AutoKMeans` has a search of its own."""
    return type(model)._fit is BaseFeatureWeightedKMeans._fit


class BaseFeatureWeightedKMeans(
    OfTable,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    NotebookMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """Check the input, build the recipe, run the starts, keep the best one, set the attributes."""

    traits: ClassVar[Traits]  # of the named algorithms
    #: Parameters as in the survey's experiments; see `as_in_survey`.
    survey_settings: ClassVar[Mapping[str, Any]] = {}
    _is_one_batch: ClassVar[bool] = True  # the best of its starts is the result
    #: Attributes of a fitted model that show parameters of its rule, which were "auto" perhaps.
    _shown_of_rule: ClassVar[Mapping[str, str]] = {}
    #: Whether `_recipe` looks at the parameters alone, and no other step is its own: what they
    #: decide is then remembered. A class says so for itself only.
    _recipe_of_parameters: ClassVar[bool] = False
    n_clusters: int | None
    init: Any
    n_init: Any
    max_iter: int
    tol: float
    n_jobs: int | None
    verbose: int
    random_state: Any

    # of a fitted model, set by `publish`
    labels_: LabelArray
    cluster_centers_: FloatArray
    feature_weights_: FloatArray
    inertia_: float
    n_iter_: int
    converged_: bool
    n_clusters_: int
    objective_history_: FloatArray
    _parts: Recipe  # bound to the table
    _table: Description
    _memory: Mapping[str, FloatArray]  # of the weight rule
    _frequencies: FloatArray  # (K, levels) of the centers
    _stream: Stream  # of partial_fit, while no fit follows
    _unit_spaces: Sequence[IntArray]  # in which only directions count
    _found_groups: IntArray
    n_features_in_: int
    n_steps_: int
    category_frequencies_: Any
    modes_: Any
    groups_: Mapping[Any, IntArray]  # of those that weigh groups
    group_weights_: FloatArray
    # of those that take categories
    categorical_features: Any
    missing_category: str
    handle_unknown: str

    _html_repr = html_repr  # scikit-learn shows it in notebooks

    @abstractmethod
    def _recipe(self, source: Source, table: Description) -> Recipe:
        """Return the parts of the algorithm, for the table of fit."""

    @classmethod
    def as_in_survey(cls, n_clusters: int | None = 8, **parameters: Any) -> Self:
        """Return the algorithm as its paper states it and as the survey's experiments ran it.

        The defaults of this package are those that do best over many tables; they differ from the
        published algorithms where these let a nearly constant column take all the weight. The
        settings are in ``survey_settings``.

        Parameters
        ----------
        n_clusters : int or None, default=8
            Number of clusters.
        **parameters
            Other parameters; they take precedence.

        Returns
        -------
        estimator
            The estimator, not fitted.
        """
        return cls(n_clusters, **{**cls.survey_settings, **parameters})

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, device: Any = None) -> Self:
        """Compute the clustering.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features), path or source
            The rows. A path names a file or folder that is read in blocks: Parquet, Arrow, CSV,
            Zarr or ``.npy``; so is what a function gives that returns an iterator of blocks. A Dask
            array or frame is clustered where it is.
        y : Ignored
            Present for API consistency.
        sample_weight : array-like of shape (n_samples,) or str, default=None
            Non-negative weight of each row; an integer weight counts like repeated rows. Of a file
            it may be the name of a column.
        device : str, default=None
            Where the passes over the rows are computed, such as ``"cuda"``; None means where X is.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._fit(X, sample_weight, device)
        return self

    def _fit(self, X: Any, sample_weight: Any, device: Any = None) -> None:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # see silent_overflow
            plan = make_plan(self, X, sample_weight, device)
            for name in ("_stream", "n_steps_"):  # of partial_fit
                self.__dict__.pop(name, None)
            if self.verbose:
                with show_progress(self.verbose):
                    run = self._best_run(plan)
            else:
                run = self._best_run(plan)
            publish(self, plan, run)
        if type(X) is np.ndarray and device is None:
            return  # all is NumPy's
        for name, value in vars(self).items():
            if name.endswith("_") and (name == "labels_" or type(value) is np.ndarray):
                setattr(self, name, like(value, X))

    @available_if(_fits_by_plan)  # type: ignore[untyped-decorator]
    def explain_plan(self, X: Any, sample_weight: Any = None, *, device: Any = None) -> str:
        """Return what `fit` would run, where, in which batches, and why; nothing is fitted.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features), path or source
            The rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weight of each row.
        device : str, default=None
            Where the passes over the rows would be computed; None means where X is.

        Returns
        -------
        text : str
            A few lines.

        Examples
        --------
        >>> from fwkmeans import KMeans
        >>> from fwkmeans.datasets import load_uci
        >>> print(KMeans(3).explain_plan(load_uci("iris").data))
        KMeans: 3 clusters, UniformWeights()
        rows: 150 x 4, float64 numbers, in 1 block of MemorySource
        starts: 10 from 'k-means++'
        batches: 1 of 10 starts
        loop: in the compiled core, at most 300 iterations, tol=1e-06
        """
        model = clone(self)
        with silent_overflow():
            return make_plan(model, X, sample_weight, device).explain(model)

    @available_if(has_stream)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        batch_size: int | None = None,
        decay: float = 1.0,
    ) -> Self:
        """Learn from a batch of rows, and keep what earlier batches have taught.

        The first batch starts the clusters, as `fit` would with one start. Each batch is then one
        iteration: its rows are assigned, and centers and weights follow from the sums over all
        batches. So one batch with all rows is the same as ``fit`` with ``max_iter=1, n_init=1``.
        After `fit`, the first batch begins at its centers and weights; the rows of `fit` do not
        count.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            The rows of the batch. The first one needs at least as many as there are clusters.
        y : Ignored
            Present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weight of each row.
        batch_size : int, default=None
            Cut X into batches of this many rows, in their order. None means that X is one batch.
        decay : float, default=1.0
            What the sums of earlier batches are multiplied by before a batch is added. With 1 all
            rows count the same, as in `sklearn.cluster.MiniBatchKMeans`. A lower value follows
            clusters that move: after n batches a row counts ``decay**n``. A cluster that has less
            than 1% of the mean mass of clusters left is then moved to where rows are.

        Returns
        -------
        self : object
            The estimator. `labels_` and `inertia_` are those of the last batch, `n_steps_` is the
            number of batches.
        """
        self._check_parameters()
        check_decay(decay)
        with silent_overflow():
            for rows, weight in batches_of(X, sample_weight, batch_size):
                learn_batch(self, rows, weight, float(decay))
        return self

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, device: Any = None
    ) -> LabelArray:
        """Compute the clustering and return the labels.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features), path or source
            The rows.
        y : Ignored
            Present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weight of each row.
        device : str, default=None
            Where the passes over the rows are computed, such as ``"cuda"``; None means where X is.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Number of the cluster of each row.
        """
        self._fit(X, sample_weight, device)
        return self.labels_

    def fit_transform(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, device: Any = None
    ) -> Any:
        """Compute the clustering and return the distances of the rows to the centers.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features), path or source
            The rows.
        y : Ignored
            Present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weight of each row.
        device : str, default=None
            Where the passes over the rows are computed, such as ``"cuda"``; None means where X is.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            See `transform`.
        """
        self._fit(X, sample_weight, device)
        return self.transform(X, device=device)

    def predict(self, X: Any, *, device: Any = None) -> LabelArray:
        """Return the nearest center of each row, by the weighted dissimilarity.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features), path or source
            The rows.
        device : str, default=None
            Where the passes over the rows are computed, such as ``"cuda"``; None means where X is.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Number of the cluster of each row; the lowest on ties.
        """
        self._check_is_fitted()
        if is_dask(X):
            later: LabelArray = self._compute_later("predict", X)
            return later
        source = self._opened(X, None, reset=False, device=device).source
        labeling = self._parts.dissimilarity.labeling(self._assignment())
        found = np.nan
        if isinstance(labeling, Labeling):
            labeling = replace(labeling, summed=False)
            if self._is_plain(source) and labeling.assigning.power is None:
                (found, _), labeled = source.run(labeling)
        if found != 0.0:  # the pass has not seen that all cells are finite: check them before
            _, labeled = self._checked(source).run(labeling)
        labels: LabelArray = like(labeled.gather("labels", axis=1)[0], X)
        return labels

    def transform(self, X: Any, *, device: Any = None) -> Any:
        """Return the distance of each row to each center.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features), path or source
            The rows.
        device : str, default=None
            Where the passes over the rows are computed, such as ``"cuda"``; None means where X is.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Square root of the weighted dissimilarity (the p-th root for Minkowski dissimilarities).
        """
        self._check_is_fitted()
        if is_dask(X):
            return self._compute_later("transform", X, self.n_clusters_)
        source = self._rows_of(X, device)
        _, source = source.run(self._parts.dissimilarity.distances(self._assignment()))
        distances = source.gather("distances")
        rescale = self._missing == "rescale"  # infinity has a meaning there
        if not rescale and not np.isfinite(float(distances.max())):
            raise ValueError(
                f"Distances are too large for {distances.dtype} numbers. Rescale X, for example "
                "with fwkmeans.preprocessing.RangeStandardizer, and fit again."
            )
        return like(distances, X)

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, device: Any = None
    ) -> float:
        """Return the negative of the algorithm's objective on these rows.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features), path or source
            The rows.
        y : Ignored
            Present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weight of each row.
        device : str, default=None
            Where the passes over the rows are computed, such as ``"cuda"``; None means where X is.

        Returns
        -------
        score : float
            On the rows of `fit` this is ``-inertia_``.
        """
        self._check_is_fitted()
        warn_if_searched()
        with silent_overflow():
            given = self._opened(X, sample_weight, reset=False, device=device)
            source, table = self._described(given, reset=False)
            _, table = bound_parts(self, self._parts, source, table)
            return -self._label(source, table, self._parts.weighting.observe(source, table))[1]

    def __sklearn_tags__(self) -> Tags:
        """Return what scikit-learn should know about the estimator."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.allow_nan = self._missing != "error"
        mixed = getattr(self, "categorical_features", None) is not None
        tags.input_tags.categorical = tags.input_tags.string = mixed
        tags.input_tags.sparse = why_not_sparse(self) is None
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[0])

    # ---- before the fit -------------------------------------------------------------------------

    def _check_is_fitted(self) -> None:
        if "cluster_centers_" not in vars(self):  # scikit-learn looks at tags, which takes long
            check_is_fitted(self)

    def _opened(self, X: Any, sample_weight: Any, *, reset: bool, device: Any = None) -> Input:
        """Return the rows that a user passed, and remember the codes of their categories."""
        coding = None if reset else vars(self).get("_coding")
        given = open_rows(self, X, sample_weight, coding, reset=reset, device=device)
        if reset and self._takes_categories:
            self._coding = given.coding
        if reset and _finds_groups(self):
            from fwkmeans.estimators.feature_groups import find_groups  # takes a while

            find_groups(self, given.source)
        return given

    def _compute_later(self, method: str, X: Any, n_columns: int | None = None) -> Any:
        """Return the Dask array of what a method says of the rows of a Dask collection."""
        from fwkmeans.estimators.dask import compute_later

        return compute_later(self, method, X, n_columns)

    def __getstate__(self) -> Any:
        """Return what is pickled: the labels of a Dask collection stay with its cluster."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if not is_dask(value)}

    def _why_no_stream(self) -> str | None:
        """Return why the algorithm has no `partial_fit`, None if it has."""
        return None

    def _rows_of(self, X: Any, device: Any = None) -> Source:
        """Return new rows as the algorithm of the fitted model sees them."""
        return self._checked(self._opened(X, None, reset=False, device=device).source)

    def _checked(self, source: Source) -> Source:
        """Return opened rows as the algorithm of the fitted model sees them."""
        return source_of_gaps(self, source, self._view, count_faults(source), reset=False)

    def _is_plain(self, source: Source) -> bool:
        """Tell whether the algorithm sees rows in memory as they are, if all cells are there."""
        unchanged = type(self)._view is BaseFeatureWeightedKMeans._view
        refuses = self._missing == "error"
        in_memory = isinstance(source, MemorySource) and source.layout.is_numeric
        return unchanged and refuses and in_memory

    def _view(self, source: Source, *, reset: bool) -> Source:
        """Return the rows as the algorithm sees them."""
        return source

    def _described(
        self, given: Input, *, reset: bool, refusal: str | None = None
    ) -> tuple[Source, Description]:
        """Return the rows as the algorithm sees them, and their description."""
        return describe_rows(self, given.source, self._view, reset=reset, refusal=refusal)

    def _check_parameters(self) -> None:
        check_parameters(self)

    @property
    def _weight_init(self) -> Any:
        """How initial weights are chosen."""
        return vars(self).get("weight_init", "uniform")

    @property
    def _columns(self) -> Sequence[Any]:
        """Names of the columns, or their numbers."""
        return range(self.n_features_in_) if self._names is None else self._names

    @property
    def _smallest_pattern(self) -> float:
        """The number of rows that an anomalous pattern must have."""
        return 1 if self.n_clusters is not None else 2

    @property
    def _may_find_fewer(self) -> bool:
        """Whether there may be fewer clusters than were asked for."""
        return False

    def _pattern_exponent(self) -> float | None:
        """Return the exponent of the weights of anomalous patterns; None means no weights."""
        return None

    def _pattern_options(self) -> dict[str, bool]:
        """Return options of the search for anomalous patterns; see `anomalous_start`."""
        return {}

    def _initial_centers(self, plan: Plan, seeds: Seeds, starts: range) -> FloatArray:
        return initial_centers_of(self, plan, seeds, starts)

    def _initial_weights(self, plan: Plan, seeds: Seeds, starts: range) -> Weights:
        return initial_weights_of(self, plan, seeds, starts)

    # ---- the fit --------------------------------------------------------------------------------

    def _best_run(self, plan: Plan) -> Run:
        return best_run(self, plan)

    def _set_fitted(
        self, source: Source, recipe: Recipe, table: Description, run: Run
    ) -> FloatArray:
        """Set the attributes; return the mass of each cluster."""
        return set_attributes(self, source, recipe, table, run)

    def _label(
        self,
        source: Source,
        table: Description,
        rule: WeightRuleProtocol,
        run: Run | None = None,
    ) -> tuple[LabelArray, float, FloatArray]:
        """Return labels, objective and mass of the clusters for the public centers and weights."""
        return label_rows(self, source, table, rule, run)

    def _weights(self) -> Weights:
        return Weights(to_host(self.feature_weights_)[None], self._memory)

    def _assignment(self, weights: Weights | None = None) -> Assignment:
        """Return the assignment by the public centers and weights."""
        weights = self._weights() if weights is None else weights
        layout = self._table.layout
        points = layout.numbers_of(to_host(self.cluster_centers_).astype(np.float64))
        centers = layout.centers(points, self._frequencies)
        return assignment_of(self._parts.weighting, centers[None], weights)
