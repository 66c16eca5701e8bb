"""Every index equals a loop over rows and pairs, on random and on degenerate tables."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import silhouette_score

from fwkmeans.selection import (
    SCORINGS,
    Silhouette,
    dunn_index,
    hartigan_index,
    known_labels_score,
    mean_agreement,
    mean_ranks,
    minkowski_silhouette,
    xie_beni_index,
)
from selection import slow


def cases(rng):
    """Return tables and labels: random, duplicates, a singleton, and a cluster without rows."""
    X = rng.normal(size=(24, 3))
    labels = rng.integers(3, size=24)
    labels[:3] = [0, 1, 2]
    singleton = np.where(np.arange(24) == 7, 2, labels % 2)
    grid = rng.integers(3, size=(24, 2)).astype(float)
    return {
        "random": (X, labels),
        "one dimension": (X[:, :1], labels),
        "a singleton": (X, singleton),
        "an empty cluster": (X, np.where(labels == 1, 5, labels)),
        "duplicates": (np.repeat(X[:8], 3, axis=0), labels),
        "few distinct values": (grid, labels),
        "far from zero": (X + 1e6, labels),
    }


CASES = list(cases(np.random.default_rng(0)))


@pytest.fixture(params=CASES)
def case(request, rng):
    return cases(rng)[request.param]


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 4.0, np.inf])
def test_the_silhouette_is_that_of_the_loop(case, p):
    X, labels = case
    found = minkowski_silhouette(X, labels, p=p)
    np.testing.assert_allclose(found, slow.silhouette(X, labels, p), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("index", [dunn_index, xie_beni_index])
def test_other_indices_are_those_of_the_loop(case, index):
    X, labels = case
    loop = {dunn_index: slow.dunn, xie_beni_index: slow.xie_beni}[index]
    np.testing.assert_allclose(index(X, labels), loop(X, labels), rtol=1e-8, atol=1e-12)


def test_hartigans_number_is_that_of_the_loop(case):
    X, finer = case
    for labels in (np.zeros_like(finer), np.minimum(finer, 1)):
        expected = slow.hartigan(X, labels, finer)
        np.testing.assert_allclose(hartigan_index(X, labels, finer), expected, rtol=1e-8)


@pytest.mark.parametrize("name", ["calinski_harabasz", "davies_bouldin"])
def test_the_indices_of_scikit_learn_are_what_we_think(case, name):
    X, labels = case
    X = X - X.mean(axis=0)  # their distances lose digits far from zero
    expected = getattr(slow, name)(X, labels)
    np.testing.assert_allclose(SCORINGS[name].function(X, labels), expected, rtol=1e-6)


def test_the_dunn_index_does_not_depend_on_how_many_pairs_are_looked_at(rng, monkeypatch):
    X, labels = rng.random((23, 2)), np.arange(23) % 3
    whole = dunn_index(X, labels)
    monkeypatch.setattr("fwkmeans.selection.indices._PAIRS", 50)
    assert dunn_index(X, labels) == whole


def test_perfect_clusters():
    X = np.repeat([[0.1, 0.3], [1.1, 0.7], [5.2, 0.9]], 3, axis=0)
    labels = np.repeat([0, 1, 2], 3)
    assert dunn_index(X, labels) == np.inf
    assert xie_beni_index(X, labels) == 0.0
    assert hartigan_index(X, np.minimum(labels, 1), labels) == np.inf
    assert hartigan_index(X, labels, [0, 0, 3, 1, 1, 1, 2, 2, 2]) == 0.0
    assert minkowski_silhouette(X, labels, p=1) == 1.0


def test_clusters_of_equal_rows_are_not_defined_or_the_worst():
    X = np.full((6, 2), 0.1)
    labels = np.array([0, 0, 0, 1, 1, 1])
    assert np.isnan(dunn_index(X, labels))
    assert np.isnan(xie_beni_index(X, labels))
    same_mean = np.array([[-1.0], [1.0], [-2.0], [2.0]])
    assert xie_beni_index(same_mean, [0, 0, 1, 1]) == np.inf


@pytest.mark.parametrize("index", [minkowski_silhouette, dunn_index, xie_beni_index])
def test_trivial_partitions_are_refused(index, rng):
    X = rng.random((5, 2))
    with pytest.raises(ValueError, match="one cluster"):
        index(X, np.zeros(5))
    with pytest.raises(ValueError, match="of its own"):
        index(X, np.arange(5))
    with pytest.raises(ValueError, match="inconsistent"):
        index(X, [0, 1])


def test_the_silhouette_of_many_rows_is_that_of_some_of_them(rng):
    X, labels = rng.random((300, 2)), rng.integers(2, size=300)
    found = minkowski_silhouette(X, labels, max_rows=50, random_state=3)
    expected = silhouette_score(X, labels, sample_size=50, random_state=3)
    assert found == pytest.approx(expected)
    assert Silhouette().max_rows == 2000


def test_the_exponent_is_checked():
    with pytest.raises(ValueError, match=r"p=0\.5"):
        minkowski_silhouette([[0.0], [1.0], [2.0]], [0, 0, 1], p=0.5)


def test_agreement_is_the_mean_over_the_others(rng):
    partitions = [rng.integers(3, size=20) for _ in range(4)] + [np.zeros(20, dtype=int)]
    found = mean_agreement(partitions)
    for at, own in enumerate(partitions):
        others = [slow.adjusted_rand(own, b) for j, b in enumerate(partitions) if j != at]
        assert found[at] == pytest.approx(np.mean(others))
    assert np.isnan(mean_agreement(partitions[:1])).all()


@pytest.mark.parametrize("kind", [int, str, object])
def test_only_known_rows_count(rng, kind):
    y, labels = rng.integers(3, size=30), rng.integers(3, size=30)
    known = np.arange(30) % 3 == 0
    given = np.where(known, y, -1).astype(kind)
    expected = slow.adjusted_rand(y[known], labels[known])
    assert known_labels_score(given, labels) == pytest.approx(expected)
    with pytest.raises(ValueError, match="known in 0 rows of y"):
        known_labels_score(np.full(30, -1), labels)


@pytest.mark.parametrize(
    "unknown", [None, np.nan, pd.NA, "-1", -1], ids=["None", "NaN", "NA", "text", "number"]
)
def test_the_class_may_be_missing_where_it_is_not_known(rng, unknown):
    y, labels = rng.integers(3, size=30), rng.integers(3, size=30)
    known = np.arange(30) % 3 == 0
    given = pd.Series(np.where(known, np.array(["a", "b", "c"], dtype=object)[y], unknown))
    expected = slow.adjusted_rand(y[known], labels[known])
    assert known_labels_score(given, labels) == pytest.approx(expected)
    if unknown is np.nan:
        numbers = np.where(known, y, np.nan)
        assert known_labels_score(numbers, labels) == pytest.approx(expected)


def test_a_cluster_that_the_draw_misses_is_not_said_to_be_missing(rng):
    X, labels = rng.normal(size=(300, 2)), np.zeros(300, dtype=int)
    drawn = np.random.RandomState(0).permutation(300)[:10]
    labels[np.setdiff1d(np.arange(300), drawn)[:3]] = 1
    with pytest.raises(ValueError, match=r"all 10 rows that were drawn are in one .* max_rows"):
        minkowski_silhouette(X, labels, max_rows=10)
    with pytest.raises(ValueError, match="all rows are in one cluster"):
        minkowski_silhouette(X, np.zeros(300), max_rows=10)


def test_ranks_are_counted_by_hand():
    scores = np.array([[3.0, 1.0, 2.0, np.nan, 2.0], [10.0, 30.0, 20.0, 99.0, 40.0]])
    # without the fourth: 1, 4, 2.5, 2.5 and 4, 2, 3, 1
    np.testing.assert_array_equal(mean_ranks(scores), [2.5, 3.0, 2.75, np.nan, 1.75])
    assert np.isnan(mean_ranks([[np.nan, 1.0], [1.0, np.nan]])).all()
