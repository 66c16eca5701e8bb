"""Forked children: they fit what their parent fitted, whatever pools of threads it has entered.

A child gives the same bits within seconds, and so does its own child.
"""

from __future__ import annotations

import os
import signal
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from laws.configurations import CONFIGURATIONS
from roads import ALGORITHMS, MANY, WIDTH, csr_array

#: A child that takes longer hangs; `run.MOST_SECONDS` is more.
SECONDS = 20


def one_case(rng: np.random.Generator, folder: Path) -> None:
    """Fit one algorithm in a process, in its child, and sometimes in the child of that."""
    estimator, X, what = random_fit(rng)
    doings = {
        "a fit": lambda: outcome(estimator, X),
        "scikit-learn": use_scikit_learn,
        "BLAS": lambda: np.ones((300, 300)) @ np.ones((300, 300)),
    }
    before = [name for name in doings if rng.random() < 0.5]
    amid, depth = bool(rng.random() < 0.25), 1 + int(rng.random() < 0.25)
    what += f" after {before}{', amid fits' if amid else ''}, {depth} deep"
    warnings.simplefilter("ignore")  # forking with threads is the point
    expected = outcome(estimator, X)
    for name in before:
        doings[name]()
    stop = threading.Event()
    thread = threading.Thread(target=keep_fitting, args=(estimator, X, stop))
    if amid:
        thread.start()
    try:
        status = in_child(lambda: is_same(estimator, X, expected), depth)
    finally:
        stop.set()
        if amid:
            thread.join()
    reasons = {1: "other results", 2: "an error", 14: "a hang", -14: "a hang"}
    assert status == 0, f"{reasons.get(status, status)} in a child | {what}"
    assert is_same(estimator, X, expected), f"other results in the parent | {what}"


def random_fit(rng: np.random.Generator) -> tuple[Any, Any, str]:
    """Return an estimator on two threads, and rows of a size that may take another road."""
    n, m = int(rng.integers(8, 400)), int(rng.integers(1, 9))
    large = rng.random() < 0.1
    if large:
        n, m = MANY + int(rng.integers(0, 2000)), WIDTH + int(rng.integers(0, 5))
    X = rng.standard_normal((n, m)) + 3.0 * rng.integers(0, 3, (n, 1))
    if rng.random() < 0.3:
        X = X.astype(np.float32)
    common = {"random_state": int(rng.integers(1000)), "n_init": 2, "n_jobs": 2, "max_iter": 4}
    n_clusters = int(rng.integers(2, 6))
    if rng.random() < 0.1:
        X = csr_array(np.where(rng.random(X.shape) < 0.1, X, 0))
        return ALGORITHMS["EW-KM"](n_clusters, **common), X, f"EW-KM on sparse {X.shape}"
    configuration = CONFIGURATIONS[rng.integers(len(CONFIGURATIONS))]
    if (large and configuration.power != 2) or configuration.algorithm == "CK-Means":  # slow
        X, common["n_init"] = X[:, : WIDTH // 10], 1
        X = X[:400] if configuration.algorithm == "CK-Means" else X
    m = X.shape[1]
    estimator = configuration.estimator(n_clusters, m, **common)
    return estimator, X, f"{configuration.name} on {X.shape} {X.dtype}"


def outcome(estimator: Any, X: Any) -> list[Any]:
    """Fit, and return what is found and what is said of the rows, or the error."""
    try:
        model = type(estimator)(**estimator.get_params()).fit(X)
        return [model.labels_, model.cluster_centers_, model.inertia_, model.predict(X)]
    except ValueError as error:
        return [str(error)]


def is_same(estimator: Any, X: Any, expected: list[Any]) -> bool:
    """Tell whether a fit gives the same bits again."""
    return all(map(np.array_equal, outcome(estimator, X), expected))


def use_scikit_learn() -> None:
    """Enter its pool of OpenMP threads."""
    from sklearn.metrics import pairwise_distances_argmin_min

    pairwise_distances_argmin_min(np.ones((600, 2)), np.ones((3, 2)))


def keep_fitting(estimator: Any, X: Any, stop: threading.Event) -> None:
    """Fit until told to stop."""
    while not stop.is_set():
        outcome(estimator, X)


def in_child(works: Any, depth: int) -> int:
    """Return how a forked child ends that tries this, or forks once more for it."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        try:
            if depth > 1 and not works():
                os._exit(1)
            if depth > 1:
                os._exit(abs(in_child(works, depth - 1)))  # a hang is 14
            os._exit(0 if works() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
