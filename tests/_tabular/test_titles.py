"""Titles above a table are skipped and told, and no header is taken for one."""

from __future__ import annotations

import pytest

from fwkmeans._support.errors import InputError
from fwkmeans._tabular.format import Format
from fwkmeans._tabular.readers.text import TextReader
from fwkmeans._tabular.reading import read_table
from fwkmeans._tabular.titles import title_rows

BODY = "city,n,m\n" + "".join(f"c{i},{i},{2 * i}\n" for i in range(9))


@pytest.fixture(params=["memory", "blocks"])
def read(request, tmp_path):
    """Return what reads text and gives its columns, rows and remarks."""

    def call(text, how=Format()):  # noqa: B008
        path = tmp_path / "t.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        if request.param == "memory":
            table, remarks = read_table(str(path), how)
        else:
            reader = TextReader([path], "t.csv", how)
            (table,), remarks = reader.pieces(1000), reader.remarks
        return table.column_names, table.num_rows, [one.text for one in remarks.found()]

    return call


@pytest.mark.parametrize(
    ("above", "n"),
    [
        ("Sales 2024\n", 1),
        ("Sales\r\n\r\nof the north\r\n", 3),
        ('"Sales, of\nthe north",,\n,,\n', 3),
        ("# made by hand\n# on Monday\n", 2),
    ],
)
@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_titles_are_skipped(above, n, sep, read):
    names, n_rows, told = read(above.replace(",,", 2 * sep) + BODY.replace(",", sep))
    assert (names, n_rows) == (["city", "n", "m"], 9)
    lines = "line of" if n == 1 else f"{n} lines of"
    assert told[0].startswith(f"The first {lines} t.csv (")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (BODY, ["city", "n", "m"]),
        ("a;b\n1,5;2\n2,25;3\n4,5;6\n", ["a", "b"]),
        (",x\n" + "r1,1\n" * 9, ["column 1", "x"]),
        (",,x\n" + "r1,1,2\n" * 9, ["column 1", "column 2", "x"]),
        ("a,\n" + "r1,1\n" * 9, ["a", "column 2"]),
        ("a,b\n" + "1,\n2,\n3,\n" * 9, ["a", "b"]),
        ("name\n" + "x\ny\n" * 9, ["name"]),
    ],
)
def test_headers_are_no_titles(text, names, read):
    found, _, told = read(text)
    assert found == names
    assert not any("title, not" in one for one in told)


def test_lines_are_skipped_as_told(read):
    assert read("x\ny,z\n\n" + BODY, Format(skip=3))[:2] == (["city", "n", "m"], 9)
    assert not read("Title\n" + BODY, Format(skip=1))[2]
    with pytest.raises(InputError) as caught:
        read("Title\n" + BODY, Format(skip=0))
    assert caught.value.setting == "skip"
    with pytest.raises(InputError, match="is empty"):
        read(BODY, Format(skip=99))


def test_what_looks_like_data_is_no_header():
    numbers = [["1", "2", "3"]] * 9
    assert title_rows([["Title"], *numbers]) == 0
    assert title_rows([["Title"], ["a", "b", "c"], *numbers]) == 1
    assert title_rows([["Title"], ["a", "b", "c"]]) == 0
    assert title_rows([["Title"], *[["a"]] * 9]) == 0
