"""A sample of the rows of a source, copied into memory."""

from __future__ import annotations

from fwkmeans.sources.base import BlockSource
from fwkmeans.sources.entities import Present, rows_at, sparse_rows_at
from fwkmeans.sources.memory import MemorySource
from fwkmeans.sources.sparse import SparseSource
from fwkmeans.typing import FloatArray, IntArray, Source


def sample_of(
    source: Source, numbers: IntArray, present: Present, times: FloatArray
) -> BlockSource:
    """Return the rows with these numbers, in rising order, as a source that stands for all rows.

    Their weights are multiplied by the number of rows for which each of them stands.
    """
    n_threads = getattr(source, "n_threads", 1)
    if source.sparse:
        rows, weight = sparse_rows_at(source, numbers, present)
        sample: BlockSource = SparseSource(
            rows, times if weight is None else weight * times, n_threads
        )
    else:
        entities, weight = rows_at(source, numbers, present)
        layout = source.layout
        sample = MemorySource(
            entities.numbers.astype(source.dtype, copy=False),
            times if weight is None else weight * times,
            n_threads,
            levels=None if layout.is_numeric else entities.levels,
            layout=layout,
        )
    return sample.with_gaps(stretch=source.stretch) if source.gaps else sample
