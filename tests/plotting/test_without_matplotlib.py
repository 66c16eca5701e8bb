import subprocess
import sys

CALLS = [
    "FeatureWeightsDisplay.from_predictions([[1.0]])",
    "ClusterProfilesDisplay.from_predictions([[1.0], [2.0]], [0, 1])",
    "ClusterMapDisplay.from_predictions([[1.0, 2.0], [2.0, 1.0]], [0, 1])",
    "ParameterCurveDisplay.from_predictions([1], [1.0])",
    "ObjectiveHistoryDisplay.from_predictions([1.0])",
    "PartitionAgreementDisplay.from_predictions({'a': [0, 1], 'b': [0, 1]})",
]

BLOCKED = f"""
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
from fwkmeans.plotting import *
for call in {CALLS!r}:
    try:
        eval(call)
    except ImportError as error:
        print(error)
"""


def run(code):
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return found.stdout.splitlines()


def test_import_does_not_import_matplotlib():
    assert run("import sys, fwkmeans.plotting; print('matplotlib' in sys.modules)") == ["False"]


def test_what_is_missing_is_said():
    lines = run(BLOCKED)
    assert len(lines) == len(CALLS)
    for line in lines:
        assert line == (
            "Displays need matplotlib, which is not installed: pip install 'fwkmeans[plot]'."
        )
