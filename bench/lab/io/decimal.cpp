// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/decimal.hpp>

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <limits>
#include <system_error>

namespace allot {
inline namespace v0 {
namespace lab {

parsed_milli parse_milli(std::string_view text) noexcept {
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

void append_whole(std::string& text, std::int64_t n) {
  const fmt::format_int digits{n};
  text.append(digits.data(), digits.size());
}

void append_milli(std::string& text, std::int64_t thousandths) {
  std::int64_t rest = thousandths % 1000;
  // Most numbers are whole.
  if (rest == 0) return append_whole(text, thousandths / 1000);
  if (thousandths < 0) {
    text += '-';
    rest = -rest;
  }
  append_whole(text, thousandths < 0 ? -(thousandths / 1000) : thousandths / 1000);
  char digits[4] = {'.'};
  std::size_t size = 1;
  for (; rest != 0; rest = rest % 100 * 10) digits[size++] = static_cast<char>('0' + rest / 100);
  text.append(digits, size);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
