"""The twin under every array library gives what it gives under NumPy."""

import math

import numpy as np
import pytest
from array_api_compat import array_namespace

from _core.problems import assert_same_statistics, make_problem
from fwkmeans._core import array_kernels, kernels_for, twin
from fwkmeans.typing import Block, Pass


@pytest.fixture(params=["array_api_strict", "torch"])
def xp(request):
    return pytest.importorskip(request.param)


def moved_to(problem, xp):
    arrays = {
        name: xp.asarray(np.ascontiguousarray(part))
        for name, part in problem._asdict().items()
        if isinstance(part, np.ndarray)
    }
    return problem._replace(**arrays)


def as_numpy(record):
    return type(record)(*(None if part is None else np.asarray(part) for part in record))


@pytest.mark.parametrize("sample_weight", [False, True])
@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_twin_is_the_same_in_every_array_library(xp, dtype, shared, sample_weight):
    for n, m, k, r in [(1, 1, 1, 1), (50, 4, 3, 2), (5000, 2, 3, 1)]:
        problem = make_problem(
            n,
            n,
            m,
            k,
            r,
            dtype=dtype,
            shared=shared,
            sample_weight=sample_weight,
            offsets=True,
            first_row=12345,
        )
        elsewhere = moved_to(problem, xp)
        assert kernels_for(elsewhere.rows) is twin
        got = elsewhere.accumulate(twin)
        assert_same_statistics(as_numpy(got), problem.accumulate(twin), rtol=1e-12)
        for what in ("farthest", "assign"):
            for a, b in zip(
                getattr(elsewhere, what)(twin), getattr(problem, what)(twin), strict=True
            ):
                np.testing.assert_allclose(np.asarray(a), b, rtol=1e-12)
        distances = elsewhere.distances(twin)
        assert distances.dtype == elsewhere.rows.dtype
        np.testing.assert_allclose(np.asarray(distances), problem.distances(twin), rtol=1e-6)
        for a, b in zip(elsewhere.describe(twin), problem.describe(twin), strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-11, atol=1e-11)


def test_twin_does_not_depend_on_its_chunks(monkeypatch):
    problem = make_problem(0, 100, 3, 4, 2, sample_weight=True, offsets=True)
    whole = problem.accumulate(twin), problem.farthest(twin), problem.assign(twin)
    monkeypatch.setattr(twin, "_CHUNK", 7)
    assert_same_statistics(problem.accumulate(twin), whole[0])
    np.testing.assert_array_equal(problem.farthest(twin)[1], whole[1][1])
    labels, objective = problem.assign(twin)
    np.testing.assert_array_equal(labels, whole[2][0])
    assert objective == pytest.approx(whole[2][1], rel=1e-13)


def test_twin_is_silent_on_many_rows():
    # fingerprints wrap around on purpose; warnings are errors here
    problem = make_problem(0, 20000, 2, 3, 2)
    problem.accumulate(twin)


def test_row_keys_are_splitmix64():
    def splitmix64(z):
        mask = (1 << 64) - 1
        z = z * 0x9E3779B97F4A7C15 & mask
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        z ^= z >> 31
        return z - (1 << 64) if z >> 63 else z

    keys = twin.row_keys(10**12, 200, array_namespace(np.empty(0)), "cpu")
    assert [int(key) for key in keys] == [splitmix64(10**12 + i + 1) for i in range(200)]


def test_dissimilarity_is_the_formula():
    rng = np.random.default_rng(0)
    y, c, w = rng.normal(size=(6, 3)), rng.normal(size=(4, 3)), rng.random((4, 3))
    there = np.ones((6, 3), dtype=bool)
    there[2, 1] = there[4, 0] = False
    levels = rng.integers(0, 5, (6, 2)).astype(np.int32)
    levels[3, 0] = -1
    costs = rng.random((1, 4, 5))
    for p in (1.0, 1.3, 2.0, 3.0, math.inf):
        chunk = twin._Chunk(0, np.where(there, y, 0.0), there, np.ones(6), levels)
        offsets, shift = np.zeros((1, 4)), np.zeros(3)
        assigning = Pass(c[None], w[None], offsets, shift, np.asarray([p]), costs)
        if p == math.inf:
            chunk = chunk._replace(levels=None)
        d = twin.dissimilarities(chunk, assigning)
        for i in range(6):
            for k in range(4):
                cells = [v for v in range(3) if there[i, v]]
                size = [abs(y[i, v] - c[k, v]) for v in range(3)]
                if p == math.inf:
                    assert d[i, k] == max(w[k, v] * size[v] for v in cells)
                    continue
                terms = [w[k, v] * size[v] ** p for v in cells]
                terms += [costs[0, k, level] for level in levels[i] if level >= 0]
                assert d[i, k] == pytest.approx(math.fsum(terms), rel=1e-14)


@pytest.mark.parametrize("dtype", [np.float16, np.int64, np.dtype(">f8"), np.dtype(">f4")])
def test_rows_of_other_types_are_served_by_the_twin(dtype):
    assert kernels_for(np.ones((3, 2), dtype=dtype)) is twin


def test_observed_cells_of_all_pieces_are_counted(rng, monkeypatch):
    monkeypatch.setattr(array_kernels, "_PIECE", 7)
    rows, levels = rng.normal(size=(30, 2)), rng.integers(-1, 3, (30, 2)).astype(np.int32)
    rows[rng.random((30, 2)) < 0.3] = np.nan
    weight = rng.integers(0, 2, 30).astype(float)
    observed = array_kernels.observed_cells(Block(rows, weight, levels=levels))
    there, known = ~np.isnan(rows), levels >= 0
    np.testing.assert_array_equal(observed.in_row, np.c_[there, known].sum(axis=1))
    np.testing.assert_array_equal(observed.in_number, there[weight > 0].sum(axis=0))
    np.testing.assert_array_equal(observed.in_category, known[weight > 0].sum(axis=0))


def test_compiled_core_counts_observed_cells_as_the_twin_does(rng):
    compiled = pytest.importorskip("fwkmeans._core.compiled")
    rows = rng.normal(size=(9000, 5))
    rows[rng.random(rows.shape) < 0.2] = np.nan
    levels = rng.integers(-1, 3, (9000, 2)).astype(np.int32)
    weight = rng.integers(0, 2, 9000).astype(np.float64)
    wide = np.asfortranarray(np.where(rng.random((9000, 70)) < 0.5, np.nan, 1.0))
    blocks = (Block(rows, None), Block(rows, weight, levels=levels), Block(wide, weight, 0, 3))
    for block in blocks:
        pairs = zip(compiled.observed_cells(block), twin.observed_cells(block), strict=True)
        for ours, theirs in pairs:
            np.testing.assert_array_equal(ours, theirs)
