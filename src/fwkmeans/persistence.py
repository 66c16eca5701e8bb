"""Models in files that are safe to open.

A model file is a zip archive with one member ``model.json``, which says what the model is made of,
and one ``.npy`` member for each array. Nothing in it is code: classes are named, and only those of
a fixed list are built. All members are stored uncompressed, so that a file is as large as what it
unpacks to, and every array is checked before the compiled core may see it.
"""

from __future__ import annotations

import dataclasses
import inspect
import io
import json
import math
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fwkmeans import __version__
from fwkmeans._engine import Recipe
from fwkmeans._support.files import replacing
from fwkmeans._tabular.coding import Coding
from fwkmeans._tabular.layout import Layout, numeric_layout
from fwkmeans.centers import CENTER_RULES
from fwkmeans.dissimilarities import DISSIMILARITIES
from fwkmeans.estimators import ALGORITHMS, FeatureWeightedKMeans
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.preprocessing import RangeStandardizer, TableEncoder
from fwkmeans.typing import Description, Pass
from fwkmeans.weighting import WEIGHT_RULES

__all__ = ["load_model", "save_model"]

FORMAT = "fwkmeans-model"
VERSION = 1
MEMBER = "model.json"
MOST_JSON = 2**28  # bytes; names and categories of a table are far below
KIND = "kind"  # key of the JSON objects that stand for something else

_MODELS: tuple[type, ...] = (
    *ALGORITHMS.values(),
    FeatureWeightedKMeans,
    Pipeline,
    RangeStandardizer,
    TableEncoder,
)
_PARTS: tuple[type, ...] = (
    *WEIGHT_RULES.values(),
    *DISSIMILARITIES.values(),
    *CENTER_RULES.values(),
)
_RECORDS: tuple[type, ...] = (Coding, Description, Layout, Recipe)

#: Every class that may be in a file, by its name there.
_CLASSES: dict[str, type] = {cls.__name__: cls for cls in (*_MODELS, *_PARTS, *_RECORDS)}


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file that is safe to open.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package, or a pipeline of such. Parts of one's own, such as a
        weight rule, are refused: a file cannot hold code.
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
    writer = _Writer()
    content = {
        "format": FORMAT,
        "version": VERSION,
        "fwkmeans": __version__,
        "model": writer.encode(model, type(model).__name__),
    }
    text = json.dumps(content, allow_nan=False, ensure_ascii=False, indent=1)
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        archive.writestr(MEMBER, text.encode())
        for name, array in writer.arrays.items():
            archive.writestr(name, _npy(array))


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save_model` wrote.

    Nothing of the file is run: the classes it names are looked up in a fixed list, everything else
    is numbers and text, and what does not fit together is refused.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    model : estimator
        Equal to the one saved: it predicts, transforms and scores the same to the last bit.

    Raises
    ------
    ValueError
        If the file is no model, is damaged, or was written in a later version of the format.
    OSError
        If it cannot be read.

    See Also
    --------
    save_model : Write a model, with an example.
    """
    path = Path(path)
    content = io.BytesIO(path.read_bytes())
    try:
        model = _Reader(content).model()
    except _RefusedError as error:
        raise ValueError(f"{path.name} cannot be used: {error}") from None
    except Exception as error:  # whatever a damaged file does to the readers of zip, JSON and .npy
        raise ValueError(
            f"{path.name} cannot be read as a model: it is damaged or no file of fwkmeans "
            f"({type(error).__name__}). Fit the model again and save it with save_model or "
            "fwkmeans fit --model."
        ) from error
    return model


class _RefusedError(Exception):
    """A sentence on what is wrong with a file."""


# ---- values to JSON and arrays ------------------------------------------------------------------


class _Writer:
    """Turns values into JSON, and puts arrays aside."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self._names: dict[int, tuple[str, NDArray[Any]]] = {}  # the array stays alive: ids are kept

    def encode(self, value: Any, where: str) -> Any:
        """Return the JSON of a value; `where` names it in errors."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {KIND: "float", "value": repr(value)}
        if type(value) is list:
            return [self.encode(one, where) for one in value]
        if type(value) in _CONTAINERS:
            return {KIND: type(value).__name__, "items": self._items(value, where)}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, np.generic):
            return self._scalar(value, where)
        if _CLASSES.get(type(value).__name__) is type(value):
            fields = {
                name: self.encode(one, f"{where}.{name}") for name, one in _fields(value).items()
            }
            return {KIND: type(value).__name__, "fields": fields}
        raise TypeError(_cannot(value, where))

    def _items(self, value: Any, where: str) -> list[Any]:
        return [self.encode(one, where) for one in _CONTAINERS[type(value)].items(value)]

    def _array(self, array: NDArray[Any], where: str) -> Any:
        if array.dtype.kind == "O":
            items = [self.encode(one, where) for one in array.ravel().tolist()]
            return {KIND: "objects", "shape": list(array.shape), "items": items}
        if array.dtype.kind not in "biufU" or type(array) is not np.ndarray:
            raise TypeError(_cannot(array, where))
        if id(array) not in self._names:
            name = f"array{len(self.arrays)}.npy"
            self._names[id(array)] = name, array
            self.arrays[name] = array
        return {KIND: "array", "member": self._names[id(array)][0]}

    def _scalar(self, value: np.generic, where: str) -> Any:
        if value.dtype.kind not in "biufU":
            raise TypeError(_cannot(value, where))
        item = self.encode(value.item(), where)
        return {KIND: "scalar", "dtype": value.dtype.str, "value": item}


@dataclasses.dataclass(frozen=True)
class _Container:
    """How a container is taken apart into a list, and made from one."""

    items: Callable[[Any], list[Any]]
    build: Callable[[list[Any]], Any]


def _state_of(random: np.random.RandomState) -> list[Any]:
    state: Any = random.get_state(legacy=True)
    return list(state)


def _random_of(items: list[Any]) -> np.random.RandomState:
    random = np.random.RandomState()
    random.set_state(tuple(items))
    return random


_CONTAINERS: dict[type, _Container] = {
    bytes: _Container(lambda value: [value.hex()], lambda items: bytes.fromhex(*items)),
    dict: _Container(lambda value: [list(pair) for pair in value.items()], dict),
    range: _Container(lambda value: [value.start, value.stop, value.step], lambda i: range(*i)),
    set: _Container(list, set),
    slice: _Container(lambda value: [value.start, value.stop, value.step], lambda i: slice(*i)),
    tuple: _Container(list, tuple),
    # as pickle does: a generator goes on where it was when the model was saved
    np.random.RandomState: _Container(_state_of, _random_of),
}
_BUILDERS = {cls.__name__: container.build for cls, container in _CONTAINERS.items()}


def _fields(value: Any) -> dict[str, Any]:
    """Return what a record or an estimator holds, by name."""
    if isinstance(value, tuple):
        fields: dict[str, Any] = value._asdict()  # type: ignore[attr-defined]
        return fields
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return dict(vars(value))


def _npy(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _cannot(value: Any, where: str) -> str:
    kind = type(value)
    if isinstance(value, type) or callable(value):
        what = f"a function or class ({value!r})"
    else:
        what = f"an object of {kind.__module__}.{kind.__qualname__}"
    return (
        f"{where} is {what}, which a model file cannot hold: it takes numbers, text, arrays and "
        "the parts of fwkmeans, never code. Save a model without it, or use pickle among people "
        "who trust each other."
    )


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


# ---- JSON and arrays to values ------------------------------------------------------------------


class _Reader:
    """Builds a model from an archive, or raises."""

    def __init__(self, content: io.BytesIO) -> None:
        size = content.getbuffer().nbytes
        if not zipfile.is_zipfile(content):
            raise _RefusedError("it is no model file of fwkmeans (not even a zip archive).")
        self._archive = zipfile.ZipFile(content)
        members = self._archive.infolist()
        if any(one.compress_type != zipfile.ZIP_STORED for one in members):
            raise _RefusedError("it has compressed members, which save_model never writes.")
        if sum(one.file_size for one in members) > size:
            raise _RefusedError("its members claim to be larger than the file.")
        if len({one.filename for one in members}) < len(members):
            raise _RefusedError("it has two members of the same name.")
        self._members = {one.filename: one for one in members}
        self._arrays: dict[str, NDArray[Any]] = {}

    def model(self) -> Any:
        """Return the model, checked."""
        if MEMBER not in self._members:
            raise _RefusedError(f"it has no {MEMBER}, so it is no model file of fwkmeans.")
        if self._members[MEMBER].file_size > MOST_JSON:
            raise _RefusedError(f"its {MEMBER} is too large.")
        content = json.loads(self._archive.read(MEMBER), parse_constant=_no_constant)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise _RefusedError("it is no model file of fwkmeans.")
        if content.get("version") != VERSION:
            raise _RefusedError(
                f"its format has version {content.get('version')!r}, and this fwkmeans "
                f"({__version__}) reads version {VERSION}. Install a newer fwkmeans, or save the "
                "model again."
            )
        model = self.decode(content.get("model"))
        _check_model(model)
        return model

    def decode(self, node: Any) -> Any:
        """Return the value that a piece of JSON stands for."""
        if isinstance(node, list):
            return [self.decode(one) for one in node]
        if not isinstance(node, dict):
            return node
        kind = node[KIND]
        if kind == "float":
            return float(node["value"])
        if kind == "array":
            return self._array(node["member"])
        if kind == "objects":
            return _objects([self.decode(one) for one in node["items"]], node["shape"])
        if kind == "scalar":
            return _typed(node["dtype"]).type(self.decode(node["value"]))
        if kind in _BUILDERS:
            return _BUILDERS[kind]([self.decode(one) for one in node["items"]])
        if kind not in _CLASSES:
            raise _RefusedError(f"it names {kind!r}, which is no part of fwkmeans {__version__}.")
        fields = {name: self.decode(one) for name, one in node["fields"].items()}
        return _build(_CLASSES[kind], fields)

    def _array(self, name: str) -> NDArray[Any]:
        if name not in self._arrays:
            if name not in self._members:
                raise _RefusedError(f"its array {name!r} is missing.")
            self._arrays[name] = _read_npy(self._archive.read(name), name)
        return self._arrays[name]


def _no_constant(name: str) -> Any:
    raise _RefusedError(f"its {MEMBER} holds {name}, which is not JSON.")


def _typed(name: Any) -> np.dtype[Any]:
    dtype = np.dtype(str(name))
    if dtype.kind not in "biufU" or dtype.names is not None or dtype.subdtype is not None:
        raise _RefusedError(
            f"it holds values of type {name!r}; expected numbers, booleans or text."
        )
    return dtype


def _read_npy(content: bytes, name: str) -> NDArray[Any]:
    """Read an array; its shape must be what there are bytes for."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):  # (3, 0) is for names of fields
        raise _RefusedError(f"its array {name!r} is written in an unknown way.")
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    shape, by_column, dtype = read[version](stream)
    _typed(dtype.str)
    data = content[stream.tell() :]
    if any(length < 0 for length in shape) or math.prod(shape) * dtype.itemsize != len(data):
        raise _RefusedError(f"its array {name!r} has the shape {shape} but {len(data)} bytes.")
    if not data:
        return np.empty(shape, dtype)
    array = np.frombuffer(bytearray(data), dtype)
    return array.reshape(shape, order="F" if by_column else "C")


def _objects(items: list[Any], shape: Any) -> NDArray[Any]:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape([int(length) for length in shape])


def _build(cls: type, fields: dict[str, Any]) -> Any:
    """Return a record or an estimator with these fields, without running any code of its own."""
    if issubclass(cls, tuple) or dataclasses.is_dataclass(cls):
        return cls(**fields)
    parameters: list[str] = cls._get_param_names()  # type: ignore[attr-defined]
    for name in parameters:
        if name not in fields:  # a parameter that came after the file was written
            default = inspect.signature(cls).parameters[name].default
            if default is inspect.Parameter.empty:
                raise _RefusedError(f"its {cls.__name__} lacks {name}.")
            fields[name] = default
    # a name of the class would hide a method
    hidden = [name for name in fields if name not in parameters and _is_taken(cls, name)]
    if hidden:
        raise _RefusedError(
            f"its {cls.__name__} sets {hidden[0]!r}, which is not for files to set."
        )
    thing = cls.__new__(cls)
    vars(thing).update(fields)
    return thing


def _is_taken(cls: type, name: str) -> bool:
    return not name.isidentifier() or name.startswith("__") or hasattr(cls, name)


# ---- whether it fits together -------------------------------------------------------------------


def _check_model(model: Any) -> None:
    """Raise unless the model is complete: the compiled core trusts the shapes it is given."""
    if type(model) not in _MODELS:
        raise _RefusedError(f"it holds {type(model).__name__}, expected an estimator of fwkmeans.")
    if isinstance(model, Pipeline):
        for _, step in model.steps:
            if step is not None and not (isinstance(step, str) and step == "passthrough"):
                _check_model(step)
        return
    check_is_fitted(model)
    if isinstance(model, BaseFeatureWeightedKMeans):
        _check_clusters(model)
    else:
        _check_transformer(model)


def _check_clusters(model: Any) -> None:
    n_clusters, n_features = len(model.cluster_centers_), model.n_features_in_
    coding: Coding | None = getattr(model, "_coding", None)
    layout = numeric_layout(n_features) if coding is None else coding.layout
    if coding is not None:
        _want(isinstance(coding, Coding) and coding.n_features == n_features, "its categories")
    _want(n_clusters == model.n_clusters_ > 0, "the number of clusters")
    parts = model._parts
    _want(isinstance(parts, Recipe), "its parts")
    for part, registry in zip(parts, (DISSIMILARITIES, CENTER_RULES, WEIGHT_RULES), strict=True):
        _want(type(part) in registry.values(), "its parts")
    for table in (model._table, parts.dissimilarity.table, parts.center.table):
        _check_table(table, layout)
    for name in ("cluster_centers_", "feature_weights_"):
        _want(getattr(model, name).shape == (n_clusters, n_features), name)
    weights = model.feature_weights_
    _want(weights.dtype == np.float64 and bool(np.all(weights >= 0)), "feature_weights_")
    _want(np.isfinite(weights).all(), "feature_weights_")
    _want(model._frequencies.shape == (n_clusters, layout.n_levels), "its categories")
    labels = model.labels_
    _want(labels.ndim == 1 and labels.dtype == np.int32, "labels_")
    _want(labels.size == 0 or 0 <= labels.min() <= labels.max() < n_clusters, "labels_")
    _check_pass(parts.dissimilarity._pass(model._assignment(None)), n_clusters, layout)


def _check_pass(assigning: Pass, n_clusters: int, layout: Layout) -> None:
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


def _check_table(table: Any, layout: Layout) -> None:
    _want(isinstance(table, Description) and isinstance(table.layout, Layout), "its table")
    for mine, other in zip(table.layout, layout, strict=True):
        _want(mine.dtype == np.int64 and np.array_equal(mine, other), "its columns")
    places = np.sort(np.concatenate([layout.numeric, layout.categorical]))
    _want(np.array_equal(places, np.arange(layout.n_features)), "its columns")
    for name in ("mean", "scatter", "minimum", "maximum"):
        values = getattr(table, name)
        _want(values.shape == (layout.n_features,) and np.isfinite(values).all(), f"its {name}")
    _want(table.center.shape == (layout.n_numeric + layout.n_levels,), "its center")


def _check_transformer(model: Any) -> None:
    numeric = getattr(model, "numerical_features_", np.arange(model.n_features_in_))
    for name in ("mean_", "range_"):
        values = getattr(model, name)
        _want(values.shape == numeric.shape and values.dtype == np.float64, name)
        _want(np.isfinite(values).all(), name)
    if isinstance(model, RangeStandardizer):
        support = model.support_
        _want(support.shape == numeric.shape and support.dtype == np.bool_, "support_")
        return
    places = np.sort(np.concatenate([numeric, model.categorical_features_]))
    _want(np.array_equal(places, np.arange(model.n_features_in_)), "its columns")
    n_categorical = model.categorical_features_.size
    _want(len(model.categories_) == len(model.frequencies_) == n_categorical, "its categories")
    for categories, frequencies in zip(model.categories_, model.frequencies_, strict=True):
        _want(categories.shape == frequencies.shape, "its categories")


def _want(fits: Any, what: str) -> None:
    if not fits:
        raise _RefusedError(f"{what} does not fit the rest of the model, so the file is damaged.")
