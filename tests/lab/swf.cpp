// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/swf.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/seeds.hpp"

using namespace allot::lab;

namespace {

using outcome = swf_reader::outcome;

std::string told(const std::vector<text_problem>& problems) {
  std::string all;
  for (const text_problem& p : problems) all += to_string(p) + '\n';
  return all;
}

std::string problems_of(std::string_view line) {
  swf_reader r{string_source{line}};
  CHECK(r.next() == outcome::bad_line);
  return told(r.problems());
}

}  // namespace

TEST_CASE("swf_reader: header, comments, jobs") {
  swf_reader r{
      string_source{"; Version: 2.2\n;   Computer: an SP2 \r\n; no header line\n\n"
                    " 1\t0 5 60.5 4 -1 -1 8 3600 -1 1 3 4 -1 2 1 -1 -1 ; the first: job\r\n"
                    "; Later: no header any more\n"
                    "2 10 -1 -1 -1 -1 -1 2 -1 512 0 -1 -1 -1 -1 -1 1 0.1234567"}};
  REQUIRE(r.next() == outcome::job);
  CHECK(r.line() == 5);
  CHECK(r.header("Version") == "2.2");
  CHECK(r.header("Computer") == "an SP2");
  CHECK_FALSE(r.header("Later"));
  CHECK(r.job().whole(swf_field::job_number) == 1);
  CHECK(r.job().time(swf_field::run_time) == 60'500);
  CHECK(r.job().whole(swf_field::requested_processors) == 8);
  CHECK_FALSE(r.job().whole(swf_field::executable));
  CHECK_FALSE(r.is_cut_off());
  REQUIRE(r.next() == outcome::job);
  CHECK_FALSE(r.job().time(swf_field::run_time));
  CHECK(r.job().whole(swf_field::requested_memory) == 512);
  CHECK(r.job().time(swf_field::think_time) == 123);
  CHECK(r.is_cut_off());
  CHECK(r.next() == outcome::end);
  CHECK(r.next() == outcome::end);
  CHECK(r.header().size() == 2);
}

TEST_CASE("swf_reader: an empty text, and one with a byte order mark") {
  swf_reader none{string_source{""}};
  CHECK(none.next() == outcome::end);
  swf_reader only_comments{string_source{"\xEF\xBB\xBF; Version: 2.2\n;\n\n"}};
  CHECK(only_comments.next() == outcome::end);
  CHECK(only_comments.header("Version") == "2.2");
}

TEST_CASE("swf_reader: problems of a line, with their place") {
  CHECK(problems_of("1 2 3\n") == "line 1, column 5: expected 18 fields, found 3\n");
  CHECK(problems_of("1 0 0 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n") ==
        "line 1, column 37: expected 18 fields, found 19\n");
  CHECK(problems_of("x 0 0 nan 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n") ==
        "line 1, column 1 (job_number): expected a number, found \"x\"\n"
        "line 1, column 7 (run_time): expected a number, found \"nan\"\n");
  CHECK(
      problems_of("1 0 0 -5 1 1 1 1.5 1 1 1 1 1 1 1 1 1 1\n") ==
      "line 1, column 7 (run_time): expected a number that is not negative, or -1 for unknown, found \"-5\"\n"
      "line 1, column 16 (requested_processors): expected a whole number, found \"1.5\"\n");
  CHECK(problems_of("1 1000000000000000000 -1000000000000000000000 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n") ==
        "line 1, column 3 (submit_time): expected at most 1000000000000, found \"1000000000000000000\"\n"
        "line 1, column 23 (wait_time): expected a number that is not negative, or -1 for unknown, found "
        "\"-1000000000000000000000\"\n");
  CHECK(problems_of("\xEF\xBB\xBF\x31,0 0\n") == "line 1, column 8: expected 18 fields, found 2\n");
}

TEST_CASE("swf_reader: fields that are not needed are unknown if they can't be read") {
  constexpr std::array unneeded = {swf_field::status, swf_field::used_memory};
  swf_reader r{string_source{"1 0 5 60 4 -1 1.5 8 9 -1 failed 3 4 -1 2 1 -1 -1\n"
                             "2 0 5 60 4 -1 1.5 8 9 -1 1 ana 4 -1 2 1 -1 -1\n"
                             "3 0 5 60 4 -1 1 8 9 -1 1 3 4 -1 2 1 -1 -1\n"
                             "4 0 5 60 4 -1 x\n"},
               swf_reader::default_line_limit, unneeded};
  REQUIRE(r.next() == outcome::job);
  CHECK_FALSE(r.job().whole(swf_field::status));
  CHECK_FALSE(r.job().whole(swf_field::used_memory));
  CHECK(r.job().whole(swf_field::user) == 3);
  CHECK(told(r.problems()) ==
        "line 1, column 15 (used_memory): expected a whole number, found \"1.5\"\n"
        "line 1, column 26 (status): expected a number, found \"failed\"\n");
  CHECK(r.next() == outcome::bad_line);
  CHECK(told(r.problems()).find("(user): expected a number") != std::string::npos);
  REQUIRE(r.next() == outcome::job);
  CHECK(r.problems().empty());
  CHECK(r.next() == outcome::bad_line);
}

TEST_CASE("swf_reader: lines that are too long, texts that can't be read") {
  const std::string text = "; fine\n" + std::string(200'000, '1');
  swf_reader r{string_source{text}};
  CHECK(r.next() == outcome::failed);
  CHECK(told(r.problems()) == "line 2, column 1: the line is longer than 65536 bytes\n");
  CHECK(r.next() == outcome::failed);
  CHECK(told(r.problems()) == "line 2, column 1: the line is longer than 65536 bytes\n");

  // Whether the line arrives at once or in pieces.
  const std::string just = std::string(65'536, ' ') + "\n" + std::string(65'537, ' ') + "\n";
  swf_reader at_once{string_source{just}};
  CHECK(at_once.next() == outcome::failed);
  CHECK(at_once.problems().front().place.line == 2);

  std::size_t calls = 0;
  const auto broken = [&calls](char* to, std::size_t) -> std::ptrdiff_t {
    if (++calls == 3) return -1;
    *to = '\n';
    return 1;
  };
  swf_reader b{broken};
  CHECK(b.next() == outcome::failed);
  CHECK(told(b.problems()) == "line 3, column 1: the text can't be read any further\n");
}

TEST_CASE("swf_reader: reads the same from any split into pieces") {
  allot_test::for_each_seed(100, [](allot_test::random_source& random) {
    std::vector<swf_job> jobs(random.below(300));
    std::string text = "; Version: 2.2\n";
    for (swf_job& job : jobs) {
      for (std::size_t f = 0; f < job.milli.size(); ++f) {
        text += random.one_in(3) ? "  " : "\t";
        if (random.one_in(4)) {
          text += "-1";
          continue;
        }
        const std::int64_t n = random.between(0, random.one_in(2) ? 9 : 1'000'000'000'000);
        job.milli[f] = n * 1000;
        text += std::to_string(n);
      }
      text += random.one_in(5) ? "\r\n" : "\n";
      if (random.one_in(9)) text += random.one_in(2) ? "\n" : "; comment\n";
    }
    std::string_view rest = text;
    const auto source = [&](char* to, std::size_t size) {
      const std::size_t n = std::min({size, rest.size(), 1 + random.below(400)});
      rest.copy(to, n);
      rest.remove_prefix(n);
      return static_cast<std::ptrdiff_t>(n);
    };
    swf_reader r{source};
    for (const swf_job& job : jobs) {
      REQUIRE(r.next() == outcome::job);
      CHECK(r.job() == job);
    }
    CHECK(r.next() == outcome::end);
  });
}
