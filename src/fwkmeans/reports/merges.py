r"""Which clusters are close, and what is lost where close ones are taken for one.

Clusters are compared where the map is drawn: columns as the algorithm saw them, times the root of
their mean weight. With n rows and the center c, two clusters a and b cost

.. math:: \Delta(a, b) = \frac{n_a n_b}{n_a + n_b} \lVert c_a - c_b \rVert^2

if they become one (Ward 1963): by so much the rows scatter more about their centers. The pair that
costs least is merged first, and so on until all are one. What all merges cost together is the
scatter of the centers about the middle of the table, so each merge loses a share of it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fwkmeans.reports.projection import Space
from fwkmeans.typing import FloatArray, IntArray, LabelArray

#: Clusters from which on a coarser answer is offered, and the share it must keep.
ENOUGH_CLUSTERS, LEAST_KEPT = 5, 0.7


class Merge(NamedTuple):
    """Two sets of clusters that become one."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    loss: float  # share of the scatter between all clusters


def centers_in(space: Space, labels: LabelArray, n_clusters: int) -> FloatArray:
    """Return the mean of each cluster, NaN where it has no rows, of shape (n_clusters, columns)."""
    own = labels[space.rows]
    sizes = np.bincount(own, minlength=n_clusters).astype(np.float64)
    sums = np.zeros((n_clusters, space.values.shape[1]))
    np.add.at(sums, own, space.values)
    return np.asarray(sums / np.where(sizes > 0, sizes, np.nan)[:, None])


def merge_tree(centers: FloatArray, masses: FloatArray) -> list[Merge]:
    """Return the merges, cheapest first, until the clusters that have rows are one."""
    members: list[tuple[int, ...]] = [
        (int(k),) for k in np.flatnonzero((masses > 0) & ~np.isnan(centers).any(axis=1))
    ]
    at = [own[0] for own in members]
    centers, masses = centers[at], masses[at].astype(np.float64)
    found: list[tuple[tuple[int, ...], tuple[int, ...], float]] = []
    while len(members) > 1:
        apart = ((centers[:, None] - centers[None]) ** 2).sum(axis=-1)
        cost = apart * (masses[:, None] * masses) / (masses[:, None] + masses)
        cost[np.tril_indices(len(members))] = np.inf
        a, b = np.unravel_index(int(cost.argmin()), cost.shape)
        found.append((members[a], members[b], float(cost[a, b])))
        both = masses[a] + masses[b]
        centers[a] = (masses[a] * centers[a] + masses[b] * centers[b]) / both
        masses[a] = both
        members[a] = tuple(sorted((*members[a], *members[b])))
        centers, masses = np.delete(centers, b, axis=0), np.delete(masses, b)
        del members[b]
    total = sum(cost for _, _, cost in found)
    return [Merge(a, b, cost / total if total > 0 else 0.0) for a, b, cost in found]


def groups_after(tree: list[Merge], n_clusters: int, n_groups: int) -> IntArray:
    """Return the group of each cluster once so few are left, numbered by their first cluster.

    Clusters without rows, which are not in the tree, join the first group.
    """
    group = np.arange(n_clusters)
    in_tree = {k for one in tree for k in (*one.first, *one.second)}
    for one in tree[: max(0, len(in_tree) - n_groups)]:
        group[list(one.second)] = group[one.first[0]]
        group[list(one.first)] = group[one.first[0]]
    first = min(in_tree, default=0)
    group[[k for k in range(n_clusters) if k not in in_tree]] = group[first]
    _, starts, codes = np.unique(group, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(starts))[codes.reshape(-1)])


def describe_merges(tree: list[Merge], centers: FloatArray) -> dict[str, Any] | None:
    """Return the tree, the nearest of each cluster, and a coarser answer, as plain data."""
    if not tree:
        return None
    kept = 1.0 - np.cumsum([one.loss for one in tree])
    steps = [
        {
            "first": list(one.first),
            "second": list(one.second),
            "loss": one.loss,
            "n_left": len(tree) - at,
            "kept": max(0.0, float(kept[at])),
        }
        for at, one in enumerate(tree)
    ]
    return {
        "steps": steps,
        "nearest": _nearest(centers),
        "coarser": _coarser(steps, len(centers), tree),
    }


def _nearest(centers: FloatArray) -> list[int | None]:
    """Return the cluster with the nearest center, None where there is none."""
    apart = np.sqrt(((centers[:, None] - centers[None]) ** 2).sum(axis=-1))
    apart = np.where(np.isnan(apart) | np.eye(len(centers), dtype=bool), np.inf, apart)
    return [int(row.argmin()) if np.isfinite(row.min()) else None for row in apart]


def _coarser(
    steps: list[dict[str, Any]], n_clusters: int, tree: list[Merge]
) -> dict[str, Any] | None:
    """Return the number of groups below which merging becomes dearer, if they keep enough."""
    if len(steps) + 1 < ENOUGH_CLUSTERS:
        return None
    jumps = {
        step["n_left"]: after["loss"] - step["loss"]
        for step, after in pairwise(steps)
        if step["kept"] >= LEAST_KEPT
    }
    if not jumps:
        return None
    n_groups = max(jumps, key=lambda n: jumps[n])
    return {
        "n_groups": n_groups,
        "kept": next(one["kept"] for one in steps if one["n_left"] == n_groups),
        "groups": groups_after(tree, n_clusters, n_groups).tolist(),
    }
