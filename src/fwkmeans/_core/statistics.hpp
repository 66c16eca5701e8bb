// Sums of each cluster, over all rows or over those that changed.
#pragma once
#include "assignment.hpp"

namespace fwk {
namespace FWK_ISA {
namespace {

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

}  // namespace
}  // namespace FWK_ISA
}  // namespace fwk
