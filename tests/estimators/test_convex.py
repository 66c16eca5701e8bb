"""CK-Means: the inner problem, the criterion, the candidates, directions, messages."""

import math
import pickle

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

import fwkmeans.estimators.plan
from fwkmeans import ConvexKMeans, KMeans
from fwkmeans.estimators.convex import resolve_spherical
from fwkmeans.sources import ChunkedSource
from laws.configurations import assert_identical, make_rows, some_rows

SPACES = {"a": [0, 2], "b": [1, 3, 4]}


def convex(n_clusters=8, **parameters):
    """Return the published algorithm."""
    return ConvexKMeans.as_in_survey(n_clusters, **parameters)


def unit(X, columns):
    """Return the rows with unit length in these columns; zero rows stay."""
    X = np.array(X, dtype=float)
    length = np.linalg.norm(X[:, columns], axis=1, keepdims=True)
    X[:, columns] /= np.where(length > 0, length, 1.0)
    return X


def distortions(X, labels, s, columns, spherical):
    """Return within-cluster and total distortion in one space, from the labels alone."""
    X, present = X[:, columns], np.ones(len(X), dtype=bool)
    if spherical:
        present = X.any(axis=1)

    def about_centroid(rows):
        rows = rows & present & (s > 0)
        if not rows.any():
            return 0.0
        total = (s[rows, None] * X[rows]).sum(axis=0)
        if spherical:
            center = total / np.linalg.norm(total)
            return np.sum(s[rows] * 2 * (1 - X[rows] @ center))
        center = total / s[rows].sum()
        return np.sum(s[rows, None] * (X[rows] - center) ** 2)

    within = sum(about_centroid(labels == k) for k in np.unique(labels))
    return within, about_centroid(np.ones(len(X), dtype=bool))


def fisher(X, labels, spaces, spherical=(), s=None, exponents=None):
    """Return Q from the labels alone."""
    s = np.ones(len(X)) if s is None else s
    value = 1.0
    for number, columns in enumerate(spaces):
        rows = unit(X, columns) if number in spherical else np.asarray(X, dtype=float)
        within, total = distortions(rows, labels, s, columns, number in spherical)
        value *= (within / (total - within)) ** (1.0 if exponents is None else exponents[number])
    return value


# ---- the inner problem --------------------------------------------------------------------------


@pytest.mark.parametrize("max_iter", [1, 2, 300])
def test_even_weights_are_kmeans(rng, source, max_iter):
    X = make_rows(rng, 80, 4)
    centers = some_rows(rng, X, 3)
    a = convex(3, grid=np.ones((1, 4)), init=centers, max_iter=max_iter).fit(source(X))
    b = KMeans(3, init=centers, max_iter=max_iter).fit(source(X))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_, atol=1e-12)
    assert a.inertia_ == pytest.approx(b.inertia_ / 4, rel=1e-12)
    np.testing.assert_array_equal(a.space_weights_, 0.25)
    assert not a.on_boundary_


def test_weights_are_kmeans_on_scaled_columns(rng, source):
    X = make_rows(rng, 80, 5)
    centers = some_rows(rng, X, 3)
    w = np.array([0.7, 0.3])
    a = convex(3, spaces=SPACES, grid=[w], init=centers, tol=0).fit(source(X))
    root = np.sqrt(w[[0, 1, 0, 1, 1]])
    b = KMeans(3, init=centers * root, tol=0).fit(source(X * root))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.cluster_centers_ * root, b.cluster_centers_, atol=1e-12)
    np.testing.assert_allclose(a.transform(X), b.transform(X * root), rtol=1e-9)
    assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-12)
    np.testing.assert_array_equal(a.feature_weights_[0], w[[0, 1, 0, 1, 1]])


# ---- the criterion ------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", ["coverage", "one", "dimension"])
@pytest.mark.parametrize("weighted", [False, True])
def test_fisher_values_follow_from_the_labels(rng, source, exponent, weighted):
    X = make_rows(rng, 80, 5)
    s = rng.integers(0, 4, 80).astype(float) if weighted else None
    common = {"spaces": SPACES, "exponent": exponent, "init": some_rows(rng, X, 3)}
    model = convex(3, **common).fit(source(X), sample_weight=s)
    powers = [2, 3] if exponent == "dimension" else [1, 1]
    members = list(SPACES.values())
    expected = fisher(X, model.labels_, members, s=s, exponents=powers)
    assert model.fisher_values_[model.best_candidate_] == pytest.approx(expected, rel=1e-9)
    assert model.fisher_values_.min() == pytest.approx(expected, rel=1e-9)
    assert model.candidates_.shape == (19, 2)
    for number in (0, 7, 18):
        one = convex(3, **common | {"grid": model.candidates_[[number]]})
        one.fit(source(X), sample_weight=s)
        expected = fisher(X, one.labels_, members, s=s, exponents=powers)
        assert model.fisher_values_[number] == pytest.approx(expected, rel=1e-9)


def test_objective_is_that_of_the_chosen_weights(rng, source):
    X = make_rows(rng, 80, 5)
    model = convex(3, spaces=SPACES, random_state=0).fit(source(X))
    differences = (X - model.cluster_centers_[model.labels_]) ** 2
    expected = (model.feature_weights_[0] * differences).sum()
    assert model.inertia_ == pytest.approx(expected, rel=1e-12)
    assert list(model.spaces_) == ["a", "b"]
    np.testing.assert_array_equal(model.spaces_["b"], [1, 3, 4])
    np.testing.assert_array_equal(model.space_weights_, model.candidates_[model.best_candidate_])


def test_spaces_that_agree_but_differ_in_scale(rng):
    """Both spaces show the clusters; the one with the larger numbers shows them worse."""
    labels = rng.integers(0, 3, 300)
    at = np.array([[0.0, 0, 0], [4, 0, 0], [0, 4, 0]])[labels]
    noise = rng.standard_normal((2, 300, 3))
    X = np.column_stack([at + noise[0], 5 * (0.4 * at + noise[1])])
    model = convex(3, spaces=[range(3), range(3, 6)], random_state=0).fit(X)
    assert model.space_weights_[0] > 0.8
    plain = KMeans(3, random_state=0).fit(X)
    truth = adjusted_rand_score(labels, model.labels_)
    assert truth > 0.75 > 0.6 > adjusted_rand_score(labels, plain.labels_)


def test_a_space_of_noise_is_split_rather_than_left_out(rng):
    """What the documentation warns of: Q asks every space to separate the clusters."""
    labels = np.arange(300) % 3
    clusters = np.array([[0.0, 0], [6, 0], [0, 6]])[labels] + rng.standard_normal((300, 2))
    X = np.column_stack([clusters, 3 * rng.standard_normal((300, 2))])
    spaces = [[0, 1], [2, 3]]
    model = convex(3, spaces=spaces, random_state=0).fit(X)
    assert model.fisher_values_.min() < 0.8 * fisher(X, labels, spaces)


def test_one_cluster_has_no_fisher_value(rng):
    model = convex(1, spaces=SPACES, init=make_rows(rng, 1, 5)).fit(make_rows(rng, 40, 5))
    assert np.all(np.isinf(model.fisher_values_))
    np.testing.assert_array_equal(model.space_weights_, 0.5)  # the most even of equals


def test_ties_go_to_even_weights_then_to_the_lower_objective(rng):
    """Far apart, clusters are the same for all weights."""
    labels = np.arange(60) % 3
    X = 100 * rng.standard_normal((3, 2))[labels] + rng.standard_normal((60, 2)) * [1, 0.1]
    model = convex(3, init=X[:3]).fit(X)
    assert np.ptp(model.fisher_values_) <= 1e-9 * model.fisher_values_.min()
    np.testing.assert_allclose(model.space_weights_, 0.5)
    grid = [[0.4, 0.6], [0.6, 0.4]]
    for order in (grid, grid[::-1]):
        model = convex(3, init=X[:3], grid=order).fit(X)
        np.testing.assert_allclose(model.space_weights_, [0.4, 0.6])  # the second has less spread
        assert model.best_candidate_ == order.index([0.4, 0.6])
    twice = convex(3, init=X[:3], grid=[[1, 1], [2, 2], [3, 3]]).fit(X)
    assert twice.best_candidate_ == 0


# ---- the candidates -----------------------------------------------------------------------------


@pytest.mark.parametrize(("n_spaces", "n_candidates"), [(1, 1), (2, 19), (3, 66), (4, 286)])
def test_automatic_grids(rng, n_spaces, n_candidates):
    X = make_rows(rng, 60, n_spaces)
    model = convex(2, init=X[:2]).fit(X)
    assert model.candidates_.shape == (n_candidates, n_spaces)
    assert len(np.unique(model.candidates_.round(9), axis=0)) == n_candidates
    np.testing.assert_allclose(model.candidates_.sum(axis=1), 1.0)
    assert np.all(model.candidates_ >= 0)
    assert (model.candidates_.min() == 0) == (n_spaces > 2)
    assert len(model.fisher_values_) == n_candidates


@pytest.mark.parametrize("resolution", [1, 4, 7])
@pytest.mark.parametrize("n_spaces", [1, 2, 3, 5])
def test_resolutions(rng, resolution, n_spaces):
    X = make_rows(rng, 60, n_spaces)
    model = convex(2, init=X[:2], grid=resolution).fit(X)
    assert len(model.candidates_) == math.comb(resolution + n_spaces - 1, n_spaces - 1)
    multiples = model.candidates_ * resolution
    np.testing.assert_allclose(multiples, multiples.round(), atol=1e-12)


def test_many_spaces_are_searched(rng, source):
    X = make_rows(rng, 90, 7) * [1, 2, 3, 1, 2, 3, 1]
    model = convex(3, random_state=0, n_init=2).fit(source(X))
    n_first = 2 + 7 + 32
    assert len(model.candidates_) > n_first
    np.testing.assert_allclose(model.candidates_.sum(axis=1), 1.0)
    totals = X.var(axis=0)
    shares = model.candidates_ * totals
    np.testing.assert_allclose(shares[0], shares[0, 0])
    np.testing.assert_allclose(model.candidates_[1], 1 / 7)
    assert model.fisher_values_.min() == pytest.approx(
        model.fisher_values_[model.best_candidate_], rel=1e-8
    )
    assert model.fisher_values_[model.best_candidate_] <= model.fisher_values_[:n_first].min()
    expected = fisher(X, model.labels_, [[v] for v in range(7)])
    assert model.fisher_values_[model.best_candidate_] == pytest.approx(expected, rel=1e-9)
    assert model.on_boundary_ == (model.space_weights_ == 0).any()


def test_a_search_does_not_depend_on_units(rng):
    X = make_rows(rng, 90, 6)
    units = np.array([1.0, 2.0, 4.0, 0.5, 8.0, 1.0])
    centers = some_rows(rng, X, 3)
    common = {"tol": 0, "random_state": 0}
    a = convex(3, init=centers, **common).fit(X)
    b = convex(3, init=centers * units, **common).fit(X * units)
    # even weights in the units given are the only candidate that differs
    if a.best_candidate_ != 1 and b.best_candidate_ != 1:
        np.testing.assert_array_equal(a.labels_, b.labels_)
        expected = a.space_weights_ / units**2
        np.testing.assert_allclose(b.space_weights_, expected / expected.sum(), atol=1e-9)


def test_boundaries(rng):
    X = make_rows(rng, 60, 2)
    common = {"init": X[:2]}
    model = convex(2, **common).fit(X)
    at = model.best_candidate_
    assert model.on_boundary_ == (at in (0, 18))
    inside = model.candidates_[[max(at - 1, 0), at, min(at + 1, 18)]]
    edge = convex(2, grid=inside[:1], **common).fit(X)
    assert not edge.on_boundary_  # one candidate has no edge
    edge = convex(2, grid=[[0.3, 0.7], [0.6, 0.4]], **common).fit(X)
    assert edge.on_boundary_  # two are nothing but edge


def test_constant_spaces_have_no_weight(rng, source):
    X = make_rows(rng, 60, 5)
    X[:, [1, 3, 4]] = [5.0, 0.0, 2.0]
    model = convex(3, spaces=SPACES, init=X[:3]).fit(source(X))
    np.testing.assert_array_equal(model.space_weights_, [1.0, 0.0])
    assert model.candidates_.shape == (1, 2)
    assert np.isfinite(model.fisher_values_[0])
    np.testing.assert_array_equal(model.feature_weights_[0], [1, 0, 1, 0, 0])
    given = convex(3, spaces=SPACES, init=X[:3], grid=[[1, 3], [1, 1]]).fit(source(X))
    np.testing.assert_array_equal(given.candidates_, [[1.0, 0.0], [1.0, 0.0]])


def test_a_constant_column_of_a_space_has_no_weight(rng):
    X = make_rows(rng, 60, 5)
    X[:, 4] = 7.0
    model = convex(3, spaces=SPACES, init=X[:3]).fit(X)
    assert np.all(model.feature_weights_[:, 4] == 0)
    assert np.all(model.feature_weights_[:, [1, 3]] == model.space_weights_[1])


@pytest.mark.parametrize("n_features", [1, 2, 3, 6])
def test_a_constant_table(n_features):
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        model = convex(2, random_state=0).fit(np.ones((5, n_features)))
    assert model.inertia_ == 0


# ---- directions ---------------------------------------------------------------------------------


def spherical_kmeans(X, centers, s, n_iter=100):
    """Return labels, directions and objective of plain spherical K-Means."""
    X, present = unit(X, np.arange(X.shape[1])), np.asarray(X).any(axis=1)
    centers = unit(centers, np.arange(X.shape[1]))
    for _ in range(n_iter):
        labels = (X @ centers.T).argmax(axis=1)
        member = labels == np.arange(len(centers))[:, None]
        sums = (member * s) @ X
        centers = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    cosine = np.sum(X * centers[labels], axis=1)
    return labels, centers, np.sum(s * present * 2 * (1 - cosine))


def directions(rng, n_rows=90, n_features=5, zero=0):
    labels = rng.integers(0, 3, n_rows)
    X = (2 * rng.standard_normal((3, n_features)))[labels]
    X = (X + rng.standard_normal((n_rows, n_features))) * rng.uniform(0.1, 9, (n_rows, 1))
    X[rng.permutation(n_rows)[:zero]] = 0.0
    return X


@pytest.mark.parametrize("zero", [0, 12])
def test_one_spherical_space_is_spherical_kmeans(rng, source, dtype, zero):
    X = directions(rng, zero=zero).astype(dtype)
    s = rng.random(90) + 0.1
    centers = X[X.any(axis=1)][:3].astype(float)
    model = convex(3, spaces=[range(5)], spherical=True, init=centers, tol=0)
    model.fit(source(X), sample_weight=s)
    labels, expected, objective = spherical_kmeans(X.astype(float), centers, s)
    present = X.any(axis=1)
    rtol = 1e-12 if dtype is np.float64 else 1e-5
    np.testing.assert_array_equal(model.labels_[present], labels[present])
    np.testing.assert_allclose(model.cluster_centers_, expected, atol=rtol)
    assert model.inertia_ == pytest.approx(objective, rel=rtol)
    assert model.objective_history_[-1] == pytest.approx(objective, rel=rtol)
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1.0, rtol=rtol)
    assert model.converged_


@pytest.mark.parametrize("zero", [0, 9])
@pytest.mark.parametrize("weighted", [False, True])
def test_mixed_spaces(rng, source, zero, weighted):
    X = np.column_stack([make_rows(rng, 90, 2), directions(rng, zero=zero)])
    spaces = [[0, 1], [2, 3, 4, 5, 6]]
    s = rng.integers(0, 4, 90).astype(float) if weighted else None
    mass = np.ones(90) if s is None else s
    model = convex(3, spaces=spaces, spherical=[1], random_state=0, tol=0)
    model.fit(source(X), sample_weight=s)
    assert model.converged_
    assert np.all(np.diff(model.objective_history_) <= 1e-10)
    present = X[:, 2:].any(axis=1)
    coverage = mass[present].sum() / mass.sum()
    expected = fisher(X, model.labels_, spaces, [1], s, [1.0, coverage])
    assert model.fisher_values_[model.best_candidate_] == pytest.approx(expected, rel=1e-9)
    rows, w = unit(X, spaces[1]), model.space_weights_
    total = sum(
        w[number] * distortions(rows, model.labels_, mass, columns, number == 1)[0]
        for number, columns in enumerate(spaces)
    )
    assert model.inertia_ == pytest.approx(total, rel=1e-9)
    assert model.objective_history_[-1] == pytest.approx(total, rel=1e-9)
    assert model.score(source(X), sample_weight=s) == -model.inertia_


def test_zero_rows_are_missing(rng, source):
    """A row that is zero in the spherical space is placed by the other one alone."""
    X = np.column_stack([make_rows(rng, 90, 2), directions(rng, zero=9)])
    spaces = [[0, 1], [2, 3, 4, 5, 6]]
    model = convex(3, spaces=spaces, spherical=[1], random_state=0).fit(source(X))
    zero = ~X[:, 2:].any(axis=1)
    d = ((X[:, None, :2] - model.cluster_centers_[:, :2]) ** 2).sum(axis=-1)
    d *= model.space_weights_[0]
    np.testing.assert_array_equal(model.labels_[zero], d[zero].argmin(axis=1))
    squares = model.transform(source(X)) ** 2
    np.testing.assert_allclose(squares[zero], d[zero], rtol=1e-9, atol=1e-12)
    cosine = unit(X[:, 2:], range(5)) @ model.cluster_centers_[:, 2:].T
    d += 2 * model.space_weights_[1] * (1 - cosine)
    np.testing.assert_allclose(squares[~zero], d[~zero], rtol=1e-9)


def test_lengths_of_rows_do_not_matter(rng, source):
    X = directions(rng, zero=5)
    lengths = 10.0 ** rng.uniform(-200, 200, (90, 1))
    common = {"spaces": [range(2), range(2, 5)], "spherical": True, "random_state": 0}
    a = convex(3, **common).fit(source(X))
    b = convex(3, **common).fit(source(X * lengths))
    present = X.any(axis=1)
    np.testing.assert_array_equal(a.labels_[present], b.labels_[present])
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_, atol=1e-9)
    np.testing.assert_array_equal(a.predict(X * lengths[::-1]), a.labels_)


def test_rows_that_cancel_keep_the_direction():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, 3.0]])
    model = convex(2, spaces=[[0, 1]], spherical=True, init=[[0.0, -1.0], [0.0, 1.0]])
    model.fit(X)
    np.testing.assert_array_equal(model.labels_, [0, 0, 1, 1])
    np.testing.assert_array_equal(model.cluster_centers_, [[0.0, -1.0], [0.0, 1.0]])
    assert model.inertia_ == pytest.approx(4.0)


def test_a_table_whose_rows_cancel(rng):
    X = rng.standard_normal((10, 3))
    X = np.vstack([X, -X, np.zeros((2, 3))])
    model = convex(2, spaces=[range(3)], spherical=True, init=[[0, 0, 0], [1.0, 0, 0]])
    model.fit(X)
    assert np.all(np.isfinite(model.cluster_centers_))
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1.0)


def test_empty_clusters_move_to_rows_that_gain(rng, source):
    X = np.column_stack([make_rows(rng, 60, 2), directions(rng, 60, zero=20)])
    spaces = [[0, 1], [2, 3, 4, 5, 6]]
    centers = np.repeat(X[:1], 5, axis=0)
    for grid in ([[1, 1]], [[0.0, 1.0]]):
        model = convex(5, spaces=spaces, spherical=[1], grid=grid, init=centers, tol=0)
        model.fit(source(X))
        assert len(np.unique(model.cluster_centers_.round(9), axis=0)) == 5
        assert np.all(np.diff(model.objective_history_) <= 1e-10)
        lengths = np.linalg.norm(model.cluster_centers_[:, 2:], axis=1)
        np.testing.assert_allclose(lengths, 1.0, rtol=1e-9)


def test_a_spherical_space_with_one_direction_is_constant(rng, dtype):
    X = np.column_stack([make_rows(rng, 40, 2), np.outer(rng.random(40) + 0.1, [1.0, 2.0, 3.0])])
    spaces = [[0, 1], [2, 3, 4]]
    model = convex(2, spaces=spaces, spherical=[1], random_state=0).fit(X.astype(dtype))
    np.testing.assert_array_equal(model.space_weights_, [1.0, 0.0])


def test_constant_columns_of_a_spherical_space_count(rng):
    """Columns that are constant after the scaling still decide the direction of a center."""
    angle = rng.uniform(0, 2 * np.pi, 60)
    X = np.column_stack([np.cos(angle), np.sin(angle), np.full(60, 0.5)])
    s = np.ones(60)
    model = convex(3, spaces=[range(3)], spherical=True, init=X[:3], tol=0).fit(X)
    labels, centers, objective = spherical_kmeans(X, X[:3], s)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-12)
    assert model.inertia_ == pytest.approx(objective, rel=1e-11)
    assert model.converged_
    assert np.all(model.feature_weights_ == 1)


def test_directions_from_a_callable_and_from_zero_rows(rng):
    X = directions(rng, zero=10)
    zero = np.flatnonzero(~X.any(axis=1))
    seen = []

    def begin(rows, n_clusters, random_state):
        seen.append(np.linalg.norm(rows, axis=1))
        return np.vstack([X[zero[:1]], 7 * X[X.any(axis=1)][: n_clusters - 1]])

    model = convex(3, spaces=[range(5)], spherical=True, init=begin, n_init=1).fit(X)
    np.testing.assert_array_equal(np.isnan(seen[0]), ~X.any(axis=1))
    np.testing.assert_allclose(seen[0][X.any(axis=1)], 1.0)
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1.0)


# ---- batches, threads, sources ------------------------------------------------------------------


SPHERICAL = {"spaces": [[0, 1], [2, 3, 4, 5, 6]], "spherical": [1]}


def mixed(rng, n_rows, dtype=np.float64):
    X = np.column_stack([make_rows(rng, n_rows, 2), directions(rng, n_rows, zero=n_rows // 9)])
    return X.astype(dtype)


@pytest.mark.parametrize("grid", ["auto", [[0.2, 0.8], [0.5, 0.5]]], ids=["auto", "array"])
def test_spherical_batches_do_not_matter(rng, dtype, monkeypatch, grid):
    X = mixed(rng, 90, dtype)
    fits = []
    for size in (64 * 2**20, 1, 8 * 5 * 3 * 7 * 34):
        monkeypatch.setattr(fwkmeans.estimators.plan, "BATCH_BYTES", size)
        model = convex(3, grid=grid, n_init=4, random_state=1, max_iter=20, **SPHERICAL)
        fits.append(model.fit(X))
    for other in fits[1:]:
        assert_identical(fits[0], other)
        np.testing.assert_array_equal(fits[0].fisher_values_, other.fisher_values_)


def test_a_search_does_not_depend_on_batches(rng, monkeypatch):
    X = make_rows(rng, 60, 6)
    fits = []
    for size in (64 * 2**20, 8 * 7 * 3 * 6 * 34):
        monkeypatch.setattr(fwkmeans.estimators.plan, "BATCH_BYTES", size)
        fits.append(convex(3, n_init=3, random_state=1, max_iter=20).fit(X))
    assert_identical(*fits)
    np.testing.assert_array_equal(fits[0].candidates_, fits[1].candidates_)
    np.testing.assert_array_equal(fits[0].fisher_values_, fits[1].fisher_values_)


def test_spherical_threads_and_blocks(rng, dtype):
    X = mixed(rng, 3000, dtype)
    s = rng.random(3000)
    grid = [[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]]
    common = {"grid": grid, "n_init": 2, "random_state": 1, "max_iter": 15, **SPHERICAL}
    one, many = (convex(3, n_jobs=n, **common).fit(X, sample_weight=s) for n in (1, 5))
    assert_identical(one, many)
    blocks = convex(3, **common).fit(ChunkedSource(X, block_bytes=9999), sample_weight=s)
    np.testing.assert_array_equal(one.labels_, blocks.labels_)
    rtol = 1e-9 if dtype is np.float64 else 1e-4
    np.testing.assert_allclose(one.fisher_values_, blocks.fisher_values_, rtol=rtol)
    np.testing.assert_allclose(one.cluster_centers_, blocks.cluster_centers_, atol=rtol)
    np.testing.assert_array_equal(blocks.predict(ChunkedSource(X, block_bytes=777)), one.labels_)
    assert one.cluster_centers_.dtype == dtype


def test_long_spherical_tables(rng):
    """Beyond 20 000 rows only what changes is counted."""
    X = mixed(rng, 21_000)
    model = convex(3, grid=[[0.3, 0.7]], n_init=1, random_state=0, **SPHERICAL).fit(X)
    expected = fisher(X, model.labels_, SPHERICAL["spaces"], [1], None, [1.0, 1 - 2333 / 21_000])
    assert model.fisher_values_[0] == pytest.approx(expected, rel=1e-9)
    assert np.all(np.diff(model.objective_history_) <= 1e-9 * model.objective_history_[0])


def test_integer_weights_are_repeated_rows_in_spherical_spaces(rng):
    X, times = mixed(rng, 70), rng.integers(0, 4, 70)
    centers = X[X[:, 2:].any(axis=1)][:3]
    a = convex(3, init=centers, tol=0, **SPHERICAL).fit(X, sample_weight=times)
    b = convex(3, init=centers, tol=0, **SPHERICAL).fit(np.repeat(X, times, axis=0))
    np.testing.assert_array_equal(np.repeat(a.labels_, times), b.labels_)
    np.testing.assert_allclose(a.fisher_values_, b.fisher_values_, rtol=1e-9)
    assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-9)


def test_spherical_models_can_be_pickled_and_do_not_follow_their_parameters(rng):
    X = mixed(rng, 60)
    model = convex(3, random_state=0, **SPHERICAL).fit(X)
    again = pickle.loads(pickle.dumps(model)).set_params(spherical=None)
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    assert again.score(X) == model.score(X)
    kept = X.copy()
    model.fit(X)
    np.testing.assert_array_equal(X, kept)


# ---- names and messages -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spherical", "expected"),
    [
        (None, [0, 0, 0]),
        (False, [0, 0, 0]),
        (True, [1, 1, 1]),
        ("text", [0, 1, 0]),
        (["links", "text"], [0, 1, 1]),
        ([0, 2], [1, 0, 1]),
        (np.array([1]), [0, 1, 0]),
        ([True, False, True], [1, 0, 1]),
        ([], [0, 0, 0]),
    ],
    ids=str,
)
def test_spherical_spaces_by_name_index_and_mask(spherical, expected):
    found = resolve_spherical(spherical, ["numbers", "text", "links"])
    np.testing.assert_array_equal(found, np.asarray(expected, dtype=bool))


def test_names_of_columns_are_names_of_spaces(rng, df_module):
    frame = df_module.DataFrame({name: rng.random(30) for name in "abc"})
    model = convex(2, spherical=["b"], random_state=0).fit(frame)
    assert list(model.spaces_) == ["a", "b", "c"]
    assert set(np.abs(model.cluster_centers_[:, 1])) == {1.0}


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"spaces": [[0], [1]]}, ValueError, "spaces leave out columns 2, 3, 4"),
        ({"spaces": [0, 1]}, ValueError, "spaces has 2 labels for 5 columns"),
        ({"spherical": "c"}, ValueError, r"names the space 'c'; the spaces are \['a', 'b'\]"),
        ({"spherical": [2]}, ValueError, "names the space 2.*indices from 0"),
        ({"spherical": [-1]}, ValueError, "names the space -1"),
        ({"spherical": [True]}, ValueError, "mask of length 1 for 2 spaces"),
        ({"spherical": 1}, TypeError, "spherical=1: expected True, False, or the names"),
        (
            {"exponent": "two"},
            ValueError,
            "exponent='two': expected 'coverage', 'one' or 'dim",
        ),
        ({"grid": "fine"}, ValueError, "grid='fine': expected 'auto', an integer >= 1 or an array"),
        ({"grid": 0}, ValueError, "grid=0: expected 'auto', an integer >= 1"),
        ({"grid": None}, TypeError, "grid=None: expected 'auto'"),
        ({"grid": True}, TypeError, "grid=True: expected 'auto', an integer >= 1 or an array"),
        ({"grid": 2.5}, TypeError, r"grid=2\.5: expected 'auto', an integer >= 1 or an array"),
        ({"grid": [0.5, 0.5]}, ValueError, r"shape \(2,\); expected \(n_candidates, 2\)"),
        ({"grid": [[1, 1, 1]]}, ValueError, r"shape \(1, 3\); expected \(n_candidates, 2\)"),
        ({"grid": np.empty((0, 2))}, ValueError, r"shape \(0, 2\)"),
        ({"grid": [[1, -1]]}, ValueError, "grid has negative, infinite or missing entries"),
        ({"grid": [[1, np.nan]]}, ValueError, "grid has negative, infinite or missing entries"),
        ({"grid": [[1, 1], [0, 0]]}, ValueError, "grid gives no weight, in row 1, to any space"),
        ({"grid": [["x", "y"]]}, TypeError, "expected 'auto', an integer or an array"),
        (
            {"grid": 40, "spaces": None},
            ValueError,
            "grid=40 has 135751 points for 5 spaces; at most 100000 are tried. Use grid='auto'",
        ),
    ],
    ids=str,
)
def test_bad_parameters_are_named(rng, parameters, error, message):
    with pytest.raises(error, match=message):
        convex(3, **{"spaces": SPACES} | parameters).fit(make_rows(rng, 40, 5))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_columns_with_gaps_are_named_in_spherical_spaces(rng, source, bad):
    X = make_rows(rng, 40, 5)
    X[3, 4] = bad
    what = "infinity" if np.isinf(bad) else "NaN or other missing values"
    with pytest.raises(ValueError, match=rf"{what} in column 4 \(1 cell\)"):
        convex(3, spaces=SPACES, spherical=True).fit(source(X))
