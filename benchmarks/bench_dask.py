"""Compare an iteration on a Dask array with one on the same rows in memory, and with dask-ml.

The table has 10 million rows of 20 float32 columns in 64 blocks. Two workers with one thread each
have it persisted; in memory, two threads have it. All contestants get the same initial centers and
do not stop before `max_iter`; "ten starts" begin at random rows and run together, as they do by
default. An iteration is the difference of two fits, divided by the difference of their numbers of
iterations, so that what a fit does once does not count: the description of the table, the starts
and the last labels. That is shown beside.

Wall time is that of this machine, with all that runs there beside. CPU time is the sum over all
processes, the scheduler's included: on a loaded machine it is what to look at. "in memory" is the
loop in the compiled core, which leaves rows unread whose label cannot change; "in memory, by
passes" does the work that Dask's workers do. dask-ml (if it is installed) learns no weights.

Run this alone: python benchmarks/bench_dask.py [--rows 10000000] [--repeats 3]
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import pickle
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import dask
import dask.array as da
import numpy as np
import psutil
from distributed import Client, LocalCluster, wait

from common import header
from fwkmeans import EWKMeans
from fwkmeans._core.passes import Accumulation
from fwkmeans.sources import MemorySource, on_block
from fwkmeans.sources import dask as dask_source

N_FEATURES, N_CLUSTERS, N_BLOCKS = 20, 10, 64
FEW, MANY = 1, 5  # iterations


def make_block(block_id: tuple[int, int], n_rows: int) -> Any:
    rng = np.random.default_rng(block_id[0])
    rows = rng.standard_normal((n_rows, N_FEATURES), dtype=np.float32)
    rows[:, :5] += 2.5 * rng.integers(4, size=(n_rows, 1)).astype(np.float32)
    return rows


def cpu(processes: list[psutil.Process]) -> float:
    return sum(sum(one.cpu_times()[:2]) for one in processes)


def measured(fit: Callable[[int], Any], processes: list[psutil.Process]) -> tuple[float, ...]:
    """Return seconds of an iteration and of the rest of a fit: wall and CPU."""
    found = []
    for max_iter in (FEW, MANY):
        wall, busy = time.perf_counter(), cpu(processes)
        fit(max_iter)
        found.append((time.perf_counter() - wall, cpu(processes) - busy))
    (wall, busy), (long_wall, long_busy) = found
    each, each_busy = (long_wall - wall) / (MANY - FEW), (long_busy - busy) / (MANY - FEW)
    return each, each_busy, wall - FEW * each, busy - FEW * each_busy


def fit_ours(
    cls: Any, X: Any, centers: Any, max_iter: int, n_starts: int = 1, n_jobs: int | None = None
) -> Any:
    options = {"n_init": n_starts, "n_jobs": n_jobs, "random_state": 0}
    init = centers if n_starts == 1 else "random"
    return cls(N_CLUSTERS, init=init, tol=0, max_iter=max_iter, **options).fit(X)


def fit_by_passes(cls: Any, X: Any, centers: Any, max_iter: int) -> Any:
    logger = logging.getLogger("fwkmeans")
    logger.setLevel(logging.DEBUG)  # it reports every iteration, so the loop is that of Python
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    try:
        return fit_ours(cls, X, centers, max_iter, n_jobs=2)
    finally:
        logger.setLevel(logging.NOTSET)


def fit_peer(X: Any, centers: Any, max_iter: int) -> Any:
    from dask_ml.cluster import KMeans as PeerKMeans

    return PeerKMeans(N_CLUSTERS, init=centers, max_iter=max_iter, tol=0).fit(X)


def report_messages(X: Any, centers: Any) -> None:
    """Print what a block costs, and what travels."""
    sizes: dict[str, int] = {}
    jobs: list[Any] = []

    def carry(self: Any, reduction: Any, *n_tasks: Any) -> Any:
        if isinstance(reduction, Accumulation):
            jobs.append(reduction)
        return original(self, reduction, *n_tasks)

    original = dask_source.DaskSource._carry
    dask_source.DaskSource._carry = carry  # type: ignore[method-assign]
    fit_ours(EWKMeans, X[:1000], centers, 1)
    dask_source.DaskSource._carry = original  # type: ignore[method-assign]
    block = next(iter(MemorySource(make_block((0, 0), X.chunks[0][0])).blocks()))
    part, _ = on_block(jobs[0], block, {})
    sizes = {"reduction": len(pickle.dumps(jobs[0])), "part": len(pickle.dumps(part))}
    best = np.inf
    for _ in range(5):
        begin = time.process_time()
        on_block(jobs[0], block, {})
        best = min(best, time.process_time() - begin)
    joins = 200
    begin = time.process_time()
    for _ in range(joins):
        jobs[0].join(part, part)
    join = (time.process_time() - begin) / joins
    print(
        f"a block of {len(block.rows)} rows: {best:.4f} s of CPU; a join: {1e6 * join:.0f} us; "
        f"bytes of a reduction: {sizes['reduction']}, of a part: {sizes['part']}"
    )


def report_tasks(client: Any, processes: list[psutil.Process]) -> None:
    """Print what a task costs that does nothing."""
    blocks = da.zeros((64, 2), chunks=(1, 2)).persist()
    wait(blocks)
    walls, busy = [], []
    main = [psutil.Process()]
    for _ in range(5):
        wall, all_cpu, here = time.perf_counter(), cpu(processes), cpu(main)
        blocks.map_blocks(abs).sum(split_every=16).compute()
        walls.append((time.perf_counter() - wall) / 69)
        busy.append(((cpu(processes) - all_cpu) / 69, (cpu(main) - here) / 69))
    everywhere, here = np.min(busy, axis=0)
    print(
        f"a task that does nothing: {1e3 * min(walls):.2f} ms, {1e3 * everywhere:.2f} ms of CPU, "
        f"{1e3 * here:.2f} of them in the process of scheduler and client"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    header()
    print(f"dask {dask.__version__}, {arguments.rows} rows of {N_FEATURES} float32 columns")
    n_rows = arguments.rows // N_BLOCKS
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0
        ) as cluster,
        Client(cluster) as client,
    ):
        chunks = ((n_rows,) * N_BLOCKS, (N_FEATURES,))
        empty = np.empty((0, N_FEATURES), np.float32)
        rows = da.map_blocks(make_block, n_rows=n_rows, chunks=chunks, dtype=np.float32, meta=empty)
        rows = rows.persist()
        wait(rows)
        in_memory = np.concatenate([make_block((at, 0), n_rows) for at in range(N_BLOCKS)])
        centers = in_memory[:N_CLUSTERS].astype(np.float64)
        pids = client.run(lambda: __import__("os").getpid()).values()
        here = psutil.Process()
        workers = [psutil.Process(pid) for pid in pids]
        report_tasks(client, [here, *workers])
        report_messages(rows, centers)
        contestants: dict[str, Callable[[int], Any]] = {
            "EWKMeans in memory": partial(fit_ours, EWKMeans, in_memory, centers, n_jobs=2),
            "EWKMeans in memory, by passes": partial(fit_by_passes, EWKMeans, in_memory, centers),
            "EWKMeans on Dask": partial(fit_ours, EWKMeans, rows, centers),
        }
        if importlib.util.find_spec("dask_ml") is not None:
            contestants["dask-ml KMeans"] = partial(fit_peer, rows, centers)
        contestants |= {
            "EWKMeans, ten starts in memory": partial(
                fit_ours, EWKMeans, in_memory, centers, n_jobs=2, n_starts=10
            ),
            "EWKMeans, ten starts on Dask": partial(fit_ours, EWKMeans, rows, centers, n_starts=10),
        }
        times: dict[str, list[tuple[float, ...]]] = {name: [] for name in contestants}
        print("seconds: an iteration, its CPU time, what is done once, its CPU time", flush=True)
        for _ in range(arguments.repeats):
            for name, fit in contestants.items():
                times[name].append(measured(fit, [here, *workers]))
                line = "".join(f"{one:9.3f}" for one in times[name][-1])
                print(f"  {name:33s}{line}", flush=True)
        best = {name: np.min(found, axis=0) for name, found in times.items()}
        pairs = [
            ("EWKMeans on Dask", "EWKMeans in memory"),
            ("EWKMeans on Dask", "EWKMeans in memory, by passes"),
            ("EWKMeans, ten starts on Dask", "EWKMeans, ten starts in memory"),
            ("dask-ml KMeans", "EWKMeans on Dask"),
        ]
        for above, below in pairs:
            if above in best:
                ratio = best[above] / best[below]
                print(f"  {above} / {below}: {ratio[0]:.2f}, CPU {ratio[1]:.2f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
