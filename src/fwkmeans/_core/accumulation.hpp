// The pass that assigns rows and sums them, over several blocks in one call, and by bounds of row
// memory.
#pragma once
#include <nanobind/stl/vector.h>

#include "tasks.hpp"

namespace fwk {
namespace {

// The last pass, whose bounds row memory has: (span, its centers, its weights, the place of each
// start in row memory). Centers and weights are None if labels are all that is known.
struct LastPass {
    In<double> span;
    std::optional<In<double>> centers, weights;
    In<std::int64_t> kept;

    explicit LastPass(const nb::tuple& given)
        : span(nb::cast<In<double>>(given[0])), centers(maybe<In<double>>(given[1])),
          weights(maybe<In<double>>(given[2])), kept(nb::cast<In<std::int64_t>>(given[3])) {}
};

// What row memory has of a block, and where the pass writes it anew: (labels, upper and lower
// bounds, upper and lower bounds OUT). Bounds are None if labels are all that is known. A pass may
// write to where it reads, if every start stays in its place.
struct Remembered {
    Known labels;
    std::optional<nb::ndarray<const float, nb::ndim<2>, nb::device::cpu>> upper, lower;
    Out<float> new_upper, new_lower;

    explicit Remembered(const nb::tuple& given)
        : labels(nb::cast<Known>(given[0])),
          upper(maybe<nb::ndarray<const float, nb::ndim<2>, nb::device::cpu>>(given[1])),
          lower(maybe<nb::ndarray<const float, nb::ndim<2>, nb::device::cpu>>(given[2])),
          new_upper(nb::cast<Out<float>>(given[3])), new_lower(nb::cast<Out<float>>(given[4])) {}

    // Copies what is known of some rows of a start, which has this place, to where the pass changes
    // it.
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

// A block of a pass, as Python hands it over: (block, labels, what row memory has of it); the last
// two may be None.
template <class T>
struct Passed {
    Input<T> input;
    std::optional<Labeled> labels;
    std::optional<Remembered> memory;
    std::vector<std::atomic<std::int64_t>>
        doubtful;  // (starts) rows that the race in single precision left

    Passed(const Table<T>& X, const nb::tuple& given, index n_starts)
        : input(X, nb::cast<nb::tuple>(given[0])), labels(maybe<Labeled>(given[1])),
          doubtful(given[2].is_none() ? 0 : n_starts) {
        if (!given[2].is_none()) memory.emplace(nb::cast<nb::tuple>(given[2]));
    }
    LastLabels last(const In<std::uint8_t>& update) const {
        return {labels ? labels->data() : nullptr, labels ? labels->stride(0) : 0, update.data()};
    }
};

// The pass by bounds, start for start; its sums are those of the plain pass, to the bit, but its
// fingerprints are the changes of them.
template <class T>
class BoundedPass {
   public:
    BoundedPass(const Starts& starts, const LastPass& last)
        : starts_(starts), last_(last), unit_(unit_of(last.span.data(), starts.n_features)),
          prepared_(prepare_all<T>(starts, 1)) {
        const index r = starts.n_starts, k = starts.n_clusters, m = starts.n_features;
        const index n_own = starts.shared ? 1 : k;
        if (races_in_single<T>(last.span.data(), m)) single_ = prepare_all<float>(starts, 1);
        for (index start = 0; start < r; ++start) {
            moves_.emplace_back(new MovedBounds(k, m));
            Starts one = starts;
            one.n_starts = 1;
            one.centers += start * k * m;
            one.weights += start * n_own * m;
            one.offsets += start * k;
            one.reference += start * k * m;
            ones_.push_back(one);
            const bool has_offsets =
                std::any_of(one.offsets, one.offsets + k, [](double x) { return x != 0; });
            const Deciding now{
                one.centers, one.weights, n_own, has_offsets ? one.offsets : nullptr};
            Deciding before{};
            if (last.centers)
                before = {last.centers->data() + start * k * m,
                    last.weights->data() + start * n_own * m, n_own, nullptr};
            bounds_.push_back(moves_[start]->from(
                last.centers ? &before : nullptr, now, nullptr, nullptr, unit_));
        }
    }

    void sum(Passed<T>& block, const LastLabels& last, index start, index begin, index end,
        void* scratch, const Sums& out, Cancel cancel) const {
        const index k = starts_.n_clusters, m = starts_.n_features;
        const Rows<T>& rows = block.input.rows;
        const Remembered& known = *block.memory;
        std::int32_t* labels = last.labels + start * last.stride;
        known.copy(start, last_.kept.data()[start], begin, end, labels);
        const unsigned char update = last.update[start];
        std::int64_t doubtful = 0;
        Bounds bounds = bounds_[start];
        bounds.upper = known.new_upper.data() + start * known.new_upper.stride(0);
        bounds.lower = known.new_lower.data() + start * known.new_lower.stride(0);
        bounds.doubtful = &doubtful;
        const Sums own{out.mass + start * k, out.rows + start * k, out.sums + start * k * m,
            out.squares + start * k * m, out.observed ? out.observed + start * k * m : nullptr,
            nullptr, out.fingerprint + start, out.changed + start};
        const bool single = !single_.empty() && single_pays(block.doubtful[start], rows.n_rows);
        const char* prepared =
            single ? single_.data() + start * kernels<float>().prepared_bytes(starts_)
                   : prepared_.data() + start * kernels<T>().prepared_bytes(starts_);
        kernels<T>().accumulate_bounded(rows, begin, end, ones_[start], prepared, single, scratch,
            {labels, rows.n_rows, &update}, bounds, own, cancel);
        block.doubtful[start] += doubtful;
    }

   private:
    const Starts& starts_;
    const LastPass& last_;
    double unit_;
    std::vector<char> prepared_, single_;
    std::vector<std::unique_ptr<MovedBounds>> moves_;  // their tables are what the bounds point to
    std::vector<Starts> ones_;
    std::vector<Bounds> bounds_;
};

// The sums of a block, or of a segment, as two rows of numbers: mass, sums, squares, observed if
// cells may be missing, counts; and rows, fingerprint, changed (_core/packed.py).
struct Packing {
    index r, k, m, n_levels;
    bool gaps;

    index n_floats() const { return r * k * (1 + (gaps ? 3 : 2) * m + n_levels); }
    index n_integers() const { return r * (k + 2); }
    Sums of(double* floats, std::int64_t* integers) const {
        const index masses = r * k, size = r * k * m;
        double *sums = floats + masses, *squares = sums + size, *rest = squares + size;
        return {floats, integers, sums, squares, gaps ? rest : nullptr,
            n_levels > 0 ? rest + (gaps ? size : 0) : nullptr,
            reinterpret_cast<std::uint64_t*>(integers + masses), integers + masses + r};
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
        for (index segment = 1; segment < segments; ++segment)
            add(part_of(segment).rows, n_integers(), out.rows);
    }

   private:
    static void add(const double* part, index n, double* out) {
        for (index i = 0; i < n; ++i) out[i] += part[i];
    }
    static void add(
        const std::int64_t* part, index n, std::int64_t* out) {  // fingerprints wrap around
        for (index i = 0; i < n; ++i)
            out[i] = std::int64_t(std::uint64_t(out[i]) + std::uint64_t(part[i]));
    }
};

// The pass over some blocks: what assigns is prepared once, and Python waits once. blocks: a
// `Passed` for each of the tables; last_pass: None if bounds are not kept. OUT: floats and
// integers, (blocks, numbers) of `Packing`. Threads take whole blocks and add segments as they go;
// if blocks are few, they share the segments of each.
template <class T>
void assign_and_accumulate(std::vector<Table<T>> tables, nb::list blocks, nb::tuple assigning,
    In<double> reference, In<std::uint8_t> update, std::optional<nb::tuple> last_pass,
    int n_threads, Out<double> floats, Out<std::int64_t> integers) {
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
    const index n_floats = packing.n_floats(), n_integers = packing.n_integers(),
                n_numbers = n_floats + n_integers;
    std::optional<LastPass> last;
    std::optional<BoundedPass<T>> bounded;
    if (last_pass) {
        last.emplace(*last_pass);
        bounded.emplace(starts, *last);
    }
    const std::vector<char> prepared =
        bounded ? std::vector<char>() : prepare_all<T>(starts, n_threads);
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
    Scratch parts(
        whole ? n_threads : int(most), 8 * n_numbers);  // of each thread, or of each segment
    const auto out_of = [&](index at) {
        return packing.of(floats.data() + at * n_floats, integers.data() + at * n_integers);
    };
    const auto part_of = [&](index at) {
        auto* numbers = static_cast<double*>(parts.of(int(at)));
        return packing.of(numbers, reinterpret_cast<std::int64_t*>(numbers + n_floats));
    };
    const auto sum = [&](Passed<T>& block, index first, index last, index begin, index end,
                         int worker, Cancel cancel, const Sums& part) {
        packing.of_starts(
            part, first, last, [](auto* numbers, index n) { std::fill_n(numbers, n, 0); });
        const LastLabels known = block.last(update);
        for (index start = first; bounded && start < last; ++start)
            bounded->sum(block, known, start, begin, end, scratch.of(worker), part, cancel);
        if (!bounded)
            kernels<T>().accumulate(block.input.rows, begin, end, starts, first, last,
                prepared.data(), scratch.of(worker), known, part, cancel);
    };
    Interruption interruption(n_threads);
    // segments in their order, by one thread: the first one to where the sum goes
    const auto sum_whole = [&](index at, int worker) {
        Passed<T>& block = *passed[at];
        const index n = block.input.rows.n_rows, segments = segments_of(n, starts);
        const Sums out = out_of(at), part = part_of(worker);
        for (index segment = 0; segment < segments; ++segment) {
            const Cancel cancel = interruption.of(worker);
            sum(block, 0, r, n * segment / segments, n * (segment + 1) / segments, worker, cancel,
                segment ? part : out);
            if (segment) packing.add(part, out);
        }
    };
    const auto sum_shared = [&](index at) {
        Passed<T>& block = *passed[at];
        const index n = block.input.rows.n_rows, segments = segments_of(n, starts);
        share_tasks(r, segments, n, n_threads, interruption,
            [&](index first, index last, index segment, index begin, index end, int worker,
                Cancel cancel) {
                sum(block, first, last, begin, end, worker, cancel, part_of(segment));
            });
        packing.add_all(segments, part_of, out_of(at), n_threads);
    };
    {
        const nb::gil_scoped_release release;
        if (whole) Pool::of_this_process().run(n_blocks, n_threads, sum_whole);
        else
            for (index at = 0; at < n_blocks; ++at) sum_shared(at);
    }
    if (interruption.interrupted()) throw nb::python_error();
}

}  // namespace
}  // namespace fwk
