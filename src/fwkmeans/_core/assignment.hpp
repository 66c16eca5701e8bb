// Which center is nearest: register tiles that race, and an exact word where they cannot decide.
#pragma once
#include "block.hpp"

namespace fwk {
namespace FWK_ISA {
namespace {

// ---- a start's tables ---------------------------------------------------------------------------

// Labels are certain where second - best > absolute + linear sqrt(z) + relative z, with z the
// second best dissimilarity (own weights) or the row's squared length (shared weights).
struct Prepared {
    double absolute, linear, relative, lowest_offset;
};

inline index n_tiles(index k) { return (k + MAX_TILE - 1) / MAX_TILE; }
inline int tile_size(index k, index tile) {  // sizes differ by at most one
    return int(k / n_tiles(k)) + (tile < k % n_tiles(k));
}
inline index per_element(const Starts& starts) { return starts.shared ? 1 : 2; }

template <class T>
std::size_t prepared_bytes(const Starts& starts) {
    const index table = starts.n_clusters * (starts.n_features * per_element(starts) + 1);
    return std::size_t(round_up(sizeof(Prepared) + (table + starts.n_features) * sizeof(T), 64));
}
template <class T>
inline const T* shift_of(const void* prepared) {
    return reinterpret_cast<const T*>(static_cast<const Prepared*>(prepared) + 1);
}

// Subnormal factors would cost a hundred cycles an operation and bring nothing.
template <class T>
inline T normal(double x) {
    return __builtin_fabs(x) < SMALLEST<T> ? T(0) : T(x);
}

// Layout behind the header: shift (M), then for each tile of clusters: its constants, then for each
// feature the pairs (s, e) or the single factors g of the tile's clusters.
template <class T>
void prepare(const Starts& starts, index start, void* prepared) {
    const index k_total = starts.n_clusters, m = starts.n_features;
    const double* centers = starts.centers + start * k_total * m;
    const double* weights = starts.weights + start * (starts.shared ? 1 : k_total) * m;
    const double* offsets = starts.offsets + start * k_total;
    T* shift = const_cast<T*>(shift_of<T>(prepared));
    for (index v = 0; v < m; ++v) shift[v] = T(starts.shift[v]);
    T* cursor = shift + m;
    double length = 0, largest_offset = 0, lowest_offset = __builtin_inf(), constant_size = 0;
    index first = 0;
    for (index tile = 0; tile < n_tiles(k_total); ++tile) {
        const int size = tile_size(k_total, tile);
        T* constants = cursor;
        T* factors = cursor + size;
        for (int j = 0; j < size; ++j) {
            const double* c = centers + (first + j) * m;
            const double* w = weights + (starts.shared ? 0 : (first + j) * m);
            double constant = 0, squared_length = 0;
            for (index v = 0; v < m; ++v) {
                const double moved = c[v] - double(shift[v]);
                if (starts.shared) {
                    factors[v * size + j] = normal<T>(-2 * w[v] * moved);
                    constant += w[v] * moved * moved;
                    squared_length += w[v] * w[v] * moved * moved;
                } else {
                    const double root = square_root(w[v]), s = root < SMALLEST<T> ? 0 : root;
                    factors[(v * size + j) * 2] = T(s);
                    factors[(v * size + j) * 2 + 1] = normal<T>(-s * moved);
                    squared_length += w[v] * moved * moved;
                }
            }
            const double offset = offsets[first + j];
            constants[j] = T(constant + offset);
            length = squared_length > length ? squared_length : length;
            constant_size = constant > constant_size ? constant : constant_size;
            largest_offset = __builtin_fabs(offset) > largest_offset ? __builtin_fabs(offset) : largest_offset;
            lowest_offset = offset < lowest_offset ? offset : lowest_offset;
        }
        cursor = factors + m * size * per_element(starts);
        first += size;
    }
    length = square_root(length);
    const double u = UNIT_ROUNDOFF<T>, terms = double(m) + 16;
    // what underflows is below the smallest normal number; what may overflow decides nothing
    const double underflow = terms * SMALLEST<T>;
    const bool overflow = starts.shared && !(constant_size + largest_offset <= LARGEST<T> / 16);
    Prepared& header = *static_cast<Prepared*>(prepared);
    if (starts.shared)
        header = {2 * terms * u * (constant_size + largest_offset) + underflow,
                  4 * terms * u * length + underflow, 0, 0};
    else
        header = {2 * terms * u * largest_offset + 40 * u * u * length * length + underflow,
                  16 * u * length, 2 * terms * u, lowest_offset};
    if (overflow) header.absolute = __builtin_inf();
}

// ---- assignment ---------------------------------------------------------------------------------

template <class T, int K, bool SHARED>
inline void fill_tile(const T* panel, const T* constants, index m, V<T> (&sum)[ROW_VECTORS][K]) {
    const T* factors = constants + K;
    for (int r = 0; r < ROW_VECTORS; ++r)
        for (int j = 0; j < K; ++j) sum[r][j] = V<T>{} + constants[j];
    for (index v = 0; v < m; ++v, panel += TILE_ROWS<T>, factors += SHARED ? K : 2 * K) {
        V<T> y[ROW_VECTORS];
        for (int r = 0; r < ROW_VECTORS; ++r) y[r] = load<V<T>>(panel + r * WIDTH<T>);
        for (int j = 0; j < K; ++j)
            for (int r = 0; r < ROW_VECTORS; ++r) {
                if constexpr (SHARED) {
                    sum[r][j] += y[r] * factors[j];
                } else {
                    const V<T> t = y[r] * factors[2 * j] + factors[2 * j + 1];
                    sum[r][j] += t * t;
                }
            }
    }
}

template <class T>
struct Best {
    V<T> value[ROW_VECTORS], second[ROW_VECTORS], label[ROW_VECTORS];
};

template <class T, int K, bool SHARED>
void race_tile(const T* panel, const T* constants, index m, index first, Best<T>& best) {
    V<T> sum[ROW_VECTORS][K];
    fill_tile<T, K, SHARED>(panel, constants, m, sum);
    for (int r = 0; r < ROW_VECTORS; ++r)
        for (int j = 0; j < K; ++j) {
            const V<T> d = sum[r][j], label = V<T>{} + T(first + j);
            const V<T> loser = d < best.value[r] ? best.value[r] : d;
            best.second[r] = loser < best.second[r] ? loser : best.second[r];
            best.label[r] = d < best.value[r] ? label : best.label[r];
            best.value[r] = d < best.value[r] ? d : best.value[r];
        }
}

template <class T, bool SHARED, int K = MAX_TILE>
inline void race_tile(int size, const T* panel, const T* constants, index m, index first,
                      Best<T>& best) {
    if (size == K) return race_tile<T, K, SHARED>(panel, constants, m, first, best);
    if constexpr (K > 1) race_tile<T, SHARED, K - 1>(size, panel, constants, m, first, best);
}

// sum_v w (y - c)^2 in double precision, in an order that depends on m alone.
template <class T>
double dissimilarity(const T* row, const double* center, const double* weight, index m) {
    Vector<double, 4> sums = {};
    index v = 0;
    for (; v + 4 <= m; v += 4) {
        const auto y = __builtin_convertvector(load<Vector<T, 4>>(row + v), Vector<double, 4>);
        const auto t = y - load<Vector<double, 4>>(center + v);
        sums += load<Vector<double, 4>>(weight + v) * t * t;
    }
    double tail = 0;
    for (; v < m; ++v) {
        const double t = double(load<T>(row + v)) - center[v];
        tail += weight[v] * t * t;
    }
    return ((sums[0] + sums[2]) + (sums[1] + sums[3])) + tail;
}

template <class T>
struct Start {
    const double *centers, *weights, *offsets;
    index k, m, weight_stride;
    Start(const Starts& starts, index start)
        : k(starts.n_clusters), m(starts.n_features), weight_stride(starts.shared ? 0 : m) {
        centers = starts.centers + start * k * m;
        weights = starts.weights + start * (starts.shared ? 1 : k) * m;
        offsets = starts.offsets + start * k;
    }
    double operator()(const T* row, index cluster) const {
        return dissimilarity(row, centers + cluster * m, weights + cluster * weight_stride, m);
    }
    std::int32_t nearest(const T* row) const {
        double best = __builtin_inf();
        index label = 0;
        for (index j = 0; j < k; ++j) {
            const double d = (*this)(row, j) + offsets[j];
            if (d < best) best = d, label = j;
        }
        return std::int32_t(label);
    }
};

// Labels of the packed block for one start.
template <class T, bool SHARED>
void assign_block(Scratch<T>& block, const Starts& starts, index start, const void* prepared) {
    const Start<T> exactly(starts, start);
    const index k = starts.n_clusters, m = starts.n_features;
    const Prepared& bound = *static_cast<const Prepared*>(prepared);
    if (k == 1) {
        for (index i = 0; i < block.n_rows; ++i) block.labels[i] = 0;
        return;
    }
    const T absolute = T(bound.absolute), linear = T(bound.linear), relative = T(bound.relative);
    const T lowest = T(bound.lowest_offset);
    for (index i0 = 0; i0 < block.n_rows; i0 += TILE_ROWS<T>) {
        Best<T> best;
        for (int r = 0; r < ROW_VECTORS; ++r) {
            best.value[r] = V<T>{} + INFINITE<T>;
            best.second[r] = best.value[r];
            best.label[r] = V<T>{};
        }
        fetch_ahead(block, i0, i0 + TILE_ROWS<T>, block.n_rows);
        const T* constants = shift_of<T>(prepared) + m;
        index first = 0;
        for (index tile = 0; tile < n_tiles(k); ++tile) {
            const int size = tile_size(k, tile);
            race_tile<T, SHARED>(size, block.panels + i0 * m, constants, m, first, best);
            constants += size * (1 + m * (SHARED ? 1 : 2));
            first += size;
        }
        const index left = block.n_rows - i0;
        for (int r = 0; r < ROW_VECTORS && r * WIDTH<T> < left; ++r) {
            const V<T> scale =
                SHARED ? load<V<T>>(block.norms + i0 + r * WIDTH<T>) : best.second[r] - lowest;
            const V<T> slack =
                absolute + linear * square_root<T, WIDTH<T>>(scale) + relative * scale;
            const auto certain = best.second[r] - best.value[r] > slack;
            const index n = left - r * WIDTH<T> < WIDTH<T> ? left - r * WIDTH<T> : WIDTH<T>;
            std::int32_t* labels = block.labels + i0 + r * WIDTH<T>;
            auto doubtful = certain[0] == 0;
            for (index j = 0; j < n; ++j) {
                labels[j] = std::int32_t(best.label[r][j]);
                doubtful |= certain[j] == 0;
            }
            if (doubtful)
                for (index j = 0; j < n; ++j)
                    if (certain[j] == 0)
                        labels[j] = exactly.nearest(
                            block.rows + (i0 + r * WIDTH<T> + j) * block.row_stride);
        }
    }
}

template <class T>
inline void assign_block(Scratch<T>& block, const Starts& starts, index start, const char* prepared) {
    const void* own = prepared + start * prepared_bytes<T>(starts);
    if (starts.shared)
        assign_block<T, true>(block, starts, start, own);
    else
        assign_block<T, false>(block, starts, start, own);
}

// Calls body() for each block of rows [begin, end).
template <class T, class Body>
inline void for_each_block(const Rows<T>& table, index begin, index end, Scratch<T>& block,
                           Cancel cancel, Body body) {
    const index step = block_rows<T>(table.n_features);
    for (index at = begin; at < end && !cancel.poll(cancel.state); at += step) {
        const index stop = at + step < end ? at + step : end;
        stage(table, at, stop, block);
        const index next = stop + step < end ? step : end - stop;
        const bool known = next > 0 && table.column_stride == 1 && table.row_stride > 0;
        block.ahead = known ? reinterpret_cast<const char*>(table.data + stop * table.row_stride) : nullptr;
        block.ahead_bytes = next * table.row_stride * index(sizeof(T));
        body();
    }
}

// The same with packed blocks, ready for assign_block.
template <class T, class Body>
inline void for_each_packed_block(const Rows<T>& table, index begin, index end, const Starts& starts,
                                  const char* prepared, Scratch<T>& block, Cancel cancel, Body body) {
    for_each_block(table, begin, end, block, cancel, [&] {
        pack(block, table.n_features, shift_of<T>(prepared));
        if (starts.shared) measure_rows(block, table.n_features);
        body();
    });
}

}  // namespace
}  // namespace FWK_ISA
}  // namespace fwk
