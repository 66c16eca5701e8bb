"""Compare the time of one iMWK-Means iteration with the same iteration in NumPy, for several p.

Ours is one iteration of the engine: it assigns rows and computes Minkowski centers, dispersions and
weights. Work that a fit does only once (reading and describing the table, its center, the last
labels) is left out on both sides. NumPy does the same in chunks that stay in the cache, from the
same centers and weights, to the same tolerance, and in double precision as we do. Its centers start
at the means, and features that have converged are not looked at again. There are two ways to step:

literal   Newton steps in a bracket, with a bisection in every third step, until the bracket is
          closed
sharp     bisects only where a Newton step leaves the bracket or is more than half of the step
          before the last one, and also stops when steps are tiny

Both run on one thread, in turn in one process. We assert that labels, centers and weights agree.
Ratios above 1 mean that fwkmeans is faster.
Run this alone: python benchmarks/bench_minkowski.py [--repeats 5]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from common import header, interleave, timed
from fwkmeans import IMWKMeans
from fwkmeans._engine import alternate, assignment_of
from fwkmeans.sources import MemorySource

N, M, K = 200_000, 20, 8
CHUNK = 4096  # rows; 20 features of them take 640 kB
CASES = [(np.float64, p) for p in (1.7, 1.1, 3.0, 4.6)] + [(np.float32, 1.7)]
TARGET = 4


class Step(NamedTuple):
    """The result of one iteration."""

    labels: np.ndarray  # (N,)
    centers: np.ndarray  # (K, M)
    weights: np.ndarray  # (K, M)


# ---- in NumPy -----------------------------------------------------------------------------------


def numpy_iteration(
    X: np.ndarray, centers: np.ndarray, weights: np.ndarray, p: float, literal: bool
) -> Step:
    labels = nearest(X, centers, weights**p, p)
    updated, dispersion = np.empty((K, M)), np.empty((K, M))
    for k in range(K):
        columns = np.ascontiguousarray(X[labels == k].T, dtype=np.float64)  # one feature per row
        updated[k] = minkowski_center(columns, p, literal)
        dispersion[k] = powers_about(columns, updated[k], p)
    logits = np.log(dispersion + dispersion.mean()) / (1 - p)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return Step(labels, updated, powers / powers.sum(axis=1, keepdims=True))


def nearest(X: np.ndarray, centers: np.ndarray, effective: np.ndarray, p: float) -> np.ndarray:
    labels = np.empty(len(X), dtype=np.int32)
    room, distances = np.empty((CHUNK, M)), np.empty((K, CHUNK))
    for first in range(0, len(X), CHUNK):
        rows = X[first : first + CHUNK].astype(np.float64, copy=False)
        t, d = room[: len(rows)], distances[:, : len(rows)]
        for k in range(K):
            np.subtract(rows, centers[k], out=t)
            np.abs(t, out=t)
            t **= p
            np.dot(t, effective[k], out=d[k])
        labels[first : first + CHUNK] = d.argmin(axis=0)
    return labels


def minkowski_center(columns: np.ndarray, p: float, literal: bool) -> np.ndarray:
    """Return the root of the slope of sum |y - c|^p for each feature."""
    center, low, high = columns.mean(axis=1), columns.min(axis=1), columns.max(axis=1)
    tiny = 2e-16 * np.maximum(np.abs(low), np.abs(high)) + 1e-14 * (high - low)  # as ours
    last, before = np.full(len(columns), np.inf), np.full(len(columns), np.inf)
    going = np.arange(len(columns))
    look = 0
    while going.size:
        look += 1
        c = center[going]
        slope, curvature = slopes(columns if going.size == M else columns[going], c, p)
        low[going] = np.where(slope <= 0, c, low[going])
        high[going] = np.where(slope >= 0, c, high[going])
        newton = c - slope / curvature
        step, width = np.abs(newton - c), high[going] - low[going]
        inside = (newton > low[going]) & (newton < high[going])
        if literal:
            halve = ~inside if look % 3 else np.ones_like(inside)
            done = width <= tiny[going]
        else:
            halve = ~inside | (step > before[going] / 2)
            done = (width <= tiny[going]) | (step <= tiny[going])
            halve &= ~done
            before[going], last[going] = last[going], np.where(halve, width, step)
        middle = low[going] + width / 2
        center[going] = np.clip(np.where(halve, middle, newton), low[going], high[going])
        going = going[~done]
    return center


def slopes(columns: np.ndarray, center: np.ndarray, p: float) -> tuple[np.ndarray, np.ndarray]:
    """Return first and second derivative of sum |y - c|^p, divided by p."""
    slope, curvature = np.zeros(len(center)), np.zeros(len(center))
    for first in range(0, columns.shape[1], CHUNK):
        t = center[:, None] - columns[:, first : first + CHUNK]
        powers = np.abs(t)
        if p < 2:
            powers[powers == 0] = np.inf  # to a negative power: rows at the center are left out
        powers **= p - 2
        curvature += powers.sum(axis=1)
        slope += np.einsum("vi,vi->v", t, powers)
    return slope, (p - 1) * curvature


def powers_about(columns: np.ndarray, center: np.ndarray, p: float) -> np.ndarray:
    total = np.zeros(len(center))
    for first in range(0, columns.shape[1], CHUNK):
        powers = np.abs(columns[:, first : first + CHUNK] - center[:, None])
        powers **= p
        total += powers.sum(axis=1)
    return total


# ---- ours ---------------------------------------------------------------------------------------


def our_iteration(X: np.ndarray, centers: np.ndarray, p: float) -> Callable[[], Step]:
    """Return one iteration; work that a fit does only once is done before."""
    options = {"init": centers, "n_init": 1, "tol": 0, "max_iter": 1, "n_jobs": 1}
    model = IMWKMeans(K, p=p, guard=0.0, **options).fit(X)  # binds the parts to the table
    source, recipe, table = MemorySource(X, None, 1), model._parts, model._table
    weights = recipe.weighting.initial(1, K, table)
    assigning = assignment_of(recipe.weighting, centers[None], weights)
    _, labeled = source.run(recipe.dissimilarity.labeling(assigning))
    labels = labeled.gather("labels", axis=1)[0]  # for the comparison

    def iterate() -> Step:
        end = alternate(source, recipe, table, centers[None], weights, max_iter=1, tol=0)
        return Step(labels, end.centers[0], end.weights.values[0])

    return iterate


def clusters(dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Return range-standardized rows of overlapping clusters, and a row of each as center."""
    rng = np.random.default_rng(0)
    middle, spread = rng.uniform(-1, 1, (K, M)), rng.uniform(0.1, 0.6, (K, M))
    group = rng.integers(K, size=N)
    X = middle[group] + spread[group] * rng.standard_normal((N, M))
    X = ((X - X.mean(axis=0)) / np.ptp(X, axis=0)).astype(dtype)
    return X, X[[np.argmax(group == k) for k in range(K)]].astype(np.float64)


def check(ours: Step, theirs: Step) -> None:
    assert np.array_equal(ours.labels, theirs.labels)
    np.testing.assert_allclose(ours.centers, theirs.centers, rtol=0, atol=1e-8)
    np.testing.assert_allclose(ours.weights, theirs.weights, rtol=0, atol=1e-8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore")  # runs stop after one iteration on purpose
    header()
    print(f"\none IMWKMeans iteration, {N:_} x {M}, {K} clusters, one thread")
    print(f"median ms; ratio = NumPy / ours; target for p = 1.7: {TARGET}")
    print(f"{'dtype':9}{'p':>4}{'ours':>9}{'literal':>10}{'ratio':>7}{'sharp':>10}{'ratio':>7}")
    for dtype, p in CASES:
        X, centers = clusters(dtype)
        weights = np.full((K, M), 1 / M)
        steps: dict[str, Callable[[], Step]] = {
            "ours": our_iteration(X, centers, p),
            "literal": partial(numpy_iteration, X, centers, weights, p, literal=True),
            "sharp": partial(numpy_iteration, X, centers, weights, p, literal=False),
        }
        with threadpool_limits(1):
            expected = steps["ours"]()
            for name in ("literal", "sharp"):
                check(expected, steps[name]())
            runs = {name: (lambda step=step: timed(step)[0]) for name, step in steps.items()}
            seconds = {name: np.asarray(s) for name, s in interleave(runs, repeats).items()}
        print(f"{dtype.__name__:9}{p:4.1f}{np.median(seconds['ours']) * 1e3:9.1f}", end="")
        for name in ("literal", "sharp"):
            ratio = float(np.median(seconds[name] / seconds["ours"]))
            print(f"{np.median(seconds[name]) * 1e3:10.1f}{ratio:7.2f}", end="")
        print(flush=True)


if __name__ == "__main__":
    main()
