"""From a frame as people have it to columns of numbers and categories, as the command does it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fwkmeans._support.errors import InputError
from fwkmeans._support.optional import require
from fwkmeans._support.text import quoted
from fwkmeans._tabular.columns import is_frame
from fwkmeans._tabular.delimited import inferred, with_missing
from fwkmeans._tabular.format import MISSING, Format, Remarks
from fwkmeans._tabular.reading import column_of_cells, in_common_types
from fwkmeans._tabular.roles import Chosen, Roles, choose_columns, coerced, match_columns
from fwkmeans._tabular.wording import in_python


class PreparedTable(NamedTuple):
    """A table that is ready for clustering, and what was done to it.

    Parameters
    ----------
    table : dataframe
        The columns to cluster by: numbers, text and booleans, in a frame of the library of the one
        that was given.
    remarks : list of str
        Sentences about what was left out, guessed or looks odd, each with the parameter to set.
    columns : list of dict
        For each column of the frame: its name (column), what it is used as ("number",
        "categories", "dates", "key", "classes" or "left out"), why, the number of different values
        (n_values) and of missing cells (n_missing).
    keys : dict
        The cells of the columns `keys`.
    classes : ndarray or None
        The known classes (`labels`), as text.
    """

    table: Any
    remarks: list[str]
    columns: list[dict[str, Any]]
    keys: dict[str, list[Any]]
    classes: NDArray[Any] | None


def prepare_table(
    X: Any,
    *,
    use: Sequence[str] = (),
    drop: Sequence[str] = (),
    keys: Sequence[str] = (),
    labels: str | None = None,
    numeric: Sequence[str] = (),
    categorical: Sequence[str] = (),
    dates: str = "drop",
    missing: Sequence[str] = (),
    coerce: bool = False,
) -> PreparedTable:
    """Choose the columns of a frame to cluster by, as ``fwkmeans fit`` does, and say what was done.

    Keys, dates, codes with many values and texts that name the rows are left out; text that holds
    numbers as people write them, dates or marks of missing cells is read; what is not certain is
    asked about in a remark. Parameters overrule that.

    Parameters
    ----------
    X : dataframe
        A frame of pandas, polars or pyarrow.
    use : sequence of str, default=()
        The columns to use, by name or patterns such as ``"temp_*"``; none given means all that are
        not left out.
    drop : sequence of str, default=()
        Columns to leave out, by name or pattern.
    keys : sequence of str, default=()
        Columns that name the rows; they are returned beside the table.
    labels : str, default=None
        Column of known classes, returned beside the table.
    numeric, categorical : sequence of str, default=()
        Columns that hold numbers, and columns that hold categories.
    dates : {"drop", "age", "parts"}, default="drop"
        Leave dates out, make them years before the latest one, or year, month, weekday and hour.
    missing : sequence of str, default=()
        Texts or numbers that mean a missing cell, beside the usual ones.
    coerce : bool, default=False
        Take cells of `numeric` columns that are no numbers as missing, and count them.

    Returns
    -------
    prepared : PreparedTable
        The table, and the remarks.

    See Also
    --------
    TablePreparer : The same as the first step of a pipeline.

    Examples
    --------
    >>> import pandas as pd
    >>> from fwkmeans.preprocessing import prepare_table
    >>> frame = pd.DataFrame({
    ...     "customer_id": [17, 23, 42, 57, 80, 91],
    ...     "spent": ["1,234.50", "80.00", "-", "1,900.00", "75.20", "1,500.00"],
    ...     "city": ["Bonn", "Ulm", "Ulm", "Bonn", "Ulm", "Bonn"],
    ... })
    >>> prepared = prepare_table(frame)
    >>> prepared.table
        spent  city
    0  1234.5  Bonn
    1    80.0   Ulm
    2     NaN   Ulm
    3  1900.0  Bonn
    4    75.2   Ulm
    5  1500.0  Bonn
    >>> print(prepared.remarks[-1])  # doctest: +ELLIPSIS
    Left out: 'customer_id' (every row has a number of its own, ...). Use it all the same with ...
    """
    roles = Roles(categorical, numeric, drop, keys, labels, dates, use, coerce)
    frame = _Frame(X, roles, missing)
    chosen = frame.chosen(roles)
    return PreparedTable(
        frame.native(chosen.features),
        _remarks(frame, chosen),
        [one._asdict() for one in chosen.uses],
        chosen.ids,
        chosen.classes,
    )


class TablePreparer(TransformerMixin, BaseEstimator):
    """Choose the columns of a frame to cluster by, as the first step of a pipeline.

    `fit` decides what `prepare_table` decides, and `transform` does the same to any frame with
    these columns.

    Parameters
    ----------
    use : sequence of str, default=()
        The columns to use, by name or patterns such as ``"temp_*"``; none given means all that are
        not left out.
    drop : sequence of str, default=()
        Columns to leave out, by name or pattern.
    keys : sequence of str, default=()
        Columns that name the rows.
    labels : str, default=None
        Column of known classes.
    numeric, categorical : sequence of str, default=()
        Columns that hold numbers, and columns that hold categories.
    dates : {"drop", "age", "parts"}, default="drop"
        Leave dates out, make them years before the latest one, or year, month, weekday and hour.
    missing : sequence of str, default=()
        Texts or numbers that mean a missing cell, beside the usual ones.
    coerce : bool, default=False
        Take cells of `numeric` columns that are no numbers as missing, and count them.

    Attributes
    ----------
    columns_ : list of dict
        What each column of the frame is used as, and why; see `PreparedTable`.
    remarks_ : list of str
        Sentences about what was left out, guessed or looks odd.
    n_features_in_ : int
        Number of columns of the frame.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names.

    See Also
    --------
    prepare_table : The same as a function.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from fwkmeans import AutoKMeans
    >>> from fwkmeans.preprocessing import TablePreparer
    >>> frame = pd.DataFrame({
    ...     "id": range(40),
    ...     "day": pd.date_range("2024-01-01", periods=40),
    ...     "size": [1.0, 1.1, 5.0, 5.2] * 10,
    ...     "price": [10.0, 11.0, 52.0, 55.0] * 10,
    ... })
    >>> model = make_pipeline(TablePreparer(), AutoKMeans(2)).fit(frame)
    >>> model[0].get_feature_names_out().tolist()
    ['size', 'price']
    """

    def __init__(
        self,
        *,
        use: Sequence[str] = (),
        drop: Sequence[str] = (),
        keys: Sequence[str] = (),
        labels: str | None = None,
        numeric: Sequence[str] = (),
        categorical: Sequence[str] = (),
        dates: str = "drop",
        missing: Sequence[str] = (),
        coerce: bool = False,
    ) -> None:
        self.use = use
        self.drop = drop
        self.keys = keys
        self.labels = labels
        self.numeric = numeric
        self.categorical = categorical
        self.dates = dates
        self.missing = missing
        self.coerce = coerce

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decide what each column is.

        Parameters
        ----------
        X : dataframe
            The frame.
        y : None
            Ignored.

        Returns
        -------
        self : TablePreparer
            The fitted preparer.
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Decide what each column is, and return those to cluster by.

        Parameters
        ----------
        X : dataframe
            The frame.
        y : None
            Ignored.
        **fit_params : dict
            Nothing.

        Returns
        -------
        table : dataframe
            A frame of the same library.
        """
        frame, chosen = self._fit(X)
        return frame.native(chosen.features)

    def _fit(self, X: Any) -> tuple[_Frame, Chosen]:
        roles = Roles(
            self.categorical,
            self.numeric,
            self.drop,
            self.keys,
            self.labels,
            self.dates,
            self.use,
            self.coerce,
        )
        frame = _Frame(X, roles, self.missing)
        chosen = frame.chosen(roles)
        kinds = {field.name: str(field.type) for field in chosen.features.schema}
        self.feature_names_in_ = np.array(frame.table.column_names, dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        self.columns_ = [one._asdict() for one in chosen.uses]
        self.remarks_ = _remarks(frame, chosen)
        self._kinds = kinds
        return frame, chosen

    def transform(self, X: Any) -> Any:
        """Return the columns to cluster by, as `fit` decided.

        Parameters
        ----------
        X : dataframe
            A frame with these columns, in any order.

        Returns
        -------
        table : dataframe
            A frame of the same library.
        """
        check_is_fitted(self)
        text = [name for name, kind in self._kinds.items() if kind == "string"]
        truths = [name for name, kind in self._kinds.items() if kind == "bool"]
        numbers = [name for name in self._kinds if name not in {*text, *truths}]
        frame = _Frame(X, Roles(categorical=text), self.missing)
        if self.coerce:
            frame.coerce([name for name in self.numeric if name in self._kinds])
        return frame.native(
            match_columns(frame.table, list(self._kinds), text, numbers, truths, "X")
        )

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns to cluster by.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : ndarray of str
            The names.
        """
        check_is_fitted(self)
        return np.array(list(self._kinds), dtype=object)


class _Frame:
    """A frame of any library as a table of few types, with text read as the command reads it."""

    def __init__(self, X: Any, roles: Roles, missing: Sequence[str]) -> None:
        if not is_frame(X):
            raise TypeError(
                f"X is {type(X).__name__}; expected a dataframe, whose columns have names. Give "
                "pandas.DataFrame(X, columns=...)."
            )
        self._arrow = require("pyarrow", "Preparing tables", "io")
        self._given = X
        self.how = Format(missing=(*MISSING, *map(str, missing)))
        self.remarks = Remarks()
        # a frame of pandas with two columns of one name is none for narwhals
        names = [str(name) for name in getattr(X, "column_names", X.columns)]
        if len({*names}) < len(names):
            twice = sorted({one for one in names if names.count(one) > 1})
            raise InputError(f"X has several columns named {quoted(twice)}: rename them.")
        frame = nw.from_native(X, eager_only=True)
        if not frame.shape[0]:
            raise InputError("X has no rows: there is nothing to cluster.")
        cells = [self._cells(frame.get_column(name)) for name in frame.columns]
        self._declared = [
            name
            for name, own in zip(names, cells, strict=True)
            if self._arrow.types.is_dictionary(own.type)
        ]
        table = self._arrow.Table.from_arrays(cells, names=names)
        kept = {*roles.id, *([] if roles.labels is None else [roles.labels])}
        table = in_common_types(table, self.how, kept)
        columns = [
            values if name in kept else self._read(name, values, roles)
            for name, values in zip(names, table.columns, strict=True)
        ]
        self.table = self._arrow.Table.from_arrays(columns, names=names)

    def _cells(self, series: Any) -> Any:
        arrow = self._arrow
        try:
            cells = series.to_arrow()
        except (arrow.ArrowException, TypeError, ValueError, OverflowError):  # of several kinds
            cells = column_of_cells(arrow, series.to_list(), ())
        return cells if isinstance(cells, arrow.ChunkedArray) else arrow.chunked_array([cells])

    def _read(self, name: str, values: Any, roles: Roles) -> Any:
        if not self._arrow.types.is_string(values.type):
            return values
        values = with_missing(self._arrow, values, self.how.missing)
        if name in roles.categorical or name in self._declared:
            return values
        return inferred(self._arrow, values, name, self.how, ";", self.remarks)

    def coerce(self, columns: Sequence[str]) -> None:
        """Take cells that are no numbers as missing in some columns."""
        for name in columns:
            values = coerced(self._arrow, self.table[name], name, [], in_python)
            at = self.table.column_names.index(name)
            self.table = self.table.set_column(at, name, values)

    def chosen(self, roles: Roles) -> Chosen:
        """Return the columns to cluster by; what the frame calls categories are categories."""
        named = {*roles.categorical, *roles.numeric, *roles.drop, *roles.id, roles.labels}
        declared = [name for name in self._declared if name not in named]
        if not roles.use:
            roles = roles._replace(categorical=[*roles.categorical, *declared])
        return choose_columns(
            self.table, roles, "X", self.how.missing, is_text=False, say=in_python
        )

    def native(self, table: Any) -> Any:
        """Return a table as a frame of the library of the one that was given."""
        if isinstance(table, np.ndarray):
            return table
        implementation = nw.from_native(self._given, eager_only=True).implementation
        if implementation.is_pandas():
            frame = table.to_pandas()
            frame.index = self._given.index
            return frame
        return nw.from_arrow(table, backend=implementation).to_native()


def _remarks(frame: _Frame, chosen: Chosen) -> list[str]:
    """Return what was guessed when the cells were read, and what is to be said of columns."""
    told = [
        one.text if one.setting != "numeric" else f"{one.text} ({in_python('numeric')})"
        for one in frame.remarks.found(chosen.features.column_names)
    ]
    return [*told, *chosen.notes, *chosen.doubtful.values()]
