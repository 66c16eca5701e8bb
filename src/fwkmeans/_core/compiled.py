"""The C++ kernels behind the twin's signatures: contiguous inputs, fresh outputs."""

from __future__ import annotations

import numpy as np

import fwkmeans._core._kernels as _kernels
from fwkmeans._core.twin import Moments
from fwkmeans._typing import (
    BoolArray,
    FloatArray,
    IntArray,
    LabelArray,
    LastLabels,
    RowArray,
    Statistics,
)

instruction_set = _kernels.instruction_set
multiply_adds = _kernels.multiply_adds
n_segments = _kernels.n_segments

# Below this many multiply-adds a second thread costs more than it brings.
_SMALL = 1 << 19


def _threads(n_threads: int, work: int) -> int:
    return n_threads if work > _SMALL else 1


def assign_and_accumulate(
    rows: RowArray,
    sample_weight: FloatArray | None,
    first_row: int,
    centers: FloatArray,
    weights: FloatArray,
    offsets: FloatArray,
    reference: FloatArray,
    shift: FloatArray,
    last: LastLabels | None,
    n_threads: int,
) -> Statistics:
    """See `fwkmeans._core.twin.assign_and_accumulate`."""
    n_starts, n_clusters, _ = centers.shape
    out = Statistics(
        mass=np.empty((n_starts, n_clusters)),
        rows=np.empty((n_starts, n_clusters), dtype=np.int64),
        sums=np.empty(centers.shape),
        squares=np.empty(centers.shape),
        fingerprint=np.empty(n_starts, dtype=np.int64),
        changed=np.empty(n_starts, dtype=np.int64),
        reference=reference,
    )
    update = np.zeros(n_starts, dtype=np.bool_) if last is None else last.update
    _kernels.assign_and_accumulate(
        rows,
        sample_weight,
        first_row,
        np.ascontiguousarray(centers),
        np.ascontiguousarray(weights),
        np.ascontiguousarray(offsets),
        np.ascontiguousarray(reference),
        shift,
        _threads(n_threads, rows.shape[0] * centers.size),
        None if last is None else last.labels,
        update.view(np.uint8),
        *out[:4],
        out.fingerprint.view(np.uint64),
        out.changed,
    )
    return out


def find_farthest(
    rows: RowArray,
    sample_weight: FloatArray | None,
    first_row: int,
    centers: FloatArray,
    weights: FloatArray,
    offsets: FloatArray,
    shift: FloatArray,
    eligible: BoolArray,
    n_threads: int,
) -> tuple[FloatArray, IntArray]:
    """See `fwkmeans._core.twin.find_farthest`."""
    distance = np.empty(centers.shape[0])
    row = np.empty(centers.shape[0], dtype=np.int64)
    _kernels.farthest(
        rows,
        sample_weight,
        first_row,
        np.ascontiguousarray(centers),
        np.ascontiguousarray(weights),
        np.ascontiguousarray(offsets),
        shift,
        np.ascontiguousarray(eligible).view(np.uint8),
        _threads(n_threads, rows.shape[0] * centers.size),
        distance,
        row,
    )
    return distance, row


def assign(
    rows: RowArray,
    sample_weight: FloatArray | None,
    centers: FloatArray,
    weights: FloatArray,
    offsets: FloatArray,
    shift: FloatArray,
    n_threads: int,
) -> tuple[LabelArray, float]:
    """See `fwkmeans._core.twin.assign`."""
    labels = np.empty(rows.shape[0], dtype=np.int32)
    objective = _kernels.assign(
        rows,
        sample_weight,
        np.ascontiguousarray(centers),
        np.ascontiguousarray(weights),
        np.ascontiguousarray(offsets),
        shift,
        _threads(n_threads, rows.shape[0] * centers.size),
        labels,
    )
    return labels, objective


def distances(rows: RowArray, centers: FloatArray, weights: FloatArray, n_threads: int) -> RowArray:
    """See `fwkmeans._core.twin.distances`."""
    out = np.empty((rows.shape[0], centers.shape[1]), dtype=rows.dtype)
    threads = _threads(n_threads, rows.shape[0] * centers.size)
    _kernels.distances(
        rows, np.ascontiguousarray(centers), np.ascontiguousarray(weights), threads, out
    )
    return out


def describe(
    rows: RowArray, sample_weight: FloatArray | None, reference: FloatArray, n_threads: int
) -> Moments:
    """See `fwkmeans._core.twin.describe`."""
    n_features = rows.shape[1]
    mass, n_rows = np.empty(1), np.empty(1, dtype=np.int64)
    sums, squares, minimum, maximum = (np.empty(n_features) for _ in range(4))
    nonfinite = np.empty(n_features, dtype=np.int64)
    threads = _threads(n_threads, rows.size)
    _kernels.describe(
        rows,
        sample_weight,
        np.ascontiguousarray(reference),
        threads,
        mass,
        n_rows,
        sums,
        squares,
        minimum,
        maximum,
        nonfinite,
    )
    return Moments(float(mass[0]), int(n_rows[0]), sums, squares, minimum, maximum, nonfinite)
