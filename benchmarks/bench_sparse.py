"""Compare the time of an iteration on sparse rows with scikit-learn's `KMeans(algorithm="lloyd")`.

The table has 20 000 rows and columns, and about 100 stored cells in a row: in columns that are
equally likely, or as words in texts, where few columns have most of the cells. All contestants get
the same initial centers, with tol=0 and 20 iterations. We time the whole fit, divide by `n_iter_`,
and run the contestants in turn in one process. Ratios above 1 mean that fwkmeans is faster.
EWKMeans learns weights in every cluster and does twice the arithmetic.
Run this alone: python benchmarks/bench_sparse.py [--repeats 5]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.cluster import KMeans as PeerKMeans
from sklearn.preprocessing import normalize

from common import geometric_mean, header, interleave, timed
from fwkmeans import EWKMeans, KMeans

N_ROWS, N_COLUMNS, N_STORED = 20_000, 20_000, 100


def make_rows(kind: str, dtype: type) -> Any:
    rng = np.random.default_rng(0)
    share = np.ones(N_COLUMNS) if kind == "uniform" else 1.0 / np.arange(10, N_COLUMNS + 10)
    columns = rng.choice(N_COLUMNS, N_ROWS * N_STORED, p=share / share.sum()).astype(np.int32)
    rows = np.repeat(np.arange(N_ROWS, dtype=np.int32), N_STORED)
    values = rng.uniform(0.5, 1.5, columns.size)
    X = csr_array((values, (rows, columns)), shape=(N_ROWS, N_COLUMNS))
    return csr_array(normalize(X).astype(dtype))


def iteration_time(make: Callable[[], Any], X: Any) -> float:
    seconds, model = timed(lambda: make().fit(X))
    return seconds / model.n_iter_


def contestants(X: Any, n_clusters: int) -> dict[str, Callable[[], float]]:
    options = {"init": X[:n_clusters].toarray(), "n_init": 1, "tol": 0, "max_iter": 20}
    makers = {
        "peer": partial(PeerKMeans, n_clusters, algorithm="lloyd", **options),
        "EWKMeans": partial(EWKMeans, n_clusters, **options),
        "KMeans": partial(KMeans, n_clusters, **options),
    }
    return {name: partial(iteration_time, make, X) for name, make in makers.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore")  # runs stop after 20 iterations on purpose
    header()
    print("\nmedian ms per iteration; ratio = scikit-learn / ours")
    print(f"{'dtype':9}{'columns':10}{'clusters':>8}{'sklearn':>9}", end="")
    print(f"{'EWKMeans':>10}{'ratio':>7}{'KMeans':>10}{'ratio':>7}")
    ratios: dict[str, list[float]] = {"EWKMeans": [], "KMeans": []}
    for dtype in (np.float64, np.float32):
        for kind in ("uniform", "words"):
            X = make_rows(kind, dtype)
            for k in (8, 20, 50):
                seconds = interleave(contestants(X, k), repeats)
                peer = np.asarray(seconds["peer"])
                print(f"{dtype.__name__:9}{kind:10}{k:8}{np.median(peer) * 1e3:9.1f}", end="")
                for name, found in ratios.items():
                    ours = np.asarray(seconds[name])
                    found.append(float(np.median(peer / ours)))  # measured in turn
                    print(f"{np.median(ours) * 1e3:10.1f}{found[-1]:7.2f}", end="")
                print(flush=True)
    for name, values in ratios.items():
        print(f"geometric mean of the ratio, {name}: {geometric_mean(values):.2f}")


if __name__ == "__main__":
    main()
