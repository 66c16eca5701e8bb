// Labels of blocks of rows.
#pragma once
#include "assign/settle.hpp"

namespace fwk { namespace FWK_ISA { namespace {

template <class T, bool SHARED>
void assign_block(
    Scratch<T>& block, const Start<T>& exactly, const Starts& starts, const void* prepared) {
    race_block<T, SHARED>(block, starts, prepared, 0,
        [&](index i) { return exactly.nearest(block.row(i), block.levels_of(i)); });
}

// Whether powers can race in single precision: weights must not vanish there, nor offsets decide.
template <class T> bool can_race_in_single(const Scratch<T>& block, const Start<T>& exactly) {
    if (block.levels || !(exactly.p <= MOST_POWER) || exactly.k >= (1 << 24)) return false;
    for (index j = 0; j < exactly.k; ++j)
        if (exactly.offsets[j] != 0) return false;
    const index n = exactly.weight_stride ? exactly.k * exactly.m : exactly.m;
    for (index i = 0; i < n; ++i) {
        const double w = exactly.weights[i];
        if (w != 0 && !(w >= 0x1p-60 && w <= 0x1p20)) return false;
    }
    return true;
}

// Labels of the rows of two panels, if single precision decides all of a panel: bits of those
// decided.
template <class T> int race_in_single(Scratch<T>& block, const Start<T>& exactly, index i0) {
    const index k = exactly.k, m = exactly.m, n = block.n_rows - i0;
    const double* panel = block.wide + i0 * m;
    const double* next = n > WIDE ? panel + WIDE * m : panel;
    const Single infinite = Single{} + __builtin_inff();
    SingleBest best = {infinite, infinite, Single{}, Single{}};
    for (index first = 0; first < k; first += WIDE_TILE)
        race_single(k - first, panel, next, exactly.centers + first * m,
            exactly.weights + first * exactly.weight_stride, exactly.weight_stride, m,
            float(exactly.p), first, best);
    const double error = RAISE_ERROR(exactly.p) + 4 * double(m + 4) * UNIT_ROUNDOFF<float>;
    const float above = float(1 + 2.1 * error),
                tiny = float(double(m) * 0x1p-95);  // of what underflows
    const auto certain = (best.second > best.value * above + tiny) & (best.total < infinite);
    int decided = 0;
    for (int part = 0; part < 2 && part * WIDE < n; ++part) {
        bool all = true;
        const index rows = n - part * WIDE < WIDE ? n - part * WIDE : WIDE;
        for (index j = 0; j < rows; ++j) {
            all &= certain[part * WIDE + j] != 0;
            block.labels[i0 + part * WIDE + j] = std::int32_t(best.label[part * WIDE + j]);
        }
        decided |= int(all) << part;
    }
    return decided;
}

// The same for powers other than squares.
template <class T, Power P>
void assign_block(Scratch<T>& block, const Start<T>& exactly, const void* prepared) {
    const index k = exactly.k, m = exactly.m;
    const bool single = P == Power::general && can_race_in_single(block, exactly);
    int decided = 0;
    for (index i0 = 0; i0 < block.n_rows; i0 += WIDE) {
        if (single) {
            const int part = int(i0 / WIDE % 2);
            if (part == 0) decided = race_in_single(block, exactly, i0);
            if (decided >> part & 1) {
                fetch_ahead(block, i0, i0 + WIDE, block.n_rows);
                continue;
            }
        }
        WideBest best = {Wide{} + __builtin_inf(), {}};
        fetch_ahead(block, i0, i0 + WIDE, block.n_rows);
        if (block.levels) look_up<T, WIDE>(block, i0, block.n_rows - i0, costs_of(prepared), k);
        for (index first = 0; first < k; first += WIDE_TILE)
            race_wide<P>(k - first, block.wide + i0 * m, exactly.centers + first * m,
                exactly.weights + first * exactly.weight_stride, exactly.weight_stride, m,
                exactly.p, block.levels ? block.lookups + first * WIDE : nullptr, WIDE,
                exactly.offsets + first, first, best);
        for (index i = i0; i < i0 + WIDE && i < block.n_rows; ++i) {
            const bool decided =
                best.value[i - i0] < __builtin_inf() &&
                !(exactly.gaps && exactly.n_missing(block.row(i), block.levels_of(i)) > 0);
            block.labels[i] = decided ? std::int32_t(best.label[i - i0])
                                      : exactly.nearest(block.row(i), block.levels_of(i));
        }
    }
}

// Rows with missing cells, where a cluster counts by its observed weight.
template <class T> void divide_anew(Scratch<T>& block, const Start<T>& exactly) {
    for (index i = 0; i < block.n_rows; ++i)
        if (exactly.n_missing(block.row(i), block.levels_of(i)) > 0)
            block.labels[i] = exactly.nearest(block.row(i), block.levels_of(i));
}

template <class T>
inline void assign_block(Scratch<T>& block, const Start<T>& exactly, const Starts& starts,
    index start, const char* prepared) {
    const void* own = prepared + start * prepared_bytes<T>(starts);
    if (starts.n_clusters == 1)
        for (index i = 0; i < block.n_rows; ++i) block.labels[i] = 0;
    else if (!squares(starts, start))
        with_kind(exactly.p,
            [&](auto kind) { assign_block<T, decltype(kind)::value>(block, exactly, own); });
    else if (starts.expanded) assign_block<T, true>(block, exactly, starts, own);
    else assign_block<T, false>(block, exactly, starts, own);
    if (exactly.rescale) divide_anew(block, exactly);
}

// Packs a block for assign_block.
template <class T>
inline void pack_block(
    const Rows<T>& table, const Starts& starts, const char* prepared, Scratch<T>& block) {
    const bool narrow = any_squares(starts);
    if (narrow) pack(block, table.n_features, shift_of<T>(starts, prepared));
    if (narrow && starts.expanded) measure_rows(block, table.n_features);
    if (!all_squares(starts)) pack_wide(block, table.n_features);
}

template <class T>
bool label(const Rows<T>& table, const Part& part, const Starts& starts, const char* prepared,
    std::int32_t* labels) {
    const Start<T> exactly(table, starts, 0);
    Scratch<T> block(part.scratch, starts.n_features, starts.n_clusters, starts.power, true);
    for_each_block(table, part, block, [&] {
        block.labels = labels + block.first;
        pack_block(table, starts, prepared, block);
        assign_block(block, exactly, starts, 0, prepared);
    });
    return block.odd || !any_squares(starts);
}

// Labels of rows that are packed in F, for one start.
template <class T, class F>
Changes label_packed(const Rows<T>& table, const PackedRows<F>& packed, const Part& part,
    const Starts& starts, const char* prepared, std::int32_t* labels) {
    const index begin = part.begin, m = table.n_features;
    const Start<T> exactly(table, starts, 0);
    Scratch<F> racing(nullptr, m, starts.n_clusters, false, false);
    racing.n_rows = part.end - begin;
    racing.panels = packed.panels + begin * m;
    racing.norms = packed.norms + begin;
    racing.holes = packed.holes ? packed.holes + begin / TILE_ROWS<F> : nullptr;
    racing.labels = labels + begin;
    const auto nearest = [&](index i) {
        return exactly.nearest(table.data + (begin + i) * table.row_stride, nullptr);
    };
    Changes changes;
    changes.doubtful = starts.expanded ? race_block<F, true>(racing, starts, prepared, 0, nearest)
                                       : race_block<F, false>(racing, starts, prepared, 0, nearest);
    for (index i = begin; i < part.end; ++i)
        changes.fingerprint += packed.keys[i] * std::uint64_t(labels[i] + 1);
    return changes;
}
template <class T>
Changes label_packed(const Rows<T>& table, PackedTable packed, const Part& part,
    const Starts& starts, const char* prepared, std::int32_t* labels) {
    const index n = table.n_rows, m = table.n_features;
    void* memory = packed.memory;
    if (packed.single)
        return label_packed(
            table, PackedRows<float>(memory, n, m, table.gaps), part, starts, prepared, labels);
    return label_packed(
        table, PackedRows<T>(memory, n, m, table.gaps), part, starts, prepared, labels);
}

template <class T>
double measure(
    const Rows<T>& table, const Part& part, const Starts& starts, const std::int32_t* labels) {
    const Start<T> exactly(table, starts, 0);
    Scratch<T> block(part.scratch, starts.n_features, starts.n_clusters, false, false);
    const bool largest = exactly.p == __builtin_inf();
    double sum = 0;
    for_each_block(table, part, block, [&] {
        const std::int32_t* own = labels + block.first;
        const auto add = [&](index i, double d) {
            if (!table.weighs(block.first + i)) return;  // such a row may be infinitely far
            const double s = table.sample_weight ? table.sample_weight[block.first + i] : 1;
            d += exactly.offsets[own[i]];
            sum = !largest ? sum + s * d : d > sum ? d : sum;
        };
        if (exactly.costs)
            for (index i = 0; i < block.n_rows; ++i)
                add(i, exactly(block.row(i), block.levels_of(i), own[i]));
        else
            exactly.each(
                block.n_rows, [&](index i) { return block.row(i); },
                [&](index i) { return index(own[i]); }, add);
    });
    return sum;
}

template <class T>
void distances(const Rows<T>& table, const Part& part, const Starts& starts, T* out) {
    const Start<T> exactly(table, starts, 0);
    const index k = starts.n_clusters;
    Scratch<T> block(part.scratch, starts.n_features, k, false, false);
    for_each_block(table, part, block, [&] {
        for (index i = 0; i < block.n_rows; ++i) {
            const T* row = block.row(i);
            const std::int32_t* levels = block.levels_of(i);
            bool known = !exactly.rescale;  // some cluster's weight is observed
            for (index j = 0; j < k && !known; ++j)
                known = exactly.rescaled(row, levels, j) < __builtin_inf();
            T* to = out + (block.first + i) * k;
            for (index j = 0; j < k; ++j)
                to[j] = known ? T(exactly.distance(row, levels, j)) : T(0);
        }
    });
}

}}}  // namespace fwk::FWK_ISA
