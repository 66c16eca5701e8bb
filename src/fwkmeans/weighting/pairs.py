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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from fwkmeans._core import kernels_for
from fwkmeans._core.array_kernels import CrossProducts
from fwkmeans._support.threads import one_blas_thread
from fwkmeans.typing import (
    Block,
    BlockReduction,
    Description,
    FloatArray,
    IntArray,
    RowMemory,
    Source,
)

_Groups: TypeAlias = tuple[CrossProducts, ...]


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
    sums = source.reduce(_Products(table.mean, units_of(table), groups))
    return tuple(_of_pairs(group, table.mass) for group in sums)


def _of_pairs(sums: CrossProducts, mass: float) -> FloatArray:
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


@dataclass(frozen=True)
class _Products(BlockReduction[_Groups]):
    """Reduction to the `CrossProducts` of each group."""

    mean: FloatArray
    units: FloatArray
    groups: Sequence[IntArray]

    def on_block(self, block: Block, memory: RowMemory) -> tuple[_Groups, RowMemory]:
        kernels = kernels_for(block.rows)
        with one_blas_thread():  # the same digits for any number of threads
            return kernels.cross_products(block, self.mean, self.units, self.groups), memory

    def join(self, before: _Groups, after: _Groups) -> _Groups:
        return tuple(map(CrossProducts.plus, before, after))
