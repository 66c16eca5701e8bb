// What a start asks of the rows: their labels and sums, pass after pass. Passes choose the races,
// keep what serves the next pass, and share rows among threads.
#pragma once
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "dispatch.hpp"
#include "memory.hpp"
#include "moves.hpp"
#include "pool.hpp"
#include "rules.hpp"

namespace fwk {

// Multiply-adds from which threads share passes over the rows of a single segment: to wake them,
// and to wait for the last one, takes as long as smaller passes do. Besides the race, sums and
// distances take as long as about ten for each cell, and everything else as 300 for each row.
constexpr index SHAREABLE = 2000000, OF_CELL = 10, OF_ROW = 300;
inline index work_of(index n_rows, index n_features, index n_clusters, bool shared) {
    return n_rows * (n_features * (n_clusters * (shared ? 1 : 2) + OF_CELL) + OF_ROW);
}
// Threads that such a pass keeps busy: each needs its part of the work, or waking the others takes
// longer.
inline index n_useful(index work) { return std::max<index>(2, work / (SHAREABLE / 2)); }

// Bytes of packed rows that are kept from pass to pass.
constexpr index MOST_PACKED = index(1) << 19;

// What all starts share.
template <class T>
struct Problem {
    Rows<T> rows;
    index n_starts, n_clusters, n_segments;
    Rule rule;
    const double* shift;           // (M) subtracted while rows are packed
    const double* magnitude;       // (M) largest absolute value
    const double* span;            // (M) range
    const double* initial;         // (M) weights of a cluster that was moved
    const double* initial_groups;  // (groups) those of its groups
    index max_iter;
    double tol;
    bool updates;  // sum only the rows that change, where few do
    int n_threads;

    // Multiply-adds of a row.
    index race() const { return (rule.shared ? 1 : 2) * n_clusters * rows.n_features; }
    // Whether bounds tell which rows keep their label. Only with them rows in double race in single
    // where they are not packed once.
    bool bounded = false;

    // Whether rows in double precision can race in single.
    bool fits_single() const { return races_in_single<T>(span, rows.n_features); }
    // Whether all rows can be packed once for all passes and the final labels: a second cache must
    // have room for that beside them. (Sums of the rows that change depend on the blocks.)
    bool packable() const {
        const index each = fits_single() ? sizeof(float) : sizeof(T),
                    bytes = rows.n_rows * rows.n_features * each;
        return n_segments == 1 && !updates && n_clusters > 1 && bytes <= MOST_PACKED;
    }
    // Whether bounds pay: a small race is faster than bounds, most of all from rows that are
    // packed.
    bool gains_by_bounds() const {
        const index each = n_clusters * rows.n_features;
        const bool large = race() >= 5000;
        const bool worthwhile =
            each >= 32 && (large ? rows.n_rows >= 128 : rows.n_rows >= 512 && !packable());
        const bool simple = !rule.has_offsets() || each >= 100;
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
        const bool gains = bounded || (rows.packed && n_starts < n_threads);
        return n_segments > 1 || (gains && work() >= SHAREABLE);
    }
    index work() const { return work_of(rows.n_rows, rows.n_features, n_clusters, rule.shared); }
};

// One pass for one start: sums over all segments, added in their order. With a team its threads
// take the segments, else the calling thread does. Rows of a single segment are few, and stay in a
// cache: they are assigned in pieces, and then summed cluster by cluster in their order, so that
// threads share both.
template <class T>
class Passes {
   public:
    using CancelOf = std::function<Cancel(int)>;
    Passes(const Problem<T>& problem, int n_threads, int worker, const CancelOf& cancel_of)
        : problem_(problem), k_(problem.n_clusters), m_(problem.rows.n_features),
          n_threads_(n_threads), team_{n_threads}, worker_(worker), cancel_of_(cancel_of),
          bytes_(((problem.bounded ? kernels<T>().bounded_bytes(problem.rows, k_)
                                   : kernels<T>().scratch_bytes(problem.rows, k_, false)) +
                     63) /
                 64 * 64),
          size_(2 * k_ + (problem.rows.gaps ? 3 : 2) * k_ * m_ + 2),
          n_parts_(n_threads > 1 ? problem.n_segments : problem.n_segments > 1),
          n_pieces_(n_threads > 1
                        ? std::min<index>(2 * n_threads, (problem.rows.n_rows + PIECE - 1) / PIECE)
                        : 1),
          scratch_(bytes_ * n_threads + size_ * (1 + n_parts_) * sizeof(double)),
          total_(reinterpret_cast<double*>(scratch_.data() + bytes_ * n_threads)),
          parts_(total_ + size_), doubtful_(std::max(problem.n_segments, n_pieces_)) {}

    // Sums of the rows (or of those that change); the labels are replaced if they are kept.
    // With bounds the fingerprint is the change of it. Where rows are summed cluster by cluster,
    // `then` is called for clusters that are done, if it is given, and true is returned.
    using Then = std::function<void(index first, index last)>;
    bool accumulate(const Starts& starts, std::int32_t* labels, bool update,
        const Bounds* bounds = nullptr, const Then* then = nullptr) {
        prepare(starts, single && (bounds || problem_.rows.single));
        std::fill(doubtful_.begin(), doubtful_.end(), 0);
        const unsigned char flag = update;
        const LastLabels known{labels, problem_.rows.n_rows, &flag};
        if (bounds && !update && problem_.n_segments == 1 && problem_.rows.column_stride == 1) {
            *total().fingerprint = 0;
            *total().changed = 0;
            if (bounds->upper) assign_pieces(starts, known, *bounds, n_pieces_);
            sum_clusters(starts, labels, then);
            return then != nullptr;
        }
        if (!bounds && n_threads_ > 1 && packed(problem_.rows)) {
            packed_labels_.resize(problem_.rows.n_rows);
            race_pieces(starts, {packed_labels_.data(), problem_.rows.n_rows, &flag});
            sum_clusters(starts, packed_labels_.data(), then);
            return then != nullptr;
        }
        if (n_threads_ == 1) {
            for (index segment = 0; segment < problem_.n_segments; ++segment) {
                sum_segment(starts, known, bounds, segment, segment ? parts_ : total_, worker_, 0);
                if (segment) add(parts_);
            }
            return false;
        }
        Pool::of_this_process().run(
            problem_.n_segments, n_threads_, [&](index segment, int worker) {
                sum_segment(
                    starts, known, bounds, segment, parts_ + segment * size_, worker, worker);
            });
        std::copy(parts_, parts_ + size_, total_);
        for (index segment = 1; segment < problem_.n_segments; ++segment)
            add(parts_ + segment * size_);
        return false;
    }

    // Replaces the labels, and the bounds that are known of them.
    void assign(const Starts& starts, std::int32_t* labels, const Bounds& bounds) {
        prepare(starts, single);
        const unsigned char flag = false;
        *total().fingerprint = 0;
        *total().changed = 0;
        assign_pieces(starts, {labels, problem_.rows.n_rows, &flag}, bounds,
            std::max(n_pieces_, problem_.n_segments));
    }

    // The row farthest from its own center, among eligible clusters; -1 if there is none. If the
    // last pass left bounds, most rows are too near by these.
    std::int64_t farthest(const Starts& starts, const unsigned char* eligible, double& distance,
        const std::int32_t* labels, const Bounds* bounds) {
        if (!bounds) prepare(starts, false);
        std::vector<double> distances(problem_.n_segments, 0.0);
        std::vector<std::int64_t> rows(problem_.n_segments, -1);
        const auto search = [&](index segment, int worker, int place) {
            const index n = problem_.rows.n_rows;
            const index begin = n * segment / problem_.n_segments,
                        end = n * (segment + 1) / problem_.n_segments;
            const Farthest part{eligible, &distances[segment], &rows[segment]};
            if (bounds)
                kernels<T>().farthest_bounded(problem_.rows, begin, end, starts, scratch(place),
                    labels, *bounds, part, cancel_of_(worker));
            else
                kernels<T>().farthest(problem_.rows, begin, end, starts, 0, 1, prepared_.data(),
                    scratch(place), part, cancel_of_(worker));
        };
        if (n_threads_ == 1)
            for (index segment = 0; segment < problem_.n_segments; ++segment)
                search(segment, worker_, 0);
        else
            Pool::of_this_process().run(problem_.n_segments, n_threads_,
                [&](index segment, int worker) { search(segment, worker, worker); });
        std::int64_t row = -1;
        distance = 0;
        for (index segment = 0; segment < problem_.n_segments; ++segment)
            if (distances[segment] > distance) distance = distances[segment], row = rows[segment];
        return row;
    }

    // Sums of clusters [first, last), for which `then` is called, or was. Any thread may ask.
    void sum_again(const Starts& starts, index first, index last) {
        const Sums sums = total();
        const index at = first * m_, size = (last - first) * m_;
        std::fill(sums.mass + first, sums.mass + last, 0.0);
        std::fill(sums.rows + first, sums.rows + last, 0);
        std::fill_n(sums.sums + at, size, 0.0);
        std::fill_n(sums.squares + at, size, 0.0);
        if (sums.observed) std::fill_n(sums.observed + at, size, 0.0);
        kernels<T>().sum_clusters(
            problem_.rows, starts, order_.data(), position_.data(), first, last, sums);
    }

    bool single = false;  // whether rows in double precision race in single
    // Leaves that out if it could not decide enough rows of the last pass.
    void choose_race() {
        const std::int64_t doubtful =
            std::accumulate(doubtful_.begin(), doubtful_.end(), std::int64_t(0));
        single = single && single_pays(doubtful, problem_.rows.n_rows);
    }

    Sums total() { return of(total_); }
    bool cancelled() {
        const Cancel cancel = cancel_of_(worker_);
        return cancel.poll(cancel.state);
    }

   private:
    Sums of(double* memory) const {
        double* ones = memory + size_ - 2;
        return {memory, reinterpret_cast<std::int64_t*>(memory + k_), memory + 2 * k_,
            memory + 2 * k_ + k_ * m_, problem_.rows.gaps ? memory + 2 * k_ + 2 * k_ * m_ : nullptr,
            nullptr, reinterpret_cast<std::uint64_t*>(ones),
            reinterpret_cast<std::int64_t*>(ones + 1)};
    }
    void* scratch(int place) { return scratch_.data() + bytes_ * place; }
    void prepare(const Starts& starts, bool in_single) {
        const std::size_t bytes = kernels<T>().prepared_bytes(starts);
        if (prepared_.size() < bytes) prepared_.resize(bytes);
        if (in_single) kernels<float>().prepare(starts, 0, prepared_.data());
        else kernels<T>().prepare(starts, 0, prepared_.data());
    }

    // Labels and bounds of all rows, without sums.
    void assign_pieces(
        const Starts& starts, const LastLabels& known, const Bounds& bounds, index n_pieces) {
        for_each_piece(n_pieces,
            [&](index piece, index begin, index end, const Sums& none, int worker, int place) {
                Bounds own = bounds;
                own.doubtful = &doubtful_[piece];
                assign_and_sum(starts, known, own, begin, end, none, worker, place);
            });
    }
    // Labels of all rows, which are packed.
    void race_pieces(const Starts& starts, const LastLabels& known) {
        *total().fingerprint = 0;
        *total().changed = 0;
        for_each_piece(n_pieces_,
            [&](index piece, index begin, index end, const Sums& none, int worker, int place) {
                doubtful_[piece] += kernels<T>().accumulate(problem_.rows, begin, end, starts, 0, 1,
                    prepared_.data(), scratch(place), known, none, cancel_of_(worker));
            });
    }
    // body(piece, begin, end, sums that only tell changes, worker, place)
    template <class Body>
    void for_each_piece(index n_pieces, const Body& body) {
        struct Changes {
            std::uint64_t fingerprint = 0;
            std::int64_t changed = 0;
        };
        std::vector<Changes> changes(n_pieces);
        const auto take = [&](index piece, int worker, int place) {
            const index tiles = (problem_.rows.n_rows + PIECE - 1) / PIECE;
            const index begin = tiles * piece / n_pieces * PIECE,
                        end =
                            std::min(problem_.rows.n_rows, tiles * (piece + 1) / n_pieces * PIECE);
            Sums none{};
            none.fingerprint = &changes[piece].fingerprint;
            none.changed = &changes[piece].changed;
            body(piece, begin, end, none, worker, place);
        };
        if (n_threads_ == 1)
            for (index piece = 0; piece < n_pieces; ++piece) take(piece, worker_, 0);
        else
            Pool::of_this_process().run(n_pieces, n_threads_,
                [&](index piece, int worker) { take(piece, worker, worker); });
        for (const Changes& part : changes) {
            *total().fingerprint += part.fingerprint;
            *total().changed += part.changed;
        }
    }
    // What this pass races from; null: rows are packed anew.
    const void* packed(const Rows<T>& rows) const {
        return rows.single && !single ? nullptr : rows.packed;
    }

    // Sums of the only segment, whose labels are known.
    void sum_clusters(const Starts& starts, const std::int32_t* labels, const Then* then) {
        const index n = problem_.rows.n_rows;
        order_.resize(n);
        position_.assign(k_ + 2, 0);
        for (index i = 0; i < n; ++i) ++position_[labels[i] + 2];
        for (index j = 2; j <= k_ + 1; ++j) position_[j] += position_[j - 1];
        for (index i = 0; i < n; ++i) order_[position_[labels[i] + 1]++] = std::int32_t(i);
        team_.share(k_, 2 * n * m_, [&](index first, index last) {
            sum_again(starts, first, last);
            if (then) (*then)(first, last);
        });
    }
    void sum_segment(const Starts& starts, const LastLabels& known, const Bounds* bounds,
        index segment, double* memory, int worker, int place) {
        std::memset(memory, 0, size_ * sizeof(double));
        const index n = problem_.rows.n_rows, begin = n * segment / problem_.n_segments,
                    end = n * (segment + 1) / problem_.n_segments;
        if (bounds) {
            Bounds own = *bounds;
            own.doubtful = &doubtful_[segment];
            assign_and_sum(starts, known, own, begin, end, of(memory), worker, place);
        } else {
            Rows<T> rows = problem_.rows;
            rows.packed = packed(rows);
            doubtful_[segment] += kernels<T>().accumulate(rows, begin, end, starts, 0, 1,
                prepared_.data(), scratch(place), known, of(memory), cancel_of_(worker));
        }
    }
    void assign_and_sum(const Starts& starts, const LastLabels& known, const Bounds& bounds,
        index begin, index end, const Sums& out, int worker, int place) {
        kernels<T>().accumulate_bounded(problem_.rows, begin, end, starts, prepared_.data(), single,
            scratch(place), known, bounds, out, cancel_of_(worker));
    }
    void add(double* memory) {
        const Sums part = of(memory), sum = of(total_);
        for (index j = 0; j < k_; ++j) sum.mass[j] += part.mass[j], sum.rows[j] += part.rows[j];
        for (index i = 0; i < size_ - 2 - 2 * k_; ++i)
            sum.sums[i] += part.sums[i];  // and what follows
        *sum.fingerprint += *part.fingerprint;
        *sum.changed += *part.changed;
    }

    const Problem<T>& problem_;
    index k_, m_;
    int n_threads_;
    Team team_;
    int worker_;
    const CancelOf& cancel_of_;
    std::size_t bytes_;
    index size_, n_parts_, n_pieces_;
    Lent scratch_;
    double *total_, *parts_;  // in the same memory
    std::vector<char> prepared_;
    std::vector<std::int64_t> doubtful_;          // (parts) rows that the race could not decide
    std::vector<std::int32_t> order_, position_;  // rows by their labels, and where clusters begin
    std::vector<std::int32_t> packed_labels_;     // of a pass whose labels nobody keeps
};

}  // namespace fwk
