// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Decimal numbers that are exact to a thousandth, as 64-bit integers: seconds as milliseconds, GPUs as
// milli-GPUs.

namespace allot {
inline namespace v0 {
namespace lab {

enum class decimal_problem : std::uint8_t {
  none,
  /// Not digits, or digits "." digits, with or without a leading minus.
  malformed,
  /// A digit other than zero after the third decimal.
  too_fine,
  /// Does not fit 63 bits in thousandths.
  too_large,
};

/// The result of `parse_milli`: thousandths in `value`, unless there is a problem.
struct parsed_milli {
  std::int64_t value = 0;
  decimal_problem problem = decimal_problem::none;
};

/// All of `text` as a decimal number, in thousandths: "12.5" is 12,500. Zeros after the third decimal are
/// allowed, for programs that print them; exponents, spaces, "+", "nan" and "inf" are not.
[[nodiscard]] parsed_milli parse_milli(std::string_view text) noexcept;

/// Appends a whole number.
void append_whole(std::string& text, std::int64_t n);
/// Appends `thousandths` as a decimal number without trailing zeros: 12,500 as "12.5", 4,000 as "4".
/// `parse_milli` reads it back. Precondition: not the smallest 64-bit integer.
void append_milli(std::string& text, std::int64_t thousandths);

}  // namespace lab
}  // namespace v0
}  // namespace allot
