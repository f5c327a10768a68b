// SPDX-License-Identifier: BSL-1.0
#include <allot/presets/options.hpp>

#include <doctest/doctest.h>

#include "tests/support/words.hpp"

using allot::preset_options;

TEST_CASE("preset_options: empty by default") {
  preset_options o;
  CHECK_FALSE(o.chooses_parts());
  o.surplus = allot::surplus_name::quota;
  o.k = 1000;
  // These do not change the order by themselves.
  CHECK_FALSE(o.chooses_parts());
  o.guard = allot::guard_name::none;
  CHECK(o.chooses_parts());
}

TEST_CASE("options: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::surplus_name>(8));
  CHECK(allot_test::has_words<allot::rounding_name>(3));
  CHECK(allot_test::has_words<allot::quota_order_name>(8));
  CHECK(allot_test::has_words<allot::victim_order_name>(3));
  CHECK(allot_test::has_words<allot::guard_name>(5));
  CHECK(allot_test::has_words<allot::hyperpod_idle>(2));
  CHECK(allot_test::has_words<allot::hyperpod_tasks>(2));
  CHECK(allot_test::has_words<allot::fair_strategies>(3));
}
