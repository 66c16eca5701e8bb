"""Names of clusters, and clusters that are taken for one, kept with their model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fwkmeans._support.text import count, printable
from fwkmeans.fitted import FittedView
from fwkmeans.reports.preparation import split


def name_clusters(model: Any, names: Sequence[str], groups: Sequence[int] | None = None) -> None:
    """Give the clusters of a fitted model names, which it keeps until it is fitted again.

    Reports show them, model files keep them, and ``fwkmeans predict`` writes them beside the
    numbers.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator of this package, or a Pipeline whose last step is one.
    names : sequence of str
        A name for each cluster, in the order of the labels, or for each group. All are different.
    groups : sequence of int, default=None
        For each cluster the number of the group that it belongs to, from 0: clusters of a group are
        taken for one. None leaves each cluster alone.

    See Also
    --------
    summarize : Finds names, and says which clusters are close.

    Examples
    --------
    >>> from fwkmeans import KMeans
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.reports import name_clusters, summarize
    >>> X = load_uci("iris").data
    >>> model = KMeans(2, random_state=0).fit(X)
    >>> name_clusters(model, ["long petals", "short petals"])
    >>> [cluster["name"] for cluster in summarize(model, X)["clusters"]]
    ['long petals', 'short petals']
    """
    estimator = split(model)[1]
    n_clusters = len(estimator.feature_weights_)
    own = np.arange(n_clusters) if groups is None else np.asarray(groups)
    if own.shape != (n_clusters,) or own.dtype.kind not in "iu":
        raise ValueError(
            f"groups has shape {own.shape} and holds {own.dtype}; expected a whole number for each "
            f"of {count(n_clusters, 'cluster')}."
        )
    n_groups = len(np.unique(own))
    if not np.array_equal(np.unique(own), np.arange(n_groups)):
        raise ValueError(
            f"groups holds {sorted(set(own.tolist()))}; expected numbers from 0 without a gap."
        )
    told = checked_names(names, n_groups)
    FittedView.of(estimator).name_clusters(told, own.astype(np.int64))


def checked_names(names: Sequence[str], n_expected: int) -> tuple[str, ...]:
    """Return names, each on one line, or raise what is wrong with them."""
    told = tuple(" ".join(printable(name).split()) for name in names)
    if len(told) != n_expected:
        raise ValueError(
            f"{count(len(told), 'name')} {'was' if len(told) == 1 else 'were'} given; expected "
            f"{n_expected}, one for each cluster or group."
        )
    if not all(told) or len(set(told)) < len(told):
        raise ValueError(f"names are {list(told)}; expected different ones that are not empty.")
    return told


def groups_of(summary: dict[str, Any]) -> list[int]:
    """Return the group of each cluster of a summary."""
    owners = {k: one["number"] for one in summary["clusters"] for k in one["parts"]}
    return [owners[k] for k in sorted(owners)]
