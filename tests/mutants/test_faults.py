"""Every planted fault still has its place in the code."""

import importlib.util
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _faults():
    spec = importlib.util.spec_from_file_location("faults", Path(__file__).with_name("faults.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.FAULTS


FAULTS = _faults()


def test_no_two_faults_have_the_same_name():
    assert [name for name, n in Counter(fault.name for fault in FAULTS).items() if n > 1] == []


@pytest.mark.parametrize("file", sorted({fault.file for fault in FAULTS}))
def test_the_text_of_each_fault_is_found_exactly_once(file):
    text = (ROOT / file).read_text()
    found = {f.name: len(f.pattern().findall(text)) for f in FAULTS if f.file == file}
    assert {name: n for name, n in found.items() if n != 1} == {}
