"""The kernels as a few lines of array-API code.

The specification the C++ is tested against, the fall-back where it was not built, and the base of
the device path. Everything is computed from the differences, in float64, block by block.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from array_api_compat import array_namespace, device

from fwkmeans._typing import LastLabels, Statistics

_CHUNK = 1 << 22  # numbers in the largest temporary, (rows, K, M)


class Moments(NamedTuple):
    """Sums over the rows of a block; `sums` and `squares` are taken about the reference."""

    mass: float
    n_rows: int
    sums: Any  # (M,)
    squares: Any  # (M,)
    minimum: Any  # (M,)
    maximum: Any  # (M,)
    nonfinite: Any  # (M,) cells that are NaN or infinite


def _chunks(rows: Any, sample_weight: Any, n_clusters: int = 1) -> Iterator[tuple[int, Any, Any]]:
    xp = array_namespace(rows)
    step = max(1, min(4096, _CHUNK // (n_clusters * rows.shape[1])))
    for begin in range(0, rows.shape[0], step):
        end = min(begin + step, rows.shape[0])
        chunk = xp.astype(rows[begin:end, :], xp.float64)
        if sample_weight is None:
            weight = xp.ones(chunk.shape[0], dtype=xp.float64, device=device(rows))
        else:
            weight = sample_weight[begin:end]
        yield begin, chunk, weight


def dissimilarities(chunk: Any, centers: Any, weights: Any) -> Any:
    """Return ``d[i, k] = sum_v w_kv (y_iv - c_kv)^2`` for (n, M) rows and (K, M) centers."""
    xp = array_namespace(chunk)
    return xp.sum(weights[None, :, :] * (chunk[:, None, :] - centers[None, :, :]) ** 2, axis=-1)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def row_keys(first_row: int, n_rows: int, xp: Any, where: Any) -> Any:
    """Return splitmix64 of the row numbers, as wrapping int64."""
    index = xp.arange(first_row + 1, first_row + n_rows + 1, dtype=xp.int64, device=where)

    def mixed(z: Any, shift: int) -> Any:  # z ^ (z >> shift), the shift being a logical one
        mask = xp.asarray((1 << (64 - shift)) - 1, dtype=xp.int64, device=where)
        steps = xp.asarray(shift, dtype=xp.int64, device=where)
        return xp.bitwise_xor(z, xp.bitwise_and(xp.bitwise_right_shift(z, steps), mask))

    z = index * _signed(0x9E3779B97F4A7C15)
    z = mixed(z, 30) * _signed(0xBF58476D1CE4E5B9)
    z = mixed(z, 27) * _signed(0x94D049BB133111EB)
    return mixed(z, 31)


def assign_and_accumulate(
    rows: Any,
    sample_weight: Any,
    first_row: int,
    centers: Any,
    weights: Any,
    offsets: Any,
    reference: Any,
    shift: Any,
    last: LastLabels | None,
    n_threads: int,
) -> Statistics:
    """Assign each row to ``argmin_k d_ik + offset_k`` and sum about the clusters' references.

    Where the last labels are known they are replaced; starts marked for `update` then get the
    difference of the sums instead: rows that changed, out of one cluster and into another.
    """
    xp, where = array_namespace(rows), device(rows)
    keys = row_keys(first_row, rows.shape[0], xp, where)
    starts = []
    for r in range(centers.shape[0]):
        parts = []
        for begin, chunk, weight in _chunks(rows, sample_weight, centers.shape[1]):
            d = dissimilarities(chunk, centers[r, ...], weights[r, ...])
            labels = xp.argmin(d + offsets[r, :], axis=-1)
            sums = _sums(chunk, weight, labels, reference[r, ...], xp)
            changed = xp.zeros(1, dtype=xp.int64, device=where)
            if last is not None:
                here = slice(begin, begin + chunk.shape[0])
                before = xp.astype(last.labels[r, here], labels.dtype)
                changed = changed + xp.astype(xp.count_nonzero(before != labels), xp.int64)
                if last.update[r]:
                    earlier = _sums(chunk, weight, before, reference[r, ...], xp)
                    sums = [new - old for new, old in zip(sums, earlier, strict=True)]
                last.labels[r, here] = xp.astype(labels, last.labels.dtype)
            key = keys[begin : begin + chunk.shape[0]] * xp.astype(weight > 0, xp.int64)
            printed = xp.sum(key * (xp.astype(labels, xp.int64) + 1), keepdims=True)
            parts.append([*sums, printed, changed])
        starts.append([sum(column[1:], start=column[0]) for column in zip(*parts, strict=True)])
    mass, n_rows, sums_, squares, printed, changed = (
        xp.stack(list(column)) for column in zip(*starts, strict=True)
    )
    return Statistics(
        mass, xp.astype(n_rows, xp.int64), sums_, squares, printed[:, 0], changed[:, 0], reference
    )


def _sums(chunk: Any, weight: Any, labels: Any, reference: Any, xp: Any) -> list[Any]:
    """Return mass, number of rows, sums and sums of squares of each cluster."""
    clusters = xp.arange(reference.shape[0], device=device(chunk))
    member = xp.astype(labels[None, :] == clusters[:, None], xp.float64)  # (K, n)
    t = chunk - xp.take(reference, labels, axis=0)
    return [
        xp.sum(member * weight, axis=-1),
        xp.sum(member * xp.astype(weight > 0, xp.float64), axis=-1),
        member @ (weight[:, None] * t),
        member @ (weight[:, None] * t * t),
    ]


def find_farthest(
    rows: Any,
    sample_weight: Any,
    first_row: int,
    centers: Any,
    weights: Any,
    offsets: Any,
    shift: Any,
    eligible: Any,
    n_threads: int,
) -> tuple[Any, Any]:
    """Return, for each start, the row farthest from its own center (-1 if all are on theirs).

    Only rows with weight whose cluster is ``eligible`` count; the first of tied rows is taken.
    """
    xp, where = array_namespace(rows), device(rows)
    found = []
    for r in range(centers.shape[0]):
        distance, row = 0.0, -1
        for begin, chunk, weight in _chunks(rows, sample_weight, centers.shape[1]):
            d = dissimilarities(chunk, centers[r, ...], weights[r, ...])
            labels = xp.argmin(d + offsets[r, :], axis=-1)
            own = xp.take_along_axis(d, labels[:, None], axis=-1)[:, 0]
            counts = xp.take(eligible[r, :], labels, axis=0) & (weight > 0)
            own = xp.where(counts, own, xp.zeros_like(own))
            best = int(xp.argmax(own))
            if float(own[best]) > distance:
                distance, row = float(own[best]), first_row + begin + best
        found.append((distance, row))
    distances_, rows_ = zip(*found, strict=True)
    return (
        xp.asarray(distances_, dtype=xp.float64, device=where),
        xp.asarray(rows_, dtype=xp.int64, device=where),
    )


def assign(
    rows: Any,
    sample_weight: Any,
    centers: Any,
    weights: Any,
    offsets: Any,
    shift: Any,
    n_threads: int,
) -> tuple[Any, float]:
    """Return labels and ``sum_i s_i (d + offset)`` of the only start."""
    xp = array_namespace(rows)
    labels, objective = [], 0.0
    for _, chunk, weight in _chunks(rows, sample_weight, centers.shape[1]):
        d = dissimilarities(chunk, centers[0, ...], weights[0, ...]) + offsets[0, :]
        labels.append(xp.astype(xp.argmin(d, axis=-1), xp.int32))
        objective += float(xp.sum(weight * xp.min(d, axis=-1)))
    return xp.concat(labels), objective


def distances(rows: Any, centers: Any, weights: Any, n_threads: int) -> Any:
    """Return the square roots of the dissimilarities of the only start, (n, K)."""
    xp = array_namespace(rows)
    parts = [
        xp.sqrt(dissimilarities(chunk, centers[0, ...], weights[0, ...]))
        for _, chunk, _ in _chunks(rows, None, centers.shape[1])
    ]
    return xp.astype(xp.concat(parts), rows.dtype)


def describe(rows: Any, sample_weight: Any, reference: Any, n_threads: int) -> Moments:
    """Return weighted sums about the reference, and the extremes of the rows with weight."""
    xp = array_namespace(rows)
    parts = []
    for _, chunk, weight in _chunks(rows, sample_weight):
        t = chunk - reference
        present = weight[:, None] > 0
        zero = xp.zeros_like(t)
        parts.append(
            (
                float(xp.sum(weight)),
                int(xp.count_nonzero(weight > 0)),
                xp.sum(xp.where(present, weight[:, None] * t, zero), axis=0),
                xp.sum(xp.where(present, weight[:, None] * t * t, zero), axis=0),
                xp.min(xp.where(present, chunk, zero + math.inf), axis=0),
                xp.max(xp.where(present, chunk, zero - math.inf), axis=0),
                xp.count_nonzero(~xp.isfinite(chunk), axis=0),
            )
        )
    mass, n_rows, sums, squares, minima, maxima, nonfinite = zip(*parts, strict=True)
    return Moments(
        sum(mass),
        sum(n_rows),
        sum(sums[1:], start=sums[0]),
        sum(squares[1:], start=squares[0]),
        xp.min(xp.stack(minima), axis=0),
        xp.max(xp.stack(maxima), axis=0),
        sum(nonfinite[1:], start=nonfinite[0]),
    )
