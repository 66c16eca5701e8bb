"""CSV files that are read in blocks have the columns that they have in memory."""

import gzip
import re
import warnings

import numpy as np
import pytest

from fwkmeans import KMeans, WKMeans
from fwkmeans._support.errors import InputError
from fwkmeans._tabular.format import Format
from fwkmeans._tabular.readers import text
from fwkmeans._tabular.readers.text import TextReader
from fwkmeans._tabular.reading import read_table

pa = pytest.importorskip("pyarrow")

N = 200


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch):
    """Parse a few rows at a time."""
    monkeypatch.setattr(text, "_BLOCK", 300)
    monkeypatch.setattr(text, "_LINES", 2)


def column(make, rng, n_rows=N):
    return [make(rng, at) for at in range(n_rows)]


#: What the cells of a column look like, by row.
CELLS = {
    "whole": lambda rng, at: f"{rng.integers(-50, 900)}",
    "whole and then broken": lambda rng, at: f"{at}" if at < 150 else f"{at}.5",
    "numbers": lambda rng, at: f"{rng.normal():.6g}",
    "large": lambda rng, at: f"{rng.integers(1, 9)}{'0' * 20}",
    "with gaps": lambda rng, at: "" if at % 7 == 0 else f"{rng.normal():.3f}",
    "gaps first": lambda rng, at: "NA" if at < 120 else f"{at}",
    "only gaps": lambda rng, at: "NA",
    "truths": lambda rng, at: ["true", "false"][rng.integers(2)],
    "words": lambda rng, at: ["red", "green", "NA"][rng.integers(3)],
    "codes late": lambda rng, at: f"{at + 10}" if at < 180 else f"0{at}",
    "codes early": lambda rng, at: f"0{at}" if at < 10 else f"{at}",
    "words late": lambda rng, at: f"{at}" if at < 180 else "many",
    "words early": lambda rng, at: "many" if at < 20 else f"{at}",
    "days": lambda rng, at: f"2020-01-{1 + at % 28:02}",
    "days of Europe": lambda rng, at: f"{1 + at % 28}.{1 + at % 12}.2020",
    "compact days": lambda rng, at: f"202001{1 + at % 28:02}",
    "not days": lambda rng, at: f"202001{1 + at % 28:02}" if at < 190 else "99",
    "moments": lambda rng, at: f"2020-01-{1 + at % 28:02}T10:00:00",
    "percents": lambda rng, at: f"{rng.integers(100)}%",
    "money": lambda rng, at: f"${rng.integers(1, 900)}.50",
    "money late": lambda rng, at: f"{at}.25" if at < 150 else f"${at}.50",
    "thousands": lambda rng, at: f'"{1 + at % 9},{at % 10}00"',
    "thousands late": lambda rng, at: f"{at}" if at < 150 else f'"{at},500"',
    "spaces": lambda rng, at: f" {rng.integers(9)} ",
    "lines": lambda rng, at: f'"two\nlines {at % 3}"',
}


def written(path, cells, sep=","):
    rows = [sep.join(cells), *map(sep.join, zip(*cells.values(), strict=True))]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def assert_same_table(reader, table):
    pieces = list(reader.pieces(33))
    assert [piece.num_rows for piece in pieces] == np.diff(reader.bounds(33)).tolist()
    found = pa.concat_tables(pieces)
    assert found.column_names == table.column_names
    for name in table.column_names:
        mine, theirs = found[name], table[name]
        if pa.types.is_temporal(theirs.type):
            assert pa.types.is_temporal(mine.type), name
            mine, theirs = (one.cast(pa.timestamp("s")) for one in (mine, theirs))
        assert mine.type == theirs.type, name
        assert mine.to_pylist() == theirs.to_pylist(), name


@pytest.mark.parametrize("kind", CELLS)
def test_a_column_is_what_it_is_in_memory(tmp_path, rng, kind):
    cells = {kind: column(CELLS[kind], rng), "beside": column(CELLS["whole"], rng)}
    path = written(tmp_path / "table.csv", cells)
    table, remarks = read_table(str(path), Format())
    reader = TextReader([path], "table.csv")
    assert reader.n_rows == N
    assert_same_table(reader, table)
    assert reader.head.schema.equals(next(reader.pieces(10)).schema)
    said, expected = (one.found([kind]) for one in (reader.remarks, remarks))
    assert [one.setting for one in said] == [one.setting for one in expected]


@pytest.mark.parametrize("kind", ["decimal commas", "points and commas", "commas late"])
def test_numbers_as_people_write_them_elsewhere(tmp_path, rng, kind):
    make = {
        "decimal commas": lambda rng, at: f"{at},5",
        "points and commas": lambda rng, at: f"{at},5" if at < 150 else f"1.{at},5",
        "commas late": lambda rng, at: f"{at}" if at < 150 else f"{at},25",
    }[kind]
    cells = {"x": column(make, rng), "y": column(CELLS["whole"], rng)}
    path = written(tmp_path / "table.csv", cells, ";")
    table, _ = read_table(str(path), Format())
    assert pa.types.is_floating(table["x"].type)
    assert_same_table(TextReader([path], "table.csv"), table)


def test_a_given_format_is_kept_to(tmp_path, rng):
    cells = {
        "x": column(lambda rng, at: f"{at},5", rng),
        "code": column(CELLS["whole"], rng),
        "key": column(lambda rng, at: "NA" if at % 2 else f"{at}", rng),
        "z": column(lambda rng, at: "-99" if at % 5 else f"{at}", rng),
    }
    path = written(tmp_path / "table.csv", cells, "\t")
    how = Format(sep="\t", decimal=",", missing=("", "-99"))
    table, _ = read_table(str(path), how, ["code"], keys=["key"])
    reader = TextReader([path], "table.csv", how, ["code"], ["key"])
    assert_same_table(reader, table)
    chosen = reader.select([3, 0])
    assert chosen.names == ["z", "x"]
    assert next(chosen.pieces(5)).to_pylist() == table.select(["z", "x"]).slice(0, 5).to_pylist()


def test_a_file_without_a_header_and_several_files(tmp_path, rng):
    cells = {"a": column(CELLS["numbers"], rng), "b": column(CELLS["words"], rng)}
    path = written(tmp_path / "0.csv", cells)
    headless = tmp_path / "headless.csv"
    headless.write_text(path.read_text().partition("\n")[2])
    table, _ = read_table(str(headless), Format())
    reader = TextReader([headless], "headless.csv")
    assert reader.names == ["column 1", "column 2"]
    assert_same_table(reader, table)
    packed = tmp_path / "1.csv"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    both = TextReader([path, packed], "both")
    assert both.n_rows == 2 * N
    twice = pa.concat_tables([read_table(str(path), Format()).table] * 2)
    assert_same_table(both, twice)
    written(tmp_path / "2.csv", {"a": cells["a"], "c": cells["b"]})
    with pytest.raises(InputError, match=r"The header of .*2\.csv is 'a,c'"):
        TextReader([path, tmp_path / "2.csv"], "both")


def test_encodings(tmp_path, rng):
    cells = {"ä": column(lambda rng, at: "grün" if at < 150 else "weiß", rng)}
    cells["b"] = column(CELLS["whole"], rng)
    path = written(tmp_path / "table.csv", cells)
    text_ = path.read_text("utf-8")
    expected, _ = read_table(str(path), Format())
    path.write_text("\ufeff" + text_, encoding="utf-8")
    assert_same_table(TextReader([path], "t"), expected)
    path.write_text(text_, encoding="cp1252")
    guessed = TextReader([path], "t")
    assert_same_table(guessed, expected)
    assert "Windows" in guessed.remarks.found()[0].text
    path.write_text(text_, encoding="utf-16")
    assert_same_table(TextReader([path], "t", Format(encoding="utf-16")), expected)
    assert_same_table(TextReader([path], "t"), expected)
    with pytest.raises(InputError, match="UTF-16"):
        TextReader([path], "t", Format(encoding="utf-8"))
    with pytest.raises(InputError, match="no encoding 'klingon'"):
        TextReader([path], "t", Format(encoding="klingon"))
    late = text_.encode("ascii", "ignore") + b"\xff\xfe\x81\x81\x81,1\n"
    path.write_bytes(late)
    with pytest.raises(InputError, match="not text in utf-8"):
        TextReader([path], "t")


@pytest.mark.parametrize(
    ("tail", "sentence"),
    [
        ("1,2,3\n", r"a row of 3 cells in line 202 where the header has 2.*'1,2,3'"),
        ("7\n", r"a row of 1 cell in line 202"),
        ('"open,2\n3,4\n', "cannot be read as CSV|a row of 1 cell|does not end"),
    ],
)
def test_rows_that_are_wrong_late_in_a_file(tmp_path, rng, tail, sentence):
    cells = {"a": column(CELLS["whole"], rng), "b": column(CELLS["whole"], rng)}
    path = written(tmp_path / "table.csv", cells)
    path.write_text(path.read_text() + tail)
    with pytest.raises(InputError, match=sentence):
        TextReader([path], "table.csv")


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_quote_that_does_not_end_swallows_no_rows(tmp_path, encoding, packed):
    content = "a,b\n" + "1,é\n" * 30 + '3,"4\n' + "5,é\n" * 50
    path = tmp_path / "table.csv"
    pack = gzip.compress if packed else bytes
    path.write_bytes(pack(content.encode(encoding)))
    with pytest.raises(InputError, match="has a quote that does not end, before '4 5,"):
        TextReader([path], "table.csv", Format(encoding=encoding))
    path.write_bytes(pack((content + '"').encode(encoding)))
    assert TextReader([path], "table.csv", Format(encoding=encoding)).n_rows == 31


@pytest.mark.parametrize("at", [3, 190])
def test_a_stray_text_among_numbers_is_named(tmp_path, rng, at, monkeypatch):
    monkeypatch.setattr(text, "_CODES", 3)  # there are few rows in a block
    numbers = column(CELLS["numbers"], rng)
    stray = [*numbers[:at], "oops", *numbers[at + 1 :]]
    words = column(CELLS["words"], rng)
    path = written(tmp_path / "table.csv", {"a": stray, "b": numbers, "c": words})
    where = rf"It holds 'oops' in row {at + 1} of .*table\.csv, and numbers elsewhere"
    with pytest.warns(UserWarning, match=f"Column 'a' is taken as categories. {where}"):
        WKMeans(n_clusters=2, n_init=1, random_state=0, missing="ignore").fit(path)
    with pytest.raises(ValueError, match=f"Not numeric: columns 'a', 'c' of X.*{where}"):
        KMeans(n_clusters=2).fit(path)
    assert not TextReader([path], "t").about(2)


@pytest.mark.parametrize("odd", ["5%", "\u0661\u0662", "1.234,5"])
def test_numbers_but_for_one_that_is_written_otherwise_are_text_with_a_warning(
    tmp_path, odd, rng, monkeypatch
):
    monkeypatch.setattr(text, "_BLOCK", 1 << 20)
    cells = [f"{number:.6f}" for number in rng.random(30)]
    path = tmp_path / "table.csv"
    path.write_text("a;b\n" + "".join(f"{one};1\n" for one in [*cells, odd]), encoding="utf-8")
    with pytest.warns(UserWarning, match=rf"'{re.escape(odd)}' in row 31 of") as seen:
        WKMeans(2, random_state=0).fit(path)
    assert {one.filename for one in seen} == {__file__}


def test_writing_numbers_with_spaces_throughout_blames_no_cell(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "".join(f"0{n} {n:03} {n:03},1\n" for n in range(1, 40)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        WKMeans(2, random_state=0).fit(path)


def test_rows_longer_than_a_block(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + f"1,{'x' * 5000}\n2,y\n" * 20)
    reader = TextReader([path], "table.csv")
    assert reader.n_rows == 40
    assert pa.concat_tables(reader.pieces(7))["b"].to_pylist() == ["x" * 5000, "y"] * 20


@pytest.mark.parametrize("content", ["", "\n\n", "a,b\n"])
def test_files_without_rows(tmp_path, content):
    path = tmp_path / "table.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=r"empty|no rows"):
        TextReader([path], "table.csv")


def test_a_cut_off_gzip_file(tmp_path, rng):
    cells = {"a": column(CELLS["numbers"], rng), "b": column(CELLS["numbers"], rng)}
    packed = gzip.compress(written(tmp_path / "table.csv", cells).read_bytes())
    path = tmp_path / "table.csv.gz"
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match=r"table\.csv\.gz.*cut short"):
        TextReader([path], "table.csv.gz")


def test_cells_as_they_are_written(tmp_path, rng):
    cells = {"a": column(lambda rng, at: f"{at}.50", rng), "b": column(CELLS["words"], rng)}
    reader = TextReader([written(tmp_path / "table.csv", cells)], "table.csv")
    assert pa.concat_tables(reader.written(9)).to_pydict() == cells
