"""Fits, predictions and searches that each take another road through the package.

A road is a function of ``n_jobs``. It returns arrays, which are the same each time it is taken.
"""

import functools
import inspect
import tempfile
import warnings
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from fwkmeans import AutoKMeans, FeatureWeightedKMeans
from fwkmeans._init import entities
from fwkmeans.centers import MinkowskiCenter
from fwkmeans.dissimilarities import Minkowski
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.preprocessing import RangeStandardizer, TableEncoder
from fwkmeans.reports import summarize
from fwkmeans.selection import SCORINGS, LabelFreeSearch
from fwkmeans.selection.tendency import cluster_tendency

#: Columns of the large table, and rows of which k-means++ takes only a sample.
WIDTH = 40
MANY = entities.SEEDING_BYTES // (8 * WIDTH) + 900


@functools.cache
def table(kind):
    """Return rows of some kind, in some clusters."""
    rng = np.random.default_rng(0)
    n, m = {"large": (MANY, WIDTH), "large single": (MANY, WIDTH), "large gaps": (MANY, WIDTH)}.get(
        kind, (1200, 600) if kind.startswith("sparse") else (200, 6)
    )
    X = rng.normal(size=(n, m)) + 3.0 * rng.integers(0, 3, (n, 1))
    if kind == "large single":
        return X.astype(np.float32)
    if kind in ("gaps", "large gaps"):
        X[rng.random(X.shape) < 0.01] = np.nan
    if kind.startswith("sparse"):
        X[rng.random(X.shape) < 0.95] = 0.0
        return csr_array(X if kind == "sparse, many rows" else X[:900])
    if kind == "categories":
        X = X.astype(object)
        X[:, 2] = rng.choice(["red", "green", "blue"], n)
    return X


def fit(estimator, X, **given):
    """Fit, and return what the model says of the rows."""
    given = {"max_iter": 3, "random_state": 0} | given
    known = estimator.get_params()
    model = estimator.set_params(**{name: one for name, one in given.items() if name in known})
    model.fit(X)
    some = X[:50]
    return [model.predict(X), model.transform(some), [model.score(some)]]


def algorithm(name, X, n_jobs, n_clusters=3, **parameters):
    """Fit one of the algorithms."""
    known = inspect.signature(ALGORITHMS[name]).parameters
    if "groups" in known:
        parameters["groups"] = np.arange(X.shape[1]) % 2
    if "grid" in known:
        parameters |= {"grid": 2, "spaces": np.arange(X.shape[1]) % 2}
    return fit(ALGORITHMS[name](n_clusters, n_jobs=n_jobs, n_init=2, **parameters), X)


def searched(n_jobs, X, scoring, y=None):
    """Search for the number of clusters."""
    model = ALGORITHMS["EW-KM"](2, n_jobs=n_jobs, max_iter=3, random_state=0, n_init=2)
    search = LabelFreeSearch(model, {"n_clusters": [2, 3, 4]}, scoring=scoring).fit(X, y)
    return [search.labels_, search.predict(X), [search.best_score_]]


def in_a_file(n_jobs):
    """Fit rows that stay in a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, table("large"))
        rows = np.load(path, mmap_mode="r")
        return algorithm("EW-KM", rows, n_jobs)


def roads():
    """Return all roads by name."""
    found = {}
    for name in ALGORITHMS:
        for kind in ("small", "large", "large single"):
            found[f"{name}, {kind}"] = lambda n_jobs, name=name, kind=kind: algorithm(
                name, table(kind), n_jobs, init="k-means++"
            )
    for init in ("random", "anomalous"):
        found[f"from {init}"] = lambda n_jobs, init=init: algorithm(
            "WK-Means", table("large"), n_jobs, init=init
        )
    for kind in ("gaps", "large gaps"):
        found[kind] = lambda n_jobs, kind=kind: algorithm(
            "WK-Means", table(kind), n_jobs, missing="rescale"
        )
    # more rows than 50 for each of the clusters, and fewer
    found["sparse, many rows"] = lambda n_jobs: algorithm(
        "EW-KM", table("sparse, many rows"), n_jobs, n_clusters=20
    )
    found["sparse"] = lambda n_jobs: algorithm("EW-KM", table("sparse"), n_jobs, n_clusters=20)
    found["in a file"] = in_a_file
    found["categories"] = lambda n_jobs: algorithm("AWK", table("categories"), n_jobs)
    found["pipeline"] = lambda n_jobs: fit(
        make_pipeline(TableEncoder(), ALGORITHMS["K-Means"](3, n_jobs=n_jobs, random_state=0)),
        table("categories"),
    )
    found["own parts"] = lambda n_jobs: fit(
        FeatureWeightedKMeans(
            3,
            dissimilarity=Minkowski(p=1.5),
            center=MinkowskiCenter(p=1.5),
            n_init=2,
            n_jobs=n_jobs,
        ),
        table("large"),
    )
    for kind in ("small", "categories", "large"):
        found[f"AutoKMeans, {kind}"] = lambda n_jobs, kind=kind: fit(
            AutoKMeans(3 if kind == "large" else None, n_jobs=n_jobs), table(kind)
        )
    for scoring in SCORINGS:
        y = np.arange(200) % 3 if scoring == "known_labels" else None
        found[f"search by {scoring}"] = lambda n_jobs, scoring=scoring, y=y: searched(
            n_jobs, table("small"), scoring, y
        )
    found["search, large"] = lambda n_jobs: searched(n_jobs, table("large"), "silhouette")
    found["search of a pipeline"] = lambda n_jobs: [
        LabelFreeSearch(
            make_pipeline(RangeStandardizer(), ALGORITHMS["WK-Means"](2, n_jobs=n_jobs, n_init=1)),
            {"wkmeans__n_clusters": [2, 3], "wkmeans__random_state": [0]},
        )
        .fit(table("large"))
        .labels_
    ]
    found["tendency"] = lambda n_jobs: [cluster_tendency(table("small"), n_references=2).score]
    found["report"] = _reported
    return found


def _reported(n_jobs):
    model = ALGORITHMS["WK-Means"](3, n_jobs=n_jobs, n_init=2, random_state=0)
    return [[summarize(model.fit(table("small")), table("small"))["objective"]]]


def take(road, n_jobs):
    """Take a road and return its arrays; what it warns of is not the point."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        return [np.asarray(one) for one in road(n_jobs)]
