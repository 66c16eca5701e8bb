// k-means++: squared distances of all rows to a few candidates at once, lanes over rows.
#pragma once
#include "common/block.hpp"

namespace fwk { namespace FWK_ISA { namespace {

inline index seeding_rows(index n_rows) { return round_up(n_rows, WIDE); }

// packed: (panels of WIDE rows, M, WIDE); rows beyond the last are zero.
inline void pack_for_seeding(const double* rows, index n_rows, index m, double* packed) {
    for (index i0 = 0; i0 < n_rows; i0 += WIDE)
        for (index v = 0; v < m; ++v)
            for (index i = 0; i < WIDE; ++i)
                packed[(i0 * m) + v * WIDE + i] = i0 + i < n_rows ? rows[(i0 + i) * m + v] : 0;
}

template <int C>
void nearest_candidates(const Seeding& rows, const double* points, const double* closest,
    double* out, double* potential) {
    const index m = rows.n_features, stride = seeding_rows(rows.n_rows);
    Wide total[C] = {};
    for (index i = 0; i < rows.n_rows; i += WIDE) {
        const double* panel = rows.packed + i * m;
        Wide sum[C] = {};
        for (index v = 0; v < m; ++v) {
            const Wide y = load<Wide>(panel + v * WIDE);
            for (int c = 0; c < C; ++c) {
                const Wide t = y - points[c * m + v];
                sum[c] += t * t;
            }
        }
        const Wide weight = load<Wide>(rows.weights + i);  // zero beyond the last row
        for (int c = 0; c < C; ++c) {
            Wide d = sum[c];
            if (closest) {
                const Wide before = load<Wide>(closest + i);
                d = d < before ? d : before;
            }
            store(out + c * stride + i, d);
            total[c] += d * weight;
        }
    }
    for (int c = 0; c < C; ++c) {
        potential[c] = 0;
        for (int j = 0; j < WIDE; ++j) potential[c] += total[c][j];
    }
}

// out[c] = min(closest, squared distance to point c); potential[c] = its weighted sum.
inline void nearest_candidates(const Seeding& rows, const double* points, index n_points,
    const double* closest, double* out, double* potential) {
    const index m = rows.n_features, stride = seeding_rows(rows.n_rows);
    for (index c = 0; c < n_points;) {
        const index left = n_points - c;
        double* to = out + c * stride;
        if (left >= 4)
            nearest_candidates<4>(rows, points + c * m, closest, to, potential + c), c += 4;
        else if (left == 3)
            nearest_candidates<3>(rows, points + c * m, closest, to, potential + c), c += 3;
        else if (left == 2)
            nearest_candidates<2>(rows, points + c * m, closest, to, potential + c), c += 2;
        else nearest_candidates<1>(rows, points + c * m, closest, to, potential + c), c += 1;
    }
}

}}}  // namespace fwk::FWK_ISA
