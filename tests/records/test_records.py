"""Records notice every change, and nothing else."""

import numpy as np
import pytest

from records.cases import all_cases
from records.run import as_text, compare, from_text, record_of, same


def test_the_last_bit_of_any_value_counts():
    value = {"labels_": np.arange(3), "modes_": {"color": ["red", None]}, "inertia_": 0.5}
    others = [
        value | {"inertia_": np.nextafter(0.5, 1)},
        value | {"labels_": np.arange(3, dtype=np.int32)},
        value | {"modes_": {"color": ["red", "blue"]}},
        value | {"labels_": np.arange(3)[None]},
    ]
    assert record_of(value) == record_of(dict(reversed(value.items())))
    assert len({record_of(each) for each in [value, *others]}) == 5


def test_numbers_that_went_through_blas_need_only_be_close():
    labels, numbers = np.arange(3), np.array([1.0, -2.0, 1e5])
    before = record_of([labels, numbers], close=True)
    assert same(before, record_of([labels, numbers * (1 + 1e-9)], close=True))
    assert not same(before, record_of([labels, numbers * (1 + 1e-4)], close=True))
    assert not same(before, record_of([labels[::-1], numbers], close=True))
    assert not same(before, record_of([labels, numbers[:2]], close=True))


def test_a_change_is_told_by_case_and_attribute():
    before = {
        "x86_64_v4": {"a, 3 x 4": {"x_": "1", "y_": "2"}, "b": {"x_": "1"}},
        "baseline": {"a, 3 x 4": {"x_": "1", "y_": "3"}, "b": {"x_": "1"}},
    }
    assert from_text(as_text(before)) == before
    assert compare(before, before) == []
    after = {
        level: {**cases, "a, 3 x 4": {"x_": "1", "z_": "2"}} for level, cases in before.items()
    }
    assert compare(before, after) == ["a, 3 x 4: +z_ -y_ (x86_64_v4, baseline)"]
    assert compare({}, {"baseline": {}})[0].startswith("nothing is recorded for baseline")


@pytest.mark.parametrize("name", ["EW-KM, default, 300 x 4", "WK-Means, categories, 400 x 7"])
def test_a_case_is_the_same_twice(name):
    case = next(case for case in all_cases() if case.name == name)
    first, second = ({at: record_of(v) for at, v in case.make(n).items()} for n in (1, 2))
    assert first == second
    assert {"labels_", "inertia_", "predict", "transform", "warnings"} <= set(first)
