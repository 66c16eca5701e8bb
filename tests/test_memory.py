"""Memory: files are read in bounded memory, arrays in memory are not copied."""

import json
import sys

import numpy as np
import pytest

from _core.problems import python

pytest.importorskip("fwkmeans._core.compiled")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/status"),
]

MEGABYTE = 2**20
BLOCK = 8 * MEGABYTE

# type, order, megabytes, columns, init
FILES = {
    "float32": ("f4", "C", 100, 25, "random"),
    "float64, Fortran": ("f8", "F", 100, 25, "random"),
    "int32": ("i4", "C", 100, 25, "random"),
    "int8": ("i1", "C", 50, 100, "random"),
    "long, k-means++": ("f4", "C", 100, 10, "k-means++"),
    "wide, k-means++": ("f4", "C", 100, 500, "k-means++"),
}

SAMPLE = 16 * MEGABYTE  # rows that k-means++ looks at, however many there are

# rows, columns, order, init
ARRAYS = {
    "random": (250_000, 40, "C", "random"),
    "random, Fortran": (250_000, 40, "F", "random"),
    "long, k-means++": (1_000_000, 10, "C", "k-means++"),
    "wide, k-means++": (40_000, 250, "C", "k-means++"),
    "wide, k-means++, Fortran": (40_000, 250, "F", "k-means++"),
}

# algorithms that keep labels or weights beside the rows of a file
KEEPERS = {
    "IK-P": "IKPrototypes(3, init='random', n_init=3, max_iter=2, random_state=0)",
    "iMWK-Means": "IMWKMeans(3, p=1.5, init='random', n_init=2, max_iter=1, random_state=0)",
    "patterns": "KMeans(2, init='anomalous', max_iter=2)",
    "weighted patterns": "IMWKMeans(2, init='anomalous', max_iter=2)",
}
KEPT_ROWS = 500_000

# algorithms that look for patterns among rows in memory
SEARCHES = {
    "iMWK-Means": "IMWKMeans(2, init='anomalous', max_iter=2)",
    "K-Means": "KMeans(2, init='anomalous')",
}
SEARCHED_ROWS = 600_000

CODE = """
import json, sys, threading, warnings
from pathlib import Path
import numpy as np
import sklearn.metrics  # k-means++ of many rows imports it: this is no memory of a fit
from fwkmeans import EWKMeans, IKPrototypes, IMWKMeans, KMeans
from fwkmeans.sources import ChunkedSource
from test_memory import ARRAYS, BLOCK, FILES, KEEPERS, KEPT_ROWS, SEARCHED_ROWS, SEARCHES, fill
warnings.simplefilter("ignore")

def anonymous():
    # bytes that are neither a file's nor shared: what the process itself takes
    for line in open("/proc/self/status"):
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024

class Peak(threading.Thread):
    def __enter__(self):
        self.first = self.highest = anonymous()
        self.over = threading.Event()
        self.start()
        return self

    def run(self):
        while not self.over.wait(0.001):
            self.highest = max(self.highest, anonymous())

    def __exit__(self, *_):
        self.over.set()
        self.join()
        self.growth = max(self.highest, anonymous()) - self.first

def growth(rows, init):
    model = EWKMeans(3, init=init, n_init=1, max_iter=2, random_state=0)
    with Peak() as fit:
        model.fit(rows)
    with Peak() as predict:
        model.predict(rows)
    with Peak() as score:
        model.score(rows)
    return [fit.growth, predict.growth, score.growth]

growth(np.random.default_rng(0).random((5000, 3)), "k-means++")  # loads all there is to load
found = {}
X = np.random.default_rng(0).standard_normal((SEARCHED_ROWS, 20), dtype="f4")
X[::2, :5] += 6
for name, code in SEARCHES.items():
    eval(code).fit(X[:2000])
    with Peak() as fit:
        eval(code).fit(X)
    found["search " + name] = fit.growth
del X
for name, (n, m, order, init) in ARRAYS.items():
    X = np.empty((n, m), order=order)
    fill(X)
    found["array " + name] = growth(X, init)
    del X
for name, (dtype, order, size, m, init) in FILES.items():
    path = Path(sys.argv[1], "rows.npy")
    shape = (size * 2**20 // (m * np.dtype(dtype).itemsize), m)
    X = np.lib.format.open_memmap(path, "w+", dtype, shape, fortran_order=order == "F")
    fill(X)
    X.flush()
    del X
    found["file " + name] = growth(ChunkedSource(path, block_bytes=BLOCK), init)
    path.unlink()
rng = np.random.default_rng(0)
rows = rng.normal(size=(KEPT_ROWS, 3)) + 4 * rng.integers(0, 2, (KEPT_ROWS, 1))
np.save(path, rows.astype("f4"))
del rows
for name, code in KEEPERS.items():
    eval(code).fit(rng.random((2000, 3)))
    with Peak() as fit:
        eval(code).fit(ChunkedSource(path, block_bytes=2**18))
    found["kept " + name] = fit.growth
print(json.dumps(found))
"""


def fill(X):
    line = np.random.default_rng(0).integers(0, 100, 200_003).astype(X.dtype)
    for begin in range(0, len(X), 10_000):
        rows = X[begin : begin + 10_000]
        rows[...] = np.resize(line[begin % 9973 :], rows.shape)


@pytest.fixture(scope="module")
def growth(tmp_path_factory):
    return json.loads(python(CODE, tmp_path_factory.mktemp("memory")))


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_in_bounded_memory(growth, name):
    dtype, _, size, m, _ = FILES[name]
    n = size * MEGABYTE // (m * np.dtype(dtype).itemsize)
    # a block as it is computed on, the next one before that is let go, one that is read ahead,
    # labels, small things; k-means++ looks at a sample of rows
    sample = SAMPLE if "k-means++" in name else 0
    bound = 3 * BLOCK + 3 * 4 * n + sample + 16 * MEGABYTE
    assert max(growth["file " + name]) < bound, [g / MEGABYTE for g in growth["file " + name]]


@pytest.mark.parametrize("name", KEEPERS)
def test_what_is_kept_beside_the_rows_of_a_file_leaves_memory(growth, name):
    labels = 4 * KEPT_ROWS  # that the model shows in the end
    assert growth["kept " + name] < labels + 8 * MEGABYTE, growth["kept " + name] / MEGABYTE


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_for_patterns_takes_a_quarter_of_the_rows(growth, name):
    share = growth["search " + name] / (4 * SEARCHED_ROWS * 20)
    assert share < 0.27, share  # threads and small things weigh more than in a million rows


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_in_memory_is_not_copied(growth, name):
    n, m, *_ = ARRAYS[name]
    sample = SAMPLE if "k-means++" in name else 0
    fractions = [(g - sample) / (8 * n * m) for g in growth["array " + name]]
    assert max(fractions) < 0.25, fractions
