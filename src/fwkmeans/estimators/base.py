"""What all estimators share: the scikit-learn face of the engine."""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state, check_scalar
from sklearn.utils.validation import check_array, check_is_fitted

from fwkmeans._typing import (
    Assignment,
    Description,
    FloatArray,
    LabelArray,
    Source,
    WeightContext,
    WeightRuleProtocol,
    Weights,
)
from fwkmeans.engine import (
    Recipe,
    Run,
    alternate,
    assignment_of,
    check_recipe,
    first_lowest,
    keeps_labels,
)
from fwkmeans.estimators.inputs import check_finite, describe_rows, open_source
from fwkmeans.init import INITIALISATIONS, Seeds, initial_weights
from fwkmeans.weighting.base import one_value_a_start

logger = logging.getLogger("fwkmeans")

#: Bytes that the states of the starts running together may take.
BATCH_BYTES = 16 * 2**20


class BaseFeatureWeightedKMeans(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """Validate, build the recipe, run the starts, keep the best, set the attributes."""

    n_clusters: int
    init: Any
    n_init: Any
    max_iter: int
    tol: float
    n_jobs: int | None
    verbose: int
    random_state: Any

    @abstractmethod
    def _recipe(self, source: Source, table: Description) -> Recipe:
        """Return the parts of the algorithm, for the table seen in fit."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Compute the clustering.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), path or source
            The rows: numbers without gaps. A path names a ``.npy`` file, which is read in blocks.
        y : Ignored
            Present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weight of each row; an integer weight counts like repeated rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._fit(X, sample_weight)
        return self

    def _fit(self, X: Any, sample_weight: Any, depth: int = 4) -> None:
        """Fit; `depth` is the number of frames from a warning to the caller's line."""
        self._check_parameters()
        source = self._open(X, sample_weight, reset=True)
        table = describe_rows(self, source)
        if table.n_rows < self.n_clusters:
            raise ValueError(
                f"n_samples={table.n_rows} (rows with weight) should be >= "
                f"n_clusters={self.n_clusters}. Ask for fewer clusters."
            )
        recipe = self._recipe(source, table)
        check_recipe(recipe)
        _refuse_batches(recipe)
        rule = recipe.weighting.observe(source, table).bind(table, int(self.n_clusters))
        recipe = recipe._replace(weighting=rule)
        with self._progress(), np.errstate(over="ignore", invalid="ignore"):
            run = self._best_run(source, recipe, table, self._n_starts(depth))
        mass = self._set_fitted(source, recipe, table, run)
        self._warn_of(run, mass, depth)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> LabelArray:
        """Compute the clustering and return the labels.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), path or source
            The rows.
        y : Ignored
            Present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weight of each row.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Number of the cluster of each row.
        """
        self._fit(X, sample_weight)
        return self.labels_

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Compute the clustering and return the distances of the rows to the centers.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), path or source
            The rows.
        y : Ignored
            Present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weight of each row.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            See `transform`.
        """
        self._fit(X, sample_weight, depth=5)  # scikit-learn wraps this method
        return self.transform(X)

    def predict(self, X: Any) -> LabelArray:
        """Return the nearest center of each row, by the weighted dissimilarity.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), path or source
            The rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Number of the cluster of each row; the lowest on ties.
        """
        check_is_fitted(self)
        source = self._open(X, None, reset=False)
        check_finite(self, source)
        return source.reduce(self._parts.dissimilarity.labelling(self._assignment()))[0]

    def transform(self, X: Any) -> Any:
        """Return the distance of each row to each center.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), path or source
            The rows.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Root of the weighted dissimilarity.
        """
        check_is_fitted(self)
        source = self._open(X, None, reset=False)
        check_finite(self, source)
        return source.reduce(self._parts.dissimilarity.distances(self._assignment()))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the negative of the algorithm's objective on these rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), path or source
            The rows.
        y : Ignored
            Present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weight of each row.

        Returns
        -------
        score : float
            On the rows of `fit` this is ``-inertia_``.
        """
        check_is_fitted(self)
        source = self._open(X, sample_weight, reset=False)
        table = describe_rows(self, source)
        return -self._label(source, table, self._parts.weighting.observe(source, table))[1]

    def __sklearn_tags__(self) -> Tags:
        """Return what scikit-learn should know of the estimator."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[0])

    # ---- before the fit -------------------------------------------------------------------------

    def _open(self, X: Any, sample_weight: Any, *, reset: bool) -> Source:
        """Return the source of the rows as the algorithm sees them."""
        return open_source(self, X, sample_weight, reset=reset)

    def _check_parameters(self) -> None:
        check_scalar(self.n_clusters, "n_clusters", Integral, min_val=1)
        check_scalar(self.max_iter, "max_iter", Integral, min_val=1)
        check_scalar(self.tol, "tol", Real, min_val=0)
        if not np.isfinite(self.tol):
            raise ValueError(f"tol={self.tol}: expected a finite number >= 0.")
        if isinstance(self.n_init, str) and self.n_init != "auto":
            raise ValueError(f"n_init={self.n_init!r}: expected 'auto' or an integer >= 1.")
        if not isinstance(self.n_init, str):
            check_scalar(self.n_init, "n_init", Integral, min_val=1)
        if self.init is None:
            raise ValueError("init=None: expected a name, an array of centers or a callable.")
        if isinstance(self.init, str) and self.init not in INITIALISATIONS:
            names = ", ".join(repr(name) for name in INITIALISATIONS)
            raise ValueError(
                f"init={self.init!r}: expected one of {names}, an array of centers or a callable."
            )

    def _n_starts(self, depth: int) -> int:
        given = not (isinstance(self.init, str) or callable(self.init))
        if isinstance(self.n_init, str):
            return 1 if given else 10
        if given and self.n_init > 1:
            warnings.warn(
                f"init is an array of centers: one start is run instead of n_init={self.n_init}.",
                RuntimeWarning,
                stacklevel=depth,
            )
        return 1 if given else int(self.n_init)

    def _initial_centers(
        self, source: Source, seeds: Seeds, starts: range, table: Description
    ) -> FloatArray:
        if isinstance(self.init, str):
            return INITIALISATIONS[self.init](source, int(self.n_clusters), seeds, starts, table)
        if not callable(self.init):
            return self._check_centers(self.init)[None]
        call: Callable[..., Any] = self.init
        states = (check_random_state(seed) for seed in seeds.integers("centers", starts))
        return np.stack(
            [
                self._check_centers(call(source.rows, self.n_clusters, random_state=s))
                for s in states
            ]
        )

    def _check_centers(self, centers: Any) -> FloatArray:
        names = getattr(centers, "columns", None)
        expected = getattr(self, "feature_names_in_", None)
        if names is not None and expected is not None and list(names) != list(expected):
            raise ValueError(
                f"The columns of init are {list(names)}, those of X {list(expected)}. Give the "
                "same columns in the same order."
            )
        if np.ndim(centers) != 2:
            raise ValueError(
                f"init gives {type(centers).__name__} of {np.ndim(centers)} dimensions; expected "
                f"centers of shape ({self.n_clusters}, {self.n_features_in_})."
            )
        values: FloatArray = check_array(centers, dtype=np.float64, copy=True, input_name="init")
        if values.shape != (self.n_clusters, self.n_features_in_):
            raise ValueError(
                f"The shape of the initial centers {values.shape} does not match the number of "
                f"clusters {self.n_clusters} and of features {self.n_features_in_}; expected "
                f"({self.n_clusters}, {self.n_features_in_})."
            )
        return values

    # ---- the fit --------------------------------------------------------------------------------

    def _best_run(self, source: Source, recipe: Recipe, table: Description, n_starts: int) -> Run:
        seeds = Seeds(self.random_state)
        batch = min(n_starts, self._starts_together(source))
        runs = []
        for first in range(0, n_starts, batch):
            starts = range(first, min(n_starts, first + batch))
            outcome = alternate(
                source,
                recipe,
                table,
                self._initial_centers(source, seeds, starts, table),
                self._initial_weights(recipe, table, seeds, starts),
                max_iter=int(self.max_iter),
                tol=self.tol,
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
        return runs[first_lowest(np.asarray([run.objective for run in runs]))]

    def _starts_together(self, source: Source) -> int:
        """Return how many starts fit into the memory that a batch may take."""
        segments = max(1, min(64, source.n_rows // 1024))
        numbers = int(self.n_clusters) * source.n_features * (32 + 2 * segments)
        by_state = BATCH_BYTES // (8 * numbers)
        if not keeps_labels(source):
            return max(1, by_state)
        table = source.n_rows * source.n_features * source.dtype.itemsize
        by_labels = min(4 * BATCH_BYTES, table // 16) // (4 * source.n_rows)
        return max(1, min(by_state, by_labels))

    def _initial_weights(
        self, recipe: Recipe, table: Description, seeds: Seeds, starts: range
    ) -> Weights:
        how = getattr(self, "weight_init", "uniform")
        names = getattr(self, "feature_names_in_", None)
        return initial_weights(
            how, recipe.weighting, int(self.n_clusters), table, seeds, starts, names
        )

    def _set_fitted(
        self, source: Source, recipe: Recipe, table: Description, run: Run
    ) -> FloatArray:
        """Set the attributes; return the mass of each cluster."""
        self._parts, self._table, self._memory = recipe, table, run.weights.memory
        self.cluster_centers_ = run.centers.astype(source.dtype)
        self.feature_weights_ = run.weights.values[0]
        self.objective_history_ = run.history
        self.n_iter_ = run.n_iter
        self.converged_ = run.converged
        self.labels_, self.inertia_, mass = self._label(source, table, recipe.weighting)
        return mass

    def _warn_of(self, run: Run, mass: FloatArray, depth: int) -> None:
        if not run.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in {run.n_iter} iterations. Increase "
                "max_iter or tol.",
                ConvergenceWarning,
                stacklevel=depth,
            )
        n_found = int((mass > 0).sum())
        if n_found < self.n_clusters:
            why = (
                "every row equals its center in all features that have weight. There may be "
                "duplicate rows in X, or too few features with weight"
                if run.has_empty
                else "the last weights leave a cluster without rows. Try other starts or parameters"
            )
            warnings.warn(
                f"Number of distinct clusters ({n_found}) found smaller than n_clusters "
                f"({self.n_clusters}): {why}.",
                ConvergenceWarning,
                stacklevel=depth,
            )

    def _label(
        self, source: Source, table: Description, rule: WeightRuleProtocol
    ) -> tuple[LabelArray, float, FloatArray]:
        """Return labels, objective and mass of the clusters for the public centers and weights."""
        assignment = self._assignment()
        labels, total = source.reduce(self._parts.dissimilarity.labelling(assignment))
        mass = _mass_of(labels, source.sample_weight, int(self.n_clusters))
        weights = self._weights()
        objective = rule.objective(
            assignment.scale * total, weights, WeightContext(mass[None], weights, table)
        )
        return labels, float(objective[0]), mass

    def _weights(self) -> Weights:
        return Weights(self.feature_weights_[None], self._memory)

    def _assignment(self) -> Assignment:
        centers = np.asarray(self.cluster_centers_, dtype=np.float64)[None]
        return assignment_of(self._parts.weighting, centers, self._weights(), self._table)

    @contextlib.contextmanager
    def _progress(self) -> Iterator[None]:
        """Show the log of the engine while `verbose` is set."""
        if not self.verbose:
            yield
            return
        level, handler = logger.level, logging.StreamHandler(sys.stdout)
        alone = not logger.hasHandlers()  # who has set up logging gets the lines there, once
        logger.setLevel(logging.DEBUG if self.verbose > 1 else logging.INFO)
        if alone:
            logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)


def _mass_of(labels: LabelArray, sample_weight: FloatArray | None, n_clusters: int) -> FloatArray:
    """Return the sum of weights in each cluster; in pieces, since bincount copies the labels."""
    mass, step = np.zeros(n_clusters), 1 << 16
    for begin in range(0, labels.size, step):
        piece = slice(begin, begin + step)
        weight = None if sample_weight is None else sample_weight[piece]
        mass += np.bincount(labels[piece], weight, n_clusters)
    return mass


def _refuse_batches(recipe: Recipe) -> None:
    """Raise if a rule has one value a start: an estimator keeps the best start of one model."""
    parameters: dict[str, Any] = getattr(recipe.weighting, "get_params", dict)()
    batched = [name for name, value in parameters.items() if one_value_a_start(value)]
    if batched:
        raise ValueError(
            f"{batched[0]} of {recipe.weighting!r} has one value a start; an estimator takes a "
            "number. Sweeps over parameters run through fwkmeans.engine.alternate."
        )
