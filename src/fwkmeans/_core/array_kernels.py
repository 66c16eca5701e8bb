"""Kernels that gain nothing from C++: array-API Python for every kind of dense rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device

from fwkmeans.typing import Block, Entities, FloatArray, LabelArray

_PIECE = 8192  # rows whose missing cells are counted together
_LABELS = 1 << 16  # rows whose labels are counted together, because bincount copies them
_PRODUCTS = 1 << 17  # numbers in the largest temporary of cross products, (rows, M)


def take_rows(block: Block, indices: Any) -> Entities:
    """Return the rows with these indices in the block, as float64, and their levels."""
    xp = array_namespace(block.rows)
    # indexed, since NumPy's take would copy rows in Fortran order as a whole
    numbers = xp.astype(block.rows[indices, :], xp.float64)
    if block.levels is None:
        levels = xp.empty((indices.shape[0], 0), dtype=xp.int32, device=device(block.rows))
        return Entities(numbers, levels)
    return Entities(numbers, xp.take(block.levels, indices, axis=0))


def no_labels(block: Block, n_starts: int) -> LabelArray:
    """Return labels that no row can have, (R, n)."""
    return np.full((n_starts, len(block.rows)), -1, dtype=np.int32)


def mass_of(block: Block, labels: LabelArray, n_clusters: int) -> FloatArray:
    """Return the sum of the sample weights of each cluster, (K,)."""
    sample_weight, mass = block.sample_weight, np.zeros(n_clusters)
    for begin in range(0, labels.size, _LABELS):
        piece = slice(begin, begin + _LABELS)
        weight = None if sample_weight is None else sample_weight[piece]
        mass += np.bincount(labels[piece], weight, n_clusters)
    return mass


class Observed(NamedTuple):
    """How many cells of a block are observed."""

    in_row: Any  # (n,) features observed in each row
    in_number: Any  # (Mn,) rows with weight in which a numeric feature is observed
    in_category: Any  # (Mc,) the same for categorical features


def observed_cells(block: Block) -> Observed:
    """Count the observed cells, by row and by feature."""
    xp, rows = array_namespace(block.rows), block.rows
    n_categorical = 0 if block.levels is None else block.levels.shape[1]
    in_row = []
    in_number = xp.zeros(rows.shape[1], dtype=xp.int64, device=device(rows))
    in_category = xp.zeros(n_categorical, dtype=xp.int64, device=device(rows))
    for begin in range(0, rows.shape[0], _PIECE):
        piece = slice(begin, begin + _PIECE)
        there = ~xp.isnan(rows[piece, :])
        counts = xp.count_nonzero(there, axis=1)
        weighs = xp.ones(there.shape[0], dtype=xp.bool, device=device(rows))
        if block.sample_weight is not None:
            weighs = block.sample_weight[piece] > 0
        in_number = in_number + xp.count_nonzero(there & weighs[:, None], axis=0)
        if block.levels is not None:
            known = block.levels[piece, :] >= 0
            counts = counts + xp.count_nonzero(known, axis=1)
            in_category = in_category + xp.count_nonzero(known & weighs[:, None], axis=0)
        in_row.append(counts)
    return Observed(xp.concat(in_row), in_number, in_category)


class CrossProducts(NamedTuple):
    """Sums over rows of products of the features of one group."""

    first: Any  # (M_t,) sum of s y_v
    second: Any  # (M_t, M_t) s y_u y_v
    third: Any  # (M_t, M_t) s y_u^2 y_v
    fourth: Any  # (M_t, M_t) s y_u^2 y_v^2

    def plus(self, other: CrossProducts) -> CrossProducts:
        """Return the sums over both sets of rows."""
        return CrossProducts(*(a + b for a, b in zip(self, other, strict=True)))


def cross_products(
    block: Block, mean: Any, units: Any, groups: Sequence[Any]
) -> tuple[CrossProducts, ...]:
    """Return the products of ``(y - mean) / units`` in each group of features."""
    xp = array_namespace(block.rows)
    step = max(1, _PRODUCTS // block.rows.shape[1])
    total: tuple[CrossProducts, ...] | None = None
    for begin in range(0, block.rows.shape[0], step):
        rows, weight = block.rows[begin : begin + step, :], None
        if block.sample_weight is not None:  # rows without weight may hold anything
            weight = block.sample_weight[begin : begin + step]
            rows, weight = rows[weight > 0, :], weight[weight > 0]
        rows = (rows - mean) / units
        parts = tuple(_products(xp.take(rows, group, axis=1), weight) for group in groups)
        total = parts if total is None else tuple(map(CrossProducts.plus, total, parts))
    assert total is not None
    return total


def _products(rows: Any, weight: Any) -> CrossProducts:
    xp = array_namespace(rows)
    squares = rows * rows
    once = rows if weight is None else weight[:, None] * rows
    twice = squares if weight is None else weight[:, None] * squares
    return CrossProducts(xp.sum(once, axis=0), once.T @ rows, twice.T @ rows, twice.T @ squares)
