"""The table as indices see it: standardized numbers and scaled binary columns."""

from __future__ import annotations

import os
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse

from fwkmeans._tabular.coding import Coding
from fwkmeans._tabular.columns import as_table, is_frame
from fwkmeans.preprocessing.range_standardizer import find_mean_and_range, standardize
from fwkmeans.sources import BlockSource
from fwkmeans.typing import FloatArray, IntArray


class StandardizedTable:
    """A table whose columns have the same influence on distances, whatever their units.

    A number becomes (y - mean) / range. A category becomes binary columns, scaled so that two
    different categories have the distance 1, as the two ends of a numeric column have. Columns that
    do not vary are left out. Missing cells have the median of their column, or its most frequent
    category, as with ``TableEncoder(impute="median")``.

    Parameters
    ----------
    X : array-like or frame
        The table; cells may be missing.
    categorical_features : "from_dtype", None, names, indices or mask
        The categorical columns.
    """

    def __init__(self, X: Any, categorical_features: Any) -> None:
        if issparse(X):
            raise TypeError(
                "X is sparse, and this scoring needs distances of dense rows. If they fit into "
                "memory, give X.toarray(), or set scoring='central', 'stability' or "
                "'known_labels', which only compare labels."
            )
        self.table = in_memory(X)
        self.coding = Coding.learn(self.table, categorical_features)
        numbers = self.coding.rows(self.table).astype(np.float64, copy=False)
        if np.isinf(numbers).any():
            raise ValueError(
                "X has infinite cells, and this scoring needs distances of rows. Replace the "
                "cells, or set scoring='central', 'stability' or 'known_labels', which only "
                "compare labels."
            )
        self.usual_numbers = _medians(numbers)
        self.usual_codes = _most_frequent(self.coding.codes(self.table).astype(np.int64))
        numbers, _ = self._read(self.table)
        self.mean, self.span = find_mean_and_range(numbers)
        self.low, self.high = numbers.min(axis=0), numbers.max(axis=0)

    def rows(self, p: float = 2.0, X: Any = None) -> FloatArray:
        """Return the standardized rows of the table, or of another one with the same columns.

        `p` is the exponent of the distances in which a category counts as one column.
        """
        numbers, codes = self._read(self.table if X is None else X)
        varies = self.span > 0
        parts = [standardize(numbers[:, varies], self.mean[varies], self.span[varies])]
        for column, categories in zip(codes.T, self.coding.categories, strict=True):
            if len(categories) > 1:
                scale = 0.5 ** (1.0 / p)  # two of the binary columns differ
                parts.append(scale * (column[:, None] == np.arange(len(categories))))
        return np.hstack(parts)

    def without_structure(self, rng: np.random.Generator) -> Any:
        """Return a table of the same kind whose columns are independent of each other.

        Numbers are uniform over the range of their column, and categories are in random order.
        """
        table, coding = self.table, self.coding
        n_rows = table.shape[0]
        numbers = rng.uniform(self.low, self.high, size=(n_rows, coding.numeric.size))
        orders = [rng.permutation(n_rows) for _ in coding.categorical]
        if not is_frame(table):
            X = table.astype(object if coding.categorical.size else np.float64)
            X[:, coding.numeric] = numbers
            for v, order in zip(coding.categorical, orders, strict=True):
                X[:, v] = table[order, v]
            return X
        frame = nw.from_native(table, eager_only=True)
        names = frame.columns
        replaced = [
            nw.new_series(names[v], np.ascontiguousarray(values), backend=frame.implementation)
            for v, values in zip(coding.numeric, numbers.T, strict=True)
        ]
        for v, order in zip(coding.categorical, orders, strict=True):
            replaced.append(frame.get_column(names[v])[order.tolist()])
        return frame.with_columns(*replaced).to_native()

    def _read(self, table: Any) -> tuple[FloatArray, IntArray]:
        """Return numbers and codes of categories, with missing cells filled."""
        numbers = self.coding.rows(table).astype(np.float64, copy=False)
        codes = self.coding.codes(table).astype(np.int64)
        return (
            np.where(np.isnan(numbers), self.usual_numbers, numbers),
            np.where(codes < 0, self.usual_codes, codes),
        )


def _medians(numbers: FloatArray) -> FloatArray:
    """Return the median of each column; zero if nothing is known, so that it does not vary."""
    columns = (column[~np.isnan(column)] for column in numbers.T)
    return np.array([np.median(known) if known.size else 0.0 for known in columns])


def _most_frequent(codes: IntArray) -> IntArray:
    """Return the most frequent code of each column, the first of several."""
    columns = (column[column >= 0] for column in codes.T)
    return np.array([np.bincount(known).argmax() if known.size else 0 for known in columns], int)


def in_memory(X: Any) -> Any:
    """Return X as a frame, array or CSR; raise if its rows are in a file or come in blocks."""
    if isinstance(X, str | os.PathLike | BlockSource):
        raise ValueError(
            f"This scoring needs all rows in memory, and X is a {type(X).__name__}. Give an array "
            "or a frame, or set scoring='central' or 'known_labels'."
        )
    return X.tocsr() if issparse(X) else as_table(X, input_name="X")


def take_rows(X: Any, rows: IntArray) -> Any:
    """Return some rows of a table, in a table of the same kind."""
    table = in_memory(X)
    if not is_frame(table):
        return table[rows]
    return nw.from_native(table, eager_only=True)[rows.tolist()].to_native()
