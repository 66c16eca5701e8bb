"""Starts with different Minkowski exponents run in one batch, each to the bit as alone."""

import numpy as np
import pandas as pd
import pytest

import fwkmeans.estimators.batches
import fwkmeans.estimators.plan
from fwkmeans import FeatureWeightedKMeans, IMWKMeans
from fwkmeans.dissimilarities import Minkowski
from fwkmeans.selection import LabelFreeSearch, sweep
from fwkmeans.sources import ChunkedSource
from fwkmeans.weighting import EntropyWeights, FixedWeights, UniformWeights, WeightRule
from hostile_source import HostileSource
from laws.configurations import make_rows

EXPONENTS = [3.0, 1.0, 1.3, 2.0, np.inf, 1.05, 7.5, 1.3]
GENERAL = [3.0, 1.0, 1.3, 1.05, 7.5]


@pytest.fixture
def batches(monkeypatch):
    """Return the exponents of each batch that the engine runs, as they run."""
    seen = []
    original = fwkmeans.estimators.batches.alternate

    def recording(source, recipe, *rest, **options):
        seen.append(sorted(set(np.ravel(recipe.dissimilarity.p).tolist())))
        return original(source, recipe, *rest, **options)

    monkeypatch.setattr(fwkmeans.estimators.batches, "alternate", recording)
    return seen


def assert_each_start_is_as_alone(estimator, X, parameter, values, n_starts=6, **options):
    """Compare a sweep with one sweep for each value, whose dissimilarity has one number."""
    seeds = [20 + at for at in range(len(values))]
    common = {"n_starts": n_starts, **options}
    together = sweep(estimator, X, parameter, values, random_states=seeds, **common)
    for at, (value, seed) in enumerate(zip(values, seeds, strict=True)):
        alone = sweep(estimator, X, parameter, [value], random_states=[seed], **common)
        for name in ("labels", "objective", "n_iter", "converged"):
            np.testing.assert_array_equal(
                getattr(together, name)[at], getattr(alone, name)[0], err_msg=f"{name}, {value!r}"
            )
    return together


def clumps(rng, n_rows=60, n_features=4):
    """Return rows with many equal ones, a constant column, and one of two values."""
    X = rng.integers(0, 3, (n_rows, n_features)).astype(float)
    X[:, 1] = 5.0
    X[:, 2] = rng.random(n_rows) < 0.1
    X[: n_rows // 2] = X[0]
    return X


def test_one_batch_has_all_exponents_but_two_and_infinity(rng, batches):
    """These have loops and weights of their own."""
    sweep(IMWKMeans(3), make_rows(rng, 90, 4), "p", EXPONENTS, n_starts=2)
    assert sorted(batches, key=len) == [[2.0], [np.inf], sorted(GENERAL)]


@pytest.mark.parametrize("smoothing", ["refresh", "frozen", "inside", 0.0])
@pytest.mark.parametrize("guard", [0.0, 1.0])
@pytest.mark.parametrize("tol", [1e-6, 0.0])
def test_each_start_is_as_alone(smoothing, guard, tol, rng, dtype):
    X = make_rows(rng, 130, 5).astype(dtype)
    estimator = IMWKMeans(4, smoothing=smoothing, guard=guard, tol=tol, max_iter=40)
    runs = assert_each_start_is_as_alone(
        estimator, X, "p", EXPONENTS, sample_weight=rng.random(130)
    )
    assert len(np.unique(runs.n_iter[[0, 1, 2, 5, 6]])) > 1  # starts leave the batch one by one


@pytest.mark.parametrize("init", ["random", "k-means++"])
def test_equal_rows_and_empty_clusters_are_as_alone(init, rng):
    """Empty clusters are moved by the exponent of their own start."""
    for n_clusters in (1, 3, 9):
        estimator = IMWKMeans(n_clusters, init=init, smoothing="frozen", max_iter=30)
        assert_each_start_is_as_alone(estimator, clumps(rng), "p", EXPONENTS)
        assert_each_start_is_as_alone(estimator.set_params(guard=0.0), clumps(rng), "p", GENERAL)


def some_equal(X, n_clusters, random_state):
    """Return rows as centers; in two of three starts all but two are equal, so most are empty."""
    rows = X[random_state.permutation(len(X))[:n_clusters]].astype(float)
    rows = np.where(np.isnan(rows), 0.0, rows)
    if random_state.random_sample() < 2 / 3:
        rows[1:-1] = rows[0]
    return rows


@pytest.mark.parametrize("missing", ["error", "ignore"])
def test_empty_clusters_move_by_their_own_exponent(missing, rng):
    """What is farthest depends on it, and so does the center that fills the missing cells."""
    X = rng.standard_exponential((60, 4)) ** 2
    if missing == "ignore":
        X[rng.random(X.shape) < 0.3] = np.nan
        X[:, 0] = rng.random(60)
    estimator = IMWKMeans(5, init=some_equal, missing=missing, max_iter=10)
    assert_each_start_is_as_alone(estimator, X, "p", GENERAL, n_starts=9)


@pytest.mark.parametrize("missing", ["ignore", "rescale"])
def test_missing_cells_are_as_alone(missing, rng):
    X = make_rows(rng, 90, 5)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 0] = np.arange(90)
    estimator = IMWKMeans(3, missing=missing, max_iter=30)
    assert_each_start_is_as_alone(estimator, X, "p", EXPONENTS, sample_weight=rng.random(90))


@pytest.mark.parametrize("init", ["anomalous", "random"])
def test_patterns_of_each_exponent_start_its_clusters(init, rng):
    """With other exponents there may be other patterns, and another number of them."""
    X = make_rows(rng, 80, 4)
    estimator = IMWKMeans(5, init=init, few_patterns="accept", min_pattern_size=2)
    assert_each_start_is_as_alone(estimator, X, "p", EXPONENTS, n_starts=2)


@pytest.mark.parametrize("weighting", [UniformWeights(), EntropyWeights(gamma="auto")])
@pytest.mark.parametrize("category_weight", [1.0, "balanced"])
def test_categories_are_as_alone(weighting, category_weight, rng, batches):
    table = pd.DataFrame(make_rows(rng, 80, 3), columns=list("abc"))
    table["d"] = pd.Categorical.from_codes(rng.integers(0, 3, 80), ["x", "y", "z"])
    table["e"] = pd.Categorical.from_codes(rng.integers(-1, 2, 80), ["no", "yes"])
    values = [Minkowski(p, category_weight=category_weight) for p in (1.0, 1.4, 2.0, 5.0)]
    estimator = FeatureWeightedKMeans(3, weighting=weighting, missing="ignore")
    assert_each_start_is_as_alone(estimator, table, "dissimilarity", values)
    mixed = [batch for batch in batches if len(batch) > 1]
    # a balanced factor depends on the exponent, and all starts of a batch share it
    assert mixed == ([[1.0, 1.4, 5.0]] if category_weight == 1.0 else [])


class ByScatter(WeightRule):
    """A rule that looks at the scatter whenever it computes weights."""

    def update(self, dispersion, context):
        left = context.table.varying * (context.table.scatter + 1e-9 - 0.5 * dispersion / 9)
        return np.maximum(left, 1e-12) / np.maximum(left, 1e-12).sum(axis=-1, keepdims=True)


def test_a_rule_that_uses_the_scatter_gets_that_of_its_exponent(rng, batches):
    X = make_rows(rng, 70, 4)
    values = [Minkowski(p) for p in (1.5, 4.0)]
    estimator = FeatureWeightedKMeans(3, weighting=ByScatter(), max_iter=20)
    assert_each_start_is_as_alone(estimator, X, "dissimilarity", values)
    assert [1.5, 4.0] not in batches


class Numbered:
    """A rule that is no estimator: its numbers are not parameters."""

    shared, monotone, memoryless, operations = False, False, False, ()
    initial, normalize, offsets, objective, tolerance_scale, effective = (
        getattr(FixedWeights(), name)
        for name in ("initial", "normalize", "offsets", "objective", "tolerance_scale", "effective")
    )

    def __init__(self, offset):
        self.offset = offset

    def observe(self, source, table):
        return self

    def bind(self, table, n_clusters):
        return self

    def take(self, starts):
        return self

    def update(self, dispersion, context):
        total = dispersion.sum(axis=-2, keepdims=True) + self.offset
        weights = np.broadcast_to(context.table.varying / total, dispersion.shape)
        return weights / weights.sum(axis=-1, keepdims=True)


def test_rules_without_parameters_are_not_taken_for_one_another(rng):
    X = make_rows(rng, 70, 4)
    values = [Numbered(1e-3), Numbered(10.0)]
    runs = assert_each_start_is_as_alone(FeatureWeightedKMeans(3), X, "weighting", values)
    assert not np.array_equal(runs.objective[0], runs.objective[1])


@pytest.mark.parametrize("few", [0, 20_000], ids=["passes", "gathered"])
def test_rows_in_blocks_are_as_alone(few, rng, monkeypatch):
    """Centers of several exponents are found by the same passes over the rows."""
    monkeypatch.setattr("fwkmeans.centers.minkowski._FEW", few)
    X = make_rows(rng, 130, 4)
    estimator = IMWKMeans(3, max_iter=15)
    assert_each_start_is_as_alone(estimator, X, "p", EXPONENTS, n_starts=3)
    assert_each_start_is_as_alone(
        estimator, ChunkedSource(X, block_bytes=1000), "p", EXPONENTS, n_starts=3
    )


def test_changed_rows_only_are_counted_as_alone(rng, monkeypatch):
    monkeypatch.setattr("fwkmeans._engine.state._WORTHWHILE", 50)
    assert_each_start_is_as_alone(IMWKMeans(4), make_rows(rng, 300, 4), "p", EXPONENTS)


def test_a_hostile_source_gives_the_same_runs(rng, monkeypatch):
    import fwkmeans.estimators.base as base

    X = make_rows(rng, 120, 4)
    options = {"n_starts": 3, "random_states": range(len(GENERAL))}
    estimator = IMWKMeans(3, max_iter=15)
    calm = sweep(estimator, X, "p", GENERAL, **options)
    original = base.open_rows

    def hostile(*args, **kwargs):
        given = original(*args, **kwargs)
        return given._replace(source=HostileSource(given.source, seed=1))

    monkeypatch.setattr(base, "open_rows", hostile)
    runs = assert_each_start_is_as_alone(estimator, X, "p", GENERAL, n_starts=3)
    assert runs.labels.shape == calm.labels.shape
    hostile_runs = sweep(estimator, X, "p", GENERAL, **options)
    np.testing.assert_array_equal(hostile_runs.labels, calm.labels)
    np.testing.assert_allclose(hostile_runs.objective, calm.objective, rtol=1e-9)


def test_threads_and_the_size_of_batches_do_not_matter(rng, monkeypatch):
    X = make_rows(rng, 4000, 6)
    options = {"n_starts": 3, "random_states": range(len(GENERAL))}
    runs = [
        sweep(IMWKMeans(3, max_iter=8, n_jobs=n_jobs), X, "p", GENERAL, **options)
        for n_jobs in (1, 3)
    ]
    monkeypatch.setattr(fwkmeans.estimators.plan, "BATCH_BYTES", 200_000)
    runs.append(sweep(IMWKMeans(3, max_iter=8), X, "p", GENERAL, **options))
    for other in runs[1:]:
        np.testing.assert_array_equal(runs[0].labels, other.labels)
        np.testing.assert_array_equal(runs[0].objective, other.objective)


def test_a_search_over_exponents_is_one_batch(rng, batches):
    X = make_rows(rng, 90, 4)
    search = LabelFreeSearch(IMWKMeans(3, n_init=4), {"p": GENERAL}, refit=False).fit(X)
    assert batches == [sorted(GENERAL)]
    batches.clear()
    for at, p in enumerate(GENERAL):
        model = IMWKMeans(3, n_init=4, p=p).fit(X)
        np.testing.assert_array_equal(search.candidate_labels_[at], model.labels_)
