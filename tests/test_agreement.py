import numpy as np
import pytest
from sklearn import metrics

from fwkmeans._support.agreement import adjusted_rand, adjusted_rand_score


@pytest.mark.thinned
@pytest.mark.parametrize("n_rows", [2, 3, 17, 400])
@pytest.mark.parametrize("n_clusters", [1, 2, 5])
def test_equals_scikit_learn_to_the_bit(n_rows, n_clusters, rng):
    labels = rng.integers(n_clusters, size=(40, n_rows))
    for classes in (rng.integers(3, size=n_rows), np.zeros(n_rows), np.arange(n_rows)):
        expected = [metrics.adjusted_rand_score(classes, row) for row in labels]
        np.testing.assert_array_equal(adjusted_rand(labels, classes), expected)
        assert [adjusted_rand_score(classes, row) for row in labels] == expected


def test_classes_may_be_text():
    classes = np.array(["b", "a", "a", "c"])
    labels = np.array([[0, 1, 1, 2], [0, 0, 0, 0]])
    np.testing.assert_array_equal(adjusted_rand(labels, classes), [1.0, 0.0])
    assert adjusted_rand_score(classes.tolist(), labels[0].tolist()) == 1.0


@pytest.mark.parametrize("n_rows", [0, 1])
def test_fewer_than_two_rows_agree(n_rows):
    labels = np.zeros(n_rows, dtype=np.int64)
    assert adjusted_rand_score(labels, labels) == metrics.adjusted_rand_score(labels, labels) == 1.0


def test_many_rows_do_not_overflow(rng):
    labels = rng.integers(2, size=(1, 200_000))
    for other in (labels[0] % 2, rng.integers(3, size=200_000), rng.permutation(200_000)):
        expected = metrics.adjusted_rand_score(other, labels[0])
        assert adjusted_rand_score(other, labels[0]) == expected
        if other.max() < 3:
            np.testing.assert_array_equal(adjusted_rand(labels, other), [expected])
