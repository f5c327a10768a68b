// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/reservation.hpp>

#include <doctest/doctest.h>

#include "tests/support/words.hpp"

TEST_CASE("delay_cause: every cause has a name") {
  CHECK(allot_test::has_words<allot::delay_cause>(8));
  CHECK(allot::reservation{}.start == allot::without_end);
}
