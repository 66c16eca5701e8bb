"""What the objective does, and what weights and labels satisfy, after every fit."""

import numpy as np
import pytest

from fwkmeans import AWKMeans
from laws.configurations import (
    FEW,
    RULE_LIST,
    each_in_both_ways,
    each_representative,
    make_rows,
    name_of,
    some_rows,
    with_rule,
)


@each_representative
def test_objective_never_rises(configuration, rng):
    for n_clusters in (2, 5, 12):
        X = np.round(make_rows(rng, 60, 4), 1 if n_clusters == 12 else 15)
        sample_weight = rng.random(60) + 0.1
        model = configuration.estimator(n_clusters, 4, init="random", n_init=1, random_state=0)
        model.fit(X, sample_weight=sample_weight)
        history = model.objective_history_
        assert np.all(np.isfinite(history))
        if configuration.monotone:
            size = np.abs(history) + np.ptp(history)
            assert np.all(np.diff(history) <= 1e-9 * size[1:])
            assert model.inertia_ <= history[-1] + 1e-9 * size[-1]


@pytest.mark.thinned
@each_in_both_ways
def test_weights_sum_to_one_and_labels_are_in_range(configuration, rng, source, dtype):
    X = make_rows(rng, 80, 5).astype(dtype)
    X[:, 3] = 2.5  # constant
    model = configuration.estimator(4, 5, n_init=2, random_state=0).fit(source(X))
    weights = model.feature_weights_
    assert weights.shape == (4, 5)
    assert np.all(weights >= 0)
    assert np.all(weights[:, 3] == 0)
    if configuration.algorithm == "FG-K-Means":
        for columns in model.groups_.values():
            total = weights[:, columns].sum(axis=1)
            np.testing.assert_allclose(total, 1.0, atol=1e-12)
        np.testing.assert_allclose(model.group_weights_.sum(axis=1), 1.0, atol=1e-12)
        assert np.all(model.group_weights_ >= 0)
    elif configuration.parameters.get("spaces"):
        np.testing.assert_allclose(model.space_weights_.sum(), 1.0, atol=1e-12)
    else:
        np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-12)
    assert model.labels_.dtype == np.int32
    assert set(model.labels_) <= set(range(4))
    assert len(model.objective_history_) == model.n_iter_


@pytest.mark.thinned
@pytest.mark.parametrize("configuration", FEW, ids=name_of)
def test_no_cluster_is_empty_after_relocation(configuration, rng, source):
    X = make_rows(rng, 60, 4)
    centers = np.repeat(X[:1], 6, axis=0)
    model = configuration.estimator(6, 4, init=centers, max_iter=1).fit(source(X))
    # the centers are the means of six clusters that all had rows
    assert len(np.unique(model.cluster_centers_, axis=0)) == 6
    model = configuration.estimator(6, 4, init=centers).fit(source(X))
    assert len(np.unique(model.cluster_centers_, axis=0)) == 6


@pytest.mark.thinned
@each_in_both_ways
def test_score_of_the_fitted_rows_is_minus_inertia(configuration, rng, source, dtype):
    X = make_rows(rng, 70, 4).astype(dtype)
    sample_weight = rng.random(70)
    model = configuration.estimator(3, 4, n_init=1, random_state=0)
    model.fit(source(X), sample_weight=sample_weight)
    assert model.score(source(X), sample_weight=sample_weight) == model.inertia_ * -1
    if configuration.algorithm == "K-Means":
        nearest = model.transform(X).min(axis=1).astype(float) ** 2
        assert model.inertia_ == pytest.approx(np.dot(sample_weight, nearest), rel=1e-5)


@pytest.mark.parametrize("configuration", [c for c in FEW if c.by_objective], ids=name_of)
def test_the_best_start_is_kept(configuration, rng):
    X = make_rows(rng, 60, 4)
    sums = []
    for start in range(5):
        many = configuration.estimator(5, 4, init="random", n_init=start + 1, random_state=3)
        sums.append(many.fit(X).objective_history_[-1])
    assert sums == sorted(sums, reverse=True)


@pytest.mark.parametrize("rule", RULE_LIST, ids=name_of)
def test_rules_that_say_they_are_monotone_are(rule, rng):
    X = make_rows(rng, 60, 4)
    model = with_rule(rule, 5, init=some_rows(rng, X, 5)).fit(X)
    if model._parts.weighting.monotone:
        history = model.objective_history_
        assert np.all(np.diff(history) <= 1e-9 * (np.abs(history[1:]) + np.ptp(history)))


def test_a_run_that_converged_rests_at_the_means_of_its_labels():
    """Also where rows lie exactly on a center, so that the last digit decides who has them."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = np.round(rng.normal(size=(int(rng.integers(100, 400)), int(rng.integers(2, 7)))))
        n_clusters = int(rng.integers(2, 7))
        model = AWKMeans(n_clusters, n_init=1, random_state=seed, tol=0).fit(X)
        assert model.converged_
        for k in np.unique(model.labels_):
            mean = X[model.labels_ == k].mean(axis=0)
            np.testing.assert_allclose(model.cluster_centers_[k], mean, atol=1e-12)
