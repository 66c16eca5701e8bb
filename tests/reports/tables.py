"""Models and tables that the tests of reports share."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline

from fwkmeans import AWKMeans, EWKMeans, IKPrototypes, IMWKMeans, KMeans, WKMeans
from fwkmeans.datasets import add_noise_features, load_uci
from fwkmeans.preprocessing import RangeStandardizer, TableEncoder
from fwkmeans.reports import render, summarize

SCRIPT = "<script>alert(1)</script>"


def iris() -> tuple[Any, Any, dict[str, Any]]:
    table = load_uci("iris", as_frame="pandas")
    model = make_pipeline(RangeStandardizer(), AWKMeans(3, random_state=0)).fit(table.data)
    return model, table.data, {"classes": table.target, "title": "Iris"}


def australian() -> tuple[Any, Any, dict[str, Any]]:
    table = load_uci("australian", as_frame="pandas")
    encoder = TableEncoder(categorical="keep", impute="median")
    model = make_pipeline(encoder, WKMeans(3, weights="cluster", random_state=0)).fit(table.data)
    return model, table.data, {"classes": table.target}


def soybean() -> tuple[Any, Any, dict[str, Any]]:
    table = load_uci("soybean_small", as_frame="pandas")
    model = make_pipeline(TableEncoder(), EWKMeans(4, dispersion="mean", random_state=0))
    return model.fit(table.data), table.data, {"classes": table.target}


def noisy_wine() -> tuple[Any, Any, dict[str, Any]]:
    table = load_uci("wine", as_frame=False)
    names = [*table.feature_names, *(f"noise {name}" for name in table.feature_names)]
    X = pd.DataFrame(add_noise_features(table.data, random_state=0), columns=names)
    model = make_pipeline(RangeStandardizer(), WKMeans(3, random_state=0)).fit(X)
    return model, X, {"classes": table.target}


def one_cluster() -> tuple[Any, Any, dict[str, Any]]:
    X = np.random.default_rng(0).random((40, 3))
    return KMeans(1, random_state=0).fit(X), X, {}


def twenty_clusters() -> tuple[Any, Any, dict[str, Any]]:
    rng = np.random.default_rng(0)
    X = np.repeat(5 * rng.normal(size=(20, 8)), 15, axis=0) + rng.normal(size=(300, 8))
    return make_pipeline(RangeStandardizer(), AWKMeans(20, random_state=0)).fit(X), X, {}


def many_features() -> tuple[Any, Any, dict[str, Any]]:
    X = np.random.default_rng(0).normal(size=(200, 200))
    X[:100, :10] += 4
    return make_pipeline(RangeStandardizer(), EWKMeans(20, random_state=0)).fit(X), X, {"draws": 0}


def hostile() -> tuple[Any, Any, dict[str, Any]]:
    """Names that are code, right to left, very long, or hardly text at all."""
    rng = np.random.default_rng(0)
    n = 80
    X = pd.DataFrame(
        {
            SCRIPT: rng.choice(["a", SCRIPT, "</style><b>"], n),
            "{{ 7 * 7 }}": rng.choice(["{% raw %}", "日本語"], n),
            "مرحبا": rng.random(n),
            "long" * 200: rng.random(n),
            "with spaces " * 30: rng.choice(["x" * 300, "y"], n),
            "tab\tand\x07bell": rng.random(n),
        }
    )
    classes = rng.choice(["<i>one</i>", "two"], n)
    model = IKPrototypes(3, random_state=0, variant="monotone", zero="huang").fit(X)
    return model, X, {"classes": classes, "title": f"{SCRIPT} & co", "draws": 1}


def gaps() -> tuple[Any, Any, dict[str, Any]]:
    rng = np.random.default_rng(0)
    n = 60
    X = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.2, np.nan, rng.random(n)),
            "color": rng.choice(np.array(["red", "blue", None], dtype=object), n),
            "constant": 3.0,
            "flag": rng.random(n) < 0.5,
            "other": rng.random(n) + 5,
        }
    )
    encoder = TableEncoder(categorical="keep", impute="keep")
    estimator = WKMeans(2, weights="cluster", missing="ignore", random_state=0)
    return make_pipeline(encoder, estimator).fit(X), X, {}


def only_categories() -> tuple[Any, Any, dict[str, Any]]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.choice(list("pqr"), 50) for name in ("a", "b", "c")})
    return IKPrototypes(2, random_state=0).fit(X), X, {}


def found_clusters() -> tuple[Any, Any, dict[str, Any]]:
    X = load_uci("iris", as_frame="pandas").data
    model = make_pipeline(RangeStandardizer(), IMWKMeans(None, min_pattern_size=5)).fit(X)
    return model, X, {}


CASES = {
    case.__name__: case
    for case in (
        iris,
        australian,
        soybean,
        noisy_wine,
        one_cluster,
        twenty_clusters,
        many_features,
        hostile,
        gaps,
        only_categories,
        found_clusters,
    )
}


@functools.cache
def page_of(name: str) -> str:
    """Return the report of a case, which many tests read."""
    return render(summary_of(name))


@functools.cache
def summary_of(name: str) -> dict[str, Any]:
    model, X, options = CASES[name]()
    return summarize(model, X, **options)
