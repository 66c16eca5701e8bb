"""Fit a file that is larger than memory may be, and compare a pass with plainly reading it.

A file of random clusters is made in a temporary folder (set TMPDIR if it is too small) and removed
afterwards. Passes and plain readings take turns, so that a busy machine slows both. The peak of
resident memory is that of a process of its own, which does nothing else.

Run this: python benchmarks/bench_files.py --gigabytes 20 --kind npy
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from common import header

COLUMNS, CLUSTERS = 50, 8
ROWS = 200_000  # that are made at a time


def make(path: Path, n_rows: int) -> None:
    """Write clusters to a file, some rows at a time."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(CLUSTERS, COLUMNS)).astype(np.float32) * 2
    noise = rng.standard_normal((ROWS, COLUMNS), dtype=np.float32)

    def piece(n: int) -> np.ndarray:
        labels = rng.integers(0, CLUSTERS, n)
        return centers[labels] + np.roll(noise[:n], int(rng.integers(COLUMNS)), axis=1)

    sizes = [min(ROWS, n_rows - begin) for begin in range(0, n_rows, ROWS)]
    if path.suffix == ".npy":
        head = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, COLUMNS)}
        with path.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, head)
            for n in sizes:
                file.write(piece(n).data)
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(f"x{v}", pa.float32()) for v in range(COLUMNS)])
    options = {"compression": "none", "use_dictionary": False}
    with pq.ParquetWriter(path, schema, **options) as writer:
        for n in sizes:
            columns = np.ascontiguousarray(piece(n).T)
            writer.write_table(pa.table(list(columns), schema=schema))


def read_plainly(path: Path) -> None:
    """Read every cell once, as a short loop would."""
    if path.suffix == ".npy":
        room = np.empty(64 * 2**20, dtype=np.uint8)
        with path.open("rb", buffering=0) as file:
            while file.readinto(room.data):
                pass
        return
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 18) as file:
        for _ in file.iter_batches(1 << 16):
            pass


def timed(path: Path, work: Callable[[], object]) -> tuple[float, float]:
    """Return seconds, and those of the CPU, of work on a file that the system has to read."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    begin, cpu = time.perf_counter(), time.process_time()
    work()
    return round(time.perf_counter() - begin, 2), round(time.process_time() - cpu, 2)


def child(path: Path, what: str) -> None:
    """Do one thing in this process, and print its time and peak of memory."""
    from fwkmeans import EWKMeans
    from fwkmeans.sources import ChunkedSource, describe

    warnings.simplefilter("ignore")
    source = ChunkedSource(path, n_threads=os.cpu_count() or 1)
    found: dict[str, object] = {"rows": source.n_rows, "blocks": source.n_blocks}
    begin = time.perf_counter()
    if what == "fit":
        model = EWKMeans(CLUSTERS, n_init=1, max_iter=2, random_state=0).fit(source)
        found["labels"] = f"{model.labels_.shape} {model.labels_.dtype}"
    else:
        centers = next(iter(source.blocks())).rows[:CLUSTERS].copy()
        from fwkmeans._engine import assignment_of
        from fwkmeans.dissimilarities import SquaredEuclidean
        from fwkmeans.typing import Weights
        from fwkmeans.weighting import UniformWeights

        weights = Weights(np.ones((1, CLUSTERS, COLUMNS)), {})
        assigning = assignment_of(UniformWeights(), centers[None].astype(np.float64), weights)
        accumulation = SquaredEuclidean().bind(describe(source)[0]).accumulation(assigning)
        plain, passes = [], []
        for _ in range(int(what)):
            plain.append(timed(path, lambda: read_plainly(path)))
            passes.append(timed(path, lambda: source.reduce(accumulation)))
        found["plain: seconds, CPU"], found["pass: seconds, CPU"] = plain, passes
        found["share"] = round(min(plain)[0] / min(passes)[0], 3)
    found["seconds"] = round(time.perf_counter() - begin, 1)
    found["peak MiB"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    print(json.dumps(found), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--kind", choices=["npy", "parquet"], default="npy")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(Path(given.child[0]), given.child[1])
        return
    header()
    n_rows = int(given.gigabytes * 1e9 / (4 * COLUMNS))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"rows.{given.kind}"
        make(path, n_rows)
        print(f"{path.name}: {path.stat().st_size / 1e9:.1f} GB, {n_rows:_} x {COLUMNS} float32")
        for what in (str(given.passes), "fit"):
            command = [sys.executable, __file__, "--child", str(path), what]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
