"""Code for scikit-learn's KMeans runs with the import changed."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn import cluster
from sklearn.base import clone

from fwkmeans import KMeans
from laws.configurations import assert_identical, make_rows


def test_the_signature_has_all_that_scikit_learn_has():
    theirs = inspect.signature(cluster.KMeans).parameters
    ours = inspect.signature(KMeans).parameters
    assert set(theirs) <= set(ours)
    assert all(ours[name].kind is theirs[name].kind for name in theirs)
    same = ("n_clusters", "init", "n_init", "max_iter", "verbose", "copy_x", "algorithm")
    assert all(ours[name].default == theirs[name].default for name in same)


@pytest.mark.parametrize("algorithm", ["lloyd", "elkan"])
@pytest.mark.parametrize("copy_x", [True, False])
def test_results_do_not_depend_on_what_is_accepted_only(algorithm, copy_x, rng):
    X = make_rows(rng, 60, 4)
    kept = X.copy()
    model = KMeans(3, random_state=0, copy_x=copy_x, algorithm=algorithm).fit(X)
    np.testing.assert_array_equal(X, kept)
    assert_identical(model, KMeans(3, random_state=0).fit(X))
    assert_identical(model, clone(model).fit(X))
    assert_identical(model, pickle.loads(pickle.dumps(model)))
    assert model.set_params(algorithm="elkan").get_params()["algorithm"] == "elkan"


def test_the_same_call_gives_the_same_clusters(rng):
    X = make_rows(rng, 120, 4)
    options = {
        "init": X[:3],
        "n_init": 1,
        "max_iter": 100,
        "tol": 0,
        "verbose": 0,
        "random_state": 0,
        "copy_x": False,
        "algorithm": "elkan",
    }
    theirs, ours = (one(3, **options).fit(X.copy()) for one in (cluster.KMeans, KMeans))
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_)
    assert ours.inertia_ == pytest.approx(theirs.inertia_)
