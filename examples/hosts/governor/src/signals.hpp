// SPDX-License-Identifier: BSL-1.0
//
// The signals that end a governor, or make it read its configuration again.
#pragma once

#include "governor/src/clock.hpp"
#include "governor/src/notify.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace allot_governor {

[[nodiscard]] inline sigset_t awaited_signals() {
  sigset_t all;
  sigemptyset(&all);
  for (const int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&all, s);
  return all;
}

/// From now on they come in `wait_until` alone. To be called before any thread is started.
inline void await_signals() {
  const sigset_t signals = awaited_signals();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

/// Waits until `until` on the monotonic clock. Returns the signal that has come, or 0.
[[nodiscard]] inline int wait_until(std::int64_t until) {
  const sigset_t signals = awaited_signals();
  for (;;) {
    constexpr std::int64_t longest = 10'000;
    const std::int64_t left = std::clamp<std::int64_t>(until - ms_of(CLOCK_MONOTONIC), 0, longest);
    notify("WATCHDOG=1");
    const timespec most{static_cast<time_t>(left / 1000), static_cast<long>(left % 1000 * 1'000'000)};
    const int s = sigtimedwait(&signals, nullptr, &most);
    if (s > 0) return s;
    if (errno != EINTR && ms_of(CLOCK_MONOTONIC) >= until) return 0;
  }
}

}  // namespace allot_governor
