"""Blocks of any size, in any order, each task twice, in other processes: the same fit."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

from fwkmeans import FeatureWeightedKMeans
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.sources import MemorySource
from hostile_source import HostileSource
from laws.configurations import (
    FEW,
    assert_same_fit,
    each_representative,
    make_rows,
    name_of,
)

# reads the rows in one block where rounding decides which of two equal starts is the best
ONE_START = {"n_init": 1, "random_state": 3, "max_iter": 20}


@pytest.fixture
def through_hostile_source(monkeypatch):
    """Let every fit read its rows from a hostile source; return how often that happened."""
    opened = []

    def install(**options):
        import fwkmeans.estimators.base as base

        original = base.open_rows

        def open_rows(*args, **kwargs):
            given = original(*args, **kwargs)
            opened.append(HostileSource(given.source, **options))
            return given._replace(source=opened[-1])

        monkeypatch.setattr(base, "open_rows", open_rows)
        return opened

    return install


def fitted(configuration, X, sample_weight=None, **options):
    model = configuration.estimator(4, X.shape[1], **(ONE_START | options))
    return model.fit(X, sample_weight=sample_weight)


def assert_same(a, b, X):
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert_same_fit(a, b, rtol=1e-8)
    assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-9)
    assert a.n_iter_ == b.n_iter_


@pytest.mark.thinned
@each_representative
def test_every_algorithm_gives_the_same_fit(configuration, rng, through_hostile_source):
    X = make_rows(rng, 150, 4)
    weight = rng.random(150) * (rng.random(150) > 0.2)
    expected = fitted(configuration, X, weight)
    opened = through_hostile_source(seed=len(configuration.name))
    model = fitted(configuration, X, weight)
    assert_same(model, expected, X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.transform(X), expected.transform(X), rtol=1e-7, atol=1e-9)
    assert model.score(X, sample_weight=weight) == pytest.approx(-model.inertia_, rel=1e-9)
    assert len(opened) == 5
    assert all(0 in {len(block.rows) for block in source.blocks()} for source in opened)


@pytest.mark.thinned
@pytest.mark.parametrize("configuration", FEW, ids=name_of)
@pytest.mark.parametrize("init", ["anomalous", "random"])
def test_every_start_is_the_same(configuration, init, rng, through_hostile_source):
    X = make_rows(rng, 90, 4)
    expected = fitted(configuration, X, init=init)
    through_hostile_source(seed=5)
    assert_same(fitted(configuration, X, init=init), expected, X)


@pytest.mark.thinned
@pytest.mark.parametrize("configuration", [c for c in FEW if c.algorithm != "SYNCLUS"], ids=name_of)
@pytest.mark.parametrize("missing", ["ignore", "rescale"])
def test_missing_cells_are_left_out_alike(configuration, missing, rng, through_hostile_source):
    X = make_rows(rng, 120, 4)
    X[rng.random(X.shape) < 0.15] = np.nan
    X[np.isnan(X).all(axis=1)] = 0.0
    expected = fitted(configuration, X, missing=missing)
    through_hostile_source(seed=11)
    assert_same(fitted(configuration, X, missing=missing), expected, X)


@pytest.mark.thinned
@pytest.mark.parametrize("configuration", [c for c in FEW if c.takes_sparse], ids=name_of)
@pytest.mark.parametrize("init", ["k-means++", "anomalous"])
def test_sparse_rows_give_the_same_fit(configuration, init, rng, through_hostile_source):
    X = make_rows(rng, 120, 6)
    X[rng.random(X.shape) < 0.4] = 0.0
    weight = rng.random(120) * (rng.random(120) > 0.2)
    sparse = csr_array(X)
    expected = fitted(configuration, X, weight, init=init)
    assert_same(fitted(configuration, sparse, weight, init=init), expected, X)
    opened = through_hostile_source(seed=7)
    model = fitted(configuration, sparse, weight, init=init)
    assert_same(model, expected, X)
    np.testing.assert_array_equal(model.predict(sparse), model.labels_)
    assert opened[0].sparse
    assert opened[0].n_blocks > 3


@pytest.mark.parametrize("name", ["AWK", "WK-Means", "FG-K-Means", "IK-P"])
@pytest.mark.parametrize("init", ["k-means++", "anomalous"])
def test_categories_are_counted_alike(name, init, rng, through_hostile_source):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(make_rows(rng, 100, 3), columns=list("abc"))
    table["d"] = rng.choice(list("xyz"), 100)
    options = {"init": init, "random_state": 0, "max_iter": 20}
    expected = ALGORITHMS[name](3, n_init=1, **options).fit(table)
    through_hostile_source(seed=2)
    model = ALGORITHMS[name](3, n_init=1, **options).fit(table)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_allclose(model.feature_weights_, expected.feature_weights_, atol=1e-9)
    for category, counts in expected.category_frequencies_["d"].items():
        np.testing.assert_allclose(model.category_frequencies_["d"][category], counts, atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["K-Means()", "EW-KM()", "IK-P(beta=8.0)", "iMWK-Means(p=1.5)", "CK-Means(spaces=2)"]
)
def test_tasks_run_in_other_processes(name, rng, through_hostile_source):
    (configuration,) = (c for c in FEW if c.name == name)
    X = make_rows(rng, 80, 4)
    expected = fitted(configuration, X, init="anomalous")
    through_hostile_source(seed=1, processes=True)
    assert_same(fitted(configuration, X, init="anomalous"), expected, X)


@pytest.mark.parametrize("estimator", [FeatureWeightedKMeans, *ALGORITHMS.values()])
def test_changed_rows_only_are_counted_over_several_blocks(
    estimator, rng, monkeypatch, through_hostile_source
):
    """Sums of several blocks that keep labels once lost the mass of the rows that stayed."""
    monkeypatch.setattr("fwkmeans._engine.state._WORTHWHILE", 1)
    X = rng.normal(size=(600, 3))
    X[:200] += 4.0
    options = {"init": X[[0, 250, 400]], "max_iter": 30}
    if estimator.__name__ == "ConvexKMeans":
        options["grid"] = 2
    expected = estimator(3, **options).fit(X)
    through_hostile_source(seed=4)
    model = estimator(3, **options).fit(X)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_allclose(model.objective_history_, expected.objective_history_, rtol=1e-9)


@pytest.mark.long
def test_nothing_of_the_rows_is_kept_by_a_reduction(rng):
    """What goes to a worker is small: clusters x features, not rows."""
    sizes = []

    class Weighing(HostileSource):
        def _on_all_blocks(self, reduction):
            sizes.append(len(pickle.dumps(reduction)))
            return super()._on_all_blocks(reduction)

    import fwkmeans.estimators.base as base

    X = make_rows(rng, 1200, 4)
    original = base.open_rows

    def open_rows(*args, **kwargs):
        given = original(*args, **kwargs)
        return given._replace(source=Weighing(given.source))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "open_rows", open_rows)
        for configuration in FEW:
            if configuration.algorithm != "CK-Means":
                fitted(configuration, X, max_iter=2, init="random")
                fitted(configuration, X, max_iter=2, init="anomalous")
    assert max(sizes) < 4 * 1200  # a label for each row would be more


def test_a_source_of_one_block_and_of_many_describe_alike(rng):
    from fwkmeans.sources import describe

    X = make_rows(rng, 70, 3) + 100.0
    one, _ = describe(MemorySource(X))
    many, _ = describe(HostileSource(MemorySource(X), seed=9))
    np.testing.assert_allclose(many.mean, one.mean, rtol=1e-14)
    np.testing.assert_allclose(many.scatter, one.scatter, rtol=1e-12)
    np.testing.assert_array_equal(many.minimum, one.minimum)
