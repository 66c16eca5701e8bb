"""Which columns of a table are meant, and what they hold: arrays, pandas and polars alike."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from numbers import Integral, Real
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from fwkmeans._support.text import quoted

IntArray = NDArray[np.intp]

#: Text in so many rows is told apart here; for more it pays to ask the library that has it.
SHORT_COLUMN = 1000


def resolve_columns(
    columns: Any, feature_names: Iterable[Hashable] | None, n_features: int, what: str
) -> IntArray:
    """Return the positions of columns given by name, position or boolean mask, in the order given.

    A single name or position stands for itself, None for no column. Unknown columns, columns named
    twice, masks of the wrong length and mixtures are refused; `what` is the parameter's name in
    errors.

    Examples
    --------
    >>> from fwkmeans._tabular.columns import resolve_columns
    >>> resolve_columns(["c", "a"], ["a", "b", "c"], 3, "groups")
    array([2, 0])
    >>> resolve_columns([True, False, True], None, 3, "groups")
    array([0, 2])
    """
    if columns is None:
        return np.empty(0, dtype=np.intp)
    if isinstance(columns, (str, Integral)) and not isinstance(columns, (bool, np.bool_)):
        columns = [columns]
    if not isinstance(columns, Iterable):
        raise TypeError(f"{what}={columns!r}: expected names, positions or a mask of columns.")
    entries = np.asarray(columns).tolist() if hasattr(columns, "__array__") else list(columns)
    if not entries:
        return np.empty(0, dtype=np.intp)
    if all(isinstance(entry, bool | np.bool_) for entry in entries):
        indices = _from_mask(entries, n_features, what)
    elif all(isinstance(entry, str) for entry in entries):
        indices = _from_names(entries, feature_names, what)
    elif all(isinstance(entry, Integral) and not isinstance(entry, bool) for entry in entries):
        indices = _from_positions(entries, n_features, what)
    else:
        kinds = sorted({type(entry).__name__ for entry in entries})
        raise TypeError(
            f"{what} has entries of type {', '.join(kinds)}; expected only column names (str), "
            "only positions (int) or only booleans (a mask). Use one of the three."
        )
    _check_unique(indices, entries, what)
    return indices


def _check_unique(indices: IntArray, entries: Sequence[Any], what: str) -> None:
    first, counts = np.unique(indices, return_index=True, return_counts=True)[1:]
    if (counts > 1).any():
        repeated = [entries[i] for i in first[counts > 1]]
        raise ValueError(
            f"{what} names these columns more than once: {quoted(repeated, 20)}. List each column "
            "once."
        )


def _from_mask(mask: Sequence[Any], n_features: int, what: str) -> IntArray:
    if len(mask) != n_features:
        raise ValueError(
            f"{what} is a boolean mask of length {len(mask)}, but X has {n_features} columns. "
            "Give one boolean per column, or names or positions."
        )
    return np.flatnonzero(np.asarray(mask, dtype=bool))


def _from_names(
    names: Sequence[str], feature_names: Iterable[Hashable] | None, what: str
) -> IntArray:
    if feature_names is None:
        raise ValueError(
            f"{what} gives the column names {quoted(names, 20)}, but X has no column names. Pass a "
            "dataframe, or give positions or a boolean mask."
        )
    known = {name: v for v, name in enumerate(feature_names)}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(
            f"{what} names columns that X does not have: {quoted(unknown, 20)}. The columns of X "
            f"are {quoted(known, 20)}."
        )
    return np.asarray([known[name] for name in names], dtype=np.intp)


def _from_positions(positions: Sequence[Any], n_features: int, what: str) -> IntArray:
    outside = [position for position in positions if not 0 <= position < n_features]
    if outside:
        raise ValueError(
            f"{what} has positions outside the table: {quoted(outside, 20)}. X has {n_features} "
            f"columns, so positions run from 0 to {n_features - 1}."
        )
    return np.asarray(positions, dtype=np.intp)


def is_frame(X: Any) -> bool:
    """Tell whether `X` is a dataframe that narwhals can read, such as pandas or polars."""
    return not isinstance(X, np.ndarray) and bool(nw.dependencies.is_into_dataframe(X))


def as_table(X: Any, **check_params: Any) -> Any:
    """Return a dataframe unchanged and anything else as a 2-D array of its own dtype.

    Nested lists that hold text become an object array, so that their numbers stay numbers.
    """
    if is_frame(X):
        return X
    check_params = {"dtype": None, "ensure_all_finite": False} | check_params
    table = check_array(X, **check_params)
    if not hasattr(X, "dtype") and table.dtype.kind in "US":
        table = check_array(X, **(check_params | {"dtype": object}))
    return table


def column_names(X: Any) -> list[Any] | None:
    """Return the column names of a dataframe, None for an array."""
    return list(nw.from_native(X, eager_only=True).columns) if is_frame(X) else None


def name_columns(X: Any) -> list[Any]:
    """Return the column names of a dataframe, x0, x1, ... for an array, as scikit-learn does."""
    return column_names(X) or default_names(X.shape[1])


def types_of(X: Any) -> list[Any]:
    """Return narwhals' types of the columns of a frame.

    Each type of an Arrow table is translated once: a wide table has few.
    """
    if not nw.dependencies.is_pyarrow_table(X):
        return list(nw.from_native(X, eager_only=True).schema.dtypes())
    kinds = X.schema.types
    first = dict(zip(reversed(kinds), range(len(kinds) - 1, -1, -1), strict=True))
    found = (nw.from_native(X.column(v), series_only=True).dtype for v in first.values())
    translated = dict(zip(first, found, strict=True))
    return [translated[kind] for kind in kinds]


def each_column(
    X: Any, columns: Iterable[int], *, as_series: bool = False
) -> Iterator[tuple[Any, Any]]:
    """Yield the names and the cells of columns: series of a frame, or 1-D arrays.

    A frame of many columns is costly to wrap, and to ask for its names: this does it once. To wrap
    columns of few cells takes longer than to read them, so numbers and text of an Arrow table are
    arrays, too, unless `as_series`.
    """
    if nw.dependencies.is_pyarrow_table(X) and not as_series:
        names = X.column_names
        yield from ((names[v], _arrow_cells(X.column(int(v)))) for v in columns)
    elif is_frame(X):
        frame = nw.from_native(X, eager_only=True)
        names = frame.columns
        yield from ((names[v], frame.get_column(names[v])) for v in columns)
    else:
        yield from ((f"x{v}", X[:, v]) for v in columns)


def _arrow_cells(column: Any) -> Any:
    is_plain = column.null_count == 0 and str(column.type) in _ARROW_NUMBERS
    is_short = str(column.type) == "string" and len(column) <= SHORT_COLUMN
    if is_plain or is_short:
        return column.to_numpy()
    return nw.from_native(column, series_only=True)


_ARROW_NUMBERS = {
    "float",
    "double",
    *(f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)),
}


def default_names(n_features: int) -> list[str]:
    """Return the names of features without names."""
    return [f"x{v}" for v in range(n_features)]


def resolve_categorical(X: Any, categorical_features: Any) -> IntArray:
    """Return the positions of the categorical columns of a table, ascending.

    "from_dtype" looks at the types, see `categorical_by_dtype`; `resolve_columns` reads all else.
    """
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return categorical_by_dtype(X)
    return np.sort(
        resolve_columns(categorical_features, column_names(X), X.shape[1], "categorical_features")
    )


def categorical_by_dtype(X: Any) -> IntArray:
    """Return the positions of the columns whose type says that they are categorical.

    In a dataframe these are Categorical, Enum, String and Boolean columns; in an array of text or
    booleans all columns. Columns of Python objects are categorical if a value is text or boolean.
    """
    if is_frame(X):
        types = types_of(X)
        chosen = {dtype for dtype in set(types) if dtype in _CATEGORICAL}
        mask = [dtype in chosen for dtype in types]
        python = {dtype for dtype in set(types) if dtype == nw.Object}
        objects = [v for v, dtype in enumerate(types) if dtype in python] if python else []
        for v, (_, cells) in zip(objects, each_column(X, objects), strict=True):
            mask[v] = _holds_text(cells.to_numpy())
    elif X.dtype.kind == "O":
        mask = [_holds_text(X[:, v]) for v in range(X.shape[1])]
    else:
        mask = [X.dtype.kind in "USTb"] * X.shape[1]
    return np.flatnonzero(mask)


_CATEGORICAL = (nw.Categorical, nw.Enum, nw.String, nw.Boolean)


def _holds_text(values: NDArray[Any]) -> bool:
    return any(issubclass(kind, str | bytes | bool | np.bool_) for kind in set(map(type, values)))


def read_numeric(X: Any, columns: IntArray, order: Literal["C", "F"] = "C") -> NDArray[Any]:
    """Return the given columns of a table as one float array; missing cells become NaN.

    The result is float32 if all the columns are, else float64. The columns of a frame are written
    in this order.
    """
    if not is_frame(X) and X.dtype.kind in "fiu":
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        every = columns.size == X.shape[1]
        return np.asarray(X if every else X[:, columns], dtype=dtype)
    dtype = np.float32 if is_single(X, columns) else np.float64
    block = np.empty((X.shape[0], len(columns)), dtype=dtype, order=order)
    if nw.dependencies.is_pyarrow_table(X):
        plain = [_copy_arrow(X.column(int(v)), block[:, j]) for j, v in enumerate(columns)]
        left = np.flatnonzero(~np.asarray(plain, dtype=bool))
    else:
        left = np.arange(len(columns))
    for j, (name, cells) in zip(left, each_column(X, np.asarray(columns)[left]), strict=True):
        block[:, j] = read_numbers(cells, name)
    return block


def _copy_arrow(column: Any, room: NDArray[Any]) -> bool:
    """Copy a column of numbers without gaps, part by part; tell whether it is one."""
    if column.null_count or str(column.type) not in _ARROW_NUMBERS:
        return False
    begin = 0
    for part in column.chunks:
        room[begin : begin + len(part)] = part.to_numpy()
        begin += len(part)
    return True


def read_numbers(cells: Any, name: Hashable) -> NDArray[Any]:
    """Return a column, a series or an array, as float32 or float64; missing cells are NaN."""
    dtype = cells.dtype
    if isinstance(cells, np.ndarray):
        return cells if dtype.kind == "f" else _to_float(cells, name, dtype)
    if dtype.is_numeric():
        return np.asarray(cells.cast(nw.Float32 if dtype == nw.Float32 else nw.Float64).to_numpy())
    if dtype == nw.Unknown and cells.null_count() == len(cells):  # polars' type Null
        return np.full(len(cells), np.nan)
    return _to_float(cells.to_numpy(), name, dtype)


def _to_float(values: NDArray[Any], name: Hashable, dtype: Any) -> NDArray[np.float64]:
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    if values.dtype.kind != "O":
        raise ValueError(_not_numeric(name, f"has dtype {dtype}"))
    check_scalars(values, name)
    values = np.where(is_missing(values), np.nan, values)
    odd = [value for value in values if not isinstance(value, Real)]
    if odd:
        example = next((value for value in odd if not _is_numeral(value)), odd[0])
        raise ValueError(_not_numeric(name, f"holds the value {example!r}"))
    return values.astype(np.float64)


def _is_numeral(value: Any) -> bool:
    """Tell whether a text can be read as a number, and so does not explain why it is text."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _not_numeric(name: Hashable, found: str) -> str:
    return (
        f"Column {name!r} {found}, expected numbers. If it is categorical, list it in "
        "categorical_features; otherwise convert or drop it."
    )


def check_scalars(values: Iterable[Any], name: Hashable) -> set[type]:
    """Return the types of the cells; refuse containers, neither a number nor a category."""
    kinds = set(map(type, values))
    wrong = {kind for kind in kinds if issubclass(kind, dict | list | set) or kind.__hash__ is None}
    if wrong:
        found = ", ".join(sorted(kind.__name__ for kind in wrong))
        raise TypeError(
            f"Column {name!r} holds values of type {found}; argument must be a string or a number "
            "in every cell. Convert or drop the column."
        )
    return kinds


def read_categorical(X: Any, v: int) -> NDArray[Any]:
    """Return column `v` of a table as an array of its values (numbers, text or objects)."""
    name, cells = next(each_column(X, [v]))
    return categorical_cells(cells, name)


def categorical_cells(cells: Any, name: Hashable) -> NDArray[Any]:
    """Return a column, a series or an array, as an array of its values."""
    values = cells if isinstance(cells, np.ndarray) else cells.to_numpy()
    if values.dtype.kind == "O":
        check_scalars(values, name)
    return np.asarray(values)


def is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where a column is missing: None, NaN, NaT or pandas' NA."""
    if values.dtype.kind in "fmM":
        return np.asarray(values != values)
    if values.dtype.kind != "O":
        return np.zeros(values.shape, dtype=bool)
    return np.fromiter(map(_is_missing_value, values), dtype=bool, count=values.size)


def _is_missing_value(value: Any) -> bool:
    # pandas' NA answers comparisons with NA, which has no truth value; pandas may be absent.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def ordered_categories(X: Any, v: int, values: NDArray[Any]) -> list[Any]:
    """Return the categories that occur in `values`, read from column `v` of `X`, in order.

    The order is the declared one for ordered dtypes (Enum, ordered Categorical), else ascending.
    """
    _, cells = next(each_column(X, [v]))
    return in_order(values[~is_missing(values)].tolist(), cells)


def in_order(values: Iterable[Any], cells: Any) -> list[Any]:
    """Return distinct values of a column in their declared order, else ascending."""
    observed = set(values)
    if not isinstance(cells, np.ndarray) and cells.dtype == nw.Enum:
        return [one for one in cells.cat.get_categories().to_list() if one in observed]
    try:
        return sorted(observed)
    except TypeError:  # values of several types, such as 1 and "one"
        return sorted(observed, key=lambda one: (type(one).__name__, str(one)))


def describe_columns(mask: Any, feature_names: Sequence[str] | None, most: int = 5) -> str:
    """Return e.g. ``columns 'age', 'height' and 3 more``, or ``column 4``."""
    indices = np.flatnonzero(mask)
    names = range(len(mask)) if feature_names is None else [str(name) for name in feature_names]
    plural = "s" if indices.size > 1 else ""
    return f"column{plural} {quoted((names[int(i)] for i in indices), most)}"


def float_types(X: Any) -> Any:
    """Return the floating point types that `X` may be read in: its own if that is float32.

    Frames of other libraries than plain pandas would otherwise be read as float64.
    """
    if is_frame(X) and set(types_of(X)) == {nw.Float32()}:
        return np.float32
    return [np.float64, np.float32]


def is_single(X: Any, columns: Iterable[int] | None = None) -> bool:
    """Tell whether numbers are read from a table, or some columns of it, as float32."""
    if isinstance(X, np.ndarray):
        return bool(X.dtype == np.float32)
    types = types_of(X)
    kinds = set(types if columns is None else [types[v] for v in columns])
    kinds = {kind for kind in kinds if kind not in _CATEGORICAL or columns is not None}
    return bool(kinds) and all(kind == nw.Float32 for kind in kinds)


def has_objects(X: Any) -> bool:
    """Tell whether a frame has columns of Python objects."""
    if not is_frame(X):
        return False
    return nw.Object() in types_of(X)


def refuse_text(X: Any, who: str, about: str = "") -> None:
    """Raise if a column of a frame does not hold numbers; `about` ends the sentence."""
    if not is_frame(X):
        return
    types = types_of(X)
    text = [not _can_be_numeric(dtype) for dtype in types]
    if any(text):
        others = [dtype for dtype, no in zip(types, text, strict=True) if no]
        found = {type(dtype).__name__ for dtype in others}
        dated = any(dtype.is_temporal() for dtype in others)
        dates = "convert dates to numbers, such as the days since one, " if dated else ""
        raise ValueError(
            f"Not numeric: {describe_columns(text, column_names(X))} of X "
            f"({', '.join(sorted(found))}). {who} takes numbers: encode categories with "
            f"fwkmeans.preprocessing.TableEncoder, {dates}or drop the column.{about}"
        )


def refuse_words(X: Any, who: str) -> None:
    """Raise if a cell of an array or of a list of rows is text that is no number."""
    try:
        cells = np.asarray(X, dtype=object)
    except ValueError:  # no table at all
        return
    words: dict[int, str] = {}
    for place, column in enumerate(cells.T if cells.ndim == 2 else ()):
        for cell in column:
            if isinstance(cell, str) and not _is_number(cell):
                words[place] = cell
                break
    if words:
        text = [place in words for place in range(cells.shape[1])]
        shown = ", ".join(repr(str(word)) for word in [*words.values()][:3])
        raise ValueError(
            f"Not numeric: {describe_columns(text, None)} of X (text such as {shown}). {who} takes "
            "numbers: encode categories with fwkmeans.preprocessing.TableEncoder, or drop the "
            "column."
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _can_be_numeric(dtype: Any) -> bool:
    # object columns of pandas may hold numbers: scikit-learn's conversion decides
    return bool(dtype.is_numeric()) or isinstance(dtype, nw.Boolean | nw.Object | nw.Unknown)
