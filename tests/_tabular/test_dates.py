"""Dates in every common order, against Python's own reading of them."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest

from fwkmeans._tabular.dates import ages, derive, derived_from, parts_of, read_dates

MOMENTS = [
    datetime(2000 + i % 30, 1 + i % 12, 1 + i % 28, i % 24, i % 60) for i in range(5, 400, 7)
]


@pytest.mark.parametrize(
    "form",
    [
        *("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%d.%m.%y"),
        *("%m/%d/%y", "%Y%m%d", "%d %b %Y", "%d-%b-%y", "%d. %B %Y", "%b %d, %Y", "%B %d, %Y"),
        *("%b %d %Y", "%a, %d %b %Y", "%a %b %d %Y", "%Y-%m", "%b %Y", "%b-%y"),
        *("%m/%d/%Y %H:%M", "%d.%m.%Y %H:%M:00", "%m/%d/%Y %I:%M %p", "%b %d, %Y, %I:%M:00 %p"),
        *("%d %b %Y %H:%M:00 GMT", "%a %b %d %Y %H:%M:00 GMT+0000 (UTC)", "%Y%m%dT%H%M00"),
    ],
)
def test_every_order_is_read_as_python_reads_it(form):
    texts = [one.strftime(form) for one in MOMENTS]
    found = read_dates([*texts, None])
    expected = [datetime.strptime(text, form) for text in texts]
    assert found.moments[:-1].tolist() == expected
    assert np.isnat(found.moments[-1])
    assert not found.is_ambiguous


def test_words_of_other_languages_and_quarters():
    assert read_dates(["3. März 2020", "1. Dez. 2019"]).moments.astype("M8[D]").astype(
        str
    ).tolist() == [
        "2020-03-03",
        "2019-12-01",
    ]
    assert read_dates(["2020Q3", "2021 Q1"]).moments.astype("M8[M]").astype(str).tolist() == [
        "2020-07",
        "2021-01",
    ]


@pytest.mark.parametrize(
    "cells",
    [
        ["13/14/2000"],
        ["31.2.2000"],
        ["1.5", "2.5"],
        ["1-2-3"],
        ["abc 2000"],
        ["2000-01-01", "x"],
        ["10.0.0.1"],
        ["25:61"],
        ["2020-13"],
        ["May B 12"],
        [None],
    ],
)
def test_what_is_no_date(cells):
    assert read_dates(cells) is None


def test_an_order_that_cannot_be_told_is_said():
    assert read_dates(["1/2/2000", "3/4/2000"]).is_ambiguous
    assert read_dates(["1/2/2000"]).moments[0] == np.datetime64("2000-01-02")
    assert read_dates(["1.2.2000"]).moments[0] == np.datetime64("2000-02-01")


def test_ages_and_parts_can_be_made_again_from_their_names():
    moments = np.array(["2020-02-29T12:30", "NaT", "2019-02-28T12:00"], dtype="M8[s]")
    age = ages("born", moments)
    (name,) = age
    assert name == "born (years before 2020-02-29)"
    days = np.array([-(12.5 / 24), np.nan, 366 - 0.5])
    np.testing.assert_allclose(age[name], days / 365.2425)
    parts = parts_of("born", moments)
    assert list(parts) == ["born: year", "born: weekday", "born: hour"]  # the month is the same
    assert parts["born: weekday"].tolist() == ["Sat", None, "Thu"]
    np.testing.assert_array_equal(parts["born: hour"], [12.5, np.nan, 12.0])
    for one, cells in (age | parts).items():
        assert derived_from(one, ["x", "born"]) == "born"
        np.testing.assert_array_equal(derive(one, moments), cells)
    assert derived_from("born: color", ["born"]) is None
    assert derived_from("dead: year", ["born"]) is None
