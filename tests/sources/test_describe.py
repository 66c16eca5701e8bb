"""The first look at a table against NumPy in extended precision."""

import numpy as np
import pytest

from fwkmeans._tabular.layout import Layout
from fwkmeans.sources import ChunkedSource, MemorySource, count_faults, count_observed, describe
from hostile_source import HostileSource


def expected_moments(X, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    rows, s = X[weight > 0].astype(np.longdouble), weight[weight > 0].astype(np.longdouble)
    mean = (s[:, None] * rows).sum(axis=0) / s.sum()
    scatter = (s[:, None] * (rows - mean) ** 2).sum(axis=0)
    return mean, scatter, rows.min(axis=0), rows.max(axis=0)


def sources(X, weight=None):
    yield MemorySource(X, weight, 2)
    yield ChunkedSource(X, weight, block_bytes=X.itemsize * X.shape[1] * 100)


def assert_described(X, weight=None, rtol=1e-9):
    mean, scatter, minimum, maximum = expected_moments(X, weight)
    for source in sources(X, weight):
        table, faults = describe(source)
        assert table.n_rows == (len(X) if weight is None else (weight > 0).sum())
        assert table.mass == pytest.approx(len(X) if weight is None else weight.sum(), rel=1e-13)
        deviation = np.sqrt(scatter / table.mass)
        assert np.all(np.abs(table.mean - mean) <= 1e-12 * deviation + 1e-15 * np.abs(mean))
        np.testing.assert_allclose(table.scatter, scatter.astype(float), rtol=rtol)
        np.testing.assert_array_equal(table.minimum, minimum)
        np.testing.assert_array_equal(table.maximum, maximum)
        assert not faults.infinite.any()
        assert not faults.missing.any()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_describe_equals_numpy(dtype, weighted):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(3001, 4)) * [1, 1e-5, 1e5, 30] + [0, 1, -3, 1e3]).astype(dtype)
    weight = rng.integers(0, 3, 3001) * 0.7 if weighted else None
    assert_described(X, weight, rtol=1e-11)


@pytest.mark.parametrize("offset", [1e4, -1e8, 1e12])
def test_describe_is_accurate_far_from_the_origin(offset):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 3))
    X[:, 1] += offset
    assert_described(X, rtol=1e-10)


@pytest.mark.parametrize("distance", [1e3, 1e6, 1e9, -1e6])
def test_describe_is_accurate_when_the_first_row_is_an_outlier(distance):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, 3))
    X[0, 1] = distance
    assert_described(X)
    weight = np.ones(2000)
    weight[0] = 0.0
    assert_described(X, weight)


def test_describe_is_accurate_when_most_rows_are_without_weight():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 2)) * 1e8
    weight = np.zeros(2000)
    weight[1500:1510] = rng.uniform(1, 2, 10)
    X[1500:1510] = rng.normal(size=(10, 2)) + 5e8
    assert_described(X, weight)


def test_a_first_row_without_weight_may_hold_any_number():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 2))
    X[0] = 1e200
    weight = np.ones(50)
    weight[0] = 0.0
    assert_described(X, weight)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e8 + 0.1, -1e-300, 1 / 3, 1e150])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_columns_have_no_scatter_at_all(dtype, value):
    value = dtype(value) if abs(value) < 1e38 else dtype(1e30)
    X = np.random.default_rng(5).normal(size=(3000, 3)).astype(dtype)
    X[:, 1] = value
    for source in sources(X):
        table, _ = describe(source)
        assert table.scatter[1] == 0.0
        assert table.mean[1] == value
        np.testing.assert_array_equal(table.varying, [True, False, True])
    # constant among the rows with weight
    weight = np.ones(3000)
    weight[:7] = 0.0
    X[:7, 1] = 55.0
    for source in sources(X, weight):
        table, _ = describe(source)
        assert table.scatter[1] == 0.0
        assert table.minimum[1] == table.maximum[1] == table.mean[1] == value


def test_all_columns_count_as_varying_when_none_does():
    table, _ = describe(MemorySource(np.ones((5, 2))))
    np.testing.assert_array_equal(table.varying, [True, True])
    np.testing.assert_array_equal(table.scatter, 0.0)


def test_one_row():
    table, _ = describe(MemorySource(np.asarray([[3.0, -1e9]])))
    np.testing.assert_array_equal(table.mean, [3.0, -1e9])
    np.testing.assert_array_equal(table.scatter, 0.0)
    assert (table.n_rows, table.mass) == (1, 1.0)


def test_cells_that_are_not_finite_are_counted_by_column():
    X = np.random.default_rng(6).normal(size=(500, 4))
    X[0, 1], X[3, 1], X[499, 3] = np.nan, np.inf, -np.inf
    weight = np.ones(500)
    weight[3] = 0.0  # counted all the same
    for source in (*sources(X), *sources(X, weight)):
        for faults in (describe(source)[1], count_faults(source)):
            np.testing.assert_array_equal(faults.infinite, [0, 1, 0, 1])
            np.testing.assert_array_equal(faults.missing, [0, 1, 0, 0])


def test_large_finite_numbers_are_finite():
    X = np.asarray([[1e308, 1.0], [-1e308, 2.0], [1e308, 3.0]])
    np.testing.assert_array_equal(count_faults(MemorySource(X)), np.zeros((2, 2)))
    rows = np.asarray([[3e38, 1.0], [-3e38, 2.0]], dtype=np.float32)
    np.testing.assert_array_equal(count_faults(MemorySource(rows)), np.zeros((2, 2)))


def test_sums_begun_at_a_row_far_outside_are_taken_again_about_the_mean(rng):
    X, weight = rng.normal(size=(200, 3)), np.ones(200)
    X[0], weight[0] = 1e8, 1e-25
    for source in (MemorySource(X, weight), ChunkedSource(X, weight, block_bytes=500)):
        table, _ = describe(source)
        np.testing.assert_allclose(table.mean, X[1:].mean(axis=0), rtol=1e-12, atol=1e-14)
        scatter = ((X[1:] - X[1:].mean(axis=0)) ** 2).sum(axis=0)
        np.testing.assert_allclose(table.scatter, scatter, rtol=1e-8)


def test_observed_cells_of_all_blocks_are_counted(rng):
    rows, levels = rng.normal(size=(60, 2)), rng.integers(-1, 3, (60, 1)).astype(np.int32)
    rows[rng.random((60, 2)) < 0.3] = np.nan
    hollow = np.arange(4, 60, 7)
    rows[hollow], levels[hollow] = np.nan, -1
    weight = rng.integers(0, 2, 60).astype(float)
    layout = Layout(np.array([0, 2]), np.array([1]), np.array([0, 4]))
    memory = MemorySource(rows, weight, levels=levels, layout=layout)
    there = np.c_[~np.isnan(rows[:, 0]), levels >= 0, ~np.isnan(rows[:, 1])]
    hollow = np.flatnonzero(~there.any(axis=1))
    for source in (memory, HostileSource(memory, seed=3)):
        observed = count_observed(source)
        np.testing.assert_array_equal(observed.in_column, there[weight > 0].sum(axis=0))
        np.testing.assert_array_equal(observed.missing, [(levels < 0).sum()])
        assert observed.n_empty == len(hollow) > 5
        assert observed.empty == tuple(hollow[:5])
