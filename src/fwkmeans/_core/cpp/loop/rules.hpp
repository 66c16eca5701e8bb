// Weight rules for one start, operation for operation what fwkmeans/weighting does with NumPy, so
// that both give the same bits: sums are taken in NumPy's order, and NumPy's side calls `exp` and
// `log` of the core (functions.py). Compiled without fused multiply-adds.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/dispatch.hpp"

namespace fwk {

// The order in which NumPy sums neighbors: eight sums side by side, halves above 128.
inline double sum_of(const double* x, index n) {
    if (n < 8) {
        double sum = 0;
        for (index i = 0; i < n; ++i) sum += x[i];
        return sum;
    }
    if (n > 128) {
        const index half = n / 2 - n / 2 % 8;
        return sum_of(x, half) + sum_of(x + half, n - half);
    }
    double part[8];
    for (int j = 0; j < 8; ++j) part[j] = x[j];
    index i = 8;
    for (; i < n - n % 8; i += 8)
        for (int j = 0; j < 8; ++j) part[j] += x[i + j];
    double sum =
        ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    for (; i < n; ++i) sum += x[i];
    return sum;
}

// out[v] = sum over k of x[k][v], as NumPy sums over an axis that is not the last.
inline void sum_over_clusters(const double* x, index k, index m, double* out) {
    if (m == 1) {
        out[0] = sum_of(x, k);
        return;
    }
    std::fill(out, out + m, 0.0);
    for (index j = 0; j < k; ++j)
        for (index v = 0; v < m; ++v) out[v] += x[j * m + v];
}

// The sum of x log x, with 0 log 0 = 0; terms OUT: (n).
inline double entropy_of(const double* x, index n, double* terms) {
    elementwise().times_log(x, terms, n);
    return sum_of(terms, n);
}

// The order in which NumPy's reduceat sums neighbors.
inline double sum_of_group(const double* x, index n) { return x[0] + sum_of(x + 1, n - 1); }

enum class RuleKind : int {
    fixed,
    entropy,
    shared_power,
    cluster_power,
    self_adjusting,
    group_entropy
};
enum class Smoothing : int { number, frozen, refresh, inside };

// A weight rule and what it must know about the table; shared by all starts.
struct RuleNumbers {
    const double* parameter;       // (R) gamma, beta or eta
    const double* second;          // (R) lambda of groups
    const double* guard;           // (R) what is added to every dispersion
    const unsigned char* varying;  // (M)
    const double* scatter;         // (M)
};
struct FeatureGroups {
    index n_groups = 0;                      // 0 if the rule has none
    const std::int64_t* order = nullptr;     // (M) features, group by group
    const std::int64_t* firsts = nullptr;    // (n_groups + 1) where groups begin in this order
    const std::int64_t* group_of = nullptr;  // (M)
};
struct Rule : RuleNumbers, FeatureGroups {
    RuleKind kind;
    Smoothing smoothing;  // of cluster powers
    bool shared;          // one weight per feature
    bool monotone, memoryless;
    bool option;  // fixed: ones in the dissimilarity; entropies: mean dispersions; FWSA: safeguard

    bool has_offsets() const {
        const bool entropies = kind == RuleKind::entropy || kind == RuleKind::group_entropy;
        return (entropies && option) ||
               (kind == RuleKind::cluster_power && smoothing == Smoothing::inside);
    }
};

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double NOT_KNOWN = std::numeric_limits<double>::quiet_NaN();

// The weights of a start, and what decides its labels: weights x scale, see _engine/state.py.
struct Weighting {
    std::vector<double> values;     // (K, M)
    std::vector<double> groups;     // (K, groups)
    std::vector<double> effective;  // (K or 1, M)
    std::vector<double> offsets;    // (K)
    std::vector<double> powers;     // (K or 1, M) of the values / power_scale, if exponents decide
    std::vector<double> entropies;  // (K) sums of w log w, for rules with an entropy term
    std::vector<double> group_entropies;  // (K) the same of the weights of groups
    double scale = 1, power_scale = 1, constant = NOT_KNOWN;

    void set(
        const double* of_features, index n, double given, const double* of_groups, index n_groups) {
        values.assign(of_features, of_features + n);
        groups.assign(of_groups, of_groups + n_groups);
        constant = given;
    }
    bool has_constant() const { return constant == constant; }
    double known_constant() const { return has_constant() ? constant : 0; }
};

class RuleOfStart {
   public:
    RuleOfStart(const Rule& rule, index k, index m)
        : rule_(rule), k_(k), m_(m), row_(m), by_cluster_(k) {
        for (index v = 0; v < m; ++v) n_varying_ += rule.varying[v] != 0;
        if (rule.kind == RuleKind::group_entropy) sorted_.resize(m), within_.resize(rule.n_groups);
        for (index t = 0; t < rule.n_groups; ++t) {
            bool any = false;
            for (index i = rule.firsts[t]; i < rule.firsts[t + 1]; ++i)
                any |= rule.varying[rule.order[i]] != 0;
            present_.push_back(any);
        }
    }
    void set_start(index start) {
        own_ = {rule_.parameter[start], rule_.second[start], rule_.guard[start]};
    }
    index n_own() const { return rule_.shared ? 1 : k_; }
    bool all_vary() const { return n_varying_ == m_; }

    // Sets the entropies of the values of clusters [first, last).
    void measure(Weighting& w, index first, index last) {
        const auto sum = [&](const double* x, index n, index j) {
            return entropy_of(x + j * n, n, row_.data());
        };
        for (index j = first; j < last && has_entropies(); ++j)
            w.entropies[j] = sum(w.values.data(), m_, j);
        for (index j = first; j < last && has_entropies() && rule_.n_groups > 0; ++j)
            w.group_entropies[j] = sum(w.groups.data(), rule_.n_groups, j);
    }
    // The same for all clusters, of which nothing is known yet.
    void measure(Weighting& w) {
        w.entropies.resize(k_);
        w.group_entropies.resize(k_);
        measure(w, 0, k_);
    }

    // Sets what decides the labels from the values and their entropies.
    void set_effective(Weighting& w) {
        const index n = n_own() * m_;
        double scale = 1;
        w.effective.resize(n);
        const double* effective = w.effective.data();  // before it is scaled
        if (rule_.kind == RuleKind::fixed && rule_.option) {
            std::fill(w.effective.begin(), w.effective.end(), 1.0);
        } else if (is_power()) {
            w.powers.resize(n);
            scale = w.power_scale = raise(w.values.data(), n, w.powers.data());
            effective = w.powers.data();
        } else if (rule_.kind == RuleKind::group_entropy) {
            for (index j = 0; j < k_; ++j)
                for (index v = 0; v < m_; ++v)
                    w.effective[j * m_ + v] =
                        w.groups[j * rule_.n_groups + rule_.group_of[v]] * w.values[j * m_ + v];
        } else {
            effective = w.values.data();
        }
        set_offsets(w);
        int exponent;
        std::frexp(elementwise().range(effective, n).high, &exponent);
        w.scale = std::ldexp(scale, exponent);
        const double unit = std::ldexp(1.0, -exponent);
        for (index i = 0; i < n; ++i) w.effective[i] = effective[i] * unit;
        for (double& offset : w.offsets) offset /= w.scale;
    }

    // The new values that follow from the dispersions (K, M); `before` and `after` may not be the
    // same.
    void update(
        const double* dispersion, const double* mass, const Weighting& before, Weighting& after) {
        after.constant = before.constant;
        after.values.resize(k_ * m_);
        after.groups.resize(before.groups.size());
        if (rule_.kind == RuleKind::fixed) after.values = before.values;
        else if (rule_.shared) update_shared(dispersion, before, after);
        else update_clusters(dispersion, mass, before, after);
        measure(after);
    }

    // Returns the objective; `part` is what rows add without their offsets, the unit of `tol`.
    double objective(
        const double* dispersion, const double* mass, const Weighting& w, double& part) {
        double weighted;
        if (n_own() == 1) {
            sum_over_clusters(dispersion, k_, m_, row_.data());
            for (index v = 0; v < m_; ++v) row_[v] = w.effective[v] * row_[v];
            weighted = sum_of(row_.data(), m_);
        } else {
            for (index j = 0; j < k_; ++j) {
                for (index v = 0; v < m_; ++v)
                    row_[v] = w.effective[j * m_ + v] * dispersion[j * m_ + v];
                by_cluster_[j] = sum_of(row_.data(), m_);
            }
            weighted = sum_of(by_cluster_.data(), k_);
        }
        part = w.scale * weighted;
        for (index j = 0; j < k_; ++j) by_cluster_[j] = w.offsets[j] * mass[j];
        return with_terms(part + w.scale * sum_of(by_cluster_.data(), k_), w);
    }
    // The objective from what rows add with their offsets.
    double with_terms(double by_rows, const Weighting& w) {
        if (rule_.kind == RuleKind::entropy && !rule_.option) {
            times(own_.parameter, w.entropies);
            return by_rows + sum_of(by_cluster_.data(), k_);
        }
        if (rule_.kind == RuleKind::shared_power && own_.guard != 0)
            return by_rows + own_.guard * (sum_of(w.powers.data(), m_) * w.power_scale);
        if (rule_.kind == RuleKind::cluster_power) {
            times_powers(w, own_.guard);
            const double guarded = by_rows + sum_of(by_cluster_.data(), k_);
            if (rule_.smoothing == Smoothing::inside) return guarded;
            times_powers(w, w.known_constant());
            return guarded + sum_of(by_cluster_.data(), k_);
        }
        if (rule_.kind == RuleKind::self_adjusting) {
            for (index v = 0; v < m_; ++v) row_[v] = w.values[v] * rule_.scatter[v];
            const double total = sum_of(row_.data(), m_) + 2.0 * own_.guard;
            return total > 0 ? (by_rows + own_.guard) / total : 0.0;
        }
        if (rule_.kind == RuleKind::group_entropy && !rule_.option) {
            const double over_groups = sum_of(w.group_entropies.data(), k_);
            return by_rows + own_.second * over_groups +
                   own_.parameter * sum_of(w.entropies.data(), k_);
        }
        return by_rows;
    }

   private:
    // The same weights for all clusters.
    void update_shared(const double* dispersion, const Weighting& before, Weighting& after) {
        sum_over_clusters(dispersion, k_, m_, row_.data());
        if (rule_.kind == RuleKind::shared_power) {
            for (index v = 0; v < m_; ++v) row_[v] += own_.guard;
            power(row_.data(), after.values.data());
        } else {
            adjust(row_.data(), before.values.data(), after.values.data());
        }
        for (index j = 1; j < k_; ++j)
            std::copy(
                after.values.begin(), after.values.begin() + m_, after.values.begin() + j * m_);
    }
    void update_clusters(
        const double* dispersion, const double* mass, const Weighting& before, Weighting& after) {
        const bool powers = rule_.kind == RuleKind::cluster_power;
        if (powers && (!before.has_constant() || rule_.smoothing == Smoothing::refresh)) {
            const double mean = sum_of_rows(dispersion) / double(k_ * n_varying_);
            after.constant = mean > 0 ? mean : 0.01;
        }
        for (index j = 0; j < k_; ++j) {
            const double* own = dispersion + j * m_;
            double* out = after.values.data() + j * m_;
            if (rule_.kind == RuleKind::entropy) {
                entropy(own, rule_.option ? own_.parameter * mass[j] : own_.parameter, out);
            } else if (rule_.kind == RuleKind::group_entropy) {
                group_entropy(own, rule_.option ? mass[j] : 1.0,
                    before.groups.data() + j * rule_.n_groups, out,
                    after.groups.data() + j * rule_.n_groups);
            } else {
                const bool inside = rule_.smoothing == Smoothing::inside;
                const double added = inside ? after.constant * mass[j] : after.constant;
                for (index v = 0; v < m_; ++v) row_[v] = own[v] + added + own_.guard;
                power(row_.data(), out);
            }
        }
    }

    static constexpr double TIE = 1e-12, FLOOR = 1e-24, NOTHING = 1e-12;

    bool has_entropies() const {
        return rule_.kind == RuleKind::entropy || rule_.kind == RuleKind::group_entropy;
    }
    bool is_power() const {
        return rule_.kind == RuleKind::shared_power || rule_.kind == RuleKind::cluster_power;
    }

    // Powers of the values relative to the largest, which is returned.
    double raise(const double* values, index n, double* out) const {
        elementwise().log(values, out, n);
        for (index i = 0; i < n; ++i) out[i] = values[i] > 0 ? out[i] * own_.parameter : -INF;
        double largest = elementwise().range(out, n).high;
        elementwise().exp_of_quotients(out, largest, 1.0, out, n);
        elementwise().exp(&largest, &largest, 1);
        return largest;
    }

    void set_offsets(Weighting& w) {
        w.offsets.assign(k_, 0.0);
        if (rule_.kind == RuleKind::entropy && rule_.option) {
            times(own_.parameter, w.entropies);
            w.offsets = by_cluster_;
        } else if (rule_.kind == RuleKind::cluster_power && rule_.smoothing == Smoothing::inside) {
            times_powers(w, w.known_constant());
            w.offsets = by_cluster_;
        } else if (rule_.kind == RuleKind::group_entropy && rule_.option) {
            for (index j = 0; j < k_; ++j) w.offsets[j] = own_.second * w.group_entropies[j];
            for (index j = 0; j < k_; ++j) w.offsets[j] += own_.parameter * w.entropies[j];
        }
    }

    // by_cluster = factor x
    void times(double factor, const std::vector<double>& x) {
        for (index j = 0; j < k_; ++j) by_cluster_[j] = factor * x[j];
    }

    // by_cluster = constant sum_v w^beta
    void times_powers(const Weighting& w, double constant) {
        if (constant == 0) {
            std::fill(by_cluster_.begin(), by_cluster_.end(), 0.0);
            return;
        }
        for (index j = 0; j < k_; ++j)
            by_cluster_[j] = constant * (sum_of(w.powers.data() + j * m_, m_) * w.power_scale);
    }

    double sum_of_rows(const double* dispersion) {
        for (index j = 0; j < k_; ++j) by_cluster_[j] = sum_of(dispersion + j * m_, m_);
        return sum_of(by_cluster_.data(), k_);
    }

    // exp(out) normalized; -inf gives zero.
    void softmax(double* out) const {
        elementwise().exp_of_quotients(out, elementwise().range(out, m_).high, 1.0, out, m_);
        normalize(out);
    }
    void normalize(double* out) const { elementwise().divide(out, 0.0, sum_of(out, m_), out, m_); }

    template <class Marked> void share(Marked marked, double* out) const {
        index n = 0;
        for (index v = 0; v < m_; ++v) n += marked(v);
        for (index v = 0; v < m_; ++v) out[v] = marked(v) ? 1.0 / double(n) : 0.0;
    }

    double lowest(const double* dispersion) const {
        if (n_varying_ == m_) return elementwise().range(dispersion, m_).low;
        double lowest = INF;
        for (index v = 0; v < m_; ++v)
            if (rule_.varying[v]) lowest = std::min(lowest, dispersion[v]);
        return lowest;
    }

    void vertex(const double* dispersion, double* out) const {
        const double limit = lowest(dispersion) * (1.0 + TIE);
        share([&](index v) { return rule_.varying[v] && dispersion[v] <= limit; }, out);
    }

    void entropy(const double* dispersion, double gamma, double* out) const {
        if (!(gamma > 0)) return vertex(dispersion, out);
        // the largest logarithm is zero already
        elementwise().exp_of_quotients(dispersion, lowest(dispersion), -gamma, out, m_);
        for (index v = 0; n_varying_ < m_ && v < m_; ++v)
            if (!rule_.varying[v]) out[v] = 0;
        normalize(out);
    }

    void power(const double* dispersion, double* out) const {
        const double beta = own_.parameter;
        if (beta == 1) return vertex(dispersion, out);
        if (!(beta > 1) && !(beta < 0))
            return share([&](index v) { return rule_.varying[v] != 0; }, out);
        const auto zero = [&](index v) { return rule_.varying[v] && dispersion[v] <= 0; };
        if (beta > 1)
            for (index v = 0; v < m_; ++v)
                if (zero(v)) return share(zero, out);
        for (index v = 0; v < m_; ++v) {
            const double floor = beta < 0 ? FLOOR * rule_.scatter[v] : dispersion[v];
            out[v] = std::max(std::max(dispersion[v], floor), std::numeric_limits<double>::min());
        }
        elementwise().log(out, out, m_);
        elementwise().divide(out, 0.0, 1.0 - beta, out, m_);
        for (index v = 0; n_varying_ < m_ && v < m_; ++v)
            if (!rule_.varying[v]) out[v] = -INF;
        softmax(out);
    }

    // Shares by entropy of n entries, given in the order of sums; infinite costs get none.
    void shares(const double* cost, index n, double strength, double* out) const {
        double lowest = INF;
        for (index i = 0; i < n; ++i) lowest = std::min(lowest, cost[i]);
        const double least = std::isfinite(lowest) ? lowest : 0.0;
        for (index i = 0; i < n; ++i) {
            if (strength > 0) out[i] = cost[i] < INF ? -(cost[i] - least) / strength : -INF;
            else out[i] = cost[i] < INF && cost[i] <= lowest * (1.0 + TIE);
        }
        if (strength > 0) elementwise().exp(out, out, n);
        const double total = sum_of_group(out, n);
        for (index i = 0; i < n; ++i) out[i] = out[i] / (total > 0 ? total : 1.0);
    }

    // FG-K-Means: weights of features within their group, then those of groups.
    void group_entropy(
        const double* dispersion, double mass, const double* omega, double* out, double* groups) {
        const double eta = own_.parameter * mass, lambda = own_.second * mass;
        double *row = row_.data(), *sorted = sorted_.data(), *within = within_.data();
        for (index t = 0; t < rule_.n_groups; ++t) {
            const index first = rule_.firsts[t], n = rule_.firsts[t + 1] - first;
            const std::int64_t* members = rule_.order + first;
            for (index i = 0; i < n; ++i)
                row[i] = rule_.varying[members[i]] ? omega[t] * dispersion[members[i]] : INF;
            shares(row, n, eta, sorted);
            for (index i = 0; i < n; ++i) {
                out[members[i]] = sorted[i];
                row[i] = sorted[i] * dispersion[members[i]];
            }
            within[t] = present_[t] ? sum_of_group(row, n) : INF;
        }
        shares(within, rule_.n_groups, lambda, groups);
    }

    // FWSA: halfway from the weights before to the separations of the features.
    void adjust(double* within, const double* before, double* out) {
        std::vector<double> between(m_), target(m_), terms(m_);
        bool separated = false, pure = false;
        for (index v = 0; v < m_; ++v) {
            between[v] = std::max(rule_.scatter[v] - within[v], 0.0);
            separated |= between[v] > NOTHING * rule_.scatter[v];
            within[v] += own_.guard;
            between[v] += own_.guard;
            pure |= rule_.varying[v] && within[v] <= 0;
            target[v] = (rule_.varying[v] ? between[v] : 0.0) / (within[v] <= 0 ? 1.0 : within[v]);
        }
        const double total = sum_of(target.data(), m_);
        for (double& share : target) share = share / (total > 0 ? total : 1.0);
        if (pure) share([&](index v) { return rule_.varying[v] && within[v] <= 0; }, target.data());
        if (!separated) std::copy(before, before + m_, target.begin());
        const auto separation = [&](const double* w) {
            for (index v = 0; v < m_; ++v) terms[v] = w[v] * within[v];
            const double below = sum_of(terms.data(), m_);
            for (index v = 0; v < m_; ++v) terms[v] = w[v] * between[v];
            const double above = sum_of(terms.data(), m_);
            return below > 0 ? above / below : INF;
        };
        if (rule_.option && !(separation(target.data()) >= separation(before)))
            std::copy(before, before + m_, target.begin());
        for (index v = 0; v < m_; ++v) out[v] = (before[v] + target[v]) / 2.0;
    }

    const Rule& rule_;
    index k_, m_, n_varying_ = 0;
    struct {
        double parameter, second, guard;
    } own_ = {};  // of the start
    std::vector<double> row_, by_cluster_, sorted_, within_;
    std::vector<unsigned char> present_;
};

}  // namespace fwk
