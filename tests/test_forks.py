"""No hang after a fork: no thread pool of a library that a child could not use is ever entered."""

import sys

import pytest

from _core.problems import python

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux only")

#: Roads that `make test` takes; `make test-long` takes them all.
SOME = (
    *("K-Means, small", "K-Means, large", "K-Means, large single", "AWK, large", "WK-Means, large"),
    *("EW-KM, large", "FWSA, large", "FG-K-Means, large", "IK-P, large", "iMWK-Means, large"),
    *("SYNCLUS, large", "CK-Means, large", "from random", "large gaps", "sparse", "in a file"),
    *("categories", "AutoKMeans, small", "search by silhouette", "tendency"),
)

THREADS = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive", "OPENBLAS_NUM_THREADS": "1"}

TAKE = """
import os, signal, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads is the point
import numpy as np
from threadpoolctl import threadpool_info
from roads import MANY, roads, table, take
from sklearn.cluster import KMeans

SECONDS = 100
every = roads()
names = sys.argv[1:] or list(every)
count_threads = lambda: len(os.listdir("/proc/self/task"))

# one processor, so that no thread is ours; OMP_NUM_THREADS has scikit-learn start two all the same
allowed = os.sched_getaffinity(0)
os.sched_setaffinity(0, {min(allowed)})
before = count_threads()
expected = {}
for name in names:
    expected[name] = take(every[name], 1)
    assert count_threads() == before, f"{name}: a pool of threads was entered"
KMeans(2, n_init=1, max_iter=1, init="random").fit(table("small"))
pools = [one["num_threads"] for one in threadpool_info() if one["user_api"] == "openmp"]
assert pools and min(pools) > 1, pools
assert count_threads() > before, "this could not have been seen"
os.sched_setaffinity(0, allowed)
take(every["EW-KM, large"], 2)  # now there are threads of ours, too

for name in names:
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)  # a child that hangs is ended by it
        try:
            found = take(every[name], 2)
            same = all(np.array_equal(a, b) for a, b in zip(found, expected[name], strict=True))
            os._exit(0 if same else 1)
        finally:
            os._exit(2)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        reasons = {1: "other results", 2: "an error", -signal.SIGALRM: "a hang"}
        sys.exit(f"{name}: {reasons.get(status, status)} in a forked child")
print(len(names))
"""


@pytest.mark.parametrize("some", [pytest.param(SOME), pytest.param((), marks=pytest.mark.long)])
def test_forked_children_go_every_road_whatever_their_parent_did(some):
    assert int(python(TAKE, *some, timeout=300, **THREADS)) >= len(SOME)


def test_the_pool_of_blas_can_be_forked():
    """NumPy multiplies on several threads in the parent, and fits go on in the child."""
    multiply = "np.ones((900, 900)) @ np.ones((900, 900))\n"
    code = TAKE.replace("before = count_threads()", multiply + "before = count_threads()")
    names = ("K-Means, large", "CK-Means, large", "AutoKMeans, small", "tendency")
    threads = THREADS | {"OPENBLAS_NUM_THREADS": "2"}
    assert int(python(code, *names, timeout=300, **threads)) == len(names)
