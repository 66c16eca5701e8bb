"""SYNCLUS as a whole: stress over all pairs, invariances, degenerate tables, messages."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from fwkmeans import SYNCLUS, KMeans
from fwkmeans.sources import ChunkedSource
from laws.configurations import assert_identical, make_rows, some_rows
from pairs import Pairs

GROUPS = np.array([0, 1, 0, 1, 1])
OMEGA = [3.0, 1.0]


def synclus(n_clusters=8, **parameters):
    """Return the published algorithm."""
    return SYNCLUS.as_in_survey(n_clusters, **parameters)


def assert_stress_is_that_of_all_pairs(model, X, groups, omega, s=None, centred=False):
    pairs = Pairs(np.asarray(X, float), model.labels_, groups, omega, s)
    w = model.feature_weights_[0]
    stress = pairs.stress(w, model.alpha_, model.beta_, centred)
    assert model.stress_ == model.inertia_ == pytest.approx(stress, rel=1e-9)
    alpha, beta = pairs.line(w)
    assert model.alpha_ == pytest.approx(alpha / (1 - model.stress_), rel=1e-7)
    if not centred:
        assert model.beta_ == pytest.approx(beta / (1 - model.stress_), rel=1e-7)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_attributes(rng, source, weighted, centred):
    X = make_rows(rng, 40, 5)
    s = rng.integers(0, 4, 40).astype(float) if weighted else None
    centers = some_rows(rng, X, 3)
    for max_iter in (1, 300):
        model = synclus(
            3,
            groups=GROUPS,
            group_weights=OMEGA,
            centred=centred,
            init=centers,
            max_iter=max_iter,
            tol=0,
        ).fit(source(X), sample_weight=s)
        assert_stress_is_that_of_all_pairs(model, X, GROUPS, OMEGA, s, centred)
        assert model.alpha_ <= 0
        assert 0 <= model.stress_ < 1
    np.testing.assert_allclose(model.group_weights_, [0.75, 0.25])
    assert list(model.groups_) == [0, 1]
    np.testing.assert_array_equal(model.groups_[1], [1, 3, 4])
    np.testing.assert_allclose(model.feature_weights_[0].sum(), 1.0)
    assert np.all(model.feature_weights_ == model.feature_weights_[0])
    assert model.stress_ == pytest.approx(model.objective_history_[-1], rel=1e-9)


def test_score_is_the_stress_of_other_rows(rng, source):
    X, other = make_rows(rng, 60, 5), make_rows(rng, 40, 5) * 1.5 + 0.3
    s = rng.random(40)
    model = synclus(3, groups=GROUPS, group_weights=OMEGA, random_state=0).fit(X)
    labels = model.predict(other)
    assert len(np.unique(labels)) > 1
    pairs = Pairs(other, labels, GROUPS, OMEGA, s)
    w = model.feature_weights_[0]
    alpha, beta = pairs.line(w)
    kappa = 1 + pairs.stress(w, alpha, beta)
    score = model.score(source(other), sample_weight=s)
    assert -score == pytest.approx(1 - 1 / kappa, rel=1e-9)


def test_group_weights_by_name(rng):
    X = make_rows(rng, 60, 5)
    groups = {"a": [0, 2], "b": [1, 3, 4]}
    common = {"groups": groups, "random_state": 0, "n_init": 2}
    by_name = synclus(3, group_weights={"b": 1, "a": 3}, **common).fit(X)
    by_order = synclus(3, group_weights=[3, 1], **common).fit(X)
    assert_identical(by_name, by_order)
    assert list(by_name.groups_) == ["a", "b"]


def test_stress_never_rises(rng, source):
    for centred in (False, True):
        for n_clusters in (2, 4, 9):
            X = make_rows(rng, 60, 5)
            model = synclus(n_clusters, groups=GROUPS, centred=centred, init="random", n_init=1)
            history = model.set_params(random_state=0, tol=0).fit(source(X)).objective_history_
            assert np.all(np.diff(history) <= 1e-12)


@pytest.mark.parametrize("centred", [False, True])
def test_units_do_not_matter_with_inverse_variances(rng, source, centred):
    for groups in (None, GROUPS):
        X = make_rows(rng, 70, 5)
        units = 10.0 ** rng.uniform(-3, 3, 5)
        centers = some_rows(rng, X, 3)
        common = {"groups": groups, "weight_init": "inverse-variance", "centred": centred}
        a = synclus(3, init=centers, tol=0, **common).fit(source(X))
        b = synclus(3, init=centers * units, tol=0, **common).fit(source(X * units))
        np.testing.assert_array_equal(a.labels_, b.labels_)
        expected = a.feature_weights_ / units**2
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(b.feature_weights_, expected, rtol=1e-7, atol=1e-12)
        assert a.stress_ == pytest.approx(b.stress_, rel=1e-9)


def test_inverse_variances_are_where_it_begins(rng):
    X = make_rows(rng, 70, 5) * [1, 10, 1, 0.1, 1]
    centers = some_rows(rng, X, 3)
    a = synclus(3, init=centers, weight_init="inverse-variance").fit(X)
    b = synclus(3, init=centers, weight_init=1 / X.var(axis=0)).fit(X)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.feature_weights_, b.feature_weights_, rtol=1e-9)


def test_copies_of_a_column_share_its_weight(rng):
    X = make_rows(rng, 60, 4)
    centers = some_rows(rng, X, 3)
    columns = [0, 1, 1, 2, 3]
    model = synclus(3, init=centers[:, columns], tol=0).fit(X[:, columns])
    assert model.converged_
    w = model.feature_weights_[0]
    assert w[1] == pytest.approx(w[2], rel=1e-6)
    initial = np.array([1, 2, 1, 1])
    alone = synclus(3, init=centers, weight_init=initial, tol=0).fit(X)
    np.testing.assert_array_equal(model.labels_, alone.labels_)
    merged = np.array([w[0], w[1] + w[2], w[3], w[4]])
    np.testing.assert_allclose(merged, alone.feature_weights_[0], atol=1e-6)
    assert model.stress_ == pytest.approx(alone.stress_, abs=1e-10)


def test_degenerate_columns(rng, source):
    X = make_rows(rng, 60, 4)
    collinear = np.column_stack([X, X[:, 0] + X[:, 1], 2 - X[:, 2], np.full(60, 4.0)])
    for centred in (False, True):
        model = synclus(3, centred=centred, random_state=0, n_init=3).fit(source(collinear))
        assert np.all(np.diff(model.objective_history_) <= 1e-9)
        assert np.all(model.feature_weights_[:, -1] == 0)
        np.testing.assert_allclose(model.feature_weights_.sum(axis=1), 1.0)


def test_more_features_than_pairs(rng):
    X = rng.standard_normal((5, 30))
    model = synclus(2, init=X[:2]).fit(X)
    assert np.all(np.diff(model.objective_history_) <= 1e-9)
    assert np.all(np.isfinite(model.feature_weights_))


def test_groups_of_constants(rng, source):
    X = make_rows(rng, 60, 5)
    X[:, [1, 3, 4]] = [2.0, 0.0, -1.0]
    model = synclus(3, groups=GROUPS, init=X[:3]).fit(source(X))
    assert np.all(model.feature_weights_[:, [1, 3, 4]] == 0)
    alone = synclus(3, init=X[:3, [0, 2]]).fit(source(X[:, [0, 2]]))
    np.testing.assert_array_equal(model.labels_, alone.labels_)
    np.testing.assert_allclose(
        model.feature_weights_[:, [0, 2]], alone.feature_weights_, atol=1e-12
    )
    # half of the groups cannot be explained
    assert model.stress_ == pytest.approx(1 - (1 - alone.stress_) / 2, rel=1e-9)


def test_a_constant_table(source):
    model = synclus(1, groups=[0, 1]).fit(source(np.ones((6, 2))))
    assert model.stress_ == 0
    np.testing.assert_array_equal(model.feature_weights_, 0.5)


def test_one_cluster(rng, source):
    X = make_rows(rng, 40, 5)
    for centred in (False, True):
        model = synclus(1, groups=GROUPS, centred=centred, init=X[:1]).fit(source(X))
        assert model.alpha_ == 0
        assert np.all(model.labels_ == 0)
        np.testing.assert_array_equal(model.feature_weights_, 0.2)
    assert model.stress_ == 1


def test_groups_of_weight_zero_have_no_say(rng, source):
    X = make_rows(rng, 60, 5)
    centers = some_rows(rng, X, 3)
    model = synclus(3, groups=GROUPS, group_weights=[1, 0], init=centers).fit(source(X))
    used = GROUPS == 0
    alone = synclus(3, init=centers[:, used]).fit(source(X[:, used]))
    np.testing.assert_array_equal(model.labels_, alone.labels_)
    shares = model.feature_weights_[:, used]
    shares = shares / shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, alone.feature_weights_, atol=1e-9)
    assert model.feature_weights_[:, ~used].sum() > 0


def test_extreme_units(rng):
    X = make_rows(rng, 60, 4)
    centers = some_rows(rng, X, 3)
    units = np.array([1e60, 1e-60, 1.0, 1e30])
    common = {"weight_init": "inverse-variance"}
    a = synclus(3, init=centers, **common).fit(X)
    b = synclus(3, init=centers * units, **common).fit(X * units)
    np.testing.assert_array_equal(a.labels_, b.labels_)


def test_it_finds_groups_that_agree_and_centring_tells_noise(rng):
    labels = rng.integers(0, 3, 300)
    at = np.array([[0.0, 0, 0, 0], [6, 6, 0, 0], [0, 0, 6, 6]])
    clusters = at[labels] + rng.standard_normal((300, 4))
    X = np.column_stack([clusters, 3 * rng.standard_normal((300, 4))])
    noise = {}
    for centred in (False, True):
        model = synclus(3, centred=centred, random_state=0).fit(X)
        noise[centred] = model.feature_weights_[0, 4:].sum()
    assert adjusted_rand_score(labels, model.labels_) > 0.95
    assert noise[True] < 0.1 < noise[False]


def test_large_tables_take_few_passes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100_000, 20))
    X[:, :5] += 3 * rng.integers(0, 3, (100_000, 1))
    model = synclus(3, groups=np.arange(20) // 5, n_init=2, random_state=0).fit(X)
    assert model.converged_
    assert model.n_iter_ < 50


def test_threads_and_blocks(rng):
    X = make_rows(rng, 4000, 5)
    common = {"groups": GROUPS, "n_init": 3, "random_state": 0, "max_iter": 20}
    one, many = (synclus(4, n_jobs=n, **common).fit(X) for n in (1, 5))
    assert_identical(one, many)
    assert (one.alpha_, one.beta_) == (many.alpha_, many.beta_)
    blocks = synclus(4, **common).fit(ChunkedSource(X, block_bytes=5000))
    np.testing.assert_array_equal(one.labels_, blocks.labels_)
    np.testing.assert_allclose(one.feature_weights_, blocks.feature_weights_, rtol=1e-9)
    assert one.stress_ == pytest.approx(blocks.stress_, rel=1e-9)


def test_starts_with_equal_weights_assign_as_kmeans(rng):
    X = make_rows(rng, 80, 4)
    centers = some_rows(rng, X, 3)
    a = synclus(3, init=centers, max_iter=1).fit(X)
    b = KMeans(3, init=centers, max_iter=1).fit(X)
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_, atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"groups": [[0], [1, 2]]}, ValueError, "groups leave out columns 3, 4"),
        ({"group_weights": [1, 2, 3]}, ValueError, r"shape \(3,\); expected \(2,\).*\[0, 1\]"),
        ({"group_weights": 1.0}, ValueError, r"weights=1\.0: expected .* one weight for each"),
        ({"group_weights": {0: 1, 2: 1}}, ValueError, r"the groups \[0, 2\], but they are \[0, 1"),
        ({"group_weights": [1, -1]}, ValueError, r"group_weights=\[1\.0, -1\.0\]: expected finite"),
        ({"group_weights": [0, 0]}, ValueError, "not all of them 0"),
        ({"group_weights": ["x", "y"]}, ValueError, "expected one number for each of the 2 groups"),
        ({"weight_init": "variance"}, ValueError, "weight_init='variance'.*'inverse-variance'"),
        (
            {"weight_init": [1, 0, 1, 0, 0], "group_weights": [0, 1]},
            ValueError,
            "only to features of groups whose group weight is 0",
        ),
        ({"weight_init": [1.0, 2.0]}, ValueError, r"weight_init has shape \(2,\)"),
        ({"centred": "yes"}, TypeError, "centred='yes': expected True or False"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(rng, parameters, error, message):
    with pytest.raises(error, match=message):
        synclus(3, **{"groups": GROUPS} | parameters).fit(make_rows(rng, 40, 5))


@pytest.mark.parametrize("missing", ["ignore", "rescale"])
def test_gaps_are_refused_with_a_reason(missing):
    X = np.random.default_rng(0).random((20, 3))
    message = "SYNCLUS got missing=.*: expected 'error'.*all pairs of rows.*Fill the gaps"
    with pytest.raises(ValueError, match=message):
        synclus(2, missing=missing).fit(X)
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*column 0.*needs every cell: fill or drop"):
        synclus(2, missing="error").fit(X)


@pytest.mark.parametrize("centred", [True, False])
def test_squares_that_overflow_are_refused(centred, rng):
    X = rng.standard_normal((12, 3)) * 5e154
    with pytest.raises(ValueError, match="squares of X overflow"):
        SYNCLUS(2, centred=centred, random_state=0).fit(X, sample_weight=np.full(12, 1e-5))
