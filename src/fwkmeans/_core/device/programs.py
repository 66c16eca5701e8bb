"""The Triton programs: nearest centers with a rounding bound, exact decisions, sums by cluster.

Rows are float32 or float64, of any strides. Labels are found by matrix products in low precision;
a row whose two best clusters are closer than their rounding may be goes on a list, and a second
program decides it in float64 from differences. Sums are taken cluster by cluster over sorted lists
of rows, so that their order is always the same.
"""

# mypy: ignore-errors
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _load_rows(rows, i, v, row_step, column_step, here, n_features):
    """Return a tile of rows, (rows, features); zero beyond the table."""
    at = rows + i[:, None] * row_step + v[None, :] * column_step
    return tl.load(at, mask=here[:, None] & (v < n_features)[None, :], other=0.0)


@triton.jit
def _to_tf32(x):
    """Round to the 11 bits that a tf32 product keeps, instead of cutting the others off."""
    return ((x.to(tl.int32, bitcast=True) + 0x1000) & -0x2000).to(tl.float32, bitcast=True)


@triton.jit
def prepare(
    centers,  # (starts, clusters, features) float64, as all that is given
    weights,  # (starts, clusters or 1, features)
    offsets,  # (starts, clusters)
    shift,  # (features,)
    reference,  # (starts, clusters, features)
    products,  # (2, starts, clusters, features) -2 weight x center: in tf32, and in float32
    squares,  # (2, starts, clusters, features) weight
    constants,  # (starts, clusters) weight x center^2 + offset; infinity for none
    high,  # (starts, clusters, features) reference in the type of the rows
    low,  # what this leaves
    n_features,
    n_clusters,
    SHARED: tl.constexpr,
    REFERENCE: tl.constexpr,
    FEATURES: tl.constexpr,
    FEATURE_CHUNKS: tl.constexpr,
):
    """Turn the center and the weights of one cluster into the factors of products."""
    start = tl.program_id(0).to(tl.int64)
    k = tl.program_id(1)
    width: tl.constexpr = FEATURES * FEATURE_CHUNKS
    line = start * tl.num_programs(1) + k
    copy = tl.num_programs(0).to(tl.int64) * tl.num_programs(1) * width
    constant = tl.zeros((), tl.float64)
    for chunk in range(FEATURE_CHUNKS):
        v = chunk * FEATURES + tl.arange(0, FEATURES)
        there = v < tl.where(k < n_clusters, n_features, 0)
        at = (start * n_clusters + k) * n_features + v
        own = start * n_features + v if SHARED else at
        c = tl.load(centers + at, mask=there, other=0.0)
        w = tl.load(weights + own, mask=there, other=0.0)
        t = c - tl.load(shift + v, mask=there, other=0.0)
        linear = (-2.0 * w * t).to(tl.float32)
        constant += tl.sum(w * t * t, axis=0)
        place = line * width + v
        tl.store(products + place, _to_tf32(linear))
        tl.store(products + copy + place, linear)
        if not SHARED:
            square = w.to(tl.float32)
            tl.store(squares + place, _to_tf32(square))
            tl.store(squares + copy + place, square)
        if REFERENCE:
            r = tl.load(reference + at, mask=there, other=0.0)
            rounded = r.to(high.dtype.element_ty)
            tl.store(high + at, rounded, mask=there)
            tl.store(low + at, (r - rounded.to(tl.float64)).to(low.dtype.element_ty), mask=there)
    constant += tl.load(offsets + start * n_clusters + tl.minimum(k, n_clusters - 1))
    constant = tl.where(k < n_clusters, constant, float("inf"))
    tl.store(constants + line, constant.to(tl.float32))


@triton.jit
def prepare_bounds(
    centers,
    weights,
    offsets,
    shift,
    sizes,  # (starts, features) bound of the terms of a row, divided by its square
    least,  # (2, starts) rounding that does not depend on the row, for both kinds of products
    n_features,
    n_clusters,
    coarse,  # relative error of products in tf32, with that of their sums
    fine,  # and of those with more digits
    sums,  # error of the sums alone
    SHARED: tl.constexpr,
    FEATURES: tl.constexpr,
    FEATURE_CHUNKS: tl.constexpr,
):
    """Bound what rounding can do to the dissimilarities of one start.

    ``|y p| <= y^2 w / 2 + p^2 / (2 w)`` bounds the terms with products by those with squares.
    """
    start = tl.program_id(0).to(tl.int64)
    width: tl.constexpr = FEATURES * FEATURE_CHUNKS
    rest = tl.zeros((), tl.float64)
    most = tl.zeros((), tl.float64)
    offset = tl.zeros((), tl.float64)
    for chunk in range(FEATURE_CHUNKS):
        v = chunk * FEATURES + tl.arange(0, FEATURES)
        there = v < n_features
        about = tl.load(shift + v, mask=there, other=0.0)
        largest = tl.full((FEATURES,), 7.9e-31, tl.float64)  # what is smaller vanishes in float32
        product = tl.zeros((FEATURES,), tl.float64)
        square = tl.zeros((FEATURES,), tl.float64)
        for k in range(n_clusters):
            at = (start * n_clusters + k) * n_features + v
            own = start * n_features + v if SHARED else at
            w = tl.load(weights + own, mask=there, other=0.0)
            t = tl.load(centers + at, mask=there, other=0.0) - about
            largest = tl.maximum(largest, w)
            product = tl.maximum(product, tl.abs(2.0 * w * t))
            square = tl.maximum(square, w * t * t)
        rest += tl.sum(product * product / (2.0 * largest), axis=0)
        most += tl.sum(square, axis=0)
        size = (0.5 if SHARED else 1.5) * largest
        tl.store(sizes + start * width + v, tl.where(there, size, 0.0).to(tl.float32))
    for k in range(n_clusters):
        offset = tl.maximum(offset, tl.abs(tl.load(offsets + start * n_clusters + k)))
    most += offset
    n_starts = tl.num_programs(0)
    tl.store(least + start, (2.0 * (coarse * rest + sums * most) + 7.9e-31).to(tl.float32))
    second = 2.0 * (fine * rest + sums * most) + 7.9e-31
    tl.store(least + n_starts + start, second.to(tl.float32))


@triton.jit
def _products_of(y, linear, square, d, SHARED: tl.constexpr, PRECISION: tl.constexpr):
    """Add what some features contribute to the dissimilarities, but for their constants."""
    if not SHARED:
        d = tl.dot(_rounded(y * y, PRECISION), square, d, input_precision=PRECISION)
    return tl.dot(_rounded(y, PRECISION), linear, d, input_precision=PRECISION)


@triton.jit
def _rounded(y, PRECISION: tl.constexpr):
    """Return the factors of products; those in tf32 would be cut off otherwise."""
    if PRECISION == "tf32":
        return _to_tf32(y)
    return y


@triton.jit
def _sizes_of(y, sizes, v, total):
    """Add a bound of the terms of each row: a product, too, because a sum would move the rows."""
    columns = tl.load(sizes + v)[:, None] + tl.zeros((1, 16), tl.float32)
    return tl.dot(_to_tf32(y * y), columns, total, input_precision="tf32")


@triton.jit
def _best_two(d, first_cluster, best, second, label, CLUSTERS: tl.constexpr):
    """Update the two lowest dissimilarities of each row, and the cluster of the lowest."""
    k = tl.arange(0, CLUSTERS)[None, :]
    best_here = tl.min(d, axis=1)
    nearest_here = tl.min(tl.where(d == best_here[:, None], k, CLUSTERS), axis=1)
    second_here = tl.min(tl.where(k == nearest_here[:, None], float("inf"), d), axis=1)
    second = tl.minimum(tl.maximum(best, best_here), tl.minimum(second, second_here))
    label = tl.where(best_here < best, nearest_here + first_cluster, label)
    return tl.minimum(best, best_here), second, label


@triton.jit
def nearest(
    rows,
    row_step,
    column_step,
    shift,  # (features,) in the type of the rows
    squares,  # (starts, clusters or 1, features) weights
    products,  # (starts, clusters, features) -2 weight x center
    constants,  # (starts, clusters) weight x center^2 + offset; infinity for none
    sizes,  # (starts, features) bound of the terms of a row, divided by its square
    least,  # (starts,) rounding that does not depend on the row
    relative,  # and that relative to the bound of its terms
    labels,  # (starts, rows)
    given,  # (starts, rows) the rows to label, if LISTED
    n_given,  # (starts,)
    n_rows,
    n_features,
    n_clusters,
    LISTED: tl.constexpr,
    SHARED: tl.constexpr,
    TILE: tl.constexpr,
    FEATURES: tl.constexpr,
    FEATURE_CHUNKS: tl.constexpr,
    CLUSTERS: tl.constexpr,
    CLUSTER_CHUNKS: tl.constexpr,
    PRECISION: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Label rows by products; where this leaves a doubt, the label is ``-1 - label``."""
    start = tl.program_id(1).to(tl.int64)
    width: tl.constexpr = FEATURES * FEATURE_CHUNKS
    height: tl.constexpr = CLUSTERS * CLUSTER_CHUNKS
    always = tl.load(least + start)
    own = start * n_rows
    n = n_rows
    if LISTED:
        n = tl.load(n_given + start)
    v = tl.arange(0, FEATURES)
    k = tl.arange(0, CLUSTERS)
    number = rows.dtype.element_ty
    sizes += start * width
    products += start * height * width
    squares += start * height * width
    constants += start * height
    if FEATURE_CHUNKS * CLUSTER_CHUNKS == 1:  # all that does not depend on the rows
        about = tl.load(shift + v, mask=v < n_features, other=0.0).to(number)[None, :]
        constant = tl.load(constants + k)[None, :]
        turned = k[None, :] * width + v[:, None]
        linear = tl.load(products + turned)
        square = linear
        if not SHARED:
            square = tl.load(squares + turned)
    for tile in tl.range(tl.program_id(0), tl.cdiv(n, TILE), tl.num_programs(0), num_stages=STAGES):
        i = tile * TILE + tl.arange(0, TILE).to(tl.int64)
        here = i < n
        if LISTED:
            i = tl.load(given + own + i, mask=here, other=0).to(tl.int64)
        best = tl.full((TILE,), float("inf"), tl.float32)
        second = tl.full((TILE,), float("inf"), tl.float32)
        label = tl.zeros((TILE,), tl.int32)
        terms = tl.zeros((TILE, 16), tl.float32)
        if FEATURE_CHUNKS * CLUSTER_CHUNKS == 1:
            y = _load_rows(rows, i, v, row_step, column_step, here, n_features)
            y = (y - about).to(tl.float32)
            terms = _sizes_of(y, sizes, v, terms)
            d = tl.zeros((TILE, CLUSTERS), tl.float32)
            d = _products_of(y, linear, square, d, SHARED, PRECISION) + constant
            best, second, label = _best_two(d, 0, best, second, label, CLUSTERS)
        else:
            for cluster_chunk in range(CLUSTER_CHUNKS):
                d = tl.zeros((TILE, CLUSTERS), tl.float32)
                k = cluster_chunk * CLUSTERS + tl.arange(0, CLUSTERS)
                for chunk in range(FEATURE_CHUNKS):
                    v = chunk * FEATURES + tl.arange(0, FEATURES)
                    y = _load_rows(rows, i, v, row_step, column_step, here, n_features)
                    about = tl.load(shift + v, mask=v < n_features, other=0.0).to(number)
                    y = (y - about[None, :]).to(tl.float32)
                    if cluster_chunk == 0:
                        terms = _sizes_of(y, sizes, v, terms)
                    turned = k[None, :] * width + v[:, None]
                    linear = tl.load(products + turned)
                    square = linear
                    if not SHARED:
                        square = tl.load(squares + turned)
                    d = _products_of(y, linear, square, d, SHARED, PRECISION)
                d += tl.load(constants + k)[None, :]
                first = cluster_chunk * CLUSTERS
                best, second, label = _best_two(d, first, best, second, label, CLUSTERS)
        sure = second - best > relative * tl.max(terms, axis=1) + always  # false if not a number
        label = tl.minimum(tl.maximum(label, 0), n_clusters - 1)
        tl.store(labels + own + i, tl.where(sure, label, -1 - label), mask=here)


@triton.jit
def list_doubtful(
    labels,  # (starts, rows)
    given,  # (starts, rows) the rows to look at, if LISTED
    n_given,  # (starts,)
    doubtful,  # (starts, rows)
    n_doubtful,  # (starts,)
    n_rows,
    LISTED: tl.constexpr,
    PIECE: tl.constexpr,
):
    """List the rows whose label is in doubt. Their order does not matter to any result."""
    start = tl.program_id(1).to(tl.int64)
    own = start * n_rows
    n = n_rows
    if LISTED:
        n = tl.load(n_given + start)
    for piece in range(tl.program_id(0), tl.cdiv(n, PIECE), tl.num_programs(0)):
        i = piece * PIECE + tl.arange(0, PIECE).to(tl.int64)
        here = i < n
        if LISTED:
            i = tl.load(given + own + i, mask=here, other=0).to(tl.int64)
        unsure = (tl.load(labels + own + i, mask=here, other=0) < 0).to(tl.int32)
        n_unsure = tl.sum(unsure, axis=0)
        if n_unsure > 0:
            first = tl.atomic_add(n_doubtful + start, n_unsure)
            place = first + tl.cumsum(unsure, axis=0) - 1
            tl.store(doubtful + own + place, i.to(tl.int32), mask=unsure > 0)


@triton.jit
def decide(
    rows,
    row_step,
    column_step,
    centers,  # (starts, clusters, features) float64, as the two below
    weights,  # (starts, clusters or 1, features)
    offsets,  # (starts, clusters)
    labels,
    given,
    n_given,
    n_rows,
    n_features,
    n_clusters,
    SHARED: tl.constexpr,
    TILE: tl.constexpr,
    FEATURES: tl.constexpr,
    FEATURE_CHUNKS: tl.constexpr,
):
    """Label the listed rows in float64, from differences; the first cluster wins a tie."""
    start = tl.program_id(1).to(tl.int64)
    n = tl.load(n_given + start)
    own = start * n_rows
    for first in range(tl.program_id(0) * TILE, n, tl.num_programs(0) * TILE):
        at = first + tl.arange(0, TILE).to(tl.int64)
        listed = at < n
        i = tl.load(given + own + at, mask=listed, other=0).to(tl.int64)
        best = tl.full((TILE,), float("inf"), tl.float64)
        label = tl.zeros((TILE,), tl.int32)
        for k in range(n_clusters):
            d = tl.zeros((TILE,), tl.float64)
            for chunk in tl.static_range(FEATURE_CHUNKS):
                v = chunk * FEATURES + tl.arange(0, FEATURES)
                inside = v < n_features
                y = _load_rows(rows, i, v, row_step, column_step, listed, n_features)
                at_center = (start * n_clusters + k) * n_features + v
                if SHARED:
                    weight = tl.load(weights + start * n_features + v, mask=inside, other=0.0)[
                        None, :
                    ]
                else:
                    weight = tl.load(weights + at_center, mask=inside, other=0.0)[None, :]
                c = tl.load(centers + at_center, mask=inside, other=0.0)
                t = y.to(tl.float64) - c[None, :]
                d += tl.sum(weight * t * t, axis=1)
            d += tl.load(offsets + start * n_clusters + k)
            label = tl.where(d < best, k, label)
            best = tl.minimum(best, d)
        tl.store(labels + own + i, label, mask=listed)


@triton.jit
def own_distances(
    rows,
    row_step,
    column_step,
    centers,
    weights,
    labels,  # (rows,) of one start
    out,  # (rows,) float64
    start,
    n_rows,
    n_features,
    n_clusters,
    SHARED: tl.constexpr,
    TILE: tl.constexpr,
    FEATURES: tl.constexpr,
    FEATURE_CHUNKS: tl.constexpr,
):
    """Return the dissimilarity of each row to the center of its own cluster."""
    i = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    here = i < n_rows
    k = tl.load(labels + i, mask=here, other=0).to(tl.int64)
    d = tl.zeros((TILE,), tl.float64)
    for chunk in tl.static_range(FEATURE_CHUNKS):
        v = chunk * FEATURES + tl.arange(0, FEATURES)
        inside = v < n_features
        y = _load_rows(rows, i, v, row_step, column_step, here, n_features)
        at_center = (start * n_clusters + k)[:, None] * n_features + v[None, :]
        if SHARED:
            weight = tl.load(weights + start * n_features + v, mask=inside, other=0.0)[None, :]
        else:
            weight = tl.load(weights + at_center, mask=inside[None, :], other=0.0)
        t = y.to(tl.float64) - tl.load(centers + at_center, mask=inside[None, :], other=0.0)
        d += tl.sum(weight * t * t, axis=1)
    tl.store(out + i, d, mask=here)


@triton.jit
def all_distances(
    rows,
    row_step,
    column_step,
    centers,
    weights,
    out,  # (rows, clusters), in the type of the rows
    n_rows,
    n_features,
    n_clusters,
    SHARED: tl.constexpr,
    TILE: tl.constexpr,
    FEATURES: tl.constexpr,
    FEATURE_CHUNKS: tl.constexpr,
):
    """Return the root of the dissimilarity of each row to each center of the first start."""
    i = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    here = i < n_rows
    for k in range(n_clusters):
        d = tl.zeros((TILE,), tl.float64)
        for chunk in tl.static_range(FEATURE_CHUNKS):
            v = chunk * FEATURES + tl.arange(0, FEATURES)
            inside = v < n_features
            y = _load_rows(rows, i, v, row_step, column_step, here, n_features)
            own = 0 if SHARED else k
            weight = tl.load(weights + own * n_features + v, mask=inside, other=0.0)[None, :]
            c = tl.load(centers + k * n_features + v, mask=inside, other=0.0)
            t = y.to(tl.float64) - c[None, :]
            d += tl.sum(weight * t * t, axis=1)
        tl.store(out + i * n_clusters + k, tl.sqrt(d), mask=here)


@triton.jit
def _key(i):
    """Return a number that looks random for each row; see `fwkmeans._core.twin.row_keys`."""
    z = (i + 1).to(tl.uint64) * 0x9E3779B97F4A7C15
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB
    return z ^ (z >> 31)


@triton.jit
def _cluster_of(
    labels, other, weight, i, here, which, n_clusters, OTHER: tl.constexpr, WEIGHTED: tl.constexpr
):
    """Return the cluster to which a row is counted, `n_clusters` if to none."""
    k = tl.load(labels + i, mask=here, other=0)
    counts = here & (which < 2)
    if OTHER:  # only rows that changed their cluster
        counts = counts & ((which == 0) | (k != tl.load(other + i, mask=here, other=0)))
    if WEIGHTED:
        counts = counts & (tl.load(weight + i, mask=here, other=0.0) > 0)
    return tl.where(counts & (k >= 0), k, n_clusters)


@triton.jit
def count_rows(
    labels,  # (starts, rows)
    other,  # (starts, rows) the labels before, or after
    weight,  # (rows,) float64
    which,  # (starts,) int32: 0 counts all rows, 1 those that changed, 2 none
    counts,  # (starts, pieces, clusters) int32
    changed,  # (starts, pieces) int32
    prints,  # (starts, pieces) int64
    first_row,
    n_rows,
    n_clusters,
    OTHER: tl.constexpr,
    PRINT: tl.constexpr,
    WEIGHTED: tl.constexpr,
    PIECE: tl.constexpr,
    BINS: tl.constexpr,
):
    """Count the rows of each cluster in a piece of the table."""
    piece = tl.program_id(0)
    start = tl.program_id(1).to(tl.int64)
    i = piece.to(tl.int64) * PIECE + tl.arange(0, PIECE)
    here = i < n_rows
    own = start * n_rows
    k = _cluster_of(
        labels + own,
        other + own,
        weight,
        i,
        here,
        tl.load(which + start),
        n_clusters,
        OTHER,
        WEIGHTED,
    )
    bins = tl.arange(0, BINS)
    place = start * tl.num_programs(0) + piece
    tl.store(counts + place * n_clusters + bins, tl.histogram(k, BINS), mask=bins < n_clusters)
    if PRINT:
        label = tl.load(labels + own + i, mask=here, other=0)
        weighs = here
        if WEIGHTED:
            weighs = weighs & (tl.load(weight + i, mask=here, other=0.0) > 0)
        key = _key(i + first_row) * (label + 1).to(tl.uint64)
        key = tl.where(weighs, key, 0)
        tl.store(prints + place, tl.sum(key.to(tl.int64, bitcast=True), axis=0))
    if PRINT and OTHER:
        before = tl.load(other + own + i, mask=here, other=0)
        now = tl.load(labels + own + i, mask=here, other=0)
        tl.store(changed + place, tl.sum(((before != now) & here).to(tl.int32), axis=0))


@triton.jit
def list_rows(
    labels,
    other,
    weight,
    which,
    steps,  # (starts, pieces, clusters) int32, from the place in the piece to that in its group
    listed,  # (starts, groups x rows of a group) int32
    n_rows,
    n_clusters,
    pieces_per_group,
    OTHER: tl.constexpr,
    WEIGHTED: tl.constexpr,
    PIECE: tl.constexpr,
):
    """List the rows of each group of pieces, sorted by cluster; rows of one cluster keep order."""
    piece = tl.program_id(0)
    start = tl.program_id(1).to(tl.int64)
    j = tl.arange(0, PIECE)
    i = piece.to(tl.int64) * PIECE + j
    here = i < n_rows
    own = start * n_rows
    k = _cluster_of(
        labels + own,
        other + own,
        weight,
        i,
        here,
        tl.load(which + start),
        n_clusters,
        OTHER,
        WEIGHTED,
    )
    order = tl.sort(k * PIECE + j)
    k = order // PIECE
    counted = k < n_clusters
    place = start * tl.num_programs(0) + piece
    step = tl.load(steps + place * n_clusters + k, mask=counted, other=0)
    group = piece // pieces_per_group
    size = pieces_per_group * PIECE
    n_groups = tl.cdiv(tl.num_programs(0), pieces_per_group)
    first = (start * n_groups + group) * size
    row = (piece - group * pieces_per_group) * PIECE + (order - k * PIECE)
    tl.store(listed + first + j + step, row, mask=counted)


@triton.jit
def sum_clusters(
    rows,
    row_step,
    column_step,
    weight,
    listed,
    begins,  # (starts, groups, clusters) int32
    totals,  # (starts, groups, clusters) int32
    high,  # (starts, clusters, features) references, in the type of the rows
    low,  # what rounding left of them
    mass,  # (starts, groups, clusters) float64
    sums,  # (starts, groups, clusters, features) float64
    powers,
    n_rows,
    n_features,
    n_clusters,
    group_rows,
    n_groups,
    WEIGHTED: tl.constexpr,
    DOUBLE: tl.constexpr,
    TILE: tl.constexpr,
    RUN: tl.constexpr,
    FEATURES: tl.constexpr,
    FEATURE_CHUNKS: tl.constexpr,
):
    """Sum the rows of one cluster in one group of pieces, about the reference of the cluster."""
    k = tl.program_id(0) // FEATURE_CHUNKS
    chunk = tl.program_id(0) % FEATURE_CHUNKS
    group = tl.program_id(1)
    start = tl.program_id(2).to(tl.int64)
    cell = (start * n_groups + group) * n_clusters + k
    n = tl.load(totals + cell)
    first = (start * n_groups + group) * group_rows + tl.load(begins + cell)
    v = chunk * FEATURES + tl.arange(0, FEATURES)
    at_center = (start * n_clusters + k) * n_features + v
    inside = v < n_features
    reference = tl.load(high + at_center, mask=inside, other=0.0)[None, :]
    rest = tl.load(low + at_center, mask=inside, other=0.0)[None, :]
    number = tl.float64 if DOUBLE else tl.float32
    total = tl.zeros((FEATURES,), tl.float64)
    total2 = tl.zeros((FEATURES,), tl.float64)
    total_mass = tl.zeros((TILE,), tl.float64)
    for run in range(0, n, TILE * RUN):
        part = tl.zeros((TILE, FEATURES), number)
        part2 = tl.zeros((TILE, FEATURES), number)
        for tile in range(run, tl.minimum(run + TILE * RUN, n), TILE):
            j = tile + tl.arange(0, TILE)
            there = j < n
            i = group.to(tl.int64) * group_rows + tl.load(listed + first + j, mask=there, other=0)
            y = _load_rows(rows, i, v, row_step, column_step, there, n_features)
            t = tl.where(there[:, None] & inside[None, :], (y - reference) - rest, 0.0)
            if WEIGHTED:
                s = tl.load(weight + i, mask=there, other=0.0)
                total_mass += s
                scaled = s.to(number)[:, None] * t
            else:
                scaled = t
            part += scaled
            part2 += scaled * t
        total += tl.sum(part.to(tl.float64), axis=0)
        total2 += tl.sum(part2.to(tl.float64), axis=0)
    tl.store(sums + cell * n_features + v, total, mask=inside)
    tl.store(powers + cell * n_features + v, total2, mask=inside)
    if WEIGHTED and chunk == 0:
        tl.store(mass + cell, tl.sum(total_mass, axis=0))


@triton.jit
def join_groups(
    mass,
    totals,
    sums,
    powers,
    out,  # mass, rows, sums and squares of all clusters of all starts
    n_starts,
    n_groups,
    n_clusters,
    n_features,
    WEIGHTED: tl.constexpr,
    SUBTRACT: tl.constexpr,
    FEATURES: tl.constexpr,
):
    """Add the parts of the groups of one cluster, in their order."""
    k = tl.program_id(0)
    start = tl.program_id(1).to(tl.int64)
    v = tl.arange(0, FEATURES)
    inside = v < n_features
    total = tl.zeros((FEATURES,), tl.float64)
    total2 = tl.zeros((FEATURES,), tl.float64)
    n = tl.zeros((), tl.float64)
    n_counted = tl.zeros((), tl.float64)
    for group in range(n_groups):
        cell = (start * n_groups + group) * n_clusters + k
        total += tl.load(sums + cell * n_features + v, mask=inside, other=0.0)
        total2 += tl.load(powers + cell * n_features + v, mask=inside, other=0.0)
        n_counted += tl.load(totals + cell).to(tl.float64)
        if WEIGHTED:
            n += tl.load(mass + cell)
    if not WEIGHTED:
        n = n_counted
    cluster = start * n_clusters + k
    n_cells = start * 0 + n_starts * n_clusters  # in 64 bits
    first = out + 2 * n_cells + cluster * n_features + v
    second = first + n_cells * n_features
    if SUBTRACT:
        n = tl.load(out + cluster) - n
        n_counted = tl.load(out + n_cells + cluster) - n_counted
        total = tl.load(first, mask=inside, other=0.0) - total
        total2 = tl.load(second, mask=inside, other=0.0) - total2
    tl.store(out + cluster, n)
    tl.store(out + n_cells + cluster, n_counted)
    tl.store(first, total, mask=inside)
    tl.store(second, total2, mask=inside)
