// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace allot {
inline namespace v0 {
namespace lab {

/// The usual statistics of a sample of waiting or completion times, all exact and in the unit of the sample.
/// Zero for an empty sample.
struct sample_summary {
  /// The number of values.
  std::size_t count = 0;
  /// Their sum.
  wide sum = 0;
  /// @{
  /// Percentiles: see `percentile_index`.
  instant p50 = 0;
  instant p90 = 0;
  instant p99 = 0;
  /// @}

  /// The largest value.
  instant max = 0;

  /// Rounded to the nearest unit, halves up.
  [[nodiscard]] constexpr instant mean() const noexcept {
    return count == 0 ? 0 : static_cast<instant>((2 * sum + count) / (2 * wide{count}));
  }
};

/// The index of percentile `percent` of `count` sorted values: floor(percent/100 x count), and not beyond the
/// last (reference: the Helios simulator, so that its figures can be compared).
[[nodiscard]] constexpr std::size_t percentile_index(std::size_t count, std::size_t percent) noexcept {
  const std::size_t index = count / 100 * percent + count % 100 * percent / 100;
  return index < count ? index : count - (count == 0 ? 0 : 1);
}

/// Summarizes a sample, which it reorders. O(n). Precondition: no value is negative.
[[nodiscard]] inline sample_summary summarize(std::span<instant> sample) {
  sample_summary s;
  s.count = sample.size();
  if (sample.empty()) return s;
  for (const instant value : sample) {
    ALLOT_ASSERT(value >= 0, "a sample must not have negative values");
    s.sum += static_cast<std::uint64_t>(value);
    s.max = std::max(s.max, value);
  }
  // Each percentile is to the right of the one before it.
  auto begin = sample.begin();
  const auto percentile = [&](std::size_t percent) {
    const auto at = sample.begin() + static_cast<std::ptrdiff_t>(percentile_index(s.count, percent));
    std::nth_element(begin, at, sample.end());
    begin = at;
    return *at;
  };
  s.p50 = percentile(50);
  s.p90 = percentile(90);
  s.p99 = percentile(99);
  return s;
}

/// Jain's index of how evenly `shares` are distributed, (sum x)^2 / (n x sum x^2): 1 if all are equal, 1/n if
/// one has everything. Nothing to share is shared evenly: 1. The unit does not matter; use shares of an
/// entitlement in millionths (`millionths`). O(n). Precondition: fewer than 2^24 shares, each between 0 and
/// 2^38, so that the result is exact.
[[nodiscard]] constexpr ratio jain_index(std::span<const std::int64_t> shares) {
  ALLOT_ASSERT(shares.size() < (std::size_t{1} << 24U), "fewer than 2^24 shares");
  wide sum = 0;
  wide squares = 0;
  for (const std::int64_t share : shares) {
    ALLOT_ASSERT(share >= 0 && share <= (std::int64_t{1} << 38U), "a share between 0 and 2^38");
    const auto x = static_cast<std::uint64_t>(share);
    sum += x;
    squares += wide{x} * x;
  }
  return sum == 0 ? ratio{1, 1} : ratio{sum * sum, shares.size() * squares};
}

/// `part` of `whole` in millionths, rounded down; 0 of 0 is a million: if nothing is owed, all of it was
/// given. Saturates at 2^38. Precondition: neither is negative.
[[nodiscard]] constexpr std::int64_t millionths(std::int64_t part, std::int64_t whole) {
  ALLOT_ASSERT(part >= 0 && whole >= 0, "parts of a whole are not negative");
  constexpr wide most = wide{1} << 38U;
  if (whole == 0) return part == 0 ? 1'000'000 : static_cast<std::int64_t>(most);
  return static_cast<std::int64_t>(
      std::min(most, wide{static_cast<std::uint64_t>(part)} * 1'000'000 / static_cast<std::uint64_t>(whole)));
}

/// How much longer a job took than it ran, max(1, completion / max(duration, bound)): the bound, customarily
/// 10 s, keeps one-second jobs from dominating the others.
[[nodiscard]] constexpr ratio bounded_slowdown(instant completion_time, instant duration, instant bound) {
  ALLOT_ASSERT(completion_time >= 0 && duration >= 0 && bound > 0, "spans of time, and a bound above 0");
  const instant least = std::max(duration, bound);
  return {static_cast<wide>(std::max(completion_time, least)), static_cast<wide>(least)};
}
/// The same in thousandths, rounded to the nearest, halves up.
[[nodiscard]] constexpr std::int64_t bounded_slowdown_in_thousandths(instant completion_time,
                                                                     instant duration, instant bound) {
  ALLOT_ASSERT(completion_time >= 0 && duration >= 0 && bound > 0, "spans of time, and a bound above 0");
  const wide least = static_cast<wide>(std::max(duration, bound));
  const wide took = std::max(static_cast<wide>(completion_time), least);
  return static_cast<std::int64_t>((took * 1000 + least / 2) / least);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
