"""Noise features on the domains of the original ones."""

import numpy as np
import pytest

from fwkmeans.datasets import add_noise_features, load_uci
from fwkmeans.preprocessing import TableEncoder


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_arrays_keep_dtype_and_columns(dtype):
    X = np.random.RandomState(0).normal(size=(300, 3)).astype(dtype)
    before = X.copy()
    noisy = add_noise_features(X, random_state=1)
    assert noisy.dtype == dtype
    assert noisy.shape == (300, 6)
    np.testing.assert_array_equal(noisy[:, :3], before)
    np.testing.assert_array_equal(X, before)
    for v in range(3):
        assert noisy[:, 3 + v].min() >= X[:, v].min()
        assert noisy[:, 3 + v].max() <= X[:, v].max()


def test_numerical_noise_is_uniform_on_the_domain():
    X = np.column_stack([np.random.RandomState(0).exponential(size=20000)])
    noise = add_noise_features(X, random_state=2)[:, 1]
    shares = (noise - X.min()) / (X.max() - X.min())
    counts = np.histogram(shares, bins=20, range=(0, 1))[0]
    assert np.abs(counts - 1000).max() < 160
    assert abs(np.corrcoef(X[:, 0], noise)[0, 1]) < 0.03


def test_integers_get_real_noise():
    X = np.array([[1], [2], [5], [9]])
    noisy = add_noise_features(X, random_state=0)
    assert noisy.dtype == np.float64
    assert not np.array_equal(noisy[:, 1], np.round(noisy[:, 1]))


def test_categorical_noise_is_uniform_over_categories_not_rows():
    X = np.array([["a"]] * 5900 + [["b"]] * 50 + [["c"]] * 50, dtype=object)
    noise = add_noise_features(X, random_state=0)[:, 1]
    counts = [(noise == one).sum() for one in "abc"]
    assert max(abs(count - 2000) for count in counts) < 180


def test_numeric_codes_declared_categorical_stay_codes():
    X = np.array([[1, 10], [3, 20], [7, 30], [7, 40]] * 20)
    noisy = add_noise_features(X, categorical_features=[0], random_state=0)
    assert set(noisy[:, 2]) == {1.0, 3.0, 7.0}
    assert noisy.dtype == np.float64
    codes = add_noise_features(X, categorical_features=[0, 1], random_state=0)
    assert codes.dtype == X.dtype


def test_missing_values_are_ignored():
    X = np.array([[np.nan, np.nan], [1.0, np.nan], [2.0, np.nan]])
    noisy = add_noise_features(X, random_state=0)
    assert ((noisy[:, 2] >= 1) & (noisy[:, 2] <= 2)).all()
    assert np.isnan(noisy[:, 3]).all()
    words = np.array([["a", None], [None, None], ["b", None]] * 30, dtype=object)
    noise = add_noise_features(words, categorical_features=[0, 1], random_state=0)[:, 2:]
    assert set(noise[:, 0]) == {"a", "b"}
    assert set(noise[:, 1]) == {None}


def test_constant_column_gives_constant_noise():
    X = np.array([[0.1, 3.0], [0.1, 4.0], [0.1, 5.0]])
    assert (add_noise_features(X, random_state=0)[:, 2] == 0.1).all()
    one_row = add_noise_features(X[:1], random_state=0)
    np.testing.assert_array_equal(one_row, [[0.1, 3.0, 0.1, 3.0]])


def test_huge_domain_does_not_overflow():
    noisy = add_noise_features(np.array([[-1.7e308], [1.7e308]] * 50), random_state=0)
    assert np.isfinite(noisy).all()


@pytest.mark.parametrize(("n_noise", "sources"), [(0, []), (1, [0]), (5, [0, 1, 0, 1, 0])])
def test_number_of_noise_features(n_noise, sources):
    X = np.array([[0.0, 100.0], [1.0, 101.0]])
    noisy = add_noise_features(X, n_noise=n_noise, random_state=0)
    assert noisy.shape == (2, 2 + n_noise)
    assert [int(noisy[0, 2 + j] >= 100) for j in range(n_noise)] == sources


@pytest.mark.parametrize("module", ["pandas", "polars"])
def test_frames_keep_types_and_get_new_names(module):
    library = pytest.importorskip(module)
    X = load_uci("heart", as_frame=module).data
    noisy = add_noise_features(X, random_state=0)
    assert isinstance(noisy, library.DataFrame)
    assert list(noisy.columns) == [*X.columns, *[f"noise_{name}" for name in X.columns]]
    for name in X.columns:
        assert noisy[f"noise_{name}"].dtype == X[name].dtype
        original, noise = X[name].to_numpy(), noisy[f"noise_{name}"].to_numpy()
        if original.dtype == object:
            assert set(noise) == set(original)
        else:
            assert original.min() <= noise.min() <= noise.max() <= original.max()


@pytest.mark.parametrize("module", ["pandas", "polars"])
def test_frame_and_array_get_the_same_noise(module):
    pytest.importorskip(module)
    frame = add_noise_features(load_uci("wine", as_frame=module).data, random_state=7)
    array = add_noise_features(load_uci("wine", as_frame=False).data, random_state=7)
    np.testing.assert_array_equal(frame.to_numpy(), array)


def test_pandas_index_dtypes_and_names():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(
        {
            "a": np.arange(4),
            "noise_a": np.arange(4, dtype=np.float32),
            "c": pd.Categorical(["x", "y", "x", "y"], categories=["z", "y", "x"]),
            "b": [True, False, True, True],
            "k": pd.array([1, None, 3, 4], dtype="Int64"),
        },
        index=[7, 3, 5, 1],
    )
    noisy = add_noise_features(X, random_state=0)
    assert list(noisy.index) == [7, 3, 5, 1]
    assert list(noisy.columns[5:]) == [
        "noise_a_2",
        "noise_noise_a",
        "noise_c",
        "noise_b",
        "noise_k",
    ]
    assert noisy["a"].dtype == X["a"].dtype
    assert noisy["noise_a_2"].dtype == np.float64
    assert noisy["noise_noise_a"].dtype == np.float32
    assert noisy["noise_c"].dtype == X["c"].dtype
    assert set(noisy["noise_c"]) <= {"x", "y"}
    assert noisy["noise_b"].dtype == bool
    assert noisy["noise_k"].between(1, 4).all()
    assert list(X.columns) == ["a", "noise_a", "c", "b", "k"]


def test_pandas_integer_names_count_on():
    pd = pytest.importorskip("pandas")
    noisy = add_noise_features(pd.DataFrame(np.eye(3)), random_state=0)
    assert list(noisy.columns) == list(range(6))


def test_polars_enum_and_nulls():
    pl = pytest.importorskip("polars")
    X = pl.DataFrame(
        {
            "e": pl.Series(["x", None, "y"], dtype=pl.Enum(["y", "x", "w"])),
            "c": pl.Series(["x", None, "y"], dtype=pl.Categorical),
            "i": [1, None, 3],
            "none": pl.Series([None, None, None], dtype=pl.Float64),
        }
    )
    noisy = add_noise_features(X, random_state=0)
    assert noisy.schema["noise_e"] == X.schema["e"]
    assert noisy["noise_e"].null_count() == 0
    assert noisy["noise_i"].is_between(1, 3).all()
    assert np.isnan(noisy["noise_none"].to_numpy()).all()


def test_categorical_features_by_name_and_mask():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"code": [1, 2, 9] * 10, "size": [0.5, 1.5, 2.5] * 10})
    for given in (["code"], [True, False], [0]):
        noisy = add_noise_features(X, categorical_features=given, random_state=0)
        assert set(noisy["noise_code"]) == {1, 2, 9}
        assert noisy["noise_code"].dtype == X["code"].dtype


def test_infinite_and_text_columns_are_refused():
    with pytest.raises(ValueError, match="infinity in column 'x1'"):
        add_noise_features([[0.0, np.inf], [1.0, 2.0]])
    words = np.array([["a"], ["b"]], dtype=object)
    with pytest.raises(ValueError, match=r"'x0' holds the value 'a'.*categorical_features"):
        add_noise_features(words, categorical_features=None)
    with pytest.raises(ValueError, match="n_noise"):
        add_noise_features([[0.0]], n_noise=-1)


def test_seed_decides_the_result():
    X = np.random.RandomState(0).normal(size=(20, 2))
    first, again = (add_noise_features(X, random_state=4) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, add_noise_features(X, random_state=5))


@pytest.mark.parametrize("frame", ["pandas", "polars", False])
def test_the_survey_s_doubling_encodes(frame):
    if frame:
        pytest.importorskip(frame)
    X = load_uci("tae", as_frame=frame).data
    noisy = add_noise_features(X, random_state=0)
    assert TableEncoder().fit_transform(noisy).shape == (151, 2 * (2 + 25 + 26 + 2 + 1))
