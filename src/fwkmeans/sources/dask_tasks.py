"""What the workers of a Dask cluster do with blocks, in tasks and for actors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple

from dask.sizeof import sizeof

from fwkmeans._core.packed import Numbers
from fwkmeans._core.sparse import SparseRows
from fwkmeans.sources.base import join_neighbors, join_rest, on_block
from fwkmeans.sources.memory import in_whole_steps
from fwkmeans.typing import (
    Block,
    BlockReduction,
    FloatArray,
    LabelArray,
    Reduction,
    RowArray,
    RowMemory,
)

sizeof.register(SparseRows, lambda rows: sum(array.nbytes for array in rows.arrays()))


class Cells(NamedTuple):
    """The rows of a block that has categories."""

    rows: RowArray
    levels: LabelArray


@dataclass(frozen=True)
class Sight:
    """How reductions see the blocks; no named tuple, into which Dask would look."""

    n_threads: int
    gaps: bool
    stretch: bool

    def block(self, cells: Any, weight: FloatArray | None, first_row: int) -> Block:
        """Return rows and weights as a block."""
        numbers, levels = cells if isinstance(cells, Cells) else (cells, None)
        numbers, weight, levels = map(_aligned, (numbers, weight, levels))
        return Block(numbers, weight, first_row, self.n_threads, levels, self.gaps, self.stretch)


@dataclass(frozen=True)
class Job:
    """What tasks do with blocks."""

    reduction: Reduction[Any, Any]
    sight: Sight


class Memories:
    """The row memory of some blocks, and the parts that the same task has found."""

    def __init__(self, memories: list[RowMemory], parts: Parts) -> None:
        self.memories, self.parts = memories, parts

    def __sizeof__(self) -> int:
        """Return the bytes; Dask asks."""
        return 1000 + sum(array.nbytes for memory in self.memories for array in memory.values())


class Parts:
    """Parts as `join_neighbors` gives them. Dask would take some tuples for tasks."""

    def __init__(self, parts: list[tuple[int, int, Any]]) -> None:
        self.parts = parts


class Sums(NamedTuple):
    """Parts as `join_neighbors` gives them that are added number by number: each is a row.

    To join the many small arrays of a part would take ten times as long; and a few arrays are sent
    instead of some hundred.
    """

    places: list[tuple[int, int]]  # the first block of each part, and how many blocks it is of
    numbers: Numbers

    @classmethod
    def of_blocks(cls, places: Sequence[int], numbers: Numbers) -> Sums:
        """Join the numbers of some blocks that are neighbors."""
        values = map(numbers.at, range(len(places)))
        *where, rows = zip(*join_values(Numbers.plus, places, values).parts, strict=True)
        return cls(list(zip(*where, strict=True)), Numbers.stack(rows))

    def parts(self) -> Parts:
        """Return the parts one by one."""
        return Parts([(*place, self.numbers.at(row)) for row, place in enumerate(self.places)])


@dataclass(frozen=True)
class Transform:
    """Apply a function to the numbers of a block."""

    function: Callable[[RowArray], RowArray]

    def __call__(self, cells: Any) -> Any:
        """Return the block with other numbers."""
        if isinstance(cells, Cells):
            return cells._replace(rows=self.function(cells.rows))
        return self.function(cells)


@dataclass(frozen=True)
class Forget(BlockReduction[None]):
    """Drop what row memory has under a name."""

    name: str

    def on_block(self, block: Block, memory: RowMemory) -> tuple[None, RowMemory]:
        """Return the rest."""
        return None, {name: kept for name, kept in memory.items() if name != self.name}


class Protect(BlockReduction[None]):
    """Let no pass change the row memory that there is: a source from before a loop has it, too."""

    def on_block(self, block: Block, memory: RowMemory) -> tuple[None, RowMemory]:
        """Return it to be read."""
        return None, {name: read_only(array) for name, array in memory.items()}


def read_only(array: Any) -> Any:
    """Return the array so that no pass changes it: it belongs to a task, which others use."""
    view = array.view()
    view.flags.writeable = False
    return view


def _aligned(array: Any) -> Any:
    """Return an array as the core needs it; those that came from another worker may lie oddly."""
    if isinstance(array, SparseRows):
        values, columns, begins = map(in_whole_steps, (array.values, array.columns, array.begins))
        return SparseRows(values, columns, begins, array.shape[1])
    return array if array is None else in_whole_steps(array)


def memories_at(
    kept: Sequence[Memories], places: Sequence[Sequence[int]], n_blocks: int
) -> list[RowMemory]:
    """Return the row memory of some blocks, at these places: which of `kept`, and where in it.

    That of blocks which are at no place is empty.
    """
    if not places:
        return [{}] * n_blocks
    memories = (kept[which].memories[at] for which, at in places)
    return [{name: _aligned(array) for name, array in one.items()} for one in memories]


def _on_blocks(
    job: Job,
    cells: Sequence[Any],
    weights: Sequence[FloatArray | None],
    first_rows: Sequence[int],
    kept: Sequence[Memories],
    places: Sequence[Sequence[int]],
) -> Iterator[tuple[Any, RowMemory]]:
    """Yield the part of each block and its new row memory."""
    memories = memories_at(kept, places, len(cells))
    blocks = map(job.sight.block, cells, weights, first_rows)
    return map(on_block, repeat(job.reduction), blocks, memories)


def join_values(by: Any, places: Sequence[int], values: Iterable[Any]) -> Parts:
    """Join the values of some blocks that are neighbors; `by` is a function of two, or a job."""
    return Parts(join_neighbors(zip(places, repeat(1), values, strict=False), _join_of(by)))


def join_blocks(job: Job, places: Sequence[int], *blocks: Any) -> Parts:
    """Join the parts of some blocks."""
    return join_values(job, places, (part for part, _ in _on_blocks(job, *blocks)))


def remember_blocks(job: Job, places: Sequence[int], *blocks: Any) -> Memories:
    """Return the new row memory of some blocks, with their parts joined."""
    memories: list[RowMemory] = []

    def parts() -> Iterator[Any]:
        for part, memory in _on_blocks(job, *blocks):
            memories.append(memory)
            yield part

    return Memories(memories, join_values(job, places, parts()))


def parts_of(memories: Memories) -> Parts:
    """Return what comes to the client of the result of `remember_blocks`."""
    return memories.parts


def join_parts(by: Any, several: Sequence[Parts]) -> Parts:
    """Join what is left of several lists of parts, as far as it is neighbors."""
    ordered = sorted((part for parts in several for part in parts.parts), key=_first_block)
    return Parts(join_neighbors(ordered, _join_of(by)))


def joined(join: Callable[[Any, Any], Any], several: Sequence[Parts]) -> Any:
    """Join all that is left: falling powers of two blocks."""
    return join_rest(join_parts(join, several).parts, join)


def joined_of_actors(reduction: Any, several: Sequence[Parts | Sums]) -> Any:
    """Join what actors have returned."""
    sums = [one.parts() for one in several if isinstance(one, Sums)]
    if len(sums) == len(several):
        return reduction.statistics_of(joined(Numbers.plus, sums))
    assert not sums  # kernels of one kind return parts of one kind
    return joined(reduction.join, [one for one in several if isinstance(one, Parts)])


def _first_block(part: tuple[int, int, Any]) -> int:
    return part[0]


def _join_of(by: Any) -> Callable[[Any, Any], Any]:
    join: Callable[[Any, Any], Any] = by.reduction.join if isinstance(by, Job) else by
    return join


def array_in(kept: Memories, at: int, name: str) -> Any:
    """Return what row memory has of a block under a name."""
    return kept.memories[at][name]


def itself(value: Any) -> Any:
    """Return the value: a task that carries it to the workers."""
    return value


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that another task has carried."""
    return function(*arguments)
