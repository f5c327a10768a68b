// SPDX-License-Identifier: BSL-1.0
#include <allot/presets/options.hpp>

#include <doctest/doctest.h>

using allot::preset_options;

TEST_CASE("preset_options: nothing is chosen unless it is said") {
  preset_options o;
  CHECK_FALSE(o.chooses_parts());
  o.surplus = allot::surplus_name::quota;
  o.k = 1000;
  // These do not change whose turn it is by themselves.
  CHECK_FALSE(o.chooses_parts());
  o.guard = allot::guard_name::none;
  CHECK(o.chooses_parts());
}
