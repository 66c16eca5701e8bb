"""Rules for clusters: the tree's partition, their figures, and the same rules as SQL."""

from __future__ import annotations

import sqlite3

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fwkmeans._tabular.dates import age_between, ages, moment_of_age, parts_of
from fwkmeans.reports import rules_as_sql
from fwkmeans.reports.rules import Condition, describe_rules, find_rules
from fwkmeans.reports.table import read_columns

duckdb = pytest.importorskip("duckdb")

#: Names and values with everything that has to be quoted.
NAMES = {"a": 'si"ze', "b": "it's", "c": "order", "d": "größe -- ; drop", "e": "true?"}


def random_rows(seed, n=None):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 200)) if n is None else n
    table = pd.DataFrame(
        {
            "a": rng.normal(size=n) * 10.0 ** rng.integers(-9, 9),
            "b": rng.integers(-3, 4, n).astype(float),
            "c": rng.choice(["x", "O'Neil", 'say "a"', "", "1", "%"], n),
            "d": rng.choice(["u", "v"], n),
            "e": rng.random(n) < 0.5,
        }
    )
    table["e"] = table["e"].astype(object)
    for name in table:
        table.loc[rng.random(n) < rng.choice([0.0, 0.3]), name] = None
    score = table["b"].fillna(2.0) + 3.0 * (table["c"] == "x") + 2.0 * (table["e"].eq(True))
    score += table["a"].rank(pct=True).fillna(0.4) * rng.choice([0.0, 6.0])
    cuts = np.quantile(score, np.linspace(0, 1, int(rng.integers(2, 6)) + 1)[1:-1])
    labels = np.searchsorted(cuts, score)
    return table.rename(columns=NAMES), labels.astype(np.int32)


def rules_of(table, labels, n_clusters=None):
    """Return the columns, the rules, and a summary that holds nothing but them."""
    n_clusters = int(labels.max()) + 1 if n_clusters is None else n_clusters
    columns = read_columns(table, list(table), None)
    separation = np.linspace(1, 0, len(columns))
    rules = find_rules(columns, separation, labels, n_clusters, None, np.random.RandomState(0))
    told, right = describe_rules(rules, columns, labels, None)
    clusters = [{"number": k, "name": f"one\n-- {k}", "rule": rule} for k, rule in enumerate(told)]
    return columns, rules, {"clusters": clusters, "unit": "cluster", "rules_right": right}


def in_sqlite(table, sql, kinds=()):
    connection = sqlite3.connect(":memory:")
    names = [str(name).replace('"', '""') for name in table]
    types = dict(kinds)
    declared = ", ".join(f'"{n}" {types.get(o, "")}' for n, o in zip(names, table, strict=True))
    connection.execute(f"CREATE TABLE t ({declared})")
    rows = [
        [None if pd.isna(v) else (v.item() if isinstance(v, np.generic) else v) for v in row]
        for row in table.itertuples(index=False)
    ]
    connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", rows)
    return [one for (one,) in connection.execute(f"SELECT {sql} AS cluster FROM t ORDER BY rowid")]


def in_duckdb(table, sql):
    with duckdb.connect() as connection:
        connection.register("t", table)
        return [one for (one,) in connection.execute(f"SELECT {sql} AS cluster FROM t").fetchall()]


@given(seed=st.integers(0, 100_000))
@settings(max_examples=40, deadline=None)
def test_sql_gives_what_the_rules_give(seed):
    table, labels = random_rows(seed)
    columns, rules, summary = rules_of(table, labels)
    expected = rules.apply(columns).tolist()
    assert min(expected) >= 0  # every row is in some cluster
    sql = rules_as_sql(summary)
    assert in_sqlite(table, sql) == expected
    typed = table.assign(**{NAMES["e"]: table[NAMES["e"]].astype("boolean")})
    assert in_duckdb(typed, sql) == expected


@given(seed=st.integers(0, 100_000))
@settings(max_examples=20, deadline=None)
def test_rules_hold_for_rows_that_they_have_not_seen(seed):
    table, labels = random_rows(seed)
    others, _ = random_rows(seed + 1, 100)
    _, rules, summary = rules_of(table, labels)
    expected = rules.apply(read_columns(others, list(others), None)).tolist()
    found = in_sqlite(others, rules_as_sql(summary))
    assert [-1 if one is None else one for one in found] == expected
    whole = ~others[table.columns[table.notna().all()]].isna().any(axis=1)
    assert all(one >= 0 for one, known in zip(expected, whole, strict=True) if known)


@given(seed=st.integers(0, 100_000))
@settings(max_examples=20, deadline=None)
def test_figures_are_those_of_the_ways_in_the_text(seed):
    table, labels = random_rows(seed)
    columns, rules, summary = rules_of(table, labels)
    assert summary["rules_right"] == pytest.approx((rules.apply(columns) == labels).mean())
    by_name = {column.name: column for column in columns}
    for cluster in summary["clusters"]:
        rule, own = cluster["rule"], labels == cluster["number"]
        if rule is None:
            assert not rules.ways[cluster["number"]] or not own.any()
            continue
        shown = rule["ways"][: len(rule["ways"]) - rule["n_more"]]
        fits = np.zeros(len(labels), dtype=bool)
        for way in shown:
            every = np.ones(len(labels), dtype=bool)
            for one in way:
                every &= Condition(**one).holds(by_name[one["column"]])
            fits |= every
        assert rule["covers"] == pytest.approx(fits[own].mean())
        assert rule["others"] == pytest.approx(fits[~own].mean())
        if fits.any():
            assert rule["precision"] == pytest.approx(own[fits].mean())


def test_the_two_blobs_of_a_textbook():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 50).astype(np.int32)
    table = pd.DataFrame({"flavanoids": rng.normal(size=150) / 9, "color": rng.random(150)})
    table.loc[labels == 0, "flavanoids"] += 2.7
    table.loc[labels == 1, "color"] += 4.0
    _, _, summary = rules_of(table, labels)
    texts = [one["rule"]["text"] for one in summary["clusters"]]
    assert texts[1] == "color 3 or more"  # the shortest number between the two
    assert texts[0] == "color below 3 and flavanoids 1 or more"
    assert texts[2] == "color below 3 and flavanoids below 1"
    assert summary["rules_right"] == 1.0
    rule = summary["clusters"][1]["rule"]
    assert (rule["covers"], rule["others"], rule["precision"], rule["n_more"]) == (1.0, 0.0, 1.0, 0)


def test_every_cluster_keeps_a_rule_while_the_tree_is_cut_back():
    rng = np.random.default_rng(0)
    labels = np.r_[np.zeros(300), np.ones(300), [2] * 5].astype(np.int32)
    table = pd.DataFrame({"x": 5 * labels + rng.random(605), "noise": rng.random(605)})
    _, _, summary = rules_of(table, labels)
    assert [one["rule"] is not None for one in summary["clusters"]] == [True] * 3
    assert summary["clusters"][2]["rule"]["precision"] == 1.0


def test_missing_cells_may_be_what_a_rule_asks_for():
    labels = np.repeat([0, 1], 40).astype(np.int32)
    numbers = np.random.default_rng(0).random(80)
    numbers[:40] = np.nan
    table = pd.DataFrame({"x": numbers})
    columns, rules, summary = rules_of(table, labels)
    assert [one["rule"]["text"] for one in summary["clusters"]] == ["x missing", "x known"]
    expected = rules.apply(columns).tolist()
    assert expected == labels.tolist()
    assert in_sqlite(table, rules_as_sql(summary)) == expected
    assert in_duckdb(table, rules_as_sql(summary)) == expected


@pytest.mark.parametrize("seed", range(6))
def test_rules_about_dates_are_asked_of_the_dates(seed):
    rng = np.random.default_rng(seed)
    moments = np.datetime64("2019-01-01", "s") + rng.integers(0, 4 * 365 * 86_400, 150)
    if seed % 2:
        moments = moments.astype("datetime64[D]").astype("datetime64[s]")
    moments[rng.random(150) < 0.1] = np.datetime64("NaT")
    made = (ages if seed < 2 else parts_of)("day", moments)
    derived = pd.DataFrame(made)
    if seed in (4, 5):  # only one part of the date
        derived = derived[[("day: month", "day: weekday")[seed - 4]]]
    first = derived.iloc[:, 0]
    values = first.astype("category").cat.codes
    labels = (values > np.median(values)).to_numpy().astype(np.int32)
    columns, rules, summary = rules_of(derived, labels)
    expected = rules.apply(columns).tolist()
    assert summary["rules_right"] > 0.8
    sql = rules_as_sql(summary, dates=["day"])
    assert '"day"' in sql
    texts = [None if np.isnat(one) else str(one).replace("T", " ") for one in moments]
    assert in_sqlite(pd.DataFrame({"day": texts}), sql) == expected
    assert in_duckdb(pd.DataFrame({"day": moments}), sql) == expected


def test_ages_have_plain_days_as_bounds():
    name = "born (years before 2020-06-01)"
    moments = np.array(["2001-03-05T00:00:00", "1999-07-01T00:00:00"], dtype="datetime64[s]")
    young, old = ages("born", np.append(moments, np.datetime64("2020-06-01T00:00:00")))[name][:2]
    bound = age_between(name, young, old)
    assert young < bound <= old
    assert moment_of_age(name, bound) == "2001-01-01"
    assert age_between("born", young, old) is None
    assert moment_of_age("born", 3.0) is None


def test_codes_that_were_numbers_are_written_as_numbers():
    table = pd.DataFrame({"zip": ["1", "2", "3", "1"] * 10})
    labels = (table["zip"] == "2").to_numpy().astype(np.int32)
    columns, rules, summary = rules_of(table, labels)
    sql = rules_as_sql(summary, numbers=["zip"])
    assert "'" not in sql
    numbers = pd.DataFrame({"zip": table["zip"].astype(int)})
    assert in_sqlite(numbers, sql) == rules.apply(columns).tolist()


def test_one_cluster_is_every_row():
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0]})
    columns, rules, summary = rules_of(table, np.zeros(3, np.int32))
    assert summary["clusters"][0]["rule"]["text"] == "every row"
    assert in_sqlite(table, rules_as_sql(summary)) == [0, 0, 0]
    assert rules.apply(columns).tolist() == [0, 0, 0]
