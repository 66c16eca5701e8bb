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
from fwkmeans._support.checks import RANDOM_STATE, SIMPLE, check_parameters
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
    kind: Any = type(model)
    init = getattr(model, "init", None)
    values = _parameters_of(kind)(model)
    types = tuple(map(type, values))
    is_array = type(init) is np.ndarray
    if not SIMPLE.issuperset(types) or not (is_array or type(init) is str):
        model._check_parameters()
        return None
    if model.random_state is not None:
        RANDOM_STATE.check("random_state", model.random_state, kind.__name__)
    key = (kind, values, types, is_array or init)
    if key in _checked:
        return _checked[key]
    model._check_parameters()
    settings = _settings_of(model)
    if len(_checked) < _MANY:
        _checked[key] = settings
    return settings


@functools.cache
def _parameters_of(kind: Any) -> Callable[[Any], tuple[Any, ...]]:
    """Return what gives all parameters of a model but two that hardly ever repeat."""
    names = inspect.signature(kind).parameters.keys() - {"init", "random_state"}
    return attrgetter(*sorted(names))


def _settings_of(model: Any) -> Settings | None:
    """Return what the parameters of a model decide, which are valid and simple."""
    own = vars(type(model)).get("_recipe_by_parameters", False)  # of this class, not of a base
    no_gaps = getattr(model, "missing", "error") == "error"
    by_dtype = getattr(model, "categorical_features", None) in (None, "from_dtype")
    uniform = getattr(model, "weight_init", "uniform") == "uniform"
    usual = own and no_gaps and by_dtype and uniform and not model.verbose
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
    problem = Problem(source, Recipe(dissimilarity, center, rule), table, n_clusters, X)
    if n_starts == 1:
        if type(model.init) is np.ndarray:
            centers = checked_centers(model, model.init, table)[None]
        else:
            centers = model._initial_centers(problem, Seeds(model.random_state), range(1))
        weights = rule.initial(1, n_clusters, table)
        stop = (int(model.max_iter), model.tol, updates(source), True)
        loop = Alternation(rule, table, centers, weights, *stop, initial=weights)
        (outcome, given_up), _ = loop.on_block(block, {})
        if given_up is None:
            return problem, outcome.best()
    return problem, model._best_run(problem, n_starts)
