"""One table, clustered again and again with other settings, and a page that shows it.

The page is served to this computer only. Whoever asks must know the token in the address, so that
no other page or user can; nothing that the page sends is used as a path or run as code.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import tempfile
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from fwkmeans._support.errors import InputError
from fwkmeans._support.text import count, harmless
from fwkmeans.cli.columns import Chosen
from fwkmeans.cli.models import AUTO, NAMES, FitOptions, build, choose
from fwkmeans.cli.output import write_columns
from fwkmeans.cli.run import fit_and_collect

#: All algorithms that the page offers.
OFFERED = (AUTO, *NAMES)
#: Clusters that may be asked for, bytes that a request may have, and results that are kept.
MOST_CLUSTERS, MOST_BYTES, MOST_RESULTS = 50, 1_000_000, 20


class Settings(NamedTuple):
    """What the page asks for."""

    columns: tuple[str, ...]
    clusters: int | str
    algorithm: str


class Result(NamedTuple):
    """A fitted model and what is said about it."""

    settings: Settings
    pipeline: Any
    summary: dict[str, Any]
    notes: list[str]


class Explorer:
    """A table and the results that were asked for."""

    def __init__(self, chosen: Chosen, name: str, options: FitOptions) -> None:
        self.chosen, self.name, self.options = chosen, name, options
        self.results: dict[int, Result] = {}
        self._next = 1
        self._at_work = threading.Lock()

    def table(self) -> dict[str, Any]:
        """Return what the page must know to offer choices."""
        features = self.chosen.features
        columns = [
            {
                "name": name,
                "kind": "categories" if str(values.type) in ("string", "bool") else "numbers",
                "missing": int(values.null_count),
            }
            for name, values in zip(features.column_names, features.columns, strict=True)
        ]
        clusters = self.options.clusters
        return {
            "name": self.name,
            "rows": features.num_rows,
            "columns": columns,
            "algorithms": list(OFFERED),
            "algorithm": AUTO,
            "clusters": clusters,
            "most_clusters": min(MOST_CLUSTERS, features.num_rows - 1),
            "notes": [*self.chosen.notes, *self.chosen.doubtful.values()],
        }

    def read(self, request: Any) -> Settings:
        """Return the settings of a request, or raise what is wrong with them."""
        if not isinstance(request, dict):
            raise InputError("The request is not an object.")
        known = self.chosen.features.column_names
        columns = request.get("columns")
        if not isinstance(columns, list) or not all(isinstance(one, str) for one in columns):
            raise InputError("columns must be a list of names.")
        unknown = [one for one in columns if one not in known]
        if unknown:
            raise InputError(f"The table has no column {unknown[0]!r}.")
        used = tuple(one for one in known if one in set(columns))
        if len(used) < 2:
            raise InputError("Choose two columns or more.")
        algorithm = request.get("algorithm")
        if not isinstance(algorithm, str) or algorithm not in OFFERED:
            raise InputError(f"There is no algorithm {str(algorithm)[:40]!r}.")
        clusters = request.get("clusters")
        most = min(MOST_CLUSTERS, self.chosen.features.num_rows - 1)
        if clusters == "auto":
            if algorithm != AUTO:
                raise InputError(f"Only {AUTO} finds the number of clusters: give a number.")
        elif type(clusters) is not int or not 2 <= clusters <= most:
            raise InputError(f"The number of clusters must be from 2 to {most}.")
        return Settings(used, clusters, algorithm)

    def run(self, settings: Settings) -> dict[str, Any]:
        """Cluster the table; the same settings are not run twice."""
        with self._at_work:
            for number, result in self.results.items():
                if result.settings == settings:
                    return self._told(number)
            result = self._cluster(settings)
            number = self._next
            self._next += 1
            self.results[number] = result
            while len(self.results) > MOST_RESULTS:
                del self.results[min(self.results)]
            return self._told(number)

    def _cluster(self, settings: Settings) -> Result:
        from fwkmeans.reports.summarize import summarize_rows

        features = self.chosen.features.select(list(settings.columns))
        n_missing = sum(values.null_count for values in features.columns)
        options = self.options._replace(clusters=settings.clusters)
        pipeline = build(choose(settings.algorithm), options, features, n_missing)
        rows, warned = fit_and_collect(pipeline, features)
        n_clusters = len(set(pipeline[-1].labels_.tolist()))
        summary = summarize_rows(
            pipeline,
            features,
            rows,
            classes=self.chosen.classes,
            row_names=self.chosen.row_names,
            title=f"{count(n_clusters, 'cluster')} in {self.name}",
            random_state=self.options.seed,
        )
        return Result(settings, pipeline, summary, [one.text for one in warned])

    def _told(self, number: int) -> dict[str, Any]:
        """Return what the list of results shows."""
        result = self.results[number]
        summary = result.summary
        found = [one for one in summary["map"]["silhouette"] if one is not None]
        return {
            "number": number,
            "settings": result.settings._asdict(),
            "n_clusters": sum(cluster["size"] > 0 for cluster in summary["clusters"]),
            "stability": None if summary["stability"] is None else summary["stability"]["median"],
            "silhouette": sum(found) / len(found) if found else None,
            "agreement": None if summary["agreement"] is None else summary["agreement"]["ari"],
            "sentence": " ".join(summary["headline"][:2]),
            "notes": result.notes,
        }

    def report(self, number: int) -> bytes:
        """Return the page of a result."""
        from fwkmeans.reports import render

        return render(self.results[number].summary).encode()

    def model(self, number: int) -> bytes:
        """Return the model file of a result."""
        from fwkmeans.persistence import save_model

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.fwk"
            save_model(self.results[number].pipeline, path)
            return path.read_bytes()

    def labels(self, number: int) -> bytes:
        """Return the cluster of each row as CSV."""
        labels = self.results[number].pipeline[-1].labels_.tolist()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "labels.csv"
            columns = self.chosen.ids | {"cluster": labels}
            write_columns(columns, str(path), style=self.chosen.style, spreadsheet_safe=True)
            return path.read_bytes()


# ---- the server ---------------------------------------------------------------------------------


class Server(ThreadingHTTPServer):
    """The page and its results, for this computer and this token only."""

    daemon_threads = True
    block_on_close = False  # a fit that is under way does not keep the command from ending

    def __init__(self, explorer: Explorer, port: int = 0) -> None:
        self.explorer = explorer
        self.token = secrets.token_urlsafe(24)
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def address(self) -> str:
        """The address of the page, with the token."""
        return f"http://127.0.0.1:{self.server_port}/?token={self.token}"


class _RefusedError(Exception):
    """A request that is answered with a status and a sentence."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "fwkmeans", ""
    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing: the terminal shows the address only."""

    def do_GET(self) -> None:
        """Answer the page, the table, and what can be shown or saved of a result."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Cluster the table."""
        self._answer(self._post)

    def _answer(self, respond: Callable[[str], None]) -> None:
        try:
            respond(self._checked_path())
        except _RefusedError as refused:
            self._send_json({"error": str(refused)}, refused.status)
        except (InputError, ValueError, TypeError) as error:
            text = harmless(" ".join(str(error).split()))
            self._send_json({"error": text}, HTTPStatus.UNPROCESSABLE_ENTITY)
        except ConnectionError:  # the page was closed
            self.close_connection = True

    def _checked_path(self) -> str:
        """Return the path of a request that may be answered."""
        port = self.server.server_port
        hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        if self.headers.get("Host") not in hosts:
            self._refuse(HTTPStatus.FORBIDDEN, "This page is served to this computer only.")
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{host}" for host in hosts}:
            self._refuse(HTTPStatus.FORBIDDEN, "Another page may not ask.")
        parts = urlsplit(self.path)
        given = parse_qs(parts.query).get("token", [""])[0]
        if not hmac.compare_digest(given.encode(), self.server.token.encode()):
            self._refuse(
                HTTPStatus.FORBIDDEN, "The token is missing or wrong: open the whole address."
            )
        return parts.path

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        self.close_connection = True  # a body that was sent is not read
        raise _RefusedError(status, text)

    def _get(self, path: str) -> None:
        explorer = self.server.explorer
        if path == "/":
            page, policy = page_and_policy()
            self._send(page, "text/html; charset=utf-8", {"Content-Security-Policy": policy})
            return
        if path == "/table":
            self._send_json(explorer.table())
            return
        kind, _, number = path.strip("/").partition("/")
        made: Mapping[str, tuple[Callable[[int], bytes], str, str | None]] = {
            "report": (explorer.report, "text/html; charset=utf-8", None),
            "save-report": (explorer.report, "text/html; charset=utf-8", "report.html"),
            "save-model": (explorer.model, "application/octet-stream", "model.fwk"),
            "save-labels": (explorer.labels, "text/csv; charset=utf-8", "labels.csv"),
        }
        known = number.isascii() and number.isdigit() and len(number) < 10
        if kind not in made or not known or int(number) not in explorer.results:
            self._refuse(HTTPStatus.NOT_FOUND, "There is no such result.")
        make, what, file = made[kind]
        headers = {"Content-Security-Policy": "frame-ancestors 'self'"}
        if file is not None:
            headers["Content-Disposition"] = f'attachment; filename="{file}"'
        self._send(make(int(number)), what, headers)

    def _post(self, path: str) -> None:
        if path != "/fit":
            self._refuse(HTTPStatus.NOT_FOUND, "There is nothing to do here.")
        if self.headers.get_content_type() != "application/json":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Send JSON.")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or int(length) > MOST_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The request is too long.")
        try:
            request = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise InputError("The request is not JSON.") from None
        explorer = self.server.explorer
        self._send_json(explorer.run(explorer.read(request)))

    def _send_json(self, content: Any, status: HTTPStatus = HTTPStatus.OK) -> None:
        text = json.dumps(content, allow_nan=False).encode()
        self._send(text, "application/json", {}, status)

    def _send(
        self,
        body: bytes,
        kind: str,
        headers: Mapping[str, str],
        status: HTTPStatus = HTTPStatus.OK,
    ) -> None:
        self.send_response(status)
        fixed = {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        for name, value in {**fixed, **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def page_and_policy() -> tuple[bytes, str]:
    """Return the page, and what it may do: its own style and script, this server, nothing else."""
    home = files("fwkmeans.cli").joinpath("pages")
    shell, style, script = (
        home.joinpath(f"explore.{kind}").read_text("utf-8") for kind in ("html", "css", "js")
    )
    colors = files("fwkmeans.reports").joinpath("templates", "page.css").read_text("utf-8")
    page = shell.replace("/* style */", colors + style).replace("/* script */", script)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
        f"frame-src 'self'; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return page.encode(), policy
