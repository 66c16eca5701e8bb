"""Measure the peak private memory that a fit needs besides its input (1 000 000 x 20, 8 clusters).

A thread samples the anonymous memory of the process while it fits; mapped files do not count.
Run this: python benchmarks/bench_memory.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from common import header
from fwkmeans import EWKMeans, KMeans

ROWS, FEATURES, CLUSTERS = 1_000_000, 20, 8


def anonymous_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status has no RssAnon (Linux only)")


def peak_above(work: Callable[[], object]) -> int:
    """Return how far anonymous memory rises while the work is done."""
    before = anonymous_bytes()
    peak, done = before, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, anonymous_bytes())
            time.sleep(0.0005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    work()
    done.set()
    watcher.join()
    return max(peak, anonymous_bytes()) - before


def measure(dtype: str, algorithm: str, how: str) -> None:
    """Fit once and print one line; this runs in a fresh process."""
    warnings.simplefilter("ignore")
    make = {"EWKMeans": EWKMeans, "KMeans": KMeans}[algorithm]
    X = np.random.default_rng(0).standard_normal((ROWS, FEATURES), dtype=dtype)
    make(CLUSTERS, max_iter=2, random_state=0).fit(X[:2000])  # load everything once
    options = {"random_state": 0} if how == "defaults" else {"init": X[:CLUSTERS].copy()}
    model = make(CLUSTERS, max_iter=5, **options)
    if how == "file":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.npy"
            np.save(path, X)
            peak = peak_above(lambda: model.fit(path))
    else:
        peak = peak_above(lambda: model.fit(X))
    share = peak / X.nbytes
    print(f"{dtype:9}{algorithm:10}{how:10}{peak / 2**20:8.1f} MiB{share:8.1%}", flush=True)


def main() -> None:
    if len(sys.argv) > 1:
        measure(*sys.argv[1:])
        return
    header()
    print(f"\n{ROWS:_} x {FEATURES}, {CLUSTERS} clusters: peak private memory above the input")
    for dtype in ("float64", "float32"):
        for algorithm in ("EWKMeans", "KMeans"):
            for how in ("centers", "defaults", "file"):
                subprocess.run([sys.executable, __file__, dtype, algorithm, how], check=True)


if __name__ == "__main__":
    main()
