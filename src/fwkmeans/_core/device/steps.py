"""The Triton programs between two passes: centers, dispersions, weights, objective.

They compute for all starts what `fwkmeans._engine.loop` and ``rules.hpp`` do, in float64 on the
device, so that the host has to look at a few numbers only. The letters and the order of the steps
are those of ``loop.hpp``.
"""

# mypy: ignore-errors
from __future__ import annotations

import triton
import triton.language as tl

from fwkmeans._core.device.programs import joined, joined_number, power_of_two

# what `disperse` finds out about a cluster
_EMPTY = tl.constexpr(1)
_LOST = tl.constexpr(2)  # digits, because rows have left
_CANCELS = tl.constexpr(4)  # the center has moved too far from the reference
_OVERFLOWS = tl.constexpr(8)
_MOVES = tl.constexpr(16)
_FAR = tl.constexpr(32)  # the next sums need another reference

# what a start sums next: all rows, those that change, or all rows about new centers
_ALL = tl.constexpr(0)
_CHANGES = tl.constexpr(1)
_ANEW = tl.constexpr(2)

# what the host is told
DONE = tl.constexpr(0)
AGAIN = tl.constexpr(1)  # the pass must be repeated
STUCK = tl.constexpr(2)  # a cluster is empty
FAILED = tl.constexpr(3)  # sums overflow

# kinds of rules, see `fwkmeans.typing.CoreRule`
_FIXED = tl.constexpr(0)
_ENTROPY = tl.constexpr(1)
_SHARED_POWER = tl.constexpr(2)
_CLUSTER_POWER = tl.constexpr(3)
_REFRESH = tl.constexpr(2)
_INSIDE = tl.constexpr(3)

_INF = tl.constexpr(float("inf"))


@triton.jit
def _x_log_x(w):
    return w * tl.log(tl.where(w > 0, w, 1.0))


@triton.jit
def _logs(w, beta):
    """Return the logarithms of powers of weights."""
    return tl.where(w > 0, tl.log(tl.where(w > 0, w, 1.0)) * beta, -_INF)


@triton.jit
def effect(
    values,  # (starts, clusters or 1, features) weights of the rule
    centers,
    moved,  # (starts, clusters, features) centers of the pass before
    parameter,  # (starts,)
    constants,  # (starts,) of the smoothing
    top,  # (starts,) largest weight, or the logarithm of its power
    mode,  # (starts,) int32
    going,
    weights,  # (starts, clusters or 1, features) as they multiply the dissimilarity
    offsets,  # (starts, clusters)
    reference,  # (starts, clusters, features) in the type of the rows
    update,
    n_features,
    n_clusters,
    KIND: tl.constexpr,
    POWER: tl.constexpr,  # whether weights are raised to a power
    OPTION: tl.constexpr,
    SMOOTHING: tl.constexpr,
    SHARED: tl.constexpr,
    FEATURES: tl.constexpr,
):
    """Set what decides the labels; weights are scaled so that the largest is in [1/2, 1)."""
    k = tl.program_id(0)
    start = tl.program_id(1).to(tl.int64)
    if tl.load(going + start) == 0:
        return
    v = tl.arange(0, FEATURES)
    inside = v < n_features
    at = (start * n_clusters + k) * n_features + v
    own = start * n_features + v if SHARED else at
    w = tl.load(values + own, mask=inside, other=0.0)
    p = tl.load(parameter + start)
    largest = tl.load(top + start)
    factor = tl.zeros((), tl.float64) + 1.0
    e = w
    bits = largest.to(tl.int64, bitcast=True)
    exponent = ((bits >> 52) & 0x7FF) - 1022
    if POWER:
        e = tl.exp(_logs(w, p) - largest)
        factor = tl.exp(largest)
        exponent = exponent * 0 + 1
    elif KIND == _FIXED and OPTION:
        e = tl.where(inside, 1.0, 0.0).to(tl.float64)
        exponent = exponent * 0 + 1
    offset = tl.zeros((), tl.float64)
    if KIND == _ENTROPY and OPTION:
        offset = p * tl.sum(_x_log_x(w), axis=0)
    if KIND == _CLUSTER_POWER and SMOOTHING == _INSIDE:
        offset = tl.load(constants + start) * (tl.sum(e, axis=0) * factor)
    scale = factor * power_of_two(exponent)
    tl.store(weights + own, e * power_of_two(-exponent), mask=inside)
    tl.store(offsets + start * n_clusters + k, offset / scale)
    how = tl.load(mode + start)
    if how != _CHANGES:
        about = tl.load(centers + at, mask=inside, other=0.0)
        about = tl.where(how == _ANEW, tl.load(moved + at, mask=inside, other=0.0), about)
        tl.store(reference + at, about.to(reference.dtype.element_ty), mask=inside)
    tl.store(update + start, (how == _CHANGES).to(tl.int32))


@triton.jit
def disperse(
    part_mass,  # sums of the programs of the pass
    part_rows,
    part_sums,
    part_squares,
    mass,  # (starts, clusters) sums of the clusters
    rows,
    sums,  # (starts, clusters, features)
    squares,
    peak_mass,  # the largest since all rows were summed
    peak_squares,
    reference,
    centers,
    moved,
    dispersion,
    total,  # (starts, clusters) sum of the dispersions
    flags,  # (starts, clusters) int32
    mode,
    going,
    magnitude,  # (features,)
    span,
    varying,
    n_parts,
    n_features,
    n_clusters,
    BATCH: tl.constexpr,
    FEATURES: tl.constexpr,
    FEATURE_CHUNKS: tl.constexpr,
):
    """Add the sums of the pass; find the new center of a cluster, and dispersions about it."""
    k = tl.program_id(0)
    start = tl.program_id(1).to(tl.int64)
    if tl.load(going + start) == 0:
        return
    how = tl.load(mode + start)
    updates = how == _CHANGES
    cluster = start * n_clusters + k
    m = joined_number(part_mass, start, k, n_parts, n_clusters, BATCH)
    n = joined_number(part_rows, start, k, n_parts, n_clusters, BATCH)
    m += tl.where(updates, tl.load(mass + cluster), 0.0)
    n += tl.where(updates, tl.load(rows + cluster), 0.0)
    m = tl.where(n > 0, m, 0.0)
    peak = tl.maximum(tl.where(updates, tl.load(peak_mass + cluster), 0.0), m)
    tl.store(mass + cluster, m)
    tl.store(rows + cluster, n)
    tl.store(peak_mass + cluster, peak)
    lost = (m < 1e-4 * peak).to(tl.int32)
    cancels = tl.zeros((), tl.int32)
    overflows = tl.zeros((), tl.int32)
    moves = tl.zeros((), tl.int32)
    far = tl.zeros((), tl.int32)
    all_of_it = tl.zeros((), tl.float64)
    for chunk in range(FEATURE_CHUNKS):
        v = chunk * FEATURES + tl.arange(0, FEATURES)
        inside = v < n_features
        at = cluster * n_features + v
        s = joined(part_sums, start, k, n_parts, n_clusters, n_features, v, BATCH)
        q = joined(part_squares, start, k, n_parts, n_clusters, n_features, v, BATCH)
        known = tl.where(inside, how, _ALL) == _CHANGES
        s += tl.load(sums + at, mask=known, other=0.0)
        q += tl.load(squares + at, mask=known, other=0.0)
        s = tl.where(n > 0, s, 0.0)
        q = tl.where(n > 0, tl.where(updates, tl.maximum(q, 0.0), q), 0.0)
        most = tl.maximum(tl.load(peak_squares + at, mask=known, other=0.0), q)
        tl.store(sums + at, s, mask=inside)
        tl.store(squares + at, q, mask=inside)
        tl.store(peak_squares + at, most, mask=inside)
        lost = tl.maximum(lost, tl.max((inside & (q < 1e-4 * most)).to(tl.int32), axis=0))
        c = tl.load(centers + at, mask=inside, other=0.0)
        r = tl.load(reference + at, mask=inside, other=0.0).to(tl.float64)
        mean = tl.where(m > 0, r + s / tl.where(m > 0, m, 1.0), c)
        ulps = 1e-15 * tl.load(magnitude + v, mask=inside, other=0.0)
        mean = tl.where(tl.abs(mean - c) <= ulps, c, mean)  # steps of a few ulps are undone
        tl.store(moved + at, mean, mask=inside)
        near = 1e-13 * tl.load(span + v, mask=inside, other=0.0)
        rests = tl.where(tl.abs(mean - c) <= near, 0, 1)  # also if it is not a number
        moves = tl.maximum(moves, tl.max(tl.where(inside, rests, 0), axis=0))
        step = mean - r
        known_ulps = 2e-15 * tl.abs(mean) + 1.2e-16 * n * tl.abs(step)
        unknown = m * (known_ulps * known_ulps)
        cancelling = step * step * m
        d = q - cancelling
        residue = 2.0 * step * (s - m * step)
        d = tl.where(tl.abs(residue) > 1e-13 * tl.abs(d), d - residue, d)
        gone = inside & (cancelling > 1e5 * d) & (1e-14 * cancelling > unknown)
        cancels = tl.maximum(cancels, tl.max(gone.to(tl.int32), axis=0))
        far = tl.maximum(far, tl.max((inside & (cancelling > 0.99 * q)).to(tl.int32), axis=0))
        varies = tl.load(varying + v, mask=inside, other=0)
        d = tl.where((d <= unknown) | (varies == 0), 0.0, d)
        infinite = tl.where(tl.abs(d) < _INF, 0, 1)
        overflows = tl.maximum(overflows, tl.max(infinite, axis=0))
        tl.store(dispersion + at, d, mask=inside)
        all_of_it += tl.sum(d, axis=0)
    tl.store(total + cluster, all_of_it)
    found = tl.where(n > 0, 0, _EMPTY) + _OVERFLOWS * overflows + _MOVES * moves + _FAR * far
    found += tl.where(updates & (n > 0), _LOST * lost, 0)
    found += tl.where(how == _ANEW, 0, _CANCELS * cancels)
    tl.store(flags + cluster, found)


@triton.jit
def _any(found, what):
    return tl.max(found & what, axis=0) > 0


@triton.jit
def _status(flags, hopeless, start, n_clusters, CLUSTERS: tl.constexpr):
    """Return what the host is told, and how a pass is repeated."""
    k = tl.arange(0, CLUSTERS)
    found = tl.load(flags + start * n_clusters + k, mask=k < n_clusters, other=0)
    anew = _any(found, _CANCELS)
    status = tl.where(anew, AGAIN, DONE)
    status = tl.where(_any(found, _OVERFLOWS), FAILED, status)
    stuck = _any(found, _EMPTY) & (tl.load(hopeless + start) == 0)
    status = tl.where(stuck, STUCK, status)
    lost = _any(found, _LOST)
    status = tl.where(lost, AGAIN, status)
    next_ = tl.where(anew & (status == AGAIN), _ANEW, _ALL)
    next_ = tl.where(lost, _ALL, next_)
    return status, next_, _any(found, _MOVES), _any(found, _FAR)


@triton.jit
def _softmax(x):
    e = tl.exp(x - tl.max(x, axis=0))
    return e / tl.sum(e, axis=0)


@triton.jit
def _share(marked):
    ones = tl.where(marked, 1.0, 0.0).to(tl.float64)
    n = tl.sum(ones, axis=0)
    return ones / tl.where(n > 0, n, 1.0)


@triton.jit
def _lowest(d, varies):
    return tl.min(tl.where(varies, d, _INF), axis=0)


@triton.jit
def _vertex(d, varies):
    """Return equal weights for the least dispersed features."""
    return _share(varies & (d <= _lowest(d, varies) * (1.0 + 1e-12)))


@triton.jit
def _entropy(d, gamma, varies):
    """See `fwkmeans.weighting.simplex.entropy`."""
    positive = tl.where(gamma > 0, gamma, 1.0)
    logits = tl.where(varies, (_lowest(d, varies) - d) / positive, -_INF)
    return tl.where(gamma > 0, _softmax(logits), _vertex(d, varies))


@triton.jit
def _power(d, beta, varies, scatter):
    """See `fwkmeans.weighting.simplex.power`."""
    floor = tl.where(beta < 0, 1e-24 * scatter, 0.0)
    logs = tl.log(tl.maximum(tl.maximum(d, floor), 2.2250738585072014e-308))
    usual = (beta > 1) | (beta < 0)
    w = _softmax(tl.where(varies, logs / tl.where(usual, 1.0 - beta, 1.0), -_INF))
    zero = varies & (d <= 0)
    pure = (beta > 1) & (tl.max(zero.to(tl.int32), axis=0) > 0)
    w = tl.where(pure, _share(zero), w)
    w = tl.where(usual, w, _share(varies))
    return tl.where(beta == 1, _vertex(d, varies), w)


@triton.jit
def _constant_of(constants, total, start, n_clusters, n_varying, SMOOTHING, CLUSTERS: tl.constexpr):
    """Return the constant of the smoothing: the one before, or the mean dispersion."""
    k = tl.arange(0, CLUSTERS)
    sums = tl.load(total + start * n_clusters + k, mask=k < n_clusters, other=0.0)
    mean = tl.sum(sums, axis=0) / (n_clusters * n_varying).to(tl.float64)
    before = tl.load(constants + start)
    known = (before == before) & (SMOOTHING != _REFRESH)
    return tl.where(known, before, tl.where(mean > 0, mean, 0.01))


@triton.jit
def weigh(
    values,
    centers,
    moved,
    dispersion,
    mass,
    rows,
    total,
    flags,
    hopeless,
    parameter,
    constants,
    guards,  # (starts,) added to dispersions
    going,
    report,  # (starts, clusters, 4) weighted dispersion, entropy or power, largest weight, rest
    varying,
    scatter,
    initial,  # (features,) weights of a cluster without rows
    limit,  # how far weights may move at rest
    n_varying,
    n_features,
    n_clusters,
    KIND: tl.constexpr,
    POWER: tl.constexpr,  # whether weights are raised to a power
    OPTION: tl.constexpr,
    SMOOTHING: tl.constexpr,
    SHARED: tl.constexpr,
    CLUSTERS: tl.constexpr,
    TILE: tl.constexpr,
    FEATURES: tl.constexpr,
):
    """Replace the center of a cluster and its weights; those that are shared, for all clusters."""
    k = tl.program_id(0)
    start = tl.program_id(1).to(tl.int64)
    if tl.load(going + start) == 0:
        return
    status, _, _, _ = _status(flags, hopeless, start, n_clusters, CLUSTERS)
    if status != DONE:
        return
    v = tl.arange(0, FEATURES)
    inside = v < n_features
    cluster = start * n_clusters + k
    at = cluster * n_features + v
    tl.store(centers + at, tl.load(moved + at, mask=inside, other=0.0), mask=inside)
    if SHARED and k > 0:
        return
    own = start * n_features + v if SHARED else at
    before = tl.load(values + own, mask=inside, other=0.0)
    varies = tl.load(varying + v, mask=inside, other=0) > 0
    spread = tl.load(scatter + v, mask=inside, other=0.0)
    p = tl.load(parameter + start)
    d = tl.zeros((FEATURES,), tl.float64)
    if SHARED:
        for first in range(0, n_clusters, TILE):
            j = first + tl.arange(0, TILE)
            cells = (start * n_clusters + j)[:, None] * n_features + v[None, :]
            there = (j < n_clusters)[:, None] & inside[None, :]
            d += tl.sum(tl.load(dispersion + cells, mask=there, other=0.0), axis=0)
    else:
        d = tl.load(dispersion + at, mask=inside, other=0.0)
    w = before
    if KIND == _ENTROPY:
        gamma = p * tl.load(mass + cluster) if OPTION else p
        w = _entropy(d, gamma, varies)
    elif KIND == _SHARED_POWER:
        w = _power(d + tl.load(guards + start), p, varies, spread)
    elif KIND == _CLUSTER_POWER:
        constant = _constant_of(constants, total, start, n_clusters, n_varying, SMOOTHING, CLUSTERS)
        added = constant * tl.load(mass + cluster) if SMOOTHING == _INSIDE else constant
        w = _power(d + (added + tl.load(guards + start)), p, varies, spread)
    if not SHARED:
        empty = tl.load(rows + cluster) <= 0
        w = tl.where(empty, tl.load(initial + v, mask=inside, other=0.0), w)
    tl.store(values + own, w, mask=inside)
    goes = tl.max((inside & (tl.abs(w - before) > limit)).to(tl.int32), axis=0)
    largest = tl.max(w, axis=0)
    term = tl.zeros((), tl.float64)
    e = w
    if KIND == _FIXED and OPTION:
        e = tl.where(inside, 1.0, 0.0).to(tl.float64)
    elif KIND == _ENTROPY:
        term = tl.sum(_x_log_x(w), axis=0)
    elif POWER:
        logs = _logs(w, p)
        largest = tl.max(logs, axis=0)
        e = tl.exp(logs - largest)
        term = tl.sum(e, axis=0)
    report += 4 * cluster
    tl.store(report, tl.sum(e * d, axis=0))
    tl.store(report + 1, term)
    tl.store(report + 2, largest)
    tl.store(report + 3, tl.where(goes > 0, 0.0, 1.0))


@triton.jit
def _sum_pieces(changed, start, n_pieces, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.int64)
    for first in range(0, n_pieces, BLOCK):
        piece = first + tl.arange(0, BLOCK)
        total += tl.load(changed + start * n_pieces + piece, mask=piece < n_pieces, other=0)
    return tl.sum(total, axis=0)


@triton.jit
def conclude(
    report,
    mass,
    total,
    flags,
    hopeless,
    parameter,
    constants,
    guards,
    top,
    mode,
    age,  # (starts,) int32 passes since all rows were summed
    stirred,  # (starts,) int64 rows that have changed since the last weights
    going,
    changed,  # (2, starts, pieces)
    out,  # (starts, 5) objective, its part from rows, status, whether all rests, rows that changed
    n_varying,
    n_rows,
    n_pieces,
    n_clusters,
    KIND: tl.constexpr,
    POWER: tl.constexpr,  # whether weights are raised to a power
    OPTION: tl.constexpr,
    SMOOTHING: tl.constexpr,
    SHARED: tl.constexpr,
    UPDATES: tl.constexpr,
    OLD: tl.constexpr,
    CLUSTERS: tl.constexpr,
):
    """Find the objective of a start, and how its next pass sums rows."""
    start = tl.program_id(0).to(tl.int64)
    out += 5 * start
    if tl.load(going + start) == 0:
        return
    status, next_, moves, far = _status(flags, hopeless, start, n_clusters, CLUSTERS)
    how = tl.load(mode + start)
    n_changed = _sum_pieces(changed, start, n_pieces, 256)
    n_places = tl.num_programs(0).to(tl.int64) * n_pieces
    moved = tl.load(stirred + start) + _sum_pieces(changed + n_places, start, n_pieces, 256)
    tl.store(out + 2, status.to(tl.float64))
    if status != DONE:
        tl.store(stirred + start, moved)
        tl.store(mode + start, next_)
        return
    k = tl.arange(0, CLUSTERS)
    there = k < (1 if SHARED else n_clusters)
    report += 4 * (start * n_clusters + k)
    part = tl.load(report, mask=there, other=0.0)
    term = tl.load(report + 1, mask=there, other=0.0)
    largest = tl.load(report + 2, mask=there, other=-_INF)
    rests = tl.min(tl.load(report + 3, mask=there, other=1.0), axis=0)
    if POWER:
        factor = tl.where(there, tl.exp(largest), 0.0)
        part *= factor
        term *= factor
    by_rows = tl.sum(part, axis=0)
    objective = by_rows
    p = tl.load(parameter + start)
    if POWER:
        objective += tl.load(guards + start) * tl.sum(term, axis=0)
    if KIND == _ENTROPY:
        if OPTION:
            m = tl.load(mass + start * n_clusters + k, mask=there, other=0.0)
            term *= m
        objective += tl.sum(p * term, axis=0)
    elif KIND == _CLUSTER_POWER:
        constant = _constant_of(constants, total, start, n_clusters, n_varying, SMOOTHING, CLUSTERS)
        tl.debug_barrier()
        tl.store(constants + start, constant)
        if SMOOTHING == _INSIDE:
            m = tl.load(mass + start * n_clusters + k, mask=there, other=0.0)
            term *= m
        objective += tl.sum(constant * term, axis=0)
    finite = tl.abs(objective) < _INF
    tl.store(out, objective)
    tl.store(out + 1, by_rows)
    tl.store(out + 2, tl.where(finite, DONE, FAILED).to(tl.float64))
    tl.store(out + 3, tl.where(moves, 0.0, rests))
    tl.store(out + 4, moved.to(tl.float64))
    tl.store(top + start, tl.max(largest, axis=0))
    since = tl.where(how == _CHANGES, tl.load(age + start) + 1, 0)
    few = n_changed.to(tl.float64) <= 0.3 * n_rows
    next_ = tl.where(few & (since < OLD), _CHANGES, _ALL)
    next_ = tl.where(far, _ALL, next_)
    tl.debug_barrier()  # all threads have read what is replaced now
    tl.store(age + start, since)
    tl.store(stirred + start, moved * 0)
    tl.store(mode + start, next_ if UPDATES else _ALL)
