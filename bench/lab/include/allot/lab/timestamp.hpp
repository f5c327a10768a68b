// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/lab/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Dates and times of day as traces and Kubernetes write them, as milliseconds since 1970-01-01 0:00 UTC.

namespace allot {
inline namespace v0 {
namespace lab {

/// The days from 1970-01-01 to a date of the Gregorian calendar. Precondition: the date exists.
[[nodiscard]] constexpr std::int64_t days_since_1970(std::int64_t year, std::int64_t month,
                                                     std::int64_t of_month) noexcept {
  // Years that begin in March have their leap day at the end; 400 of them have 146,097 days.
  const std::int64_t y = year - (month <= 2 ? 1 : 0);
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const std::int64_t of_era = y - era * 400;
  const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + of_month - 1;
  return era * 146'097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719'468;
}

namespace detail {

class timestamp_parser {
 public:
  explicit constexpr timestamp_parser(std::string_view text) noexcept : rest_(text) {}

  [[nodiscard]] constexpr std::optional<instant> run() noexcept {
    const std::int64_t year = digits(4);
    expect('-');
    const std::int64_t month = digits(2);
    expect('-');
    const std::int64_t of_month = digits(2);
    if (failed_ || month < 1 || month > 12 || of_month < 1 || of_month > days_of(year, month)) {
      return std::nullopt;
    }
    instant t = days_since_1970(year, month, of_month) * day;
    if (rest_.empty()) return t;
    if (!take('T') && !take('t')) expect(' ');
    t += time_of_day();
    t -= offset();
    if (failed_ || !rest_.empty()) return std::nullopt;
    return t;
  }

 private:
  [[nodiscard]] static constexpr std::int64_t days_of(std::int64_t year, std::int64_t month) noexcept {
    const std::int64_t next =
        month == 12 ? days_since_1970(year + 1, 1, 1) : days_since_1970(year, month + 1, 1);
    return next - days_since_1970(year, month, 1);
  }
  constexpr bool take(char c) noexcept {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  constexpr void expect(char c) noexcept { failed_ |= !take(c); }
  constexpr std::int64_t digits(std::size_t count) noexcept {
    std::int64_t n = 0;
    for (; count > 0; --count) {
      if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9') {
        failed_ = true;
        return 0;
      }
      n = 10 * n + (rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    return n;
  }
  constexpr instant time_of_day() noexcept {
    const std::int64_t hours = digits(2);
    expect(':');
    const std::int64_t minutes = digits(2);
    std::int64_t seconds = 0;
    std::int64_t millis = 0;
    if (take(':')) {
      seconds = digits(2);
      if (take('.')) {
        // Kubernetes writes microseconds in some places; what is finer than a tick is cut off.
        std::int64_t unit = 100;
        do {
          millis += unit * digits(1);
          unit /= 10;
        } while (!failed_ && !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9');
      }
    }
    // A leap second is the first of the next minute.
    failed_ |= hours > 23 || minutes > 59 || seconds > 60;
    return hours * hour + minutes * minute + seconds * second + millis;
  }
  constexpr instant offset() noexcept {
    if (rest_.empty() || take('Z') || take('z')) return 0;
    const bool west = take('-');
    if (!west) expect('+');
    const std::int64_t hours = digits(2);
    const std::int64_t minutes = take(':') || !rest_.empty() ? digits(2) : 0;
    failed_ |= hours > 23 || minutes > 59;
    return (west ? -1 : 1) * (hours * hour + minutes * minute);
  }

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace detail

/// The point in time that is all of `text`, or nothing if it is none: "2017-10-09 07:01:55",
/// "2023-03-01 00:18:22+08:00", "2024-05-06T07:08:09.123456Z", "2020-06-09". Without an offset it is taken as
/// UTC. What is finer than a millisecond is cut off.
[[nodiscard]] constexpr std::optional<instant> parse_timestamp(std::string_view text) noexcept {
  return detail::timestamp_parser{text}.run();
}

/// "2017-10-09 07:01:55" for a time in UTC, with milliseconds if there are any. What `parse_timestamp` reads
/// back. Precondition: years 0 to 9999.
[[nodiscard]] inline std::string to_timestamp(instant t) {
  const instant days = t >= 0 ? t / day : -((day - 1 - t) / day);
  instant rest = t - days * day;
  // From a date nearby: the year is at most one off, the month is found by looking.
  std::int64_t year = 1970 + days * 400 / 146'097;
  while (days_since_1970(year + 1, 1, 1) <= days) ++year;
  while (days_since_1970(year, 1, 1) > days) --year;
  std::int64_t month = 12;
  while (days_since_1970(year, month, 1) > days) --month;
  std::string text;
  const auto append = [&text](std::int64_t n, std::size_t width, const char* after) {
    const std::string digits = std::to_string(n);
    if (digits.size() < width) text.append(width - digits.size(), '0');
    text.append(digits).append(after);
  };
  append(year, 4, "-");
  append(month, 2, "-");
  append(days - days_since_1970(year, month, 1) + 1, 2, " ");
  append(rest / hour, 2, ":");
  append(rest % hour / minute, 2, ":");
  append(rest % minute / second, 2, "");
  rest %= second;
  if (rest != 0) {
    text += '.';
    append(rest, 3, "");
  }
  return text;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
