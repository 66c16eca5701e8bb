"""Codes of categories equal a plain loop over the cells, whatever the table is made of."""

import math
import pickle
from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fwkmeans._tabular import columns as _columns
from fwkmeans._tabular.coding import Coding

ALPHABET = ["", "a", "b", "ß", "long text", "1"]


def is_gap(cell):
    return cell is None or type(cell).__name__ == "NAType" or cell != cell


def by_hand(cells, categories):
    """Return the code of each cell by looking at one category after the other."""
    codes = []
    for cell in cells:
        code = len(categories)
        if is_gap(cell):
            code = len(categories) - 1 if categories[-1:] == (None,) else -1
        else:
            for at, category in enumerate(categories):
                same_kind = isinstance(cell, bool | np.bool_) == isinstance(category, bool)
                if category is not None and same_kind and cell == category:
                    code = at
        codes.append(code)
    return codes


def objects(columns):
    table = np.empty((len(columns[0]), len(columns)), dtype=object)
    for v, cells in enumerate(columns):
        for i, cell in enumerate(cells):
            table[i, v] = cell
    return table


def one_column(cells):
    return objects([cells])


def with_gaps(rng, cells, gap=None, share=0.2):
    return [gap if rng.random() < share else cell for cell in cells]


def random_columns(rng, n):
    return {
        "size": rng.normal(size=n).tolist(),
        "color": with_gaps(rng, rng.choice(ALPHABET, n).tolist()),
        "flag": with_gaps(rng, (rng.random(n) < 0.5).tolist()),
        "age": with_gaps(rng, rng.integers(-3, 4, n).tolist()),
        "big": with_gaps(rng, (2**53 + rng.integers(0, 3, n)).tolist()),
        "part": with_gaps(rng, (rng.integers(-2, 3, n) / 3).tolist()),
    }


CATEGORICAL = ["color", "flag", "age", "big", "part"]


@pytest.mark.parametrize("own_missing", [False, True])
@pytest.mark.parametrize("n", [1, 7, 400])
def test_codes_of_a_frame_equal_a_loop(df_module, rng, n, own_missing):
    columns = random_columns(rng, n)
    X, later = df_module.DataFrame(columns), df_module.DataFrame(random_columns(rng, 50))
    coding = Coding.learn(X, CATEGORICAL, own_missing=own_missing)
    assert coding.numeric.tolist() == [0]
    assert coding.categorical.tolist() == [1, 2, 3, 4, 5]
    for frame in (X, later):
        codes = coding.codes(frame)
        assert codes.dtype == np.int32
        assert codes.flags.c_contiguous
        for j, name in enumerate(CATEGORICAL):
            assert codes[:, j].tolist() == by_hand(list(frame[name]), coding.categories[j])
    np.testing.assert_array_equal(coding.rows(X)[:, 0], columns["size"])


@pytest.mark.parametrize("own_missing", [False, True])
def test_codes_of_an_object_array_equal_a_loop(rng, own_missing):
    cells = [None, np.nan, float("nan"), True, False, 1, 0, 1.5, "1", "", np.float64(2), np.int8(1)]
    cells += [np.bool_(True), np.str_("a"), b"a"]
    mixed = [[cells[i] for i in rng.integers(0, len(cells), 500)] for _ in range(2)]
    X = objects([mixed[0], [1.0, None] * 250, mixed[1]])
    coding = Coding.learn(X, [0, 2], own_missing=own_missing)
    codes = coding.codes(X)
    assert codes.max() < len(coding.categories[0])
    for j, v in enumerate([0, 2]):
        assert codes[:, j].tolist() == by_hand(X[:, v], coding.categories[j])


@pytest.mark.parametrize("dtype", ["U3", "S3", "?", "i1", "u8", "f2", "f4", "f8", ">f8", "g"])
def test_codes_of_an_array_equal_a_loop(rng, dtype):
    X = rng.integers(0, 2 if dtype == "?" else 9, (300, 2)).astype(dtype)
    coding = Coding.learn(X[:200], [0, 1])
    codes = coding.codes(X)
    for j in range(2):
        assert codes[:, j].tolist() == by_hand(X[:, j].tolist(), coding.categories[j])


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.integers(),
    st.floats(),
    st.text(max_size=2),
    st.sampled_from([0.0, -0.0, 1.0, "0", "1", math.inf]),
)


@settings(deadline=None)
@given(st.lists(anything, min_size=1), st.lists(anything), st.booleans())
def test_any_cells_are_coded_by_value(cells, others, own_missing):
    coding = Coding.learn(one_column(cells), [0], own_missing=own_missing)
    (categories,) = coding.categories
    assert coding.codes(one_column(cells))[:, 0].tolist() == by_hand(cells, categories)
    assert coding.codes(one_column(others))[:, 0].tolist() == by_hand(others, categories)
    occurring = {(isinstance(cell, bool), cell) for cell in cells if not is_gap(cell)}
    n_own = own_missing and any(map(is_gap, cells))
    assert {(isinstance(one, bool), one) for one in categories if one is not None} == occurring
    assert len(categories) == len(occurring) + n_own


@settings(deadline=None)
@given(st.lists(st.one_of(st.floats(width=32), st.integers(-9, 9)), min_size=1))
def test_numbers_are_coded_by_value_in_every_type(cells):
    X = np.array(cells, dtype=np.float64)[:, None]
    coding = Coding.learn(X, [0])
    expected = by_hand(X[:, 0].tolist(), coding.categories[0])
    for table in (X, X.astype(np.float32), X.astype(object)):
        assert coding.codes(table)[:, 0].tolist() == expected
        assert Coding.learn(table, [0]) == coding


# Which columns


def test_types_of_a_frame_decide(df_module):
    X = df_module.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "c": [True, False], "d": [1, 2]})
    coding = Coding.learn(X, "from_dtype")
    assert coding.categorical.tolist() == [1, 2]
    assert coding.numeric.tolist() == [0, 3]
    assert coding.categories == (("x", "y"), (False, True))
    np.testing.assert_array_equal(coding.rows(X), [[1, 1], [2, 2]])


@pytest.mark.parametrize("columns", ["b", ["b"], [1], 1, [False, True, False], np.array([1])])
def test_columns_are_named_counted_or_masked(df_module, columns):
    X = df_module.DataFrame({"a": [1.0, 2.0], "b": [3, 3], "c": [0.0, 1.0]})
    coding = Coding.learn(X, columns)
    assert coding.n_features == 3
    assert coding.categorical.tolist() == [1]
    assert coding.categories == ((3,),)
    assert coding.n_levels.tolist() == [2]


@pytest.mark.parametrize("columns", [[0, 2], [2, 0], [True, False, True]])
def test_columns_of_a_numeric_array(columns):
    X = np.array([[1.0, 0.5, np.inf], [3.0, 0.25, -np.inf], [1.0, np.nan, np.nan]])
    coding = Coding.learn(X, columns)
    assert coding.categories == ((1.0, 3.0), (-math.inf, math.inf))
    assert coding.codes(X).tolist() == [[0, 1], [1, 0], [0, -1]]
    np.testing.assert_array_equal(coding.rows(X), X[:, [1]])


def test_array_of_booleans_or_text_is_categorical():
    assert Coding.learn(np.array([[True, False]]), "from_dtype").categories == ((True,), (False,))
    assert Coding.learn(np.array([["b", ""]]), "from_dtype").categories == (("b",), ("",))


def test_levels_follow_each_other(rng):
    coding = Coding.learn(rng.integers(0, 5, (100, 3)) * [0, 1, 1], [0, 1, 2])
    assert coding.n_levels.tolist() == [2, 6, 6]
    assert coding.offsets.tolist() == [0, 2, 8, 14]
    assert coding.n_levels.dtype == coding.offsets.dtype == np.int64


def test_table_without_categories(rng):
    X = rng.normal(size=(5, 2))
    coding = Coding.learn(X, None)
    assert coding.codes(X).shape == (5, 0)
    assert coding.offsets.tolist() == [0]
    assert coding.n_levels.tolist() == []


def test_table_without_numbers():
    X = np.array([["a"], ["b"]])
    rows = Coding.learn(X, "from_dtype").rows(X)
    assert rows.shape == (2, 0)
    assert rows.dtype == np.float64


# Categories


def test_categories_are_python_scalars_in_order():
    cells = [np.float32(0.5), np.int64(3), np.str_("b"), "a", np.bool_(True), None, b"a"]
    (categories,) = Coding.learn(one_column(cells), [0]).categories
    assert categories == (True, b"a", 0.5, 3, "a", "b")
    assert [type(one) for one in categories] == [bool, bytes, float, int, str, str]


def test_tuples_and_numbers_share_a_column():
    X = one_column([(1, 2), np.float64(2), (3, 4), (1, 2), np.nan])
    coding = Coding.learn(X, [0])
    assert coding.categories == ((2.0, (1, 2), (3, 4)),)
    assert coding.codes(X)[:, 0].tolist() == [1, 0, 2, 1, -1]


def test_one_and_true_and_text_are_apart():
    X = one_column([1, True, "1", 1.0, False, 0])
    coding = Coding.learn(X, [0])
    assert [repr(one) for one in coding.categories[0]] == ["False", "True", "0", "1", "'1'"]
    assert coding.codes(X)[:, 0].tolist() == [3, 1, 4, 3, 0, 2]
    assert coding != Coding.learn(one_column([2, True, "1", 1.0, False, 0]), [0])


def test_a_boolean_is_no_number_at_predict():
    coding = Coding.learn(np.array([[True], [False]]), [0])
    assert coding.codes(np.array([[1], [0]]))[:, 0].tolist() == [2, 2]
    assert Coding.learn(np.array([[0], [1]]), [0]) != coding


def test_zero_has_no_sign():
    for X in (np.array([[-0.0], [0.0], [0.5]]), one_column([-0.0, 0, 0.5])):
        coding = Coding.learn(X, [0])
        assert coding.categories == ((0.0, 0.5),)
        assert math.copysign(1, coding.categories[0][0]) == 1
        assert coding.codes(X)[:, 0].tolist() == [0, 0, 1]


def test_rows_without_weight_do_not_count(df_module):
    X = df_module.DataFrame({"a": ["x", "y", "z", None], "b": [1, 2, 3, None]})
    weight = [1.0, 0.0, 0.5, 0.0]
    coding = Coding.learn(X, [0, 1], sample_weight=weight, own_missing=True)
    assert coding.categories == (("x", "z"), (1, 3))
    assert coding.codes(X).tolist() == [[0, 0], [2, 2], [1, 1], [-1, -1]]


def test_missing_cells_of_their_own(df_module):
    X = df_module.DataFrame({"a": ["x", None, "w"], "b": ["x", "y", "x"]})
    coding = Coding.learn(X, "from_dtype", own_missing=True)
    assert coding.categories == (("w", "x", None), ("x", "y"))
    gaps = df_module.DataFrame({"a": ["v", None], "b": ["v", None]})
    assert coding.codes(gaps).tolist() == [[3, 2], [2, -1]]


def test_wholly_missing_column_has_no_category(df_module):
    X = df_module.DataFrame({"a": [None, None], "b": [1.0, 2.0]})
    assert Coding.learn(X, [0]).categories == ((),)
    assert Coding.learn(X, [0]).codes(X).tolist() == [[-1], [-1]]
    assert Coding.learn(X, [0], own_missing=True).categories == ((None,),)
    np.testing.assert_array_equal(Coding.learn(X, None).rows(X), [[np.nan, 1], [np.nan, 2]])


def test_thousands_of_categories(df_module, rng):
    cells = [f"{i:04d}" for i in rng.permutation(5000)]
    X = df_module.DataFrame({"a": cells, "b": rng.permutation(5000) * 1e6})
    coding = Coding.learn(X, ["a", "b"])
    assert coding.n_levels.tolist() == [5001, 5001]
    codes = coding.codes(X)
    assert [coding.categories[0][code] for code in codes[:, 0]] == cells
    assert np.array_equal(np.array(coding.categories[1])[codes[:, 1]], X["b"])


def test_unseen_values_have_the_last_code(df_module):
    coding = Coding.learn(df_module.DataFrame({"a": ["x", "y"], "b": [1, 2]}), [0, 1])
    later = df_module.DataFrame({"a": ["z", None], "b": ["1", "2"]})
    assert coding.codes(later).tolist() == [[2, 2], [-1, 2]]


def test_unseen_values_can_be_refused(df_module):
    coding = Coding.learn(df_module.DataFrame({"a": ["x", "y"]}), [0])
    later = df_module.DataFrame({"a": [*"zyvx", None]})
    message = "Column 'a' holds categories that fit has not seen: 'v', 'z'. Fit on a table"
    with pytest.raises(ValueError, match=message):
        coding.codes(later, unknown="error")
    with pytest.raises(ValueError, match="Column 'x0' holds"):
        coding.codes(np.array([["u"]]), unknown="error")
    with pytest.raises(ValueError, match="Column 'color' holds"):
        coding.codes(np.array([["u"]]), unknown="error", names=["color"])
    with pytest.raises(ValueError, match=r"1009 and 90 more\. Fit"):
        coding.codes(np.arange(1000, 1100)[:, None], unknown="error")
    with pytest.raises(ValueError, match="unknown='drop': expected"):
        coding.codes(later, unknown="drop")
    assert coding.codes(df_module.DataFrame({"a": ["x", None]}), unknown="error").tolist() == [
        [0],
        [-1],
    ]


def test_no_rows(df_module):
    X = df_module.DataFrame({"a": ["x", "y"], "b": [1, 2], "c": [True, False], "d": [0.5, 1.0]})
    coding = Coding.learn(X, [0, 1, 2])
    assert coding.codes(X[:0]).shape == (0, 3)
    assert coding.rows(X[:0]).shape == (0, 1)
    assert coding.codes(np.empty((0, 4), dtype=object)).shape == (0, 3)
    assert coding.codes(np.empty((0, 4))).shape == (0, 3)


# Types of pandas and polars


def test_declared_order_and_declared_but_absent_categories():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    sizes = ["tall", "small", "huge", "middle"]
    plain, ordered = pd.CategoricalDtype(sizes), pd.CategoricalDtype(sizes, ordered=True)
    cells = ["small", "tall", "middle", None]
    for dtype, expected in [
        (plain, ("middle", "small", "tall")),
        (ordered, ("tall", "small", "middle")),
    ]:
        X = pd.DataFrame({"a": pd.Series(cells, dtype=dtype)})
        assert Coding.learn(X, "from_dtype").categories == (expected,)
    for dtype, expected in [
        (pl.Categorical, ("middle", "small", "tall")),
        (pl.Enum(sizes), ("tall", "small", "middle")),
    ]:
        X = pl.DataFrame({"a": pl.Series(cells, dtype=dtype)})
        coding = Coding.learn(X, "from_dtype")
        assert coding.categories == (expected,)
        assert coding.codes(X)[:, 0].tolist() == [*map(expected.index, cells[:3]), -1]


def test_codes_follow_values_not_the_dtype():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    cells = ["b", "a", None, "c", "b"]
    kinds = ["object", "str", "string", "category", pd.CategoricalDtype(["c", "z", "b", "a"])]
    tables = [pd.DataFrame({"a": pd.Series(cells, dtype=kind)}) for kind in kinds]
    kinds = [pl.String, pl.Categorical, pl.Enum(["z", "c", "b", "a"]), pl.Object]
    tables += [pl.DataFrame({"a": pl.Series(cells, dtype=kind)}) for kind in kinds]
    tables += [one_column(cells)]
    for X in tables[:-2]:
        coding = Coding.learn(X, "from_dtype")
        order = coding.categories[0]
        assert sorted(order) == ["a", "b", "c"]
        for other in tables:
            expected = [order.index(cell) if cell else -1 for cell in cells]
            assert coding.codes(other)[:, 0].tolist() == expected


@pytest.mark.parametrize(
    "dtype",
    ["Int64", "Int8", "UInt16", "Float64", "Float32", "object", "float64", "category"]
    + ["int64[pyarrow]", "double[pyarrow]"],
)
def test_numbers_of_every_pandas_type(dtype):
    pd = pytest.importorskip("pandas")
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    X = pd.DataFrame({"a": pd.Series([3, None, 1, 3], dtype=dtype)})
    coding = Coding.learn(X, [0])
    assert coding.categories == ((1, 3),)
    assert not any(isinstance(one, np.generic) for one in coding.categories[0])
    assert coding.codes(X)[:, 0].tolist() == [1, -1, 0, 1]
    assert coding.codes(np.array([[1.0], [3.0], [np.nan]]))[:, 0].tolist() == [0, 1, -1]
    if dtype != "category":
        np.testing.assert_array_equal(Coding.learn(X, None).rows(X)[:, 0], [3, np.nan, 1, 3])


@pytest.mark.parametrize("dtype", ["boolean", "object", "category", "bool[pyarrow]"])
def test_booleans_of_every_pandas_type(dtype):
    pd = pytest.importorskip("pandas")
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    X = pd.DataFrame({"a": pd.Series([True, None, False], dtype=dtype)})
    coding = Coding.learn(X, "from_dtype")
    assert coding.categories == ((False, True),)
    assert type(coding.categories[0][0]) is bool
    assert coding.codes(X)[:, 0].tolist() == [1, -1, 0]
    assert coding.codes(one_column([np.nan, True]))[:, 0].tolist() == [-1, 1]


def test_object_column_that_begins_with_text():
    pd = pytest.importorskip("pandas")
    cells = ["a"] * 200 + [1, True, "1", pd.NA, pd.NaT, None, np.nan]
    X = pd.DataFrame({"a": pd.Series(cells, dtype=object)})
    coding = Coding.learn(X, "from_dtype")
    assert [repr(one) for one in coding.categories[0]] == ["True", "1", "'1'", "'a'"]
    assert coding.codes(X)[-8:, 0].tolist() == [3, 1, 0, 2, -1, -1, -1, -1]


def test_intervals_are_categories():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"a": pd.cut([1, 12, 25, np.nan], [0, 10, 20, 30])})
    coding = Coding.learn(X, "from_dtype")
    assert [str(one) for one in coding.categories[0]] == ["(0, 10]", "(10, 20]", "(20, 30]"]
    assert coding.codes(X)[:, 0].tolist() == [0, 1, 2, -1]


def test_rare_types_of_polars():
    pl = pytest.importorskip("polars")
    X = pl.DataFrame(
        {
            "money": pl.Series(["1.50", "2", None]).cast(pl.Decimal(10, 2)),
            "bytes": [b"a", b"", None],
            "nan": [math.nan, 1.0, None],
        }
    )
    coding = Coding.learn(X, range(3))
    assert coding.categories == ((1.5, 2), (b"", b"a"), (1.0,))
    assert coding.codes(X).tolist() == [[0, 1, -1], [1, 0, 0], [-1, -1, -1]]


def test_numbers_too_wide_for_numpy():
    pl = pytest.importorskip("polars", minversion="1.18")
    X = pl.DataFrame({"a": pl.Series([2**100, 1, None], dtype=pl.Int128)})
    coding = Coding.learn(X, [0])
    assert coding.categories == ((1, 2**100),)
    assert coding.codes(X)[:, 0].tolist() == [1, 0, -1]


def test_arrow_tables():
    pa = pytest.importorskip("pyarrow")
    text = pa.array(["b", None, "a"])
    X = pa.table({"a": text, "b": text.dictionary_encode(), "c": pa.array([2, None, 1])})
    coding = Coding.learn(X, [0, 1, 2])
    assert coding.categories == (("a", "b"), ("a", "b"), (1, 2))
    assert coding.codes(X).tolist() == [[1, 1, 1], [-1, -1, -1], [0, 0, 0]]


# Rows


@pytest.mark.parametrize("order", ["C", "F"])
def test_array_of_floats_is_not_copied(rng, dtype, order):
    X = np.asarray(rng.normal(size=(10, 3)), dtype=dtype, order=order)
    coding = Coding.learn(X, "from_dtype")
    assert np.shares_memory(coding.rows(X), X)
    assert coding.rows(X).dtype == dtype


def test_rows_are_float32_if_all_their_columns_are(df_module):
    X = df_module.DataFrame({"a": np.float32([0.1, 0.2]), "b": [1, 2], "c": ["x", "y"]})
    assert Coding.learn(X, ["b", "c"]).rows(X).dtype == np.float32
    assert Coding.learn(X, ["c"]).rows(X).dtype == np.float64


# What is refused


def test_text_that_is_not_listed_is_refused(df_module):
    X = df_module.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    message = "Column 'b' .* expected numbers. If it is categorical, list it in"
    with pytest.raises(ValueError, match=message):
        Coding.learn(X, None)
    with pytest.raises(ValueError, match=message):
        Coding.learn(X, ["a"])
    with pytest.raises(ValueError, match="Column 'x1' holds the value 'x'"):
        Coding.learn(objects([[1.0, 2.0], ["x", "y"]]), None)
    with pytest.raises(ValueError, match="Column 'x0' has dtype <U1"):
        Coding.learn(np.array([["x"]]), None)
    coding = Coding.learn(df_module.DataFrame({"a": [1.0], "b": [1.0]}), None)
    with pytest.raises(ValueError, match=message):
        coding.rows(X)


def test_the_cell_that_is_no_number_is_named_rather_than_numbers_that_are_text():
    X = np.array([["1.5", 2.0], ["oops", 3.0]], dtype=object)
    with pytest.raises(ValueError, match="Column 'x0' holds the value 'oops'"):
        Coding.learn(X, [1])


def test_dates_are_refused(df_module):
    days = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[ms]")
    X, plain = df_module.DataFrame({"a": [1, 2], "day": days}), np.ones((2, 2))
    message = "Column 'day' holds dates or times.*Convert it to a number"
    for columns in ("from_dtype", ["day"], None):
        with pytest.raises(ValueError, match=message):
            Coding.learn(X, columns)
    with pytest.raises(ValueError, match=message):
        Coding.learn(plain, None).rows(X)
    with pytest.raises(ValueError, match=message):
        Coding.learn(plain, [1]).codes(X)
    with pytest.raises(ValueError, match="Column 'x0' holds dates"):
        Coding.learn(days[:, None], [0])
    assert Coding.learn(one_column([date(2024, 1, 1)]), [0]).categories == ((date(2024, 1, 1),),)


@pytest.mark.parametrize("container", [["a"], {"a": 1}, {1}, np.arange(2), bytearray(b"a")])
def test_containers_are_refused(container):
    X = one_column([container, "b"])
    with pytest.raises(TypeError, match=r"'x0' holds values of type .*; argument must be a string"):
        Coding.learn(X, [0])
    with pytest.raises(TypeError, match="'x0' holds values of type"):
        Coding.learn(one_column(["b"]), [0]).codes(X)


def test_nested_types_of_polars_are_refused():
    pl = pytest.importorskip("polars")
    for cells in ([[1], [2]], [{"a": 1}, {"a": 2}]):
        with pytest.raises(TypeError, match="'a' holds values of type"):
            Coding.learn(pl.DataFrame({"a": cells}), [0])


# Blocks


def in_blocks(X, step=7):
    return (X[begin : begin + step] for begin in range(0, len(X), step))


@pytest.mark.parametrize("own_missing", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i1", "?"])
@pytest.mark.parametrize("columns", [[], [0, 2], [1]])
def test_blocks_equal_the_whole(rng, dtype, columns, own_missing):
    X = rng.integers(0, 2 if dtype == "?" else 20, (50, 3)).astype(dtype)
    if "f" in dtype:
        X[rng.random(X.shape) < 0.2] = np.nan
    places, weight = np.array(columns, dtype=np.intp), (rng.random(50) < 0.5) * 1.0
    for counted in (None, weight):
        given = {"own_missing": own_missing, "sample_weight": counted}
        whole = Coding.learn(X, columns, **given)
        blocks = Coding.learn_blocks(in_blocks(X[:, columns]), 3, places, **given)
        assert blocks == whole
        assert repr(blocks.categories) == repr(whole.categories)
        np.testing.assert_array_equal(blocks.numeric, whole.numeric)
        np.testing.assert_array_equal(np.vstack([*map(whole.codes, in_blocks(X))]), whole.codes(X))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_blocks_of_frames_equal_the_whole(rng, library):
    module = pytest.importorskip(library)
    frame = module.table if library == "pyarrow" else module.DataFrame
    words = np.array(["b", "a", None, "d"], dtype=object)
    cells = {"x": words[rng.integers(0, 4, 3000)].tolist(), "y": rng.integers(0, 5, 3000)}
    whole = Coding.learn(frame(cells), ["x", "y"], own_missing=True)
    pieces = (frame({k: v[at : at + 1100] for k, v in cells.items()}) for at in (0, 1100, 2200))
    blocks = Coding.learn_blocks(pieces, 2, np.arange(2), own_missing=True)
    assert blocks == whole
    assert blocks.categories == (("a", "b", "d", None), (0, 1, 2, 3, 4))


def test_blocks_are_read_only_if_needed():
    blocks = iter([np.ones((1, 0))])
    coding = Coding.learn_blocks(blocks, 2, np.array([], dtype=np.intp))
    assert coding.numeric.tolist() == [0, 1]
    assert len(list(blocks)) == 1


# The object


def test_pickle_and_equality(rng):
    X = objects([[1.0, 2.0], ["a", None], [True, False]])
    coding = Coding.learn(X, "from_dtype", own_missing=True)
    copy = pickle.loads(pickle.dumps(coding))
    assert copy == coding
    assert copy.categories == coding.categories
    np.testing.assert_array_equal(copy.codes(X), coding.codes(X))
    assert coding != Coding.learn(X, "from_dtype")
    assert coding != Coding.learn(X[:, 1:], "from_dtype", own_missing=True)
    assert coding != "coding"


def test_coding_cannot_be_changed():
    coding = Coding.learn(np.ones((1, 1)), None)
    with pytest.raises(AttributeError):
        coding.n_features = 2


def test_order_of_rows_does_not_matter(rng):
    X = objects([list(column) for column in random_columns(rng, 200).values()])
    coding = Coding.learn(X, range(1, 6), own_missing=True)
    assert Coding.learn(X[::-1], range(1, 6), own_missing=True) == coding


def test_table_is_not_changed(df_module, rng):
    X = df_module.DataFrame(random_columns(rng, 30))
    before = pickle.dumps(X)
    Coding.learn(X, CATEGORICAL).codes(X)
    assert pickle.dumps(X) == before
    array = rng.integers(0, 9, (30, 2))
    kept = array.copy()
    Coding.learn(array, [0, 1]).codes(array)
    np.testing.assert_array_equal(array, kept)


def test_categories_are_those_of_the_table_encoder_s_helper(df_module, rng):
    X = df_module.DataFrame(random_columns(rng, 100))
    coding = Coding.learn(X, ["color", "part"])
    for v, categories in zip(coding.categorical, coding.categories, strict=True):
        values = _columns.read_categorical(X, v)
        assert list(categories) == _columns.ordered_categories(X, v, values)
