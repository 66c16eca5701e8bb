// The whole alternating loop of a start: what _engine/loop.py does for a batch with NumPy, for
// squared distances, means and the weight rules of rules.hpp. On a table of a hundred rows an
// iteration takes a microsecond here, and a hundred or two there.
#pragma once
#include "loop/state.hpp"

namespace fwk {

// How a start ended, see _engine/loop.py.
struct Outcome {
    std::vector<double> history;
    double objective = 0;
    bool converged = false, has_empty = false;
    bool given_up = false;  // sums overflow: _engine/loop.py says how such a start ends
};

// How rows are labeled by a start that has ended: by its public centers, which have the type of the
// rows, and its weights (_engine/state.py, assignment_of).
struct FinalAssignment {
    RuleOfStart rule;
    Weighting weighting;
    std::vector<double> centers;
    Starts starts;

    template <class T>
    FinalAssignment(const Problem<T>& problem, index start, const double* found,
        const double* weights, double constant, const double* groups)
        : rule(problem.rule, problem.n_clusters, problem.rows.n_features) {
        const index k = problem.n_clusters, m = problem.rows.n_features;
        weighting.set(weights, k * m, constant, groups, k * problem.rule.n_groups);
        rule.set_start(start);
        rule.measure(weighting);
        rule.set_effective(weighting);
        for (index i = 0; i < k * m; ++i) centers.push_back(double(T(found[i])));
        const bool shared = rule.n_own() != k || k == 1;
        starts = {{1, k, m}, {}, shared, centers.data(), weighting.effective.data(),
            weighting.offsets.data(), centers.data(), problem.shift, nullptr,
            shared && !problem.rows.gaps};
    }
    FinalAssignment(const FinalAssignment&) = delete;  // `starts` points into it
};

// Runs starts one after the other; its memory serves them all.
template <class T> class Loop {
   public:
    Loop(const Problem<T>& problem, int n_threads, int worker, const CancelOf& cancel_of)
        : problem_(problem), passes_(problem, n_threads, worker, cancel_of),
          rule_(problem.rule, problem.n_clusters, problem.rows.n_features),
          bound_moves_(problem.n_clusters, problem.rows.n_features) {
        const index n = k() * m();
        new_.moved.resize(n), new_.dispersion.resize(n), new_.rounding.resize(n);
    }

    // IN and OUT: centers (K, M), weights (K, M), constant of the smoothing (NaN: none yet),
    // weights of groups (K, groups).
    Outcome run(index start, double* centers, double* weights, double* constant, double* groups) {
        Outcome outcome;
        begin(start, centers, weights, *constant, groups);
        for (index iteration = 1; iteration <= problem_.max_iter; ++iteration) {
            bool hopeless = false;
            double unit = 0;
            if (!count() || !relocate(hopeless) || !move_centers()) return give_up(outcome);
            const double objective = weigh(unit);
            if (!std::isfinite(objective)) return give_up(outcome);
            outcome.history.push_back(objective);
            outcome.converged = stops(outcome.history, unit);
            const bool may_circle = !problem_.rule.monotone && problem_.rule.memoryless;
            const bool circle =
                !outcome.converged && may_circle && prints_.ends_circle(outcome.history);
            centers_.swap(new_.moved);
            std::swap(weighting_, new_.weighting);
            prints_.next();
            if (outcome.converged || circle || iteration == problem_.max_iter) {
                outcome.objective = objective;
                outcome.has_empty = hopeless;
                break;
            }
        }
        std::copy(centers_.begin(), centers_.end(), centers);
        std::copy(weighting_.values.begin(), weighting_.values.end(), weights);
        std::copy(weighting_.groups.begin(), weighting_.groups.end(), groups);
        if (weighting_.has_constant()) *constant = weighting_.constant;
        if (problem_.bounded && last_.decision.centers)
            last_.hold(k(), m()), best_.last = start, best_.last_objective = outcome.objective;
        return outcome;
    }

    // Labels rows by what has moved since the last pass of a start: most of them keep their label
    // unread. False if its bounds are not known any more, or never were; the labels are then those
    // of no start.
    bool label(index start, const FinalAssignment& by, std::int32_t* labels) {
        if (start != best_.last && start != best_.start) return false;
        BoundedLabels& known = start == best_.last ? last_ : best_.labels;
        const double* offsets = problem_.rule.has_offsets() ? by.starts.offsets : nullptr;
        const Decision now{by.starts.centers, by.starts.weights, rule_.n_own(), offsets};
        std::copy(known.labels.begin(), known.labels.end(), labels);
        passes_.label_by_bounds(by.starts, labels,
            bound_moves_.from(
                &known.decision, now, known.upper.data(), known.lower.data(), unit()));
        best_.last = best_.start = -1;  // the bounds are those of the final centers
        return true;
    }

   private:
    static constexpr double CENTER_REST = 1e-13, WEIGHT_REST = 1e-12;

    index k() const { return problem_.n_clusters; }
    index m() const { return problem_.rows.n_features; }
    double unit() const { return unit_of(problem_.span, m()); }

    static Outcome& give_up(Outcome& outcome) {
        outcome.given_up = true;
        return outcome;
    }

    // The initial weights for a cluster, unless all clusters have the same.
    void reset(Weighting& weighting, index cluster) {
        if (problem_.rule.shared) return;
        const index n_groups = problem_.rule.n_groups;
        std::copy(
            problem_.initial, problem_.initial + m(), weighting.values.begin() + cluster * m());
        std::copy(problem_.initial_groups, problem_.initial_groups + n_groups,
            weighting.groups.begin() + cluster * n_groups);
        rule_.measure(weighting, cluster, cluster + 1);
    }

    void begin(index start, const double* centers, const double* weights, double constant,
        const double* groups) {
        keep_best();
        centers_.assign(centers, centers + k() * m());
        weighting_.set(weights, k() * m(), constant, groups, k() * problem_.rule.n_groups);
        rule_.set_start(start);
        rule_.measure(weighting_);
        rule_.set_effective(weighting_);
        if (problem_.updates || problem_.bounded)
            last_.clear(problem_.rows.n_rows, problem_.bounded);
        passes_.single = problem_.fits_single();
        prints_.clear();
        kept_.forget();
    }

    // Keeps what is known of the labels of the start before, if no other one was better.
    void keep_best() {
        if (best_.last >= 0 && best_.last_objective < best_.objective) {
            best_.start = best_.last;
            best_.objective = best_.last_objective;
            std::swap(best_.labels, last_);
        }
        best_.last = -1;
    }

    // Whether all clusters have the same weights, as in the first pass of most starts.
    bool equal_weights() const {
        const double* w = weighting_.effective.data();
        for (index j = 1; j < k(); ++j)
            if (!std::equal(w, w + m(), w + j * m())) return false;
        return true;
    }
    Starts starts_about(const double* reference) const {
        // equal weights need half of the arithmetic
        const bool shared = rule_.n_own() != k() || k() == 1 || equal_weights();
        return {{1, k(), m()}, {}, shared, centers_.data(), weighting_.effective.data(),
            weighting_.offsets.data(), reference, problem_.shift, nullptr,
            shared && !problem_.rows.gaps};
    }
    Decision decision() const {
        const double* offsets = problem_.rule.has_offsets() ? weighting_.offsets.data() : nullptr;
        return {centers_.data(), weighting_.effective.data(), rule_.n_own(), offsets};
    }

    // ---- _engine/statistics.py ----

    // Assigns all rows; sums all of them, or only those that change. False if interrupted.
    bool count() {
        if (!problem_.updates || !kept_.allow(sums_, centers_, problem_.rows.n_rows))
            return count_all();
        const Changes changes = pass(sums_.reference, true);
        if (!kept_.add(passes_.total(), m(), changes.changed, sums_)) return count_all();
        return !passes_.cancelled();
    }
    // Assigns and sums all rows, about the centers. `placed`: see Bounds.
    bool count_all(index placed = -1) {
        const Changes changes = pass(centers_.data(), false, placed);
        sums_.take(passes_.total(), centers_.data(), k());
        if (problem_.updates) kept_.keep(sums_, k() * m(), changes.changed);
        return !passes_.cancelled();
    }
    Changes pass(const double* reference, bool update, index placed = -1) {
        const Starts starts = starts_about(reference);
        std::int32_t* labels = last_.labels.data();
        if (!problem_.bounded) {
            const Changes changes = problem_.updates
                                        ? passes_.label_and_sum_changes(starts, labels, update)
                                        : passes_.label_and_sum(starts);
            prints_.now = changes.fingerprint;
            return changes;
        }
        const Decision now = decision();
        const Bounds bounds = bound_moves_.from(last_.decision.centers ? &last_.decision : nullptr,
            now, last_.upper.data(), last_.lower.data(), unit(), placed);
        const Changes changes = passes_.label_by_bounds_and_sum(starts, labels, update, bounds);
        // vectors are swapped later, and keep what this points to
        last_.decision = now;
        prints_.now += changes.fingerprint;
        return changes;
    }

    // ---- _engine/empty.py ----

    // Moves empty clusters to far rows; `hopeless` if one stays empty. False if interrupted.
    bool relocate(bool& hopeless) {
        for (index round = 0; round < k(); ++round) {
            const auto empty = std::find(sums_.rows.begin(), sums_.rows.end(), 0);
            if (empty == sums_.rows.end()) return true;
            if (problem_.rows.gaps) return false;  // a row with missing cells is no center
            std::vector<double> row(m());
            const double distance = find_far_row(row.data());
            if (passes_.cancelled()) return false;
            if (!(distance > rounding(row.data()))) {
                hopeless = true;
                return true;
            }
            const index cluster = empty - sums_.rows.begin();
            if (problem_.bounded) last_.hold(k(), m());
            std::copy(row.begin(), row.end(), centers_.begin() + cluster * m());
            reset(weighting_, cluster);
            rule_.set_effective(weighting_);
            if (!count_all(cluster)) return false;
        }
        return true;
    }
    // The row farthest from its center, in clusters that can spare one; returns how far it is.
    double find_far_row(double* row) {
        std::vector<unsigned char> several(k());
        for (index j = 0; j < k(); ++j) several[j] = sums_.rows[j] > 1 || sums_.mass[j] > 1.0;
        double distance = 0;
        std::int64_t far;
        const Starts starts = starts_about(centers_.data());
        if (problem_.bounded) {
            Bounds bounds{};
            bounds.upper = last_.upper.data();
            bounds.unit = unit();
            far = passes_.farthest_by_bounds(
                starts, several.data(), distance, last_.labels.data(), bounds);
        } else {
            far = passes_.farthest(starts, several.data(), distance);
        }
        const Rows<T>& rows = problem_.rows;
        const T* cells = rows.data + (far < 0 ? 0 : far - rows.first_row) * rows.row_stride;
        for (index v = 0; v < m(); ++v) row[v] = double(cells[v * rows.column_stride]);
        return distance;
    }
    // What the dissimilarity of a row to an equal center can be by rounding (Minkowski.rounding).
    double rounding(const double* row) const {
        std::vector<double> costs(m()), levels(m());
        double best = INF, level = 0;
        for (index j = 0; j < k(); ++j) {
            const double* w = weighting_.effective.data() + (rule_.n_own() == 1 ? 0 : j * m());
            for (index v = 0; v < m(); ++v) {
                const double apart = std::fabs(row[v] - centers_[j * m() + v]);
                const double ulps = 1e-13 * problem_.span[v] + 1e-15 * problem_.magnitude[v];
                costs[v] = w[v] * (apart * apart);
                levels[v] = w[v] * (ulps * ulps);
            }
            const double cost = sum_of(costs.data(), m()) + weighting_.offsets[j];
            if (j == 0 || cost < best) best = cost, level = sum_of(levels.data(), m());
        }
        return level;
    }

    // ---- centers, dispersions and weights ----

    // Moves all centers. Where one has moved so far that digits cancel, rows are summed about the
    // new one (Minkowski.dispersion). False if not all dispersions are finite.
    bool move_centers() {
        std::vector<unsigned char> lost(k());
        bool any_lost = false;
        for (index j = 0; j < k(); ++j) {
            const index at = j * m();
            const double* observed = sums_.observed ? sums_.observed + at : nullptr;
            const Cluster old{centers_.data() + at, sums_.reference + at, sums_.sums + at,
                sums_.squares + at, observed, sums_.mass[j], sums_.rows[j]};
            lost[j] = elementwise().move(old, m(), problem_.magnitude, new_.moved.data() + at,
                new_.dispersion.data() + at, new_.rounding.data() + at);
            any_lost |= lost[j] != 0;
        }
        if (any_lost) {
            const Starts about_new = starts_about(new_.moved.data());
            if (problem_.bounded) passes_.sum_known(about_new, last_.labels.data());
            else passes_.label_and_sum(about_new);
            for (index j = 0; j < k(); ++j)
                if (lost[j]) recover(j);
        }
        for (index j = 0; j < k() && !rule_.all_vary(); ++j)
            for (index v = 0; v < m(); ++v)
                if (!problem_.rule.varying[v]) new_.dispersion[j * m() + v] = 0;
        const bool finite =
            elementwise().clear_rounding(new_.dispersion.data(), new_.rounding.data(), k() * m());
        return finite && !(any_lost && passes_.cancelled());
    }
    // A cluster that has lost digits gets those of the sums about its new center.
    void recover(index cluster) {
        for (index i = cluster * m(); i < (cluster + 1) * m(); ++i) {
            const double step = new_.moved[i] - sums_.reference[i];
            const double mass = sums_.observed ? sums_.observed[i] : sums_.mass[cluster];
            const double cancels = step * step * mass;
            if (cancels > 1e5 * new_.dispersion[i] && 1e-14 * cancels > new_.rounding[i])
                new_.dispersion[i] = passes_.total().squares[i];
        }
    }
    // New weights; returns the objective. `unit`: that of `tol`.
    double weigh(double& unit) {
        const double *dispersion = new_.dispersion.data(), *mass = sums_.mass.data();
        rule_.update(dispersion, mass, weighting_, new_.weighting);
        for (index j = 0; j < k(); ++j)
            if (sums_.rows[j] == 0) reset(new_.weighting, j);
        rule_.set_effective(new_.weighting);
        return rule_.objective(dispersion, mass, new_.weighting, unit);
    }

    // ---- stopping ----

    bool stops(const std::vector<double>& history, double unit) const {
        const bool same = prints_.same_as_last();
        if (same && at_rest()) return true;
        if (!problem_.rule.monotone || history.size() < 2 || !(problem_.tol > 0)) return false;
        const double fall = std::fabs(history[history.size() - 2] - history.back());
        return fall <= problem_.tol * unit && (unit > 0 || same);
    }
    bool at_rest() const {
        const bool monotone = problem_.rule.monotone;
        const double limit = monotone ? WEIGHT_REST : std::max(problem_.tol, WEIGHT_REST);
        const Weighting& next = new_.weighting;
        for (index i = 0; i < k() * m(); ++i) {
            const double near = CENTER_REST * problem_.span[i % m()];
            if (!(std::fabs(new_.moved[i] - centers_[i]) <= near)) return false;
            if (!(std::fabs(next.values[i] - weighting_.values[i]) <= limit)) return false;
        }
        for (std::size_t i = 0; i < next.groups.size(); ++i)
            if (!(std::fabs(next.groups[i] - weighting_.groups[i]) <= limit)) return false;
        return true;
    }

    const Problem<T>& problem_;
    Passes<T> passes_;
    RuleOfStart rule_;
    BoundMoves bound_moves_;
    std::vector<double> centers_;
    Weighting weighting_;
    struct {
        std::vector<double> moved, dispersion;
        std::vector<double> rounding;  // what dispersions can be by rounding alone
        Weighting weighting;
    } new_;  // centers and weights of the iteration
    ClusterSums sums_{};
    KeptSums kept_;
    BoundedLabels last_;
    Fingerprints prints_;
    struct {
        index last = -1;  // the start that has ended last; -1 if it has left no bounds
        double last_objective = 0;
        index start = -1;  // the best before
        double objective = INF;
        BoundedLabels labels;  // of that one
    } best_;
};

}  // namespace fwk
