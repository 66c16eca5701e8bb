"""``fwkmeans survey`` from the outside."""

import csv
import json

import pytest
from click.testing import CliRunner

from fwkmeans.cli import main
from fwkmeans.survey import Store

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments, code=0):
        result = CliRunner().invoke(main, ["survey", *map(str, arguments)])
        assert result.exit_code == code, result.output
        return result.output

    return invoke


SMALL = ("--starts", 2, "--grid", "1.5,3", "--jobs", 1)


def test_a_run_its_report_and_its_export(run, tmp_path):
    output = run("-t", "iris", "-a", "AWK", "-a", "FWSA", *SMALL)
    assert "fwkmeans survey report" in output
    with Store("survey.sqlite") as store:
        cells = store.cells()
    assert len(cells) == 2 * (2 + 1)
    assert "were in survey.sqlite already" in run("-t", "iris", "-a", "AWK", "-a", "FWSA", *SMALL)
    assert "Wrote survey.html" in run("report")
    assert "0.80/0.16" in (tmp_path / "survey.md").read_text("utf-8")
    assert (tmp_path / "survey.html").stat().st_size > 10_000
    assert "Wrote 6 lines" in run("export", "cells.csv")
    with open("cells.csv") as stream:
        assert {row["algorithm"] for row in csv.DictReader(stream)} == {"AWK", "FWSA"}


def test_options_reach_the_protocol(run, tmp_path):
    (tmp_path / "own.csv").write_text(
        "a,b,kind\n" + "".join(f"{i},{i * i % 7},{'xy'[i % 2]}\n" for i in range(20))
    )
    (tmp_path / "groups.json").write_text(json.dumps({"own": {"one": ["a"], "two": ["b"]}}))
    algorithms = ("-a", "FG-K-Means", "-a", "EW-KM[dispersion=sum]")
    noise = ("--noise", "with", "--noise-draws", 3)
    table = ("-t", "own.csv", "--labels", "kind", "--groups", "groups.json")
    run(*table, *algorithms, *noise, "--seed", 5, *SMALL)
    with Store("survey.sqlite") as store:
        cells = store.cells()
    assert {cell.noise for cell in cells} == {1, 2, 3}
    assert {cell.algorithm for cell in cells} == {"FG-K-Means", "EW-KM[dispersion=sum]"}
    assert {cell.seed for cell in cells} == {5}
    assert {cell.starts for cell in cells} == {2}
    assert {cell.value for cell in cells} == {1.5, 3.0}
    assert {cell.n_clusters for cell in cells} == {2}


def test_quick_is_a_small_protocol_of_everything():
    from fwkmeans.cli.survey import _protocol

    protocol = _protocol(quick=True)
    assert protocol.starts == 10
    assert protocol.data_sets == 2
    assert len(protocol.tables) == 17
    assert len(protocol.contenders) == 6
    assert protocol.contenders[0].values == (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-t", "irsi"), "There is no table or file 'irsi'"),
        (("-a", "AKW"), "did you mean AWK"),
        (("--grid", "1:2"), "is not a grid"),
        (("--grid", "1:inf:1"), "is not a grid"),
        (("--grid", "0:1e9:0.001"), "too many values"),
        (("-t", "iris", "--labels", "class"), "no file is given"),
        (("-t", "missing.csv"), "There is no file"),
        (("-a", "AWK", "--grid", "0.5", "-t", "iris", "--jobs", "1"), "beta=0.5"),
        (("report",), "There is no file"),
    ],
)
def test_what_is_wrong_is_one_sentence(arguments, message, run):
    output = run(*arguments, code=1)
    assert message in output
    assert "Traceback" not in output
    assert len(output.strip().splitlines()) <= 2


def test_every_algorithm_may_have_a_grid(run):
    grids = ("--grid", "1.5,3", "--grid", "EW-KM=0,2,4")
    run("-t", "iris", "-a", "AWK", "-a", "EW-KM", *grids, "--starts", 1, "--jobs", 1)
    with Store("survey.sqlite") as store:
        values = {(cell.algorithm, cell.value) for cell in store.cells()}
    assert values == {("AWK", 1.5), ("AWK", 3), ("EW-KM", 0), ("EW-KM", 2), ("EW-KM", 4)}
    assert "which is not run" in run("-a", "AWK", "--grid", "IK-P=2", code=1)


def test_values_are_looked_at_before_anything_is_run(run):
    one = ("-t", "iris", "-a", "AWK", "-a", "iMWK-Means", "--grid", "0,2", "--jobs", 1)
    assert "p=0" in run(*one, code=1)
    with pytest.raises(FileNotFoundError):
        Store("survey.sqlite", create=False)


def test_classes_of_another_column_are_another_run(run, tmp_path):
    rows = [f"{i % 5},{i * i % 7},{'xy'[i % 2]},{'abc'[i % 3]}" for i in range(24)]
    (tmp_path / "two.csv").write_text("\n".join(["v,w,one,other", *rows]))
    for column in ("one", "other"):
        output = run("-t", "two.csv", "--labels", column, "-a", "FWSA", "--starts", 2, "--jobs", 1)
        assert "2 units are in" in output
        assert "already" not in output
    with Store("survey.sqlite") as store:
        found = {(cell.data_set, cell.n_clusters) for cell in store.cells()}
    assert found == {("two[one]", 2), ("two", 3)}


def test_folders_named_like_tables_do_not_matter(run, tmp_path):
    (tmp_path / "wine").mkdir()
    (tmp_path / "iris").mkdir()
    run("-t", "iris", "-a", "FWSA", "--starts", 1, "--jobs", 1)


def test_groups_are_looked_at_before_anything_is_run(run, tmp_path):
    path = tmp_path / "groups.json"
    wrong = {
        "which is not run": {"wine": {"one": ["alcohol"]}},
        "no column": {"iris": {"one": ["sepal"]}},
        "holds no groups": {"iris": {"one": [["a"]]}},
        "No group of iris has": {"Iris": {"one": ["sepal_length"]}},
    }
    for message, groups in wrong.items():
        path.write_text(json.dumps(groups))
        output = run("-t", "iris", "-a", "FG-K-Means", "--groups", path, "--jobs", 1, code=1)
        assert message in output


def test_the_file_may_be_named_before_the_command(run):
    run("-t", "iris", "-a", "FWSA", "--starts", 2, "--jobs", 1, "--results", "x.sqlite")
    assert "Wrote survey.html" in run("--results", "x.sqlite", "report")
    output = run("report", "--results", "x.sqlite", "--html", "a", "--markdown", "a", code=1)
    assert "two names" in output


def test_help_says_what_can_be_done(run):
    text = run("--help")
    for word in ("--quick", "--noise-draws", "--groups", "report", "export", "K-Means"):
        assert word in text
