// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>

#include <cstdint>
#include <string>

namespace allot {
inline namespace v0 {

/// The amount in whole units as a decimal number, exact and without trailing zeros: "4", "0.5",
/// "unlimited".
[[nodiscard]] inline std::string to_string(quantity q) {
  if (q.is_unlimited()) return "unlimited";
  if (q == quantity::lowest()) return "-unlimited";
  const bool negative = q < quantity{};
  const std::int64_t milli = negative ? -q.in_milli() : q.in_milli();
  std::string text = negative ? "-" : "";
  text += std::to_string(milli / 1000);
  if (milli % 1000 != 0) {
    const std::string thousandths = std::to_string(1000 + milli % 1000);
    text += '.';
    text.append(thousandths, 1, thousandths.find_last_not_of('0'));
  }
  return text;
}

}  // namespace v0
}  // namespace allot
