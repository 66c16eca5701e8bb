// The pass that assigns rows and sums them, over several blocks in one call, and by bounds of row
// memory.
#pragma once
#include <nanobind/stl/vector.h>

#include <limits>
#include <memory>

#include "loop/bound_moves.hpp"
#include "module/arguments.hpp"

namespace fwk { namespace {

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
struct RowMemory {
    LabelsIn labels;
    std::optional<nb::ndarray<const float, nb::ndim<2>, nb::device::cpu>> upper, lower;
    Out<float> new_upper, new_lower;

    explicit RowMemory(const nb::tuple& given)
        : labels(nb::cast<LabelsIn>(given[0])),
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
    template <class V> static void copy(const V* from, index n, V* to) {
        if (from != to) std::copy_n(from, n, to);
    }
};

// A block of a pass, as Python hands it over: (block, labels, row memory); the last two may be
// None.
template <class T> struct PassBlock {
    Input<T> input;
    std::optional<LabelsOut> labels;
    std::optional<RowMemory> memory;
    std::vector<std::atomic<std::int64_t>> doubtful;  // (starts) rows that single precision left

    PassBlock(const Table<T>& X, const nb::tuple& given, index n_starts)
        : input(X, nb::cast<nb::tuple>(given[0])), labels(maybe<LabelsOut>(given[1])),
          doubtful(given[2].is_none() ? 0 : n_starts) {
        if (!given[2].is_none()) memory.emplace(nb::cast<nb::tuple>(given[2]));
    }
};

// The pass by bounds, start for start; its sums are those of the plain pass, to the bit, but its
// fingerprints are the changes of them.
template <class T> class BoundedPass {
   public:
    BoundedPass(const Starts& starts, const LastPass& last)
        : starts_(starts), last_(last), unit_(unit_of(last.span.data(), starts.n_features)),
          prepared_(prepare_all<T>(starts, 1)) {
        const index r = starts.n_starts, k = starts.n_clusters, m = starts.n_features;
        const index n_own = starts.shared ? 1 : k;
        if (races_in_single<T>(last.span.data(), m)) single_ = prepare_all<float>(starts, 1);
        for (index start = 0; start < r; ++start) {
            moves_.emplace_back(new BoundMoves(k, m));
            Starts one = starts;
            one.n_starts = 1;
            one.centers += start * k * m;
            one.weights += start * n_own * m;
            one.offsets += start * k;
            one.reference += start * k * m;
            ones_.push_back(one);
            const bool has_offsets =
                std::any_of(one.offsets, one.offsets + k, [](double x) { return x != 0; });
            const Decision now{
                one.centers, one.weights, n_own, has_offsets ? one.offsets : nullptr};
            Decision before{};
            if (last.centers)
                before = {last.centers->data() + start * k * m,
                    last.weights->data() + start * n_own * m, n_own, nullptr};
            bounds_.push_back(moves_[start]->from(
                last.centers ? &before : nullptr, now, nullptr, nullptr, unit_));
        }
    }

    void sum(PassBlock<T>& block, const unsigned char* update, index start, const Part& part,
        const Sums& out) const {
        const index k = starts_.n_clusters, m = starts_.n_features, at = start * k * m;
        const Rows<T>& rows = block.input.rows;
        const RowMemory& known = *block.memory;
        std::int32_t* labels = block.labels->data() + start * block.labels->stride(0);
        known.copy(start, last_.kept.data()[start], part.begin, part.end, labels);
        Bounds bounds = bounds_[start];
        bounds.upper = known.new_upper.data() + start * known.new_upper.stride(0);
        bounds.lower = known.new_lower.data() + start * known.new_lower.stride(0);
        const Sums own{out.mass + start * k, out.rows + start * k, out.sums + at, out.squares + at,
            out.observed ? out.observed + at : nullptr, nullptr, out.fingerprint + start,
            out.changed + start};
        const bool single = !single_.empty() && single_pays(block.doubtful[start], rows.n_rows);
        const char* prepared =
            single ? single_.data() + start * kernels<float>().prepared_bytes(starts_)
                   : prepared_.data() + start * kernels<T>().prepared_bytes(starts_);
        block.doubtful[start] += kernels<T>().label_by_bounds_and_sum(rows, part, ones_[start],
            prepared, single, {labels, rows.n_rows, update + start}, bounds, own);
    }

   private:
    const Starts& starts_;
    const LastPass& last_;
    double unit_;
    std::vector<char> prepared_, single_;
    std::vector<std::unique_ptr<BoundMoves>> moves_;  // their tables are what the bounds point to
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

// The pass over some blocks: what assigns is prepared once, and Python waits once.
template <class T> class BlocksPass {
   public:
    // blocks: a `PassBlock` for each of the tables; last_pass: None if bounds are not kept.
    BlocksPass(const std::vector<Table<T>>& tables, const nb::list& blocks,
        const nb::tuple& assigning, const double* reference, const unsigned char* update,
        const std::optional<nb::tuple>& last_pass, int n_threads)
        : by_(assigning, nb::cast<bool>(nb::cast<nb::tuple>(nb::cast<nb::tuple>(blocks[0])[0])[3])),
          update_(update) {
        by_.starts.reference = reference;
        for (std::size_t at = 0; at < tables.size(); ++at)
            blocks_.emplace_back(
                new PassBlock<T>(tables[at], nb::cast<nb::tuple>(blocks[at]), by_.starts.n_starts));
        if (last_pass) last_.emplace(*last_pass);
        if (last_pass) bounded_.emplace(by_.starts, *last_);
        else prepared_ = prepare_all<T>(by_.starts, n_threads);
    }

    index n_blocks() const { return index(blocks_.size()); }
    index n_starts() const { return by_.starts.n_starts; }
    index n_rows(index at) const { return blocks_[at]->input.rows.n_rows; }
    index n_segments(index at) const { return segments_of(n_rows(at), by_.starts); }
    Packing packing() const {
        const Starts& starts = by_.starts;
        return {starts.n_starts, starts.n_clusters, starts.n_features, starts.n_levels,
            blocks_[0]->input.rows.gaps};
    }
    std::size_t scratch_bytes() const {
        std::size_t most = 0;
        for (const auto& block : blocks_)
            most = std::max(most, block->input.scratch_bytes(by_.starts.n_clusters,
                                      by_.starts.power != nullptr, bounded_.has_value()));
        return most;
    }

    // The sums of starts [first, last) over the rows of a part of a block.
    void sum(index at, index first, index last, const Part& part, const Sums& out) {
        packing().of_starts(
            out, first, last, [](auto* numbers, index n) { std::fill_n(numbers, n, 0); });
        PassBlock<T>& block = *blocks_[at];
        const Rows<T>& rows = block.input.rows;
        if (bounded_)
            for (index start = first; start < last; ++start)
                bounded_->sum(block, update_, start, part, out);
        else if (block.labels)
            kernels<T>().label_and_sum_changes(rows, part, by_.starts, first, last,
                prepared_.data(), {block.labels->data(), block.labels->stride(0), update_}, out);
        else kernels<T>().label_and_sum(rows, part, by_.starts, first, last, prepared_.data(), out);
    }

   private:
    Assignment by_;
    const unsigned char* update_;
    std::vector<std::unique_ptr<PassBlock<T>>> blocks_;
    std::optional<LastPass> last_;
    std::optional<BoundedPass<T>> bounded_;
    std::vector<char> prepared_;
};

// OUT: floats and integers, (blocks, numbers) of `Packing`. Threads take whole blocks and add
// segments as they go; if blocks are few, they share the segments of each.
template <class T>
void assign_and_accumulate(std::vector<Table<T>> tables, nb::list blocks, nb::tuple assigning,
    In<double> reference, In<std::uint8_t> update, std::optional<nb::tuple> last_pass,
    int n_threads, Out<double> floats, Out<std::int64_t> integers) {
    BlocksPass<T> pass(
        tables, blocks, assigning, reference.data(), update.data(), last_pass, n_threads);
    const Packing packing = pass.packing();
    const index n_blocks = pass.n_blocks(), n_floats = packing.n_floats(),
                n_integers = packing.n_integers();
    const bool whole = n_threads == 1 || n_blocks >= 2 * n_threads;
    index most = n_threads;
    for (index at = 0; at < n_blocks && !whole; ++at) most = std::max(most, pass.n_segments(at));
    WorkerMemory scratch(n_threads, pass.scratch_bytes());
    WorkerMemory parts(int(most), 8 * (n_floats + n_integers));  // of threads, or of segments
    const auto out_of = [&](index at) {
        return packing.of(floats.data() + at * n_floats, integers.data() + at * n_integers);
    };
    const auto part_of = [&](index at) {
        auto* numbers = static_cast<double*>(parts.of(int(at)));
        return packing.of(numbers, reinterpret_cast<std::int64_t*>(numbers + n_floats));
    };
    Interruption interruption(n_threads);
    // segments in their order, by one thread: the first one to where the sum goes
    const auto sum_whole = [&](index at, int worker) {
        const index n = pass.n_rows(at), segments = pass.n_segments(at);
        const Sums out = out_of(at), part = part_of(worker);
        for (index segment = 0; segment < segments; ++segment) {
            const Part rows{n * segment / segments, n * (segment + 1) / segments,
                scratch.of(worker), interruption.of(worker)};
            pass.sum(at, 0, pass.n_starts(), rows, segment ? part : out);
            if (segment) packing.add(part, out);
        }
    };
    const auto sum_shared = [&](index at) {
        const index segments = pass.n_segments(at);
        share_tasks(pass.n_starts(), segments, pass.n_rows(at), n_threads, pass.scratch_bytes(),
            interruption, [&](const Task& task) {
                pass.sum(at, task.first, task.last, task.part, part_of(task.segment));
            });
        packing.add_all(segments, part_of, out_of(at), n_threads);
    };
    {
        const nb::gil_scoped_release release;
        if (whole) Pool::of_this_process().run(n_blocks, n_threads, sum_whole);
        else
            for (index at = 0; at < n_blocks; ++at) sum_shared(at);
    }
    interruption.raise_if_any();
}

}}  // namespace fwk
