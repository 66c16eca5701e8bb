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

    protocol = _protocol((), (), None, None, None, None, "both", 1, None, 0, True)
    assert protocol.starts == 10
    assert protocol.data_sets == 2
    assert len(protocol.tables) == 17
    assert len(protocol.contenders) == 6
    assert protocol.contenders[0].values == (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-t", "irsi"), "There is no table or file 'irsi'"),
        (("-a", "AKW"), "Did you mean AWK"),
        (("--grid", "1:2"), "is no grid"),
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


def test_help_says_what_can_be_done(run):
    text = run("--help")
    for word in ("--quick", "--noise-draws", "--groups", "report", "export", "K-Means"):
        assert word in text
