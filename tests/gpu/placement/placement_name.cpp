// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/placement_name.hpp>

#include <doctest/doctest.h>

#include <string_view>

namespace gpu = allot::gpu;

TEST_CASE("placement_name: a name is found as it is written") {
  for (const std::string_view word : gpu::placement_names) {
    const auto name = gpu::find_placement(word);
    REQUIRE(name.has_value());
    CHECK(gpu::to_string(*name) == word);
  }
  CHECK_FALSE(gpu::find_placement("bestfit").has_value());
  CHECK_FALSE(gpu::find_placement("").has_value());
}
