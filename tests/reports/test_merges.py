"""Coarser answers: the tree of merges against SciPy's, what is lost, and groups in summaries."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.pipeline import make_pipeline

from fwkmeans import EWKMeans, KMeans
from fwkmeans._support.agreement import adjusted_rand_score
from fwkmeans.preprocessing import RangeStandardizer
from fwkmeans.reports import name_clusters, render, summarize
from fwkmeans.reports.merges import describe_merges, groups_after, merge_tree


def blobs(n_clusters=6, n=40, seed=0):
    rng = np.random.default_rng(seed)
    centers = np.repeat([[0, 0, 0], [30, 0, 0], [0, 30, 0]], n_clusters // 3, axis=0)
    centers = centers + rng.normal(size=centers.shape) * 3
    return pd.DataFrame(
        np.repeat(centers, n, axis=0) + rng.normal(size=(len(centers) * n, 3)) / 3,
        columns=list("xyz"),
    ), centers


@given(seed=st.integers(0, 10_000), n_clusters=st.integers(2, 9))
@settings(max_examples=30, deadline=None)
def test_merges_are_those_of_ward_and_cost_what_the_scatter_grows(seed, n_clusters):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, n_clusters)
    centers = rng.normal(size=(n_clusters, 3))
    tree = merge_tree(centers.copy(), sizes.astype(float))
    rows = np.repeat(centers, sizes, axis=0)  # of SciPy: every row at its center
    owners = np.repeat(np.arange(n_clusters), sizes)
    ward = linkage(rows, "ward")
    for n_groups in range(1, n_clusters + 1):
        groups = groups_after(tree, n_clusters, n_groups)
        assert sorted(set(groups.tolist())) == list(range(n_groups))
        expected = cut_tree(ward, n_groups)[:, 0]
        assert adjusted_rand_score(expected, groups[owners]) == pytest.approx(1.0)
    total = ((rows - rows.mean(axis=0)) ** 2).sum()
    scatter = [0.0]
    for n_groups in range(n_clusters - 1, 0, -1):
        own = groups_after(tree, n_clusters, n_groups)[owners]
        means = np.stack([rows[own == g].mean(axis=0) for g in range(n_groups)])
        scatter.append(((rows - means[own]) ** 2).sum())
    np.testing.assert_allclose([one.loss for one in tree], np.diff(scatter) / total, atol=1e-12)
    assert sum(one.loss for one in tree) == pytest.approx(1.0)


def test_clusters_without_rows_are_not_in_the_tree():
    centers = np.array([[0.0], [np.nan], [1.0], [9.0]])
    tree = merge_tree(centers, np.array([3.0, 0.0, 3.0, 3.0]))
    assert [set(one.first) | set(one.second) for one in tree] == [{0, 2}, {0, 2, 3}]
    assert groups_after(tree, 4, 2).tolist() == [0, 0, 0, 1]
    told = describe_merges(tree, centers)
    assert told["nearest"] == [2, None, 0, 2]
    assert describe_merges([], centers) is None


def test_a_coarser_answer_is_found_and_describes_groups():
    X, _ = blobs()
    model = make_pipeline(RangeStandardizer(), KMeans(6, random_state=0)).fit(X)
    fine = summarize(model, X, draws=0)
    coarser = fine["merges"]["coarser"]
    assert coarser["n_groups"] == 3
    assert coarser["kept"] > 0.9
    groups = summarize(model, X, draws=2, merge=3)
    assert groups["unit"] == "group"
    assert groups["headline"][0] == "3 groups in 240 rows and 3 columns."
    assert [one["size"] for one in groups["clusters"]] == [80, 80, 80]
    assert sorted(k for one in groups["clusters"] for k in one["parts"]) == list(range(6))
    merged = np.array(coarser["groups"])[model[-1].labels_]
    for one in groups["clusters"]:
        own = X[merged == one["number"]]
        for name in X:
            assert one["profile"][name]["mean"] == pytest.approx(own[name].mean())
        assert one["rule"]["covers"] == 1.0
    assert groups["stability"]["clusters"] == [None] * 3
    assert groups["stability_note"].startswith("Before clusters were merged: ")
    page = render(groups)
    assert "Group 1" in page.replace('<span class="word">', "").replace("</span>", "")
    assert "of 6 clusters" in page


def test_weights_of_groups_are_means_over_rows():
    X, _ = blobs()
    model = EWKMeans(6, random_state=0).fit(X)
    fine, groups = (summarize(model, X, draws=0, merge=merge) for merge in (None, 2))
    for one in groups["clusters"]:
        own = [fine["clusters"][k] for k in one["parts"]]
        rows = sum(cluster["size"] for cluster in own)
        for name in X:
            mean = sum(cluster["size"] * cluster["weights"][name] for cluster in own) / rows
            assert one["weights"][name] == pytest.approx(mean)


@pytest.mark.parametrize("merge", [1, 6, 9])
def test_merging_to_no_fewer_groups_is_refused(merge):
    X, _ = blobs()
    with pytest.raises(ValueError, match="fewer than the 6 clusters"):
        summarize(KMeans(6, random_state=0).fit(X), X, draws=0, merge=merge)


def test_names_and_groups_stay_with_the_model_until_it_is_fitted_again():
    X, _ = blobs()
    model = KMeans(6, random_state=0).fit(X)
    groups = summarize(model, X, draws=0)["merges"]["coarser"]["groups"]
    name_clusters(model, ["giants", "the rest", "dwarfs"], groups)
    summary = summarize(model, X, draws=0)
    assert [one["name"] for one in summary["clusters"]] == ["giants", "the rest", "dwarfs"]
    assert summary["unit"] == "group"
    model.set_params(n_clusters=4).fit(X)
    assert summarize(model, X, draws=0)["unit"] == "cluster"


@pytest.mark.parametrize(
    ("names", "groups", "sentence"),
    [
        (["a"], None, "1 name was given; expected 3, one for each"),
        (["a", "a", "b"], None, "different ones"),
        (["a", " ", "b"], None, "not empty"),
        (["a", "b"], [0, 2, 0], "numbers from 0 without a gap"),
        (["a", "b"], [0, 1], "expected a whole number for each of 3 clusters"),
        (["a", "b"], [0.0, 1.0, 1.0], "holds float64"),
    ],
)
def test_names_and_groups_that_fit_nothing_are_refused(names, groups, sentence):
    X, _ = blobs()
    with pytest.raises(ValueError, match=sentence):
        name_clusters(KMeans(3, random_state=0).fit(X), names, groups)
