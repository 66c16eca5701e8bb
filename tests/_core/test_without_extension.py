"""Where the extension was not built, the package works through the twin and says so once."""

import json

import numpy as np
import pytest

from _core.problems import python
from fwkmeans import EWKMeans, WKMeans

CODE = """
import json, sys, warnings
sys.modules["fwkmeans._core._kernels"] = None
import numpy as np
from _core.test_without_extension import fits
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from fwkmeans import _core
    found = fits()
    found.update(fits())
assert _core.compiled is None
print(json.dumps([[w.category.__name__, str(w.message)] for w in caught]))
np.savez(sys.argv[1], **found)
"""


def fits():
    rng = np.random.default_rng(3)
    found = {}
    for dtype in (np.float32, np.float64):
        X = (rng.normal(size=(6000, 4)) + 5 * rng.integers(0, 3, (6000, 1))).astype(dtype)
        for model in (EWKMeans(3, random_state=0, n_init=2), WKMeans(3, random_state=0, n_init=2)):
            name = f"{type(model).__name__}-{np.dtype(dtype)}"
            model.fit(X)
            found[name + "-labels"] = model.labels_
            found[name + "-centers"] = model.cluster_centers_
            found[name + "-weights"] = model.feature_weights_
            found[name + "-distances"] = model.transform(X[:50])
            found[name + "-inertia"] = np.asarray([model.inertia_, -model.score(X)])
    return found


def test_package_works_without_the_extension_and_warns_once(tmp_path):
    pytest.importorskip("fwkmeans._core.compiled")
    printed = python(CODE, tmp_path / "found.npz")
    caught = json.loads(printed.strip().splitlines()[-1])
    assert [category for category, _ in caught] == ["RuntimeWarning"], caught
    assert "compiled core of fwkmeans is not available" in caught[0][1]
    found = np.load(tmp_path / "found.npz")
    for name, expected in fits().items():
        rtol = 1e-5 if "float32" in name and "inertia" not in name else 1e-8
        np.testing.assert_allclose(found[name], expected, rtol=rtol, atol=1e-9)
