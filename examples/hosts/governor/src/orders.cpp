// SPDX-License-Identifier: BSL-1.0
#include "governor/src/orders.hpp"

#include "governor/src/log.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace allot_governor {

std::string freeze_text(const freeze_order& f) {
  return std::to_string(f.since) + '\n' + std::to_string(f.until.value_or(0)) + '\n' + f.by + '\n' + f.why;
}

freeze_order parse_freeze(std::string_view text) {
  const auto next = [&] {
    const std::string_view one = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    return one;
  };
  const auto number = [](std::string_view of) {
    std::int64_t n = 0;
    std::from_chars(of.data(), of.data() + of.size(), n);
    return n;
  };
  freeze_order f;
  f.since = number(next());
  if (const std::int64_t until = number(next()); until > 0) f.until = until;
  f.by = next();
  f.why = text;
  return f;
}

std::string sentence(const freeze_order& f) {
  std::string text = "frozen since " + time_text(f.since);
  if (f.until) text += " until " + time_text(*f.until);
  if (!f.by.empty()) text += " by " + escaped(f.by);
  text += ", nobody is evicted";
  if (!f.why.empty()) text += ": " + escaped(f.why);
  return text;
}

std::optional<std::int64_t> parse_span(std::string_view text) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end + 1 != text.data() + text.size() || n <= 0) return std::nullopt;
  constexpr std::string_view units = "smhd";
  constexpr std::int64_t seconds_of[]{1, 60, 3600, 86'400};
  const std::size_t unit = units.find(*end);
  if (unit == std::string_view::npos || n > 365 * 86'400 / seconds_of[unit]) return std::nullopt;
  return n * seconds_of[unit] * 1000;
}

}  // namespace allot_governor
