"""Rows in a Dask array or frame: a block for each chunk, which stays with the workers.

Imported only where somebody passes such a collection. A pass is one graph: a task that carries the
reduction to the workers, tasks for the blocks, and tasks that join the parts, in the tree of
`join_in_tree`. Since a task costs milliseconds, one task takes several small blocks that lie on the
same worker. Row memory is the result of tasks, too, so the scheduler can have it computed again if
a worker is lost. The many passes of a loop need no tasks, if there is a cluster with memory for
it: actors hold the blocks meanwhile (`fwkmeans.sources.dask_actors`).
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, Self

import cloudpickle
import dask
import dask.array as da
import numpy as np
from dask._task_spec import Alias
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

from fwkmeans._core import OPERATIONS
from fwkmeans._core.sparse import OPERATIONS as SPARSE_OPERATIONS
from fwkmeans._tabular.layout import Layout
from fwkmeans.sources.base import BYTES_A_ROW, BlockSource, join_neighbors
from fwkmeans.sources.dask_actors import Keepers, Turns, seceded
from fwkmeans.sources.dask_tasks import (
    Forget,
    Job,
    Protect,
    Sight,
    Transform,
    array_in,
    call,
    itself,
    join_blocks,
    join_parts,
    join_values,
    joined,
    joined_of_actors,
    parts_of,
    remember_blocks,
)
from fwkmeans.typing import Block, Part, Reduction, RowArray, Whole

_FAN = 16  # tasks whose parts another task joins
_TASK_BYTES = 512 * 2**20  # of the blocks that a task takes together, which must be in memory
_SECONDS = 5.0  # until the scheduler is asked again where the blocks are
_SENT_BYTES = 2**18  # of reductions that the scheduler passes on to the workers
_LIST_BYTES = 64 * 2**20  # of parts that a worker may have to hold before they are joined
_MEMORY_BYTES = 128 * 2**20  # of row memory in this process, where there is no cluster
_FULL = 0.6  # of the memory of a worker; above it, Dask writes to disk what tasks have returned
_PLENTY = 4  # times the rows of a worker must fit into its memory, so that an actor may hold them


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
        tasks = {(name, at): (call, f"carry-{name}", *keys) for at, keys in enumerate(rows)}
        carry = {f"carry-{name}": (itself, function)}
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
            (name, at): (join_values, join, list(run), [self.keys[i] for i in run])
            for at, run in enumerate(runs)
        }
        tree, tops = _tree(list(some), join)
        return joined(join, Pieces({**self.graph, **some, **tree}, tops).fetched())

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
        with seceded():
            return list(client.gather([self.graph[key] for key in self.keys]))

    def take(self, places: Sequence[int]) -> Pieces:
        """Return the values at these places."""
        return self._replace(keys=[self.keys[at] for at in places])


class _Memory(NamedTuple):
    """The memory of a worker, in bytes."""

    limit: float
    taken: float
    rows: int  # of this table


class _Kept:
    """The row memory of all blocks: a `Memories` for each group of blocks."""

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
        self._turns: Turns | None = None  # of a loop that changes row memory in place
        self._number = 0  # of the pass that has left this row memory
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
        self._refuse_actors()
        cells = self._cells.mapped(Transform(transform)).held()
        return self._with(_cells=cells, _grouped=None)

    @property
    def remembers(self) -> bool:  # type: ignore[override]
        """Whether row memory may have some numbers for each row.

        The workers of a cluster keep them. Without a cluster they are in this process, which has
        room for those of some million rows.
        """
        if self.sparse or not self.layout.is_numeric:
            return False
        if isinstance(self._turns, Keepers) or cluster_client() is not None:
            return True
        return self.n_rows * BYTES_A_ROW <= _MEMORY_BYTES

    def most_starts(self, part_bytes: int) -> int:
        """Return how many starts may have labels and bounds in row memory at a time.

        They are more where actors can hold the rows and workers have memory that is free: up to
        twice that of the rows.
        """
        few, client = super().most_starts(part_bytes), cluster_client()
        where = None if client is None else self._blocks_by_worker(client, range(self.n_blocks))
        if where is None:
            return few
        by_parts, memory = _most_starts(where, part_bytes), self._memory_of(client, where)
        if not by_parts or not _is_plenty(memory):
            return few
        free = min((_FULL * one.limit - max(one.taken, one.rows)) / one.rows for one in memory)
        of_rows = self.n_features * self.dtype.itemsize
        return min(by_parts, max(few, int(of_rows * min(2.0, free) / BYTES_A_ROW)))

    @contextmanager
    def in_place(self, part_bytes: int) -> Iterator[Self]:
        """Yield the source for a loop, in which `run` may change row memory in place.

        Actors hold the blocks meanwhile, if the workers of a cluster have plenty of memory.
        """
        client = cluster_client()
        turns = Turns() if client is None else self._keepers(client, part_bytes)
        source = self
        if client is None and self._kept is not None:
            _, source = self.run(Protect())
        try:
            yield source if turns is None else source._with(_turns=turns)
        finally:
            if isinstance(turns, Keepers):
                turns.close()

    def run(self, reduction: Reduction[Part, Whole]) -> tuple[Whole, Self]:
        """Return the result of a reduction, and the source with the new row memory."""
        turns = self._checked_turns()
        if isinstance(turns, Keepers):
            whole = joined_of_actors(reduction, turns.run(reduction))
            return reduction.finish(whole), self._with(_number=turns.number)
        given = reduction if turns is None else reduction.hooks.changing_in_place()
        whole, kept = self._pass(given, self.n_blocks, keep=True)
        number = 0 if turns is None else turns.next()
        return reduction.finish(whole), self._with(_kept=kept, _number=number)

    def reduce(self, reduction: Reduction[Part, Whole]) -> Whole:
        """Return the result of a reduction; the new row memory is dropped."""
        turns = self._checked_turns()
        if isinstance(turns, Keepers):
            return reduction.finish(joined_of_actors(reduction, turns.reduce(reduction)))
        if reduction.hooks.may_end_early and self.n_blocks > 1:
            part, _ = self._pass(reduction, 1, keep=False)
            if reduction.hooks.enough(part):
                return reduction.finish(part)
        return reduction.finish(self._pass(reduction, self.n_blocks, keep=False)[0])

    def _checked_turns(self) -> Turns | None:
        """Return what says whether this is a loop; raise an error if row memory has changed."""
        if self._turns is not None:
            self._turns.check(self._number)
        return self._turns

    def _refuse_actors(self) -> None:
        if isinstance(self._turns, Keepers):
            raise TypeError("Inside of in_place, actors have the blocks: call run or reduce.")

    @property
    def _sight(self) -> Sight:
        return Sight(self.n_threads, self.gaps, self.stretch)

    def _pass(
        self, reduction: Reduction[Any, Any], n_blocks: int, *, keep: bool
    ) -> tuple[Any, _Kept | None]:
        """Return the parts of the first blocks, joined, and with `keep` their new row memory."""
        job = Job(reduction, self._sight)
        size = _size(job)
        groups = self._groups(size, n_blocks)
        graph, blocks = self._blocks(groups)
        carried = self._carry(graph, job, size, len(groups))
        name = _new_name(reduction)
        parts: list[Hashable] = [(name, at) for at in range(len(groups))]
        kept: list[Hashable] = [(f"kept-{name}", at) for at in range(len(groups))]
        for at, group in enumerate(groups):
            given = (carried, group, *blocks[at])
            graph[parts[at]] = (parts_of, kept[at]) if keep else (join_blocks, *given)
            if keep:
                graph[kept[at]] = (remember_blocks, *given)
        tree, tops = _tree(parts, carried)
        graph.update(tree)
        if not keep:
            return joined(reduction.join, Pieces(graph, tops).fetched()), None
        results = Pieces(graph, [*tops, *kept]).computed()
        whole = joined(reduction.join, results.take(range(len(tops))).awaited())
        memory = Pieces({key: results.graph[key] for key in kept}, kept)
        return whole, _Kept(memory, groups)

    def _groups(self, size: int, n_blocks: int) -> list[list[int]]:
        """Return which of the first blocks are for the same task; no result depends on it.

        Only blocks that lie on the same worker are, and only if their parts are small (a part has
        about the size of its job): of blocks that are no neighbors they remain apart until
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
        where = self._blocks_by_worker(client, range(self.n_blocks))
        if where is None:
            return None
        threads, largest = client.nthreads(), max(self._lengths)
        most = max(1, _TASK_BYTES // self._bytes(largest))
        groups: list[Any] = []
        for worker, places in where.items():
            n_tasks = max(threads.get(worker, 1), -(-len(places) // most))
            groups += _runs(sorted(places), -(-len(places) // n_tasks))
        return sorted(groups)

    def _blocks_by_worker(self, client: Any, blocks: Sequence[int]) -> dict[str, list[int]] | None:
        """Return which blocks lie on which worker; None if one lies nowhere yet."""
        futures = self._futures(blocks)
        holders = client.who_has([one for one in futures if hasattr(one, "release")])
        where: dict[str, list[int]] = {}
        for at, one in zip(blocks, futures, strict=True):
            there = holders.get(getattr(one, "key", None))
            if not there:
                return None
            worker = min(there, key=lambda holder: len(where.get(holder, ())))
            where.setdefault(worker, []).append(at)
        _balance(where, client.nthreads(), [self._lengths[at] for at in self._places])
        return where

    def _futures(self, blocks: Sequence[int]) -> list[Any]:
        return [self._cells.graph.get(self._cells.keys[at]) for at in blocks]

    def _bytes(self, n_rows: int) -> int:
        return n_rows * self.n_features * self.dtype.itemsize

    def gather(self, name: str, axis: int = 0) -> Any:
        """Return what row memory has under a name, for all rows, as a Dask array.

        Its chunks are those of the collection, also where these have no rows.
        """
        self._refuse_actors()
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
                graph[chunk] = (partial(array_in, at=place, name=name), key)
            else:
                graph[chunk] = (np.copy, empty)
        return da.Array(_layered(graph, token), token, chunks, meta=empty)

    def forget(self, name: str) -> Self:
        """Return the source without what row memory has under this name."""
        return self if self._kept is None else self.run(Forget(name))[1]

    def _carry(self, graph: dict[Hashable, Any], job: Job, size: int, n_tasks: int) -> Any:
        """Return what tells tasks what to do: the job, or the key of a task in the graph.

        A few tasks are sent the job itself. Many fetch it from each other: it is then the
        result of a task, because data that is merely scattered would be lost with its worker.
        """
        if n_tasks * size <= _SENT_BYTES:
            return job
        key = f"carry-{_new_name(job.reduction)}"
        graph[key] = (itself, job)
        return key

    def _blocks(self, groups: list[list[int]]) -> tuple[dict[Hashable, Any], list[Any]]:
        """Return a graph, and what the tasks of groups get: rows and weights, where, row memory."""
        graph = _merged(self._cells, *([] if self._weight is None else [self._weight]))
        if self._kept is not None:
            graph.update(self._kept.memory.graph)
        return graph, [self._block(group) for group in groups]

    def _block(self, group: Sequence[int]) -> tuple[list[Any], ...]:
        """Return the keys of what a task or an actor gets of some blocks."""
        cells = [self._cells.keys[at] for at in group]
        weights = [None if self._weight is None else self._weight.keys[at] for at in group]
        first_rows = [self._first_rows[at] for at in group]
        if self._kept is None:
            return cells, weights, first_rows, [], []
        where = [self._kept.place(at) for at in group]
        keys = list(dict.fromkeys(key for key, _ in where))
        return cells, weights, first_rows, keys, [[keys.index(key), at] for key, at in where]

    def _keepers(self, client: Any, part_bytes: int) -> Keepers | None:
        """Return actors that hold all blocks; None if something is too large for them."""
        blocks = range(self.n_blocks)
        where = self._blocks_by_worker(client, blocks)
        if where is None or not _most_starts(where, part_bytes):
            return None
        if not _is_plenty(self._memory_of(client, where)):
            return None
        return Keepers(client, partial(self._placed, client), blocks)

    def _memory_of(self, client: Any, where: Mapping[str, Sequence[int]]) -> list[_Memory]:
        """Return the memory of workers that have these blocks."""
        known = {
            address: (one["memory_limit"] or np.inf, one.get("metrics", {}).get("memory", 0))
            for address, one in client.scheduler_info()["workers"].items()
        }
        limits, taken = zip(*known.values(), strict=True) if known else ((np.inf,), (0,))
        others = min(limits), max(taken)  # some versions of Dask tell of a few workers only
        lengths = [self._lengths[at] for at in self._places]
        return [
            _Memory(*known.get(worker, others), self._bytes(sum(lengths[at] for at in some)))
            for worker, some in where.items()
        ]

    def _placed(
        self, client: Any, blocks: Sequence[int]
    ) -> Iterator[tuple[str, list[int], tuple[Any, ...]]]:
        """Yield for `Keepers` where blocks lie, once they are computed."""
        import distributed

        futures = self._futures(blocks)
        while (where := self._blocks_by_worker(client, blocks)) is None:
            distributed.wait(futures)
            for lost in (one for one in futures if one.status in ("error", "cancelled")):
                lost.result()  # raises the error
            time.sleep(0.01)
        graph, groups = self._blocks(list(where.values()))
        for (worker, some), group in zip(where.items(), groups, strict=True):
            cells, weights, first_rows, kept, places = group
            values = [[graph.get(key) for key in keys] for keys in (cells, weights, kept)]
            yield worker, some, (*values[:2], first_rows, values[2], places, self._sight)


def _no_rows_in(kept: Any, at: int, name: str, axis: int) -> Any:
    return np.take(array_in(kept, at, name), [], axis=axis)


# ---- graphs --------------------------------------------------------------------------------------


def _tree(parts: Sequence[Hashable], by: Any) -> tuple[dict[Hashable, Any], Sequence[Hashable]]:
    """Return tasks that join the parts of tasks, and the keys of a few whose parts are left.

    `by` is a function of two parts, a `Job`, or the key of one.
    """
    tasks: dict[Hashable, Any] = {}
    name = _new_name("join")
    level = 0
    while len(parts) > _FAN:
        groups = _runs(parts, _FAN)
        parts = [(name, level, at) for at in range(len(groups))]
        for key, group in zip(parts, groups, strict=True):
            tasks[key] = (join_parts, by, list(group))
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
    n_rows = sum(lengths[at] for places in where.values() for at in places)
    share = n_rows / max(1, sum(threads.values()))
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


def _is_plenty(memory: Sequence[_Memory]) -> bool:
    """Tell whether actors may hold the rows, which their workers cannot write to disk then."""
    return all(one.limit >= _PLENTY * one.rows for one in memory)


def _most_starts(where: Mapping[str, Sequence[int]], part_bytes: int) -> int:
    """Return for how many starts workers may send parts; those of neighbors come as one."""
    n_parts = 0
    for blocks in where.values():
        parts = ((at, 1, None) for at in sorted(blocks))
        n_parts += len(join_neighbors(parts, lambda *_: None))
    return _LIST_BYTES // (n_parts * part_bytes)


def _runs(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    return [items[at : at + size] for at in range(0, len(items), size)]


def _layered(graph: Mapping[Hashable, Any], name: str = "tasks") -> HighLevelGraph:
    return HighLevelGraph({name: graph}, {name: set()})


def _merged(*pieces: Pieces) -> dict[Hashable, Any]:
    merged: dict[Hashable, Any] = {}
    for some in pieces:
        merged.update(some.graph)
    return merged


def _size(job: Job) -> int:
    """Return how many bytes a job takes on its way; a part takes about as many."""
    return len(cloudpickle.dumps(job))


def _new_name(what: Any) -> str:
    """Return a name that no other task has; Dask shows the part before the dash."""
    kind = what if isinstance(what, str) else getattr(what, "__name__", type(what).__name__)
    return f"{kind.strip('_').lower()}-{uuid.uuid4().hex}"
