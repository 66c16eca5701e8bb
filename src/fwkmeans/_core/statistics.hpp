// Sums of each cluster, over all rows or over those that changed.
#pragma once
#include "assignment.hpp"

namespace fwk {
namespace FWK_ISA {
namespace {

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

template <Cells C>
inline double weight_of(const double* sample_weight, index i) {
    if (C == Cells::plain) return 1;
    return C == Cells::weighted || sample_weight ? sample_weight[i] : 1;
}

// Stores the lanes from `done` on: those before belong to features that somebody else sums.
template <class D>
inline void store_from(int done, double* to, D sum) {
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

template <class T, Cells C, bool REMOVE>
void accumulate_sorted(const Scratch<T>& block, const double* sample_weight, const Starts& starts,
    index start, const Sums& out) {
    accumulate_sorted<T, C, REMOVE>(block, sample_weight, starts, start, 0, starts.n_clusters, out);
}

template <class T, Cells C>
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
        accumulate_sorted<T, C, true>(block, sample_weight, starts, start, out);
        sort_by_label(block, k, block.labels, n_changed, true);
    } else {
        sort_by_label(block, k, block.labels, n, false);
    }
    accumulate_sorted<T, C, false>(block, sample_weight, starts, start, out);
    if (last)
        for (index i = 0; i < n; ++i) last[i] = block.labels[i];
}

// Sums a block that has its labels, or only keeps these, and their fingerprint.
template <class T>
void accumulate_block(const Rows<T>& table, Scratch<T>& block, const Starts& starts, index start,
    const LastLabels& known, const Sums& out) {
    std::uint64_t fingerprint = 0;
    for (index i = 0; i < block.n_rows; ++i)
        fingerprint += block.keys[i] * std::uint64_t(block.labels[i] + 1);
    out.fingerprint[start] += fingerprint;
    const double* s = table.sample_weight ? table.sample_weight + block.first : nullptr;
    std::int32_t* labels =
        known.labels ? known.labels + start * known.stride + block.first : nullptr;
    if (!out.sums) {
        __builtin_memcpy(labels, block.labels, std::size_t(block.n_rows) * 4);
        return;
    }
    const bool update = labels && known.update[start];
    if (out.observed)
        accumulate_block<T, Cells::gaps>(block, s, starts, start, labels, update, out);
    else if (s) accumulate_block<T, Cells::weighted>(block, s, starts, start, labels, update, out);
    else accumulate_block<T, Cells::plain>(block, s, starts, start, labels, update, out);
}

template <class T>
index accumulate(const Rows<T>& table, index begin, index end, const Starts& starts, index first,
    index last, const char* prepared, void* scratch, const LastLabels& known, const Sums& out,
    Cancel cancel) {
    if (table.packed) {
        Scratch<T> block = scratch_of_packed(scratch, table, starts.n_clusters);
        stage(table, begin, end, block);
        const index doubtful =
            assign_packed(table, block, Start<T>(table, starts, first), starts, prepared);
        accumulate_block(table, block, starts, first, known, out);
        return doubtful;
    }
    Scratch<T> block(scratch, starts.n_features, starts.n_clusters, starts.power, table.gaps);
    for_each_packed_block(table, begin, end, starts, prepared, block, cancel, [&] {
        draw_keys(table, block);
        for (index start = first; start < last; ++start) {
            assign_block(block, Start<T>(table, starts, start), starts, start, prepared);
            block.ahead = nullptr;  // asked for once
            accumulate_block(table, block, starts, start, known, out);
        }
    });
    return 0;
}

// ---- about points of known clusters -------------------------------------------------------------

template <int L>
inline bool all_missing(Vector<double, L> point) {
    for (int j = 0; j < L; ++j)
        if (point[j] == point[j]) return false;
    return true;
}

// Whether a value is within its bounds, in any lane.
template <int L>
inline bool any_within(Vector<double, L> y, Vector<double, L> low, Vector<double, L> high) {
#ifdef __AVX512F__
    if constexpr (L == 8)
        return _mm512_mask_cmp_pd_mask(
                   _mm512_cmp_pd_mask(y, low, _CMP_GE_OQ), y, high, _CMP_LE_OQ) != 0;
#endif
    const auto within = (y >= low) & (y <= high);
    std::int64_t any = 0;
    for (int j = 0; j < L; ++j) any |= within[j];
    return any != 0;
}

// The cells of a row, L features from v on. Without weight they are as good as missing; plain rows
// have weight one and every cell.
template <class T, int L, bool PLAIN>
inline Vector<double, L> cells_of(const Scratch<T>& block, index i, index v, double weight) {
    using D = Vector<double, L>;
    if (!PLAIN && !(weight > 0)) return D{} + __builtin_nan("");
    return load_wide<T, L>(block.row(i) + v);
}

// L features from v on, of one cluster's rows about its point; points that are NaN are done with.
template <class T, int L, Power P, bool PLAIN>
inline void add_slopes(Scratch<T>& block, const double* sample_weight, index begin, index end,
    index v, int done, const double* point, double p, const Slopes& out) {
    using D = Vector<double, L>;
    const D c = load<D>(point + v), zero = {};
    if (all_missing<L>(c)) return;
    D slope = load<D>(out.slope + v), curvature = load<D>(out.curvature + v);
    D third = load<D>(out.third + v), third_size = load<D>(out.third_size + v);
    D equal = load<D>(out.equal + v), below = load<D>(out.below + v),
      above = load<D>(out.above + v);
    D below_mass = load<D>(out.below_mass + v), above_mass = load<D>(out.above_mass + v);
    D low = load<D>(out.low + v), high = load<D>(out.high + v);
    const bool neighbors = p < 2;
    const D unasked = below;
    below = c == c ? below : c;  // no row is between points that ask nothing
    // two rows at a time: their powers do not wait for one another
    for (index at = begin; at < end; at += 2) {
        fetch_some(block, block.ahead_step);
        const int both = at + 1 < end ? 2 : 1;
        const index i[2] = {block.order[at], block.order[at + both - 1]};
        D s[2], t[2], y[2], q[2];
        for (int r = 0; r < 2; ++r) {
            const double weight = PLAIN || !sample_weight ? 1 : sample_weight[i[r]];
            y[r] = cells_of<T, L, PLAIN>(block, i[r], v, weight);
            s[r] = PLAIN ? zero + 1.0 : (y[r] == y[r] ? zero + weight : zero);
            t[r] = PLAIN ? c - y[r] : (y[r] == y[r] ? c - y[r] : zero);
        }
        if constexpr (P == Power::general || P == Power::square)
            for (int r = 0; r < 2; ++r) q[r] = raise<L>(absolute<L>(t[r]), p - 2);
        for (int r = 0; r < both; ++r) {
            if constexpr (P == Power::general || P == Power::square) {
                const D bend = PLAIN ? q[r] : s[r] * q[r],
                        change = t[r] == zero ? zero : bend / t[r];
                curvature += bend;
                slope += t[r] * bend;
                third += change;
                third_size += absolute<L>(change);
            } else {
                slope += t[r] > zero ? s[r] : (t[r] < zero ? -s[r] : zero);
            }
            low = y[r] < low ? y[r] : low;
            high = y[r] > high ? y[r] : high;
            // most rows are not between the neighbors found so far
            if (!neighbors || !any_within<L>(y[r], below, above)) continue;
            equal += y[r] == c ? s[r] : zero;
            const auto under = y[r]<c, over = y[r]> c;
            const auto nearer_below = under & (y[r] > below), nearer_above = over & (y[r] < above);
            below_mass += (under & (y[r] == below)) ? s[r] : zero;
            above_mass += (over & (y[r] == above)) ? s[r] : zero;
            below_mass = nearer_below ? s[r] : below_mass;
            above_mass = nearer_above ? s[r] : above_mass;
            below = nearer_below ? y[r] : below;
            above = nearer_above ? y[r] : above;
        }
    }
    below = c == c ? below : unasked;
    store_from(done, out.slope + v, slope);
    store_from(done, out.curvature + v, curvature);
    store_from(done, out.third + v, third);
    store_from(done, out.third_size + v, third_size);
    store_from(done, out.equal + v, equal);
    store_from(done, out.below + v, below);
    store_from(done, out.below_mass + v, below_mass);
    store_from(done, out.above + v, above);
    store_from(done, out.above_mass + v, above_mass);
    store_from(done, out.low + v, low);
    store_from(done, out.high + v, high);
}

// The same in single precision, two rows in one vector: slope, curvature and extremes only. A term
// is at most a share of RAISE_ERROR off, and the sums of the few rows of a block hardly more.
template <class T, int L, bool PLAIN>
inline void add_rough_slopes(Scratch<T>& block, const double* sample_weight, index begin, index end,
    index v, int done, const double* point, double p, const Slopes& out) {
    using D = Vector<double, L>;
    using F = Vector<float, 2 * L>;
    const D c = load<D>(point + v), zero = {};
    if (all_missing<L>(c)) return;
    D low = load<D>(out.low + v), high = load<D>(out.high + v);
    F slope = {}, curvature = {};
    for (index at = begin; at < end; at += 2) {
        fetch_some(block, block.ahead_step);
        D t[2] = {zero, zero}, s[2] = {zero, zero};
        for (int r = 0; r < 2 && at + r < end; ++r) {
            const index i = block.order[at + r];
            const double weight = PLAIN || !sample_weight ? 1 : sample_weight[i];
            const D y = cells_of<T, L, PLAIN>(block, i, v, weight);
            t[r] = PLAIN ? c - y : (y == y ? c - y : zero);
            s[r] = zero + weight;
            low = y < low ? y : low;
            high = y > high ? y : high;
        }
        const F d = join<L>(t[0], t[1]), power = raise_in_single<2 * L>(d, float(p - 2));
        F bend = d == F{} ? F{} : power;
        if (!PLAIN) bend *= join<L>(s[0], s[1]);
        curvature += bend;
        slope += d * bend;
    }
    D sums[2] = {load<D>(out.slope + v), load<D>(out.curvature + v)};
    for (int j = 0; j < L; ++j) {
        sums[0][j] += double(slope[j]) + double(slope[L + j]);
        sums[1][j] += double(curvature[j]) + double(curvature[L + j]);
    }
    store_from(done, out.slope + v, sums[0]);
    store_from(done, out.curvature + v, sums[1]);
    store_from(done, out.low + v, low);
    store_from(done, out.high + v, high);
}

// Whether single precision is faster: whole powers are products.
inline bool rough_is_faster(double p) {
    return p <= MOST_POWER && !(p == 3 || p == 4 || p == 5 || p == 6);
}

template <class T, int L, Power P, bool PLAIN>
inline void add_powers(Scratch<T>& block, const double* sample_weight, index begin, index end,
    index v, int done, const double* point, double p, double* out) {
    using D = Vector<double, L>;
    const D c = load<D>(point + v), zero = {};
    D sum = load<D>(out + v);
    for (index at = begin; at < end; at += 2) {
        fetch_some(block, block.ahead_step);
        const int both = at + 1 < end ? 2 : 1;
        const index i[2] = {block.order[at], block.order[at + both - 1]};
        D d[2];
        for (int r = 0; r < 2; ++r) {
            const D y = load_wide<T, L>(block.row(i[r]) + v);
            d[r] = measure<P, L>(PLAIN ? y - c : (y == y ? y - c : zero), p);
        }
        for (int r = 0; r < both; ++r) {
            const double weight = PLAIN || !sample_weight ? 1 : sample_weight[i[r]];
            if (weight > 0) sum = gather<P>(sum, P == Power::largest ? d[r] : d[r] * weight);
        }
    }
    store_from(done, out + v, sum);
}

// Calls add(lanes, v, done) for vectors of features that cover 0..m-1; the last one overlaps, and
// its first lanes are done already.
template <int LANES>
struct Lanes {
    static constexpr int value = LANES;
};
template <class Add, int L = WIDTH<double>>
inline void for_all_features(index m, Add add) {
    if constexpr (L > 1)
        if (m < L) return for_all_features<Add, L / 2>(m, add);
    index v = 0;
    for (; v + L <= m; v += L) add(Lanes<L>{}, v, 0);
    if (v < m) add(Lanes<L>{}, m - L, int(v - (m - L)));
}

// Calls body(start, cluster, first place, last place, sample weights of the block) for the rows of
// each cluster; their numbers are in block.order.
template <class T, class Body>
inline void for_each_cluster(const Rows<T>& table, index begin, index end, const Points& points,
    index first, index last, void* scratch, Cancel cancel, Body body) {
    Scratch<T> block(scratch, points.n_features, points.n_clusters, false);
    for_each_block(table, begin, end, block, cancel, [&] {
        const double* s = table.sample_weight ? table.sample_weight + block.first : nullptr;
        for (index start = first; start < last; ++start) {
            const std::int32_t* labels = points.labels + start * points.stride + block.first;
            sort_by_label(block, points.n_clusters, labels, block.n_rows, false);
            // pairs of rows, and vectors of their features, are computed one after the other
            const index pairs = (block.n_rows + 1) / 2,
                        vectors = (points.n_features + WIDE - 1) / WIDE;
            block.ahead_step = round_up(block.ahead_bytes / (pairs * vectors + 1), 64);
            for (index j = 0; j < points.n_clusters; ++j)
                if (block.position[j] < block.position[j + 1])
                    body(block, start, j, block.position[j], block.position[j + 1], s);
            fetch_some(block, block.ahead_bytes);  // asked for once
        }
    });
}

template <class T>
void slopes(const Rows<T>& table, index begin, index end, const Points& points, index first,
    index last, void* scratch, const Slopes& out, Cancel cancel) {
    const index k = points.n_clusters, m = points.n_features;
    const bool plain = !table.sample_weight && !table.gaps;
    for (index i = first * k * m; i < last * k * m; ++i) {
        out.slope[i] = out.curvature[i] = out.third[i] = out.third_size[i] = 0;
        out.equal[i] = out.below_mass[i] = out.above_mass[i] = 0;
        out.below[i] = out.high[i] = -__builtin_inf();
        out.above[i] = out.low[i] = __builtin_inf();
    }
    for_each_cluster(table, begin, end, points, first, last, scratch, cancel,
        [&](Scratch<T>& block, index start, index j, index from, index to, const double* s) {
            const index at = (start * k + j) * m;
            const Slopes own{out.slope + at, out.curvature + at, out.third + at,
                out.third_size + at, out.equal + at, out.below + at, out.below_mass + at,
                out.above + at, out.above_mass + at, out.low + at, out.high + at};
            const double p = points.power[start];
            with_kind(p, [&](auto kind) {
                for_all_features(m, [&](auto lanes, index v, int done) {
                    constexpr int L = decltype(lanes)::value;
                    constexpr Power P = decltype(kind)::value;
                    const double* c = points.points + at;
                    if constexpr (P == Power::general && L > 1)
                        if (points.rough && rough_is_faster(p))
                            return plain ? add_rough_slopes<T, L, true>(
                                               block, s, from, to, v, done, c, p, own)
                                         : add_rough_slopes<T, L, false>(
                                               block, s, from, to, v, done, c, p, own);
                    if (plain) add_slopes<T, L, P, true>(block, s, from, to, v, done, c, p, own);
                    else add_slopes<T, L, P, false>(block, s, from, to, v, done, c, p, own);
                });
            });
        });
}

template <class T>
void powers(const Rows<T>& table, index begin, index end, const Points& points, index first,
    index last, void* scratch, double* out, Cancel cancel) {
    const index k = points.n_clusters, m = points.n_features;
    const bool plain = !table.sample_weight && !table.gaps;
    for (index i = first * k * m; i < last * k * m; ++i) out[i] = 0;
    for_each_cluster(table, begin, end, points, first, last, scratch, cancel,
        [&](Scratch<T>& block, index start, index j, index from, index to, const double* s) {
            const index at = (start * k + j) * m;
            const double p = points.power[start];
            with_kind(p, [&](auto kind) {
                for_all_features(m, [&](auto lanes, index v, int done) {
                    constexpr int L = decltype(lanes)::value;
                    constexpr Power P = decltype(kind)::value;
                    const double* c = points.points + at;
                    if (plain)
                        add_powers<T, L, P, true>(block, s, from, to, v, done, c, p, out + at);
                    else add_powers<T, L, P, false>(block, s, from, to, v, done, c, p, out + at);
                });
            });
        });
}

}  // namespace
}  // namespace FWK_ISA
}  // namespace fwk
