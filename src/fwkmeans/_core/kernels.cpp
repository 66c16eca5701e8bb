// The only code that reads a row. Tricks, with what benchmarks/bench_iteration.py shows for them:
//  * lanes run over rows: a block is transposed while it is packed, then a register tile of
//    ROW_VECTORS x a few clusters is filled at two multiply-adds an element, t = s y + e, acc += t t
//    (one, y g, when all clusters share their weights), without a horizontal sum anywhere;
//  * labels that such a tile cannot decide for certain (a rigorous rounding bound says which) are
//    decided again in double precision from the differences themselves, so nothing is traded;
//  * statistics: rows of a block are sorted by label, so that sums stay in registers for each
//    cluster in turn instead of being loaded and stored for every row; where the last labels are
//    known only the rows that changed are taken out of one cluster and put into another.
// Compiled once per instruction set (FWK_ISA, FWK_BYTES); no standard library in here.
#include "kernels.hpp"

namespace fwk {
namespace FWK_ISA {
namespace {

constexpr int BYTES = FWK_BYTES;
constexpr int ROW_VECTORS = 2;
constexpr int MAX_TILE = BYTES == 64 ? 12 : 5;  // clusters in a register tile: 32 or 16 registers
constexpr index BLOCK_BYTES = 128 * 1024;         // packed rows of a block: half an L2 cache
constexpr index MAX_BLOCK = 1024;

template <class T, int LANES>
struct VectorOf {
    typedef T type __attribute__((vector_size(LANES * sizeof(T))));
};
template <class T, int LANES>
using Vector = typename VectorOf<T, LANES>::type;

template <class T>
constexpr int WIDTH = BYTES / int(sizeof(T));
template <class T>
constexpr int TILE_ROWS = ROW_VECTORS * WIDTH<T>;
template <class T>
using V = Vector<T, WIDTH<T>>;

template <class T>
constexpr double UNIT_ROUNDOFF = sizeof(T) == 8 ? 1.1102230246251565e-16 : 5.960464477539063e-08;
template <class T>
constexpr double SMALLEST = sizeof(T) == 8 ? 2.2250738585072014e-308 : 1.1754943508222875e-38;
template <class T>
constexpr double LARGEST = sizeof(T) == 8 ? 1.7976931348623157e308 : 3.4028234663852886e38;
template <class T>
constexpr T INFINITE = T(__builtin_inf());

template <class To>
inline To load(const void* from) {
    To to;
    __builtin_memcpy(&to, from, sizeof(To));
    return to;
}
template <class From>
inline void store(void* to, From from) {
    __builtin_memcpy(to, &from, sizeof(From));
}
inline index round_up(index n, index multiple) { return (n + multiple - 1) / multiple * multiple; }
inline double square_root(double x) { return __builtin_sqrt(x); }
template <class T, int L>
inline Vector<T, L> square_root(Vector<T, L> x) {
    for (int j = 0; j < L; ++j) x[j] = T(__builtin_sqrt(x[j]));
    return x;
}

// ---- the block in work -------------------------------------------------------------------------

template <class T>
index block_rows(index n_features) {
    const index wanted = BLOCK_BYTES / (n_features * index(sizeof(T)));
    const index bounded = wanted < MAX_BLOCK ? wanted : MAX_BLOCK;
    const index tiles = bounded / TILE_ROWS<T>;
    return (tiles > 0 ? tiles : 1) * TILE_ROWS<T>;
}

template <class T>
struct Scratch {
    T* panels;               // (tiles, M, TILE_ROWS) transposed and shifted rows
    T* norms;                // (block) squared length of the shifted rows
    T* staged;               // (block, M) rows, when the table's own are not contiguous
    std::uint64_t* keys;     // (block) random key of each row, 0 for rows without weight
    std::int32_t* labels;    // (block)
    std::int32_t* chosen;    // (block) rows whose label has changed
    std::int32_t* order;     // (block) rows sorted by label
    std::int32_t* position;  // (K + 1)
    const T* rows;           // rows of the block, row_stride apart, columns contiguous
    index row_stride, n_rows, first;
    const char* ahead;  // what the next block will read, if that is known
    index ahead_bytes;

    Scratch(void* memory, index n_features, index n_clusters) {
        std::uintptr_t cursor = reinterpret_cast<std::uintptr_t>(memory);
        const index block = block_rows<T>(n_features);
        const auto take = [&cursor](index bytes) {
            const std::uintptr_t taken = cursor;
            cursor += std::uintptr_t(round_up(bytes, 64));
            return taken;
        };
        panels = reinterpret_cast<T*>(take(block * n_features * sizeof(T)));
        norms = reinterpret_cast<T*>(take(block * sizeof(T)));
        staged = reinterpret_cast<T*>(take(block * n_features * sizeof(T)));
        keys = reinterpret_cast<std::uint64_t*>(take(block * 8));
        labels = reinterpret_cast<std::int32_t*>(take(block * 4));
        chosen = reinterpret_cast<std::int32_t*>(take(block * 4));
        order = reinterpret_cast<std::int32_t*>(take(block * 4));
        position = reinterpret_cast<std::int32_t*>(take((n_clusters + 1) * 4));
        end = cursor;
    }
    std::uintptr_t end;
};

template <class T>
std::size_t scratch_bytes(const Rows<T>& table, index n_clusters) {
    const Scratch<T> sizes(nullptr, table.n_features, n_clusters);
    return std::size_t(sizes.end);
}

// Points `rows` at the block's rows with contiguous columns, copying only if the table has others.
template <class T>
void stage(const Rows<T>& table, index begin, index end, Scratch<T>& block) {
    block.first = begin;
    block.n_rows = end - begin;
    const T* origin = table.data + begin * table.row_stride;
    if (table.column_stride == 1) {
        block.rows = origin;
        block.row_stride = table.row_stride;
        return;
    }
    const index m = table.n_features;
    for (index v = 0; v < m; ++v)
        for (index i = 0; i < block.n_rows; ++i)
            block.staged[i * m + v] =
                load<T>(origin + i * table.row_stride + v * table.column_stride);
    block.rows = block.staged;
    block.row_stride = m;
}

// Asks for the part [from, to) of `whole` parts of the next block's memory, so that it arrives while
// this block is computed.
template <class T>
inline void fetch_ahead(const Scratch<T>& block, index from, index to, index whole) {
    if (!block.ahead) return;
    const char* begin = block.ahead + block.ahead_bytes * from / whole;
    const char* end = block.ahead + block.ahead_bytes * (to < whole ? to : whole) / whole;
    for (; begin < end; begin += 64) __builtin_prefetch(begin, 0, 2);
}

// splitmix64 of the row's index: the fingerprint of a labelling is the sum of key x (label + 1).
template <class T>
void draw_keys(const Rows<T>& table, Scratch<T>& block) {
    for (index i = 0; i < block.n_rows; ++i) {
        std::uint64_t z = std::uint64_t(table.first_row + block.first + i) + 1u;
        z *= 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        block.keys[i] = z ^ (z >> 31);
    }
    if (table.sample_weight)
        for (index i = 0; i < block.n_rows; ++i)
            if (!(table.sample_weight[block.first + i] > 0)) block.keys[i] = 0;
}

// ---- packing: L x L tiles transposed by log2(L) perfect shuffles --------------------------------

template <class T, int L, bool HIGH>
inline Vector<T, L> interleave(Vector<T, L> a, Vector<T, L> b) {
    constexpr int h = HIGH ? L / 2 : 0;
    if constexpr (L == 2)
        return __builtin_shufflevector(a, b, h, h + L);
    else if constexpr (L == 4)
        return __builtin_shufflevector(a, b, h, h + L, h + 1, h + 1 + L);
    else if constexpr (L == 8)
        return __builtin_shufflevector(a, b, h, h + L, h + 1, h + 1 + L, h + 2, h + 2 + L, h + 3,
                                       h + 3 + L);
    else
        return __builtin_shufflevector(a, b, h, h + L, h + 1, h + 1 + L, h + 2, h + 2 + L, h + 3,
                                       h + 3 + L, h + 4, h + 4 + L, h + 5, h + 5 + L, h + 6,
                                       h + 6 + L, h + 7, h + 7 + L);
}

template <class T, int L>
inline void transpose(Vector<T, L> (&x)[L]) {
    Vector<T, L> y[L];
    for (int step = 1; step < L; step *= 2) {
        for (int i = 0; i < L / 2; ++i) {
            y[2 * i] = interleave<T, L, false>(x[i], x[i + L / 2]);
            y[2 * i + 1] = interleave<T, L, true>(x[i], x[i + L / 2]);
        }
        for (int i = 0; i < L; ++i) x[i] = y[i];
    }
}

// One tile of rows, all features, L features at a time; the last L overlap rather than read on.
template <class T, int L>
void pack_tile(const T* rows, index row_stride, index m, const T* shift, T* panel) {
    for (index v0 = 0; v0 < m; v0 += L) {
        const index v = v0 + L <= m ? v0 : m - L;
        for (int i = 0; i < TILE_ROWS<T>; i += L) {
            Vector<T, L> x[L];
            for (int j = 0; j < L; ++j)
                x[j] = load<Vector<T, L>>(rows + (i + j) * row_stride + v);
            transpose<T, L>(x);
            for (int j = 0; j < L; ++j)
                store(panel + (v + j) * TILE_ROWS<T> + i, x[j] - shift[v + j]);
        }
    }
}

template <class T>
void pack_partial_tile(const T* rows, index n, index row_stride, index m, const T* shift, T* panel) {
    for (index v = 0; v < m; ++v)
        for (index i = 0; i < TILE_ROWS<T>; ++i)
            panel[v * TILE_ROWS<T> + i] = i < n ? load<T>(rows + i * row_stride + v) - shift[v] : T(0);
}

template <class T>
void measure_rows(Scratch<T>& block, index m) {
    for (index i = 0; i < block.n_rows; i += TILE_ROWS<T>) {
        const T* panel = block.panels + i * m;
        V<T> norm[ROW_VECTORS] = {};
        for (index v = 0; v < m; ++v)
            for (int r = 0; r < ROW_VECTORS; ++r) {
                const V<T> y = load<V<T>>(panel + v * TILE_ROWS<T> + r * WIDTH<T>);
                norm[r] += y * y;
            }
        for (int r = 0; r < ROW_VECTORS; ++r) store(block.norms + i + r * WIDTH<T>, norm[r]);
    }
}

template <class T>
void pack(Scratch<T>& block, index m, const T* shift) {
    for (index i = 0; i < block.n_rows; i += TILE_ROWS<T>) {
        const T* rows = block.rows + i * block.row_stride;
        T* panel = block.panels + i * m;
        if (i + TILE_ROWS<T> > block.n_rows)
            pack_partial_tile(rows, block.n_rows - i, block.row_stride, m, shift, panel);
        else if (WIDTH<T> >= 16 && m >= 16)
            pack_tile<T, WIDTH<T> >= 16 ? 16 : 2>(rows, block.row_stride, m, shift, panel);
        else if (WIDTH<T> >= 8 && m >= 8)
            pack_tile<T, WIDTH<T> >= 8 ? 8 : 2>(rows, block.row_stride, m, shift, panel);
        else if (WIDTH<T> >= 4 && m >= 4)
            pack_tile<T, WIDTH<T> >= 4 ? 4 : 2>(rows, block.row_stride, m, shift, panel);
        else if (m >= 2)
            pack_tile<T, 2>(rows, block.row_stride, m, shift, panel);
        else
            pack_partial_tile(rows, TILE_ROWS<T>, block.row_stride, m, shift, panel);
    }
}

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

// ---- statistics ---------------------------------------------------------------------------------

// Puts rows 0..n-1, or the n chosen ones, into the order of their labels.
template <class T>
void sort_by_label(Scratch<T>& block, index k, const std::int32_t* labels, index n, bool chosen) {
    const auto row = [&](index p) { return chosen ? index(block.chosen[p]) : p; };
    for (index j = 0; j <= k; ++j) block.position[j] = 0;
    for (index p = 0; p < n; ++p) ++block.position[labels[row(p)] + 1];
    for (index j = 0; j < k; ++j) block.position[j + 1] += block.position[j];
    for (index p = 0; p < n; ++p) {
        const index i = row(p);
        block.order[block.position[labels[i]]++] = std::int32_t(i);
    }
    for (index j = k; j > 0; --j) block.position[j] = block.position[j - 1];
    block.position[0] = 0;
}

// N vectors of L features from v on, of one cluster's rows, with the sums held in registers.
template <class T, int L, int N, bool WEIGHTED, bool REMOVE>
inline void add_rows(const Scratch<T>& block, const double* sample_weight, index begin, index end,
                     index v, const double* reference, double* sums, double* squares) {
    using D = Vector<double, L>;
    D origin[N], sum[N], square[N];
    for (int c = 0; c < N; ++c) {
        origin[c] = load<D>(reference + v + c * L);
        sum[c] = load<D>(sums + v + c * L);
        square[c] = load<D>(squares + v + c * L);
    }
    for (index p = begin; p < end; ++p) {
        const index i = block.order[p];
        const T* row = block.rows + i * block.row_stride + v;
        for (int c = 0; c < N; ++c) {
            const D y = __builtin_convertvector(load<Vector<T, L>>(row + c * L), D);
            const D t = y - origin[c];
            const D st = WEIGHTED ? t * sample_weight[i] : t;
            sum[c] = REMOVE ? sum[c] - st : sum[c] + st;
            square[c] = REMOVE ? square[c] - st * t : square[c] + st * t;
        }
    }
    for (int c = 0; c < N; ++c) {
        store(sums + v + c * L, sum[c]);
        store(squares + v + c * L, square[c]);
    }
}

// Adds the sorted rows of the block to the sums of their clusters, or takes them away.
template <class T, bool WEIGHTED, bool REMOVE>
void accumulate_sorted(const Scratch<T>& block, const double* sample_weight, const Starts& starts,
                       index start, const Sums& out) {
    constexpr int L = WIDTH<double>;
    const index k = starts.n_clusters, m = starts.n_features;
    for (index j = 0; j < k; ++j) {
        const index begin = block.position[j], end = block.position[j + 1], at = start * k + j;
        if (begin == end) continue;
        double mass = double(end - begin);
        index rows = end - begin;
        if (WEIGHTED) {
            mass = 0, rows = 0;
            for (index p = begin; p < end; ++p) {
                mass += sample_weight[block.order[p]];
                rows += sample_weight[block.order[p]] > 0;
            }
        }
        out.mass[at] += REMOVE ? -mass : mass;
        out.rows[at] += REMOVE ? -rows : rows;
        const double* reference = starts.reference + at * m;
        double *sums = out.sums + at * m, *squares = out.squares + at * m;
        index v = 0;
#define FWK_ADD(LANES, VECTORS)                                    \
    for (; v + (LANES) * (VECTORS) <= m; v += (LANES) * (VECTORS)) \
    add_rows<T, LANES, VECTORS, WEIGHTED, REMOVE>(block, sample_weight, begin, end, v, reference, sums, squares)
        FWK_ADD(L, 4);
        FWK_ADD(L, 2);
        FWK_ADD(L, 1);
        if (L > 4) FWK_ADD(4, 1);
        if (L > 2) FWK_ADD(2, 1);
        FWK_ADD(1, 1);
#undef FWK_ADD
    }
}

template <class T, bool WEIGHTED>
void accumulate_block(Scratch<T>& block, const double* sample_weight, const Starts& starts,
                      index start, std::int32_t* last, bool update, const Sums& out) {
    const index k = starts.n_clusters, n = block.n_rows;
    index n_changed = 0;
    if (last)
        for (index i = 0; i < n; ++i) {
            block.chosen[n_changed] = std::int32_t(i);
            n_changed += last[i] != block.labels[i];
        }
    out.changed[start] += n_changed;
    if (update) {
        sort_by_label(block, k, last, n_changed, true);
        accumulate_sorted<T, WEIGHTED, true>(block, sample_weight, starts, start, out);
        sort_by_label(block, k, block.labels, n_changed, true);
    } else {
        sort_by_label(block, k, block.labels, n, false);
    }
    accumulate_sorted<T, WEIGHTED, false>(block, sample_weight, starts, start, out);
    if (last)
        for (index i = 0; i < n; ++i) last[i] = block.labels[i];
}

template <class T>
void accumulate(const Rows<T>& table, index begin, index end, const Starts& starts, index first,
                index last, const char* prepared, void* scratch, const LastLabels& known,
                const Sums& out, Cancel cancel) {
    Scratch<T> block(scratch, starts.n_features, starts.n_clusters);
    for_each_packed_block(table, begin, end, starts, prepared, block, cancel, [&] {
        draw_keys(table, block);
        const double* s = table.sample_weight ? table.sample_weight + block.first : nullptr;
        for (index start = first; start < last; ++start) {
            assign_block(block, starts, start, prepared);
            block.ahead = nullptr;  // asked for once
            std::uint64_t fingerprint = 0;
            for (index i = 0; i < block.n_rows; ++i)
                fingerprint += block.keys[i] * std::uint64_t(block.labels[i] + 1);
            out.fingerprint[start] += fingerprint;
            std::int32_t* labels =
                known.labels ? known.labels + start * table.n_rows + block.first : nullptr;
            const bool update = labels && known.update[start];
            if (s)
                accumulate_block<T, true>(block, s, starts, start, labels, update, out);
            else
                accumulate_block<T, false>(block, s, starts, start, labels, update, out);
        }
    });
}

// ---- the other reductions -----------------------------------------------------------------------

template <class T>
void farthest(const Rows<T>& table, index begin, index end, const Starts& starts, index first,
              index last, const char* prepared, void* scratch, const Farthest& out, Cancel cancel) {
    const index k = starts.n_clusters;
    Scratch<T> block(scratch, starts.n_features, k);
    for_each_packed_block(table, begin, end, starts, prepared, block, cancel, [&] {
        for (index start = first; start < last; ++start) {
            const Start<T> exactly(starts, start);
            assign_block(block, starts, start, prepared);
            for (index i = 0; i < block.n_rows; ++i) {
                const index label = block.labels[i];
                if (table.sample_weight && !(table.sample_weight[block.first + i] > 0)) continue;
                if (!out.eligible[start * k + label]) continue;
                const double d = exactly(block.rows + i * block.row_stride, label);
                if (d > out.distance[start]) {
                    out.distance[start] = d;
                    out.row[start] = table.first_row + block.first + i;
                }
            }
        }
    });
}

template <class T>
void assign(const Rows<T>& table, index begin, index end, const Starts& starts, const char* prepared,
            void* scratch, const Labels& out, Cancel cancel) {
    const Start<T> exactly(starts, 0);
    Scratch<T> block(scratch, starts.n_features, starts.n_clusters);
    double objective = 0;
    for_each_packed_block(table, begin, end, starts, prepared, block, cancel, [&] {
        assign_block(block, starts, 0, prepared);
        for (index i = 0; i < block.n_rows; ++i) {
            const index label = block.labels[i];
            const double s = table.sample_weight ? table.sample_weight[block.first + i] : 1;
            out.labels[block.first - begin + i] = std::int32_t(label);
            objective +=
                s * (exactly(block.rows + i * block.row_stride, label) + exactly.offsets[label]);
        }
    });
    *out.objective = objective;
}

template <class T>
void distances(const Rows<T>& table, index begin, index end, const Starts& starts, void* scratch,
               T* out, Cancel cancel) {
    const Start<T> exactly(starts, 0);
    Scratch<T> block(scratch, starts.n_features, starts.n_clusters);
    for_each_block(table, begin, end, block, cancel, [&] {
        for (index i = 0; i < block.n_rows; ++i)
            for (index j = 0; j < starts.n_clusters; ++j)
                *out++ = T(square_root(exactly(block.rows + i * block.row_stride, j)));
    });
}

// L features from v on, over the rows of a block, with everything held in registers.
template <class T, int L, bool WEIGHTED>
void describe_features(const Scratch<T>& block, const double* sample_weight, index v,
                       const double* reference, const Moments& out) {
    using D = Vector<double, L>;
    const D origin = load<D>(reference + v), one = D{} + 1.0;
    D sum = load<D>(out.sums + v), square = load<D>(out.squares + v), nonfinite = {};
    D minimum = load<D>(out.minimum + v), maximum = load<D>(out.maximum + v);
    for (index i = 0; i < block.n_rows; ++i) {
        const auto cells = load<Vector<T, L>>(block.rows + i * block.row_stride + v);
        const D y = __builtin_convertvector(cells, D), t = y - origin;
        nonfinite += y - y == D{} ? D{} : one;
        const double s = WEIGHTED ? sample_weight[i] : 1;
        if (WEIGHTED && !(s > 0)) continue;
        const D st = WEIGHTED ? t * s : t;
        sum += st;
        square += st * t;
        minimum = y < minimum ? y : minimum;
        maximum = y > maximum ? y : maximum;
    }
    store(out.sums + v, sum);
    store(out.squares + v, square);
    store(out.minimum + v, minimum);
    store(out.maximum + v, maximum);
    for (int j = 0; j < L; ++j) out.nonfinite[v + j] += std::int64_t(nonfinite[j]);
}

template <class T, bool WEIGHTED>
void describe_block(const Scratch<T>& block, const double* sample_weight, index m,
                    const double* reference, const Moments& out) {
    constexpr int L = WIDTH<double>;
    index v = 0;
    for (; v + L <= m; v += L) {
        fetch_ahead(block, v, v + L, m);
        describe_features<T, L, WEIGHTED>(block, sample_weight, v, reference, out);
    }
    fetch_ahead(block, v, m, m);
    for (; v < m; ++v) describe_features<T, 1, WEIGHTED>(block, sample_weight, v, reference, out);
}

template <class T>
void describe(const Rows<T>& table, index begin, index end, const double* reference, void* scratch,
              const Moments& out, Cancel cancel) {
    const index m = table.n_features;
    Scratch<T> block(scratch, m, 1);
    for (index v = 0; v < m; ++v) out.minimum[v] = __builtin_inf(), out.maximum[v] = -__builtin_inf();
    for_each_block(table, begin, end, block, cancel, [&] {
        if (!table.sample_weight) {
            *out.mass += double(block.n_rows);
            *out.rows += block.n_rows;
            return describe_block<T, false>(block, nullptr, m, reference, out);
        }
        const double* s = table.sample_weight + block.first;
        for (index i = 0; i < block.n_rows; ++i) {
            *out.mass += s[i];
            *out.rows += s[i] > 0;
        }
        describe_block<T, true>(block, s, m, reference, out);
    });
}

template <class T>
double multiply_adds(index rounds) {
    constexpr int CHAINS = 12;
    V<T> x[CHAINS];
    for (int c = 0; c < CHAINS; ++c) x[c] = V<T>{} + T(c);
    V<T> factor = V<T>{} + T(0.999), term = V<T>{} + T(0.001);
    for (index i = 0; i < rounds; ++i) {
        __asm__ volatile("" : "+m"(factor));
        const V<T> f = factor, a = term;
        for (int repeat = 0; repeat < 16; ++repeat)
            for (int c = 0; c < CHAINS; ++c) x[c] = x[c] * f + a;
    }
    V<T> sum = {};
    for (int c = 0; c < CHAINS; ++c) sum += x[c];
    __asm__ volatile("" : : "m"(sum));
    return double(rounds) * 16 * CHAINS * WIDTH<T>;
}

template <class T>
constexpr Kernels<T> table_of() {
    return {FWK_NAME,     prepared_bytes<T>, prepare<T>,  scratch_bytes<T>, accumulate<T>,
            farthest<T>,  assign<T>,         distances<T>, describe<T>,     multiply_adds<T>};
}

}  // namespace

extern const Kernels<double> f64;
extern const Kernels<float> f32;
const Kernels<double> f64 = table_of<double>();
const Kernels<float> f32 = table_of<float>();

}  // namespace FWK_ISA
}  // namespace fwk
