"""The rows of a table as a fitted mixture sees them, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from fwkmeans._mixture import Table, log_joint
from fwkmeans._support.threads import one_blas_thread
from fwkmeans._tabular.layout import Layout
from fwkmeans.sources import MemorySource, count_present, rows_at
from fwkmeans.sources.entities import draw_numbers
from fwkmeans.typing import Block, BlockReduction, FloatArray, RowMemory, Source

#: Rows whose densities are computed at a time.
ROWS_AT_A_TIME = 20_000
#: Bytes of rows that a mixture is fitted to if they are not in memory; of more, so many are drawn.
MOST_BYTES = 64 * 2**20


class Sums(NamedTuple):
    """What a mixture says of all rows together, and sums over the rows of each cluster."""

    likelihood: float
    mass: float
    observed: FloatArray  # (K, Mn) mass of the cells that are there
    numbers: FloatArray  # (K, Mn)
    levels: FloatArray  # (K, levels) mass
    n_rows: FloatArray  # (K,) rows, also those without weight

    def means(self, otherwise: FloatArray) -> FloatArray:
        """Return the means of numeric columns in clusters; those of the table in empty ones."""
        there = self.observed > 0
        return np.where(there, self.numbers / np.where(there, self.observed, 1.0), otherwise)

    def frequencies(self, layout: Layout) -> FloatArray:
        """Return the frequencies of levels in clusters."""
        totals = layout.levels(layout.sums(self.levels))
        out = np.zeros_like(self.levels)
        return np.asarray(np.divide(self.levels, totals, out=out, where=totals > 0))


@dataclass(frozen=True)
class Densities(BlockReduction[Sums]):
    """Reduction to `Sums`; labels or probabilities of the rows are kept in row memory."""

    encoding: Any
    mixture: Any
    n_clusters: int
    n_levels: int
    keep: str = ""  # or "labels", or "probabilities"

    def on_block(self, block: Block, memory: RowMemory) -> tuple[Sums, RowMemory]:
        """Return the sums of a block."""
        rows: Any = block.rows
        weight = np.ones(len(rows)) if block.sample_weight is None else block.sample_weight
        joint = np.empty((len(rows), self.n_clusters))
        with one_blas_thread():
            for first in range(0, len(rows), ROWS_AT_A_TIME):
                piece = slice(first, first + ROWS_AT_A_TIME)
                levels = None if block.levels is None else block.levels[piece]
                joint[piece] = log_joint(self.encoding.encode(rows[piece], levels), self.mixture)[0]
            total = logsumexp(joint, axis=1)
            labels = np.asarray(joint.argmax(axis=1), dtype=np.int32)
            member = np.eye(self.n_clusters)[labels] * weight[:, None]
            present = np.isfinite(rows)
            sums = Sums(
                float(weight @ total),
                float(weight.sum()),
                member.T @ present,
                member.T @ np.where(present, rows, 0.0),
                self._levels(block.levels, member),
                np.bincount(labels, minlength=self.n_clusters).astype(np.float64),
            )
        if self.keep == "labels":
            memory = {**memory, "labels": labels}
        elif self.keep:
            memory = {**memory, "probabilities": _shares(joint, total)}
        return sums, memory

    def join(self, before: Sums, after: Sums) -> Sums:
        """Add the parts."""
        added: list[Any] = [a + b for a, b in zip(before, after, strict=True)]  # type: ignore[operator]
        return Sums(*added)

    def _levels(self, levels: Any, member: FloatArray) -> FloatArray:
        out = np.zeros((self.n_clusters, self.n_levels))
        for column in () if levels is None else levels.T:
            here = column >= 0
            np.add.at(out.T, column[here], member[here])
        return out


def _shares(joint: FloatArray, total: FloatArray) -> FloatArray:
    """Return the probability of each cluster."""
    shares = np.exp(joint - total[:, None])
    whole = shares.sum(axis=1, keepdims=True)
    # of a row very far away, all digits may be those of its distance
    return np.asarray(shares / np.where(np.abs(whole - 1.0) > 1e-9, whole, 1.0))


def table_of(source: Source) -> Table:
    """Return the rows of a source, or some of them if they are too many to be in memory.

    Of a table outside of memory these are rows with weight, always the same ones.
    """
    if isinstance(source, MemorySource):
        weight = source.sample_weight
        weight = np.ones(source.n_rows) if weight is None else np.asarray(weight, np.float64)
        return Table(source.rows, source.levels, source.layout, weight)
    present = count_present(source)
    width = 8 * max(1, source.layout.n_features)
    drawn = rows_at(source, draw_numbers(present.n_rows, MOST_BYTES // width), present)
    weight = drawn.sample_weight
    return Table(
        drawn.entities.numbers,
        None if source.layout.is_numeric else drawn.entities.levels,
        source.layout,
        np.ones(len(drawn.entities.numbers)) if weight is None else np.asarray(weight, np.float64),
    )
