// What a race decides for certain, the bounds it leaves, and an exact look at the rest.
#pragma once
#include "assign/exact.hpp"
#include "assign/race.hpp"

namespace fwk { namespace FWK_ISA { namespace {

// Bounds of the distances to the nearest center and to all others: roots of the two best squares,
// `slack` more and less for what they may be off. A label that was decided again is that of one of
// the near centers, so the best square bounds all. Squares too small for float bound nothing: see
// Bounds. Offsets do not belong to distances: what a cluster had more than its square is taken
// away, or the most it can be.
template <class T, bool SHARED, class Mask>
inline void leave_bounds(const Scratch<T>& block, index i, index k, index m, V<T> value,
    V<T> second, V<T> slack, V<T> label, Mask certain, index n, double unit) {
    constexpr int W = WIDTH<T>;
    using D = Vector<double, W>;
    using F = Vector<float, W>;
    if (SHARED) {
        const V<T> length = load<V<T>>(block.lengths + i);
        value += length;
        second += length;
        slack += length * T((double(m) + 16) * 8 * UNIT_ROUNDOFF<T>);
    }
    const V<T> next = certain ? second : value;
    const D highest_square =
        (__builtin_convertvector(value, D) + __builtin_convertvector(slack, D)) * unit * unit;
    const D lowest_square =
        (__builtin_convertvector(next, D) - __builtin_convertvector(slack, D)) * unit * unit;
    F most = __builtin_convertvector(highest_square, F),
      least = __builtin_convertvector(lowest_square, F);
    if (block.offsets) {
        const Offsets& offsets = *block.offsets;
        const auto labels = __builtin_convertvector(label, Vector<std::int32_t, W>);
        const auto sure = __builtin_convertvector(certain, Vector<std::int32_t, W>);
        const F own = sure ? ByLabel(offsets.own, k).of<W>(labels) : F{} + offsets.least;
        const F others = sure ? ByLabel(offsets.most_other, k).of<W>(labels) : F{} + offsets.most;
        most += 1e-6f * (absolute<W>(most) + absolute<W>(own)) - own;
        least -= 1e-6f * (absolute<W>(least) + absolute<W>(others)) + others;
    }
    most =
        most >= 0.0f ? most : (most < 0.0f ? F{} : F{} + __builtin_inff());  // NaN bounds nothing
    const F highest = most * 1.000002f + 1e-36f;
    F lowest = least * 0.999998f - 1e-36f;
    lowest = lowest > 0.0f ? lowest : F{};
    const F upper = square_root<float, W>(highest), lower = square_root<float, W>(lowest);
    if (n == W) {
        store(block.upper + i, upper);
        store(block.lower + i, lower);
    } else {
        for (index j = 0; j < n; ++j) block.upper[i + j] = upper[j], block.lower[i + j] = lower[j];
    }
}

// Labels, and bounds if wanted, of a vector of rows from i on after their race; nearest(i) decides
// where the race could not, and how often is returned.
template <class T, bool SHARED, class Nearest>
inline index settle(Scratch<T>& block, const RaceBound& bound, index i, index k, index m,
    V<T> value, V<T> second, V<T> label, double unit, Nearest nearest) {
    const V<T> scale = SHARED ? load<V<T>>(block.norms + i) : second - T(bound.lowest_offset);
    const V<T> slack = T(bound.absolute) + T(bound.linear) * square_root<T, WIDTH<T>>(scale) +
                       T(bound.relative) * scale;
    const auto certain = second - value > slack;
    const index n = block.n_rows - i < WIDTH<T> ? block.n_rows - i : WIDTH<T>;
    std::int32_t* labels = block.labels + i;
    if (block.upper)
        leave_bounds<T, SHARED>(block, i, k, m, value, second, slack, label, certain, n, unit);
    const auto found = __builtin_convertvector(label, Vector<std::int32_t, WIDTH<T>>);
    if (n == WIDTH<T>) store(labels, found);
    else
        for (index j = 0; j < n; ++j) labels[j] = found[j];
    std::uint64_t words[BYTES / 8];
    store(words, certain);
    bool doubtful = false;
    for (const std::uint64_t word : words) doubtful |= ~word != 0;
    index n_doubtful = 0;
    if (doubtful)
        for (index j = 0; j < n; ++j)
            if (certain[j] == 0) {
                labels[j] = nearest(i + j);
                ++n_doubtful;
            }
    return n_doubtful;
}

// Labels of the packed block for one start; nearest(i) decides where the race cannot, and how often
// is returned.
template <class T, bool SHARED, class Nearest>
index race_block(
    Scratch<T>& block, const Starts& starts, const void* prepared, double unit, Nearest nearest) {
    index n_doubtful = 0;
    const index k = starts.n_clusters, m = starts.n_features;
    const RaceBound& bound = *static_cast<const RaceBound*>(prepared);
    // A tile of clusters races several tiles of rows while its factors are in the first cache.
    const index group = block.levels ? 1 : ROW_TILES;
    for (index g0 = 0; g0 < block.n_rows; g0 += group * TILE_ROWS<T>) {
        const index g1 =
            g0 + group * TILE_ROWS<T> < block.n_rows ? g0 + group * TILE_ROWS<T> : block.n_rows;
        Best<T> bests[ROW_TILES];
        const T* constants = shift_of<T>(starts, prepared) + m;
        if (block.levels)
            look_up<T, TILE_ROWS<T>>(block, g0, block.n_rows - g0, costs_of(prepared), k);
        index first = 0;
        for (index tile = 0; tile < n_tiles(k); ++tile) {
            const int size = tile_size(k, tile);
            const double* lookups = block.levels ? block.lookups + first * TILE_ROWS<T> : nullptr;
            Best<T>* best = bests;
            for (index i0 = g0; i0 < g1; i0 += TILE_ROWS<T>, ++best) {
                const T* panel = block.panels + i0 * m;
                if (!SHARED && block.holes && block.holes[i0 / TILE_ROWS<T>])
                    race_masked<T>(size, panel, constants, m, lookups, first, *best);
                else if (block.n_rows - i0 > WIDTH<T>)
                    race_tile<T, ROW_VECTORS, SHARED>(
                        size, panel, constants, m, lookups, first, *best);
                else race_tile<T, 1, SHARED>(size, panel, constants, m, lookups, first, *best);
            }
            constants += size * (1 + m * (SHARED ? 1 : 2));
            first += size;
        }
        for (index i0 = g0; i0 < g1; i0 += TILE_ROWS<T>) {
            const Best<T>& best = bests[(i0 - g0) / TILE_ROWS<T>];
            const index left = block.n_rows - i0;
            for (int r = 0; r < ROW_VECTORS && r * WIDTH<T> < left; ++r)
                n_doubtful += settle<T, SHARED>(block, bound, i0 + r * WIDTH<T>, k, m,
                    best.value[r], best.second[r], best.label[r], unit, nearest);
        }
    }
    return n_doubtful;
}

}}}  // namespace fwk::FWK_ISA
