// Rows as races read them: transposed, and shifted. L x L tiles are transposed by log2(L) perfect
// shuffles.
#pragma once
#include "common/block.hpp"

namespace fwk { namespace FWK_ISA { namespace {

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

template <class T, int L> inline void transpose(Vector<T, L> (&x)[L]) {
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
template <class T, class F, int L> inline Vector<F, L> shifted(const T* row, const F* shift) {
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

template <class T> void measure_rows(Scratch<T>& block, index m) {
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
template <class T> void measure_lengths(Scratch<T>& block, index m, const double* weights) {
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
template <class T> void pack(Scratch<T>& block, index m, const T* shift) {
    pack<T>(block, m, shift, [&](index i) { return block.row(i); });
}

// ---- all rows of a table, packed in F for many passes -------------------------------------------

template <class F> struct PackedRows {
    F *panels, *norms, *shift;
    std::uint64_t* keys;
    unsigned char* holes;
    std::uintptr_t end;

    PackedRows(void* memory, index n_rows, index m, bool gaps) {
        const index n = round_up(n_rows, TILE_ROWS<F>);
        Pieces pieces(memory);
        panels = pieces.take<F>(n * m);
        norms = pieces.take<F>(n);
        shift = pieces.take<F>(m);
        keys = pieces.take<std::uint64_t>(n);
        auto* marks = pieces.take<unsigned char>(n / TILE_ROWS<F>);
        holes = gaps ? marks : nullptr;
        end = pieces.end;
    }
};

template <class T, class F>
void begin_packing(const Rows<T>& table, const double* shift, void* memory) {
    const PackedRows<F> packed(memory, table.n_rows, table.n_features, table.gaps);
    for (index v = 0; v < table.n_features; ++v) packed.shift[v] = F(shift[v]);
}
template <class T>
void begin_packing(const Rows<T>& table, const double* shift, PackedTable packed) {
    return packed.single ? begin_packing<T, float>(table, shift, packed.memory)
                         : begin_packing<T, T>(table, shift, packed.memory);
}

template <class T, class F>
void pack_rows(const Rows<T>& table, index begin, index end, void* memory) {
    const index m = table.n_features;
    const PackedRows<F> packed(memory, table.n_rows, m, table.gaps);
    Scratch<T> rows(nullptr, m, 1, false, false);
    stage(table, begin, end, rows);
    rows.keys = packed.keys + begin;
    draw_keys(table, rows);
    Scratch<F> block(nullptr, m, 1, false, false);
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
void pack_rows(const Rows<T>& table, index begin, index end, PackedTable packed) {
    return packed.single ? pack_rows<T, float>(table, begin, end, packed.memory)
                         : pack_rows<T, T>(table, begin, end, packed.memory);
}

template <class T> std::size_t packed_bytes(const Rows<T>& table, bool single) {
    const index n = table.n_rows, m = table.n_features;
    return std::size_t(single ? PackedRows<float>(nullptr, n, m, table.gaps).end
                              : PackedRows<T>(nullptr, n, m, table.gaps).end);
}

}}}  // namespace fwk::FWK_ISA
