// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <ctime>

namespace allot_governor {

/// A moment on both clocks, in milliseconds: since 1970, and on one that never steps.
struct moment {
  std::int64_t wall = 0;
  std::int64_t steady = 0;
};

[[nodiscard]] inline std::int64_t ms_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return std::int64_t{t.tv_sec} * 1000 + t.tv_nsec / 1'000'000;
}
[[nodiscard]] inline moment now() {
  return {ms_of(CLOCK_REALTIME), ms_of(CLOCK_BOOTTIME)};
}

}  // namespace allot_governor
