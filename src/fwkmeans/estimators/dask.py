"""Dask collections as X: what `fit` reads of them, and predictions that are computed later.

Imported only where somebody passes such a collection.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask.highlevelgraph import HighLevelGraph
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from fwkmeans._support.arrays import is_dask
from fwkmeans._support.text import quoted
from fwkmeans._support.threads import effective_n_threads
from fwkmeans._tabular.coding import Census, Coding, IndexArray
from fwkmeans._tabular.columns import (
    categorical_by_dtype,
    column_names,
    has_objects,
    is_frame,
    read_numeric,
    refuse_text,
    resolve_categorical,
)
from fwkmeans._tabular.layout import numeric_layout
from fwkmeans.estimators.inputs import (
    Input,
    check_sample_weight,
    level_options,
    refuse_empty,
    refuse_empty_columns,
    refuse_repeated_names,
    refuse_sparse,
)
from fwkmeans.estimators.model import Model, Reader
from fwkmeans.sources.dask import DaskSource, Pieces
from fwkmeans.sources.dask_tasks import Cells
from fwkmeans.sources.sparse import sparse_rows
from fwkmeans.typing import FloatArray


def open_collection(
    estimator: Reader, X: Any, sample_weight: Any, coding: Coding | None, *, reset: bool
) -> Input:
    """Return the rows of a Dask array or frame; they stay where they are."""
    if isinstance(sample_weight, str):
        X, sample_weight = _weighted_by(X, sample_weight)
    table = _table_of(estimator, X, reset=reset)
    table = table._replace(pieces=table.pieces.held())
    categorical = np.empty(0, dtype=np.intp)
    if reset and estimator._takes_categories:
        categorical = _categorical_columns(table, estimator.categorical_features)
        Census(table.meta, categorical)  # refuses dates at once
    numeric = np.setdiff1d(np.arange(table.meta.shape[1]), categorical)
    dtype = read_numeric(table.meta, numeric if coding is None else coding.numeric).dtype
    weights = _weights_of(sample_weight, table)
    look = _Looking(dtype, column_names(table.meta), table.meta.shape[1], categorical, reset)
    found: _Look = table.pieces.mapped(look, *weights).joined(_Look.join)
    _check(estimator, found, sample_weight)
    if reset:
        coding = _learned(estimator, table, categorical, found)
    cells, n_full = table.pieces, sum(n > 0 for n in found.lengths)
    if found.n_sparse:
        _check_sparse(estimator, X, found.n_sparse, n_full, coding)
    if coding is not None or found.n_plain < n_full:
        options = {} if coding is None else level_options(estimator, reset=reset)
        cells = cells.mapped(_Reading(coding, options, dtype)).held()
    source = DaskSource(
        cells,
        weights[0] if weights else None,
        found.lengths,
        numeric_layout(table.meta.shape[1]) if coding is None else coding.layout,
        dtype,
        1 if estimator.n_jobs is None else effective_n_threads(estimator.n_jobs),
        sparse=bool(found.n_sparse),
    )
    return Input(source, coding, None)


def compute_later(estimator: Model, method: str, X: Any, n_columns: int | None = None) -> Any:
    """Return what a method of a fitted model says of the rows of X, as a Dask array.

    It has a chunk for each partition of X, and `n_columns` columns; None means one dimension.
    """
    table = _table_of(estimator, X, reset=False)
    model = copy.copy(estimator)
    model.__dict__.pop("labels_", None)  # those of the rows of fit, which need not travel
    dtype = np.dtype(np.int32)
    if n_columns is not None:
        dtype = read_numeric(table.meta, model._table.layout.numeric).dtype
    empty = np.empty((0,) if n_columns is None else (0, n_columns), dtype=dtype)
    answers = table.pieces.mapped(_Method(model, method, empty))
    name = f"{method}-{answers.keys[0][0]}"  # type: ignore[index]
    last = () if n_columns is None else (0,)
    aliases = {(name, at, *last): key for at, key in enumerate(answers.keys)}
    lengths = [np.nan] * len(aliases) if table.lengths is None else table.lengths
    chunks = [tuple(lengths), *([] if n_columns is None else [(n_columns,)])]
    tasks: dict[Any, Any] = {**answers.graph, **aliases}
    graph = HighLevelGraph({name: tasks}, {name: set()})
    return da.Array(graph, name, chunks, meta=empty)


# ---- tables --------------------------------------------------------------------------------------


class _Table(NamedTuple):
    """A collection as a table."""

    pieces: Pieces  # pandas frames or arrays
    lengths: Sequence[int] | None  # rows of each piece; None if not known
    meta: Any  # a table of the same kind without rows


def _table_of(estimator: Reader, X: Any, *, reset: bool) -> _Table:
    """Return a collection as a table, or raise an error that says why it is none."""
    if isinstance(X, dd.DataFrame):
        refuse_repeated_names(X)
        names = None if reset else estimator._names
        if names is not None and {*names} <= {*X.columns}:
            X = X[list(names)]  # found by name, as in files
        table = _Table(Pieces.of(X.to_delayed()), None, X._meta)
    elif isinstance(X, da.Array):
        table = _table_of_array(X)
    else:
        hint = " Of one column make a frame: X.to_frame()." if isinstance(X, dd.Series) else ""
        raise TypeError(
            f"X is a Dask {type(X).__name__}; expected a dask.array.Array or a "
            f"dask.dataframe.DataFrame.{hint}"
        )
    if not table.meta.shape[1]:
        refuse_empty(estimator, table.meta)
    validate_data(estimator, table.meta, reset=reset, skip_check_array=True)
    if not estimator._takes_categories:
        refuse_text(table.meta, type(estimator).__name__)
    return table


def _table_of_array(X: Any) -> _Table:
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead (shape {X.shape}). Reshape your data: "
            "one row per entity, one column per feature."
        )
    if np.isnan(X.shape[1]):
        raise ValueError(
            "X does not know how many columns it has. Call X.compute_chunk_sizes() first."
        )
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    lengths = X.chunks[0]
    known = None if np.isnan(lengths).any() else [int(n) for n in lengths]
    meta = np.empty((0, X.shape[1]), dtype=X.dtype)
    return _Table(Pieces.of(X.to_delayed().ravel().tolist()), known, meta)


def _lengths_of(table: _Table) -> Sequence[int]:
    if table.lengths is not None:
        return table.lengths
    lengths: Sequence[int] = table.pieces.mapped(_length).joined(_joined_lists)
    return lengths


def _length(piece: Any) -> list[int]:
    return [int(piece.shape[0])]


def _joined_lists(before: list[Any], after: list[Any]) -> list[Any]:
    return before + after


# ---- sample weights ------------------------------------------------------------------------------


def _weighted_by(X: Any, name: str) -> tuple[Any, Any]:
    """Return a frame without the column of this name, and that column."""
    if not isinstance(X, dd.DataFrame) or name not in X.columns:
        known = f"has {quoted(X.columns)}" if isinstance(X, dd.DataFrame) else "has no names"
        raise ValueError(
            f"sample_weight={name!r} names a column that X does not have: it {known}. Give the "
            "name of a column, or a Dask array with one weight for each row."
        )
    return X.drop(columns=[name]), X[name]


def _weights_of(sample_weight: Any, table: _Table) -> list[Pieces]:
    """Return the weights of the rows of each piece, float64; nothing if there are none."""
    if sample_weight is None:
        return []
    is_series, is_array = (isinstance(sample_weight, kind) for kind in (dd.Series, da.Array))
    if is_dask(sample_weight) and not (is_series or (is_array and sample_weight.ndim == 1)):
        raise ValueError(
            f"sample_weight is a Dask {type(sample_weight).__name__} of {sample_weight.ndim} "
            "dimensions; expected one weight per row: an array of one dimension, or a series such "
            "as X['weight']."
        )
    if (is_series or is_array) and sample_weight.dtype.kind not in "fiub":
        raise ValueError(f"sample_weight holds {sample_weight.dtype}; expected numbers.")
    if is_series or (is_array and np.isnan(sample_weight.shape[0])):
        pieces = Pieces.of(np.ravel(sample_weight.to_delayed()).tolist())
        n_pieces = len(table.pieces.keys)
        if len(pieces.keys) != n_pieces:
            raise ValueError(
                f"X has {n_pieces} partitions and sample_weight has {len(pieces.keys)}, of unknown "
                "lengths. Give both the same partitions: take the weights from a column of the "
                "same frame, or call compute_chunk_sizes() of both as arrays."
            )
        return [pieces.mapped(_as_weights).held()]
    lengths = _lengths_of(table)
    if is_array:
        _check_number(sample_weight.shape[0], sum(lengths))
        weights = sample_weight.rechunk((tuple(lengths),))
    else:
        weights = check_sample_weight(sample_weight, sum(lengths))
        weights = da.from_array(weights, chunks=(tuple(lengths),))
    return [Pieces.of(weights.to_delayed().tolist()).mapped(_as_weights).held()]


def _as_weights(piece: Any) -> FloatArray:
    return np.ascontiguousarray(piece, dtype=np.float64)


def _check_number(n_weights: int, n_rows: int) -> None:
    if n_weights != n_rows:
        raise ValueError(
            f"sample_weight.shape == {(n_weights,)}, expected {(n_rows,)}: one weight per row."
        )


# ---- the first look ------------------------------------------------------------------------------


class _Look(NamedTuple):
    """What one reading of the pieces finds out."""

    lengths: list[int]  # rows of each piece
    n_weights: list[int]
    lowest: float  # sample weight
    highest: float
    n_plain: int  # pieces with rows that can be used as they are
    n_sparse: int  # pieces with rows that are sparse
    counted: Census | None = None  # of the rows with weight
    every: Census | None = None  # of all rows, if some have no weight

    def join(self, after: _Look) -> _Look:
        """Return what is found in the pieces of both."""
        every = None
        if self.every is not None or after.every is not None:
            every = _both(self.every or self.counted, after.every or after.counted)
        return _Look(
            self.lengths + after.lengths,
            self.n_weights + after.n_weights,
            float(np.minimum(self.lowest, after.lowest)),  # NaN stays
            float(np.maximum(self.highest, after.highest)),
            self.n_plain + after.n_plain,
            self.n_sparse + after.n_sparse,
            _both(self.counted, after.counted),
            every,
        )


def _both(here: Census | None, there: Census | None) -> Census | None:
    return here or there if here is None or there is None else here.join(there)


@dataclass(frozen=True)
class _Looking:
    """Look at a piece of the table."""

    dtype: Any
    names: list[Any] | None  # of the columns of a frame
    n_features: int
    categorical: IndexArray
    learns: bool  # whether categories are to be found

    def __call__(self, piece: Any, weight: FloatArray | None = None) -> _Look:
        self._check_columns(piece)
        n, n_weights = int(piece.shape[0]), 0 if weight is None else len(weight)
        lowest, highest = np.inf, -np.inf
        if weight is not None and n_weights:
            lowest, highest = float(weight.min()), float(weight.max())
        if not n:
            return _Look([0], [n_weights], lowest, highest, 0, 0)
        if issparse(piece):
            return _Look([n], [n_weights], lowest, highest, 0, 1)
        counted = every = None
        if self.learns and (weight is None or n == n_weights):
            with_weight = slice(None) if weight is None else weight > 0
            counted = Census(piece, self.categorical, with_weight)
            if weight is not None and not weight.all():
                every = Census(piece, self.categorical)
        plain = isinstance(piece, np.ndarray) and piece.dtype == self.dtype
        return _Look([n], [n_weights], lowest, highest, int(plain), 0, counted, every)

    def _check_columns(self, piece: Any) -> None:
        if self.names is not None and not is_frame(piece):
            raise TypeError(f"A partition of X is {type(piece).__name__}; expected a frame.")
        if self.names is None and not (isinstance(piece, np.ndarray) or issparse(piece)):
            raise TypeError(
                f"A chunk of X is {type(piece).__name__}; expected an array of NumPy or a sparse "
                "matrix of SciPy."
            )
        if self.names is not None and list(piece.columns) != self.names:
            raise ValueError(
                f"A partition of X has the columns {quoted(list(piece.columns), 20)}, but X has "
                f"{quoted(self.names, 20)}. Make the partitions alike."
            )
        if piece.shape[1] != self.n_features:
            raise ValueError(
                f"A chunk of X has {piece.shape[1]} columns, but X has {self.n_features}."
            )


def _categorical_columns(table: _Table, categorical_features: Any) -> IndexArray:
    """Return the positions of the categorical columns, ascending."""
    meta = table.meta
    by_dtype = isinstance(categorical_features, str) and categorical_features == "from_dtype"
    if by_dtype and (has_objects(meta) or (not is_frame(meta) and meta.dtype.kind == "O")):
        # whether columns of Python objects are categorical is seen in their cells
        found: list[int] = table.pieces.mapped(_by_dtype).joined(_joined_lists)
        return np.unique(np.asarray(found, dtype=np.intp))
    return resolve_categorical(meta, categorical_features)


def _by_dtype(piece: Any) -> list[int]:
    found: list[int] = categorical_by_dtype(piece).tolist()
    return found


def _check(estimator: Reader, found: _Look, sample_weight: Any) -> None:
    """Raise an error that says what is wrong with the numbers of rows, or with the weights."""
    if not sum(found.lengths):
        refuse_empty(estimator, np.empty((0, estimator.n_features_in_)))
    if sample_weight is None:
        return
    _check_number(sum(found.n_weights), sum(found.lengths))
    for at, (n, n_weights) in enumerate(zip(found.lengths, found.n_weights, strict=True)):
        if n != n_weights:
            raise ValueError(
                f"Partition {at} of X has {n} rows, and that of sample_weight {n_weights}. Give "
                "both the same partitions, for example by a column of the same frame."
            )
    check_sample_weight(np.array([found.lowest, found.highest]), 2)


def _learned(
    estimator: Reader, table: _Table, categorical: IndexArray, found: _Look
) -> Coding | None:
    """Return the codes of the categories; None if there are none."""
    if found.counted is None or not categorical.size:
        return None
    n_features = table.meta.shape[1]
    own_missing = level_options(estimator, reset=True)["own_missing"]
    numeric = np.setdiff1d(np.arange(n_features, dtype=np.intp), categorical)
    categories = found.counted.categories(own_missing=own_missing)
    coding = Coding(n_features, numeric, categorical, categories)
    refuse_empty_columns(estimator, coding, column_names(table.meta))
    if found.every is not None:  # predict accepts the rows without weight
        coding = replace(coding, silent=found.every.categories(own_missing=own_missing))
    return coding


def _check_sparse(
    estimator: Reader, X: Any, n_sparse: int, n_full: int, coding: Coding | None
) -> None:
    if n_sparse < n_full:
        raise TypeError(
            f"{n_sparse} of {n_full} chunks of X are sparse, the others are not. Make them alike, "
            "for example with X.map_blocks(scipy.sparse.csr_array)."
        )
    refuse_sparse(estimator, X, coding)


# ---- what tasks do -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Reading:
    """Read a piece of the table as rows of a block."""

    coding: Coding | None
    options: dict[str, Any]  # of `Coding.levels`
    dtype: Any

    def __call__(self, piece: Any) -> Any:
        if issparse(piece):
            return sparse_rows(piece.astype(self.dtype))
        if self.coding is None:
            rows = read_numeric(piece, np.arange(piece.shape[1]))
            return np.asarray(rows, dtype=self.dtype)
        rows = np.asarray(self.coding.rows(piece), dtype=self.dtype)
        return Cells(rows, self.coding.levels(piece, **self.options))


@dataclass(frozen=True)
class _Method:
    """Call a method of a fitted model with a piece of a table."""

    model: Model
    name: str
    empty: Any  # the answer if there are no rows

    def __call__(self, piece: Any) -> Any:
        return getattr(self.model, self.name)(piece) if piece.shape[0] else self.empty
