"""Helpers of the benchmarks: interleaved timing, and a header that describes the machine."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from joblib import cpu_count

import fwkmeans
from fwkmeans._core import compiled


def blobs(n: int, m: int, k: int, dtype: Any = np.float64) -> np.ndarray:
    """Return Gaussian clusters in half of the columns, and noise as wide in the others."""
    rng = np.random.default_rng(0)
    useful = m - m // 2
    centers = rng.uniform(-10, 10, (k, useful)).astype(dtype)
    X = rng.standard_normal((n, m), dtype=dtype)
    X[:, :useful] += centers[rng.integers(0, k, n)]
    X[:, useful:] *= X[:1000, :useful].std()
    return X


def machine() -> str:
    """Return what is compared, and on which machine."""
    kernels = compiled.instruction_set() if compiled else "array-API twin"
    return (
        f"fwkmeans {fwkmeans.__version__} ({kernels}), scikit-learn {sklearn.__version__}, "
        f"NumPy {np.__version__}, Python {platform.python_version()}, {cpu_count()} cores"
    )


def about() -> dict[str, str]:
    """Return the versions of all that is compared, and the machine."""
    versions = {"fwkmeans": fwkmeans.__version__, "Python": platform.python_version()}
    for name in ("numpy", "scikit-learn", "scikit-learn-intelex", "faiss-cpu", "kmodes"):
        with contextlib.suppress(PackageNotFoundError):
            versions[name] = version(name)
    with contextlib.suppress(PackageNotFoundError):
        versions["FasterKModes"] = version("FasterKModes")
    kernels = compiled.instruction_set() if compiled else "array-API twin"
    return {**versions, "kernels": kernels, "processor": _processor(), "cores": str(cpu_count())}


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def header() -> None:
    """Print what is compared, and on which machine."""
    print(machine())


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


@functools.cache
def _multiply_adds() -> ctypes.CDLL:
    """Build the loop of multiply-adds for this machine."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "multiply_adds.so"
        options = ["-O3", "-march=native", "-mprefer-vector-width=512", "-ffp-contract=fast"]
        if platform.machine() not in ("x86_64", "AMD64"):
            options = ["-O3", "-mcpu=native", "-ffp-contract=fast"]
        source = Path(__file__).with_name("multiply_adds.cpp")
        compiler = os.environ.get("CXX", "c++")
        command = [compiler, *options, "-fPIC", "-shared", source, "-o", library]
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(library))


@functools.cache
def read_rate() -> float:
    """Return the measured peak number of bytes read per second, by all cores, beyond the caches."""
    run = _multiply_adds().read_all
    run.argtypes, run.restype = [ctypes.c_void_p, ctypes.c_long], ctypes.c_double
    parts = [np.ones(1 << 26) for _ in range(cpu_count())]  # 512 MiB each
    best = 0.0
    with ThreadPoolExecutor(cpu_count()) as threads:
        for _ in range(3):
            begin = time.perf_counter()
            list(threads.map(lambda part: run(part.ctypes.data, part.size), parts))
            best = max(best, sum(part.nbytes for part in parts) / (time.perf_counter() - begin))
    return best


@functools.cache
def multiply_add_rate(dtype: type) -> float:
    """Return the measured peak number of multiply-adds per second on all cores."""
    run = getattr(_multiply_adds(), f"multiply_adds_{np.dtype(dtype).name}")
    run.argtypes, run.restype = [ctypes.c_long], ctypes.c_double
    best = 0.0
    with ThreadPoolExecutor(cpu_count()) as threads:  # ctypes lets go of the interpreter
        for _ in range(5):
            begin = time.perf_counter()
            done = sum(threads.map(run, [640_000] * cpu_count()))
            best = max(best, done / (time.perf_counter() - begin))
    return best
