"""Estimators on files and large memory maps: the same answers as from memory."""

import numpy as np
import pytest

from fwkmeans import EWKMeans, IMWKMeans, KMeans, WKMeans
from fwkmeans.estimators import inputs
from fwkmeans.sources import ChunkedSource, MemorySource, open_npy


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return np.round(20 * (rng.normal(size=(300, 4)) + 4 * rng.integers(0, 3, (300, 1))))


def saved(tmp_path, X, name="rows.npy"):
    np.save(tmp_path / name, X)
    return tmp_path / name


def assert_same_fit(model, other):
    np.testing.assert_array_equal(model.labels_, other.labels_)
    np.testing.assert_allclose(model.cluster_centers_, other.cluster_centers_, rtol=1e-10)
    np.testing.assert_allclose(model.feature_weights_, other.feature_weights_, rtol=1e-9)
    assert model.inertia_ == pytest.approx(other.inertia_, rel=1e-11)
    assert model.n_iter_ == other.n_iter_
    assert model.cluster_centers_.dtype == other.cluster_centers_.dtype
    assert model.n_features_in_ == other.n_features_in_


@pytest.mark.parametrize("as_path", [str, lambda path: path], ids=["str", "Path"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("estimator", [KMeans, WKMeans, EWKMeans])
def test_a_path_gives_what_the_array_gives(tmp_path, X, estimator, weighted, as_path):
    path = as_path(saved(tmp_path, X))
    weight = np.random.default_rng(1).integers(0, 3, 300) * 0.5 if weighted else None
    model = estimator(3, random_state=0).fit(X, sample_weight=weight)
    other = estimator(3, random_state=0).fit(path, sample_weight=weight)
    assert_same_fit(other, model)
    np.testing.assert_array_equal(other.predict(path), model.predict(X))
    np.testing.assert_array_equal(model.predict(path), model.labels_)
    np.testing.assert_array_equal(model.transform(path), model.transform(X))
    scores = model.score(path, sample_weight=weight), model.score(X, sample_weight=weight)
    assert scores[0] == pytest.approx(scores[1], rel=1e-12)
    labels = estimator(3, random_state=0).fit_predict(path, sample_weight=weight)
    np.testing.assert_array_equal(labels, model.labels_)
    np.testing.assert_array_equal(
        estimator(3, random_state=0).fit_transform(path, sample_weight=weight),
        other.transform(X),
    )


@pytest.mark.parametrize("block_bytes", [1, 500, 1 << 20])
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_a_source_of_small_blocks_gives_what_the_array_gives(tmp_path, X, block_bytes, init):
    source = ChunkedSource(saved(tmp_path, X), block_bytes=block_bytes)
    model = EWKMeans(4, init=init, n_init=3, random_state=0)
    expected = EWKMeans(4, init=init, n_init=3, random_state=0).fit(X)
    assert_same_fit(model.fit(source), expected)
    np.testing.assert_array_equal(model.predict(source), expected.labels_)
    np.testing.assert_array_equal(model.transform(source), model.transform(X))
    assert model.score(source) == pytest.approx(-model.inertia_, rel=1e-12)


@pytest.mark.thinned
@pytest.mark.parametrize(
    "dtype", ["i1", "u1", "i2", ">i2", "i4", "i8", "u8", "f2", ">f4", ">f8", "f4", "f8", "g"]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_files_of_every_number_type(tmp_path, X, dtype, order):
    table = np.asarray(X.clip(0, 120).astype(dtype), order=order)
    path = saved(tmp_path, table)
    assert_same_fit(
        WKMeans(3, random_state=0).fit(ChunkedSource(path, block_bytes=300)),
        WKMeans(3, random_state=0).fit(table),
    )


def test_files_of_booleans(tmp_path):
    table = np.random.default_rng(0).random((200, 5)) < 0.3
    model = KMeans(3, random_state=0).fit(saved(tmp_path, table))
    assert_same_fit(model, KMeans(3, random_state=0).fit(table.astype(float)))


def test_weights_of_a_source_count(X):
    weight = np.random.default_rng(2).integers(0, 3, 300) * 1.0
    expected = WKMeans(3, random_state=0).fit(X, sample_weight=weight)
    assert_same_fit(WKMeans(3, random_state=0).fit(ChunkedSource(X, weight)), expected)
    # those given to fit win
    other = WKMeans(3, random_state=0).fit(ChunkedSource(X, np.ones(300)), sample_weight=weight)
    assert_same_fit(other, expected)


@pytest.mark.parametrize(
    "weight", [np.ones(7), -np.ones(300), np.full(300, np.nan), np.zeros(300), np.ones((300, 2))]
)
@pytest.mark.parametrize("given_to", ["source", "fit"])
def test_bad_weights_are_refused(X, weight, given_to):
    def fit():
        if given_to == "fit":
            return KMeans(2, init=X[:2]).fit(ChunkedSource(X), sample_weight=weight)
        return KMeans(2, init=X[:2]).fit(ChunkedSource(X, weight))

    with pytest.raises(ValueError, match="sample_weight"):
        fit()


def test_weights_of_a_source_may_be_any_array_like(X):
    weight = [1, 2, 3] * 100
    expected = KMeans(2, random_state=0).fit(X, sample_weight=weight)
    assert_same_fit(KMeans(2, random_state=0).fit(ChunkedSource(X, weight)), expected)


@pytest.mark.parametrize("order", ["C", "F"])
def test_large_memory_maps_are_read_in_blocks(tmp_path, X, monkeypatch, order):
    path = saved(tmp_path, np.asarray(X, order=order))
    table = np.load(path, mmap_mode="r")
    model = KMeans(3, random_state=0)
    model.n_features_in_ = 4
    assert isinstance(inputs.open_rows(model, table, None, None, reset=True).source, MemorySource)
    monkeypatch.setattr(inputs, "BLOCK_BYTES", X.nbytes - 1)
    source = inputs.open_rows(model, table, None, None, reset=True).source
    assert isinstance(source, ChunkedSource)
    assert_same_fit(model.fit(table), KMeans(3, random_state=0).fit(X))


@pytest.mark.parametrize("kind", ["complex", "text", "one axis", "three axes"])
@pytest.mark.parametrize("size", ["small", "large"])
def test_memory_maps_that_are_no_table_are_refused(tmp_path, X, monkeypatch, kind, size):
    if size == "large":
        monkeypatch.setattr(inputs, "BLOCK_BYTES", 10)
    table = {
        "complex": X + 1j,
        "text": np.full((30, 2), "a"),
        "one axis": X[:, 0].copy(),
        "three axes": X.reshape(100, 3, 4),
    }[kind]
    memmap = np.load(saved(tmp_path, table), mmap_mode="r")
    with pytest.raises(ValueError):
        KMeans(2, random_state=0).fit(memmap)


@pytest.mark.parametrize("kind", ["complex", "text", "object", "one axis", "three axes"])
def test_sources_of_arrays_that_are_no_table_are_refused(X, kind):
    table = {
        "complex": X + 1j,
        "text": np.full((30, 2), "a"),
        "object": X.astype(object),
        "one axis": X[:, 0],
        "three axes": X.reshape(100, 3, 4),
    }[kind]
    with pytest.raises(ValueError, match=r"numbers|rows x features"):
        KMeans(2, random_state=0).fit(ChunkedSource(table))


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.npy: no such file"):
        KMeans(2).fit(tmp_path / "nothing.npy")
    with pytest.raises(FileNotFoundError, match=r"nothing\.npy: no such file"):
        KMeans(2).fit(str(tmp_path / "nothing.npy"))


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"a,b\n1,2\n", b"PK\x03\x04 not a zip file", b"\x93NUMPY\x01\x00", b"\x80\x04N."),
        # a header is parsed like code, which fails in many ways
        b"\x93NUMPY\x01\x00\x03\x00{(\n",
        b"\x93NUMPY\x01\x00\xe8\x03" + b"[1" * 500,
    ],
    ids=["empty", "csv", "broken zip", "header cut off", "pickle", "tokens", "depth"],
)
def test_files_that_are_not_npy(tmp_path, content):
    path = tmp_path / "rows.npy"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"rows\.npy: not a \.npy file"):
        KMeans(2).fit(path)


def test_truncated_file(tmp_path, X):
    path = saved(tmp_path, X)
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(ValueError, match=r"rows\.npy: not a \.npy file"):
        open_npy(path)


def test_directory(tmp_path):
    with pytest.raises((ValueError, IsADirectoryError), match=str(tmp_path)):
        open_npy(tmp_path)


@pytest.mark.parametrize(
    "table",
    [
        np.zeros(5),
        np.zeros((2, 3, 4)),
        np.float64(3.0),
        np.zeros((3, 2), dtype=complex),
        np.full((3, 2), "a"),
        np.zeros(3, dtype=[("a", "f8"), ("b", "f8")]),
        np.zeros((3, 2), dtype="M8[s]"),
    ],
    ids=["1-D", "3-D", "0-D", "complex", "text", "structured", "times"],
)
def test_files_that_hold_no_table_of_numbers(tmp_path, table):
    with pytest.raises(ValueError, match=r"rows\.npy: found .*expected one matrix of numbers"):
        KMeans(2).fit(saved(tmp_path, table))


def test_file_of_objects(tmp_path):
    np.save(tmp_path / "rows.npy", np.ones((3, 2), dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"rows\.npy: not a \.npy file of plain numbers"):
        KMeans(2).fit(tmp_path / "rows.npy")


def test_npz_archive(tmp_path):
    np.savez(tmp_path / "rows.npz", a=np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"rows\.npz"):
        KMeans(2).fit(tmp_path / "rows.npz")


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_empty_tables(tmp_path, shape):
    with pytest.raises(ValueError):
        KMeans(2).fit(saved(tmp_path, np.zeros(shape)))


def test_wrong_number_of_columns(tmp_path, X):
    model = KMeans(2, random_state=0).fit(X)
    path = saved(tmp_path, X[:, :3])
    message = "X has 3 features, but KMeans is expecting 4 features"
    for method in (model.predict, model.transform, model.score):
        with pytest.raises(ValueError, match=message):
            method(path)


@pytest.mark.parametrize(
    ("value", "what"),
    [(np.nan, "NaN or other missing values"), (np.inf, "infinity"), (-np.inf, "infinity")],
)
def test_cells_that_are_not_finite_are_named_by_column(tmp_path, X, value, what):
    model = KMeans(2, random_state=0).fit(X)
    X[7, 2] = value
    path = saved(tmp_path, X)
    for method in (KMeans(2).fit, model.predict, model.transform, model.score):
        with pytest.raises(ValueError, match=rf"Input X contains {what} in column 2\b"):
            method(path)


def test_too_few_rows(tmp_path, X):
    path = saved(tmp_path, X[:3])
    with pytest.raises(ValueError, match="n_samples=3"):
        KMeans(4).fit(path)
    with pytest.raises(ValueError, match="n_samples=2"):
        KMeans(3).fit(path, sample_weight=[1.0, 0.0, 1.0])


def test_refit_on_a_file_forgets_the_names_of_columns(tmp_path, X):
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcd"))
    model = KMeans(2, random_state=0).fit(frame)
    model.fit(saved(tmp_path, X))
    assert not hasattr(model, "feature_names_in_")


def test_the_file_is_not_written(tmp_path, X):
    path = saved(tmp_path, X)
    before = path.read_bytes()
    KMeans(3, random_state=0).fit(path)
    assert path.read_bytes() == before


def test_rows_whose_strides_are_no_multiple_of_their_size(X):
    # columns of a record array, as files of other programs have them
    records = np.zeros(300, dtype=[("key", "i1"), ("x", "f8", (4,))])
    records["x"] = X
    expected = KMeans(3, random_state=0).fit(X)
    assert_same_fit(KMeans(3, random_state=0).fit(records["x"]), expected)
    assert_same_fit(KMeans(3, random_state=0).fit(ChunkedSource(records["x"])), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unaligned_rows_and_weights_are_copied_before_the_core_reads_them(X, dtype):
    rows, weight = X.astype(dtype), np.linspace(1.0, 2.0, len(X))

    def odd(array):
        moved = np.empty(array.nbytes + 1, dtype=np.uint8)[1:].view(array.dtype)
        moved = moved.reshape(array.shape)
        moved[...] = array
        assert not moved.flags.aligned
        return moved

    assert MemorySource(odd(rows)).rows.flags.aligned
    assert next(iter(ChunkedSource(odd(rows)).blocks())).rows.flags.aligned
    assert inputs.check_sample_weight(odd(weight), len(X)).flags.aligned
    models = IMWKMeans(3, p=1.5), IMWKMeans(3, p=1.5)
    models[0].fit(odd(rows), sample_weight=odd(weight))
    models[1].fit(rows, sample_weight=weight)
    np.testing.assert_array_equal(models[0].cluster_centers_, models[1].cluster_centers_)
