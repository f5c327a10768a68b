// SPDX-License-Identifier: BSL-1.0
#include <allot/sim/setup.hpp>

#include <doctest/doctest.h>

#include <type_traits>

#include "tests/support/words.hpp"

// A simulation is set up by value; its inventory is created with the places of the jobs that run already.
static_assert(std::is_copy_constructible_v<allot::sim::setup<1>>);

TEST_CASE("setup: empty by default") {
  const allot::sim::setup<1> s{allot::quota_tree<1>{{{.name = "q"}}}, {}, {}, {}};
  CHECK(s.quota_events.empty());
  CHECK(s.node_events.empty());
  CHECK(s.running.empty());
  CHECK_FALSE(s.where.has_nodes());
  CHECK_FALSE(allot::sim::running_job_at_start{}.is_going);
}

TEST_CASE("setup: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::sim::node_change>(3));
}
