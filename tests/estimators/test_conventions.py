"""What users of scikit-learn expect of an estimator."""

import logging
import pickle
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fwkmeans import AWKMeans, EWKMeans, FeatureWeightedKMeans, KMeans
from fwkmeans.datasets import load_uci
from fwkmeans.preprocessing import RangeStandardizer, TableEncoder
from fwkmeans.sources import MemorySource
from fwkmeans.weighting import ClusterPowerWeights, EntropyWeights
from laws.configurations import (
    FEW,
    RULE_LIST,
    assert_identical,
    each_in_both_ways,
    make_rows,
    name_of,
    some_rows,
    with_rule,
)

each_configuration = pytest.mark.parametrize("configuration", FEW, ids=name_of)


@pytest.mark.thinned
@each_in_both_ways
def test_precision_is_kept(configuration, rng, dtype, source):
    X = make_rows(rng, 60, 4).astype(dtype)
    model = configuration.estimator(3, 4, n_init=1, random_state=0).fit(source(X))
    assert model.cluster_centers_.dtype == dtype
    assert model.transform(source(X)).dtype == dtype
    assert model.feature_weights_.dtype == np.float64
    assert model.objective_history_.dtype == np.float64
    assert model.labels_.dtype == np.int32
    assert isinstance(model.inertia_, float)
    assert isinstance(model.n_iter_, int)
    assert isinstance(model.converged_, bool)


@each_configuration
def test_fit_leaves_parameters_alone(configuration, rng):
    X = make_rows(rng, 60, 4)
    centers = some_rows(rng, X, 3)
    model = configuration.estimator(3, 4, init=centers)
    before, ids = repr(model.get_params()), {k: id(v) for k, v in model.get_params().items()}
    kept = centers.copy()
    model.fit(X)
    assert repr(model.get_params()) == before
    assert {k: id(v) for k, v in model.get_params().items()} == ids
    np.testing.assert_array_equal(centers, kept)


@pytest.mark.parametrize("rule", RULE_LIST, ids=name_of)
def test_fit_leaves_parts_alone(rule, rng):
    model = with_rule(rule, 3, random_state=0)
    before = repr(rule)
    model.fit(make_rows(rng, 60, 4))
    assert model.weighting is rule
    assert repr(rule) == before


@each_configuration
def test_pickling_cloning_and_refitting(configuration, rng, tmp_path):
    X = make_rows(rng, 60, 4)
    model = configuration.estimator(3, 4, n_init=2, random_state=0)
    fitted = clone(model).fit(X)
    assert_identical(fitted, clone(fitted).fit(X))
    again = pickle.loads(pickle.dumps(fitted))
    assert_identical(fitted, again)
    np.testing.assert_array_equal(again.predict(X), fitted.labels_)
    assert again.score(X) == fitted.score(X)
    joblib.dump(fitted, tmp_path / "model.joblib")
    assert_identical(fitted, joblib.load(tmp_path / "model.joblib"))
    assert_identical(fitted, clone(fitted).fit(X[::-1]).fit(X))  # nothing remains of a first fit


@each_configuration
def test_a_model_fitted_on_blocks_can_be_pickled(configuration, rng, tmp_path):
    X = make_rows(rng, 60, 4)
    np.save(tmp_path / "rows.npy", X)
    fitted = configuration.estimator(3, 4, n_init=1, random_state=0).fit(tmp_path / "rows.npy")
    (tmp_path / "rows.npy").unlink()
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.labels_)
    assert len(pickle.dumps(fitted)) < 20_000


def test_random_state_instances_move_on(rng):
    X = make_rows(rng, 60, 4)
    state = np.random.RandomState(0)
    model = KMeans(5, init="random", n_init=1, random_state=state)
    first = model.fit(X).cluster_centers_
    second = model.fit(X).cluster_centers_
    assert not np.array_equal(first, second)


@each_configuration
def test_pipelines(configuration, rng):
    X = make_rows(rng, 60, 4)
    model = configuration.estimator(3, 4, n_init=1, random_state=0)
    pipeline = make_pipeline(StandardScaler(), model)
    labels = pipeline.fit_predict(X)
    np.testing.assert_array_equal(labels, pipeline.predict(X))
    assert pipeline.transform(X).shape == (60, 3)
    assert np.isfinite(pipeline.score(X))


@pytest.mark.parametrize("configuration", FEW, ids=name_of)
def test_names_of_the_output(configuration, rng, df_module):
    X = make_rows(rng, 30, 4)
    model = configuration.estimator(3, 4, n_init=1, random_state=0)
    name = type(model).__name__.lower()
    model.set_output(transform=df_module.__name__)
    frame = model.fit_transform(X)
    assert isinstance(frame, df_module.DataFrame)
    assert list(frame.columns) == [f"{name}{k}" for k in range(3)]
    assert list(model.get_feature_names_out()) == [f"{name}{k}" for k in range(3)]


@pytest.mark.filterwarnings("ignore::fwkmeans.exceptions.IncomparableScoresWarning")
def test_grid_search_over_nested_parts(rng):
    X = make_rows(rng, 60, 4)
    model = FeatureWeightedKMeans(3, weighting=EntropyWeights(), n_init=1, random_state=0)
    search = GridSearchCV(model, {"weighting__gamma": [0.5, 5.0, "auto"]}, cv=2).fit(X)
    assert search.best_params_["weighting__gamma"] in (0.5, 5.0, "auto")
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert search.best_estimator_.weighting.gamma == search.best_params_["weighting__gamma"]
    parts = [EntropyWeights(1.0), ClusterPowerWeights(2.0)]
    search = GridSearchCV(model, {"weighting": parts, "n_clusters": [2, 3]}, cv=2, n_jobs=2)
    with joblib.parallel_backend("threading"):
        assert search.fit(X).best_params_["n_clusters"] in (2, 3)


@each_configuration
def test_too_few_iterations_are_reported(configuration, rng):
    X = make_rows(rng, 200, 4)
    model = configuration.estimator(6, 4, init=X[:6], max_iter=1)
    with pytest.warns(ConvergenceWarning, match=r"did not converge in 1 iterations.*max_iter"):
        model.fit(X)
    assert not model.converged_
    assert model.n_iter_ == 1


def test_the_warning_points_at_the_caller(rng):
    X = make_rows(rng, 200, 4)
    for call in (EWKMeans.fit, EWKMeans.fit_predict):
        with pytest.warns(ConvergenceWarning) as caught:
            call(EWKMeans(6, init=X[:6], max_iter=1, tol=0), X)
        assert caught[0].filename == __file__
    with pytest.warns(ConvergenceWarning) as caught:
        EWKMeans(6, init=X[:6], max_iter=1, tol=0).fit_transform(X)
    assert caught[0].filename == __file__
    with pytest.warns(RuntimeWarning, match="one start is run") as caught:
        KMeans(6, init=X[:6], n_init=3).fit(X)
    assert caught[0].filename == __file__


def test_fewer_distinct_rows_than_clusters_are_reported():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\).*n_clusters \(4\)"):
        KMeans(4, random_state=0).fit(X)


def test_an_array_of_centers_is_one_start(rng):
    X = make_rows(rng, 40, 4)
    with pytest.warns(RuntimeWarning, match="one start is run instead of n_init=5") as caught:
        KMeans(2, init=X[:2], n_init=5).fit(X)
    assert caught[0].filename == __file__
    KMeans(2, init=X[:2], n_init=1).fit(X)
    KMeans(2, init=X[:2].tolist()).fit(X)


def test_a_callable_draws_centers(rng, global_random_seed):
    X = make_rows(rng, 60, 4)
    seen = []

    def first_rows(rows, n_clusters, random_state):
        seen.append(random_state.randint(1000))
        return rows[:n_clusters]

    model = KMeans(3, init=first_rows, n_init=3, random_state=global_random_seed).fit(X)
    assert len(set(seen)) == 3
    expected = KMeans(3, init=X[:3]).fit(X)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    with pytest.raises(ValueError, match=r"initial centers \(2, 4\)"):
        KMeans(3, init=lambda rows, n_clusters, random_state: rows[:2]).fit(X)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_clusters": 0}, ValueError, "KMeans got n_clusters=0: expected an integer >= 1"),
        ({"n_clusters": 2.5}, TypeError, "n_clusters=2.5: expected an integer"),
        ({"n_clusters": 61}, ValueError, r"n_samples=60.*should be >= n_clusters=61"),
        ({"max_iter": 0}, ValueError, "max_iter=0: expected an integer >= 1"),
        ({"tol": -1e-3}, ValueError, "tol=-0.001: expected a finite number >= 0"),
        ({"n_init": 0}, ValueError, "n_init=0: expected 'auto' or an integer >= 1"),
        ({"n_init": "many"}, ValueError, "n_init='many': expected 'auto' or an integer"),
        ({"tol": float("nan")}, ValueError, "tol=nan: expected a finite number"),
        ({"init": None}, ValueError, r"init=None: expected .* an array of centers or a callable"),
        ({"init": [1.0, 2.0, 3.0]}, ValueError, r"expected centers of shape \(3, 4\)"),
        ({"init": "kmeans++"}, ValueError, r"init='kmeans\+\+': expected 'k-means\+\+', 'random'"),
        ({"init": np.zeros((2, 4))}, ValueError, r"\(2, 4\).*expected \(3, 4\)"),
        ({"init": np.full((3, 4), np.nan)}, ValueError, "init contains NaN"),
        ({"n_jobs": 0}, ValueError, "n_jobs=0: expected None or an integer.*-1 are all cores"),
        ({"n_jobs": 1.5}, TypeError, "n_jobs=1.5: expected None or an integer"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(parameters, error, message, rng):
    with pytest.raises(error, match=message):
        KMeans(**{"n_clusters": 3} | parameters).fit(make_rows(rng, 60, 4))


@each_configuration
def test_unfitted_models_say_so(configuration, rng):
    X = make_rows(rng, 10, 4)
    model = configuration.estimator(2, 4)
    for method in (model.predict, model.transform, model.score):
        with pytest.raises(NotFittedError):
            method(X)


def test_verbose_shows_progress_and_nothing_else_does(rng, capsys, monkeypatch):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # those of pytest
    X = make_rows(rng, 60, 4)
    KMeans(3, random_state=0).fit(X)
    assert capsys.readouterr().out == ""
    KMeans(3, random_state=0, verbose=1).fit(X)
    assert "starts 1 to 10 of 10" in capsys.readouterr().out
    KMeans(3, random_state=0, verbose=2).fit(X)
    assert "iteration 1" in capsys.readouterr().out
    KMeans(3, random_state=0).fit(X)
    assert capsys.readouterr().out == ""


def test_who_has_set_up_logging_gets_each_line_once(rng, capsys, caplog):
    KMeans(3, random_state=0, verbose=1).fit(make_rows(rng, 60, 4))
    assert capsys.readouterr().out == ""
    assert caplog.text.count("starts 1 to 10 of 10") == 1


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, np.int8])
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_numpy_integers_are_integers(rng, kind, init):
    X = rng.random((120, 30))
    same = {"init": init, "weight_init": "random", "random_state": 0}
    numpy_integers = EWKMeans(kind(100), n_init=kind(4), max_iter=kind(20), **same).fit(X)
    integers = EWKMeans(100, n_init=4, max_iter=20, **same).fit(X)
    np.testing.assert_array_equal(numpy_integers.cluster_centers_, integers.cluster_centers_)


def test_fewer_clusters_than_asked_for_are_never_silent():
    X = TableEncoder().fit_transform(load_uci("tic_tac_toe").data)
    lost = 0  # the published weights rest on single columns here
    for seed in range(40):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            model = AWKMeans(6, beta=1.2, guard=0, init="random", n_init=1, random_state=seed).fit(
                X
            )
        said = any("distinct clusters" in str(warning.message) for warning in caught)
        assert said == (len(np.unique(model.labels_)) < 6)
        lost += said
    assert lost


def test_float32_frames_stay_float32(df_module, rng):
    frame = df_module.DataFrame({"a": rng.random(40, dtype="f4"), "b": rng.random(40, dtype="f4")})
    model = KMeans(2, random_state=0).fit(frame)
    assert model.cluster_centers_.dtype == np.float32
    assert model.transform(frame).dtype == np.float32
    assert np.asarray(RangeStandardizer().fit_transform(frame)).dtype == np.float32


def test_a_memory_source_is_taken_with_its_weights(rng):
    X, weight = rng.random((50, 3)), rng.integers(0, 3, 50).astype(float)
    a = EWKMeans(2, init=X[:2]).fit(MemorySource(X, weight))
    b = EWKMeans(2, init=X[:2]).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(a.cluster_centers_, b.cluster_centers_)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_seeding_does_not_care_where_the_origin_is(offset):
    X, _ = make_blobs(300, 4, centers=8, cluster_std=0.5, random_state=0)
    inertia = [
        KMeans(8, n_init=1, random_state=seed).fit(X + offset).inertia_ for seed in range(10)
    ]
    expected = [KMeans(8, n_init=1, random_state=seed).fit(X).inertia_ for seed in range(10)]
    assert np.mean(inertia) < 1.3 * np.mean(expected)


def test_tol_zero_goes_on_longer(rng):
    X = rng.random((400, 3))
    exact = EWKMeans(5, init=X[:5], tol=0).fit(X)
    early = EWKMeans(5, init=X[:5], tol=1e-2).fit(X)
    assert early.n_iter_ < exact.n_iter_
    np.testing.assert_array_equal(
        early.objective_history_, exact.objective_history_[: early.n_iter_]
    )
