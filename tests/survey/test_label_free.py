"""Procedures without labels: one unit, its store, and what the report says about it."""

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from fwkmeans.cli import main
from fwkmeans.cli.survey import aligned_tables
from fwkmeans.datasets import load_uci
from fwkmeans.preprocessing import TableEncoder
from fwkmeans.survey import Store, label_free, label_free_lines, label_free_results
from fwkmeans.survey.label_free import BASELINE, LABEL_FREE, MEDOID, PROCEDURES, run_procedures
from fwkmeans.survey.label_free_report import (
    BEST_IMWK,
    BEST_OF_SIX,
    GROUPS,
    Standing,
    _difference,
    _published,
    bootstrap_interval,
)
from fwkmeans.survey.protocol import Unit
from fwkmeans.survey.tables import parse_table


def unit(name, noise=0, starts=2):
    return Unit(parse_table(name), 0, noise, LABEL_FREE, starts, 0, None)


@pytest.fixture
def few(monkeypatch):
    """Leave only fast procedures, and one that fails."""

    def fails(rows):
        raise ValueError("no good\nreason")

    members = {name: label_free.MEMBERS[name] for name in (BASELINE, "EW-KM", "AWK")}
    monkeypatch.setattr(label_free, "MEMBERS", members)
    monkeypatch.setattr(label_free, "OTHERS", {"AutoKMeans": fails})


@pytest.mark.long
def test_every_procedure_answers_on_a_small_mixed_table():
    cells = run_procedures(unit("tae", noise=1))
    assert [cell.algorithm for cell in cells] == list(PROCEDURES)
    assert all(cell.parameter is None and cell.ari.shape == (1,) for cell in cells)


def test_the_baseline_is_k_means_on_the_encoded_table(few):
    cells = {cell.algorithm: cell for cell in run_procedures(unit("iris", starts=20))}
    iris = load_uci("iris")
    X = TableEncoder().fit_transform(iris.data)
    labels = KMeans(3, n_init=20, random_state=0).fit_predict(X)
    assert cells[BASELINE].ari[0] == pytest.approx(adjusted_rand_score(iris.target, labels))
    assert cells[MEDOID].ari[0] in [cells[name].ari[0] for name in (BASELINE, "EW-KM", "AWK")]


def test_a_failure_is_named_and_leaves_the_others_alone(few):
    cells = [*run_procedures(unit("iris")), *run_procedures(unit("wine", noise=1))]
    results = label_free_results(cells)
    assert results.failures == [
        ("AutoKMeans", "iris", "no good"),
        ("AutoKMeans", "wine with noise (1)", "no good"),
    ]
    text = "\n".join(label_free_lines(results))
    assert "| AutoKMeans | iris | no good |" in text
    assert ("AutoKMeans", GROUPS[0]) not in results.standings
    own = results.standings["AWK", GROUPS[0]]
    [value] = [c.ari[0] for c in cells if (c.data_set, c.algorithm) == ("iris", "AWK")]
    [base] = [c.ari[0] for c in cells if (c.data_set, c.algorithm) == ("iris", BASELINE)]
    assert own.mean == value
    assert own.difference == pytest.approx(value - base)
    assert (own.wins, own.losses, own.ties).count(1) == 1
    # of the six the survey printed for iris
    assert results.published[BEST_OF_SIX, GROUPS[0]] == pytest.approx(0.90, abs=0.01)


def test_published_means_are_of_the_same_tables():
    noiseless, noisy = GROUPS[:2]
    found = _published(
        {
            (BASELINE, noiseless): {"iris": 0.7, "own": 0.6},
            (BASELINE, noisy): {"iris": 0.7},
        }
    )
    assert set(found) == {(BEST_OF_SIX, noisy), (BEST_IMWK, noisy)}


def test_intervals_are_those_of_paired_differences():
    rng = np.random.default_rng(1)
    apart = rng.normal(0.3, 0.1, 50)
    low, high = bootstrap_interval(apart)
    error = apart.std() / np.sqrt(50)
    assert low == pytest.approx(apart.mean() - 1.96 * error, abs=0.3 * error)
    assert high == pytest.approx(apart.mean() + 1.96 * error, abs=0.3 * error)
    assert np.isnan(bootstrap_interval(np.array([0.25]))).all()


def test_nothing_has_no_sign_of_its_own():
    standing = Standing(-0.0001, -0.0001, -0.0004, 0.0002, 0, 0, 1)
    assert _difference(standing) == "+0.000 [+0.000, +0.000] 0/0/1"


def test_the_command_runs_goes_on_and_reports(few, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["survey", "--label-free", "--quick", "-t", "iris", "--jobs", "1"]
    first = CliRunner().invoke(main, arguments)
    assert first.exit_code == 0, first.output
    assert "Wrote label_free.md" in first.output
    text = (tmp_path / "label_free.md").read_text("utf-8")
    assert "real (1) | real + noise (1)" in text
    with Store("label_free.sqlite") as store:
        n_cells = len(store.cells())
    again = CliRunner().invoke(main, arguments)
    assert (tmp_path / "label_free.md").read_text("utf-8") == text
    assert again.exit_code == 0
    with Store("label_free.sqlite") as store:
        assert len(store.cells()) == n_cells
    refused = CliRunner().invoke(main, [*arguments, "-a", "AWK"])
    assert refused.exit_code != 0
    assert "cannot be used with --label-free" in refused.output


def test_tables_are_aligned_on_a_terminal():
    assert aligned_tables("a\n| x | long |\n| --- | --- |\n| 12 | y |").splitlines() == [
        "a",
        "x   long",
        "--  ----",
        "12  y",
    ]
