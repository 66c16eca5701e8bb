// A pass that reads only the rows whose label can have changed. Distances are roots of weighted squares,
// so they obey the triangle inequality in the weights of a cluster, and bounds of the last pass bound
// the distances of this one (DESIGN: with alpha = max w'/w and delta = |c' - c| in the new weights, an
// upper bound u becomes sqrt(alpha) u + delta). Labels and sums are those of the plain pass, to the bit.
#pragma once
#include "statistics.hpp"

namespace fwk {
namespace FWK_ISA {
namespace {

template <class T>
struct Undecided {
    Scratch<T> rows;       // the undecided rows of a block, side by side
    std::int32_t* places;  // (block) where they are in the block
    std::int32_t* last;    // (block) their last labels
    double* weights;       // (block) their sample weights
    float *upper, *lower;  // (block)
    T* lengths;            // (block)

    Undecided(std::uintptr_t memory, index m, index k)
        : rows(reinterpret_cast<void*>(memory), m, k, false) {
        const index block = block_rows<T>(m);
        std::uintptr_t cursor = rows.end;
        const auto take = [&cursor](index bytes) {
            const std::uintptr_t taken = cursor;
            cursor += std::uintptr_t(round_up(bytes, 64));
            return taken;
        };
        places = reinterpret_cast<std::int32_t*>(take(block * 4));
        last = reinterpret_cast<std::int32_t*>(take(block * 4));
        weights = reinterpret_cast<double*>(take(block * 8));
        upper = reinterpret_cast<float*>(take(block * 4));
        lower = reinterpret_cast<float*>(take(block * 4));
        lengths = reinterpret_cast<T*>(take(block * index(sizeof(T))));
        end = cursor;
    }
    std::uintptr_t end;
};

template <class T>
std::size_t bounded_bytes(const Rows<T>& table, index n_clusters) {
    const std::size_t first = scratch_bytes<T>(table, n_clusters, false);
    return std::size_t(Undecided<T>(first, table.n_features, n_clusters).end);
}

// Moves the bounds of n rows along with weights and centers; writes the rows that stay undecided.
inline index move_bounds(const Bounds& bounds, index first, index n, const std::int32_t* labels,
                         std::int32_t* places) {
    float *upper = bounds.upper + first, *lower = bounds.lower + first;
    unsigned char open[MAX_BLOCK];
    for (index i = 0; i < n; ++i) {
        const index own = labels[i] < 0 ? 0 : labels[i];
        const float most = upper[i] * bounds.grow[own] + bounds.add[own];
        const float least = lower[i] * bounds.shrink[own] - bounds.subtract[own];
        upper[i] = most;
        lower[i] = least > 0 ? least : 0;
        open[i] = !(most < least);
    }
    index n_open = 0;
    for (index i = 0; i < n; ++i) {
        places[n_open] = std::int32_t(i);
        n_open += open[i];
    }
    return n_open;
}

// Puts the undecided rows side by side; all of them stay where they are.
template <class T>
void gather(const Scratch<T>& block, Undecided<T>& open, index n_open, index m,
            const std::int32_t* labels, const double* sample_weight) {
    Scratch<T>& rows = open.rows;
    rows.n_rows = n_open;
    rows.first = 0;
    rows.levels = nullptr;
    rows.n_categorical = 0;
    rows.ahead = nullptr;
    rows.upper = open.upper;
    rows.lower = open.lower;
    rows.lengths = open.lengths;
    if (n_open == block.n_rows) {
        rows.rows = block.rows;
        rows.row_stride = block.row_stride;
    } else {
        rows.rows = rows.staged;
        rows.row_stride = m;
        for (index p = 0; p < n_open; ++p)
            __builtin_memcpy(rows.staged + p * m, block.row(open.places[p]), m * sizeof(T));
    }
    for (index p = 0; p < n_open; ++p) open.last[p] = labels[open.places[p]];
    if (sample_weight)
        for (index p = 0; p < n_open; ++p) open.weights[p] = sample_weight[open.places[p]];
}

// Labels and bounds of the undecided rows go to where those of all rows are.
template <class T>
void scatter(const Rows<T>& table, const Scratch<T>& block, const Undecided<T>& open,
             std::int32_t* labels, const Bounds& bounds, const Sums& out) {
    std::uint64_t fingerprint = 0;
    index changed = 0;
    for (index p = 0; p < open.rows.n_rows; ++p) {
        const index i = open.places[p];
        bounds.upper[block.first + i] = open.upper[p];
        bounds.lower[block.first + i] = open.lower[p];
        const std::int32_t now = open.rows.labels[p], before = labels[i];
        if (now == before) continue;
        labels[i] = now;
        ++changed;
        if (table.sample_weight && !(table.sample_weight[block.first + i] > 0)) continue;
        fingerprint += key_of(table.first_row + block.first + i) * std::uint64_t(std::int64_t(now) - before);
    }
    *out.fingerprint += fingerprint;
    *out.changed += changed;
}

template <class T>
void accumulate_bounded(const Rows<T>& table, index begin, index end, const Starts& starts,
                        const char* prepared, void* scratch, const LastLabels& known,
                        const Bounds& bounds, const Sums& out, Cancel cancel) {
    const index k = starts.n_clusters, m = starts.n_features;
    Scratch<T> block(scratch, m, k, false);
    Undecided<T> open(block.end, m, k);
    const Start<T> exactly(table, starts, 0);
    const bool update = known.update[0];
    for_each_block(table, begin, end, block, cancel, [&] {
        std::int32_t* labels = known.labels + block.first;
        const double* s = table.sample_weight ? table.sample_weight + block.first : nullptr;
        const index n_open = move_bounds(bounds, block.first, block.n_rows, labels, open.places);
        if (n_open > 0) {
            gather(block, open, n_open, m, labels, s);
            Scratch<T>& rows = open.rows;
            pack(rows, m, shift_of<T>(starts, prepared));
            if (starts.shared) {
                measure_rows(rows, m);
                measure_lengths(rows, m, starts.weights);
                assign_block<T, true>(rows, exactly, starts, prepared, bounds.unit);
            } else {
                assign_block<T, false>(rows, exactly, starts, prepared, bounds.unit);
            }
            if (update) {
                const index before = *out.changed;  // counted once, by scatter
                if (s)
                    accumulate_block<T, Cells::weighted>(rows, open.weights, starts, 0, open.last, true, out);
                else
                    accumulate_block<T, Cells::plain>(rows, nullptr, starts, 0, open.last, true, out);
                *out.changed = before;
            }
            scatter(table, block, open, labels, bounds, out);
        }
        if (update) return;
        sort_by_label(block, k, labels, block.n_rows, false);
        if (s)
            accumulate_sorted<T, Cells::weighted, false>(block, s, starts, 0, out);
        else
            accumulate_sorted<T, Cells::plain, false>(block, nullptr, starts, 0, out);
    });
}

}  // namespace
}  // namespace FWK_ISA
}  // namespace fwk
