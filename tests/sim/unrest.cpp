// SPDX-License-Identifier: BSL-1.0
#include <allot/sim/unrest.hpp>

#include <doctest/doctest.h>

#include <cstdint>

using allot::sim::unrest;

TEST_CASE("unrest: a job that is told to go again and again at one instant") {
  unrest u;
  u.begin(10);
  for (std::uint32_t i = 0; i < unrest::most_turns; ++i) {
    u.note_step();
    u.note_eviction(3, 1);
    u.note_eviction(4, 2);
    CHECK(u.may_go_on());
  }
  u.note_eviction(4, 2);
  CHECK(u.may_go_on());
  u.note_eviction(3, 1);
  CHECK_FALSE(u.may_go_on());
  CHECK(u.instants() == 1);
  CHECK(u.first() == 10);
  CHECK(u.restless_job() == 3U);
  // At another instant it counts anew, and only the first is remembered.
  u.begin(20);
  CHECK(u.may_go_on());
  for (std::uint32_t i = 0; i <= unrest::most_turns; ++i) u.note_eviction(5, 1);
  CHECK(u.instants() == 2);
  CHECK(u.first() == 10);
  CHECK(u.restless_job() == 3U);
}

TEST_CASE("unrest: steps that let nobody start or go") {
  unrest u;
  u.begin(7);
  for (std::uint32_t i = 0; i < unrest::most_idle_steps; ++i) u.note_step();
  CHECK(u.may_go_on());
  u.note_admission();
  for (std::uint32_t i = 0; i < unrest::most_idle_steps; ++i) u.note_step();
  CHECK(u.may_go_on());
  u.note_step();
  CHECK_FALSE(u.may_go_on());
  CHECK(u.first() == 7);
  CHECK_FALSE(u.restless_job());
}

TEST_CASE("unrest: many jobs may go at one instant, and many may start") {
  unrest u;
  u.begin(0);
  for (std::uint32_t j = 0; j < 1000; ++j) {
    u.note_step();
    u.note_eviction(j, 1);
    u.note_step();
    u.note_admission();
  }
  CHECK(u.may_go_on());
  CHECK(u.instants() == 0);
}
