"""The C++ kernels against their twin and against exact arithmetic."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _core.problems import (
    LAYOUTS,
    assert_bitwise,
    assert_labels_exact,
    assert_same_statistics,
    exact_dissimilarities,
    exact_labels,
    make_problem,
    relaid,
)
from fwkmeans._core import kernels_for, twin
from fwkmeans.typing import Block

compiled = pytest.importorskip("fwkmeans._core.compiled")

DTYPES = [np.float32, np.float64]
ROUNDING = {np.float32: 1e-6, np.float64: 1e-12}

# tile sizes are 2 to 64 rows, 1 to 5 clusters and 1 to 16 features; blocks end at 1024 rows
SHAPES = [
    (1, 1, 1),
    (1, 70, 23),
    (2, 1, 2),
    (7, 17, 5),
    (16, 16, 4),
    (33, 2, 6),
    (64, 8, 10),
    (129, 33, 11),
    (500, 5, 23),
    (1025, 3, 7),
    (1500, 70, 3),
    (2000, 13, 9),
]


def assert_kernels_equal_twin(problem):
    dtype = problem.rows.dtype.type
    assert kernels_for(problem.rows) is compiled
    assert_same_statistics(problem.accumulate(compiled), problem.accumulate(twin))

    distance, row = problem.farthest(compiled)
    twin_distance, twin_row = problem.farthest(twin)
    np.testing.assert_array_equal(row, twin_row)
    np.testing.assert_allclose(distance, twin_distance, rtol=1e-12)

    labels, objective = problem.assign(compiled)
    twin_labels, twin_objective = problem.assign(twin)
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, twin_labels)
    mass = problem.rows.shape[0] if problem.sample_weight is None else problem.sample_weight.sum()
    size = abs(twin_objective) + mass * np.abs(problem.offsets[0]).max()
    assert abs(objective - twin_objective) <= 1e-12 * size
    assert_labels_exact(labels, problem)

    distances = problem.distances(compiled)
    assert distances.dtype == dtype
    np.testing.assert_allclose(distances, problem.distances(twin), rtol=ROUNDING[dtype])

    assert_same_moments(problem.describe(compiled), problem.describe(twin))


def assert_same_moments(got, expected):
    assert got.n_rows == expected.n_rows
    np.testing.assert_allclose(got.mass, expected.mass, rtol=1e-13)
    np.testing.assert_allclose(got.squares, expected.squares, rtol=1e-12)
    size = np.sqrt(expected.mass * expected.squares)
    assert np.all(np.abs(got.sums - expected.sums) <= 1e-12 * size)
    np.testing.assert_array_equal(got.minimum, expected.minimum)
    np.testing.assert_array_equal(got.maximum, expected.maximum)
    np.testing.assert_allclose(got.observed, expected.observed, rtol=1e-13)
    np.testing.assert_array_equal(got.nonfinite, expected.nonfinite)
    np.testing.assert_array_equal(got.missing, expected.missing)


@pytest.mark.thinned
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_kernels_equal_twin_in_every_layout(dtype, shared, layout):
    for seed, (n, m, k) in enumerate(SHAPES):
        problem = make_problem(
            seed,
            n,
            m,
            k,
            1 + seed % 3,
            dtype=dtype,
            shared=shared,
            layout=layout,
            sample_weight=seed % 2 == 1,
            offsets=seed % 3 == 1,
            zero_weights=seed % 4 == 2,
            other_reference=seed % 2 == 0,
            first_row=1000 * (seed % 3),
        )
        assert_kernels_equal_twin(problem)


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_kernels_equal_twin_for_every_number_of_rows_features_and_clusters(dtype, shared):
    shapes = itertools.chain(
        ((n, 3, 3) for n in range(1, 140)),
        ((37, m, 4) for m in range(1, 71)),
        ((37, 5, k) for k in range(1, 24)),
    )
    for seed, (n, m, k) in enumerate(shapes):
        assert_kernels_equal_twin(make_problem(seed, n, m, k, dtype=dtype, shared=shared))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 300),
    m=st.integers(1, 40),
    k=st.integers(1, 12),
    options=st.fixed_dictionaries(
        {
            "dtype": st.sampled_from(DTYPES),
            "layout": st.sampled_from(list(LAYOUTS)),
            "n_starts": st.integers(1, 4),
            "first_row": st.integers(0, 2**40),
            "origin": st.sampled_from([0.0, -3.0, 1e3]),
            "scale": st.sampled_from([1.0, 1e-3, 1e12]),
        }
        | {
            name: st.booleans()
            for name in (
                "shared",
                "sample_weight",
                "offsets",
                "zero_weights",
                "other_reference",
            )
        }
    ),
)
def test_kernels_equal_twin_on_any_problem(seed, n, m, k, options):
    assert_kernels_equal_twin(make_problem(seed, n, m, k, **options))


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize(
    ("dtype", "scale"),
    [
        (np.float32, 1e30),
        (np.float32, 1e36),
        (np.float32, 1e18),
        (np.float32, 1e-15),
        (np.float32, 1e-30),
        (np.float64, 1e150),
        (np.float64, 1e140),
        (np.float64, 1e-30),
        (np.float64, 1e-140),
    ],
)
def test_huge_and_tiny_numbers(dtype, scale, shared):
    for offsets in (False, True):
        problem = make_problem(
            0, 700, 6, 7, 2, dtype=dtype, scale=scale, shared=shared, offsets=offsets
        )
        assert_kernels_equal_twin(problem)


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("exponent", range(17, 27))
def test_labels_are_exact_where_squares_become_subnormal_in_float32(exponent, shared):
    problem = make_problem(
        exponent, 2000, 5, 4, dtype=np.float32, scale=10.0**-exponent, shared=shared
    )
    assert_labels_exact(problem.assign(compiled)[0], problem)


@pytest.mark.parametrize("n_features", [1, 2, 9])
@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize(("dtype", "limit"), [(np.float32, 2.0**64), (np.float64, 2.0**511)])
def test_labels_are_exact_where_squares_overflow_for_some_centers_only(
    dtype, limit, shared, n_features
):
    scale = limit / np.sqrt(n_features)
    problem = make_problem(3, 2000, n_features, 6, dtype=dtype, scale=scale, shared=shared)
    # in float64 the dissimilarity itself may overflow: then there is nothing to decide by
    decidable = exact_dissimilarities(problem).min(axis=1) < np.finfo(np.float64).max / 4
    assert decidable.mean() > 0.5
    problem = problem._replace(rows=problem.rows[decidable])
    assert_labels_exact(problem.assign(compiled)[0], problem)


@pytest.mark.parametrize(
    ("row", "near", "far"),
    [(1.5e19, 1.9e19, 1e15), (1e19, 0.9e19, 1.84e19), (-1.8e19, -1.84e19, 1.8e19)],
)
def test_row_between_centers_whose_squares_overflow_in_float32(row, near, far):
    problem = make_problem(0, 40, 1, 2, dtype=np.float32, shared=True)
    problem = problem._replace(
        rows=np.full((40, 1), row, dtype=np.float32),
        centers=np.asarray([[[near], [far]]]),
        weights=np.ones((1, 1, 1)),
    )
    np.testing.assert_array_equal(problem.assign(compiled)[0], 0)


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("origin", [1e6, -1e6])
@pytest.mark.parametrize("shifted", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_labels_are_exact_far_from_the_origin(dtype, shifted, origin, shared):
    problem = make_problem(1, 1500, 12, 7, dtype=dtype, origin=origin, shared=shared)
    if not shifted:
        problem = problem._replace(shift=np.zeros(12))
    labels, objective = problem.assign(compiled)
    assert_labels_exact(labels, problem)
    assert objective == pytest.approx(problem.assign(twin)[1], rel=1e-12)
    assert_same_statistics(problem.accumulate(compiled), problem.accumulate(twin))


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("separation", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("dtype", DTYPES)
def test_labels_are_exact_for_close_clusters_far_from_the_mean(dtype, separation, shared):
    rng = np.random.default_rng(5)
    problem = make_problem(5, 3000, 4, 3, dtype=dtype, shared=shared)
    corner = np.asarray([300.0, -200.0, 100.0, 50.0])
    centers = np.stack([np.zeros(4), corner, corner + separation * rng.normal(size=4)])
    side = rng.integers(0, 3, 3000)
    rows = (centers[side] + separation * rng.normal(size=(3000, 4))).astype(dtype)
    problem = problem._replace(rows=rows, centers=centers[None], reference=centers[None])
    assert_labels_exact(problem.assign(compiled)[0], problem)
    assert_same_statistics(problem.accumulate(compiled), problem.accumulate(twin))


@pytest.mark.parametrize("gap", [1e-11, 1e-9, 1e-6])
@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_labels_are_exact_for_rows_almost_between_two_centers(dtype, shared, gap):
    # centers are mirror images about every row, one of them moved by a hair
    rng = np.random.default_rng(8)
    n, m = 400, 6
    rows = rng.normal(size=(n, m)).astype(dtype)
    for i in range(0, n, 20):
        step = rng.normal(size=m)
        centers = rows[i] + np.stack([step, -step * (1 + gap), step * (1 - gap), -step])
        problem = make_problem(0, n, m, 4, dtype=dtype, shared=shared)
        weights = problem.weights[:, :1] if shared else problem.weights[:, [0, 0, 0, 0]]
        problem = problem._replace(rows=rows, centers=centers[None], weights=weights)
        labels = problem.assign(compiled)[0]
        assert_labels_exact(labels, problem)
        assert labels[i] == 2


@pytest.mark.parametrize("power", [1.05, 1.7, 3.0, 4.0, 7.5, 60.0])
@pytest.mark.parametrize("gap", [1e-11, 1e-8, 1e-6, 1e-5, 1e-4])
def test_labels_of_powers_are_exact_for_rows_almost_between_two_centers(power, gap):
    # the race in single precision is 1e-6 to 1e-4 off
    rng = np.random.default_rng(8)
    n, m = 60, 6
    rows = rng.normal(size=(n, m))
    for i in range(0, n, 5):
        step = rng.normal(size=m)
        centers = rows[i] + np.stack([step, -step * (1 + gap), step * (1 - gap), -step])
        problem = make_problem(0, n, m, 4)._replace(
            rows=rows, centers=centers[None], weights=np.ones((1, 1, m)), power=np.array([power])
        )
        labels = problem.assign(compiled)[0]
        np.testing.assert_array_equal(labels, exact_labels(problem))
        assert labels[i] == 2


@pytest.mark.parametrize("power", [1.1, 1.7, 3.0, 4.0, 4.6])
@pytest.mark.parametrize("scale", [1e-35, 1e-18, 1e-8, 1.0, 1e8, 1e30])
@pytest.mark.parametrize("dtype", DTYPES)
def test_labels_of_powers_are_exact_in_any_units(dtype, scale, power):
    for seed, (n, m, k) in enumerate([(333, 5, 9), (40, 1, 3), (17, 33, 4)]):
        problem = make_problem(seed, n, m, k, dtype=dtype, zero_weights=True)
        units = np.where(np.arange(m) % 2, scale, 1.0)  # columns that differ by the scale
        origin = 1e3 * units
        rows = (problem.rows * units + origin).astype(dtype)
        rows[::7] = rows[0]
        weights = problem.weights.copy()
        weights[:, 0] *= 1e-40  # vanishes in single precision
        for own in (problem.weights, weights):
            one = problem._replace(
                rows=rows,
                centers=problem.centers * units + origin,
                weights=own,
                power=np.array([power]),
            )
            np.testing.assert_array_equal(one.assign(compiled)[0], exact_labels(one))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_ties_go_to_the_lowest_cluster(dtype, shared, layout):
    # small integers: every dissimilarity is exact, and most rows tie
    rng = np.random.default_rng(2)
    rows = relaid(rng.integers(-2, 3, (777, 3)).astype(dtype), layout)
    centers = rng.integers(-2, 3, (1, 13, 3)).astype(np.float64)
    centers[:, 9] = centers[:, 4]
    offsets = rng.integers(-1, 2, (1, 13)).astype(np.float64)
    problem = make_problem(0, 777, 3, 13, dtype=dtype, shared=shared)
    problem = problem._replace(
        rows=rows, centers=centers, weights=np.ones_like(problem.weights), offsets=offsets
    )
    d = ((rows[:, None].astype(np.float64) - centers) ** 2).sum(axis=-1) + offsets
    expected = d.argmin(axis=1)
    assert (d == d.min(axis=1, keepdims=True)).sum(axis=1).max() > 1
    for kernels in (compiled, twin):
        np.testing.assert_array_equal(problem.assign(kernels)[0], expected)
        mass = np.bincount(expected, minlength=13)
        np.testing.assert_array_equal(problem.accumulate(kernels).mass[0], mass)


@pytest.mark.parametrize("dtype", DTYPES)
def test_first_of_tied_rows_is_farthest(dtype):
    rows = np.zeros((5000, 2), dtype=dtype)
    rows[[17, 18, 3000, 4999]] = 3.0
    problem = make_problem(0, 5000, 2, 1, dtype=dtype, first_row=100)
    problem = problem._replace(
        rows=rows, centers=np.zeros((1, 1, 2)), eligible=np.ones((1, 1), bool)
    )
    weights = np.ones(5000)
    weights[17] = 0
    for kernels in (compiled, twin):
        assert int(problem.farthest(kernels, 3)[1][0]) == 117
        assert int(problem._replace(sample_weight=weights).farthest(kernels, 3)[1][0]) == 118
    nowhere = problem._replace(rows=np.zeros_like(rows))
    barred = problem._replace(eligible=np.zeros((1, 1), bool))
    for kernels, case in itertools.product((compiled, twin), (nowhere, barred)):
        assert_bitwise(case.farthest(kernels), (np.zeros(1), np.asarray([-1])))


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_without_weight_count_as_absent(dtype):
    problem = make_problem(4, 900, 5, 6, 2, dtype=dtype, sample_weight=True)
    present = problem.sample_weight > 0
    spoiled = problem.rows.copy()
    spoiled[~present] = 1e9
    for kernels in (compiled, twin):
        whole = problem.accumulate(kernels)
        assert_same_statistics(problem._replace(rows=spoiled).accumulate(kernels), whole, 1e-13)
        fewer = problem._replace(
            rows=problem.rows[present], sample_weight=problem.sample_weight[present]
        )
        kept = fewer.accumulate(kernels)
        np.testing.assert_array_equal(whole.rows, kept.rows)
        np.testing.assert_allclose(whole.sums, kept.sums, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", DTYPES)
def test_describe_counts_cells_that_are_not_finite(dtype):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 4)).astype(dtype)
    rows[5, 0], rows[2999, 0], rows[7, 2], rows[8, 2] = np.nan, np.inf, -np.inf, np.nan
    for kernels in (compiled, twin):
        with np.errstate(invalid="ignore"):
            moments = kernels.describe(Block(rows, None, n_threads=2), np.zeros(4))
        np.testing.assert_array_equal(moments.nonfinite, [2, 0, 2, 0])
        np.testing.assert_array_equal(moments.missing, [1, 0, 1, 0])
        np.testing.assert_array_equal(moments.observed, [2999, 3000, 2999, 3000])
        clean = rows[:, [1, 3]].astype(np.float64)
        np.testing.assert_array_equal(moments.minimum[[1, 3]], clean.min(axis=0))
        np.testing.assert_array_equal(moments.maximum[[1, 3]], clean.max(axis=0))


def test_unaligned_and_read_only_rows():
    problem = make_problem(9, 300, 5, 4, sample_weight=True)
    buffer = np.empty(problem.rows.nbytes + 3, np.uint8)
    rows = buffer[3:].view(np.float64).reshape(problem.rows.shape)
    rows[...] = problem.rows
    rows.setflags(write=False)
    assert not rows.flags.aligned
    odd = problem._replace(rows=rows)
    assert_bitwise(odd.accumulate(compiled), problem.accumulate(compiled))
    assert_bitwise(odd.assign(compiled), problem.assign(compiled))


def test_repeated_and_overlapping_rows():
    # strides of 0 and of one element: views that NumPy allows
    line = np.random.default_rng(1).normal(size=500)
    windows = np.lib.stride_tricks.sliding_window_view(line, 7)
    problem = make_problem(3, *windows.shape, 5)
    for view in (
        windows,
        np.broadcast_to(line[:7], (90, 7)),
        np.broadcast_to(line[:, None], (500, 7)),
    ):
        odd, plain = problem._replace(rows=view), problem._replace(rows=view.copy())
        assert_bitwise(odd.accumulate(compiled), plain.accumulate(compiled))
        assert_bitwise(odd.assign(compiled), plain.assign(compiled))


def test_segments_depend_on_the_shape_alone_and_stay_few():
    for n, k, m in [(1, 1, 1), (1023, 3, 3), (2048, 3, 3), (10**6, 8, 20), (10**9, 3000, 5000)]:
        segments = compiled.n_segments(n, k, m)
        assert 1 <= segments <= 64
        assert segments <= max(1, n // 1024)
        assert segments == 1 or 16 * k * m * segments <= 64 * 2**20
