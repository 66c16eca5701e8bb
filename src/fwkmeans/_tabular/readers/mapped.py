"""A table outside of memory, changed block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from fwkmeans._tabular.columns import column_names
from fwkmeans._tabular.readers.base import BlockReader


def some_columns(block: Any, columns: Sequence[int] | None) -> Any:
    """Return some columns of an array or a frame; None means all."""
    if columns is None:
        return block
    if isinstance(block, np.ndarray):
        return block[:, list(columns)]
    return nw.from_native(block, eager_only=True)[:, list(columns)].to_native()


class MappedReader(BlockReader):
    """What a function makes of each piece of another table: as many rows, any columns.

    `head` is what it makes of some rows.
    """

    def __init__(self, reader: BlockReader, function: Callable[[Any], Any], head: Any) -> None:
        self.title, self.files, self.n_rows = reader.title, reader.files, reader.n_rows
        self.row_bytes = reader.row_bytes
        self.names, self.n_columns = column_names(head), int(head.shape[1])
        self._reader, self._function, self._head = reader, function, head[:0]
        self._columns: list[int] | None = None

    @property
    def head(self) -> Any:
        """No rows."""
        return some_columns(self._head, self._columns)

    def bounds(self, step: int) -> NDArray[np.int64]:
        """Return those of the other table."""
        return self._reader.bounds(step)

    def _select(self, columns: Sequence[int]) -> None:
        known = range(self.n_columns) if self._columns is None else self._columns
        self._columns = [known[v] for v in columns]

    def _pieces(self, step: int) -> Iterator[Any]:
        for piece in self._reader.pieces(step):
            yield some_columns(self._function(piece), self._columns)
