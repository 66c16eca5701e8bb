"""Kernels for rows on a device, with the signatures of the twin; results come back to the host.

Only what has one entry per row (labels, distances) stays on the device.
"""

from __future__ import annotations

import gc
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
    CoreOutcome,
    Entities,
    FloatArray,
    IntArray,
    LastLabels,
    Pass,
    Statistics,
)

__all__ = [
    "alternate",
    "assign",
    "assign_and_accumulate",
    "cross_products",
    "describe",
    "distances",
    "find_farthest",
    "mass_of",
    "no_labels",
    "take_rows",
]

# from how many rows on how many form a piece
_PIECES = {1 << 23: 16384, 1 << 19: 4096, 1 << 18: 1024, 0: 512}
_BLOCK = 1024  # rows of a piece that are looked at together
_SUM_PROGRAMS = 1 << 14  # programs that sum, about
_SUM_PARTS = (16, 1024)  # into how many parts the rows of a cluster are cut
_CELLS = 1 << 25  # cells of the largest temporary array
_SLICES = 8  # programs that decide the doubtful rows of a piece
_FEW_CLUSTERS = 16  # up to here factors are split
_MOST_CLUSTERS = 46340  # pairs of them are numbered in 32 bits
BATCH = 32  # parts of sums that are added together
# how much each product may be off: rounded factors, and sums in float32
_PRODUCT_ERROR = 1.01 * 2.0**-10, 2.0**-20  # of factors in float16, whole or split
_SUM_ERROR = 2.0**-22
_LARGEST_ERROR = 0.02  # for which the bound holds: up to some 80,000 columns


class _Shape(NamedTuple):
    """How the products of a problem are cut into tiles."""

    features: int
    feature_chunks: int
    clusters: int
    cluster_chunks: int
    tile: int  # rows
    warps: int
    stages: int
    programs: int  # for each multiprocessor
    registers: int | None = None  # at most, of a thread that reads float32

    @property
    def width(self) -> int:
        return self.features * self.feature_chunks

    @property
    def height(self) -> int:
        return self.clusters * self.cluster_chunks

    @property
    def tiles(self) -> dict[str, int]:
        """How the features are cut."""
        return {"FEATURES": self.features, "FEATURE_CHUNKS": self.feature_chunks}


def power_of_two(n: int) -> int:
    """Return the next power of two."""
    return 1 << (n - 1).bit_length()


def _shape(n_features: int, n_clusters: int) -> _Shape:
    features, clusters = (max(16, power_of_two(n)) for n in (n_features, n_clusters))
    cut = (64, 4, 3, 6, 168) if features > 32 else (128, 4, 3, 8, None)
    if max(features, clusters) == 16:
        cut = (128, 4, 3, 8, 96)
    if max(features, clusters) > 64:
        features, clusters = min(features, 32), min(clusters, 256)
        cut = (64, 4, 3, 2, None)
    chunks = -(-n_features // features), -(-n_clusters // clusters)
    return _Shape(features, chunks[0], clusters, chunks[1], *cut)


def _relative_to_dissimilarity(error: float, n_clusters: int) -> float:
    """Return how much rounding grows with a dissimilarity; see `programs.prepare`.

    The cluster replaces the last bits, too. If the terms are too many, no product is trusted.
    """
    if error > _LARGEST_ERROR:
        return float("inf")
    return 3.01 * error / (1.0 - 3.0 * error) + n_clusters * 2.0**-21


def tiles_of(n_features: int, most: int = 64) -> dict[str, int]:
    """Return how features are cut where no products are formed."""
    features = min(most, power_of_two(n_features))
    return {"FEATURES": features, "FEATURE_CHUNKS": -(-n_features // features)}


def rows_of(block: Block) -> DeviceRows:
    """Return the rows of a block, which are on a device."""
    rows: Any = block.rows
    assert isinstance(rows, DeviceRows)
    return rows


def _programs(tensor: Any, each: int) -> int:
    """Return how many programs fill the device."""
    if tensor.device.type != "cuda":
        return 2  # the interpreter runs one after another
    return int(torch.cuda.get_device_properties(tensor.device).multi_processor_count) * each


class DevicePass:
    """Memory on the device for passes over a block, for a number of starts, and their programs.

    A pass reads centers, weights (effective), offsets, and references; starts that are not `going`
    are left out, and only rows that change are summed in starts that `update`. What a pass needs
    only while it runs is shared by all passes over these rows.
    """

    def __init__(self, block: Block, n_starts: int, n_clusters: int, *, shared: bool) -> None:
        if n_clusters > _MOST_CLUSTERS:
            raise ValueError(
                f"{n_clusters} clusters: rows on a device can have up to {_MOST_CLUSTERS}. Give "
                "the rows as an array of NumPy."
            )
        self.block, self.rows = block, rows_of(block)
        n_rows, n_features = self.rows.shape
        self.n_starts, self.n_clusters, self.n_features = n_starts, n_clusters, n_features
        self.shared, self.shape = shared, _shape(n_features, n_clusters)
        self.where = self.rows.tensor.device
        double, number = torch.float64, self.rows.tensor.dtype
        cells = (n_starts, n_clusters, n_features)
        self.centers = self.empty(cells, double)
        self.weights = self.empty((n_starts, 1, n_features) if shared else cells, double)
        self.offsets = self.empty(cells[:2], double)
        self.shift = self.empty(n_features, double)
        self.reference = self.empty(cells, number)
        self.going = torch.ones(n_starts, dtype=torch.int32, device=self.where)
        self.update = torch.zeros_like(self.going)
        self.weight = self.rows.on_device(block.sample_weight)

        shape = self.shape
        # with few clusters products cost little, and split factors leave hardly a row in doubt
        self._split = n_clusters <= _FEW_CLUSTERS and shape.feature_chunks == 1
        factors = (1 + self._split, n_starts, shape.height, shape.width)
        self._squares, self._products = (self.empty(factors, torch.float16) for _ in range(2))
        self._constants, self._doubts = (self.empty(factors[1:3], torch.float32) for _ in range(2))
        self._peaks = self.empty((n_starts, shape.feature_chunks), double)
        sums = ((3 if self._split else 1) * n_features + 8) * _SUM_ERROR
        self._errors = _PRODUCT_ERROR[self._split] + sums, sums
        self._relative = _relative_to_dissimilarity(self._errors[0], shape.clusters)

        self.piece = next(size for least, size in _PIECES.items() if n_rows >= least)
        self.n_pieces = -(-n_rows // self.piece)
        slots = n_starts * self.n_pieces * self.piece
        self.codes = self.rows.buffer("codes", n_starts * n_rows, torch.int32)
        self._listed, self._doubtful = (
            self.rows.buffer(name, slots, torch.int32) for name in ("listed", "doubtful")
        )
        self._entries, self._members = (
            self.rows.buffer(name, 2 * slots, torch.int32) for name in ("entries", "members")
        )
        pieces = (n_starts, self.n_pieces)
        # a tile may end before its piece: words that are never written must be zero
        self._marks = torch.zeros(
            (n_starts, self.n_pieces * self.piece // 32), dtype=torch.int32, device=self.where
        )
        self._begins, self._lengths = (
            self.empty((2, *pieces, n_clusters), torch.int32) for _ in range(2)
        )
        self.n_doubtful = self.empty((*pieces, 2), torch.int32)
        self._n_marked, self._n_listed = (self.empty(pieces, torch.int32) for _ in range(2))
        self.changed = self.empty((2, *pieces), torch.int32)
        self.prints = self.empty(pieces, torch.int64)

        self._sum_tiles = tiles_of(n_features, 256)
        chunks = self._sum_tiles["FEATURE_CHUNKS"]
        fewest, most = _SUM_PARTS
        n_parts = min(max(fewest, _SUM_PROGRAMS // (n_clusters * chunks)), most, self.n_pieces)
        self._pieces_each = -(-self.n_pieces // n_parts)
        self.n_parts = -(-self.n_pieces // self._pieces_each)
        n_cells = n_starts * self.n_parts * n_clusters
        self.parts = [self.rows.buffer(name, n_cells, double) for name in ("mass", "counted")]
        self.parts += [
            self.rows.buffer(name, n_cells * n_features, double) for name in ("sums", "squares")
        ]

    def empty(self, shape: Any, dtype: Any) -> Any:
        """Return memory on the device."""
        return torch.empty(shape, dtype=dtype, device=self.where)

    def find_labels(self, labels: Any = None) -> None:
        """Find the label of every row; they are written to `codes`.

        With the labels of the last pass, only the rows that change are asked for, in starts that
        update.
        """
        tensor, (n_rows, n_features) = self.rows.tensor, self.rows.shape
        n_starts, shape, n_clusters = self.n_starts, self.shape, self.n_clusters
        scales = self.rows.scales()
        programs.measure[(n_starts, shape.feature_chunks)](
            self.centers,
            self.weights,
            self.shift,
            scales,
            self.going,
            self._peaks,
            n_features,
            n_clusters,
            SHARED=self.shared,
            CLUSTERS=16,
            FEATURES=shape.features,
            num_warps=4,
        )
        programs.prepare[(n_starts, shape.height)](
            self.centers,
            self.weights,
            self.offsets,
            self.shift,
            scales,
            self.going,
            self._peaks,
            self._squares,
            self._products,
            self._constants,
            self._doubts,
            n_features,
            n_clusters,
            *self._errors,
            SHARED=self.shared,
            SPLIT=self._split,
            CLUSTERS=shape.clusters,
            **shape.tiles,
            num_warps=1,
        )
        n_programs = max(1, _programs(tensor, shape.programs) // n_starts)
        programs.nearest[(min(-(-n_rows // shape.tile), n_programs), n_starts)](
            tensor,
            *tensor.stride(),
            self.shift,
            scales,
            self._squares,
            self._products,
            self._constants,
            self._doubts,
            self._relative,
            self.going,
            self.update,
            self.codes if labels is None else labels,
            self.codes,
            self._marks,
            n_rows,
            n_features,
            n_clusters,
            self._marks.shape[1],
            EVERY=labels is None,
            THREE=not self._split,
            SPLIT=self._split,
            TILE=shape.tile,
            CLUSTERS=shape.clusters,
            CLUSTER_CHUNKS=shape.cluster_chunks,
            STAGES=shape.stages if shape.feature_chunks * shape.cluster_chunks == 1 else 1,
            **shape.tiles,
            num_warps=shape.warps,
            num_stages=shape.stages,
            maxnreg=shape.registers if tensor.dtype == torch.float32 else None,
        )
        programs.list_marked[(self.n_pieces, n_starts)](
            self.codes,
            self._marks,
            self.going,
            self._listed,
            self._n_marked,
            self._doubtful,
            self.n_doubtful,
            n_rows,
            PIECE=self.piece,
            BLOCK=min(_BLOCK, self.piece),
            num_warps=4,
        )
        tiles = tiles_of(n_features)
        programs.decide[(self.n_pieces * _SLICES, n_starts)](
            tensor,
            *tensor.stride(),
            self.centers,
            self.weights,
            self.offsets,
            self.going,
            self.codes,
            self._doubtful,
            self.n_doubtful,
            n_rows,
            n_features,
            n_clusters,
            SHARED=self.shared,
            PIECE=self.piece,
            SLICES=_SLICES,
            TILE=16,
            **tiles,
            num_warps=max(1, tiles["FEATURES"] // 16),
        )

    def list_members(self, labels: Any, *, prints: bool) -> None:
        """Replace labels by those in `codes`; list the rows that are to be summed."""
        n_starts, n_clusters, block = self.n_starts, self.n_clusters, min(_BLOCK, self.piece)
        programs.list_changes[(self.n_pieces, n_starts)](
            self.offsets if self.weight is None else self.weight,
            self.going,
            self.update,
            self._listed,
            self._n_marked,
            self.codes,
            labels,
            self._entries,
            self._n_listed,
            self.changed,
            self.prints,
            self.block.first_row,
            len(self.rows),
            WEIGHTED=self.weight is not None,
            PRINT=prints,
            PIECE=self.piece,
            BLOCK=block,
            num_warps=4,
        )
        clusters = max(16, min(256, power_of_two(n_clusters)))
        programs.sort_members[(self.n_pieces, n_starts, 2)](
            self.going,
            self.update,
            self._entries,
            self._n_listed,
            self._members,
            self._begins,
            self._lengths,
            n_clusters,
            PIECE=self.piece,
            BLOCK=block,
            TILE=64 if clusters <= 32 else 32,
            CLUSTERS=clusters,
            CLUSTER_CHUNKS=-(-n_clusters // clusters),
            num_warps=2,
        )

    def sum_members(self) -> None:
        """Sum the listed rows: `parts` then are mass, rows, sums and squares of each program."""
        tensor, tiles = self.rows.tensor, self._sum_tiles
        tile = min(64, max(2, 512 // tiles["FEATURES"]))
        programs.sum_clusters[
            (self.n_clusters * tiles["FEATURE_CHUNKS"], self.n_parts, self.n_starts)
        ](
            tensor,
            *tensor.stride(),
            self.offsets if self.weight is None else self.weight,
            self.going,
            self.update,
            self._members,
            self._begins,
            self._lengths,
            self.reference,
            *self.parts,
            self.n_features,
            self.n_clusters,
            self.n_pieces,
            self._pieces_each,
            WEIGHTED=self.weight is not None,
            PIECE=self.piece,
            TILE=tile,
            **tiles,
            num_warps=1,
        )

    def join(self, out: Any) -> None:
        """Write mass, rows, sums and squares of all clusters to a vector."""
        programs.join[(self.n_clusters, self.n_starts)](
            *self.parts,
            out,
            self.n_starts,
            self.n_parts,
            self.n_clusters,
            self.n_features,
            BATCH=BATCH,
            **tiles_of(self.n_features, 128),
            num_warps=4,
        )


class Recorded:
    """Programs that are launched one by one twice, and as one graph from then on."""

    _BEFORE_GRAPH = 2

    def __init__(self, where: Any) -> None:
        self._on_card = where.type == "cuda"
        self._graph: Any = None
        self._n_runs = 0

    def run(self, launch: Any) -> None:
        """Launch the programs, always the same; this does not wait for them."""
        if self._graph is None and self._n_runs == self._BEFORE_GRAPH and self._on_card:
            self._graph = _graph_of(launch)
        self._n_runs += 1
        if self._graph is None:
            launch()
        else:
            self._graph.replay()


def _graph_of(launch: Any) -> Any:
    """Record programs; memory that is freed meanwhile, in any thread, must not spoil the record."""
    graph = torch.cuda.CUDAGraph()
    collects = gc.isenabled()
    gc.disable()
    try:
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            launch()
    finally:
        if collects:
            gc.enable()
    return graph


class _Counting:
    """A pass whose centers come from the host and whose sums go there."""

    def __init__(self, block: Block, n_starts: int, n_clusters: int, *, shared: bool) -> None:
        self.on_device = work = DevicePass(block, n_starts, n_clusters, shared=shared)
        self.labels = work.empty((n_starts, len(work.rows)), torch.int32)
        targets = (work.centers, work.weights, work.offsets, work.shift)
        self._given = work.empty(sum(target.numel() for target in targets), torch.float64)
        ends = np.cumsum([target.numel() for target in targets]).tolist()
        views = [
            self._given[end - target.numel() : end].view(target.shape)
            for target, end in zip(targets, ends, strict=True)
        ]
        work.centers, work.weights, work.offsets, work.shift = views
        self.n_sums = 2 * n_starts * n_clusters * (1 + work.n_features)
        self._out = work.empty(self.n_sums + 2 * n_starts + 1, torch.float64)
        self._recorded = Recorded(work.where)

    def send(self, assigning: Pass) -> None:
        """Copy centers, weights and the like to the device."""
        work = self.on_device
        shift = assigning.shift.astype(work.rows.dtype)
        given = [assigning.centers, assigning.weights, assigning.offsets, shift]
        flat = np.concatenate([array.ravel() for array in given], dtype=np.float64)
        work.rows.send(flat, self._given)

    def count(self, reference: FloatArray, update: BoolArray) -> FloatArray:
        """Run the pass; return its sums, fingerprints and changed rows, and all doubtful ones."""
        work = self.on_device
        work.reference.copy_(torch.as_tensor(np.ascontiguousarray(reference)))
        work.update.copy_(torch.as_tensor(update.astype(np.int32)))
        self._recorded.run(self._launch)
        host: FloatArray = self._out.cpu().numpy()
        return host

    def _launch(self) -> None:
        work, out, n_starts = self.on_device, self._out, self.on_device.n_starts
        work.find_labels()
        work.list_members(self.labels, prints=True)
        work.sum_members()
        work.join(out)
        n_sums = self.n_sums
        out[n_sums : n_sums + n_starts] = work.prints.sum(dim=1).view(torch.float64)
        out[n_sums + n_starts : -1] = work.changed[0].sum(dim=1)
        out[-1] = work.n_doubtful.sum()


def _counting(block: Block, assigning: Pass) -> _Counting:
    """Return the memory for such a pass, which is kept with the rows, with what is given."""
    rows = rows_of(block)
    n_starts, n_clusters, _ = assigning.centers.shape
    shared = assigning.weights.shape[1] == 1
    weight = rows.on_device(block.sample_weight)
    place = None if weight is None else weight.data_ptr()
    key = (n_starts, n_clusters, shared, block.first_row, place)
    counting: _Counting = rows.kept(
        key, weight, lambda: _Counting(block, n_starts, n_clusters, shared=shared)
    )
    counting.send(assigning)
    return counting


def assign_and_accumulate(
    block: Block, assigning: Pass, reference: FloatArray, last: LastLabels | None
) -> Statistics:
    """See `fwkmeans._core.twin.assign_and_accumulate`.

    References are rounded to the type of the rows, so that differences from them are exact.
    """
    rows = rows_of(block)
    counting = _counting(block, assigning)
    n_starts, n_clusters, n_features = assigning.centers.shape
    update = np.zeros(n_starts, dtype=np.bool_) if last is None else last.update
    if last is not None:
        counting.labels.copy_(_on_device(last.labels, rows))
    about = np.asarray(reference, dtype=rows.dtype)
    host = counting.count(about, update)
    if last is not None:
        _put_labels(last.labels, counting.labels)
    rows.n_doubtful = int(host[-1])
    n_sums, n_cells = counting.n_sums, n_starts * n_clusters
    clusters, cells = (n_starts, n_clusters), (n_starts, n_clusters, n_features)
    mass, n_rows, sums, squares = np.split(host[:n_sums], np.cumsum([1, 1, n_features]) * n_cells)
    changed = host[n_sums + n_starts : -1].astype(np.int64)
    return Statistics(
        mass.reshape(clusters),
        n_rows.reshape(clusters).astype(np.int64),
        sums.reshape(cells),
        squares.reshape(cells),
        None,
        np.empty((*clusters, 0)),
        host[n_sums : n_sums + n_starts].view(np.int64),
        np.zeros_like(changed) if last is None else changed,
        about.astype(np.float64).reshape(cells),
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


def _distances_to_own(work: DevicePass, labels: Any, start: int) -> Any:
    rows = work.rows
    out = work.empty(len(rows), torch.float64)
    programs.own_distances[(-(-len(rows) // 64),)](
        rows.tensor,
        *rows.tensor.stride(),
        work.centers,
        work.weights,
        labels,
        out,
        start,
        *rows.shape,
        work.n_clusters,
        SHARED=work.shared,
        TILE=64,
        **tiles_of(work.n_features),
    )
    return out


def _labels_of(block: Block, assigning: Pass) -> tuple[Any, DevicePass]:
    work = _counting(block, assigning).on_device
    work.find_labels()
    return work.codes.view(work.n_starts, len(work.rows)), work


def alternate(*args: Any, **options: Any) -> CoreOutcome:
    """See `fwkmeans._core.device.loop.alternate`."""
    from fwkmeans._core.device import loop  # which needs this module

    return loop.alternate(*args, **options)


def no_labels(block: Block, n_starts: int) -> Any:
    """See `fwkmeans._core.twin.no_labels`."""
    rows = rows_of(block)
    shape = (n_starts, len(rows))
    return torch.full(shape, -1, dtype=torch.int32, device=rows.tensor.device)


def mass_of(block: Block, labels: Any, n_clusters: int) -> FloatArray:
    """See `fwkmeans._core.twin.mass_of`."""
    weight = rows_of(block).on_device(block.sample_weight)
    if weight is None:
        counts = torch.bincount(labels, minlength=n_clusters)
        return np.asarray(counts.to(torch.float64).cpu().numpy())
    none = torch.zeros((), dtype=torch.float64, device=weight.device)
    sums = [torch.where(labels == k, weight, none).sum() for k in range(n_clusters)]
    return np.asarray(torch.stack(sums).cpu().numpy())


def find_farthest(
    block: Block, assigning: Pass, eligible: BoolArray
) -> tuple[FloatArray, IntArray]:
    """See `fwkmeans._core.twin.find_farthest`."""
    labels, work = _labels_of(block, assigning)
    weight = work.weight
    may = torch.as_tensor(np.ascontiguousarray(eligible)).to(labels.device)
    distance, row = np.zeros(work.n_starts), np.full(work.n_starts, -1, dtype=np.int64)
    for start in range(work.n_starts):
        own = _distances_to_own(work, labels[start], start)
        counts = may[start][labels[start].long()]
        if weight is not None:
            counts = counts & (weight > 0)
        own = torch.where(counts, own, torch.zeros_like(own))
        largest = float(own.max())
        if largest > 0:
            distance[start] = largest
            row[start] = block.first_row + int(torch.nonzero(own == largest)[0, 0])
    return distance, row


def assign(block: Block, assigning: Pass, *, summed: bool = True) -> tuple[Any, float]:
    """See `fwkmeans._core.twin.assign`."""
    codes, work = _labels_of(block, assigning)
    labels = codes[0].clone()  # the next pass writes its codes there
    if not summed:
        return labels, float("nan")
    own = _distances_to_own(work, labels, 0)
    own += work.offsets[0][labels.long()]
    weight = work.weight
    if weight is not None:
        own = torch.where(weight > 0, weight * own, torch.zeros_like(own))
    return labels, float(own.sum())


def distances(block: Block, assigning: Pass) -> Any:
    """See `fwkmeans._core.twin.distances`."""
    rows, work = rows_of(block), _counting(block, assigning).on_device
    out = work.empty((len(rows), work.n_clusters), rows.tensor.dtype)
    programs.all_distances[(-(-len(rows) // 64),)](
        rows.tensor,
        *rows.tensor.stride(),
        work.centers,
        work.weights,
        out,
        *rows.shape,
        work.n_clusters,
        SHARED=work.shared,
        TILE=64,
        **tiles_of(work.n_features),
    )
    return out


def describe(block: Block, reference: FloatArray) -> Moments:
    """See `fwkmeans._core.twin.describe`."""
    rows = rows_of(block)
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
    tensor = rows_of(block).tensor
    at = torch.as_tensor(np.asarray(indices, dtype=np.int64)).to(tensor.device)
    numbers: FloatArray = tensor[at].to(torch.float64).cpu().numpy()
    return Entities(numbers, np.empty((numbers.shape[0], 0), dtype=np.int32))


def cross_products(block: Block, mean: Any, units: Any, groups: Any) -> tuple[CrossProducts, ...]:
    """See `fwkmeans._core.array_kernels.cross_products`."""
    rows = rows_of(block)
    where = rows.tensor.device
    there = block._replace(rows=rows.tensor, sample_weight=rows.on_device(block.sample_weight))
    mean, units = (torch.as_tensor(np.asarray(part)).to(where) for part in (mean, units))
    groups = [torch.as_tensor(np.asarray(group)).to(where) for group in groups]
    products = array_kernels.cross_products(there, mean, units, groups)
    return tuple(CrossProducts(*(part.cpu().numpy() for part in one)) for one in products)
