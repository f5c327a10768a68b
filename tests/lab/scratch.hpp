// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/packed_input.hpp"
#include "lab/staging.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace allot_test {

/// A temporary directory, removed at the end.
class scratch {
 public:
  scratch() {
    static std::uint64_t next = 0;
    const std::string name = "allot-test-" + std::to_string(::getpid()) + '-' + std::to_string(next++);
    path_ = std::filesystem::temp_directory_path() / name;
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string path_of(const std::string& name) const { return (path_ / name).string(); }

  /// Creates the missing directories. Returns the path of the file.
  std::string put(const std::string& name, const std::string& text) const {
    const std::string path = path_of(name);
    std::filesystem::create_directories(std::filesystem::path{path}.parent_path());
    std::ofstream{path, std::ios::binary} << text;
    return path;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    allot::lab::packed_input file{path_of(name)};
    auto text = file.read_all();
    REQUIRE(text);
    return std::move(*text);
  }
  /// The output of `write(file)`.
  template <class Write>
  [[nodiscard]] std::string written(Write write) const {
    std::filesystem::remove(path_of("written"));
    allot::lab::output_file file{path_of("written")};
    write(file);
    CHECK(file.close().empty());
    return read("written");
  }

 private:
  std::filesystem::path path_;
};

}  // namespace allot_test
