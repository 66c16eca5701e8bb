"""Anomalous patterns: clusters found one by one, from the outside in.

The center of a pattern starts at the row farthest from the center of the whole table. The pattern
consists of the rows that are closer to its center than to that of the table. Its rows are then
removed, and the search for the next pattern begins. Nothing is random. Intelligent K-Means starts
from the plain form, which uses the dissimilarity as it is. iMWK-Means starts from the weighted
form, which also learns weights for each pattern.

Row memory holds the weight of each row (zero once the row is removed), its distance from the center
of the table, and whether it is closer to the pattern. Every step is a reduction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fwkmeans._core import kernels_for
from fwkmeans._core.passes import Accumulation, labels_in
from fwkmeans.sources import MemorySource, centers_of, count_present, rows_at
from fwkmeans.typing import (
    Assignment,
    Block,
    BoolArray,
    CenterRule,
    Description,
    Dissimilarity,
    Entities,
    FloatArray,
    IntArray,
    KeptLabels,
    LastLabels,
    Reduction,
    RowMemory,
    Source,
)
from fwkmeans.weighting.simplex import power, share

_MOST = 500  # iterations of a pattern
_PASS_ENTRIES = 1 << 18  # labels in one pass that checks many rows at once
_SMOOTHING = 0.01  # added to the dispersions of a pattern, as in the authors' programs
_TIE = 1e-12  # relative difference below which two rows are equally far
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
        self.mass_left, self.source = source.run(_StartSearch())
        self.alone: list[_Far] = []  # rows that are patterns on their own, next one first
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
                self.mass_left, self.source = labeled.run(_TakeOut())
                return found.pattern
        row = self.alone.pop(0)
        self.mass_left, self.source = self.source.run(_TakeOut(row.place))
        return Pattern(self._centers([row])[0], self.equal, row.weight)

    def _copy_rows_left(self) -> None:
        """Once half of the rows are removed and few are left, continue with a copy of those."""
        present = count_present(self.source)
        layout = self.source.layout
        few = 8 * present.n_rows * (layout.n_features + 2) <= _COPIED_BYTES
        if not 0 < 2 * present.n_rows < self.source.n_rows or not few:
            return
        entities, weight = rows_at(self.source, np.arange(present.n_rows), present)
        distance = self.source.reduce(_DistancesLeft())
        copied = MemorySource(
            entities.numbers.astype(self.source.dtype),
            weight,
            levels=None if layout.is_numeric else entities.levels,
            layout=layout,
        )
        if self.source.gaps:
            copied = copied.with_gaps(stretch=self.source.stretch)
        _, self.source = copied.run(_Remember(distance))

    def _farthest(self, n: int) -> list[_Far]:
        """Return the remaining rows that are farthest from the center of the table, in order."""
        threshold = self.source.reduce(_LargestDistances(n))
        return self.source.reduce(_RowsAsFar(n, threshold, self.last_of_ties))

    def _find_lonely_rows(self, ahead: list[_Far]) -> None:
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
        n_near = self.source.reduce(_NearRows(counting, np.array([row.place for row in ahead])))
        lonely = n_near == 0
        self.alone = ahead if lonely.all() else ahead[: int(np.argmin(lonely))]
        most = max(1, _PASS_ENTRIES // max(1, self.source.n_rows))
        self.look_ahead = min(2 * self.look_ahead, most) if lonely.all() else 1

    def _grow(self, first: _Far) -> _Set:
        if not first.distance > 0:  # all remaining rows equal the center
            everything = _Mark(None)
            return self._followed(everything, self.source.run(everything)[1])
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
                labeling, fingerprint = _Mark(first.place), -1
                _, labeled = self.source.run(labeling)
            if fingerprint in seen:  # unchanged, or the largest set of a circle
                return _largest(history[seen[fingerprint] :])
            seen[fingerprint] = len(history)
            history.append(self._followed(labeling, labeled))
            center, weights, _ = history[-1].pattern
        return history[-1]

    def _followed(self, labeling: Reduction[Any, Any], labeled: Source) -> _Set:
        """Return the set with the center and weights of its rows."""
        _, inside = labeled.run(_OnlyMarked())
        table = self.table
        before = self._assignment(table.center[None, None], np.ones(table.varying.size))
        counting = self.dissimilarity.accumulation(before, labels=KeptLabels.new(1))
        statistics, inside = inside.run(counting)
        centers = self.center_rule.update(statistics, before, inside)
        weights = self.equal
        if self.exponent is not None and np.isfinite(self.exponent):
            dispersion = self.dissimilarity.dispersion(statistics, before, centers, inside, table)
            weights = power(dispersion[0, 0] + self.constant, self.exponent, table)
        return _Set(labeling, Pattern(centers[0, 0], weights, float(statistics.mass[0, 0])))

    def _centers(self, rows: list[_Far]) -> FloatArray:
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


# ---- reductions ----------------------------------------------------------------------------------


class _Same:
    """A reduction whose result is the joined part itself."""

    def finish(self, whole: Any) -> Any:
        return whole


class _Sum(_Same):
    def join(self, before: Any, after: Any) -> Any:
        return before + after


def _weight_of(block: Block) -> FloatArray:
    return np.ones(len(block.rows)) if block.sample_weight is None else block.sample_weight


class _StartSearch(_Sum):
    """Remember the weight of each row and its distance from the center; return the mass."""

    def on_block(self, block: Block, memory: RowMemory) -> tuple[float, RowMemory]:
        weight, distance = _weight_of(block), memory["distances"][:, 0]
        return float(weight.sum()), {"weight": weight, "distance": distance}


@dataclass(frozen=True)
class _Remember(_Same):
    """Put weights and distances into the row memory of the only block."""

    distance: FloatArray

    def on_block(self, block: Block, memory: RowMemory) -> tuple[None, RowMemory]:
        return None, {"weight": _weight_of(block), "distance": self.distance}

    def join(self, before: None, after: None) -> None:
        pass


class _DistancesLeft(_Same):
    """Return the distances of the remaining rows."""

    def on_block(self, block: Block, memory: RowMemory) -> tuple[FloatArray, RowMemory]:
        return np.asarray(memory["distance"][_weight_of(block) > 0]), memory

    def join(self, before: FloatArray, after: FloatArray) -> FloatArray:
        return np.concatenate([before, after])


@dataclass(frozen=True)
class _LargestDistances(_Same):
    """Return the n-th largest distance of the remaining rows (the smallest if there are fewer)."""

    n: int

    def on_block(self, block: Block, memory: RowMemory) -> tuple[FloatArray, RowMemory]:
        return self._largest(memory["distance"][_weight_of(block) > 0]), memory

    def join(self, before: FloatArray, after: FloatArray) -> FloatArray:
        return self._largest(np.concatenate([before, after]))

    def finish(self, whole: FloatArray) -> float:
        return float(whole.min()) if whole.size else np.inf

    def _largest(self, distances: FloatArray) -> FloatArray:
        if distances.size <= self.n:
            return distances
        if self.n == 1:
            return np.asarray(distances.max(keepdims=True))
        return np.partition(distances, distances.size - self.n)[-self.n :]


class _Far(NamedTuple):
    """A remaining row."""

    place: int  # in the table
    distance: float
    weight: float
    entity: tuple[FloatArray, Any]  # numbers and levels


@dataclass(frozen=True)
class _RowsAsFar(_Same):
    """Return n rows that are at least as far as the threshold; tied rows keep their order.

    At most n rows are clearly farther than the threshold. Of those that tie with it, the first n
    are kept.
    """

    n: int
    threshold: float
    last_of_ties: bool

    def on_block(self, block: Block, memory: RowMemory) -> tuple[list[_Far], RowMemory]:
        distance, weight = memory["distance"], _weight_of(block)
        near = np.flatnonzero((distance >= (1.0 - _TIE) * self.threshold) & (weight > 0))
        near = near[self._first(distance[near])]
        entities = kernels_for(block.rows).take_rows(block, near)
        rows = zip(
            (near + block.first_row).tolist(),
            distance[near].tolist(),
            weight[near].tolist(),
            zip(*entities, strict=True),
            strict=True,
        )
        return [_Far(*row) for row in rows], memory

    def join(self, before: list[_Far], after: list[_Far]) -> list[_Far]:
        both = [*before, *after]
        kept = self._first(np.array([row.distance for row in both]))
        return [both[at] for at in kept]

    def finish(self, whole: list[_Far]) -> list[_Far]:
        if not whole:
            return []
        order = _farthest_first(np.array([row.distance for row in whole]), self.last_of_ties)
        return [whole[at] for at in order[: self.n]]

    def _first(self, distance: FloatArray) -> IntArray:
        """Return which rows are needed, in their order."""
        beyond = distance > (1.0 + _TIE) * self.threshold
        tied = np.flatnonzero(~beyond)
        tied = tied[-self.n :] if self.last_of_ties else tied[: self.n]
        return np.sort(np.concatenate([np.flatnonzero(beyond), tied]))


@dataclass(frozen=True)
class _NearRows(_Sum):
    """Count, for each of some rows, the remaining rows that are closer to it than to the center.

    The pass has one start per row; its two clusters are the center of the table and the row.
    """

    counting: Accumulation
    indices: IntArray

    def on_block(self, block: Block, memory: RowMemory) -> tuple[IntArray, RowMemory]:
        n_starts = self.indices.size
        last = LastLabels(
            np.full((n_starts, len(block.rows)), -1, dtype=np.int32),
            np.zeros(n_starts, dtype=np.bool_),
        )
        kernels_for(block.rows).assign_and_accumulate(
            block, self.counting.assigning, self.counting.reference, last
        )
        near: BoolArray = (last.labels == 1) & (_weight_of(block) > 0)
        own = self.indices - block.first_row
        here = np.flatnonzero((own >= 0) & (own < len(block.rows)))
        near[here, own[here]] = False
        return near.sum(axis=1), memory


@dataclass(frozen=True)
class _Mark(_Same):
    """Label one row 1, or all remaining rows."""

    index: int | None

    def on_block(self, block: Block, memory: RowMemory) -> tuple[None, RowMemory]:
        labels = np.zeros((1, len(block.rows)), dtype=np.int32)
        if self.index is None:
            labels[0] = _weight_of(block) > 0
        elif 0 <= self.index - block.first_row < len(block.rows):
            labels[0, self.index - block.first_row] = 1
        return None, {**memory, "labels": labels}

    def join(self, before: None, after: None) -> None:
        pass


class _OnlyMarked(_Same):
    """Set the weight of all rows to zero, except those labeled 1."""

    def on_block(self, block: Block, memory: RowMemory) -> tuple[None, RowMemory]:
        marked = labels_in(memory)[0] == 1
        return None, {"weight": np.where(marked, _weight_of(block), 0.0)}

    def join(self, before: None, after: None) -> None:
        pass


@dataclass(frozen=True)
class _TakeOut(_Sum):
    """Set the weight of one row, or of all rows labeled 1, to zero; return the remaining mass."""

    index: int | None = None

    def on_block(self, block: Block, memory: RowMemory) -> tuple[float, RowMemory]:
        weight = _weight_of(block)
        if self.index is None:
            weight = np.where(labels_in(memory)[0] == 1, 0.0, weight)
        elif 0 <= self.index - block.first_row < len(block.rows):
            weight = weight.copy()
            weight[self.index - block.first_row] = 0.0
        return float(weight.sum()), {"weight": weight, "distance": memory["distance"]}


def _farthest_first(distance: FloatArray, last_of_ties: bool) -> IntArray:
    """Return the rows by falling distance; rows that are equal up to rounding keep their order."""
    order = np.argsort(-distance, kind="stable")
    falls = np.diff(distance[order]) < -_TIE * distance[order][:-1]
    level = np.concatenate([[0], np.cumsum(falls)])
    return order[np.lexsort((-order if last_of_ties else order, level))]


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
