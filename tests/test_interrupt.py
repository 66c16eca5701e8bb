"""Ctrl-C ends a fit promptly and leaves a process that can go on."""

import selectors
import signal
import subprocess
import sys
import time

import pytest

from _core.problems import child_environment

pytest.importorskip("fwkmeans._core.compiled")

PROMPT = 5.0  # seconds; protects against hangs, the pass below would take longer than that

PREPARE = """
import sys
import numpy as np
from fwkmeans import EWKMeans, FeatureWeightedKMeans, KMeans
from fwkmeans._core import compiled
from fwkmeans.weighting import WeightRule

rng = np.random.default_rng(0)
n_jobs = int(sys.argv[1])
say = lambda word: print(word, flush=True)
kernel, said = compiled.assign_and_accumulate, []

def announced(*args):
    if not said:
        said.append(say("in the pass"))
    return kernel(*args)

compiled.assign_and_accumulate = announced
"""

# Windows over one line of numbers: 3 million rows in little memory, some 20 s of work at best
LONG_PASS = """
X = np.lib.stride_tricks.sliding_window_view(rng.normal(size=3_000_000), 50)
centers = X[:: len(X) // 4000][:4000].copy()
model = EWKMeans(len(centers), init=centers, max_iter=1, n_jobs=n_jobs)
"""

# Weights that never come to rest: an endless number of short passes
MANY_ITERATIONS = """
class Restless(WeightRule):
    monotone = False

    def update(self, dispersion, context):
        weights = rng.uniform(0.1, 1, dispersion.shape)
        return weights / weights.sum(axis=-1, keepdims=True)

X = rng.normal(size=(500, 4))
model = FeatureWeightedKMeans(
    3, weighting=Restless(), n_init=2, max_iter=10**9, n_jobs=n_jobs, random_state=0
)
"""

FIT = """
try:
    model.fit(X)
    say("finished")
except KeyboardInterrupt:
    say("interrupted")
assert not hasattr(model, "labels_")
small = rng.normal(size=(3000, 5))
again = [KMeans(3, n_jobs=jobs, random_state=0).fit(small).inertia_ for jobs in (n_jobs, 1)]
assert again[0] == again[1]
say("went on")
"""


def line_of(process, timeout):
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        if not selector.select(timeout):
            return f"nothing within {timeout} s"
    return process.stdout.readline().decode().strip()


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("fit", [LONG_PASS, MANY_ITERATIONS], ids=["long pass", "many iterations"])
def test_ctrl_c_ends_a_fit_and_nothing_else(fit, n_jobs):
    process = subprocess.Popen(
        [sys.executable, "-c", PREPARE + fit + FIT, str(n_jobs)],
        env=child_environment(),
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    try:
        assert line_of(process, 60) == "in the pass"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert line_of(process, PROMPT) == "interrupted"
        assert line_of(process, 60) == "went on"
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_what_a_signal_handler_raises_comes_through():
    code = (
        PREPARE
        + LONG_PASS
        + """
import signal

class Stop(Exception):
    pass

def handler(*_):
    raise Stop

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.5)
try:
    model.fit(X)
except Stop:
    say("stopped")
"""
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "1"],
        env=child_environment(),
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    try:
        assert line_of(process, 60) == "in the pass"
        assert line_of(process, PROMPT) == "stopped"
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_harmless_signal_does_not_end_a_pass():
    code = (
        PREPARE
        + """
import signal
caught = []
signal.signal(signal.SIGALRM, lambda *_: caught.append(1))
X = np.lib.stride_tricks.sliding_window_view(rng.normal(size=200_000), 20)
model = KMeans(300, init=X[:300].copy(), max_iter=3, n_jobs=2)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
labels = model.fit(X).labels_
signal.setitimer(signal.ITIMER_REAL, 0)
assert caught
assert np.array_equal(labels, model.fit(X).labels_)
"""
    )
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, "1"],
        env=child_environment(),
        check=True,
        capture_output=True,
        timeout=60,
    )
