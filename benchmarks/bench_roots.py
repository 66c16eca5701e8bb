"""Compare two ways to find Minkowski centers on small tables: in the core, or by passes over rows.

``python benchmarks/bench_roots.py`` fits IMWKMeans in both ways in turn, in one process and on one
thread, and prints the median ratio of the paired times.
"""

from __future__ import annotations

import numpy as np

import fwkmeans.centers.minkowski as minkowski
from common import header, interleave, timed
from fwkmeans import IMWKMeans
from fwkmeans.datasets import SURVEY_CONFIGURATIONS, load_uci, make_survey_gaussians
from fwkmeans.preprocessing import RangeStandardizer

REPEATS = 7
GATHERED = minkowski._FEW


def rows_of(name):
    if name in SURVEY_CONFIGURATIONS:
        size = SURVEY_CONFIGURATIONS[name]
        X, n_clusters = make_survey_gaussians(*size, random_state=0)[0], size[2]
    else:
        table = load_uci(name, as_frame=False)
        X, n_clusters = table.data, table.n_clusters
    return RangeStandardizer().fit_transform(X), n_clusters


def contestant(few, X, n_clusters, p):
    def run():
        minkowski._FEW = few
        return timed(lambda: IMWKMeans(n_clusters, p=p, n_jobs=1).fit(X))[0]

    return run


def main() -> None:
    header()
    print(f"{'table':<12}{'p':>5}{'passes, ms':>14}{'gathered, ms':>14}{'ratio':>8}")
    for name in ("iris", "500x10-3", "500x50-5"):
        X, n_clusters = rows_of(name)
        for p in (1.1, 1.5, 3.0):
            ways = {
                "passes": contestant(0, X, n_clusters, p),
                "gathered": contestant(GATHERED, X, n_clusters, p),
            }
            passes, gathered = map(np.asarray, interleave(ways, REPEATS).values())
            print(
                f"{name:<12}{p:>5}{1e3 * np.median(passes):>14.1f}"
                f"{1e3 * np.median(gathered):>14.1f}{np.median(passes / gathered):>8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
