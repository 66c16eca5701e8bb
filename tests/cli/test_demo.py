"""The demonstration shows what it says."""

from __future__ import annotations

import re
import sys

import pytest
from click.testing import CliRunner

from fwkmeans.cli import main as command
from fwkmeans.cli.demonstration import VARIANTS
from fwkmeans.datasets import list_uci
from fwkmeans.estimators import ALGORITHMS

ROW = re.compile(r"^(?P<name>\S.*?)\s{2,}(?P<cells>-?\d\.\d\d .*%)$")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Run in an empty folder: a report is written there."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> str:
    done = CliRunner().invoke(command, ["demo", *arguments])
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout


def rows_of(text: str) -> dict[str, list[tuple[float, float, float]]]:
    """Return ARI, ARI with noise, and the noise's share of weight, for each table in a row."""
    rows: dict[str, list[tuple[float, float, float]]] = {}
    for line in text.splitlines():
        match = ROW.match(line)
        if match:
            numbers = [float(cell.rstrip("%")) for cell in match["cells"].split()]
            triples = zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True)
            rows.setdefault(match["name"], []).extend(triples)
    return rows


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Return what is printed for two draws and the folder it was run in, for all tests."""
    where = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(where)
        result = CliRunner().invoke(command, ["demo", "--draws", "2"])
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout, where


@pytest.fixture(scope="module")
def text(done) -> str:
    return done[0]


def test_every_algorithm_has_a_row(text):
    rows = rows_of(text)
    assert set(ALGORITHMS) <= set(rows)
    variants = [f"{n} {p}={v}" for n, some in VARIANTS.items() for p, v in some.items()]
    assert {*variants, "AutoKMeans"} == set(rows) - set(ALGORITHMS)
    assert all(len(cells) == 1 for cells in rows.values())


def test_kmeans_gives_noise_its_equal_share_and_others_less(text):
    rows = rows_of(text)
    assert all(share == 50 for _, _, share in rows["K-Means"])
    for name in ("AWK", "WK-Means", "EW-KM"):
        assert all(share < 50 for _, _, share in rows[name])
    assert all(share < 10 for _, _, share in rows["AutoKMeans"])


def test_weights_help_against_noise(text):
    rows = rows_of(text)
    (plain, noisy, _), *_ = rows["K-Means"]
    assert noisy < plain
    assert rows["WK-Means"][0][1] > noisy + 0.1


def test_it_is_short_and_honest(text):
    assert len(text.splitlines()) <= 45
    assert "No algorithm wins everywhere" in text
    assert "on heart plain K-Means does best" in text


@pytest.mark.long
def test_what_is_said_of_heart_is_so():
    rows = rows_of(run("--table", "heart", "--draws", "2", "--no-report"))
    assert max(rows, key=lambda name: rows[name][0][0]) == "K-Means"
    assert max(rows, key=lambda name: rows[name][0][1]) == "K-Means"


def test_report_is_written_where_it_says(done):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    text, where = done
    assert f"The report about these clusters is in {where / 'fwkmeans-demo.html'}" in text
    assert [path.name for path in where.iterdir()] == ["fwkmeans-demo.html"]
    page = (where / "fwkmeans-demo.html").read_text("utf-8")
    assert "noise petal_width" in page
    assert "AutoKMeans" in page


@pytest.mark.long
def test_report_can_go_elsewhere_or_nowhere(folder):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    few = ("--table", "iris", "--draws", "1")
    run(*few, "--no-report")
    assert list(folder.iterdir()) == []
    run(*few, "--report", "other.html")
    assert [path.name for path in folder.iterdir()] == ["other.html"]
    done = CliRunner().invoke(command, ["demo", "--report", "no/other.html"])
    assert (done.exit_code, done.stdout) == (1, "")
    assert "There is no folder no" in done.stderr


def test_without_the_packages_for_it_there_is_no_report(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setattr("fwkmeans.cli.demonstration.find_spec", lambda name: None)
    text = run("--draws", "1")
    assert "pip install 'fwkmeans[report]'" in text
    assert list(folder.iterdir()) == []


@pytest.fixture(scope="module")
def two_tables() -> str:
    return run("--table", "wine", "--table", "500x4-2", "--draws", "1", "--no-report")


@pytest.mark.long
def test_mean_is_the_mean(two_tables):
    for *tables, mean in rows_of(two_tables).values():
        for at in range(2):
            assert mean[at] == pytest.approx(sum(t[at] for t in tables) / 2, abs=0.0101)


def test_weights_are_listed_with_noise_last(text):
    lines = text.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("petal_"))
    listed = lines[first : first + 8]
    assert all(line.startswith("noise ") for line in listed[4:])
    totals = [0.0, 0.0, 0.0]
    for line in listed:
        weights = [float(number) for number in re.findall(r"\d\.\d\d", line)]
        totals = [total + weight for total, weight in zip(totals, weights, strict=True)]
    assert totals == pytest.approx([1.0, 1.0, 1.0], abs=0.05)
    share = re.search(r"4 of the 8 columns and got (\d+)% of the weight", text)
    assert share is not None
    assert int(share[1]) < 50


def test_no_line_is_too_long(text):
    lines = [line for line in text.splitlines() if "fwkmeans-demo.html" not in line]  # a path
    assert max(map(len, lines)) <= 100


@pytest.mark.long
def test_tables_can_be_chosen(two_tables):
    assert all(len(cells) == 3 for cells in rows_of(two_tables).values())
    assert "one draw" in two_tables
    assert max(map(len, two_tables.splitlines())) <= 100


@pytest.mark.long
def test_output_repeats_and_one_table_has_no_mean():
    text = run("--table", "iris", "--draws", "1", "--no-report")
    assert run("--table", "iris", "--draws", "1", "--no-report") == text
    assert all(len(cells) == 1 for cells in rows_of(text).values())


def test_wrong_numbers_are_refused():
    done = CliRunner().invoke(command, ["demo", "--draws", "0"])
    assert done.exit_code == 2
    assert "0 is not in the range" in done.stderr


def test_unknown_tables_are_named():
    done = CliRunner().invoke(command, ["demo", "--table", "nothing"])
    assert done.exit_code == 1
    assert "There is no table 'nothing': choose one of australian" in done.stderr
    assert all(name in done.stderr for name in list_uci())
