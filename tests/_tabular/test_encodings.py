"""Text that is not in UTF-8 is read as what it is, or asked about with what it would read."""

from __future__ import annotations

import pytest

from fwkmeans._support.errors import InputError
from fwkmeans._tabular.encodings import is_sure, odd_lines, readings
from fwkmeans._tabular.format import Format
from fwkmeans._tabular.readers.text import TextReader
from fwkmeans._tabular.reading import read_table

TEXTS = {
    "cp1251": "город,население\nМосква,1\nКазань,2\nСАМАРА,3\n",
    "gb18030": "城市,人口\n北京,1\n上海,2\n广州,3\n",
    "cp1252": "name,größe\nMüller,5\nJosé,3\nMÜNCHEN,7\n5 °C,1\n",
    "shift_jis": "都市,人口\n東京,1\nおおさか,2\n",
    "big5": "城市,人口\n臺北,1\n高雄,2\n",
    "utf-16": "city,größe\nKöln,1\n北京,2\n",
    "utf-32": "city,größe\nKöln,1\n北京,2\n",
}


def tables_of(path):
    """Return a table as it is read in memory and in blocks, with the remarks."""
    table, remarks = read_table(str(path), Format())
    yield table, remarks
    reader = TextReader([path], "t.csv")
    (piece,) = reader.pieces(1000)
    yield piece, reader.remarks


@pytest.mark.parametrize("encoding", TEXTS)
def test_encodings_are_found(encoding, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(TEXTS[encoding].encode(encoding))
    lines = [line.split(",") for line in TEXTS[encoding].splitlines()]
    for table, remarks in tables_of(path):
        assert table.column_names == lines[0]
        assert table.column(0).to_pylist() == [line[0] for line in lines[1:]]
        told = [one for one in remarks.found() if one.setting == "encoding"]
        if not encoding.startswith("utf"):
            assert f"({encoding})." in told[0].text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("euc-kr", "도시,인구\n서울,1\n부산,2\n"),
        ("koi8-r", "город,n\nМосква,1\n"),
        ("cp1250", "město,n\nŁódź,1\npříliš,2\nżółw,3\n"),
    ],
)
def test_what_is_not_sure_is_asked_about(encoding, text, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode(encoding))
    sentences = set()
    for read in (lambda: read_table(str(path), Format()), lambda: TextReader([path], "t.csv")):
        with pytest.raises(InputError) as caught:
            read()
        assert caught.value.setting == "encoding"
        assert caught.value.value is None  # nothing is advised that may be wrong
        sentences.add(str(caught.value))
    if encoding == "euc-kr":
        assert all("as euc-kr '도시,인구" in one for one in sentences)


def test_utf8_with_a_damaged_byte_is_nothing_else():
    data = "größe,naïve,Köln,Москва\n".encode() + b"\xff\n"
    assert not is_sure(readings(data))


def test_lines_that_pieces_cut_are_not_looked_at():
    data = ("a\n" + "北京上海\n" * 9).encode("gb18030")
    pieces = [data[at : at + 7] for at in range(0, len(data), 7)]
    whole = [line for line in odd_lines(pieces).split(b"\n") if line]
    assert all(line.decode("gb18030") == "北京上海" for line in whole if len(line) == 8)
    assert odd_lines([data]).count(b"\n") == 8
