"""``fwkmeans fit`` does what Python does, and says it well."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from fwkmeans import AutoKMeans, AWKMeans, FGKMeans, KMeans, WKMeans
from fwkmeans._tabular import reading
from fwkmeans._tabular.format import Format
from fwkmeans.cli import main
from fwkmeans.cli.columns import Roles, choose_columns, with_shares
from fwkmeans.cli.models import NAMES, choose
from fwkmeans.cli.numbers import tendency_lines
from fwkmeans.datasets import load_uci
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.persistence import load_model
from fwkmeans.preprocessing import RangeStandardizer, TableEncoder
from fwkmeans.reports import summarize
from fwkmeans.selection.tendency import Tendency

from .conftest import columns_of


def read_table(*args, **options):
    return reading.read_table(*args, **options).table


@pytest.fixture(scope="module")
def iris():
    return load_uci("iris", as_frame=False)


def labels_of(path):
    return np.array(columns_of(path)["cluster"], dtype=int)


def test_labels_are_those_of_python(run, iris_path, iris, tmp_path):
    run("fit", iris_path, "-k", 3, "--labels", "class", "--out", "labels.csv")
    model = make_pipeline(RangeStandardizer(), AutoKMeans(3))
    expected = model.fit(iris.data)[-1].labels_
    np.testing.assert_array_equal(labels_of(tmp_path / "labels.csv"), expected)


@pytest.mark.thinned
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_runs(name, run, iris_path, iris, tmp_path):
    run("fit", iris_path, "-k", 3, "-a", name, "--drop", "class", "-o", "l.csv", "--seed", 3)
    model = make_pipeline(RangeStandardizer(), ALGORITHMS[name](3, random_state=3))
    expected = model.fit(iris.data)[-1].labels_
    np.testing.assert_array_equal(labels_of(tmp_path / "l.csv"), expected)


def test_options_reach_the_model(run, iris_path, iris, tmp_path):
    run(
        *("fit", iris_path, "-k", "4", "-a", "wk means", "-p", "beta=3.5", "-p", "weights=cluster"),
        *("--starts", 2, "--seed", 7, "--jobs", 1, "--drop", "class", "--no-standardize"),
        *("--missing", "ignore", "--model", "m.fwk"),
    )
    encoder, model = (step for _, step in load_model(tmp_path / "m.fwk").steps)
    expected = WKMeans(
        4, beta=3.5, weights="cluster", n_init=2, random_state=7, n_jobs=1, missing="ignore"
    )
    assert model.get_params() == expected.get_params()
    np.testing.assert_array_equal(model.labels_, expected.fit(iris.data).labels_)
    assert (encoder.standardize, encoder.impute, encoder.categorical) == (False, "keep", "keep")


def test_json_is_the_summary(run, iris_path):
    done = run("fit", iris_path, "-k", 3, "-a", "AWK", "--labels", "class", "--json")
    chosen = choose_columns(read_table(iris_path, Format()), Roles(labels="class"), "iris")
    model = make_pipeline(
        TableEncoder(categorical="keep", impute="median"), AWKMeans(3, random_state=0)
    )
    model.fit(chosen.features)
    expected = summarize(model, chosen.features, classes=chosen.classes)
    found = done.json
    assert (found.pop("notes"), found.pop("left_out"), found.pop("written")) == ([], {}, {})
    assert found.pop("number")["chosen"] is None  # it was given
    assert found.pop("title") == "3 clusters in iris.csv"
    expected.pop("title")
    assert found == json.loads(json.dumps(expected))
    ari = adjusted_rand_score(chosen.classes, model[-1].labels_)
    assert found["agreement"]["ari"] == pytest.approx(ari, abs=1e-12)


def test_text_says_what_matters(run, iris_path):
    arguments = ("fit", iris_path, "-k", 3, "-a", "AWK", "-p", "beta=2", "--labels", "class")
    text, summary = run(*arguments).out, run(*arguments, "--json").json
    assert text.startswith("iris.csv: 150 rows, 4 columns, 3 clusters by AWK (beta=2)\n")
    for cluster in summary["clusters"]:  # people count from 1; a name is on one line
        heading = f"Cluster {cluster['number'] + 1} ({cluster['size']} rows, "
        assert re.search(rf"^{re.escape(heading)}.*{re.escape(cluster['name'])}$", text, re.M)
        assert f"rule: {cluster['rule']['text']}" in " ".join(text.split())
    line = r"^  (\w+)\s+(.*?)\s*>?([\d.]+)%  ([█▉▊▋▌▍▎▏]+)\s+weight ([\d.]+)%$"
    shares = re.findall(line, text, flags=re.MULTILINE)
    expected = [
        (one["name"], "", one["separation"], one["weight"], 20) for one in summary["features"]
    ]
    expected += [
        (one["column"], one["text"], one["share"], cluster["weights"][one["column"]], 10)
        for cluster in summary["clusters"]
        for one in cluster["separates"]
    ]
    assert [found[:2] for found in shares] == [one[:2] for one in expected]
    for (*_, shown, bar, beside), (*_, share, weight, width) in zip(shares, expected, strict=True):
        assert float(shown) == pytest.approx(100 * share, abs=1.0)  # >99% is not 100%
        assert len(bar) == pytest.approx(width * share, abs=1.1)
        assert float(beside) == pytest.approx(100 * weight, abs=0.51)
    assert f"Stability: {summary['stability']['median']:.2f}, stable" in text
    assert f"Agreement with 'class': ARI {summary['agreement']['ari']:.2f}" in text
    assert max(map(len, text.splitlines())) <= 100


def test_equal_weights_are_said_once(run, iris_path):
    text = run("fit", iris_path, "-k", 3, "-a", "K-Means", "--drop", "class").out
    assert "All columns have the same weight." in " ".join(text.split())
    assert "weight 2" not in text
    assert len(re.findall(r"^Cluster \d \(\d+ rows, ", text, flags=re.MULTILINE)) == 3


def test_stability_is_always_told(run, iris_path, write):
    for algorithm in ("K-Means", "iMWK-Means"):
        text = run("fit", iris_path, "-k", 3, "-a", algorithm, "--drop", "class").out
        assert text.splitlines()[1].startswith("Stability: ")
        assert re.search(r"Stability: [01]\.\d\d, ", text)
    text = run("fit", write("t.csv", "a,b\n1,2\n2,1\n5,6\n"), "-k", 2, "-a", "kmeans").out
    assert "Stability: not known. There are too few rows" in " ".join(text.split())


def test_bars_have_a_plain_form(run, iris_path, monkeypatch):
    monkeypatch.setattr("fwkmeans._support.text.has_blocks", lambda: False)
    text = run("fit", iris_path, "-k", 2, "--drop", "class").out
    assert "####" in text
    assert text.isascii()


def test_mixed_tables(run, mixed, tmp_path):
    arguments = ("fit", mixed, "-k", 3, "--id", "key", "--labels", "group", "--seed", 1)
    done = run(*arguments, "-a", "FG-K-Means", "--out", "l.csv", "--model", "m.fwk")
    assert "2 missing cells were filled with the median" in done.out
    chosen = choose_columns(read_table(str(mixed), Format()), Roles(id=["key"], labels="group"), "")
    model = make_pipeline(
        TableEncoder(categorical="keep", impute="median"), FGKMeans(3, random_state=1)
    ).fit(chosen.features)
    columns = columns_of(tmp_path / "l.csv")
    assert columns["key"] == [f"k{i}" for i in range(60)]
    assert columns["cluster"] == [str(label) for label in model[-1].labels_]
    assert list(model.feature_names_in_) == ["size", "count", "color", "yes"]
    saved = load_model(tmp_path / "m.fwk")
    np.testing.assert_array_equal(saved.predict(chosen.features), model[-1].labels_)
    assert saved[-1].modes_ == model[-1].modes_


@pytest.mark.parametrize("missing", ["ignore", "rescale"])
@pytest.mark.parametrize("name", ["EW-KM", "IK-P"])
def test_missing_cells_can_stay(missing, name, run, mixed, tmp_path):
    done = run(
        *("fit", mixed, "-k", 2, "-a", name, "--missing", missing, "--drop", "key,group"),
        *("--model", "m.fwk"),
    )
    assert "missing cells were ignored" in done.out
    assert load_model(tmp_path / "m.fwk")[-1].missing == missing


def test_stdin_and_stdout(run, iris_path, iris):
    with open(iris_path, encoding="utf-8") as stream:
        text = stream.read()
    arguments = ("fit", "-", "-k", 3, "-a", "kmeans", "--drop", "class", "--out", "-")
    done = run(*arguments, "--only-labels", stdin=text)
    header, *rows = done.out.splitlines()
    model = make_pipeline(RangeStandardizer(), KMeans(3, random_state=0)).fit(iris.data)
    assert header == "cluster,cluster_name"
    assert [int(row.split(",")[0]) for row in rows] == model[-1].labels_.tolist()
    assert done.err.startswith("stdin: 150 rows")


def test_labels_as_other_files(run, mixed, tmp_path):
    common = ("fit", mixed, "-k", 2, "--id", "key", "--only-labels")
    run(*common, "--out", "l.parquet")
    run(*common, "--out", "l.tsv")
    table = pyarrow.parquet.read_table(tmp_path / "l.parquet")
    lines = (tmp_path / "l.tsv").read_text().splitlines()
    assert table.column_names == ["key", "cluster", "cluster_name"]
    assert lines[0] == "key\tcluster\tcluster_name"
    assert [line.split("\t")[1] for line in lines[1:]] == [
        str(x) for x in table["cluster"].to_pylist()
    ]


def test_reports_are_written(run, iris_path, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    done = run("fit", iris_path, "-k", 3, "--labels", "class", "--report", "r.html")
    assert "Wrote the report to r.html" in done.out
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "petal_width" in page
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_the_number_of_clusters_can_be_found(run, iris_path, iris):
    for arguments in ((), ("-k", "auto"), ("-k", "2:5", "-a", "wk")):
        done = run("fit", iris_path, *arguments, "--drop", "class", "--json").json
        most = 5 if "wk" in arguments else 3
        assert 2 <= done["n_clusters"] == done["number"]["chosen"] <= most
        assert done["number"]["tendency"]["verdict"] == "clear"
    assert set(done["number"]["scores"]) == {"silhouette", "gap", "stability"}
    assert list(map(int, done["number"]["scores"]["silhouette"])) == [2, 3, 4, 5]


@pytest.mark.long
def test_the_choice_of_the_number_is_explained(run, iris_path):
    text = run("fit", iris_path, "--drop", "class").out
    model = AutoKMeans().fit(load_uci("iris").data)
    lines = text.splitlines()
    assert lines[0].endswith(f"is highest for {model.n_clusters_} clusters")
    second = sorted(model.criteria_, key=model.criteria_.get)[-2]
    behind = model.criteria_[second] - max(model.criteria_.values())
    assert f"next come {second} ({behind:.0f})" in lines[1]
    text = " ".join(run("fit", iris_path, "--drop", "class", "-k", "5:6").out.split())
    chosen = AutoKMeans((5, 6)).fit(load_uci("iris").data).n_clusters_
    assert f"is highest for {chosen} clusters of 5 to 6" in text
    assert f"iris.csv: 150 rows, 4 columns, {chosen} clusters by AutoKMeans" in text


def test_the_report_says_what_the_command_knows(run, write):
    rng = np.random.default_rng(0)
    rows = [
        f"name {i},2020-01-{i % 28 + 1:02},{a:.4f},{b:.4f}"
        for i, (a, b) in enumerate(rng.uniform(size=(60, 2)))
    ]
    path = write("t.csv", "who,day,a,b\n" + "\n".join(rows) + "\n")
    text = run("fit", path, "--report", "t.html").out
    page = path.with_name("t.html").read_text(encoding="utf-8")
    assert text.startswith("Nothing clusters here")
    assert text.count("Nothing clusters here") == 1
    for sentence in (
        "All rows are together, so there is nothing to tell apart.",
        "Nothing clusters here: K-Means does no better",
        "is highest for 1 cluster of 1 to 6",
        "Columns left out: who (every row has a text of its own, as a name or key), day (dates or",
    ):
        assert sentence in page, sentence


@pytest.mark.parametrize("kind", ["normal", "uniform", "clustered"])
def test_a_table_without_clusters_is_said_first(kind, run, write):
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(150, 3)) if kind == "uniform" else rng.normal(size=(150, 3))
    if kind == "clustered":
        rows[:75] += 6
    lines = [",".join(f"{value:.4f}" for value in row) for row in rows]
    path = write("t.csv", "a,b,c\n" + "\n".join(lines) + "\n")
    for arguments in (("fit", path), ("choose", path, "-k", "2:3", "-a", "k-means", "--no-plot")):
        text = run(*arguments).out
        assert text.startswith("Nothing clusters here") == (kind != "clustered"), text
        if arguments[0] == "fit" and kind != "clustered":
            assert "1 cluster by AutoKMeans" in text
            assert "What tells each cluster" not in text
            assert "Caution" not in text


def test_names_are_those_of_the_registry():
    assert list(NAMES) == list(ALGORITHMS)
    for spelling, name in {
        "wkmeans": "WK-Means",
        "WK_MEANS": "WK-Means",
        "imwk-means": "iMWK-Means",
        "ConvexKMeans": "CK-Means",
        "ikp": "IK-P",
        "EW km": "EW-KM",
        "k means": "K-Means",
        "FGKMeans": "FG-K-Means",
        "wk": "WK-Means",
        "imwk": "iMWK-Means",
        "ew": "EW-KM",
        "syn": "SYNCLUS",
    }.items():
        assert choose(spelling).name == name


def test_values_of_parameters():
    texts = ["beta=3", "weights=cluster", "smoothing=0.5", "weight_init=[1, 2]", "tol=1e-3"]
    assert choose("WK-Means", texts).parameters == {
        "beta": 3,
        "weights": "cluster",
        "smoothing": 0.5,
        "weight_init": [1, 2],
        "tol": 1e-3,
    }
    assert choose("FWSA", ["safeguard=true"]).parameters == {"safeguard": True}
    assert choose("iMWK-Means", ["p=inf"]).parameters == {"p": np.inf}
    assert choose("SYNCLUS", ["groups=None"]).parameters == {"groups": None}


def test_groups_are_columns_by_name(run, refuse, mixed, iris_path, iris, tmp_path):
    text = (
        'groups={"petal": ["petal_width", "petal_length"], "sepal": ["sepal_width","sepal_length"]}'
    )
    run("fit", iris_path, "-k", 3, "-a", "FGK-Means", "-p", text, "--drop", "class", "-m", "m.fwk")
    model = load_model(tmp_path / "m.fwk")[-1]
    groups = {"petal": [2, 3], "sepal": [0, 1]}
    expected = make_pipeline(RangeStandardizer(), FGKMeans(3, groups=groups, random_state=0))
    np.testing.assert_array_equal(expected.fit(iris.data)[-1].labels_, model.labels_)
    assert list(model.groups_) == ["petal", "sepal"]
    common = ("fit", mixed, "-k", 2, "--drop", "key,group", "-a", "CK-Means")
    run(*common, "-p", 'spaces=[["size", "count"], ["color", "yes"]]', "-m", "m.fwk")
    spaces = load_model(tmp_path / "m.fwk")[-1].spaces_
    assert [space.tolist() for space in spaces.values()] == [[0, 1], [2, 3, 4, 5, 6]]
    sentence = refuse(*common, "-p", 'spaces={"a": ["size", "nothing"]}')
    assert "-p spaces: there is no column 'nothing'" in sentence


# ---- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("-k", "151"),
            "-k 151: there cannot be more clusters than rows, and the table has 150 rows",
        ),
        (("-k", "3", "--numeric", "class"), "Column 'class' holds 'Iris-setosa' (row 1)"),
        (
            ("-k", "3", "--sep", ";"),
            "its header holds ',': give another separator, or none (--sep)",
        ),
        (("-k", "3", "-a", "wkmaens"), "There is no algorithm 'wkmaens': did you mean WK-Means"),
        (("-k", "3", "-a", "f"), "There is no algorithm 'f': did you mean FWSA or FG-K-Means?"),
        (
            ("-k", "3", "-a", "?"),
            "There is no algorithm '?': choose one of AutoKMeans, K-Means, SYNCLUS",
        ),
        (
            ("-k", "3", "-a", "ew", "-p", "gama=1"),
            "no parameter 'gama'. Did you mean gamma? It has gamma, ",
        ),
        (("-k", "3", "-a", "ew", "-p", "gamma"), "write a parameter as name=value"),
        (("-k", "3", "-a", "ew", "-p", "n_init=3"), "use the option --starts instead"),
        (("-k", "3", "-a", "ew", "-p", "gamma=-1"), "gamma=-1: expected"),
        (("-k", "3", "-a", "AWK", "-p", "beta=x"), "beta='x': expected a number"),
        (("-k", "2:151"), "-k 2:151: there cannot be more clusters than rows"),
        (("--starts", "3"), "AutoKMeans draws nothing at random"),
        (("-a", "autokmaens"), "did you mean AutoKMeans"),
        (("-p", "beta=3"), "Name an algorithm that has it (-a): AWK, WK-Means, IK-P. It has"),
        (("--missing", "rescale"), "AutoKMeans ignores missing cells"),
        (("-k", "3", "--labels", "clas"), "did you mean 'class'?"),
        (("-k", "3", "--out", "labels.doc"), "expected a file whose name ends in"),
        (("-k", "3", "--out", "no/labels.csv"), "There is no folder no"),
        (("-k", "3", "--model", "."), "is a folder"),
    ],
)
def test_bad_options_get_a_sentence(arguments, sentence, refuse, iris_path, tmp_path):
    assert sentence in refuse("fit", iris_path, *arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("-k", "0"), "0 makes no clusters; give 2 or more"),
        (("-k", "1"), "1 makes no clusters; give 2 or more"),
        (("-k", "5:3"), "5:3 is empty"),
        (("-k", "two"), "'two' is not a number of clusters"),
        (("-k", "3", "--json", "--out", "-"), "would both print"),
        (("-k", "3", "--sep", "ab"), "is not one character"),
        (("-k", "3", "--nonsense"), "No such option"),
        (("-k", "3", "--missing", "mean"), "is not one of"),
    ],
)
def test_wrong_usage_is_code_2(arguments, sentence, refuse, iris_path):
    assert sentence in refuse("fit", iris_path, *arguments, code=2)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("a\n1\n2\n3\n", "has one column, 'a': weights of features need two or more"),
        ("a,b\n1,1\n1,1\n1,1\n", "No column varies"),
        ("a,b\n1,inf\n2,3\n4,1\n", "infinity in column(s) 'b'"),
        ("a,b\n1,2\n3\n", "a row of 1 cell where the header has 2"),
        ("a,b\n", "header but no rows"),
        ("", "is empty"),
        ("a,b", "it holds a single line, not a header and rows"),
        ('"a,b\n1,2\n', "its first row does not end; is there a single quote?"),
        (b"a,b\n1,\x81\n", "0x81): give its encoding, or save it as UTF-8 (--encoding)."),
        ("a,b\n1,2\n", "-k 2: there cannot be more clusters than rows, and the table has 1 row"),
    ],
)
def test_bad_tables_get_a_sentence(content, sentence, refuse, write):
    assert sentence in refuse("fit", write("t.csv", content), "-k", 2)


def test_a_single_row_gets_a_sentence(refuse, write):
    assert "The table has 1 row" in refuse("fit", write("t.csv", "a,b\n1,2\n"))
    assert "The table has 1 row" in refuse("choose", write("t.csv", "a,b\n1,2\n"))


def test_two_rows_that_are_one_cluster_are_described_soberly(run, write):
    text = run("fit", write("t.csv", "a,b\n1,2\n3,5\n")).text
    assert "; next comes 2 (-" in text
    assert "outliers" not in text


def test_a_missing_file_gets_a_sentence(refuse):
    assert refuse("fit", "nothing.csv", "-k", 2) == "There is no file nothing.csv. Check the name."


def test_gaps_get_a_sentence_if_they_are_errors(refuse, mixed):
    assert "The table has 2 missing cells" in refuse("fit", mixed, "-k", 2, "--missing", "error")
    sentence = refuse("fit", mixed, "-k", 2, "--missing", "ignore", "-a", "SYNCLUS")
    assert sentence == "SYNCLUS needs every cell: use --missing median."


def test_missing_packages_get_a_sentence(refuse, iris_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'fwkmeans[io]'" in refuse("fit", iris_path, "-k", 2)


@pytest.mark.parametrize("module", ["jinja2", "matplotlib"])
def test_reports_need_packages(module, refuse, iris_path, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, module, None)
    arguments = ("fit", iris_path, "-k", 2, "--out", "l.csv", "--report", "r.html")
    assert "pip install 'fwkmeans[report]'" in refuse(*arguments)
    assert list(tmp_path.iterdir()) == []


def test_errors_of_ours_are_told_from_those_of_users(refuse, iris_path, monkeypatch):
    def broken(*_, **__):
        raise KeyError("inside")

    monkeypatch.setattr("fwkmeans.cli.fit.read_columns", broken)
    assert "please report it" in refuse("fit", iris_path, "-k", 2)


@pytest.mark.parametrize("by_option", [True, False])
def test_debug_shows_where(by_option, run, monkeypatch, tmp_path):
    if not by_option:
        monkeypatch.setenv("FWKMEANS_DEBUG", "1")
    for arguments in (("--debug", "fit"), ("fit", "--debug")) if by_option else (("fit",),):
        with pytest.raises(ValueError, match="There is no file"):
            run(*arguments, "nothing.csv", "-k", 2)


def test_warnings_become_notes(run, write):
    path = write("t.csv", "a,b\n" + "1,2\n1,2\n2,1\n" * 3)
    arguments = ("fit", path, "-k", 4, "-a", "kmeans")
    done = run(*arguments)
    assert done.err == ""
    assert done.out.count("have no rows") == 1
    (text,) = run(*arguments, "--json").json["notes"]
    assert text.startswith("Number of distinct clusters (2) found smaller than n_clusters (4)")
    done = run("fit", path, "-k", 2, "-a", "iMWK-Means", "-p", "init=anomalous", "--starts", 5)
    assert "Note: init='anomalous' draws nothing: one start is run instead of n_init=5." in done.out


def test_a_run_cut_short_is_said_once(run, wine_path):
    done = run("fit", wine_path, "-k", 3, "-a", "ew", "-p", "max_iter=1", "--drop", "class")
    assert done.out.count("iteration") == 1


def test_results_repeat(run, mixed):
    arguments = ("fit", mixed, "-k", 3, "--drop", "key")
    assert run(*arguments).out == run(*arguments).out


CELLS = st.sampled_from(
    ["1", "2.5", "-3", "x", "y", "", "?", "true", "1e3", '"q"', "2020-01-01", "é"]
)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.lists(CELLS, min_size=1, max_size=4), min_size=0, max_size=8),
    sep=st.sampled_from([",", ";"]),
    name=st.sampled_from(["EW-KM", "AWK", "IK-P"]),
)
def test_any_table_gives_a_result_or_a_sentence(rows, sep, name):
    header = [f"c{v}" for v in range(len(rows[0]))] if rows else []
    text = "\n".join(sep.join(row) for row in [header, *rows])
    result = CliRunner().invoke(main, ["fit", "-", "-k", "2", "-a", name], input=text)
    assert result.exit_code in (0, 1), result.output
    assert "please report" not in result.output
    if result.exit_code:
        assert result.stderr.startswith("Error: ")
        assert len(result.stderr.strip().splitlines()) == 1


def test_rows_are_named_by_a_key_or_by_a_column_of_names(run, write):
    lines = [f"flower {i},{i % 7},{(i * 3) % 5}" for i in range(30)]
    path = write("t.csv", "who,a,b\n" + "\n".join(lines) + "\n")
    for options in ((), ("--id", "who")):
        found = run("fit", path, "-k", 2, "-a", "k-means", *options, "--json").json
        assert found["map"]["names"][:2] == ["flower 0", "flower 1"]
    found = run("fit", path, "-k", 2, "-a", "k-means", "--drop", "who", "--json").json
    assert found["map"]["names"][:2] == ["row 1", "row 2"]


@pytest.mark.parametrize("options", [(), ("-a", "ew-km")])
def test_clusters_that_were_asked_for_are_doubted(options, run, write, rng):
    one_cloud = "\n".join(f"{a:.4f},{b:.4f}" for a, b in rng.normal(size=(150, 2)))
    said = run("fit", write("cloud.csv", f"a,b\n{one_cloud}\n"), "-k", "3", *options).out
    assert said.startswith("It is doubtful whether this table has clusters: ")
    assert said.count("It is doubtful") == 1
    apart = np.vstack([rng.normal(size=(50, 2)) + 20 * k for k in range(3)])
    three = "\n".join(f"{a:.4f},{b:.4f}" for a, b in apart)
    path = write("three.csv", f"a,b\n{three}\n")
    assert run("fit", path, "-k", "3", *options).out.startswith("three.csv: 150 rows")
    found = run("fit", path, "-k", "3", "--json", *options).json["number"]
    assert found["tendency"]["verdict"] == "clear"
    few = write("few.csv", "a,b\n1.5,2\n2.5,3\n9.5,8\n8.5,9\n")
    assert run("fit", few, "-k", "2", *options).out.startswith("few.csv: 4 rows")


@pytest.mark.parametrize("stream", [(), ("--stream",)])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_the_table_is_written_as_it_was(mark, stream, run, write):
    rows = [f"n{i};{10 * (i % 2)},{i % 7}5;{i % 5},5" for i in range(40)]
    path = write("t.csv", mark + ("größe;a;b\n" + "\n".join(rows) + "\n").encode())
    run("fit", path, "-k", "2", "--out", "out.csv", "--model", "t.fwk", *stream)
    out = path.with_name("out.csv")
    lines = out.read_bytes().removeprefix(mark).decode().splitlines()
    assert out.read_bytes().startswith(mark)
    assert lines[0] == "größe;a;b;cluster;cluster_name;distance;confidence"
    assert [line.split(";")[:3] for line in lines[1:]] == [row.split(";") for row in rows]
    for line in lines[1:]:
        distance, confidence = line.split(";")[5:]
        assert "," in distance
        assert "." not in distance + confidence
    again = reading.read_table(str(out), Format()).table
    assert [str(one) for one in again.schema.types][3:6] == ["int64", "string", "double"]
    run("fit", path, "-k", "2", "--out", "out.tsv", *stream)
    assert path.with_name("out.tsv").read_text(encoding="utf-8-sig").startswith("größe\ta\tb\tclus")
    apart = run("predict", "t.fwk", path, "--id", "größe", "--distances", *stream).out
    assert apart.splitlines()[0] == "größe;cluster;cluster_name;distance_0;distance_1"
    assert apart.splitlines()[1].startswith("n0;")
    assert "." not in "".join(line.split(";")[-1] for line in apart.splitlines())


def test_text_of_windows_is_written_with_the_mark_of_utf_8(run, write):
    rows = "\n".join(f"{'Köln' if i % 3 else 'Mainz'},{i % 4},{i % 7}" for i in range(30))
    path = write("t.csv", f"stadt,a,b\n{rows}\n".encode("cp1252"))
    run("fit", path, "-k", "2", "--out", "out.csv")
    assert path.with_name("out.csv").read_bytes().startswith("\ufeffstadt,a,b,cluster".encode())


def test_one_cluster_of_a_table_that_has_some_is_doubted(run, write):
    rng = np.random.default_rng(0)
    at = np.arange(60) % 3
    rows = np.column_stack([rng.normal(10 * at), rng.normal(-5 * at)])
    lines = "\n".join(f"{a:.3f},{b:.3f}" for a, b in rows)
    path = write("t.csv", f"a,b\n{lines}\n")
    one = "AutoKMeans finds one cluster, but K-Means divides this table"
    said = run("fit", path).out
    assert said.startswith(one) == ("1 cluster by AutoKMeans" in said)
    assert tendency_lines(Tendency(9.0, 9.0, 9.0), 1, 60)[0].startswith(one)
    assert not tendency_lines(Tendency(9.0, 9.0, 9.0), 3, 60)


def test_rows_without_a_value_in_columns_that_vary_are_filled(run, write):
    """A constant column, as tables of one indicator have it, does not count as a value."""
    rng = np.random.default_rng(0)
    rows = [f"births,{a:.3f},{b:.3f}" for a, b in rng.normal(size=(40, 2))]
    rows[5] = rows[9] = "births,,"
    done = run("fit", write("t.csv", "what,a,b\n" + "\n".join(rows) + "\n"))
    assert "4 missing cells were filled with the median" in done.out
    rows[5] = rows[9] = "births,,1.5"
    done = run("fit", write("u.csv", "what,a,b\n" + "\n".join(rows) + "\n"))
    assert "2 missing cells were ignored" in done.out


def test_what_may_be_a_key_is_told_with_its_weight(run, write):
    rng = np.random.default_rng(0)
    rising = np.sort(rng.choice(10**9, 60, replace=False))
    rows = [f"{rising[i]},{rng.normal():.3f},{rng.normal():.3f}" for i in range(60)]
    path = write("t.csv", "\n".join(["size,x,y", *rows]) + "\n")
    done = run("fit", path, "-k", 2, "-a", "k-means")
    assert "Note: Column 'size' may be a key or a code" in done.out
    assert "--numeric size. It has 33% of the weight." in done.out
    assert "It has up to 33% of the weight." in run("compare", path, "-k", 2, "-a", "k-means").out
    assert "may be a key" not in run("fit", path, "-k", 2, "--numeric", "size").out
    first, others = with_shares({"a": "A.", "b": "B."}, {"a": 0.51, "b": 0.4})
    assert first == [
        "The clusters follow the column 'a' more than all others. A. It has 51% of the weight."
    ]
    assert others == ["B. It has 40% of the weight."]
