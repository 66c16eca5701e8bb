"""Values in zip archives: one JSON member, and one ``.npy`` member for each array.

Nothing in an archive is code: classes are named, and only those of a given list are built, without
running any code of theirs.
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
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from fwkmeans._support.arrays import is_foreign, to_host
from fwkmeans._support.files import replacing

MEMBER = "model.json"
MOST_JSON = 2**23  # bytes; some 100 000 names and categories
MOST_PLACES = 10**6  # in all ranges of a file together
KIND = "kind"  # key of the JSON objects that stand for something else


class RefusedError(Exception):
    """A sentence on what is wrong with a file."""


class TooMuchJsonError(RefusedError):
    """The JSON of a file is longer than allowed."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(
            f"its {MEMBER} has {size} bytes, more than max_json={limit}, and may take 25 times as "
            f"much memory. If you trust the file: load_model(path, max_json={size})"
        )
        self.size = size


# ---- values to JSON and arrays ------------------------------------------------------------------


class Writer:
    """Turns values into JSON, and puts arrays aside.

    Parameters
    ----------
    classes : dict of str to type
        Every class that may be written, by its name in the file.
    """

    def __init__(self, classes: dict[str, type]) -> None:
        self._classes = classes
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
        if is_foreign(value):  # of a model that was fitted on a device
            value = to_host(value)
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, np.generic):
            return self._scalar(value, where)
        if self._classes.get(type(value).__name__) is type(value):
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
    name, key, position, has_gauss, gauss = items
    whole = type(position) is int and 0 <= position <= 624  # NumPy itself trusts it
    if not whole or name != "MT19937" or key.dtype != np.uint32 or has_gauss not in (0, 1):
        raise RefusedError("its random state is not one of NumPy.")
    random = np.random.RandomState()
    random.set_state((name, key, position, has_gauss, float(gauss)))
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


def write_archive(path: str | os.PathLike[str], content: Any, writer: Writer) -> None:
    """Write JSON and the arrays that belong to it, as a whole or not at all."""
    text = json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        archive.writestr(MEMBER, text.encode())
        for name, array in writer.arrays.items():
            archive.writestr(name, _npy(array))


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


# ---- JSON and arrays to values ------------------------------------------------------------------


class Reader:
    """Builds values from an archive, or raises."""

    def __init__(self, content: BinaryIO, classes: dict[str, type], max_json: int) -> None:
        self._classes = classes
        self._max_json = max_json
        self._n_places = 0
        size = content.seek(0, io.SEEK_END)
        if not zipfile.is_zipfile(content):
            raise RefusedError("it is not a model file of fwkmeans (not even a zip archive).")
        self._archive = zipfile.ZipFile(content)
        members = self._archive.infolist()
        if any(one.compress_type != zipfile.ZIP_STORED for one in members):
            raise RefusedError("it has compressed members, which save_model never writes.")
        if sum(one.file_size for one in members) > size:
            raise RefusedError("its members claim to be larger than the file.")
        if len({one.filename for one in members}) < len(members):
            raise RefusedError("it has two members of the same name.")
        self._members = {one.filename: one for one in members}
        self._arrays: dict[str, NDArray[Any]] = {}

    def read_json(self) -> Any:
        """Return the content of the JSON member."""
        if MEMBER not in self._members:
            raise RefusedError(f"it has no {MEMBER}, so it is not a model file of fwkmeans.")
        size = self._members[MEMBER].file_size
        if size > self._max_json:
            raise TooMuchJsonError(size, self._max_json)
        return json.loads(self._archive.read(MEMBER), parse_constant=_no_constant)

    def decode(self, node: Any) -> Any:
        """Return the value that a piece of JSON stands for."""
        if isinstance(node, list):
            for at, one in enumerate(node):  # in place, to hold it once
                node[at] = self.decode(one)
            return node
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
            made = _BUILDERS[kind]([self.decode(one) for one in node["items"]])
            self._n_places += len(made) if kind == "range" else 0
            if self._n_places > MOST_PLACES:
                raise RefusedError(f"it lists more than {MOST_PLACES} columns.")
            return made
        if kind not in self._classes:
            raise RefusedError(f"it names {kind!r}, which is not a part of this fwkmeans.")
        fields = {name: self.decode(one) for name, one in node["fields"].items()}
        return _build(self._classes[kind], fields)

    def _array(self, name: str) -> NDArray[Any]:
        if name not in self._arrays:
            if name not in self._members:
                raise RefusedError(f"its array {name!r} is missing.")
            self._arrays[name] = _read_npy(self._archive.read(name), name)
        return self._arrays[name]


def _no_constant(name: str) -> Any:
    raise RefusedError(f"its {MEMBER} holds {name}, which is not JSON.")


def _typed(name: Any) -> np.dtype[Any]:
    dtype = np.dtype(str(name))
    if dtype.kind not in "biufU" or dtype.names is not None or dtype.subdtype is not None:
        raise RefusedError(f"it holds values of type {name!r}; expected numbers, booleans or text.")
    return dtype


def _read_npy(content: bytes, name: str) -> NDArray[Any]:
    """Read an array; its shape must be what there are bytes for."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):  # (3, 0) is for names of fields
        raise RefusedError(f"its array {name!r} is written in an unknown way.")
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    shape, by_column, dtype = read[version](stream)
    _typed(dtype.str)
    data = content[stream.tell() :]
    if any(length < 0 for length in shape) or math.prod(shape) * dtype.itemsize != len(data):
        raise RefusedError(f"its array {name!r} has the shape {shape} but {len(data)} bytes.")
    if not data:
        return np.empty(shape, dtype)
    if dtype.kind == "b" and max(data) > 1:
        raise RefusedError(f"its array {name!r} holds bytes that are no truth values.")
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
                raise RefusedError(f"its {cls.__name__} lacks {name}.")
            fields[name] = default
    # a name of the class would hide a method
    hidden = [name for name in fields if name not in parameters and _is_taken(cls, name)]
    if hidden:
        raise RefusedError(f"its {cls.__name__} sets {hidden[0]!r}, which is not for files to set.")
    thing = cls.__new__(cls)
    vars(thing).update(fields)
    return thing


def _is_taken(cls: type, name: str) -> bool:
    return not name.isidentifier() or name.startswith("__") or hasattr(cls, name)
