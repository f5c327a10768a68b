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

/// A span of time as Slurm writes it: "[DAYS-]HH:MM:SS", "MM:SS" or "MM", with decimals of a second.
[[nodiscard]] std::optional<instant> parse_clock_span(std::string_view text);

/// A point in time by a format of strptime: %Y %m %d %H %M %S, %b (English names), %f, %F, %T, %% and other
/// characters as they are. What is missing is 1970, January, 1 and 0. Returns nullopt if it does not fit.
[[nodiscard]] std::optional<instant> parse_by_format(std::string_view text, std::string_view format);

/// Whether `parse_by_format` knows all that is in the format.
[[nodiscard]] bool is_time_format(std::string_view format);

}  // namespace lab
}  // namespace v0
}  // namespace allot
