// Powers of the kernels against those of the standard library in long double. Compiled for each
// instruction set; prints what fails.
#include <cmath>
#include <cstdio>
#include <random>

#include "common/dispatch.hpp"
#include "common/powers.hpp"

namespace {

using namespace fwk::FWK_ISA;
int n_checks = 0, n_failures = 0;

void check(bool fine, const char* what, double x, double p, double found) {
    ++n_checks;
    if (fine) return;
    if (++n_failures <= 20)
        std::printf("FAILED: %s of %.17g to the power of %.17g: %.17g\n", what, x, p, found);
}

#if defined(__FMA__) || defined(__aarch64__)
constexpr double UNFUSED = 0;
#else
constexpr double UNFUSED = 1;  // products of exponents are rounded
#endif

long double power(double x, double p) { return std::pow((long double)(x), (long double)(p)); }

// Sizes from 2^-most to 2^most, ends of the ranges that the approximations are made for among them.
double draw(int most, std::mt19937_64& random) {
    const int e = int(random() % unsigned(2 * most + 1)) - most;
    const double within[] = {1, 1 + 0x1p-23, std::sqrt(0.5), std::sqrt(2), 1.5, 0.75, 2 - 0x1p-23,
        1 + double(random() % 16) / 16};
    if (random() % 4 == 0) return std::ldexp(within[random() % 8], e);
    return std::ldexp(std::uniform_real_distribution<double>(1, 2)(random), e);
}

template <int L> void test_double(double p, std::mt19937_64& random) {
    for (int at = 0; at < 2000; ++at) {
        Vector<double, L> x;
        for (int j = 0; j < L; ++j) x[j] = draw(int(900 / (1 + std::fabs(p))), random);
        const Vector<double, L> y = raise<L>(x, p);
        for (int j = 0; j < L; ++j) {
            const long double exact = power(x[j], p);
            const double share =
                2.5e-16 * (3 + std::fabs(p) + UNFUSED * std::fabs(p * std::log2(x[j])));
            check(std::fabs(y[j] - exact) <= share * exact, "a power", x[j], p, y[j]);
            Vector<double, L> alone = {};
            alone[j] = x[j];
            check(raise<L>(alone, p)[j] == y[j], "a lane", x[j], p, y[j]);
        }
    }
    for (const double x : {0.0, 4.9e-324, 1e-310}) {
        const double y = raise<L>(Vector<double, L>{} + x, p)[0];
        check(x > 0 && p >= 1 && p <= 4 ? y <= x : y == 0, "what has no logarithm", x, p, y);
    }
    if (p <= 1) return;
    check(raise<L>(Vector<double, L>{} + 1e308, p)[0] == INFINITY, "what overflows", 1e308, p, 0);
    check(raise<L>(Vector<double, L>{} + 1e-308, p)[0] <= 1e-308, "what vanishes", 1e-308, p, 0);
}

template <int L> void test_single(double p, std::mt19937_64& random) {
    for (int at = 0; at < 4000; ++at) {
        Vector<float, L> x;
        for (int j = 0; j < L; ++j)
            x[j] = float(draw(int(120 / p) - 1, random)) * (j % 2 ? -1.0f : 1.0f);
        const Vector<float, L> y = raise_in_single<L>(x, float(p));
        for (int j = 0; j < L; ++j) {
            const long double exact = power(std::fabs(x[j]), p);
            check(std::fabs(y[j] - exact) <= 0.7 * RAISE_ERROR(p) * exact, "a power in single",
                x[j], p, y[j]);
        }
    }
    const auto of = [p](float x) {
        return raise_in_single<L>(Vector<float, L>{} + x, float(p))[0];
    };
    for (const float x : {0.0f, -0.0f, 1e-44f}) check(of(x) <= 1e-43f, "nothing", x, p, of(x));
    check(!(of(INFINITY) < INFINITY), "infinity", INFINITY, p, of(INFINITY));
    check(!(of(NAN) < INFINITY), "no number", NAN, p, of(NAN));
    check(!(of(-3e38f) < 2.9e38f), "what overflows", -3e38f, p, of(-3e38f));
}

}  // namespace

int main() {
    const int needed = BYTES == 64 ? 2 : BYTES == 32 ? 1 : 0;
    if (fwk::instruction_set() < needed) return std::puts("not for this processor"), 0;
    std::mt19937_64 random(1);
    for (const double p :
        {-0.97, -0.9, -0.3, 0.05, 0.7, 1.0, 1.1, 1.7, 2.0, 2.6, 3.0, 4.0, 4.6, 20.0, 62.0}) {
        test_double<1>(p, random);
        test_double<WIDTH<double>>(p, random);
        if (WIDTH<double> > 4) test_double<WIDTH<double> / 2>(p, random);
    }
    for (const double p : {1.0, 1.05, 1.1, 1.7, 1.99, 2.6, 3.0, 4.0, 4.6, 20.0, 64.0})
        test_single<WIDTH<float>>(p, random);
    std::printf("%d checks, %d failures\n", n_checks, n_failures);
    return n_failures > 0;
}
