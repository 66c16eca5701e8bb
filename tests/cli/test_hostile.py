"""What a hostile reader of the command line tried: files, keys, cells and names."""

from __future__ import annotations

import gc
import gzip
import json
import os
import re
import signal
import sqlite3
import time
import zipfile

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from fwkmeans._tabular import reading
from fwkmeans._tabular.format import Format
from fwkmeans._tabular.roles import stand_ins
from fwkmeans.cli import main, progress
from fwkmeans.cli.errors import sentence_of, with_option

from .conftest import columns_of


def read_table(*args, **options):
    return reading.read_table(*args, **options).table


def rows_of(n_rows=40, seed=0, **columns):
    """Return CSV lines with two columns that cluster, and others given by functions of the row."""
    rng = np.random.default_rng(seed)
    lines = [",".join(["x", "y", *columns])]
    for i in range(n_rows):
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
    run("fit", plain, "-k", 2, "--model", "m.fwk")
    before = (tmp_path / "m.fwk").read_bytes()
    (tmp_path / "m.fwk").rename(tmp_path / "m.html")
    assert "would replace the model" in refuse("report", "m.html", plain)
    assert "would replace the table" in refuse("report", "m.html", plain, "--out", plain)
    assert "would replace the table" in refuse("predict", "m.html", plain, "--out", "t.csv")
    assert (tmp_path / "m.html").read_bytes() == before


# ---- keys and classes to the letter -------------------------------------------------------------


KEYS = ["00392", "NA", "12345678901234567890123", "1e5", "", " a ", "true", "2020-01-01"]


def test_keys_are_kept_to_the_letter(run, write):
    path = write("t.csv", rows_of(8, code=lambda i: KEYS[i]))
    run("fit", path, "-k", 2, "--id", "code", "--out", "o.csv", "--model", "m.fwk")
    assert columns_of("o.csv")["code"] == KEYS
    run("predict", "m.fwk", path, "--id", "code", "--out", "p.csv")
    assert columns_of("p.csv")["code"] == KEYS
    run("compare", path, "-k", 2, "--id", "code", "--out", "c.csv", "-a", "awk")
    assert columns_of("c.csv")["code"] == KEYS


def test_classes_are_kept_to_the_letter(run, refuse, write):
    path = write("t.csv", rows_of(c=lambda i: ["01", "1", "NA", "NaN"][i % 4]))
    found = run("fit", path, "-k", 2, "--labels", "c", "--json", "--model", "m.fwk").json
    assert sorted(found["agreement"]["classes"]) == ["01", "1", "NA", "NaN"]
    page = run("report", "m.fwk", path, "--labels", "c", "--json", "--draws", 0).json
    assert sorted(page["agreement"]["classes"]) == ["01", "1", "NA", "NaN"]
    assert "20 missing cells" in refuse("fit", path, "-k", 2, "--labels", "c", "--na", "01,1")


def test_types_of_keys_stay_in_binary_files(run, tmp_path):
    table = {"k": list(range(10, 0, -1)), "a": [0.0, 1.0] * 5, "b": np.arange(10) ** 2}
    pyarrow.parquet.write_table(pa.table(table), tmp_path / "t.parquet")
    run("fit", "t.parquet", "-k", 2, "--id", "k", "--out", "o.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "o.parquet")["k"].to_pylist() == table["k"]


def test_keys_never_have_the_name_of_an_output(run, refuse, write):
    path = write("t.csv", rows_of(cluster=lambda i: f"k{i}", distance_1=lambda i: f"d{i}"))
    run("fit", path, "-k", 2, "--id", "cluster", "--model", "m.fwk")
    for arguments in (
        ("fit", path, "-k", 2, "--out", "o.csv", "--only-labels", "--id", "cluster"),
        ("predict", "m.fwk", path, "--id", "cluster"),
        ("predict", "m.fwk", path, "--distances", "--id", "distance_1"),
    ):
        assert f"--id {arguments[-1]}: the output has a column" in refuse(*arguments)
    other = write("u.csv", rows_of(AWK=lambda i: f"k{i}"))
    arguments = ("compare", other, "-k", 2, "-a", "awk", "--id", "AWK", "--out", "o.csv")
    assert "the output has a column 'AWK'" in refuse(*arguments)


# ---- numbers as people write them ---------------------------------------------------------------


def read(path, how=Format(), **options):  # noqa: B008
    table, remarks = reading.read_table(str(path), how, **options)
    told = [with_option(*remark) for remark in remarks.found(table.column_names)]
    return table.to_pydict(), told


def test_decimal_commas_are_guessed(run, write):
    content = "a;b;c\n1,5;2;New, York\n-2,25;3;x\n;4;y\n3;5;z\n"
    found, told = read(write("t.csv", content))
    assert found["a"] == [1.5, -2.25, None, 3.0]
    assert found["c"][0] == "New, York"
    assert told == [
        "Column 'a': commas were taken as decimal commas, so 1,5 is 1.5; a decimal point keeps "
        "text (--decimal .)."
    ]
    assert read(write("t.csv", content), Format(decimal="."))[0]["a"][0] == "1,5"
    assert read(write("t.csv", content), Format(), text=["a"])[0]["a"][0] == "1,5"
    euro = rows_of().replace(",", ";").replace(".", ",")
    assert "decimal commas" in run("fit", write("e.csv", euro), "-k", 2).out


@pytest.mark.parametrize(
    ("content", "expected", "word"),
    [
        ('a,b\n"1,234",1\n950,2\n"-12,345,678.5",3\n', [1234.0, 950.0, -12345678.5], "thousands"),
        ("a\tb\n1,234\t1\n950\t2\n", [1234.0, 950.0], "thousands"),
        ("a;b\n1,234,567\t;1\n950;2\n".replace("\t", ""), [1234567.0, 950.0], "thousands"),
        ("a;b\n5,081;1\n950;2\n", [5.081, 950.0], "decimal commas"),
        ('a,b\n"0,123",1\n950,2\n', ["0,123", "950"], None),
        ("a,b\n45%,1\n3.5 %,2\n,3\n", [45.0, 3.5, None], "45%"),
        ("a,b\n45%,1\n3,2\n", ["45%", "3"], None),
        ("a,b\n00392,1\n707,2\n", ["00392", "707"], "codes"),
        ("a,b\n0,1\n10,2\n-0.5,3\n", [0.0, 10.0, -0.5], None),
    ],
)
def test_numbers_with_signs_of_people(content, expected, word, write):
    found, told = read(write("t.csv", content))
    assert found["a"] == expected
    assert (word is None) == (told == [])
    assert word is None or word in told[0]


def test_thousands_are_no_decimal_commas(run, write):
    path = write("t.csv", rows_of(n=lambda i: f'"{i % 7 + 1},{100 + i}"' if i else "n.d."))
    notes = " ".join(run("fit", path, "-k", 2, "--json").json["notes"])
    assert "--decimal" not in notes
    assert "--na" in notes
    found = run("fit", path, "-k", 2, "--json", "--na", "n.d.").json
    assert {one["type"] for one in found["features"]} == {"numeric"}


# ---- what columns are ---------------------------------------------------------------------------


def test_keys_are_no_features(run, write, tmp_path):
    path = write("t.csv", rows_of(customer_id=lambda i: (i * 7919) % 1009, n=lambda i: i % 9))
    left_out = run("fit", path, "-k", 2, "--json").json["left_out"]
    assert list(left_out) == ["customer_id"]
    table = {
        "code": pa.array([1, 2, 3, 1, 2, 3]).dictionary_encode(),
        "x": [1.0, 2.0, 1.5, 7.0, 6.0, 5.5],
        "y": [4, 2, 4, 2, 1, 1],
        "__index_level_0__": [5, 3, 9, 1, 0, 4],
    }
    pyarrow.parquet.write_table(pa.table(table), tmp_path / "t.parquet")
    found = run("fit", "t.parquet", "-k", 2, "--json", "--model", "m.fwk").json
    assert list(found["left_out"]) == ["__index_level_0__"]
    assert {one["name"]: one["type"] for one in found["features"]}["code"] == "categorical"
    assert run("predict", "m.fwk", "t.parquet").err == ""


@pytest.mark.parametrize("algorithm", ["AWK", "SYNCLUS"])
@pytest.mark.parametrize("words", [("true", "false"), ("True", "FALSE"), ("1", "0")])
def test_stray_cells_do_not_change_other_truth_values(algorithm, words, run, write):
    path = write("t.csv", rows_of(flag=lambda i: str(i % 3 == 0).lower()))
    run("fit", path, "-k", 2, "-a", algorithm, "--model", "m.fwk")
    expected = run("predict", "m.fwk", path, "--distances").out.splitlines()
    stray = rows_of(flag=lambda i: "unknown" if i == 5 else words[0 if i % 3 == 0 else 1])
    done = run("predict", "m.fwk", write("u.csv", stray), "--distances")
    found = done.out.splitlines()
    assert [i for i, line in enumerate(found) if line != expected[i]] in ([6], [])
    assert "('unknown')" in done.err
    report = run("report", "m.fwk", "u.csv", "--json", "--draws", 0)
    assert report.json["n_rows"] == 40
    same = rows_of(flag=lambda i: words[0 if i % 3 == 0 else 1])
    again = run("predict", "m.fwk", write("v.csv", same), "--distances")
    assert again.out.splitlines() == expected
    assert again.err == ""


# ---- what is printed ----------------------------------------------------------------------------


def test_json_has_stdout_for_itself(refuse, plain):
    sentence = refuse("compare", plain, "-k", 2, "--json", "--out", "-", code=2)
    assert "would both print" in sentence


def test_json_of_dates_and_gaps(run, plain, tmp_path):
    run("fit", plain, "-k", 2, "--model", "m.fwk")
    table = read_table(str(plain), Format()).slice(0, 3)
    when = pa.array([0, 1, None], pa.date32())
    odd = pa.array([1.5, float("nan"), float("inf")])
    table = table.append_column("when", when).append_column("odd", odd)
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    found = run("predict", "m.fwk", "t.parquet", "--id", "when", "--json").json
    assert found["columns"]["when"] == ["1970-01-01", "1970-01-02", None]
    found = run("predict", "m.fwk", "t.parquet", "--id", "odd", "--json").json
    assert found["columns"]["odd"] == [1.5, None, None]


# ---- many categories ----------------------------------------------------------------------------


@pytest.fixture
def levels(write):
    """Return a table in which a column of noise has far more categories than the rest columns."""
    rng = np.random.default_rng(1)
    return write("l.csv", rows_of(200, noise=lambda _: f"L{rng.integers(60)}"))


def test_columns_of_many_categories_do_not_matter_most(run, levels):
    arguments = ("fit", levels, "-k", 2, "-a", "ewkm", "-p", "dispersion=mean")
    found, text = run(*arguments, "--json").json, run(*arguments).out
    equal = {one["name"]: one["equal_weight"] for one in found["features"]}
    for cluster in found["clusters"]:
        own = [share / equal[name] for name, share in cluster["top"]]
        assert own == sorted(own, reverse=True)
    best = found["features"][0]
    assert f", {best['weight'] / best['equal_weight']:.1f} times" in text
    assert "how many times an equal weight that is" in " ".join(text.split())
    assert any("'noise' has" in note and "--drop noise" in note for note in found["notes"])
    assert "noise" not in found["headline"][2]  # which is about weights
    assert any("The algorithm sees each category of noise" in one for one in found["warnings"])
    assert not any("nearly all the weight" in one for one in found["warnings"])
    compared = run("compare", levels, "-k", 2, "-a", "ewkm")
    assert "--drop noise" in compared.out
    assert re.search(r"^EW-KM .*% \(\d\.\dx\)", compared.out, flags=re.MULTILINE)


def test_algorithms_without_weights_list_no_columns(run, levels, iris_path):
    for path, *options in ((levels,), (iris_path, "--drop", "class")):
        text = run("fit", path, "-k", 2, "-a", "k-means", *options).out
        assert "All columns have the same weight" in " ".join(text.split())
        assert "  weight " not in text
        assert "all alike" in run("compare", path, "-k", 2, "-a", "k-means", *options).out


# ---- long work ----------------------------------------------------------------------------------


@pytest.mark.parametrize("fails", [False, True])
def test_ctrl_c_that_a_library_swallows_still_stops(fails, run, plain, monkeypatch, tmp_path):
    from fwkmeans.cli import fit

    original = fit.read_columns

    def swallowing(*arguments, **options):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        except KeyboardInterrupt:
            if fails:
                raise ImportError("half a module") from None
        return original(*arguments, **options)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(fit, "read_columns", swallowing)
    try:
        done = run("fit", plain, "-k", 2, "--out", "o.csv", code=130)
    finally:
        signal.signal(signal.SIGINT, before)
    assert "Stopped" in done.err
    assert done.out == ""
    assert not (tmp_path / "o.csv").exists()
    monkeypatch.setattr(fit, "read_columns", original)
    run("fit", plain, "-k", 2)


def test_long_work_is_told_off_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    with progress.working("Something"):
        time.sleep(0.2)
    for _ in progress.each(["one"], 1, str):
        time.sleep(0.2)
    found = capsys.readouterr()
    assert found.out == ""
    assert "Something: 0 s so far" in found.err
    assert "one (1 of 1): 0 s so far" in found.err


def test_slow_algorithms_are_skipped_on_very_wide_tables(run, write):
    rng = np.random.default_rng(0)
    path = write("w.csv", rows_of(90, noise=lambda _: f"L{rng.integers(200)}"))
    arguments = ("compare", path, "-k", 2, "--starts", 1, "--json", "--categorical", "noise")
    found = run(*arguments).json
    assert [one["name"] for one in found["skipped"]] == ["CK-Means"]
    assert "since each category is one" in found["skipped"][0]["reason"]
    assert run(*arguments, "-a", "ck-means").json["skipped"] == []


# ---- names, seeds, sheets, headers --------------------------------------------------------------


def test_names_do_not_scramble_the_terminal(run, refuse, write):
    path = write("t.csv", rows_of().replace("x,y", "a\u202eb,c\x1b[2J"))
    for done in (
        run("fit", path, "-k", 2),
        run("compare", path, "-k", 2, "-a", "awk"),
        run("fit", path, "-k", 2, "--model", "m.fwk"),
    ):
        assert "\u202e" not in done.text
        assert "\x1b" not in done.text
    sentence = refuse("predict", "m.fwk", write("u.csv", "c,d\u202e\n1,2\n"))
    assert "\u202e" not in sentence


def test_seeds_that_cannot_be_are_wrong_usage(refuse, plain):
    assert "--seed" in refuse("fit", plain, "-k", 2, "--seed", -1, code=2)


def test_sheets_are_told(run, refuse, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "cover"
    book.active.append(["only"])
    book.active.append([1])
    sheet = book.create_sheet("rows")
    for row in (["id", "a", "b"], ["NA", 1, 2.5], ["x", 3, 4], ["y", 3, 1]):
        sheet.append(row)
    book.save(tmp_path / "t.xlsx")
    sentence = refuse("fit", "t.xlsx", "-k", 2)
    assert "Read the first sheet of t.xlsx, 'cover'; it also has 'rows' (--sheet)" in sentence
    run("fit", "t.xlsx", "-k", 2, "--sheet", "rows", "--id", "id", "--out", "o.csv")
    assert columns_of("o.csv")["id"] == ["NA", "x", "y"]


def test_headers_of_several_lines_and_titles(refuse, write):
    found, _ = read(write("t.csv", 'a,"b\n(cm)"\n1,01\n2,3\n'))
    assert list(found) == ["a", "b\n(cm)"]
    assert found["b\n(cm)"] == ["01", "3"]
    sentence = refuse("fit", write("t.csv", "My title, 2024\na,b,c\n1,2,3\n"), "-k", 2)
    assert "If the first line ('My title, 2024') is a title, skip it." in sentence
    assert sentence.endswith("or give another one (--skip 1).")


def test_only_close_names_are_proposed(refuse, plain):
    assert "did you mean" not in refuse("fit", plain, "-k", 2, "--drop", "xyz")


def test_folders_that_cannot_be_written_are_told_first(refuse, plain, monkeypatch):
    monkeypatch.setattr("fwkmeans.cli.output.os.access", lambda _, mode: not mode & os.W_OK)
    for option, name in (("--out", "o.csv"), ("--model", "m.fwk"), ("--report", "r.html")):
        assert f"{name} cannot be written" in refuse("fit", plain, "-k", 2, option, name)


def test_errors_of_writing_name_the_file_that_is_wanted(refuse, plain, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", ".o.1234.csv")

    monkeypatch.setattr("fwkmeans._support.files.os.open", full)
    sentence = refuse("fit", plain, "-k", 2, "--out", "o.csv")
    assert sentence == "o.csv: No space left on device."


def test_models_that_do_not_fit_together_are_called_damaged(run, write, tmp_path):
    path = write("t.csv", rows_of(flag=lambda i: "ab"[i % 2]))
    run("fit", path, "-k", 2, "--model", "m.fwk")
    with zipfile.ZipFile(tmp_path / "m.fwk") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    content = json.loads(members["model.json"])
    (_, encoder), _ = (step["items"] for step in content["model"]["fields"]["steps"])
    damaged = 0
    for name in list(encoder["fields"]):
        held = encoder["fields"][name]
        for wrong in (7, "odd", None, {"kind": "tuple", "items": []}):
            encoder["fields"][name] = wrong
            with zipfile.ZipFile(tmp_path / "w.fwk", "w") as archive:
                for member, data in members.items():
                    text = json.dumps(content).encode()
                    archive.writestr(member, text if member == "model.json" else data)
            result = CliRunner().invoke(main, ["predict", "w.fwk", str(path)])
            assert result.exit_code in (0, 1)
            assert "please report" not in result.stderr, (name, wrong)
            damaged += result.exit_code
        encoder["fields"][name] = held
    assert damaged > 10


# ---- stand-ins, formulas, very wide tables ------------------------------------------------------


def test_numbers_that_stand_for_missing_cells_are_named(run, write):
    odd = {3: "-999", 8: "-999", 20: "1e9"}
    path = write("t.csv", rows_of(u=lambda i: odd.get(i, f"{i % 7}.5"), v=lambda i: i % 3 - 1))
    notes = run("fit", path, "-k", 2, "--json").json["notes"]
    assert notes[-2:] == [
        "1000000000 is far from all other values of column 'u' (1 row): if it means a missing "
        "cell, add --na 1000000000.",
        "-999 is far from all other values of column 'u' (2 rows): if it means a missing cell, "
        "add --na -999.",
    ]
    assert "-999 is far" in run("compare", path, "-k", 2, "-a", "awk", "--na", "1e9").out
    done = run("fit", path, "-k", 2, "--na", "1000000000", "--na", "-999,1e9")
    assert "is far" not in done.out
    assert "3 missing cells were ignored" in done.out


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([1.0, 2, 3, 4, 9999], [(9999, 1)]),
        ([1.0, 2, 3, 4, 99, 99], [(99, 2)]),
        ([-9999.0, 0.1, 0.2, 0.3, 1e9], [(1e9, 1), (-9999, 1)]),
        ([0.0, 1, 2, 3, 123456], [(123456, 1)]),
        ([0.0, 1, 2, 3, 2**31 - 1], [(2**31 - 1, 1)]),
        ([1.7976931348623157e308, -1, 0, 1, 2], [(1.7976931348623157e308, 1)]),
        ([1.0, 2, 3, 4, 12], []),
        ([9900.0, 9950, 9970, 9999], []),
        ([0.0, 1, 0, 1], []),
        ([0.0, 1, 1000], []),
        ([10.0**k for k in range(9)], []),
        ([], []),
        ([float("nan"), float("inf")], []),
        ([-1.7e308, 0, 1, 2, 1.7e308], [(1.7e308, 1), (-1.7e308, 1)]),
        ([-999, 0.0, 1, 2, 9999], [(9999, 1), (-999, 1)]),
    ],
)
def test_what_looks_like_a_stand_in(numbers, expected):
    assert sorted(stand_ins(np.array(numbers))) == sorted(expected)


def test_formulas_can_be_made_harmless(run, write):
    keys = ["=1+2", "+x", "-3.5", "@a", "-a", "b=c", "'", "7"]
    path = write("t.csv", rows_of(8, k=lambda i: keys[i]))
    arguments = ("fit", path, "-k", 2, "--id", "k", "--model", "m.fwk", "--out")
    run(*arguments, "o.csv")
    assert columns_of("o.csv")["k"] == keys
    run(*arguments, "o.csv", "--spreadsheet-safe")
    safe = ["'=1+2", "'+x", "-3.5", "'@a", "'-a", "b=c", "'", "7"]
    assert columns_of("o.csv")["k"] == safe
    run("predict", "m.fwk", path, "--id", "k", "--out", "p.tsv", "--spreadsheet-safe")
    assert "'=1+2\t" in (path.parent / "p.tsv").read_text("utf-8")
    run(*arguments, "o.parquet", "--spreadsheet-safe")
    assert pyarrow.parquet.read_table("o.parquet")["k"].to_pylist() == keys


@pytest.mark.parametrize(
    ("cell", "safe"),
    [
        ("note\r=1+1", "note\r'=1+1"),
        ("\n=1", "'\n'=1"),
        ("＝1", "'＝1"),
        ("＋a", "'＋a"),
        (";=1", "';'=1"),
        ("x;=1", "x;'=1"),
        ("x,-a", "x,'-a"),
        (" =1", "' =1"),
        ("\ufeff=1", "'\ufeff=1"),
        ("a\t@b", "a\t'@b"),
        ('x;"=1"', 'x;\'"=1"'),
        ("1;-2", "1;-2"),
        ("-3,5", "-3,5"),
        ("a-b=c", "a-b=c"),
        ("'=1", "'=1"),
    ],
)
@pytest.mark.parametrize("stream", [[], ["--stream"]])
def test_formulas_behind_any_end_of_a_cell(cell, safe, stream, run, write):
    path = write("t.csv", "".join(f'{i % 7},"{(i * i) % 5}",{_csv(cell)}\n' for i in range(20)))
    path.write_text(f"u,v,k\n{path.read_bytes().decode()}", encoding="utf-8", newline="")
    told = ("fit", path, "-k", 2, "--id", "k", "--header", "--sep", ",", "--out", "o.csv", *stream)
    run(*told, "--spreadsheet-safe")
    assert columns_of("o.csv")["k"] == [safe] * 20
    run(*told)
    assert columns_of("o.csv")["k"] == [cell] * 20


def _csv(cell):
    doubled = cell.replace('"', '""')
    return f'"{doubled}"'


def test_names_that_become_harmless_stay_different(run, write):
    path = write("t.csv", "u,v,=a,'=a\n" + "".join(f"{i % 7},{i % 5},{i},x\n" for i in range(20)))
    arguments = ("--id", "=a,'=a", "--out", "o.csv", "--spreadsheet-safe")
    run("fit", path, "-k", 2, *arguments)
    columns = columns_of("o.csv")
    assert columns["'=a"] == [str(i) for i in range(20)]
    assert columns["'=a_2"] == ["x"] * 20


def test_what_sheets_cannot_hold_is_told(run, write):
    pytest.importorskip("openpyxl")
    odd = ["a\x07", "b\rc", "x" * 40_000, "d\ne", "plain"]
    path = write("t.csv", rows_of(40, k=lambda i: _csv(odd[i % 5])))
    done = run("fit", path, "-k", 2, "--out", "o.xlsx")
    assert "Note: 24 cells hold what a sheet cannot (control characters, carriage" in done.out
    assert "a sheet" not in run("fit", path, "-k", 2, "--drop", "k", "--out", "o.csv").out
    done = run("compare", path, "-k", 2, "-a", "awk", "-a", "ew-km", "--id", "k", "--out", "o.xlsx")
    assert "24 cells hold what a sheet cannot" in done.out


def test_a_full_disk_leaves_no_trace_of_an_unfinished_workbook(refuse, plain, monkeypatch, capsys):
    openpyxl = pytest.importorskip("openpyxl")
    told, begun = [], openpyxl.worksheet._write_only.WriteOnlyWorksheet.append
    monkeypatch.setattr("sys.unraisablehook", told.append)

    def full(sheet, row):
        begun(sheet, row)
        sheet._writer.xf.close()  # as when its file cannot be written to
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(openpyxl.worksheet._write_only.WriteOnlyWorksheet, "append", full)
    sentence = refuse("fit", plain, "-k", 2, "--out", "o.xlsx")
    assert sentence == "o.xlsx: No space left on device."
    gc.collect()
    assert not told


@pytest.mark.parametrize("stream", [[], ["--stream"]])
def test_tables_of_very_many_columns_are_refused(stream, refuse, write, monkeypatch):
    monkeypatch.setattr("fwkmeans._tabular.delimited.MOST_COLUMNS", 50_000)
    row = ",".join(map(str, range(60_000)))
    sentence = refuse("fit", write("t.csv", f"\n\n{row}\n{row}\n"), "-k", 2, *stream)
    assert sentence.startswith("The first line of t.csv has 60,000 cells, and a table of text may")


def test_packed_tables_have_a_limit(run, refuse, write):
    path = write("t.csv.gz", gzip.compress(rows_of().encode()))
    sentence = refuse("fit", path, "-k", 2, "--max-unpacked", "1e-7")
    assert sentence.endswith("raise the limit (--max-unpacked 1e-06).")
    run("fit", path, "-k", 2, "--max-unpacked", 0.001)


def test_models_with_long_lists_of_categories_have_a_limit(run, refuse, write):
    path = write("t.csv", rows_of(60, c=lambda i: f"{'long' * 100}{i % 30}"))
    run("fit", path, "-k", 2, "-a", "AWK", "--categorical", "c", "--model", "m.fwk")
    for command in ("predict", "report"):
        sentence = refuse(command, "m.fwk", path, "--max-json", 0.01)
        assert sentence.endswith("raise the limit (--max-json 1).")
        assert "load_model" not in sentence
    run("predict", "m.fwk", path, "--max-json", 1)


def test_files_of_results_that_cannot_be_used_are_told(refuse, tmp_path):
    (tmp_path / "r.sqlite").mkdir()
    arguments = ("survey", "-t", "iris", "-a", "K-Means", "--starts", 1)
    refuse(*arguments, "--results", "r.sqlite", code=2)
    assert "cannot be read or written" in sentence_of(sqlite3.OperationalError("readonly"))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["numbers", "text"])
def test_wide_tables_are_wrapped_a_few_times(kind, run, write, monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (12, 300))
    cells = rows + rng.random(rows.shape) if kind == "numbers" else np.array(list("abc"))[rows]
    lines = [",".join(map(str, line)) for line in cells]
    path = write("w.csv", "\n".join([",".join(f"c{v}" for v in range(300)), *lines]) + "\n")
    wrapped, from_native = [], nw.from_native

    def counted(X, **options):
        wrapped.append(X)
        return from_native(X, **options)

    monkeypatch.setattr(nw, "from_native", counted)
    for algorithm in ("ew-km", "awk"):
        run("fit", path, "-k", 2, "-a", algorithm, "--starts", 1)
    assert 0 < len(wrapped) < 100
