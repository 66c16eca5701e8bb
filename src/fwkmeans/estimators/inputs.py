"""Turn what users pass to `fit` into a source of rows, or raise an error that says why not."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, validate_data

from fwkmeans._support.ahead import read_ahead
from fwkmeans._support.arrays import is_dask, is_foreign, is_on_device, to_host
from fwkmeans._support.text import quoted
from fwkmeans._support.threads import effective_n_threads
from fwkmeans._support.warn import warn_user
from fwkmeans._tabular.coding import MOST_CATEGORIES, Coding, check_kinds
from fwkmeans._tabular.columns import (
    as_table,
    column_names,
    describe_columns,
    float_types,
    has_objects,
    is_frame,
    read_numeric,
    refuse_text,
    refuse_words,
    resolve_columns,
)
from fwkmeans._tabular.layout import numeric_layout
from fwkmeans._tabular.readers import is_iterator, is_list_of_paths, is_sliced
from fwkmeans.estimators.constraints import accepts
from fwkmeans.estimators.model import Reader
from fwkmeans.sources import (
    BLOCK_BYTES,
    BlockSource,
    ChunkedSource,
    Faults,
    MemorySource,
    SparseSource,
    count_faults,
    count_observed,
    describe,
    weigh_gaps,
)
from fwkmeans.sources.gaps import Observed
from fwkmeans.sources.memory import is_plain
from fwkmeans.sources.sparse import sparse_rows, to_scipy
from fwkmeans.typing import Description, FloatArray, Source

_NONE = np.zeros(0)


class Input(NamedTuple):
    """What a user passed to a method."""

    source: Source
    coding: Coding | None  # of its categorical columns; None if there are none
    rows: Any  # as a callable `init` gets them: checked numbers, or X itself if it has categories


def open_rows(
    estimator: Reader,
    X: Any,
    sample_weight: Any,
    coding: Coding | None,
    *,
    reset: bool,
    device: Any = None,
) -> Input:
    """Return the rows, on a device if they are there or should be."""
    if type(X) is np.ndarray and sample_weight is None and device is None:
        return _open_rows(estimator, X, None, coding, reset=reset)  # the usual case
    if is_dask(X):
        if device is not None:
            raise TypeError("X is a Dask collection, which is used where it is. Leave device out.")
        from fwkmeans.estimators.dask import open_collection

        return open_collection(estimator, X, sample_weight, coding, reset=reset)
    if is_foreign(sample_weight):
        sample_weight = to_host(sample_weight)
    if is_foreign(X):
        X = _on_its_device(X) if is_on_device(X) else to_host(X)
    elsewhere = isinstance(X, BlockSource) and (X.on_device or X.streams)
    if device is None and not elsewhere:
        return _open_rows(estimator, X, sample_weight, coding, reset=reset)
    if not estimator._runs_on_device:
        raise TypeError(
            f"{type(estimator).__name__} cannot use rows on a device. Give them as an array of "
            "NumPy, and leave device out."
        )
    given = _open_rows(estimator, X, sample_weight, coding, reset=reset)
    source = given.source
    if isinstance(source, BlockSource):
        from fwkmeans.sources.device import on_device

        source = on_device(source, device)
    return given._replace(source=source, rows=None)


def _on_its_device(X: Any) -> BlockSource:
    from fwkmeans.sources.device import DeviceSource

    return DeviceSource(X)


def _open_rows(
    estimator: Reader, X: Any, sample_weight: Any, coding: Coding | None, *, reset: bool
) -> Input:
    """Return the rows: in memory, or in blocks for paths and large memory maps.

    `coding` is that of the fitted model. With `reset` it is learned from X instead, and
    scikit-learn's `validate_data` remembers the names and the number of the columns.
    """
    n_threads = effective_n_threads(estimator.n_jobs)
    plain = is_plain(X)
    if not plain:
        if _is_outside(X):
            X = ChunkedSource(X)
        if isinstance(X, MemorySource) and X.layout.is_numeric:
            sample_weight = X.sample_weight if sample_weight is None else sample_weight
            X = X.rows
        if isinstance(X, SparseSource):
            sample_weight = X.sample_weight if sample_weight is None else sample_weight
            X = to_scipy(X.rows)
        if isinstance(X, ChunkedSource) and X.coding is None:
            return _open_blocks(estimator, X, sample_weight, n_threads, coding, reset=reset)
        if isinstance(X, BlockSource):
            return _open_source(estimator, X, sample_weight, n_threads, coding, reset=reset)
        if issparse(X) or _is_sparse_frame(X):
            return _open_sparse(estimator, X, sample_weight, n_threads, coding, reset=reset)
        _refuse_others(X)
        refuse_repeated_names(X)
    if estimator._takes_categories:
        if not plain:
            X = as_table(X, estimator=estimator, input_name="X", ensure_min_samples=0)
            plain = is_plain(X)
        if is_frame(X):
            refuse_empty(estimator, X)
        if reset:
            weights = None
            if sample_weight is not None and len(X):
                weights = check_sample_weight(sample_weight, len(X))
            coding = _learn_coding(estimator, X, weights)
        if coding is not None:
            return _open_mixed(estimator, X, sample_weight, n_threads, coding, reset=reset)
    if not plain:
        refuse_text(X, type(estimator).__name__)
    if plain and (reset or _has_columns(estimator, X.shape[1])):
        if reset:
            set_columns(estimator, X.shape[1])
        rows = X
    elif has_objects(X):  # such as numbers and pandas' NA
        refuse_empty(estimator, X)
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        rows = read_numeric(X, np.arange(X.shape[1]))
    else:
        # our own check names the columns that are not finite
        try:
            rows = validate_data(
                estimator, X, reset=reset, dtype=float_types(X), ensure_all_finite=False
            )
        except ValueError:
            refuse_words(X, type(estimator).__name__)
            raise
        rows = np.asarray(rows)
    weights = check_sample_weight(sample_weight, len(rows))
    return Input(MemorySource(rows, weights, n_threads), None, rows)


def describe_rows(
    estimator: Reader,
    source: Source,
    view: Callable[..., Source],
    *,
    reset: bool,
    refusal: str | None = None,
) -> tuple[Source, Description]:
    """Return the rows as the algorithm sees them, and their description.

    `view` turns a source into what the algorithm sees. Missing cells of X are checked before that;
    with a `refusal`, which says what to do instead, none are allowed.
    """
    table, faults = describe(source)
    seen = source_of_gaps(estimator, source, view, faults, reset=reset, refusal=refusal)
    if seen is not source:
        table, _ = describe(seen)
    if estimator._missing == "rescale":
        table = table._replace(rescale=True)
    return seen, table


def refuse_infinite(estimator: Reader, source: Source, faults: Faults) -> None:
    """Raise an error if a cell is infinite."""
    if np.count_nonzero(faults.infinite):
        none = np.zeros(source.layout.categorical.size)
        infinite = source.layout.features(faults.infinite.astype(np.float64), none)
        advice = f"{type(estimator).__name__} needs finite numbers: fill or drop those rows."
        _refuse(estimator, infinite, "infinity", advice)


def source_of_gaps(
    estimator: Reader,
    source: Source,
    view: Callable[..., Source],
    faults: Faults,
    *,
    reset: bool,
    refusal: str | None = None,
) -> Source:
    """Return the rows as the algorithm sees them; those with missing cells count M / m_i times."""
    layout = source.layout
    complete = not np.count_nonzero(faults.nonfinite)
    if not complete:
        refuse_infinite(estimator, source, faults)
    in_categories = _NONE if layout.is_numeric else count_observed(source).missing
    if complete and (layout.is_numeric or not in_categories.any()):
        seen = view(source, reset=reset)
        changed = seen is not source and count_faults(seen).missing.any()
        return seen.with_gaps(stretch=False) if changed else seen
    missing = layout.features(faults.missing.astype(np.float64), in_categories.astype(np.float64))
    if refusal is None and estimator._missing == "error":
        refusal = _advice(estimator)
    if refusal is not None:
        _refuse(estimator, missing, "NaN or other missing values", refusal)
    if "observed_cells" not in source.operations:
        advice = "Rows on a device need every cell: fill them, or give X as an array of NumPy."
        _refuse(estimator, missing, "NaN or other missing values", advice)
    observed, weighed = weigh_gaps(source)
    names = estimator._names
    if reset and not observed.in_column.all():
        raise ValueError(
            f"Nothing is observed in {describe_columns(observed.in_column == 0, names)} of X: "
            "every cell (of a row with weight) is missing. Drop the column."
        )
    _refuse_empty_rows(observed)
    seen = view(source, reset=reset)
    if seen is not source:
        observed, weighed = weigh_gaps(seen)
        _refuse_empty_rows(observed)
    return weighed


def _refuse_empty_rows(observed: Observed) -> None:
    """Raise if a row has no observed cell."""
    if observed.n_empty:
        shown = ", ".join(map(str, observed.empty))
        more = observed.n_empty - len(observed.empty)
        raise ValueError(
            f"Nothing is observed in row{'s' if observed.n_empty > 1 else ''} {shown}"
            f"{f' and {more} more' if more else ''} of X: every cell is missing. Drop such rows."
        )


def _learn_coding(estimator: Reader, X: Any, weights: FloatArray | None) -> Coding | None:
    """Return the codes of the categories of a table; None if it has only numbers."""
    if not is_frame(X) and X.dtype.kind in "fiuc" and _by_dtype(estimator):
        return None
    if not len(X):
        return None  # raises scikit-learn's error later on
    given, own = estimator.categorical_features, _own_missing(estimator)
    coding = Coding.learn(X, given, own_missing=own, sample_weight=weights)
    refuse_empty_columns(estimator, coding, column_names(X))
    if weights is not None and not weights.all():  # predict accepts the rows without weight
        coding = replace(coding, silent=Coding.learn(X, given, own_missing=own).categories)
    return coding if coding.categorical.size else None


def _coding_of_blocks(
    estimator: Reader, source: ChunkedSource, weights: FloatArray | None
) -> Coding | None:
    reader, given = source.reader, estimator.categorical_features
    if isinstance(given, str) and given == "from_dtype":
        categorical = reader.categorical
    else:
        categorical = np.sort(
            resolve_columns(given, reader.names, reader.n_columns, "categorical_features")
        )
    check_kinds(reader.head, categorical)
    chosen = reader.select(categorical.tolist())

    def named(v: int) -> str:
        return f"Column {v if reader.names is None else repr(reader.names[v])}"

    def too_many(v: int) -> str:
        return (
            f"{named(v)} of {reader.title} has more than {MOST_CATEGORIES:,} different "
            f"categories.{reader.about(v)} If it holds names or keys, leave it out: "
            "ChunkedSource(path, columns=[...])."
        )

    def learned(counted: FloatArray | None) -> Coding:
        return Coding.learn_blocks(
            read_ahead(chosen.pieces(source.step)),
            reader.n_columns,
            categorical,
            own_missing=_own_missing(estimator),
            sample_weight=counted,
            too_many=too_many,
        )

    coding = learned(weights)
    for v in categorical.tolist() if isinstance(given, str) else ():
        if about := reader.about(v):
            warn_user(f"{named(v)} is taken as categories.{about}", UserWarning)
    refuse_empty_columns(estimator, coding, reader.names)
    if weights is not None and not weights.all():
        coding = replace(coding, silent=learned(None).categories)
    return coding if coding.categorical.size else None


def refuse_empty_columns(estimator: Reader, coding: Coding, names: Any) -> None:
    """Raise if a categorical column has no category."""
    empty = np.zeros(coding.n_features, dtype=np.bool_)
    empty[coding.categorical] = [not categories for categories in coding.categories]
    if empty.any():
        raise ValueError(
            f"Nothing is observed in {describe_columns(empty, names)} of X: every cell (of a row "
            "with weight) is missing. Drop the column."
        )


def _open_mixed(
    estimator: Reader,
    X: Any,
    sample_weight: Any,
    n_threads: int,
    coding: Coding,
    *,
    reset: bool,
) -> Input:
    """Return the source of a table with categorical columns."""
    refuse_empty(estimator, X)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    source = MemorySource(
        coding.rows(X),
        check_sample_weight(sample_weight, len(X)),
        n_threads,
        levels=coding.levels(X, **level_options(estimator, reset=reset)),
        layout=coding.layout,
    )
    return Input(source, coding, X)


def _open_blocks(
    estimator: Reader,
    source: ChunkedSource,
    sample_weight: Any,
    n_threads: int,
    coding: Coding | None,
    *,
    reset: bool,
) -> Input:
    """Return the blocks of a table, whose categories the estimator finds by itself."""
    if isinstance(sample_weight, str):
        source = source.weighted_by(sample_weight)
        sample_weight = None
    if not reset:
        source = _with_columns_of(estimator, source)
    _check_columns(estimator, source, reset=reset)
    for text, setting, _ in source.reader.remarks.found():
        if reset and setting in ("header", "no-header"):
            say = f"ChunkedSource(path, header={setting == 'header'})"
            warn_user(f"{text.removesuffix(', say so.')}, give {say}.", UserWarning)
    given = source.sample_weight if sample_weight is None else sample_weight
    weights = check_sample_weight(given, source.n_rows)
    mixed = estimator._takes_categories
    if reset and mixed:
        coding = _coding_of_blocks(estimator, source, weights)
    if coding is None:
        odd = [source.reader.about(v) for v in range(source.n_features)]
        refuse_text(source.reader.head, type(estimator).__name__, next(filter(None, odd), ""))
    elif not reset:
        coding.rows(source.reader.head)  # refuses dates
    options = {} if coding is None else level_options(estimator, reset=reset)
    rows = source.rows if source.seen is None else None
    return Input(source.with_(weights, n_threads, coding, **options), coding, rows)


def _with_columns_of(estimator: Reader, source: ChunkedSource) -> ChunkedSource:
    """Return a source with the columns that a model was fitted to, found by name."""
    names = estimator._names
    if names is None or source.names is None or list(names) == list(source.names):
        return source
    known = set(source.names)
    lacks = [name for name in names if name not in known]
    if lacks:
        raise ValueError(
            f"{source.reader.title} lacks the column{'s' * (len(lacks) > 1)} {quoted(lacks)} that "
            f"{type(estimator).__name__} was fitted to; it has {quoted(source.names)}."
        )
    return source.selected(list(names))


def _open_sparse(
    estimator: Reader,
    X: Any,
    sample_weight: Any,
    n_threads: int,
    coding: Coding | None,
    *,
    reset: bool,
) -> Input:
    """Return the source of a sparse matrix or frame, whose columns are numbers."""
    found = refuse_sparse(estimator, X, coding)
    if is_frame(X):
        refuse_repeated_names(X)
        refuse_empty(estimator, X)
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        rows = sparse_rows(X.sparse.to_coo())
        weights = check_sample_weight(sample_weight, X.shape[0])
        return Input(SparseSource(rows, weights, n_threads), None, to_scipy(rows))
    if X.ndim != 2:
        raise ValueError(f"{found}; expected two dimensions, rows and columns.")
    if X.dtype.kind == "c":
        raise ValueError(f"{found}; Complex data not supported: expected real numbers.")
    rows = sparse_rows(X)
    given = to_scipy(rows)
    validate_data(
        estimator, given, reset=reset, accept_sparse="csr", dtype=None, ensure_all_finite=False
    )
    weights = check_sample_weight(sample_weight, X.shape[0])
    return Input(SparseSource(rows, weights, n_threads), None, given)


def refuse_sparse(estimator: Reader, X: Any, coding: Coding | None) -> str:
    """Raise if an estimator cannot use these sparse rows; return what was found."""
    found = f"X is sparse ({type(X).__name__}, shape {X.shape})"
    who = type(estimator).__name__
    reason = why_not_sparse(estimator)
    if reason is not None:
        dense = "X.sparse.to_dense()" if is_frame(X) else "X.toarray()"
        raise TypeError(
            f"{found}; {who} needs dense rows: {reason}. If they fit into memory, use {dense}; "
            "otherwise take an algorithm for sparse rows, such as EWKMeans, or reduce the columns "
            "first, for example with sklearn.decomposition.TruncatedSVD."
        )
    if coding is not None:
        raise TypeError(
            f"{found}; this {who} was fitted to a table with categorical columns. Give a table "
            "with the same columns."
        )
    return found


def why_not_sparse(estimator: Reader) -> str | None:
    """Return why an estimator cannot use sparse rows, None if it can."""
    if estimator._takes_categories and not _by_dtype(estimator):
        given = np.asarray(estimator.categorical_features)
        named = given.any() if given.dtype == np.bool_ else given.size > 0
        if named:
            return "categorical_features names columns of categories, which are never sparse"
    for parameter in ("groups", "spaces"):
        groups = getattr(estimator, parameter, None)
        if isinstance(groups, str) and groups == "auto":
            return f"{parameter}='auto' compares all pairs of columns"
    return estimator._why_not_sparse()


def _open_source(
    estimator: Reader,
    source: BlockSource,
    sample_weight: Any,
    n_threads: int,
    coding: Coding | None,
    *,
    reset: bool,
) -> Input:
    """Return a source of any kind; its categories are levels already, their names are numbers."""
    _check_columns(estimator, source, reset=reset)
    layout, own = source.layout, getattr(source, "coding", None)
    if not layout.is_numeric and not estimator._takes_categories:
        raise ValueError(
            f"The source has categorical columns; {type(estimator).__name__} needs numbers. Encode "
            "them, for example with fwkmeans.preprocessing.TableEncoder."
        )
    if reset and layout.is_numeric:
        coding = None
    elif reset:
        names = tuple(tuple(range(n - 1)) for n in np.diff(layout.offsets).tolist())
        numbered = Coding(layout.n_features, layout.numeric, layout.categorical, names)
        coding = numbered if own is None else own
    fitted = numeric_layout(layout.n_features) if coding is None else coding.layout
    if not all(map(np.array_equal, fitted, layout)):
        raise ValueError(
            f"The levels of the source are not those that {type(estimator).__name__} was fitted "
            "with. Give a source with the same layout."
        )
    weights = check_sample_weight(sample_weight, source.n_rows)
    return Input(source.with_weights(weights, n_threads), coding, None)


def refuse_empty(estimator: Reader, X: Any) -> None:
    """Raise if a table has no row or no column."""
    if 0 in X.shape:
        raise ValueError(
            f"Found a table with {X.shape[0]} row(s) and {X.shape[1]} column(s) (shape={X.shape}) "
            f"while a minimum of 1 is required by {type(estimator).__name__}."
        )


def level_options(estimator: Reader, *, reset: bool) -> dict[str, Any]:
    """Return how unknown and missing categories are treated."""
    unknown = "ignore" if reset else estimator.handle_unknown
    return {"unknown": unknown, "own_missing": _own_missing(estimator)}


def _by_dtype(estimator: Reader) -> bool:
    given = estimator.categorical_features
    return given is None or (isinstance(given, str) and given == "from_dtype")


def _own_missing(estimator: Reader) -> bool:
    own: bool = estimator.missing_category == "own"
    return own


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
    return np.require(weights, requirements=["C", "ALIGNED"])


def _is_outside(X: Any) -> bool:
    """Tell whether the rows of X are read in blocks: of files, maps, or what a function gives."""
    if isinstance(X, np.memmap):
        return X.ndim == 2 and X.nbytes > BLOCK_BYTES
    if isinstance(X, BlockSource) or is_frame(X):
        return False
    return (
        isinstance(X, str | os.PathLike)
        or is_list_of_paths(X)
        or is_sliced(X)
        or is_iterator(X)
        or (callable(X) and not hasattr(X, "shape"))
    )


def _check_columns(estimator: Reader, source: BlockSource, *, reset: bool) -> None:
    if source.n_rows == 0 or source.n_features == 0:
        raise ValueError(
            f"Found array with shape {(source.n_rows, source.n_features)}; at least one row and "
            "column is needed."
        )
    if reset:
        set_columns(estimator, source.n_features, getattr(source, "names", None))
    elif source.n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {source.n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )


def set_columns(estimator: Reader, n_features: int, names: Sequence[Any] | None = None) -> None:
    """Remember the number of columns, and their names if all of them are text."""
    estimator.n_features_in_ = n_features
    if names is not None and all(isinstance(name, str) for name in names):
        vars(estimator)["feature_names_in_"] = np.asarray(names, dtype=object)
    else:
        vars(estimator).pop("feature_names_in_", None)


def _has_columns(estimator: Reader, n_features: int) -> bool:
    """Tell whether the rows of fit had as many columns, without names."""
    same = getattr(estimator, "n_features_in_", None) == n_features
    return same and estimator._names is None


def _is_sparse_frame(X: Any) -> bool:
    """Tell whether every column of a frame is one of pandas' sparse ones."""
    kinds = list(X.dtypes) if is_frame(X) and hasattr(X, "dtypes") else []
    return bool(kinds) and all(hasattr(kind, "fill_value") for kind in kinds)


def _refuse_others(X: Any) -> None:
    if isinstance(X, bytes):
        raise TypeError("X is bytes; give the path of a file as str or pathlib.Path.")
    if hasattr(X, "collect") and not hasattr(X, "__array__"):
        raise TypeError(f"X is a lazy {type(X).__name__}; give X.collect().")


def refuse_repeated_names(X: Any) -> None:
    """Raise if two columns of a frame have the same name."""
    names = getattr(X, "column_names", getattr(X, "columns", ()))  # pyarrow's columns are cells
    names = () if callable(names) else names
    seen: set[Any] = set()
    for name in names:
        if name in seen:
            raise ValueError(
                f"X has several columns named {name!r}. Give every column a name of its own."
            )
        seen.add(name)


def _advice(estimator: Reader) -> str:
    who = type(estimator).__name__
    filling = (
        "fill or drop those rows, for example with sklearn.impute.SimpleImputer or "
        "fwkmeans.preprocessing.TableEncoder(impute='median')."
    )
    if not accepts(type(estimator), "missing", "ignore"):
        return f"{who} needs every cell: {filling}"
    own = ""
    if vars(estimator).get("_coding") is not None:
        own = ", or missing_category='own' to make a missing category one of its own"
    return (
        f"Give {who} missing='ignore' to leave missing cells out, missing='rescale' to compare "
        f"rows by the share of weight that is observed{own}; or {filling}"
    )


def _refuse(estimator: Reader, cells: FloatArray, what: str, advice: str) -> None:
    """Raise an error that names the columns with such cells."""
    names: Sequence[str] | None = estimator._names
    n = int(cells.sum())
    raise ValueError(
        f"Input X contains {what} in {describe_columns(cells > 0, names)} "
        f"({n} cell{'s' if n > 1 else ''}). {advice}"
    )
