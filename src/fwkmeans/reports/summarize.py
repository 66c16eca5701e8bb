"""From a fitted model and its table to everything a report says, as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import check_random_state

from fwkmeans._support.jsonable import jsonable
from fwkmeans._support.text import distinct_names, printable, shortened
from fwkmeans._tabular.distinct import read_values
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.fitted import FittedView
from fwkmeans.plotting.models import table_of
from fwkmeans.preprocessing import TableEncoder
from fwkmeans.reports.cautions import Findings, cautions
from fwkmeans.reports.descriptions import describe_cluster, headline
from fwkmeans.reports.pairs import separating_columns
from fwkmeans.reports.preparation import Prepared, prepare, split
from fwkmeans.reports.profiles import column_profiles
from fwkmeans.reports.projection import project
from fwkmeans.reports.stability import run_starts
from fwkmeans.reports.table import Column, by_frequency, names_of, read_columns
from fwkmeans.reports.weights import (
    effective_weights,
    encoded_shares,
    equal_shares,
    shares_by_column,
    times_equal,
)
from fwkmeans.typing import FloatArray, IntArray, LabelArray

#: Version of the schema; raised when a key changes its meaning.
VERSION = 1
#: Columns with the largest weights that each cluster lists.
MOST_TOP = 5
#: Classes beyond which the rarest are counted together.
MOST_CLASSES = 50


def summarize(
    model: Any,
    X: Any,
    *,
    classes: Any = None,
    title: str | None = None,
    starts: int = 20,
    random_state: Any = 0,
) -> dict[str, Any]:
    """Return everything a report says about a fitted model, ready for JSON.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator of this package, or a fitted scikit-learn Pipeline whose last step is
        one.
    X : frame or array-like of shape (n_samples, n_features)
        The table that was given to `fit` of the model, in its original units.
    classes : array-like of shape (n_samples,), default=None
        Known classes of the rows, to compare the clusters with.
    title : str, default=None
        Title of the report; None makes one.
    starts : int, default=20
        Number of single random starts that are run to see whether they find the same clusters.
        Large tables get fewer, deterministic algorithms none. 0 leaves this out.
    random_state : int, RandomState instance or None, default=0
        Determines these starts, and which rows of a large table are on the map.

    Returns
    -------
    summary : dict
        Numbers, text, lists and dicts only, without NaN, with the keys

        version, title, headline
            Version of this schema (1), the title, and sentences that sum everything up.
        algorithm, class, parameters, found
            The survey's name, the Python class, its parameters, and values it found for them.
        n_rows, n_features, n_clusters, objective, n_iter, converged
            Sizes of the table and how the run ended.
        preparation
            Sentences about what was done to the columns before.
        features
            Columns by falling weight, as a multiple of equal_weight: name, type ("numeric" or
            "categorical"), weight (its share, the mean over rows), equal_weight (its share if
            weights were equal; more for a column that was encoded as several), whole (profile of
            the whole table).
        clusters
            For each cluster number (as in ``labels_``), size, share, description, weights (share
            of each column, they sum to one), top (those with the largest multiples of
            equal_weight), profile (for each column the numbers or categories of the cluster, and
            whole: those of the whole table).
        pairs
            For each pair a, b of clusters the columns that separate them: name, strength, text.
        agreement
            With `classes`: ari, n_classes, classes and table (counts, a row for each cluster).
        objective_history, stability, stability_note
            The course of the objective; ari and objective of each further start.
        map
            Coordinates x, y and labels of the rows on a map, what the axes are.
        warnings, warning_topics
            Sentences about what to keep in mind; what each is about ("run", "sizes", "weights",
            "starts", "missing" or "columns").

    See Also
    --------
    render : Make a page of it.
    write_report : Write the page to a file.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from fwkmeans import WKMeans
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.preprocessing import RangeStandardizer
    >>> from fwkmeans.reports import summarize
    >>> iris = load_uci("iris")
    >>> model = make_pipeline(RangeStandardizer(), WKMeans(3, random_state=0)).fit(iris.data)
    >>> summary = summarize(model, iris.data, classes=iris.target)
    >>> [feature["name"] for feature in summary["features"]][:2]
    ['petal_length', 'petal_width']
    >>> sorted(cluster["size"] for cluster in summary["clusters"])
    [48, 50, 52]
    >>> round(summary["agreement"]["ari"], 2)
    0.89
    """
    return summarize_rows(
        model, X, None, classes=classes, title=title, starts=starts, random_state=random_state
    )


def summarize_rows(
    model: Any,
    X: Any,
    rows: Any,
    *,
    classes: Any = None,
    title: str | None = None,
    starts: int = 20,
    random_state: Any = 0,
) -> dict[str, Any]:
    """Return the same as `summarize`; `rows` is what the last step of the model was fitted to.

    With it nothing is transformed or predicted again. None makes it from `X`.
    """
    steps, estimator = split(model)
    table = table_of(X)
    random = check_random_state(random_state)
    names = names_of(table, getattr((*steps, estimator)[0], "feature_names_in_", None))
    prepared = prepare(steps, estimator, table, names, rows)
    if rows is None:
        labels = np.asarray(estimator.predict(prepared.rows))
        is_same_table = _is_same_table(estimator, prepared.rows)
    else:
        labels, is_same_table = estimator.labels_, True
    columns = read_columns(table, names, prepared.categorical)
    columns, owners = _with_derived(columns, prepared)
    view = FittedView.of(estimator)
    encoded, equal = encoded_shares(view), equal_shares(view)
    shares = shares_by_column(encoded, owners, len(columns))
    equal_by_column = shares_by_column(equal[None], owners, len(columns))[0]
    sizes = np.bincount(labels, minlength=len(shares))
    stability, stability_note = run_starts(estimator, prepared.rows, labels, starts, random)
    features, clusters = _features_and_clusters(columns, shares, equal_by_column, labels, sizes)
    mean_weights = (effective_weights(view).T @ sizes) / max(1, labels.size)
    warned = cautions(
        Findings(
            estimator=estimator,
            columns=columns,
            sizes=sizes,
            shares=shares,
            encoded=encoded,
            equal=equal,
            equal_by_column=equal_by_column,
            stability=stability,
            objective=float(estimator.inertia_),
            is_same_table=is_same_table,
            is_prepared=bool(steps),
            fills_missing=any(_fills_missing(step) for step in steps),
        )
    )
    summary = {
        **_about_model(estimator, title),
        "headline": headline(
            _name_of(estimator),
            [column.name for column in columns],
            len(names),
            shares,
            equal_by_column,
            sizes,
            uniform=view.has_uniform_weights,
        ),
        "n_rows": int(labels.size),
        "n_features": len(names),
        "n_clusters": len(sizes),
        "preparation": prepared.sentences,
        "features": features,
        "clusters": clusters,
        "pairs": separating_columns(columns, shares, labels, sizes),
        "agreement": None if classes is None else _agreement(classes, labels, len(sizes)),
        "stability": stability,
        "stability_note": stability_note,
        "map": project(
            prepared.rows,
            view.layout.categorical,
            mean_weights,
            labels,
            [columns[at].name for at in owners],
            random,
        ),
        "warnings": [text for _, text in warned],
        "warning_topics": [topic for topic, _ in warned],
    }
    cleaned: dict[str, Any] = jsonable(summary)
    return cleaned


def _about_model(estimator: Any, title: str | None) -> dict[str, Any]:
    algorithm = _name_of(estimator)
    return {
        "version": VERSION,
        "title": printable(title) if title is not None else f"Clusters found by {algorithm}",
        "algorithm": algorithm,
        "class": type(estimator).__name__,
        "parameters": {k: _readable(v) for k, v in estimator.get_params(deep=False).items()},
        "found": _found(estimator),
        "objective": float(estimator.inertia_),
        "objective_history": np.asarray(estimator.objective_history_, dtype=np.float64),
        "n_iter": int(estimator.n_iter_),
        "converged": bool(estimator.converged_),
    }


def _with_derived(columns: list[Column], prepared: Prepared) -> tuple[list[Column], IntArray]:
    """Return the columns, with those that steps made of several, and each feature's column."""
    owners = prepared.origins.copy()
    derived = np.flatnonzero(owners < 0)
    if not derived.size:
        return columns, owners
    made = read_columns(prepared.rows, prepared.names, None)
    names = distinct_names([c.name for c in columns] + [made[j].name for j in derived])
    first = len(columns)
    owners[derived] = first + np.arange(derived.size)
    added = [made[j]._replace(name=names[first + at]) for at, j in enumerate(derived)]
    return [*columns, *added], owners


def _features_and_clusters(
    columns: list[Column],
    shares: FloatArray,
    equal: FloatArray,
    labels: LabelArray,
    sizes: IntArray,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    overall = shares.T @ (sizes / max(1, labels.size))
    order = [int(v) for v in np.argsort(-times_equal(overall, equal), kind="stable")]
    names = [columns[v].name for v in order]
    features = []
    profiles: list[dict[str, Any]] = [{} for _ in sizes]
    found = column_profiles([columns[v] for v in order], labels, len(sizes))
    for v, (whole, by_cluster) in zip(order, found, strict=True):
        kind = "numeric" if columns[v].is_numeric else "categorical"
        features.append(
            {
                "name": columns[v].name,
                "type": kind,
                "weight": overall[v],
                "equal_weight": equal[v],
                "whole": whole,
            }
        )
        for k, profile in enumerate(by_cluster):
            profiles[k][columns[v].name] = profile
    clusters = []
    for k, size in enumerate(sizes):
        own = shares[k, order]
        times = times_equal(own, equal[order])
        heaviest = np.argsort(-times, kind="stable")[:MOST_TOP]
        clusters.append(
            {
                "number": k,
                "size": int(size),
                "share": size / max(1, labels.size),
                "description": describe_cluster(names, times, profiles[k], int(size)),
                "weights": dict(zip(names, own, strict=True)),
                "top": [[names[v], own[v]] for v in heaviest if own[v] > 0],
                "profile": profiles[k],
            }
        )
    return features, clusters


def _agreement(classes: Any, labels: LabelArray, n_clusters: int) -> dict[str, Any]:
    values = np.asarray(classes)
    if values.shape != labels.shape:
        raise ValueError(
            f"classes has shape {values.shape}; expected ({labels.size},): one class for each row "
            "of X."
        )
    codes, names = by_frequency(read_values(values))
    known = codes >= 0
    ari = float(adjusted_rand_score(codes[known], labels[known])) if known.any() else None
    n_classes = len(names)
    if n_classes > MOST_CLASSES:
        codes = np.minimum(codes, MOST_CLASSES - 1)
        names = (*names[: MOST_CLASSES - 1], f"{n_classes - MOST_CLASSES + 1} others")
    counts = np.zeros((n_clusters, len(names)), dtype=np.int64)
    np.add.at(counts, (labels[known], codes[known]), 1)
    return {
        "ari": ari,
        "n_classes": n_classes,
        "n_unknown": int((~known).sum()),
        "classes": list(names),
        "table": counts,
    }


def _name_of(estimator: Any) -> str:
    own = (name for name, cls in ALGORITHMS.items() if cls is type(estimator))
    return next(own, type(estimator).__name__)


def _readable(value: Any) -> Any:
    """Return a parameter as JSON can hold it: simple values as they are, others described."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float | np.number):
        return float(value) if np.isfinite(value) else str(value)
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return f"{type(value).__name__} of shape {shape}"
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    return printable(value) if isinstance(value, str) else shortened(printable(value), 200)


def _found(estimator: Any) -> dict[str, Any]:
    """Return the values that the algorithm found for its own parameters."""
    given = estimator.get_params(deep=False)
    values = {name: getattr(estimator, f"{name}_", None) for name in given}
    return {
        name: _readable(value)
        for name, value in values.items()
        if isinstance(value, int | float | np.number) and given[name] in (None, "auto")
    }


def _is_same_table(estimator: Any, rows: Any) -> bool:
    objective = float(estimator.inertia_)
    return bool(np.isclose(-estimator.score(rows), objective, rtol=1e-6, atol=1e-12))


def _fills_missing(step: Any) -> bool:
    if isinstance(step, TableEncoder):
        return step.impute == "median"
    return "Imputer" in type(step).__name__
