// A pass that reads only the rows whose label can have changed. Distances are roots of weighted
// squares, so they obey the triangle inequality in the weights of a cluster, and bounds of the last
// pass bound the distances of this one (DESIGN: with alpha = max w'/w and delta = |c' - c| in the
// new weights, an upper bound u becomes sqrt(alpha) u + delta). Labels and sums are those of the
// plain pass, to the bit. Missing cells leave features out of a row's distances, and no step is
// longer in fewer features.
#pragma once
#include "statistics.hpp"

namespace fwk {
namespace FWK_ISA {
namespace {

// The undecided rows of a block, packed for a race in F: that of the table, or float for double.
template <class F>
struct Undecided {
    Scratch<F> rows;
    std::int32_t* places;  // (block) where they are in the block

    Undecided(std::uintptr_t memory, index m, index k, index most, bool gaps)
        : rows(reinterpret_cast<void*>(memory), m, k, false, gaps) {
        std::uintptr_t cursor = rows.end;
        const auto take = [&cursor](index bytes) {
            const std::uintptr_t taken = cursor;
            cursor += std::uintptr_t(round_up(bytes, 64));
            return taken;
        };
        places = reinterpret_cast<std::int32_t*>(take(most * 4));
        rows.upper = reinterpret_cast<float*>(take(most * 4));
        rows.lower = reinterpret_cast<float*>(take(most * 4));
        rows.lengths = reinterpret_cast<F*>(take(block_rows<F>(m) * index(sizeof(F))));
        end = cursor;
    }
    std::uintptr_t end;
};

template <class T>
std::size_t bounded_bytes(const Rows<T>& table, index n_clusters) {
    const std::size_t first = scratch_bytes<T>(table, n_clusters, false);
    const index m = table.n_features, most = block_rows<T>(m);
    const std::uintptr_t same = Undecided<T>(first, m, n_clusters, most, table.gaps).end,
                         single = Undecided<float>(first, m, n_clusters, most, table.gaps).end;
    return std::size_t(same > single ? same : single);
}

// What moves the bounds of a row, by its label.
struct Moves {
    ByLabel grow, add, shrink, subtract, mine, others;
    Moves(const Bounds& by, index k)
        : grow(by.grow, k), add(by.add, k), shrink(by.shrink, k), subtract(by.subtract, k),
          mine(by.offsets ? by.offsets->own : by.add, k),
          others(by.offsets ? by.offsets->least_other : by.add, k) {}

    // Moves the bounds of L rows; marks those that stay undecided.
    template <int L, bool OFFSETS>
    Vector<std::int32_t, L> move(const std::int32_t* labels, float* upper, float* lower) const {
        using F = Vector<float, L>;
        const auto label = load<Vector<std::int32_t, L>>(labels),
                   own = label < 0 ? label - label : label;
        const F most = load<F>(upper) * grow.of<L>(own) + add.of<L>(own);
        const F moved = load<F>(lower) * shrink.of<L>(own) - subtract.of<L>(own),
                least = moved > 0.0f ? moved : F{};
        store(upper, most);
        store(lower, least);
        if (!OFFSETS) return ~(most < moved);
        // squares with their offsets decide, beyond all that is rounded here
        const F near = mine.of<L>(own), far = others.of<L>(own), own_square = most * most,
                square = least * least;
        const F apart = (square + far) - (own_square + near);
        return ~(
            apart > 1e-6f * (own_square + square + absolute<L>(near) + absolute<L>(far)) + 1e-36f);
    }
};

template <bool OFFSETS>
index move_bounds(const Bounds& bounds, index k, index first, index n, const std::int32_t* labels,
    std::int32_t* places) {
    constexpr int L = WIDTH<float>;
    float *upper = bounds.upper + first, *lower = bounds.lower + first;
    const Moves moves(bounds, k);
    index n_open = 0, i = 0;
    for (; i + L <= n; i += L)
        n_open =
            append<L>(places, n_open, i, moves.move<L, OFFSETS>(labels + i, upper + i, lower + i));
    for (; i < n; ++i)
        n_open =
            append<1>(places, n_open, i, moves.move<1, OFFSETS>(labels + i, upper + i, lower + i));
    return n_open;
}

// Moves the bounds of n rows along with weights and centers; writes the rows that stay undecided.
inline index move_bounds(const Bounds& bounds, index k, index first, index n,
    const std::int32_t* labels, std::int32_t* places) {
    if (bounds.offsets) return move_bounds<true>(bounds, k, first, n, labels, places);
    return move_bounds<false>(bounds, k, first, n, labels, places);
}

// Bounds of rows from before a cluster was placed anew, made to hold with it as well.
template <class T>
void bound_placed(const Scratch<T>& block, const Start<T>& exactly, const Bounds& bounds,
    const std::int32_t* labels) {
    float *upper = bounds.upper + block.first, *lower = bounds.lower + block.first;
    const auto row = [&](index i) { return block.row(i); };
    const auto placed = [&](index) { return std::int32_t(bounds.placed); };
    exactly.squares(block.n_rows, row, placed, [&](index i, double d) {
        const float least = float(square_root(d) * bounds.unit * (1 - 1e-6) - 1e-30);
        if (!(lower[i] <= least)) lower[i] = least > 0 ? least : 0;
        if (labels[i] == bounds.placed)
            upper[i] = __builtin_inff();  // a row without weight was left there
        fetch_ahead(block, i, i + 1, block.n_rows);
    });
}

constexpr index AHEAD = 40;  // rows

// Packs the undecided rows. A block of double has no more rows than one of float.
template <class T, class F>
void pack_undecided(
    const Scratch<T>& block, Undecided<F>& open, index n_open, index m, const F* shift) {
    Scratch<F>& rows = open.rows;
    rows.n_rows = n_open;
    rows.first = 0;
    rows.levels = nullptr;
    rows.n_categorical = 0;
    const bool most = 2 * n_open > block.n_rows;  // and of the next block as well
    rows.ahead = most ? block.ahead : nullptr;
    rows.ahead_bytes = block.ahead_bytes;
    pack<T>(rows, m, shift, [&](index p) {
        if (!most && p + AHEAD < n_open) {  // rows are far apart: they must be asked for in time
            const T* later = block.row(open.places[p + AHEAD]);
            for (index v = 0; v < m; v += index(64 / sizeof(T)))
                __builtin_prefetch(later + v, 0, 2);
        }
        return block.row(open.places[p]);
    });
}

// Assigns the undecided rows; returns how many the race could not decide.
template <class T, class F>
index race_undecided(const Scratch<T>& block, Undecided<F>& open, index n_open,
    const Start<T>& exactly, const Starts& starts, const char* prepared, double unit) {
    const index m = starts.n_features;
    pack_undecided(block, open, n_open, m, shift_of<F>(starts, prepared));
    const auto nearest = [&](index p) {
        return exactly.nearest(block.row(open.places[p]), nullptr);
    };
    if (!starts.expanded) return race_block<F, false>(open.rows, starts, prepared, unit, nearest);
    measure_rows(open.rows, m);
    if (open.rows.upper) measure_lengths(open.rows, m, starts.weights);
    return race_block<F, true>(open.rows, starts, prepared, unit, nearest);
}

// New labels go to block.labels, the rows that have changed to block.chosen; returns their number.
// What is decided row by row here cannot be foreseen, so nothing is skipped.
template <class T, class F>
index find_changes(const Rows<T>& table, Scratch<T>& block, const Undecided<F>& open,
    const std::int32_t* labels, const Bounds& bounds, const Sums& out) {
    float *upper = bounds.upper + block.first, *lower = bounds.lower + block.first;
    index n_changed = 0;
    for (index p = 0; p < open.rows.n_rows; ++p) {
        const index i = open.places[p];
        upper[i] = open.rows.upper[p];
        lower[i] = open.rows.lower[p];
        block.labels[i] = open.rows.labels[p];
        block.chosen[n_changed] = std::int32_t(i);
        n_changed += block.labels[i] != labels[i];
    }
    std::uint64_t change = 0;
    for (index p = 0; p < n_changed; ++p) {
        const index i = block.chosen[p];
        const auto step = std::uint64_t(std::int64_t(block.labels[i]) - std::int64_t(labels[i]));
        const bool counts = !table.sample_weight || table.sample_weight[block.first + i] > 0;
        change += counts ? key_of(index(table.first_row) + block.first + i) * step : 0;
    }
    *out.fingerprint += change;
    *out.changed += n_changed;
    return n_changed;
}

template <class T, Cells C>
void sum_changes(Scratch<T>& block, const double* sample_weight, const Starts& starts,
    std::int32_t* labels, index n_changed, bool update, const Sums& out) {
    const index k = starts.n_clusters;
    if (update && n_changed > 0) {
        sort_by_label(block, k, labels, n_changed, true);
        accumulate_sorted<T, C, true>(block, sample_weight, starts, 0, out);
        sort_by_label(block, k, block.labels, n_changed, true);
        accumulate_sorted<T, C, false>(block, sample_weight, starts, 0, out);
    }
    for (index p = 0; p < n_changed; ++p) labels[block.chosen[p]] = block.labels[block.chosen[p]];
    if (update) return;
    sort_by_label(block, k, labels, block.n_rows, false);
    accumulate_sorted<T, C, false>(block, sample_weight, starts, 0, out);
}

template <class T, class F>
void accumulate_bounded(const Rows<T>& table, index begin, index end, const Starts& starts,
    const char* prepared, void* scratch, const LastLabels& known, const Bounds& bounds,
    const Sums& out, Cancel cancel) {
    const index k = starts.n_clusters, m = starts.n_features;
    Scratch<T> block(scratch, m, k, false, table.gaps);
    Undecided<F> open(block.end, m, k, block_rows<T>(m), table.gaps);
    open.rows.offsets = bounds.offsets;
    const Start<T> exactly(table, starts, 0);
    for_each_block(table, begin, end, block, cancel, [&] {
        std::int32_t* labels = known.labels + block.first;
        const double* s = table.sample_weight ? table.sample_weight + block.first : nullptr;
        if (bounds.upper && bounds.placed >= 0) bound_placed(block, exactly, bounds, labels);
        index n_open = bounds.upper
                           ? move_bounds(bounds, k, block.first, block.n_rows, labels, open.places)
                           : 0;
        index n_changed = 0;
        if (n_open > 0) {
            *bounds.doubtful +=
                race_undecided(block, open, n_open, exactly, starts, prepared, bounds.unit);
            n_changed = find_changes(table, block, open, labels, bounds, out);
        }
        if (!out.sums)
            for (index p = 0; p < n_changed; ++p)
                labels[block.chosen[p]] = block.labels[block.chosen[p]];
        else if (table.gaps)
            sum_changes<T, Cells::gaps>(block, s, starts, labels, n_changed, known.update[0], out);
        else if (s)
            sum_changes<T, Cells::weighted>(
                block, s, starts, labels, n_changed, known.update[0], out);
        else
            sum_changes<T, Cells::plain>(block, s, starts, labels, n_changed, known.update[0], out);
    });
}

template <class T>
void accumulate_bounded(const Rows<T>& table, index begin, index end, const Starts& starts,
    const char* prepared, bool single, void* scratch, const LastLabels& known, const Bounds& bounds,
    const Sums& out, Cancel cancel) {
    if (single)
        accumulate_bounded<T, float>(
            table, begin, end, starts, prepared, scratch, known, bounds, out, cancel);
    else
        accumulate_bounded<T, T>(
            table, begin, end, starts, prepared, scratch, known, bounds, out, cancel);
}

// Sums the rows of clusters [first, last), which are in the order of their labels: those of cluster
// j are order[position[j]] to order[position[j + 1]]. Columns must be contiguous.
template <class T>
void sum_clusters(const Rows<T>& table, const Starts& starts, std::int32_t* order,
    std::int32_t* position, index first, index last, const Sums& out) {
    Scratch<T> block(nullptr, table.n_features, starts.n_clusters, false);
    stage(table, 0, table.n_rows, block);
    block.order = order;
    block.position = position;
    const double* s = table.sample_weight;
    if (table.gaps) accumulate_sorted<T, Cells::gaps, false>(block, s, starts, 0, first, last, out);
    else if (s) accumulate_sorted<T, Cells::weighted, false>(block, s, starts, 0, first, last, out);
    else accumulate_sorted<T, Cells::plain, false>(block, s, starts, 0, first, last, out);
}

}  // namespace
}  // namespace FWK_ISA
}  // namespace fwk
