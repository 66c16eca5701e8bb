"""One table, clustered again and again with other settings, and a page that shows it.

The page is served to this computer only. Whoever asks must know the token in the address, so that
no other page or user can; nothing that the page sends is used as a path or run as code.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import inspect
import json
import re
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from fwkmeans._support.errors import InputError
from fwkmeans._support.text import count, harmless
from fwkmeans._tabular.format import MISSING
from fwkmeans._tabular.roles import Chosen, Roles, choose_columns
from fwkmeans.cli.fit import tell_page
from fwkmeans.cli.models import AUTO, NAMES, FitOptions, choose, offered_parameters
from fwkmeans.cli.output import write_columns
from fwkmeans.cli.progress import hearing
from fwkmeans.cli.rows import named, with_clusters
from fwkmeans.cli.run import fit_choice
from fwkmeans.cli.workbook import profile_rows

#: All algorithms that the page offers.
OFFERED = (AUTO, *NAMES)
#: What a column may be taken as.
KINDS = ("number", "categories", "dates")
#: Clusters that may be asked for, bytes that a request may have, and results that are kept.
MOST_CLUSTERS, MOST_BYTES, MOST_RESULTS = 50, 1_000_000, 20
#: Characters of a name or of a parameter.
LONGEST = 200


class Settings(NamedTuple):
    """What the page asks for."""

    columns: tuple[tuple[str, str], ...]  # names, and what each is taken as
    clusters: int | str
    algorithm: str
    parameters: tuple[str, ...] = ()  # as name=value
    labels: str | None = None


class Result(NamedTuple):
    """A fitted model and what is said about it."""

    settings: Settings
    chosen: Chosen
    pipeline: Any
    summary: dict[str, Any]
    notes: list[str]
    merge: int | None = None


class Explorer:
    """A table and the results that were asked for."""

    def __init__(
        self,
        chosen: Chosen,
        name: str,
        options: FitOptions,
        roles: Roles | None = None,
        missing: Sequence[str] = MISSING,
    ) -> None:
        self.chosen, self.name, self.options = chosen, name, options
        self.roles, self.missing = roles or Roles(), missing
        self.results: dict[int, Result] = {}
        self._next = 1
        self._at_work = threading.Lock()
        self._progress: tuple[str, float] | None = None

    # ---- what can be chosen ---------------------------------------------------------------------

    def table(self) -> dict[str, Any]:
        """Return what the page must know to offer choices."""
        columns = [
            {
                "name": one.column,
                "kind": self._kinds()[one.column],
                "kinds": self._possible(one.column),
                "used": one.use in KINDS,
                "why": one.why,
                "values": one.n_values,
                "missing": one.n_missing,
            }
            for one in self.chosen.uses
            if one.column in self._kinds()
        ]
        return {
            "name": self.name,
            "rows": self.chosen.features.num_rows,
            "columns": columns,
            "algorithms": [_about(name) for name in OFFERED],
            "algorithm": AUTO,
            "clusters": self.options.clusters,
            "most_clusters": self._most(),
            "labels": self.roles.labels,
            "notes": self.chosen.notes,
        }

    def _most(self) -> int:
        return min(MOST_CLUSTERS, int(self.chosen.features.num_rows) - 1)

    def _kinds(self) -> dict[str, str]:
        """Return what each column that may be used is taken as unless someone says otherwise."""
        kinds = {one.column: one.use for one in self.chosen.uses if one.use != "key"}
        for name, use in kinds.items():
            if use not in KINDS:
                kinds[name] = self._possible(name)[0]
        return kinds

    def _possible(self, column: str) -> list[str]:
        kind = str(self.chosen.table.schema.field(column).type)
        if kind.startswith(("date", "timestamp", "time")):
            return ["dates"]
        if kind.startswith(("int", "uint", "float", "double", "decimal", "half")):
            return ["number", "categories"]
        return ["categories"] if kind == "bool" else ["categories", "number"]

    def read(self, request: Any) -> Settings:
        """Return the settings of a request, or raise what is wrong with them."""
        if not isinstance(request, dict):
            raise InputError("The request is not an object.")
        kinds = self._kinds()
        columns = request.get("columns")
        if isinstance(columns, list):
            columns = {one: kinds.get(one) for one in columns if isinstance(one, str)}
        if not isinstance(columns, dict):
            raise InputError("columns must be a list of names, or say what each is taken as.")
        labels = request.get("labels")
        for name in (*columns, *([] if labels is None else [labels])):
            if name not in kinds:
                raise InputError(f"The table has no column {str(name)[:LONGEST]!r}.")
        for name, kind in columns.items():
            if kind not in self._possible(name):
                raise InputError(f"Column {name!r} cannot be taken as {str(kind)[:40]!r}.")
        used = tuple((one, columns[one]) for one in kinds if one in columns and one != labels)
        if len(used) < 2:
            raise InputError("Choose two columns or more.")
        algorithm = request.get("algorithm")
        if not isinstance(algorithm, str) or algorithm not in OFFERED:
            raise InputError(f"There is no algorithm {str(algorithm)[:40]!r}.")
        clusters, most = request.get("clusters"), self._most()
        if clusters != "auto" and (type(clusters) is not int or not 2 <= clusters <= most):
            raise InputError(f"The number of clusters must be from 2 to {most}, or auto.")
        parameters = request.get("parameters", {})
        if not isinstance(parameters, dict) or not all(
            isinstance(text, str) and len(text) <= LONGEST
            for pair in parameters.items()
            for text in pair
        ):
            raise InputError("parameters must be an object of texts.")
        given = tuple(f"{name}={value.strip()}" for name, value in sorted(parameters.items()))
        choose(algorithm, given)  # raises what is wrong with them
        return Settings(used, clusters, algorithm, given, labels)

    # ---- tries ----------------------------------------------------------------------------------

    def progress(self) -> dict[str, Any]:
        """Return what is being done, and for how many seconds."""
        now = self._progress
        if now is None:
            return {"text": None, "seconds": 0}
        return {"text": harmless(now[0]), "seconds": round(time.monotonic() - now[1])}

    def run(self, settings: Settings) -> dict[str, Any]:
        """Cluster the table; the same settings are not run twice."""
        with self._at_work:
            for number, result in self.results.items():
                if result.settings == settings:
                    return self.told(number)
            result = self._busy(lambda: self._cluster(settings))
            number = self._next
            self._next += 1
            self.results[number] = result
            while len(self.results) > MOST_RESULTS:
                del self.results[min(self.results)]
            return self.told(number)

    def rename(self, number: int, request: Any) -> dict[str, Any]:
        """Merge the clusters of a result to so many groups, or none, and give them names."""
        if not isinstance(request, dict):
            raise InputError("The request is not an object.")
        merge, names = request.get("merge"), request.get("names")
        if merge is not None and type(merge) is not int:
            raise InputError("The number of groups must be a whole number.")
        if names is not None and not (
            isinstance(names, list)
            and all(isinstance(one, str) and len(one) <= LONGEST for one in names)
        ):
            raise InputError("names must be a list of texts.")
        with self._at_work:
            result = self.results.get(number)
            if result is None:
                raise InputError("There is no such result.")
            self.results[number] = self._busy(lambda: self._renamed(result, merge, names))
            return self.told(number)

    def _busy(self, work: Callable[[], Result]) -> Result:
        begin = time.monotonic()
        self._progress = ("", begin)

        def remember(text: str) -> None:
            self._progress = (text, begin)

        try:
            with hearing(remember):
                return work()
        finally:
            self._progress = None

    def _cluster(self, settings: Settings) -> Result:
        from fwkmeans.reports.naming import name_clusters

        chosen = choose_columns(
            self.chosen.table, self._roles(settings), self.name, self.missing, is_text=False
        )
        options = self.options._replace(clusters=settings.clusters)
        fitted = fit_choice(choose(settings.algorithm, settings.parameters), options, chosen)
        pipeline = fitted.pipeline
        summary = self._summary(chosen, pipeline, fitted.rows)
        tell_page(summary, fitted, chosen)
        name_clusters(pipeline, [one["name"] for one in summary["clusters"]])
        notes = [*chosen.notes, *(one.text for one in fitted.warned)]
        return Result(settings, chosen, pipeline, summary, notes)

    def _roles(self, settings: Settings) -> Roles:
        """Return what the settings say of columns, beyond what is done with them anyway."""
        usual = {one.column: one.use for one in self.chosen.uses}
        said: dict[str, list[str]] = {kind: [] for kind in KINDS}
        for name, kind in settings.columns:
            if usual[name] != kind:
                said[kind].append(name)
        named = {name for name, _ in settings.columns}
        aside = {*named, *self.roles.id, settings.labels}
        return self.roles._replace(
            categorical=said["categories"],
            numeric=said["number"],
            drop=[name for name in self.chosen.table.column_names if name not in aside],
            use=(),
            labels=settings.labels,
            dates="age" if said["dates"] else "drop",
            coerce=True,
        )

    def _summary(
        self,
        chosen: Chosen,
        pipeline: Any,
        rows: Any,
        merge: int | None = None,
        names: list[str] | None = None,
    ) -> dict[str, Any]:
        from fwkmeans.reports.summarize import summarize_rows

        n_found = len(set(pipeline[-1].labels_.tolist()))
        if merge is not None and not 2 <= merge < n_found:
            raise InputError(f"The number of groups must be from 2 to {n_found - 1}.")
        what = count(n_found, "cluster") if merge is None else count(merge, "group")
        return summarize_rows(
            pipeline,
            chosen.features,
            rows,
            classes=chosen.classes,
            row_names=chosen.row_names,
            title=f"{what} in {self.name}",
            merge=merge,
            names=names,
            draws=self.options.draws,
            random_state=self.options.seed,
        )

    def _renamed(self, result: Result, merge: int | None, names: list[str] | None) -> Result:
        from fwkmeans.fitted import FittedView
        from fwkmeans.reports.naming import checked_names, groups_of, name_clusters

        summary, pipeline = result.summary, result.pipeline
        if merge != result.merge:
            before = FittedView.of(pipeline[-1]).naming
            FittedView.of(pipeline[-1]).forget_names()
            try:
                rows = pipeline[:-1].transform(result.chosen.features)
                made = self._summary(result.chosen, pipeline, rows, merge, names)
            except ValueError:
                if before is not None:
                    FittedView.of(pipeline[-1]).name_clusters(before.names, before.groups)
                raise
            kept = ("number_note", "preparation")
            doubts = [
                text
                for text, topic in zip(summary["warnings"], summary["warning_topics"], strict=True)
                if topic == "tendency"
            ]
            summary = made | {key: summary[key] for key in kept}
            summary["warnings"] = [*doubts, *made["warnings"]]
            summary["warning_topics"] = ["tendency"] * len(doubts) + made["warning_topics"]
        elif names is not None:
            told = checked_names(names, len(summary["clusters"]))
            clusters = [
                one | {"name": name} for one, name in zip(summary["clusters"], told, strict=True)
            ]
            summary = summary | {"clusters": clusters}
        groups = None if merge is None else groups_of(summary)
        name_clusters(pipeline, [one["name"] for one in summary["clusters"]], groups)
        return result._replace(summary=summary, merge=merge)

    def told(self, number: int) -> dict[str, Any]:
        """Return what the page shows of a result beside its report."""
        result = self.results[number]
        settings, summary = result.settings, result.summary
        found = [one for one in summary["map"]["silhouette"] if one is not None]
        merges = summary["merges"]
        return {
            "number": number,
            "settings": settings._asdict()
            | {
                "columns": dict(settings.columns),
                "parameters": dict(one.split("=", 1) for one in settings.parameters),
            },
            "n_clusters": sum(cluster["size"] > 0 for cluster in summary["clusters"]),
            "unit": summary["unit"],
            "names": [one["name"] for one in summary["clusters"]],
            "merge": result.merge,
            "n_parts": sum(len(one["parts"]) for one in summary["clusters"]),
            "coarser": None if merges is None else merges["coarser"],
            "stability": None if summary["stability"] is None else summary["stability"]["median"],
            "silhouette": sum(found) / len(found) if found else None,
            "agreement": None if summary["agreement"] is None else summary["agreement"]["ari"],
            "sentence": " ".join(summary["headline"][:2]),
            "notes": result.notes,
        }

    # ---- files ----------------------------------------------------------------------------------

    def report(self, number: int) -> bytes:
        """Return the page of a result."""
        from fwkmeans.reports import render

        return render(self.results[number].summary).encode()

    def model(self, number: int) -> bytes:
        """Return the model file of a result."""
        from fwkmeans.persistence import save_model

        return _written("model.fwk", lambda path: save_model(self.results[number].pipeline, path))

    def rules(self, number: int) -> bytes:
        """Return the rules of a result as SQL."""
        from fwkmeans.cli.report_files import write_rules

        result = self.results[number]
        return _written(
            "rules.sql", lambda path: write_rules(result.summary, result.chosen, str(path))
        )

    def labels(self, number: int) -> bytes:
        """Return the cluster of each row as CSV."""
        result = self.results[number]
        columns = result.chosen.ids | named(result.pipeline[-1], result.pipeline[-1].labels_)
        return self._columns(columns, "labels.csv")

    def table_with_clusters(self, number: int, suffix: str) -> bytes:
        """Return the table with the cluster of each row, as CSV or for Excel."""
        result = self.results[number]
        rows = result.pipeline[:-1].transform(result.chosen.features)
        columns = with_clusters(result.chosen, result.pipeline[-1], rows)
        return self._columns(columns, f"table{suffix}", profile_rows(result.summary))

    def _columns(self, columns: Mapping[str, Any], file: str, profiles: Any = None) -> bytes:
        style = self.chosen.style
        return _written(
            file, lambda path: write_columns(columns, str(path), style=style, profiles=profiles)
        )


def _written(file: str, write: Callable[[Path], Any]) -> bytes:
    """Return what is written to a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        write(path)
        return path.read_bytes()


def _about(algorithm: str) -> dict[str, Any]:
    """Return a sentence about an algorithm, and its parameters with their defaults."""
    choice = choose(algorithm)
    sentence = (inspect.getdoc(choice.cls) or "").split("\n\n", 1)[0]
    sentence = re.sub(r"\s+(?:\[\d\]_)?", " ", sentence.replace("\n", " ")).replace(" .", ".")
    return {"name": algorithm, "about": sentence, "parameters": offered_parameters(choice)}


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
        if path == "/progress":
            self._send_json(explorer.progress())
            return
        kind, _, number = path.strip("/").partition("/")
        made: Mapping[str, tuple[Callable[[int], bytes], str, str | None]] = {
            "report": (explorer.report, "text/html; charset=utf-8", None),
            "save-report": (explorer.report, "text/html; charset=utf-8", "report.html"),
            "save-model": (explorer.model, "application/octet-stream", "model.fwk"),
            "save-labels": (explorer.labels, "text/csv; charset=utf-8", "labels.csv"),
            "save-rules": (explorer.rules, "text/plain; charset=utf-8", "rules.sql"),
            "save-csv": (
                lambda at: explorer.table_with_clusters(at, ".csv"),
                "text/csv; charset=utf-8",
                "table.csv",
            ),
            "save-xlsx": (
                lambda at: explorer.table_with_clusters(at, ".xlsx"),
                "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
                "table.xlsx",
            ),
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
        kind, _, number = path.strip("/").partition("/")
        is_known = number.isascii() and number.isdigit() and len(number) < 10
        is_name = kind == "name" and is_known and int(number) in self.server.explorer.results
        if path != "/fit" and not is_name:
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
        if is_name:
            self._send_json(explorer.rename(int(number), request))
        else:
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
