"""Models in files that are safe to open.

A model file is a zip archive with one member ``model.json``, which says what the model is made of,
and one ``.npy`` member for each array. Nothing in it is code: classes are named, and only those of
a fixed list are built. All members are stored uncompressed, so that a file is as large as what it
unpacks to, and every array is checked before the compiled core may see it.
"""

from __future__ import annotations

import contextlib
import copy
import math
import os
import stat
import warnings
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fwkmeans import __version__
from fwkmeans._engine import Recipe
from fwkmeans._mixture import Block, Encoding, Parameters
from fwkmeans._support.archive import MOST_JSON, Reader, RefusedError, Writer, write_archive
from fwkmeans._support.arrays import is_dask
from fwkmeans._support.checks import check_parameters as check_against
from fwkmeans._tabular.coding import Coding
from fwkmeans._tabular.columns import resolve_columns
from fwkmeans._tabular.layout import Layout
from fwkmeans.centers import CENTER_RULES
from fwkmeans.dissimilarities import DISSIMILARITIES
from fwkmeans.estimators import ALGORITHMS, AutoKMeans, FeatureWeightedKMeans
from fwkmeans.estimators.auto_doubts import DOUBTS, Doubt
from fwkmeans.estimators.auto_explanation import FeatureGroup, Marginals
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.estimators.constraints import check_parameters
from fwkmeans.estimators.groups import groups_of_estimator, resolve_groups
from fwkmeans.exceptions import ModelFileError
from fwkmeans.fitted import FittedView, Naming
from fwkmeans.preprocessing import RangeStandardizer, TableEncoder, TablePreparer
from fwkmeans.typing import Description, Pass
from fwkmeans.weighting import WEIGHT_RULES

__all__ = ["load_model", "save_model"]

FORMAT = "fwkmeans-model"
VERSION = 1

_MODELS: tuple[type, ...] = (
    *ALGORITHMS.values(),
    AutoKMeans,
    FeatureWeightedKMeans,
    Pipeline,
    RangeStandardizer,
    TableEncoder,
    TablePreparer,
)
_PARTS: tuple[type, ...] = (
    *WEIGHT_RULES.values(),
    *DISSIMILARITIES.values(),
    *CENTER_RULES.values(),
)
_RECORDS: tuple[type, ...] = (
    *(Coding, Description, Layout, Naming, Recipe),
    *(Block, Encoding, Parameters, Doubt, FeatureGroup, Marginals),  # of AutoKMeans
)

#: Every class that may be in a file, by its name there.
_CLASSES: dict[str, type] = {cls.__name__: cls for cls in (*_MODELS, *_PARTS, *_RECORDS)}


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file that is safe to open.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package, or a pipeline of such. Parts that users wrote, such as a
        weight rule, are refused: a file cannot hold code. The ``memory`` of a pipeline, a place on
        your disk, is left out.
    path : str or path-like
        The file; ``.fwk`` is the usual suffix. It is written as a whole or not at all.

    Raises
    ------
    TypeError
        If the model holds something that is not part of this package.
    sklearn.exceptions.NotFittedError
        If it is not fitted.

    See Also
    --------
    load_model : Read it again.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from fwkmeans import WKMeans
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.persistence import load_model, save_model
    >>> X = load_uci("iris", as_frame=False).data
    >>> model = WKMeans(3, random_state=0).fit(X)
    >>> with TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "iris.fwk")
    ...     again = load_model(Path(folder) / "iris.fwk")
    >>> bool((again.predict(X) == model.labels_).all())
    True
    """
    _refuse_strangers(model)
    check_is_fitted(model)
    writer = Writer(_CLASSES)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "fwkmeans": __version__,
        "model": writer.encode(_without_memory(model), type(model).__name__),
    }
    write_archive(path, content, writer)


def load_model(path: str | os.PathLike[str], *, max_json: int = MOST_JSON) -> Any:
    """Read a model that `save_model` wrote.

    Nothing of the file is run: the classes it names are looked up in a fixed list, everything else
    is numbers and text, and what does not fit together is refused. Every field is checked, and two
    rows are assigned to clusters before you get the model.

    Parameters
    ----------
    path : str or path-like
        The file.
    max_json : int, default=8388608
        How many bytes its names, categories and parameters may have, which take up to 25 times as
        much memory; arrays do not count. It is enough for some 100 000 categories.

    Returns
    -------
    model : estimator
        Equal to the one saved: it predicts, transforms and scores the same to the last bit.

    Raises
    ------
    fwkmeans.exceptions.ModelFileError
        If the file is not a model, is damaged, or was written in a later version of the format. It
        is a ValueError.
    OSError
        If it cannot be read.

    See Also
    --------
    save_model : Write a model, with an example.
    """
    path = Path(path)
    kind = path.stat().st_mode
    if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):  # reading a pipe may never end
        raise ModelFileError(f"{path.name} is a pipe or a device; give the name of a model file.")
    with path.open("rb") as file:  # read member by member: a file may claim any size
        return _checked_model(file, path, max_json)


def _checked_model(file: BinaryIO, path: Path, max_json: int) -> Any:
    """Return the model in an open file, or raise a sentence that names the file."""
    try:
        return _read_model(file, max_json)
    except RefusedError as error:
        raise ModelFileError(f"{path.name} cannot be used: {error}") from error
    except MemoryError as error:
        raise ModelFileError(
            f"{path.name} cannot be used: what it holds does not fit into memory (the file has "
            f"{path.stat().st_size:,} bytes). If no model can be so large, save it again."
        ) from error
    except Exception as error:  # whatever a damaged file does to the readers of zip, JSON and .npy
        raise ModelFileError(
            f"{path.name} cannot be read as a model: it is damaged or not a file of fwkmeans "
            f"({type(error).__name__}). Fit the model again and save it."
        ) from error


def _read_model(content: BinaryIO, max_json: int) -> Any:
    """Return the model in an archive, checked."""
    reader = Reader(content, _CLASSES, max_json)
    found = reader.read_json()
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise RefusedError("it is not a model file of fwkmeans.")
    if found.get("version") != VERSION:
        raise RefusedError(
            f"its format has version {found.get('version')!r}, and this fwkmeans "
            f"({__version__}) reads version {VERSION}. Install a newer fwkmeans, or save the "
            "model again."
        )
    model = reader.decode(found.get("model"))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        _check_model(model)
        try:
            _try_out(model)
        except Exception as error:
            raise RefusedError(
                f"what it holds does not fit together ({type(error).__name__} when used), so the "
                "file is damaged. Fit the model again and save it."
            ) from error
    return model


def _without_memory(model: Any) -> Any:
    """Return a pipeline, and pipelines in it, without the place where steps are cached.

    Labels of a Dask collection, which are not in this process, are left out, too, and so is what
    `partial_fit` needs to go on.
    """
    if not isinstance(model, Pipeline):
        if hasattr(model, "_stream"):
            model = copy.copy(model)
            del model._stream, model.n_steps_
            model.n_iter_ = len(model.objective_history_)  # of the last steps
        return copy.copy(model) if is_dask(getattr(model, "labels_", None)) else model
    model = copy.copy(model)
    model.memory = None
    model.steps = [(name, _without_memory(step)) for name, step in model.steps]
    return model


def _refuse_strangers(model: Any) -> None:
    """Raise unless the model is one of ours, or a pipeline of such."""
    if type(model) not in _MODELS:
        kind = type(model)
        raise TypeError(
            f"The model is an object of {kind.__module__}.{kind.__qualname__}; save_model takes "
            "the estimators and transformers of fwkmeans, and pipelines of them."
        )
    if isinstance(model, Pipeline):
        for _, step in model.steps:
            if step is not None and step != "passthrough":
                _refuse_strangers(step)


# ---- whether it fits together -------------------------------------------------------------------

Check = Callable[[Any, Mapping[str, int]], bool]  # of a value, given the sizes of the model


def _array(kinds: str, *shape: str | None, lowest: float = -math.inf, nan: bool = False) -> Check:
    """Return the check of an array; its shape is given by the names of sizes, None is any."""
    dtypes = [np.dtype(kind) for kind in kinds.split()]

    def holds(value: Any, sizes: Mapping[str, int]) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype not in dtypes:
            return False
        wanted = [None if name is None else sizes[name] for name in shape]
        fits = value.ndim == len(wanted) and all(
            size in (None, found) for size, found in zip(wanted, value.shape, strict=True)
        )
        return fits and bool(np.all((value >= lowest) | (nan & (value != value))))

    return holds


def _whole(value: Any, sizes: Mapping[str, int]) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0


def _real(value: Any, sizes: Mapping[str, int]) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _truth(value: Any, sizes: Mapping[str, int]) -> bool:
    return isinstance(value, bool | np.bool_)


def _names(value: Any, sizes: Mapping[str, int]) -> bool:
    fits = isinstance(value, np.ndarray) and value.shape == (sizes["features"],)
    return fits and all(isinstance(name, str) for name in value)


def _by_name(size: str) -> Check:
    """Return the check of a partition of the features into so many named groups."""

    def holds(value: Any, sizes: Mapping[str, int]) -> bool:
        if not isinstance(value, dict) or len(value) != sizes[size]:
            return False
        if not all(_array("i8", None)(places, sizes) for places in value.values()):
            return False
        places = np.sort(np.concatenate(list(value.values())))
        return bool(np.array_equal(places, np.arange(sizes["features"])))

    return holds


def _places(value: Any, sizes: Mapping[str, int]) -> bool:
    return isinstance(value, list) and all(
        _array("i8", None, lowest=0)(one, sizes) and bool(np.all(one < sizes["features"]))
        for one in value
    )


def _frequencies_by_name(value: Any, sizes: Mapping[str, int]) -> bool:
    check = _array("f8", "clusters", lowest=0)
    return isinstance(value, dict) and all(
        isinstance(one, dict) and all(check(numbers, sizes) for numbers in one.values())
        for one in value.values()
    )


def _modes(value: Any, sizes: Mapping[str, int]) -> bool:
    return isinstance(value, dict) and all(
        isinstance(one, list) and len(one) == sizes["clusters"] for one in value.values()
    )


def _memory_of_weights(value: Any, sizes: Mapping[str, int]) -> bool:
    return isinstance(value, dict) and all(
        isinstance(name, str)
        and isinstance(one, np.ndarray)
        and one.dtype == np.float64
        and one.shape[:1] == (1,)
        and one.size <= sizes["clusters"] * sizes["features"]
        and np.isfinite(one).all()
        for name, one in value.items()
    )


def _words(*known: str) -> Check:
    """Return the check of a list with one of some words for each group."""

    def holds(value: Any, sizes: Mapping[str, int]) -> bool:
        fits = isinstance(value, list) and len(value) == sizes["groups"]
        return fits and all(word in known for word in value)

    return holds


def _encoding(value: Any, sizes: Mapping[str, int]) -> bool:
    if not isinstance(value, Encoding):
        return False
    n_numbers, n_pairs = len(value.numbers), len(value.pairs)
    n_features, n_levels = sizes["features"], sizes["levels"]
    return (
        all(one.shape == (n_numbers,) and np.isfinite(one).all() for one in value[:7])
        and value.values.shape == (n_pairs, 2)
        and all(one.dtype == np.int64 for one in (value.numbers, value.pairs, *value[9:]))
        and len(value.level_column) == len(value.seen) + 2 * n_pairs
        and all(
            ((one >= 0) & (one < size)).all()
            for one, size in (
                (value.numbers, n_features),
                (value.pairs, n_features),
                (value.categories, n_features),
                (value.seen, n_levels),
            )
        )
    )


def _mixture(value: Any, sizes: Mapping[str, int]) -> bool:
    if not isinstance(value, Parameters):
        return False
    n_clusters, n_single = sizes["clusters"], len(value.singles)
    shapes = [(n_clusters,), (n_single,), (n_clusters, n_single), (n_clusters, n_single)]
    return (
        [one.shape for one in value[:4]] == shapes
        and all(np.isfinite(one).all() for one in (*value[:4], value.log_levels, value.kernel))
        and value.log_levels.shape[:1] == (n_clusters,)
        and isinstance(value.blocks, tuple)
        and all(_block(block, n_clusters, len(value.kernel)) for block in value.blocks)
        and bool(np.all((value.singles >= 0) & (value.singles < len(value.kernel))))
    )


def _block(value: Any, n_clusters: int, n_numbers: int) -> bool:
    if not isinstance(value, Block):
        return False
    size = len(value.columns)
    return (
        value.tail > 0
        and bool(np.all((value.columns >= 0) & (value.columns < n_numbers)))
        and value.means.shape == value.variance.shape == (n_clusters, size)
        and value.whitening.shape in {(1, size, size), (n_clusters, size, size)}
        and all(one.shape == (n_clusters,) for one in (value.volume, value.log_det, value.blur))
        and all(np.isfinite(one).all() for one in value[2:])
    )


def _marginals(value: Any, sizes: Mapping[str, int]) -> bool:
    if not isinstance(value, Marginals):
        return False
    n_clusters, n_features = sizes["clusters"], sizes["features"]
    return (
        value.divergence.shape == (n_clusters, n_features)
        and value.between.shape == (n_clusters, n_clusters, n_features)
        and value.lead.shape == (n_features,)
        and len(value.groups) == sizes["groups"]
        and all(
            isinstance(group, FeatureGroup)
            and isinstance(group.type, str)
            and bool(np.all((group.columns >= 0) & (group.columns < n_features)))
            for group in value.groups
        )
    )


def _naming(value: Any, sizes: Mapping[str, int]) -> bool:
    groups = _array("i8", "clusters", lowest=0)
    return (
        isinstance(value, Naming)
        and isinstance(value.names, tuple)
        and all(isinstance(name, str) for name in value.names)
        and groups(value.groups, sizes)
        and np.array_equal(np.unique(value.groups), np.arange(len(value.names)))
        and _real(value.objective, sizes)
    )


def _doubts(value: Any, sizes: Mapping[str, int]) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, Doubt) and one.kind in DOUBTS and isinstance(one.figures, dict)
        for one in value
    )


def _anything(value: Any, sizes: Mapping[str, int]) -> bool:
    return True  # checked with the rest of the model


#: What every fitted clustering has; ``?`` marks what need not be there.
_CLUSTERS: dict[str, Check] = {
    "n_features_in_": _whole,
    "feature_names_in_?": _names,
    "n_clusters_": _whole,
    "cluster_centers_": _array("f8 f4", "clusters", "features", nan=True),
    "feature_weights_": _array("f8", "clusters", "features", lowest=0),
    "objective_history_": _array("f8", "iterations"),
    "n_iter_": _whole,
    "converged_": _truth,
    "labels_?": _array("i4", None, lowest=0),  # not those of a Dask collection
    "inertia_": _real,
    "_frequencies": _array("f8", "clusters", None, lowest=0),
    "_memory": _memory_of_weights,
    "_naming?": _naming,
    "_parts": _anything,
    "_table": _anything,
}
#: What those have that take categories.
_CATEGORIES: dict[str, Check] = {
    "_coding": _anything,
    "category_frequencies_": _frequencies_by_name,
    "modes_": _modes,
}


def _lists_of(kind: type) -> Check:
    def check(value: Any, sizes: Any) -> bool:
        return isinstance(value, list) and all(isinstance(one, kind) for one in value)

    return check


def _kinds_of_columns(value: Any, sizes: Any) -> bool:
    """Tell whether names of columns have names of types."""
    return isinstance(value, dict) and all(
        isinstance(name, str) and isinstance(kind, str) for name, kind in value.items()
    )


#: What the others have beside.
_OWN: dict[str, dict[str, Check]] = {
    "SYNCLUS": {
        "group_weights_": _array("f8", "groups", lowest=0),
        "groups_": _by_name("groups"),
        "_found_groups?": _array("i8", "features", lowest=0),
        "alpha_": _real,
        "beta_": _real,
        "stress_": _real,
    },
    "ConvexKMeans": {
        "_unit_spaces": _places,
        "_found_groups?": _array("i8", "features", lowest=0),
        "candidates_": _array("f8", "candidates", "spaces", lowest=0),
        "fisher_values_": _array("f8", "candidates", nan=True),
        "best_candidate_": _whole,
        "on_boundary_": _truth,
        "space_weights_": _array("f8", "spaces", lowest=0),
        "spaces_": _by_name("spaces"),
    },
    "FGKMeans": {
        "lam_": _real,
        "eta_": _real,
        "group_weights_": _array("f8", "clusters", "groups", lowest=0),
        "groups_": _by_name("groups"),
        "_found_groups?": _array("i8", "features", lowest=0),
    },
    "EWKMeans": {"gamma_": _real},
    "AutoKMeans": {
        "groups_": _by_name("groups"),
        "group_types_": _words("noise", "tied", "vol", "spec"),
        "group_weights_": _array("f8", "clusters", "groups", lowest=0),
        "noise_": _array("?", "features"),
        "criterion_": _real,
        "criteria_": _anything,
        "stopped_?": _truth,
        "candidates_": _anything,
        "chosen_": _anything,
        "doubts_": _doubts,
        "_metric": _array("f8", "clusters", "features", lowest=0),
        "_encoding": _encoding,
        "_mixture": _mixture,
        "_marginals": _marginals,
    },
    "RangeStandardizer": {
        "n_features_in_": _whole,
        "feature_names_in_?": _names,
        "mean_": _array("f8", "features"),
        "range_": _array("f8", "features"),
        "support_": _array("?", "features"),
    },
    "TableEncoder": {
        "n_features_in_": _whole,
        "feature_names_in_?": _names,
        "categorical_features_": _array("i8", None, lowest=0),
        "numerical_features_": _array("i8", "numbers", lowest=0),
        "categories_": _anything,
        "fill_values_": _anything,
        "mean_": _array("f8", "numbers"),
        "range_": _array("f8", "numbers"),
        "frequencies_": _anything,
        "category_scale_": _array("f8", None, lowest=0),
        "origins_": _array("i8", None, lowest=0),
    },
    "TablePreparer": {
        "n_features_in_": _whole,
        "feature_names_in_": _names,
        "columns_": _lists_of(dict),
        "remarks_": _lists_of(str),
        "_kinds": _kinds_of_columns,
    },
}


def _schema_of(model: Any) -> dict[str, Check]:
    """Return the fields that a fitted model has beside its parameters."""
    schema = dict(_OWN.get(type(model).__name__, {}))
    if isinstance(model, BaseFeatureWeightedKMeans):
        schema |= _CLUSTERS
        if "categorical_features" in model._get_param_names():
            schema |= _CATEGORIES
    return schema


def _check_fields(model: Any) -> None:
    """Raise unless a model has the fields of its schema and no others, and they fit together."""
    schema = _schema_of(model)
    found = vars(model).keys() - model._get_param_names()
    unknown = found - {name.rstrip("?") for name in schema}
    if unknown:
        kind = type(model).__name__
        raise RefusedError(f"its {kind} sets {min(unknown)!r}, which is not for files to set.")
    for name in schema:
        _want(name.endswith("?") or name in found, name)
    sizes = {"features": int(model.n_features_in_)}
    # sizes come from arrays, which take the place they say
    for size, attribute in (
        ("clusters", "cluster_centers_"),
        ("iterations", "objective_history_"),
        ("groups", "groups_"),
        ("spaces", "spaces_"),
        ("candidates", "candidates_"),
        ("numbers", "numerical_features_"),
    ):
        if attribute in found:
            sizes[size] = len(getattr(model, attribute))
    sizes["levels"] = int(np.prod(np.shape(getattr(model, "_frequencies", ()))[1:]))
    if "clusters" in sizes:
        _want(sizes["clusters"] == model.n_clusters_ > 0, "the number of clusters")
    for name, check in schema.items():
        if name.rstrip("?") in found:
            _want(check(getattr(model, name.rstrip("?")), sizes), name.rstrip("?"))


def _check_model(model: Any) -> None:
    """Raise unless the model is complete: the compiled core trusts the shapes it is given."""
    if type(model) not in _MODELS:
        raise RefusedError(f"it holds {type(model).__name__}, expected an estimator of fwkmeans.")
    if isinstance(model, Pipeline):
        _want(model.memory is None, "the memory of its pipeline")
        _want(isinstance(model.steps, list) and model.steps, "its steps")
        for name, step in model.steps:
            _want(isinstance(name, str), "its steps")
            if step is not None and not (isinstance(step, str) and step == "passthrough"):
                _check_model(step)
        return
    check_is_fitted(model)
    _check_fields(model)
    _check_columns(model)
    if isinstance(model, BaseFeatureWeightedKMeans):
        _check_clusters(model)
    else:
        _check_transformer(model)


def _check_columns(model: Any) -> None:
    """Check the parameters that name columns: they may be long, and a fit would read them all."""
    n_features = model.n_features_in_
    names = getattr(model, "feature_names_in_", None)
    for parameter in ("groups", "spaces"):
        if parameter in model._get_param_names():
            if hasattr(model, "_found_groups"):
                groups_of_estimator(model, parameter)
                continue
            resolve_groups(getattr(model, parameter), names, n_features, parameter)
    columns = getattr(model, "categorical_features", None)
    if not (isinstance(columns, str) and columns == "from_dtype"):
        resolve_columns(columns, names, n_features, "categorical_features")


def _check_clusters(model: Any) -> None:
    check_parameters(model)
    for name in ("dissimilarity", "center", "weighting"):  # of FeatureWeightedKMeans
        _want(type(getattr(model, name, None)) in (type(None), *_PARTS), name)
    n_clusters = len(model.cluster_centers_)
    view = FittedView.of(model)
    coding, layout, recipe = view.coding, view.layout, view.recipe
    if coding is not None:
        _check_coding(coding, model.n_features_in_)
    _want(model.n_iter_ == len(model.objective_history_), "n_iter_")
    _want(isinstance(recipe, Recipe), "its parts")
    part: Any
    for part, registry in zip(recipe, (DISSIMILARITIES, CENTER_RULES, WEIGHT_RULES), strict=True):
        _want(type(part) in registry.values(), "its parts")
        _want(vars(part).keys() <= {*part._get_param_names(), "table"}, "its parts")
        check_against(part, getattr(part, "_constraints", {}))
    _check_description(view.description, layout)
    for part in (recipe.dissimilarity, recipe.center):
        part.bind(view.description)  # raises for parameters that are not in a table
    for bound_to in view.descriptions_of_parts:
        _want(_is_same(bound_to, view.description), "its table")
    _want(np.isfinite(model.feature_weights_).all(), "feature_weights_")
    _want(view.frequencies.shape == (n_clusters, layout.n_levels), "its categories")
    _want(np.all(getattr(model, "labels_", -1) < n_clusters), "labels_")
    _check_kernel_input(view.kernel_input, n_clusters, layout)


def _check_coding(coding: Any, n_features: int) -> None:
    """Check the categories before a layout is made of them."""
    _want(isinstance(coding, Coding) and coding.n_features == n_features, "its categories")
    for places in (coding.numeric, coding.categorical):
        _want(_array("i8", None, lowest=0)(places, {}), "its columns")
    _want(isinstance(coding.categories, tuple), "its categories")
    _want(len(coding.categories) == coding.categorical.size, "its categories")
    for categories in coding.categories:
        _want(isinstance(categories, tuple), "its categories")
        _want(all(type(one) in _CATEGORY for one in categories), "its categories")
        _want(len(set(map(_typed, categories))) == len(categories), "its categories")


_CATEGORY = (str, bool, int, float, bytes, type(None))


def _typed(category: Any) -> tuple[bool, Any]:
    return isinstance(category, bool), category


def _try_out(model: Any) -> None:
    """Use the model once on two rows that it could have been fitted to."""
    if isinstance(model, Pipeline) and isinstance(model.steps[0][1], TablePreparer):
        names = list(model.steps[0][1].get_feature_names_out())
        if len(model.steps) < 2:
            return
        model = Pipeline(model.steps[1:])  # what comes then takes the columns that it gives
        _want(model.n_features_in_ == len(names), "its columns")
    elif isinstance(model, TablePreparer):
        return
    steps = _steps(model)
    X = _plausible_rows(steps[0])
    model.transform(X)
    if not hasattr(model, "predict"):
        return  # the last step prepares tables or does nothing
    model.predict(X)
    with contextlib.suppress(ValueError):  # two rows may be too few
        model.score(X)
    view = FittedView.of(steps[-1])
    for name, value in vars(FittedView).items():
        if isinstance(value, property):
            getattr(view, name)


def _steps(model: Any) -> list[Any]:
    """Return the estimators of a pipeline, and of pipelines in it."""
    if not isinstance(model, Pipeline):
        return [model] if isinstance(model, BaseEstimator) else []
    return [leaf for _, step in model.steps for leaf in _steps(step)]


def _plausible_rows(step: Any) -> Any:
    """Return two rows of numbers and categories that a fitted step knows."""
    X: NDArray[Any] = np.zeros((2, step.n_features_in_))
    known: list[tuple[int, Any]] = []
    if isinstance(step, BaseFeatureWeightedKMeans):
        view = FittedView.of(step)
        X[:] = view.description.minimum, view.description.maximum
        if view.coding is not None:
            known = list(zip(view.coding.categorical, view.coding.categories, strict=True))
    else:
        numeric = getattr(step, "numerical_features_", slice(None))
        X[:, numeric] = step.mean_ - step.range_ / 2, step.mean_ + step.range_ / 2
        if isinstance(step, TableEncoder):
            known = list(zip(step.categorical_features_, step.categories_, strict=True))
    if known:
        X = X.astype(object)
    for v, categories in known:
        X[:, v] = (categories[0], categories[-1]) if len(categories) else None
    return X


def _check_kernel_input(assigning: Pass, n_clusters: int, layout: Layout) -> None:
    """Check all that the kernels get from the model."""
    own = assigning.weights.shape[1:2]
    n_categorical = layout.categorical.size
    expected = {
        "centers": (1, n_clusters, layout.n_numeric),
        "weights": (1, *own, layout.n_numeric),
        "offsets": (1, n_clusters),
        "shift": (layout.n_numeric,),
        "power": (1,),
        "costs": (1, n_clusters, layout.n_levels),
        "category_weights": (1, *own, n_categorical),
    }
    _want(own in ((1,), (n_clusters,)), "its weights")
    _want((assigning.costs is None) == layout.is_numeric, "its categories")
    for name, shape in expected.items():
        values = getattr(assigning, name)
        if values is not None:
            _want(values.shape == shape and values.dtype == np.float64, f"its {name}")
            _want(not np.isnan(values).any(), f"its {name}")
            _want(name == "power" or np.isfinite(values).all(), f"its {name}")


def _is_same(one: Any, other: Any) -> bool:
    """Tell whether two records hold the same numbers and arrays."""
    if isinstance(other, tuple):
        return type(one) is type(other) and all(map(_is_same, one, other))
    return one is other or bool(np.array_equal(one, other))


def _check_description(table: Any, layout: Layout) -> None:
    _want(isinstance(table, Description) and isinstance(table.layout, Layout), "its table")
    for mine, other in zip(table.layout, layout, strict=True):
        _want(mine.dtype == np.int64 and np.array_equal(mine, other), "its columns")
    places = np.sort(np.concatenate([layout.numeric, layout.categorical]))
    _want(np.array_equal(places, np.arange(layout.n_features)), "its columns")
    for name in ("mean", "scatter", "minimum", "maximum"):
        values = getattr(table, name)
        _want(_array("f8", "all")(values, {"all": layout.n_features}), f"its {name}")
        _want(np.isfinite(values).all(), f"its {name}")
    center = _array("f8", "all", nan=True)(
        table.center, {"all": layout.n_numeric + layout.n_levels}
    )
    _want(center, "its center")
    _want(_whole(table.n_rows, {}) and _real(table.mass, {}), "its table")
    _want(_truth(table.gaps, {}) and _truth(table.rescale, {}), "its table")
    if table.category_scale is not None:
        scale = _array("f8", "all", lowest=0)
        _want(scale(table.category_scale, {"all": layout.categorical.size}), "its table")


def _check_transformer(model: Any) -> None:
    check_against(model, getattr(model, "_constraints", {}))
    if isinstance(model, TablePreparer):
        return
    for name in ("mean_", "range_"):
        _want(np.isfinite(getattr(model, name)).all(), name)
    if isinstance(model, RangeStandardizer):
        _want(_truth(model.drop_constant, {}), "drop_constant")
        return
    numeric, categorical = model.numerical_features_, model.categorical_features_
    places = np.sort(np.concatenate([numeric, categorical]))
    _want(np.array_equal(places, np.arange(model.n_features_in_)), "its columns")
    _want(isinstance(model.categories_, list), "its categories")
    _want(all(_is_objects(one) for one in model.categories_), "its categories")
    categories = tuple(tuple(one) for one in model.categories_)
    _check_coding(Coding(model.n_features_in_, numeric, categorical, categories), len(places))
    _want(isinstance(model.frequencies_, list), "its categories")
    for known, frequencies in zip(categories, model.frequencies_, strict=True):
        _want(_array("f8", "all")(frequencies, {"all": len(known)}), "its categories")
    _want(model.category_scale_.shape == categorical.shape, "its categories")
    _want(np.isfinite(model.category_scale_).all(), "its categories")


def _is_objects(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == object and value.ndim == 1


def _want(fits: Any, what: str) -> None:
    if not fits:
        raise RefusedError(f"{what} does not fit the rest of the model, so the file is damaged.")
