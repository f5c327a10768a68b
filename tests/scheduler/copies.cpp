// SPDX-License-Identifier: BSL-1.0
// A copy of a scheduler is a different object that decides alike. For all presets: tests/systems/copies.cpp.
#include <allot/presets/standard.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <doctest/doctest.h>

#include "tests/support/copies.hpp"

TEST_CASE("copies: of a scheduler by type, on an inventory") {
  using allot_test::check_copies;
  check_copies<allot::gpu::inventory>(allot::standard{});
  check_copies<allot::gpu::inventory>(allot::standard{.gather = 20, .strict_after = 30});
}
