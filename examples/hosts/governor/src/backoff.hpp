// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace allot_governor {

/// How long a job that did not start as often as this waits before it is tried again: doubled each time.
[[nodiscard]] constexpr std::int64_t backoff_ms(std::uint32_t failures) {
  constexpr std::int64_t least = 30'000;
  constexpr std::int64_t most = 3'600'000;
  return std::min(least << std::min<std::uint32_t>(failures, 10), most);
}

}  // namespace allot_governor
