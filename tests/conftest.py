"""Fixtures every test may use."""

import itertools
import os

import numpy as np
import pytest

from fwkmeans.sources import ChunkedSource


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
