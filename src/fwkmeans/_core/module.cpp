// Threads and Python around the kernels. Partial sums belong to segments of rows that are fixed by
// the shape of the problem and are added in segment order: results are bitwise the same for any
// number of threads. Callers (the Python wrappers in compiled.py) validate; nothing is checked here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "loop.hpp"
#include "summaries.hpp"

namespace nb = nanobind;

namespace fwk {
namespace {

template <class T>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
using Labeled = nb::ndarray<std::int32_t, nb::ndim<2>, nb::device::cpu>;  // starts x rows
using Known = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::device::cpu>;  // the same, to read

// ---- segments, tasks, interruption --------------------------------------------------------------

// At most 64; fewer where their sums would not fit into a cache, one where not into 64 MiB.
index n_segments(index n_rows, index n_clusters, index n_features) {
    const index bytes = 16 * n_clusters * std::max<index>(1, n_features);
    const index by_rows = std::min<index>(n_rows / 1024, 64);
    const index by_cache = std::max<index>(16, (index(4) << 20) / bytes);
    const index by_memory = (index(64) << 20) / bytes;
    return std::max<index>(1, std::min({by_rows, by_cache, by_memory}));
}

// Worker 0 is the caller's thread: it looks for Ctrl-C some times a second.
class Interruption {
   public:
    explicit Interruption(int n_threads) : clocks_(n_threads) {}
    Cancel of(int worker) {
        clocks_[worker].owner = this;
        clocks_[worker].is_caller = worker == 0;
        return {&poll, &clocks_[worker]};
    }
    bool interrupted() const { return stop_.load(); }

   private:
    struct Clock {
        Interruption* owner = nullptr;
        bool is_caller = false;
        std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
    };
    static bool poll(void* state) {
        Clock& clock = *static_cast<Clock*>(state);
        if (clock.is_caller) {
            const auto now = std::chrono::steady_clock::now();
            if (now - clock.last > std::chrono::milliseconds(50)) {
                clock.last = now;
                const nb::gil_scoped_acquire gil;
                if (PyErr_CheckSignals() != 0) clock.owner->stop_.store(true);
            }
        }
        return clock.owner->stop_.load(std::memory_order_relaxed);
    }
    std::atomic<bool> stop_{false};
    std::vector<Clock> clocks_;
};

// Scratch for each worker, taken before the threads start: none of them may throw.
class Scratch {
   public:
    Scratch(int n_workers, std::size_t bytes) : bytes_((bytes + 63) / 64 * 64), memory_(bytes_ * n_workers) {}
    void* of(int worker) { return memory_.data() + bytes_ * worker; }

   private:
    std::size_t bytes_;
    Lent memory_;
};

// body(first start, last start, segment, rows begin, rows end, worker, cancel) over all starts and
// segments; without the GIL.
template <class Body>
void share_tasks(index n_starts, index segments, index n_rows, int n_threads, Interruption& interruption,
                 const Body& body) {
    const index groups = std::min(n_starts, (index(8) * n_threads + segments - 1) / segments);
    Pool::of_this_process().run(groups * segments, n_threads, [&](index task, int worker) {
        const Cancel cancel = interruption.of(worker);
        if (cancel.poll(cancel.state)) return;
        const index group = task / segments, segment = task % segments;
        body(n_starts * group / groups, n_starts * (group + 1) / groups, segment,
             n_rows * segment / segments, n_rows * (segment + 1) / segments, worker, cancel);
    });
}

// The same with the GIL; raises KeyboardInterrupt (or what the handler raised) if a signal came.
template <class Body>
void for_each_task(index n_starts, index segments, index n_rows, int n_threads, Body body) {
    Interruption interruption(n_threads);
    {
        const nb::gil_scoped_release release;
        share_tasks(n_starts, segments, n_rows, n_threads, interruption, body);
    }
    if (interruption.interrupted()) throw nb::python_error();
}

template <class Array>
std::optional<Array> maybe(const nb::handle& given) {
    if (given.is_none()) return std::nullopt;
    return nb::cast<Array>(given);
}

// A block of rows as Python hands it over: (levels, sample weight, first row, gaps, stretch, threads).
template <class T>
struct Input {
    Table<T> X;
    std::optional<In<std::int32_t>> levels;
    std::optional<In<double>> sample_weight;
    Rows<T> rows;
    int n_threads;

    Input(const Table<T>& X, const nb::tuple& block)
        : X(X), levels(maybe<In<std::int32_t>>(block[0])), sample_weight(maybe<In<double>>(block[1])) {
        rows = {X.data(),
                index(X.shape(0)),
                index(X.shape(1)),
                X.stride(0),
                X.stride(1),
                sample_weight ? sample_weight->data() : nullptr,
                nb::cast<std::int64_t>(block[2]),
                levels ? levels->data() : nullptr,
                levels ? index(levels->shape(1)) : 0,
                nb::cast<bool>(block[3]),
                nb::cast<bool>(block[4])};
        n_threads = nb::cast<int>(block[5]);
    }
};

// What assigns: (centers, weights, offsets, shift, power, costs, category weights, rescale).
struct Assigning {
    In<double> centers, weights, offsets, shift;
    std::optional<In<double>> power, costs, category_weights;
    Starts starts;

    explicit Assigning(const nb::tuple& given, bool gaps = false)
        : centers(nb::cast<In<double>>(given[0])),
          weights(nb::cast<In<double>>(given[1])),
          offsets(nb::cast<In<double>>(given[2])),
          shift(nb::cast<In<double>>(given[3])),
          power(maybe<In<double>>(given[4])),
          costs(maybe<In<double>>(given[5])),
          category_weights(maybe<In<double>>(given[6])) {
        const index k = centers.shape(1);
        starts = {index(centers.shape(0)),
                  k,
                  index(centers.shape(2)),
                  index(weights.shape(1)) != k || k == 1,
                  centers.data(),
                  weights.data(),
                  offsets.data(),
                  centers.data(),
                  shift.data(),
                  power ? power->data() : nullptr,
                  costs ? costs->data() : nullptr,
                  costs ? index(costs->shape(2)) : 0,
                  category_weights ? index(category_weights->shape(2)) : 0,
                  category_weights ? category_weights->data() : nullptr,
                  nb::cast<bool>(given[7])};
        starts.expanded = starts.shared && !gaps;
    }
};

// Levels count half: one sum instead of two.
index segments_of(index n_rows, const Starts& starts) {
    return n_segments(n_rows, starts.n_clusters, starts.n_features + (starts.n_levels + 1) / 2);
}

template <class T>
std::vector<char> prepare_all(const Starts& starts, int n_threads) {
    const std::size_t bytes = kernels<T>().prepared_bytes(starts);
    std::vector<char> prepared(bytes * starts.n_starts + 64);
    const index chunk = std::max<index>(1, starts.n_starts / (4 * n_threads));
    const nb::gil_scoped_release release;
    Pool::of_this_process().run((starts.n_starts + chunk - 1) / chunk, n_threads, [&](index task, int) {
        const index end = std::min(starts.n_starts, (task + 1) * chunk);
        for (index start = task * chunk; start < end; ++start)
            kernels<T>().prepare(starts, start, prepared.data() + start * bytes);
    });
    return prepared;
}

// The last pass, whose bounds row memory has: (span, its centers, its weights, the place of each start in row
// memory). Centers and weights are None if labels are all that is known.
struct LastPass {
    In<double> span;
    std::optional<In<double>> centers, weights;
    In<std::int64_t> kept;

    explicit LastPass(const nb::tuple& given)
        : span(nb::cast<In<double>>(given[0])),
          centers(maybe<In<double>>(given[1])),
          weights(maybe<In<double>>(given[2])),
          kept(nb::cast<In<std::int64_t>>(given[3])) {}
};

// What row memory has of a block, and where the pass writes it anew: (labels, upper and lower bounds, upper and
// lower bounds OUT). Bounds are None if labels are all that is known. A pass may write to where it reads, if
// every start stays in its place.
struct Remembered {
    Known labels;
    std::optional<nb::ndarray<const float, nb::ndim<2>, nb::device::cpu>> upper, lower;
    Out<float> new_upper, new_lower;

    explicit Remembered(const nb::tuple& given)
        : labels(nb::cast<Known>(given[0])),
          upper(maybe<nb::ndarray<const float, nb::ndim<2>, nb::device::cpu>>(given[1])),
          lower(maybe<nb::ndarray<const float, nb::ndim<2>, nb::device::cpu>>(given[2])),
          new_upper(nb::cast<Out<float>>(given[3])),
          new_lower(nb::cast<Out<float>>(given[4])) {}

    // Copies what is known of some rows of a start, which has this place, to where the pass changes it.
    void copy(index start, index place, index begin, index end, std::int32_t* to_labels) const {
        const index n = end - begin, at = start * new_upper.stride(0) + begin;
        copy(labels.data() + place * labels.stride(0) + begin, n, to_labels + begin);
        if (upper) {
            copy(upper->data() + place * upper->stride(0) + begin, n, new_upper.data() + at);
            copy(lower->data() + place * lower->stride(0) + begin, n, new_lower.data() + at);
        } else {
            std::fill_n(new_upper.data() + at, n, std::numeric_limits<float>::infinity());
            std::fill_n(new_lower.data() + at, n, 0.0f);
        }
    }

   private:
    template <class V>
    static void copy(const V* from, index n, V* to) {
        if (from != to) std::copy_n(from, n, to);
    }
};

// A block of a pass, as Python hands it over: (block, labels, what row memory has of it); the last two may be None.
template <class T>
struct Passed {
    Input<T> input;
    std::optional<Labeled> labels;
    std::optional<Remembered> memory;
    std::vector<std::atomic<std::int64_t>> counts;  // (starts, N_COUNTS) of races

    Passed(const Table<T>& X, const nb::tuple& given, index n_starts)
        : input(X, nb::cast<nb::tuple>(given[0])), labels(maybe<Labeled>(given[1])),
          counts(given[2].is_none() ? 0 : N_COUNTS * n_starts) {
        if (!given[2].is_none()) memory.emplace(nb::cast<nb::tuple>(given[2]));
    }
    LastLabels last(const In<std::uint8_t>& update) const {
        return {labels ? labels->data() : nullptr, labels ? labels->stride(0) : 0, update.data()};
    }
};

// The pass by bounds, start for start; its sums are those of the plain pass, to the bit, but its fingerprints are
// the changes of them.
template <class T>
class BoundedPass {
   public:
    BoundedPass(const Rows<T>& some, const Starts& starts, const LastPass& last)
        : starts_(starts), last_(last), unit_(unit_of(last.span.data(), starts.n_features)),
          prepared_(prepare_all<T>(starts, 1)) {
        const index r = starts.n_starts, k = starts.n_clusters, m = starts.n_features;
        const index n_own = starts.shared ? 1 : k;
        races_ = Races::first<T>(last.span.data(), m, some.gaps).of(starts);
        if (races_.single) single_ = prepare_all<float>(starts, 1);
        if (races_.products()) products_.resize(r, std::vector<char>(kernels<T>().products_bytes(starts, races_.whole)));
        for (index start = 0; start < r; ++start) {
            moves_.emplace_back(new MovedBounds(k, m));
            Starts one = starts;
            one.n_starts = 1;
            one.centers += start * k * m;
            one.weights += start * n_own * m;
            one.offsets += start * k;
            one.reference += start * k * m;
            ones_.push_back(one);
            const bool has_offsets = std::any_of(one.offsets, one.offsets + k, [](double x) { return x != 0; });
            const Deciding now{one.centers, one.weights, n_own, has_offsets ? one.offsets : nullptr};
            Deciding before{};
            if (last.centers)
                before = {last.centers->data() + start * k * m, last.weights->data() + start * n_own * m, n_own, nullptr};
            bounds_.push_back(moves_[start]->from(last.centers ? &before : nullptr, now, nullptr, nullptr, unit_));
            if (races_.products())
                kernels<T>().prepare_products(one, some_rows_.of(some, starts.shift, races_), races_.one, races_.both,
                                              products_[start].data());
        }
    }

    void sum(Passed<T>& block, const LastLabels& last, index start, index begin, index end, void* scratch,
             const Sums& out, Cancel cancel) const {
        const index k = starts_.n_clusters, m = starts_.n_features;
        const Rows<T>& rows = block.input.rows;
        const Remembered& known = *block.memory;
        std::int32_t* labels = last.labels + start * last.stride;
        known.copy(start, last_.kept.data()[start], begin, end, labels);
        const unsigned char update = last.update[start];
        std::int64_t counts[N_COUNTS] = {}, before[N_COUNTS];
        for (int i = 0; i < N_COUNTS; ++i) before[i] = block.counts[N_COUNTS * start + i];
        Bounds bounds = bounds_[start];
        bounds.upper = known.new_upper.data() + start * known.new_upper.stride(0);
        bounds.lower = known.new_lower.data() + start * known.new_lower.stride(0);
        bounds.counts = counts;
        const Sums own{out.mass + start * k,
                       out.rows + start * k,
                       out.sums + start * k * m,
                       out.squares + start * k * m,
                       out.observed ? out.observed + start * k * m : nullptr,
                       nullptr,
                       out.fingerprint + start,
                       out.changed + start};
        const Races races = races_.after(before, rows.n_rows);
        const char* prepared = races.single ? single_.data() + start * kernels<float>().prepared_bytes(starts_)
                                            : prepared_.data() + start * kernels<T>().prepared_bytes(starts_);
        kernels<T>().accumulate_bounded(rows, begin, end, ones_[start], prepared, races.single,
                                        races.products() ? products_[start].data() : nullptr, scratch,
                                        {labels, rows.n_rows, &update}, bounds, own, cancel);
        for (int i = 0; i < N_COUNTS; ++i) block.counts[N_COUNTS * start + i] += counts[i];
    }

   private:
    const Starts& starts_;
    const LastPass& last_;
    double unit_;
    Races races_{};
    SomeRows some_rows_;
    std::vector<char> prepared_, single_;
    std::vector<std::unique_ptr<MovedBounds>> moves_;  // their tables are what the bounds point to
    std::vector<Starts> ones_;
    std::vector<Bounds> bounds_;
    std::vector<std::vector<char>> products_;  // of each start, if rows race by them
};

// The sums of a block, or of a segment, as two rows of numbers: mass, sums, squares, observed if cells may be
// missing, counts; and rows, fingerprint, changed (_core/packed.py).
struct Packing {
    index r, k, m, n_levels;
    bool gaps;

    index n_floats() const { return r * k * (1 + (gaps ? 3 : 2) * m + n_levels); }
    index n_integers() const { return r * (k + 2); }
    Sums of(double* floats, std::int64_t* integers) const {
        const index masses = r * k, size = r * k * m;
        double *sums = floats + masses, *squares = sums + size, *rest = squares + size;
        return {floats,
                integers,
                sums,
                squares,
                gaps ? rest : nullptr,
                n_levels > 0 ? rest + (gaps ? size : 0) : nullptr,
                reinterpret_cast<std::uint64_t*>(integers + masses),
                integers + masses + r};
    }
    // body(place, size) for each statistic of starts [first, last).
    template <class Body>
    void of_starts(const Sums& sums, index first, index last, const Body& body) const {
        const index n = last - first;
        body(sums.mass + first * k, n * k);
        body(sums.rows + first * k, n * k);
        body(sums.sums + first * k * m, n * k * m);
        body(sums.squares + first * k * m, n * k * m);
        if (sums.observed) body(sums.observed + first * k * m, n * k * m);
        if (sums.counts) body(sums.counts + first * k * n_levels, n * k * n_levels);
        body(sums.fingerprint + first, n);
        body(sums.changed + first, n);
    }
    void add(const Sums& part, const Sums& out) const {
        add(part.mass, n_floats(), out.mass);
        add(part.rows, n_integers(), out.rows);
    }
    // part_of(segment) are added in their order.
    template <class PartOf>
    void add_all(index segments, const PartOf& part_of, const Sums& out, int n_threads) const {
        const index chunk = 4096, n = n_floats();
        Pool::of_this_process().run((n + chunk - 1) / chunk, n_threads, [&](index task, int) {
            const index begin = task * chunk, size = std::min(n, begin + chunk) - begin;
            std::copy_n(part_of(0).mass + begin, size, out.mass + begin);
            for (index segment = 1; segment < segments; ++segment)
                add(part_of(segment).mass + begin, size, out.mass + begin);
        });
        std::copy_n(part_of(0).rows, n_integers(), out.rows);
        for (index segment = 1; segment < segments; ++segment) add(part_of(segment).rows, n_integers(), out.rows);
    }

   private:
    static void add(const double* part, index n, double* out) {
        for (index i = 0; i < n; ++i) out[i] += part[i];
    }
    static void add(const std::int64_t* part, index n, std::int64_t* out) {  // fingerprints wrap around
        for (index i = 0; i < n; ++i) out[i] = std::int64_t(std::uint64_t(out[i]) + std::uint64_t(part[i]));
    }
};

// ---- what Python calls --------------------------------------------------------------------------

// The pass over some blocks: what assigns is prepared once, and Python waits once. blocks: a `Passed` for each of
// the tables; last_pass: None if bounds are not kept. OUT: floats and integers, (blocks, numbers) of `Packing`.
// Threads take whole blocks and add segments as they go; if blocks are few, they share the segments of each.
template <class T>
void assign_and_accumulate(std::vector<Table<T>> tables, nb::list blocks, nb::tuple assigning, In<double> reference,
                           In<std::uint8_t> update, std::optional<nb::tuple> last_pass, int n_threads,
                           Out<double> floats, Out<std::int64_t> integers) {
    const index n_blocks = index(tables.size());
    std::vector<std::unique_ptr<Passed<T>>> passed;
    for (index at = 0; at < n_blocks; ++at)
        passed.emplace_back(new Passed<T>(tables[at], nb::cast<nb::tuple>(blocks[at]),
                                          index(nb::cast<In<double>>(assigning[0]).shape(0))));
    const bool gaps = passed[0]->input.rows.gaps;
    Assigning by(assigning, gaps);
    Starts& starts = by.starts;
    starts.reference = reference.data();
    const index r = starts.n_starts, k = starts.n_clusters;
    const Packing packing{r, k, starts.n_features, starts.n_levels, gaps};
    const index n_floats = packing.n_floats(), n_integers = packing.n_integers(), n_numbers = n_floats + n_integers;
    std::optional<LastPass> last;
    std::optional<BoundedPass<T>> bounded;
    if (last_pass) {
        last.emplace(*last_pass);
        bounded.emplace(passed[0]->input.rows, starts, *last);
    }
    const std::vector<char> prepared = bounded ? std::vector<char>() : prepare_all<T>(starts, n_threads);
    const bool whole = n_threads == 1 || n_blocks >= 2 * n_threads;
    std::size_t bytes = 0;
    index most = 1;
    for (const auto& block : passed) {
        const Rows<T>& rows = block->input.rows;
        bytes = std::max(bytes, bounded ? kernels<T>().bounded_bytes(rows, k)
                                        : kernels<T>().scratch_bytes(rows, k, starts.power));
        most = std::max(most, segments_of(rows.n_rows, starts));
    }
    Scratch scratch(n_threads, bytes);
    Scratch parts(whole ? n_threads : int(most), 8 * n_numbers);  // of each thread, or of each segment
    const auto out_of = [&](index at) {
        return packing.of(floats.data() + at * n_floats, integers.data() + at * n_integers);
    };
    const auto part_of = [&](index at) {
        auto* numbers = static_cast<double*>(parts.of(int(at)));
        return packing.of(numbers, reinterpret_cast<std::int64_t*>(numbers + n_floats));
    };
    const auto sum = [&](Passed<T>& block, index first, index last, index begin, index end, int worker, Cancel cancel,
                         const Sums& part) {
        packing.of_starts(part, first, last, [](auto* numbers, index n) { std::fill_n(numbers, n, 0); });
        const LastLabels known = block.last(update);
        for (index start = first; bounded && start < last; ++start)
            bounded->sum(block, known, start, begin, end, scratch.of(worker), part, cancel);
        if (!bounded)
            kernels<T>().accumulate(block.input.rows, begin, end, starts, first, last, prepared.data(),
                                    scratch.of(worker), known, part, cancel);
    };
    Interruption interruption(n_threads);
    // segments in their order, by one thread: the first one to where the sum goes
    const auto sum_whole = [&](index at, int worker) {
        Passed<T>& block = *passed[at];
        const index n = block.input.rows.n_rows, segments = segments_of(n, starts);
        const Sums out = out_of(at), part = part_of(worker);
        for (index segment = 0; segment < segments; ++segment) {
            const Cancel cancel = interruption.of(worker);
            sum(block, 0, r, n * segment / segments, n * (segment + 1) / segments, worker, cancel, segment ? part : out);
            if (segment) packing.add(part, out);
        }
    };
    const auto sum_shared = [&](index at) {
        Passed<T>& block = *passed[at];
        const index n = block.input.rows.n_rows, segments = segments_of(n, starts);
        share_tasks(r, segments, n, n_threads, interruption,
                    [&](index first, index last, index segment, index begin, index end, int worker, Cancel cancel) {
                        sum(block, first, last, begin, end, worker, cancel, part_of(segment));
                    });
        packing.add_all(segments, part_of, out_of(at), n_threads);
    };
    {
        const nb::gil_scoped_release release;
        if (whole)
            Pool::of_this_process().run(n_blocks, n_threads, sum_whole);
        else
            for (index at = 0; at < n_blocks; ++at) sum_shared(at);
    }
    if (interruption.interrupted()) throw nb::python_error();
}

template <class T>
void farthest(Table<T> X, nb::tuple block, nb::tuple assigning, In<std::uint8_t> eligible,
              Out<double> distance, Out<std::int64_t> row) {
    const Input<T> input(X, block);
    const Assigning by(assigning, input.rows.gaps);
    const Starts& starts = by.starts;
    const index r = starts.n_starts, segments = segments_of(input.rows.n_rows, starts);
    const int n_threads = input.n_threads;
    const std::vector<char> prepared = prepare_all<T>(starts, n_threads);
    std::vector<double> part_distance(segments * r, 0.0);
    std::vector<std::int64_t> part_row(segments * r, -1);
    Scratch scratch(n_threads,
                    kernels<T>().scratch_bytes(input.rows, starts.n_clusters, starts.power));
    for_each_task(r, segments, input.rows.n_rows, n_threads,
                  [&](index first, index last, index segment, index begin, index end, int worker,
                      Cancel cancel) {
                      const Farthest part{eligible.data(), part_distance.data() + segment * r,
                                          part_row.data() + segment * r};
                      kernels<T>().farthest(input.rows, begin, end, starts, first, last,
                                            prepared.data(), scratch.of(worker), part, cancel);
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

// Writes the labels of the only start, (n). Returns the objective; if it is not wanted, zero, or NaN if some
// cell may not be a finite number.
template <class T>
double assign_rows(const Rows<T>& rows, const Starts& starts, int n_threads, bool summed, std::int32_t* labels) {
    const index segments = segments_of(rows.n_rows, starts);
    const std::vector<char> prepared = prepare_all<T>(starts, 1);
    // double rows race in float, where squares decide and fit into it, and no cell is missing
    double far = 0;
    for (index j = 0, i = 0; j < starts.n_clusters; ++j)
        for (index v = 0; v < starts.n_features; ++v, ++i)
            far = std::max(far, std::fabs(starts.centers[i] - starts.shift[v]));
    const bool can_race = !starts.power && !starts.costs && !rows.gaps && starts.n_clusters > 1 &&
                          fits_single(far);
    // by products, what is left in float, and what that leaves in double
    const Races found = Races{true, can_race, can_race}.of(starts);
    const bool by_products = found.products();
    const bool races = can_race && (sizeof(T) == 8 || by_products);
    const bool same = sizeof(T) == sizeof(float);
    const std::vector<char> of_floats = races && !same ? prepare_all<float>(starts, 1) : std::vector<char>();
    const char* single = !races ? nullptr : same ? prepared.data() : of_floats.data();
    std::vector<char> products(by_products ? kernels<T>().products_bytes(starts, found.whole) : 0);
    SomeRows some_rows;
    if (by_products)
        kernels<T>().prepare_products(starts, some_rows.of(rows, starts.shift, found), found.one, found.both,
                                      products.data());
    std::vector<double> objective(segments, 0.0);
    std::atomic<bool> odd{false};
    Scratch scratch(n_threads,
                    races ? kernels<T>().bounded_bytes(rows, starts.n_clusters)
                          : kernels<T>().scratch_bytes(rows, starts.n_clusters, starts.power));
    const auto assign = [&](index begin, index end, Labels out, int worker, Cancel cancel) {
        bool found = false;
        if (!summed) out.odd = &found;
        kernels<T>().assign(rows, begin, end, starts, prepared.data(), single,
                            by_products ? products.data() : nullptr, scratch.of(worker), out, cancel);
        if (found) odd = true;
    };
    // rows of a single segment are assigned in pieces, and then summed in their order
    const index pieces = segments > 1 ? 1 : std::min<index>(2 * n_threads, rows.n_rows / 64);
    const index work = rows.n_rows * starts.n_clusters * starts.n_features;
    const bool apart = n_threads > 1 && pieces > 1 && work >= SHAREABLE;
    if (apart)
        for_each_task(1, pieces, rows.n_rows, n_threads,
                      [&](index, index, index, index begin, index end, int worker, Cancel cancel) {
                          assign(begin, end, {labels + begin, nullptr}, worker, cancel);
                      });
    if (summed || !apart)
        for_each_task(1, segments, rows.n_rows, n_threads,
                      [&](index, index, index segment, index begin, index end, int worker, Cancel cancel) {
                          double* sum = summed ? &objective[segment] : nullptr;
                          assign(begin, end, {labels + begin, sum, apart}, worker, cancel);
                      });
    const bool largest = starts.power && starts.power[0] > 1e300;
    double total = 0;
    for (const double part : objective) total = largest ? std::max(total, part) : total + part;
    return odd ? std::nan("") : total;
}

// The same for Python.
template <class T>
double assign(Table<T> X, nb::tuple block, nb::tuple assigning, Out<std::int32_t> labels, bool summed) {
    const Input<T> input(X, block);
    const Assigning by(assigning, input.rows.gaps);
    return assign_rows(input.rows, by.starts, input.n_threads, summed, labels.data());
}

// Whether all cells are finite numbers.
template <class T>
bool finite(Table<T> X, nb::tuple block) {
    const Input<T> input(X, block);
    const index segments = n_segments(input.rows.n_rows, 1, input.rows.n_features);
    Scratch scratch(input.n_threads, kernels<T>().scratch_bytes(input.rows, 1, false));
    std::vector<unsigned char> all(segments);
    for_each_task(1, segments, input.rows.n_rows, input.n_threads,
                  [&](index, index, index segment, index begin, index end, int worker, Cancel cancel) {
                      all[segment] = kernels<T>().finite(input.rows, begin, end, scratch.of(worker), cancel);
                  });
    return std::find(all.begin(), all.end(), 0) == all.end();
}

template <class T>
void distances(Table<T> X, nb::tuple block, nb::tuple assigning, Out<T> out) {
    const Input<T> input(X, block);
    const Assigning by(assigning, input.rows.gaps);
    const Starts& starts = by.starts;
    Scratch scratch(input.n_threads, kernels<T>().scratch_bytes(input.rows, starts.n_clusters, false));
    for_each_task(1, segments_of(input.rows.n_rows, starts), input.rows.n_rows, input.n_threads,
                  [&](index, index, index, index begin, index end, int worker, Cancel cancel) {
                      kernels<T>().distances(input.rows, begin, end, starts, scratch.of(worker),
                                             out.data() + begin * starts.n_clusters, cancel);
                  });
}

Points points_of(const In<double>& points, const In<double>& power, const Known& labels) {
    return {index(points.shape(0)), index(points.shape(1)), index(points.shape(2)), points.data(),
            power.data(),           labels.data(),          labels.stride(0)};
}

// out: slope, curvature, equal, below, below mass, above, above mass, low, high; each (R, K, M).
template <class T>
void slopes(Table<T> X, nb::tuple block, In<double> points, In<double> power, Known labels,
            Out<double> out) {
    const Input<T> input(X, block);
    const Points about = points_of(points, power, labels);
    const index r = about.n_starts, size = r * about.n_clusters * about.n_features;
    const index segments = n_segments(input.rows.n_rows, about.n_clusters, about.n_features);
    std::vector<double> parts(segments * 9 * size);
    Scratch scratch(input.n_threads, kernels<T>().scratch_bytes(input.rows, about.n_clusters, false));
    const auto of = [size](double* d) -> Slopes {
        return {d,            d + size,     d + 2 * size, d + 3 * size, d + 4 * size,
                d + 5 * size, d + 6 * size, d + 7 * size, d + 8 * size};
    };
    for_each_task(r, segments, input.rows.n_rows, input.n_threads,
                  [&](index first, index last, index segment, index begin, index end, int worker,
                      Cancel cancel) {
                      kernels<T>().slopes(input.rows, begin, end, about, first, last,
                                          scratch.of(worker), of(parts.data() + segment * 9 * size),
                                          cancel);
                  });
    const Slopes all = of(out.data());
    std::copy(parts.begin(), parts.begin() + 9 * size, out.data());
    const auto nearest = [](double& value, double& mass, double other, double other_mass, bool nearer) {
        if (nearer)
            value = other, mass = other_mass;
        else if (value == other)
            mass += other_mass;
    };
    for (index segment = 1; segment < segments; ++segment) {
        const Slopes part = of(parts.data() + segment * 9 * size);
        for (index i = 0; i < size; ++i) {
            all.slope[i] += part.slope[i];
            all.curvature[i] += part.curvature[i];
            all.equal[i] += part.equal[i];
            nearest(all.below[i], all.below_mass[i], part.below[i], part.below_mass[i],
                    part.below[i] > all.below[i]);
            nearest(all.above[i], all.above_mass[i], part.above[i], part.above_mass[i],
                    part.above[i] < all.above[i]);
            all.low[i] = std::min(all.low[i], part.low[i]);
            all.high[i] = std::max(all.high[i], part.high[i]);
        }
    }
}

template <class T>
void powers(Table<T> X, nb::tuple block, In<double> points, In<double> power, Known labels,
            Out<double> out) {
    const Input<T> input(X, block);
    const Points about = points_of(points, power, labels);
    const index r = about.n_starts, each = about.n_clusters * about.n_features, size = r * each;
    const index segments = n_segments(input.rows.n_rows, about.n_clusters, about.n_features);
    std::vector<double> parts(segments * size);
    Scratch scratch(input.n_threads, kernels<T>().scratch_bytes(input.rows, about.n_clusters, false));
    for_each_task(r, segments, input.rows.n_rows, input.n_threads,
                  [&](index first, index last, index segment, index begin, index end, int worker,
                      Cancel cancel) {
                      kernels<T>().powers(input.rows, begin, end, about, first, last,
                                          scratch.of(worker), parts.data() + segment * size, cancel);
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
void roots(Table<T> X, nb::tuple block, In<double> points, In<double> power, Known labels,
           Out<double> out) {
    const Input<T> input(X, block);
    const Points about = points_of(points, power, labels);
    const index n_rows = input.rows.n_rows;
    Scratch scratch(input.n_threads, kernels<T>().roots_bytes(n_rows));
    for_each_task(about.n_starts * about.n_clusters, 1, n_rows, input.n_threads,
                  [&](index first, index last, index, index, index, int worker, Cancel cancel) {
                      kernels<T>().roots(input.rows, about, first, last, scratch.of(worker),
                                         out.data(), cancel);
                  });
}

// numbers OUT: sums, squares, minimum, maximum, observed; counts OUT: nonfinite, missing; each (M). Returns the
// mass and the number of the rows with weight.
template <class T>
std::pair<double, std::int64_t> describe_rows(const Input<T>& input, const double* reference, double* numbers_out,
                                              std::int64_t* counts_out) {
    const index m = input.rows.n_features, segments = n_segments(input.rows.n_rows, 1, m);
    std::vector<double> numbers(segments * (5 * m + 1), 0.0);
    std::vector<std::int64_t> counts(segments * (2 * m + 1), 0);
    const auto of_segment = [&](index segment) -> Moments {
        double* d = numbers.data() + segment * (5 * m + 1);
        std::int64_t* c = counts.data() + segment * (2 * m + 1);
        return {d, c, d + 1, d + 1 + m, d + 1 + 2 * m, d + 1 + 3 * m, d + 1 + 4 * m, c + 1, c + 1 + m};
    };
    Scratch scratch(input.n_threads, kernels<T>().scratch_bytes(input.rows, 1, false));
    for_each_task(1, segments, input.rows.n_rows, input.n_threads,
                  [&](index, index, index segment, index begin, index end, int worker, Cancel cancel) {
                      kernels<T>().describe(input.rows, begin, end, reference, scratch.of(worker),
                                            of_segment(segment), cancel);
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
nb::tuple describe(Table<T> X, nb::tuple block, In<double> reference, Out<double> numbers, Out<std::int64_t> counts) {
    const auto [mass, rows] = describe_rows(Input<T>(X, block), reference.data(), numbers.data(), counts.data());
    return nb::make_tuple(mass, rows);
}

// The first row with weight, (M), with zeros for cells that are no finite numbers; false if no row has weight.
template <class T>
bool find_first_row(const Rows<T>& rows, double* out) {
    index first = 0;
    while (rows.sample_weight && first < rows.n_rows && !(rows.sample_weight[first] > 0)) ++first;
    if (first == rows.n_rows) return false;
    for (index v = 0; v < rows.n_features; ++v) {
        const double cell = double(rows.data[first * rows.row_stride + v * rows.column_stride]);
        out[v] = std::isfinite(cell) ? cell : 0.0;
    }
    return true;
}

template <class T>
bool first_row(Table<T> X, nb::tuple block, Out<double> out) {
    return find_first_row(Input<T>(X, block).rows, out.data());
}

// numbers OUT: mean, scatter, minimum, maximum, span, magnitude, equal weights, (7, M); varying OUT: (M). Returns
// the number of features that vary (-1 if squares cancel), and lowest and highest of span and of scatter.
nb::tuple summarize_rows(const Summed& moments, const double* reference, index m, bool anyway, double* out, bool* varying) {
    const Summary summary{out, out + m, out + 2 * m, out + 3 * m, out + 4 * m, out + 5 * m, out + 6 * m, varying};
    const index n_varying = summarize_moments(moments, reference, m, anyway, summary);
    if (n_varying < 0) return nb::make_tuple(n_varying, nb::none(), nb::none());
    const Range span = range_of(summary.span, m), scatter = range_of(summary.scatter, m);
    return nb::make_tuple(n_varying, nb::make_tuple(span.low, span.high), nb::make_tuple(scatter.low, scatter.high));
}

nb::tuple summarize(In<double> sums, In<double> squares, In<double> minimum, In<double> maximum, In<double> observed,
                    In<double> reference, bool anyway, Out<double> numbers, Out<bool> varying) {
    const Summed moments{sums.data(), squares.data(), minimum.data(), maximum.data(), observed.data()};
    return summarize_rows(moments, reference.data(), index(reference.size()), anyway, numbers.data(), varying.data());
}

// The first row with weight, moments about it and what these tell: `numbers` OUT, (13, M), has this row and what
// `describe` and `summarize` write there. There must be a row with weight.
template <class T>
nb::tuple describe_alone(Table<T> X, nb::tuple block, Out<double> numbers, Out<std::int64_t> counts, Out<bool> varying) {
    const Input<T> input(X, block);
    const index m = input.rows.n_features;
    double *reference = numbers.data(), *moments = reference + m;
    find_first_row(input.rows, reference);
    const auto [mass, rows] = describe_rows(input, reference, moments, counts.data());
    const Summed summed{moments, moments + m, moments + 2 * m, moments + 3 * m, moments + 4 * m};
    return nb::make_tuple(mass, rows, summarize_rows(summed, reference, m, false, moments + 5 * m, varying.data()));
}

// rule: (kind, smoothing, shared, monotone, memoryless, option), see rules.hpp; parameters: (3, R) its two
// parameters and the guard; partition: (order, firsts, group of each feature), None without groups; table:
// (varying, scatter, shift, magnitude, span, initial weights), each (M), and those of groups. centers, weights,
// constants and groups are IN and OUT; flags: (3, R) converged, has_empty, given_up. Returns the history,
// (R, most iterations), NaN where a start has ended. With labels, (n) OUT, and masses, (K) OUT, also the start
// with the lowest objective (-1 if there is none), by whose centers, in the type of the rows, rows are labeled,
// and the sum of their dissimilarities.
template <class T>
nb::tuple alternate(
    Table<T> X, nb::tuple block, nb::tuple rule, In<double> parameters, std::optional<nb::tuple> partition,
    nb::tuple table, index max_iter, double tol, bool updates, Out<double> centers, Out<double> weights,
    Out<double> constants, Out<double> groups,
    Out<double> objective, Out<std::int64_t> n_iter, Out<std::uint8_t> flags,
    std::optional<Out<std::int32_t>> labels, std::optional<Out<double>> mass, int label_threads) {
    const Input<T> input(X, block);
    const auto varying = nb::cast<In<std::uint8_t>>(table[0]);
    std::vector<In<double>> numbers;
    for (int i = 1; i < 7; ++i) numbers.push_back(nb::cast<In<double>>(table[i]));
    std::vector<In<std::int64_t>> of_groups;
    for (int i = 0; partition && i < 3; ++i)
        of_groups.push_back(nb::cast<In<std::int64_t>>((*partition)[i]));
    const auto group = [&](int i) { return partition ? of_groups[i].data() : nullptr; };
    const index r = centers.shape(0), k = centers.shape(1);
    const Problem<T> problem{
        input.rows,
        r,
        k,
        n_segments(input.rows.n_rows, k, input.rows.n_features),
        {RuleKind(nb::cast<int>(rule[0])), Smoothing(nb::cast<int>(rule[1])), nb::cast<bool>(rule[2]),
         nb::cast<bool>(rule[3]), nb::cast<bool>(rule[4]), nb::cast<bool>(rule[5]), parameters.data(),
         parameters.data() + r, parameters.data() + 2 * r, varying.data(), numbers[0].data(),
         index(numbers[5].size()), group(0), group(1), group(2)},
        numbers[1].data(),
        numbers[2].data(),
        numbers[3].data(),
        numbers[4].data(),
        numbers[5].data(),
        max_iter,
        tol,
        updates,
        input.n_threads};
    Interruption interruption(input.n_threads);
    const typename Passes<T>::CancelOf cancel_of = [&](int worker) { return interruption.of(worker); };
    std::vector<Ended> ended;
    {
        const nb::gil_scoped_release release;
        ended = run_starts(problem, cancel_of, centers.data(), weights.data(),
                           constants.data(), groups.data());
    }
    if (interruption.interrupted()) throw nb::python_error();
    std::size_t longest = 0;
    for (const Ended& run : ended) longest = std::max(longest, run.history.size());
    double* history = new double[r * longest + 1];
    const nb::capsule owner(history, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    std::fill(history, history + r * longest, std::nan(""));
    for (index start = 0; start < r; ++start) {
        const Ended& run = ended[start];
        std::copy(run.history.begin(), run.history.end(), history + start * longest);
        objective.data()[start] = run.objective;
        n_iter.data()[start] = std::int64_t(run.history.size());
        flags.data()[start] = run.converged;
        flags.data()[r + start] = run.has_empty;
        flags.data()[2 * r + start] = run.given_up;
    }
    const index best = labels ? first_lowest(ended) : -1;
    double total = 0;
    if (best >= 0) {
        const index size = k * input.rows.n_features;
        const Final end(problem, best, centers.data() + best * size, weights.data() + best * size,
                        constants.data()[best], groups.data() + best * k * problem.rule.n_groups);
        total = end.weighting.scale * assign_rows(input.rows, end.starts, label_threads, true, labels->data());
        std::fill_n(mass->data(), k, 0.0);
        add_mass_of_rows(labels->data(), input.rows.sample_weight, input.rows.n_rows, k, mass->data());
    }
    const nb::ndarray<nb::numpy, double, nb::ndim<2>> kept(history, {std::size_t(r), longest}, owner);
    return nb::make_tuple(kept, best, total);
}

// How many cells of each row, and of each column in rows with weight, are there; adds to in_column.
template <class T>
void observed(Table<T> X, nb::tuple block, Out<std::int64_t> in_row, Out<std::int64_t> in_column) {
    const Input<T> input(X, block);
    const Rows<T>& rows = input.rows;
    const index m = rows.n_features, segments = n_segments(rows.n_rows, 1, m);
    std::vector<std::int64_t> parts(segments * m, 0);
    Scratch scratch(input.n_threads, kernels<T>().scratch_bytes(rows, 1, false));
    for_each_task(1, segments, rows.n_rows, input.n_threads,
                  [&](index, index, index segment, index begin, index end, int worker, Cancel cancel) {
                      kernels<T>().observed(rows, begin, end, scratch.of(worker), in_row.data(),
                                            parts.data() + segment * m, cancel);
                  });
    for (index segment = 0; segment < segments; ++segment)
        for (index v = 0; v < m; ++v) in_column.data()[v] += parts[segment * m + v];
}

// The numbers of std::mt19937, made one by one: a start needs a few of the 624 that are made at once there.
class Mersenne {
   public:
    explicit Mersenne(std::uint32_t seed) {
        state_[0] = seed;
        for (std::uint32_t i = 1; i < SIZE; ++i)
            state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
    }
    std::uint32_t operator()() {
        const std::uint32_t next = at_ + 1 < SIZE ? at_ + 1 : 0;
        const std::uint32_t far = at_ < SIZE - 397 ? at_ + 397 : at_ + 397 - SIZE;
        const std::uint32_t y = (state_[at_] & 0x80000000u) | (state_[next] & 0x7fffffffu);
        std::uint32_t z = state_[at_] = state_[far] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
        at_ = next;
        z ^= z >> 11;
        z ^= (z << 7) & 0x9d2c5680u;
        z ^= (z << 15) & 0xefc60000u;
        return z ^ (z >> 18);
    }

   private:
    static constexpr std::uint32_t SIZE = 624;
    std::uint32_t state_[SIZE], at_ = 0;
};

// k-means++ with the draws and the greedy choice of scikit-learn's function of that name, which starts
// from RandomState(seed): the same rows come out, but where rounding decides. cumulative: (n) shares of
// the weights, summed up. chosen: (R, K).
void spread(In<double> rows, In<double> weights, In<double> cumulative, In<std::uint32_t> seeds,
            index n_trials, int n_threads, Out<std::int64_t> chosen) {
    const Kernels<double>& core = kernels<double>();
    const index n = rows.shape(0), m = rows.shape(1), r = chosen.shape(0), k = chosen.shape(1);
    const index stride = core.seeding_rows(n);
    std::vector<double> packed(stride * m), padded(stride, 0.0);
    core.pack_for_seeding(rows.data(), n, m, packed.data());
    std::copy(weights.data(), weights.data() + n, padded.begin());
    const Seeding seeding{packed.data(), padded.data(), n, m};
    struct Memory {
        std::vector<double> closest, found, points, potential, summed;
        std::vector<index> candidates;
    };
    std::vector<Memory> memories(n_threads);
    for (Memory& memory : memories) {
        memory.closest.resize(stride);
        memory.found.resize(stride * n_trials);
        memory.points.resize(n_trials * m);
        memory.potential.resize(n_trials);
        memory.summed.resize(n);
        memory.candidates.resize(n_trials);
    }
    for_each_task(r, 1, n, n_threads, [&](index first, index last, index, index, index, int worker, Cancel cancel) {
        Memory& own = memories[worker];
        for (index start = first; start < last; ++start) {
            Mersenne generator(seeds.data()[start]);
            const auto uniform = [&] {  // as NumPy's RandomState
                const auto high = double(generator() >> 5), low = double(generator() >> 6);
                return (high * 67108864.0 + low) / 9007199254740992.0;
            };
            std::int64_t* rows_chosen = chosen.data() + start * k;
            rows_chosen[0] = std::upper_bound(cumulative.data(), cumulative.data() + n, uniform()) - cumulative.data();
            rows_chosen[0] = std::min<std::int64_t>(rows_chosen[0], n - 1);
            core.nearest_candidates(seeding, rows.data() + rows_chosen[0] * m, 1, nullptr,
                                    own.closest.data(), own.potential.data());
            double potential = own.potential[0];
            for (index cluster = 1; cluster < k && !cancel.poll(cancel.state); ++cluster) {
                double sum = 0;
                for (index i = 0; i < n; ++i) own.summed[i] = sum += padded[i] * own.closest[i];
                for (index c = 0; c < n_trials; ++c) {
                    const double* at = std::lower_bound(own.summed.data(), own.summed.data() + n, uniform() * potential);
                    own.candidates[c] = std::min<index>(at - own.summed.data(), n - 1);
                    std::copy_n(rows.data() + own.candidates[c] * m, m, own.points.data() + c * m);
                }
                core.nearest_candidates(seeding, own.points.data(), n_trials, own.closest.data(),
                                        own.found.data(), own.potential.data());
                const index best = std::min_element(own.potential.begin(), own.potential.end()) - own.potential.begin();
                potential = own.potential[best];
                std::copy_n(own.found.data() + best * stride, stride, own.closest.data());
                rows_chosen[cluster] = own.candidates[best];
            }
        }
    });
}

// exp and log of the core for NumPy, so that rules in Python and in here have the same bits.
void exp(In<double> x, Out<double> out) { elementwise().exp(x.data(), out.data(), index(x.size())); }
void log(In<double> x, Out<double> out) { elementwise().log(x.data(), out.data(), index(x.size())); }

// x and out: (R, K, M); unit: (R).
void to_unit(In<double> x, Out<double> out, Out<double> unit) {
    rows_to_unit(x.data(), index(unit.size()), index(x.shape(1) * x.shape(2)), out.data(), unit.data());
}

// x: (..., M); out: (...).
void sum_x_log_x(In<double> x, Out<double> out) {
    sums_x_log_x(x.data(), index(out.size()), index(x.shape(x.ndim() - 1)), out.data());
}

// Adds to mass, (K).
void add_masses(In<std::int32_t> labels, std::optional<In<double>> weights, Out<double> mass) {
    add_mass_of_rows(labels.data(), weights ? weights->data() : nullptr, index(labels.size()),
                     index(mass.size()), mass.data());
}

template <class T>
void define(nb::module_& m) {
    m.def("alternate", &alternate<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(),
          nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
          nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg());
    m.def("assign_and_accumulate", &assign_and_accumulate<T>, nb::arg().noconvert(), nb::arg(), nb::arg(),
          nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
    m.def("farthest", &farthest<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(),
          nb::arg(), nb::arg());
    m.def("assign", &assign<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg());
    m.def("finite", &finite<T>, nb::arg().noconvert(), nb::arg());
    m.def("first_row", &first_row<T>, nb::arg().noconvert(), nb::arg(), nb::arg());
    m.def("distances", &distances<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg());
    m.def("observed", &observed<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg());
    m.def("slopes", &slopes<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
          nb::arg());
    m.def("powers", &powers<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
          nb::arg());
    m.def("roots", &roots<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
          nb::arg());
    m.def("describe_alone", &describe_alone<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg());
    m.def("describe", &describe<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg());
}

}  // namespace
}  // namespace fwk

#include "sparse_module.hpp"

NB_MODULE(_kernels, m) {
    fwk::define<double>(m);
    fwk::define<float>(m);
    fwk::define_sparse<double>(m);
    fwk::define_sparse<float>(m);
    m.def("spread", &fwk::spread);
    m.def("exp", &fwk::exp);
    m.def("log", &fwk::log);
    m.def("summarize", &fwk::summarize);
    m.def("to_unit", &fwk::to_unit);
    m.def("sum_x_log_x", &fwk::sum_x_log_x);
    m.def("add_masses", &fwk::add_masses, nb::arg(), nb::arg().none(), nb::arg());
    m.def("n_segments", &fwk::n_segments);
    m.def("instruction_set", fwk::name_of_instruction_set);
    m.def("x86_level", [](std::uint32_t leaf1_ecx, std::uint32_t leaf7_ebx,
                          std::uint32_t extended1_ecx, std::uint32_t saved_registers,
                          std::uint32_t leaf7_ecx, std::uint32_t leaf7_edx) {
        return fwk::x86_level({leaf1_ecx, leaf7_ebx, extended1_ecx, saved_registers, leaf7_ecx, leaf7_edx});
    });
}
