// Sums of each cluster, over all rows or over those that changed.
#pragma once
#include "assign/bounds.hpp"

namespace fwk { namespace FWK_ISA { namespace {

// Puts rows 0..n-1 into the order of their labels, a cluster at a time: faster for a few clusters,
// where sixteen rows are looked at together. The order must have room for a vector more.
constexpr index FEW_LABELS = BYTES == 64 ? 8 : 0;
inline void sort_by_few_labels(
    std::int32_t* order, std::int32_t* position, index k, const std::int32_t* labels, index n) {
    constexpr int L = WIDTH<float>;
    index at = 0;
    for (index j = 0; j < k; ++j) {
        position[j] = std::int32_t(at);
        index i = 0;
        for (; i + L <= n; i += L)
            at = append<L>(
                order, at, i, load<Vector<std::int32_t, L>>(labels + i) == std::int32_t(j));
        for (; i < n; ++i)
            at = append<1>(
                order, at, i, load<Vector<std::int32_t, 1>>(labels + i) == std::int32_t(j));
    }
    position[k] = std::int32_t(n);
}

// Puts rows 0..n-1, or the n chosen ones, into the order of their labels.
template <class T>
void sort_by_label(Scratch<T>& block, index k, const std::int32_t* labels, index n, bool chosen) {
    if (!chosen && k <= FEW_LABELS)
        return sort_by_few_labels(block.order, block.position, k, labels, n);
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

// Rows of weight one; rows with weights; rows, with weights or without, with missing cells.
enum class Cells { plain, weighted, gaps };

template <Cells C> inline double weight_of(const double* sample_weight, index i) {
    if (C == Cells::plain) return 1;
    return C == Cells::weighted || sample_weight ? sample_weight[i] : 1;
}

// Stores the lanes from `done` on: those before belong to features that somebody else sums.
template <class D> inline void store_from(int done, double* to, D sum) {
    if (done == 0) return store(to, sum);
    for (int j = done; j < int(sizeof(D) / sizeof(double)); ++j) to[j] = sum[j];
}

// N vectors of L features from v on, of one cluster's rows, with the sums held in registers. The
// last vector ends with the last feature at most, and may overlap others.
template <class T, int L, int N, Cells C, bool REMOVE>
void add_rows(const Scratch<T>& block, const double* sample_weight, index begin, index end, index v,
    index m, const double* reference, double* sums, double* squares, double* observed) {
    using D = Vector<double, L>;
    D origin[N], sum[N], square[N], mass[N];
    const index wanted = v + (N - 1) * L, last = wanted + L <= m ? wanted : m - L;
    const auto at = [&](int c) { return c < N - 1 ? v + c * L : last; };
    for (int c = 0; c < N; ++c) {
        origin[c] = load<D>(reference + at(c));
        sum[c] = load<D>(sums + at(c));
        square[c] = load<D>(squares + at(c));
        if (C == Cells::gaps) mass[c] = load<D>(observed + at(c));
    }
    for (index p = begin; p < end; ++p) {
        const index i = block.order[p];
        const T* row = block.rows + i * block.row_stride;
        for (int c = 0; c < N; ++c) {
            const D y = load_wide<T, L>(row + at(c));
            D t = y - origin[c];
            if (C == Cells::gaps && BYTES == 64 &&
                !REMOVE) {  // additions under a mask cost nothing more
                const auto there = y == y;
                const double s = weight_of<C>(sample_weight, i);
                const D weighted = t * s;
                const D more_mass = mass[c] + s, more = sum[c] + weighted,
                        more_square = square[c] + weighted * t;
                mass[c] = there ? more_mass : mass[c];
                sum[c] = there ? more : sum[c];
                square[c] = there ? more_square : square[c];
                continue;
            }
            if (C == Cells::gaps) {
                const D s = y == y ? D{} + weight_of<C>(sample_weight, i) : D{};
                t = y == y ? t : D{};
                mass[c] = REMOVE ? mass[c] - s : mass[c] + s;
            }
            const D st = C == Cells::plain ? t : t * weight_of<C>(sample_weight, i);
            sum[c] = REMOVE ? sum[c] - st : sum[c] + st;
            square[c] = REMOVE ? square[c] - st * t : square[c] + st * t;
        }
    }
    for (int c = 0; c < N; ++c) {
        const int done =
            N == 1 ? int(v - last) : 0;  // what overlaps a vector of the same call is the same
        store_from(done, sums + at(c), sum[c]);
        store_from(done, squares + at(c), square[c]);
        if (C == Cells::gaps) store_from(done, observed + at(c), mass[c]);
    }
}
// The same for N vectors, or as many as are left.
template <class T, int L, int N, Cells C, bool REMOVE>
inline void add_vectors(index left, const Scratch<T>& block, const double* sample_weight,
    index begin, index end, index v, index m, const double* reference, double* sums,
    double* squares, double* observed) {
    if constexpr (N > 1)
        if (left < N)
            return add_vectors<T, L, N - 1, C, REMOVE>(
                left, block, sample_weight, begin, end, v, m, reference, sums, squares, observed);
    add_rows<T, L, N, C, REMOVE>(
        block, sample_weight, begin, end, v, m, reference, sums, squares, observed);
}
template <class T, int L, Cells C, bool REMOVE>
inline void add_all_features(const Scratch<T>& block, const double* sample_weight, index begin,
    index end, index m, const double* reference, double* sums, double* squares, double* observed) {
    if constexpr (L > 1)
        if (m < L)
            return add_all_features<T, L / 2, C, REMOVE>(
                block, sample_weight, begin, end, m, reference, sums, squares, observed);
    constexpr int MOST =
        BYTES == 64 && L == WIDTH<double> && C != Cells::gaps ? 8 : 4;  // that fit into registers
    for (index v = 0; v < m; v += MOST * L)
        add_vectors<T, L, MOST, C, REMOVE>((m - v + L - 1) / L, block, sample_weight, begin, end, v,
            m, reference, sums, squares, observed);
}

template <class T, bool REMOVE>
void count_categories(
    const Scratch<T>& block, const double* sample_weight, index begin, index end, double* counts) {
    const index n = block.n_categorical;
    for (index p = begin; p < end; ++p) {
        const index i = block.order[p];
        const double s = (sample_weight ? sample_weight[i] : 1) * (REMOVE ? -1 : 1);
        const std::int32_t* levels = block.levels + i * n;
        for (index v = 0; v < n; ++v)
            if (levels[v] >= 0) counts[levels[v]] += s;
    }
}

// Adds the sorted rows of the block to the sums of their clusters, from `first` to before `last`,
// or takes them away.
template <class T, Cells C, bool REMOVE>
void accumulate_sorted(const Scratch<T>& block, const double* sample_weight, const Starts& starts,
    index start, index first, index last, const Sums& out) {
    constexpr int L = WIDTH<double>;
    const index k = starts.n_clusters, m = starts.n_features;
    for (index j = first; j < last; ++j) {
        const index begin = block.position[j], end = block.position[j + 1], at = start * k + j;
        if (begin == end) continue;
        double mass = double(end - begin);
        index rows = end - begin;
        if (C != Cells::plain && sample_weight) {
            mass = 0, rows = 0;
            const index step =
                block_rows<T>(m);  // rows of several blocks are weighed block by block
            index edge = step;
            for (index p = begin; p < end; ++p) {
                const index i = block.order[p];
                if (i >= edge) {
                    out.mass[at] += REMOVE ? -mass : mass;
                    mass = 0, edge = (i / step + 1) * step;
                }
                const double s = weight_of<C>(sample_weight, i);
                mass += s;
                rows += s > 0;
            }
        }
        out.mass[at] += REMOVE ? -mass : mass;
        out.rows[at] += REMOVE ? -rows : rows;
        const double* reference = starts.reference + at * m;
        double *sums = out.sums + at * m, *squares = out.squares + at * m;
        double* observed = C == Cells::gaps ? out.observed + at * m : nullptr;
        if (out.counts)
            count_categories<T, REMOVE>(
                block, sample_weight, begin, end, out.counts + at * starts.n_levels);
        add_all_features<T, L, C, REMOVE>(
            block, sample_weight, begin, end, m, reference, sums, squares, observed);
    }
}

template <Cells C> struct CellsKind {
    static constexpr Cells value = C;
};
// Returns body(CellsKind of the rows).
template <class T, class Body> inline auto with_cells(const Rows<T>& table, Body body) {
    if (table.gaps) return body(CellsKind<Cells::gaps>{});
    if (table.sample_weight) return body(CellsKind<Cells::weighted>{});
    return body(CellsKind<Cells::plain>{});
}
template <class T> const double* weights_of(const Rows<T>& table, const Scratch<T>& block) {
    return table.sample_weight ? table.sample_weight + block.first : nullptr;
}

// Adds all rows of a block, by their labels.
template <class T>
void sum_all(const Rows<T>& table, Scratch<T>& block, const Starts& starts, index start,
    const std::int32_t* labels, const Sums& out) {
    const double* s = weights_of(table, block);
    sort_by_label(block, starts.n_clusters, labels, block.n_rows, false);
    with_cells(table, [&](auto kind) {
        accumulate_sorted<T, decltype(kind)::value, false>(
            block, s, starts, start, 0, starts.n_clusters, out);
    });
}

// Takes the chosen rows of a block out of the clusters they were in, and adds them where they are.
template <class T>
void sum_changes(const Rows<T>& table, Scratch<T>& block, const Starts& starts, index start,
    const std::int32_t* before, index n_changed, const Sums& out) {
    if (n_changed == 0) return;
    const index k = starts.n_clusters;
    const double* s = weights_of(table, block);
    with_cells(table, [&](auto kind) {
        constexpr Cells C = decltype(kind)::value;
        sort_by_label(block, k, before, n_changed, true);
        accumulate_sorted<T, C, true>(block, s, starts, start, 0, k, out);
        sort_by_label(block, k, block.labels, n_changed, true);
        accumulate_sorted<T, C, false>(block, s, starts, start, 0, k, out);
    });
}

// Calls use(start) for each block and each start, when the block has its labels.
template <class T, class Use>
void label_blocks(const Rows<T>& table, const Part& part, const Starts& starts, index first,
    index last, const char* prepared, const Sums& out, Use use) {
    Scratch<T> block(
        part.scratch, starts.n_features, starts.n_clusters, starts.power != nullptr, table.gaps);
    for_each_block(table, part, block, [&] {
        pack_block(table, starts, prepared, block);
        draw_keys(table, block);
        for (index start = first; start < last; ++start) {
            assign_block(block, Start<T>(table, starts, start), starts, start, prepared);
            block.ahead = nullptr;  // asked for once
            for (index i = 0; i < block.n_rows; ++i)
                out.fingerprint[start] += block.keys[i] * std::uint64_t(block.labels[i] + 1);
            use(block, start);
        }
    });
}

template <class T>
void label_and_sum(const Rows<T>& table, const Part& part, const Starts& starts, index first,
    index last, const char* prepared, const Sums& out) {
    label_blocks(
        table, part, starts, first, last, prepared, out, [&](Scratch<T>& block, index start) {
            sum_all(table, block, starts, start, block.labels, out);
        });
}

template <class T>
void label_and_sum_changes(const Rows<T>& table, const Part& part, const Starts& starts,
    index first, index last, const char* prepared, const LastLabels& known, const Sums& out) {
    const auto use = [&](Scratch<T>& block, index start) {
        std::int32_t* before = known.labels + start * known.stride + block.first;
        index n_changed = 0;
        for (index i = 0; i < block.n_rows; ++i) {
            block.chosen[n_changed] = std::int32_t(i);
            n_changed += before[i] != block.labels[i];
        }
        out.changed[start] += n_changed;
        if (known.update[start]) sum_changes(table, block, starts, start, before, n_changed, out);
        else sum_all(table, block, starts, start, block.labels, out);
        for (index i = 0; i < block.n_rows; ++i) before[i] = block.labels[i];
    };
    label_blocks(table, part, starts, first, last, prepared, out, use);
}

template <class T>
std::int64_t label_by_bounds_and_sum(const Rows<T>& table, const Part& part, const Starts& starts,
    const char* prepared, bool single, const LastLabels& known, const Bounds& bounds,
    const Sums& out) {
    const auto use = [&](Scratch<T>& block, std::int32_t* labels, index n_changed) {
        if (known.update[0]) sum_changes(table, block, starts, 0, labels, n_changed, out);
        keep_changes(block, labels, n_changed);
        if (!known.update[0]) sum_all(table, block, starts, 0, labels, out);
    };
    const Changes changes =
        decide_by_bounds(table, part, starts, prepared, single, known.labels, bounds, use);
    *out.fingerprint += changes.fingerprint;
    *out.changed += changes.changed;
    return changes.doubtful;
}

template <class T>
void sum_known(const Rows<T>& table, const Part& part, const Starts& starts,
    const std::int32_t* labels, const Sums& out) {
    Scratch<T> block(part.scratch, starts.n_features, starts.n_clusters, false, table.gaps);
    for_each_block(
        table, part, block, [&] { sum_all(table, block, starts, 0, labels + block.first, out); });
}

inline void sort(
    const std::int32_t* labels, index n, index k, std::int32_t* order, std::int32_t* position) {
    Scratch<double> block(nullptr, 1, k, false, false);
    block.order = order, block.position = position;
    sort_by_label(block, k, labels, n, false);
}

template <class T>
void sum_clusters(const Rows<T>& table, const Starts& starts, std::int32_t* order,
    std::int32_t* position, index first, index last, const Sums& out) {
    Scratch<T> block(nullptr, table.n_features, starts.n_clusters, false, false);
    stage(table, 0, table.n_rows, block);
    block.order = order;
    block.position = position;
    with_cells(table, [&](auto kind) {
        accumulate_sorted<T, decltype(kind)::value, false>(
            block, table.sample_weight, starts, 0, first, last, out);
    });
}

}}}  // namespace fwk::FWK_ISA
