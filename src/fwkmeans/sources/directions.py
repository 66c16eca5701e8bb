"""Rows whose values in some spaces count by their direction only: scaled to unit length there.

A row that is zero in such a space has no direction; it stays zero and counts as missing there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fwkmeans._typing import (
    Block,
    BoolArray,
    FloatArray,
    IntArray,
    Reduction,
    Result,
    RowArray,
    Source,
)
from fwkmeans.sources.memory import MemorySource

_CHUNK = 1 << 17  # numbers in the largest temporary


def unit_rows(rows: RowArray, spaces: Sequence[IntArray]) -> RowArray:
    """Return a copy of the rows with unit length in each space, given by its columns.

    Rows with a cell that is not a finite number are left alone: somebody else names their columns.
    """
    scaled = np.array(rows)
    step = max(1, _CHUNK // max(1, rows.shape[1]))
    for begin in range(0, len(rows), step):
        for columns in spaces:
            part = np.take(rows[begin : begin + step], columns, axis=1).astype(np.float64)
            with np.errstate(invalid="ignore"):
                largest = np.asarray(np.abs(part).max(axis=1))
                some = np.flatnonzero(np.isfinite(largest) & (largest > 0))
            part[some] /= largest[some, None]  # squares must neither overflow nor underflow
            part[some] /= np.sqrt((part[some] ** 2).sum(axis=1))[:, None]
            scaled[begin : begin + step, columns] = part
    return scaled


def without_direction(rows: RowArray, columns: IntArray) -> BoolArray:
    """Return which rows are zero in a space."""
    return ~np.asarray(np.take(rows, columns, axis=1).any(axis=1))


def directed(source: Source, spaces: Sequence[IntArray]) -> Source:
    """Return the source with unit rows: a copy if the rows are in memory, else block by block."""
    if isinstance(source, MemorySource):
        rows = unit_rows(source.rows, spaces)
        return MemorySource(rows, source.sample_weight, source.n_threads)
    return _DirectedSource(source, spaces)


class _Wrapped:
    """A source that changes some of what another one gives."""

    def __init__(self, source: Source, spaces: Sequence[IntArray]) -> None:
        self._source = source
        self._spaces = spaces

    @property
    def rows(self) -> RowArray:
        return self.take(np.arange(self.n_rows))

    @property
    def n_rows(self) -> int:
        return self._source.n_rows

    @property
    def n_features(self) -> int:
        return self._source.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._source.dtype

    @property
    def sample_weight(self) -> FloatArray | None:
        return self._source.sample_weight

    @property
    def keeps_labels(self) -> bool:
        return self._source.keeps_labels

    def reduce(self, reduction: Reduction[Result]) -> Result:
        return self._source.reduce(reduction)

    def take(self, indices: IntArray) -> RowArray:
        return self._source.take(indices)


class _DirectedSource(_Wrapped):
    def reduce(self, reduction: Reduction[Result]) -> Result:
        result: Result = self._source.reduce(_OnDirections(reduction, self._spaces))
        return result

    def take(self, indices: IntArray) -> RowArray:
        return unit_rows(self._source.take(indices), self._spaces)


class _OnDirections:
    """A reduction that is given unit rows."""

    def __init__(self, reduction: Reduction[Any], spaces: Sequence[IntArray]) -> None:
        self._reduction = reduction
        self._spaces = spaces

    def on_block(self, block: Block) -> Any:
        return self._reduction.on_block(block._replace(rows=unit_rows(block.rows, self._spaces)))

    def merge(self, parts: Iterable[Any]) -> Any:
        return self._reduction.merge(parts)


class CompletedSource(_Wrapped):
    """Unit rows of which those that become centers have a direction in every space.

    What `take` returns is where centers begin; there a missing direction is replaced by that of the
    sum of all rows. Reductions see the rows as they are.

    Parameters
    ----------
    source : Source
        Unit rows.
    spaces : sequence of arrays
        Columns of each space in which rows have unit length.

    Attributes
    ----------
    present : ndarray of shape (n_spaces,)
        Sum of the sample weights of the rows that have a direction in the space.
    squares : ndarray of shape (n_spaces,)
        Weighted sum of their squared lengths: the same but for rounding.
    lengths : ndarray of shape (n_spaces,)
        Length of the weighted sum of the rows.
    """

    def __init__(self, source: Source, spaces: Sequence[IntArray]) -> None:
        super().__init__(source, spaces)
        with np.errstate(invalid="ignore", over="ignore"):
            sums = source.reduce(_Sums(spaces))
            self.present, self.squares = sums.present, sums.squares
            self.lengths = np.asarray([np.sqrt((total**2).sum()) for total in sums.totals])
            self._directions = [
                # opposite rows may cancel: then one direction is as good as another
                total / length if length > 1e-12 * mass else np.full(total.size, total.size**-0.5)
                for total, length, mass in zip(sums.totals, self.lengths, self.present, strict=True)
            ]

    def take(self, indices: IntArray) -> RowArray:
        """Return the rows with these indices, completed."""
        return self.complete(self._source.take(indices))

    def complete(self, rows: RowArray) -> RowArray:
        """Return the rows with the overall direction where they have none."""
        completed = rows
        for columns, direction in zip(self._spaces, self._directions, strict=True):
            absent = without_direction(rows, columns)
            if absent.any():
                completed = completed.copy() if completed is rows else completed
                completed[np.ix_(absent, columns)] = direction
        return completed


class _Totals(NamedTuple):
    present: FloatArray
    squares: FloatArray
    totals: list[FloatArray]

    def plus(self, other: _Totals) -> _Totals:
        return _Totals(
            self.present + other.present,
            self.squares + other.squares,
            [a + b for a, b in zip(self.totals, other.totals, strict=True)],
        )


class _Sums(NamedTuple):
    """Sum the rows of each space, and the weights of those that have a direction."""

    spaces: Sequence[IntArray]

    def on_block(self, block: Block) -> _Totals:
        """Return the sums of a block."""
        n_spaces = len(self.spaces)
        total = _Totals(
            np.zeros(n_spaces), np.zeros(n_spaces), [np.zeros(c.size) for c in self.spaces]
        )
        step = max(1, _CHUNK // max(1, block.rows.shape[1]))
        for begin in range(0, block.rows.shape[0], step):
            rows = block.rows[begin : begin + step]
            weight = np.ones(len(rows))
            if block.sample_weight is not None:
                weight = block.sample_weight[begin : begin + step]
                rows, weight = rows[weight > 0], weight[weight > 0]
            total = total.plus(self._of(rows, weight))
        return total

    def _of(self, rows: RowArray, weight: FloatArray) -> _Totals:
        present, squares, totals = [], [], []
        for columns in self.spaces:
            part = np.take(rows, columns, axis=1).astype(np.float64)
            present.append((weight * part.any(axis=1)).sum())
            squares.append((weight * (part**2).sum(axis=1)).sum())
            totals.append((weight[:, None] * part).sum(axis=0))
        return _Totals(np.asarray(present), np.asarray(squares), totals)

    def merge(self, parts: Iterable[_Totals]) -> _Totals:
        """Add the parts in order."""
        parts = iter(parts)
        total = next(parts)
        for part in parts:
            total = total.plus(part)
        return total
