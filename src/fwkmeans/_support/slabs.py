"""New arrays that are many and alike, and replace others soon: cut from slabs that are used again.

The system hands out fresh memory page by page, which takes longer than to fill it. So a slab whose
arrays are gone serves the next ones, until `release_slabs` is called.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_SLAB_BYTES = 16 * 2**20
_SMALL_BYTES = 2**16  # memory of such arrays is used again in any case
_LINE = 64  # bytes, at whose multiples arrays begin

_free: deque[NDArray[np.uint8]] = deque()
_in_use = False  # whether slabs are kept when their arrays are gone


class _Slab:
    """Memory whose arrays refer to it, so that it is free again when the last one is gone."""

    def __init__(self) -> None:
        try:
            self._memory = _free.pop()
        except IndexError:
            self._memory = np.empty(_SLAB_BYTES, dtype=np.uint8)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._memory.__array_interface__

    def __del__(self) -> None:
        if _in_use:
            _free.append(self._memory)


class _Rest(threading.local):
    """What is left of the last slab of this thread."""

    memory: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)


_rest = _Rest()


def new_array(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array whose entries are not set."""
    global _in_use
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    if not _SMALL_BYTES < n_bytes <= _SLAB_BYTES:
        return np.empty(shape, dtype)
    _in_use = True
    if _rest.memory.size < n_bytes:
        _rest.memory = np.asarray(_Slab())
    cut = -(-n_bytes // _LINE) * _LINE
    taken, _rest.memory = _rest.memory[:n_bytes], _rest.memory[cut:]
    return taken.view(dtype).reshape(shape)


def release_slabs() -> None:
    """Give free slabs back to the system, now and as soon as their arrays are gone."""
    global _in_use
    _in_use = False
    _rest.memory = np.empty(0, dtype=np.uint8)
    _free.clear()
