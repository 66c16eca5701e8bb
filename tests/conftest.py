"""Fixtures every test may use."""

import itertools
import os
import zlib
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array

from fwkmeans.sources import ChunkedSource

#: Folders whose tests share what takes long to make, such as a browser or a page.
TOGETHER = ("cli", "reports", "survey", "plotting")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Let one process run all tests of such a folder, or else of a file (``pytest -n 2``)."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFolderOrFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            folder = file.split("/")[-2]
            return folder if folder in TOGETHER else file

    config.option.loadscopereorder = False
    return ByFolderOrFile(config, log)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave most cases of large families to ``make test-long``, and sort what remains.

    Begin with what takes long in one process, so that none waits for the other at the end.
    """
    for item in items:
        # by name, so that a case is in the same part however many there are
        if item.get_closest_marker("thinned") and zlib.crc32(item.name.encode()) % 3:
            item.add_marker("long")

    def turn(item):
        folder = item.path.parent.name
        return 0 if folder in TOGETHER else 1 if folder == "tests" else 2

    result = yield
    items.sort(key=turn)
    return result


@pytest.fixture
def global_random_seed():
    """Seed of all random numbers of a test; no test may depend on its value."""
    return int(os.environ.get("FWKMEANS_TEST_SEED", "42"))


@pytest.fixture
def rng(global_random_seed):
    return np.random.default_rng(global_random_seed)


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def dtype(request):
    return request.param


def pieces_of(X):
    """Yield blocks of several sizes, one of them empty."""
    for begin, end in itertools.pairwise([0, 3, 3, 4, 21, max(21, len(X))]):
        yield X[begin:end]


@pytest.fixture(params=["memory", "chunks"])
def source(request, tmp_path):
    """Return what turns an array into something `fit` takes.

    This is the array itself, a file that is read in blocks, a function that gives blocks, or a
    sparse matrix.
    """
    if request.param == "memory":
        return lambda X: X
    if request.param == "sparse":
        return csr_array
    numbers = itertools.count()

    def in_blocks(X):
        X = np.asarray(X)
        path = tmp_path / f"rows{next(numbers)}.npy"
        np.save(path, X)
        rows = path
        if request.param == "blocks":
            rows = partial(pieces_of, X)
        return ChunkedSource(rows, block_bytes=7 * X.shape[1] * X.itemsize + 1)

    return in_blocks


@pytest.fixture(params=["pandas", "polars"])
def df_module(request):
    """Return a module with a `DataFrame`."""
    return pytest.importorskip(request.param)
