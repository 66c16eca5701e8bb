// What Python calls of the kernels; see tasks.hpp and accumulation.hpp. The end includes sparse
// rows.
#include <numeric>

#include "accumulation.hpp"
#include "summaries.hpp"

namespace fwk {
namespace {

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
    Scratch scratch(
        n_threads, kernels<T>().scratch_bytes(input.rows, starts.n_clusters, starts.power));
    for_each_task(r, segments, input.rows.n_rows, n_threads,
        [&](index first, index last, index segment, index begin, index end, int worker,
            Cancel cancel) {
            const Farthest part{
                eligible.data(), part_distance.data() + segment * r, part_row.data() + segment * r};
            kernels<T>().farthest(input.rows, begin, end, starts, first, last, prepared.data(),
                scratch.of(worker), part, cancel);
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

// Calls assign(begin, end, labels, worker, cancel) for the rows of each segment, where labels say
// what is wanted. Threads share a single segment in pieces if that is worth it; distances are then
// summed in the order of rows. Returns the sums of segments.
template <class T, class Assign>
std::vector<double> assign_parts(const Rows<T>& rows, const Starts& starts, int n_threads,
    Labels wanted, bool summed, Assign assign) {
    const index n = rows.n_rows, segments = segments_of(n, starts);
    std::vector<double> objective(segments, 0.0), distances;
    const index pieces = segments > 1 ? 1 : std::min<index>(2 * n_threads, n / PIECE);
    const index work = work_of(n, starts.n_features, starts.n_clusters, starts.shared);
    const auto of_part = [&](index begin, double* sum) {
        Labels part = wanted;
        part.labels += begin;
        part.objective = sum;
        if (!distances.empty()) part.distances = distances.data() + begin;
        return part;
    };
    if (n_threads > 1 && pieces > 1 && work >= SHAREABLE) {
        distances.resize(summed ? n : 0);
        for_each_task(1, pieces, (n + PIECE - 1) / PIECE, n_threads,
            [&](index, index, index, index first, index last, int worker, Cancel cancel) {
                const index begin = first * PIECE, end = std::min(n, last * PIECE);
                assign(begin, end, of_part(begin, nullptr), worker, cancel);
            });
        wanted.known = true;
        if (!summed) return objective;
    }
    for_each_task(1, segments, n, n_threads,
        [&](index, index, index segment, index begin, index end, int worker, Cancel cancel) {
            assign(
                begin, end, of_part(begin, summed ? &objective[segment] : nullptr), worker, cancel);
        });
    return objective;
}

// The sum of the dissimilarities of rows to their own centers: of segments, in their order.
template <class T>
double sum_rows(const Rows<T>& rows, const Starts& starts, int n_threads, std::int32_t* labels) {
    Scratch scratch(n_threads, kernels<T>().scratch_bytes(rows, starts.n_clusters, false));
    const std::vector<double> parts = assign_parts(rows, starts, n_threads, {labels, nullptr, true},
        true, [&](index begin, index end, const Labels& out, int worker, Cancel cancel) {
            kernels<T>().assign(
                rows, begin, end, starts, nullptr, nullptr, scratch.of(worker), out, cancel);
        });
    return std::accumulate(parts.begin(), parts.end(), 0.0);
}

// Writes the labels of the only start, (n). Returns the objective; if it is not wanted, zero, or
// NaN if some cell may not be a finite number.
template <class T>
double assign_rows(
    Rows<T> rows, const Starts& starts, int n_threads, bool summed, std::int32_t* labels) {
    // double rows race in float, where squares decide and fit into it
    double far = 0;
    for (index j = 0, i = 0; j < starts.n_clusters; ++j)
        for (index v = 0; v < starts.n_features; ++v, ++i)
            far = std::max(far, std::fabs(starts.centers[i] - starts.shift[v]));
    const bool can_race = !starts.power && !starts.costs && !starts.rescale &&
                          starts.n_clusters > 1 && fits_single(far);
    if (rows.single && !can_race) rows.packed = nullptr;
    const bool only_single = rows.packed && rows.single;
    const std::vector<char> prepared =
        only_single ? std::vector<char>() : prepare_all<T>(starts, 1);
    const bool races = can_race && sizeof(T) == 8;
    const std::vector<char> of_floats = races ? prepare_all<float>(starts, 1) : std::vector<char>();
    const char* single = races ? of_floats.data() : nullptr;
    std::atomic<bool> odd{false};
    Scratch scratch(
        n_threads, races ? kernels<T>().bounded_bytes(rows, starts.n_clusters)
                         : kernels<T>().scratch_bytes(rows, starts.n_clusters, starts.power));
    const auto assign = [&](index begin, index end, Labels out, int worker, Cancel cancel) {
        bool found = false;
        if (!summed) out.odd = &found;
        kernels<T>().assign(
            rows, begin, end, starts, prepared.data(), single, scratch.of(worker), out, cancel);
        if (found) odd = true;
    };
    const std::vector<double> objective =
        assign_parts(rows, starts, n_threads, {labels, nullptr}, summed, assign);
    const bool largest = starts.power && starts.power[0] > 1e300;
    double total = 0;
    for (const double part : objective) total = largest ? std::max(total, part) : total + part;
    return odd ? std::nan("") : total;
}

// The same for Python.
template <class T>
double assign(
    Table<T> X, nb::tuple block, nb::tuple assigning, Out<std::int32_t> labels, bool summed) {
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
    Scratch scratch(
        input.n_threads, kernels<T>().scratch_bytes(input.rows, starts.n_clusters, false));
    for_each_task(1, segments_of(input.rows.n_rows, starts), input.rows.n_rows, input.n_threads,
        [&](index, index, index, index begin, index end, int worker, Cancel cancel) {
            kernels<T>().distances(input.rows, begin, end, starts, scratch.of(worker),
                out.data() + begin * starts.n_clusters, cancel);
        });
}

Points points_of(const In<double>& points, const In<double>& power, const Known& labels) {
    return {index(points.shape(0)), index(points.shape(1)), index(points.shape(2)), points.data(),
        power.data(), labels.data(), labels.stride(0)};
}

// out: slope, curvature, third, third size, equal, below, below mass, above, above mass, low, high;
// each (R, K, M).
template <class T>
void slopes(Table<T> X, nb::tuple block, In<double> points, In<double> power, Known labels,
    bool rough, Out<double> out) {
    const Input<T> input(X, block);
    Points about = points_of(points, power, labels);
    about.rough = rough;
    const index r = about.n_starts, size = r * about.n_clusters * about.n_features, fields = 11;
    const index segments = n_segments(input.rows.n_rows, about.n_clusters, about.n_features);
    std::vector<double> parts(segments * fields * size);
    Scratch scratch(
        input.n_threads, kernels<T>().scratch_bytes(input.rows, about.n_clusters, false));
    const auto of = [size](double* d) -> Slopes {
        return {d, d + size, d + 2 * size, d + 3 * size, d + 4 * size, d + 5 * size, d + 6 * size,
            d + 7 * size, d + 8 * size, d + 9 * size, d + 10 * size};
    };
    for_each_task(r, segments, input.rows.n_rows, input.n_threads,
        [&](index first, index last, index segment, index begin, index end, int worker,
            Cancel cancel) {
            kernels<T>().slopes(input.rows, begin, end, about, first, last, scratch.of(worker),
                of(parts.data() + segment * fields * size), cancel);
        });
    const Slopes all = of(out.data());
    std::copy(parts.begin(), parts.begin() + fields * size, out.data());
    const auto nearest = [](double& value, double& mass, double other, double other_mass,
                             bool nearer) {
        if (nearer) value = other, mass = other_mass;
        else if (value == other) mass += other_mass;
    };
    for (index segment = 1; segment < segments; ++segment) {
        const Slopes part = of(parts.data() + segment * fields * size);
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
}

template <class T>
void powers(Table<T> X, nb::tuple block, In<double> points, In<double> power, Known labels,
    Out<double> out) {
    const Input<T> input(X, block);
    const Points about = points_of(points, power, labels);
    const index r = about.n_starts, each = about.n_clusters * about.n_features, size = r * each;
    const index segments = n_segments(input.rows.n_rows, about.n_clusters, about.n_features);
    std::vector<double> parts(segments * size);
    Scratch scratch(
        input.n_threads, kernels<T>().scratch_bytes(input.rows, about.n_clusters, false));
    for_each_task(r, segments, input.rows.n_rows, input.n_threads,
        [&](index first, index last, index segment, index begin, index end, int worker,
            Cancel cancel) {
            kernels<T>().powers(input.rows, begin, end, about, first, last, scratch.of(worker),
                parts.data() + segment * size, cancel);
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
            kernels<T>().roots(
                input.rows, about, first, last, scratch.of(worker), out.data(), cancel);
        });
}

// numbers OUT: sums, squares, minimum, maximum, observed; counts OUT: nonfinite, missing; each (M).
// Returns the mass and the number of the rows with weight.
template <class T>
std::pair<double, std::int64_t> describe_rows(
    const Input<T>& input, const double* reference, double* numbers_out, std::int64_t* counts_out) {
    const index m = input.rows.n_features, segments = n_segments(input.rows.n_rows, 1, m);
    std::vector<double> numbers(segments * (5 * m + 1), 0.0);
    std::vector<std::int64_t> counts(segments * (2 * m + 1), 0);
    const auto of_segment = [&](index segment) -> Moments {
        double* d = numbers.data() + segment * (5 * m + 1);
        std::int64_t* c = counts.data() + segment * (2 * m + 1);
        return {
            d, c, d + 1, d + 1 + m, d + 1 + 2 * m, d + 1 + 3 * m, d + 1 + 4 * m, c + 1, c + 1 + m};
    };
    Scratch scratch(input.n_threads, kernels<T>().scratch_bytes(input.rows, 1, false));
    for_each_task(1, segments, input.rows.n_rows, input.n_threads,
        [&](index, index, index segment, index begin, index end, int worker, Cancel cancel) {
            kernels<T>().describe(
                input.rows, begin, end, reference, scratch.of(worker), of_segment(segment), cancel);
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

// numbers OUT: mean, scatter, minimum, maximum, span, magnitude, equal weights, (7, M); varying
// OUT: (M). Returns the number of features that vary, lowest and highest of span and of scatter,
// and the sum of the scatter; -1 alone if squares cancel.
nb::tuple summarize_rows(const Summed& moments, const double* reference, index m, bool anyway,
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
    const Summed moments{
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
    const Summed summed{moments, moments + m, moments + 2 * m, moments + 3 * m, moments + 4 * m};
    const std::int64_t odd = std::accumulate(counts.data(), counts.data() + m, std::int64_t(0));
    return nb::make_tuple(mass, rows, odd,
        summarize_rows(summed, reference, m, false, moments + 5 * m, varying.data()));
}

// A number of each of r starts: the same for all, or an array.
std::vector<double> of_starts(const nb::handle& given, index r) {
    if (PyFloat_CheckExact(given.ptr())) return std::vector<double>(r, nb::cast<double>(given));
    const auto numbers = nb::cast<In<double>>(given);
    return {numbers.data(), numbers.data() + r};
}

// rule: (kind, smoothing, shared, monotone, memoryless, option, two parameters), see rules.hpp,
// which may have an array of R numbers each, and so may guards; partition: (order, firsts, group of
// each feature), None without groups; table: (varying, scatter, shift, magnitude, span, initial
// weights), each (M), and those of groups. centers, weights, constants and groups are IN and OUT;
// flags: (3, R) converged, has_empty, given_up. Returns the history, (R, most iterations), NaN
// where a start has ended. With labels, (n) OUT, and masses, (K) OUT, also the start with the
// lowest objective (-1 if there is none), by whose centers, in the type of the rows, rows are
// labeled, the sum of their dissimilarities, and the objective with that.
template <class T>
nb::tuple alternate(Table<T> X, nb::tuple block, nb::tuple rule, nb::object guards,
    std::optional<nb::tuple> partition, nb::tuple table, index max_iter, double tol, bool updates,
    Out<double> centers, Out<double> weights, Out<double> constants, Out<double> groups,
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
    const std::vector<double> parameter = of_starts(rule[6], r), second = of_starts(rule[7], r),
                              guard = of_starts(guards, r);
    const Problem<T> problem{input.rows, r, k,
        n_segments(input.rows.n_rows, k, input.rows.n_features),
        {RuleKind(nb::cast<int>(rule[0])), Smoothing(nb::cast<int>(rule[1])),
            nb::cast<bool>(rule[2]), nb::cast<bool>(rule[3]), nb::cast<bool>(rule[4]),
            nb::cast<bool>(rule[5]), parameter.data(), second.data(), guard.data(), varying.data(),
            numbers[0].data(), index(numbers[5].size()), group(0), group(1), group(2)},
        numbers[1].data(), numbers[2].data(), numbers[3].data(), numbers[4].data(),
        numbers[5].data(), max_iter, tol, updates, input.n_threads};
    Interruption interruption(input.n_threads);
    const typename Passes<T>::CancelOf cancel_of = [&](int worker) {
        return interruption.of(worker);
    };
    std::optional<Laid<T>> laid;
    std::vector<Ended> ended;
    Loops<T> loops;
    std::optional<Final> end;
    index best = -1;
    bool labeled = false;
    {
        const nb::gil_scoped_release release;
        laid.emplace(problem);
        laid->pack();
        ended = run_starts(laid->problem, cancel_of, centers.data(), weights.data(),
            constants.data(), groups.data(), loops);
        if (labels) best = first_lowest(ended);
        if (best >= 0) {
            const index size = k * input.rows.n_features;
            end.emplace(problem, best, centers.data() + best * size, weights.data() + best * size,
                constants.data()[best], groups.data() + best * k * problem.rule.n_groups);
        }
        label_threads = int(std::min<index>(label_threads, n_useful(problem.work())));
        for (std::size_t i = 0; best >= 0 && !labeled && i < loops.size(); ++i)
            labeled = loops[i]->label(best, *end, labels->data());
        loops.clear();
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
    double total = 0, inertia = 0;
    if (best >= 0) {
        const Rows<T>& rows = laid->problem.rows;
        total = labeled ? sum_rows(rows, end->starts, label_threads, labels->data())
                        : assign_rows(rows, end->starts, label_threads, true, labels->data());
        total *= end->weighting.scale;
        inertia = end->rule.with_terms(total, end->weighting);
        std::fill_n(mass->data(), k, 0.0);
        add_mass_of_rows(
            labels->data(), input.rows.sample_weight, input.rows.n_rows, k, mass->data());
    }
    const nb::ndarray<nb::numpy, double, nb::ndim<2>> kept(
        history, {std::size_t(r), longest}, owner);
    return nb::make_tuple(kept, best, total, inertia);
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

// The numbers of std::mt19937, made one by one: a start needs a few of the 624 that are made at
// once there.
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

// k-means++ with the draws and the greedy choice of scikit-learn's function of that name, which
// starts from RandomState(seed): the same rows come out, but where rounding decides. cumulative:
// (n) shares of the weights, summed up. chosen: (R, K).
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
    for_each_task(r, 1, n, n_threads,
        [&](index first, index last, index, index, index, int worker, Cancel cancel) {
            Memory& own = memories[worker];
            for (index start = first; start < last; ++start) {
                Mersenne generator(seeds.data()[start]);
                const auto uniform = [&] {  // as NumPy's RandomState
                    const auto high = double(generator() >> 5), low = double(generator() >> 6);
                    return (high * 67108864.0 + low) / 9007199254740992.0;
                };
                std::int64_t* rows_chosen = chosen.data() + start * k;
                rows_chosen[0] =
                    std::upper_bound(cumulative.data(), cumulative.data() + n, uniform()) -
                    cumulative.data();
                rows_chosen[0] = std::min<std::int64_t>(rows_chosen[0], n - 1);
                core.nearest_candidates(seeding, rows.data() + rows_chosen[0] * m, 1, nullptr,
                    own.closest.data(), own.potential.data());
                double potential = own.potential[0];
                for (index cluster = 1; cluster < k && !cancel.poll(cancel.state); ++cluster) {
                    double sum = 0;
                    for (index i = 0; i < n; ++i) own.summed[i] = sum += padded[i] * own.closest[i];
                    for (index c = 0; c < n_trials; ++c) {
                        const double* at = std::lower_bound(
                            own.summed.data(), own.summed.data() + n, uniform() * potential);
                        own.candidates[c] = std::min<index>(at - own.summed.data(), n - 1);
                        std::copy_n(
                            rows.data() + own.candidates[c] * m, m, own.points.data() + c * m);
                    }
                    core.nearest_candidates(seeding, own.points.data(), n_trials,
                        own.closest.data(), own.found.data(), own.potential.data());
                    const index best =
                        std::min_element(own.potential.begin(), own.potential.end()) -
                        own.potential.begin();
                    potential = own.potential[best];
                    std::copy_n(own.found.data() + best * stride, stride, own.closest.data());
                    rows_chosen[cluster] = own.candidates[best];
                }
            }
        });
}

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

// x and out: (R, K, M); unit: (R).
void to_unit(In<double> x, Out<double> out, Out<double> unit) {
    rows_to_unit(
        x.data(), index(unit.size()), index(x.shape(1) * x.shape(2)), out.data(), unit.data());
}

// Copies numbers; false if one is not finite.
template <class T>
bool copy_finite(In<T> x, Out<double> out) {
    constexpr index SUMS = 8;  // side by side: one would wait for itself
    const index n = index(x.size());
    double nothing[SUMS] = {};  // NaN from the first number on that is not finite
    for (index i = 0; i < n; i += SUMS)
        for (index j = 0; j < std::min(SUMS, n - i); ++j) {
            const double number = double(x.data()[i + j]);
            out.data()[i + j] = number;
            nothing[j] += number * 0.0;
        }
    return std::accumulate(nothing, nothing + SUMS, 0.0) == 0;
}

// x: (..., M); out: (...).
void sum_x_log_x(In<double> x, Out<double> out) {
    sums_x_log_x(x.data(), index(out.size()), index(x.shape(x.ndim() - 1)), out.data());
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

template <class T>
void define(nb::module_& m) {
    m.def("alternate", &alternate<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(),
        nb::arg());
    m.def("assign_and_accumulate", &assign_and_accumulate<T>, nb::arg().noconvert(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
    m.def("farthest", &farthest<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg());
    m.def("assign", &assign<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg());
    m.def("finite", &finite<T>, nb::arg().noconvert(), nb::arg());
    m.def("first_row", &first_row<T>, nb::arg().noconvert(), nb::arg(), nb::arg());
    m.def("distances", &distances<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg());
    m.def("observed", &observed<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg());
    m.def("slopes", &slopes<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg());
    m.def("powers", &powers<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg());
    m.def("roots", &roots<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg());
    m.def("describe_alone", &describe_alone<T>, nb::arg().noconvert(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg());
    m.def("copy_finite", &copy_finite<T>, nb::arg().noconvert(), nb::arg());
    m.def("describe", &describe<T>, nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg());
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
    m.def("largest_share", &fwk::largest_share);
    m.def("add_masses", &fwk::add_masses, nb::arg(), nb::arg().none(), nb::arg());
    m.def("n_segments", &fwk::n_segments);
    m.def("useful_threads", &fwk::useful_threads);
    m.attr("SEGMENT") = fwk::SEGMENT;
    m.def("instruction_set", fwk::name_of_instruction_set);
    m.def("x86_level", [](std::uint32_t leaf1_ecx, std::uint32_t leaf7_ebx,
                           std::uint32_t extended1_ecx, std::uint32_t saved_registers) {
        return fwk::x86_level({leaf1_ecx, leaf7_ebx, extended1_ecx, saved_registers});
    });
}
