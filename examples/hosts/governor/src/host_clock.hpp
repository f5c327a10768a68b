// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "governor/src/clock.hpp"
#include "governor/src/facts.hpp"

#include <algorithm>
#include <cstdint>

namespace allot_governor {

/// The time that counts: that of the wall clock, or of the host's if that is ahead, whose times the jobs
/// have.
class host_clock {
 public:
  /// By how much the wall clock was set since the last call; 0: it was not.
  [[nodiscard]] std::int64_t set(moment now) {
    // It differs by more than this from a clock that never steps.
    constexpr std::int64_t step_ms = 60'000;
    std::int64_t step = own_.wall == 0 ? 0 : now.wall - own_.wall - (now.steady - own_.steady);
    if (step <= step_ms && step >= -step_ms) step = 0;
    own_ = now;
    now_.steady = now.steady;
    if (step != 0) behind_by_ = 0;
    if (step < 0) now_.wall = now.wall;
    now_.wall = std::max(now_.wall, now.wall + behind_by_);
    return step;
  }
  /// The host's clock has shown this time since then.
  void saw(milliseconds at) {
    behind_by_ = std::max(behind_by_, at - own_.wall);
    now_.wall = std::max(now_.wall, own_.wall + behind_by_);
  }
  [[nodiscard]] const moment& now() const noexcept { return now_; }

 private:
  moment now_{};
  /// What the wall clock says, and by how much it is behind the host's at least.
  moment own_{};
  std::int64_t behind_by_ = 0;
};

/// Processor time of this thread, in microseconds.
[[nodiscard]] inline std::int64_t cpu_us() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::int64_t{t.tv_sec} * 1'000'000 + t.tv_nsec / 1000;
}

}  // namespace allot_governor
