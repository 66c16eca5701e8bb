"""What is refused, and the sentence that says why."""

import numpy as np
import pytest
import scipy.sparse

from fwkmeans import EWKMeans, FGKMeans, IMWKMeans, KMeans
from laws.configurations import FEW, make_rows, name_of

METHODS = ("fit", "fit_predict", "fit_transform", "predict", "transform", "score")


def call(model, method, X):
    return getattr(model, method)(X)


@pytest.fixture
def fitted(rng):
    return KMeans(3, random_state=0).fit(make_rows(rng, 60, 4))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_cells_that_are_no_numbers_are_refused(fitted, method, bad, rng, dtype, source):
    X = make_rows(rng, 60, 4).astype(dtype)
    X[[3, 7], 2] = bad
    what = "infinity" if np.isinf(bad) else "NaN or other missing values"
    with pytest.raises(ValueError, match=rf"{what} in column 2 \(2 cells\)\. .*KMeans"):
        call(fitted, method, source(X))


def test_the_way_out_of_missing_values_is_named(rng):
    X = make_rows(rng, 60, 4)
    X[5, 0] = X[6, 3] = np.nan
    ways = r"columns 0, 3 \(2 cells\).*missing='ignore'.*missing='rescale'.*SimpleImputer"
    with pytest.raises(ValueError, match=ways):
        KMeans(3).fit(X)


@pytest.mark.parametrize("method", METHODS)
def test_missing_values_of_frames_are_named(method, rng, df_module):
    X = make_rows(rng, 60, 4)
    frame = df_module.DataFrame(dict(zip("abcd", X.T, strict=True)))
    model = KMeans(3, random_state=0).fit(frame)
    X[9, 1] = np.nan
    bad = df_module.DataFrame(dict(zip("abcd", X.T, strict=True)))
    with pytest.raises(ValueError, match=r"NaN or other missing values in column 'b' \(1 cell\)"):
        call(model, method, bad)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
def test_sparse_rows_are_refused_with_the_way_out(method, form, rng):
    X = make_rows(rng, 60, 4)
    model = IMWKMeans(3, p=1.5).fit(X)
    with pytest.raises(TypeError, match=r"X is sparse.*KMeans.*X\.toarray\(\).*TruncatedSVD"):
        call(model, method, form(X))


@pytest.mark.parametrize("method", METHODS)
def test_text_columns_are_named(method, rng, df_module):
    X = make_rows(rng, 60, 2)
    good = df_module.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    model = KMeans(3, random_state=0).fit(good)
    bad = df_module.DataFrame({"a": X[:, 0], "b": ["x", "y", "z"] * 20})
    with pytest.raises(ValueError, match=r"(?i)not numeric.*column 'b' of X.*TableEncoder"):
        call(model, method, bad)


@pytest.mark.parametrize("form", [np.array, np.ndarray.tolist], ids=["array", "list"])
@pytest.mark.parametrize("method", METHODS)
def test_text_in_arrays_is_named(method, form, rng):
    X = make_rows(rng, 60, 3)
    model = KMeans(3, random_state=0).fit(X)
    cells = X.astype(object)
    cells[:, 1] = [str(value) for value in X[:, 1]]  # text, but numbers
    np.testing.assert_array_equal(call(model, method, form(cells)), call(model, method, X))
    cells[7, 2] = "blue"
    message = r"Not numeric: column 2 of X \(text such as 'blue'\)\. KMeans takes.*TableEncoder"
    with pytest.raises(ValueError, match=message):
        call(model, method, form(cells))


def test_arrays_of_text_are_refused():
    with pytest.raises(ValueError, match=r"columns 0, 1 of X \(text such as 'a', 'b'\)"):
        KMeans(2).fit(np.array([["a", "b"], ["c", "d"], ["e", "f"]]))


def test_one_dimension_is_refused():
    with pytest.raises(ValueError, match="Expected 2D array"):
        KMeans(2).fit(np.arange(5.0))


@pytest.mark.parametrize(
    ("sample_weight", "message"),
    [
        (-np.ones(60), "Negative values in sample_weight"),
        (np.zeros(60), "sample_weight is zero for every row"),
        (np.ones(59), r"sample_weight\.shape == \(59,\), expected \(60,\)"),
        (np.ones((60, 2)), r"sample_weight\.shape"),
        (np.full(60, np.nan), "sample_weight contains NaN"),
        (np.r_[1, np.zeros(59)], r"n_samples=1 \(rows with weight\).*n_clusters=3"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_bad_sample_weights_are_named(sample_weight, message, rng, source):
    with pytest.raises(ValueError, match=message):
        KMeans(3).fit(source(make_rows(rng, 60, 4)), sample_weight=sample_weight)


def test_a_scalar_sample_weight_is_one_for_all(rng):
    X = make_rows(rng, 60, 4)
    a = KMeans(3, random_state=0).fit(X, sample_weight=2.0)
    b = KMeans(3, random_state=0).fit(X, sample_weight=np.full(60, 2.0))
    np.testing.assert_array_equal(a.labels_, b.labels_)


@pytest.mark.parametrize("configuration", FEW, ids=name_of)
def test_frames_equal_arrays(configuration, rng, df_module):
    X = make_rows(rng, 60, 4)
    frame = df_module.DataFrame(dict(zip("abcd", X.T, strict=True)))
    a = configuration.estimator(3, 4, n_init=1, random_state=0).fit(frame)
    b = configuration.estimator(3, 4, n_init=1, random_state=0).fit(X)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.feature_weights_, b.feature_weights_)
    assert list(a.feature_names_in_) == list("abcd")
    np.testing.assert_array_equal(a.predict(frame), a.labels_)
    assert a.score(frame) == a.inertia_ * -1
    reordered = frame[["b", "a", "c", "d"]]
    for method in ("predict", "transform", "score"):
        with pytest.raises(ValueError, match="feature names"):
            call(a, method, reordered)


def test_frames_of_mixed_numbers(rng, df_module):
    n = 40
    frame = df_module.DataFrame(
        {
            "whole": rng.integers(0, 9, n),
            "real": rng.random(n),
            "flag": rng.random(n) > 0.5,
            "small": rng.random(n).astype(np.float32),
        }
    )
    model = EWKMeans(2, random_state=0).fit(frame)
    X = np.column_stack([np.asarray(frame[name], dtype=float) for name in frame.columns])
    np.testing.assert_array_equal(model.labels_, EWKMeans(2, random_state=0).fit(X).labels_)


def test_centers_as_a_frame(rng, df_module):
    X = make_rows(rng, 40, 3)
    frame = df_module.DataFrame(dict(zip("abc", X.T, strict=True)))
    a = KMeans(2, init=frame[:2]).fit(frame)
    np.testing.assert_array_equal(a.labels_, KMeans(2, init=X[:2]).fit(X).labels_)
    wrong = frame[:2][["b", "a", "c"]]
    with pytest.raises(ValueError, match=r"columns of init are \['b', 'a', 'c'\]"):
        KMeans(2, init=wrong).fit(frame)


def test_refitting_forgets_names_and_width(rng, df_module):
    X = make_rows(rng, 40, 3)
    model = KMeans(2, random_state=0)
    model.fit(df_module.DataFrame(dict(zip("abc", X.T, strict=True))))
    model.fit(X[:, :2])
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 2
    with pytest.raises(ValueError, match="X has 3 features, but KMeans is expecting 2"):
        model.predict(X)


def test_refitting_with_other_groups(rng):
    X = make_rows(rng, 40, 4)
    model = FGKMeans(2, groups=[[0, 1], [2, 3]], random_state=0).fit(X)
    assert model.group_weights_.shape == (2, 2)
    assert model.set_params(groups=None).fit(X).group_weights_.shape == (2, 1)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_extreme_values_do_not_become_silent_nonsense(rng, source, scale):
    X = make_rows(rng, 40, 2) * [1.0, scale]
    with pytest.raises(ValueError, match="squares of column 1 of X underflow to zero or overflow"):
        KMeans(2, init="random", random_state=0).fit(source(X))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(60, 1, 2), (700, 5, 3), (300, 40, 41), (200, 160, 12)])
def test_predict_refuses_what_is_not_finite_while_it_assigns(shape, dtype, bad):
    n, m, k = shape
    X = np.random.default_rng(0).normal(size=(n, m)).astype(dtype)
    model = EWKMeans(k, init=X[:k].copy(), n_init=1, max_iter=300).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    for row in (0, n // 2, n - 1):
        broken = X.copy()
        broken[row, m // 2] = bad
        with pytest.raises(ValueError, match=f"{'NaN' if np.isnan(bad) else 'infinity'}"):
            model.predict(broken)
    huge = X.copy()
    huge[-1] = 1e30 if dtype is np.float32 else 1e140  # finite, if not its square in float
    assert model.predict(huge).shape == (n,)


def test_predict_wants_the_columns_of_fit():
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = KMeans(2, n_init=1, random_state=0).fit(X)
    with pytest.raises(ValueError, match="2 features"):
        model.predict(X[:, :2])
    frame = pd.DataFrame(X, columns=list("abc"))
    with pytest.warns(UserWarning, match="valid feature names"):
        KMeans(2, n_init=1, random_state=0).fit(frame).predict(X)
