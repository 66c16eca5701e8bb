"""The page in a real browser: it renders, sorts, toggles, prints, and can be read."""

from __future__ import annotations

import itertools
import shutil

import numpy as np
import pandas as pd
import pytest

from fwkmeans import KMeans
from fwkmeans.reports import summarize, write_report
from reports.tables import CASES, page_of, summary_of

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
sync_api = pytest.importorskip("playwright.sync_api")

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed"),
    pytest.mark.long,
]

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

#: All that is seen of text: contrast with what is behind it, as WCAG computes it.
CONTRASTS = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (color) => {
    if (!known.has(color)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(color, [r, g, b, a / 255]);
    }
    return known.get(color);
  };
  const over = (top, bottom) =>
    [0, 1, 2].map((i) => top[i] * top[3] + bottom[i] * (1 - top[3])).concat(1);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    const chain = [];
    for (let one = element; one; one = one.parentElement) {
      chain.push(rgba(getComputedStyle(one).backgroundColor));
    }
    return chain.reverse().reduce((below, color) => over(color, below), [255, 255, 255, 1]);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    const unseen = ".visually-hidden, .skip-link, [aria-hidden=true], script, style, desc, title";
    if (element.closest(unseen)) continue;
    const style = getComputedStyle(element);
    const back = behind(element);
    const front = over(rgba(element.closest("svg") ? style.fill : style.color), back);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), walker.currentNode.data.trim().slice(0, 40)]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    files = {name: folder / f"{name}.html" for name in CASES}
    for name, path in files.items():
        path.write_text(page_of(name), "utf-8")
    return files


@pytest.fixture
def visit(browser, files):
    """Return what opens a report; at the end nothing may have been logged or loaded."""
    contexts, troubles = [], []

    def open_report(name, width=1200, height=900, **options):
        context = browser.new_context(
            viewport={"width": width, "height": height}, reduced_motion="reduce", **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (troubles.append("dialog"), dialog.dismiss()))
        url = files[name].as_uri()
        page.on(
            "request",
            lambda request: (
                None
                if request.url.split("#")[0] == url or request.url.startswith("data:")
                else troubles.append(f"request: {request.url}")
            ),
        )
        page.goto(url)
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert troubles == []


def first_column(table):
    return table.locator("tbody tr > th").evaluate_all("cells => cells.map(c => c.dataset.value)")


def overflow(page):
    return page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


# ---- every report -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_report_opens_and_fits(visit, name):
    page = visit(name)
    assert page.title() == summary_of(name)["title"]
    assert page.locator("main h2").count() >= 6
    assert page.evaluate("document.documentElement.scrollHeight") < 12_000
    assert page.locator("svg.figure").first.bounding_box()["height"] > 100
    assert page.locator("#map svg use").count() == len(summary_of(name)["map"]["x"])
    levels = page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => +h.tagName[1])"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    if summary_of(name)["n_clusters"] > 1:
        page.locator("button[data-toggle-all]").click()
    for width in (1280, 1920, 360):
        page.set_viewport_size({"width": width, "height": 740})
        closed = page.locator("button[data-toggle][aria-expanded=false]:visible")
        closed.evaluate_all("all => all.forEach((button) => button.click())")
        assert overflow(page) == 0
        edges = page.locator(".scroll:visible").evaluate_all(
            "boxes => boxes.map(box => box.getBoundingClientRect().right)"
        )
        assert len(edges) >= 3
        assert max(edges) <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["iris", "australian", "gaps", "twenty_clusters"])
def test_all_text_has_enough_contrast(visit, name, scheme):
    page = visit(name, color_scheme=scheme)
    page.locator("button[data-toggle-all]").click()
    found = page.evaluate(CONTRASTS)
    assert len(found) > 100
    low = [(round(ratio, 2), text) for ratio, text in found if ratio < 4.5]
    assert low == []


def test_dark_pages_are_dark(visit):
    for scheme, limits in {"light": (0.9, 1.0), "dark": (0.0, 0.1)}.items():
        page = visit("iris", color_scheme=scheme)
        color = page.evaluate("getComputedStyle(document.body).backgroundColor")
        parts = [int(part) / 255 for part in color[4:-1].split(",")]
        assert limits[0] <= sum(parts) / 3 <= limits[1]


# ---- for those who do not see it ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["iris", "australian", "one_cluster"])
def test_everything_has_a_text_alternative(visit, name):
    page = visit(name)
    pictures = page.locator("svg:not([aria-hidden])").evaluate_all(
        "all => all.map(s => [s.getAttribute('role'), ...s.getAttribute('aria-labelledby')"
        ".split(' ').map(id => document.getElementById(id).textContent)])"
    )
    assert pictures
    for role, title, text in pictures:
        assert role == "img"
        assert len(title) > 5
        assert len(text) > 20
    assert page.locator("img:not([alt])").count() == 0
    buttons = page.locator("button:visible").evaluate_all("all => all.map(b => b.innerText)")
    assert buttons
    assert all(text.strip() for text in buttons)
    tables = page.locator("table").evaluate_all(
        "all => all.map(t => [t.querySelectorAll('caption').length,"
        " t.querySelectorAll('thead th:not([scope])').length])"
    )
    assert tables
    assert all(found == [1, 0] for found in tables)


def test_landmarks_and_regions_have_names(visit):
    page = visit("iris")
    roles = {role: page.get_by_role(role).count() for role in ("banner", "main", "contentinfo")}
    assert roles == {"banner": 1, "main": 1, "contentinfo": 1}
    assert page.get_by_role("navigation", name="Contents").count() == 1
    for region in page.locator("[role=region], section").all():
        name = region.evaluate(
            "r => r.ariaLabel || document.getElementById(r.getAttribute('aria-labelledby'))"
            "?.textContent"
        )
        assert name
    assert page.get_by_role("img", name="Map of the rows").count() == 1


def test_skip_link_is_first_and_works(visit):
    page = visit("iris")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.locator(".skip-link").bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


# ---- what can be pressed ------------------------------------------------------------------------


def test_tables_sort_by_pressing_headings(visit):
    page = visit("iris")
    summary = summary_of("iris")
    table = page.locator("#columns table")
    names = [feature["name"] for feature in summary["features"]]
    assert first_column(table) == names
    heading = table.locator("thead th").first
    assert heading.get_attribute("aria-sort") == "none"
    assert table.locator("thead th").nth(1).get_attribute("aria-sort") == "descending"
    heading.locator("button").click()
    assert first_column(table) == sorted(names)
    assert heading.get_attribute("aria-sort") == "ascending"
    assert table.locator("thead th").nth(1).get_attribute("aria-sort") == "none"
    heading.locator("button").click()
    assert first_column(table) == sorted(names, reverse=True)
    assert heading.get_attribute("aria-sort") == "descending"
    table.locator("thead th").nth(2).locator("button").click()
    weights = {feature["name"]: feature["weight"] for feature in summary["features"]}
    assert first_column(table) == sorted(sorted(names, reverse=True), key=lambda n: -weights[n])
    table.locator("thead th").nth(5).locator("button").click()
    own = summary["clusters"][2]["separation"]
    assert first_column(table) == sorted(own, key=own.get, reverse=True)
    assert page.locator("#announcer").inner_text() == "Sorted by Cluster 3, descending"


def test_tables_sort_by_keyboard(visit):
    page = visit("iris")
    table = page.locator("#trust table")
    sizes = [cluster["size"] for cluster in summary_of("iris")["clusters"]]
    order = sorted(range(3), key=lambda k: -sizes[k])
    table.locator("thead button").nth(1).focus()
    page.keyboard.press("Enter")
    assert first_column(table) == [str(k) for k in order]
    page.keyboard.press("Space")
    assert first_column(table) == [str(k) for k in sorted(range(3), key=lambda k: sizes[k])]


def test_numbers_sort_as_numbers_and_gaps_come_last(visit):
    page = visit("gaps")
    table = page.locator("#trust table")
    table.locator("tbody td:nth-child(4)").first.evaluate("cell => cell.dataset.value = ''")
    for turn in range(2):
        table.locator("thead th").nth(3).locator("button").click()
        values = "cells => cells.map(c => c.dataset.value)"
        found = table.locator("tbody td:nth-child(4)").evaluate_all(values)
        assert found[-1] == ""
        numbers = [float(value) for value in found[:-1]]
        assert numbers == sorted(numbers, reverse=turn == 0)


def test_every_heading_of_every_report_can_be_pressed(visit):
    for name in ("hostile", "australian", "only_categories"):
        page = visit(name)
        page.locator("button[data-toggle-all]").click()
        buttons = page.locator("button.sort:visible")
        buttons.last.click()  # one as a person does, all of them by script
        found = buttons.evaluate_all("""buttons => buttons.map((button) => {
          const body = button.closest("table").tBodies[0];
          const before = body.rows.length;
          button.click();
          return [button.closest("th").ariaSort, body.rows.length - before];
        })""")
        assert len(found) > 10
        for order, more in found:
            assert order in ("ascending", "descending")
            assert more == 0


def test_theme_goes_round(visit):
    page = visit("iris", color_scheme="light")
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    button = page.locator("#theme")
    assert button.inner_text() == "Theme: auto"
    seen = []
    for _ in range(3):
        button.click()
        seen.append((button.inner_text(), page.evaluate(background) == light))
    assert seen == [("Theme: light", True), ("Theme: dark", False), ("Theme: auto", True)]


def test_theme_is_remembered(visit):
    page = visit("iris", color_scheme="light")
    page.locator("#theme").click()
    page.locator("#theme").click()
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.locator("#theme").inner_text() == "Theme: dark"


def test_profiles_are_shown_and_hidden(visit):
    page = visit("iris")
    shown = [page.locator(f"#profile-{k}").is_visible() for k in range(3)]
    assert shown == [True, False, False]
    button = page.locator("#cluster-1 button[data-toggle]")
    assert button.get_attribute("aria-expanded") == "false"
    assert button.get_attribute("aria-controls") == "profile-1"
    assert button.inner_text().startswith("Show")
    button.click()
    assert page.locator("#profile-1").is_visible()
    assert button.get_attribute("aria-expanded") == "true"
    assert button.inner_text().startswith("Hide")
    every = page.locator("button[data-toggle-all]")
    assert every.inner_text() == "Show all profiles"
    every.click()
    assert all(page.locator(f"#profile-{k}").is_visible() for k in range(3))
    assert every.inner_text() == "Hide all profiles"
    every.click()
    assert not any(page.locator(f"#profile-{k}").is_visible() for k in range(3))


def test_links_open_what_they_point_at(visit):
    page = visit("iris")
    page.evaluate("location.hash = '#cluster-2'")
    page.wait_for_function("document.getElementById('profile-2').checkVisibility()")
    assert not page.locator("#profile-1").is_visible()


def test_clusters_of_the_map_are_shown_and_hidden(visit):
    page = visit("iris")
    button = page.locator("button[data-layer=map-cluster-1]")
    layer = page.locator("#map-cluster-1")
    assert layer.locator("use").count() == summary_of("iris")["clusters"][1]["size"]
    assert layer.is_visible()
    button.click()
    assert not layer.is_visible()
    assert button.get_attribute("aria-pressed") == "false"
    assert page.locator("#map-cluster-0").is_visible()
    button.click()
    assert layer.is_visible()


def test_pointing_at_the_map_names_the_row(visit):
    page = visit("iris")
    tip = page.locator("#map-tip")
    assert not tip.is_visible()
    point = page.locator("#map-cluster-1 use").first
    at = int(point.get_attribute("data-i"))
    point.hover()
    assert tip.is_visible()
    text = tip.inner_text()
    name = summary_of("iris")["clusters"][1]["name"]
    assert text.startswith(f"row {at + 1}\nCluster 2: {name}\n")
    assert "petal_length: 1." in text
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 1200
    page.locator("#map-heading").hover()
    assert not tip.is_visible()


def test_the_map_can_be_drawn_by_columns(visit):
    page = visit("australian")
    places = summary_of("australian")["map"]
    numeric = next(i for i, c in enumerate(places["columns"]) if c["categories"] is None)
    nominal = next(i for i, c in enumerate(places["columns"]) if c["categories"] is not None)
    read = "all => all.map(p => [Number(p.dataset.i), Number(p.getAttribute('x')), p.ariaHidden])"
    before = page.locator("#map svg use").evaluate_all(read)
    page.locator("select[data-axis=x]").select_option(str(numeric))
    page.locator("select[data-axis=y]").select_option(str(nominal))
    after = page.locator("#map svg use").evaluate_all(read)
    assert before != after
    values = places["columns"][numeric]["values"]
    by_place = [values[i] for i, x, _ in sorted(after, key=lambda one: one[1])]
    assert by_place == pytest.approx(sorted(values), abs=0.01 * (max(values) - min(values)))
    assert page.locator("#map-x-name").text_content() == places["columns"][numeric]["name"]
    page.locator("select[data-axis=x]").select_option("")
    page.locator("select[data-axis=y]").select_option("")
    assert page.locator("#map svg use").evaluate_all(read) == before


def test_long_tables_begin_short_and_can_be_shown_whole(visit):
    page = visit("many_features")
    rows = page.locator("#columns-table tbody tr")
    assert rows.count() == 80
    assert page.locator("#columns-table tbody tr:visible").count() == 10
    button = page.locator("button[data-more=columns-table]")
    assert button.inner_text() == "Show all 80 columns"
    page.locator("#columns-table thead button").first.click()
    assert page.locator("#columns-table tbody tr:visible").count() == 10
    button.click()
    assert page.locator("#columns-table tbody tr:visible").count() == 80
    assert button.get_attribute("aria-expanded") == "true"
    page.emulate_media(media="print")
    button = page.locator("button[data-more=pairs-table]")
    assert page.locator("#pairs-table tbody tr:visible").count() > 10


def test_tables_that_do_not_fit_say_so(visit):
    page = visit("iris", width=360, height=740)
    note = "getComputedStyle(document.querySelector('#columns .scroll'), '::before').content"
    page.locator("button[data-toggle=columns-part]").click()
    assert "scroll sideways" in page.evaluate(note)
    page.set_viewport_size({"width": 1280, "height": 740})
    page.wait_for_function(f"{note} === 'none'")
    assert page.locator(".scrolls").count() == 0  # everything fits, profiles included


# ---- paper, and no script -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["iris", "australian", "twenty_clusters"])
def test_paper_shows_everything_but_controls(visit, name):
    page = visit(name, width=718, height=1000, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator(".control:visible").count() == 0
    assert page.locator("button:visible:not(.sort)").count() == 0
    for k in range(summary_of(name)["n_clusters"]):
        assert page.locator(f"#profile-{k}").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == (
        "rgb(29, 35, 38)"
    )
    assert page.locator(".legend .key").first.is_visible()
    assert overflow(page) == 0


def test_report_becomes_a_pdf(visit):
    page = visit("iris")
    document = page.pdf(format="A4")
    assert document.startswith(b"%PDF")
    assert document.count(b"/Type /Page\n") >= 3


def test_without_script_everything_is_there(visit):
    page = visit("iris", java_script_enabled=False)
    assert all(page.locator(f"#profile-{k}").is_visible() for k in range(3))
    assert page.locator("button:visible").count() == 0
    assert page.locator(".legend .key").first.is_visible()


def test_code_in_names_stays_text(visit):
    page = visit("hostile")
    assert page.locator("h1").inner_text() == "<script>alert(1)</script> & co"
    assert page.locator("script:not([type])").count() == 1
    assert page.locator("main b, main i").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_ten_clusters_fold_on_a_phone(browser, tmp_path, scheme):
    rng = np.random.default_rng(0)
    names = ["flipper_length_mm", "body_mass_g", *(f"column_{i}" for i in range(12))]
    rows = np.repeat(9 * rng.normal(size=(10, 14)), 30, axis=0) + rng.normal(size=(300, 14))
    X = pd.DataFrame(rows, columns=names)
    path = tmp_path / "r.html"
    write_report(summarize(KMeans(10, random_state=0).fit(X), X, draws=2), path)
    context = browser.new_context(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollHeight") < 6000
    assert overflow(page) == 0
    page.locator("nav a[href='#trust']").click()  # a link unfolds what it leads to
    page.locator("#trust-table").wait_for()
    page.set_viewport_size({"width": 1280, "height": 900})
    page.locator("#map-picture").wait_for()  # nothing stays folded where there is room
    tops = page.locator(".card").evaluate_all("all => all.map(c => Math.round(c.offsetTop))")
    assert tops.count(tops[-1]) > 1  # no card is alone in its row
    context.close()


def test_targets_are_large_enough_for_fingers(visit):
    page = visit("iris", width=360, height=740)
    for button in page.locator("button.control:visible").all():
        assert button.bounding_box()["height"] >= 24
