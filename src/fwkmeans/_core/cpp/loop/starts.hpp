// All starts of a fit: how their rows are laid out, and which threads run them.
#pragma once
#include <memory>
#include <optional>

#include "loop/loop.hpp"

namespace fwk {

// The first of the starts whose objective is the lowest up to rounding (_engine/state.py); -1 if
// all were given up.
inline index first_lowest(const std::vector<Outcome>& outcomes) {
    double lowest = INF;
    for (const Outcome& run : outcomes)
        if (!run.given_up) lowest = std::min(lowest, run.objective);
    for (std::size_t start = 0; start < outcomes.size(); ++start)
        if (!outcomes[start].given_up &&
            outcomes[start].objective <= lowest + 1e-12 * std::fabs(lowest))
            return index(start);
    return -1;
}

// A problem whose rows lie as passes want them: contiguous if they are few, and packed once if that
// serves all passes.
template <class T> class Layout {
   public:
    Problem<T> problem;

    explicit Layout(const Problem<T>& given) : problem(given) {
        copy_rows();
        problem.bounded = problem.gains_by_bounds();
        if (!problem.bounded && problem.packable() && problem.rows.column_stride == 1) pack();
    }
    Layout(const Layout&) = delete;  // `problem` points into it

   private:
    // The rows of a single segment, if a pass would have to copy them.
    void copy_rows() {
        Rows<T>& rows = problem.rows;
        const index n = rows.n_rows, m = rows.n_features;
        if (problem.n_segments > 1 || rows.column_stride == 1 || n * m > MOST_COPIED) return;
        contiguous_.resize(n * m);
        for (index i = 0; i < n; ++i)
            for (index v = 0; v < m; ++v)
                contiguous_[i * m + v] = rows.data[i * rows.row_stride + v * rows.column_stride];
        rows.data = contiguous_.data(), rows.row_stride = m, rows.column_stride = 1;
    }
    void pack() {
        const Rows<T>& rows = problem.rows;
        const bool single = problem.fits_single();
        packed_.emplace(kernels<T>().packed_bytes(rows, single));
        const PackedTable packed{packed_->data(), single};
        problem.packed = packed;
        kernels<T>().begin_packing(rows, problem.shift, packed);
        const index n = rows.n_rows, pieces = (n + PIECE - 1) / PIECE;
        const bool share = problem.n_sharing() > 1 && n * rows.n_features >= MANY_NUMBERS;
        const index tasks = share ? std::min<index>(pieces, 2 * problem.n_sharing()) : 1;
        Pool::of_this_process().run(tasks, problem.n_sharing(), [&](index task, int) {
            const index first = pieces * task / tasks, last = pieces * (task + 1) / tasks;
            kernels<T>().pack(rows, first * PIECE, std::min(n, last * PIECE), packed);
        });
    }

    std::vector<T> contiguous_;
    std::optional<ThreadMemory> packed_;
};

template <class T> using Loops = std::vector<std::unique_ptr<Loop<T>>>;

// Runs all starts: side by side if there are enough of them, else one after the other by a team.
// centers and weights (R, K, M), constants (R), groups (R, K, groups) are replaced by the results.
// The loops that have run them are added to `loops`.
template <class T>
std::vector<Outcome> run_starts(const Problem<T>& problem, const CancelOf& cancel_of,
    double* centers, double* weights, double* constants, double* groups, Loops<T>& loops) {
    const int n_threads = problem.n_threads;
    const index r = problem.n_starts, size = problem.n_clusters * problem.rows.n_features;
    const index of_groups = problem.n_clusters * problem.rule.n_groups;
    std::vector<Outcome> outcomes(r);
    const auto run = [&](Loop<T>& loop, index start) {
        outcomes[start] = loop.run(start, centers + start * size, weights + start * size,
            constants + start, groups + start * of_groups);
    };
    if (n_threads == 1 || problem.n_sharing() > 1) {
        loops.emplace_back(new Loop<T>(problem, problem.n_sharing(), 0, cancel_of));
        for (index start = 0; start < r; ++start) run(*loops[0], start);
        return outcomes;
    }
    // made before threads start: none of them may throw
    for (int worker = 0; worker < std::min<index>(n_threads, r); ++worker)
        loops.emplace_back(new Loop<T>(problem, 1, worker, cancel_of));
    Pool::of_this_process().run(
        r, n_threads, [&](index start, int worker) { run(*loops[worker], start); });
    return outcomes;
}

}  // namespace fwk
