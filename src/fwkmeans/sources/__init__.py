"""Where the rows are. The engine uses only `Source.run` and `Source.reduce`."""

from typing import TYPE_CHECKING

from fwkmeans._support.lazy import names_of
from fwkmeans._tabular.readers.arrays import open_npy
from fwkmeans.sources.base import BlockSource, join_in_tree, on_block
from fwkmeans.sources.chunks import BLOCK_BYTES, MEMORY, ChunkedSource
from fwkmeans.sources.describe import Faults, count_faults, describe, observed_mass
from fwkmeans.sources.entities import centers_of, count_present, indicators, rows_at
from fwkmeans.sources.gaps import count_observed, weigh_gaps
from fwkmeans.sources.memory import MemorySource
from fwkmeans.sources.samples import sample_of
from fwkmeans.sources.sparse import SparseSource

if TYPE_CHECKING:
    from fwkmeans.sources.device import DeviceSource, StreamedSource

__all__ = [
    "BLOCK_BYTES",
    "MEMORY",
    "BlockSource",
    "ChunkedSource",
    "DeviceSource",
    "Faults",
    "MemorySource",
    "SparseSource",
    "StreamedSource",
    "centers_of",
    "count_faults",
    "count_observed",
    "count_present",
    "describe",
    "indicators",
    "join_in_tree",
    "observed_mass",
    "on_block",
    "open_npy",
    "rows_at",
    "sample_of",
    "weigh_gaps",
]

__getattr__, __dir__ = names_of(__name__, {"DeviceSource": "device", "StreamedSource": "device"})
