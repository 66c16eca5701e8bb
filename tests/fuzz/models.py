"""Damaged and crafted model files: a sentence, or a model that works."""

import copy
import functools
import io
import json
import warnings
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from click.testing import CliRunner
from sklearn.pipeline import make_pipeline

from fwkmeans import AutoKMeans, FeatureWeightedKMeans
from fwkmeans.centers import MinkowskiCenter
from fwkmeans.cli import main
from fwkmeans.dissimilarities import Minkowski
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.exceptions import ModelFileError
from fwkmeans.fitted import FittedView
from fwkmeans.persistence import load_model, save_model
from fwkmeans.preprocessing import RangeStandardizer, TableEncoder

RANDOM_STATE = {
    "kind": "RandomState",
    "items": ["MT19937", {"kind": "array", "member": "key.npy"}, 1_000_000, 0, 0.0],
}
VALUES = [
    *(None, True, False, 0, 1, -1, 3, 7, 624, 10**12, 2**70, 0.5, -1e300, 1e-320),
    *("", "x", "error", "own", "anomalous", "random", "passthrough", [], [[]], {}, [0, 1]),
    {"kind": "float", "value": "nan"},
    {"kind": "float", "value": "-inf"},
    {"kind": "range", "items": [0, 10**12, 1]},
    {"kind": "slice", "items": [None, None, -1]},
    {"kind": "dict", "items": [["a", [0, 1]]]},
    {"kind": "tuple", "items": ["a", None]},
    {"kind": "objects", "shape": [2, 2], "items": [1, "a", None, True]},
    {"kind": "scalar", "dtype": "<f4", "value": 2},
    RANDOM_STATE,
]
DTYPES = ["f8", "f4", "i8", "i4", "u1", "?", "U3", ">f8", "u4"]


@functools.cache
def models():
    """Return each model as the members of its file, with the rows it was fitted to."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(30, 4)) + 3 * rng.integers(0, 2, (30, 1))
    mixed = numbers.astype(object)
    mixed[:, 2] = rng.choice(["red", "green", "blue"], 30)
    mixed[:, 3] = [bool(one) for one in rng.integers(0, 2, 30)]
    gaps = numbers.copy()
    gaps[rng.random(gaps.shape) < 0.1] = np.nan
    options = {"random_state": 0, "max_iter": 20, "n_jobs": 1}
    found = [
        *((model(2, **options), numbers) for model in ALGORITHMS.values()),
        (AutoKMeans(2), numbers),
        (AutoKMeans(2), mixed),
        (ALGORITHMS["AWK"](2, **options), mixed),
        (ALGORITHMS["IK-P"](2, **options), mixed),
        (ALGORITHMS["WK-Means"](2, missing="ignore", **options), gaps),
        (ALGORITHMS["CK-Means"](2, spaces=[[0, 1], [2, 3]], spherical=True, **options), numbers),
        (ALGORITHMS["FG-K-Means"](2, groups=["a", "a", "b", "b"], **options), numbers),
        (ALGORITHMS["SYNCLUS"](2, groups=[[0, 1], [2, 3]], **options), numbers),
        (
            FeatureWeightedKMeans(
                2, dissimilarity=Minkowski(p=1.5), center=MinkowskiCenter(p=1.5), **options
            ),
            numbers,
        ),
        (make_pipeline(RangeStandardizer(), ALGORITHMS["EW-KM"](2, **options)), numbers),
        (make_pipeline(TableEncoder(), ALGORITHMS["K-Means"](2, **options)), mixed),
        (
            make_pipeline(TableEncoder(categorical="keep"), ALGORITHMS["AWK"](2, **options)),
            mixed,
        ),
    ]
    return [(_members(model.fit(X)), X) for model, X in found]


def _members(model):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.fwk"
        save_model(model, path)
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}


def _packed(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def _places(node, found):
    """Collect every place in a piece of JSON as (container, key)."""
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        found.append((node, key))
        if isinstance(node[key], dict | list):
            _places(node[key], found)
    return found


def _change_json(rng, members):
    content = json.loads(members["model.json"])
    for _ in range(rng.integers(1, 3)):
        places = _places(content, [])
        node, key = places[rng.integers(len(places))]
        what = rng.integers(5)
        if what == 0:
            del node[key]
        elif what == 1:
            other, there = places[rng.integers(len(places))]
            node[key] = copy.deepcopy(other[there])
        elif what == 2 and isinstance(node, dict):
            node[str(rng.choice(["extra_", "_hidden", "memory", "labels_"]))] = node[key]
        else:
            node[key] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
    members["model.json"] = json.dumps(content).encode()
    members["key.npy"] = _npy(np.zeros(624, dtype=np.uint32))


def _change_array(rng, members):
    name = str(rng.choice([name for name in members if name.endswith(".npy")]))
    array = np.load(io.BytesIO(members[name]))
    what = rng.integers(6)
    if what == 0:
        array = array.astype(DTYPES[rng.integers(len(DTYPES))], casting="unsafe")
    elif what == 1:
        array = array.reshape(-1)[: rng.integers(array.size + 1)]
    elif what == 2:
        array = np.stack([array, array])
    elif what == 3:
        array = np.concatenate([array.reshape(-1), array.reshape(-1)])
    elif array.size:
        array = array.copy()
        flat = array.reshape(-1)
        if array.dtype.kind == "f":
            values = [np.nan, np.inf, -1.0, 1e300, 0.0]
        else:
            values = [-1, 99, np.iinfo(array.dtype).max] if array.dtype.kind == "i" else [1]
        flat[rng.integers(flat.size)] = values[rng.integers(len(values))]
    members[name] = _npy(array)


def _change_members(rng, members):
    names = list(members)
    one, other = (str(rng.choice(names)) for _ in range(2))
    what = rng.integers(4)
    if what == 0:
        del members[one]
    elif what == 1:
        members["more.npy"] = members[one]
    elif what == 2:
        members[one], members[other] = members[other], members[one]
    else:
        members[one] = members[one][: rng.integers(len(members[one]) + 1)]


def _change_bytes(rng, content):
    content = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        content[rng.integers(len(content))] ^= 1 << rng.integers(8)
    if rng.random() < 0.2:
        content = content[: rng.integers(len(content) + 1)]
    return bytes(content)


def one_case(rng, folder):
    """Damage one file and try it in Python and in the command line."""
    found, X = models()[rng.integers(len(models()))]
    members = dict(found)
    how = rng.integers(4)
    if how < 3:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            (_change_json, _change_array, _change_members)[how](rng, members)
        content = _packed(members)
    else:
        content = _change_bytes(rng, _packed(members))
    path = folder / "m.fwk"
    path.write_bytes(content)
    works = _use(path, X)
    if rng.random() < 0.3:
        _use_in_the_command_line(path, X, works)


def _use(path, X):
    """Return whether the model of a file works."""
    try:
        model = load_model(path)
    except ModelFileError as error:
        _check_sentence(error)
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if not hasattr(model, "predict"):  # the last step was taken away
                model.transform(X)
                return False
            labels = model.predict(X)
            apart = model.transform(X)
        except ValueError as error:  # such as a parameter that now refuses missing cells
            _check_sentence(error)
            return False
        last = model[-1] if hasattr(model, "steps") else model
        assert labels.shape == (30,)
        assert 0 <= labels.min() <= labels.max() < last.n_clusters_
        assert apart.shape == (30, last.n_clusters_)
        view = FittedView.of(last)
        for name, value in vars(FittedView).items():
            if isinstance(value, property):
                getattr(view, name)
        repr(model)
    return True


def _check_sentence(error):
    assert str(error)[0].isupper() or str(error).startswith("m.fwk "), str(error)
    assert str(error).endswith((".", ")")), str(error)


def _use_in_the_command_line(path, X, works):
    table = path.with_name("t.csv")
    lines = [",".join("" if cell != cell else str(cell) for cell in row) for row in X.tolist()]
    table.write_text("\n".join(["a,b,c,d", *lines]) + "\n")
    done = CliRunner().invoke(main, ["predict", str(path), str(table)])
    assert done.exit_code in (0, 1), (done.exit_code, done.output, done.exception)
    assert "report" not in done.stderr.lower(), done.stderr
    assert "Traceback" not in done.output, done.output
    assert works or done.exit_code == 1, done.output
