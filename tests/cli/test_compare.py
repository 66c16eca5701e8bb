"""Algorithms side by side: each as Python has it, and their agreement."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from fwkmeans.cli.compare import _about_suggestion, _suggestion
from fwkmeans.cli.models import NAMES
from fwkmeans.datasets import load_uci
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.preprocessing import RangeStandardizer

from .conftest import columns_of


@pytest.fixture(scope="module")
def wine():
    return load_uci("wine", as_frame=False)


def test_everything_is_compared(run, wine_path, wine):
    done = run("compare", wine_path, "-k", 3, "--labels", "class", "--out", "all.csv", "--json")
    found = done.json
    assert [one["name"] for one in found["algorithms"]] == ["AutoKMeans", *NAMES]
    assert found["skipped"] == []
    labels = columns_of("all.csv")
    consensus = labels.pop("consensus")
    assert list(labels) == [one["name"] for one in found["algorithms"]]
    check_consensus(found, labels, np.array(consensus, dtype=int))
    for one in found["algorithms"][1:]:
        model = make_pipeline(RangeStandardizer(), ALGORITHMS[one["name"]](3, random_state=0))
        model.fit(wine.data)
        mine = np.array(labels[one["name"]], dtype=int)
        assert adjusted_rand_score(mine, model[-1].labels_) == 1.0  # numbered as the first one is
        first = np.array(labels["AutoKMeans"], dtype=int)
        ways = (np.array(way)[mine] for way in itertools.permutations(range(3)))
        assert (mine == first).sum() == max((own == first).sum() for own in ways)
        assert one["sizes"] == np.bincount(mine, minlength=3).tolist()
        assert one["ari"] == pytest.approx(adjusted_rand_score(wine.target, mine), abs=1e-12)
        assert one["objective"] == pytest.approx(model[-1].inertia_)
        assert sum(one["weights"].values()) == pytest.approx(1.0)
    names, matrix = found["agreement"]["names"], np.array(found["agreement"]["ari"])
    assert names == list(labels)
    for a, first in enumerate(labels.values()):
        for b, second in enumerate(labels.values()):
            assert matrix[a, b] == pytest.approx(adjusted_rand_score(first, second), abs=1e-12)


def check_consensus(found, labels, consensus):
    """Against a loop over all ways to match clusters."""
    told = found["consensus"]
    matrix = np.array(found["agreement"]["ari"])
    means = (matrix.sum(axis=1) - 1) / (len(matrix) - 1)
    names = list(labels)
    assert told["middle"] == names[int(means.argmax())]
    assert told["mean_agreement"] == pytest.approx(means.max())
    middle = np.array(labels[told["middle"]], dtype=int)
    votes = np.zeros((len(middle), 3))
    for own in labels.values():
        ways = [np.array(way)[np.array(own, dtype=int)] for way in itertools.permutations(range(3))]
        best = max(ways, key=lambda way: (way == middle).sum())
        votes[np.arange(len(middle)), best] += 1
    sure = votes.max(axis=1) > len(labels) / 2
    np.testing.assert_array_equal(consensus[sure], votes.argmax(axis=1)[sure])
    assert told["share_agreed"] == pytest.approx(sure.mean())
    assert told["share_unanimous"] == pytest.approx((votes.max(axis=1) == len(labels)).mean())
    assert told["sizes"] == np.bincount(consensus, minlength=3).tolist()
    assert "labels" not in told


def test_compare_ends_with_a_consensus_and_a_suggestion(run, wine_path, write):
    three = ("-a", "k-means", "-a", "wk-means", "-a", "fwsa")
    text = run("compare", wine_path, "-k", 3, "--drop", "class", *three).out
    assert "of the rows are in the same cluster for most algorithms" in text
    assert "Suggestion: begin with " in text
    assert re.search(r"fwkmeans fit \S*wine\.csv -k 3 --drop class -a ", text)
    told = run("compare", wine_path, "-k", 3, "--drop", "class", *three, "--json").json
    assert told["suggestion"] == {"algorithm": told["consensus"]["middle"], "n_clusters": 3}
    four = ("-a", "AutoKMeans", *three)
    text = run("compare", wine_path, "-k", 3, "--drop", "class", *four).out
    assert "Suggestion: begin with AutoKMeans, which " in text
    assert re.search(r"fwkmeans fit \S*wine\.csv -k 3 --drop class$", text, re.MULTILINE)
    rng = np.random.default_rng(0)
    lines = "\n".join(",".join(f"{v:.3f}" for v in row) for row in rng.random((60, 8)))
    noise = write("noise.csv", f"{','.join('abcdefgh')}\n{lines}\n")
    text = run("compare", noise, "-k", 5, *three).out
    assert "The algorithms disagree" in text
    assert "Consensus" not in run("compare", wine_path, "-k", 3, *three[:4]).out


def test_text(run, wine_path):
    arguments = (
        "compare",
        wine_path,
        "-k",
        3,
        "--labels",
        "class",
        "-a",
        "wk-means",
        "-a",
        "k-means",
    )
    text, found = run(*arguments).out, run(*arguments, "--json").json
    assert text.startswith("wine.csv: 178 rows, 13 columns, 3 clusters\n")
    wk, kmeans = found["algorithms"]
    assert f"WK-Means   {wk['ari']:.2f}" in text
    assert "all alike" in text
    heaviest = max(wk["weights"], key=wk["weights"].get)
    assert re.search(rf"{heaviest} {100 * wk['weights'][heaviest]:.2g}\d?%", text)
    assert re.search(rf"2 K-Means +{found['agreement']['ari'][1][0]:.2f}  ·", text)
    assert kmeans["ari"] != wk["ari"]
    assert "best" not in text


def test_without_classes_there_is_no_column_for_them(run, wine_path):
    text = run("compare", wine_path, "-k", 3, "--drop", "class", "-a", "awk").out
    assert "ARI" not in text


def test_what_cannot_be_done_is_skipped_with_a_reason(run, refuse, mixed):
    arguments = ("compare", mixed, "-k", 2, "--drop", "key", "--missing", "ignore")
    found = run(*arguments, "-a", "SYNCLUS", "-a", "K-Means", "--json").json
    assert [one["name"] for one in found["algorithms"]] == ["K-Means"]
    reason = "SYNCLUS needs every cell: use --missing median."
    assert found["skipped"] == [{"name": "SYNCLUS", "reason": reason}]
    assert f"Skipped SYNCLUS: {reason}" in run(*arguments, "-a", "SYNCLUS", "-a", "K-Means").out
    assert refuse(*arguments, "-a", "SYNCLUS") == reason


def test_bad_input_gets_a_sentence(refuse, wine_path, write):
    assert "there cannot be more clusters than rows" in refuse("compare", wine_path, "-k", 999)
    assert "There is no file" in refuse("compare", "none.csv", "-k", 3)
    assert "one column" in refuse("compare", write("t.csv", "a\n1\n2\n"), "-k", 2)
    assert "No column varies" in refuse("compare", write("t.csv", "a,b\n1,1\n1,1\n"), "-k", 2)
    assert "no algorithm" in refuse("compare", wine_path, "-k", 3, "-a", "nothing")


def test_mixed_tables(run, mixed):
    found = run("compare", mixed, "-k", 3, "--drop", "key", "--labels", "group", "--json").json
    assert len(found["algorithms"]) == 1 + len(NAMES)
    for one in found["algorithms"]:
        assert set(one["weights"]) == {"size", "count", "color", "yes"}


@pytest.mark.long
def test_the_number_of_clusters_is_found_if_none_is_given(run, wine_path):
    done = run("compare", wine_path, "--drop", "class", "-a", "awk", "-a", "k-means", "--json").json
    assert done["n_clusters"] == 3
    assert "AutoKMeans found 3 clusters, and all algorithms" in done["notes"][0]


def test_a_result_with_an_empty_cluster_is_not_suggested():
    done = [
        {"name": "AutoKMeans", "sizes": [10, 10, 0]},
        {"name": "K-Means", "sizes": [8, 6, 6]},
        {"name": "WK-Means", "sizes": [7, 7, 6]},
    ]
    agreement = [[1.0, 0.9, 0.9], [0.9, 1.0, 0.2], [0.9, 0.2, 1.0]]
    assert _suggestion(done, agreement, None) == {"algorithm": "K-Means", "n_clusters": 3}
    told = "\n".join(_about_suggestion({"algorithms": done, "suggestion": None}, "fit"))
    assert "a cluster of theirs has no rows: AutoKMeans." in told
    assert "every algorithm left one empty" in told
    assert _suggestion(done[:1], [[1.0]], None) is None
