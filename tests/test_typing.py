"""Statistics as values: added, scaled, moved and put together, they are those of their rows."""

import numpy as np
import pytest

from fwkmeans._tabular.layout import Layout
from fwkmeans.dissimilarities import SquaredEuclidean
from fwkmeans.sources import MemorySource, describe
from fwkmeans.typing import Assignment, Statistics


@pytest.fixture
def parts(rng):
    """Return a function that counts rows of a table with categories and missing cells."""
    numbers, levels = rng.normal(size=(40, 2)), rng.integers(0, 3, (40, 1))
    numbers[rng.random((40, 2)) < 0.2] = np.nan
    weight = rng.random(40)
    layout = Layout(np.array([0, 2]), np.array([1]), np.array([0, 4]))
    centers = rng.normal(size=(2, 3, 6))
    centers[..., 2:] = rng.dirichlet(np.ones(4), (2, 3))
    by = Assignment(centers, np.ones((2, 3, 3)), np.zeros((2, 3)), np.ones(2))

    def counted(begin=0, end=40, factor=1.0, reference=None):
        here = slice(begin, end)
        source = MemorySource(
            numbers[here], factor * weight[here], levels=levels[here], layout=layout, gaps=True
        )
        table, _ = describe(source)
        whole = describe(MemorySource(numbers, weight, levels=levels, layout=layout, gaps=True))[0]
        euclid = SquaredEuclidean().bind(table._replace(mean=whole.mean))
        return source.reduce(euclid.accumulation(by, reference))

    return counted


def assert_alike(a, b, *, but=("fingerprint", "changed")):
    for name, one, other in zip(Statistics._fields, a, b, strict=True):
        if name not in but:
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13, err_msg=name)


def test_sums_of_two_parts_are_those_of_all_rows(parts):
    assert_alike(parts(0, 15).plus(parts(15, 40)), parts())


def test_scaled_sums_are_those_of_scaled_weights(parts):
    assert_alike(parts().scaled(3.0), parts(factor=3.0))


def test_sums_about_another_point_are_those_taken_about_it(parts):
    whole = parts()
    reference = whole.reference + [0.5, -2.0]
    assert_alike(whole.about(reference), parts(reference=reference))


def test_some_starts_are_taken_and_put_back(parts):
    whole, last = parts(), np.array([1])
    kept = Statistics._make(part.copy() for part in whole)
    changed = whole.put(last, whole.take(last).scaled(2.0))
    assert_alike(whole, kept, but=())  # nothing is changed in place
    assert_alike(changed.take(np.array([0])), kept.take(np.array([0])), but=())
    assert_alike(changed.take(last), kept.take(last).scaled(2.0), but=())
