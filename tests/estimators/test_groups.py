"""Groups of columns in every form, and what is said of those that do not fit."""

import numpy as np
import pytest

from fwkmeans import FGKMeans
from fwkmeans.estimators.groups import resolve_groups
from laws.configurations import make_rows

NAMES = ["a", "b", "c", "d"]
POSITIONS = [
    {"first": [0, 2], "second": [1, 3]},
    {"first": np.array([0, 2]), "second": (1, 3)},
    [[0, 2], [1, 3]],
    [range(0, 4, 2), range(1, 4, 2)],
    [slice(0, None, 2), slice(1, None, 2)],
    [[True, False, True, False], [False, True, False, True]],
    [np.array([True, False, True, False]), [1, 3]],
    np.array([[0, 2], [1, 3]]),
    [0, 1, 0, 1],
    np.array([7, -1, 7, -1]),
    ["x", "y", "x", "y"],
    np.array(["x", "y", "x", "y"]),
]
BY_NAME = [
    {"first": ["a", "c"], "second": ["b", "d"]},
    [["a", "c"], ["b", "d"]],
    [["c", "a"], [1, 3]],
]


def short(value):
    return str(value)[:40]


@pytest.mark.parametrize("groups", POSITIONS, ids=short)
def test_positions(groups, rng, source):
    X = make_rows(rng, 40, 4)
    model = FGKMeans(2, groups=groups, random_state=0, n_init=1).fit(source(X))
    expected = FGKMeans(2, groups=[[0, 2], [1, 3]], random_state=0, n_init=1).fit(source(X))
    np.testing.assert_array_equal(model.group_weights_, expected.group_weights_)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert [list(columns) for columns in model.groups_.values()] == [[0, 2], [1, 3]]
    assert model.group_weights_.shape == (2, 2)


@pytest.mark.parametrize("groups", POSITIONS + BY_NAME, ids=short)
def test_names(groups, rng, df_module):
    X = make_rows(rng, 40, 4)
    frame = df_module.DataFrame(dict(zip(NAMES, X.T, strict=True)))
    model = FGKMeans(2, groups=groups, random_state=0, n_init=1).fit(frame)
    assert [list(columns) for columns in model.groups_.values()] == [[0, 2], [1, 3]]


def test_none_is_one_group(rng):
    model = FGKMeans(2, random_state=0).fit(make_rows(rng, 40, 4))
    assert [list(columns) for columns in model.groups_.values()] == [[0, 1, 2, 3]]


def test_names_of_groups(rng):
    X = make_rows(rng, 40, 4)
    model = FGKMeans(2, groups={"size": [3, 0], "shape": [1, 2]}).fit(X)
    assert list(model.groups_) == ["size", "shape"]
    assert list(FGKMeans(2, groups=["x", "y", "y", "x"]).fit(X).groups_) == ["x", "y"]
    assert list(FGKMeans(2, groups=[[1, 2], [0, 3]]).fit(X).groups_) == [0, 1]


def test_a_single_column_stands_for_itself(rng, df_module):
    X = make_rows(rng, 40, 3)
    frame = df_module.DataFrame(dict(zip("abc", X.T, strict=True)))
    groups = {"one": "b", "rest": ["a", "c"]}
    model = FGKMeans(2, groups=groups, n_init=1).fit(frame)
    assert [list(columns) for columns in model.groups_.values()] == [[1], [0, 2]]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([["a", "b"], ["b", "c", "d"]], r"groups overlap: column 'b' in more than one group"),
        ([["a", "b", "c"], ["b", "c", "d"]], r"groups overlap: columns 'b', 'c' in more"),
        ([["a"], ["b"]], r"groups leave out columns 'c', 'd'\. Each column belongs"),
        ({"x": ["a", "b", "c"]}, r"groups leave out column 'd'"),
        ({"x": ["a", "b", "c", "d"], "y": []}, r"group 'y' has no column"),
        ([["a", "b"], ["c", "e"]], r"columns that X does not have: 'e'.*columns of X are 'a', 'b'"),
        ([[0, 1], [2, 4]], r"positions outside the table: 4.*0 to 3"),
        ([[0, 1], [2, -1]], r"positions outside the table: -1"),
        ([[0, 1, 1], [2, 3]], r"more than once: 1"),
        ([[True, False], [2, 3]], r"boolean mask of length 2, but X has 4 columns"),
        ([0, 1, 0], r"3 labels for 4 columns; expected one label per column"),
        (["x", "y"], r"2 labels for 4 columns"),
        ([], r"groups"),
        ({}, r"groups"),
    ],
    ids=short,
)
def test_groups_that_do_not_fit_are_explained(groups, message, rng, df_module):
    X = make_rows(rng, 40, 4)
    frame = df_module.DataFrame(dict(zip(NAMES, X.T, strict=True)))
    with pytest.raises(ValueError, match=message):
        FGKMeans(2, groups=groups).fit(frame)


def test_gaps_and_overlaps_of_arrays_name_positions(rng):
    X = make_rows(rng, 40, 4)
    with pytest.raises(ValueError, match=r"groups overlap: column 1 in more than one"):
        FGKMeans(2, groups=[[0, 1], [1, 2, 3]]).fit(X)
    with pytest.raises(ValueError, match=r"groups leave out columns 0, 3"):
        FGKMeans(2, groups=[[1], [2]]).fit(X)
    with pytest.raises(ValueError, match=r"column names 'a', 'b', but X has no column names"):
        FGKMeans(2, groups=[["a", "b"], [2, 3]]).fit(X)


@pytest.mark.parametrize(
    "groups", ["abcd", 3, 1.5, print], ids=["text", "integer", "number", "function"]
)
def test_groups_that_are_no_groups(groups, rng):
    with pytest.raises(TypeError, match=r"groups=.*expected 'auto', the columns of each group"):
        FGKMeans(2, groups=groups).fit(make_rows(rng, 40, 4))


def test_mixed_columns_are_refused(rng):
    with pytest.raises(TypeError, match=r"entries of type int, str; expected only column names"):
        FGKMeans(2, groups=[[0, "b"], [2, 3]]).fit(make_rows(rng, 40, 4))


def test_many_columns_are_shortened():
    with pytest.raises(ValueError, match=r"leave out columns 1, 2, 3, 4, 5 and 4 more"):
        resolve_groups([[0]], None, 10)


def test_labels_keep_the_order_of_first_appearance():
    groups = resolve_groups(["z", "a", "z", "b"], None, 4)
    assert groups.names == ["z", "a", "b"]
    np.testing.assert_array_equal(groups.numbers, [0, 1, 0, 2])


def test_a_group_of_constant_columns_has_no_weight(rng):
    X = make_rows(rng, 40, 4)
    X[:, 2:] = 1.0
    model = FGKMeans(2, groups=[[0], [1], [2, 3]], random_state=0).fit(X)
    np.testing.assert_array_equal(model.group_weights_[:, 2], 0.0)
    np.testing.assert_allclose(model.group_weights_.sum(axis=1), 1.0)


def test_a_series_of_labels_follows_its_index():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.random.default_rng(0).random((30, 3)), columns=list("abc"))
    labels = pd.Series(["y", "x", "x"], index=list("cab"))
    model = FGKMeans(2, groups=labels, random_state=0).fit(frame)
    assert {name: list(columns) for name, columns in model.groups_.items()} == {
        "x": [0, 1],
        "y": [2],
    }
    with pytest.raises(ValueError, match="groups is indexed by"):
        FGKMeans(2, groups=pd.Series([0, 0, 1], index=["a", "b", "z"])).fit(frame)


def test_nan_is_no_label():
    with pytest.raises(TypeError):
        FGKMeans(2, groups=[0, 0, np.nan]).fit(np.random.default_rng(0).random((30, 3)))
