"""Numbers and categories of a mixed table: which columns are which, and categories as codes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fwkmeans._support.text import quoted
from fwkmeans._tabular import columns as _columns
from fwkmeans._tabular.distinct import DistinctValues, distinct_values
from fwkmeans._tabular.layout import Layout

IndexArray = NDArray[np.intp]

#: Categories of a column outside of memory; of more, centers would not fit into memory either.
MOST_CATEGORIES = 100_000


@dataclass(frozen=True, eq=False)
class Coding:
    """The numeric and categorical columns of a table, and the code of each category.

    The categories of a column have the codes 0, 1, ... in their order; the code after the last
    stands for every other value. Codes follow values, never the codes of a dtype: a table may hold
    plain text where another one had a Categorical, or 1.0 instead of 1. Text, booleans and numbers
    are never equal: "1", True and 1 are three categories. A missing cell has the code -1.

    Parameters
    ----------
    n_features : int
        Number of columns of the table.
    numeric : ndarray of intp
        Positions of the numeric columns, ascending.
    categorical : ndarray of intp
        Positions of the categorical columns, ascending.
    categories : tuple of tuples
        The categories of each categorical column, in the order of their codes. None as the last
        one stands for missing cells.
    silent : tuple of tuples, default=()
        Values of each categorical column that are no categories, but have been seen in rows without
        weight: they are coded like values never seen, and raise no error.

    Examples
    --------
    >>> import numpy as np
    >>> from fwkmeans._tabular.coding import Coding
    >>> X = np.array([[1.0, "red"], [2.0, "blue"], [None, "red"]], dtype=object)
    >>> coding = Coding.learn(X, "from_dtype")
    >>> coding.categories
    (('blue', 'red'),)
    >>> coding.rows(X)
    array([[ 1.],
           [ 2.],
           [nan]])
    >>> coding.codes(np.array([[3.0, "red"], [4.0, "green"], [5.0, None]], dtype=object))
    array([[ 1],
           [ 2],
           [-1]], dtype=int32)
    """

    n_features: int
    numeric: IndexArray
    categorical: IndexArray
    categories: tuple[tuple[Any, ...], ...]
    silent: tuple[tuple[Any, ...], ...] = ()

    @classmethod
    def learn(
        cls,
        X: Any,
        categorical_features: Any,
        *,
        own_missing: bool = False,
        sample_weight: ArrayLike | None = None,
    ) -> Coding:
        """Find the categorical columns of a table and the categories that occur in them.

        Categories of ordered dtypes are in their declared order, all others ascending. Only rows of
        positive `sample_weight` count. With `own_missing` the missing cells of a column, if it has
        any, are a category of their own: None, the last one. Dates, text in numeric columns and
        containers are refused.
        """
        categorical = _columns.resolve_categorical(X, categorical_features)
        numeric = _others(categorical, X.shape[1])
        check_kinds(X, categorical)
        counted = slice(None) if sample_weight is None else np.asarray(sample_weight) > 0
        categories = []
        for name, cells in _columns.each_column(X, categorical):
            values, codes = distinct_values(cells, name)
            observed = Observed()
            observed.add(DistinctValues(values, codes[counted]))
            categories.append(observed.in_order(cells, own_missing=own_missing))
        return cls(X.shape[1], numeric, categorical, tuple(categories))

    @classmethod
    def learn_blocks(
        cls,
        blocks: Iterable[Any],
        n_features: int,
        categorical: IndexArray,
        *,
        own_missing: bool = False,
        sample_weight: ArrayLike | None = None,
        too_many: Callable[[int], str] | None = None,
    ) -> Coding:
        """Find what `learn` finds in blocks of rows, stacked.

        The blocks are arrays or frames of the columns at `categorical` alone; they are read once,
        and only if there are such columns. If a column has more categories than centers can hold,
        the sentence that `too_many` returns for it is raised.
        """
        observed = [Observed() for _ in categorical]
        weight = None if sample_weight is None else np.asarray(sample_weight)
        first_row, cells = 0, np.empty(0)  # arrays declare no order
        orders: list[Any] = [cells] * len(observed)
        for block in blocks if observed else ():
            n_rows = block.shape[0]
            counted = slice(None) if weight is None else weight[first_row : first_row + n_rows] > 0
            first_row += n_rows
            _refuse_dates(block, range(len(observed)))
            for j, (name, cells) in enumerate(_columns.each_column(block, range(len(observed)))):
                values, codes = distinct_values(cells, name)
                observed[j].add(DistinctValues(values, codes[counted]))
                orders[j] = cells
                if too_many is not None and len(observed[j].values) > MOST_CATEGORIES:
                    raise ValueError(too_many(int(categorical[j])))
        categories = tuple(
            one.in_order(cells, own_missing=own_missing)
            for one, cells in zip(observed, orders, strict=True)
        )
        return cls(n_features, _others(categorical, n_features), categorical, categories)

    @property
    def n_levels(self) -> NDArray[np.int64]:
        """Number of codes of each categorical column: its categories, and one for all others."""
        return np.diff(self.offsets)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where the levels of each categorical column begin in a list of all, and its end."""
        counts = accumulate((len(categories) + 1 for categories in self.categories), initial=0)
        return np.fromiter(counts, dtype=np.int64, count=len(self.categories) + 1)

    def rows(self, X: Any) -> NDArray[Any]:
        """Return the numeric columns as one array; missing cells are NaN.

        It is float32 if all numeric columns are, else float64. An array of these types without
        categorical columns is returned itself.
        """
        _refuse_dates(X, self.numeric)
        return _columns.read_numeric(X, self.numeric)

    def codes(
        self,
        X: Any,
        *,
        unknown: Literal["ignore", "error"] = "ignore",
        names: Sequence[Any] | None = None,
        otherwise: str = "ignore",
    ) -> NDArray[np.int32]:
        """Return the codes of the categorical columns, of shape (n_samples, n_categorical).

        A missing cell has the code -1, unless missing cells are a category of the column. A value
        that is not a category has the last code of its column, or raises if ``unknown="error"``;
        then the error calls the columns by `names` and advises ``handle_unknown=otherwise``.
        """
        if unknown not in ("ignore", "error"):
            raise ValueError(f"unknown={unknown!r}: expected 'ignore' or 'error'.")
        _refuse_dates(X, self.categorical)
        codes = np.empty((X.shape[0], self.categorical.size), dtype=np.int32)
        for j, (title, cells) in enumerate(_columns.each_column(X, self.categorical)):
            column = distinct_values(cells, title)
            table, strange = _translate(column, self.categories[j])
            if unknown == "error":
                strange = [value for value in strange if not self._is_silent(j, value)]
            if strange and unknown == "error":
                name = title if names is None else names[self.categorical[j]]
                raise ValueError(_not_seen(name, strange, otherwise))
            codes[:, j] = table[column.codes]
        return codes

    def codes_of(self, values: Iterable[Any]) -> NDArray[np.int32]:
        """Return the code of one value of each categorical column; -1 for None."""
        found = [
            -1 if value is None else _codes_by_key(categories)[_key(value)]
            for value, categories in zip(values, self.categories, strict=True)
        ]
        return np.array(found, dtype=np.int32)

    @property
    def layout(self) -> Layout:
        """Where numbers and levels are kept in centers."""
        return Layout(
            self.numeric.astype(np.int64), self.categorical.astype(np.int64), self.offsets
        )

    def levels(
        self,
        X: Any,
        *,
        unknown: Literal["ignore", "error"] = "ignore",
        names: Sequence[Any] | None = None,
        own_missing: bool = False,
    ) -> NDArray[np.int32]:
        """Return the codes counted through all categorical columns; missing cells stay -1.

        With `own_missing` the missing cells of a column that had none in `learn` are like a
        category never seen. For the other parameters see `codes`.
        """
        codes = self.codes(X, unknown=unknown, names=names)
        offsets = self.offsets.astype(np.int32)
        loud = [not self._is_silent(j, None) for j in range(len(self.categories))]
        missing = np.any(codes < 0, axis=0) & np.asarray(loud, dtype=np.bool_)
        if own_missing and unknown == "error" and missing.any():
            v = int(self.categorical[np.argmax(missing)])
            name = _columns.name_columns(X)[v] if names is None else names[v]
            raise ValueError(_not_seen(name, [None], "ignore"))
        if own_missing:
            np.copyto(codes, np.diff(offsets) - 1, where=codes < 0)
        np.add(codes, offsets[:-1], out=codes, where=codes >= 0)
        return codes

    def _is_silent(self, column: int, value: Any) -> bool:
        return bool(self.silent) and _key(value) in map(_key, self.silent[column])

    def __eq__(self, other: object) -> bool:
        """Tell whether two codings give the same rows and codes for every table."""
        if not isinstance(other, Coding):
            return NotImplemented
        return (
            self.n_features == other.n_features
            and np.array_equal(self.categorical, other.categorical)
            and _keys(self.categories) == _keys(other.categories)
        )


class Observed:
    """What occurs in a column, gathered piece by piece."""

    def __init__(self) -> None:
        self.values: dict[tuple[bool, Any], Any] = {}  # by their key
        self.missing = False

    def add(self, column: DistinctValues) -> None:
        """Add the cells of a piece."""
        for place in column.occurring():
            value = _plain(column.values[place])
            self.values.setdefault(_key(value), value)
        self.missing |= bool((column.codes < 0).any())

    def join(self, other: Observed) -> Observed:
        """Return what occurs in either column."""
        both = Observed()
        both.values = {**self.values, **other.values}
        both.missing = self.missing or other.missing
        return both

    def in_order(self, cells: Any, *, own_missing: bool) -> tuple[Any, ...]:
        """Return the categories in the order of their codes; `cells` is the column."""
        ordered: list[Any] = []
        for kind in (True, False):  # booleans apart: True equals 1 but is another category
            values = [value for (boolean, _), value in self.values.items() if boolean is kind]
            ordered += map(_plain, _columns.in_order(values, cells))
        return (*ordered, None) if own_missing and self.missing else tuple(ordered)


class Census:
    """What occurs in the categorical columns of some rows; `join` adds that of other rows.

    The rows may be in pieces that are elsewhere, and whose types declare different categories.
    """

    def __init__(self, X: Any, categorical: IndexArray, counted: Any = slice(None)) -> None:
        """Look at some rows of a table; refuse what `Coding.learn` refuses."""
        check_kinds(X, categorical)
        self._columns: list[Observed] = []
        self._declared: list[tuple[Any, ...]] = []  # the orders of ordered types
        for name, cells in _columns.each_column(X, categorical):
            values, codes = distinct_values(cells, name)
            observed = Observed()
            observed.add(DistinctValues(values, codes[counted]))
            self._columns.append(observed)
            ordered = not isinstance(cells, np.ndarray) and cells.dtype == nw.Enum
            self._declared.append(tuple(cells.cat.get_categories().to_list()) if ordered else ())

    def join(self, other: Census) -> Census:
        """Return what occurs in either, or raise if centers cannot hold so many categories."""
        both = copy.copy(self)
        both._columns = []
        for here, there in zip(self._columns, other._columns, strict=True):
            joined = here.join(there)
            both._columns.append(joined)
            if len(joined.values) > MOST_CATEGORIES:
                some = quoted(list(joined.values.values())[:5])
                raise ValueError(
                    f"A column of X has more than {MOST_CATEGORIES:,} different categories, such "
                    f"as {some}. If it holds names or keys, leave it out."
                )
        pairs = zip(self._declared, other._declared, strict=True)
        both._declared = [max(pair, key=len) for pair in pairs]
        return both

    def categories(self, *, own_missing: bool) -> tuple[tuple[Any, ...], ...]:
        """Return the categories of each column in the order of their codes.

        Ascending, or as the longest of the declared orders has them, if it has all that occur.
        """
        ordered = []
        for observed, declared in zip(self._columns, self._declared, strict=True):
            found = observed.in_order(np.empty(0), own_missing=own_missing)
            place = {value: at for at, value in enumerate((*declared, None))}
            if declared and all(value in place for value in found):
                found = tuple(sorted(found, key=place.__getitem__))
            ordered.append(found)
        return tuple(ordered)


def _translate(column: DistinctValues, categories: Sequence[Any]) -> tuple[IndexArray, list[Any]]:
    """Return the code of each value of a column (last: of missing), and values without one."""
    known = _codes_by_key(categories)
    table = np.full(len(column.values) + 1, len(categories), dtype=np.intp)
    table[-1] = len(categories) - 1 if categories and categories[-1] is None else -1
    strange = []
    for place in column.occurring():
        value = _plain(column.values[place])
        code = known.get(_key(value))
        if code is None:
            strange.append(value)
        else:
            table[place] = code
    return table, strange


def _codes_by_key(categories: Sequence[Any]) -> dict[tuple[bool, Any], int]:
    return {_key(category): code for code, category in enumerate(categories)}


def _key(value: Any) -> tuple[bool, Any]:
    return isinstance(value, bool), value  # True == 1, but they are not the same category


def _keys(categories: tuple[tuple[Any, ...], ...]) -> list[list[tuple[bool, Any]]]:
    return [list(map(_key, one)) for one in categories]


def _plain(value: Any) -> Any:
    """Return a value as a Python scalar, zero without its sign."""
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":
        value = value.item()
    return value + 0.0 if isinstance(value, float) else value


def _others(categorical: IndexArray, n_features: int) -> IndexArray:
    return np.setdiff1d(np.arange(n_features, dtype=np.intp), categorical)


def check_kinds(X: Any, categorical: IndexArray) -> None:
    """Raise if a column of a table is neither numbers nor, if it is listed, categories."""
    _refuse_dates(X, range(X.shape[1]))
    _refuse_text(X, _others(categorical, X.shape[1]))


def _refuse_dates(X: Any, columns: Iterable[int]) -> None:
    if _columns.is_frame(X):
        types = _columns.types_of(X)
        temporal = {kind for kind in set(types) if kind.is_temporal()}
        dates = [v for v in columns if types[v] in temporal] if temporal else []
    else:
        dates = list(columns) if X.dtype.kind in "mM" else []
    if dates:
        raise ValueError(
            f"Column {_columns.name_columns(X)[dates[0]]!r} holds dates or times, expected numbers "
            "or categories. Convert it to a number, such as the days since a date, or to a "
            "category, such as the name of the month."
        )


def _refuse_text(X: Any, numeric: IndexArray) -> None:
    if numeric.size:
        text = np.intersect1d(numeric, _columns.categorical_by_dtype(X))
        _columns.read_numeric(X, text)  # raises, unless they hold booleans or nothing


def _not_seen(name: Any, values: Sequence[Any], unknown: str) -> str:
    return (
        f"Column {name!r} holds categories that fit has not seen: "
        f"{quoted(sorted(values, key=str), 10)}. Fit on a table that has them, or set "
        f"handle_unknown={unknown!r}."
    )
