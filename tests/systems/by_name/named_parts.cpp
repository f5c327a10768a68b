// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/by_name/named_parts.hpp>

#include <doctest/doctest.h>

#include "tests/support/words.hpp"

TEST_CASE("named_parts: what changes no decision by itself is no choice") {
  allot::named_parts parts;
  CHECK_FALSE(parts.chooses_any());
  parts.surplus = allot::surplus_name::quota;
  parts.k = 500;
  CHECK_FALSE(parts.chooses_any());
  parts.guard = allot::guard_name::none;
  CHECK(parts.chooses_any());
  CHECK_FALSE(parts.judges_rivals());
  parts.guard = allot::guard_name::final_share;
  CHECK(parts.judges_rivals());
}

TEST_CASE("named_parts: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::surplus_name>(8));
  CHECK(allot_test::has_words<allot::rounding_name>(3));
  CHECK(allot_test::has_words<allot::quota_order_name>(8));
  CHECK(allot_test::has_words<allot::victim_order_name>(3));
  CHECK(allot_test::has_words<allot::guard_name>(5));
}

TEST_CASE("named_parts: those of standard can be replaced, and of what keeps its parts") {
  struct keeps : allot::standard {};
  struct has_default_parts : allot::standard {
    using policies_type = allot::policies<>;
  };
  struct has_own : allot::standard {
    using policies_type = allot::policies<allot::submission_first>;
  };
  CHECK(allot::takes_named_parts<allot::standard>);
  CHECK(allot::takes_named_parts<keeps>);
  CHECK(allot::takes_named_parts<has_default_parts>);
  CHECK_FALSE(allot::takes_named_parts<has_own>);
}
