"""What a summary claims about clusters, against the rows themselves, on tables of many kinds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import Pipeline

from fwkmeans import KMeans
from fwkmeans._support.text import percent
from fwkmeans.preprocessing import TableEncoder
from fwkmeans.reports.descriptions import describe_cluster, name_apart
from fwkmeans.reports.distinctions import distinctions
from fwkmeans.reports.profiles import column_profiles
from fwkmeans.reports.summarize import summarize_rows
from fwkmeans.reports.table import read_columns

WORDS = ["yes", "no", "it's", 'a "b"', "ö", "1"]


def random_table(seed):
    """Return a table with columns of every kind, some cells missing, and clusters of its rows."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(20, 120)), int(rng.integers(2, 6))
    group = rng.integers(0, k, n)
    table = pd.DataFrame({"level": group * rng.choice([0.0, 3.0]) + rng.normal(size=n)})
    table["around"] = np.where(group == 0, rng.choice([-9.0, 9.0], n), rng.normal(size=n))
    table["two"] = np.where(rng.random(n) < 0.8, group == 1, rng.random(n) < 0.5) * 2.0 + 1.0
    table["hair"] = np.where(rng.random(n) < 0.9, group == 0, rng.random(n) < 0.5)
    several = np.array(WORDS, dtype=object)
    table["several"] = np.where(rng.random(n) < 0.7, several[group], rng.choice(several, n))
    table["constant"] = 1.0
    for name in ("level", "two", "several"):
        table.loc[rng.random(n) < rng.choice([0.0, 0.2]), name] = None
    return table


def summary_and_labels(seed, n_clusters=4, **options):
    table = random_table(seed)
    encoder = TableEncoder(impute="median")
    rows = encoder.fit_transform(table)
    model = KMeans(n_clusters, n_init=1, random_state=0).fit(rows)
    pipeline = Pipeline([("prepare", encoder), ("cluster", model)])
    summary = summarize_rows(pipeline, table, rows, draws=0, for_page=False, **options)
    return table, model.labels_, summary


def check_claim(claim, inside, others):
    """Compare the figures of a claim with those of pandas."""
    inside, others = inside.dropna(), others.dropna()
    if claim["kind"] == "mean":
        found = inside.astype(float).mean(), others.astype(float).mean()
    elif claim["kind"] == "categories":
        found = tuple(
            some.map(str_of).isin(map(str_of, claim["categories"])).mean()
            for some in (inside, others)
        )
    elif claim["kind"] == "range":
        found = tuple(some.between(claim["low"], claim["high"]).mean() for some in (inside, others))
    else:  # low or high: the range between is that of the others
        assert claim["kind"] == "outside"
        assert claim["value"] > claim["others"]
        return
    np.testing.assert_allclose((claim["value"], claim["others"]), found, atol=1e-9)


def str_of(value):
    return f"{value:g}" if isinstance(value, float) else str(value)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_claims_are_true(seed):
    table, labels, summary = summary_and_labels(seed)
    names = [cluster["name"] for cluster in summary["clusters"]]
    assert len(set(names)) == len(names)
    for cluster in summary["clusters"]:
        own = labels == cluster["number"]
        assert cluster["size"] == own.sum()
        shares = [claim["share"] for claim in cluster["separates"]]
        assert shares == sorted(shares, reverse=True)
        for claim in cluster["separates"]:
            check_claim(claim, table.loc[own, claim["column"]], table.loc[~own, claim["column"]])
        if cluster["separates"]:
            assert any(cluster["name"].startswith(one["short"]) for one in cluster["separates"][:3])


@given(seed=st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_words_have_the_figures_of_the_claim(seed):
    *_, summary = summary_and_labels(seed)
    for cluster in summary["clusters"]:
        for claim in cluster["separates"]:
            told, others = claim["text"].replace("−", "-").split(", others ")
            if claim["kind"] == "mean":
                scale = abs(claim["value"] - claim["others"])
                assert float(told) == pytest.approx(claim["value"], abs=0.06 * scale)
                assert float(others) == pytest.approx(claim["others"], abs=0.06 * scale)
            else:
                assert told.endswith(f": {percent(claim['value'])}")
                assert others == percent(claim["others"])


def named(frame, labels):
    """Return name, description and claims of cluster 0 of a table that is divided by hand."""
    X, labels = pd.DataFrame(frame), np.array(labels)
    columns = read_columns(X, list(X), None)
    found = distinctions(columns, labels, 2, None, np.random.RandomState(0))
    profiles = {
        column.name: own[0]
        for column, (_, own) in zip(columns, column_profiles(columns, labels, 2), strict=True)
    }
    return describe_cluster(list(X), found.rest, profiles, 0, int((labels == 0).sum()), None)


def test_two_values_say_what_they_are():
    labels = [0] * 20 + [1] * 20
    name, _, claims = named({"survived": ["yes"] * 19 + ["no"] * 21}, labels)
    assert name == "survived: yes 95%"
    assert claims[0]["text"] == "yes: 95%, others 0%"
    name, _, claims = named({"sex": [1.0] * 19 + [0.0] * 21}, labels)
    assert name == "sex: 1 (95%)"
    assert claims[0]["categories"] == [1.0]


def test_true_and_false_say_has_and_has_not():
    labels = [0] * 20 + [1] * 20
    assert named({"hair": [True] * 20 + [False] * 20}, labels)[0] == "has hair"
    assert named({"fins": [False] * 20 + [True] * 20}, labels)[0] == "has no fins"
    assert named({"survived": [False] * 20 + [True] * 20}, labels)[0] == "not survived"
    assert named({"has_tail": [True] * 18 + [False] * 22}, labels)[0] == "has tail 90%"


def test_of_several_categories_the_frequent_ones_are_said():
    labels = [0] * 20 + [1] * 20
    several = ["a"] * 12 + ["b"] * 8 + ["c"] * 15 + ["b"] * 5
    name, _, claims = named({"kind": several}, labels)
    assert name == "kind: a or b"
    assert claims[0]["text"] == "a or b: 100%, others 25%"
    assert claims[0]["others"] == 0.25


def test_numbers_give_the_value():
    labels = [0] * 20 + [1] * 20
    numbers = np.r_[np.full(20, 19.1), np.full(20, 16.6)] + np.tile([-0.1, 0.1], 20)
    name, _, claims = named({"bill depth": numbers}, labels)
    assert name == "high bill depth (19.1)"
    assert claims[0]["text"] == "19.1, others 16.6"


def test_clusters_of_one_kind_have_different_names():
    shorts = ("high income (1)", "low age (2)", "sex: male")
    claims = [{"short": short, "kind": "mean"} for short in shorts]
    same = {"name": "high income (1)", "separates": claims}
    other = {"name": "high income (1)", "separates": claims[:1]}
    alike = {"name": "like the others", "separates": []}
    names = name_apart([same, other, alike, alike])
    assert names[0].startswith("high income (1), low age (2)")
    assert names[1:] == ["high income (1)", "like the others", "like the others (2)"]


def test_names_begin_with_what_most_rows_have_in_common():
    labels = [0] * 20 + [1] * 20
    models = [f"model {i % 5}" for i in range(20)] + [f"other {i % 5}" for i in range(20)]
    table = {"model": models, "doors": [2.0] * 19 + [4.0] * 21}
    name, _, claims = named(table, labels)
    assert [claim["column"] for claim in claims] == ["model", "doors"]
    assert name.startswith("doors: 2 (95%)")
