"""Gaps between clusters: against slow densities, and on clouds and curves cut into pieces."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from fwkmeans import KMeans
from fwkmeans._mixture import gaps
from fwkmeans._mixture.gaps import along_the_line, pieces, valley
from textbook_tables import made, names


def n_shapes(rows, labels):
    n_clusters = labels.max() + 1
    shapes = pieces(rows, labels, np.ones((n_clusters, n_clusters), dtype=bool))
    assert shapes.shape == (n_clusters,)
    return np.unique(shapes).size


def cut(rows, n_clusters):
    """Return K-Means' clusters of z-scores."""
    scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    return KMeans(n_clusters, n_init=3, random_state=0, n_jobs=1).fit(scaled).labels_


def test_the_valley_is_the_lowest_density_between_two_peaks(rng):
    one, other = rng.normal(0, 1, 80), rng.normal(4, 0.7, 50)
    width = gaps.WIDTH * min(one.std(), other.std()) * 50**-0.2

    def density(place):
        return sum(np.exp(-0.5 * ((place - x) / width) ** 2) for x in (*one, *other))

    places = np.linspace(np.median(one) - one.std(), np.median(other) + one.std(), 2000)
    values = np.array([density(place) for place in places])
    between = (places > np.median(one)) & (places < np.median(other))
    share, rows = min(
        (
            v / min(values[: i + 1].max(), values[i:].max()),
            min(values[: i + 1].max(), values[i:].max()),
        )
        for i, v in enumerate(values)
        if between[i]
    )
    assert_allclose(valley(one, other), (share, rows), rtol=0.01)
    assert_allclose(valley(other, one), (share, rows), rtol=0.01)


def test_the_axis_of_many_rows_is_fishers(rng):
    shape = rng.normal(size=(4, 4))
    one, other = (rng.normal(size=(20_000, 4)) @ shape + move for move in (0, rng.normal(size=4)))
    places = np.concatenate(along_the_line(one, other))
    labels = np.repeat([0, 1], 20_000)
    theirs = LinearDiscriminantAnalysis().fit(np.vstack([one, other]), labels)
    expected = theirs.decision_function(np.vstack([one, other]))
    assert np.corrcoef(places, expected)[0, 1] > 0.999


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("cloud", ["normal", "lognormal", "t", "curve"])
def test_a_cloud_that_is_cut_is_one_shape(cloud, n_clusters):
    whole = []
    for name in names("none"):
        if name.startswith(f"{cloud},"):
            rows = made(name).rows
            whole.append(n_shapes(rows, cut(rows, n_clusters)) == 1)
    assert np.mean(whole) >= 0.8


def test_clear_clusters_are_as_many_shapes():
    for name in ("r15", "unbalance", "a1", "5 in 3, 125 rows, 10 apart, equal", "g2-16-20"):
        table = made(name)
        assert n_shapes(table.rows, table.classes) == table.n_clusters


def test_pieces_of_rings_are_rings():
    rows = made("rings").rows
    turn = np.arctan2(rows[:, 1], rows[:, 0])
    labels = np.floor((turn + np.pi) / (2 * np.pi) * 8).astype(int) % 8
    labels += 8 * (np.sqrt((rows**2).sum(axis=1)) > 0.7)
    assert n_shapes(rows, labels) == 2


def test_pairs_that_may_not_join_are_apart(rng):
    rows = rng.normal(size=(200, 2))
    labels = (rows[:, 0] > 0).astype(int)
    assert n_shapes(rows, labels) == 1
    assert np.unique(pieces(rows, labels, np.zeros((2, 2), dtype=bool))).size == 2


def test_few_rows_and_no_spread_are_no_trouble():
    rows = np.array([[0.0], [0.1], [9.0], [9.1], [9.2], [50.0]])
    assert n_shapes(rows, np.array([0, 0, 1, 1, 1, 2])) == 3
    labels = np.repeat([0, 1], 12)
    assert n_shapes(np.array([[0.0, 1.0], [5.0, 1.0]])[labels], labels) == 2
    assert n_shapes(np.zeros((24, 2)), labels) == 1
