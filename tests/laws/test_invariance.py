"""Moving, reordering and scaling the data moves, reorders and scales the answer."""

import numpy as np
import pytest

from laws.configurations import (
    assert_same_fit,
    each_representative,
    make_rows,
    some_rows,
)

N, M, K = 70, 4, 4


@pytest.fixture
def table(rng):
    X = make_rows(rng, N, M)
    return X, some_rows(rng, X, K), rng.random(N) + 0.05


def fit(configuration, X, centers, sample_weight=None, **scales):
    model = configuration.estimator(len(centers), X.shape[1], init=centers, **scales)
    return model.fit(X, sample_weight=sample_weight)


@each_representative
class TestInvariance:
    def test_translation(self, configuration, table):
        X, centers, mass = table
        step = np.array([3.0, -20.0, 0.0, 100.0])
        a = fit(configuration, X, centers, mass)
        b = fit(configuration, X + step, centers + step, mass)
        np.testing.assert_array_equal(a.labels_, b.labels_)
        np.testing.assert_allclose(a.feature_weights_, b.feature_weights_, atol=1e-9)
        np.testing.assert_allclose(a.cluster_centers_ + step, b.cluster_centers_, atol=1e-9)

    def test_scaling(self, configuration, table):
        X, centers, mass = table
        for scale in (1e-3, 37.0):
            a = fit(configuration, X, centers, mass)
            b = fit(configuration, X * scale, centers * scale, mass, data=scale)
            np.testing.assert_array_equal(a.labels_, b.labels_)
            np.testing.assert_allclose(a.feature_weights_, b.feature_weights_, atol=1e-9)
            assert a.n_iter_ == b.n_iter_

    def test_order_of_features(self, configuration, table):
        X, centers, mass = table
        order = np.array([2, 0, 3, 1])
        a = fit(configuration, X, centers, mass)
        b = configuration.estimator(K, M, init=centers[:, order])
        for key in ("groups", "spaces"):
            if configuration.parameters.get(key):
                b.set_params(**{key: np.asarray(getattr(b, key))[order]})
        b.fit(X[:, order], sample_weight=mass)
        np.testing.assert_array_equal(a.labels_, b.labels_)
        assert_same_fit(a, b, features=order)
        assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-9)

    def test_order_of_rows(self, configuration, table, rng):
        X, centers, mass = table
        order = rng.permutation(N)
        a = fit(configuration, X, centers, mass)
        b = fit(configuration, X[order], centers, mass[order])
        np.testing.assert_array_equal(a.labels_[order], b.labels_)
        assert_same_fit(a, b)

    def test_order_of_clusters(self, configuration, table):
        X, centers, mass = table
        order = np.array([2, 0, 3, 1])
        a = fit(configuration, X, centers, mass)
        b = fit(configuration, X, centers[order], mass)
        np.testing.assert_array_equal(a.labels_, order[b.labels_])
        assert_same_fit(a, b, clusters=order)

    def test_integer_sample_weights_are_repeated_rows(self, configuration, table, rng):
        X, centers, _ = table
        times = rng.integers(1, 4, N)
        a = fit(configuration, X, centers, times)
        b = fit(configuration, np.repeat(X, times, axis=0), centers)
        np.testing.assert_array_equal(np.repeat(a.labels_, times), b.labels_)
        assert_same_fit(a, b)
        assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-9)
        assert a.n_iter_ == b.n_iter_

    def test_a_row_of_weight_zero_is_absent(self, configuration, table, rng):
        X, centers, mass = table
        wild = np.array([[900.0, -900.0, 9.0, 1e6], [-1e6, 0.0, 0.0, 0.0]])
        a = fit(configuration, X, centers, mass)
        b = fit(configuration, np.vstack([wild, X]), centers, np.concatenate([[0, 0], mass]))
        np.testing.assert_array_equal(a.labels_, b.labels_[2:])
        assert_same_fit(a, b)
        assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-9)
        assert set(b.labels_[:2]) <= set(range(K))

    def test_scaling_sample_weights_changes_nothing(self, configuration, table):
        X, centers, mass = table
        a = fit(configuration, X, centers, mass)
        b = fit(configuration, X, centers, mass * 7, mass=7.0)
        np.testing.assert_array_equal(a.labels_, b.labels_)
        assert_same_fit(a, b)
        assert a.n_iter_ == b.n_iter_
