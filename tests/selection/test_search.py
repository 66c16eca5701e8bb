"""The search does what scikit-learn's searches do, but judges the clusters themselves."""

import logging
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import coo_array, csr_matrix
from sklearn.base import clone, is_clusterer
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import fwkmeans.selection.candidates
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
from fwkmeans.preprocessing import RangeStandardizer, TableEncoder
from fwkmeans.selection import (
    SCORINGS,
    Gap,
    LabelFreeSearch,
    Silhouette,
    Stability,
    gap_statistic,
    resampling_stability,
)
from fwkmeans.selection.candidates import Partition
from fwkmeans.selection.criteria import Candidates, _up_to_enough
from old_checks import wrong_checks
from selection import slow

QUICK = {"n_init": 2, "max_iter": 20, "random_state": 0}
GROUPS = [0, 0, 1, 1]
SEARCHES = {
    "kmeans": (KMeans(**QUICK), {"n_clusters": [2, 3, 4]}),
    "awk": (AWKMeans(3, **QUICK), {"beta": [1.5, 4.0]}),
    "wk": (WKMeans(3, **QUICK), {"beta": [1.5, 2.0, 4.0], "zero": ["share", "huang"]}),
    "wk-clusters": (WKMeans(**QUICK), {"beta": [2.0, 4.0], "n_clusters": [2, 3]}),
    "ewk": (EWKMeans(3, **QUICK), {"gamma": [0.1, "auto"]}),
    "ikp": (IKPrototypes(3, **QUICK), {"beta": [2.0, 8.0]}),
    "imwk": (IMWKMeans(3, max_iter=20), {"p": [1.5, 2.0, 3.0]}),
    "fwsa": (FWSAKMeans(3, **QUICK), {"max_iter": [5, 20]}),
    "fgk": (FGKMeans(3, groups=GROUPS, **QUICK), {"eta": [0.1, 1.0]}),
    "synclus": (SYNCLUS(3, groups=GROUPS, **QUICK), {"n_clusters": [2, 3]}),
    "convex": (ConvexKMeans(spaces=GROUPS, n_init=1, random_state=0), {"n_clusters": [2, 3]}),
}


def quick(scoring):
    """Return the same criterion with fewer draws."""
    return {"gap": Gap(2), "stability": Stability(2)}.get(str(scoring), scoring)


def blobs(rng, n_rows=60, n_features=4, n_clusters=3):
    """Return three clusters that lie apart, and their classes."""
    classes = np.arange(n_rows) % n_clusters
    return rng.normal(size=(n_rows, n_features)) + 4.0 * classes[:, None], classes


@pytest.fixture
def table(rng):
    return blobs(rng)


@pytest.mark.parametrize("name", SEARCHES)
def test_every_algorithm_is_searched_as_if_each_candidate_were_alone(name, rng, monkeypatch):
    estimator, grid = SEARCHES[name]
    X = rng.random((40, 4))
    together = LabelFreeSearch(estimator, grid).fit(X)
    monkeypatch.setattr(fwkmeans.selection.candidates, "_swept", lambda *_: None)
    alone = LabelFreeSearch(estimator, grid).fit(X)
    np.testing.assert_array_equal(together.candidate_labels_, alone.candidate_labels_)
    assert together.best_params_ == alone.best_params_
    for key in ("score", "n_clusters", "n_iter", "converged", "rank_score"):
        np.testing.assert_array_equal(together.search_results_[key], alone.search_results_[key])
    np.testing.assert_allclose(
        together.search_results_["objective"], alone.search_results_["objective"], rtol=1e-12
    )
    for params, labels in zip(
        alone.search_results_["params"], alone.candidate_labels_, strict=True
    ):
        model = clone(estimator).set_params(**params)
        if model.random_state is not None:
            np.testing.assert_array_equal(model.fit(X).labels_, labels)


def test_values_of_one_parameter_run_as_one_batch(rng, monkeypatch):
    batches = []

    def counted(model, X, parameter, values, **options):
        batches.append((parameter, list(values), options["n_starts"]))
        return fwkmeans.selection.sweep(model, X, parameter, values, **options)

    monkeypatch.setattr(fwkmeans.selection.candidates, "sweep", counted)
    grid = {"beta": [2.0, 4.0, 8.0], "n_clusters": [2, 3]}
    LabelFreeSearch(WKMeans(n_init=4, random_state=0), grid).fit(rng.random((30, 3)))
    assert batches == [("beta", [2.0, 4.0, 8.0], 4)] * 2


def test_each_setting_has_its_own_number_of_starts(rng):
    X = rng.random((60, 3))
    search = LabelFreeSearch(IMWKMeans(), {"n_clusters": [None, 5, 6]}).fit(X)
    for params, objective in zip(
        search.search_results_["params"], search.search_results_["objective"], strict=True
    ):
        assert objective == pytest.approx(IMWKMeans(**params).fit(X).inertia_)


def test_large_batches_are_divided(rng, monkeypatch):
    X, grid = rng.random((30, 3)), {"beta": [2.0, 3.0, 4.0, 8.0]}
    whole = LabelFreeSearch(WKMeans(3, n_init=2, random_state=0), grid).fit(X)
    monkeypatch.setattr(fwkmeans.selection.candidates, "LABELS", 2 * 30 * 3)
    divided = clone(whole).fit(X)
    np.testing.assert_array_equal(whole.candidate_labels_, divided.candidate_labels_)


def test_the_results_look_like_those_of_a_grid_search(table):
    X, _ = table
    grid = [{"n_clusters": [2, 3]}, {"beta": [4.0], "zero": ["share"]}]
    search = LabelFreeSearch(WKMeans(4, random_state=0), grid, scoring="silhouette").fit(X)
    results = search.search_results_
    assert results["params"][1:] == [{"n_clusters": 3}, {"beta": 4.0, "zero": "share"}]
    assert results["param_n_clusters"].tolist() == [2, 3, None]
    assert results["param_n_clusters"].dtype.kind == "i"
    assert results["param_beta"].mask.tolist() == [True, True, False]
    assert results["param_zero"].tolist() == [None, None, "share"]
    assert search.best_index_ == 1
    assert results["rank_score"][1] == 1
    assert search.best_score_ == results["score"][1] == results["score"].max()
    assert search.best_params_ == {"n_clusters": 3}
    assert all(len(values) == 3 for values in results.values())
    assert search.candidate_labels_.shape == (3, len(X))


def test_the_best_estimator_has_found_what_was_scored(rng):
    X = rng.random((50, 3))  # no clusters: other starts would find others
    search = LabelFreeSearch(KMeans(5, n_init=1), {"n_clusters": [4, 5]}).fit(X)
    np.testing.assert_array_equal(search.labels_, search.best_estimator_.labels_)
    np.testing.assert_array_equal(search.labels_, search.predict(X))
    assert isinstance(search.best_estimator_.random_state, int)
    assert search.estimator.random_state is None


def test_calls_go_to_the_best_estimator(table):
    X, _ = table
    search = LabelFreeSearch(WKMeans(3, random_state=0), {"beta": [2.0, 4.0]})
    with pytest.raises(NotFittedError):
        search.predict(X)
    labels = search.fit_predict(X)
    best = search.best_estimator_
    np.testing.assert_array_equal(labels, best.labels_)
    np.testing.assert_array_equal(search.transform(X), best.transform(X))
    np.testing.assert_array_equal(search.fit_transform(X), best.transform(X))
    assert search.score(X) == best.score(X)
    assert list(search.get_feature_names_out()) == list(best.get_feature_names_out())
    assert search.n_features_in_ == 4
    assert not hasattr(search, "predict_proba")
    mixture = LabelFreeSearch(GaussianMixture(random_state=0), {"n_components": [2, 3]}).fit(X)
    assert mixture.predict_proba(X).shape == (60, 3)
    assert not hasattr(mixture, "transform")


def test_without_refit_there_are_labels_but_no_estimator(table):
    X, classes = table
    search = LabelFreeSearch(KMeans(random_state=0), {"n_clusters": [2, 3]}, refit=False).fit(X)
    assert slow.adjusted_rand(search.labels_, classes) == 1.0
    assert not hasattr(search, "best_estimator_")
    with pytest.raises(AttributeError):
        search.predict(X)
    with pytest.raises(ValueError, match=r"refit='yes': expected True or False"):
        LabelFreeSearch(KMeans(), {}, refit="yes").fit(X)


def test_clone_pickle_and_nested_parameters(table):
    X, _ = table
    scoring = ["dunn", Silhouette(p=1.5)]
    search = LabelFreeSearch(WKMeans(3, random_state=0), {"beta": [2.0, 4.0]}, scoring=scoring)
    search.set_params(estimator__zero="huang")
    copy = clone(search)
    assert copy.estimator.zero == "huang"
    copy.fit(X)
    again = pickle.loads(pickle.dumps(copy))
    assert again.best_params_ == copy.best_params_
    np.testing.assert_array_equal(again.predict(X), copy.predict(X))
    assert not hasattr(search, "best_index_")
    assert search.estimator.beta == WKMeans().beta


def test_tags_are_those_of_the_estimator():
    def tags(estimator):
        return get_tags(LabelFreeSearch(estimator, {}))

    assert is_clusterer(LabelFreeSearch(KMeans(), {}))
    assert tags(WKMeans(missing="ignore")).input_tags.allow_nan
    assert not tags(WKMeans()).input_tags.allow_nan
    assert tags(AWKMeans()).input_tags.categorical
    assert not tags(KMeans()).input_tags.categorical
    assert tags(KMeans()).transformer_tags.preserves_dtype == ["float64", "float32"]


def expected_failures(search):
    failures = wrong_checks(search)
    failures["check_sample_weight_equivalence_on_dense_data"] = (
        "scores count rows, not weights, and random starts differ as in the estimators"
    )
    return failures


@parametrize_with_checks(
    [LabelFreeSearch(WKMeans(2, **QUICK), {"beta": [2.0, 4.0]})],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


# ---- which candidate -----------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", sorted(set(SCORINGS) - {"central", "gap", "stability"}))
def test_three_clusters_that_lie_apart_are_found(scoring, table):
    X, classes = table
    y = np.where(np.arange(60) < 9, classes, -1)
    grid = {"n_clusters": [2, 3, 4, 5]}
    search = LabelFreeSearch(
        KMeans(random_state=0, n_init=3), grid, scoring=quick(scoring), refit=False
    )
    if scoring == "hartigan":
        with pytest.warns(UserWarning, match="no partition into 6 clusters"):
            search.fit(X, y)
    else:
        search.fit(X, y)
    assert search.best_params_ == {"n_clusters": 3}
    assert slow.adjusted_rand(search.labels_, classes) == 1.0


def standardized(X):
    return (X - X.mean(axis=0)) / np.ptp(X, axis=0)


@pytest.mark.parametrize(
    ("scoring", "loop", "sign"),
    [
        ("silhouette", slow.silhouette, 1),
        ("silhouette_manhattan", lambda X, labels: slow.silhouette(X, labels, 1.0), 1),
        (Silhouette(p=3.0), lambda X, labels: slow.silhouette(X, labels, 3.0), 1),
        ("calinski_harabasz", slow.calinski_harabasz, 1),
        ("davies_bouldin", slow.davies_bouldin, -1),
        ("dunn", slow.dunn, 1),
        ("xie_beni", slow.xie_beni, -1),
        (lambda rows, labels: -slow.within(rows, labels), slow.within, -1),
    ],
    ids=["silhouette", "manhattan", "minkowski", "ch", "db", "dunn", "xb", "callable"],
)
def test_scores_are_those_of_the_standardized_rows_whatever_the_weights(scoring, loop, sign, rng):
    X = rng.random((20, 3)) * [1.0, 100.0, 0.01]
    estimator = make_pipeline(RangeStandardizer(), WKMeans(3, random_state=0, n_init=2))
    search = LabelFreeSearch(estimator, {"wkmeans__beta": [1.1, 4.0]}, scoring=scoring).fit(X)
    for score, labels in zip(
        search.search_results_["score"], search.candidate_labels_, strict=True
    ):
        assert score == pytest.approx(sign * loop(standardized(X), labels), rel=1e-6)


def test_several_scorings_are_ranked(rng):
    X = rng.random((30, 2))
    names = ["silhouette", "dunn", "xie_beni"]
    grid = {"n_clusters": [2, 3, 4, 5]}
    search = LabelFreeSearch(KMeans(random_state=0), grid, scoring=names).fit(X)
    results = search.search_results_
    ranks = np.zeros(4)
    for name in names:
        own = LabelFreeSearch(KMeans(random_state=0), grid, scoring=name).fit(X)
        np.testing.assert_array_equal(results[f"score_{name}"], own.search_results_["score"])
        values = own.search_results_["score"]
        ranks += [sum(value < other for other in values) + 1 for value in values]
    np.testing.assert_allclose(results["score"], -ranks / 3)
    assert search.best_index_ == np.argmin(ranks)


def test_the_central_partition_agrees_most_with_the_others(rng):
    X = rng.random((30, 3))
    search = LabelFreeSearch(IMWKMeans(3), {"p": [1.2, 1.5, 2.0, 4.0]}, scoring="central").fit(X)
    for at, own in enumerate(search.candidate_labels_):
        others = np.delete(search.candidate_labels_, at, axis=0)
        expected = np.mean([slow.adjusted_rand(own, other) for other in others])
        assert search.search_results_["score"][at] == pytest.approx(expected)


def test_collapsed_candidates_are_no_evidence_for_each_other(rng):
    X = rng.random((30, 3))
    grid = [{"n_clusters": [1], "n_init": [1, 2, 3]}, {"n_clusters": [2, 3]}]
    with pytest.warns(UserWarning, match="cannot score 3 of 5 candidates"):
        search = LabelFreeSearch(KMeans(random_state=0), grid, scoring="central").fit(X)
    assert np.isnan(search.search_results_["score"]).tolist() == [True] * 3 + [False] * 2


def test_hartigans_fall_needs_both_neighbors(rng):
    X = rng.random((25, 2))
    grid = {"n_clusters": [2, 3, 5]}
    with pytest.warns(UserWarning, match="cannot score 2 of 3"):
        search = LabelFreeSearch(KMeans(random_state=0), grid, scoring="hartigan").fit(X)
    Z, (two, three, _) = standardized(X), search.candidate_labels_
    fall = slow.hartigan(Z, np.zeros(25), two) - slow.hartigan(Z, two, three)
    np.testing.assert_allclose(search.search_results_["score"], [fall, np.nan, np.nan])
    with pytest.raises(ValueError, match="cannot score any of the 2 candidates"):
        LabelFreeSearch(WKMeans(3), {"beta": [2, 4]}, scoring="hartigan").fit(X)


def test_the_gap_compares_with_tables_of_independent_uniform_columns(rng):
    X = rng.random((25, 2)) * [1.0, 50.0]
    model = make_pipeline(RangeStandardizer(), KMeans(3, random_state=0))
    random = np.random.default_rng(7)
    logs = []
    for _ in range(3):
        reference = random.uniform(X.min(axis=0), X.max(axis=0), size=X.shape)
        Z = (reference - X.mean(axis=0)) / np.ptp(X, axis=0)
        logs.append(np.log(slow.within(Z, model.fit_predict(reference))))
    expected = np.mean(logs) - np.log(slow.within(standardized(X), model.fit_predict(X)))
    found = gap_statistic(model, X, n_references=3, random_state=7)
    assert found == pytest.approx(expected, rel=1e-6)
    grid = {"kmeans__n_clusters": [2, 3]}
    search = LabelFreeSearch(model, grid, scoring=Gap(3, random_state=7)).fit(X)
    assert search.search_results_["score"][1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("step", [1, 2], ids=["each number", "every second number"])
def test_the_gap_follows_the_rule_of_one_standard_error(step, rng):
    for _ in range(20):
        numbers = rng.permutation(np.arange(1, 8 * step, step))
        gaps, errors = rng.random(len(numbers)), 0.3 * rng.random(len(numbers))
        settings = [{"n_clusters": int(n)} for n in numbers]
        found = [Partition(np.zeros(3), 0.0, 1, True, 0.0)] * len(numbers)
        candidates = Candidates(KMeans(), settings, found, None, None, {}, None)
        scores = _up_to_enough(gaps, errors, candidates)
        of = {int(n): (g, e) for n, g, e in zip(numbers, gaps, errors, strict=True)}
        enough = [n for n in sorted(of) if n + 1 in of and of[n][0] >= of[n + 1][0] - of[n + 1][1]]
        allowed = [n for n in of if not enough or n <= enough[0]]
        expected = max(allowed, key=lambda n: of[n][0])
        assert numbers[scores.argmax()] == expected
        if step > 1:
            np.testing.assert_array_equal(scores, gaps)


def test_stability_compares_with_parts_of_the_rows(rng):
    X = rng.random((40, 2))
    model = KMeans(4, n_init=2, random_state=0)
    labels, random = model.fit_predict(X), np.random.default_rng(5)
    agreement = []
    for _ in range(4):
        part = np.sort(random.choice(40, 20, replace=False))
        agreement.append(slow.adjusted_rand(labels[part], model.fit_predict(X[part])))
    options = {"n_resamples": 4, "fraction": 0.5, "random_state": 5}
    assert resampling_stability(model, X, **options) == pytest.approx(np.mean(agreement))
    search = LabelFreeSearch(model, {"n_clusters": [3, 4]}, scoring=Stability(**options)).fit(X)
    assert search.search_results_["score"][1] == pytest.approx(np.mean(agreement))
    with pytest.raises(ValueError, match="all rows are in one cluster"):
        resampling_stability(KMeans(1), X)


def test_a_few_labels_choose_and_are_never_fitted(table):
    X, classes = table
    grid = {"n_clusters": [2, 3, 6]}
    search = LabelFreeSearch(KMeans(random_state=0), grid, scoring="known_labels")
    y = np.where(np.arange(60) < 6, classes, -1)
    assert search.fit(X, y).best_params_ == {"n_clusters": 3}
    other = np.where(np.arange(60) < 6, classes % 2, -1)
    np.testing.assert_array_equal(
        search.candidate_labels_, clone(search).fit(X, other).candidate_labels_
    )
    with pytest.raises(ValueError, match="needs y"):
        search.fit(X)
    with pytest.raises(ValueError, match=r"^The class is known in 0 rows of y"):
        search.fit(X, np.full(60, -1))
    with pytest.raises(ValueError, match=r"^Found input variables with inconsistent"):
        search.fit(X, y[:10])


def test_sparse_rows_are_scored_by_what_compares_labels(table):
    X, _ = table
    grid = {"n_clusters": [2, 3]}
    for kind in (csr_matrix, coo_array):
        for scoring in ("central", Stability(n_resamples=2)):
            search = LabelFreeSearch(KMeans(random_state=0), grid, scoring=scoring)
            dense = clone(search).fit(X).search_results_["score"]
            weights = np.ones(len(X))
            found = search.fit(kind(X), sample_weight=weights).search_results_["score"]
            np.testing.assert_allclose(found, dense)
    with pytest.raises(TypeError, match="X is sparse, and this scoring needs distances"):
        LabelFreeSearch(KMeans(random_state=0), grid).fit(csr_matrix(X))


# ---- what goes wrong -----------------------------------------------------------------------------


def test_a_candidate_that_cannot_be_fitted_is_never_chosen(table):
    X, _ = table
    grid = {"beta": [0.5, 2.0, 4.0]}  # and all scores are negative
    search = LabelFreeSearch(WKMeans(3, random_state=0), grid, scoring="davies_bouldin")
    with pytest.warns(FitFailedWarning, match=r"1 of 3 candidates.*'beta': 0\.5.*beta=0\.5"):
        search.fit(X)
    results = search.search_results_
    assert np.isnan(results["score"]).tolist() == [True, False, False]
    assert results["rank_score"][0] == 3
    assert (search.candidate_labels_[0] == -1).all()
    assert results["n_clusters"][0] == 0
    with pytest.raises(ValueError, match="All 2 candidates failed to fit"):
        LabelFreeSearch(WKMeans(3), {"beta": [0.5, 0.6]}).fit(X)
    with pytest.raises(ValueError, match="Invalid parameter 'gamma'"):
        LabelFreeSearch(WKMeans(3), {"gamma": [0.5]}).fit(X)


NOT_TRIVIAL = sorted(set(SCORINGS) - {"gap", "known_labels"})


@pytest.mark.parametrize("scoring", [*NOT_TRIVIAL, ["dunn", "central"]], ids=str)
def test_trivial_partitions_are_never_chosen(scoring, rng):
    X = rng.random((6, 2))
    grid = {"n_clusters": [1, 2, 3, 4, 6]}
    search = LabelFreeSearch(KMeans(random_state=0), grid, scoring=quick(scoring))
    with pytest.warns(UserWarning, match="cannot score"):
        search.fit(X)
    assert np.isnan(search.search_results_["score"][[0, -1]]).all()
    assert search.best_params_["n_clusters"] in (2, 3, 4)
    with pytest.raises(ValueError, match="cannot score any of the 1 candidates"):
        LabelFreeSearch(KMeans(), {"n_clusters": [1]}, scoring=quick(scoring)).fit(X)


@pytest.mark.parametrize("scoring", sorted(set(SCORINGS) - {"hartigan", "known_labels"}))
def test_duplicates_and_clusters_without_rows(scoring):
    """Three distinct rows, four clusters asked for: the fourth has no rows."""
    X = np.repeat([[0.1, 0.0], [1.0, 0.3], [0.4, 1.0]], 5, axis=0)
    grid = {"n_clusters": [2, 3, 4]}
    search = LabelFreeSearch(KMeans(random_state=0), grid, scoring=quick(scoring), refit=False).fit(
        X
    )
    assert search.search_results_["n_clusters"].tolist() == [2, 3, 3]
    if scoring in ("silhouette", "silhouette_manhattan", "dunn", "gap"):
        assert search.best_params_ == {"n_clusters": 3}
    scores = search.search_results_["score"]
    assert scores[1] == scores[2] or scoring in ("gap", "stability")


def test_candidates_that_lack_one_of_several_scores_are_not_chosen(rng):
    X = rng.random((30, 2))
    search = LabelFreeSearch(
        KMeans(random_state=0), {"n_clusters": [2, 3, 4]}, scoring=["hartigan", "dunn"]
    )
    with pytest.warns(UserWarning, match="'hartigan' cannot score 1 of 3"):
        search.fit(X)
    assert np.isnan(search.search_results_["score"]).tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        ("silhouet", "expected one of 'silhouette'"),
        ([], "empty list"),
        (["dunn", "dunn"], "'dunn' twice"),
        (Silhouette(p=0.5), "Silhouette got p=0.5"),
        (Stability(fraction=2), "Stability got fraction=2"),
        (Gap(n_references=0), "Gap got n_references=0"),
        (Silhouette, "expected one of"),
    ],
    ids=str,
)
def test_what_cannot_be_a_scoring_is_said(scoring, message, rng):
    with pytest.raises(ValueError, match=message):
        LabelFreeSearch(KMeans(2), {"n_init": [1, 2]}, scoring=scoring).fit(rng.random((9, 2)))


# ---- tables --------------------------------------------------------------------------------------


def mixed(df_module, rng):
    X, classes = blobs(rng, n_features=2)
    colors = np.array(["red", "green", "blue"])[classes]
    return df_module.DataFrame({"a": X[:, 0], "b": X[:, 1], "color": colors}), classes


@pytest.mark.parametrize("scoring", ["silhouette_manhattan", "gap", "dunn"])
@pytest.mark.parametrize("native", [True, False], ids=["native", "pipeline"])
def test_frames_and_categories(scoring, native, df_module, rng):
    frame, classes = mixed(df_module, rng)
    if native:
        search = LabelFreeSearch(AWKMeans(random_state=0, n_init=2), {"n_clusters": [2, 3]})
    else:
        model = make_pipeline(TableEncoder(), KMeans(random_state=0, n_init=2))
        search = LabelFreeSearch(model, {"kmeans__n_clusters": [2, 3]})
    search.set_params(scoring=quick(scoring)).fit(frame)
    assert list(search.best_params_.values()) == [3]
    assert slow.adjusted_rand(search.predict(frame), classes) == 1.0
    assert list(search.feature_names_in_) == ["a", "b", "color"]
    stable = clone(search).set_params(scoring=Stability(2)).fit(frame)
    assert stable.search_results_["score"][1] == 1.0


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_a_category_counts_as_one_column(p, df_module, rng):
    """Two categories are as far apart as the two ends of a numeric column."""
    frame, _ = mixed(df_module, rng)
    search = LabelFreeSearch(
        AWKMeans(3, random_state=0, n_init=2), {"beta": [2.0, 4.0]}, scoring=Silhouette(p=p)
    ).fit(frame)
    numbers = standardized(np.column_stack([frame["a"], frame["b"]]))
    colors = list(frame["color"])
    apart = np.array(
        [
            [
                (np.sum(np.abs(a - b) ** p) + (colors[i] != colors[j])) ** (1 / p)
                for j, b in enumerate(numbers)
            ]
            for i, a in enumerate(numbers)
        ]
    )
    expected = sklearn.metrics.silhouette_score(apart, search.labels_, metric="precomputed")
    assert search.best_score_ == pytest.approx(expected)


@pytest.mark.parametrize("scoring", sorted(set(SCORINGS) - {"known_labels", "hartigan"}))
def test_missing_cells_have_the_median_or_the_most_frequent_category_in_scores(scoring, table):
    """The estimator sees them as missing; here it is a pipeline that fills them."""
    X = pd.DataFrame(table[0])
    X.columns = [f"v{at}" for at in X]
    X["kind"] = pd.Categorical(np.where(table[1] == 0, "a", "b"))
    X.loc[::7, "v1"] = np.nan
    X.loc[::9, "kind"] = None
    filled = X.fillna({"v1": X["v1"].median(), "kind": X["kind"].mode()[0]})
    model = make_pipeline(TableEncoder(impute="median"), WKMeans(3, random_state=0))
    grid = {"wkmeans__beta": [2.0, 3.0, 4.0]}
    with_gaps, without = (
        LabelFreeSearch(model, grid, scoring=quick(scoring)).fit(one) for one in (X, filled)
    )
    scores = with_gaps.search_results_["score"]
    assert np.isfinite(scores).all()
    if scoring not in ("stability", "gap"):  # which fit tables of their own
        np.testing.assert_allclose(scores, without.search_results_["score"], rtol=1e-12)


def test_infinite_cells_are_refused_by_scores(table):
    X = table[0].copy()
    X[3, 1] = np.inf
    model = make_pipeline(FunctionTransformer(np.tanh), WKMeans(3, random_state=0))
    with pytest.raises(ValueError, match="X has infinite cells"):
        LabelFreeSearch(model, {"wkmeans__beta": [2.0, 4.0]}).fit(X)


def test_files_can_be_scored_by_only_labels(table, tmp_path):
    X, _ = table
    np.save(tmp_path / "rows.npy", X)
    path = str(tmp_path / "rows.npy")
    grid = {"beta": [2.0, 3.0, 4.0]}
    search = LabelFreeSearch(WKMeans(3, random_state=0), grid, scoring="central").fit(path)
    np.testing.assert_array_equal(search.labels_, clone(search).fit(X).labels_)
    with pytest.raises(ValueError, match="needs all rows in memory"):
        LabelFreeSearch(WKMeans(3), grid).fit(path)


def test_lists_and_other_clusterers(table):
    X, _ = table
    search = LabelFreeSearch(SklearnKMeans(random_state=0, n_init=1), {"n_clusters": [2, 3]})
    assert search.fit(X.tolist()).best_params_ == {"n_clusters": 3}


# ---- weights of rows, and progress ---------------------------------------------------------------


@pytest.mark.parametrize("scoring", ["silhouette", "dunn", "gap", "stability", "central"])
def test_rows_without_weight_are_as_if_removed(scoring, rng):
    X = rng.random((30, 3))
    X[20:] += 100.0
    weights = np.repeat([1.0, 0.0], [20, 10])
    model = KMeans(init=X[:3], n_init=1, n_clusters=3)
    search = LabelFreeSearch(model, {"max_iter": [1, 2, 50]}, scoring=quick(scoring))
    search.fit(X, sample_weight=weights)
    removed = clone(search).fit(X[:20])
    np.testing.assert_allclose(search.search_results_["score"], removed.search_results_["score"])
    np.testing.assert_array_equal(search.labels_[:20], removed.labels_)


def test_weights_reach_every_fit_also_in_pipelines(rng):
    X, weights = rng.random((30, 3)), rng.random(30)
    model = KMeans(3, init=X[:3], n_init=1)
    plain = LabelFreeSearch(model, {"max_iter": [3, 50]}).fit(X, sample_weight=weights)
    piped = LabelFreeSearch(make_pipeline("passthrough", model), {"kmeans__max_iter": [3, 50]}).fit(
        X, sample_weight=weights
    )
    expected = clone(model).set_params(max_iter=50).fit(X, sample_weight=weights)
    for search in (plain, piped):
        assert search.search_results_["objective"][1] == pytest.approx(expected.inertia_)


def test_metadata_are_routed(rng):
    X, weights = rng.random((30, 3)), rng.random(30)
    model = KMeans(3, init=X[:3], n_init=1)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = clone(model).set_fit_request(sample_weight=True)
        search = LabelFreeSearch(asking, {"max_iter": [50, 60]}).fit(X, sample_weight=weights)
        expected = clone(model).set_params(max_iter=50).fit(X, sample_weight=weights)
        assert search.search_results_["objective"][0] == pytest.approx(expected.inertia_)
        with pytest.raises(ValueError, match="sample_weight"):
            LabelFreeSearch(model, {"max_iter": [50]}).fit(X, sample_weight=weights)
        weighted = clone(search).set_fit_request(sample_weight=True)
        make_pipeline(RangeStandardizer(), weighted).fit(X, sample_weight=weights)


def test_progress_goes_to_the_log(table, caplog):
    X, _ = table
    with caplog.at_level(logging.INFO, logger="fwkmeans"):
        search = LabelFreeSearch(WKMeans(3, random_state=0), {"beta": [2.0, 4.0]}, verbose=1)
        search.fit(X)
    assert "2 of 2 candidates are fitted" in caplog.text
    assert "best candidate: {'beta': " in caplog.text
    assert logging.getLogger("fwkmeans").level == logging.NOTSET


def test_silence_is_the_default(table, capsys):
    X, _ = table
    LabelFreeSearch(WKMeans(3, random_state=0), {"beta": [2.0, 4.0]}).fit(X)
    assert capsys.readouterr() == ("", "")
