"""Whether other random starts find the same clusters."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from fwkmeans.reports.words import plural
from fwkmeans.typing import LabelArray

__all__ = ["NEAR", "is_deterministic", "run_starts"]

#: Cells times clusters that all starts together may read in an iteration.
MOST_WORK = 5e8
#: An objective is as low as another if it is at most this share of its size above it.
NEAR = 1e-3


def run_starts(
    estimator: Any,
    rows: Any,
    labels: LabelArray,
    starts: int,
    random_state: np.random.RandomState,
) -> tuple[dict[str, Any] | None, str]:
    """Return what single starts find, and a sentence about how many there were, or why none."""
    if len(estimator.feature_weights_) == 1:
        return None, "There is one cluster only, so all starts give the same."
    if is_deterministic(estimator):
        return None, "The algorithm started from fixed centers, so that every run gives the same."
    if starts < 1:
        return None, "Stability over starts was not looked at."
    affordable = int(MOST_WORK // _work(estimator, labels.size))
    if affordable < 2 and starts > 1:
        return None, "Stability over starts was not looked at, because the table is large."
    n_starts = min(starts, affordable) if starts > 1 else 1
    ari, objective = [], []
    for seed in random_state.randint(2**31 - 1, size=n_starts):
        single = clone(estimator).set_params(n_init=1, random_state=int(seed), verbose=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = single.fit_predict(rows)
        ari.append(float(adjusted_rand_score(labels, found)))
        objective.append(float(single.inertia_))
    best = min(objective)
    near = [value <= best + NEAR * abs(best) for value in objective]
    fewer = f" ({starts} were asked for; the table is large)" if n_starts < starts else ""
    note = f"The algorithm was run again from {plural(n_starts, 'single random start')}{fewer}."
    result = {
        "n_starts": n_starts,
        "ari": ari,
        "objective": objective,
        "share_best": float(np.mean(near)),
    }
    return result, note


def is_deterministic(estimator: Any) -> bool:
    """Tell whether nothing is drawn at random."""
    given = not (isinstance(estimator.init, str) or callable(estimator.init))
    searches = isinstance(getattr(estimator, "grid", None), str)  # some candidates are drawn
    drawn = bool(estimator._has_random_weights) or (searches and len(estimator.space_weights_) > 4)
    return (given or bool(estimator._is_anomalous)) and not drawn


def _work(estimator: Any, n_rows: int) -> float:
    """Return about how many cells an iteration of a start reads, in those of squared Euclid."""
    factor = 10.0 if estimator._parts.dissimilarity.needs_labels else 1.0
    factor *= max(1.0, len(getattr(estimator, "candidates_", ())) / 4.0)
    n_clusters, n_features = estimator.feature_weights_.shape
    return factor * max(1, n_rows) * int(n_features) * int(n_clusters)
