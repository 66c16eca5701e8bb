"""The survey's preparation of mixed tables."""

import pickle
from statistics import median

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fwkmeans.datasets import list_uci, load_uci
from fwkmeans.preprocessing import RangeStandardizer, TableEncoder


def plain(**parameters):
    """Return an encoder whose binary columns keep the size 1."""
    return TableEncoder(category_weight=1.0, **parameters)


def brute_force(rows, categorical):
    """Encode a list of rows, cell by cell; return the columns and their names."""
    columns, names = [], []
    for v in range(len(rows[0])):
        column = [row[v] for row in rows]
        if v not in categorical:
            low, high, mean = min(column), max(column), sum(column) / len(column)
            if high > low:
                columns.append([(value - mean) / (high - low) for value in column])
                names.append(f"x{v}")
            continue
        categories = sorted(set(column))
        for category in categories if len(categories) > 1 else []:
            frequency = column.count(category) / len(column)
            columns.append([(value == category) - frequency for value in column])
            names.append(f"x{v}={category}")
    return np.array(columns).T, names


@pytest.mark.parametrize("frame", ["pandas", "polars", False])
@pytest.mark.parametrize("name", sorted(set(list_uci()) - {"breast_cancer_wisconsin"}))
def test_equals_the_formulas_on_the_survey_s_tables(name, frame):
    if frame:
        pytest.importorskip(frame)
    table = load_uci(name, as_frame=frame)
    rows = load_uci(name, as_frame=False).data.tolist()
    categorical = [table.feature_names.index(one) for one in table.categorical_features]
    expected, names = brute_force(rows, categorical)
    encoder = plain().fit(table.data)
    Z = encoder.transform(table.data)
    assert Z.dtype == np.float64
    found = encoder.get_feature_names_out(
        [f"x{v}" for v in range(len(rows[0]))] if not frame else None
    )
    if frame:  # dtypes order their categories, the brute force sorts them
        renamed = [f"x{table.feature_names.index(one.split('=')[0])}" for one in found]
        found = [
            new + one[len(one.split("=")[0]) :] for new, one in zip(renamed, found, strict=True)
        ]
    assert sorted(found) == sorted(names)
    order = [list(found).index(one) for one in names]
    np.testing.assert_allclose(Z[:, order], expected, rtol=0, atol=1e-13)


def test_number_of_columns_of_the_survey_s_tables():
    encoder = plain(impute="median")
    widths = {
        name: encoder.fit_transform(load_uci(name, as_frame=False).data).shape[1]
        for name in list_uci()
    }
    assert widths == {
        "australian": 6 + 2 + 3 + 14 + 8 + 2 + 2 + 2 + 3,
        "balance_scale": 20,
        "breast_cancer_wisconsin": 9,
        "car": 4 + 4 + 4 + 3 + 3 + 3,
        "ecoli": 7,
        "glass": 9,
        "heart": 6 + 2 + 4 + 2 + 3 + 2 + 3 + 3,
        "ionosphere": 33,
        "iris": 4,
        "soybean_small": 58,
        "tae": 1 + 2 + 25 + 26 + 2,
        "tic_tac_toe": 27,
        "wine": 13,
    }


def make_frame(module):
    library = pytest.importorskip(module)
    data = {
        "size": [1.0, 2.0, 3.0, 5.0],
        "color": ["red", "red", "blue", "red"],
        "good": [True, False, False, False],
        "same": ["k", "k", "k", "k"],
        "zero": [0, 0, 0, 0],
    }
    return library.DataFrame(data)


@pytest.mark.parametrize("module", ["pandas", "polars"])
def test_types_of_a_frame_decide(module):
    X = make_frame(module)
    encoder = plain().set_output(transform=module)
    Z = encoder.fit_transform(X)
    names = ["size", "color=blue", "color=red", "good=False", "good=True"]
    assert list(Z.columns) == encoder.get_feature_names_out().tolist() == names
    expected = [
        [-0.4375, -0.25, 0.25, -0.75, 0.75],
        [-0.1875, -0.25, 0.25, 0.25, -0.25],
        [0.0625, 0.75, -0.75, 0.25, -0.25],
        [0.5625, -0.25, 0.25, 0.25, -0.25],
    ]
    np.testing.assert_array_equal(Z.to_numpy(), expected)
    assert encoder.categorical_features_.tolist() == [1, 2, 3]
    assert encoder.numerical_features_.tolist() == [0, 4]


def test_fit_on_pandas_transform_polars():
    encoder = plain().fit(make_frame("pandas"))
    np.testing.assert_array_equal(
        encoder.transform(make_frame("pandas")), encoder.transform(make_frame("polars"))
    )


@pytest.mark.parametrize(
    "given", [["color", "good", "same"], [1, 2, 3], [False, True, True, True, False], (3, 1, 2)]
)
def test_columns_can_be_named(given):
    X = make_frame("pandas")
    expected = plain().fit_transform(X)
    np.testing.assert_array_equal(plain(categorical_features=given).fit_transform(X), expected)


def test_numbers_can_be_categories():
    X = np.array([[1.0, 5.0], [2.0, 6.0], [2.0, 9.0]])
    encoder = plain(categorical_features=[0]).fit(X)
    assert encoder.get_feature_names_out().tolist() == ["x0=1.0", "x0=2.0", "x1"]
    np.testing.assert_allclose(encoder.transform(X)[:, 0], [2 / 3, -1 / 3, -1 / 3])


def test_booleans_can_be_numbers():
    X = make_frame("pandas")[["size", "good"]]
    Z = plain(categorical_features=None).fit_transform(X)
    np.testing.assert_allclose(Z[:, 1], [0.75, -0.25, -0.25, -0.25])


def test_array_of_text_is_categorical():
    X = np.array([["a", "1"], ["b", "2"], ["a", "3"]])
    assert plain().fit_transform(X).shape == (3, 5)
    mixed = [["a", 1.0], ["b", 2.0], ["a", 4.0]]
    assert plain().fit(mixed).get_feature_names_out().tolist() == ["x0=a", "x0=b", "x1"]


def test_mixed_types_in_one_column_are_categories():
    X = np.array([[1], ["one"], [True], ["one"], [2]], dtype=object)
    assert plain().fit_transform(X).shape[1] == 4  # True is not 1, as in the estimators


def test_categories_of_ordered_dtypes_keep_their_order():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    levels, values = ["low", "mid", "high", "unused"], ["mid", "high", "low", "low"]
    for column in (
        pd.Series(pd.Categorical(values, categories=levels, ordered=True)).to_frame("level"),
        pl.DataFrame({"level": pl.Series(values, dtype=pl.Enum(levels))}),
    ):
        names = plain().fit(column).get_feature_names_out().tolist()
        assert names == ["level=low", "level=mid", "level=high"]
    for column in (
        pd.Series(pd.Categorical(values, categories=levels)).to_frame("level"),
        pl.DataFrame({"level": pl.Series(values, dtype=pl.Categorical)}),
    ):
        names = plain().fit(column).get_feature_names_out().tolist()
        assert names == ["level=high", "level=low", "level=mid"]


def test_equals_scikit_learn_s_parts():
    table = load_uci("heart", as_frame=False)
    v = [table.feature_names.index(one) for one in table.categorical_features]
    rest = [u for u in range(13) if u not in v]
    parts = make_column_transformer(
        (RangeStandardizer(), rest),
        (make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler(with_std=False)), v),
    )
    expected, Z = parts.fit_transform(table.data), plain().fit_transform(table.data)
    np.testing.assert_allclose(sorted(Z.sum(axis=0)), sorted(expected.sum(axis=0)), atol=1e-10)
    gram = expected.astype(float) @ expected.astype(float).T
    np.testing.assert_allclose(Z @ Z.T, gram, atol=1e-12)


@pytest.mark.parametrize("frame", ["pandas", "polars", False])
def test_median_imputation(frame):
    if frame:
        pytest.importorskip(frame)
    X = load_uci("breast_cancer", as_frame=frame).data
    rows = load_uci("breast_cancer", as_frame=False).data.tolist()
    middle = median(row[5] for row in rows if row[5] == row[5])
    filled = [[*row[:5], row[5] if row[5] == row[5] else middle, *row[6:]] for row in rows]
    expected, _ = brute_force(filled, [])
    Z = plain(impute="median").fit_transform(X)
    np.testing.assert_allclose(Z, expected, atol=1e-13)
    with pytest.raises(ValueError, match=r"NaN.*'(bare_nuclei|x5)'.*impute='median'"):
        plain().fit(X)


@pytest.mark.parametrize("module", ["pandas", "polars"])
def test_missing_categories(module):
    library = pytest.importorskip(module)
    X = library.DataFrame(
        {
            "c": ["b", None, "a", "b"],
            "n": [1.0, None, 3.0, 9.0],
            "t": [True, False, None, None],
            "full": ["u", "v", "u", "v"],
        }
    )
    with pytest.raises(ValueError, match="'c', 'n', 't', expected none"):
        plain().fit(X)
    encoder = plain(impute="median").fit(X)
    assert encoder.fill_values_[0] == "b"
    assert encoder.fill_values_[1] == 3.0
    assert encoder.fill_values_[2] == False  # noqa: E712  (a tie: the first category)
    Z = encoder.transform(X)
    assert np.isfinite(Z).all()
    np.testing.assert_array_equal(Z[:, 0], np.array([0, 0, 1, 0]) - 0.25)
    np.testing.assert_array_equal(Z[1], encoder.transform(X[1:2])[0])


@pytest.mark.parametrize("dtype", ["string", "category", "boolean", object])
def test_missing_values_of_every_pandas_type(dtype):
    pd = pytest.importorskip("pandas")
    values = [True, None, False, True] if dtype == "boolean" else ["x", None, "y", "x"]
    X = pd.DataFrame({"a": pd.Series(values, dtype=dtype)})
    Z = plain(impute="median").fit_transform(X)
    np.testing.assert_array_equal(Z[:, 0], Z[:, 0][[0, 0, 2, 0]])
    assert Z.shape == (4, 2)
    with pytest.raises(ValueError, match="'a'"):
        plain().fit(X)


def test_missing_markers_in_an_object_array():
    pd = pytest.importorskip("pandas")
    X = np.array([["a", 1], [None, pd.NA], [np.nan, 2], [pd.NA, None], ["b", 6]], dtype=object)
    Z = plain(impute="median").fit_transform(X)
    np.testing.assert_allclose(Z[:, 0], [0.2, 0.2, 0.2, 0.2, -0.8])
    np.testing.assert_allclose(Z[:, 2], (np.array([1, 2, 2, 2, 6]) - 2.6) / 5)


def test_missing_only_at_transform():
    X = np.array([["a", 1.0], ["b", 2.0], ["b", 6.0]], dtype=object)
    gap = np.array([[None, np.nan]], dtype=object)
    with pytest.raises(ValueError, match="'x0', 'x1'"):
        plain().fit(X).transform(gap)
    encoder = plain(impute="median").fit(X)
    full = np.array([["b", 2.0]], dtype=object)
    np.testing.assert_array_equal(encoder.transform(gap), encoder.transform(full))


def test_wholly_missing_columns_are_removed():
    X = np.array([["a", None, np.nan, 1.0], ["b", None, np.nan, 2.0]], dtype=object)
    encoder = plain(categorical_features=[0, 1], impute="median").fit(X)
    assert encoder.get_feature_names_out().tolist() == ["x0=a", "x0=b", "x3"]
    later = np.array([["a", "new", 5.0, 1.0]], dtype=object)
    np.testing.assert_array_equal(encoder.transform(later), [[0.5, -0.5, -0.5]])


def test_unknown_category_has_no_binary_column():
    X = np.array([["a"], ["b"], ["b"], ["b"]], dtype=object)
    new = np.array([["c"], ["a"]], dtype=object)
    Z = plain().fit(X).transform(new)
    np.testing.assert_array_equal(Z, [[-0.25, -0.75], [0.75, -0.75]])
    with pytest.raises(ValueError, match=r"'x0' holds categories .*'c'.*handle_unknown='ignore'"):
        plain(handle_unknown="error").fit(X).transform(new)
    plain(handle_unknown="error").fit(X).transform(X)


def test_unknown_category_of_a_constant_column_is_an_error_too():
    X = np.array([["a", 1.0], ["a", 2.0]], dtype=object)
    new = np.array([["z", 1.0]], dtype=object)
    np.testing.assert_array_equal(plain().fit(X).transform(new), [[-0.5]])
    with pytest.raises(ValueError, match="'z'"):
        plain(handle_unknown="error").fit(X).transform(new)


def test_column_of_another_type_at_transform():
    encoder = plain().fit(np.array([["a", 1.0], ["b", 2.0]], dtype=object))
    Z = encoder.transform(np.array([[1.0, 2.0]]))
    np.testing.assert_array_equal(Z, [[-0.5, -0.5, 0.5]])
    with pytest.raises(ValueError, match="'x1' holds the value 'b'"):
        encoder.transform(np.array([["a", "b"]], dtype=object))


@pytest.mark.parametrize("module", ["pandas", "polars"])
def test_float32_stays_if_all_numbers_are_float32(module):
    library = pytest.importorskip(module)
    column = np.array([1, 2, 4], dtype=np.float32)
    single = library.DataFrame({"a": column, "c": ["x", "y", "x"]})
    assert plain().fit_transform(single).dtype == np.float32
    both = library.DataFrame({"a": column, "b": column.astype(float), "c": ["x", "y", "x"]})
    assert plain().fit_transform(both).dtype == np.float64
    text = library.DataFrame({"c": ["x", "y", "x"]})
    assert plain().fit_transform(text).dtype == np.float64
    holes = np.array([[1, 2], [np.nan, 3], [3, 5]], dtype=np.float32)
    assert plain(impute="median").fit_transform(holes).dtype == np.float32


def test_tables_without_a_varying_column_are_refused():
    with pytest.raises(ValueError, match=r"All 2 columns.*n_samples=1"):
        plain().fit(np.array([["a", 1.0]], dtype=object))
    with pytest.raises(ValueError, match="All 1 columns"):
        plain().fit(np.array([["a"], ["a"]]))


@pytest.mark.parametrize("module", ["pandas", "polars"])
def test_empty_frames_are_refused(module):
    library = pytest.importorskip(module)
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        plain().fit(library.DataFrame({"a": []}))


def test_infinity_dates_and_containers_are_refused():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"infinity in column.* 'b'"):
        plain().fit(pd.DataFrame({"a": [1.0, 2.0], "b": [np.inf, 1.0]}))
    with pytest.raises(ValueError, match="'d' holds dates or times"):
        plain().fit(pd.DataFrame({"d": pd.to_datetime(["2020-01-01", "2021-01-01"])}))
    with pytest.raises(TypeError, match="'x0' holds values of type dict"):
        plain().fit(np.array([[{}], [1]], dtype=object))


@pytest.mark.parametrize(
    "wrong",
    [
        {"impute": "mean"},
        {"handle_unknown": "drop"},
        {"categorical": "ordinal"},
        {"standardize": "no"},
    ],
)
def test_wrong_parameters_are_refused(wrong):
    name, value = next(iter(wrong.items()))
    with pytest.raises(ValueError, match=f"{name}='{value}': expected"):
        plain(**wrong).fit([[1.0], [2.0]])


def test_unfitted_use_is_refused():
    with pytest.raises(NotFittedError):
        plain().transform([[1.0]])
    with pytest.raises(NotFittedError):
        plain().get_feature_names_out()


def test_wrong_columns_at_transform_are_refused():
    X = make_frame("pandas")
    encoder = plain().fit(X)
    with pytest.raises(ValueError, match="feature names"):
        encoder.transform(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="feature"):
        encoder.transform(X[["size", "color"]])


def test_input_is_not_changed():
    X = np.array([["a", np.nan], [None, 2.0], ["b", 6.0]], dtype=object)
    before = X.copy()
    plain(impute="median").fit_transform(X)
    assert [[str(cell) for cell in row] for row in X] == [
        [str(cell) for cell in row] for row in before
    ]


def test_clone_pickle_and_pipeline():
    X = make_frame("pandas")
    encoder = plain(categorical_features=["color"]).set_params(impute="median")
    assert clone(encoder).get_params() == encoder.get_params()
    encoder = plain().fit(X)
    again = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(again.transform(X), encoder.transform(X))
    table = load_uci("heart")
    pipeline = make_pipeline(plain(), KMeans(2, n_init=2, random_state=0))
    assert set(pipeline.fit_predict(table.data)) == {0, 1}


def test_output_names_are_unique():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": ["x", "y", "x"], "a=x": [1.0, 2.0, 4.0], "a=x_2": [3.0, 2.0, 1.0]})
    names = list(plain().fit(frame).get_feature_names_out())
    assert names == ["a=x", "a=y", "a=x_3", "a=x_2"]
    assert plain().set_output(transform="pandas").fit_transform(frame).shape == (3, 4)


# ---- categories kept as they are ----------------------------------------------------------------


def mixed_frame(df_module):
    return df_module.DataFrame(
        {
            "size": [1.0, 2.0, 3.0, 5.0],
            "color": ["red", "red", "blue", "red"],
            "same": [7.0, 7.0, 7.0, 7.0],
            "one": ["a", "a", "a", "a"],
        }
    )


def test_kept_categories_stay_beside_standardised_numbers(df_module):
    X = mixed_frame(df_module)
    encoder = plain(categorical="keep").fit(X)
    Z = encoder.transform(X)
    assert type(Z) is type(X)
    assert list(Z.columns) == ["size", "color"] == list(encoder.get_feature_names_out())
    np.testing.assert_allclose(Z["size"].to_numpy(), (np.array([1, 2, 3, 5]) - 2.75) / 4)
    assert list(Z["color"]) == ["red", "red", "blue", "red"]
    np.testing.assert_array_equal(encoder.origins_, [0, 1])
    rows = plain(categorical="keep").fit_transform(np.array(X.to_numpy(), dtype=object))
    assert rows.dtype == object
    np.testing.assert_array_equal(rows, Z.to_numpy())


def test_kept_categories_with_an_index_of_their_own():
    pd = pytest.importorskip("pandas")
    X = mixed_frame(pd).set_index(pd.Index([9, 3, 5, 4]))
    Z = plain(categorical="keep").fit_transform(X)
    assert list(Z.index) == [9, 3, 5, 4]
    np.testing.assert_allclose(Z["size"], (np.array([1, 2, 3, 5]) - 2.75) / 4)


def test_numbers_alone_are_an_array_in_both_ways(rng):
    X = rng.normal(size=(9, 3))
    np.testing.assert_array_equal(
        plain(categorical="keep").fit_transform(X), plain().fit_transform(X)
    )


def test_missing_values_may_be_filled_or_stay(df_module):
    X = df_module.DataFrame({"size": [1.0, None, 3.0, 5.0], "color": ["red", None, "blue", "red"]})
    filled = plain(categorical="keep", impute="median").fit_transform(X)
    assert list(filled["color"]) == ["red", "red", "blue", "red"]
    np.testing.assert_allclose(filled["size"].to_numpy(), (np.array([1, 3, 3, 5]) - 3) / 4)
    kept = plain(categorical="keep", impute="keep").fit_transform(X)
    assert np.isnan(kept["size"].to_numpy()).tolist() == [False, True, False, False]
    assert [isinstance(value, str) for value in kept["color"]] == [True, False, True, True]
    Z = plain(impute="keep").fit_transform(X)
    np.testing.assert_allclose(
        Z,
        [[-0.5, -1 / 3, 1 / 3], [np.nan] * 3, [0, 2 / 3, -2 / 3], [0.5, -1 / 3, 1 / 3]],
    )


def test_unknown_categories_are_refused_when_kept_too(df_module):
    X = mixed_frame(df_module)
    encoder = plain(categorical="keep", handle_unknown="error").fit(X)
    other = df_module.DataFrame({"size": [1.0], "color": ["green"], "same": [7.0], "one": ["a"]})
    with pytest.raises(ValueError, match="green"):
        encoder.transform(other)


def test_origins_name_the_column_behind_each_output():
    X = np.array([[1.0, "red", 2.0], [2.0, "blue", 3.0], [3.0, "red", 1.0]], dtype=object)
    np.testing.assert_array_equal(plain().fit(X).origins_, [0, 1, 1, 2])


def test_numbers_may_keep_their_values(df_module):
    frame = df_module.DataFrame({"a": [1.0, None, 9.0], "c": ["x", "y", "x"], "b": [2.0, 2.0, 2.0]})
    encoder = plain(standardize=False, impute="median").fit(frame)
    np.testing.assert_allclose(
        encoder.transform(frame), [[1.0, 1 / 3, -1 / 3], [5.0, -2 / 3, 2 / 3], [9.0, 1 / 3, -1 / 3]]
    )
    kept = plain(standardize=False, impute="median", categorical="keep").fit_transform(frame)
    assert list(kept["a"]) == [1.0, 5.0, 9.0]
    assert list(kept["c"]) == ["x", "y", "x"]


def test_every_categorical_column_has_the_mean_variance_of_the_numerical_ones(rng):
    pandas = pytest.importorskip("pandas")
    n = 200
    X = pandas.DataFrame(
        {
            "a": rng.normal(size=n),
            "color": rng.choice(list("xyz"), n),
            "b": rng.random(n) ** 3,
            "rare": rng.choice(["no", "yes"], n, p=[0.97, 0.03]),
            "same": "always",
        }
    )
    encoder = TableEncoder().fit(X)
    Z = encoder.transform(X)
    names = [name.partition("=")[0] for name in encoder.get_feature_names_out()]
    variance = pandas.Series(Z.var(axis=0)).groupby(names).sum()
    usual = variance[["a", "b"]].mean()
    np.testing.assert_allclose(variance[["color", "rare"]], usual)
    np.testing.assert_array_equal(Z[:, [0, 4]], plain().fit_transform(X)[:, [0, 4]])


def test_without_numbers_categorical_columns_have_equal_variance(rng):
    X = np.column_stack([rng.choice(list("xyzw"), 90), rng.choice(["u", "v"], 90, p=[0.9, 0.1])])
    Z, raw = TableEncoder().fit_transform(X), plain().fit_transform(X)
    first, second = Z[:, :4].var(axis=0).sum(), Z[:, 4:].var(axis=0).sum()
    assert first == pytest.approx(second)
    assert first + second == pytest.approx(raw.var(axis=0).sum())


def test_a_number_is_the_factor_of_squared_differences():
    X = np.array([["a", 1.0], ["b", 2.0], ["a", 4.0]], dtype=object)
    Z, raw = TableEncoder(category_weight=0.25).fit_transform(X), plain().fit_transform(X)
    np.testing.assert_allclose(Z, raw * [0.5, 0.5, 1.0])
    with pytest.raises(ValueError, match="category_weight"):
        TableEncoder(category_weight=0).fit(X)
