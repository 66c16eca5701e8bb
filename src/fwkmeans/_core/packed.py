"""Statistics as numbers in a row: floats, and integers beside them, as the core writes them.

Two arrays are sent and added faster than the many small ones of `Statistics`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fwkmeans.typing import FloatArray, IntArray, Pass, Statistics


class Numbers(NamedTuple):
    """All numbers of some `Statistics`, of which the last axis is that of one of them.

    floats: mass, sums, squares, the mass of observed cells if some may be missing, counts.
    integers: rows, fingerprint, changed.
    """

    floats: FloatArray
    integers: IntArray
    gaps: bool = False  # whether cells may be missing

    @classmethod
    def new(cls, n_blocks: int, assigning: Pass, *, gaps: bool) -> Numbers:
        """Return numbers for the statistics of some blocks, which are not set."""
        sizes = [
            sum(map(math.prod, shapes))
            for shapes in (_shapes_of_floats(assigning, gaps=gaps), _shapes_of_integers(assigning))
        ]
        floats, integers = (np.empty((n_blocks, n)) for n in sizes)
        return cls(floats, integers.view(np.int64), gaps)

    @classmethod
    def stack(cls, several: Sequence[Numbers]) -> Numbers:
        """Return the numbers of several in one."""
        floats, integers, gaps = zip(*several, strict=True)
        return cls(np.stack(floats), np.stack(integers), gaps[0])

    def plus(self, other: Numbers) -> Numbers:
        """Return the sums, which are those of the statistics, to the bit."""
        return Numbers(self.floats + other.floats, self.integers + other.integers, self.gaps)

    def at(self, block: int) -> Numbers:
        """Return those of a block."""
        return Numbers(self.floats[block], self.integers[block], self.gaps)

    def statistics(self, assigning: Pass, reference: FloatArray) -> Statistics:
        """Return the statistics that have these numbers."""
        floats = _apart(self.floats, _shapes_of_floats(assigning, gaps=self.gaps))
        rows, fingerprint, changed = _apart(self.integers, _shapes_of_integers(assigning))
        mass, sums, squares, *cells, counts = floats
        observed = cells[0] if self.gaps else None
        return Statistics(
            mass, rows, sums, squares, observed, counts, fingerprint, changed, reference
        )


def _shapes_of_floats(assigning: Pass, *, gaps: bool) -> list[tuple[int, ...]]:
    shape, costs = assigning.centers.shape, assigning.costs
    levels = (*shape[:2], 0) if costs is None else costs.shape
    return [shape[:2], *[shape] * (3 if gaps else 2), levels]


def _shapes_of_integers(assigning: Pass) -> list[tuple[int, ...]]:
    shape = assigning.centers.shape
    return [shape[:2], shape[:1], shape[:1]]


def _apart(numbers: NDArray[Any], shapes: list[tuple[int, ...]]) -> list[NDArray[Any]]:
    """Return the arrays of these shapes that lie one after the other."""
    arrays, begin = [], 0
    for shape in shapes:
        end = begin + math.prod(shape)
        arrays.append(numbers[begin:end].reshape(shape))
        begin = end
    return arrays
