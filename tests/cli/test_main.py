"""The command as a whole: help, completion, exit codes, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import fwkmeans
from fwkmeans.cli import COMMANDS, main
from fwkmeans.cli.progress import each, working

COMMAND = [sys.executable, "-m", "fwkmeans"]

#: Says on stdout when it is at the moment that is its first argument.
ANNOUNCED = """
import sys

moment = sys.argv.pop(1)
said = []

def at(now):
    if now == moment and not said:
        said.append(print(now, flush=True))

def watch(event, arguments):
    if event == "open" and str(arguments[0]).endswith("large.csv"):
        at("reading")
    elif event == "import" and arguments[0] == "sklearn":
        at("importing")
    elif event == "import" and arguments[0].startswith("fwkmeans.cli.") and moment == "fitting":
        from fwkmeans._core import compiled
        loop = compiled.run_starts
        compiled.run_starts = lambda *given: (at("fitting"), loop(*given))[1]

sys.addaudithook(watch)
from fwkmeans.cli import main
main(prog_name="fwkmeans")
"""


def start(*arguments, command=COMMAND, **options):
    # pytest may have been started with Ctrl-C switched off, which children would inherit
    source = str(Path(fwkmeans.__file__).parents[1])
    return subprocess.Popen(
        [*command, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": source},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        **options,
    )


def finish(process, stdin=None):
    out, err = process.communicate(stdin, timeout=120)
    return process.returncode, out, err


def test_help_lists_every_command_without_importing_them():
    code = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from fwkmeans.cli import main\n"
        "result = CliRunner().invoke(main, ['--help'])\n"
        "assert result.exit_code == 0, result.output\n"
        "heavy = {'sklearn', 'scipy', 'matplotlib', 'pyarrow', 'numpy', 'fwkmeans.cli.fit'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "print(result.output)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(f"\n  {name} " in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "survey"])
def test_help_of_commands(name, run):
    done = run(name, "--help")
    assert done.out.startswith(f"Usage: main {name}")
    assert max(map(len, done.out.splitlines())) <= 100


def test_help_of_commands_is_quick():
    code = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from fwkmeans.cli import main\n"
        "for name in ('fit', 'predict', 'compare', 'report', 'demo', 'completion'):\n"
        "    assert CliRunner().invoke(main, [name, '--help']).exit_code == 0\n"
        "heavy = {'sklearn', 'scipy', 'matplotlib', 'pyarrow'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_fit_imports_only_what_it_needs(wine_path):
    code = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from fwkmeans.cli import main\n"
        f"result = CliRunner().invoke(main, ['fit', {str(wine_path)!r}, '-k', '3'])\n"
        "assert result.exit_code == 0, result.output\n"
        "heavy = {'matplotlib', 'jinja2', 'sklearn.cluster'}\n"
        "heavy |= {'sklearn.manifold', 'fwkmeans.plotting.cluster_map'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_short_help_equals_the_commands():
    for name, (_, line) in COMMANDS.items():
        if name != "survey":
            command = main.get_command(None, name)
            assert command.name == name
            assert line.endswith(".")


def test_unknown_commands_are_refused(refuse):
    assert refuse("fitt", code=2) == "No such command 'fitt'. Did you mean fit?"
    assert refuse("no.csv", code=2) == "No such command 'no.csv'."


def test_a_table_without_a_command_is_for_fit(refuse, write):
    write("t.csv", "a,b\n1,2\n")
    assert refuse("t.csv", code=2).endswith("Did you mean main fit t.csv?")


def test_version(run):
    assert run("--version").out.startswith("fwkmeans, version ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell, run):
    text = run("completion", shell).out
    assert "_FWKMEANS_COMPLETE" in text
    assert "fwkmeans" in text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("fwkmeans ", set(COMMANDS)),
        ("fwkmeans co", {"compare", "completion"}),
        ("fwkmeans fit x.csv -a w", {"WK-Means"}),
        ("fwkmeans fit x.csv -a a", {"AutoKMeans", "AWK"}),
        ("fwkmeans compare x.csv -a f", {"FWSA", "FG-K-Means"}),
        ("fwkmeans fit --lab", {"--labels"}),
    ],
)
def test_completion_completes(words, expected):
    environment = os.environ | {
        "_FWKMEANS_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    done = subprocess.run(COMMAND, env=environment, capture_output=True, text=True, check=True)
    found = {line.partition(",")[2] for line in done.stdout.splitlines()}
    assert found == expected


@pytest.mark.parametrize("words", ["fwkmeans fit wi", "fwkmeans report m.fwk t.csv --out r"])
def test_completion_leaves_files_to_the_shell(words):
    environment = os.environ | {
        "_FWKMEANS_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    done = subprocess.run(COMMAND, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("file,")


@pytest.mark.long
def test_exit_codes_and_streams_of_a_real_process(iris_path, tmp_path):
    code, out, err = finish(start("fit", iris_path, "-k", 3, "--labels", "class", "--json"))
    assert code == 0
    assert json.loads(out)["n_rows"] == 150
    assert err == ""
    code, out, err = finish(start("fit", "none.csv", "-k", 3, cwd=tmp_path))
    assert (code, out) == (1, "")
    assert err == "Error: There is no file none.csv. Check the name.\n"
    code, out, err = finish(start("fit", iris_path, "-k", 1))
    assert code == 2
    with open(iris_path, encoding="utf-8") as stream:
        text = stream.read()
    code, out, err = finish(
        start("fit", "-", "-k", 3, "--out", "-", stdin=subprocess.PIPE), stdin=text
    )
    assert code == 0
    assert len(out.splitlines()) == 151


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_plain_terminals_get_plain_text(command, iris_path):
    arguments = [command, iris_path, "-k", "2", "-a", "awk", "--labels", "class"]
    done = CliRunner(charset="ascii").invoke(main, arguments)
    assert done.exit_code == 0, done.exception
    assert b"petal_width" in done.stdout_bytes
    assert done.stdout_bytes.isascii()


@pytest.mark.long
def test_a_reader_that_goes_away_is_no_traceback(iris_path):
    process = start("fit", iris_path, "-k", 3, "--json")
    process.stdout.close()
    process.wait(timeout=120)
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Return a table that keeps an algorithm busy for long."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("large") / "large.csv"
    rows = rng.random((20_000, 12)).round(4)
    header = ",".join(f"x{v}" for v in range(12))
    np.savetxt(path, rows, delimiter=",", header=header, comments="", fmt="%.4f")
    return path


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("fit", ("-a", "fg", "--starts", 500, "--out", "l.csv", "--report", "r.html")),
        ("compare", ("-a", "fg", "--starts", 500, "--out", "l.csv")),
    ],
)
@pytest.mark.parametrize("moment", ["importing", "reading", "fitting"])
@pytest.mark.long
def test_ctrl_c_leaves_nothing(command, options, moment, large, tmp_path):
    announced = [sys.executable, "-c", ANNOUNCED, moment]
    process = start(command, large, "-k", 20, *options, command=announced, cwd=tmp_path)
    assert process.stdout.readline() == f"{moment}\n"
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    code, _, err = finish(process)
    assert time.monotonic() - begin < 20
    assert code == 130, err
    assert "Stopped" in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("moment", ["before", "after"])
def test_ctrl_c_outside_of_the_command_says_nothing(moment):
    code = (
        "import atexit, os, signal, sys\n"
        "stop = lambda: os.kill(os.getpid(), signal.SIGINT)\n"
        "if sys.argv.pop(1) == 'after':\n"
        "    atexit.register(stop)\n"
        "else:\n"
        "    sys.addaudithook(lambda event, given: event == 'import' and given[0] == 'click' and "
        "stop())\n"
        "from fwkmeans.__main__ import run\n"
        "run()\n"
    )
    code, out, err = finish(start(moment, "--version", command=[sys.executable, "-c", code]))
    assert (code, err) == (-signal.SIGINT, "")
    assert out.startswith("fwkmeans, version" if moment == "after" else "")


def test_ctrl_c_while_writing_keeps_what_was_there(run, iris_path, tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    (tmp_path / "l.csv").write_text("before")
    monkeypatch.setattr("fwkmeans.cli.output._write_csv", interrupt)
    done = run("fit", iris_path, "-k", 2, "--out", "l.csv", code=130)
    assert "Stopped" in done.err
    assert (tmp_path / "l.csv").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["l.csv"]


def test_progress_is_silent_off_a_terminal(capsys):
    with working("Something"):
        assert list(each([1, 2], 2, str)) == [1, 2]
    assert capsys.readouterr() == ("", "")


def test_progress_on_a_terminal(monkeypatch, capsys):
    pytest.importorskip("rich")
    monkeypatch.setattr("fwkmeans.cli.progress._is_shown", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with working("Something"):
        pass
    assert list(each([1, 2], 2, str)) == [1, 2]
    assert capsys.readouterr().out == ""
