"""Figures without a screen, closed after each test."""

import numpy as np
import pytest

from fwkmeans.datasets import load_uci
from fwkmeans.preprocessing import RangeStandardizer


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    yield plt
    plt.close("all")


@pytest.fixture(scope="session")
def iris():
    return load_uci("iris", as_frame=False)


@pytest.fixture(scope="session")
def rows(iris):
    rows = RangeStandardizer().fit_transform(iris.data)
    rows.setflags(write=False)
    return rows


@pytest.fixture
def many(rng):
    """Return 20 clusters in 100 features with long names."""
    labels = np.repeat(np.arange(20), 3)
    X = rng.normal(size=(60, 100)) + 5.0 * rng.normal(size=(20, 100))[labels]
    return X, labels, [f"a very long name of a feature, with number {v}" for v in range(100)]
