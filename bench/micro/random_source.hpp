// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace allot_bench {

/// SplitMix64, so that every machine measures the same worlds.
struct random_source {
  std::uint64_t state = 1;
  std::size_t below(std::size_t n) {
    std::uint64_t z = state += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return static_cast<std::size_t>((z ^ (z >> 31U)) % n);
  }
};

}  // namespace allot_bench
