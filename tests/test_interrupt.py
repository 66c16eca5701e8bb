"""Ctrl-C ends a fit promptly and leaves a process that can go on."""

import selectors
import signal
import subprocess
import sys

import pytest

from _core.problems import child_environment

pytest.importorskip("fwkmeans._core.compiled")

PROMPT = 5.0  # seconds; protects against hangs, the pass below would take longer than that

PREPARE = """
import signal
import sys
import numpy as np
from fwkmeans import EWKMeans, FeatureWeightedKMeans, KMeans
from fwkmeans._core import compiled
from fwkmeans.weighting import WeightRule

rng = np.random.default_rng(0)
say = lambda word: print(word, flush=True)
quiet, codes = [True], []

def announce(kernel):
    def announced(*args, **options):
        if not quiet:
            quiet.append(True)
            begin()
        return kernel(*args, **options)

    codes.append(kernel.__code__)
    return announced

compiled.assign_and_accumulate = announce(compiled.assign_and_accumulate)
compiled.run_starts = announce(compiled.run_starts)
codes.append(compiled.accumulate_all.__code__)  # which the first one calls

def when_inside(act):
    # two alarms in a row find the wrapper of the kernel at the same call: it is running
    places = []

    def look(_, frame):
        places.append((frame.f_code, frame.f_lasti))
        if frame.f_code in codes and places[-2:] == [(frame.f_code, frame.f_lasti)] * 2:
            signal.setitimer(signal.ITIMER_REAL, 0)
            act()

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
"""

# Windows over one line of numbers: 3 million rows in little memory, some 20 s of work at best
LONG_PASS = """
X = np.lib.stride_tricks.sliding_window_view(rng.normal(size=3_000_000), 50)
centers = X[:: len(X) // 4000][:4000].copy()
model = EWKMeans(len(centers), init=centers, max_iter=1)
begin = lambda: when_inside(lambda: say("in the pass"))
"""

# Weights that never come to rest: an endless number of short passes
MANY_ITERATIONS = """
class Restless(WeightRule):
    monotone = False

    def update(self, dispersion, context):
        weights = rng.uniform(0.1, 1, dispersion.shape)
        return weights / weights.sum(axis=-1, keepdims=True)

X = rng.normal(size=(500, 4))
model = FeatureWeightedKMeans(3, weighting=Restless(), n_init=2, max_iter=10**9, random_state=0)
begin = lambda: say("in the pass")
"""

FIT = """
small = rng.normal(size=(3000, 5))
expected = KMeans(3, n_jobs=1, random_state=0).fit(small).inertia_
for n_jobs in (1, 2):
    quiet.clear()
    try:
        model.set_params(n_jobs=n_jobs).fit(X)
        say("finished")
    except KeyboardInterrupt:
        say("interrupted")
    assert not hasattr(model, "labels_")
    assert KMeans(3, n_jobs=n_jobs, random_state=0).fit(small).inertia_ == expected
    say("went on")
"""

OTHER_SIGNALS = """
class Stop(Exception):
    pass

def stop():
    say("in the pass")
    raise Stop

begin = lambda: when_inside(stop)
quiet.clear()
try:
    model.fit(X)
except Stop:
    say("stopped")

caught = []
signal.signal(signal.SIGALRM, lambda *_: caught.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
model = KMeans(300, init=centers[:300], max_iter=2, tol=1.0, n_jobs=2)
labels = model.fit(X[:100_000]).labels_
signal.setitimer(signal.ITIMER_REAL, 0)
assert caught
assert np.array_equal(labels, model.fit(X[:100_000]).labels_)
say("undisturbed")
"""


class Child:
    """A Python process whose lines are awaited one by one."""

    def __init__(self, code):
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code],
            env=child_environment(),
            stdout=subprocess.PIPE,
            bufsize=0,
            # a shell may have told its background jobs to ignore it
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def line(self, timeout=60):
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(timeout):
                return f"nothing within {timeout} s"
        return self.process.stdout.readline().decode().strip()


@pytest.mark.parametrize("fit", [LONG_PASS, MANY_ITERATIONS], ids=["long pass", "many iterations"])
@pytest.mark.long
def test_ctrl_c_ends_a_fit_and_nothing_else(fit):
    with Child(PREPARE + fit + FIT) as child:
        for _ in ("one thread", "two threads"):
            assert child.line() == "in the pass"
            child.process.send_signal(signal.SIGINT)
            assert child.line(PROMPT) == "interrupted"
            assert child.line() == "went on"
        assert child.process.wait(60) == 0


@pytest.mark.long
def test_other_signals_do_what_their_handlers_say():
    with Child(PREPARE + LONG_PASS + OTHER_SIGNALS) as child:
        assert child.line() == "in the pass"
        assert child.line(PROMPT) == "stopped"
        assert child.line() == "undisturbed"
        assert child.process.wait(60) == 0
