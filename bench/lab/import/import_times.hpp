// SPDX-License-Identifier: BSL-1.0
// How tables of other systems write times and amounts.
#pragma once

#include <allot/core/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// Takes what is before the separator from the front, and the separator.
[[nodiscard]] inline std::string_view take_until(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(part.size() < text.size() ? part.size() + 1 : part.size());
  return part;
}

/// The unit of a column of numbers: each counts `numerator` / `denominator` thousandths of what is wanted.
struct column_unit {
  std::int64_t numerator = 1000;
  std::int64_t denominator = 1;
};

/// The number in thousandths of what is wanted: rounded to the nearest, halves up. Takes digits with a point
/// and any number of decimals, and an exponent ("1.5e+05"). Returns nullopt for other texts, for negative
/// numbers and for more than 10^12 of what is wanted.
[[nodiscard]] std::optional<std::int64_t> parse_in_unit(std::string_view text, column_unit unit);

/// "ms", "s", "m", "h" or "d", alone or after a number ("40ms": each counts for so long); also "us" and "ns".
[[nodiscard]] std::optional<column_unit> unit_of_time(std::string_view text);

/// Whether a point in time can be one at which a job was submitted or ran: systems write 1970 where they know
/// none, in any time zone.
[[nodiscard]] constexpr bool is_known_time(instant t) {
  constexpr instant one_year = 365LL * 24 * 3'600'000;
  return t >= one_year;
}

/// A span of time as Slurm writes it: "[DAYS-]HH:MM:SS", "MM:SS" or "MM", with decimals of a second.
[[nodiscard]] std::optional<instant> parse_clock_span(std::string_view text);

/// A point in time by a format of strftime: %Y %y %m %d %e %j, %H %I %k %l %M %S %p, %f (a fraction of a
/// second), %b %B %a %A (English names), %s (seconds since 1970), %z (+01:00), %F %T %R %D %r %c %x %X, %%,
/// and other characters as they are. Names of time zones (%Z) are skipped. What is missing is 1970, January,
/// 1 and 0. Returns nullopt if it does not fit.
[[nodiscard]] std::optional<instant> parse_by_format(std::string_view text, std::string_view format);

/// Whether `parse_by_format` knows all that is in the format.
[[nodiscard]] bool is_time_format(std::string_view format);
/// Whether such a format tells the year, without which no time is known.
[[nodiscard]] bool has_year(std::string_view format);

/// A point in time as Slurm writes it with SLURM_TIME_FORMAT=relative: "14:32:05", "Ystday 14:32", "Tomorr
/// 14:32", "Sat 14:32" (of the coming week), "12 Oct 14:32" (of this year), "12 Oct 2016" (midnight, as the
/// time of day is not told). `today` is the midnight before it was written.
[[nodiscard]] std::optional<instant> parse_relative(std::string_view text, instant today);

}  // namespace lab
}  // namespace v0
}  // namespace allot
