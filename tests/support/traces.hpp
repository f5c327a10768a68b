// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

namespace allot_test {

/// The path of a real trace such as "philly128/jobs.csv", if it exists, in the directory ALLOT_TRACES or in
/// ../shared/traces beside the repository. The traces are not part of the project, so a test without its
/// trace reports that it was skipped (MESSAGE).
[[nodiscard]] inline std::optional<std::string> find_trace(const std::string& name) {
  std::filesystem::path directory;
  if (const char* named = std::getenv("ALLOT_TRACES")) {
    directory = named;
  } else {
    // This file is in <repository>/tests/support.
    directory = std::filesystem::path{__FILE__}.parent_path() / ".." / ".." / ".." / "shared" / "traces";
  }
  std::error_code error;
  const std::filesystem::path path = directory / name;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  return path.string();
}

}  // namespace allot_test
