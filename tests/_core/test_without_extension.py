"""Where the extension was not built, a sentence says what to do."""

from _core.problems import python

CODE = """
import sys
sys.modules["fwkmeans._core._kernels"] = None
import fwkmeans
try:
    fwkmeans.EWKMeans
except ImportError as error:
    print(error)
"""


def test_a_missing_core_is_named_with_what_to_do():
    printed = python(CODE)
    assert "The compiled core of fwkmeans is missing" in printed
    assert "Install a wheel" in printed
    assert "pip install ." in printed
