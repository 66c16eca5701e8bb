"""Algorithms that are special cases of one another are so, step by step."""

import numpy as np
import pytest

from fwkmeans import (
    SYNCLUS,
    AWKMeans,
    ConvexKMeans,
    EWKMeans,
    FeatureWeightedKMeans,
    FGKMeans,
    FWSAKMeans,
    KMeans,
    WKMeans,
)
from fwkmeans.weighting import (
    ClusterPowerWeights,
    EntropyWeights,
    FixedWeights,
    GroupEntropyWeights,
    SelfAdjustingWeights,
    SharedPowerWeights,
    StressWeights,
    UniformWeights,
)
from laws.configurations import make_rows, some_rows


@pytest.fixture
def table(rng):
    X = make_rows(rng, 80, 4)
    return X, some_rows(rng, X, 4)


def pair(table, source, one, other):
    """Fit both estimators, given as class and parameters, from the same centers."""
    X, centers = table
    fits = []
    for estimator, parameters in (one, other):
        model = estimator(len(centers), init=centers, tol=0, **parameters)
        fits.append(model.fit(source(X)))
    return fits


@pytest.mark.parametrize("max_iter", [1, 2, 300])
@pytest.mark.parametrize("estimator", [WKMeans, AWKMeans])
def test_beta_zero_is_kmeans(table, source, estimator, max_iter):
    common = {"max_iter": max_iter}
    a, b = pair(table, source, (estimator, {"beta": 0.0, **common}), (KMeans, common))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_, atol=1e-12)
    np.testing.assert_array_equal(a.feature_weights_, b.feature_weights_)
    assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-12)


@pytest.mark.parametrize("dispersion", ["sum", "mean"])
def test_large_gamma_is_kmeans(table, source, dispersion):
    large = {"gamma": 1e12, "dispersion": dispersion}
    a, b = pair(table, source, (EWKMeans, large), (KMeans, {}))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_, atol=1e-12)
    np.testing.assert_allclose(a.feature_weights_, 0.25, atol=1e-9)


@pytest.mark.parametrize("max_iter", [1, 3, 300])
def test_gamma_zero_is_awk_with_beta_one(table, source, max_iter):
    a, b = pair(
        table,
        source,
        (EWKMeans, {"gamma": 0.0, "max_iter": max_iter}),
        (AWKMeans, {"beta": 1.0, "guard": 0.0, "max_iter": max_iter}),
    )
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.feature_weights_, b.feature_weights_)
    assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-12)


@pytest.mark.parametrize("lam", [0.0, 0.3, 1e6, "auto"])
@pytest.mark.parametrize("eta", [0.5, 8.0])
def test_one_group_is_entropy_weighting_by_eta(table, source, lam, eta):
    a, b = pair(table, source, (FGKMeans, {"lam": lam, "eta": eta}), (EWKMeans, {"gamma": eta}))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.feature_weights_, b.feature_weights_, atol=1e-12)
    np.testing.assert_array_equal(a.group_weights_, 1.0)
    assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-9)


@pytest.mark.parametrize("eta", [0.0, 0.3, 1e6, "auto"])
@pytest.mark.parametrize("lam", [0.5, 8.0])
def test_one_feature_per_group_is_entropy_weighting_by_lam(table, source, lam, eta):
    single = {"groups": [[0], [1], [2], [3]], "lam": lam, "eta": eta}
    a, b = pair(table, source, (FGKMeans, single), (EWKMeans, {"gamma": lam}))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.group_weights_, b.feature_weights_, atol=1e-12)
    np.testing.assert_array_equal(a.feature_weights_, 1.0)
    assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-9)


def test_awk_is_cluster_wk_without_a_constant(table, source):
    smooth = {"weights": "cluster", "smoothing": 0.0, "beta": 1.7}
    a, b = pair(table, source, (AWKMeans, {"beta": 1.7, "guard": 0.0}), (WKMeans, smooth))
    np.testing.assert_array_equal(a.feature_weights_, b.feature_weights_)
    np.testing.assert_array_equal(a.objective_history_, b.objective_history_)


def test_frozen_is_a_number_known_after_the_first_iteration(table, source):
    X, centers = table
    cluster = {"weights": "cluster", "beta": 2.0}
    d = ((X[:, None] - centers) ** 2).sum(axis=-1)
    labels = d.argmin(axis=1)
    within = [((X[labels == k] - X[labels == k].mean(0)) ** 2).sum(0) for k in range(4)]
    constant = {**cluster, "smoothing": float(np.mean(within))}
    a, b = pair(table, source, (WKMeans, cluster), (WKMeans, constant))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.feature_weights_, b.feature_weights_, atol=1e-9)


@pytest.mark.parametrize("beta", [60.0, 300.0])
@pytest.mark.parametrize("estimator", [WKMeans, AWKMeans])
def test_a_large_beta_makes_weights_equal(table, source, estimator, beta):
    """Their power is then inversely proportional to the dispersion, and tiny: 4^-60, 4^-300."""
    X, centers = table
    model = estimator(4, beta=beta, guard=0.0, init=centers, tol=0).fit(source(X))
    np.testing.assert_allclose(model.feature_weights_, 0.25, atol=2 / beta)
    assert np.all(np.isfinite(model.cluster_centers_))
    within = np.array(
        [((X[model.labels_ == k] - X[model.labels_ == k].mean(0)) ** 2).sum(0) for k in range(4)]
    )
    if estimator is WKMeans:
        within = within.sum(axis=0, keepdims=True)
    weights = 1 / within
    d = (weights * (X[:, None] - model.cluster_centers_) ** 2).sum(axis=-1)
    if estimator is WKMeans:
        assert np.mean(d.argmin(axis=1) == model.labels_) > 0.95


@pytest.mark.parametrize("beta", [1e4, -1e4])
def test_a_beta_whose_powers_underflow_is_refused(table, beta):
    X, centers = table
    with pytest.raises(ValueError, match=r"beta=.*a size up to 469 for 4 features"):
        WKMeans(4, beta=beta, init=centers).fit(X)


def test_fixed_weights_are_kmeans_on_scaled_columns(table, source):
    X, centers = table
    w = np.array([0.4, 0.3, 0.2, 0.1])
    fixed = FeatureWeightedKMeans(4, weighting=FixedWeights(), weight_init=w, init=centers, tol=0)
    a = fixed.fit(source(X))
    b = KMeans(4, init=centers * np.sqrt(w), tol=0).fit(source(X * np.sqrt(w)))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.feature_weights_, np.tile(w, (4, 1)))
    assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-12)


@pytest.mark.parametrize("centred", [False, True])
def test_synclus_is_a_choice_of_parts(table, source, centred):
    groups = np.array([0, 1, 0, 1])
    rule = StressWeights(groups, centred=centred, guard=0.5)
    a, b = pair(
        table,
        source,
        (FeatureWeightedKMeans, {"weighting": rule}),
        (SYNCLUS, {"groups": groups, "centred": centred, "guard": 0.5}),
    )
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.feature_weights_, b.feature_weights_)
    np.testing.assert_array_equal(a.objective_history_, b.objective_history_)
    assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-12)


@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        (WKMeans, {}),
        (AWKMeans, {}),
        (FWSAKMeans, {}),
        (WKMeans, {"weights": "cluster", "smoothing": 1e12}),
    ],
)
def test_a_large_guard_is_kmeans(table, source, estimator, parameters):
    a, b = pair(table, source, (estimator, {"guard": 1e10, **parameters}), (KMeans, {}))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.feature_weights_, 0.25, atol=1e-8)


def test_a_large_guard_of_synclus_is_about_inverse_variance(table, source):
    X, _ = table
    a, _ = pair(table, source, (SYNCLUS, {"guard": 1e10}), (KMeans, {}))
    pairs = X[:, None] - X
    fourth = (pairs**4).sum(axis=(0, 1))
    total = ((X - X.mean(axis=0)) ** 2).sum(axis=0)
    within = sum(
        ((X[a.labels_ == k] - X[a.labels_ == k].mean(axis=0)) ** 2).sum(axis=0) for k in range(4)
    )
    between = total - within
    w = a.feature_weights_[0]
    slope = (w @ total) * total + (w @ between) * between / 3
    np.testing.assert_allclose(w, slope / fourth / (slope / fourth).sum(), rtol=1e-6)


def test_one_feature_is_kmeans(rng, source):
    X = make_rows(rng, 60, 1)
    table = X, some_rows(rng, X, 3)
    for estimator in (WKMeans, AWKMeans, EWKMeans, FGKMeans, SYNCLUS, ConvexKMeans):
        a, b = pair(table, source, (estimator, {}), (KMeans, {}))
        np.testing.assert_array_equal(a.labels_, b.labels_)
        np.testing.assert_array_equal(a.feature_weights_, 1.0)


@pytest.mark.parametrize(
    ("rule", "estimator", "parameters"),
    [
        (UniformWeights(), "KMeans", {}),
        (None, "KMeans", {}),
        (SharedPowerWeights(1.5), "WKMeans", {"beta": 1.5, "guard": 0.0}),
        (
            ClusterPowerWeights(1.5, "refresh"),
            "WKMeans",
            {"beta": 1.5, "weights": "cluster", "smoothing": "refresh"},
        ),
        (ClusterPowerWeights(3.0), "AWKMeans", {"beta": 3.0, "guard": 0.0}),
        (ClusterPowerWeights(3.0, guard=0.2), "AWKMeans", {"beta": 3.0, "guard": 0.2}),
        (EntropyWeights(), "EWKMeans", {"dispersion": "sum"}),
        (SelfAdjustingWeights(safeguard=True), "FWSAKMeans", {"safeguard": True, "guard": 0.0}),
        (
            GroupEntropyWeights(np.array([0, 0, 1, 1]), dispersion="mean"),
            "FGKMeans",
            {"groups": [slice(0, 2), slice(2, 4)]},
        ),
    ],
    ids=str,
)
def test_named_algorithms_are_fixed_choices_of_parts(rule, estimator, parameters, rng, source):
    import fwkmeans

    X = make_rows(rng, 80, 4)
    common = {"n_init": 3, "random_state": 1}
    a = FeatureWeightedKMeans(4, weighting=rule, **common).fit(source(X))
    b = getattr(fwkmeans, estimator)(4, **parameters, **common).fit(source(X))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.cluster_centers_, b.cluster_centers_)
    np.testing.assert_array_equal(a.feature_weights_, b.feature_weights_)
    assert a.inertia_ == b.inertia_
