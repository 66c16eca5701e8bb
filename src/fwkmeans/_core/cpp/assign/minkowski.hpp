// |y - c|^p for any p: in double precision from the differences themselves, so that no label needs
// a second look.
#pragma once
#include "common/packing.hpp"
#include "common/powers.hpp"

namespace fwk { namespace FWK_ISA { namespace {

constexpr int WIDE_TILE = 4;  // clusters in work at once: powers are long chains

enum class Power { absolute, square, general, largest };

inline Power kind_of(double p) {
    if (p == 1) return Power::absolute;
    if (p == 2) return Power::square;
    return p == __builtin_inf() ? Power::largest : Power::general;
}
inline bool squares(const Starts& starts, index start) {
    return !starts.power || starts.power[start] == 2;
}
inline bool any_squares(const Starts& starts) {
    for (index start = 0; start < starts.n_starts; ++start)
        if (squares(starts, start)) return true;
    return false;
}
inline bool all_squares(const Starts& starts) {
    for (index start = 0; start < starts.n_starts; ++start)
        if (!squares(starts, start)) return false;
    return true;
}

template <Power P> struct Kind {
    static constexpr Power value = P;
};

// Returns body(Kind<of p>).
template <class Body> inline auto with_kind(double p, Body body) {
    switch (kind_of(p)) {
        case Power::absolute: return body(Kind<Power::absolute>{});
        case Power::square: return body(Kind<Power::square>{});
        case Power::general: return body(Kind<Power::general>{});
        default: return body(Kind<Power::largest>{});
    }
}

// |t|^p; |t| itself for p = infinity, where the largest takes the place of the sum.
template <Power P, int L> inline Vector<double, L> measure(Vector<double, L> t, double p) {
    if constexpr (P == Power::square) return t * t;
    if constexpr (P == Power::general) return raise<L>(absolute<L>(t), p);
    return absolute<L>(t);
}
template <Power P, class Number> inline Number gather(Number sum, Number term) {
    if constexpr (P == Power::largest) return term > sum ? term : sum;
    return sum + term;
}

// sum_v w |y - c|^p over the cells that are there, in an order that depends on m alone; of N rows
// with their centers and weights, whose sums do not wait for one another.
template <class T, Power P, int N>
void dissimilarities(const T* const* row, const double* const* center, const double* const* weight,
    index m, double p, double* d) {
    using D = Vector<double, 4>;
    using One = Vector<double, 1>;
    D sums[N] = {};
    double tails[N] = {};
    index v = 0;
    for (; v + 4 <= m; v += 4)
        for (int r = 0; r < N; ++r) {
            const D y = load_wide<T, 4>(row[r] + v), t = y - load<D>(center[r] + v);
            const D there = y == y ? t : D{};
            sums[r] = gather<P>(sums[r], load<D>(weight[r] + v) * measure<P, 4>(there, p));
        }
    for (; v < m; ++v)
        for (int r = 0; r < N; ++r) {
            const double y = double(load<T>(row[r] + v)), t = y == y ? y - center[r][v] : 0;
            tails[r] = gather<P>(tails[r], weight[r][v] * measure<P, 1>(One{t}, p)[0]);
        }
    for (int r = 0; r < N; ++r) {
        double lanes[4];  // of a vector in memory they would keep all of its sums there
        store(lanes, sums[r]);
        if constexpr (P == Power::largest) {
            for (int j = 0; j < 4; ++j) tails[r] = gather<P>(tails[r], lanes[j]);
            d[r] = tails[r];
        } else {
            d[r] = ((lanes[0] + lanes[2]) + (lanes[1] + lanes[3])) + tails[r];
        }
    }
}
template <class T, Power P>
double dissimilarity(const T* row, const double* center, const double* weight, index m, double p) {
    double d;
    dissimilarities<T, P, 1>(&row, &center, &weight, m, p, &d);
    return d;
}

// One panel of WIDE rows, L features at a time; the last L overlap rather than read on.
template <class T, int L>
void pack_wide_tile(const Scratch<T>& block, index i0, index m, double* panel) {
    for (index v0 = 0; v0 < m; v0 += L) {
        const index v = v0 + L <= m ? v0 : m - L;
        for (int i = 0; i < WIDE; i += L) {
            Vector<double, L> x[L];
            for (int j = 0; j < L; ++j)
                x[j] = __builtin_convertvector(
                    load<Vector<T, L>>(block.row(i0 + i + j) + v), Vector<double, L>);
            transpose<double, L>(x);
            for (int j = 0; j < L; ++j) store(panel + (v + j) * WIDE + i, x[j]);
        }
    }
}

template <class T> void pack_wide(Scratch<T>& block, index m) {
    for (index i0 = 0; i0 < block.n_rows; i0 += WIDE) {
        double* panel = block.wide + i0 * m;
        const index n = block.n_rows - i0;
        if (n >= WIDE && WIDE >= 8 && m >= 8) {
            pack_wide_tile<T, WIDE >= 8 ? 8 : 2>(block, i0, m, panel);
        } else if (n >= WIDE && WIDE >= 4 && m >= 4) {
            pack_wide_tile<T, WIDE >= 4 ? 4 : 2>(block, i0, m, panel);
        } else if (n >= WIDE && m >= 2) {
            pack_wide_tile<T, 2>(block, i0, m, panel);
        } else {
            for (index i = 0; i < WIDE; ++i) {
                const T* row = block.row(i0 + (i < n ? i : 0));
                for (index v = 0; v < m; ++v) panel[v * WIDE + i] = double(load<T>(row + v));
            }
        }
    }
}

struct WideBest {
    Wide value, label;
};

template <Power P, int K>
void race_wide(const double* panel, const double* centers, const double* weights,
    index weight_stride, index m, double p, const double* extra, index extra_stride,
    const double* offsets, index first, WideBest& best) {
    Wide sum[K] = {};
    for (index v = 0; v < m; ++v) {
        const Wide y = load<Wide>(panel + v * WIDE);
#pragma GCC unroll 4
        for (int j = 0; j < K; ++j) {
            const Wide d = measure<P, WIDE>(y - centers[j * m + v], p);
            sum[j] = gather<P>(sum[j], d * weights[j * weight_stride + v]);
        }
    }
    for (int j = 0; j < K; ++j) {
        Wide d = sum[j];
        if (extra) d += load<Wide>(extra + j * extra_stride);
        d += offsets[j];
        best.label = d < best.value ? Wide{} + double(first + j) : best.label;
        best.value = d < best.value ? d : best.value;
    }
}

// A race of powers in single precision, for the rows of two panels at once. Differences are taken
// in double precision and all terms are positive, so a sum is off by a share of it, whatever the
// units: where the two best are farther apart than that, the label is that of double precision.
constexpr int SINGLE = 2 * WIDE;
using Single = Vector<float, SINGLE>;

struct SingleBest {
    Single value, second, label, total;
};

template <int L> inline Vector<float, 2 * L> join(Vector<double, L> a, Vector<double, L> b) {
    const auto low = __builtin_convertvector(a, Vector<float, L>),
               high = __builtin_convertvector(b, Vector<float, L>);
    if constexpr (L == 2) return __builtin_shufflevector(low, high, 0, 1, 2, 3);
    else if constexpr (L == 4) return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
    else
        return __builtin_shufflevector(
            low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

template <int K>
void race_single(const double* panel, const double* next, const double* centers,
    const double* weights, index weight_stride, index m, float p, index first, SingleBest& best) {
    Single sum[K] = {};
    for (index v = 0; v < m; ++v) {
        const Wide a = load<Wide>(panel + v * WIDE), b = load<Wide>(next + v * WIDE);
#pragma GCC unroll 4
        for (int j = 0; j < K; ++j) {
            const double c = centers[j * m + v];
            const Single t = join<WIDE>(a - c, b - c);
            sum[j] += raise_in_single<SINGLE>(t, p) * float(weights[j * weight_stride + v]);
        }
    }
    for (int j = 0; j < K; ++j) {
        const Single d = sum[j], loser = d < best.value ? best.value : d;
        best.second = loser < best.second ? loser : best.second;
        best.label = d < best.value ? Single{} + float(first + j) : best.label;
        best.value = d < best.value ? d : best.value;
        best.total += d;  // neither NaN nor infinity gets lost in it
    }
}

template <int K = WIDE_TILE>
inline void race_single(index size, const double* panel, const double* next, const double* centers,
    const double* weights, index weight_stride, index m, float p, index first, SingleBest& best) {
    if (size >= K)
        return race_single<K>(panel, next, centers, weights, weight_stride, m, p, first, best);
    if constexpr (K > 1)
        race_single<K - 1>(size, panel, next, centers, weights, weight_stride, m, p, first, best);
}

template <Power P, int K = WIDE_TILE>
inline void race_wide(index size, const double* panel, const double* centers, const double* weights,
    index weight_stride, index m, double p, const double* extra, index extra_stride,
    const double* offsets, index first, WideBest& best) {
    if (size >= K)
        return race_wide<P, K>(panel, centers, weights, weight_stride, m, p, extra, extra_stride,
            offsets, first, best);
    if constexpr (K > 1)
        race_wide<P, K - 1>(size, panel, centers, weights, weight_stride, m, p, extra, extra_stride,
            offsets, first, best);
}

}}}  // namespace fwk::FWK_ISA
