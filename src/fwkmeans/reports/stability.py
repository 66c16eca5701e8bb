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

#: Rows of a large table that are clustered again, and share of them in each draw.
MOST_ROWS, KEPT = 2000, 2 / 3
#: Cells times clusters and starts that all runs together may read in an iteration.
MOST_WORK = 2e8
#: Rows below which a table is not drawn from, and below which a sample is too small to tell.
LEAST_TABLE, LEAST_SAMPLE = 6, 50
#: The search of AutoKMeans takes seconds: rows and draws that it gets, and columns it may have.
AUTO_ROWS, AUTO_DRAWS, AUTO_COLUMNS = 600, 2, 60
#: Agreement from which on clusters are found again, and how to call it.
VERDICTS = ((0.9, "stable"), (0.7, "mostly stable"), (-1.0, "not stable"))
#: If fewer rows are drawn, and most of the table is left out, clusters may be lost for that reason.
ENOUGH_ROWS = 500
UNCERTAIN = "too few rows to tell"
#: An objective is as low as another if it is at most this share of its size above it.
NEAR = 1e-3


def find_again(
    estimator: Any,
    rows: Any,
    labels: LabelArray,
    draws: int,
    random_state: np.random.RandomState,
) -> tuple[dict[str, Any] | None, str]:
    """Cluster parts of the rows again, as often as `draws` says, each with all its starts.

    Return how far the results agree, and a sentence on what was done, or why nothing was.
    """
    n_clusters = len(estimator.feature_weights_)
    if n_clusters == 1:
        return None, "There is only one cluster, so every run gives the same."
    if draws < 1:
        return None, "It was not tried whether the same clusters are found again."
    if labels.size < max(LEAST_TABLE, 2 * n_clusters):
        return None, "There are too few rows to see whether clusters are found again."
    most, draws = _affordable(estimator, labels.size, draws)
    if most < min(labels.size, LEAST_SAMPLE):
        return None, (
            "It was not tried whether the same clusters are found again, because that would take "
            "long."
        )
    whole = np.arange(labels.size)
    if labels.size > most:
        whole = np.sort(random_state.choice(labels.size, most, replace=False))
    seeds = random_state.randint(2**31 - 1, size=draws + 2)
    size = max(n_clusters + 1, round(KEPT * whole.size))
    ari, jaccard = [], []
    for seed in seeds[:draws]:
        drawn = np.sort(random_state.choice(whole, min(size, whole.size), replace=False))
        found = _clusters(estimator, rows, drawn, int(seed))
        if found is not None:
            ari.append(float(adjusted_rand_score(labels[drawn], found.labels_)))
            jaccard.append(_overlaps(labels[drawn], np.asarray(found.labels_), n_clusters))
    if not ari:
        return None, "Parts of the rows could not be clustered, so nothing is known of stability."
    restart, objective = _restart(estimator, rows, labels, whole, seeds[draws:].tolist())
    n_drawn, typical = int(min(size, whole.size)), float(np.median(ari))
    drawn_rows = "two thirds of the rows"
    if whole.size < labels.size:
        drawn_rows = f"{n_drawn:,} of the {labels.size:,} rows"
    verdict = next(words for least, words in VERDICTS if typical >= least)
    is_small = n_drawn < ENOUGH_ROWS and n_drawn < KEPT * labels.size - 1
    if is_small and verdict == VERDICTS[-1][1]:
        verdict = UNCERTAIN
    note = f"The table was clustered again {count(len(ari), 'time')}, each time with {drawn_rows}."
    result = {
        "n_draws": len(ari),
        "n_rows": n_drawn,
        "drawn": drawn_rows,
        "verdict": verdict,
        "ari": ari,
        "median": typical,
        "clusters": _means(np.array(jaccard)),
        "restart": restart,
        "objective": objective,
    }
    return result, note


def _affordable(estimator: Any, n_rows: int, draws: int) -> tuple[int, int]:
    """Return how many rows may be clustered again, and how often."""
    n_clusters, n_features = estimator.feature_weights_.shape
    if isinstance(estimator, AutoKMeans):
        return (min(n_rows, AUTO_ROWS) if n_features <= AUTO_COLUMNS else 0), min(draws, AUTO_DRAWS)
    view = FittedView.of(estimator)
    factor = 10.0 if view.recipe.dissimilarity.needs_labels else 1.0
    factor *= 1.0 if view.power in (2.0, None) else 10.0
    factor *= max(1.0, len(getattr(estimator, "candidates_", ())) / 4.0)
    starts = getattr(estimator, "n_init", 1)
    factor *= (starts if isinstance(starts, int) else 10) * (draws + 1)
    work = factor * int(n_features) * int(n_clusters)
    return min(n_rows, MOST_ROWS, int(MOST_WORK // work)), draws


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
