// SPDX-License-Identifier: BSL-1.0
// Gangs of unlike pods: KAI's subgroups.
#include "tests/support/kai_world.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using world = allot_test::kai_set_world;

namespace {

/// A world and what a cycle decides in it. Further cycles come after "|"; before each, the evicted have left.
struct decided {
  std::string what;
  std::string told;
  std::string said;
};
std::string decide(world w, const std::string& wanted) {
  std::string said = w.step();
  for (auto more = std::count(wanted.begin(), wanted.end(), '|'); more > 0; --more) {
    w.let_go();
    said += " | " + w.step();
  }
  return said;
}

const std::string four_spines = R"(nodes 2 2 2 2 2 2 2 2
    level zone 1 1 1 1 2 2 2 2
    level spine 1 1 2 2 3 3 4 4
    level rack 1 2 3 4 5 6 7 8
    queue d - 10 1
    queue q d 10 1 limit=10
    run r q 1x2 @0
    wait p q 4x2~2:spine )";

/// What KAI-Scheduler v0.13 decides on the worlds of its own test tables whose jobs have subgroups.
const decided tables[] = {
    // allocate
    {"all of two sets of one pod", "nodes 2\n queue d - - 1\n queue q d 1 0\n wait p q 1x1+1x1", "+p@0,0"},
    {"the minimums of two sets, and no more",
     "nodes 2\n queue d - - 1\n queue q d 1 0\n wait p q 1..2x1+1..2x1", "+p@0,0 | "},
    {"three sets of which two are in a group",
     "nodes 8\n queue d - - 1\n queue q d 1 0\n wait p q 2x1+2x1+1x4", "+p@0,0,0,0,0"},
    {"a minimum for which there is no room", "nodes 4\n queue d - - 1\n queue q d 1 0\n wait p q 1..2x3+2x1",
     ""},
    {"the minimums of two jobs before more of either",
     "nodes 4\n queue d - - 1\n queue q d 1 0\n wait p q 1..2x1+1..2x1\n wait r q 1..2x1+1..2x1",
     "+p@0,0 +r@0,0 | "},
    // consolidation
    {"one is moved for both sets",
     "nodes 4 4\n queue d - - 1\n queue q d 2 0\n run r q 1x2 @0\n run s q 1x2 @1\n wait p q 1x1+1x3",
     "-s ~p"},
    {"one is moved for the minimums",
     "nodes 4 4\n queue d - - 1\n queue q d 2 0\n run r q 1x3 @0\n run s q 1x1 @1\n wait p q 1..3x2+1..3x2",
     "-s ~p"},
    {"none can be moved for both",
     "nodes 4 4\n queue d - - 1\n queue q d 2 0\n run r q 1x2 @0\n run s q 1x2 @1\n wait p q 1x3+1x3", ""},
    {"of two sets the pod that is in the way moves",
     "nodes 4 4\n queue d - - 1\n queue q d 2 0\n run r q 1x1+1x3 @0,1\n wait p q 1x4", "-r:1 ~p"},
    {"both sets move",
     "nodes 4 4 4\n queue d - - 1\n queue q d 2 0\n run r q 1x2 @0\n run s q 1x1+1x1 @1,2\n wait p q 2x4",
     "-s ~p"},
    {"a pod beyond the minimum moves",
     "nodes 4 4\n queue d - - 1\n queue q d 2 0\n run r q 1..2x1 @0,1\n wait p q 1x4", "-r:1 ~p"},
    // reclaim
    {"a gang goes for both sets",
     "nodes 2\n queue d - - 1\n queue a d 0 0\n queue b d 2 0\n run r a 2x1 @0,0\n wait p b 1x1+1x1",
     "-r ~p | +p@0,0"},
    {"a gang goes for the minimums",
     "nodes 2\n queue d - - 1\n queue a d 0 0\n queue b d 2 0\n run r a 2x1 @0,0\n wait p b 1..2x1+1..2x1",
     "-r ~p | +p@0,0"},
    {"none goes where both can't be had",
     "nodes 2\n queue d - - 1\n queue a d 0 0\n queue b d 2 0\n run r a 2x1 @0,0\n wait p b 1x2+1x2", ""},
    {"one pod of each set goes",
     "nodes 4\n queue d - - 1\n queue a d 2 0\n queue b d 2 0\n run r a 1..2x1+1..2x1 @0,0,0/0,0/1\n wait p "
     "b 1x2",
     "-r/1 -r/0 ~p | +p"},
    {"all pods of both sets go",
     "nodes 4\n queue d - - 1\n queue a d 2 0\n queue b d 2 0\n run r a 2x1+2x1 @0,0,0,0\n wait p b 1x2",
     "-r ~p | +p"},
    // preempt
    {"a gang yields to both sets",
     "nodes 2\n queue d - - 1\n queue q d 2 0\n run r q 2x1 @0,0\n wait p q 1x1+1x1 prio=100",
     "-r ~p | +p@0,0"},
    {"none yields where both can't be had",
     "nodes 2\n queue d - - 1\n queue q d 2 0\n run r q 2x1 @0,0\n wait p q 1x2+1x2 prio=100", ""},
    {"a gang yields to the minimums",
     "nodes 2\n queue d - - 1\n queue q d 2 0\n run r q 2x1 @0,0\n wait p q 1..2x1+1..2x1 prio=100",
     "-r ~p | +p@0,0"},
    {"one pod of each set yields",
     "nodes 4\n queue d - - 1\n queue q d 2 0\n run r q 1..2x1+1..2x1 @0,0,0/0,0/1\n wait p q 1x2 prio=100",
     "-r/1 -r/0 ~p | +p"},
    {"all pods of both sets yield",
     "nodes 4\n queue d - - 1\n queue q d 2 0\n run r q 2x1+2x1 @0,0,0,0\n wait p q 1x2 prio=100",
     "-r ~p | +p"},
    // topology
    {"each set in a rack, both in a zone",
     R"(nodes 2 2 2 2
        level zone 1 1 2 2
        level rack 1 2 3 4
        queue d - 6 1
        queue q d 6 1 limit=6
        run r q 1x2 @0
        wait p q 1x2!rack+1x2!rack required=zone)",
     "+p@2,3"},
    // topology of groups of sets: their pods are alike, so they are slices of one set
    {"replicas of two sets each on a spine, all in a zone", four_spines + "required=zone", "+p@4,5,6,7"},
    {"the same, all in a zone if possible", four_spines + "preferred=zone", "+p@4,5,6,7"},
    {"replicas of two sets each in a rack, all in a zone if possible",
     R"(nodes 4 4 4 4
        level zone 1 1 2 2
        level rack 1 2 3 4
        queue d - 10 1
        queue q d 10 1 limit=10
        run r q 1x1 @0
        wait p q 4x2~2:rack preferred=zone)",
     "+p@2,2,3,3"},
};

}  // namespace

TEST_CASE("kai pod_sets: KAI's own tables") {
  for (const decided& d : tables) {
    INFO(d.what);
    CHECK(decide(world{d.told}, d.said) == d.said);
  }
}

TEST_CASE("kai pod_sets: a gang of unlike pods takes back what it is due") {
  const std::string told = "nodes 3 3\n queue a - 0 0\n queue b - 6 0\n run r a 1x3 @0\n run s a 1x3 @1\n";
  CHECK(world{told + "wait x b 1x1+1x3"}.settle() == "-s -r ~x | +x@0,1");
  CHECK(world{told + "wait x b 2x1+1x3"}.settle() == "-s -r ~x | +x@0,0,1");
  CHECK(world{told + "wait x b 2x1+1x4"}.step().empty());
}

TEST_CASE("kai pod_sets: what fails does not stand for a gang of other pods") {
  // As many pods, with about as many GPUs each.
  const std::string told = "nodes 3 3\n queue a - 0 0\n queue b - 6 0\n run r a 1x3 @0\n run s a 1x3 @1\n";
  CHECK(world{told + "wait x b 1x2+1x4\n wait y b 1x3+1x3"}.step() == "-s -r ~y");
  CHECK(world{told + "wait x b 2x1+1x4\n wait y b 1x1+2x2"}.step() == "-s -r ~y");
}

TEST_CASE("kai pod_sets: sets keep the proportions of their minimums") {
  // One of the first set for two of the second, which has more to come; the first set comes first.
  CHECK(world{"nodes 8\n queue q - 8 1\n wait p q 1..3x1+2..9x1"}.settle() ==
        "+p@0,0,0 +p/0@0 +p/1@0 +p/1@0 +p/0@0 +p/1@0");
}

TEST_CASE("kai pod_sets: the set with the most times its minimum yields first") {
  const std::string told = "nodes 8\n queue a - 0 0\n queue b - 8 0\n";
  // What a set has, in times its minimum: 2 and 1.5; 1 and 2; 3 and 2, then 2 and 2, then 2 and 1.5.
  CHECK(world{told + "run r a 1..3x1+2..4x1 @0,0,0,0/0,0/1\n wait p b 1x4"}.step() == "-r/0 ~p");
  CHECK(world{told + "run r a 1..3x1+2..4x1 @0,0,0,0/1,0/1\n wait p b 1x4"}.step() == "-r/1 ~p");
  CHECK(world{told + "run r a 1..3x1+2..4x1 @0,0,0,0/0,0/1,0/1,0/0\n wait p b 1x4"}.step() ==
        "-r/0 -r/1 -r/0 ~p");
}

TEST_CASE("kai pod_sets: the next pod is of the set that has least when there is room for it") {
  world w{"nodes 4\n queue a - 4 0\n queue b - 0 0\n run r b 1..3x1+1..3x1 @0,0,0/0,0/1\n wait p a 1x1"};
  CHECK(w.step() == "-r/1 ~p");
  w.let_go();
  CHECK(w.step() == "+p");
  w.finished("p");
  CHECK(w.step() == "+r/1@0");
}

TEST_CASE("kai pod_sets: further pods of a pipelined job are planned near to it") {
  // A pod that must be in rack x has no use for what s has in the other.
  world w{R"(nodes 2 1
    level rack x y
    queue a - 0 0
    queue b - 3 0
    gone r a 1x2 @0
    run s a 1x1 @1
    wait p b 1x1+1..2x1 required=rack)"};
  CHECK(w.step() == "~p");
  w.let_go();
  CHECK(w.settle() == "+p@0,0");
}
