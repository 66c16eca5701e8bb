"""Compare `IKPrototypes` with the k-prototypes of kmodes and FasterKModes on mixed columns.

The same rows start the clusters, for one start and for ten (ours run as one batch; a peer fits one
after the other). The number of iterations is fixed; nobody converges earlier, and if one did, its
time is divided by the iterations it has done. "fit" is the whole call. "iteration" is the
difference between long fits and fits of a single iteration, divided by the iterations in between
and by the starts. We and kmodes read a DataFrame with text. FasterKModes cannot, so it gets the
categories as codes. IK-P has more to do: it counts all categories instead of keeping the most
frequent one, and it learns weights of the features. On the other hand, the peers sum up the cost in
every iteration. Ratios above 1 mean that fwkmeans is faster. To install the peers: pip install
kmodes FasterKModes (the latter compiles itself with gcc and OpenMP into the user's data folder when
it is first used). Run this alone: python benchmarks/bench_mixed.py [--repeats 15]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
import pandas as pd
from joblib import cpu_count
from threadpoolctl import threadpool_limits

from common import header, interleave, timed
from fwkmeans import IKPrototypes

N, K = 20_000, 5
N_NUMERIC, N_CATEGORICAL = 5, 5
CATEGORIES = np.asarray(list("abcdef"))
CATEGORICAL = list(range(N_NUMERIC, N_NUMERIC + N_CATEGORICAL))  # columns
GAMMA = 1.0  # weight of a category relative to numbers of range one, for the peers


class Task(NamedTuple):
    """The table in the form that each peer needs, and the rows that start the clusters."""

    numbers: np.ndarray  # (N, 5)
    codes: np.ndarray  # (N, 5)
    coded: np.ndarray  # (N, 10) both
    frame: pd.DataFrame
    starts: np.ndarray  # (starts, K) positions


Fit = Callable[[Task, int, int], int]  # task, most iterations, threads -> iterations of a start


def task() -> Task:
    """Return clusters that overlap so much that they keep moving."""
    rng = np.random.default_rng(0)
    group = rng.integers(K, size=N)
    numbers = rng.uniform(0, 0.3, (K, N_NUMERIC))[group]
    numbers += 0.25 * rng.standard_normal(numbers.shape)
    numbers = (numbers - numbers.min(axis=0)) / np.ptp(numbers, axis=0)
    shares = rng.dirichlet(np.full(CATEGORIES.size, 3.0), (K, N_CATEGORICAL)).cumsum(axis=-1)
    codes = (rng.random((N, N_CATEGORICAL, 1)) > shares[group][..., :-1]).sum(axis=-1)
    columns = {f"number {v}": column for v, column in enumerate(numbers.T)}
    columns |= {f"category {v}": CATEGORIES[column] for v, column in enumerate(codes.T)}
    first = [np.argmax(group == k) for k in range(K)]
    starts = np.vstack([first, rng.choice(N, (9, K), replace=False)])
    coded = np.ascontiguousarray(np.hstack([numbers, codes]))
    return Task(numbers, codes, coded, pd.DataFrame(columns), starts)


def fit_ours(task: Task, max_iter: int, n_threads: int) -> int:
    given = iter(task.starts)
    options = {
        "init": lambda X, n_clusters, random_state: task.frame.iloc[next(given)],
        "n_init": len(task.starts),
        "tol": 0,
    }
    model = IKPrototypes(K, max_iter=max_iter, n_jobs=n_threads, **options).fit(task.frame)
    return int(model.n_iter_)


def fit_kmodes(task: Task, max_iter: int, n_threads: int) -> int:
    from kmodes.kprototypes import KPrototypes

    for rows in task.starts:
        start = [task.numbers[rows], task.codes[rows]]
        model = KPrototypes(K, init=start, n_init=1, max_iter=max_iter, gamma=GAMMA)
        model.fit(task.frame, categorical=CATEGORICAL)
    return int(model.n_iter_)


def fit_faster(task: Task, max_iter: int, n_threads: int) -> int:
    from FasterKModes import FasterKPrototypes

    done = 0
    for rows in task.starts:
        # it centers the numbers of the table, but not those of the start
        numbers = (task.numbers[rows] - task.numbers.mean(axis=0)).astype(np.float32)
        codes = task.codes[rows].astype(np.uint8)
        log = io.StringIO()
        with contextlib.redirect_stdout(log):  # the only place that shows the number of iterations
            model = FasterKPrototypes(K, max_iter=max_iter, gamma=GAMMA, n_jobs=n_threads)
            model.fit(task.coded, CATEGORICAL, init_Ccat=codes, init_Cnum=numbers)
        done += log.getvalue().count("N_MOVES")
    return done // len(task.starts)


def is_there(name: str, fit: Fit, task: Task) -> bool:
    """Tell whether a peer works, and say why if it does not."""
    small = Task(*(form[:100] for form in task[:-1]), np.arange(K)[None])
    try:
        fit(small, 1, 1)
    except (ImportError, OSError) as error:
        print(f"{name} is left out: {error}")
        return False
    print(f"{name} {version(name)}")
    return True


def compare(
    task: Task, name: str, fit: Fit, max_iter: int, n_threads: int, repeats: int, target: int
) -> None:
    """Print one line about a peer."""
    fits = {"ours": fit_ours, name: fit}
    done = {own: run(task, max_iter, n_threads) for own, run in fits.items()}
    runs = {
        (own, most): (lambda run=run, most=most: timed(lambda: run(task, most, n_threads))[0])
        for own, run in fits.items()
        for most in (1, max_iter)
    }
    seconds = {key: np.asarray(s) for key, s in interleave(runs, repeats).items()}
    whole = [seconds[own, max_iter] for own in fits]
    n_starts = len(task.starts)
    single = [
        (seconds[own, max_iter] - seconds[own, 1]) / (done[own] - 1) / n_starts for own in fits
    ]
    print(f"{name:14}{n_threads:8}{n_starts:7}{done['ours']:>5}/{done[name]:<3}", end="")
    for ours, theirs in (whole, single):
        print(f"{np.median(ours) * 1e3:9.2f}{np.median(theirs) * 1e3:10.2f}", end="")
        print(f"{np.median(theirs / ours):8.1f}", end="")
    print(f"{target:8}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore")  # runs stop early on purpose
    header()
    table = task()
    peers = {"kmodes": fit_kmodes, "FasterKModes": fit_faster}
    peers = {name: fit for name, fit in peers.items() if is_there(name, fit, table)}
    print(
        f"\n{N:_} rows, {N_NUMERIC} numeric and {N_CATEGORICAL} categorical columns with "
        f"{CATEGORIES.size} categories, {K} clusters"
    )
    print("median ms; ratio = peer / ours; done = iterations of ours / of the peer")
    print(f"{'':38}{'whole fit':^27}{'one more iteration':^27}")
    print(f"{'peer':14}{'threads':>8}{'starts':>7}{'done':>9}", end="")
    print(f"{'ours':>9}{'peer':>10}{'ratio':>8}" * 2 + f"{'target':>8}")
    alone = table._replace(starts=table.starts[:1])
    if "kmodes" in peers:  # it has one thread for one start
        with threadpool_limits(1):
            compare(alone, "kmodes", fit_kmodes, 10, 1, min(repeats, 3), target=100)
    if "FasterKModes" in peers:
        for n_threads in sorted({1, cpu_count()}):
            with threadpool_limits(n_threads):
                for one in (alone, table):
                    compare(one, "FasterKModes", fit_faster, 20, n_threads, repeats, target=10)


if __name__ == "__main__":
    main()
