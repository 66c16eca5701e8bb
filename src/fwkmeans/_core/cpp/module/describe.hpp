// What one pass finds out about features, for Python.
#pragma once
#include <cmath>
#include <numeric>
#include <utility>

#include "loop/summaries.hpp"
#include "module/arguments.hpp"

namespace fwk { namespace {

// numbers OUT: sums, squares, minimum, maximum, observed; counts OUT: nonfinite, missing; each (M).
// Returns the mass and the number of the rows with weight.
template <class T>
std::pair<double, std::int64_t> describe_rows(
    const Input<T>& input, const double* reference, double* numbers_out, std::int64_t* counts_out) {
    const index m = input.rows.n_features, segments = input.segments(1);
    std::vector<double> numbers(segments * (5 * m + 1), 0.0);
    std::vector<std::int64_t> counts(segments * (2 * m + 1), 0);
    const auto of_segment = [&](index segment) -> Moments {
        double* d = numbers.data() + segment * (5 * m + 1);
        std::int64_t* c = counts.data() + segment * (2 * m + 1);
        return {
            d, c, d + 1, d + 1 + m, d + 1 + 2 * m, d + 1 + 3 * m, d + 1 + 4 * m, c + 1, c + 1 + m};
    };
    for_each_task(1, segments, input.rows.n_rows, input.n_threads, input.scratch_bytes(1, false),
        [&](const Task& task) {
            kernels<T>().describe(input.rows, task.part, reference, of_segment(task.segment));
        });
    const Moments all = of_segment(0);
    for (index segment = 1; segment < segments; ++segment) {
        const Moments part = of_segment(segment);
        *all.mass += *part.mass;
        *all.rows += *part.rows;
        for (index v = 0; v < m; ++v) {
            all.sums[v] += part.sums[v];
            all.squares[v] += part.squares[v];
            all.observed[v] += part.observed[v];
            all.nonfinite[v] += part.nonfinite[v];
            all.missing[v] += part.missing[v];
            all.minimum[v] = std::min(all.minimum[v], part.minimum[v]);
            all.maximum[v] = std::max(all.maximum[v], part.maximum[v]);
        }
    }
    std::copy_n(all.sums, 5 * m, numbers_out);
    std::copy_n(all.nonfinite, 2 * m, counts_out);
    return {*all.mass, *all.rows};
}

template <class T>
nb::tuple describe(Table<T> X, nb::tuple block, In<double> reference, Out<double> numbers,
    Out<std::int64_t> counts) {
    const auto [mass, rows] =
        describe_rows(Input<T>(X, block), reference.data(), numbers.data(), counts.data());
    return nb::make_tuple(mass, rows);
}

// The first row with weight, (M), with zeros for cells that are no finite numbers; false if no row
// has weight.
template <class T> bool find_first_row(const Rows<T>& rows, double* out) {
    index first = 0;
    while (rows.sample_weight && first < rows.n_rows && !(rows.sample_weight[first] > 0)) ++first;
    if (first == rows.n_rows) return false;
    for (index v = 0; v < rows.n_features; ++v) {
        const double cell = double(rows.data[first * rows.row_stride + v * rows.column_stride]);
        out[v] = std::isfinite(cell) ? cell : 0.0;
    }
    return true;
}

// numbers OUT: mean, scatter, minimum, maximum, span, magnitude, equal weights, (7, M); varying
// OUT: (M). Returns the number of features that vary, lowest and highest of span and of scatter,
// and the sum of the scatter; -1 alone if squares cancel.
nb::tuple summarize_rows(const MomentSums& moments, const double* reference, index m, bool anyway,
    double* out, bool* varying) {
    const Summary summary{
        out, out + m, out + 2 * m, out + 3 * m, out + 4 * m, out + 5 * m, out + 6 * m, varying};
    const index n_varying = summarize_moments(moments, reference, m, anyway, summary);
    if (n_varying < 0) return nb::make_tuple(n_varying);
    const Range span = range_of(summary.span, m), scatter = range_of(summary.scatter, m);
    return nb::make_tuple(n_varying, nb::make_tuple(span.low, span.high),
        nb::make_tuple(scatter.low, scatter.high), sum_of(summary.scatter, m));
}

nb::tuple summarize(In<double> sums, In<double> squares, In<double> minimum, In<double> maximum,
    In<double> observed, In<double> reference, bool anyway, Out<double> numbers,
    Out<bool> varying) {
    const MomentSums moments{
        sums.data(), squares.data(), minimum.data(), maximum.data(), observed.data()};
    return summarize_rows(
        moments, reference.data(), index(reference.size()), anyway, numbers.data(), varying.data());
}

// The first row with weight, moments about it and what these tell: `numbers` OUT, (13, M), has this
// row and what `describe` and `summarize` write there. There must be a row with weight. Returns the
// mass and the number of the rows with weight, the number of cells that are not finite, and what
// `summarize` returns.
template <class T>
nb::tuple describe_alone(
    Table<T> X, nb::tuple block, Out<double> numbers, Out<std::int64_t> counts, Out<bool> varying) {
    const Input<T> input(X, block);
    const index m = input.rows.n_features;
    double *reference = numbers.data(), *moments = reference + m;
    find_first_row(input.rows, reference);
    const auto [mass, rows] = describe_rows(input, reference, moments, counts.data());
    const MomentSums summed{
        moments, moments + m, moments + 2 * m, moments + 3 * m, moments + 4 * m};
    const std::int64_t odd = std::accumulate(counts.data(), counts.data() + m, std::int64_t(0));
    return nb::make_tuple(mass, rows, odd,
        summarize_rows(summed, reference, m, false, moments + 5 * m, varying.data()));
}

// How many cells of each row, and of each column in rows with weight, are there; adds to in_column.
template <class T>
void observed(Table<T> X, nb::tuple block, Out<std::int64_t> in_row, Out<std::int64_t> in_column) {
    const Input<T> input(X, block);
    const Rows<T>& rows = input.rows;
    const index m = rows.n_features, segments = input.segments(1);
    std::vector<std::int64_t> parts(segments * m, 0);
    for_each_task(1, segments, rows.n_rows, input.n_threads, input.scratch_bytes(1, false),
        [&](const Task& task) {
            kernels<T>().observed(rows, task.part, in_row.data(), parts.data() + task.segment * m);
        });
    for (index segment = 0; segment < segments; ++segment)
        for (index v = 0; v < m; ++v) in_column.data()[v] += parts[segment * m + v];
}

}}  // namespace fwk
