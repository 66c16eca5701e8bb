// Moments of all features, and cells that are missing.
#pragma once
#include "sums/by_label.hpp"

namespace fwk { namespace FWK_ISA { namespace {

// N vectors of L features from v on, over the rows of a block, with everything held in registers.
// Of FINITE cells without weights there is less to look at; false, and nothing is written, if a
// cell is not finite after all, or squares overflow.
template <class T, int L, int N, bool WEIGHTED, bool FINITE>
bool describe_features(const Scratch<T>& block, const double* sample_weight, index v,
    const double* reference, const Moments& out) {
    using D = Vector<double, L>;
    const D one = D{} + 1.0;
    D origin[N], sum[N], square[N], observed[N], minimum[N], maximum[N], odd[N] = {},
                                                                         missing[N] = {};
    for (int c = 0; c < N; ++c) {
        const index at = v + c * L;
        origin[c] = load<D>(reference + at), sum[c] = load<D>(out.sums + at);
        square[c] = load<D>(out.squares + at), observed[c] = load<D>(out.observed + at);
        minimum[c] = load<D>(out.minimum + at), maximum[c] = load<D>(out.maximum + at);
        if (FINITE) observed[c] += double(block.n_rows);
    }
    for (index i = 0; i < block.n_rows; ++i) {
        const double s = WEIGHTED ? sample_weight[i] : 1;
        for (int c = 0; c < N; ++c) {
            const D y = load_wide<T, L>(block.row(i) + v + c * L);
            const D t = FINITE ? y - origin[c] : (y == y ? y - origin[c] : D{});
            if (!FINITE) odd[c] += y - y == D{} ? D{} : one, missing[c] += y == y ? D{} : one;
            if (WEIGHTED && !(s > 0)) continue;
            const D st = WEIGHTED ? t * s : t;
            if (!FINITE) observed[c] += y == y ? D{} + s : D{};
            sum[c] += st;
            square[c] += st * t;
            minimum[c] = y < minimum[c] ? y : minimum[c];
            maximum[c] = y > maximum[c] ? y : maximum[c];
        }
    }
    D nothing = {};  // NaN where a cell was not finite
    for (int c = 0; c < N; ++c) nothing += square[c] * 0.0;
    for (int j = 0; j < L; ++j)
        if (FINITE && !(nothing[j] == 0)) return false;
    for (int c = 0; c < N; ++c) {
        const index at = v + c * L;
        store(out.sums + at, sum[c]), store(out.squares + at, square[c]);
        store(out.observed + at, observed[c]);
        store(out.minimum + at, minimum[c]), store(out.maximum + at, maximum[c]);
        for (int j = 0; j < L && !FINITE; ++j) {
            out.nonfinite[at + j] += std::int64_t(odd[c][j]);
            out.missing[at + j] += std::int64_t(missing[c][j]);
        }
    }
    return true;
}
template <class T, int L, int N, bool WEIGHTED>
void describe_some(const Scratch<T>& block, const double* sample_weight, index& v,
    const double* reference, const Moments& out) {
    std::int64_t known = WEIGHTED;  // where cells were not finite before, others will not be
    for (int j = 0; j < L * N; ++j) known += out.nonfinite[v + j];
    if (known > 0 || !describe_features<T, L, N, false, true>(block, nullptr, v, reference, out))
        for (int c = 0; c < N; ++c)
            describe_features<T, L, 1, WEIGHTED, false>(
                block, sample_weight, v + c * L, reference, out);
    v += L * N;
}

template <class T, bool WEIGHTED>
void describe_block(const Scratch<T>& block, const double* sample_weight, index m,
    const double* reference, const Moments& out) {
    constexpr int L = WIDTH<double>, N = 4;
    index v = 0;
    while (v + N * L <= m) {
        fetch_ahead(block, v, v + N * L, m);
        describe_some<T, L, N, WEIGHTED>(block, sample_weight, v, reference, out);
    }
    fetch_ahead(block, v, m, m);
    while (v + L <= m) describe_some<T, L, 1, WEIGHTED>(block, sample_weight, v, reference, out);
    if (L > 4 && v + 4 <= m)
        describe_some<T, 4, 1, WEIGHTED>(block, sample_weight, v, reference, out);
    if (L > 2 && v + 2 <= m)
        describe_some<T, 2, 1, WEIGHTED>(block, sample_weight, v, reference, out);
    if (v < m) describe_some<T, 1, 1, WEIGHTED>(block, sample_weight, v, reference, out);
}

template <class T>
void describe(const Rows<T>& table, const Part& part, const double* reference, const Moments& out) {
    const index m = table.n_features;
    Scratch<T> block(part.scratch, m, 1, false, false);
    for (index v = 0; v < m; ++v)
        out.minimum[v] = __builtin_inf(), out.maximum[v] = -__builtin_inf();
    for_each_block(table, part, block, [&] {
        if (!table.sample_weight) {
            *out.mass += double(block.n_rows);
            *out.rows += block.n_rows;
            return describe_block<T, false>(block, nullptr, m, reference, out);
        }
        const double* s = table.sample_weight + block.first;
        for (index i = 0; i < block.n_rows; ++i) {
            *out.mass += s[i];
            *out.rows += s[i] > 0;
        }
        describe_block<T, true>(block, s, m, reference, out);
    });
}

// L features of a row from v on.
template <class T, int L>
inline index count_cells(const T* row, index v, std::int64_t weighs, std::int64_t* in_column) {
    using Counts = Vector<std::int64_t, L>;
    const auto y = load<Vector<T, L>>(row + v);
    const Counts there = __builtin_convertvector(y == y, Counts);  // -1 or 0
    store(in_column + v, load<Counts>(in_column + v) - (there & -weighs));
    std::int64_t sum = 0;
    for (int j = 0; j < L; ++j) sum -= there[j];
    return index(sum);
}

template <class T>
void observed(
    const Rows<T>& table, const Part& part, std::int64_t* in_row, std::int64_t* in_column) {
    constexpr int L = WIDTH<double>;
    const index m = table.n_features;
    Scratch<T> block(part.scratch, m, 1, false, false);
    for_each_block(table, part, block, [&] {
        for (index i = 0; i < block.n_rows; ++i) {
            const index row = block.first + i;
            const std::int64_t weighs = table.weighs(row);
            index sum = 0, v = 0;
            for (; v + L <= m; v += L) sum += count_cells<T, L>(block.row(i), v, weighs, in_column);
            for (; v < m; ++v) sum += count_cells<T, 1>(block.row(i), v, weighs, in_column);
            in_row[row] = sum;
        }
    });
}

}}}  // namespace fwk::FWK_ISA
