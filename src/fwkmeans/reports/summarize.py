"""From a fitted model and its table to everything a report says, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from fwkmeans._support.agreement import adjusted_rand_score
from fwkmeans._support.jsonable import jsonable
from fwkmeans._support.text import count, distinct_names, printable, shortened
from fwkmeans._tabular.distinct import read_values
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.fitted import FittedView, Naming
from fwkmeans.plotting.models import table_of
from fwkmeans.preprocessing import TableEncoder
from fwkmeans.reports.cautions import Findings, cautions
from fwkmeans.reports.descriptions import describe_cluster, headline, name_apart
from fwkmeans.reports.distinctions import (
    MORE,
    Distinctions,
    distinctions,
    repeated_columns,
    repeated_values,
)
from fwkmeans.reports.distributions import histograms
from fwkmeans.reports.merges import (
    Merge,
    centers_in,
    describe_merges,
    groups_after,
    merge_tree,
)
from fwkmeans.reports.naming import checked_names
from fwkmeans.reports.pairs import separating_columns
from fwkmeans.reports.preparation import Prepared, describe_steps, prepare, split
from fwkmeans.reports.profiles import column_profiles
from fwkmeans.reports.projection import Space, project, typical_rows, weighted_space
from fwkmeans.reports.rules import describe_rules, find_rules
from fwkmeans.reports.stability import find_again
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
VERSION = 3
#: Columns with the largest weights that each cluster lists.
MOST_TOP = 5
#: Columns of each cluster that get a histogram.
MOST_HISTOGRAMS = 12
#: Columns that a map can be drawn by, and that typical rows show.
MOST_MAP_COLUMNS = 8
#: Typical rows of each cluster.
MOST_TYPICAL = 3
#: Categories of a column on the map; the others are counted together.
MOST_MAP_CATEGORIES = 12
#: Classes beyond which the rarest are counted together.
MOST_CLASSES = 50


def summarize(
    model: Any,
    X: Any,
    *,
    classes: Any = None,
    sample_weight: Any = None,
    row_names: Any = None,
    title: str | None = None,
    merge: int | None = None,
    names: Sequence[str] | None = None,
    draws: int | None = None,
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
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row, as given to `fit`: means, shares and what separates are weighted.
        Sizes stay numbers of rows.
    row_names : array-like of shape (n_samples,), default=None
        Names of the rows, for the map and the typical rows; None numbers them from 1.
    title : str, default=None
        Title of the report; None makes one.
    merge : int, default=None
        Take near clusters for one until so many groups are left; the summary is then about the
        groups. None describes the clusters, or the groups that `name_clusters` made of them.
    names : sequence of str, default=None
        What to call the clusters or groups. None takes the names that the model has
        (`name_clusters`), or makes some.
    draws : int, default=None
        How often two thirds of the rows, or 4000 of a large table, are clustered again, to see
        whether the same clusters are found. None draws five times, and fewer rows where that would
        take long. 0 leaves this out.
    random_state : int, RandomState instance or None, default=0
        Determines these draws, and which rows of a large table are looked at.

    Returns
    -------
    summary : dict
        Numbers, text, lists and dicts only, without NaN, with the keys

        version, title, headline
            Version of this schema (3), the title, and sentences that sum everything up.
        algorithm, class, parameters, found
            The survey's name, the Python class, its parameters, and values it found for them.
        n_rows, n_features, n_clusters, objective, n_iter, converged
            Sizes of the table and how the run ended.
        unit
            "cluster", or "group" if clusters were merged: what the list of clusters holds.
        preparation
            Sentences about what was done to the columns before.
        features
            Columns, those that separate clusters best first: name, type ("numeric" or
            "categorical"), separation (the share of rows that the column tells apart beyond
            chance, the mean over rows), weight (its share, the mean over rows), equal_weight (its
            share if weights were equal; more for a column that was encoded as several), whole
            (profile of the whole table), histogram (of columns that separate, else None).
        clusters
            For each cluster number (as in ``labels_``, from 0; sentences count from 1), size,
            share, name ("high income (81,000)", different for each cluster), description, repeats
            (column and value if it is nothing but the rows with it, else None), separates (claims
            about the columns that tell it from the other rows best: column, share of the rows told
            apart, kind ("mean", "range", "outside" or "categories"), value and others (the mean, or
            the share of the rows that are in the range or have the categories), low and high, or
            categories, short and text), separation (that share for each column), found_again
            (overlap with what was found in parts of the rows, or None), weights (share of each
            column, they sum to one), rule (a short rule for the cluster, or None: text; covers and
            others, the shares of its rows and of the others that meet it; precision, that of the
            rows meeting it that are in the cluster; n_more ways that the text leaves out, ways with
            their conditions), parts (the clusters that a group was made of), top (those with the
            largest multiples of equal_weight), profile (for each column the numbers or categories
            of the cluster, of the others, and whole: those of the whole table).
        rules_right
            Share of the rows whose cluster the rules give together.
        merges
            Which clusters are close: steps (first and second, the clusters that become one; loss,
            the share of the scatter between clusters that is lost; n_left, and kept of it until
            there), nearest (cluster of each), coarser (n_groups, kept, groups; or None). It is None
            if there is one cluster.
        pairs
            For each pair a, b of clusters the columns that separate them: name, share of the rows
            told apart, text.
        repeated
            Names of one or two columns whose values alone give the clusters.
        agreement
            With `classes`: ari, n_classes, classes and table (counts, a row for each cluster).
        objective_history, stability, stability_note
            The course of the objective; how far clusters of parts of the rows agree (ari of each
            draw, median), and another run on the same rows (restart); a sentence about that.
        map
            Coordinates x, y, labels, rows, names and silhouettes of the rows on a map, what the
            axes are, and columns to draw it by instead.
        typical
            Rows near the middle of each cluster: columns, rows (cluster, row, name, cells).
        warnings, warning_topics
            Sentences about what to keep in mind; what each is about ("run", "repeats", "sizes",
            "weights", "stability", "missing" or "columns").

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
    ['petal_width', 'petal_length']
    >>> sorted(cluster["size"] for cluster in summary["clusters"])
    [48, 50, 52]
    >>> round(summary["agreement"]["ari"], 2)
    0.89
    """
    return summarize_rows(
        model,
        X,
        None,
        classes=classes,
        sample_weight=sample_weight,
        row_names=row_names,
        title=title,
        merge=merge,
        names=names,
        draws=draws,
        random_state=random_state,
    )


def summarize_rows(
    model: Any,
    X: Any,
    rows: Any,
    *,
    classes: Any = None,
    sample_weight: Any = None,
    row_names: Any = None,
    title: str | None = None,
    draws: int | None = None,
    random_state: Any = 0,
    merge: int | None = None,
    names: Sequence[str] | None = None,
    for_page: bool = True,
    sizes: IntArray | None = None,
) -> dict[str, Any]:
    """Return the same as `summarize`; `rows` is what the last step of the model was fitted to.

    With it nothing is transformed or predicted again. None makes it from `X`. What only a page
    shows (map, typical rows, pairs and histograms) is left out unless `for_page`. If X is a sample
    of a larger table, `sizes` are the numbers of rows of its clusters.
    """
    steps, estimator = split(model)
    table, names_given = table_of(X), names
    random = check_random_state(random_state)
    names = names_of(table, getattr((*steps, estimator)[0], "feature_names_in_", None))
    prepared = prepare(steps, estimator, table, names, rows)
    weights = _row_weights(sample_weight, table.shape[0])
    if rows is None:
        labels = np.asarray(estimator.predict(prepared.rows))
        is_same_table = _is_same_table(estimator, prepared.rows, weights)
    else:
        labels, is_same_table = estimator.labels_, True
    columns = read_columns(table, names, prepared.categorical)
    columns, owners = _with_derived(columns, prepared)
    view = FittedView.of(estimator)
    encoded, equal = encoded_shares(view), equal_shares(view)
    shares = shares_by_column(encoded, owners, len(columns))
    equal_by_column = shares_by_column(equal[None], owners, len(columns))[0]
    n_clusters = len(shares)
    masses = np.bincount(labels, weights, n_clusters).astype(np.float64)
    if sizes is None:
        sizes = np.bincount(labels, minlength=n_clusters)
    else:
        masses = sizes.astype(np.float64)
    space = weighted_space(
        prepared.rows,
        view.layout.categorical,
        (effective_weights(view).T @ sizes) / max(1, labels.size),
        labels,
        random,
    )
    centers = centers_in(space, labels, n_clusters)
    tree = merge_tree(centers, masses)
    merges = describe_merges(tree, centers)
    stability, stability_note = find_again(estimator, prepared.rows, labels, draws, random)
    groups = _groups(view.naming, tree, sizes, merge)
    unit = "cluster" if groups is None else "group"
    if groups is not None:
        n_clusters = int(groups.max()) + 1
        labels = groups[labels].astype(labels.dtype)
        shares = _means_of(shares, groups, masses)
        encoded = _means_of(encoded, groups, masses)
        sizes = np.bincount(groups, sizes).astype(np.int64)
        masses = np.bincount(groups, masses).astype(np.float64)
        if stability is not None:  # which is about the clusters themselves
            stability = stability | {"clusters": [None] * n_clusters}
            stability_note = f"Before clusters were merged: {stability_note}"
    found = distinctions(columns, labels, n_clusters, weights, random)
    repeats = repeated_values(columns, found, masses)
    repeated = repeated_columns(columns, found, labels, sizes)
    features, clusters = _features_and_clusters(
        _Measured(columns, labels, weights, sizes, masses, shares, equal_by_column, found, repeats),
        with_histograms=for_page,
    )
    for k, cluster in enumerate(clusters):
        cluster["found_again"] = None if stability is None else stability["clusters"][k]
        cluster["parts"] = [k] if groups is None else np.flatnonzero(groups == k)
    _give_names(clusters, names_given, view.naming if merge is None else None)
    overall = found.share.T @ (masses / max(float(masses.sum()), 1e-300))
    rules = find_rules(columns, overall, labels, n_clusters, weights, random)
    told, rules_right = describe_rules(rules, columns, labels, weights)
    for cluster, rule in zip(clusters, told, strict=True):
        cluster["rule"] = rule
    warned = cautions(
        Findings(
            estimator=estimator,
            unit=unit,
            columns=columns,
            sizes=sizes,
            shares=shares,
            encoded=encoded,
            equal=equal,
            equal_by_column=equal_by_column,
            stability=stability,
            repeats=repeats,
            repeated=repeated,
            is_more=any(
                one["separation"] >= MORE and one["name"] not in repeated for one in features
            ),
            objective=float(estimator.inertia_),
            is_same_table=is_same_table,
            is_prepared=bool(steps),
            fills_missing=any(_fills_missing(step) for step in steps),
        )
    )
    summary = {
        **_about_model(estimator, title, int((sizes > 0).sum())),
        "headline": headline(
            [column.name for column in columns],
            len(names),
            overall,
            shares,
            equal_by_column,
            sizes,
            uniform=view.has_uniform_weights,
            unit=unit,
        ),
        "n_rows": int(sizes.sum()),
        "n_features": len(names),
        "n_clusters": len(sizes),
        "unit": unit,
        "rules_right": rules_right,
        "merges": merges,
        "preparation": describe_steps(
            steps, has_missing=any(column.missing.any() for column in columns)
        ),
        "features": features,
        "clusters": clusters,
        "pairs": separating_columns(columns, found, sizes) if for_page else [],
        "repeated": repeated,
        "agreement": None if classes is None else _agreement(classes, labels, len(sizes)),
        "stability": stability,
        "stability_note": stability_note,
        "number_note": None,  # why so many clusters, from whoever looked for the number
        "map": None,
        "typical": None,
        "warnings": [text for _, text in warned],
        "warning_topics": [topic for topic, _ in warned],
    }
    if for_page:
        told_row = _row_names(row_names, labels.size)
        shown = [columns[_place(columns, one["name"])] for one in features[:MOST_MAP_COLUMNS]]
        places = project(space, labels, [columns[at].name for at in owners], random)
        summary["map"] = places | {
            "names": [told_row(row) for row in places["rows"]],
            "columns": [_map_column(column, places["rows"]) for column in shown],
        }
        summary["typical"] = _typical(space, labels, len(sizes), shown, told_row)
    cleaned: dict[str, Any] = jsonable(summary)
    return cleaned


def _groups(
    naming: Naming | None, tree: list[Merge], sizes: IntArray, merge: int | None
) -> IntArray | None:
    """Return the group of each cluster, if clusters are merged."""
    if merge is None:
        return naming.groups if naming is not None and naming.is_merged else None
    if not 2 <= merge < len(tree) + 1:
        raise ValueError(
            f"merge is {merge}; expected 2 or more, and fewer than the {len(tree) + 1} clusters "
            "that have rows."
        )
    return groups_after(tree, len(sizes), merge)


def _means_of(shares: FloatArray, groups: IntArray, masses: FloatArray) -> FloatArray:
    """Return the mean of the clusters of each group, by their masses."""
    member = np.eye(int(groups.max()) + 1)[groups] * np.maximum(masses, 1e-300)[:, None]
    return np.asarray((member / member.sum(axis=0)).T @ shares)


def _give_names(
    clusters: list[dict[str, Any]], names: Sequence[str] | None, naming: Naming | None
) -> None:
    """Call clusters by the names they were given, or have from before."""
    if names is None and naming is not None:
        names = naming.names
    if names is None:
        return
    for cluster, name in zip(clusters, checked_names(names, len(clusters)), strict=True):
        cluster["name"] = name


def _row_weights(sample_weight: Any, n_rows: int) -> FloatArray | None:
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(
            f"sample_weight has shape {weights.shape}; expected ({n_rows},): one number of 0 or "
            "more for each row of X."
        )
    if not weights.any():
        raise ValueError("sample_weight is 0 in every row; expected some larger than 0.")
    return weights


def _row_names(row_names: Any, n_rows: int) -> Callable[[int], str]:
    """Return what names a row by its position."""
    if row_names is None:
        return lambda row: f"row {row + 1}"
    names = list(row_names)
    if len(names) != n_rows:
        raise ValueError(
            f"row_names has {len(names)} names; expected {n_rows}: one for each row of X."
        )
    return lambda row: (
        f"row {row + 1}" if names[row] is None else shortened(printable(names[row]), 60)
    )


def _place(columns: Sequence[Column], name: str) -> int:
    return next(at for at, column in enumerate(columns) if column.name == name)


def _map_column(column: Column, rows: Sequence[int]) -> dict[str, Any]:
    """Return the values of a column at the rows of a map; categories by number."""
    if column.numbers is not None:
        values = column.numbers[rows]
        return {
            "name": column.name,
            "values": [None if np.isnan(v) else float(f"{v:.5g}") for v in values],
            "categories": None,
        }
    assert column.codes is not None
    names = list(column.categories)
    codes = column.codes[rows]
    if len(names) > MOST_MAP_CATEGORIES:
        codes = np.minimum(codes, MOST_MAP_CATEGORIES - 1)
        names = [*names[: MOST_MAP_CATEGORIES - 1], "others"]
    return {
        "name": column.name,
        "values": [None if code < 0 else int(code) for code in codes],
        "categories": [shortened(name, 24) for name in names],
    }


def _typical(
    space: Space,
    labels: LabelArray,
    n_clusters: int,
    columns: Sequence[Column],
    told: Callable[[int], str],
) -> dict[str, Any]:
    """Return rows near the middle of each cluster, with the columns that separate best."""
    rows = [
        {"cluster": k, "row": row, "name": told(row), "cells": [_cell(c, row) for c in columns]}
        for k, own in enumerate(typical_rows(space, labels, n_clusters, MOST_TYPICAL))
        for row in own
    ]
    return {"columns": [column.name for column in columns], "rows": rows}


def _cell(column: Column, row: int) -> float | str | None:
    if column.numbers is not None:
        value = float(column.numbers[row])
        return None if np.isnan(value) else value
    assert column.codes is not None
    code = int(column.codes[row])
    return None if code < 0 else column.categories[code]


def _about_model(estimator: Any, title: str | None, n_clusters: int) -> dict[str, Any]:
    algorithm = _name_of(estimator)
    labels = getattr(estimator, "labels_", None)  # a model of a Dask collection may have none
    n_rows = estimator._table.n_rows if labels is None else len(labels)
    return {
        "version": VERSION,
        "title": (
            printable(title)
            if title is not None
            else f"{count(n_clusters, 'cluster')} in {count(n_rows, 'row')}"
        ),
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


class _Measured(NamedTuple):
    """What is known about the clusters, column by column."""

    columns: list[Column]
    labels: LabelArray
    weights: FloatArray | None  # of rows
    sizes: IntArray
    masses: FloatArray  # sums of the rows' weights
    shares: FloatArray  # (K, columns) of the columns' weights
    equal: FloatArray
    found: Distinctions
    repeats: list[tuple[str, str | float] | None]


def _features_and_clusters(
    known: _Measured, *, with_histograms: bool
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    columns, sizes, equal, apart = known.columns, known.sizes, known.equal, known.found.share
    parts = known.masses / max(float(known.masses.sum()), 1e-300)
    overall, separation = known.shares.T @ parts, apart.T @ parts
    times = times_equal(overall, equal)
    order = [int(v) for v in np.lexsort((-times, -separation.round(9)))]
    names = [columns[v].name for v in order]
    most = MOST_HISTOGRAMS if with_histograms else 0
    pictured = {int(v) for own in apart for v in np.argsort(-own, kind="stable")[:most]}
    features = []
    profiles: list[dict[str, Any]] = [{} for _ in sizes]
    given = (known.labels, len(sizes), known.weights)
    described = column_profiles([columns[v] for v in order], *given)
    for v, (whole, by_cluster) in zip(order, described, strict=True):
        column = columns[v]
        features.append(
            {
                "name": column.name,
                "type": "numeric" if column.is_numeric else "categorical",
                "separation": separation[v],
                "weight": overall[v],
                "equal_weight": equal[v],
                "whole": whole,
                "histogram": histograms(column, *given) if v in pictured else None,
            }
        )
        for k, profile in enumerate(by_cluster):
            profiles[k][column.name] = profile
    rest = [known.found.rest[v] for v in order]
    clusters = []
    for k, size in enumerate(sizes):
        own = known.shares[k, order]
        heaviest = np.argsort(-times_equal(own, equal[order]), kind="stable")[:MOST_TOP]
        name, description, separates = describe_cluster(
            names, rest, profiles[k], k, int(size), known.repeats[k]
        )
        clusters.append(
            {
                "number": k,
                "size": int(size),
                "share": parts[k],
                "name": name,
                "description": description,
                "repeats": known.repeats[k],
                "separates": separates,
                "separation": dict(zip(names, apart[k, order], strict=True)),
                "weights": dict(zip(names, own, strict=True)),
                "top": [[names[v], own[v]] for v in heaviest if own[v] > 0],
                "profile": profiles[k],
            }
        )
    for cluster, name in zip(clusters, name_apart(clusters), strict=True):
        cluster["name"] = name
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


def _is_same_table(estimator: Any, rows: Any, weights: FloatArray | None) -> bool:
    objective = float(estimator.inertia_)
    score = estimator.score(rows, sample_weight=weights)
    return bool(np.isclose(-score, objective, rtol=1e-6, atol=1e-12))


def _fills_missing(step: Any) -> bool:
    if isinstance(step, TableEncoder):
        return step.impute == "median"
    return "Imputer" in type(step).__name__
