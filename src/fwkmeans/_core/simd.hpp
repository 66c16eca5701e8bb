// Vectors of the instruction set in hand, and what the size of its registers decides.
#pragma once
#include "kernels.hpp"

namespace fwk {
namespace FWK_ISA {
namespace {

constexpr int BYTES = FWK_BYTES;
constexpr int ROW_VECTORS = 2;
constexpr int MAX_TILE = BYTES == 64 ? 12 : 5;  // clusters in a register tile: 32 or 16 registers
constexpr index BLOCK_BYTES = 128 * 1024;       // packed rows of a block: half an L2 cache
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

// x^p for x >= 0, lane by lane the same whatever the other lanes hold; about 2e-16 (2 + |p|) off.
// Zero, and what is too small to have a logarithm, gives zero for every p.
template <int L>
inline Vector<double, L> raise(Vector<double, L> x, double p) {
    using D = Vector<double, L>;
    using Bits = Vector<std::uint64_t, L>;
    constexpr std::uint64_t ROOT_HALF = 0x3fe6a09e667f3bcdu, EXPONENT = 0xfff0000000000000u,
                            BIAS = std::uint64_t(1024) << 52;
    // x = 2^e m with m in [sqrt(1/2), sqrt(2)); e comes out of the bits as an exact double
    const Bits bits = (Bits)x, moved = bits - ROOT_HALF + BIAS;
    const D e = (D)((moved >> 52) | 0x4330000000000000u) - (4503599627370496.0 + 1024.0);
    const D m = (D)(bits - (moved & EXPONENT) + BIAS);
    // log2 m = 2 / ln 2 * artanh f
    const D f = (m - 1.0) / (m + 1.0), z = f * f;
    D log = D{} + 0.1373995277037108;  // 2 / (21 ln 2), then 2 / (19 ln 2), ...
    log = log * z + 0.15186263588304877;
    log = log * z + 0.16972882833987804;
    log = log * z + 0.19235933878519512;
    log = log * z + 0.22195308321368667;
    log = log * z + 0.2623081892525388;
    log = log * z + 0.3205988979753252;
    log = log * z + 0.4121985831111324;
    log = log * z + 0.5770780163555853;
    log = log * z + 0.9617966939259756;
    log = log * z + 2.8853900817779268;
    log *= f;
    // x^p = 2^n 2^r with an integer n and r in [-1/2, 1/2]
    constexpr double MAGIC = 6755399441055744.0;
    const D v = e * p + log * p, rounded = v + MAGIC, n = rounded - MAGIC;
    const D r = log * p + (e * p - n);
    D y = D{} + 2.5678435993488202e-11;  // (ln 2)^k / k!
    y = y * r + 4.4455382718708116e-10;
    y = y * r + 7.0549116208011235e-09;
    y = y * r + 1.0178086009239699e-07;
    y = y * r + 1.3215486790144310e-06;
    y = y * r + 1.5252733804059840e-05;
    y = y * r + 1.5403530393381610e-04;
    y = y * r + 1.3333558146428444e-03;
    y = y * r + 9.6181291076284772e-03;
    y = y * r + 5.5504108664821580e-02;
    y = y * r + 2.4022650695910072e-01;
    y = y * r + 6.9314718055994531e-01;
    y = y * r + 1.0;
    y = (D)((Bits)y + ((Bits)rounded << 52));
    y = v < -1021.0 ? D{} : y;
    y = v > 1023.0 ? D{} + __builtin_inf() : y;
    return x < SMALLEST<double> ? D{} : y;
}

}  // namespace
}  // namespace FWK_ISA
}  // namespace fwk
