"""Standardisation by mean and range."""

import pickle
from math import fsum

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from fwkmeans.datasets import load_uci
from fwkmeans.preprocessing import RangeStandardizer


def brute_force(X):
    columns = []
    for v in range(len(X[0])):
        column = [float(row[v]) for row in X]
        present = [value for value in column if value == value]
        span = max(present) - min(present)
        mean = fsum(present) / len(present)
        if span > 0:
            columns.append([(value - mean) / span for value in column])
    return np.array(columns).T


@pytest.mark.parametrize("name", ["wine", "glass", "ecoli", "ionosphere", "breast_cancer"])
def test_equals_the_formula(name):
    X = load_uci(name, as_frame=False).data
    Z = RangeStandardizer().fit_transform(X)
    np.testing.assert_allclose(Z, brute_force(X), rtol=0, atol=2e-14)


def test_mean_is_zero_and_range_one():
    X = np.random.RandomState(0).normal(size=(5000, 4)) * [1e-9, 1, 1e9, 1e150] + [0, 1e3, 1e9, 0]
    Z = RangeStandardizer().fit_transform(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.ptp(Z, axis=0), 1, rtol=1e-12)


def test_constant_columns_are_removed_and_restored():
    X = np.array([[1.0, 0.1, 5.0], [2.0, 0.1, 5.0], [4.0, 0.1, 7.0]])
    standardizer = RangeStandardizer().fit(X)
    Z = standardizer.transform(X)
    assert Z.shape == (3, 2)
    assert standardizer.support_.tolist() == [True, False, True]
    np.testing.assert_allclose(standardizer.inverse_transform(Z), X, rtol=1e-15)
    assert standardizer.get_feature_names_out().tolist() == ["x0", "x2"]
    assert standardizer.get_feature_names_out(["a", "b", "c"]).tolist() == ["a", "c"]


def test_constant_columns_can_be_kept():
    X = np.array([[1.0, 0.1, np.nan], [2.0, 0.1, np.nan]])
    standardizer = RangeStandardizer(drop_constant=False).fit(X)
    Z = standardizer.transform(X)
    np.testing.assert_array_equal(Z, [[-0.5, 0.0, np.nan], [0.5, 0.0, np.nan]])
    np.testing.assert_array_equal(standardizer.inverse_transform(Z), X)


def test_missing_values_are_ignored_and_kept():
    X = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, 6.0], [2.0, 4.0]])
    standardizer = RangeStandardizer().fit(X)
    assert standardizer.mean_.tolist() == [2.0, 4.0]
    assert standardizer.range_.tolist() == [2.0, 4.0]
    expected = [[-0.5, np.nan], [np.nan, -0.5], [0.5, 0.5], [0.0, 0.0]]
    np.testing.assert_array_equal(standardizer.transform(X), expected)


def test_wholly_missing_column_is_removed():
    X = np.array([[1.0, np.nan], [3.0, np.nan]])
    standardizer = RangeStandardizer().fit(X)
    np.testing.assert_array_equal(standardizer.transform(X), [[-0.5], [0.5]])
    np.testing.assert_array_equal(standardizer.inverse_transform([[0.5]]), [[3.0, np.nan]])


@pytest.mark.parametrize("order", ["C", "F"])
def test_float32_keeps_its_digits_far_from_zero(order):
    X = (np.random.RandomState(0).uniform(size=(9000, 2)) * 10 + 1e6).astype(
        np.float32, order=order
    )
    standardizer = RangeStandardizer().fit(X)
    Z = standardizer.transform(X)
    assert Z.dtype == np.float32
    exact = RangeStandardizer().fit_transform(X.astype(np.float64))
    np.testing.assert_allclose(Z, exact, atol=2e-7)
    assert standardizer.mean_.dtype == np.float64
    back = standardizer.inverse_transform(Z)
    assert back.dtype == np.float32
    np.testing.assert_allclose(back, X, rtol=1e-7)


def test_block_size_does_not_matter(monkeypatch):
    from fwkmeans.preprocessing import range_standardizer

    X = np.random.RandomState(0).normal(size=(1000, 3))
    X[::7, 1] = np.nan
    whole = RangeStandardizer().fit(X)
    monkeypatch.setattr(range_standardizer, "BLOCK_ROWS", 13)
    blocks = RangeStandardizer().fit(X)
    np.testing.assert_allclose(blocks.mean_, whole.mean_, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(blocks.range_, whole.range_)


def test_huge_values_do_not_overflow():
    X = np.array([[1e308], [1.5e308], [1.7e308]])
    Z = RangeStandardizer().fit_transform(X)
    np.testing.assert_allclose(Z, brute_force(X / 1e300), rtol=1e-12)
    with pytest.raises(ValueError, match=r"range of column\(s\) \[0\]"):
        RangeStandardizer().fit([[-1.7e308], [1.7e308]])


def test_infinity_is_refused():
    with pytest.raises(ValueError, match="infinity"):
        RangeStandardizer().fit([[1.0], [np.inf]])
    with pytest.raises(ValueError, match="infinity"):
        RangeStandardizer().fit([[1.0], [2.0]]).transform([[-np.inf]])


def test_table_without_a_varying_column_is_refused():
    with pytest.raises(ValueError, match=r"All 2 columns.*n_samples=1"):
        RangeStandardizer().fit([[1.0, 2.0]])
    np.testing.assert_array_equal(
        RangeStandardizer(drop_constant=False).fit_transform([[1.0, 2.0]]), [[0.0, 0.0]]
    )


def test_inverse_refuses_a_wrong_number_of_columns():
    standardizer = RangeStandardizer().fit([[1.0, 2.0, 3.0], [1.0, 3.0, 5.0]])
    with pytest.raises(ValueError, match=r"has 3 features, but .* puts out 2 of its 3"):
        standardizer.inverse_transform([[0.0, 0.0, 0.0]])


def test_unfitted_use_is_refused():
    for method in ("transform", "inverse_transform"):
        with pytest.raises(NotFittedError):
            getattr(RangeStandardizer(), method)([[1.0]])
    with pytest.raises(NotFittedError):
        RangeStandardizer().get_feature_names_out()


@pytest.mark.parametrize("module", ["pandas", "polars"])
def test_frames_in_and_out(module):
    library = pytest.importorskip(module)
    X = load_uci("breast_cancer", as_frame=module).data
    standardizer = RangeStandardizer().set_output(transform=module)
    Z = standardizer.fit_transform(X)
    assert isinstance(Z, library.DataFrame)
    assert list(Z.columns) == list(X.columns) == standardizer.feature_names_in_.tolist()
    expected = brute_force(load_uci("breast_cancer", as_frame=False).data)
    np.testing.assert_allclose(Z.to_numpy(), expected, atol=1e-14)


def test_nullable_columns_of_pandas_and_polars():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = [[-0.5], [np.nan], [0.5]]
    for X in (
        pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64")}),
        pl.DataFrame({"a": [1, None, 3]}),
    ):
        np.testing.assert_array_equal(RangeStandardizer().fit_transform(X), expected)


def test_clone_pickle_and_pipeline():
    X = load_uci("iris", as_frame=False).data
    standardizer = RangeStandardizer().fit(X)
    assert not hasattr(clone(standardizer), "mean_")
    again = pickle.loads(pickle.dumps(standardizer))
    np.testing.assert_array_equal(again.transform(X), standardizer.transform(X))
    labels = make_pipeline(RangeStandardizer(), KMeans(3, n_init=2, random_state=0)).fit_predict(X)
    assert len(set(labels)) == 3


def test_truth_values_are_truth_values():
    with pytest.raises(ValueError, match="drop_constant='no': expected True or False"):
        RangeStandardizer(drop_constant="no").fit([[1.0], [2.0]])
