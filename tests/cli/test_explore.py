"""The page of fwkmeans explore: what it answers, whom it refuses, and how it ends."""

from __future__ import annotations

import csv
import http.client
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from urllib.parse import urlsplit

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from fwkmeans._support.errors import InputError
from fwkmeans._tabular.format import Format
from fwkmeans.cli.columns import Roles, read_columns
from fwkmeans.cli.explorer import Explorer, Server, page_and_policy
from fwkmeans.cli.models import FitOptions
from fwkmeans.datasets import load_uci
from fwkmeans.fitted import FittedView
from fwkmeans.persistence import load_model

COLUMNS = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
ASK = {"columns": COLUMNS, "clusters": 3, "algorithm": "K-Means", "labels": "class"}
DAYS = ("2020-01-05", "2021-03-07")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    iris = load_uci("iris", as_frame=False)
    folder = tmp_path_factory.mktemp("explore")
    path = folder / "iris.csv"
    with open(iris.filename, encoding="utf-8") as stream:
        lines = stream.read().splitlines()
    named = [f"flower {i},{line}" if i else f"name,{line}" for i, line in enumerate(lines)]
    lines = [f"{line},{('day', *DAYS)[min(i, 1 + i % 2)]}" for i, line in enumerate(named)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    roles = Roles(id=["name"], labels="class")
    chosen = read_columns(str(path), Format(), roles, "iris.csv")
    with Server(Explorer(chosen, "iris.csv", FitOptions(), roles)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def ask(server):
    """Return what sends a request and gives status, headers and body."""

    def call(path, body=None, *, token=server.token, method=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers = {"Content-Type": "application/json"} | headers
        target = path if token is None else f"{path}?token={token}"
        method = method or ("GET" if body is None else "POST")
        connection.request(method, target, body, headers)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, response.headers, content

    return call


def test_a_try_is_shown_and_saved(ask, tmp_path):
    status, headers, body = ask("/fit", ASK)
    assert status == 200
    assert headers["Content-Type"] == "application/json"
    told = json.loads(body)
    assert told["n_clusters"] == 3
    assert told["settings"] == ASK | {
        "columns": dict.fromkeys(COLUMNS, "number"),
        "parameters": {},
    }
    assert 0 < told["stability"] <= 1
    assert 0 < told["silhouette"] < 1
    assert told["agreement"] > 0.5
    assert told["sentence"].startswith("3 clusters in 150 rows and 4 columns. What tells them")
    number = told["number"]
    page = ask(f"/report/{number}")[2].decode()
    assert "<h1>3 clusters in iris.csv</h1>" in page
    assert "flower 1" in page
    status, headers, body = ask(f"/save-model/{number}")
    assert headers["Content-Disposition"] == 'attachment; filename="model.fwk"'
    (tmp_path / "m.fwk").write_bytes(body)
    model = load_model(tmp_path / "m.fwk")
    rows = list(csv.reader(ask(f"/save-labels/{number}")[2].decode().splitlines()))
    assert rows[0] == ["name", "cluster", "cluster_name"]
    assert rows[1][0] == "flower 1"
    labels = [int(cluster) for _, cluster, _ in rows[1:]]
    assert [name for *_, name in rows[1:]] == [told["names"][k] for k in labels]
    iris = load_uci("iris", as_frame="pandas").data
    np.testing.assert_array_equal(labels, model.predict(iris))
    assert ask(f"/save-report/{number}")[2].decode() == page


def test_settings_change_what_comes_out_and_are_not_run_twice(ask):
    first = json.loads(ask("/fit", ASK)[2])
    again = json.loads(ask("/fit", ASK | {"columns": COLUMNS[::-1]})[2])
    assert again == first
    other = json.loads(
        ask("/fit", {"columns": COLUMNS[:2], "clusters": 4, "algorithm": "WK-Means"})[2]
    )
    assert other["n_clusters"] == 4
    assert other["number"] != first["number"]
    assert "4 clusters in 150 rows and 2 columns" in other["sentence"]


def test_the_number_is_found_on_request(ask):
    told = json.loads(ask("/fit", ASK | {"clusters": "auto", "algorithm": "AutoKMeans"})[2])
    assert told["n_clusters"] >= 2


def test_the_table_is_told(ask):
    table = json.loads(ask("/table")[2])
    assert table["name"] == "iris.csv"
    columns = {column["name"]: column for column in table["columns"]}
    assert list(columns) == [*COLUMNS, "class", "day"]
    assert {columns[name]["kind"] for name in COLUMNS} == {"number"}
    assert columns["petal_width"]["kinds"] == ["number", "categories"]
    assert [name for name, one in columns.items() if one["used"]] == COLUMNS
    assert "dates" in columns["day"]["kinds"]
    assert table["labels"] == "class"
    assert table["clusters"] == "auto"  # as fwkmeans fit
    algorithms = {one["name"]: one for one in table["algorithms"]}
    assert algorithms["WK-Means"]["parameters"]["beta"] == "4.0"
    for one in algorithms.values():
        assert one["about"].endswith(".")
        assert "_" not in one["about"]
        assert not {"n_clusters", "random_state", "groups"} & one["parameters"].keys()


def test_what_a_column_is_and_the_classes_can_be_changed(ask):
    columns = {"petal_length": "number", "petal_width": "categories", "class": "categories"}
    request = {"columns": columns | {"day": "dates"}, "clusters": 2, "algorithm": "K-Means"}
    told = json.loads(ask("/fit", request)[2])
    assert told["agreement"] is None
    page = ask(f"/report/{told['number']}")[2].decode()
    assert "day (years before 2021-03-07)" in page
    told = json.loads(ask("/fit", ASK | {"columns": columns, "labels": "petal_length"})[2])
    assert set(told["settings"]["columns"]) == {"petal_width", "class"}
    assert told["agreement"] is not None
    for change, sentence in (
        ({"columns": {"day": "number", "class": "categories"}}, "cannot be taken as 'number'"),
        ({"labels": "nothing"}, "no column 'nothing'"),
        ({"parameters": {"beta": "2"}}, "K-Means has no parameter 'beta'"),
        ({"parameters": {"beta": 2}}, "an object of texts"),
    ):
        status, _, body = ask("/fit", ASK | change)
        assert status == 422
        assert sentence in json.loads(body)["error"]


def test_parameters_are_those_of_the_command(ask):
    wanted = ASK | {"algorithm": "WK-Means", "parameters": {"beta": "2"}}
    told = json.loads(ask("/fit", wanted)[2])
    assert told["settings"]["parameters"] == {"beta": "2"}
    usual = json.loads(ask("/fit", ASK | {"algorithm": "WK-Means"})[2])
    assert usual["number"] != told["number"]
    page = ask(f"/report/{told['number']}")[2].decode()
    assert "<dt><code>beta</code></dt><dd>2</dd>" in page


def test_names_and_groups_are_kept_with_the_model(ask, tmp_path):
    number = json.loads(ask("/fit", ASK | {"clusters": 5})[2])["number"]
    told = json.loads(ask(f"/name/{number}", {"merge": 2})[2])
    assert (told["unit"], told["n_clusters"], told["n_parts"]) == ("group", 2, 5)
    told = json.loads(ask(f"/name/{number}", {"merge": 2, "names": ["wide", "<small>"]})[2])
    assert told["names"] == ["wide", "<small>"]
    assert "&lt;small&gt;" in ask(f"/report/{number}")[2].decode()
    (tmp_path / "m.fwk").write_bytes(ask(f"/save-model/{number}")[2])
    naming = FittedView.of(load_model(tmp_path / "m.fwk")[-1]).naming
    assert naming.names == ("wide", "<small>")
    rows = list(csv.DictReader(ask(f"/save-csv/{number}")[2].decode().splitlines()))
    assert list(rows[0])[-5:] == ["cluster", "group", "group_name", "distance", "confidence"]
    assert {row["group_name"] for row in rows} == {"wide", "<small>"}
    assert len(rows) == 150
    assert ask(f"/save-rules/{number}")[2].decode().endswith("END\n")
    for wrong, sentence in (
        ({"merge": 2, "names": ["a"]}, "1 name was given"),
        ({"merge": 9}, "from 2 to 4"),
        ({"merge": "2"}, "a whole number"),
        ({"merge": 2, "names": "ab"}, "a list of texts"),
    ):
        status, _, body = ask(f"/name/{number}", wrong)
        assert status == 422
        assert sentence in json.loads(body)["error"]
    told = json.loads(ask(f"/name/{number}", {"merge": None})[2])
    assert (told["unit"], told["n_clusters"]) == ("cluster", 5)
    assert ask("/name/99", {"merge": 2})[0] == 404


def test_the_table_is_saved_for_spreadsheets(ask, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    number = json.loads(ask("/fit", ASK)[2])["number"]
    _, headers, body = ask(f"/save-xlsx/{number}")
    assert headers["Content-Disposition"] == 'attachment; filename="table.xlsx"'
    (tmp_path / "t.xlsx").write_bytes(body)
    book = openpyxl.load_workbook(tmp_path / "t.xlsx")
    assert book.sheetnames == ["rows", "profiles"]
    assert book["rows"].max_row == 151


def test_progress_is_told_while_something_is_done(ask, server, monkeypatch):
    assert json.loads(ask("/progress")[2]) == {"text": None, "seconds": 0}
    seen = []

    def slow(*_):
        logging.getLogger("fwkmeans").info("start 1 of 2")
        seen.append(json.loads(ask("/progress")[2]))
        raise InputError("stop")

    monkeypatch.setattr("fwkmeans.cli.explorer.fit_choice", slow)
    assert ask("/fit", ASK | {"clusters": 7})[0] == 422
    assert seen == [{"text": "start 1 of 2", "seconds": 0}]
    assert json.loads(ask("/progress")[2])["text"] is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"columns": ["petal_length", "nothing"]}, "no column 'nothing'"),
        ({"columns": ["petal_length"]}, "two columns or more"),
        ({"columns": "petal_length"}, "a list of names"),
        ({"clusters": 1}, "from 2 to 50"),
        ({"clusters": True}, "from 2 to 50"),
        ({"clusters": "../../x"}, "from 2 to 50"),
        ({"algorithm": "__import__('os')"}, "no algorithm"),
        ({"algorithm": None}, "no algorithm"),
    ],
)
def test_wrong_settings_get_a_sentence(ask, change, sentence):
    status, _, body = ask("/fit", ASK | change)
    assert status == 422
    assert sentence in json.loads(body)["error"]


def test_bodies_that_are_not_requests_get_a_sentence(ask):
    kind = {"Content-Type": "application/json"}
    for body in (b"{", b"[" * 100_000, b"\xff", b"[]", b"7"):
        assert ask("/fit", body, **kind)[0] == 422
    assert ask("/fit", b"{}", **{"Content-Type": "text/plain"})[0] == 415
    assert ask("/fit", b"", method="POST", **kind, **{"Content-Length": "9999999"})[0] == 413
    assert ask("/fit", b"", method="POST", **kind, **{"Content-Length": "-1"})[0] == 413
    assert ask("/other", ASK)[0] == 404
    assert ask("/", method="DELETE")[0] == 501


def test_only_who_knows_the_token_is_answered(ask, server):
    for token in (None, "", "wrong", server.token[:-1], server.token + "x", "é"):
        for path in ("/", "/table", "/report/1", "/save-model/1"):
            status, _, body = ask(path, token=None if token is None else token.replace("é", "%C3"))
            assert status == 403
            assert b"token" in body
        assert ask("/fit", ASK, token=token and token.replace("é", "%C3"))[0] == 403
    assert len(server.token) >= 32


def test_only_this_computer_and_this_page_are_answered(ask, server):
    assert server.server_address[0] == "127.0.0.1"
    port = server.server_port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}"):
        assert ask("/", Host=host)[0] == 403
    assert ask("/", Host=f"localhost:{port}")[0] == 200
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{port}"):
        assert ask("/fit", ASK, Origin=origin)[0] == 403
    assert ask("/fit", ASK, Origin=f"http://127.0.0.1:{port}")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/report/99",
        "/report/../report/1",
        "/save-model/..%2f..%2fetc%2fpasswd",
        "/save-labels/-1",
        "/save-labels/1/2",
        "/save-report/%D9%A1",
        "/etc/passwd",
        "//etc/passwd",
        "/pages/explore.js",
    ],
)
def test_no_path_reaches_a_file(ask, path):
    assert ask(path)[0] == 404


def test_the_page_may_do_nothing_but_ask_this_server(ask):
    status, headers, body = ask("/")
    page, policy = page_and_policy()
    assert (status, body) == (200, page)
    assert headers["Content-Security-Policy"] == policy
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert b"http:" not in page
    assert b"https:" not in page


def test_ctrl_c_ends_it(iris_path):
    command = [sys.executable, "-m", "fwkmeans", "explore", iris_path, "--no-browser"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        # pytest may have been started with Ctrl-C switched off, which children would inherit
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        address = urlsplit(process.stdout.readline().split()[-1])
        connection = http.client.HTTPConnection(address.netloc, timeout=30)
        connection.request("GET", f"/table?{address.query}")
        assert connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.stdout.close()
        process.stderr.close()
    assert process.returncode == 130
    assert "Traceback" not in out + err
    with pytest.raises(ConnectionError):
        connection.request("GET", "/")


def test_tables_that_cannot_be_used_get_a_sentence(refuse, write):
    assert "There is no file" in refuse("explore", "none.csv", "--no-browser")
    assert "one column" in refuse("explore", write("t.csv", "a\n1\n2\n"), "--no-browser")


# ---- in a browser -------------------------------------------------------------------------------


BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@pytest.mark.long
@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_the_page_in_a_browser(server, tmp_path):
    sync_api = pytest.importorskip("playwright.sync_api")
    troubles = []
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"]
        )
        page = chromium.new_page(viewport={"width": 1280, "height": 800})
        page.on(  # wrong settings are answered with 422, which the browser logs
            "console",
            lambda message: None if "422" in message.text else troubles.append(message.text),
        )
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((f"http://127.0.0.1:{server.server_port}/", "data:"))
                else troubles.append(request.url)
            ),
        )
        page.goto(server.address)
        rows = page.locator("#tries tbody tr")
        report = page.frame_locator("#report")
        rows.nth(0).wait_for()
        report.locator("h1", has_text="clusters in iris.csv").wait_for()
        assert page.title() == "iris.csv: fwkmeans explore"
        assert "What tells them apart best" in page.locator("#status").inner_text()
        before = report.locator("#map svg use").first.get_attribute("x")
        page.locator("#none").click()
        page.locator("#go").click()
        page.locator("#status.wrong").wait_for()
        assert page.locator("#status").inner_text() == "Choose two columns or more."
        for name in COLUMNS[:2]:
            page.get_by_label(name, exact=True).check()
        page.locator("#auto").uncheck()
        page.locator("#clusters").fill("2")
        page.locator("#algorithm").select_option("WK-Means")
        page.locator("#go").click()
        rows.nth(1).wait_for()
        report.locator("h1", has_text="2 clusters in iris.csv").wait_for()
        assert report.locator("#map svg use").first.get_attribute("x") != before
        assert rows.nth(0).get_attribute("aria-current") == "true"
        assert "2 of 6" in rows.nth(0).inner_text()
        report.locator("#columns-table thead button").first.click()  # its script runs
        rows.nth(1).locator("button").click()
        report.locator("h1", has_text="clusters in iris.csv").wait_for()
        assert page.locator("#algorithm").input_value() == "AutoKMeans"  # the settings are back
        assert page.locator("#auto").is_checked()
        assert page.locator("#columns input:checked").count() == 4
        page.locator("#names input").first.fill("giants")
        page.locator("#keep").click()
        report.locator("#overview", has_text="giants").wait_for()
        for kind in ("report", "labels", "model", "rules", "csv", "xlsx"):
            with page.expect_download() as saved:
                page.locator(f"#save-{kind}").click()
            path = tmp_path / saved.value.suggested_filename
            saved.value.save_as(path)
            assert path.stat().st_size > 200
        assert (
            (tmp_path / "labels.csv").read_text("utf-8").startswith("name,cluster,cluster_name\n")
        )
        page.set_viewport_size({"width": 360, "height": 740})
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(wide) == 0
        chromium.close()
    assert troubles == []
