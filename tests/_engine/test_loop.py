"""The loop over a batch of starts: each start runs as if it were alone."""

import numpy as np
import pytest

from fwkmeans import FeatureWeightedKMeans, KMeans
from fwkmeans._engine import Recipe, alternate, assignment_of, bind_parts, first_lowest
from fwkmeans.centers import MeanCenter
from fwkmeans.dissimilarities import SquaredEuclidean
from fwkmeans.exceptions import NotConvergedWarning
from fwkmeans.sources import ChunkedSource, MemorySource, describe
from fwkmeans.weighting import (
    ClusterPowerWeights,
    EntropyWeights,
    SelfAdjustingWeights,
    SharedPowerWeights,
    UniformWeights,
    WeightRule,
)

RULES = {
    "uniform": UniformWeights(),
    "shared": SharedPowerWeights(beta=2.0),
    "cluster": ClusterPowerWeights(beta=2.0, smoothing="frozen"),
    "refresh": ClusterPowerWeights(beta=2.0, smoothing="refresh"),
    "entropy": EntropyWeights(),
    "self-adjusting": SelfAdjustingWeights(),
}


def setting(rule, dtype=np.float64, n_threads=1, n_starts=7, n_features=4, n_clusters=5):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(2100, n_features)) + 3 * rng.integers(0, 3, (2100, 1))).astype(dtype)
    source = MemorySource(X, None, n_threads)
    table, _ = describe(source)
    rule = rule.bind(table, n_clusters)
    recipe, _ = bind_parts(Recipe(SquaredEuclidean(), MeanCenter(), rule), source, table)
    picked = np.stack([rng.choice(2100, n_clusters, replace=False) for _ in range(n_starts)])
    centers = X[picked].astype(np.float64)
    centers[3, 2:4] += 1000.0  # a start that has to repair empty clusters
    return source, recipe, table, centers


def run(source, recipe, table, centers, **options):
    weights = recipe.weighting.initial(len(centers), centers.shape[1], table)
    options = {"max_iter": 25, "tol": 1e-4} | options
    return alternate(source, recipe, table, centers, weights, **options)


def of_start(outcome, start):
    """Return all that one start ended with; its history without what came after its end."""
    n_iter = int(outcome.n_iter[start])
    assert np.isnan(outcome.history[start, n_iter:]).all()
    return {
        "centers": outcome.centers[start],
        "weights": outcome.weights.values[start],
        **{key: memory[start] for key, memory in outcome.weights.memory.items()},
        "history": outcome.history[start, :n_iter],
        "end": np.asarray(
            [
                outcome.objective[start],
                n_iter,
                outcome.converged[start],
                outcome.has_empty[start],
            ]
        ),
    }


def assert_same_run(a, b):
    assert a.keys() == b.keys()
    for key, value in a.items():
        np.testing.assert_array_equal(value, b[key])


@pytest.mark.parametrize(
    ("dtype", "n_features", "n_clusters"),
    [(np.float32, 4, 5), (np.float64, 4, 5), (np.float64, 1, 12), (np.float64, 17, 4)],
)
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_a_start_runs_in_a_batch_as_it_runs_alone(rule, dtype, n_features, n_clusters):
    source, recipe, table, centers = setting(
        rule, dtype, n_features=n_features, n_clusters=n_clusters
    )
    batched = run(source, recipe, table, centers)
    turned = run(source, recipe, table, centers[::-1])
    for start in range(7):
        alone = run(source, recipe, table, centers[start : start + 1])
        assert_same_run(of_start(batched, start), of_start(alone, 0))
        assert_same_run(of_start(batched, start), of_start(turned, 6 - start))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_a_run_does_not_depend_on_threads(rule):
    once, many = (run(*setting(rule, n_threads=threads)) for threads in (1, 4))
    for start in range(7):
        assert_same_run(of_start(once, start), of_start(many, start))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_a_run_is_the_same_in_blocks(rule):
    source, recipe, table, centers = setting(rule)
    whole = run(source, recipe, table, centers)
    blocks = run(ChunkedSource(source.rows, block_bytes=5000), recipe, table, centers)
    np.testing.assert_array_equal(whole.n_iter, blocks.n_iter)
    np.testing.assert_allclose(whole.centers, blocks.centers, rtol=1e-8)
    np.testing.assert_allclose(whole.weights.values, blocks.weights.values, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(whole.objective, blocks.objective, rtol=1e-10)


def test_history_ends_with_the_objective_and_never_rises():
    outcome = run(*setting(EntropyWeights()), max_iter=6, tol=0.0)
    for start in range(7):
        history = of_start(outcome, start)["history"]
        assert len(history) <= 6
        assert history[-1] == outcome.objective[start]
        assert np.all(np.diff(history) <= 1e-9 * np.abs(history[:-1]))
    assert outcome.best().objective == outcome.objective.min()


def test_effective_weights_are_scaled_by_a_power_of_two():
    _, recipe, table, centers = setting(SharedPowerWeights(beta=6.0))
    weights = recipe.weighting.initial(7, 5, table)
    assignment = assignment_of(recipe.weighting, centers, weights)
    largest = assignment.weights.max(axis=(1, 2))
    assert np.all((largest >= 0.5) & (largest < 1))
    values, scale = recipe.weighting.effective(weights)
    np.testing.assert_array_equal(
        assignment.weights * assignment.scale[:, None, None], values * scale[:, None, None]
    )
    assigning = recipe.dissimilarity.accumulation(assignment).assigning
    np.testing.assert_array_equal(assigning.shift, table.mean)


def test_the_first_of_starts_that_differ_by_rounding_alone_is_the_best():
    assert first_lowest(np.array([3.0, 1.0 + 4e-16, 1.0, 2.0])) == 1
    assert first_lowest(np.array([-1.0 + 2e-16, -1.0])) == 0
    assert first_lowest(np.array([1.0 + 1e-9, 1.0])) == 1


class MostDispersed(WeightRule):
    """All weight on the worst feature: groups along one feature follow those along the other."""

    memoryless = True

    def update(self, dispersion, context):
        return (dispersion == dispersion.max(axis=-1, keepdims=True)) * 1.0


@pytest.mark.parametrize(
    ("centers", "history"),
    [
        ([[5.0, 0.0], [5.0, 20.0]], [150.0, 600.0, 150.0]),
        ([[0.0, 10.0], [10.0, 10.0]], [600.0, 150.0, 600.0, 150.0]),
    ],
    ids=["the first labels are the best", "the second labels are the best"],
)
def test_a_run_that_goes_in_circles_ends_at_the_best_place_of_the_circle(centers, history):
    X = np.array([[0.0, 0.0]] * 3 + [[0.0, 20.0], [10.0, 0.0]] + [[10.0, 20.0]] * 3)
    rule = MostDispersed()
    model = FeatureWeightedKMeans(2, weighting=rule, init=np.array(centers), tol=0)
    with pytest.warns(NotConvergedWarning, match="went in circles"):
        model.fit(X)
    np.testing.assert_allclose(model.objective_history_, history)
    assert not model.converged_


def test_the_log_tells_the_best_objective_of_all_starts_also_of_those_that_have_ended(caplog, rng):
    X = rng.standard_normal((80, 3))
    with caplog.at_level("DEBUG", logger="fwkmeans"):
        KMeans(4, n_init=8, random_state=0).fit(X)
    told = [r.args for r in caplog.records if r.levelname == "DEBUG"]
    assert told[0][1] == 8
    assert told[-1][1] < 8
    best = np.array([args[2] for args in told])
    assert np.all(np.diff(best) <= 1e-12 * best[0])
