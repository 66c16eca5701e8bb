"""Numbers and names as people read them."""

import json

import numpy as np
import pytest

from fwkmeans._support.jsonable import jsonable
from fwkmeans._support.text import (
    aligned,
    count,
    distinct_names,
    for_terminal,
    joined,
    number,
    percent,
    printable,
    rounded,
    shortened,
    two_decimals,
    width_of,
)
from fwkmeans.reports.summarize import _readable


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (5, "5"),
        (1234.5, "1234"),
        (12345.6, "12,346"),
        (12345678.9, "12,345,679"),
        (0.1 + 0.2, "0.3"),
        (-0.12345, "−0.1235"),
        (1e-9, "1.000e-09"),
        (-1e300, "−1.000e+300"),
        (float("nan"), "–"),
        (float("inf"), "–"),
        (None, "–"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("share", "rough", "fine"),
    [
        (0.0, "0%", "0%"),
        (1e-9, "<1%", "<0.1%"),
        (0.004, "<1%", "0.4%"),
        (0.0994, "10%", "9.9%"),
        (0.5, "50%", "50%"),
        (0.9999, ">99%", ">99%"),
        (1.0, "100%", "100%"),
        (None, "–", "–"),
    ],
)
def test_percent(share, rough, fine):
    assert percent(share) == rough
    assert percent(share, fine=True) == fine


def test_small_words():
    assert count(1, "row") == "1 row"
    assert count(2000, "row") == "2,000 rows"
    assert joined(["a"]) == "a"
    assert joined(["a", "b", "c"]) == "a, b and c"
    assert two_decimals(-0.001) == "0.00"
    assert shortened("x" * 100, 10) == "x" * 9 + "…"
    assert distinct_names(["a", "a", "a (2)", "a"]) == ["a", "a (3)", "a (2)", "a (4)"]


def test_names_can_always_be_written():
    assert printable("half \ud800, bell \x07, tab\t") == "half ?, bell \ufffd, tab "
    assert printable(b"bytes \xff") == "bytes \ufffd"
    assert printable("turned \u202e, \u2066 around") == "turned \ufffd, \ufffd around"
    assert printable(3) == "3"
    printable("half \ud800").encode("utf-8")


def test_clean_values_are_ready_for_json():
    values = {"a": np.float32(0.5), 3: [np.nan, np.int64(2), (np.inf,)], "b": np.eye(2)}
    text = json.dumps(jsonable(values), allow_nan=False)
    assert text == '{"a": 0.5, "3": [null, 2, [null]], "b": [[1.0, 0.0], [0.0, 1.0]]}'


def test_parameters_are_described():
    assert _readable(np.zeros((2, 3))) == "ndarray of shape (2, 3)"
    assert _readable(len) == "len"
    assert _readable(float("inf")) == "inf"
    assert _readable({"a": [1]}) == "{'a': [1]}"
    assert _readable(True) is True


def test_columns_align_with_wide_characters():
    rows = [["東京", "1"], ["e\u0301té", "22"], ["abcdef", "3"]]
    lines = aligned(rows, ["town", "n"], right={"n"})
    assert {width_of(line) for line in lines} == {10}
    assert lines[2] == "東京     1"
    assert for_terminal("東京都港区", 6) == "東京…"
    assert width_of(for_terminal("東京都港区", 6)) <= 6


@pytest.mark.parametrize(
    ("value", "scale", "text"),
    [
        (5.5519, 2.7, "5.6"),
        (-0.0012, 5.0, "−0.001"),
        (1996.4, 8.0, "1996.4"),
        (0.0, 1.0, "0"),
        (None, 1.0, "–"),
        (3.25, 0.0, "3.25"),
        (1e12, 1e11, "1.000e+12"),
    ],
)
def test_rounding_to_what_matters(value, scale, text):
    assert rounded(value, scale) == text
