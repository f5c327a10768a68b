// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/phases_lines.hpp>

#include "tests/support/kai_world.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using allot::detail::unit_rank;
using world = allot_test::kai_world;

TEST_CASE("unit_rank: priority, then who is below its minimum, then age") {
  // The key is less for a higher priority.
  const unit_rank high{-9, 2, 50, 5, 3}, waits{-5, 0, 40, 4, 0}, runs{-5, 1, 10, 1, 0}, grows{-5, 2, 1, 2, 0},
      newer{-5, 2, 1, 3, 0}, later_pod{-5, 2, 1, 3, 1};
  const std::vector<unit_rank> line{high, waits, runs, grows, newer, later_pod};
  CHECK(std::is_sorted(line.begin(), line.end()));
  CHECK(grows != newer);
}

TEST_CASE("phases_lines: surplus yields before whole jobs, of each job the last pod first") {
  world w{R"(
    nodes 6
    queue d - - 1
    queue a d 0 0
    queue b d 6 1
    run r0 a 3x1 min=1 @0,0,0
    run r1 a 1x1 @0
    run r2 a 2x1 min=1 @0,0 prio=75
    wait p0 b 1x1
    wait p1 b 1x1
    wait p2 b 1x1)"};
  // The surplus of the lower priority, then its jobs, though r2 could do with less.
  CHECK(w.step() == "-r0:1 -r0:1 -r1 ~p0 ~p1 ~p2");
}

TEST_CASE("phases_lines: who waits goes by priority and age, and surplus after whole jobs") {
  world w{R"(
    nodes 6
    queue d - - 1
    queue a d 6 1
    run r a 3x1 min=1 @0
    wait p0 a 1x1
    wait p1 a 2x1 prio=75)"};
  CHECK(w.step() == "+p1 +p0 +r:1 +r:1");
}

TEST_CASE("phases_lines: pods that are no units yet count as asked for") {
  // a asks for six: its share is six. Were it one, b would take all back.
  world w{R"(
    nodes 6
    queue a - 0 1
    queue b - 0 1
    run r a 6x1 min=1 @0,0,0
    run s b 3x1 @0,0,0
    wait p b 3x1)"};
  CHECK(w.step().empty());
}
