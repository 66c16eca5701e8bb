"""Numbers and categories of a mixed table: which columns are which, and categories as codes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, compress, count, islice
from numbers import Number
from typing import Any, Literal, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fwkmeans._tabular import columns as _columns
from fwkmeans._tabular.layout import Layout

__all__ = ["Coding"]

IndexArray = NDArray[np.intp]

#: Whole numbers are counted in a table of places, if their range is at most this or their number.
SHORT_RANGE = 2**16


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

        Parameters
        ----------
        X : dataframe or ndarray of shape (n_samples, n_features)
            The table.
        categorical_features : "from_dtype", None, str, int, array-like of str, int or bool
            The categorical columns; ``"from_dtype"`` looks at the types.
        own_missing : bool, default=False
            Whether the missing cells of a column, if it has any, are a category of their own:
            None, the last one.
        sample_weight : array-like of shape (n_samples,), default=None
            Only rows of positive weight count.

        Returns
        -------
        coding : Coding
            Categories of ordered dtypes are in their declared order, all others ascending. A
            column without a value has no category.

        Raises
        ------
        ValueError
            If a column holds dates, or text without being categorical.
        TypeError
            If a categorical column holds containers.
        """
        categorical = _columns.resolve_categorical(X, categorical_features)
        numeric = _others(categorical, X.shape[1])
        _refuse_dates(X, range(X.shape[1]))
        _refuse_text(X, numeric)
        counted = slice(None) if sample_weight is None else np.asarray(sample_weight) > 0
        observed = [_Observed() for _ in categorical]
        for one, v in zip(observed, categorical, strict=True):
            values, codes = _read_column(X, int(v))
            one.add(_Column(values, codes[counted]))
        categories = _in_order(X, categorical, observed, own_missing)
        return cls(X.shape[1], numeric, categorical, categories)

    @classmethod
    def learn_blocks(
        cls,
        blocks: Iterable[NDArray[Any]],
        n_features: int,
        categorical_features: Any,
        *,
        own_missing: bool = False,
    ) -> Coding:
        """Find the categories in blocks of rows of one numeric array, such as a file.

        Parameters
        ----------
        blocks : iterable of ndarray of shape (n_rows, n_features)
            Numbers or booleans. They are read once, and only if there are categorical columns.
        n_features : int
            Number of columns.
        categorical_features : "from_dtype", None, int, array-like of int or bool
            The categorical columns: positions or a mask. ``"from_dtype"`` takes all columns of
            boolean blocks, and none otherwise.
        own_missing : bool, default=False
            Whether the missing cells of a column, if it has any, are a category of their own.

        Returns
        -------
        coding : Coding
            What `learn` finds in the blocks stacked.
        """
        blocks = iter(blocks)
        if isinstance(categorical_features, str) and categorical_features == "from_dtype":
            head = list(islice(blocks, 1))
            blocks = chain(head, blocks)
            categorical_features = [bool(head) and head[0].dtype.kind == "b"] * n_features
        categorical = np.sort(
            _columns.resolve_columns(categorical_features, None, n_features, "categorical_features")
        )
        observed = [_Observed() for _ in categorical]
        for block in blocks if observed else ():
            for one, v in zip(observed, categorical, strict=True):
                one.add(_read_column(block, int(v)))
        categories = _in_order(np.empty((0, n_features)), categorical, observed, own_missing)
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

        Parameters
        ----------
        X : dataframe or ndarray of shape (n_samples, n_features)
            A table with the columns of the one learned from.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_numeric)
            Of type float32 if all numeric columns are, else float64. An array of these types
            without categorical columns is returned itself.
        """
        _refuse_dates(X, self.numeric)
        return _columns.read_numeric(X, self.numeric)

    def codes(
        self,
        X: Any,
        *,
        unknown: Literal["ignore", "error"] = "ignore",
        names: Sequence[Any] | None = None,
    ) -> NDArray[np.int32]:
        """Return the codes of the categorical columns.

        Parameters
        ----------
        X : dataframe or ndarray of shape (n_samples, n_features)
            A table with the columns of the one learned from.
        unknown : {"ignore", "error"}, default="ignore"
            What to do with a value that is no category: give it the last code of its column, or
            raise an error.
        names : sequence of str, default=None
            Names of all columns, for error messages; by default those of `X`.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_categorical)
            The code -1 is a missing cell, unless missing cells are a category of the column.

        Raises
        ------
        ValueError
            If ``unknown="error"`` and a value is no category.
        """
        if unknown not in ("ignore", "error"):
            raise ValueError(f"unknown={unknown!r}: expected 'ignore' or 'error'.")
        _refuse_dates(X, self.categorical)
        codes = np.empty((X.shape[0], self.categorical.size), dtype=np.int32)
        for j, v in enumerate(self.categorical):
            column = _read_column(X, int(v))
            table, strange = _translate(column, self.categories[j])
            if strange and unknown == "error":
                name = _name(X, int(v)) if names is None else names[v]
                raise ValueError(_not_seen(name, strange))
            codes[:, j] = table[column.codes]
        return codes

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

        Parameters
        ----------
        X : dataframe or ndarray of shape (n_samples, n_features)
            A table with the columns of the one learned from.
        unknown : {"ignore", "error"}, default="ignore"
            See `codes`.
        names : sequence of str, default=None
            See `codes`.
        own_missing : bool, default=False
            Whether missing cells of a column that had none are like a category never seen.

        Returns
        -------
        levels : ndarray of shape (n_samples, n_categorical)
            Level of each cell.
        """
        codes = self.codes(X, unknown=unknown, names=names)
        offsets = self.offsets.astype(np.int32)
        if own_missing and unknown == "error" and (codes < 0).any():
            v = int(self.categorical[np.argmax((codes < 0).any(axis=0))])
            raise ValueError(_not_seen(_name(X, v) if names is None else names[v], [None]))
        if own_missing:
            np.copyto(codes, np.diff(offsets) - 1, where=codes < 0)
        np.add(codes, offsets[:-1], out=codes, where=codes >= 0)
        return codes

    def __eq__(self, other: object) -> bool:
        """Tell whether two codings give the same rows and codes for every table."""
        if not isinstance(other, Coding):
            return NotImplemented
        return (
            self.n_features == other.n_features
            and np.array_equal(self.categorical, other.categorical)
            and _keys(self.categories) == _keys(other.categories)
        )


class _Column(NamedTuple):
    """A column as places in a list of values, each of which may or may not occur."""

    values: Sequence[Any]  # distinct, but for numbers of different types
    codes: NDArray[Any]  # (n,) places in `values`, -1 for missing

    def occurring(self) -> IndexArray:
        """Return which of the values occur."""
        seen = np.zeros(len(self.values) + 1, dtype=bool)
        seen[self.codes] = True  # missing cells mark the extra entry
        return np.flatnonzero(seen[:-1])


class _Observed:
    """What occurs in a column, gathered piece by piece."""

    def __init__(self) -> None:
        self.values: dict[tuple[bool, Any], Any] = {}  # by their key
        self.missing = False

    def add(self, column: _Column) -> None:
        for place in column.occurring():
            value = _plain(column.values[place])
            self.values.setdefault(_key(value), value)
        self.missing |= bool((column.codes < 0).any())


def _in_order(
    X: Any, categorical: IndexArray, observed: Iterable[_Observed], own_missing: bool
) -> tuple[tuple[Any, ...], ...]:
    """Return the categories of each column in the order of their codes."""
    categories = []
    for v, one in zip(categorical, observed, strict=True):
        ordered: list[Any] = []
        for kind in (True, False):  # booleans apart, lest True and 1 be taken for the same
            values = [value for (boolean, _), value in one.values.items() if boolean is kind]
            ordered += map(_plain, _columns.ordered_categories(X, int(v), _object_array(values)))
        if own_missing and one.missing:
            ordered.append(None)
        categories.append(tuple(ordered))
    return tuple(categories)


def _translate(column: _Column, categories: Sequence[Any]) -> tuple[IndexArray, list[Any]]:
    """Return the code of each value of a column (last: of missing), and values without one."""
    known = {_key(category): code for code, category in enumerate(categories)}
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


def _object_array(values: Sequence[Any]) -> NDArray[Any]:
    return np.fromiter(values, dtype=object, count=len(values))  # cells may be tuples


def _name(X: Any, v: int) -> Any:
    names = _columns.column_names(X)
    return f"x{v}" if names is None else names[v]


def _refuse_dates(X: Any, columns: Iterable[int]) -> None:
    if _columns.is_frame(X):
        types = nw.from_native(X, eager_only=True).schema.dtypes()
        dates = [v for v in columns if types[v].is_temporal()]
    else:
        dates = list(columns) if X.dtype.kind in "mM" else []
    if dates:
        raise ValueError(
            f"Column {_name(X, dates[0])!r} holds dates or times, expected numbers or categories. "
            "Convert it to a number, such as the days since a date, or to a category, such as the "
            "name of the month."
        )


def _refuse_text(X: Any, numeric: IndexArray) -> None:
    if numeric.size:
        text = np.intersect1d(numeric, _columns.categorical_by_dtype(X))
        _columns.read_numeric(X, text)  # raises, unless they hold booleans or nothing


def _not_seen(name: Any, values: Sequence[Any], most: int = 10) -> str:
    shown = sorted(values, key=str)[:most]
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return (
        f"Column {name!r} holds categories that fit has not seen: "
        f"{', '.join(map(repr, shown))}{more}. Fit on a table that has them, or let unknown "
        "categories count as a mismatch (handle_unknown='ignore')."
    )


def _read_column(X: Any, v: int) -> _Column:
    """Read column `v` of a table by the fastest way its type allows."""
    if _columns.is_frame(X):
        frame = nw.from_native(X, eager_only=True)
        name = frame.columns[v]
        return _read_series(frame.get_column(name), name)
    cells = X[:, v]
    if cells.dtype.kind in "biuf":
        return _read_numbers(cells)
    if cells.dtype.kind in "US":
        return _tell_apart(cells.tolist())
    return _read_objects(cells.tolist(), f"x{v}")


def _read_series(series: nw.Series[Any], name: Any) -> _Column:
    if series.dtype == nw.String and _has_own_text(series):
        series = series.cast(nw.Categorical)  # the library tells text apart faster than we could
    dtype, native = series.dtype, series.to_native()
    if dtype in (nw.Categorical, nw.Enum) and series.implementation.is_polars():
        return _read_polars(series)
    if dtype in (nw.Categorical, nw.Enum) and hasattr(native, "cat"):
        return _Column(series.cat.get_categories().to_list(), native.cat.codes.to_numpy())
    if dtype == nw.Boolean or dtype.is_float() or (dtype.is_integer() and not _is_wide(dtype)):
        return _read_nullable(series)
    return _read_objects(series.to_list(), name)


def _has_own_text(series: nw.Series[Any]) -> bool:
    """Tell whether a column of text can hold nothing else, as an object column of pandas may."""
    library = series.implementation
    return library.is_polars() or (
        library.is_pandas_like() and str(series.to_native().dtype) != "object"
    )


def _is_wide(dtype: Any) -> bool:
    return dtype in (nw.Int128, nw.UInt128)  # NumPy has no such numbers


def _read_polars(series: nw.Series[Any]) -> _Column:
    """Read a Categorical or Enum, whose physical numbers may be any."""
    physical = nw.from_native(series.to_native().to_physical(), series_only=True)
    numbers, places = _read_numbers(physical.cast(nw.Int64).fill_null(-1).to_numpy())
    values = series[_rows_of(places, len(numbers))].to_list()
    gaps = 1 if numbers and numbers[0] == -1 else 0  # the numbers ascend
    return _Column(values[gaps:], places - gaps)


def _read_nullable(series: nw.Series[Any]) -> _Column:
    """Read numbers or booleans, of which some may be null."""
    null = series.is_null()
    if not null.any():
        return _read_numbers(series.to_numpy())
    values, places = _read_numbers(series.filter(~null).to_numpy())  # whole numbers stay whole
    codes = np.full(len(series), -1, dtype=np.intp)
    codes[~null.to_numpy()] = places
    return _Column(values, codes)


def _read_numbers(cells: NDArray[Any]) -> _Column:
    """Read an array of numbers or booleans; the values ascend."""
    if cells.dtype.kind == "b":
        return _Column([False, True], cells.astype(np.intp))
    missing = _columns.is_missing(cells)
    if missing.any():
        codes = np.full(cells.size, -1, dtype=np.intp)
        values, codes[~missing] = _read_numbers(cells[~missing])
        return _Column(values, codes)
    whole = _whole_numbers(cells)
    if whole is None:
        distinct, places = np.unique(cells, return_inverse=True)
        return _Column(distinct.tolist(), places)
    lowest = whole.min()
    whole -= lowest
    seen = np.zeros(int(whole.max()) + 1, dtype=bool)
    seen[whole] = True
    distinct = (np.flatnonzero(seen) + lowest).astype(cells.dtype)
    return _Column(distinct.tolist(), (np.cumsum(seen) - 1)[whole])


def _whole_numbers(cells: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return a copy as integers if they are whole numbers in a short range, else None."""
    if not cells.size:
        return None
    lowest, highest = cells.min().item(), cells.max().item()
    if not -(2**53) < lowest <= highest < 2**53:
        return None
    if highest - lowest > max(SHORT_RANGE, cells.size):
        return None
    whole = cells.astype(np.int64)
    return whole if cells.dtype.kind != "f" or bool((whole == cells).all()) else None


def _read_objects(cells: list[Any], name: Any) -> _Column:
    """Read text or any Python objects."""
    kinds = _columns.check_scalars(cells, name)
    values, codes = _tell_apart(cells)
    if kinds & {bool, np.bool_} and any(issubclass(kind, Number) for kind in kinds - {bool}):
        types, type_codes = _tell_apart(list(map(type, cells)))  # 1, 1.0 and True are equal
        pairs, codes = _read_numbers(codes * len(types) + type_codes)
        values = [cells[i] for i in _rows_of(codes, len(pairs))]
    present = ~_columns.is_missing(_object_array(values))
    places = np.where(present, np.cumsum(present) - 1, -1)
    return _Column(list(compress(values, present)), places[codes])


def _tell_apart(cells: list[Any]) -> _Column:
    """Give the distinct cells numbers, in the order in which they come."""
    place_of: defaultdict[Any, int] = defaultdict(count().__next__)
    codes = np.fromiter(map(place_of.__getitem__, cells), dtype=np.intp, count=len(cells))
    return _Column(list(place_of), codes)


def _rows_of(codes: IndexArray, n_values: int) -> list[int]:
    """Return a row that holds each of the values."""
    rows = np.empty(n_values, dtype=np.intp)
    rows[codes] = np.arange(codes.size)
    return rows.tolist()
