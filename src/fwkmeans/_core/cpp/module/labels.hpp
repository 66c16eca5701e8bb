// Labels, distances and the farthest row, for Python.
#pragma once
#include <cmath>
#include <numeric>

#include "loop/problem.hpp"
#include "module/arguments.hpp"

namespace fwk { namespace {

template <class T>
void farthest(Table<T> X, nb::tuple block, nb::tuple assigning, In<std::uint8_t> eligible,
    Out<double> distance, Out<std::int64_t> row) {
    const Input<T> input(X, block);
    const Assignment by(assigning, input.rows.gaps);
    const Starts& starts = by.starts;
    const index r = starts.n_starts, segments = segments_of(input.rows.n_rows, starts);
    const std::vector<char> prepared = prepare_all<T>(starts, input.n_threads);
    std::vector<double> part_distance(segments * r, 0.0);
    std::vector<std::int64_t> part_row(segments * r, -1);
    for_each_task(r, segments, input.rows.n_rows, input.n_threads,
        input.scratch_bytes(starts.n_clusters, starts.power != nullptr), [&](const Task& task) {
            const Farthest part{eligible.data(), part_distance.data() + task.segment * r,
                part_row.data() + task.segment * r};
            kernels<T>().farthest(
                input.rows, task.part, starts, task.first, task.last, prepared.data(), part);
        });
    for (index start = 0; start < r; ++start) {
        distance.data()[start] = 0;
        row.data()[start] = -1;
        for (index segment = 0; segment < segments; ++segment)
            if (part_distance[segment * r + start] > distance.data()[start]) {
                distance.data()[start] = part_distance[segment * r + start];
                row.data()[start] = part_row[segment * r + start];
            }
    }
}

// The sum of s (d + offset) over rows of known labels: of segments, in their order.
template <class T>
double measure_rows(
    const Rows<T>& rows, const Starts& starts, int n_threads, const std::int32_t* labels) {
    const index segments = segments_of(rows.n_rows, starts);
    std::vector<double> parts(segments);
    const std::size_t bytes = kernels<T>().scratch_bytes(rows, starts.n_clusters, false, false);
    for_each_task(1, segments, rows.n_rows, n_threads, bytes, [&](const Task& task) {
        parts[task.segment] = kernels<T>().measure(rows, task.part, starts, labels);
    });
    if (starts.power && starts.power[0] > 1e300)
        return *std::max_element(parts.begin(), parts.end());
    return std::accumulate(parts.begin(), parts.end(), 0.0);
}

// Writes the labels of the only start, (n). False if some cell may not be a finite number.
template <class T>
bool label_rows(const Rows<T>& rows, const Starts& starts, int n_threads, std::int32_t* labels) {
    // double rows race in float, where squares decide and fit into it
    double far = 0;
    for (index j = 0, i = 0; j < starts.n_clusters; ++j)
        for (index v = 0; v < starts.n_features; ++v, ++i)
            far = std::max(far, std::fabs(starts.centers[i] - starts.shift[v]));
    const bool squares = !starts.power && !starts.costs && !starts.rescale;
    const bool races = sizeof(T) == 8 && squares && starts.n_clusters > 1 && fits_single(far);
    const std::vector<char> prepared = prepare_all<T>(starts, 1);
    const std::vector<char> single = races ? prepare_all<float>(starts, 1) : std::vector<char>();
    const index n = rows.n_rows, segments = segments_of(n, starts);
    const index work = work_of(n, starts.n_features, starts.n_clusters, starts.shared);
    // threads share a single segment in whole tiles, if that is worth it
    const bool share = segments == 1 && n_threads > 1 && work >= SHAREABLE && n >= 2 * PIECE;
    const index parts = share ? std::min<index>(2 * n_threads, n / PIECE) : segments;
    const index tiles = (n + PIECE - 1) / PIECE;
    std::atomic<bool> odd{false};
    const std::size_t bytes =
        kernels<T>().scratch_bytes(rows, starts.n_clusters, starts.power != nullptr, races);
    for_each_task(1, parts, share ? tiles : n, n_threads, bytes, [&](const Task& task) {
        Part part = task.part;
        if (share) part.begin *= PIECE, part.end = std::min(n, part.end * PIECE);
        const bool found = races ? kernels<T>().label_in_single(
                                       rows, part, starts, prepared.data(), single.data(), labels)
                                 : kernels<T>().label(rows, part, starts, prepared.data(), labels);
        if (found) odd = true;
    });
    return !odd;
}

// The same for Python. Returns the objective; if it is not wanted, zero, or NaN if some cell may
// not be a finite number.
template <class T>
double assign(
    Table<T> X, nb::tuple block, nb::tuple assigning, Out<std::int32_t> labels, bool summed) {
    const Input<T> input(X, block);
    const Assignment by(assigning, input.rows.gaps);
    const bool finite = label_rows(input.rows, by.starts, input.n_threads, labels.data());
    if (summed) return measure_rows(input.rows, by.starts, input.n_threads, labels.data());
    return finite ? 0.0 : std::nan("");
}

template <class T> void distances(Table<T> X, nb::tuple block, nb::tuple assigning, Out<T> out) {
    const Input<T> input(X, block);
    const Assignment by(assigning, input.rows.gaps);
    const Starts& starts = by.starts;
    for_each_task(1, segments_of(input.rows.n_rows, starts), input.rows.n_rows, input.n_threads,
        input.scratch_bytes(starts.n_clusters, false), [&](const Task& task) {
            kernels<T>().distances(input.rows, task.part, starts, out.data());
        });
}

}}  // namespace fwk
