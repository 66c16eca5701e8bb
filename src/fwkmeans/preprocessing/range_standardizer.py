"""Standardization of numerical features by their mean and range."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_array, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from fwkmeans._support.checks import BOOLEAN
from fwkmeans._tabular.columns import float_types, refuse_text
from fwkmeans.exceptions import NoVaryingColumnError

FloatArray = NDArray[np.floating[Any]]

BLOCK_ROWS = 4096


class RangeStandardizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Subtract the mean of each feature and divide by its range.

    .. math:: z_{iv} = \frac{y_{iv} - \bar y_v}{\max_i y_{iv} - \min_i y_{iv}}

    Unlike the z-score, this does not shrink a feature because it has several modes, that is,
    because it separates clusters [1]_. Features of range zero carry no information and are
    removed.

    Parameters
    ----------
    drop_constant : bool, default=True
        Whether to remove the features whose range is zero, and those that are missing in every
        row. If False they are kept: a constant feature becomes 0, a missing one stays missing.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features_in_,), float64
        Mean of each feature, missing values ignored.
    range_ : ndarray of shape (n_features_in_,), float64
        Largest minus smallest value of each feature; NaN if every value is missing.
    support_ : ndarray of shape (n_features_in_,), bool
        Which features are kept.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen during `fit`, if they all have names that are strings.

    See Also
    --------
    TableEncoder : The same for tables that also have categorical columns.
    sklearn.preprocessing.StandardScaler : Divide by the standard deviation.

    Notes
    -----
    Missing values (NaN) are ignored in mean and range and are kept by `transform`; infinite
    values are refused. Means and ranges are float64 whatever the dtype of X, and every difference
    is taken in float64, so that float32 features far from zero keep their digits; the result has
    the dtype of X.

    References
    ----------
    .. [1] R. C. de Amorim, "A survey on feature weighting based K-Means algorithms", Journal of
       Classification 33 (2016), 210-242. :doi:`10.1007/s00357-016-9208-4`

    Examples
    --------
    >>> from fwkmeans.preprocessing import RangeStandardizer
    >>> X = [[1.0, 7.0, 10.0], [2.0, 7.0, 30.0], [3.0, 7.0, 50.0]]
    >>> RangeStandardizer().fit_transform(X)
    array([[-0.5, -0.5],
           [ 0. ,  0. ],
           [ 0.5,  0.5]])
    """

    def __init__(self, *, drop_constant: bool = True) -> None:
        self.drop_constant = drop_constant

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn the mean and the range of each feature.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data; NaN marks a missing value.
        y : None
            Ignored.

        Returns
        -------
        self : RangeStandardizer
            The fitted transformer.
        """
        BOOLEAN.check("drop_constant", self.drop_constant, type(self).__name__)
        X = self._validate(X, reset=True)
        self.mean_, self.range_ = find_mean_and_range(X)
        varies = self.range_ > 0
        self.support_ = varies if self.drop_constant else np.ones_like(varies)
        if not self.support_.any():
            raise NoVaryingColumnError(nothing_left(*X.shape))
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Standardize `X`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_features_out)
            The standardized features that are kept, in the dtype of `X` (float32 or float64).
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        kept = self.support_
        return standardize(X if kept.all() else X[:, kept], self.mean_[kept], self.range_[kept])

    def inverse_transform(self, X: ArrayLike) -> FloatArray:
        """Return to the original scale and put the constant features back.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_out)
            Standardized data, as `transform` returns it.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features_in_)
            The data on the original scale. A removed feature gets its constant value, NaN if it
            was missing in every row.
        """
        check_is_fitted(self)
        Z = check_array(X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
        kept = self.support_
        if Z.shape[1] != kept.sum():
            raise ValueError(
                f"X has {Z.shape[1]} features, but this {type(self).__name__} puts out "
                f"{kept.sum()} of its {self.n_features_in_} features. Pass what transform returned."
            )
        original = np.empty((Z.shape[0], kept.size), dtype=Z.dtype)
        original[:] = self.mean_
        # The sum is taken in float64 too: a float32 product would lose the digits of the mean.
        original[:, kept] = Z * _divisor(self.range_[kept]) + self.mean_[kept]
        return original

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the names of the features that are kept.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the input features; by default `feature_names_in_`, or x0, x1, ...

        Returns
        -------
        names : ndarray of str objects
            One name per column of the output.
        """
        check_is_fitted(self)
        names: NDArray[Any] = super().get_feature_names_out(input_features)
        return names[self.support_]

    def __sklearn_tags__(self) -> Any:
        """Return the tags: NaN is allowed, float32 stays float32."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validate(self, X: ArrayLike, *, reset: bool) -> FloatArray:
        refuse_text(X, "RangeStandardizer")
        checked: FloatArray = validate_data(
            self, X, reset=reset, dtype=float_types(X), ensure_all_finite="allow-nan"
        )
        return checked


def find_mean_and_range(X: FloatArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and range of each column in float64, ignoring NaN.

    The mean is ``low + range * mean((X - low) / range)``: the terms lie in [0, 1], so that neither
    an offset nor the size of the values costs digits.
    """
    low = np.fmin.reduce(X, axis=0).astype(np.float64)
    high = np.fmax.reduce(X, axis=0).astype(np.float64)
    with np.errstate(over="ignore"):
        span = high - low
    if np.isinf(span).any():
        raise ValueError(
            f"The range of column(s) {np.flatnonzero(np.isinf(span)).tolist()} of X exceeds the "
            "largest float64, expected finite ranges. Divide these columns by a constant."
        )
    total, count = np.zeros_like(low), np.zeros_like(low)
    for rows in gen_batches(X.shape[0], BLOCK_ROWS):
        unit = (X[rows] - low) / _divisor(span)
        total += np.nansum(unit, axis=0)
        count += np.count_nonzero(~np.isnan(unit), axis=0)
    mean = low + span * (total / np.maximum(count, 1))
    return mean, span


def standardize(X: FloatArray, mean: NDArray[np.float64], span: NDArray[np.float64]) -> FloatArray:
    """Return ``(X - mean) / span`` in the dtype of X; where the span is 0, divide by 1."""
    Z = np.empty_like(X)
    # The ufuncs compute in float64 and cast piece by piece: no float64 copy of a float32 X.
    np.subtract(X, mean, out=Z, dtype=np.float64, casting="same_kind")
    np.divide(Z, _divisor(span), out=Z, dtype=np.float64, casting="same_kind")
    return Z


def _divisor(span: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(span > 0, span, 1.0)


def nothing_left(n_samples: int, n_features: int) -> str:
    """Return the error message for a table without a single varying column."""
    return (
        f"All {n_features} columns of X are constant or wholly missing (n_samples={n_samples}), "
        "expected at least one column that varies. Pass data with more distinct rows."
    )
