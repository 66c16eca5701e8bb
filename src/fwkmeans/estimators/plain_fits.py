"""The usual fit in few steps: complete numbers in memory, parts of the core, nothing to warn of.

On a table of some hundred rows the core is done after some microseconds, and what a fit does
before and after takes longer. Here it looks once at what the parameters alone decide, describes
the rows in one step and runs the loop. Whatever is unusual is left to the general way
(`BaseFeatureWeightedKMeans._fit_checked`), which says what is wrong. Both give the same model, to
the bit.
"""

from __future__ import annotations

import functools
import inspect
import logging
import math
from collections.abc import Callable
from contextlib import nullcontext
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from fwkmeans._core import compiled
from fwkmeans._engine import Recipe, Run, bind_parts, check_recipe, is_in_core, remember
from fwkmeans._support.checks import SIMPLE, check_parameters
from fwkmeans._support.copies import copied
from fwkmeans._support.threads import effective_n_threads, of_environment
from fwkmeans._support.warn import silent_overflow
from fwkmeans.estimators import dominance
from fwkmeans.estimators.inputs import is_plain, set_columns
from fwkmeans.estimators.spreads import MOST
from fwkmeans.estimators.starts import Problem, checked_centers, is_anomalous, n_starts_of
from fwkmeans.sources import MemorySource, describe
from fwkmeans.typing import Block, Description, FloatArray, Labeled, Weights
from fwkmeans.weighting import WeightRule

__all__ = ["Settings", "check_settings", "fit_plainly"]

logger = logging.getLogger("fwkmeans")

_MANY = 1000  # settings that are remembered
_NO_GROUPS = np.zeros((1, 1, 0))
_CLEAR = 0.99 * dominance.MOST  # the largest weight that is far from a warning
_SMALLEST, _LARGEST = 1e-150, 1e150  # scatters, so that no power or sum of them overflows


class Settings(NamedTuple):
    """What the parameters of a model alone decide."""

    recipe: Recipe  # bound to a table of numbers, which must be replaced
    n_starts: int
    takes_categories: bool
    shown: tuple[tuple[str, str], ...]  # attributes, and which parameters of the rule they show


_checked: dict[Any, Settings | None] = {}


def check_settings(model: Any) -> Settings | None:
    """Check the parameters of a model; return what they decide, None if its fit is not usual."""
    key = _key_of(model) if "_fits_plainly" in vars(type(model)) else None
    if key is not None and key in _checked:
        return _checked[key]  # they have been checked
    model._check_parameters()
    if key is None:
        return None
    if len(_checked) >= _MANY:
        _checked.clear()
    _checked[key] = settings = _settings_of(model)
    return settings


def _key_of(model: Any) -> tuple[Any, ...] | None:
    """Return what tells the settings of a model from others; None if they are not simple."""
    kind: Any = type(model)
    own = vars(model)
    try:
        values = _parameters_of(kind)(own)
        init, seed, verbose = own["init"], own["random_state"], own["verbose"]
    except KeyError:  # such as a model that was saved before a parameter existed
        return None
    types = tuple(map(type, values))
    given = type(init) is np.ndarray
    # other seeds move on with each draw
    fixed = seed is None or (type(seed) is int and 0 <= seed < 2**32)
    silent = type(verbose) in (int, bool) and not verbose
    simple = SIMPLE.issuperset(types) and (given or type(init) is str)
    if not (fixed and silent and simple):
        return None
    signs = _signs(values) if 0.0 in values else None
    return kind, values, types, given or init, signs


def _signs(values: tuple[Any, ...]) -> tuple[float, ...]:
    """Return the signs of all floats: 0.0 and -0.0 are equal."""
    return tuple(math.copysign(1.0, value) for value in values if type(value) is float)


@functools.cache
def _parameters_of(kind: Any) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    """Return what gives all parameters but those that differ from fit to fit, or are never set."""
    names = inspect.signature(kind).parameters.keys() - {"init", "random_state", "verbose"}
    return itemgetter(*sorted(names))


def _settings_of(model: Any) -> Settings | None:
    """Return what the parameters of a model decide, which are valid and simple."""
    no_gaps = getattr(model, "missing", "error") == "error"
    by_dtype = getattr(model, "categorical_features", None) in (None, "from_dtype")
    uniform = getattr(model, "weight_init", "uniform") == "uniform"
    usual = no_gaps and by_dtype and uniform
    if compiled is None or not usual or model.n_clusters is None or is_anomalous(model):
        return None
    if type(model.init) is np.ndarray and model.n_init not in ("auto", 1):
        return None  # a warning is due
    rows = MemorySource(np.zeros((1, 1)))
    table = describe(rows)[0]
    recipe = model._recipe(rows, table)
    check_recipe(recipe, rows)
    rule: Any = recipe.weighting
    usual = type(rule).observe is WeightRule.observe and type(rule).bind is WeightRule.bind
    if not usual or not is_in_core(recipe):
        return None
    check_parameters(rule, rule._constraints)
    return Settings(
        bind_parts(recipe, rows, table)[0],
        n_starts_of(model),
        hasattr(model, "categorical_features"),
        tuple(type(model)._shown_of_rule.items()),
    )


def fit_plainly(model: Any, X: Any, settings: Settings | None) -> bool:
    """Fit a model to complete numbers; False, and nothing is done, if anything is unusual."""
    if settings is None or not is_plain(X) or logger.isEnabledFor(logging.INFO):
        return False
    n_clusters, n_starts, flags = model.n_clusters, settings.n_starts, X.flags
    n_rows, n_features = X.shape
    if n_rows < n_clusters or not (flags.aligned and flags.forc):
        return False
    core: Any = compiled
    shared = settings.recipe.weighting.shared
    n_threads = core.useful_threads(n_rows, n_features, n_clusters, n_starts, shared)
    if n_threads > 1:
        n_threads = min(n_threads, _n_threads(model.n_jobs, core.places(), *of_environment()))
    block = Block(X, None, 0, n_threads)
    table = core.describe_complete(block)
    if table is None:
        return False
    narrowest, widest = table.span_range
    lowest, highest = table.scatter_range
    if widest > MOST * narrowest or not (lowest > _SMALLEST and highest < _LARGEST):
        return False
    set_columns(model, n_features)
    if settings.takes_categories:
        model._coding = None
    recipe = _adapted(settings.recipe, table, n_clusters)
    run: Run | None = None
    if n_starts == 1 and n_rows < 2 * core.SEGMENT and type(model.init) is np.ndarray:
        centers = checked_centers(model, model.init, table)
        is_set, run = _fit_start(model, settings, block, recipe, table, centers)
        if is_set:
            return True
    problem = Problem(MemorySource.of_plain(X, n_threads), recipe, table, n_clusters, X)
    with silent_overflow():
        model._set_run(problem, model._best_run(problem, n_starts) if run is None else run)
    return True


@functools.lru_cache(maxsize=64, typed=True)
def _n_threads(n_jobs: Any, places: frozenset[int], *of_environment: str | None) -> int:
    """Return the number of threads, asked once for what decides it."""
    return effective_n_threads(n_jobs)


def _adapted(recipe: Recipe, table: Description, n_clusters: int) -> Recipe:
    """Return copies of the parts for this table: models share nothing that can be changed."""
    parts: tuple[Any, ...] = recipe
    dissimilarity, center = copied(parts[0]), copied(parts[1])
    dissimilarity.table = center.table = table
    rule = parts[2].adapted(table, n_clusters)
    return Recipe(dissimilarity, center, copied(rule) if rule is parts[2] else rule)


def _initial_weights(rule: Any, n_clusters: int, table: Description) -> Weights:
    """Return the weights that a start begins with."""
    equal = type(rule).initial is WeightRule.initial  # nothing is computed
    with nullcontext() if equal else silent_overflow():
        weights: Weights = rule.initial(1, n_clusters, table)
    return weights


def _fit_start(
    model: Any,
    settings: Settings,
    block: Block,
    recipe: Recipe,
    table: Description,
    centers: FloatArray,
) -> tuple[bool, Run | None]:
    """Run a start from given centers, which are replaced, on fewer rows than two segments.

    Return whether the attributes have been set. If there may be something to warn of, return the
    run instead, and None if the core has given it up.
    """
    core: Any = compiled
    rule: Any = recipe.weighting
    weights = _initial_weights(rule, len(centers), table)
    memory = dict(weights.memory)
    constant = np.array(memory["constant"]).ravel() if "constant" in memory else np.array([np.nan])
    values = weights.values.copy()
    objective, history, n_iter, flags, best, labels, total, mass, inertia = core.run_starts(
        block,
        rule.in_core,
        table,
        centers[None],
        values,
        constant,
        _NO_GROUPS,
        memory.get("guard", 0.0),
        weights.values[0, 0],
        _NO_GROUPS,
        int(model.max_iter),
        model.tol,
        False,
        True,
    )
    if best < 0:
        return False, None
    remember(memory, constant)
    clear = flags[0, 0] and math.isfinite(total) and 0.0 not in mass.tolist()
    if not clear or core.largest_share(values[0]) > _CLEAR:
        labeled = Labeled(0, labels, np.array([total]), mass)
        ended = n_iter.item(), bool(flags[0, 0]), bool(flags[1, 0]), labeled
        found = Weights(values, memory)
        return False, Run(centers, found, objective.item(), history[0], *ended)
    if settings.takes_categories:
        model.category_frequencies_, model.modes_ = {}, {}
    for name, of_rule in settings.shown:
        setattr(model, name, getattr(rule, of_rule))
    vars(model).update(  # what `_set_fitted` sets
        _parts=recipe,
        _table=table,
        _memory=memory,
        _frequencies=centers[:, table.layout.n_features :],
        cluster_centers_=centers.astype(block.rows.dtype),
        n_clusters_=len(centers),
        feature_weights_=values[0],
        objective_history_=history[0],
        n_iter_=n_iter.item(),
        converged_=True,
        labels_=labels,
        inertia_=inertia,
    )
    return True, None
