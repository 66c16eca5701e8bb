"""The direction of the sum, in each space on its own."""

import numpy as np
import pytest

from fwkmeans import FeatureWeightedKMeans
from fwkmeans.centers import CENTER_RULES, DirectionCenter
from fwkmeans.dissimilarities import DISSIMILARITIES, UnitSquaredEuclidean
from fwkmeans.sources import MemorySource, describe
from fwkmeans.typing import Assignment, Statistics

SPACES = np.array([0, -1, 1, 0, 1])


def unit(rows, spaces=SPACES):
    rows = rows.copy()
    for number in (0, 1):
        rows[:, spaces == number] /= np.linalg.norm(
            rows[:, spaces == number], axis=1, keepdims=True
        )
    return rows


@pytest.fixture
def problem(rng):
    X = unit(rng.standard_normal((60, 5)))
    s = rng.random(60)
    centers = unit(rng.standard_normal((6, 5))).reshape(2, 3, 5)
    weights = np.full((2, 1, 5), 0.5)
    return X, s, Assignment(centers, weights, np.zeros((2, 3)), np.ones(2))


def test_sums_give_directions_and_means(problem):
    X, s, assignment = problem
    source = MemorySource(X, s)
    table, _ = describe(source)
    statistics = source.reduce(UnitSquaredEuclidean().bind(table).accumulation(assignment))
    centers = DirectionCenter(SPACES).bind(table).update(statistics, assignment, source)
    for start in range(2):
        d = ((X[:, None] - assignment.centers[start]) ** 2).sum(axis=-1)
        for k in range(3):
            mine = d.argmin(axis=1) == k
            total = (s[mine, None] * X[mine]).sum(axis=0)
            expected = total / s[mine].sum()
            for number in (0, 1):
                part = number == SPACES
                expected[part] = total[part] / np.linalg.norm(total[part])
            np.testing.assert_allclose(centers[start, k], expected, atol=1e-12)


def test_dispersion_is_that_about_the_new_centers(problem):
    X, s, assignment = problem
    source = MemorySource(X, s)
    table, _ = describe(source)
    part = UnitSquaredEuclidean().bind(table)
    statistics = source.reduce(part.accumulation(assignment))
    for centers in (
        DirectionCenter(SPACES).bind(table).update(statistics, assignment, source),
        assignment.centers[:, ::-1],
        assignment.centers + 1e9,  # so far that the pass is repeated
    ):
        dispersion = part.dispersion(statistics, assignment, centers, source, table)
        for start in range(2):
            labels = ((X[:, None] - assignment.centers[start]) ** 2).sum(axis=-1).argmin(axis=1)
            squares = s[:, None] * (X - centers[start][labels]) ** 2
            expected = np.stack([squares[labels == k].sum(axis=0) for k in range(3)])
            np.testing.assert_allclose(dispersion[start], expected, rtol=1e-9)


def test_dispersion_is_twice_the_mass_less_the_length_of_the_sum(problem):
    X, s, assignment = problem
    source = MemorySource(X, s)
    table, _ = describe(source)
    part = UnitSquaredEuclidean().bind(table)
    statistics = source.reduce(part.accumulation(assignment))
    centers = DirectionCenter(SPACES).bind(table).update(statistics, assignment, source)
    dispersion = part.dispersion(statistics, assignment, centers, source, table)
    labels = ((X[:, None] - assignment.centers[0]) ** 2).sum(axis=-1).argmin(axis=1)
    for k in range(3):
        mine = labels == k
        for number in (0, 1):
            total = (s[mine, None] * X[mine])[:, number == SPACES].sum(axis=0)
            expected = 2 * (s[mine].sum() - np.linalg.norm(total))
            found = dispersion[0, k, number == SPACES].sum()
            assert found == pytest.approx(expected, rel=1e-9)


def test_no_rows_and_no_sum_keep_the_center():
    before = np.array([[[0.6, 0.8], [0.0, 1.0], [1.0, 0.0]]])
    assignment = Assignment(before, np.ones((1, 1, 2)), np.zeros((1, 3)), np.ones(1))
    statistics = Statistics(
        mass=np.array([[0.0, 2.0, 3.0]]),
        rows=np.array([[0, 2, 3]]),
        sums=np.array([[[0.0, 0.0], [0.0, -2.0], [-3.0, 3.0]]]),
        squares=np.ones((1, 3, 2)),
        cells=np.array([[[0.0], [2.0], [3.0]]]),
        counts=np.zeros((1, 3, 0)),
        fingerprint=np.zeros(1, dtype=np.int64),
        changed=np.zeros(1, dtype=np.int64),
        reference=before,
    )
    source = MemorySource(np.eye(2))
    rule = DirectionCenter().bind(describe(source)[0])
    centers = rule.update(statistics, assignment, source)
    np.testing.assert_array_equal(centers, [[[0.6, 0.8], [0.0, 1.0], [0.0, 1.0]]])


def test_parts_make_spherical_kmeans_of_unit_rows(rng):
    X = rng.standard_normal((80, 3)) + np.array([[2, 0, 0], [0, 2, 0]])[np.arange(80) % 2]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    model = FeatureWeightedKMeans(
        2, dissimilarity=UnitSquaredEuclidean(), center=DirectionCenter(), init=X[:2], tol=0
    ).fit(X)
    cosine = X @ model.cluster_centers_.T
    np.testing.assert_array_equal(model.labels_, cosine.argmax(axis=1))
    assert model.inertia_ == pytest.approx(2 * (1 - cosine.max(axis=1)).sum(), rel=1e-10)


def test_both_are_registered():
    assert CENTER_RULES["direction"] is DirectionCenter
    assert DISSIMILARITIES["unit-squared-euclidean"] is UnitSquaredEuclidean


def test_numbers_of_spaces_may_be_any(problem):
    X, s, assignment = problem
    source = MemorySource(X, s)
    table, _ = describe(source)
    statistics = source.reduce(UnitSquaredEuclidean().bind(table).accumulation(assignment))
    centers = [
        DirectionCenter(spaces).bind(table).update(statistics, assignment, source)
        for spaces in (SPACES, np.where(SPACES == 1, 2**60, SPACES))  # nothing counts so far
    ]
    np.testing.assert_array_equal(*centers)


@pytest.mark.parametrize("spaces", [[0], [[0, 0]], [0.0, 1.0]])
def test_spaces_have_one_integer_for_each_feature(spaces):
    table, _ = describe(MemorySource(np.eye(2)))
    with pytest.raises(ValueError, match="expected one integer for each of 2 numeric features"):
        DirectionCenter(spaces).bind(table)
