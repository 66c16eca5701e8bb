"""Starts that race: what decides samples, and that the same start wins everywhere."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from fwkmeans import AWKMeans, EWKMeans, FWSAKMeans, IMWKMeans, KMeans, WKMeans
from fwkmeans.estimators import courses, racing
from fwkmeans.estimators.plan import make_plan
from fwkmeans.preprocessing import RangeStandardizer
from fwkmeans.selection import LabelFreeSearch
from fwkmeans.sources import ChunkedSource, MemorySource, count_present, sample_of

SOME = (KMeans, EWKMeans, WKMeans, FWSAKMeans)


def clusters(n_rows, n_columns=5, n_clusters=6, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_clusters, n_rows)
    X = rng.normal(rng.uniform(-6, 6, (n_clusters, n_columns))[labels], 1.0)
    return RangeStandardizer().fit_transform(X)


@pytest.mark.parametrize("n_clusters", [1, 2, 8, 50])
@pytest.mark.parametrize("n_rows", [10, 899, 900, 4999, 21_000, 128_000, 3_000_000])
def test_samples_grow_and_are_small_parts_of_the_table(n_rows, n_clusters):
    sizes = courses.sizes_of_samples(n_rows, n_clusters)
    assert bool(sizes) == (n_rows >= 3 * max(300, 30 * n_clusters))
    for size in sizes[:1]:
        assert 30 * n_clusters <= size <= n_rows / 3
    for before, size in pairwise(sizes):
        assert size == 8 * before
        assert 16 * size <= n_rows


def test_a_number_of_starts_does_not_race(monkeypatch):
    X = clusters(2000)
    monkeypatch.setattr(racing, "_samples", None)  # a race would call it
    model = KMeans(6, n_init=3, random_state=0).fit(X)
    runs = [KMeans(6, n_init=n, random_state=0).fit(X).inertia_ for n in (1, 2)]
    assert model.inertia_ <= min(runs)
    KMeans(6, random_state=0).fit(X[:800])  # nor do few rows
    with pytest.raises(TypeError, match="not callable"):
        KMeans(6, random_state=0).fit(X)


@pytest.mark.parametrize("n_rows", [1500, 20_000, 140_000])
@pytest.mark.parametrize("make", SOME)
def test_threads_and_blocks_do_not_change_the_winner(make, n_rows):
    X = clusters(n_rows, 3)
    models = [make(6, random_state=1, n_jobs=jobs).fit(X) for jobs in (1, 2, 4)]
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].cluster_centers_, other.cluster_centers_)
        np.testing.assert_array_equal(models[0].feature_weights_, other.feature_weights_)
        np.testing.assert_array_equal(models[0].labels_, other.labels_)
    parts = ChunkedSource(lambda: iter(np.array_split(X, 7)))
    blocks = make(6, random_state=1).fit(parts)
    np.testing.assert_array_equal(blocks.labels_, models[0].labels_)
    np.testing.assert_allclose(blocks.cluster_centers_, models[0].cluster_centers_, atol=1e-9)


@pytest.mark.parametrize("n_rows", [1500, 12_000])
@pytest.mark.parametrize("make", [*SOME, IMWKMeans])
def test_the_winner_labels_rows_as_it_predicts_and_tells_its_history(make, n_rows):
    X = clusters(n_rows)
    model = make(6, random_state=2).fit(X)
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    assert len(model.objective_history_) == model.n_iter_
    assert model.converged_
    np.testing.assert_allclose(model.objective_history_[-1], model.inertia_, rtol=1e-4)
    with pytest.warns(UserWarning, match="did not converge"):
        few = make(6, random_state=2, max_iter=1, tol=0).fit(X)
    assert few.n_iter_ == 1


@pytest.mark.parametrize("n_rows", [1800, 11_000])
def test_rows_without_weight_take_no_part_in_a_race(n_rows):
    X, rng = clusters(n_rows), np.random.default_rng(5)
    places = np.sort(rng.choice(n_rows + 500, n_rows, replace=False))
    both, weight = np.full((n_rows + 500, X.shape[1]), 9.0), np.zeros(n_rows + 500)
    both[places], weight[places] = X, 2.0
    alone = EWKMeans(6, random_state=0).fit(X, sample_weight=np.full(n_rows, 2.0))
    model = EWKMeans(6, random_state=0).fit(both, sample_weight=weight)
    np.testing.assert_array_equal(model.labels_[places], alone.labels_)
    np.testing.assert_allclose(model.cluster_centers_, alone.cluster_centers_, atol=1e-9)


@pytest.mark.parametrize("make", SOME)
def test_a_race_ends_about_as_low_as_the_best_of_ten_starts(make):
    excess = []
    for seed in range(8):
        X = clusters(1000 + 900 * seed, 4, 3 + seed, seed)
        race, ten = (make(3 + seed, n_init=n, random_state=seed).fit(X) for n in ("auto", 10))
        excess.append(race.inertia_ / ten.inertia_ - 1.0)
    assert np.mean(excess) < 0.01
    assert np.median(excess) < 0.001


def test_a_cluster_of_few_far_rows_is_not_missed():
    X = clusters(30_000, 4, 3)
    X[:20] += 40.0
    model = KMeans(4, random_state=0).fit(X)
    assert (np.bincount(model.labels_[:20], minlength=4) == 20).any()
    assert np.count_nonzero(model.labels_ == model.labels_[0]) == 20


def test_sparse_rows_gaps_and_categories_race():
    X = clusters(6000)
    model = KMeans(6, random_state=0).fit(X)
    sparse = KMeans(6, random_state=0).fit(csr_array(X))
    np.testing.assert_allclose(sparse.inertia_, model.inertia_, rtol=1e-6)
    holes = X.copy()
    holes[::9, 2] = np.nan
    gaps = WKMeans(6, missing="ignore", random_state=0).fit(holes)
    np.testing.assert_array_equal(gaps.labels_, gaps.predict(holes))
    frame = pd.DataFrame(X[:, :3]).add_prefix("number")
    frame["kind"] = pd.Categorical(np.array(list("abc"))[np.arange(6000) % 3])
    mixed = AWKMeans(6, random_state=0).fit(frame)
    np.testing.assert_array_equal(mixed.labels_, mixed.predict(frame))


def test_a_sample_stands_for_all_rows():
    X, rng = clusters(4000), np.random.default_rng(0)
    source = MemorySource(X, rng.uniform(0.5, 2.0, 4000))
    numbers = np.sort(rng.choice(4000, 1000, replace=False))
    sample = sample_of(source, numbers, count_present(source), np.full(1000, 4.0))
    np.testing.assert_array_equal(sample.rows, X[numbers])
    np.testing.assert_array_equal(sample.sample_weight, 4.0 * source.sample_weight[numbers])


@pytest.mark.parametrize("n_rows", [2000, 150_000])
def test_samples_of_a_race_are_nested_and_their_masses_are_those_of_the_table(n_rows):
    X = clusters(n_rows, 3)
    plan = make_plan(KMeans(4, random_state=0), X)
    course = courses.course_of(KMeans(4), n_rows)
    sizes = course.sizes
    samples = racing._samples(plan, course._replace(far=True))
    rows = [{tuple(row) for row in sample.rows} for sample in samples]
    for size, sample, own in zip(sizes, samples, rows, strict=True):
        assert size <= len(own) <= size + sizes[0] // 4
        np.testing.assert_allclose(sample.sample_weight.sum(), n_rows, rtol=0.1)
        assert own <= rows[-1]


def test_a_search_scores_what_its_best_estimator_finds():
    X = clusters(2500)
    search = LabelFreeSearch(WKMeans(6, random_state=0), {"beta": [2.0, 4.0]}).fit(X)
    np.testing.assert_array_equal(search.best_estimator_.labels_, search.labels_)


def test_a_plan_says_how_starts_race():
    X = clusters(140_000, 2)
    assert "20 from 'k-means++'; they race on 1,000 and 8,000 rows" in KMeans(6).explain_plan(X)
    assert "race" not in KMeans(6, n_init=10).explain_plan(X)
    assert "race" not in KMeans(6, init=X[:6]).explain_plan(X)
    assert "race" not in KMeans(6).explain_plan(X[:800])
