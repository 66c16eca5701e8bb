"""Compare whole fits with scikit-learn's lloyd and elkan, scikit-learn-intelex and faiss.

Contestants get the same rows and the same initial centers and take turns in one process; we take
the shortest of several times each, so that a busy moment counts for nobody. Peers run as many
iterations as our algorithm needed to converge. A ratio is the peer's time divided by ours: above 1
we are faster.

- ``python benchmarks/suite.py --quick`` prints the ratios that must not fall, in three minutes;
- ``python benchmarks/suite.py`` runs the whole grid, and writes ``suite.json`` and ``suite.md`` to
  ``benchmarks/results``. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans as PeerKMeans
from sklearn.datasets import load_iris, load_wine

from common import geometric_mean, interleave, machine, multiply_add_rate, timed
from fwkmeans import AWKMeans, EWKMeans, KMeans, WKMeans
from fwkmeans.preprocessing import RangeStandardizer

ROWS, FEATURES, CLUSTERS = (500, 10_000, 200_000, 1_000_000), (4, 10, 50, 200), (3, 10, 50)
MOST_BYTES = 2 * 2**30  # larger tables are left out
OURS = {"KMeans": KMeans, "EWKMeans": EWKMeans, "WKMeans": WKMeans, "AWKMeans": AWKMeans}
RESULTS = Path(__file__).with_name("results")

Row = dict[str, Any]


def blobs(n: int, m: int, k: int, dtype: Any = np.float64) -> np.ndarray:
    """Return Gaussian clusters in half of the columns, and noise as wide in the others."""
    rng = np.random.default_rng(0)
    useful = m - m // 2
    centers = rng.uniform(-10, 10, (k, useful))
    X = rng.normal(size=(n, m))
    X[:, :useful] += centers[rng.integers(0, k, n)]
    X[:, useful:] *= X[:, :useful].std()
    return np.ascontiguousarray(X, dtype=dtype)


# ---- peers ---------------------------------------------------------------------------------------


def scikit_learn(algorithm: str, X: np.ndarray, init: np.ndarray, n_iter: int) -> Callable[[], Any]:
    options = {"init": init, "n_init": 1, "tol": 0, "max_iter": n_iter}
    return lambda: PeerKMeans(len(init), algorithm=algorithm, **options).fit(X)


def intelex(X: np.ndarray, init: np.ndarray, n_iter: int) -> Callable[[], Any]:
    from sklearnex.cluster import KMeans as Peer

    return lambda: Peer(len(init), init=init, n_init=1, tol=0, max_iter=n_iter).fit(X)


def faiss(X: np.ndarray, init: np.ndarray, n_iter: int) -> Callable[[], Any]:
    import faiss

    rows, start = (np.ascontiguousarray(a, dtype=np.float32) for a in (X, init))  # it has no double
    options = {"niter": n_iter, "min_points_per_centroid": 1, "max_points_per_centroid": len(X)}
    return lambda: faiss.Kmeans(X.shape[1], len(init), **options).train(rows, init_centroids=start)


PEERS: dict[str, Callable[..., Callable[[], Any]]] = {
    "lloyd": partial(scikit_learn, "lloyd"),
    "elkan": partial(scikit_learn, "elkan"),
    "intelex": intelex,
    "faiss": faiss,
}


def installed_peers() -> dict[str, Callable[..., Callable[[], Any]]]:
    X = blobs(20, 2, 2)
    found = {}
    for name, make in PEERS.items():
        try:
            make(X, X[:2], 1)
        except ImportError:
            print(f"{name} is not installed and left out")
        else:
            found[name] = make
    return found


# ---- what is measured ----------------------------------------------------------------------------


def shortest(runs: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Return the shortest time of each contestant, in seconds."""
    clocks = {name: partial(_seconds, run) for name, run in runs.items()}
    return {name: min(times) for name, times in interleave(clocks, repeats).items()}


def _seconds(work: Callable[[], Any]) -> float:
    return timed(work)[0]


def whole_fit(n: int, m: int, k: int, dtype: Any, repeats: int, peers: dict[str, Any]) -> list[Row]:
    """Return the times of whole fits from the same centers, for each of our algorithms."""
    X = blobs(n, m, k, dtype)
    init = X[np.random.default_rng(1).choice(n, k, replace=False)].copy()
    rows = []
    for name in ("KMeans", "EWKMeans"):
        fit = partial(_fit, OURS[name], X, k, init=init, n_init=1)
        n_iter = int(fit().n_iter_)
        runs = {name: fit, **{peer: make(X, init, n_iter) for peer, make in peers.items()}}
        seconds = shortest(runs, repeats)
        ours = seconds.pop(name)
        rows.append(
            {
                "rows": n,
                "features": m,
                "clusters": k,
                "dtype": np.dtype(dtype).name,
                "algorithm": name,
                "iterations": n_iter,
                "seconds": ours,
                "ratios": {peer: s / ours for peer, s in seconds.items()},
            }
        )
    return rows


def _fit(make: Any, X: np.ndarray, k: int, **options: Any) -> Any:
    return make(k, **options).fit(X)


def small_tables() -> dict[str, tuple[np.ndarray, int]]:
    scaled = {
        name: (RangeStandardizer().fit_transform(load().data), 3)
        for name, load in (("iris", load_iris), ("wine", load_wine))
    }
    return {**scaled, "500 x 4": (blobs(500, 4, 3), 3), "10k x 10": (blobs(10_000, 10, 10), 10)}


def default_fits(repeats: int) -> list[Row]:
    """Return the times of one fit with the default `init`, and the number of starts per second."""
    rows = []
    for table, (X, k) in small_tables().items():
        for n_init in (1, 10) if len(X) > 200 else (1, 10, 1000):
            makers = {"lloyd": PeerKMeans, **OURS}
            runs = {
                name: partial(_fit, make, X, k, n_init=n_init, random_state=0)
                for name, make in makers.items()
            }
            seconds = shortest(runs, repeats if n_init < 1000 else max(2, repeats // 5))
            peer = seconds.pop("lloyd")
            rows.extend(
                {"table": table, "starts": n_init, "algorithm": a, "seconds": s, "ratio": peer / s}
                for a, s in seconds.items()
            )
    return rows


def gaps(repeats: int, n: int = 50_000) -> list[Row]:
    """Return how much longer fits take if a tenth of the rows, or of the cells, is missing."""
    X = blobs(n, 20, 10)
    rng = np.random.default_rng(2)
    init = X[rng.choice(n, 10, replace=False)].copy()
    tables = {"complete": X, "a cell in each tenth row": X.copy(), "a tenth of the cells": X.copy()}
    tables["a cell in each tenth row"][::10, 3] = np.nan
    tables["a tenth of the cells"][rng.random(X.shape) < 0.1] = np.nan
    rows = []
    for name in ("KMeans", "EWKMeans"):
        options = {"init": init, "n_init": 1, "tol": 0, "max_iter": 8, "missing": "ignore"}
        runs = {t: partial(_fit, OURS[name], X, 10, **options) for t, X in tables.items()}
        seconds = shortest(runs, repeats)
        rows.extend(
            {"algorithm": name, "table": t, "times": seconds[t] / seconds["complete"]}
            for t in list(tables)[1:]
        )
    return rows


def fresh_process() -> list[Row]:
    """Return the seconds to import, and to a first result, in a new process."""
    code = {
        "import fwkmeans": "import fwkmeans",
        "import sklearn.cluster": "import sklearn.cluster",
        "first fit": "import numpy, fwkmeans; fwkmeans.KMeans(3).fit(numpy.random.rand(150, 4))",
        "scikit-learn's first fit": "import numpy, sklearn.cluster as c; "
        "c.KMeans(3).fit(numpy.random.rand(150, 4))",
    }
    rows = []
    for what, line in code.items():
        run = partial(subprocess.run, [sys.executable, "-c", line], check=True)
        rows.append({"what": what, "seconds": min(_seconds(run) for _ in range(4))})
    return rows


def scaling(repeats: int) -> list[Row]:
    """Return the exponents with which the time of eight iterations grows in each direction."""
    axes = {
        "rows": [(n, 20, 10, None) for n in (3_000, 30_000, 300_000)],
        "features": [(30_000, m, 10, None) for m in (4, 20, 100)],
        "clusters": [(30_000, 20, k, None) for k in (4, 20, 100)],
        "threads": [(300_000, 20, 10, jobs) for jobs in (1, 2)],
    }
    rows = []
    for axis, points in axes.items():
        sizes, seconds = [], []
        for n, m, k, jobs in points:
            X = blobs(n, m, k)
            options = {"init": X[:k].copy(), "n_init": 1, "tol": 0, "max_iter": 8, "n_jobs": jobs}
            run = partial(_fit, EWKMeans, X, k, **options)
            sizes.append({"rows": n, "features": m, "clusters": k, "threads": jobs}[axis])
            seconds.append(shortest({"run": run}, repeats)["run"])
        exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
        rows.append({"axis": axis, "sizes": sizes, "seconds": seconds, "exponent": exponent})
    return rows


def throughput(repeats: int) -> list[Row]:
    """Return the share of the measured multiply-add rate that a first pass reaches."""
    rows = []
    for dtype, m in itertools.product((np.float64, np.float32), (50, 200)):
        rate = multiply_add_rate(dtype)
        n, k = 100_000, 50
        X = np.random.default_rng(0).standard_normal((n, m)).astype(dtype)
        model = EWKMeans(k, init=X[:k].copy(), n_init=1, tol=0, max_iter=1).fit(X)
        seconds = shortest({"predict": lambda model=model, X=X: model.predict(X)}, repeats)[
            "predict"
        ]
        share = 2 * n * m * k / seconds / rate
        rows.append({"dtype": np.dtype(dtype).name, "features": m, "clusters": k, "share": share})
    return rows


# ---- the page ------------------------------------------------------------------------------------


def table_of(rows: list[Row]) -> str:
    """Return rows as a Markdown table."""
    flat = [{**row, **row.get("ratios", {})} for row in rows]
    names = [name for name in flat[0] if name not in ("ratios", "sizes")]
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(_cell(row.get(name, "")) for name in names) + " |" for row in flat]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_cell, value))
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def page(results: dict[str, Any]) -> str:
    parts = ["# Benchmarks", results["machine"] + f", {results['date']}.", __doc__.split("\n\n")[1]]
    for name, rows in results["sections"].items():
        parts += [f"## {name}", table_of(rows)]
    parts += ["## In short", "\n".join(f"- {line}" for line in summary(results["sections"]))]
    return "\n\n".join(parts) + "\n"


def summary(sections: dict[str, list[Row]]) -> list[str]:
    """Return the geometric means, and where we are behind."""
    lines = []
    fits = sections.get("Whole fits", [])
    for name in ("KMeans", "EWKMeans"):
        own = [row for row in fits if row["algorithm"] == name]
        for peer in own[0]["ratios"] if own else ():
            ratios = [row["ratios"][peer] for row in own]
            behind = [
                f"{r['rows']} x {r['features']}, {r['clusters']}"
                for r in own
                if r["ratios"][peer] < 1
            ]
            lost = f"; slower at {'; '.join(behind)}" if behind else ""
            lines.append(f"{name} against {peer}: {geometric_mean(ratios):.2f} in the mean{lost}")
    return lines


# ---- the two forms -------------------------------------------------------------------------------


def quick() -> None:
    for row in default_fits(15):
        print(
            f"{row['table']:9} {row['starts']:5} starts {row['algorithm']:9} {row['ratio']:6.2f}",
            flush=True,
        )
    peers = {name: make for name, make in installed_peers().items() if name in ("lloyd", "elkan")}
    for n, m, k in ((10_000, 50, 50), (200_000, 20, 10), (200_000, 50, 50)):
        for row in whole_fit(n, m, k, np.float64, 2, peers):
            shown = ", ".join(f"{peer} {ratio:.2f}" for peer, ratio in row["ratios"].items())
            print(f"{n} x {m}, {k:3} clusters {row['algorithm']:9} {shown}", flush=True)
    for row in gaps(3):
        print(
            f"{row['table']}: {row['algorithm']} takes {row['times']:.2f} times as long", flush=True
        )


def full(repeats: int) -> None:
    peers = installed_peers()
    fits: list[Row] = []
    for dtype, n, m, k in itertools.product((np.float64, np.float32), ROWS, FEATURES, CLUSTERS):
        if n * m * np.dtype(dtype).itemsize > MOST_BYTES:
            continue
        fits += whole_fit(n, m, k, dtype, repeats if n < 100_000 else max(2, repeats // 2), peers)
        for row in fits[-2:]:
            print(table_of([row]).splitlines()[-1], flush=True)
    sections = {
        "One fit with the default init, and many starts": default_fits(4 * repeats),
        "Whole fits": fits,
        "Missing cells": gaps(repeats),
        "Growth": scaling(repeats),
        "Share of the multiply-add rate": throughput(repeats),
        "New processes": fresh_process(),
    }
    results = {"machine": machine(), "date": time.strftime("%Y-%m-%d"), "sections": sections}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "suite.json").write_text(json.dumps(results, indent=1))
    (RESULTS / "suite.md").write_text(page(results))
    print(page(results))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only the ratios that must not fall")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # peers stop before they converge, on purpose
    print(machine(), "on", platform.system())
    if options.quick:
        quick()
    else:
        full(options.repeats)


if __name__ == "__main__":
    main()
