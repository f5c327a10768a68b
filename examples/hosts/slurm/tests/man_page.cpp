// SPDX-License-Identifier: BSL-1.0
//
// What the program knows and the man page doesn't is found here, in the sources themselves.
#include "../src/words.hpp"
#include "governor/src/metrics.hpp"
#include "governor/tests/snapshots.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

using namespace allot_governor;

namespace {

[[nodiscard]] std::string read(const std::filesystem::path& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator<char>{in}, {}};
}
[[nodiscard]] std::set<std::string> found_in(const std::string& text, const std::string& pattern) {
  const std::regex wanted{pattern};
  std::set<std::string> names;
  for (std::sregex_iterator at{text.begin(), text.end(), wanted}, end; at != end; ++at) {
    names.insert((*at)[1]);
  }
  return names;
}

const std::filesystem::path top = std::filesystem::path{__FILE__}.parent_path().parent_path();
const std::filesystem::path sources = top / "src";

}  // namespace

TEST_CASE("man page: every command, option, key, log word and metric is in it") {
  const std::string page = read(top / "allot-slurm.8");
  REQUIRE(page.size() > 1000);
  const auto all_in_page = [&](const std::set<std::string>& names, const std::string& before,
                               std::size_t least) {
    CHECK(names.size() >= least);
    for (const std::string& name : names) {
      CAPTURE(name);
      CHECK(std::regex_search(page, std::regex{before + name + "\\b"}));
    }
  };
  const std::string program = read(sources / "main.cpp");
  all_in_page(found_in(program, "add_subcommand\\(\\s*\"([a-z-]+)\""), "\n\\.It Cm ", 3);
  all_in_page(found_in(program, "add_(?:option|flag)\\(\\s*\"--([a-z-]+)\""), "\n\\.It Fl -", 3);
  all_in_page(found_in(read(sources / "config.cpp"), "(?:find|time|text)\\(\"([a-z_]+)\""), "\n\\.It Ic ",
              12);
  std::string all;
  for (const auto& file : std::filesystem::directory_iterator{sources}) {
    if (file.path().extension() == ".cpp") all += read(file.path());
  }
  for (const char* shared : {"governor.cpp", "governor_actions.cpp", "governor_intake.cpp",
                             "governor_restart.cpp", "orders.cpp", "plan_log.cpp", "state_files.cpp"})
    all += read(top.parent_path() / "governor" / "src" / shared);
  all_in_page(found_in(all, "\\blog_?(?:\\(\\))?\\(\\s*\"([a-z]+)\""), "\n\\.It Li ", 10);
  all_in_page(found_in(metrics_of(test::sample("lab", allot_slurm::words)), "TYPE allot_slurm_([a-z_]+) "),
              "\n\\.It Li .*\\b", 30);
}
