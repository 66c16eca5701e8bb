"""Encoding of a table with numerical and categorical columns for K-Means algorithms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from copy import copy
from functools import reduce
from typing import Any, ClassVar, Literal, NamedTuple, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fwkmeans._support.checks import BOOLEAN, CATEGORY_WEIGHT, NONE, check_parameters, one_of
from fwkmeans._support.text import distinct_names, quoted
from fwkmeans._tabular import columns as _columns
from fwkmeans._tabular.coding import Coding, Observed
from fwkmeans._tabular.distinct import DistinctValues, distinct_values, object_array
from fwkmeans.exceptions import NoVaryingColumnError
from fwkmeans.preprocessing.range_standardizer import (
    FloatArray,
    find_mean_and_range,
    nothing_left,
    standardize,
)


class Columns(NamedTuple):
    """A table read into arrays."""

    numeric: FloatArray  # (n, numerical columns)
    codes: NDArray[np.int32]  # (n, categorical columns); -1 is missing, one too many is unknown


class TableEncoder(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Turn a table of numerical and categorical columns into standardized numbers.

    A numerical column becomes :math:`(y_{iv} - \bar y_v) / range(y_v)`. A categorical column with q
    categories becomes q binary columns, each minus its mean, which is the frequency of the
    category: rare categories then count for more than frequent ones. The binary columns of a
    categorical column are scaled so that together they have the influence of one column. Columns
    that do not vary are removed. With ``category_weight=1`` this is the preparation of the survey
    [1]_.

    Parameters
    ----------
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        The categorical columns: names, positions, or a boolean mask; None for no column.
        ``"from_dtype"`` takes the Categorical, Enum, String and Boolean columns of a pandas or
        polars dataframe, all columns of an array of text or booleans, and the columns of an
        object array that hold text or booleans.
    categorical : {"onehot", "keep"}, default="onehot"
        How a categorical column is encoded: one binary column per category minus its mean, or not
        at all, for algorithms that compare categories themselves. The result then is a table of
        the kind of `X`: a frame, or an array of objects.
    impute : {None, "median", "keep"}, default=None
        What to put in place of missing values: None raises an error that names the columns,
        ``"median"`` takes the median of a numerical column and the most frequent category of a
        categorical one (of several, the first). Means, ranges and frequencies are those of the
        imputed table. ``"keep"`` leaves them missing, for estimators that can ignore them; means,
        ranges and frequencies are those of the cells present, and all binary columns of a missing
        category are missing. A column that is missing in every row is removed.
    handle_unknown : {"ignore", "error"}, default="ignore"
        What `transform` does with a category that `fit` has not seen: ``"ignore"`` sets all its
        binary columns to 0 (before the mean is subtracted), ``"error"`` raises.
    standardize : bool, default=True
        Whether numerical columns are standardized. If False they keep their values, for columns
        whose units can be compared.
    category_weight : "balanced" or float, default="balanced"
        The factor of squared differences in binary columns; the columns are multiplied by its root.
        ``"balanced"`` chooses a factor for every categorical column, such that the total variance
        of its binary columns is the mean variance of the numerical columns of the output (or of the
        categorical ones, if no numerical column varies). Without it two rows of different
        categories are as far apart as rows at opposite ends of two numerical columns, and
        categories decide the clusters. 1 is what the survey did.

    Attributes
    ----------
    categorical_features_ : ndarray of int
        Positions of the categorical columns.
    numerical_features_ : ndarray of int
        Positions of the numerical columns.
    categories_ : list of ndarray
        The categories of each categorical column; those of ordered dtypes in their declared
        order, all others ascending. Only categories that occur are listed.
    frequencies_ : list of ndarray
        The mean of each binary column, in the order of `categories_`.
    category_scale_ : ndarray of float64
        What the binary columns of each categorical column are multiplied by.
    mean_, range_ : ndarray of float64
        Mean and range of each numerical column.
    fill_values_ : list or None
        What replaces a missing value in each column; None unless ``impute="median"``.
    origins_ : ndarray of int
        Position of the input column that each output column comes from.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns seen during `fit`, if they all have names that are strings.

    See Also
    --------
    RangeStandardizer : The numerical part alone.
    sklearn.preprocessing.OneHotEncoder : Binary columns without the subtraction.

    Notes
    -----
    The columns keep their order; the binary columns of a category column take its place. The
    output is float32 if there are numerical columns and all of them are float32, else float64.
    The survey's own AWK and IK-P compared raw categories (``categorical="keep"``); all other
    algorithms got binary columns.

    References
    ----------
    .. [1] R. C. de Amorim, "A survey on feature weighting based K-Means algorithms", Journal of
       Classification 33 (2016), 210-242. :doi:`10.1007/s00357-016-9208-4`

    Examples
    --------
    >>> import numpy as np
    >>> from fwkmeans.preprocessing import TableEncoder
    >>> X = np.array([[1.0, "red"], [2.0, "red"], [3.0, "blue"], [5.0, "red"]], dtype=object)
    >>> encoder = TableEncoder().fit(X)
    >>> encoder.transform(X).round(2)
    array([[-0.44, -0.15,  0.15],
           [-0.19, -0.15,  0.15],
           [ 0.06,  0.45, -0.45],
           [ 0.56, -0.15,  0.15]])
    >>> encoder.get_feature_names_out(["size", "color"])
    array(['size', 'color=blue', 'color=red'], dtype=object)
    """

    _constraints: ClassVar = {
        "categorical": one_of("onehot", "keep"),
        "impute": NONE | one_of("median", "keep"),
        "handle_unknown": one_of("ignore", "error"),
        "standardize": BOOLEAN,
        "category_weight": CATEGORY_WEIGHT,
    }

    def __init__(
        self,
        *,
        categorical_features: Any = "from_dtype",
        categorical: Literal["onehot", "keep"] = "onehot",
        impute: Literal["median", "keep"] | None = None,
        handle_unknown: Literal["ignore", "error"] = "ignore",
        standardize: bool = True,
        category_weight: Any = "balanced",
    ) -> None:
        self.categorical_features = categorical_features
        self.categorical = categorical
        self.impute = impute
        self.handle_unknown = handle_unknown
        self.standardize = standardize
        self.category_weight = category_weight

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn means, ranges, categories and their frequencies.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_features)
            The table.
        y : None
            Ignored.

        Returns
        -------
        self : TableEncoder
            The fitted encoder.
        """
        check_parameters(self, self._constraints)
        X = self._validate(X, reset=True)
        coding = Coding.learn(X, self.categorical_features)
        self.categorical_features_, self.numerical_features_ = coding.categorical, coding.numeric
        self.categories_ = [object_array(categories) for categories in coding.categories]
        columns = self._read(X)
        self.fill_values_ = self._find_fill_values(columns) if self.impute == "median" else None
        columns = self._fill(columns)
        self.mean_, self.range_ = find_mean_and_range(columns.numeric)
        self.frequencies_ = [
            _counts(codes, categories.size) / max(1, (codes >= 0).sum())
            for codes, categories in zip(columns.codes.T, self.categories_, strict=True)
        ]
        usual = np.empty(0)
        if self.frequencies_:  # else nobody asks
            usual = np.nanvar(self._scaled(columns.numeric), axis=0, dtype=np.float64)
        self.category_scale_ = self._find_category_scale(usual)
        return self._found_origins(X.shape[0])

    def fit_blocks(self, sample: Any, blocks: Iterable[Any] | Callable[..., Any]) -> Self:
        """Learn from a table outside of memory.

        Medians are those of the sample, everything else is that of all rows.

        Parameters
        ----------
        sample : dataframe or array-like of shape (n_samples, n_features)
            Some rows of the table.
        blocks : iterable of dataframes or arrays, or callable
            All rows, in blocks that are read once. If these are elsewhere, a function that calls
            its first argument with every block and joins the results by its second.

        Returns
        -------
        self : TableEncoder
            The fitted encoder.
        """
        self.fit(sample)
        if callable(blocks):
            whole: Sums = blocks(self._sums_of, Sums.join)
        else:
            whole = reduce(Sums.join, map(self._sums_of, blocks))
        n_rows, found, columns = whole
        self.categories_ = [
            object_array(one.observed.in_order(one.order, own_missing=False)) for one in columns
        ]
        times = [
            np.array([one.times[str(category)] for category in categories], dtype=np.int64)
            for one, categories in zip(columns, self.categories_, strict=True)
        ]
        lacking = np.array([one.missing for one in columns], dtype=np.int64)
        if self.impute is None:
            self._refuse_missing(found.missing > 0, lacking > 0)
        if self.fill_values_ is not None:
            medians = [self.fill_values_[v] for v in self.numerical_features_]
            found.fill(np.array(medians, dtype=np.float64))
            for v, categories, own, n in zip(
                self.categorical_features_, self.categories_, times, lacking, strict=True
            ):
                if categories.size:
                    self.fill_values_[v] = categories[own.argmax()]
                    own[own.argmax()] += n
        self.mean_, self.range_ = found.mean, found.high - found.low
        self.frequencies_ = [own / max(1, own.sum()) for own in times]
        varies = self.range_ > 0
        usual = found.variance[varies]
        if self.standardize:
            usual = usual / self.range_[varies] ** 2
        self.category_scale_ = self._find_category_scale(usual)
        return self._found_origins(n_rows)

    def _sums_of(self, block: Any) -> Sums:
        """Return what is learned from some rows."""
        moments = Moments(self.numerical_features_.size)
        moments.add(self._read_numeric(block))
        columns = []
        for name, cells in _columns.each_column(block, self.categorical_features_):
            values, codes = distinct_values(cells, name)
            observed = Observed()
            observed.add(DistinctValues(values, codes))
            times = np.bincount(codes[codes >= 0], minlength=len(values)).tolist()
            counter = Counter(dict(zip(map(str, values), times, strict=True)))
            columns.append(CategorySums(observed, counter, int((codes < 0).sum()), cells[:0]))
        return Sums(int(block.shape[0]), moments, columns)

    def _found_origins(self, n_rows: int) -> Self:
        self.origins_ = np.repeat(np.arange(self.n_features_in_), self._widths())
        if not self.origins_.size:
            raise NoVaryingColumnError(nothing_left(n_rows, self.n_features_in_))
        return self

    def transform(self, X: Any) -> Any:
        """Encode the table `X`.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_features)
            A table with the columns seen during `fit`.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_features_out)
            The encoded table; a frame if `X` is one and categories are kept.
        """
        check_is_fitted(self)
        check_parameters(self, self._constraints)
        X = self._validate(X, reset=False)
        columns = self._fill(self._read(X))
        if self.categorical == "keep" and self.categorical_features_.size:
            return self._keep(X, columns)
        return self._indicate(columns)

    def _indicate(self, columns: Columns) -> FloatArray:
        """Return numbers only: standardized columns, and binary ones for the categories."""
        stops = np.cumsum([0, *self._widths()])
        Z = np.empty((columns.numeric.shape[0], stops[-1]), dtype=columns.numeric.dtype)
        varies = self.range_ > 0
        Z[:, stops[self.numerical_features_[varies]]] = self._scaled(columns.numeric)
        for v, codes, means, scale in zip(
            self.categorical_features_,
            columns.codes.T,
            self.frequencies_,
            self.category_scale_,
            strict=True,
        ):
            own = Z[:, stops[v] : stops[v + 1]]
            if own.size:
                np.subtract(codes[:, None] == np.arange(means.size), means, out=own)
                own *= scale
                own[codes < 0] = np.nan
        return Z

    def _find_category_scale(self, usual: FloatArray) -> FloatArray:
        """Return what to multiply the binary columns of each categorical column by.

        `usual` are the variances of the numerical columns of the output.
        """
        if not isinstance(self.category_weight, str):
            return np.full(len(self.frequencies_), np.sqrt(float(self.category_weight)))
        own = np.array([1.0 - (f * f).sum() for f in self.frequencies_])
        own[[f.size < 2 for f in self.frequencies_]] = 0.0  # such columns are removed
        if not usual.size:
            usual = own[own > 0]
        weight = np.ones_like(own)
        if usual.size:
            np.divide(usual.mean(), own, out=weight, where=own > 0)
        return np.asarray(np.sqrt(weight), dtype=np.float64)

    def _keep(self, X: Any, columns: Columns) -> Any:
        """Return a table of the same kind: standardized columns, and categories as they are."""
        varies = self.range_ > 0
        numbers = self._scaled(columns.numeric)
        standardized = dict(zip(self.numerical_features_[varies], numbers.T, strict=True))
        if not _columns.is_frame(X):
            Z = np.empty((len(numbers), self.origins_.size), dtype=object)
            for at, v in enumerate(self.origins_):
                if v in standardized:
                    Z[:, at] = standardized[v]
                    continue
                Z[:, at] = cells = _columns.read_categorical(X, int(v))
                if self.fill_values_ is not None:
                    Z[_columns.is_missing(cells), at] = self.fill_values_[v]
            return Z
        frame = nw.from_native(X, eager_only=True)
        kept: list[Any] = []
        for v, (name, cells) in zip(
            self.origins_,
            _columns.each_column(X, self.origins_, as_series=True),
            strict=True,
        ):
            if v in standardized:
                values = np.ascontiguousarray(standardized[v])
                kept.append(nw.new_series(name, values, backend=frame.implementation))
            elif self.fill_values_ is not None:
                kept.append(cells.fill_null(self.fill_values_[v]))
            else:
                kept.append(cells)
        result: Any = frame.select(*kept).to_native()
        if frame.implementation.is_pandas_like():
            result.index = X.index
        return result

    def _scaled(self, numeric: FloatArray) -> FloatArray:
        """Return the numerical columns that vary, standardized if they are to be."""
        varies = self.range_ > 0
        if not self.standardize:
            return numeric[:, varies]
        return standardize(numeric[:, varies], self.mean_[varies], self.range_[varies])

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the names of the output columns, such as ``size`` and ``color=red``.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the input columns; by default `feature_names_in_`, or x0, x1, ...

        Returns
        -------
        names : ndarray of str objects
            One name per column of the output.
        """
        check_is_fitted(self)
        inputs = super().get_feature_names_out(input_features)
        categories = dict(zip(self.categorical_features_, self.categories_, strict=True))
        names: list[str] = []
        for v, width in enumerate(self._widths()):
            if width and v in categories and self.categorical == "onehot":
                names += [f"{inputs[v]}={category}" for category in categories[v]]
            elif width:
                names.append(inputs[v])
        return np.asarray(distinct_names(names, "{}_{}"), dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Return the tags, which depend on the parameters."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = self.categorical_features is not None
        tags.input_tags.allow_nan = self.impute is not None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validate(self, X: Any, *, reset: bool) -> Any:
        table = _columns.as_table(X, estimator=self, input_name="X")
        if _columns.is_frame(X) and 0 in X.shape:
            raise ValueError(
                f"Found a table with {X.shape[0]} row(s) and {X.shape[1]} column(s) "
                f"(shape={X.shape}) while a minimum of 1 is required by {type(self).__name__}."
            )
        validate_data(self, table, reset=reset, skip_check_array=True)
        return table

    def _names(self) -> NDArray[Any]:
        names: NDArray[Any] = super().get_feature_names_out()
        return names

    def _read(self, X: Any) -> Columns:
        """Read the table into arrays and refuse infinite values."""
        numeric = self._read_numeric(X)
        unknown: Any = "error" if self.handle_unknown == "error" else "ignore"
        names = list(self._names())
        codes = self._coding().codes(X, unknown=unknown, names=names, otherwise="ignore")
        return Columns(numeric, codes)

    def _read_numeric(self, X: Any) -> FloatArray:
        numeric: FloatArray = _columns.read_numeric(X, self.numerical_features_)
        infinite = np.isinf(numeric).any(axis=0)
        if infinite.any():
            names = self._names()[self.numerical_features_[infinite]]
            raise ValueError(
                f"Input X contains infinity in column(s) {quoted(names)}, expected finite numbers. "
                "Remove or replace these values."
            )
        return numeric

    def _coding(self) -> Coding:
        categories = tuple(tuple(one.tolist()) for one in self.categories_)
        return Coding(
            self.n_features_in_, self.numerical_features_, self.categorical_features_, categories
        )

    def _find_fill_values(self, columns: Columns) -> list[Any]:
        """Return the median or most frequent category of each column, NaN or None if all miss."""
        fill: list[Any] = [None] * self.n_features_in_
        for v, column in zip(self.numerical_features_, columns.numeric.T, strict=True):
            present = column[~np.isnan(column)]
            fill[v] = np.median(present) if present.size else np.nan
        for v, codes, categories in zip(
            self.categorical_features_, columns.codes.T, self.categories_, strict=True
        ):
            if categories.size:
                fill[v] = categories[_counts(codes, categories.size).argmax()]
        return fill

    def _fill(self, columns: Columns) -> Columns:
        """Replace the missing values, or raise an error that names their columns."""
        if self.impute == "keep":
            return columns
        numeric, codes = columns
        no_number, no_category = np.isnan(numeric), codes < 0
        if self.fill_values_ is not None:
            if no_number.any():
                medians = np.array([self.fill_values_[v] for v in self.numerical_features_], float)
                numeric = np.where(no_number, medians, numeric).astype(numeric.dtype, copy=False)
            most_frequent = object_array(self.fill_values_[v] for v in self.categorical_features_)
            fill = self._coding().codes_of(most_frequent)
            return Columns(numeric, np.where(no_category, fill, codes))
        self._refuse_missing(*(np.asarray(one.any(axis=0)) for one in (no_number, no_category)))
        return columns

    def _refuse_missing(self, no_number: NDArray[np.bool_], no_category: NDArray[np.bool_]) -> None:
        missing = [
            *self.numerical_features_[no_number],
            *self.categorical_features_[no_category],
        ]
        if missing:
            raise ValueError(
                f"Input X contains NaN or other missing values in column(s) "
                f"{quoted(self._names()[sorted(missing)])}, expected none. Set impute='median' or "
                "'keep', or remove or replace them."
            )

    def _widths(self) -> list[int]:
        """Return the number of output columns of each input column, 0 if it does not vary."""
        widths = np.zeros(self.n_features_in_, dtype=np.intp)
        widths[self.numerical_features_] = self.range_ > 0
        for v, categories in zip(self.categorical_features_, self.categories_, strict=True):
            wide = 1 if self.categorical == "keep" else categories.size
            widths[v] = wide if categories.size > 1 else 0
        return [int(width) for width in widths]


class CategorySums(NamedTuple):
    """What some rows have in a categorical column."""

    observed: Observed
    times: Counter[str]  # of each category
    missing: int
    order: Any  # a column of its type, without cells

    def join(self, other: CategorySums) -> CategorySums:
        """Return that of the rows of both."""
        both = self.observed.join(other.observed)
        return CategorySums(
            both, self.times + other.times, self.missing + other.missing, other.order
        )


class Sums(NamedTuple):
    """What the encoder learns of some rows, besides medians."""

    n_rows: int
    moments: Moments
    columns: list[CategorySums]

    def join(self, other: Sums) -> Sums:
        """Return that of the rows of both."""
        pairs = zip(self.columns, other.columns, strict=True)
        columns = [here.join(there) for here, there in pairs]
        return Sums(self.n_rows + other.n_rows, self.moments.join(other.moments), columns)


class Moments:
    """Mean, variance and range of columns, gathered block by block; missing cells are left out."""

    def __init__(self, n_columns: int) -> None:
        self.n: NDArray[np.float64] = np.zeros(n_columns)
        self.missing: NDArray[np.float64] = np.zeros(n_columns)
        self.mean: NDArray[np.float64] = np.zeros(n_columns)
        self.squares: NDArray[np.float64] = np.zeros(n_columns)  # about the mean
        self.low: NDArray[np.float64] = np.full(n_columns, np.nan)
        self.high: NDArray[np.float64] = np.full(n_columns, np.nan)

    @property
    def variance(self) -> NDArray[np.float64]:
        """Mean squared distance from the mean."""
        return self.squares / np.maximum(self.n, 1)

    def add(self, rows: FloatArray) -> None:
        """Add rows."""
        there = ~np.isnan(rows)
        n = there.sum(axis=0).astype(np.float64)
        self.missing += len(rows) - n
        mean = np.where(there, rows, 0.0).sum(axis=0, dtype=np.float64) / np.maximum(n, 1)
        squares = (np.where(there, rows - mean, 0.0) ** 2).sum(axis=0, dtype=np.float64)
        self._join(n, mean, squares)
        if len(rows):
            self.low = np.fmin(self.low, np.fmin.reduce(rows, axis=0))
            self.high = np.fmax(self.high, np.fmax.reduce(rows, axis=0))

    def join(self, other: Moments) -> Moments:
        """Return those of the rows of both."""
        both = copy(self)
        both._join(other.n, other.mean, other.squares)
        both.missing = self.missing + other.missing
        both.low, both.high = np.fmin(self.low, other.low), np.fmax(self.high, other.high)
        return both

    def fill(self, values: NDArray[np.float64]) -> None:
        """Put a value in place of the missing cells of each column."""
        values = np.where(self.missing > 0, values, 0.0)
        self._join(self.missing, values, np.zeros_like(values))
        self.low = np.where(self.missing > 0, np.fmin(self.low, values), self.low)
        self.high = np.where(self.missing > 0, np.fmax(self.high, values), self.high)

    def _join(self, n: FloatArray, mean: FloatArray, squares: FloatArray) -> None:
        total = np.maximum(self.n + n, 1)
        apart = mean - self.mean
        self.squares = self.squares + squares + apart**2 * (self.n * n / total)
        self.mean = self.mean + apart * (n / total)
        self.n = self.n + n


def _counts(codes: NDArray[Any], n_categories: int) -> NDArray[np.intp]:
    """Return how often each category occurs; unknown and missing ones do not count."""
    return np.bincount(codes[codes >= 0], minlength=n_categories)[:n_categories]
