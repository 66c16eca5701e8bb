// Sums about points, for centers other than means, for Python.
#pragma once
#include "module/arguments.hpp"

namespace fwk { namespace {

Points points_of(
    const In<double>& points, const In<double>& power, const LabelsIn& labels, bool rough) {
    return {{index(points.shape(0)), index(points.shape(1)), index(points.shape(2))}, points.data(),
        power.data(), labels.data(), labels.stride(0), rough};
}

// Adds the slopes of later rows.
void join_slopes(const Slopes& all, const Slopes& part, index size) {
    const auto nearest = [](double& value, double& mass, double other, double other_mass,
                             bool nearer) {
        if (nearer) value = other, mass = other_mass;
        else if (value == other) mass += other_mass;
    };
    for (index i = 0; i < size; ++i) {
        all.slope[i] += part.slope[i];
        all.curvature[i] += part.curvature[i];
        all.third[i] += part.third[i];
        all.third_size[i] += part.third_size[i];
        all.equal[i] += part.equal[i];
        nearest(all.below[i], all.below_mass[i], part.below[i], part.below_mass[i],
            part.below[i] > all.below[i]);
        nearest(all.above[i], all.above_mass[i], part.above[i], part.above_mass[i],
            part.above[i] < all.above[i]);
        all.low[i] = std::min(all.low[i], part.low[i]);
        all.high[i] = std::max(all.high[i], part.high[i]);
    }
}

// out: the fields of `Slopes`, each (R, K, M).
template <class T>
void slopes(Table<T> X, nb::tuple block, In<double> points, In<double> power, LabelsIn labels,
    bool rough, Out<double> out) {
    const Input<T> input(X, block);
    const Points about = points_of(points, power, labels, rough);
    const index r = about.n_starts, size = r * about.n_clusters * about.n_features;
    const index each = Slopes::FIELDS * size, segments = input.segments(about.n_clusters);
    std::vector<double> parts(segments * each);
    for_each_task(r, segments, input.rows.n_rows, input.n_threads,
        input.scratch_bytes(about.n_clusters, false), [&](const Task& task) {
            kernels<T>().slopes(input.rows, task.part, about, task.first, task.last,
                Slopes::of(parts.data() + task.segment * each, size));
        });
    std::copy(parts.begin(), parts.begin() + each, out.data());
    for (index segment = 1; segment < segments; ++segment)
        join_slopes(
            Slopes::of(out.data(), size), Slopes::of(parts.data() + segment * each, size), size);
}

template <class T>
void powers(Table<T> X, nb::tuple block, In<double> points, In<double> power, LabelsIn labels,
    Out<double> out) {
    const Input<T> input(X, block);
    const Points about = points_of(points, power, labels, false);
    const index r = about.n_starts, each = about.n_clusters * about.n_features, size = r * each;
    const index segments = input.segments(about.n_clusters);
    std::vector<double> parts(segments * size);
    for_each_task(r, segments, input.rows.n_rows, input.n_threads,
        input.scratch_bytes(about.n_clusters, false), [&](const Task& task) {
            kernels<T>().powers(input.rows, task.part, about, task.first, task.last,
                parts.data() + task.segment * size);
        });
    for (index i = 0; i < size; ++i) {
        const bool largest = power.data()[i / each] > 1e300;
        double total = parts[i];
        for (index segment = 1; segment < segments; ++segment) {
            const double part = parts[segment * size + i];
            total = largest ? std::max(total, part) : total + part;
        }
        out.data()[i] = total;
    }
}

// out: (R, K, M).
template <class T>
void roots(Table<T> X, nb::tuple block, In<double> points, In<double> power, LabelsIn labels,
    Out<double> out) {
    const Input<T> input(X, block);
    const Points about = points_of(points, power, labels, false);
    const index n_rows = input.rows.n_rows;
    for_each_task(about.n_starts * about.n_clusters, 1, n_rows, input.n_threads,
        kernels<T>().roots_bytes(n_rows), [&](const Task& task) {
            kernels<T>().roots(input.rows, task.part, about, task.first, task.last, out.data());
        });
}

}}  // namespace fwk
