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

}  // namespace
}  // namespace FWK_ISA
}  // namespace fwk
