// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/job_state.hpp>

#include <doctest/doctest.h>

#include "tests/support/words.hpp"

TEST_CASE("job_state: every value has a name") {
  CHECK(allot_test::has_words<allot::job_state>(6));
}
