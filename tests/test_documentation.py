"""Everything a reader may copy runs, every public docstring is complete, versions agree."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
import runpy
import shlex
import shutil
import sys
import textwrap
import tomllib
import warnings
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import fwkmeans
from fwkmeans.estimators import ALGORITHMS

ROOT = Path(__file__).resolve().parents[1]
BUILT = {"_build", "_templates", "api", "gallery"}  # folders of docs that nobody writes by hand
PAGES = [
    ROOT / "README.md",
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.rst"))
        if page.relative_to(ROOT / "docs").parts[0] not in BUILT
    ),
]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
NEEDS_KMODES = doctest.register_optionflag("NEEDS_KMODES")

# Folders whose names users import; the rest of the package is for its developers.
PUBLIC = [
    "fwkmeans",
    "fwkmeans.centers",
    "fwkmeans.datasets",
    "fwkmeans.dissimilarities",
    "fwkmeans.persistence",
    "fwkmeans.plotting",
    "fwkmeans.preprocessing",
    "fwkmeans.reports",
    "fwkmeans.selection",
    "fwkmeans.sources",
    "fwkmeans.weighting",
]

# numpydoc's codes that must not appear in the docstring of a public class or function ...
FORBIDDEN = {
    "GL01": "text starts on the line of the quotes' end",
    "GL05": "tabs",
    "GL06": "unknown section",
    "GL07": "sections in the wrong order",
    "GL08": "no docstring",
    "SS01": "no summary",
    "SS02": "summary does not start with a capital letter",
    "SS03": "summary does not end with a period",
    "SS05": "summary is not an infinitive",
    "SS06": "summary is longer than a line",
    "PR01": "parameters that are not documented",
    "PR02": "documented parameters that do not exist",
    "PR03": "parameters in the wrong order",
    "PR04": "parameter without a type",
    "PR05": "type ends with a period",
    "PR07": "parameter without a description",
    "PR08": "description does not start with a capital letter",
    "PR09": "description does not end with a period",
    "PR10": "no space before the colon",
    "RT01": "no Returns section",
    "RT03": "return value without a description",
    "RT05": "return value's description does not end with a period",
    "YD01": "no Yields section",
    "EX04": "examples import numpy or pandas in odd ways",
    "SA02": "See Also description does not end with a period",
    "SA03": "See Also description does not start with a capital letter",
    "SA04": "See Also entry without a description",
}
# ... but methods of parts, which only the engine calls, may keep their docstrings to a line.
BRIEF = {"GL08", "PR01", "RT01", "YD01"}


def modules() -> list[str]:
    found = pkgutil.walk_packages(fwkmeans.__path__, "fwkmeans.")
    names = (module.name for module in found if not module.name.endswith("._kernels"))
    if importlib.util.find_spec("torch") is None:
        names = (name for name in names if not name.startswith("fwkmeans._core.device."))
    return ["fwkmeans", *names]


def described(name: str) -> Any:
    module, _, attribute = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in filter(None, attribute.split(".")):
        found = getattr(found, part)
    return found


def public_objects() -> list[str]:
    names = []
    for module in PUBLIC:
        for name in importlib.import_module(module).__all__:
            thing = getattr(importlib.import_module(module), name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                names.append(f"{module}:{name}")
    return names


def public_methods() -> list[str]:
    names = []
    for owner in public_objects():
        cls = described(owner)
        if inspect.isclass(cls):
            for name, method in inspect.getmembers(cls, inspect.isfunction):
                ours = method.__module__.startswith("fwkmeans")
                if ours and not name.startswith("_"):
                    names.append(f"{owner}.{name}")
    return names


def is_part(name: str) -> bool:
    return described(name).__module__.split(".")[1] in {
        "centers",
        "dissimilarities",
        "sources",
        "weighting",
    }


def complaints(name: str, codes: set[str]) -> list[str]:
    validate = importlib.import_module("numpydoc.validate").validate
    errors = validate(name.replace(":", "."))["errors"]
    return [f"{code}: {text}" for code, text in errors if code in codes]


# ---- what readers copy --------------------------------------------------------------------------


class PageParser(doctest.DocTestParser):
    """Skip the lines that need kmodes, which only benchmarks install, where it is absent."""

    def get_examples(self, string: str, name: str = "<string>") -> list[doctest.Example]:
        examples = super().get_examples(string, name)
        for example in examples:
            if NEEDS_KMODES in example.options and find_spec("kmodes") is None:
                example.options[doctest.SKIP] = True
        return examples


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_of_pages_run(page: Path):
    pytest.importorskip("pandas")
    with warnings.catch_warnings():  # pages may set filters, and must not leave them behind
        failed, _ = doctest.testfile(
            str(page),
            module_relative=False,
            optionflags=OPTIONS,
            parser=PageParser(),
            encoding="utf-8",
        )
    assert failed == 0


def console_sessions(text: str) -> list[tuple[str, str]]:
    """Return the commands of a page that begin with fwkmeans, and what is printed below each."""
    blocks = re.findall(r"^\.\. code-block:: console\n((?:\n|   .*\n)+)", text, flags=re.MULTILINE)
    blocks += re.findall(r"^```console\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    sessions = []
    for block in blocks:
        parts = re.split(
            r"^\$ (.*)\n", textwrap.dedent(block).strip("\n") + "\n", flags=re.MULTILINE
        )
        for command, printed in zip(parts[1::2], parts[2::2], strict=True):
            if command.startswith("fwkmeans "):
                sessions.append((command, printed))
    return sessions


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if console_sessions(page.read_text("utf-8"))],
    ids=lambda page: str(page.relative_to(ROOT)),
)
@pytest.mark.long
def test_commands_of_pages_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Commands run in order in one folder that has the bundled tables."""
    for needed in ("pyarrow", "jinja2", "matplotlib"):
        pytest.importorskip(needed)
    from click.testing import CliRunner

    from fwkmeans.cli import main

    for table in (ROOT / "src" / "fwkmeans" / "datasets" / "data").glob("*.csv"):
        shutil.copy(table, tmp_path)
    monkeypatch.chdir(tmp_path)
    checker, flags = doctest.OutputChecker(), doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    for command, printed in console_sessions(page.read_text("utf-8")):
        result = CliRunner().invoke(main, shlex.split(command)[1:])
        assert result.exit_code == 0, f"{command}\n{result.output}"
        if printed.strip():
            same = checker.check_output(printed, result.output, flags)
            assert same, f"{command}\n{result.output}"


def test_pages_have_no_python_that_is_not_run():
    for page in PAGES:
        assert "code-block:: python" not in page.read_text("utf-8"), page


@pytest.mark.long
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_of_gallery_run(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    pytest.importorskip("pandas")
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    monkeypatch.setattr(plt, "show", lambda: None)
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    assert len(plt.get_fignums()) == 1
    assert capsys.readouterr().out
    plt.close("all")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_of_gallery_ask_and_answer(path: Path):
    text = path.read_text("utf-8")
    _, title, line, *_ = text.splitlines()
    assert title.endswith("?")
    assert line == "=" * len(title)
    assert text.rpartition("\n# %%\n")[2].startswith("# So: ")
    assert "figure.set_label(" in text  # the text for those who cannot see the picture
    assert re.search(r"^ *assert ", text, flags=re.MULTILINE)


def test_readme_begins_with_commands_that_run_as_they_stand(tmp_path, monkeypatch):
    for needed in ("pyarrow", "jinja2", "matplotlib"):
        pytest.importorskip(needed)
    from click.testing import CliRunner

    from fwkmeans.cli import main

    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text("utf-8")
    (commands,) = re.findall(r"^```sh\n(fwkmeans data .*?)^```", text, flags=re.M | re.S)
    (printed,) = re.findall(r"^```text\n(.*?)^```", text, flags=re.M | re.S)
    for command in commands.splitlines():
        line, _, file = command.partition(" > ")
        result = CliRunner().invoke(main, shlex.split(line)[1:])
        assert result.exit_code == 0, result.output
        if file:
            (tmp_path / file).write_text(result.output, "utf-8")
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.OutputChecker().check_output(printed, result.output, flags), result.output
    assert "<h1>3 clusters in wine.csv</h1>" in (tmp_path / "wine.html").read_text("utf-8")


def test_readme_has_an_example():
    _, attempted = doctest.testfile(str(ROOT / "README.md"), module_relative=False, report=False)
    assert attempted >= 7


@pytest.mark.parametrize("name", modules())
def test_examples_of_docstrings_run(name: str):
    module = importlib.import_module(name)
    if "pandas" in inspect.getsource(module) and find_spec("pandas") is None:
        pytest.skip("pandas is not installed")
    if name.startswith("fwkmeans.plotting."):
        pytest.importorskip("matplotlib").use("agg")
    failed, _ = doctest.testmod(module, optionflags=OPTIONS)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    assert failed == 0


@pytest.mark.parametrize("cls", [*ALGORITHMS.values(), fwkmeans.FeatureWeightedKMeans])
def test_every_estimator_has_an_example_and_references(cls: type):
    text = inspect.getdoc(cls) or ""
    assert ">>> model" in text
    assert cls in (fwkmeans.KMeans, fwkmeans.FeatureWeightedKMeans) or "doi" in text
    assert not re.search(r"\{(n_clusters|parameters|attributes|weights)\}", text)


def test_links_of_pages_point_at_files():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text("utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


# ---- docstrings ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", public_objects())
def test_docstrings_are_complete(name: str):
    pytest.importorskip("numpydoc")
    assert complaints(name, set(FORBIDDEN) - ({"PR01", "RT01"} if is_part(name) else set())) == []


@pytest.mark.parametrize("name", public_methods())
def test_docstrings_of_methods_are_complete(name: str):
    pytest.importorskip("numpydoc")
    assert complaints(name, set(FORBIDDEN) - (BRIEF if is_part(name) else set())) == []


@pytest.mark.parametrize("name", public_objects())
def test_api_page_lists_every_public_name(name: str):
    helpers = {
        "Faults",
        "Sweep",  # what `sweep` returns
        "centers_of",
        "count_faults",
        "count_observed",
        "count_present",
        "describe",
        "indicators",
        "join_in_tree",
        "observed_mass",
        "on_block",
        "rows_at",
        "weigh_gaps",
    }
    title = name.partition(":")[2]
    if title not in helpers:
        page = (ROOT / "docs" / "api.rst").read_text("utf-8")
        assert re.search(rf"^   ([a-z.]+\.)?{title}$", page, flags=re.MULTILINE)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_pages_name_every_algorithm(name: str):
    cls = ALGORITHMS[name].__name__
    assert f"| {name} | `{cls}`" in (ROOT / "README.md").read_text("utf-8")
    assert f"`{cls}`" in (ROOT / "docs" / "algorithms.rst").read_text("utf-8")


# ---- names and versions -------------------------------------------------------------------------


def isort_style(name: str) -> tuple[int, str]:
    """Return the order of ruff's RUF022: constants, then classes, then the rest."""
    if name.isupper():
        return 0, name
    return (1 if name[:1].isupper() else 2), name


@pytest.mark.parametrize(
    "name", [name for name in modules() if hasattr(described(name), "__all__")]
)
def test_all_holds_sorted_names_that_exist(name: str):
    module: ModuleType = importlib.import_module(name)
    assert all(isinstance(entry, str) for entry in module.__all__)
    assert list(module.__all__) == sorted(module.__all__, key=isort_style)
    for entry in module.__all__:
        assert hasattr(module, entry)


@pytest.mark.parametrize("name", PUBLIC)
def test_star_import_works(name: str):
    namespace: dict[str, Any] = {}
    exec(f"from {name} import *", namespace)
    assert set(importlib.import_module(name).__all__) <= set(namespace)


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {project['version']}\n" in citation
    assert f"\nlicense: {project['license']}\n" in citation
    assert project["version"] in (ROOT / "CHANGELOG.md").read_text("utf-8")
    if fwkmeans.__version__ != "0+unknown":  # a source tree that was never installed
        assert fwkmeans.__version__ == project["version"]


def test_citation_has_what_the_format_asks_for():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    for field in ("cff-version: 1.2.0", "message:", "title:", "authors:"):
        assert re.search(rf"^{re.escape(field)}", citation, flags=re.MULTILINE)
    assert "10.1007/s00357-016-9208-4" in citation
