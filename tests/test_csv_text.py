"""What is written as CSV is read back the same, by everybody."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pyarrow as pa
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fwkmeans._support.csv_text import write_rows
from fwkmeans._tabular.format import Format, Style
from fwkmeans._tabular.reading import read_table
from fwkmeans.cli.output import write_columns
from fwkmeans.cli.streaming import TableWriter

CELLS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6)
ODD = st.sampled_from(["\r", "a\rb", "\r\n", "\n", ",", ";", "\t", '"', "", "\ufeff", "NA", " x "])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # it writes files
@given(
    rows=st.lists(st.tuples(CELLS | ODD, CELLS | ODD), min_size=1, max_size=6),
    names=st.lists(CELLS | ODD, min_size=2, max_size=2, unique=True),
    suffix=st.sampled_from(["csv", "tsv"]),
    is_streamed=st.booleans(),
)
@example([("note\r=1", "x")], ["a", "b"], "csv", False)
@example([("note\r=1", "x")], ["a", "b"], "csv", True)
@example([("", ""), ("x", "y")], ["\ufeffa", "b"], "tsv", True)
def test_text_is_read_back_the_same(tmp_path_factory, rows, names, suffix, is_streamed):
    path = tmp_path_factory.mktemp("csv") / f"t.{suffix}"
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    if is_streamed:
        with TableWriter(str(path), Style()) as writer:
            for at in range(len(rows)):
                piece = {name: pa.array(own[at : at + 1]) for name, own in columns.items()}
                writer.write(pa.table(piece), {})
    else:
        write_columns(columns, str(path), style=Style())
    sep = "\t" if suffix == "tsv" else ","
    with path.open(newline="", encoding="utf-8") as stream:
        assert list(csv.reader(stream, delimiter=sep)) == [names, *map(list, rows)]
    frame = pd.read_csv(path, sep=sep, dtype=str, keep_default_na=False, skip_blank_lines=False)
    assert frame.to_numpy().tolist() == [*map(list, rows)]
    if all(names):  # pandas and we call columns without a name in our own ways
        assert frame.columns.tolist() == names
        ours = read_table(str(path), Format(sep=sep, header=True), keys=names).table
        assert ours.to_pydict() == columns


def test_a_row_of_one_empty_cell_is_a_row():
    stream = io.StringIO()
    write_rows([["a"], [""], ["b"]], stream)
    assert stream.getvalue() == 'a\n""\nb\n'
