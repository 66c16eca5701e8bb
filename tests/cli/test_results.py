"""Results to use: tables with clusters, workbooks with profiles, pages and PDF files."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet
import pytest

from fwkmeans import AutoKMeans, KMeans
from fwkmeans.cli import report_files
from fwkmeans.cli.rows import margins
from fwkmeans.cli.workbook import check_size
from fwkmeans.datasets import load_uci
from fwkmeans.preprocessing import RangeStandardizer

from .conftest import columns_of

ODD = [
    "name,a,b,cluster",
    *(f'={i}+1,{i % 3 + i / 90},"1.{100 + i},50",@x{i % 2}' for i in range(60)),
]


def test_the_table_is_written_with_cluster_distance_and_confidence(run, iris_path):
    run("fit", iris_path, "-k", 3, "-a", "k-means", "--labels", "class", "-o", "t.csv")
    table, given = columns_of("t.csv"), columns_of(iris_path)
    assert list(table) == [*given, "cluster", "cluster_name", "distance", "confidence"]
    for name, cells in given.items():
        assert table[name] == cells  # to the letter
    rows = RangeStandardizer().fit_transform(load_uci("iris").data)
    model = KMeans(3, random_state=0).fit(rows)
    distances = np.sqrt(((rows[:, None] - model.cluster_centers_) ** 2).sum(axis=2))
    ordered = np.sort(distances, axis=1)
    np.testing.assert_array_equal(np.array(table["cluster"], int), model.labels_)
    np.testing.assert_allclose(np.array(table["distance"], float), ordered[:, 0], rtol=1e-5)
    expected = 1 - ordered[:, 0] / ordered[:, 1]
    np.testing.assert_allclose(np.array(table["confidence"], float), expected, atol=1e-4)


def test_the_confidence_of_auto_k_means_is_a_probability(run, iris_path):
    run("fit", iris_path, "-k", 3, "--drop", "class", "-o", "t.csv")
    rows = RangeStandardizer().fit_transform(load_uci("iris").data)
    expected = AutoKMeans(3).fit(rows).predict_proba(rows).max(axis=1)
    found = np.array(columns_of("t.csv")["confidence"], float)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_labels_alone(run, iris_path):
    arguments = ("fit", iris_path, "-k", 3, "-a", "k-means", "--id", "class", "-o", "t.csv")
    run(*arguments, "--only-labels")
    assert list(columns_of("t.csv")) == ["class", "cluster", "cluster_name"]


def test_a_workbook_has_rows_and_profiles_and_no_formulas(run, write, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    path = write("t.csv", "\n".join(ODD) + "\n")
    arguments = ("fit", path, "-k", 3, "-a", "k-means", "--drop", "cluster")
    summary = run(*arguments, "-o", "t.xlsx", "--json").json
    book = openpyxl.load_workbook(tmp_path / "t.xlsx")
    assert book.sheetnames == ["rows", "profiles"]
    cells = list(book["rows"].iter_rows())
    names = [cell.value for cell in cells[0]]
    added = ["cluster_2", "cluster_name", "distance", "confidence"]
    assert names == ["name", "a", "b", "cluster", *added]
    assert [cell.value for cell in cells[1]][:4] == ["=0+1", 0, 1100.5, "@x0"]
    assert {cell.data_type for row in cells[1:] for cell in (row[0], row[3])} == {"s"}
    profiles = [[cell.value for cell in row] for row in book["profiles"].iter_rows()]
    assert profiles[1][3:] == [one["name"] for one in summary["clusters"]]
    assert profiles[2][1:] == ["rows", 60, *(one["size"] for one in summary["clusters"])]
    (means,) = (row for row in profiles if row[:2] == ["a", "mean"])
    assert means[3:] == pytest.approx([one["profile"]["a"]["mean"] for one in summary["clusters"]])
    assert run("fit", "t.xlsx", "-k", 2, "-a", "k-means", "--drop", "cluster").code == 0


def test_numbers_stay_numbers_in_parquet(run, write, tmp_path):
    path = write("t.csv", "\n".join(ODD) + "\n")
    run("fit", path, "-k", 3, "-a", "k-means", "--drop", "cluster", "-o", "t.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "t.parquet")
    assert table["b"].to_pylist()[:2] == [1100.5, 1101.5]
    added = ["cluster_2", "cluster_name", "distance", "confidence"]
    assert table.column_names[-4:] == added


def test_sheets_have_an_end():
    check_size("t.xlsx", 1_048_575, 16_384)
    for shape in ((1_048_576, 3), (3, 16_385)):
        with pytest.raises(ValueError, match=r"write .parquet or .csv"):
            check_size("t.xlsx", *shape)


def test_margins():
    distances = np.array([[0.0, 4.0], [2.0, 2.0], [1.0, 4.0], [4.0, 1.0], [0.0, 0.0]])
    found = margins(distances, np.array([0, 0, 0, 0, 0]))
    np.testing.assert_array_equal(found, [1.0, 0.0, 0.75, 0.0, 0.0])
    np.testing.assert_array_equal(margins(distances[:, :1], np.zeros(5, int)), np.ones(5))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--report", "x.doc"), "--report x.doc: expected a file whose name ends in .html or .pdf"),
        (("--report", "x"), "expected a file whose name ends in .html or .pdf"),
        (("--model", "x.csv"), "--model x.csv: expected a file whose name ends in .fwk"),
        (("--out", "x.html"), "ends in .csv, .tsv, .parquet or .xlsx"),
    ],
)
def test_no_file_is_of_another_kind_than_its_name_says(arguments, sentence, refuse, iris_path):
    assert sentence in refuse("fit", iris_path, "-k", 3, *arguments)


def test_without_a_browser_there_is_no_pdf(refuse, iris_path, monkeypatch):
    monkeypatch.setattr(report_files, "find_browser", lambda: None)
    assert "needs Chromium" in refuse("fit", iris_path, "-k", 3, "--report", "x.pdf")


@pytest.mark.long
@pytest.mark.skipif(report_files.find_browser() is None, reason="no browser is installed")
def test_a_browser_prints_the_report(run, iris_path, tmp_path):
    pytest.importorskip("jinja2")
    run("fit", iris_path, "-k", 3, "-a", "awk", "--drop", "class", "--report", "r.pdf")
    assert (tmp_path / "r.pdf").read_bytes().startswith(b"%PDF")
    assert [one.name for one in tmp_path.iterdir()] == ["r.pdf"]


def test_a_browser_that_fails_leaves_nothing(refuse, iris_path, monkeypatch, tmp_path):
    pytest.importorskip("jinja2")
    monkeypatch.setattr(report_files, "find_browser", lambda: "/bin/false")
    arguments = ("fit", iris_path, "-k", 3, "-a", "awk", "--drop", "class", "--report", "r.pdf")
    assert "could not print the report" in refuse(*arguments)
    assert list(tmp_path.iterdir()) == []


# ---- names, groups and rules --------------------------------------------------------------------


def test_near_clusters_are_merged_and_named(run, iris_path, tmp_path):
    common = ("fit", iris_path, "-k", 6, "-a", "k-means", "--drop", "class")
    done = run(*common, "--merge", 2, "--names", "wide, small", "-o", "t.csv", "-m", "m.fwk")
    assert "2 groups of 6 clusters by K-Means" in done.out
    assert "And coarser" not in done.out
    for number, name in ((1, "wide"), (2, "small")):
        assert f"Group {number} (" in done.out
        assert f"): {name}\n" in done.out
    table = columns_of("t.csv")
    assert list(table)[5:] == ["cluster", "group", "group_name", "distance", "confidence"]
    pairs = set(zip(table["cluster"], table["group"], table["group_name"], strict=True))
    assert len(pairs) == 6
    assert {one[1:] for one in pairs} == {("0", "wide"), ("1", "small")}
    predicted = run("predict", "m.fwk", iris_path, "--out", "p.csv")
    assert predicted.code == 0
    found = columns_of("p.csv")
    assert found == {name: table[name] for name in ("cluster", "group", "group_name")}
    run("report", "m.fwk", iris_path, "--out", "r.html")
    assert ">small<" in (tmp_path / "r.html").read_text("utf-8")


def test_a_coarser_answer_is_offered_where_there_are_many_clusters(run, write):
    rng = np.random.default_rng(0)
    rows = np.repeat([[0, 0], [0, 2], [30, 0], [30, 2], [0, 40], [0, 42]], 20, axis=0)
    lines = [f"{x:.3f},{y:.3f}" for x, y in rows + rng.normal(size=(120, 2)) / 9]
    path = write("t.csv", "\n".join(["a,b", *lines]) + "\n")
    text = " ".join(run("fit", path, "-k", 6, "-a", "k-means").out.split())
    summary = run("fit", path, "-k", 6, "-a", "k-means", "--json").json
    coarser = summary["merges"]["coarser"]
    assert coarser["n_groups"] == 3
    groups = [
        " and ".join(str(k + 1) for k in range(6) if coarser["groups"][k] == g) for g in range(3)
    ]
    told = "; ".join(f"clusters {one}" for one in groups)
    assert "And coarser: 3 groups keep >99% of what tells the clusters apart" in text
    assert f"(--merge 3): {told}." in text


def test_rules_are_written_for_the_table_as_it_is(run, write, tmp_path):
    rows = [f"{i % 2 * 9 + i / 90},{2020 + i % 2}-01-{1 + i % 28:02},{i % 3}" for i in range(60)]
    path = write("t.csv", "size,day,zip\n" + "\n".join(rows) + "\n")
    arguments = ("--dates", "age", "--categorical", "zip", "--rules", "r.sql", "-o", "t.parquet")
    run("fit", path, "-k", 2, "-a", "k-means", *arguments)
    sql = (tmp_path / "r.sql").read_text("utf-8")
    duckdb = pytest.importorskip("duckdb")
    found = duckdb.sql(f"SELECT cluster, {sql} AS rule FROM 't.parquet'").fetchall()
    assert len(found) == 60
    assert all(cluster == rule for cluster, rule in found)


def test_what_cannot_be_merged_named_or_written_is_said(refuse, iris_path):
    common = ("fit", iris_path, "-k", 3, "-a", "k-means", "--drop", "class")
    assert "--merge 3: there are only 3 clusters" in refuse(*common, "--merge", 3)
    assert "2 names were given; expected 3" in refuse(*common, "--names", "a,b")
    assert "expected a file whose name ends in .sql" in refuse(*common, "--rules", "r.txt")
