r"""Sums over all pairs of rows, from sums over rows.

For two features u, v and rows with weights s,

.. math:: A_{uv} = \sum_i \sum_j s_i s_j (y_{iu} - y_{ju})^2 (y_{iv} - y_{jv})^2
          = 2 N Q_{uv} - 4 P_{uv} m_v - 4 P_{vu} m_u + 2 C_{uu} C_{vv} + 4 C_{uv}^2

where :math:`N = \sum_i s_i`, :math:`m_v = \sum_i s_i y_{iv}`,
:math:`C_{uv} = \sum_i s_i y_{iu} y_{iv}`, :math:`P_{uv} = \sum_i s_i y_{iu}^2 y_{iv}` and
:math:`Q_{uv} = \sum_i s_i y_{iu}^2 y_{iv}^2`. This holds for any origin. We take rows relative
to the mean, where the terms with m are as small as its rounding error and nothing cancels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from fwkmeans.typing import Block, Description, FloatArray, IntArray, Source

_CHUNK = 1 << 17  # numbers in the largest temporary, (rows, M)


class _Sums(NamedTuple):
    """Sums over rows for the features of one group."""

    first: FloatArray  # (M_t,) m
    second: FloatArray  # (M_t, M_t) C
    third: FloatArray  # (M_t, M_t) P
    fourth: FloatArray  # (M_t, M_t) Q

    def plus(self, other: _Sums) -> _Sums:
        return _Sums(*(a + b for a, b in zip(self, other, strict=True)))


def units_of(table: Description) -> FloatArray:
    """Return a power of two near the standard deviation of each feature: (M,).

    In these units fourth powers neither overflow nor underflow, and no precision is lost.
    """
    _, exponent = np.frexp(np.sqrt(table.scatter / table.mass))
    return np.where(table.scatter > 0, np.ldexp(1.0, exponent), 1.0)


def pair_gram(
    source: Source, table: Description, groups: Sequence[IntArray]
) -> tuple[FloatArray, ...]:
    """Return ``A / N^2`` of the features of each group, in the units of `units_of`.

    This takes one pass over the rows, block by block, and no more memory than the results.
    """
    with threadpool_limits(1, user_api="blas"):  # the same bits for any number of threads
        sums = source.reduce(_Reduction(table.mean, units_of(table), groups))
    return tuple(_of_pairs(group, table.mass) for group in sums)


def _of_pairs(sums: _Sums, mass: float) -> FloatArray:
    first, second, third, fourth = (part / mass for part in sums)
    squares = np.diagonal(second)
    crossed = third * first  # P_uv m_v
    gram: FloatArray = (
        2.0 * fourth
        - 4.0 * (crossed + crossed.T)
        + 2.0 * np.outer(squares, squares)
        + 4.0 * second**2
    )
    return gram


class _Reduction(NamedTuple):
    mean: FloatArray
    units: FloatArray
    groups: Sequence[IntArray]

    def on_block(self, block: Block) -> list[_Sums]:
        total = [
            _Sums(np.zeros(g.size), *(np.zeros((g.size, g.size)) for _ in range(3)))
            for g in self.groups
        ]
        step = max(1, _CHUNK // block.rows.shape[1])
        for begin in range(0, block.rows.shape[0], step):
            piece = slice(begin, begin + step)
            weight = None if block.sample_weight is None else block.sample_weight[piece]
            rows = block.rows[piece]
            if weight is not None:  # rows without weight may hold anything
                rows, weight = rows[weight > 0], weight[weight > 0]
            rows = (rows - self.mean) / self.units
            parts = (_sums_of(np.take(rows, g, axis=1), weight) for g in self.groups)
            total = [one.plus(part) for one, part in zip(total, parts, strict=True)]
        return total

    def merge(self, parts: Iterable[list[_Sums]]) -> list[_Sums]:
        parts = iter(parts)
        total = next(parts)
        for part in parts:
            total = [one.plus(other) for one, other in zip(total, part, strict=True)]
        return total


def _sums_of(rows: FloatArray, weight: FloatArray | None) -> _Sums:
    squares = rows * rows
    once = rows if weight is None else weight[:, None] * rows
    twice = squares if weight is None else weight[:, None] * squares
    return _Sums(once.sum(axis=0), once.T @ rows, twice.T @ rows, twice.T @ squares)
