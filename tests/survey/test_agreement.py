import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from fwkmeans.survey.agreement import adjusted_rand


@pytest.mark.parametrize("n_rows", [2, 3, 17, 400])
@pytest.mark.parametrize("n_clusters", [1, 2, 5])
def test_equals_scikit_learn_to_the_bit(n_rows, n_clusters, rng):
    labels = rng.integers(n_clusters, size=(40, n_rows))
    for classes in (rng.integers(3, size=n_rows), np.zeros(n_rows), np.arange(n_rows)):
        expected = [adjusted_rand_score(classes, row) for row in labels]
        np.testing.assert_array_equal(adjusted_rand(labels, classes), expected)


def test_classes_may_be_text(rng):
    classes = np.array(["b", "a", "a", "c"])
    labels = np.array([[0, 1, 1, 2], [0, 0, 0, 0]])
    np.testing.assert_array_equal(adjusted_rand(labels, classes), [1.0, 0.0])


def test_many_rows_do_not_overflow(rng):
    labels = rng.integers(2, size=(1, 200_000))
    expected = adjusted_rand_score(labels[0] % 2, labels[0])
    np.testing.assert_array_equal(adjusted_rand(labels, labels[0] % 2), [expected])
    other = rng.integers(3, size=200_000)
    np.testing.assert_array_equal(
        adjusted_rand(labels, other), [adjusted_rand_score(other, labels[0])]
    )
