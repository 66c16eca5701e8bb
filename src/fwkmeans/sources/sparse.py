"""Sparse rows in memory: the whole table is one block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse

from fwkmeans._core.sparse import OPERATIONS, SparseRows
from fwkmeans._tabular.layout import numeric_layout
from fwkmeans.sources.base import BlockSource
from fwkmeans.typing import Block, FloatArray


def sparse_rows(X: Any) -> SparseRows:
    """Return the rows of a SciPy sparse matrix or array.

    Matrices in CSR form with sorted indices are not copied. Duplicate entries are added, as SciPy
    does. Numbers that are neither float32 nor float64 are converted to float64.
    """
    _refuse_damaged(X)
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()  # the user's matrix stays as it is
        X.sum_duplicates()
    n_features = X.shape[1]
    values = X.data if X.data.dtype == np.float32 else X.data.astype(np.float64, copy=False)
    if n_features > np.iinfo(np.int32).max:
        raise ValueError(
            f"X has {n_features} columns, too many for centers in memory. Hash them to fewer, for "
            "example with sklearn.feature_extraction.FeatureHasher."
        )
    begins = np.asarray(X.indptr, dtype=np.int64)
    values, columns = values[: begins[-1]], X.indices[: begins[-1]]
    return SparseRows(values, columns, begins, n_features)


def _refuse_damaged(X: Any) -> None:
    """Raise if indices point outside of a matrix: SciPy would follow them out of its memory."""
    if X.format not in ("csr", "csc", "bsr"):
        return
    height, width = getattr(X, "blocksize", (1, 1))
    n_rows, n_columns = X.shape[0] // height, X.shape[1] // width
    n_lines, n_places = (n_columns, n_rows) if X.format == "csc" else (n_rows, n_columns)
    begins = np.asarray(X.indptr)
    n_stored = int(begins[-1])
    places = X.indices[: max(0, n_stored)]
    if (
        begins[0] != 0
        or begins.size != n_lines + 1
        or (np.diff(begins) < 0).any()
        or places.size != n_stored
        or len(X.data) < n_stored
        or (places.size and (places.min() < 0 or places.max() >= n_places))
    ):
        raise ValueError(
            f"X is a damaged {type(X).__name__} of shape {X.shape}: its indices lie outside of the "
            "matrix. X.check_format(full_check=True) says more."
        )


def to_scipy(rows: SparseRows) -> Any:
    """Return sparse rows as a SciPy array; the memory of the cells is shared."""
    begins = rows.begins
    if rows.n_stored <= np.iinfo(np.int32).max:  # scikit-learn takes no others
        begins = begins.astype(np.int32)
    return csr_array((rows.values, rows.columns, begins), shape=rows.shape)


class SparseSource(BlockSource):
    """A table most of whose cells are zero, and not stored.

    Estimators make one of any SciPy sparse matrix or array. They never make the rows dense; centers
    and weights are dense arrays of clusters x features.

    Parameters
    ----------
    rows : sparse matrix or array of shape (n_rows, n_features), or SparseRows
        The numbers; CSR is used in place, other forms are converted.
    sample_weight : ndarray of shape (n_rows,), default=None
        Non-negative weights; a row with weight zero counts as absent.
    n_threads : int, default=1
        Number of threads of the compiled core. The result does not depend on it.
    gaps, stretch : bool, default=False
        See `BlockSource`. Estimators set them.

    Examples
    --------
    >>> from scipy import sparse
    >>> from fwkmeans import EWKMeans
    >>> from fwkmeans.sources import SparseSource
    >>> X = sparse.random(100, 50, density=0.05, random_state=0)
    >>> EWKMeans(2, random_state=0).fit(SparseSource(X)).cluster_centers_.shape
    (2, 50)
    """

    resident = True
    n_blocks = 1
    operations = OPERATIONS
    sparse = True

    def __init__(
        self,
        rows: Any,
        sample_weight: FloatArray | None = None,
        n_threads: int = 1,
        *,
        gaps: bool = False,
        stretch: bool = False,
    ) -> None:
        if not (issparse(rows) or isinstance(rows, SparseRows)):
            raise TypeError(
                f"rows is {type(rows).__name__}; expected a sparse matrix. Give dense rows to "
                "MemorySource."
            )
        self.rows: SparseRows = rows if isinstance(rows, SparseRows) else sparse_rows(rows)
        self.sample_weight: FloatArray | None = sample_weight
        self.n_threads = n_threads
        self.layout = numeric_layout(self.rows.shape[1])
        self.gaps, self.stretch = gaps, stretch

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating-point type of the rows."""
        return self.rows.dtype

    def blocks(self) -> list[Block]:
        """Return the rows as one block."""
        rows: Any = self.rows
        weight, threads = self.sample_weight, self.n_threads
        return [Block(rows, weight, 0, threads, None, self.gaps, self.stretch)]

    def mapped(self, transform: Callable[[Any], Any]) -> Self:
        """Return the source with a function applied to the rows, which are copied."""
        return self._with(rows=transform(self.rows))
