"""Sums that follow the rows whose label changed equal sums over all rows."""

import numpy as np
import pytest

from _core.problems import make_problem, with_gaps
from fwkmeans._core import compiled, twin
from fwkmeans.typing import LastLabels

KERNELS = {"compiled": compiled, "twin": twin}
PARTS = ("mass", "rows", "sums", "squares", "observed")


def last_labels(problem, update):
    n_starts = problem.centers.shape[0]
    labels = np.full((n_starts, problem.rows.shape[0]), -1, dtype=np.int32)
    return LastLabels(labels, np.full(n_starts, update))


def moved(problem, seed):
    """The same rows and references with other centers, so that some labels change."""
    noise = np.random.default_rng(seed).normal(size=problem.centers.shape)
    return problem._replace(centers=problem.centers + 0.2 * noise, reference=problem.centers)


@pytest.mark.thinned
@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("shape", [(1, 1, 1), (37, 3, 2), (2500, 11, 7), (4100, 50, 4)])
def test_updates_equal_a_full_count(kernels, dtype, shared, weighted, missing, shape):
    kernels = KERNELS[kernels]
    options = {"dtype": dtype, "shared": shared, "sample_weight": weighted}
    first = make_problem(0, *shape, 3, **options)
    first = with_gaps(first, missing, np.random.default_rng(5)) if missing else first
    second = moved(first, 1)
    last = last_labels(first, False)
    before = first.accumulate(kernels, last=last)
    assert np.all(before.changed == shape[0])
    known = last.labels.copy()
    changes = second.accumulate(kernels, last=last._replace(update=np.ones(3, dtype=bool)))
    whole = second.accumulate(kernels)
    np.testing.assert_array_equal(changes.fingerprint, whole.fingerprint)
    np.testing.assert_array_equal(changes.changed, (known != last.labels).sum(axis=1))
    for part in PARTS:
        total = getattr(before, part) + getattr(changes, part)
        scale = np.abs(getattr(whole, part)).max() + 1
        np.testing.assert_allclose(total, getattr(whole, part), rtol=1e-11, atol=1e-12 * scale)


@pytest.mark.parametrize("kernels", KERNELS)
def test_labels_are_those_of_assign_and_each_start_has_its_own_mode(kernels):
    kernels = KERNELS[kernels]
    problem = make_problem(2, 3000, 6, 5, 4)
    last = last_labels(problem, False)
    problem.accumulate(kernels, last=last)
    for start in range(4):
        labels, _ = problem.of_start(start).assign(kernels)
        np.testing.assert_array_equal(last.labels[start], labels)
    mixed = last._replace(update=np.asarray([True, False, True, False]))
    again = problem.accumulate(kernels, last=mixed)
    np.testing.assert_array_equal(again.changed, 0)
    np.testing.assert_array_equal(again.rows.sum(axis=1), [0, 3000, 0, 3000])
    assert not again.sums[[0, 2]].any()


@pytest.mark.parametrize("n_threads", [2, 5])
def test_updates_are_bitwise_the_same_for_any_number_of_threads(n_threads):
    first = make_problem(3, 9000, 13, 6, 3, sample_weight=True)
    results = []
    for threads in (1, n_threads):
        last = last_labels(first, False)
        first.accumulate(compiled, threads, last=last)
        update = last._replace(update=np.ones(3, dtype=bool))
        results.append(moved(first, 4).accumulate(compiled, threads, last=update))
    for one, many in zip(*results, strict=True):
        np.testing.assert_array_equal(one, many)
