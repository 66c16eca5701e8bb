"""The starts of a fit: initial centers and weights, their number, and how many run together."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from fwkmeans._core.functions import copy_finite
from fwkmeans._engine import ARRAYS_A_PART, Outcome, Recipe, alternate, keeps_labels, runs_in_core
from fwkmeans._init import INITIALIZATIONS, Seeds, anomalous_start, initial_weights
from fwkmeans._support.arrays import is_foreign, to_host
from fwkmeans._support.warn import silent_overflow, warn_user
from fwkmeans._tabular.coding import Coding
from fwkmeans._tabular.columns import as_table, read_categorical
from fwkmeans.sources import DeviceSource, indicators
from fwkmeans.typing import Description, FloatArray, Source, Weights

logger = logging.getLogger("fwkmeans")

#: The largest size in bytes of the state of all starts that run together.
BATCH_BYTES = 16 * 2**20
#: The same on a device, with what a pass writes there.
DEVICE_BATCH_BYTES = 2**32


class Problem(NamedTuple):
    """What all starts of a fit share."""

    source: Source
    recipe: Recipe  # bound to the table
    table: Description
    n_clusters: int
    given: Any  # the rows as a callable `init` gets them
    centers: FloatArray | None = None  # (K, P) if they are the same for all starts
    weights: FloatArray | None = None  # (K, M) that come with them

    def alternate(self, centers: FloatArray, weights: Weights, **stop: Any) -> Outcome:
        """Run starts from these centers and weights."""
        return alternate(self.source, self.recipe, self.table, centers, weights, **stop)

    @property
    def n_together(self) -> int:
        """Number of starts that may run together, so that a batch does not take too much memory.

        Centers, weights and sums of all starts take at most `BATCH_BYTES`. The labels that the loop
        in Python keeps of each start take at most a sixteenth of the table, or of small tables
        `BATCH_BYTES`. The loop in the core keeps labels and bounds of two starts, 24 bytes a row,
        however many run together.
        """
        source, dissimilarity = self.source, self.recipe.dissimilarity
        layout, n_rows = source.layout, source.n_rows
        entries = layout.n_features + layout.n_levels
        if isinstance(source, DeviceSource):  # eight numbers a row, and sums of up to 1024 parts
            parts = min(1024, 1 + n_rows // 512)
            state = 32 * n_rows + 8 * self.n_clusters * entries * (16 + 2 * parts)
            return int(max(1, DEVICE_BATCH_BYTES // state))
        # the core runs starts one after the other, with the same sums, labels and bounds for all
        in_core = runs_in_core(source, self.recipe, self.table)
        segments = 1 if in_core else max(1, min(64, n_rows // 1024))
        numbers = self.n_clusters * entries * (32 + 2 * segments)
        by_state = BATCH_BYTES // (8 * numbers)
        if in_core:
            return max(1, by_state)
        if not keeps_labels(source, dissimilarity):
            return max(1, by_state)
        table = n_rows * layout.n_features * source.dtype.itemsize
        if source.remembers:  # beside rows that are elsewhere
            part_bytes = ARRAYS_A_PART * 8 * self.n_clusters * entries
            return max(1, min(by_state, source.most_starts(part_bytes)))
        by_labels = min(4 * BATCH_BYTES, table // 16) // (4 * n_rows)
        if dissimilarity.needs_labels:  # many starts are fine for small tables
            by_labels = max(by_labels, BATCH_BYTES // (4 * n_rows))
        return max(1, min(by_state, by_labels))


def init_of(estimator: Any) -> Any:
    """Return `init`, with "auto" replaced by what it stands for."""
    init = estimator.init
    if isinstance(init, str) and init == "auto":
        return "anomalous" if estimator.n_clusters is None else "k-means++"
    return init


def is_anomalous(estimator: Any) -> bool:
    """Tell whether clusters start from anomalous patterns."""
    init = init_of(estimator)
    return isinstance(init, str) and init == "anomalous"


def draws_nothing(estimator: Any) -> bool:
    """Tell whether nothing is drawn at random, so that all starts would be the same."""
    if not hasattr(estimator, "init"):  # it has starts of its own
        return True
    how = getattr(estimator, "weight_init", "uniform")
    random_weights = isinstance(how, str) and how == "random"
    return _is_given(estimator.init) or (is_anomalous(estimator) and not random_weights)


def _is_given(init: Any) -> bool:
    return not (isinstance(init, str) or callable(init))


def n_starts_of(estimator: Any) -> int:
    """Return the number of starts; warn if it is 1 although the user asked for more."""
    only_one, n_init = draws_nothing(estimator), estimator.n_init
    if isinstance(n_init, str):
        return 1 if only_one else 10
    if only_one and n_init > 1:
        given = _is_given(estimator.init)
        what = "init is an array of centers" if given else "init='anomalous' draws nothing"
        warn_user(f"{what}: one start is run instead of n_init={n_init}.", RuntimeWarning)
    return 1 if only_one else int(n_init)


def with_patterns(estimator: Any, problem: Problem, exponent: float | None) -> Problem:
    """Return the problem with the start from anomalous patterns."""
    n_clusters = estimator.n_clusters
    smallest = getattr(estimator, "min_pattern_size", 1 if n_clusters is not None else 2)
    start = anomalous_start(
        problem.source,
        problem.recipe.dissimilarity,
        problem.recipe.center,
        problem.table,
        None if n_clusters is None else int(n_clusters),
        exponent=exponent,
        smallest=smallest,
        **estimator._pattern_options(),
    )
    logger.info("%s: %d anomalous patterns chosen", type(estimator).__name__, start.n_patterns)
    n_found = len(start.centers)
    if not n_found:
        can_lower = hasattr(estimator, "min_pattern_size")
        lower = "Lower min_pattern_size, or give" if can_lower else "Give"
        raise ValueError(
            f"No anomalous pattern has {smallest} rows or more, so there is no cluster. "
            f"{lower} n_clusters."
        )
    if start.n_patterns < n_found:
        warn_user(
            f"Only {start.n_patterns} anomalous patterns were found (of {smallest} rows or "
            f"more) for n_clusters={n_found}; the other centers start at rows far from all "
            "of these. Ask for fewer clusters, or take another init.",
            ConvergenceWarning,
        )
    if n_clusters is not None and n_found < n_clusters:
        warn_user(
            f"Only {n_found} anomalous patterns were found (of {smallest} rows or more): there are "
            f"{n_found} clusters instead of n_clusters={n_clusters}.",
            ConvergenceWarning,
        )
    weights = None if exponent is None else start.weights
    return problem._replace(n_clusters=n_found, centers=start.centers, weights=weights)


def initial_centers_of(estimator: Any, problem: Problem, seeds: Seeds, starts: range) -> FloatArray:
    """Return the initial centers of some starts: (R, K, P)."""
    table, init = problem.table, init_of(estimator)
    if problem.centers is not None:
        return np.repeat(problem.centers[None], len(starts), axis=0)
    if isinstance(init, str):
        draw = INITIALIZATIONS[init]
        return draw(problem.source, problem.n_clusters, seeds, starts, table)
    if not callable(init):
        return checked_centers(estimator, init, table)[None]
    if problem.given is None:
        raise ValueError(
            "init is a callable, which needs all rows at once; this source gives them in blocks. "
            "Give an array of centers, or one of the names that init can be."
        )
    call: Callable[..., Any] = init
    states = (check_random_state(seed) for seed in seeds.integers("centers", starts))
    drawn = (call(problem.given, estimator.n_clusters, random_state=state) for state in states)
    return np.stack([checked_centers(estimator, centers, table) for centers in drawn])


def initial_weights_of(
    estimator: Any, problem: Problem, seeds: Seeds, starts: range, how: Any = None
) -> Weights:
    """Return the initial weights of some starts; `how` is `weight_init` unless given."""
    how = getattr(estimator, "weight_init", "uniform") if how is None else how
    if problem.weights is not None and isinstance(how, str) and how == "uniform":
        how = problem.weights
    names = getattr(estimator, "feature_names_in_", None)
    rule = problem.recipe.weighting
    return initial_weights(how, rule, problem.n_clusters, problem.table, seeds, starts, names)


def checked_centers(estimator: Any, centers: Any, table: Description) -> FloatArray:
    """Return centers that a user passed, or raise an error that says what is wrong with them."""
    shape = (estimator.n_clusters, estimator.n_features_in_)
    plain = type(centers) is np.ndarray and centers.dtype.kind == "f" and table.layout.is_numeric
    usual = copy_finite(centers) if plain and centers.shape == shape else None
    if usual is not None:
        return usual
    if type(centers) is not np.ndarray and is_foreign(centers):
        centers = to_host(centers)
    names = getattr(centers, "columns", None)
    expected = getattr(estimator, "feature_names_in_", None)
    if names is not None and expected is not None and list(names) != list(expected):
        raise ValueError(
            f"The columns of init are {list(names)}, those of X {list(expected)}. Give the "
            "same columns in the same order."
        )
    if np.ndim(centers) != 2:
        raise ValueError(
            f"init gives {type(centers).__name__} of {np.ndim(centers)} dimensions; expected "
            f"centers of shape {shape}."
        )
    values: Any
    if not table.layout.is_numeric:
        values = as_table(centers, input_name="init")
    else:
        with silent_overflow():
            values = check_array(centers, dtype=np.float64, copy=True, input_name="init")
    if values.shape != shape:
        raise ValueError(
            f"The shape of the initial centers {values.shape} does not match the number of "
            f"clusters {shape[0]} and of features {shape[1]}; expected {shape}."
        )
    return values if table.layout.is_numeric else _mixed_centers(estimator, values, table)


def _mixed_centers(estimator: Any, centers: Any, table: Description) -> FloatArray:
    """Return centers given as rows of numbers and categories."""
    coding: Coding = estimator._coding
    points = coding.rows(centers).astype(np.float64)
    levels = coding.levels(centers)
    unseen = levels == coding.offsets[1:] - 1
    if unseen.any():
        at, v = (int(where[0]) for where in np.nonzero(unseen))
        names = getattr(estimator, "feature_names_in_", range(estimator.n_features_in_))
        value = read_categorical(centers, int(coding.categorical[v]))[at]
        raise ValueError(
            f"init has {value!r} in column {names[coding.categorical[v]]!r}, which is none of "
            "the categories of X. Give centers whose categories occur."
        )
    if not np.isfinite(points).all() or (levels < 0).any():
        raise ValueError("init has missing or infinite cells; pass complete centers.")
    layout = table.layout
    return layout.centers(points, indicators(levels, layout, np.zeros(layout.n_levels)))
