// SPDX-License-Identifier: BSL-1.0
#include <allot/preemption/settings.hpp>

#include <doctest/doctest.h>

#include "tests/support/words.hpp"

using allot::preempt_settings;

TEST_CASE("preempt_settings: by default a quota reclaims its own and takes nothing from below") {
  constexpr preempt_settings s;
  CHECK(s.within == allot::preempt_within::lower_priority);
  CHECK(s.reclaim == allot::preempt_reclaim::any);
  CHECK_FALSE(s.children);
  CHECK(s.borrow == allot::preempt_borrow::never);
  CHECK_FALSE(s.borrow_max_priority.has_value());
  CHECK(s.rivals == allot::preempt_rivals::by_guard);
  CHECK_FALSE(asks_rivals(s));
  CHECK(with_guard(s, true).rivals == allot::preempt_rivals::any);
  CHECK(with_guard(s, false).rivals == allot::preempt_rivals::never);
}

TEST_CASE("runtime_guarantee: nothing is guaranteed by default") {
  constexpr allot::runtime_guarantee g;
  CHECK(g.preempt == 0);
  CHECK(g.reclaim == 0);
}

TEST_CASE("settings: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::preempt_within>(3));
  CHECK(allot_test::has_words<allot::preempt_reclaim>(3));
  CHECK(allot_test::has_words<allot::preempt_borrow>(2));
  CHECK(allot_test::has_words<allot::preempt_rivals>(4));
}
