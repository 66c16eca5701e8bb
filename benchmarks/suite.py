"""Compare default calls with scikit-learn, and whole fits with intelex, faiss, kmodes and others.

Contestants take turns in one process, in random order; we take the shortest of many times each, so
that a busy moment counts for nobody. A default call is timed beside the default call of its peer
(`default_calls.py`). Where fits begin at the same centers, peers run as many iterations as our
algorithm did. A ratio is the peer's time divided by ours: above 1 we are faster.

- ``python benchmarks/suite.py --quick`` prints the ratios that must not fall, in four minutes;
- ``python benchmarks/suite.py`` runs everything in forty minutes on two quiet cores, and
  writes ``suite.json``, ``suite.md`` and ``suite.html`` to ``benchmarks/results`` and the page
  ``docs/performance.rst``. What was measured is kept in ``benchmarks/results/cells``: a run that
  was interrupted continues where it stopped, as long as versions and core are the same, and
  ``--fresh`` starts again.
- ``--page`` only writes the pages again; ``--small`` tries everything on tiny tables.

Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import random
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from joblib import cpu_count
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans as PeerKMeans
from sklearn.datasets import load_iris, load_wine
from sklearn.utils.validation import validate_data
from threadpoolctl import threadpool_limits

import bench_minkowski
import bench_mixed
import default_calls
import suite_page
from bench_memory import peak_above
from common import about, blobs, machine, multiply_add_rate, read_rate, timed
from fwkmeans import AWKMeans, EWKMeans, FGKMeans, FWSAKMeans, IMWKMeans, KMeans, WKMeans
from fwkmeans._core import _kernels, compiled
from fwkmeans.preprocessing import RangeStandardizer

ROWS, FEATURES, CLUSTERS = (500, 10_000, 200_000, 1_000_000), (4, 10, 50, 200), (3, 10, 50)
MOST_BYTES = 2 * 2**30  # larger tables are left out
MOST_WORK = 8e9  # about the multiply-adds of a fit; larger ones are cut short, for everyone alike
OURS = {
    model.__name__: model
    for model in (KMeans, EWKMeans, WKMeans, AWKMeans, FGKMeans, FWSAKMeans, IMWKMeans)
}
RESULTS = Path(__file__).with_name("results")

Row = dict[str, Any]


# ---- peers ---------------------------------------------------------------------------------------


def scikit_learn(algorithm: str, X: np.ndarray, init: np.ndarray, n_iter: int) -> Callable[[], Any]:
    options = {"init": init, "n_init": 1, "tol": 0, "max_iter": n_iter}
    return lambda: PeerKMeans(len(init), algorithm=algorithm, **options).fit(X)


def intelex(X: np.ndarray, init: np.ndarray, n_iter: int) -> Callable[[], Any]:
    from sklearnex.cluster import KMeans as Peer

    return lambda: Peer(len(init), init=init, n_init=1, tol=0, max_iter=n_iter).fit(X)


def faiss(X: np.ndarray, init: np.ndarray, n_iter: int) -> Callable[[], Any]:
    train = faiss_centers(X, init, n_iter)
    return lambda: train().assign(X)  # labels belong to a fit


def faiss_centers(X: np.ndarray, init: np.ndarray, n_iter: int) -> Callable[[], Any]:
    import faiss

    start = np.ascontiguousarray(init, dtype=np.float32)
    options = {"niter": n_iter, "min_points_per_centroid": 1, "max_points_per_centroid": len(X)}

    def train() -> Any:
        model = faiss.Kmeans(X.shape[1], len(init), **options)
        model.train(X, init_centroids=start)  # converts rows in double precision, which it has not
        return model

    return train


PEERS: dict[str, Callable[..., Callable[[], Any]]] = {
    "lloyd": partial(scikit_learn, "lloyd"),
    "elkan": partial(scikit_learn, "elkan"),
    "intelex": intelex,
    "faiss": faiss,
    "faiss centers": faiss_centers,
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


# ---- measuring -----------------------------------------------------------------------------------


# Seconds between contestants: after a fit of a peer, threads of OpenMP look for work for 7
# milliseconds, at full speed.
REST = 0.012


def shortest(
    runs: dict[Any, Callable[[], Any]], seconds: float = 1.5, most: int = 100, n_seeds: int = 1
) -> dict[Any, float]:
    """Return the shortest time of each contestant, with several seeds the mean of the shortest.

    They take turns in random order, at least twice and as often as fits into so many seconds; but
    only once if that takes many seconds already. If there are several turns, the first one does not
    count: who begins is still warm from what was before. In each turn NumPy's generator, from which
    default calls draw their starts, has another of the seeds.
    """

    def take(name: Any, seed: int) -> float:
        np.random.seed(seed)  # noqa: NPY002 - default calls draw from it
        return timed(runs[name])[0]

    times = {name: {0: take(name, 0)} for name in runs}
    once = sum(of_one[0] for of_one in times.values())
    order, rng = list(runs), random.Random(0)
    for turn in range(int(np.clip(seconds / once, n_seeds if once < 10 else 0, most))):
        rng.shuffle(order)
        seed = turn % n_seeds
        for name in order:
            time.sleep(REST if len(runs) > 1 else 0.0)
            before = times[name].get(seed, np.inf) if turn else np.inf
            times[name][seed] = min(before, take(name, seed))
    return {name: float(np.mean(list(of_one.values()))) for name, of_one in times.items()}


def _fit(make: Any, X: np.ndarray, k: int, **options: Any) -> Any:
    return make(k, **options).fit(X)


# ---- what is measured ----------------------------------------------------------------------------


def default_call(make: Callable[[], default_calls.Contest], seconds: float = 6.0) -> list[Row]:
    """Return the times of calls as people make them, beside that of their peer."""
    contest = make()
    times = shortest(contest.runs, seconds, n_seeds=contest.n_seeds)
    beside = times.pop(contest.peer)
    return [
        {
            "call": call,
            "table": contest.table,
            "seconds": own,
            "peer": contest.peer,
            "ratio": beside / own,
        }
        for call, own in times.items()
    ]


def whole_fits(dtype: str, n: int, m: int, k: int) -> list[Row]:
    """Return the times of whole fits from the same centers, for two of our algorithms."""
    X = blobs(n, m, k, np.dtype(dtype))
    init = X[np.random.default_rng(1).choice(n, k, replace=False)].copy()
    work = n * (m * k + 4 * (m + k) + 60)  # of an iteration: distances, sums, and what rows cost
    most = int(np.clip(MOST_WORK / work, 3, 300))
    runs: dict[Any, Callable[[], Any]] = {}
    n_iter = {}
    for name in ("KMeans", "EWKMeans"):
        runs[name] = partial(_fit, OURS[name], X, k, init=init, n_init=1, max_iter=most)
        n_iter[name] = int(runs[name]().n_iter_)
        for peer, make in installed_peers().items():
            runs[peer, n_iter[name]] = make(X, init, n_iter[name])
    seconds = shortest(runs)
    return [
        {
            "rows": n,
            "features": m,
            "clusters": k,
            "dtype": dtype,
            "algorithm": name,
            "iterations": done,
            "seconds": seconds[name],
            "ms an iteration": 1e3 * seconds[name] / done,
            **{key[0]: s / seconds[name] for key, s in seconds.items() if key[1] == done},
        }
        for name, done in n_iter.items()
    ]


def small_tables() -> dict[str, tuple[np.ndarray, int]]:
    scaled = {
        name: (RangeStandardizer().fit_transform(load().data), 3)
        for name, load in (("iris", load_iris), ("wine", load_wine))
    }
    return {**scaled, "500 x 4": (blobs(500, 4, 3), 3), "10k x 10": (blobs(10_000, 10, 10), 10)}


def default_fits(table: str, n_init: int, seconds: float = 2.0) -> list[Row]:
    """Return the times of fits with the default `init`, and of many starts.

    Of a thousand starts the peer runs fifty, and its time is multiplied.
    """
    X, k = small_tables()[table]
    shown = min(n_init, 50)
    runs = {
        name: partial(_fit, make, X, k, n_init=n_init, random_state=0)
        for name, make in OURS.items()
    }
    runs["peer"] = partial(_fit, PeerKMeans, X, k, n_init=shown, random_state=0)
    times = shortest(runs, seconds)
    peer = times.pop("peer") * n_init / shown
    return [
        {
            "table": table,
            "starts": n_init,
            "algorithm": name,
            "ms": 1e3 * own,
            "starts a second": n_init / own,
            "ratio": peer / own,
        }
        for name, own in times.items()
    ]


def overhead(repeats: int = 300) -> list[Row]:
    """Return what a fit takes beside its loop: one iteration on iris, less the time in the core."""
    X, k = small_tables()["iris"]
    options = {"init": X[[0, 60, 120]], "n_init": 1, "max_iter": 1}
    inside: list[float] = []
    loop = compiled.run_starts

    def watched(*arguments: Any, **others: Any) -> Any:
        seconds, result = timed(partial(loop, *arguments, **others))
        inside.append(seconds)
        return result

    rows = []
    for name in ("KMeans", "EWKMeans"):
        outside = []
        with mock.patch.object(compiled, "run_starts", watched):
            for _ in range(repeats):
                whole = timed(partial(_fit, OURS[name], X, k, **options))[0]
                outside.append(whole - inside.pop())
        rows.append(
            {
                "algorithm": name,
                "ms, shortest": 1e3 * min(outside),
                "ms, median": 1e3 * float(np.median(outside)),
            }
        )
    return rows


class Validation(BaseEstimator):
    """An estimator that does nothing but check its input."""

    def fit(self, X: Any, y: Any = None) -> Any:
        """Check X."""
        self.checked_ = validate_data(self, X, dtype=[np.float64, np.float32])
        return self


def shortest_fits(m: int) -> list[Row]:
    """Return the times of fits in which Python counts most."""
    X = blobs(500, m, 3, np.float32)
    init = X[np.random.default_rng(1).choice(500, 3, replace=False)].copy()
    runs: dict[str, Callable[[], Any]] = {
        name: partial(_fit, OURS[name], X, 3, init=init, n_init=1)
        for name in ("KMeans", "EWKMeans")
    }
    n_iter = int(runs["KMeans"]().n_iter_)
    runs["validation"] = lambda: Validation().fit(X)
    for peer, make in installed_peers().items():
        runs[peer] = make(X, init, n_iter)
    milliseconds = {name: 1e3 * s for name, s in shortest(runs, 3.0, 200).items()}
    return [{"features": m, "iterations": n_iter, **milliseconds}]


def gaps(n: int = 50_000) -> list[Row]:
    """Return how much longer fits take if cells are missing."""
    X = blobs(n, 20, 10)
    rng = np.random.default_rng(2)
    init = X[rng.choice(n, 10, replace=False)].copy()
    tables = {"complete": X, "a cell in each tenth row": X.copy(), "a tenth of the cells": X.copy()}
    tables["a cell in each tenth row"][::10, 3] = np.nan
    tables["a tenth of the cells"][rng.random(X.shape) < 0.1] = np.nan
    rows = []
    for name in ("KMeans", "EWKMeans"):
        options = {"init": init, "n_init": 1, "tol": 0, "max_iter": 8, "missing": "ignore"}
        fits = {t: partial(_fit, OURS[name], Y, 10, **options) for t, Y in tables.items()}
        seconds = shortest(fits, 6.0, 200)  # these differ little: a busy moment must not decide
        rows += [
            {"algorithm": name, "table": t, "times complete rows": seconds[t] / seconds["complete"]}
            for t in list(tables)[1:]
        ]
    return rows


def minkowski(dtype: str, p: float) -> list[Row]:
    """Return the time of an iteration of iMWK-Means, and that of NumPy; see `bench_minkowski`."""
    X, centers = bench_minkowski.clusters(np.dtype(dtype).type)
    weights = np.full(centers.shape, 1 / centers.shape[1])
    ours = bench_minkowski.our_iteration(X, centers, p)
    theirs = partial(bench_minkowski.numpy_iteration, X, centers, weights, p, literal=False)
    with threadpool_limits(1):
        bench_minkowski.check(ours(), theirs())
        seconds = shortest({"ours": ours, "NumPy": theirs}, 8.0)
    ratio = seconds["NumPy"] / seconds["ours"]
    return [{"dtype": dtype, "p": p, "ms": 1e3 * seconds["ours"], "ratio": ratio}]


def mixed(n_starts: int) -> list[Row]:
    """Return the times of fits of mixed columns with two threads; see `bench_mixed`."""
    table = bench_mixed.task()
    table = table._replace(starts=table.starts[:n_starts])
    fits = {"ours": bench_mixed.fit_ours, "kmodes": bench_mixed.fit_kmodes}
    fits["FasterKModes"] = bench_mixed.fit_faster
    if n_starts > 1:
        del fits["kmodes"]  # a hundred times as slow
    there = {
        name: fit
        for name, fit in fits.items()
        if name == "ours" or bench_mixed.is_there(name, fit, table)
    }
    n_iter, threads = 20, cpu_count()
    seconds = shortest(
        {name: partial(fit, table, n_iter, threads) for name, fit in there.items()}, 2.0
    )
    ours = seconds.pop("ours")
    ratios = {name: s / ours for name, s in seconds.items()}
    return [{"starts": n_starts, "iterations": n_iter, "ms": 1e3 * ours, **ratios}]


def memory(name: str, n: int) -> list[Row]:
    """Return the peak memory of five iterations beside the input, in a new process."""
    command = [sys.executable, __file__, "--memory", name, str(n)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    peak = int(done.stdout.split()[-1])
    row = {"contestant": name, "rows": n, "features": 20, "clusters": 8, "MiB": peak / 2**20}
    return [{**row, "share of the input": peak / (n * 20 * 8)}]


def measure_memory(name: str, n: int) -> int:
    X = np.random.default_rng(0).standard_normal((n, 20))
    init = X[:8].copy()
    if name in OURS:
        _fit(OURS[name], X[:2000], 8, max_iter=2)  # load everything once
        return peak_above(partial(_fit, OURS[name], X, 8, init=init, max_iter=5))
    PEERS[name](X[:2000].copy(), init, 2)()
    return peak_above(lambda: PEERS[name](X, init, 5)())


def fresh_process(what: str) -> list[Row]:
    """Return the seconds to import, or to a first result, in a new process."""
    run = partial(subprocess.run, [sys.executable, "-c", NEW_PROCESSES[what]], check=True)
    return [{"what": what, "seconds": shortest({what: run}, most=5)[what]}]


NEW_PROCESSES = {
    "import fwkmeans": "import fwkmeans",
    "import sklearn.cluster": "import sklearn.cluster",
    "first fit": "import numpy, fwkmeans; fwkmeans.KMeans(3).fit(numpy.random.rand(150, 4))",
    "scikit-learn's first fit": "import numpy, sklearn.cluster as c; "
    "c.KMeans(3).fit(numpy.random.rand(150, 4))",
}

GROWTH: dict[str, list[tuple[int, int, int, int | None]]] = {
    "rows": [(n, 20, 10, None) for n in (1_000, 10_000, 100_000, 1_000_000)],
    "features": [(20_000, m, 10, None) for m in (4, 40, 400)],
    "clusters": [(20_000, 20, k, None) for k in (4, 40, 400)],
    "threads": [(200_000, 20, 10, jobs) for jobs in range(1, cpu_count() + 1)],
}


def growth(axis: str, name: str, points: list[tuple[int, int, int, int | None]]) -> list[Row]:
    """Return how the time of eight iterations grows along one axis, with the fitted exponent."""
    place = list(GROWTH).index(axis)
    seconds = []
    for n, m, k, jobs in points:
        X = blobs(n, m, k)
        init = X[:k].copy()
        if name == "lloyd":
            run = PEERS[name](X, init, 8)
        else:
            options = {"init": init, "n_init": 1, "tol": 0, "max_iter": 8, "n_jobs": jobs}
            run = partial(_fit, OURS[name], X, k, **options)
        with threadpool_limits(jobs):
            seconds.append(shortest({"run": run}, 1.0)["run"])
    sizes = [point[place] for point in points]
    # the exponent between the last two sizes and over all of them
    last = float(np.log(seconds[-1] / seconds[-2]) / np.log(sizes[-1] / sizes[-2]))
    exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    row = {"axis": axis, "contestant": name, "sizes": sizes, "seconds": seconds}
    return [{**row, "exponent": exponent, "at the end": last}]


def throughput(dtype: str, m: int, k: int, n: int) -> list[Row]:
    """Return the share of the measured multiply-add rate that an assignment reaches.

    With weights of its own for each cluster a distance takes two multiply-adds for each feature.
    """
    X = np.random.default_rng(0).standard_normal((n, m), dtype=np.dtype(dtype))
    model = EWKMeans(k, init=X[:k].copy(), n_init=1, tol=0, max_iter=1).fit(X)
    seconds = shortest({"predict": lambda: model.predict(X)}, 1.0)["predict"]
    rate, reading = multiply_add_rate(np.dtype(dtype).type), read_rate()
    done = 2 * n * m * k / seconds
    return [
        {
            "dtype": dtype,
            "features": m,
            "clusters": k,
            "multiply-adds a byte": 2 * k / X.itemsize,
            "giga a second": done / 1e9,
            "peak": rate / 1e9,
            "bytes a second": reading / 1e9,
            "share": done / rate,
        }
    ]


# ---- all of it -----------------------------------------------------------------------------------

Cell = tuple[str, str, Callable[[], list[Row]]]  # section, key, what to do


def cells(small: bool) -> Iterator[Cell]:
    """Yield all cells; small ones are for trying the suite."""
    for key, make in default_calls.contests(small):
        yield "Default calls", key, partial(default_call, make)
    for table in small_tables():
        for n_init in (1, 10, 1000) if table in ("iris", "wine") else (1, 10):
            if not small or table == "iris":
                yield "Small tables", f"{table}-{n_init}", partial(default_fits, table, n_init)
    yield "Beside the loop", "overhead", partial(overhead, 20 if small else 300)
    for m in FEATURES[: 1 if small else None]:
        yield "Shortest fits", f"shortest-{m}", partial(shortest_fits, m)
    yield "Missing cells", "gaps", partial(gaps, 5_000 if small else 50_000)
    if not small:
        for dtype, p in (("float64", 1.7), ("float64", 3.0), ("float32", 1.7)):
            yield "Minkowski distances", f"{dtype}-{p}", partial(minkowski, dtype, p)
        for n_starts in (1, 10):
            yield "Mixed columns", f"mixed-{n_starts}", partial(mixed, n_starts)
    for name in ("KMeans", "EWKMeans", *installed_peers()):
        if name == "faiss centers":
            continue  # labels take next to nothing
        yield "Memory", f"memory-{name}", partial(memory, name, 10_000 if small else 1_000_000)
    axes = {axis: points for axis, points in GROWTH.items() if len(points) > 1}
    for axis, points in axes.items():
        for name in ("KMeans", "EWKMeans", "lloyd"):
            yield (
                "Growth",
                f"{axis}-{name}",
                partial(growth, axis, name, points[: 2 if small else 9]),
            )
    for dtype in ("float64", "float32"):
        for m, k in ((50, 2), (50, 10), (50, 50), (50, 200), (10, 50), (200, 50)):
            n = 2_000 if small else 2_000_000 // max(10, m)
            yield "Roofline", f"{dtype}-{m}-{k}", partial(throughput, dtype, m, k, n)
    for number, what in enumerate(NEW_PROCESSES):
        yield "New processes", f"process-{number}", partial(fresh_process, what)
    grid: Iterable[Any] = itertools.product(ROWS, FEATURES, CLUSTERS, ("float64", "float32"))
    if small:
        grid = [(500, 4, 3, "float64"), (10_000, 10, 3, "float32")]
    for n, m, k, dtype in grid:
        if n * m * np.dtype(dtype).itemsize <= MOST_BYTES:
            yield (
                "Whole fits",
                f"{dtype}-{n}-{m}-{k}",
                partial(whole_fits, dtype, n, m, k),
            )


def full(*, small: bool, fresh: bool, minutes: float, only: str) -> dict[str, Any]:
    """Measure what is not measured yet, and return everything that is."""
    described = {**about(), "small": small}
    core = Path(str(_kernels.__file__)).read_bytes()
    state = hashlib.sha256(core + json.dumps(described, sort_keys=True).encode()).hexdigest()[:12]
    folder = RESULTS / "cells" / state
    folder.mkdir(parents=True, exist_ok=True)
    sections: dict[str, list[Row]] = {name: [] for name in suite_page.TEXTS}
    n_left = 0
    begin = time.perf_counter()
    for section, key, work in cells(small):
        path = folder / f"{section}-{key}.json".replace(" ", "_")
        if fresh or not path.exists():
            if only not in f"{section}, {key}" or time.perf_counter() - begin > 60 * minutes:
                n_left += 1
                continue
            clock = time.perf_counter()
            path.write_text(json.dumps(work()))
            print(f"{section}, {key}: {time.perf_counter() - clock:.1f} s", flush=True)
        sections[section] += json.loads(path.read_text())
    sections = {name: rows for name, rows in sections.items() if rows}
    date = time.strftime("%Y-%m-%d")
    found = {"about": described, "date": date, "load": round(os.getloadavg()[0], 1)}
    return {**found, "cells left out": n_left, "sections": sections}


def quick() -> None:
    for key, make in default_calls.contests():
        if key in default_calls.TELLING:
            for row in default_call(make, 1.0):
                print(f"{row['table']}: {row['call']:30} {row['ratio']:6.2f}", flush=True)
    for table, n_init in itertools.product(small_tables(), (1, 10, 1000)):
        if n_init == 1000 and table not in ("iris", "wine"):
            continue
        for row in default_fits(table, n_init, 1.0):
            line = f"{table:9} {n_init:5} starts {row['algorithm']:11} {row['ratio']:6.2f}"
            print(line, flush=True)
    for n, m, k in ((10_000, 50, 50), (200_000, 20, 10), (200_000, 50, 50)):
        for row in whole_fits("float64", n, m, k):
            shown = ", ".join(f"{peer} {row[peer]:.2f}" for peer in PEERS if peer in row)
            print(f"{n} x {m}, {k:3} clusters {row['algorithm']:9} {shown}", flush=True)
    for row in overhead():
        shortest_ms = row["ms, shortest"]
        print(f"beside the loop: {row['algorithm']} takes {shortest_ms:.2f} ms", flush=True)
    for row in gaps():
        times = row["times complete rows"]
        print(f"{row['table']}: {row['algorithm']} takes {times:.2f} times as long", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only the ratios that must not fall")
    parser.add_argument("--small", action="store_true", help="try everything on tiny tables")
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    parser.add_argument("--page", action="store_true", help="only write the pages again")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no cell after so many")
    parser.add_argument("--only", default="", help="measure cells with this in their names alone")
    parser.add_argument("--memory", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # peers stop before they converge, on purpose
    if options.memory:
        print(measure_memory(options.memory[0], int(options.memory[1])))
        return
    print(machine())
    if options.quick:
        quick()
        return
    results = RESULTS / ("small.json" if options.small else "suite.json")
    if not options.page:
        how = {name: vars(options)[name] for name in ("small", "fresh", "minutes", "only")}
        found = full(**how)
        if options.only:
            suite_page.show(found)
            return
        results.write_text(json.dumps(found, indent=1) + "\n")
    suite_page.write(json.loads(results.read_text()), results, docs=not options.small)


if __name__ == "__main__":
    main()
