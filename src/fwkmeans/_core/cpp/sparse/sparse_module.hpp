// Threads and Python around the kernels of sparse rows. Labels
// come first, segment by segment; then each cluster of each start is summed by one thread, in the
// order of its rows. Results are bitwise the same for any number of threads.
#pragma once
#include "common/fingerprint.hpp"
#include "module/arguments.hpp"
#include "sparse/sparse_dispatch.hpp"

namespace fwk { namespace {

// Rows as Python hands them over: values, then (columns, begins, number of columns, sample weight,
// first row, gaps, stretch, threads).
template <class T> struct SparseInput {
    In<T> values;
    In<std::int32_t> columns;
    In<std::int64_t> begins;
    std::optional<In<double>> sample_weight;
    SparseRows<T> rows;
    int n_threads;

    SparseInput(const In<T>& values, const nb::tuple& block)
        : values(values), columns(nb::cast<In<std::int32_t>>(block[0])),
          begins(nb::cast<In<std::int64_t>>(block[1])), sample_weight(maybe<In<double>>(block[3])) {
        rows = {values.data(), columns.data(), begins.data(), index(begins.shape(0)) - 1,
            nb::cast<index>(block[2]), sample_weight ? sample_weight->data() : nullptr,
            nb::cast<std::int64_t>(block[4]), nb::cast<bool>(block[5]), nb::cast<bool>(block[6])};
        n_threads = nb::cast<int>(block[7]);
    }
    index segments() const { return std::max<index>(1, std::min<index>(64, rows.n_rows / 256)); }
};

template <class T> std::vector<double> prepare_sparse(const Starts& starts, int n_threads) {
    const std::size_t size = sparse_kernels<T>().prepared_bytes(starts) / sizeof(double);
    const index n_tasks = sparse_kernels<T>().prepare_tasks(starts);
    std::vector<double> prepared(size * starts.n_starts);
    const nb::gil_scoped_release release;
    Pool::of_this_process().run(starts.n_starts * n_tasks, n_threads, [&](index task, int) {
        const index start = task / n_tasks;
        sparse_kernels<T>().prepare(starts, start, task % n_tasks, prepared.data() + start * size);
    });
    return prepared;
}

// Labels of all rows in all starts, (R, n); with `own` also the dissimilarities to the own centers.
template <class T>
void label_sparse(const SparseInput<T>& input, const Starts& starts, bool stretched,
    std::int32_t* labels, double* own) {
    const index n_rows = input.rows.n_rows;
    const std::vector<double> prepared = prepare_sparse<T>(starts, input.n_threads);
    const std::size_t size = prepared.size() / starts.n_starts;
    const std::size_t bytes =
        sparse_kernels<T>().assign_bytes(starts.n_clusters, starts.n_features);
    for_each_task(
        starts.n_starts, input.segments(), n_rows, input.n_threads, bytes, [&](const Task& task) {
            const index begin = task.part.begin;
            for (index start = task.first; start < task.last; ++start)
                sparse_kernels<T>().assign(input.rows, task.part, starts, start,
                    prepared.data() + start * size, stretched, labels + start * n_rows + begin,
                    own ? own + start * n_rows + begin : nullptr);
        });
}

// The rows that one start has to sum: those of cluster j are entries [begins[j], begins[j + 1]).
struct ClusterRows {
    std::vector<index> begins;
    std::vector<std::int64_t> entries;

    // `before` is null unless only changes are summed
    ClusterRows(const std::int32_t* labels, const std::int32_t* before, const double* weight,
        index n_rows, index k)
        : begins(k + 1, 0) {
        const auto each = [&](auto list) {
            for (index i = 0; i < n_rows; ++i) {
                if ((weight && !(weight[i] > 0)) || (before && before[i] == labels[i])) continue;
                list(labels[i], std::int64_t(i));
                if (before) list(before[i], ~std::int64_t(i));
            }
        };
        each([&](std::int32_t label, std::int64_t) { ++begins[label + 1]; });
        for (index j = 0; j < k; ++j) begins[j + 1] += begins[j];
        std::vector<index> next(begins.begin(), begins.end() - 1);
        entries.resize(begins[k]);
        each([&](std::int32_t label, std::int64_t entry) { entries[next[label]++] = entry; });
    }
};

template <class T>
void sparse_assign_and_accumulate(In<T> values, nb::tuple block, nb::tuple assigning,
    Out<double> reference, std::optional<LabelsOut> last_labels, In<std::uint8_t> update,
    Out<double> mass, Out<std::int64_t> rows, Out<double> sums, Out<double> squares,
    std::optional<Out<double>> observed, Out<std::uint64_t> fingerprint,
    Out<std::int64_t> changed) {
    const SparseInput<T> input(values, block);
    const Assignment by(assigning, input.rows.gaps);
    const Starts& starts = by.starts;
    const SparseRows<T>& table = input.rows;
    const index r = starts.n_starts, k = starts.n_clusters, m = starts.n_features, n = table.n_rows;
    std::vector<std::int32_t> labels(r * n);
    label_sparse(input, starts, false, labels.data(), nullptr);
    const auto before_of = [&](index start) {
        return last_labels ? last_labels->data() + start * last_labels->stride(0) : nullptr;
    };
    std::vector<ClusterRows> listed;
    for (index start = 0; start < r; ++start) {
        const std::int32_t *now = labels.data() + start * n, *before = before_of(start);
        std::uint64_t print = 0;
        std::int64_t n_changed = 0;
        for (index i = 0; i < n; ++i) {
            const bool counts = !table.sample_weight || table.sample_weight[i] > 0;
            if (counts) print += key_of(table.first_row + i) * std::uint64_t(now[i] + 1);
            if (before) n_changed += before[i] != now[i];
        }
        fingerprint.data()[start] = print;
        changed.data()[start] = n_changed;
        const bool changes = before && update.data()[start];
        listed.emplace_back(now, changes ? before : nullptr, table.sample_weight, n, k);
    }
    for_each_task(
        r * k, 1, n, input.n_threads, sparse_kernels<T>().sums_bytes(m), [&](const Task& task) {
            for (index at = task.first; at < task.last; ++at) {
                const index start = at / k, from = listed[start].begins[at % k];
                const SparseSums out{mass.data() + at, rows.data() + at, sums.data() + at * m,
                    squares.data() + at * m, observed ? observed->data() + at * m : nullptr};
                sparse_kernels<T>().accumulate(table, task.part,
                    listed[start].entries.data() + from, listed[start].begins[at % k + 1] - from,
                    last_labels && update.data()[start], reference.data() + at * m, out);
            }
        });
    for (index start = 0; last_labels && start < r; ++start)
        std::copy(labels.data() + start * n, labels.data() + (start + 1) * n, before_of(start));
}

template <class T>
void sparse_farthest(In<T> values, nb::tuple block, nb::tuple assigning, In<std::uint8_t> eligible,
    Out<double> distance, Out<std::int64_t> row) {
    const SparseInput<T> input(values, block);
    const Assignment by(assigning, input.rows.gaps);
    const index r = by.starts.n_starts, k = by.starts.n_clusters, n = input.rows.n_rows;
    std::vector<std::int32_t> labels(r * n);
    std::vector<double> own(r * n);
    label_sparse(input, by.starts, true, labels.data(), own.data());
    for (index start = 0; start < r; ++start) {
        distance.data()[start] = 0;
        row.data()[start] = -1;
        for (index i = 0; i < n; ++i) {
            if (input.rows.sample_weight && !(input.rows.sample_weight[i] > 0)) continue;
            if (!eligible.data()[start * k + labels[start * n + i]]) continue;
            if (!(own[start * n + i] > distance.data()[start])) continue;
            distance.data()[start] = own[start * n + i];
            row.data()[start] = input.rows.first_row + i;
        }
    }
}

template <class T>
double sparse_assign(In<T> values, nb::tuple block, nb::tuple assigning, Out<std::int32_t> labels) {
    const SparseInput<T> input(values, block);
    const Assignment by(assigning, input.rows.gaps);
    const index n = input.rows.n_rows;
    std::vector<double> own(n);
    label_sparse(input, by.starts, false, labels.data(), own.data());
    double objective = 0;
    for (index from = 0; from < n; from += 1024) {  // two levels of sums round less
        double part = 0;
        for (index i = from; i < std::min(n, from + 1024); ++i) {
            const double s = input.rows.sample_weight ? input.rows.sample_weight[i] : 1;
            if (s > 0) part += s * (own[i] + by.starts.offsets[labels.data()[i]]);
        }
        objective += part;
    }
    return objective;
}

template <class T>
void sparse_distances(In<T> values, nb::tuple block, nb::tuple assigning, Out<T> out) {
    const SparseInput<T> input(values, block);
    const Assignment by(assigning, input.rows.gaps);
    const std::vector<double> prepared = prepare_sparse<T>(by.starts, input.n_threads);
    const index k = by.starts.n_clusters;
    for_each_task(1, input.segments(), input.rows.n_rows, input.n_threads,
        sparse_kernels<T>().assign_bytes(k, by.starts.n_features), [&](const Task& task) {
            sparse_kernels<T>().distances(input.rows, task.part, by.starts, prepared.data(),
                out.data() + task.part.begin * k);
        });
}

// numbers: sums, squares, minimum, maximum, observed; counts: nonfinite, missing; each (M).
template <class T>
void sparse_describe(In<T> values, nb::tuple block, In<double> reference, Out<double> mass,
    Out<std::int64_t> rows, Out<double> numbers, Out<std::int64_t> counts) {
    const SparseInput<T> input(values, block);
    const index m = input.rows.n_features, n_stored = index(values.shape(0));
    const index segments =  // few enough that adding them costs little
        std::max<index>(1, std::min<index>({16, input.rows.n_rows, n_stored / (16 * m)}));
    std::vector<double> masses(segments), parts(segments * 5 * m);
    std::vector<std::int64_t> n_rows(segments), faults(segments * 2 * m);
    for_each_task(1, segments, input.rows.n_rows, input.n_threads,
        sparse_kernels<T>().sums_bytes(m), [&](const Task& task) {
            const index segment = task.segment;
            double* d = parts.data() + segment * 5 * m;
            std::int64_t* c = faults.data() + segment * 2 * m;
            sparse_kernels<T>().describe(input.rows, task.part, reference.data(),
                Moments{&masses[segment], &n_rows[segment], d, d + m, d + 2 * m, d + 3 * m,
                    d + 4 * m, c, c + m});
        });
    *mass.data() = 0;
    *rows.data() = 0;
    std::copy(parts.begin(), parts.begin() + 5 * m, numbers.data());
    std::copy(faults.begin(), faults.begin() + 2 * m, counts.data());
    for (index segment = 0; segment < segments; ++segment) {
        *mass.data() += masses[segment];
        *rows.data() += n_rows[segment];
        if (segment == 0) continue;
        for (index at = 0; at < 5 * m; ++at) {
            double &whole = numbers.data()[at], part = parts[segment * 5 * m + at];
            whole = at / m == 2   ? std::min(whole, part)
                    : at / m == 3 ? std::max(whole, part)
                                  : whole + part;
        }
        for (index at = 0; at < 2 * m; ++at) counts.data()[at] += faults[segment * 2 * m + at];
    }
}

template <class T> void define_sparse(nb::module_& m) {
    m.def("sparse_assign_and_accumulate", &sparse_assign_and_accumulate<T>, nb::arg().noconvert(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
    m.def("sparse_farthest", &sparse_farthest<T>, nb::arg().noconvert(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg());
    m.def(
        "sparse_assign", &sparse_assign<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg());
    m.def("sparse_distances", &sparse_distances<T>, nb::arg().noconvert(), nb::arg(), nb::arg(),
        nb::arg());
    m.def("sparse_describe", &sparse_describe<T>, nb::arg().noconvert(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg());
}

}}  // namespace fwk
