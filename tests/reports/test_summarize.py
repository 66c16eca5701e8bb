"""What a summary says, against plain loops over the table."""

from __future__ import annotations

import importlib
import json
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans as ScikitKMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score, silhouette_samples
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fwkmeans import (
    SYNCLUS,
    AutoKMeans,
    ConvexKMeans,
    EWKMeans,
    FeatureWeightedKMeans,
    FGKMeans,
    IKPrototypes,
    KMeans,
    WKMeans,
)
from fwkmeans.datasets import load_uci
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.preprocessing import RangeStandardizer, TableEncoder
from fwkmeans.reports import summarize
from fwkmeans.reports.distinctions import distinctions
from fwkmeans.reports.pairs import separating_columns
from fwkmeans.reports.projection import silhouettes
from fwkmeans.reports.table import read_columns
from reports.tables import CASES, summary_of

KEYS = {
    "version",
    "title",
    "algorithm",
    "class",
    "parameters",
    "n_rows",
    "n_features",
    "n_clusters",
    "objective",
    "n_iter",
    "converged",
    "preparation",
    "features",
    "clusters",
    "pairs",
    "agreement",
    "objective_history",
    "stability",
    "map",
    "warnings",
}


def iris():
    return load_uci("iris", as_frame="pandas")


def pipeline(estimator, X):
    return make_pipeline(RangeStandardizer(), estimator).fit(X)


# ---- laws of every summary ----------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_summary_is_ready_for_json(name):
    summary = summary_of(name)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert set(summary) >= KEYS
    assert summary["version"] == 3


@pytest.mark.parametrize("name", CASES)
def test_shares_sum_to_one(name):
    summary = summary_of(name)
    assert math.isclose(sum(f["weight"] for f in summary["features"]), 1.0, rel_tol=1e-9)
    assert math.isclose(sum(c["share"] for c in summary["clusters"]), 1.0, rel_tol=1e-9)
    assert sum(c["size"] for c in summary["clusters"]) == summary["n_rows"]
    for cluster in summary["clusters"]:
        assert math.isclose(sum(cluster["weights"].values()), 1.0, rel_tol=1e-9)
        assert set(cluster["weights"]) == set(cluster["profile"])


@pytest.mark.parametrize("name", CASES)
def test_columns_are_sorted_by_what_separates_and_tops_by_weight(name):
    summary = summary_of(name)
    equal = {feature["name"]: feature["equal_weight"] for feature in summary["features"]}
    found = [feature["separation"] for feature in summary["features"]]
    np.testing.assert_allclose(found, sorted(found, reverse=True), atol=1e-8)
    for feature in summary["features"]:
        mean = sum(c["share"] * c["separation"][feature["name"]] for c in summary["clusters"])
        assert feature["separation"] == pytest.approx(mean)
    for cluster in summary["clusters"]:
        shown = [share / equal[name] for name, share in cluster["top"]]
        own = [share / equal[name] for name, share in cluster["weights"].items() if equal[name]]
        np.testing.assert_allclose(shown, sorted(own, reverse=True)[: len(shown)], atol=1e-9)
        best = [claim["share"] for claim in cluster["separates"]]
        assert best == sorted(best, reverse=True)
        for claim in cluster["separates"]:
            assert cluster["separation"][claim["column"]] == claim["share"]
    for pair in summary["pairs"]:
        strengths = [strength for _, strength, _ in pair["features"]]
        assert strengths == sorted(strengths, reverse=True)
        assert len(strengths) <= 5


@pytest.mark.parametrize("name", CASES)
def test_overall_weight_is_the_mean_over_rows(name):
    summary = summary_of(name)
    for feature in summary["features"]:
        mean = sum(c["share"] * c["weights"][feature["name"]] for c in summary["clusters"])
        assert math.isclose(mean, feature["weight"], abs_tol=1e-12)


def test_same_seed_gives_the_same_summary():
    model, X, options = CASES["iris"]()
    assert summarize(model, X, **options) == summarize(model, X, **options)


# ---- values -------------------------------------------------------------------------------------


def test_numbers_of_profiles_equal_those_of_pandas():
    model, X, _ = CASES["gaps"]()
    labels = model.predict(X)
    summary = summarize(model, X)
    for cluster in summary["clusters"]:
        rows = X[labels == cluster["number"]]
        assert cluster["size"] == len(rows)
        for name in ("size", "other"):
            found = cluster["profile"][name]
            for part, column in ((found, rows[name]), (found["whole"], X[name])):
                expected = {
                    "mean": column.mean(),
                    "median": column.median(),
                    "q25": column.quantile(0.25),
                    "q75": column.quantile(0.75),
                }
                assert {key: part[key] for key in expected} == pytest.approx(expected)
                assert part["n_missing"] == column.isna().sum()
            others = X[labels != cluster["number"]][name].mean()
            assert found["others"] == pytest.approx(others)
            expected = (rows[name].mean() - others) / X[name].std(ddof=0)
            assert found["difference"] == pytest.approx(expected)
        assert cluster["profile"]["constant"]["difference"] is None
        assert cluster["profile"]["constant"]["mean"] == 3.0


def test_categories_of_profiles_equal_those_of_pandas():
    model, X, _ = CASES["gaps"]()
    labels = model.predict(X)
    for cluster in summarize(model, X)["clusters"]:
        rows = X[labels == cluster["number"]]
        for name in ("color", "flag"):
            own = rows[name].value_counts(normalize=True)
            whole = X[labels != cluster["number"]][name].value_counts(normalize=True)
            found = cluster["profile"][name]
            shares = {category: (mine, all_) for category, mine, all_ in found["categories"]}
            assert set(shares) == set(map(str, X[name].dropna().unique()))
            for category in X[name].dropna().unique():
                expected = (own.get(category, 0.0), whole.get(category, 0.0))
                assert shares[str(category)] == pytest.approx(expected)
            assert found["mode_share"] == pytest.approx(own.max())
            assert {str(c): own[c] for c in own.index}[found["mode"]] == own.max()
            assert found["n_missing"] == rows[name].isna().sum()
            both = X[name].dropna().unique()
            variation = sum(abs(own.get(c, 0.0) - whole.get(c, 0.0)) for c in both) / 2
            assert found["difference"] == pytest.approx(variation)


def test_types_of_columns():
    kinds = {f["name"]: f["type"] for f in summary_of("gaps")["features"]}
    assert kinds == {
        "size": "numeric",
        "other": "numeric",
        "constant": "numeric",
        "color": "categorical",
        "flag": "categorical",
    }


def test_weights_are_those_of_the_model():
    model, X, _ = CASES["iris"]()
    for k, cluster in enumerate(summary_of("iris")["clusters"]):
        own = [cluster["weights"][name] for name in X.columns]
        np.testing.assert_allclose(own, model[-1].feature_weights_[k], rtol=1e-12)


def test_weights_of_encoded_columns_are_added_up():
    model, X, _ = CASES["soybean"]()
    encoder, estimator = model
    origins = [X.columns[v] for v in encoder.origins_]
    for k, cluster in enumerate(summary_of("soybean")["clusters"]):
        expected = dict.fromkeys(X.columns, 0.0)
        for origin, weight in zip(origins, estimator.feature_weights_[k], strict=True):
            expected[origin] += weight
        assert cluster["weights"] == pytest.approx(expected)


def test_equal_weights_of_encoded_columns():
    model, X, _ = CASES["soybean"]()
    counts = np.bincount(model[0].origins_, minlength=X.shape[1])
    expected = dict(zip(X.columns, counts / counts.sum(), strict=True))
    found = {f["name"]: f["equal_weight"] for f in summary_of("soybean")["features"]}
    assert found == pytest.approx(expected)
    model = make_pipeline(TableEncoder(), KMeans(4, random_state=0)).fit(X)
    found = summarize(model, X, draws=0)
    assert "once for each category" in found["headline"][-1]
    assert all(f["weight"] == pytest.approx(f["equal_weight"]) for f in found["features"])


def test_columns_of_many_categories_do_not_stand_out_for_that():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"many": rng.choice(list("abcdefgh"), 200), "few": rng.choice(["u", "v"], 200)}
    )
    model = make_pipeline(TableEncoder(), EWKMeans(2, gamma=1e9, random_state=0)).fit(X)
    found = summarize(model, X, draws=0)
    weights = {feature["name"]: feature["weight"] for feature in found["features"]}
    assert weights["many"] == pytest.approx(0.8)
    assert "No column stands out by its weight" in found["headline"][2]


def test_weights_of_groups_are_multiplied_in():
    X = iris().data
    model = pipeline(FGKMeans(3, groups=[[0, 1], [2, 3]], random_state=0), X)
    fitted = model[-1]
    expected = fitted.feature_weights_ * np.repeat(fitted.group_weights_, 2, axis=1)
    for k, cluster in enumerate(summarize(model, X)["clusters"]):
        own = [cluster["weights"][name] for name in X.columns]
        np.testing.assert_allclose(own, expected[k], rtol=1e-9)


def test_negative_exponents_share_the_effect():
    X = iris().data
    model = pipeline(WKMeans(3, beta=-1.0, random_state=0), X)
    effect = 1.0 / model[-1].feature_weights_[0]
    own = summarize(model, X)["clusters"][0]["weights"]
    np.testing.assert_allclose([own[name] for name in X.columns], effect / effect.sum())


def test_pairs_are_ranked_by_what_separates_them_not_by_weight():
    """Checked against a loop in tests/test_separation.py; here: names, order and words."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 40)
    X = pd.DataFrame(
        {
            "nearly constant": np.where(rng.random(80) < 0.02, 1.0, 0.0),
            "apart": group * 9.0 + rng.random(80),
            "kind": np.where(group == 1, "a", rng.choice(["a", "b", "c"], 80)),
        }
    )
    columns = read_columns(X, list(X), np.array([2]))
    found = distinctions(columns, group, 2, None, np.random.RandomState(0))
    (pair,) = separating_columns(columns, found, np.array([40, 40]))
    assert [name for name, *_ in pair["features"]] == ["apart", "kind"]
    assert pair["features"][0][1] == pytest.approx(1.0)
    means = [X["apart"][group == k].mean() for k in (0, 1)]
    assert pair["features"][0][2] == f"mean {means[0]:.1f} against {means[1]:.1f}"
    assert "“a” " in pair["features"][1][2]


def test_what_separates_leads_and_weight_stands_beside_it():
    """A column that hardly varies has the largest weight and tells nothing apart."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 30)
    rare = np.zeros(90)
    rare[[3, 40]] = 1.0
    X = np.column_stack([rare, 3 * group + rng.normal(size=90), rng.normal(size=90)])
    centers = [[0.0, 3.0 * k, 0.0] for k in range(3)]
    model = EWKMeans(3, gamma=30.0, init=np.array(centers)).fit(X)
    summary = summarize(model, X, draws=0)
    assert max(summary["features"], key=lambda one: one["weight"])["name"] == "x0"
    assert summary["features"][0]["name"] == "x1"
    assert summary["headline"][1].startswith("What tells them apart best is x1")
    for cluster in summary["clusters"]:
        assert cluster["separates"][0]["column"] == "x1"
        assert "x0" not in cluster["name"]


def test_clusters_that_repeat_a_column_are_said_to():
    rng = np.random.default_rng(0)
    place = rng.choice(["north", "south", "west"], 120)
    X = pd.DataFrame({"place": place, "rain": rng.random(120), "wind": rng.random(120)})
    model = make_pipeline(TableEncoder(category_weight=4), KMeans(3, random_state=0)).fit(X)
    summary = summarize(model, X, draws=0)
    assert summary["repeated"] == ["place"]
    assert sorted(c["repeats"][1] for c in summary["clusters"]) == ["north", "south", "west"]
    assert "only repeat the column place" in " ".join(summary["warnings"])
    assert "Just the rows whose place is “" in summary["clusters"][0]["description"]
    league, half = rng.integers(0, 2, (2, 200))
    X = pd.DataFrame({"league": league, "half": half, "hits": rng.random(200)})
    labels = 2 * league + half
    centers = np.array([[a, b, 0.5] for a in (0, 1) for b in (0, 1)])
    model = KMeans(4, init=centers).fit(X)
    np.testing.assert_array_equal(model.labels_, labels)
    summary = summarize(model, X, draws=0)
    assert sorted(summary["repeated"]) == ["half", "league"]
    assert "repeat the columns" in " ".join(summary["warnings"])
    assert summary_of("iris")["repeated"] == []
    kind = np.repeat(["a", "b"], 30)
    X = pd.DataFrame({"kind": kind, "size": (kind == "b") + 0.1 * rng.random(60)})
    model = make_pipeline(TableEncoder(), KMeans(2, random_state=0)).fit(X)
    summary = summarize(model, X, draws=0)
    assert "kind gives already; other columns" in " ".join(summary["warnings"])
    assert summary["clusters"][0]["repeats"] is None


def test_weights_of_rows_count_as_repeated_rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.random(60), "b": rng.choice(["u", "v"], 60)})
    times = rng.integers(0, 3, 60)
    model = make_pipeline(TableEncoder(), KMeans(2, random_state=0)).fit(X)
    weighted = summarize(model, X, sample_weight=times, draws=0)["clusters"]
    repeated = summarize(model, X.loc[np.repeat(X.index, times)], draws=0)["clusters"]
    for one, other in zip(weighted, repeated, strict=True):
        assert one["share"] == pytest.approx(other["share"])
        for name, keys in (("a", ("mean", "others", "difference")), ("b", ("mode_share",))):
            for key in keys:
                expected = other["profile"][name][key]
                assert one["profile"][name][key] == pytest.approx(expected)
    with pytest.raises(ValueError, match="one number of 0 or more for each row"):
        summarize(model, X, sample_weight=[1.0])


def test_typical_rows_and_names_of_rows():
    model, X, _ = CASES["iris"]()
    names = [f"flower {i}" for i in range(150)]
    summary = summarize(model, X, row_names=names, draws=0)
    labels = model.predict(X)
    for row in summary["typical"]["rows"]:
        assert labels[row["row"]] == row["cluster"]
        assert row["name"] == names[row["row"]]
        at = summary["typical"]["columns"].index("petal_length")
        assert row["cells"][at] == X["petal_length"].iloc[row["row"]]
    assert [row["cluster"] for row in summary["typical"]["rows"]] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    places = summary["map"]
    assert places["names"] == [names[row] for row in places["rows"]]
    assert summary_of("iris")["map"]["names"][0] == "row 1"
    with pytest.raises(ValueError, match="one for each row"):
        summarize(model, X, row_names=names[:3])


def test_silhouettes_equal_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    labels[0] = 3  # alone
    np.testing.assert_allclose(silhouettes(X, labels), silhouette_samples(X, labels), atol=6e-4)
    assert silhouettes(X, np.zeros(60, dtype=int)) == [None] * 60


def test_histograms_equal_those_of_numpy():
    model, X, _ = CASES["iris"]()
    labels = model.predict(X)
    for feature in summary_of("iris")["features"]:
        found, numbers = feature["histogram"], X[feature["name"]]
        for part, own in ((found["whole"], labels >= 0), (found["clusters"][1], labels == 1)):
            inside = np.clip(numbers[own], found["low"], found["high"])
            counts, _ = np.histogram(inside, 16, (found["low"], found["high"]))
            np.testing.assert_allclose(part, counts / own.sum(), atol=2.5 / own.sum())
            assert sum(part) == pytest.approx(1.0, abs=0.01)


def test_many_clusters_are_compared_with_their_neighbors():
    rng = np.random.default_rng(0)
    X = np.repeat(9 * rng.normal(size=(30, 3)), 10, axis=0) + rng.normal(size=(300, 3))
    pairs = summarize(KMeans(30, random_state=0).fit(X), X, draws=0)["pairs"]
    assert 30 * 3 / 2 <= len(pairs) <= 30 * 3
    seen = {pair["a"] for pair in pairs} | {pair["b"] for pair in pairs}
    assert seen == set(range(30))


def test_agreement_with_classes():
    model, X, options = CASES["iris"]()
    found = summary_of("iris")["agreement"]
    labels = model.predict(X)
    assert found["ari"] == pytest.approx(adjusted_rand_score(options["classes"], labels))
    assert found["n_classes"] == 3
    table = pd.crosstab(labels, options["classes"])
    np.testing.assert_array_equal(found["table"], table[found["classes"]].to_numpy())


def test_rows_without_class_are_left_out():
    X = np.arange(6.0)[:, None]
    model = KMeans(2, random_state=0).fit(X)
    classes = np.array(["a", "a", None, "b", "b", None], dtype=object)
    found = summarize(model, X, classes=classes)["agreement"]
    assert found["n_unknown"] == 2
    assert np.sum(found["table"]) == 4
    with pytest.raises(ValueError, match="one class for each row"):
        summarize(model, X, classes=classes[:3])


def test_many_classes_are_counted_together():
    X = np.arange(200.0)[:, None]
    found = summarize(KMeans(2, random_state=0).fit(X), X, classes=np.arange(200))["agreement"]
    assert found["n_classes"] == 200
    assert len(found["classes"]) == 50
    assert found["classes"][-1] == "151 others"
    assert np.sum(found["table"]) == 200


def test_stability_compares_best_of_n_on_parts_of_the_rows():
    X = iris().data
    model = pipeline(KMeans(3, random_state=0), X)
    summary = summarize(model, X, draws=4)
    found = summary["stability"]
    assert found["n_draws"] == len(found["ari"]) == 4
    assert found["n_rows"] == 100
    assert found["median"] == pytest.approx(np.median(found["ari"]))
    assert found["median"] > 0.8
    assert found["restart"] == pytest.approx(1.0)
    assert [c["found_again"] for c in summary["clusters"]] == found["clusters"]
    assert all(0.5 < overlap <= 1 for overlap in found["clusters"])
    noise = np.random.default_rng(0).random((150, 4))
    lost = summarize(KMeans(7, random_state=0).fit(noise), noise)["stability"]
    assert lost["median"] < 0.7


def test_stability_of_one_cluster_and_of_few_rows():
    assert summary_of("one_cluster")["stability"] is None
    assert "only one cluster" in summary_of("one_cluster")["stability_note"]
    X = np.arange(5.0)[:, None]
    found = summarize(KMeans(2, random_state=0).fit(X), X)
    assert found["stability"] is None
    assert "too few rows" in found["stability_note"]
    assert summarize(KMeans(2, random_state=0).fit(X), X, draws=0)["stability"] is None


def test_deterministic_algorithms_are_tried_on_other_rows_too():
    found = summary_of("found_clusters")["stability"]
    assert found["n_draws"] == 5
    assert found["restart"] is None


def test_large_tables_are_sampled(monkeypatch):
    X = iris().data
    model = KMeans(3, random_state=0).fit(X)
    monkeypatch.setattr("fwkmeans.reports.stability.MOST_ROWS", 60)
    found = summarize(model, X)
    assert found["stability"]["n_rows"] == 60
    assert "with 60 of the 150 rows" in found["stability_note"]
    monkeypatch.setattr("fwkmeans.reports.stability.MOST_WORK", 1)
    found = summarize(model, X)
    assert found["stability"] is None
    assert "take long" in found["stability_note"]


def test_separation_of_large_tables_is_that_of_a_sample(monkeypatch):
    model, X, _ = CASES["iris"]()
    whole = {f["name"]: f["separation"] for f in summary_of("iris")["features"]}
    monkeypatch.setattr("fwkmeans.reports.distinctions.MOST_ROWS", 100)
    monkeypatch.setattr("fwkmeans.reports.distinctions.LEAST_ROWS", 10)
    sample = summarize(model, X, draws=0)["features"]
    assert {f["name"]: f["separation"] for f in sample} == pytest.approx(whole, abs=0.08)


def test_map_is_the_weighted_principal_components():
    model, X, _ = CASES["iris"]()
    Z = model[0].transform(X)
    Z = Z.to_numpy() if hasattr(Z, "to_numpy") else Z
    labels = model.predict(X)
    weights = (model[-1].feature_weights_ ** model[-1].beta)[labels].mean(axis=0)
    expected = PCA(2).fit(Z * np.sqrt(weights))
    found = summary_of("iris")["map"]
    places = expected.transform(Z * np.sqrt(weights))
    for axis, name in enumerate("xy"):
        line = np.corrcoef(found[name], places[:, axis])[0, 1]
        assert abs(line) == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(found["explained"], expected.explained_variance_ratio_, rtol=1e-9)
    assert found["labels"] == labels.tolist()
    assert "petal" in found["axes"]
    ratio = np.ptp(found["x"]) / np.ptp(found["y"])
    assert ratio == pytest.approx(np.ptp(places[:, 0]) / np.ptp(places[:, 1]), rel=1e-3)


def test_map_of_large_tables_is_a_sample_with_all_clusters():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(30_000, 2)), rng.normal(size=(25, 2)) + 100])
    found = summarize(KMeans(2, random_state=0).fit(X), X, draws=0)["map"]
    assert found["n_shown"] == len(found["x"]) == 2000
    assert found["n_rows"] == 30_025
    assert min(np.bincount(found["labels"])) >= 20
    assert "2,000 rows of 30,025" in found["note"]


# ---- what it takes ------------------------------------------------------------------------------


def test_frames_of_other_libraries_give_the_same():
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    columns = {"a": rng.random(60), "b": rng.choice(["u", "v"], 60)}
    found = []
    for X in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        encoder = TableEncoder(categorical="keep")
        model = make_pipeline(encoder, IKPrototypes(2, random_state=0, zero="huang")).fit(X)
        found.append(summarize(model, X, draws=1))
    assert found[0] == found[1] == found[2]


def test_arrays_have_names():
    X = iris().data.to_numpy()
    names = {f["name"] for f in summarize(KMeans(3, random_state=0).fit(X), X)["features"]}
    assert names == {"x0", "x1", "x2", "x3"}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_has_its_name(name):
    X = iris().data
    options = {} if name == "iMWK-Means" else {"random_state": 0}
    found = summarize(pipeline(ALGORITHMS[name](3, **options), X), X, draws=1)
    assert found["algorithm"] == name
    assert found["class"] == ALGORITHMS[name].__name__
    assert found["headline"][0] == "3 clusters in 150 rows and 4 columns."


def test_steps_of_scikit_learn_are_followed_by_name():
    table = load_uci("australian", as_frame="pandas")
    numbers = [name for name in table.data if name not in table.categorical_features]
    columns = make_column_transformer(
        (StandardScaler(), numbers),
        (OneHotEncoder(sparse_output=False), table.categorical_features),
    )
    model = make_pipeline(columns, EWKMeans(2, random_state=0)).fit(table.data)
    found = summarize(model, table.data, draws=1)
    assert {f["name"] for f in found["features"]} == set(table.data.columns)
    names = columns.get_feature_names_out()
    weights = model[-1].feature_weights_[0]
    own = sum(w for n, w in zip(names, weights, strict=True) if n.partition("__")[2] == "A2")
    assert found["clusters"][0]["weights"]["A2"] == pytest.approx(own)


def test_columns_made_of_several_are_shown_too():
    X = iris().data
    model = make_pipeline(StandardScaler(), PCA(2), EWKMeans(3, random_state=0)).fit(X)
    found = summarize(model, X)
    weights = {f["name"]: f["weight"] for f in found["features"]}
    assert set(weights) == {*X.columns, "pca0", "pca1"}
    assert weights["pca0"] + weights["pca1"] == pytest.approx(1.0)
    assert found["n_features"] == 4
    assert "principal components" in " ".join(found["preparation"])


def test_parameters_are_readable():
    X = iris().data.to_numpy()
    found = summarize(KMeans(3, init=X[[0, 60, 120]], tol=np.float64(0.0)).fit(X), X)
    assert found["parameters"]["init"] == "ndarray of shape (3, 4)"
    assert found["parameters"]["tol"] == 0.0
    assert summary_of("found_clusters")["found"]["n_clusters"] == len(
        summary_of("found_clusters")["clusters"]
    )


def test_own_recipes_have_the_name_of_their_class():
    X = iris().data
    found = summarize(FeatureWeightedKMeans(3, random_state=0).fit(X), X)
    assert found["algorithm"] == "FeatureWeightedKMeans"


def test_other_models_and_tables_are_refused():
    X = iris().data
    with pytest.raises(TypeError, match="expected an estimator of fwkmeans"):
        summarize(ScikitKMeans(3, n_init=1).fit(X), X)
    with pytest.raises(TypeError, match="rows that are in memory"):
        summarize(KMeans(3, random_state=0).fit(X), "rows.npy")
    with pytest.raises(TypeError, match="lazy"):
        summarize(KMeans(3, random_state=0).fit(X), pytest.importorskip("polars").LazyFrame())
    with pytest.raises(Exception, match="not fitted"):
        summarize(KMeans(3), X)


# ---- warnings in plain words --------------------------------------------------------------------


def warnings_of(model, X, draws=0, **options):
    return " ".join(summarize(model, X, draws=draws, **options)["warnings"])


def test_a_run_cut_short_is_told():
    X = iris().data
    assert "stopped after 1 iteration" in warnings_of(
        KMeans(3, max_iter=1, random_state=0).fit(X), X
    )
    assert "stopped" not in warnings_of(KMeans(3, random_state=0).fit(X), X)


def test_empty_and_tiny_clusters_are_told():
    X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 10, axis=0)
    assert "Cluster 3 has no rows" in warnings_of(KMeans(3, random_state=0).fit(X), X)
    X = np.concatenate([np.random.default_rng(0).random((50, 2)), [[99.0, 99.0]]])
    assert "very small (1 row)" in warnings_of(KMeans(2, random_state=0).fit(X), X)


def test_one_column_that_decides_alone_is_told():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"key": np.repeat([0.0, 1.0], 20), "rest": rng.random(40)})
    text = warnings_of(WKMeans(2, beta=2.0, guard=0, random_state=0).fit(X), X)
    assert "one column has nearly all the weight (key)" in text


def test_equal_weights_are_told_unless_they_are_meant():
    X = np.random.default_rng(0).random((60, 4))
    text = "weights are nearly equal"
    assert text in warnings_of(EWKMeans(2, gamma=1e9, random_state=0).fit(X), X)
    assert text not in warnings_of(KMeans(2, random_state=0).fit(X), X)


def test_instability_is_told_with_advice_that_fits(monkeypatch):
    X = np.random.default_rng(0).random((200, 10))
    text = warnings_of(KMeans(9, n_init=1, random_state=0).fit(X), X, draws=3)
    assert "not stable" in text
    assert "more starts may help" in text
    steady = KMeans(9, init=X[:9]).fit(X)  # nothing random: starts are not why
    assert "More starts will not change that" in warnings_of(steady, X, draws=3)
    table = iris().data
    model = pipeline(KMeans(2, random_state=0), table)
    assert "stable" not in warnings_of(model, table, draws=3)
    found = {"median": 0.9, "clusters": [0.3, 1.0], "restart": 1.0, "verdict": "stable"}
    found["drawn"] = "two thirds of the rows"
    for objective, told in ((0.9, True), (0.9999, False)):
        found["objective"] = objective * model[-1].inertia_
        module = importlib.import_module("fwkmeans.reports.summarize")
        monkeypatch.setattr(module, "find_again", lambda *_: (found, ""))
        text = warnings_of(model, table)
        assert ("lower objective" in text) is told
        assert "Cluster 1 is not found again" in text


def test_missing_constant_and_identifying_columns_are_told():
    text = " ".join(summary_of("gaps")["warnings"])
    assert "have missing cells, in size and color. They do not count" in text
    assert "constant has the same value in every row" in text
    X = pd.DataFrame({"id": [f"case {i}" for i in range(40)], "x": np.arange(40.0) % 7})
    model = make_pipeline(TableEncoder(), KMeans(2, random_state=0)).fit(X)
    assert "id has almost as many categories as rows" in warnings_of(model, X)


def test_filled_cells_are_told():
    X = pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0] * 5, "b": np.arange(20.0)})
    model = make_pipeline(TableEncoder(impute="median"), KMeans(2, random_state=0)).fit(X)
    assert "5 rows (25%) have missing cells, in a. They were filled" in warnings_of(model, X)


@pytest.mark.filterwarnings("ignore::fwkmeans.exceptions.UnequalSpreadWarning")
def test_unequal_ranges_are_told():
    X = np.random.default_rng(0).random((50, 2)) * [1.0, 1000.0]
    assert "very different ranges" in warnings_of(KMeans(2, random_state=0).fit(X), X)
    assert "very different" not in warnings_of(pipeline(KMeans(2, random_state=0), X), X)


def test_filling_is_told_only_where_cells_were_missing():
    X = iris().data
    model = make_pipeline(TableEncoder(impute="median"), KMeans(2, random_state=0)).fit(X)
    assert "replaced" not in " ".join(summarize(model, X, draws=0)["preparation"])
    X.iloc[3, 1] = np.nan
    model.fit(X)
    assert "replaced by the median" in " ".join(summarize(model, X, draws=0)["preparation"])


def test_other_rows_or_row_weights_are_told():
    X = iris().data
    weight = np.linspace(0.1, 3.0, len(X))
    model = KMeans(3, random_state=0).fit(X, sample_weight=weight)
    assert "other rows" in warnings_of(model, X)
    assert "other rows" not in warnings_of(model, X, sample_weight=weight)
    assert "other rows" not in warnings_of(KMeans(3, random_state=0).fit(X), X)


@pytest.mark.parametrize("cls", [SYNCLUS, ConvexKMeans])
def test_objectives_on_the_same_rows_are_recognised(cls):
    X = RangeStandardizer().fit_transform(iris().data)
    model = cls(3, random_state=0).fit(X)
    assert "other rows" not in warnings_of(model, X, draws=1)


# ---- words --------------------------------------------------------------------------------------


def test_headline_and_descriptions_name_what_matters():
    summary = summary_of("iris")
    assert summary["headline"][0] == "3 clusters in 150 rows and 4 columns."
    assert "petal_length" in summary["headline"][1]
    small = next(c for c in summary["clusters"] if c["profile"]["petal_length"]["mean"] < 2)
    assert "petal_length 1.5, others 4.9" in small["description"]
    assert small["name"] == "low petal_width (0.2), low petal_length (1.5)"


def test_categories_are_named_in_descriptions():
    clusters = summary_of("soybean")["clusters"]
    assert any("canker_lesion: 2" in one["name"] for one in clusters)
    assert any("canker_lesion 2: 100%, others 0%" in one["description"] for one in clusters)


def test_a_search_that_was_stopped_is_told():
    X = load_uci("iris").data
    model = AutoKMeans(3).fit(X)
    assert "stopped" not in " ".join(summarize(model, X, draws=0)["warnings"])
    model.converged_ = False
    assert "before it converged. Rows between" in " ".join(summarize(model, X, draws=0)["warnings"])


@pytest.mark.parametrize("algorithm", [AutoKMeans, KMeans])
def test_stability_of_tables_of_some_thousand_rows_is_that_of_real_draws(algorithm):
    X = np.random.default_rng(0).normal(size=(1309, 3)) + np.arange(1309)[:, None] % 3 * [6, 0, 0]
    model = algorithm(3).fit(X)
    found = summarize(model, X)["stability"]
    assert found["n_draws"] == 5
    assert found["n_rows"] == 873
    assert found["drawn"] == "two thirds of the rows"
    drawn = np.sort(np.random.RandomState(7).choice(1309, 873, replace=False))
    ours = adjusted_rand_score(algorithm(3).fit(X[drawn]).labels_, model.labels_[drawn])
    assert found["median"] == pytest.approx(ours, abs=0.05)
    assert found["verdict"] == "stable"


def test_what_too_few_rows_say_of_stability_is_not_said(monkeypatch):
    monkeypatch.setattr("fwkmeans.reports.stability.MOST_SEARCH", 150 * 9)
    X = np.random.default_rng(0).uniform(size=(300, 3))
    model = AutoKMeans(4).fit(X)
    summary = summarize(model, X)
    assert summary["stability"] is None
    assert "To cluster more than 150 of the 300 rows again" in summary["stability_note"]
    assert "stable" not in " ".join(summary["warnings"])
    asked = summarize(model, X, draws=2)["stability"]
    assert (asked["n_draws"], asked["n_rows"], asked["verdict"]) == (2, 200, "not stable")
    assert asked["median"] < 0.7


def test_few_rows_that_agree_are_enough(monkeypatch):
    monkeypatch.setattr("fwkmeans.reports.stability.MOST_SEARCH", 150 * 4)
    X = np.random.default_rng(0).normal(size=(300, 2)) + np.arange(300)[:, None] % 2 * 9
    found = summarize(AutoKMeans(2).fit(X), X)["stability"]
    assert (found["n_rows"], found["drawn"]) == (150, "150 of the 300 rows")
    assert found["verdict"] == "stable"
