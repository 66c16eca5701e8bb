// What a start asks of the rows, pass after pass. README.md draws one.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <vector>

#include "common/memory.hpp"
#include "loop/problem.hpp"

namespace fwk {

using CancelOf = std::function<Cancel(int worker)>;

// Who works on a pass: the calling thread alone, or a team that shares its parts.
class Crew {
   public:
    Crew(int n_threads, int worker, const CancelOf& cancel_of, std::size_t bytes)
        : n_threads(n_threads), worker_(worker), cancel_of_(cancel_of),
          bytes_((bytes + 63) / 64 * 64), scratch_(bytes_ * n_threads) {}

    // body(task, part of no rows yet) for each task.
    template <class Body> void run(index n_tasks, const Body& body) const {
        const auto part = [&](int worker, int place) {
            return Part{0, 0, scratch_.data() + bytes_ * place, cancel_of_(worker)};
        };
        if (n_threads == 1) {
            for (index task = 0; task < n_tasks; ++task) body(task, part(worker_, 0));
            return;
        }
        Pool::of_this_process().run(
            n_tasks, n_threads, [&](index task, int worker) { body(task, part(worker, worker)); });
    }
    // body(first, last) for all of [0, n).
    template <class Body> void share(index n, index n_numbers, const Body& body) const {
        const index parts = n_numbers < MANY_NUMBERS ? 1 : std::min<index>(n, 2 * n_threads);
        if (n_threads == 1 || parts <= 1) return body(index(0), n);
        run(parts, [&](index at, const Part&) { body(n * at / parts, n * (at + 1) / parts); });
    }
    bool cancelled() const { return cancel_of_(worker_)(); }

    const int n_threads;

   private:
    int worker_;
    const CancelOf& cancel_of_;
    std::size_t bytes_;
    ThreadMemory scratch_;
};

// Room for the sums of a pass, and for those of each segment where threads share them.
class SumsMemory {
   public:
    SumsMemory(index k, index m, bool gaps, index n_parts)
        : k_(k), m_(m), gaps_(gaps), size_(2 * k + (gaps ? 3 : 2) * k * m + 2),
          memory_(std::size_t(size_ * (1 + n_parts)) * sizeof(double)) {}

    Sums total() const { return at(0); }
    // Zeros for a segment: the first goes to the total if one thread sums all.
    Sums cleared(index place) const {
        std::memset(numbers(place), 0, std::size_t(size_) * sizeof(double));
        return at(place);
    }
    void add(index place) const {
        const Sums part = at(place), sum = total();
        for (index j = 0; j < k_; ++j) sum.mass[j] += part.mass[j], sum.rows[j] += part.rows[j];
        for (index i = 0; i < size_ - 2 - 2 * k_; ++i)
            sum.sums[i] += part.sums[i];  // and what follows
        *sum.fingerprint += *part.fingerprint;
        *sum.changed += *part.changed;
    }
    void clear_clusters(index first, index last) const {
        const Sums sums = total();
        const index from = first * m_, size = (last - first) * m_;
        std::fill(sums.mass + first, sums.mass + last, 0.0);
        std::fill(sums.rows + first, sums.rows + last, 0);
        std::fill_n(sums.sums + from, size, 0.0);
        std::fill_n(sums.squares + from, size, 0.0);
        if (sums.observed) std::fill_n(sums.observed + from, size, 0.0);
    }

   private:
    double* numbers(index place) const {
        return reinterpret_cast<double*>(memory_.data()) + place * size_;
    }
    Sums at(index place) const {
        double *memory = numbers(place), *ones = memory + size_ - 2;
        const index n = k_ * m_;
        return {memory, reinterpret_cast<std::int64_t*>(memory + k_), memory + 2 * k_,
            memory + 2 * k_ + n, gaps_ ? memory + 2 * k_ + 2 * n : nullptr, nullptr,
            reinterpret_cast<std::uint64_t*>(ones), reinterpret_cast<std::int64_t*>(ones + 1)};
    }
    index k_, m_;
    bool gaps_;
    index size_;
    ThreadMemory memory_;
};

// The passes of one start after the other. Rows of several segments are summed segment by segment,
// and segments are added in their order. Rows of a single segment are few, and stay in a cache:
// they are labeled in pieces, and then summed cluster by cluster, so that threads share both.
template <class T> class Passes {
   public:
    Passes(const Problem<T>& problem, int n_threads, int worker, const CancelOf& cancel_of)
        : problem_(problem), k_(problem.n_clusters), m_(problem.rows.n_features),
          crew_(n_threads, worker, cancel_of,
              kernels<T>().scratch_bytes(problem.rows, k_, false, problem.bounded)),
          sums_(k_, m_, problem.rows.gaps,
              n_threads > 1 ? problem.n_segments : problem.n_segments > 1) {}

    bool single = false;  // whether rows in double precision race in single

    // Labels all rows, which nobody keeps, and sums them.
    Changes label_and_sum(const Starts& starts) {
        const bool packed = problem_.packed.memory && (single || !problem_.packed.single);
        prepare(starts, packed && problem_.packed.single);
        if (packed) {
            labels_.resize(problem_.rows.n_rows);
            const Changes changes = by_pieces(n_pieces(), [&](const Part& part) {
                return kernels<T>().label_packed(
                    problem_.rows, problem_.packed, part, starts, prepared_.data(), labels_.data());
            });
            sum_clusters(starts, labels_.data());
            return end(changes);
        }
        return end(by_segments([&](const Part& part, const Sums& out) {
            kernels<T>().label_and_sum(problem_.rows, part, starts, 0, 1, prepared_.data(), out);
            return std::int64_t(0);
        }));
    }
    // The same where labels are kept; sums are those of the changes alone if `update` says so.
    Changes label_and_sum_changes(const Starts& starts, std::int32_t* labels, bool update) {
        const unsigned char flag = update;
        prepare(starts, false);
        return end(by_segments([&](const Part& part, const Sums& out) {
            kernels<T>().label_and_sum_changes(problem_.rows, part, starts, 0, 1, prepared_.data(),
                {labels, problem_.rows.n_rows, &flag}, out);
            return std::int64_t(0);
        }));
    }
    // The same by bounds.
    Changes label_by_bounds_and_sum(
        const Starts& starts, std::int32_t* labels, bool update, const Bounds& bounds) {
        if (!update && by_clusters()) {
            const Changes changes = label_by_bounds(starts, labels, bounds);
            sum_clusters(starts, labels);
            return end(changes);
        }
        const unsigned char flag = update;
        prepare(starts, single);
        return end(by_segments([&](const Part& part, const Sums& out) {
            return kernels<T>().label_by_bounds_and_sum(problem_.rows, part, starts,
                prepared_.data(), single, {labels, problem_.rows.n_rows, &flag}, bounds, out);
        }));
    }
    // Labels alone.
    Changes label_by_bounds(const Starts& starts, std::int32_t* labels, const Bounds& bounds) {
        prepare(starts, single);
        return by_pieces(std::max(n_pieces(), problem_.n_segments), [&](const Part& part) {
            return kernels<T>().label_by_bounds(
                problem_.rows, part, starts, prepared_.data(), single, labels, bounds);
        });
    }
    // Sums of rows whose labels are known.
    void sum_known(const Starts& starts, const std::int32_t* labels) {
        if (by_clusters()) return sum_clusters(starts, labels);
        by_segments([&](const Part& part, const Sums& out) {
            kernels<T>().sum_known(problem_.rows, part, starts, labels, out);
            return std::int64_t(0);
        });
    }

    // The row farthest from its own center, among eligible clusters; -1 if there is none.
    std::int64_t farthest(const Starts& starts, const unsigned char* eligible, double& distance) {
        prepare(starts, false);
        return farthest_of_segments(eligible, distance, [&](const Part& part, const Farthest& out) {
            kernels<T>().farthest(problem_.rows, part, starts, 0, 1, prepared_.data(), out);
        });
    }
    // The same after a pass by bounds: most rows are too near by these.
    std::int64_t farthest_by_bounds(const Starts& starts, const unsigned char* eligible,
        double& distance, const std::int32_t* labels, const Bounds& bounds) {
        return farthest_of_segments(eligible, distance, [&](const Part& part, const Farthest& out) {
            kernels<T>().farthest_by_bounds(problem_.rows, part, starts, labels, bounds, out);
        });
    }

    Sums total() { return sums_.total(); }
    bool cancelled() const { return crew_.cancelled(); }

   private:
    bool by_clusters() const {
        return problem_.n_segments == 1 && problem_.rows.column_stride == 1;
    }
    index n_tiles() const { return (problem_.rows.n_rows + PIECE - 1) / PIECE; }
    index n_pieces() const {
        return crew_.n_threads > 1 ? std::min<index>(2 * crew_.n_threads, n_tiles()) : 1;
    }
    void prepare(const Starts& starts, bool in_single) {
        const std::size_t bytes = kernels<T>().prepared_bytes(starts);
        if (prepared_.size() < bytes) prepared_.resize(bytes);
        if (in_single) kernels<float>().prepare(starts, 0, prepared_.data());
        else kernels<T>().prepare(starts, 0, prepared_.data());
    }
    // Leaves out the race in single precision if it could not decide enough rows.
    Changes end(const Changes& changes) {
        single = single && single_pays(changes.doubtful, problem_.rows.n_rows);
        return changes;
    }

    // label(part) for whole tiles of rows.
    template <class Label> Changes by_pieces(index n_pieces, const Label& label) {
        std::vector<Changes> parts(n_pieces);
        const index n = problem_.rows.n_rows;
        crew_.run(n_pieces, [&](index piece, Part part) {
            part.begin = n_tiles() * piece / n_pieces * PIECE;
            part.end = std::min(n, n_tiles() * (piece + 1) / n_pieces * PIECE);
            parts[piece] = label(part);
        });
        Changes all;
        for (const Changes& part : parts) {
            all.fingerprint += part.fingerprint;
            all.changed += part.changed;
            all.doubtful += part.doubtful;
        }
        return all;
    }
    Part of_segment(index segment, Part part) const {
        const index n = problem_.rows.n_rows;
        part.begin = n * segment / problem_.n_segments;
        part.end = n * (segment + 1) / problem_.n_segments;
        return part;
    }
    // sum(part, sums), which returns the number of doubtful rows, for all segments.
    template <class Sum> Changes by_segments(const Sum& sum) {
        std::atomic<std::int64_t> doubtful{0};
        const bool alone = crew_.n_threads == 1;
        crew_.run(problem_.n_segments, [&](index segment, const Part& part) {
            const index place = alone ? segment > 0 : segment + 1;
            doubtful += sum(of_segment(segment, part), sums_.cleared(place));
            if (place > 0 && alone) sums_.add(place);
        });
        if (!alone) {
            sums_.cleared(0);
            for (index segment = 0; segment < problem_.n_segments; ++segment)
                sums_.add(segment + 1);
        }
        return {*total().fingerprint, *total().changed, doubtful};
    }
    void sum_clusters(const Starts& starts, const std::int32_t* labels) {
        const index n = problem_.rows.n_rows;
        order_.resize(n + PIECE);
        position_.resize(k_ + 1);
        kernels<T>().sort(labels, n, k_, order_.data(), position_.data());
        crew_.share(k_, 2 * n * m_, [&](index first, index last) {
            sums_.clear_clusters(first, last);
            kernels<T>().sum_clusters(
                problem_.rows, starts, order_.data(), position_.data(), first, last, total());
        });
    }
    template <class Search>
    std::int64_t farthest_of_segments(
        const unsigned char* eligible, double& distance, const Search& search) {
        const index n = problem_.n_segments;
        std::vector<double> distances(n, 0.0);
        std::vector<std::int64_t> rows(n, -1);
        crew_.run(n, [&](index segment, const Part& part) {
            search(
                of_segment(segment, part), Farthest{eligible, &distances[segment], &rows[segment]});
        });
        const auto best = std::max_element(distances.begin(), distances.end()) - distances.begin();
        distance = distances[best];
        return distance > 0 ? rows[best] : -1;
    }

    const Problem<T>& problem_;
    index k_, m_;
    Crew crew_;
    SumsMemory sums_;
    std::vector<char> prepared_;
    std::vector<std::int32_t> order_, position_;  // rows by their labels, and where clusters begin
    std::vector<std::int32_t> labels_;            // of a pass whose labels nobody keeps
};

}  // namespace fwk
