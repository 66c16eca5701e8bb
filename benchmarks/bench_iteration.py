"""Compare the time of an iteration on large tables with scikit-learn's `KMeans(algorithm="lloyd")`.

All contestants get the same data without structure and the same initial centers, with tol=0 and 20
iterations. We time the whole fit, divide by `n_iter_`, and run the contestants in turn in one
process. Ratios above 1 mean that fwkmeans is faster. EWKMeans has weights in every cluster and does
twice the arithmetic of scikit-learn's unweighted K-Means.
Run this alone: python benchmarks/bench_iteration.py [--repeats 7]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.cluster import KMeans as PeerKMeans

from common import geometric_mean, header, interleave, multiply_add_rate, timed
from fwkmeans import EWKMeans, KMeans

SHAPES = [
    (200_000, 10, 3),
    (200_000, 50, 10),
    (200_000, 50, 50),
    (100_000, 200, 50),
    (1_000_000, 20, 8),
]


def iteration_time(make: Callable[[], Any], X: np.ndarray) -> float:
    seconds, model = timed(lambda: make().fit(X))
    return seconds / model.n_iter_


def contestants(X: np.ndarray, n_clusters: int) -> dict[str, Callable[[], float]]:
    options = {"init": X[:n_clusters].copy(), "n_init": 1, "tol": 0, "max_iter": 20}
    makers = {
        "peer": partial(PeerKMeans, n_clusters, algorithm="lloyd", **options),
        "EWKMeans": partial(EWKMeans, n_clusters, **options),
        "KMeans": partial(KMeans, n_clusters, **options),
    }
    return {name: partial(iteration_time, make, X) for name, make in makers.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore")  # runs stop after 20 iterations on purpose
    header()
    rates = {dtype: multiply_add_rate(dtype) for dtype in (np.float64, np.float32)}
    for dtype, rate in rates.items():
        print(f"multiply-adds per second, measured, {dtype.__name__}: {rate / 1e9:.0f}e9")
    print("\nmedian ms per iteration; ratio = scikit-learn / ours; share = of the rate above")
    print(f"{'dtype':8}{'rows x features, clusters':28}{'sklearn':>9}", end="")
    print(f"{'EWKMeans':>10}{'ratio':>7}{'share':>7}{'KMeans':>10}{'ratio':>7}{'share':>7}")
    ratios: dict[str, list[float]] = {"EWKMeans": [], "KMeans": []}
    for dtype, rate in rates.items():
        for n, m, k in SHAPES:
            X = np.random.default_rng(0).standard_normal((n, m)).astype(dtype)
            seconds = interleave(contestants(X, k), repeats)
            peer = np.asarray(seconds["peer"])
            print(f"{dtype.__name__:8}{f'{n:_} x {m}, {k}':28}{np.median(peer) * 1e3:9.2f}", end="")
            for name, operations in (("EWKMeans", 2), ("KMeans", 1)):
                ours = np.asarray(seconds[name])
                ratio = float(np.median(peer / ours))  # measured in turn, so noise cancels
                ratios[name].append(ratio)
                share = operations * n * m * k / np.median(ours) / rate
                print(f"{np.median(ours) * 1e3:10.2f}{ratio:7.2f}{share:7.0%}", end="")
            print(flush=True)
    for name, values in ratios.items():
        print(f"geometric mean of the ratio, {name}: {geometric_mean(values):.2f}")


if __name__ == "__main__":
    main()
