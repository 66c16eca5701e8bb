"""From given centers every algorithm does, step by step, what the slow reference does."""

import functools

import numpy as np
import pytest
from sklearn.cluster import KMeans as ScikitLearnKMeans

import reference
from fwkmeans import KMeans
from laws.configurations import (
    CONFIGURATIONS,
    FEW,
    exact_costs,
    make_rows,
    name_of,
    some_rows,
    untied,
)

TOLERANCE = 1e-9

CONFIGURATIONS = [c for c in CONFIGURATIONS if c.has_reference]
FEW = [c for c in FEW if c.has_reference]


def plain(rng):
    X = make_rows(rng)
    return X, some_rows(rng, X, 3)


def many_clusters(rng):
    X = make_rows(rng, 50, 3, 5)
    return X, some_rows(rng, X, 7)


def wide(rng):
    X = make_rows(rng, 25, 9)
    return X, some_rows(rng, X, 3)


def one_feature(rng):
    X = make_rows(rng, 40, 1)
    return X, some_rows(rng, X, 3)


def constant_feature(rng):
    X = make_rows(rng)
    X[:, 1] = 0.3
    return X, some_rows(rng, X, 3)


def constant_within_a_cluster(rng):
    X = make_rows(rng)
    X[:25, 0] = 50.0
    return X, np.vstack([X[:1], some_rows(rng, X[25:], 2)])


def duplicate_rows(rng):
    X = make_rows(rng, 12)[rng.integers(0, 12, 60)]
    return X, some_rows(rng, np.unique(X, axis=0), 3)


def one_cluster(rng):
    X = make_rows(rng)
    return X, X[:1]


def as_many_clusters_as_rows(rng):
    X = make_rows(rng, 9)
    return X, X.copy()


def more_clusters_than_distinct_rows(rng):
    distinct = make_rows(rng, 3)
    X = np.repeat(distinct, 4, axis=0)
    return X, X[[0, 1, 4, 8, 11]]


def singletons(rng):
    X = make_rows(rng, 30)
    X[:2] += [[80.0], [-90.0]]
    return X, np.vstack([X[:2], some_rows(rng, X[2:], 2)])


def equal_rows(rng):
    X = np.repeat(rng.standard_normal((1, 4)), 8, axis=0)
    return X, X[:2]


def unequal_units(rng):
    X = make_rows(rng) * [1e3, 1e-3, 1.0, 1.0]
    return X, some_rows(rng, X, 3)


def extreme_units(rng):
    X = make_rows(rng) * [1e8, 1e-8, 1.0, 1.0]
    return X, some_rows(rng, X, 3)


def far_from_the_origin(rng):
    X = make_rows(rng) + 1e5
    return X, some_rows(rng, X, 3)


def centers_far_outside(rng):
    X = make_rows(rng)
    return X, some_rows(rng, X, 3) * [[1e3], [1.0], [1.0]] + [[0.0], [0.0], [700.0]]


def duplicated_seeds(rng):
    X = make_rows(rng)
    return X, X[[0, 0, 0, 5]]


TABLES = [
    plain,
    many_clusters,
    wide,
    one_feature,
    constant_feature,
    constant_within_a_cluster,
    duplicate_rows,
    one_cluster,
    as_many_clusters_as_rows,
    more_clusters_than_distinct_rows,
    singletons,
    equal_rows,
    unequal_units,
    extreme_units,
    far_from_the_origin,
    centers_far_outside,
    duplicated_seeds,
]


#: Where weights, centers and relocation each show; the others show what numbers may be like.
TELLING = [plain, constant_feature, constant_within_a_cluster, duplicated_seeds]

#: Every configuration on the telling tables, a third of the few on each other one; some files.
WHERE = [
    *((c, table, "memory") for table in TELLING for c in CONFIGURATIONS),
    *(
        (c, table, "memory")
        for at, table in enumerate(t for t in TABLES if t not in TELLING)
        for c in FEW[at % 3 :: 3]
    ),
    *((c, table, "chunks") for table in (plain, many_clusters, duplicated_seeds) for c in FEW),
]


def assert_agrees(configuration, model, expected, X, sample_weight, max_iter):
    spread = np.ptp(X, axis=0)
    steps = np.abs(model.cluster_centers_ - expected.centers)
    assert np.all(steps <= TOLERANCE * (spread + np.abs(expected.centers)))
    np.testing.assert_allclose(model.feature_weights_, expected.weights, rtol=0, atol=TOLERANCE)
    if expected.group_weights is not None:
        np.testing.assert_allclose(
            model.group_weights_, expected.group_weights, rtol=0, atol=TOLERANCE
        )
    clear = untied(*exact_costs(configuration, model, X, sample_weight), 1e-12)
    np.testing.assert_array_equal(model.labels_[clear], expected.labels[clear])
    size = np.abs(expected.history) + expected.dispersion
    both = min(model.n_iter_, expected.n_iter)
    assert len(model.objective_history_) == model.n_iter_
    assert np.all(
        np.abs(model.objective_history_[:both] - expected.history[:both]) <= TOLERANCE * size[:both]
    )
    assert abs(model.inertia_ - expected.objective) <= TOLERANCE * size[-1]
    # Where a center's last digit exceeds the limit of rest, it may fall one iteration later.
    digit = np.spacing(np.abs(X).max(axis=0))
    slack = 1 if np.any(digit > 1e-13 * spread) and expected.n_iter < max_iter else 0
    assert abs(model.n_iter_ - expected.n_iter) <= slack
    assert model.converged_ == expected.converged


def expected_fit(configuration, X, centers, sample_weight=None, max_iter=300):
    algorithm, parameters = configuration.reference(X.shape[1])
    return reference.fit(
        X, algorithm, centers, sample_weight=sample_weight, max_iter=max_iter, **parameters
    )


def check(configuration, expected, X, centers, sample_weight, source, max_iter=300):
    model = configuration.estimator(len(centers), X.shape[1], init=centers, max_iter=max_iter)
    model.fit(source(X), sample_weight=sample_weight)
    assert_agrees(configuration, model, expected, X, sample_weight, max_iter)


@functools.cache
def expected_on(table, configuration_number, seed):
    """Return table, centers and reference fit, which all sources share."""
    X, centers = table(np.random.default_rng(seed))
    return X, centers, expected_fit(CONFIGURATIONS[configuration_number], X, centers)


@pytest.mark.thinned
@pytest.mark.filterwarnings("ignore::fwkmeans.exceptions.UnequalSpreadWarning")
@pytest.mark.parametrize(
    ("configuration", "table", "source"),
    WHERE,
    ids=[f"{table.__name__}-{c.name}-{where}" for c, table, where in WHERE],
    indirect=["source"],
)
def test_agrees_on_degenerate_and_plain_tables(configuration, table, global_random_seed, source):
    if table in (unequal_units, extreme_units) and configuration.parameters.get("safeguard"):
        pytest.skip("one column decides J: whether it rises with others' weights is rounding")
    number = CONFIGURATIONS.index(configuration)
    X, centers, expected = expected_on(table, number, global_random_seed)
    check(configuration, expected, X, centers, None, source)


@pytest.mark.thinned
@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=name_of)
def test_agrees_step_by_step(configuration, rng):
    X, centers = plain(rng)
    sample_weight = rng.random(len(X)) * (rng.random(len(X)) > 0.2)
    for max_iter in (1, 2, 3):
        expected = expected_fit(configuration, X, centers, sample_weight, max_iter)
        check(configuration, expected, X, centers, sample_weight, lambda rows: rows, max_iter)


@pytest.mark.thinned
@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=name_of)
def test_agrees_on_random_tables(configuration, rng):
    for weighted in (False, True):
        n_features, n_clusters = rng.integers(2, 7), rng.integers(2, 6)
        X = make_rows(rng, 45, n_features, n_clusters)
        sample_weight = rng.random(45) * (rng.random(45) > 0.2) if weighted else None
        centers = some_rows(rng, X, n_clusters)
        expected = expected_fit(configuration, X, centers, sample_weight)
        check(configuration, expected, X, centers, sample_weight, lambda rows: rows)


@pytest.mark.parametrize("weighted", [False, True])
def test_kmeans_is_that_of_scikit_learn(weighted, rng, source):
    for n_clusters in (1, 2, 5, 8):
        X = make_rows(rng, 200, 4, 4)
        sample_weight = rng.random(200) if weighted else None
        centers = some_rows(rng, X, n_clusters)
        ours = KMeans(n_clusters, init=centers, tol=0).fit(source(X), sample_weight=sample_weight)
        theirs = ScikitLearnKMeans(n_clusters, init=centers, n_init=1, tol=0)
        theirs.fit(X, sample_weight=sample_weight)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-12)
        assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-12)
