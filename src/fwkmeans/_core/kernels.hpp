// The interface between the threads (tasks.hpp) and the kernels (kernels.cpp), which is compiled
// once per instruction set. Only plain structs cross it, so that no inline function of the
// standard library is ever compiled for an instruction set the machine may not have.
#pragma once
#include <cstddef>
#include <cstdint>

namespace fwk {

using index = std::ptrdiff_t;

// Rows [0, n_rows) of a table; strides in elements. sample_weight may be null (all ones).
// NaN cells and negative levels are missing: they contribute nothing.
template <class T>
struct Rows {
    const T* data;
    index n_rows, n_features, row_stride, column_stride;
    const double* sample_weight;
    std::int64_t first_row;      // index of row 0 in the whole table
    const std::int32_t* levels;  // (n_rows, n_categorical) numbers of the categories, null if none
    index n_categorical;
    bool gaps;     // cells may be missing
    bool stretch;  // a row's dissimilarity is then multiplied by all / observed features
    // What `pack` wrote: `accumulate` and `assign` take the rows as one block, which begins with a
    // PIECE; null: none.
    const void* packed = nullptr;
    bool single = false;  // whether that is in single precision
};

// Rows that threads take at a time: whole tiles of any instruction set, some of which race
// together.
constexpr index PIECE = 64;

// R starts: what they assign by. weights has one row a cluster, or one row in all when shared.
struct Starts {
    index n_starts, n_clusters, n_features;
    bool shared;
    const double* centers;    // (R, K, M)
    const double* weights;    // (R, K or 1, M), effective, non-negative
    const double* offsets;    // (R, K), added to the dissimilarity
    const double* reference;  // (R, K, M), what the sums are taken about
    const double* shift;      // (M), subtracted while rows are packed
    const double* power;      // (R), p of |y - c|^p; null: squares
    const double* costs;      // (R, K, levels), weighted cost of each category; null: none
    index n_levels, n_categorical;
    const double* category_weights;  // (R, K or 1, C), effective; null unless rescaling
    bool rescale;  // rows with missing cells: divide by the share of a cluster's weight observed
    // Shared weights and no missing cells: one multiply-add, of y with -2 w c, instead of two.
    bool expanded = false;
};

// The labels of the last pass, replaced by those of this one; null if nobody keeps them.
struct LastLabels {
    std::int32_t* labels;  // (R, n_rows), starts `stride` apart
    index stride;
    const unsigned char* update;  // (R) sum only what changes: rows out of and into clusters
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
    float *upper, *lower;  // (n_rows), replaced; null: all labels are known, and rows only summed
    const float *grow, *add, *shrink, *subtract;  // (K)
    double unit;
    const Offsets* offsets;  // null: none
    std::int64_t* doubtful;  // rows that the race could not decide are added to it
    index placed =
        -1;  // the cluster that a row has become the center of, of which bounds know nothing
};

// Sums over one segment of rows for all starts; each pointer has leading axis R.
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

struct Farthest {
    const unsigned char* eligible;  // (R, K)
    double* distance;               // (R)
    std::int64_t* row;              // (R)
};

struct Labels {
    std::int32_t* labels;  // (rows of the segment)
    double*
        objective;  // (1) sum of s (d + offset); the largest d for p = infinity; null: not wanted
    bool known = false;   // labels are there, and only what follows is wanted
    bool* odd = nullptr;  // (1) set if some cell may not be a finite number; null: nobody asks
    double* distances =
        nullptr;  // (rows of the segment) d to the own center: those to sum if the objective is
                  // wanted, else they are written; null: nobody has or asks for them
};

// Rows of known labels about a point for each cluster.
struct Points {
    index n_starts, n_clusters, n_features;
    const double* points;        // (R, K, M)
    const double* power;         // (R)
    const std::int32_t* labels;  // (R, n_rows), starts `stride` apart
    index stride;
    bool rough =
        false;  // whether slopes may be a share of 1e-4 off, without what lies beside the points
};

// Derivatives of sum s |y - c|^p at the points c, and where the next values lie; all (R, K, M).
// What is known of the values on either side is for p < 2 only. A point that is NaN asks nothing.
struct Slopes {
    double* slope;      // sum of s sign(c - y) |c - y|^(p-1)
    double* curvature;  // sum of s |c - y|^(p-2), without y = c
    double*
        third;  // sum of s sign(c - y) |c - y|^(p-3), without y = c, and of the sizes of its terms
    double* third_size;
    double* equal;  // mass at c
    double* below;  // largest value below c, and the mass there
    double* below_mass;
    double* above;  // smallest value above c, and the mass there
    double* above_mass;
    double* low;  // smallest and largest value of all
    double* high;
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
};

// What one instruction set offers for rows of type T. `prepare` lays out the tables of starts
// [first, last); `scratch_bytes` is what one call of the others needs.
template <class T>
struct Kernels {
    const char* name;
    std::size_t (*prepared_bytes)(const Starts&);  // one start
    void (*prepare)(const Starts&, index start, void* prepared);
    std::size_t (*scratch_bytes)(const Rows<T>&, index n_clusters, bool powers);
    // All rows for passes without bounds and for final labels, in single precision if the rows say
    // so.
    std::size_t (*packed_bytes)(const Rows<T>&);
    void (*begin_packing)(const Rows<T>&, const double* shift, void* packed);
    // Then rows [begin, end), which begin with a PIECE; any thread may.
    void (*pack)(const Rows<T>&, index begin, index end, void* packed);
    // Rows that are packed in single precision race there, by what the kernels of float have
    // prepared. Returns how many this could not decide. Without `sums`, labels are replaced and
    // nothing is summed.
    index (*accumulate)(const Rows<T>&, index begin, index end, const Starts&, index first,
        index last, const char* prepared, void* scratch, const LastLabels&, const Sums&, Cancel);
    // The same for one start of squares without offsets, whose last labels and bounds are known:
    // rows whose bounds decide are not read, unless all are summed. fingerprint is the change of
    // it. Without `sums`, nothing is summed.
    std::size_t (*bounded_bytes)(const Rows<T>&, index n_clusters);
    // `single`: factors are for the kernels of float, which race; what they cannot decide, double
    // does.
    void (*accumulate_bounded)(const Rows<T>&, index begin, index end, const Starts&,
        const char* prepared, bool single, void* scratch, const LastLabels&, const Bounds&,
        const Sums&, Cancel);
    // Sums of the rows of clusters [first, last), whose labels are known: rows of cluster j are
    // order[position[j]] to order[position[j + 1]]. Columns of the rows must be contiguous.
    void (*sum_clusters)(const Rows<T>&, const Starts&, std::int32_t* order, std::int32_t* position,
        index first, index last, const Sums&);
    void (*farthest)(const Rows<T>&, index begin, index end, const Starts&, index first, index last,
        const char* prepared, void* scratch, const Farthest&, Cancel);
    // The same for one start after a pass by bounds, which has left labels and upper bounds.
    void (*farthest_bounded)(const Rows<T>&, index begin, index end, const Starts&, void* scratch,
        const std::int32_t* labels, const Bounds&, const Farthest&, Cancel);
    void (*assign)(const Rows<T>&, index begin, index end, const Starts&, const char* prepared,
        const char* single, void* scratch, const Labels&, Cancel);
    void (*distances)(
        const Rows<T>&, index begin, index end, const Starts&, void* scratch, T* out, Cancel);
    void (*slopes)(const Rows<T>&, index begin, index end, const Points&, index first, index last,
        void* scratch, const Slopes&, Cancel);
    void (*powers)(const Rows<T>&, index begin, index end, const Points&, index first, index last,
        void* scratch, double* out, Cancel);
    // Minkowski centers of clusters [first, last) of all R K; all rows are one block.
    std::size_t (*roots_bytes)(index n_rows);
    void (*roots)(
        const Rows<T>&, const Points&, index first, index last, void* scratch, double* out, Cancel);
    void (*describe)(const Rows<T>&, index begin, index end, const double* reference, void* scratch,
        const Moments&, Cancel);
    bool (*finite)(const Rows<T>&, index begin, index end, void* scratch, Cancel);
    // How many cells of each row are there, and of each column in rows with weight; the latter are
    // added.
    void (*observed)(const Rows<T>&, index begin, index end, void* scratch, std::int64_t* in_row,
        std::int64_t* in_column, Cancel);
    index (*seeding_rows)(index n_rows);
    void (*pack_for_seeding)(const double* rows, index n_rows, index n_features, double* packed);
    void (*nearest_candidates)(const Seeding&, const double* points, index n_points,
        const double* closest, double* out, double* potential);
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
    Range (*range)(const double* x, index n);  // leaves NaN out; of nothing it is (inf, -inf)
    void (*divide)(
        const double* x, double minus, double by, double* out, index n);  // (x - minus) / by
    void (*exp_of_quotients)(
        const double* x, double minus, double by, double* out, index n);  // exp of the same
    void (*times_log)(const double* x, double* out, index n);  // x log x, with 0 log 0 = 0
    bool (*move)(const Cluster&, index m, const double* magnitude, double* moved,
        double* dispersion, double* known);
    // dispersions that are not known to be more than nothing are nothing; whether all are finite
    bool (*settle)(double* dispersion, const double* known, index n);
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
