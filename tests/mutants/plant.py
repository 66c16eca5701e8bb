"""Plant small faults in a copy of the tree, one at a time, and see which test catches each.

``make mutants`` plants all of `faults.py`; ``make mutants ONLY=name`` plants one (or all that
match a pattern such as ``'entropy-*'``). The copy is in ``build/mutants``, with an environment and
a build of its own: the working tree is only read. The core is compiled for one instruction set
there. The exit status is 1 if a fault is caught by no test, or if its text is no longer found
exactly once.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib.util
import json
import subprocess
import sys
import sysconfig
import time
import venv
from pathlib import Path
from typing import NamedTuple

from faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "build" / "mutants"
TREE, OBJECTS, ENVIRONMENT = HOME / "tree", HOME / "objects", HOME / "python"
PYTHON = ENVIRONMENT / "bin" / "python"
CORE = TREE / "src" / "fwkmeans" / "_core"
TOOLS = Path(sys.executable).parent

#: Tests that look at a folder of the package; they run first, in this order.
NEAREST = {
    "weighting": ["tests/weighting", "tests/laws/test_reference_agreement.py"],
    "centers": ["tests/centers", "tests/laws/test_reference_agreement.py"],
    "dissimilarities": ["tests/dissimilarities", "tests/laws/test_reference_agreement.py"],
    "_engine": ["tests/_engine", "tests/laws/test_reference_agreement.py"],
    "_init": ["tests/_init"],
    "selection": ["tests/selection"],
    "sources": ["tests/sources", "tests/laws/test_sources.py"],
    "_core": [
        f"tests/_core/test_{name}.py"
        for name in ("kernels", "mixed", "slopes", "updates", "twin", "fingerprint")
    ],
}
EVERYTHING = ["tests"]
HANGS = 100  # seconds after which a test hangs; a fault that makes one hang is caught
LIMIT = 3600.0  # seconds for all tests


class Verdict(NamedTuple):
    """What became of a fault."""

    fault: Fault
    caught_by: str  # a test, "timeout" or "crash"; empty if it survived
    seconds: float
    problem: str = ""  # why it could not be planted

    @property
    def outcome(self) -> str:
        return self.problem or self.caught_by or "NOT CAUGHT"


# ---- the copy -----------------------------------------------------------------------------------


def copy_tree() -> None:
    """Bring the copy to the state of the working tree, and leave files that agree alone."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    names = {name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()}
    for name in names:
        content, target = (ROOT / name).read_bytes(), TREE / name
        if not target.exists() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    for old in [path for path in TREE.rglob("*") if path.is_file()]:
        name = old.relative_to(TREE).as_posix()
        if name not in names and old.suffix in {".py", ".hpp", ".cpp"}:
            old.unlink()


def make_environment() -> None:
    """Create a Python that has the packages of this one, and the copy in place of the project."""
    if not PYTHON.exists():
        venv.create(ENVIRONMENT, with_pip=False, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = ENVIRONMENT / "lib" / version / "site-packages"
    # paths of a .pth file are searched, but .pth files in them (an editable install) are not read
    lines = [str(TREE / "src"), sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]]
    (packages / "mutants.pth").write_text("\n".join(dict.fromkeys(lines)) + "\n")


def configure_core() -> None:
    """Tell CMake about the copy's core; `build_core` then compiles what has changed."""
    found = [sys.executable, "-m", "nanobind", "--cmake_dir"]
    nanobind = subprocess.run(found, check=True, capture_output=True, text=True).stdout.strip()
    configure = [
        *(TOOLS / "cmake", "-G", "Ninja", "-S", TREE, "-B", OBJECTS, "-Dquick=ON"),
        *(f"-Dnanobind_DIR={nanobind}", f"-DPython_EXECUTABLE={sys.executable}"),
        f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={CORE}",
        f"-DCMAKE_MAKE_PROGRAM={TOOLS / 'ninja'}",
    ]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    for old in CORE.glob("_kernels.*.so"):  # it may have had another name
        old.unlink()


def build_core() -> bool:
    """Compile the core of the copy; tell whether it compiles."""
    built = subprocess.run([TOOLS / "ninja", "-C", OBJECTS], capture_output=True)
    return built.returncode == 0


# ---- faults and tests ---------------------------------------------------------------------------


class Runner:
    """The copy's Python, which runs tests on demand."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [PYTHON, Path(__file__).with_name("serve.py")],
            cwd=TREE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def first_failure(self, tests: list[str], workers: int = 1) -> str:
        """Return the first test that fails, "timeout" or "crash", or nothing if all pass."""
        arguments = ["-q", "-x", "--tb=no", "-p", "no:cacheprovider", *tests]
        arguments += ["-m", "not long or thinned"]  # all cases of the large families
        # what serve.py has imported already
        arguments += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        arguments += ["-o", f"faulthandler_timeout={HANGS}"]
        arguments += ["-o", "faulthandler_exit_on_timeout=true"]
        arguments += ["-n", str(workers)] if workers > 1 else []
        self._server.stdin.write(json.dumps({"arguments": arguments, "limit": LIMIT}) + "\n")
        self._server.stdin.flush()
        answer = json.loads(self._server.stdout.readline())
        status, output = answer["status"], answer["output"]
        if status is None or "Timeout (" in output:
            return "timeout"
        if status == 0:
            return ""
        for line in output.splitlines():
            if line.startswith(("FAILED ", "ERROR ")):
                return line.split(" ", 1)[1].split(" - ")[0]
        if status < 0 or "Fatal Python error" in output:
            return "crash"
        raise RuntimeError(f"pytest ended with status {status}:\n{output[-3000:]}")


def tests_near(fault: Fault) -> list[str]:
    """Return the tests that should catch the fault, first ones first."""
    if fault.tests:
        return fault.tests.split()
    folder = Path(fault.file).relative_to("src/fwkmeans").parts[0]
    return NEAREST.get(folder, EVERYTHING)


def write(path: Path, text: str) -> None:
    """Replace a file, and forget what was compiled from it."""
    path.write_text(text)
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)


def plant(fault: Fault, runner: Runner, widen: bool) -> Verdict:
    """Plant one fault, run the tests, and take it out again."""
    begin = time.monotonic()
    path = TREE / fault.file
    original = path.read_text() if path.exists() else ""
    found = len(fault.pattern().findall(original))
    if found != 1:
        return Verdict(fault, "", 0.0, f"STALE: its text is found {found} times in {fault.file}")
    write(path, fault.pattern().sub(lambda _: fault.new, original))
    try:
        if not build_core():  # also without what was planted there before
            return Verdict(fault, "", time.monotonic() - begin, "DOES NOT COMPILE")
        caught = runner.first_failure(tests_near(fault))
        if not caught and widen:
            caught = runner.first_failure(EVERYTHING, workers=2)
    finally:
        write(path, original)
    seconds = time.monotonic() - begin
    if caught.endswith(".py"):  # a file of tests that cannot even be imported
        return Verdict(fault, "", seconds, "DOES NOT IMPORT")
    return Verdict(fault, caught, seconds)


def show(verdict: Verdict) -> None:
    fault = verdict.fault
    place = fault.file.removeprefix("src/fwkmeans/")
    columns = f"{fault.name:34} {place:32} {fault.kind:16} {verdict.seconds:6.1f}  "
    print(columns + verdict.outcome, flush=True)  # noqa: T201


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def main() -> int:
    """Plant the faults that were asked for; return 1 unless all are caught."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="*", help="names of faults, or patterns")
    parser.add_argument("--near", action="store_true", help="run the nearest tests only")
    options = parser.parse_args()
    wanted = options.only.split()
    chosen = [f for f in FAULTS if any(fnmatch.fnmatch(f.name, one) for one in wanted)]
    if not chosen:
        say(f"No fault is called {options.only!r}; the names are in tests/mutants/faults.py.")
        return 1
    copy_tree()
    make_environment()
    configure_core()
    if not build_core():
        say(f"The core does not compile as it is; see ninja -C {OBJECTS}.")
        return 1
    say(f"{'fault':34} {'place':32} {'kind':16} {'s':>6}  caught by")
    runner, verdicts = Runner(), []
    for fault in chosen:
        verdicts.append(plant(fault, runner, not options.near))
        show(verdicts[-1])
    return summarize(verdicts, runner)


def summarize(verdicts: list[Verdict], runner: Runner) -> int:
    """Check that the tests that failed pass without a fault; say how many faults were caught."""
    build_core()
    tests = list(dict.fromkeys(v.caught_by for v in verdicts if "::" in v.caught_by))
    broken = runner.first_failure(tests) if tests else ""
    caught = sum(bool(v.caught_by) for v in verdicts)
    survivors = [v for v in verdicts if not v.caught_by and not v.problem]
    unplanted = [v for v in verdicts if v.problem]
    say(
        f"\n{len(verdicts)} faults: {caught} caught, {len(survivors)} not caught, "
        f"{len(unplanted)} not planted."
    )
    if broken:
        say(f"{broken} fails without any fault, so that what it catches means nothing.")
    return int(bool(survivors or unplanted or broken))


if __name__ == "__main__":
    sys.exit(main())
