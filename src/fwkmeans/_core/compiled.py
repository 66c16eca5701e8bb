"""The C++ kernels with the signatures of the twin: they get contiguous inputs and new outputs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

import fwkmeans._core._kernels as _kernels
from fwkmeans._core.array_kernels import Observed, cross_products, no_labels
from fwkmeans._core.packed import Numbers
from fwkmeans._core.twin import Moments, Slopes, Summary
from fwkmeans._tabular.layout import Layout, numeric_layout
from fwkmeans.typing import (
    Block,
    BoolArray,
    CoreOutcome,
    CoreRule,
    Description,
    Entities,
    FloatArray,
    IntArray,
    KnownRows,
    LabelArray,
    Labeled,
    LastLabels,
    Pass,
    RowArray,
    Statistics,
)

__all__ = [
    "SEGMENT",
    "accumulate_all",
    "alternate",
    "assign",
    "assign_and_accumulate",
    "cross_products",
    "describe",
    "describe_alone",
    "describe_complete",
    "description_of",
    "distances",
    "exp",
    "find_farthest",
    "instruction_set",
    "largest_share",
    "log",
    "mass_of",
    "n_segments",
    "no_labels",
    "observed_cells",
    "places",
    "powers",
    "roots",
    "run_starts",
    "slopes",
    "spread",
    "summarize",
    "take_rows",
    "useful_threads",
]

exp, log, summarize = _kernels.exp, _kernels.log, _kernels.summarize
instruction_set, largest_share = _kernels.instruction_set, _kernels.largest_share
n_segments, SEGMENT = _kernels.n_segments, _kernels.SEGMENT

# Below this many multiply-adds a second thread costs more than it saves, and below a quarter for
# each, so do others.
_SMALL = 1 << 19
_POWER = 16  # cost of a power in multiply-adds
_PIECE = 8192  # rows whose missing cells are counted together
_ITERATIONS = 10  # of a start, to tell small problems from large ones


def places() -> frozenset[int]:
    """Return the processors that this thread may run on, none where the system does not say."""
    ask = getattr(os, "sched_getaffinity", None)
    return frozenset() if ask is None else frozenset(ask(0))


def _threads(n_threads: int, work: int) -> int:
    """Return how many threads so much work keeps busy, of those there are."""
    return min(n_threads, 4 * work // _SMALL) if work > _SMALL else 1


def _block(block: Block, work: int) -> tuple[Any, ...]:
    """Return everything in a block but its rows, in the order of the core's arguments."""
    levels = None if block.levels is None else np.ascontiguousarray(block.levels)
    return (
        levels,
        block.sample_weight,
        block.first_row,
        block.gaps,
        block.stretch,
        _threads(block.n_threads, work),
    )


def _work(block: Block, assigning: Pass) -> int:
    each = assigning.centers.size * (1 if assigning.power is None else _POWER)
    if assigning.costs is not None and block.levels is not None:
        each += assigning.offsets.size * block.levels.shape[1]
    return int(block.rows.shape[0] * each)


def assign_and_accumulate(
    block: Block,
    assigning: Pass,
    reference: FloatArray,
    last: LastLabels | None,
    known: KnownRows | None = None,
) -> Statistics:
    """See `fwkmeans._core.twin.assign_and_accumulate`.

    If bounds are known, rows whose label they decide are not read, unless all rows are summed. The
    labels of `last` are only written then, and the fingerprint is the change of it.
    """
    n_threads = block.n_threads
    numbers = accumulate_all([block], assigning, reference, [last], [known], n_threads)
    return numbers.at(0).statistics(assigning, reference)


def accumulate_all(
    blocks: Sequence[Block],
    assigning: Pass,
    reference: FloatArray,
    lasts: Sequence[LastLabels | None],
    knowns: Sequence[KnownRows | None],
    n_threads: int,
) -> Numbers:
    """Return the numbers of `assign_and_accumulate` for each of some blocks, at once.

    Their rows have the same type, and all or none of them gaps. `lasts` and `knowns` have labels
    and bounds of each; bounds may be unknown for some.
    """
    work = sum(_work(block, assigning) for block in blocks)
    last = lasts[0]
    # rows of which no bounds are known have infinite ones, which hold for any last pass
    known = next((one for one in knowns if one and one.last), knowns[0])
    update = np.zeros(len(assigning.centers), dtype=np.bool_) if last is None else last.update
    numbers = Numbers.new(len(blocks), assigning, gaps=blocks[0].gaps)
    _kernels.assign_and_accumulate(
        [block.rows for block in blocks],
        [
            (_block(block, 0), last and last.labels, known and known[3:])
            for block, last, known in zip(blocks, lasts, knowns, strict=True)
        ],
        assigning,
        np.ascontiguousarray(reference),
        update.view(np.uint8),
        None if known is None else _last_pass(known),
        _threads(n_threads, work),
        numbers.floats,
        numbers.integers,
    )
    return numbers


def _last_pass(known: KnownRows) -> tuple[Any, ...]:
    """Return what is known of the last pass, in the order of the core's arguments."""
    last = known.last
    by = (None, None) if last is None else (last.centers, last.weights)
    return (known.span, *by, known.kept)


def take_rows(block: Block, indices: IntArray) -> Entities:
    """See `fwkmeans._core.twin.take_rows`."""
    # indexed, since NumPy's take would copy rows in Fortran order as a whole
    numbers = block.rows[indices].astype(np.float64, copy=False)
    if block.levels is None:
        return Entities(numbers, np.empty((len(indices), 0), dtype=np.int32))
    return Entities(numbers, block.levels[indices])


def observed_cells(block: Block) -> Observed:
    """See `fwkmeans._core.twin.observed_cells`."""
    n_rows, n_numeric = block.rows.shape
    in_row = np.empty(n_rows, dtype=np.int64)
    in_number = np.zeros(n_numeric, dtype=np.int64)
    _kernels.observed(block.rows, _block(block, block.rows.size), in_row, in_number)
    if block.levels is None:
        return Observed(in_row, in_number, np.zeros(0, dtype=np.int64))
    in_category = np.zeros(block.levels.shape[1], dtype=np.int64)
    for begin in range(0, n_rows, _PIECE):
        piece = slice(begin, begin + _PIECE)
        there = block.levels[piece] >= 0
        in_row[piece] += there.sum(axis=1)
        weighs = True if block.sample_weight is None else block.sample_weight[piece, None] > 0
        in_category += (there & weighs).sum(axis=0)
    return Observed(in_row, in_number, in_category)


def find_farthest(
    block: Block, assigning: Pass, eligible: BoolArray
) -> tuple[FloatArray, IntArray]:
    """See `fwkmeans._core.twin.find_farthest`."""
    distance = np.empty(assigning.centers.shape[0])
    row = np.empty(assigning.centers.shape[0], dtype=np.int64)
    _kernels.farthest(
        block.rows,
        _block(block, _work(block, assigning)),
        assigning,
        np.ascontiguousarray(eligible).view(np.uint8),
        distance,
        row,
    )
    return distance, row


def assign(block: Block, assigning: Pass, *, summed: bool = True) -> tuple[LabelArray, float]:
    """See `fwkmeans._core.twin.assign`."""
    labels = np.empty(block.rows.shape[0], dtype=np.int32)
    objective = _kernels.assign(
        block.rows, _block(block, _work(block, assigning)), assigning, labels, summed
    )
    return labels, objective


def mass_of(block: Block, labels: LabelArray, n_clusters: int) -> FloatArray:
    """See `fwkmeans._core.twin.mass_of`."""
    mass = np.zeros(n_clusters)
    _kernels.add_masses(labels, block.sample_weight, mass)
    return mass


def distances(block: Block, assigning: Pass) -> RowArray:
    """See `fwkmeans._core.twin.distances`."""
    out = np.empty((block.rows.shape[0], assigning.centers.shape[1]), dtype=block.rows.dtype)
    _kernels.distances(block.rows, _block(block, _work(block, assigning)), assigning, out)
    return out


def slopes(
    block: Block,
    points: FloatArray,
    power: FloatArray,
    labels: LabelArray,
    rough: bool = False,
) -> Slopes:
    """See `fwkmeans._core.twin.slopes`."""
    out = np.empty((len(Slopes._fields), *points.shape))
    work = _block(block, block.rows.size * len(points) * _POWER)
    _kernels.slopes(block.rows, work, np.ascontiguousarray(points), power, labels, rough, out)
    return Slopes(*out)


def powers(block: Block, points: FloatArray, power: FloatArray, labels: LabelArray) -> FloatArray:
    """See `fwkmeans._core.twin.powers`."""
    out = np.empty(points.shape)
    work = _block(block, block.rows.size * len(points) * _POWER)
    _kernels.powers(block.rows, work, np.ascontiguousarray(points), power, labels, out)
    return out


def roots(block: Block, points: FloatArray, power: FloatArray, labels: LabelArray) -> FloatArray:
    """See `fwkmeans._core.twin.roots`."""
    out = np.empty(points.shape)
    work = _block(block, block.rows.size * len(points) * _POWER * 10)
    _kernels.roots(block.rows, work, np.ascontiguousarray(points), power, labels, out)
    return out


def describe(block: Block, reference: FloatArray) -> Moments:
    """See `fwkmeans._core.twin.describe`."""
    n_features = block.rows.shape[1]
    numbers, counts = np.empty((5, n_features)), np.empty((2, n_features), dtype=np.int64)
    mass, n_rows = _kernels.describe(
        block.rows,
        _block(block, block.rows.size),
        np.ascontiguousarray(reference),
        numbers,
        counts,
    )
    return Moments(mass, n_rows, *numbers, *counts)


def describe_alone(block: Block) -> tuple[FloatArray, Moments, Summary | FloatArray]:
    """Describe a block that has all rows, about its first row with weight.

    Return this row, the moments about it, and what `fwkmeans._core.functions.summarize` says.
    """
    (reference, *others), counts, varying, (mass, n_rows, _, found) = _describe_alone(block)
    moments = Moments(mass, n_rows, *others[:5], *counts)
    summary = Summary._make((*others[5:], varying, *found)) if found[0] >= 0 else others[5]
    return reference, moments, summary


def describe_complete(block: Block) -> Description | None:
    """Describe a block that has all rows, and numbers only, in a single step.

    None if a cell is missing or infinite, or if squares cancel.
    """
    numbers, _, varying, (mass, n_rows, n_odd, found) = _describe_alone(block)
    if n_odd or found[0] < 0:
        return None
    layout = numeric_layout(block.rows.shape[1])
    return description_of(n_rows, mass, (*numbers[6:], varying, *found), layout)


def description_of(
    n_rows: int, mass: float, summary: tuple[Any, ...], layout: Layout, gaps: bool = False
) -> Description:
    """Return the description that a `Summary` gives, with what it would compute when asked."""
    mean, scatter, minimum, maximum, span, magnitude, equal_weights, varying, *found = summary
    description = Description(n_rows, mass, mean, scatter, minimum, maximum, layout, mean, gaps)
    n_varying, span_range, scatter_range, total_scatter = found
    vars(description).update(
        span=span,
        magnitude=magnitude,
        equal_weights=equal_weights,
        varying=varying,
        n_varying=n_varying,
        span_range=span_range,
        scatter_range=scatter_range,
        total_scatter=total_scatter,
    )
    return description


def _describe_alone(block: Block) -> tuple[FloatArray, IntArray, BoolArray, Any]:
    n_features = block.rows.shape[1]
    numbers, counts = np.empty((13, n_features)), np.empty((2, n_features), dtype=np.int64)
    varying = np.empty(n_features, dtype=np.bool_)
    given = _block(block, block.rows.size)
    found = _kernels.describe_alone(block.rows, given, numbers, counts, varying)
    numbers.flags.writeable = varying.flags.writeable = False
    return numbers, counts, varying, found


def alternate(
    block: Block,
    rule: CoreRule,
    table: Description,
    centers: FloatArray,
    weights: FloatArray,
    constants: FloatArray,
    group_weights: FloatArray,
    guards: FloatArray,
    initial: FloatArray,
    initial_groups: FloatArray,
    *,
    max_iter: int,
    tol: float,
    updates: bool,
    label: bool = False,
) -> CoreOutcome:
    """Run the whole loop of all starts; `fwkmeans._engine.loop.alternate` is its twin.

    `centers` and `weights`, (R, K, M), `constants`, (R,), and `group_weights`, (R, K, T), are
    replaced by the results. `guards`, (R, 1, 1), are added to dispersions. `initial`, (M,), and
    `initial_groups`, (T,), are the weights of a cluster that is moved. With `updates`, only rows
    that change their cluster are summed, where these are few. With `label`, rows are labeled by the
    start with the lowest objective.
    """
    objective, history, n_iter, flags, best, labels, total, mass, _ = run_starts(
        block,
        rule,
        table,
        centers,
        weights,
        constants,
        group_weights,
        guards,
        initial,
        initial_groups,
        max_iter,
        tol,
        updates,
        label,
    )
    labeled = None
    if labels is not None and mass is not None and best >= 0:
        labeled = Labeled(best, labels, np.array([total]), mass)
    converged, has_empty, given_up = flags
    return CoreOutcome(objective, history, n_iter, converged, has_empty, given_up, labeled)


def run_starts(
    block: Block,
    rule: CoreRule,
    table: Description,
    centers: FloatArray,
    weights: FloatArray,
    constants: FloatArray,
    group_weights: FloatArray,
    guards: FloatArray,
    initial: FloatArray,
    initial_groups: FloatArray,
    max_iter: int,
    tol: float,
    updates: bool,
    label: bool,
) -> tuple[Any, ...]:
    """Do what `alternate` does, and return what the core returns.

    These are objectives, history, numbers of iterations, flags (3, R), and the start by which rows
    are labeled, or -1, with labels, the sum of dissimilarities, the mass of each cluster, and the
    objective with that sum.
    """
    n_starts, n_clusters, _ = centers.shape
    n_rows = block.rows.shape[0]
    numbers = (table.scatter, table.mean, table.magnitude, table.span, initial, initial_groups)
    partition = None
    if rule.groups is not None:
        order = np.argsort(rule.groups, kind="stable")
        firsts = np.searchsorted(rule.groups[order], np.arange(initial_groups.size + 1))
        partition = (order, firsts, np.ascontiguousarray(rule.groups))
    objective, n_iter = np.empty(n_starts), np.empty(n_starts, dtype=np.int64)
    flags = np.empty((3, n_starts), dtype=np.bool_)  # converged, has_empty, given_up
    labels = np.empty(n_rows, dtype=np.int32) if label else None
    mass = np.empty(n_clusters) if label else None
    work = n_rows * centers.size
    history, best, total, inertia = _kernels.alternate(
        block.rows,
        _block(block, work * _ITERATIONS),
        (*rule[:6], _of_starts(rule.parameter, n_starts), _of_starts(rule.second, n_starts)),
        _of_starts(guards, n_starts),
        partition,
        (table.varying.view(np.uint8), *numbers),
        max_iter,
        float(tol),
        updates,
        centers,
        weights,
        constants,
        group_weights,
        objective,
        n_iter,
        flags.view(np.uint8),
        labels,
        mass,
        _threads(block.n_threads, work // n_starts),
    )
    return objective, history, n_iter, flags, best, labels, total, mass, inertia


def _of_starts(value: Any, n_starts: int) -> Any:
    """Return a number, or one for each start, as the core takes it."""
    if type(value) is float:
        return value
    numbers = np.ascontiguousarray(value, dtype=np.float64)
    if numbers.shape == (n_starts, 1, 1):
        return numbers
    return np.ascontiguousarray(np.broadcast_to(numbers, (n_starts, 1, 1)))


def useful_threads(
    n_rows: int, n_features: int, n_clusters: int, n_starts: int, shared: bool
) -> int:
    """Return how many threads the loop of so many starts keeps busy, if there are."""
    if n_starts * n_rows * n_features * n_clusters * _ITERATIONS <= _SMALL:
        return 1
    return _kernels.useful_threads(n_rows, n_features, n_clusters, n_starts, shared)


def spread(
    rows: RowArray,
    weights: RowArray,
    seeds: list[int],
    n_clusters: int,
    n_threads: int,
) -> IntArray:
    """Choose rows by greedy k-means++ for each seed: (R, K) indices.

    Weights have the type of the rows, so that the sums are those of scikit-learn.
    """
    cumulative = (weights / weights.sum()).cumsum(dtype=np.float64)
    cumulative /= cumulative[-1]
    chosen = np.empty((len(seeds), n_clusters), dtype=np.int64)
    n_trials = 2 + int(np.log(n_clusters))
    work = rows.size * chosen.size * n_trials
    _kernels.spread(
        np.ascontiguousarray(rows, dtype=np.float64),
        weights.astype(np.float64, copy=False),
        cumulative,
        np.asarray(seeds, dtype=np.uint32),
        n_trials,
        _threads(n_threads, work),
        chosen,
    )
    return chosen
