"""iMWK-Means: the survey's figures, its patterns, and what it equals."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

import reference
from fwkmeans import IMWKMeans, KMeans, WKMeans
from fwkmeans.datasets import load_uci
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.preprocessing import TableEncoder
from fwkmeans.sources import ChunkedSource
from laws.configurations import assert_identical, make_rows, some_rows

POWERS = [1.0, 1.1, 1.5, 2.0, 3.0, 4.6, 20.0, np.inf]


def patterned(n_clusters=8, **parameters):
    """Return the published criterion and start, unless others are given."""
    return IMWKMeans(n_clusters, **{"init": "anomalous", "guard": 0.0, **parameters})


def standardized(name):
    """Return a table as the survey standardises it; gaps become medians."""
    table = load_uci(name)
    return TableEncoder(impute="median", category_weight=1).fit_transform(table.data), table.target


@pytest.mark.parametrize(
    ("name", "p", "published"),
    [
        ("iris", 1.1, 0.90),
        ("breast_cancer_wisconsin", 4.6, 0.85),
        ("ionosphere", 1.1, 0.21),
        ("australian", 1.1, 0.50),
        ("wine", 1.6, 0.82),
    ],
)
def test_the_published_figures_come_out(name, p, published):
    X, target = standardized(name)
    model = patterned(len(np.unique(target)), p=p).fit(X)
    assert round(adjusted_rand_score(target, model.labels_), 2) == published


@pytest.mark.parametrize("p", POWERS)
def test_nothing_is_random(p, rng):
    X = make_rows(rng, 300, 5)
    first = patterned(3, p=p, random_state=0, n_jobs=1).fit(X)
    for seed, n_jobs in ((1, 1), (None, 2), (7, 5)):
        assert_identical(first, patterned(3, p=p, random_state=seed, n_jobs=n_jobs).fit(X))


@pytest.mark.thinned
@pytest.mark.parametrize("smoothing", [0.0, 0.3, "frozen", "refresh", "inside"])
@pytest.mark.parametrize("start", ["given", "anomalous"])
def test_p_two_is_cluster_wk_means_with_beta_two(smoothing, start, rng, source):
    X = make_rows(rng, 120, 4)
    init = some_rows(rng, X, 4)
    wk = {"beta": 2.0, "weights": "cluster", "smoothing": smoothing, "tol": 0}
    a = patterned(4, p=2.0, smoothing=smoothing, init=start if start != "given" else init, tol=0)
    a.fit(source(X))
    if start == "given":
        b = WKMeans(4, init=init, **wk).fit(source(X))
    else:
        from fwkmeans._init import anomalous_start
        from fwkmeans.sources import MemorySource, describe

        rows = MemorySource(X)
        table, _ = describe(rows)
        parts = a._parts
        begin = anomalous_start(rows, parts.dissimilarity, parts.center, table, 4, exponent=2.0)
        b = WKMeans(4, init=begin.centers, weight_init=begin.weights, **wk).fit(source(X))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.feature_weights_, b.feature_weights_, atol=1e-12)
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_, atol=1e-12)
    assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-12)


@pytest.mark.thinned
@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_run_starts_from_the_patterns_of_the_reference(p, weighted, rng, source):
    X = make_rows(rng, 60, 4)
    mass = rng.integers(0, 4, 60).astype(float) if weighted else None
    patterns = reference.anomalous_patterns(X, mass, p=p, weighted=True)
    patterns.sort(key=lambda pattern: -pattern["size"])
    model = patterned(None, p=p, tol=0).fit(source(X), sample_weight=mass)
    assert model.n_clusters_ == len(patterns)
    chosen = patterns[:3]
    expected = reference.fit(
        X,
        "mwk",
        np.array([pattern["center"] for pattern in chosen]),
        sample_weight=mass,
        weights=np.array([pattern["weights"] for pattern in chosen]),
        p=p,
    )
    fitted = patterned(3, p=p, tol=0).fit(source(X), sample_weight=mass)
    np.testing.assert_array_equal(fitted.labels_, expected.labels)
    np.testing.assert_allclose(fitted.feature_weights_, expected.weights, atol=1e-9)
    np.testing.assert_allclose(fitted.cluster_centers_, expected.centers, atol=1e-8)


def test_the_number_of_clusters_is_found(rng):
    centers = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 12.0]])
    X = np.repeat(centers, 50, axis=0) + 0.3 * rng.standard_normal((200, 2))
    X = np.vstack([X, [[40.0, 40.0]]])
    model = patterned(None, p=2, min_pattern_size=10).fit(X)
    assert model.n_clusters is None
    assert model.n_clusters_ == len(model.cluster_centers_) == 4
    assert adjusted_rand_score(np.repeat(range(4), 50), model.labels_[:-1]) == 1.0
    assert patterned(None, p=2).fit(X).n_clusters_ > 4
    plain = KMeans(None, init="anomalous").fit(X)  # intelligent K-Means drops singletons
    assert plain.n_clusters_ < patterned(None, p=2).fit(X).n_clusters_
    with pytest.raises(ValueError, match="No anomalous pattern has 900 rows"):
        patterned(None, min_pattern_size=900).fit(X)


@pytest.mark.parametrize("p", [1.0, 1.3, 2.0, 5.0])
def test_weights_of_patterns_do_not_depend_on_the_unit(p, rng):
    X = make_rows(rng, 80, 4)
    a, b = (patterned(3, p=p).fit(scale * X) for scale in (1.0, 1000.0))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.feature_weights_, b.feature_weights_, atol=1e-6)


@pytest.mark.thinned
@pytest.mark.parametrize("name", [n for n in ALGORITHMS if n not in ("iMWK-Means",)])
def test_every_algorithm_starts_from_anomalous_patterns(name, rng, source):
    """Plain ones, with the algorithm's own initial weights; the number of clusters is found too."""
    X = make_rows(rng, 150, 4)
    model = ALGORITHMS[name](3, init="anomalous", tol=0)
    a, b = model.fit(source(X)), ALGORITHMS[name](3, init="anomalous", tol=0, random_state=5)
    assert_identical(a, b.fit(source(X)))
    if name not in ("IK-P", "CK-Means", "SYNCLUS"):
        patterns = reference.anomalous_patterns(X, p=2.0)
        patterns.sort(key=lambda pattern: -pattern["size"])
        init = np.array([pattern["center"] for pattern in patterns[:3]])
        given = ALGORITHMS[name](3, init=init, tol=0).fit(source(X))
        np.testing.assert_array_equal(a.labels_, given.labels_)
        np.testing.assert_allclose(a.feature_weights_, given.feature_weights_, atol=1e-9)
    found = ALGORITHMS[name](None, init="anomalous").fit(source(X))
    assert found.n_clusters_ == len(found.feature_weights_) >= 1
    with pytest.raises(ValueError, match=r"n_clusters=None.*init='anomalous'"):
        ALGORITHMS[name](None).fit(X)


def test_too_few_patterns_are_filled_up_and_named(rng):
    X = np.repeat(rng.random((3, 2)), 10, axis=0) + 1e-3 * rng.random((30, 2))
    with pytest.warns(ConvergenceWarning, match="anomalous patterns were found.*n_clusters=12"):
        model = patterned(12, p=1.5).fit(X)
    assert set(model.labels_) == set(range(12))


def test_several_starts_make_no_sense_without_chance(rng):
    X = make_rows(rng, 60, 3)
    with pytest.warns(RuntimeWarning, match="init='anomalous' draws nothing: one start"):
        patterned(3, n_init=5).fit(X)
    patterned(3, n_init=5, weight_init="random", random_state=0).fit(X)


@pytest.mark.parametrize("p", [0.5, 0, -1, np.nan])
def test_powers_below_one_are_refused(p, rng):
    with pytest.raises(ValueError, match=r"p=.*expected a number >= 1"):
        patterned(2, p=p).fit(make_rows(rng))


@pytest.mark.parametrize("p", ["2", None, True, [2]])
def test_powers_that_are_no_numbers_are_refused(p, rng):
    with pytest.raises(TypeError, match=r"p=.*: expected a number >= 1"):
        patterned(2, p=p).fit(make_rows(rng))


@pytest.mark.parametrize("size", [-1, "two", None, True])
def test_bad_pattern_sizes_are_refused(size, rng):
    with pytest.raises(ValueError, match=r"min_pattern_size=.*expected a number of rows"):
        patterned(2, min_pattern_size=size).fit(make_rows(rng))


def test_powers_that_overflow_are_named(rng):
    X = make_rows(rng) * 1e30
    with pytest.raises(ValueError, match=r"powers of columns 0.*overflow.*smaller p"):
        patterned(2, p=20).fit(X)


@pytest.mark.parametrize("p", [1.0, 1.3, np.inf])
def test_rows_in_blocks_give_the_same_patterns(p, rng):
    X = make_rows(rng, 200, 4)
    a = patterned(None, p=p, min_pattern_size=3).fit(X)
    b = patterned(None, p=p, min_pattern_size=3).fit(ChunkedSource(X, block_bytes=999))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_, atol=1e-9)


@pytest.mark.parametrize("p", POWERS)
def test_discrete_rows_and_duplicates(p, rng):
    """Many rows lie on centers and on one another; medians and midranges have ties."""
    X = rng.integers(0, 3, (80, 3)).astype(float)
    model = patterned(4, p=p).fit(X)
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    assert np.isfinite(model.inertia_)
    np.testing.assert_allclose(model.feature_weights_.sum(axis=1), 1.0)
