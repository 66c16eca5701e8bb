import subprocess
import sys

import pytest

BLOCKED = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
"""


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_import_does_not_import_matplotlib():
    found = run("import sys, fwkmeans.plotting; print('matplotlib' in sys.modules)")
    assert found.stdout.strip() == "False"


@pytest.mark.parametrize(
    "call",
    [
        "FeatureWeightsDisplay.from_predictions([[1.0]])",
        "ObjectiveHistoryDisplay.from_predictions([1.0])",
        "ParameterCurveDisplay.from_predictions([1], [1.0])",
    ],
)
def test_what_is_missing_is_said(call):
    found = run(f"{BLOCKED}\nfrom fwkmeans.plotting import *\n{call}")
    assert 'pip install "fwkmeans[plot]"' in found.stderr
    assert call.partition(".")[0] in found.stderr.splitlines()[-1]
