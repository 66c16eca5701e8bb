"""k-means++ in the core draws and chooses what scikit-learn's function does."""

from __future__ import annotations

import numpy as np
import pytest

from fwkmeans._core.spreading import _spread_rows_in_python, spread_rows


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 10])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(150, 4), (201, 2), (1000, 17), (33, 40)])
def test_same_rows_as_scikit_learn(shape, weighted, n_clusters):
    rng = np.random.default_rng(n_clusters)
    rows = rng.normal(size=shape) + 5.0 * rng.integers(0, 3, (shape[0], 1))
    weights = rng.random(shape[0]) if weighted else np.ones(shape[0])
    seeds = [0, 1, 7, 123456, 2**31 - 1]
    expected = _spread_rows_in_python(rows, weights, seeds, n_clusters)
    for n_threads in (1, 3):
        chosen = spread_rows(rows, weights, seeds, n_clusters, n_threads)
        np.testing.assert_array_equal(chosen, expected)


def test_same_rows_where_a_start_draws_more_than_the_generator_makes_at_once():
    rows = np.random.default_rng(3).normal(size=(300, 2))
    expected = _spread_rows_in_python(rows, np.ones(300), [5, 6], 150)  # 150 x 7 draws of two words
    np.testing.assert_array_equal(spread_rows(rows, np.ones(300), [5, 6], 150, 1), expected)


def test_single_precision_draws_from_the_same_shares():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3)).astype(np.float32)
    seeds = list(range(20))
    weights = np.ones(200)
    expected = _spread_rows_in_python(rows, weights.astype(np.float32), seeds, 4)
    chosen = spread_rows(rows, weights, seeds, 4, 1)
    assert (chosen == expected).mean() > 0.95  # sums are double precision here, single there


def test_rows_that_are_all_equal_and_more_clusters_than_distinct_rows():
    rows = np.repeat([[1.0, 2.0], [3.0, 5.0]], 5, axis=0)
    chosen = spread_rows(rows, np.ones(10), [0, 1, 2], 4, 1)
    assert ((chosen >= 0) & (chosen < 10)).all()
    assert all(len({tuple(rows[i]) for i in some}) == 2 for some in chosen)
    assert ((spread_rows(np.zeros((5, 2)), np.ones(5), [3], 3, 1)) < 5).all()
