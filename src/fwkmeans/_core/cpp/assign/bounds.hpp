// A pass that reads only the rows whose label can have changed. Distances are roots of weighted
// squares, so they obey the triangle inequality in the weights of a cluster, and bounds of the last
// pass bound the distances of this one (with alpha = max w'/w and delta = |c' - c| in the
// new weights, an upper bound u becomes sqrt(alpha) u + delta). Labels and sums are those of the
// plain pass, to the bit. Missing cells leave features out of a row's distances, and no step is
// longer in fewer features.
#pragma once
#include "assign/label.hpp"

namespace fwk { namespace FWK_ISA { namespace {

// Rows of a block that bounds have not decided, packed for a race in F: that of the table, or
// float.
template <class F> struct OpenRows {
    Scratch<F> rows;
    std::int32_t* places;  // (block) where they are in the block
    std::uintptr_t end;

    OpenRows(std::uintptr_t memory, index m, index k, index most, bool gaps)
        : rows(reinterpret_cast<void*>(memory), m, k, false, gaps) {
        Pieces pieces(reinterpret_cast<void*>(rows.end));
        places = pieces.take<std::int32_t>(most + WIDTH<float>);
        rows.upper = pieces.take<float>(most);
        rows.lower = pieces.take<float>(most);
        end = pieces.end;
    }
};

template <class T>
std::size_t scratch_bytes(const Rows<T>& table, index n_clusters, bool powers, bool bounded) {
    const index m = table.n_features, most = block_rows<T>(m);
    const std::uintptr_t plain = Scratch<T>(nullptr, m, n_clusters, powers, true).end;
    if (!bounded) return std::size_t(plain);
    const std::uintptr_t same = OpenRows<T>(plain, m, n_clusters, most, true).end,
                         single = OpenRows<float>(plain, m, n_clusters, most, true).end;
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

// Makes the bounds of rows hold for a cluster, too, that was moved to a far row since the last
// pass.
template <class T>
void bound_placed(const Scratch<T>& block, const Start<T>& exactly, const Bounds& bounds,
    const std::int32_t* labels) {
    float *upper = bounds.upper + block.first, *lower = bounds.lower + block.first;
    for (index i = 0; i < block.n_rows; ++i) {
        const double d = exactly(block.row(i), nullptr, bounds.placed);
        const float least = float(square_root(d) * bounds.unit * (1 - 1e-6) - 1e-30);
        if (!(lower[i] <= least)) lower[i] = least > 0 ? least : 0;
        // a row without weight was left there
        if (labels[i] == bounds.placed) upper[i] = __builtin_inff();
        fetch_ahead(block, i, i + 1, block.n_rows);
    }
}

// Packs the undecided rows. A block of double has no more rows than one of float.
template <class T, class F>
void pack_open_rows(
    const Scratch<T>& block, OpenRows<F>& open, index n_open, index m, const F* shift) {
    Scratch<F>& rows = open.rows;
    rows.n_rows = n_open;
    rows.first = 0;
    rows.levels = nullptr;
    rows.n_categorical = 0;
    const bool most = 2 * n_open > block.n_rows;  // and of the next block as well
    rows.ahead = most ? block.ahead : nullptr;
    rows.ahead_bytes = block.ahead_bytes;
    pack<T>(rows, m, shift, [&](index p) {
        if (!most &&
            p + ROWS_AHEAD < n_open) {  // rows are far apart: they must be asked for in time
            const T* later = block.row(open.places[p + ROWS_AHEAD]);
            for (index v = 0; v < m; v += index(64 / sizeof(T)))
                __builtin_prefetch(later + v, 0, 2);
        }
        return block.row(open.places[p]);
    });
}

// Assigns the undecided rows; returns how many the race could not decide.
template <class T, class F>
index race_open_rows(const Scratch<T>& block, OpenRows<F>& open, index n_open,
    const Start<T>& exactly, const Starts& starts, const char* prepared, double unit) {
    const index m = starts.n_features;
    pack_open_rows(block, open, n_open, m, shift_of<F>(starts, prepared));
    const auto nearest = [&](index p) {
        return exactly.nearest(block.row(open.places[p]), nullptr);
    };
    if (!starts.expanded) return race_block<F, false>(open.rows, starts, prepared, unit, nearest);
    measure_rows(open.rows, m);
    if (open.rows.upper) measure_lengths(open.rows, m, starts.weights);
    return race_block<F, true>(open.rows, starts, prepared, unit, nearest);
}

// Takes bounds and labels of the open rows: new labels go to block.labels, the rows that have
// changed to block.chosen; returns their number. What is decided row by row here cannot be
// foreseen, so nothing is skipped.
template <class T, class F>
index find_changes(const Rows<T>& table, Scratch<T>& block, const OpenRows<F>& open,
    const std::int32_t* labels, const Bounds& bounds, Changes& changes) {
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
        change += table.weighs(block.first + i) ? key_of(table, block.first + i) * step : 0;
    }
    changes.fingerprint += change;
    changes.changed += n_changed;
    return n_changed;
}

// Decides the labels of each block of the part by bounds, and by a race of the rows these leave
// open; then calls use(block, labels of the last pass, number of rows that change).
template <class T, class F, class Use>
Changes decide_by_bounds(const Rows<T>& table, const Part& part, const Starts& starts,
    const char* prepared, std::int32_t* all_labels, const Bounds& bounds, Use use) {
    const index k = starts.n_clusters, m = starts.n_features;
    Scratch<T> block(part.scratch, m, k, false, table.gaps);
    OpenRows<F> open(block.end, m, k, block_rows<T>(m), table.gaps);
    open.rows.offsets = bounds.offsets;
    const Start<T> exactly(table, starts, 0);
    Changes changes;
    for_each_block(table, part, block, [&] {
        std::int32_t* labels = all_labels + block.first;
        if (bounds.placed >= 0) bound_placed(block, exactly, bounds, labels);
        const index n_open = move_bounds(bounds, k, block.first, block.n_rows, labels, open.places);
        index n_changed = 0;
        if (n_open > 0) {
            changes.doubtful +=
                race_open_rows(block, open, n_open, exactly, starts, prepared, bounds.unit);
            n_changed = find_changes(table, block, open, labels, bounds, changes);
        }
        use(block, labels, n_changed);
    });
    return changes;
}
// The same; whether rows in double precision race in single.
template <class T, class Use>
Changes decide_by_bounds(const Rows<T>& table, const Part& part, const Starts& starts,
    const char* prepared, bool single, std::int32_t* labels, const Bounds& bounds, Use use) {
    return single ? decide_by_bounds<T, float>(table, part, starts, prepared, labels, bounds, use)
                  : decide_by_bounds<T, T>(table, part, starts, prepared, labels, bounds, use);
}

template <class T>
void keep_changes(const Scratch<T>& block, std::int32_t* labels, index n_changed) {
    for (index p = 0; p < n_changed; ++p) labels[block.chosen[p]] = block.labels[block.chosen[p]];
}

template <class T>
Changes label_by_bounds(const Rows<T>& table, const Part& part, const Starts& starts,
    const char* prepared, bool single, std::int32_t* labels, const Bounds& bounds) {
    return decide_by_bounds(table, part, starts, prepared, single, labels, bounds, keep_changes<T>);
}

// Labels of all rows by a race in single precision; a block of which it leaves too much ends that.
template <class T>
bool label_in_single(const Rows<T>& table, const Part& part, const Starts& starts,
    const char* prepared, const char* single, std::int32_t* labels) {
    const index k = starts.n_clusters, m = starts.n_features;
    const Start<T> exactly(table, starts, 0);
    Scratch<T> block(part.scratch, m, k, false, true);
    OpenRows<float> open(block.end, m, k, block_rows<T>(m), true);
    open.rows.upper = nullptr;
    bool pays = true;
    for_each_block(table, part, block, [&] {
        block.labels = open.rows.labels = labels + block.first;
        if (!pays) {
            pack_block(table, starts, prepared, block);
            assign_block(block, exactly, starts, 0, prepared);
            return;
        }
        for (index i = 0; i < block.n_rows; ++i) open.places[i] = std::int32_t(i);
        pays = race_open_rows(block, open, block.n_rows, exactly, starts, single, 0) <=
               block.n_rows / SINGLE_LEAVES_BLOCK;
    });
    return block.odd || open.rows.odd;
}

}}}  // namespace fwk::FWK_ISA
