// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace allot_test {

/// A new directory, removed at the end of the test, however that ends.
struct scratch_directory {
  scratch_directory() { REQUIRE(mkdtemp(path.data()) != nullptr); }
  ~scratch_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;

  std::string path = (std::filesystem::temp_directory_path() / "allot-test-XXXXXX").string();
};

}  // namespace allot_test
