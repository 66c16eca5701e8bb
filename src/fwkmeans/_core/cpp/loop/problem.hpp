// What all starts of a fit share.
#pragma once
#include "common/pool.hpp"
#include "common/tuning.hpp"
#include "loop/bound_moves.hpp"
#include "loop/rules.hpp"

namespace fwk {

// Multiply-adds of a pass, and the threads that so many keep busy.
inline index work_of(index n_rows, index n_features, index n_clusters, bool shared) {
    return n_rows * (n_features * (n_clusters * (shared ? 1 : 2) + OF_CELL) + OF_ROW);
}
inline index n_useful(index work) { return std::max<index>(2, work / (SHAREABLE / 2)); }

// What is known of the table; see `Description` in typing.py.
struct TableNumbers {
    const double* shift;           // (M) subtracted while rows are packed
    const double* magnitude;       // (M) largest absolute value
    const double* span;            // (M) range
    const double* initial;         // (M) weights of a cluster that was moved
    const double* initial_groups;  // (groups) those of its groups
};
struct Limits {
    index max_iter;
    double tol;
    bool updates;  // sum only the rows that change, where few do
    int n_threads;
};

template <class T> struct Problem : TableNumbers, Limits {
    Rows<T> rows;
    index n_starts, n_clusters, n_segments;
    Rule rule;
    PackedTable packed = {nullptr, false};  // null: rows are packed anew in each pass
    bool bounded = false;                   // whether bounds tell which rows keep their label

    // Multiply-adds of a row.
    index race() const { return (rule.shared ? 1 : 2) * n_clusters * rows.n_features; }
    index work() const { return work_of(rows.n_rows, rows.n_features, n_clusters, rule.shared); }
    // Whether rows in double precision can race in single.
    bool fits_single() const { return races_in_single<T>(span, rows.n_features); }
    // Whether all rows can be packed once for all passes: a second cache must have room for that
    // beside them. (Sums of the rows that change depend on the blocks.)
    bool packable() const {
        const index each = fits_single() ? sizeof(float) : sizeof(T);
        const index bytes = rows.n_rows * rows.n_features * each;
        return n_segments == 1 && !updates && n_clusters > 1 && bytes <= MOST_PACKED;
    }
    // Whether bounds pay: a small race is faster than bounds, most of all from rows that are
    // packed.
    bool gains_by_bounds() const {
        const index each = n_clusters * rows.n_features;
        const bool large = race() >= LARGE_RACE;
        const bool worthwhile =
            each >= SMALL_RACE && (large ? rows.n_rows >= 128 : rows.n_rows >= 512 && !packable());
        const bool simple = !rule.has_offsets() || each >= OFFSETS_PAY;
        return (updates || worthwhile) && simple && n_clusters > 1;
    }
    // Threads that share the passes of a start. Starts run one after the other then, unless so many
    // of them keep more threads busy side by side.
    int n_sharing() const {
        const int team = int(std::min<index>(n_threads, n_useful(work())));
        return n_starts < 2 * team && shareable() ? team : 1;
    }
    // Packed rows race so fast that starts side by side take less time, if each thread has one.
    bool shareable() const {
        const bool gains = bounded || (packed.memory && n_starts < n_threads);
        return n_segments > 1 || (gains && work() >= SHAREABLE);
    }
};

}  // namespace fwk
