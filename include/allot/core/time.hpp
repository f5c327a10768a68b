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

/// `from` + `span`, or the end of time if that is out of range; a span of `without_end` has no end, whenever
/// it begins. Precondition: `span` >= 0.
[[nodiscard]] constexpr instant later(instant from, instant span) noexcept {
  return span == without_end || from > without_end - span ? without_end : from + span;
}

namespace detail {

/// `at` moved by a span of either sign. The two ends of time stay: never is never by any clock.
[[nodiscard]] constexpr instant moved(instant at, instant by) noexcept {
  constexpr instant first = std::numeric_limits<instant>::min();
  if (at == first || at == without_end) return at;
  if (by < 0) return at < first + 1 - by ? first + 1 : at + by;
  return at > without_end - 1 - by ? without_end - 1 : at + by;
}
/// What moves one time to the other, bounded to what can be counted.
[[nodiscard]] constexpr instant span_between(instant from, instant to) noexcept {
  constexpr instant first = std::numeric_limits<instant>::min();
  if (from < 0) return to > without_end + from ? without_end : to - from;
  return to < first + 1 + from ? first + 1 : to - from;
}

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
