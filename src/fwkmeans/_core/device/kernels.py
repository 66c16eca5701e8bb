"""Kernels for rows on a device, with the signatures of the twin; results come back to the host.

Only what has one entry per row (labels, distances) stays on the device.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from fwkmeans._core import array_kernels
from fwkmeans._core.array_kernels import CrossProducts
from fwkmeans._core.device import programs
from fwkmeans._core.device.rows import DeviceRows
from fwkmeans._core.twin import Moments
from fwkmeans._support.arrays import to_host
from fwkmeans.typing import (
    Block,
    BoolArray,
    Entities,
    FloatArray,
    IntArray,
    LastLabels,
    Pass,
    Statistics,
)

_PIECE = 512  # rows that are sorted together
_GROUPS = 256  # groups of rows, if they are large enough
_IN_GROUP = 128  # rows of each cluster that a group should have
_RUN = 32  # tiles that are added in the precision of the rows
_CELLS = 1 << 25  # cells of the largest temporary array
# how much each product may be off: rounded factors, and sums in float32
_PRODUCT_ERROR = {"tf32": 1.01 * 2.0**-10, "tf32x3": 2.0**-19}
_SUM_ERROR = 2.0**-22


class _Shape(NamedTuple):
    """How a problem is cut into tiles."""

    features: int
    feature_chunks: int
    clusters: int
    cluster_chunks: int
    tile: int  # rows
    warps: int
    stages: int

    @property
    def width(self) -> int:
        return self.features * self.feature_chunks

    @property
    def height(self) -> int:
        return self.clusters * self.cluster_chunks


def _power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length()


def _shape(n_features: int, n_clusters: int) -> _Shape:
    features, clusters = (max(16, _power_of_two(n)) for n in (n_features, n_clusters))
    tile, warps, stages = (64, 4, 3) if features > 32 else (128, 4, 4)
    if max(features, clusters) > 64:
        features, clusters = min(features, 32), min(clusters, 256)
        tile, warps, stages = 128, 8, 2
    chunks = -(-n_features // features), -(-n_clusters // clusters)
    return _Shape(features, chunks[0], clusters, chunks[1], tile, warps, stages)


def tiles_of(n_features: int) -> dict[str, int]:
    """Return how features are cut where no products are formed."""
    features = min(64, _power_of_two(n_features))
    return {"FEATURES": features, "FEATURE_CHUNKS": -(-n_features // features)}


def _rows(block: Block) -> DeviceRows:
    rows: Any = block.rows
    assert isinstance(rows, DeviceRows)
    return rows


class _Sizes(NamedTuple):
    """What a pass has of everything."""

    n_starts: int
    n_clusters: int
    n_features: int
    shared: bool  # whether clusters share their weights
    referenced: bool  # whether sums are wanted, about references

    @classmethod
    def of(cls, assigning: Pass, referenced: bool = False) -> _Sizes:
        n_starts, n_clusters, n_features = assigning.centers.shape
        shared = assigning.weights.shape[1] == 1
        return cls(n_starts, n_clusters, n_features, shared, referenced)

    @property
    def parts(self) -> list[tuple[int, ...]]:
        """Shapes of what is sent: centers, weights, offsets, shift, reference and flags."""
        clusters = (self.n_starts, self.n_clusters)
        cells = (*clusters, self.n_features)
        weights = (self.n_starts, 1, self.n_features) if self.shared else cells
        references = cells if self.referenced else (0, 0, 0)
        return [cells, weights, clusters, (self.n_features,), references, (2, self.n_starts)]


def _sent(
    rows: DeviceRows,
    assigning: Pass,
    reference: FloatArray | None = None,
    update: BoolArray | None = None,
    out: Any = None,
) -> Any:
    """Return centers, weights and the like as one vector of float64 on the device."""
    update = np.zeros(len(assigning.centers), dtype=np.bool_) if update is None else update
    shift = assigning.shift.astype(rows.dtype)
    given = [assigning.centers, assigning.weights, assigning.offsets, shift]
    given += [] if reference is None else [reference]
    given += [np.where(update, 1, 0), np.where(update, 1, 2)]  # which rows count: see the programs
    flat = np.concatenate([array.ravel() for array in given], dtype=np.float64)
    staging = rows.staged(flat.size)
    staging.numpy()[...] = flat
    if out is None:
        return staging.to(rows.tensor.device, non_blocking=True)
    return out.copy_(staging, non_blocking=True)


class _Parameters:
    """What the programs make of centers and weights."""

    def __init__(self, rows: DeviceRows, sizes: _Sizes, sent: Any) -> None:
        self.n_starts, self.n_clusters, self.n_features, self.shared, referenced = sizes
        self.shape = shape = _shape(self.n_features, self.n_clusters)
        ends = np.cumsum([int(np.prod(part)) for part in sizes.parts]).tolist()
        views = [
            sent[end - int(np.prod(part)) : end].view(part)
            for part, end in zip(sizes.parts, ends, strict=True)
        ]
        self.centers, self.weights, self.offsets, self.shift, given, flags = views
        self.which = flags.to(torch.int32)
        where, number = rows.tensor.device, rows.tensor.dtype
        factors = (2, self.n_starts, shape.height, shape.width)
        self.products = torch.empty(factors, dtype=torch.float32, device=where)
        self.squares = self.products if self.shared else torch.empty_like(self.products)
        self.constants = torch.empty(factors[1:3], dtype=torch.float32, device=where)
        self.high, self.low = (
            torch.empty(given.shape, dtype=number, device=where) for _ in range(2)
        )
        programs.prepare[(self.n_starts, shape.height)](
            self.centers,
            self.weights,
            self.offsets,
            self.shift,
            given,
            self.products,
            self.squares,
            self.constants,
            self.high,
            self.low,
            self.n_features,
            self.n_clusters,
            SHARED=self.shared,
            REFERENCE=referenced,
            **self.tiles,
            num_warps=1,
        )
        self.sizes = torch.empty((self.n_starts, shape.width), dtype=torch.float32, device=where)
        self.least = torch.empty((2, self.n_starts), dtype=torch.float32, device=where)
        sums = (self.n_features + 8) * _SUM_ERROR
        self.errors = [error + sums for error in _PRODUCT_ERROR.values()]
        programs.prepare_bounds[(self.n_starts,)](
            self.centers,
            self.weights,
            self.offsets,
            self.shift,
            self.sizes,
            self.least,
            self.n_features,
            self.n_clusters,
            *self.errors,
            sums,
            SHARED=self.shared,
            **self.tiles,
            num_warps=1,
        )

    @property
    def tiles(self) -> dict[str, int]:
        """How the features are cut."""
        return {"FEATURES": self.shape.features, "FEATURE_CHUNKS": self.shape.feature_chunks}


def _programs(tensor: Any, each: int) -> int:
    """Return how many programs fill the device."""
    if tensor.device.type != "cuda":
        return 2  # the interpreter runs one after another
    return int(torch.cuda.get_device_properties(tensor.device).multi_processor_count) * each


def _find_labels(rows: DeviceRows, given: _Parameters, out: Any) -> Any:
    """Write the labels of all starts, (starts, rows); return how many products left in doubt.

    Products of tf32 decide most rows, products of three times as many digits most of the others,
    and differences in float64 the rest.
    """
    tensor, (n_rows, n_features), n_starts = rows.tensor, rows.shape, given.n_starts
    n_doubtful = torch.zeros((2, n_starts), dtype=torch.int32, device=tensor.device)
    doubtful = [rows.buffer(f"doubtful{at}", n_starts * n_rows, torch.int32) for at in range(2)]
    n_programs = max(1, _programs(tensor, 6) // n_starts)
    tile = given.shape.tile
    for at, precision in enumerate(_PRODUCT_ERROR):
        listed = {"given": doubtful[0], "n_given": n_doubtful[0], "LISTED": at > 0}
        programs.nearest[(min(-(-n_rows // tile), n_programs), n_starts)](
            tensor,
            *tensor.stride(),
            given.shift,
            given.squares[at],
            given.products[at],
            given.constants,
            given.sizes,
            given.least[at],
            2.0 * given.errors[at],
            out,
            n_rows=n_rows,
            n_features=n_features,
            n_clusters=given.n_clusters,
            **listed,
            SHARED=given.shared,
            TILE=tile,
            CLUSTERS=given.shape.clusters,
            CLUSTER_CHUNKS=given.shape.cluster_chunks,
            PRECISION=precision,
            STAGES=given.shape.stages if at == 0 else 1,
            **given.tiles,
            num_warps=given.shape.warps,
        )
        programs.list_doubtful[(min(-(-n_rows // _PIECE), 4 * n_programs), n_starts)](
            out,
            doubtful=doubtful[at],
            n_doubtful=n_doubtful[at],
            n_rows=n_rows,
            **listed,
            PIECE=_PIECE,
        )
    programs.decide[(n_programs, n_starts)](
        tensor,
        *tensor.stride(),
        given.centers,
        given.weights,
        given.offsets,
        out,
        doubtful[1],
        n_doubtful[1],
        n_rows,
        n_features,
        given.n_clusters,
        SHARED=given.shared,
        TILE=32,
        **given.tiles,
        num_warps=4,
    )
    return n_doubtful


def _groups(n_rows: int, n_clusters: int) -> tuple[int, int]:
    """Return the number of pieces in a group, and the number of groups."""
    n_pieces = -(-n_rows // _PIECE)
    enough = -(-_IN_GROUP * n_clusters // _PIECE)
    in_group = min(n_pieces, max(n_pieces // _GROUPS, enough, 1))
    return in_group, -(-n_pieces // in_group)


class _Lists(NamedTuple):
    """The rows of each group of pieces, sorted by cluster."""

    listed: Any
    begins: Any  # (starts, groups, clusters)
    totals: Any
    changed: Any  # (starts, pieces)
    prints: Any  # (starts, pieces)


def _sorted_rows(
    block: Block, labels: Any, other: Any, which: Any, n_clusters: int, *, prints: bool
) -> _Lists:
    rows = _rows(block)
    where, n_rows = rows.tensor.device, len(rows)
    n_starts = labels.shape[0]
    in_group, n_groups = _groups(n_rows, n_clusters)
    weight = rows.on_device(block.sample_weight)
    n_pieces = n_groups * in_group  # the last may be beyond the table
    counts = torch.empty((n_starts, n_pieces, n_clusters), dtype=torch.int32, device=where)
    changed = torch.zeros((n_starts, n_pieces), dtype=torch.int32, device=where)
    marks = torch.empty((n_starts, n_pieces), dtype=torch.int64, device=where)
    options: dict[str, Any] = {
        "OTHER": other is not None,
        "WEIGHTED": weight is not None,
        "PIECE": _PIECE,
    }
    other = labels if other is None else other
    weight = which if weight is None else weight  # not read
    grid = (n_pieces, n_starts)
    programs.count_rows[grid](
        labels,
        other,
        weight,
        which,
        counts,
        changed,
        marks,
        block.first_row,
        n_rows,
        n_clusters,
        PRINT=prints,
        BINS=_power_of_two(n_clusters + 1),
        **options,
        num_warps=1,
    )
    in_groups = counts.view(n_starts, n_groups, in_group, n_clusters)
    totals = in_groups.sum(dim=2, dtype=torch.int32)
    begins = torch.cumsum(totals, dim=-1, dtype=torch.int32) - totals
    before = torch.cumsum(in_groups, dim=2, dtype=torch.int32) - in_groups
    inside = torch.cumsum(in_groups, dim=-1, dtype=torch.int32) - in_groups
    steps = (begins[:, :, None] + before - inside).view(n_starts, -1, n_clusters)
    listed = rows.buffer("listed", n_starts * n_groups * in_group * _PIECE, torch.int32)
    programs.list_rows[grid](
        labels,
        other,
        weight,
        which,
        steps,
        listed,
        n_rows,
        n_clusters,
        in_group,
        **options,
        num_warps=1,
    )
    return _Lists(listed, begins, totals, changed, marks)


def _add_sums(block: Block, lists: _Lists, given: _Parameters, out: Any, *, subtract: bool) -> None:
    """Write mass, number of rows, sums and squares of each cluster about the references."""
    rows = _rows(block)
    tensor, (n_rows, n_features) = rows.tensor, rows.shape
    n_starts, n_groups, n_clusters = lists.totals.shape
    in_group, _ = _groups(n_rows, n_clusters)
    weight = rows.on_device(block.sample_weight)
    n_cells = lists.totals.numel()
    mass = rows.buffer("mass", n_cells, torch.float64)
    sums, squares = (
        rows.buffer(name, n_cells * n_features, torch.float64) for name in ("sums", "squares")
    )
    features = min(256, _power_of_two(n_features))
    chunks = -(-n_features // features)
    programs.sum_clusters[(n_clusters * chunks, n_groups, n_starts)](
        tensor,
        *tensor.stride(),
        lists.totals if weight is None else weight,
        lists.listed,
        lists.begins,
        lists.totals,
        given.high,
        given.low,
        mass,
        sums,
        squares,
        n_rows,
        n_features,
        n_clusters,
        in_group * _PIECE,
        n_groups,
        WEIGHTED=weight is not None,
        DOUBLE=rows.dtype == np.float64,
        TILE=min(64, max(8, 2048 // features)),
        RUN=_RUN,
        FEATURES=features,
        FEATURE_CHUNKS=chunks,
        num_warps=4,
    )
    programs.join_groups[(n_clusters, n_starts)](
        mass,
        lists.totals,
        sums,
        squares,
        out,
        n_starts,
        n_groups,
        n_clusters,
        n_features,
        WEIGHTED=weight is not None,
        SUBTRACT=subtract,
        FEATURES=_power_of_two(n_features),
        num_warps=4,
    )


class PassOnDevice:
    """An assignment with its sums, in memory of its own; repeated, it is one launch of a graph."""

    _BEFORE_GRAPH = 2  # passes that are launched program by program

    def __init__(self, block: Block, sizes: _Sizes, *, keeps: bool, updates: bool) -> None:
        rows = _rows(block)
        where = rows.tensor.device
        self.block, self.sizes, self.updates = block, sizes, updates
        n = sum(int(np.prod(part)) for part in sizes.parts)
        self.sent = torch.empty(n, dtype=torch.float64, device=where)
        shape = (sizes.n_starts, len(rows))
        self.labels = torch.empty(shape, dtype=torch.int32, device=where)
        self.before = torch.empty_like(self.labels) if keeps else None
        self.n_sums = 2 * sizes.n_starts * sizes.n_clusters * (1 + sizes.n_features)
        n_out = self.n_sums + 2 * sizes.n_starts + 2
        self.out = torch.empty(n_out, dtype=torch.float64, device=where)
        self._graph: Any = None
        self._n_runs = 0

    def run(self) -> FloatArray:
        """Compute the pass; return sums, fingerprints, changed and doubtful rows."""
        if self._graph is None and self._n_runs == self._BEFORE_GRAPH and self.out.is_cuda:
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._launch()
        self._n_runs += 1
        if self._graph is None:
            self._launch()
        else:
            self._graph.replay()
        host: FloatArray = self.out.cpu().numpy()
        return host

    def _launch(self) -> None:
        block, n_starts, n_clusters = self.block, self.sizes.n_starts, self.sizes.n_clusters
        given = _Parameters(_rows(block), self.sizes, self.sent)
        n_doubtful = _find_labels(_rows(block), given, self.labels)
        labels, before, out = self.labels, self.before, self.out
        lists = _sorted_rows(block, labels, before, given.which[0], n_clusters, prints=True)
        _add_sums(block, lists, given, out, subtract=False)
        prints, changed = lists.prints.sum(dim=1), lists.changed.sum(dim=1)
        if self.updates:
            gone = _sorted_rows(block, before, labels, given.which[1], n_clusters, prints=False)
            _add_sums(block, gone, given, out, subtract=True)
        n_sums = self.n_sums
        out[n_sums : n_sums + n_starts] = prints.view(torch.float64)
        out[n_sums + n_starts : -2] = changed
        out[-2:] = n_doubtful.sum(dim=1)


def assign_and_accumulate(
    block: Block, assigning: Pass, reference: FloatArray, last: LastLabels | None
) -> Statistics:
    """See `fwkmeans._core.twin.assign_and_accumulate`."""
    rows = _rows(block)
    sizes = _Sizes.of(assigning, referenced=True)
    n_starts, n_clusters, n_features = sizes[:3]
    update = np.zeros(n_starts, dtype=np.bool_) if last is None else last.update
    keeps, updates = last is not None, bool(update.any())
    weight = rows.on_device(block.sample_weight)
    key = (sizes, keeps, updates, block.first_row, None if weight is None else weight.data_ptr())
    work: PassOnDevice = rows.kept(
        key, weight, lambda: PassOnDevice(block, sizes, keeps=keeps, updates=updates)
    )
    if last is not None and work.before is not None:
        work.before.copy_(_on_device(last.labels, rows))
    _sent(rows, assigning, np.asarray(reference, dtype=np.float64), update, work.sent)
    host = work.run()
    if last is not None:
        _put_labels(last.labels, work.labels)
    rows.doubtful = int(host[-2]), int(host[-1])
    n_sums, n_cells = work.n_sums, n_starts * n_clusters
    clusters, cells = (n_starts, n_clusters), (n_starts, n_clusters, n_features)
    mass, n_rows, sums, squares = np.split(host[:n_sums], np.cumsum([1, 1, n_features]) * n_cells)
    return Statistics(
        mass.reshape(clusters),
        n_rows.reshape(clusters).astype(np.int64),
        sums.reshape(cells),
        squares.reshape(cells),
        None,
        np.empty((*clusters, 0)),
        host[n_sums : n_sums + n_starts].view(np.int64),
        host[n_sums + n_starts : -2].astype(np.int64),
        reference,
    )


def _on_device(labels: Any, rows: DeviceRows) -> Any:
    if isinstance(labels, np.ndarray):
        labels = torch.as_tensor(np.ascontiguousarray(labels)).to(rows.tensor.device)
    return labels.contiguous()


def _put_labels(target: Any, labels: Any) -> None:
    if isinstance(target, np.ndarray):
        target[...] = labels.cpu().numpy()
    else:
        target.copy_(labels)


def _distances_to_own(block: Block, given: _Parameters, labels: Any, start: int) -> Any:
    rows = _rows(block)
    out = torch.empty(len(rows), dtype=torch.float64, device=rows.tensor.device)
    programs.own_distances[(-(-len(rows) // 64),)](
        rows.tensor,
        *rows.tensor.stride(),
        given.centers,
        given.weights,
        labels,
        out,
        start,
        *rows.shape,
        given.n_clusters,
        SHARED=given.shared,
        TILE=64,
        **given.tiles,
    )
    return out


def _labels_of(block: Block, assigning: Pass) -> tuple[Any, _Parameters]:
    rows = _rows(block)
    given = _Parameters(rows, _Sizes.of(assigning), _sent(rows, assigning))
    shape = (given.n_starts, len(rows))
    labels = torch.empty(shape, dtype=torch.int32, device=rows.tensor.device)
    _find_labels(rows, given, labels)
    return labels, given


def find_farthest(
    block: Block, assigning: Pass, eligible: BoolArray
) -> tuple[FloatArray, IntArray]:
    """See `fwkmeans._core.twin.find_farthest`."""
    labels, given = _labels_of(block, assigning)
    weight = _rows(block).on_device(block.sample_weight)
    may = torch.as_tensor(np.ascontiguousarray(eligible)).to(labels.device)
    distance, row = np.zeros(given.n_starts), np.full(given.n_starts, -1, dtype=np.int64)
    for start in range(given.n_starts):
        own = _distances_to_own(block, given, labels[start], start)
        counts = may[start][labels[start].long()]
        if weight is not None:
            counts = counts & (weight > 0)
        own = torch.where(counts, own, torch.zeros_like(own))
        largest = float(own.max())
        if largest > 0:
            distance[start] = largest
            row[start] = block.first_row + int(torch.nonzero(own == largest)[0, 0])
    return distance, row


def assign(block: Block, assigning: Pass) -> tuple[Any, float]:
    """See `fwkmeans._core.twin.assign`."""
    labels, given = _labels_of(block, assigning)
    own = _distances_to_own(block, given, labels[0], 0)
    own += given.offsets[0][labels[0].long()]
    weight = _rows(block).on_device(block.sample_weight)
    if weight is not None:
        own = torch.where(weight > 0, weight * own, torch.zeros_like(own))
    return labels[0], float(own.sum())


def distances(block: Block, assigning: Pass) -> Any:
    """See `fwkmeans._core.twin.distances`."""
    rows = _rows(block)
    given = _Parameters(rows, _Sizes.of(assigning), _sent(rows, assigning))
    shape = (len(rows), given.n_clusters)
    out = torch.empty(shape, dtype=rows.tensor.dtype, device=rows.tensor.device)
    programs.all_distances[(-(-len(rows) // 64),)](
        rows.tensor,
        *rows.tensor.stride(),
        given.centers,
        given.weights,
        out,
        *rows.shape,
        given.n_clusters,
        SHARED=given.shared,
        TILE=64,
        **given.tiles,
    )
    return out


def describe(block: Block, reference: FloatArray) -> Moments:
    """See `fwkmeans._core.twin.describe`."""
    rows = _rows(block)
    tensor, weights = rows.tensor, rows.on_device(block.sample_weight)
    about = torch.as_tensor(reference, dtype=torch.float64).to(tensor.device)
    step = max(1, _CELLS // max(1, tensor.shape[1]))
    parts = []
    for begin in range(0, len(rows), step):
        cells = tensor[begin : begin + step].to(torch.float64)
        weight = None if weights is None else weights[begin : begin + step, None]
        parts.append(_moments(cells, weight, about))
    total = parts[0]
    for part in parts[1:]:
        total = total.plus(part)
    host = [to_host(part) for part in total]
    return Moments(float(host[0]), int(host[1]), *host[2:])


def _moments(cells: Any, weight: Any, reference: Any) -> Moments:
    missing = torch.isnan(cells)
    nonfinite = ~torch.isfinite(cells)
    ones = torch.ones((cells.shape[0], 1), dtype=torch.float64, device=cells.device)
    weight = ones if weight is None else weight
    present = ~missing & (weight > 0)
    t = torch.where(present, cells - reference, 0.0)
    infinity = float("inf")
    return Moments(
        weight.sum(),
        (weight > 0).sum(),
        (weight * t).sum(dim=0),
        (weight * t * t).sum(dim=0),
        torch.where(present, cells, infinity).amin(dim=0),
        torch.where(present, cells, -infinity).amax(dim=0),
        torch.where(present, weight, 0.0).sum(dim=0),
        nonfinite.sum(dim=0),
        missing.sum(dim=0),
    )


def take_rows(block: Block, indices: Any) -> Entities:
    """See `fwkmeans._core.array_kernels.take_rows`."""
    tensor = _rows(block).tensor
    at = torch.as_tensor(np.asarray(indices, dtype=np.int64)).to(tensor.device)
    numbers: FloatArray = tensor[at].to(torch.float64).cpu().numpy()
    return Entities(numbers, np.empty((numbers.shape[0], 0), dtype=np.int32))


def cross_products(block: Block, mean: Any, units: Any, groups: Any) -> tuple[CrossProducts, ...]:
    """See `fwkmeans._core.array_kernels.cross_products`."""
    rows = _rows(block)
    where = rows.tensor.device
    there = block._replace(rows=rows.tensor, sample_weight=rows.on_device(block.sample_weight))
    mean, units = (torch.as_tensor(np.asarray(part)).to(where) for part in (mean, units))
    groups = [torch.as_tensor(np.asarray(group)).to(where) for group in groups]
    products = array_kernels.cross_products(there, mean, units, groups)
    return tuple(CrossProducts(*(part.cpu().numpy() for part in one)) for one in products)
