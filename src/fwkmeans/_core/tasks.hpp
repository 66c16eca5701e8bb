// How Python's arrays become what kernels take, and tasks for threads. Partial sums belong to
// segments of rows that are fixed by the shape of the problem and are added in segment order:
// results are bitwise the same for any number of threads. Callers (the Python wrappers in
// compiled.py) validate; nothing is checked here.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "starts.hpp"

namespace nb = nanobind;

namespace fwk {
namespace {

template <class T>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
using Labeled = nb::ndarray<std::int32_t, nb::ndim<2>, nb::device::cpu>;      // starts x rows
using Known = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::device::cpu>;  // the same, to read

// ---- segments, tasks, interruption --------------------------------------------------------------

constexpr index SEGMENT = 1024;  // rows, at least, where there are several segments

// At most 64; fewer where their sums would not fit into a cache, one where not into 64 MiB.
index n_segments(index n_rows, index n_clusters, index n_features) {
    const index bytes = 16 * n_clusters * std::max<index>(1, n_features);
    const index by_rows = std::min<index>(n_rows / SEGMENT, 64);
    const index by_cache = std::max<index>(16, (index(4) << 20) / bytes);
    const index by_memory = (index(64) << 20) / bytes;
    return std::max<index>(1, std::min({by_rows, by_cache, by_memory}));
}

// Worker 0 is the caller's thread: it looks for Ctrl-C some times a second.
class Interruption {
   public:
    explicit Interruption(int n_threads) : clocks_(n_threads) {}
    Cancel of(int worker) {
        clocks_[worker].owner = this;
        clocks_[worker].is_caller = worker == 0;
        return {&poll, &clocks_[worker]};
    }
    bool interrupted() const { return stop_.load(); }

   private:
    struct Clock {
        Interruption* owner = nullptr;
        bool is_caller = false;
        std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
    };
    static bool poll(void* state) {
        Clock& clock = *static_cast<Clock*>(state);
        if (clock.is_caller) {
            const auto now = std::chrono::steady_clock::now();
            if (now - clock.last > std::chrono::milliseconds(50)) {
                clock.last = now;
                const nb::gil_scoped_acquire gil;
                if (PyErr_CheckSignals() != 0) clock.owner->stop_.store(true);
            }
        }
        return clock.owner->stop_.load(std::memory_order_relaxed);
    }
    std::atomic<bool> stop_{false};
    std::vector<Clock> clocks_;
};

// Scratch for each worker, taken before the threads start: none of them may throw.
class Scratch {
   public:
    Scratch(int n_workers, std::size_t bytes)
        : bytes_((bytes + 63) / 64 * 64), memory_(bytes_ * n_workers) {}
    void* of(int worker) { return memory_.data() + bytes_ * worker; }

   private:
    std::size_t bytes_;
    Lent memory_;
};

// body(first start, last start, segment, rows begin, rows end, worker, cancel) over all starts and
// segments; without the GIL.
template <class Body>
void share_tasks(index n_starts, index segments, index n_rows, int n_threads,
    Interruption& interruption, const Body& body) {
    const index groups = std::min(n_starts, (index(8) * n_threads + segments - 1) / segments);
    Pool::of_this_process().run(groups * segments, n_threads, [&](index task, int worker) {
        const Cancel cancel = interruption.of(worker);
        if (cancel.poll(cancel.state)) return;
        const index group = task / segments, segment = task % segments;
        body(n_starts * group / groups, n_starts * (group + 1) / groups, segment,
            n_rows * segment / segments, n_rows * (segment + 1) / segments, worker, cancel);
    });
}

// The same with the GIL; raises KeyboardInterrupt (or what the handler raised) if a signal came.
template <class Body>
void for_each_task(index n_starts, index segments, index n_rows, int n_threads, Body body) {
    Interruption interruption(n_threads);
    {
        const nb::gil_scoped_release release;
        share_tasks(n_starts, segments, n_rows, n_threads, interruption, body);
    }
    if (interruption.interrupted()) throw nb::python_error();
}

template <class Array>
std::optional<Array> maybe(const nb::handle& given) {
    if (given.is_none()) return std::nullopt;
    return nb::cast<Array>(given);
}

// A block of rows as Python hands it over: (levels, sample weight, first row, gaps, stretch,
// threads).
template <class T>
struct Input {
    Table<T> X;
    std::optional<In<std::int32_t>> levels;
    std::optional<In<double>> sample_weight;
    Rows<T> rows;
    int n_threads;

    Input(const Table<T>& X, const nb::tuple& block)
        : X(X), levels(maybe<In<std::int32_t>>(block[0])),
          sample_weight(maybe<In<double>>(block[1])) {
        rows = {X.data(), index(X.shape(0)), index(X.shape(1)), X.stride(0), X.stride(1),
            sample_weight ? sample_weight->data() : nullptr, nb::cast<std::int64_t>(block[2]),
            levels ? levels->data() : nullptr, levels ? index(levels->shape(1)) : 0,
            nb::cast<bool>(block[3]), nb::cast<bool>(block[4])};
        n_threads = nb::cast<int>(block[5]);
    }
};

// What assigns: (centers, weights, offsets, shift, power, costs, category weights, rescale).
struct Assigning {
    In<double> centers, weights, offsets, shift;
    std::optional<In<double>> power, costs, category_weights;
    Starts starts;

    explicit Assigning(const nb::tuple& given, bool gaps = false)
        : centers(nb::cast<In<double>>(given[0])), weights(nb::cast<In<double>>(given[1])),
          offsets(nb::cast<In<double>>(given[2])), shift(nb::cast<In<double>>(given[3])),
          power(maybe<In<double>>(given[4])), costs(maybe<In<double>>(given[5])),
          category_weights(maybe<In<double>>(given[6])) {
        const index k = centers.shape(1);
        starts = {index(centers.shape(0)), k, index(centers.shape(2)),
            index(weights.shape(1)) != k || k == 1, centers.data(), weights.data(), offsets.data(),
            centers.data(), shift.data(), power ? power->data() : nullptr,
            costs ? costs->data() : nullptr, costs ? index(costs->shape(2)) : 0,
            category_weights ? index(category_weights->shape(2)) : 0,
            category_weights ? category_weights->data() : nullptr, nb::cast<bool>(given[7])};
        starts.expanded = starts.shared && !gaps;
    }
};

// Levels count half: one sum instead of two.
index segments_of(index n_rows, const Starts& starts) {
    return n_segments(n_rows, starts.n_clusters, starts.n_features + (starts.n_levels + 1) / 2);
}

template <class T>
std::vector<char> prepare_all(const Starts& starts, int n_threads) {
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

}  // namespace
}  // namespace fwk
