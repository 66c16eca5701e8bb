// Independent multiply-adds in the widest registers of this machine, as many as it can do: what the
// benchmarks measure the kernels against. Built by common.py.
namespace {

#if defined(__AVX512F__)
constexpr int BYTES = 64;
#elif defined(__AVX__)
constexpr int BYTES = 32;
#else
constexpr int BYTES = 16;
#endif

template <class T> double multiply_adds(long rounds) {
    typedef T V __attribute__((vector_size(BYTES)));
    constexpr int CHAINS = 12;
    V x[CHAINS];
    for (int c = 0; c < CHAINS; ++c) x[c] = V{} + T(c);
    V factor = V{} + T(0.999), term = V{} + T(0.001);
    for (long i = 0; i < rounds; ++i) {
        __asm__ volatile("" : "+m"(factor));
        const V f = factor, a = term;
        for (int repeat = 0; repeat < 16; ++repeat)
            for (int c = 0; c < CHAINS; ++c) x[c] = x[c] * f + a;
    }
    V sum = {};
    for (int c = 0; c < CHAINS; ++c) sum += x[c];
    __asm__ volatile("" : : "m"(sum));
    return double(rounds) * 16 * CHAINS * (BYTES / int(sizeof(T)));
}

// Reads an array front to back; one sum in each register, so that additions are never waited for.
double read(const double* x, long n) {
    typedef double V __attribute__((vector_size(BYTES), aligned(8)));
    constexpr int CHAINS = 8, WIDTH = BYTES / 8;
    V sums[CHAINS] = {};
    for (long i = 0; i + CHAINS * WIDTH <= n; i += CHAINS * WIDTH)
        for (int c = 0; c < CHAINS; ++c) sums[c] += *reinterpret_cast<const V*>(x + i + c * WIDTH);
    double total = 0;
    for (int c = 0; c < CHAINS; ++c)
        for (int j = 0; j < WIDTH; ++j) total += sums[c][j];
    return total;
}

}  // namespace

// Runs `rounds` rounds and returns how many multiply-adds they were.
extern "C" double multiply_adds_float64(long rounds) { return multiply_adds<double>(rounds); }
extern "C" double read_all(const double* x, long n) { return read(x, n); }
extern "C" double multiply_adds_float32(long rounds) { return multiply_adds<float>(rounds); }
