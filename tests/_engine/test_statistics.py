"""Books kept over the iterations: the same statistics as counting every time."""

import numpy as np
import pytest

from fwkmeans import AWKMeans, EWKMeans, KMeans, WKMeans
from fwkmeans._engine.state import assignment_of
from fwkmeans._engine.statistics import RunningStatistics, keeps_labels
from fwkmeans.dissimilarities import Minkowski, SquaredEuclidean
from fwkmeans.sources import ChunkedSource, MemorySource, describe, weigh_gaps
from fwkmeans.weighting import UniformWeights


@pytest.fixture(autouse=True)
def small_tables_count(monkeypatch):
    monkeypatch.setattr("fwkmeans._engine.state._WORTHWHILE", 1)


def assignments(source, table, n_steps, seed=0):
    """Centers that wander, less and less: first many labels change, then few, then none."""
    rng = np.random.default_rng(seed)
    rule = UniformWeights()
    weights = rule.initial(3, 4, table)
    centers = rng.normal(size=(3, 4, source.n_features))
    for step in range(n_steps):
        yield assignment_of(rule, centers.copy(), weights)
        centers += 0.5 * 0.6**step * rng.normal(size=centers.shape)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_books_equal_counting_anew(weighted, gaps):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(800, 5))
    source = MemorySource(X, rng.integers(0, 3, 800).astype(float) if weighted else None)
    if gaps:
        X[rng.random(X.shape) < 0.2] = np.nan
        X[np.isnan(X).all(axis=1), 0] = 0.0
        source = weigh_gaps(source)[1]
    table, _ = describe(source)
    euclid = SquaredEuclidean().bind(table)
    running = RunningStatistics(source, euclid, 3)
    updates = 0
    last = np.array([False, True, True])
    for step, assignment in enumerate(assignments(source, table, 40)):
        if step == 12:
            running.keep(last)  # the first start has ended
        if step >= 12:
            assignment = assignment.take(last)
        statistics = running.count(assignment)
        assert step != 12 or (running._age > 0).all()  # by its own labels no start loses digits
        whole = source.reduce(euclid.accumulation(assignment, statistics.reference))
        updates += int((running._age > 0).sum())
        np.testing.assert_array_equal(statistics.rows, whole.rows)
        np.testing.assert_array_equal(statistics.fingerprint, whole.fingerprint)
        for part in ("mass", "sums", "squares", "observed"):
            kept, counted = getattr(statistics, part), getattr(whole, part)
            np.testing.assert_allclose(kept, counted, rtol=1e-10, atol=1e-10)
    assert updates > 60  # most of 3 x 12 + 2 x 28 counts were updates


def test_a_feature_whose_last_cells_leave_is_counted_anew():
    """Else what is left of their weights by rounding would divide what is left of their sums."""
    rng = np.random.default_rng(8)
    X = np.c_[rng.normal(size=300) + np.repeat([0.0, 10.0, 5.2], 100), np.full(300, np.nan)]
    X[200:, 1] = rng.normal(size=100)  # only rows between both clusters have it
    weight = rng.random(300)
    source = weigh_gaps(MemorySource(X, weight))[1]
    table, _ = describe(source)
    euclid = SquaredEuclidean().bind(table)
    weights = UniformWeights().initial(1, 2, table)
    running = RunningStatistics(source, euclid, 1)
    for middle in (9.0, 6.0, 0.0):  # at last these rows go to the other cluster
        centers = np.asarray([[[middle - 9.0, 0.0], [10.0, 0.0]]])
        assignment = assignment_of(UniformWeights(), centers, weights)
        statistics = running.count(assignment)
        running._total = statistics._replace(changed=np.zeros(1, dtype=np.int64))  # force an update
    assert statistics.observed[0, 0, 1] == 0.0
    whole = source.reduce(euclid.accumulation(assignment, statistics.reference))
    np.testing.assert_allclose(statistics.observed, whole.observed, rtol=1e-13)
    np.testing.assert_allclose(statistics.sums, whole.sums, rtol=1e-11)


def test_an_emptied_cluster_leaves_nothing_behind():
    X = np.repeat([[0.1], [10.3]], 50, axis=0)
    source = MemorySource(X)
    table, _ = describe(source)
    weights = UniformWeights().initial(1, 3, table)
    running = RunningStatistics(source, SquaredEuclidean().bind(table), 1)
    for centers in ([[0.0], [10.0], [0.17]], [[0.0], [10.0], [0.16]], [[0.1], [10.0], [0.16]]):
        state = assignment_of(UniformWeights(), np.asarray([centers]), weights)
        statistics = running.count(state)
        running._total = statistics._replace(changed=np.zeros(1, dtype=np.int64))  # force an update
    assert running._age.tolist() == [2]
    empty = statistics.rows == 0
    assert empty.any()
    assert not statistics.mass[empty].any()
    assert not statistics.sums[empty].any()
    assert not statistics.squares[empty].any()


def test_sums_about_a_far_point_are_taken_anew():
    """No label changes, but squares about where the centers were would cancel."""
    rng = np.random.default_rng(2)
    X = np.repeat([[0.0], [10.0]], 50, axis=0) + 0.1 * rng.normal(size=(100, 1))
    source = MemorySource(X)
    table, _ = describe(source)
    weights = UniformWeights().initial(1, 2, table)
    running = RunningStatistics(source, SquaredEuclidean().bind(table), 1)
    for centers in ([[0.0], [10.0]], [[0.01], [10.0]], [[3.0], [7.0]]):
        statistics = running.count(assignment_of(UniformWeights(), np.asarray([centers]), weights))
        running._total = statistics._replace(changed=np.zeros(1, dtype=np.int64))  # few of them
        expected = [[0.0], [10.0]] if centers[0][0] < 1 else centers
        np.testing.assert_array_equal(statistics.reference[0], expected)


@pytest.mark.parametrize(("distance", "heavy"), [(3e6, 1.0), (20.0, 1e12)])
def test_what_is_left_of_a_large_sum_is_counted_anew(distance, heavy):
    rng = np.random.default_rng(4)
    X = np.r_[rng.normal(size=(500, 1)), [[distance], [-distance]]]
    source = MemorySource(X, np.r_[np.ones(500), heavy, heavy])
    table, _ = describe(source)
    weights = UniformWeights().initial(1, 3, table)
    euclid = SquaredEuclidean().bind(table)
    running = RunningStatistics(source, euclid, 1)
    for away in (100.0 * distance, distance):  # the far rows leave on both sides
        centers = np.asarray([[[0.0], [away], [-away]]])
        assignment = assignment_of(UniformWeights(), centers, weights)
        statistics = running.count(assignment)
        running._total = statistics._replace(changed=np.zeros(1, dtype=np.int64))  # force an update
        running.keep(np.array([True]))  # as when another start has ended
    assert statistics.rows.tolist() == [[500, 1, 1]]
    whole = source.reduce(euclid.accumulation(assignment))
    np.testing.assert_allclose(statistics.squares[0, 0], whole.squares[0, 0], rtol=1e-13)
    assert statistics.mass[0, 0] == pytest.approx(500.0, rel=1e-13)


def test_files_do_not_keep_labels(tmp_path):
    np.save(tmp_path / "rows.npy", np.zeros((30, 2)))
    file, memory = ChunkedSource(tmp_path / "rows.npy"), MemorySource(np.zeros((30, 2)))
    assert not keeps_labels(file, SquaredEuclidean())
    assert keeps_labels(memory, SquaredEuclidean())
    assert keeps_labels(file, Minkowski(3.0))  # its centers cannot do without
    assert keeps_labels(memory.with_gaps(stretch=False), SquaredEuclidean())


@pytest.mark.parametrize("estimator", [KMeans, EWKMeans, WKMeans])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("missing", [0.0, 0.1, 0.8])
def test_fits_agree_with_and_without_books(estimator, dtype, missing, monkeypatch):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(3000, 6)).astype(dtype)
    options = {"init": X[:5].copy(), "tol": 0, "max_iter": 40, "missing": "ignore"}
    X[:, 1:][rng.random((3000, 5)) < missing] = np.nan
    kept = estimator(5, **options).fit(X)
    monkeypatch.setattr("fwkmeans._engine.state._WORTHWHILE", 10**9)
    counted = estimator(5, **options).fit(X)
    np.testing.assert_array_equal(kept.labels_, counted.labels_)
    np.testing.assert_allclose(kept.feature_weights_, counted.feature_weights_, atol=1e-9)
    np.testing.assert_allclose(kept.objective_history_, counted.objective_history_, rtol=1e-9)
    rtol = 1e-6 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(kept.cluster_centers_, counted.cluster_centers_, rtol, 1e-9)


@pytest.mark.parametrize("estimator", [KMeans, EWKMeans])
def test_batches_do_not_change_the_books(estimator, monkeypatch):
    X = np.random.default_rng(6).normal(size=(2000, 4))
    together = estimator(6, n_init=7, random_state=0, init="random").fit(X)
    monkeypatch.setattr("fwkmeans.estimators.plan.BATCH_BYTES", 1)
    alone = estimator(6, n_init=7, random_state=0, init="random", n_jobs=3).fit(X)
    np.testing.assert_array_equal(together.cluster_centers_, alone.cluster_centers_)
    np.testing.assert_array_equal(together.objective_history_, alone.objective_history_)


def test_far_rows_that_leave_on_both_sides_cost_no_digits():
    """The center stays where it is, but what is left of the squares is a small difference."""
    rng = np.random.default_rng(7)
    distance = 3e6
    far = distance * np.c_[np.linspace(0.4, 9.0, 8), 0.1 * rng.normal(size=8)]
    X = np.r_[rng.normal(size=(2000, 2)), far, -far]
    init = np.array([[0.0, 0.0], [12 * distance, 0.0], [-12 * distance, 0.0]])
    kept = AWKMeans(3, init=init, tol=0).fit(X)
    counted = AWKMeans(3, init=init, tol=0).fit(ChunkedSource(X))
    np.testing.assert_allclose(kept.feature_weights_, counted.feature_weights_, atol=1e-11)


def test_heavy_rows_that_leave_cost_no_digits():
    """Where almost all mass goes, what is left of the sums is a small difference too."""
    rng = np.random.default_rng(3)
    light, heavy = rng.normal(size=(2000, 2)), np.array([[5.0, 0.1], [-5.0, -0.1], [6.0, 0.0]])
    X = np.r_[light, heavy]
    weight = np.r_[rng.random(2000), np.full(3, 1e9)]
    init = np.array([[0.0, 0.0], [12.0, 0.0], [-12.0, 0.0]])
    options = {"init": init, "tol": 0, "max_iter": 60}
    kept = AWKMeans(3, **options).fit(X, sample_weight=weight)
    counted = AWKMeans(3, **options).fit(ChunkedSource(X), sample_weight=weight)
    np.testing.assert_array_equal(kept.labels_, counted.labels_)
    np.testing.assert_allclose(kept.feature_weights_, counted.feature_weights_, atol=1e-10)
    np.testing.assert_allclose(kept.cluster_centers_, counted.cluster_centers_, atol=1e-10)
