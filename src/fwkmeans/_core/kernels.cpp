// The only code that reads a row. Tricks, with what benchmarks/suite.py shows for them:
//  * lanes run over rows: a block is transposed while it is packed, then a register tile of
//    ROW_VECTORS x a few clusters is filled at two multiply-adds an element, t = s y + e, acc += t
//    t (one, y g, when all clusters share their weights), without a horizontal sum anywhere;
//  * labels that such a tile cannot decide for certain (a rigorous rounding bound says which) are
//    decided again in double precision from the differences themselves, so nothing is traded;
//  * statistics: rows of a block are sorted by label, so that sums stay in registers for each
//    cluster in turn instead of being loaded and stored for every row; where the last labels are
//    known only the rows that changed are taken out of one cluster and put into another.
// Compiled once per instruction set (FWK_ISA, FWK_BYTES); no standard library in here.
#include "bounded.hpp"
#include "roots.hpp"
#include "seeding.hpp"

namespace fwk {
namespace FWK_ISA {
namespace {

// ---- the other reductions -----------------------------------------------------------------------

template <class T>
void farthest(const Rows<T>& table, index begin, index end, const Starts& starts, index first,
    index last, const char* prepared, void* scratch, const Farthest& out, Cancel cancel) {
    const index k = starts.n_clusters;
    Scratch<T> block(scratch, starts.n_features, k, starts.power, table.gaps);
    for_each_packed_block(table, begin, end, starts, prepared, block, cancel, [&] {
        for (index start = first; start < last; ++start) {
            const Start<T> exactly(table, starts, start);
            assign_block(block, exactly, starts, start, prepared);
            for (index i = 0; i < block.n_rows; ++i) {
                const index label = block.labels[i];
                if (table.sample_weight && !(table.sample_weight[block.first + i] > 0)) continue;
                if (!out.eligible[start * k + label]) continue;
                const double d = exactly(block.row(i), block.levels_of(i), label) *
                                 exactly.stretched(block.row(i), block.levels_of(i));
                if (d > out.distance[start]) {
                    out.distance[start] = d;
                    out.row[start] = table.first_row + block.first + i;
                }
            }
        }
    });
}

template <class T>
void farthest_bounded(const Rows<T>& table, index begin, index end, const Starts& starts,
    void* scratch, const std::int32_t* labels, const Bounds& bounds, const Farthest& out,
    Cancel cancel) {
    const Start<T> exactly(table, starts, 0);
    Scratch<T> block(scratch, starts.n_features, starts.n_clusters, false, table.gaps);
    for_each_block(table, begin, end, block, cancel, [&] {
        for (index i = 0; i < block.n_rows; ++i) {
            const index row = block.first + i, label = labels[row];
            const double most = double(bounds.upper[row]) / bounds.unit;
            if (most * most * (1 + 1e-9) < out.distance[0] || !out.eligible[label]) continue;
            if (table.sample_weight && !(table.sample_weight[row] > 0)) continue;
            const double d =
                exactly(block.row(i), nullptr, label) * exactly.stretched(block.row(i), nullptr);
            if (d > out.distance[0]) out.distance[0] = d, out.row[0] = table.first_row + row;
        }
    });
}

// Labels of rows without categories by a race in float; false if that decides too few.
template <class T>
bool assign_in_single(Scratch<T>& block, Undecided<float>& open, const Start<T>& exactly,
    const Starts& starts, const char* single) {
    for (index i = 0; i < block.n_rows; ++i) open.places[i] = std::int32_t(i);
    const index doubtful = race_undecided(block, open, block.n_rows, exactly, starts, single, 0);
    for (index i = 0; i < block.n_rows; ++i) block.labels[i] = open.rows.labels[i];
    return doubtful <= block.n_rows / 8;
}

// block.distances of all rows to the centers of their clusters.
template <class T>
void measure_own(Scratch<T>& block, const Start<T>& exactly) {
    const auto row = [&](index i) { return block.row(i); };
    const auto label = [&](index i) { return block.labels[i]; };
    const bool squared = exactly.p == 2 && !exactly.costs;
    if (squared && block.n_rows >= 8 * exactly.k) {  // several rows of a cluster share its numbers
        sort_by_label(block, exactly.k, block.labels, block.n_rows, false);
        exactly.squares_of_sorted(block);
    } else if (squared) {
        exactly.squares(
            block.n_rows, row, label, [&](index i, double d) { block.distances[i] = d; });
    } else {
        for (index i = 0; i < block.n_rows; ++i)
            block.distances[i] = exactly(row(i), block.levels_of(i), label(i));
    }
}

// `single`: prepared by the kernels of float, null if not; its scratch is that of bounded passes.
// Rows that are packed race as they are packed.
template <class T>
void assign(const Rows<T>& table, index begin, index end, const Starts& starts,
    const char* prepared, const char* single, void* scratch, const Labels& out, Cancel cancel) {
    if (out.known) single = nullptr;
    const Start<T> exactly(table, starts, 0);
    const bool look = out.odd && !out.known;
    Scratch<T> block = table.packed ? scratch_of_packed(scratch, table, starts.n_clusters)
                                    : Scratch<T>(scratch, starts.n_features, starts.n_clusters,
                                          starts.power, table.gaps || look);
    const bool largest = exactly.p == __builtin_inf();
    double objective = 0;
    const index m = starts.n_features;
    Undecided<float> open(block.end, single ? m : 1, single ? starts.n_clusters : 1,
        block_rows<T>(m), table.gaps || look);
    open.rows.upper = nullptr;
    const index step = table.packed ? end - begin : block_rows<T>(m);
    for_each_block(table, begin, end, step, block, cancel, [&] {
        if (out.known) {
            __builtin_memcpy(
                block.labels, out.labels + (block.first - begin), std::size_t(block.n_rows) * 4);
        } else if (table.packed) {
            assign_packed(table, block, exactly, starts, table.single ? single : prepared);
        } else if (single) {
            if (!assign_in_single(block, open, exactly, starts, single)) single = nullptr;
        } else {
            pack_block(table, starts, prepared, block);
            assign_block(block, exactly, starts, 0, prepared);
        }
        __builtin_memcpy(
            out.labels + (block.first - begin), block.labels, std::size_t(block.n_rows) * 4);
        if (!out.objective && !out.distances) return;
        const auto weight = [&](index i) {
            return table.sample_weight ? table.sample_weight[block.first + i] : 1;
        };
        const auto add = [&](index i, double d) {
            if (!(weight(i) > 0)) return;  // such a row may be infinitely far
            d += exactly.offsets[block.labels[i]];
            if (!largest) objective += weight(i) * d;
            else if (d > objective) objective = d;
        };
        const bool are_there = out.objective && out.distances;
        if (!are_there) measure_own(block, exactly);
        double* distances = out.distances ? out.distances + (block.first - begin) : nullptr;
        if (!out.objective)
            __builtin_memcpy(
                distances, block.distances, std::size_t(block.n_rows) * sizeof(double));
        else
            for (index i = 0; i < block.n_rows; ++i)
                add(i, are_there ? distances[i] : block.distances[i]);
    });
    if (out.objective) *out.objective = objective;
    if (look && (block.odd || open.rows.odd || !any_squares(starts))) *out.odd = true;
}

template <class T>
void distances(const Rows<T>& table, index begin, index end, const Starts& starts, void* scratch,
    T* out, Cancel cancel) {
    const Start<T> exactly(table, starts, 0);
    Scratch<T> block(scratch, starts.n_features, starts.n_clusters, false);
    for_each_block(table, begin, end, block, cancel, [&] {
        for (index i = 0; i < block.n_rows; ++i) {
            bool known = !exactly.rescale;  // some cluster's weight is observed
            for (index j = 0; j < starts.n_clusters && !known; ++j)
                known = exactly.rescaled(block.row(i), block.levels_of(i), j) < __builtin_inf();
            for (index j = 0; j < starts.n_clusters; ++j)
                *out++ = known ? T(exactly.distance(block.row(i), block.levels_of(i), j)) : T(0);
        }
    });
}

// L features from v on, over the rows of a block, with everything held in registers.
template <class T, int L, bool WEIGHTED>
void describe_features(const Scratch<T>& block, const double* sample_weight, index v,
    const double* reference, const Moments& out) {
    using D = Vector<double, L>;
    const D origin = load<D>(reference + v), one = D{} + 1.0;
    D sum = load<D>(out.sums + v), square = load<D>(out.squares + v), nonfinite = {}, missing = {};
    D observed = load<D>(out.observed + v);
    D minimum = load<D>(out.minimum + v), maximum = load<D>(out.maximum + v);
    for (index i = 0; i < block.n_rows; ++i) {
        const auto cells = load<Vector<T, L>>(block.rows + i * block.row_stride + v);
        const D y = __builtin_convertvector(cells, D), t = y == y ? y - origin : D{};
        nonfinite += y - y == D{} ? D{} : one;
        missing += y == y ? D{} : one;
        const double s = WEIGHTED ? sample_weight[i] : 1;
        if (WEIGHTED && !(s > 0)) continue;
        const D st = WEIGHTED ? t * s : t;
        observed += y == y ? D{} + s : D{};
        sum += st;
        square += st * t;
        minimum = y < minimum ? y : minimum;
        maximum = y > maximum ? y : maximum;
    }
    store(out.sums + v, sum);
    store(out.squares + v, square);
    store(out.minimum + v, minimum);
    store(out.maximum + v, maximum);
    store(out.observed + v, observed);
    for (int j = 0; j < L; ++j) {
        out.nonfinite[v + j] += std::int64_t(nonfinite[j]);
        out.missing[v + j] += std::int64_t(missing[j]);
    }
}

// The same for N vectors of features at once of rows without weights, if all cells are finite;
// false if one is not, or squares overflow, and nothing is written then. The last vector ends with
// the last feature at most, and may overlap others.
template <class T, int L, int N>
bool describe_finite(
    const Scratch<T>& block, index v, index m, const double* reference, const Moments& out) {
    using D = Vector<double, L>;
    D origin[N], sum[N], square[N], observed[N], minimum[N], maximum[N], nothing = {};
    const index wanted = v + (N - 1) * L, last = wanted + L <= m ? wanted : m - L;
    const auto at = [&](int c) { return c < N - 1 ? v + c * L : last; };
    for (int c = 0; c < N; ++c) {
        origin[c] = load<D>(reference + at(c));
        sum[c] = load<D>(out.sums + at(c));
        square[c] = load<D>(out.squares + at(c));
        observed[c] = load<D>(out.observed + at(c)) + double(block.n_rows);
        minimum[c] = load<D>(out.minimum + at(c));
        maximum[c] = load<D>(out.maximum + at(c));
    }
    for (index i = 0; i < block.n_rows; ++i) {
        const T* row = block.rows + i * block.row_stride;
        for (int c = 0; c < N; ++c) {
            const D y = load_wide<T, L>(row + at(c)), t = y - origin[c];
            sum[c] += t;
            square[c] += t * t;
            minimum[c] = y < minimum[c] ? y : minimum[c];
            maximum[c] = y > maximum[c] ? y : maximum[c];
        }
    }
    for (int c = 0; c < N; ++c) nothing += square[c] * 0.0;  // NaN where a cell was not finite
    for (int j = 0; j < L; ++j)
        if (!(nothing[j] == 0)) return false;
    for (int c = 0; c < N; ++c) {
        const int done =
            N == 1 ? int(v - last) : 0;  // what overlaps a vector of the same call is the same
        store_from(done, out.sums + at(c), sum[c]);
        store_from(done, out.squares + at(c), square[c]);
        store_from(done, out.minimum + at(c), minimum[c]);
        store_from(done, out.maximum + at(c), maximum[c]);
        store_from(done, out.observed + at(c), observed[c]);
    }
    return true;
}
// The features from v on, in N vectors or as many as are left.
template <class T, int L, int N>
bool describe_rest(
    const Scratch<T>& block, index v, index m, const double* reference, const Moments& out) {
    if constexpr (N > 1)
        if (v + (N - 1) * L >= m) return describe_rest<T, L, N - 1>(block, v, m, reference, out);
    fetch_ahead(block, v, m, m);
    for (index u = v; u < m; ++u)
        if (out.nonfinite[u] > 0) return false;
    return describe_finite<T, L, N>(block, v, m, reference, out);
}

// Vectors of L features from v on, N at a time.
template <class T, int L, int N, bool WEIGHTED>
void describe_features(const Scratch<T>& block, const double* sample_weight, index& v, index m,
    const double* reference, const Moments& out) {
    for (; v + L * N <= m; v += L * N) {
        fetch_ahead(block, v, v + L * N, m);
        std::int64_t known = 0;  // where cells were not finite before, others will not be
        for (int j = 0; j < L * N; ++j) known += out.nonfinite[v + j];
        if (!WEIGHTED && known == 0 && describe_finite<T, L, N>(block, v, m, reference, out))
            continue;
        for (int c = 0; c < N; ++c)
            describe_features<T, L, WEIGHTED>(block, sample_weight, v + c * L, reference, out);
    }
}

template <class T, bool WEIGHTED>
void describe_block(const Scratch<T>& block, const double* sample_weight, index m,
    const double* reference, const Moments& out) {
    constexpr int L = WIDTH<double>;
    index v = 0;
    describe_features<T, L, 4, WEIGHTED>(block, sample_weight, v, m, reference, out);
    if (v == m || (!WEIGHTED && m >= L && describe_rest<T, L, 4>(block, v, m, reference, out)))
        return;
    describe_features<T, L, 1, WEIGHTED>(block, sample_weight, v, m, reference, out);
    if (L > 4) describe_features<T, 4, 1, WEIGHTED>(block, sample_weight, v, m, reference, out);
    if (L > 2) describe_features<T, 2, 1, WEIGHTED>(block, sample_weight, v, m, reference, out);
    describe_features<T, 1, 1, WEIGHTED>(block, sample_weight, v, m, reference, out);
}

template <class T>
void describe(const Rows<T>& table, index begin, index end, const double* reference, void* scratch,
    const Moments& out, Cancel cancel) {
    const index m = table.n_features;
    Scratch<T> block(scratch, m, 1, false);
    for (index v = 0; v < m; ++v)
        out.minimum[v] = __builtin_inf(), out.maximum[v] = -__builtin_inf();
    for_each_block(table, begin, end, block, cancel, [&] {
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

// Whether all cells of the rows are finite numbers.
template <class T>
bool finite(const Rows<T>& table, index begin, index end, void* scratch, Cancel cancel) {
    const index m = table.n_features;
    Scratch<T> block(scratch, m, 1, false);
    bool all = true;
    for_each_block(table, begin, end, block, cancel, [&] {
        const index n = block.row_stride == m ? 1 : block.n_rows, size = block.n_rows * m / n;
        for (index i = 0; i < n; ++i) {
            const T* cells = block.row(i);
            V<T> nothing[4] = {};  // NaN where a cell is not finite
            index v = 0;
            for (; v + 4 * WIDTH<T> <= size; v += 4 * WIDTH<T>)
                for (int c = 0; c < 4; ++c)
                    nothing[c] += load<V<T>>(cells + v + c * WIDTH<T>) * T(0);
            T rest = 0;
            for (; v < size; ++v) rest += load<T>(cells + v) * T(0);
            const V<T> sum = (nothing[0] + nothing[1]) + (nothing[2] + nothing[3]);
            for (int j = 0; j < WIDTH<T>; ++j) rest += sum[j];
            all &= rest == 0;
        }
    });
    return all;
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
void observed(const Rows<T>& table, index begin, index end, void* scratch, std::int64_t* in_row,
    std::int64_t* in_column, Cancel cancel) {
    constexpr int L = WIDTH<double>;
    const index m = table.n_features;
    Scratch<T> block(scratch, m, 1, false);
    for_each_block(table, begin, end, block, cancel, [&] {
        for (index i = 0; i < block.n_rows; ++i) {
            const index row = block.first + i;
            const std::int64_t weighs = !table.sample_weight || table.sample_weight[row] > 0;
            index sum = 0, v = 0;
            for (; v + L <= m; v += L) sum += count_cells<T, L>(block.row(i), v, weighs, in_column);
            for (; v < m; ++v) sum += count_cells<T, 1>(block.row(i), v, weighs, in_column);
            in_row[row] = sum;
        }
    });
}

template <class T>
constexpr Kernels<T> table_of() {
    return {FWK_NAME, prepared_bytes<T>, prepare<T>, scratch_bytes<T>, packed_bytes<T>,
        begin_packing<T>, pack_rows<T>, accumulate<T>, bounded_bytes<T>, accumulate_bounded<T>,
        sum_clusters<T>, farthest<T>, farthest_bounded<T>, assign<T>, distances<T>, slopes<T>,
        powers<T>, roots_bytes, roots<T>, describe<T>, finite<T>, observed<T>, seeding_rows,
        pack_for_seeding, nearest_candidates};
}

}  // namespace

extern const Kernels<double> f64;
extern const Kernels<float> f32;
const Kernels<double> f64 = table_of<double>();
const Kernels<float> f32 = table_of<float>();

}  // namespace FWK_ISA
}  // namespace fwk
