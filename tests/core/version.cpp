// SPDX-License-Identifier: BSL-1.0
#include <allot/core/version.hpp>

#include <doctest/doctest.h>

#include <string>

TEST_CASE("version: CMake has read the version from the header") {
  const std::string version = std::to_string(allot::version_major) + "." +
                              std::to_string(allot::version_minor) + "." +
                              std::to_string(allot::version_patch);
  CHECK(version == ALLOT_TEST_PROJECT_VERSION);
}
