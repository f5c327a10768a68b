// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/change_story.hpp>

#include <doctest/doctest.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

using namespace allot;
using lab::asked_change;

namespace {

std::optional<asked_change> read(std::string_view text) {
  std::string problem;
  auto c = lab::read_change(text, problem);
  CHECK(c.has_value() == problem.empty());
  return c;
}
std::string times(instant at) {
  return std::to_string(at) + " ms";
}

}  // namespace

TEST_CASE("change story: changes are read") {
  const auto more = read("quota:a:b:gres/gpu:h100+1.5");
  REQUIRE(more);
  CHECK(more->name == "a:b:gres/gpu");
  CHECK(more->resource == "h100");
  CHECK(more->by == quantity::milli(1500));
  CHECK(read("quota:a:gpu-8")->by == -gpus(8));
  const auto priority = read("job:123_4:priority=-5");
  REQUIRE(priority);
  CHECK(priority->what == asked_change::kind::priority);
  CHECK(priority->name == "123_4");
  CHECK(priority->priority == -5);
  CHECK(read("job:x:gone")->what == asked_change::kind::job_gone);
  CHECK(read("node:n-1:gone")->what == asked_change::kind::node_gone);
  for (const std::string& wrong :
       std::initializer_list<std::string>{"", ":", "quota", "quota:a", "quota:a:gpu", "quota:a:gpu+",
                                          "quota:a:+x", "job:x:", "job:x:priority=", "job:x:priority=5.5",
                                          "job:x:priority=5 ", "node:n:drained", "team:a:gpu+1"}) {
    CAPTURE(wrong);
    CHECK_FALSE(read(wrong));
  }
}

TEST_CASE("change story: lists of jobs become text and JSON, and what names hold does no harm") {
  lab::change_story story;
  CHECK(lab::to_text(story, &times) == "Nothing would be otherwise.\n");
  lab::change_story::job j{"a\x1b[2J", "team"};
  j.was_start = 4000;
  j.start = 1500;
  story.jobs[6].push_back(j);
  CHECK(lab::to_text(story, &times).find('\x1b') == std::string::npos);
  CHECK(lab::to_text(story, &times).find("(team) by 1500 ms instead of 4000 ms") != std::string::npos);
  const std::string asked[] = {"quota:a:gpu+1"};
  INFO(lab::to_json(story, asked));
  CHECK(lab::to_json(story, asked).find("\"was_start_s\": 4") != std::string::npos);
}
