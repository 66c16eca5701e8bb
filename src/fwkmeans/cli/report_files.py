"""Reports as files: a page, a PDF that an installed browser prints of it, or rules as SQL."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from fwkmeans._support.errors import InputError
from fwkmeans._support.files import replacing
from fwkmeans._support.optional import require
from fwkmeans.cli.columns import Chosen
from fwkmeans.cli.output import check_folder

#: Browsers that can print a page without showing it.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "msedge")
PAGES = (".html", ".htm")
#: Seconds that a browser may take.
PATIENCE = 120


def check_report(path: str | None, option: str = "--report") -> None:
    """Raise before any work if a report could not be written."""
    if path is None:
        return
    suffix = Path(path).suffix.lower()
    if suffix == ".pdf" and find_browser() is None:
        raise InputError(
            f"{option} {path}: a PDF needs Chromium, Chrome or Edge, and none is installed. Write "
            ".html, open it in any browser and print it to a file."
        )
    if suffix not in (*PAGES, ".pdf"):
        raise InputError(f"{option} {path}: expected a file whose name ends in .html or .pdf.")
    check_folder(path)
    require("jinja2", "Reports", "report")
    require("matplotlib", "Reports", "report")


def check_rules(path: str | None) -> None:
    """Raise before any work if rules could not be written."""
    if path is not None and Path(path).suffix.lower() != ".sql":
        raise InputError(f"--rules {path}: expected a file whose name ends in .sql.")
    check_folder(path)


def write_rules(summary: dict[str, Any], chosen: Chosen, path: str) -> None:
    """Write the rules of a summary, for the table as it was given."""
    from fwkmeans.reports import rules_as_sql

    arrow = require("pyarrow", "Tables", "io")
    kinds = {field.name: field.type for field in chosen.table.schema}
    dates = [name for name in kinds if name not in chosen.features.column_names]
    numbers = [
        name
        for name, kind in kinds.items()
        if arrow.types.is_integer(kind) or arrow.types.is_floating(kind)
    ]
    with replacing(path) as temporary:
        temporary.write_text(rules_as_sql(summary, dates=dates, numbers=numbers), encoding="utf-8")


def find_browser() -> str | None:
    """Return a browser that can print pages; None if there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def write_page(summary: dict[str, Any], path: str) -> None:
    """Write the report about a summary, as its file is called."""
    from fwkmeans.reports import write_report

    if Path(path).suffix.lower() != ".pdf":
        write_report(summary, path)
        return
    with tempfile.TemporaryDirectory() as folder, replacing(path) as temporary:
        page, printed = Path(folder) / "report.html", Path(folder) / "report.pdf"
        write_report(summary, page)
        _print_page(page, printed, Path(folder) / "profile")
        shutil.copyfile(printed, temporary)


def _print_page(page: Path, printed: Path, profile: Path) -> None:
    browser = find_browser()
    assert browser is not None  # checked before
    command = [
        browser,
        "--headless",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--no-pdf-header-footer",
        f"--user-data-dir={profile}",
        f"--print-to-pdf={printed}",
        page.as_uri(),
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.insert(1, "--no-sandbox")  # which it refuses to have as root
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(command, capture_output=True, timeout=PATIENCE, check=True)
    if not printed.is_file() or not printed.stat().st_size:
        raise InputError(
            f"{Path(browser).name} could not print the report: write .html, and print it from any "
            "browser."
        )
