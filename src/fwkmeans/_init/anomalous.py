"""Anomalous patterns: clusters found one by one, from the outside in.

A pattern is what lies nearer to a center that starts at the farthest row than to the center of the
whole table; it is taken out, and the next one is looked for. Deterministic. The plain form, with
the dissimilarity as it is, starts intelligent K-Means; the weighted form, which learns weights for
each pattern on the way, starts iMWK-Means.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fwkmeans.sources import MemorySource, centers_at
from fwkmeans.typing import (
    Assignment,
    CenterRule,
    Description,
    Dissimilarity,
    FloatArray,
    IntArray,
    LabelArray,
    LastLabels,
    Source,
    Statistics,
)
from fwkmeans.weighting.simplex import power, share

_MOST = 500  # steps of a pattern
_PASS_ENTRIES = 1 << 18  # labels of one pass that looks at many rows
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
    wanted: int | None = None,
    smallest: float = 1.0,
) -> list[Pattern]:
    """Return the patterns, in the order in which they are found.

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
    wanted : int, default=None
        Stop when none of the rows left can make a pattern that is among the `wanted` most populous
        ones. None: go on until every row with weight is in a pattern.
    smallest : float, default=1.0
        Only patterns of this mass are counted as wanted.

    Returns
    -------
    list of Pattern
        All that were found.
    """
    search = _Search(source, dissimilarity, center, table, exponent)
    patterns: list[Pattern] = []
    largest: list[float] = []
    while not wanted or len(largest) < wanted or largest[-1] < search.left.sum():
        pattern = search.next_pattern()
        if pattern is None:
            break
        patterns.append(pattern)
        if wanted and pattern.mass >= smallest:
            largest = sorted([*largest, pattern.mass], reverse=True)[:wanted]
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
        alone = self._assignment(table.center[None, None], np.ones(varying.size))
        self.distance = source.reduce(dissimilarity.distances(alone))[:, 0]
        self.order = _farthest_first(self.distance)
        self.at = 0  # all before are taken
        self.alone: list[int] = []  # rows that are patterns by themselves, in the order
        self.look_ahead = 1

    def next_pattern(self) -> Pattern | None:
        """Take the next pattern out of the rows."""
        while self.at < self.order.size and not self.left[self.order[self.at]]:
            self.at += 1
        if self.at == self.order.size:
            return None
        if not self.alone:
            self._forget_taken_rows()
            self._find_lonely_rows()
        if self.alone:
            return self._take_lonely_row(self.alone.pop(0))
        found = self._grow(int(self.order[self.at]))
        self.left[found.labels == 1] = 0.0
        return Pattern(found.center, found.weights, found.mass)

    def _forget_taken_rows(self) -> None:
        """Once half of the rows in memory are taken, go on with a copy of the others."""
        present = self.left > 0
        if isinstance(self.source, MemorySource) and 2 * present.sum() < present.size:
            kept = np.flatnonzero(present)
            number = np.cumsum(present) - 1
            self.order, self.at = number[self.order[present[self.order]]], 0
            self.left, self.distance = self.left[kept], self.distance[kept]
            self.source = self.source.subset(kept, self.left)

    def _find_lonely_rows(self) -> None:
        """Look for rows, the farthest first, that no other row left is near to.

        Such a row is a pattern at once: it has no dispersion, so its weights stay equal. As long as
        that is all there is, look at twice as many rows in the next pass.
        """
        ahead = self.order[self.at :]
        ahead = ahead[self.left[ahead] > 0][: self.look_ahead]
        ahead = ahead[self.distance[ahead] > 0]
        if not ahead.size:
            return
        rows = centers_at(self.source, ahead, self.table)
        both = np.stack([np.broadcast_to(self.table.center, rows.shape), rows], axis=1)
        statistics = self._count(self.source, self._assignment(both, self.equal))
        assert statistics.labels is not None
        near = (statistics.labels == 1) & (self.left > 0)
        near[np.arange(ahead.size), ahead] = False
        lonely = ~near.any(axis=1)
        n_first = ahead.size if lonely.all() else int(np.argmin(lonely))
        self.alone = ahead[:n_first].tolist()
        most = max(1, _PASS_ENTRIES // max(1, self.source.n_rows))
        self.look_ahead = min(2 * self.look_ahead, most) if lonely.all() else 1

    def _take_lonely_row(self, row: int) -> Pattern:
        mass = float(self.left[row])
        self.left[row] = 0.0
        return Pattern(centers_at(self.source, np.array([row]), self.table)[0], self.equal, mass)

    def _grow(self, first: int) -> _Found:
        table = self.table
        if not self.distance[first] > 0:  # every row left lies on the center
            return self._found(np.where(self.left > 0, 1, 0).astype(np.int32))
        center, weights = centers_at(self.source, np.array([first]), table)[0], self.equal
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
        both = self._assignment(np.stack([self.table.center, center])[None], weights)
        statistics = self._count(self.source, both)
        assert statistics.labels is not None
        labels = np.where(self.left > 0, statistics.labels[0], 0).astype(np.int32)
        return labels, int(statistics.fingerprint[0])

    def _found(self, labels: LabelArray) -> _Found:
        """Return center and weights of the rows labelled 1."""
        inside = self.source.reweighted(np.where(labels == 1, self.left, 0.0))
        table = self.table
        before = self._assignment(table.center[None, None], np.ones(table.varying.size))
        statistics = self._count(inside, before)
        centers = self.center_rule.update(statistics, before, inside)
        weights = self.equal
        if self.exponent is not None and np.isfinite(self.exponent):
            dispersion = self.dissimilarity.dispersion(statistics, before, centers, inside, table)
            weights = power(dispersion[0, 0] + self.constant, self.exponent, table)
        return _Found(centers[0, 0], weights, float(statistics.mass[0, 0]), labels)

    def _assignment(self, centers: FloatArray, weights: FloatArray) -> Assignment:
        """Return what assigns by these centers, (R, K, P), with the same weights for all."""
        effective = weights
        if self.exponent is not None and np.isfinite(self.exponent):
            effective = np.where(weights > 0, weights, 0.0) ** self.exponent
            effective = effective / effective.max()
        n_starts, n_clusters = centers.shape[:2]
        return Assignment(
            centers,
            np.broadcast_to(effective, (n_starts, n_clusters, weights.size)),
            np.zeros((n_starts, n_clusters)),
            np.ones(n_starts),
        )

    def _count(self, source: Source, assignment: Assignment) -> Statistics:
        n_starts = len(assignment.centers)
        labels = np.full((n_starts, source.n_rows), -1, dtype=np.int32)
        last = LastLabels(labels, np.zeros(n_starts, dtype=np.bool_))
        return source.reduce(self.dissimilarity.accumulation(assignment, last=last))


def _farthest_first(distance: FloatArray) -> IntArray:
    """Return the rows by falling distance; those that differ by rounding alone in their order."""
    order = np.argsort(-distance, kind="stable")
    falls = np.diff(distance[order]) < -1e-12 * distance[order][:-1]
    level = np.concatenate([[0], np.cumsum(falls)])
    return order[np.lexsort((order, level))]


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
    patterns = anomalous_patterns(
        source,
        dissimilarity,
        center,
        table,
        exponent=exponent,
        wanted=n_clusters,
        smallest=smallest,
    )
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
