"""The trap of a grid search: what makes the objective small wins."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import silhouette_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from fwkmeans import AWKMeans, KMeans, WKMeans
from fwkmeans.exceptions import IncomparableScoresWarning
from fwkmeans.preprocessing import RangeStandardizer
from fwkmeans.selection import LabelFreeSearch


@pytest.fixture
def X(rng):
    return rng.random((60, 4))


def silhouette(model, X, y=None):
    return silhouette_score(X, model.predict(X))


def test_the_largest_beta_wins_and_the_user_is_told(X):
    search = GridSearchCV(AWKMeans(3, n_init=1, random_state=0), {"beta": [1.5, 2, 8]}, cv=2)
    with pytest.warns(IncomparableScoresWarning, match="Candidates for beta") as caught:
        search.fit(X)
    assert search.best_params_["beta"] == 8
    assert caught[0].filename == __file__
    assert "LabelFreeSearch" in str(caught[0].message)
    assert len(caught) == 1  # not for each of the six fits


def test_parameters_of_a_pipeline_are_seen(X):
    model = make_pipeline(RangeStandardizer(), KMeans(2, n_init=1, random_state=0))
    with pytest.warns(IncomparableScoresWarning, match="kmeans__n_clusters"):
        GridSearchCV(model, {"kmeans__n_clusters": [2, 3]}, cv=2).fit(X)


def test_searches_that_compare_what_compares_are_quiet(X):
    model = WKMeans(2, n_init=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GridSearchCV(model, {"n_init": [1, 3], "init": ["random"]}, cv=2).fit(X)
        GridSearchCV(model, {"beta": [2, 3]}, cv=2, scoring=silhouette).fit(X)
        assert np.isfinite(cross_val_score(model, X, cv=2)).all()
        assert np.isfinite(model.fit(X).score(X))
        LabelFreeSearch(model, {"beta": [2.0, 3.0]}).fit(X)
