"""The loop in the compiled core: the same steps and the same bits as `fwkmeans._engine.loop`.

The core knows squared distances of complete numeric rows, means, and the weight rules that have
`in_core`. Everything else, such as a user's own rule, runs in Python.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from fwkmeans._core.passes import Alternation
from fwkmeans._engine.recipe import Recipe
from fwkmeans._engine.state import Outcome
from fwkmeans._engine.statistics import updates
from fwkmeans.typing import BoolArray, Description, FloatArray, Source, Weights

logger = logging.getLogger("fwkmeans")


def alternate_in_core(
    source: Source,
    recipe: Recipe,
    table: Description,
    centers: FloatArray,
    weights: Weights,
    *,
    max_iter: int,
    tol: float,
) -> tuple[Outcome, BoolArray] | None:
    """Run the loop in the core; None if it does not know these parts or rows.

    The second result marks the starts that the core has given up: their sums overflow, and the loop
    in Python says how they end.
    """
    one_block = source.resident and source.n_blocks == 1 and "alternate" in source.operations
    if not one_block or source.gaps or not source.layout.is_numeric:
        return None
    dissimilarity, center, rule = map(_in_core, recipe)
    if not (dissimilarity and center and rule) or set(weights.memory) - {"constant"}:
        return None
    if logger.isEnabledFor(logging.DEBUG):  # it reports every iteration of all starts
        return None
    constants = weights.memory.get("constant", np.full((len(centers), 1, 1), np.nan))
    initial = recipe.weighting.initial(len(centers), 1, table).values[0, 0]
    values, (ended, moved, found, constants) = (
        weights.values,
        source.reduce(
            Alternation(
                rule,
                table,
                centers,
                weights.values,
                constants,
                initial,
                max_iter,
                tol,
                updates(source),
            )
        ),
    )
    remembers = "constant" in weights.memory or not np.isnan(constants).all()
    memory = {"constant": constants.reshape(values.shape[0], 1, 1)} if remembers else {}
    objective, history, n_iter, converged, has_empty, given_up = ended
    outcome = Outcome(
        moved, Weights(found, memory), objective, history, n_iter, converged, has_empty
    )
    return outcome, given_up


def _in_core(part: Any) -> Any:
    """Return how the core knows a part; a class that derives from a known one may do otherwise."""
    return part.in_core if "in_core" in vars(type(part)) else None
