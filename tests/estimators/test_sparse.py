"""Sparse rows: the same fit as with all their zeros, without ever storing those."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils import get_tags

from fwkmeans import (
    SYNCLUS,
    AutoKMeans,
    AWKMeans,
    ConvexKMeans,
    EWKMeans,
    FeatureWeightedKMeans,
    FGKMeans,
    FWSAKMeans,
    IKPrototypes,
    IMWKMeans,
    KMeans,
    WKMeans,
    group_features,
)
from fwkmeans.centers import MinkowskiCenter
from fwkmeans.dissimilarities import Minkowski
from fwkmeans.sources import SparseSource
from fwkmeans.weighting import EntropyWeights, StressWeights
from laws.configurations import assert_same_fit

MODELS = [
    KMeans(),
    AWKMeans(smoothing=0.1),  # without it, columns that are zero in a cluster take all the weight
    WKMeans(),
    WKMeans(weights="cluster"),
    EWKMeans(),
    EWKMeans(dispersion="mean"),
    FWSAKMeans(),
    FGKMeans(groups=np.arange(24) % 3),
    ConvexKMeans(spaces=np.arange(24) % 2, grid=3),
    ConvexKMeans(spaces=np.arange(24) % 2, grid=3, spherical=True),
    ConvexKMeans(spaces=np.zeros(24, int), spherical=True),
    IMWKMeans(),
    FeatureWeightedKMeans(weighting=EntropyWeights()),
]


@pytest.fixture
def table(rng):
    """Return texts of three topics, an empty one, and a word that none has."""
    topics = rng.random((3, 24)) ** 4
    X = np.floor(3 * topics[np.arange(150) % 3] * rng.random((150, 24)) + 0.2)
    X *= rng.random(X.shape)
    X[7], X[:, 11] = 0.0, 0.0
    return X


@pytest.mark.thinned
@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_dense_rows_give_the_same_fit(model, init, table, rng, dtype):
    X = table.astype(dtype)
    weight = rng.random(150) * (rng.random(150) > 0.1)
    sparse = sp.csr_array(X)
    model.set_params(n_clusters=4, init=init, n_init=1, random_state=1, max_iter=8)
    expected = type(model)(**model.get_params(deep=False)).fit(X, sample_weight=weight)
    model.fit(sparse, sample_weight=weight)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert_same_fit(model, expected, rtol=1e-9 if dtype == np.float64 else 1e-5)
    assert model.cluster_centers_.dtype == dtype
    assert isinstance(model.cluster_centers_, np.ndarray)
    assert model.inertia_ == pytest.approx(expected.inertia_, rel=1e-6)
    for rows in (sparse, X, sp.csc_array(X), sp.coo_matrix(X)):
        np.testing.assert_array_equal(model.predict(rows), model.labels_)
        np.testing.assert_allclose(model.transform(rows), model.transform(X), rtol=1e-5, atol=1e-6)
        score = model.score(rows, sample_weight=weight)
        assert score == pytest.approx(-model.inertia_, rel=1e-6)
    np.testing.assert_array_equal(model.fit_predict(sparse, sample_weight=weight), model.labels_)
    assert model.transform(sparse).dtype == dtype


def messy(X):
    """Return the matrix with duplicate and unsorted entries, explicit zeros and int64 indices."""
    n, m = X.shape
    columns = np.argsort(np.random.default_rng(0).random(X.shape), axis=1)
    values = np.take_along_axis(X, columns, axis=1)
    both = np.concatenate([0.25 * values, 0.75 * values], axis=1)
    given = sp.csr_array((n, m))
    given.data, given.indices = both.ravel(), np.tile(columns, 2).ravel().astype(np.int64)
    given.indptr = 2 * m * np.arange(n + 1, dtype=np.int64)
    return given


def test_the_form_of_the_matrix_does_not_matter(table):
    X = np.round(table * 8) / 8  # quarters of it add up exactly
    expected = KMeans(3, random_state=0, n_init=2).fit(sp.csr_array(X))
    given = messy(X)
    assert not given.has_canonical_format
    kept = given.data.copy(), given.indices.copy()
    explicit = sp.csr_array((X.ravel(), np.tile(np.arange(24), 150), 24 * np.arange(151)), X.shape)
    forms = [given, explicit, sp.csr_matrix(X), sp.lil_matrix(X), sp.dok_array(X), sp.bsr_array(X)]
    for form in forms:
        model = KMeans(3, random_state=0, n_init=2).fit(form)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_allclose(model.cluster_centers_, expected.cluster_centers_, atol=1e-15)
    np.testing.assert_array_equal(given.data, kept[0])
    np.testing.assert_array_equal(given.indices, kept[1])


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.bool_, np.uint16])
def test_counts_become_float64(kind, table):
    X = (table > 0.5).astype(kind)
    a, b = (KMeans(3, random_state=0, n_init=1).fit(rows) for rows in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert b.cluster_centers_.dtype == np.float64


def test_nothing_stored_at_all():
    X = sp.csr_array((30, 5))
    with pytest.warns(UserWarning, match="distinct clusters"):
        model = EWKMeans(2, random_state=0).fit(X)
    assert model.inertia_ <= 0.0 or model.inertia_ == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_array_equal(model.cluster_centers_, np.zeros((2, 5)))
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(
    ("what", "place", "value"),
    [
        ("indptr", 0, 1),
        ("indptr", 1, 1000),
        ("indptr", 1, -5),
        ("indptr", -1, -3),
        ("indptr", -1, 1000),
        ("indices", 0, -1),
        ("indices", 0, 1000),
    ],
)
def test_damaged_matrices_are_refused_before_scipy_follows_their_indices(form, what, place, value):
    X = sp.random_array((40, 6), density=0.4, format=form, rng=np.random.default_rng(0))
    damaged = getattr(X, what).copy()
    damaged[place] = value
    setattr(X, what, damaged)
    with pytest.raises(ValueError, match=f"damaged {form}_array"):
        KMeans(2).fit(X)


def test_frames_whose_columns_are_all_sparse_stay_so():
    pd = pytest.importorskip("pandas")
    color = pd.Series(["red", "blue", "red", "green"] * 10, name="color")
    frame = pd.get_dummies(color, sparse=True)
    model = KMeans(2, random_state=0).fit(frame)
    assert model.feature_names_in_.tolist() == ["blue", "green", "red"]
    assert_same_fit(KMeans(2, random_state=0).fit(frame.sparse.to_dense().astype(float)), model)
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["red", "blue", "green"]])
    with pytest.raises(TypeError, match=r"X is sparse \(DataFrame.*use X\.sparse\.to_dense\(\)"):
        IKPrototypes(2).fit(frame)


def test_read_only_rows_are_enough(table):
    X = sp.csr_array(table)
    for array in (X.data, X.indices, X.indptr):
        array.setflags(write=False)
    EWKMeans(3, random_state=0, n_init=1).fit(X).predict(X)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (SYNCLUS(), "SYNCLUS needs dense rows: it sums the products of all pairs"),
        (IKPrototypes(), "IKPrototypes needs dense rows: it sums absolute differences"),
        (IMWKMeans(p=1.5), r"IMWKMeans needs dense rows: for p=1.5 .* \(p=2 can\)"),
        (AutoKMeans(), "AutoKMeans needs dense rows: it fits densities"),
        (FGKMeans(groups="auto"), "groups='auto' compares all pairs"),
        (ConvexKMeans(spaces="auto"), "spaces='auto' compares all pairs"),
        (WKMeans(categorical_features=[0]), "categorical_features names columns"),
        (
            FeatureWeightedKMeans(dissimilarity=Minkowski(p=3.0), center=MinkowskiCenter(p=3.0)),
            r"FeatureWeightedKMeans needs dense rows: Minkowski\(p=3.0\) computes powers, slopes",
        ),
        (FeatureWeightedKMeans(weighting=StressWeights()), r"StressWeights\(\) computes cross_pro"),
    ],
    ids=repr,
)
def test_what_cannot_be_done_is_refused_by_name_before_any_pass(model, reason, table, monkeypatch):
    def never(*args, **kwargs):
        raise AssertionError("the rows were read")

    monkeypatch.setattr("fwkmeans._core.sparse.describe", never)
    monkeypatch.setattr("fwkmeans.sources.sparse.sparse_rows", never)
    assert not get_tags(model).input_tags.sparse
    with pytest.raises(TypeError, match=rf"X is sparse \(csr_array, shape \(150, 24\)\).*{reason}"):
        model.fit(sp.csr_array(table))
    assert not hasattr(model, "n_features_in_")


def test_categories_of_a_table_are_not_read_from_sparse_rows(table):
    frame = pytest.importorskip("pandas").DataFrame({"a": table[:, 0], "b": ["x", "y"] * 75})
    model = WKMeans(2, random_state=0).fit(frame)
    with pytest.raises(TypeError, match="was fitted to a table with categorical columns"):
        model.predict(sp.csr_array(table[:, :2]))
    with pytest.raises(TypeError, match="needs dense rows"):
        group_features(sp.csr_array(table))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_stored_cells_that_are_no_numbers_are_named(value, table):
    X = sp.csr_array(table)
    X.data[5] = value
    column = int(X.indices[5])
    with pytest.raises(ValueError, match=rf"Input X contains .* in column {column}\b"):
        EWKMeans(3).fit(X)
    model = EWKMeans(3, random_state=0).fit(table)
    with pytest.raises(ValueError, match="Input X contains"):
        model.predict(X)


@pytest.mark.parametrize("missing", ["ignore", "rescale"])
@pytest.mark.parametrize("model", [KMeans(), EWKMeans(), WKMeans(weights="cluster")], ids=repr)
def test_missing_cells_are_stored_and_left_out(model, missing, table, rng):
    X = table.copy()
    X[rng.random(X.shape) < 0.05] = np.nan
    X[np.isnan(X).all(axis=1)] = 0.0
    model.set_params(n_clusters=3, missing=missing, n_init=1, random_state=0, max_iter=10)
    dense = type(model)(**model.get_params()).fit(X)
    model.fit(sp.csr_array(X))
    np.testing.assert_array_equal(model.labels_, dense.labels_)
    assert_same_fit(model, dense)
    np.testing.assert_allclose(model.transform(sp.csr_array(X)), dense.transform(X), atol=1e-9)


def test_names_and_numbers_of_columns_are_checked(table):
    model = KMeans(2, random_state=0).fit(sp.csr_array(table))
    with pytest.raises(ValueError, match="X has 23 features, but KMeans is expecting 24"):
        model.predict(sp.csr_array(table[:, 1:]))
    with pytest.raises(ValueError, match="n_samples=3"):
        KMeans(4).fit(sp.csr_array(table[:3]))
    with pytest.raises(ValueError, match="0 sample"):
        KMeans(2).fit(sp.csr_array((0, 4)))
    with pytest.raises(ValueError, match="Complex data not supported"):
        KMeans(2).fit(sp.csr_array(table).astype(complex))


def test_a_sparse_source_keeps_its_sample_weight(table, rng):
    weight = rng.random(150)
    a = KMeans(3, random_state=0, n_init=1).fit(SparseSource(sp.csr_array(table), weight))
    b = KMeans(3, random_state=0, n_init=1).fit(table, sample_weight=weight)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    with pytest.raises(TypeError, match="rows is ndarray; expected a sparse matrix"):
        SparseSource(table)


def test_a_callable_gets_the_rows_as_they_are(table):
    seen = []

    def init(X, n_clusters, random_state):
        seen.append(X)
        return X[:n_clusters].toarray()

    KMeans(3, init=init, n_init=1).fit(sp.coo_array(table))
    assert seen[0].format == "csr"
    np.testing.assert_array_equal(seen[0].toarray(), table)


def test_empty_clusters_move_to_the_farthest_row(table):
    centers = np.full((3, 24), 100.0)
    centers[0] = 0.0
    a, b = (
        EWKMeans(3, init=centers, max_iter=5).fit(rows) for rows in (table, sp.csr_array(table))
    )
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert set(b.labels_) == {0, 1, 2}


def test_spherical_spaces_that_leave_too_much_missing_are_refused(monkeypatch, table):
    monkeypatch.setattr("fwkmeans.sources.directions._FEW", 0)
    monkeypatch.setattr("fwkmeans.sources.directions._MANY", 0)
    with pytest.raises(ValueError, match=r"rows of X are zero in a spherical space \(row \d"):
        ConvexKMeans(2, spaces=np.zeros(24, int), spherical=True).fit(sp.csr_array(table))


@pytest.mark.parametrize("n_clusters", [3, 40])
def test_wide_rows_are_never_dense(n_clusters, rng):
    """2000 x 20 000 cells take 320 MB; k-means++ looks at 50 rows for each cluster."""
    n, m = 2000, 20_000
    X = sp.csr_array(sp.random(n, m, density=20 / m, random_state=rng))
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KMeans(n_clusters, n_init=1, max_iter=2, random_state=0).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30 * 8 * n_clusters * m + 10 * X.data.nbytes + 10e6
    assert (np.linalg.norm(model.cluster_centers_, axis=1) > 0).sum() > n_clusters / 2


def test_wide_rows_start_where_dense_ones_do(monkeypatch, table):
    """Rows that would take too much memory when dense are drawn as sparse ones."""
    expected = KMeans(4, random_state=3, n_init=3, max_iter=1, tol=0).fit(table)
    monkeypatch.setattr("fwkmeans._init.entities.SEEDING_BYTES", 0)
    model = KMeans(4, random_state=3, n_init=3, max_iter=1, tol=0).fit(sp.csr_array(table))
    np.testing.assert_array_equal(model.labels_, expected.labels_)
