"""What tests of the command line share."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("pyarrow")

from fwkmeans.cli import main
from fwkmeans.datasets import load_uci


class Done:
    """What a command printed and how it ended."""

    def __init__(self, result):
        self.code, self.out, self.err = result.exit_code, result.stdout, result.stderr
        self.text = result.output

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return what runs a command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments, code=0, stdin=None):
        result = CliRunner().invoke(main, [str(one) for one in arguments], input=stdin)
        unexpected = result.exception is not None and not isinstance(result.exception, SystemExit)
        if unexpected:
            raise result.exception
        assert result.exit_code == code, result.output
        return Done(result)

    return call


@pytest.fixture
def refuse(run):
    """Return what runs a command that must fail, and gives its one sentence."""

    def call(*arguments, code=1, stdin=None):
        done = run(*arguments, code=code, stdin=stdin)
        assert done.out == ""
        lines = done.err.strip().splitlines()
        assert len(lines) == 1 if code == 1 else lines
        assert lines[-1].startswith("Error: ")
        assert "Traceback" not in done.err
        return lines[-1].removeprefix("Error: ")

    return call


@pytest.fixture
def write(tmp_path):
    """Return what writes a file into the folder of the test."""

    def call(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return call


@pytest.fixture(scope="session")
def iris_path():
    return load_uci("iris", as_frame=False).filename


@pytest.fixture(scope="session")
def wine_path():
    return load_uci("wine", as_frame=False).filename


@pytest.fixture
def mixed(write):
    """Return the path of a table with numbers, text, truth values, a key and gaps."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 60)
    lines = ["key,size,count,color,yes,group"]
    for i, k in enumerate(group):
        size = "" if i == 7 else f"{k + rng.random():.3f}"
        color = "" if i == 9 else ["red", "green", "blue"][(k + (rng.random() < 0.1)) % 3]
        yes = str(bool(rng.random() < 0.2 + 0.3 * k)).lower()
        lines.append(f"k{i},{size},{rng.integers(0, 9)},{color},{yes},g{k}")
    return write("mixed.csv", "\n".join(lines) + "\n")


def columns_of(path, sep=","):
    """Return a CSV file as lists of text by name."""
    with open(path, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter=sep))
    return {name: [row[name] for row in rows] for name in rows[0]}
