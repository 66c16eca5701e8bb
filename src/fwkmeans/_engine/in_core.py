"""The loop in the compiled core: the same steps and the same bits as `fwkmeans._engine.loop`.

The core knows squared distances of numeric rows, whose missing cells are left out, means, and the
weight rules that have `in_core`. Everything else, such as a user's own rule, runs in Python.
"""

from __future__ import annotations

import functools
import logging
import math
from typing import Any

import numpy as np

from fwkmeans._core.passes import Alternation
from fwkmeans._engine.recipe import Recipe
from fwkmeans._engine.state import Outcome
from fwkmeans._engine.statistics import updates
from fwkmeans.typing import BoolArray, Description, FloatArray, Source, Weights

logger = logging.getLogger("fwkmeans")

_KNOWN = {"constant", "guard", "group_weights"}  # what rules of the core remember


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
) -> tuple[Outcome, BoolArray] | None:
    """Run the loop in the core; None if it does not know these parts or rows.

    The second result marks the starts that the core has given up: their sums overflow, and the loop
    in Python says how they end.
    """
    one_block = source.resident and source.n_blocks == 1 and "alternate" in source.operations
    if not one_block or (source.gaps and table.rescale) or not source.layout.is_numeric:
        return None
    dissimilarity, center, rule = map(_in_core, recipe)
    if not (dissimilarity and center and rule) or weights.memory.keys() - _KNOWN:
        return None
    if logger.isEnabledFor(logging.DEBUG):  # it reports every iteration of all starts
        return None
    n_starts, n_clusters, _ = weights.values.shape
    memory, initial = dict(weights.memory), recipe.weighting.initial(n_starts, 1, table)
    unknown, nothing, no_guard = _absent(n_starts, n_clusters)
    ended, moved, found, constants, groups = source.reduce(
        Alternation(
            rule,
            table,
            centers,
            weights.values,
            memory.get("constant", unknown),
            memory.get("group_weights", nothing),
            memory.get("guard", no_guard),
            initial.values[0, 0],
            initial.memory.get("group_weights", nothing)[0, 0],
            max_iter,
            tol,
            updates(source),
            label,
        )
    )
    if "constant" in memory or not all(map(math.isnan, constants.tolist())):
        memory["constant"] = constants.reshape(n_starts, 1, 1)
    if "group_weights" in memory:
        memory["group_weights"] = groups
    if "guard" in memory:
        memory["guard"] = np.array(memory["guard"])
    objective, history, n_iter, converged, has_empty, given_up, labeled = ended
    outcome = Outcome(
        moved, Weights(found, memory), objective, history, n_iter, converged, has_empty, labeled
    )
    return outcome, given_up


@functools.lru_cache(maxsize=16)
def _absent(n_starts: int, n_clusters: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what stands for constants, weights of groups and guards that a rule has not."""
    unknown = np.full((n_starts, 1, 1), np.nan)
    absent = unknown, np.zeros((n_starts, n_clusters, 0)), np.zeros((n_starts, 1, 1))
    for array in absent:
        array.flags.writeable = False  # all fits share them
    return absent


def _in_core(part: Any) -> Any:
    """Return how the core knows a part; a class that derives from a known one may do otherwise."""
    return part.in_core if "in_core" in vars(type(part)) else None
