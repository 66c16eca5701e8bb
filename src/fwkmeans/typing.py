"""What all parts share: aliases of arrays, the records that parts exchange, and their protocols.

In the shapes of arrays, ``R`` is the number of starts in a batch, ``K`` that of clusters, ``M``
that of features (``Mn`` numeric and ``Mc`` categorical ones), and ``P`` that of the entries of a
center: one number per numeric feature and one frequency per category (see `Layout`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from inspect import get_annotations
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from fwkmeans._tabular.layout import Layout

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
LabelArray: TypeAlias = NDArray[np.int32]
BoolArray: TypeAlias = NDArray[np.bool_]
RowArray: TypeAlias = NDArray[Any]  # rows of a table: float32 or float64

Part = TypeVar("Part")
Shared = TypeVar("Shared")
Whole = TypeVar("Whole", covariant=True)


class _Described(NamedTuple):
    n_rows: int
    mass: float  # sum of the sample weights
    mean: FloatArray  # (M,) zero for categories
    scatter: FloatArray  # (M,) T_v, dispersion of the whole table about its center
    minimum: FloatArray  # (M,) zero for categories
    maximum: FloatArray  # (M,) one for categorical features that vary, zero for the others
    layout: Layout
    center: FloatArray  # (P,) center of the whole table; (R, P) if each start has its own
    gaps: bool = False  # whether cells are missing
    rescale: bool = False  # whether such rows are assigned by the observed share of the weights
    category_scale: FloatArray | None = None  # (Mc,) factor of their dissimilarities; None: all 1


class Description(_Described):
    """What one pass over the table finds out about each feature; only rows with weight count."""

    def take(self, starts: IntArray | BoolArray) -> Description:
        """Return the description for only these starts of the batch."""
        return self if self.center.ndim == 1 else self._replace(center=self.center[starts])

    # computed once for each description: fits of small tables would ask for them often

    @cached_property
    def varying(self) -> BoolArray:
        """Features that can have weight: those that are not constant (all, if all are constant)."""
        varying = self.maximum > self.minimum
        return _read_only(varying if varying.any() else np.ones_like(varying))

    @cached_property
    def span(self) -> FloatArray:
        """Range of each feature."""
        return _read_only(self.maximum - self.minimum)

    @cached_property
    def magnitude(self) -> FloatArray:
        """Largest absolute value of each feature; rounding errors are relative to it."""
        return _read_only(np.maximum(np.abs(self.minimum), np.abs(self.maximum)))

    @cached_property
    def n_varying(self) -> int:
        """Number of features that can have weight."""
        return int(np.count_nonzero(self.varying))

    @cached_property
    def equal_weights(self) -> FloatArray:
        """Equal weights of the features that can have weight; their sum is one."""
        return _read_only(self.varying / float(self.n_varying))

    @cached_property
    def span_range(self) -> tuple[float, float]:
        """Smallest and largest range of a feature."""
        return float(self.span.min()), float(self.span.max())

    @cached_property
    def scatter_range(self) -> tuple[float, float]:
        """Smallest and largest scatter of a feature."""
        return float(self.scatter.min()), float(self.scatter.max())

    @cached_property
    def total_scatter(self) -> float:
        """Sum of the scatter of all features."""
        return float(np.add.reduce(self.scatter))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


#: Arrays that are kept with a block, by name; one axis is the rows. Never changed in place.
RowMemory: TypeAlias = Mapping[str, NDArray[Any]]


class Block(NamedTuple):
    """Some consecutive rows of a table; NaN and negative levels are missing cells."""

    rows: RowArray  # (n, Mn) numeric columns
    sample_weight: FloatArray | None  # (n,)
    first_row: int = 0  # index of the first row in the whole table
    n_threads: int = 1
    levels: LabelArray | None = None  # (n, Mc) level of each categorical cell
    gaps: bool = False  # whether cells may be missing
    stretch: bool = False  # whether their dissimilarities are multiplied by all / observed features


class Entities(NamedTuple):
    """Copies of single rows of a table; a reduction returns them instead of indices."""

    numbers: FloatArray  # (n, Mn)
    levels: LabelArray  # (n, Mc)

    def take(self, which: IntArray) -> Entities:
        """Return some of them, in this order."""
        return Entities(self.numbers[which], self.levels[which])

    def plus(self, other: Entities) -> Entities:
        """Return these and then the others."""
        return Entities(
            np.concatenate([self.numbers, other.numbers]),
            np.concatenate([self.levels, other.levels]),
        )


class Pass(NamedTuple):
    """What kernels need to assign rows: ``sum_v w |y - c|^p`` + costs of categories + offset."""

    centers: FloatArray  # (R, K, Mn)
    weights: FloatArray  # (R, K or 1, Mn), effective
    offsets: FloatArray  # (R, K)
    shift: FloatArray  # (Mn,) a point among the rows, subtracted before products are formed
    power: FloatArray | None = None  # (R,) p; None means 2
    costs: FloatArray | None = None  # (R, K, levels) weighted cost of each category
    category_weights: FloatArray | None = None  # (R, K or 1, Mc), effective
    rescale: bool = False  # whether to divide by the observed share of the weight


class Statistics(NamedTuple):
    """The sums that an assignment pass returns for each cluster; they can be added and moved."""

    mass: FloatArray  # (R, K) sum of sample weights
    rows: IntArray  # (R, K) number of rows with positive sample weight
    sums: FloatArray  # (R, K, Mn) sum of s_i (y_i - reference_k)
    squares: FloatArray  # (R, K, Mn) sum of s_i (y_i - reference_k)^2
    cells: FloatArray | None  # (R, K, Mn) sum of s_i over observed cells; None if none is missing
    counts: FloatArray  # (R, K, levels) sum of s_i of each category
    fingerprint: IntArray  # (R,) equal if all rows with weight have equal labels
    changed: IntArray  # (R,) rows whose label has changed; 0 if the last labels are not kept
    reference: FloatArray  # (R, K, Mn) the points that were subtracted before summing

    @property
    def observed(self) -> FloatArray:
        """Mass of the observed cells: (R, K, Mn), or (R, K, 1) if none is missing."""
        return self.mass[..., None] if self.cells is None else self.cells

    def plus(self, other: Statistics) -> Statistics:
        """Return the statistics of both sets of rows.

        If their references differ, those of the sum are the means of all rows together.
        """
        here, there = self, other
        if here.reference is not there.reference and not np.array_equal(
            here.reference, there.reference
        ):
            mean = _common_mean(here, there)
            here, there = here.about(mean), there.about(mean)
        pairs: Any = zip(here[:-1], there[:-1], strict=True)
        sums: list[Any] = [None if a is None else a + b for a, b in pairs]
        return Statistics._make([*sums, here.reference])

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

    def take(self, starts: IntArray | BoolArray | slice) -> Statistics:
        """Keep only these starts."""
        return Statistics._make(None if part is None else part[starts] for part in self)

    def put(self, starts: IntArray | BoolArray, part: Statistics) -> Statistics:
        """Return the statistics with those of some starts replaced."""
        wholes: list[Any] = [None if whole is None else whole.copy() for whole in self]
        for whole, some in zip(wholes, part, strict=True):
            if whole is not None:
                whole[starts] = some
        return Statistics._make(wholes)


def _common_mean(a: Statistics, b: Statistics) -> FloatArray:
    """Return the means of both sets of rows together; without rows, the reference of the first."""
    mass = a.observed + b.observed
    step = b.reference - a.reference  # relative to one of them, so that far means keep their digits
    moved = a.sums + b.sums + b.observed * step
    return a.reference + np.divide(moved, mass, out=np.zeros_like(moved), where=mass > 0)


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
    """Labels of the last pass, which a kernel replaces; in `update` starts it sums only changes."""

    labels: LabelArray  # (R, n)
    update: BoolArray  # (R,)


class KnownRows(NamedTuple):
    """What row memory has of the starts of a pass: labels and, beside them, bounds of distances."""

    span: FloatArray  # (Mn,) range of each feature, which is the unit of the bounds
    last: Pass | None  # the last pass, for which the bounds hold
    kept: IntArray  # (R,) index of each start among those that follow
    labels: LabelArray  # (R', n)
    upper: NDArray[np.float32] | None  # (R', n) of the distance to the own center; None: unknown
    lower: NDArray[np.float32] | None  # (R', n) of that to any other
    new_upper: NDArray[np.float32]  # (R, n) which the kernel fills
    new_lower: NDArray[np.float32]


class KeptLabels(NamedTuple):
    """Where row memory has the labels of the starts of a pass; the pass replaces them."""

    kept: IntArray  # (R',) index of each start of the batch among the labels kept, if there are any
    update: BoolArray  # (R,) whether a start of the pass sums only the rows that change
    starts: IntArray | None = None  # (R,) the starts of the batch in this pass; None means all

    @classmethod
    def new(cls, n_starts: int) -> KeptLabels:
        """Return the record for a first pass, before any labels are known."""
        return cls(np.arange(n_starts), np.zeros(n_starts, dtype=np.bool_))


class Weights(NamedTuple):
    """Feature weights of a batch of starts, and arrays that their rule wants to remember."""

    values: FloatArray  # (R, K, M)
    memory: Mapping[str, FloatArray] = {}  # each with leading axis R

    def take(self, starts: IntArray | BoolArray) -> Weights:
        """Keep only these starts."""
        return Weights(self.values[starts], {key: m[starts] for key, m in self.memory.items()})


class Effective(NamedTuple):
    """Weights as they multiply the dissimilarity: scale x values, separate to avoid underflow."""

    values: FloatArray  # (R, K, M) or (R, 1, M)
    scale: FloatArray  # (R,)


class WeightContext(NamedTuple):
    """What a weight rule can use besides the dispersion."""

    mass: FloatArray  # (R, K) sum of sample weights in each cluster
    previous: Weights
    table: Description


class CoreRule(NamedTuple):
    """A weight rule as the compiled core knows it; the fields are those of ``rules.hpp``."""

    # 0 fixed, 1 entropy, 2 shared powers, 3 powers of each cluster, 4 self-adjusting,
    # 5 entropy of groups
    kind: int
    smoothing: int  # of powers of each cluster: 0 a number, 1 frozen, 2 refreshed, 3 inside
    shared: bool
    monotone: bool
    memoryless: bool
    option: bool  # fixed: uniform; entropies: mean dispersions; self-adjusting: safeguard
    parameter: Any = 0.0  # gamma, beta or eta: a number, or one per start
    second: Any = 0.0  # lambda of groups, likewise
    groups: IntArray | None = None  # (M,) number of each feature's group


class Labeled(NamedTuple):
    """All rows, labeled by the public centers and weights of one start."""

    start: int
    labels: LabelArray  # (n,)
    total: FloatArray  # (1,) sum of dissimilarities and offsets, in the unit of the objective
    mass: FloatArray  # (K,)


class CoreOutcome(NamedTuple):
    """How the starts of a batch ended; see `fwkmeans._engine.loop.Outcome`."""

    objective: FloatArray
    history: FloatArray
    n_iter: IntArray
    converged: BoolArray
    has_empty: BoolArray
    given_up: BoolArray  # sums of such a start overflow: the loop in Python says how it ends
    labeled: Labeled | None = None


class ReductionHooks:
    """What a reduction may offer besides, each with what it means not to."""

    #: Whether the cells of rows are asked for, and not only their numbers and weights.
    needs_rows: ClassVar[bool] = True
    #: Whether some parts may give the result; `enough` tells whether those up to this one do.
    may_end_early: ClassVar[bool] = False

    @property
    def hooks(self) -> Self:
        """The reduction itself, for whoever asks for its hooks."""
        return self

    def enough(self, part: Any) -> bool:
        """Tell whether the parts up to this one give the result."""
        return False

    def changing_in_place(self) -> Any:
        """Return the reduction that may change row memory, itself if it never does."""
        return self

    def on_blocks(
        self, blocks: Sequence[Block], memories: Sequence[RowMemory], n_threads: int
    ) -> tuple[Any, list[RowMemory]] | None:
        """Do `on_block` for several blocks in one call of the core; None if that cannot be done."""
        return None

    def statistics_of(self, numbers: Any) -> Any:
        """Return the part that has the numbers of `on_blocks`."""
        raise TypeError(f"{type(self).__name__} has no parts that are rows of numbers.")

    def anew(self) -> Any:
        """Return the reduction that leaves the same row memory, whatever was there; None: none."""
        return None


class Reduction(Protocol[Part, Whole]):
    """A computation over all rows: a small immutable value that can be pickled.

    It may run in another process, on the blocks in any order, and twice on the same block. It
    derives from `ReductionHooks`, by which it may save a source work, or from `BlockReduction`.
    """

    @property
    def hooks(self) -> ReductionHooks: ...

    def on_block(self, block: Block, memory: RowMemory) -> tuple[Part, RowMemory]:
        """Return the part of one block, and its new row memory."""

    def join(self, before: Part, after: Part) -> Part:
        """Combine the parts of two neighbors; associative up to rounding."""

    def finish(self, whole: Part) -> Whole:
        """Return the result, given the parts of all blocks joined."""


class BlockReduction(ReductionHooks, Generic[Shared]):
    """A base for reductions whose parts, joined, are the result.

    A reduction that only leaves something in row memory has None as its part, and nothing to join.
    """

    def join(self, before: Shared, after: Shared) -> Shared:
        """Put two neighboring parts together."""
        return before

    def finish(self, whole: Shared) -> Shared:
        """Return all parts together."""
        return whole


class Source(Protocol):
    """Where the rows are: an ordered set of blocks, each with its row memory.

    A source never changes; `run` returns a new one. Only inside of `in_place` the old one is void.
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
    def remembers(self) -> bool: ...
    @property
    def operations(self) -> frozenset[str]: ...
    @property
    def sparse(self) -> bool: ...
    @property
    def on_device(self) -> bool: ...
    @property
    def streams(self) -> bool: ...

    def run(self, reduction: Reduction[Any, Whole]) -> tuple[Whole, Self]:
        """Return the result of a reduction, and the source with the new row memory."""

    def reduce(self, reduction: Reduction[Any, Whole]) -> Whole:
        """Return the result of a reduction; the new row memory is dropped."""

    def gather(self, name: str, axis: int = 0) -> NDArray[Any]:
        """Return what row memory has under a name, for all blocks in the order of the rows."""

    def forget(self, name: str) -> Self:
        """Return the source without what row memory has under this name."""

    def with_gaps(self, *, stretch: bool) -> Self:
        """Return the source in which missing cells are left out of every sum."""

    def mapped(self, transform: Callable[[RowArray], RowArray]) -> Self:
        """Return the source with a function applied to the numbers of each block."""

    def most_starts(self, part_bytes: int) -> int:
        """Return how many starts may have labels and bounds in row memory at a time."""

    def in_place(self, part_bytes: int) -> AbstractContextManager[Self]:
        """Return the source for a loop, in which `run` may change row memory in place."""


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
    """How far a row is from a center, and the passes over the rows that compute it."""

    @property
    def needs_labels(self) -> bool: ...
    @property
    def descends(self) -> bool: ...
    @property
    def operations(self) -> tuple[str, ...]: ...
    def bind(self, table: Description) -> Self: ...
    def take(self, starts: IntArray | BoolArray) -> Self: ...
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
    def unique(self) -> bool | BoolArray: ...
    def bind(self, table: Description) -> Self: ...
    def take(self, starts: IntArray | BoolArray) -> Self: ...
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
    def tolerance_scale(
        self, weighted_dispersion: FloatArray, weights: Weights, context: WeightContext
    ) -> FloatArray: ...
