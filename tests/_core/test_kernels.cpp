// The kernels of this machine against plain loops, without Python: for machines of which only a
// cross compiler and an emulator are at hand. The tests in Python go further. Prints what fails.
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

#include "sparse/sparse_dispatch.hpp"

namespace {

using Index = fwk::index;
constexpr double INF = std::numeric_limits<double>::infinity();
int n_checks = 0, n_failures = 0;

struct Shape {
    Index n, m, k, n_categorical;
    double power;  // 0: squares, as most algorithms ask for them
    bool shared, weighted, gaps, rescale, columns_first, misaligned;
};

void check(
    bool holds, const Shape& shape, const char* type, const char* what, double got, double wanted) {
    ++n_checks;
    if (holds) return;
    if (++n_failures <= 20)
        std::printf(
            "%s, %td x %td, %td clusters, %td categorical, p %g%s%s%s%s%s%s: %s is %.17g, not "
            "%.17g\n",
            type, shape.n, shape.m, shape.k, shape.n_categorical, shape.power,
            shape.shared ? ", shared" : "", shape.weighted ? ", weighted" : "",
            shape.gaps ? ", gaps" : "", shape.rescale ? ", rescaled" : "",
            shape.columns_first ? ", columns first" : "", shape.misaligned ? ", misaligned" : "",
            what, got, wanted);
}

template <class T> struct Problem {
    static constexpr Index R = 2, LEVELS = 3;  // starts; levels of each categorical column
    const char* type = sizeof(T) == 8 ? "float64" : "float32";
    const fwk::Kernels<T>& kernels = fwk::kernels<T>();
    Shape shape;
    std::mt19937_64 random{1};
    std::vector<double> y;  // (n, m) what the rows hold
    std::vector<char> memory;
    std::vector<double> sample_weight, centers, weights, offsets, reference, shift, power, costs;
    std::vector<double> category_weights;
    std::vector<std::int32_t> levels;
    std::vector<char> prepared_memory, scratch_memory;
    fwk::Rows<T> rows;
    fwk::Starts starts;
    char* prepared;
    void* scratch;

    double uniform() { return double(random() >> 11) / 9007199254740992.0; }
    std::vector<double> draw(Index size, double low, double high) {
        std::vector<double> drawn(size);
        for (double& x : drawn) x = low + (high - low) * uniform();
        return drawn;
    }
    static char* aligned(std::vector<char>& memory, std::size_t bytes) {
        memory.resize(bytes + 64);
        return memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64;
    }

    explicit Problem(const Shape& given) : shape(given) {
        const Index n = shape.n, m = shape.m, k = shape.k, c = shape.n_categorical;
        y = draw(n * m, -3, 3);
        memory.resize(n * m * sizeof(T) + 1);
        T* data = reinterpret_cast<T*>(memory.data() + shape.misaligned);
        const Index row_stride = shape.columns_first ? 1 : m,
                    column_stride = shape.columns_first ? n : 1;
        for (Index i = 0; i < n; ++i)
            for (Index v = 0; v < m; ++v) {
                T cell = T(y[i * m + v]);
                if (shape.gaps && uniform() < 0.2) cell = std::numeric_limits<T>::quiet_NaN();
                y[i * m + v] = double(cell);
                std::memcpy(reinterpret_cast<char*>(data) +
                                (i * row_stride + v * column_stride) * Index(sizeof(T)),
                    &cell, sizeof(T));
            }
        if (shape.weighted) {
            sample_weight = draw(n, 0, 2);
            sample_weight[n / 2] = 0;
        }
        for (Index i = 0; i < n * c; ++i)
            levels.push_back(shape.gaps && uniform() < 0.2
                                 ? -1
                                 : std::int32_t(i % c * LEVELS + random() % LEVELS));
        centers = draw(R * k * m, -3, 3);
        weights = draw(R * (shape.shared ? 1 : k) * m, 0, 1);
        category_weights = draw(R * (shape.shared ? 1 : k) * c, 0, 1);
        offsets = draw(R * k, 0, 0.5);
        reference = draw(R * k * m, -1, 1);
        shift = draw(m, -1, 1);
        costs = draw(R * k * c * LEVELS, 0, 1);
        power.assign(R, shape.power);
        rows = {{c ? levels.data() : nullptr, c}, data, n, m, row_stride, column_stride,
            shape.weighted ? sample_weight.data() : nullptr, 0, shape.gaps,
            shape.gaps && !shape.rescale};
        starts = {{R, k, m},
            {c ? costs.data() : nullptr, c * LEVELS, c,
                shape.rescale ? category_weights.data() : nullptr, shape.rescale},
            shape.shared || k == 1, centers.data(), weights.data(), offsets.data(),
            reference.data(), shift.data(), shape.power ? power.data() : nullptr,
            (shape.shared || k == 1) && !shape.gaps};
        const std::size_t bytes = kernels.prepared_bytes(starts);
        prepared = aligned(prepared_memory, bytes * R);
        for (Index r = 0; r < R; ++r) kernels.prepare(starts, r, prepared + r * bytes);
        const std::size_t pass = kernels.scratch_bytes(rows, k, true, true),
                          roots = kernels.roots_bytes(n);
        scratch = aligned(scratch_memory, pass > roots ? pass : roots);
    }

    fwk::Part all() const { return {0, shape.n, scratch, never()}; }
    static fwk::Cancel never() {
        return {[](void*) { return false; }, nullptr};
    }
    double p() const { return shape.power ? shape.power : 2; }
    double s(Index i) const { return shape.weighted ? sample_weight[i] : 1; }
    const double* center(Index r, Index j) const {
        return centers.data() + (r * shape.k + j) * shape.m;
    }
    void near(double got, double wanted, double tolerance, const char* what) const {
        const bool equal =
            got == wanted || std::fabs(got - wanted) <= tolerance * (1 + std::fabs(wanted));
        check(equal, shape, type, what, got, wanted);
    }

    // The dissimilarity of row i to cluster j in start r, without the offset.
    double dissimilarity(Index r, Index i, Index j, bool rescaled) const {
        const Index m = shape.m, c = shape.n_categorical,
                    own = r * (starts.shared ? 1 : shape.k) + (starts.shared ? 0 : j);
        double d = 0, all = 0, observed = 0, extra = 0;
        Index missing = 0;
        const auto count = [&](double w, bool there) {
            all = p() == INF ? std::fmax(all, w) : all + w;
            if (there) observed = p() == INF ? std::fmax(observed, w) : observed + w;
            missing += !there;
        };
        for (Index v = 0; v < m; ++v) {
            const double w = weights[own * m + v], t = std::fabs(y[i * m + v] - center(r, j)[v]);
            count(w, t == t);
            if (t == t) d = p() == INF ? std::fmax(d, w * t) : d + w * std::pow(t, p());
        }
        for (Index v = 0; v < c; ++v) {
            const std::int32_t level = levels[i * c + v];
            count(category_weights[own * c + v], level >= 0);
            if (level >= 0) extra += costs[(r * shape.k + j) * c * LEVELS + level];
        }
        d += extra;
        if (shape.rescale)
            return !rescaled || !missing ? d : observed > 0 ? d * all / observed : INF;
        if (shape.gaps && rescaled && p() != INF)
            return d * double(m + c) / double(m + c - missing);
        return d;
    }

    void test() {
        const Index n = shape.n, m = shape.m, k = shape.k, levels_in_all = starts.n_levels;
        std::vector<std::int32_t> labels(R * n, 0), before(R * n);
        std::vector<unsigned char> update(R, 0);
        const auto pass = [&](std::vector<std::int32_t>& last, std::vector<double>& numbers) {
            std::vector<std::int64_t> counts(R * k + R, 0);
            std::vector<std::uint64_t> fingerprint(R, 0);
            numbers.assign(R * k * (1 + 3 * m + levels_in_all), 0.0);
            double* at = numbers.data();
            const fwk::Sums sums = {at, counts.data(), at + R * k, at + R * k * (1 + m),
                shape.gaps ? at + R * k * (1 + 2 * m) : nullptr,
                levels_in_all ? at + R * k * (1 + 3 * m) : nullptr, fingerprint.data(),
                counts.data() + R * k};
            kernels.label_and_sum_changes(
                rows, all(), starts, 0, R, prepared, {last.data(), n, update.data()}, sums);
        };
        // Plain sums of these labels, laid out like those of `pass`.
        const auto plain = [&](const std::vector<std::int32_t>& known) {
            std::vector<double> all_sums(R * k * (1 + 3 * m + levels_in_all), 0.0);
            for (Index r = 0; r < R; ++r)
                for (Index i = 0; i < n; ++i) {
                    const Index at = r * k + known[r * n + i];
                    all_sums[at] += s(i);
                    for (Index v = 0; v < m; ++v) {
                        const double t = y[i * m + v] - reference[at * m + v];
                        if (t != t) continue;
                        all_sums[R * k + at * m + v] += s(i) * t;
                        all_sums[R * k * (1 + m) + at * m + v] += s(i) * t * t;
                        if (shape.gaps) all_sums[R * k * (1 + 2 * m) + at * m + v] += s(i);
                    }
                    for (Index v = 0; v < shape.n_categorical; ++v) {
                        const std::int32_t level = levels[i * shape.n_categorical + v];
                        if (level >= 0)
                            all_sums[R * k * (1 + 3 * m) + at * levels_in_all + level] += s(i);
                    }
                }
            return all_sums;
        };
        std::vector<double> found, changes;
        pass(labels, found);
        std::vector<double> wanted = plain(labels);
        for (std::size_t at = 0; at < found.size(); ++at)
            near(found[at], wanted[at], 1e-11 * n, "a sum");
        for (Index i = 0; i < R * n; ++i)
            before[i] = random() % 3 ? labels[i] : std::int32_t(random() % k);
        std::vector<double> old = plain(before);
        update.assign(R, 1);
        pass(before, changes);
        for (std::size_t at = 0; at < found.size(); ++at)
            near(old[at] + changes[at], wanted[at], 1e-11 * n, "a sum of changes");
        for (Index i = 0; i < R * n; ++i) near(before[i], labels[i], 0, "a label of an update");
        for (Index r = 0; r < R; ++r)
            for (Index i = 0; i < n; ++i) {
                double best = INF;
                for (Index j = 0; j < k; ++j)
                    best =
                        std::fmin(best, dissimilarity(r, i, j, shape.rescale) + offsets[r * k + j]);
                if (best == INF) continue;
                near(dissimilarity(r, i, labels[r * n + i], shape.rescale) +
                         offsets[r * k + labels[r * n + i]],
                    best, 1e-12, "the dissimilarity of a label");
            }
        test_others(labels);
    }

    void test_others(const std::vector<std::int32_t>& labels) {
        const Index n = shape.n, m = shape.m, k = shape.k;
        std::vector<std::int32_t> assigned(n);
        double objective = 0, wanted = 0;
        kernels.label(rows, all(), starts, prepared, assigned.data());
        objective = kernels.measure(rows, all(), starts, assigned.data());
        for (Index i = 0; i < n; ++i) {
            near(assigned[i], labels[i], 0, "a label of assign");
            const double d = dissimilarity(0, i, labels[i], false) + offsets[labels[i]];
            wanted = p() != INF ? wanted + s(i) * d : s(i) > 0 ? std::fmax(wanted, d) : wanted;
        }
        near(objective, wanted, 1e-11, "the objective");

        std::vector<unsigned char> eligible(R * k, 1);
        eligible[0] = k == 1;
        double distance[R] = {};
        std::int64_t row[R] = {-1, -1};
        kernels.farthest(rows, all(), starts, 0, R, prepared, {eligible.data(), distance, row});
        for (Index r = 0; r < R; ++r) {
            double largest = 0;
            for (Index i = 0; i < n; ++i)
                if (s(i) > 0 && eligible[r * k + labels[r * n + i]])
                    largest =
                        std::fmax(largest, dissimilarity(r, i, labels[r * n + i], !shape.rescale));
            near(distance[r], largest, 1e-11, "the farthest row's dissimilarity");
        }

        std::vector<T> roots(n * k);
        kernels.distances(rows, all(), starts, roots.data());
        for (Index i = 0; i < n; ++i) {
            bool known = false;
            for (Index j = 0; j < k; ++j) known |= dissimilarity(0, i, j, true) < INF;
            for (Index j = 0; known && j < k; ++j) {
                const double d = dissimilarity(0, i, j, true);
                near(double(roots[i * k + j]), p() == INF ? d : std::pow(d, 1 / p()),
                    sizeof(T) == 8 ? 1e-12 : 1e-6, "a distance");
            }
        }

        std::vector<double> numbers(1 + 5 * m, 0.0);
        std::vector<std::int64_t> counts(1 + 2 * m, 0);
        double* at = numbers.data() + 1;
        for (Index v = 0; v < m; ++v) at[2 * m + v] = INF, at[3 * m + v] = -INF;
        kernels.describe(rows, all(), reference.data(),
            {numbers.data(), counts.data(), at, at + m, at + 2 * m, at + 3 * m, at + 4 * m,
                counts.data() + 1, counts.data() + 1 + m});
        for (Index v = 0; v < m; ++v) {
            double sum = 0, square = 0, low = INF, high = -INF, observed = 0, missing = 0;
            for (Index i = 0; i < n; ++i) {
                const double x = y[i * m + v], t = x - reference[v];
                missing += x != x;
                if (x != x || !(s(i) > 0)) continue;
                sum += s(i) * t, square += s(i) * t * t, observed += s(i);
                low = std::fmin(low, x), high = std::fmax(high, x);
            }
            near(at[v], sum, 1e-11 * n, "a sum of a feature");
            near(at[m + v], square, 1e-11 * n, "a sum of squares of a feature");
            near(at[2 * m + v], low, 0, "a minimum");
            near(at[3 * m + v], high, 0, "a maximum");
            near(at[4 * m + v], observed, 1e-11, "the mass of a feature");
            near(double(counts[1 + m + v]), missing, 0, "the missing cells of a feature");
        }
        if (shape.power) test_points(labels);
    }

    // Derivatives, sums of powers and the centers that minimize them.
    void test_points(const std::vector<std::int32_t>& labels) {
        const Index n = shape.n, m = shape.m, k = shape.k, size = R * k * m;
        const fwk::Points points = {
            {R, k, m}, centers.data(), power.data(), labels.data(), n, false};
        const auto sum_of_powers = [&](Index at, double c) {
            const Index r = at / (k * m), j = at / m % k, v = at % m;
            double sum = 0;
            for (Index i = 0; i < n; ++i) {
                const double t = std::fabs(y[i * m + v] - c);
                if (labels[r * n + i] != j || t != t || !(s(i) > 0)) continue;
                sum = p() == INF ? std::fmax(sum, t) : sum + s(i) * std::pow(t, p());
            }
            return sum;
        };
        std::vector<double> out(size), slopes(11 * size), roots(size);
        kernels.powers(rows, all(), points, 0, R, out.data());
        for (Index at = 0; at < size; ++at)
            near(out[at], sum_of_powers(at, centers[at]), 1e-11, "a sum of powers");
        if (p() == INF) return;
        double* first = slopes.data();
        kernels.slopes(rows, all(), points, 0, R, fwk::Slopes::of(first, size));
        for (Index at = 0; at < size; ++at) {
            const Index r = at / (k * m), j = at / m % k, v = at % m;
            double slope = 0, low = INF, high = -INF;
            for (Index i = 0; i < n; ++i) {
                const double t = centers[at] - y[i * m + v];
                if (labels[r * n + i] != j || t != t || !(s(i) > 0)) continue;
                slope += s(i) * std::copysign(std::pow(std::fabs(t), p() - 1), t);
                low = std::fmin(low, y[i * m + v]), high = std::fmax(high, y[i * m + v]);
            }
            near(slopes[at], slope, 1e-10, "a slope");
            near(slopes[9 * size + at], low, 0, "a smallest value");
            near(slopes[10 * size + at], high, 0, "a largest value");
        }
        if (p() == 1 || p() == 2) return;
        kernels.roots(rows, all(), points, 0, R * k, roots.data());
        for (Index at = 0; at < size; ++at)
            for (const double step : {-1e-3, -1e-6, 1e-6, 1e-3}) {
                const double here = sum_of_powers(at, roots[at]),
                             beside = sum_of_powers(at, roots[at] + step);
                check(here <= beside * (1 + 1e-12), shape, type, "the sum of powers at a center",
                    here, beside);
            }
    }
};

// The kernels of sparse rows against the same loops; buffers are as large as they say, to the byte.
template <class T> void test_sparse(const Shape& shape) {
    constexpr double exact = 1e-9;
    const char* type = sizeof(T) == 8 ? "sparse float64" : "sparse float32";
    const fwk::SparseKernels<T>& kernels = fwk::sparse_kernels<T>();
    const Index n = shape.n, m = shape.m, k = shape.k;
    std::mt19937_64 random{2};
    const auto uniform = [&] { return double(random() >> 11) / 9007199254740992.0; };
    const auto draw = [&](Index size) {
        std::vector<double> drawn(size);
        for (double& x : drawn) x = uniform();
        return drawn;
    };
    std::vector<double> y(n * m, 0.0), s = draw(n);
    std::vector<T> values;
    std::vector<std::int32_t> columns;
    std::vector<std::int64_t> begins{0};
    for (Index i = 0; i < n; ++i) {
        for (Index v = 0; v < m; ++v) {
            if (uniform() > 0.3 || i % 9 == 8) continue;  // some rows are empty
            values.push_back(
                shape.gaps && uniform() < 0.2 ? std::numeric_limits<T>::quiet_NaN() : T(uniform()));
            columns.push_back(std::int32_t(v));
            y[i * m + v] = double(values.back());
        }
        begins.push_back(std::int64_t(values.size()));
    }
    if (!shape.weighted) s.assign(n, 1.0);
    const std::vector<double> centers = draw(k * m), offsets = draw(k), shift(m);
    const std::vector<double> weights = draw((shape.shared ? 1 : k) * m);
    const fwk::SparseRows<T> rows{values.data(), columns.data(), begins.data(), n, m,
        shape.weighted ? s.data() : nullptr, 0, shape.gaps, false};
    const fwk::Starts starts{{1, k, m}, {}, shape.shared, centers.data(), weights.data(),
        offsets.data(), centers.data(), shift.data()};
    const fwk::Cancel cancel{[](void*) { return false; }, nullptr};
    std::vector<double> prepared(kernels.prepared_bytes(starts) / 8);
    for (Index task = 0; task < kernels.prepare_tasks(starts); ++task)
        kernels.prepare(starts, 0, task, prepared.data());
    std::vector<double> scratch(kernels.assign_bytes(k, m) / 8), own(n);
    std::vector<std::int32_t> labels(n);
    fwk::Part all{0, n, scratch.data(), cancel};
    kernels.assign(rows, all, starts, 0, prepared.data(), false, labels.data(), own.data());
    const auto d = [&](Index i, Index j) {
        double sum = 0;
        for (Index v = 0; v < m; ++v) {
            const double t = y[i * m + v] - centers[j * m + v];
            if (t == t) sum += weights[(shape.shared ? 0 : j * m) + v] * t * t;
        }
        return sum;
    };
    std::vector<T> distances(n * k);
    kernels.distances(rows, all, starts, prepared.data(), distances.data());
    std::vector<std::vector<std::int64_t>> listed(k);
    for (Index i = 0; i < n; ++i) {
        double best = INF;
        for (Index j = 0; j < k; ++j) {
            const double cost = d(i, j) + offsets[j], root = std::sqrt(d(i, j));
            best = cost < best ? cost : best;
            check(std::abs(distances[i * k + j] - root) <= (sizeof(T) == 8 ? 1e-9 : 1e-6), shape,
                type, "a distance", distances[i * k + j], root);
        }
        const double cost = d(i, labels[i]) + offsets[labels[i]];
        check(cost <= best * (1 + 1e-12), shape, type, "the cost of a label", cost, best);
        check(std::abs(own[i] - d(i, labels[i])) <= exact * (1 + own[i]), shape, type,
            "the own dissimilarity", own[i], d(i, labels[i]));
        listed[labels[i]].push_back(i);
    }
    scratch.resize(kernels.sums_bytes(m) / 8);
    for (Index j = 0; j < k; ++j) {
        std::vector<double> mean(centers.begin() + j * m, centers.begin() + (j + 1) * m), sums(m),
            squares(m), observed(m);
        double mass = 0;
        std::int64_t n_rows = 0;
        all.scratch = scratch.data();
        kernels.accumulate(rows, all, listed[j].data(), Index(listed[j].size()), false, mean.data(),
            {&mass, &n_rows, sums.data(), squares.data(), shape.gaps ? observed.data() : nullptr});
        check(n_rows == std::int64_t(listed[j].size()), shape, type, "the number of rows",
            double(n_rows), double(listed[j].size()));
        for (Index v = 0; v < m; ++v) {
            double first = 0, second = 0;
            for (const std::int64_t i : listed[j]) {
                const double t = y[i * m + v] - mean[v];
                if (t == t) first += s[i] * t, second += s[i] * t * t;
            }
            check(std::abs(sums[v] - first) <= exact, shape, type, "a sum", sums[v], first);
            check(std::abs(squares[v] - second) <= exact * (1 + second), shape, type,
                "a sum of squares", squares[v], second);
        }
    }
}

// Every bit that x86-64-v3 and v4 promise the compiler is asked for.
void test_levels() {
    const auto level = [](fwk::Processor found, double wanted) {
        check(fwk::x86_level(found) == wanted, {}, "processor", "its level", fwk::x86_level(found),
            wanted);
    };
    const fwk::Processor v4 = {0x38d83201, 0xd0030128, 0x21, 0xe6};
    level(v4, 2);
    for (int bit = 0; bit < 32; ++bit) {
        const std::uint32_t one = std::uint32_t(1) << bit;
        const bool wide = one & 0xd0030000, saved = one & 0xe0;
        level({v4.leaf1_ecx & ~one, v4.leaf7_ebx, v4.extended1_ecx, v4.saved_registers},
            v4.leaf1_ecx & one ? 0 : 2);
        level({v4.leaf1_ecx, v4.leaf7_ebx & ~one, v4.extended1_ecx, v4.saved_registers},
            v4.leaf7_ebx & one ? wide : 2);
        level({v4.leaf1_ecx, v4.leaf7_ebx, v4.extended1_ecx & ~one, v4.saved_registers},
            v4.extended1_ecx & one ? 0 : 2);
        level({v4.leaf1_ecx, v4.leaf7_ebx, v4.extended1_ecx, v4.saved_registers & ~one},
            v4.saved_registers & one ? saved : 2);
    }
}

}  // namespace

int main() {
    test_levels();
    // the last has rows for several blocks
    const Index sizes[][3] = {{1, 1, 1}, {5, 1, 2}, {40, 3, 2}, {70, 2, 5}, {90, 17, 12},
        {60, 40, 13}, {120, 9, 31}, {300, 120, 3}};
    int at = 0;
    for (const auto& size : sizes)
        for (const double power : {0.0, 1.0, 1.7, 2.0, 3.4, INF})
            for (const bool shared : {false, true})
                for (const Index n_categorical : {0, 3})
                    for (const bool gaps : {false, true}) {
                        if (++at % 5 && size[0] == 300) continue;
                        const Shape shape = {size[0], size[1], size[2], n_categorical, power,
                            shared, at % 3 == 0, gaps, gaps && at % 4 < 2, at % 7 == 0,
                            at % 11 == 0};
                        Problem<double>(shape).test();
                        Problem<float>(shape).test();
                        if (power != 0 || n_categorical) continue;
                        test_sparse<double>(shape);
                        test_sparse<float>(shape);
                    }
    std::printf(
        "%s: %d checks, %d failures\n", fwk::name_of_instruction_set(), n_checks, n_failures);
    return n_failures != 0;
}
