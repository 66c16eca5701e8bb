// The kernels of sparse rows for the instruction set that dispatch.hpp has chosen.
#pragma once
#include "common/dispatch.hpp"
#include "sparse/sparse.hpp"

namespace fwk {

template <class T> const SparseKernels<T>& sparse_kernels();
#ifdef FWK_X86
template <> inline const SparseKernels<double>& sparse_kernels() {
    const SparseKernels<double>* all[] = {
        &baseline::sparse_f64, &x86_64_v3::sparse_f64, &x86_64_v4::sparse_f64};
    return *all[instruction_set()];
}
template <> inline const SparseKernels<float>& sparse_kernels() {
    const SparseKernels<float>* all[] = {
        &baseline::sparse_f32, &x86_64_v3::sparse_f32, &x86_64_v4::sparse_f32};
    return *all[instruction_set()];
}
#else
template <> inline const SparseKernels<double>& sparse_kernels() { return baseline::sparse_f64; }
template <> inline const SparseKernels<float>& sparse_kernels() { return baseline::sparse_f32; }
#endif

}  // namespace fwk
