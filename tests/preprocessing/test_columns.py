"""Naming columns: names, positions and masks."""

import numpy as np
import pytest

import fwkmeans.datasets
import fwkmeans.preprocessing
from fwkmeans._tabular.columns import is_missing, resolve_columns

NAMES = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (None, []),
        ([], []),
        (["c", "a"], [2, 0]),
        ("b", [1]),
        (2, [2]),
        ([2, 0], [2, 0]),
        (np.array([1]), [1]),
        ([False, True, True], [1, 2]),
        (np.array([True, False, False]), [0]),
        (np.array(["b"]), [1]),
        (range(2), [0, 1]),
    ],
)
def test_columns_are_found(columns, expected):
    found = resolve_columns(columns, NAMES, 3, "groups")
    assert found.dtype == np.intp
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        (["a", "z"], ValueError, "groups names columns that X does not have: 'z'"),
        ([0, 3], ValueError, r"positions outside the table: 3\. X has 3 columns"),
        ([-1], ValueError, "positions outside the table: -1"),
        ([True, False], ValueError, "mask of length 2, but X has 3 columns"),
        (["a", "b", "a"], ValueError, "more than once: 'a'"),
        ([1, 1], ValueError, "more than once: 1"),
        (["a", 1], TypeError, "entries of type int, str"),
        ([0.0], TypeError, "entries of type float"),
        ([True, 1, 2], TypeError, "entries of type bool, int"),
    ],
)
def test_wrong_columns_are_named(columns, error, message):
    with pytest.raises(error, match=message):
        resolve_columns(columns, NAMES, 3, "groups")


def test_names_need_a_table_with_names():
    with pytest.raises(ValueError, match="'a', but X has no column names"):
        resolve_columns(["a"], None, 3, "groups")


def test_long_lists_are_cut():
    with pytest.raises(ValueError, match="and 5 more"):
        resolve_columns([f"z{i}" for i in range(25)], NAMES, 3, "groups")


def test_missing_values_of_every_kind():
    pd = pytest.importorskip("pandas")
    values = np.array([None, np.nan, pd.NA, pd.NaT, np.float32("nan"), 0, "", False], dtype=object)
    assert is_missing(values).tolist() == [True] * 5 + [False] * 3
    assert is_missing(np.array(["a", "nan"])).tolist() == [False, False]


@pytest.mark.parametrize("package", [fwkmeans.datasets, fwkmeans.preprocessing])
def test_all_is_sorted_and_importable(package):
    assert package.__all__ == sorted(package.__all__)
    for name in package.__all__:
        assert hasattr(package, name)


@pytest.mark.parametrize("columns", [3.5, object()])
def test_what_cannot_name_columns_is_refused(columns):
    with pytest.raises(TypeError, match=r"groups=.*: expected names, positions or a mask"):
        resolve_columns(columns, NAMES, 3, "groups")
