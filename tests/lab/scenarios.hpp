// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/io/errors.hpp"
#include "lab/scenario/scenario.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace allot_test {

namespace lab = allot::lab;

/// Lines that a failed check prints.
struct lines {
  lines(std::initializer_list<std::string> lines_) : all(lines_) {}
  explicit lines(std::vector<std::string> lines_) : all(std::move(lines_)) {}

  std::vector<std::string> all;

  friend bool operator==(const lines&, const lines&) = default;
  friend std::ostream& operator<<(std::ostream& out, const lines& l) {
    for (const std::string& line : l.all) out << '\n' << line;
    return out;
  }
};

/// The scenario of a text that has these members besides the format; errors refer to a file "s.json".
[[nodiscard]] inline std::optional<lab::scenario> parse(const std::string& members, lab::errors& found,
                                                        std::optional<std::string> policy = {}) {
  lab::scenario_source source;
  source.file = "s.json";
  source.policy = std::move(policy);
  return lab::parse_scenario("{\"format\": \"allot-scenario/1\", " + members + "}", source, found);
}

/// The same for a text that is known to be valid.
inline lab::scenario parse_valid(const std::string& members, std::optional<std::string> policy = {}) {
  lab::errors found;
  auto s = parse(members, found, std::move(policy));
  REQUIRE_MESSAGE(s, found.to_string());
  REQUIRE(found.empty());
  return std::move(*s);
}

/// Its errors, one per line: "/quotas/0/name: ...".
[[nodiscard]] inline lines problems_of(const std::string& members, std::optional<std::string> policy = {}) {
  lab::errors found;
  const auto s = parse(members, found, std::move(policy));
  CHECK(s.has_value() == found.empty());
  std::vector<std::string> result;
  for (const lab::errors::error& e : found.kept()) {
    CHECK(e.file == "s.json");
    result.push_back(e.place + ": " + e.text);
  }
  return lines{std::move(result)};
}

}  // namespace allot_test
