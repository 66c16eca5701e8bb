// Arithmetic on small arrays that Python would do with a dozen calls of NumPy each: in a fit of
// some hundred rows these calls take longer than the passes over the rows. functions.py and
// array_kernels.py do the same with NumPy where there is no core.
#pragma once
#include <cmath>

#include "loop/rules.hpp"

namespace fwk {

// Moments of the rows, (M) each; see sources/describe.py.
struct MomentSums {
    const double *sums, *squares, *minimum, *maximum, *observed;
};
// What a description has of each feature; (M) each.
struct Summary {
    double *mean, *scatter, *minimum, *maximum, *span, *magnitude, *equal_weights;
    bool* varying;
};

// The lowest and the highest number; NaN if one of them is.
inline Range range_of(const double* x, index n) {
    for (index i = 0; i < n; ++i)
        if (x[i] != x[i]) return {x[i], x[i]};
    return elementwise().range(x, n);
}

// Returns the number of features that vary (all, if none does), -1 if the squares about the
// reference cancel; the rest is then only written if asked for `anyway`.
inline index summarize_moments(
    const MomentSums& moments, const double* reference, index m, bool anyway, const Summary& out) {
    bool cancels = false;
    index n_varying = 0;
    for (index v = 0; v < m; ++v) {
        const double drift = moments.sums[v] / moments.observed[v];
        const double scatter = moments.squares[v] - moments.sums[v] * drift;
        out.mean[v] = reference[v] + drift;
        out.scatter[v] = scatter <= 0 ? 0.0 : scatter;  // NaN stays
        cancels |= moments.squares[v] > 100.0 * out.scatter[v];
    }
    if (cancels && !anyway) return -1;
    for (index v = 0; v < m; ++v) {
        const bool known = moments.observed[v] > 0;
        const double low = known ? moments.minimum[v] : 0.0,
                     high = known ? moments.maximum[v] : 0.0;
        if (high <= low) out.mean[v] = low, out.scatter[v] = 0.0;
        out.minimum[v] = low;
        out.maximum[v] = high;
        out.span[v] = high - low;
        out.magnitude[v] = std::max(std::fabs(low), std::fabs(high));
        n_varying += out.varying[v] = high > low;
    }
    if (!n_varying) std::fill_n(out.varying, n_varying = m, true);
    for (index v = 0; v < m; ++v) out.equal_weights[v] = double(out.varying[v]) / double(n_varying);
    return n_varying;
}

// The largest part that one number has of the sum of its row, of n rows of m numbers >= 0.
inline double largest_part(const double* x, index n, index m) {
    double largest = 0;
    for (index i = 0; i < n; ++i) {
        double sum = 0, most = 0;
        for (index v = i * m; v < (i + 1) * m; ++v) sum += x[v], most = std::max(most, x[v]);
        if (sum > 0) largest = std::max(largest, most / sum);
    }
    return largest;
}

// Adds the weights of the rows of each cluster, in pieces of 2^16 rows; weights may be null (all
// ones).
inline void add_mass_of_rows(
    const std::int32_t* labels, const double* weights, index n, index k, double* mass) {
    constexpr index PIECE = index(1) << 16;
    std::vector<double> piece(k);
    for (index begin = 0; begin < n; begin += PIECE) {
        std::fill(piece.begin(), piece.end(), 0.0);
        const index end = std::min(n, begin + PIECE);
        for (index i = begin; i < end; ++i) piece[labels[i]] += weights ? weights[i] : 1.0;
        for (index j = 0; j < k; ++j) mass[j] += piece[j];
    }
}

}  // namespace fwk
