"""Blocks that a function of the user makes, anew for every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from fwkmeans._support.errors import InputError
from fwkmeans._support.optional import require
from fwkmeans._support.text import quoted
from fwkmeans._tabular.columns import (
    categorical_by_dtype,
    column_names,
    is_frame,
    is_single,
)
from fwkmeans._tabular.readers.base import BlockReader
from fwkmeans._tabular.readers.mapped import some_columns

#: Cells at the beginning that are compared with those of the first call.
_CELLS = 1000


class FactoryReader(BlockReader):
    """What a callable gives: each call returns an iterator of arrays or frames.

    The first call counts the rows and looks at the columns, which must be the same in every block.
    Later calls must give the same cells, of which some at the beginning are compared.
    """

    def __init__(self, factory: Callable[[], Any]) -> None:
        self.title = f"{getattr(factory, '__name__', type(factory).__name__)}()"
        self._factory = factory
        self._columns: list[int] | None = None
        self._first: Any = None
        self._begins: tuple[int, str] | None = None  # rows of the first block, its first cells
        self._odd = ""  # a sentence about blocks that differ
        sizes: list[int] = []
        single = True
        for at, block in enumerate(self._blocks()):
            if self._begins is None and block.shape[0]:
                self._begins = _first_cells(block)
            if at == 0:
                self._first = block
                self.names, self.n_columns = column_names(block), block.shape[1]
            self._check_columns(block, at, sum(sizes))
            single = single and is_single(block)
            sizes.append(int(block.shape[0]))
        if self._first is None:
            raise InputError(
                f"{self.title} gave no block: it must return an iterator of arrays or frames each "
                "time it is called."
            )
        self._sizes = sizes
        self.n_rows = sum(sizes)
        self._head = self._first[:0] if single else _in_double(self._first[:0])
        self._first = None

    @property
    def head(self) -> Any:
        """The first block without its rows."""
        return self._chosen(self._head)

    def bounds(self, step: int) -> NDArray[np.int64]:
        """Return the first row of each piece: blocks stay apart, and large ones are cut."""
        sizes = [min(step, size - begin) for size in self._sizes for begin in range(0, size, step)]
        return np.cumsum([0, *sizes])

    def _blocks(self) -> Iterator[Any]:
        given = self._factory()
        if isinstance(given, np.ndarray) or is_frame(given) or not hasattr(given, "__iter__"):
            raise TypeError(
                f"{self.title} returned {type(given).__name__}; expected an iterator of blocks, "
                "each an array or a frame of some rows."
            )
        for block in given:
            if type(block).__name__ == "RecordBatch":  # as datasets of pyarrow give them
                block = require("pyarrow", "Record batches", "io").Table.from_batches([block])
            if (isinstance(block, np.ndarray) and block.ndim == 2) or is_frame(block):
                yield block
            else:
                shape = f" of shape {block.shape}" if hasattr(block, "shape") else ""
                raise TypeError(
                    f"{self.title} gave a block that is {type(block).__name__}{shape}; expected "
                    "arrays with rows and columns, or frames."
                )

    def _check_columns(self, block: Any, at: int, n_before: int) -> None:
        names = column_names(block)
        where = f"block {at + 1} of {self.title} (from row {n_before + 1} on)"
        if names != self.names or block.shape[1] != self.n_columns:
            known = f"{self.n_columns}" if self.names is None else quoted(self.names)
            found = f"{block.shape[1]}" if names is None else quoted(names)
            raise InputError(
                f"The columns of {where} are {found}, those of the first block {known}: give the "
                "same columns in every block."
            )
        kinds: set[int] = set(categorical_by_dtype(block).tolist())
        if block is self._first:
            self._categorical = kinds
        elif block.shape[0] and kinds != self._categorical and not self._odd:
            v = min(kinds ^ self._categorical)
            name = v if names is None else repr(names[v])
            what = ("numbers", "text") if v in self._categorical else ("text", "numbers")
            self._odd = (
                f"Column {name} holds {what[0]} in {where} and {what[1]} in the first: give every "
                "block the same types, such as dtype=... when a file is read, or name the columns "
                "of categories in categorical_features."
            )

    @property
    def categorical(self) -> NDArray[np.intp]:
        """Positions of the columns that hold text or booleans, the same in all blocks."""
        if self._odd:
            raise InputError(self._odd)
        columns = range(self.n_columns) if self._columns is None else self._columns
        return np.flatnonzero([v in self._categorical for v in columns])

    def _select(self, columns: Sequence[int]) -> None:
        known = range(self.n_columns) if self._columns is None else self._columns
        self._columns = [known[v] for v in columns]

    def _chosen(self, block: Any) -> Any:
        return some_columns(block, self._columns)

    def _pieces(self, step: int) -> Iterator[Any]:
        begins = self._begins
        for block in self._blocks():
            if begins is not None and block.shape[0]:
                found = _first_cells(block)
                if found[0] == begins[0] and found != begins:
                    raise InputError(
                        f"{self.title} gave other values than at first, in its first rows. It is "
                        "called once for every pass over the rows, and must give the same rows in "
                        "the same order each time: give random numbers a seed, and rows of a "
                        "database an order."
                    )
                begins = None
            block = self._chosen(block)
            n_rows = block.shape[0]
            if n_rows <= step:
                if n_rows:
                    yield block
                continue
            frame = block if isinstance(block, np.ndarray) else nw.from_native(block)
            for begin in range(0, n_rows, step):
                piece = frame[begin : begin + step]
                yield piece if isinstance(piece, np.ndarray) else piece.to_native()

    def _other_rows(self, n_rows: int) -> str:
        return (
            f"{self.title} gave {self.n_rows:,} rows at first and {n_rows:,} another time. It is "
            "called once for every pass over the rows, and must return a new iterator of the same "
            "blocks each time."
        )


def _first_cells(block: Any) -> tuple[int, str]:
    """Return the number of rows of a block, and its first cells as text, equal if they are."""
    some = block[: max(1, _CELLS // max(1, block.shape[1]))]
    is_array = isinstance(some, np.ndarray)
    cells = some.tolist() if is_array else nw.from_native(some, eager_only=True).rows()
    return block.shape[0], repr(cells)


def _in_double(head: Any) -> Any:
    """Return no rows of a type that says that numbers are float64."""
    if isinstance(head, np.ndarray):
        return head.astype(np.float64) if head.dtype == np.float32 else head
    frame = nw.from_native(head, eager_only=True)
    single = [name for name, one in frame.schema.items() if one == nw.Float32]
    return frame.with_columns(nw.col(*single).cast(nw.Float64)).to_native() if single else head
