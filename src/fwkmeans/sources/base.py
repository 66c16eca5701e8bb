"""What all sources share: how a reduction runs over the blocks, and how its parts are joined."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fwkmeans._core import OPERATIONS
from fwkmeans._support.copies import copied
from fwkmeans._tabular.layout import Layout
from fwkmeans.typing import (
    Block,
    BlockReduction,
    FloatArray,
    Part,
    Reduction,
    RowArray,
    RowMemory,
    Whole,
)


class _Nothing:
    """The part of a block without rows: the class itself, the same in every process."""


_NOTHING: Any = _Nothing
BYTES_A_ROW = 12  # the label and two bounds of a start


class BlockSource(ABC):
    """An ordered set of blocks, each with its row memory. A source never changes.

    A subclass says what its blocks are. If they are elsewhere (in other processes or on other
    machines), it also replaces `_on_all_blocks` and calls `on_block` where they are.

    Attributes
    ----------
    layout : Layout
        Which features are numeric and which are categorical.
    gaps, stretch : bool
        Whether cells are missing (NaN, or level -1), so that they add nothing to any sum; and
        whether the dissimilarities of their rows are multiplied by all / observed features. The
        sample weights must have been multiplied already; see `fwkmeans.sources.weigh_gaps`.
    resident : bool
        Whether the rows are in the memory of this process, so that row memory costs little.
    remembers : bool
        Whether row memory may have some numbers for each row, although the rows are elsewhere:
        labels, and bounds of distances that tell which rows need not be read again.
    operations : frozenset of str
        The operations that the kernels of this kind of block offer.
    sparse : bool
        Whether the rows of a block are `SparseRows`, which are best not made dense.
    on_device, streams : bool
        Whether the rows are on a device, or are sent there block by block.
    """

    layout: Layout
    n_threads: int
    gaps: bool = False
    stretch: bool = False
    resident: bool = False
    remembers: bool = False
    operations: frozenset[str] = OPERATIONS
    sparse: bool = False
    on_device: bool = False
    streams: bool = False
    _memory: Sequence[RowMemory] | None = None  # one per block; None means all are empty

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def n_blocks(self) -> int:
        """Number of blocks, at least one."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Floating-point type of the computations on the rows."""

    @abstractmethod
    def blocks(self) -> Iterable[Block]:
        """Return the blocks in the order of the rows."""

    @abstractmethod
    def mapped(self, transform: Callable[[RowArray], RowArray]) -> Self:
        """Return the source with a function applied to the numbers of each block."""

    @property
    def n_features(self) -> int:
        """Number of columns, numeric and categorical."""
        return self.layout.n_features

    def run(self, reduction: Reduction[Part, Whole]) -> tuple[Whole, Self]:
        """Return the result of a reduction, and the source with the new row memory."""
        memories: list[RowMemory] = []

        def parts() -> Iterator[Part]:
            for part, memory in self._on_all_blocks(reduction):
                memories.append(memory)
                yield part

        whole = reduction.finish(join_in_tree(parts(), reduction.join))
        return whole, self._with(_memory=tuple(memories))

    def reduce(self, reduction: Reduction[Part, Whole]) -> Whole:
        """Return the result of a reduction; the new row memory is dropped."""
        hooks = reduction.hooks

        def parts() -> Iterator[Part]:
            for part, _ in self._on_all_blocks(reduction):
                yield part
                if hooks.may_end_early and part is not _NOTHING and hooks.enough(part):
                    return  # what follows would change nothing

        return reduction.finish(join_in_tree(parts(), reduction.join))

    def gather(self, name: str, axis: int = 0) -> NDArray[Any]:
        """Return what row memory has under a name, for all blocks in the order of the rows."""
        kept = [memory[name] for memory in self._memory or () if memory]
        return kept[0] if len(kept) == 1 else np.concatenate(kept, axis=axis)

    def forget(self, name: str) -> Self:
        """Return the source without what row memory has under this name."""
        memories = ({k: v for k, v in m.items() if k != name} for m in self._memory or ())
        return self._with(_memory=tuple(memories) or None)

    def most_starts(self, part_bytes: int) -> int:
        """Return how many starts may have labels and bounds in row memory at a time.

        They take at most half the memory of the rows, or are those of one start. `part_bytes` is
        about the size of the part of a block for one start.
        """
        return max(1, self.n_features * self.dtype.itemsize // 2 // BYTES_A_ROW)

    @contextmanager
    def in_place(self, part_bytes: int) -> Iterator[Self]:
        """Yield the source for a loop, in which `run` may change row memory in place.

        Inside, only the source that the last call of `run` has returned may be used. `part_bytes`
        is about the size of the part of a block.
        """
        yield self

    def with_weights(self, sample_weight: FloatArray | None, n_threads: int) -> Self:
        """Return the source with other weights in row memory (None: its own) and threads."""
        source = self._with(n_threads=n_threads)
        return source if sample_weight is None else source.run(_PutWeights(sample_weight))[1]

    def with_gaps(self, *, stretch: bool) -> Self:
        """Return the source in which missing cells are left out of every sum."""
        return self._with(gaps=True, stretch=stretch)

    def _on_all_blocks(self, reduction: Reduction[Part, Any]) -> Iterator[tuple[Part, RowMemory]]:
        """Yield the part of each block and its new row memory, in order."""
        memories = self._memory or ({},) * self.n_blocks
        for block, memory in zip(self.blocks(), memories, strict=True):
            yield on_block(reduction, block, memory)

    def _with(self, **changes: Any) -> Self:
        """Return a copy with other attributes; arrays are shared."""
        changed = copied(self)
        changed.__dict__.update(changes)
        return changed


@dataclass(frozen=True)
class _PutWeights(BlockReduction[None]):
    """Put sample weights beside the blocks."""

    needs_rows = False

    sample_weight: FloatArray

    def on_block(self, block: Block, memory: RowMemory) -> tuple[None, RowMemory]:
        weight = self.sample_weight[block.first_row : block.first_row + len(block.rows)]
        return None, {**memory, "weight": weight}


def on_block(
    reduction: Reduction[Part, Any], block: Block, memory: RowMemory
) -> tuple[Part, RowMemory]:
    """Return the part of a block and its new row memory. A block without rows has no part."""
    if not len(block.rows):
        return _NOTHING, {}
    return reduction.on_block(as_weighted(block, memory), memory)


def as_weighted(block: Block, memory: RowMemory) -> Block:
    """Return a block as reductions see it.

    Sample weights in row memory replace those of the block, and rows that are not ``left`` have no
    weight.
    """
    if "weight" in memory:
        block = block._replace(sample_weight=memory["weight"])
    if "left" in memory:
        left, own = memory["left"], block.sample_weight
        weight = left.astype(np.float64) if own is None else np.where(left, own, 0.0)
        block = block._replace(sample_weight=weight)
    return block


def join_in_tree(parts: Iterable[Part], join: Callable[[Part, Part], Part]) -> Part:
    """Join neighbors, then neighboring pairs, and so on.

    The tree depends only on the number of parts. At most as many parts as its depth are in memory.

    Examples
    --------
    >>> from fwkmeans.sources.base import join_in_tree
    >>> join_in_tree("abcdefg", lambda a, b: f"({a}{b})")
    '(((ab)(cd))((ef)g))'
    """
    numbered = enumerate(part for part in parts if part is not _NOTHING)
    return join_rest(join_neighbors(((at, 1, part) for at, part in numbered), join), join)


def join_neighbors(
    parts: Iterable[tuple[int, int, Part]], join: Callable[[Part, Part], Part]
) -> list[tuple[int, int, Part]]:
    """Join what the tree of `join_in_tree` joins, as far as it is there.

    A part comes with the number of its first block and how many blocks it is of, a power of two.
    Parts are given in the order of their blocks, of which some may be elsewhere.

    Examples
    --------
    >>> from fwkmeans.sources.base import join_neighbors
    >>> join_neighbors([(0, 1, "a"), (1, 1, "b"), (3, 1, "d"), (4, 1, "e")], "{}{}".format)
    [(0, 2, 'ab'), (3, 1, 'd'), (4, 1, 'e')]
    """
    pending: list[tuple[int, int, Part]] = []
    for first, size, joined in parts:
        while pending and pending[-1][:2] == (first - size, size) and first % (2 * size) == size:
            joined = join(pending.pop()[2], joined)
            first, size = first - size, 2 * size
        pending.append((first, size, joined))
    return pending


def join_rest(parts: Sequence[tuple[int, int, Part]], join: Callable[[Part, Part], Part]) -> Part:
    """Join what `join_neighbors` leaves of all blocks, from the last part to the first."""
    *before, (_, _, whole) = parts
    for _, _, part in reversed(before):
        whole = join(part, whole)
    return whole
