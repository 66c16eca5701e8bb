"""The rows of a table with what a model says of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from fwkmeans._support.text import distinct_names
from fwkmeans.cli.columns import Chosen
from fwkmeans.typing import FloatArray, LabelArray

#: Columns that are added to a table, where clusters have names.
ADDED = ("cluster", "cluster_name", "distance", "confidence")
#: What numbers and names rows where clusters were merged.
MERGED = ("cluster", "group", "group_name")


def with_clusters(chosen: Chosen, model: Any, rows: Any) -> dict[str, list[Any]]:
    """Return the columns of the table, and cluster, distance and confidence of each row.

    `rows` is what the model was fitted to. Names that the table has already get a number.
    """
    columns = {name: chosen.table[name].to_pylist() for name in chosen.table.column_names}
    added = about_rows(model, rows, model.labels_)
    return columns | {name: list(one) for name, one in under_new_names(added, columns).items()}


def under_new_names(added: Mapping[str, Any], taken: Iterable[str]) -> dict[str, Any]:
    """Return columns that are added to a table, with a number behind names that it has already."""
    return dict(zip(distinct_names(added, "{}_{}", taken=taken), added.values(), strict=True))


def named(model: Any, labels: LabelArray) -> dict[str, Any]:
    """Return the numbers of clusters, as in `labels_`, and their names as far as they have some.

    If clusters were merged, these are the groups and their names.
    """
    from fwkmeans.fitted import FittedView

    naming = FittedView.of(model).naming
    columns: dict[str, Any] = {"cluster": labels.tolist()}
    if naming is None:
        return columns
    groups = naming.groups[labels]
    what = "cluster"
    if naming.is_merged:
        what, columns["group"] = "group", groups.tolist()
    return columns | {f"{what}_name": [naming.names[group] for group in groups]}


def about_rows(model: Any, rows: Any, labels: LabelArray) -> dict[str, Any]:
    """Return cluster, its name, distance and confidence of rows."""
    distances = np.asarray(model.transform(rows), dtype=np.float64)
    own = distances[np.arange(labels.size), labels]
    if hasattr(model, "predict_proba"):
        confidence = model.predict_proba(rows).max(axis=1)
    else:
        confidence = margins(distances, labels)
    shown = np.array([float(f"{one:.6g}") for one in own], dtype=np.float64)
    sure = np.array([round(float(one), 4) for one in confidence], dtype=np.float64)
    return named(model, labels) | {"distance": shown.tolist(), "confidence": sure.tolist()}


def margins(distances: FloatArray, labels: LabelArray) -> FloatArray:
    """Return how clearly each row is in its cluster: 0 between two clusters, 1 at its center.

    This is the simplified silhouette: the distance to the nearest other center less that to the
    own one, as a share of the former.
    """
    own = distances[np.arange(labels.size), labels]
    if distances.shape[1] < 2:
        return np.ones(labels.size)
    others = distances.copy()
    others[np.arange(labels.size), labels] = np.inf
    nearest = others.min(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (nearest - own) / nearest
    return np.asarray(np.clip(np.nan_to_num(share, nan=0.0, neginf=0.0), 0.0, 1.0))
