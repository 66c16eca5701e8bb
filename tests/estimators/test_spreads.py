"""Columns in units that cannot be compared are named, once."""

import contextlib
import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fwkmeans import SYNCLUS, AWKMeans, ConvexKMeans, FeatureWeightedKMeans, KMeans
from fwkmeans.estimators import ALGORITHMS, spreads
from fwkmeans.exceptions import UnequalSpreadWarning
from fwkmeans.preprocessing import RangeStandardizer


@pytest.fixture(autouse=True)
def nothing_said_yet(monkeypatch):
    monkeypatch.setattr(spreads, "_said", set())


@pytest.fixture
def X(rng):
    return rng.random((60, 3)) * [1.0, 10.0, 5000.0]


def said(call, action="default"):
    """Return the warnings, by Python's rules for showing them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        call()
    return [one for one in caught if one.category is UnequalSpreadWarning]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_warns_by_name_with_what_to_do(name, X, df_module):
    frame = df_module.DataFrame({"hue": X[:, 0], "ash": X[:, 1], "proline": X[:, 2]})
    cls = ALGORITHMS[name]
    message = (
        r"Column 'proline' of X spreads \S+ times as widely as column 'hue'.*"
        rf"RangeStandardizer.*StandardScaler.*before {cls.__name__} in a pipeline"
    )
    with pytest.warns(UnequalSpreadWarning, match=message) as caught:
        cls(2, random_state=0).fit(frame)
    assert caught[0].filename == __file__


def test_columns_without_names_have_numbers(X):
    with pytest.warns(UnequalSpreadWarning, match=r"Column 2 of X spreads .* as column 0"):
        KMeans(2, random_state=0).fit_transform(X)


def test_loops_are_told_once(X):
    def loop():
        for seed in range(3):
            KMeans(2, random_state=seed).fit(X[seed:])
        KMeans(2, random_state=0).fit_predict(X)  # another line, too

    assert len(said(loop)) == 1
    search = GridSearchCV(AWKMeans(2, random_state=0), {"n_init": [1, 2]}, cv=2)
    assert len(said(lambda: search.fit(X))) == 1


def test_another_class_and_other_columns_are_told_again(X):
    def several():
        KMeans(2, random_state=0).fit(X)
        AWKMeans(2, random_state=0).fit(X)
        KMeans(2, random_state=0).fit(np.hstack([X, X]))

    assert len(said(several)) == 3


def test_who_asks_for_all_warnings_gets_all(X):
    def twice():
        KMeans(2, random_state=0).fit(X)
        KMeans(2, random_state=0).fit(X)

    assert len(said(twice)) == 1
    assert len(said(twice, "always")) == 2
    assert not said(twice, "ignore")
    for _ in range(2):
        with pytest.raises(UnequalSpreadWarning):
            said(twice, "error")


@pytest.mark.parametrize("scaler", [RangeStandardizer, StandardScaler])
def test_both_advices_help(scaler, rng):
    X = np.exp(3.0 * rng.standard_normal((500, 6))) * 10.0 ** np.arange(6)
    X[:, 5] = 0.0
    X[7, 5] = 1e-3  # one row in 500 differs
    assert said(lambda: KMeans(2, random_state=0).fit(X))
    assert not said(lambda: make_pipeline(scaler(), KMeans(2, random_state=0)).fit(X), "always")


@pytest.mark.parametrize("factor", [99.0, 101.0])
def test_the_limit_is_a_hundred(factor, rng):
    column = rng.random(50)
    X = np.stack([column, factor * column], axis=1)
    assert bool(said(lambda: KMeans(2, random_state=0).fit(X))) == (factor > 100)


def test_constant_and_categorical_columns_do_not_count(X, df_module):
    fine = X / [1.0, 10.0, 5000.0]
    fine[:, 2] = 1e6
    assert not said(lambda: KMeans(2, random_state=0).fit(fine))
    frame = df_module.DataFrame(
        {"a": 1e6 * X[:, 0], "b": 1e6 * X[:, 0] + X[:, 1], "c": ["x", "y"] * 30}
    )
    assert not said(lambda: AWKMeans(2, random_state=0).fit(frame))


def test_given_weights_have_looked_at_the_units(X):
    model = FeatureWeightedKMeans(2, weight_init=1.0 / X.var(axis=0), random_state=0)
    assert not said(lambda: model.fit(X))
    assert not said(lambda: SYNCLUS(2, weight_init="inverse-variance", random_state=0).fit(X))
    assert said(lambda: SYNCLUS(2, weight_init="random", random_state=0).fit(X))


def test_spherical_spaces_have_no_units(X):
    spaces = {"words": [1, 2], "number": [0]}
    model = ConvexKMeans(2, spaces=spaces, spherical=["words"], random_state=0)
    assert not said(lambda: model.fit(X))
    assert said(lambda: model.set_params(spherical=None).fit(X))


def test_a_scatter_that_underflows_is_no_division_by_zero(rng):
    X = rng.normal(size=(30, 2)) * [2e-162, 1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UnequalSpreadWarning)
        with contextlib.suppress(ValueError):  # such tables may be refused, in a sentence
            KMeans(2, random_state=0).fit(X)
