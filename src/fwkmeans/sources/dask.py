"""Rows in a Dask array or frame: a block for each chunk, which stays with the workers.

Imported only where somebody passes such a collection. A pass is one graph: a task that carries the
reduction to the workers, tasks for the blocks, and tasks that join the parts, in the tree of
`join_in_tree`. Since a task costs milliseconds, one task takes several small blocks that lie on the
same worker. Row memory is the result of tasks, too, so the scheduler can have it computed again if
a worker is lost.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple, Self

import cloudpickle
import dask
import dask.array as da
import numpy as np
from dask._task_spec import Alias
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.sizeof import sizeof

from fwkmeans._core import OPERATIONS
from fwkmeans._core.sparse import OPERATIONS as SPARSE_OPERATIONS
from fwkmeans._core.sparse import SparseRows
from fwkmeans._support.slabs import release_slabs
from fwkmeans._tabular.layout import Layout
from fwkmeans.sources.base import BlockSource, join_neighbors, join_rest, on_block
from fwkmeans.sources.memory import in_whole_steps
from fwkmeans.typing import (
    Block,
    BlockReduction,
    FloatArray,
    LabelArray,
    Part,
    Reduction,
    RowArray,
    RowMemory,
    Whole,
)

_FAN = 16  # tasks whose parts another task joins
_TASK_BYTES = 512 * 2**20  # of the blocks that a task takes together, which must be in memory
_SECONDS = 5.0  # until the scheduler is asked again where the blocks are
_SENT_BYTES = 2**18  # of reductions that the scheduler passes on to the workers
_LIST_BYTES = 64 * 2**20  # of parts that a worker may have to hold before they are joined
_BYTES_A_ROW = 24  # labels and two bounds of a start, those of the last pass and the new ones
_MEMORY_BYTES = 256 * 2**20  # of row memory in this process, where there is no cluster
_PLENTY = 4  # times the rows of a worker must fit into its memory, so that they may be held there
_LEFT_SECONDS = 60.0  # until row memory that nobody has asked for is dropped


def cluster_client() -> Any:
    """Return the client of the cluster that tasks run on, whose workers can keep something."""
    client = getattr(dask.base.get_scheduler(), "__self__", None)
    return client if hasattr(client, "scheduler_info") else None


class Pieces(NamedTuple):
    """Values in an order: the results of tasks, computed or not."""

    graph: Mapping[Hashable, Any]
    keys: Sequence[Hashable]

    @classmethod
    def of(cls, tasks: Sequence[Delayed]) -> Pieces:
        """Return the results of these tasks."""
        graphs = [one.__dask_graph__() for one in tasks]
        graph: dict[Hashable, Any] = {}
        for some in {id(one): one for one in graphs}.values():  # often one for all
            graph.update(some)
        for key, task in graph.items():
            if isinstance(task, Alias) and task.key != key:  # Dask's optimization leaves them so
                graph[key] = task.key
        return cls(graph, [one.key for one in tasks])

    def mapped(self, function: Callable[..., Any], *others: Pieces) -> Pieces:
        """Return a function of each value and of those of the others at the same place."""
        name = _new_name(function)
        rows = zip(self.keys, *(other.keys for other in others), strict=True)
        tasks = {(name, at): (_call, f"carry-{name}", *keys) for at, keys in enumerate(rows)}
        carry = {f"carry-{name}": (_itself, function)}
        return Pieces(_merged(self, *others) | carry | tasks, list(tasks))

    def held(self) -> Pieces:
        """Let the workers of a cluster keep the values. Without a cluster, change nothing."""
        return self if cluster_client() is None else self.computed()

    def computed(self) -> Pieces:
        """Let the values be computed, and kept where they are."""
        client = cluster_client()
        if client is None:
            return Pieces.of(dask.persist(*self.delayed(), optimize_graph=False))
        futures = client.get(_layered(self.graph), list(self.keys), sync=False)
        return Pieces(dict(zip(self.keys, futures, strict=True)), self.keys)

    def joined(self, join: Callable[[Any, Any], Any]) -> Any:
        """Return all values joined, in a tree that depends only on their number."""
        name, runs = _new_name("join"), _runs(range(len(self.keys)), _FAN)
        some: dict[Hashable, Any] = {
            (name, at): (_join_values, join, list(run), [self.keys[i] for i in run])
            for at, run in enumerate(runs)
        }
        tree, tops = _tree(list(some), join)
        return _joined(join, Pieces({**self.graph, **some, **tree}, tops).fetched())

    def delayed(self) -> list[Delayed]:
        """Return the values as Dask's own objects."""
        graph = _layered(self.graph)
        return [Delayed(key, graph, layer="tasks") for key in self.keys]

    def fetched(self) -> list[Any]:
        """Return the values themselves, in this process."""
        client = cluster_client()
        if client is None:
            return list(dask.compute(*self.delayed(), optimize_graph=False))
        return list(client.get(_layered(self.graph), list(self.keys)))

    def awaited(self) -> list[Any]:
        """Return values that `computed` has asked for, in this process."""
        client = cluster_client()
        if client is None:
            return self.fetched()
        with _seceded():
            return list(client.gather([self.graph[key] for key in self.keys]))

    def take(self, places: Sequence[int]) -> Pieces:
        """Return the values at these places."""
        return self._replace(keys=[self.keys[at] for at in places])


class _Kept:
    """The row memory of all blocks: a `_Memories` for each group of blocks."""

    def __init__(self, memory: Pieces, groups: list[list[int]]) -> None:
        self.memory, self.groups = memory, groups
        self._places = {
            block: (key, place)
            for key, group in zip(memory.keys, groups, strict=True)
            for place, block in enumerate(group)
        }

    def place(self, block: int) -> tuple[Hashable, int]:
        """Return the key of the group of a block, and the number of the block there."""
        return self._places[block]


class Cells(NamedTuple):
    """The rows of a block that has categories."""

    rows: RowArray
    levels: LabelArray


class DaskSource(BlockSource):
    """The chunks of a Dask array, or the partitions of a Dask frame, as blocks.

    Estimators make one of any such collection.

    Parameters
    ----------
    cells : Pieces
        The rows of each block: an array of floating-point numbers, `SparseRows` or `Cells`.
    sample_weight : Pieces or None
        The weights of the rows of each block, float64.
    lengths : sequence of int
        Number of rows of each block; it may be 0.
    layout : Layout
        Which features are numeric and which are categorical.
    dtype : dtype
        Floating-point type of the rows.
    n_threads : int, default=1
        Number of threads of a task. The result does not depend on it.
    sparse : bool, default=False
        Whether the rows are `SparseRows`.
    """

    def __init__(
        self,
        cells: Pieces,
        sample_weight: Pieces | None,
        lengths: Sequence[int],
        layout: Layout,
        dtype: Any,
        n_threads: int = 1,
        *,
        sparse: bool = False,
    ) -> None:
        self._lengths = tuple(lengths)
        self._places = [at for at, n in enumerate(self._lengths) if n]  # of blocks that have rows
        before = np.cumsum([0, *self._lengths]).tolist()
        self._first_rows: list[int] = [before[at] for at in self._places]
        self._cells = cells.take(self._places)
        self._weight = None if sample_weight is None else sample_weight.take(self._places)
        self._kept: _Kept | None = None  # row memory, if there is any
        self._grouped: tuple[float, list[list[int]]] | None = None  # until when, and how
        self._packed: tuple[list[list[int]], Pieces] | None = None  # the blocks of each group
        self._dtype = np.dtype(dtype)
        self.layout, self.n_threads, self.sparse = layout, n_threads, sparse
        self.operations = SPARSE_OPERATIONS if sparse else OPERATIONS

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self._lengths)

    @property
    def n_blocks(self) -> int:
        """Number of blocks that have rows."""
        return len(self._places)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating-point type of the rows."""
        return self._dtype  # type: ignore[no-any-return]

    def blocks(self) -> Iterator[Block]:
        """Raise an error: the rows stay where they are."""
        raise TypeError(
            "X is a Dask collection, whose rows stay with the workers, and this algorithm needs "
            "them all in one place. Give X.compute(), or some of its rows, if they fit into memory."
        )

    def mapped(self, transform: Callable[[RowArray], RowArray]) -> Self:
        """Return the source with a function applied to the numbers of each block."""
        cells = self._cells.mapped(_Transform(transform)).held()
        return self._with(_cells=cells, _grouped=None, _packed=None)

    @property
    def remembers(self) -> bool:  # type: ignore[override]
        """Whether row memory may have some numbers for each row.

        The workers of a cluster keep them. Without a cluster they are in this process, which has
        room for those of some million rows.
        """
        if self.sparse or not self.layout.is_numeric:
            return False
        return cluster_client() is not None or self.n_rows * _BYTES_A_ROW <= _MEMORY_BYTES

    def run(self, reduction: Reduction[Part, Whole]) -> tuple[Whole, Self]:
        """Return the result of a reduction, and the source with the new row memory."""
        size = _size(reduction)
        groups = self._groups(size, self.n_blocks)
        graph, blocks = self._blocks(groups)
        job = self._carry(graph, reduction, size, len(groups))
        name = _new_name(reduction)
        parts: list[Hashable] = [(name, at) for at in range(len(groups))]
        kept: list[Hashable] = [(f"kept-{name}", at) for at in range(len(groups))]
        for at, group in enumerate(groups):
            given = (job, f"left-{name}-{at}", group, *blocks[at])
            graph[parts[at]] = (_join_and_leave, *given)
            graph[kept[at]] = (_take_what_is_left, parts[at], *given)
        tree, tops = _tree(parts, job)
        # row memory is not waited for: the tasks of the next pass will depend on it
        results = Pieces({**graph, **tree}, [*tops, *kept]).computed()
        whole = _joined(reduction.join, results.take(range(len(tops))).awaited())
        memory = Pieces({key: results.graph[key] for key in kept}, kept)
        return reduction.finish(whole), self._with(_kept=_Kept(memory, groups))

    def reduce(self, reduction: Reduction[Part, Whole]) -> Whole:
        """Return the result of a reduction; the new row memory is dropped."""
        enough = getattr(reduction, "enough", None)
        if enough is not None and self.n_blocks > 1 and enough(part := self._join(reduction, 1)):
            return reduction.finish(part)
        return reduction.finish(self._join(reduction, self.n_blocks))

    def _join(self, reduction: Reduction[Part, Any], n_blocks: int) -> Part:
        """Return the parts of the first blocks, joined."""
        size = _size(reduction)
        groups = self._groups(size, n_blocks)
        graph, blocks = self._blocks(groups)
        job = self._carry(graph, reduction, size, len(groups))
        name = _new_name(reduction)
        parts: list[Hashable] = [(name, at) for at in range(len(groups))]
        for at, group in enumerate(groups):
            graph[parts[at]] = (_join_blocks, job, group, *blocks[at])
        tree, tops = _tree(parts, job)
        whole: Part = _joined(reduction.join, Pieces({**graph, **tree}, tops).fetched())
        return whole

    def _groups(self, size: int, n_blocks: int) -> list[list[int]]:
        """Return which of the first blocks are for the same task; no result depends on it.

        Only blocks that lie on the same worker are, and only if their parts are small (a part has
        about the size of its reduction): of blocks that are no neighbors they remain apart until
        the tree joins them with others. Blocks whose row memory lies together stay together.
        """
        client = cluster_client()
        if client is None or n_blocks == 1 or n_blocks * size > _LIST_BYTES:
            return [[at] for at in range(n_blocks)]
        if self._kept is not None and len(self._kept.groups) < n_blocks:
            return self._kept.groups
        if self._grouped is None or time.monotonic() > self._grouped[0]:
            groups = self._groups_by_worker(client)
            if groups is None:  # some are still to be computed
                return [[at] for at in range(n_blocks)]
            self._grouped = (time.monotonic() + _SECONDS, groups)
        return self._grouped[1]

    def _groups_by_worker(self, client: Any) -> list[list[int]] | None:
        """Return groups of blocks that lie on the same worker; None if one lies nowhere yet."""
        futures: list[Any] = [self._cells.graph.get(key) for key in self._cells.keys]
        holders = client.who_has([one for one in futures if hasattr(one, "release")])
        where: dict[str, list[int]] = {}
        for at, one in enumerate(futures):
            there = holders.get(getattr(one, "key", None))
            if not there:
                return None
            worker = min(there, key=lambda holder: len(where.get(holder, ())))
            where.setdefault(worker, []).append(at)
        threads = client.nthreads()
        lengths = [self._lengths[at] for at in self._places]
        _balance(where, threads, lengths)
        most = max(1, _TASK_BYTES // (max(lengths) * self.n_features * self.dtype.itemsize))
        groups: list[Any] = []
        for worker, places in where.items():
            n_tasks = max(threads.get(worker, 1), -(-len(places) // most))
            groups += _runs(sorted(places), -(-len(places) // n_tasks))
        return sorted(groups)

    def gather(self, name: str, axis: int = 0) -> Any:
        """Return what row memory has under a name, for all rows, as a Dask array.

        Its chunks are those of the collection, also where these have no rows.
        """
        assert self._kept is not None
        token = _new_name(name)
        graph: dict[Hashable, Any] = dict(self._kept.memory.graph)
        key, place = self._kept.place(0)
        first = (partial(_no_rows_in, at=place, name=name, axis=axis), key)
        (empty,) = Pieces(graph | {token: first}, [token]).fetched()
        chunks = [self._lengths if a == axis else (n,) for a, n in enumerate(empty.shape)]
        blocks = dict(zip(self._places, range(self.n_blocks), strict=True))
        for at in range(len(self._lengths)):
            chunk = (token, *(at if a == axis else 0 for a in range(empty.ndim)))
            if at in blocks:
                key, place = self._kept.place(blocks[at])
                graph[chunk] = (partial(_array_in, at=place, name=name), key)
            else:
                graph[chunk] = (np.copy, empty)
        return da.Array(_layered(graph, token), token, chunks, meta=empty)

    def forget(self, name: str) -> Self:
        """Return the source without what row memory has under this name."""
        return self if self._kept is None else self.run(_Forget(name))[1]

    def _carry(
        self, graph: dict[Hashable, Any], reduction: Reduction[Any, Any], size: int, n_tasks: int
    ) -> Any:
        """Return what tells tasks what to do: the reduction, or the key of a task in the graph.

        A few tasks are sent the reduction itself. Many fetch it from each other: it is then the
        result of a task, because data that is merely scattered would be lost with its worker.
        """
        job = _Job(reduction, self.n_threads, self.gaps, self.stretch)
        if n_tasks * size <= _SENT_BYTES:
            return job
        key = f"carry-{_new_name(reduction)}"
        graph[key] = (_itself, job)
        return key

    def _blocks(self, groups: list[list[int]]) -> tuple[dict[Hashable, Any], list[Any]]:
        """Return a graph, and what the tasks of groups get: rows and weights, where, row memory."""
        first_rows = [[self._first_rows[at] for at in group] for group in groups]
        packed = self._pack(groups)
        if packed is None:
            graph = _merged(self._cells, *([] if self._weight is None else [self._weight]))
            rows: list[Any] = [self._rows(group) for group in groups]
        else:
            graph, rows = dict(packed.graph), list(packed.keys)
        if self._kept is None:
            return graph, [(*given, [], []) for given in zip(rows, first_rows, strict=True)]
        graph.update(self._kept.memory.graph)
        blocks: list[Any] = []
        for group, *given in zip(groups, rows, first_rows, strict=True):
            where = [self._kept.place(at) for at in group]
            keys = list(dict.fromkeys(key for key, _ in where))
            blocks.append((*given, keys, [[keys.index(key), place] for key, place in where]))
        return graph, blocks

    def _rows(self, group: Sequence[int]) -> Any:
        """Return a task that has the rows and the weights of some blocks."""
        cells = [self._cells.keys[at] for at in group]
        weights = [None if self._weight is None else self._weight.keys[at] for at in group]
        return (_Rows, cells, weights)

    def _pack(self, groups: list[list[int]]) -> Pieces | None:
        """Return the blocks of each group as one value, so that a task has few to wait for.

        It refers to the blocks, which therefore cannot leave memory: None if there is not plenty.
        """
        client = cluster_client()
        if client is None or len(groups) == self.n_blocks or sum(map(len, groups)) < self.n_blocks:
            return None
        if self._packed is None or self._packed[0] != groups:
            workers = client.scheduler_info()["workers"].values()
            rows = self.n_rows * self.n_features * self.dtype.itemsize / max(1, len(workers))
            if any(0 < (one["memory_limit"] or 0) < _PLENTY * rows for one in workers):
                return None
            name = _new_name("rows")
            tasks = {(name, at): self._rows(group) for at, group in enumerate(groups)}
            several = (self._cells, *([] if self._weight is None else [self._weight]))
            self._packed = groups, Pieces(_merged(*several) | tasks, list(tasks)).computed()
        return self._packed[1]


# ---- what the tasks do ---------------------------------------------------------------------------

sizeof.register(SparseRows, lambda rows: sum(array.nbytes for array in rows.arrays()))


@dataclass(frozen=True)
class _Job:
    """A reduction, and how it sees the blocks; no named tuple, into which Dask would look."""

    reduction: Reduction[Any, Any]
    n_threads: int
    gaps: bool
    stretch: bool


class _Rows:
    """The rows of some blocks, and the weights of these."""

    def __init__(self, cells: list[Any], weights: list[FloatArray | None]) -> None:
        self.cells, self.weights = cells, weights

    def __sizeof__(self) -> int:  # Dask asks
        return 1000 + int(sum(map(sizeof, (*self.cells, *self.weights))))


class _Memories:
    """The row memory of some blocks."""

    def __init__(self, memories: list[RowMemory]) -> None:
        self.memories = memories

    def __sizeof__(self) -> int:  # Dask asks
        return 1000 + sum(array.nbytes for memory in self.memories for array in memory.values())


class _Parts:
    """Parts as `join_neighbors` gives them. Dask would take some tuples for tasks."""

    def __init__(self, parts: list[tuple[int, int, Any]]) -> None:
        self.parts = parts


@dataclass(frozen=True)
class _Transform:
    """Apply a function to the numbers of a block."""

    function: Callable[[RowArray], RowArray]

    def __call__(self, cells: Any) -> Any:
        if isinstance(cells, Cells):
            return cells._replace(rows=self.function(cells.rows))
        return self.function(cells)


@dataclass(frozen=True)
class _Forget(BlockReduction[None]):
    name: str

    def on_block(self, block: Block, memory: RowMemory) -> tuple[None, RowMemory]:
        return None, {name: kept for name, kept in memory.items() if name != self.name}


def _on_blocks(
    job: _Job,
    rows: _Rows,
    first_rows: Sequence[int],
    kept: Sequence[_Memories],
    places: Sequence[Sequence[int]],
) -> Iterator[tuple[Any, RowMemory]]:
    """Yield the part of each block and its new row memory.

    Row memory is in `kept`, at the places that are given for each block: which, and where in it.
    """
    if not getattr(job.reduction, "bounded", False):
        release_slabs()  # the loop that used them may be over
    memories: Iterable[RowMemory] = (kept[which].memories[at] for which, at in places)
    given = (rows.cells, rows.weights, first_rows, memories if places else repeat({}))
    for cells, weight, first_row, memory in zip(*given, strict=False):
        numbers, levels = cells if isinstance(cells, Cells) else (cells, None)
        numbers, weight, levels = map(_aligned, (numbers, weight, levels))
        block = Block(numbers, weight, first_row, job.n_threads, levels, job.gaps, job.stretch)
        yield on_block(job.reduction, block, {name: _aligned(a) for name, a in memory.items()})


def _aligned(array: Any) -> Any:
    """Return an array as the core needs it; those that came from another worker may lie oddly."""
    if isinstance(array, SparseRows):
        values, columns, begins = map(in_whole_steps, (array.values, array.columns, array.begins))
        return SparseRows(values, columns, begins, array.shape[1])
    return array if array is None else in_whole_steps(array)


def _array_in(kept: _Memories, at: int, name: str) -> Any:
    return kept.memories[at][name]


def _no_rows_in(kept: _Memories, at: int, name: str, axis: int) -> Any:
    return np.take(kept.memories[at][name], [], axis=axis)


def _itself(value: Any) -> Any:
    return value


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def _join_values(by: Any, places: Sequence[int], values: Iterable[Any]) -> _Parts:
    return _Parts(join_neighbors(zip(places, repeat(1), values, strict=False), _join_of(by)))


def _join_blocks(job: _Job, places: Sequence[int], *blocks: Any) -> _Parts:
    return _join_values(job, places, (part for part, _ in _on_blocks(job, *blocks)))


# Row memory that tasks of this process have left for the tasks that return it, and since when.
_LEFT: dict[str, tuple[float, _Memories]] = {}


def _join_and_leave(job: _Job, token: str, places: Sequence[int], *blocks: Any) -> _Parts:
    """Join the parts of some blocks; `_take_what_is_left` is then asked for their row memory.

    A task has one result. That of this one is small, and on its way to the client at once.
    """
    memories: list[RowMemory] = []

    def parts() -> Iterator[Any]:
        for part, memory in _on_blocks(job, *blocks):
            memories.append(memory)
            yield part

    joined = _join_values(job, places, parts())
    now = time.monotonic()
    for stale in [key for key, (since, _) in list(_LEFT.items()) if now - since > _LEFT_SECONDS]:
        _LEFT.pop(stale, None)  # its task has run elsewhere
    _LEFT[token] = now, _Memories(memories)
    return joined


def _take_what_is_left(
    parts: _Parts, job: _Job, token: str, places: Sequence[int], *blocks: Any
) -> _Memories:
    """Return the row memory of some blocks: what the first task has left, or the same anew."""
    _, left = _LEFT.pop(token, (0.0, None))
    return left or _Memories([memory for _, memory in _on_blocks(job, *blocks)])


def _join_parts(by: Any, several: Sequence[_Parts]) -> _Parts:
    ordered = sorted((part for parts in several for part in parts.parts), key=_first_block)
    return _Parts(join_neighbors(ordered, _join_of(by)))


def _joined(join: Callable[[Any, Any], Any], several: Sequence[_Parts]) -> Any:
    """Join all that is left: falling powers of two blocks."""
    return join_rest(_join_parts(join, several).parts, join)


def _first_block(part: tuple[int, int, Any]) -> int:
    return part[0]


def _join_of(by: Any) -> Callable[[Any, Any], Any]:
    join: Callable[[Any, Any], Any] = by.reduction.join if isinstance(by, _Job) else by
    return join


# ---- graphs --------------------------------------------------------------------------------------


def _tree(parts: Sequence[Hashable], by: Any) -> tuple[dict[Hashable, Any], Sequence[Hashable]]:
    """Return tasks that join the parts of tasks, and the keys of a few whose parts are left.

    `by` is a function of two parts, a `_Job`, or the key of one.
    """
    tasks: dict[Hashable, Any] = {}
    name = _new_name("join")
    level = 0
    while len(parts) > _FAN:
        groups = _runs(parts, _FAN)
        parts = [(name, level, at) for at in range(len(groups))]
        for key, group in zip(parts, groups, strict=True):
            tasks[key] = (_join_parts, by, list(group))
        level += 1
    return tasks, parts


def _balance(
    where: dict[str, list[int]], threads: Mapping[str, int], lengths: Sequence[int]
) -> None:
    """Give blocks of workers that have too many rows for their threads to others.

    A worker keeps a copy of a block that it was sent, so this costs one transfer.
    """
    for worker in threads:
        where.setdefault(worker, [])
    share = sum(lengths) / max(1, sum(threads.values()))
    room = {
        worker: threads.get(worker, 0) * share - sum(lengths[at] for at in places)
        for worker, places in where.items()
    }
    for worker, places in where.items():
        for at in reversed(places[:]):
            idle = max(room, key=lambda one: room[one])
            if room[worker] > -lengths[at] / 2 or room[idle] < lengths[at] / 2:
                break
            places.remove(at)
            where[idle].append(at)
            room[worker] += lengths[at]
            room[idle] -= lengths[at]
    for worker in [one for one, places in where.items() if not places]:
        del where[worker]


def _runs(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    return [items[at : at + size] for at in range(0, len(items), size)]


@contextmanager
def _seceded() -> Iterator[None]:
    """Let the worker do something else while one of its tasks waits, if this is one."""
    import distributed

    try:
        distributed.secede()
    except (ValueError, KeyError, AttributeError):  # it is none, or has done so before
        yield
        return
    try:
        yield
    finally:
        distributed.rejoin()


def _layered(graph: Mapping[Hashable, Any], name: str = "tasks") -> HighLevelGraph:
    return HighLevelGraph({name: graph}, {name: set()})


def _merged(*pieces: Pieces) -> dict[Hashable, Any]:
    merged: dict[Hashable, Any] = {}
    for some in pieces:
        merged.update(some.graph)
    return merged


def _size(reduction: Reduction[Any, Any]) -> int:
    """Return how many bytes a reduction takes on its way; a part takes about as many."""
    return len(cloudpickle.dumps(reduction))


def _new_name(what: Any) -> str:
    """Return a name that no other task has; Dask shows the part before the dash."""
    kind = what if isinstance(what, str) else getattr(what, "__name__", type(what).__name__)
    return f"{kind.strip('_').lower()}-{uuid.uuid4().hex}"
