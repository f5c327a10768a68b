// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/core/time.hpp>

#include <cstdint>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

// Figures as people read them.

/// "53,069".
[[nodiscard]] std::string grouped(std::uint64_t n);
/// A span of time in a suitable unit: "45 s", "12 min", "3.4 h", "2.5 d".
[[nodiscard]] std::string human_time(instant milliseconds);
/// A point in time: "day 3, 04:12".
[[nodiscard]] std::string human_instant(instant milliseconds);
/// Thousandths, rounded to `places` decimals, with the thousands grouped.
[[nodiscard]] std::string rounded(std::int64_t thousandths, unsigned places);
/// Millionths as a percentage: "62.97 %".
[[nodiscard]] std::string percent(std::int64_t millionths);
/// GPU time: "5,677.7 GPU-h".
[[nodiscard]] std::string human_hours(wide gpu_time);

}  // namespace lab
}  // namespace v0
}  // namespace allot
