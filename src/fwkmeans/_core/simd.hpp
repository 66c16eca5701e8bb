// Vectors of the instruction set in hand, and what the size of its registers decides.
#pragma once
#include "kernels.hpp"
#ifdef __AVX__
#include <immintrin.h>
#endif
// Compilers say that passing vectors wider than the registers depends on their version and options.
// None is passed out of this unit: all functions that take one are in the anonymous namespace.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace fwk {
namespace FWK_ISA {
namespace {

constexpr int BYTES = FWK_BYTES;
constexpr int ROW_VECTORS = 2;
// Clusters in a register tile. 32 registers hold twelve where multiply-adds read memory (AVX-512)
// and eight on aarch64, where they do not and more would spill; 16 registers hold five.
#ifdef __aarch64__
constexpr int MAX_TILE = 8;
#else
constexpr int MAX_TILE = BYTES == 64 ? 12 : 5;
#endif
constexpr index BLOCK_BYTES = 128 * 1024;  // packed rows of a block: half an L2 cache
constexpr index MAX_BLOCK = 1024;

template <class T, int LANES>
struct VectorOf {
    typedef T type __attribute__((vector_size(LANES * sizeof(T))));
};
template <class T, int LANES>
using Vector = typename VectorOf<T, LANES>::type;

template <class T>
constexpr int WIDTH = BYTES / int(sizeof(T));
template <class T>
constexpr int TILE_ROWS = ROW_VECTORS * WIDTH<T>;
template <class T>
using V = Vector<T, WIDTH<T>>;

template <class T>
constexpr double UNIT_ROUNDOFF = sizeof(T) == 8 ? 1.1102230246251565e-16 : 5.960464477539063e-08;
template <class T>
constexpr double SMALLEST = sizeof(T) == 8 ? 2.2250738585072014e-308 : 1.1754943508222875e-38;
template <class T>
constexpr double LARGEST = sizeof(T) == 8 ? 1.7976931348623157e308 : 3.4028234663852886e38;
template <class T>
constexpr T INFINITE = T(__builtin_inf());

template <class To>
inline To load(const void* from) {
    To to;
    __builtin_memcpy(&to, from, sizeof(To));
    return to;
}
template <class From>
inline void store(void* to, From from) {
    __builtin_memcpy(to, &from, sizeof(From));
}
// L numbers in double precision. GCC makes several instructions of converting vectors, of which one
// is enough.
template <class T, int L>
inline Vector<double, L> widened(Vector<T, L> x) {
#ifdef __AVX512F__
    if constexpr (sizeof(T) == 4 && L == 8)
        return (Vector<double, L>)_mm512_maskz_cvtps_pd(0xff, (__m256)x);
#endif
#ifdef __AVX__
    if constexpr (sizeof(T) == 4 && L == 4) return (Vector<double, L>)_mm256_cvtps_pd((__m128)x);
#endif
    return __builtin_convertvector(x, Vector<double, L>);
}
template <class T, int L>
inline Vector<double, L> load_wide(const T* from) {
    return widened<T, L>(load<Vector<T, L>>(from));
}
// L numbers rounded to single precision, for registers of double precision.
template <int L>
inline Vector<float, L> to_single(Vector<double, L> x) {
#ifdef __AVX512F__
    if constexpr (L == 8) return (Vector<float, L>)_mm512_maskz_cvtpd_ps(0xff, (__m512d)x);
#endif
#ifdef __AVX__
    if constexpr (L == 4) return (Vector<float, L>)_mm256_cvtpd_ps((__m256d)x);
#endif
    return __builtin_convertvector(x, Vector<float, L>);
}
// Written as a shuffle: halves that are stored would have to be waited for.
template <class T, int L>
inline Vector<T, 2 * L> join(Vector<T, L> low, Vector<T, L> high) {
    if constexpr (L == 2) return __builtin_shufflevector(low, high, 0, 1, 2, 3);
    else if constexpr (L == 4) return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
    else
        return __builtin_shufflevector(
            low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
// Numbers of K clusters, for L rows at a time by their labels. A register holds those of sixteen
// clusters.
class ByLabel {
   public:
    ByLabel(const float* numbers, index k) : numbers_(numbers) {
#ifdef __AVX512F__
        few_ = k <= 16;
        first_ = _mm512_maskz_loadu_ps(__mmask16(few_ ? (1u << k) - 1 : 0), numbers);
#else
        (void)k;
#endif
    }
    template <int L>
    Vector<float, L> of(Vector<std::int32_t, L> labels) const {
#ifdef __AVX512F__
        if constexpr (L == 16)
            if (few_)
                return (Vector<float, L>)_mm512_maskz_permutexvar_ps(
                    0xffff, (__m512i)labels, first_);
#endif
        Vector<float, L> found;
        for (int j = 0; j < L; ++j) found[j] = numbers_[labels[j]];
        return found;
    }

   private:
    const float* numbers_;
#ifdef __AVX512F__
    __m512 first_;
    bool few_;
#endif
};

// Writes i + j behind the n places for each lane j that is marked, and returns how many places
// there are then. The places must have room for all lanes.
template <int L>
inline index append(std::int32_t* places, index n, index i, Vector<std::int32_t, L> marked) {
#ifdef __AVX512F__
    if constexpr (L == 16) {
        const __m512i lanes =
            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        const __mmask16 mask = _mm512_movepi32_mask((__m512i)marked);
        const __m512i those = _mm512_add_epi32(lanes, _mm512_set1_epi32(int(i)));
        store(places + n, _mm512_maskz_compress_epi32(mask, those));
        return n + __builtin_popcount(mask);
    }
#endif
    for (int j = 0; j < L; ++j) {
        places[n] = std::int32_t(i + j);
        n += marked[j] != 0;
    }
    return n;
}
inline index round_up(index n, index multiple) { return (n + multiple - 1) / multiple * multiple; }
inline double square_root(double x) { return __builtin_sqrt(x); }
template <class T, int L>
inline Vector<T, L> square_root(Vector<T, L> x) {
    for (int j = 0; j < L; ++j) x[j] = T(__builtin_sqrt(x[j]));
    return x;
}
template <int L>
inline Vector<double, L> absolute(Vector<double, L> x) {
    using Bits = Vector<std::uint64_t, L>;
    return (Vector<double, L>)((Bits)x & 0x7fffffffffffffffu);
}
template <int L>
inline Vector<float, L> absolute(Vector<float, L> x) {
    using Bits = Vector<std::uint32_t, L>;
    return (Vector<float, L>)((Bits)x & 0x7fffffffu);
}

// x = 2^e m with m near 1, and y 2^n for an integer n.
template <int L>
struct Exponent {
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
template <int L>
inline Vector<double, L> raise(Vector<double, L> x, double p) {
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
template <int L>
struct SingleExponent {
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
template <>
struct SingleExponent<16> {
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

template <int L>
inline Vector<float, L> raise_in_single(Vector<float, L> x, float p) {
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

}  // namespace
}  // namespace FWK_ISA
}  // namespace fwk
