// SPDX-License-Identifier: BSL-1.0

#include "tests/support/kai_world.hpp"

#include <doctest/doctest.h>

#include <string>

using world = allot_test::kai_world;

TEST_CASE("failed_units: a smaller request is tried after a failed one") {
  const std::string told = "nodes 4\n queue a - 0 0\n queue b - 2 0\n run r0 a 1x2 @0\n run r1 a 1x2 @0\n";
  CHECK(world{told + "wait p b 1x4\n wait q b 1x2"}.step() == "-r1 ~q");
  CHECK(world{told + "wait p b 3x1\n wait q b 2x1"}.step() == "-r1 ~q");
}

TEST_CASE("failed_units: an equal one is not tried again, one of another priority is") {
  const std::string told =
      "nodes 2\n queue d - - 1\n queue a d 2 0\n run r0 a 1x1 @0\n run r1 a 1x1 @0 prio=60\n";
  CHECK(world{told + "wait p a 1x1 prio=55\n wait q a 1x1 prio=75"}.step() == "-r0 ~q");
  CHECK(world{told + "wait p a 1x1 prio=40\n wait q a 1x1 prio=40"}.step().empty());
}

TEST_CASE("failed_units, trap 10: priorities are distinguished, whatever their number") {
  // 50 and 306 are equal in eight bits: the first fails, the second need not.
  const std::string told = "nodes 1\n queue d - - 1\n queue a d 1 0\n run r a 1x1 @0 prio=60\n";
  CHECK(world{told + "wait p a 1x1 prio=50\n wait q a 1x1 prio=306 yield"}.step() == "-r ~q");
}

TEST_CASE("failed_units: a job with more pending pods has a signature of its own") {
  // Only one pod of a's can be reclaimed: not enough for p, but for the next pod of e.
  CHECK(world{R"(
    nodes 3
    queue d - - 1
    queue a d 1 0
    queue b d 3 0
    run e b 4x1 min=1 @0
    run r0 a 1x1 @0
    run r1 a 1x1 @0
    wait p b 2x1)"}
            .step() == "-r1 ~e");
}
