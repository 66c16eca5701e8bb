"""What all tables outside of memory share."""

from __future__ import annotations

import copy
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fwkmeans._support.errors import InputError
from fwkmeans._tabular.columns import categorical_by_dtype
from fwkmeans._tabular.format import Remarks


class _State(NamedTuple):
    """What tells whether a file is still the same."""

    size: int
    changed: int  # nanoseconds

    @classmethod
    def of(cls, path: Path) -> _State | None:
        try:
            found = path.stat()
        except OSError:
            return None
        return cls(found.st_size, found.st_mtime_ns)


class Files:
    """Files that must stay as they are while they are read several times."""

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        self.paths = [Path(path) for path in paths]
        self._before = [_State.of(path) for path in self.paths]

    def check(self) -> None:
        """Raise if a file is gone or no longer what it was."""
        for path, before in zip(self.paths, self._before, strict=True):
            now = _State.of(path)
            if now == before:
                continue
            if now is None:
                what = "is gone"
            elif before is not None and now.size != before.size:
                what = f"changed from {before.size:,} to {now.size:,} bytes"
            else:
                what = "was written to"
            raise InputError(
                f"{path} {what} while it was in use. A fit reads its rows several times: leave the "
                "file as it is until the end, or read a copy."
            )

    @property
    def n_bytes(self) -> int:
        """Size of all files."""
        return sum(one.size for one in self._before if one is not None)


class BlockReader(ABC):
    """A table that can be read from its beginning as often as needed, some rows at a time.

    Attributes
    ----------
    title : str
        What the table is called in sentences.
    names : list or None
        Names of the columns; None if they have none.
    n_rows, n_columns : int
        Size of the table.
    row_bytes : int
        About how many bytes a row takes as it is read; 0 if that is not more than its numbers.
    remarks : Remarks
        What was guessed about the table.
    reads_ahead : bool
        Whether reading takes time, so that the next piece is best read while one is in use.
    """

    title: str
    names: list[Any] | None = None
    n_rows: int
    n_columns: int
    row_bytes: int = 0
    reads_ahead: ClassVar[bool] = True
    files: Files | None = None
    remarks: Remarks = Remarks()

    @property
    @abstractmethod
    def head(self) -> Any:
        """A table with the same columns and types, and few rows or none."""

    @abstractmethod
    def _pieces(self, step: int) -> Iterator[Any]:
        """Yield the rows as `pieces` does."""

    @abstractmethod
    def _select(self, columns: Sequence[int]) -> None:
        """Read only these columns from now on."""

    @property
    def categorical(self) -> NDArray[np.intp]:
        """Positions of the columns whose types say that they are categorical."""
        return categorical_by_dtype(self.head)

    @property
    def array(self) -> NDArray[Any] | None:
        """All rows as one array that need not be in memory; None if there is no such thing."""
        return None

    def select(self, columns: Sequence[int]) -> Self:
        """Return a reader of some of the columns, in this order."""
        if list(columns) == list(range(self.n_columns)):
            return self
        chosen = copy.copy(self)
        chosen._select(columns)
        chosen.n_columns = len(columns)
        if self.names is not None:
            chosen.names = [self.names[v] for v in columns]
        return chosen

    def bounds(self, step: int) -> NDArray[np.int64]:
        """Return the first row of each piece, and the number of rows."""
        return np.append(np.arange(0, self.n_rows, step), self.n_rows)

    def pieces(self, step: int) -> Iterator[Any]:
        """Yield the rows as arrays or frames of `step` rows, the last of which may have fewer."""
        if self.files is not None:
            self.files.check()
        n_rows, expected = 0, self.bounds(step)[:0:-1].tolist()
        for piece in self._pieces(step):
            n_rows += piece.shape[0]
            if not expected or n_rows != expected.pop():
                break
            yield piece
            del piece  # the next one takes its place in memory
        if self.files is not None:
            self.files.check()
        if n_rows != self.n_rows:
            raise InputError(self._other_rows(n_rows))

    def _other_rows(self, n_rows: int) -> str:
        """Return a sentence: another number of rows came than before."""
        return (
            f"{self.title} gave {n_rows:,} rows or more where {self.n_rows:,} were expected: it is "
            "damaged, or another program writes to it."
        )

    def about(self, column: int) -> str:
        """Return what else is known of a column that cannot be used, as the end of a sentence."""
        return ""
