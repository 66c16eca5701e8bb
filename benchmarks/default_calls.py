"""The calls that people make, beside those that they would make with a peer.

A contest is a table and some calls; the last one is the peer's. Of what a call takes, the number of
clusters is all that is given, so that every contestant draws its own starts; a default fit of ours
has ten of them, and scikit-learn's one.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans as PeerKMeans
from sklearn.cluster import MiniBatchKMeans
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_wine
from sklearn.metrics import silhouette_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from common import blobs
from fwkmeans import (
    AutoKMeans,
    AWKMeans,
    EWKMeans,
    FGKMeans,
    FWSAKMeans,
    IKPrototypes,
    IMWKMeans,
    KMeans,
    WKMeans,
)
from fwkmeans.preprocessing import RangeStandardizer
from fwkmeans.selection import LabelFreeSearch

K = 10
SIZES = [(n, m) for n in (1_000, 21_000, 200_000, 1_000_000) for m in (4, 20, 100)]
PEER = "scikit-learn: KMeans(10).fit"
ALGORITHMS: dict[str, Callable[[], Any]] = {
    "KMeans(10).fit": partial(KMeans, K),
    "EWKMeans(10).fit": partial(EWKMeans, K),
    "WKMeans(10).fit": partial(WKMeans, K),
    'WKMeans(10, weights="cluster").fit': partial(WKMeans, K, weights="cluster"),
    "AWKMeans(10).fit": partial(AWKMeans, K),
    "FGKMeans(10).fit": partial(FGKMeans, K),
    "FWSAKMeans(10).fit": partial(FWSAKMeans, K),
    "IMWKMeans(10).fit": partial(IMWKMeans, K),
}
#: Contests that `suite.py --quick` shows.
TELLING = ("1000x20", "200000x4", "200000x20", "predict-200000", "partial_fit", "search")


class Contest(NamedTuple):
    """Calls that do the same on the same table."""

    table: str
    runs: dict[str, Callable[[], Any]]
    n_seeds: int = 3  # of the starts that calls draw

    @property
    def peer(self) -> str:
        """The call of the peer."""
        return list(self.runs)[-1]


def contests(small: bool = False) -> Iterator[tuple[str, Callable[[], Contest]]]:
    """Yield the key of each contest, and what makes it; small ones are for trying the suite."""
    for n, m in [(1_000, 4), (2_000, 20)] if small else SIZES:
        yield f"{n}x{m}", partial(arrays, n, m)
    few, many = (500, 1_000) if small else (1_000, 1_000_000)
    middle = 800 if small else 200_000
    yield "Minkowski", partial(minkowski, middle)
    yield "frame", partial(frame, middle)
    yield "categories", partial(categories, middle)
    for n in (few, middle // 2, many):
        yield f"auto-{n}", partial(auto, n)
    for n in (few, middle, many):
        yield f"predict-{n}", partial(predict, n)
    yield "partial_fit", partial(partial_fit, middle)
    for n in (few, many):
        yield f"command-{n}", partial(command, n)
    yield "search", search


def size(n: int, m: int) -> str:
    return f"{n:,} x {m}".replace(",", " ")


def arrays(n: int, m: int) -> Contest:
    """Fit an array with every algorithm."""
    X = blobs(n, m, K)
    runs = {call: _fit_of(make, X) for call, make in ALGORITHMS.items()}
    return Contest(size(n, m), {**runs, PEER: _fit_of(partial(PeerKMeans, K), X)})


def minkowski(n: int) -> Contest:
    """Fit with other powers than squares, beside K-Means."""
    X = blobs(n, 20, K)
    ours = _fit_of(partial(IMWKMeans, p=1.5), X)
    runs = {"IMWKMeans(p=1.5).fit": ours, "scikit-learn: KMeans().fit": _fit_of(PeerKMeans, X)}
    return Contest(size(n, 20), runs)


def frame(n: int) -> Contest:
    """Fit a frame of numbers."""
    X = pd.DataFrame(blobs(n, 20, K)).add_prefix("column")
    names = ("KMeans(10).fit", "EWKMeans(10).fit", "WKMeans(10).fit")
    runs = {f"{name}, frame": _fit_of(ALGORITHMS[name], X) for name in names}
    runs[f"{PEER}, frame"] = _fit_of(partial(PeerKMeans, K), X)
    return Contest(size(n, 20), runs)


def categories(n: int) -> Contest:
    """Fit a frame with categories, which scikit-learn gets as indicators."""
    X = pd.DataFrame(blobs(n, 10, K)).add_prefix("column")
    rng = np.random.default_rng(1)
    for v in range(4):
        X[f"category{v}"] = pd.Categorical(np.array(list("abcdef"))[rng.integers(0, 2 + v, n)])
    numbers = (StandardScaler(), make_column_selector(dtype_include="number"))
    others = (OneHotEncoder(), make_column_selector(dtype_include="category"))
    encoder = make_column_transformer(numbers, others)
    runs = {
        "AWKMeans(10).fit, categories": _fit_of(partial(AWKMeans, K), X),
        "IKPrototypes(10).fit, categories": _fit_of(partial(IKPrototypes, K), X),
    }
    peer = partial(make_pipeline, encoder, PeerKMeans(K))
    runs["scikit-learn: OneHotEncoder, StandardScaler, KMeans(10).fit"] = _fit_of(peer, X)
    return Contest(size(n, 14), runs)


def auto(n: int) -> Contest:
    """Look for the number of clusters, by the silhouette with scikit-learn, or give it."""
    X = blobs(n, 10, 5)
    runs = {
        "AutoKMeans().fit": _fit_of(AutoKMeans, X),
        "AutoKMeans(5).fit": _fit_of(partial(AutoKMeans, 5), X),
        "scikit-learn: KMeans(k) for k of 2 to 12 by silhouette_score": partial(by_silhouette, X),
    }
    return Contest(size(n, 10), runs)


def by_silhouette(X: np.ndarray) -> Any:
    """Return the model with the number of clusters that has the highest silhouette."""
    rows = StandardScaler().fit_transform(X)
    models = [PeerKMeans(k).fit(rows) for k in range(2, 13)]
    most = min(2_000, len(X))
    return max(models, key=lambda one: silhouette_score(rows, one.labels_, sample_size=most))


def predict(n: int) -> Contest:
    X = blobs(n, 20, K)
    names = ("KMeans(10).fit", "EWKMeans(10).fit")
    ours = {name.replace(".fit", ".predict"): ALGORITHMS[name]().fit(X[:1000]) for name in names}
    theirs = PeerKMeans(K).fit(X[:1000])
    runs = {call: partial(model.predict, X) for call, model in ours.items()}
    runs["scikit-learn: KMeans(10).predict"] = partial(theirs.predict, X)
    return Contest(size(n, 20), runs, 1)


def partial_fit(n: int) -> Contest:
    """Learn from batches of 1000 rows, one after the other."""
    X = blobs(n, 20, K)
    names = ("KMeans(10).fit", "EWKMeans(10).fit")
    runs = {
        name.replace(".fit", ".partial_fit"): partial(_in_batches, ALGORITHMS[name], X)
        for name in names
    }
    runs["scikit-learn: MiniBatchKMeans(10).partial_fit"] = partial(
        _in_batches, partial(MiniBatchKMeans, K), X
    )
    return Contest(f"{size(n, 20)} in batches of 1000", runs)


def command(n: int) -> Contest:
    """Run the command, beside a program that fits scikit-learn to what pandas reads."""
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "table.csv"
    pd.DataFrame(blobs(n, 10, 5)).add_prefix("column").round(4).to_csv(path, index=False)
    ours = [sys.executable, "-m", "fwkmeans", "fit", str(path)]

    def run(arguments: list[str], kept: Any = folder) -> None:
        subprocess.run(arguments, check=True, capture_output=True)

    runs = {
        "fwkmeans fit table.csv": partial(run, ours),
        "fwkmeans fit table.csv -k 5 -a K-Means": partial(run, [*ours, "-k", "5", "-a", "K-Means"]),
        "pandas: read_csv, scikit-learn: KMeans(5).fit_predict": partial(
            run, [sys.executable, "-c", _PROGRAM, str(path)]
        ),
    }
    return Contest(f"{size(n, 10)}, CSV", runs, 1)


_PROGRAM = """
import sys
import pandas as pd
from sklearn.cluster import KMeans
table = pd.read_csv(sys.argv[1])
labels = KMeans(5).fit_predict(table)
print(table.groupby(labels).agg(["size", "mean"]))
"""


def search() -> Contest:
    """Try forty values of a parameter, beside as many fits of scikit-learn that are scored."""
    X = RangeStandardizer().fit_transform(load_wine().data)
    grid = {"beta": np.linspace(1.1, 9.0, 40).tolist()}

    def by_hand() -> None:
        for _ in range(40):
            silhouette_score(X, PeerKMeans(3).fit(X).labels_, metric="manhattan")

    runs: dict[str, Callable[[], Any]] = {
        "LabelFreeSearch(WKMeans(3), 40 values).fit": lambda: LabelFreeSearch(WKMeans(3), grid).fit(
            X
        ),
        "scikit-learn: KMeans(3).fit and silhouette_score, 40 times": by_hand,
    }
    return Contest("wine", runs)


def _fit_of(make: Callable[[], Any], X: Any) -> Callable[[], Any]:
    return lambda: make().fit(X)


def _in_batches(make: Callable[[], Any], X: np.ndarray) -> Any:
    model = make()
    for first in range(0, len(X), 1000):
        model.partial_fit(X[first : first + 1000])
    return model
