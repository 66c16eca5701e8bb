"""A source as bad as the seam allows: what holds on it holds on any."""

from __future__ import annotations

import atexit
import pickle
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context

import numpy as np

from fwkmeans._core.sparse import SparseRows
from fwkmeans.sources import on_block
from fwkmeans.sources.base import BlockSource
from fwkmeans.typing import Block

_POOL: list[ProcessPoolExecutor] = []


def pool() -> ProcessPoolExecutor:
    """Return two worker processes, started once."""
    if not _POOL:
        _POOL.append(ProcessPoolExecutor(2, mp_context=get_context("forkserver")))
        atexit.register(_POOL[0].shutdown, wait=False, cancel_futures=True)
    return _POOL[0]


def work(task: bytes) -> bytes:
    """Run a pickled reduction on a pickled block; the arrays it gets cannot be written."""
    reduction, block, memory = pickle.loads(task)
    rows = block.rows.arrays() if isinstance(block.rows, SparseRows) else (block.rows,)
    for array in (*rows, block.sample_weight, block.levels, *memory.values()):
        if array is not None:
            array.flags.writeable = False
    return pickle.dumps(on_block(reduction, block, memory))


class HostileSource(BlockSource):
    """Blocks of random sizes, some of them empty; every task runs twice, in any order.

    With ``processes=True`` tasks run in other processes. Tasks and results are pickled in any case,
    so nothing is shared between them. Both runs of a task must give the same bytes.
    """

    resident = True  # so that changed rows only are counted, too

    def __init__(self, source: BlockSource, *, seed: int = 0, processes: bool = False) -> None:
        self.inner = source
        self.layout, self.gaps, self.stretch = source.layout, source.gaps, source.stretch
        self.n_threads, self.processes = source.n_threads, processes
        self.sparse, self.operations = source.sparse, source.operations
        self.rng = np.random.default_rng(seed)
        cuts = self.rng.integers(0, source.n_rows + 1, int(self.rng.integers(2, 7)))
        bounds = np.sort([0, source.n_rows, *cuts, *cuts[:2], 0, source.n_rows])  # some are empty
        self.pieces = [slice(a, b) for a, b in pairwise(bounds)]

    @property
    def n_rows(self) -> int:
        return self.inner.n_rows

    @property
    def n_blocks(self) -> int:
        return len(self.pieces)

    @property
    def dtype(self):
        return self.inner.dtype

    def blocks(self) -> list[Block]:
        (whole,) = self.inner.blocks()
        return [
            whole._replace(
                rows=whole.rows[piece],
                sample_weight=None if whole.sample_weight is None else whole.sample_weight[piece],
                levels=None if whole.levels is None else whole.levels[piece],
                first_row=piece.start,
                gaps=self.gaps,
                stretch=self.stretch,
            )
            for piece in self.pieces
        ]

    def mapped(self, transform):
        return self._with(inner=self.inner.mapped(transform))

    def _on_all_blocks(self, reduction):
        memories = self._memory or ({},) * self.n_blocks
        tasks = [
            pickle.dumps((reduction, block, dict(memory)))
            for block, memory in zip(self.blocks(), memories, strict=True)
        ]
        results: dict[int, list[bytes]] = {at: [] for at in range(len(tasks))}
        order = self.rng.permutation(2 * len(tasks)) // 2
        if self.processes:
            futures = [(at, pool().submit(work, tasks[at])) for at in order]
            for at, future in futures:
                results[at].append(future.result(60))
        else:
            for at in order:
                results[at].append(work(tasks[at]))
        for once, again in results.values():
            assert once == again, f"{reduction!r} gave two answers for one block"
            yield _loaded(once)


def _loaded(result: bytes):
    """Return a part and row memory, where the part of an empty block stays what it is."""
    part, memory = pickle.loads(result)
    return part, memory
