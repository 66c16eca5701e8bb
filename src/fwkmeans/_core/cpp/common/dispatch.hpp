// Which of the compiled instruction sets the machine can run, and its kernels.
#pragma once
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "common/kernels.hpp"

namespace fwk {

// What an x86 processor says of itself: words of cpuid, and the registers the system saves.
struct Processor {
    std::uint32_t leaf1_ecx, leaf7_ebx, extended1_ecx, saved_registers;
};

// 2 to 0: x86-64-v4, v3 or none. A level counts only with everything the compiler may use for it,
// also what these kernels would hardly need: virtual machines can hide any part.
inline int x86_level(const Processor& processor) {
    const auto all = [](std::uint32_t word, std::initializer_list<int> bits) {
        std::uint32_t wanted = 0;
        for (const int bit : bits) wanted |= std::uint32_t(1) << bit;
        return (word & wanted) == wanted;
    };
    // sse3 ssse3 fma cx16 sse4.1 sse4.2 movbe popcnt osxsave avx f16c; bmi avx2 bmi2; lahf lzcnt
    const bool v3 = all(processor.leaf1_ecx, {0, 9, 12, 13, 19, 20, 22, 23, 27, 28, 29}) &&
                    all(processor.leaf7_ebx, {3, 5, 8}) && all(processor.extended1_ecx, {0, 5}) &&
                    all(processor.saved_registers, {1, 2});
    // avx512: f dq cd bw vl; masks and both halves of the wide registers are saved
    const bool v4 = v3 && all(processor.leaf7_ebx, {16, 17, 28, 30, 31}) &&
                    all(processor.saved_registers, {5, 6, 7});
    return v3 + v4;
}

#ifdef FWK_X86
// Volatile and not inline, or the compiler asks before each loop over kernels whether or not the
// answer is known, which takes microseconds, in a virtual machine tens of them.
[[gnu::noinline]] inline Processor this_processor() {
    struct Registers {
        std::uint32_t a, b, c, d;
    };
    const auto cpuid = [](std::uint32_t leaf) {
        Registers r = {leaf, 0, 0, 0};
        __asm__ volatile("cpuid" : "+a"(r.a), "=b"(r.b), "+c"(r.c), "=d"(r.d));
        return r;
    };
    Processor found = {cpuid(1).c, 0, 0, 0};
    if (cpuid(0).a >= 7) found.leaf7_ebx = cpuid(7).b;
    if (cpuid(0x80000000u).a >= 0x80000001u) found.extended1_ecx = cpuid(0x80000001u).c;
    if (found.leaf1_ecx >> 27 & 1) {  // else the system saves none, and xgetbv is no instruction
        std::uint32_t high;
        __asm__ volatile("xgetbv" : "=a"(found.saved_registers), "=d"(high) : "c"(0));
    }
    return found;
}

#endif

template <class T> const Kernels<T>& kernels();

// The best level, or a lower one that FWKMEANS_ISA asks for.
inline int instruction_set() {
    static const int chosen = [] {
        const char* wanted = std::getenv("FWKMEANS_ISA");
        const int limit = !wanted                             ? 2
                          : !std::strcmp(wanted, "baseline")  ? 0
                          : !std::strcmp(wanted, "x86_64_v3") ? 1
                                                              : 2;
#ifdef FWK_X86
        const int best = x86_level(this_processor());
#else
        const int best = 0;
#endif
        return best < limit ? best : limit;
    }();
    return chosen;
}

#ifdef FWK_X86
inline const Elementwise& elementwise() {
    const Elementwise* all[] = {
        &baseline::elementwise, &x86_64_v3::elementwise, &x86_64_v4::elementwise};
    return *all[instruction_set()];
}
template <> inline const Kernels<double>& kernels() {
    const Kernels<double>* all[] = {&baseline::f64, &x86_64_v3::f64, &x86_64_v4::f64};
    return *all[instruction_set()];
}
template <> inline const Kernels<float>& kernels() {
    const Kernels<float>* all[] = {&baseline::f32, &x86_64_v3::f32, &x86_64_v4::f32};
    return *all[instruction_set()];
}
#else
inline const Elementwise& elementwise() { return baseline::elementwise; }
template <> inline const Kernels<double>& kernels() { return baseline::f64; }
template <> inline const Kernels<float>& kernels() { return baseline::f32; }
#endif

inline const char* name_of_instruction_set() { return kernels<double>().name; }

}  // namespace fwk
