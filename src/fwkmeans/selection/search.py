"""A search over the parameters of a clusterer, without labels or with a few."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.base import BaseEstimator, ClusterMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fwkmeans._support.checks import BOOLEAN, check_parameters
from fwkmeans._support.progress import show_progress
from fwkmeans._support.warn import warn_user
from fwkmeans.selection.agreement import mean_ranks
from fwkmeans.selection.candidates import (
    Partition,
    Settings,
    name_in_last_step,
    run_settings,
    with_seeds,
)
from fwkmeans.selection.criteria import SCORINGS, Candidates, Criterion, Index
from fwkmeans.typing import FloatArray, LabelArray

logger = logging.getLogger("fwkmeans")


_Method = TypeVar("_Method", bound=Callable[..., Any])


def _if_best_has(method: str) -> Callable[[_Method], _Method]:
    """Return what hides a method unless the search can pass it on to its best estimator."""

    def test(search: LabelFreeSearch) -> bool:
        if not search.refit:
            raise AttributeError(
                f"{method} is not there because refit=False. Set refit=True, or fit an estimator "
                "with best_params_ yourself."
            )
        getattr(getattr(search, "best_estimator_", search.estimator), method)
        return True

    hide: Callable[[_Method], _Method] = available_if(test)
    return hide


class LabelFreeSearch(ClusterMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Find the parameters of a clusterer without labels, or with a few.

    Every setting of the grid is fitted on all rows, the best of its starts is scored, and the
    setting with the highest score is kept. It looks like `sklearn.model_selection.GridSearchCV`,
    but nothing is held out: the clusters themselves are judged.

    Parameters
    ----------
    estimator : estimator
        The clusterer: one of this package, or a pipeline that ends with one.
    param_grid : dict of str to sequence, or a sequence of these
        The values of each parameter, `n_clusters` included. Parameters of the steps of a pipeline
        are named ``step__parameter``.
    scoring : str, callable, criterion or a list of these, default="silhouette_manhattan"
        What to choose by:

        - ``"silhouette"``, ``"silhouette_manhattan"``, or ``Silhouette(p=...)`` for other Minkowski
          distances: how much closer a row is to its own cluster than to the next one. Of more than
          2000 rows so many are drawn, always the same.
        - ``"calinski_harabasz"``, ``"davies_bouldin"``: the indices of scikit-learn, the second
          with a minus sign.
        - ``"dunn"``, ``"xie_beni"`` (with a minus sign): `dunn_index` and `xie_beni_index`.
        - ``"hartigan"``: how far `hartigan_index` falls at this number of clusters. The grid must
          have the next lower and higher number, too; a single cluster needs no fit.
        - ``"gap"`` or ``Gap(...)``: see `gap_statistic`.
        - ``"central"``: the mean adjusted Rand index with all other candidates.
        - ``"stability"`` or ``Stability(...)``: see `resampling_stability`.
        - ``"known_labels"``: the adjusted Rand index on the rows whose class is given in `y`.
        - A callable ``f(rows, labels)`` that returns a number, more being better; `rows` are the
          standardized ones.
        - A list of these: the lowest mean rank over all of them.

    refit : bool, default=True
        Whether to fit the estimator with the best parameters again; needed for `predict`,
        `transform` and `score`.
    verbose : int, default=0
        Show progress: 1 for each candidate, 2 for each iteration. The messages go to the logger
        "fwkmeans".

    Attributes
    ----------
    best_params_ : dict
        The setting that was chosen.
    best_score_ : float
        Its score; minus the mean rank if `scoring` is a list.
    best_index_ : int
        Its position in `search_results_`; the first of those that are equally good.
    best_estimator_ : estimator
        The estimator with this setting, fitted on all rows. Its `random_state` is a number, so that
        it has found the clusters that were scored. Only if ``refit=True``.
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row.
    search_results_ : dict of arrays
        One entry for each candidate: ``params``, ``param_*`` (masked where a setting lacks the
        parameter), ``score``, ``rank_score``, ``n_clusters`` (clusters that have rows),
        ``objective``, ``n_iter``, ``converged`` and ``fit_time`` in seconds, for a batch its
        average. If `scoring` is a list, ``score_*`` are the single scores.
    candidate_labels_ : ndarray of shape (n_candidates, n_samples)
        The labels of all candidates; -1 where the fit failed.
    n_features_in_ : int
        Number of features seen during `fit`. Only if ``refit=True``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if they all have names that are strings. Only if ``refit=True``.

    See Also
    --------
    sweep : All starts at all values of one parameter, not only the best ones.
    sklearn.model_selection.GridSearchCV : The search with labels and cross-validation.

    Notes
    -----
    *Scores are computed on the standardized table* that the search was given: numbers minus their
    mean, divided by their range, and categories as binary columns, scaled so that a categorical
    column counts as one column. They are never computed on rows multiplied by the weights. Weights
    are large where clusters are tight, so in such rows every partition looks good to its own
    weights. In a study on the survey's tables, choosing by indices of rescaled rows halved the
    agreement with the classes.

    A candidate whose fit fails, or that cannot be scored, such as a single cluster, gets the score
    NaN and a warning, and is never chosen.

    All starts at all values of a parameter of the algorithm run as one batch, if the estimator is
    one of this package and can run so (see `sweep`). Other grids, and pipelines, run candidate by
    candidate.

    `sample_weight` is passed to all fits. Rows without weight are left out of the scores; otherwise
    scores count all rows alike. Missing cells are for the estimator to handle; scores that need
    distances see the median or the most frequent category of the column in their place. Sparse
    rows can only be scored by "central", "stability" and "known_labels", because all others need
    distances of dense rows. Files and other sources that are not in memory can be scored by
    "central" and "known_labels".

    Examples
    --------
    >>> from fwkmeans import WKMeans
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.preprocessing import RangeStandardizer
    >>> from fwkmeans.selection import LabelFreeSearch
    >>> X = RangeStandardizer().fit_transform(load_uci("wine").data)
    >>> grid = {"beta": [1.5, 2.0, 4.0, 8.0]}
    >>> search = LabelFreeSearch(WKMeans(3, random_state=0), grid).fit(X)
    >>> search.best_params_
    {'beta': 4.0}
    >>> search.search_results_["score"].round(2)
    array([0.27, 0.31, 0.32, 0.32])
    >>> search.predict(X[:5])
    array([2, 2, 2, 2, 2], dtype=int32)
    """

    _constraints: ClassVar = {"refit": BOOLEAN}

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        scoring: Any = "silhouette_manhattan",
        refit: bool = True,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.scoring = scoring
        self.refit = refit
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit and score all candidates, and keep the best one.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            The class of each row, -1 or a missing value where it is not known. Used by the scoring
            "known_labels" only.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weight of each row.

        Returns
        -------
        self : object
            The fitted search.
        """
        from sklearn.model_selection import ParameterGrid

        check_parameters(self, self._constraints)
        criteria = _criteria_of(self.scoring)
        settings: list[Settings] = list(ParameterGrid(self.param_grid))
        model = with_seeds(self.estimator)
        for one in settings:
            clone(model).set_params(**one)  # raises if there is no such parameter
        fit_params = self._fit_params(sample_weight)
        with show_progress(self.verbose):
            partitions = run_settings(model, settings, X, fit_params)
            _report_failures(partitions, settings)
            counted = _rows_with_weight(sample_weight)
            candidates = Candidates(model, settings, partitions, X, y, fit_params, counted)
            scores = {name: self._scored(name, one, candidates) for name, one in criteria.items()}
            score = next(iter(scores.values()))
            if len(scores) > 1:
                score = -mean_ranks(list(scores.values()))
                if np.isnan(score).all():
                    raise ValueError(
                        "No candidate can be scored by all of scoring; see the warnings. Leave a "
                        "scoring out, or change the grid."
                    )
            self.best_index_ = int(np.nanargmax(score))
            self.best_score_ = float(score[self.best_index_])
            self.best_params_ = settings[self.best_index_]
            logger.info("best candidate: %s, score %.4g", self.best_params_, self.best_score_)
            self.candidate_labels_ = _labels_of(partitions)
            self.labels_: LabelArray = self.candidate_labels_[self.best_index_]
            self.search_results_ = _results(settings, partitions, score, scores)
            if self.refit:
                own = {name: clone(v, safe=False) for name, v in self.best_params_.items()}
                self.best_estimator_ = clone(model).set_params(**own).fit(X, **fit_params)
                for name in ("n_features_in_", "feature_names_in_"):
                    if hasattr(self.best_estimator_, name):
                        setattr(self, name, getattr(self.best_estimator_, name))
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> LabelArray:
        """Fit the search and return the labels of the best candidate.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            The class of each row, -1 where it is not known.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weight of each row.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The cluster of each row.
        """
        self.fit(X, y, sample_weight)
        return self.labels_

    @_if_best_has("predict")
    def predict(self, X: Any) -> LabelArray:
        """Return the cluster of each row, by the best estimator.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The cluster of each row.
        """
        check_is_fitted(self)
        labels: LabelArray = self.best_estimator_.predict(X)
        return labels

    @_if_best_has("predict_proba")
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each cluster for each row, by the best estimator.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_clusters)
            Each row sums to 1.
        """
        check_is_fitted(self)
        probabilities: FloatArray = self.best_estimator_.predict_proba(X)
        return probabilities

    @_if_best_has("transform")
    def transform(self, X: Any) -> Any:
        """Return the distance of each row to each center, by the best estimator.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            See the estimator.
        """
        check_is_fitted(self)
        return self.best_estimator_.transform(X)

    @_if_best_has("transform")
    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the search and return the distances to the centers of the best candidate.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            The class of each row, -1 where it is not known.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weight of each row.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            See `transform`.
        """
        return self.fit(X, y, sample_weight).transform(X)

    @_if_best_has("get_feature_names_out")
    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of X.

        Returns
        -------
        names : ndarray of str
            One for each column.
        """
        check_is_fitted(self)
        return self.best_estimator_.get_feature_names_out(input_features)

    @_if_best_has("score")
    def score(self, X: Any, y: Any = None) -> float:
        """Return the score of the best estimator: minus the objective of its algorithm.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            The rows.
        y : Ignored
            Present for API consistency.

        Returns
        -------
        score : float
            On the rows of `fit` this is minus the objective of the best candidate.
        """
        check_is_fitted(self)
        return float(self.best_estimator_.score(X))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata is routed: `sample_weight` is used here, and goes to the estimator.

        Returns
        -------
        MetadataRouter
            What scikit-learn asks for.
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=to_fit)

    def __sklearn_tags__(self) -> Tags:
        """Return what scikit-learn should know: mostly what it knows of the estimator."""
        tags = super().__sklearn_tags__()
        own = get_tags(self.estimator)
        tags.input_tags = deepcopy(own.input_tags)
        tags.input_tags.sparse = False  # scores compare dense rows
        tags.transformer_tags = deepcopy(own.transformer_tags)
        tags.non_deterministic = own.non_deterministic
        return tags

    def _fit_params(self, sample_weight: Any) -> dict[str, Any]:
        """Return the parameters for the fit of the estimator."""
        if sample_weight is None:
            return {}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=sample_weight)
            return dict(routed.estimator.fit)
        return {name_in_last_step(self.estimator, "sample_weight"): sample_weight}

    def _scored(self, name: str, criterion: Criterion, candidates: Candidates) -> FloatArray:
        """Return the scores; warn of candidates without one; raise if there are only such."""
        values, reasons = criterion(candidates)
        described = [f"{dict(candidates.settings[at])} ({why})" for at, why in reasons.items()]
        if not (values > -np.inf).any():
            example = f", such as {described[0]}" if described else ""
            raise ValueError(
                f"scoring={name!r} cannot score any of the {len(values)} candidates{example}. "
                "Change the grid or the scoring."
            )
        unfit = {at for at, one in enumerate(candidates.partitions) if isinstance(one, Exception)}
        lacking = [text for at, text in zip(reasons, described, strict=True) if at not in unfit]
        if lacking:
            warn_user(
                f"scoring={name!r} cannot score {len(lacking)} of {len(values)} candidates, which "
                f"are not chosen: {'; '.join(lacking[:3])}{'; ...' if len(lacking) > 3 else ''}.",
                UserWarning,
            )
        logger.info("%s: %d of %d candidates scored", name, len(values) - len(reasons), len(values))
        return values


def _criteria_of(scoring: Any) -> dict[str, Criterion]:
    """Return the criteria that `scoring` names, by name."""
    several = list(scoring) if isinstance(scoring, list | tuple) else [scoring]
    if not several:
        raise ValueError("scoring is an empty list; give at least one scoring.")
    criteria: dict[str, Criterion] = {}
    for one in several:
        name, criterion = _criterion_of(one)
        if name in criteria:
            raise ValueError(f"scoring has {name!r} twice; give each scoring once.")
        criteria[name] = criterion
    return criteria


def _criterion_of(scoring: Any) -> tuple[str, Criterion]:
    if isinstance(scoring, str) and scoring in SCORINGS:
        return scoring, SCORINGS[scoring]
    if isinstance(scoring, Criterion):
        return repr(scoring), scoring
    if callable(scoring) and not isinstance(scoring, type):
        return getattr(scoring, "__name__", repr(scoring)), Index(scoring)
    raise ValueError(
        f"scoring={scoring!r}: expected one of {', '.join(map(repr, SCORINGS))}, a criterion such "
        "as Silhouette(p=1.5), a callable f(rows, labels), or a list of these."
    )


def _rows_with_weight(sample_weight: Any) -> Any:
    """Return the rows that have weight; None if all have."""
    if sample_weight is None:
        return None
    weights = np.atleast_1d(np.asarray(sample_weight))
    counted = np.flatnonzero(weights > 0)
    return None if counted.size == weights.size else counted


def _report_failures(
    partitions: Sequence[Partition | Exception], settings: Sequence[Settings]
) -> None:
    """Warn of candidates that could not be fitted; raise if there are no others."""
    errors = {at: one for at, one in enumerate(partitions) if isinstance(one, Exception)}
    if not errors:
        return
    at, first = next(iter(errors.items()))
    example = f"{dict(settings[at])}: {type(first).__name__}: {first}"
    if len(errors) == len(partitions):
        raise ValueError(
            f"All {len(errors)} candidates failed to fit, the first with {example}"
        ) from first
    warn_user(
        f"{len(errors)} of {len(partitions)} candidates failed to fit and are not chosen, the "
        f"first with {example}",
        FitFailedWarning,
    )


def _labels_of(partitions: Sequence[Partition | Exception]) -> LabelArray:
    """Return the labels of all candidates; -1 where there are none."""
    n_rows = next(len(one.labels) for one in partitions if isinstance(one, Partition))
    labels = np.full((len(partitions), n_rows), -1, dtype=np.int32)
    for own, one in zip(labels, partitions, strict=True):
        if isinstance(one, Partition):
            own[:] = one.labels
    return labels


def _results(
    settings: Sequence[Settings],
    partitions: Sequence[Partition | Exception],
    score: FloatArray,
    scores: Mapping[str, FloatArray],
) -> dict[str, Any]:
    """Return `search_results_`."""
    results: dict[str, Any] = {"params": list(settings)}
    for name in sorted({name for one in settings for name in one}):
        results[f"param_{name}"] = _column(settings, name)
    results["score"] = score
    worst = np.where(np.isnan(score), -np.inf, score)
    results["rank_score"] = rankdata(-worst, method="min").astype(np.int32)
    if len(scores) > 1:
        results |= {f"score_{name}": values for name, values in scores.items()}
    nothing = Partition(np.empty(0, np.int32), np.nan, 0, False, np.nan)
    found = [one if isinstance(one, Partition) else nothing for one in partitions]
    results["n_clusters"] = np.array([len(np.unique(one.labels)) for one in found])
    results["objective"] = np.array([one.objective for one in found])
    results["n_iter"] = np.array([one.n_iter for one in found])
    results["converged"] = np.array([one.converged for one in found])
    results["fit_time"] = np.array([one.seconds for one in found])
    return results


def _column(settings: Sequence[Settings], name: str) -> Any:
    """Return the values of a parameter, masked where a setting does not have it."""
    values = [one[name] for one in settings if name in one]
    plain = all(isinstance(value, int | float | np.number) for value in values)
    cells = np.empty(len(settings), dtype=np.result_type(*values) if plain else object)
    column = np.ma.MaskedArray(cells, mask=True)
    for at, one in enumerate(settings):
        if name in one:
            column[at] = one[name]
    return column
