"""Where the rows live. The engine sees only `Source.reduce` and `Source.take`."""

from fwkmeans.sources.chunks import BLOCK_BYTES, ChunkedSource, open_npy
from fwkmeans.sources.describe import count_nonfinite, describe
from fwkmeans.sources.memory import MemorySource

__all__ = [
    "BLOCK_BYTES",
    "ChunkedSource",
    "MemorySource",
    "count_nonfinite",
    "describe",
    "open_npy",
]
