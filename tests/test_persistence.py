"""A model comes back from its file as it went in, and no file can do harm."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import KMeans as OtherKMeans
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from fwkmeans import (
    AutoKMeans,
    AWKMeans,
    ConvexKMeans,
    FeatureWeightedKMeans,
    FGKMeans,
    IMWKMeans,
    KMeans,
    WKMeans,
)
from fwkmeans.centers import MinkowskiCenter
from fwkmeans.dissimilarities import Minkowski
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.exceptions import ModelFileError
from fwkmeans.fitted import FittedView
from fwkmeans.persistence import VERSION, load_model, save_model
from fwkmeans.preprocessing import RangeStandardizer, TableEncoder
from fwkmeans.weighting import EntropyWeights, WeightRule

MIXED = ["AWK", "WK-Means", "IK-P", "FG-K-Means"]
WITHOUT_GAPS = ["SYNCLUS"]


def table(rng, n=60, n_features=4):
    centers = rng.normal(scale=3.0, size=(3, n_features))
    return centers[rng.integers(3, size=n)] + rng.normal(size=(n, n_features))


def mixed(rng, n=60):
    X = np.empty((n, 4), dtype=object)
    X[:, 0], X[:, 1] = rng.random(n), rng.integers(0, 5, n).astype(float)
    X[:, 2] = np.array(["red", "green", "blé"])[rng.integers(0, 3, n)]
    X[:, 3] = [bool(one) for one in rng.integers(0, 2, n)]
    return X


def round_trip(model, folder):
    path = folder / "model.fwk"
    save_model(model, path)
    return load_model(path)


def assert_same(one, other):
    """Compare what two values hold, to the last bit."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if one.dtype.kind == "O":
            for mine, its in zip(one.ravel(), other.ravel(), strict=True):
                assert_same(mine, its)
        else:
            assert one.tobytes() == other.tobytes()
    elif isinstance(one, dict):
        assert list(one) == list(other)
        assert [type(key) for key in one] == [type(key) for key in other]
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for mine, its in zip(one, other, strict=True):
            assert_same(mine, its)
    elif isinstance(one, np.random.RandomState):
        assert_same(one.get_state(), other.get_state())
    elif hasattr(one, "__dict__"):
        assert_same(vars(one), vars(other))
    else:
        assert one == other or (one != one and other != other)


def assert_works_the_same(model, again, X):
    assert_same(model, again)
    assert_same(model.predict(X), again.predict(X))
    assert_same(model.transform(X), again.transform(X))
    assert_same(model.score(X), again.score(X))
    assert_same(model.get_params(), again.get_params())


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_comes_back(name, rng, dtype, tmp_path):
    X = table(rng).astype(dtype)
    model = ALGORITHMS[name](3, random_state=0).fit(X)
    again = round_trip(model, tmp_path)
    assert_works_the_same(model, again, X)
    assert again.cluster_centers_.dtype == dtype
    assert_same(again.labels_, model.labels_)


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("missing", [False, True])
def test_categories_come_back(name, missing, rng, tmp_path):
    X = mixed(rng)
    options = {}
    if missing:
        X[3, 0], X[5, 2], X[7, 3] = None, None, None
        options = {"missing": "ignore", "missing_category": "own"}
    model = ALGORITHMS[name](3, random_state=0, **options).fit(X)
    again = round_trip(model, tmp_path)
    assert_works_the_same(model, again, X)
    assert again.modes_ == model.modes_
    unseen = X.copy()
    unseen[0, 2] = "never seen"
    assert_same(model.predict(unseen), again.predict(unseen))


@pytest.mark.parametrize("name", sorted(set(ALGORITHMS) - set(WITHOUT_GAPS)))
@pytest.mark.parametrize("missing", ["ignore", "rescale"])
def test_models_of_tables_with_gaps_come_back(name, missing, rng, tmp_path):
    X = table(rng)
    X[rng.random(X.shape) < 0.1] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    model = ALGORITHMS[name](3, missing=missing, random_state=0).fit(X)
    assert_works_the_same(model, round_trip(model, tmp_path), X)


@pytest.mark.parametrize(
    "model",
    [
        FeatureWeightedKMeans(3, weighting=EntropyWeights(gamma=2.0), random_state=0),
        FeatureWeightedKMeans(
            3, dissimilarity=Minkowski(p=1.5), center=MinkowskiCenter(p=1.5), random_state=0
        ),
        FeatureWeightedKMeans(
            3, dissimilarity=Minkowski(p=np.inf), center=MinkowskiCenter(p=np.inf), random_state=0
        ),
        ConvexKMeans(3, spaces={"a": range(2), "b": [2, 3]}, spherical=["b"], random_state=0),
        ConvexKMeans(3, spaces=[slice(0, 2), np.array([2, 3])], random_state=0),
        FGKMeans(2, groups=["x", "x", "y", "y"], random_state=0),
        WKMeans(3, weights="cluster", random_state=np.random.RandomState(3)),
        WKMeans(np.int64(3), beta=np.float32(2.5), n_init=2, random_state=np.int32(3)),
        WKMeans(3, init=np.arange(12.0).reshape(3, 4)),
    ],
    ids=lambda model: str(model)[:60],
)
def test_parameters_and_parts_come_back(model, rng, tmp_path):
    X = table(rng)
    model = clone(model).fit(X)
    again = round_trip(model, tmp_path)
    assert_works_the_same(model, again, X)
    assert_same(clone(model).fit(X).labels_, clone(again).fit(X).labels_)


def test_pipelines_come_back(rng, tmp_path, df_module):
    X = mixed(rng)
    frame = df_module.DataFrame(
        {
            "size": X[:, 0].astype(float),
            "count": X[:, 1].astype(float),
            "color": X[:, 2].tolist(),
            "yes": X[:, 3].astype(bool),
        }
    )
    for model in (
        make_pipeline(TableEncoder(), KMeans(2, random_state=0)),
        make_pipeline(TableEncoder(categorical="keep", impute="median"), AWKMeans(2)),
        Pipeline([("yes", WKMeans(2, random_state=0)), ("no", "passthrough")]),
    ):
        model.fit(frame)
        again = round_trip(model, tmp_path)
        assert_same(model, again)
        if not isinstance(model.steps[-1][1], str):
            assert_works_the_same(model, again, frame)
        assert list(again.feature_names_in_) == ["size", "count", "color", "yes"]


def test_transformers_come_back(rng, tmp_path):
    X = table(rng)
    X[0, 0] = np.nan
    scaler = RangeStandardizer().fit(X)
    assert_same(scaler.transform(X), round_trip(scaler, tmp_path).transform(X))


def test_a_random_state_goes_on_where_it_was(rng, tmp_path):
    X = table(rng)
    state = np.random.RandomState(0)
    model = KMeans(3, random_state=state).fit(X)
    again = round_trip(model, tmp_path)
    assert again.random_state is not state
    assert again.random_state.randint(1000) == state.randint(1000)


# ---- what is refused when saving ----------------------------------------------------------------


class Own(WeightRule):
    def update(self, dispersion, context):
        return context.previous.values


class OwnKMeans(KMeans):
    pass


def own_init(X, n_clusters, random_state):
    return X[:n_clusters]


def test_code_is_not_saved(rng, tmp_path):
    X = table(rng)
    path = tmp_path / "model.fwk"
    with pytest.raises(TypeError, match=r"weighting is an object of .*Own, .*never code"):
        save_model(FeatureWeightedKMeans(2, weighting=Own()).fit(X), path)
    with pytest.raises(TypeError, match=r"KMeans\.init is a function .*own_init"):
        save_model(KMeans(2, init=own_init).fit(X), path)
    for model in (
        OwnKMeans(2),
        OtherKMeans(2, n_init=1),
        make_pipeline(StandardScaler(), KMeans(2)),
    ):
        with pytest.raises(TypeError, match="save_model takes the estimators"):
            save_model(model.fit(X), path)
    with pytest.raises(NotFittedError):
        save_model(KMeans(2), path)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_save_leaves_what_was_there(rng, tmp_path, monkeypatch):
    X, path = table(rng), tmp_path / "model.fwk"
    save_model(KMeans(2, random_state=0).fit(X), path)
    before = path.read_bytes()

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("fwkmeans._support.archive._npy", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save_model(KMeans(3, random_state=0).fit(X), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_nowhere_to_write_is_said(rng, tmp_path):
    model = KMeans(2, random_state=0).fit(table(rng))
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        save_model(model, tmp_path / "no" / "model.fwk")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        save_model(model, tmp_path)


# ---- what is refused when loading ---------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return the bytes of a model with everything in it, and rows for it."""
    rng = np.random.default_rng(0)
    X = mixed(rng)
    path = tmp_path_factory.mktemp("saved") / "model.fwk"
    model = make_pipeline(TableEncoder(categorical="keep"), AWKMeans(2, random_state=0)).fit(X)
    save_model(model, path)
    return path.read_bytes(), X


def members_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive_of(members, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def changed(saved, change):
    """Return the file after a change to its JSON and arrays."""
    members = members_of(saved[0])
    content = json.loads(members["model.json"])
    change(content, members)
    members["model.json"] = json.dumps(content).encode()
    return archive_of(members)


def cluster(content):
    """Return the fields of the estimator in the JSON."""
    _, (name, step) = (pair["items"] for pair in content["model"]["fields"]["steps"])
    assert name == "awkmeans"
    return step["fields"]


def refuse(content, tmp_path, match):
    path = tmp_path / "bad.fwk"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=match) as caught:
        load_model(path)
    assert "bad.fwk" in str(caught.value)


def test_the_changed_file_is_fine_without_a_change(saved, tmp_path):
    path = tmp_path / "good.fwk"
    path.write_bytes(changed(saved, lambda content, members: None))
    assert load_model(path).predict(saved[1]).size == 60


def test_other_files_are_refused(saved, tmp_path):
    refuse(b"", tmp_path, "not a model file")
    refuse(b"a,b\n1,2\n", tmp_path, "not a model file")
    refuse(archive_of({"a": b"b"}), tmp_path, r"no model\.json")
    refuse(archive_of({"model.json": b"[]"}), tmp_path, "not a model file")
    refuse(archive_of({"model.json": b"{"}), tmp_path, "damaged")
    refuse(archive_of({"model.json": b"[" * 100_000}), tmp_path, "damaged")
    refuse(saved[0][:-30], tmp_path, "not a model file|damaged")
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none.fwk")


def test_later_versions_are_refused(saved, tmp_path):
    def change(content, members):
        content["version"] = VERSION + 1

    refuse(changed(saved, change), tmp_path, f"version {VERSION + 1}.*newer fwkmeans")


def test_parameters_that_came_later_have_their_defaults(saved, tmp_path):
    def older(content, members):
        del cluster(content)["handle_unknown"]

    def without(content, members):
        del content["model"]["fields"]["steps"]

    path = tmp_path / "older.fwk"
    path.write_bytes(changed(saved, older))
    assert load_model(path)[-1].handle_unknown == "ignore"
    refuse(changed(saved, without), tmp_path, "Pipeline lacks steps")


def test_pickles_are_never_opened(saved, tmp_path):
    def change(content, members):
        name = cluster(content)["labels_"]["member"]
        members[name] = npy(np.array([print, {}], dtype=object))

    refuse(changed(saved, change), tmp_path, "values of type")


@pytest.mark.parametrize("kind", ["os.system", "Popen", "OwnKMeans", "object"])
def test_classes_of_others_are_never_built(saved, kind, tmp_path):
    def change(content, members):
        cluster(content)["init"] = {"kind": kind, "fields": {"args": "true"}, "items": []}

    refuse(changed(saved, change), tmp_path, "not a part of")


def test_methods_cannot_be_replaced(saved, tmp_path):
    for name in ("predict", "__class__", "_assignment", "a b"):

        def change(content, members, name=name):
            cluster(content)[name] = 1

        refuse(changed(saved, change), tmp_path, "not for files to set")


def test_archives_that_unpack_to_more_are_refused(saved, tmp_path):
    members = members_of(saved[0]) | {"zeros.npy": bytes(10**7)}
    refuse(archive_of(members, zipfile.ZIP_DEFLATED), tmp_path, "compressed members")
    header = npy(np.zeros(2)).replace(b"(2,)", b"(2000000000000,)")

    def change(content, members):
        members[cluster(content)["labels_"]["member"]] = header

    refuse(changed(saved, change), tmp_path, "damaged|bytes")


def test_missing_members_are_refused(saved, tmp_path):
    for name in members_of(saved[0]):
        members = members_of(saved[0])
        del members[name]
        refuse(archive_of(members), tmp_path, "is missing|has no model")


@pytest.mark.parametrize(
    ("attribute", "array", "what"),
    [
        ("labels_", np.array([0, 7], dtype=np.int32), "labels_"),
        ("labels_", np.array([0.0, 1.0]), "labels_"),
        ("feature_weights_", np.full((2, 4), np.nan), "feature_weights_"),
        ("feature_weights_", np.full((2, 4), -1.0), "feature_weights_"),
        ("feature_weights_", np.full((2, 5), 0.2), "feature_weights_"),
        ("feature_weights_", np.full((2, 4), 0.2, np.float32), "feature_weights_"),
        ("cluster_centers_", np.full((2, 4), np.nan), "centers"),
        ("cluster_centers_", np.zeros((3, 4)), "clusters"),
        ("_frequencies", np.zeros((2, 3)), "categories"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(saved, attribute, array, what, tmp_path):
    def change(content, members):
        node = cluster(content)[attribute]
        node["member"] = "new.npy"
        members["new.npy"] = npy(array)

    refuse(changed(saved, change), tmp_path, what)


def test_categories_that_do_not_fit_are_refused(saved, tmp_path):
    def change(content, members):
        columns = cluster(content)["_coding"]["fields"]["categories"]["items"]
        columns[0]["items"].append("one more")

    refuse(changed(saved, change), tmp_path, "columns")


def test_places_outside_are_refused(saved, tmp_path):
    def change(content, members):
        node = cluster(content)["_coding"]["fields"]["categorical"]
        node["member"] = "new.npy"
        members["new.npy"] = npy(np.array([2, 9]))

    refuse(changed(saved, change), tmp_path, "columns|damaged")


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damaged_files_are_refused_or_work(saved, tmp_path, data):
    content = bytearray(saved[0])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content)))]
    path = tmp_path / "damaged.fwk"
    path.write_bytes(content)
    try:
        model = load_model(path)
    except ModelFileError:
        return
    assert model.predict(saved[1]).shape == (60,)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_changed_json_is_refused_or_works(saved, tmp_path, data):
    def change(content, members):
        nodes = []

        def collect(node):
            if isinstance(node, dict | list):
                keys = node if isinstance(node, dict) else range(len(node))
                nodes.extend((node, key) for key in keys)
                for key in keys:
                    collect(node[key])

        collect(content["model"])
        for _ in range(data.draw(st.integers(1, 2))):
            node, key = nodes[data.draw(st.integers(0, len(nodes) - 1))]
            others = st.sampled_from(nodes).map(lambda pair: pair[0][pair[1]])
            node[key] = data.draw(st.none() | st.integers(-3, 9) | st.text(max_size=3) | others)

    path = tmp_path / "damaged.fwk"
    try:
        path.write_bytes(changed(saved, change))
    except (KeyError, IndexError, TypeError, ValueError, RecursionError):
        return  # the change put a piece of JSON into itself, or took away what the next one wants
    try:
        model = load_model(path)
    except ModelFileError:
        return
    # a pipeline that ends in nothing is a transformer: it has no clusters to predict
    labels = getattr(model, "predict", model.transform)(saved[1])
    assert len(labels) == 60


@pytest.mark.parametrize("position", [1_000_000, 625, -1, 3.0, True])
def test_random_states_are_those_of_numpy(saved, position, tmp_path):
    """NumPy reads outside its memory if the position is wrong."""

    def change(content, members):
        members["key.npy"] = npy(np.zeros(624, dtype=np.uint32))
        items = ["MT19937", {"kind": "array", "member": "key.npy"}, position, 0, 0.0]
        cluster(content)["random_state"] = {"kind": "RandomState", "items": items}

    refuse(changed(saved, change), tmp_path, "random state")


def test_a_file_does_not_say_where_pipelines_write(saved, rng, tmp_path):
    def change(content, members):
        content["model"]["fields"]["memory"] = str(tmp_path / "cache")

    refuse(changed(saved, change), tmp_path, "memory of its pipeline")
    X = table(rng)
    inner = make_pipeline(RangeStandardizer(), KMeans(2, random_state=0), memory=str(tmp_path))
    model = Pipeline([("inner", inner)], memory=str(tmp_path)).fit(X)
    again = round_trip(model, tmp_path)
    assert again.memory is again[0].memory is None
    assert model.memory == model[0].memory == str(tmp_path)
    assert_same(again.predict(X), model.predict(X))


def test_long_lists_of_columns_are_refused(rng, tmp_path):
    model = ConvexKMeans(2, random_state=0).fit(table(rng))
    for spaces, match in ((range(10**12), "more than"), ([range(10**5)] * 20, "more than")):
        save_model(model.set_params(spaces=spaces), tmp_path / "bad.fwk")
        refuse((tmp_path / "bad.fwk").read_bytes(), tmp_path, match)
    save_model(model.set_params(spaces=[[0, 1]]), tmp_path / "bad.fwk")
    refuse((tmp_path / "bad.fwk").read_bytes(), tmp_path, "damaged")


def test_parameters_and_fields_are_checked(saved, tmp_path):
    for name, value in {"tol": -1.0, "max_iter": "many", "n_clusters": None}.items():

        def change(content, members, name=name, value=value):
            cluster(content)[name] = value

        refuse(changed(saved, change), tmp_path, "damaged")

    def more(content, members):
        cluster(content)["more_"] = 1

    refuse(changed(saved, more), tmp_path, "sets 'more_', which is not for files")
    model = FGKMeans(2, groups=[0, 0, 1, 1], random_state=0).fit(np.arange(40.0).reshape(10, 4))
    model._memory.clear()
    save_model(model, tmp_path / "bad.fwk")
    refuse((tmp_path / "bad.fwk").read_bytes(), tmp_path, "when used|damaged")


def test_names_and_groups_come_back_and_are_checked(rng, tmp_path):
    model = WKMeans(3, random_state=0).fit(table(rng))
    FittedView.of(model).name_clusters(("giants", "the rest"), np.array([0, 1, 0]))
    again = round_trip(model, tmp_path)
    naming = FittedView.of(again).naming
    assert naming.names == ("giants", "the rest")
    assert naming.groups.tolist() == [0, 1, 0]
    for names, groups in (
        (("a",), [0, 1, 0]),
        (("a", "b"), [0, 1]),
        (("a", "b"), [0, 1, 2]),
        (("a", 1), [0, 1, 0]),
    ):
        FittedView.of(model).name_clusters(names, np.array(groups))
        save_model(model, tmp_path / "bad.fwk")
        refuse((tmp_path / "bad.fwk").read_bytes(), tmp_path, "damaged")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_pipes_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.fwk")
    with pytest.raises(ModelFileError, match=r"pipe\.fwk is a pipe or a device"):
        load_model(tmp_path / "pipe.fwk")


def test_much_text_is_read_if_allowed(rng, tmp_path):
    X = mixed(rng)
    X[0, 2] = "x" * 10_000
    model = AWKMeans(2, random_state=0).fit(X)
    save_model(model, tmp_path / "m.fwk")
    with pytest.raises(ModelFileError, match=r"more than max_json=20000.*max_json=\d{5}\)$"):
        load_model(tmp_path / "m.fwk", max_json=20_000)
    assert_same(load_model(tmp_path / "m.fwk", max_json=10**6), model)


@pytest.mark.long
def test_loading_does_not_need_the_model_in_memory(saved, tmp_path):
    path = tmp_path / "model.fwk"
    path.write_bytes(saved[0])
    code = (
        f"from fwkmeans.persistence import load_model; print(load_model({str(path)!r}).steps[1][0])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "awkmeans\n"


@pytest.mark.parametrize("name", ["mean_", "range_"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_transformers_without_finite_numbers_are_refused(name, value, tmp_path):
    model = TableEncoder().fit(np.random.default_rng(0).random((9, 3)))
    getattr(model, name)[1] = value
    save_model(model, tmp_path / "m.fwk")
    with pytest.raises(ValueError, match="does not fit the rest"):
        load_model(tmp_path / "m.fwk")


def test_parts_with_impossible_parameters_are_refused(rng, tmp_path):
    model = IMWKMeans(2).fit(table(rng))
    model._parts.dissimilarity.p = -1e300
    save_model(model, tmp_path / "m.fwk")
    with pytest.raises(ModelFileError, match="InvalidParameterError"):
        load_model(tmp_path / "m.fwk")


def test_levels_outside_are_refused_before_they_are_counted(rng, tmp_path):
    model = AutoKMeans(2).fit(mixed(rng))
    model._encoding.seen[-1] = 2**40  # bytes of memory, if it were believed
    save_model(model, tmp_path / "m.fwk")
    with pytest.raises(ModelFileError, match="_encoding does not fit"):
        load_model(tmp_path / "m.fwk")


def test_numbers_of_spaces_are_not_counted_up_to(rng, tmp_path):
    X = table(rng)
    model = ConvexKMeans(2, spaces=[[0, 1], [2, 3]], spherical=True, random_state=0).fit(X)
    model._parts.center.spaces[0] = 2**60
    save_model(model, tmp_path / "m.fwk")
    np.testing.assert_array_equal(load_model(tmp_path / "m.fwk").predict(X), model.labels_)


def test_files_that_claim_to_be_huge_are_not_read(tmp_path):
    path = tmp_path / "model.fwk"
    with path.open("wb") as file:
        file.truncate(200 * 10**9)  # takes no room on disk
    with pytest.raises(ModelFileError, match=r"model\.fwk cannot be used: it is not a model file"):
        load_model(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", "{}")
    content = path.read_bytes()
    with path.open("wb") as file:
        file.seek(200 * 10**9)
        file.write(content)
    with pytest.raises(ModelFileError, match="it is not a model file of fwkmeans"):
        load_model(path)


def test_models_that_do_not_fit_into_memory_are_told(tmp_path, monkeypatch):
    path = tmp_path / "model.fwk"
    save_model(KMeans(2).fit([[0.0, 1.0], [5.0, 1.0], [0.0, 2.0]]), path)

    def too_much(*_):
        raise MemoryError

    monkeypatch.setattr("fwkmeans._support.archive._read_npy", too_much)
    with pytest.raises(ModelFileError, match=r"model\.fwk cannot be used: what it holds does not"):
        load_model(path)
