"""Fixtures every test may use."""

import itertools
import os

import numpy as np
import pytest

from fwkmeans.sources import ChunkedSource

#: Folders whose tests share what takes long to make, such as a browser or a page.
TOGETHER = ("cli", "plotting", "reports", "survey")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Let one process run the tests of such a folder (``-n 2 --dist loadgroup``)."""
    for item in items:
        if item.path.parent.name in TOGETHER:
            item.add_marker(pytest.mark.xdist_group(item.path.parent.name))


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


@pytest.fixture(params=["memory", "chunks"])
def source(request, tmp_path):
    """Return what turns an array into something `fit` takes: itself, or a file read in blocks."""
    if request.param == "memory":
        return lambda X: X
    numbers = itertools.count()

    def in_blocks(X):
        X = np.asarray(X)
        path = tmp_path / f"rows{next(numbers)}.npy"
        np.save(path, X)
        return ChunkedSource(path, block_bytes=7 * X.shape[1] * X.itemsize + 1)

    return in_blocks


@pytest.fixture(params=["pandas", "polars"])
def df_module(request):
    """Return a module with a `DataFrame`."""
    return pytest.importorskip(request.param)
