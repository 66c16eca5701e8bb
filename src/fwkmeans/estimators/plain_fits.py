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
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from fwkmeans._core import uses_one_thread
from fwkmeans._engine import (
    Alternation,
    Recipe,
    Run,
    bind_parts,
    check_recipe,
    is_in_core,
    updates,
)
from fwkmeans._init import Seeds
from fwkmeans._support.checks import SIMPLE, check_parameters
from fwkmeans._support.copies import copied
from fwkmeans._support.threads import effective_n_threads
from fwkmeans.estimators.inputs import is_plain, set_columns
from fwkmeans.estimators.spreads import MOST
from fwkmeans.estimators.starts import Problem, checked_centers, is_anomalous, n_starts_of
from fwkmeans.sources import MemorySource, describe
from fwkmeans.sources.describe import describe_complete
from fwkmeans.weighting import WeightRule

__all__ = ["Settings", "check_settings", "run_plainly"]

logger = logging.getLogger("fwkmeans")

_MANY = 1000  # settings that are remembered
_SMALLEST, _LARGEST = 1e-150, 1e150  # scatters, so that no power or sum of them overflows


class Settings(NamedTuple):
    """What the parameters of a model alone decide."""

    recipe: Recipe  # bound to a table of numbers, which must be replaced
    n_starts: int


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
    try:
        values, init = _parameters_of(kind)(model), model.init
        seed, verbose = model.random_state, model.verbose
    except AttributeError:  # such as a model that was saved before a parameter existed
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
def _parameters_of(kind: Any) -> Callable[[Any], tuple[Any, ...]]:
    """Return what gives all parameters but those that differ from fit to fit, or are never set."""
    names = inspect.signature(kind).parameters.keys() - {"init", "random_state", "verbose"}
    return attrgetter(*sorted(names))


def _settings_of(model: Any) -> Settings | None:
    """Return what the parameters of a model decide, which are valid and simple."""
    no_gaps = getattr(model, "missing", "error") == "error"
    by_dtype = getattr(model, "categorical_features", None) in (None, "from_dtype")
    uniform = getattr(model, "weight_init", "uniform") == "uniform"
    usual = no_gaps and by_dtype and uniform
    if not usual or model.n_clusters is None or is_anomalous(model):
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
    return Settings(bind_parts(recipe, rows, table)[0], n_starts_of(model))


def run_plainly(model: Any, X: Any, settings: Settings) -> tuple[Problem, Run] | None:
    """Return the best start of a fit to complete numbers; None if anything is unusual."""
    n_starts = settings.n_starts
    n_clusters = model.n_clusters
    if not is_plain(X) or len(X) < n_clusters or logger.isEnabledFor(logging.INFO):
        return None
    flags = X.flags
    if not (flags.aligned and flags.forc):
        return None
    n_threads = 1
    if n_starts > 1 or not uses_one_thread(X.shape[0], X.shape[1], n_clusters):
        n_threads = effective_n_threads(model.n_jobs)
    source = MemorySource.of_plain(X, n_threads)
    (block,) = source.blocks()
    table = describe_complete(block)
    if table is None:
        return None
    narrowest, widest = table.span_range
    lowest, highest = table.scatter_range
    if widest > MOST * narrowest or not (lowest > _SMALLEST and highest < _LARGEST):
        return None
    set_columns(model, X.shape[1])
    if hasattr(model, "categorical_features"):
        model._coding = None
    parts: tuple[Any, ...] = settings.recipe
    dissimilarity, center = copied(parts[0]), copied(parts[1])
    dissimilarity.table = center.table = table
    rule = parts[2].adapted(table, n_clusters)
    rule = copied(rule) if rule is parts[2] else rule  # models share nothing that can be changed
    problem = Problem(source, Recipe(dissimilarity, center, rule), table, n_clusters, X)
    if n_starts > 1:
        return problem, model._best_run(problem, n_starts)
    if type(model.init) is np.ndarray:
        centers = checked_centers(model, model.init, table)[None]
    else:
        centers = model._initial_centers(problem, Seeds(model.random_state), range(1))
    weights = rule.initial(1, n_clusters, table)
    stop = (int(model.max_iter), model.tol)
    loop = Alternation(rule, table, centers, weights, *stop, updates(source), True, initial=weights)
    (outcome, given_up), _ = loop.on_block(block, {})
    if given_up is not None:
        outcome = problem.alternate(centers, weights, max_iter=stop[0], tol=stop[1])
    return problem, outcome.best()
