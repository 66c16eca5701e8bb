"""The inequalities of docs/maintainers/inequalities.rst, by their numbers.

Each is compared with the same numbers in extended precision, on misleading rows: equal
to centers, half way between two of them, far from the shift, in units that differ.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from _core.problems import make_problem
from fwkmeans import EWKMeans, KMeans
from fwkmeans.typing import Block, KnownRows, LastLabels, Pass

compiled = pytest.importorskip("fwkmeans._core.compiled")

KINDS = ["noise", "centers", "bisectors", "close", "far", "units"]
TYPES = [np.float32, np.float64]


def make(kind, dtype, shared, seed, n=400, m=13, k=9, offsets=False):
    """Return rows and a pass over them."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, m))
    rows = rng.normal(size=(n, m))
    one, other = centers[rng.integers(0, k, n)], centers[rng.integers(0, k, n)]
    if kind == "centers":
        rows = one
    elif kind == "bisectors":
        rows = (one + other) / 2
    elif kind == "close":
        rows = one + 1e-7 * rows
    elif kind == "far":
        rows, centers = rows + 1e4, centers + 1e4
    elif kind == "units":
        unit = 10.0 ** rng.integers(-6, 7, m)
        rows, centers = rows * unit, centers * unit
    weights = rng.random((1, 1 if shared else k, m))
    weights *= rng.random(weights.shape) < 0.9
    scale = weights.max() * np.square(np.ptp(rows, axis=0)).max()
    own = 0.1 * scale * rng.random((1, k)) if offsets else np.zeros((1, k))
    return rows.astype(dtype), Pass(centers[None], weights, own, rows.mean(axis=0))


def squares(rows, by):
    """Return all squared distances in extended precision, (n, K)."""
    y, c = rows.astype(np.longdouble), by.centers[0].astype(np.longdouble)
    return np.stack(
        [
            (by.weights[0, min(j, len(by.weights[0]) - 1)] * (y - c[j]) ** 2).sum(axis=1)
            for j in range(len(c))
        ],
        axis=1,
    )


def run(rows, by, before=None):
    """Return labels and bounds of a pass, which moves those of the pass before."""
    n = len(rows)
    labels = np.full((1, n), -1, dtype=np.int32)
    upper, lower = np.empty((2, 1, n), dtype=np.float32)
    span = np.ptp(rows.astype(float), axis=0)
    last = (None, labels.copy(), None, None) if before is None else before
    known = KnownRows(span, last[0], np.arange(1), last[1], last[2], last[3], upper, lower)
    update = np.zeros(1, dtype=np.bool_)
    compiled.assign_and_accumulate(
        Block(rows, None), by, by.centers, LastLabels(labels, update), known
    )
    _, exponent = np.frexp(np.square(span).sum())
    return by, labels, upper, lower, np.ldexp(1.0, int(-exponent / 2))


def assert_bounds_hold(rows, found):
    by, labels, upper, lower, unit = found
    d = np.sqrt(squares(rows, by)) * unit
    mine = np.arange(len(rows)), labels[0]
    own = d[mine].copy()
    d[mine] = np.inf
    assert (upper[0] >= own * (1 - 1e-12)).all()
    assert (lower[0] <= d.min(axis=1) * (1 + 1e-12)).all()


def assert_nearest(rows, by, labels):
    cost = squares(rows, by) + by.offsets[0]
    mine = cost[np.arange(len(rows)), labels[0]]
    size = np.abs(cost).max(axis=1)
    assert (mine <= cost.min(axis=1) + 1e-14 * size).all()


def test_i0_exact_dissimilarities_are_off_by_few_roundings():
    for kind in KINDS:
        for seed, m in enumerate([1, 4, 13, 300]):
            rows, by = make(kind, np.float64, False, seed, n=50, m=m)
            found = np.square(compiled.distances(Block(rows, None), by).astype(np.longdouble))
            exact = squares(rows, by)
            # two more for the root and its square
            assert (np.abs(found - exact) <= (m / 4 + 12) * 2.0**-53 * exact + 1e-300).all()


@pytest.mark.parametrize("offsets", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_i1_races_with_own_weights_decide_only_what_is_certain(kind, dtype, offsets):
    for seed in range(4):
        rows, by = make(kind, dtype, False, seed, offsets=offsets)
        assert_nearest(rows, by, run(rows, by)[1])


@pytest.mark.parametrize("offsets", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_i2_races_with_shared_weights_decide_only_what_is_certain(kind, dtype, offsets):
    for seed in range(4):
        rows, by = make(kind, dtype, True, seed, offsets=offsets)
        assert_nearest(rows, by, run(rows, by)[1])


@pytest.mark.parametrize("p", [1.3, 2.7, 6.5])
def test_i3_powers_in_single_precision_decide_only_what_is_certain(p):
    for seed in range(4):
        problem = make_problem(seed, 300, 7, 6)
        rows, centers = np.asarray(problem.rows, dtype=float), problem.centers[0]
        rows[::2] = (centers[seed % 6] + centers[(seed + 1) % 6]) / 2 + 1e-6 * rows[::2]
        by = Pass(problem.centers, problem.weights, problem.offsets * 0, problem.shift)
        by = by._replace(power=np.full(1, p))
        labels, _ = compiled.assign(Block(rows, None), by)
        weights = np.broadcast_to(by.weights[0], centers.shape)
        cost = (weights * np.abs(rows[:, None] - centers) ** p).sum(axis=2)
        assert (cost[np.arange(300), labels] <= cost.min(axis=1) * (1 + 1e-12)).all()


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_i4_bounds_that_a_race_leaves_hold(kind, dtype, shared):
    for seed in range(4):
        for offsets in (False, True):
            rows, by = make(kind, dtype, shared, seed, offsets=offsets)
            assert_bounds_hold(rows, run(rows, by))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_i5_bounds_hold_when_weights_and_centers_move(kind, dtype, shared):
    for seed in range(4):
        rows, by = make(kind, dtype, shared, seed)
        found = run(rows, by)
        rng = np.random.default_rng(seed)
        for step in (1e-9, 1e-3, 0.3):
            scale = np.ptp(rows.astype(float), axis=0)
            centers = by.centers + step * scale * rng.normal(size=by.centers.shape)
            weights = by.weights * np.exp(step * rng.normal(size=by.weights.shape))
            if step > 0.1:  # some become zero, and some leave it
                weights *= rng.random(weights.shape) < 0.8
                weights += (weights == 0) * (rng.random(weights.shape) < 0.2)
            by = by._replace(centers=centers, weights=weights)
            before = (found[0], found[1], found[2], found[3])
            found = run(rows, by, before)
            assert_bounds_hold(rows, found)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_i6_rows_that_bounds_decide_have_the_nearest_center(kind, shared):
    for seed in range(4):
        rows, by = make(kind, np.float64, shared, seed)
        found = run(rows, by)
        rng = np.random.default_rng(seed)
        for step in (1e-6, 1e-2):
            offsets = by.offsets + step * rng.random(by.offsets.shape) * by.weights.max()
            scale = np.ptp(rows, axis=0)
            centers = by.centers + step * scale * rng.normal(size=by.centers.shape)
            by = by._replace(centers=centers, offsets=offsets)
            found = run(rows, by, (found[0], found[1], found[2], found[3]))
            assert_nearest(rows, by, found[1])


def test_i7_the_farthest_row_is_found_among_those_that_bounds_leave():
    for seed in range(6):  # clusters that are empty at first get the farthest row
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(700, 12)) + 5.0 * rng.integers(0, 3, (700, 1))
        rows[seed] = 40.0
        init = np.repeat(rows[:1], 6, axis=0) + 1e3
        init[0] = rows[1]
        model = EWKMeans(6, init=init, max_iter=1).fit(rows)
        assert np.isclose(model.cluster_centers_, 40.0).all(axis=1).any()


def test_i8_labels_of_sparse_rows_are_those_of_dense_ones():
    for seed, (origin, density) in enumerate([(0.0, 0.1), (1e6, 0.5), (1e6, 1.0)]):
        rng = np.random.default_rng(seed)
        rows = (origin + rng.normal(size=(300, 20))) * (rng.random((300, 20)) < density)
        centers = rows[rng.permutation(300)[:5]]
        dense = KMeans(5, init=centers, n_init=1, max_iter=1).fit(rows)
        labels = KMeans(5, init=centers, n_init=1, max_iter=1).fit(sparse.csr_array(rows)).labels_
        by = Pass(dense.cluster_centers_[None], np.ones((1, 1, 20)), np.zeros((1, 5)), np.zeros(20))
        cost = squares(rows, by)
        mine = cost[np.arange(300), labels]
        assert (mine <= cost.min(axis=1) * (1 + 1e-9) + 1e-9).all()


def test_i9_dispersions_keep_ten_digits_when_a_center_moves_far():
    rng = np.random.default_rng(0)
    rows = 1e-2 * rng.normal(size=(400, 3))
    rows[200:] += 1e4
    init = np.asarray([[-3e3] * 3, [2e4] * 3])  # far from both clusters
    model = KMeans(2, init=init, n_init=1, max_iter=1).fit(rows)
    halves = rows[:200].astype(np.longdouble), rows[200:].astype(np.longdouble)
    exact = sum(float(np.square(half - half.mean(axis=0)).sum()) for half in halves)
    assert model.objective_history_[0] == pytest.approx(exact, rel=1e-9)


def test_every_number_of_the_page_has_a_test():
    root = Path(__file__).parents[2]
    page = (root / "docs" / "maintainers" / "inequalities.rst").read_text()
    numbers = re.findall(r"^I(\d+)\. ", page, re.MULTILINE)
    tests = re.findall(r"^def test_i(\d+)_", Path(__file__).read_text(), re.MULTILINE)
    assert numbers == tests == [str(n) for n in range(len(numbers))]
