// Small arrays, for Python.
#pragma once
#include "loop/problem.hpp"
#include "loop/summaries.hpp"
#include "module/arguments.hpp"

namespace fwk { namespace {

// Threads that the loops of so many starts keep busy.
index useful_threads(
    index n_rows, index n_features, index n_clusters, index n_starts, bool shared) {
    const index work = work_of(n_rows, n_features, n_clusters, shared);
    const bool alone =
        n_rows < 2 * SEGMENT && work < SHAREABLE;  // a single segment, in short passes
    return std::max(n_starts, alone ? 1 : n_useful(work));
}

// exp and log of the core for NumPy, so that rules in Python and in here have the same bits.
void exp(In<double> x, Out<double> out) {
    elementwise().exp(x.data(), out.data(), index(x.size()));
}
void log(In<double> x, Out<double> out) {
    elementwise().log(x.data(), out.data(), index(x.size()));
}

// x: (n, M).
double largest_share(In<double> x) {
    return largest_part(x.data(), index(x.shape(0)), index(x.shape(1)));
}

// Adds to mass, (K).
void add_masses(In<std::int32_t> labels, std::optional<In<double>> weights, Out<double> mass) {
    add_mass_of_rows(labels.data(), weights ? weights->data() : nullptr, index(labels.size()),
        index(mass.size()), mass.data());
}

}}  // namespace fwk
