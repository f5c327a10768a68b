// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/io/atomic_files.hpp"
#include "lab/io/packed_input.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "tests/support/scratch_directory.hpp"

namespace allot_test {

/// A temporary directory with files to read and to write.
class scratch {
 public:
  [[nodiscard]] std::string path_of(const std::string& name) const {
    return (std::filesystem::path{directory_.path} / name).string();
  }

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
  scratch_directory directory_;
};

}  // namespace allot_test
