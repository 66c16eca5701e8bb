"""Whether other random starts find the same clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from fwkmeans._support.text import count
from fwkmeans.fitted import FittedView
from fwkmeans.selection import sweep
from fwkmeans.typing import LabelArray

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
        return None, "There is only one cluster, so all starts give the same."
    view = FittedView.of(estimator)
    if view.is_deterministic:
        return None, "Nothing is drawn at random, so every run is the same."
    if starts < 1:
        return None, "Other starts were not run."
    affordable = int(MOST_WORK // _work(estimator, view, labels.size))
    if affordable < 2 and starts > 1:
        return None, "Other starts were not run, because the table is large."
    n_starts = min(starts, affordable) if starts > 1 else 1
    seeds = random_state.randint(2**31 - 1, size=n_starts).tolist()
    runs = sweep(estimator, rows, values=[None] * n_starts, n_starts=1, random_states=seeds)
    ari = [float(adjusted_rand_score(labels, found)) for found in runs.labels[:, 0]]
    objective = runs.objective[:, 0].tolist()
    best = min(objective)
    near = [value <= best + NEAR * abs(best) for value in objective]
    fewer = f" ({starts} were asked for; the table is large)" if n_starts < starts else ""
    note = f"The algorithm was run again from {count(n_starts, 'single random start')}{fewer}."
    result = {
        "n_starts": n_starts,
        "ari": ari,
        "objective": objective,
        "share_best": float(np.mean(near)),
    }
    return result, note


def _work(estimator: Any, view: FittedView, n_rows: int) -> float:
    """Return about how many cells an iteration of a start reads, in those of squared Euclid."""
    factor = 10.0 if view.recipe.dissimilarity.needs_labels else 1.0
    factor *= max(1.0, len(getattr(estimator, "candidates_", ())) / 4.0)
    n_clusters, n_features = estimator.feature_weights_.shape
    return factor * max(1, n_rows) * int(n_features) * int(n_clusters)
