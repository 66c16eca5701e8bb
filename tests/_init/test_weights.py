"""Initial weights: uniform, random or given."""

import numpy as np
import pytest

from fwkmeans import AWKMeans, EWKMeans, FGKMeans, WKMeans
from fwkmeans._init import Seeds, initial_weights
from fwkmeans.sources import MemorySource, describe
from fwkmeans.weighting import EntropyWeights, GroupEntropyWeights, SharedPowerWeights
from laws.configurations import FEW, make_rows, name_of, some_rows

WITH_WEIGHTS = [
    c
    for c in FEW
    if c.algorithm not in ("K-Means", "CK-Means") and "weight_init" not in c.parameters
]


@pytest.mark.thinned
@pytest.mark.parametrize("configuration", WITH_WEIGHTS, ids=name_of)
def test_equal_weights_given_are_uniform(configuration, rng, source):
    X = make_rows(rng, 60, 4)
    centers = some_rows(rng, X, 3)
    expected = configuration.estimator(3, 4, init=centers).fit(source(X))
    for given in (np.ones(4), [5, 5, 5, 5], np.full((3, 4), 0.25)):
        model = configuration.estimator(3, 4, init=centers, weight_init=given).fit(source(X))
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_allclose(model.feature_weights_, expected.feature_weights_, atol=1e-12)


@pytest.mark.parametrize("configuration", [c for c in WITH_WEIGHTS if c.has_reference], ids=name_of)
def test_given_weights_are_those_of_the_first_assignment(configuration, rng, source):
    import reference

    X = make_rows(rng, 60, 4)
    centers = some_rows(rng, X, 3)
    shared = configuration.algorithm in ("FWSA", "IK-P") or (
        configuration.algorithm == "WK-Means"
        and configuration.parameters.get("weights") != "cluster"
    )
    given = rng.random(4 if shared else (3, 4)) + 0.1
    algorithm, parameters = configuration.reference(4)
    expected = reference.fit(X, algorithm, centers, weights=given, max_iter=2, **parameters)
    model = configuration.estimator(3, 4, init=centers, weight_init=given, max_iter=2)
    model.fit(source(X))
    np.testing.assert_array_equal(model.labels_, expected.labels)
    np.testing.assert_allclose(model.feature_weights_, expected.weights, atol=1e-9)
    np.testing.assert_allclose(model.cluster_centers_, expected.centers, atol=1e-9)


def test_the_scale_of_given_weights_does_not_matter(rng):
    X = make_rows(rng, 60, 4)
    centers, given = some_rows(rng, X, 3), rng.random((3, 4)) + 0.1
    a = EWKMeans(3, init=centers, weight_init=given).fit(X)
    b = EWKMeans(3, init=centers, weight_init=given * [[2.0], [1.0], [16.0]]).fit(X)
    np.testing.assert_allclose(a.feature_weights_, b.feature_weights_, atol=1e-12)


@pytest.mark.parametrize("rule", [EntropyWeights(), SharedPowerWeights()], ids=name_of)
def test_random_weights(rule, rng, global_random_seed):
    X = make_rows(rng, 60, 4)
    X[:, 1] = 3.0
    table, _ = describe(MemorySource(X))
    seeds = Seeds(global_random_seed)
    values = initial_weights("random", rule, 3, table, seeds, range(6)).values
    assert values.shape == (6, 3, 4)
    np.testing.assert_allclose(values.sum(axis=-1), 1.0)
    assert np.all(values[..., 1] == 0)
    assert np.all(values[..., [0, 2, 3]] > 0)
    assert len(np.unique(values[:, 0, 0])) == 6  # every start its own
    assert (len(np.unique(values[0, :, 0])) == 1) == rule.shared
    again = initial_weights("random", rule, 3, table, seeds, range(4, 5)).values
    np.testing.assert_array_equal(again[0], values[4])  # whatever batch it is in


def test_random_weights_are_uniform_on_the_simplex(rng, global_random_seed):
    X = make_rows(rng, 60, 4)
    table, _ = describe(MemorySource(X))
    values = initial_weights(
        "random", EntropyWeights(), 3, table, Seeds(global_random_seed), range(2000)
    ).values
    np.testing.assert_allclose(values.mean(axis=(0, 1)), 0.25, atol=0.02)
    assert values.var(axis=(0, 1)) == pytest.approx(3 / 80, abs=0.005)


def test_weights_of_groups_sum_to_one_in_each(rng, global_random_seed):
    X = make_rows(rng, 60, 4)
    table, _ = describe(MemorySource(X))
    rule = GroupEntropyWeights(np.array([0, 0, 1, 1])).bind(table, 3)
    weights = initial_weights("random", rule, 3, table, Seeds(global_random_seed), range(2))
    np.testing.assert_allclose(weights.values[..., :2].sum(axis=-1), 1.0)
    np.testing.assert_allclose(weights.values[..., 2:].sum(axis=-1), 1.0)
    np.testing.assert_array_equal(weights.memory["group_weights"], 0.5)


@pytest.mark.parametrize(
    ("estimator", "weight_init", "message"),
    [
        (EWKMeans, "equal", "weight_init='equal': expected 'uniform', 'random' or an array"),
        (EWKMeans, np.ones(3), r"weight_init has shape \(3,\); expected \(4,\) or \(3, 4\)"),
        (EWKMeans, np.ones((4, 3)), r"weight_init has shape \(4, 3\)"),
        (EWKMeans, [1, 1, 1, -1], "negative, infinite or missing"),
        (EWKMeans, [1, 1, 1, np.nan], "negative, infinite or missing"),
        (EWKMeans, [1, 1, 1, np.inf], "negative, infinite or missing"),
        (EWKMeans, np.zeros(4), "without any positive weight"),
        (AWKMeans, [[1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]], "without any positive weight"),
        (WKMeans, np.arange(12.0).reshape(3, 4), "different rows, but all clusters share"),
        (FGKMeans, np.zeros(4), "without any positive weight"),
    ],
    ids=str,
)
def test_bad_weights_are_explained(estimator, weight_init, message, rng):
    X = make_rows(rng, 60, 4)
    with pytest.raises(ValueError, match=message):
        estimator(3, weight_init=weight_init).fit(X)


def test_weights_on_constant_features_only_are_refused(rng):
    X = make_rows(rng, 60, 4)
    X[:, 0] = 1.0
    with pytest.raises(ValueError, match="without any positive weight on a feature that varies"):
        EWKMeans(3, weight_init=[1, 0, 0, 0]).fit(X)


def test_a_group_without_initial_weight_is_refused(rng):
    """Its features would be left out for good in the first assignment, unlike the reference."""
    X = make_rows(rng, 60, 4)
    with pytest.raises(ValueError, match="without any positive weight"):
        FGKMeans(3, groups=[[0, 1], [2, 3]], weight_init=[1, 1, 0, 0]).fit(X)
