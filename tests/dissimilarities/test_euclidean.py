"""Squared Euclid: dispersions stay accurate however far the centers move."""

import numpy as np
import pytest

from fwkmeans.centers import MeanCenter
from fwkmeans.dissimilarities import DISSIMILARITIES, Minkowski, SquaredEuclidean
from fwkmeans.sources import ChunkedSource, MemorySource, describe
from fwkmeans.typing import Assignment
from row_memory import distances_by, labels_by


class CountingSource(MemorySource):
    """Remembers the number of starts of each pass."""

    def __init__(self, *args):
        super().__init__(*args)
        self.passes = []

    def reduce(self, reduction):
        if hasattr(reduction, "assigning"):
            self.passes.append(len(reduction.assigning.centers))
        return super().reduce(reduction)


def clusters(seed=0, n=600, m=3, k=3, spread=1.0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    places = 100.0 * np.eye(k, m)
    labels = rng.integers(0, k, n)
    return (places[labels] + spread * rng.normal(size=(n, m))).astype(dtype), places, labels


def assignment_at(centers):
    n_starts, n_clusters, n_features = centers.shape
    return Assignment(
        centers,
        np.ones((n_starts, n_clusters, n_features)),
        np.zeros((n_starts, n_clusters)),
        np.ones(n_starts),
    )


def exact_dispersion(X, labels, centers, weight=None):
    rows = X.astype(np.longdouble)
    s = np.ones(len(X)) if weight is None else weight
    return np.stack(
        [
            (s[labels == k, None] * (rows[labels == k] - c) ** 2).sum(axis=0)
            for k, c in enumerate(centers.astype(np.longdouble))
        ]
    ).astype(np.float64)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("moved", [0.0, 1.0, 1e2, 1e4, 1e6, 1e8])
def test_dispersion_is_accurate_wherever_the_sums_were_taken_about(moved, dtype, weighted):
    # all old centers are moved along the diagonal: the labels stay what they are
    X, places, labels = clusters(dtype=dtype)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X)) if weighted else None
    source = CountingSource(X, weight)
    table, _ = describe(source)
    euclid = SquaredEuclidean().bind(table)
    assignment = assignment_at(np.stack([places + moved, places]))
    np.testing.assert_array_equal(
        labels_by(source, euclid, assignment.take(np.asarray([0])))[0], labels
    )
    statistics = source.reduce(euclid.accumulation(assignment))
    centers = MeanCenter().bind(table).update(statistics, assignment, source)
    source.passes.clear()
    dispersion = euclid.dispersion(statistics, assignment, centers, source, table)
    for start in range(2):
        expected = exact_dispersion(X, labels, centers[start], weight)
        np.testing.assert_allclose(dispersion[start], expected, rtol=1e-9)
    # only the start that lost digits is passed over again, and only if it did
    assert source.passes == ([1] if moved >= 1e4 else [])


def test_a_feature_on_another_scale_is_accurate_too():
    X, places, labels = clusters(n=300)
    X[:, 2] *= 1e-7
    places = places * [1, 1, 1e-7]
    source = CountingSource(X)
    table, _ = describe(source)
    assignment = assignment_at(places[None] + [0.0, 0.0, 1.0])
    euclid = SquaredEuclidean().bind(table)
    statistics = source.reduce(euclid.accumulation(assignment))
    centers = MeanCenter().bind(table).update(statistics, assignment, source)
    dispersion = euclid.dispersion(statistics, assignment, centers, source, table)
    labels, _ = labels_by(source, euclid, assignment)
    np.testing.assert_allclose(dispersion[0], exact_dispersion(X, labels, centers[0]), rtol=1e-9)


@pytest.mark.parametrize("moved", [0.0, 0.1, 12.3, 1e6])
def test_rows_that_are_equal_have_no_dispersion(moved):
    # coordinates with equal sums: moving along the diagonal changes no label
    places = np.asarray([[0.1, 0.2], [100.3, -100.0], [-50.1, 50.4]])
    X = np.repeat(places, 7, axis=0)
    source = MemorySource(X)
    table, _ = describe(source)
    assignment = assignment_at(places[None] + moved)
    euclid = SquaredEuclidean().bind(table)
    statistics = source.reduce(euclid.accumulation(assignment))
    centers = MeanCenter().bind(table).update(statistics, assignment, source)
    dispersion = euclid.dispersion(statistics, assignment, centers, source, table)
    assert np.all(dispersion >= 0)
    assert np.all(dispersion <= 1e-12 * table.scatter)


def test_constant_features_and_empty_clusters_have_no_dispersion():
    X, places, _ = clusters()
    X[:, 1] = 0.1
    source = MemorySource(X)
    table, _ = describe(source)
    centers = np.concatenate([places, [[1e4, 1e4, 1e4]]])[None]
    assignment = assignment_at(centers)
    euclid = SquaredEuclidean().bind(table)
    statistics = source.reduce(euclid.accumulation(assignment))
    updated = MeanCenter().bind(table).update(statistics, assignment, source)
    dispersion = euclid.dispersion(statistics, assignment, updated, source, table)
    np.testing.assert_array_equal(dispersion[..., 1], 0.0)
    np.testing.assert_array_equal(dispersion[0, 3], 0.0)
    assert np.all(dispersion[0, 0, [0, 2]] > 0)


def test_distances_are_the_roots_with_the_scale():
    X, places, _ = clusters(n=50)
    weights = np.random.default_rng(2).uniform(0, 1, (1, 3, 3))
    assignment = assignment_at(places[None])._replace(weights=weights, scale=np.asarray([4.0]))
    source = MemorySource(X)
    euclid = SquaredEuclidean().bind(describe(source)[0])
    distances = distances_by(source, euclid, assignment)
    expected = np.sqrt((4 * weights[0] * (X[:, None] - places) ** 2).sum(axis=-1))
    np.testing.assert_allclose(distances, expected, rtol=1e-14)


def test_farthest_row_is_the_first_over_blocks():
    X = np.asarray([[0.0], [3.0], [1.0], [-3.0], [2.0], [-3.0], [0.0]])
    euclid = SquaredEuclidean().bind(describe(MemorySource(X))[0])
    reduction = euclid.farthest(assignment_at(np.zeros((2, 1, 1))), np.ones((2, 1), dtype=bool))
    for block_bytes in (8, 16, 24, 1000):
        distance, rows = ChunkedSource(X, block_bytes=block_bytes).reduce(reduction)
        np.testing.assert_array_equal(distance, [9.0, 9.0])
        np.testing.assert_array_equal(rows.numbers, [[3.0], [3.0]])


@pytest.mark.parametrize("p", [1.5, 2.0, np.inf])
def test_rounding_is_that_of_the_cluster_a_row_is_in(p):
    """A row is hardly ever as far from its center as another cluster's weights would allow."""
    X, places, _ = clusters(n=50)
    assignment = assignment_at(places[None])
    weights = assignment.weights * np.asarray([0.75, 1e-3, 1e-6])[:, None]
    table = describe(MemorySource(X))[0]
    minkowski = Minkowski(p).bind(table)
    ulps = 1e-13 * table.span + 1e-15 * table.magnitude
    for own in range(3):
        got = minkowski.rounding(places[[own]], assignment._replace(weights=weights))
        sizes = weights[0, own] * (ulps if np.isinf(p) else ulps**p)
        expected = sizes.max() if np.isinf(p) else sizes.sum()
        np.testing.assert_allclose(got, [expected], rtol=1e-12)


def test_registry_and_contract():
    assert DISSIMILARITIES["squared-euclidean"] is SquaredEuclidean
    assert not SquaredEuclidean().needs_labels
