"""A start's result depends neither on its batch, nor on its place in it, nor on the threads."""

from typing import NamedTuple

import numpy as np
import pytest
from sklearn.base import clone

import fwkmeans.estimators.batches
import fwkmeans.estimators.plan
from fwkmeans._engine import Recipe, alternate, bind_parts
from fwkmeans.centers import MeanCenter
from fwkmeans.dissimilarities import SquaredEuclidean
from fwkmeans.sources import ChunkedSource, MemorySource, describe
from fwkmeans.weighting import (
    ClusterPowerWeights,
    EntropyWeights,
    GroupEntropyWeights,
    SharedPowerWeights,
)
from laws.configurations import (
    FEW,
    RULE_LIST,
    assert_identical,
    each_in_both_ways,
    make_rows,
    name_of,
    some_rows,
)


class Run(NamedTuple):
    """How one start of a batch ended."""

    numbers: tuple
    history: object
    centers: object
    weights: object
    memory: dict


def assert_same_run(a, b):
    assert a.numbers == b.numbers
    np.testing.assert_array_equal(a.history, b.history)
    np.testing.assert_array_equal(a.centers, b.centers)
    np.testing.assert_array_equal(a.weights, b.weights)
    assert a.memory.keys() == b.memory.keys()
    for key, value in a.memory.items():
        np.testing.assert_array_equal(value, b.memory[key])


def run(source, rule, centers, *, tol=1e-6, max_iter=60):
    """Return how each start ended when all run in one batch."""
    table, _ = describe(source)
    n_starts, n_clusters, _ = centers.shape
    rule = rule.observe(source, table).bind(table, n_clusters)
    recipe, table = bind_parts(Recipe(SquaredEuclidean(), MeanCenter(), rule), source, table)
    weights = rule.initial(n_starts, n_clusters, table)
    outcome = alternate(source, recipe, table, centers, weights, max_iter=max_iter, tol=tol)
    return [
        Run(
            (
                outcome.n_iter[start],
                outcome.converged[start],
                outcome.has_empty[start],
                outcome.objective[start],
            ),
            outcome.history[start, : outcome.n_iter[start]],
            outcome.centers[start],
            outcome.weights.values[start],
            {key: value[start] for key, value in outcome.weights.memory.items()},
        )
        for start in range(n_starts)
    ]


def starts(rng, X, n_starts, n_clusters):
    """Return starts, one of them with duplicated centers, and one already good."""
    centers = np.stack([some_rows(rng, X, n_clusters) for _ in range(n_starts)])
    centers[1, 1:] = centers[1, 0]
    return centers.astype(np.float64)


@pytest.mark.thinned
@pytest.mark.parametrize("rule", RULE_LIST, ids=name_of)
def test_batched_starts_equal_each_start_alone(rule, rng):
    for n_rows, n_features, n_starts, n_clusters, dtype in (
        (157, 4, 13, 5, np.float64),
        (60, 4, 3, 2, np.float32),
        (300, 4, 5, 9, np.float64),
        (90, 33, 4, 3, np.float32),
    ):
        X = make_rows(rng, n_rows, n_features).astype(dtype)
        if n_features != 4 and getattr(rule, "groups", None) is not None:
            rule = clone(rule).set_params(groups=np.arange(n_features) % 3)
        centers = starts(rng, X, n_starts, n_clusters)
        source = MemorySource(X, rng.random(n_rows))
        together = run(source, rule, centers)
        if n_starts == 13:  # starts leave the batch at different times, which is then compressed
            assert len({len(one.history) for one in together}) > 1
        for start in range(n_starts):
            assert_same_run(together[start], run(source, rule, centers[[start]])[0])
        order = rng.permutation(n_starts)
        for place, one in enumerate(run(source, rule, centers[order])):
            assert_same_run(together[order[place]], one)


@pytest.mark.thinned
@pytest.mark.parametrize("rule", RULE_LIST, ids=name_of)
def test_batched_starts_on_chunks_equal_each_start_alone(rule, rng):
    X = make_rows(rng, 157, 4)
    centers = starts(rng, X, 6, 5)
    source = ChunkedSource(X, block_bytes=1000)
    together = run(source, rule, centers)
    for start in range(6):
        assert_same_run(together[start], run(source, rule, centers[[start]])[0])


def column(*values):
    return np.asarray(values, dtype=np.float64)[:, None, None]


BETAS = (-2.0, 0.0, 1.0, 1.2, 2.0, 7.5)
STRENGTHS = (0.0, 0.1, 1.0, 5.0, 30.0, 1e9)
SWEEPS = [
    (SharedPowerWeights, {}, {"beta": BETAS}),
    (ClusterPowerWeights, {}, {"beta": BETAS}),
    (ClusterPowerWeights, {"smoothing": "frozen"}, {"beta": BETAS}),
    (ClusterPowerWeights, {"smoothing": "refresh"}, {"beta": BETAS}),
    (ClusterPowerWeights, {"smoothing": "inside"}, {"beta": BETAS}),
    (ClusterPowerWeights, {}, {"smoothing": STRENGTHS, "beta": BETAS}),
    (EntropyWeights, {}, {"gamma": STRENGTHS}),
    (EntropyWeights, {"dispersion": "mean"}, {"gamma": STRENGTHS}),
    (GroupEntropyWeights, {"groups": np.array([0, 1, 0, 1])}, {"lam": STRENGTHS}),
    (GroupEntropyWeights, {"groups": np.array([0, 1, 0, 1])}, {"eta": STRENGTHS}),
    (
        GroupEntropyWeights,
        {"groups": np.array([0, 1, 0, 1])},
        {"lam": STRENGTHS[::-1], "eta": STRENGTHS},
    ),
]


def sweep_name(value):
    return value.__name__ if isinstance(value, type) else "-".join(map(str, value)) or "default"


@pytest.mark.parametrize(("rule", "fixed", "swept"), SWEEPS, ids=sweep_name)
def test_a_sweep_in_one_batch_equals_one_run_a_value(rule, fixed, swept, rng, dtype):
    X = make_rows(rng, 120, 4).astype(dtype)
    centers = starts(rng, X, 6, 4)
    source = MemorySource(X, rng.random(120))
    columns = {name: column(*values) for name, values in swept.items()}
    together = run(source, rule(**fixed, **columns), centers)
    for start in range(6):
        values = {name: values[start] for name, values in swept.items()}
        alone = run(source, rule(**fixed, **values), centers[[start]])
        assert_same_run(together[start], alone[0])


@pytest.mark.thinned
@pytest.mark.parametrize("configuration", FEW, ids=name_of)
@pytest.mark.parametrize(
    ("init", "dtype"), [("random", np.float64), ("k-means++", np.float32)], indirect=["dtype"]
)
def test_the_size_of_batches_does_not_matter(configuration, init, rng, dtype, monkeypatch):
    X = make_rows(rng, 150, 4).astype(dtype)
    common = {"init": init, "n_init": 7, "random_state": 5, "tol": 1e-6, "max_iter": 20}
    if configuration.algorithm not in ("K-Means", "CK-Means"):
        common["weight_init"] = "random"
    fits = []
    for size in (64 * 2**20, 1, 3 * 8 * 5 * 4 * (32 + 2 * 64)):
        monkeypatch.setattr(fwkmeans.estimators.plan, "BATCH_BYTES", size)
        fits.append(configuration.estimator(5, 4, **common).fit(X))
    assert_identical(fits[0], fits[1])
    assert_identical(fits[0], fits[2])


def test_batches_are_as_small_as_asked(monkeypatch, rng):
    """The test above splits the starts as it means to."""
    sizes = []
    original = fwkmeans.estimators.batches.alternate

    def counting(source, recipe, table, centers, *rest, **options):
        sizes.append(len(centers))
        return original(source, recipe, table, centers, *rest, **options)

    monkeypatch.setattr(fwkmeans.estimators.batches, "alternate", counting)
    X = make_rows(rng, 50, 4)
    for size, expected in ((16 * 2**20, [7]), (1, [1] * 7), (3 * 8 * 5 * 4 * 34, [3, 3, 1])):
        sizes.clear()
        monkeypatch.setattr(fwkmeans.estimators.plan, "BATCH_BYTES", size)
        FEW[0].estimator(5, 4, init="random", n_init=7, random_state=0).fit(X)
        assert sizes == expected


@pytest.mark.thinned
@each_in_both_ways
def test_the_number_of_threads_does_not_matter(configuration, rng, dtype, source):
    X = make_rows(rng, 4000, 8).astype(dtype)
    sample_weight = rng.random(4000)
    common = {"n_init": 5, "random_state": 5, "max_iter": 8, "init": "random"}
    rows = X if source(X) is X else ChunkedSource(X, block_bytes=X.nbytes // 2)
    one, two, five = (
        configuration.estimator(5, 8, n_jobs=n_jobs, **common).fit(
            rows, sample_weight=sample_weight
        )
        for n_jobs in (1, 2, 5)
    )
    assert_identical(one, two)
    assert_identical(one, five)
    np.testing.assert_array_equal(one.transform(X), five.transform(X))
    assert one.score(X) == five.score(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_of_starts_in_the_core_do_not_limit_a_batch(dtype, rng, monkeypatch):
    """The core keeps labels of two starts at most, so that a long narrow table is one batch."""
    sizes = []
    original = fwkmeans.estimators.batches.alternate

    def counting(source, recipe, table, centers, *rest, **options):
        sizes.append(len(centers))
        return original(source, recipe, table, centers, *rest, **options)

    monkeypatch.setattr(fwkmeans.estimators.batches, "alternate", counting)
    X = make_rows(rng, 30_000, 3).astype(dtype)
    kmeans = fwkmeans.KMeans(20, n_init=10, max_iter=3, random_state=0)
    together = kmeans.fit(X)
    assert sizes == [10]
    monkeypatch.setattr(fwkmeans.estimators.plan, "BATCH_BYTES", 1)
    assert_identical(together, fwkmeans.KMeans(20, n_init=10, max_iter=3, random_state=0).fit(X))
    assert sizes == [10] + [1] * 10
