// Which center is nearest: register tiles that race, and an exact word where they cannot decide.
#pragma once
#include "minkowski.hpp"

namespace fwk {
namespace FWK_ISA {
namespace {

// ---- a start's tables ---------------------------------------------------------------------------

// Labels are certain where second - best > absolute + linear sqrt(z) + relative z, with z the
// second best dissimilarity (own weights) or the row's squared length (shared weights).
struct Prepared {
    double absolute, linear, relative, lowest_offset;
};

inline index n_tiles(index k) { return (k + MAX_TILE - 1) / MAX_TILE; }
inline int tile_size(index k, index tile) {  // sizes differ by at most one
    return int(k / n_tiles(k)) + (tile < k % n_tiles(k));
}
inline index per_element(const Starts& starts) { return starts.expanded ? 1 : 2; }

inline index n_costs(const Starts& starts) {
    return starts.costs ? starts.n_levels * round_up(starts.n_clusters, WIDE) : 0;
}
template <class T>
std::size_t prepared_bytes(const Starts& starts) {
    const index table = starts.n_clusters * (starts.n_features * per_element(starts) + 1);
    return std::size_t(round_up(sizeof(Prepared) + n_costs(starts) * index(sizeof(double)) +
                                    (table + starts.n_features) * index(sizeof(T)),
        64));
}
inline const double* costs_of(const void* prepared) {
    return reinterpret_cast<const double*>(static_cast<const Prepared*>(prepared) + 1);
}
template <class T>
inline const T* shift_of(const Starts& starts, const void* prepared) {
    return reinterpret_cast<const T*>(costs_of(prepared) + n_costs(starts));
}

// Costs of the categories with the clusters inside; returns what no row's sum of them exceeds.
inline double prepare_costs(const Starts& starts, index start, double* costs) {
    if (!starts.costs) return 0;
    const index stride = round_up(starts.n_clusters, WIDE);
    double largest = 0;
    for (index i = 0; i < n_costs(starts); ++i) costs[i] = 0;
    for (index k = 0; k < starts.n_clusters; ++k) {
        const double* own = starts.costs + (start * starts.n_clusters + k) * starts.n_levels;
        for (index level = 0; level < starts.n_levels; ++level) {
            costs[level * stride + k] = own[level];
            largest = own[level] > largest ? own[level] : largest;
        }
    }
    return largest * double(starts.n_categorical);
}

// Subnormal factors would cost a hundred cycles an operation and bring nothing.
template <class T, int L>
inline Vector<T, L> normal(Vector<double, L> x) {
    return __builtin_convertvector(
        absolute<L>(x) < SMALLEST<T> ? Vector<double, L>{} : x, Vector<T, L>);
}

// Sums over the features of a cluster, lane by lane.
template <int L>
struct Lengths {
    using D = Vector<double, L>;
    D constant = {}, squares = {}, too_large = {};

    // Writes the factors of L features to `out`, those of a feature `stride` after those of the one
    // before.
    template <class T>
    void lay(const double* center, const double* weight, const T* shift, bool expanded,
        index stride, T* out) {
        const D w = load<D>(weight);
        const D moved = load<D>(center) - load_wide<T, L>(shift);
        if (expanded) {
            const Vector<T, L> factor = normal<T, L>(-2.0 * w * moved);
            constant += w * moved * moved;
            squares += w * w * moved * moved;
            for (int l = 0; l < L; ++l) out[l * stride] = factor[l];
            return;
        }
        const D root = square_root<double, L>(w), s = root < SMALLEST<T> ? D{} : root,
                end = -s * moved;
        const Vector<T, L> slope = __builtin_convertvector(s, Vector<T, L>),
                           rest = normal<T, L>(end);
        squares += w * moved * moved;
        too_large += absolute<L>(end) <= LARGEST<T> / 16 ? D{} : D{} + 1.0;
        for (int l = 0; l < L; ++l) out[l * stride] = slope[l], out[l * stride + 1] = rest[l];
    }
};

// Layout behind the header: costs of categories, shift (M), then for each tile of clusters: its
// constants, then for each feature the pairs (s, e) or the single factors g of the tile's clusters.
template <class T>
void prepare(const Starts& starts, index start, void* prepared) {
    const index k_total = starts.n_clusters, m = starts.n_features;
    const double* centers = starts.centers + start * k_total * m;
    const double* weights = starts.weights + start * (starts.shared ? 1 : k_total) * m;
    const double* offsets = starts.offsets + start * k_total;
    const double category_size =
        prepare_costs(starts, start, const_cast<double*>(costs_of(prepared)));
    T* shift = const_cast<T*>(shift_of<T>(starts, prepared));
    for (index v = 0; v < m; ++v) shift[v] = T(starts.shift[v]);
    T* cursor = shift + m;
    double length = 0, largest_offset = 0, lowest_offset = __builtin_inf(), constant_size = 0;
    bool fits = true;  // double factors may be too large for float
    index first = 0;
    for (index tile = 0; tile < n_tiles(k_total); ++tile) {
        const int size = tile_size(k_total, tile);
        T* constants = cursor;
        T* factors = cursor + size;
        for (int j = 0; j < size; ++j) {
            const double* c = centers + (first + j) * m;
            const double* w = weights + (starts.shared ? 0 : (first + j) * m);
            const index each = per_element(starts), stride = size * each;
            Lengths<WIDE> most;
            Lengths<1> last;
            index v = 0;
            for (; v + WIDE <= m; v += WIDE)
                most.lay(c + v, w + v, shift + v, starts.expanded, stride,
                    factors + v * stride + j * each);
            for (; v < m; ++v)
                last.lay(c + v, w + v, shift + v, starts.expanded, stride,
                    factors + v * stride + j * each);
            double constant = last.constant[0], squared_length = last.squares[0],
                   beyond = last.too_large[0];
            for (int l = 0; l < WIDE; ++l) {
                constant += most.constant[l];
                squared_length += most.squares[l];
                beyond += most.too_large[l];
            }
            fits &= beyond == 0;
            const double offset = offsets[first + j];
            constants[j] = T(constant + offset);
            length = squared_length > length ? squared_length : length;
            constant_size = constant > constant_size ? constant : constant_size;
            largest_offset =
                __builtin_fabs(offset) > largest_offset ? __builtin_fabs(offset) : largest_offset;
            lowest_offset = offset < lowest_offset ? offset : lowest_offset;
        }
        cursor = factors + m * size * per_element(starts);
        first += size;
    }
    length = square_root(length);
    largest_offset += category_size;
    const double u = UNIT_ROUNDOFF<T>, terms = double(m + starts.n_categorical) + 16;
    // what underflows is below the smallest normal number; what may overflow decides nothing
    const double underflow = terms * SMALLEST<T>;
    const bool overflow =
        !fits || (starts.expanded && !(constant_size + largest_offset <= LARGEST<T> / 16));
    Prepared& header = *static_cast<Prepared*>(prepared);
    if (starts.expanded)
        header = {2 * terms * u * (constant_size + largest_offset) + underflow,
            4 * terms * u * length + underflow, 0, 0};
    else
        header = {2 * terms * u * largest_offset + 40 * u * u * length * length + underflow,
            16 * u * length, 2 * terms * u, lowest_offset};
    if (overflow) header.absolute = __builtin_inf();
}

// ---- assignment ---------------------------------------------------------------------------------

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

template <class T>
struct Best {
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

// One start with its exact dissimilarities, in double precision from the differences.
template <class T>
struct Start {
    const double *centers, *weights, *offsets, *costs, *category_weights;
    index k, m, weight_stride, n_levels, n_categorical, category_stride;
    double p;
    bool gaps, stretch, rescale;
    Start(const Rows<T>& table, const Starts& starts, index start)
        : k(starts.n_clusters), m(starts.n_features), weight_stride(starts.shared ? 0 : m),
          n_levels(starts.n_levels), n_categorical(table.n_categorical),
          category_stride(starts.shared ? 0 : n_categorical),
          p(starts.power ? starts.power[start] : 2), gaps(table.gaps),
          stretch(table.gaps && table.stretch), rescale(table.gaps && starts.rescale) {
        const index rows = starts.shared ? 1 : k;
        centers = starts.centers + start * k * m;
        weights = starts.weights + start * rows * m;
        offsets = starts.offsets + start * k;
        costs = starts.costs ? starts.costs + start * k * n_levels : nullptr;
        category_weights = starts.category_weights
                               ? starts.category_weights + start * rows * n_categorical
                               : nullptr;
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
    // The same of N rows, for squares without categories: their sums do not wait for one another.
    template <int N, bool GAPS>
    void squares(const T* const* row, const std::int32_t* cluster, double* d) const {
        using D = Vector<double, 4>;
        const double *center[N], *weight[N];
        D sums[N] = {};
        for (int r = 0; r < N; ++r)
            center[r] = centers + cluster[r] * m, weight[r] = weights + cluster[r] * weight_stride;
        index v = 0;
        for (; v + 4 <= m; v += 4)
            for (int r = 0; r < N; ++r) {
                const D y = load_wide<T, 4>(row[r] + v);
                D t = y - load<D>(center[r] + v);
                if (GAPS) t = y == y ? t : D{};
                sums[r] = sums[r] + load<D>(weight[r] + v) * (t * t);
            }
        double tails[N] = {};
        for (; v < m; ++v)
            for (int r = 0; r < N; ++r) {
                const double y = double(load<T>(row[r] + v)),
                             t = !GAPS || y == y ? y - center[r][v] : 0;
                tails[r] = tails[r] + weight[r][v] * (t * t);
            }
        for (int r = 0; r < N; ++r) {
            double lanes[4];  // of a vector in memory they would keep all of its sums there
            store(lanes, sums[r]);
            d[r] = ((lanes[0] + lanes[2]) + (lanes[1] + lanes[3])) + tails[r];
        }
    }
    // The same bits for N rows of one cluster, two of them in one vector.
    template <int N, bool GAPS>
    void squares_of_cluster(const T* const* row, index cluster, double* d) const {
        using D = Vector<double, 8>;
        const double *center = centers + cluster * m, *weight = weights + cluster * weight_stride;
        D sums[N / 2] = {};
        index v = 0;
        for (; v + 4 <= m; v += 4) {
            const auto c = load<Vector<double, 4>>(center + v),
                       w = load<Vector<double, 4>>(weight + v);
            const D both_centers = join<double, 4>(c, c), both_weights = join<double, 4>(w, w);
            for (int r = 0; r < N / 2; ++r) {
                using Cells = Vector<T, 4>;
                const D y = widened<T, 8>(
                    join<T, 4>(load<Cells>(row[2 * r] + v), load<Cells>(row[2 * r + 1] + v)));
                D t = y - both_centers;
                if (GAPS) t = y == y ? t : D{};
                sums[r] = sums[r] + both_weights * (t * t);
            }
        }
        double tails[N] = {}, lanes[4 * N];
        for (; v < m; ++v)
            for (int r = 0; r < N; ++r) {
                const double y = double(load<T>(row[r] + v)),
                             t = !GAPS || y == y ? y - center[v] : 0;
                tails[r] = tails[r] + weight[v] * (t * t);
            }
        for (int r = 0; r < N / 2; ++r) store(lanes + 8 * r, sums[r]);
        for (int r = 0; r < N; ++r) {
            const double* l = lanes + 4 * r;
            d[r] = ((l[0] + l[2]) + (l[1] + l[3])) + tails[r];
        }
    }
    template <int N>
    void squares_of_cluster(const Scratch<T>& block, index first, index last, index cluster) const {
        const T* rows[N];
        double d[N];
        for (int r = 0; r < N; ++r)
            rows[r] = block.row(block.order[first + r < last ? first + r : first]);
        if (gaps) squares_of_cluster<N, true>(rows, cluster, d);
        else squares_of_cluster<N, false>(rows, cluster, d);
        for (int r = 0; r < N && first + r < last; ++r)
            block.distances[block.order[first + r]] = d[r];
    }
    // block.distances of all rows, which are sorted by their labels.
    void squares_of_sorted(const Scratch<T>& block) const {
        for (index j = 0; j < k; ++j) {
            const index end = block.position[j + 1];
            index p = block.position[j];
            for (; p + 4 < end; p += 8) squares_of_cluster<8>(block, p, end, j);
            if (p < end) squares_of_cluster<4>(block, p, end, j);
        }
    }
    // use(i, d) for each of n rows row(i) and their clusters cluster(i).
    template <class Row, class Cluster, class Use>
    void squares(index n, Row row, Cluster cluster, Use use) const {
        constexpr int TOGETHER = 4;
        for (index first = 0; first < n; first += TOGETHER) {
            const T* rows[TOGETHER];
            std::int32_t clusters[TOGETHER];
            double d[TOGETHER];
            for (index r = 0; r < TOGETHER; ++r) {
                const index i = first + r < n ? first + r : first;
                rows[r] = row(i), clusters[r] = cluster(i);
            }
            if (gaps) squares<TOGETHER, true>(rows, clusters, d);
            else squares<TOGETHER, false>(rows, clusters, d);
            for (index r = 0; r < TOGETHER && first + r < n; ++r) use(first + r, d[r]);
        }
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
        if (unit == 0 && p == 2 && !costs && !divide) {
            squares(k, [&](index) { return row; }, [](index j) { return std::int32_t(j); }, race);
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

// Bounds of the distances to the nearest center and to all others: roots of the two best squares,
// `slack` more and less for what they may be off. A label that was decided again is that of one of
// the near centers, so the best square bounds all. Squares too small for float bound nothing: see
// Bounds. Offsets do not belong to distances: what a cluster had more than its square is taken
// away, or the most it can be.
template <class T, bool SHARED, class Mask>
inline void leave_bounds(const Scratch<T>& block, index i, index k, index m, V<T> value,
    V<T> second, V<T> slack, V<T> label, Mask certain, index n, double unit) {
    constexpr int W = WIDTH<T>;
    using D = Vector<double, W>;
    using F = Vector<float, W>;
    if (SHARED) {
        const V<T> length = load<V<T>>(block.lengths + i);
        value += length;
        second += length;
        slack += length * T((double(m) + 16) * 8 * UNIT_ROUNDOFF<T>);
    }
    const V<T> next = certain ? second : value;
    const D highest_square =
        (__builtin_convertvector(value, D) + __builtin_convertvector(slack, D)) * unit * unit;
    const D lowest_square =
        (__builtin_convertvector(next, D) - __builtin_convertvector(slack, D)) * unit * unit;
    F most = __builtin_convertvector(highest_square, F),
      least = __builtin_convertvector(lowest_square, F);
    if (block.offsets) {
        const Offsets& offsets = *block.offsets;
        const auto labels = __builtin_convertvector(label, Vector<std::int32_t, W>);
        const auto sure = __builtin_convertvector(certain, Vector<std::int32_t, W>);
        const F own = sure ? ByLabel(offsets.own, k).of<W>(labels) : F{} + offsets.least;
        const F others = sure ? ByLabel(offsets.most_other, k).of<W>(labels) : F{} + offsets.most;
        most += 1e-6f * (absolute<W>(most) + absolute<W>(own)) - own;
        least -= 1e-6f * (absolute<W>(least) + absolute<W>(others)) + others;
    }
    most =
        most >= 0.0f ? most : (most < 0.0f ? F{} : F{} + __builtin_inff());  // NaN bounds nothing
    const F highest = most * 1.000002f + 1e-36f;
    F lowest = least * 0.999998f - 1e-36f;
    lowest = lowest > 0.0f ? lowest : F{};
    const F upper = square_root<float, W>(highest), lower = square_root<float, W>(lowest);
    if (n == W) {
        store(block.upper + i, upper);
        store(block.lower + i, lower);
    } else {
        for (index j = 0; j < n; ++j) block.upper[i + j] = upper[j], block.lower[i + j] = lower[j];
    }
}

// Labels, and bounds if wanted, of a vector of rows from i on after their race; nearest(i) decides
// where the race could not, and how often is returned.
template <class T, bool SHARED, class Nearest>
inline index settle(Scratch<T>& block, const Prepared& bound, index i, index k, index m, V<T> value,
    V<T> second, V<T> label, double unit, Nearest nearest) {
    const V<T> scale = SHARED ? load<V<T>>(block.norms + i) : second - T(bound.lowest_offset);
    const V<T> slack = T(bound.absolute) + T(bound.linear) * square_root<T, WIDTH<T>>(scale) +
                       T(bound.relative) * scale;
    const auto certain = second - value > slack;
    const index n = block.n_rows - i < WIDTH<T> ? block.n_rows - i : WIDTH<T>;
    std::int32_t* labels = block.labels + i;
    if (block.upper)
        leave_bounds<T, SHARED>(block, i, k, m, value, second, slack, label, certain, n, unit);
    const auto found = __builtin_convertvector(label, Vector<std::int32_t, WIDTH<T>>);
    if (n == WIDTH<T>) store(labels, found);
    else
        for (index j = 0; j < n; ++j) labels[j] = found[j];
    std::uint64_t words[BYTES / 8];
    store(words, certain);
    bool doubtful = false;
    for (const std::uint64_t word : words) doubtful |= ~word != 0;
    index n_doubtful = 0;
    if (doubtful)
        for (index j = 0; j < n; ++j)
            if (certain[j] == 0) {
                labels[j] = nearest(i + j);
                ++n_doubtful;
            }
    return n_doubtful;
}

// Labels of the packed block for one start; nearest(i) decides where the race cannot, and how often
// is returned.
template <class T, bool SHARED, class Nearest>
index race_block(
    Scratch<T>& block, const Starts& starts, const void* prepared, double unit, Nearest nearest) {
    index n_doubtful = 0;
    const index k = starts.n_clusters, m = starts.n_features;
    const Prepared& bound = *static_cast<const Prepared*>(prepared);
    // A tile of clusters races several tiles of rows while its factors are in the first cache.
    constexpr index GROUP = 4;
    const index group = block.levels ? 1 : GROUP;
    for (index g0 = 0; g0 < block.n_rows; g0 += group * TILE_ROWS<T>) {
        const index g1 =
            g0 + group * TILE_ROWS<T> < block.n_rows ? g0 + group * TILE_ROWS<T> : block.n_rows;
        Best<T> bests[GROUP];
        const T* constants = shift_of<T>(starts, prepared) + m;
        if (block.levels)
            look_up<T, TILE_ROWS<T>>(block, g0, block.n_rows - g0, costs_of(prepared), k);
        index first = 0;
        for (index tile = 0; tile < n_tiles(k); ++tile) {
            const int size = tile_size(k, tile);
            const double* lookups = block.levels ? block.lookups + first * TILE_ROWS<T> : nullptr;
            Best<T>* best = bests;
            for (index i0 = g0; i0 < g1; i0 += TILE_ROWS<T>, ++best) {
                const T* panel = block.panels + i0 * m;
                if (!SHARED && block.holes && block.holes[i0 / TILE_ROWS<T>])
                    race_masked<T>(size, panel, constants, m, lookups, first, *best);
                else if (block.n_rows - i0 > WIDTH<T>)
                    race_tile<T, ROW_VECTORS, SHARED>(
                        size, panel, constants, m, lookups, first, *best);
                else race_tile<T, 1, SHARED>(size, panel, constants, m, lookups, first, *best);
            }
            constants += size * (1 + m * (SHARED ? 1 : 2));
            first += size;
        }
        for (index i0 = g0; i0 < g1; i0 += TILE_ROWS<T>) {
            const Best<T>& best = bests[(i0 - g0) / TILE_ROWS<T>];
            const index left = block.n_rows - i0;
            for (int r = 0; r < ROW_VECTORS && r * WIDTH<T> < left; ++r)
                n_doubtful += settle<T, SHARED>(block, bound, i0 + r * WIDTH<T>, k, m,
                    best.value[r], best.second[r], best.label[r], unit, nearest);
        }
    }
    return n_doubtful;
}
template <class T, bool SHARED>
void assign_block(
    Scratch<T>& block, const Start<T>& exactly, const Starts& starts, const void* prepared) {
    race_block<T, SHARED>(block, starts, prepared, 0,
        [&](index i) { return exactly.nearest(block.row(i), block.levels_of(i)); });
}

// Whether powers can race in single precision: weights must not vanish there, nor offsets decide.
template <class T>
bool can_race_in_single(const Scratch<T>& block, const Start<T>& exactly) {
    if (block.levels || !(exactly.p <= MOST_POWER) || exactly.k >= (1 << 24)) return false;
    for (index j = 0; j < exactly.k; ++j)
        if (exactly.offsets[j] != 0) return false;
    const index n = exactly.weight_stride ? exactly.k * exactly.m : exactly.m;
    for (index i = 0; i < n; ++i) {
        const double w = exactly.weights[i];
        if (w != 0 && !(w >= 0x1p-60 && w <= 0x1p20)) return false;
    }
    return true;
}

// Labels of the rows of two panels, if single precision decides all of a panel: bits of those
// decided.
template <class T>
int race_in_single(Scratch<T>& block, const Start<T>& exactly, index i0) {
    const index k = exactly.k, m = exactly.m, n = block.n_rows - i0;
    const double* panel = block.wide + i0 * m;
    const double* next = n > WIDE ? panel + WIDE * m : panel;
    const Single infinite = Single{} + __builtin_inff();
    SingleBest best = {infinite, infinite, Single{}, Single{}};
    for (index first = 0; first < k; first += WIDE_TILE)
        race_single(k - first, panel, next, exactly.centers + first * m,
            exactly.weights + first * exactly.weight_stride, exactly.weight_stride, m,
            float(exactly.p), first, best);
    const double error = RAISE_ERROR(exactly.p) + 4 * double(m + 4) * UNIT_ROUNDOFF<float>;
    const float above = float(1 + 2.1 * error),
                tiny = float(double(m) * 0x1p-95);  // of what underflows
    const auto certain = (best.second > best.value * above + tiny) & (best.total < infinite);
    int decided = 0;
    for (int part = 0; part < 2 && part * WIDE < n; ++part) {
        bool all = true;
        const index rows = n - part * WIDE < WIDE ? n - part * WIDE : WIDE;
        for (index j = 0; j < rows; ++j) {
            all &= certain[part * WIDE + j] != 0;
            block.labels[i0 + part * WIDE + j] = std::int32_t(best.label[part * WIDE + j]);
        }
        decided |= int(all) << part;
    }
    return decided;
}

// The same for powers other than squares.
template <class T, Power P>
void assign_block(Scratch<T>& block, const Start<T>& exactly, const void* prepared) {
    const index k = exactly.k, m = exactly.m;
    const bool single = P == Power::general && can_race_in_single(block, exactly);
    int decided = 0;
    for (index i0 = 0; i0 < block.n_rows; i0 += WIDE) {
        if (single) {
            const int part = int(i0 / WIDE % 2);
            if (part == 0) decided = race_in_single(block, exactly, i0);
            if (decided >> part & 1) {
                fetch_ahead(block, i0, i0 + WIDE, block.n_rows);
                continue;
            }
        }
        WideBest best = {Wide{} + __builtin_inf(), {}};
        fetch_ahead(block, i0, i0 + WIDE, block.n_rows);
        if (block.levels) look_up<T, WIDE>(block, i0, block.n_rows - i0, costs_of(prepared), k);
        for (index first = 0; first < k; first += WIDE_TILE)
            race_wide<P>(k - first, block.wide + i0 * m, exactly.centers + first * m,
                exactly.weights + first * exactly.weight_stride, exactly.weight_stride, m,
                exactly.p, block.levels ? block.lookups + first * WIDE : nullptr, WIDE,
                exactly.offsets + first, first, best);
        for (index i = i0; i < i0 + WIDE && i < block.n_rows; ++i) {
            const bool decided =
                best.value[i - i0] < __builtin_inf() &&
                !(exactly.gaps && exactly.n_missing(block.row(i), block.levels_of(i)) > 0);
            block.labels[i] = decided ? std::int32_t(best.label[i - i0])
                                      : exactly.nearest(block.row(i), block.levels_of(i));
        }
    }
}

// Rows with missing cells, where a cluster counts by its observed weight.
template <class T>
void divide_anew(Scratch<T>& block, const Start<T>& exactly) {
    for (index i = 0; i < block.n_rows; ++i)
        if (exactly.n_missing(block.row(i), block.levels_of(i)) > 0)
            block.labels[i] = exactly.nearest(block.row(i), block.levels_of(i));
}

template <class T>
inline void assign_block(Scratch<T>& block, const Start<T>& exactly, const Starts& starts,
    index start, const char* prepared) {
    const void* own = prepared + start * prepared_bytes<T>(starts);
    if (starts.n_clusters == 1)
        for (index i = 0; i < block.n_rows; ++i) block.labels[i] = 0;
    else if (!squares(starts, start))
        with_kind(exactly.p,
            [&](auto kind) { assign_block<T, decltype(kind)::value>(block, exactly, own); });
    else if (starts.expanded) assign_block<T, true>(block, exactly, starts, own);
    else assign_block<T, false>(block, exactly, starts, own);
    if (exactly.rescale) divide_anew(block, exactly);
}

// Calls body() for each block of rows [begin, end), of which each but the last has `step`.
template <class T, class Body>
inline void for_each_block(const Rows<T>& table, index begin, index end, index step,
    Scratch<T>& block, Cancel cancel, Body body) {
    for (index at = begin; at < end && !cancel.poll(cancel.state); at += step) {
        const index stop = at + step < end ? at + step : end;
        stage(table, at, stop, block);
        const index next = stop + step < end ? step : end - stop;
        const bool known = next > 0 && table.column_stride == 1 && table.row_stride > 0;
        block.ahead =
            known ? reinterpret_cast<const char*>(table.data + stop * table.row_stride) : nullptr;
        block.ahead_bytes = next * table.row_stride * index(sizeof(T));
        body();
    }
}
template <class T, class Body>
inline void for_each_block(
    const Rows<T>& table, index begin, index end, Scratch<T>& block, Cancel cancel, Body body) {
    for_each_block(table, begin, end, block_rows<T>(table.n_features), block, cancel, body);
}

// Labels and keys of the block's rows, which are packed in F and begin with a tile, for the only
// start; returns how many the race could not decide.
template <class T, class F>
index assign_packed(const Rows<T>& table, Scratch<T>& block, const Start<T>& exactly,
    const Starts& starts, const char* prepared) {
    const PackedRows<F> packed(table.packed, table.n_rows, table.n_features, table.gaps);
    Scratch<F> racing(nullptr, table.n_features, starts.n_clusters, false);
    racing.n_rows = block.n_rows;
    racing.panels = packed.panels + block.first * table.n_features;
    racing.norms = packed.norms + block.first;
    racing.holes = packed.holes ? packed.holes + block.first / TILE_ROWS<F> : nullptr;
    racing.labels = block.labels;
    racing.levels = nullptr;
    block.keys = packed.keys + block.first;
    const auto nearest = [&](index i) { return exactly.nearest(block.row(i), nullptr); };
    if (starts.expanded) return race_block<F, true>(racing, starts, prepared, 0, nearest);
    return race_block<F, false>(racing, starts, prepared, 0, nearest);
}
template <class T>
index assign_packed(const Rows<T>& table, Scratch<T>& block, const Start<T>& exactly,
    const Starts& starts, const char* prepared) {
    return table.single ? assign_packed<T, float>(table, block, exactly, starts, prepared)
                        : assign_packed<T, T>(table, block, exactly, starts, prepared);
}

// Packs a block for assign_block.
template <class T>
inline void pack_block(
    const Rows<T>& table, const Starts& starts, const char* prepared, Scratch<T>& block) {
    const bool narrow = any_squares(starts);
    if (narrow) pack(block, table.n_features, shift_of<T>(starts, prepared));
    if (narrow && starts.expanded) measure_rows(block, table.n_features);
    if (!all_squares(starts)) pack_wide(block, table.n_features);
}

// The same with packed blocks, ready for assign_block.
template <class T, class Body>
inline void for_each_packed_block(const Rows<T>& table, index begin, index end,
    const Starts& starts, const char* prepared, Scratch<T>& block, Cancel cancel, Body body) {
    for_each_block(table, begin, end, block, cancel, [&] {
        pack_block(table, starts, prepared, block);
        body();
    });
}

}  // namespace
}  // namespace FWK_ISA
}  // namespace fwk
