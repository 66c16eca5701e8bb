"""What a result must not depend on, to the last bit."""

import numpy as np
import pytest

from _core.problems import assert_bitwise, make_problem, relaid

compiled = pytest.importorskip("fwkmeans._core.compiled")

CASES = [
    pytest.param(dtype, shared, id=f"{np.dtype(dtype)}-{'shared' if shared else 'own'}")
    for dtype in (np.float32, np.float64)
    for shared in (False, True)
]
# one segment, a few, and all 64 of them; all above the size from which threads are used
SHAPES = [(1500, 20, 10, 3), (9000, 7, 5, 4), (70000, 2, 2, 3), (70000, 3, 4, 1)]


def problems(dtype, shared):
    for seed, (n, m, k, r) in enumerate(SHAPES):
        yield make_problem(
            seed, n, m, k, r, dtype=dtype, shared=shared, sample_weight=seed % 2 == 0, offsets=True
        )


def of_starts(result, starts):
    """Return the parts of a result that belong to some starts."""
    return [None if field is None else field[starts] for field in result]


@pytest.mark.parametrize("n_threads", [2, 3, 8])
@pytest.mark.parametrize(("dtype", "shared"), CASES)
def test_results_do_not_depend_on_threads(dtype, shared, n_threads):
    for problem in problems(dtype, shared):
        for what in ("accumulate", "farthest", "assign", "describe"):
            once = getattr(problem, what)(compiled, 1)
            assert_bitwise(getattr(problem, what)(compiled, n_threads), once)
        assert_bitwise([problem.distances(compiled, n_threads)], [problem.distances(compiled, 1)])


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize(("dtype", "shared"), CASES)
def test_a_start_does_not_depend_on_its_batch(dtype, shared, n_threads):
    for n, m, k in [(100, 4, 3), (3000, 5, 7)]:
        batch = make_problem(1, n, m, k, 11, dtype=dtype, shared=shared, sample_weight=True)
        whole = batch.accumulate(compiled, n_threads)
        whole_farthest = batch.farthest(compiled, n_threads)
        for starts in ([4], [10, 0], [3, 3, 7, 2, 1], list(range(10, -1, -1))):
            part = batch.of_starts(starts)
            for got, all_ in (
                (part.accumulate(compiled, n_threads), whole),
                (part.farthest(compiled, n_threads), whole_farthest),
            ):
                assert_bitwise(got, of_starts(all_, starts))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("dtype", "shared"), CASES)
def test_a_label_does_not_depend_on_the_other_rows(dtype, shared, ties):
    rng = np.random.default_rng(0)
    for n, m, k in [(3000, 6, 9), (1100, 17, 4), (200, 1, 3)]:
        problem = make_problem(n, n, m, k, dtype=dtype, shared=shared, offsets=not ties)
        if ties:  # thirds: many rows tie up to rounding
            rows = (rng.integers(-3, 4, (n, m)) / 3).astype(dtype)
            centers = rng.integers(-3, 4, (1, k, m)) / 3
            problem = problem._replace(rows=rows, centers=centers)
        whole = problem.assign(compiled, 2)[0]
        subsets = [slice(i, i + size) for i in (0, 1, 63, 128) for size in (1, 2, 65, 1000)]
        subsets += [slice(None, None, -1), slice(3, None, 7), rng.permutation(n)]
        subsets += [rng.integers(0, n, 33)]
        for subset in subsets:
            labels = problem._replace(rows=problem.rows[subset]).assign(compiled)[0]
            np.testing.assert_array_equal(labels, whole[subset])


@pytest.mark.parametrize("layout", ["Fortran", "every other column", "all backwards"])
@pytest.mark.parametrize(("dtype", "shared"), CASES)
def test_results_do_not_depend_on_the_memory_layout(dtype, shared, layout):
    for seed, (n, m, k) in enumerate([(1200, 19, 6), (65, 3, 2), (400, 70, 5)]):
        problem = make_problem(seed, n, m, k, 2, dtype=dtype, shared=shared, sample_weight=True)
        other = problem._replace(rows=relaid(problem.rows, layout))
        assert_bitwise(other.accumulate(compiled), problem.accumulate(compiled))
        assert_bitwise(other.assign(compiled), problem.assign(compiled))
        assert_bitwise([other.distances(compiled)], [problem.distances(compiled)])


def test_inputs_are_left_alone():
    problem = make_problem(0, 500, 5, 4, 2, sample_weight=True, offsets=True)
    before = [np.array(part) for part in problem]
    problem.accumulate(compiled)
    problem.farthest(compiled)
    problem.assign(compiled)
    problem.distances(compiled)
    problem.describe(compiled)
    assert_bitwise([np.asarray(part) for part in problem], before)
