"""Where the rows live. The engine sees only `Source.reduce` and `Source.take`."""

from fwkmeans.sources.chunks import BLOCK_BYTES, ChunkedSource, open_npy
from fwkmeans.sources.describe import (
    Faults,
    count_faults,
    count_observed,
    describe,
    observed_mass,
)
from fwkmeans.sources.entities import centers_at, indicators
from fwkmeans.sources.memory import MemorySource

__all__ = [
    "BLOCK_BYTES",
    "ChunkedSource",
    "Faults",
    "MemorySource",
    "centers_at",
    "count_faults",
    "count_observed",
    "describe",
    "indicators",
    "observed_mass",
    "open_npy",
]
