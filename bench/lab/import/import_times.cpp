// SPDX-License-Identifier: BSL-1.0
#include "lab/import/import_times.hpp"

#include "lab/io/time_text.hpp"

#include <allot/core/ratio.hpp>
#include <allot/lab/timestamp.hpp>
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

constexpr std::array<std::string_view, 12> months = {"January",   "February", "March",    "April",
                                                     "May",       "June",     "July",     "August",
                                                     "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 7> weekdays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                      "Thursday", "Friday", "Saturday"};

/// Takes one of the names, or its first three letters, from the front, and returns which.
template <std::size_t N>
[[nodiscard]] std::optional<std::int64_t> take_name(std::string_view& text,
                                                    const std::array<std::string_view, N>& names) {
  constexpr std::size_t short_form = 3;
  for (std::size_t i = 0; i < N; ++i) {
    if (text.substr(0, short_form) != names[i].substr(0, short_form)) continue;
    text.remove_prefix(text.substr(0, names[i].size()) == names[i] ? names[i].size() : short_form);
    return static_cast<std::int64_t>(i);
  }
  return std::nullopt;
}

struct date_parts {
  std::int64_t year = 1970;
  std::int64_t month = 1;
  std::int64_t day_of_month = 1;
  std::int64_t hours = 0;
  std::int64_t minutes = 0;
  std::int64_t seconds = 0;
  std::int64_t milliseconds = 0;
  /// In place of month and day.
  std::optional<std::int64_t> day_of_year{};
  std::optional<bool> is_afternoon{};
  /// How far the clock is ahead of UTC.
  instant ahead = 0;
  /// In place of all of these.
  std::optional<instant> since_1970{};

  [[nodiscard]] std::optional<instant> time() const {
    if (since_1970) return *since_1970 + milliseconds;
    std::int64_t hour_of_day = hours;
    if (is_afternoon) {
      if (hours < 1 || hours > 12) return std::nullopt;
      hour_of_day = hours % 12 + (*is_afternoon ? 12 : 0);
    }
    const bool is_by_day = day_of_year.has_value();
    const std::chrono::year_month_day date{
        std::chrono::year{static_cast<int>(year)},
        std::chrono::month{static_cast<unsigned>(is_by_day ? 1 : month)},
        std::chrono::day{static_cast<unsigned>(is_by_day ? 1 : day_of_month)}};
    // A leap second is the first second of the next minute.
    if (!date.ok() || hour_of_day > 23 || minutes > 59 || seconds > 60) return std::nullopt;
    if (is_by_day && (*day_of_year < 1 || *day_of_year > (date.year().is_leap() ? 366 : 365))) {
      return std::nullopt;
    }
    const std::chrono::milliseconds midnight = std::chrono::sys_days{date}.time_since_epoch();
    return midnight.count() + (day_of_year.value_or(1) - 1) * day + hour_of_day * hour + minutes * minute +
           seconds * second + milliseconds - ahead;
  }
};

/// "+01:00", "-0530", "+01" or "Z".
[[nodiscard]] std::optional<instant> take_offset(std::string_view& text) {
  if (text.empty()) return std::nullopt;
  const char sign = text.front();
  text.remove_prefix(1);
  if (sign == 'Z') return 0;
  if (sign != '+' && sign != '-') return std::nullopt;
  const auto hours = take_number(text, 2);
  if (!hours) return std::nullopt;
  if (!text.empty() && text.front() == ':') text.remove_prefix(1);
  const instant ahead = *hours * hour + take_number(text, 2).value_or(0) * minute;
  return sign == '-' ? -ahead : ahead;
}

/// Takes the directive's value from the front of `text`.
[[nodiscard]] bool take_part(char directive, std::string_view& text, date_parts& to) {
  const auto number = [&text](std::int64_t& part, std::size_t digits) {
    const auto n = take_number(text, digits);
    part = n.value_or(part);
    return n.has_value();
  };
  const auto padded = [&](std::int64_t& part) {
    if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    return number(part, 2);
  };
  switch (directive) {
    case 'Y':
      return number(to.year, 4);
    case 'y': {
      // As in POSIX: 69 to 99 are of the last century.
      const bool is_read = number(to.year, 2);
      to.year += to.year < 69 ? 2000 : 1900;
      return is_read;
    }
    case 'm':
      return padded(to.month);
    case 'd':
    case 'e':
      return padded(to.day_of_month);
    case 'H':
    case 'I':
    case 'k':
    case 'l':
      return padded(to.hours);
    case 'M':
      return number(to.minutes, 2);
    case 'S':
      return number(to.seconds, 2);
    case 'f': {
      const auto milli = take_fraction(text);
      to.milliseconds = milli.value_or(0);
      return milli.has_value();
    }
    case 'b':
    case 'B': {
      const auto n = take_name(text, months);
      to.month = n.value_or(0) + 1;
      return n.has_value();
    }
    case 'a':
    case 'A':
      return take_name(text, weekdays).has_value();
    case 'j': {
      constexpr std::size_t most_digits = 3;
      to.day_of_year = take_number(text, most_digits);
      return to.day_of_year.has_value();
    }
    case 'p': {
      const std::string_view half = text.substr(0, 2);
      if (half == "AM" || half == "am") to.is_afternoon = false;
      if (half == "PM" || half == "pm") to.is_afternoon = true;
      text.remove_prefix(half.size());
      return to.is_afternoon.has_value();
    }
    case 's': {
      constexpr std::size_t most_digits = 12;
      const auto n = take_number(text, most_digits);
      if (n) to.since_1970 = *n * second;
      return n.has_value();
    }
    case 'z': {
      const auto ahead = take_offset(text);
      to.ahead = ahead.value_or(0);
      return ahead.has_value();
    }
    case 'Z': {
      // The name of a zone does not say what it is ahead of UTC: as without it, the times are local ones.
      const std::size_t size = std::min(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), text.size());
      text.remove_prefix(size);
      return size > 0;
    }
    default:
      return false;
  }
}

/// What a directive is short for; itself if it is not.
[[nodiscard]] std::string_view long_form(char directive) {
  switch (directive) {
    case 'F':
      return "%Y-%m-%d";
    case 'T':
    case 'X':
      return "%H:%M:%S";
    case 'R':
      return "%H:%M";
    case 'D':
    case 'x':
      return "%m/%d/%y";
    case 'r':
      return "%I:%M:%S %p";
    case 'c':
      return "%a %b %e %H:%M:%S %Y";
    case 'h':
      return "%b";
    case 'n':
    case 't':
      return " ";
    default:
      return {};
  }
}

/// With what is short for others spelt out, and without the flags of glibc that only concern padding ("%-d").
[[nodiscard]] std::string spelt_out(std::string_view format) {
  std::string all;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      all += format[i];
      continue;
    }
    ++i;
    while (i < format.size() && std::string_view{"-_0"}.find(format[i]) != std::string_view::npos) ++i;
    const std::string_view full = i < format.size() ? long_form(format[i]) : std::string_view{};
    if (!full.empty()) {
      all += full;
    } else {
      all += '%';
      if (i < format.size()) all += format[i];
    }
  }
  return all;
}

/// The letters after the percent signs; a zero byte after one at the end.
[[nodiscard]] std::string directives_of(std::string_view format) {
  const std::string all = spelt_out(format);
  std::string letters;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == '%') letters += ++i < all.size() ? all[i] : '\0';
  }
  return letters;
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
  const std::string all = directives_of(format);
  return all.find_first_not_of("YymdeHIklMSfbBaAjpszZ%") == std::string::npos &&
         all.find_first_not_of('%') != std::string::npos;
}

bool has_year(std::string_view format) {
  return directives_of(format).find_first_of("Yys") != std::string::npos;
}

std::optional<instant> parse_relative(std::string_view text, instant today) {
  // The first that fits: a time of today; of a day beside it; of a day of the coming week; of this year.
  if (const auto t = parse_by_format(text, "%T")) return today + *t;
  if (const auto t = parse_by_format(text, "Ystday %R")) return today - day + *t;
  if (const auto t = parse_by_format(text, "Tomorr %R")) return today + day + *t;
  std::string_view rest = text;
  if (const auto weekday = take_name(rest, weekdays)) {
    const auto t = parse_by_format(rest, " %R");
    if (!t) return std::nullopt;
    const std::chrono::sys_days midnight{std::chrono::floor<std::chrono::days>(
        std::chrono::sys_time<std::chrono::milliseconds>{std::chrono::milliseconds{today}})};
    const auto of_today = static_cast<std::int64_t>(std::chrono::weekday{midnight}.c_encoding());
    const std::int64_t ahead = (*weekday - of_today + 7) % 7;
    return today + ahead * day + *t;
  }
  const std::string year = to_timestamp(today).substr(0, 4);
  if (const auto t = parse_by_format(std::string{text} + ' ' + year, "%d %b %R %Y")) return t;
  return parse_by_format(text, "%d %b %Y");
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
