// Minkowski centers of clusters in memory: the values of each feature of each cluster are gathered
// once, and the root of the derivative of sum s |y - c|^p is found there and then. On small tables
// a fit of IMWKMeans is 5 to 11 times as fast for p < 2 as with a pass over all rows for every
// look, and 1.4 to 2.3 times for p = 3 (benchmarks/bench_roots.py).
#pragma once
#include "assign/minkowski.hpp"
#include "common/powers.hpp"

namespace fwk { namespace FWK_ISA { namespace {

// Values of one feature in one cluster, filled up with weight 0 to whole vectors.
struct Values {
    double* value;
    double* weight;
    index n;  // without the filling
    double low, high;

    struct Look {
        double slope, curvature;  // of sum s |y - c|^p over p, and over p (p - 1)
    };
    // For p < 2 the curvature is not asked for: it is infinite at every value.
    Look at(double c, double p) const {
        constexpr int L = WIDTH<double>;
        using D = Vector<double, L>;
        const D zero = {};
        D slope[2] = {}, curvature[2] = {};
        for (index i = 0; i < n; i += 2 * L)
            for (int r = 0; r < 2; ++r) {
                const D t = c - load<D>(value + i + r * L), s = load<D>(weight + i + r * L);
                if (p < 2) {
                    const D pull = s * raise<L>(absolute<L>(t), p - 1);
                    slope[r] += t > zero ? pull : -pull;
                } else {
                    const D bend = s * raise<L>(absolute<L>(t), p - 2);
                    slope[r] += t * bend;
                    curvature[r] += bend;
                }
            }
        Look sum = {0, 0};
        for (int r = 0; r < 2; ++r)
            for (int j = 0; j < L; ++j) sum.slope += slope[r][j], sum.curvature += curvature[r][j];
        return sum;
    }
    // The one of two points with the lower sum of powers.
    double best(double one, double other, double p) const {
        return powers(other, p) < powers(one, p) ? other : one;
    }
    double powers(double c, double p) const {
        constexpr int L = WIDTH<double>;
        using D = Vector<double, L>;
        D sum = {};
        for (index i = 0; i < n; i += L)
            sum += load<D>(weight + i) * raise<L>(absolute<L>(c - load<D>(value + i)), p);
        double total = 0;
        for (int j = 0; j < L; ++j) total += sum[j];
        return total;
    }
};

inline double size_of(double x) { return __builtin_fabs(x); }
// What two numbers near these values must differ by to be told apart.
inline double finest(const Values& y) {
    return 2.3e-16 * (size_of(y.low) > size_of(y.high) ? size_of(y.low) : size_of(y.high));
}

// p > 2: Newton's method within a bracket.
inline double newton_root(const Values& y, double x, double p) {
    double low = y.low, high = y.high, before = __builtin_inf(), earlier = __builtin_inf();
    const double near = 1e-9 * (y.high - y.low);
    for (int look = 0; look < 200; ++look) {
        const Values::Look f = y.at(x, p);
        if (f.slope == 0) return x;
        (f.slope < 0 ? low : high) = x;
        const double middle = low + (high - low) / 2;
        if (!(middle > low && middle < high)) return y.best(low, high, p);
        const double step = f.slope / ((p - 1) * f.curvature), next = x - step;
        const bool inside = next > low && next < high;     // false if NaN
        if (inside && size_of(step) <= near) return next;  // steps square their length
        const bool slow = !(size_of(step) <= 0.5 * earlier);
        earlier = before;
        before = inside && !slow ? size_of(step) : high - low;
        x = inside && !slow ? next : middle;
    }
    return x;
}

// 1 < p < 2: Brent's method; the slope rises vertically at every value.
inline double brent_root(const Values& y, double x, double p) {
    const double rest = finest(y) > 1e-15 * (y.high - y.low) ? finest(y) : 1e-15 * (y.high - y.low);
    double a = y.low, fa = y.at(a, p).slope, c = y.high, fc = y.at(c, p).slope;
    double b = x, fb = y.at(b, p).slope;
    if (fb > 0) {
        const double s = a, fs = fa;
        a = c, fa = fc, c = s, fc = fs;
    }
    // the root is between b and c; a is an older point
    double d = c - b, e = d;
    a = c, fa = fc;
    for (int look = 0; look < 200; ++look) {
        if ((fb > 0) == (fc > 0)) c = a, fc = fa, d = e = b - a;
        if (size_of(fc) < size_of(fb)) a = b, b = c, c = a, fa = fb, fb = fc, fc = fa;
        const double middle = (c - b) / 2;
        if (size_of(middle) <= rest || fb == 0) break;
        if (size_of(e) >= rest && size_of(fa) > size_of(fb)) {
            double u, v;
            const double s = fb / fa;
            if (a == c) {
                u = 2 * middle * s, v = 1 - s;
            } else {
                const double q = fa / fc, r = fb / fc;
                u = s * (2 * middle * q * (q - r) - (b - a) * (r - 1));
                v = (q - 1) * (r - 1) * (s - 1);
            }
            if (u > 0) v = -v;
            u = size_of(u);
            const double first = 3 * middle * v - size_of(rest * v), second = size_of(e * v);
            if (2 * u < (first < second ? first : second)) e = d, d = u / v;
            else d = e = middle;
        } else {
            d = e = middle;
        }
        a = b, fa = fb;
        b += size_of(d) > rest ? d : (middle > 0 ? rest : -rest);
        fb = y.at(b, p).slope;
    }
    if (fb != 0 && rest == finest(y))  // digits are few: use the last one
        for (double middle = b + (c - b) / 2; middle != b && middle != c;
            middle = b + (c - b) / 2) {
            const double f = y.at(middle, p).slope;
            ((f > 0) == (fb > 0) ? b : c) = middle;
        }
    // what is left is a digit wide: the best of both ends, or of the values beside them
    double best = fb == 0 ? b : y.best(b, c, p);
    const double width = size_of(c - b) + rest;
    double beside = best;
    for (index i = 0; i < y.n; ++i)
        if (size_of(y.value[i] - b) <= width && y.value[i] != beside) {
            beside = y.value[i];
            best = y.best(best, beside, p);
        }
    return best;
}

inline std::size_t roots_bytes(index n_rows) {
    const index padded = round_up(n_rows, 2 * WIDE) + 2 * WIDE;
    return std::size_t(padded * (8 + 8 + 4) + 192);
}

// Gathers feature v of the chosen rows; returns their mean.
template <class T>
double gather(const Rows<T>& table, const std::int32_t* chosen, index n, index v, Values& y) {
    y.n = 0, y.low = __builtin_inf(), y.high = -__builtin_inf();
    double mass = 0, sum = 0;
    for (index q = 0; q < n; ++q) {
        const index i = chosen[q];
        const double value =
            double(load<T>(table.data + i * table.row_stride + v * table.column_stride));
        if (!(value == value)) continue;  // missing
        const double s = table.sample_weight ? table.sample_weight[i] : 1;
        y.value[y.n] = value, y.weight[y.n++] = s;
        y.low = value < y.low ? value : y.low;
        y.high = value > y.high ? value : y.high;
        mass += s, sum += s * value;
    }
    for (index q = y.n; q < round_up(y.n, 2 * WIDE); ++q) y.value[q] = y.low, y.weight[q] = 0;
    return sum / mass;
}

// Clusters [first, last) of the R K ones of all starts; p is neither 1, 2 nor infinite.
template <class T>
void roots(const Rows<T>& table, const Part& part, const Points& points, index first, index last,
    double* out) {
    const index k = points.n_clusters, m = points.n_features, n_rows = table.n_rows;
    const index padded = round_up(n_rows, 2 * WIDE) + 2 * WIDE;
    auto* memory = static_cast<double*>(part.scratch);
    Values y = {memory, memory + padded, 0, 0, 0};
    auto* chosen = reinterpret_cast<std::int32_t*>(y.weight + padded);
    for (index at = first; at < last; ++at) {
        if (part.cancel()) return;
        const std::int32_t* labels = points.labels + at / k * points.stride;
        index n = 0;
        for (index i = 0; i < n_rows; ++i) {
            chosen[n] = std::int32_t(i);
            n += labels[i] == at % k && table.weighs(i);
        }
        for (index v = 0; v < m; ++v) {
            const double mean = gather(table, chosen, n, v, y);
            double& center = out[at * m + v];
            const double begin = points.points[at * m + v], p = points.power[at / k];
            center = y.n ? y.low : begin;
            if (!(y.low < y.high)) continue;
            double x = begin > y.low && begin < y.high ? begin : mean;
            if (!(x > y.low && x < y.high)) x = y.low + (y.high - y.low) / 2;
            center = p < 2 ? brent_root(y, x, p) : newton_root(y, x, p);
        }
    }
}

}}}  // namespace fwk::FWK_ISA
