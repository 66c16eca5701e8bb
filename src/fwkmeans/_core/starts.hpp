// All starts of a fit: how their rows are laid out, and which threads run them.
#pragma once
#include <memory>
#include <optional>

#include "loop.hpp"

namespace fwk {

// The first of the starts whose objective is the lowest up to rounding (_engine/state.py); -1 if
// all were given up.
inline index first_lowest(const std::vector<Ended>& ended) {
    double lowest = INF;
    for (const Ended& run : ended)
        if (!run.given_up) lowest = std::min(lowest, run.objective);
    for (std::size_t start = 0; start < ended.size(); ++start)
        if (!ended[start].given_up && ended[start].objective <= lowest + 1e-12 * std::fabs(lowest))
            return index(start);
    return -1;
}

// A copy of the rows of a single segment if a pass would have to copy them; empty if not, or if
// they are many.
template <class T>
std::vector<T> contiguous_rows(const Problem<T>& problem) {
    constexpr index MOST = index(1) << 20;
    const Rows<T>& rows = problem.rows;
    const index n = rows.n_rows, m = rows.n_features;
    if (problem.n_segments > 1 || rows.column_stride == 1 || n * m > MOST) return {};
    std::vector<T> copy(n * m);
    for (index i = 0; i < n; ++i)
        for (index v = 0; v < m; ++v)
            copy[i * m + v] = rows.data[i * rows.row_stride + v * rows.column_stride];
    return copy;
}

// A problem whose rows lie as passes want them: contiguous if they are few, and packed once if that
// serves all passes.
template <class T>
class Laid {
   public:
    Problem<T> problem;
    explicit Laid(const Problem<T>& given) : problem(given), contiguous_(contiguous_rows(given)) {
        Rows<T>& rows = problem.rows;
        if (!contiguous_.empty())
            rows.data = contiguous_.data(), rows.row_stride = rows.n_features,
            rows.column_stride = 1;
        problem.bounded = problem.gains_by_bounds();
        if (problem.bounded || !problem.packable() || rows.column_stride != 1) return;
        rows.single = problem.fits_single();
        packed_.emplace(kernels<T>().packed_bytes(rows));
        rows.packed = packed_->data();
    }
    // Before the first pass.
    void pack() {
        if (!packed_) return;
        const Rows<T>& rows = problem.rows;
        const index n = rows.n_rows, pieces = (n + PIECE - 1) / PIECE;
        kernels<T>().begin_packing(rows, problem.shift, packed_->data());
        Team{problem.n_sharing()}.share(pieces, n * rows.n_features, [&](index first, index last) {
            kernels<T>().pack(rows, first * PIECE, std::min(n, last * PIECE), packed_->data());
        });
    }
    Laid(const Laid&) = delete;  // `problem` points into it

   private:
    std::vector<T> contiguous_;
    std::optional<Lent> packed_;
};

template <class T>
using Loops = std::vector<std::unique_ptr<Loop<T>>>;

// Runs all starts: side by side if there are enough of them, else one after the other by a team.
// centers and weights (R, K, M), constants (R), groups (R, K, groups) are replaced by the results.
// The loops that have run them are added to `loops`.
template <class T>
std::vector<Ended> run_starts(const Problem<T>& problem,
    const typename Passes<T>::CancelOf& cancel_of, double* centers, double* weights,
    double* constants, double* groups, Loops<T>& loops) {
    const int n_threads = problem.n_threads;
    const index r = problem.n_starts, size = problem.n_clusters * problem.rows.n_features;
    const index of_groups = problem.n_clusters * problem.rule.n_groups;
    std::vector<Ended> ended(r);
    const auto run = [&](Loop<T>& loop, index start) {
        ended[start] = loop.run(start, centers + start * size, weights + start * size,
            constants + start, groups + start * of_groups);
    };
    if (n_threads == 1 || problem.n_sharing() > 1) {
        loops.emplace_back(new Loop<T>(problem, problem.n_sharing(), 0, cancel_of));
        for (index start = 0; start < r; ++start) run(*loops[0], start);
        return ended;
    }
    // made before threads start: none of them may throw
    for (int worker = 0; worker < std::min<index>(n_threads, r); ++worker)
        loops.emplace_back(new Loop<T>(problem, 1, worker, cancel_of));
    Pool::of_this_process().run(
        r, n_threads, [&](index start, int worker) { run(*loops[worker], start); });
    return ended;
}

}  // namespace fwk
