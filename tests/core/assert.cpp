// SPDX-License-Identifier: BSL-1.0
#include <allot/core/assert.hpp>

#include <doctest/doctest.h>

namespace {

constexpr int half(int n) {
  ALLOT_ASSERT(n % 2 == 0, "half of an even number");
  return n / 2;
}
static_assert(half(8) == 4);  // the macro is usable in constant expressions

}  // namespace

TEST_CASE("assert: the handler can be replaced, and gets the message") {
  CHECK(half(4) == 2);
  CHECK_THROWS_WITH_AS((void)half(3), "half of an even number", allot_test::assertion_failed);
}

TEST_CASE("assert: the condition is evaluated once and may contain operators of any precedence") {
  int evaluated = 0;
  ALLOT_ASSERT(++evaluated == 1 || evaluated == 2, "once");
  CHECK(evaluated == 1);
  CHECK_THROWS_AS(ALLOT_ASSERT(evaluated == 1 ? false : true, "a condition with ?:"),
                  allot_test::assertion_failed);
}
