"""The words the parts share: array aliases, the records they exchange, and their contracts.

Leading axis ``R`` runs over the starts of a batch, ``K`` over clusters, ``M`` over features, ``P``
over the entries of a center: a number a numeric feature, a frequency a category (see `Layout`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from fwkmeans._tabular.layout import Layout

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
    mean: FloatArray  # (M,) zero for categories
    scatter: FloatArray  # (M,) T_v, dispersion of the whole table about its center
    minimum: FloatArray  # (M,) zero for categories
    maximum: FloatArray  # (M,) one for categories that vary, else zero
    layout: Layout
    center: FloatArray  # (P,) center of the whole table
    gaps: bool = False  # cells are missing
    rescale: bool = False  # assign their rows by the observed share of each cluster's weight

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
    """Some consecutive rows of a table. NaN and negative levels are missing cells."""

    rows: RowArray  # (n, Mn) numeric columns
    sample_weight: FloatArray | None  # (n,)
    first_row: int = 0  # index of the first of them in the whole table
    n_threads: int = 1
    levels: LabelArray | None = None  # (n, Mc) level of each categorical cell
    gaps: bool = False  # cells may be missing
    stretch: bool = False  # dissimilarities are then multiplied by all / observed features


class Pass(NamedTuple):
    """What the kernels assign rows by: ``sum_v w |y - c|^p`` + costs of categories + offset."""

    centers: FloatArray  # (R, K, Mn)
    weights: FloatArray  # (R, K or 1, Mn), effective
    offsets: FloatArray  # (R, K)
    shift: FloatArray  # (Mn,) a point amid the rows, subtracted before products are formed
    power: FloatArray | None = None  # (R,) p; None: 2
    costs: FloatArray | None = None  # (R, K, levels) weighted cost of each category
    category_weights: FloatArray | None = None  # (R, K or 1, Mc), effective
    rescale: bool = False  # rows with missing cells: divide by the observed share of the weight


class Statistics(NamedTuple):
    """What an assignment pass returns instead of labels."""

    mass: FloatArray  # (R, K) sum of sample weights
    rows: IntArray  # (R, K) number of rows with positive sample weight
    sums: FloatArray  # (R, K, Mn) sum of s_i (y_i - reference_k)
    squares: FloatArray  # (R, K, Mn) sum of s_i (y_i - reference_k)^2
    observed: FloatArray  # (R, K, Mn) sum of s_i over cells that are there; (R, K, 1) if all are
    counts: FloatArray  # (R, K, levels) sum of s_i of each category
    fingerprint: IntArray  # (R,) equal for equal labels of all rows with weight
    changed: IntArray  # (R,) rows whose label is not the last one; 0 if nobody keeps those
    reference: FloatArray  # (R, K, Mn) what the sums were taken about
    labels: LabelArray | None = None  # (R, N) if somebody keeps them

    def take(self, starts: IntArray | BoolArray) -> Statistics:
        """Keep only these starts."""
        parts: tuple[Any, ...] = tuple(None if part is None else part[starts] for part in self)
        return Statistics(*parts)


class Assignment(NamedTuple):
    """All that decides the labels of each start."""

    centers: FloatArray  # (R, K, P)
    weights: FloatArray  # (R, K, M), or (R, 1, M) if shared by all; largest in [1/2, 1)
    offsets: FloatArray  # (R, K), in units of `scale`
    scale: FloatArray  # (R,) the objective's weights are scale x weights

    def take(self, starts: IntArray | BoolArray) -> Assignment:
        """Keep only these starts."""
        return Assignment(*(part[starts] for part in self))


class LastLabels(NamedTuple):
    """Labels of the last pass, which the next one replaces; `update` starts sum only changes."""

    labels: LabelArray  # (R, N)
    update: BoolArray  # (R,)

    @classmethod
    def of_one_start(cls, n_rows: int) -> LastLabels:
        """Return room for the labels of one start, of which nothing is known yet."""
        return cls(np.zeros((1, n_rows), np.int32), np.zeros(1, np.bool_))


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
    def layout(self) -> Layout: ...
    @property
    def gaps(self) -> bool: ...
    @property
    def stretch(self) -> bool: ...
    @property
    def keeps_labels(self) -> bool: ...

    def blocks(self) -> Iterable[Block]:
        """Return the rows, block by block."""

    def reduce(self, reduction: Reduction[Result]) -> Result:
        """Run a reduction over all rows."""

    def take(self, indices: IntArray) -> RowArray:
        """Return the numbers of the rows with these indices, in that order."""

    def take_levels(self, indices: IntArray) -> LabelArray:
        """Return the levels of the categories of the rows with these indices."""

    def reweighted(
        self,
        sample_weight: FloatArray | None,
        *,
        gaps: bool | None = None,
        stretch: bool | None = None,
    ) -> Source:
        """Return the same rows with other weights, and maybe with other words about gaps."""


class Dissimilarity(Protocol):
    """How far a row is from a center, and which passes over the rows that needs."""

    statistics: tuple[str, ...]

    @property
    def needs_labels(self) -> bool: ...
    def bind(self, table: Description) -> Self: ...
    def combine(self, weights: FloatArray, dispersion: FloatArray) -> FloatArray: ...
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
    def rounding(self, rows: FloatArray, assignment: Assignment) -> FloatArray: ...
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

    @property
    def unique(self) -> bool: ...
    def bind(self, table: Description) -> Self: ...
    def minimises(self, dissimilarity: Dissimilarity) -> bool: ...
    def update(
        self, statistics: Statistics, assignment: Assignment, source: Source
    ) -> FloatArray: ...


class WeightRuleProtocol(Protocol):
    """How weights follow from dispersions; derive from ``weighting.WeightRule`` to get defaults."""

    shared: bool
    monotone: bool
    memoryless: bool

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
