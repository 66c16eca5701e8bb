// What a start prepares for a race: factors of its clusters, and how far its sums may be off.
#pragma once
#include "common/packing.hpp"

namespace fwk { namespace FWK_ISA { namespace {

// Labels are certain where second - best > absolute + linear sqrt(z) + relative z, with z the
// second best dissimilarity (own weights) or the row's squared length (shared weights).
struct RaceBound {
    double absolute, linear, relative, lowest_offset;
};

inline index n_tiles(index k) { return (k + MAX_TILE - 1) / MAX_TILE; }
inline int tile_size(index k, index tile) {  // sizes differ by at most one
    return int(k / n_tiles(k)) + (tile < k % n_tiles(k));
}
inline index per_element(const Starts& starts) { return starts.expanded ? 1 : 2; }

inline index n_costs(const Starts& starts) {
    return starts.costs ? starts.n_levels * round_up(starts.n_clusters, WIDE) : 0;
}
template <class T> std::size_t prepared_bytes(const Starts& starts) {
    const index table = starts.n_clusters * (starts.n_features * per_element(starts) + 1);
    return std::size_t(round_up(sizeof(RaceBound) + n_costs(starts) * index(sizeof(double)) +
                                    (table + starts.n_features) * index(sizeof(T)),
        64));
}
inline const double* costs_of(const void* prepared) {
    return reinterpret_cast<const double*>(static_cast<const RaceBound*>(prepared) + 1);
}
template <class T> inline const T* shift_of(const Starts& starts, const void* prepared) {
    return reinterpret_cast<const T*>(costs_of(prepared) + n_costs(starts));
}

// Costs of the categories with the clusters inside; returns what no row's sum of them exceeds.
inline double prepare_costs(const Starts& starts, index start, double* costs) {
    if (!starts.costs) return 0;
    const index stride = round_up(starts.n_clusters, WIDE);
    double largest = 0;
    for (index i = 0; i < n_costs(starts); ++i) costs[i] = 0;
    for (index k = 0; k < starts.n_clusters; ++k) {
        const double* own = starts.costs + (start * starts.n_clusters + k) * starts.n_levels;
        for (index level = 0; level < starts.n_levels; ++level) {
            costs[level * stride + k] = own[level];
            largest = own[level] > largest ? own[level] : largest;
        }
    }
    return largest * double(starts.n_categorical);
}

// Subnormal factors would cost a hundred cycles an operation and bring nothing.
template <class T, int L> inline Vector<T, L> normal(Vector<double, L> x) {
    return __builtin_convertvector(
        absolute<L>(x) < SMALLEST<T> ? Vector<double, L>{} : x, Vector<T, L>);
}

// Sums over the features of a cluster, lane by lane.
template <int L> struct Lengths {
    using D = Vector<double, L>;
    D constant = {}, squares = {}, too_large = {};

    // Writes the factors of L features to `out`, those of a feature `stride` after those of the one
    // before.
    template <class T>
    void lay(const double* center, const double* weight, const T* shift, bool expanded,
        index stride, T* out) {
        const D w = load<D>(weight);
        const D moved = load<D>(center) - load_wide<T, L>(shift);
        if (expanded) {
            const Vector<T, L> factor = normal<T, L>(-2.0 * w * moved);
            constant += w * moved * moved;
            squares += w * w * moved * moved;
            for (int l = 0; l < L; ++l) out[l * stride] = factor[l];
            return;
        }
        const D root = square_root<double, L>(w), s = root < SMALLEST<T> ? D{} : root,
                end = -s * moved;
        const Vector<T, L> slope = __builtin_convertvector(s, Vector<T, L>),
                           rest = normal<T, L>(end);
        squares += w * moved * moved;
        too_large += absolute<L>(end) <= LARGEST<T> / 16 ? D{} : D{} + 1.0;
        for (int l = 0; l < L; ++l) out[l * stride] = slope[l], out[l * stride + 1] = rest[l];
    }
};

// The largest of what the clusters of a start have, and the lowest offset.
struct Largest {
    double length = 0, constant = 0, offset = 0, lowest_offset = __builtin_inf();
    bool fits = true;  // double factors may be too large for float
    void take(double squares, double own_constant, double own_offset) {
        const double size = __builtin_fabs(own_offset);
        length = squares > length ? squares : length;
        constant = own_constant > constant ? own_constant : constant;
        offset = size > offset ? size : offset;
        lowest_offset = own_offset < lowest_offset ? own_offset : lowest_offset;
    }
};

// Lays out the factors of a cluster; returns its constant, without the offset.
template <class T>
double lay_cluster(const double* c, const double* w, const T* shift, index m, bool expanded,
    index stride, T* factors, double offset, Largest& largest) {
    Lengths<WIDE> most;
    Lengths<1> last;
    index v = 0;
    for (; v + WIDE <= m; v += WIDE)
        most.lay(c + v, w + v, shift + v, expanded, stride, factors + v * stride);
    for (; v < m; ++v) last.lay(c + v, w + v, shift + v, expanded, stride, factors + v * stride);
    double constant = last.constant[0], squares = last.squares[0], beyond = last.too_large[0];
    for (int l = 0; l < WIDE; ++l) {
        constant += most.constant[l];
        squares += most.squares[l];
        beyond += most.too_large[l];
    }
    largest.fits &= beyond == 0;
    largest.take(squares, constant, offset);
    return constant;
}

// How far sums may be off: I1 and I2 of docs/maintainers/inequalities.rst.
template <class T>
RaceBound bound_of(const Starts& starts, const Largest& largest, double category_size) {
    const double length = square_root(largest.length), offset = largest.offset + category_size;
    const double u = UNIT_ROUNDOFF<T>,
                 terms = double(starts.n_features + starts.n_categorical) + 16;
    // what underflows is below the smallest normal number; what may overflow decides nothing
    const double underflow = terms * SMALLEST<T>, constants = largest.constant + offset;
    RaceBound bound = {2 * terms * u * offset + 40 * u * u * length * length + underflow,
        16 * u * length, 2 * terms * u, largest.lowest_offset};
    if (starts.expanded)
        bound = {2 * terms * u * constants + underflow, 4 * terms * u * length + underflow, 0, 0};
    const bool overflow = !largest.fits || (starts.expanded && !(constants <= LARGEST<T> / 16));
    if (overflow) bound.absolute = __builtin_inf();
    return bound;
}

// Layout behind the bound: costs of categories, shift (M), then for each tile of clusters: its
// constants, then for each feature the pairs (s, e) or the single factors g of the tile's clusters.
template <class T> void prepare(const Starts& starts, index start, void* prepared) {
    const index k = starts.n_clusters, m = starts.n_features, each = per_element(starts);
    const double* centers = starts.centers + start * k * m;
    const double* weights = starts.weights + start * (starts.shared ? 1 : k) * m;
    const double* offsets = starts.offsets + start * k;
    const double category_size =
        prepare_costs(starts, start, const_cast<double*>(costs_of(prepared)));
    T* shift = const_cast<T*>(shift_of<T>(starts, prepared));
    for (index v = 0; v < m; ++v) shift[v] = T(starts.shift[v]);
    T* cursor = shift + m;
    Largest largest;
    for (index tile = 0, first = 0; tile < n_tiles(k); ++tile) {
        const int size = tile_size(k, tile);
        T *constants = cursor, *factors = cursor + size;
        for (int j = 0; j < size; ++j) {
            const index at = first + j;
            const double* w = weights + (starts.shared ? 0 : at * m);
            const double constant = lay_cluster(centers + at * m, w, shift, m, starts.expanded,
                size * each, factors + j * each, offsets[at], largest);
            constants[j] = T(constant + offsets[at]);
        }
        cursor = factors + m * size * each;
        first += size;
    }
    *static_cast<RaceBound*>(prepared) = bound_of<T>(starts, largest, category_size);
}

}}}  // namespace fwk::FWK_ISA
