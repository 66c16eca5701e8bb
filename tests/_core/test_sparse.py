"""The kernels of sparse rows against the twin on the same rows with all their zeros."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fwkmeans._core.sparse as sparse
from _core.problems import (
    assert_bitwise,
    assert_labels_exact,
    assert_same_statistics,
    make_problem,
    python,
    with_gaps,
)
from fwkmeans._core import kernels_for, twin
from fwkmeans._core.sparse import SparseRows, joined
from fwkmeans.sources.sparse import sparse_rows
from fwkmeans.typing import LastLabels

pytest.importorskip("fwkmeans._core.compiled")

SHAPES = [(1, 1, 1), (7, 3, 1), (50, 40, 5), (300, 9, 12), (90, 200, 40), (1500, 30, 3)]


def pair(seed, n_rows, n_features, n_clusters, density=0.2, *, empty=True, **options):
    """Return the same problem with dense and with sparse rows; some rows and columns are zero."""
    problem = make_problem(seed, n_rows, n_features, n_clusters, **options)
    rng = np.random.default_rng((seed, 7))
    problem.rows[rng.random(problem.rows.shape) > density] = 0.0
    if empty:
        problem.rows[rng.random(n_rows) < 0.1] = 0.0
        problem.rows[:, rng.random(n_features) < 0.1] = 0.0
    return problem, problem._replace(rows=compressed(problem.rows))


def compressed(X):
    rows, columns = np.nonzero(X)
    begins = np.searchsorted(rows, np.arange(len(X) + 1))
    return SparseRows(X[rows, columns], columns, begins, X.shape[1])


def accumulated(few, **options):
    """Return the statistics of sparse rows, which are about means, about the reference."""
    return few.accumulate(sparse, **options).about(few.reference)


def assert_equals_twin(dense, few):
    dtype = dense.rows.dtype
    assert kernels_for(few.rows) is sparse
    assert_same_statistics(accumulated(few), dense.accumulate(twin), rtol=1e-11)
    (distance, row), (twin_distance, twin_row) = few.farthest(sparse), dense.farthest(twin)
    np.testing.assert_array_equal(row, twin_row)
    np.testing.assert_allclose(distance, twin_distance, rtol=1e-10)
    (labels, objective), (twin_labels, twin_objective) = few.assign(sparse), dense.assign(twin)
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, twin_labels)
    assert objective == pytest.approx(twin_objective, rel=1e-10, abs=1e-12)
    distances = few.distances(sparse)
    assert distances.dtype == dtype
    rtol = 1e-6 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(distances, dense.distances(twin), rtol=rtol, atol=1e-150)
    got, expected = few.describe(sparse), dense.describe(twin)
    for name, ours, theirs in zip(got._fields, got, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12, err_msg=name)
    observed = zip(few_observed(few), twin.observed_cells(dense.block()), strict=True)
    for ours, theirs in observed:
        np.testing.assert_array_equal(ours, theirs)


def few_observed(problem):
    return sparse.observed_cells(problem.block())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_equal_the_twin(shape, shared, dtype):
    weighted = shape[0] % 2 == 0
    assert_equals_twin(
        *pair(
            3,
            *shape,
            n_starts=3,
            shared=shared,
            dtype=dtype,
            sample_weight=weighted,
            offsets=weighted,
            zero_weights=not weighted,
            other_reference=weighted,
            first_row=11,
        )
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 40), st.integers(1, 20))
def test_labels_are_exact_for_any_density(seed, n_rows, n_features, n_clusters):
    rng = np.random.default_rng(seed)
    dense, few = pair(
        seed,
        n_rows,
        n_features,
        n_clusters,
        density=rng.random(),
        shared=bool(seed % 2),
        sample_weight=bool(seed % 3),
        scale=10.0 ** rng.integers(-6, 7),
        origin=10.0 ** rng.integers(0, 7) * (seed % 5 == 0),
    )
    assert_labels_exact(few.assign(sparse)[0], dense)
    assert_same_statistics(accumulated(few), dense.accumulate(twin), rtol=1e-9)


@pytest.mark.parametrize("origin", [1e3, 1e7])
@pytest.mark.parametrize("shared", [False, True])
def test_rows_far_from_zero_lose_nothing(origin, shared):
    """Products of far rows cancel; such distances are computed from differences."""
    dense, few = pair(
        1, 60, 8, 5, 1.0, empty=False, origin=origin, shared=shared, sample_weight=True
    )
    assert_labels_exact(few.assign(sparse)[0], dense)
    np.testing.assert_allclose(few.distances(sparse), dense.distances(twin), rtol=1e-12)
    assert_same_statistics(accumulated(few), dense.accumulate(twin), rtol=1e-9)


def test_a_row_at_its_center_has_distance_zero():
    dense, few = pair(2, 30, 50, 30, n_starts=1)
    at_rows = {"centers": dense.rows[None].copy(), "weights": np.ones((1, 1, 50))}
    dense, few = dense._replace(**at_rows), few._replace(**at_rows)
    labels, objective = few.assign(sparse)
    np.testing.assert_array_equal(labels, dense.assign(twin)[0])
    assert objective == 0.0
    np.testing.assert_array_equal(np.diag(few.distances(sparse)), np.zeros(30))


def test_ties_go_to_the_first_cluster():
    X = np.array([[1.0, 0, 0], [0, 2.0, 0], [0, 0, 0], [3.0, 0, 4.0]])
    centers = np.array([[[0, 0, 9.0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0]]])
    _dense, few = pair(0, 4, 3, 5)
    same = {"centers": centers, "weights": np.full((1, 1, 3), 0.7), "offsets": np.zeros((1, 5))}
    few = few._replace(rows=compressed(X), **same)
    np.testing.assert_array_equal(few.assign(sparse)[0], [1, 2, 1, 1])


@pytest.mark.parametrize("rescale", [False, True])
def test_missing_cells_are_left_out(rescale, rng):
    dense, _ = pair(4, 80, 12, 4, 0.5, n_starts=2, sample_weight=True, empty=False)
    dense = with_gaps(dense, 0.2, rng)._replace(rescale=rescale)
    few = dense._replace(rows=compressed(dense.rows))
    assert_equals_twin(dense, few)
    every = dense.rows.copy()
    every[3] = np.nan  # nothing is known of a row, as in a spherical space
    dense = dense._replace(rows=every)
    few = dense._replace(rows=compressed(every))
    np.testing.assert_array_equal(few.assign(sparse)[0], dense.assign(twin)[0])
    assert_same_statistics(accumulated(few), dense.accumulate(twin))


def test_huge_values_are_compared_in_larger_units():
    dense, few = pair(5, 40, 6, 3, 0.5)
    huge = {"centers": dense.centers * 1e200}
    dense, few = (
        dense._replace(rows=dense.rows * 1e200, **huge),
        few._replace(rows=few.rows.with_values(few.rows.values * 1e200), **huge),
    )
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(few.assign(sparse)[0], dense.assign(twin)[0])
        np.testing.assert_allclose(few.distances(sparse), dense.distances(twin), rtol=1e-12)


def test_sums_are_about_means_so_that_nothing_cancels():
    _, few = pair(3, 400, 30, 4, 0.5, sample_weight=True, other_reference=True)
    statistics = few.accumulate(sparse)
    labels = few.assign(sparse)[0]
    dense = few.rows.toarray()
    for k in range(4):
        mean = np.average(dense[labels == k], axis=0, weights=few.sample_weight[labels == k])
        np.testing.assert_allclose(statistics.reference[0, k], mean, rtol=1e-12, atol=1e-15)
    assert np.abs(statistics.sums).max() < 1e-12


def test_statistics_about_different_references_are_added():
    dense, few = pair(4, 300, 20, 3, 0.4, n_starts=2, sample_weight=True, origin=3.0)
    pieces = [slice(0, 50), slice(50, 51), slice(51, 300)]
    parts = [
        few._replace(
            rows=few.rows[p], sample_weight=few.sample_weight[p], first_row=p.start
        ).accumulate(sparse)
        for p in pieces
    ]
    whole = parts[0].plus(parts[1]).plus(parts[2])
    assert_same_statistics(whole.about(few.reference), dense.accumulate(twin), rtol=1e-11)
    once = few.accumulate(sparse)
    np.testing.assert_allclose(whole.reference, once.reference, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(whole.squares, once.squares, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_changed_rows_alone_give_the_difference(weighted, rng):
    dense, few = pair(6, 200, 20, 4, n_starts=3, sample_weight=weighted, other_reference=True)
    before = rng.integers(0, 4, (3, 200)).astype(np.int32)
    update = np.array([True, False, True])
    ours, theirs = before.copy(), before.copy()
    got = accumulated(few, last=LastLabels(ours, update))
    expected = dense.accumulate(twin, last=LastLabels(theirs, update))
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(got.changed, expected.changed)
    np.testing.assert_array_equal(got.rows, expected.rows)
    for name in ("mass", "sums", "squares"):
        np.testing.assert_allclose(getattr(got, name), getattr(expected, name), atol=1e-10)


@pytest.mark.parametrize("shared", [False, True])
def test_results_do_not_depend_on_threads(shared):
    _, few = pair(8, 3000, 30, 7, n_starts=2, shared=shared, sample_weight=True)
    one, many = few.accumulate(sparse), few.accumulate(sparse, n_threads=4)
    assert_bitwise(one[:4] + one[5:], many[:4] + many[5:])
    assert_bitwise(few.assign(sparse), few.assign(sparse, n_threads=3))
    assert_bitwise(few.farthest(sparse), few.farthest(sparse, n_threads=3))
    assert_bitwise(few.describe(sparse), few.describe(sparse, n_threads=3))
    np.testing.assert_array_equal(few.distances(sparse), few.distances(sparse, n_threads=3))


@pytest.mark.parametrize("isa", ["baseline", "x86_64_v3"])
@pytest.mark.long
def test_every_instruction_set_equals_the_twin(isa):
    python(
        "from _core.test_sparse import SHAPES, assert_equals_twin, pair\n"
        "for shape in SHAPES:\n"
        "    for shared in (False, True):\n"
        "        assert_equals_twin(*pair(3, *shape, n_starts=2, shared=shared, offsets=True))\n",
        FWKMEANS_ISA=isa,
    )


def test_some_rows_of_sparse_rows(rng):
    X = rng.random((20, 6)) * (rng.random((20, 6)) < 0.3)
    rows = compressed(X)
    for which in (slice(3, 9), slice(0, 0), slice(15, 99), slice(None, None, 3)):
        np.testing.assert_array_equal(rows[which].toarray(), X[which])
    for some in (np.array([5, 5, 0, 19]), np.array([], dtype=int), X[:, 0] > 0):
        np.testing.assert_array_equal(rows[some].toarray(), X[some])
    parts = [rows[:7], rows[7:7], rows[7:]]
    np.testing.assert_array_equal(joined(parts).toarray(), X)


def test_any_form_of_scipy_becomes_sorted_rows_without_duplicates():
    import scipy.sparse as sp

    row, column = np.array([2, 0, 2, 2, 0]), np.array([3, 1, 0, 3, 1])
    given = sp.coo_array((np.array([1.0, 2, 3, 4, 5]), (row, column)), shape=(4, 5))
    expected = given.toarray()
    for form in ("csr", "csc", "lil", "dok", "bsr", "dia"):
        np.testing.assert_array_equal(sparse_rows(given.asformat(form)).toarray(), expected)
    messy = sp.csr_array(
        (np.array([4.0, 0.0, 1.0, 2.0]), np.array([3, 1, 3, 0]), np.array([0, 3, 3, 4])),
        shape=(3, 4),
    )
    before = messy.data.copy(), messy.indices.copy()
    rows = sparse_rows(messy)
    np.testing.assert_array_equal(rows.columns, [1, 3, 0])
    np.testing.assert_array_equal(rows.values, [0, 5, 2])
    np.testing.assert_array_equal(messy.data, before[0])
    np.testing.assert_array_equal(messy.indices, before[1])
    whole = sp.csr_array(expected)
    assert np.shares_memory(sparse_rows(whole).values, whole.data)


def test_a_damaged_matrix_is_refused():
    import scipy.sparse as sp

    X = sp.csr_array(np.eye(3))
    X.indices[1] = 7
    with pytest.raises(ValueError, match="damaged csr_array of shape"):
        sparse_rows(X)
