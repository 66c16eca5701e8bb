"""Odd and damaged files: every row is read, or a sentence says why not."""

from __future__ import annotations

import gzip
import io
import os
import re
import subprocess
import sys
import threading
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from fwkmeans._support import files
from fwkmeans._support.errors import InputError
from fwkmeans._tabular import delimited
from fwkmeans._tabular.delimited import HEAD
from fwkmeans._tabular.format import MISSING, Format
from fwkmeans._tabular.reading import read_table


@pytest.fixture
def read(tmp_path):
    """Return what reads a table from bytes, and tells the remarks."""

    def call(content, how=Format(), **options):  # noqa: B008
        path = tmp_path / "t"
        path.write_bytes(content)
        table, remarks = read_table(str(path), how, **options)
        return table, " ".join(one.text for one in remarks.found(table.column_names))

    return call


def refused(read, content, how=Format()):  # noqa: B008
    with pytest.raises(InputError) as caught:
        read(content, how)
    return caught.value


def stream_of(table, **options):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, **options) as writer:
        writer.write_table(table)
    return sink.getvalue()


def parquet_of(table):
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink)
    return sink.getvalue()


def file_of(table):
    sink = io.BytesIO()
    pyarrow.feather.write_feather(table, sink, compression="zstd")
    return sink.getvalue()


# ---- damaged files ------------------------------------------------------------------------------


def test_arrow_files_that_point_outside_of_themselves_are_refused(read):
    whole = stream_of(pa.table({"t": ["a", "b", "cde"], "n": [1, 2, 3]}))
    ends = np.array([0, 1, 2, 5], dtype=np.int32)
    assert whole.count(ends.tobytes()) == 1
    ends[3] = 2**30
    damaged = whole.replace(ends.tobytes()[:12] + b"\x05\x00\x00\x00", ends.tobytes())
    assert "looks like an Arrow stream but cannot be read" in str(refused(read, damaged))
    codes = pa.array([0, 1, 10**6], pa.int32())
    coded = pa.DictionaryArray.from_arrays(codes, pa.array(["x", "y"]), safe=False)
    assert "cannot be read" in str(refused(read, stream_of(pa.table({"d": coded}))))


FLIPS = """
import io, sys
from pathlib import Path
import pyarrow as pa, pyarrow.parquet
from fwkmeans._support.errors import InputError
from fwkmeans._tabular.format import Format
from fwkmeans._tabular.reading import read_table
stream = io.BytesIO()
pa.parquet.write_table(pa.table({"a": [1.5, 2.5, 3.0] * 5, "b": ["x", "y", "z"] * 5}), stream)
content = stream.getvalue()
for at in range(8 * 200, 8 * 240):
    damaged = bytearray(content)
    damaged[at // 8] ^= 1 << at % 8
    Path(sys.argv[1]).write_bytes(damaged)
    try:
        read_table(sys.argv[1], Format())
    except InputError as error:
        assert "t.parquet" in str(error), error
"""


def test_damaged_parquet_never_ends_the_process(tmp_path):
    command = [sys.executable, "-c", FLIPS, tmp_path / "t.parquet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]


def test_damaged_gzip_is_refused(read):
    content = bytearray(gzip.compress(b"a,b\n" + b"1,2\n" * 500, mtime=0))
    sentences = set()
    for at in range(10, len(content)):
        damaged = bytes(content[:at]) + bytes([content[at] ^ 0x55]) + bytes(content[at + 1 :])
        sentences.add(str(refused(read, damaged)))
    assert all("cannot be unpacked" in one for one in sentences)


def test_few_bytes_never_unpack_to_very_many(read):
    content = gzip.compress(b"a,b\n" + b"1,2\n" * 250_000)
    error = refused(read, content, Format(max_unpacked=10**5))
    assert "unpacks to more than 0.0001 GB" in str(error)
    assert (error.setting, error.value) == ("max-unpacked", "0.001")
    assert read(content, Format(max_unpacked=6 * 10**6))[0].num_rows == 250_000


def test_short_cells_of_packed_text_count_for_what_they_become(read):
    content = gzip.compress(b"a,b\n" + b"1,2\n" * 250_000)  # 1 MB, numbers of 4 MB
    refused(read, content, Format(max_unpacked=2 * 10**6))
    plain = gzip.decompress(content)
    assert read(plain, Format(max_unpacked=1))[0].num_rows == 250_000


def test_binary_files_that_hold_much_in_little_are_refused(read):
    table = pa.table({"a": np.zeros(10**6), "b": np.ones(10**6)})
    for content in (
        parquet_of(table),
        stream_of(table, options=pa.ipc.IpcWriteOptions(compression="zstd")),
        file_of(table),
    ):
        assert len(content) < 10**5
        assert "unpacks to more than" in str(refused(read, content, Format(max_unpacked=10**6)))
        assert read(content)[0].num_rows == 10**6
    often = pa.table({"t": ["long" * 1000] * 1000})
    for one in (often, pa.table({"t": often["t"].dictionary_encode()})):
        for content in (parquet_of(one), file_of(one)):
            assert "unpacks to" in str(refused(read, content, Format(max_unpacked=10**6)))
            assert read(content)[0].equals(often)
    wide = pa.table({"a": np.random.default_rng(0).random(1000)})
    assert read(parquet_of(wide), Format(max_unpacked=1))[0].num_rows == 1000  # as large as it is


# ---- text ---------------------------------------------------------------------------------------


def test_long_cells_and_long_headers(read):
    long = "x" * 200_000
    table, _ = read(f"a,b\n{long},1\ny,2\n".encode())
    assert table["a"].to_pylist() == [long, "y"]
    names = [f"{v} {'long' * 400}" for v in range(HEAD // 1500)]
    table, _ = read(f"{';'.join(names)}\n{';'.join('1' for _ in names)}\n".encode())
    assert table.column_names == names
    huge = "y" * 3_000_000
    assert read(f"a,b\n1,2\n{huge},1\n".encode())[0]["a"].to_pylist() == ["1", huge]


@pytest.mark.parametrize(
    "name", ["\u2028", "a\x0bb", "a\x85b", "two\nlines", "two\r\nlines", "\x1c"]
)
def test_headers_with_odd_characters(name, read):
    table, _ = read(f'"{name}","b"\n01,2\n3,4\n'.encode())
    assert table.to_pydict() == {name: ["01", "3"], "b": [2, 4]}


@pytest.mark.parametrize("marks", [1, 2, 3])
def test_marks_at_the_beginning_are_no_part_of_a_name(marks, read):
    table, _ = read(b"\xef\xbb\xbf" * marks + b'"a",b\n1,2\n')
    assert table.column_names == ["a", "b"]


def test_encodings_of_several_bytes_are_not_cut(read):
    text = "größe;b\n" + f"{'ü' * 300};2\n" * 1000
    for encoding in ("utf-8", "utf-16", "utf-16-le", "utf-32", "cp1252"):
        table, _ = read(text.encode(encoding), Format(encoding=encoding))
        assert (table.num_rows, table.column_names) == (1000, ["größe", "b"])
    assert "no encoding 'hex'" in str(refused(read, b"61,62\n", Format(encoding="hex")))


def test_headers_that_look_like_data_are_told(read):
    table, told = read(b"5.1,3.5,setosa\n4.9,3.0,setosa\n")
    assert table.to_pydict() == {
        "column 1": [5.1, 4.9],
        "column 2": [3.5, 3.0],
        "column 3": ["setosa", "setosa"],
    }
    assert "looks like data, so the columns are called 'column 1' to 'column 3'" in told
    for text in (b"7,3,1\n4,3,0\n", b"1,0,0\n4,3,0\n", b"x,b,c\nx,b,d\ne,b,c\n"):
        table, told = read(text)
        assert (table.num_rows, table.column_names[0]) == (text.count(b"\n"), "column 1")
        assert "looks like data" in told
    for text in (b"land,1990,2000,2010\nx,1,2,3\n", b"a,b\nx,b\ny,c\n", b"n,t\n1,x\n"):
        assert read(text)[1] == ""
    assert read(b"7,3,1\n4,3,0\n", Format(header=True))[0].column_names == ["7", "3", "1"]
    assert read(b"a,b\n4,3\n", Format(header=False))[0].num_rows == 2
    assert read(b",b\n4,3\n")[0].column_names == ["column 1", "b"]


def test_numbers_that_mean_a_missing_cell(read):
    how = Format(missing=(*MISSING, "-999", "x"))
    text, _ = read(b"a,b,c\n-999,-999.00,1\n2,0.5,-9.99e2\n", how)
    assert text.to_pydict() == {"a": [None, 2], "b": [None, 0.5], "c": [1.0, None]}
    binary = pa.table({"a": [-999, 2], "b": [-999.0, 0.5], "k": [-999, 1], "u": [1, 2]})
    table, _ = read(stream_of(binary.cast(binary.schema.set(3, pa.field("u", pa.uint8())))), how)
    assert table.drop(["k", "u"]).to_pydict() == {"a": [None, 2], "b": [None, 0.5]}
    assert read(stream_of(binary), how, keys=["k"])[0]["k"].to_pylist() == [-999, 1]


def test_quotes_that_swallow_rows_are_told(read):
    sentence = str(refused(read, b'a,b\n1,2\n3,"4\n5,6\n7,8\n'))
    assert "has a quote that does not end, before '4 5,6 7,8'" in sentence
    assert "does not end" in str(refused(read, b'"a,b\n1,2\n'))
    table, told = read(b'a,b\n1,2\n3,"4\n5,6\n7,"\n8,9\n')
    assert table.num_rows == 3
    assert "the cell '4 5,6 7,' has several lines; if they are rows, a quote is missing" in told
    for fine in (
        b'a,b\n1,"2\n"',
        b'a,b\n1,"x\n""y"""\n',
        b'a,b\n1,"x\ny"\n',
        b'a,b\n1,""',
        b'a,b\n1,"',
    ):
        assert read(fine)[0].num_rows == 1
        assert read(fine)[1] == ""


# ---- workbooks ----------------------------------------------------------------------------------


def workbook(rows, dimension=None, members=None):
    """Return a workbook; its sheet may say another size than it has."""
    book = pytest.importorskip("openpyxl").Workbook()
    for row in rows:
        book.active.append(row)
    plain, stream = io.BytesIO(), io.BytesIO()
    book.save(plain)
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = (members or {}).get(name, old.read(name))
            if dimension is not None and b"<dimension" in data:
                begin, end = data.index(b"<dimension"), data.index(b"/>")
                data = data[:begin] + dimension + data[data.index(b"/>", begin) + 2 :]
                assert end > 0
            new.writestr(name, data)
    return stream.getvalue()


@pytest.mark.parametrize("dimension", [b'<dimension ref="A1:A3"/>', b'<dimension ref="A1"/>', b""])
def test_rows_beyond_the_stated_size_of_a_sheet_are_read(dimension, read):
    rows = [["a", "b"], *([i, i * i] for i in range(40))]
    table, told = read(workbook(rows, dimension))
    assert table.to_pydict() == {"a": list(range(40)), "b": [i * i for i in range(40)]}
    assert told == ""


def test_sheets_without_a_header_or_with_a_title_are_told(read):
    table, told = read(workbook([[5.1, 3.5], [4.9, 3.0], [4.7, 3.2]]))
    assert table.to_pydict() == {"column 1": [5.1, 4.9, 4.7], "column 2": [3.5, 3.0, 3.2]}
    assert "looks like data" in told
    rows = [["My title"], [None, "of", 2024], ["a", "b", None, "d"], [1, 2, None, 4]]
    table, told = read(workbook([rows[0], *rows[2:]]))
    assert table.to_pydict() == {"a": [1], "b": [2], "d": [4]}
    assert "The first row of sheet 'Sheet' ('My title') is a title, not a header, and was" in told
    for skip, first in ((0, "My title"), (1, "of"), (2, "a")):
        assert first in read(workbook(rows), Format(skip=skip))[0].column_names
    table, told = read(workbook([["My", "title"], ["a", "b", None, "d"], [1, 2, None, 4]]))
    assert table.column_names == ["My", "title", "column 4"]
    assert "names 2 columns of 3; the others are called 'column 4'" in told
    assert "If that row is a title, remove it." in told


def test_far_cells_and_huge_numbers_of_a_sheet(read):
    rows = [["a", "b"], [1, 2], [10**20, 3]]
    table, _ = read(workbook(rows))
    assert table["a"].to_pylist() == ["1", str(10**20)] or table["a"].to_pylist() == [1.0, 1e20]
    book = pytest.importorskip("openpyxl").Workbook()
    book.active["A1"], book.active["B1"], book.active["A2"] = "a", "b", 1
    book.active.cell(3, 16_384, "far")
    stream = io.BytesIO()
    book.save(stream)
    table, told = read(stream.getvalue())
    assert table.column_names == ["a", "b", "column 16384"]
    assert "column 16384" in told


def test_broken_workbooks_are_refused(read):
    sheet = "xl/worksheets/sheet1.xml"
    for broken in (b"<worksheet><sheetData><row><c t='n'><v>x</v>", b"", b"<a/>", b"\xff" * 9):
        content = workbook([["a", "b"], [1, 2]], members={sheet: broken})
        assert str(refused(read, content))
    plain = workbook([["a", "b"], [1, 2]])
    assert "unpacks to more than" in str(refused(read, plain, Format(max_unpacked=1000)))


def with_sheet(content, change):
    """Return a workbook with another text of its sheet."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        xml = archive.read("xl/worksheets/sheet1.xml")
        members = {name: archive.read(name) for name in archive.namelist()}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, change(xml) if name == "xl/worksheets/sheet1.xml" else data)
    return stream.getvalue()


@pytest.mark.parametrize("number", [b"1", b"2", b"1048577", b"99999999999"])
def test_rows_of_a_sheet_that_are_numbered_wrongly_are_refused(number, read):
    plain = workbook([["a", "b"], [1, 2], [3, 4]])
    damaged = with_sheet(plain, lambda xml: xml.replace(b'r="3"', b'r="' + number + b'"'))
    assert f"row 2 is followed by row {int(number)}" in str(refused(read, damaged))


def test_formulas_that_were_never_computed_are_told(read):
    plain = workbook([["a", "b"], [1, "=A2*2"], [3, "=A3*2"], [5, 7]])
    table, told = read(plain)
    assert table["b"].to_pylist() == [None, None, 7]
    assert "2 formulas of column 'b' (B2, B3) were never computed and counted as missing" in told

    def computed(xml):  # some writers close an empty element at once, some do not
        return re.sub(rb"<f>A2\*2</f><v( ?/>|></v>)", b"<f>A2*2</f><v>2</v>", xml)

    def empty_text(xml):
        return computed(xml).replace(b'r="B3"><f>A3*2</f>', b'r="B3" t="str"><f>&quot;&quot;</f>')

    assert "1 formula of column 'b' (B3) was never computed" in read(with_sheet(plain, computed))[1]
    table, told = read(with_sheet(plain, empty_text))
    assert table["b"].to_pylist() == [2, None, 7]
    assert told == ""


# ---- pipes --------------------------------------------------------------------------------------

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")


@needs_pipes
def test_pipes_are_read_like_files(tmp_path):
    pipe = tmp_path / "p"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b"a,b\n1,2\n"))
    writer.start()
    assert read_table(str(pipe), Format()).table.to_pydict() == {"a": [1], "b": [2]}
    writer.join()


@needs_pipes
def test_pipes_that_nothing_writes_to_are_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PATIENCE", 0.05)
    os.mkfifo(tmp_path / "p")
    before = threading.active_count()
    with pytest.raises(InputError, match="a pipe that nothing writes to"):
        read_table(str(tmp_path / "p"), Format())
    assert threading.active_count() == before


def test_closed_stdin_is_told(monkeypatch):
    for stdin in (None, io.TextIOWrapper(io.BytesIO())):
        if stdin is not None:
            stdin.close()
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(InputError, match="stdin is closed"):
            read_table("-", Format())


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("true", "FALSE", pa.bool_()),
        ("-inf", "1", pa.float64()),
        ("+Infinity", "1", pa.float64()),
        ("red", "1", pa.string()),
        ("", "1", pa.int64()),
        ("x", "2020-01-01", pa.string()),
    ],
)
def test_the_first_cell_does_not_decide_alone(first, second, kind, read):
    table, _ = read(f"a,b\n{first},1\n{second},2\n".encode())
    assert table["a"].type == kind


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there are no such devices")
def test_devices_are_not_read(tmp_path):
    (tmp_path / "t.csv").symlink_to("/dev/zero")  # has no end
    with pytest.raises(InputError, match="is a device"):
        read_table(str(tmp_path / "t.csv"), Format())


def test_columns_of_a_wide_table_are_read_together_as_one_by_one(tmp_path, monkeypatch):
    """Plain numbers are found for many columns at once; nothing else may be taken for them."""
    rng = np.random.default_rng(0)
    kinds = (
        *("1.5", "-.5", "2e3", "-1.5E-7", "0.0", "007", "00.5", "12", "-3", "+4.5", "5.", " 6.5"),
        *("1e999", "NA", "", "nan", "inf", "-", "20240131", "2024-01-31", "1,234.5", "12 %"),
        *("true", "word", "9" * 25, "-0"),
    )
    usual = [f"{one:.3f}" for one in rng.normal(size=9)]
    columns = [[*rng.permutation([*usual, one, rng.choice(kinds)])] for one in kinds for _ in "ab"]
    columns += [[f"{one:.4g}" for one in rng.normal(size=11)] for _ in range(30)]
    columns += [["12"] * 10 + ["12.5"], ["NA"] * 11, ["1.5"] + ["NA"] * 10]
    header = [f"c{v}" for v in range(len(columns))]
    rows = [header, *zip(*columns, strict=True)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(",".join(f'"{cell}"' for cell in row) for row in rows) + "\n")
    for how in (Format(), Format(missing=("NA", "1.5")), Format(decimal=",")):
        together, said = read_table(str(path), how, text=["c50"], keys=["c51"])
        with monkeypatch.context() as patch:
            patch.setattr(delimited, "MANY_COLUMNS", 10**9)
            alone, expected = read_table(str(path), how, text=["c50"], keys=["c51"])
        assert together.schema == alone.schema
        assert repr(together.to_pylist()) == repr(alone.to_pylist())  # NaN included
        assert said.found(header) == expected.found(header)
