"""Empty clusters move to the worst served row, as a slow loop over starts says."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fwkmeans import FeatureWeightedKMeans, KMeans
from fwkmeans._engine import Recipe, assignment_of, bind_parts
from fwkmeans._engine.empty import relocate_empty_clusters
from fwkmeans._engine.statistics import RunningStatistics
from fwkmeans.centers import MeanCenter
from fwkmeans.dissimilarities import SquaredEuclidean
from fwkmeans.sources import ChunkedSource, MemorySource, describe
from fwkmeans.typing import Weights
from fwkmeans.weighting import (
    ClusterPowerWeights,
    EntropyWeights,
    SharedPowerWeights,
    UniformWeights,
    WeightRule,
)

RULES = {
    "uniform": UniformWeights(),
    "shared": SharedPowerWeights(beta=2.0),
    "cluster": ClusterPowerWeights(beta=2.0, smoothing=0.5),
    "entropy": EntropyWeights(gamma=1.0),
    "with offsets": EntropyWeights(gamma=0.3, dispersion="mean"),
}


def running_of(source, recipe, assignment):
    return RunningStatistics(source, recipe.dissimilarity, assignment.centers.shape[0])


def slow_relocation(X, weight, rule, table, centers, weights):
    """Return centers, weights, rows of each cluster, and whether a hole stays; one start."""
    n_clusters = centers.shape[1]
    present = np.ones(len(X), bool) if weight is None else weight > 0
    centers, values = centers.copy(), weights.values.copy()
    hopeless = False
    for _ in range(n_clusters + 1):
        assignment = assignment_of(rule, centers, Weights(values, weights.memory))
        w = np.broadcast_to(assignment.weights[0], centers[0].shape)
        d = ((X[:, None, :] - centers[0]) ** 2 * w).sum(axis=-1)
        labels = (d + assignment.offsets[0]).argmin(axis=1)
        rows = np.asarray([(present & (labels == k)).sum() for k in range(n_clusters)])
        if rows.all() or hopeless or _ == n_clusters:
            return centers, values, rows, hopeless
        farthest, distance = -1, 0.0
        for i in range(len(X)):
            if present[i] and rows[labels[i]] > 1 and d[i, labels[i]] > distance:
                farthest, distance = i, d[i, labels[i]]
        if distance <= 1e-25:
            hopeless = True
            continue
        k = int(np.flatnonzero(rows == 0)[0])
        centers[0, k] = X[farthest]
        if not rule.shared:
            values[0, k] = rule.initial(1, n_clusters, table).values[0, k]
    raise AssertionError


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_relocation_equals_the_slow_loop(rule, weighted, chunked):
    rng = np.random.default_rng(0)
    n, m, k, r = 60, 3, 6, 8
    X = rng.normal(size=(n, m))
    weight = rng.integers(0, 3, n) * 1.0 if weighted else None
    source = ChunkedSource(X, weight, block_bytes=300) if chunked else MemorySource(X, weight)
    table, _ = describe(source)
    rule = rule.bind(table, k)
    recipe, _ = bind_parts(Recipe(SquaredEuclidean(), MeanCenter(), rule), source, table)
    centers = rng.normal(size=(r, k, m))
    for start in range(r):  # from no empty cluster to all but one
        centers[start, rng.permutation(k)[: min(start, k - 1)]] += 100.0
    values = rng.uniform(0.1, 1, (r, 1 if rule.shared else k, m))
    values = rule.normalize(np.broadcast_to(values, (r, k, m)), table)
    weights = Weights(values, rule.initial(r, k, table).memory)
    assignment = assignment_of(rule, centers, weights)
    statistics = source.reduce(recipe.dissimilarity.accumulation(assignment))
    assert (statistics.rows == 0).any(axis=1).sum() >= r - 2

    moved, moved_weights, statistics, hopeless = relocate_empty_clusters(
        recipe, table, assignment, weights, statistics, running_of(source, recipe, assignment)
    )
    for start in range(r):
        one = slice(start, start + 1)
        expected = slow_relocation(
            X, weight, rule, table, centers[one], weights.take(np.asarray([start]))
        )
        np.testing.assert_array_equal(moved.centers[one], expected[0])
        np.testing.assert_array_equal(moved_weights.values[one], expected[1])
        np.testing.assert_array_equal(statistics.rows[start], expected[2])
        assert bool(hopeless[start]) == expected[3]
    again = source.reduce(recipe.dissimilarity.accumulation(moved))
    for got, wanted in zip(statistics, again, strict=True):
        np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(centers.shape, moved.centers.shape)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
@pytest.mark.parametrize("offset", [0.0, 1e5 + 0.1])
def test_nothing_moves_when_every_row_is_its_center(rule, offset):
    X = np.repeat([[0.1, 1.0], [3.0, -2.0], [0.7, 0.3]], 5, axis=0) + offset
    source = MemorySource(X)
    table, _ = describe(source)
    rule = rule.bind(table, 4)
    recipe, _ = bind_parts(Recipe(SquaredEuclidean(), MeanCenter(), rule), source, table)
    centers = np.concatenate([X[::5], [[1e9, 1e9]]])[None]
    weights = rule.initial(1, 4, table)
    assignment = assignment_of(rule, centers, weights)
    statistics = source.reduce(recipe.dissimilarity.accumulation(assignment))
    moved, _, after, hopeless = relocate_empty_clusters(
        recipe, table, assignment, weights, statistics, running_of(source, recipe, assignment)
    )
    np.testing.assert_array_equal(hopeless, [True])
    np.testing.assert_array_equal(moved.centers, centers)
    np.testing.assert_array_equal(after.rows, [[5, 5, 5, 0]])


def test_full_clusters_cost_no_pass():
    X = np.random.default_rng(0).normal(size=(30, 2))

    class Counting(MemorySource):
        passes = 0

        def reduce(self, reduction):
            type(self).passes += 1
            return super().reduce(reduction)

    source = Counting(X)
    table, _ = describe(source)
    rule = UniformWeights()
    recipe, _ = bind_parts(Recipe(SquaredEuclidean(), MeanCenter(), rule), source, table)
    weights = rule.initial(2, 2, table)
    assignment = assignment_of(rule, np.stack([X[:2], X[2:4]]), weights)
    statistics = source.reduce(recipe.dissimilarity.accumulation(assignment))
    before = Counting.passes
    result = relocate_empty_clusters(
        recipe, table, assignment, weights, statistics, running_of(source, recipe, assignment)
    )
    assert Counting.passes == before
    assert result[0] is assignment
    assert not result[3].any()


def test_relocation_never_raises_the_objective():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 4))
    source = MemorySource(X)
    table, _ = describe(source)
    rule = UniformWeights()
    recipe, _ = bind_parts(Recipe(SquaredEuclidean(), MeanCenter(), rule), source, table)
    centers = rng.normal(size=(20, 7, 4))
    centers[:, 2:5] += 50
    weights = rule.initial(20, 7, table)
    assignment = assignment_of(rule, centers, weights)

    def objectives(state):
        labeling = recipe.dissimilarity.labeling
        return np.asarray(
            [
                source.reduce(labeling(state.take(np.asarray([r]))))[0] * state.scale[r]
                for r in range(20)
            ]
        )

    statistics = source.reduce(recipe.dissimilarity.accumulation(assignment))
    moved, *_ = relocate_empty_clusters(
        recipe, table, assignment, weights, statistics, running_of(source, recipe, assignment)
    )
    assert np.all(objectives(moved) < objectives(assignment))


def test_a_cluster_of_one_row_keeps_it_however_far_its_center_is():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [100.0]])
    centers = np.array([[0.0], [150.0], [1000.0]])
    model = KMeans(3, init=centers, max_iter=1).fit(X)
    np.testing.assert_allclose(model.cluster_centers_, [[0.5], [100.0], [2.5]])


class Leaning(WeightRule):
    """More weight on the first feature, whatever the rows are."""

    def update(self, dispersion, context):
        return np.broadcast_to([0.9, 0.1], dispersion.shape)


def test_a_cluster_that_stays_empty_has_the_initial_weights():
    X = np.repeat([[0.0, 1.0], [5.0, 2.0]], 4, axis=0)
    model = FeatureWeightedKMeans(3, weighting=Leaning(), init=X[[0, 1, 4]], tol=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    empty = np.setdiff1d(range(3), model.labels_)
    assert empty.size == 1
    np.testing.assert_array_equal(model.feature_weights_[empty[0]], [0.5, 0.5])
    np.testing.assert_array_equal(model.feature_weights_[model.labels_], [[0.9, 0.1]] * 8)


@pytest.mark.parametrize("n_rows", [5, 5000])
@pytest.mark.parametrize("n_blocks", [1, 2])
def test_of_rows_that_are_as_far_the_first_one_is_taken(n_rows, n_blocks):
    X = np.zeros((n_rows, 1))
    X[1], X[-2] = -5.0, 5.0
    rows = X if n_blocks == 1 else ChunkedSource(X, block_bytes=X.nbytes // 2)
    model = KMeans(2, init=np.array([[0.0], [100.0]]), max_iter=1).fit(rows)
    np.testing.assert_allclose(model.cluster_centers_, [[5.0 / (n_rows - 1)], [-5.0]])


def test_a_row_of_weight_two_is_moved_like_two_equal_rows():
    X, weight = np.array([[0.0], [10.0], [10.5]]), [2, 1, 1]
    init = np.array([[-3.0], [10.2], [100.0]])
    for max_iter in (1, 100):
        weighted = KMeans(3, init=init, max_iter=max_iter).fit(X, sample_weight=weight)
        repeated = KMeans(3, init=init, max_iter=max_iter).fit(np.repeat(X, weight, axis=0))
        np.testing.assert_array_equal(weighted.cluster_centers_, repeated.cluster_centers_)
        np.testing.assert_array_equal(weighted.objective_history_, repeated.objective_history_)
