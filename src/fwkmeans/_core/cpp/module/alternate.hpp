// The loop of all starts, for Python.
#pragma once
#include <limits>

#include "loop/starts.hpp"
#include "loop/summaries.hpp"
#include "module/labels.hpp"

namespace fwk { namespace {

// A number of each of r starts: the same for all, or an array.
std::vector<double> of_starts(const nb::handle& given, index r) {
    if (PyFloat_CheckExact(given.ptr())) return std::vector<double>(r, nb::cast<double>(given));
    const auto numbers = nb::cast<In<double>>(given);
    return {numbers.data(), numbers.data() + r};
}

// A rule and what is known of the table, as Python hands them over. rule: (kind, smoothing, shared,
// monotone, memoryless, option, two parameters), see rules.hpp, which may have an array of R
// numbers each, and so may guards; partition: (order, firsts, group of each feature), None without
// groups; table: (varying, scatter, shift, magnitude, span, initial weights), each (M), and those
// of groups.
struct RuleArguments {
    std::vector<double> parameter, second, guard;
    In<std::uint8_t> varying;
    std::vector<In<double>> table;
    std::vector<In<std::int64_t>> partition;
    Rule rule;

    RuleArguments(const nb::tuple& given, const nb::handle& guards,
        const std::optional<nb::tuple>& groups, const nb::tuple& numbers, index r)
        : parameter(of_starts(given[6], r)), second(of_starts(given[7], r)),
          guard(of_starts(guards, r)), varying(nb::cast<In<std::uint8_t>>(numbers[0])) {
        for (int i = 1; i < 7; ++i) table.push_back(nb::cast<In<double>>(numbers[i]));
        for (int i = 0; groups && i < 3; ++i)
            partition.push_back(nb::cast<In<std::int64_t>>((*groups)[i]));
        rule = {{parameter.data(), second.data(), guard.data(), varying.data(), table[0].data()},
            {}, RuleKind(nb::cast<int>(given[0])), Smoothing(nb::cast<int>(given[1])),
            nb::cast<bool>(given[2]), nb::cast<bool>(given[3]), nb::cast<bool>(given[4]),
            nb::cast<bool>(given[5])};
        rule.n_groups = index(table[5].size());
        if (!groups) return;
        rule.order = partition[0].data();
        rule.firsts = partition[1].data();
        rule.group_of = partition[2].data();
    }
    TableNumbers numbers() const {
        return {
            table[1].data(), table[2].data(), table[3].data(), table[4].data(), table[5].data()};
    }
};

// The history of each start, (R, most iterations), NaN where it has ended; the rest goes to arrays.
nb::ndarray<nb::numpy, double, nb::ndim<2>> hand_over(const std::vector<Outcome>& outcomes,
    double* objective, std::int64_t* n_iter, std::uint8_t* flags) {
    std::size_t longest = 0;
    const index r = index(outcomes.size());
    for (const Outcome& run : outcomes) longest = std::max(longest, run.history.size());
    double* history = new double[r * longest + 1];
    const nb::capsule owner(history, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    std::fill(history, history + r * longest, std::numeric_limits<double>::quiet_NaN());
    for (index start = 0; start < r; ++start) {
        const Outcome& run = outcomes[start];
        std::copy(run.history.begin(), run.history.end(), history + start * longest);
        objective[start] = run.objective;
        n_iter[start] = std::int64_t(run.history.size());
        flags[start] = run.converged;
        flags[r + start] = run.has_empty;
        flags[2 * r + start] = run.given_up;
    }
    return {history, {std::size_t(r), longest}, owner};
}

// Runs all starts. centers, weights, constants and groups are IN and OUT; flags: (3, R) converged,
// has_empty, given_up. Returns the history. With labels, (n) OUT, and masses, (K) OUT, also the
// start with the lowest objective (-1 if there is none), by whose centers, in the type of the rows,
// rows are labeled, the sum of their dissimilarities, and the objective with that.
template <class T>
nb::tuple alternate(Table<T> X, nb::tuple block, nb::tuple rule, nb::object guards,
    std::optional<nb::tuple> partition, nb::tuple table, index max_iter, double tol, bool updates,
    Out<double> centers, Out<double> weights, Out<double> constants, Out<double> groups,
    Out<double> objective, Out<std::int64_t> n_iter, Out<std::uint8_t> flags,
    std::optional<Out<std::int32_t>> labels, std::optional<Out<double>> mass, int label_threads) {
    const Input<T> input(X, block);
    const index r = centers.shape(0), k = centers.shape(1), size = k * input.rows.n_features;
    const RuleArguments given(rule, guards, partition, table, r);
    const Problem<T> problem{given.numbers(), {max_iter, tol, updates, input.n_threads}, input.rows,
        r, k, input.segments(k), given.rule};
    Interruption interruption(input.n_threads);
    const CancelOf cancel_of = [&](int worker) { return interruption.of(worker); };
    std::vector<Outcome> outcomes;
    std::optional<FinalAssignment> end;
    index best = -1;
    bool labeled = false;
    {
        const nb::gil_scoped_release release;
        const Layout<T> layout(problem);
        Loops<T> loops;
        outcomes = run_starts(layout.problem, cancel_of, centers.data(), weights.data(),
            constants.data(), groups.data(), loops);
        if (labels) best = first_lowest(outcomes);
        if (best >= 0)
            end.emplace(problem, best, centers.data() + best * size, weights.data() + best * size,
                constants.data()[best], groups.data() + best * k * problem.rule.n_groups);
        for (std::size_t i = 0; best >= 0 && !labeled && i < loops.size(); ++i)
            labeled = loops[i]->label(best, *end, labels->data());
    }
    interruption.raise_if_any();
    double total = 0, inertia = 0;
    if (best >= 0) {
        label_threads = int(std::min<index>(label_threads, n_useful(problem.work())));
        if (!labeled) label_rows(input.rows, end->starts, label_threads, labels->data());
        total = end->weighting.scale *
                measure_rows(input.rows, end->starts, label_threads, labels->data());
        inertia = end->rule.with_terms(total, end->weighting);
        std::fill_n(mass->data(), k, 0.0);
        add_mass_of_rows(
            labels->data(), input.rows.sample_weight, input.rows.n_rows, k, mass->data());
    }
    return nb::make_tuple(
        hand_over(outcomes, objective.data(), n_iter.data(), flags.data()), best, total, inertia);
}

}}  // namespace fwk
