// Vectors of the instruction set in hand, and what the size of its registers decides.
#pragma once
#include "common/tuning.hpp"
#ifdef __AVX__
#include <immintrin.h>
#endif
// Compilers say that passing vectors wider than the registers depends on their version and options.
// None is passed out of this unit: all functions that take one are in the anonymous namespace.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace fwk { namespace FWK_ISA { namespace {

constexpr int BYTES = FWK_BYTES;
constexpr int ROW_VECTORS = 2;
// Clusters in a register tile. 32 registers hold twelve where multiply-adds read memory (AVX-512)
// and eight on aarch64, where they do not and more would spill; 16 registers hold five.
#ifdef __aarch64__
constexpr int MAX_TILE = 8;
#else
constexpr int MAX_TILE = BYTES == 64 ? 12 : 5;
#endif

template <class T, int LANES> struct VectorOf {
    typedef T type __attribute__((vector_size(LANES * sizeof(T))));
};
template <class T, int LANES> using Vector = typename VectorOf<T, LANES>::type;

template <class T> constexpr int WIDTH = BYTES / int(sizeof(T));
template <class T> constexpr int TILE_ROWS = ROW_VECTORS * WIDTH<T>;
template <class T> using V = Vector<T, WIDTH<T>>;

template <class T>
constexpr double UNIT_ROUNDOFF = sizeof(T) == 8 ? 1.1102230246251565e-16 : 5.960464477539063e-08;
template <class T>
constexpr double SMALLEST = sizeof(T) == 8 ? 2.2250738585072014e-308 : 1.1754943508222875e-38;
template <class T>
constexpr double LARGEST = sizeof(T) == 8 ? 1.7976931348623157e308 : 3.4028234663852886e38;
template <class T> constexpr T INFINITE = T(__builtin_inf());

template <class To> inline To load(const void* from) {
    To to;
    __builtin_memcpy(&to, from, sizeof(To));
    return to;
}
template <class From> inline void store(void* to, From from) {
    __builtin_memcpy(to, &from, sizeof(From));
}
// L numbers in double precision. GCC makes several instructions of converting vectors, of which one
// is enough.
template <class T, int L> inline Vector<double, L> widened(Vector<T, L> x) {
#ifdef __AVX512F__
    if constexpr (sizeof(T) == 4 && L == 8)
        return (Vector<double, L>)_mm512_maskz_cvtps_pd(0xff, (__m256)x);
#endif
#ifdef __AVX__
    if constexpr (sizeof(T) == 4 && L == 4) return (Vector<double, L>)_mm256_cvtps_pd((__m128)x);
#endif
    return __builtin_convertvector(x, Vector<double, L>);
}
template <class T, int L> inline Vector<double, L> load_wide(const T* from) {
    return widened<T, L>(load<Vector<T, L>>(from));
}
// L numbers rounded to single precision, for registers of double precision.
template <int L> inline Vector<float, L> to_single(Vector<double, L> x) {
#ifdef __AVX512F__
    if constexpr (L == 8) return (Vector<float, L>)_mm512_maskz_cvtpd_ps(0xff, (__m512d)x);
#endif
#ifdef __AVX__
    if constexpr (L == 4) return (Vector<float, L>)_mm256_cvtpd_ps((__m256d)x);
#endif
    return __builtin_convertvector(x, Vector<float, L>);
}
// Written as a shuffle: halves that are stored would have to be waited for.
template <class T, int L> inline Vector<T, 2 * L> join(Vector<T, L> low, Vector<T, L> high) {
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
    template <int L> Vector<float, L> of(Vector<std::int32_t, L> labels) const {
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
template <class T, int L> inline Vector<T, L> square_root(Vector<T, L> x) {
    for (int j = 0; j < L; ++j) x[j] = T(__builtin_sqrt(x[j]));
    return x;
}
template <int L> inline Vector<double, L> absolute(Vector<double, L> x) {
    using Bits = Vector<std::uint64_t, L>;
    return (Vector<double, L>)((Bits)x & 0x7fffffffffffffffu);
}
template <int L> inline Vector<float, L> absolute(Vector<float, L> x) {
    using Bits = Vector<std::uint32_t, L>;
    return (Vector<float, L>)((Bits)x & 0x7fffffffu);
}

}}}  // namespace fwk::FWK_ISA
