"""partial_fit: each batch is one iteration, by the sums of all batches."""

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score

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
)
from fwkmeans.dissimilarities import Minkowski
from fwkmeans.estimators import ALGORITHMS, streaming
from fwkmeans.persistence import load_model, save_model
from fwkmeans.weighting import EntropyWeights
from laws.configurations import assert_same_fit, make_rows

STREAMS = [
    KMeans(),
    AWKMeans(smoothing=0.1),
    WKMeans(),
    WKMeans(weights="cluster"),
    EWKMeans(),
    EWKMeans(gamma=2.0),
    EWKMeans(dispersion="mean"),
    FWSAKMeans(),
    FGKMeans(groups=[0, 1, 0, 1]),
    IMWKMeans(init="k-means++"),
    FeatureWeightedKMeans(weighting=EntropyWeights()),
]


def of(model, n_clusters=3, **options):
    return clone(model).set_params(n_clusters=n_clusters, n_init=1, random_state=0, **options)


@pytest.mark.parametrize("model", STREAMS, ids=repr)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_one_batch_of_all_rows_is_one_iteration_of_fit(model, kind, rng, dtype):
    X = kind(make_rows(rng, 90, 4).astype(dtype))
    weight = rng.random(90) * (rng.random(90) > 0.1)
    fitted = of(model, max_iter=1).fit(X, sample_weight=weight)
    batch = of(model).partial_fit(X, sample_weight=weight)
    np.testing.assert_array_equal(batch.labels_, fitted.labels_)
    np.testing.assert_array_equal(batch.cluster_centers_, fitted.cluster_centers_)
    np.testing.assert_array_equal(batch.feature_weights_, fitted.feature_weights_)
    np.testing.assert_array_equal(batch.objective_history_, fitted.objective_history_)
    assert batch.inertia_ == fitted.inertia_
    assert batch.n_steps_ == batch.n_iter_ == 1


@pytest.mark.parametrize("model", STREAMS, ids=repr)
def test_the_same_batch_again_without_a_past_is_the_next_iteration(model, rng):
    """With decay=0 only the last batch counts: all rows again and again are the loop of fit."""
    X = make_rows(rng, 80, 4)
    fitted = of(model, max_iter=4, tol=0).fit(X)
    batch = of(model)
    for _ in range(fitted.n_iter_):
        batch.partial_fit(X, decay=0)
    np.testing.assert_array_equal(batch.labels_, fitted.labels_)
    assert_same_fit(batch, fitted, rtol=1e-10)
    np.testing.assert_allclose(batch.objective_history_, fitted.objective_history_, rtol=1e-10)


@pytest.mark.parametrize("model", STREAMS, ids=repr)
@pytest.mark.parametrize("decay", [1.0, 0.7])
def test_sums_are_those_of_all_rows_with_decayed_weights(model, decay, rng):
    """After two batches, an independent count of all rows with their labels gives the same."""
    X, late = make_rows(rng, 60, 4), make_rows(rng, 50, 4)
    weights = rng.random(60), rng.random(50)
    stream = of(model).partial_fit(X, sample_weight=weights[0])
    first = batch_labels(stream, X, before=of(model), weight=weights[0])
    centers, effective = stream.cluster_centers_.copy(), stream._assignment()
    second = argmin(late, effective)
    stream.partial_fit(late, sample_weight=weights[1], decay=decay)
    rows, labels = np.concatenate([X, late]), np.concatenate([first, second])
    mass = np.concatenate([decay * weights[0], weights[1]])
    for k in range(3):
        own = labels == k
        mean = np.average(rows[own], axis=0, weights=mass[own])
        np.testing.assert_allclose(stream.cluster_centers_[k], mean, rtol=1e-10, atol=1e-12)
        kept = stream._stream.clusters
        assert kept.mass[0, k] == pytest.approx(mass[own].sum(), rel=1e-12)
        assert kept.rows[0, k] == own.sum()
        squares = (mass[own, None] * (rows[own] - mean) ** 2).sum(axis=0)
        np.testing.assert_allclose(kept.squares[0, k], squares, rtol=1e-9)
    table = stream._stream.table
    mean = np.average(rows, axis=0, weights=mass)
    np.testing.assert_allclose(table.mean, mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(table.scatter, (mass[:, None] * (rows - mean) ** 2).sum(axis=0))
    np.testing.assert_array_equal(table.minimum, rows.min(axis=0))
    assert not np.array_equal(centers, stream.cluster_centers_)


def argmin(X, assignment):
    apart = (X[:, None] - assignment.centers[0]) ** 2
    return ((assignment.weights[0] * apart).sum(axis=-1) + assignment.offsets[0]).argmin(axis=1)


def batch_labels(stream, X, before, weight):
    """Return the labels by which the first batch was summed: those of the initial centers."""
    seen = []

    class Spy(type(before)):
        def _initial_centers(self, problem, seeds, starts):
            seen.append(super()._initial_centers(problem, seeds, starts))
            return seen[-1]

        def _initial_weights(self, problem, seeds, starts):
            from fwkmeans._engine import assignment_of

            weights = super()._initial_weights(problem, seeds, starts)
            seen.append(assignment_of(problem.recipe.weighting, seen[-1], weights))
            return weights

    Spy(**before.get_params(deep=False)).partial_fit(X, sample_weight=weight)
    return argmin(X, seen[-1])


def test_means_are_those_of_scikit_learns_mini_batches(rng):
    X = make_rows(rng, 300, 4)
    init = X[[0, 50, 100]]
    ours = KMeans(3, init=init)
    theirs = MiniBatchKMeans(3, init=init, n_init=1, reassignment_ratio=0.0)
    for begin in range(0, 300, 50):
        ours.partial_fit(X[begin : begin + 50])
        theirs.partial_fit(X[begin : begin + 50])
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-10)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert ours.inertia_ == pytest.approx(theirs.inertia_)
    assert ours.n_steps_ == theirs.n_steps_ == 6


@pytest.mark.parametrize("model", STREAMS, ids=repr)
def test_batch_size_cuts_the_rows_in_their_order(model, rng):
    X, weight = make_rows(rng, 100, 4), rng.random(100)
    weight[30:60] = 0.0  # a batch without weight is left out
    whole = of(model).partial_fit(X, sample_weight=weight, batch_size=30)
    parts = of(model)
    for piece in (slice(0, 30), slice(60, 90), slice(90, 100)):
        parts.partial_fit(X[piece], sample_weight=weight[piece])
    np.testing.assert_array_equal(whole.cluster_centers_, parts.cluster_centers_)
    np.testing.assert_array_equal(whole.feature_weights_, parts.feature_weights_)
    assert whole.n_steps_ == 3
    assert whole.labels_.shape == (10,)


def test_sparse_batches_give_what_dense_ones_do(rng):
    X = make_rows(rng, 200, 6) * (rng.random((200, 6)) < 0.5)
    dense = of(EWKMeans()).partial_fit(X, batch_size=40, decay=0.9)
    sparse = of(EWKMeans()).partial_fit(sp.csr_array(X), batch_size=40, decay=0.9)
    np.testing.assert_array_equal(dense.labels_, sparse.labels_)
    assert_same_fit(sparse, dense)


def drifting(rng, n_batches=40, size=60):
    """Yield batches of three clusters that walk away, and their classes."""
    for step in range(n_batches):
        classes = rng.integers(0, 3, size)
        X = rng.normal(size=(size, 4))
        X[:, 0] += 8.0 * classes
        X[:, 1] += 0.5 * step * (classes - 1)
        X[:, :2] += 1.0 * step
        yield X, classes


@pytest.mark.parametrize("model", [KMeans(), EWKMeans(), WKMeans()], ids=repr)
def test_drift_is_followed_if_old_rows_decay(model, rng):
    following, lagging = of(model), of(model)
    batches = list(drifting(rng))
    for X, _ in batches:
        following.partial_fit(X, decay=0.3)
        lagging.partial_fit(X)
    X, classes = batches[-1]
    truth = np.stack([X[classes == k].mean(axis=0) for k in range(3)])

    def error(stream):
        apart = np.linalg.norm(truth[:, None] - stream.cluster_centers_, axis=-1)
        return apart.min(axis=1).max()

    assert error(following) < 3.0 < 10.0 < error(lagging)
    assert adjusted_rand_score(classes, following.predict(X)) > 0.9


def test_a_cluster_that_nobody_joins_any_more_moves_to_where_rows_are(rng):
    early = np.concatenate([rng.normal(0, 0.1, (50, 2)), rng.normal(10, 0.1, (50, 2))])
    late = np.concatenate([rng.normal(0, 0.1, (50, 2)), rng.normal(-10, 0.1, (50, 2))])
    forgetful, faithful = (KMeans(2, init=[[0, 0], [10, 10]]).partial_fit(early) for _ in "ab")
    for _ in range(12):
        forgetful.partial_fit(late, decay=0.5)
        faithful.partial_fit(late)
    assert set(forgetful.labels_[:50]) != set(forgetful.labels_[50:])
    assert forgetful.inertia_ < 5.0
    assert set(faithful.labels_) == {0}  # documented: with decay=1 nothing is forgotten


def test_far_batches_do_not_cancel(rng):
    """Sums are moved to the mean of all batches, so a large offset costs no digits."""
    X = make_rows(rng, 200, 4)
    near, far = of(EWKMeans(gamma=5.0)), of(EWKMeans(gamma=5.0))
    near.partial_fit(X, batch_size=20)
    far.partial_fit(X + 1e6, batch_size=20)
    np.testing.assert_array_equal(near.labels_, far.labels_)
    np.testing.assert_allclose(far.cluster_centers_ - 1e6, near.cluster_centers_, atol=1e-7)
    np.testing.assert_allclose(far.feature_weights_, near.feature_weights_, atol=1e-6)


def test_after_fit_the_stream_begins_at_its_centers(rng):
    X, more = make_rows(rng, 100, 4), make_rows(rng, 80, 4)
    model = of(EWKMeans()).fit(X)
    expected = of(EWKMeans(), init=model.cluster_centers_, max_iter=1)
    expected.set_params(weight_init=model.feature_weights_)
    assert not hasattr(model, "n_steps_")
    model.partial_fit(more)
    assert model.n_steps_ == 1
    np.testing.assert_allclose(model.cluster_centers_, expected.fit(more).cluster_centers_)
    model.fit(X)
    assert not hasattr(model, "n_steps_")
    assert not hasattr(model, "_stream")


def test_a_pickled_stream_goes_on(rng):
    X = make_rows(rng, 120, 4)
    model = of(FGKMeans(groups=[0, 1, 0, 1])).partial_fit(X[:60])
    copy = pickle.loads(pickle.dumps(model))
    for one in (model, copy):
        one.partial_fit(X[60:])
    np.testing.assert_array_equal(model.cluster_centers_, copy.cluster_centers_)


@pytest.mark.parametrize("name", ["K-Means", "EW-KM", "FG-K-Means"])
def test_a_model_file_has_centers_and_weights_of_a_stream_but_not_its_sums(
    name, rng, tmp_path, monkeypatch
):
    monkeypatch.setattr(streaming, "HISTORY", 2)
    X = make_rows(rng, 120, 4)
    model = ALGORITHMS[name](3, random_state=0).partial_fit(X, batch_size=40)
    save_model(model, tmp_path / "stream.fwk")
    assert hasattr(model, "_stream")  # the model itself goes on with its sums
    again = load_model(tmp_path / "stream.fwk")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.feature_weights_, model.feature_weights_)
    assert again.partial_fit(X[:40]).n_steps_ == 1  # as after fit
    only = model.partial_fit(X[:40], decay=0)  # as if there were no earlier batches
    np.testing.assert_allclose(again.cluster_centers_, only.cluster_centers_)


@pytest.mark.parametrize("name", ["AWK", "WK-Means", "FG-K-Means"])
def test_categories_are_streamed(name, rng):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(make_rows(rng, 90, 2), columns=list("ab"))
    table["c"] = rng.choice(list("xyz"), 90, p=[0.6, 0.3, 0.1])
    options = {"n_init": 1, "random_state": 0}
    whole = ALGORITHMS[name](3, **options).partial_fit(table)
    fitted = ALGORITHMS[name](3, max_iter=1, **options).fit(table)
    np.testing.assert_array_equal(whole.labels_, fitted.labels_)
    assert whole.modes_ == fitted.modes_
    stream = ALGORITHMS[name](3, **options).partial_fit(table, batch_size=30)
    counts = stream._stream.clusters.counts[0]
    assert counts.sum() == pytest.approx(90)  # each row has one category
    total = sum(stream.category_frequencies_["c"].values())
    np.testing.assert_allclose(total, np.ones(3))


@pytest.mark.parametrize("name", ["WK-Means", "FG-K-Means"])
def test_unseen_categories_are_refused_or_counted_as_asked(name, rng):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(make_rows(rng, 60, 2), columns=list("ab"))
    table["c"] = rng.choice(["x", "y"], 60)
    later = table.assign(c=["new"] * 50 + ["x"] * 10)
    options = {"n_init": 1, "random_state": 0}
    strict = ALGORITHMS[name](2, handle_unknown="error", **options).partial_fit(table)
    before = strict.cluster_centers_.copy()
    with pytest.raises(ValueError, match=r"new.*'c'|'c'.*new"):
        strict.partial_fit(later)
    np.testing.assert_array_equal(strict.cluster_centers_, before)
    assert strict.n_steps_ == 1
    counting = ALGORITHMS[name](2, **options).partial_fit(table)
    for _ in range(4):
        counting.partial_fit(later)
    counts = counting._stream.clusters.counts[0]
    assert counts[:, -1].sum() == 200  # the level of categories that are not known
    assert (counts[:, -1] > counts[:, :-1].max(axis=1)).any()
    np.testing.assert_array_equal(counting._frequencies[:, -1], [0, 0])  # never part of a center
    assert set(counting.modes_["c"]) <= {"x", "y"}
    shares = sum(counting.category_frequencies_["c"].values())
    assert (shares < 1).any()  # the rest of the rows has other categories


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (SYNCLUS(), "SYNCLUS has no partial_fit: its weights follow from the products"),
        (IKPrototypes(), "IKPrototypes has no partial_fit: sums of absolute"),
        (ConvexKMeans(), "ConvexKMeans has no partial_fit: its weights are chosen"),
        (AutoKMeans(), "AutoKMeans has no partial_fit: it fits a mixture"),
        (IMWKMeans(p=3), r"IMWKMeans has no partial_fit: for p=3 .*\(p=2 has it\)"),
        (
            FeatureWeightedKMeans(dissimilarity=Minkowski(p=1.0)),
            "FeatureWeightedKMeans has no partial_fit: its parts read the rows several times",
        ),
    ],
    ids=repr,
)
def test_algorithms_that_need_all_rows_say_so(model, reason):
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as error:
        model.partial_fit(np.eye(3))
    error.match("has no attribute 'partial_fit'")
    assert error.value.__cause__ is not None
    assert re.search(reason, str(error.value.__cause__))


def test_another_number_of_clusters_is_refused(rng):
    X = make_rows(rng, 40, 4)
    model = of(KMeans()).partial_fit(X)
    for number in (2, 4):
        with pytest.raises(ValueError, match=rf"n_clusters={number}, but the model has 3 clusters"):
            model.set_params(n_clusters=number).partial_fit(X)
    model.set_params(n_clusters=3).partial_fit(X)
    model.set_params(n_clusters=4).fit(X).partial_fit(X)
    assert len(model.cluster_centers_) == 4


def test_bad_arguments_are_refused(rng):
    X = make_rows(rng, 40, 4)
    model = of(KMeans())
    for decay in (-0.1, 1.5, "half", True, np.nan):
        with pytest.raises(ValueError, match="expected a number from 0"):
            model.partial_fit(X, decay=decay)
    for size in (0, 2.5, "all"):
        with pytest.raises(ValueError, match="expected a number of rows >= 1, or None"):
            model.partial_fit(X, batch_size=size)
    for size in (None, 2):
        rows = X[:2] if size is None else X
        with pytest.raises(ValueError, match=r"The first batch has 2 rows .* n_clusters=3"):
            model.partial_fit(rows, batch_size=size)
    with pytest.raises(ValueError, match="one weight per row"):
        model.partial_fit(X, sample_weight=np.ones(3), batch_size=5)
    with pytest.raises(ValueError, match="which batch_size cannot cut"):
        model.partial_fit("rows.npy", batch_size=5)
    model.partial_fit(X)
    with pytest.raises(ValueError, match="X has 3 features, but KMeans is expecting 4"):
        model.partial_fit(X[:, :3])
    gaps = of(KMeans(), missing="ignore").partial_fit(X)
    X[0, 0] = np.nan
    for one in (gaps, model):  # whatever `missing` is: no advice to change it
        with pytest.raises(
            ValueError, match=r"values in column 0 \(1 cell\)\. KMeans\.partial_fit cannot leave"
        ):
            one.partial_fit(X)
    assert gaps.n_steps_ == 1
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        of(KMeans()).partial_fit(X[1:], sample_weight=np.zeros(len(X) - 1), batch_size=5)


def test_frames_keep_their_names(rng):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(make_rows(rng, 60, 3), columns=list("abc"))
    model = of(WKMeans()).partial_fit(frame, batch_size=20)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame[["b", "a", "c"]])
