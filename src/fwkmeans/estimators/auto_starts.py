"""Partitions from which `AutoKMeans` starts: always the same for the same rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from fwkmeans._mixture import Cuts, Sample, WardTree
from fwkmeans.estimators.ewk import EWKMeans
from fwkmeans.estimators.kmeans import KMeans
from fwkmeans.typing import FloatArray, LabelArray

#: Starts of K-Means beside Ward's partition, drawn from a fixed seed.
DRAWS = 10


class Starts:
    """Ward's trees of the rows in two scalings, and what K-Means makes of them.

    Parameters
    ----------
    sample : Sample
        The rows, not compressed.
    cuts : Cuts
        Cuts of a tree of theirs.
    n_jobs : int or None
        Number of threads.
    """

    def __init__(self, sample: Sample, cuts: Cuts, n_jobs: int | None) -> None:
        self._weight, self._cuts, self._n_jobs = sample.weight, cuts, n_jobs
        numbers, levels = sample.in_deviations()
        plain = sample.rows.levels.toarray() * np.sqrt(sample.level_vote)
        self._by_range = np.hstack([sample.rows.numbers, plain])
        self._by_variance = np.hstack([numbers, levels])
        self._numbers = numbers if numbers.shape[1] and levels.shape[1] else None
        self._trees: dict[int, WardTree] = {}
        self._found: dict[int, list[LabelArray]] = {}

    def partitions(self, n_clusters: int) -> list[LabelArray]:
        """Return different partitions of the rows into so many clusters."""
        if n_clusters not in self._found:
            self._found[n_clusters] = self._look_for(n_clusters)
        return self._found[n_clusters]

    def by_kmeans(self, n_clusters: int) -> list[LabelArray]:
        """Return the best partitions of K-Means that are found, in both scalings.

        They are reached from Ward's partition or from fixed draws of rows.
        """
        found = []
        for rows in (self._by_range, self._by_variance):
            models = self._from_ward(KMeans, rows, n_clusters)
            if models:
                drawn = KMeans(n_clusters, n_init=DRAWS, random_state=0, n_jobs=self._n_jobs)
                models.append(self._fitted(drawn, rows))
                found.append(min(models, key=lambda model: model.inertia_).labels_)
        return found

    def _look_for(self, n_clusters: int) -> list[LabelArray]:
        if n_clusters == 1:
            return [np.zeros(len(self._weight), dtype=np.int32)]
        scalings = (self._by_range, self._by_variance)
        found = [self._ward(rows, n_clusters) for rows in scalings]
        models = [model for rows in scalings for model in self._from_ward(KMeans, rows, n_clusters)]
        models += self._from_ward(EWKMeans, self._by_variance, n_clusters)
        if self._numbers is not None:
            models += self._from_ward(KMeans, self._numbers, n_clusters)
        found += [model.labels_ for model in models]
        found += self._cuts.partitions(n_clusters)
        return list({labels.tobytes(): labels for labels in map(_in_order, found)}.values())

    def _ward(self, rows: FloatArray, n_clusters: int) -> LabelArray:
        """Return Ward's partition of the rows in one of the scalings."""
        if id(rows) not in self._trees:
            self._trees[id(rows)] = WardTree(rows)
        return self._trees[id(rows)].cut(n_clusters)

    def _from_ward(self, algorithm: Any, rows: FloatArray, n_clusters: int) -> list[Any]:
        """Return what an algorithm reaches from Ward's partition; nothing if it has no columns."""
        if not rows.shape[1]:
            return []
        labels = self._ward(rows, n_clusters)
        member = np.eye(labels.max() + 1)[labels] * self._weight[:, None]
        centers = (member.T @ rows) / np.maximum(member.sum(axis=0), 1e-300)[:, None]
        if len(centers) < n_clusters:
            return []
        model = algorithm(n_clusters, init=centers, n_init=1, n_jobs=self._n_jobs)
        return [self._fitted(model, rows)]

    def _fitted(self, model: Any, rows: FloatArray) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(rows, sample_weight=self._weight)


def _in_order(labels: LabelArray) -> LabelArray:
    """Return the labels numbered by the first row of each cluster."""
    _, first, number = np.unique(labels, return_index=True, return_inverse=True)
    place = np.empty(first.size, dtype=np.int32)
    place[np.argsort(first)] = np.arange(first.size)
    return np.asarray(place[number.ravel()])
