"""Numbers written by people, against numbers that were written that way."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from fwkmeans._tabular.numerals import as_people_write

RNG = np.random.default_rng(0)
AMOUNTS = np.round(RNG.normal(size=60) * 10.0 ** RNG.integers(0, 8, 60), 2)


def european(number):
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


@pytest.mark.parametrize(
    "write",
    [
        lambda x: f"{x:,.2f}",
        lambda x: f"${x:,.2f}",
        lambda x: f"-${-x:,.2f}" if x < 0 else f"$ {x:,.2f}",
        lambda x: f"(${-x:,.2f})" if x < 0 else f"${x:,.2f}",
        lambda x: f"{x:,.2f} USD",
        european,
        lambda x: f"{european(x)} €",
        lambda x: f"€ {european(x)}",
        lambda x: european(x).replace(".", "\u202f"),
        lambda x: f"CHF {x:,.2f}".replace(",", "'"),
        lambda x: f"{x:,.2f}".replace("-", "\u2212"),
        lambda x: f"{x:.2f} %",
        lambda x: f"{x:.2f}%".replace(".", ","),
    ],
)
def test_numbers_are_read_as_they_were_written(write):
    cells = pa.chunked_array([pa.array([*map(write, AMOUNTS), None])])
    found = as_people_write(cells, None, ";").cells.cast(pa.float64())
    assert found.to_pylist() == [*AMOUNTS.tolist(), None]


@pytest.mark.parametrize(
    ("cells", "decimal", "expected"),
    [
        (["14.891,00", "3"], None, [14891.0, 3.0]),
        (["14.891,00", "3"], ",", [14891.0, 3.0]),
        (["14.891", "3,5"], ",", [14891.0, 3.5]),
        (["14.891,00"], ".", None),
        (["14.89,00"], ",", None),
        (["1.2.3"], None, None),
        (["192.168.1.1"], None, None),
        (["$5", "x"], None, None),
        (["5 km"], None, None),
        (["$"], None, None),
        (["12 %", "x"], None, None),
        (["1 234", "5"], None, [1234.0, 5.0]),
        (["1 23", "5"], None, None),
        (["(1,234.5)", "5", "-2"], None, [-1234.5, 5.0, -2.0]),
        (["(1)", "(2)"], None, None),
        (["(1)", "x"], None, None),
    ],
)
def test_what_is_a_number(cells, decimal, expected):
    found = as_people_write(pa.chunked_array([pa.array(cells)]), decimal, ";")
    assert (found and found.cells.cast(pa.float64()).to_pylist()) == expected
