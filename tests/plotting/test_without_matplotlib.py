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

CODE = f"""
import sys
from fwkmeans.plotting import *
print("matplotlib" in sys.modules)
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
for call in {CALLS!r}:
    try:
        eval(call)
    except ImportError as error:
        print(error)
"""


def test_matplotlib_is_imported_when_needed_and_missed_in_a_sentence():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    is_imported, *errors = done.stdout.splitlines()
    assert is_imported == "False"
    assert errors == len(CALLS) * [
        "Displays need matplotlib, which is not installed: pip install 'fwkmeans[plot]'."
    ]
