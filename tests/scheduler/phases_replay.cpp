// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/phases_replay.hpp>

#include "tests/support/kai_world.hpp"

#include <doctest/doctest.h>

#include <string>

using world = allot_test::kai_world;

TEST_CASE("phases_replay: a victim that goes first in line keeps its place, so nobody gains") {
  // a would be given it back before b's second is looked at, for b's first asks for so much.
  world w{R"(
    nodes 4
    queue d - - 1
    queue a d 2 2
    queue b d 2 2
    run r0 a 1x2 @0
    run r1 a 1x1 @0
    run r2 b 1x1 @0
    wait p0 b 1x3
    wait p1 b 1x1)"};
  CHECK(w.step().empty());
  w.scheduler().cancel(w.id("p0"));
  CHECK(w.step() == "-r1 ~p1");
}

TEST_CASE(
    "phases_replay: a victim that fits elsewhere is told to go, and has a place again in the next cycle") {
  world w{R"(
    nodes 3 2
    queue d - - 1
    queue a d 1 0
    queue b d 3 0
    run r0 a 1x1 @0
    run r1 a 1x2 @0
    wait p b 1x3)"};
  CHECK(w.step() == "-r1 -r0 ~p");
  w.let_go();
  CHECK(w.step() == "+r0 +p");
}

TEST_CASE(
    "phases_replay: of an elastic job that lost all its pods the minimum comes back, surplus does not") {
  world w{R"(
    nodes 4
    queue d - - 1
    queue a d 2 0
    queue b d 2 0
    run r a 4x1 min=2 @0,0,0,0
    wait p b 1x2)"};
  CHECK(w.step() == "-r:1 -r:1 ~p");
}

TEST_CASE("phases_replay: everything is as before when nothing was found") {
  world w{R"(
    nodes 3 3
    queue d - - 1
    queue a d 3 0
    queue b d 3 0
    run r0 a 1x2 @0 prio=40
    run r1 a 1x2 @1 prio=40
    wait p b 2x2
    wait q b 1x3 keep)"};
  const auto places = w.scheduler().places();
  const double used = w.used("d");
  CHECK(w.step() == "-r1 ~q");
  w.let_go();
  CHECK(w.step() == "+q");
  CHECK(w.used("d") == used + 1);
}
