// SPDX-License-Identifier: BSL-1.0
#include "governor/src/shares.hpp"

#include "governor/src/status.hpp"
#include "snapshots.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

using namespace allot_governor;

namespace {

[[nodiscard]] allot::lab::quotas_file config_of_lab() {
  auto reading = allot::lab::parse_quotas_file(R"({"resources": ["gpu", "cpu"], "policy": "standard",
      "quotas": [{"name": "lab"}, {"name": "lab/a", "parent": "lab", "weight": 2.5}, {"name": "lab/b", "parent": "lab"}]})",
                                               "test", "acme");
  REQUIRE(reading.value);
  return std::move(*reading.value);
}

[[nodiscard]] std::vector<std::string> words_of(const std::string& text, const std::string& first) {
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in{line};
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    if (!words.empty() && words.front() == first) return words;
  }
  return {};
}

}  // namespace

TEST_CASE("shares: what each quota owns, is due, uses, borrows and lends") {
  const std::string text = shares_text(status_json(test::sample("lab")), config_of_lab());
  using words = std::vector<std::string>;
  CHECK(words_of(text, "quota") ==
        words{"quota", "weight", "nominal", "fair", "share", "used", "borrowed", "lent", "wants"});
  CHECK(words_of(text, "lab/a") == words{"lab/a", "2.5", "48", "48", "60", "12", "0", "16"});
  CHECK(words_of(text, "lab/b") == words{"lab/b", "1", "80", "80", "20", "0", "12", "16"});
  CHECK_MESSAGE(text.find("lab ") < text.find("  lab/a"), "those below a quota come after it");
  CHECK(text.find("unlimited") != std::string::npos);
}

TEST_CASE("shares: names are no markup of the terminal, and what is no status is nothing") {
  for (const std::string& name : test::hostile_names()) {
    const std::string text = shares_text(status_json(test::sample(name)), config_of_lab());
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(!text.empty());
  }
  for (const char* wrong : {"", "{", "[]", "{\"quotas\": []}", "{\"quotas\": [1], \"resources\": []}"}) {
    CHECK(shares_text(wrong, config_of_lab()).empty());
  }
}
