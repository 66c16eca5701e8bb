"""The loop in the compiled core: the same steps as `fwkmeans._engine.loop`, values within 1e-12.

The core knows squared distances of numeric rows, whose missing cells are left out, means, and the
weight rules that have `in_core`. Everything else, such as a user's own rule, runs in Python.
"""

from __future__ import annotations

import functools
import logging
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import fwkmeans._core.compiled as compiled
from fwkmeans._core import kernels_for
from fwkmeans._engine.recipe import Recipe
from fwkmeans._engine.state import Outcome, updates
from fwkmeans.typing import (
    Block,
    BoolArray,
    Description,
    FloatArray,
    ReductionHooks,
    RowMemory,
    Source,
    WeightRuleProtocol,
    Weights,
)

logger = logging.getLogger("fwkmeans")

_KNOWN = frozenset({"constant", "guard", "group_weights"})  # what rules of the core remember

#: How starts ended, and those that the core has given up, if there are any: their sums overflow,
#: and the loop in Python says how they end.
Ended = tuple[Outcome, BoolArray | None]


def alternate_in_core(
    source: Source,
    recipe: Recipe,
    table: Description,
    centers: FloatArray,
    weights: Weights,
    *,
    max_iter: int,
    tol: float,
    label: bool = False,
) -> Ended | None:
    """Run the loop in the core, which knows these rows and parts; None if weights remember more."""
    if not _KNOWN.issuperset(weights.memory):
        return None
    rule = recipe.weighting
    stop = (max_iter, tol, updates(source), label)
    ended = source.reduce(Alternation(rule, table, centers, weights, *stop))
    _report(ended[0].history)
    return ended


def why_not_in_core(source: Source, recipe: Recipe, table: Description) -> str:
    """Return why the core cannot run the loop on these rows with these parts; "" if it can."""
    if not source.layout.is_numeric:
        return "there are categories"
    if not (source.resident and source.n_blocks == 1 and "alternate" in source.operations):
        return f"rows in {type(source).__name__} are read block by block"
    if source.gaps and table.rescale:
        return "dissimilarities of rows with missing cells are rescaled"
    parts: tuple[Any, ...] = recipe
    for part in parts:
        kind: Any = type(part)
        if not (_may_be_in_core(kind) and part.in_core):
            return f"the core does not know {part!r}"
    return ""


@dataclass(frozen=True)
class Alternation(ReductionHooks):
    """Run the whole loop of every start; all rows must be one block."""

    rule: WeightRuleProtocol
    table: Description
    centers: FloatArray  # (R, K, M) initial ones
    weights: Weights
    max_iter: int
    tol: float
    updates: bool  # whether to sum only rows that change, where these are few
    label: bool = False  # whether to label the rows by the start with the lowest objective

    def on_block(self, block: Block, memory: RowMemory) -> tuple[Ended, RowMemory]:
        """Return how the starts ended."""
        rule, table, centers, weights = self.rule, self.table, self.centers, self.weights
        remembered = dict(weights.memory)
        n_starts, n_clusters, _ = weights.values.shape
        initial = rule.initial(n_starts, 1, table)  # of a cluster that is moved
        unknown, nothing, no_guard = _absent(n_starts, n_clusters)
        moved, found = centers.copy(), weights.values.copy()
        constants = remembered.get("constant", unknown).ravel().copy()
        groups = remembered.get("group_weights", nothing).copy()
        objective, history, n_iter, converged, has_empty, given_up, labeled = _kernels(
            block
        ).alternate(
            block,
            rule.in_core,  # type: ignore[attr-defined]
            table,
            moved,
            found,
            constants,
            groups,
            remembered.get("guard", no_guard),
            initial.values[0, 0],
            initial.memory.get("group_weights", nothing)[0, 0],
            max_iter=self.max_iter,
            tol=self.tol,
            updates=self.updates,
            label=self.label,
        )
        remember(remembered, constants)
        if "group_weights" in remembered:
            remembered["group_weights"] = groups
        outcome = Outcome(
            moved,
            Weights(found, remembered),
            objective,
            history,
            n_iter,
            converged,
            has_empty,
            labeled,
        )
        return (outcome, given_up if any(given_up.tolist()) else None), memory

    def join(self, before: Ended, after: Ended) -> Ended:
        """Raise an error: what starts do on two blocks does not say what they do on both."""
        raise TypeError("The loops of several blocks cannot be joined.")

    def finish(self, whole: Ended) -> Ended:
        """Return how the starts ended."""
        return whole


def _report(history: FloatArray) -> None:
    """Log every iteration of all starts, which the core has run before anything is printed."""
    if not logger.isEnabledFor(logging.DEBUG):
        return
    best = np.minimum.accumulate(np.nanmin(history, axis=0, initial=np.inf))
    running = np.count_nonzero(~np.isnan(history), axis=0)
    for iteration, (n_starts, lowest) in enumerate(zip(running, best, strict=True), start=1):
        logger.debug("iteration %d: %d starts, best objective %.10g", iteration, n_starts, lowest)


def remember(memory: dict[str, FloatArray], constants: FloatArray) -> None:
    """Put the constants of starts, (R,), NaN where a rule has none, in what a rule remembers."""
    if "constant" in memory or not all(map(math.isnan, constants.tolist())):
        memory["constant"] = constants.reshape(-1, 1, 1)
    if "guard" in memory:
        memory["guard"] = np.array(memory["guard"])  # it may be a view of all starts


@functools.lru_cache(maxsize=16)
def _absent(n_starts: int, n_clusters: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what stands for constants, weights of groups and guards that a rule has not."""
    unknown = np.full((n_starts, 1, 1), np.nan)
    absent = unknown, np.zeros((n_starts, n_clusters, 0)), np.zeros((n_starts, 1, 1))
    for array in absent:
        array.flags.writeable = False  # all fits share them
    return absent


def _kernels(block: Block) -> Any:
    return compiled if type(block.rows) is np.ndarray else kernels_for(block.rows)


@functools.cache
def _may_be_in_core(kind: Any) -> bool:
    """Tell whether the core may know a kind of part, not one that derives from a known one."""
    return "in_core" in vars(kind)
