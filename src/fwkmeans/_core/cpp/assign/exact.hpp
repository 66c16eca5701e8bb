// Exact dissimilarities, in double precision from the differences themselves.
#pragma once
#include "assign/minkowski.hpp"

namespace fwk { namespace FWK_ISA { namespace {

struct StartNumbers {
    index k, m, weight_stride;
    double p;
    const double *centers, *weights, *offsets;
};
struct StartCategories {
    index n_levels, n_categorical, category_stride;
    const double *costs, *category_weights;
};

// One start with its exact dissimilarities.
template <class T> struct Start : StartNumbers, StartCategories {
    bool gaps, stretch, rescale;
    Start(const Rows<T>& table, const Starts& starts, index start)
        : gaps(table.gaps), stretch(table.gaps && table.stretch),
          rescale(table.gaps && starts.rescale) {
        k = starts.n_clusters, m = starts.n_features, weight_stride = starts.shared ? 0 : m;
        const index rows = starts.shared ? 1 : k;
        p = starts.power ? starts.power[start] : 2;
        centers = starts.centers + start * k * m;
        weights = starts.weights + start * rows * m;
        offsets = starts.offsets + start * k;
        n_levels = starts.n_levels, n_categorical = table.n_categorical;
        category_stride = starts.shared ? 0 : n_categorical;
        costs = starts.costs ? starts.costs + start * k * n_levels : nullptr;
        const double* all = starts.category_weights;
        category_weights = all ? all + start * rows * n_categorical : nullptr;
    }
    double operator()(const T* row, const std::int32_t* levels, index cluster) const {
        const double *center = centers + cluster * m, *weight = weights + cluster * weight_stride;
        double d = with_kind(p, [&](auto kind) {
            return dissimilarity<T, decltype(kind)::value>(row, center, weight, m, p);
        });
        if (costs)
            for (index v = 0; v < n_categorical; ++v)
                if (levels[v] >= 0) d += costs[cluster * n_levels + levels[v]];
        return d;
    }
    // use(i, d) for each of n rows row(i) and their clusters cluster(i), without categories.
    template <class Row, class Cluster, class Use>
    void each(index n, Row row, Cluster cluster, Use use) const {
        constexpr int N = 4;
        with_kind(p, [&](auto kind) {
            for (index first = 0; first < n; first += N) {
                const T* rows[N];
                const double *center[N], *weight[N];
                double d[N];
                for (index r = 0; r < N; ++r) {
                    const index i = first + r < n ? first + r : first, j = cluster(i);
                    rows[r] = row(i);
                    center[r] = centers + j * m, weight[r] = weights + j * weight_stride;
                }
                dissimilarities<T, decltype(kind)::value, N>(rows, center, weight, m, p, d);
                for (index r = 0; r < N && first + r < n; ++r) use(first + r, d[r]);
            }
        });
    }
    // The same where squares or powers overflow: d / unit^p. A weight of zero leaves a feature out,
    // and in a large unit categories do not matter.
    double in_units(const T* row, const std::int32_t* levels, index cluster, double unit) const {
        const double *center = centers + cluster * m, *weight = weights + cluster * weight_stride;
        double d = 0;
        for (index v = 0; v < m; ++v) {
            const double y = double(load<T>(row + v)), t = y / unit - center[v] / unit;
            if (!(weight[v] > 0) || !(y == y)) continue;
            d = with_kind(p, [&](auto kind) {
                constexpr Power P = decltype(kind)::value;
                return gather<P>(d, weight[v] * measure<P, 1>(Vector<double, 1>{t}, p)[0]);
            });
        }
        if (costs && unit == 1)
            for (index v = 0; v < n_categorical; ++v)
                if (levels[v] >= 0) d += costs[cluster * n_levels + levels[v]];
        return d;
    }
    // A power of two that is not much below the largest value of the row and the centers.
    double unit_of(const T* row) const {
        double unit = 1;
        const auto cover = [&](double x) {
            while (unit < 0x1p1023 && unit < __builtin_fabs(x)) unit *= 2;
        };
        for (index v = 0; v < m; ++v) {
            cover(double(load<T>(row + v)));
            for (index j = 0; j < k; ++j) cover(centers[j * m + v]);
        }
        return unit;
    }
    index n_missing(const T* row, const std::int32_t* levels) const {
        index missing = 0;
        for (index v = 0; v < m; ++v) {
            const T y = load<T>(row + v);
            missing += !(y == y);
        }
        for (index v = 0; v < n_categorical; ++v) missing += levels[v] < 0;
        return missing;
    }
    // What a dissimilarity is multiplied by for its missing cells: all features / observed ones
    // (a largest difference is not a sum: it stays).
    double stretched(const T* row, const std::int32_t* levels) const {
        if (!stretch || p == __builtin_inf()) return 1;
        const double all = double(m + n_categorical);
        return all / (all - double(n_missing(row, levels)));
    }
    // ... or all of the cluster's weight / what of it is observed; 0 / 0 says nothing: infinity.
    double rescaled(const T* row, const std::int32_t* levels, index cluster) const {
        const double* weight = weights + cluster * weight_stride;
        const bool largest = p == __builtin_inf();
        double all = 0, observed = 0;
        const auto count = [&](double w, bool there) {
            all = !largest ? all + w : w > all ? w : all;
            if (there) observed = !largest ? observed + w : w > observed ? w : observed;
        };
        for (index v = 0; v < m; ++v) {
            const T y = load<T>(row + v);
            count(weight[v], y == y);
        }
        for (index v = 0; v < n_categorical; ++v)
            count(category_weights[cluster * category_stride + v], levels[v] >= 0);
        return observed > 0 ? all / observed : __builtin_inf();
    }
    std::int32_t nearest(const T* row, const std::int32_t* levels) const {
        double best = __builtin_inf();
        index label = nearest(row, levels, 0, best);
        if (!(best < __builtin_inf())) label = nearest(row, levels, 1, best);
        if (!(best < __builtin_inf())) label = nearest(row, levels, unit_of(row), best);
        return std::int32_t(label);
    }
    // Unit 0 is the fast way.
    index nearest(const T* row, const std::int32_t* levels, double unit, double& best) const {
        const bool divide = rescale && n_missing(row, levels) > 0;
        index label = 0;
        const auto race = [&](index j, double d) {
            if (unit <= 1) d += offsets[j];
            if (d < best) best = d, label = j;
        };
        if (unit == 0 && !costs && !divide) {
            each(k, [&](index) { return row; }, [](index j) { return j; }, race);
            return label;
        }
        for (index j = 0; j < k; ++j) {
            double d = unit > 0 ? in_units(row, levels, j, unit) : (*this)(row, levels, j);
            if (divide) {
                const double factor = rescaled(row, levels, j);
                d = factor < __builtin_inf() ? d * factor : factor;
            }
            race(j, d);
        }
        return label;
    }
    // The distance users see: the root of the dissimilarity.
    double distance(const T* row, const std::int32_t* levels, index cluster) const {
        double d = (*this)(row, levels, cluster), unit = 1;
        if (!(d < __builtin_inf())) d = in_units(row, levels, cluster, 1);
        if (!(d < __builtin_inf())) {
            unit = unit_of(row);
            d = in_units(row, levels, cluster, unit);
        }
        if (rescale) {
            const double factor = rescaled(row, levels, cluster);
            d = factor < __builtin_inf() ? d * factor : factor;
        } else {
            d *= stretched(row, levels);
        }
        if (p == 2) return unit * square_root(d);
        if (p == 1 || p == __builtin_inf()) return unit * d;
        return d < __builtin_inf() ? unit * raise<1>(Vector<double, 1>{d}, 1 / p)[0] : d;
    }
};

}}}  // namespace fwk::FWK_ISA
