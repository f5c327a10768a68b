// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/dimensions.hpp>

#include <doctest/doctest.h>

#include <cstddef>

TEST_CASE("dimensions: a scenario runs with the fewest compiled dimensions that hold its resources") {
  const auto chosen_for = [](std::size_t resources) {
    return allot::lab::with_dimensions(resources, [](auto n) -> std::size_t { return n(); });
  };
  CHECK(chosen_for(0) == 1);
  CHECK(chosen_for(1) == 1);
  CHECK(chosen_for(2) == allot::lab::max_resources);
  CHECK(chosen_for(allot::lab::max_resources) == allot::lab::max_resources);
}
