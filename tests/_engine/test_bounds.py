"""Rows whose bounds decide are not read again: labels, sums and weights are those of plain passes.

The loop in Python knows no bounds. Both must agree to the bit on tables made to mislead bounds.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from _engine.test_in_core import _assert_same, _problem, with_gaps
from fwkmeans._core import passes
from fwkmeans._engine import alternate, alternate_in_python, statistics
from fwkmeans._engine.state import assignment_of
from fwkmeans.typing import WeightContext, Weights
from fwkmeans.weighting import (
    ClusterPowerWeights,
    EntropyWeights,
    GroupEntropyWeights,
    SelfAdjustingWeights,
    SharedPowerWeights,
    UniformWeights,
)
from hostile_source import HostileSource

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
    monkeypatch.setattr("fwkmeans._engine.state._WORTHWHILE", 1)


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


@pytest.mark.thinned
@pytest.mark.parametrize("name", MISLEADING)
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_bounds_change_nothing_for_many_features_and_few_clusters(rule, name):
    """One part of each number races, and what it leaves open races in single precision."""
    rng = np.random.default_rng(8)
    X = np.hstack([_wide_table(name, rng)[:150] for _ in range(4)])
    problem = _problem(X, rule, 3, 1)
    stop = {"max_iter": 8, "tol": 0.0}
    _assert_same(alternate(*problem, **stop), alternate_in_python(*problem, **stop))


def test_rows_on_the_bisector_go_to_the_first_center():
    X = np.asarray([[-1.0], [1.0], [0.0]] * 50)
    source, recipe, table, centers, weights = _problem(X, UniformWeights(), 2, 1)
    centers[0] = [[1.0], [-1.0]]
    outcome = alternate(source, recipe, table, centers, weights, max_iter=20, tol=0.0)
    np.testing.assert_allclose(outcome.centers[0], [[0.5], [-1.0]])


# ---- passes over blocks ----


def _in_blocks(source, seed, *, remembers):
    blocks = HostileSource(source, seed=seed)
    blocks.remembers = remembers
    return blocks


@pytest.mark.thinned
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_bounds_of_blocks_change_nothing(rule, name, monkeypatch):
    """Row memory has the bounds, and blocks are as a hostile source gives them."""
    monkeypatch.setattr(passes, "_MANY_NUMBERS", 1)  # offsets of small tables, too
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = _table(name, rng)
        weight = rng.integers(0, 3, len(X)).astype(np.float64) if seed % 2 else None
        source, *problem = _problem(X, rule, int(rng.integers(2, 8)), 2, weight)
        plain, bounded = (_in_blocks(source, seed, remembers=one) for one in (False, True))
        stop = {"max_iter": 12, "tol": 0.0}
        expected = alternate_in_python(plain, *problem, **stop)
        _assert_same(alternate_in_python(bounded, *problem, **stop), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_passes_over_blocks_keep_bounds_that_hold(dtype, monkeypatch):
    """They are those of the distances, in a unit that is a power of two, and decide most rows."""
    rng = np.random.default_rng(7)
    X = (rng.normal(size=(3000, 4)) + 5.0 * rng.integers(0, 4, (3000, 1))).astype(dtype)
    source, recipe, table, centers, weights = _problem(X, EntropyWeights(), 4, 2)
    source = _in_blocks(source, 0, remembers=True)
    decided = []

    def by_bounds(self, last):
        if last is not None:
            decided.append(_share_decided(X, running.source, last, table))
        return dataclasses.replace(self, bounded=True, last=last)

    monkeypatch.setattr(passes.Accumulation, "by_bounds", by_bounds)
    running = statistics.RunningStatistics(source, recipe.dissimilarity, 2)
    assignment = assignment_of(recipe.weighting, centers, weights)
    for _ in range(12):
        counted = running.count(assignment)
        centers = recipe.center.update(counted, assignment, running.source)
        dispersion = recipe.dissimilarity.dispersion(
            counted, assignment, centers, running.source, table
        )
        weights = Weights(
            recipe.weighting.update(dispersion, WeightContext(counted.mass, weights, table))
        )
        assignment = assignment_of(recipe.weighting, centers, weights)
    assert len(decided) > 5
    assert decided[-1] > 0.5


def _share_decided(X, source, last, table):
    """Compare the bounds in row memory with distances; return the share of rows apart."""
    labels, upper, lower = (source.gather(name, axis=1) for name in ("labels", "upper", "lower"))
    unit = 2.0 ** int(-np.frexp((table.span**2).sum())[1] / 2)
    differences = X[None, :, None].astype(np.float64) - last.centers[:, None]
    distances = unit * np.sqrt((last.weights[:, None] * differences**2).sum(axis=-1))
    own = np.take_along_axis(distances, labels[..., None], axis=-1)[..., 0]
    np.put_along_axis(distances, labels[..., None], np.inf, axis=-1)
    assert (upper >= own).all()
    assert (lower <= distances.min(axis=-1)).all()
    return np.mean(upper < lower)


def test_bounds_belong_to_starts_that_end_and_are_counted_anew(monkeypatch):
    """One start ends and another follows to its place; one jumps, is counted, and comes back."""
    monkeypatch.setattr(statistics, "_MANY", 1.0)  # bounds from the second pass on
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1500, 4))
    source, recipe, _, centers, weights = _problem(X, UniformWeights(), 5, 3)
    euclid, rule = recipe.dissimilarity, recipe.weighting
    running = statistics.RunningStatistics(_in_blocks(source, 1, remembers=True), euclid, 3)
    going, last = np.ones(3, dtype=np.bool_), centers
    for step in range(14):
        centers = centers + 0.02 * rng.normal(size=centers.shape)
        if step == 5:
            centers[1] = last[0]
        if step == 9:
            centers[2] = last[2]
        assignment = assignment_of(rule, centers, weights).take(going)
        counted = running.count(assignment)
        last = centers.copy()
        if step == 8:
            centers[2] = rng.normal(size=centers[2].shape)
            assignment = assignment_of(rule, centers, weights).take(going)
            counted = running.recount(assignment, np.asarray([1]), counted)
        whole = source.reduce(euclid.accumulation(assignment))
        np.testing.assert_array_equal(counted.rows, whole.rows)
        np.testing.assert_array_equal(counted.fingerprint, whole.fingerprint)
        if step == 4:
            going[0] = False
            running.keep(np.asarray([False, True, True]))
    assert running._last is not None
