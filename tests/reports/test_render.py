"""The page: complete, escaped, always the same, and it loads nothing."""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from fwkmeans import WKMeans
from fwkmeans.preprocessing import TableEncoder
from fwkmeans.reports import render, summarize, write_report
from reports.tables import CASES, SCRIPT, page_of, summary_of

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

VOID = {"br", "hr", "img", "input", "link", "meta", "path", "use", "wbr"}


class Page(HTMLParser):
    """The elements of a page; complains of tags that are not closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.text = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


@pytest.mark.thinned
@pytest.mark.parametrize("name", CASES)
def test_page_is_well_formed_and_alone(name):
    text = page_of(name)
    page = Page(text)
    assert len(page.all("h1")) == len(page.all("main")) == 1
    kinds = [one.get("type") for one in page.all("script")]
    assert kinds == ["application/json", None]  # data, and the one script that the policy names
    assert page.all("html")[0]["lang"] == "en"
    assert "http:" not in text
    assert "https:" not in text
    assert "@import" not in text
    for tag, attrs in page.elements:
        assert "src" not in attrs
        assert not any(key.startswith("on") for key in attrs), tag
        assert attrs.get("href", "#").startswith(("#", "data:,"))
    for target in re.findall(r"url\(([^)]*)\)", text):
        assert target.startswith("#")
    policy = next(m["content"] for m in page.all("meta") if m.get("http-equiv"))
    assert "default-src 'none'" in policy


@pytest.mark.parametrize("name", CASES)
def test_identifiers_are_unique_and_references_resolve(name):
    page = Page(page_of(name))
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for _, attrs in page.elements:
        named = attrs.get("aria-labelledby", "").split()
        named += [attrs[key] for key in ("data-toggle", "data-layer") if key in attrs]
        named += [attrs["href"][1:]] if attrs.get("href", "").startswith("#") else []
        assert set(named) <= set(ids)


@pytest.mark.parametrize("name", CASES)
def test_tables_have_captions_and_scopes(name):
    page = Page(page_of(name))
    assert len(page.all("table")) == len(page.all("caption")) > 0
    assert all(attrs.get("scope") in ("col", "row") for attrs in page.all("th"))
    for svg in page.all("svg"):
        if svg.get("aria-hidden") != "true":  # small ones show what the numbers beside them say
            assert svg["role"] == "img"
            assert svg["aria-labelledby"]


@pytest.mark.parametrize("name", CASES)
def test_files_stay_small(name):
    assert len(page_of(name).encode()) < 1_500_000


@pytest.mark.long
def test_large_tables_make_small_files():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(100_000, 6)), columns=list("abcdef"))
    X["kind"] = rng.choice([f"kind {i}" for i in range(300)], len(X))
    X.loc[:50_000, ["a", "b"]] += 4
    encoder = TableEncoder(categorical="keep")
    Z = encoder.fit_transform(X)
    model = WKMeans(4, n_init=1, weights="cluster", random_state=0).fit(Z)
    summary = summarize(model, Z, draws=0)
    assert summary["n_rows"] == 100_000
    assert len(render(summary).encode()) < 500_000
    assert len(json.dumps(summary)) < 500_000


@pytest.mark.parametrize("name", ["iris", "hostile", "twenty_clusters"])
def test_same_summary_gives_the_same_page(name):
    summary = summary_of(name)
    text = page_of(name)
    assert text == render(summary)
    assert text == render(json.loads(json.dumps(summary)))


def test_rendering_leaves_the_summary_alone():
    summary = summary_of("australian")
    before = json.dumps(summary)
    render(summary)
    assert json.dumps(summary) == before


def test_everything_of_users_is_escaped():
    text = page_of("hostile")
    assert SCRIPT not in text
    assert text.count("<script>") == 1
    assert text.count("<script") == 2
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; co" in text
    assert "</style><b>" not in text
    assert "<i>one</i>" not in text
    assert "{{ 7 * 7 }}" in text
    assert "49" not in re.findall(r"<bdi[^>]*>([^<]*)</bdi>", text)


def test_very_long_names_are_cut_but_kept_as_title():
    text = page_of("hostile")
    shown = re.findall(r"<bdi[^>]*>([^<]*)</bdi>", text)
    assert max(len(name) for name in shown) < 150  # entities count more than one
    assert f'title="{"long" * 200}"' in text


def test_page_says_what_the_summary_says():
    summary = summary_of("iris")
    page = Page(render(summary))
    text = " ".join(" ".join(page.text).split())
    assert summary["headline"][1] in text
    for cluster in summary["clusters"]:
        assert f"{cluster['size']} rows" in text
        for claim in cluster["separates"]:
            assert claim["text"] in text
        assert cluster["rule"]["text"] in text.replace("_ ", "_")  # where lines may break
    for name, _, told in summary["pairs"][0]["features"]:
        assert name in text
        assert told in text
    assert f"adjusted Rand index is {summary['agreement']['ari']:.2f}" in text
    assert "k-means++" in text
    assert "divided by the column's range" in text


def test_quiet_reports_say_so_and_others_warn():
    assert "Nothing unusual was found" in render({**summary_of("iris"), "warnings": []})
    assert "have missing cells" in page_of("gaps")


def test_equal_weights_of_all_clusters_are_shown_once():
    for name, is_shared in (("noisy_wine", True), ("iris", False)):
        summary = summary_of(name)
        row = page_of(name).partition('id="columns-table"')[2].partition("<tbody>")[2]
        row = row.partition("</tr>")[0]
        assert ("faint" not in row) is is_shared
        assert row.count("<td") == len(summary["clusters"]) + 2


def test_long_tables_are_cut_and_say_so():
    text = page_of("many_features")
    assert "120 columns that separate less are not listed" in text
    assert "176 columns that separate less are not listed" in text
    assert "Show all 80 columns" in text


def test_first_screen_has_no_abbreviations_and_numbers_are_rounded():
    text = page_of("soybean")
    first = text[text.index("<body>") : text.index('id="notes"')]
    assert "EW-KM" not in first
    assert "ARI" not in first
    plain = " ".join(Page(text).text)
    assert re.search(r"\d\.\d{6,}", plain) is None
    assert "median 1" not in plain


def test_a_summary_without_a_map_makes_no_page():
    with pytest.raises(ValueError, match="without a map"):
        render({**summary_of("iris"), "map": None})


def test_equal_weights_have_no_section_of_their_own():
    assert ">Weight</th>" not in page_of("one_cluster")
    assert ">Weight</th>" in page_of("iris")


def test_no_agreement_no_section():
    assert 'id="classes"' in page_of("iris")
    assert 'id="classes"' not in page_of("gaps")
    assert 'id="pairs"' not in page_of("one_cluster")


def test_pictures_take_their_colors_from_the_page():
    text = page_of("iris")
    pictures = "".join(re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL))
    assert re.search(r"#[0-9a-f]{6}\b", re.sub(r'"#[^"]*"|url\(#[^)]*\)', "", pictures)) is None
    assert "var(--c0)" in pictures
    assert "font-family" not in pictures


def test_ticks_keep_their_digits():
    history = {"objective_history": [1.23456, 1.23412, 1.23401]}
    text = render({**summary_of("iris"), **history})
    picture = re.search(r"<svg[^>]*objective-title.*?</svg>", text, flags=re.DOTALL).group()
    labels = [float(t) for t in re.findall(r">([\d.]+)</text>", picture)]
    heights = [label for label in labels if 1.2 < label < 1.3]
    assert len(heights) == len(set(heights)) >= 3


# ---- files --------------------------------------------------------------------------------------


def test_files_are_written_whole(tmp_path):
    path = write_report(summary_of("hostile"), tmp_path / "report.html")
    assert path == tmp_path / "report.html"
    assert path.read_text("utf-8") == page_of("hostile")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert write_report(summary_of("iris"), str(path)) == path
    assert "Iris" in path.read_text("utf-8")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old", "utf-8")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_report(summary_of("iris"), path)
    assert path.read_text("utf-8") == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_relative_paths_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert write_report(summary_of("iris"), "here.html").exists()


# ---- libraries ----------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["jinja2", "matplotlib", "markupsafe"])
def test_missing_libraries_are_named(library, monkeypatch):
    for name in [m for m in sys.modules if m == library or m.startswith(f"{library}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=r"pip install 'fwkmeans\[report\]'"):
        render(summary_of("iris"))


def test_settings_of_matplotlib_do_not_matter():
    import matplotlib

    expected = page_of("iris")
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "path"}):
        assert render(summary_of("iris")) == expected
