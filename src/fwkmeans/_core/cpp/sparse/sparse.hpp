// The interface between the threads (sparse_module.hpp) and the kernels of sparse rows
// (sparse.cpp), which is compiled once per instruction set.
#pragma once
#include "common/kernels.hpp"

namespace fwk {

// Rows [0, n_rows) of a table in compressed form. Cells that are not stored are zero, and stored
// NaN cells are missing. Columns of a row rise. sample_weight may be null (all ones).
template <class T> struct SparseRows {
    const T* values;
    const std::int32_t* columns;
    const std::int64_t* begins;  // (n_rows + 1) first stored cell of each row
    index n_rows, n_features;
    const double* sample_weight;
    std::int64_t first_row;
    bool gaps, stretch;
};

// The sums of one cluster; see Sums.
struct SparseSums {
    double* mass;
    std::int64_t* rows;
    double* sums;
    double* squares;
    double* observed;  // null: all are
};

template <class T> struct SparseKernels {
    std::size_t (*prepared_bytes)(const Starts&);  // one start
    index (*prepare_tasks)(const Starts&);
    void (*prepare)(const Starts&, index start, index task, void* prepared);
    std::size_t (*assign_bytes)(index n_clusters, index n_features);
    // Labels of the part's rows; with `own` also the dissimilarity to the nearest center, which is
    // multiplied by all / observed features if `stretched`.
    void (*assign)(const SparseRows<T>&, const Part&, const Starts&, index start,
        const void* prepared, bool stretched, std::int32_t* labels, double* own);
    void (*distances)(
        const SparseRows<T>&, const Part&, const Starts&, const void* prepared, T* out);
    std::size_t (*sums_bytes)(index n_features);
    // Sums over the rows that are listed: row i adds, ~i takes away; all of them have weight.
    // Unless they are changes, the sums are about the mean of the rows, which replaces the
    // reference.
    void (*accumulate)(const SparseRows<T>&, const Part&, const std::int64_t* listed,
        index n_listed, bool changes, double* reference, const SparseSums&);
    void (*describe)(const SparseRows<T>&, const Part&, const double* reference, const Moments&);
};

#define FWK_DECLARE(ISA)                           \
    namespace ISA {                                \
    extern const SparseKernels<double> sparse_f64; \
    extern const SparseKernels<float> sparse_f32;  \
    }
FWK_DECLARE(baseline)
FWK_DECLARE(x86_64_v3)
FWK_DECLARE(x86_64_v4)
#undef FWK_DECLARE

}  // namespace fwk
