// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

// Decimal numbers that are exact to a thousandth, as 64-bit integers: seconds as milliseconds, GPUs as
// milli-GPUs.

namespace allot {
inline namespace v0 {
namespace lab {

enum class decimal_problem : std::uint8_t {
  none,
  /// Not digits, or digits "." digits, with or without a minus before.
  malformed,
  /// A digit other than zero after the third decimal.
  too_fine,
  /// Thousandths of it do not fit 63 bits.
  too_large,
};

/// What `parse_milli` found: thousandths in `value`, unless there is a problem.
struct parsed_milli {
  std::int64_t value = 0;
  decimal_problem problem = decimal_problem::none;
};

/// The decimal number that is all of `text`, in thousandths: "12.5" is 12,500. Zeros after the third decimal
/// are allowed, for programs that print them; exponents, spaces, "+", "nan" and "inf" are not.
[[nodiscard]] inline parsed_milli parse_milli(std::string_view text) noexcept {
  const auto is_digit = [](char c) { return '0' <= c && c <= '9'; };
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  std::uint64_t whole = 0;
  const auto [after, error] = std::from_chars(text.data(), end, whole);
  if (error == std::errc::invalid_argument) return {0, decimal_problem::malformed};
  const char* digit = after;
  std::uint64_t thousandths = 0;
  bool too_fine = false;
  if (digit != end) {
    if (*digit != '.' || ++digit == end) return {0, decimal_problem::malformed};
    for (std::uint64_t unit = 100; digit != end; ++digit, unit /= 10) {
      if (!is_digit(*digit)) return {0, decimal_problem::malformed};
      thousandths += static_cast<std::uint64_t>(*digit - '0') * unit;
      too_fine |= unit == 0 && *digit != '0';
    }
  }
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  if (error != std::errc{} || whole > (most - thousandths) / 1000) return {0, decimal_problem::too_large};
  if (too_fine) return {0, decimal_problem::too_fine};
  const auto value = static_cast<std::int64_t>(whole * 1000 + thousandths);
  return {negative ? -value : value, decimal_problem::none};
}

/// Appends `thousandths` as a decimal number without trailing zeros: 12,500 as "12.5", 4,000 as "4". What
/// `parse_milli` reads back. Precondition: not the smallest 64-bit integer.
inline void append_milli(std::string& text, std::int64_t thousandths) {
  char buffer[24];
  if (thousandths < 0) {
    text += '-';
    thousandths = -thousandths;
  }
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, thousandths / 1000);
  static_cast<void>(error);  // 24 characters hold any 64-bit number
  text.append(buffer, end);
  std::int64_t rest = thousandths % 1000;
  if (rest == 0) return;
  text += '.';
  for (; rest != 0; rest = rest % 100 * 10) text += static_cast<char>('0' + rest / 100);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
