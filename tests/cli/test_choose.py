"""Numbers of clusters and algorithms compared, and one of them recommended."""

from __future__ import annotations

import shlex

import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from fwkmeans import AutoKMeans, KMeans
from fwkmeans.cli.numbers import best_of, ceiling, decide_auto, say_votes, some_rows, vote
from fwkmeans.datasets import load_uci
from fwkmeans.preprocessing import RangeStandardizer

FAST = ("-a", "k-means", "-a", "wk-means", "-k", "2:4", "--starts", 2)


def test_numbers_are_scored_as_python_scores_them(run, iris_path):
    fast = ("-a", "k-means", "-k", "2:4", "--starts", 2)
    found = run("choose", iris_path, "--drop", "class", *fast, "--no-plot", "--json").json
    rows = RangeStandardizer().fit_transform(load_uci("iris").data)
    assert found["numbers"] == [2, 3, 4]
    for one in found["algorithms"]:
        assert sum(one["sizes"]) == 150
    number = found["recommended"]["n_clusters"]
    labels = KMeans(number, n_init=2, random_state=0).fit(rows).labels_
    expected = silhouette_score(rows, labels, metric="manhattan")
    assert found["scores"]["silhouette"][str(number)] == pytest.approx(expected)
    assert found["algorithms"][0]["sizes"] == sorted(np.bincount(labels).tolist(), reverse=True)
    assert found["recommended"]["algorithm"] == "K-Means"
    assert found["tendency"]["verdict"] == "clear"


def test_text_ends_in_a_command_that_runs(run, iris_path, tmp_path):
    text = run("choose", iris_path, "--drop", "class", *FAST, "--plot", "p.svg").out
    assert (tmp_path / "p.svg").read_text("utf-8").count("<svg") == 1
    assert "Recommended: " in text
    assert "confidence: " in text
    (command,) = (line for line in text.splitlines() if line.startswith("  fwkmeans fit"))
    assert "clusters by" in run(*shlex.split(command)[1:]).out


def test_choose_and_compare_begin_with_what_fit_finds(run, wine_path):
    about = (wine_path, "--drop", "class", "--draws", 1)
    fitted = run("fit", *about, "--json").json
    chosen = run("choose", *about, "--no-plot", "--json").json
    compared = run("compare", *about, "-a", "auto", "-a", "k-means", "--json").json
    sizes = sorted((one["size"] for one in fitted["clusters"]), reverse=True)
    assert chosen["recommended"]["n_clusters"] == fitted["number"]["chosen"]
    assert chosen["recommended"]["algorithm"] == "AutoKMeans"
    assert chosen["algorithms"][0]["sizes"] == sizes
    assert chosen["algorithms"][0]["stability"] == fitted["stability"]["median"]
    assert compared["suggestion"] == {"algorithm": "AutoKMeans", "n_clusters": len(sizes)}
    assert sorted(compared["algorithms"][0]["sizes"], reverse=True) == sizes
    kinds = {one["kind"]: one["n_clusters"] for one in chosen["alternatives"]}
    assert kinds["coarser"] < len(sizes) < kinds["finer"]


def test_one_cluster_is_recommended_where_fit_finds_one(run, write):
    rows = np.random.default_rng(0).normal(size=(150, 4))
    lines = "\n".join(",".join(f"{v:.4f}" for v in row) for row in rows)
    cloud = write("cloud.csv", f"a,b,c,d\n{lines}\n")
    text = run("choose", cloud, "--no-plot", "--draws", 1).out
    assert text.startswith("Nothing clusters here")
    assert "Recommended: 1 cluster by AutoKMeans; confidence: high." in text
    assert "finer: " in text
    assert "coarser: " not in text
    told = run("compare", cloud, "-a", "auto", "-a", "k-means").out
    assert told.startswith("Nothing clusters here")
    assert "Suggestion: take all rows for one cluster, as AutoKMeans does: fwkmeans fit" in told


@pytest.mark.long
def test_auto_k_means_is_one_of_them(run, iris_path):
    arguments = ("choose", iris_path, "--drop", "class", "-k", "3", "-a", "auto", "--json")
    found = run(*arguments, "--no-plot").json
    assert found["recommended"]["algorithm"] == "AutoKMeans"
    sizes = np.bincount(AutoKMeans(3).fit_predict(load_uci("iris").data))
    assert found["algorithms"][0]["sizes"] == sorted(sizes.tolist(), reverse=True)


def test_scores_that_are_not_known_are_left_blank(run, write):
    arguments = ("choose", write("t.csv", "a,b\n1,2\n3,5\n"), "--no-plot")
    text = run(*arguments).out
    assert "t.csv: 2 rows, 2 columns\n" in text
    assert "nan" not in text
    algorithms = run(*arguments, "--json").json["algorithms"]
    assert {one["stability"] for one in algorithms} == {None}


def test_what_cannot_be_done_is_said_before_any_work(refuse, iris_path):
    assert "ends in .png, .svg or .pdf" in refuse("choose", iris_path, "--plot", "p.html")
    assert "There is no folder" in refuse("choose", iris_path, "--plot", "no/p.png")
    assert "no such column" in refuse("choose", iris_path, "--drop", "nothing")


def test_votes():
    scores = {
        "silhouette": {2: 0.5, 3: 0.4, 4: 0.3},
        "gap": {2: 1.0, 3: 2.0, 4: 1.0},
        "stability": {2: 1.0, 3: 0.96, 4: 0.5},
    }
    assert [best_of(name, own) for name, own in scores.items()] == [2, 3, 3]
    assert vote(scores) == (3, {"silhouette": 2, "gap": 3, "stability": 3})
    del scores["stability"]
    assert vote(scores)[0] == 2  # the first of two


def test_a_gap_that_still_rises_prefers_no_number():
    scores = {"silhouette": {2: 0.5, 3: 0.4}, "gap": {2: 1.0, 3: 2.0}}
    assert best_of("gap", scores["gap"]) is None
    assert best_of("gap", {3: 2.0}) == 3
    number, votes = vote(scores)
    assert number == 2
    told = say_votes(votes, scores["gap"])
    assert told == "silhouette prefers 2, gap prefers none, as it still rises at 3"


def test_every_number_of_a_range_is_tried_and_the_largest_is_called_the_most(run, iris_path):
    arguments = ("fit", iris_path, "--drop", "class", "--draws", 0)
    found = run(*arguments, "-k", "15:17", "--json").json["number"]
    assert list(found["scores"]["criterion"]) == ["15", "16", "17"]
    best = max(found["scores"]["criterion"], key=found["scores"]["criterion"].get)
    assert found["chosen"] == int(best)
    text = run(*arguments, "-k", "15:17").out
    assert f"is highest for {best} clusters\nof 15 to 17; next come" in text
    assert f"iris.csv: 150 rows, 4 columns, {best} clusters by AutoKMeans" in text


def test_a_ceiling_is_said():
    assert "5 is the most that was tried" in decide_auto({2: 1.0, 3: 2.0, 5: 9.0}).lines[2]
    assert decide_auto({2: 1.0, 3: 2.0, 5: 9.0}).lines[1].startswith("of 3 numbers from 2 to 5;")
    assert len(decide_auto({2: 1.0, 3: 9.0, 4: 2.0}).lines) == 2
    assert ceiling(4, [4]) == []


def test_a_flat_or_negative_gap_does_not_vote():
    below = {2: -0.43, 3: -0.2, 4: -0.5}
    flat = {2: 0.30, 3: 0.32, 4: 0.31}
    assert best_of("gap", below) is None
    assert best_of("gap", flat) is None
    assert best_of("gap", {2: 0.1, 3: 0.32, 4: 0.31}) == 3
    assert say_votes({}, below).endswith("there is no less scatter than in tables without clusters")
    assert say_votes({}, flat).endswith("it is about the same for all numbers")


def test_rows_are_filled_as_the_encoder_fills_them():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": [1, None, 4, 9], "b": ["x", "y", "y", None], "c": [1.0, None, 2.0, 5.0]})
    assert some_rows(table, 0).to_pydict() == {
        "a": [1.0, 4.0, 4.0, 9.0],
        "b": ["x", "y", "y", "y"],
        "c": [1.0, 2.0, 2.0, 5.0],
    }
    assert some_rows(table, 0, most=2).num_rows == 2
