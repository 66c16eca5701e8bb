"""Measure the time of an iteration while another process keeps one core busy.

Quiet and busy runs alternate in one process. scikit-learn's K-Means, which uses OpenMP, is measured
for comparison. Run this alone: python benchmarks/bench_contention.py [--repeats 7]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from sklearn.cluster import KMeans as PeerKMeans

from common import header, timed
from fwkmeans import EWKMeans, KMeans

SHAPES = [(200_000, 10, 3), (200_000, 50, 10), (200_000, 50, 50)]


def iteration_time(make: Callable[[], Any], X: np.ndarray) -> float:
    """Return the seconds of an iteration of a whole fit."""
    seconds, model = timed(lambda: make().fit(X))
    return seconds / model.n_iter_


@contextmanager
def busy_neighbor(n_processes: int) -> Any:
    """Keep this many cores busy."""
    spin = [sys.executable, "-c", "while True: pass"]
    neighbors = [subprocess.Popen(spin) for _ in range(n_processes)]
    time.sleep(0.3)
    try:
        yield
    finally:
        for neighbor in neighbors:
            neighbor.kill()
            neighbor.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--neighbors", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    header()
    print(f"\nmedian ms per iteration, quiet / with {arguments.neighbors} busy neighbor(s)")
    for n, m, k in SHAPES:
        X = np.random.default_rng(0).standard_normal((n, m))
        options = {"init": X[:k].copy(), "n_init": 1, "tol": 0, "max_iter": 20}
        makers: dict[str, Callable[[], Any]] = {
            "scikit-learn KMeans": partial(PeerKMeans, k, algorithm="lloyd", **options),
            "fwkmeans KMeans": partial(KMeans, k, **options),
            "fwkmeans EWKMeans": partial(EWKMeans, k, **options),
        }
        quiet: dict[str, list[float]] = {name: [] for name in makers}
        contended: dict[str, list[float]] = {name: [] for name in makers}
        for make in makers.values():
            iteration_time(make, X)
        for _ in range(arguments.repeats):
            for name, make in makers.items():
                quiet[name].append(iteration_time(make, X))
            with busy_neighbor(arguments.neighbors):
                for name, make in makers.items():
                    contended[name].append(iteration_time(make, X))
        for name in makers:
            before, after = np.median(quiet[name]), np.median(contended[name])
            print(
                f"{f'{n:_} x {m}, {k}':22}{name:22}{before * 1e3:9.2f} {after * 1e3:9.2f}"
                f"   {after / before:6.2f} times (worst {max(contended[name]) / before:.2f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
