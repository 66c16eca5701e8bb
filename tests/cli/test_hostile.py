"""What a hostile reader of the command line tried: files, keys, cells and names."""

from __future__ import annotations

import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from fwkmeans._tables import Format, read_table

from .conftest import columns_of


def rows_of(n=40, seed=0, **columns):
    """Return CSV lines with two columns that cluster, and others given by functions of the row."""
    rng = np.random.default_rng(seed)
    lines = [",".join(["x", "y", *columns])]
    for i in range(n):
        cells = [f"{i % 2 + rng.random() / 9:.4f}", f"{rng.random():.4f}"]
        lines.append(",".join([*cells, *(str(make(i)) for make in columns.values())]))
    return "\n".join(lines) + "\n"


@pytest.fixture
def plain(write):
    return write("t.csv", rows_of())


# ---- no file is lost ----------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--out", "--model", "--report"])
@pytest.mark.parametrize("link", [None, "symlink", "hardlink"])
def test_fit_never_replaces_its_table(option, link, refuse, plain):
    before, target = plain.read_bytes(), plain
    if link is not None:
        target = plain.with_name("l.csv")
        (os.symlink if link == "symlink" else os.link)(plain, target)
    sentence = refuse("fit", plain, "-k", 2, option, target)
    assert f"{option} {target} would replace the table" in sentence
    assert plain.read_bytes() == before


def test_outputs_never_replace_each_other(run, refuse, plain, tmp_path):
    sentence = refuse("fit", plain, "-k", 2, "--model", "same.x", "--report", tmp_path / "same.x")
    assert "would replace what --model writes (same.x)" in sentence
    assert not (tmp_path / "same.x").exists()
    assert "would replace the table" in refuse("compare", plain, "-k", 2, "--out", "t.csv")
    run("fit", plain, "-k", 2, "--model", "m.html")
    before = (tmp_path / "m.html").read_bytes()
    assert "would replace the model" in refuse("report", "m.html", plain)
    assert "would replace the table" in refuse("report", "m.html", plain, "--out", plain)
    assert "would replace the table" in refuse("predict", "m.html", plain, "--out", "t.csv")
    assert (tmp_path / "m.html").read_bytes() == before
