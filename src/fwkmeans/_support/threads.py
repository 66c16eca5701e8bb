"""How many threads a fit may use."""

from __future__ import annotations

import functools
import os
from contextlib import AbstractContextManager
from typing import Any

import joblib
from threadpoolctl import ThreadpoolController

from fwkmeans._support.checks import JOBS

#: Variables of the environment that decide how many threads there are.
ENVIRONMENT = ("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT")
_MOST = 256  # threads; more never helped anybody


def effective_n_threads(n_jobs: Any = None) -> int:
    """Turn ``n_jobs`` into a number of threads.

    None is every core the process may run on (affinity, cgroup), or ``OMP_NUM_THREADS`` if that is
    set and smaller; -1 is every core, -2 all but one.
    """
    if n_jobs is None:
        cores, limit = _n_allowed(), os.environ.get(ENVIRONMENT[0])
        try:
            return cores if limit is None else max(1, min(cores, int(limit.split(",")[0])))
        except ValueError:
            return cores
    JOBS.check("n_jobs", n_jobs)
    wanted = int(n_jobs)
    return min(wanted, _MOST) if wanted > 0 else max(1, _n_allowed() + 1 + wanted)


def _n_allowed() -> int:
    return _n_cores(_may_run_on(), os.environ.get(ENVIRONMENT[1]))


@functools.lru_cache(maxsize=8)
def _n_cores(affinity: frozenset[int] | None, limit: str | None) -> int:
    """Return the number of cores, asked once for each affinity: joblib reads files for it."""
    try:
        return max(1, int(joblib.cpu_count()))
    except ValueError:
        raise ValueError(
            f"The environment variable LOKY_MAX_CPU_COUNT is {limit!r}; expected a whole number, "
            "the most cores that joblib and fits may use. Change it, or remove it."
        ) from None


def _may_run_on() -> frozenset[int] | None:
    known = hasattr(os, "sched_getaffinity")  # not on every system
    return frozenset(os.sched_getaffinity(0)) if known else None


def one_blas_thread() -> AbstractContextManager[Any]:
    """Let NumPy and SciPy multiply matrices in one thread: the same bits on any number of cores.

    The libraries are looked up once in a process. To look takes a lock of the loader, which a
    child that is forked meanwhile could never have.
    """
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limit


@functools.cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()
