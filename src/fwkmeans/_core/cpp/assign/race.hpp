// Register tiles of rows and clusters that race: the two lowest sums of each row.
#pragma once
#include "assign/tables.hpp"

namespace fwk { namespace FWK_ISA { namespace {

// lookups[cluster][row] = costs of the row's categories, for n of N rows (the others get zeros).
template <class T, int N>
void look_up(const Scratch<T>& block, index i0, index n, const double* costs, index k) {
    const index stride = round_up(k, WIDE);
    for (index j = 0; j < k; j += WIDE)
        for (index i = 0; i < N; i += WIDE) {
            Wide sum[WIDE] = {};
            for (index row = 0; row < WIDE && i + row < n; ++row) {
                const std::int32_t* levels = block.levels_of(i0 + i + row);
                Wide own = {};  // in a register
                for (index v = 0; v < block.n_categorical; ++v)
                    if (levels[v] >= 0) own += load<Wide>(costs + levels[v] * stride + j);
                sum[row] = own;
            }
            transpose<double, WIDE>(sum);
            for (index cluster = 0; cluster < WIDE; ++cluster)
                store(block.lookups + (j + cluster) * N + i, sum[cluster]);
        }
}

// R vectors of rows and K clusters.
template <class T, int R, int K, bool SHARED>
inline void fill_tile(
    const T* panel, const T* constants, index m, const double* lookups, V<T> (&sum)[R][K]) {
    const T* factors = constants + K;
    for (int r = 0; r < R; ++r)
        for (int j = 0; j < K; ++j) sum[r][j] = V<T>{} + constants[j];
    if (lookups)
        for (int j = 0; j < K; ++j)
            for (int r = 0; r < R; ++r) {
                const double* own = lookups + j * TILE_ROWS<T> + r * WIDTH<T>;
                sum[r][j] += __builtin_convertvector(load<Vector<double, WIDTH<T>>>(own), V<T>);
            }
    for (index v = 0; v < m; ++v, panel += TILE_ROWS<T>, factors += SHARED ? K : 2 * K) {
        V<T> y[R];
        for (int r = 0; r < R; ++r) y[r] = load<V<T>>(panel + r * WIDTH<T>);
        for (int j = 0; j < K; ++j)
            for (int r = 0; r < R; ++r) {
                if constexpr (SHARED) {
                    sum[r][j] += y[r] * factors[j];
                } else {
                    const V<T> t = y[r] * factors[2 * j] + factors[2 * j + 1];
                    sum[r][j] += t * t;
                }
            }
    }
}

template <class T> struct Best {
    V<T> value[ROW_VECTORS], second[ROW_VECTORS], label[ROW_VECTORS];

    Best() {
        for (int r = 0; r < ROW_VECTORS; ++r) {
            value[r] = second[r] = V<T>{} + INFINITE<T>;
            label[r] = V<T>{};
        }
    }
    void enter(int r, V<T> d, index cluster) {
        const V<T> loser = d < value[r] ? value[r] : d;
        second[r] = loser < second[r] ? loser : second[r];
        label[r] = d < value[r] ? V<T>{} + T(cluster) : label[r];
        value[r] = d < value[r] ? d : value[r];
    }
};

template <class T, int R, int K, bool SHARED>
void race_tile(const T* panel, const T* constants, index m, const double* lookups, index first,
    Best<T>& best) {
    V<T> sum[R][K];
    fill_tile<T, R, K, SHARED>(panel, constants, m, lookups, sum);
    for (int r = 0; r < R; ++r)
        for (int j = 0; j < K; ++j) best.enter(r, sum[r][j], first + j);
}

template <class T, int R, bool SHARED, int K = MAX_TILE>
inline void race_tile(int size, const T* panel, const T* constants, index m, const double* lookups,
    index first, Best<T>& best) {
    if (size == K) return race_tile<T, R, K, SHARED>(panel, constants, m, lookups, first, best);
    if constexpr (K > 1)
        race_tile<T, R, SHARED, K - 1>(size, panel, constants, m, lookups, first, best);
}

// The same for rows with missing cells, which are left out; G clusters of a tile from j0 on.
template <class T, int G>
void race_masked(const T* panel, const T* constants, int size, int j0, index m,
    const double* lookups, index first, Best<T>& best) {
    const T* factors = constants + size + 2 * j0;
    V<T> sum[ROW_VECTORS][G];
    for (int r = 0; r < ROW_VECTORS; ++r)
        for (int j = 0; j < G; ++j) {
            sum[r][j] = V<T>{} + constants[j0 + j];
            if (lookups) {
                const double* own = lookups + (j0 + j) * TILE_ROWS<T> + r * WIDTH<T>;
                sum[r][j] += __builtin_convertvector(load<Vector<double, WIDTH<T>>>(own), V<T>);
            }
        }
    for (index v = 0; v < m; ++v, panel += TILE_ROWS<T>, factors += 2 * size)
        for (int r = 0; r < ROW_VECTORS; ++r) {
            const V<T> y = load<V<T>>(panel + r * WIDTH<T>);
            const auto there = y == y;
            for (int j = 0; j < G; ++j) {
                const V<T> t = y * factors[2 * j] + factors[2 * j + 1];
                if constexpr (BYTES == 64) {  // multiply-adds under a mask cost nothing more
                    const V<T> more = sum[r][j] + t * t;
                    sum[r][j] = there ? more : sum[r][j];
                } else {
                    const V<T> seen = (V<T>)((decltype(there))t & there);
                    sum[r][j] += seen * seen;
                }
            }
        }
    for (int r = 0; r < ROW_VECTORS; ++r)
        for (int j = 0; j < G; ++j) best.enter(r, sum[r][j], first + j0 + j);
}

template <class T>
inline void race_masked(int size, const T* panel, const T* constants, index m,
    const double* lookups, index first, Best<T>& best) {
    constexpr int MOST = BYTES == 64 ? 10 : 4;
    int j = 0;
    for (; j + MOST <= size; j += MOST)
        race_masked<T, MOST>(panel, constants, size, j, m, lookups, first, best);
    for (; j + 4 <= size; j += 4)
        race_masked<T, 4>(panel, constants, size, j, m, lookups, first, best);
    if (j + 2 <= size) {
        race_masked<T, 2>(panel, constants, size, j, m, lookups, first, best);
        j += 2;
    }
    if (j < size) race_masked<T, 1>(panel, constants, size, j, m, lookups, first, best);
}

}}}  // namespace fwk::FWK_ISA
