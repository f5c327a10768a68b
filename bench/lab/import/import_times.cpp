// SPDX-License-Identifier: BSL-1.0
#include "lab/import/import_times.hpp"

#include "lab/io/time_text.hpp"

#include <allot/core/ratio.hpp>
#include <allot/lab/trace.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

constexpr std::int64_t most_thousandths = 1'000'000'000'000'000;

[[nodiscard]] bool is_decimal_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Takes up to `most` digits from the front.
[[nodiscard]] std::optional<std::int64_t> take_number(std::string_view& text, std::size_t most) {
  std::int64_t n = 0;
  std::size_t i = 0;
  for (; i < std::min(most, text.size()) && is_decimal_digit(text[i]); ++i) n = 10 * n + (text[i] - '0');
  text.remove_prefix(i);
  return i == 0 ? std::nullopt : std::optional{n};
}

/// The fraction of a second, in milliseconds; finer digits are cut off.
[[nodiscard]] std::optional<std::int64_t> take_fraction(std::string_view& text) {
  std::int64_t milli = 0;
  std::int64_t unit = 100;
  std::size_t i = 0;
  for (; i < text.size() && is_decimal_digit(text[i]); ++i, unit /= 10) milli += (text[i] - '0') * unit;
  text.remove_prefix(i);
  return i == 0 ? std::nullopt : std::optional{milli};
}

constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

struct date_parts {
  std::int64_t year = 1970;
  std::int64_t month = 1;
  std::int64_t day_of_month = 1;
  std::int64_t hours = 0;
  std::int64_t minutes = 0;
  std::int64_t seconds = 0;
  std::int64_t milliseconds = 0;

  [[nodiscard]] std::optional<instant> time() const {
    const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(year)},
                                           std::chrono::month{static_cast<unsigned>(month)},
                                           std::chrono::day{static_cast<unsigned>(day_of_month)}};
    // A leap second is the first second of the next minute.
    if (!date.ok() || hours > 23 || minutes > 59 || seconds > 60) return std::nullopt;
    const std::chrono::milliseconds midnight = std::chrono::sys_days{date}.time_since_epoch();
    return midnight.count() + hours * hour + minutes * minute + seconds * second + milliseconds;
  }
};

/// Takes the directive's value from the front of `text`.
[[nodiscard]] bool take_part(char directive, std::string_view& text, date_parts& to) {
  const auto number = [&text](std::int64_t& part, std::size_t digits) {
    const auto n = take_number(text, digits);
    part = n.value_or(part);
    return n.has_value();
  };
  switch (directive) {
    case 'Y':
      return number(to.year, 4);
    case 'm':
      return number(to.month, 2);
    case 'd':
      return number(to.day_of_month, 2);
    case 'H':
      return number(to.hours, 2);
    case 'M':
      return number(to.minutes, 2);
    case 'S':
      return number(to.seconds, 2);
    case 'f': {
      const auto milli = take_fraction(text);
      to.milliseconds = milli.value_or(0);
      return milli.has_value();
    }
    case 'b': {
      const auto* const at = std::find(months.begin(), months.end(), text.substr(0, 3));
      if (at == months.end()) return false;
      to.month = at - months.begin() + 1;
      text.remove_prefix(3);
      return true;
    }
    default:
      return false;
  }
}

/// With %F and %T spelt out.
[[nodiscard]] std::string spelt_out(std::string_view format) {
  std::string all;
  for (std::size_t i = 0; i < format.size(); ++i) {
    const std::string_view directive = format.substr(i, 2);
    if (directive == "%F") all += "%Y-%m-%d";
    if (directive == "%T") all += "%H:%M:%S";
    if (directive.front() != '%') {
      all += directive.front();
      continue;
    }
    if (directive != "%F" && directive != "%T") all += directive;
    ++i;
  }
  return all;
}

}  // namespace

std::optional<std::int64_t> parse_in_unit(std::string_view text, column_unit unit) {
  // As many digits as 128 bits hold beside the unit.
  constexpr std::size_t most_digits = 24;
  wide digits = 0;
  std::size_t count = 0;
  std::int64_t exponent = 0;
  bool any = false;
  bool is_fraction = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !is_fraction) {
      is_fraction = true;
    } else if (is_decimal_digit(text[i])) {
      any = true;
      // Digits beyond these change nothing after rounding, but they count.
      const bool is_kept = count < most_digits;
      if (is_kept) digits = digits * 10 + static_cast<unsigned>(text[i] - '0');
      if (is_kept && digits != 0) ++count;
      exponent += (is_kept ? 0 : 1) - (is_fraction ? 1 : 0);
    } else {
      break;
    }
  }
  if (!any) return std::nullopt;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    std::string_view rest = text.substr(i + 1);
    const bool is_negative = !rest.empty() && rest.front() == '-';
    if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) rest.remove_prefix(1);
    const auto n = take_number(rest, 4);
    if (!n || !rest.empty()) return std::nullopt;
    exponent += is_negative ? -*n : *n;
    i = text.size();
  }
  if (i != text.size()) return std::nullopt;
  if (digits == 0) return 0;
  // digits x 10^exponent x numerator / denominator, rounded once.
  wide denominator = static_cast<wide>(unit.denominator);
  constexpr wide enough = wide{1} << 100U;
  for (; exponent > 0; --exponent) {
    if (digits > enough / 10) return std::nullopt;
    digits *= 10;
  }
  for (; exponent < 0; ++exponent) {
    if (denominator > enough) {
      digits /= 10;
    } else {
      denominator *= 10;
    }
  }
  const auto numerator = static_cast<wide>(unit.numerator);
  while (digits > (~wide{0} - denominator) / numerator) {
    if (denominator < 10) return std::nullopt;
    digits /= 10;
    denominator /= 10;
  }
  const wide value = (digits * numerator + denominator / 2) / denominator;
  if (value > static_cast<wide>(most_thousandths)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<column_unit> unit_of_time(std::string_view text) {
  if (text == "us") return column_unit{1, 1000};
  if (text == "ns") return column_unit{1, 1'000'000};
  std::string with_number{text};
  if (!text.empty() && !is_decimal_digit(text.front())) with_number.insert(0, "1");
  if (with_number.find_first_not_of("0123456789.") == std::string::npos) return std::nullopt;
  const auto each = read_time(with_number);
  if (!each || *each == 0) return std::nullopt;
  return column_unit{*each, 1};
}

std::optional<instant> parse_clock_span(std::string_view text) {
  constexpr std::size_t most_digits = 9;
  instant sum = 0;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    std::string_view days = text.substr(0, dash);
    const auto n = take_number(days, most_digits);
    if (!n || !days.empty()) return std::nullopt;
    sum = *n * day;
    text.remove_prefix(dash + 1);
  }
  std::array<std::int64_t, 3> parts{};
  std::size_t count = 0;
  for (;; ++count) {
    const auto n = count < parts.size() ? take_number(text, most_digits) : std::nullopt;
    if (!n) return std::nullopt;
    parts[count] = *n;
    if (text.empty() || text.front() != ':') break;
    text.remove_prefix(1);
  }
  ++count;
  std::int64_t milli = 0;
  if (!text.empty() && text.front() == '.' && count > 1) {
    text.remove_prefix(1);
    milli = take_fraction(text).value_or(0);
  }
  if (!text.empty()) return std::nullopt;
  // After days the first part is hours; else the last is seconds, and one part alone is minutes.
  constexpr std::array<instant, 3> units = {hour, minute, second};
  const std::size_t first = dash != std::string_view::npos ? 0 : count == 1 ? 1 : 3 - count;
  for (std::size_t i = 0; i < count; ++i) sum += parts[i] * units[first + i];
  return sum + milli;
}

std::optional<instant> parse_by_format(std::string_view text, std::string_view format) {
  const std::string all = spelt_out(format);
  date_parts parts;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_directive = all[i] == '%' && i + 1 < all.size();
    const char c = is_directive ? all[++i] : all[i];
    if (is_directive && c != '%') {
      if (!take_part(c, text, parts)) return std::nullopt;
    } else if (text.empty() || text.front() != c) {
      return std::nullopt;
    } else {
      text.remove_prefix(1);
    }
  }
  return text.empty() ? parts.time() : std::nullopt;
}

bool is_time_format(std::string_view format) {
  bool any = false;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') continue;
    ++i;
    if (i == format.size() || std::string_view{"YmdHMSfbFT%"}.find(format[i]) == std::string_view::npos)
      return false;
    any = any || format[i] != '%';
  }
  return any;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
