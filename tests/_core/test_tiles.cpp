// Sums of products in tile registers against exact sums of the same parts: products.hpp relies on the order
// in which the processor adds. Compiled for x86-64-v4 with FWK_AMX; prints what fails.
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "dispatch.hpp"
#include "products.hpp"

namespace {

using namespace fwk::FWK_ISA;
using Index = fwk::index;
enum class Values { random, spread, cancelling, lost_one_by_one, nearly_powers, tiny };
int n_checks = 0, n_failures = 0;
double worst = 0;  // of all errors, as a share of their bounds

float part_of(const std::vector<std::uint16_t>& parts, Index at) {
    const std::uint32_t bits = std::uint32_t(parts[at]) << 16;
    float x;
    __builtin_memcpy(&x, &bits, 4);
    return x;
}
std::uint16_t nearest(double x) {
    const float single = float(x);
    std::uint32_t bits;
    __builtin_memcpy(&bits, &single, 4);
    return std::uint16_t((bits + 0x8000u) >> 16);
}

// `low` parts are 2^-8 of the others, or less.
double draw(Values kind, Index place, bool factor, bool low, std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    double x = normal(random);
    if (kind == Values::spread) x = std::ldexp(x, int(random() % 61) - 30);
    if (kind == Values::cancelling) x = factor ? 1 : place % 2 ? -std::fabs(x) : std::fabs(x);
    if (kind == Values::lost_one_by_one) x = place == 0 ? 1 : factor ? 0.9 : 0x1p-24;
    if (kind == Values::nearly_powers) x = std::ldexp(1.9921875, int(random() % 4)) * (random() % 2 ? 1 : -1);
    if (kind == Values::tiny) x = std::ldexp(x, -int(random() % 90) - 30);
    return low ? std::ldexp(x, -8) : x;
}

// The parts of the number at `place` of 32 in a step, of row or cluster i of a tile; see `store_split` and
// `store_tile`.
template <int PARTS>
Index place_of_row(Index tile, Index steps, Index step, Index low, Index i, Index place) {
    return (((tile * steps + step) * PARTS + low) * 16 + i) * 32 + place;
}
template <int PARTS>
Index place_of_factor(Index tile, Index steps, Index step, Index low, Index j, Index place) {
    return (((tile * steps + step) * PARTS + low) * 16 + place / 2) * 32 + 2 * j + place % 2;
}

template <int R, int C, int PARTS>
void test_sums(Values kind, Index steps, unsigned seed) {
    std::mt19937_64 random(seed);
    const Index words = steps * PARTS * TILE_BYTES / 2;
    std::vector<std::uint16_t> rows(R * words), factors(C * words);
    std::vector<float> constants(C * TILE), sums(R * C * TILE * TILE);
    for (float& c : constants) c = float(draw(kind, 1, true, false, random));
    for (Index step = 0; step < steps; ++step)
        for (Index low = 0; low < PARTS; ++low)
            for (Index place = 0; place < 32; ++place)
                for (Index i = 0; i < TILE; ++i) {
                    const Index at = step * 32 + place;
                    for (Index tile = 0; tile < R; ++tile)
                        rows[place_of_row<PARTS>(tile, steps, step, low, i, place)] =
                            nearest(draw(kind, at, false, low, random));
                    for (Index tile = 0; tile < C; ++tile)
                        factors[place_of_factor<PARTS>(tile, steps, step, low, i, place)] =
                            nearest(draw(kind, at, true, low, random));
                }
    {
        const TileRegisters registers(true);
        Ahead nothing = {nullptr, 0};
        multiply<R, C, PARTS>(reinterpret_cast<const char*>(rows.data()),
                              reinterpret_cast<const char*>(factors.data()), steps, constants.data(), sums.data(), nothing);
    }
    const double u = UNIT_ROUNDOFF<float>;
    for (Index tile = 0; tile < R * C; ++tile)
        for (Index i = 0; i < TILE; ++i)
            for (Index j = 0; j < TILE; ++j) {
                const Index r = tile / C, c = tile % C;
                long double exact = constants[c * TILE + j], size = 0;
                for (Index step = 0; step < steps; ++step)
                    for (Index place = 0; place < 32; ++place)
                        for (const auto& [of_row, of_factor] : {std::pair(0, 0), std::pair(0, 1), std::pair(1, 0)}) {
                            if (of_row + of_factor >= PARTS) continue;
                            const long double p =
                                (long double)part_of(rows, place_of_row<PARTS>(r, steps, step, of_row, i, place)) *
                                part_of(factors, place_of_factor<PARTS>(c, steps, step, of_factor, j, place));
                            exact += p;
                            size += std::fabs(p);
                        }
                const double got = sums[(tile * TILE + i) * TILE + j], error = std::fabs(got - double(exact));
                const double products = double((PARTS == 1 ? 1 : 3) * steps);
                const double bound = 1.02 * (17 + products) * u * double(size) +
                                     1.02 * (products + 2) * u * std::fabs(constants[c * TILE + j]) +
                                     4 * double(32 * steps) * SMALLEST<float>;
                ++n_checks;
                worst = std::fmax(worst, error / bound);
                if (error <= bound || ++n_failures > 20) continue;
                std::printf("kind %d, %d x %d tiles, %td steps: %.9g is %.3g off, at most %.3g were promised\n",
                            int(kind), R, C, steps, got, error, bound);
            }
}

}  // namespace

int main() {
    if (!fwk::has_tiles()) {
        std::printf("no tile registers\n");
        return 0;
    }
    unsigned seed = 0;
    for (const Values kind : {Values::random, Values::spread, Values::cancelling, Values::lost_one_by_one,
                            Values::nearly_powers, Values::tiny})
        for (const Index steps : {1, 2, 7, 40}) {
            test_sums<1, 1, 1>(kind, steps, ++seed);
            test_sums<2, 1, 1>(kind, steps, ++seed);
            test_sums<4, 1, 1>(kind, steps, ++seed);
            test_sums<1, 2, 1>(kind, steps, ++seed);
            test_sums<2, 2, 1>(kind, steps, ++seed);
            test_sums<1, 1, 2>(kind, steps, ++seed);
            test_sums<2, 1, 2>(kind, steps, ++seed);
            test_sums<4, 1, 2>(kind, steps, ++seed);
            test_sums<1, 2, 2>(kind, steps, ++seed);
            test_sums<2, 2, 2>(kind, steps, ++seed);
        }
    std::printf("%d of %d sums are farther off than promised; the worst error is %.3g of its bound\n", n_failures,
                n_checks, worst);
    return n_failures > 0;
}
