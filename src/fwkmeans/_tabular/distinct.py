"""The distinct values of a column, and where each of them is: the base of every category code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import compress, count
from numbers import Number
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from fwkmeans._support.text import printable
from fwkmeans._tabular import columns as _columns

IndexArray = NDArray[np.intp]

#: Whole numbers are counted in a table of places, if their range is at most this or their number.
SHORT_RANGE = 2**16


class DistinctValues(NamedTuple):
    """A column as places in a list of values, each of which may or may not occur."""

    values: Sequence[Any]  # distinct, but for numbers of different types
    codes: NDArray[Any]  # (n,) places in `values`, -1 for missing

    def occurring(self) -> IndexArray:
        """Return which of the values occur."""
        seen = np.zeros(len(self.values) + 1, dtype=bool)
        seen[self.codes] = True  # missing cells mark the extra entry
        return np.flatnonzero(seen[:-1])

    def by_name(self) -> tuple[IndexArray, tuple[str, ...]]:
        """Return codes of the values as text, -1 for missing cells, and the texts, ascending."""
        texts = [printable(self.values[place]) for place in self.occurring()]
        names = sorted(set(texts))
        code_of = {name: code for code, name in enumerate(names)}
        table = np.full(len(self.values) + 1, -1, dtype=np.intp)
        table[self.occurring()] = [code_of[text] for text in texts]
        return table[self.codes], tuple(names)


def read_values(values: NDArray[Any]) -> DistinctValues:
    """Read a column given as an array of numbers, text or objects."""
    return distinct_values(values, "x0")


def distinct_values(cells: Any, name: Any) -> DistinctValues:
    """Read a column of a table: a series of a frame, or an array."""
    if not isinstance(cells, np.ndarray):
        return _read_series(cells, name)
    if cells.dtype.kind in "biuf":
        return _read_numbers(cells)
    if cells.dtype.kind in "US":
        return _tell_apart(cells.tolist())
    return _read_objects(cells.tolist(), name)


def _read_series(series: nw.Series[Any], name: Any) -> DistinctValues:
    if series.dtype == nw.String and len(series) > _columns.SHORT_COLUMN and _has_own_text(series):
        series = series.cast(nw.Categorical)
    dtype, native = series.dtype, series.to_native()
    if series.implementation.is_pyarrow() and dtype in (nw.Categorical, nw.String):
        return _read_arrow(native, name)
    if dtype in (nw.Categorical, nw.Enum) and series.implementation.is_polars():
        return _read_polars(series)
    if dtype in (nw.Categorical, nw.Enum) and hasattr(native, "cat"):
        return DistinctValues(series.cat.get_categories().to_list(), native.cat.codes.to_numpy())
    if dtype == nw.Boolean or dtype.is_float() or (dtype.is_integer() and not _is_wide(dtype)):
        return _read_nullable(series)
    return _read_objects(series.to_list(), name)


def _read_arrow(cells: Any, name: Any) -> DistinctValues:
    """Read text or a dictionary of Arrow, which may have several parts."""
    kind = str(getattr(cells.type, "value_type", cells.type))
    if kind not in ("string", "large_string"):  # values such as 1 and 1.0, or dates
        return _read_objects(cells.to_pylist(), name)
    coded = cells.dictionary_encode().unify_dictionaries()
    if not coded.num_chunks:
        return DistinctValues([], np.empty(0, dtype=np.intp))
    parts = [one.indices.fill_null(-1).to_numpy(zero_copy_only=False) for one in coded.chunks]
    values = coded.chunk(0).dictionary
    if values.null_count:  # a missing cell may be one of the values
        return _read_objects(cells.to_pylist(), name)
    return DistinctValues(values.to_pylist(), np.concatenate(parts))


def _has_own_text(series: nw.Series[Any]) -> bool:
    """Tell whether a column of text can hold nothing else, as an object column of pandas may."""
    library = series.implementation
    return library.is_polars() or (
        library.is_pandas_like() and str(series.to_native().dtype) != "object"
    )


def _is_wide(dtype: Any) -> bool:
    return dtype in (nw.Int128, nw.UInt128)  # NumPy has no such numbers


def _read_polars(series: nw.Series[Any]) -> DistinctValues:
    """Read a Categorical or Enum, whose physical numbers may be any."""
    physical = nw.from_native(series.to_native().to_physical(), series_only=True)
    numbers, places = _read_numbers(physical.cast(nw.Int64).fill_null(-1).to_numpy())
    values = series[_rows_of(places, len(numbers))].to_list()
    missing = 1 if numbers and numbers[0] == -1 else 0  # the numbers ascend
    return DistinctValues(values[missing:], places - missing)


def _read_nullable(series: nw.Series[Any]) -> DistinctValues:
    """Read numbers or booleans, of which some may be null."""
    null = series.is_null()
    if not null.any():
        return _read_numbers(series.to_numpy())
    values, places = _read_numbers(series.filter(~null).to_numpy())  # whole numbers stay whole
    codes = np.full(len(series), -1, dtype=np.intp)
    codes[~null.to_numpy()] = places
    return DistinctValues(values, codes)


def _read_numbers(cells: NDArray[Any]) -> DistinctValues:
    """Read an array of numbers or booleans; the values ascend."""
    if cells.dtype.kind == "b":
        return DistinctValues([False, True], cells.astype(np.intp))
    missing = _columns.is_missing(cells)
    if missing.any():
        codes = np.full(cells.size, -1, dtype=np.intp)
        values, codes[~missing] = _read_numbers(cells[~missing])
        return DistinctValues(values, codes)
    whole = _whole_numbers(cells)
    if whole is None:
        distinct, places = np.unique(cells, return_inverse=True)
        return DistinctValues(distinct.tolist(), places)
    lowest = whole.min()
    whole -= lowest
    seen = np.zeros(int(whole.max()) + 1, dtype=bool)
    seen[whole] = True
    distinct = (np.flatnonzero(seen) + lowest).astype(cells.dtype)
    return DistinctValues(distinct.tolist(), (np.cumsum(seen) - 1)[whole])


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


def _read_objects(cells: list[Any], name: Any) -> DistinctValues:
    """Read text or any Python objects."""
    kinds = _columns.check_scalars(cells, name)
    values, codes = _tell_apart(cells)
    if kinds & {bool, np.bool_} and any(issubclass(kind, Number) for kind in kinds - {bool}):
        types, type_codes = _tell_apart(list(map(type, cells)))  # 1, 1.0 and True are equal
        pairs, codes = _read_numbers(codes * len(types) + type_codes)
        values = [cells[i] for i in _rows_of(codes, len(pairs))]
    present = ~_columns.is_missing(object_array(values))
    places = np.where(present, np.cumsum(present) - 1, -1)
    return DistinctValues(list(compress(values, present)), places[codes])


def _tell_apart(cells: list[Any]) -> DistinctValues:
    """Give the distinct cells numbers, in the order in which they come."""
    place_of: defaultdict[Any, int] = defaultdict(count().__next__)
    codes = np.fromiter(map(place_of.__getitem__, cells), dtype=np.intp, count=len(cells))
    return DistinctValues(list(place_of), codes)


def _rows_of(codes: IndexArray, n_values: int) -> list[int]:
    """Return a row that holds each of the values."""
    rows = np.empty(n_values, dtype=np.intp)
    rows[codes] = np.arange(codes.size)
    return rows.tolist()


def object_array(values: Iterable[Any]) -> NDArray[Any]:
    """Return an array of objects; cells may be tuples."""
    cells = list(values)
    return np.fromiter(cells, dtype=object, count=len(cells))
