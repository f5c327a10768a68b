// SPDX-License-Identifier: BSL-1.0

#include "tests/support/kai_world.hpp"

#include <allot/sim/places.hpp>

#include <doctest/doctest.h>

#include <string>

using world = allot_test::kai_world;

static_assert(allot::node_aware_placement<allot::gpu::inventory>);
static_assert(!allot::node_aware_placement<allot::no_placement>);

TEST_CASE("cycle_state: a job that fits at once is bound although another is pipelined") {
  // The job pending for node 0 is older; the other one has node 1 now.
  world w{R"(
    nodes 2 1
    queue d - - 1
    queue a d 3 1
    gone l a 1x2 @0
    wait p a 1x2
    wait q a 1x1)"};
  CHECK(w.step() == "~p +q");
}

TEST_CASE("cycle_state: capacity that a pipelined gang waits for is not free") {
  // One of its pods could start at once, but does not.
  world w{R"(
    nodes 5
    queue d - - 1
    queue a d 5 1
    run r a 1x2 @0
    gone l a 1x2 @0
    wait p a 3x1
    wait q a 1x1 prio=49)"};
  CHECK(w.step() == "~p");
}

TEST_CASE("cycle_state: a pipelined job may yield in the same cycle, and then waits for the next") {
  // r1 is evicted for p0. Then b, which deserves five, reclaims them from a.
  world w{R"(
    nodes 5 5
    queue d - - 1
    queue a d 5 0
    queue b d 5 0
    run r0 a 1x3 @0
    run r1 a 1x2 @1
    run r2 a 1x1 @1
    wait p0 a 1x4
    wait p1 b 1x5)"};
  CHECK(w.step() == "-r1 -r2 ~p1");
  w.let_go();
  CHECK(w.step() == "+p1 +r1");
}

TEST_CASE("cycle_state: a pipelined job that finds its place again makes room for another") {
  // Without a possible victim KAI does not search for room; x is a possible victim, but is not needed.
  world w{R"(
    nodes 1 1 1
    queue d - - 1
    queue a d 0 1
    queue b d 1 0
    queue c d 1 0
    run g a 3x1 @0,1,2
    wait x b 1x1
    wait y c 1x1)"};
  CHECK(w.step() == "-g ~x ~y");
}

TEST_CASE("cycle_state: pipelined units are forgotten at the end of the cycle") {
  world w{R"(
    nodes 2
    queue d - - 1
    queue a d 2 1
    gone l a 1x2 @0
    wait p a 1x2)"};
  const auto before = w.scheduler().places().size();
  CHECK(w.step() == "~p");
  CHECK(w.scheduler().places().size() == before);
  CHECK(w.scheduler().state(w.id("p")) == allot::job_state::pending);
  w.finished("l");
  CHECK(w.step() == "+p");
}

TEST_CASE("cycle_state: nothing is assumed: a job submitted in between may get the place") {
  // Of a queue that is first by then.
  world w{R"(
    nodes 2
    queue d - - 1
    queue a d 2 1
    queue b d 2 1
    run r a 1x2 @0 prio=10
    wait p a 1x2)"};
  CHECK(w.step() == "-r ~p");
  w.tell("wait q b 1x2");
  w.finished("r");
  w.tell("wait s a 1x1 prio=99");
  CHECK(w.step() == "+s");
}

TEST_CASE("cycle_state: only leaves run jobs") {
  world w{R"(
    nodes 2
    queue d - - 1
    queue a d 1 1
    wait p d 1x1
    wait q a 1x1)"};
  CHECK(w.step() == "+q");
}

TEST_CASE("cycle_state: an elastic job that waits goes on with its other pods") {
  SUBCASE("all that fit when allocating, before a lower priority") {
    world w{R"(
      nodes 3
      queue d - - 1
      queue a d 3 1
      gone l a 1x3 @0
      wait p a 3x1 min=1
      wait q a 1x1 prio=49)"};
    CHECK(w.step() == "~p");
  }
  SUBCASE("one in each action") {
    world w{R"(
      nodes 2
      queue d - - 1
      queue a d 0 0
      queue b d 2 0
      run r0 a 1x1 @0
      run r1 b 1x1 @0 prio=40
      wait p b 2x1 min=1)"};
    CHECK(w.step() == "-r0 -r1 ~p");
    w.let_go();
    CHECK(w.step() == "+p:1 +p:1");
  }
  SUBCASE("none waits for longer than the cycle") {
    world w{R"(
      nodes 3
      queue d - - 1
      queue a d 3 1
      gone l a 1x3 @0
      wait p a 3x1 min=1)"};
    CHECK(w.step() == "~p");
    CHECK(w.step().empty());
    w.finished("l");
    CHECK(w.step() == "+p:1 +p:1 +p:1");
  }
}

TEST_CASE("cycle_state: the further pods of an elastic job that waits may yield one by one") {
  // e is the first to wait for l, with all its pods; three of them are more than the share of a.
  world w{R"(
    nodes 4
    queue a - 1 0 prio=1
    queue b - 0 1
    gone l b 1x4 @0
    wait e a 4x1 min=1
    wait p b 1x2)"};
  CHECK(w.step() == "~e ~p");
}

TEST_CASE("cycle_state: a fraction starts on what is left of a device until others need it") {
  const std::string shared = "nodes 1\n queue a - 1 1\n run r a 1x0.2 @0:0\n gone l a 1x0.4 @0:0\n";
  CHECK(world{shared + "wait p a 1x0.5\n wait q a 1x0.3"}.step() == "~p +q");
  CHECK(world{shared + "wait p a 1x0.3\n wait q a 1x0.5"}.step() == "~q +p");
  // Together there is no room for all.
  CHECK(world{shared + "wait p a 1x0.5\n wait q a 1x0.4"}.step() == "~p");
  // A device that all are leaving is not shared with them.
  CHECK(world{"nodes 1\n queue a - 1 1\n gone l a 1x0.4 @0:0\n wait p a 1x0.3\n wait q a 1x0.2"}.step() ==
        "~p ~q");
}

TEST_CASE("cycle_state: a fraction waits only where something is idle or leaving, or with the victims") {
  // p1 waits for the GPU of k. What it leaves of that is not yet there for p2, which takes the part of v.
  world w{R"(
    nodes 1 1
    queue d - - 1
    queue a d 0 0
    queue b d 2 0
    run u b 1x0.5 @1
    run v a 1x0.5 @1
    run k a 1x1 @0
    wait p1 b 1x0.7
    wait p2 b 1x0.2)"};
  CHECK(w.step() == "-k -v ~p1 ~p2");
}
