"""Anomalous patterns: clusters found one by one, from the outside in.

The center of a pattern starts at the row farthest from the center of the whole table. The pattern
consists of the rows that are closer to its center than to that of the table. Its rows are then
removed, and the search for the next pattern begins. Nothing is random. Intelligent K-Means starts
from the plain form, which uses the dissimilarity as it is. iMWK-Means starts from the weighted
form, which also learns weights for each pattern.

Row memory holds whether a row is left, its distance from the center of the table, and whether it is
closer to the pattern. Every step is a reduction.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fwkmeans._core.passes import Accumulation
from fwkmeans._init.pattern_passes import (
    DistancesLeft,
    FarRow,
    LargestDistances,
    Mark,
    NearRows,
    OnlyMarked,
    Remember,
    RowsAsFar,
    StartSearch,
    TakeOut,
)
from fwkmeans.sources import MemorySource, centers_of, count_present, rows_at
from fwkmeans.typing import (
    Assignment,
    CenterRule,
    Description,
    Dissimilarity,
    Entities,
    FloatArray,
    KeptLabels,
    Reduction,
    Source,
)
from fwkmeans.weighting.simplex import power, share

_MOST = 500  # iterations of a pattern
_PASS_ENTRIES = 1 << 18  # labels in one pass that checks many rows at once
_SMOOTHING = 0.01  # added to the dispersions of a pattern, as in the authors' programs
_COPIED_BYTES = 4 * 2**20  # once the remaining rows take no more than this, they are copied


class Pattern(NamedTuple):
    """An anomalous pattern."""

    center: FloatArray  # (P,)
    weights: FloatArray  # (M,) equal in the plain form
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
    last_of_ties: bool = False,
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
        Exponent of the weights learned for each pattern; infinity means equal weights, None means
        no weights.
    wanted : int, default=None
        Stop when the remaining rows cannot form a pattern that is among the `wanted` largest ones.
        None means to continue until every row with weight is in a pattern.
    smallest : float, default=1.0
        Only patterns with at least this mass count as wanted.
    last_of_ties : bool, default=False
        Whether the last of several equally far rows starts a pattern, instead of the first.

    Returns
    -------
    list of Pattern
        All patterns found.
    """
    search = _Search(source, dissimilarity, center, table, exponent, last_of_ties)
    patterns: list[Pattern] = []
    largest: list[float] = []
    while not wanted or len(largest) < wanted or largest[-1] < search.mass_left:
        pattern = search.next_pattern()
        if pattern is None:
            break
        patterns.append(pattern)
        if wanted and pattern.mass >= smallest:
            largest = sorted([*largest, pattern.mass], reverse=True)[:wanted]
    return patterns


class _Set(NamedTuple):
    """A set of rows: the reduction that labels them 1, and the pattern they form."""

    labeling: Reduction[Any, Any]
    pattern: Pattern


def _largest(circle: list[_Set]) -> _Set:
    return max(circle, key=lambda one: one.pattern.mass)


class _Search:
    """The search for patterns among the remaining rows."""

    def __init__(
        self,
        source: Source,
        dissimilarity: Dissimilarity,
        center: CenterRule,
        table: Description,
        exponent: float | None,
        last_of_ties: bool,
    ) -> None:
        self.dissimilarity, self.center_rule, self.table = dissimilarity, center, table
        self.exponent, self.last_of_ties = exponent, last_of_ties
        varying = table.varying
        self.equal = share(varying) if exponent is not None else np.ones(varying.size)
        self.constant = 0.0
        if exponent is not None and np.isfinite(exponent):
            self.constant = _SMOOTHING * float((table.span[varying] ** exponent).mean())
        alone = self._assignment(table.center[None, None], np.ones(varying.size))
        _, source = source.run(dissimilarity.distances(alone))
        self.mass_left, self.source = source.run(StartSearch())
        self.alone: list[FarRow] = []  # rows that are patterns on their own, next one first
        self.look_ahead = 1

    def next_pattern(self) -> Pattern | None:
        """Find the next pattern and remove its rows."""
        if not self.alone:
            self._copy_rows_left()
            ahead = self._farthest(self.look_ahead)
            if not ahead:
                return None
            self._find_lonely_rows([row for row in ahead if row.distance > 0])
            if not self.alone:
                found = self._grow(ahead[0])
                _, labeled = self.source.run(found.labeling)
                self.mass_left, self.source = labeled.run(TakeOut())
                return found.pattern
        row = self.alone.pop(0)
        self.mass_left, self.source = self.source.run(TakeOut(row.place))
        return Pattern(self._centers([row])[0], self.equal, row.weight)

    def _copy_rows_left(self) -> None:
        """Once half of the rows are removed and few are left, continue with a copy of those."""
        present = count_present(self.source)
        layout = self.source.layout
        few = 8 * present.n_rows * (layout.n_features + 2) <= _COPIED_BYTES
        if not 0 < 2 * present.n_rows < self.source.n_rows or not few:
            return
        entities, weight = rows_at(self.source, np.arange(present.n_rows), present)
        distance = self.source.reduce(DistancesLeft())
        copied = MemorySource(
            entities.numbers.astype(self.source.dtype),
            weight,
            levels=None if layout.is_numeric else entities.levels,
            layout=layout,
        )
        if self.source.gaps:
            copied = copied.with_gaps(stretch=self.source.stretch)
        _, self.source = copied.run(Remember(distance))

    def _farthest(self, n: int) -> list[FarRow]:
        """Return the remaining rows that are farthest from the center of the table, in order."""
        threshold = self.source.reduce(LargestDistances(n))
        return self.source.reduce(RowsAsFar(n, threshold, self.last_of_ties))

    def _find_lonely_rows(self, ahead: list[FarRow]) -> None:
        """Find rows, the farthest first, that are patterns on their own: no other row joins them.

        Such a pattern has no dispersion, so its weights stay equal. As long as all rows checked are
        of this kind, check twice as many in the next pass.
        """
        if not ahead:
            return
        rows = self._centers(ahead)
        both = np.stack([np.broadcast_to(self.table.center, rows.shape), rows], axis=1)
        counting = self.dissimilarity.accumulation(self._assignment(both, self.equal))
        assert isinstance(counting, Accumulation)
        n_near = self.source.reduce(NearRows(counting, np.array([row.place for row in ahead])))
        lonely = n_near == 0
        self.alone = ahead if lonely.all() else ahead[: int(np.argmin(lonely))]
        most = max(1, _PASS_ENTRIES // max(1, self.source.n_rows))
        self.look_ahead = min(2 * self.look_ahead, most) if lonely.all() else 1

    def _grow(self, first: FarRow) -> _Set:
        if not first.distance > 0:  # all remaining rows equal the center
            everything = Mark(None)
            return self._followed(everything, self.source.run(everything)[1].run(OnlyMarked())[1])
        center, weights = self._centers([first])[0], self.equal
        labeling: Reduction[Any, Any]
        seen: dict[int, int] = {}
        history: list[_Set] = []
        for _ in range(_MOST):
            both = self._assignment(np.stack([self.table.center, center])[None], weights)
            nearer: Reduction[Any, Any] = self.dissimilarity.accumulation(
                both, labels=KeptLabels.new(1)
            )
            statistics, labeled = self.source.run(nearer)
            labeling, fingerprint = nearer, int(statistics.fingerprint[0])
            if not statistics.rows[0, 1]:
                labeling, fingerprint = Mark(first.place), -1
                _, labeled = self.source.run(labeling)
            if fingerprint in seen:  # unchanged, or the largest set of a circle
                return _largest(history[seen[fingerprint] :])
            seen[fingerprint] = len(history)
            _, labeled = labeled.run(OnlyMarked())  # the labels take memory
            history.append(self._followed(labeling, labeled))
            center, weights, _ = history[-1].pattern
        return history[-1]

    def _followed(self, labeling: Reduction[Any, Any], inside: Source) -> _Set:
        """Return the set with the center and weights of its rows, which alone have weight."""
        table = self.table
        before = self._assignment(table.center[None, None], np.ones(table.varying.size))
        labels = KeptLabels.new(1) if self.dissimilarity.needs_labels else None
        counting = self.dissimilarity.accumulation(before, labels=labels)
        statistics, inside = inside.run(counting)
        centers = self.center_rule.update(statistics, before, inside)
        weights = self.equal
        if self.exponent is not None and np.isfinite(self.exponent):
            dispersion = self.dissimilarity.dispersion(statistics, before, centers, inside, table)
            weights = power(dispersion[0, 0] + self.constant, self.exponent, table)
        return _Set(labeling, Pattern(centers[0, 0], weights, float(statistics.mass[0, 0])))

    def _centers(self, rows: list[FarRow]) -> FloatArray:
        numbers, levels = (
            np.stack(parts) for parts in zip(*(row.entity for row in rows), strict=True)
        )
        return centers_of(Entities(numbers, levels), self.table)

    def _assignment(self, centers: FloatArray, weights: FloatArray) -> Assignment:
        """Return the assignment by these centers, (R, K, P), with the same weights for all."""
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


class Start(NamedTuple):
    """Initial centers and weights from anomalous patterns."""

    centers: FloatArray  # (K, P)
    weights: FloatArray  # (K, M)
    n_patterns: int  # number of centers from patterns; the others are rows far from all of these


def anomalous_start(
    source: Source,
    dissimilarity: Dissimilarity,
    center: CenterRule,
    table: Description,
    n_clusters: int | None,
    *,
    exponent: float | None = None,
    smallest: float = 1.0,
    fill: bool = True,
    last_of_ties: bool = False,
) -> Start:
    """Return the start: the largest patterns or, without `n_clusters`, all of at least some size.

    If there are fewer patterns than clusters, rows are added one by one, each the farthest from all
    centers so far. If `fill` is false, there are as many clusters as patterns instead.
    """
    patterns = anomalous_patterns(
        source,
        dissimilarity,
        center,
        table,
        exponent=exponent,
        wanted=n_clusters,
        smallest=smallest,
        last_of_ties=last_of_ties,
    )
    patterns = [pattern for pattern in patterns if pattern.mass >= smallest]
    if n_clusters is not None:
        patterns = sorted(patterns, key=lambda pattern: -pattern.mass)[:n_clusters]
    wanted = len(patterns) if n_clusters is None or not fill else n_clusters
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
    """Return the row farthest from its nearest center (from that of the table if there is none)."""
    if not len(centers):
        centers = table.center[None]
    shape = (1, len(centers), table.varying.size)
    nearest = Assignment(centers[None], np.ones(shape), np.zeros(shape[:2]), np.ones(1))
    eligible = np.ones(shape[:2], dtype=np.bool_)
    _, rows = source.reduce(dissimilarity.farthest(nearest, eligible))
    return np.asarray(centers_of(rows, table)[0])
