"""Labels are exact whatever race decides them, on rows that are made to mislead one."""

import itertools

import numpy as np
import pytest

from _core.problems import assert_bitwise, assert_labels_exact, make_problem, python, relaid
from fwkmeans import EWKMeans, KMeans

compiled = pytest.importorskip("fwkmeans._core.compiled")

CASES = [
    pytest.param(dtype, shared, id=f"{np.dtype(dtype)}-{'shared' if shared else 'own'}")
    for dtype in (np.float32, np.float64)
    for shared in (False, True)
]
KINDS = {
    "easy": lambda rows, centers, rng: rows,
    "centers": lambda rows, centers, rng: centers[rng.integers(0, len(centers), len(rows))],
    "bisectors": lambda rows, centers, rng: (
        (
            centers[rng.integers(0, len(centers), len(rows))]
            + centers[rng.integers(0, len(centers), len(rows))]
        )
        / 2
    ),
    "nearly bisectors": lambda rows, centers, rng: (
        (centers[:1] + centers[1:2]) / 2 + 2e-7 * (centers[:1] - centers[1:2]) * rows[:, :1]
    ),
    "close": lambda rows, centers, rng: (
        centers[rng.integers(0, len(centers), len(rows))] + 1e-7 * rows
    ),
    "long": lambda rows, centers, rng: rows * 10.0 ** rng.integers(-40, 37, (len(rows), 1)),
}


def problems(dtype, shared, kind):
    for seed, (n, m, k) in enumerate([(300, 40, 41), (130, 75, 23), (200, 161, 16), (90, 200, 3)]):
        problem = make_problem(
            seed, n, m, k, dtype=dtype, shared=shared, offsets=seed % 2 == 1, zero_weights=seed == 2
        )
        rng = np.random.default_rng(seed)
        rows = KINDS[kind](np.asarray(problem.rows, dtype=float), problem.centers[0], rng)
        weights = problem.weights
        if kind == "nearly bisectors":  # of clusters with the same weights, in each cluster's form
            weights = np.broadcast_to(weights[:, :1], weights.shape).copy()
            problem.offsets[...] = 0.0
        yield problem._replace(rows=rows.astype(dtype), weights=weights)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dtype", "shared"), CASES)
def test_labels_are_exact(dtype, shared, kind):
    for problem in problems(dtype, shared, kind):
        assert_labels_exact(problem.assign(compiled, 2)[0], problem)


@pytest.mark.parametrize("unit", [1e-30, 1e-8, 1e8, 1e17])
@pytest.mark.parametrize(("dtype", "shared"), CASES)
def test_labels_are_exact_in_any_unit(dtype, shared, unit):
    for seed in range(2):
        problem = make_problem(seed, 200, 60, 33, dtype=dtype, shared=shared, scale=unit)
        assert_labels_exact(problem.assign(compiled)[0], problem)
        rows, centers = np.array(problem.rows), np.array(problem.centers)
        rows[:, ::2] /= dtype(unit)  # units differ
        centers[..., ::2] /= unit
        problem = problem._replace(rows=rows, centers=centers)
        assert_labels_exact(problem.assign(compiled)[0], problem)


@pytest.mark.parametrize(("dtype", "shared"), CASES)
def test_labels_are_exact_far_from_the_shift(dtype, shared):
    for origin in (1e3, 1e8):
        problem = make_problem(1, 300, 50, 40, dtype=dtype, shared=shared, origin=origin)
        assert_labels_exact(problem.assign(compiled)[0], problem)
        problem = problem._replace(shift=np.zeros_like(problem.shift))
        assert_labels_exact(problem.assign(compiled)[0], problem)


@pytest.mark.parametrize("layout", ["Fortran", "every other row", "all backwards"])
@pytest.mark.parametrize(("dtype", "shared"), CASES)
def test_neither_the_layout_nor_the_other_rows_matter(dtype, shared, layout):
    problem = make_problem(2, 333, 50, 40, dtype=dtype, shared=shared, sample_weight=True)
    whole = problem.assign(compiled)
    assert_bitwise(problem._replace(rows=relaid(problem.rows, layout)).assign(compiled, 3), whole)
    for part in (slice(0, 1), slice(5, 22), slice(None, None, -1), slice(3, None, 7)):
        rows = problem.rows[part]
        labels = problem._replace(rows=rows, sample_weight=None).assign(compiled)[0]
        np.testing.assert_array_equal(labels, whole[0][part])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 3e38])
def test_a_bad_row_leaves_the_others_alone(bad):
    problem = make_problem(3, 120, 50, 40, dtype=np.float32)
    rows = np.array(problem.rows)
    rows[[0, 17, 64], [0, 30, 49]] = bad
    others = np.setdiff1d(np.arange(120), [0, 17, 64])
    labels = problem._replace(rows=rows).assign(compiled)[0]
    np.testing.assert_array_equal(labels[others], problem.assign(compiled)[0][others])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tiny_weights_decide_for_very_long_rows(dtype):
    """A weight below the smallest normal float is zero in a race, but decides for such rows."""
    rng = np.random.default_rng(4)
    problem = make_problem(4, 96, 70, 24, dtype=dtype)
    centers, weights = 0.03 * rng.standard_normal((1, 24, 70)), np.ones((1, 24, 70))
    centers[..., 0] = 0.0
    weights[0, :, 0] = np.where(np.arange(24) % 2, 0.0, 1e-38)
    rows = centers[0, np.arange(96) % 24] + 1e-3 * rng.standard_normal((96, 70))
    rows[:, 0] = 1e19  # adds 1 to the dissimilarity of every other cluster, many times the rest
    problem = problem._replace(
        rows=rows.astype(dtype),
        centers=centers,
        weights=weights,
        offsets=np.zeros((1, 24)),
        shift=np.zeros(70),
        sample_weight=None,
    )
    labels = problem.assign(compiled)[0]
    assert (labels % 2 == 1).all()
    assert_labels_exact(labels, problem)


CODE = """
import numpy as np
from fwkmeans._core import compiled
from _core.test_races import CASES, KINDS, problems
for case in CASES:
    for kind in sorted(set(KINDS) - {"bisectors"}):  # ties, which the last bit of a sum decides
        for problem in problems(*case.values, kind):
            print(problem.assign(compiled)[0].tobytes().hex())
from _core.test_races import fits
for model in fits():
    print(model.n_iter_, model.labels_.tobytes().hex())
"""


def fits():
    """Yield fits of rows of which some reach very far."""
    rng = np.random.default_rng(0)
    places = rng.standard_normal((16, 36))
    rows = places[rng.integers(0, 16, 3000)] + rng.standard_normal((3000, 36))
    rows[::100] *= 10.0 ** rng.integers(0, 4, (30, 1))
    rows[:, 5] = rows[:, 5] * 1e-6 + 1000.0
    rows[:, 7] = 3.0
    for make, dtype in itertools.product((KMeans, EWKMeans), (np.float32, np.float64)):
        yield make(16, init=rows[:16].astype(dtype), n_init=1, max_iter=8).fit(rows.astype(dtype))


@pytest.mark.long
def test_labels_are_the_same_for_every_instruction_set():
    usual = python(CODE)
    for name in ("baseline", "x86_64_v3"):
        assert python(CODE, FWKMEANS_ISA=name) == usual, name


@pytest.mark.parametrize("n", [3, 200])
@pytest.mark.parametrize("cell", [np.nan, np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cells_that_are_no_finite_numbers_are_noticed(dtype, cell, n):
    rows = np.random.default_rng(0).standard_normal((200, 20)).astype(dtype)
    model = EWKMeans(12, n_init=1, max_iter=2).fit(rows)
    rows[n // 2, 3] = cell
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.predict(rows[:n])
