// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "api_server.hpp"

#include <allot/lab/random.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace allot_kueue {

/// How long to wait after a failure: twice as long each time, up to a bound, and between half of that and all
/// of it, so that many clients don't come back at once.
class backoff {
 public:
  explicit backoff(std::uint64_t seed, instant first = 250, instant most = 30'000)
      : random_(seed), first_(first), most_(most) {}

  /// What has worked forgets the failures.
  void reset() noexcept { failures_ = 0; }
  /// How long to wait after one more failure; not less than the server asks for, but for at most ten times
  /// the bound.
  [[nodiscard]] instant after_failure(const std::optional<instant>& retry_after = std::nullopt) {
    const instant whole = std::min(most_, first_ << std::min(failures_, 30U));
    ++failures_;
    const instant own = allot::lab::draw_between(random_, (whole + 1) / 2, whole);
    return std::max(own, std::min(retry_after.value_or(0), 10 * most_));
  }
  [[nodiscard]] unsigned failures() const noexcept { return failures_; }
  /// A span between the bounds, of the same random numbers.
  [[nodiscard]] instant between(instant low, instant high) {
    return allot::lab::draw_between(random_, low, high);
  }

 private:
  allot::lab::random_stream random_;
  instant first_;
  instant most_;
  unsigned failures_ = 0;
};

}  // namespace allot_kueue
