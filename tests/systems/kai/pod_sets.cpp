// SPDX-License-Identifier: BSL-1.0
// Gangs of unlike pods: KAI's subgroups.
#include "tests/support/kai_world.hpp"

#include <doctest/doctest.h>

#include <string>

using world = allot_test::kai_set_world;

TEST_CASE("kai pod_sets: a gang of unlike pods takes back what it is due") {
  const std::string told = "nodes 3 3\n queue a - 0 0\n queue b - 6 0\n run r a 1x3 @0\n run s a 1x3 @1\n";
  CHECK(world{told + "wait x b 1x1+1x3"}.settle() == "-s -r ~x | +x@0,1");
  CHECK(world{told + "wait x b 2x1+1x3"}.settle() == "-s -r ~x | +x@0,0,1");
  CHECK(world{told + "wait x b 2x1+1x4"}.step().empty());
}

TEST_CASE("kai pod_sets: what fails does not stand for a gang of other pods") {
  // Of as many pods, and on the average of as many GPUs.
  const std::string told = "nodes 3 3\n queue a - 0 0\n queue b - 6 0\n run r a 1x3 @0\n run s a 1x3 @1\n";
  CHECK(world{told + "wait x b 1x2+1x4\n wait y b 1x3+1x3"}.step() == "-s -r ~y");
  CHECK(world{told + "wait x b 2x1+1x4\n wait y b 1x1+2x2"}.step() == "-s -r ~y");
}
