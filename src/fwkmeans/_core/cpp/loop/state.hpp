// What a start remembers from one iteration to the next.
#pragma once
#include "loop/passes.hpp"

namespace fwk {

// Sums of the rows of each cluster: those of the last pass, or of all rows when they were summed
// last and of the changes since then.
struct ClusterSums {
    std::vector<double> mass;        // (K)
    std::vector<std::int64_t> rows;  // (K)
    const double* reference;         // (K, M) what the others are taken about
    double *sums, *squares;          // (K, M)
    double* observed;                // (K, M) null if no cell is missing

    // Takes the sums of a pass over all rows, as they are.
    void take(const Sums& part, const double* about, index k) {
        mass.assign(part.mass, part.mass + k);
        rows.assign(part.rows, part.rows + k);
        reference = about;
        sums = part.sums, squares = part.squares, observed = part.observed;
    }
};

// The sums of the last pass over all rows, to which those of changes are added.
class KeptSums {
   public:
    // Copies sums that a pass over all rows has left, and points `now` at the copies.
    void keep(ClusterSums& now, index n, std::int64_t changed) {
        reference_.assign(now.reference, now.reference + n);
        sums_.assign(now.sums, now.sums + n);
        squares_.assign(now.squares, now.squares + n);
        now.reference = reference_.data(), now.sums = sums_.data(), now.squares = squares_.data();
        peak_mass_ = now.mass, peak_squares_ = squares_;
        if (now.observed) {
            observed_.assign(now.observed, now.observed + n);
            now.observed = observed_.data();
            peak_observed_ = observed_;
        }
        changed_ = changed, age_ = 0;
    }
    void forget() { age_ = OLD_SUMS; }

    // Whether the next pass may sum changes alone: there are few, and no center is far from its
    // reference, measured by the spread of its cluster.
    bool allow(const ClusterSums& now, const std::vector<double>& centers, index n_rows) const {
        if (age_ >= OLD_SUMS) return false;
        if (!(double(changed_) <= MANY_CHANGES * double(n_rows))) return false;
        const index k = index(now.mass.size()), m = index(centers.size()) / k;
        for (index i = 0; i < k * m; ++i) {
            const double step = centers[i] - now.reference[i];
            const double mass = now.observed ? now.observed[i] : now.mass[i / m];
            if (step * step * mass > 0.99 * now.squares[i]) return false;
        }
        return true;
    }
    // Adds the sums of changes. False if digits are lost, because most of a cluster has left it.
    bool add(const Sums& part, index m, std::int64_t changed, ClusterSums& now) {
        bool lost = false;
        const auto fell = [&](double value, double& peak, index j) {
            peak = std::max(peak, value);
            lost |= value < 1e-4 * peak && now.rows[j] > 0;
        };
        for (index j = 0; j < index(now.mass.size()); ++j) {
            now.mass[j] += part.mass[j];
            now.rows[j] += part.rows[j];
            const bool any = now.rows[j] > 0;
            if (!any) now.mass[j] = 0;
            fell(now.mass[j], peak_mass_[j], j);
            for (index i = j * m; i < (j + 1) * m; ++i) {
                const double square = now.squares[i] + part.squares[i];
                now.sums[i] = any ? now.sums[i] + part.sums[i] : 0;
                now.squares[i] = any && square > 0 ? square : 0;
                fell(now.squares[i], peak_squares_[i], j);
                if (!now.observed) continue;
                now.observed[i] = any ? now.observed[i] + part.observed[i] : 0;
                fell(now.observed[i], peak_observed_[i], j);
            }
        }
        changed_ = changed, ++age_;
        return !lost;
    }

   private:
    std::vector<double> reference_, sums_, squares_, observed_;
    std::vector<double> peak_mass_, peak_squares_,
        peak_observed_;         // the most since all were summed
    std::int64_t changed_ = 0;  // rows that changed their cluster in the last pass
    int age_ = OLD_SUMS;        // passes since all rows were summed
};

// Labels of all rows, bounds of their distances, and what decided them.
struct BoundedLabels {
    std::vector<std::int32_t> labels;
    std::vector<float> upper, lower;
    std::vector<double> centers, weights;  // copies, where those of the loop have gone on
    Decision decision{};                   // of the last pass; no centers: there was none

    void clear(index n_rows, bool bounded) {
        labels.assign(n_rows, -1);
        if (bounded) upper.assign(n_rows, std::numeric_limits<float>::infinity());
        if (bounded) lower.assign(n_rows, 0.0f);
        decision = {};
    }
    // Copies what decided the labels, before it changes.
    void hold(index k, index m) {
        centers.assign(decision.centers, decision.centers + k * m);
        weights.assign(decision.weights, decision.weights + decision.n_own * m);
        decision.centers = centers.data(), decision.weights = weights.data();
        decision.offsets = nullptr;
    }
};

// The labelings of a start, by their fingerprints.
class Fingerprints {
   public:
    void clear() { earlier_.clear(), now = 0, has_last_ = false; }
    bool same_as_last() const { return has_last_ && now == last_; }
    void next() { last_ = now, has_last_ = true; }
    // Whether the labels came before the last iteration and this is the lowest objective since
    // then.
    bool ends_circle(const std::vector<double>& history) {
        const index here = index(history.size()) - 1;
        index earlier = -1;
        for (index at = here - 2; at >= 0 && earlier < 0; --at)
            if (earlier_[at] == now) earlier = at;
        earlier_.push_back(now);
        if (earlier < 0) return false;
        const double best = *std::min_element(history.begin() + earlier + 1, history.end());
        return history[here] - best <= 1e-12 * std::fabs(best);
    }
    std::uint64_t now = 0;

   private:
    std::uint64_t last_ = 0;
    bool has_last_ = false;
    std::vector<std::uint64_t> earlier_;
};

}  // namespace fwk
