"""Whether the same clusters are found again, in other rows and from other starts."""

from __future__ import annotations

import warnings
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import clone

from fwkmeans._support.agreement import adjusted_rand_score
from fwkmeans._support.text import count
from fwkmeans._tabular.columns import is_frame
from fwkmeans.estimators import AutoKMeans
from fwkmeans.fitted import FittedView
from fwkmeans.typing import FloatArray, IntArray, LabelArray

#: Parts of the rows that are clustered again unless somebody says how many, share of the rows in
#: each, and rows at most: from so many on, more of them hardly change the agreement.
DRAWS, KEPT, MOST_ROWS = 5, 2 / 3, 4000
#: Cells times clusters and starts that all runs together may read in an iteration.
MOST_WORK = 2e8
#: What the search of AutoKMeans may cost in each draw: rows times squares of columns.
MOST_SEARCH = 5e6
#: Rows below which a table is not drawn from, and below which part of a larger table is too small
#: to tell that other clusters are found because there are none.
LEAST_TABLE, ENOUGH_ROWS = 6, 1000
#: Agreement from which on clusters are found again, and how to call it.
VERDICTS = ((0.9, "stable"), (0.7, "mostly stable"), (-1.0, "not stable"))
STABLE_FROM = VERDICTS[1][0]
#: An objective is as low as another if it is at most this share of its size above it.
NEAR = 1e-3


def find_again(
    estimator: Any,
    rows: Any,
    labels: LabelArray,
    draws: int | None,
    random_state: np.random.RandomState,
) -> tuple[dict[str, Any] | None, str]:
    """Cluster parts of the rows again, as often as `draws` says, each with all its starts.

    None draws so often, and so many rows, as take about as long as the fit itself. Return how far
    the results agree, and a sentence on what was done, or why nothing is known.
    """
    n_clusters, n_rows = len(estimator.feature_weights_), labels.size
    if n_clusters == 1:
        return None, "There is only one cluster, so every run gives the same."
    if draws == 0:
        return None, "It was not tried whether the same clusters are found again."
    if n_rows < max(LEAST_TABLE, 2 * n_clusters):
        return None, "There are too few rows to see whether clusters are found again."
    wanted = max(n_clusters + 1, round(KEPT * n_rows))
    size = min(wanted, MOST_ROWS)
    if draws is None:
        size = max(n_clusters + 1, min(size, _affordable(estimator, DRAWS)))
    is_small = size < min(wanted, MOST_ROWS, ENOUGH_ROWS)
    if is_small and size < ENOUGH_ROWS / 10:
        return None, _unknown(size, n_rows)
    draws = DRAWS if draws is None else draws
    seeds = random_state.randint(2**31 - 1, size=draws + 2)
    ari, jaccard = [], []
    for seed in seeds[:draws]:
        drawn = np.sort(random_state.choice(n_rows, size, replace=False))
        found = _clusters(estimator, rows, drawn, int(seed))
        if found is not None:
            ari.append(float(adjusted_rand_score(labels[drawn], found.labels_)))
            jaccard.append(_overlaps(labels[drawn], np.asarray(found.labels_), n_clusters))
    if not ari:
        return None, "Parts of the rows could not be clustered, so nothing is known of stability."
    typical = float(np.median(ari))
    if is_small and typical < STABLE_FROM:
        return None, _unknown(size, n_rows)
    whole = np.arange(n_rows)
    if size < wanted:
        whole = np.sort(random_state.choice(n_rows, round(size / KEPT), replace=False))
    restart, objective = _restart(estimator, rows, labels, whole, seeds[draws:].tolist())
    drawn_rows = "two thirds of the rows"
    if size < wanted:
        drawn_rows = f"{size:,} of the {n_rows:,} rows"
    note = f"The table was clustered again {count(len(ari), 'time')}, each time with {drawn_rows}."
    result = {
        "n_draws": len(ari),
        "n_rows": size,
        "drawn": drawn_rows,
        "verdict": verdict_on(typical),
        "ari": ari,
        "median": typical,
        "clusters": _means(np.array(jaccard)),
        "restart": restart,
        "objective": objective,
    }
    return result, note


def verdict_on(agreement: float) -> str:
    """Return what an agreement with clusters of parts of the rows means, in words."""
    return next(words for least, words in VERDICTS if agreement >= least)


def _unknown(size: int, n_rows: int) -> str:
    return (
        f"To cluster more than {size:,} of the {n_rows:,} rows again would take long, and so few "
        f"do not tell whether the same clusters are found. It is done if draws are asked for, such "
        f"as {DRAWS}."
    )


def _affordable(estimator: Any, draws: int) -> int:
    """Return how many rows each draw may have."""
    n_clusters, n_features = estimator.feature_weights_.shape
    if isinstance(estimator, AutoKMeans):
        return int(MOST_SEARCH // n_features**2)
    view = FittedView.of(estimator)
    factor = 10.0 if view.recipe.dissimilarity.needs_labels else 1.0
    factor *= 1.0 if view.power in (2.0, None) else 10.0
    factor *= max(1.0, len(getattr(estimator, "candidates_", ())) / 4.0)
    starts = getattr(estimator, "n_init", 1)
    factor *= (starts if isinstance(starts, int) else 10) * (draws + 1)
    return int(MOST_WORK // (factor * n_features * n_clusters))


def _restart(
    estimator: Any, rows: Any, labels: LabelArray, whole: IntArray, seeds: list[int]
) -> tuple[float | None, float | None]:
    """Return how far another run on the same rows agrees, and its objective if that compares."""
    if isinstance(estimator, AutoKMeans) or FittedView.of(estimator).is_deterministic:
        return None, None
    other = _clusters(estimator, rows, whole, seeds[0])
    if other is None:
        return None, None
    if whole.size == labels.size:
        return float(adjusted_rand_score(labels, other.labels_)), float(other.inertia_)
    second = _clusters(estimator, rows, whole, seeds[1])
    if second is None:
        return None, None
    return float(adjusted_rand_score(other.labels_, second.labels_)), None


def _clusters(estimator: Any, rows: Any, chosen: IntArray, seed: int) -> Any:
    """Return a fresh model of some rows; None if it does not come about."""
    model = clone(estimator)
    given = model.get_params(deep=False)
    if "random_state" in given:
        model.set_params(random_state=seed)
    if isinstance(model, AutoKMeans):
        model.set_params(n_clusters=estimator.n_clusters_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return model.fit(_rows_at(rows, chosen))
        except ValueError:  # such as too few different rows
            return None


def _rows_at(rows: Any, chosen: IntArray) -> Any:
    if is_frame(rows):
        return nw.to_native(nw.from_native(rows, eager_only=True)[chosen.tolist()])
    return np.asarray(rows)[chosen]


def _overlaps(labels: LabelArray, found: LabelArray, n_clusters: int) -> FloatArray:
    """Return for each cluster the largest overlap (Jaccard) with one that was found."""
    both = np.zeros((n_clusters, int(found.max()) + 1))
    np.add.at(both, (labels, found), 1.0)
    own, others = both.sum(axis=1, keepdims=True), both.sum(axis=0, keepdims=True)
    best = (both / np.maximum(own + others - both, 1.0)).max(axis=1)
    return np.asarray(np.where(own[:, 0] > 0, best, np.nan))


def _means(overlaps: FloatArray) -> list[float | None]:
    """Return the mean overlap of each cluster; None of one that was in no draw."""
    known = ~np.isnan(overlaps)
    sums, times = np.where(known, overlaps, 0.0).sum(axis=0), known.sum(axis=0)
    return [float(s / n) if n else None for s, n in zip(sums, times, strict=True)]
