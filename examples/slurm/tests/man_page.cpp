// SPDX-License-Identifier: BSL-1.0
//
// What the program knows and the man page doesn't is found here, in the sources themselves.
#include "../metrics.hpp"
#include "snapshots.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

using namespace allot_slurm;

namespace {

[[nodiscard]] std::string read(const std::filesystem::path& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator<char>{in}, {}};
}
[[nodiscard]] bool is_in_word(char c) {
  return ('a' <= c && c <= 'z') || c == '_' || c == '-';
}
/// The words that follow one of these texts, whatever line breaks there are before a quote.
[[nodiscard]] std::set<std::string> words_after(const std::string& text,
                                                const std::vector<std::string>& before) {
  std::string joined;
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\n';
    if (!is_space || joined.empty() || joined.back() != '(') joined += c;
  }
  std::set<std::string> words;
  for (const std::string& b : before) {
    for (std::size_t at = 0; (at = joined.find(b, at)) != std::string::npos;) {
      at += b.size();
      std::size_t end = at;
      while (end < joined.size() && is_in_word(joined[end])) ++end;
      if (end != at) words.insert(joined.substr(at, end - at));
    }
  }
  return words;
}
/// Whether a line that begins so has the word.
[[nodiscard]] bool has_line(const std::string& page, const std::string& begin, const std::string& word) {
  for (std::size_t at = 0; (at = page.find('\n' + begin, at)) != std::string::npos; ++at) {
    const std::string line = page.substr(at + 1, page.find('\n', at + 1) - at - 1) + ' ';
    for (std::size_t w = begin.size(); (w = line.find(word, w)) != std::string::npos; ++w) {
      if (!is_in_word(line[w - 1]) && !is_in_word(line[w + word.size()])) return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("man page: every command, option, key, log word and metric is in it") {
  const auto sources = std::filesystem::path{__FILE__}.parent_path().parent_path();
  const std::string page = read(sources / "allot-slurm.8");
  REQUIRE(page.size() > 1000);
  const auto all_in_page = [&](const std::set<std::string>& names, const std::string& begin,
                               std::size_t least) {
    CHECK(names.size() >= least);
    for (const std::string& name : names) {
      CAPTURE(name);
      CHECK(has_line(page, begin, name));
    }
  };
  const std::string program = read(sources / "main.cpp");
  all_in_page(words_after(program, {"add_subcommand(\""}), ".It Cm ", 4);
  std::set<std::string> options;
  for (const std::string& o : words_after(program, {"add_option(\"-", "add_flag(\"-"})) options.insert(o);
  all_in_page(options, ".It Fl ", 4);
  all_in_page(words_after(read(sources / "config.cpp"), {"find(\"", "time(\"", "text(\""}), ".It Ic ", 12);
  std::string all;
  for (const auto& file : std::filesystem::directory_iterator{sources}) {
    if (file.path().extension() == ".cpp") all += read(file.path());
  }
  all_in_page(words_after(all, {"log_(\"", "log(\"", "log()(\""}), ".It Li ", 10);
  all_in_page(words_after(metrics_of(test::sample("lab")), {"TYPE allot_slurm_"}), ".It Li ", 30);
}
