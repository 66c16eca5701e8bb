// What kernels take and return. They are compiled once per instruction set; only plain structs
// cross this line, so that no inline function of the standard library is ever compiled for an
// instruction set the machine may not have. R starts, K clusters, M features.
#pragma once
#include <cstddef>
#include <cstdint>

namespace fwk {

using index = std::ptrdiff_t;

// Numbers of the categories of rows, (n_rows, n_categorical); a negative one is a missing cell.
struct Categories {
    const std::int32_t* levels = nullptr;  // null: the table has none
    index n_categorical = 0;
};

// Rows [0, n_rows) of a table; strides in elements. NaN cells are missing: they contribute nothing.
template <class T> struct Rows : Categories {
    const T* data;
    index n_rows, n_features, row_stride, column_stride;
    const double* sample_weight;  // null: all are one
    std::int64_t first_row;       // index of row 0 in the whole table
    bool gaps;                    // cells may be missing
    bool stretch;  // a row's dissimilarity is then multiplied by all / observed features

    bool weighs(index i) const { return !sample_weight || sample_weight[i] > 0; }
};

// All rows of a table as `pack` has written them, in double or, to race there, in single precision.
struct PackedTable {
    void* memory;
    bool single;
};

// Rows that threads take at a time: whole tiles of any instruction set, some of which race
// together.
constexpr index PIECE = 64;

struct Sizes {
    index n_starts, n_clusters, n_features;
};
// What categories add to the dissimilarities of a start.
struct CategoryCosts {
    const double* costs = nullptr;  // (R, K, levels), weighted cost of each category; null: none
    index n_levels = 0, n_categorical = 0;
    const double* category_weights = nullptr;  // (R, K or 1, C), effective; null unless rescaling
    bool rescale = false;  // rows with missing cells: divide by the share of the weight observed
};
// R starts: what they assign by. weights has one row a cluster, or one row in all when shared.
struct Starts : Sizes, CategoryCosts {
    bool shared;
    const double* centers;          // (R, K, M)
    const double* weights;          // (R, K or 1, M), effective, non-negative
    const double* offsets;          // (R, K), added to the dissimilarity
    const double* reference;        // (R, K, M), what the sums are taken about
    const double* shift;            // (M), subtracted while rows are packed
    const double* power = nullptr;  // (R), p of |y - c|^p; null: squares
    // Shared weights and no missing cells: one multiply-add, of y with -2 w c, instead of two.
    bool expanded = false;
};

// What dissimilarities have beside squared distances, for each cluster: its own, and the least and
// the most of all others. In float and times unit^2, see Bounds.
struct Offsets {
    const float *own, *least_other, *most_other;  // (K)
    float least, most;                            // of all
};

// What is known of each row's distances since the last pass, in float and times `unit`, a power of
// two that makes distances about one: not above `upper` to the own center, not below `lower` to any
// other. Weights and centers have changed since: an upper bound times grow, plus add, and a lower
// one times shrink, minus subtract, hold again, whatever is rounded; all by the cluster of the row.
struct Bounds {
    float *upper, *lower;                         // (n_rows), replaced
    const float *grow, *add, *shrink, *subtract;  // (K)
    double unit;
    const Offsets* offsets;  // null: none
    index placed;            // the cluster that was moved to a far row since then; -1: none
};

// How a pass has changed the labels of a start.
struct Changes {
    std::uint64_t fingerprint = 0;  // what is added to it
    std::int64_t changed = 0;       // labels that differ from the last ones
    std::int64_t doubtful = 0;      // rows that the race could not decide
};

// Sums over some rows; each pointer has a leading axis R.
struct Sums {
    double* mass;                // (R, K)
    std::int64_t* rows;          // (R, K)
    double* sums;                // (R, K, M)  sum of s (y - reference)
    double* squares;             // (R, K, M)  sum of s (y - reference)^2
    double* observed;            // (R, K, M)  sum of s over cells that are there; null: all are
    double* counts;              // (R, K, levels)  sum of s of each category; null: none
    std::uint64_t* fingerprint;  // (R)
    std::int64_t* changed;       // (R) labels that differ from the last ones
};

// The labels of the last pass, (R, n_rows), starts `stride` apart, replaced by those of this one.
// Of starts that `update`, (R), marks, only what changes is summed: rows out of and into clusters.
struct LastLabels {
    std::int32_t* labels;
    index stride;
    const unsigned char* update;
};

struct Farthest {
    const unsigned char* eligible;  // (R, K)
    double* distance;               // (R)
    std::int64_t* row;              // (R)
};

// Rows of known labels about a point for each cluster.
struct Points : Sizes {
    const double* points;        // (R, K, M)
    const double* power;         // (R)
    const std::int32_t* labels;  // (R, n_rows), starts `stride` apart
    index stride;
    bool rough;  // whether slopes may be a share of 1e-4 off, without what lies beside the points
};

// Derivatives of sum s |y - c|^p at the points c; all (R, K, M).
struct Derivatives {
    double* slope;       // sum of s sign(c - y) |c - y|^(p-1)
    double* curvature;   // sum of s |c - y|^(p-2), without y = c
    double* third;       // sum of s sign(c - y) |c - y|^(p-3), without y = c
    double* third_size;  // the same of the sizes of its terms
};
// ... and where the next values lie. What is known of the values on either side is for p < 2 only.
// A point that is NaN asks nothing.
struct Slopes : Derivatives {
    double* equal;  // mass at c
    double* below;  // largest value below c, and the mass there
    double* below_mass;
    double* above;  // smallest value above c, and the mass there
    double* above_mass;
    double* low;  // smallest and largest value of all
    double* high;

    static constexpr index FIELDS = 11;
    // Those of a start and cluster at `at`, or of a part, of arrays one after the other.
    static Slopes of(double* memory, index size) {
        const auto take = [&](index field) { return memory + field * size; };
        return {{take(0), take(1), take(2), take(3)}, take(4), take(5), take(6), take(7), take(8),
            take(9), take(10)};
    }
};

struct Moments {
    double* mass;             // (1)
    std::int64_t* rows;       // (1)
    double* sums;             // (M)
    double* squares;          // (M)
    double* minimum;          // (M)
    double* maximum;          // (M)
    double* observed;         // (M) sum of s over cells that are there
    std::int64_t* nonfinite;  // (M) NaN or infinite
    std::int64_t* missing;    // (M) NaN
};

// Rows that k-means++ chooses from, as `pack_for_seeding` lays them out.
struct Seeding {
    const double* packed;   // (seeding_rows x n_features)
    const double* weights;  // (seeding_rows), zero beyond the last row
    index n_rows, n_features;
};

// Polled once a block; true ends the segment early (the result is then thrown away).
struct Cancel {
    bool (*poll)(void*);
    void* state;
    bool operator()() const { return poll(state); }
};

// Some rows of a table, with memory of `scratch_bytes` for who works on them.
struct Part {
    index begin, end;
    void* scratch;
    Cancel cancel;
};

// Tables of a start, by which its rows race.
template <class T> struct TableKernels {
    std::size_t (*prepared_bytes)(const Starts&);  // one start
    void (*prepare)(const Starts&, index start, void* prepared);
    // `powers`: for powers other than squares, too; `bounded`: for what has bounds or races in
    // single.
    std::size_t (*scratch_bytes)(const Rows<T>&, index n_clusters, bool powers, bool bounded);
    std::size_t (*packed_bytes)(const Rows<T>&, bool single);
    void (*begin_packing)(const Rows<T>&, const double* shift, PackedTable);
    // Then rows [begin, end), which begin with a PIECE; any thread may.
    void (*pack)(const Rows<T>&, index begin, index end, PackedTable);
};

// Labels. `prepared` is that of one start, by the kernels of float where rows race in single.
template <class T> struct LabelKernels {
    // Writes the labels of the part's rows; tells whether a cell may not be a finite number.
    bool (*label)(const Rows<T>&, const Part&, const Starts&, const char* prepared, std::int32_t*);
    // The same of rows without categories for squares, which race in single precision. `prepared`
    // in double decides the blocks of which single precision leaves too much.
    bool (*label_in_single)(const Rows<T>&, const Part&, const Starts&, const char* prepared,
        const char* single, std::int32_t*);
    // The same of packed rows; the part begins with a PIECE.
    Changes (*label_packed)(const Rows<T>&, PackedTable, const Part&, const Starts&,
        const char* prepared, std::int32_t*);
    // The same for one start whose last labels and bounds are known: rows that these decide are not
    // read. Labels of all rows are replaced.
    Changes (*label_by_bounds)(const Rows<T>&, const Part&, const Starts&, const char* prepared,
        bool single, std::int32_t* labels, const Bounds&);
    // The sum of s (d + offset) over rows of known labels; the largest d + offset for p = infinity.
    double (*measure)(const Rows<T>&, const Part&, const Starts&, const std::int32_t* labels);
    void (*farthest)(const Rows<T>&, const Part&, const Starts&, index first, index last,
        const char* prepared, const Farthest&);
    // The same for one start after a pass by bounds, which has left labels and upper bounds.
    void (*farthest_by_bounds)(const Rows<T>&, const Part&, const Starts&,
        const std::int32_t* labels, const Bounds&, const Farthest&);
    void (*distances)(const Rows<T>&, const Part&, const Starts&, T* out);
};

// Sums of each cluster, of starts [first, last) or of one; they are added to what is there.
template <class T> struct SumKernels {
    void (*label_and_sum)(const Rows<T>&, const Part&, const Starts&, index first, index last,
        const char* prepared, const Sums&);
    void (*label_and_sum_changes)(const Rows<T>&, const Part&, const Starts&, index first,
        index last, const char* prepared, const LastLabels&, const Sums&);
    // By bounds, for one start; returns the rows that the race could not decide.
    std::int64_t (*label_by_bounds_and_sum)(const Rows<T>&, const Part&, const Starts&,
        const char* prepared, bool single, const LastLabels&, const Bounds&, const Sums&);
    void (*sum_known)(
        const Rows<T>&, const Part&, const Starts&, const std::int32_t* labels, const Sums&);
    // The n rows in the order of their labels: those of cluster j are order[position[j]] to
    // order[position[j + 1]]. The order must have room for a vector more.
    void (*sort)(const std::int32_t* labels, index n, index n_clusters, std::int32_t* order,
        std::int32_t* position);
    // Sums of clusters [first, last) by that. Columns of the rows must be contiguous.
    void (*sum_clusters)(const Rows<T>&, const Starts&, std::int32_t* order, std::int32_t* position,
        index first, index last, const Sums&);
};

// What else is computed from rows.
template <class T> struct OtherKernels {
    void (*slopes)(
        const Rows<T>&, const Part&, const Points&, index first, index last, const Slopes&);
    void (*powers)(
        const Rows<T>&, const Part&, const Points&, index first, index last, double* out);
    // Minkowski centers of clusters [first, last) of all R K; all rows are one block.
    std::size_t (*roots_bytes)(index n_rows);
    void (*roots)(const Rows<T>&, const Part&, const Points&, index first, index last, double* out);
    void (*describe)(const Rows<T>&, const Part&, const double* reference, const Moments&);
    // How many cells of each row are there, and of each column in rows with weight; the latter are
    // added.
    void (*observed)(const Rows<T>&, const Part&, std::int64_t* in_row, std::int64_t* in_column);
    index (*seeding_rows)(index n_rows);
    void (*pack_for_seeding)(const double* rows, index n_rows, index n_features, double* packed);
    void (*nearest_candidates)(const Seeding&, const double* points, index n_points,
        const double* closest, double* out, double* potential);
};

// What one instruction set offers for rows of type T.
template <class T>
struct Kernels : TableKernels<T>, LabelKernels<T>, SumKernels<T>, OtherKernels<T> {
    const char* name;
};

// Sums of the rows of a cluster about its reference; (M) each.
struct Cluster {
    const double *center, *reference, *sums, *squares;
    const double* observed;  // null: mass
    double mass;
    std::int64_t rows;
};
struct Range {
    double low, high;
};
// How weights and center of a cluster have changed.
struct Change {
    double most, least, step;
    bool leaves_zero;
};

// The same bits from every instruction set.
struct Elementwise {
    void (*exp)(const double* x, double* out, index n);
    void (*log)(const double* x, double* out, index n);
    Range (*range)(const double* x, index n);  // leaves NaN out; without any number (inf, -inf)
    void (*divide)(
        const double* x, double minus, double by, double* out, index n);  // (x - minus) / by
    void (*exp_of_quotients)(
        const double* x, double minus, double by, double* out, index n);  // exp of the same
    void (*times_log)(const double* x, double* out, index n);  // x log x, with 0 log 0 = 0
    bool (*move)(const Cluster&, index m, const double* magnitude, double* moved,
        double* dispersion, double* rounding);
    // Sets dispersions that are not above their rounding error to zero; whether all are finite.
    bool (*clear_rounding)(double* dispersion, const double* rounding, index n);
    Change (*change)(const double* before, const double* now, const double* center,
        const double* moved, index m);
};

#define FWK_DECLARE(ISA)                  \
    namespace ISA {                       \
    extern const Kernels<double> f64;     \
    extern const Kernels<float> f32;      \
    extern const Elementwise elementwise; \
    }
FWK_DECLARE(baseline)
FWK_DECLARE(x86_64_v3)
FWK_DECLARE(x86_64_v4)
#undef FWK_DECLARE

}  // namespace fwk
