"""scikit-learn's own tests of KMeans on sparse rows, with the import changed."""

import itertools

import numpy as np
import pytest
from scipy.sparse import issparse

from fwkmeans import KMeans

theirs = pytest.importorskip("sklearn.cluster.tests.test_k_means")

KMEANS, CONTAINERS, PARAM = theirs.KMeans, theirs.CSR_CONTAINERS, type(pytest.param())

#: Their tests in which `KMeans` gets sparse rows. The others are of dense rows, of
#: `MiniBatchKMeans` or of private functions. `test_relocating_with_duplicates` is left out: it
#: asserts ``n_iter_ == 1``, and here the iteration that finds nothing to change counts, on dense
#: rows as well.
APPLY = [
    "test_all_init",
    "test_dense_sparse",
    "test_float_precision",
    "test_integer_input",
    "test_k_means_1_iteration",
    "test_kmeans_elkan_results",
    "test_kmeans_empty_cluster_relocated",
    "test_kmeans_init_fitted_centers",
    "test_kmeans_predict",
    "test_kmeans_relocated_clusters",
    "test_kmeans_results",
    "test_predict_dense_sparse",
    "test_predict_does_not_change_cluster_centers",
    "test_scaled_weights",
    "test_unit_weights_vs_no_weights",
]


def cases(name):
    """Yield the arguments of a test of theirs, where they are for `KMeans` and sparse rows."""
    marks = getattr(getattr(theirs, name), "pytestmark", [])
    columns = []
    for names, values in (mark.args[:2] for mark in marks if mark.name == "parametrize"):
        names = [one.strip() for one in names.split(",")] if isinstance(names, str) else names
        rows = [v.values if isinstance(v, PARAM) else v if len(names) > 1 else (v,) for v in values]
        columns.append([dict(zip(names, row, strict=True)) for row in rows])
    for chosen in itertools.product(*columns):
        case = {key: value for one in chosen for key, value in one.items()}
        if any(value is theirs.MiniBatchKMeans for value in case.values()):
            continue
        if any(issparse(v) or (isinstance(v, type) and v in CONTAINERS) for v in case.values()):
            yield {key: KMeans if value is KMEANS else value for key, value in case.items()}


@pytest.mark.parametrize("name", APPLY)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # n_init with given centers, as theirs warns
def test_a_test_of_scikit_learn_passes(name, monkeypatch, global_random_seed):
    monkeypatch.setattr(theirs, "KMeans", KMeans)
    function = getattr(theirs, name)
    wanted = function.__code__.co_varnames[: function.__code__.co_argcount]
    fixtures = {"global_random_seed": global_random_seed, "global_dtype": np.float64}
    given = {key: value for key, value in fixtures.items() if key in wanted}
    n_run = 0
    for case in cases(name):
        function(**case, **given)
        n_run += 1
    assert n_run > 1


def test_none_of_their_tests_of_sparse_rows_is_forgotten():
    """A newer scikit-learn may have more."""
    left_out = {
        "test_minibatch_reassign",
        "test_minibatch_update_consistency",
        "test_kmeans_plusplus_output",
        "test_relocate_empty_clusters",
        "test_relocating_with_duplicates",
    }
    found = {name for name in dir(theirs) if name.startswith("test_") and any(cases(name))}
    assert found - left_out <= set(APPLY)
