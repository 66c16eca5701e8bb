"""From what users hand to `fit` to a source of rows, or a sentence that says what is wrong."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, validate_data

from fwkmeans._columns import describe_columns, float_types, refuse_text
from fwkmeans._threads import effective_n_threads
from fwkmeans._typing import Description, FloatArray, IntArray, RowArray, Source
from fwkmeans.sources import (
    BLOCK_BYTES,
    ChunkedSource,
    MemorySource,
    count_nonfinite,
    describe,
)


def open_source(estimator: Any, X: Any, sample_weight: Any, *, reset: bool) -> Source:
    """Return the source of the rows: in memory, or in blocks for paths and large memory maps."""
    n_threads = effective_n_threads(estimator.n_jobs)
    if isinstance(X, str | os.PathLike) or _is_large_map(X):
        X = ChunkedSource(X)
    if isinstance(X, ChunkedSource):
        _check_chunked(estimator, X, reset=reset)
        given = X.sample_weight if sample_weight is None else sample_weight
        return X.with_(check_sample_weight(given, X.n_rows), n_threads)
    if isinstance(X, MemorySource):
        sample_weight = X.sample_weight if sample_weight is None else sample_weight
        X = X.rows
    _refuse_sparse(estimator, X)
    _refuse_others(X)
    refuse_text(X, type(estimator).__name__)
    rows: RowArray = validate_data(
        estimator,
        X,
        reset=reset,
        dtype=float_types(X),
        ensure_all_finite=False,  # our own check names the columns
    )
    return MemorySource(np.asarray(rows), check_sample_weight(sample_weight, len(rows)), n_threads)


def describe_rows(estimator: Any, source: Source) -> Description:
    """Describe a table in which every cell is a number."""
    table, nonfinite = describe(source)
    _refuse_nonfinite(estimator, source, nonfinite)
    squared = (table.scatter > 0) & np.isfinite(table.scatter)
    lost = (table.maximum > table.minimum) & ~squared
    if lost.any():
        names = getattr(estimator, "feature_names_in_", None)
        raise ValueError(
            f"The squares of {describe_columns(lost, names)} of X underflow to zero or overflow. "
            "Rescale X, for example with fwkmeans.preprocessing.RangeStandardizer."
        )
    return table


def check_finite(estimator: Any, source: Source) -> None:
    """Raise if a cell is NaN or infinite."""
    _refuse_nonfinite(estimator, source, count_nonfinite(source))


def check_sample_weight(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """Return the weights as float64, None if there are none."""
    if sample_weight is None:
        return None
    if np.isscalar(sample_weight):
        sample_weight = np.full(n_rows, sample_weight)
    weights: FloatArray = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}: one weight per row."
        )
    if (weights < 0).any():
        raise ValueError(
            f"Negative values in sample_weight (the smallest is {weights.min():g}); weights are "
            ">= 0."
        )
    if not (weights > 0).any():
        raise ValueError("sample_weight is zero for every row; at least one must be positive.")
    return np.ascontiguousarray(weights)


def _is_large_map(X: Any) -> bool:
    return isinstance(X, np.memmap) and X.ndim == 2 and X.nbytes > BLOCK_BYTES


def _check_chunked(estimator: Any, source: ChunkedSource, *, reset: bool) -> None:
    if source.n_rows == 0 or source.n_features == 0:
        raise ValueError(
            f"Found array with shape {source.rows.shape}; at least one row and column is needed."
        )
    if reset:
        estimator.n_features_in_ = source.n_features
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    elif source.n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {source.n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )


def _refuse_sparse(estimator: Any, X: Any) -> None:
    if issparse(X):
        raise TypeError(
            f"X is sparse ({type(X).__name__}, shape {X.shape}); {type(estimator).__name__} needs "
            "dense rows. If they fit into memory use X.toarray(); otherwise reduce the columns "
            "first, for example with sklearn.decomposition.TruncatedSVD."
        )


def _refuse_others(X: Any) -> None:
    if isinstance(X, bytes):
        raise TypeError("X is bytes; give the path of a .npy file as str or pathlib.Path.")
    if hasattr(X, "collect") and not hasattr(X, "__array__"):
        raise TypeError(f"X is a lazy {type(X).__name__}; give X.collect().")


def _refuse_nonfinite(estimator: Any, source: Source, nonfinite: IntArray) -> None:
    if not nonfinite.any():
        return
    names: Sequence[str] | None = getattr(estimator, "feature_names_in_", None)
    raise ValueError(
        f"Input X contains NaN or infinity in {describe_columns(nonfinite > 0, names)} "
        f"({int(nonfinite.sum())} cell{'s' if nonfinite.sum() > 1 else ''}). "
        f"{type(estimator).__name__} needs finite numbers: fill or drop those rows, for example "
        "with sklearn.impute.SimpleImputer or fwkmeans.preprocessing.TableEncoder(impute='median')."
    )
