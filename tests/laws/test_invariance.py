"""Moving, reordering and scaling the data moves, reorders and scales the answer."""

import numpy as np
import pytest

from laws.configurations import (
    assert_same_fit,
    each_in_sources,
    make_rows,
    some_rows,
)

N, M, K = 70, 4, 4


@pytest.fixture
def table(rng):
    X = make_rows(rng, N, M)
    return X, some_rows(rng, X, K), rng.random(N) + 0.05


def fit(configuration, X, centers, sample_weight=None, source=lambda rows: rows, **scales):
    model = configuration.estimator(len(centers), X.shape[1], init=centers, **scales)
    return model.fit(source(X), sample_weight=sample_weight)


@each_in_sources
class TestInvariance:
    def test_translation(self, configuration, table, source):
        X, centers, mass = table
        step = np.array([3.0, -20.0, 0.0, 100.0])
        a = fit(configuration, X, centers, mass, source)
        b = fit(configuration, X + step, centers + step, mass, source)
        np.testing.assert_array_equal(a.labels_, b.labels_)
        np.testing.assert_allclose(a.feature_weights_, b.feature_weights_, atol=1e-9)
        np.testing.assert_allclose(a.cluster_centers_ + step, b.cluster_centers_, atol=1e-9)

    def test_scaling(self, configuration, table, source):
        X, centers, mass = table
        for scale in (1e-3, 37.0):
            a = fit(configuration, X, centers, mass, source)
            b = fit(configuration, X * scale, centers * scale, mass, source, data=scale)
            np.testing.assert_array_equal(a.labels_, b.labels_)
            np.testing.assert_allclose(a.feature_weights_, b.feature_weights_, atol=1e-9)
            assert a.n_iter_ == b.n_iter_

    def test_order_of_features(self, configuration, table, source):
        X, centers, mass = table
        order = np.array([2, 0, 3, 1])
        a = fit(configuration, X, centers, mass, source)
        b = configuration.estimator(K, M, init=centers[:, order])
        for key in ("groups", "spaces"):
            if configuration.parameters.get(key):
                b.set_params(**{key: np.asarray(getattr(b, key))[order]})
        b.fit(source(X[:, order]), sample_weight=mass)
        np.testing.assert_array_equal(a.labels_, b.labels_)
        assert_same_fit(a, b, features=order)
        assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-9)

    def test_order_of_rows(self, configuration, table, source, rng):
        X, centers, mass = table
        order = rng.permutation(N)
        a = fit(configuration, X, centers, mass, source)
        b = fit(configuration, X[order], centers, mass[order], source)
        np.testing.assert_array_equal(a.labels_[order], b.labels_)
        assert_same_fit(a, b)

    def test_order_of_clusters(self, configuration, table, source):
        X, centers, mass = table
        order = np.array([2, 0, 3, 1])
        a = fit(configuration, X, centers, mass, source)
        b = fit(configuration, X, centers[order], mass, source)
        np.testing.assert_array_equal(a.labels_, order[b.labels_])
        assert_same_fit(a, b, clusters=order)

    def test_integer_sample_weights_are_repeated_rows(self, configuration, table, source, rng):
        X, centers, _ = table
        times = rng.integers(1, 4, N)
        a = fit(configuration, X, centers, times, source)
        b = fit(configuration, np.repeat(X, times, axis=0), centers, None, source)
        np.testing.assert_array_equal(np.repeat(a.labels_, times), b.labels_)
        assert_same_fit(a, b)
        assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-9)
        assert a.n_iter_ == b.n_iter_

    def test_a_row_of_weight_zero_is_absent(self, configuration, table, source, rng):
        X, centers, mass = table
        wild = np.array([[900.0, -900.0, 9.0, 1e6], [-1e6, 0.0, 0.0, 0.0]])
        a = fit(configuration, X, centers, mass, source)
        b = fit(
            configuration, np.vstack([wild, X]), centers, np.concatenate([[0, 0], mass]), source
        )
        np.testing.assert_array_equal(a.labels_, b.labels_[2:])
        assert_same_fit(a, b)
        assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-9)
        assert set(b.labels_[:2]) <= set(range(K))

    def test_scaling_sample_weights_changes_nothing(self, configuration, table, source):
        X, centers, mass = table
        a = fit(configuration, X, centers, mass, source)
        b = fit(configuration, X, centers, mass * 7, source, mass=7.0)
        np.testing.assert_array_equal(a.labels_, b.labels_)
        assert_same_fit(a, b)
        assert a.n_iter_ == b.n_iter_
