// SPDX-License-Identifier: BSL-1.0
#include "lab/measuring.hpp"

#include <allot/lab/decimal.hpp>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// Returns nullopt if the text is empty, or is not a time; the latter is reported in `found`.
std::optional<instant> read_seconds(std::string_view text, const char* option, errors& found) {
  if (text.empty()) return std::nullopt;
  const auto [value, problem] = parse_milli(text);
  if (problem == decimal_problem::none && value >= 0) return value;
  found.add(option, {},
            "expected seconds, a number that is not negative, found \"" + std::string{text} + '"');
  return std::nullopt;
}

}  // namespace

measuring read_measuring(const measuring_options& options, errors& found) {
  measuring m;
  if (!options.window.empty()) {
    const std::string_view text = options.window;
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) {
      found.add("--window", {},
                "expected FROM,TO in seconds, as in 3600,86400, found \"" + options.window + '"');
    } else {
      m.from = read_seconds(text.substr(0, comma), "--window", found);
      m.to = read_seconds(text.substr(comma + 1), "--window", found);
      if (m.from && m.to && *m.from >= *m.to) {
        found.add("--window", {},
                  "expected a time that is after " + std::string{text.substr(0, comma)} + ", found \"" +
                      std::string{text.substr(comma + 1)} + '"');
      }
    }
  }
  m.warm_up = read_seconds(options.warm_up, "--warm-up", found).value_or(m.warm_up);
  m.grace = read_seconds(options.grace, "--grace", found).value_or(m.grace);
  m.no_drain = options.no_drain;
  m.isolated = options.isolated;
  return m;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
