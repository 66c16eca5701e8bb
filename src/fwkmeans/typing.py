"""The words the parts share: array aliases, the records they exchange, and their contracts.

Leading axis ``R`` runs over the starts of a batch, ``K`` over clusters, ``M`` over features, ``P``
over the entries of a center: a number a numeric feature, a frequency a category (see `Layout`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import get_annotations
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from fwkmeans._tabular.layout import Layout

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
LabelArray: TypeAlias = NDArray[np.int32]
BoolArray: TypeAlias = NDArray[np.bool_]
RowArray: TypeAlias = NDArray[Any]  # rows of a table: float32 or float64

Part = TypeVar("Part")
Whole = TypeVar("Whole", covariant=True)


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


#: What is kept beside a block, by name; one axis is the rows. Never changed in place.
RowMemory: TypeAlias = Mapping[str, NDArray[Any]]


class Block(NamedTuple):
    """Some consecutive rows of a table. NaN and negative levels are missing cells."""

    rows: RowArray  # (n, Mn) numeric columns
    sample_weight: FloatArray | None  # (n,)
    first_row: int = 0  # index of the first of them in the whole table
    n_threads: int = 1
    levels: LabelArray | None = None  # (n, Mc) level of each categorical cell
    gaps: bool = False  # cells may be missing
    stretch: bool = False  # dissimilarities are then multiplied by all / observed features


class Entities(NamedTuple):
    """Single rows of a table, copied: what a reduction hands back instead of their indices."""

    numbers: FloatArray  # (n, Mn)
    levels: LabelArray  # (n, Mc)

    def take(self, which: IntArray) -> Entities:
        """Return some of them, in this order."""
        return Entities(self.numbers[which], self.levels[which])


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
    """What an assignment pass returns instead of labels: sums that can be added and moved."""

    mass: FloatArray  # (R, K) sum of sample weights
    rows: IntArray  # (R, K) number of rows with positive sample weight
    sums: FloatArray  # (R, K, Mn) sum of s_i (y_i - reference_k)
    squares: FloatArray  # (R, K, Mn) sum of s_i (y_i - reference_k)^2
    cells: FloatArray | None  # (R, K, Mn) sum of s_i over cells that are there; None if all are
    counts: FloatArray  # (R, K, levels) sum of s_i of each category
    fingerprint: IntArray  # (R,) equal for equal labels of all rows with weight
    changed: IntArray  # (R,) rows whose label is not the last one; 0 if nobody keeps those
    reference: FloatArray  # (R, K, Mn) what the sums were taken about

    @property
    def observed(self) -> FloatArray:
        """Mass of the cells that are there: (R, K, Mn), or (R, K, 1) if all are."""
        return self.mass[..., None] if self.cells is None else self.cells

    def plus(self, other: Statistics) -> Statistics:
        """Return the statistics of both sets of rows, about the same reference."""
        pairs: Any = zip(self[:-1], other[:-1], strict=True)
        sums: list[Any] = [None if a is None else a + b for a, b in pairs]
        return Statistics._make([*sums, self.reference])

    def scaled(self, factor: float) -> Statistics:
        """Return the statistics of rows whose sample weights are multiplied by a factor > 0."""
        return self._replace(
            mass=factor * self.mass,
            sums=factor * self.sums,
            squares=factor * self.squares,
            cells=None if self.cells is None else factor * self.cells,
            counts=factor * self.counts,
        )

    def about(self, reference: FloatArray) -> Statistics:
        """Return the same sums about another reference."""
        step = self.reference - reference
        return self._replace(
            sums=self.sums + self.observed * step,
            squares=self.squares + (2.0 * self.sums + self.observed * step) * step,
            reference=np.array(np.broadcast_to(reference, self.reference.shape)),
        )

    def take(self, starts: IntArray | BoolArray) -> Statistics:
        """Keep only these starts."""
        return Statistics._make(None if part is None else part[starts] for part in self)

    def put(self, starts: IntArray | BoolArray, part: Statistics) -> Statistics:
        """Return the statistics with those of some starts replaced."""
        wholes: list[Any] = [None if whole is None else whole.copy() for whole in self]
        for whole, some in zip(wholes, part, strict=True):
            if whole is not None:
                whole[starts] = some
        return Statistics._make(wholes)


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
    """Labels of the last pass, which a kernel replaces; `update` starts sum only changes."""

    labels: LabelArray  # (R, n)
    update: BoolArray  # (R,)


class KeptLabels(NamedTuple):
    """Which of the labels in row memory belong to the starts of a pass, which replaces them."""

    kept: IntArray  # (R',) places of the starts of the batch among them, if there are any yet
    update: BoolArray  # (R,) starts of the pass that sum only the rows that change
    starts: IntArray | None = None  # (R,) starts of the batch that the pass is about; None: all

    @classmethod
    def new(cls, n_starts: int) -> KeptLabels:
        """Return what keeps the labels of so many starts, none of which are known yet."""
        return cls(np.arange(n_starts), np.zeros(n_starts, dtype=np.bool_))


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


class Reduction(Protocol[Part, Whole]):
    """A computation over all rows: a small value that can be pickled and never changes.

    It may run in another process, in any order of blocks, and twice on the same block.
    """

    def on_block(self, block: Block, memory: RowMemory) -> tuple[Part, RowMemory]:
        """Return the part of one block, and what is kept beside it from now on."""

    def join(self, before: Part, after: Part) -> Part:
        """Put two neighboring parts together; associative up to rounding."""

    def finish(self, whole: Part) -> Whole:
        """Return the result from all parts together."""


class Source(Protocol):
    """Where the rows live: an ordered set of blocks, with what is kept beside them.

    A source is a value: nothing changes it, `run` returns the one that follows.
    """

    @property
    def n_rows(self) -> int: ...
    @property
    def n_blocks(self) -> int: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def gaps(self) -> bool: ...
    @property
    def stretch(self) -> bool: ...
    @property
    def resident(self) -> bool: ...
    @property
    def operations(self) -> frozenset[str]: ...

    def run(self, reduction: Reduction[Any, Whole]) -> tuple[Whole, Self]:
        """Return the result of a reduction, and the source with the row memory it leaves."""

    def reduce(self, reduction: Reduction[Any, Whole]) -> Whole:
        """Return the result of a reduction, and forget the row memory it leaves."""

    def gather(self, name: str, axis: int = 0) -> NDArray[Any]:
        """Return what is kept under a name beside all blocks, in the order of the rows."""

    def forget(self, name: str) -> Self:
        """Return the source without what is kept under this name."""

    def with_gaps(self, *, stretch: bool) -> Self:
        """Return the source in which missing cells are left out of every sum."""

    def mapped(self, transform: Callable[[RowArray], RowArray]) -> Self:
        """Return the source of what a function makes of the numbers of each block."""


def get_protocol_members(protocol: type) -> set[str]:
    """Return the names that a part must have (what `typing.get_protocol_members` is from 3.13)."""
    return {
        name
        for cls in protocol.__mro__[:-1]
        if cls not in (Protocol, Generic)
        for name in (*vars(cls), *get_annotations(cls))
        if not name.startswith("_")
    }


class Dissimilarity(Protocol):
    """How far a row is from a center, and which passes over the rows that needs."""

    @property
    def needs_labels(self) -> bool: ...
    @property
    def descends(self) -> bool: ...
    @property
    def operations(self) -> tuple[str, ...]: ...
    def bind(self, table: Description) -> Self: ...
    def combine(self, weights: FloatArray, dispersion: FloatArray) -> FloatArray: ...
    def accumulation(
        self,
        assignment: Assignment,
        reference: FloatArray | None = None,
        labels: KeptLabels | None = None,
    ) -> Reduction[Any, Statistics]: ...
    def labeling(self, assignment: Assignment) -> Reduction[Any, tuple[float, FloatArray]]: ...
    def farthest(
        self, assignment: Assignment, eligible: BoolArray
    ) -> Reduction[Any, tuple[FloatArray, Entities]]: ...
    def distances(self, assignment: Assignment) -> Reduction[Any, None]: ...
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

    @property
    def is_mean(self) -> bool: ...
    @property
    def operations(self) -> tuple[str, ...]: ...
    @property
    def unique(self) -> bool: ...
    def bind(self, table: Description) -> Self: ...
    def minimizes(self, dissimilarity: Dissimilarity) -> bool: ...
    def update(
        self, statistics: Statistics, assignment: Assignment, source: Source
    ) -> FloatArray: ...


class WeightRuleProtocol(Protocol):
    """How weights follow from dispersions; derive from ``weighting.WeightRule`` to get defaults."""

    shared: bool
    monotone: bool
    memoryless: bool
    operations: tuple[str, ...]

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
