// SPDX-License-Identifier: BSL-1.0

#include "tests/support/kai_world.hpp"

#include <doctest/doctest.h>

#include <string>

using world = allot_test::kai_world;

TEST_CASE("running_pods: elastic pods yield before whole jobs, the last pod of each job first") {
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
  // First the surplus pods of the lower priority, then its jobs, though r2 could do with less.
  CHECK(w.step() == "-r0:1 -r0:1 -r1 ~p0 ~p1 ~p2");
}

TEST_CASE("running_pods: a line follows starts, ends and reused indexes") {
  world w{R"(
    nodes 4
    queue d - - 1
    queue a d 0 0
    queue b d 4 1
    run r0 a 1x1 @0
    run r1 a 1x1 @0
    run r2 a 1x1 @0
    run r3 a 1x1 @0)"};
  w.tell("wait p0 b 1x1");
  CHECK(w.step() == "-r3 ~p0");
  w.let_go();
  CHECK(w.step() == "+p0");
  w.finished("r2");
  w.tell("wait q a 1x1 prio=75");  // It gets the index of r2, and is evicted last.
  CHECK(w.id("q").index() == 2);
  w.scheduler().cancel(w.id("r3"));
  CHECK(w.step() == "+q");
  w.tell("wait p1 b 1x1");
  CHECK(w.step() == "-r1 ~p1");
}
