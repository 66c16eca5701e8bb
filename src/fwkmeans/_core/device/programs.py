"""The Triton programs of a pass: nearest centers with a rounding bound, exact decisions, sums.

Rows are float32 or float64, of any strides. Labels are found by matrix products in low precision. A
row whose two best clusters are closer than their rounding may be is decided in float64 from
differences, between these two if no third one comes into question. Sums are taken cluster by
cluster over sorted lists of rows, relative to a point of the cluster: of all rows, or of those that
come and of those that go. Rows, and the sums of programs, are always added in the same order.
"""

# mypy: ignore-errors
from __future__ import annotations

import triton
import triton.language as tl

# farther than any cluster, and not infinite: a little more is infinite, so no cluster beats it
_FAR = tl.constexpr(3.4e38)


@triton.jit
def _load_rows(rows, i, v, row_step, column_step, here, n_features):
    """Return a tile of rows, (rows, features); zero beyond the table."""
    at = rows + i.to(tl.int64)[:, None] * row_step + v.to(tl.int64)[None, :] * column_step
    return tl.load(at, mask=here[:, None] & (v < n_features)[None, :], other=0.0)


@triton.jit
def power_of_two(exponent):
    """Return 2 to an exponent, in float64."""
    return ((exponent + 1023).to(tl.int64) << 52).to(tl.float64, bitcast=True)


@triton.jit
def _halves(x):
    """Return a number in float16, and what is left of it."""
    half = x.to(tl.float16)
    return half, (x - half.to(tl.float32)).to(tl.float16)


@triton.jit
def _factors(
    centers,
    weights,
    shift,
    scales,
    start,
    k,
    v,
    inside,
    n_features,
    n_clusters,
    SHARED: tl.constexpr,
):
    """Return the factors of squares and of cells of scaled rows, and what does not depend on rows.

    ``w (y - t)^2 = w y^2 - 2 w t y + w t^2``, with y = scale x (row - shift).
    """
    at = (start * n_clusters + k) * n_features + v
    own = at * 0 + start * n_features + v if SHARED else at
    w = tl.load(weights + own, mask=inside, other=0.0)
    t = tl.load(centers + at, mask=inside, other=0.0) - tl.load(shift + v, mask=inside, other=0.0)
    scale = tl.load(scales + v, mask=inside, other=1.0).to(tl.float64)
    return w / (scale * scale), -2.0 * w * t / scale, w * t * t


@triton.jit
def measure(
    centers,  # (starts, clusters, features) float64, as all that is given
    weights,  # (starts, clusters or 1, features)
    shift,  # (features,)
    scales,  # (features,) float32 powers of two
    going,  # (starts,) int32: whether a start takes part
    peaks,  # (starts, chunks of features) the largest factor
    n_features,
    n_clusters,
    SHARED: tl.constexpr,
    CLUSTERS: tl.constexpr,
    FEATURES: tl.constexpr,
):
    """Find the largest factor of products, for some features."""
    start = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1)
    if tl.load(going + start) == 0:
        return
    v = chunk * FEATURES + tl.arange(0, FEATURES)[None, :]
    peak = tl.zeros((FEATURES,), tl.float64)
    for first in range(0, n_clusters, CLUSTERS):
        k = first + tl.arange(0, CLUSTERS)[:, None]
        inside = (k < n_clusters) & (v < n_features)
        square, linear, _ = _factors(
            centers, weights, shift, scales, start, k, v, inside, n_features, n_clusters, SHARED
        )
        peak = tl.maximum(peak, tl.max(tl.maximum(square, tl.abs(linear)), axis=0))
    tl.store(peaks + start * tl.num_programs(1) + chunk, tl.max(peak, axis=0))


@triton.jit
def prepare(
    centers,
    weights,
    offsets,  # (starts, clusters)
    shift,
    scales,
    going,
    peaks,
    squares,  # (1 or 2, starts, clusters, features) float16 factors of squares, and their rests
    products,  # likewise those of cells
    constants,  # (starts, clusters) the rest, less its rounding; far away for none
    doubts,  # (starts, clusters) twice this rounding
    n_features,
    n_clusters,
    relative,  # error of products, with that of their sums
    sums,  # error of the sums alone
    SHARED: tl.constexpr,
    SPLIT: tl.constexpr,
    CLUSTERS: tl.constexpr,
    FEATURES: tl.constexpr,
    FEATURE_CHUNKS: tl.constexpr,
):
    """Turn the center and the weights of one cluster into the factors of products.

    They are scaled by a power of two so that the largest fits into float16. With D the
    dissimilarity and C = sum w t^2, the terms of a row sum up to 3 D + 5 C at most, in absolute
    values, because ``2 |t| |y - t| <= t^2 + (y - t)^2``. So their rounding is at most ``relative``
    times that, and the part with C is known here. Numbers under 2^-14 lose digits in float16; this
    is bounded by 2^-8 for each feature, since a larger cell than 2^8 has an infinite square.
    """
    start = tl.program_id(0).to(tl.int64)
    k = tl.program_id(1)
    if tl.load(going + start) == 0:
        return
    width: tl.constexpr = FEATURES * FEATURE_CHUNKS
    line = start * tl.num_programs(1) + k
    peak = tl.zeros((), tl.float64)
    for chunk in range(FEATURE_CHUNKS):
        peak = tl.maximum(peak, tl.load(peaks + start * FEATURE_CHUNKS + chunk))
    exponent = 1037 - ((peak.to(tl.int64, bitcast=True) >> 52) & 0x7FF)
    unit = power_of_two(tl.minimum(tl.maximum(exponent, -1000), 1000))
    lowest = tl.full((CLUSTERS,), float("inf"), tl.float64)
    for first in range(0, n_clusters, CLUSTERS):
        j = first + tl.arange(0, CLUSTERS)
        offset = tl.load(offsets + start * n_clusters + j, mask=j < n_clusters, other=float("inf"))
        lowest = tl.minimum(lowest, offset)
    rest = tl.zeros((), tl.float64)
    for chunk in range(FEATURE_CHUNKS):
        v = chunk * FEATURES + tl.arange(0, FEATURES)
        inside = v < tl.where(k < n_clusters, n_features, 0)
        square, linear, constant = _factors(
            centers, weights, shift, scales, start, k, v, inside, n_features, n_clusters, SHARED
        )
        rest += tl.sum(constant, axis=0)
        at = line * width + v
        square, square_rest = _halves((unit * square).to(tl.float32))
        linear, linear_rest = _halves((unit * linear).to(tl.float32))
        tl.store(squares + at, square)
        tl.store(products + at, linear)
        if SPLIT:
            at += tl.num_programs(0).to(tl.int64) * tl.num_programs(1) * width
            tl.store(squares + at, square_rest)
            tl.store(products + at, linear_rest)
    mine = tl.load(offsets + start * n_clusters + tl.minimum(k, n_clusters - 1))
    all_of_it = unit * (rest + (mine - tl.min(lowest, axis=0)))
    doubt = (5.0 * relative) * (unit * rest) + sums * all_of_it + 0.0078125 * n_features
    doubt *= 1.0 + 8.0 * relative
    far = k >= n_clusters
    tl.store(constants + line, tl.where(far, _FAR, (all_of_it - doubt).to(tl.float32)))
    tl.store(doubts + line, tl.where(far, 0.0, (2.2 * doubt).to(tl.float32)))


@triton.jit
def _product(y, factor, rest, d, SPLIT: tl.constexpr):
    """Add a product; in three parts if factors are split, which gives twice the digits."""
    half, other = _halves(y)
    if SPLIT:
        d = tl.dot(other, factor, d)
        d = tl.dot(half, rest, d)
    return tl.dot(half, factor, d)


@triton.jit
def _two_lowest(a, b, x, y):
    """Return the two lowest of two sorted pairs."""
    return tl.minimum(a, x), tl.minimum(tl.maximum(a, x), tl.minimum(b, y))


@triton.jit
def _three_lowest(a, b, c, x, y, z):
    """Return the three lowest of two sorted triples."""
    third = tl.minimum(tl.minimum(c, z), tl.minimum(tl.maximum(a, y), tl.maximum(b, x)))
    return tl.minimum(a, x), tl.minimum(tl.maximum(a, x), tl.minimum(b, y)), third


@triton.jit
def _lowest(d, TILE: tl.constexpr, CLUSTERS: tl.constexpr, THREE: tl.constexpr):
    """Return the three lowest dissimilarities of each row, with the cluster in their last bits.

    Neighbors are sorted first, then pairs that are eight columns apart: these are in the same
    thread after a product. Without `THREE` the third is the second.
    """
    bits = d.to(tl.int32, bitcast=True) & -CLUSTERS
    packed = (bits | tl.arange(0, CLUSTERS)[None, :]).to(tl.float32, bitcast=True)
    a, b = tl.split(tl.reshape(packed, (TILE, CLUSTERS // 2, 2)))
    low, high = tl.minimum(a, b), tl.maximum(a, b)
    if THREE:
        shape: tl.constexpr = (TILE, CLUSTERS // 16, 2, 4)
        a, x = tl.split(tl.permute(tl.reshape(low, shape), 0, 1, 3, 2))
        b, y = tl.split(tl.permute(tl.reshape(high, shape), 0, 1, 3, 2))
        p, q = tl.maximum(a, x), tl.minimum(b, y)
        first = tl.reshape(tl.minimum(a, x), (TILE, CLUSTERS // 4))
        second = tl.reshape(tl.minimum(p, q), (TILE, CLUSTERS // 4))
        third = tl.reshape(tl.maximum(p, q), (TILE, CLUSTERS // 4))
        return tl.reduce((first, second, third), 1, _three_lowest)
    else:  # noqa: RET505 (Triton would compile what follows)
        first, second = tl.reduce((low, high), 1, _two_lowest)
        return first, second, second


@triton.jit
def _cluster_in(packed, CLUSTERS: tl.constexpr):
    return packed.to(tl.int32, bitcast=True) & (CLUSTERS - 1)


@triton.jit
def _inserted(d, k, first, second, third, one, two):
    """Return the three lowest values with one more, and the clusters of the first two."""
    third = tl.minimum(tl.maximum(d, second), third)
    two = tl.where(d < first, one, tl.where(d < second, k, two))
    second = tl.minimum(tl.maximum(d, first), second)
    one = tl.where(d < first, k, one)
    return tl.minimum(d, first), second, third, one, two


@triton.jit
def nearest(
    rows,
    row_step,
    column_step,
    shift,  # (features,) in the type of the rows
    scales,
    squares,  # what `prepare` has written
    products,
    constants,
    doubts,
    relative,  # rounding that grows with the dissimilarity
    going,
    update,  # (starts,) int32: whether only rows that change are asked for
    labels,  # (starts, rows) int32 labels of the last pass
    codes,  # (starts, rows) int32
    marks,  # (starts, pieces x rows of a piece / 32) int32 bits of the rows whose code is written
    n_rows,
    n_features,
    n_clusters,
    n_words,
    EVERY: tl.constexpr,  # whether all rows are asked for
    THREE: tl.constexpr,
    SPLIT: tl.constexpr,
    TILE: tl.constexpr,
    FEATURES: tl.constexpr,
    FEATURE_CHUNKS: tl.constexpr,
    CLUSTERS: tl.constexpr,
    CLUSTER_CHUNKS: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Label rows by products; write the codes of those that change or are in doubt.

    Where two clusters come into question, the code is -1 - (one x number of clusters + the other);
    where there are more, it is -1.
    """
    start = tl.program_id(1).to(tl.int64)
    if tl.load(going + start) == 0:
        return
    width: tl.constexpr = FEATURES * FEATURE_CHUNKS
    height: tl.constexpr = CLUSTERS * CLUSTER_CHUNKS
    v = tl.arange(0, FEATURES)
    k = tl.arange(0, CLUSTERS)
    r = tl.arange(0, TILE)
    tile_size = tl.full((), TILE, tl.int64)  # where a tile begins may need 64 bits
    number = rows.dtype.element_ty
    products += start * height * width
    squares += start * height * width
    constants += start * height
    largest = tl.zeros((CLUSTERS,), tl.float32)
    for chunk in range(CLUSTER_CHUNKS):
        largest = tl.maximum(largest, tl.load(doubts + start * height + chunk * CLUSTERS + k))
    doubt = tl.max(largest, axis=0)
    every = tl.load(update + start) == 0
    labels += start * n_rows
    codes += start * n_rows
    marks += start * n_words
    if FEATURE_CHUNKS * CLUSTER_CHUNKS == 1:  # all that does not depend on the rows
        about = tl.load(shift + v, mask=v < n_features, other=0.0).to(number)[None, :]
        scale = tl.load(scales + v, mask=v < n_features, other=0.0)[None, :]
        constant = tl.load(constants + k)[None, :]
        turned = k[None, :] * width + v[:, None]
        linear = tl.load(products + turned)
        square = tl.load(squares + turned)
        linear_rest, square_rest = linear, square
        if SPLIT:
            turned += tl.num_programs(1) * height * width
            linear_rest = tl.load(products + turned)
            square_rest = tl.load(squares + turned)
    n_tiles = tl.cdiv(n_rows, TILE)
    for tile in tl.range(tl.program_id(0), n_tiles, tl.num_programs(0), num_stages=STAGES):
        first_row = tile * tile_size
        here = r < n_rows - tile * TILE
        tile_rows = rows + first_row * row_step
        if FEATURE_CHUNKS * CLUSTER_CHUNKS == 1:
            y = _load_rows(tile_rows, r, v, row_step, column_step, here, n_features)
            y = (y - about).to(tl.float32) * scale
            d = tl.zeros((TILE, CLUSTERS), tl.float32)
            d = _product(y * y, square, square_rest, d, SPLIT)
            d = _product(y, linear, linear_rest, d, SPLIT) + constant
            first, second, third = _lowest(d, TILE, CLUSTERS, THREE)
            one, two = _cluster_in(first, CLUSTERS), _cluster_in(second, CLUSTERS)
        else:
            first = tl.full((TILE,), _FAR, tl.float32)
            second = tl.full((TILE,), _FAR, tl.float32)
            third = tl.full((TILE,), _FAR, tl.float32)
            one = tl.zeros((TILE,), tl.int32)
            two = tl.zeros((TILE,), tl.int32)
            for cluster_chunk in range(CLUSTER_CHUNKS):
                d = tl.zeros((TILE, CLUSTERS), tl.float32)
                k = cluster_chunk * CLUSTERS + tl.arange(0, CLUSTERS)
                for chunk in range(FEATURE_CHUNKS):
                    v = chunk * FEATURES + tl.arange(0, FEATURES)
                    y = _load_rows(tile_rows, r, v, row_step, column_step, here, n_features)
                    about = tl.load(shift + v, mask=v < n_features, other=0.0).to(number)
                    scale = tl.load(scales + v, mask=v < n_features, other=0.0)[None, :]
                    y = (y - about[None, :]).to(tl.float32) * scale
                    turned = k[None, :] * width + v[:, None]
                    linear = tl.load(products + turned)
                    square = tl.load(squares + turned)
                    d = _product(y * y, square, square, d, False)
                    d = _product(y, linear, linear, d, False)
                d += tl.load(constants + k)[None, :]
                a, b, c = _lowest(d, TILE, CLUSTERS, THREE)
                ka = cluster_chunk * CLUSTERS + _cluster_in(a, CLUSTERS)
                kb = cluster_chunk * CLUSTERS + _cluster_in(b, CLUSTERS)
                if CLUSTER_CHUNKS == 1:
                    first, second, third, one, two = a, b, c, ka, kb
                else:
                    first, second, third, one, two = _inserted(
                        a, ka, first, second, third, one, two
                    )
                    first, second, third, one, two = _inserted(
                        b, kb, first, second, third, one, two
                    )
                    third = tl.minimum(third, tl.maximum(c, second))
        limit = first * (1.0 + relative) + doubt  # comparisons fail if it is not a number
        last = n_clusters - 1
        code = tl.minimum(one, last)
        pair = tl.full((TILE,), -1, tl.int32)
        if THREE:
            both = -1 - (code * n_clusters + tl.minimum(two, last))
            pair = tl.where(third * (1.0 - relative) > limit, both, -1)
        code = tl.where(second * (1.0 - relative) > limit, code, pair)
        marked = here
        if not EVERY:
            before = tl.load(labels + first_row + r, mask=here, other=0)
            marked = tl.where(every, here, here & (code != before))
        tl.store(codes + first_row + r, code, mask=marked)
        bits = marked.to(tl.int32).reshape((TILE // 32, 32)) << tl.arange(0, 32)[None, :]
        word = tile * (TILE // 32) + tl.arange(0, TILE // 32)
        tl.store(marks + word, tl.sum(bits, axis=1))


@triton.jit
def _exact(
    rows,
    row_step,
    column_step,
    i,
    here,
    centers,  # (clusters, features) float64
    weights,  # (clusters or 1, features) float64
    k,  # clusters: (rows, n) for n of each row, (1, clusters) for the same of all rows
    n_features,
    ROWS: tl.constexpr,
    CLUSTERS: tl.constexpr,
    SHARED: tl.constexpr,
    FEATURES: tl.constexpr,
    FEATURE_CHUNKS: tl.constexpr,
):
    """Return dissimilarities of rows to clusters in float64, from differences."""
    d = tl.zeros((ROWS, CLUSTERS), tl.float64)
    for chunk in range(FEATURE_CHUNKS):
        v = chunk * FEATURES + tl.arange(0, FEATURES)
        inside = (v < n_features)[None, None, :]
        y = _load_rows(rows, i, v, row_step, column_step, here, n_features)
        at = k.to(tl.int64)[:, :, None] * n_features + v[None, None, :]
        own = v[None, None, :] if SHARED else at
        c = tl.load(centers + at, mask=inside, other=0.0)
        t = y.to(tl.float64)[:, None, :] - c
        d += tl.sum(tl.load(weights + own, mask=inside, other=0.0) * t * t, axis=2)
    return d


@triton.jit
def _key(i):
    """Return a number that looks random for each row; see `fwkmeans._core.twin.row_keys`."""
    z = (i + 1).to(tl.uint64) * 0x9E3779B97F4A7C15
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB
    return z ^ (z >> 31)


@triton.jit
def _n_bits(word):
    """Return how many bits of an int32 are set."""
    u = word.to(tl.uint32, bitcast=True)
    u -= (u >> 1) & 0x55555555
    u = (u & 0x33333333) + ((u >> 2) & 0x33333333)
    u = (u + (u >> 4)) & 0x0F0F0F0F
    u += u >> 8
    return ((u + (u >> 16)) & 0x3F).to(tl.int32)


@triton.jit
def list_marked(
    codes,
    marks,
    going,
    listed,  # (starts, pieces x rows of a piece) int32 places of marked rows in their piece
    n_listed,  # (starts, pieces) int32
    doubtful,  # (starts, pieces x rows of a piece) int32 those of rows in doubt
    n_doubtful,  # (starts, pieces, 2) int32 number of pairs and of others
    n_rows,
    PIECE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """List the marked rows of a piece, and those in doubt: pairs in front, others from the end."""
    piece = tl.program_id(0)
    start = tl.program_id(1).to(tl.int64)
    if tl.load(going + start) == 0:
        return
    place = start * tl.num_programs(0) + piece
    n_words: tl.constexpr = PIECE // 32
    w = tl.arange(0, n_words)
    word = tl.load(marks + place * n_words + w)
    count = _n_bits(word)
    slot = listed + place * PIECE + tl.cumsum(count, axis=0) - count
    for bit in tl.static_range(32):
        marked = (word >> bit) & 1
        tl.store(slot, 32 * w + bit, mask=marked > 0)
        slot += marked
    n = tl.sum(count, axis=0)
    tl.store(n_listed + place, n)
    tl.debug_barrier()  # the list is complete
    codes += start * n_rows + piece.to(tl.int64) * PIECE
    n_pairs = tl.zeros((), tl.int32)
    n_others = tl.zeros((), tl.int32)
    for at in range(0, n, BLOCK):
        s = at + tl.arange(0, BLOCK)
        j = tl.load(listed + place * PIECE + s, mask=s < n, other=0)
        code = tl.load(codes + j, mask=s < n, other=0)
        # both are counted at once: others in the upper half of the bits
        kind = tl.where(code < -1, 1, tl.where(code == -1, 1 << 16, 0))
        before = tl.cumsum(kind, axis=0)
        front = n_pairs + (before & 0xFFFF) - 1
        back = PIECE - n_others - (before >> 16)
        tl.store(doubtful + place * PIECE + tl.where(code < -1, front, back), j, mask=code < 0)
        of_block = tl.sum(kind, axis=0)
        n_pairs += of_block & 0xFFFF
        n_others += of_block >> 16
    tl.store(n_doubtful + 2 * place, n_pairs)
    tl.store(n_doubtful + 2 * place + 1, n_others)


@triton.jit
def decide(
    rows,
    row_step,
    column_step,
    centers,  # (starts, clusters, features) float64, as the two below
    weights,  # (starts, clusters or 1, features)
    offsets,  # (starts, clusters)
    going,
    codes,
    doubtful,
    n_doubtful,
    n_rows,
    n_features,
    n_clusters,
    SHARED: tl.constexpr,
    PIECE: tl.constexpr,
    SLICES: tl.constexpr,
    TILE: tl.constexpr,
    FEATURES: tl.constexpr,
    FEATURE_CHUNKS: tl.constexpr,
):
    """Label listed rows of a piece in float64; the first of equally near clusters gets a row."""
    piece = tl.program_id(0) // SLICES
    first_slot = (tl.program_id(0) % SLICES) * TILE
    start = tl.program_id(1).to(tl.int64)
    if tl.load(going + start) == 0:
        return
    place = start * (tl.num_programs(0) // SLICES) + piece
    first = start * n_rows + piece.to(tl.int64) * PIECE
    slots = place * PIECE
    rows += piece.to(tl.int64) * PIECE * row_step
    codes += first
    centers += start * n_clusters * n_features
    weights += start * n_features * (1 if SHARED else n_clusters)
    offsets += start * n_clusters
    n_pairs = tl.load(n_doubtful + 2 * place)
    n_others = tl.load(n_doubtful + 2 * place + 1)
    for at in range(first_slot, n_pairs, SLICES * TILE):
        slot = at + tl.arange(0, TILE)
        there = slot < n_pairs
        j = tl.load(doubtful + slots + slot, mask=there, other=0).to(tl.int64)
        both = -1 - tl.load(codes + j, mask=there, other=-1)
        one, two = both // n_clusters, both % n_clusters
        low, high = tl.minimum(one, two), tl.maximum(one, two)
        f = _exact(
            rows,
            row_step,
            column_step,
            j,
            there,
            centers,
            weights,
            tl.join(low, high),
            n_features,
            TILE,
            2,
            SHARED,
            FEATURES,
            FEATURE_CHUNKS,
        )
        d, e = tl.split(f)
        d += tl.load(offsets + low)
        e += tl.load(offsets + high)
        tl.debug_barrier()  # no thread may still have to read the codes
        tl.store(codes + j, tl.where(e < d, high, low), mask=there)
    few: tl.constexpr = 8  # rows, with some clusters each
    some: tl.constexpr = 8
    for at in range((tl.program_id(0) % SLICES) * few, n_others, SLICES * few):
        slot_of_other = at + tl.arange(0, few)
        listed_there = slot_of_other < n_others
        from_end = doubtful + slots + PIECE - 1 - slot_of_other
        other = tl.load(from_end, mask=listed_there, other=0).to(tl.int64)
        best = tl.full((few,), float("inf"), tl.float64)
        found = tl.zeros((few,), tl.int32)
        for first_cluster in range(0, n_clusters, some):
            k = first_cluster + tl.arange(0, some)
            f = _exact(
                rows,
                row_step,
                column_step,
                other,
                listed_there,
                centers,
                weights,
                tl.minimum(k, n_clusters - 1)[None, :],
                n_features,
                few,
                some,
                SHARED,
                FEATURES,
                FEATURE_CHUNKS,
            )
            f += tl.load(offsets + k, mask=k < n_clusters, other=float("inf"))[None, :]
            lowest = tl.min(f, axis=1)
            nearest_k = tl.min(tl.where(f == lowest[:, None], k[None, :], n_clusters), axis=1)
            found = tl.where(lowest < best, nearest_k, found)
            best = tl.minimum(best, lowest)
        tl.store(codes + other, found, mask=listed_there)


@triton.jit
def list_changes(
    weight,  # (rows,) float64
    going,
    update,
    listed,  # marked rows
    n_marked,
    codes,  # (starts, rows) int32 labels
    labels,  # (starts, rows) int32 labels of the last pass, which are replaced
    entries,  # (2, starts, pieces x rows of a piece) int32: label x PIECE + place, now and before
    n_listed,  # (starts, pieces) int32
    changed,  # (2, starts, pieces) int32 rows that change, all of them and those with weight
    prints,  # (starts, pieces) int64
    first_row,
    n_rows,
    WEIGHTED: tl.constexpr,
    PRINT: tl.constexpr,
    PIECE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Replace the labels of marked rows of a piece; list its rows that are to be summed."""
    piece = tl.program_id(0)
    start = tl.program_id(1).to(tl.int64)
    if tl.load(going + start) == 0:
        return
    n_places = tl.num_programs(1).to(tl.int64) * tl.num_programs(0)
    place = start * tl.num_programs(0) + piece
    first = piece.to(tl.int64) * PIECE
    codes += start * n_rows + first
    labels += start * n_rows + first
    entries += place * PIECE
    only_changes = tl.load(update + start)
    n = tl.zeros((), tl.int32)
    n_changed = tl.zeros((BLOCK,), tl.int32)
    n_weighed = tl.zeros((BLOCK,), tl.int32)
    printed = tl.zeros((BLOCK,), tl.int64)
    listed += place * PIECE
    n_here = tl.load(n_marked + place)
    for at in range(0, n_here, BLOCK):
        s = at + tl.arange(0, BLOCK)
        here = s < n_here
        j = tl.load(listed + s, mask=here, other=0)
        label = tl.load(codes + j, mask=here, other=0)
        before = tl.load(labels + j, mask=here, other=0)
        moved = here & (label != before)
        weighs = here
        if WEIGHTED:
            weighs = here & (tl.load(weight + first + j, mask=here, other=0.0) > 0)
            n_weighed += (moved & weighs).to(tl.int32)
        if PRINT:
            key = _key(first + j + first_row) * (label + 1).to(tl.uint64)
            printed += tl.where(weighs, key, 0).to(tl.int64, bitcast=True)
        n_changed += moved.to(tl.int32)
        picks = weighs & (tl.where(moved, 0, only_changes) == 0)
        slot = n + tl.cumsum(picks.to(tl.int32), axis=0) - 1
        tl.store(entries + slot, label * PIECE + j, mask=picks)
        tl.store(entries + n_places * PIECE + slot, before * PIECE + j, mask=picks)
        n += tl.sum(picks.to(tl.int32), axis=0)
        tl.store(labels + j, label, mask=moved)
    tl.store(n_listed + place, n)
    all_of_them = tl.sum(n_changed, axis=0)
    tl.store(changed + place, all_of_them)
    tl.store(changed + n_places + place, tl.sum(n_weighed, axis=0) if WEIGHTED else all_of_them)
    if PRINT:
        tl.store(prints + place, tl.sum(printed, axis=0))


@triton.jit
def sort_members(
    going,
    update,
    entries,
    n_listed,
    members,  # (2, starts, pieces x rows of a piece) int32 sorted rows that come and that go
    begins,  # (2, starts, pieces, clusters) int32 the first row of a cluster
    lengths,  # and the number of its rows
    n_clusters,
    PIECE: tl.constexpr,
    BLOCK: tl.constexpr,
    TILE: tl.constexpr,
    CLUSTERS: tl.constexpr,
    CLUSTER_CHUNKS: tl.constexpr,
):
    """Sort the listed rows of a piece by cluster; those of one cluster keep their order.

    The rank of a row among those of its cluster is a product, too: of a triangle of ones and a
    matrix that tells who belongs where.
    """
    piece = tl.program_id(0)
    start = tl.program_id(1).to(tl.int64)
    side = tl.program_id(2)
    if tl.load(going + start) * tl.where(side == 0, 1, tl.load(update + start)) == 0:
        return
    place = (side * tl.num_programs(1) + start) * tl.num_programs(0) + piece
    n = tl.load(n_listed + start * tl.num_programs(0) + piece)
    entries += place * PIECE
    members += place * PIECE
    begins += place * n_clusters
    lengths += place * n_clusters
    b = tl.arange(0, BLOCK)
    r = tl.arange(0, TILE)
    triangle = (r[None, :] < r[:, None]).to(tl.float16)
    halves = tl.arange(0, 2)[:, None]
    before = tl.zeros((), tl.int32)
    for chunk in range(CLUSTER_CHUNKS):
        first = chunk * CLUSTERS
        k = first + tl.arange(0, CLUSTERS)
        bins = tl.zeros((2 * CLUSTERS,), tl.int32)
        for at in range(0, n, BLOCK):
            label = tl.load(entries + at + b, mask=at + b < n, other=-1) // PIECE
            inside = (at + b < n) & (label >= first) & (label < first + CLUSTERS)
            bins += tl.histogram(tl.where(inside, label - first, CLUSTERS), 2 * CLUSTERS)
        length = tl.sum(tl.where(halves == 0, tl.reshape(bins, (2, CLUSTERS)), 0), axis=0)
        begin = before + tl.cumsum(length, axis=0) - length
        tl.store(begins + k, begin, mask=k < n_clusters)
        tl.store(lengths + k, length, mask=k < n_clusters)
        before += tl.sum(length, axis=0)
        for at in range(0, n, TILE):
            entry = tl.load(entries + at + r, mask=at + r < n, other=-1)
            label = tl.where(entry < 0, -1, entry // PIECE)
            member = label[:, None] == k[None, :]
            rank = tl.dot(triangle, member.to(tl.float16)).to(tl.int32)
            slot = tl.sum(tl.where(member, rank + begin[None, :], 0), axis=1)
            inside = (label >= first) & (label < first + CLUSTERS)
            tl.store(members + slot, entry % PIECE, mask=inside)
            begin += tl.sum(member.to(tl.int32), axis=0)


@triton.jit
def _sum_list(
    rows,
    row_step,
    column_step,
    weight,
    list_,
    n,
    first,
    reference,
    v,
    n_features,
    some,
    some2,
    mass,
    WEIGHTED: tl.constexpr,
    TILE: tl.constexpr,
):
    """Add the rows of a list, relative to the reference, and their squares."""
    inside = (v < n_features)[None, :]
    for at in range(0, n, TILE):
        slot = at + tl.arange(0, TILE)
        there = slot < n
        i = first + tl.load(list_ + slot, mask=there, other=0)
        y = _load_rows(rows, i, v, row_step, column_step, there, n_features)
        t = tl.where(there[:, None] & inside, y - reference, 0.0)
        scaled = t
        if WEIGHTED:
            s = tl.load(weight + i, mask=there, other=0.0)
            mass += s
            scaled = s.to(y.dtype)[:, None] * t
        some += scaled
        some2 += scaled * t
    return some, some2, mass


@triton.jit
def sum_clusters(
    rows,
    row_step,
    column_step,
    weight,
    going,
    update,
    members,
    begins,
    lengths,
    reference,  # (starts, clusters, features) in the type of the rows
    mass,  # (starts, parts, clusters) float64
    n_counted,  # (starts, parts, clusters) float64
    sums,  # (starts, parts, clusters, features) float64
    powers,
    n_features,
    n_clusters,
    n_pieces,
    pieces_each,
    WEIGHTED: tl.constexpr,
    PIECE: tl.constexpr,
    TILE: tl.constexpr,
    FEATURES: tl.constexpr,
    FEATURE_CHUNKS: tl.constexpr,
):
    """Sum the listed rows of one cluster in some pieces; rows that go are subtracted."""
    k = tl.program_id(0) // FEATURE_CHUNKS
    chunk = tl.program_id(0) % FEATURE_CHUNKS
    part = tl.program_id(1)
    start = tl.program_id(2).to(tl.int64)
    if tl.load(going + start) == 0:
        return
    only_changes = tl.load(update + start)
    number = rows.dtype.element_ty
    n_places = tl.num_programs(2).to(tl.int64) * n_pieces
    v = chunk * FEATURES + tl.arange(0, FEATURES)
    inside = v < n_features
    about = tl.load(reference + (start * n_clusters + k) * n_features + v, mask=inside, other=0.0)
    about = about[None, :]
    total = tl.zeros((TILE, FEATURES), tl.float64)
    total2 = tl.zeros((TILE, FEATURES), tl.float64)
    total_mass = tl.zeros((TILE,), tl.float64)
    count = tl.zeros((), tl.int32)
    for piece in range(part * pieces_each, tl.minimum((part + 1) * pieces_each, n_pieces)):
        place = start * n_pieces + piece
        first = (place - start * n_pieces) * PIECE  # in 64 bits
        at = place * n_clusters + k
        n = tl.load(lengths + at)
        some = tl.zeros((TILE, FEATURES), number)
        some2 = tl.zeros((TILE, FEATURES), number)
        some, some2, total_mass = _sum_list(
            rows,
            row_step,
            column_step,
            weight,
            members + place * PIECE + tl.load(begins + at),
            n,
            first,
            about,
            v,
            n_features,
            some,
            some2,
            total_mass,
            WEIGHTED,
            TILE,
        )
        count += n
        total += some.to(tl.float64)
        total2 += some2.to(tl.float64)
        if only_changes > 0:
            at += n_places * n_clusters
            n = tl.load(lengths + at)
            some = tl.zeros((TILE, FEATURES), number)
            some2 = tl.zeros((TILE, FEATURES), number)
            gone = tl.zeros((TILE,), tl.float64)
            some, some2, gone = _sum_list(
                rows,
                row_step,
                column_step,
                weight,
                members + (n_places + place) * PIECE + tl.load(begins + at),
                n,
                first,
                about,
                v,
                n_features,
                some,
                some2,
                gone,
                WEIGHTED,
                TILE,
            )
            count -= n
            total -= some.to(tl.float64)
            total2 -= some2.to(tl.float64)
            total_mass -= gone
    cell = (start * tl.num_programs(1) + part) * n_clusters + k
    tl.store(sums + cell * n_features + v, tl.sum(total, axis=0), mask=inside)
    tl.store(powers + cell * n_features + v, tl.sum(total2, axis=0), mask=inside)
    if chunk == 0:
        counted = count.to(tl.float64)
        tl.store(n_counted + cell, counted)
        tl.store(mass + cell, tl.sum(total_mass, axis=0) if WEIGHTED else counted)


@triton.jit
def joined(values, start, k, n_parts, n_clusters, n_features, v, BATCH: tl.constexpr):
    """Return the sum of what all programs have for one cluster, in their order."""
    total = tl.zeros(v.shape, tl.float64)
    for first in range(0, n_parts, BATCH):
        part = first + tl.arange(0, BATCH)
        at = ((start * n_parts + part) * n_clusters + k)[:, None] * n_features + v[None, :]
        inside = (part < n_parts)[:, None] & (v < n_features)[None, :]
        total += tl.sum(tl.load(values + at, mask=inside, other=0.0), axis=0)
    return total


@triton.jit
def joined_number(values, start, k, n_parts, n_clusters, BATCH: tl.constexpr):
    """Return the same sum of one number."""
    total = tl.zeros((BATCH,), tl.float64)
    for first in range(0, n_parts, BATCH):
        part = first + tl.arange(0, BATCH)
        at = (start * n_parts + part) * n_clusters + k
        total += tl.load(values + at, mask=part < n_parts, other=0.0)
    return tl.sum(total, axis=0)


@triton.jit
def join(
    mass,
    n_counted,
    sums,
    powers,
    out,  # mass, rows, sums and squares of all clusters of all starts
    n_starts,
    n_parts,
    n_clusters,
    n_features,
    BATCH: tl.constexpr,
    FEATURES: tl.constexpr,
    FEATURE_CHUNKS: tl.constexpr,
):
    """Add the parts of all programs for one cluster."""
    k = tl.program_id(0)
    start = tl.program_id(1).to(tl.int64)
    cluster = start * n_clusters + k
    n_cells = start * 0 + n_starts * n_clusters  # in 64 bits
    tl.store(out + cluster, joined_number(mass, start, k, n_parts, n_clusters, BATCH))
    counted = joined_number(n_counted, start, k, n_parts, n_clusters, BATCH)
    tl.store(out + n_cells + cluster, counted)
    first = out + 2 * n_cells + cluster * n_features
    for chunk in range(FEATURE_CHUNKS):
        v = chunk * FEATURES + tl.arange(0, FEATURES)
        total = joined(sums, start, k, n_parts, n_clusters, n_features, v, BATCH)
        tl.store(first + v, total, mask=v < n_features)
        total = joined(powers, start, k, n_parts, n_clusters, n_features, v, BATCH)
        tl.store(first + n_cells * n_features + v, total, mask=v < n_features)


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
    d = _exact(
        rows,
        row_step,
        column_step,
        i,
        here,
        centers + start * n_clusters * n_features,
        weights + start * n_features * (1 if SHARED else n_clusters),
        k[:, None],
        n_features,
        TILE,
        1,
        SHARED,
        FEATURES,
        FEATURE_CHUNKS,
    )
    tl.store(out + i, tl.reshape(d, (TILE,)), mask=here)


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
        d = _exact(
            rows,
            row_step,
            column_step,
            i,
            here,
            centers,
            weights,
            tl.full((1, 1), k, tl.int32),
            n_features,
            TILE,
            1,
            SHARED,
            FEATURES,
            FEATURE_CHUNKS,
        )
        tl.store(out + i * n_clusters + k, tl.sqrt(tl.reshape(d, (TILE,))), mask=here)
