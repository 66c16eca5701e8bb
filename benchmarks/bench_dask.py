"""Compare fits on a Dask array with those on the same rows in memory, and with dask-ml.

The table has 10 million rows of 20 float32 columns in 64 blocks. Two workers with one thread each
have it persisted; in memory, two threads have it. All contestants of a line get the same initial
centers: ten rows, or ten times ten random rows for the default of ten starts.

An iteration is the difference of two fits that do not stop before `max_iter`, divided by the
difference of their numbers of iterations, so that what a fit does once does not count: the
description of the table, the starts and the last labels. Early iterations read all rows, late ones
those whose label may change. "whole fit" is a fit until it converges, with all of that.

Wall time is that of this machine, with all that runs there beside. CPU time is the sum over all
processes, the scheduler's included: on a loaded machine it is what to look at. Contestants take
turns, and the lowest of all repeats counts. dask-ml (if it is installed) learns no weights.

Run this alone: python benchmarks/bench_dask.py [--rows 10000000] [--repeats 3] [--only KMeans]
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import pickle
import time
import warnings
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import numpy as np
import psutil
from distributed import Client, LocalCluster, wait

from common import header
from fwkmeans import EWKMeans, KMeans
from fwkmeans._core.passes import Accumulation
from fwkmeans.sources import MemorySource, dask_lines, on_block
from fwkmeans.sources import dask as dask_source

N_FEATURES, N_CLUSTERS, N_BLOCKS = 20, 10, 64
SPANS = (1, 5, 20, 40)  # iterations of fits whose differences are timed


def make_block(block_id: tuple[int, int], n_rows: int) -> Any:
    rng = np.random.default_rng(block_id[0])
    rows = rng.standard_normal((n_rows, N_FEATURES), dtype=np.float32)
    rows[:, :5] += 2.5 * rng.integers(4, size=(n_rows, 1)).astype(np.float32)
    return rows


def cpu(processes: list[psutil.Process]) -> float:
    return sum(sum(one.cpu_times()[:2]) for one in processes)


def measured(fit: Callable[[], Any], processes: list[psutil.Process]) -> tuple[Any, Any]:
    """Return seconds of a fit, wall and CPU, and the model."""
    wall, busy = time.perf_counter(), cpu(processes)
    model = fit()
    return np.array([time.perf_counter() - wall, cpu(processes) - busy]), model


def fit_ours(cls: Any, X: Any, centers: Any, max_iter: int | None = None, n_starts: int = 1) -> Any:
    """Fit until `max_iter`, or until it converges."""
    stop = {} if max_iter is None else {"max_iter": max_iter, "tol": 0}
    options = {"n_init": n_starts, "n_jobs": 2 if isinstance(X, np.ndarray) else None}
    init = centers if n_starts == 1 else "random"
    return cls(N_CLUSTERS, init=init, random_state=0, **stop, **options).fit(X)


def fit_peer(X: Any, centers: Any, max_iter: int) -> Any:
    from dask_ml.cluster import KMeans as PeerKMeans

    return PeerKMeans(N_CLUSTERS, init=centers, max_iter=max_iter, tol=0).fit(X)


def report_messages(X: Any, centers: Any) -> None:
    """Print what a block costs, and what travels."""
    sizes: dict[str, int] = {}
    jobs: list[Any] = []

    def reduce(self: Any, reduction: Any) -> Any:
        jobs.append(reduction)
        return original(self, reduction)

    original = dask_source.DaskSource.reduce
    dask_source.DaskSource.reduce = reduce  # type: ignore[method-assign]
    fit_ours(EWKMeans, X[:1000], centers, 1)
    dask_source.DaskSource.reduce = original  # type: ignore[method-assign]
    jobs = [one for one in jobs if isinstance(one, Accumulation)]
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


class Answering:
    """An actor that does nothing."""

    def listen(self) -> Any:
        """Return where a line begins."""
        return dask_lines.listen(self)

    def answer(self, message: bytes) -> bytes:
        """Return what came."""
        return message


def report_actors(client: Any, processes: list[psutil.Process]) -> None:
    """Print what a message to an actor costs, and its answer: by a line, and by Dask."""
    workers = list(client.nthreads())
    futures = [client.submit(Answering, actor=True, workers=[one]) for one in workers]
    actors = client.gather(futures)
    lines = [dask_lines.call(actor.listen().result()) for actor in actors]
    message = bytes(5000)

    def by_lines() -> None:
        for line in lines:
            dask_lines.send(line, pickle.dumps(("answer", (message,))))
        for line in lines:
            dask_lines.receive(line)

    def by_dask() -> None:
        for asked in [one.answer(message) for one in actors]:
            asked.result()

    main, n_rounds = [psutil.Process()], 500
    for what, ask in (("lines", by_lines), ("Dask", by_dask)):
        wall, all_cpu, here = time.perf_counter(), cpu(processes), cpu(main)
        for _ in range(n_rounds):
            ask()
        wall = (time.perf_counter() - wall) / n_rounds
        everywhere, here = (
            (now - before) / n_rounds / len(workers)
            for now, before in ((cpu(processes), all_cpu), (cpu(main), here))
        )
        print(
            f"a message to {len(workers)} actors and their answers by {what}: {1e3 * wall:.2f} ms; "
            f"each {1e3 * everywhere:.2f} ms of CPU, {1e3 * here:.2f} of them in the process of "
            "scheduler and client"
        )
    for line in lines:
        line.close()


def compare(
    fits: dict[str, Callable[..., Any]], processes: list[psutil.Process], repeats: int
) -> None:
    """Print seconds of whole fits and of iterations, and their ratios to the first contestant."""
    best: dict[tuple[str, int | None], Any] = {}
    for _ in range(repeats):
        for max_iter in (*SPANS, None):
            for name, fit in fits.items():
                if max_iter is None and fit.func is fit_peer:  # type: ignore[attr-defined]
                    continue  # it would run for an hour
                times, model = measured(partial(fit, max_iter=max_iter), processes)
                best[name, max_iter] = np.minimum(times, best.get((name, max_iter), np.inf))
                if max_iter is None:
                    wall, busy = times
                    print(f"  {name}: {model.n_iter_} iterations, {wall:.2f} s, CPU {busy:.2f}")
    lines: dict[str, dict[str, Any]] = {
        f"iterations {few + 1} to {many}": {
            name: (best[name, many] - best[name, few]) / (many - few) for name in fits
        }
        for few, many in pairwise(SPANS)
    }
    lines["what is done once"] = {
        name: best[name, 1] - lines["iterations 2 to 5"][name] for name in fits
    }
    lines["whole fit"] = {name: best[name, None] for name in fits if (name, None) in best}
    for what, found in lines.items():
        first = next(iter(found.values()))
        for name, (wall, busy) in found.items():
            ratio = f"ratio {wall / first[0]:.2f}, of CPU {busy / first[1]:.2f}"
            print(f"  {what:20s} {name:30s} {wall:8.3f} s, CPU {busy:8.3f}; {ratio}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=["KMeans", "EWKMeans"])
    parser.add_argument("--starts", type=int, nargs="*", default=[1, 10])
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
        processes = [psutil.Process(), *(psutil.Process(pid) for pid in pids)]
        report_tasks(client, processes)
        report_actors(client, processes)
        report_messages(rows, centers)
        fit_ours(EWKMeans, rows, centers, 2)  # workers have imported all they need
        for n_starts in arguments.starts:
            for cls in (KMeans, EWKMeans):
                if arguments.only not in (None, cls.__name__):
                    continue
                print(f"{cls.__name__}, n_init={n_starts}, load {os.getloadavg()[0]:.1f}")
                options: dict[str, Any] = {"centers": centers, "n_starts": n_starts}
                fits: dict[str, Callable[..., Any]] = {
                    "in memory": partial(fit_ours, cls, in_memory, **options),
                    "on Dask": partial(fit_ours, cls, rows, **options),
                }
                if n_starts == 1 and importlib.util.find_spec("dask_ml") is not None:
                    fits["dask-ml KMeans on Dask"] = partial(fit_peer, rows, centers)
                compare(fits, processes, arguments.repeats)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
