"""Dask collections: the same fit as in memory, and the rows stay where they are."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from fwkmeans import (
    AutoKMeans,
    AWKMeans,
    ConvexKMeans,
    EWKMeans,
    IKPrototypes,
    IMWKMeans,
    KMeans,
    WKMeans,
)
from fwkmeans.persistence import load_model, save_model
from fwkmeans.sources import ChunkedSource

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

ONE = {"n_init": 1, "random_state": 0, "max_iter": 20}


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def X(rng):
    return rng.normal(size=(200, 4)) + 4.0 * rng.integers(3, size=(200, 1))


@pytest.fixture
def frame(rng):
    frame = pd.DataFrame(rng.normal(size=(120, 2)), columns=["a", "b"])
    frame["color"] = np.repeat(["red", "blue", "green", "red"], 30)
    frame["size"] = rng.choice(["s", "m"], 120)
    frame.loc[:29, "a"] += 6.0
    return frame


def unknown(X, lengths):
    """Return an array of chunks whose lengths Dask does not know."""
    ends = np.cumsum(lengths)
    pieces = [
        da.from_delayed(dask.delayed(X[end - n : end]), (np.nan, X.shape[1]), X.dtype)
        for n, end in zip(lengths, ends, strict=True)
    ]
    return da.concatenate(pieces, allow_unknown_chunksizes=True)


def partitions(frames, meta=None):
    return dd.from_delayed([dask.delayed(one) for one in frames], meta=meta, verify_meta=False)


def assert_same(model, expected, rtol=1e-9):
    np.testing.assert_array_equal(np.asarray(model.labels_), expected.labels_)
    np.testing.assert_allclose(
        model.cluster_centers_, expected.cluster_centers_, rtol=rtol, atol=1e-12
    )
    np.testing.assert_allclose(
        model.feature_weights_, expected.feature_weights_, rtol=rtol, atol=1e-12
    )
    assert model.inertia_ == pytest.approx(expected.inertia_, rel=rtol)
    assert model.n_iter_ == expected.n_iter_


# ---- arrays --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "chunks",
    [(200, 4), (30, 4), ((1, 0, 99, 0, 100), 4), (64, (1, 3)), ((0, 200, 0), (2, 2))],
    ids=["one", "even", "empty", "columns", "both"],
)
@pytest.mark.parametrize("estimator", [EWKMeans, IKPrototypes])
def test_any_chunks_give_the_fit_of_the_rows_in_memory(X, chunks, estimator):
    rows = da.from_array(X, chunks=chunks)
    model = estimator(3, **ONE).fit(rows)
    assert_same(model, estimator(3, **ONE).fit(X))
    assert isinstance(model.labels_, da.Array)
    assert model.labels_.dtype == np.int32
    assert model.labels_.chunks == rows.chunks[:1]
    assert model.n_features_in_ == 4
    assert not hasattr(model, "feature_names_in_")


def test_chunks_of_unknown_length_get_labels_of_known_length(X):
    model = EWKMeans(3, **ONE).fit(unknown(X, [50, 0, 70, 80]))
    assert_same(model, EWKMeans(3, **ONE).fit(X))
    assert model.labels_.chunks == ((50, 0, 70, 80),)


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 100])
@pytest.mark.parametrize("estimator", [KMeans, EWKMeans, IMWKMeans])
def test_parts_are_joined_in_the_tree_of_every_source(rng, n, estimator):
    """The same blocks give the same bits as those of a file."""
    X = rng.normal(size=(7 * n + 3, 3))
    options = ONE | {"init": "random", "max_iter": 5}
    in_file = ChunkedSource(X, block_bytes=7 * X[0].nbytes)
    expected = estimator(3, **options).fit(in_file)
    model = estimator(3, **options).fit(da.from_array(X, chunks=(7, 3)))
    assert model.cluster_centers_.tobytes() == expected.cluster_centers_.tobytes()
    assert model.feature_weights_.tobytes() == expected.feature_weights_.tobytes()
    assert model.inertia_ == expected.inertia_
    np.testing.assert_array_equal(model.objective_history_, expected.objective_history_)


def test_float32_stays_float32(X):
    X = X.astype(np.float32)
    rows = da.from_array(X, chunks=(60, 4))
    model = EWKMeans(3, **ONE).fit(rows)
    assert_same(model, EWKMeans(3, **ONE).fit(X), rtol=1e-5)
    assert model.cluster_centers_.dtype == np.float32
    assert model.transform(rows).dtype == model.transform(rows).compute().dtype == np.float32


@pytest.mark.parametrize("dtype", [np.int16, bool, object])
def test_other_types_become_float64(X, dtype):
    X = np.round(X).clip(0, 9)
    X = X > 2 if dtype is bool else X.astype(dtype)
    model = EWKMeans(3, **ONE).fit(da.from_array(X, chunks=(60, 4)))
    assert_same(model, EWKMeans(3, **ONE).fit(X))
    assert model.cluster_centers_.dtype == np.float64


def test_persisted_rows_are_used_in_place(X):
    """Chunks of floating-point numbers are not copied, nor computed twice if they are there."""
    computed = []

    def make(block):
        computed.append(len(block))
        return block.copy()

    rows = da.from_array(X, chunks=(50, 4)).map_blocks(make, dtype=X.dtype, meta=X[:0])
    persisted = rows.persist()
    n = len(computed)
    model = EWKMeans(3, **ONE).fit(persisted)
    assert len(computed) == n
    assert_same(EWKMeans(3, **ONE).fit(rows), model)
    assert len(computed) > 2 * n  # without a cluster, chunks are computed in every pass


@pytest.mark.parametrize("missing", ["ignore", "rescale"])
@pytest.mark.parametrize("estimator", [EWKMeans, IKPrototypes])
def test_missing_cells_are_left_out_alike(X, rng, estimator, missing):
    X[rng.random(X.shape) < 0.2] = np.nan
    X[np.isnan(X).all(axis=1)] = 0.0
    model = estimator(3, missing=missing, **ONE).fit(da.from_array(X, chunks=(60, 4)))
    assert_same(model, estimator(3, missing=missing, **ONE).fit(X))
    with pytest.raises(ValueError, match="contains NaN or other missing values in columns 0, 1"):
        estimator(3, **ONE).fit(da.from_array(X, chunks=(60, 4)))


@pytest.mark.parametrize("init", ["k-means++", "random", "anomalous"])
def test_starts_are_those_of_the_rows_in_memory(X, rng, init):
    weight = rng.random(200) * (rng.random(200) > 0.3)
    options = ONE | {"init": init}
    model = WKMeans(3, **options).fit(da.from_array(X, chunks=(33, 4)), sample_weight=weight)
    assert_same(model, WKMeans(3, **options).fit(X, sample_weight=weight))


def test_spherical_spaces_and_forgotten_weights(X):
    X[::7] = np.nan
    X[::7, 0] = 1.0
    options = {"spaces": [[0, 1], [2, 3]], "metrics": "spherical", "grid": 3, **ONE}
    options = {k: v for k, v in options.items() if k in ConvexKMeans().get_params()}
    expected = ConvexKMeans(3, missing="ignore", **options).fit(X)
    model = ConvexKMeans(3, missing="ignore", **options).fit(da.from_array(X, chunks=(33, 4)))
    np.testing.assert_array_equal(np.asarray(model.labels_), expected.labels_)


def test_sparse_chunks_stay_sparse(X, rng):
    X[rng.random(X.shape) < 0.5] = 0.0
    rows = da.from_array(X, chunks=(60, 4)).map_blocks(csr_array)
    model = EWKMeans(3, **ONE).fit(rows)
    assert_same(model, EWKMeans(3, **ONE).fit(csr_array(X)))
    np.testing.assert_array_equal(model.predict(rows).compute(), model.labels_.compute())
    with pytest.raises(TypeError, match=r"X is sparse.*IKPrototypes needs dense rows"):
        IKPrototypes(3).fit(rows)
    half = da.concatenate([rows[:60], da.from_array(X[60:], chunks=(70, 4))])
    with pytest.raises(TypeError, match="1 of 3 chunks of X are sparse"):
        EWKMeans(3).fit(half)


# ---- frames --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["str", "object", "category", "ordered"])
def test_categories_of_all_partitions_are_found(frame, kind):
    """No partition has all colors; types of partitions declare different ones."""
    if kind == "ordered":
        order = pd.CategoricalDtype(["red", "never", "green", "blue"], ordered=True)
        frame["color"] = frame["color"].astype(order)
        frames = [frame[at : at + 30] for at in range(0, 120, 30)]
    else:
        frames = [frame[at : at + 30].astype({"color": kind}) for at in range(0, 120, 30)]
        frame["color"] = frame["color"].astype(kind)
    rows = partitions(frames)
    assert rows.npartitions == 4
    model = AWKMeans(3, **ONE).fit(rows)
    expected = AWKMeans(3, **ONE).fit(frame)
    assert_same(model, expected)
    assert model.modes_ == expected.modes_
    assert list(model.category_frequencies_["color"]) == list(
        expected.category_frequencies_["color"]
    )
    assert model.feature_names_in_.tolist() == ["a", "b", "color", "size"]
    np.testing.assert_array_equal(model.predict(rows).compute(), expected.labels_)
    assert model.score(rows) == pytest.approx(-model.inertia_, rel=1e-12)


def test_orders_that_differ_between_partitions(frame):
    """The longest order is that of the categories, if it has them all."""
    frames = [frame[at : at + 60].copy() for at in (0, 60)]
    for one, order in zip(frames, (["red", "blue"], ["red", "green", "blue"]), strict=True):
        one["color"] = pd.Categorical(one["color"], order, ordered=True)
    model = AWKMeans(3, **ONE).fit(partitions(frames))
    assert list(model.category_frequencies_["color"]) == ["red", "green", "blue"]
    frames[1]["color"] = frames[1]["color"].cat.remove_unused_categories()
    assert list(frames[1]["color"].cat.categories) == ["red", "green"]
    model = AWKMeans(3, **ONE).fit(partitions(frames))
    assert list(model.category_frequencies_["color"]) == ["blue", "green", "red"]


def test_a_column_of_objects_is_categorical_if_a_partition_says_so(frame):
    frame["mixed"] = pd.Series([1, 2] * 30 + ["x", "y"] * 30, dtype=object)
    with dask.config.set({"dataframe.convert-string": False}):
        rows = partitions([frame[:60], frame[60:]])
        model = AWKMeans(3, **ONE).fit(rows)
    assert_same(model, AWKMeans(3, **ONE).fit(frame))
    assert set(model.category_frequencies_["mixed"]) == {1, 2, "x", "y"}


def test_empty_and_uneven_partitions_keep_their_place(frame):
    cuts = [(0, 0), (0, 7), (7, 7), (7, 120), (0, 0)]
    rows = dd.from_map(lambda cut: frame[slice(*cut)], cuts, meta=frame[:0])
    model = AWKMeans(3, **ONE).fit(rows)
    assert_same(model, AWKMeans(3, **ONE).fit(frame))
    assert model.labels_.chunks == ((0, 7, 0, 113, 0),)
    np.testing.assert_array_equal(model.predict(rows).compute(), model.labels_.compute())
    assert model.transform(rows).compute().shape == (120, 3)
    column = dd.from_dask_array(model.labels_, index=rows.index)
    assert column.compute().tolist() == model.labels_.compute().tolist()


def test_missing_categories_and_rows_without_weight(frame):
    frame.loc[::9, "size"] = None
    frame.loc[30:59, "weight"] = 0.0  # all rows that are blue
    frame["weight"] = frame["weight"].fillna(2.0)
    table = frame.drop(columns="weight")
    rows = dd.from_pandas(frame, npartitions=5)
    options = ONE | {"missing": "ignore", "handle_unknown": "error"}
    model = AWKMeans(3, **options).fit(rows.drop(columns="weight"), sample_weight=rows["weight"])
    expected = AWKMeans(3, **options).fit(table, sample_weight=frame["weight"])
    assert_same(model, expected)
    assert list(model.category_frequencies_["color"]) == ["green", "red"]
    np.testing.assert_array_equal(  # blue was seen, without weight
        model.predict(rows.drop(columns="weight")).compute(), expected.predict(table)
    )
    strange = table.assign(color="black")
    later = model.predict(dd.from_pandas(strange, npartitions=2))
    with pytest.raises(ValueError, match="categories that fit has not seen: 'black'"):
        later.compute()
    own = AWKMeans(3, missing_category="own", **ONE).fit(dd.from_pandas(table, npartitions=3))
    assert list(own.category_frequencies_["size"]) == ["m", "s", None]


# ---- sample weights ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["numpy", "same", "other chunks", "unknown", "series", "number"])
def test_sample_weights_of_any_kind(X, rng, kind):
    weight = rng.random(200) * (rng.random(200) > 0.2)
    rows = da.from_array(X, chunks=(60, 4))
    given = {
        "numpy": weight,
        "same": da.from_array(weight, chunks=60),
        "other chunks": da.from_array(weight, chunks=77),
        "unknown": unknown(weight[:, None], [60, 60, 60, 20])[:, 0],
        "series": dd.from_pandas(pd.Series(weight), chunksize=60),
        "number": 2.0,
    }[kind]
    expected = EWKMeans(3, **ONE).fit(X, sample_weight=2.0 if kind == "number" else weight)
    model = EWKMeans(3, **ONE).fit(rows, sample_weight=given)
    assert_same(model, expected)
    assert model.score(rows, sample_weight=given) == pytest.approx(-expected.inertia_)
    of_unknown = EWKMeans(3, **ONE).fit(unknown(X, [60, 60, 60, 20]), sample_weight=given)
    assert_same(of_unknown, expected)


def test_sample_weights_may_name_a_column_as_in_files(X, rng):
    weight = rng.random(200)
    table = pd.DataFrame(X, columns=list("abcd"))
    rows = dd.from_pandas(table.assign(w=weight), npartitions=3)
    model = EWKMeans(3, **ONE).fit(rows, sample_weight="w")
    assert_same(model, EWKMeans(3, **ONE).fit(table, sample_weight=weight))
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.score(rows, sample_weight="w") == pytest.approx(-model.inertia_)
    for given, known in ((rows, "'a', 'b', 'c', 'd', 'w'"), (rows.values, "no names")):
        with pytest.raises(ValueError, match=f"that X does not have: it has {known}"):
            EWKMeans(3, **ONE).fit(given, sample_weight="weight")


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (da.ones(199, chunks=60), r"sample_weight.shape == \(199,\), expected \(200,\)"),
        (np.ones(199), r"sample_weight.shape == \(199,\), expected \(200,\)"),
        (unknown(np.ones((199, 1)), [60, 60, 60, 19])[:, 0], r"shape == \(199,\), expected"),
        (unknown(np.ones((200, 1)), [60, 61, 59, 20])[:, 0], "Partition 1 of X has 60 rows.* 61"),
        (unknown(np.ones((200, 1)), [60, 140])[:, 0], "4 partitions and sample_weight has 2"),
        (da.ones((200, 1), chunks=60), "of 2 dimensions; expected one weight per row"),
        (da.full(200, -1.0, chunks=60), "Negative values in sample_weight"),
        (da.full(200, np.nan, chunks=60), "sample_weight contains NaN"),
        (da.zeros(200, chunks=60), "sample_weight is zero for every row"),
        (da.from_array(np.full(200, "a"), chunks=60), "sample_weight holds <U1; expected numbers"),
    ],
)
def test_bad_sample_weights_are_refused_in_fit(X, weight, message):
    with pytest.raises(ValueError, match=message):
        EWKMeans(3, **ONE).fit(da.from_array(X, chunks=(60, 4)), sample_weight=weight)


# ---- what is refused -----------------------------------------------------------------------------


def test_what_is_no_table_is_refused(X, frame):
    rows = da.from_array(X, chunks=(60, 4))
    text = dd.from_pandas(frame, npartitions=2)
    bag = pytest.importorskip("dask.bag")
    for given, kind, message in [
        (bag.from_sequence([1, 2]), TypeError, "X is a Dask Bag; expected a dask.array.Array"),
        (text["a"], TypeError, r"X is a Dask Series.*X\.to_frame\(\)"),
        (rows[:, 0], ValueError, "Expected 2D array, got 1D array"),
        (rows[:, rows[0] > 0], ValueError, "does not know how many columns"),
        (rows[:0], ValueError, r"Found a table with 0 row\(s\) and 4 column"),
        (rows[:, :0], ValueError, r"0 column\(s\)"),
        (rows + 1j, ValueError, "complex128"),
        (text, ValueError, "Not numeric: columns 'color', 'size' of X"),
    ]:
        with pytest.raises(kind, match=message):
            EWKMeans(2).fit(given)
    with pytest.raises(TypeError, match="Leave device out"):
        EWKMeans(2).fit(rows, device="cuda")
    with pytest.raises(ValueError, match="init is a callable"):
        EWKMeans(2, init=lambda *_, **__: X[:2]).fit(rows)


def test_auto_k_means_studies_a_sample_and_labels_all_rows(X, frame):
    for here, there in [
        (X, da.from_array(X, chunks=(60, 4))),
        (frame, dd.from_pandas(frame, npartitions=3)),
    ]:
        alone, spread = AutoKMeans(2).fit(here), AutoKMeans(2).fit(there)
        assert isinstance(spread.labels_, da.Array)
        assert_array_equal(spread.labels_.compute(), alone.labels_)
        assert_allclose(spread.feature_weights_, alone.feature_weights_, rtol=1e-6, atol=1e-9)
        assert_array_equal(spread.predict(there).compute(), alone.labels_)


def test_bad_cells_and_partitions_are_named(frame):
    frame["day"] = pd.Timestamp("2026-01-01")
    with pytest.raises(ValueError, match="Column 'day' holds dates"):
        AWKMeans(2).fit(dd.from_pandas(frame, npartitions=2))
    table = frame.drop(columns="day")
    with pytest.raises(ValueError, match=r"'color'.*expected numbers"):
        AWKMeans(2, categorical_features=["size"]).fit(dd.from_pandas(table, npartitions=2))
    other = partitions([table[:60], table[60:][["b", "a", "color", "size"]]])
    with pytest.raises(ValueError, match="A partition of X has the columns 'b', 'a'"):
        AWKMeans(2).fit(other)
    table["a"] = np.inf
    with pytest.raises(ValueError, match="contains infinity in column 'a'"):
        AWKMeans(2).fit(dd.from_pandas(table, npartitions=2))
    table["a"], table["size"] = 0.0, None
    with pytest.raises(ValueError, match="Nothing is observed in column 'size'"):
        AWKMeans(2, categorical_features=["size", "color"]).fit(
            dd.from_pandas(table, npartitions=2)
        )


# ---- predictions ---------------------------------------------------------------------------------


def test_predictions_are_computed_later(X):
    model = EWKMeans(3, **ONE).fit(X)

    def fail(block):
        raise RuntimeError("computed")

    rows = da.from_array(X, chunks=(60, 2)).map_blocks(fail, dtype=X.dtype, meta=X[:0])
    for later in (model.predict(rows), model.transform(rows)):
        assert later.shape[0] == 200
        with pytest.raises(RuntimeError, match="computed"):
            later.compute()
    rows = da.from_array(X, chunks=(60, 2))
    np.testing.assert_array_equal(model.predict(rows).compute(), model.labels_)
    np.testing.assert_array_equal(model.transform(rows).compute(), model.transform(X))
    assert model.score(rows) == pytest.approx(model.score(X), rel=1e-12)
    assert np.isnan(model.predict(unknown(X, [100, 100])).shape[0])
    with pytest.raises(ValueError, match="X has 3 features, but EWKMeans is expecting 4"):
        model.predict(rows[:, :3])


def test_columns_of_a_frame_are_found_by_name(frame):
    rows = dd.from_pandas(frame, npartitions=3)
    model = WKMeans(2, **ONE).fit(rows)
    other = rows[["size", "b", "color", "a"]].assign(more=1.0)
    assert_array_equal(model.predict(other).compute(), model.labels_.compute())
    assert_allclose(model.transform(other).compute(), model.transform(frame))
    assert model.score(other) == pytest.approx(-model.inertia_)
    with pytest.raises(ValueError, match="missing:\n- b"):
        model.predict(rows[["size", "color", "a"]])


def test_fit_predict_fit_transform_and_auto(X):
    rows = da.from_array(X, chunks=(60, 4))
    expected = EWKMeans(3, **ONE).fit(X)
    np.testing.assert_array_equal(EWKMeans(3, **ONE).fit_predict(rows), expected.labels_)
    np.testing.assert_allclose(EWKMeans(3, **ONE).fit_transform(rows), expected.transform(X))
    auto = AutoKMeans(2).fit(X)
    np.testing.assert_array_equal(AutoKMeans(2).fit_predict(rows), auto.labels_)
    np.testing.assert_array_equal(auto.predict(rows).compute(), auto.predict(X))
    np.testing.assert_allclose(auto.predict_proba(rows).compute(), auto.predict_proba(X))


def test_a_model_travels_without_its_labels(X):
    """Labels in memory are not sent with every task."""
    from fwkmeans.estimators.dask import _Method

    model = EWKMeans(3, **ONE).fit(X)
    later = model.predict(da.from_array(X, chunks=(60, 4)))
    (method,) = (
        arg
        for task in dict(later.dask).values()
        for arg in _leaves(task)
        if isinstance(arg, _Method)
    )
    assert not hasattr(method.model, "labels_")
    assert hasattr(model, "labels_")


def _leaves(task):
    """Return what is in a task, in the forms that versions of Dask have for them."""
    for arg in task if isinstance(task, tuple) else getattr(task, "args", ()):
        yield getattr(arg, "value", arg)


# ---- models --------------------------------------------------------------------------------------


def test_models_are_pickled_and_saved_without_dask(X, tmp_path):
    model = EWKMeans(3, **ONE).fit(da.from_array(X, chunks=(60, 4)))
    labels = model.labels_.compute()
    again = pickle.loads(pickle.dumps(model))
    assert not hasattr(again, "labels_")  # they stay with the cluster
    np.testing.assert_array_equal(again.predict(X), labels)
    save_model(model, tmp_path / "model.fwk")
    loaded = load_model(tmp_path / "model.fwk")
    np.testing.assert_array_equal(loaded.predict(X), labels)
    assert hasattr(model, "labels_")
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(model))
    code = (
        "import pickle, sys; sys.modules['dask'] = None\n"
        "model = pickle.load(open('model.pickle', 'rb'))\n"
        "from fwkmeans.persistence import load_model\n"
        "assert (load_model('model.fwk').cluster_centers_ == model.cluster_centers_).all()\n"
        "print(model.predict([[0.0] * 4]).shape, 'distributed' in sys.modules)\n"
    )
    run = [sys.executable, "-c", code]
    out = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert out.stdout.split() == ["(1,)", "False"]


def test_representation_and_partial_fit(X):
    rows = da.from_array(X, chunks=(60, 4))
    model = EWKMeans(3, **ONE).fit(rows)
    assert "EWKMeans" in model._repr_html_()
    one = EWKMeans(3, random_state=0).partial_fit(rows)
    expected = EWKMeans(3, random_state=0).partial_fit(X)
    np.testing.assert_allclose(one.cluster_centers_, expected.cluster_centers_, rtol=1e-9)
