"""Means from the sums of a pass."""

import numpy as np
import pytest

from fwkmeans.centers import CENTER_RULES, MeanCenter
from fwkmeans.dissimilarities import SquaredEuclidean
from fwkmeans.sources import MemorySource, describe
from fwkmeans.typing import Assignment
from row_memory import labels_by


@pytest.mark.parametrize("origin", [0.0, 1e6])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centers_are_the_means_of_their_rows(dtype, weighted, origin):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(500, 3)) + origin).astype(dtype)
    weight = rng.integers(0, 3, 500) * 0.7 if weighted else None
    centers = rng.normal(size=(2, 4, 3)) + origin
    centers[1, 2] = origin + 1e6  # stays empty
    assignment = Assignment(centers, np.ones((2, 1, 3)), np.zeros((2, 4)), np.ones(2))
    source = MemorySource(X, weight)
    table, _ = describe(source)
    euclid = SquaredEuclidean().bind(table)
    statistics = source.reduce(euclid.accumulation(assignment))
    updated = MeanCenter().bind(table).update(statistics, assignment, source)
    s = np.ones(500) if weight is None else weight
    for r in range(2):
        one = assignment.take(np.asarray([r]))
        labels, _ = labels_by(source, euclid, one)
        for k in range(4):
            mine = (labels == k) & (s > 0)
            expected = centers[r, k]
            if mine.any():
                expected = np.average(X[mine].astype(np.longdouble), axis=0, weights=s[mine])
            np.testing.assert_allclose(
                updated[r, k], expected.astype(float), rtol=1e-14, atol=1e-14
            )
    np.testing.assert_array_equal(updated[1, 2], centers[1, 2])


def test_mean_needs_no_more_of_the_rows_than_squared_euclid():
    assert MeanCenter().operations == SquaredEuclidean().operations == ()
    assert CENTER_RULES["mean"] is MeanCenter
