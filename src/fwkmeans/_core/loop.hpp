// The whole alternating loop of a start: what _engine/loop.py does for a batch with NumPy, for
// squared distances, means and the weight rules of rules.hpp. Both give the same bits. On a table
// of a hundred rows an iteration takes a microsecond here, and a hundred or two there.
#pragma once
#include "passes.hpp"

namespace fwk {

// How a start ended, see _engine/loop.py.
struct Ended {
    std::vector<double> history;
    double objective = 0;
    bool converged = false, has_empty = false;
    bool given_up = false;  // sums overflow: _engine/loop.py says how such a start ends
};

// How rows are labeled by a start that has ended: by its public centers, which have the type of the
// rows, and its weights (_engine/state.py, assignment_of).
struct Final {
    RuleOfStart rule;
    Weighting weighting;
    std::vector<double> centers;
    Starts starts;

    template <class T>
    Final(const Problem<T>& problem, index start, const double* ended, const double* weights,
        double constant, const double* groups)
        : rule(problem.rule, problem.n_clusters, problem.rows.n_features) {
        const index k = problem.n_clusters, m = problem.rows.n_features;
        weighting.set(weights, k * m, constant, groups, k * problem.rule.n_groups);
        rule.set_start(start);
        rule.measure(weighting);
        rule.set_effective(weighting);
        for (index i = 0; i < k * m; ++i) centers.push_back(double(T(ended[i])));
        const bool shared = rule.n_own() != k || k == 1;
        starts = {1, k, m, shared, centers.data(), weighting.effective.data(),
            weighting.offsets.data(), centers.data(), problem.shift, nullptr, nullptr, 0, 0,
            nullptr, false, shared && !problem.rows.gaps};
    }
    Final(const Final&) = delete;  // `starts` points into it
};

// Runs starts one after the other; its memory serves them all.
template <class T>
class Loop {
   public:
    Loop(const Problem<T>& problem, int n_threads, int worker,
        const typename Passes<T>::CancelOf& cancel_of)
        : problem_(problem), k_(problem.n_clusters), m_(problem.rows.n_features),
          passes_(problem, n_threads, worker, cancel_of), team_{n_threads},
          rule_(problem.rule, k_, m_), moved_(k_ * m_), dispersion_(k_ * m_), known_(k_ * m_),
          mass_(k_), peak_mass_(k_), moves_(k_, m_, team_), rows_(k_), lost_(k_), finite_(k_) {
        if (problem.updates || problem.bounded) labels_.resize(problem.rows.n_rows);
        all_vary_ = std::find(problem.rule.varying, problem.rule.varying + m_, 0) ==
                    problem.rule.varying + m_;
        if (!problem.bounded) return;
        upper_.resize(problem.rows.n_rows);
        lower_.resize(problem.rows.n_rows);
        unit_ = unit_of(problem.span, m_);
    }

    // IN and OUT: centers (K, M), weights (K, M), constant of the smoothing (NaN: none yet),
    // weights of groups (K, groups).
    Ended run(index start, double* centers, double* weights, double* constant, double* groups) {
        Ended ended;
        begin(start, centers, weights, *constant, groups);
        for (index iteration = 1; iteration <= problem_.max_iter; ++iteration) {
            rule_.begin_update(weighting_, next_);
            if (!count()) return give_up(ended);
            bool hopeless = false;
            if (!relocate(hopeless)) return give_up(ended);
            if (!move_centers()) return give_up(ended);
            if (!rule_.follows_clusters(weighting_))
                rule_.update(dispersion_.data(), mass_.data(), weighting_, next_);
            for (index j = 0; j < k_; ++j)
                if (rows_[j] == 0) reset(next_, j);
            rule_.set_effective(next_);
            double unit;
            const double objective = rule_.objective(dispersion_.data(), mass_.data(), next_, unit);
            if (!std::isfinite(objective)) return give_up(ended);
            ended.history.push_back(objective);
            ended.converged = stops(ended.history, unit);
            const bool circle = !ended.converged && best_of_circle(ended.history);
            centers_.swap(moved_);
            std::swap(weighting_, next_);
            last_print_ = fingerprint_;
            has_print_ = true;
            if (ended.converged || circle || iteration == problem_.max_iter) {
                ended.objective = objective;
                ended.has_empty = hopeless;
                break;
            }
        }
        std::copy(centers_.begin(), centers_.end(), centers);
        std::copy(weighting_.values.begin(), weighting_.values.end(), weights);
        std::copy(weighting_.groups.begin(), weighting_.groups.end(), groups);
        if (weighting_.has_constant) *constant = weighting_.constant;
        if (problem_.bounded && last_.centers) start_ = start, objective_ = ended.objective;
        return ended;
    }

    // Labels rows by what has moved since the last pass of a start: most of them keep their label
    // unread. False if its bounds are not known any more, or never were; the labels are then those
    // of no start.
    bool label(index start, const Final& by, std::int32_t* labels) {
        if (start != start_ && start != kept_.start) return false;
        const bool is_last = start == start_;
        const Deciding before =
            is_last ? last_
                    : Deciding{kept_.centers.data(), kept_.weights.data(), last_.n_own, nullptr};
        const double* offsets = problem_.rule.has_offsets() ? by.starts.offsets : nullptr;
        const Deciding now{by.starts.centers, by.starts.weights, rule_.n_own(), offsets};
        const std::vector<std::int32_t>& known = is_last ? labels_ : kept_.labels;
        std::copy(known.begin(), known.end(), labels);
        std::vector<float>&upper = is_last ? upper_ : kept_.upper,
        &lower = is_last ? lower_ : kept_.lower;
        passes_.assign(
            by.starts, labels, moves_.from(&before, now, upper.data(), lower.data(), unit_));
        start_ = kept_.start = -1;  // the bounds are those of the final centers
        return true;
    }

   private:
    static constexpr double CENTER_REST = 1e-13, WEIGHT_REST = 1e-12;
    static constexpr double MANY = 0.3;
    static constexpr int OLD = 16;

    static Ended& give_up(Ended& ended) {
        ended.given_up = true;
        return ended;
    }

    // The initial weights for a cluster, unless all clusters have the same.
    void reset(Weighting& weighting, index cluster) {
        if (problem_.rule.shared) return;
        const index n_groups = problem_.rule.n_groups;
        std::copy(problem_.initial, problem_.initial + m_, weighting.values.begin() + cluster * m_);
        std::copy(problem_.initial_groups, problem_.initial_groups + n_groups,
            weighting.groups.begin() + cluster * n_groups);
        rule_.measure(weighting, cluster, cluster + 1);
    }

    void begin(index start, const double* centers, const double* weights, double constant,
        const double* groups) {
        keep_best();
        centers_.assign(centers, centers + k_ * m_);
        weighting_.set(weights, k_ * m_, constant, groups, k_ * problem_.rule.n_groups);
        rule_.set_start(start);
        rule_.measure(weighting_);
        rule_.set_effective(weighting_);
        std::fill(labels_.begin(), labels_.end(), -1);
        std::fill(upper_.begin(), upper_.end(), std::numeric_limits<float>::infinity());
        std::fill(lower_.begin(), lower_.end(), 0.0f);
        last_ = {};
        passes_.single = races_in_single<T>(problem_.span, m_);
        fingerprint_ = 0;
        prints_.clear();
        has_print_ = has_total_ = false;
        age_ = 0;
    }

    // Keeps what is known of the labels of the start before, if no other one was better.
    void keep_best() {
        if (start_ >= 0 && objective_ < kept_.objective) {
            kept_.start = start_;
            kept_.objective = objective_;
            kept_.centers.assign(last_.centers, last_.centers + k_ * m_);
            kept_.weights.assign(last_.weights, last_.weights + last_.n_own * m_);
            for (auto* vectors : {&kept_.upper, &kept_.lower}) vectors->resize(upper_.size());
            kept_.labels.resize(labels_.size());
            kept_.upper.swap(upper_);
            kept_.lower.swap(lower_);
            kept_.labels.swap(labels_);
        }
        start_ = -1;
    }

    // Whether all clusters have the same weights, as in the first pass of most starts.
    bool equal_weights() const {
        const double* w = weighting_.effective.data();
        for (index j = 1; j < k_; ++j)
            if (!std::equal(w, w + m_, w + j * m_)) return false;
        return true;
    }

    Starts starts_of(const double* reference) const {
        const bool shared =
            rule_.n_own() != k_ || k_ == 1 || equal_weights();  // needs half of the arithmetic
        return {1, k_, m_, shared, centers_.data(), weighting_.effective.data(),
            weighting_.offsets.data(), reference, problem_.shift, nullptr, nullptr, 0, 0, nullptr,
            false, shared && !problem_.rows.gaps};
    }

    // ---- _engine/statistics.py ----

    // Assigns all rows; sums all of them, or only those that change. False if interrupted.
    bool count() {
        const bool update = problem_.updates && can_update();
        if (!update) return count_all();
        const Sums part = pass(true);
        for (index j = 0; j < k_; ++j) {
            mass_[j] += part.mass[j];
            rows_[j] += part.rows[j];
            if (rows_[j] <= 0) mass_[j] = 0;
            for (index i = j * m_; i < (j + 1) * m_; ++i) {
                const double square = squares_[i] + part.squares[i];
                sums_[i] = rows_[j] > 0 ? sums_[i] + part.sums[i] : 0;
                squares_[i] = rows_[j] > 0 && square > 0 ? square : 0;
                if (observed_) observed_[i] = rows_[j] > 0 ? observed_[i] + part.observed[i] : 0;
            }
        }
        changed_ = *part.changed;
        ++age_;
        if (lost_digits()) return count_all();
        return !passes_.cancelled();
    }

    // Assigns rows and sums all of them or those that change, about the reference.
    Sums pass(bool update) {
        const Starts starts = starts_of(reference_);
        const std::function<void(index, index)> follow = [this](index first, index last) {
            take(first, last);
            move(first, last);
            for (index j = first; j < last; ++j) {
                if (!lost_[j]) continue;
                passes_.sum_again(starts_of(moved_.data()), j, j + 1);
                recover(j);
            }
        };
        const auto* then = problem_.updates ? nullptr : &follow;  // later, if sums are kept
        if (!problem_.bounded) {
            has_moved_ = passes_.accumulate(
                starts, problem_.updates ? labels_.data() : nullptr, update, nullptr, then);
            fingerprint_ = *passes_.total().fingerprint;
            passes_.choose_race();
        } else {
            const Bounds bounds = moved_bounds();
            has_moved_ = passes_.accumulate(starts, labels_.data(), update, &bounds, then);
            // the vectors are swapped later, and keep what this points to
            last_ = {centers_.data(), weighting_.effective.data(), rule_.n_own(), nullptr};
            fingerprint_ += *passes_.total().fingerprint;
            passes_.choose_race();
        }
        return passes_.total();
    }

    // Sums all rows about another reference; labels stay.
    void sum_about(const double* reference) {
        const Bounds none{};
        if (problem_.bounded)
            passes_.accumulate(starts_of(reference), labels_.data(), false, &none);
        else passes_.accumulate(starts_of(reference), nullptr, false);
    }

    Bounds moved_bounds() {
        const double* offsets = problem_.rule.has_offsets() ? weighting_.offsets.data() : nullptr;
        const Deciding now{centers_.data(), weighting_.effective.data(), rule_.n_own(), offsets};
        return moves_.from(
            last_.centers ? &last_ : nullptr, now, upper_.data(), lower_.data(), unit_, placed_);
    }

    // Assigns and sums all rows, about the centers.
    bool count_all() {
        if (problem_.updates) kept_reference_ = centers_;
        reference_ = problem_.updates ? kept_reference_.data() : centers_.data();
        const Sums part = passes_.total();
        sums_ = part.sums, squares_ = part.squares, observed_ = part.observed;
        pass(false);
        take(0, k_);
        changed_ = *part.changed;
        has_total_ = true;
        age_ = 0;
        if (problem_.updates) {
            kept_sums_.assign(sums_, sums_ + k_ * m_);
            kept_squares_.assign(squares_, squares_ + k_ * m_);
            sums_ = kept_sums_.data(), squares_ = kept_squares_.data();
            peak_mass_ = mass_, peak_squares_ = kept_squares_;
            if (observed_) {
                kept_observed_.assign(observed_, observed_ + k_ * m_);
                observed_ = kept_observed_.data();
                peak_observed_ = kept_observed_;
            }
        }
        return !passes_.cancelled();
    }

    // The masses and numbers of rows of clusters [first, last) that were summed.
    void take(index first, index last) {
        const Sums part = passes_.total();
        std::copy(part.mass + first, part.mass + last, mass_.begin() + first);
        std::copy(part.rows + first, part.rows + last, rows_.begin() + first);
    }

    bool can_update() const {
        if (!has_total_ || age_ >= OLD) return false;
        if (!(double(changed_) <= MANY * double(problem_.rows.n_rows))) return false;
        for (index j = 0; j < k_; ++j)
            for (index i = j * m_; i < (j + 1) * m_; ++i) {
                const double step = centers_[i] - reference_[i];
                if (step * step * (observed_ ? observed_[i] : mass_[j]) > 0.99 * squares_[i])
                    return false;
            }
        return true;
    }

    bool lost_digits() {
        bool lost = false;
        for (index j = 0; j < k_; ++j) {
            peak_mass_[j] = std::max(peak_mass_[j], mass_[j]);
            lost |= mass_[j] < 1e-4 * peak_mass_[j] && rows_[j] > 0;
            for (index i = j * m_; i < (j + 1) * m_; ++i) {
                peak_squares_[i] = std::max(peak_squares_[i], squares_[i]);
                lost |= squares_[i] < 1e-4 * peak_squares_[i] && rows_[j] > 0;
                if (!observed_) continue;
                peak_observed_[i] = std::max(peak_observed_[i], observed_[i]);
                lost |= observed_[i] < 1e-4 * peak_observed_[i] && rows_[j] > 0;
            }
        }
        return lost;
    }

    // ---- _engine/empty.py ----

    // Moves empty clusters to far rows; `hopeless` if one stays empty. False if interrupted.
    bool relocate(bool& hopeless) {
        for (index round = 0; round < k_; ++round) {
            const auto empty = std::find(rows_.begin(), rows_.end(), 0);
            if (empty == rows_.end()) return true;
            if (problem_.rows.gaps) return false;  // a row with missing cells is no center
            std::vector<unsigned char> several(k_);
            for (index j = 0; j < k_; ++j) several[j] = rows_[j] > 1 || mass_[j] > 1.0;
            double distance;
            Bounds bounds{};
            bounds.upper = upper_.data();
            bounds.unit = unit_;
            const std::int64_t far = passes_.farthest(starts_of(centers_.data()), several.data(),
                distance, labels_.data(), problem_.bounded ? &bounds : nullptr);
            if (passes_.cancelled()) return false;
            std::vector<double> row(m_);
            const T* cells = problem_.rows.data + (far < 0 ? 0 : far - problem_.rows.first_row) *
                                                      problem_.rows.row_stride;
            for (index v = 0; v < m_; ++v) row[v] = double(cells[v * problem_.rows.column_stride]);
            if (!(distance > rounding(row.data()))) {
                hopeless = true;
                return true;
            }
            const index cluster = empty - rows_.begin();
            bound_centers_ = centers_;
            bound_weights_ = weighting_.effective;
            last_ = {bound_centers_.data(), bound_weights_.data(), rule_.n_own(), nullptr};
            std::copy(row.begin(), row.end(), centers_.begin() + cluster * m_);
            reset(weighting_, cluster);
            rule_.set_effective(weighting_);
            placed_ = cluster;
            const bool counted = count_all();
            placed_ = -1;
            if (!counted) return false;
        }
        return true;
    }

    // What the dissimilarity of a row to an equal center can be by rounding (Minkowski.rounding).
    double rounding(const double* row) const {
        std::vector<double> costs(m_), levels(m_);
        double best = INF, level = 0;
        for (index j = 0; j < k_; ++j) {
            const double* w = weighting_.effective.data() + (rule_.n_own() == 1 ? 0 : j * m_);
            for (index v = 0; v < m_; ++v) {
                const double apart = std::fabs(row[v] - centers_[j * m_ + v]);
                const double ulps = 1e-13 * problem_.span[v] + 1e-15 * problem_.magnitude[v];
                costs[v] = w[v] * (apart * apart);
                levels[v] = w[v] * (ulps * ulps);
            }
            const double cost = sum_of(costs.data(), m_) + weighting_.offsets[j];
            if (j == 0 || cost < best) best = cost, level = sum_of(levels.data(), m_);
        }
        return level;
    }

    // ---- centers and dispersions ----

    // Moves the centers of clusters [first, last), whose rows are summed; dispersions about the new
    // ones, and weights that follow from these.
    void move(index first, index last) {
        for (index j = first; j < last; ++j) {
            const index at = j * m_;
            const Cluster old{centers_.data() + at, reference_ + at, sums_ + at, squares_ + at,
                observed_ ? observed_ + at : nullptr, mass_[j], rows_[j]};
            lost_[j] = elementwise().move(old, m_, problem_.magnitude, moved_.data() + at,
                dispersion_.data() + at, known_.data() + at);
            if (!lost_[j]) settle(j);
        }
    }

    // A cluster that has lost digits gets those of the sums about its new center.
    void recover(index cluster) {
        for (index i = cluster * m_; i < (cluster + 1) * m_; ++i) {
            const double step = moved_[i] - reference_[i];
            const double cancels = step * step * (observed_ ? observed_[i] : mass_[cluster]);
            if (cancels > 1e5 * dispersion_[i] && 1e-14 * cancels > known_[i])
                dispersion_[i] = passes_.total().squares[i];
        }
        lost_[cluster] = 0;
        settle(cluster);
    }

    // Moves all centers that have not moved yet. Where one has moved so far that digits cancel,
    // rows are summed about the new one (Minkowski.dispersion). False if not all dispersions are
    // finite.
    bool move_centers() {
        if (!has_moved_)
            team_.share(k_, k_ * m_, [&](index first, index last) { move(first, last); });
        has_moved_ = false;
        const bool lost = std::find(lost_.begin(), lost_.end(), 1) != lost_.end();
        if (lost) sum_about(moved_.data());
        for (index j = 0; lost && j < k_; ++j)
            if (lost_[j]) recover(j);
        const bool finite = std::find(finite_.begin(), finite_.end(), 0) == finite_.end();
        return finite && !(lost && passes_.cancelled());
    }

    // Makes dispersions of a cluster that are not known to be more than nothing zero; its weights
    // may follow.
    void settle(index cluster) {
        double* dispersion = dispersion_.data() + cluster * m_;
        for (index v = 0; !all_vary_ && v < m_; ++v)
            if (!problem_.rule.varying[v]) dispersion[v] = 0;
        finite_[cluster] = elementwise().settle(dispersion, known_.data() + cluster * m_, m_);
        if (rule_.follows_clusters(weighting_))
            rule_.follow(cluster, cluster + 1, dispersion_.data(), mass_.data(), weighting_, next_);
    }

    // ---- stopping ----

    bool stops(const std::vector<double>& history, double unit) const {
        const bool same = has_print_ && fingerprint_ == last_print_;
        if (same && at_rest()) return true;
        if (!problem_.rule.monotone || history.size() < 2 || !(problem_.tol > 0)) return false;
        const double fall = std::fabs(history[history.size() - 2] - history.back());
        return fall <= problem_.tol * unit && (unit > 0 || same);
    }

    bool at_rest() const {
        const double limit =
            problem_.rule.monotone ? WEIGHT_REST : std::max(problem_.tol, WEIGHT_REST);
        for (index j = 0; j < k_; ++j)
            for (index v = 0; v < m_; ++v) {
                const index i = j * m_ + v;
                if (!(std::fabs(moved_[i] - centers_[i]) <= CENTER_REST * problem_.span[v]))
                    return false;
                if (!(std::fabs(next_.values[i] - weighting_.values[i]) <= limit)) return false;
            }
        for (std::size_t i = 0; i < next_.groups.size(); ++i)
            if (!(std::fabs(next_.groups[i] - weighting_.groups[i]) <= limit)) return false;
        return true;
    }

    // Whether the labels came before the last iteration and this is the lowest point since then.
    bool best_of_circle(const std::vector<double>& history) {
        if (problem_.rule.monotone || !problem_.rule.memoryless) return false;
        const index now = index(history.size()) - 1;
        index earlier = -1;
        for (index at = now - 2; at >= 0 && earlier < 0; --at)
            if (prints_[at] == fingerprint_) earlier = at;
        prints_.push_back(fingerprint_);
        if (earlier < 0) return false;
        const double best = *std::min_element(history.begin() + earlier + 1, history.end());
        return history[now] - best <= 1e-12 * std::fabs(best);
    }

    const Problem<T>& problem_;
    index k_, m_;
    Passes<T> passes_;
    Team team_;
    RuleOfStart rule_;
    Weighting weighting_, next_;
    std::vector<double> centers_, moved_, dispersion_, known_, mass_, peak_mass_, peak_squares_;
    // Of the last pass, or of all since all rows were summed if only those that change are.
    double *sums_ = nullptr, *squares_ = nullptr,
           *observed_ = nullptr;  // null if no cell is missing
    const double* reference_ = nullptr;
    std::vector<double> kept_sums_, kept_squares_, kept_observed_, peak_observed_, kept_reference_;
    Deciding last_{};  // what decided the labels of the last pass, whose bounds we have; nothing
                       // before the first
    std::vector<double> bound_centers_, bound_weights_;
    std::vector<float> upper_, lower_;
    index placed_ = -1;  // the cluster that was moved to a far row since the last pass
    MovedBounds moves_;
    double unit_ = 1;
    std::vector<std::int64_t> rows_;
    // clusters whose dispersions have lost digits, and those where all are finite
    std::vector<unsigned char> lost_, finite_;
    std::vector<std::int32_t> labels_;
    std::vector<std::uint64_t> prints_;
    std::uint64_t fingerprint_ = 0, last_print_ = 0;
    std::int64_t changed_ = 0;
    bool has_print_ = false, has_total_ = false, all_vary_ = false;
    bool has_moved_ = false;  // whether the pass has moved the centers
    int age_ = 0;
    index start_ =
        -1;  // the start that has ended last, and its objective; -1 if it has left no bounds
    double objective_ = 0;
    struct {
        index start = -1;
        double objective = INF;
        std::vector<std::int32_t> labels;
        std::vector<float> upper, lower;
        std::vector<double> centers, weights;  // that decided the labels
    } kept_;  // the same, and what it had left, of the best start before
};

}  // namespace fwk
