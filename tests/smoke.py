"""What an installed wheel must do, in any environment: `python tests/smoke.py`."""

import shutil
import sys

from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

import fwkmeans
from fwkmeans._core import compiled

assert compiled is not None, "the compiled core is missing"
X, y = load_iris(return_X_y=True)
model = fwkmeans.EWKMeans(3, random_state=0).fit(X)
assert adjusted_rand_score(y, model.labels_) > 0.6
assert (model.predict(X) == model.labels_).all()
compilers = [name for name in ("c++", "g++", "clang++", "cl") if shutil.which(name)]
sys.stdout.write(
    f"fwkmeans {fwkmeans.__version__} on Python {sys.version.split()[0]}: "
    f"{compiled.instruction_set()}, compilers at hand: {compilers or 'none'}\n"
)
