"""What all estimators share: the scikit-learn interface of the engine."""

from __future__ import annotations

import logging
import math
from abc import ABCMeta, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fwkmeans._core.passes import Labeling
from fwkmeans._engine import (
    Recipe,
    Run,
    assignment_of,
    bind_parts,
    check_recipe,
    first_lowest,
)
from fwkmeans._init import Seeds
from fwkmeans._support.arrays import is_dask, like, to_host
from fwkmeans._support.checks import one_value_a_start
from fwkmeans._support.progress import show_progress
from fwkmeans._support.sklearn_compat import NotebookMixin
from fwkmeans._support.warn import silent_overflow, warn_user
from fwkmeans._tabular.columns import describe_columns
from fwkmeans.estimators.categories import describe_categories
from fwkmeans.estimators.constraints import check_parameters
from fwkmeans.estimators.dominance import warn_of_dominant_column
from fwkmeans.estimators.feature_groups import find_groups
from fwkmeans.estimators.inputs import (
    Input,
    describe_rows,
    open_rows,
    source_of_gaps,
    why_not_sparse,
)
from fwkmeans.estimators.notebook import html_repr
from fwkmeans.estimators.plain_fits import check_settings, fit_plainly
from fwkmeans.estimators.searches import warn_if_searched
from fwkmeans.estimators.spreads import warn_of_unequal_spreads
from fwkmeans.estimators.starts import (
    Problem,
    initial_centers_of,
    initial_weights_of,
    is_anomalous,
    n_starts_of,
    with_patterns,
)
from fwkmeans.estimators.streaming import batches_of, check_decay, has_stream, learn_batch
from fwkmeans.estimators.traits import Traits
from fwkmeans.exceptions import FewerClustersWarning, NotConvergedWarning
from fwkmeans.sources import MemorySource, SparseSource, count_faults
from fwkmeans.sources.sparse import to_scipy
from fwkmeans.typing import (
    Assignment,
    Description,
    FloatArray,
    LabelArray,
    Labeled,
    Source,
    WeightContext,
    WeightRuleProtocol,
    Weights,
)

logger = logging.getLogger("fwkmeans")

_TINY = 1e-290  # smaller sums of squares leave no digits for the dispersions of clusters


class BaseFeatureWeightedKMeans(
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
    #: Whether usual fits may be done in few steps (`plain_fits`): `_recipe` looks at the parameters
    #: alone, and no other step is its own. A class says so for itself only.
    _fits_plainly: ClassVar[bool] = False
    n_clusters: int | None
    init: Any
    n_init: Any
    max_iter: int
    tol: float
    n_jobs: int | None
    verbose: int
    random_state: Any

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
        settings = check_settings(self)
        for name in ("_stream", "n_steps_"):  # of partial_fit
            self.__dict__.pop(name, None)
        usual = settings is not None and sample_weight is None and device is None
        if not (usual and fit_plainly(self, X, settings)):
            with silent_overflow():
                self._fit_checked(X, sample_weight, device)
        if type(X) is np.ndarray and device is None:
            return  # all is NumPy's
        for name, value in vars(self).items():
            if name.endswith("_") and (name == "labels_" or type(value) is np.ndarray):
                setattr(self, name, like(value, X))

    def _fit_checked(self, X: Any, sample_weight: Any, device: Any = None) -> None:
        given = self._opened(X, sample_weight, reset=True, device=device)
        source, table = self._described(given, reset=True)
        warn_of_unequal_spreads(self, table)
        with show_progress(self.verbose):
            problem = self._problem(given, source, table)
            run = self._best_run(problem, n_starts_of(self))
        self._set_run(problem, run)

    def _set_run(self, problem: Problem, run: Run) -> None:
        """Set the attributes of the best start, and warn of what is odd about it."""
        if not math.isfinite(run.objective):
            raise ValueError(
                f"{problem.recipe.weighting!r} led to an objective that is not finite. Are its "
                "weights finite, and are the values of X below 1e150 in size? Rescale the columns, "
                "for example with fwkmeans.preprocessing.RangeStandardizer."
            )
        mass = self._set_fitted(problem.source, problem.recipe, problem.table, run)
        self._warn_of(run, mass)
        warn_of_dominant_column(self, problem.table)

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
            labeling = labeling._replace(summed=False)
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
        rescale = getattr(self, "missing", "error") == "rescale"  # infinity has a meaning there
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
            _, table = self._bound(self._parts, source, table)
            return -self._label(source, table, self._parts.weighting.observe(source, table))[1]

    def __sklearn_tags__(self) -> Tags:
        """Return what scikit-learn should know about the estimator."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.allow_nan = getattr(self, "missing", "error") != "error"
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
        coding = None if reset else getattr(self, "_coding", None)
        given = open_rows(self, X, sample_weight, coding, reset=reset, device=device)
        if reset and hasattr(self, "categorical_features"):
            self._coding = given.coding
        if reset:
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

    def _why_not_sparse(self) -> str | None:
        """Return why the algorithm cannot use sparse rows, None if it can."""
        return None

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
        refuses = getattr(self, "missing", "error") == "error"
        in_memory = isinstance(source, MemorySource) and source.layout.is_numeric
        return unchanged and refuses and in_memory

    def _problem(self, given: Input, source: Source, table: Description) -> Problem:
        """Return the parts bound to the table, its description, and what all starts share."""
        if self.n_clusters is not None and table.n_rows < self.n_clusters:
            raise ValueError(
                f"n_samples={table.n_rows} (rows with weight) should be >= "
                f"n_clusters={self.n_clusters}. Ask for fewer clusters."
            )
        recipe = self._recipe(source, table)
        check_recipe(recipe, source)
        _refuse_batches(recipe)
        recipe, table = self._bound(recipe, source, table)
        rows = given.rows
        if isinstance(source, MemorySource) and source.layout.is_numeric:
            rows = source.rows  # as the algorithm sees them
        elif isinstance(source, SparseSource):
            rows = to_scipy(source.rows)
        problem = Problem(source, recipe, table, int(self.n_clusters or 0), rows)
        if is_anomalous(self):
            problem = with_patterns(self, problem, self._pattern_exponent())
        rule = recipe.weighting.observe(source, table).bind(table, problem.n_clusters)
        return problem._replace(recipe=Recipe(recipe.dissimilarity, recipe.center, rule))

    def _view(self, source: Source, *, reset: bool) -> Source:
        """Return the rows as the algorithm sees them."""
        return source

    def _described(
        self, given: Input, *, reset: bool, refusal: str | None = None
    ) -> tuple[Source, Description]:
        """Return the rows as the algorithm sees them, and their description."""
        return describe_rows(self, given.source, self._view, reset=reset, refusal=refusal)

    def _bound(
        self, recipe: Recipe, source: Source, table: Description
    ) -> tuple[Recipe, Description]:
        """Bind the parts to the table; raise if its powers overflow or underflow."""
        recipe, table = bind_parts(recipe, source, table)
        smallest, largest = table.scatter_range
        if smallest > _TINY and largest < np.inf:
            return recipe, table  # the usual case
        lost = ~((table.scatter > _TINY) & np.isfinite(table.scatter))
        lost &= table.span > 1e-13 * table.magnitude  # less is rounding: the column is constant
        if lost.any():
            squares = not recipe.dissimilarity.needs_labels
            names = getattr(self, "feature_names_in_", None)
            raise ValueError(
                f"The {'squares' if squares else 'powers'} of {describe_columns(lost, names)} of X "
                "underflow to zero or overflow. Rescale X, for example with "
                "fwkmeans.preprocessing.RangeStandardizer"
                f"{'' if squares else ', or take a smaller p'}"
                f"{', or larger sample weights' if table.mass < 1e-100 else ''}."
            )
        return recipe, table

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _pattern_exponent(self) -> float | None:
        """Return the exponent of the weights of anomalous patterns; None means no weights."""
        return None

    def _pattern_options(self) -> dict[str, bool]:
        """Return options of the search for anomalous patterns; see `anomalous_start`."""
        return {}

    def _initial_centers(self, problem: Problem, seeds: Seeds, starts: range) -> FloatArray:
        return initial_centers_of(self, problem, seeds, starts)

    def _initial_weights(self, problem: Problem, seeds: Seeds, starts: range) -> Weights:
        return initial_weights_of(self, problem, seeds, starts)

    # ---- the fit --------------------------------------------------------------------------------

    def _best_run(self, problem: Problem, n_starts: int) -> Run:
        seeds = Seeds(self.random_state)
        batch = 1 if n_starts == 1 else min(n_starts, problem.n_together)
        runs = []
        for first in range(0, n_starts, batch):
            starts = range(first, min(n_starts, first + batch))
            outcome = problem.alternate(
                self._initial_centers(problem, seeds, starts),
                self._initial_weights(problem, seeds, starts),
                max_iter=int(self.max_iter),
                tol=self.tol,
                label=batch >= n_starts,  # else only one of several batches has the best start
            )
            runs.append(outcome.best())
            logger.info(
                "%s: starts %d to %d of %d done, objective %.10g",
                type(self).__name__,
                starts.start + 1,
                starts.stop,
                n_starts,
                runs[-1].objective,
            )
        if len(runs) == 1:
            return runs[0]
        return runs[first_lowest(np.asarray([run.objective for run in runs]))]

    def _set_fitted(
        self, source: Source, recipe: Recipe, table: Description, run: Run
    ) -> FloatArray:
        """Set the attributes; return the mass of each cluster."""
        layout, dtype = table.layout, source.dtype
        self._parts, self._table, self._memory = recipe, table, run.weights.memory
        self._frequencies = layout.frequencies(run.centers)
        if layout.is_numeric:
            self.cluster_centers_ = run.centers.astype(dtype)
        else:
            shape = len(run.centers), layout.n_features
            self.cluster_centers_ = np.full(shape, np.nan, dtype)
            self.cluster_centers_[:, layout.numeric] = layout.points(run.centers)
        for name, of_rule in self._shown_of_rule.items():
            setattr(self, name, getattr(recipe.weighting, of_rule))
        self.n_clusters_ = len(run.centers)
        self.feature_weights_ = run.weights.values[0]
        self.objective_history_ = run.history
        self.n_iter_ = run.n_iter
        self.converged_ = run.converged
        self.labels_, self.inertia_, mass = self._label(source, table, recipe.weighting, run)
        if hasattr(self, "categorical_features"):
            self.category_frequencies_, self.modes_ = describe_categories(self, source)
        return mass

    def _warn_of(self, run: Run, mass: FloatArray) -> None:
        if not run.converged:
            why = f"did not converge in {run.n_iter} iterations. Increase max_iter or tol"
            if run.n_iter < self.max_iter:
                why = (
                    "went in circles: rows came back to labels that they had before. The lowest "
                    "objective of the circle is kept. Try other starts or parameters"
                )
            warn_user(f"{type(self).__name__} {why}.", NotConvergedWarning)
        if 0.0 in mass.tolist():
            n_found = int(np.count_nonzero(mass))
            why = (
                "every row equals its center in all features that have weight. There may be "
                "duplicate rows in X, or too few features with weight"
                if run.has_empty
                else "the last weights leave a cluster without rows. Try other starts or parameters"
            )
            warn_user(
                f"Number of distinct clusters ({n_found}) found smaller than n_clusters "
                f"({self.n_clusters_}): {why}.",
                FewerClustersWarning,
            )

    def _label(
        self,
        source: Source,
        table: Description,
        rule: WeightRuleProtocol,
        run: Run | None = None,
    ) -> tuple[LabelArray, float, FloatArray]:
        """Return labels, objective and mass of the clusters for the public centers and weights.

        A run that gave them may have labeled the rows already.
        """
        weights, labeled = (run.weights, run.labeled) if run else (self._weights(), None)
        if labeled is None:
            assignment = self._assignment(weights)
            (plain, mass), source = source.run(self._parts.dissimilarity.labeling(assignment))
            labels = source.gather("labels", axis=1)[0]
            labeled = Labeled(0, labels, assignment.scale * plain, mass)
        _, labels, total, mass = labeled
        if not math.isfinite(total[0]):
            raise ValueError(
                "The sum of the dissimilarities of X overflows. Rescale X, for example with "
                "fwkmeans.preprocessing.RangeStandardizer, and fit again."
            )
        objective = rule.objective(total, weights, WeightContext(mass[None], weights, table))
        return labels, float(objective[0]), mass

    def _weights(self) -> Weights:
        return Weights(to_host(self.feature_weights_)[None], self._memory)

    def _assignment(self, weights: Weights | None = None) -> Assignment:
        """Return the assignment by the public centers and weights."""
        weights = self._weights() if weights is None else weights
        layout = self._table.layout
        points = layout.numbers_of(to_host(self.cluster_centers_).astype(np.float64))
        centers = layout.centers(points, self._frequencies)
        return assignment_of(self._parts.weighting, centers[None], weights)


def _refuse_batches(recipe: Recipe) -> None:
    """Raise if a parameter of the rule has one value per start: an estimator fits one model."""
    attributes: dict[str, Any] = getattr(recipe.weighting, "__dict__", {})
    for name, value in attributes.items():
        if type(value) is np.ndarray and one_value_a_start(value):
            raise ValueError(
                f"{name} of {recipe.weighting!r} has one value for each start; an estimator "
                "takes a number. To try many values, use fwkmeans.selection.sweep."
            )
