"""How many threads a fit may use."""

from __future__ import annotations

import os
from numbers import Integral
from typing import Any

import joblib

_MOST = 256  # threads; more never helped anybody


def effective_n_threads(n_jobs: Any = None) -> int:
    """Turn ``n_jobs`` into a number of threads.

    None is every core the process may run on (affinity, cgroup), or ``OMP_NUM_THREADS`` if that is
    set and smaller; -1 is every core, -2 all but one.
    """
    if n_jobs is not None and not isinstance(n_jobs, Integral):
        raise TypeError(f"n_jobs={n_jobs!r}: expected an integer or None.")
    cores = max(1, int(joblib.cpu_count()))
    if n_jobs is None:
        try:
            return max(1, min(cores, int(os.environ["OMP_NUM_THREADS"].split(",")[0])))
        except (KeyError, ValueError):
            return cores
    wanted = int(n_jobs)
    if wanted == 0:
        raise ValueError("n_jobs=0 makes no sense; expected None, -1 (all cores) or 1, 2, ...")
    return min(wanted, _MOST) if wanted > 0 else max(1, cores + 1 + wanted)
