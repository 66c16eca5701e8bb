// The whole alternating loop of a start: what _engine/loop.py does for a batch with NumPy, for squared
// distances, means and the weight rules of rules.hpp. Both give the same bits. On a table of a hundred
// rows an iteration takes a microsecond here, and a hundred or two there.
#pragma once
#include <cstring>
#include <functional>
#include <optional>
#include <unordered_map>

#include "dispatch.hpp"
#include "memory.hpp"
#include "moves.hpp"
#include "pool.hpp"
#include "rules.hpp"

namespace fwk {

// Multiply-adds from which threads share passes over the rows of a single segment: to wake them, and to wait for
// the last one, takes as long as smaller passes do.
constexpr index SHAREABLE = 2000000;

// Rows up to which helpers are kept awake. Longer passes give the system time to find a processor for each thread, and on
// a busy machine it finds better ones.
constexpr index SHORT = 32768;

// Bytes of packed rows that are kept from pass to pass.
constexpr index WHOLE = index(1) << 19;

// What all starts share.
template <class T>
struct Problem {
    Rows<T> rows;
    index n_starts, n_clusters, n_segments;
    Rule rule;
    const double* shift;      // (M) subtracted while rows are packed
    const double* magnitude;  // (M) largest absolute value
    const double* span;       // (M) range
    const double* initial;    // (M) weights of a cluster that was moved
    const double* initial_groups;  // (groups) those of its groups
    index max_iter;
    double tol;
    bool updates;  // sum only the rows that change, where few do
    int n_threads;

    // Multiply-adds of a row.
    index race() const { return (rule.shared ? 1 : 2) * n_clusters * rows.n_features; }
    // Whether bounds tell which rows keep their label. Only with them rows race in whole numbers or by products, and those
    // in double race in single where they are not packed once.
    bool bounded = false;

    // Whether rows in double precision can race in single.
    bool fits_single() const { return Races::first<T>(span, rows.n_features, rows.gaps).single; }
    // Whether all rows can be packed once for all passes and the final labels: a second cache must have room for that
    // beside them. (Sums of the rows that change depend on the blocks.)
    bool packable() const {
        const index each = fits_single() ? sizeof(float) : sizeof(T), bytes = rows.n_rows * rows.n_features * each;
        return n_segments == 1 && !updates && n_clusters > 1 && bytes <= WHOLE;
    }
    // Whether bounds pay: a small race is faster than bounds, most of all from rows that are packed.
    bool gains_by_bounds() const {
        const index each = n_clusters * rows.n_features;
        const bool large = race() >= 5000;
        const bool worthwhile = each >= 32 && (large ? rows.n_rows >= 128 : rows.n_rows >= 512 && !packable());
        const bool simple = !rule.has_offsets() || each >= 100;
        return (updates || worthwhile) && simple && n_clusters > 1;
    }
    // Whether starts run one after the other, each by all threads if its passes can be shared.
    bool is_team() const { return n_threads > 1 && n_starts < 2 * n_threads; }
    // Threads that share the passes of a start.
    int n_sharing() const { return is_team() && shareable() ? n_threads : 1; }
    // Threads that are kept awake for passes, or for starts side by side.
    int n_attentive() const { return rows.n_rows > SHORT ? 1 : n_starts > 1 ? n_threads : n_sharing(); }
    // Packed rows race so fast that starts side by side take less time, if each thread has one.
    bool shareable() const {
        const bool gains = bounded || (rows.packed && n_starts < n_threads);
        return n_segments > 1 || (gains && rows.n_rows * race() >= SHAREABLE);
    }
};

// How a start ended, see _engine/loop.py.
struct Ended {
    std::vector<double> history;
    double objective = 0;
    bool converged = false, has_empty = false;
    bool given_up = false;  // sums overflow: _engine/loop.py says how such a start ends
};

// One pass for one start: sums over all segments, added in their order. With a team its threads take the
// segments, else the calling thread does. Rows of a single segment are few, and stay in a cache: they are
// assigned in pieces, and then summed cluster by cluster in their order, so that threads share both.
template <class T>
class Passes {
   public:
    using CancelOf = std::function<Cancel(int)>;
    Passes(const Problem<T>& problem, int n_threads, int worker, const CancelOf& cancel_of)
        : problem_(problem), k_(problem.n_clusters), m_(problem.rows.n_features), n_threads_(n_threads),
          team_{n_threads}, worker_(worker), cancel_of_(cancel_of),
          bytes_(((problem.bounded ? kernels<T>().bounded_bytes(problem.rows, k_)
                                     : kernels<T>().scratch_bytes(problem.rows, k_, false)) +
                  63) /
                 64 * 64),
          size_(2 * k_ + (problem.rows.gaps ? 3 : 2) * k_ * m_ + 2),
          n_parts_(n_threads > 1 ? problem.n_segments : problem.n_segments > 1),
          n_pieces_(n_threads > 1 ? std::min<index>(2 * n_threads, (problem.rows.n_rows + PIECE - 1) / PIECE) : 1),
          scratch_(bytes_ * n_threads + size_ * (1 + n_parts_) * sizeof(double)),
          total_(reinterpret_cast<double*>(scratch_.data() + bytes_ * n_threads)), parts_(total_ + size_),
          counts_(N_COUNTS * std::max(problem.n_segments, n_pieces_)) {}

    // Sums of the rows (or of those that change); the labels are replaced if they are kept.
    // With bounds the fingerprint is the change of it.
    void accumulate(const Starts& starts, std::int32_t* labels, bool update, const Bounds* bounds = nullptr) {
        const Races possible = races.of(starts), single{possible.single && (bounds || problem_.rows.single), false, false};
        prepare(starts, bounds && bounds->upper ? possible : single);
        std::fill(counts_.begin(), counts_.end(), 0);
        const unsigned char flag = update;
        const LastLabels known{labels, problem_.rows.n_rows, &flag};
        if (bounds && !update && problem_.n_segments == 1 && problem_.rows.column_stride == 1) {
            *total().fingerprint = 0;
            *total().changed = 0;
            if (bounds->upper) assign_pieces(starts, known, *bounds, n_pieces_);
            return sum_clusters(starts, labels);
        }
        if (!bounds && n_threads_ > 1 && packed(problem_.rows)) {
            packed_labels_.resize(problem_.rows.n_rows);
            race_pieces(starts, {packed_labels_.data(), problem_.rows.n_rows, &flag});
            return sum_clusters(starts, packed_labels_.data());
        }
        if (n_threads_ == 1) {
            for (index segment = 0; segment < problem_.n_segments; ++segment) {
                sum_segment(starts, known, bounds, segment, segment ? parts_ : total_, worker_, 0);
                if (segment) add(parts_);
            }
            return;
        }
        Pool::of_this_process().run(problem_.n_segments, n_threads_, [&](index segment, int worker) {
            sum_segment(starts, known, bounds, segment, parts_ + segment * size_, worker, worker);
        });
        std::copy(parts_, parts_ + size_, total_);
        for (index segment = 1; segment < problem_.n_segments; ++segment)
            add(parts_ + segment * size_);
    }

    // Replaces the labels, and the bounds that are known of them.
    void assign(const Starts& starts, std::int32_t* labels, const Bounds& bounds) {
        prepare(starts, races.of(starts));
        const unsigned char flag = false;
        *total().fingerprint = 0;
        *total().changed = 0;
        assign_pieces(starts, {labels, problem_.rows.n_rows, &flag}, bounds, std::max(n_pieces_, problem_.n_segments));
    }

    // The row farthest from its own center, among eligible clusters; -1 if there is none. If the last pass
    // left bounds, most rows are too near by these.
    std::int64_t farthest(const Starts& starts, const unsigned char* eligible, double& distance,
                          const std::int32_t* labels, const Bounds* bounds) {
        if (!bounds) prepare(starts, Races{});
        std::vector<double> distances(problem_.n_segments, 0.0);
        std::vector<std::int64_t> rows(problem_.n_segments, -1);
        const auto search = [&](index segment, int worker, int place) {
            const index n = problem_.rows.n_rows;
            const index begin = n * segment / problem_.n_segments, end = n * (segment + 1) / problem_.n_segments;
            const Farthest part{eligible, &distances[segment], &rows[segment]};
            if (bounds)
                kernels<T>().farthest_bounded(problem_.rows, begin, end, starts, scratch(place), labels, *bounds,
                                              part, cancel_of_(worker));
            else
                kernels<T>().farthest(problem_.rows, begin, end, starts, 0, 1, prepared_.data(), scratch(place),
                                      part, cancel_of_(worker));
        };
        if (n_threads_ == 1)
            for (index segment = 0; segment < problem_.n_segments; ++segment) search(segment, worker_, 0);
        else
            Pool::of_this_process().run(problem_.n_segments, n_threads_,
                                        [&](index segment, int worker) { search(segment, worker, worker); });
        std::int64_t row = -1;
        distance = 0;
        for (index segment = 0; segment < problem_.n_segments; ++segment)
            if (distances[segment] > distance) distance = distances[segment], row = rows[segment];
        return row;
    }

    Races races{};  // of passes by bounds
    // Leaves out races that could not decide enough rows of the last pass.
    void choose_races() {
        std::int64_t sums[N_COUNTS] = {};
        for (std::size_t i = 0; i < counts_.size(); ++i) sums[i % N_COUNTS] += counts_[i];
        races = races.after(sums, problem_.rows.n_rows);
    }

    Sums total() { return of(total_); }
    bool cancelled() {
        const Cancel cancel = cancel_of_(worker_);
        return cancel.poll(cancel.state);
    }

   private:
    Sums of(double* memory) const {
        double* ones = memory + size_ - 2;
        return {memory,
                reinterpret_cast<std::int64_t*>(memory + k_),
                memory + 2 * k_,
                memory + 2 * k_ + k_ * m_,
                problem_.rows.gaps ? memory + 2 * k_ + 2 * k_ * m_ : nullptr,
                nullptr,
                reinterpret_cast<std::uint64_t*>(ones),
                reinterpret_cast<std::int64_t*>(ones + 1)};
    }
    void* scratch(int place) { return scratch_.data() + bytes_ * place; }
    void prepare(const Starts& starts, Races by) {
        const bool products = by.products();
        // other shapes must find zeros
        const std::size_t of_products = products ? kernels<T>().products_bytes(starts, by.whole) : 0;
        if (prepared_products_.size() != of_products) prepared_products_.assign(of_products, 0);
        const std::size_t bytes = kernels<T>().prepared_bytes(starts);
        if (prepared_.size() < bytes) prepared_.resize(bytes);
        by_ = by;
        starts_ = &starts;
        is_prepared_ = false;
        if (products)
            kernels<T>().prepare_products(starts, some_rows_.of(problem_.rows, problem_.shift, by), by.one, by.both,
                                          prepared_products_.data(), sharing_of(team_));
        else
            prepared();
    }
    // The factors of the last race, which few passes need after others. Any thread may be the first to ask.
    const char* prepared() {
        const std::lock_guard<std::mutex> lock(preparing_);
        if (!is_prepared_) {
            if (by_.single)
                kernels<float>().prepare(*starts_, 0, prepared_.data());
            else
                kernels<T>().prepare(*starts_, 0, prepared_.data());
        }
        is_prepared_ = true;
        return prepared_.data();
    }

    // Memory for rows that race in whole numbers in this pass and the next ones; null if they are too many. What is packed
    // does not depend on centers, but with shared weights it has lengths of rows.
    const Kept* keep_words(const Starts& starts) {
        const index n = (problem_.rows.n_rows + PIECE - 1) / PIECE * PIECE;
        const index bytes = n * kernels<T>().kept_words(starts) * index(sizeof(std::uint32_t));
        if (problem_.n_segments > 1 || problem_.updates || bytes > WHOLE) return nullptr;
        const double* weights = starts.weights;
        const bool same = kept_.words && kept_expanded_ == starts.expanded &&
                          (!starts.expanded || std::equal(kept_weights_.begin(), kept_weights_.end(), weights));
        if (same) return &kept_;
        kept_expanded_ = starts.expanded;
        kept_weights_.assign(weights, weights + (starts.expanded ? m_ : 0));
        kept_memory_.reset();
        kept_memory_.emplace(bytes + n * (2 * sizeof(float) + 1));
        kept_.words = reinterpret_cast<std::uint32_t*>(kept_memory_->data());
        kept_.norms = reinterpret_cast<float*>(kept_memory_->data() + bytes);
        kept_.lengths = kept_.norms + n;
        kept_.there = reinterpret_cast<unsigned char*>(kept_.lengths + n);
        std::fill_n(kept_.there, n, 0);
        return &kept_;
    }

    // Labels and bounds of all rows, without sums.
    void assign_pieces(const Starts& starts, const LastLabels& known, const Bounds& bounds, index n_pieces) {
        const Kept* kept = races.of(starts).whole ? keep_words(starts) : nullptr;
        for_each_piece(n_pieces, [&](index piece, index begin, index end, const Sums& none, int worker, int place) {
            Bounds own = bounds;
            own.counts = &counts_[N_COUNTS * piece];
            own.kept = kept;
            assign_and_sum(starts, known, own, begin, end, none, worker, place);
        });
    }
    // Labels of all rows, which are packed.
    void race_pieces(const Starts& starts, const LastLabels& known) {
        *total().fingerprint = 0;
        *total().changed = 0;
        for_each_piece(n_pieces_, [&](index piece, index begin, index end, const Sums& none, int worker, int place) {
            counts_[N_COUNTS * piece + DOUBTFUL] +=
                kernels<T>().accumulate(problem_.rows, begin, end, starts, 0, 1, prepared_.data(), scratch(place), known,
                                        none, cancel_of_(worker));
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
                        end = std::min(problem_.rows.n_rows, tiles * (piece + 1) / n_pieces * PIECE);
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
    const void* packed(const Rows<T>& rows) const { return rows.single && !races.single ? nullptr : rows.packed; }

    // Sums of the only segment, whose labels are known.
    void sum_clusters(const Starts& starts, const std::int32_t* labels) {
        const index n = problem_.rows.n_rows;
        order_.resize(n);
        position_.assign(k_ + 2, 0);
        for (index i = 0; i < n; ++i) ++position_[labels[i] + 2];
        for (index j = 2; j <= k_ + 1; ++j) position_[j] += position_[j - 1];
        for (index i = 0; i < n; ++i) order_[position_[labels[i] + 1]++] = std::int32_t(i);
        const Sums sums = total();
        team_.share(k_, 2 * n * m_, [&](index first, index last) {
            const index at = first * m_, size = (last - first) * m_;
            std::fill(sums.mass + first, sums.mass + last, 0.0);
            std::fill(sums.rows + first, sums.rows + last, 0);
            std::fill_n(sums.sums + at, size, 0.0);
            std::fill_n(sums.squares + at, size, 0.0);
            if (sums.observed) std::fill_n(sums.observed + at, size, 0.0);
            kernels<T>().sum_clusters(problem_.rows, starts, order_.data(), position_.data(), first, last, sums);
        });
    }
    void sum_segment(const Starts& starts, const LastLabels& known, const Bounds* bounds, index segment,
                     double* memory, int worker, int place) {
        std::memset(memory, 0, size_ * sizeof(double));
        const index n = problem_.rows.n_rows, begin = n * segment / problem_.n_segments,
                    end = n * (segment + 1) / problem_.n_segments;
        if (bounds) {
            Bounds own = *bounds;
            own.counts = &counts_[N_COUNTS * segment];
            assign_and_sum(starts, known, own, begin, end, of(memory), worker, place);
        } else {
            Rows<T> rows = problem_.rows;
            rows.packed = packed(rows);
            counts_[N_COUNTS * segment + DOUBTFUL] +=
                kernels<T>().accumulate(rows, begin, end, starts, 0, 1, prepared_.data(), scratch(place), known,
                                        of(memory), cancel_of_(worker));
        }
    }
    void assign_and_sum(const Starts& starts, const LastLabels& known, const Bounds& bounds, index begin,
                        index end, const Sums& out, int worker, int place) {
        const LaidOut factors{[](void* passes) { return static_cast<Passes*>(passes)->prepared(); }, this};
        kernels<T>().accumulate_bounded(problem_.rows, begin, end, starts, factors, races.single,
                                        prepared_products_.empty() ? nullptr : prepared_products_.data(),
                                        scratch(place), known, bounds, out, cancel_of_(worker));
    }
    void add(double* memory) {
        const Sums part = of(memory), sum = of(total_);
        for (index j = 0; j < k_; ++j) sum.mass[j] += part.mass[j], sum.rows[j] += part.rows[j];
        for (index i = 0; i < size_ - 2 - 2 * k_; ++i) sum.sums[i] += part.sums[i];  // and what follows
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
    std::vector<char> prepared_, prepared_products_;
    std::mutex preparing_;
    Races by_{};  // what is prepared, or will be when it is asked for
    const Starts* starts_ = nullptr;
    bool is_prepared_ = false;
    SomeRows some_rows_;
    std::optional<Lent> kept_memory_;
    Kept kept_{};
    bool kept_expanded_ = false;
    std::vector<double> kept_weights_;
    std::vector<std::int64_t> counts_;  // (parts, N_COUNTS)
    std::vector<std::int32_t> order_, position_;  // rows by their labels, and where clusters begin
    std::vector<std::int32_t> packed_labels_;     // of a pass whose labels nobody keeps
};

// How rows are labeled by a start that has ended: by its public centers, which have the type of the rows, and its
// weights (_engine/state.py, assignment_of).
struct Final {
    Weighting weighting;
    std::vector<double> centers;
    Starts starts;

    template <class T>
    Final(const Problem<T>& problem, index start, const double* ended, const double* weights, double constant,
          const double* groups) {
        const index k = problem.n_clusters, m = problem.rows.n_features;
        RuleOfStart rule(problem.rule, k, m, Team{1});
        weighting.set(weights, k * m, constant, groups, k * problem.rule.n_groups);
        rule.set_start(start);
        rule.set_effective(weighting);
        for (index i = 0; i < k * m; ++i) centers.push_back(double(T(ended[i])));
        const bool shared = rule.n_own() != k || k == 1;
        starts = {1, k, m, shared, centers.data(), weighting.effective.data(), weighting.offsets.data(),
                  centers.data(), problem.shift, nullptr, nullptr, 0, 0, nullptr, false,
                  shared && !problem.rows.gaps};
    }
    Final(const Final&) = delete;  // `starts` points into it
};

// Runs starts one after the other; its memory serves them all.
template <class T>
class Loop {
   public:
    Loop(const Problem<T>& problem, int n_threads, int worker, const typename Passes<T>::CancelOf& cancel_of)
        : problem_(problem), k_(problem.n_clusters), m_(problem.rows.n_features), passes_(problem, n_threads, worker, cancel_of),
          team_{n_threads}, rule_(problem.rule, k_, m_, team_), moved_(k_ * m_), dispersion_(k_ * m_), known_(k_ * m_),
          mass_(k_), peak_mass_(k_), moves_(k_, m_, team_), rows_(k_), lost_(k_), finite_(k_) {
        if (problem.updates || problem.bounded) labels_.resize(problem.rows.n_rows);
        all_vary_ = std::find(problem.rule.varying, problem.rule.varying + m_, 0) == problem.rule.varying + m_;
        if (!problem.bounded) return;
        upper_.resize(problem.rows.n_rows);
        lower_.resize(problem.rows.n_rows);
        unit_ = unit_of(problem.span, m_);
    }

    // IN and OUT: centers (K, M), weights (K, M), constant of the smoothing (NaN: none yet), weights of
    // groups (K, groups).
    Ended run(index start, double* centers, double* weights, double* constant, double* groups) {
        Ended ended;
        begin(start, centers, weights, *constant, groups);
        for (index iteration = 1; iteration <= problem_.max_iter; ++iteration) {
            if (!count()) return give_up(ended);
            bool hopeless = false;
            if (!relocate(hopeless)) return give_up(ended);
            if (!move_centers()) return give_up(ended);
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

    // Labels rows by what has moved since the last pass of a start: most of them keep their label unread. False if its
    // bounds are not known any more, or never were; the labels are then those of no start.
    bool label(index start, const Final& by, std::int32_t* labels) {
        if (start != start_ && start != kept_.start) return false;
        const bool is_last = start == start_;
        const Deciding before = is_last ? last_ : Deciding{kept_.centers.data(), kept_.weights.data(), last_.n_own, nullptr};
        const double* offsets = problem_.rule.has_offsets() ? by.starts.offsets : nullptr;
        const Deciding now{by.starts.centers, by.starts.weights, rule_.n_own(), offsets};
        const std::vector<std::int32_t>& known = is_last ? labels_ : kept_.labels;
        std::copy(known.begin(), known.end(), labels);
        std::vector<float> &upper = is_last ? upper_ : kept_.upper, &lower = is_last ? lower_ : kept_.lower;
        passes_.assign(by.starts, labels, moves_.from(&before, now, upper.data(), lower.data(), unit_));
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
    void reset(Weighting& weighting, index cluster) const {
        if (problem_.rule.shared) return;
        const index n_groups = problem_.rule.n_groups;
        std::copy(problem_.initial, problem_.initial + m_, weighting.values.begin() + cluster * m_);
        std::copy(problem_.initial_groups, problem_.initial_groups + n_groups,
                  weighting.groups.begin() + cluster * n_groups);
    }

    void begin(index start, const double* centers, const double* weights, double constant,
               const double* groups) {
        keep_best();
        centers_.assign(centers, centers + k_ * m_);
        weighting_.set(weights, k_ * m_, constant, groups, k_ * problem_.rule.n_groups);
        rule_.set_start(start);
        rule_.set_effective(weighting_);
        std::fill(labels_.begin(), labels_.end(), -1);
        std::fill(upper_.begin(), upper_.end(), std::numeric_limits<float>::infinity());
        std::fill(lower_.begin(), lower_.end(), 0.0f);
        last_ = {};
        passes_.races = Races::first<T>(problem_.span, m_, problem_.rows.gaps);
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
        const bool shared = rule_.n_own() != k_ || k_ == 1 || equal_weights();  // needs half of the arithmetic
        return {1,
                k_,
                m_,
                shared,
                centers_.data(),
                weighting_.effective.data(),
                weighting_.offsets.data(),
                reference,
                problem_.shift,
                nullptr,
                nullptr,
                0,
                0,
                nullptr,
                false,
                shared && !problem_.rows.gaps};
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
        if (!problem_.bounded) {
            passes_.accumulate(starts, problem_.updates ? labels_.data() : nullptr, update);
            fingerprint_ = *passes_.total().fingerprint;
            passes_.choose_races();
        } else {
            const Bounds bounds = moved_bounds();
            passes_.accumulate(starts, labels_.data(), update, &bounds);
            // the vectors are swapped later, and keep what this points to
            last_ = {centers_.data(), weighting_.effective.data(), rule_.n_own(), nullptr};
            fingerprint_ += *passes_.total().fingerprint;
            passes_.choose_races();
        }
        return passes_.total();
    }

    // Sums all rows about another reference; labels stay.
    void sum_about(const double* reference) {
        const Bounds none{};
        if (problem_.bounded)
            passes_.accumulate(starts_of(reference), labels_.data(), false, &none);
        else
            passes_.accumulate(starts_of(reference), nullptr, false);
    }

    Bounds moved_bounds() {
        const double* offsets = problem_.rule.has_offsets() ? weighting_.offsets.data() : nullptr;
        const Deciding now{centers_.data(), weighting_.effective.data(), rule_.n_own(), offsets};
        return moves_.from(last_.centers ? &last_ : nullptr, now, upper_.data(), lower_.data(), unit_, placed_);
    }

    // Assigns and sums all rows, about the centers.
    bool count_all() {
        if (problem_.updates) kept_reference_ = centers_;
        reference_ = problem_.updates ? kept_reference_.data() : centers_.data();
        const Sums part = pass(false);
        std::copy(part.mass, part.mass + k_, mass_.begin());
        std::copy(part.rows, part.rows + k_, rows_.begin());
        sums_ = part.sums, squares_ = part.squares, observed_ = part.observed;
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

    bool can_update() const {
        if (!has_total_ || age_ >= OLD) return false;
        if (!(double(changed_) <= MANY * double(problem_.rows.n_rows))) return false;
        for (index j = 0; j < k_; ++j)
            for (index i = j * m_; i < (j + 1) * m_; ++i) {
                const double step = centers_[i] - reference_[i];
                if (step * step * (observed_ ? observed_[i] : mass_[j]) > 0.99 * squares_[i]) return false;
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
            const std::int64_t far = passes_.farthest(starts_of(centers_.data()), several.data(), distance,
                                                      labels_.data(), problem_.bounded ? &bounds : nullptr);
            if (passes_.cancelled()) return false;
            std::vector<double> row(m_);
            const T* cells = problem_.rows.data +
                             (far < 0 ? 0 : far - problem_.rows.first_row) * problem_.rows.row_stride;
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

    // Moves the centers; dispersions about the new ones. Where a center has moved so far that digits
    // cancel, rows are summed about the new one (Minkowski.dispersion). False if not all are finite.
    bool move_centers() {
        team_.share(k_, k_ * m_, [&](index first, index last) {
            for (index j = first; j < last; ++j) {
                const index at = j * m_;
                const Cluster old{centers_.data() + at, reference_ + at, sums_ + at, squares_ + at,
                                  observed_ ? observed_ + at : nullptr, mass_[j], rows_[j]};
                lost_[j] = elementwise().move(old, m_, problem_.magnitude, moved_.data() + at,
                                              dispersion_.data() + at, known_.data() + at);
                if (!lost_[j]) finite_[j] = settle(j);
            }
        });
        const bool lost = std::find(lost_.begin(), lost_.end(), 1) != lost_.end();
        if (lost) sum_about(moved_.data());
        for (index j = 0; j < k_; ++j) {
            if (!lost_[j]) continue;
            for (index i = j * m_; i < (j + 1) * m_; ++i) {
                const double step = moved_[i] - reference_[i];
                const double cancels = step * step * (observed_ ? observed_[i] : mass_[j]);
                if (cancels > 1e5 * dispersion_[i] && 1e-14 * cancels > known_[i])
                    dispersion_[i] = passes_.total().squares[i];
            }
            finite_[j] = settle(j);
        }
        const bool finite = std::find(finite_.begin(), finite_.end(), 0) == finite_.end();
        return finite && !(lost && passes_.cancelled());
    }

    // Makes dispersions of a cluster that are not known to be more than nothing zero; whether all are finite.
    bool settle(index cluster) {
        double* dispersion = dispersion_.data() + cluster * m_;
        for (index v = 0; !all_vary_ && v < m_; ++v)
            if (!problem_.rule.varying[v]) dispersion[v] = 0;
        return elementwise().settle(dispersion, known_.data() + cluster * m_, m_);
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
        const double limit = problem_.rule.monotone ? WEIGHT_REST : std::max(problem_.tol, WEIGHT_REST);
        for (index j = 0; j < k_; ++j)
            for (index v = 0; v < m_; ++v) {
                const index i = j * m_ + v;
                if (!(std::fabs(moved_[i] - centers_[i]) <= CENTER_REST * problem_.span[v])) return false;
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
    double *sums_ = nullptr, *squares_ = nullptr, *observed_ = nullptr;  // null if no cell is missing
    const double* reference_ = nullptr;
    std::vector<double> kept_sums_, kept_squares_, kept_observed_, peak_observed_, kept_reference_;
    Deciding last_{};  // what decided the labels of the last pass, whose bounds we have; nothing before the first
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
    int age_ = 0;
    index start_ = -1;  // the start that has ended last, and its objective; -1 if it has left no bounds
    double objective_ = 0;
    struct {
        index start = -1;
        double objective = INF;
        std::vector<std::int32_t> labels;
        std::vector<float> upper, lower;
        std::vector<double> centers, weights;  // that decided the labels
    } kept_;                                   // the same, and what it had left, of the best start before
};

// The first of the starts whose objective is the lowest up to rounding (_engine/state.py); -1 if all were given up.
inline index first_lowest(const std::vector<Ended>& ended) {
    double lowest = INF;
    for (const Ended& run : ended)
        if (!run.given_up) lowest = std::min(lowest, run.objective);
    for (std::size_t start = 0; start < ended.size(); ++start)
        if (!ended[start].given_up && ended[start].objective <= lowest + 1e-12 * std::fabs(lowest)) return index(start);
    return -1;
}

// A copy of the rows of a single segment if a pass would have to copy them; empty if not, or if they are many.
template <class T>
std::vector<T> contiguous_rows(const Problem<T>& problem) {
    constexpr index MOST = index(1) << 20;
    const Rows<T>& rows = problem.rows;
    const index n = rows.n_rows, m = rows.n_features;
    if (problem.n_segments > 1 || rows.column_stride == 1 || n * m > MOST) return {};
    std::vector<T> copy(n * m);
    for (index i = 0; i < n; ++i)
        for (index v = 0; v < m; ++v) copy[i * m + v] = rows.data[i * rows.row_stride + v * rows.column_stride];
    return copy;
}

// A problem whose rows lie as passes want them: contiguous if they are few, and packed once if that serves all passes.
template <class T>
class Laid {
   public:
    Problem<T> problem;
    explicit Laid(const Problem<T>& given) : problem(given), contiguous_(contiguous_rows(given)) {
        Rows<T>& rows = problem.rows;
        if (!contiguous_.empty())
            rows.data = contiguous_.data(), rows.row_stride = rows.n_features, rows.column_stride = 1;
        problem.bounded = problem.gains_by_bounds();
        if (problem.bounded || !problem.packable() || rows.column_stride != 1) return;
        rows.single = problem.fits_single();
        packed_.emplace(kernels<T>().packed_bytes(rows));
        rows.packed = packed_->data();
    }
    // Before the first pass.
    void pack() {
        if (packed_) kernels<T>().pack(problem.rows, problem.shift, packed_->data());
    }
    Laid(const Laid&) = delete;  // `problem` points into it

   private:
    std::vector<T> contiguous_;
    std::optional<Lent> packed_;
};

template <class T>
using Loops = std::vector<std::unique_ptr<Loop<T>>>;

// Runs all starts: side by side if there are enough of them, else one after the other by a team.
// centers and weights (R, K, M), constants (R), groups (R, K, groups) are replaced by the results. The loops that
// have run them are added to `loops`.
template <class T>
std::vector<Ended> run_starts(const Problem<T>& problem,
                              const typename Passes<T>::CancelOf& cancel_of, double* centers,
                              double* weights, double* constants, double* groups, Loops<T>& loops) {
    const int n_threads = problem.n_threads;
    const index r = problem.n_starts, size = problem.n_clusters * problem.rows.n_features;
    const index of_groups = problem.n_clusters * problem.rule.n_groups;
    std::vector<Ended> ended(r);
    const auto run = [&](Loop<T>& loop, index start) {
        ended[start] = loop.run(start, centers + start * size, weights + start * size, constants + start,
                                groups + start * of_groups);
    };
    if (n_threads == 1 || problem.n_sharing() > 1) {
        loops.emplace_back(new Loop<T>(problem, problem.n_sharing(), 0, cancel_of));
        for (index start = 0; start < r; ++start) run(*loops[0], start);
        return ended;
    }
    // made before threads start: none of them may throw
    for (int worker = 0; worker < std::min<index>(n_threads, r); ++worker)
        loops.emplace_back(new Loop<T>(problem, 1, worker, cancel_of));
    Pool::of_this_process().run(r, n_threads, [&](index start, int worker) { run(*loops[worker], start); });
    return ended;
}

}  // namespace fwk
