// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <limits>

namespace allot {
inline namespace v0 {

/// A point on the host's clock, or a span of it, in a unit of the host's choice. The library has no clock.
using instant = std::int64_t;

/// The time that never comes: when a job ends of which nothing is known.
inline constexpr instant without_end = std::numeric_limits<instant>::max();

/// `from` + `span`, or the end of time if that is out of range. Precondition: `span` >= 0.
[[nodiscard]] constexpr instant later(instant from, instant span) noexcept {
  return from > without_end - span ? without_end : from + span;
}

}  // namespace v0
}  // namespace allot
