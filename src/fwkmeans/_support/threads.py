"""How many threads a fit may use."""

from __future__ import annotations

import os
from typing import Any

import joblib

from fwkmeans._support.checks import JOBS

_MOST = 256  # threads; more never helped anybody


def effective_n_threads(n_jobs: Any = None) -> int:
    """Turn ``n_jobs`` into a number of threads.

    None is every core the process may run on (affinity, cgroup), or ``OMP_NUM_THREADS`` if that is
    set and smaller; -1 is every core, -2 all but one.
    """
    JOBS.check("n_jobs", n_jobs)
    cores = max(1, int(joblib.cpu_count()))
    if n_jobs is None:
        try:
            return max(1, min(cores, int(os.environ["OMP_NUM_THREADS"].split(",")[0])))
        except (KeyError, ValueError):
            return cores
    wanted = int(n_jobs)
    return min(wanted, _MOST) if wanted > 0 else max(1, cores + 1 + wanted)
