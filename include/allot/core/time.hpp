// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
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

namespace detail {

/// A std::chrono::duration of a signed 64-bit integer, by its shape: including <chrono> costs 10,000 lines.
template <class T>
concept span_of_time = requires(const T& span) {
  typename T::period;
  requires std::signed_integral<typename T::rep> && sizeof(typename T::rep) == sizeof(instant);
  { span.count() } -> std::same_as<typename T::rep>;
};
/// Likewise a std::chrono::time_point of such a duration.
template <class T>
concept point_in_time = requires(const T& point) {
  requires span_of_time<typename T::duration>;
  { point.time_since_epoch() } -> std::same_as<typename T::duration>;
};

}  // namespace detail

}  // namespace v0
}  // namespace allot
