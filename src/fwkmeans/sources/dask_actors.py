"""Actors: objects on the workers of a Dask cluster that hold blocks while a loop runs.

A loop has many passes, and late ones take some ten milliseconds each and change little. Tasks cost
as much, and nobody may change what they have returned. So there is an actor on each worker that has
blocks: it holds the rows of all of them and their row memory, changes that in place, and gets the
reduction of a pass in a message, past the scheduler's list of tasks: by a line if its worker can be
reached (`fwkmeans.sources.dask_lines`), else by Dask.

Actors are lost with their worker. Others then get its blocks, which the scheduler has computed
again, and repeat what makes the same row memory: in a loop that is one pass, see `Accumulation`.
"""

from __future__ import annotations

import pickle
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakSet

from fwkmeans._core.packed import Numbers
from fwkmeans.sources import dask_lines
from fwkmeans.sources.base import as_weighted, on_block
from fwkmeans.sources.dask_tasks import (
    Memories,
    Parts,
    Sight,
    Sums,
    join_values,
    memories_at,
    read_only,
)
from fwkmeans.typing import FloatArray, Reduction, RowMemory

_SECONDS = 1.0  # after which we look whether an actor that does not answer is lost
_UNREACHED: WeakSet[Any] = WeakSet()  # clients that have failed to reach a worker by a line


class Turns:
    """The passes of a loop that changes row memory in place; which are counted."""

    def __init__(self) -> None:
        self.number = 0

    def next(self) -> int:
        """Return the number of a pass that is done."""
        self.number += 1
        return self.number

    def check(self, number: int) -> None:
        """Raise an error if row memory is no longer that of the pass with this number."""
        if number != self.number:
            raise RuntimeError(
                "A later pass has changed the row memory of this source. Inside of in_place, use "
                "the source that the last call of run has returned."
            )


# ---- on the workers ------------------------------------------------------------------------------


class _Failed:
    """An error of a reduction, which is no error of the connection."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class Keeper:
    """The actor: it holds some blocks and their row memory.

    Parameters
    ----------
    places : list of int
        The numbers of the blocks.
    cells, weights, first_rows : list
        Rows, weights and the index of the first row, of each block.
    kept, places_there : list
        Row memory of the blocks before the loop, as tasks have left it; see `memories_at`.
    sight : Sight
        How reductions see the blocks.
    number : int
        The number of the last pass that is done.
    again : list of Reduction
        What has to be done again, so that row memory is as that pass has left it.
    """

    def __init__(
        self,
        places: list[int],
        cells: list[Any],
        weights: list[FloatArray | None],
        first_rows: list[int],
        kept: list[Memories],
        places_there: list[list[int]],
        sight: Sight,
        number: int,
        again: list[Reduction[Any, Any]],
    ) -> None:
        import distributed

        self._places = places
        self._blocks = list(map(sight.block, cells, weights, first_rows))
        self._memories: list[RowMemory] = [
            {name: read_only(array) for name, array in memory.items()}
            for memory in memories_at(kept, places_there, len(places))
        ]
        n_threads = distributed.get_worker().state.nthreads
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None
        self._n_threads = max(n_threads, sight.n_threads)
        self._answer = b""
        self._number = number
        for reduction in again:
            self._on_blocks(reduction, keep=True)

    def listen(self) -> dask_lines.Number | None:
        """Return where a line to this actor begins, if there can be one."""
        return dask_lines.listen(self)

    def run(self, number: int, reduction: bytes) -> bytes:
        """Return the parts of the blocks, and keep the new row memory.

        Somebody who did not get the answer can ask again: a pass is done once.
        """
        if number > self._number:
            self._answer, self._number = self._try(reduction, keep=True), number
        return self._answer

    def reduce(self, reduction: bytes) -> bytes:
        """Return the parts of the blocks; row memory stays as it is."""
        return self._try(reduction, keep=False)

    def _try(self, reduction: bytes, *, keep: bool) -> bytes:
        try:
            return _packed(self._on_blocks(pickle.loads(reduction), keep=keep))
        except Exception as error:
            return _packed(_Failed(error))

    def _on_blocks(self, reduction: Reduction[Any, Any], *, keep: bool) -> Parts | Sums:
        reduction = reduction.hooks.changing_in_place() if keep else reduction
        found = self._together(reduction)
        if found is not None:
            numbers, memories = found
            answer: Parts | Sums = Sums.of_blocks(self._places, numbers)
        else:
            several: Callable[..., Iterable[Any]] = map if self._pool is None else self._pool.map
            one_by_one = several(partial(on_block, reduction), self._blocks, self._memories)
            parts, memories = map(list, zip(*one_by_one, strict=True))
            answer = join_values(reduction.join, self._places, parts)
        if keep:
            self._memories = memories
        return answer

    def _together(self, reduction: Any) -> tuple[Numbers, list[RowMemory]] | None:
        """Return what a reduction finds in all blocks at once, if it can do that."""
        blocks = list(map(as_weighted, self._blocks, self._memories))
        found: tuple[Numbers, list[RowMemory]] | None
        found = reduction.on_blocks(blocks, self._memories, self._n_threads)
        return found


def _stay() -> None:
    """Be there until nobody wants this task, so that an adaptive cluster does not close the worker.

    The scheduler takes workers for idle that have an actor and no task. This one takes no time, and
    no thread from others.
    """
    import distributed

    worker, key = distributed.get_worker(), distributed.get_worker().get_current_task()
    distributed.secede()
    while worker.status.name in ("running", "paused"):
        task = worker.state.tasks.get(key)
        if task is None or task.state not in ("executing", "long-running"):
            return
        time.sleep(_SECONDS / 10)


def _packed(value: Any) -> bytes:
    """Return a message; Dask would send each of some hundred small arrays by itself."""
    from distributed.protocol import pickle as any_pickle  # classes of a session, too

    packed: bytes = any_pickle.dumps(value)
    return packed


# ---- where the loop is ---------------------------------------------------------------------------


class _Kept(NamedTuple):
    """An actor, and what it has."""

    actor: Any
    future: Any  # of the actor, which lives as long as this
    guard: Any  # the future of `_stay` there
    blocks: list[int]
    line: socket.socket | None = None

    def ask(self, method: str, *arguments: Any) -> Any:
        """Return a future for what the actor answers, or the line; None if it is lost."""
        try:
            if self.line is None:
                return getattr(self.actor, method)(*arguments)
            dask_lines.send(self.line, pickle.dumps((method, arguments)))
        except (RuntimeError, OSError):
            return None
        return self.line

    def answer(self, asked: Any) -> Any:
        """Return what the actor answers; None if it is lost."""
        while asked is not None:
            try:
                if isinstance(asked, socket.socket):
                    return dask_lines.receive(asked, self._is_there)
                return asked.result(timeout=_SECONDS)
            except TimeoutError:
                asked = asked if self._is_there() else None
            except OSError:
                asked = None
        return None

    def _is_there(self) -> bool:
        return bool(self.future.status == "finished")

    def with_line(self, number: dask_lines.Number) -> _Kept:
        """Return it with a line; raise OSError if it cannot be reached."""
        line = dask_lines.call(number)
        line.settimeout(_SECONDS)
        return self._replace(line=line)


class Keepers(Turns):
    """The actors of all blocks.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster.
    place : callable
        Of some blocks, returns groups of them: the address of a worker, the blocks it is best to
        have there, and what `Keeper` needs to know of these.
    blocks : sequence of int
        All blocks.
    """

    def __init__(
        self,
        client: Any,
        place: Callable[[Sequence[int]], Iterable[tuple[str, list[int], tuple[Any, ...]]]],
        blocks: Sequence[int],
    ) -> None:
        super().__init__()
        self._client, self._place = client, place
        self._again: list[Reduction[Any, Any]] = []  # what a new actor does first
        self._kept: list[_Kept] = []
        self._kept = self._made(blocks)

    def run(self, reduction: Reduction[Any, Any]) -> list[Parts | Sums]:
        """Return the parts of all blocks, and let the actors keep the new row memory."""
        parts = self._ask("run", self.number + 1, _packed(reduction))
        self.next()
        anew = reduction.hooks.anew()
        if anew is None:
            self._again.append(reduction)
        else:  # what was done before does not matter any more
            self._again = [anew]
        return parts

    def reduce(self, reduction: Reduction[Any, Any]) -> list[Parts | Sums]:
        """Return the parts of all blocks; row memory stays as it is."""
        return self._ask("reduce", _packed(reduction))

    def close(self) -> None:
        """Let the workers drop the actors, as soon as these have done what they are at."""
        self._drop(self._kept)
        self._kept = []

    def _ask(self, method: str, *arguments: Any) -> list[Parts | Sums]:
        answers: list[Parts | Sums] = []
        asking = self._kept
        while asking:
            asked = [(kept, kept.ask(method, *arguments)) for kept in asking]
            lost: list[_Kept] = []
            for kept, future in asked:
                packed = kept.answer(future)
                if packed is None:
                    lost.append(kept)
                    continue
                answer = pickle.loads(packed)
                if isinstance(answer, _Failed):
                    raise answer.error
                answers.append(answer)
            asking = self._made_again(lost) if lost else []
        return answers

    def _made_again(self, lost: list[_Kept]) -> list[_Kept]:
        """Return actors for the blocks of those that are lost."""
        self._drop(lost)  # one that cannot be reached may still be there
        self._kept = [kept for kept in self._kept if kept not in lost]
        made = self._made(sorted(block for kept in lost for block in kept.blocks))
        self._kept += made
        return made

    def _drop(self, several: list[_Kept]) -> None:
        for kept in several:
            if kept.line is not None:
                kept.line.close()
        self._cancel([future for kept in several for future in (kept.future, kept.guard)])

    def _cancel(self, futures: list[Any]) -> None:
        """Give up actors; references to them may live on, since errors refer to what they met."""
        with suppress(Exception):  # the cluster may be what has failed
            self._client.cancel(futures)

    def _made(self, blocks: Sequence[int]) -> list[_Kept]:
        made: list[_Kept] = []
        while blocks:
            with seceded():
                some = self._tried(blocks)
                try:
                    made += self._with_lines(some)
                except BaseException:
                    self._drop(some)
                    raise
            here = {block for kept in made for block in kept.blocks}
            blocks = [block for block in blocks if block not in here]
        return made

    def _tried(self, blocks: Sequence[int]) -> list[_Kept]:
        """Return new actors for these blocks; some may be lost at once."""
        groups = list(self._place(blocks))
        submit = partial(self._client.submit, pure=False, allow_other_workers=True)
        futures, guards = [], []
        for worker, some, known in groups:
            there = {"workers": [worker]}  # or elsewhere, if that has gone meanwhile
            given = (some, *known, self.number, self._again)
            futures.append(submit(Keeper, *given, actor=True, **there))
            guards.append(submit(_stay, **there))
        made: list[_Kept] = []
        try:
            for (_, some, _), future, guard in zip(groups, futures, guards, strict=True):
                with suppress(_Lost):
                    made.append(_Kept(_result(future), future, guard, some))
        except BaseException:
            self._cancel([*futures, *guards])
            raise
        return made

    def _with_lines(self, several: list[_Kept]) -> list[_Kept]:
        """Return actors with lines to them, if their workers can be reached."""
        if self._client in _UNREACHED:
            return several
        asked = [kept.ask("listen") for kept in several]
        numbers = [kept.answer(one) for kept, one in zip(several, asked, strict=True)]
        lines: list[_Kept] = []
        try:
            for kept, number in zip(several, numbers, strict=True):
                lines.append(kept if number is None else kept.with_line(number))
        except OSError:
            _UNREACHED.add(self._client)
        return [*lines, *several[len(lines) :]]


class _Lost(Exception):  # noqa: N818 - nobody sees it
    """The worker of an actor has gone."""


def _result(future: Any) -> Any:
    try:
        return future.result()
    except RuntimeError as error:
        if "holding Actor was lost" in str(error):  # what Dask says
            raise _Lost from error
        raise


@contextmanager
def seceded() -> Iterator[None]:
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
