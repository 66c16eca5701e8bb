// How Python's arrays become what kernels take. Callers (the Python wrappers in compiled.py)
// validate; nothing is checked here.
#pragma once
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>

#include "common/dispatch.hpp"
#include "module/tasks.hpp"

namespace fwk { namespace {

template <class T> using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
template <class T> using Out = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
template <class T> using Table = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
using LabelsOut = nb::ndarray<std::int32_t, nb::ndim<2>, nb::device::cpu>;  // starts x rows
using LabelsIn = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::device::cpu>;

template <class Array> std::optional<Array> maybe(const nb::handle& given) {
    if (given.is_none()) return std::nullopt;
    return nb::cast<Array>(given);
}

// A block of rows: (levels, sample weight, first row, gaps, stretch, threads).
template <class T> struct Input {
    Table<T> X;
    std::optional<In<std::int32_t>> levels;
    std::optional<In<double>> sample_weight;
    Rows<T> rows;
    int n_threads;

    Input(const Table<T>& X, const nb::tuple& block)
        : X(X), levels(maybe<In<std::int32_t>>(block[0])),
          sample_weight(maybe<In<double>>(block[1])),
          rows{{levels ? levels->data() : nullptr, levels ? index(levels->shape(1)) : 0}, X.data(),
              index(X.shape(0)), index(X.shape(1)), X.stride(0), X.stride(1),
              sample_weight ? sample_weight->data() : nullptr, nb::cast<std::int64_t>(block[2]),
              nb::cast<bool>(block[3]), nb::cast<bool>(block[4])},
          n_threads(nb::cast<int>(block[5])) {}

    std::size_t scratch_bytes(index n_clusters, bool powers, bool bounded = false) const {
        return kernels<T>().scratch_bytes(rows, n_clusters, powers, bounded);
    }
    index segments(index n_clusters) const {
        return n_segments(rows.n_rows, n_clusters, rows.n_features);
    }
};

// What assigns: (centers, weights, offsets, shift, power, costs, category weights, rescale).
struct Assignment {
    In<double> centers, weights, offsets, shift;
    std::optional<In<double>> power, costs, category_weights;
    Starts starts;

    explicit Assignment(const nb::tuple& given, bool gaps = false)
        : centers(nb::cast<In<double>>(given[0])), weights(nb::cast<In<double>>(given[1])),
          offsets(nb::cast<In<double>>(given[2])), shift(nb::cast<In<double>>(given[3])),
          power(maybe<In<double>>(given[4])), costs(maybe<In<double>>(given[5])),
          category_weights(maybe<In<double>>(given[6])) {
        const index k = centers.shape(1);
        const bool shared = index(weights.shape(1)) != k || k == 1;
        const CategoryCosts categories = {costs ? costs->data() : nullptr,
            costs ? index(costs->shape(2)) : 0,
            category_weights ? index(category_weights->shape(2)) : 0,
            category_weights ? category_weights->data() : nullptr, nb::cast<bool>(given[7])};
        starts = {{index(centers.shape(0)), k, index(centers.shape(2))}, categories, shared,
            centers.data(), weights.data(), offsets.data(), centers.data(), shift.data(),
            power ? power->data() : nullptr, shared && !gaps};
    }
};

template <class T> std::vector<char> prepare_all(const Starts& starts, int n_threads) {
    const std::size_t bytes = kernels<T>().prepared_bytes(starts);
    std::vector<char> prepared(bytes * starts.n_starts + 64);
    const index chunk = std::max<index>(1, starts.n_starts / (4 * n_threads));
    const nb::gil_scoped_release release;
    Pool::of_this_process().run(
        (starts.n_starts + chunk - 1) / chunk, n_threads, [&](index task, int) {
            const index end = std::min(starts.n_starts, (task + 1) * chunk);
            for (index start = task * chunk; start < end; ++start)
                kernels<T>().prepare(starts, start, prepared.data() + start * bytes);
        });
    return prepared;
}

}}  // namespace fwk
