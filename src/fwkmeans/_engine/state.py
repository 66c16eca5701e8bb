"""How starts end, and how centers and weights become what a pass over the rows needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fwkmeans._core.functions import to_unit
from fwkmeans.typing import (
    Assignment,
    BoolArray,
    FloatArray,
    IntArray,
    Labeled,
    Source,
    WeightRuleProtocol,
    Weights,
)

_WORTHWHILE = 20_000  # rows; below this a full recount is cheaper
_LONG = 8  # rows for each column


def updates(source: Source) -> bool:
    """Tell whether statistics are updated by the rows that change."""
    # sums of wide sparse rows cost less than what an update does with (K, M) numbers
    few = source.sparse and source.n_rows < _LONG * source.layout.n_features
    cheap = source.resident or source.remembers
    return cheap and source.n_rows >= _WORTHWHILE and not few


def assignment_of(rule: WeightRuleProtocol, centers: FloatArray, weights: Weights) -> Assignment:
    """Return what determines the labels.

    The effective weights of each start are scaled by a power of two, so that the largest is in
    [1/2, 1). This loses no precision and keeps float32 from underflow.
    """
    values, scale = rule.effective(weights)
    scaled, unit = to_unit(values)
    scale = scale / unit
    offsets = rule.offsets(weights) / scale[:, None]
    return Assignment(centers, scaled, offsets, scale)


class Run(NamedTuple):
    """How one start ended."""

    centers: FloatArray  # (K, P)
    weights: Weights  # leading axis of length one
    objective: float  # infinite if sums overflowed
    history: FloatArray  # (n_iter,) objective after each weight step
    n_iter: int
    converged: bool
    has_empty: bool  # a cluster stayed without rows
    labeled: Labeled | None = None  # the rows by this start, if they have been labeled


class Outcome(NamedTuple):
    """How the starts of a batch ended; every array of its own has leading axis R."""

    centers: FloatArray  # (R, K, P)
    weights: Weights
    objective: FloatArray
    history: FloatArray  # (R, most iterations) objective after each weight step, then NaN
    n_iter: IntArray
    converged: BoolArray
    has_empty: BoolArray  # a cluster stayed without rows
    labeled: Labeled | None = None  # the rows by one of the starts

    def put(self, starts: IntArray, others: Outcome) -> Outcome:
        """Return the outcome with that of some starts replaced; it is changed in place."""
        width = max(self.history.shape[1], others.history.shape[1])
        outcome = self._replace(history=_as_wide(self.history, width))
        others = others._replace(history=_as_wide(others.history, width))
        for kept, some in zip(outcome, others, strict=True):
            if isinstance(kept, np.ndarray) and isinstance(some, np.ndarray):
                kept[starts] = some
        outcome.weights.values[starts] = others.weights.values
        memory = dict(outcome.weights.memory)
        for key, values in others.weights.memory.items():
            shape = len(self.objective), *values.shape[1:]
            memory.setdefault(key, np.full(shape, np.nan))[starts] = values
        return outcome._replace(weights=outcome.weights._replace(memory=memory))

    def _weights_of(self, start: IntArray) -> Weights:
        values, memory = self.weights
        return Weights(values[start], {name: part[start] for name, part in memory.items()})

    def best(self) -> Run:
        """Return the start with the lowest objective, the first one on ties."""
        return self.run(first_lowest(self.objective))

    def run(self, at: int) -> Run:
        """Return how one of the starts ended."""
        n_iter = int(self.n_iter[at])
        return Run(
            self.centers[at],
            self.weights if len(self.objective) == 1 else self._weights_of(np.asarray([at])),
            float(self.objective[at]),
            self.history[at, :n_iter],
            n_iter,
            bool(self.converged[at]),
            bool(self.has_empty[at]),
            self.labeled if self.labeled is not None and self.labeled.start == at else None,
        )


def _as_wide(history: FloatArray, width: int) -> FloatArray:
    return np.pad(history, ((0, 0), (0, width - history.shape[1])), constant_values=np.nan)


def first_lowest(objective: FloatArray) -> int:
    """Return the index of the lowest objective, the first of those equal up to rounding."""
    if objective.size == 1:
        return 0
    lowest = objective.min()
    return int(np.argmax(objective <= lowest + 1e-12 * abs(lowest)))


def lowest(objective: FloatArray, n: int) -> list[int]:
    """Return the indices of the n lowest objectives, of those equal up to rounding the first ones.

    Objectives that are not finite are left out.
    """
    left, found = np.where(np.isfinite(objective), objective, np.inf), list[int]()
    while len(found) < n and left.min(initial=np.inf) < np.inf:
        found.append(first_lowest(left))
        left[found[-1]] = np.inf
    return found
