// What tells labelings apart.
#pragma once
#include "common/kernels.hpp"

namespace fwk { namespace {

// splitmix64 of the row's index: the fingerprint of a labeling is the sum of key x (label + 1).
inline std::uint64_t key_of(index row) {
    std::uint64_t z = std::uint64_t(row) + 1u;
    z *= 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

}}  // namespace fwk
