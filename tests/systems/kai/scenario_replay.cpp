// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/kai/detail/scenario_replay.hpp>

#include "tests/support/kai_world.hpp"

#include <doctest/doctest.h>

#include <string>

using world = allot_test::kai_world;

TEST_CASE("scenario_replay: a victim that is first in line keeps its place, so the scenario fails") {
  // a would be given it back before b's second job is tried, because b's first asks for that much.
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

TEST_CASE("scenario_replay: a victim that fits elsewhere is evicted, and placed again in the next cycle") {
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
    "scenario_replay: of a gang, the pods come back one by one where they stood, and only others move") {
  // Node 0 has room for all four once they are released, so the one on node 1 is placed there too.
  world w{R"(
    nodes 4 4
    queue d - - 1
    queue a d 1 0
    run g a 4x1 @0,0,0,1
    wait p a 1x4)"};
  CHECK(w.step() == "-g:1 ~p");
  w.let_go();
  CHECK(w.step() == "+g +p");
}

TEST_CASE("scenario_replay: a fraction goes to the fullest GPU, counting pods that are leaving") {
  // p1 takes the GPU that k releases. p2 would fit there, but takes v's part of the other GPU.
  world w{R"(
    nodes 2
    queue d - - 1
    queue a d 0 0
    queue b d 2 1
    run t b 1x0.25 @0
    run v a 1x0.75 @0
    run k a 1x1 @0
    wait p1 b 1x0.8
    wait p2 b 1x0.1)"};
  CHECK(w.step() == "-k -v ~p1 ~p2");
}

TEST_CASE(
    "scenario_replay: of an elastic job that lost all its pods the minimum comes back, surplus does not") {
  world w{R"(
    nodes 4
    queue d - - 1
    queue a d 2 0
    queue b d 2 0
    run r a 4x1 min=2 @0,0,0,0
    wait p b 1x2)"};
  CHECK(w.step() == "-r:1 -r:1 ~p");
}

TEST_CASE("scenario_replay: everything is as before when nothing was found") {
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

TEST_CASE(
    "scenario_replay: who is passed over has a turn of its own, though it asks for the same as the last") {
  // Behind b's second job d0 is at 10/8, before d1 at 12/8. So a has a turn and u1 is passed over. From then
  // on u2 represents d0, at 13/8, and c's jobs precede p.
  std::string told = R"(
    nodes 8 8
    queue d0 - 8 1
    queue a d0 4 1
    queue b d0 4 1
    queue d1 - 8 1
    queue c d1 8 1
    run s b 4x1 @0,0,0,0)";
  for (int i = 0; i < 12; ++i) {
    told += "\n run r" + std::to_string(i) + " c 1x1 @" + (i < 4 ? "0" : "1");
  }
  told += "\n wait b1 b 1x1\n wait b2 b 6x1\n wait u1 a 9x1";
  CHECK(world{told + "\n wait p a 1x1"}.step() == "-r11 ~p");
  CHECK(world{told + "\n wait u2 a 9x1\n wait p a 1x1"}.step().empty());
}

TEST_CASE("scenario_replay: a pod to be served ranks like a job below its minimum") {
  // The next pod of e is first in its queue then, though p is below its minimum and e is not.
  CHECK(world{R"(
    nodes 3 3
    queue d - - 1
    queue a d 2 1
    queue b d 0 1
    run r b 3x1 min=2 @1,0,1
    run e a 4x2 min=1 @0
    wait p a 1x3
    wait q a 3x3 min=2)"}
            .step() == "-r:1 ~e");
}

TEST_CASE("scenario_replay: a pod that would come back to where it ran moves as it was told, room or not") {
  // g leaves for p1. For p2 all pods of j are told to move, the first from node 0 to node 1, where p3 gets
  // its place; it would come back to node 0. KAI takes back its second eviction instead, and reservations p4
  // what is left on node 0. b has no more than it deserves, so j can't go for good.
  const std::string told = R"(
    nodes 3 3
    queue d - - 1
    queue a d 4 0 prio=1
    queue b d 3 0
    run j b 3x1 @0,1,1
    run g b 3x1 @0,0,1
    wait p1 a 1x1
    wait p2 a 1x1
    wait p3 a 1x1)";
  CHECK(world{told}.step() == "-g -j ~p1 ~p2 ~p3");
  CHECK(world{told + "\n wait p4 a 1x1"}.step() == "-g -j ~p1 ~p2 ~p3 ~p4");
}

TEST_CASE("scenario_replay: several pods that move as they were told may be given one place") {
  // For q, two pods of j are told to move. For p, j would come back with three where there is room for two,
  // but those that move as they were told need none. So j does not go for good.
  CHECK(world{R"(
    nodes 2 2 2
    queue d - - 1
    queue a d 2 0
    queue b d 1 2
    queue c d 1 5
    queue e d 0 2
    run j e 3x1 @1,2,2
    run g e 3x1 @0,0,1
    wait o a 1x1
    wait p c 1x2 prio=60
    wait q b 1x1 prio=60)"}
            .step() == "-g -j:2 ~o ~q ~p");
}
