// Tasks for threads, and Ctrl-C. Partial sums belong to segments of rows that are fixed by the
// shape of the problem and are added in segment order: results are bitwise the same for any number
// of threads.
#pragma once
#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include "common/memory.hpp"
#include "common/pool.hpp"
#include "common/tuning.hpp"

namespace nb = nanobind;

namespace fwk { namespace {

// At most 64; fewer where their sums would not fit into a cache, one where not into 64 MiB.
index n_segments(index n_rows, index n_clusters, index n_features) {
    const index bytes = 16 * n_clusters * std::max<index>(1, n_features);
    const index by_rows = std::min<index>(n_rows / SEGMENT, MOST_SEGMENTS);
    const index by_cache = std::max<index>(16, (index(4) << 20) / bytes);
    const index by_memory = (index(64) << 20) / bytes;
    return std::max<index>(1, std::min({by_rows, by_cache, by_memory}));
}
// Levels count half: one sum instead of two.
index segments_of(index n_rows, const Starts& starts) {
    return n_segments(n_rows, starts.n_clusters, starts.n_features + (starts.n_levels + 1) / 2);
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
    // Raises KeyboardInterrupt (or what the handler raised) if a signal came.
    void raise_if_any() const {
        if (stop_.load()) throw nb::python_error();
    }

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

// Memory for each worker, taken before the threads start: none of them may throw.
class WorkerMemory {
   public:
    WorkerMemory(int n_workers, std::size_t bytes)
        : bytes_((bytes + 63) / 64 * 64), memory_(bytes_ * n_workers) {}
    void* of(int worker) { return memory_.data() + bytes_ * worker; }

   private:
    std::size_t bytes_;
    ThreadMemory memory_;
};

// A task: starts [first, last) over the rows of a segment.
struct Task {
    index first, last, segment;
    int worker;
    Part part;
};

// body(task) over all starts and segments; without the GIL.
template <class Body>
void share_tasks(index n_starts, index segments, index n_rows, int n_threads, std::size_t bytes,
    Interruption& interruption, const Body& body) {
    const index groups = std::min(n_starts, (index(8) * n_threads + segments - 1) / segments);
    WorkerMemory memory(n_threads, bytes);
    Pool::of_this_process().run(groups * segments, n_threads, [&](index at, int worker) {
        const Cancel cancel = interruption.of(worker);
        if (cancel()) return;
        const index group = at / segments, segment = at % segments;
        body(Task{n_starts * group / groups, n_starts * (group + 1) / groups, segment, worker,
            {n_rows * segment / segments, n_rows * (segment + 1) / segments, memory.of(worker),
                cancel}});
    });
}

// The same with the GIL, which is released meanwhile.
template <class Body>
void for_each_task(index n_starts, index segments, index n_rows, int n_threads, std::size_t bytes,
    const Body& body) {
    Interruption interruption(n_threads);
    {
        const nb::gil_scoped_release release;
        share_tasks(n_starts, segments, n_rows, n_threads, bytes, interruption, body);
    }
    interruption.raise_if_any();
}

}}  // namespace fwk
