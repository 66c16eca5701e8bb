"""The tables of `textbook_tables` are what their names say."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from fwkmeans import KMeans
from textbook_tables import TABLES, made, names

#: Name, rows, columns, clusters, of the published descriptions.
PUBLISHED = (
    ("a1", 3000, 2, 20),
    ("a2", 5250, 2, 35),
    ("a3", 7500, 2, 50),
    ("s1", 5000, 2, 15),
    ("s4", 5000, 2, 15),
    ("d31", 3100, 2, 31),
    ("r15", 600, 2, 15),
    ("unbalance", 6500, 2, 8),
    ("g2-64-40", 2048, 64, 2),
)


@pytest.mark.parametrize(("name", "n_rows", "n_columns", "n_clusters"), PUBLISHED)
def test_tables_are_as_published(name, n_rows, n_columns, n_clusters):
    table = made(name)
    assert table.rows.shape == (n_rows, n_columns)
    assert table.n_clusters == n_clusters


def test_a_name_always_gives_the_same_table_and_a_draw_another_one():
    first, again, other = made("r15"), made("r15"), made("r15", draw=1)
    assert np.array_equal(first.rows, again.rows)
    assert np.array_equal(first.classes, again.classes)
    assert not np.array_equal(first.rows, other.rows)


def test_recipes_give_numbers_and_as_many_classes_as_rows():
    for name in list(TABLES)[::4]:
        table = made(name)
        assert np.isfinite(table.rows).all(), name
        assert len(table.rows) == len(table.classes), name
        assert (table.n_clusters == 1) == (table.kind == "none"), name


def test_clusters_of_the_s_sets_overlap_more_and_more():
    """K-Means finds about as much of them as of the published ones."""
    reached = []
    for name in ("s1", "s2", "s3", "s4"):
        table = made(name)
        labels = KMeans(15, random_state=0, n_jobs=1).fit(table.rows).labels_
        reached.append(adjusted_rand_score(table.classes, labels))
    assert reached == sorted(reached, reverse=True)
    assert reached[0] > 0.97
    assert 0.5 < reached[3] < 0.75


def test_there_are_twenty_tables_of_odd_normal_shapes_and_some_of_curves():
    assert len(names("shapes")) >= 20
    assert len(names("curved")) >= 8
