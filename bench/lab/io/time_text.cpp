// SPDX-License-Identifier: BSL-1.0
#include "lab/io/time_text.hpp"

#include <allot/core/ratio.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/trace.hpp>

#include <fmt/core.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

constexpr instant most = 1'000'000'000'000 * second;

struct unit {
  std::string_view name;
  instant length;
};
/// Largest first.
constexpr std::array<unit, 5> units = {{{"d", day}, {"h", hour}, {"m", minute}, {"s", second}, {"ms", 1}}};

/// That many thousandths of a unit, if it is a whole number of milliseconds.
std::optional<instant> times(std::int64_t thousandths, instant length) {
  const wide product = static_cast<wide>(thousandths) * static_cast<wide>(length);
  if (product % 1000 != 0 || product / 1000 > static_cast<wide>(most)) return std::nullopt;
  return static_cast<instant>(product / 1000);
}

}  // namespace

std::optional<instant> read_time(std::string_view text) {
  if (text.empty() || text.front() == '-') return std::nullopt;
  const auto number = [](std::string_view digits) -> std::optional<std::int64_t> {
    const parsed_milli n = parse_milli(digits);
    return n.problem == decimal_problem::none ? std::optional{n.value} : std::nullopt;
  };
  if (text.find_first_not_of("0123456789.") == std::string_view::npos) {
    const auto seconds = number(text);
    return seconds ? times(*seconds, second) : std::nullopt;
  }
  instant sum = 0;
  std::size_t next_unit = 0;
  while (!text.empty()) {
    const std::size_t digits = text.find_first_not_of("0123456789.");
    if (digits == 0 || digits == std::string_view::npos) return std::nullopt;
    const auto amount = number(text.substr(0, digits));
    text.remove_prefix(digits);
    const std::string_view name = text.substr(0, text.find_first_of("0123456789."));
    text.remove_prefix(name.size());
    std::size_t u = next_unit;
    while (u < units.size() && units[u].name != name) ++u;
    if (!amount || u == units.size()) return std::nullopt;
    const auto part = times(*amount, units[u].length);
    if (!part || *part > most - sum) return std::nullopt;
    sum += *part;
    next_unit = u + 1;
  }
  return sum;
}

std::string time_text(instant span) {
  std::string text;
  for (const unit& u : units) {
    if (const instant n = span / u.length; n != 0) text += std::to_string(n).append(u.name);
    span %= u.length;
  }
  return text.empty() ? "0s" : text;
}

std::string clock_time(instant at) {
  const instant in_day = at % day;
  std::string text = fmt::format("day {}, {:02}:{:02}:{:02}", at / day, in_day / hour, in_day / minute % 60,
                                 in_day / second % 60);
  if (in_day % second != 0) text += fmt::format(".{:03}", in_day % second);
  return text;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
