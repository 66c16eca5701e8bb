"""Memory: files are read in bounded memory, arrays in memory are not copied."""

import json
import sys

import numpy as np
import pytest

from _core.problems import python

pytest.importorskip("fwkmeans._core.compiled")
pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc/self/status"
)

MEGABYTE = 2**20

PREPARE = """
import json, sys, threading, time, warnings
import numpy as np
from fwkmeans import EWKMeans, KMeans
from fwkmeans.sources import ChunkedSource
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

EWKMeans(2, n_init=1, random_state=0).fit(np.random.default_rng(0).random((5000, 3)))  # load all
"""


@pytest.mark.parametrize(
    ("dtype", "order"), [("f4", "C"), ("f8", "F"), ("i4", "C"), ("i1", "C"), (">f4", "C")]
)
def test_a_file_is_read_in_bounded_memory(tmp_path, dtype, order):
    # some 150 MB, and blocks of 8 MB
    m, block = 25, 8 * MEGABYTE
    n = 150 * MEGABYTE // (m * np.dtype(dtype).itemsize)
    shape = (n, m)
    path = tmp_path / "rows.npy"
    table = np.lib.format.open_memmap(path, "w+", dtype, shape, fortran_order=order == "F")
    line = np.random.default_rng(0).integers(0, 100, 1_000_003).astype(dtype)
    for begin in range(0, n, 40_000):
        rows = table[begin : begin + 40_000]
        rows[...] = np.resize(np.roll(line, begin), rows.shape)
    table.flush()
    del table
    code = """
path, block = sys.argv[1], int(sys.argv[2])
source = ChunkedSource(path, block_bytes=block)
model = EWKMeans(3, init="random", n_init=1, max_iter=2, random_state=0)
with Peak() as fit:
    model.fit(source)
with Peak() as predict:
    model.predict(source)
print(json.dumps([fit.growth, predict.growth]))
"""
    try:
        growth = json.loads(python(PREPARE + code, path, block))
    finally:
        path.unlink()
    labels = 4 * n
    # one block as it is computed on, the next one before it is let go, labels twice, some small
    bound = 2 * block + 3 * labels + 16 * MEGABYTE
    assert bound < 0.6 * 150 * MEGABYTE or np.dtype(dtype).itemsize == 1
    assert max(growth) < bound, [g / MEGABYTE for g in growth]


@pytest.mark.parametrize(
    ("shape", "init"),
    [((500_000, 40), "random"), ((500_000, 40), "k-means++"), ((80_000, 250), "k-means++")],
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_in_memory_is_not_copied(shape, init, order):
    code = """
n, m, init, order = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
X = np.empty((n, m), order=order)
X[...] = np.resize(np.random.default_rng(0).random(1_000_003), (n, m))
model = EWKMeans(3, init=init, n_init=1, max_iter=2, random_state=0)
with Peak() as fit:
    model.fit(X)
with Peak() as predict:
    model.predict(X)
    model.score(X)
print(json.dumps([fit.growth / X.nbytes, predict.growth / X.nbytes]))
"""
    growth = json.loads(python(PREPARE + code, *shape, init, order))
    assert max(growth) < 0.25, growth
