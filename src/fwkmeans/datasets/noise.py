"""Noise features: columns without cluster structure on the domains of the real ones."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state, check_scalar

from fwkmeans._support.text import distinct_names
from fwkmeans._tabular import columns as _columns


def add_noise_features(
    X: Any,
    *,
    n_noise: int | None = None,
    categorical_features: Any = "from_dtype",
    random_state: Any = None,
) -> Any:
    """Append uniform noise features that have the domains of the original features.

    The noise for a numerical feature is uniform between its smallest and largest value, that for
    a categorical feature uniform over the categories that occur, whatever their frequencies. One
    noise feature for each feature, the default, is the survey's setting [1]_.

    Parameters
    ----------
    X : dataframe or array-like of shape (n_samples, n_features)
        The table. It is not changed.
    n_noise : int, default=None
        Number of noise features; None means one per original feature. Noise feature j takes the
        domain of the feature j, starting again from the first when there are no more.
    categorical_features : "from_dtype", None, or array-like of str, int or bool, \
            default="from_dtype"
        The categorical columns: names, positions, or a boolean mask; None for no column.
        ``"from_dtype"`` takes the Categorical, Enum, String and Boolean columns of a dataframe,
        all columns of an array of text or booleans, and the columns of an object array that hold
        text or booleans.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers; an int makes the result reproducible.

    Returns
    -------
    X_noisy : dataframe or ndarray of shape (n_samples, n_features + n_noise)
        The original columns followed by the noise. A dataframe comes back as the same kind of
        dataframe, with columns ``noise_<name>`` of the same categorical dtype or float dtype
        (a number is put after names already taken; integer column names count on). A float32
        array stays float32.

    See Also
    --------
    make_survey_gaussians : The survey's synthetic data.

    Notes
    -----
    Numerical noise is real-valued even for a column of integers, as the survey's "uniform random
    values" are; an integer array therefore becomes float64. Missing values are ignored and do not
    occur in the noise. A constant column gives constant noise, a column that is missing in every
    row noise that is missing.

    References
    ----------
    .. [1] R. C. de Amorim, "A survey on feature weighting based K-Means algorithms", Journal of
       Classification 33 (2016), 210-242. :doi:`10.1007/s00357-016-9208-4`

    Examples
    --------
    >>> import numpy as np
    >>> from fwkmeans.datasets import add_noise_features
    >>> X = np.array([[0.0, 10.0], [1.0, 30.0], [0.5, 20.0]])
    >>> X_noisy = add_noise_features(X, random_state=0)
    >>> X_noisy.shape
    (3, 4)
    >>> bool((X_noisy[:, 3] >= 10).all() and (X_noisy[:, 3] <= 30).all())
    True
    """
    X = _columns.as_table(X, input_name="X")
    n_samples, n_features = X.shape
    if n_noise is not None:
        check_scalar(n_noise, "n_noise", Integral, min_val=0)
    if 0 in X.shape:
        raise ValueError(
            f"X has {n_samples} row(s) and {n_features} column(s), expected at least one of each."
        )
    rng = check_random_state(random_state)
    categorical = set(_columns.resolve_categorical(X, categorical_features).tolist())
    sources = [j % n_features for j in range(n_features if n_noise is None else n_noise)]
    noise = [
        _draw_rows(X, v, rng) if v in categorical else _draw_values(X, v, rng) for v in sources
    ]
    if _columns.is_frame(X):
        return _append_to_frame(X, sources, noise, categorical)
    return _append_to_array(X, sources, noise, categorical)


def _draw_values(X: Any, v: int, rng: np.random.RandomState) -> NDArray[Any]:
    """Draw uniform numbers between the smallest and the largest of column v."""
    values = _columns.read_numeric(X, np.array([v]))[:, 0]
    if np.isinf(values).any():
        name = _columns.name_columns(X)[v]
        raise ValueError(
            f"Input X contains infinity in column {name!r}, expected a finite domain. Remove or "
            "replace these values."
        )
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)
    share = rng.uniform(size=values.size)
    # No high - low, which may overflow; clipping undoes the rounding of the two products.
    draws = np.clip(low * (1.0 - share) + high * share, low, high)
    return np.asarray(draws, dtype=values.dtype)


def _draw_rows(X: Any, v: int, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Draw, for each row, a row of X to copy column v from, so that categories are uniform."""
    values = _columns.read_categorical(X, v)
    categories = _columns.ordered_categories(X, v, values)
    if not categories:
        return np.zeros(values.size, dtype=np.intp)
    first = dict(zip(reversed(values.tolist()), range(values.size - 1, -1, -1), strict=True))
    rows = np.array([first[category] for category in categories], dtype=np.intp)
    return np.asarray(rows[rng.randint(rows.size, size=values.size)], dtype=np.intp)


def _append_to_array(
    X: NDArray[Any], sources: Sequence[int], noise: Sequence[NDArray[Any]], categorical: set[int]
) -> NDArray[Any]:
    numeric = X.dtype.kind in "iu" and not categorical.issuperset(sources)
    dtype = np.float64 if numeric else X.dtype
    noisy = np.empty((X.shape[0], X.shape[1] + len(noise)), dtype=dtype)
    noisy[:, : X.shape[1]] = X
    for j, (v, drawn) in enumerate(zip(sources, noise, strict=True), start=X.shape[1]):
        noisy[:, j] = X[drawn, v] if v in categorical else drawn
    return noisy


def _append_to_frame(
    X: Any, sources: Sequence[int], noise: Sequence[NDArray[Any]], categorical: set[int]
) -> Any:
    frame = nw.from_native(X, eager_only=True)
    names = _noise_names(frame.columns, sources)
    columns = []
    for name, v, drawn in zip(names, sources, noise, strict=True):
        if v in categorical:
            column = frame.get_column(frame.columns[v])[drawn].alias(name)
        else:
            column = nw.new_series(name, drawn, backend=frame.implementation)
        columns.append(column)
    return frame.with_columns(*columns).to_native()


def _noise_names(columns: Sequence[Any], sources: Sequence[int]) -> list[Any]:
    """Return new names that differ from all the others; integer names count on."""
    if all(isinstance(name, Integral) for name in columns):
        return list(range(max(columns) + 1, max(columns) + 1 + len(sources)))
    return distinct_names((f"noise_{columns[v]}" for v in sources), "{}_{}", taken=columns)
