"""Which tables are read in blocks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from fwkmeans._support.errors import InputError

#: Bytes on disk from which on a table is read in blocks, unless memory is short.
LARGE = 2**30
#: The share of the memory that is free which a file may have; it takes several times as much.
SHARE = 1 / 8


class Streaming(NamedTuple):
    """Whether a table is read in blocks (None: if it is large), and the memory these may take."""

    stream: bool | None = None
    memory: int = 256 * 2**20


def is_streamed(path: str, streaming: Streaming) -> bool:
    """Tell whether a table is read in blocks: because that is asked for, or it is large.

    Folders, patterns and matrices of NumPy are only read so.
    """
    file = Path(path)
    several = file.is_dir() or (not file.exists() and any(one in path for one in "*?["))
    several = several or (file.is_file() and file.suffix.lower() == ".npy")
    if streaming.stream is False and several:
        raise InputError(f"{path} is only read in blocks: leave out --no-stream.")
    if path == "-" or (file.exists() and not several and not file.is_file()):
        if streaming.stream:
            raise InputError(f"{path} can be read only once: --stream needs a file.")
        return False
    if streaming.stream is not None or several:
        return bool(streaming.stream or several)
    if not file.is_file() or file.suffix.lower() in (".xlsx", ".xls"):
        return False
    return file.stat().st_size > min(LARGE, SHARE * free_memory())


def free_memory() -> float:
    """Return the bytes of memory that are free; infinity if nobody knows."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, AttributeError):
        return float("inf")
