// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/time.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace allot {
inline namespace v0 {
namespace lab {

/// The part of the simulated time that a measurement covers, so that warm-up and drain can be excluded: from
/// `begin`, inclusive, to `end`, exclusive.
struct time_window {
  /// Inclusive.
  instant begin = std::numeric_limits<instant>::min();
  /// Exclusive.
  instant end = std::numeric_limits<instant>::max();

  [[nodiscard]] constexpr bool contains(instant at) const noexcept { return begin <= at && at < end; }
};

/// Integrates a quantity that changes in steps, such as the GPUs in use, over time: exact, in the unit of the
/// quantity times the unit of time. No change costs more than one multiplication.
class step_integral {
 public:
  /// Zero from `start` on.
  explicit constexpr step_integral(instant start = 0, time_window window = {}) noexcept
      : since_(start), window_(window) {}

  /// The quantity is `value` from `now` on. Precondition: `value` is not negative, and `now` not before the
  /// last change. Of several changes at one instant only the last has an effect.
  constexpr void set(instant now, std::int64_t value) {
    ALLOT_ASSERT(value >= 0, "the quantity must not be negative");
    total_ = until(now);
    since_ = now;
    value_ = value;
  }
  /// The quantity grows by `change` at `now`; see `set`.
  constexpr void add(instant now, std::int64_t change) { set(now, value_ + change); }

  /// The quantity since the last change.
  [[nodiscard]] constexpr std::int64_t value() const noexcept { return value_; }
  /// The integral until `now`, which is not before the last change.
  [[nodiscard]] constexpr wide until(instant now) const {
    ALLOT_ASSERT(now >= since_, "time does not go back");
    const instant from = std::max(since_, window_.begin);
    const instant to = std::min(now, window_.end);
    if (to <= from) return total_;
    const std::uint64_t span = static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
    return total_ + wide{span} * static_cast<std::uint64_t>(value_);
  }

 private:
  wide total_ = 0;
  instant since_;
  std::int64_t value_ = 0;
  time_window window_;
};

/// An integral of milli-GPUs over milliseconds in GPU-hours, for display: one division of exact numbers, so
/// the same on every machine.
[[nodiscard]] constexpr double gpu_hours(wide milli_gpu_milliseconds) noexcept {
  return static_cast<double>(milli_gpu_milliseconds) / 3.6e9;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
