"""Helpers of the benchmarks: interleaved timing, and a header that describes the machine."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable

import numpy as np
import sklearn
from joblib import cpu_count

import fwkmeans
from fwkmeans._core import compiled


def header() -> None:
    """Print what is compared, and on which machine."""
    kernels = compiled.instruction_set() if compiled else "array-API twin"
    print(
        f"fwkmeans {fwkmeans.__version__} ({kernels}), scikit-learn {sklearn.__version__}, "
        f"NumPy {np.__version__}, Python {platform.python_version()}, {cpu_count()} cores"
    )


def interleave(contestants: dict[str, Callable[[], float]], repeats: int) -> dict[str, list[float]]:
    """Run all contestants in turn, several times; each returns the seconds it took."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for run in contestants.values():  # warm up
        run()
    for _ in range(repeats):
        for name, run in contestants.items():
            seconds[name].append(run())
    return seconds


def timed(work: Callable[[], object]) -> tuple[float, object]:
    """Return seconds and result."""
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def multiply_add_rate(dtype: type) -> float:
    """Return the measured peak number of multiply-adds per second on all cores."""
    assert compiled is not None
    best = 0.0
    for _ in range(5):
        begin = time.perf_counter()
        done = compiled.multiply_adds(np.zeros(1, dtype), 10_000, cpu_count())
        best = max(best, done / (time.perf_counter() - begin))
    return best
