// How bounds of distances follow centers and weights from one pass to the next; assign/bounds.hpp
// uses them.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/dispatch.hpp"
#include "common/tuning.hpp"

namespace fwk {

// A power of two that makes distances about one, whatever the units of the features.
inline double unit_of(const double* span, index m) {
    double squares = 0;
    for (index v = 0; v < m; ++v) squares += span[v] * span[v];
    int exponent;
    std::frexp(squares, &exponent);
    return std::ldexp(1.0, -exponent / 2);
}

// Whether squares of such differences are numbers in float, and not too small to tell rows apart.
inline bool fits_single(double difference) { return difference > 1e-12 && difference < 1e15; }

// Whether rows in double precision race in single, where passes by bounds begin.
template <class T> bool races_in_single(const double* span, index m) {
    double widest = 0;
    for (index v = 0; v < m; ++v) widest = std::max(widest, span[v]);
    return sizeof(T) == 8 && fits_single(widest);
}
// ... and whether it still pays if it could not decide so many rows.
inline bool single_pays(std::int64_t doubtful, index n_rows) {
    return doubtful <= n_rows / SINGLE_LEAVES;
}

// What decides the labels of a start.
struct Decision {
    const double* centers;  // (K, M)
    const double* weights;  // (K or 1, M), effective
    index n_own;            // K or 1
    const double* offsets;  // (K), null: none
};

class BoundMoves {
   public:
    BoundMoves(index n_clusters, index n_features)
        : k_(n_clusters), m_(n_features), tables_(4 * k_), shrinking_(k_), steps_(k_) {}

    // What bounds of the last pass (null: nothing is known) must be multiplied by, and what is
    // added, to hold for the centers and weights of this one; a little more, for all that is
    // rounded. `upper` and `lower` go along. The result is good until the next call. The cluster
    // that was placed anew, if one was, is left out: rows are compared with it one by one.
    Bounds from(const Decision* last, const Decision& now, float* upper, float* lower, double unit,
        index placed = -1) {
        float *grow = tables_.data(), *add = grow + k_, *shrink = add + k_, *subtract = shrink + k_;
        if (now.offsets) set_offsets(now.offsets, unit);
        const Bounds bounds{upper, lower, grow, add, shrink, subtract, unit,
            now.offsets ? &offsets_ : nullptr, last ? placed : -1};
        if (!last) {
            for (index j = 0; j < k_; ++j) grow[j] = shrink[j] = 1, add[j] = subtract[j] = 0;
            return bounds;
        }
        constexpr double INFINITE = std::numeric_limits<double>::infinity();
        for (index j = 0; j < k_; ++j) {
            const index own = now.n_own == 1 ? 0 : j * m_;
            const Change change = elementwise().change(last->weights + own, now.weights + own,
                last->centers + j * m_, now.centers + j * m_, m_);
            // a weight that leaves zero: nothing is known
            const double alpha = change.leaves_zero ? INFINITE : change.most;
            steps_[j] = std::sqrt(change.step) * unit * (1 + 1e-6) + 1e-30;
            shrinking_[j] = std::sqrt(change.least) * (1 - 1e-6);
            grow[j] = float(std::sqrt(alpha) * (1 + 1e-6));
            add[j] = float(steps_[j] * (1 + 1e-6));
            if (j == placed) shrinking_[j] = 1, steps_[j] = 0;
        }
        // the lowest and second lowest shrinking, the largest and second largest step
        double least = INFINITE, less = INFINITE, most = 0, more = 0;
        for (index j = 0; j < k_; ++j) {
            if (shrinking_[j] < least) less = least, least = shrinking_[j];
            else less = std::min(less, shrinking_[j]);
            if (steps_[j] > most) more = most, most = steps_[j];
            else more = std::max(more, steps_[j]);
        }
        for (index j = 0; j < k_; ++j) {
            shrink[j] = float((shrinking_[j] == least ? less : least) * (1 - 1e-6));
            subtract[j] = float((steps_[j] == most ? more : most) * (1 + 1e-6));
        }
        return bounds;
    }

   private:
    // The offsets of this pass, and the least and the most of the others of each cluster.
    void set_offsets(const double* own, double unit) {
        constexpr double INFINITE = std::numeric_limits<double>::infinity();
        double least = INFINITE, less = INFINITE, most = -INFINITE, more = -INFINITE;
        for (index j = 0; j < k_; ++j) {
            less = std::min(less, std::max(least, own[j]));
            least = std::min(least, own[j]);
            more = std::max(more, std::min(most, own[j]));
            most = std::max(most, own[j]);
        }
        const auto in_units = [unit](double offset) { return float(offset * unit * unit); };
        offset_tables_.resize(3 * k_);
        float *mine = offset_tables_.data(), *least_other = mine + k_,
              *most_other = least_other + k_;
        for (index j = 0; j < k_; ++j) {
            mine[j] = in_units(own[j]);
            least_other[j] = in_units(own[j] == least ? less : least);
            most_other[j] = in_units(own[j] == most ? more : most);
        }
        offsets_ = {mine, least_other, most_other, in_units(least), in_units(most)};
    }

    index k_, m_;
    std::vector<float> tables_, offset_tables_;
    std::vector<double> shrinking_, steps_;
    Offsets offsets_{};
};

}  // namespace fwk
