// x^p for vectors, in double and in single precision.
#pragma once
#include "common/simd.hpp"

namespace fwk { namespace FWK_ISA { namespace {

// x = 2^e m with m near 1, and y 2^n for an integer n.
template <int L> struct Exponent {
    using D = Vector<double, L>;
    using Bits = Vector<std::uint64_t, L>;
    static constexpr std::uint64_t ROOT_HALF = 0x3fe6a09e667f3bcdu, FIELD = 0xfff0000000000000u,
                                   BIAS = std::uint64_t(1024) << 52;
    static constexpr double MAGIC = 6755399441055744.0;  // its last bits count ones
    static D split(D x, D& m) {
        const Bits bits = (Bits)x, moved = bits - ROOT_HALF + BIAS;
        m = (D)(bits - (moved & FIELD) + BIAS);
        return (D)((moved >> 52) | 0x4330000000000000u) - (4503599627370496.0 + 1024.0);
    }
    static D round(D v) { return (v + MAGIC) - MAGIC; }
    static D scale(D y, D n) {
        const D bounded = n < -1021.0 ? D{} - 1022.0 : n;
        y = (D)((Bits)y + ((Bits)(bounded + MAGIC) << 52));
        y = n < -1021.0 ? D{} : y;
        return n > 1023.0 ? D{} + __builtin_inf() : y;
    }
};

#ifdef __AVX512F__
// Where one instruction reads eight of sixteen numbers, tables take the place of the division and
// of half of the terms. Masks of ones vanish; without a mask GCC's header reads a variable it
// leaves uninitialized.
struct Sixteen {
    double numbers[16];
    Vector<double, 8> operator[](Vector<std::uint64_t, 8> places) const {  // their last four bits
        return (Vector<double, 8>)_mm512_maskz_permutex2var_pd(
            0xff, load<__m512d>(numbers), (__m512i)places, load<__m512d>(numbers + 8));
    }
};
// 1 / m in the middle of each sixteenth of [1, 2), the logarithm of the m that belongs to it, and
// 2^(j/16).
constexpr Sixteen INVERSE = {
    {0.9696969696969697, 0.9142857142857143, 0.8648648648648649, 0.8205128205128205,
        0.7804878048780488, 0.7441860465116279, 0.7111111111111111, 0.6808510638297872,
        0.6530612244897959, 0.6274509803921569, 0.6037735849056604, 0.5818181818181818,
        0.5614035087719298, 0.5423728813559322, 0.5245901639344263, 0.5079365079365079}};
constexpr Sixteen LOGARITHM = {
    {0.044394119358453395, 0.1292830169449665, 0.2094533656289497, 0.28540221886224837,
        0.3575520046180836, 0.42626475470209796, 0.49185309632967467, 0.5545888516776374,
        0.6147098441152083, 0.6724253419714956, 0.7279204545631992, 0.7813597135246597,
        0.8328900141647417, 0.8826430493618412, 0.9307373375628862, 0.9772799234999165}};
constexpr Sixteen ROOT = {{1.0, 1.0442737824274138, 1.0905077326652577, 1.1387886347566916,
    1.189207115002721, 1.241857812073484, 1.2968395546510096, 1.3542555469368927,
    1.4142135623730951, 1.4768261459394993, 1.5422108254079407, 1.6104903319492543,
    1.681792830507429, 1.7562521603732995, 1.8340080864093424, 1.9152065613971474}};

inline Vector<double, 8> raise_by_tables(Vector<double, 8> x, double p) {
    using D = Vector<double, 8>;
    using Bits = Vector<std::uint64_t, 8>;
    constexpr __mmask8 ALL = 0xff;
    constexpr double MAGIC = 6755399441055744.0 / 16;  // its last bits count sixteenths
    const D e = _mm512_maskz_getexp_pd(ALL, x);
    const D m = _mm512_maskz_getmant_pd(ALL, x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
    const Bits sixteenth = (Bits)m >> 48;
    const D u = m * INVERSE[sixteenth] - 1.0;  // within 1/33 of zero
    D log = D{} - 0.18178325075594726;         // log2(1 + u) / u, off by 4e-17 / u
    log = log * u + 0.2064343369177656;
    log = log * u - 0.24044699334073294;
    log = log * u + 0.28853877358760494;
    log = log * u - 0.36067376125831685;
    log = log * u + 0.48089834702463646;
    log = log * u - 0.7213475204443449;
    log = log * u + 1.4426950408889587;
    log = log * u + LOGARITHM[sixteenth];
    // x^p = 2^n 2^r with n in sixteenths and r in [-1/32, 1/32]
    const D shifted = (e * p + log * p) + MAGIC, n = shifted - MAGIC, r = log * p + (e * p - n);
    D y = D{} + 0.00015397893730551004;  // (2^r - 1) / r, off by 2e-17 / r
    y = y * r + 0.0013333854731172323;
    y = y * r + 0.00961812916409599;
    y = y * r + 0.05550410864765176;
    y = y * r + 0.24022650695909648;
    y = y * r + 0.6931471805599481;
    const D root = ROOT[(Bits)shifted];
    y = root + root * (y * r);
    const __mmask8 there = _mm512_cmp_pd_mask(x, D{} + SMALLEST<double>, _CMP_NLT_UQ);
    return _mm512_maskz_scalef_pd(there, y, n);  // by what n is rounded down to
}
#endif

// x^p for finite x >= 0, lane by lane the same whatever the other lanes hold; about 2e-16 (3 + |p|)
// off, and 1e-16 |p log2 x| more where multiply-adds round twice. Zero, and what is too small to
// have a logarithm, gives zero for every p. Whole powers up to 4 are products.
template <int L> inline Vector<double, L> raise(Vector<double, L> x, double p) {
    using D = Vector<double, L>;
    if (p == 1) return x;
    if (p == 2) return x * x;
    if (p == 3) return x * x * x;
    if (p == 4) return (x * x) * (x * x);
#ifdef __AVX512F__
    if constexpr (L == 8) return raise_by_tables(x, p);
#endif
    D m;
    const D e = Exponent<L>::split(x, m);
    // log2 m = f times a polynomial of f^2 for 2 / ln 2 * artanh(f) / f, 2e-17 off
    const D f = (m - 1.0) / (m + 1.0), z = f * f;
    D log = D{} + 0.22198752919751308;
    log = log * z + 0.2199728043635776;
    log = log * z + 0.2623761241235996;
    log = log * z + 0.32059761439629403;
    log = log * z + 0.4121985962411068;
    log = log * z + 0.5770780162897531;
    log = log * z + 0.9617966939261012;
    log = log * z + 2.8853900817779268;
    log *= f;
    // x^p = 2^n 2^r with an integer n and r in [-1/2, 1/2]; a polynomial for 2^r, 3e-16 off
    const D n = Exponent<L>::round(e * p + log * p), r = log * p + (e * p - n);
    D y = D{} + 7.072585949269223e-09;
    y = y * r + 1.0208690299958306e-07;
    y = y * r + 1.321544258792169e-06;
    y = y * r + 1.5252657260200837e-05;
    y = y * r + 0.0001540353044173605;
    y = y * r + 0.0013333558230164974;
    y = y * r + 0.009618129107606888;
    y = y * r + 0.05550410866444772;
    y = y * r + 0.24022650695910097;
    y = y * r + 0.69314718055995;
    y = y * r + 1.0;
    y = Exponent<L>::scale(y, n);
    return x < SMALLEST<double> ? D{} : y;
}

// |x|^p in single precision, at most a share of RAISE_ERROR(p) off; less than the smallest normal
// number may give zero. For p > 0 up to MOST_POWER; infinity and NaN do not give a finite number if
// p >= 1.
constexpr double MOST_POWER = 64;
constexpr double RAISE_ERROR(double p) { return 3e-5 * p + 2e-5; }

// |x| = 2^e m with m in [1, 2); v = n + r with n rounded down; and y 2^n.
template <int L> struct SingleExponent {
    using F = Vector<float, L>;
    using Bits = Vector<std::uint32_t, L>;
    static constexpr std::uint32_t ONE = 0x3f800000u, SIZE = 0x7fffffffu, FRACTION = 0x007fffffu;
    static constexpr float MAGIC = 12582912.0f;
    static F split(F x, F& m) {
        const Bits bits = (Bits)x & SIZE;
        m = (F)((bits & FRACTION) | ONE);
        const F e = (F)((bits >> 23) | 0x4b000000u) - (8388608.0f + 127.0f);
        return e < -126.0f ? F{} - 10000.0f : e;  // what is too small vanishes
    }
    static F whole(F v, F& r) {
        const F n = ((v - 0.5f) + MAGIC) - MAGIC;
        r = v - n;
        return n;
    }
    static F scale(F y, F n) {
        F bounded = n < -125.0f ? F{} - 126.0f : n;
        bounded = bounded > 127.0f ? F{} + 127.0f : bounded;
        y = (F)((Bits)y + ((Bits)(bounded + MAGIC) << 23));
        y = n < -125.0f ? F{} : y;
        return n > 126.0f ? F{} + __builtin_inff() : y;
    }
};
#ifdef __AVX512F__
template <> struct SingleExponent<16> {
    using F = Vector<float, 16>;
    static constexpr __mmask16 ALL = 0xffff;
    static constexpr int DOWN = _MM_FROUND_TO_NEG_INF;
    static F split(F x, F& m) {  // zero has the exponent -infinity
        m = _mm512_maskz_getmant_ps(ALL, x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero);
        return _mm512_maskz_getexp_ps(ALL, x);
    }
    static F whole(F v, F& r) {
        r = _mm512_maskz_reduce_ps(ALL, v, DOWN);
        return v;  // is rounded down when it scales
    }
    static F scale(F y, F v) { return _mm512_maskz_scalef_ps(ALL, y, v); }
};
#endif

template <int L> inline Vector<float, L> raise_in_single(Vector<float, L> x, float p) {
    using F = Vector<float, L>;
    using Bits = Vector<std::uint32_t, L>;
    if (p == 3) return (F)((Bits)(x * x * x) & 0x7fffffffu);
    if (p == 4) return (x * x) * (x * x);
    F m, r;
    const F e = SingleExponent<L>::split(x, m);
    F v = F{} + 0.04487312f * p;  // p log2(m), p 1.3e-5 off
    v = v * m - 0.41656014f * p;
    v = v * m + 1.6311385f * p;
    v = v * m - 3.5507784f * p;
    v = v * m + 5.0917006f * p;
    v = v * m + (e * p - 2.8003612f * p);
    const F n = SingleExponent<L>::whole(v, r);
    F y = F{} + 0.013534167f;  // 2^r, 3e-6 off
    y = y * r + 0.052011464f;
    y = y * r + 0.24144275f;
    y = y * r + 0.6930038f;
    y = y * r + 1.0000026f;
    return SingleExponent<L>::scale(y, n);
}

}}}  // namespace fwk::FWK_ISA
