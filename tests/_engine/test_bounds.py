"""Rows whose bounds decide are not read again: labels, sums and weights are those of plain passes.

The loop in Python knows no bounds. Both must agree to the bit on tables made to mislead bounds.
"""

from __future__ import annotations

import numpy as np
import pytest

from _engine.test_in_core import _assert_same, _problem, with_gaps
from fwkmeans._core import compiled
from fwkmeans._engine import alternate, alternate_in_python, statistics
from fwkmeans.weighting import (
    ClusterPowerWeights,
    EntropyWeights,
    GroupEntropyWeights,
    SelfAdjustingWeights,
    SharedPowerWeights,
    UniformWeights,
)

pytestmark = pytest.mark.skipif(compiled is None, reason="needs the compiled core")

RULES = [
    UniformWeights(),
    EntropyWeights(),
    EntropyWeights(gamma=1e-2),  # weights underflow to zero, and leave it again
    EntropyWeights(gamma=0.0),  # all but one are zero
    EntropyWeights(dispersion="mean"),  # offsets beside distances
    SharedPowerWeights(),
    SharedPowerWeights(beta=1.0),
    ClusterPowerWeights(beta=1.1),
    ClusterPowerWeights(smoothing="refresh"),
    SelfAdjustingWeights(),
    ClusterPowerWeights(smoothing="inside"),
    GroupEntropyWeights(dispersion="mean"),
]


@pytest.fixture(autouse=True)
def _small_tables_keep_labels(monkeypatch):
    monkeypatch.setattr(statistics, "_WORTHWHILE", 1)


def _table(name: str, rng: np.random.Generator) -> np.ndarray:
    n, m = int(rng.integers(40, 900)), int(rng.integers(1, 7))
    blobs = rng.normal(size=(n, m)) + 3.0 * rng.integers(0, 3, (n, 1))
    units = 10.0 ** rng.integers(-4, 5, m)
    return {
        "blobs": blobs,
        "noise": rng.normal(size=(n, m)),
        "duplicates": rng.integers(0, 3, (n, m)).astype(np.float64),
        "bisectors": rng.integers(-2, 3, (n, m)) / 2.0,
        "offset": blobs + 1e8,
        "units": blobs * units,
        "tiny": np.ldexp(blobs, -400),
        "huge": np.ldexp(blobs, 400),
        "outlier": np.vstack([blobs, np.full((1, m), 1e9)]),
        "single": blobs.astype(np.float32),
        "columns": np.asfortranarray(blobs),
        "wide": rng.normal(size=(n, 40)) + 2.0 * rng.integers(0, 3, (n, 1)),
    }[name]


NAMES = [
    *("blobs", "noise", "duplicates", "bisectors", "offset", "units"),
    *("tiny", "huge", "outlier", "single", "columns"),
    "wide",  # enough for bounds beside offsets
]


@pytest.mark.thinned
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_bounds_change_nothing(rule, name):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = _table(name, rng)
        weight = rng.integers(0, 3, len(X)).astype(np.float64) if seed % 2 else None
        problem = _problem(X, rule, int(rng.integers(1, 8)), 2, weight)
        stop = {"max_iter": 30, "tol": 0.0}
        _assert_same(alternate(*problem, **stop), alternate_in_python(*problem, **stop))


@pytest.mark.thinned
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_bounds_change_nothing_where_cells_are_missing(rule, name):
    rng = np.random.default_rng(5)
    X = with_gaps(np.tile(_table(name, rng), (2, 4)), rng)
    X = X[:, : max(2, X.shape[1] // 2)]
    problem = _problem(X, rule, int(rng.integers(2, 8)), 2)
    stop = {"max_iter": 30, "tol": 0.0}
    _assert_same(alternate(*problem, **stop), alternate_in_python(*problem, **stop))


# enough features and clusters for a race by products, where the processor has tile registers
MISLEADING = ["noise", "duplicates", "bisectors", "offset", "units", "outlier", "single", "close"]


def _wide_table(name: str, rng: np.random.Generator) -> np.ndarray:
    n, m = int(rng.integers(150, 400)), int(rng.integers(41, 90))
    blobs = rng.normal(size=(n, m)) + 3.0 * rng.integers(0, 3, (n, m))
    return {
        "noise": rng.normal(size=(n, m)),
        "duplicates": rng.integers(0, 2, (n, m))[rng.integers(0, 90, n)].astype(np.float64),
        "bisectors": rng.integers(-1, 2, (n, m)) / 2.0,
        "offset": blobs + 1e8,
        "units": blobs * 10.0 ** rng.integers(-8, 9, m),
        "outlier": np.vstack([blobs, np.full((1, m), 1e9)]),
        "single": blobs.astype(np.float32),
        "close": blobs[rng.integers(0, 60, n)] + 1e-7 * rng.normal(size=(n, m)),
    }[name]


@pytest.mark.thinned
@pytest.mark.parametrize("name", MISLEADING)
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_bounds_change_nothing_for_many_features_and_clusters(rule, name):
    rng = np.random.default_rng(7)
    X = _wide_table(name, rng)
    weight = rng.integers(0, 3, len(X)).astype(np.float64) if name in ("noise", "units") else None
    problem = _problem(X, rule, 40, 1, weight)
    stop = {"max_iter": 8, "tol": 0.0}
    _assert_same(alternate(*problem, **stop), alternate_in_python(*problem, **stop))


def test_rows_on_the_bisector_go_to_the_first_center():
    X = np.asarray([[-1.0], [1.0], [0.0]] * 50)
    source, recipe, table, centers, weights = _problem(X, UniformWeights(), 2, 1)
    centers[0] = [[1.0], [-1.0]]
    outcome = alternate(source, recipe, table, centers, weights, max_iter=20, tol=0.0)
    np.testing.assert_allclose(outcome.centers[0], [[0.5], [-1.0]])
