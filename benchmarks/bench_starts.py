"""Compare starts per second on small tables with `KMeans(n_init=1000)` of scikit-learn.

One call runs 1000 random starts (`init="random"`), and the contestants take turns in one process.
This also checks that starts in a batch end at the same objectives as starts that run one by one.
Run this alone: python benchmarks/bench_starts.py [--repeats 7]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import ks_2samp
from sklearn.cluster import KMeans as PeerKMeans

from common import header, interleave, timed
from fwkmeans import EWKMeans, KMeans, WKMeans
from fwkmeans._engine import alternate, bind_parts
from fwkmeans._init import Seeds, random_entities
from fwkmeans.datasets import load_uci
from fwkmeans.preprocessing import RangeStandardizer
from fwkmeans.sources import MemorySource, describe

N_STARTS = 1000
OURS = {"EWKMeans": EWKMeans, "WKMeans": WKMeans, "KMeans": KMeans}


def seconds_of_fit(make: Callable[..., Any], X: np.ndarray) -> float:
    return timed(lambda: make(3, init="random", n_init=N_STARTS, random_state=0).fit(X))[0]


def batched_objectives(model: Any, X: np.ndarray) -> np.ndarray:
    """Return the objective of every start of a batch."""
    model.fit(X)  # sets what the recipe needs to know about the columns
    source = MemorySource(X)
    table, _ = describe(source)
    recipe, table = bind_parts(model._recipe(source, table), source, table)
    recipe = recipe._replace(weighting=recipe.weighting.bind(table, model.n_clusters))
    centers = random_entities(source, model.n_clusters, Seeds(0), range(N_STARTS), table)
    weights = recipe.weighting.initial(N_STARTS, model.n_clusters, table)
    return alternate(source, recipe, table, centers, weights, max_iter=300, tol=1e-6).objective


def single_objectives(make: Callable[..., Any], X: np.ndarray) -> np.ndarray:
    """Return the objectives of the same number of starts, each in a separate fit."""
    models = (make(3, init="random", n_init=1, random_state=seed) for seed in range(N_STARTS))
    return np.asarray([model.fit(X).objective_history_[-1] for model in models])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore")
    header()
    print(f"\nstarts per second, {N_STARTS} in one call; ratio = ours / scikit-learn")
    for table in ("iris", "wine"):
        X = RangeStandardizer().fit_transform(load_uci(table, as_frame=False).data)
        makers: dict[str, Callable[..., Any]] = {"scikit-learn": PeerKMeans, **OURS}
        runs = {name: partial(seconds_of_fit, make, X) for name, make in makers.items()}
        seconds = {name: np.asarray(s) for name, s in interleave(runs, repeats).items()}
        for name, own in seconds.items():
            ratio = float(np.median(seconds["scikit-learn"] / own))
            print(f"{table:6}{name:14}{N_STARTS / np.median(own):10.0f}{ratio:8.2f}")
    print("\nobjectives of batched starts and of starts one by one (Kolmogorov-Smirnov)")
    for table in ("iris", "wine"):
        X = RangeStandardizer().fit_transform(load_uci(table, as_frame=False).data)
        for name, make in OURS.items():
            together = np.round(batched_objectives(make(3), X), 9)  # equal up to rounding
            alone = np.round(single_objectives(make, X), 9)
            p = ks_2samp(together, alone).pvalue
            print(
                f"{table:6}{name:14} mean {together.mean():.6g} / {alone.mean():.6g}, "
                f"best {together.min():.8g} / {alone.min():.8g}, p = {p:.2f}"
            )


if __name__ == "__main__":
    main()
