// What a start prepares for a race: factors of its clusters, and how far its sums may be off.
#pragma once
#include "common/packing.hpp"

namespace fwk { namespace FWK_ISA { namespace {

// Labels are certain where second - best > absolute + linear sqrt(z) + relative z, with z the
// second best dissimilarity (own weights) or the row's squared length (shared weights).
struct Prepared {
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
    return std::size_t(round_up(sizeof(Prepared) + n_costs(starts) * index(sizeof(double)) +
                                    (table + starts.n_features) * index(sizeof(T)),
        64));
}
inline const double* costs_of(const void* prepared) {
    return reinterpret_cast<const double*>(static_cast<const Prepared*>(prepared) + 1);
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

// Layout behind the header: costs of categories, shift (M), then for each tile of clusters: its
// constants, then for each feature the pairs (s, e) or the single factors g of the tile's clusters.
template <class T> void prepare(const Starts& starts, index start, void* prepared) {
    const index k_total = starts.n_clusters, m = starts.n_features;
    const double* centers = starts.centers + start * k_total * m;
    const double* weights = starts.weights + start * (starts.shared ? 1 : k_total) * m;
    const double* offsets = starts.offsets + start * k_total;
    const double category_size =
        prepare_costs(starts, start, const_cast<double*>(costs_of(prepared)));
    T* shift = const_cast<T*>(shift_of<T>(starts, prepared));
    for (index v = 0; v < m; ++v) shift[v] = T(starts.shift[v]);
    T* cursor = shift + m;
    double length = 0, largest_offset = 0, lowest_offset = __builtin_inf(), constant_size = 0;
    bool fits = true;  // double factors may be too large for float
    index first = 0;
    for (index tile = 0; tile < n_tiles(k_total); ++tile) {
        const int size = tile_size(k_total, tile);
        T* constants = cursor;
        T* factors = cursor + size;
        for (int j = 0; j < size; ++j) {
            const double* c = centers + (first + j) * m;
            const double* w = weights + (starts.shared ? 0 : (first + j) * m);
            const index each = per_element(starts), stride = size * each;
            Lengths<WIDE> most;
            Lengths<1> last;
            index v = 0;
            for (; v + WIDE <= m; v += WIDE)
                most.lay(c + v, w + v, shift + v, starts.expanded, stride,
                    factors + v * stride + j * each);
            for (; v < m; ++v)
                last.lay(c + v, w + v, shift + v, starts.expanded, stride,
                    factors + v * stride + j * each);
            double constant = last.constant[0], squared_length = last.squares[0],
                   beyond = last.too_large[0];
            for (int l = 0; l < WIDE; ++l) {
                constant += most.constant[l];
                squared_length += most.squares[l];
                beyond += most.too_large[l];
            }
            fits &= beyond == 0;
            const double offset = offsets[first + j];
            constants[j] = T(constant + offset);
            length = squared_length > length ? squared_length : length;
            constant_size = constant > constant_size ? constant : constant_size;
            largest_offset =
                __builtin_fabs(offset) > largest_offset ? __builtin_fabs(offset) : largest_offset;
            lowest_offset = offset < lowest_offset ? offset : lowest_offset;
        }
        cursor = factors + m * size * per_element(starts);
        first += size;
    }
    length = square_root(length);
    largest_offset += category_size;
    const double u = UNIT_ROUNDOFF<T>, terms = double(m + starts.n_categorical) + 16;
    // what underflows is below the smallest normal number; what may overflow decides nothing
    const double underflow = terms * SMALLEST<T>;
    const bool overflow =
        !fits || (starts.expanded && !(constant_size + largest_offset <= LARGEST<T> / 16));
    Prepared& header = *static_cast<Prepared*>(prepared);
    if (starts.expanded)
        header = {2 * terms * u * (constant_size + largest_offset) + underflow,
            4 * terms * u * length + underflow, 0, 0};
    else
        header = {2 * terms * u * largest_offset + 40 * u * u * length * length + underflow,
            16 * u * length, 2 * terms * u, lowest_offset};
    if (overflow) header.absolute = __builtin_inf();
}

}}}  // namespace fwk::FWK_ISA
