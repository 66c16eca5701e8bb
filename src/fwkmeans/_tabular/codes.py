"""Whole numbers that stand for something: their order means nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fwkmeans._support.optional import require
from fwkmeans._tabular.kinds import MOST_LEVELS

#: Rows that are looked at, and other columns.
MOST_ROWS, MOST_OTHERS = 20_000, 30
#: Of what another column varies, the share that a code tells; and of that, the share that the next
#: larger number does not tell.
TOLD, LOST = 0.5, 0.6
#: Columns that must say so: one may be the same thing in other words.
WITNESSES = 2
#: A column of which a number tells so much, and the next larger one all but so much of that, shows
#: that the order means something after all.
SOME, LITTLE = 0.3, 0.15
#: Fewer rows are alike by accident.
LEAST_ROWS = 100


def without_order(arrow: Any, features: Any, columns: Sequence[str]) -> list[str]:
    """Return the columns of whole numbers that repeat and look like codes.

    Rows with the same code are alike in other columns, as flights with the same number are, but
    rows with neighboring codes are no more alike than any others. Of an amount neighbors say nearly
    the same.
    """
    names, found = features.column_names, []
    rows = _some_rows(features.num_rows)
    looked_at: dict[str, _Cells] = {}
    for column in columns:
        numbers = _whole_numbers(arrow, features, column, rows)
        if numbers is None:
            continue
        said = 0
        others = [one for one in names if one != column][:MOST_OTHERS]
        pairs = _pairs(numbers)
        for other in others:
            if other not in looked_at:
                looked_at[other] = _cells(features[other].take(arrow.array(rows)))
            told, lost = _told_and_lost(looked_at[other], pairs)
            if told > SOME and lost < LITTLE:
                said = 0
                break
            said += told > TOLD and lost > LOST
        if said >= WITNESSES:
            found.append(column)
    return found


def _some_rows(n_rows: int) -> NDArray[np.int64]:
    if n_rows <= MOST_ROWS:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, MOST_ROWS, replace=False))


def _whole_numbers(
    arrow: Any, features: Any, column: str, rows: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Return a column if it holds enough whole numbers that repeat enough."""
    values = features[column]
    if not (arrow.types.is_integer(values.type) or arrow.types.is_floating(values.type)):
        return None
    numbers = np.asarray(values.take(arrow.array(rows)).to_numpy(), dtype=np.float64)
    present = numbers[np.isfinite(numbers)]
    if not present.size or (present != np.floor(present)).any():
        return None
    n_values = np.unique(present).size
    is_enough = present.size >= LEAST_ROWS and MOST_LEVELS < n_values <= present.size / 2
    return numbers if is_enough else None


class _Cells(NamedTuple):
    """A column as numbers, NaN where a cell is missing."""

    numbers: NDArray[np.float64]
    are_categories: bool  # which are equal or not

    def apart(self, a: NDArray[np.intp], b: NDArray[np.intp]) -> float:
        """Return how far apart two lists of rows are on average."""
        differences = np.abs(self.numbers[a] - self.numbers[b])
        differences = differences[~np.isnan(differences)]
        if self.are_categories:
            differences = np.minimum(differences, 1.0)
        return float(differences.mean()) if differences.size else 0.0


def _cells(values: Any) -> _Cells:
    """Return categories as their codes, and numbers as their ranks, which no outlier rules."""
    compute = require("pyarrow.compute", "Tables", "io")
    if str(values.type) in ("string", "bool"):
        coded = values.cast("string").combine_chunks().dictionary_encode()
        codes = compute.cast(coded.indices, "float64").to_numpy(zero_copy_only=False)
        return _Cells(codes, are_categories=True)
    numbers = np.asarray(compute.cast(values, "float64").to_numpy(), dtype=np.float64)
    order = np.searchsorted(np.sort(numbers), numbers, side="left").astype(np.float64)
    return _Cells(np.where(np.isnan(numbers), np.nan, order), are_categories=False)


def _pairs(numbers: NDArray[np.float64]) -> tuple[NDArray[np.intp], ...]:
    """Return pairs of rows: with the same number, with neighboring ones, and any others."""
    rng = np.random.default_rng(0)
    mixed = rng.permutation(np.flatnonzero(np.isfinite(numbers)))
    order = mixed[np.argsort(numbers[mixed], kind="stable")]
    ends = np.flatnonzero(np.diff(numbers[order]) > 0)
    same = np.setdiff1d(np.arange(order.size - 1), ends)
    begins = np.concatenate([[0], ends + 1])
    sizes = np.diff(np.append(begins, order.size))
    draws = []
    for _ in range(5):  # of each group some row, beside some row of the next
        one = order[begins + rng.integers(0, sizes)]
        draws.append((one[:-1], one[1:]))
    left, right = (np.concatenate(own) for own in zip(*draws, strict=True))
    others = rng.permutation(order)
    return order[same], order[same + 1], left, right, order, others


def _told_and_lost(cells: _Cells, pairs: tuple[NDArray[np.intp], ...]) -> tuple[float, float]:
    """Return the share of a column that equal numbers tell, and what neighbors lose of that."""
    within, beside, anywhere = (cells.apart(*pairs[at : at + 2]) for at in (0, 2, 4))
    told = anywhere - within
    return (told / anywhere, (beside - within) / told) if told > 0 else (0.0, 0.0)
