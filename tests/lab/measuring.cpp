// SPDX-License-Identifier: BSL-1.0
#include "lab/report/measuring.hpp"

#include "lab/io/errors.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using allot::lab::measuring;
using allot::lab::measuring_options;
using allot::lab::nothing_measured;
using allot::lab::read_measuring;
using allot::lab::window_options;
using allot::lab::window_text;

namespace {

using options = std::vector<std::pair<std::string_view, std::string>>;

measuring read(const measuring_options& given) {
  allot::lab::errors found;
  const measuring m = read_measuring(given, found);
  CHECK_MESSAGE(found.empty(), found.to_string());
  return m;
}
std::string problem_of(const measuring_options& given) {
  allot::lab::errors found;
  static_cast<void>(read_measuring(given, found));
  return found.to_string();
}

}  // namespace

TEST_CASE("measuring: seconds, and times with units") {
  const measuring m = read({.window = "90,1d", .warm_up = "12h", .no_drain = true, .grace = "0.5"});
  CHECK(m.from == 90'000);
  CHECK(m.to == 86'400'000);
  CHECK(m.warm_up == 43'200'000);
  CHECK(m.no_drain);
  CHECK(m.grace == 500);
  CHECK_FALSE(read({.window = ",5"}).from);
  CHECK_FALSE(read({.window = "5,"}).to);
  CHECK(read({}).grace == 60'000);
}

TEST_CASE("measuring: what it is, for programs and for people") {
  CHECK(window_options(read({})).empty());
  CHECK(window_text(read({})).empty());
  CHECK(window_options(read({.warm_up = "0", .grace = "1"})).empty());
  const measuring m = read({.window = "90,1d", .warm_up = "1.5h", .no_drain = true});
  CHECK(window_options(m) == options{{"window", "90,86400"}, {"warm_up", "5400"}, {"no_drain", "true"}});
  CHECK(window_text(m) == "from 1m30s to 1d, without the first 1h30m, up to the last submission");
  CHECK(window_options(read({.window = "0.25,"})) == options{{"window", "0.25,"}});
  CHECK(window_text(read({.window = "0.25,"})) == "from 250ms on");
  CHECK(window_options(read({.window = ",7"})) == options{{"window", ",7"}});
  CHECK(window_text(read({.window = ",7"})) == "up to 7s");
  // What is written can be read again.
  for (const char* window : {"90,1d", "0.25,", ",7"}) {
    const measuring once = read({.window = window});
    const measuring again = read({.window = window_options(once).front().second});
    CHECK(again.from == once.from);
    CHECK(again.to == once.to);
  }
}

TEST_CASE("measuring: what is refused") {
  CHECK(problem_of({.window = "40"}).find("--window: expected FROM,TO (either may be left out)") == 0);
  CHECK(problem_of({.window = ","}).find("--window: expected FROM,TO") == 0);
  CHECK(problem_of({.window = "70,40"}).find("--window: expected a time that is after 70, found \"40\"") ==
        0);
  CHECK(problem_of({.window = "x,40"}).find("--window: expected seconds, or a time such as") == 0);
  CHECK(problem_of({.window = ",-5"}).find("--window: expected seconds") == 0);
  CHECK(problem_of({.warm_up = "soon"}).find("--warm-up: expected seconds") == 0);
  CHECK(problem_of({.grace = "-1"}).find("--grace: expected seconds") == 0);
  CHECK(
      problem_of({.window = "0,1h", .warm_up = "1h"})
          .find(
              "--warm-up: nothing would be measured: the window ends at 1h, and the first 1h are left out") ==
      0);
}

TEST_CASE("measuring: a replay that ends before anything is measured") {
  const measuring from = read({.window = "1h,"});
  CHECK(nothing_measured(from, std::nullopt).empty());
  CHECK(nothing_measured(from, 3'600'001).empty());
  CHECK(nothing_measured(from, 3'600'000) ==
        "nothing would be measured: the window begins at 1h, and the replay ends at 1h");
  const measuring warm = read({.warm_up = "1h"});
  CHECK(nothing_measured(warm, 3'600'001).empty());
  CHECK(nothing_measured(warm, 60'000) ==
        "nothing would be measured: the first 1h are left out, and the replay ends at 1m");
  CHECK(nothing_measured(read({}), 0).empty());
}
