"""Criteria that choose among partitions of the same rows: without labels, or with a few."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import joblib
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_consistent_length, column_or_1d

from fwkmeans._support.agreement import adjusted_rand_score, mean_agreement
from fwkmeans._support.checks import (
    POWER,
    RANDOM_STATE,
    Constraint,
    check_parameters,
    integer,
    number,
)
from fwkmeans.selection.agreement import is_known, known_labels_score
from fwkmeans.selection.candidates import (
    Partition,
    Settings,
    last_step,
    name_in_last_step,
    run_settings,
    with_seeds,
)
from fwkmeans.selection.indices import (
    check_not_trivial,
    distances,
    draw_rows,
    dunn_index,
    hartigan_number,
    silhouette_of,
    within_scatter,
    xie_beni_index,
)
from fwkmeans.selection.standardized import StandardizedTable, in_memory, take_rows
from fwkmeans.typing import FloatArray, IntArray


class Scores(NamedTuple):
    """What a criterion says of the candidates."""

    values: FloatArray  # (C,) more is better; NaN if a candidate cannot be scored
    reasons: dict[int, str]  # why not


@dataclass(frozen=True)
class Candidates:
    """Partitions of the same rows, and how they were found."""

    estimator: Any
    settings: Sequence[Settings]
    partitions: Sequence[Partition | Exception]
    X: Any
    y: Any
    fit_params: Settings
    counted: IntArray | None  # rows with weight; None means all

    def labels(self, at: int) -> IntArray:
        """Return the labels of one candidate, numbered in the order in which they appear."""
        partition = self.partitions[at]
        if isinstance(partition, Exception):
            raise ValueError(f"the fit failed: {partition}") from partition
        labels = self.of_counted(partition.labels)
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        order: IntArray = np.argsort(np.argsort(first))[inverse]
        return order

    def of_counted(self, values: Any) -> Any:
        """Return the entries of the rows that have weight."""
        return values if self.counted is None else np.asarray(values)[self.counted]

    @cached_property
    def table(self) -> StandardizedTable:
        """Return the table that indices are computed on, without rows that have no weight."""
        first = self.estimator
        while isinstance(first, Pipeline):
            first = first.steps[0][1]
        otherwise = None if first is self.estimator else "from_dtype"
        categorical = getattr(first, "categorical_features", otherwise)
        return StandardizedTable(self.counted_rows, categorical)

    @property
    def counted_rows(self) -> Any:
        """Return the rows of X that have weight; they must be in memory."""
        return in_memory(self.X) if self.counted is None else take_rows(self.X, self.counted)

    @property
    def counted_fit_params(self) -> dict[str, Any]:
        """Return the parameters of fit for the rows that have weight."""
        return {name: self.of_counted(value) for name, value in self.fit_params.items()}

    def numbers_of_clusters(self) -> dict[int, tuple[str, int]]:
        """Return what else is set, as a hash, and the number of clusters of each candidate."""
        name = name_in_last_step(self.estimator, "n_clusters")
        asked = getattr(last_step(self.estimator), "n_clusters", None)
        numbers = {}
        for at, settings in enumerate(self.settings):
            if not isinstance(self.partitions[at], Exception):
                others = joblib.hash({key: one for key, one in settings.items() if key != name})
                number = settings.get(name, asked)
                if not isinstance(number, Integral):  # it was found from the data
                    number = len(np.unique(self.labels(at)))
                numbers[at] = (others, int(number))
        return numbers

    def score_each(self, score: Callable[[int], float]) -> Scores:
        """Score one candidate after the other; a ValueError says why one cannot be scored."""
        values, reasons = np.full(len(self.partitions), np.nan), {}
        for at in range(len(values)):
            try:
                values[at] = score(at)
            except ValueError as error:
                reasons[at] = str(error)
            else:
                if np.isnan(values[at]):
                    reasons[at] = "the score is not defined for this partition"
        return Scores(values, reasons)


class Criterion(BaseEstimator, ABC):
    """What `LabelFreeSearch` chooses by."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {}

    def __call__(self, candidates: Candidates) -> Scores:
        """Return the scores of all candidates."""
        check_parameters(self, self._constraints)
        return self._scores(candidates)

    @abstractmethod
    def _scores(self, candidates: Candidates) -> Scores:
        """Return the scores of all candidates."""


class Index(Criterion):
    """A function of rows and labels.

    Parameters
    ----------
    function : callable
        It is called as ``function(rows, labels)`` with the standardized rows.
    sign : {1, -1}, default=1
        1 if more is better, -1 if less is better.
    """

    def __init__(self, function: Callable[[Any, Any], float], sign: int = 1) -> None:
        self.function = function
        self.sign = sign

    def _scores(self, candidates: Candidates) -> Scores:
        rows = candidates.table.rows()
        known: dict[bytes, float] = {}

        def score(at: int) -> float:
            labels = candidates.labels(at)
            key = labels.tobytes()
            if key not in known:
                check_not_trivial(labels)
                known[key] = self.sign * float(self.function(rows, labels))
            return known[key]

        return candidates.score_each(score)


class Silhouette(Criterion):
    """Mean silhouette of the rows; see `minkowski_silhouette`.

    Parameters
    ----------
    p : float, default=2.0
        Exponent of the distance: 1 is Manhattan, 2 Euclidean.
    max_rows : int, default=2000
        If there are more rows, so many are drawn, the same for all candidates.
    random_state : int, default=0
        What the draw depends on.

    Examples
    --------
    >>> from fwkmeans import IMWKMeans
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.selection import LabelFreeSearch, Silhouette
    >>> grid = {"p": [1.2, 2.0, 3.0]}
    >>> search = LabelFreeSearch(IMWKMeans(3), grid, scoring=Silhouette(p=1.5))
    >>> search.fit(load_uci("iris").data).best_params_
    {'p': 1.2}
    """

    _constraints: ClassVar = {"p": POWER, "max_rows": integer(2), "random_state": RANDOM_STATE}

    def __init__(self, p: float = 2.0, max_rows: int = 2000, random_state: Any = 0) -> None:
        self.p = p
        self.max_rows = max_rows
        self.random_state = random_state

    def _scores(self, candidates: Candidates) -> Scores:
        rows = candidates.table.rows(self.p)
        drawn = draw_rows(len(rows), self.max_rows, self.random_state)
        distance = distances(rows[drawn], self.p)
        return candidates.score_each(
            lambda at: silhouette_of(distance, candidates.labels(at), drawn)
        )


class Hartigan(Criterion):
    """Fall of Hartigan's number from K - 1 to K clusters; see `hartigan_index`."""

    def _scores(self, candidates: Candidates) -> Scores:
        rows, places = candidates.table.rows(), candidates.numbers_of_clusters()
        scatters = {
            place: within_scatter(rows, candidates.labels(at)) for at, place in places.items()
        }
        total = within_scatter(rows, np.zeros(len(rows), dtype=int))

        def scatter(others: str, n_clusters: int) -> float:
            if n_clusters == 1:
                return total
            if (others, n_clusters) not in scatters:
                raise ValueError(f"there is no partition into {n_clusters} clusters beside it")
            return scatters[others, n_clusters]

        def score(at: int) -> float:
            check_not_trivial(candidates.labels(at))
            others, n = places[at]
            below, here, above = (scatter(others, n + step) for step in (-1, 0, 1))
            before = hartigan_number(below, here, len(rows), n - 1)
            return before - hartigan_number(here, above, len(rows), n)

        return candidates.score_each(score)


class Gap(Criterion):
    """Gap between the scatter expected without clusters and that within them; see `gap_statistic`.

    Parameters
    ----------
    n_references : int, default=10
        Number of tables without structure.
    random_state : int, default=0
        What they depend on.
    """

    _constraints: ClassVar = {"n_references": integer(1), "random_state": RANDOM_STATE}

    def __init__(self, n_references: int = 10, random_state: Any = 0) -> None:
        self.n_references = n_references
        self.random_state = random_state

    def _scores(self, candidates: Candidates) -> Scores:
        table, fit_params = candidates.table, candidates.counted_fit_params
        rows = table.rows()
        rng = np.random.default_rng(self.random_state)
        references = []
        for _ in range(self.n_references):
            X = table.without_structure(rng)
            found = run_settings(candidates.estimator, candidates.settings, X, fit_params)
            references.append((table.rows(X=X), found))

        errors = np.zeros(len(candidates.partitions))

        def gap(at: int) -> float:
            labels = candidates.labels(at)
            check_not_trivial(labels, least=1)
            expected = [_log_scatter(own, found[at]) for own, found in references]
            errors[at] = np.std(expected) * np.sqrt(1 + 1 / self.n_references)
            with np.errstate(divide="ignore"):  # no scatter at all: the gap is infinite
                return float(np.mean(expected) - np.log(within_scatter(rows, labels)))

        gaps = candidates.score_each(gap)
        return gaps._replace(values=_up_to_enough(gaps.values, errors, candidates))


def _up_to_enough(gaps: FloatArray, errors: FloatArray, candidates: Candidates) -> FloatArray:
    """Return the gaps, those of more clusters than are enough lowered below that of enough.

    A number of clusters is enough if its gap is within one standard error of the next number's.
    """
    lowered = gaps.copy()
    places = candidates.numbers_of_clusters()
    at_place = {place: at for at, place in places.items()}
    for others in {others for others, _ in places.values()}:
        numbers = sorted(n for own, n in at_place if own == others)
        own = [at_place[others, n] for n in numbers]
        for here, (at, after) in enumerate(itertools.pairwise(own)):
            if numbers[here + 1] == numbers[here] + 1 and gaps[at] >= gaps[after] - errors[after]:
                more = own[here + 1 :]
                lowered[more] = np.minimum(gaps[more], np.nextafter(gaps[at], -np.inf))
                break
    return lowered


class Central(Criterion):
    """Mean adjusted Rand index with all other candidates; see `mean_agreement`."""

    def _scores(self, candidates: Candidates) -> Scores:
        def labels_of(at: int) -> IntArray:
            labels = candidates.labels(at)
            check_not_trivial(labels)
            return labels

        compared: dict[int, IntArray] = {}
        for at in range(len(candidates.partitions)):
            try:
                compared[at] = labels_of(at)
            except ValueError:
                continue
        agreement = dict(zip(compared, mean_agreement(list(compared.values())), strict=True))

        def score(at: int) -> float:
            labels_of(at)
            if len(compared) < 2:
                raise ValueError("there is no other partition to compare it with")
            return float(agreement[at])

        return candidates.score_each(score)


class Stability(Criterion):
    """Agreement with what is found in parts of the rows; see `resampling_stability`.

    Parameters
    ----------
    n_resamples : int, default=10
        Number of draws.
    fraction : float, default=0.8
        Share of the rows in a draw.
    random_state : int, default=0
        What the draws depend on.
    """

    _constraints: ClassVar = {
        "n_resamples": integer(1),
        "fraction": number("a number between 0 and 1", lambda f: (f > 0) & (f < 1)),
        "random_state": RANDOM_STATE,
    }

    def __init__(self, n_resamples: int = 10, fraction: float = 0.8, random_state: Any = 0) -> None:
        self.n_resamples = n_resamples
        self.fraction = fraction
        self.random_state = random_state

    def _scores(self, candidates: Candidates) -> Scores:
        X, fit_params = candidates.counted_rows, candidates.counted_fit_params
        n_rows = X.shape[0]
        rng = np.random.default_rng(self.random_state)
        parts = []
        for _ in range(self.n_resamples):
            size = max(1, round(self.fraction * n_rows))
            drawn = np.sort(rng.choice(n_rows, size, replace=False))
            own_params = {name: np.asarray(one)[drawn] for name, one in fit_params.items()}
            part = take_rows(X, drawn)
            found = run_settings(candidates.estimator, candidates.settings, part, own_params)
            parts.append((drawn, found))

        def score(at: int) -> float:
            labels = candidates.labels(at)
            check_not_trivial(labels)
            agreement = [
                adjusted_rand_score(labels[drawn], _labels_of(found[at])) for drawn, found in parts
            ]
            return float(np.mean(agreement))

        return candidates.score_each(score)


class KnownLabels(Criterion):
    """Agreement with the classes that are known; see `known_labels_score`."""

    def _scores(self, candidates: Candidates) -> Scores:
        if candidates.y is None:
            raise ValueError(
                "scoring='known_labels' needs y: the class of some rows, and -1 for all others."
            )
        y = column_or_1d(candidates.y)
        fitted = (one for one in candidates.partitions if not isinstance(one, Exception))
        check_consistent_length(next(fitted).labels, y)
        y = candidates.of_counted(y)
        is_known(y)  # raises if too few are
        return candidates.score_each(lambda at: known_labels_score(y, candidates.labels(at)))


def _calinski_harabasz(rows: Any, labels: Any) -> float:
    from sklearn.metrics import calinski_harabasz_score

    return float(calinski_harabasz_score(rows, labels))


def _davies_bouldin(rows: Any, labels: Any) -> float:
    from sklearn.metrics import davies_bouldin_score

    return float(davies_bouldin_score(rows, labels))


#: The criteria that can be given by name.
SCORINGS: dict[str, Criterion] = {
    "silhouette": Silhouette(),
    "silhouette_manhattan": Silhouette(p=1.0),
    "calinski_harabasz": Index(_calinski_harabasz),
    "davies_bouldin": Index(_davies_bouldin, -1),
    "dunn": Index(dunn_index),
    "xie_beni": Index(xie_beni_index, -1),
    "hartigan": Hartigan(),
    "gap": Gap(),
    "central": Central(),
    "stability": Stability(),
    "known_labels": KnownLabels(),
}


def gap_statistic(
    estimator: Any, X: Any, *, n_references: int = 10, random_state: Any = 0
) -> float:
    r"""Return how far the scatter within clusters is below that of tables without clusters [1]_.

    .. math:: \mathrm{E}^*[\log W] - \log W

    where W is the sum of squared distances to the means of the clusters, in the standardized table,
    and the expectation is over tables of independent columns: numbers uniform over their range, and
    categories in random order.

    Parameters
    ----------
    estimator : estimator
        A clusterer; it is fitted on X and on each of the tables without clusters.
    X : array-like or frame of shape (n_samples, n_features)
        The rows.
    n_references : int, default=10
        Number of tables without clusters.
    random_state : int, default=0
        What they depend on.

    Returns
    -------
    float
        More is better. It is defined for a single cluster, too.

    Notes
    -----
    `LabelFreeSearch` takes the candidate with the largest gap. If it varies the number of clusters,
    it follows the authors' rule: the lowest number is enough whose gap is within one standard error
    of the next number's. The scores of more clusters are lowered to just below that gap.

    References
    ----------
    .. [1] Tibshirani, Walther & Hastie (2001). Estimating the number of clusters in a data set via
       the gap statistic. Journal of the Royal Statistical Society B 63(2).
       doi:10.1111/1467-9868.00293

    Examples
    --------
    >>> from fwkmeans import KMeans
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.selection import gap_statistic
    >>> X = load_uci("iris").data
    >>> gap_statistic(KMeans(3, random_state=0), X) > gap_statistic(KMeans(1), X)
    True
    """
    return _score_of(Gap(n_references, random_state), estimator, X)


def resampling_stability(
    estimator: Any,
    X: Any,
    *,
    n_resamples: int = 10,
    fraction: float = 0.8,
    random_state: Any = 0,
) -> float:
    """Return how well the clusters of all rows agree with those found in parts of the rows.

    The estimator is fitted on all rows and on parts drawn without replacement, each time with all
    its starts. The result is the mean adjusted Rand index between the two, on the rows of the part.

    Parameters
    ----------
    estimator : estimator
        A clusterer.
    X : array-like or frame of shape (n_samples, n_features)
        The rows.
    n_resamples : int, default=10
        Number of parts.
    fraction : float, default=0.8
        Share of the rows in a part.
    random_state : int, default=0
        What the draws depend on.

    Returns
    -------
    float
        At most 1; more is better. Few clusters are more easily stable than many.

    Examples
    --------
    >>> from fwkmeans import KMeans
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.selection import resampling_stability
    >>> X = load_uci("iris").data
    >>> for n_clusters in (2, 3, 4):
    ...     model = KMeans(n_clusters, random_state=0)
    ...     print(n_clusters, round(resampling_stability(model, X), 2))
    2 1.0
    3 0.99
    4 0.92
    """
    return _score_of(Stability(n_resamples, fraction, random_state), estimator, X)


def _score_of(criterion: Criterion, estimator: Any, X: Any) -> float:
    model = with_seeds(estimator)
    found = run_settings(model, [{}], X, {})
    if isinstance(found[0], Exception):
        raise found[0]
    values, reasons = criterion(Candidates(model, [{}], found, X, None, {}, None))
    if reasons:
        raise ValueError(f"{type(criterion).__name__} cannot be computed: {reasons[0]}.")
    return float(values[0])


def _labels_of(partition: Partition | Exception) -> Any:
    """Return the labels found in another table."""
    if isinstance(partition, Exception):
        raise ValueError(f"the fit of another table failed: {partition}") from partition
    return partition.labels


def _log_scatter(rows: FloatArray, partition: Partition | Exception) -> float:
    with np.errstate(divide="ignore"):
        return float(np.log(within_scatter(rows, _labels_of(partition))))
