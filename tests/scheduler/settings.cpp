// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/settings.hpp>

#include <doctest/doctest.h>

#include "tests/support/words.hpp"

using allot::queue_settings;

TEST_CASE("queue_settings: by default priorities rank, and small jobs may pass") {
  constexpr queue_settings s;
  CHECK(s.order == allot::queue_order::priority);
  CHECK(s.head == allot::queue_head::best_effort);
  CHECK(s.preempt == allot::preempt_settings{});
  CHECK(s == queue_settings{});
  CHECK_FALSE(s == queue_settings{.order = allot::queue_order::fifo});
  CHECK_FALSE(s == queue_settings{.preempt = {.children = true}});
}

TEST_CASE("settings: in the order of age short jobs pass long ones, and large ones small ones") {
  using allot::aged_delay;
  CHECK(aged_delay(100, 0) == 1000);
  // A quarter of all.
  CHECK(aged_delay(100, 256) == 333);
  CHECK(aged_delay(100, 1024) == 111);
  CHECK(aged_delay(100, 5000) == aged_delay(100, 1024));
  CHECK(aged_delay(100, -1) == 1000);
  CHECK(aged_delay(0, 0) == 0);
  CHECK(aged_delay(allot::without_end, 0) == 0);
  CHECK(aged_delay(allot::without_end - 1, 0) == allot::without_end);
}

TEST_CASE("settings: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::queue_order>(2));
  CHECK(allot_test::has_words<allot::queue_head>(3));
  CHECK(allot_test::has_words<allot::backfill_order>(3));
  CHECK(allot_test::has_words<allot::flavor_step>(2));
}
