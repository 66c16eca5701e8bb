"""The words the parts share: array aliases, the records they exchange, and their contracts.

Leading axis ``R`` runs over the starts of a batch, ``K`` over clusters, ``M`` over features.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
LabelArray: TypeAlias = NDArray[np.int32]
BoolArray: TypeAlias = NDArray[np.bool_]
RowArray: TypeAlias = NDArray[Any]  # rows of a table: float32 or float64

Result = TypeVar("Result")


class Description(NamedTuple):
    """What one look at the whole table says about each feature; only rows with weight count."""

    n_rows: int
    mass: float  # sum of the sample weights
    mean: FloatArray  # (M,)
    scatter: FloatArray  # (M,) T_v, weighted sum of squared deviations from the mean
    minimum: FloatArray  # (M,)
    maximum: FloatArray  # (M,)

    @property
    def varying(self) -> BoolArray:
        """Features that can carry weight: not constant (all of them if every one is constant)."""
        varying = self.maximum > self.minimum
        return varying if varying.any() else np.ones_like(varying)

    @property
    def span(self) -> FloatArray:
        """Range of each feature."""
        return self.maximum - self.minimum

    @property
    def magnitude(self) -> FloatArray:
        """Largest absolute value of each feature: what its rounding is relative to."""
        return np.maximum(np.abs(self.minimum), np.abs(self.maximum))


class Block(NamedTuple):
    """Some consecutive rows of a table."""

    rows: RowArray  # (n, M)
    sample_weight: FloatArray | None  # (n,)
    first_row: int  # index of the first of them in the whole table
    n_threads: int


class Statistics(NamedTuple):
    """What an assignment pass returns instead of labels."""

    mass: FloatArray  # (R, K) sum of sample weights
    rows: IntArray  # (R, K) number of rows with positive sample weight
    sums: FloatArray  # (R, K, M) sum of s_i (y_i - reference_k)
    squares: FloatArray  # (R, K, M) sum of s_i (y_i - reference_k)^2
    fingerprint: IntArray  # (R,) equal for equal labels of all rows with weight
    changed: IntArray  # (R,) rows whose label is not the last one; 0 if nobody keeps those
    reference: FloatArray  # (R, K, M) what the sums were taken about

    def take(self, starts: IntArray | BoolArray) -> Statistics:
        """Keep only these starts."""
        parts: tuple[Any, ...] = tuple(part[starts] for part in self)
        return Statistics(*parts)


class Assignment(NamedTuple):
    """All that decides the labels of each start."""

    centers: FloatArray  # (R, K, M)
    weights: FloatArray  # (R, K, M), or (R, 1, M) if shared by all; largest in [1/2, 1)
    offsets: FloatArray  # (R, K), in units of `scale`
    scale: FloatArray  # (R,) the objective's weights are scale x weights
    shift: FloatArray  # (M,) a point amid the rows, subtracted before products are formed

    def take(self, starts: IntArray | BoolArray) -> Assignment:
        """Keep only these starts."""
        centers, weights, offsets, scale = (part[starts] for part in self[:4])
        return Assignment(centers, weights, offsets, scale, self.shift)


class LastLabels(NamedTuple):
    """Labels of the last pass, which the next one replaces; `update` starts sum only changes."""

    labels: LabelArray  # (R, N)
    update: BoolArray  # (R,)


class Weights(NamedTuple):
    """Feature weights of a batch of starts, and what their rule wants to remember."""

    values: FloatArray  # (R, K, M)
    memory: Mapping[str, FloatArray] = {}  # each with leading axis R

    def take(self, starts: IntArray | BoolArray) -> Weights:
        """Keep only these starts."""
        return Weights(self.values[starts], {key: m[starts] for key, m in self.memory.items()})


class Effective(NamedTuple):
    """Weights as they multiply the dissimilarity: scale x values, kept apart against underflow."""

    values: FloatArray  # (R, K, M) or (R, 1, M)
    scale: FloatArray  # (R,)


class WeightContext(NamedTuple):
    """What a weight rule may look at besides the dispersion."""

    mass: FloatArray  # (R, K) sum of sample weights in each cluster
    previous: Weights
    table: Description


class Reduction(Protocol[Result]):
    """A computation over all rows: one result a block, then one result of them all, in order."""

    def on_block(self, block: Block) -> Result:
        """Return the part of one block."""

    def merge(self, parts: Iterable[Result]) -> Result:
        """Put the parts together, in the order of the blocks."""


class Source(Protocol):
    """Where the rows live."""

    @property
    def rows(self) -> RowArray: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def sample_weight(self) -> FloatArray | None: ...
    @property
    def keeps_labels(self) -> bool: ...

    def reduce(self, reduction: Reduction[Result]) -> Result:
        """Run a reduction over all rows."""

    def take(self, indices: IntArray) -> RowArray:
        """Return the rows with these indices, in that order."""


class Dissimilarity(Protocol):
    """How far a row is from a center, and which passes over the rows that needs."""

    statistics: tuple[str, ...]

    def accumulation(
        self,
        assignment: Assignment,
        reference: FloatArray | None = None,
        last: LastLabels | None = None,
    ) -> Reduction[Statistics]: ...
    def labelling(self, assignment: Assignment) -> Reduction[tuple[LabelArray, float]]: ...
    def farthest(
        self, assignment: Assignment, eligible: BoolArray
    ) -> Reduction[tuple[FloatArray, IntArray]]: ...
    def distances(self, assignment: Assignment) -> Reduction[RowArray]: ...
    def dispersion(
        self,
        statistics: Statistics,
        assignment: Assignment,
        centers: FloatArray,
        source: Source,
        table: Description,
    ) -> FloatArray: ...


class CenterRule(Protocol):
    """How the center of a cluster follows from its rows."""

    needs: tuple[str, ...]

    def update(
        self, statistics: Statistics, assignment: Assignment, source: Source
    ) -> FloatArray: ...


class WeightRuleProtocol(Protocol):
    """How weights follow from dispersions; derive from ``weighting.WeightRule`` to get defaults."""

    shared: bool
    monotone: bool

    def observe(self, source: Source, table: Description) -> WeightRuleProtocol: ...
    def bind(self, table: Description, n_clusters: int) -> WeightRuleProtocol: ...
    def take(self, starts: IntArray | BoolArray) -> WeightRuleProtocol: ...
    def initial(self, n_starts: int, n_clusters: int, table: Description) -> Weights: ...
    def normalize(self, values: FloatArray, table: Description) -> FloatArray: ...
    def update(self, dispersion: FloatArray, context: WeightContext) -> FloatArray | Weights: ...
    def effective(self, weights: Weights) -> Effective: ...
    def offsets(self, weights: Weights) -> FloatArray: ...
    def objective(
        self, weighted_dispersion: FloatArray, weights: Weights, context: WeightContext
    ) -> FloatArray: ...
    def yardstick(
        self, weighted_dispersion: FloatArray, weights: Weights, context: WeightContext
    ) -> FloatArray: ...
