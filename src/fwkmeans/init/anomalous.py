"""Anomalous patterns: clusters found one by one, from the outside in.

A pattern is what lies nearer to a center that starts at the farthest row than to the center of the
whole table; it is taken out, and the next one is looked for. Deterministic. The plain form, with
the dissimilarity as it is, starts intelligent K-Means; the weighted form, which learns weights for
each pattern on the way, starts iMWK-Means.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fwkmeans._typing import (
    Assignment,
    CenterRule,
    Description,
    Dissimilarity,
    FloatArray,
    LabelArray,
    LastLabels,
    Source,
    Statistics,
)
from fwkmeans.sources import MemorySource, centers_at
from fwkmeans.weighting.simplex import power, share

_MOST = 500  # steps of a pattern
_SMOOTHING = 0.01  # added to the dispersions of a pattern, as in the authors' programs


class Pattern(NamedTuple):
    """A cluster found by itself."""

    center: FloatArray  # (P,)
    weights: FloatArray  # (M,) equal ones in the plain form
    mass: float


def anomalous_patterns(
    source: Source,
    dissimilarity: Dissimilarity,
    center: CenterRule,
    table: Description,
    *,
    exponent: float | None = None,
) -> list[Pattern]:
    """Return all patterns, in the order in which they are found.

    Parameters
    ----------
    source : Source
        The rows.
    dissimilarity, center : parts
        Bound to the table.
    table : Description
        With the center of the whole table.
    exponent : float, default=None
        Exponent of the weights learned for each pattern (infinity: equal ones); None: no weights.

    Returns
    -------
    list of Pattern
        Together they hold every row with weight.
    """
    search = _Search(source, dissimilarity, center, table, exponent)
    patterns = []
    while (pattern := search.next_pattern()) is not None:
        patterns.append(pattern)
    return patterns


class _Found(NamedTuple):
    """A set of rows, with the center and weights that follow from it."""

    center: FloatArray
    weights: FloatArray
    mass: float
    labels: LabelArray  # (N,) 1 in the set


class _Search:
    """The rows that are left."""

    def __init__(
        self,
        source: Source,
        dissimilarity: Dissimilarity,
        center: CenterRule,
        table: Description,
        exponent: float | None,
    ) -> None:
        weight = source.sample_weight
        self.left = np.ones(source.n_rows) if weight is None else weight.copy()
        self.source = source.reweighted(self.left)
        self.dissimilarity, self.center_rule, self.table = dissimilarity, center, table
        self.exponent = exponent
        varying = table.varying
        self.equal = share(varying) if exponent is not None else np.ones(varying.size)
        self.constant = 0.0
        if exponent is not None and np.isfinite(exponent):
            self.constant = _SMOOTHING * float((table.span[varying] ** exponent).mean())

    def next_pattern(self) -> Pattern | None:
        """Take the next pattern out of the rows."""
        self._forget_taken_rows()
        if not self.left.any():
            return None
        found = self._grow()
        taken = found.labels == 1
        self.left[taken] = 0.0
        return Pattern(found.center, found.weights, found.mass)

    def _forget_taken_rows(self) -> None:
        """Once half of the rows in memory are taken, go on with a copy of the others."""
        present = self.left > 0
        if isinstance(self.source, MemorySource) and 2 * present.sum() < present.size:
            kept = np.flatnonzero(present)
            self.left = self.left[kept]
            self.source = self.source.subset(kept, self.left)

    def _grow(self) -> _Found:
        table = self.table
        alone = self._assignment(table.center[None], np.ones(table.varying.size))
        _, row = self.source.reduce(
            self.dissimilarity.farthest(alone, np.ones((1, 1), dtype=np.bool_))
        )
        if row[0] < 0:  # every row left lies on the center
            return self._found(np.where(self.left > 0, 1, 0).astype(np.int32))
        first = int(row[0])
        center, weights = centers_at(self.source, row, table)[0], self.equal
        seen: dict[int, int] = {}
        history: list[_Found] = []
        for _ in range(_MOST):
            labels, fingerprint = self._nearer(center, weights)
            if not (labels[self.left > 0] == 1).any():
                labels = np.zeros_like(labels)
                labels[first] = 1
                fingerprint = -1
            if fingerprint in seen:  # unchanged, or the largest set of a circle
                return max(history[seen[fingerprint] :], key=lambda one: one.mass)
            seen[fingerprint] = len(history)
            history.append(self._found(labels))
            center, weights = history[-1].center, history[-1].weights
        return history[-1]

    def _nearer(self, center: FloatArray, weights: FloatArray) -> tuple[LabelArray, int]:
        """Return 1 for rows nearer to the center than to that of the table, else 0."""
        both = self._assignment(np.stack([self.table.center, center]), weights)
        statistics = self._count(self.source, both)
        assert statistics.labels is not None
        labels = np.where(self.left > 0, statistics.labels[0], 0).astype(np.int32)
        return labels, int(statistics.fingerprint[0])

    def _found(self, labels: LabelArray) -> _Found:
        """Return center and weights of the rows labelled 1."""
        inside = self.source.reweighted(np.where(labels == 1, self.left, 0.0))
        table = self.table
        before = self._assignment(table.center[None], np.ones(table.varying.size))
        statistics = self._count(inside, before)
        centers = self.center_rule.update(statistics, before, inside)
        weights = self.equal
        if self.exponent is not None and np.isfinite(self.exponent):
            dispersion = self.dissimilarity.dispersion(statistics, before, centers, inside, table)
            weights = power(dispersion[0, 0] + self.constant, self.exponent, table)
        return _Found(centers[0, 0], weights, float(statistics.mass[0, 0]), labels)

    def _assignment(self, centers: FloatArray, weights: FloatArray) -> Assignment:
        """Return what assigns by these centers with the same weights for all."""
        effective = weights
        if self.exponent is not None and np.isfinite(self.exponent):
            effective = np.where(weights > 0, weights, 0.0) ** self.exponent
            effective = effective / effective.max()
        shape = (1, len(centers), weights.size)
        return Assignment(
            centers[None], np.broadcast_to(effective, shape), np.zeros(shape[:2]), np.ones(1)
        )

    def _count(self, source: Source, assignment: Assignment) -> Statistics:
        last = LastLabels.of_one_start(source.n_rows)
        return source.reduce(self.dissimilarity.accumulation(assignment, last=last))


class Start(NamedTuple):
    """Where a run begins that anomalous patterns decide."""

    centers: FloatArray  # (K, P)
    weights: FloatArray  # (K, M)
    n_patterns: int  # of the centers; the others are rows far from all of these


def anomalous_start(
    source: Source,
    dissimilarity: Dissimilarity,
    center: CenterRule,
    table: Description,
    n_clusters: int | None,
    *,
    exponent: float | None = None,
    smallest: float = 1.0,
) -> Start:
    """Return the start: the most populous patterns, or all of some size.

    If there are fewer patterns than clusters, rows are added one by one, each the farthest from all
    centers so far.
    """
    patterns = anomalous_patterns(source, dissimilarity, center, table, exponent=exponent)
    patterns = [pattern for pattern in patterns if pattern.mass >= smallest]
    if n_clusters is not None:
        patterns = sorted(patterns, key=lambda pattern: -pattern.mass)[:n_clusters]
    wanted = len(patterns) if n_clusters is None else n_clusters
    varying = table.varying
    centers = np.empty((wanted, table.center.size))
    weights = np.broadcast_to(share(varying), (wanted, varying.size)).copy()
    for at, pattern in enumerate(patterns):
        centers[at], weights[at] = pattern.center, pattern.weights
    for at in range(len(patterns), wanted):
        centers[at] = _farthest(source, dissimilarity, table, centers[:at])
    return Start(centers, weights, len(patterns))


def _farthest(
    source: Source, dissimilarity: Dissimilarity, table: Description, centers: FloatArray
) -> FloatArray:
    """Return the row farthest from the nearest of the centers (from that of the table, if none)."""
    if not len(centers):
        centers = table.center[None]
    shape = (1, len(centers), table.varying.size)
    nearest = Assignment(centers[None], np.ones(shape), np.zeros(shape[:2]), np.ones(1))
    eligible = np.ones(shape[:2], dtype=np.bool_)
    _, row = source.reduce(dissimilarity.farthest(nearest, eligible))
    farthest: FloatArray = centers_at(source, np.maximum(row, 0), table)[0]
    return farthest
