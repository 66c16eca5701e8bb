"""The starts of a fit: initial centers and weights, their number, and how many run together."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from fwkmeans._core.functions import copy_finite
from fwkmeans._init import INITIALIZATIONS, Seeds, anomalous_start, initial_weights
from fwkmeans._support.arrays import is_foreign, to_host
from fwkmeans._support.warn import silent_overflow, warn_user
from fwkmeans._tabular.columns import as_table, read_categorical
from fwkmeans.estimators.model import Model
from fwkmeans.sources import indicators
from fwkmeans.typing import Description, FloatArray, Weights

if TYPE_CHECKING:
    from fwkmeans.estimators.plan import Plan

logger = logging.getLogger("fwkmeans")


def init_of(estimator: Model) -> Any:
    """Return `init`, with "auto" replaced by what it stands for."""
    init = estimator.init
    if isinstance(init, str) and init == "auto":
        return "anomalous" if estimator.n_clusters is None else "k-means++"
    return init


def is_anomalous(estimator: Model) -> bool:
    """Tell whether clusters start from anomalous patterns."""
    init = init_of(estimator)
    return isinstance(init, str) and init == "anomalous"


def draws_nothing(estimator: Model) -> bool:
    """Tell whether nothing is drawn at random, so that all starts would be the same."""
    if "init" not in vars(estimator):  # it has starts of its own
        return True
    how = estimator._weight_init
    random_weights = isinstance(how, str) and how == "random"
    return _is_given(estimator.init) or (is_anomalous(estimator) and not random_weights)


def _is_given(init: Any) -> bool:
    return not (isinstance(init, str) or callable(init))


def n_starts_of(estimator: Model) -> int:
    """Return the number of starts; warn if it is 1 although the user asked for more."""
    only_one, n_init = draws_nothing(estimator), estimator.n_init
    if isinstance(n_init, str):
        return 1 if only_one else 10
    if only_one and n_init > 1:
        given = _is_given(estimator.init)
        what = "init is an array of centers" if given else "init='anomalous' draws nothing"
        warn_user(f"{what}: one start is run instead of n_init={n_init}.", RuntimeWarning)
    return 1 if only_one else int(n_init)


def with_patterns(estimator: Model, plan: Plan, exponent: float | None) -> Plan:
    """Return the plan with the start from anomalous patterns."""
    n_clusters = estimator.n_clusters
    smallest = estimator._smallest_pattern
    start = anomalous_start(
        plan.source,
        plan.recipe.dissimilarity,
        plan.recipe.center,
        plan.table,
        None if n_clusters is None else int(n_clusters),
        exponent=exponent,
        smallest=smallest,
        **estimator._pattern_options(),
    )
    logger.info("%s: %d anomalous patterns chosen", type(estimator).__name__, start.n_patterns)
    n_found = len(start.centers)
    if not n_found:
        can_lower = "min_pattern_size" in vars(estimator)
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
    return plan._replace(n_clusters=n_found, centers=start.centers, weights=weights)


def initial_centers_of(estimator: Model, plan: Plan, seeds: Seeds, starts: range) -> FloatArray:
    """Return the initial centers of some starts: (R, K, P)."""
    table, init = plan.table, init_of(estimator)
    if plan.centers is not None:
        return np.repeat(plan.centers[None], len(starts), axis=0)
    if isinstance(init, str):
        draw = INITIALIZATIONS[init]
        return draw(plan.source, plan.n_clusters, seeds, starts, table)
    if not callable(init):
        return checked_centers(estimator, init, table)[None]
    if plan.given is None:
        raise ValueError(
            "init is a callable, which needs all rows at once; this source gives them in blocks. "
            "Give an array of centers, or one of the names that init can be."
        )
    call: Callable[..., Any] = init
    states = (check_random_state(seed) for seed in seeds.integers("centers", starts))
    drawn = (call(plan.given, estimator.n_clusters, random_state=state) for state in states)
    return np.stack([checked_centers(estimator, centers, table) for centers in drawn])


def initial_weights_of(
    estimator: Model, plan: Plan, seeds: Seeds, starts: range, how: Any = None
) -> Weights:
    """Return the initial weights of some starts; `how` is `weight_init` unless given."""
    how = estimator._weight_init if how is None else how
    rule = plan.recipe.weighting
    if type(how) is str and how == "uniform":
        if plan.weights is None:
            return rule.initial(len(starts), plan.n_clusters, plan.table)
        how = plan.weights
    names = estimator._names
    return initial_weights(how, rule, plan.n_clusters, plan.table, seeds, starts, names)


def checked_centers(estimator: Model, centers: Any, table: Description) -> FloatArray:
    """Return centers that a user passed, or raise an error that says what is wrong with them."""
    shape = (estimator.n_clusters, estimator.n_features_in_)
    plain = type(centers) is np.ndarray and centers.dtype.kind == "f" and table.layout.is_numeric
    usual = copy_finite(centers) if plain and centers.shape == shape else None
    if usual is not None:
        return usual
    if type(centers) is not np.ndarray and is_foreign(centers):
        centers = to_host(centers)
    names = getattr(centers, "columns", None)
    expected = estimator._names
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


def _mixed_centers(estimator: Model, centers: Any, table: Description) -> FloatArray:
    """Return centers given as rows of numbers and categories."""
    coding = estimator._coding
    assert coding is not None  # the table has categories
    points = coding.rows(centers).astype(np.float64)
    levels = coding.levels(centers)
    unseen = levels == coding.offsets[1:] - 1
    if unseen.any():
        at, v = (int(where[0]) for where in np.nonzero(unseen))
        names = estimator._columns
        value = read_categorical(centers, int(coding.categorical[v]))[at]
        raise ValueError(
            f"init has {value!r} in column {names[coding.categorical[v]]!r}, which is none of "
            "the categories of X. Give centers whose categories occur."
        )
    if not np.isfinite(points).all() or (levels < 0).any():
        raise ValueError("init has missing or infinite cells; pass complete centers.")
    layout = table.layout
    return layout.centers(points, indicators(levels, layout, np.zeros(layout.n_levels)))
