// Sums about a point of each cluster, for centers other than means.
#pragma once
#include "assign/minkowski.hpp"
#include "common/powers.hpp"
#include "sums/by_label.hpp"

namespace fwk { namespace FWK_ISA { namespace {

template <int L> inline bool all_missing(Vector<double, L> point) {
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

// The values nearest to a point on either side, and what lies there; L features.
template <int L> struct Neighbors {
    using D = Vector<double, L>;
    D equal, below, below_mass, above, above_mass;

    void add(D y, D c, D s) {
        if (!any_within<L>(y, below, above)) return;  // most rows are farther
        const D zero = {};
        equal += y == c ? s : zero;
        const auto under = (y < c), over = (y > c);
        const auto nearer_below = under & (y > below), nearer_above = over & (y < above);
        below_mass += (under & (y == below)) ? s : zero;
        above_mass += (over & (y == above)) ? s : zero;
        below_mass = nearer_below ? s : below_mass;
        above_mass = nearer_above ? s : above_mass;
        below = nearer_below ? y : below;
        above = nearer_above ? y : above;
    }
};

// Derivatives, and the lowest and highest value; L features.
template <int L, Power P, bool PLAIN> struct Bends {
    using D = Vector<double, L>;
    D slope, curvature, third, third_size, low, high;

    // `power`: |t|^(p - 2)
    void add(D y, D t, D s, D power) {
        const D zero = {};
        if constexpr (P == Power::general || P == Power::square) {
            const D bend = PLAIN ? power : s * power, change = t == zero ? zero : bend / t;
            curvature += bend;
            slope += t * bend;
            third += change;
            third_size += absolute<L>(change);
        } else {
            slope += t > zero ? s : (t < zero ? -s : zero);
        }
        low = y < low ? y : low;
        high = y > high ? y : high;
    }
};

// L features from v on, of one cluster's rows about its point; points that are NaN are done with.
template <class T, int L, Power P, bool PLAIN>
inline void add_slopes(Scratch<T>& block, const double* sample_weight, index begin, index end,
    index v, int done, const double* point, double p, const Slopes& out) {
    using D = Vector<double, L>;
    const D c = load<D>(point + v), zero = {};
    if (all_missing<L>(c)) return;
    Bends<L, P, PLAIN> sums = {load<D>(out.slope + v), load<D>(out.curvature + v),
        load<D>(out.third + v), load<D>(out.third_size + v), load<D>(out.low + v),
        load<D>(out.high + v)};
    Neighbors<L> near = {load<D>(out.equal + v), load<D>(out.below + v),
        load<D>(out.below_mass + v), load<D>(out.above + v), load<D>(out.above_mass + v)};
    const D unasked = near.below;
    near.below = c == c ? near.below : c;  // no row is between points that ask nothing
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
            q[r] = zero;
        }
        if constexpr (P == Power::general || P == Power::square)
            for (int r = 0; r < 2; ++r) q[r] = raise<L>(absolute<L>(t[r]), p - 2);
        for (int r = 0; r < both; ++r) {
            sums.add(y[r], t[r], s[r], q[r]);
            if (p < 2) near.add(y[r], c, s[r]);
        }
    }
    near.below = c == c ? near.below : unasked;
    const D found[] = {sums.slope, sums.curvature, sums.third, sums.third_size, near.equal,
        near.below, near.below_mass, near.above, near.above_mass, sums.low, sums.high};
    for (index field = 0; field < Slopes::FIELDS; ++field)
        store_from(done, out.slope + field * (out.curvature - out.slope) + v, found[field]);
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
template <int LANES> struct Lanes {
    static constexpr int value = LANES;
};
template <class Add, int L = WIDTH<double>> inline void for_all_features(index m, Add add) {
    if constexpr (L > 1)
        if (m < L) return for_all_features<Add, L / 2>(m, add);
    index v = 0;
    for (; v + L <= m; v += L) add(Lanes<L>{}, v, 0);
    if (v < m) add(Lanes<L>{}, m - L, int(v - (m - L)));
}

// Calls body(start, cluster, first place, last place, sample weights of the block) for the rows of
// each cluster; their numbers are in block.order.
template <class T, class Body>
inline void for_each_cluster(const Rows<T>& table, const Part& part, const Points& points,
    index first, index last, Body body) {
    Scratch<T> block(part.scratch, points.n_features, points.n_clusters, false, false);
    for_each_block(table, part, block, [&] {
        for (index start = first; start < last; ++start) {
            const std::int32_t* labels = points.labels + start * points.stride + block.first;
            sort_by_label(block, points.n_clusters, labels, block.n_rows, false);
            // pairs of rows, and vectors of their features, are computed one after the other
            const index pairs = (block.n_rows + 1) / 2,
                        vectors = (points.n_features + WIDE - 1) / WIDE;
            block.ahead_step = round_up(block.ahead_bytes / (pairs * vectors + 1), 64);
            for (index j = 0; j < points.n_clusters; ++j)
                if (block.position[j] < block.position[j + 1])
                    body(block, start, j, block.position[j], block.position[j + 1]);
            fetch_some(block, block.ahead_bytes);  // asked for once
        }
    });
}

// The slopes of the rows of one cluster, `from` to `to` in their order, at its point.
template <class T, bool PLAIN>
void add_cluster(Scratch<T>& block, const double* s, index from, index to, index m,
    const double* point, double p, bool rough, const Slopes& own) {
    with_kind(p, [&](auto kind) {
        for_all_features(m, [&](auto lanes, index v, int done) {
            constexpr int L = decltype(lanes)::value;
            constexpr Power P = decltype(kind)::value;
            if constexpr (P == Power::general && L > 1)
                if (rough && rough_is_faster(p))
                    return add_rough_slopes<T, L, PLAIN>(
                        block, s, from, to, v, done, point, p, own);
            add_slopes<T, L, P, PLAIN>(block, s, from, to, v, done, point, p, own);
        });
    });
}

template <class T>
void slopes(const Rows<T>& table, const Part& part, const Points& points, index first, index last,
    const Slopes& out) {
    const index k = points.n_clusters, m = points.n_features;
    const bool plain = !table.sample_weight && !table.gaps;
    for (index i = first * k * m; i < last * k * m; ++i) {
        out.slope[i] = out.curvature[i] = out.third[i] = out.third_size[i] = 0;
        out.equal[i] = out.below_mass[i] = out.above_mass[i] = 0;
        out.below[i] = out.high[i] = -__builtin_inf();
        out.above[i] = out.low[i] = __builtin_inf();
    }
    const auto add = [&](Scratch<T>& block, index start, index j, index from, index to) {
        const index at = (start * k + j) * m;
        const Slopes own = Slopes::of(out.slope + at, out.curvature - out.slope);
        const double *s = weights_of(table, block), *point = points.points + at;
        const double p = points.power[start];
        if (plain) add_cluster<T, true>(block, s, from, to, m, point, p, points.rough, own);
        else add_cluster<T, false>(block, s, from, to, m, point, p, points.rough, own);
    };
    for_each_cluster(table, part, points, first, last, add);
}

template <class T>
void powers(const Rows<T>& table, const Part& part, const Points& points, index first, index last,
    double* out) {
    const index k = points.n_clusters, m = points.n_features;
    const bool plain = !table.sample_weight && !table.gaps;
    for (index i = first * k * m; i < last * k * m; ++i) out[i] = 0;
    const auto add = [&](Scratch<T>& block, index start, index j, index from, index to) {
        const index at = (start * k + j) * m;
        const double p = points.power[start], *c = points.points + at;
        const double* s = weights_of(table, block);
        with_kind(p, [&](auto kind) {
            for_all_features(m, [&](auto lanes, index v, int done) {
                constexpr int L = decltype(lanes)::value;
                constexpr Power P = decltype(kind)::value;
                if (plain) add_powers<T, L, P, true>(block, s, from, to, v, done, c, p, out + at);
                else add_powers<T, L, P, false>(block, s, from, to, v, done, c, p, out + at);
            });
        });
    };
    for_each_cluster(table, part, points, first, last, add);
}

}}}  // namespace fwk::FWK_ISA
