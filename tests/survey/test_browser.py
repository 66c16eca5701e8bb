"""The report of the survey in a real browser: it opens, fits, and sorts."""

import shutil

import pytest

from fwkmeans.survey import (
    COMPARED,
    Store,
    parse_contender,
    parse_table,
    run_survey,
    survey_protocol,
    write_survey_report,
)

sync_api = pytest.importorskip("playwright.sync_api")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on this machine"),
    pytest.mark.long,
]
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    contenders = tuple(parse_contender(name, grid=(1.5, 3.0)) for name in COMPARED)
    tables = tuple(map(parse_table, ["iris", "tae", "500x4-2"]))
    protocol = survey_protocol(contenders=contenders, tables=tables, starts=2, data_sets=2)
    run_survey(protocol, folder / "s.sqlite", n_jobs=1)
    with Store(folder / "s.sqlite") as store:
        html, _ = write_survey_report(store, folder / "s.html", folder / "s.md")
    return html


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_opens_fits_and_sorts(width, scheme, page_file, browser):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    troubles = []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(page_file.as_uri())
    room = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert room[0] <= room[1]
    header = page.locator("table.heat th button", has_text="AWK").first
    header.click()
    values = page.locator("table.heat tbody tr td:nth-child(3)").evaluate_all(
        "cells => cells.map(cell => Number(cell.dataset.value))"
    )
    assert values in (sorted(values), sorted(values, reverse=True))
    assert page.locator("table.heat th[aria-sort=ascending], th[aria-sort=descending]").count() == 1
    boxes = page.locator("table.traits thead th").evaluate_all(
        "cells => cells.map(cell => [cell.scrollWidth, cell.clientWidth])"
    )
    assert all(needed <= given for needed, given in boxes)
    context.close()
    assert troubles == []
