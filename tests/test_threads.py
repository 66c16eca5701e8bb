"""Threads, forks and workers: never a hang, always the same result."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest

from _core.problems import child_environment, python
from fwkmeans import EWKMeans, KMeans
from fwkmeans._support.threads import _n_cores, effective_n_threads
from fwkmeans.typing import Block, Pass

compiled = pytest.importorskip("fwkmeans._core.compiled")


linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux only")


def table(n=20_000, m=8, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, m)) + 3 * rng.integers(0, 4, (n, 1))


def fitted(X, n_jobs=2):
    model = EWKMeans(4, n_init=2, max_iter=5, n_jobs=n_jobs, random_state=0).fit(X)
    return model.labels_, model.cluster_centers_, model.feature_weights_, model.inertia_


def assert_same(a, b):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("n_jobs", [2, 3, 8, -1, None])
def test_a_fit_does_not_depend_on_threads(n_jobs):
    X = table()
    assert_same(fitted(X, n_jobs), fitted(X, 1))


def test_fits_at_the_same_time_give_the_same():
    tables = [table(seed=seed) for seed in range(6)]
    alone = [fitted(X) for X in tables]
    with ThreadPoolExecutor(6) as pool:
        for _ in range(3):
            for a, b in zip(alone, pool.map(fitted, tables), strict=True):
                assert_same(a, b)


def wide_table(seed=0):
    """Return a table of a single segment whose passes are shared."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(600, 200)) + 3 * rng.integers(0, 3, (600, 200))


def fitted_wide(X, n_jobs=2):
    model = EWKMeans(50, init=X[:50], max_iter=6, n_jobs=n_jobs).fit(X)
    return model.labels_, model.cluster_centers_, model.feature_weights_, model.inertia_


def test_fits_that_ask_for_the_same_helpers_give_the_same():
    tables = [wide_table(seed) for seed in range(4)]
    alone = [fitted_wide(X, 1) for X in tables]
    with ThreadPoolExecutor(4) as pool:
        for n_jobs in (2, 2, 3):
            found = pool.map(fitted_wide, tables, [n_jobs] * 4)
            for a, b in zip(alone, found, strict=True):
                assert_same(a, b)


CPU_AFTER_FITS = """
import os, time
import numpy as np
from fwkmeans import EWKMeans
rng = np.random.default_rng(0)
X = rng.normal(size=(600, 200)) + 3 * rng.integers(0, 3, (600, 200))
allowed = os.sched_getaffinity(0)
for _ in range(20):
    EWKMeans(50, init=X[:50], max_iter=6, n_jobs=2).fit(X)
tasks = [int(task) for task in os.listdir("/proc/self/task")]
assert len(tasks) > 1, "no helper is there"
assert all(os.sched_getaffinity(task) == allowed for task in tasks), "a thread is pinned"
used = time.process_time()
time.sleep(0.3)
print(time.process_time() - used)
"""


@linux_only
def test_a_fit_leaves_no_processor_busy_and_no_thread_pinned():
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor")
    assert float(python(CPU_AFTER_FITS)) < 0.03  # seconds of all threads, of 0.3


MANY_PROCESSORS = """
import os
import numpy as np
from fwkmeans import EWKMeans
X = np.random.default_rng(0).normal(size=(500, 200)) + np.arange(500)[:, None] % 10
before = len(os.listdir("/proc/self/task"))
fits = [EWKMeans(10, init=X[:10], n_jobs=jobs, max_iter=5, tol=0).fit(X) for jobs in (1, 64)]
assert fits[0].inertia_ == fits[1].inertia_
print(len(os.listdir("/proc/self/task")) - before)
"""


@linux_only
def test_a_small_table_does_not_keep_many_processors_busy():
    # a pass over it takes some 50 microseconds of one processor
    assert int(python(MANY_PROCESSORS)) == 2


def test_python_goes_on_while_a_pass_runs():
    # windows over one line: a table of many rows in little memory
    rows = np.lib.stride_tricks.sliding_window_view(np.random.default_rng(0).normal(size=10**6), 20)
    centers = rows[:: len(rows) // 400][None, :400].copy()
    assigning = Pass(centers, np.ones((1, 400, 20)), np.zeros((1, 400)), np.zeros(20))
    began, ended = threading.Event(), threading.Event()

    def run():
        began.set()
        try:
            compiled.assign(Block(rows, None), assigning)
        finally:
            ended.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert began.wait(60)
    steps = 0
    while not ended.is_set():
        steps += 1
        time.sleep(0.001)
    thread.join()
    # a pass that held the interpreter would let this thread run once at most
    assert steps > 10


PREPARE = """
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads is the point
import joblib, multiprocessing, threading
import numpy as np
from test_threads import fitted, table
from fwkmeans import KMeans
from fwkmeans._support.threads import _n_cores, effective_n_threads
X = table()
expected = fitted(X)

def right(found=None):
    found = found or fitted(X)
    return all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
"""

FORK = """
def child():
    pid = os.fork()
    if pid == 0:
        os._exit(0 if right() else 1)
    return os.waitpid(pid, 0)[1]

for _ in range(3):
    assert child() == 0
    assert right()
print("after a fit", flush=True)

stop = threading.Event()

def keep_fitting():
    while not stop.is_set():
        fitted(X)

threads = [threading.Thread(target=keep_fitting) for _ in range(2)]
for thread in threads:
    thread.start()
status = [child() for _ in range(5)]
stop.set()
for thread in threads:
    thread.join()
assert status == [0] * 5, status
print("amid fits", flush=True)

def job(seed):
    return right()

with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map_async(job, range(4)).get(timeout=50) == [True] * 4
assert right()
print("in a pool", flush=True)
"""

LOKY = """
model = KMeans(3, random_state=0).fit(X)
with joblib.Parallel(n_jobs=2, backend="loky", timeout=50) as parallel:
    assert all(right(found) for found in parallel(joblib.delayed(fitted)(X) for _ in range(4)))
    # joblib shares the cores among its workers
    counts = parallel(joblib.delayed(effective_n_threads)() for _ in range(2))
    assert max(counts) <= max(1, joblib.cpu_count() // 2), counts
    [labels] = parallel([joblib.delayed(model.predict)(X)])
    assert np.array_equal(labels, model.labels_)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.long
def test_forked_children_can_fit():
    done = python(PREPARE + FORK, timeout=60).splitlines()
    assert done == ["after a fit", "amid fits", "in a pool"]


@pytest.mark.long
def test_loky_workers_can_fit():
    python(PREPARE + LOKY, timeout=60)


IDLE = """
import os, time
from test_threads import fitted, table
n_threads = lambda: len(os.listdir("/proc/self/task"))
X = table()
fitted(X, 1)
before = n_threads()
fitted(X, 3)
during, end = n_threads(), time.monotonic() + 20
while n_threads() > before and time.monotonic() < end:
    time.sleep(0.05)
fitted(X, 2)  # new ones start
print(during - before, n_threads() - before)
"""


@linux_only
@pytest.mark.long
def test_idle_threads_end():
    assert python(IDLE) == "2 1\n"


@linux_only
def test_without_threads_the_caller_does_the_work():
    """A stack larger than the address space: no thread can be started."""
    import resource

    code = (
        "from test_threads import assert_same, fitted, table\n"
        "X = table()\n"
        "assert_same(fitted(X, 8), fitted(X, 1))\n"
        "import threading\n"
        "threading.stack_size(0)\n"
        "try:\n    threading.Thread(target=print).start()\n"
        "except RuntimeError:\n    print('none')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=child_environment(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (2**50, -1)),
    )
    assert (done.returncode, done.stdout) == (0, "none\n"), done.stderr


def test_joblib_threads_can_fit():
    X = table()
    alone = fitted(X)
    for found in joblib.Parallel(n_jobs=3, backend="threading")(
        joblib.delayed(fitted)(X) for _ in range(5)
    ):
        assert_same(found, alone)


def test_omp_num_threads_is_respected(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 6)
    monkeypatch.setattr("fwkmeans._support.threads._n_cores", _n_cores.__wrapped__)
    for value, expected in [("1", 1), ("4", 4), ("6", 6), ("100", 6), ("0", 1), ("-3", 1)]:
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        assert effective_n_threads() == expected
        assert effective_n_threads(5) == 5, "an explicit number wins"
    for value in ("", "many"):
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        assert effective_n_threads() == 6
    # OpenMP allows one number for each level of nesting: the first is ours
    monkeypatch.setenv("OMP_NUM_THREADS", "2,1")
    assert effective_n_threads() == 2
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert effective_n_threads() == 6


def test_n_jobs_counts_from_both_ends(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 6)
    monkeypatch.setattr("fwkmeans._support.threads._n_cores", _n_cores.__wrapped__)
    expected = {1: 1, 2: 2, 17: 17, -1: 6, -2: 5, -6: 1, -60: 1, np.int64(3): 3}
    for n_jobs, threads in expected.items():
        assert effective_n_threads(n_jobs) == threads
        assert type(effective_n_threads(n_jobs)) is int


@pytest.mark.parametrize("value", ["x", "", "2.5", "1,1"])
def test_a_limit_of_joblib_that_is_no_number_is_refused(monkeypatch, value):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", value)
    for n_jobs in (None, -1):
        with pytest.raises(ValueError, match=f"LOKY_MAX_CPU_COUNT is '{value}'; expected a whole"):
            KMeans(2, n_jobs=n_jobs).fit(table())
    KMeans(2, n_jobs=1).fit(table())  # asks for no number of cores
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert effective_n_threads() == 1


@linux_only
def test_affinity_is_respected(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert effective_n_threads() == 1
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", 2.0, [1], "all"])
def test_bad_n_jobs_raise(n_jobs):
    with pytest.raises((TypeError, ValueError), match="n_jobs="):
        KMeans(2, n_jobs=n_jobs).fit(np.zeros((5, 2)))
    model = KMeans(2, random_state=0).fit(table(50)).set_params(n_jobs=n_jobs)
    for method in (model.predict, model.transform, model.score):
        with pytest.raises((TypeError, ValueError), match="n_jobs="):
            method(table(50))
