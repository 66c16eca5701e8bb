// What weight rules and the loop do with each of K x M numbers. Compiled once per instruction set,
// and without fused multiply-adds: every set gives the same bits, those of NumPy where it does the
// same. exp and log are within one unit in the last place (tests/_core/test_elementwise.py), and
// take 2.4 ns a number where the C library's take 5.5 to 6.2, which counts where weights are as
// many as rows have cells (500 x 200 with 50 clusters in benchmarks/suite.py).
#include "common/simd.hpp"

namespace fwk { namespace FWK_ISA {
namespace {

constexpr int LANES = WIDTH<double>;
using D = V<double>;
using Bits = Vector<std::uint64_t, LANES>;

constexpr double LN2_HIGH = 0x1.62e42feep-1;  // products with exponents have no rounding
constexpr double LN2_LOW = 0x1.a39ef35793c76p-33;

inline D exp_of(D x) {
    x = x < -746.0 ? D{} - 746.0 : x;
    x = x > 710.0 ? D{} + 710.0 : x;
    constexpr double MAGIC = 6755399441055744.0;  // its last bits count ones
    const D counted = x * 1.4426950408889634 + MAGIC, n = counted - MAGIC;
    // x = n ln 2 + r, and what the rounding of r leaves
    const D high = x - n * LN2_HIGH, low = n * LN2_LOW;
    const D r = high - low, rest = (high - r) - low;
    // exp r = 1 + r + r^2 (1/2! + r/3! + ...), 2e-18 off
    D y = D{} + 1.0 / 6227020800.0;
    y = y * r + 1.0 / 479001600.0;
    y = y * r + 1.0 / 39916800.0;
    y = y * r + 1.0 / 3628800.0;
    y = y * r + 1.0 / 362880.0;
    y = y * r + 1.0 / 40320.0;
    y = y * r + 1.0 / 5040.0;
    y = y * r + 1.0 / 720.0;
    y = y * r + 1.0 / 120.0;
    y = y * r + 1.0 / 24.0;
    y = y * r + 1.0 / 6.0;
    y = y * r + 0.5;
    y = 1.0 + (r + (r * r * y + rest));
    // times 2^n in two steps: one rounding, also where the result is subnormal
    const Bits whole = (Bits)counted - (Bits)(D{} + MAGIC);
    const Bits half = (Bits)((Vector<std::int64_t, LANES>)whole >> 1);
    const Bits bias = Bits{} + 1023u;
    return y * (D)((half + bias) << 52) * (D)((whole - half + bias) << 52);
}

inline D log_of(D x) {
    const D given = x;
    const auto small = x < SMALLEST<double>;
    x = small ? x * 0x1p54 : x;
    // x = 2^e (1 + f) with 1 + f between the roots of 1/2 and of 2
    constexpr std::uint64_t ROOT_HALF = 0x3fe6a09e667f3bcdu, FIELD = 0xfff0000000000000u,
                            BIAS = std::uint64_t(1024) << 52;
    const Bits bits = (Bits)x, moved = bits - ROOT_HALF + BIAS;
    const D f = (D)(bits - (moved & FIELD) + BIAS) - 1.0;
    D e = (D)((moved >> 52) | 0x4330000000000000u) - (4503599627370496.0 + 1024.0);
    e = small ? e - 54.0 : e;
    // log(1 + f) = 2 s + 2/3 s^3 + 2/5 s^5 + ... for s = f / (2 + f), where 2 s = f - s f
    const D s = f / (2.0 + f), z = s * s;
    D y = D{} + 2.0 / 23.0;
    y = y * z + 2.0 / 21.0;
    y = y * z + 2.0 / 19.0;
    y = y * z + 2.0 / 17.0;
    y = y * z + 2.0 / 15.0;
    y = y * z + 2.0 / 13.0;
    y = y * z + 2.0 / 11.0;
    y = y * z + 2.0 / 9.0;
    y = y * z + 2.0 / 7.0;
    y = y * z + 2.0 / 5.0;
    y = y * z + 2.0 / 3.0;
    y = y * z;
    // s f = f^2/2 - s f^2/2: the first term has nearly all of it, and only one rounding
    const D square = 0.5 * f * f;
    y = e * LN2_HIGH - ((square - (s * (square + y) + e * LN2_LOW)) - f);
    y = given > LARGEST<double> ? given : y;
    y = given == 0.0 ? D{} - __builtin_inf() : y;
    return given >= 0.0 ? y : D{} + __builtin_nan("");  // NaN, too
}

// The first n < LANES numbers of a vector, and NaN behind them.
inline D load_some(const double* from, index n) {
#ifdef __AVX512F__
    if constexpr (LANES == 8)
        return (D)_mm512_mask_loadu_pd(
            (__m512d)(D{} + __builtin_nan("")), __mmask8((1 << n) - 1), from);
#endif
    D x = D{} + __builtin_nan("");
    for (index j = 0; j < n; ++j) x[j] = from[j];
    return x;
}
inline void store_some(double* to, D x, index n) {
#ifdef __AVX512F__
    if constexpr (LANES == 8) return _mm512_mask_storeu_pd(to, __mmask8((1 << n) - 1), (__m512d)x);
#endif
    for (index j = 0; j < n; ++j) to[j] = x[j];
}

template <class Function>
inline void apply(const double* x, double* out, index n, Function function) {
    index i = 0;
    for (; i + LANES <= n; i += LANES) store(out + i, function(load<D>(x + i)));
    if (i < n) store_some(out + i, function(load_some(x + i, n - i)), n - i);
}
void exp(const double* x, double* out, index n) { apply(x, out, n, exp_of); }
void log(const double* x, double* out, index n) { apply(x, out, n, log_of); }
Range range(const double* x, index n) {
    D low = D{} + __builtin_inf(), high = -low;
    const auto cover = [&](D y) {
        low = y < low ? y : low;
        high = y > high ? y : high;
    };
    index i = 0;
    for (; i + LANES <= n; i += LANES) cover(load<D>(x + i));
    if (i < n) cover(load_some(x + i, n - i));
    Range all = {low[0], high[0]};
    for (int j = 1; j < LANES; ++j) {
        all.low = low[j] < all.low ? low[j] : all.low;
        all.high = high[j] > all.high ? high[j] : all.high;
    }
    return all;
}
void divide(const double* x, double minus, double by, double* out, index n) {
    apply(x, out, n, [=](D y) { return (y - minus) / by; });
}
void exp_of_quotients(const double* x, double minus, double by, double* out, index n) {
    apply(x, out, n, [=](D y) { return exp_of((y - minus) / by); });
}
void times_log(const double* x, double* out, index n) {
    apply(x, out, n, [](D y) { return y * (y > 0.0 ? log_of(y) : D{}); });
}

// L features of a cluster from v on: new centers, the dispersions about them and what these are
// known to (Minkowski.dispersion); whether digits cancel in one, so that rows must be summed about
// the new center.
template <bool GAPS, int L>
inline bool move_features(const Cluster& old, index v, const double* magnitude, double* moved,
    double* dispersion, double* known) {
    using D = Vector<double, L>;
    const double rows = double(old.rows);
    const D center = load<D>(old.center + v), reference = load<D>(old.reference + v);
    const D sums = load<D>(old.sums + v), mass = GAPS ? load<D>(old.observed + v) : D{} + old.mass;
    const auto any = mass > 0.0;
    const D mean = reference + sums / (any ? mass : D{} + 1.0);
    // steps of a few ulps are undone
    const auto moves = any & ~(absolute<L>(mean - center) <= 1e-15 * load<D>(magnitude + v));
    const D next = moves ? mean : center;
    const D step = next - reference, cancels = step * step * mass;
    const D ulps = 2e-15 * absolute<L>(next) + 1.2e-16 * rows * absolute<L>(step);
    const D level = mass * (ulps * ulps), less = load<D>(old.squares + v) - cancels;
    const D residue = 2.0 * step * (sums - mass * step);
    const D about = absolute<L>(residue) > 1e-13 * absolute<L>(less) ? less - residue : less;
    const auto lost = (cancels > 1e5 * about) & (1e-14 * cancels > level);
    store(moved + v, next);
    store(dispersion + v, about);
    store(known + v, level);
    std::int64_t one = 0;
    for (int j = 0; j < L; ++j) one |= lost[j];
    return one != 0;
}
template <bool GAPS>
bool move_center(const Cluster& old, index m, const double* magnitude, double* moved,
    double* dispersion, double* known) {
    bool lost = false;
    index v = 0;
    for (; v + LANES <= m; v += LANES)
        lost |= move_features<GAPS, LANES>(old, v, magnitude, moved, dispersion, known);
    for (; v < m; ++v) lost |= move_features<GAPS, 1>(old, v, magnitude, moved, dispersion, known);
    return lost;
}
bool move(const Cluster& old, index m, const double* magnitude, double* moved, double* dispersion,
    double* known) {
    return old.observed ? move_center<true>(old, m, magnitude, moved, dispersion, known)
                        : move_center<false>(old, m, magnitude, moved, dispersion, known);
}

template <int L> inline bool clear_some(double* dispersion, const double* known) {
    using D = Vector<double, L>;
    const D given = load<D>(dispersion), settled = given <= load<D>(known) ? D{} : given;
    store(dispersion, settled);
    const auto odd = settled - settled != D{};
    std::int64_t one = 0;
    for (int j = 0; j < L; ++j) one |= odd[j];
    return one == 0;
}
bool clear_rounding(double* dispersion, const double* known, index n) {
    bool finite = true;
    index i = 0;
    for (; i + LANES <= n; i += LANES) finite &= clear_some<LANES>(dispersion + i, known + i);
    for (; i < n; ++i) finite &= clear_some<1>(dispersion + i, known + i);
    return finite;
}

// The largest and the lowest ratio of weights that were not zero, the square of the step in the new
// weights; whether a weight leaves zero.
Change change(
    const double* before, const double* now, const double* center, const double* moved, index m) {
    D most = {}, least = D{} + __builtin_inf(), sum = {}, left = {};
    const auto add = [&](D was, D is, D step) {
        const auto positive = was > 0.0;
        const D ratio = is / (positive ? was : D{} + 1.0);
        most = (positive & (ratio > most)) ? ratio : most;
        least = (positive & (ratio < least)) ? ratio : least;
        left = (~positive & (is > 0.0)) ? D{} + 1.0 : left;
        sum += is * step * step;
    };
    index v = 0;
    for (; v + LANES <= m; v += LANES)
        add(load<D>(before + v), load<D>(now + v), load<D>(moved + v) - load<D>(center + v));
    for (; v < m; ++v) {
        D was = {}, is = {}, step = {};
        was[0] = before[v], is[0] = now[v], step[0] = moved[v] - center[v];
        add(was, is, step);
    }
    Change all = {0, __builtin_inf(), 0, false};
    for (int j = 0; j < LANES; ++j) {
        all.most = most[j] > all.most ? most[j] : all.most;
        all.least = least[j] < all.least ? least[j] : all.least;
        all.step += sum[j];
        all.leaves_zero |= left[j] != 0;
    }
    return all;
}

}  // namespace

extern const Elementwise elementwise;
const Elementwise elementwise = {
    exp, log, range, divide, exp_of_quotients, times_log, move, clear_rounding, change};

}}  // namespace fwk::FWK_ISA
