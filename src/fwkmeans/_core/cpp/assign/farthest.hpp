// The row that is farthest from the center of its cluster.
#pragma once
#include "assign/label.hpp"

namespace fwk { namespace FWK_ISA { namespace {

template <class T>
void farthest(const Rows<T>& table, const Part& part, const Starts& starts, index first, index last,
    const char* prepared, const Farthest& out) {
    const index k = starts.n_clusters;
    Scratch<T> block(part.scratch, starts.n_features, k, starts.power, table.gaps);
    for_each_block(table, part, block, [&] {
        pack_block(table, starts, prepared, block);
        for (index start = first; start < last; ++start) {
            const Start<T> exactly(table, starts, start);
            assign_block(block, exactly, starts, start, prepared);
            for (index i = 0; i < block.n_rows; ++i) {
                const index label = block.labels[i];
                if (!table.weighs(block.first + i) || !out.eligible[start * k + label]) continue;
                const T* row = block.row(i);
                const std::int32_t* levels = block.levels_of(i);
                const double d = exactly(row, levels, label) * exactly.stretched(row, levels);
                if (d > out.distance[start]) {
                    out.distance[start] = d;
                    out.row[start] = table.first_row + block.first + i;
                }
            }
        }
    });
}

template <class T>
void farthest_by_bounds(const Rows<T>& table, const Part& part, const Starts& starts,
    const std::int32_t* labels, const Bounds& bounds, const Farthest& out) {
    const Start<T> exactly(table, starts, 0);
    Scratch<T> block(part.scratch, starts.n_features, starts.n_clusters, false, table.gaps);
    for_each_block(table, part, block, [&] {
        for (index i = 0; i < block.n_rows; ++i) {
            const index row = block.first + i, label = labels[row];
            const double most = double(bounds.upper[row]) / bounds.unit;
            if (most * most * (1 + 1e-9) < out.distance[0] || !out.eligible[label]) continue;
            if (!table.weighs(row)) continue;
            const double d =
                exactly(block.row(i), nullptr, label) * exactly.stretched(block.row(i), nullptr);
            if (d > out.distance[0]) out.distance[0] = d, out.row[0] = table.first_row + row;
        }
    });
}

}}}  // namespace fwk::FWK_ISA
