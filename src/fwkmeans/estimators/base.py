"""What all estimators share: the scikit-learn face of the engine."""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

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

from fwkmeans._engine import (
    Recipe,
    Run,
    alternate,
    assignment_of,
    bind_parts,
    check_recipe,
    first_lowest,
    keeps_labels,
)
from fwkmeans._init import INITIALISATIONS, Seeds, anomalous_start, initial_weights
from fwkmeans._tabular.coding import Coding
from fwkmeans._tabular.columns import as_table, describe_columns, read_categorical
from fwkmeans.estimators.inputs import check_rows, describe_rows, open_source
from fwkmeans.estimators.notebook import html_repr
from fwkmeans.estimators.traits import Traits
from fwkmeans.exceptions import FewerClustersWarning, NotConvergedWarning
from fwkmeans.sources import describe, indicators
from fwkmeans.typing import (
    Assignment,
    Description,
    FloatArray,
    LabelArray,
    Source,
    WeightContext,
    WeightRuleProtocol,
    Weights,
)
from fwkmeans.weighting.base import one_value_a_start

logger = logging.getLogger("fwkmeans")

#: Bytes that the states of the starts running together may take.
BATCH_BYTES = 16 * 2**20


#: Parameters that some estimators have, with what they may be.
_CHOICES = {
    "missing": ("error", "ignore", "rescale"),
    "missing_category": ("same", "own"),
    "handle_unknown": ("mismatch", "error"),
}


class Beginning(NamedTuple):
    """What is known of the starts before the first one."""

    X: Any  # as given to fit
    n_clusters: int
    centers: FloatArray | None  # (K, P) if they are the same for all starts
    weights: FloatArray | None  # (K, M) that come with them


class BaseFeatureWeightedKMeans(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """Validate, build the recipe, run the starts, keep the best, set the attributes."""

    traits: ClassVar[Traits]  # of the named algorithms
    n_clusters: int | None
    init: Any
    n_init: Any
    max_iter: int
    tol: float
    n_jobs: int | None
    verbose: int
    random_state: Any

    _html_repr = html_repr  # of scikit-learn's notebook representation

    @abstractmethod
    def _recipe(self, source: Source, table: Description) -> Recipe:
        """Return the parts of the algorithm, for the table seen in fit."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Compute the clustering.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), path or source
            The rows. A path names a ``.npy`` file, which is read in blocks.
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
        source = open_source(self, X, sample_weight, reset=True)
        source, table = self._described(source, reset=True)
        with self._progress(), np.errstate(over="ignore", invalid="ignore"):
            recipe, table, begin = self._prepared(X, source, table, depth + 1)
            run = self._best_run(source, recipe, table, begin, self._n_starts(depth))
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
        source = check_rows(self, open_source(self, X, None, reset=False))
        source = self._view(source, reset=False)
        return source.reduce(self._parts.dissimilarity.labelling(self._assignment(source)))[0]

    def transform(self, X: Any) -> Any:
        """Return the distance of each row to each center.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), path or source
            The rows.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Root of the weighted dissimilarity (the square root, for Minkowski's the p-th).
        """
        check_is_fitted(self)
        source = check_rows(self, open_source(self, X, None, reset=False))
        source = self._view(source, reset=False)
        return source.reduce(self._parts.dissimilarity.distances(self._assignment(source)))

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
        source = open_source(self, X, sample_weight, reset=False)
        source, table = self._described(source, reset=False)
        _, table = self._bound(self._parts, source, table)
        return -self._label(source, table, self._parts.weighting.observe(source, table))[1]

    def __sklearn_tags__(self) -> Tags:
        """Return what scikit-learn should know of the estimator."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.allow_nan = getattr(self, "missing", "error") != "error"
        mixed = getattr(self, "categorical_features", None) is not None
        tags.input_tags.categorical = tags.input_tags.string = mixed
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[0])

    # ---- before the fit -------------------------------------------------------------------------

    def _prepared(
        self, X: Any, source: Source, table: Description, depth: int
    ) -> tuple[Recipe, Description, Beginning]:
        """Return the parts bound to the table, the table they see, and where starts begin."""
        if self.n_clusters is not None and table.n_rows < self.n_clusters:
            raise ValueError(
                f"n_samples={table.n_rows} (rows with weight) should be >= "
                f"n_clusters={self.n_clusters}. Ask for fewer clusters."
            )
        recipe = self._recipe(source, table)
        check_recipe(recipe)
        _refuse_batches(recipe)
        recipe, table = self._bound(recipe, source, table)
        begin = self._beginning(X, source, recipe, table, depth)
        rule = recipe.weighting.observe(source, table).bind(table, begin.n_clusters)
        return recipe._replace(weighting=rule), table, begin

    def _view(self, source: Source, *, reset: bool) -> Source:
        """Return the rows as the algorithm sees them."""
        return source

    def _described(self, source: Source, *, reset: bool) -> tuple[Source, Description]:
        """Return the rows as the algorithm sees them, and what is known of them."""
        source, table = describe_rows(self, source, reset=reset)
        view = self._view(source, reset=reset)
        if view is not source:
            table = describe(view)[0]._replace(rescale=table.rescale)
        return view, table

    def _bound(
        self, recipe: Recipe, source: Source, table: Description
    ) -> tuple[Recipe, Description]:
        """Return parts bound to the table, and it as they see it, if its powers are numbers."""
        with np.errstate(over="ignore", invalid="ignore"):
            recipe, table = bind_parts(recipe, source, table)
        lost = ~((table.scatter > 0) & np.isfinite(table.scatter))
        lost &= table.maximum > table.minimum
        if lost.any():
            squares = not recipe.dissimilarity.needs_labels
            names = getattr(self, "feature_names_in_", None)
            raise ValueError(
                f"The {'squares' if squares else 'powers'} of {describe_columns(lost, names)} of X "
                "underflow to zero or overflow. Rescale X, for example with "
                "fwkmeans.preprocessing.RangeStandardizer"
                f"{'.' if squares else ', or take a smaller p.'}"
            )
        return recipe, table

    def _check_parameters(self) -> None:
        if self.n_clusters is not None:
            check_scalar(self.n_clusters, "n_clusters", Integral, min_val=1)
        elif not self._is_anomalous:
            raise ValueError(
                "n_clusters=None: the number of clusters is found by init='anomalous' only. Give a "
                "number, or set init='anomalous'."
            )
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
        if isinstance(self.init, str) and self.init not in (*INITIALISATIONS, "anomalous"):
            names = ", ".join(repr(name) for name in (*INITIALISATIONS, "anomalous"))
            raise ValueError(
                f"init={self.init!r}: expected one of {names}, an array of centers or a callable."
            )

        for name, allowed in _CHOICES.items():
            value = getattr(self, name, allowed[0])
            if not isinstance(value, str) or value not in allowed:
                expected = ", ".join(map(repr, allowed))
                raise ValueError(f"{name}={value!r}: expected one of {expected}.")

    @property
    def _is_anomalous(self) -> bool:
        return isinstance(self.init, str) and self.init == "anomalous"

    @property
    def _is_given(self) -> bool:
        return not (isinstance(self.init, str) or callable(self.init))

    @property
    def _only_one(self) -> bool:
        """Whether another start would be the same."""
        return self._is_given or (self._is_anomalous and not self._has_random_weights)

    def _n_starts(self, depth: int) -> int:
        given, only_one = self._is_given, self._only_one
        if isinstance(self.n_init, str):
            return 1 if only_one else 10
        if only_one and self.n_init > 1:
            what = "init is an array of centers" if given else "init='anomalous' draws nothing"
            warnings.warn(
                f"{what}: one start is run instead of n_init={self.n_init}.",
                RuntimeWarning,
                stacklevel=depth,
            )
        return 1 if only_one else int(self.n_init)

    @property
    def _has_random_weights(self) -> bool:
        how = getattr(self, "weight_init", "uniform")
        return isinstance(how, str) and how == "random"

    def _pattern_exponent(self) -> float | None:
        """Return the exponent of weights that anomalous patterns learn; None: they learn none."""
        return None

    def _beginning(
        self, X: Any, source: Source, recipe: Recipe, table: Description, depth: int
    ) -> Beginning:
        """Return what is known of the starts before the first one."""
        if self.n_clusters is not None and not self._is_anomalous:
            return Beginning(X, int(self.n_clusters), None, None)
        smallest = getattr(self, "min_pattern_size", 1 if self.n_clusters is not None else 2)
        exponent = self._pattern_exponent()
        start = anomalous_start(
            source,
            recipe.dissimilarity,
            recipe.center,
            table,
            None if self.n_clusters is None else int(self.n_clusters),
            exponent=exponent,
            smallest=smallest,
        )
        logger.info("%s: %d anomalous patterns chosen", type(self).__name__, start.n_patterns)
        n_clusters = len(start.centers)
        if not n_clusters:
            lower = (
                "Lower min_pattern_size, or give" if hasattr(self, "min_pattern_size") else "Give"
            )
            raise ValueError(
                f"No anomalous pattern has {smallest} rows or more, so there is no cluster. "
                f"{lower} n_clusters."
            )
        if start.n_patterns < n_clusters:
            warnings.warn(
                f"Only {start.n_patterns} anomalous patterns were found (of {smallest} rows or "
                f"more) for n_clusters={n_clusters}; the other centers start at rows far from all "
                "of these. Ask for fewer clusters, or take another init.",
                ConvergenceWarning,
                stacklevel=depth,
            )
        weights = None if exponent is None else start.weights
        return Beginning(X, n_clusters, start.centers, weights)

    def _initial_centers(
        self, begin: Beginning, source: Source, seeds: Seeds, starts: range, table: Description
    ) -> FloatArray:
        if begin.centers is not None:
            return np.repeat(begin.centers[None], len(starts), axis=0)
        if isinstance(self.init, str):
            return INITIALISATIONS[self.init](source, begin.n_clusters, seeds, starts, table)
        if not callable(self.init):
            return self._check_centers(self.init, table)[None]
        call: Callable[..., Any] = self.init
        rows = source.rows if table.layout.is_numeric else begin.X
        states = (check_random_state(seed) for seed in seeds.integers("centers", starts))
        return np.stack(
            [
                self._check_centers(call(rows, self.n_clusters, random_state=s), table)
                for s in states
            ]
        )

    def _check_centers(self, centers: Any, table: Description) -> FloatArray:
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
        if table.layout.is_numeric:
            values = check_array(centers, dtype=np.float64, copy=True, input_name="init")
        else:
            values = as_table(centers, input_name="init")
        if values.shape != (self.n_clusters, self.n_features_in_):
            raise ValueError(
                f"The shape of the initial centers {values.shape} does not match the number of "
                f"clusters {self.n_clusters} and of features {self.n_features_in_}; expected "
                f"({self.n_clusters}, {self.n_features_in_})."
            )
        if table.layout.is_numeric:
            given: FloatArray = values
            return given
        return self._mixed_centers(values, table)

    def _mixed_centers(self, centers: Any, table: Description) -> FloatArray:
        """Return centers given as rows of numbers and categories."""
        coding: Coding = self._coding
        points = coding.rows(centers).astype(np.float64)
        levels = coding.levels(centers)
        unseen = levels == coding.offsets[1:] - 1
        if unseen.any():
            at, v = (int(where[0]) for where in np.nonzero(unseen))
            names = getattr(self, "feature_names_in_", range(self.n_features_in_))
            value = read_categorical(centers, int(coding.categorical[v]))[at]
            raise ValueError(
                f"init has {value!r} in column {names[coding.categorical[v]]!r}, which is none of "
                "the categories of X. Give centers whose categories occur."
            )
        if not np.isfinite(points).all() or (levels < 0).any():
            raise ValueError("init has missing or infinite cells; give centers without gaps.")
        layout = table.layout
        return layout.centers(points, indicators(levels, layout, np.zeros(layout.n_levels)))

    # ---- the fit --------------------------------------------------------------------------------

    def _best_run(
        self, source: Source, recipe: Recipe, table: Description, begin: Beginning, n_starts: int
    ) -> Run:
        seeds = Seeds(self.random_state)
        batch = min(n_starts, self._starts_together(source, recipe, begin.n_clusters))
        runs = []
        for first in range(0, n_starts, batch):
            starts = range(first, min(n_starts, first + batch))
            outcome = alternate(
                source,
                recipe,
                table,
                self._initial_centers(begin, source, seeds, starts, table),
                self._initial_weights(begin, recipe, table, seeds, starts),
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

    def _starts_together(self, source: Source, recipe: Recipe, n_clusters: int) -> int:
        """Return how many starts fit into the memory that a batch may take."""
        segments = max(1, min(64, source.n_rows // 1024))
        entries = source.n_features + source.layout.n_levels
        numbers = n_clusters * entries * (32 + 2 * segments)
        by_state = BATCH_BYTES // (8 * numbers)
        if not keeps_labels(source, recipe.dissimilarity):
            return max(1, by_state)
        table = source.n_rows * source.n_features * source.dtype.itemsize
        by_labels = min(4 * BATCH_BYTES, table // 16) // (4 * source.n_rows)
        if recipe.dissimilarity.needs_labels:  # small tables may have many
            by_labels = max(by_labels, BATCH_BYTES // (4 * source.n_rows))
        return max(1, min(by_state, by_labels))

    def _initial_weights(
        self,
        begin: Beginning,
        recipe: Recipe,
        table: Description,
        seeds: Seeds,
        starts: range,
    ) -> Weights:
        how = getattr(self, "weight_init", "uniform")
        names = getattr(self, "feature_names_in_", None)
        if begin.weights is not None and isinstance(how, str) and how == "uniform":
            how = begin.weights
        return initial_weights(how, recipe.weighting, begin.n_clusters, table, seeds, starts, names)

    def _set_fitted(
        self, source: Source, recipe: Recipe, table: Description, run: Run
    ) -> FloatArray:
        """Set the attributes; return the mass of each cluster."""
        layout = table.layout
        self._parts, self._table, self._memory = recipe, table, run.weights.memory
        self._frequencies = layout.frequencies(run.centers)
        points = layout.points(run.centers).astype(source.dtype)
        self.cluster_centers_ = points
        if not layout.is_numeric:
            self.cluster_centers_ = np.full((len(points), layout.n_features), np.nan, source.dtype)
            self.cluster_centers_[:, layout.numeric] = points
        self.n_clusters_ = len(points)
        self.feature_weights_ = run.weights.values[0]
        self.objective_history_ = run.history
        self.n_iter_ = run.n_iter
        self.converged_ = run.converged
        self.labels_, self.inertia_, mass = self._label(source, table, recipe.weighting)
        if hasattr(self, "categorical_features"):
            self._set_categories(source)
        return mass

    def _set_categories(self, source: Source) -> None:
        """Set what the clusters say of categories, by name."""
        self.category_frequencies_: dict[Any, dict[Any, FloatArray]] = {}
        self.modes_: dict[Any, list[Any]] = {}
        coding: Coding | None = self._coding
        if coding is None:
            return
        frequencies = self._frequencies
        if getattr(self._parts.center, "categories", "mode") == "mode":
            # the centers know no more than the modes: count
            counts = source.reduce(
                self._parts.dissimilarity.accumulation(self._assignment(source))
            ).counts[0]
            layout = self._table.layout
            totals = layout.levels(layout.sums(counts))
            frequencies = np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), 0.0)
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        for v, categories, first in zip(
            coding.categorical, coding.categories, coding.offsets[:-1], strict=True
        ):
            own = slice(first, first + len(categories))
            name = names[v]
            columns = frequencies[:, own].T
            keys = categories
            if len(set(categories)) < len(categories):  # such as 1 and True, which are one key
                keys = tuple(map(repr, categories))
            self.category_frequencies_[name] = dict(zip(keys, columns, strict=True))
            modes = self._frequencies[:, own].argmax(axis=1)
            self.modes_[name] = [keys[mode] for mode in modes]

    def _warn_of(self, run: Run, mass: FloatArray, depth: int) -> None:
        if not run.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in {run.n_iter} iterations. Increase "
                "max_iter or tol.",
                NotConvergedWarning,
                stacklevel=depth,
            )
        n_found = int((mass > 0).sum())
        if n_found < self.n_clusters_:
            why = (
                "every row equals its center in all features that have weight. There may be "
                "duplicate rows in X, or too few features with weight"
                if run.has_empty
                else "the last weights leave a cluster without rows. Try other starts or parameters"
            )
            warnings.warn(
                f"Number of distinct clusters ({n_found}) found smaller than n_clusters "
                f"({self.n_clusters_}): {why}.",
                FewerClustersWarning,
                stacklevel=depth,
            )

    def _label(
        self, source: Source, table: Description, rule: WeightRuleProtocol
    ) -> tuple[LabelArray, float, FloatArray]:
        """Return labels, objective and mass of the clusters for the public centers and weights."""
        assignment = self._assignment(source)
        labels, total = source.reduce(self._parts.dissimilarity.labelling(assignment))
        mass = _mass_of(labels, source.sample_weight, self.n_clusters_)
        weights = self._weights()
        objective = rule.objective(
            assignment.scale * total, weights, WeightContext(mass[None], weights, table)
        )
        return labels, float(objective[0]), mass

    def _weights(self) -> Weights:
        return Weights(self.feature_weights_[None], self._memory)

    def _assignment(self, source: Source) -> Assignment:
        """Return what assigns rows by the public centers and weights."""
        layout = self._table.layout
        points = layout.numbers_of(np.asarray(self.cluster_centers_, dtype=np.float64))
        centers = layout.centers(points, self._frequencies)
        return assignment_of(self._parts.weighting, centers[None], self._weights())

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
            "number. Sweeps over parameters run through fwkmeans._engine.alternate."
        )
