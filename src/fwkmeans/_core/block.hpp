// The block of rows in work: staged, transposed, its successor asked for in time.
#pragma once
#include "simd.hpp"

namespace fwk {
namespace FWK_ISA {
namespace {

constexpr int WIDE = WIDTH<double>;  // rows of a panel in double precision
using Wide = V<double>;

template <class T>
index block_rows(index n_features) {
    const index wanted = BLOCK_BYTES / ((n_features > 0 ? n_features : 1) * index(sizeof(T)));
    const index bounded = wanted < MAX_BLOCK ? wanted : MAX_BLOCK;
    const index tiles = bounded / TILE_ROWS<T>;
    return (tiles > 0 ? tiles : 1) * TILE_ROWS<T>;
}

template <class T>
struct Scratch {
    T* panels;  // (tiles, M, TILE_ROWS) transposed and shifted rows; room for M in fours
    unsigned char*
        holes;  // (tiles) whether a tile has cells that are no finite numbers; null: nobody asks
    bool odd =
        false;        // whether there may be such cells among all that were raced, if somebody asks
    T* norms;         // (block) squared length of the shifted rows
    T* staged;        // (block, M) rows, when the table's own are not contiguous
    double* wide;     // (panels of WIDE rows, M, WIDE) transposed rows, for powers
    double* lookups;  // (K in whole vectors, TILE_ROWS) costs of the categories of some rows
    std::uint64_t* keys;         // (block) random key of each row, 0 for rows without weight
    double* distances;           // (block) exact dissimilarities to own centers
    std::int32_t* labels;        // (block)
    std::int32_t* chosen;        // (block) rows whose label has changed
    std::int32_t* order;         // (block) rows sorted by label
    std::int32_t* position;      // (K + 1)
    const T* rows;               // rows of the block, row_stride apart, columns contiguous
    const std::int32_t* levels;  // of the block, n_categorical apart; null if none
    index n_categorical;
    index row_stride, n_rows, first;
    const char* ahead;  // what the next block will read, if that is known
    index ahead_bytes;
    index ahead_step = 0;  // bytes that `fetch_some` asks for at a time
    float *upper = nullptr,
          *lower = nullptr;            // (block) bounds that an assignment leaves, if wanted
    T* lengths = nullptr;              // (block) weighted squares of the rows, for these
    const Offsets* offsets = nullptr;  // the same

    Scratch(void* memory, index n_features, index n_clusters, bool powers, bool gaps = false)
        : Scratch(memory, block_rows<T>(n_features), block_rows<T>(n_features), n_features,
              n_clusters, powers, gaps) {}
    // `block` rows, of which only so many are packed in here.
    Scratch(void* memory, index block, index packed, index n_features, index n_clusters,
        bool powers, bool gaps) {
        std::uintptr_t cursor = reinterpret_cast<std::uintptr_t>(memory);
        const auto take = [&cursor](index bytes) {
            const std::uintptr_t taken = cursor;
            cursor += std::uintptr_t(round_up(bytes, 64));
            return taken;
        };
        panels = reinterpret_cast<T*>(take(packed * round_up(n_features, 4) * sizeof(T)));
        norms = reinterpret_cast<T*>(take(packed * sizeof(T)));
        staged = reinterpret_cast<T*>(take(packed * n_features * sizeof(T)));
        wide = reinterpret_cast<double*>(take(powers ? packed * n_features * 8 : 0));
        lookups = reinterpret_cast<double*>(take(round_up(n_clusters, WIDE) * TILE_ROWS<T> * 8));
        keys = reinterpret_cast<std::uint64_t*>(take(block * 8));
        distances = reinterpret_cast<double*>(take(block * 8));
        labels = reinterpret_cast<std::int32_t*>(take(block * 4));
        chosen = reinterpret_cast<std::int32_t*>(take(block * 4));
        order = reinterpret_cast<std::int32_t*>(
            take((block + WIDTH<float>)*4));  // see sort_by_few_labels
        position = reinterpret_cast<std::int32_t*>(take((n_clusters + 1) * 4));
        const std::uintptr_t marks = take(packed / TILE_ROWS<T>);
        holes = gaps ? reinterpret_cast<unsigned char*>(marks) : nullptr;
        end = cursor;
    }
    std::uintptr_t end;

    const T* row(index i) const { return rows + i * row_stride; }
    const std::int32_t* levels_of(index i) const {
        return levels ? levels + i * n_categorical : nullptr;
    }
};

// Scratch memory for a table that is packed elsewhere: one block, for which nothing is packed in
// here.
template <class T>
Scratch<T> scratch_of_packed(void* memory, const Rows<T>& table, index n_clusters) {
    return {memory, round_up(table.n_rows, TILE_ROWS<T>), 0, table.n_features, n_clusters, false,
        table.gaps};
}

template <class T>
std::size_t scratch_bytes(const Rows<T>& table, index n_clusters, bool powers) {
    const Scratch<T> usual(nullptr, table.n_features, n_clusters, powers, table.gaps);
    const std::uintptr_t packed =
        table.packed ? scratch_of_packed(nullptr, table, n_clusters).end : 0;
    return std::size_t(usual.end > packed ? usual.end : packed);
}

// Points `rows` at the block's rows with contiguous columns, copying only if the table has others.
template <class T>
void stage(const Rows<T>& table, index begin, index end, Scratch<T>& block) {
    block.first = begin;
    block.n_rows = end - begin;
    block.n_categorical = table.n_categorical;
    block.levels = table.levels ? table.levels + begin * table.n_categorical : nullptr;
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

// Asks for the part [from, to) of `whole` parts of the next block's memory, so that it arrives
// while this block is computed. Inline in any case: GCC leaves out calls of a function that only
// asks.
template <class T>
[[gnu::always_inline]] inline void fetch_ahead(
    const Scratch<T>& block, index from, index to, index whole) {
    if (!block.ahead || whole == 0) return;
    const char* begin = block.ahead + block.ahead_bytes * from / whole;
    const char* end = block.ahead + block.ahead_bytes * (to < whole ? to : whole) / whole;
    for (; begin < end; begin += 64) __builtin_prefetch(begin, 0, 2);
}

// The same from where it stopped the last time. All at once would wait for memory.
template <class T>
inline void fetch_some(Scratch<T>& block, index bytes) {
    if (!block.ahead || block.ahead_bytes <= 0) return;
    for (index at = 0; at < bytes && at < block.ahead_bytes; at += 64)
        __builtin_prefetch(block.ahead + at, 0, 2);
    block.ahead += bytes;
    block.ahead_bytes -= bytes;
}

// splitmix64 of the row's index: the fingerprint of a labeling is the sum of key x (label + 1).
inline std::uint64_t key_of(index row) {
    std::uint64_t z = std::uint64_t(row) + 1u;
    z *= 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
template <class T>
void draw_keys(const Rows<T>& table, Scratch<T>& block) {
    for (index i = 0; i < block.n_rows; ++i)
        block.keys[i] = key_of(index(table.first_row) + block.first + i);
    if (table.sample_weight)
        for (index i = 0; i < block.n_rows; ++i)
            if (!(table.sample_weight[block.first + i] > 0)) block.keys[i] = 0;
}

// ---- packing: L x L tiles transposed by log2(L) perfect shuffles --------------------------------

template <class T, int L, bool HIGH>
inline Vector<T, L> interleave(Vector<T, L> a, Vector<T, L> b) {
    constexpr int h = HIGH ? L / 2 : 0;
    if constexpr (L == 2) return __builtin_shufflevector(a, b, h, h + L);
    else if constexpr (L == 4) return __builtin_shufflevector(a, b, h, h + L, h + 1, h + 1 + L);
    else if constexpr (L == 8)
        return __builtin_shufflevector(
            a, b, h, h + L, h + 1, h + 1 + L, h + 2, h + 2 + L, h + 3, h + 3 + L);
    else
        return __builtin_shufflevector(a, b, h, h + L, h + 1, h + 1 + L, h + 2, h + 2 + L, h + 3,
            h + 3 + L, h + 4, h + 4 + L, h + 5, h + 5 + L, h + 6, h + 6 + L, h + 7, h + 7 + L);
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

// L cells of a row less their shift, in F; what is rounded to single precision is shifted before.
template <class T, class F, int L>
inline Vector<F, L> shifted(const T* row, const F* shift) {
    if constexpr (sizeof(T) == sizeof(F)) {
        return load<Vector<F, L>>(row) - load<Vector<F, L>>(shift);
    } else if constexpr (L > WIDE) {
        const auto low = shifted<T, F, L / 2>(row, shift),
                   high = shifted<T, F, L / 2>(row + L / 2, shift + L / 2);
        return join<F, L / 2>(low, high);
    } else {
        return to_single<L>(load<Vector<T, L>>(row) - load_wide<F, L>(shift));
    }
}

// One tile of rows, all features, L features at a time; the last L overlap rather than read on.
// Returns whether some cell is no finite number, if asked to look. Meanwhile it asks for as much of
// the next block: few clusters race in less time than memory takes.
template <class T, class F, int L, bool LOOK>
bool pack_tile(Scratch<F>& block, const T* const* rows, index m, const F* shift, F* panel) {
    const index bytes = round_up(TILE_ROWS<F> * m * index(sizeof(T)) / ((m + L - 1) / L), 64);
    Vector<F, L> nothing[2] = {};  // NaN where such a cell was
    for (index v0 = 0; v0 < m; v0 += L) {
        const index v = v0 + L <= m ? v0 : m - L;
        fetch_some(block, bytes);
        for (int i = 0; i < TILE_ROWS<F>; i += L) {
            Vector<F, L> x[L];
            for (int j = 0; j < L; ++j) x[j] = shifted<T, F, L>(rows[i + j] + v, shift + v);
            if (LOOK)
                for (int j = 0; j < L; ++j) nothing[j % 2] += x[j] * F(0);
            transpose<F, L>(x);
            for (int j = 0; j < L; ++j) store(panel + (v + j) * TILE_ROWS<F> + i, x[j]);
        }
    }
    bool found = false;
    for (int j = 0; LOOK && j < L; ++j) found |= !(nothing[0][j] + nothing[1][j] == 0);
    return found;
}

template <class T>
void measure_rows(Scratch<T>& block, index m) {
    for (index i = 0; i < block.n_rows; i += TILE_ROWS<T>) {
        const T* panel = block.panels + i * m;
        V<T> norm[2][ROW_VECTORS] = {};  // of every other feature: sums would wait for themselves
        const auto add = [&](index v, int part) {
            for (int r = 0; r < ROW_VECTORS; ++r) {
                const V<T> y = load<V<T>>(panel + v * TILE_ROWS<T> + r * WIDTH<T>);
                norm[part][r] += y * y;
            }
        };
        index v = 0;
        for (; v + 2 <= m; v += 2) add(v, 0), add(v + 1, 1);
        if (v < m) add(v, 0);
        for (int r = 0; r < ROW_VECTORS; ++r)
            store(block.norms + i + r * WIDTH<T>, norm[0][r] + norm[1][r]);
    }
}

// lengths[i] = sum_v w y^2 of the packed rows.
template <class T>
void measure_lengths(Scratch<T>& block, index m, const double* weights) {
    for (index i = 0; i < block.n_rows; i += TILE_ROWS<T>) {
        const T* panel = block.panels + i * m;
        V<T> length[ROW_VECTORS] = {};
        for (index v = 0; v < m; ++v) {
            const T weight = T(weights[v]);
            for (int r = 0; r < ROW_VECTORS; ++r) {
                const V<T> y = load<V<T>>(panel + v * TILE_ROWS<T> + r * WIDTH<T>);
                length[r] += y * y * weight;
            }
        }
        for (int r = 0; r < ROW_VECTORS; ++r) store(block.lengths + i + r * WIDTH<T>, length[r]);
    }
}

template <class T, class F, bool LOOK, class Row>
void pack(Scratch<F>& block, index m, const F* shift, Row row) {
    constexpr int W = WIDTH<F>;
    for (index i = 0; i < block.n_rows; i += TILE_ROWS<F>) {
        const T*
            rows[TILE_ROWS<F>];  // those of a tile that is not full are filled up with its last
        for (index j = 0; j < TILE_ROWS<F>; ++j)
            rows[j] = row(i + j < block.n_rows ? i + j : block.n_rows - 1);
        F* panel = block.panels + i * m;
        bool found = false;
        if (W >= 16 && m >= 16)
            found = pack_tile<T, F, W >= 16 ? 16 : 2, LOOK>(block, rows, m, shift, panel);
        else if (W >= 8 && m >= 8)
            found = pack_tile<T, F, W >= 8 ? 8 : 2, LOOK>(block, rows, m, shift, panel);
        else if (W >= 4 && m >= 4)
            found = pack_tile<T, F, W >= 4 ? 4 : 2, LOOK>(block, rows, m, shift, panel);
        else if (m >= 2) found = pack_tile<T, F, 2, LOOK>(block, rows, m, shift, panel);
        else if (m == 1)
            for (index j = 0; j < TILE_ROWS<F>; ++j) {
                panel[j] = F(load<T>(rows[j]) - T(shift[0]));
                found |= !(panel[j] - panel[j] == 0);
            }
        if (LOOK) block.holes[i / TILE_ROWS<F>] = found, block.odd |= found;
    }
}

// Transposes the rows row(0), row(1), ... of a block; marks the tiles whose cells are not all
// finite numbers, if somebody asks.
template <class T, class F, class Row>
void pack(Scratch<F>& block, index m, const F* shift, Row row) {
    if (block.holes) pack<T, F, true>(block, m, shift, row);
    else pack<T, F, false>(block, m, shift, row);
}
template <class T>
void pack(Scratch<T>& block, index m, const T* shift) {
    pack<T>(block, m, shift, [&](index i) { return block.row(i); });
}

// ---- all rows of a table, packed in F for many passes -------------------------------------------

template <class F>
struct PackedRows {
    F *panels, *norms, *shift;
    std::uint64_t* keys;
    unsigned char* holes;
    std::uintptr_t end;

    PackedRows(const void* memory, index n_rows, index m, bool gaps) {
        std::uintptr_t cursor = reinterpret_cast<std::uintptr_t>(memory);
        const auto take = [&cursor](index bytes) {
            const std::uintptr_t taken = cursor;
            cursor += std::uintptr_t(round_up(bytes, 64));
            return taken;
        };
        const index n = round_up(n_rows, TILE_ROWS<F>);
        panels = reinterpret_cast<F*>(take(n * m * index(sizeof(F))));
        norms = reinterpret_cast<F*>(take(n * index(sizeof(F))));
        shift = reinterpret_cast<F*>(take(m * index(sizeof(F))));
        keys = reinterpret_cast<std::uint64_t*>(take(n * 8));
        const std::uintptr_t marks = take(n / TILE_ROWS<F>);
        holes = gaps ? reinterpret_cast<unsigned char*>(marks) : nullptr;
        end = cursor;
    }
};

template <class T, class F>
void begin_packing(const Rows<T>& table, const double* shift, void* memory) {
    const PackedRows<F> packed(memory, table.n_rows, table.n_features, table.gaps);
    for (index v = 0; v < table.n_features; ++v) packed.shift[v] = F(shift[v]);
}
template <class T>
void begin_packing(const Rows<T>& table, const double* shift, void* memory) {
    return table.single ? begin_packing<T, float>(table, shift, memory)
                        : begin_packing<T, T>(table, shift, memory);
}

template <class T, class F>
void pack_rows(const Rows<T>& table, index begin, index end, void* memory) {
    const index m = table.n_features;
    const PackedRows<F> packed(memory, table.n_rows, m, table.gaps);
    Scratch<T> rows(nullptr, m, 1, false);
    stage(table, begin, end, rows);
    rows.keys = packed.keys + begin;
    draw_keys(table, rows);
    Scratch<F> block(nullptr, m, 1, false);
    block.n_rows = end - begin;
    block.panels = packed.panels + begin * m;
    block.norms = packed.norms + begin;
    block.holes = packed.holes ? packed.holes + begin / TILE_ROWS<F> : nullptr;
    // asks for the rows of the next tile: there are more of them than a processor foresees
    const index ahead = block.n_rows - TILE_ROWS<F>;
    block.ahead = ahead > 0 ? reinterpret_cast<const char*>(rows.row(TILE_ROWS<F>)) : nullptr;
    block.ahead_bytes = ahead * table.row_stride * index(sizeof(T));
    pack<T>(block, m, packed.shift, [&](index i) { return rows.row(i); });
    measure_rows(block, m);
}
template <class T>
void pack_rows(const Rows<T>& table, index begin, index end, void* memory) {
    return table.single ? pack_rows<T, float>(table, begin, end, memory)
                        : pack_rows<T, T>(table, begin, end, memory);
}

template <class T>
std::size_t packed_bytes(const Rows<T>& table) {
    const index n = table.n_rows, m = table.n_features;
    const std::uintptr_t end = table.single ? PackedRows<float>(nullptr, n, m, table.gaps).end
                                            : PackedRows<T>(nullptr, n, m, table.gaps).end;
    return std::size_t(end);
}

}  // namespace
}  // namespace FWK_ISA
}  // namespace fwk
