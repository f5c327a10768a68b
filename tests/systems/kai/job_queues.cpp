// SPDX-License-Identifier: BSL-1.0

#include "tests/support/kai_world.hpp"

#include <doctest/doctest.h>

using world = allot_test::kai_world;

TEST_CASE("job_queues: pending jobs are in order of priority and age, elastic pods after whole jobs") {
  world w{R"(
    nodes 6
    queue d - - 1
    queue a d 6 1
    run r a 3x1 min=1 @0
    wait p0 a 1x1
    wait p1 a 2x1 prio=75)"};
  CHECK(w.step() == "+p1 +p0 +r:1 +r:1");
}

TEST_CASE("job_queues: pods without a unit of their own count as requested") {
  // a asks for six, so its share is six. If it were one, b would reclaim everything.
  world w{R"(
    nodes 6
    queue a - 0 1
    queue b - 0 1
    run r a 6x1 min=1 @0,0,0
    run s b 3x1 @0,0,0
    wait p b 3x1)"};
  CHECK(w.step().empty());
}
