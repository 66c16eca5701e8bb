"""The report says what the file holds, as a page and as text."""

import re

import pytest

from fwkmeans.survey import (
    COMPARED,
    Store,
    export_cells,
    parse_contender,
    parse_table,
    run_survey,
    survey_protocol,
    write_survey_report,
)
from fwkmeans.survey.compare import Place, summarize_cells
from fwkmeans.survey.content import survey_content

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("survey") / "s.sqlite"
    protocol = survey_protocol(
        contenders=tuple(parse_contender(name, grid=(1.5, 3.0)) for name in [*COMPARED, "K-Means"]),
        tables=tuple(map(parse_table, ["iris", "tae", "500x4-2", "balance_scale:3"])),
        starts=3,
        data_sets=2,
    )
    run_survey(protocol, path, n_jobs=1)
    with Store(path) as store:
        yield store


@pytest.fixture(scope="module")
def written(store, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    html, markdown = write_survey_report(store, folder / "s.html", folder / "s.md")
    return html.read_text("utf-8"), markdown.read_text("utf-8")


def test_every_figure_of_the_file_is_in_both(store, written):
    html, markdown = written
    results = summarize_cells(store.cells())
    assert len(results.figures) == 4 * 2 * 7
    for (place, name), figures in results.figures.items():
        text = f"{figures.max:.2f}" if figures.is_deterministic else f"{figures.mean:.2f}/"
        text = text.replace("-0.00", "0.00")
        assert text in markdown, (place, name)
        assert text in html


def test_published_figures_stand_beside_ours(written):
    html, markdown = written
    iris = next(line for line in markdown.splitlines() if line.startswith("| Iris |"))
    assert "0.80/0.16 max 0.89 at 1.6" in iris  # AWK, no noise, as printed in the survey
    assert "0.77/0.19 max 0.89" in iris  # FWSA
    assert "0.80/0.16" in html
    assert "Balance scale, 3 clusters" in markdown


def test_marks_follow_the_comparison(store):
    content = survey_content(store)
    results = summarize_cells(store.cells())
    seen = set()
    for block in content["blocks"]:
        noise = "with noise" in block["title"]
        for row in block["rows"]:
            for cell in row["cells"]:
                found = results.comparisons.get((Place(row["table"], noise), cell["algorithm"]))
                if found is None:
                    assert cell["published"] is None
                    assert cell["algorithm"] == "K-Means" or ":" in row["table"]
                elif found.agrees is not None:
                    expected = "≈" if found.agrees else ("▲" if found.difference > 0 else "▼")
                    assert f"{abs(found.difference):.2f}" in cell["words"]
                    assert not found.error or f"± {found.error:.2f}" in cell["words"]
                    assert cell["mark"] == expected
                    seen.add(expected)
    assert "≈" in seen


def test_the_page_is_complete(written):
    html, _ = written
    assert "<script src" not in html
    assert not re.search(r"(src|href)=\"(?!#|data:)", html)
    assert html.count("<svg class") == 4 * 2
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    assert html.count("<caption>") == html.count("<table")
    assert "Supports categorical features" in html


def test_characteristics_come_from_the_estimators(store, monkeypatch):
    from fwkmeans import AWKMeans

    assert not any(any(row["differs"]) for row in survey_content(store)["traits"])
    changed = AWKMeans.traits._replace(deterministic=True)
    monkeypatch.setattr(AWKMeans, "traits", changed)
    row = next(r for r in survey_content(store)["traits"] if r["algorithm"] == "AWK")
    assert row["declared"][1] is True
    assert row["differs"] == [False, True, *[False] * 6]


def test_results_as_a_table(store, tmp_path):
    import csv

    n_lines = export_cells(store, tmp_path / "s.csv")
    with (tmp_path / "s.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == n_lines == len(store.cells())
    assert float(rows[0]["mean"]) == store.cells()[0].mean


def test_an_empty_file_is_said_to_be_empty(tmp_path):
    with Store(tmp_path / "e.sqlite") as store, pytest.raises(ValueError, match="no results yet"):
        write_survey_report(store, tmp_path / "a.html", tmp_path / "a.md")
    assert not (tmp_path / "a.html").exists()
