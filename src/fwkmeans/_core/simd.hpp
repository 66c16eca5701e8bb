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
// Clusters in a register tile. 32 registers hold twelve where multiply-adds read memory (AVX-512) and
// eight on aarch64, where they do not and more would spill; 16 registers hold five.
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
// L numbers in double precision. GCC makes several instructions of converting vectors, of which one is enough.
template <class T, int L>
inline Vector<double, L> load_wide(const T* from) {
    const auto x = load<Vector<T, L>>(from);
#ifdef __AVX512F__
    if constexpr (sizeof(T) == 4 && L == 8) return (Vector<double, L>)_mm512_maskz_cvtps_pd(0xff, (__m256)x);
#endif
#ifdef __AVX__
    if constexpr (sizeof(T) == 4 && L == 4) return (Vector<double, L>)_mm256_cvtps_pd((__m128)x);
#endif
    return __builtin_convertvector(x, Vector<double, L>);
}
// Numbers of K clusters, for L rows at a time by their labels. A register holds those of sixteen clusters.
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
            if (few_) return (Vector<float, L>)_mm512_maskz_permutexvar_ps(0xffff, (__m512i)labels, first_);
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

// Writes i + j behind the n places for each lane j that is marked, and returns how many places there are then. The
// places must have room for all lanes.
template <int L>
inline index append(std::int32_t* places, index n, index i, Vector<std::int32_t, L> marked) {
#ifdef __AVX512F__
    if constexpr (L == 16) {
        const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
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

// x = 2^e m with m near 1, and y 2^n for an integer n: bits, or instructions made for it.
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
template <>
struct Exponent<8> {
    using D = Vector<double, 8>;
    // Masks of ones vanish; without a mask GCC's header reads a variable it leaves uninitialized.
    static constexpr __mmask8 ALL = 0xff;
    static D split(D x, D& m) {
        m = _mm512_maskz_getmant_pd(ALL, x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_src);
        return _mm512_maskz_getexp_pd(ALL, x) - _mm512_maskz_getexp_pd(ALL, m);
    }
    static D round(D v) { return _mm512_maskz_roundscale_pd(ALL, v, 0); }
    static D scale(D y, D n) { return _mm512_maskz_scalef_pd(ALL, y, n); }
};
#endif

// x^p for finite x >= 0, lane by lane the same whatever the other lanes hold; about 2e-16 (3 + |p|)
// off. Zero, and what is too small to have a logarithm, gives zero for every p. Whole powers up to 4 are
// products.
template <int L>
inline Vector<double, L> raise(Vector<double, L> x, double p) {
    using D = Vector<double, L>;
    if (p == 1) return x;
    if (p == 2) return x * x;
    if (p == 3) return x * x * x;
    if (p == 4) return (x * x) * (x * x);
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

// The same in single precision, at most a share of RAISE_ERROR(p) off; less than the smallest normal
// number gives zero. For 1 <= p <= MOST_POWER; infinity and NaN do not give a finite number.
constexpr double MOST_POWER = 64;
constexpr double RAISE_ERROR(double p) { return 3e-5 * p + 2e-5; }

template <int L>
struct SingleExponent {
    using F = Vector<float, L>;
    using Bits = Vector<std::uint32_t, L>;
    static constexpr std::uint32_t ROOT_HALF = 0x3f3504f3u, FIELD = 0xff800000u;
    static constexpr float MAGIC = 12582912.0f;
    static F split(F x, F& m) {
        const Bits bits = (Bits)x, moved = bits - ROOT_HALF + (std::uint32_t(128) << 23);
        m = (F)(bits - (moved & FIELD) + (std::uint32_t(128) << 23));
        return (F)((moved >> 23) | 0x4b000000u) - (8388608.0f + 128.0f);
    }
    static F round(F v) { return (v + MAGIC) - MAGIC; }
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
    static F split(F x, F& m) {
        m = _mm512_maskz_getmant_ps(ALL, x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_src);
        return _mm512_maskz_getexp_ps(ALL, x) - _mm512_maskz_getexp_ps(ALL, m);
    }
    static F round(F v) { return _mm512_maskz_roundscale_ps(ALL, v, 0); }
    static F scale(F y, F n) { return _mm512_maskz_scalef_ps(ALL, y, n); }
};
#endif

template <int L>
inline Vector<float, L> raise_in_single(Vector<float, L> x, float p) {
    using F = Vector<float, L>;
    if (p == 3) return x * x * x;
    if (p == 4) return (x * x) * (x * x);
    F m;
    const F e = SingleExponent<L>::split(x, m), u = m - 1.0f;
    F log = F{} - 0.11083245277404785f;  // log2(1 + u) / u, 1e-7 off
    log = log * u + 0.22203467786312103f;
    log = log * u - 0.2559819519519806f;
    log = log * u + 0.28906023502349854f;
    log = log * u - 0.3597489893436432f;
    log = log * u + 0.48083725571632385f;
    log = log * u - 0.7213637232780457f;
    log = log * u + 1.4426957368850708f;
    log *= u;
    const F n = SingleExponent<L>::round(e * p + log * p), r = log * p + (e * p - n);
    F y = F{} + 0.001327644451521337f;  // 2^r, 8e-8 off
    y = y * r + 0.009675564244389534f;
    y = y * r + 0.05550713464617729f;
    y = y * r + 0.24022118747234344f;
    y = y * r + 0.6931469440460205f;
    y = y * r + 1.0000001192092896f;
    y = SingleExponent<L>::scale(y, n);
    return x < float(SMALLEST<float>) ? F{} : y;
}

}  // namespace
}  // namespace FWK_ISA
}  // namespace fwk
