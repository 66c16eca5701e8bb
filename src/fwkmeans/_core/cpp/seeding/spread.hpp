// k-means++ for Python.
#pragma once
#include "module/arguments.hpp"

namespace fwk { namespace {

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

// What k-means++ for one seed works in; a thread has one for all of its seeds.
class Spreading {
   public:
    Spreading(const Seeding& rows, const double* table, index n_trials)
        : rows_(rows), table_(table), n_trials_(n_trials),
          stride_(kernels<double>().seeding_rows(rows.n_rows)), closest_(stride_),
          found_(stride_ * n_trials), points_(n_trials * rows.n_features), potential_(n_trials),
          summed_(rows.n_rows), candidates_(n_trials) {}

    // cumulative: (n) shares of the weights, summed up. chosen: (K).
    void choose(std::uint32_t seed, const double* cumulative, std::int64_t* chosen, index k,
        Cancel cancel) {
        Mersenne generator(seed);
        const index n = rows_.n_rows, m = rows_.n_features;
        const double* at = std::upper_bound(cumulative, cumulative + n, uniform(generator));
        chosen[0] = std::min<std::int64_t>(at - cumulative, n - 1);
        kernels<double>().nearest_candidates(
            rows_, table_ + chosen[0] * m, 1, nullptr, closest_.data(), potential_.data());
        double potential = potential_[0];
        for (index cluster = 1; cluster < k && !cancel(); ++cluster) {
            draw_candidates(generator, potential);
            kernels<double>().nearest_candidates(rows_, points_.data(), n_trials_, closest_.data(),
                found_.data(), potential_.data());
            const index best =
                std::min_element(potential_.begin(), potential_.end()) - potential_.begin();
            potential = potential_[best];
            std::copy_n(found_.data() + best * stride_, stride_, closest_.data());
            chosen[cluster] = candidates_[best];
        }
    }

   private:
    static double uniform(Mersenne& generator) {  // as NumPy's RandomState
        const auto high = double(generator() >> 5), low = double(generator() >> 6);
        return (high * 67108864.0 + low) / 9007199254740992.0;
    }
    void draw_candidates(Mersenne& generator, double potential) {
        const index n = rows_.n_rows, m = rows_.n_features;
        double sum = 0;
        for (index i = 0; i < n; ++i) summed_[i] = sum += rows_.weights[i] * closest_[i];
        for (index c = 0; c < n_trials_; ++c) {
            const double* at = std::lower_bound(
                summed_.data(), summed_.data() + n, uniform(generator) * potential);
            candidates_[c] = std::min<index>(at - summed_.data(), n - 1);
            std::copy_n(table_ + candidates_[c] * m, m, points_.data() + c * m);
        }
    }

    const Seeding& rows_;
    const double* table_;
    index n_trials_, stride_;
    std::vector<double> closest_, found_, points_, potential_, summed_;
    std::vector<index> candidates_;
};

// k-means++ with the draws and the greedy choice of scikit-learn's function of that name, which
// starts from RandomState(seed): the same rows come out, but where rounding decides. cumulative:
// (n) shares of the weights, summed up. chosen: (R, K).
void spread(In<double> rows, In<double> weights, In<double> cumulative, In<std::uint32_t> seeds,
    index n_trials, int n_threads, Out<std::int64_t> chosen) {
    const Kernels<double>& core = kernels<double>();
    const index n = rows.shape(0), m = rows.shape(1), r = chosen.shape(0), k = chosen.shape(1);
    std::vector<double> packed(core.seeding_rows(n) * m), padded(core.seeding_rows(n), 0.0);
    core.pack_for_seeding(rows.data(), n, m, packed.data());
    std::copy(weights.data(), weights.data() + n, padded.begin());
    const Seeding seeding{packed.data(), padded.data(), n, m};
    std::vector<Spreading> memories(n_threads, Spreading(seeding, rows.data(), n_trials));
    for_each_task(r, 1, n, n_threads, 0, [&](const Task& task) {
        for (index start = task.first; start < task.last; ++start)
            memories[task.worker].choose(seeds.data()[start], cumulative.data(),
                chosen.data() + start * k, k, task.part.cancel);
    });
}

}}  // namespace fwk
