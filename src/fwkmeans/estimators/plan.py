"""The plan of a fit: what will run, where, in which batches, and why, before anything runs.

`make_plan` is the only place that decides this, from the parameters of a model, the rows and their
description. `fwkmeans.estimators.batches` runs plans, and `fwkmeans.estimators.publish` sets the
attributes of the model from the best start. Nothing that is printed or logged changes a plan.

On a table of some hundred rows the core is done after some microseconds, and every step of Python
counts. What the parameters alone decide is therefore remembered (`Settings`), and complete numbers
in memory are described in one call of the core.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
from collections.abc import Callable
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

import fwkmeans._core.compiled as compiled
from fwkmeans._engine import (
    ARRAYS_A_PART,
    Recipe,
    bind_parts,
    check_recipe,
    keeps_labels,
    why_not_in_core,
)
from fwkmeans._init import Seeds
from fwkmeans._support.checks import SIMPLE, check_parameters, one_value_a_start
from fwkmeans._support.copies import copied
from fwkmeans._support.text import count
from fwkmeans._support.threads import ENVIRONMENT, effective_n_threads
from fwkmeans._tabular.columns import describe_columns
from fwkmeans.estimators.model import Model
from fwkmeans.estimators.spreads import MOST, warn_of_unequal_spreads
from fwkmeans.estimators.starts import init_of, is_anomalous, n_starts_of, with_patterns
from fwkmeans.sources import MemorySource, SparseSource, describe
from fwkmeans.sources.memory import is_plain
from fwkmeans.sources.sparse import to_scipy
from fwkmeans.typing import Block, Description, FloatArray, Source, Weights
from fwkmeans.weighting import WeightRule

__all__ = ["Plan", "bound_parts", "make_plan", "plan_of"]

#: The largest size in bytes of the state of all starts that run together.
BATCH_BYTES = 16 * 2**20
#: The same on a device, with what a pass writes there.
DEVICE_BATCH_BYTES = 2**32

_TINY = 1e-290  # smaller sums of squares leave no digits for the dispersions of clusters
_MANY = 1000  # settings that are remembered


class Plan(NamedTuple):
    """What a fit will do; it never changes while it runs.

    A plan can be run on other rows by `_replace`: some starts on a sample of the rows, for example,
    and then the best of them on all rows, from `begin`.
    """

    source: Source
    recipe: Recipe  # bound to the table
    table: Description
    n_clusters: int
    given: Any  # the rows as a callable `init` gets them
    seeds: Seeds
    n_starts: int
    max_iter: int
    tol: float
    why_python: str = ""  # why the loop runs in Python; nothing if it runs in the core
    centers: FloatArray | None = None  # (K, P) if they are the same for all starts
    weights: FloatArray | None = None  # (K, M) that come with them
    begin: tuple[FloatArray, Weights] | None = None  # of all starts; None: the estimator draws them

    @property
    def n_together(self) -> int:
        """Number of starts that may run together, so that a batch does not take too much memory.

        Centers, weights and sums of all starts take at most `BATCH_BYTES`. The labels that the loop
        in Python keeps of each start take at most a sixteenth of the table, or of small tables
        `BATCH_BYTES`. The loop in the core keeps labels and bounds of two starts, 24 bytes a row,
        however many run together.
        """
        source, layout = self.source, self.source.layout
        entries = int(layout.numeric.size + layout.offsets[-1])
        if source.on_device:  # eight numbers a row, and sums of up to 1024 parts
            parts = min(1024, 1 + source.n_rows // 512)
            state = 32 * source.n_rows + 8 * self.n_clusters * entries * (16 + 2 * parts)
            return int(max(1, DEVICE_BATCH_BYTES // state))
        # the core runs starts one after the other, with the same sums, labels and bounds for all
        segments = max(1, min(64, source.n_rows // 1024)) if self.why_python else 1
        by_state = int(BATCH_BYTES // (8 * self.n_clusters * entries * (32 + 2 * segments)))
        if not self.why_python or not keeps_labels(source, self.recipe.dissimilarity):
            return max(1, by_state)
        if source.remembers:  # beside rows that are elsewhere
            part_bytes = ARRAYS_A_PART * 8 * self.n_clusters * entries
            return max(1, min(by_state, source.most_starts(part_bytes)))
        table_bytes = source.n_rows * layout.n_features * source.dtype.itemsize
        by_labels = min(4 * BATCH_BYTES, table_bytes // 16) // (4 * source.n_rows)
        if self.recipe.dissimilarity.needs_labels:  # many starts are fine for small tables
            by_labels = max(by_labels, BATCH_BYTES // (4 * source.n_rows))
        return max(1, min(by_state, by_labels))

    def explain(self, model: Model) -> str:
        """Return what will run, where, in which batches, and why, in some lines."""
        source, rule = self.source, self.recipe.weighting
        how = init_of(model)
        begins = repr(how) if isinstance(how, str) else "given centers"
        begins = "a function" if callable(how) else begins
        kind = f"{source.dtype} numbers"
        if not source.layout.is_numeric:
            kind += f" and {count(source.layout.categorical.size, 'column')} of categories"
        cells = "; missing cells are left out" if source.gaps else ""
        together = min(self.n_starts, self.n_together)
        n_batches = -(-self.n_starts // together)
        several = n_batches > 1
        where = f"in Python, since {self.why_python}" if self.why_python else "in the compiled core"
        lines = [
            f"{type(model).__name__}: {count(self.n_clusters, 'cluster')}, {rule!r}",
            f"rows: {source.n_rows:,} x {source.layout.n_features}, {kind}, in "
            f"{count(source.n_blocks, 'block')} of {type(source).__name__}{cells}",
            f"starts: {self.n_starts} from {begins}",
            f"batches: {n_batches} of {'at most ' * several}{count(together, 'start')}"
            f"{', since more would take too much memory' * several}",
            f"loop: {where}, at most {count(self.max_iter, 'iteration')}, tol={self.tol:g}",
        ]
        return "\n".join(lines)


# ---- what the parameters alone decide -----------------------------------------------------------


class Settings(NamedTuple):
    """What the parameters of a model alone decide."""

    n_starts: int
    recipe: Recipe | None = None  # of complete numbers in the core, bound to a table of others
    shared: bool = False  # whether all clusters have the same weights


_known: dict[Any, Settings] = {}


def _settings_of(model: Model) -> Settings:
    """Check the parameters of a model; return what they decide."""
    key = _key_of(model)
    if key is not None and key in _known:
        return _known[key]  # they have been checked
    model._check_parameters()
    settings = Settings(n_starts_of(model), *(() if key is None else _parts_of(model)))
    if settings.recipe is not None:
        if len(_known) >= _MANY:
            _known.clear()
        _known[key] = settings
    return settings


def _key_of(model: Model) -> tuple[Any, ...] | None:
    """Return what tells the settings of a model from others; None if they are not simple."""
    kind: Any = type(model)
    own = vars(model)
    if "_recipe_of_parameters" not in vars(kind):
        return None
    try:
        values = _parameters_of(kind)(own)
        init, seed, verbose = own["init"], own["random_state"], own["verbose"]
    except KeyError:  # such as a model that was saved before a parameter existed
        return None
    types = tuple(map(type, values))
    given = type(init) is np.ndarray
    valid = seed is None or (type(seed) is int and 0 <= seed < 2**32)
    valid = valid and type(verbose) in (int, bool) and verbose >= 0
    simple = SIMPLE.issuperset(types) and (given or type(init) is str)
    if not (valid and simple):
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


def _parts_of(model: Model) -> tuple[Recipe, bool] | tuple[()]:
    """Return the parts for complete numbers in the core, if nothing else is needed to make them."""
    no_gaps = model._missing == "error"
    by_dtype = getattr(model, "categorical_features", None) in (None, "from_dtype")
    uniform = model._weight_init == "uniform"
    usual = no_gaps and by_dtype and uniform and model.n_clusters is not None
    if not usual or is_anomalous(model):
        return ()
    if type(model.init) is np.ndarray and model.n_init not in ("auto", 1):
        return ()  # a warning is due each time
    rows = MemorySource(np.zeros((1, 1)))
    table = describe(rows)[0]
    recipe = model._recipe(rows, table)
    check_recipe(recipe, rows)
    rule: Any = recipe.weighting
    usual = type(rule).observe is WeightRule.observe and type(rule).bind is WeightRule.bind
    if not usual or why_not_in_core(rows, recipe, table):
        return ()
    check_parameters(rule, rule._constraints)
    return bind_parts(recipe, rows, table)[0], rule.shared


# ---- plans --------------------------------------------------------------------------------------


def make_plan(model: Model, X: Any, sample_weight: Any = None, device: Any = None) -> Plan:
    """Return the plan of a fit; raise an error that says what is wrong with parameters or rows."""
    settings = _settings_of(model)
    if settings.recipe is not None and sample_weight is None and device is None and is_plain(X):
        plan = _plan_of_numbers(model, X, settings, settings.recipe)
        if plan is not None:
            return plan
    given = model._opened(X, sample_weight, reset=True, device=device)
    source, table = model._described(given, reset=True)
    warn_of_unequal_spreads(model, table)
    return plan_of(model, given.rows, source, table, settings.n_starts)


def _plan_of_numbers(model: Model, X: Any, settings: Settings, recipe: Recipe) -> Plan | None:
    """Return the plan for complete numbers in memory; None if anything has to be looked at."""
    n_rows, n_features = X.shape
    n_clusters, flags = model.n_clusters, X.flags
    if n_clusters is None or n_rows < n_clusters or not (flags.aligned and flags.forc):
        return None
    n_threads = compiled.useful_threads(
        n_rows, n_features, n_clusters, settings.n_starts, settings.shared
    )
    if n_threads > 1:
        n_threads = min(
            n_threads,
            _n_threads(model.n_jobs, compiled.places(), *map(os.environ.get, ENVIRONMENT)),
        )
    table = compiled.describe_complete(Block(X, None, 0, n_threads))
    if table is None:
        return None
    narrowest, widest = table.span_range
    lowest, highest = table.scatter_range
    if widest > MOST * narrowest or not (lowest > _TINY and highest < math.inf):
        return None
    model.n_features_in_ = n_features
    vars(model).pop("feature_names_in_", None)
    if model._takes_categories:
        model._coding = None
    return Plan(
        MemorySource.of_plain(X, n_threads),
        _rebound(recipe, table, n_clusters),
        table,
        n_clusters,
        X,
        Seeds(model.random_state),
        settings.n_starts,
        model.max_iter,
        model.tol,
    )


@functools.lru_cache(maxsize=64, typed=True)
def _n_threads(n_jobs: Any, places: bytes, *of_environment: str | None) -> int:
    """Return the number of threads, asked once for what decides it."""
    return effective_n_threads(n_jobs)


def _rebound(recipe: Recipe, table: Description, n_clusters: int) -> Recipe:
    """Return copies of the parts for this table: models share nothing that can be changed."""
    dissimilarity, center = copied(recipe.dissimilarity), copied(recipe.center)
    vars(dissimilarity)["table"] = vars(center)["table"] = table
    before: Any = recipe.weighting
    rule = before.adapted(table, n_clusters)
    return Recipe(dissimilarity, center, copied(rule) if rule is before else rule)


def plan_of(
    model: Model, given: Any, source: Source, table: Description, n_starts: int = 1
) -> Plan:
    """Return the plan of a fit to rows that have been described."""
    if model.n_clusters is not None and table.n_rows < model.n_clusters:
        raise ValueError(
            f"n_samples={table.n_rows} (rows with weight) should be >= "
            f"n_clusters={model.n_clusters}. Ask for fewer clusters."
        )
    recipe = model._recipe(source, table)
    check_recipe(recipe, source)
    _refuse_batches(recipe)
    recipe, table = bound_parts(model, recipe, source, table)
    if isinstance(source, MemorySource) and source.layout.is_numeric:
        given = source.rows  # as the algorithm sees them
    elif isinstance(source, SparseSource):
        given = to_scipy(source.rows)
    plan = Plan(
        source,
        recipe,
        table,
        int(model.n_clusters or 0),
        given,
        Seeds(model.random_state),
        n_starts,
        int(model.max_iter),
        model.tol,
        why_not_in_core(source, recipe, table),
    )
    if is_anomalous(model):
        plan = with_patterns(model, plan, model._pattern_exponent())
    rule = recipe.weighting.observe(source, table).bind(table, plan.n_clusters)
    return plan._replace(recipe=Recipe(recipe.dissimilarity, recipe.center, rule))


def bound_parts(
    model: Model, recipe: Recipe, source: Source, table: Description
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
        names = model._names
        raise ValueError(
            f"The {'squares' if squares else 'powers'} of {describe_columns(lost, names)} of X "
            "underflow to zero or overflow. Rescale X, for example with "
            "fwkmeans.preprocessing.RangeStandardizer"
            f"{'' if squares else ', or take a smaller p'}"
            f"{', or larger sample weights' if table.mass < 1e-100 else ''}."
        )
    return recipe, table


def _refuse_batches(recipe: Recipe) -> None:
    """Raise if a parameter of the rule has one value per start: an estimator fits one model."""
    attributes: dict[str, Any] = getattr(recipe.weighting, "__dict__", {})
    for name, value in attributes.items():
        if type(value) is np.ndarray and one_value_a_start(value):
            raise ValueError(
                f"{name} of {recipe.weighting!r} has one value for each start; an estimator "
                "takes a number. To try many values, use fwkmeans.selection.sweep."
            )
