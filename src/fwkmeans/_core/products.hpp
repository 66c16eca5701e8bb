// Races that come before float. One is in whole numbers: see whole.hpp. The other, in here, is by matrix products in the
// tile registers of AMX, where the processor has them: ten times the
// multiply-adds of float a second. Numbers are sums of two bfloat16 there, x = h + l + r. Rows race by the
// products h h' of one part first. What these leave out is bounded, and rows that this bound does not decide
// race again by h h' + h l' + l h', with a bound some eighty times as narrow, and then in float: labels are
// those of the plain pass.
#pragma once
#include "whole.hpp"

namespace fwk {
namespace FWK_ISA {
namespace {

// Whether these kernels may race before they race in float, and whether in tile registers.
#ifdef __AVX512F__
constexpr bool HAS_PRODUCTS = true;
#else
constexpr bool HAS_PRODUCTS = false;
#endif
#if defined(FWK_AMX) && defined(__AVX512F__)
constexpr bool HAS_TILES = true;
#else
constexpr bool HAS_TILES = false;
#endif

constexpr index TILE = 16;               // rows, or clusters, of a tile register
constexpr index TILE_BYTES = TILE * 64;  // it has 32 bfloat16 or 16 float for each
constexpr index GROUP_TILES = 4;         // tiles of rows that are split at a time
constexpr double LONGEST = 1e30;         // squared length of rows whose sums cannot overflow
constexpr double PART = 0x1p-8;          // the share of a number that one part may be off

// A step of a product takes 32 columns: as many features, or 16 and their squares.
inline index features_a_step(const Starts& starts) { return starts.expanded ? 32 : 16; }
inline index n_steps(const Starts& starts) {
    return (starts.n_features + features_a_step(starts) - 1) / features_a_step(starts);
}

// What `prepare_products` writes: bounds, as for other races, then floats and tiles of factors.
struct Products {
    Whole whole;         // instead of one part
    Prepared bounds[2];  // of one part, and of both
    bool one, both;      // which of the two races is worthwhile and possible
    bool tiles;          // whether tile registers are used
    double limit;        // rows of a larger squared length are left alone
    index steps, n_tiles;
    const double* wide_shift;      // (features of all steps), zeros behind the last
    const float *shift, *weights;  // the same
    const float* constants[2];     // (clusters of all tiles), infinite behind the last
    const char* factors[2];        // (tiles, steps) of one part; (tiles, steps, high and low parts); TILE_BYTES each
};

// The memory for the rows of a group, split; steps of own weights are the most.
inline index split_bytes(index n_features) {
    return HAS_TILES ? GROUP_TILES * ((n_features + 15) / 16) * 2 * TILE_BYTES : 0;
}

inline std::size_t products_bytes(const Starts& starts, bool whole) {
    if (!HAS_PRODUCTS) return 0;
    if (whole) return std::size_t(round_up(sizeof(Products), 64)) + whole_bytes(starts);
    if (!HAS_TILES) return 0;
    const index tiles = (starts.n_clusters + TILE - 1) / TILE, steps = n_steps(starts);
    return std::size_t(round_up(sizeof(Products), 64) + steps * 32 * 16 + tiles * 128 +
                       tiles * steps * 3 * TILE_BYTES + 64);
}

#if defined(FWK_AMX) && defined(__AVX512F__)
using Bits = Vector<std::uint32_t, TILE>;

// Numbers as sums of two of eight binary digits, each the nearest: high parts and low parts. Those of a are the
// upper halves of words, those of b the lower ones.
struct Split {
    Bits high, low;
};
inline Split split(Floats a, Floats b) {
    const Bits a_round = (Bits)a + 0x8000u, b_round = (Bits)b + 0x8000u;
    const Bits a_high = a_round & 0xffff0000u;
    const Floats a_low = a - (Floats)a_high, b_low = b - (Floats)(b_round & 0xffff0000u);
    const Bits a_last = (Bits)a_low + 0x8000u, b_last = (Bits)b_low + 0x8000u;
    return {a_high | b_round >> 16, (a_last & 0xffff0000u) | b_last >> 16};
}
inline Floats high_part(Floats a) { return (Floats)(((Bits)a + 0x8000u) & 0xffff0000u); }
inline Bits high_parts(Floats a, Floats b) { return (Bits)high_part(a) | ((Bits)b + 0x8000u) >> 16; }

// What the factors of a cluster sum up to, lane by lane.
struct ClusterSums {
    Wide constant = {}, squares = {}, distance = {}, heaviest = {};
    Wide parts = {}, lost = {};  // squares of the high parts of the slopes, and of the rest, by their weight
};

// The factors -2 w c of 16 features of a cluster, of which n are there, and their weights.
struct Factors {
    Floats slopes, weights;
};
inline Factors factors_of(const double* center, const double* weight, const double* shift, index n, bool shared,
                          ClusterSums& sums) {
    Wide factor[2], heavy[2], exact[2], by[2];
    for (int half = 0; half < 2; ++half) {
        const auto there = __mmask8(first_lanes(n) >> 8 * half);
        const index at = 8 * half;
        const Wide w = (Wide)_mm512_maskz_loadu_pd(there, weight + at);
        const Wide c = (Wide)_mm512_maskz_loadu_pd(there, center + at);
        const Wide moved = c - (Wide)_mm512_maskz_loadu_pd(there, shift + at), slope = -2.0 * w * moved;
        sums.constant += w * moved * moved;
        sums.squares += slope * slope;
        sums.distance += moved * moved;
        sums.heaviest = w > sums.heaviest ? w : sums.heaviest;
        factor[half] = absolute<WIDE>(slope) < SMALLEST<float> ? Wide{} : slope;
        heavy[half] = w < SMALLEST<float> ? Wide{} : w;
        exact[half] = slope;
        by[half] = shared ? Wide{} + 1.0 : w > 1e-300 ? 1.0 / w : Wide{};  // smaller ones matter less than what is flushed
    }
    const Factors factors = {joined(factor[0], factor[1]), joined(heavy[0], heavy[1])};
    const auto parts = __builtin_convertvector(high_part(factors.slopes), Vector<double, TILE>);
    for (int half = 0; half < 2; ++half) {
        Wide part;
        __builtin_memcpy(&part, reinterpret_cast<const char*>(&parts) + 64 * half, 64);
        sums.parts += part * part * by[half];
        sums.lost += (part - exact[half]) * (part - exact[half]) * by[half];
    }
    return factors;
}

// Lays out the words of 16 clusters for a tile register: an instruction takes columns in pairs, which are the
// halves of a word here.
inline void store_tile(Bits (&clusters)[TILE], char* tile) {
    Floats words[TILE];
    for (index j = 0; j < TILE; ++j) words[j] = (Floats)clusters[j];
    transpose<float, TILE>(words);
    for (index i = 0; i < TILE; ++i) store(tile + i * 64, words[i]);
}

// How far a sum may be off. Half a unit in the last of eight digits is at most 2^-8 of a number, so |l|
// <= 2^-8 |x| and |r| <= 2^-16 |x|, and a product of two numbers loses l l', r x' and x r': 3.02 x 2^-16
// of it, and 2^-21 for what is rounded to float before (the row less the shift, its square, the factor).
// Products of bfloat16 are exact in float. An instruction adds 16 to each of two sums, these, and that
// to the result (Intel's manual, TDPBF16PS): a product goes through 17 additions and those of all
// instructions, three a step or one, after it. So a sum of products p is at most e sum |p| off with e below.
// What underflows is flushed to zero: a part, or a partial sum, below the smallest normal number.
//
// Shared weights: sum |p| <= |y| |g| with g = -2 w c. Own weights: the products are w y^2 and -2 w c y,
// and sum |p| <= A + 2 sqrt(A C) with A = sum w y^2 and C = sum w c^2. Since sqrt(A) <= sqrt(z) + sqrt(C)
// for z, the distance without its offset or more, a dissimilarity is at most f(z) = e (z + 4 sqrt(z C) + 3 C)
// off, and f grows with z. So if the second lowest sum, s, exceeds the lowest by more than 2 f(s), all
// others are at least s - f(s), and the lowest is at most f(s) above its sum: it is certain, and both
// are bounded. (z is what a sum exceeds the lowest offset by.)
//
// One part of each number: what these sums are off is some eighty times as much, so that only what rows and
// clusters have of their own bounds it well. h = 2^-8 is the most that rounding takes from a number, t the 2^-21 and the
// additions. With g~ the high part of g = -2 w c, Cauchy's inequality in the weights says |sum g~ y~ - sum g y| <=
// sqrt(A) G with G = (h + t) sqrt(sum g~^2 / w) + sqrt(sum (g~ - g)^2 / w), and sqrt(A) G <= h A + G^2 / 4h. Weights are
// taken times 1 - h, less what the rounding of w and y^2 can add, and G^2 / 4h is taken off the constant:
// the sum S is then a lower bound of the dissimilarity d. It is at most a A + b below it with a = 6.1 h and b = G^2 / 2h,
// and A <= (sqrt(d) + sqrt(C))^2. So if the second lowest sum, s, exceeds the lowest by more than a (sqrt(s) +
// sqrt(C))^2 + b, the lowest is certain: if its d were s or more, then, since d - a (sqrt(d) + sqrt(C))^2 grows beyond d =
// 1.1 a^2 C, so were its sum s less this. (Below that it is not under -a C / (1 - a), hence 1.1 a C in the code.) Where
// that does not decide, the distance to the favorite alone may still be below s. Shared weights: sums are at most |y| G
// off, without weights in G.
//
// `memory` is zero, or what an earlier call for as many clusters and features wrote.
inline void prepare_parts(const Starts& starts, bool one, bool both, void* memory) {
    const index k_total = starts.n_clusters, m = starts.n_features, steps = n_steps(starts);
    const index each = features_a_step(starts), tiles = (k_total + TILE - 1) / TILE;
    Products& out = *static_cast<Products*>(memory);
    char* cursor = static_cast<char*>(memory) + round_up(sizeof(Products), 64);
    cursor += (64 - reinterpret_cast<std::uintptr_t>(cursor) % 64) % 64;
    double* wide_shift = reinterpret_cast<double*>(cursor);
    float* shift = reinterpret_cast<float*>(wide_shift + steps * 32);
    float* weights = shift + steps * 32;
    float *constants_of_one = weights + steps * 32, *constants = constants_of_one + tiles * TILE;
    char* factors_of_one = reinterpret_cast<char*>(constants + tiles * TILE);
    char* factors = factors_of_one + tiles * steps * TILE_BYTES;
    const double u = UNIT_ROUNDOFF<float>, t = 0x1p-20 + 1.1 * (17 + double(steps)) * u;
    const float lighter = float((1 - PART) / ((1 + PART) * (1 + PART) * (1 + 2 * t)));
    double largest_g = 0;
    double longest = 0, largest_constant = 0, largest_offset = 0, heaviest = 0, farthest = 0;
    double lowest_offset = __builtin_inf();
    for (index v = 0; v < m; ++v) {
        wide_shift[v] = shift[v] = float(starts.shift[v]);
        weights[v] = float(starts.weights[v]);
    }
    for (index tile = 0; tile < tiles; ++tile) {
        const index n = k_total - tile * TILE < TILE ? k_total - tile * TILE : TILE;
        ClusterSums sums[TILE];
        for (index step = 0; step < steps; ++step) {
            Bits high[TILE] = {}, low[TILE] = {}, only[TILE] = {};
            for (index j = 0; j < n; ++j) {
                const index k = tile * TILE + j, v = step * each;
                const double *c = starts.centers + k * m + v, *w = starts.weights + (starts.shared ? 0 : k * m) + v;
                const Factors first = factors_of(c, w, wide_shift + v, m - v, starts.expanded, sums[j]);
                Floats second = first.weights, less = first.weights * lighter;
                less = less < float(SMALLEST<float>) ? Floats{} : less;
                if (starts.expanded)
                    less = second = factors_of(c + TILE, w + TILE, wide_shift + v + TILE, m - v - TILE, true, sums[j]).slopes;
                const Split parts = split(first.slopes, second);
                high[j] = parts.high, low[j] = parts.low;
                only[j] = high_parts(first.slopes, less);
            }
            const index at = (tile * steps + step) * TILE_BYTES;
            if (one) store_tile(only, factors_of_one + at);
            if (both) store_tile(high, factors + 2 * at);
            if (both) store_tile(low, factors + 2 * at + TILE_BYTES);
        }
        for (index j = tile * TILE; j < (tile + 1) * TILE; ++j) constants_of_one[j] = constants[j] = __builtin_inff();
        for (index j = 0; j < n; ++j) {
            double constant = 0, squares = 0, distance = 0, parts = 0, lost = 0;
            for (int l = 0; l < WIDE; ++l) {
                constant += sums[j].constant[l];
                squares += sums[j].squares[l];
                distance += sums[j].distance[l];
                parts += sums[j].parts[l];
                lost += sums[j].lost[l];
                heaviest = sums[j].heaviest[l] > heaviest ? sums[j].heaviest[l] : heaviest;
            }
            const double offset = starts.offsets[tile * TILE + j];
            constants[tile * TILE + j] = float(constant + offset);
            const double g = 1.001 * ((PART + t) * square_root(parts) + square_root(lost));
            largest_g = g > largest_g ? g : largest_g;
            constants_of_one[tile * TILE + j] = float(constant + offset - (starts.expanded ? 0 : g * g / (4 * PART)));
            longest = squares > longest ? squares : longest;
            farthest = distance > farthest ? distance : farthest;
            largest_constant = constant > largest_constant ? constant : largest_constant;
            largest_offset = __builtin_fabs(offset) > largest_offset ? __builtin_fabs(offset) : largest_offset;
            lowest_offset = offset < lowest_offset ? offset : lowest_offset;
        }
    }
    longest = square_root(longest);
    const double products = double(3 * steps), e = 3.02 * 0x1p-16 + 0x1p-21 + 1.02 * (17 + products) * u;
    // what is flushed: a partial sum, a part of a row times its factor, a part of a factor times the row
    const double flushed = 4 * double(32 * steps) * SMALLEST<float>;
    out.limit = 0x1p40 * farthest < LONGEST ? 0x1p40 * farthest : LONGEST;
    const double taken_off = starts.expanded ? 0 : largest_g * largest_g / (4 * PART);
    const double largest = largest_constant + largest_offset + taken_off;
    const double added = 1.02 * (products + 5) * u * largest + flushed * (2 + longest + heaviest);
    const double own = added + flushed * (square_root(out.limit) + out.limit);
    const double a = 1.001 * (1 - double(lighter) * (1 - PART) * (1 - PART) * (1 - 2 * t) + PART);
    if (starts.expanded) {
        out.bounds[0] = {2.02 * added, 2.02 * (largest_g + flushed), 0, 0};
        out.bounds[1] = {2.02 * added, 2.02 * (e * longest + flushed), 0, 0};
    } else {
        out.bounds[0] = {1.1 * a * largest_constant + 1.001 * 2 * taken_off + 4.04 * own,
                         2 * a * square_root(largest_constant), a, lowest_offset};
        out.bounds[1] = {2.02 * (3 * e * largest_constant + own), 2.02 * 4 * e * square_root(largest_constant),
                         2.02 * e, lowest_offset};
        for (index j = 0; j < k_total; ++j) constants_of_one[j] -= float(2 * own);
    }
    const double largest_sum = largest + square_root(LONGEST) * longest + (starts.expanded ? 0 : LONGEST * heaviest);
    const bool fits = largest_sum <= LARGEST<float> / 16;
    if (!fits) out.bounds[1].absolute = __builtin_inf();
    out.one = one && fits;
    out.both = both;
    out.tiles = true;
    out.steps = steps;
    out.n_tiles = tiles;
    out.wide_shift = wide_shift;
    out.shift = shift;
    out.weights = weights;
    out.constants[0] = constants_of_one;
    out.constants[1] = constants;
    out.factors[0] = factors_of_one;
    out.factors[1] = factors;
}

// The tile registers of this thread, all of 16 rows of 64 bytes, while it lives.
class TileRegisters {
   public:
    explicit TileRegisters(bool wanted) : used_(wanted) {
        if (!used_) return;
        struct alignas(64) {
            std::uint8_t palette, start, unused[14];
            std::uint16_t bytes[16];
            std::uint8_t rows[16];
        } shape = {};
        shape.palette = 1;
        for (int i = 0; i < 8; ++i) shape.bytes[i] = 64, shape.rows[i] = TILE;
        __asm__ volatile("ldtilecfg %0" : : "m"(shape));
    }
    ~TileRegisters() {
        if (used_) __asm__ volatile("tilerelease");
    }
    TileRegisters(const TileRegisters&) = delete;
    TileRegisters& operator=(const TileRegisters&) = delete;

   private:
    bool used_;
};

#define FWK_TILE_LOAD(tile, from, stride) \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile : : "r"(from), "r"(index(stride)) : "memory")
#define FWK_TILE_STORE(tile, to) \
    __asm__ volatile("tilestored %%tmm" #tile ", (%0,%1,1)" : : "r"(to), "r"(index(64)) : "memory")
#define FWK_TILE_MULTIPLY(sum, rows, factors) \
    __asm__ volatile("tdpbf16ps %%tmm" #factors ", %%tmm" #rows ", %%tmm" #sum : :)

// Memory that is asked for while tiles multiply, some of it each step.
struct Ahead {
    const char* from;
    index bytes;  // a step
};

// Sums of R tiles of rows and C tiles of clusters, (R, C) tiles, by one part of each number or both.
template <int R, int C, int PARTS>
inline void multiply(const char* rows, const char* factors, index steps, const float* constants, float* sums,
                     Ahead& ahead) {
    static_assert(R * C <= 4 && (C == 1 || R <= 2));
    constexpr index LOW = TILE_BYTES, size = TILE * TILE;
    const index apart = PARTS * TILE_BYTES * steps;  // tiles of rows, or of clusters
    FWK_TILE_LOAD(0, constants, 0);
    if (C == 2) FWK_TILE_LOAD(1, constants + TILE, 0);
    if (C == 1 && R > 1) FWK_TILE_LOAD(1, constants, 0);
    if (C == 2 && R == 2) FWK_TILE_LOAD(2, constants, 0);
    if (C == 2 && R == 2) FWK_TILE_LOAD(3, constants + TILE, 0);
    if (C == 1 && R == 4) FWK_TILE_LOAD(2, constants, 0);
    if (C == 1 && R == 4) FWK_TILE_LOAD(3, constants, 0);
    for (index step = 0; step < steps; ++step, rows += PARTS * TILE_BYTES, factors += PARTS * TILE_BYTES) {
        if constexpr (C == 2) {
            FWK_TILE_LOAD(4, rows, 64);
            if (R == 2) FWK_TILE_LOAD(5, rows + apart, 64);
            if constexpr (PARTS == 2) {
                FWK_TILE_LOAD(6, factors + LOW, 64);
                FWK_TILE_LOAD(7, factors + apart + LOW, 64);
                FWK_TILE_MULTIPLY(0, 4, 6);
                FWK_TILE_MULTIPLY(1, 4, 7);
                if (R == 2) FWK_TILE_MULTIPLY(2, 5, 6);
                if (R == 2) FWK_TILE_MULTIPLY(3, 5, 7);
            }
            FWK_TILE_LOAD(6, factors, 64);
            FWK_TILE_LOAD(7, factors + apart, 64);
            FWK_TILE_MULTIPLY(0, 4, 6);
            FWK_TILE_MULTIPLY(1, 4, 7);
            if (R == 2) FWK_TILE_MULTIPLY(2, 5, 6);
            if (R == 2) FWK_TILE_MULTIPLY(3, 5, 7);
            if constexpr (PARTS == 2) {
                FWK_TILE_LOAD(4, rows + LOW, 64);
                FWK_TILE_MULTIPLY(0, 4, 6);
                FWK_TILE_MULTIPLY(1, 4, 7);
                if (R == 2) FWK_TILE_LOAD(5, rows + apart + LOW, 64);
                if (R == 2) FWK_TILE_MULTIPLY(2, 5, 6);
                if (R == 2) FWK_TILE_MULTIPLY(3, 5, 7);
            }
        } else if constexpr (PARTS == 1) {
            FWK_TILE_LOAD(4, factors, 64);
            FWK_TILE_LOAD(5, rows, 64);
            FWK_TILE_MULTIPLY(0, 5, 4);
            if (R > 1) FWK_TILE_LOAD(6, rows + apart, 64);
            if (R > 1) FWK_TILE_MULTIPLY(1, 6, 4);
            if (R == 4) FWK_TILE_LOAD(7, rows + 2 * apart, 64);
            if (R == 4) FWK_TILE_MULTIPLY(2, 7, 4);
            if (R == 4) FWK_TILE_LOAD(5, rows + 3 * apart, 64);
            if (R == 4) FWK_TILE_MULTIPLY(3, 5, 4);
        } else {
            FWK_TILE_LOAD(4, factors, 64);
            FWK_TILE_LOAD(5, factors + LOW, 64);
            FWK_TILE_LOAD(6, rows, 64);
            if (R > 1) FWK_TILE_LOAD(7, rows + apart, 64);
            FWK_TILE_MULTIPLY(0, 6, 5);
            if (R > 1) FWK_TILE_MULTIPLY(1, 7, 5);
            FWK_TILE_MULTIPLY(0, 6, 4);
            if (R > 1) FWK_TILE_MULTIPLY(1, 7, 4);
            if (R == 4) FWK_TILE_LOAD(6, rows + 2 * apart, 64);
            if (R == 4) FWK_TILE_LOAD(7, rows + 3 * apart, 64);
            if (R == 4) FWK_TILE_MULTIPLY(2, 6, 5);
            if (R == 4) FWK_TILE_MULTIPLY(3, 7, 5);
            if (R == 4) FWK_TILE_MULTIPLY(2, 6, 4);
            if (R == 4) FWK_TILE_MULTIPLY(3, 7, 4);
            FWK_TILE_LOAD(6, rows + LOW, 64);
            if (R > 1) FWK_TILE_LOAD(7, rows + apart + LOW, 64);
            FWK_TILE_MULTIPLY(0, 6, 4);
            if (R > 1) FWK_TILE_MULTIPLY(1, 7, 4);
            if (R == 4) FWK_TILE_LOAD(6, rows + 2 * apart + LOW, 64);
            if (R == 4) FWK_TILE_LOAD(7, rows + 3 * apart + LOW, 64);
            if (R == 4) FWK_TILE_MULTIPLY(2, 6, 4);
            if (R == 4) FWK_TILE_MULTIPLY(3, 7, 4);
        }
        for (const char* end = ahead.from + ahead.bytes; ahead.from < end; ahead.from += 64)
            __builtin_prefetch(ahead.from, 0, 2);
    }
    FWK_TILE_STORE(0, sums);
    if (R * C > 1) FWK_TILE_STORE(1, sums + size);
    if (R * C > 2) FWK_TILE_STORE(2, sums + 2 * size);
    if (R * C > 2) FWK_TILE_STORE(3, sums + 3 * size);
}
#undef FWK_TILE_LOAD
#undef FWK_TILE_STORE
#undef FWK_TILE_MULTIPLY

// High parts of 32 numbers, and their low parts a tile behind if there are two; those of a and b alternate.
template <int PARTS>
inline void store_split(Floats a, Floats b, char* to) {
    if constexpr (PARTS == 1) return store(to, high_parts(a, b));
    const Split parts = split(a, b);
    store(to, parts.high);
    store(to + TILE_BYTES, parts.low);
}

// 16 features less the shift, or the first `n` of them and zeros.
inline Floats load_shifted(const float* row, const float* shift, const double*, index n) {
    return (Floats)_mm512_maskz_loadu_ps(__mmask16(first_lanes(n)), row) - load<Floats>(shift);
}
inline Floats load_shifted(const double* row, const float*, const double* shift, index n) {
    const std::uint32_t there = first_lanes(n);
    const Wide a = (Wide)_mm512_maskz_loadu_pd(__mmask8(there), row) - load<Wide>(shift);
    const Wide b = (Wide)_mm512_maskz_loadu_pd(__mmask8(there >> 8), row + 8) - load<Wide>(shift + 8);
    return joined(a, b);
}

// Splits up to 16 rows; squared lengths and, if asked for, weighted ones go to norms and lengths.
template <class T, bool SHARED, int PARTS>
void split_rows(const Scratch<T>& block, const std::int32_t* places, index n, index m,
                const Products& products, char* to, float* norms, float* lengths) {
    constexpr index EACH = SHARED ? 2 * TILE : TILE, ROWS = 4;
    Floats norm[TILE] = {}, length[TILE] = {};
    for (index i = 0; i < TILE; i += ROWS) {
        char* at = to + i * 64;
        if (i >= n) {
            for (index step = 0; step < PARTS * products.steps; ++step)
                __builtin_memset(at + step * TILE_BYTES, 0, ROWS * 64);
            continue;
        }
        const T* row[ROWS];
        for (index r = 0; r < ROWS; ++r) row[r] = block.row(places[i + r < n ? i + r : i]);
        Floats sum[ROWS] = {}, weighted[ROWS] = {};
        const float *shift = products.shift, *weight = products.weights;
        const double* wide_shift = products.wide_shift;
        const auto split = [&](index r, Floats a, Floats b) __attribute__((always_inline)) {
            sum[r] += a * a;
            if (SHARED) sum[r] += b * b;
            if (SHARED && lengths)
                weighted[r] += a * a * load<Floats>(weight) + b * b * load<Floats>(weight + TILE);
            store_split<PARTS>(a, b, at + r * 64);
        };
        index v = 0;
        const auto split_step = [&](index n_a, index n_b) __attribute__((always_inline)) {
            for (index r = 0; r < ROWS; ++r) {
                const T* from = row[r] + v;
                const Floats a = load_shifted(from, shift, wide_shift, n_a);
                split(r, a, SHARED ? load_shifted(from + TILE, shift + TILE, wide_shift + TILE, n_b) : a * a);
            }
        };
        for (; v + EACH <= m; v += EACH, at += PARTS * TILE_BYTES) {
            split_step(TILE, TILE);
            shift += EACH, wide_shift += EACH, weight += EACH;
        }
        if (v < m) split_step(m - v, m - v - TILE);
        for (index r = 0; r < ROWS; ++r) norm[i + r] = sum[r], length[i + r] = weighted[r];
    }
    const auto add_up = [](Floats(&of_rows)[TILE], float* sums) {
        transpose<float, TILE>(of_rows);
        Floats sum = {};
        for (const Floats& part : of_rows) sum += part;
        store(sums, sum);
    };
    add_up(norm, norms);
    if (SHARED && lengths) add_up(length, lengths);
}

struct TileBest {
    Floats value, second, label;
};

// 16 rows and `size` clusters from `first` on.
inline void race_sums(const float* sums, index size, index first, TileBest& best) {
    Floats sum[TILE];
    for (index i = 0; i < TILE; ++i) sum[i] = load<Floats>(sums + i * TILE);
    transpose<float, TILE>(sum);
    for (index j = 0; j < TILE; ++j) {
        if (j >= size) break;
        const Floats d = sum[j], label = Floats{} + float(first + j);
        const Floats loser = d < best.value ? best.value : d;
        best.second = loser < best.second ? loser : best.second;
        best.label = d < best.value ? label : best.label;
        best.value = d < best.value ? d : best.value;
    }
}

// Labels of the rows at `places` of a block, into those of `rows`; nearest(i) where the race cannot
// decide, and how often is returned.
template <class T, bool SHARED, int PARTS, class Nearest>
index race_parts(const Scratch<T>& block, const std::int32_t* places, index n, Scratch<float>& rows,
                 const Starts& starts, const Products& products, char* memory, double unit, Nearest nearest) {
    const index k = starts.n_clusters, m = starts.n_features, steps = products.steps;
    const index apart = PARTS * TILE_BYTES * steps;
    // sums race while the next ones are multiplied
    alignas(64) float memory_of_sums[2][4 * TILE * TILE];
    struct {
        index tile, n_tiles, cluster, n_clusters;
    } last = {};
    int turn = 0;
    rows.n_rows = n;
    index n_doubtful = 0;
    Floats nothing = {};  // NaN from the first row on that is infinitely long, or NaN
    const bool next_block = 2 * n > block.n_rows;  // most of its rows race as well
    for (index g0 = 0; g0 < n; g0 += GROUP_TILES * TILE) {
        const index left = (n - g0 + TILE - 1) / TILE, tiles = left < GROUP_TILES ? left : GROUP_TILES;
        TileBest bests[GROUP_TILES];
        for (index t = 0; t < tiles; ++t) {
            const index i = g0 + t * TILE;
            split_rows<T, SHARED, PARTS>(block, places + i, n - i < TILE ? n - i : TILE, m, products,
                                  memory + t * apart, rows.norms + i,
                                  SHARED && rows.upper ? rows.lengths + i : nullptr);
            bests[t] = {Floats{} + INFINITE<float>, Floats{} + INFINITE<float>, Floats{}};
        }
        const auto race_last = [&] {
            const float* sums = memory_of_sums[1 - turn];
            for (index t = 0; t < last.n_tiles; ++t)
                for (index c = last.cluster; c < last.cluster + last.n_clusters; ++c, sums += TILE * TILE)
                    race_sums(sums, k - c * TILE, c * TILE, bests[last.tile + t]);
        };
        last.n_tiles = 0;
        const index g1 = g0 + tiles * TILE < n ? g0 + tiles * TILE : n, n_ahead = next_block ? block.ahead_bytes : 0;
        const index calls = ((products.n_tiles + 1) / 2) * (products.n_tiles > 1 ? (tiles + 1) / 2 : (tiles + 3) / 4);
        Ahead ahead = {nullptr, 0};
        if (block.ahead)
            ahead = {block.ahead + n_ahead * g0 / n, round_up(n_ahead * (g1 - g0) / n / (calls * steps), 64)};
        for (index c = 0; c < products.n_tiles;) {
            const char* factors = products.factors[PARTS - 1] + c * apart;
            const float* constants = products.constants[PARTS - 1] + c * TILE;
            const index n_c = products.n_tiles - c > 1 ? 2 : 1;
            for (index t = 0; t < tiles;) {
                const char* from = memory + t * apart;
                float* sums = memory_of_sums[turn];
                const index n_t = tiles - t >= 4 && n_c == 1 ? 4 : tiles - t >= 2 ? 2 : 1;
                if (n_c == 1 && n_t == 4)
                    multiply<4, 1, PARTS>(from, factors, steps, constants, sums, ahead);
                else if (n_c == 1 && n_t == 2)
                    multiply<2, 1, PARTS>(from, factors, steps, constants, sums, ahead);
                else if (n_c == 1)
                    multiply<1, 1, PARTS>(from, factors, steps, constants, sums, ahead);
                else if (n_t == 2)
                    multiply<2, 2, PARTS>(from, factors, steps, constants, sums, ahead);
                else
                    multiply<1, 2, PARTS>(from, factors, steps, constants, sums, ahead);
                race_last();
                last = {t, n_t, c, n_c};
                turn = 1 - turn;
                t += n_t;
            }
            c += n_c;
        }
        race_last();
        for (index t = 0; t < tiles; ++t) {
            const index i = g0 + t * TILE;
            const TileBest& best = bests[t];
            const Floats norm = load<Floats>(rows.norms + i);
            nothing += norm * 0.0f;
            const Floats second = norm < float(products.limit) ? best.second : Floats{} - INFINITE<float>;
            n_doubtful += settle<float, SHARED, PARTS>(rows, products.bounds[PARTS - 1], i, k, m, best.value,
                                                       second, best.label, unit, nearest);
        }
    }
    for (index j = 0; j < TILE; ++j) rows.odd |= !(nothing[j] == 0);
    return n_doubtful;
}

template <int PARTS, class T, class Nearest>
index race_parts(const Scratch<T>& block, const std::int32_t* places, index n, Scratch<float>& rows,
                 const Starts& starts, const Products& products, char* memory, double unit, Nearest nearest) {
    if (!starts.expanded)
        return race_parts<T, false, PARTS>(block, places, n, rows, starts, products, memory, unit, nearest);
    return race_parts<T, true, PARTS>(block, places, n, rows, starts, products, memory, unit, nearest);
}
#else  // never called

inline void prepare_parts(const Starts&, bool, bool, void*) {}
struct TileRegisters {
    explicit TileRegisters(bool) {}
};
template <int, class T, class Nearest>
index race_parts(const Scratch<T>&, const std::int32_t*, index, Scratch<float>&, const Starts&, const Products&,
                 char*, double, Nearest) {
    return 0;
}

#endif

// A race that comes before float: in whole numbers if something is known of the rows, else by one part of numbers, by
// both, or by one and then by both.
inline void prepare_products(const Starts& starts, const Expected* expected, bool one, bool both, void* memory,
                             [[maybe_unused]] const Sharing& sharing) {
    if (!expected) return prepare_parts(starts, one, both, memory);
#ifdef __AVX512F__
    Products& out = *static_cast<Products*>(memory);
    prepare_whole(starts, *expected, out.whole, static_cast<char*>(memory) + sizeof(Products), sharing);
    out.one = one && out.whole.words > 0;
    out.both = out.tiles = false;
#endif
}

template <int PARTS, class T, class Nearest>
index race_products(const Scratch<T>& block, const std::int32_t* places, index n, Scratch<float>& rows,
                    const Starts& starts, const Products& products, char* memory, double unit, Nearest nearest) {
#ifdef __AVX512F__
    if (products.whole.words > 0 && starts.expanded)
        return race_whole<T, true>(block, places, n, rows, starts, products.whole, unit, nearest);
    if (products.whole.words > 0)
        return race_whole<T, false>(block, places, n, rows, starts, products.whole, unit, nearest);
#endif
    return race_parts<PARTS>(block, places, n, rows, starts, products, memory, unit, nearest);
}

}  // namespace
}  // namespace FWK_ISA
}  // namespace fwk
