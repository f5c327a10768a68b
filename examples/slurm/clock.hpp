// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ctime>

#include <cstdint>

namespace allot_slurm {

/// CPU time of this thread, in microseconds.
[[nodiscard]] inline std::int64_t cpu_us() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::int64_t{t.tv_sec} * 1'000'000 + t.tv_nsec / 1000;
}

}  // namespace allot_slurm
