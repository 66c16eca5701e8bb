"""Tables are read as they are meant, and what cannot be read is said in a sentence."""

from __future__ import annotations

import gzip
import io
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from fwkmeans._tabular import reading
from fwkmeans._tabular import roles as columns
from fwkmeans._tabular.format import Format
from fwkmeans._tabular.kinds import kind_of
from fwkmeans.cli.columns import Roles, choose_columns
from fwkmeans.cli.errors import InputError, sentence_of

from .conftest import columns_of


def read_table(*args, **options):
    return reading.read_table(*args, **options).table


TEXT = "a,b,c\n1,2.5,x\n2,3.5,y\n3,,x\n4,5.5,z\n"


def refused(path, how=Format(), **options):  # noqa: B008
    with pytest.raises(InputError) as caught:
        read_table(str(path), how, **options)
    sentence = sentence_of(caught.value)
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
def test_separators_are_guessed(sep, write):
    table = read_table(str(write("t.csv", TEXT.replace(",", sep))), Format())
    assert table.to_pydict() == {
        "a": [1, 2, 3, 4],
        "b": [2.5, 3.5, None, 5.5],
        "c": ["x", "y", "x", "z"],
    }


def test_decimal_commas(write):
    path = write("t.csv", "a;b\n1,5;2\n2,25;3\n")
    assert read_table(str(path), Format(decimal=",")).to_pydict() == {"a": [1.5, 2.25], "b": [2, 3]}


def test_quoted_cells_hold_separators_and_newlines(write):
    path = write("t.csv", 'a,b\n"x, y",1\n"two\nlines",2\n')
    assert read_table(str(path), Format())["a"].to_pylist() == ["x, y", "two\nlines"]


@pytest.mark.parametrize("prefix", [b"", b"\xef\xbb\xbf"])
def test_utf8_with_and_without_mark(prefix, write):
    path = write("t.csv", prefix + "größe,b\n1,é\n2,ü\n".encode())
    assert read_table(str(path), Format()).to_pydict() == {"größe": [1, 2], "b": ["é", "ü"]}


def test_other_encodings_are_named(write):
    path = write("t.csv", "a,b\n1,あいう\n2,x\n".encode("shift-jis"))
    assert read_table(str(path), Format(encoding="shift-jis"))["b"].to_pylist() == ["あいう", "x"]
    marked = write("u.csv", "a,b\n1,2\n".encode("utf-16"))
    assert read_table(str(marked), Format()).to_pydict() == {"a": [1], "b": [2]}
    assert "UTF-16" in refused(marked, Format(encoding="utf-8"))
    both = read_table(str(write("v.csv", "a,b\n1,2\n".encode("utf-16"))), Format(encoding="utf-16"))
    assert both.to_pydict() == {"a": [1], "b": [2]}
    assert "There is no encoding" in refused(path, Format(encoding="klingon"))


def test_bytes_far_behind_that_are_no_text(write):
    path = write("t.csv", b"a,b\n" + b"1,x\n" * 100_000 + b"2,\x81\n")
    sentence = "t.csv is not text in utf-8: give its encoding, or save it as UTF-8 (--encoding)."
    assert refused(path) == sentence


def test_text_of_windows_is_read(write):
    path = write("t.csv", b"a,b\n" + b"1,x\n" * 100_000 + "2,5 € für\n".encode("cp1252"))
    table, remarks = reading.read_table(str(path), Format())
    assert table["b"][-1].as_py() == "5 € für"
    assert "read as that of Windows" in remarks.found()[0].text


def test_types_that_change_far_behind(write):
    path = write("t.csv", "a,b\n" + "1,1\n" * 400_000 + "1.5,x\n")
    table = read_table(str(path), Format())
    assert [str(column.type) for column in table.columns] == ["double", "string"]
    assert table["a"][-1].as_py() == 1.5
    assert table["b"][0].as_py() == "1"


def test_text_that_looks_like_numbers_stays_text_if_told(write):
    path = write("t.csv", "zip,n\n01,1\n1,2\n")
    assert read_table(str(path), Format(), ["zip"])["zip"].to_pylist() == ["01", "1"]


def test_missing_cells_have_many_names(write):
    path = write("t.csv", "a,b\n1,x\n?,NA\n,null\n-9,y\n")
    table = read_table(str(path), Format())
    assert table.to_pydict() == {"a": [1, None, None, -9], "b": ["x", None, None, "y"]}
    table = read_table(str(path), Format(missing=["-9", "?", ""]))
    assert table["a"].to_pylist() == [1, None, None, None]
    assert table["b"].to_pylist() == ["x", "NA", "null", "y"]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "-", "2.5"], "double"),
        (["#DIV/0!", "1", "n.a."], "double"),
        (["45 %", "..", "12 %"], "double"),
        (["2020-01-01", "-"], "date32[day]"),
        (["true", "-", "false"], "string"),
        (["yes", "-", "no"], "string"),
        (["-", "-"], "string"),
        (["01", "-"], "string"),
    ],
)
def test_marks_among_numbers_and_dates_are_missing_cells(cells, kind, write):
    path = write("t.csv", "k;v\n" + "".join(f"r;{cell}\n" for cell in cells))
    read = reading.read_table(str(path), Format())
    column = read.table["v"]
    assert str(column.type) == kind
    marks = [cell for cell in cells if kind != "string" and cell[0] in "-.#n"]
    assert [cell is None for cell in column.to_pylist()] == [cell in marks for cell in cells]
    told = " ".join(remark.text for remark in read.remarks.found(["v"]))
    assert all(f"'{mark}'" in told for mark in marks)
    assert ("missing cell" in told) == bool(marks)


def test_every_kind_of_file_holds_the_same_table(write, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    table = read_table(str(write("t.csv", TEXT)), Format())
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(TEXT.encode()))
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "t.feather")
    with (
        pa.OSFile(str(tmp_path / "t.arrows"), "wb") as sink,
        pa.ipc.new_stream(sink, table.schema) as stream,
    ):
        stream.write_table(table)
    book = openpyxl.Workbook()
    for row in [table.column_names, *zip(*table.to_pydict().values(), strict=True)]:
        book.active.append(row)
    book.create_sheet("other").append(["only"])
    book.save(tmp_path / "t.xlsx")
    for name in ("t.csv.gz", "t.parquet", "t.feather", "t.arrows", "t.xlsx"):
        again = read_table(str(tmp_path / name), Format())
        assert again.to_pydict() == table.to_pydict(), name
    assert "has no sheet 'none': it has 'Sheet', 'other'" in refused(
        tmp_path / "t.xlsx", Format(sheet="none")
    )
    assert "no rows" in refused(tmp_path / "t.xlsx", Format(sheet="other"))


def test_excel_cells_of_several_types_are_text(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (
        ["a", "b", None],
        [1, 1, None],
        ["x", 2.5, None],
        [None, None, None],
        [True, None, 3],
    ):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    table = read_table(str(tmp_path / "t.xlsx"), Format())
    assert table["a"].to_pylist() == ["1", "x", "True"]
    assert table["b"].to_pylist() == [1.0, 2.5, None]
    assert table.column_names == ["a", "b", "column 3"]


def test_stdin_is_told_by_its_bytes(monkeypatch, tmp_path):
    table = pa.table({"a": [1, 2], "b": [0.5, 1.5]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    for content in ((tmp_path / "t.parquet").read_bytes(), b"a,b\n1,0.5\n2,1.5\n"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert read_table("-", Format()).equals(table)


def test_declared_types_of_binary_files(tmp_path):
    table = pa.table(
        {
            "d": pa.array(["x", "y", "x"]).dictionary_encode(),
            "l": pa.array(["x", "y", "x"], pa.large_string()),
            "m": pa.array([1, 2, 3], pa.decimal128(5, 2)),
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    again = read_table(str(tmp_path / "t.parquet"), Format())
    assert [str(column.type) for column in again.columns] == ["string", "string", "double"]
    assert again["m"].to_pylist() == [1.0, 2.0, 3.0]


def test_files_that_cannot_be_read(write, tmp_path, monkeypatch):
    assert refused(tmp_path / "none.csv").startswith("There is no file")
    write("iris.csv", TEXT)
    assert "Did you mean" in refused(tmp_path / "iriss.csv")
    assert "folder" in refused(tmp_path)
    assert "is empty" in refused(write("t.csv", ""))
    assert "is empty" in refused(write("t.csv", "\n\n"))
    assert "header but no rows" in refused(write("t.csv", "a,b\n"))
    assert "neither text nor" in refused(write("t.bin", b"\x00\x01\x02abc"))
    assert ".xls" in refused(write("t.xls", b"\xd0\xcf\x11\xe0abc"))
    assert "not an Excel file" in refused(write("t.xlsx", b"PK\x03\x04abc"))
    assert "Parquet" in refused(write("t.parquet", b"PAR1abc"))
    assert "Arrow" in refused(write("t.arrow", b"ARROW1abc"))
    assert "Arrow" in refused(write("t.arrow", b"\xff\xff\xff\xff\x10\x00\x00\x00abc"))
    assert "unpacked" in refused(write("t.csv.gz", gzip.compress(b"a,b\n1,2\n")[:-9]))


def test_ragged_rows_are_shown(write):
    sentence = refused(write("t.csv", "a,b\n1,2\n3\n"))
    assert "a row of 1 cell where the header has 2 (separator ','): '3'" in sentence
    assert "a row of 3 cells" in refused(write("t.csv", "a,b\n1,2\n3,4,5\n"))


def test_wrong_separators_are_shown(write):
    path = write("t.csv", "a;b\n1;2\n")
    told = refused(path, Format(sep=","))
    assert "its header holds ';': give another separator, or none (--sep)" in told


@pytest.mark.parametrize(("module", "extra"), [("pyarrow", "io"), ("openpyxl", "excel")])
def test_missing_packages_are_named(module, extra, write, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    content = TEXT if module == "pyarrow" else b"PK\x03\x04"
    with pytest.raises(ImportError, match=rf"pip install 'fwkmeans\[{extra}\]'"):
        read_table(str(write("t", content)), Format())


# ---- columns ------------------------------------------------------------------------------------


def chosen(table, **roles):
    return choose_columns(pa.table(table), Roles(**roles), "table")


def test_kinds_of_columns():
    table = {
        "n": [1, 5, 3],
        "f": [0.5, None, 2.0],
        "t": ["x", "y", "x"],
        "b": [True, False, None],
        "d": pa.array([0, 1, 2], pa.date32()),
        "e": pa.nulls(3),
        "k": ["u", "v", "w"],
        "l": [[1], [2], [3]],
    }
    found = chosen(table)
    assert found.features.column_names == ["n", "f", "t", "b"]
    assert set(found.left_out) == {"d", "e", "k", "l"}
    assert "dates" in found.left_out["d"]
    assert found.notes[0].startswith("Left out: 'd' (dates or times")
    assert found.n_missing == 2


def test_columns_that_number_rows_are_left_out_unless_asked_for():
    table = {"i": list(range(1, 7)), "a": [1, 2, 1, 2, 1, 2], "b": [3, 1, 4, 1, 5, 9]}
    assert chosen(table).features.column_names == ["a", "b"]
    assert chosen(table, numeric=["i"]).features.column_names == ["i", "a", "b"]


def test_types_can_be_overruled():
    table = {
        "zip": [1, 20, 1],
        "n": ["1.5", "2", None],
        "b": [True, False, True],
        "f": [1.0, 2.5, 1],
    }
    found = chosen(table, categorical=["zip", "f"], numeric=["n", "b"])
    assert found.features.to_pydict() == {
        "zip": ["1", "20", "1"],
        "n": [1.5, 2.0, None],
        "b": [1.0, 0.0, 1.0],
        "f": ["1", "2.5", "1"],
    }


def kind(name, cells):
    return kind_of(pa, pa.chunked_array([pa.array(cells)]), name)


@pytest.mark.parametrize(
    ("name", "cells", "use", "why"),
    [
        ("name", [f"n{i}" for i in range(39)] + ["n0"], "left out", "39 different texts in 40"),
        ("name", [f"n{i}" for i in range(39)] + [None], "left out", "a text of its own"),
        ("town", [f"n{i % 9}" for i in range(40)], "categories", "text"),
        ("id", [*range(100, 500, 10), 100], "left out", "nearly every row"),
        ("orderNo", list(range(100, 500, 10)), "left out", "every row has a number of its own"),
        ("smoking_yes_cancer_no", list(range(100, 500, 10)), "number", "whole numbers"),
        ("Sample Number", [*range(40), *range(30)], "left out", "it counts rows"),
        ("patient", [i // 4 for i in range(120)], "left out", "groups of rows"),
        ("year", [float(i) for i in range(1947, 1960)], "left out", "each row is the next year"),
        ("model_year", [1970 + i % 12 for i in range(60)], "number", "years"),
        ("ZIP code", [80331, 10115, 20095, 80331] * 20, "categories", "postcodes"),
        ("plz", [80331 + 7 * (i % 50) for i in range(99)], "left out", "postcodes, not amounts"),
        ("occupation", [1.0, 2.0, 3.0, 5.0] * 20, "categories", "named like categories"),
        ("state_income", [1, 2, 3, 5] * 20, "number", "whole numbers"),
        ("comment", ["x", "y"] + [None] * 20, "left out", "only 2 of 22 cells"),
        ("flag", [True, False] * 5, "categories", "true or false"),
        ("size", [0.5, 1.5] * 5, "number", "numbers"),
    ],
)
def test_columns_are_what_a_person_would_say(name, cells, use, why):
    found = kind(name, cells)
    assert found.use == use
    assert why in found.why


def test_one_table_says_what_is_done_with_each_column(run, mixed):
    done = run("fit", mixed, "-k", 3, "--columns", "--labels", "group", "--drop", "yes")
    assert "\nNote: Left out: 'key' (every row has a text of its own" in done.out
    lines = [line.split(maxsplit=2) for line in done.out.splitlines() if line][2:-1]
    assert [(line[0], line[1]) for line in lines] == [
        ("key", "left"),
        ("size", "number"),
        ("count", "number"),
        ("color", "categories"),
        ("yes", "left"),
        ("group", "classes"),
    ]
    uses = run("fit", mixed, "-k", 3, "--columns", "--json").json["columns"]
    assert uses[1] == {
        "column": "size",
        "use": "number",
        "why": "numbers",
        "n_values": 59,
        "n_missing": 1,
    }


@pytest.mark.parametrize("dates", ["age", "parts"])
def test_dates_are_used_if_asked_for(dates, run, write, tmp_path):
    days = [f"{1 + i % 28}.{1 + i % 12}.{2000 + i % 7}" for i in range(60)]
    lines = [f"{i % 3 + i / 60},{day},k{i},g{i % 4}" for i, day in enumerate(days)]
    path = write("t.csv", "a,born,k,g\n" + "\n".join(lines) + "\n")
    arguments = ("fit", path, "-k", 2, "-a", "K-Means", "--dates", dates, "--id", "k,g")
    arguments += ("--only-labels",)
    run(*arguments, "-m", "m.fwk", "-o", "fitted.csv")
    run("predict", "m.fwk", path, "--id", "k,g", "-o", "predicted.csv")
    fitted, predicted = columns_of("fitted.csv"), columns_of("predicted.csv")
    assert list(fitted) == list(predicted) == ["k", "g", "cluster", "cluster_name"]
    assert fitted == predicted


def test_unique_text_can_be_asked_for():
    found = chosen({"k": ["u", "v", "w"], "a": [1, 2, 4]}, categorical=["k"])
    assert found.features.column_names == ["k", "a"]


def test_keys_and_classes_are_set_aside():
    table = {"k": ["u", "v", "w"], "a": [1, 2, 4], "b": [4, 2, 2], "c": [0, 1, 1]}
    found = chosen(table, id=["k"], labels="c")
    assert found.features.column_names == ["a", "b"]
    assert found.ids == {"k": ["u", "v", "w"]}
    assert found.classes.tolist() == ["0", "1", "1"]
    assert found.notes == []


def test_nan_counts_as_missing():
    assert chosen({"a": [1.0, float("nan"), None], "b": [1, 2, 4]}).n_missing == 2


def test_doubts_are_said():
    n = 40
    table = {
        "comma": ["1,5", "2,5"] * (n // 2),
        "stray": [*map(str, range(n - 1)), "n.d."],
        "few": [*(str(i % 9) for i in range(n - 1)), "n.d."],
        "many": [f"t{i % 30}" for i in range(n)],
        "class": [0, 1] * (n // 2),
        "x": np.arange(n) ** 2,
    }
    table["stray"][5] = "4"
    notes = chosen(table).notes
    assert any(
        "'comma' looks like numbers with a decimal comma: add --decimal ," in n for n in notes
    )
    assert any("because of 'n.d.'" in n and "add --numeric few --coerce" in n for n in notes)
    assert "'stray' (numbers, but for 'n.d.'? then name those with --na, or take" in notes[0]
    assert "'many' (30 different texts in 40 rows, as names or keys)" in notes[0]
    assert any("--labels class" in n for n in notes)
    assert not any(
        "--labels" in n for n in chosen({"y": np.arange(n) ** 2, "x": [1, 2] * 20}).notes
    )


@pytest.mark.parametrize(
    ("roles", "sentence"),
    [
        ({"numeric": ["t"]}, "Column 't' holds 'x' (row 1), not a number"),
        ({"drop": ["aa"]}, "--drop aa: table has no such column; did you mean 'a'?"),
        ({"labels": "zzz"}, "no such column; it has 'a', 't', 'b'"),
        ({"drop": ["a"], "numeric": ["a"]}, "named by --numeric and by --drop"),
        ({"drop": ["a", "b"]}, "only the column 't' is left to cluster by"),
        ({"labels": "g"}, "has no such column"),
    ],
)
def test_wrong_words_about_columns(roles, sentence):
    table = {"a": [1, 2, 4], "t": ["x", "x", "y"], "b": [1, None, 2]}
    with pytest.raises(InputError) as caught:
        chosen(table, **roles)
    assert sentence in str(caught.value)


def test_one_column_of_a_sheet_is_not_separated_otherwise(refuse, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for cell in ("a", 1, 2, 4):
        book.active.append([cell])
    book.save(tmp_path / "t.xlsx")
    sentence = refuse("fit", tmp_path / "t.xlsx", "-k", 2)
    assert "has one column, 'a'" in sentence
    assert "--sep" not in sentence


def test_one_column_is_refused():
    with pytest.raises(InputError, match=r"table has one column, 'a'.*--sep"):
        chosen({"a": [1, 2, 4]})
    with pytest.raises(InputError, match=r"no column is left .*as a name or key"):
        chosen({"a": ["x", "y", "z"], "b": ["u", "v", "w"]})


def test_classes_must_be_known():
    with pytest.raises(InputError, match=r"\(--labels\) has 1 missing cell"):
        chosen({"a": [1, 2, 4], "b": [1, 3, 2], "c": ["x", None, "y"]}, labels="c")


@pytest.mark.parametrize(
    ("cells", "decimal", "kind"),
    [
        (["1", "", " 2"], None, "int64"),
        (["1", "2.5", "1e3"], None, "double"),
        (["1", "99999999999999999999"], None, "double"),
        (["1,5", "2"], ",", "double"),
        (["1.5", "2"], ",", "string"),
        (["true", "FALSE", "1"], None, "bool"),
        (["01", "2"], None, "string"),
        (["?", "NA"], None, "null"),
        (["2020-01-01", "1999-12-31"], None, "date32[day]"),
        (["2020-01-01T10:00", "2020-01-01 10:00:00.5"], None, "timestamp[ns]"),
        (["10:00", "23:59:59"], None, "timestamp[s]"),
        (["10:00:00.5", "10:00"], None, "timestamp[s]"),
        (["1", "x"], None, "string"),
    ],
)
def test_a_column_is_what_all_of_its_cells_are(cells, decimal, kind, write):
    path = write("t.csv", "k;v\n" + "".join(f"r;{cell}\n" for cell in cells))
    assert str(read_table(str(path), Format(decimal=decimal))["v"].type) == kind


def test_columns_of_the_same_name_get_numbers(write, tmp_path):
    rows = "a,b,a,a\n1.5,2,x,7\n2.5,3,y,8\n3.5,5,x,9\n"
    names = ["a", "b", "a_2", "a_3"]
    table, remarks = reading.read_table(str(write("t.csv", rows)), Format())
    assert table.column_names == names
    assert [one.text for one in remarks.found()] == [
        "t.csv has several columns named 'a': those that come again are called 'a_2', 'a_3'."
    ]
    twice = table.rename_columns(["a", "b", "a", "a"])
    pyarrow.parquet.write_table(twice, tmp_path / "t.parquet")
    with pa.ipc.new_file(str(tmp_path / "t.arrow"), twice.schema) as writer:
        writer.write_table(twice)
    for kind in ("parquet", "arrow"):
        again, remarks = reading.read_table(str(tmp_path / f"t.{kind}"), Format())
        assert again.equals(table)
        assert "several columns named 'a'" in remarks.found()[0].text


def test_bundled_tables(run, refuse):
    lines = run("data").out.splitlines()
    assert lines[0].split() == ["name", "rows", "columns", "classes"]
    assert ["wine", "178", "13", "3"] in [line.split() for line in lines]
    assert len({len(line) for line in lines}) == 1
    assert run("data", "breast_cancer").out == run("data", "Breast-Cancer Wisconsin").out
    assert "Choose one of australian" in refuse("data", "nothing")


def test_the_names_of_a_wide_table_are_looked_at_once(monkeypatch):
    asked = []
    names = [f"c{v}" for v in range(500)]
    table = pa.table({name: [1.0, 2.0] for name in names})
    monkeypatch.setattr(columns, "derived_from", lambda *given: asked.append(given))
    assert columns.match_columns(table, names, [], names, [], "t").column_names == names
    assert not asked
    monkeypatch.undo()
    dates = pa.table({"d": pa.array([0, 400], pa.date32()), "x": [1.0, 2.0]})
    made = [f"d: {part}" for part in ("year", "month")]
    found = columns.match_columns(dates, ["x", *made], [], ["x"], [], "t")
    assert found.column_names == ["x", *made]
