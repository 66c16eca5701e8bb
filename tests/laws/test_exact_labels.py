"""Labels are those of the exact nearest center, in both precisions."""

import numpy as np
import pytest

from laws.configurations import (
    CONFIGURATIONS,
    FEW,
    each_in_both_ways,
    exact_costs,
    make_rows,
    name_of,
    some_rows,
    untied,
)

TIE = {np.float64: 1e-12, np.float32: 1e-5}


def assert_labels_are_exact(configuration, model, X, dtype):
    costs, sizes = exact_costs(configuration, model, X)
    clear = untied(costs, sizes, TIE[dtype])
    assert clear.mean() > 0.5
    np.testing.assert_array_equal(model.labels_[clear], costs.argmin(axis=1)[clear])


def close_clusters_far_from_the_mean(rng, n_features):
    """Two clusters a thousandth apart, a thousand away from the rest."""
    far = np.full(n_features, 1000.0)
    step = np.where(np.arange(n_features) == 0, 0.3, 0.0)
    sides = rng.integers(0, 2, (100, 1)) * step
    close = far + sides + 0.03 * rng.standard_normal((100, n_features))
    rest = 100.0 * rng.standard_normal((150, n_features))
    centers = np.vstack([far, far + step, rest[:2]])
    return rng.permutation(np.vstack([close, rest])), centers


@pytest.mark.thinned
@each_in_both_ways
def test_close_clusters_far_from_the_mean(configuration, rng, dtype, source):
    X, centers = close_clusters_far_from_the_mean(rng, 5)
    X = X.astype(dtype)
    for max_iter in (1, 10):
        model = configuration.estimator(4, 5, init=centers, max_iter=max_iter)
        assert_labels_are_exact(configuration, model.fit(source(X)), X, dtype)


def test_kmeans_separates_close_clusters_far_from_the_mean(rng, dtype, source):
    X, centers = close_clusters_far_from_the_mean(rng, 3)
    configuration = CONFIGURATIONS[0]
    model = configuration.estimator(4, 3, init=centers).fit(source(X.astype(dtype)))
    close = X[:, 0] > 900
    np.testing.assert_array_equal(model.labels_[close], X[close, 0] > 1000.15)


@pytest.mark.parametrize("configuration", FEW, ids=name_of)
def test_far_from_the_origin(configuration, rng, dtype):
    offset = 1e6 if dtype is np.float64 else 300.0
    X = (make_rows(rng, 150, 6) + offset).astype(dtype)
    model = configuration.estimator(5, 6, init=some_rows(rng, X, 5), max_iter=30).fit(X)
    assert_labels_are_exact(configuration, model, X, dtype)


@pytest.mark.thinned
@pytest.mark.parametrize("n_features", [1, 3, 8, 17, 40])
@pytest.mark.parametrize("n_clusters", [1, 2, 7, 33])
def test_all_sizes(n_clusters, n_features, rng, dtype):
    """Every remainder of the blocked kernels."""
    for configuration in FEW[:6]:
        X = make_rows(rng, 131, n_features, 5).astype(dtype)
        model = configuration.estimator(
            n_clusters, n_features, init=some_rows(rng, X, n_clusters), max_iter=2
        )
        assert_labels_are_exact(configuration, model.fit(X), X, dtype)


@pytest.mark.thinned
@each_in_both_ways
def test_labels_are_those_of_predict(configuration, rng, dtype, source):
    for max_iter in (1, 4, 60):
        X = make_rows(rng, 90, 4).astype(dtype)
        model = configuration.estimator(4, 4, init=some_rows(rng, X, 4), max_iter=max_iter)
        model.fit(source(X))
        np.testing.assert_array_equal(model.labels_, model.predict(source(X)))
        np.testing.assert_array_equal(model.labels_, model.predict(X))
        np.testing.assert_array_equal(model.labels_[::-1], model.predict(X[::-1]))
        np.testing.assert_array_equal(model.labels_[:1], model.predict(X[:1]))


@pytest.mark.thinned
@each_in_both_ways
def test_transform_is_the_root_of_the_dissimilarity(configuration, rng, dtype, source):
    X = make_rows(rng, 90, 4).astype(dtype)
    model = configuration.estimator(3, 4, init=some_rows(rng, X, 3)).fit(source(X))
    distances = model.transform(source(X))
    assert distances.dtype == dtype
    costs, _ = exact_costs(configuration, model, X)
    power = 1.0 if np.isinf(configuration.power) else configuration.power
    raised = distances.astype(float) ** power
    offsets = (costs - raised).mean(axis=0)  # the same for all rows of a cluster
    rtol = 1e-12 if dtype is np.float64 else 1e-5
    size = raised.max() + np.abs(costs).max()
    np.testing.assert_allclose(raised + offsets, costs, atol=rtol * size)


@pytest.mark.parametrize("configuration", FEW, ids=name_of)
@pytest.mark.parametrize("exponent", [-80, 70])
def test_float32_neither_underflows_nor_overflows(configuration, exponent, rng):
    """Squares of these rows are beyond float32; scaling by a power of two costs no digit."""
    scale = np.float32(2.0**exponent)
    X = make_rows(rng, 200, 6).astype(np.float32)
    centers = some_rows(rng, X, 4)
    a = configuration.estimator(4, 6, init=centers).fit(X)
    b = configuration.estimator(4, 6, init=centers * scale, data=float(scale)).fit(X * scale)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.cluster_centers_ * scale, b.cluster_centers_, rtol=1e-5)
    np.testing.assert_allclose(a.feature_weights_, b.feature_weights_, atol=1e-9)
    assert np.all(np.isfinite(b.transform(X * scale)))
