"""Rows in memory, in blocks and in any memory layout give the same fit."""

import numpy as np
import pytest

from fwkmeans._init import INITIALIZATIONS, Seeds
from fwkmeans.sources import ChunkedSource, MemorySource, describe
from kinds_of_files import ARRAYS, TABLES, in_small_blocks, write
from laws.configurations import FEW, assert_identical, assert_same_fit, make_rows, name_of

RTOL = {np.float64: 1e-9, np.float32: 1e-4}


@pytest.mark.thinned
@pytest.mark.parametrize("configuration", FEW, ids=name_of)
@pytest.mark.parametrize(
    ("init", "weighted", "dtype"),
    [("random", True, np.float64), ("k-means++", False, np.float32)],
    indirect=["dtype"],
)
def test_memory_equals_chunks(configuration, init, weighted, rng, dtype, tmp_path):
    X = make_rows(rng, 200, 4).astype(dtype)
    sample_weight = rng.random(200) * (rng.random(200) > 0.2) if weighted else None
    np.save(tmp_path / "rows.npy", X)
    # one start: of two that end alike, rounding decides which is the best
    common = {"init": init, "n_init": 1, "random_state": 7, "max_iter": 20}
    a = configuration.estimator(4, 4, **common).fit(X, sample_weight=sample_weight)
    kind = (*TABLES, *ARRAYS)[FEW.index(configuration) % (len(TABLES) + len(ARRAYS))]
    table = pytest.importorskip("pandas").DataFrame(X, columns=list("abcd"))
    for rows in (
        tmp_path / "rows.npy",
        ChunkedSource(tmp_path / "rows.npy", block_bytes=600),
        in_small_blocks(write(tmp_path, kind, table)),
    ):
        b = configuration.estimator(4, 4, **common).fit(rows, sample_weight=sample_weight)
        np.testing.assert_array_equal(a.labels_, b.labels_)
        assert_same_fit(a, b, rtol=RTOL[dtype])
        assert b.cluster_centers_.dtype == dtype
        assert a.inertia_ == pytest.approx(b.inertia_, rel=RTOL[dtype])
        np.testing.assert_array_equal(b.predict(rows), b.labels_)
        np.testing.assert_allclose(a.transform(X), b.transform(rows), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(  # a pass takes milliseconds, whatever the number of rows
    "configuration",
    [pytest.param(c, marks=[pytest.mark.long] if at % 3 else []) for at, c in enumerate(FEW)],
    ids=name_of,
)
def test_memory_equals_dask(configuration, rng):
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    X = make_rows(rng, 150, 4)
    weight = rng.random(150) * (rng.random(150) > 0.2)
    common = {"init": "random", "n_init": 1, "random_state": 7, "max_iter": 8}
    a = configuration.estimator(4, 4, **common).fit(X, sample_weight=weight)
    with dask.config.set(scheduler="synchronous"):
        rows = da.from_array(X, chunks=((40, 0, 60, 50), 4))
        b = configuration.estimator(4, 4, **common).fit(rows, sample_weight=weight)
        np.testing.assert_array_equal(a.labels_, b.labels_)
        assert_same_fit(a, b, rtol=1e-9)
        assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-9)
        assert b.score(rows, sample_weight=weight) == pytest.approx(-b.inertia_, rel=1e-6)
        np.testing.assert_array_equal(b.predict(rows), b.labels_)
        np.testing.assert_allclose(a.transform(X), b.transform(rows), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("init", INITIALIZATIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_same_seed_gives_the_same_starts(init, weighted, rng, dtype, global_random_seed):
    X = make_rows(rng, 150, 4).astype(dtype)
    weight = rng.random(150) * (rng.random(150) > 0.3) if weighted else None
    starts = [
        INITIALIZATIONS[init](rows, 6, Seeds(global_random_seed), range(5), describe(rows)[0])
        for rows in (MemorySource(X, weight), ChunkedSource(X, weight, block_bytes=99))
    ]
    np.testing.assert_array_equal(*starts)


def test_blocks_of_one_row_and_paths_as_text(rng, tmp_path):
    X = make_rows(rng, 60, 4)
    np.save(tmp_path / "rows.npy", X)
    a = FEW[0].estimator(3, 4, n_init=1, random_state=0).fit(X)
    for rows in (str(tmp_path / "rows.npy"), ChunkedSource(X, block_bytes=1)):
        b = FEW[0].estimator(3, 4, n_init=1, random_state=0).fit(rows)
        np.testing.assert_array_equal(a.labels_, b.labels_)
        assert_same_fit(a, b)


def test_a_chunked_source_keeps_its_own_sample_weight(rng):
    X, weight = make_rows(rng, 80, 4), rng.random(80)
    a = FEW[0].estimator(3, 4, random_state=0).fit(ChunkedSource(X, weight))
    b = FEW[0].estimator(3, 4, random_state=0).fit(X, sample_weight=weight)
    assert_identical(a, b)


def test_description_of_memory_equals_that_of_chunks(rng, dtype):
    X = (make_rows(rng, 150, 4) * [1, 1e-3, 1e3, 1] + [0, 5, 1e4, 0]).astype(dtype)
    weight = rng.random(150) * (rng.random(150) > 0.3)
    a, _ = describe(MemorySource(X, weight))
    b, _ = describe(ChunkedSource(X, weight, block_bytes=200))
    rows, mass = X[weight > 0].astype(float), weight[weight > 0]
    mean = np.average(rows, axis=0, weights=mass)
    scatter = (mass[:, None] * (rows - mean) ** 2).sum(axis=0)
    for table in (a, b):
        assert table.n_rows == len(rows)
        assert table.mass == pytest.approx(mass.sum(), rel=1e-14)
        np.testing.assert_allclose(table.mean, mean, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(table.scatter, scatter, rtol=1e-10)
        np.testing.assert_array_equal(table.minimum, rows.min(axis=0))
        np.testing.assert_array_equal(table.maximum, rows.max(axis=0))


@pytest.mark.parametrize("configuration", FEW, ids=name_of)
def test_memory_layout_does_not_matter(configuration, rng, dtype):
    X = make_rows(rng, 120, 4).astype(dtype)
    strided = np.zeros((240, 8), dtype=dtype)
    strided[::2, ::2] = X
    common = {"n_init": 2, "random_state": 7, "max_iter": 20}
    a = configuration.estimator(4, 4, **common).fit(X)
    for rows in (
        np.asfortranarray(X),
        strided[::2, ::2],
        np.ascontiguousarray(X[::-1])[::-1],
        np.ascontiguousarray(X[:, ::-1])[:, ::-1],
    ):
        assert_identical(a, configuration.estimator(4, 4, **common).fit(rows))
        np.testing.assert_array_equal(a.transform(X), a.transform(rows))


def test_fit_reads_the_rows_only(rng, dtype):
    X = make_rows(rng, 100, 4).astype(dtype)
    X.setflags(write=False)
    weight = np.ones(100)
    weight.setflags(write=False)
    for configuration in FEW:
        configuration.estimator(3, 4, n_init=1, random_state=0).fit(X, sample_weight=weight)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float16, bool])
def test_other_dtypes_become_float64(dtype, rng):
    X = np.round(make_rows(rng, 80, 4) * 10).clip(0, 100).astype(dtype)
    exact = FEW[0].estimator(3, 4, n_init=1, random_state=0).fit(X.astype(np.float64))
    for given in (X, X.tolist(), ChunkedSource(X, block_bytes=100)):
        model = FEW[0].estimator(3, 4, n_init=1, random_state=0).fit(given)
        assert model.cluster_centers_.dtype == np.float64
        np.testing.assert_array_equal(model.labels_, exact.labels_)


@pytest.mark.parametrize("configuration", FEW, ids=name_of)
def test_float32_is_close_to_float64(configuration, rng):
    X = make_rows(rng, 300, 4)
    centers = some_good_centers(X)
    a = configuration.estimator(3, 4, init=centers, max_iter=2).fit(X)
    b = configuration.estimator(3, 4, init=centers, max_iter=2).fit(X.astype(np.float32))
    assert np.mean(a.labels_ == b.labels_) > 0.98
    np.testing.assert_allclose(a.feature_weights_, b.feature_weights_, atol=0.02)


def some_good_centers(X):
    return X[np.argsort(X[:, 0])[[10, 150, 290]]]


def test_wrong_paths_and_files_are_named(tmp_path):
    model = FEW[0].estimator(2, 2)
    with pytest.raises(FileNotFoundError, match=r"nothing\.npy: no such file"):
        model.fit(tmp_path / "nothing.npy")
    (tmp_path / "text.npy").write_text("1,2\n")
    with pytest.raises(ValueError, match=r"text\.npy: not a \.npy file of plain numbers"):
        model.fit(tmp_path / "text.npy")
    np.save(tmp_path / "flat.npy", np.arange(5.0))
    with pytest.raises(ValueError, match=r"shape \(5,\).*expected one matrix"):
        model.fit(tmp_path / "flat.npy")
    np.save(tmp_path / "empty.npy", np.empty((0, 3)))
    with pytest.raises(ValueError, match="at least one row and column"):
        model.fit(tmp_path / "empty.npy")
    np.save(tmp_path / "wide.npy", np.random.default_rng(0).random((9, 3)))
    model.fit(np.random.default_rng(0).random((9, 2)))
    with pytest.raises(ValueError, match="X has 3 features, but KMeans is expecting 2"):
        model.predict(tmp_path / "wide.npy")
