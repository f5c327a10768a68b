// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/promise.hpp>

#include <doctest/doctest.h>

#include "tests/support/words.hpp"

TEST_CASE("promise: every cause has a name") {
  CHECK(allot_test::has_words<allot::delay_cause>(7));
  CHECK(allot::promise{}.start == allot::without_end);
}
