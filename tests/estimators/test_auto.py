"""AutoKMeans: clusters without a parameter."""

import warnings
from copy import copy
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from fwkmeans import AutoKMeans, KMeans
from fwkmeans._mixture import FAMILIES, fitting
from fwkmeans.datasets import add_noise_features, load_uci, make_survey_gaussians
from fwkmeans.estimators import auto
from fwkmeans.estimators.auto_rows import table_of
from fwkmeans.exceptions import FewerClustersWarning, NotConvergedWarning
from fwkmeans.persistence import load_model, save_model
from fwkmeans.plotting import ClusterMapDisplay, FeatureWeightsDisplay
from fwkmeans.reports import summarize
from textbook_tables import made


def mixed_table(rng, n_rows=180):
    """Three clusters in two dependent numbers and a category; noise of either kind beside."""
    labels = np.arange(n_rows) % 3
    first = 6.0 * labels + rng.normal(size=n_rows)
    second = -4.0 * labels + 0.8 * (first - 6.0 * labels) + 0.5 * rng.normal(size=n_rows)
    kind = np.where(rng.random(n_rows) < 0.1, rng.integers(0, 3, n_rows), labels)
    frame = pd.DataFrame(
        {
            "first": first,
            "second": second * 1e6 + 1e9,
            "kind": pd.Categorical.from_codes(kind, ["a", "b", "c"]),
            "blank": rng.uniform(size=n_rows),
            "color": pd.Categorical.from_codes(rng.integers(0, 4, n_rows), list("wxyz")),
            "same": 1.0,
        }
    )
    return frame, labels


@pytest.fixture(scope="module")
def fitted():
    frame, labels = mixed_table(np.random.default_rng(0))
    return AutoKMeans().fit(frame), frame, labels


def test_number_groups_noise_and_clusters_are_found(fitted):
    model, _, labels = fitted
    assert model.n_clusters_ == 3 == max(model.criteria_, key=model.criteria_.get)
    assert adjusted_rand_score(labels, model.labels_) > 0.95
    assert model.noise_.tolist() == [False, False, False, True, True, True]
    assert [columns.tolist() for columns in model.groups_.values()] == [[0, 1], [2], [3], [4], [5]]
    assert [kind == "noise" for kind in model.group_types_] == [False, False, True, True, True]


def test_weights_are_shares_of_divergence(fitted):
    model, _, _ = fitted
    assert_allclose(model.feature_weights_.sum(axis=1), 1)
    assert (model.feature_weights_[:, model.noise_] == 0).all()
    assert (model.feature_weights_[:, ~model.noise_] > 0).all()
    for g, columns in model.groups_.items():
        assert_allclose(model.group_weights_[:, g], model.feature_weights_[:, columns].sum(axis=1))


def test_divergence_of_a_normal_is_the_formula(rng):
    """One numeric feature: half of s/t + d^2/t - 1 - ln(s/t), with t the mixture's variance."""
    X = np.column_stack([np.r_[rng.normal(size=80), 9 + 2 * rng.normal(size=40)]] * 1)
    model = AutoKMeans(2).fit(X)
    mixture = model._mixture
    share, mean, var = np.exp(mixture.log_shares), mixture.means[:, 0], mixture.variance[:, 0]
    whole = share @ (var + (mean - share @ mean) ** 2)
    expected = 0.5 * ((var + (mean - share @ mean) ** 2) / whole - 1 - np.log(var / whole))
    assert_allclose(model._marginals.divergence[:, 0], expected)


def test_predictions_agree(fitted):
    model, frame, _ = fitted
    chances = model.predict_proba(frame)
    assert_allclose(chances.sum(axis=1), 1)
    assert_array_equal(model.predict(frame), model.labels_)
    assert_array_equal(chances.argmax(axis=1), model.labels_)
    assert_allclose(model.score(frame), -model.inertia_)
    assert model.transform(frame).shape == (len(frame), 3)
    assert_allclose(model.cluster_centers_[0, 0], frame["first"][model.labels_ == 0].mean())
    assert np.isnan(model.cluster_centers_[:, 2]).all()
    assert list(model.category_frequencies_) == ["kind", "color"]


def test_the_same_table_gives_the_same_to_the_bit(fitted):
    model, frame, _ = fitted
    for jobs in (1, 2):
        again = AutoKMeans(n_jobs=jobs).fit(frame)
        assert_array_equal(again.labels_, model.labels_)
        assert_array_equal(again.feature_weights_, model.feature_weights_)
        assert_array_equal(again.objective_history_, model.objective_history_)


def test_units_do_not_matter(rng):
    X, _ = make_survey_gaussians(200, 6, 3, random_state=1)
    scale = 2.0 ** rng.integers(-40, 40, size=6)
    assert_array_equal(AutoKMeans(3).fit(X * scale).labels_, AutoKMeans(3).fit(X).labels_)


def test_missing_cells_are_left_out(fitted):
    _, frame, labels = fitted
    holed = frame.copy()
    holes = np.random.default_rng(1).random(holed.shape) < 0.08
    holes[:, 5] = False
    found = AutoKMeans(3).fit(holed.mask(holes))
    assert adjusted_rand_score(labels, found.labels_) > 0.8
    assert np.isfinite(found.predict_proba(holed.mask(holes))).all()


def test_rows_without_weight_do_not_count(fitted):
    model, frame, _ = fitted
    more = pd.concat([frame, frame.assign(first=50.0)], ignore_index=True)
    weight = np.r_[np.ones(len(frame)), np.zeros(len(frame))]
    found = AutoKMeans().fit(more, sample_weight=weight)
    assert_array_equal(found.labels_[: len(frame)], model.labels_)
    assert_array_equal(found.feature_weights_, model.feature_weights_)


def test_weights_are_relative(fitted):
    _, frame, _ = fitted
    weight = np.random.default_rng(2).integers(1, 4, len(frame)) * 1.0
    once, eightfold = (AutoKMeans().fit(frame, sample_weight=one) for one in (weight, 8.0 * weight))
    assert_array_equal(once.labels_, eightfold.labels_)
    assert_array_equal(once.feature_weights_, eightfold.feature_weights_)
    even = AutoKMeans().fit(frame, sample_weight=np.full(len(frame), 2.0))
    assert_array_equal(even.labels_, AutoKMeans().fit(frame).labels_)


@pytest.mark.parametrize(
    ("n_rows", "n_clusters", "apart", "n_noise"),
    [(60, 3, 10, 0), (40, 2, 8, 0), (100, 2, 8, 1), (60, 2, 8, 4), (200, 3, 10, 5)],
)
@pytest.mark.parametrize("seed", range(3))
def test_clear_clusters_of_a_small_table_are_found(n_rows, n_clusters, apart, n_noise, seed):
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % n_clusters
    line = apart * labels + rng.normal(size=n_rows)
    model = AutoKMeans().fit(np.column_stack([line, rng.normal(size=(n_rows, n_noise))]))
    assert model.n_clusters_ == n_clusters
    assert adjusted_rand_score(labels, model.labels_) > 0.95


@pytest.mark.parametrize(
    ("draw", "n_columns", "common"),
    [
        ("normal", 10, 0.7),
        ("normal", 2, 0.0),
        ("uniform", 5, 0.7),
        ("uniform", 1, 0.0),
        ("exponential", 1, 0.0),
        ("exponential", 5, 0.0),
    ],
)
def test_a_table_without_clusters_is_one(draw, n_columns, common):
    """In most draws: some have gaps by chance."""
    found = []
    for seed in range(3):
        draws = getattr(np.random.default_rng(seed), draw)
        X = np.sqrt(1 - common) * draws(size=(60, n_columns))
        X += np.sqrt(common) * draws(size=(60, 1))
        found.append(AutoKMeans().fit(X).n_clusters_)
    assert sorted(found)[1] == 1


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("r15", 0.97),
        ("20 in 2, 500 rows, 8 apart, both", 0.97),  # more than a dozen clusters
        ("8 in 1, 240 rows, 10 apart, own", 0.97),  # they only pay together
        ("3 on a line, 60 x 4", 0.97),  # tight clusters in one of four columns
        ("zigzag 3", 0.8),
    ],
)
def test_clusters_of_textbook_tables_are_found(name, least):
    table = made(name)
    model = AutoKMeans().fit(table.rows)
    assert model.n_clusters_ == table.n_clusters
    assert adjusted_rand_score(table.classes, model.labels_) > least
    assert not model.stopped_


@pytest.mark.parametrize("name", ["r15", "20 in 2, 500 rows, 8 apart, both", "lsun"])
def test_clusters_of_a_given_number_are_those_of_textbook_tables(name):
    table = made(name)
    model = AutoKMeans(table.n_clusters).fit(table.rows)
    assert adjusted_rand_score(table.classes, model.labels_) > 0.95


def test_a_search_that_stops_for_its_cost_says_so(monkeypatch):
    monkeypatch.setattr(auto, "MOST_CLUSTERS", 10)
    with pytest.warns(FewerClustersWarning, match="stopped at 10 clusters.*n_clusters=15"):
        model = AutoKMeans().fit(made("r15").rows)
    assert model.stopped_
    assert max(model.criteria_) <= 10


def test_names_are_left_out_and_said_to_be_noise(rng, tmp_path):
    frame, labels = mixed_table(rng)
    named = frame.assign(name=[f"row {i}" for i in range(len(frame))])
    named = named[["name", *frame.columns]]
    model, without = AutoKMeans().fit(named), AutoKMeans().fit(frame)
    assert_array_equal(model.labels_, without.labels_)
    assert_array_equal(model.feature_weights_[:, 1:], without.feature_weights_)
    assert model.criteria_ == without.criteria_
    assert adjusted_rand_score(labels, model.labels_) > 0.95
    assert model.noise_[0]
    assert "name is noise: it has too many categories for so few rows." in str(model.explain())
    assert_array_equal(model.predict(named.assign(name="new")), model.labels_)
    save_model(model, tmp_path / "model.fwk")
    again = load_model(tmp_path / "model.fwk")
    assert_array_equal(again.predict(named), model.labels_)
    assert str(again.explain()) == str(model.explain())


def test_only_names_are_one_cluster():
    model = AutoKMeans().fit(pd.DataFrame({"name": [f"row {i}" for i in range(20)]}))
    assert model.n_clusters_ == 1
    assert model.noise_.all()


def test_a_fit_that_does_not_converge_is_said(monkeypatch, fitted):
    monkeypatch.setattr(fitting, "MOST_STEPS", 1)
    with pytest.warns(NotConvergedWarning, match="did not converge in"):
        model = AutoKMeans(3).fit(fitted[1])
    assert not model.converged_


@pytest.mark.parametrize("size", [(500, 10, 3)])
@pytest.mark.parametrize("noisy", [False, True])
def test_the_number_of_gaussian_clusters_is_found(size, noisy):
    X, y = make_survey_gaussians(*size, random_state=0)
    model = AutoKMeans().fit(add_noise_features(X, random_state=0) if noisy else X)
    assert model.n_clusters_ == size[2]
    assert adjusted_rand_score(y, model.labels_) > 0.85
    if noisy:
        assert model.noise_[size[1] :].mean() >= 0.9


@pytest.mark.parametrize(
    ("name", "least"), [("wine", 0.85), ("breast_cancer_wisconsin", 0.8), ("soybean_small", 1.0)]
)
def test_known_classes_are_found(name, least):
    table = load_uci(name)
    model = AutoKMeans(table.n_clusters).fit(table.data)
    assert adjusted_rand_score(table.target, model.labels_) >= least


def test_a_large_table_is_studied_on_a_sample(monkeypatch):
    X, _ = make_survey_gaussians(600, 20, 3, random_state=2)
    whole = AutoKMeans().fit(X)
    monkeypatch.setattr(auto, "SAMPLE_ROWS", 250)
    model = AutoKMeans().fit(X)
    assert model.n_clusters_ == 3
    assert len(model.labels_) == 600
    assert adjusted_rand_score(whole.labels_, model.labels_) > 0.9


def test_it_explains_itself(fitted):
    model, _, _ = fitted
    told = model.explain()
    assert told.groups[0]["columns"] == ["first", "second"]
    assert {row["column"] for row in told.noise} == {"blank", "color", "same"}
    assert [pair["clusters"] for pair in told.pairs] == [(0, 1), (0, 2), (1, 2)]
    text = str(told)
    assert "first and second vary together within clusters" in text
    assert "kind: clusters have their own shares of the categories" in text
    assert "same is noise: it has the same value in all rows." in text
    assert "blank is noise: its values are spread alike in all clusters." in text
    assert text.startswith("3 clusters from 6 columns.\nThe criterion is highest for 3 clusters")


def test_a_category_that_all_rows_share_is_noise(fitted):
    _, frame, _ = fitted
    one = np.where(np.arange(len(frame)) % 2, "p", None)
    model = AutoKMeans(3).fit(frame.assign(only=pd.Categorical(["p"] * len(frame)), gaps=one))
    assert model.noise_[-2:].all()
    told = str(model.explain())
    assert "only is noise: it has the same value in all rows." in told
    assert "gaps is noise: it has the same value in all rows." in told


def test_one_cluster_is_not_said_to_differ_from_others(rng):
    first = rng.normal(size=60)
    second = first + 0.1 * rng.normal(size=60)
    frame = pd.DataFrame({"a": first, "b": second, "c": list("xyz") * 20, "d": 1.0})
    told = str(AutoKMeans(1).fit(frame).explain())
    assert told.splitlines() == [
        "1 cluster from 4 columns.",
        "",
        "One cluster: there are no others that a column could tell it from.",
        "a and b vary together.",
        "d: it has the same value in all rows.",
    ]


def test_a_column_that_is_alone_says_nothing_about_others_of_its_group(fitted):
    model = copy(fitted[0])
    lead = model._marginals.lead.copy()
    lead[3] = 5.0  # as in a large table, where groups are found in a sample of the rows
    model._marginals = model._marginals._replace(lead=lead)
    assert (
        "blank is noise: its values were spread alike in all clusters when the groups were found."
        in str(model.explain())
    )


def test_how_far_a_number_of_clusters_is_behind_is_not_rounded_to_nothing(fitted):
    model = copy(fitted[0])
    model.criteria_ = {3: -10.0, 4: -10.04}
    assert "; next comes 4 (−0.04)." in str(model.explain())


def test_the_explanation_of_a_wide_table_can_be_read(rng):
    labels = rng.integers(3, size=200)
    X = rng.normal(size=(200, 90))
    X[:, :40] += 6.0 * rng.normal(size=(3, 40))[labels]
    model = AutoKMeans(3).fit(X)
    told = model.explain()
    lines = str(told).splitlines()
    assert len(lines) < 32
    (others,) = (line for line in lines if line.endswith("of the weight).") and "other" in line)
    n_others = sum(len(group["columns"]) for group in told.groups[20:])
    share = sum(np.mean(group["weight"]) for group in told.groups[20:])
    assert (
        others == f"{n_others} other columns tell clusters apart, too ({share:.0%} of the weight)."
    )
    assert len(told.noise) == model.noise_.sum() > 40
    (noise,) = (line for line in lines if "noise" in line)
    named = ", ".join(row["column"] for row in told.noise[:20])
    assert noise == (
        f"{len(told.noise)} columns are noise, each because its values are spread alike in all "
        f"clusters: {named} and {len(told.noise) - 20} more."
    )


def test_a_small_share_of_the_weight_is_not_rounded_to_nothing(rng):
    labels = np.arange(60) % 2
    model = AutoKMeans(2).fit(rng.normal(size=(60, 400)) + 2.0 * labels[:, None])
    told = str(model.explain())
    assert "(less than 1% of the weight)" in told
    assert "(0% of the weight)" not in told


@pytest.mark.parametrize(
    ("labels", "told"),
    [([0, 2], "No row is likeliest to be in cluster 1."), ([2], "be in clusters 0 and 1.")],
)
def test_clusters_without_rows_are_not_compared(labels, told, fitted):
    """They have a share of the mixture, but are nowhere the likeliest."""
    model = copy(fitted[0])
    model.labels_ = np.array(labels)
    text = str(model.explain())
    assert told in text
    compared = [line for line in text.splitlines() if line.startswith("Clusters ")]
    assert [line[:16] for line in compared] == (["Clusters 0 and 2"] if len(labels) == 2 else [])
    assert "No row is likeliest" not in str(fitted[0].explain())


def test_distances_are_weighted_and_in_standard_deviations(rng, tmp_path):
    """By the weights of each cluster, not those of the first."""
    labels = np.arange(90) % 3
    X = rng.normal(size=(90, 3)) * [1.0, 50.0, 1e-4]
    X[labels == 1, 0] += 9.0
    X[labels == 2, 1] -= 500.0
    model = AutoKMeans(3).fit(X)
    assert np.ptp(model.feature_weights_, axis=0).max() > 0.2
    apart = (X[:, None] - model.cluster_centers_) ** 2 / X.var(axis=0)
    expected = np.sqrt((model.feature_weights_ * apart).sum(axis=2))
    assert_allclose(model.transform(X), expected)
    save_model(model, tmp_path / "model.fwk")
    assert_allclose(load_model(tmp_path / "model.fwk").transform(X), expected)


def test_a_device_is_refused_not_ignored(fitted):
    model, frame, _ = fitted
    for method in (clone(model).fit, model.predict, model.score, model.transform):
        with pytest.raises(TypeError, match="AutoKMeans cannot use rows on a device"):
            method(frame, device="cuda")


def test_files_reports_and_plots(fitted, tmp_path):
    model, frame, _ = fitted
    save_model(model, tmp_path / "model.fwk")
    again = load_model(tmp_path / "model.fwk")
    assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert str(again.explain()) == str(model.explain())
    summary = summarize(model, frame)
    assert summary["n_clusters"] == 3
    assert not any("standardized" in text for text in summary["warnings"])
    FeatureWeightsDisplay.from_estimator(model)
    ClusterMapDisplay.from_estimator(model, frame)


def test_odd_tables(rng):
    assert AutoKMeans().fit(np.zeros((5, 2))).n_clusters_ == 1
    with pytest.warns(FewerClustersWarning, match=r"distinct clusters \(1\).*n_clusters \(2\)"):
        AutoKMeans(2).fit(np.zeros((5, 2)))
    assert AutoKMeans().fit([[1.0], [2.0]]).labels_.shape == (2,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerClustersWarning)
        huge = AutoKMeans(2).fit(rng.normal(size=(30, 2)) * 1e100)
    assert np.isfinite(huge.inertia_)
    with pytest.raises(ValueError, match=r"n_samples=3 .* should be >= n_clusters=4"):
        AutoKMeans(4).fit(rng.normal(size=(3, 2)))
    with pytest.raises(ValueError, match="infinity"):
        AutoKMeans(2).fit([[1.0, np.inf], [2.0, 1.0], [3.0, 2.0]])
    model = AutoKMeans(2).fit(rng.normal(size=(30, 2)))
    for method in (model.predict, model.predict_proba, model.score, model.transform):
        with pytest.raises(ValueError, match="infinity"):
            method([[1.0, np.inf]])


def test_it_has_all_eight_characteristics():
    assert all(AutoKMeans.traits)
    assert list(clone(AutoKMeans()).get_params()) == [
        "categorical_features",
        "handle_unknown",
        "missing_category",
        "n_clusters",
        "n_jobs",
        "verbose",
    ]


def agreeing(monkeypatch, agreement):
    """Let the families agree with each other as given."""
    monkeypatch.setattr(auto, "mean_agreement", lambda partitions: np.array(agreement))


@pytest.mark.parametrize(
    ("agreement", "place"),
    [
        ([0.9, 0.91, 0.915, 0.8, 0.7, 0.9], 0),
        ([0.8, 0.85, 0.9, 0.89, 0.9, 0.9], 2),
        ([0, 0, 0, 0, 0, 0.5], 5),
    ],
)
def test_of_families_that_agree_about_equally_the_first_is_taken(monkeypatch, agreement, place):
    agreeing(monkeypatch, agreement)
    model = AutoKMeans(2).fit(np.random.default_rng(0).normal(size=(30, 2)))
    assert model.chosen_ == FAMILIES[place].name == list(model.candidates_)[place]
    assert [about["agreement"] for about in model.candidates_.values()] == agreement


def test_labels_are_those_of_the_mixture_that_was_chosen(monkeypatch):
    """Also if it is a coarse one: probabilities, groups and noise come from the same model."""
    agreeing(monkeypatch, [0, 0, 0, 0, 1, 0])
    frame, labels = mixed_table(np.random.default_rng(0))
    model = AutoKMeans(3).fit(frame)
    assert model.chosen_ == "coarse single features"
    assert all(len(columns) == 1 for columns in model.groups_.values())
    assert_array_equal(model.predict_proba(frame).argmax(axis=1), model.labels_)
    assert adjusted_rand_score(labels, model.labels_) > 0.95


def search_in(X):
    return auto._Search(table_of(AutoKMeans(2)._opened(X, None, reset=True).source), 1)


def test_k_means_votes_but_is_not_chosen(monkeypatch, rng):
    """Two families agree with each other, two others with K-Means."""
    one, other = np.arange(40) % 2, np.arange(40) // 20
    search = search_in(rng.normal(size=(40, 2)))
    labels = [other, other, one, one, np.arange(40) % 3 // 2, np.arange(40) % 5 // 3]
    fits = {
        family.name: SimpleNamespace(labels=labels[f], criterion=0.0)
        for f, family in enumerate(FAMILIES)
    }
    monkeypatch.setattr(search, "_best", lambda family, n_clusters: fits[family.name])
    for votes, place in (([other, other], 0), ([one, one], 2)):
        monkeypatch.setattr(search._starts, "by_kmeans", lambda n_clusters, votes=votes: votes)
        name, about = search.chosen(2)
        assert name == FAMILIES[place].name
        assert list(about) == [family.name for family in FAMILIES]
        others = [*labels[:place], *labels[place + 1 :], *votes]
        wanted = np.mean([adjusted_rand_score(labels[place], labels_) for labels_ in others])
        assert about[name]["agreement"] == pytest.approx(wanted)


def test_mixtures_that_lost_half_of_the_clusters_neither_vote_nor_are_chosen(monkeypatch, rng):
    X = np.column_stack([np.arange(60) % 3 * 9 + rng.normal(size=60), rng.normal(size=60)])
    search = search_in(X)
    lost, two = np.zeros(60, dtype=np.int32), np.arange(60, dtype=np.int32) % 3 // 2
    fits = [lost, lost, two, lost, lost, lost]
    by_name = {family.name: labels for family, labels in zip(FAMILIES, fits, strict=True)}
    monkeypatch.setattr(
        search,
        "_best",
        lambda family, n: SimpleNamespace(labels=by_name[family.name], criterion=0.0),
    )
    name, about = search.chosen(3)
    assert name == FAMILIES[2].name
    assert [name for name, one in about.items() if one["agreement"] > 0] == [FAMILIES[2].name]


def test_k_means_has_the_lowest_objective_of_its_starts(rng):
    """From Ward's partition and from fixed draws, in units of the range and of the deviation."""
    X = rng.normal(size=(200, 3)) * [1, 5, 20]
    starts = search_in(X)._starts
    for rows, labels in zip(
        (X / np.ptp(X, axis=0), X / X.std(axis=0)), starts.by_kmeans(6), strict=True
    ):
        drawn = KMeans(6, n_init=10, random_state=0).fit(rows)
        scatter = sum(
            ((rows[labels == k] - rows[labels == k].mean(axis=0)) ** 2).sum() for k in range(6)
        )
        assert scatter <= drawn.inertia_ * (1 + 1e-6)


@pytest.mark.parametrize("far", [1e30, 1e200, -1e300])
def test_rows_of_weight_zero_may_be_anywhere(far, rng):
    X = rng.standard_normal((40, 3)) + 6.0 * (np.arange(40) % 2)[:, None]
    weight = np.ones(40)
    X[:3], weight[:3] = far, 0.0
    model = AutoKMeans(2).fit(X, sample_weight=weight)
    assert np.isfinite(model.inertia_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-9)
    assert not np.isnan(model.transform(X)).any()


def test_all_numbers_of_a_range_are_tried(tmp_path):
    X = load_uci("iris").data
    model = AutoKMeans((4, 6)).fit(X)
    assert list(model.criteria_) == [4, 5, 6]
    assert model.n_clusters_ == max(model.criteria_, key=model.criteria_.get)
    free = AutoKMeans().fit(X)
    assert [free.criteria_[n] for n in (4, 5, 6)] == list(model.criteria_.values())
    save_model(model, tmp_path / "m.fwk")
    again = load_model(tmp_path / "m.fwk")
    assert again.n_clusters == (4, 6)
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    with pytest.raises(ValueError, match=r"n_clusters=\(4, 6\)\. Ask for fewer"):
        AutoKMeans((4, 6)).fit(X[:3])


@pytest.mark.parametrize("numbers", [(6, 4), (0, 2), (2,), (2.0, 3), (True, 3)])
def test_a_range_that_is_none_is_refused(numbers):
    with pytest.raises(ValueError, match="lowest, highest"):
        AutoKMeans(numbers).fit(np.eye(9))
