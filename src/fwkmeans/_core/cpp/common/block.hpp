// The block of rows in work: staged, transposed, its successor asked for in time.
#pragma once
#include "common/fingerprint.hpp"
#include "common/simd.hpp"

namespace fwk { namespace FWK_ISA { namespace {

constexpr int WIDE = WIDTH<double>;  // rows of a panel in double precision
using Wide = V<double>;

template <class T> index block_rows(index n_features) {
    const index wanted = BLOCK_BYTES / ((n_features > 0 ? n_features : 1) * index(sizeof(T)));
    const index bounded = wanted < MAX_BLOCK ? wanted : MAX_BLOCK;
    const index tiles = bounded / TILE_ROWS<T>;
    return (tiles > 0 ? tiles : 1) * TILE_ROWS<T>;
}

// Rows [first, first + n_rows) of a table, with contiguous columns.
template <class T> struct BlockRows : Categories {
    const T* rows;  // row_stride apart
    index row_stride, n_rows, first;
    T* staged;  // (block, M) a copy, where columns of the table are not contiguous

    const T* row(index i) const { return rows + i * row_stride; }
    const std::int32_t* levels_of(index i) const {
        return levels ? levels + i * n_categorical : nullptr;
    }
};
// What the next block will read, if that is known.
struct Ahead {
    const char* ahead;
    index ahead_bytes;
    index ahead_step = 0;  // bytes that `fetch_some` asks for at a time
};
// Rows as they race.
template <class T> struct Panels {
    T* panels;  // (tiles, M, TILE_ROWS) transposed and shifted; room for M in fours
    unsigned char*
        holes;         // (tiles) whether a tile has cells that are no finite numbers; null: unasked
    bool odd = false;  // whether there may be such cells among all that raced, if asked
    T* norms;          // (block) squared lengths
    T* lengths;        // (block) the same with weights, for bounds
    double* wide;      // (panels of WIDE rows, M, WIDE) transposed, for powers
    double* lookups;   // (K in whole vectors, TILE_ROWS) costs of the categories of some rows
};
// What is found out about rows.
struct Findings {
    std::int32_t* labels;                      // (block)
    float *upper = nullptr, *lower = nullptr;  // (block) bounds, if wanted
    const Offsets* offsets = nullptr;          // for these
};
// Rows in the order of their labels, or of those whose label has changed.
struct Order {
    std::int32_t* chosen;    // (block) rows whose label has changed
    std::int32_t* order;     // (block) rows sorted by label
    std::int32_t* position;  // (K + 1) where clusters begin in it
    std::uint64_t* keys;     // (block) random key of each row, 0 for rows without weight
};

// Hands out pieces of memory, aligned like it; from null on, only `end` means something.
class Pieces {
   public:
    explicit Pieces(void* memory) : end(reinterpret_cast<std::uintptr_t>(memory)) {}
    template <class Number> Number* take(index n) {
        const std::uintptr_t taken = end;
        end += std::uintptr_t(round_up(n * index(sizeof(Number)), 64));
        return reinterpret_cast<Number*>(taken);
    }
    std::uintptr_t end;
};

// The block in work.
template <class T> struct Scratch : BlockRows<T>, Ahead, Panels<T>, Findings, Order {
    std::uintptr_t end;

    Scratch(void* memory, index m, index n_clusters, bool powers, bool gaps) {
        const index block = block_rows<T>(m);
        Pieces pieces(memory);
        this->panels = pieces.take<T>(block * round_up(m, 4));
        this->norms = pieces.take<T>(block);
        this->lengths = pieces.take<T>(block);
        this->staged = pieces.take<T>(block * m);
        this->wide = pieces.take<double>(powers ? block * m : 0);
        this->lookups = pieces.take<double>(round_up(n_clusters, WIDE) * TILE_ROWS<T>);
        keys = pieces.take<std::uint64_t>(block);
        labels = pieces.take<std::int32_t>(block);
        chosen = pieces.take<std::int32_t>(block);
        order = pieces.take<std::int32_t>(block + WIDTH<float>);  // see sort_by_few_labels
        position = pieces.take<std::int32_t>(n_clusters + 1);
        auto* marks = pieces.take<unsigned char>(block / TILE_ROWS<T>);
        this->holes = gaps ? marks : nullptr;
        end = pieces.end;
    }
};

// Points `rows` at the block's rows with contiguous columns, copying only if the table has others.
template <class T> void stage(const Rows<T>& table, index begin, index end, Scratch<T>& block) {
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
template <class T> inline void fetch_some(Scratch<T>& block, index bytes) {
    if (!block.ahead || block.ahead_bytes <= 0) return;
    for (index at = 0; at < bytes && at < block.ahead_bytes; at += 64)
        __builtin_prefetch(block.ahead + at, 0, 2);
    block.ahead += bytes;
    block.ahead_bytes -= bytes;
}

template <class T> std::uint64_t key_of(const Rows<T>& table, index row) {
    return fwk::key_of(index(table.first_row) + row);
}
template <class T> void draw_keys(const Rows<T>& table, Scratch<T>& block) {
    for (index i = 0; i < block.n_rows; ++i) block.keys[i] = key_of(table, block.first + i);
    if (table.sample_weight)
        for (index i = 0; i < block.n_rows; ++i)
            if (!table.weighs(block.first + i)) block.keys[i] = 0;
}

// Calls body() for each block of the part's rows.
template <class T, class Body>
inline void for_each_block(const Rows<T>& table, const Part& part, Scratch<T>& block, Body body) {
    const index step = block_rows<T>(table.n_features);
    for (index at = part.begin; at < part.end && !part.cancel(); at += step) {
        const index stop = at + step < part.end ? at + step : part.end;
        stage(table, at, stop, block);
        const index next = stop + step < part.end ? step : part.end - stop;
        const bool known = next > 0 && table.column_stride == 1 && table.row_stride > 0;
        block.ahead =
            known ? reinterpret_cast<const char*>(table.data + stop * table.row_stride) : nullptr;
        block.ahead_bytes = next * table.row_stride * index(sizeof(T));
        body();
    }
}

}}}  // namespace fwk::FWK_ISA
