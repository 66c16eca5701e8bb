"""A sweep is what the estimator does, start by start and value by value, to the bit."""

import numpy as np
import pytest
from sklearn.base import clone

import fwkmeans.estimators.plan
from fwkmeans import (
    SYNCLUS,
    AWKMeans,
    ConvexKMeans,
    EWKMeans,
    FGKMeans,
    FWSAKMeans,
    IKPrototypes,
    IMWKMeans,
    KMeans,
    WKMeans,
)
from fwkmeans.datasets import add_noise_features, load_uci
from fwkmeans.preprocessing import TableEncoder
from fwkmeans.selection import sweep

SWEEPS = {
    "awk": (AWKMeans(3), "beta", [1.0, 1.5, 2.0, 4.9]),
    "wk": (WKMeans(3), "beta", [-1.0, 0.0, 1.0, 1.1, 3.0]),
    "wk-huang": (WKMeans(3, zero="huang"), "beta", [1.0, 1.1, 3.0]),
    "wk-cluster": (WKMeans(3, weights="cluster", smoothing="refresh"), "beta", [1.0, 1.1, 3.0]),
    "wk-random-weights": (WKMeans(3, weight_init="random"), "beta", [1.3, 2.5]),
    "ewk": (EWKMeans(3), "gamma", [0.0, 0.3, 5.0, "auto"]),
    "ewk-mean": (EWKMeans(3, dispersion="mean"), "gamma", [0.0, 0.01, 0.3]),
    "ikp": (IKPrototypes(3), "beta", [1.0, 1.5, 5.0]),
    "ikp-median": (IKPrototypes(3, variant="median"), "beta", [1.2, 5.0]),
    "imwk": (IMWKMeans(3), "p", [1.0, 1.3, 2.0, 4.0, np.inf]),
    "imwk-random": (IMWKMeans(3, init="random"), "p", [1.3, 2.0]),
    "fwsa": (FWSAKMeans(3), None, [None]),
    "kmeans": (KMeans(3), None, [None]),
    "kmeans-clusters": (KMeans(3), "n_clusters", [2, 3, 5]),
    "fgk": (FGKMeans(3, groups=[0, 0, 1, 1, 2, 2, 2, 2]), "eta", [0.1, 1.0, "auto"]),
    "synclus": (SYNCLUS(3, groups=[0, 0, 1, 1, 2, 2, 2, 2]), None, [None]),
}


@pytest.fixture(scope="module")
def rows():
    X = add_noise_features(load_uci("iris", as_frame=False).data, random_state=0)
    return TableEncoder().fit_transform(X)


def with_value(estimator, parameter, value, **others):
    model = clone(estimator).set_params(**others)
    return model if parameter is None else model.set_params(**{parameter: value})


@pytest.mark.thinned
@pytest.mark.filterwarnings("ignore:init='anomalous' draws nothing")
@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize("together", [16 * 2**20, 1], ids=["one batch", "start by start"])
def test_every_value_is_a_fit_of_the_estimator(name, together, rows, monkeypatch):
    estimator, parameter, values = SWEEPS[name]
    seeds = [5 + at for at in range(len(values))]
    monkeypatch.setattr(fwkmeans.estimators.plan, "BATCH_BYTES", together)
    runs = sweep(estimator, rows, parameter, values, n_starts=6, random_states=seeds)
    for at, (value, seed) in enumerate(zip(values, seeds, strict=True)):
        model = with_value(estimator, parameter, value, n_init=6, random_state=seed).fit(rows)
        best = fwkmeans._engine.first_lowest(runs.objective[at])
        np.testing.assert_array_equal(runs.labels[at, best], model.labels_)
        assert runs.objective[at, best] == model.objective_history_[-1]
        assert runs.n_iter[at, best] == model.n_iter_
        assert runs.converged[at, best] == model.converged_


@pytest.mark.parametrize("name", ["awk", "wk-cluster", "ewk-mean", "ikp", "fgk"])
def test_every_start_is_a_fit_from_its_centers(name, rows):
    """The other starts too, not only the best: each one alone, from given centers."""
    estimator, parameter, values = SWEEPS[name]
    estimator = clone(estimator).set_params(init="random")
    runs = sweep(estimator, rows, parameter, values, n_starts=5, random_states=range(len(values)))
    from fwkmeans._init import Seeds, random_entities
    from fwkmeans.sources import MemorySource, describe

    source = MemorySource(rows)
    table, _ = describe(source)
    for at, value in enumerate(values):
        centers = random_entities(source, 3, Seeds(at), range(5), table)
        for start in range(5):
            model = with_value(estimator, parameter, value, init=centers[start]).fit(rows)
            np.testing.assert_array_equal(runs.labels[at, start], model.labels_)
            assert runs.objective[at, start] == model.objective_history_[-1]


@pytest.mark.parametrize("algorithm", [AWKMeans, IKPrototypes])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_categories_and_types(algorithm, dtype):
    X = load_uci("australian").data
    table = TableEncoder(categorical="keep").fit_transform(X)
    numbers = table.select_dtypes("number").columns
    table = table.astype(dict.fromkeys(numbers, dtype))
    runs = sweep(algorithm(2), table, "beta", [1.5, 4.0], n_starts=4, random_states=[1, 2])
    for at, beta in enumerate([1.5, 4.0]):
        model = algorithm(2, beta=beta, n_init=4, random_state=at + 1).fit(table)
        best = fwkmeans._engine.first_lowest(runs.objective[at])
        np.testing.assert_array_equal(runs.labels[at, best], model.labels_)


def test_an_estimator_that_searches_is_fitted_start_by_start(rows):
    spaces = [0, 0, 1, 1, 2, 2, 2, 2]
    runs = sweep(ConvexKMeans(3, spaces=spaces, grid=[[0.5, 0.3, 0.2]]), rows, n_starts=3)
    assert runs.labels.shape == (1, 3, 150)
    assert np.isfinite(runs.objective).all()


def test_a_deterministic_algorithm_runs_once(rows):
    assert sweep(IMWKMeans(3, init="anomalous"), rows, "p", [1.5, 2.0]).labels.shape == (2, 1, 150)


def test_the_estimator_is_not_changed(rows):
    estimator = WKMeans(3, beta=2.0, random_state=0)
    sweep(estimator, rows, "beta", [1.5], n_starts=2)
    assert estimator.beta == 2.0
    assert not hasattr(estimator, "labels_")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"values": []}, "values is empty"),
        ({"values": [0.5]}, "beta=0.5"),
        ({"values": [2.0, 3.0], "random_states": [1]}, "random_states has 1"),
        ({"parameter": "missing", "values": ["error"]}, "cannot be swept"),
        ({"parameter": "max_iter", "values": [1]}, "cannot be swept"),
        ({"parameter": "init", "values": ["random"]}, "cannot be swept"),
        ({"parameter": "nothing"}, "Invalid parameter"),
        ({"n_starts": 0}, "n_starts"),
    ],
)
def test_what_cannot_be_run_is_said(given, message, rows):
    arguments = {"parameter": "beta", "values": [2.0], "n_starts": 2, **given}
    with pytest.raises(ValueError, match=message):
        sweep(WKMeans(3), rows, **arguments)


def test_values_that_differ_far_inside_a_long_array_run_apart(rng):
    """Groups of 1500 columns look the same when they are printed."""
    X = rng.random((12, 1500))
    groups = np.zeros((2, 1500), dtype=int)
    groups[0, 700:] = 1
    groups[1, 800:] = 1
    options = {"n_clusters": 2, "random_state": 0, "max_iter": 3}
    runs = sweep(FGKMeans(**options), X, "groups", list(groups), n_starts=2)
    for at, own in enumerate(groups):
        model = FGKMeans(**options, groups=own, n_init=2).fit(X)
        assert model.objective_history_[-1] in runs.objective[at]
