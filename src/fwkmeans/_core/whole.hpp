// A race in whole numbers, where the processor multiplies and adds pairs of 16 bits (VNNI): twice the multiply-adds
// of float a second, and sums without rounding. What rounding rows and factors can change is bounded, and rows that
// this bound does not decide race again in float: labels are those of the plain pass.
#pragma once
#include "assignment.hpp"

namespace fwk {
namespace FWK_ISA {
namespace {

// What `prepare_whole` writes. Arrays of features have zeros behind the last one.
struct Whole {
    Prepared bound;
    float limit;     // of a row's norm, which is the sum of the squares of its numbers
    index words;     // of a row; zero: there is no such race
    const double *wide_scale, *wide_origin;
    const float *scale, *origin, *middle, *weights;
    const std::uint32_t* tiles;  // for each tile of clusters: constants, then words
    float unit, least;           // of sums: what they count, and what they begin at
};

// Features that a row packs at a time: 16 and their squares, or, if weights are shared, up to 32 in two halves. Four
// features and their squares, or four of each half, make four words of two numbers each.
struct Group {
    index first, half, words;
    Group(const Starts& starts, index v) : Group(starts.n_features, starts.expanded, v) {}
    Group(index m, bool shared, index v) : first(v), half(m - v < 16 ? m - v : 16) {
        if (shared && m - v < 32) half = round_up((m - v + 1) / 2, 4);
        words = round_up(half, 4);
    }
    index next(bool shared) const { return first + (shared ? 2 * half : half); }
};
inline index n_words(const Starts& starts) {
    index words = 0;
    for (index v = 0; v < starts.n_features;) {
        const Group group(starts, v);
        words += group.words;
        v = group.next(starts.expanded);
    }
    return words;
}

// What the factors of a cluster sum up to.
struct FactorSums {
    double size, squares, largest, rounded, constant;
};

inline index padded(index n_features) { return round_up(n_features, 16) + 64; }
inline std::size_t whole_bytes(const Starts& starts) {
    const index k = starts.n_clusters, m = starts.n_features;
    return std::size_t(64 + padded(m) * (5 * 8 + 4 * 4 + n_tiles(k) * 2 * 2) + k * (index(sizeof(FactorSums)) + 4) +
                       k * n_words(starts) * 4);
}

#ifdef __AVX512F__
using Floats = Vector<float, 16>;
using Words = Vector<std::uint32_t, 16>;
using Numbers = Vector<std::int32_t, 16>;

inline std::uint32_t first_lanes(index n) { return n >= 16 ? 0xffffu : n > 0 ? (1u << n) - 1u : 0u; }
inline Floats joined(Wide a, Wide b) {
    const auto low = (Vector<float, 8>)_mm512_maskz_cvtpd_ps(0xff, (__m512d)a);
    const auto high = (Vector<float, 8>)_mm512_maskz_cvtpd_ps(0xff, (__m512d)b);
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

// Numbers of rows are Y = a y, rounded, with a = MOST / reach, and Q = b y^2 - q with b = SQUARED / reach^2. Here y is the
// difference of a cell and an origin near the shift, for which a times the origin is a number in float. Rows do not race if
// such a number has more than 16 bits, or if all of them together are so long that sums might have more than 31.
constexpr double MOST = 8192, SQUARED = 8000;
constexpr double ROUNDED = 0.52;  // a number is not farther off, with what float rounded before
constexpr double LONG = 3;         // times the mean square is a row that does not race
constexpr float FAR = 1e30f;      // the norm of a row that does not race
constexpr double LEAST_REACH = 1e-12, LARGEST_REACH = 1e15;

template <class Body>
void share(const Sharing& sharing, index n, index n_numbers, Body body) {
    if (!sharing.run) return body(index(0), n);
    const auto run = [](void* state, index first, index last) { (*static_cast<Body*>(state))(first, last); };
    sharing.run(sharing.team, n, n_numbers, run, &body);
}

// d = sum (g y + w y^2) + constant with g = -2 w c. Numbers of a cluster are G = g / (a U), W = w / (b U) and
// C = (constant + sum w q / b - least) / U, rounded, in a unit U so large that no sum has more than 31 bits. What
// rounding changes in sum (G Y + W Q) is, by Cauchy's inequality, at most the length of what is lost of G and W times that
// of Y and Q, a row's norm; and what is lost of Y and Q changes it by at most ROUNDED sum (|g| / a + w / b). settle() gets
// the largest of both, of all clusters.
inline void prepare_whole(const Starts& starts, const Expected& expected, Whole& out, char* cursor,
                          const Sharing& sharing) {
    const index k_total = starts.n_clusters, m = starts.n_features, words = n_words(starts), size = padded(m);
    cursor += (64 - reinterpret_cast<std::uintptr_t>(cursor) % 64) % 64;
    __builtin_memset(cursor, 0, std::size_t(size * (5 * 8 + 4 * 4 + n_tiles(k_total) * 2 * 2)));
    double* wide_scale = reinterpret_cast<double*>(cursor);
    double *wide_origin = wide_scale + size, *origins = wide_origin + size, *step = origins + size;
    double* square_step = step + size;
    float *scale = reinterpret_cast<float*>(square_step + size), *origin = scale + size, *middle = origin + size;
    float* weights = middle + size;
    // numbers of a cluster, for each tile
    std::int16_t* numbers = reinterpret_cast<std::int16_t*>(weights + size);
    auto* sums = reinterpret_cast<FactorSums*>(numbers + n_tiles(k_total) * 2 * size);
    std::uint32_t* tiles = reinterpret_cast<std::uint32_t*>(sums + k_total);
    double squared_limit = 0;
    for (index v = 0; v < m; ++v) {
        const double wanted = double(expected.most[v]), square = double(expected.squares[v]);
        const double reach = !(wanted > LEAST_REACH) ? LEAST_REACH : wanted < LARGEST_REACH ? wanted : LARGEST_REACH;
        const double share = square <= reach * reach ? square / (reach * reach) : 1;
        wide_scale[v] = scale[v] = float(MOST / reach);
        wide_origin[v] = origin[v] = float(starts.shift[v] * wide_scale[v]);
        step[v] = 1 / wide_scale[v];
        origins[v] = wide_origin[v] * step[v];
        square_step[v] = step[v] * step[v] * (MOST * MOST / SQUARED);
        middle[v] = float(share * SQUARED);
        weights[v] = float(starts.weights[v] * step[v] * step[v]);
        squared_limit += LONG * share * (MOST * MOST + (starts.expanded ? 0 : SQUARED * SQUARED / 2));
    }
    // What the factors of a cluster sum up to; times `by`, if that is not zero, they are rounded into `first` and `second`.
    const auto count = [&](index k, double by, std::int16_t* first, std::int16_t* second) {
        const double *c = starts.centers + k * m, *w = starts.weights + (starts.shared ? 0 : k * m);
        Wide constant = {}, size = {}, squares = {}, largest = {}, rounded = {};
        for (index v = 0; v < m; v += WIDE) {
            const auto there = __mmask8(first_lanes(m - v));
            const Wide weight = (Wide)_mm512_maskz_loadu_pd(there, w + v);
            const Wide moved = (Wide)_mm512_maskz_loadu_pd(there, c + v) - load<Wide>(origins + v);
            const Wide g = -2.0 * weight * moved * load<Wide>(step + v);
            const Wide h = starts.expanded ? Wide{} : weight * load<Wide>(square_step + v);
            constant += weight * moved * moved + h * load_wide<float, WIDE>(middle + v);
            size += absolute<WIDE>(g) + h;
            squares += g * g + h * h;
            largest = absolute<WIDE>(g) > largest ? absolute<WIDE>(g) : largest;
            largest = h > largest ? h : largest;
            if (by == 0) continue;
            const auto store_numbers = [&rounded, by](Wide x, std::int16_t* to) {
                const Wide lost = x * by - Exponent<WIDE>::round(x * by);
                rounded += lost * lost;
                const __m256i numbers = _mm512_maskz_cvtpd_epi32(0xff, (__m512d)(x * by));
                store(to, _mm256_maskz_cvtsepi32_epi16(0xff, numbers));
            };
            store_numbers(g, first + v);
            store_numbers(h, second + v);
        }
        FactorSums sums = {0, 0, 0, 0, starts.offsets[k]};
        for (int l = 0; l < WIDE; ++l) {
            sums.size += size[l];
            sums.squares += squares[l];
            sums.largest = largest[l] > sums.largest ? largest[l] : sums.largest;
            sums.rounded += rounded[l];
            sums.constant += constant[l];
        }
        return sums;
    };
    share(sharing, k_total, k_total * m, [&](index begin, index end) {
        for (index k = begin; k < end; ++k) sums[k] = count(k, 0, nullptr, nullptr);
    });
    double largest_word = 0, longest = 0, largest_size = 0, least = __builtin_inf(), most = -__builtin_inf();
    for (index k = 0; k < k_total; ++k) {
        largest_word = sums[k].largest > largest_word ? sums[k].largest : largest_word;
        longest = sums[k].squares > longest ? sums[k].squares : longest;
        largest_size = sums[k].size > largest_size ? sums[k].size : largest_size;
        least = sums[k].constant < least ? sums[k].constant : least;
        most = sums[k].constant > most ? sums[k].constant : most;
    }
    const double limit = square_root(squared_limit);
    const double bits = 2147483000.0 - limit * square_root(double(m));  // rounding makes factors longer
    const double for_sums = (square_root(longest) * limit + (most - least)) / bits, for_words = largest_word / 32767;
    const double wanted = for_sums > for_words ? for_sums : for_words;
    const double unit = double(float((wanted > 1e-30 ? wanted : 1e-30) * (1 + 1e-6)));
    const double largest = __builtin_fabs(least) + unit * 0x1p31;
    const bool fits = m <= 16384 && bits > 0x1p30 && largest <= LARGEST<float> / 16;
    const auto lay_tile = [&](index tile, index k0, std::uint32_t* tile_words) {
        const int n = tile_size(k_total, tile);
        std::int16_t *first = numbers + tile * 2 * size, *second = first + size;
        for (int j = 0; j < n; ++j) {
            FactorSums& of_cluster = sums[k0 + j];
            of_cluster.rounded = count(k0 + j, 1 / unit, first, second).rounded;
            std::uint32_t* to = tile_words + j;
            *to = std::uint32_t((of_cluster.constant - least) / unit + 0.5);
            for (index v = 0; v < m;) {
                const Group group(starts, v);
                const std::int16_t *low = first + v, *high = starts.expanded ? first + v + group.half : second + v;
                for (index i = 0; i < group.words; i += 4) {
                    const std::int16_t* pairs[] = {low + i, low + i + 2, high + i, high + i + 2};
                    for (const std::int16_t* pair : pairs)
                        *(to += n) = load<std::uint32_t>(pair);
                }
                v = group.next(starts.expanded);
            }
        }
    };
    double most_rounded = 0;
    if (fits) {
        share(sharing, n_tiles(k_total), k_total * m, [&](index begin, index end) {
            for (index tile = 0, k = 0; tile < end; k += tile_size(k_total, tile), ++tile)
                if (tile >= begin) lay_tile(tile, k, tiles + k * (1 + words));
        });
        for (index k = 0; k < k_total; ++k) most_rounded = sums[k].rounded > most_rounded ? sums[k].rounded : most_rounded;
    }
    // float has 24 digits of a sum
    const double error = ROUNDED * largest_size + unit + 4 * UNIT_ROUNDOFF<float> * largest;
    out = {{2.01 * error, 2.01 * unit * square_root(most_rounded), 0, 0}, float(squared_limit), fits ? words : 0, wide_scale, wide_origin, scale, origin, middle, weights,
           tiles, float(unit), float(least)};
}

// sum += low halves of a and b multiplied, and high ones. GCC copies sums around the function it has for this, which
// takes as long as multiplying.
inline Words multiply_words(Words sum, Words a, Words b) {
    __asm__("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
}

// The numbers of 16 features from v on, of which n are there, before they are rounded.
inline Floats scaled(const float* row, const Whole& whole, index v, index n) {
    const auto y = (Floats)_mm512_maskz_loadu_ps(__mmask16(first_lanes(n)), row + v);
    return y * load<Floats>(whole.scale + v) - load<Floats>(whole.origin + v);
}
inline Floats scaled(const double* row, const Whole& whole, index v, index n) {
    const std::uint32_t there = first_lanes(n);
    const auto a = (Wide)_mm512_maskz_loadu_pd(__mmask8(there), row + v);
    const auto b = (Wide)_mm512_maskz_loadu_pd(__mmask8(there >> 8), row + v + 8);
    return joined(a * load<Wide>(whole.wide_scale + v) - load<Wide>(whole.wide_origin + v),
                  b * load<Wide>(whole.wide_scale + v + 8) - load<Wide>(whole.wide_origin + v + 8));
}
inline __m512i rounded(Floats x) { return _mm512_maskz_cvtps_epi32(0xffff, (__m512)x); }

// Packs n rows of a tile: word by word those of all rows. Sums of the squares of their numbers go to norms, and weighted
// squares of the rows, if asked for, to lengths. NaN, and what is too large, becomes the least or the largest number of
// 16 bits; that of a square does so first.
template <class T, bool SHARED>
void pack_whole(const Scratch<T>& block, const std::int32_t* places, index n, index m, const Whole& whole,
                std::uint32_t* panel, float* norms, float* lengths) {
    constexpr index ROWS = TILE_ROWS<float>;
    const Words ones = Words{} + 0x10001u;
    for (index i = 0; i < ROWS; i += 16) {
        Words sum = {}, most = {};
        Floats length[16] = {};
        const T* row[16];
        for (index r = 0; r < 16; ++r) row[r] = block.row(places[i + r < n ? i + r : 0]);
        std::uint32_t* to = panel + i;
        for (index v = 0; v < m;) {
            const Group group(m, SHARED, v);
            const index high = v + group.half;
            Floats x[16];
            for (index r = 0; r < 16; ++r) {
                const Floats y = scaled(row[r], whole, v, group.half < m - v ? group.half : m - v);
                Floats z;
                if constexpr (SHARED)
                    z = scaled(row[r], whole, high, m - high);
                else
                    z = y * y * float(SQUARED / (MOST * MOST)) - load<Floats>(whole.middle + v);
                if (SHARED && lengths) {
                    const auto there = (Floats)_mm512_maskz_mov_ps(__mmask16(first_lanes(group.half)), (__m512)y);
                    length[r] += there * there * load<Floats>(whole.weights + v) + z * z * load<Floats>(whole.weights + high);
                }
                x[r] = (Floats)_mm512_packs_epi32(rounded(y), rounded(z));
            }
            transpose<float, 16>(x);
            for (index j = 0; j < 16; ++j, to += ROWS) {
                if (j >= group.words) break;
                store(to, x[j]);
                // squares in units of 2^15, half of one off
                sum = multiply_words(sum, (Words)_mm512_mulhrs_epi16((__m512i)x[j], (__m512i)x[j]), ones);
                if (SHARED || j % 4 >= 2)
                    most = (Words)_mm512_max_epu16((__m512i)most, _mm512_abs_epi16((__m512i)x[j]));
            }
            v = group.next(SHARED);
        }
        const Floats norm = (__builtin_convertvector(sum, Floats) + float(whole.words)) * 32768.0f;
        const Words largest = Words{} + 32766u;
        const auto far = ((most & 0xffffu) > largest) | (most >> 16 > largest);
        store(norms + i, (far | (norm > whole.limit)) ? Floats{} + FAR : norm);
        if (SHARED && lengths) {
            transpose<float, 16>(length);
            Floats all = {};
            for (const Floats& part : length) all += part;
            store(lengths + i, all);
        }
    }
}

struct NumbersBest {
    Numbers value[ROW_VECTORS], second[ROW_VECTORS], label[ROW_VECTORS];
};

template <int K>
void race_words(const std::uint32_t* panel, const std::uint32_t* tile, index words, index first, NumbersBest& best) {
    Words sum[ROW_VECTORS][K];
    for (int r = 0; r < ROW_VECTORS; ++r)
        for (int j = 0; j < K; ++j) sum[r][j] = Words{} + tile[j];
    for (index word = 0; word < words; ++word, panel += TILE_ROWS<float>) {
        Words y[ROW_VECTORS];
        tile += K;
        for (int r = 0; r < ROW_VECTORS; ++r) y[r] = load<Words>(panel + 16 * r);
        for (int j = 0; j < K; ++j) {
            const Words factor = Words{} + tile[j];
            for (int r = 0; r < ROW_VECTORS; ++r) sum[r][j] = multiply_words(sum[r][j], y[r], factor);
        }
    }
    for (int r = 0; r < ROW_VECTORS; ++r)
        for (int j = 0; j < K; ++j) {
            const Numbers d = (Numbers)sum[r][j], value = best.value[r], loser = d < value ? value : d;
            best.second[r] = loser < best.second[r] ? loser : best.second[r];
            best.label[r] = d < value ? Numbers{} + std::int32_t(first + j) : best.label[r];
            best.value[r] = d < value ? d : value;
        }
}
template <int K = MAX_TILE>
inline void race_words(int size, const std::uint32_t* panel, const std::uint32_t* tile, index words, index first,
                       NumbersBest& best) {
    if (size == K) return race_words<K>(panel, tile, words, first, best);
    if constexpr (K > 1) race_words<K - 1>(size, panel, tile, words, first, best);
}

template <class T>
bool all_finite(const T* row, index m) {
    bool all = true;
    for (index v = 0; v < m; ++v) all &= load<T>(row + v) * T(0) == 0;
    return all;
}

inline void copy_tile(const float* from, float* to) { __builtin_memcpy(to, from, TILE_ROWS<float> * sizeof(float)); }

// Where a race is: in rows [first, last) at `row`, of which it takes some at a time with all tiles of clusters.
struct Place {
    index first, last, row, tile, n_tiles;
};
template <class T>
[[gnu::always_inline]] inline void fetch_ahead(const Scratch<T>& block, Place at, index n_rows) {
    if (!block.ahead) return;
    const index done = at.first * at.n_tiles + at.tile * (at.last - at.first) + (at.row - at.first);
    const index rows = at.last - at.row < TILE_ROWS<T> ? at.last - at.row : TILE_ROWS<T>;
    fetch_ahead(block, done, done + rows, n_rows * at.n_tiles);
}

// Labels of the rows at `places` of a block, into those of `rows`; nearest(i) where the race cannot
// decide, and how often is returned.
template <class T, bool SHARED, class Nearest>
index race_whole(const Scratch<T>& block, const std::int32_t* places, index n, Scratch<float>& rows,
                 const Starts& starts, const Whole& whole, double unit, Nearest nearest) {
    constexpr index GROUP = 4, ROWS = TILE_ROWS<float>;
    const index k = starts.n_clusters, m = starts.n_features;
    const bool next_block = 2 * n > block.n_rows;  // most of its rows race as well
    index n_doubtful = 0;
    rows.n_rows = n;
    for (index g0 = 0; g0 < n; g0 += GROUP * ROWS) {
        const index g1 = g0 + GROUP * ROWS < n ? g0 + GROUP * ROWS : n;
        auto* panels = reinterpret_cast<std::uint32_t*>(rows.panels);
        NumbersBest bests[GROUP];
        for (NumbersBest& best : bests)
            for (int r = 0; r < ROW_VECTORS; ++r) {
                best.value[r] = best.second[r] = Numbers{} + 0x7fffffff;
                best.label[r] = Numbers{};
            }
        if (rows.kept.words) panels = rows.kept.words + g0 * whole.words;
        float* lengths = SHARED && rows.upper ? rows.lengths : nullptr;
        for (index i = g0; i < g1 && !(rows.kept.words && *rows.kept.there); i += ROWS) {
            pack_whole<T, SHARED>(block, places + i, n - i, m, whole, panels + (i - g0) * whole.words, rows.norms + i,
                                  lengths ? lengths + i : nullptr);
            if (rows.kept.words) copy_tile(rows.norms + i, rows.kept.norms + i);
            if (rows.kept.words && lengths) copy_tile(lengths + i, rows.kept.lengths + i);
        }
        for (index i = g0; i < g1 && rows.kept.words && *rows.kept.there; i += ROWS) {
            copy_tile(rows.kept.norms + i, rows.norms + i);
            if (lengths) copy_tile(rows.kept.lengths + i, lengths + i);
        }
        const std::uint32_t* tile_words = whole.tiles;
        for (index tile = 0, first = 0; tile < n_tiles(k); ++tile) {
            const int size = tile_size(k, tile);
            for (index i = g0; i < g1; i += ROWS) {
                if (next_block) fetch_ahead(block, {g0, g1, i, tile, n_tiles(k)}, n);
                race_words(size, panels + (i - g0) * whole.words, tile_words, whole.words, first, bests[(i - g0) / ROWS]);
            }
            tile_words += size * (1 + whole.words);
            first += size;
        }
        for (index i = g0; i < g1; i += 16) {
            const NumbersBest& best = bests[(i - g0) / ROWS];
            const index r = (i - g0) % ROWS / 16;
            const Floats norm = load<Floats>(rows.norms + i);
            const auto near = norm < FAR;
            if (_mm512_cmp_ps_mask((__m512)norm, (__m512)(Floats{} + FAR), _CMP_LT_OQ) != 0xffff)
                for (index j = 0; j < 16 && i + j < n; ++j)
                    if (!near[j]) rows.odd |= !all_finite(block.row(places[i + j]), m);
            const auto sum = [&](Numbers counted, float otherwise) {
                const Floats d = __builtin_convertvector(counted, Floats) * whole.unit + whole.least;
                return near ? d : Floats{} + otherwise;
            };
            n_doubtful += settle<float, SHARED, 0>(rows, whole.bound, i, k, m, sum(best.value[r], INFINITE<float>),
                                                   sum(best.second[r], -INFINITE<float>),
                                                   __builtin_convertvector(best.label[r], Floats), unit, nearest);
        }
    }
    if (rows.kept.words) *rows.kept.there = 1;
    return n_doubtful;
}
#endif

}  // namespace
}  // namespace FWK_ISA
}  // namespace fwk
