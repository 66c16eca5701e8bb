// The kernels of sparse rows. With w the weights and c a center,
//     sum_v w (y - c)^2 = sum_v w c^2 + sum over stored cells of (w y^2 - 2 w c y),
// so a row costs its stored cells times the clusters, whatever the number of columns. Lanes run
// over clusters: the tables w and w c are transposed once a pass. The terms may cancel, and a
// rigorous rounding bound says where: those distances are computed again from the differences of
// all columns, so labels are those of dense rows. Sums take the rows of one cluster after the
// other, so the sums of all columns stay in a cache, and no thread shares them with another.
// Compiled once per instruction set (FWK_ISA, FWK_BYTES); no standard library in here.
#include "sparse/sparse.hpp"

#include "assign/minkowski.hpp"

namespace fwk { namespace FWK_ISA {
namespace {

constexpr int LANES = WIDTH<double>;
using Lanes = V<double>;
constexpr int MOST_VECTORS = 4;       // of clusters whose sums are in registers
constexpr double ACCURATE = 1e-10;    // relative error of dissimilarities that is never exceeded
constexpr double UNDERFLOW = 1e-300;  // more than what underflow can lose
constexpr index POLL_ROWS = 256;

// ---- tables of a start --------------------------------------------------------------------------

// constants (K'), sum_v w c^2; then for each feature w c (K'), after w (K') if clusters have their
// own weights. K' is K in whole vectors; the clusters beyond K are infinitely far.
struct Tables {
    index n_lanes, stride;
    double *constants, *features;
    Tables(const Starts& starts, const void* memory)
        : n_lanes(round_up(starts.n_clusters, LANES)),
          stride(starts.shared ? n_lanes : 2 * n_lanes),
          constants(static_cast<double*>(const_cast<void*>(memory))),
          features(constants + n_lanes) {}
};

std::size_t prepared_bytes(const Starts& starts) {
    const Tables tables(starts, nullptr);
    return sizeof(double) * std::size_t(tables.n_lanes + starts.n_features * tables.stride);
}

constexpr index FEATURES_A_TASK = 512;  // features whose tables one task makes

index prepare_tasks(const Starts& starts) {
    return (starts.n_features + FEATURES_A_TASK - 1) / FEATURES_A_TASK + starts.n_clusters;
}

void prepare(const Starts& starts, index start, index task, void* memory) {
    const Tables tables(starts, memory);
    const index k = starts.n_clusters, m = starts.n_features, own = starts.shared ? 0 : m;
    const double* centers = starts.centers + start * k * m;
    const double* weights = starts.weights + start * (starts.shared ? 1 : k) * m;
    if (task >= k) {
        const index begin = (task - k) * FEATURES_A_TASK,
                    end = begin + FEATURES_A_TASK < m ? begin + FEATURES_A_TASK : m;
        for (index from = begin; from < end; from += 16) {  // few columns stay in a cache
            const index to = from + 16 < end ? from + 16 : end;
            for (index j = 0; j < tables.n_lanes; ++j) {
                double* table = tables.features + from * tables.stride + j;
                const double *c = centers + j * m, *w = weights + j * own;
                for (index v = from; v < to; ++v, table += tables.stride) {
                    if (!starts.shared) *table = j < k ? w[v] : 0;
                    table[starts.shared ? 0 : tables.n_lanes] = j < k ? w[v] * c[v] : 0;
                }
            }
        }
        return;
    }
    const double *c = centers + task * m, *w = weights + task * own;
    Lanes sum = {}, lost = {};  // lane by lane, with what the additions have rounded away
    double rest = 0;
    index v = 0;
    for (; v + LANES <= m; v += LANES) {
        const Lanes x = load<Lanes>(c + v), term = load<Lanes>(w + v) * x * x, next = sum + term;
        lost += sum > term ? (sum - next) + term : (term - next) + sum;
        sum = next;
    }
    for (; v < m; ++v) rest += w[v] * c[v] * c[v];
    for (int lane = 0; lane < LANES; ++lane) rest += lost[lane];
    for (int lane = 0; lane < LANES; ++lane) rest += sum[lane];
    tables.constants[task] = rest;
    if (task == 0)
        for (index j = k; j < tables.n_lanes; ++j) tables.constants[j] = __builtin_inf();
}

// ---- one row ------------------------------------------------------------------------------------

// squares: sum of w y^2, products: sum of w c y, for N vectors of clusters.
template <class T, int N, bool SHARED>
inline void sum_stored(const T* values, const std::int32_t* columns, index n, const double* table,
    index stride, double* squares, double* products) {
    Lanes by_square[N] = {}, by_product[N] = {};
    for (index j = 0; j < n; ++j) {
        const double y = double(values[j]);
        const double* at = table + columns[j] * stride;
        for (int q = 0; q < N; ++q) {
            if (SHARED) {
                by_product[q] += y * load<Lanes>(at + q * LANES);
            } else {
                by_square[q] += (y * y) * load<Lanes>(at + q * LANES);
                by_product[q] += y * load<Lanes>(at + stride / 2 + q * LANES);
            }
        }
    }
    for (int q = 0; q < N; ++q) {
        if (!SHARED) store(squares + q * LANES, by_square[q]);
        store(products + q * LANES, by_product[q]);
    }
}

// The row in hand: its stored cells.
template <class T> struct StoredRow {
    const T* values;
    const std::int32_t* columns;
    index n_stored, n_missing;
    double* cells;  // (M) all cells where the row is spread out, else zeros
    bool spread = false;
};
// What is known of its dissimilarities, for each cluster: (K').
struct Candidates {
    double *d, *error, *products;
};

template <class T> struct Assigner : StoredRow<T>, Candidates {
    using StoredRow<T>::values, StoredRow<T>::columns, StoredRow<T>::n_stored;
    using StoredRow<T>::n_missing, StoredRow<T>::cells, StoredRow<T>::spread;
    const SparseRows<T>& rows;
    const Tables tables;
    const double *centers, *weights, *offsets;
    const index k, m, own;  // own: how far the weights of clusters are apart; zero if shared
    const bool rescale;

    Assigner(const SparseRows<T>& rows, const Starts& starts, index start, const void* prepared,
        void* scratch)
        : rows(rows), tables(starts, prepared),
          centers(starts.centers + start * starts.n_clusters * starts.n_features),
          weights(
              starts.weights + start * (starts.shared ? 1 : starts.n_clusters) * starts.n_features),
          offsets(starts.offsets + start * starts.n_clusters), k(starts.n_clusters),
          m(starts.n_features), own(starts.shared ? 0 : starts.n_features),
          rescale(rows.gaps && starts.rescale) {
        d = static_cast<double*>(scratch);
        error = d + tables.n_lanes, products = error + tables.n_lanes;
        cells = products + tables.n_lanes;
        for (index v = 0; v < m; ++v) cells[v] = 0;
    }

    // d and error: the dissimilarities to all centers by the stored cells alone, and their bounds.
    void begin(index i) {
        const std::int64_t first = rows.begins[i];
        values = rows.values + first;
        columns = rows.columns + first;
        n_stored = index(rows.begins[i + 1] - first);
        n_missing = 0;
        if (rows.gaps)
            for (index j = 0; j < n_stored; ++j) n_missing += values[j] != values[j];
        index tile = 0;
        for (index left = tables.n_lanes / LANES; left > 0;) {
            const int n = left < MOST_VECTORS ? int(left) : MOST_VECTORS;
            switch (n) {
                case 1: sum_tile<1>(tile); break;
                case 2: sum_tile<2>(tile); break;
                case 3: sum_tile<3>(tile); break;
                default: sum_tile<MOST_VECTORS>(tile);
            }
            tile += n * LANES;
            left -= n;
        }
        finish_sums();
    }

    // The nearest center.
    index label() {
        double limit = 0;
        index candidate = 0;
        return only_candidate(limit, candidate) ? candidate : exact_label(limit);
    }

    bool only_candidate(double& limit, index& candidate) {
        limit = __builtin_inf();
        for (index j = 0; j < k; ++j) {
            const double above = d[j] + offsets[j] + bound(j);
            if (above < limit) limit = above;
        }
        index n_candidates = 0;
        for (index j = 0; j < k; ++j) {
            const bool possible = !(d[j] + offsets[j] - bound(j) > limit);
            if (possible && n_candidates == 0) candidate = j;
            n_candidates += possible;
        }
        return n_candidates == 1 && !n_missing;
    }

    double bound(index j) const {
        return error[j] + 4 * UNIT_ROUNDOFF<double> * __builtin_fabs(offsets[j]);
    }

    index exact_label(double limit) {
        index best = 0;
        double lowest = __builtin_inf();
        bool finite = false;
        for (index j = 0; j < k; ++j) {
            if (!n_missing && d[j] + offsets[j] - bound(j) > limit) continue;
            d[j] = exactly(j, 1);
            error[j] = 0;
            finite |= d[j] < __builtin_inf();
            const double cost = rescaled(d[j], j) + offsets[j];
            if (cost < lowest) lowest = cost, best = j;
        }
        if (finite || d[best] < __builtin_inf()) return best;
        const double unit = unit_of();  // offsets do not matter there
        lowest = __builtin_inf();
        for (index j = 0; j < k; ++j) {
            const double cost = rescaled(exactly(j, unit), j);
            if (cost < lowest) lowest = cost, best = j;
        }
        d[best] = exactly(best, 1);
        return best;
    }

    // The dissimilarity to a center, computed again where the terms of the sum have canceled.
    double accurate(index j) {
        if (n_missing || !(error[j] <= ACCURATE * d[j])) {
            d[j] = exactly(j, 1);
            error[j] = 0;
        }
        return d[j];
    }

    // In the order of the features that dense rows have: ties are decided alike.
    double exactly(index j, double unit) {
        if (n_missing == m) return 0;
        spread_out();
        const double *c = centers + j * m, *w = weights + j * own;
        double sum =
            unit > 1 ? __builtin_inf() : dissimilarity<double, Power::square>(cells, c, w, m, 2);
        if (sum < __builtin_inf()) return sum;
        sum = 0;
        for (index v = 0; v < m; ++v) {  // a weight of zero leaves a feature out
            const double t = cells[v] / unit - c[v] / unit;
            if (w[v] > 0 && cells[v] == cells[v]) sum += w[v] * (t * t);
        }
        return sum;
    }

    // Divided by the share of the cluster's weight that is observed, if asked for.
    double rescaled(double dissimilarity, index j) {
        if (!rescale || !n_missing) return dissimilarity;
        spread_out();
        const double* w = weights + j * own;
        double all = 0, known = 0;
        for (index v = 0; v < m; ++v) {
            all += w[v];
            if (cells[v] == cells[v]) known += w[v];
        }
        return known > 0 ? dissimilarity * (all / known) : __builtin_inf();
    }

    double stretched() const {
        return rows.gaps && rows.stretch ? double(m) / double(m - n_missing) : 1;
    }

    // A power of two that is not much below the largest value of the row and the centers.
    double unit_of() const {
        double unit = 1;
        const auto cover = [&](double x) {
            while (unit < 0x1p1023 && unit < __builtin_fabs(x)) unit *= 2;
        };
        for (index j = 0; j < n_stored; ++j) cover(double(values[j]));
        for (index at = 0; at < k * m; ++at) cover(centers[at]);
        return unit;
    }

    void spread_out() {
        if (spread) return;
        for (index j = 0; j < n_stored; ++j) cells[columns[j]] = double(values[j]);
        spread = true;
    }

    void end() {
        if (!spread) return;
        for (index j = 0; j < n_stored; ++j) cells[columns[j]] = 0;
        spread = false;
    }

   private:
    // d and error from products and squares.
    void finish_sums() {
        double squares = 0;  // that all clusters share
        for (index j = 0; j < n_stored && own == 0; ++j) {
            const double y = double(values[j]);
            squares += weights[columns[j]] * (y * y);
        }
        // at most (stored + 32) roundings of terms whose sizes add up to twice this at most
        const double ulps = UNIT_ROUNDOFF<double> * double(2 * n_stored + 64);
        for (index j = 0; j < tables.n_lanes; j += LANES) {
            const Lanes constant = load<Lanes>(tables.constants + j);
            const Lanes all = own == 0 ? Lanes{} + squares : load<Lanes>(d + j);
            const Lanes size = constant + all;
            store(d + j, size - 2.0 * load<Lanes>(products + j));
            store(error + j, size > 0.0 ? size * ulps + UNDERFLOW : Lanes{});
        }
    }
    template <int N> void sum_tile(index tile) {
        const double* table = tables.features + tile;
        if (own == 0)
            sum_stored<T, N, true>(
                values, columns, n_stored, table, tables.stride, d + tile, products + tile);
        else
            sum_stored<T, N, false>(
                values, columns, n_stored, table, tables.stride, d + tile, products + tile);
    }
};

std::size_t assign_bytes(index n_clusters, index n_features) {
    return sizeof(double) * std::size_t(3 * round_up(n_clusters, LANES) + n_features);
}

template <class T>
void assign(const SparseRows<T>& rows, const Part& part, const Starts& starts, index start,
    const void* prepared, bool stretched, std::int32_t* labels, double* own) {
    Assigner<T> by(rows, starts, start, prepared, part.scratch);
    const index begin = part.begin;
    for (index i = begin; i < part.end; ++i) {
        if ((i - begin) % POLL_ROWS == 0 && part.cancel()) return;
        by.begin(i);
        const index label = by.label();
        labels[i - begin] = std::int32_t(label);
        if (own) own[i - begin] = by.accurate(label) * (stretched ? by.stretched() : 1);
        by.end();
    }
}

template <class T>
void distances(const SparseRows<T>& rows, const Part& part, const Starts& starts,
    const void* prepared, T* out) {
    Assigner<T> by(rows, starts, 0, prepared, part.scratch);
    const index k = starts.n_clusters;
    for (index i = part.begin; i < part.end; ++i, out += k) {
        if ((i - part.begin) % POLL_ROWS == 0 && part.cancel()) return;
        by.begin(i);
        bool known = false;  // some cluster's weight is observed
        const double factor = by.rescale ? 1 : by.stretched();
        for (index j = 0; j < k; ++j) {
            double d = by.accurate(j), unit = 1;
            if (!(d < __builtin_inf())) {
                unit = by.unit_of();
                d = by.exactly(j, unit);
            }
            d = by.rescaled(d, j);
            known |= d < __builtin_inf();
            out[j] = T(unit * square_root(d * factor));
        }
        if (by.rescale && !known)
            for (index j = 0; j < k; ++j) out[j] = 0;
        by.end();
    }
}

// ---- sums ---------------------------------------------------------------------------------------

// Of the stored cells of a column: sum of s t and sum of s (or of s t^2), side by side, since one
// vector is then added for each cell; and the number of cells, if rows have weights.
using Two = Vector<double, 2>;

std::size_t sums_bytes(index n_features) { return 4 * sizeof(double) * std::size_t(n_features); }

template <class T> struct Accumulator {
    const SparseRows<T>& rows;
    const std::int64_t* listed;
    const index n_listed, m;
    double* stored;   // (M, 2)
    double* n_cells;  // (M) stored cells; null: all weights are one, so their sum is the number
    double* zeros;    // (M) mass of the cells that are not stored
    Cancel cancel;

    Accumulator(const SparseRows<T>& rows, const std::int64_t* listed, index n_listed, bool signs,
        void* scratch, Cancel cancel)
        : rows(rows), listed(listed), n_listed(n_listed), m(rows.n_features),
          stored(static_cast<double*>(scratch)),
          n_cells(rows.sample_weight || signs ? stored + 2 * m : nullptr), zeros(stored + 3 * m),
          cancel(cancel) {}

    // each(cells of the row, their columns, their number, weight) of every row that is listed
    template <class Each> bool for_each_row(Each each) {
        for (index entry = 0; entry < n_listed; ++entry) {
            if (entry % POLL_ROWS == 0 && cancel()) return false;
            const std::int64_t i = listed[entry] < 0 ? ~listed[entry] : listed[entry];
            const double weight = rows.sample_weight ? rows.sample_weight[i] : 1;
            const std::int64_t begin = rows.begins[i];
            each(rows.values + begin, rows.columns + begin, index(rows.begins[i + 1] - begin),
                listed[entry] < 0 ? -weight : weight);
        }
        return true;
    }
    // Sums of s t and s t^2 about a point, of stored cells.
    bool about(const double* point) {
        for (index v = 0; v < 2 * m; ++v) stored[v] = 0;
        return for_each_row([&](const T* values, const std::int32_t* columns, index n, double s) {
            for (index j = 0; j < n; ++j) {
                const double y = double(values[j]);
                const std::int32_t v = columns[j];
                const double t = !rows.gaps || y == y ? y - point[v] : 0, st = s * t;
                store(stored + 2 * v, load<Two>(stored + 2 * v) + Two{st, st * t});
            }
        });
    }
    // Sums of s y and s of stored cells, and the mass of the others.
    bool count(double& mass, std::int64_t& n_rows) {
        for (index v = 0; v < 2 * m; ++v) stored[v] = 0;
        if (n_cells)
            for (index v = 0; v < m; ++v) n_cells[v] = 0;
        mass = 0;
        n_rows = 0;
        const bool done =
            for_each_row([&](const T* values, const std::int32_t* columns, index n, double s) {
                mass += s;
                n_rows += s > 0 ? 1 : -1;
                for (index j = 0; j < n; ++j) {
                    const double y = double(values[j]);
                    const std::int32_t v = columns[j];
                    const double there = !rows.gaps || y == y ? y : 0;
                    store(stored + 2 * v, load<Two>(stored + 2 * v) + Two{s * there, s});
                    if (n_cells) n_cells[v] += 1;
                }
            });
        const double* numbers = n_cells ? n_cells : stored + 1;
        const index stride = n_cells ? 1 : 2;
        for (index v = 0; v < m; ++v)  // exact where there is none
            zeros[v] = numbers[v * stride] == double(n_listed) ? 0 : mass - stored[2 * v + 1];
        return done;
    }
};

// Sums about the mean, which replaces the reference, or of changes about the reference that is
// given.
template <class T>
void accumulate_twice(Accumulator<T>& by, bool changes, double* reference, const SparseSums& out) {
    const index m = by.m;
    if (!by.count(*out.mass, *out.rows)) return;
    if (out.observed) {
        for (index v = 0; v < m; ++v) out.observed[v] = by.zeros[v];
        by.for_each_row([&](const T* values, const std::int32_t* columns, index n, double s) {
            for (index j = 0; j < n; ++j)
                if (values[j] == values[j]) out.observed[columns[j]] += s;
        });
    }
    if (!changes)
        for (index v = 0; v < m; ++v) {
            if (by.zeros[v] < 0) by.zeros[v] = 0;
            const double mass = out.observed ? out.observed[v] : *out.mass;
            if (mass > 0) reference[v] = by.stored[2 * v] / mass;
        }
    if (!by.about(reference)) return;
    for (index v = 0; v < m; ++v) {
        const double r = reference[v], all = by.zeros[v] * r;
        out.sums[v] = by.stored[2 * v] - all;
        out.squares[v] = by.stored[2 * v + 1] + all * r;
    }
}

// Where all rows of a cluster are counted, sums are about their mean c. Few columns have a value in
// most rows of a cluster, so the squares are sum s y^2 - c sum s y, from one reading; if this
// cancels in some column, the rows are read again.
template <class T>
void accumulate(const SparseRows<T>& rows, const Part& part, const std::int64_t* listed,
    index n_listed, bool changes, double* reference, const SparseSums& out) {
    Accumulator<T> by(rows, listed, n_listed, changes, part.scratch, part.cancel);
    if (changes || out.observed) return accumulate_twice(by, changes, reference, out);
    double mass = 0;
    for (index v = 0; v < 2 * by.m; ++v) by.stored[v] = 0;
    const bool done =
        by.for_each_row([&](const T* values, const std::int32_t* columns, index n, double s) {
            mass += s;
            for (index j = 0; j < n; ++j) {
                const double y = double(values[j]), sy = s * y;
                double* stored = by.stored + 2 * columns[j];
                store(stored, load<Two>(stored) + Two{sy, sy * y});
            }
        });
    if (!done) return;
    *out.mass = mass;
    *out.rows = n_listed;
    bool canceled = false;
    const double divisor = mass > 0 ? mass : 1;
    for (index v = 0; v < by.m; ++v) {
        const double total = by.stored[2 * v], squares = by.stored[2 * v + 1];
        const double c = total / divisor, rest = __builtin_fma(-mass, c, total);
        out.sums[v] = rest;
        out.squares[v] = squares - c * (total + rest);
        if (mass > 0) reference[v] = c;
        canceled |= !(out.squares[v] >= 0.02 * squares);
    }
    if (canceled) accumulate_twice(by, changes, reference, out);
}

template <class T>
void describe(
    const SparseRows<T>& rows, const Part& part, const double* reference, const Moments& out) {
    const index m = rows.n_features;
    double* stored = static_cast<double*>(part.scratch);
    for (index v = 0; v < 4 * m; ++v) stored[v] = 0;  // sum of s t, of s t^2, of s, and number
    for (index v = 0; v < m; ++v) {
        out.minimum[v] = __builtin_inf();
        out.maximum[v] = -__builtin_inf();
        out.observed[v] = 0;
        out.nonfinite[v] = out.missing[v] = 0;
    }
    double mass = 0;
    std::int64_t n_rows = 0;
    for (index i = part.begin; i < part.end; ++i) {
        if ((i - part.begin) % POLL_ROWS == 0 && part.cancel()) return;
        const double s = rows.sample_weight ? rows.sample_weight[i] : 1;
        mass += s;
        n_rows += s > 0;
        for (std::int64_t j = rows.begins[i]; j < rows.begins[i + 1]; ++j) {
            const double y = double(rows.values[j]);
            const std::int32_t v = rows.columns[j];
            out.nonfinite[v] += !(y - y == 0);
            out.missing[v] += y != y;
            if (!(s > 0)) continue;
            const double t = y == y ? y - reference[v] : 0, st = s * t;
            double* sums = stored + 4 * v;
            store(sums, load<Two>(sums) + Two{st, st * t});
            store(sums + 2, load<Two>(sums + 2) + Two{s, 1});
            if (!(y == y)) continue;
            out.observed[v] += s;
            if (y < out.minimum[v]) out.minimum[v] = y;
            if (y > out.maximum[v]) out.maximum[v] = y;
        }
    }
    *out.mass = mass;
    *out.rows = n_rows;
    for (index v = 0; v < m; ++v) {
        const double *column = stored + 4 * v, r = reference[v];
        out.sums[v] = column[0];
        out.squares[v] = column[1];
        if (column[3] == double(n_rows)) continue;  // no cell is zero
        const double zeros = mass > column[2] ? mass - column[2] : 0;
        out.sums[v] -= zeros * r;
        out.squares[v] += zeros * r * r;
        out.observed[v] += zeros;
        if (out.minimum[v] > 0) out.minimum[v] = 0;
        if (out.maximum[v] < 0) out.maximum[v] = 0;
    }
}

template <class T> constexpr SparseKernels<T> table_of() {
    return {prepared_bytes, prepare_tasks, prepare, assign_bytes, assign<T>, distances<T>,
        sums_bytes, accumulate<T>, describe<T>};
}

}  // namespace

extern const SparseKernels<double> sparse_f64;
extern const SparseKernels<float> sparse_f32;
const SparseKernels<double> sparse_f64 = table_of<double>();
const SparseKernels<float> sparse_f32 = table_of<float>();

}}  // namespace fwk::FWK_ISA
